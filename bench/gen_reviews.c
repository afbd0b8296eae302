/*
 * bench/gen_reviews.c
 *	  Writes the same records, which look like Yelp's reviews, as CSV and as
 *	  JSON lines: long texts with quotes, commas, line feeds and some
 *	  characters outside ASCII.
 *
 * The same arguments give the same bytes.  In the CSV every text is quoted;
 * in the JSON every character outside ASCII is a \u escape.
 *
 * usage: gen_reviews BYTES CSV [JSON [SEED]]
 *
 * Writes whole records until the CSV has BYTES; JSON may be /dev/null.
 * Prints a summary to standard error.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(a)	(sizeof(a) / sizeof(*(a)))
#define ID_LEN		22
#define MAX_TEXT	5000		/* a word more may follow */
#define TEXT_SIZE	8192

static const char header[] =
	"review_id,user_id,business_id,stars,date,text,useful,funny,cool\n";

/* More or less by falling frequency; some are listed twice. */
static const char *const words[] = {
	"the", "and", "I", "to", "a", "was", "of", "it", "for", "in", "is", "my",
	"that", "with", "but", "this", "they", "we", "you", "on", "have", "had",
	"food", "place", "good", "not", "were", "are", "so", "at", "great", "be",
	"there", "as", "if", "like", "just", "very", "here", "service", "out",
	"all", "or", "one", "back", "get", "from", "time", "would", "really",
	"their", "when", "our", "she", "me", "up", "because", "can", "nice",
	"also", "he", "your", "more", "about", "what", "which", "some", "been",
	"only", "will", "no", "ordered", "don't", "chicken", "delicious",
	"friendly", "staff", "restaurant", "definitely", "came", "going", "try",
	"pretty", "minutes", "experience", "didn't", "amazing", "little", "order",
	"menu", "people", "don't", "it's", "I've", "table", "wait", "best", "love",
	"recommend", "always", "drinks", "cheese", "pizza", "sauce", "never",
	"customer", "waitress", "manager", "disappointed", "absolutely",
	"atmosphere", "appetizer", "reservation", "unfortunately", "neighborhood"
};

/* In UTF-8: of two and three bytes. */
static const char *const foreign_words[8] = {
	"caf\xC3\xA9", "jalape\xC3\xB1o", "cr\xC3\xA8me br\xC3\xBBl\xC3\xA9"
	"e", "\xE2\x80\x94", "na\xC3\xAFve", "\xE2\x82\xAC", "r\xC3\xB4ti",
	"pho g\xC3\xA0"
};

static const char id_digits[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

static const int month_days[12] = {
	31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31
};

static uint64_t random_state;

/* The output function of splitmix64. */
static uint64_t
mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static uint64_t
random_bits(void)
{
	random_state += UINT64_C(0x9E3779B97F4A7C15);
	return mix(random_state);
}

/* Uniform in [0, 1). */
static double
uniform(void)
{
	return (random_bits() >> 11) * (1.0 / 9007199254740992.0);
}

/* Number of an id among n, low ones more often. */
static uint64_t
skewed(double n)
{
	double		u = uniform();

	return (uint64_t) (n * u * uniform());
}

static void
make_id(char *out, uint64_t first, uint64_t second)
{
	for (int i = 0; i < ID_LEN; i++)
	{
		uint64_t   *half = i < ID_LEN / 2 ? &first : &second;

		out[i] = id_digits[*half & 63];
		*half >>= 6;
	}
	out[ID_LEN] = '\0';
}

/*
 * A text of words and punctuation, its length lognormal with a median of
 * about 430 and a mean of about 600 bytes.  Answers the length.
 */
static int
make_text(char *out)
{
	double		normal = -6;
	char	   *p = out;
	char	   *end;
	int			len;
	int			capital = 1;

	for (int i = 0; i < 12; i++)
		normal += uniform();
	len = (int) exp(6.13 + 0.80 * normal);
	if (len < 20)
		len = 20;
	if (len > MAX_TEXT)
		len = MAX_TEXT;
	end = out + len;

	while (p < end)
	{
		const char *word;
		double		u;
		int			quoted;
		size_t		n;

		if (uniform() < .006)
			word = foreign_words[random_bits() % LENGTH(foreign_words)];
		else
		{
			u = uniform();
			word = words[(int) (LENGTH(words) * u * u)];
		}
		quoted = uniform() < .012;
		if (quoted)
			*p++ = '"';
		n = strlen(word);
		memcpy(p, word, n);
		if (capital && *p >= 'a' && *p <= 'z')
			*p -= 'a' - 'A';
		capital = 0;
		p += n;
		if (quoted)
			*p++ = '"';

		u = uniform();
		if (u < .055)
		{
			*p++ = ',';
			*p++ = ' ';
		}
		else if (u < .115)
		{
			*p++ = u < .10 ? '.' : '!';
			capital = 1;
			if (uniform() < .17)
			{
				*p++ = '\n';
				*p++ = '\n';
			}
			else
				*p++ = ' ';
		}
		else if (u < .122)
			*p++ = '\n';
		else
			*p++ = ' ';
	}
	while (p > out && (p[-1] == ' ' || p[-1] == '\n'))
		p--;
	*p++ = '.';
	return p - out;
}

/* The text as the inside of a quoted CSV field, terminated. */
static void
escape_csv(char *out, const char *text, int len)
{
	for (int i = 0; i < len; i++)
	{
		if (text[i] == '"')
			*out++ = '"';
		*out++ = text[i];
	}
	*out = '\0';
}

/* The text as the inside of a JSON string, terminated. */
static void
escape_json(char *out, const char *text, int len)
{
	for (int i = 0; i < len; i++)
	{
		unsigned char c = text[i];

		if (c == '"')
			out += sprintf(out, "\\\"");
		else if (c == '\n')
			out += sprintf(out, "\\n");
		else if (c >= 0xE0)
		{
			out += sprintf(out, "\\u%04x",
						   (c & 15u) << 12 | (text[i + 1] & 63u) << 6 | (text[i + 2] & 63u));
			i += 2;
		}
		else if (c >= 0xC0)
		{
			out += sprintf(out, "\\u%04x", (c & 31u) << 6 | (text[i + 1] & 63u));
			i++;
		}
		else
			*out++ = c;
	}
	*out = '\0';
}

static FILE *
open_output(const char *path)
{
	FILE	   *f = fopen(path, "w");

	if (f == NULL)
	{
		fprintf(stderr, "gen_reviews: cannot write ");
		perror(path);
		exit(1);
	}
	setvbuf(f, NULL, _IOFBF, 1 << 20);
	return f;
}

static void
close_output(FILE *f, const char *path)
{
	int			failed = ferror(f);

	if (fclose(f) != 0 || failed)
	{
		fprintf(stderr, "gen_reviews: cannot write ");
		perror(path);
		exit(1);
	}
}

int
main(int argc, char **argv)
{
	static char text[TEXT_SIZE];
	static char escaped[6 * TEXT_SIZE];
	size_t		target;
	size_t		csv_len = sizeof(header) - 1;
	size_t		json_len = 0;
	uint64_t	records = 0;
	const char *json_path = argc > 3 ? argv[3] : "/dev/null";
	FILE	   *csv;
	FILE	   *json;

	if (argc < 3)
	{
		fprintf(stderr, "usage: gen_reviews BYTES CSV [JSON [SEED]]\n");
		return 2;
	}
	target = strtoull(argv[1], NULL, 10);
	random_state = argc > 4 ? strtoull(argv[4], NULL, 10) : 7;
	csv = open_output(argv[2]);
	json = open_output(json_path);
	fputs(header, csv);

	/* The order of the random draws decides the bytes: it must not change. */
	while (csv_len < target)
	{
		char		review[ID_LEN + 1];
		char		user[ID_LEN + 1];
		char		business[ID_LEN + 1];
		char		date[40];
		uint64_t	x;
		uint64_t	y;
		double		u;
		int			stars;
		int			year;
		int			month;
		int			day;
		int			len;
		int			useful;
		int			funny;
		int			cool;

		x = random_bits();
		y = random_bits();
		make_id(review, y, x);
		x = skewed(1500000);
		make_id(user, mix(x * 2 + 1), mix(x * 2 + 2));
		x = skewed(190000);
		make_id(business, mix(x * 3 + 77), mix(x * 3 + 78));

		u = uniform();
		stars = u < .15 ? 1 : u < .23 ? 2 : u < .34 ? 3 : u < .56 ? 4 : 5;
		year = 2005 + (int) (14 * sqrt(uniform()));
		month = random_bits() % 12;
		day = 1 + random_bits() % month_days[month];
		snprintf(date, sizeof(date), "%04d-%02d-%02d", year, month + 1, day);
		len = make_text(text);
		useful = (int) (-1.4 * log(1 - uniform()));
		funny = (int) (-.6 * log(1 - uniform()));
		cool = (int) (-.7 * log(1 - uniform()));

		escape_csv(escaped, text, len);
		csv_len += fprintf(csv, "\"%s\",\"%s\",\"%s\",%d,\"%s\",\"%s\",%d,%d,%d\n",
						   review, user, business, stars, date, escaped,
						   useful, funny, cool);
		escape_json(escaped, text, len);
		json_len += fprintf(json,
							"{\"review_id\":\"%s\",\"user_id\":\"%s\","
							"\"business_id\":\"%s\",\"stars\":%d,\"date\":\"%s\","
							"\"text\":\"%s\",\"useful\":%d,\"funny\":%d,\"cool\":%d}\n",
							review, user, business, stars, date, escaped,
							useful, funny, cool);
		records++;
	}
	close_output(csv, argv[2]);
	close_output(json, json_path);
	fprintf(stderr, "rows %llu csv %zu (avg %.0f) ndjson %zu\n",
			(unsigned long long) records, csv_len, (double) csv_len / records, json_len);
	return 0;
}

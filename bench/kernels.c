/*
 * bench/kernels.c
 *	  How fast the engine's inner loops are on data in cache, at each SIMD level
 *	  that this processor has.
 *
 * Prints one table.  Each figure is the best of many short runs, which is
 * what the code can do while nothing disturbs it.  Where a level has no
 * kernel of its own, what is done instead is measured: the plain conversion,
 * the automaton.  Texts are generated; the same program measures the same.
 *
 * usage: kernels [MILLISECONDS]
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend.h"
#include "parse/convert.h"
#include "parse/cpu/kernel.h"

#define TEXT_BYTES		(192 * 1024)	/* with its lists, within an L2 cache */
#define VALUES			4096
#define LENGTH(a)		(sizeof(a) / sizeof(*(a)))

static uint64_t seed = 42;

static uint32_t
below(uint32_t n)
{
	uint64_t	x = (seed += UINT64_C(0x9e3779b97f4a7c15));

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t) (((x ^ (x >> 31)) >> 32) * n >> 32);
}

static void *
need(void *p)
{
	if (!p)
	{
		fprintf(stderr, "kernels: out of memory\n");
		exit(1);
	}
	return p;
}

static void *
plain_alloc(void *ctx, size_t size)
{
	(void) ctx;
	return malloc(size);
}

static void
plain_release(void *ctx, void *p)
{
	(void) ctx;
	free(p);
}

/*
 * Texts.
 */
typedef struct Text
{
	uint8_t    *s;
	uint32_t	n;
} Text;

static Text
new_text(void)
{
	Text		t = {need(calloc(1, TEXT_BYTES + 4096 + PP_PAD)), 0};

	return t;
}

static void
add(Text *t, const char *s)
{
	size_t		n = strlen(s);

	memcpy(t->s + t->n, s, n);
	t->n += (uint32_t) n;
}

/* Trips: short numbers, timestamps, no quotes. */
static Text
taxi_text(void)
{
	Text		t = new_text();

	while (t.n < TEXT_BYTES)
	{
		char		line[256];

		snprintf(line, sizeof(line),
				 "%u,2017-%02u-%02u %02u:%02u:%02u,2017-01-01 %02u:%02u:%02u,%u,%u.%02u,1,N,%u,%u,%u,%u.5,0,0.5,%u.%02u,0,0.3,%u.%02u\n",
				 1 + below(2), 1 + below(12), 1 + below(28), below(24), below(60), below(60),
				 below(24), below(60), below(60), 1 + below(6), below(20), below(100),
				 1 + below(263), 1 + below(263), 1 + below(4), 3 + below(60),
				 below(12), below(100), 4 + below(80), below(100));
		add(&t, line);
	}
	return t;
}

/*
 * Reviews: an identifier, a long text with some quotes, commas and line ends,
 * a number.  Every so many words one is quoted, by the escape.
 */
static Text
review_text(char escape, uint32_t quoted_every)
{
	static const char *const words[] = {
		"the ", "and ", "was ", "delicious, ", "waitress ", "I ", "of ", "table. ",
		"to ", "friendly ", "order ", "place\n", "that ", "would "
	};
	const char	quote[] = {escape, '"', '\0'};
	Text		t = new_text();

	while (t.n < TEXT_BYTES)
	{
		uint32_t	n = 20 + below(180);

		add(&t, "\"Cygp0Fnpmrax3GmzrE4lpg\",4,\"");
		while (n-- > 0)
		{
			bool		quoted = quoted_every > 0 && below(quoted_every) == 0;

			if (quoted)
				add(&t, quote);
			add(&t, words[below(LENGTH(words))]);
			if (quoted)
				add(&t, quote);
		}
		add(&t, "\",0\n");
	}
	return t;
}

/* Running text of characters of 1 to 4 bytes in the given shares of 100. */
static Text
character_text(uint32_t two, uint32_t three, uint32_t four)
{
	Text		t = new_text();

	while (t.n < TEXT_BYTES)
	{
		uint32_t	kind = below(100);
		char		c[5] = {(char) ('a' + below(26)), '\0', '\0', '\0', '\0'};

		if (kind < two)
		{
			c[0] = (char) (0xc3 + below(20));
			c[1] = (char) (0x80 + below(64));
		}
		else if (kind < two + three)
		{
			c[0] = (char) (0xe3 + below(6));
			c[1] = (char) (0x80 + below(64));
			c[2] = (char) (0x80 + below(64));
		}
		else if (kind < two + three + four)
		{
			c[0] = (char) 0xf0;
			c[1] = (char) (0x90 + below(48));
			c[2] = (char) (0x80 + below(64));
			c[3] = (char) (0x80 + below(64));
		}
		add(&t, c);
	}
	return t;
}

/*
 * What is measured.  One run of a job goes once over its data.
 */
typedef struct Job
{
	const PpKernels *kernels;
	Text		text;
	uint8_t    *out;
	PpBackendScan *scan;
	uint8_t		escape;
	/* values */
	uint32_t   *end;
	bool		real;
	uint64_t	sum;			/* keeps the work from being left out */
} Job;

static void
run_structure(Job *j)
{
	PpJob		job = {j->text.s, 0, j->text.n, true, false};
	const PpBatch *batch;
	const char *message;
	PpPoll		poll;

	pp_backend_scalar.submit(j->scan, &job);
	while ((poll = pp_backend_scalar.poll(j->scan, &batch, &message)) == PP_POLL_PENDING)
		;
	if (poll != PP_POLL_DONE || batch->stop != PP_STOP_END)
	{
		fprintf(stderr, "kernels: the text is not in order\n");
		exit(1);
	}
	j->sum += batch->nrecords;
	pp_backend_scalar.release(j->scan);
}

static void
run_utf8(Job *j)
{
	size_t		n = j->kernels->utf8_valid_prefix(j->text.s, j->text.n);

	if (n != j->text.n)
	{
		fprintf(stderr, "kernels: invalid UTF-8 at %zu of %u\n", n, j->text.n);
		exit(1);
	}
	j->sum += n;
}

static void
run_unquote(Job *j)
{
	bool		in_quote = false;

	j->sum += j->kernels->unquote(j->text.s, j->text.n, '"', &in_quote, j->out);
}

static void
run_unescape(Job *j)
{
	bool		in_quote = false;

	j->sum += j->kernels->unescape(j->text.s, j->text.n, '"', j->escape, &in_quote, j->out);
}

static void
one_missing(const char *what)
{
	fprintf(stderr, "kernels: a %s is not converted\n", what);
	exit(1);
}

/* Both as the backend calls them: eight rows at a time, or value by value. */
static void
run_numbers(Job *j)
{
	if (j->kernels->numbers)
	{
		for (uint32_t i = 0; i < VALUES; i += 8)
		{
			uint32_t	row[8];
			uint64_t	value[8];

			for (uint32_t k = 0; k < 8; k++)
				row[k] = i + k;
			if (j->kernels->numbers(j->text.s, j->end, 1, 1, row, j->real, value) != 255)
				one_missing("number");
			for (uint32_t k = 0; k < 8; k++)
				j->sum += value[k];
		}
		return;
	}
	for (uint32_t i = 0; i < VALUES; i++)
	{
		uint32_t	start = j->end[(ptrdiff_t) i - 1] + 1;
		uint32_t	n = j->end[i] - start;
		uint64_t	value;

		if (!(j->real ? pp_to_float8(j->text.s + start, n, &value) :
			  pp_to_int4(j->text.s + start, n, &value)))
			one_missing("number");
		j->sum += value;
	}
}

static void
run_timestamps(Job *j)
{
	if (j->kernels->timestamps)
	{
		for (uint32_t i = 0; i < VALUES; i += 8)
		{
			uint32_t	row[8];
			uint64_t	value[8];

			for (uint32_t k = 0; k < 8; k++)
				row[k] = i + k;
			if (j->kernels->timestamps(j->text.s, j->end, 1, 1, row, value) != 255)
				one_missing("timestamp");
			for (uint32_t k = 0; k < 8; k++)
				j->sum += value[k];
		}
		return;
	}
	for (uint32_t i = 0; i < VALUES; i++)
	{
		uint32_t	start = j->end[(ptrdiff_t) i - 1] + 1;
		uint64_t	value;

		if (!pp_to_timestamp(j->text.s + start, j->end[i] - start, -1, &value))
			one_missing("timestamp");
		j->sum += value;
	}
}

static uint64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/* The shortest run within so many milliseconds, in nanoseconds. */
static double
shortest(void (*run) (Job *), Job *j, uint32_t milliseconds)
{
	uint64_t	begin = now();
	uint64_t	best = UINT64_MAX;

	do
	{
		uint64_t	start = now();
		uint64_t	t;

		for (int i = 0; i < 4; i++)
			run(j);
		t = now() - start;
		if (t < best)
			best = t;
	} while (now() - begin < (uint64_t) milliseconds * 1000000u);
	return (double) best / 4;
}

/* A structure pass that lists, over a text of that width. */
static double
structure_rate(Job *j, const PpDialect *d, uint32_t nfields, uint32_t milliseconds)
{
	PpScanSpec *spec = need(calloc(1, sizeof(PpScanSpec)));
	double		ns;

	spec->struct_size = sizeof(*spec);
	spec->dialect = *d;
	pp_dialect_compile(d, PP_EOL_NL, &spec->dfa);
	spec->nfields = nfields;
	spec->null_text = (const uint8_t *) "";
	spec->max_records = 4096;
	spec->simd = j->kernels->level;
	spec->alloc.alloc = plain_alloc;
	spec->alloc.release = plain_release;
	j->scan = need(pp_backend_scalar.open(spec));
	ns = shortest(run_structure, j, milliseconds);
	pp_backend_scalar.close(j->scan);
	free(spec);
	return j->text.n / ns;
}

/* Values of the kind that print makes, behind a comma each. */
static void
list_values(Job *j, int kind)
{
	j->text = new_text();
	j->end = (uint32_t *) need(malloc((VALUES + 1) * sizeof(uint32_t))) + 1;
	j->end[-1] = 0;
	for (uint32_t i = 0; i < VALUES; i++)
	{
		char		s[32];

		if (kind == 0)
			snprintf(s, sizeof(s), ",%u", below(300));
		else if (kind == 1)
			snprintf(s, sizeof(s), ",%s%u.%02u", below(20) ? "" : "-", below(100), below(100));
		else
			snprintf(s, sizeof(s), ",%u-%02u-%02u %02u:%02u:%02u", 2009 + below(10),
					 1 + below(12), 1 + below(28), below(24), below(60), below(60));
		add(&j->text, s);
		j->end[i] = j->text.n;
	}
}

enum
{
	STRUCTURE_TAXI,
	STRUCTURE_REVIEWS,
	STRUCTURE_ESCAPES,
	UTF8_ASCII,
	UTF8_RARE,
	UTF8_MIXED,
	UNQUOTE,
	UNESCAPE,
	INTEGERS,
	REALS,
	TIMESTAMPS,
	MEASURES
};

static const char *const title[MEASURES] = {
	"structure, taxi: GB/s",
	"structure, quoted text: GB/s",
	"structure, \\ as escape: GB/s",
	"UTF-8, ASCII: GB/s",
	"UTF-8, 1% of two bytes: GB/s",
	"UTF-8, 1 to 4 bytes: GB/s",
	"unquote, \" as escape: GB/s",
	"unquote, \\ as escape: GB/s",
	"integers: ns",
	"floats: ns",
	"timestamps: ns"
};

static double
measure(const PpKernels *k, int what, uint32_t milliseconds)
{
	static const PpDialect usual = {',', '"', '"', false};
	static const PpDialect escaping = {',', '"', '\\', false};
	Job			j;
	double		result = 0;

	memset(&j, 0, sizeof(j));
	seed = 42;					/* the same text at every level */
	j.kernels = k;
	j.escape = '\\';
	j.out = need(malloc(TEXT_BYTES + 4096 + PP_UNQUOTE_SLACK));
	switch (what)
	{
		case STRUCTURE_TAXI:
			j.text = taxi_text();
			result = structure_rate(&j, &usual, 17, milliseconds);
			break;
		case STRUCTURE_REVIEWS:
			j.text = review_text('"', 20);
			result = structure_rate(&j, &usual, 4, milliseconds);
			break;
		case STRUCTURE_ESCAPES:
			j.text = review_text('\\', 20);
			result = structure_rate(&j, &escaping, 4, milliseconds);
			break;
		case UTF8_ASCII:
		case UTF8_RARE:
		case UTF8_MIXED:
			j.text = what == UTF8_ASCII ? character_text(0, 0, 0) :
				what == UTF8_RARE ? character_text(1, 0, 0) : character_text(30, 20, 5);
			result = j.text.n / shortest(run_utf8, &j, milliseconds);
			break;
		case UNQUOTE:
			j.text = review_text('"', 20);
			result = j.text.n / shortest(run_unquote, &j, milliseconds);
			break;
		case UNESCAPE:
			j.text = review_text('\\', 20);
			result = j.text.n / shortest(run_unescape, &j, milliseconds);
			break;
		case INTEGERS:
		case REALS:
			j.real = what == REALS;
			list_values(&j, what == REALS);
			result = shortest(run_numbers, &j, milliseconds) / VALUES;
			break;
		case TIMESTAMPS:
			list_values(&j, 2);
			result = shortest(run_timestamps, &j, milliseconds) / VALUES;
			break;
	}
	if (j.sum == 0)
		printf("nothing was done\n");
	free(j.text.s);
	free(j.out);
	if (j.end)
		free(j.end - 1);
	return result;
}

int
main(int argc, char **argv)
{
	uint32_t	milliseconds = argc > 1 ? (uint32_t) strtoul(argv[1], NULL, 10) : 200;

	printf("%-32s", "in cache");
	for (uint32_t l = PP_SIMD_SCALAR; l < PP_SIMD_LEVELS; l++)
		if (pp_kernels((PpSimd) l))
			printf("%10s", pp_kernels((PpSimd) l)->name);
	printf("\n");
	for (int what = 0; what < MEASURES; what++)
	{
		printf("%-32s", title[what]);
		for (uint32_t l = PP_SIMD_SCALAR; l < PP_SIMD_LEVELS; l++)
			if (pp_kernels((PpSimd) l))
			{
				printf("%10.2f", measure(pp_kernels((PpSimd) l), what, milliseconds));
				fflush(stdout);
			}
		printf("\n");
	}
	return 0;
}

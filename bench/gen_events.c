/*
 * bench/gen_events.c
 *	  Writes events as JSON lines, or the same records as one array: small
 *	  records, all of the same keys, with a nested object and a list.
 *
 * The same arguments give the same bytes.  The array has a record a line too,
 * so that both files hold the same text but for a comma at the end of lines
 * and the brackets around.
 *
 * usage: gen_events BYTES LINES [ARRAY [SEED]]
 *
 * Writes whole records until LINES has BYTES; either may be /dev/null.  Prints
 * a summary to standard error.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_RECORD	1024

static const char *const kinds[8] = {
	"click", "view", "purchase", "login", "logout", "error", "scroll", "search"
};
static const char *const labels[8] = {
	"web", "mobile", "eu", "us", "beta", "vip", "new", "ab1"
};

static uint64_t random_state;

/* splitmix64 */
static uint64_t
random_bits(void)
{
	uint64_t	z = (random_state += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

/* Uniform in [0, 1). */
static double
uniform(void)
{
	return (random_bits() >> 11) * (1.0 / 9007199254740992.0);
}

static FILE *
open_output(const char *path)
{
	FILE	   *f = fopen(path, "w");

	if (f == NULL)
	{
		fprintf(stderr, "gen_events: cannot write ");
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
		fprintf(stderr, "gen_events: cannot write ");
		perror(path);
		exit(1);
	}
}

/*
 * The record of that number, without a line end; answers its length.  *time is
 * in seconds since the beginning of 2025, whose months all have 28 days here.
 */
static int
make_record(char *record, uint64_t number, double *time)
{
	unsigned	second;
	unsigned	day;
	unsigned	millisecond;
	unsigned	user;
	const char *kind;
	int			digits;
	double		value;
	double		latitude;
	double		longitude;
	const char *ok;
	int			nlabels;
	int			len;

	/* The order of the random draws decides the bytes: it must not change. */
	*time += 11.0 * uniform();
	second = (unsigned) *time;
	day = second / 86400;
	millisecond = random_bits() % 1000;
	longitude = 360 * uniform() - 180;
	latitude = 180 * uniform() - 90;
	ok = uniform() < .9 ? "true" : "false";
	value = uniform();
	value = 1000 * value * uniform() - 100;
	digits = (int) (1 + random_bits() % 6);
	kind = kinds[random_bits() % 8];
	user = (unsigned) (random_bits() % 500000);
	len = sprintf(record,
				  "{\"id\":%llu,\"ts\":\"2025-%02u-%02uT%02u:%02u:%02u.%03uZ\","
				  "\"user\":\"u%06u\",\"kind\":\"%s\",\"value\":%.*f,\"ok\":%s,"
				  "\"geo\":{\"lat\":%.6f,\"lon\":%.6f},\"tags\":[",
				  (unsigned long long) number, 1 + day / 28 % 12, day % 28 + 1,
				  second / 3600 % 24, second / 60 % 60, second % 60, millisecond,
				  user, kind, digits, value, ok, latitude, longitude);
	nlabels = random_bits() % 4;
	for (int i = 0; i < nlabels; i++)
		len += sprintf(record + len, "%s\"%s\"", i > 0 ? "," : "", labels[random_bits() % 8]);
	return len + sprintf(record + len, "]}");
}

int
main(int argc, char **argv)
{
	size_t		target;
	size_t		written = 0;
	uint64_t	records = 0;
	double		time = 0;
	const char *array_path = argc > 3 ? argv[3] : "/dev/null";
	FILE	   *lines;
	FILE	   *array;

	if (argc < 3)
	{
		fprintf(stderr, "usage: gen_events BYTES LINES [ARRAY [SEED]]\n");
		return 2;
	}
	target = strtoull(argv[1], NULL, 10);
	random_state = argc > 4 ? strtoull(argv[4], NULL, 10) : 11;
	lines = open_output(argv[2]);
	array = open_output(array_path);
	while (written < target)
	{
		char		record[MAX_RECORD];
		int			len = make_record(record, ++records, &time);

		record[len] = '\n';
		fwrite(record, 1, len + 1, lines);
		fputs(records > 1 ? ",\n" : "[", array);
		fwrite(record, 1, len, array);
		written += len + 1;
	}
	fputs(records > 0 ? "]\n" : "[]\n", array);
	close_output(lines, argv[2]);
	close_output(array, array_path);
	fprintf(stderr, "rows %llu ndjson %zu\n", (unsigned long long) records, written);
	return 0;
}

/*
 * test/fuzz/fuzz_main.c
 *	  Drives a fuzz target without libFuzzer: random mutations of a small
 *	  corpus for a number of seconds, or the given files once.
 *
 * Options: -t SECONDS (default 10), -s SEED, -o FOLDER where the input is left
 * that was running when the process ended; then files to run.  Every input
 * depends on the seed and its number only.
 */
#define _POSIX_C_SOURCE 200809L		/* clock_gettime, pwrite */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"
#include "unit.h"

#define MAX_INPUT	600
#define CORPUS		256

typedef struct Input
{
	size_t		len;
	uint8_t		bytes[MAX_INPUT];
} Input;

static Input corpus[CORPUS];
static uint32_t ncorpus;
static char trace_file[1000];

static void
add_seeds(UnitRandom *r)
{
	for (uint32_t i = 0; fuzz_seed[i] != NULL && ncorpus < CORPUS; i++)
	{
		Input	   *in = &corpus[ncorpus++];
		size_t		len = strlen(fuzz_seed[i]);

		if (len > MAX_INPUT - fuzz_head)
			len = MAX_INPUT - fuzz_head;
		for (size_t k = 0; k < fuzz_head; k++)
			in->bytes[k] = (uint8_t) unit_below(r, 256);
		memcpy(in->bytes + fuzz_head, fuzz_seed[i], len);
		in->len = fuzz_head + len;
	}
}

/* A few changes: bytes, stretches, pieces of other inputs. */
static void
mutate(UnitRandom *r, Input *in)
{
	uint32_t	changes = 1 + unit_below(r, 6);

	/* what the head chooses is worth changing often */
	for (size_t k = 0; k < fuzz_head && k < in->len; k++)
		if (unit_once_in(r, 4))
			in->bytes[k] = (uint8_t) unit_below(r, 256);

	while (changes-- > 0)
	{
		size_t		at = unit_below(r, (uint32_t) in->len + 1);
		size_t		n = 1 + unit_below(r, unit_once_in(r, 4) ? 60 : 6);
		static const uint8_t special[] = "\"\"\"\n\n\r\r,,\\.'; \0\xff\xe2\x82\xac" "0123456789-+eE:/TZ";

		switch (unit_below(r, 6))
		{
			case 0:
				if (at < in->len)
					in->bytes[at] = (uint8_t) unit_below(r, 256);
				break;
			case 1:
				if (at < in->len)
					in->bytes[at] = special[unit_below(r, sizeof(special) - 1)];
				break;
			case 2:				/* insert */
				if (in->len + n > MAX_INPUT)
					break;
				memmove(in->bytes + at + n, in->bytes + at, in->len - at);
				for (size_t k = 0; k < n; k++)
					in->bytes[at + k] = special[unit_below(r, sizeof(special) - 1)];
				in->len += n;
				break;
			case 3:				/* delete */
				if (n > in->len - at)
					n = in->len - at;
				memmove(in->bytes + at, in->bytes + at + n, in->len - at - n);
				in->len -= n;
				break;
			case 4:				/* repeat a stretch of itself */
				if (n > in->len - at || in->len + n > MAX_INPUT)
					break;
				memmove(in->bytes + at + n, in->bytes + at, in->len - at);
				in->len += n;
				break;
			default:			/* a stretch of another */
				{
					const Input *other = &corpus[unit_below(r, ncorpus)];
					size_t		from = unit_below(r, (uint32_t) other->len + 1);

					if (n > other->len - from)
						n = other->len - from;
					if (in->len + n > MAX_INPUT)
						break;
					memmove(in->bytes + at + n, in->bytes + at, in->len - at);
					memcpy(in->bytes + at, other->bytes + from, n);
					in->len += n;
					break;
				}
		}
	}
}

/* Kept up to date, so that it is there when a sanitizer ends the process. */
static void
leave_trace(const Input *in)
{
	static int	fd = -1;

	if (trace_file[0] == '\0')
		return;
	if (fd < 0)
		fd = open(trace_file, O_CREAT | O_TRUNC | O_WRONLY, 0666);
	if (fd < 0 || ftruncate(fd, (off_t) in->len) != 0 ||
		pwrite(fd, in->bytes, in->len, 0) != (ssize_t) in->len)
	{
		perror(trace_file);
		exit(2);
	}
}

static int
run_file(const char *name)
{
	FILE	   *f = fopen(name, "rb");
	uint8_t    *data = unit_malloc(1 << 20);
	uint8_t    *exact;
	size_t		n;

	if (f == NULL)
	{
		perror(name);
		free(data);
		return 1;
	}
	n = fread(data, 1, 1 << 20, f);
	fclose(f);
	exact = unit_malloc(n);
	memcpy(exact, data, n);
	LLVMFuzzerTestOneInput(exact, n);
	printf("%s: %s: nothing wrong\n", fuzz_name, name);
	free(exact);
	free(data);
	return 0;
}

/* A child process would do, but sanitizers report better without one. */
int
main(int argc, char **argv)
{
	double		seconds = 10;
	uint64_t	seed = 20240229;
	uint64_t	count = 0;
	UnitRandom	r;
	struct timespec start;
	int			files = 0;

	for (int i = 1; i < argc; i++)
	{
		if (strcmp(argv[i], "-t") == 0 && i + 1 < argc)
			seconds = atof(argv[++i]);
		else if (strcmp(argv[i], "-s") == 0 && i + 1 < argc)
			seed = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
			snprintf(trace_file, sizeof(trace_file), "%s/%s.input", argv[++i], fuzz_name);
		else if (argv[i][0] != '-')
		{
			files++;
			if (run_file(argv[i]) != 0)
				return 1;
		}
		else
		{
			fprintf(stderr, "usage: %s [-t SECONDS] [-s SEED] [-o FOLDER] [FILE...]\n", argv[0]);
			return 2;
		}
	}
	if (files > 0)
		return 0;

	r = seed;
	add_seeds(&r);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (;;)
	{
		struct timespec now;
		Input		in = corpus[unit_below(&r, ncorpus)];
		uint8_t    *exact;

		if (count % 64 == 0)
		{
			clock_gettime(CLOCK_MONOTONIC, &now);
			if ((double) (now.tv_sec - start.tv_sec) +
				(double) (now.tv_nsec - start.tv_nsec) / 1e9 >= seconds && count > 0)
				break;
		}
		mutate(&r, &in);
		leave_trace(&in);
		/* a buffer of exactly this size, so that an over-read shows */
		exact = unit_malloc(in.len);
		memcpy(exact, in.bytes, in.len);
		LLVMFuzzerTestOneInput(exact, in.len);
		free(exact);
		count++;
		/* let some of them breed */
		if (unit_once_in(&r, 50))
		{
			if (ncorpus < CORPUS)
				corpus[ncorpus++] = in;
			else
				corpus[unit_below(&r, CORPUS)] = in;
		}
	}
	if (trace_file[0] != '\0')
		(void) remove(trace_file);
	printf("%s: seed %" PRIu64 ", %" PRIu64 " inputs, nothing wrong\n", fuzz_name, seed, count);
	return 0;
}

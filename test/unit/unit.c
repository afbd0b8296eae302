/*
 * test/unit/unit.c
 *	  Implementation of the frame of unit test programs, see unit.h.
 *
 * Owns the program's counters and options.  Knows nothing of the engine but
 * the allocator's interface.
 */
#include "unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SHOWN	20			/* failures printed in full */

static const char *program = "?";
static uint64_t seed = 20240229;
static uint64_t percent = 100;
static uint64_t passed;
static uint64_t failed;
static bool case_open;
static bool case_bad;
uint64_t	unit_facts;
static char case_name[512];

static uint64_t
number_option(const char *option, const char *text)
{
	char	   *end;
	uint64_t	value;

	if (text == NULL || *text == '\0')
		text = "?";
	value = strtoull(text, &end, 10);
	if (*end != '\0')
	{
		fprintf(stderr, "%s: option %s wants a number\n", program, option);
		exit(2);
	}
	return value;
}

void
unit_begin(int argc, char **argv, const char *name)
{
	program = name;
	for (int i = 1; i < argc; i += 2)
	{
		if (strcmp(argv[i], "-n") == 0)
			percent = number_option("-n", argv[i + 1]);
		else if (strcmp(argv[i], "-s") == 0)
			seed = number_option("-s", argv[i + 1]);
		else
		{
			fprintf(stderr, "usage: %s [-n PERCENT] [-s SEED]\n", argv[0]);
			exit(2);
		}
	}
	printf("%s: seed %" PRIu64 ", %" PRIu64 " %% of the random cases\n",
		   program, seed, percent);
	fflush(stdout);
}

static void
close_case(void)
{
	if (!case_open)
		return;
	if (unit_facts == 0)
	{
		/* a case that states nothing cannot fail and so proves nothing */
		printf("%s: case without a fact: %s\n", program, case_name);
		case_bad = true;
	}
	if (case_bad)
		failed++;
	else
		passed++;
	case_open = false;
}

int
unit_end(void)
{
	close_case();
	printf("%s: %" PRIu64 " passed, %" PRIu64 " failed\n", program, passed, failed);
	fflush(stdout);
	return failed == 0 && passed > 0 ? 0 : 1;
}

uint64_t
unit_iterations(uint64_t n)
{
	uint64_t	scaled = n * percent / 100;

	return scaled > 0 ? scaled : 1;
}

void
unit_case(const char *fmt,...)
{
	va_list		args;

	close_case();
	va_start(args, fmt);
	vsnprintf(case_name, sizeof(case_name), fmt, args);
	va_end(args);
	case_open = true;
	case_bad = false;
	unit_facts = 0;
}

bool
unit_wrong(const char *file, int line, const char *fmt,...)
{
	if (!case_open)
		unit_case("outside any case");
	if (!case_bad && failed < MAX_SHOWN)
	{
		va_list		args;

		printf("FAILED %s: %s\n  at %s:%d: ", program, case_name, file, line);
		va_start(args, fmt);
		vprintf(fmt, args);
		va_end(args);
		printf("\n");
		fflush(stdout);
	}
	case_bad = true;
	return false;
}

uint64_t
unit_next(UnitRandom *r)
{
	uint64_t	z = (*r += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

UnitRandom
unit_random(uint32_t t, uint64_t i)
{
	UnitRandom	r = seed;

	r = unit_next(&r) ^ t;
	r = unit_next(&r) ^ i;
	(void) unit_next(&r);
	return r;
}

uint32_t
unit_below(UnitRandom *r, uint32_t n)
{
	return (uint32_t) (((unit_next(r) >> 32) * n) >> 32);
}

bool
unit_once_in(UnitRandom *r, uint32_t n)
{
	return unit_below(r, n) == 0;
}

/* In front of every block; keeps the block aligned for any type. */
typedef union BlockHeader
{
	size_t		size;
	max_align_t align;
} BlockHeader;

static void *
heap_alloc(void *ctx, size_t size)
{
	UnitHeap   *heap = ctx;
	BlockHeader *header;

	heap->calls++;
	if (heap->fail_at != 0 &&
		(heap->calls == heap->fail_at || (heap->fail_on && heap->calls > heap->fail_at)))
	{
		heap->failed = true;
		return NULL;
	}
	header = malloc(sizeof(*header) + size);
	if (header == NULL)
		return NULL;
	header->size = size;
	memset(header + 1, 0xa5, size);
	heap->live_blocks++;
	heap->live_bytes += size;
	if (heap->live_bytes > heap->peak_bytes)
		heap->peak_bytes = heap->live_bytes;
	return header + 1;
}

static void
heap_release(void *ctx, void *ptr)
{
	UnitHeap   *heap = ctx;
	BlockHeader *header;

	if (ptr == NULL)
		return;
	header = (BlockHeader *) ptr - 1;
	heap->live_blocks--;
	heap->live_bytes -= header->size;
	memset(ptr, 0xdd, header->size);
	free(header);
}

PpAlloc
unit_heap_alloc(UnitHeap *heap)
{
	PpAlloc		alloc;

	alloc.alloc = heap_alloc;
	alloc.release = heap_release;
	alloc.ctx = heap;
	return alloc;
}

void *
unit_malloc(size_t n)
{
	void	   *p = malloc(n > 0 ? n : 1);

	if (p == NULL)
	{
		fprintf(stderr, "%s: out of memory\n", program);
		exit(2);
	}
	return p;
}

const char *
unit_show(const uint8_t *s, size_t n)
{
	static char buffer[4][1200];
	static unsigned turn;
	char	   *out = buffer[turn++ % 4];
	size_t		o = 0;

	out[o++] = '"';
	for (size_t i = 0; i < n; i++)
	{
		if (o > sizeof(buffer[0]) - 40)
		{
			o += (size_t) snprintf(out + o, 39, "\"... (%zu bytes)", n);
			return out;
		}
		if (s[i] == '\n')
			o += (size_t) snprintf(out + o, 5, "\\n");
		else if (s[i] == '\r')
			o += (size_t) snprintf(out + o, 5, "\\r");
		else if (s[i] == '"' || s[i] == '\\')
			o += (size_t) snprintf(out + o, 5, "\\%c", s[i]);
		else if (s[i] < 0x20 || s[i] >= 0x7f)
			o += (size_t) snprintf(out + o, 5, "\\%03o", s[i]);
		else
			out[o++] = (char) s[i];
	}
	out[o++] = '"';
	out[o] = '\0';
	return out;
}

/*
 * test/unit/convert_check.h
 *	  What the conversion tests share: random numbers, places to convert from
 *	  and to that show every access beyond the contract, and the comparison of
 *	  a conversion with what a reference says.
 */
#ifndef CONVERT_CHECK_H
#define CONVERT_CHECK_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/parse/convert.h"

/* What a reference says of a text. */
typedef enum Verdict
{
	MUST_CONVERT,				/* to the reference's value */
	MAY_CONVERT,				/* to the reference's value, or hand over */
	MUST_HAND_OVER
} Verdict;

static uint64_t random_state;
static uint64_t iterations = 200000;
static const char *group_name;
static uint64_t group_values;
static uint64_t group_bad;
static int	passed;
static int	failed;

/* Splitmix64. */
static inline uint64_t
next_random(void)
{
	uint64_t	z = (random_state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline uint32_t
below(uint32_t n)
{
	return (uint32_t) (next_random() % n);
}

static inline bool
one_in(uint32_t n)
{
	return below(n) == 0;
}

static void
begin_group(const char *name)
{
	group_name = name;
	group_values = group_bad = 0;
}

static void
end_group(void)
{
	if (group_values == 0)
	{
		printf("%s: nothing was checked\n", group_name);
		group_bad = 1;
	}
	if (group_bad)
		failed++;
	else
		passed++;
	printf("%-4s %s: %" PRIu64 " values", group_bad ? "FAIL" : "ok",
		   group_name, group_values);
	if (group_bad)
		printf(", %" PRIu64 " bad", group_bad);
	printf("\n");
}

/* Counts a failure and shows the first ones. */
static void
complain(const char *text, size_t n, const char *format,...)
{
	va_list		args;

	if (group_bad++ >= 5)
		return;
	printf("%s: \"%.*s\" (%zu bytes): ", group_name,
		   (int) (n < 200 ? n : 200), text, n);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

/*
 * The text at the end of an allocation, so that exactly PP_PAD bytes may be
 * read behind it; they hold what would change the value if it mattered.
 */
static const uint8_t *
place_text(const char *text, size_t n, int filling)
{
	static uint8_t *room;
	static size_t size;
	static const char behind[] = "0123456789-:. +TZ\\xabcdef9999999999999999";
	uint8_t    *s;

	if (n + PP_PAD > size)
	{
		free(room);
		size = 2 * (n + PP_PAD);
		room = malloc(size);
		if (room == NULL)
			abort();
	}
	s = room + size - PP_PAD - n;
	memcpy(s, text, n);
	for (int i = 0; i < PP_PAD; i++)
		s[n + i] = filling == 0 ? '0' : filling == 1 ? 0xff :
			(uint8_t) behind[below(sizeof(behind) - 1)];
	return s;
}

#define GUARD	64

/*
 * Converts with two different fillings behind the text; checks that they agree
 * and that nothing was written outside the room.  By value, the answer's 8
 * bytes are the value.  Answers the size, 0 if handed over; *result lasts
 * until the next call but one.
 */
static uint64_t
convert(const PpColumn *col, const PpEnv *env, const char *text, size_t n,
		const uint8_t **result)
{
	static uint8_t *dst[2];
	static uint64_t size[2];
	uint64_t	got[2];

	for (int k = 0; k < 2; k++)
	{
		const uint8_t *s = place_text(text, n, k == 0 ? (int) below(2) : 2);
		uint64_t	value = 0;

		if (!pp_type_by_reference(col->type))
		{
			if (size[k] < 8)
			{
				free(dst[k]);
				dst[k] = malloc(size[k] = 1024);
				if (dst[k] == NULL)
					abort();
			}
			got[k] = pp_convert_value(col, env, s, (uint32_t) n, &value) ? 8 : 0;
			memcpy(dst[k], &value, 8);
		}
		else
		{
			uint64_t	room = pp_convert_room(col, (uint32_t) n);

			if (size[k] < room + GUARD)
			{
				free(dst[k]);
				dst[k] = malloc(size[k] = 2 * (room + GUARD));
				if (dst[k] == NULL)
					abort();
			}
			memset(dst[k], k == 0 ? 0 : 0xff, room);
			memset(dst[k] + room, 0xa5, GUARD);
			got[k] = pp_convert_reference(col, env, s, (uint32_t) n, dst[k]);
			if (got[k] > room)
				complain(text, n, "larger than its room");
			for (int i = 0; i < GUARD; i++)
				if (dst[k][room + i] != 0xa5)
				{
					complain(text, n, "written beyond its room");
					break;
				}
		}
		if (memcmp(s, text, n) != 0)
			complain(text, n, "the text was changed");
	}
	group_values++;
	if (got[0] != got[1] || memcmp(dst[0], dst[1], got[0]) != 0)
		complain(text, n, "depends on what is behind the text");
	*result = dst[0];
	return got[0];
}

static void
print_bytes(const char *label, const uint8_t *bytes, uint64_t n)
{
	printf("    %s", label);
	for (uint64_t i = 0; i < n && i < 80; i++)
		printf(" %02x", bytes[i]);
	printf("\n");
}

/* Compares a conversion with the reference's size bytes. */
static void
expect(const PpColumn *col, const PpEnv *env, const char *text, size_t n,
	   Verdict verdict, const void *want, uint64_t size)
{
	const uint8_t *got;
	uint64_t	got_size = convert(col, env, text, n, &got);

	if (got_size == 0)
	{
		if (verdict == MUST_CONVERT)
			complain(text, n, "handed over (mod %d)", col->mod);
	}
	else if (verdict == MUST_HAND_OVER)
		complain(text, n, "converted (mod %d)", col->mod);
	else if (got_size != size || memcmp(got, want, size) != 0)
	{
		complain(text, n, "wrong (mod %d)", col->mod);
		if (group_bad <= 5)
		{
			print_bytes("got ", got, got_size);
			print_bytes("want", want, size);
		}
	}
}

static void
expect_value(PpType type, int32_t mod, const PpEnv *env, const char *text,
			 size_t n, Verdict verdict, uint64_t want)
{
	PpColumn	col = {type, 0, 0, mod};

	expect(&col, env, text, n, verdict, &want, 8);
}

/*
 * Changes text in place a little: a byte replaced, dropped, doubled or put
 * in.  There is room for one byte more.  Answers the new length.
 */
static size_t
mutate(char *text, size_t n, const char *alphabet)
{
	size_t		at = n > 0 ? below((uint32_t) n) : 0;
	char		c = alphabet[below((uint32_t) strlen(alphabet))];

	switch (n > 0 ? below(4) : 3)
	{
		case 0:
			text[at] = c;
			return n;
		case 1:
			memmove(text + at, text + at + 1, n - at - 1);
			return n - 1;
		case 2:
			c = text[at];
			/* FALLTHROUGH */
		default:
			memmove(text + at + 1, text + at, n - at);
			text[at] = c;
			return n + 1;
	}
}

#endif							/* CONVERT_CHECK_H */

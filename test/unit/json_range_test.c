/*
 * test/unit/json_range_test.c
 *	  Effects of stretches of JSON documents and the search for separators, at
 *	  every level, wherever the text is cut.
 *
 * Documents are made from the inside: whoever writes a byte knows what it is
 * part of, so the state at each place is known without parsing.
 */
#include <stdio.h>
#include <string.h>

#include "parse/json/json_range.h"
#include "unit.h"

#define MAX_TEXT	60000

typedef struct Document
{
	uint8_t		text[MAX_TEXT];
	PpRangeState state[MAX_TEXT + 1];	/* in front of each byte, and at the end */
	bool		follows[MAX_TEXT + 1];	/* a separator stands in front */
	uint32_t	len;
	uint32_t	room;			/* no value is begun behind it */
	PpRangeState now;
} Document;

static void
put(Document *d, char c, bool separator)
{
	d->state[d->len] = d->now;
	d->text[d->len++] = (uint8_t) c;
	d->follows[d->len] = separator;
}

static void
put_space(Document *d, UnitRandom *r)
{
	while (unit_once_in(r, 4))
		put(d, " \n\t\r"[unit_below(r, 4)], false);
}

static void
put_string(Document *d, UnitRandom *r)
{
	uint32_t	n = unit_below(r, unit_once_in(r, 8) ? 200 : 12);

	put(d, '"', false);
	for (uint32_t i = 0; i < n; i++)
	{
		d->now.quoting = PP_INSIDE;
		if (unit_once_in(r, 4))
		{
			put(d, '\\', false);
			d->now.quoting = PP_ESCAPED;
			put(d, "\\\"n/"[unit_below(r, 4)], false);
		}
		else
			put(d, "a{}[],:'b"[unit_below(r, 9)], false);
	}
	d->now.quoting = PP_INSIDE;
	put(d, '"', false);
	d->now.quoting = PP_OUTSIDE;
}

static void
put_value(Document *d, UnitRandom *r, uint32_t levels)
{
	uint32_t	kind = unit_below(r, levels > 0 && d->len < d->room ? 6 : 3);
	bool		outermost = d->now.depth == 0;
	bool		array = kind >= 4;

	if (kind == 0)
		put_string(d, r);
	else if (kind < 3)
		for (const char *p = kind == 1 ? "-12.5e3" : "true"; *p; p++)
			put(d, *p, false);
	else
	{
		uint32_t	n = unit_below(r, outermost && unit_once_in(r, 3) ? 400 : 4);

		put(d, array ? '[' : '{', outermost && array);
		if (outermost)
			d->now.array = array;
		d->now.depth++;
		for (uint32_t i = 0; i < n && (i == 0 || d->len < d->room); i++)
		{
			if (i > 0)
				put(d, ',', outermost && array);
			put_space(d, r);
			if (!array)
			{
				put_string(d, r);
				put(d, ':', false);
			}
			put_value(d, r, levels - 1);
			put_space(d, r);
		}
		put(d, array ? ']' : '}', outermost);
		d->now.depth--;
	}
}

static void
make(Document *d, UnitRandom *r)
{
	const PpRangeState start = PP_RANGE_START;
	uint32_t	n = 1 + unit_below(r, 6);

	d->len = 0;
	d->room = unit_once_in(r, 20) ? 40000 : unit_below(r, 600);
	d->now = start;
	d->follows[0] = false;
	for (uint32_t i = 0; i < n && (i == 0 || d->len < d->room); i++)
	{
		put_space(d, r);
		put_value(d, r, 1 + unit_below(r, 5));
		put(d, ' ', false);
	}
	d->state[d->len] = d->now;
}

static void
check_state(const Document *d, PpRangeState is, uint32_t at, const char *what)
{
	const PpRangeState *want = &d->state[at];

	EXPECT(is.quoting == want->quoting && is.depth == want->depth &&
		   (want->depth == 0 || is.array == want->array),
		   "%s, at %u: quoting %d, depth %d, array %d, but %d, %d, %d expected", what, at,
		   (int) is.quoting, (int) is.depth, (int) is.array,
		   (int) want->quoting, (int) want->depth, (int) want->array);
}

/* Of [from, to), in slices. */
static PpJsonEffect
effect_of(const Document *d, uint32_t from, uint32_t to, const PpKernels *kernels, UnitRandom *r)
{
	PpJsonEffect effect;

	pp_json_effect_init(&effect);
	while (from < to)
	{
		uint32_t	n = unit_once_in(r, 2) ? to - from : 1 + unit_below(r, to - from);

		pp_json_effect_add(&effect, kernels, d->text + from, n);
		from += n;
	}
	return effect;
}

static void
check(const Document *d, const PpKernels *kernels, UnitRandom *r)
{
	for (int i = 0; i < 20; i++)
	{
		uint32_t	a = unit_below(r, d->len + 1);
		uint32_t	b = a + unit_below(r, d->len - a + 1);
		uint32_t	c = b + unit_below(r, d->len - b + 1);
		PpJsonEffect first = effect_of(d, a, b, kernels, r);
		PpJsonEffect second = effect_of(d, b, c, kernels, r);
		PpJsonEffect both = pp_json_effect_compose(&first, &second);
		PpRangeState state = d->state[a];
		size_t		pos = a;
		size_t		at;
		uint32_t	next = a + 1;

		check_state(d, pp_json_effect_apply(&first, state), b, "a stretch");
		check_state(d, pp_json_effect_apply(&both, state), c, "two stretches");

		at = pp_json_separator(d->text, &pos, b, &state);
		while (next <= b && !d->follows[next])
			next++;
		if (next <= b)
		{
			EXPECT(at == next, "separator in front of %u, not %u", (unsigned) at, next);
			/* the state in front of a byte is that behind the one before */
			EXPECT(state.behind == d->text[at - 1], "behind %c", state.behind);
			check_state(d, state, (uint32_t) at, "a separator");
		}
		else
			EXPECT(at == 0 && pos == b, "no separator, but one in front of %u", (unsigned) at);
	}
}

int
main(int argc, char **argv)
{
	uint64_t	n;

	unit_begin(argc, argv, "json_range_test");
	n = unit_iterations(3000);
	for (uint64_t i = 0; i < n; i++)
	{
		static Document d;
		UnitRandom	r = unit_random(1, i);
		PpSimd		level = (PpSimd) unit_below(&r, PP_SIMD_LEVELS);

		if (!pp_kernels(level))
			level = PP_SIMD_SCALAR;
		make(&d, &r);
		unit_case("document %u, level %d: %.2000s", (unsigned) i, (int) level,
				  unit_show(d.text, d.len < 2000 ? d.len : 2000));
		check(&d, pp_kernels(level), &r);
	}
	return unit_end();
}

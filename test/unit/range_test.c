/*
 * test/unit/range_test.c
 *	  Files scanned range by range: effects and line ends against a reader of
 *	  single bytes; ranged streams against the model of COPY, with ranges of
 *	  every size, on hostile texts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_ranges.h"
#include "texts.h"

enum
{
	T_EFFECT = 1,
	T_SOUP,
	T_RECORDS,
	T_LONG,
	T_MEMORY
};

/* The quoting state behind one byte. */
static PpQuoting
one_byte(const PpDialect *d, PpQuoting state, uint8_t c)
{
	switch (state)
	{
		case PP_OUTSIDE:
			return c == d->quote ? PP_INSIDE : PP_OUTSIDE;
		case PP_INSIDE:
			if (d->escape != d->quote && c == d->escape)
				return PP_ESCAPED;
			return c == d->quote ? PP_OUTSIDE : PP_INSIDE;
		default:
			/* a doubled quote needs no state, so none of its own is left */
			if (d->escape == d->quote)
				return c == d->quote ? PP_INSIDE : PP_ESCAPED;
			return PP_INSIDE;
	}
}

static void
test_effects(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_EFFECT, i);
		PpDialect	d = texts_dialect[unit_below(&r, unit_once_in(&r, 2) ? texts_nusual : texts_ndialects)];
		const PpKernels *kernels = pp_kernels((PpSimd) check_random_level(&r));
		PpEol		eol = (PpEol) (1 + unit_below(&r, 3));
		uint8_t		line = eol == PP_EOL_CR ? '\r' : '\n';
		size_t		room = unit_once_in(&r, 10) ? 40000 : 300;
		uint8_t    *text = unit_malloc(room + PP_PAD);
		size_t		len;
		size_t		cut;
		PpEffect	e = {.vector = PP_VEC_IDENTITY};
		uint64_t	lines = 0;

		if (!pp_range_possible(&d))
		{
			free(text);
			continue;
		}
		unit_case("effect %llu: %s", (unsigned long long) i, texts_dialect_name(&d));
		len = texts_soup(&r, &d, text, room);
		memset(text + len, d.quote, PP_PAD);
		cut = unit_below(&r, (uint32_t) len + 1);
		pp_range_survey(&d, kernels, line, text, cut, &e);
		pp_range_survey(&d, kernels, line, text + cut, len - cut, &e);
		for (size_t k = 0; k < len; k++)
			lines += text[k] == line;
		EXPECT(e.lines == lines, "%llu lines, but %llu expected",
			   (unsigned long long) e.lines, (unsigned long long) lines);

		for (uint32_t s = PP_OUTSIDE; s < (d.escape == d.quote ? PP_ESCAPED : PP_QUOTINGS); s++)
		{
			PpQuoting	state = (PpQuoting) s;
			PpQuoting	got = (PpQuoting) s;
			size_t		pos = 0;
			size_t		first = 0;
			size_t		found = 0;

			for (size_t k = 0; k < len; k++)
			{
				if (state == PP_OUTSIDE && text[k] == line && first == 0)
					first = k + 1;
				state = one_byte(&d, state, text[k]);
			}
			EXPECT(pp_vec_apply(e.vector, s) == (uint32_t) state,
				   "%s from state %u leads to %u, but %u expected",
				   unit_show(text, len), s, pp_vec_apply(e.vector, s), (unsigned) state);
			EXPECT(pp_range_run(&d, kernels, (PpQuoting) s, text, len) == state,
				   "%s from state %u: wrong state", unit_show(text, len), s);

			/* in pieces, too */
			while (found == 0 && pos < len)
			{
				size_t		to = pos + 1 + unit_below(&r, (uint32_t) (len - pos));

				found = pp_range_line_end(&d, kernels, eol, text, &pos, to, &got);
				EXPECT(found > 0 || pos == to, "line end: at %zu instead of %zu", pos, to);
			}
			EXPECT(found == first, "%s from state %u: first line ends at %zu, but %zu expected",
				   unit_show(text, len), s, found, first);
		}
		free(text);
	}
}

static void
init_case(EngineCase *c, const PpDialect *d)
{
	memset(c, 0, sizeof(*c));
	c->dialect = *d;
	c->nfields = 2;
	c->max_records = 100;
	c->backend = &pp_backend_scalar;
	c->markers.null_text = (const uint8_t *) "";
}

static bool
run(const EngineCase *c, const uint8_t *text, size_t len, EngineResult *result)
{
	UnitHeap	heap;

	memset(&heap, 0, sizeof(heap));
	check_ranges(c, text, len, true, &heap, result);
	EXPECT(result->verdict == ENGINE_SAME,
		   "%s, %u fields%s, ranges of %zu, batches of %u: %s",
		   unit_show(text, len), c->nfields, c->header ? ", header" : "",
		   c->partition, c->max_records, result->why);
	return result->verdict == ENGINE_SAME;
}

/*
 * All texts of up to max bytes over the bytes that mean something, behind a
 * beginning that fixes the kind of line end, in ranges of every size.
 */
static void
test_exhaustive(const PpDialect *d, uint32_t max)
{
	static const char *const beginning[] = {"", "a,\n", "a,\r", "a,\r\n"};
	uint8_t		alphabet[8];
	uint32_t	letters = 0;
	uint8_t		candidate[] = {d->quote, d->delimiter, '\n', '\r', d->escape, '\\', '.'};

	for (uint32_t i = 0; i < (d->end_marker ? 7 : 5); i++)
		if (memchr(alphabet, candidate[i], letters) == NULL)
			alphabet[letters++] = candidate[i];

	for (uint32_t b = 0; b < 4; b++)
		for (uint32_t len = 0; len <= max; len++)
		{
			uint64_t	count = 1;
			size_t		before = strlen(beginning[b]);

			for (uint32_t k = 0; k < len; k++)
				count *= letters;
			unit_case("%s: all texts of %u bytes behind %s", texts_dialect_name(d), len,
					  unit_show((const uint8_t *) beginning[b], before));
			for (uint64_t v = 0; v < count; v++)
			{
				uint8_t		text[16];
				size_t		n = before + len;
				uint64_t	rest = v;

				memcpy(text, beginning[b], before);
				for (uint32_t k = 0; k < len; k++)
				{
					text[before + k] = alphabet[rest % letters];
					rest /= letters;
				}
				for (size_t size = 1; size <= n + 1; size++)
				{
					EngineCase	c;
					EngineResult result;

					init_case(&c, d);
					c.seed = v + size;
					c.partition = size;
					c.header = (v + size) % 5 == 0;
					c.max_records = 1 + (uint32_t) ((v + size) % 3);
					c.nfields = (v + size) % 7 == 6 ? 0 : 1 + (uint32_t) ((v + size) % 2);
					run(&c, text, n, &result);
				}
			}
		}
}

static void
test_random(uint32_t test, uint64_t n, size_t room)
{
	uint8_t    *text = unit_malloc(room + 8);
	uint64_t	good = 0;
	uint64_t	cases = 0;

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(test, i);
		PpDialect	d = texts_dialect[unit_below(&r, unit_once_in(&r, 2) ? texts_nusual : texts_ndialects)];
		size_t		len;
		EngineCase	c;
		EngineResult result;

		if (!pp_range_possible(&d))
			continue;
		d.end_marker = unit_once_in(&r, 2);
		init_case(&c, &d);
		c.nfields = unit_below(&r, 6);
		check_random_columns(&r, &c);
		c.nfilters = 0;
		c.seed = unit_next(&r);
		c.simd = check_random_level(&r);
		c.header = unit_once_in(&r, 3);
		c.feed = unit_once_in(&r, 2) ? 0 : unit_below(&r, FEED_MODES);
		c.verify = unit_once_in(&r, 2) ? PP_VERIFY_UTF8 : PP_VERIFY_NUL;
		c.max_records = unit_once_in(&r, 3) ? 1 + unit_below(&r, 5) : 1 + unit_below(&r, 2000);
		if (test == T_LONG)
			c.max_records += 5000;
		if (test == T_SOUP)
			len = texts_soup(&r, &d, text, room);
		else
			len = texts_records(&r, &d, (PpEol) (1 + unit_below(&r, 3)),
								c.nfields > 0 ? c.nfields : 1,
								unit_once_in(&r, 2) ? 0 : test == T_LONG ? 100000 : 60, text, room);
		if (unit_once_in(&r, 5))
			len = texts_spoil(&r, text, len, room + 8);

		unit_case("%s %llu: %s", test == T_SOUP ? "soup" : test == T_LONG ? "long" : "records",
				  (unsigned long long) i, texts_dialect_name(&d));
		if (test == T_LONG)
		{
			c.partition = 1 + unit_below(&r, 100000);
			run(&c, text, len, &result);
		}
		else
			for (c.partition = 1; c.partition <= len + 1; c.partition += 1 + (len > 200 ? unit_below(&r, 100) : 0))
				if (!run(&c, text, len, &result))
					break;
		cases++;
		good += result.errors == 0 && result.records > 1;
	}
	if (test != T_SOUP)
	{
		unit_case("a fair part of these texts is in order");
		EXPECT(good * 5 >= cases || n < 20, "%llu of %llu", (unsigned long long) good,
			   (unsigned long long) cases);
	}
	free(text);
}

/*
 * Characters that are cut off by the end of a record, of the range's last one
 * as well, behind which no byte is looked at.
 */
static void
test_characters(void)
{
	static const char *const bad[] = {"\xe2\x82", "\xc3", "\xf0\x9f", "\xf0\x9f\x98", "\xff", "\xc3\xa9"};
	static const char *const eol[] = {"\n", "\r", "\r\n"};

	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		for (uint32_t k = 0; k < 3; k++)
		{
			char		text[64];
			size_t		len;
			EngineCase	c;
			EngineResult result;

			snprintf(text, sizeof(text), "a,b%sc,%s%s%s,d%se,f", eol[k], bad[i], eol[k], bad[i], eol[k]);
			len = strlen(text);
			unit_case("cut off: %s", unit_show((const uint8_t *) text, len));
			for (size_t size = 1; size <= len + 1; size++)
			{
				init_case(&c, &texts_dialect[0]);
				c.verify = PP_VERIFY_UTF8;
				c.partition = size;
				run(&c, (const uint8_t *) text, len, &result);
			}
		}
}

/* The n-th allocation fails, for every n. */
static void
test_memory(uint64_t iterations)
{
	for (uint64_t i = 0; i < iterations; i++)
	{
		UnitRandom	r = unit_random(T_MEMORY, i);
		PpDialect	d = texts_dialect[unit_below(&r, texts_nusual)];
		uint8_t		text[3000];
		size_t		len;
		EngineCase	c;
		UnitHeap	heap;
		EngineResult result;
		uint64_t	calls;

		init_case(&c, &d);
		c.nfields = 1 + unit_below(&r, 4);
		check_random_columns(&r, &c);
		c.nfilters = 0;
		c.seed = unit_next(&r);
		c.partition = 1 + unit_below(&r, 400);
		c.max_records = 1 + unit_below(&r, 100);
		c.verify = PP_VERIFY_UTF8;
		len = texts_records(&r, &d, (PpEol) (1 + unit_below(&r, 3)), c.nfields, 0,
							text, sizeof(text));
		unit_case("memory %llu", (unsigned long long) i);
		memset(&heap, 0, sizeof(heap));
		check_ranges(&c, text, len, true, &heap, &result);
		EXPECT(result.verdict == ENGINE_SAME, "%s", result.why);
		calls = heap.calls;
		for (uint64_t at = 1; at <= calls; at++)
		{
			memset(&heap, 0, sizeof(heap));
			heap.fail_at = at;
			heap.fail_on = unit_once_in(&r, 2);
			check_ranges(&c, text, len, true, &heap, &result);
			EXPECT(result.verdict == ENGINE_NO_MEMORY, "allocation %llu of %llu fails: %s",
				   (unsigned long long) at, (unsigned long long) calls,
				   result.verdict == ENGINE_SAME ? "unnoticed" : result.why);
		}
	}
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "range");
	test_effects(unit_iterations(3000));
	test_characters();
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t marker = 0; marker < 2; marker++)
		{
			PpDialect	d = texts_dialect[i];

			d.end_marker = marker != 0;
			test_exhaustive(&d, unit_iterations(100) >= 100 ? (marker ? 3 : 4) : 2);
		}
	test_random(T_SOUP, unit_iterations(800), 60);
	test_random(T_RECORDS, unit_iterations(300), 120);
	test_random(T_RECORDS + 10, unit_iterations(30), 3000);
	test_random(T_LONG, unit_iterations(40), 400000);
	test_memory(unit_iterations(10));
	return unit_end();
}

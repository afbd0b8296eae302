/*
 * src/parse/range.c
 *	  Effects of stretches of a file, see range.h.
 *
 * Everything is counted many bytes at a time: where no escape other than the
 * quote is met, the state behind a stretch is the parity of its quotes.
 * Holds no state of its own.
 */
#include "range.h"

#include <string.h>

#include "json/json_range.h"

/* Text that is looked at several times stays in the first-level cache. */
#define SURVEY_BLOCK	16384

bool
pp_range_possible(const PpDialect *d)
{
	return pp_dialect_is_parity(d);
}

PpRangeState
pp_range_apply(const PpEffect *effect, PpRangeState state)
{
	state.lines += effect->lines;
	if (effect->documents)
	{
		state.column = effect->lines > 0 ? effect->tail : state.column + effect->tail;
		return pp_json_effect_apply(&effect->json, state);
	}
	state.quoting = (PpQuoting) pp_vec_apply(effect->vector, state.quoting);
	return state;
}

/* The state behind n bytes of which one may be an escape. */
static PpQuoting
run_escapes(const PpDialect *d, PpQuoting state, const uint8_t *text, size_t n)
{
	const uint8_t *end = text + n;
	const uint8_t *p = text;
	const uint8_t *quote = NULL;	/* the next ones; behind p, if known */
	const uint8_t *escape = NULL;

	if (state == PP_ESCAPED && n > 0)
	{
		p++;
		state = PP_INSIDE;
	}
	while (p < end)
	{
		if (!quote || quote < p)
		{
			quote = memchr(p, d->quote, (size_t) (end - p));
			if (!quote)
				quote = end;
		}
		if (state == PP_OUTSIDE)
		{
			if (quote == end)
				return state;
			state = PP_INSIDE;
			p = quote + 1;
			continue;
		}
		if (!escape || escape < p)
		{
			escape = memchr(p, d->escape, (size_t) (end - p));
			if (!escape)
				escape = end;
		}
		if (escape < quote)
		{
			/* what stands behind it is data */
			p = escape + 2;
			if (p > end)
				return PP_ESCAPED;
		}
		else if (quote < end)
		{
			state = PP_OUTSIDE;
			p = quote + 1;
		}
		else
			return state;
	}
	return state;
}

PpQuoting
pp_range_run(const PpDialect *d, const PpKernels *k, PpQuoting state,
			 const uint8_t *text, size_t n)
{
	if (d->escape != d->quote)
		return run_escapes(d, state, text, n);
	return k->count_byte(text, n, d->quote) & 1 ?
		(state == PP_OUTSIDE ? PP_INSIDE : PP_OUTSIDE) : state;
}

static PpVector
vector_of(const PpDialect *d, const PpKernels *k, const uint8_t *text, size_t n)
{
	PpVector	v = PP_VEC_IDENTITY & ~UINT64_C(0xfff);

	for (uint32_t s = 0; s < PP_QUOTINGS; s++)
		v |= (PpVector) pp_range_run(d, k, (PpQuoting) s, text, n) << (4 * s);
	return v;
}

void
pp_range_survey(const PpDialect *d, const PpKernels *k, uint8_t line,
				const uint8_t *text, size_t n, PpEffect *effect)
{
	uint64_t	quotes = 0;

	for (size_t i = 0; i < n; i += SURVEY_BLOCK)
	{
		size_t		part = n - i < SURVEY_BLOCK ? n - i : SURVEY_BLOCK;

		uint64_t	here = 0;

		effect->marker |= k->survey(text + i, part, line, d->quote, '\\',
									&effect->lines, &here);
		quotes += here;
		if (d->escape != d->quote)
			effect->vector = pp_vec_compose(effect->vector,
											vector_of(d, k, text + i, part));
	}
	if ((quotes & 1) && d->escape == d->quote)
	{
		const PpVector toggle = (PP_VEC_IDENTITY & ~UINT64_C(0xff)) |
			PP_INSIDE << (4 * PP_OUTSIDE) | PP_OUTSIDE << (4 * PP_INSIDE);

		effect->vector = pp_vec_compose(effect->vector, toggle);
	}
}

size_t
pp_range_line_end(const PpDialect *d, const PpKernels *k, PpEol eol,
				  const uint8_t *text, size_t *pos, size_t to, PpQuoting *state)
{
	/*
	 * In CRNL files the '\n' is enough: one that stands alone outside quotes
	 * is an error of the record before.
	 */
	const uint8_t c = eol == PP_EOL_CR ? '\r' : '\n';

	while (*pos < to)
	{
		const uint8_t *found = memchr(text + *pos, c, to - *pos);
		size_t		at = found ? (size_t) (found - text) : to;

		*state = pp_range_run(d, k, *state, text + *pos, at - *pos);
		*pos = at;
		if (!found)
			break;
		if (*state == PP_OUTSIDE)
			return at + 1;
		*state = PP_INSIDE;		/* it is neither quote nor escape */
		*pos = at + 1;
	}
	return 0;
}

bool
pp_range_marker(const PpDialect *d, const PpKernels *k, PpEol eol,
				const uint8_t *text, size_t n, size_t avail, PpQuoting state)
{
	const uint8_t c = eol == PP_EOL_CR ? '\r' : '\n';
	size_t		stop = n + 1 < avail ? n + 1 : avail;
	size_t		pos = 1;		/* next byte to look at ... */
	size_t		known = 0;		/* ... and the one that state is known of */

	while (pos < stop)
	{
		const uint8_t *found = memchr(text + pos, '\\', stop - pos);
		const uint8_t *ending;
		size_t		at;

		if (!found)
			break;
		at = (size_t) (found - text);
		pos = at + 1;
		ending = found + 2;
		if (text[at - 1] != c || avail - at < 3 || found[1] != '.')
			continue;
		if (eol == PP_EOL_CRNL)
		{
			if (*ending++ != '\r' || avail - at < 4)
				continue;
		}
		if (*ending != c)
			continue;
		if (state == PP_QUOTINGS)
			return true;
		state = pp_range_run(d, k, state, text + known, at - known);
		known = at;
		if (state == PP_OUTSIDE)
			return true;
	}
	return false;
}

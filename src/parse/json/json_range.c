/*
 * src/parse/json/json_range.c
 *	  Effects of stretches of JSON documents, see json_range.h.
 *
 * One pass over the bytes serves the two states in which a stretch may begin
 * but for a backslash in front: what is in a string for one is outside for the
 * other.  With a backslash in front only the first byte differs.  Holds no
 * state of its own.
 */
#include "json_range.h"

#include "json_kernel.h"

/* Bytes that are looked at several times stay in the first-level cache. */
#define BLOCK	16384

void
pp_json_effect_init(PpJsonEffect *effect)
{
	for (uint32_t s = 0; s < PP_QUOTINGS; s++)
	{
		effect->from[s].end = (PpQuoting) s;
		effect->from[s].depth = effect->from[s].lowest = 0;
		effect->from[s].opened = 0;
	}
}

/*
 * The reference: a byte at a time.  Backslashes count in strings only, as the
 * kernels' outside of them are no JSON.
 */
static void
sweep(PpJsonSweep *w, const uint8_t *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		uint8_t		c = text[i];

		switch (w->end)
		{
			case PP_ESCAPED:
				w->end = PP_INSIDE;
				break;
			case PP_INSIDE:
				if (c == '"')
					w->end = PP_OUTSIDE;
				else if (c == '\\')
					w->end = PP_ESCAPED;
				break;
			default:
				if (c == '"')
					w->end = PP_INSIDE;
				else if (c == '{' || c == '[' || c == '}' || c == ']')
					pp_json_bracket(w, c);
		}
	}
}

static PpJsonSweep
then(const PpJsonSweep *a, const PpJsonSweep *b)
{
	PpJsonSweep r;

	r.end = b->end;
	r.depth = a->depth + b->depth;
	r.lowest = a->lowest;
	r.opened = a->opened;
	if (a->depth + b->lowest <= a->lowest)
	{
		r.lowest = a->depth + b->lowest;
		r.opened = b->opened;
	}
	return r;
}

PpJsonEffect
pp_json_effect_compose(const PpJsonEffect *a, const PpJsonEffect *b)
{
	PpJsonEffect r;

	for (uint32_t s = 0; s < PP_QUOTINGS; s++)
		r.from[s] = then(&a->from[s], &b->from[a->from[s].end]);
	return r;
}

/* A block's effect, n > 0. */
static void
block_effect(PpJsonEffect *effect, const PpJsonKernels *kernels, const uint8_t *text, size_t n)
{
	PpJsonSweep *from = effect->from;

	pp_json_effect_init(effect);
	if (!kernels)
	{
		for (uint32_t s = 0; s < PP_QUOTINGS; s++)
			sweep(&from[s], text, n);
		return;
	}
	kernels->sweep(&from[PP_OUTSIDE], &from[PP_INSIDE], text, (uint32_t) n);
	if (text[0] == '\\')
	{
		PpJsonSweep unused = {PP_OUTSIDE, 0, 0, 0};

		from[PP_ESCAPED].end = PP_INSIDE;
		if (n > 1)
			kernels->sweep(&unused, &from[PP_ESCAPED], text + 1, (uint32_t) (n - 1));
	}
	else
		from[PP_ESCAPED] = from[text[0] == '"' ? PP_OUTSIDE : PP_INSIDE];
}

void
pp_json_effect_add(PpJsonEffect *effect, const PpKernels *kernels, const uint8_t *text, size_t n)
{
	const PpJsonKernels *json = pp_json_kernels(kernels->level);

	for (size_t i = 0; i < n; i += BLOCK)
	{
		PpJsonEffect own;

		block_effect(&own, json, text + i, n - i < BLOCK ? n - i : BLOCK);
		*effect = pp_json_effect_compose(effect, &own);
	}
}

PpRangeState
pp_json_effect_apply(const PpJsonEffect *effect, PpRangeState state)
{
	const PpJsonSweep *w = &effect->from[state.quoting];
	uint64_t	sinks = (uint64_t) -(int64_t) w->lowest;

	state.quoting = w->end;
	state.behind = 0;
	if (sinks >= state.depth)
	{
		/* no deeper than nothing: more brackets closed are no JSON */
		state.depth = sinks;
		state.array = w->opened == '[';
	}
	state.depth += (uint64_t) (int64_t) w->depth;
	return state;
}

size_t
pp_json_separator(const uint8_t *text, size_t *pos, size_t to, PpRangeState *state)
{
	for (size_t i = *pos; i < to; i++)
	{
		uint8_t		c = text[i];
		bool		separates = false;

		if (state->quoting == PP_ESCAPED)
			state->quoting = PP_INSIDE;
		else if (state->quoting == PP_INSIDE)
		{
			if (c == '"')
				state->quoting = PP_OUTSIDE;
			else if (c == '\\')
				state->quoting = PP_ESCAPED;
		}
		else if (c == '"')
			state->quoting = PP_INSIDE;
		else if (c == ',')
			separates = state->depth == 1 && state->array;
		else if (c == '{' || c == '[')
		{
			if (state->depth++ == 0)
				separates = state->array = c == '[';
		}
		else if (c == '}' || c == ']')
		{
			if (state->depth > 0)
				state->depth--;
			separates = state->depth == 0;
		}
		if (separates)
		{
			state->behind = c;
			return i + 1;
		}
	}
	*pos = to;
	return 0;
}

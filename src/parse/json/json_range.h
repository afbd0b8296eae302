/*
 * src/parse/json/json_range.h
 *	  Documents of JSON, cut anywhere: what has to be known of a stretch before
 *	  others can parse theirs, and where its first record starts.
 *
 * As ../range.h for CSV.  At a cut three things matter: whether it falls in a
 * string (and behind a backslash there), how many arrays and objects are open,
 * and whether the outermost of them is an array, whose elements are records.
 * A stretch's effect on the first is a map of three states; on the others, for
 * each of these, how the depth moves, how far it sinks, and what the last
 * outermost bracket is.  So effects are computed without knowing where the
 * stretch stands, and compose.
 *
 * Records follow separators: the ',' between elements of an outermost array,
 * the '[' that opens one, and the bracket that closes what is outermost.  (So
 * outermost scalars belong to the stretch of what stands in front of them.)  A
 * record belongs to the stretch that its separator lies in.
 *
 * All this only counts brackets outside strings, of either kind: of text that
 * is no JSON the results mean nothing, but who parses that text finds its first
 * fault, and what comes behind does not matter any more.
 */
#ifndef PP_JSON_RANGE_H
#define PP_JSON_RANGE_H

#include "../range.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* One bracket, outside strings. */
PP_INLINE void
pp_json_bracket(PpJsonSweep *w, uint8_t c)
{
	if (c == '{' || c == '[')
	{
		if (w->depth == w->lowest)
			w->opened = c;
		w->depth++;
	}
	else
	{
		w->depth--;
		if (w->depth < w->lowest)
		{
			w->lowest = w->depth;
			w->opened = 0;
		}
	}
}

/* Of no bytes. */
extern void pp_json_effect_init(PpJsonEffect *effect);

/* Adds n bytes, at most 1 GiB.  kernels: the CPU's, of any level. */
extern void pp_json_effect_add(PpJsonEffect *effect, const PpKernels *kernels,
							   const uint8_t *text, size_t n);

/* The effect of a, then b. */
extern PpJsonEffect pp_json_effect_compose(const PpJsonEffect *a, const PpJsonEffect *b);

/* The state behind it, but for lines and columns. */
extern PpRangeState pp_json_effect_apply(const PpJsonEffect *effect, PpRangeState state);

/*
 * Search for the first separator in text[*pos .. to), in state *state at *pos.
 * Answers the position behind it, or 0 if there is none; then *pos is to.
 * *state is the state at that place, but for lines and columns.
 */
extern size_t pp_json_separator(const uint8_t *text, size_t *pos, size_t to,
								PpRangeState *state);

#ifdef __cplusplus
}
#endif

#endif							/* PP_JSON_RANGE_H */

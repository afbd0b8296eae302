/*
 * src/parse/range.h
 *	  What has to be known of a stretch of a file before others can parse
 *	  theirs: its effect on the quoting state, its lines, and whether the data
 *	  may end in it.
 *
 * A file is cut anywhere, in disregard of records.  At a cut only the quoting
 * state matters: a stretch's records are those behind the line ends whose
 * last byte lies in it, so what its last record is made of behind the cut is
 * read by the one who has the stretch, and whether a cut falls within a line
 * end or an end-of-data marker never matters.  A stretch's effect is the
 * transition vector over the quoting states (ParPaRaw, section 3.1), which
 * composes with pp_vec_compose() as any other.
 *
 * Dialects whose quote is a line end character as well are not served (see
 * pp_range_possible()).  What an unquoted line end of the wrong kind leads to
 * is of no concern here: it is an error of a record that starts earlier.
 *
 * Of JSON documents more than the quoting state matters at a cut, see
 * json/json_range.h.  Lines of JSON begin outside of quotes.
 */
#ifndef PP_RANGE_H
#define PP_RANGE_H

#include "cpu/kernel.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Quoting states at a cut; the nibbles of an effect's vector. */
typedef enum PpQuoting
{
	PP_OUTSIDE,
	PP_INSIDE,
	PP_ESCAPED,					/* inside, behind an escape */
	PP_QUOTINGS
} PpQuoting;

/* What a stretch of JSON documents does, entered in one of these states. */
typedef struct PpJsonSweep
{
	PpQuoting	end;			/* the state behind it */
	int32_t		depth;			/* brackets opened less those closed ... */
	int32_t		lowest;			/* ... and the least of that on the way, at most 0 */
	uint8_t		opened;			/* the last bracket opened from there; 0: none */
} PpJsonSweep;

typedef struct PpJsonEffect
{
	PpJsonSweep from[PP_QUOTINGS];
} PpJsonEffect;

typedef struct PpEffect
{
	PpVector	vector;			/* over PpQuoting; others map to themselves */
	uint64_t	lines;			/* line characters that COPY counts */
	bool		marker;			/* an end-of-data marker may start a record */

	/* of JSON documents, in place of vector */
	bool		documents;
	uint64_t	tail;			/* bytes behind the last line end, or all */
	PpJsonEffect json;
} PpEffect;

/* Where a cut falls. */
typedef struct PpRangeState
{
	PpQuoting	quoting;
	uint64_t	lines;			/* line characters in front of it */

	/* of JSON documents */
	uint64_t	column;			/* bytes from the line's start on */
	uint64_t	depth;			/* arrays and objects that are open */
	bool		array;			/* depth > 0: the outermost is an array */
	uint8_t		behind;			/* the separator right in front; 0: none, or that
								 * is not known */
} PpRangeState;

/* In front of all. */
#define PP_RANGE_START	{PP_OUTSIDE, 0, 0, 0, false, 0}

extern PpRangeState pp_range_apply(const PpEffect *effect, PpRangeState state);

/* Bytes behind a stretch's end that its effect depends on. */
#define PP_RANGE_AHEAD	4

/* Can files of this dialect be scanned in pieces? */
extern bool pp_range_possible(const PpDialect *dialect);

/* The quoting state behind n bytes. */
extern PpQuoting pp_range_run(const PpDialect *dialect, const PpKernels *kernels,
							  PpQuoting state, const uint8_t *text, size_t n);

/*
 * Adds n bytes' vector and lines to an effect, whose vector starts as
 * PP_VEC_IDENTITY, all else as 0.  line is the character that counts.  marker
 * says no more than that a '\\' was seen: pp_range_marker() looks closer.
 */
extern void pp_range_survey(const PpDialect *dialect, const PpKernels *kernels,
							uint8_t line, const uint8_t *text, size_t n,
							PpEffect *effect);

/*
 * Search for the first line end outside quotes in text[*pos .. to), in state
 * *state at *pos.  Answers the position behind it, or 0 if there is none;
 * then *pos is to, and *state the state there.
 */
extern size_t pp_range_line_end(const PpDialect *dialect, const PpKernels *kernels,
								PpEol eol, const uint8_t *text,
								size_t *pos, size_t to, PpQuoting *state);

/*
 * Does an end-of-data marker stand behind a line end whose last byte lies in
 * text[0 .. n)?  PP_RANGE_AHEAD bytes behind are looked at, as far as they
 * lie in front of avail.  With state PP_QUOTINGS quotes are disregarded, so
 * that the answer is "possibly"; else state is that at text[0].
 */
extern bool pp_range_marker(const PpDialect *dialect, const PpKernels *kernels,
							PpEol eol, const uint8_t *text, size_t n, size_t avail,
							PpQuoting state);

#ifdef __cplusplus
}
#endif

#endif							/* PP_RANGE_H */

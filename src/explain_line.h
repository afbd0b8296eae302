/*-------------------------------------------------------------------------
 *
 * explain_line.h
 *		Lines of several figures in EXPLAIN: one line in text, "a=1 b=2", and
 *		a group of its own in other formats.
 *
 * IDENTIFICATION
 *		src/explain_line.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARPARAW_EXPLAIN_LINE_H
#define PARPARAW_EXPLAIN_LINE_H

#include "postgres.h"

#include "commands/explain.h"
#include "lib/stringinfo.h"

#include "compat.h"

static inline void
pp_explain_begin_line(const char *label, ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		appendStringInfoSpaces(es->str, es->indent * 2);
		appendStringInfo(es->str, "%s:", label);
	}
	else
		ExplainOpenGroup(label, label, true, es);
}

static inline void
pp_explain_end_line(const char *label, ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
		appendStringInfoChar(es->str, '\n');
	else
		ExplainCloseGroup(label, label, true, es);
}

/* Figures: their name in text, and that in other formats. */
static inline void
pp_explain_ms(const char *text, const char *label, double seconds, ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
		appendStringInfo(es->str, " %s=%.3f", text, seconds * 1000);
	else
		ExplainPropertyFloat(label, "ms", seconds * 1000, 3, es);
}

static inline void
pp_explain_count(const char *text, const char *label, const char *unit, uint64 n,
				 ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
		appendStringInfo(es->str, " %s=" UINT64_FORMAT, text, n);
	else
		ExplainPropertyInteger(label, unit, (int64) n, es);
}

#endif							/* PARPARAW_EXPLAIN_LINE_H */

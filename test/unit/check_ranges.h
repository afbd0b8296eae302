/*
 * test/unit/check_ranges.h
 *	  Runs ranged streams over an input, range by range, and compares them with
 *	  the model of COPY.
 */
#ifndef CHECK_RANGES_H
#define CHECK_RANGES_H

#include "engine_check.h"

/*
 * The input in ranges of c->partition bytes (verify NUL or UTF8), each by one
 * of several streams that share nothing but the layout and effects.  Each
 * range must give its own records; up to the one in which the input ends by
 * an error or an end-of-data marker they must be the model's.  If leave,
 * streams leave ranges in their middle now and then, to another one.
 */
extern void check_ranges(const EngineCase *c, const uint8_t *input, size_t len,
						 bool leave, UnitHeap *heap, EngineResult *result);

#endif							/* CHECK_RANGES_H */

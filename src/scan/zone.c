/*-------------------------------------------------------------------------
 *
 * zone.c
 *		What reading timestamps depends on: the session's time zone, turned
 *		into a table for the parse engine, and its abbreviations.
 *
 * IDENTIFICATION
 *		src/scan/zone.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "datatype/timestamp.h"
#include "pgtime.h"
#include "utils/guc.h"

#include "scan.h"

/* Years whose time zone changes are known to the engine. */
#define ZONE_FIRST_YEAR		1901
#define ZONE_LAST_YEAR		2100

/* Seconds of a mean Gregorian year. */
#define SECONDS_A_YEAR		((pg_time_t) 31556952)

/*
 * DetermineTimeZoneOffset() looks for the first change after the local time
 * less a day.  So a local time has the offset that this table gives if it
 * lies a day or more behind the change before, is neither skipped nor
 * repeated by the changes on either side, and the offset is less than a day.
 */
PpZoneSpan *
parparaw_zone_spans(const pg_tz *zone, uint32 *nspans)
{
	const pg_time_t epoch = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * (pg_time_t) SECS_PER_DAY;
	const pg_time_t stop = (ZONE_LAST_YEAR - 1970) * SECONDS_A_YEAR;
	pg_time_t	at = (ZONE_FIRST_YEAR - 1970) * SECONDS_A_YEAR;
	pg_time_t	earlier = at - 2 * SECS_PER_DAY;	/* the change before at */
	long		previous = 0;	/* offset before at */
	bool		first = true;
	uint32		n = 0;
	uint32		room = 64;
	PpZoneSpan *span = palloc(room * sizeof(PpZoneSpan));

	while (at < stop)
	{
		long		offset,
					next;
		int			isdst;
		pg_time_t	change,
					from,
					to;
		int			found = pg_next_dst_boundary(&at, &offset, &isdst, &change,
												 &next, &isdst, zone);

		if (found < 0)
			break;
		if (found > 0 && change <= at)
		{
			/* a rule that contradicts itself */
			n = 0;
			break;
		}
		if (found == 0 || change > stop)
		{
			change = stop;
			next = offset;
		}

		from = at + (first ? offset : Max(offset, previous));
		from = Max(from, earlier + SECS_PER_DAY);
		to = change + Min(offset, next);
		if (from < to && change - at >= 2 * SECS_PER_DAY &&
			offset < SECS_PER_DAY && offset > -SECS_PER_DAY)
		{
			if (n == room)
			{
				room *= 2;
				span = repalloc(span, room * sizeof(PpZoneSpan));
			}
			span[n].from = (from - epoch) * USECS_PER_SEC;
			span[n].to = (to - epoch) * USECS_PER_SEC;
			span[n].offset = (int32) offset;
			n++;
		}
		earlier = at;
		previous = offset;
		first = false;
		at = change;
	}
	*nspans = n;
	return span;
}

bool
parparaw_iso_letters(void)
{
	const char *set = GetConfigOption("timezone_abbreviations", true, false);

	/* these files come with the server and do not define T or Z otherwise */
	if (set == NULL || (strcmp(set, "Default") != 0 &&
						strcmp(set, "Australia") != 0 && strcmp(set, "India") != 0))
		return false;
	return !pp_zone_defines("T") && !pp_zone_defines("Z");
}

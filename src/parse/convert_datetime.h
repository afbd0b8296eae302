/*
 * src/parse/convert_datetime.h
 *	  Text to date, time, timestamp and timestamp with time zone.
 *
 * Read here are the ISO forms with four-digit years from 0001 to 9999:
 *
 *		date		YYYY-MM-DD
 *		time		HH:MM or HH:MM:SS, then for seconds .f with 1 to 9 digits
 *		timestamp	date, or date, ' ' or 'T', and time
 *		zone		Z, +HH, +HHMM or +HH:MM, and the same with '-'
 *
 * They mean the same under every DateStyle and IntervalStyle.  'T' and 'Z' are
 * looked up by the server as time zone abbreviations first; whoever calls must
 * not use pp_to_timestamp() and pp_to_timestamptz() in a session that has made
 * an abbreviation of T, or another zone than UTC of Z.  Hour 24, second 60 and
 * everything else goes to the input function.
 *
 * Days are counted in the proleptic Gregorian calendar from 2000-01-01, times
 * in microseconds.
 */
#ifndef PP_CONVERT_DATETIME_H
#define PP_CONVERT_DATETIME_H

#include "convert_int.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define PP_USECS_PER_SEC	INT64_C(1000000)
#define PP_USECS_PER_DAY	INT64_C(86400000000)

/*
 * Is x, made of eight characters XORed with a pattern of '0's and separators,
 * all digits (below 10) where limit has 0x76, and equal where it has 0x7f?
 */
PP_INLINE bool
pp_matches(uint64_t x, uint64_t limit)
{
	return (((x + limit) | x) & PP_HIGH_BITS) == 0;
}

/* Days from 2000-01-01 to the given date; year is at least 1. */
PP_INLINE int32_t
pp_days_from_date(uint32_t year, uint32_t month, uint32_t day)
{
	uint32_t	y = year - (month <= 2);	/* years that begin in March */
	uint32_t	m = month <= 2 ? month + 9 : month - 3;

	/*
	 * From March on, months have 31, 30, 31, 30, 31 days twice over, then 31
	 * and what February has: 153 days in five months.  730425 days lead from
	 * the first of March of year 0 to 2000-01-01.
	 */
	return (int32_t) (365 * y + y / 4 - y / 100 + y / 400 +
					  (153 * m + 2) / 5 + day - 1) - 730425;
}

/* The ten characters YYYY-MM-DD, checked against the calendar. */
PP_INLINE bool
pp_parse_date(const uint8_t *s, int32_t *days)
{
	/* "YYYY-MM-" and "YY-MM-DD", which overlap. */
	uint64_t	head = pp_load64(s) ^ UINT64_C(0x2d30302d30303030);
	uint64_t	tail = pp_load64(s + 2) ^ UINT64_C(0x30302d30302d3030);
	uint64_t	pairs;
	uint32_t	year;
	uint32_t	month;
	uint32_t	day;
	uint32_t	last;

	if (!pp_matches(head, UINT64_C(0x7f76767f76767676)) ||
		!pp_matches(tail, UINT64_C(0x76767f76767f7676)))
		return false;

	/* Byte i becomes ten times digit i plus digit i + 1. */
	pairs = head * 10 + (head >> 8);
	year = (uint32_t) (pairs & 0xff) * 100 + (uint32_t) ((pairs >> 16) & 0xff);
	month = (uint32_t) ((pairs >> 40) & 0xff);
	day = (uint32_t) ((tail >> 48) & 0xff) * 10 + (uint32_t) (tail >> 56);

	if (year == 0 || month - 1 > 11)
		return false;
	if (month == 2)
		last = 28 + (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
	else
		last = 30 + ((month + month / 8) & 1);
	if (day - 1 >= last)
		return false;
	*days = pp_days_from_date(year, month, day);
	return true;
}

/*
 * The time that the n characters start with, in *usec; answers how many of
 * them it takes, 0 if there is none or it is to be handed over.
 */
PP_INLINE uint32_t
pp_parse_time(const uint8_t *s, uint32_t n, int64_t *usec)
{
	uint64_t	x;
	uint64_t	pairs;
	uint32_t	hour;
	uint32_t	minute;
	uint32_t	second = 0;
	uint32_t	used = 5;
	uint32_t	micros = 0;

	if (n < 5)
		return 0;
	x = pp_load64(s) ^ UINT64_C(0x30303a30303a3030);	/* "HH:MM:SS" */
	if (n >= 8 && pp_matches(x, UINT64_C(0x76767f76767f7676)))
		used = 8;
	else if (!pp_matches(x & UINT64_C(0xffffffffff),
						 UINT64_C(0x00000076767f7676)))
		return 0;
	pairs = x * 10 + (x >> 8);
	hour = (uint32_t) (pairs & 0xff);
	minute = (uint32_t) ((pairs >> 24) & 0xff);
	if (used == 8)
		second = (uint32_t) ((pairs >> 48) & 0xff);
	if (hour > 23 || minute > 59 || second > 59)
		return 0;

	if (used == 8 && n > 8 && s[8] == '.')
	{
		uint64_t	others;
		uint64_t	mask;
		uint32_t	count = 8;

		x = pp_load64(s + 9);
		others = pp_non_digits(x);
		if (others != 0)
			count = pp_ctz64(others) / 8;
		if (count > n - 9)
			count = n - 9;
		if (count == 0)
			return 0;
		used = 9 + count;
		if (PP_LIKELY(count <= 6))
		{
			/* The digits there are and '0's up to six, behind two '0's. */
			mask = (UINT64_C(1) << (8 * count)) - 1;
			x = (x & mask) | (PP_BYTES(0x30) & ~mask);
			micros = pp_eight_digits((x << 16) | 0x3030);
		}
		else
		{
			uint32_t	nanos;
			uint32_t	rest;

			if (count == 7)
				x = (x & (~UINT64_C(0) >> 8)) | (UINT64_C(0x30) << 56);
			nanos = pp_eight_digits(x) * 10;
			if (count == 8 && n > 17 && (uint32_t) s[17] - '0' < 10)
			{
				nanos += (uint32_t) s[17] - '0';
				used++;
				if (n > 18 && (uint32_t) s[18] - '0' < 10)
					return 0;
			}

			/*
			 * The server rounds the product of a double and 10^6.  Its error
			 * is far below a nanosecond, so only a half can go either way.
			 */
			micros = nanos / 1000;
			rest = nanos - micros * 1000;
			if (rest == 500)
				return 0;
			micros += (rest > 500);
			if (micros == PP_USECS_PER_SEC)
				return 0;
		}
	}
	*usec = (int64_t) ((hour * 60 + minute) * 60 + second) * PP_USECS_PER_SEC +
		micros;
	return used;
}

/* Rounds to mod fractional digits, half away from zero; -1: as it is. */
PP_INLINE int64_t
pp_round_usec(int64_t usec, int32_t mod)
{
	int64_t		unit = 1;

	if (PP_LIKELY(mod < 0 || mod >= 6))
		return usec;
	for (; mod < 6; mod++)
		unit *= 10;
	if (usec >= 0)
		return (usec + unit / 2) / unit * unit;
	return -((-usec + unit / 2) / unit * unit);
}

/*
 * All of the n characters as a zone: its offset in seconds east of UTC.  The
 * server takes up to 15:59.
 */
PP_INLINE bool
pp_parse_offset(const uint8_t *s, uint32_t n, int32_t *offset)
{
	uint64_t	x;
	uint32_t	hour;
	uint32_t	minute = 0;

	if (n == 1 && (*s | 0x20) == 'z')
	{
		*offset = 0;
		return true;
	}
	if (n == 0 || (*s != '+' && *s != '-'))
		return false;

	/* Bring all forms to HHMM. */
	x = pp_load64(s + 1);
	if (n == 3)
		x = (x & 0xffff) | 0x30300000;
	else if (n == 6 && s[3] == ':')
		x = (x & 0xffff) | ((x >> 8) & 0xffff0000);
	else if (n != 5)
		return false;
	x = (x & 0xffffffff) ^ 0x30303030;
	if (!pp_matches(x, 0x76767676))
		return false;
	hour = (uint32_t) (x & 0xff) * 10 + (uint32_t) ((x >> 8) & 0xff);
	minute = (uint32_t) ((x >> 16) & 0xff) * 10 + (uint32_t) (x >> 24);
	if (hour > 15 || minute > 59)
		return false;
	*offset = (int32_t) (hour * 60 + minute) * 60;
	if (*s == '-')
		*offset = -*offset;
	return true;
}

/*
 * A date with or without a time: *usec without regard to a zone.  Answers how
 * many characters that takes, 0 to hand over; the rest should be a zone.
 */
PP_INLINE uint32_t
pp_parse_timestamp(const uint8_t *s, uint32_t n, int64_t *usec)
{
	int32_t		days;
	int64_t		time = 0;
	uint32_t	used = 10;

	if (n < 10 || !pp_parse_date(s, &days))
		return 0;
	if (n > 10)
	{
		if (s[10] != ' ' && s[10] != 'T' && s[10] != 't')
			return 0;
		used = pp_parse_time(s + 11, n - 11, &time);
		if (used == 0)
			return 0;
		used += 11;
	}
	*usec = days * PP_USECS_PER_DAY + time;
	return used;
}

/*
 * The offset of the session's zone at the local time usec, if it is known and
 * the only one.
 */
PP_INLINE bool
pp_zone_offset(const PpEnv *env, int64_t usec, int32_t *offset)
{
	const PpZoneSpan *span = env->zone;

	if (env->nzone == 0)
		return false;

	/* Without branches: the last span that starts at or before usec. */
	for (uint32_t n = env->nzone; n > 1;)
	{
		uint32_t	half = n / 2;

		span += (span[half].from <= usec) ? half : 0;
		n -= half;
	}
	*offset = span->offset;
	return span->from <= usec && usec < span->to;
}

/* date_in */
PP_INLINE bool
pp_to_date(const uint8_t *s, uint32_t n, uint64_t *value)
{
	int32_t		days;

	if (n != 10 || !pp_parse_date(s, &days))
		return false;
	*value = (uint64_t) (int64_t) days;
	return true;
}

/* time_in; a time that rounds up to 24:00:00 is one. */
PP_INLINE bool
pp_to_time(const uint8_t *s, uint32_t n, int32_t mod, uint64_t *value)
{
	int64_t		usec;

	if (n == 0 || pp_parse_time(s, n, &usec) != n)
		return false;
	*value = (uint64_t) pp_round_usec(usec, mod);
	return true;
}

/* timestamp_in; like it, takes a valid zone and ignores it. */
PP_INLINE bool
pp_to_timestamp(const uint8_t *s, uint32_t n, int32_t mod, uint64_t *value)
{
	int64_t		usec;
	int32_t		offset;
	uint32_t	used = pp_parse_timestamp(s, n, &usec);

	if (used == 0 ||
		(used < n && !pp_parse_offset(s + used, n - used, &offset)))
		return false;
	*value = (uint64_t) pp_round_usec(usec, mod);
	return true;
}

/*
 * timestamptz_in.  Without a zone the session's applies, as far as env knows
 * it; the spans begin and end at whole seconds.
 */
PP_INLINE bool
pp_to_timestamptz(const uint8_t *s, uint32_t n, int32_t mod, const PpEnv *env,
				  uint64_t *value)
{
	int64_t		usec;
	int32_t		offset;
	uint32_t	used = pp_parse_timestamp(s, n, &usec);

	if (used == 0)
		return false;
	if (used == n)
	{
		if (!pp_zone_offset(env, usec, &offset))
			return false;
	}
	else if (!pp_parse_offset(s + used, n - used, &offset))
		return false;
	*value = (uint64_t) pp_round_usec(usec - offset * PP_USECS_PER_SEC, mod);
	return true;
}

#ifdef __cplusplus
}
#endif

#endif							/* PP_CONVERT_DATETIME_H */

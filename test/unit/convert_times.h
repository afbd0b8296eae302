/*
 * test/unit/convert_times.h
 *	  Tests of date, time, timestamp and timestamptz against the C library's
 *	  calendar and a reader that looks at one character after another.
 */
#ifndef CONVERT_TIMES_H
#define CONVERT_TIMES_H

#include <ctype.h>
#include <math.h>
#include <time.h>

#include "convert_check.h"

#define SECOND	INT64_C(1000000)

/* Offsets as in a zone with summer time, a gap and a doubled hour a year. */
static const PpZoneSpan ref_zone[] = {
	{-INT64_C(3155760000) * SECOND, -INT64_C(946684800) * SECOND, 3208},
	{-INT64_C(946684799) * SECOND, 7200 * SECOND, 3600},
	{10800 * SECOND, 20000000 * SECOND, 7200},
	{20003600 * SECOND, 40000000 * SECOND, 3600},
	{40000000 * SECOND, 50000000 * SECOND, -12600},
	{INT64_C(3155760000) * SECOND, INT64_C(252455616000) * SECOND, 50400}
};
static const PpEnv zone_env = {
	PP_CHARSET_UTF8, sizeof(ref_zone) / sizeof(ref_zone[0]), ref_zone
};
static const PpEnv no_zone_env = {PP_CHARSET_UTF8, 0, NULL};

/* Two digits at *p, or -1; *p moves behind them. */
static int
two_digits(const char **p)
{
	int			value = -1;

	if (isdigit((unsigned char) (*p)[0]) && isdigit((unsigned char) (*p)[1]))
		value = ((*p)[0] - '0') * 10 + ((*p)[1] - '0');
	*p += 2;
	return value;
}

static bool
reference_date(const char **p, int64_t *days)
{
	const char *s = *p;
	int			century;
	int			year;
	int			month;
	int			day;
	struct tm	tm;
	struct tm	back;
	time_t		t;

	if (strnlen(s, 10) < 10 || s[4] != '-' || s[7] != '-')
		return false;
	century = two_digits(&s);
	year = two_digits(&s);
	s++;
	month = two_digits(&s);
	s++;
	day = two_digits(&s);
	if (century < 0 || year < 0 || month < 0 || day < 0 || century + year == 0)
		return false;
	memset(&tm, 0, sizeof tm);
	tm.tm_year = century * 100 + year - 1900;
	tm.tm_mon = month - 1;
	tm.tm_mday = day;
	back = tm;
	t = timegm(&back);
	if (back.tm_mon != tm.tm_mon || back.tm_mday != tm.tm_mday ||
		back.tm_year != tm.tm_year)
		return false;
	*days = t / 86400 - 10957;
	*p = s;
	return true;
}

/* HH:MM[:SS[.f]]; *half if the sixth fractional digit could go either way. */
static bool
reference_time(const char **p, int64_t *usec, bool *half)
{
	const char *s = *p;
	int			part[3] = {0, 0, 0};
	size_t		length;

	*half = false;
	for (int i = 0; i < 3; i++)
	{
		if (i > 0 && *s++ != ':')
			return false;
		if (s[0] == '\0' || (part[i] = two_digits(&s)) < 0)
			return false;
		if (i == 1 && *s != ':')
			break;
	}
	if (part[0] > 23 || part[1] > 59 || part[2] > 59)
		return false;
	*usec = (part[0] * 3600 + part[1] * 60 + part[2]) * SECOND;
	if (*s == '.')
	{
		char		fraction[64];
		double		micros;

		length = strspn(s + 1, "0123456789");
		if (length == 0 || length > 9 || s - *p != 8)
			return false;
		memcpy(fraction, s, length + 1);
		fraction[length + 1] = '\0';
		micros = rint(strtod(fraction, NULL) * 1000000);
		if (micros == 1000000)
			return false;
		*half = length > 6 && s[7] == '5' &&
			strspn(s + 8, "0") == length - 7;
		*usec += (int64_t) micros;
		s += length + 1;
	}
	*p = s;
	return true;
}

static bool
reference_offset(const char *s, int *offset)
{
	size_t		n = strlen(s);
	int			sign = *s == '-' ? -1 : 1;
	int			hour;
	int			minute = 0;

	*offset = 0;
	if (strcmp(s, "Z") == 0 || strcmp(s, "z") == 0)
		return true;
	if ((*s != '+' && *s != '-') || n < 3)
		return false;
	s++;
	hour = two_digits(&s);
	if (n > 3)
	{
		s += (n == 6 && *s == ':');
		if (strlen(s) != 2)
			return false;
		minute = two_digits(&s);
	}
	if (hour < 0 || hour > 15 || minute < 0 || minute > 59)
		return false;
	*offset = sign * (hour * 3600 + minute * 60);
	return true;
}

static int64_t
reference_round(int64_t usec, int mod)
{
	int64_t		size = usec < 0 ? -usec : usec;
	int64_t		unit = 1;
	int64_t		rest;

	for (int i = mod; i >= 0 && i < 6; i++)
		unit *= 10;
	rest = size % unit;
	size -= rest;
	if (2 * rest >= unit && unit > 1)
		size += unit;
	return usec < 0 ? -size : size;
}

static void
expect_datetime(const char *text, int32_t mod)
{
	size_t		n = strlen(text);
	const char *p = text;
	int64_t		days = 0;
	int64_t		usec = 0;
	bool		half = false;
	int			offset = 0;
	bool		good;
	bool		zone;
	Verdict		verdict;

	/* date */
	good = reference_date(&p, &days);
	expect_value(PP_DATE, -1, NULL, text, n,
				 good && *p == '\0' ? MUST_CONVERT : MUST_HAND_OVER,
				 (uint64_t) days);

	/* timestamp and timestamptz */
	if (good && *p != '\0')
	{
		good = (*p == ' ' || *p == 'T' || *p == 't');
		p++;
		good = good && reference_time(&p, &usec, &half);
	}
	usec += days * 86400 * SECOND;
	zone = good && *p != '\0';
	if (zone)
		good = reference_offset(p, &offset);
	verdict = !good ? MUST_HAND_OVER : half ? MAY_CONVERT : MUST_CONVERT;
	expect_value(PP_TIMESTAMP, mod, NULL, text, n, verdict,
				 (uint64_t) reference_round(usec, mod));
	if (good && !zone)
	{
		expect_value(PP_TIMESTAMPTZ, mod, &no_zone_env, text, n, MUST_HAND_OVER, 0);
		good = false;
		for (uint32_t i = 0; i < zone_env.nzone; i++)
			if (usec >= ref_zone[i].from && usec < ref_zone[i].to)
			{
				good = true;
				offset = ref_zone[i].offset;
			}
		if (!good)
			verdict = MUST_HAND_OVER;
	}
	expect_value(PP_TIMESTAMPTZ, mod, &zone_env, text, n, verdict,
				 (uint64_t) reference_round(usec - offset * SECOND, mod));

	/* time */
	p = text;
	good = reference_time(&p, &usec, &half) && *p == '\0';
	expect_value(PP_TIME, mod, NULL, text, n,
				 !good ? MUST_HAND_OVER : half ? MAY_CONVERT : MUST_CONVERT,
				 (uint64_t) reference_round(usec, mod));
}

/* Every day there is, and days and months there are not. */
static void
test_calendar(void)
{
	static const int length[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	char		text[64];
	int64_t		number = -730119;	/* 0001-01-01 */

	begin_group("every day");
	for (int year = 0; year <= 9999; year++)
		for (int month = 0; month <= 13; month++)
			for (int day = 0; day <= 32; day++)
			{
				bool		leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);
				bool		good = year > 0 && month >= 1 && month <= 12 && day >= 1 &&
					day <= length[month - 1] + (month == 2 && leap);
				uint64_t	value = 0;

				if (!good && year % 50 != 0 && (year + 1) % 50 != 0)
					continue;
				text[0] = (char) ('0' + year / 1000);
				text[1] = (char) ('0' + year / 100 % 10);
				text[2] = (char) ('0' + year / 10 % 10);
				text[3] = (char) ('0' + year % 10);
				text[4] = text[7] = '-';
				text[5] = (char) ('0' + month / 10);
				text[6] = (char) ('0' + month % 10);
				text[8] = (char) ('0' + day / 10);
				text[9] = (char) ('0' + day % 10);
				group_values++;
				if (pp_to_date((uint8_t *) text, 10, &value) != good ||
					(good && (int64_t) value != number))
					complain(text, 10, "%" PRId64 ", not %" PRId64,
							 (int64_t) value, number);
				number += good;
			}
	end_group();

	begin_group("every time");
	for (int i = 0; i < 1000000; i++)
	{
		int			h = i / 10000;
		int			m = i / 100 % 100;
		int			s = i % 100;
		bool		good = h < 24 && m < 60 && s < 60;
		uint64_t	value = 0;

		/* Times that are none are alike; look at some. */
		if (!good && i % 7 != 0)
			continue;
		sprintf(text, "%02d:%02d:%02d", h, m, s);
		group_values++;
		if (pp_to_time((uint8_t *) text, 8, -1, &value) != good ||
			(good && (int64_t) value != (h * 3600 + m * 60 + s) * SECOND))
			complain(text, 8, "%" PRId64, (int64_t) value);
	}
	end_group();
}

static void
test_datetime(void)
{
	static const char alphabet[] = "0123456789--::.. TtZz+/AB\xff";
	static const char *const fixed[] = {
		"", "0001-01-01", "0000-01-01", "9999-12-31", "9999-12-31 23:59:59.999999",
		"0001-01-01 00:00:00", "2000-02-29", "1900-02-29", "2000-02-30",
		"2024-1-1", "24-01-01", "20240101", "2024/01/01", "01-02-2024",
		"2024-01-01 ", "2024-01-01T", "2024-01-01 24:00:00", "2024-01-01 23:59:60",
		"2024-01-01 12", "2024-01-01 12:30", "2024-01-01 12:30:", "2024-01-01 12:30.5",
		"2024-01-01 12:30:45.", "2024-01-01 12:30:45.1234567",
		"2024-01-01 12:30:45.123456500", "2024-01-01 12:30:45.9999995",
		"2024-01-01 12:30:45.9999994", "2024-01-01 12:30:45.999999999",
		"2024-01-01 12:30:45.1234567890", "2024-01-01T12:30:45Z",
		"2024-01-01t12:30:45z", "2024-01-01 12:30:45+00", "2024-01-01 12:30:45+15:59",
		"2024-01-01 12:30:45+16", "2024-01-01 12:30:45-15:60", "2024-01-01 12:30:45-0530",
		"2024-01-01 12:30:45+5", "2024-01-01 12:30:45+053", "2024-01-01 12:30:45+05:30:15",
		"2024-01-01 12:30:45 +00", "2024-01-01 12:30:45 UTC", "2024-01-01+00",
		"2024-01-01Z", "2024-01-01 12:30+05", "2024-01-01 12:30Z", "12:30", "12:30:45",
		"23:59:59.999999", "23:59:59.9999999", "24:00:00", "00:00", "00:00:00.5",
		"1:30", "12:30 AM", "12:30:45Z", "T12:30:45", "123045", "infinity",
		"-infinity", "epoch", "now", "J2451545", "2024-01-01 BC", "12024-01-01",
		"2024-01-01  12:30:45", " 2024-01-01", "2024-01-01 12:30:45 ", "2024-001"
	};
	static const char *const zones[] = {
		"", "", "", "Z", "+00", "-00", "+0000", "-08:00", "+14", "+1545", "-12:30", "z"
	};
	char		text[128];

	begin_group("date and time");
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		for (int mod = -1; mod <= 6; mod++)
			expect_datetime(fixed[i], mod);

	for (uint64_t i = 0; i < iterations; i++)
	{
		size_t		n = 0;
		int			mod = one_in(2) ? -1 : (int) below(7);
		int			year = one_in(2) ? 1900 + (int) below(200) : (int) below(10000);

		if (!one_in(5))
		{
			/* Some near the zone's changes. */
			if (one_in(4))
			{
				const PpZoneSpan *span = &ref_zone[below(zone_env.nzone)];
				time_t		t = (one_in(2) ? span->from : span->to) / SECOND +
					(int) below(5) - 2 + 946684800;
				struct tm	tm;

				if (gmtime_r(&t, &tm) == NULL || tm.tm_year + 1900 > 9999)
					continue;
				n = strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
			}
			else
				n = (size_t) sprintf(text, "%04d-%02u-%02u", year,
									 1 + below(one_in(20) ? 99 : 12),
									 1 + below(one_in(20) ? 99 : 28));
			if (n == 10 && !one_in(4))
				text[n++] = one_in(2) ? ' ' : 'T';
		}
		if (n <= 11 && n != 10)
			n += (size_t) sprintf(text + n, "%02u:%02u", below(24), below(60));
		if ((n == 16 || n == 5) && !one_in(6))
			n += (size_t) sprintf(text + n, ":%02u", below(one_in(20) ? 99 : 60));
		if ((n == 19 || n == 8) && one_in(2))
		{
			n += (size_t) sprintf(text + n, ".%09u",
								  one_in(3) ? 999999999 - below(3000) : below(1000000000));
			n -= below(one_in(8) ? 10 : 4);
			if (one_in(4))
				for (size_t k = n - 1; k > n - 3 && text[k] != '.'; k--)
					text[k] = k == n - 2 ? '5' : '0';
		}
		text[n] = '\0';
		if (n > 10)
			strcat(text, zones[below(sizeof(zones) / sizeof(zones[0]))]);
		expect_datetime(text, mod);
		if (one_in(3))
		{
			text[mutate(text, strlen(text), alphabet)] = '\0';
			expect_datetime(text, mod);
		}
	}
	end_group();
}

#endif							/* CONVERT_TIMES_H */

/*
 * bench/gen_taxi.c
 *	  Writes a CSV file that looks like New York's yellow taxi trips of 2017
 *	  and 2018: 17 columns, a header line, no quotes, pickup times ascending.
 *
 * The same arguments give the same bytes.  The distributions (zones, tariffs,
 * tips, trailing zeros dropped as in the published files) only need to be
 * like the real ones as far as the cost of reading them goes.
 *
 * usage: gen_taxi [BYTES [SEED]] >taxi.csv
 *
 * Writes whole records until BYTES (default 512 MiB) are reached, and the
 * number of records to standard error.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY			86400L
#define PERIOD		(730 * DAY)		/* two years of 365 days */
#define BUFFER		(1 << 20)
#define MAX_RECORD	4096

static const char header[] =
	"VendorID,tpep_pickup_datetime,tpep_dropoff_datetime,passenger_count,"
	"trip_distance,RatecodeID,store_and_fwd_flag,PULocationID,DOLocationID,"
	"payment_type,fare_amount,extra,mta_tax,tip_amount,tolls_amount,"
	"improvement_surcharge,total_amount\n";

static const int month_days[12] = {
	31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31
};

/* Zones where most trips begin and end. */
static const int busy_zones[24] = {
	237, 161, 236, 162, 230, 186, 170, 48, 234, 142, 79, 163,
	239, 68, 132, 107, 141, 164, 138, 249, 100, 238, 263, 90
};

static uint64_t random_state;

/* splitmix64 */
static uint64_t
random_bits(void)
{
	uint64_t	z = (random_state += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

/* Uniform in [0, 1). */
static double
uniform(void)
{
	return (random_bits() >> 11) * (1.0 / 9007199254740992.0);
}

static char *
put_unsigned(char *p, uint64_t v)
{
	char		digits[24];
	int			n = 0;

	do
	{
		digits[n++] = '0' + v % 10;
		v /= 10;
	} while (v);
	while (n)
		*p++ = digits[--n];
	return p;
}

static char *
put_two_digits(char *p, int v)
{
	*p++ = '0' + v / 10;
	*p++ = '0' + v % 10;
	return p;
}

/* An amount in hundredths, without trailing zeros: 7, 7.5, 7.25. */
static char *
put_hundredths(char *p, long v)
{
	int			fraction;

	if (v < 0)
	{
		*p++ = '-';
		v = -v;
	}
	p = put_unsigned(p, v / 100);
	fraction = v % 100;
	if (fraction)
	{
		*p++ = '.';
		*p++ = '0' + fraction / 10;
		if (fraction % 10)
			*p++ = '0' + fraction % 10;
	}
	return p;
}

/* A timestamp given in seconds since 2017-01-01. */
static char *
put_timestamp(char *p, long seconds)
{
	long		day = seconds / DAY;
	long		rest = seconds % DAY;
	int			day_of_year = day % 365;
	int			month = 0;

	while (day_of_year >= month_days[month])
		day_of_year -= month_days[month++];
	p = put_unsigned(p, 2017 + day / 365);
	*p++ = '-';
	p = put_two_digits(p, month + 1);
	*p++ = '-';
	p = put_two_digits(p, day_of_year + 1);
	*p++ = ' ';
	p = put_two_digits(p, rest / 3600);
	*p++ = ':';
	p = put_two_digits(p, rest / 60 % 60);
	*p++ = ':';
	return put_two_digits(p, rest % 60);
}

static int
random_zone(void)
{
	double		u = uniform();

	if (u < .72)
		return busy_zones[(int) (24 * uniform() * uniform())];
	return 1 + (int) (265 * uniform());
}

/*
 * One record; *time is the pickup time so far.  The order of the random draws
 * decides the bytes, so it must not change.
 */
static char *
put_record(char *p, double *time, double step)
{
	long		pickup;
	long		distance;
	long		duration;
	long		fare,
				extra,
				tax,
				tip,
				tolls,
				surcharge = 30,
				total;
	double		miles;
	double		u;
	int			rate;
	int			payment;

	*time += step * (-log(1 - uniform()));
	pickup = (long) *time;
	if (pickup >= PERIOD - 7200)
		pickup = PERIOD - 7200 - (long) (random_bits() % DAY);
	pickup -= (long) (600 * uniform());
	if (pickup < 0)
		pickup = 0;

	u = uniform();
	u += uniform();
	u += uniform();
	miles = exp(0.55 + 0.95 * (u - 1.5) * 1.4);
	distance = (long) (miles * 100 + .5);
	if (uniform() < .006)
		distance = 0;
	u = 180 + 260 * uniform();
	duration = (long) (miles * u + 60 * uniform());
	if (duration > DAY - 1)
		duration = DAY - 1;

	if (uniform() < .972)
		rate = 1;
	else if (uniform() < .8)
		rate = 2;
	else if (uniform() < .6)
		rate = 5;
	else
		rate = uniform() < .5 ? 3 : 4;
	if (uniform() < .685)
		payment = 1;
	else if (uniform() < .96)
		payment = 2;
	else
		payment = uniform() < .75 ? 3 : 4;

	if (rate == 2)
		fare = 5200;
	else
		fare = 250 + (long) (distance * 2.5 * (0.8 + .4 * uniform())) / 50 * 50 +
			(long) (duration / 60 * 35) / 50 * 50;
	u = uniform();
	extra = u < .53 ? 0 : (u < .85 ? 50 : 100);
	tax = rate == 5 ? 0 : 50;
	tolls = uniform() < .055 ? 576 : 0;
	tip = 0;
	if (payment == 1)
	{
		double		share = uniform() < .6 ? .20 : .30 * uniform();

		tip = (long) ((fare + extra + tax + surcharge + tolls) * share);
		if (uniform() < .35)
			tip = 100 * (1 + (long) (4 * uniform()));
	}
	total = fare + extra + tax + tip + tolls + surcharge;
	if (uniform() < .0005)
	{
		fare = -fare;
		extra = -extra;
		tax = -tax;
		surcharge = -surcharge;
		total = -(total - tip);
		tip = 0;
	}

	*p++ = uniform() < .55 ? '2' : '1';
	*p++ = ',';
	p = put_timestamp(p, pickup);
	*p++ = ',';
	p = put_timestamp(p, pickup + duration);
	*p++ = ',';
	u = uniform();
	*p++ = u < .715 ? '1' : u < .86 ? '2' : u < .90 ? '3' : u < .92 ? '4' :
		u < .967 ? '5' : u < .998 ? '6' : '0';
	*p++ = ',';
	p = put_hundredths(p, distance);
	*p++ = ',';
	p = put_unsigned(p, rate);
	*p++ = ',';
	*p++ = uniform() < .996 ? 'N' : 'Y';
	*p++ = ',';
	p = put_unsigned(p, random_zone());
	*p++ = ',';
	p = put_unsigned(p, random_zone());
	*p++ = ',';
	p = put_unsigned(p, payment);
	*p++ = ',';
	p = put_hundredths(p, fare);
	*p++ = ',';
	p = put_hundredths(p, extra);
	*p++ = ',';
	p = put_hundredths(p, tax);
	*p++ = ',';
	p = put_hundredths(p, tip);
	*p++ = ',';
	p = put_hundredths(p, tolls);
	*p++ = ',';
	p = put_hundredths(p, surcharge);
	*p++ = ',';
	p = put_hundredths(p, total);
	*p++ = '\n';
	return p;
}

static void
flush_buffer(const char *buffer, const char *end)
{
	size_t		len = end - buffer;

	if (fwrite(buffer, 1, len, stdout) != len || fflush(stdout) != 0)
	{
		perror("gen_taxi: cannot write");
		exit(1);
	}
}

int
main(int argc, char **argv)
{
	size_t		target = argc > 1 ? strtoull(argv[1], NULL, 10) : UINT64_C(512) << 20;
	double		step = PERIOD / (target / 88.0 + 1);	/* mean time between trips */
	double		time = 0;
	size_t		written = 0;
	uint64_t	records = 0;
	char	   *buffer = malloc(BUFFER + MAX_RECORD);
	char	   *p = buffer;

	if (buffer == NULL)
	{
		fprintf(stderr, "gen_taxi: out of memory\n");
		return 1;
	}
	random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : 42;
	memcpy(p, header, sizeof(header) - 1);
	p += sizeof(header) - 1;
	do
	{
		char	   *start = p;

		p = put_record(p, &time, step);
		written += p - start;
		records++;
		if (p - buffer >= BUFFER)
		{
			flush_buffer(buffer, p);
			p = buffer;
		}
	} while (written < target);
	flush_buffer(buffer, p);
	fprintf(stderr, "rows %llu\n", (unsigned long long) records);
	return 0;
}

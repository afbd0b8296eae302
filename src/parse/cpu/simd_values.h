/*
 * src/parse/cpu/simd_values.h
 *	  Short numbers and timestamps, eight at a time, on instruction sets that
 *	  have 64-bit lanes but no masks.  Included by a kernel_*.c behind
 *	  kernel_impl.h; simd_*.h says what Lanes are.
 *
 * Questions about single characters are answered by masks of 64 bits, one for
 * each byte of the eight words; bytes of a mask then are words.
 */

#define VECTORS		(8 / LANES)

/* Bit i: byte i of m is not zero. */
static inline PP_TARGET uint32_t
nonzero_bytes(uint64_t m)
{
	const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);

	m = (((m & low) + low) | m) & ~low;
	return (uint32_t) (((m >> 7) * UINT64_C(0x0102040810204080)) >> 56);
}

/* By the place of the decimal point, as a bit, 10 to the digits behind it. */
static const double power[129] = {
	[0] = 1, [1] = 1e7, [2] = 1e6, [4] = 1e5, [8] = 1e4, [16] = 1e3, [32] = 1e2,
	[64] = 1e1, [128] = 1
};

/*
 * Each number stands in a 64-bit lane, right-aligned: its last character in
 * the lane's highest byte, zeros in front.  The digits before the decimal
 * point move up by a byte over it; three multiply-add steps make an integer
 * of eight digits, exact, and a division by a power of ten that is exact as
 * well makes the nearest double.
 */
static PP_TARGET uint32_t
numbers(const uint8_t *text, const uint32_t *end, size_t width, uint32_t lead,
		const uint32_t *row, bool real, uint64_t *value)
{
	const uint64_t first = UINT64_C(0x0101010101010101);
	uint64_t	lane[8];
	uint32_t	good = 0;
	uint64_t	is_digit = 0,
				is_point = 0,
				is_minus = 0,
				is_pad = 0;
	uint64_t	wrong,
				points;

	for (int i = 0; i < 8; i++)
	{
		size_t		at = row[i] * width;
		uint32_t	start = end[(ptrdiff_t) at - 1] + lead;
		uint32_t	n = end[at] - start;
		uint64_t	bytes;

		memcpy(&bytes, text + start, 8);
		/* of a length that does not fit, something is shifted that does not
		 * count */
		lane[i] = bytes << ((64 - 8 * n) & 63);
		good |= (uint32_t) (n - 1 < 8) << i;
	}

	for (int i = VECTORS - 1; i >= 0; i--)
	{
		Lanes		x = lanes_load(lane + i * LANES);
		Lanes		digit = lanes_minus8(x, lanes_set8('0'));

		is_digit = (is_digit << (4 * LANES) << (4 * LANES)) | lanes_at_most8(digit, 9);
		is_point = (is_point << (4 * LANES) << (4 * LANES)) | lanes_equal8(x, '.');
		is_minus = (is_minus << (4 * LANES) << (4 * LANES)) | lanes_equal8(x, '-');
		is_pad = (is_pad << (4 * LANES) << (4 * LANES)) | lanes_equal8(x, 0);
	}
	if (!real)
		is_point = 0;

	/* other characters, a minus that is not in front, no digit, two points */
	wrong = ~(is_digit | is_point | is_minus | is_pad) |
		(is_minus & ~((is_pad << 1) | first));
	points = is_point & ((is_point | (first << 7)) - first);
	good &= nonzero_bytes(is_digit) & ~nonzero_bytes(wrong | points);

	for (int i = 0; i < VECTORS; i++)
	{
		Lanes		x = lanes_load(lane + i * LANES);
		Lanes		digit = lanes_and(lanes_minus8(x, lanes_set8('0')),
									  lanes_digits8(x));
		/* the byte of a minus sign, shifted up to the word's sign */
		Lanes		minus = lanes_minus64(lanes_set64(0), lanes_is8(x, '-'));

		if (real)
		{
			Lanes		point = lanes_and(lanes_is8(x, '.'), lanes_set8(1));
			Lanes		before = lanes_minus64(point, lanes_set64(1));
			double		tens[LANES];

			before = lanes_andnot(lanes_sign(before), before);
			digit = lanes_or(lanes_left(lanes_and(digit, before), 8),
							 lanes_andnot(before, digit));
			for (int j = 0; j < LANES; j++)
			{
				uint32_t	bit = (uint32_t) (is_point >> (8 * (i * LANES + j))) & 0xff;

				tens[j] = power[bit <= 128 ? bit : 0];
			}
			x = lanes_or(lanes_quotient(lanes_eight_digits(digit), tens),
						 lanes_and(minus, lanes_set64(UINT64_C(1) << 63)));
		}
		else
		{
			minus = lanes_sign(minus);
			x = lanes_minus64(lanes_xor(lanes_eight_digits(digit), minus), minus);
		}
		lanes_store(value + i * LANES, x);
	}
	return good;
}

/* Bytes i and i + 1, both digits, as a number in byte i. */
static inline PP_TARGET Lanes
digit_pairs(Lanes x)
{
	return lanes_plus64(lanes_plus64(lanes_left(x, 3), lanes_left(x, 1)), lanes_right(x, 8));
}

/* Byte i of each lane. */
static inline PP_TARGET Lanes
lane_byte(Lanes x, int i)
{
	return lanes_and(lanes_right(x, 8 * i), lanes_set64(0xff));
}

/* Has a byte of x a high bit, or would it have one with limit added? */
static inline PP_TARGET Lanes
beyond(Lanes x, uint64_t limit)
{
	return lanes_and(lanes_or(x, lanes_plus64(x, lanes_set64(limit))),
					 lanes_set64(UINT64_C(0x8080808080808080)));
}

/*
 * pp_parse_date() and pp_parse_time() in 64-bit lanes: each word is XORed
 * with what it should look like, so that digits are 0 to 9 and separators 0.
 */
static PP_TARGET uint32_t
timestamps(const uint8_t *text, const uint32_t *end, size_t width, uint32_t lead,
		   const uint32_t *row, uint64_t *value)
{
	const Lanes one = lanes_set64(1);
	uint64_t	lane[3][8];
	uint32_t	good = 0;
	uint32_t	right = 0;

	for (int i = 0; i < 8; i++)
	{
		size_t		at = row[i] * width;
		uint32_t	start = end[(ptrdiff_t) at - 1] + lead;
		const uint8_t *s = text + start;

		memcpy(&lane[0][i], s, 8);
		memcpy(&lane[1][i], s + 2, 8);
		memcpy(&lane[2][i], s + 11, 8);
		good |= (uint32_t) (end[at] - start == 19 && s[10] == ' ') << i;
	}

	for (int i = 0; i < VECTORS; i++)
	{
		Lanes		head = lanes_xor(lanes_load(lane[0] + i * LANES),
									 lanes_set64(UINT64_C(0x2d30302d30303030)));
		Lanes		tail = lanes_xor(lanes_load(lane[1] + i * LANES),
									 lanes_set64(UINT64_C(0x30302d30302d3030)));
		Lanes		time = lanes_xor(lanes_load(lane[2] + i * LANES),
									 lanes_set64(UINT64_C(0x30303a30303a3030)));
		Lanes		pairs,
					year,
					month,
					day,
					hour,
					minute,
					second,
					last,
					early,
					century,
					seconds,
					bad;

		/* a byte above its limit, 9 or 0, reaches the high bit */
		bad = lanes_or(beyond(head, UINT64_C(0x7f76767f76767676)),
					   lanes_or(beyond(tail, UINT64_C(0x76767f76767f7676)),
								beyond(time, UINT64_C(0x76767f76767f7676))));

		pairs = digit_pairs(head);
		year = lanes_plus64(lanes_times32(lane_byte(pairs, 0), lanes_set64(100)),
							lane_byte(pairs, 2));
		month = lane_byte(pairs, 5);
		day = lane_byte(digit_pairs(tail), 6);
		pairs = digit_pairs(time);
		hour = lane_byte(pairs, 0);
		minute = lane_byte(pairs, 3);
		second = lane_byte(pairs, 6);

		/* the month's last day: 30 or 31, in February 28 */
		last = lanes_plus64(lanes_set64(30),
							lanes_and(lanes_plus64(month, lanes_right(month, 3)), one));
		last = lanes_minus64(last, lanes_and(lanes_is32(month, lanes_set64(2)), lanes_set64(2)));

		/* all are below 2^31, and the lanes' upper halves equal */
		bad = lanes_or(bad, lanes_above32(one, year));
		bad = lanes_or(bad, lanes_above32(one, month));
		bad = lanes_or(bad, lanes_above32(month, lanes_set64(12)));
		bad = lanes_or(bad, lanes_above32(one, day));
		bad = lanes_or(bad, lanes_above32(day, last));
		bad = lanes_or(bad, lanes_above32(hour, lanes_set64(23)));
		bad = lanes_or(bad, lanes_above32(minute, lanes_set64(59)));
		bad = lanes_or(bad, lanes_above32(second, lanes_set64(59)));
		right |= lanes_zero(bad) << (i * LANES);

		/*
		 * Days since a day of year 0.  Years begin in March, January and
		 * February are months 13 and 14; 979 / 32 is the mean length of a
		 * month (Neri and Schneider, "Euclidean affine functions and their
		 * application to calendar algorithms"); 5243 / 2^19 divides by 100.
		 */
		early = lanes_above32(lanes_set64(3), month);
		year = lanes_minus64(year, lanes_and(early, one));
		month = lanes_plus64(month, lanes_and(early, lanes_set64(12)));
		century = lanes_right(lanes_times32(year, lanes_set64(5243)), 19);
		month = lanes_minus64(lanes_times32(month, lanes_set64(979)), lanes_set64(2919));
		day = lanes_plus64(day, lanes_right(month, 5));
		day = lanes_plus64(day, lanes_times32(year, lanes_set64(365)));
		day = lanes_plus64(day, lanes_right(year, 2));
		day = lanes_minus64(day, century);
		day = lanes_plus64(day, lanes_right(century, 2));

		/* a product of 64 bits by halves; then the days up to 2000-01-01 go */
		seconds = lanes_plus64(lanes_times32(hour, lanes_set64(3600)),
							   lanes_plus64(lanes_times32(minute, lanes_set64(60)), second));
		seconds = lanes_plus64(seconds, lanes_times32(day, lanes_set64(86400)));
		seconds = lanes_plus64(lanes_times32(seconds, lanes_set64(1000000)),
							   lanes_left(lanes_times32(lanes_right(seconds, 32), lanes_set64(1000000)), 32));
		lanes_store(value + i * LANES,
					lanes_minus64(seconds, lanes_set64((730425 + 1) * UINT64_C(86400000000))));
	}
	return good & right;
}

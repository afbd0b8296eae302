#!/usr/bin/env python3
"""Write power_of_five.h: 128-bit approximations of powers of five.

For a power 5^q, q >= 0, the table holds its 128 most significant bits,
truncated.  For q < 0 it holds those of the reciprocal 2^b / 5^-q + 1, where b
is chosen such that 128 bits are known for certain; the result is rounded up
while 5^-q fits in 64 bits and truncated beyond.  This is the table that the
error analysis of Lemire (Number Parsing at a Gigabyte per Second, 2021) and
Mushtak and Lemire (Fast Number Parsing Without Fallback, 2023) is about.

The range is what finite, normal binary64 values written with 1 to 19
significant digits can need.

usage: gen_power_of_five.py > power_of_five.h
"""

FIRST = -326
LAST = 308

HEADER = """\
/*
 * src/parse/power_of_five.h
 *	  Powers of five to 128 bits, for correctly rounded decimal to binary
 *	  conversion.
 *
 * Written by gen_power_of_five.py, which says what the entries are; change
 * that, not this.  The table lives inside the function so that one source
 * gives host and device a constant copy each.
 */
#ifndef PP_POWER_OF_FIVE_H
#define PP_POWER_OF_FIVE_H

#include "common.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define PP_POWER_MIN	(%d)
#define PP_POWER_MAX	%d

/*
 * The two 64-bit halves, high one first, of the normalized 5^q (its highest
 * bit set); PP_POWER_MIN <= q <= PP_POWER_MAX.
 */
PP_INLINE const uint64_t *
pp_power_of_five(int32_t q)
{
	static const uint64_t table[][2] = {
"""

FOOTER = """\
	};

	return table[q - PP_POWER_MIN];
}

#ifdef __cplusplus
}
#endif

#endif							/* PP_POWER_OF_FIVE_H */
"""


def entry(q):
    """The normalized 128-bit integer for 5^q."""
    if q >= 0:
        power = 5 ** q
        excess = power.bit_length() - 128
        return power >> excess if excess > 0 else power << -excess
    power = 5 ** -q
    z = (power - 1).bit_length()  # least z with 2^z >= power
    if power < 1 << 64:
        return (1 << (z + 127)) // power + 1
    value = (1 << (2 * z + 128)) // power + 1
    return value >> (value.bit_length() - 128)


def main():
    print(HEADER % (FIRST, LAST), end="")
    for q in range(FIRST, LAST + 1):
        value = entry(q)
        assert value.bit_length() == 128
        print("\t\t{UINT64_C(0x%016x), UINT64_C(0x%016x)},\t/* 5^%d */"
              % (value >> 64, value & (1 << 64) - 1, q))
    print(FOOTER, end="")


if __name__ == "__main__":
    main()

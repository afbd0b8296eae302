/*
 * src/parse/cpu/simd_list.h
 *	  What takes going bit by bit on instruction sets that cannot compress a
 *	  vector.  Included by simd_*.h.
 */

/*
 * Writes the bytes of the block at src, loaded as b, that keep has bits for,
 * and whatever up to 64 bytes behind each of them.  Reads as many behind the
 * last of them.
 */
static inline PP_TARGET void
block_keep(uint8_t *dst, const uint8_t *src, Block b, uint64_t keep)
{
	(void) b;
	while (keep)
	{
		/* a stretch of bytes that are kept, and what follows */
		uint32_t	from = (uint32_t) __builtin_ctzll(keep);
		uint64_t	gaps = ~(keep >> from);
		uint32_t	len = gaps ? (uint32_t) __builtin_ctzll(gaps) : 64;

		block_copy(dst, block_load(src + from));
		dst += len;
		if (from + len >= 64)
			break;
		keep &= ~UINT64_C(0) << (from + len);
	}
}

/*
 * Writes base + i for each bit i of m to out and answers their number.
 * Overwrites up to 8 entries more.
 */
static inline PP_TARGET uint32_t
list_bits(uint32_t *out, uint32_t base, uint64_t m)
{
	uint32_t	n = (uint32_t) popcount(m);

	/* writing eight at a time costs less than a loop that ends anywhere */
	for (uint32_t i = 0; i < n; i += 8)
		for (uint32_t j = 0; j < 8; j++)
		{
			/* once m is empty, what is written does not count */
			out[i + j] = base + (uint32_t) __builtin_ctzll(m | (UINT64_C(1) << 63));
			m &= m - 1;
		}
	return n;
}

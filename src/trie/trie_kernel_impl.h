/*
 * src/trie/trie_kernel_impl.h
 *	  The algorithms of trie_kernel.h, for one instruction set.  Included by
 *	  each trie_kernel_*.c behind its
 *
 *		PP_TARGET			function attribute that enables the instructions
 *		Vec, VEC_LANES		a vector of so many 32-bit numbers
 *		vec_load(p)
 *		vec_match(x, y)		bit i: entry i of x is anywhere in y
 *		vec_broadcast(v)	these two only if there are lanes
 *		vec_equal(x, y)		bit i: entries i are equal
 *		vec_keep(p, x, m)	writes the entries of x that m has bits for, and
 *							whatever behind them within VEC_LANES of p
 *		popcount(m)
 *		popcount64(m)
 *		and_count(a, b, words)
 *		and_any(a, b)		have PP_TRIE_WORDS words bits in common?
 *		narrow_blocks(keys, n, base, to, beyond)
 *							narrow() of as many whole blocks as there are, which is
 *							answered; adds the distances' bits to *beyond
 *
 * Blocks of both lists are compared all with all, and the one that ends first
 * makes way for its list's next one (Inoue, Ohara, Taura, VLDB 2014).
 */

static PP_TARGET size_t
intersect(const uint32_t *a, size_t na, const uint32_t *b, size_t nb, uint32_t *out)
{
	size_t		i = 0;
	size_t		j = 0;
	size_t		n = 0;

	while (i + VEC_LANES <= na && j + VEC_LANES <= nb)
	{
		Vec			x = vec_load(a + i);
		uint32_t	last_a = a[i + VEC_LANES - 1];
		uint32_t	last_b = b[j + VEC_LANES - 1];
		uint32_t	m = vec_match(x, vec_load(b + j));

		vec_keep(out + n, x, m);
		n += (size_t) popcount(m);
		i += last_a <= last_b ? VEC_LANES : 0;
		j += last_b <= last_a ? VEC_LANES : 0;
	}
	/* What matched in a block that was not left is below b[j], or a[i]. */
	while (i < na && j < nb)
	{
		uint32_t	x = a[i];
		uint32_t	y = b[j];

		out[n] = x;
		n += x == y;
		i += x <= y;
		j += y <= x;
	}
	return n;
}

static PP_TARGET size_t
intersect_count(const uint32_t *a, size_t na, const uint32_t *b, size_t nb)
{
	size_t		i = 0;
	size_t		j = 0;
	size_t		n = 0;

	while (i + VEC_LANES <= na && j + VEC_LANES <= nb)
	{
		uint32_t	last_a = a[i + VEC_LANES - 1];
		uint32_t	last_b = b[j + VEC_LANES - 1];

		n += (size_t) popcount(vec_match(vec_load(a + i), vec_load(b + j)));
		i += last_a <= last_b ? VEC_LANES : 0;
		j += last_b <= last_a ? VEC_LANES : 0;
	}
	while (i < na && j < nb)
	{
		uint32_t	x = a[i];
		uint32_t	y = b[j];

		n += x == y;
		i += x <= y;
		j += y <= x;
	}
	return n;
}

#if VEC_LANES > 1
static PP_TARGET size_t
short_triangles(const uint32_t *start, const uint32_t *list, uint32_t from, uint32_t to,
				uint32_t end)
{
	uint32_t	entry[PP_TRIE_SHORT];
	Vec			set[PP_TRIE_SHORT / VEC_LANES];
	size_t		count = 0;

	for (uint32_t k = 0; k < PP_TRIE_SHORT; k++)
		entry[k] = from + k < to ? list[from + k] : UINT32_MAX;
	for (uint32_t k = 0; k < PP_TRIE_SHORT / VEC_LANES; k++)
		set[k] = vec_load(entry + k * VEC_LANES);
	for (uint32_t i = from; i < to; i++)
	{
		uint32_t	j = start[list[i]];
		uint32_t	behind = start[list[i] + 1];

		if (i + PP_TRIE_AHEAD < end)
		{
			__builtin_prefetch(&start[list[i + PP_TRIE_AHEAD]]);
			__builtin_prefetch(&list[start[list[i + PP_TRIE_AHEAD / 2]]]);
		}
		for (; j < behind; j++)
		{
			Vec			v = vec_broadcast(list[j]);
			uint32_t	any = 0;

			for (uint32_t k = 0; k < PP_TRIE_SHORT / VEC_LANES; k++)
				any |= vec_equal(set[k], v);
			count += any != 0;
		}
	}
	return count;
}
#endif

static PP_TARGET size_t
and_list(const uint64_t *a, const uint64_t *b, size_t words, uint32_t *out)
{
	size_t		n = 0;

	for (size_t w = 0; w < words; w += PP_TRIE_WORDS)
	{
		if (!and_any(a + w, b + w))
			continue;
		for (size_t i = w; i < w + PP_TRIE_WORDS; i++)
			for (uint64_t m = a[i] & b[i]; m; m &= m - 1)
				out[n++] = (uint32_t) (i * 64 + (size_t) __builtin_ctzll(m));
	}
	return n;
}

static PP_TARGET uint64_t
edges_between(const uint64_t *rows, size_t words, const uint64_t *from, const uint64_t *to)
{
	uint64_t	count = 0;

	for (size_t w = 0; w < words; w++)
		for (uint64_t m = from[w]; m; m &= m - 1)
		{
			const uint64_t *row = rows + (w * 64 + (size_t) __builtin_ctzll(m)) * words;

			if (words == 1)
				count += popcount64(row[0] & to[0]);
			else if (words <= 4)
				for (size_t i = 0; i < words; i++)
					count += popcount64(row[i] & to[i]);
			else
				count += and_count(row, to, words);
		}
	return count;
}

static PP_TARGET uint64_t
doubled_between(const uint64_t *rows, const uint64_t *heavy, size_t words,
				const uint64_t *from, const uint64_t *to,
				const uint64_t *twice, const uint64_t *more, bool twos,
				uint32_t *odd, size_t *nodd)
{
	const uint64_t single = twos ? 0 : ~UINT64_C(0);
	uint64_t	count = 0;
	size_t		n = 0;

	for (size_t w = 0; w < words; w++)
		for (uint64_t m = from[w]; m; m &= m - 1)
		{
			const size_t vertex = w * 64 + (size_t) __builtin_ctzll(m);
			const uint64_t *row = rows + vertex * words;
			const uint64_t *h = heavy + vertex * words;
			uint64_t	any = 0;

			for (size_t i = 0; i < words; i++)
			{
				const uint64_t met = row[i] & to[i];
				const uint64_t others = more[i] | (h[i] & (twice[i] | single));

				count += popcount64(met) + popcount64(met & (twice[i] | h[i]) & ~others);
				any |= met & others;
			}
			odd[n] = (uint32_t) vertex;
			n += any != 0;
		}
	*nodd = n;
	return count;
}

static PP_TARGET bool
narrow(const int64_t *keys, size_t n, uint64_t base, uint32_t *to)
{
	uint64_t	beyond = 0;

	for (size_t i = narrow_blocks(keys, n, base, to, &beyond); i < n; i++)
	{
		const uint64_t distance = (uint64_t) keys[i] - base;

		beyond |= distance;
		to[i] = (uint32_t) distance;
	}
	return beyond >> 32 == 0;
}

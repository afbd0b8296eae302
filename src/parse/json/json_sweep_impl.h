/*
 * src/parse/json/json_sweep_impl.h
 *	  The brackets of a stretch of JSON, over blocks of 64 bytes.  Included by
 *	  one json_kernel_*.c for each instruction set, behind json_kernel_impl.h.
 *
 * Strings are found as there; the complement of their mask serves the case
 * that the stretch begins in one.
 */

/* The brackets of a block; only where the depth may sink their order counts. */
static inline PP_TARGET void
json_brackets(PpJsonSweep *w, const uint8_t *block, uint64_t open, uint64_t close)
{
	int32_t		nclose = (int32_t) popcount(close);

	if (w->depth - nclose > w->lowest)
		w->depth += (int32_t) popcount(open) - nclose;
	else
		for (uint64_t m = open | close; m; m &= m - 1)
			pp_json_bracket(w, block[__builtin_ctzll(m)]);
}

static PP_TARGET void
json_sweep(PpJsonSweep *outside, PpJsonSweep *inside, const uint8_t *text, uint32_t n)
{
	const uint64_t odd_places = UINT64_C(0xaaaaaaaaaaaaaaaa);
	uint64_t	in_string = 0;	/* all ones if the block begins in one, for who
								 * starts outside */
	uint64_t	escaping = 0;	/* the byte before is a backslash that escapes */

	for (uint32_t base = 0; base < n; base += 64)
	{
		uint32_t	len = n - base < 64 ? n - base : 64;
		uint8_t		edge[64];
		const uint8_t *block = text + base;
		Block		b;
		uint64_t	quote,
					backslash,
					open,
					close,
					strings;

		if (PP_UNLIKELY(len < 64))
		{
			memset(edge, ' ', 64);
			memcpy(edge, block, len);
			block = edge;
		}
		b = block_load(block);
		quote = block_eq(b, '"');
		backslash = block_eq(b, '\\');
		if (backslash | escaping)
		{
			uint64_t	runs = backslash & ~escaping;
			uint64_t	codes = (((runs << 1) | odd_places) - runs) ^ odd_places;

			quote &= ~(codes ^ (backslash | escaping));
			escaping = ((codes & backslash) >> (len - 1)) & 1;
		}
		strings = prefix_xor(quote) ^ in_string;
		in_string = (uint64_t) ((int64_t) strings >> 63);
		open = block_eq(b, '{') | block_eq(b, '[');
		close = block_eq(b, '}') | block_eq(b, ']');
		json_brackets(outside, block, open & ~strings, close & ~strings);
		json_brackets(inside, block, open & strings, close & strings);
	}
	outside->end = !in_string ? PP_OUTSIDE : escaping ? PP_ESCAPED : PP_INSIDE;
	inside->end = in_string ? PP_OUTSIDE : escaping ? PP_ESCAPED : PP_INSIDE;
}

/*
 * src/parse/json/json_kernel_impl.h
 *	  The structure pass of JSON over blocks of 64 bytes.  Included by one
 *	  json_kernel_*.c for each instruction set, behind what that offers:
 *	  ../cpu/simd_*.h, json_masks(), json_scalars(),
 *	  json_bad_escapes() and json_list().
 *
 * Escapes by odd runs of backslashes, strings by prefix xor of the quotes, as
 * in simdjson (Langdale and Lemire, "Parsing gigabytes of JSON per second",
 * sections 3.1.1 to 3.1.4).  The grammar of numbers is checked in the same
 * masks: all its rules but two are about neighbouring characters; that there
 * is one decimal point, and which letters belong to a word, tells the carry of
 * an addition that runs through the token.
 *
 * Whatever else stands outside strings becomes part of a token: it is noticed
 * because a number or a word cannot hold it, or as a token of no class.
 */

/*
 * Escapes of four hexadecimal digits: escaped has bits for the 'u's of a block.
 * *low is where the second half of a surrogate pair must have its own, if anywhere, else 0.
 * Answers nonzero if anything is wrong, or zero is meant.
 */
static __attribute__((noinline)) uint64_t
json_unicode(const uint8_t *text, uint32_t base, uint64_t escaped, uint32_t *low)
{
	uint64_t	bad = 0;

	for (; escaped; escaped &= escaped - 1)
	{
		uint32_t	at = base + (uint32_t) __builtin_ctzll(escaped);
		const uint8_t *p = text + at;
		uint32_t	v = pp_json_hex4(p + 1);

		bad |= v > 0xffff || v == 0;
		bad |= *low != 0 && (*low != at || v < 0xdc00 || v > 0xdfff);
		bad |= *low == 0 && v >= 0xdc00 && v <= 0xdfff;
		*low = v >= 0xd800 && v < 0xdc00 ? at + 6 : 0;
	}
	return bad;
}

/* Lists the tokens of a class. */
static inline PP_TARGET uint32_t
json_select(const PpJsonTokens *tokens, uint8_t cls, uint32_t *out)
{
	uint32_t	n = 0;

	for (uint32_t i = 0; i < tokens->n; i += 64)
	{
		uint64_t	m = block_eq(block_load(tokens->cls + i), cls);

		if (tokens->n - i < 64)
			m &= (UINT64_C(1) << (tokens->n - i)) - 1;
		n += list_bits(out + n, i, m);
	}
	return n;
}

static PP_TARGET uint32_t
json_tokens(PpJsonTokens *tokens, const uint8_t *text, uint32_t from, uint32_t to)
{
	const uint64_t odd_places = UINT64_C(0xaaaaaaaaaaaaaaaa);
	uint32_t	shift = (uint32_t) ((uintptr_t) (text + from) & 63);
	uint32_t	base = from - shift;	/* of the block; the first may begin in
										 * front of the text, so it wraps */
	uint32_t	n = 0;
	uint32_t	low = 0;
	uint64_t	bad = 0;
	uint64_t	numbers = 0;
	uint64_t	high = 0;
	uint64_t	in_string = 0;	/* all ones if the block begins inside */
	/* of the byte before the block: it is ... */
	uint64_t	escaping = 0;	/* a backslash that escapes */
	uint64_t	in_scalar = 0;	/* of a token outside strings */
	uint64_t	in_word = 0;	/* of a word */
	uint64_t	minus = 0;		/* the minus sign in front */
	uint64_t	zero = 0;		/* the first digit, and 0 */
	uint64_t	after = 0;		/* ... or a decimal point */
	uint64_t	fraction = 0;	/* a decimal point or a digit behind it */

	for (; (int32_t) (to - base) > 0; base += 64)
	{
		uint8_t		edge[64];
		const uint8_t *block;
		JsonMasks	m;
		uint64_t	quote,
					inside,
					outside,
					scalar,
					start;

		if (PP_UNLIKELY(base - from >= UINT32_C(0x80000000) || to - base < 64))
		{
			/* spaces for what is not ours */
			uint32_t	a = base - from >= UINT32_C(0x80000000) ? shift : 0;
			uint32_t	b = to - base < 64 ? to - base : 64;

			memset(edge, ' ', 64);
			memcpy(edge + a, text + (uint32_t) (base + a), b - a);
			block = edge;
		}
		else
			block = text + base;

		json_masks(block, &m);
		quote = m.quote;
		high |= m.high;

		if (m.backslash | escaping)
		{
			uint64_t	runs = m.backslash & ~escaping;
			uint64_t	codes = (((runs << 1) | odd_places) - runs) ^ odd_places;
			uint64_t	escaped = codes ^ (m.backslash | escaping);
			uint64_t	u;

			escaping = (codes & m.backslash) >> 63;
			quote &= ~escaped;
			bad |= json_bad_escapes(block, &m, escaped, &u);
			if (u)
				bad |= json_unicode(text, base, u, &low);
		}

		inside = prefix_xor(quote) ^ in_string;
		in_string = (uint64_t) ((int64_t) inside >> 63);
		bad |= m.control & inside;
		if ((inside & ~quote) == ~UINT64_C(0))
		{
			/* the middle of a long string */
			in_scalar = in_word = minus = zero = after = fraction = 0;
			continue;
		}

		outside = ~(inside | quote);
		scalar = outside & ~(m.bracket | m.space);
		start = scalar & ~((scalar << 1) | in_scalar);
		in_scalar = scalar >> 63;

		if (scalar | after)
		{
			JsonScalars c;
			uint64_t	words,
						sum,
						number,
						negative,
						p,
						others,
						behind;

			json_scalars(&m, &c);

			/* the addition clears the words that a letter begins */
			words = (start & c.word) | (in_word & scalar);
			in_word = __builtin_add_overflow(scalar, words, &sum);
			number = scalar & sum;
			negative = number & c.minus;
			p = number & c.point;
			others = number & ~(c.digit | c.minus | c.point);

			/* a minus sign is in front; both are before a digit */
			others |= negative & ~start;
			others |= (((negative | p) << 1) | after) & ~c.digit;

			/* a zero in front is alone */
			words = number & c.zero & (start | (negative << 1) | minus);
			others |= ((words << 1) | zero) & c.digit;
			zero = words >> 63;
			minus = negative >> 63;
			after = (negative | p) >> 63;

			/* from behind a point through the digits: no other may follow */
			behind = number & ~p;
			words = (p << 1) | fraction;
			others |= words & p;
			fraction = __builtin_add_overflow(behind, words & behind, &sum);
			others |= sum & ~behind & p;
			fraction |= p >> 63;
			numbers |= others;
		}
		else
			in_word = zero = fraction = 0;

		n += json_list(tokens, n, &m, block, base,
					   (m.bracket & outside) | (quote & inside) | start | (m.line & outside));
	}
	tokens->n = n;
	tokens->nlines = json_select(tokens, PP_TOKEN_LINE, tokens->line);
	tokens->nwords = json_select(tokens, PP_TOKEN_WORD, tokens->word);
	bad |= in_string | escaping | low;
	numbers |= after;
	return (bad ? PP_JSON_ODD : 0) | (numbers ? PP_JSON_NUMBERS : 0) |
		(high ? PP_JSON_NOT_ASCII : 0);
}

/* As pp_json_unescape(). */
static PP_TARGET uint32_t
json_unescape(const uint8_t *src, uint32_t n, uint8_t *dst)
{
	const uint8_t *end = src + n;
	uint8_t    *out = dst;

	while (src < end)
	{
		Block		b = block_load(src);
		uint64_t	m = block_eq(b, '\\');
		uint32_t	plain = m ? (uint32_t) __builtin_ctzll(m) : 64;

		block_copy(out, b);
		if ((size_t) (end - src) <= plain)
		{
			out += end - src;
			break;
		}
		src += plain;
		out += plain;
		if (m)
			src = pp_json_escape(src, &out);
	}
	return (uint32_t) (out - dst);
}

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

/* What is known between two blocks. */
typedef struct JsonCarry
{
	uint32_t	n;				/* tokens so far */
	uint32_t	nunicode;		/* blocks with escapes of four digits */
	uint64_t	bad;			/* not zero: something is wrong ... */
	uint64_t	numbers;		/* ... or, maybe, a number */
	uint64_t	in_string;		/* all ones if the next block begins inside */
	/* of the byte before the block: it is ... */
	uint64_t	escaping;		/* a backslash that escapes */
	uint64_t	in_scalar;		/* of a token outside strings */
	uint64_t	in_word;		/* of a word */
	uint64_t	minus;			/* the minus sign in front */
	uint64_t	zero;			/* the first digit, and 0 */
	uint64_t	after;			/* ... or a decimal point */
	uint64_t	fraction;		/* a decimal point or a digit behind it */
	uint32_t	escapes;		/* not zero: backslashes have been there lately */
	JsonHigh	high;			/* have there been bytes of 0x80 or more? */
	uint64_t	lines;			/* all ones if line ends are tokens */
} JsonCarry;

/* For so many blocks behind a backslash, another is expected. */
#define ESCAPES_EXPECTED	16

/* Blocks with escapes of four digits are noted in the list of words, which is
 * made later: the place, and the two halves of the mask of 'u's. */
#define UNICODE_ENTRIES		3

/* A block whose strings are known. */
typedef struct JsonBlock
{
	JsonMasks	m;
	uint64_t	quote;			/* not escaped */
	uint64_t	inside;			/* from opening quotes to in front of closing ones */
} JsonBlock;

/* The first half of the work on a block, whose first byte is text[base]. */
static inline PP_TARGET __attribute__((always_inline)) void
json_strings(const JsonConstants *k, JsonCarry *c, PpJsonTokens *tokens,
			 const uint8_t *block, uint32_t base, JsonBlock *b)
{
	const uint64_t odd_places = UINT64_C(0xaaaaaaaaaaaaaaaa);
	uint64_t	backslash;

	json_masks(k, block, &b->m, &c->high);
	b->quote = b->m.quote;
	backslash = b->m.backslash;

	/* where escapes are usual, a branch costs more than to look for them */
	if (backslash | c->escaping | c->escapes)
	{
		uint64_t	runs = backslash & ~c->escaping;
		uint64_t	codes = (((runs << 1) | odd_places) - runs) ^ odd_places;
		uint64_t	escaped = codes ^ (backslash | c->escaping);
		uint32_t   *unicode = tokens->word + c->nunicode;
		uint64_t	u;

		c->escapes = backslash ? ESCAPES_EXPECTED : c->escapes - (c->escapes > 0);
		c->escaping = (codes & backslash) >> 63;
		b->quote &= ~escaped;
		c->bad |= json_bad_escapes(k, block, &b->m, escaped, &u);
		unicode[0] = base;
		memcpy(unicode + 1, &u, 8);
		c->nunicode += u ? UNICODE_ENTRIES : 0;
	}

	b->inside = prefix_xor(b->quote) ^ c->in_string;
	c->in_string = (uint64_t) ((int64_t) b->inside >> 63);
	c->bad |= b->m.control & b->inside;
}

/* The second half: what is outside strings. */
static inline PP_TARGET __attribute__((always_inline)) void
json_structure(const JsonConstants *k, JsonCarry *c, PpJsonTokens *tokens,
			   const uint8_t *block, uint32_t base, const JsonBlock *b)
{
	JsonOutside o;
	JsonScalars s;
	uint64_t	outside,
				scalar,
				start,
				words,
				sum,
				number,
				negative,
				point,
				others,
				behind;

	if ((b->inside & ~b->quote) == ~UINT64_C(0))
		return;					/* the middle of a long string */

	json_outside(k, &b->m, &o);
	json_scalars(k, &b->m, &s);
	outside = ~(b->inside | b->quote);
	scalar = outside & ~(o.bracket | o.space);
	start = scalar & ~((scalar << 1) | c->in_scalar);
	c->in_scalar = scalar >> 63;
	c->n += json_list(k, tokens, c->n, &b->m, block, base,
					  (o.bracket & outside) | (b->quote & b->inside) | start | (o.line & outside & c->lines));

	/* the addition clears the words that a letter begins */
	words = (start & s.word) | c->in_word;
	c->in_word = __builtin_add_overflow(scalar, words, &sum);
	number = scalar & sum;
	negative = number & s.minus;
	point = number & s.point;
	others = number & ~(s.digit | s.minus | s.point);

	/* a minus sign is in front; both are before a digit */
	others |= negative & ~start;
	others |= (((negative | point) << 1) | c->after) & ~s.digit;

	/* a zero in front is alone */
	words = number & s.zero & (start | (negative << 1) | c->minus);
	others |= ((words << 1) | c->zero) & s.digit;
	c->zero = words >> 63;
	c->minus = negative >> 63;
	c->after = (negative | point) >> 63;

	/* from behind a point through the digits: no other may follow */
	behind = number & ~point;
	words = (point << 1) | c->fraction;
	c->fraction = __builtin_add_overflow(behind, words, &sum);
	others |= sum & ~behind & point;
	c->fraction |= point >> 63;
	c->numbers |= others;
}

/* The last block, of less than 64 bytes; what follows it is not ours. */
static __attribute__((noinline)) PP_TARGET void
json_last_block(JsonCarry *carry, PpJsonTokens *tokens, const uint8_t *text,
				uint32_t base, uint32_t to)
{
	JsonConstants k;
	JsonCarry	c = *carry;
	JsonBlock	b;
	uint8_t		block[64];

	json_constants(&k);
	memset(block, ' ', 64);
	memcpy(block, text + base, to - base);
	json_strings(&k, &c, tokens, block, base, &b);
	json_structure(&k, &c, tokens, block, base, &b);
	*carry = c;
}

/*
 * Checks the escapes of four hexadecimal digits that json_strings() has noted.
 * Answers nonzero if any is wrong, or zero is meant.
 */
static uint64_t
json_unicode(const uint8_t *text, const uint32_t *unicode, uint32_t n)
{
	uint32_t	low = 0;		/* where the second half of a surrogate pair must
								 * have its 'u', if anywhere */
	uint64_t	bad = 0;

	for (uint32_t i = 0; i < n; i += UNICODE_ENTRIES)
	{
		uint64_t	u;

		memcpy(&u, unicode + i + 1, 8);
		for (; u; u &= u - 1)
		{
			uint32_t	at = unicode[i] + (uint32_t) __builtin_ctzll(u);
			uint32_t	v = pp_json_hex4(text + at + 1);

			bad |= v > 0xffff || v == 0;
			bad |= low != 0 && (low != at || v < 0xdc00 || v > 0xdfff);
			bad |= low == 0 && v >= 0xdc00 && v <= 0xdfff;
			low = v >= 0xd800 && v < 0xdc00 ? at + 6 : 0;
		}
	}
	return bad | low;
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
	JsonCarry	carry;
	uint32_t	base = from;

	memset(&carry, 0, sizeof(carry));
	carry.lines = tokens->no_lines ? 0 : ~UINT64_C(0);
	if (to - from >= 64)
	{
		/* of its own, so that it stays in registers */
		JsonCarry	c = carry;
		JsonConstants k;
		JsonBlock	b;

		/*
		 * Each half is a long chain of instructions that wait for each other.
		 * So the second half of a block is done beside the first half of the
		 * next.
		 */
		json_constants(&k);
		json_strings(&k, &c, tokens, text + base, base, &b);
		for (; to - base >= 128; base += 64)
		{
			JsonBlock	next;

			json_strings(&k, &c, tokens, text + base + 64, base + 64, &next);
			json_structure(&k, &c, tokens, text + base, base, &b);
			b = next;
		}
		json_structure(&k, &c, tokens, text + base, base, &b);
		base += 64;
		carry = c;
	}
	if (base < to)
		json_last_block(&carry, tokens, text, base, to);

	carry.bad |= json_unicode(text, tokens->word, carry.nunicode);
	tokens->n = carry.n;
	tokens->nlines = json_select(tokens, PP_TOKEN_LINE, tokens->line);
	tokens->nwords = json_select(tokens, PP_TOKEN_WORD, tokens->word);
	carry.bad |= carry.in_string | carry.escaping;
	carry.numbers |= carry.after;
	return (carry.bad ? PP_JSON_ODD : 0) | (carry.numbers ? PP_JSON_NUMBERS : 0) |
		(json_any_high(&carry.high) ? PP_JSON_NOT_ASCII : 0);
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

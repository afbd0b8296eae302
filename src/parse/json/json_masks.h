/*
 * src/parse/json/json_masks.h
 *	  What json_kernel_impl.h asks of a block, on instruction sets that cannot
 *	  look up 64 bytes at once.  Included behind ../cpu/simd_*.h and
 *	  block_below(), block_or() of a json_kernel_*.c.
 */

/* Bit i tells of byte i. */
typedef struct JsonMasks
{
	uint64_t	quote;
	uint64_t	backslash;
	uint64_t	control;		/* below ' ' */
	Block		b;
} JsonMasks;

/* What only counts outside strings. */
typedef struct JsonOutside
{
	uint64_t	space;			/* white space of JSON */
	uint64_t	line;
	uint64_t	bracket;		/* brackets, braces, comma, colon */
} JsonOutside;

typedef struct JsonScalars
{
	uint64_t	digit;
	uint64_t	zero;
	uint64_t	minus;
	uint64_t	point;
	uint64_t	word;			/* t, f, n */
} JsonScalars;

/* Of these instruction sets compilers keep constants where they belong. */
typedef struct JsonConstants
{
	char		none;
} JsonConstants;

static inline void
json_constants(JsonConstants *k)
{
	k->none = 0;
}

/* Bytes of 0x80 and above, of all blocks. */
typedef uint64_t JsonHigh;

static inline PP_TARGET __attribute__((always_inline)) void
json_masks(const JsonConstants *k, const uint8_t *block, JsonMasks *m, JsonHigh *high)
{
	Block		b = block_load(block);

	(void) k;
	m->quote = block_eq(b, '"');
	m->backslash = block_eq(b, '\\');
	m->control = block_below(b, ' ');
	m->b = b;
	*high |= block_high(b);
}

static inline bool
json_any_high(const JsonHigh *high)
{
	return *high != 0;
}

static inline PP_TARGET __attribute__((always_inline)) void
json_outside(const JsonConstants *k, const JsonMasks *m, JsonOutside *o)
{
	Block		b = m->b;
	/* '[' and ']' become '{' and '}', and nothing else does */
	Block		c = block_or(b, 0x20);

	(void) k;
	o->line = block_eq(b, '\n');
	o->space = block_eq(b, ' ') | o->line;
	if (m->control & ~o->line)
		o->space |= block_eq(b, '\r') | block_eq(b, '\t');
	o->bracket = block_eq(c, '{') | block_eq(c, '}') | block_eq(b, ',') | block_eq(b, ':');
}

static inline PP_TARGET __attribute__((always_inline)) void
json_scalars(const JsonConstants *k, const JsonMasks *m, JsonScalars *s)
{
	Block		b = m->b;

	(void) k;
	s->digit = block_below(b, '9' + 1) & ~block_below(b, '0');
	s->zero = block_eq(b, '0');
	s->minus = block_eq(b, '-');
	s->point = block_eq(b, '.');
	s->word = block_eq(b, 't') | block_eq(b, 'f') | block_eq(b, 'n');
}

/* Nonzero if a byte is escaped that cannot be; *u gets the 'u's. */
static inline PP_TARGET uint64_t
json_bad_escapes(const JsonConstants *k, const uint8_t *block, const JsonMasks *m,
				 uint64_t escaped, uint64_t *u)
{
	uint64_t	bad = 0;

	(void) k;
	(void) m;
	*u = 0;
	for (; escaped; escaped &= escaped - 1)
	{
		uint32_t	i = (uint32_t) __builtin_ctzll(escaped);

		switch (block[i])
		{
			case '"':
			case '\\':
			case '/':
			case 'b':
			case 'f':
			case 'n':
			case 'r':
			case 't':
				break;
			case 'u':
				*u |= UINT64_C(1) << i;
				break;
			default:
				bad = 1;
		}
	}
	return bad;
}

/*
 * Appends the tokens that begin at the bits of m; answers their number.  Eight
 * at a time, as list_bits() does; sixteen are common.
 */
static inline PP_TARGET __attribute__((always_inline)) uint32_t
json_list(const JsonConstants *k, PpJsonTokens *tokens, uint32_t n, const JsonMasks *masks,
		  const uint8_t *block, uint32_t base, uint64_t m)
{
	uint32_t	count = (uint32_t) popcount(m);
	uint32_t   *pos = tokens->pos + n;
	uint8_t    *cls = tokens->cls + n;
	uint32_t	i = 0;

	(void) k;
	(void) masks;
	do
	{
		for (uint32_t j = 0; j < 8; j++)
		{
			/* once m is empty, what is written does not count */
			uint32_t	at = (uint32_t) __builtin_ctzll(m | (UINT64_C(1) << 63));

			pos[i + j] = base + at;
			cls[i + j] = pp_json_class[block[at]];
			m &= m - 1;
		}
		i += 8;
	} while (i < 16 || i < count);
	return count;
}

/*
 * src/parse/json/json_check.c
 *	  The reference checker of records, and the characters of strings.
 *
 * Not recursive: containers around are bits of a stack.  It can be left
 * between any two tokens, so that a long record holds up nobody.
 */
#include <string.h>

#include "json_check.h"
#include "json_escape.h"

/* Bytes that a character has at most. */
#define LONGEST_CHARACTER	4

bool
pp_json_check_init(PpJsonCheck *check, const PpJsonPaths *paths,
				   const PpJsonScanSpec *spec)
{
	const PpAlloc *a = &spec->scan.alloc;

	check->max_depth = spec->max_depth;
	check->any_value = spec->any_value;
	check->charset = spec->charset;
	check->alloc = a;
	check->stack = (uint64_t *) a->alloc(a->ctx, ((size_t) spec->max_depth / 64 + 1) * sizeof(uint64_t));
	return pp_json_walk_init(&check->walk, paths, a) && check->stack;
}

void
pp_json_check_free(PpJsonCheck *check)
{
	const PpAlloc *a = check->alloc;

	if (!a)
		return;
	a->release(a->ctx, check->stack);
	a->release(a->ctx, check->key);
	pp_json_walk_free(&check->walk, a);
}

uint32_t
pp_json_unescape(const uint8_t *src, uint32_t n, uint8_t *dst)
{
	const uint8_t *end = src + n;
	uint8_t    *out = dst;

	while (src < end)
	{
		const uint8_t *b = (const uint8_t *) memchr(src, '\\', (size_t) (end - src));
		size_t		plain = (size_t) ((b ? b : end) - src);

		memcpy(out, src, plain);
		out += plain;
		if (!b)
			break;
		src = pp_json_escape(b, &out);
	}
	return (uint32_t) (out - dst);
}

uint32_t
pp_json_unescape_as(const PpJsonCharset *charset, const uint8_t *src, uint32_t n, uint8_t *dst)
{
	const uint8_t *end = src + n;
	uint8_t    *out = dst;

	if (!charset)
		return pp_json_unescape(src, n, dst);
	while (src < end)
	{
		uint32_t	code;

		if (*src != '\\')
			*out++ = *src++;
		else if (src[1] != 'u' || pp_json_hex4(src + 2) < 0x80)
			src = pp_json_escape(src, &out);
		else
		{
			src = pp_json_escaped_code(src, &code);
			out += charset->encode(charset->ctx, code, out);
		}
	}
	return (uint32_t) (out - dst);
}

static inline bool
ends_scalar(const uint8_t *text, uint32_t pos, uint32_t end)
{
	if (pos == end)
		return true;
	switch (text[pos])
	{
		case ' ':
		case '\t':
		case '\n':
		case '\r':
		case ',':
		case ':':
		case '[':
		case ']':
		case '{':
		case '}':
		case '"':
			return true;
		default:
			return false;
	}
}

static inline bool
digit(const uint8_t *text, uint32_t pos, uint32_t end)
{
	return pos < end && text[pos] >= '0' && text[pos] <= '9';
}

uint32_t
pp_json_scalar_end(const uint8_t *text, uint32_t pos, uint32_t end)
{
	static const char *const word[] = {"true", "false", "null"};

	if (pos < end && text[pos] >= 'a')
	{
		for (int i = 0; i < 3; i++)
		{
			uint32_t	n = (uint32_t) strlen(word[i]);

			if (end - pos >= n && memcmp(text + pos, word[i], n) == 0)
				return ends_scalar(text, pos + n, end) ? pos + n : 0;
		}
		return 0;
	}
	if (pos < end && text[pos] == '-')
		pos++;
	if (!digit(text, pos, end))
		return 0;
	if (text[pos] == '0')
		pos++;
	else
		while (digit(text, pos, end))
			pos++;
	if (pos < end && text[pos] == '.')
	{
		pos++;
		if (!digit(text, pos, end))
			return 0;
		while (digit(text, pos, end))
			pos++;
	}
	if (pos < end && (text[pos] == 'e' || text[pos] == 'E'))
	{
		pos++;
		if (pos < end && (text[pos] == '+' || text[pos] == '-'))
			pos++;
		if (!digit(text, pos, end))
			return 0;
		while (digit(text, pos, end))
			pos++;
	}
	return ends_scalar(text, pos, end) ? pos : 0;
}

static void
set_fault(PpJsonCheck *c, PpJsonFault *fault, PpJsonCode code, PpJsonReason reason,
		  uint32_t offset)
{
	if (fault->code != PP_JSON_OK)
		return;
	fault->code = code;
	fault->reason = reason;
	fault->offset = offset;
	fault->key = c->last_key;
}

/* Does the server encoding have the character that is escaped at pos? */
static void
check_encoded(PpJsonCheck *c, uint32_t pos)
{
	uint8_t		unused[PP_JSON_ENCODED];
	uint32_t	code;

	pp_json_escaped_code(c->text + pos, &code);
	if (c->later.code == PP_JSON_OK && !PP_MUTATED(json_character_lost) &&
		c->charset->encode(c->charset->ctx, code, unused) == 0)
		set_fault(c, &c->later, PP_JSON_UNTRANSLATABLE, PP_JSON_NO_REASON, pos);
}

#define STRING_GOES_ON	UINT32_MAX

/*
 * The string at pos: answers the place behind its closing quote, or 0 with
 * the fault.  STRING_GOES_ON: not in front of until, and it is to be called
 * again.
 */
static uint32_t
string_end(PpJsonCheck *c, uint32_t pos, uint32_t until, bool *escapes)
{
	const uint8_t *text = c->text;
	uint32_t	start = pos;

	*escapes = c->string_pos > 0 && c->string_escapes;
	pos = c->string_pos > 0 ? c->string_pos : pos + 1;
	c->string_pos = 0;
	for (; pos < c->end; pos++)
	{
		uint8_t		ch = text[pos];

		if (pos >= until)
		{
			c->string_pos = pos;
			c->string_escapes = *escapes;
			return STRING_GOES_ON;
		}
		if (ch == '"')
			return pos + 1;
		if (ch < ' ')
		{
			set_fault(c, &c->fault, PP_JSON_SYNTAX, PP_JSON_BAD_CONTROL, pos);
			return 0;
		}
		if (ch != '\\')
			continue;
		*escapes = true;
		if (c->end - pos < 2)
			break;
		switch (text[pos + 1])
		{
			case '"':
			case '\\':
			case '/':
			case 'b':
			case 'f':
			case 'n':
			case 'r':
			case 't':
				pos++;
				continue;
			case 'u':
				if (c->end - pos >= 6)
				{
					uint32_t	v = pp_json_hex4(text + pos + 2);

					if (v <= 0xffff)
					{
						if (v == 0)
							set_fault(c, &c->later, PP_JSON_NUL, PP_JSON_NO_REASON, pos);
						else if (v >= 0xd800 && v < 0xe000)
						{
							uint32_t	first = pos;
							uint32_t	low = v < 0xdc00 && c->end - pos >= 12 &&
								text[pos + 6] == '\\' && text[pos + 7] == 'u' ?
								pp_json_hex4(text + pos + 8) : 0;

							if (low < 0xdc00 || low >= 0xe000)
								set_fault(c, &c->later, PP_JSON_SURROGATE, PP_JSON_NO_REASON, pos);
							else
							{
								pos += 6;
								if (c->charset)
									check_encoded(c, first);
							}
						}
						else if (c->charset && v >= 0x80)
							check_encoded(c, pos);
						pos += 5;
						continue;
					}
				}
				break;
			default:
				break;
		}
		set_fault(c, &c->fault, PP_JSON_SYNTAX, PP_JSON_BAD_ESCAPE, pos);
		return 0;
	}
	set_fault(c, &c->fault, PP_JSON_SYNTAX, PP_JSON_UNTERMINATED, start);
	return 0;
}

static inline bool
in_object(const PpJsonCheck *c)
{
	uint32_t	d = c->walk.depth - 1;

	return (c->stack[d / 64] >> (d % 64) & 1) != 0;
}

/* What the expectation that was not met is called. */
static PpJsonReason
wanted(const PpJsonCheck *c)
{
	switch (c->expect)
	{
		case PP_JSON_EXPECT_VALUE_OR_CLOSE:
			return PP_JSON_WANT_VALUE_OR_CLOSE;
		case PP_JSON_EXPECT_KEY:
			return PP_JSON_WANT_KEY;
		case PP_JSON_EXPECT_KEY_OR_CLOSE:
			return PP_JSON_WANT_KEY_OR_CLOSE;
		case PP_JSON_EXPECT_COLON:
			return PP_JSON_WANT_COLON;
		case PP_JSON_EXPECT_COMMA_OR_CLOSE:
			return in_object(c) ? PP_JSON_WANT_COMMA_OR_BRACE : PP_JSON_WANT_COMMA_OR_BRACKET;
		case PP_JSON_EXPECT_END:
			return PP_JSON_WANT_END;
		case PP_JSON_EXPECT_VALUE:
			break;
	}
	return PP_JSON_WANT_VALUE;
}

/* The key text[start .. end), quotes included; false: out of memory. */
static bool
take_key(PpJsonCheck *c, uint32_t start, uint32_t end, bool escapes)
{
	uint32_t	node = pp_json_walk_keys(&c->walk);
	const uint8_t *key = c->text + start + 1;
	uint32_t	n = end - start - 2;

	c->last_key.start = start;
	c->last_key.end = end;
	if (escapes && node != PP_JSON_NO_NODE)
	{
		uint32_t	room = pp_json_unescape_room(c->charset, n);

		if (room > c->key_room)
		{
			const PpAlloc *a = c->alloc;

			a->release(a->ctx, c->key);
			c->key_room = 0;
			c->key = (uint8_t *) a->alloc(a->ctx, room);
			if (!c->key)
				return false;
			c->key_room = room;
		}
		n = pp_json_unescape_as(c->charset, key, n, c->key);
		key = c->key;
	}
	pp_json_walk_key(&c->walk, node, key, n);
	return true;
}

void
pp_json_check_begin(PpJsonCheck *c, const uint8_t *text, uint32_t start, uint32_t end)
{
	const PpJsonRange none = {0, 0};
	const PpJsonFault fault = {PP_JSON_OK, PP_JSON_NO_REASON, 0, {0, 0}};

	while (end > start && pp_json_space(text[end - 1]))
		end--;
	c->text = text;
	c->pos = start;
	c->end = end;
	c->valid = start;
	c->string_pos = 0;
	c->expect = PP_JSON_EXPECT_VALUE;
	c->first = 0;
	c->fault = c->later = fault;
	c->last_key = none;
	pp_json_walk_begin(&c->walk);
}

/* Looks at n bytes more, but for a character that these cut. */
static void
check_valid(PpJsonCheck *c, uint32_t n)
{
	const uint8_t *s = c->text + c->valid;
	uint32_t	good = n;

	if (!c->charset || c->charset->utf8)
		good = (uint32_t) c->utf8_valid_prefix(s, n);
	else if (c->charset->valid_prefix)
		good = (uint32_t) c->charset->valid_prefix(c->charset->ctx, s, n);
	c->valid += good;
	if (good < n && (good == 0 || n - good >= LONGEST_CHARACTER || c->valid + (n - good) == c->end))
		set_fault(c, &c->fault, PP_JSON_ENCODING, PP_JSON_NO_REASON, c->valid);
}

/* A value was read. */
static inline void
behind_value(PpJsonCheck *c)
{
	c->expect = c->walk.depth > 0 ? PP_JSON_EXPECT_COMMA_OR_CLOSE : PP_JSON_EXPECT_END;
}

/* All tokens were read and follow the grammar. */
static void
conclude(PpJsonCheck *c, uint32_t start)
{
	bool		object = c->first == '{';

	/* an array is refused at its bracket, a scalar once it was read */
	if (!c->any_value && c->first == '[')
		set_fault(c, &c->fault, PP_JSON_NOT_OBJECT, PP_JSON_NO_REASON, start);
	else if (c->later.code != PP_JSON_OK)
		c->fault = c->later;
	else if (!c->any_value && !object)
		set_fault(c, &c->fault, PP_JSON_NOT_OBJECT, PP_JSON_NO_REASON, start);
	if (c->fault.code == PP_JSON_NOT_OBJECT)
		c->fault.key.start = c->fault.key.end = 0;
}

PpJsonProgress
pp_json_check_step(PpJsonCheck *c, uint32_t budget)
{
	const uint8_t *text = c->text;
	PpJsonWalk *w = &c->walk;
	uint32_t	from;
	uint32_t	until;
	uint32_t	end;
	bool		escapes;

	if (budget < 2 * LONGEST_CHARACTER)
		budget = 2 * LONGEST_CHARACTER;
	while (c->valid < c->end && c->fault.code == PP_JSON_OK)
	{
		bool		all = c->end - c->valid <= budget;

		check_valid(c, all ? c->end - c->valid : budget);
		if (!all && c->fault.code == PP_JSON_OK)
			return PP_JSON_GO_ON;
	}
	from = c->string_pos > 0 ? c->string_pos : c->pos;
	until = c->end - from < budget ? c->end : from + budget;
	while (c->fault.code == PP_JSON_OK)
	{
		uint32_t	pos = c->pos;
		uint8_t		ch;

		while (pos < c->end && pp_json_space(text[pos]))
			pos++;
		if (pos == c->end)
		{
			if (c->expect != PP_JSON_EXPECT_END)
				set_fault(c, &c->fault, PP_JSON_SYNTAX, wanted(c), pos);
			break;
		}
		c->pos = pos;
		if (pos >= until)
			return PP_JSON_GO_ON;
		ch = text[pos];
		if (c->first == 0)
		{
			c->first = ch;
			c->start = pos;
		}

		switch (c->expect)
		{
			case PP_JSON_EXPECT_VALUE:
			case PP_JSON_EXPECT_VALUE_OR_CLOSE:
				switch (ch)
				{
					case '{':
					case '[':
						if (w->depth >= c->max_depth)
						{
							set_fault(c, &c->fault, PP_JSON_DEPTH, PP_JSON_NO_REASON, pos);
							continue;
						}
						if (ch == '{')
							c->stack[w->depth / 64] |= UINT64_C(1) << (w->depth % 64);
						else
							c->stack[w->depth / 64] &= ~(UINT64_C(1) << (w->depth % 64));
						pp_json_walk_open(w, pos);
						if (ch == '{')
							c->expect = PP_JSON_EXPECT_KEY_OR_CLOSE;
						else
						{
							c->expect = PP_JSON_EXPECT_VALUE_OR_CLOSE;
							pp_json_walk_element(w, true);
						}
						c->pos++;
						continue;
					case '"':
						end = string_end(c, pos, until, &escapes);
						if (end == STRING_GOES_ON)
							return PP_JSON_GO_ON;
						if (end == 0)
							continue;
						pp_json_walk_scalar(w, pos, end);
						c->pos = end;
						behind_value(c);
						continue;
					case ']':
						if (c->expect != PP_JSON_EXPECT_VALUE_OR_CLOSE)
							break;
						pp_json_walk_close(w, pos + 1);
						c->pos++;
						behind_value(c);
						continue;
					case '}':
					case ',':
					case ':':
						break;
					default:
						end = pp_json_scalar_end(text, pos, c->end);
						if (end == 0)
						{
							set_fault(c, &c->fault, PP_JSON_SYNTAX, PP_JSON_BAD_TOKEN, pos);
							continue;
						}
						pp_json_walk_scalar(w, pos, end);
						c->pos = end;
						behind_value(c);
						continue;
				}
				break;
			case PP_JSON_EXPECT_KEY:
			case PP_JSON_EXPECT_KEY_OR_CLOSE:
				if (ch == '"')
				{
					end = string_end(c, pos, until, &escapes);
					if (end == STRING_GOES_ON)
						return PP_JSON_GO_ON;
					if (end == 0)
						continue;
					if (!take_key(c, pos, end, escapes))
						return PP_JSON_NO_MEMORY;
					c->pos = end;
					c->expect = PP_JSON_EXPECT_COLON;
					continue;
				}
				if (ch == '}' && c->expect == PP_JSON_EXPECT_KEY_OR_CLOSE)
				{
					pp_json_walk_close(w, pos + 1);
					c->pos++;
					behind_value(c);
					continue;
				}
				break;
			case PP_JSON_EXPECT_COLON:
				if (ch == ':')
				{
					c->pos++;
					c->expect = PP_JSON_EXPECT_VALUE;
					continue;
				}
				break;
			case PP_JSON_EXPECT_COMMA_OR_CLOSE:
				if (ch == ',')
				{
					c->pos++;
					if (in_object(c))
						c->expect = PP_JSON_EXPECT_KEY;
					else
					{
						c->expect = PP_JSON_EXPECT_VALUE;
						pp_json_walk_element(w, false);
					}
					continue;
				}
				if (ch == (in_object(c) ? '}' : ']'))
				{
					pp_json_walk_close(w, pos + 1);
					c->pos++;
					behind_value(c);
					continue;
				}
				break;
			case PP_JSON_EXPECT_END:
				break;
		}
		set_fault(c, &c->fault, PP_JSON_SYNTAX, wanted(c), pos);
	}
	if (c->fault.code == PP_JSON_OK)
		conclude(c, c->start);
	return PP_JSON_DONE;
}

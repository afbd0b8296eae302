/*
 * cuda/json_walk.h
 *	  One record, read by one thread: is it JSON in every respect, and where are
 *	  the values of the columns' nodes?
 *
 * The loop goes by tokens, so that threads whose records are made alike stay
 * together.  Containers around are the bits of one word.  The nodes of the
 * containers around form a chain from node 0 downwards, of which only the last
 * one is kept (its parent is in the table); while the walk is deeper than
 * that, nothing below is wanted.
 *
 * Accepts no more than pp_json_check_step() does; whether that is any less does
 * not matter, see json_device.h.
 */
#ifndef PP_JSON_WALK_H
#define PP_JSON_WALK_H

#include "json_device.h"

#include "../src/parse/json/json_escape.h"
#include "../src/parse/utf8.h"

static __device__ __forceinline__ bool
pp_json_is_space(uint32_t c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Does a number or a word end in front of s[pos]? */
static __device__ __forceinline__ bool
pp_json_ends_scalar(const uint8_t *s, uint32_t pos, uint32_t n)
{
	uint32_t	c;

	if (pos >= n)
		return true;
	c = s[pos];
	/* '[' and ']' become '{' and '}', and nothing else does */
	return pp_json_is_space(c) || c == ',' || c == ':' || c == '"' || (c | 0x20) == '{' || (c | 0x20) == '}';
}

static __device__ __forceinline__ bool
pp_json_is_digit(const uint8_t *s, uint32_t pos, uint32_t n)
{
	return pos < n && (uint32_t) (s[pos] - '0') < 10;
}

static __device__ __forceinline__ uint32_t
pp_json_skip_digits(const uint8_t *s, uint32_t pos, uint32_t n)
{
	while (pp_json_is_digit(s, pos, n))
		pos++;
	return pos;
}

/* As pp_json_scalar_end(); pos < n. */
static __device__ __forceinline__ uint32_t
pp_json_scalar_stop(const uint8_t *s, uint32_t pos, uint32_t n)
{
	const uint32_t c = s[pos];

	if (c >= 'a')
	{
		const bool	false_word = c == 'f';
		const uint32_t len = 4u + false_word;
		const uint8_t *p = s + pos + false_word;
		uint32_t	w;

		if (n - pos < len)
			return 0;
		w = p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 | (uint32_t) p[3] << 24;
		/* "true", "null", and "alse" of "false" */
		if (w != (false_word ? 0x65736c61u : c == 't' ? 0x65757274u : 0x6c6c756eu))
			return 0;
		pos += len;
		return pp_json_ends_scalar(s, pos, n) ? pos : 0;
	}
	pos += c == '-';
	if (!pp_json_is_digit(s, pos, n))
		return 0;
	if (s[pos] == '0')
		pos++;
	else
		pos = pp_json_skip_digits(s, pos, n);
	if (pos < n && s[pos] == '.')
	{
		pos++;
		if (!pp_json_is_digit(s, pos, n))
			return 0;
		pos = pp_json_skip_digits(s, pos, n);
	}
	if (pos < n && (s[pos] | 0x20) == 'e')
	{
		pos++;
		if (pos < n && (s[pos] == '+' || s[pos] == '-'))
			pos++;
		if (!pp_json_is_digit(s, pos, n))
			return 0;
		pos = pp_json_skip_digits(s, pos, n);
	}
	return pp_json_ends_scalar(s, pos, n) ? pos : 0;
}

/* Behind the escape at s[pos], a backslash, or behind two that are a pair; 0: refused. */
static __device__ __forceinline__ uint32_t
pp_json_escape_stop(const PpJsonJob &job, const uint8_t *s, uint32_t pos, uint32_t n)
{
	uint32_t	c,
				v;

	if (n - pos < 2)
		return 0;
	c = s[pos + 1];
	if (c != 'u')
		return c == '"' || c == '\\' || c == '/' || c == 'b' || c == 'f' || c == 'n' ||
			c == 'r' || c == 't' ? pos + 2 : 0;
	if (n - pos < 6)
		return 0;
	v = pp_json_hex4(s + pos + 2);
	if (v > 0xffff || v == 0 || (v >= 0x80 && job.escapes_refused))
		return 0;
	pos += 6;
	if ((v & 0xf800) != 0xd800)
		return pos;
	if (v >= 0xdc00 || n - pos < 6 || s[pos] != '\\' || s[pos + 1] != 'u' ||
		(pp_json_hex4(s + pos + 2) & ~0x3ffu) != 0xdc00)
		return 0;
	return pos + 6;
}

/*
 * Behind the closing quote of the string whose characters begin at s[pos]; 0:
 * refused.  *escapes: it has some.
 */
static __device__ __forceinline__ uint32_t
pp_json_string_stop(const PpJsonJob &job, const uint8_t *s, uint32_t pos, uint32_t n, bool *escapes)
{
	*escapes = false;
	while (pos < n)
	{
		const uint32_t c = s[pos];

		/* most bytes */
		if (c >= ' ' && c < 0x80 && c != '"' && c != '\\')
		{
			pos++;
			continue;
		}
		if (c == '"')
			return pos + 1;
		if (c < ' ')
			return 0;
		if (c == '\\')
		{
			*escapes = true;
			pos = pp_json_escape_stop(job, s, pos, n);
			if (pos == 0)
				return 0;
		}
		else if (job.high == PP_JSON_HIGH_UTF8)
		{
			const uint32_t k = pp_utf8_character(s + pos, n - pos);

			if (k == 0)
				return 0;
			pos += k;
		}
		else if (job.high == PP_JSON_HIGH_KNOWN)
			pos++;
		else
			return 0;
	}
	return 0;
}

/* The nodes of the columns' paths, on chip or not. */
struct PpJsonNodes
{
	const PpJsonDeviceNode *node;
	const uint8_t *keys;
};

/*
 * Where the nodes are: of a kernel that has room for them behind its tile's text
 * they are brought there, by all threads, in front of a barrier.
 */
template <bool ON_CHIP>
static __device__ __forceinline__ PpJsonNodes
pp_json_nodes(const PpJsonJob &job, unsigned char *text)
{
	PpJsonNodes nodes = {job.node, job.keys};

	if (ON_CHIP)
	{
		unsigned char *const table = text + job.tile_bytes;

		for (uint32_t i = 4 * threadIdx.x; i < job.table_bytes; i += 4 * PP_JSON_THREADS)
			*reinterpret_cast<uint32_t *>(table + i) = reinterpret_cast<const uint32_t *>(job.node)[i / 4];
		nodes.node = reinterpret_cast<const PpJsonDeviceNode *>(table);
		nodes.keys = table + job.nnodes * sizeof(PpJsonDeviceNode);
	}
	return nodes;
}

/* The node below that a key leads to. */
static __device__ __forceinline__ uint32_t
pp_json_find_key(const PpJsonNodes &nodes, uint32_t node, const uint8_t *key, uint32_t len)
{
	const uint32_t stop = node + nodes.node[node].size;
	uint64_t	head = 0;

	for (uint32_t i = 0; i < len && i < 8; i++)
		head |= (uint64_t) key[i] << (8 * i);
	for (uint32_t i = node + 1; i < stop; i += nodes.node[i].size)
		if (nodes.node[i].head == head && nodes.node[i].key_len == len)
		{
			const uint8_t *other = nodes.keys + nodes.node[i].key;
			uint32_t	at = 8;

			while (at < len && other[at] == key[at])
				at++;
			if (at >= len)
				return i;
		}
	return PP_JSON_NOWHERE;
}

/* ... or an element. */
static __device__ __forceinline__ uint32_t
pp_json_find_element(const PpJsonNodes &nodes, uint32_t node, uint32_t index)
{
	const uint32_t stop = node + nodes.node[node].size;

	for (uint32_t i = node + 1; i < stop; i += nodes.node[i].size)
		if (nodes.node[i].key_len == PP_JSON_NOWHERE && nodes.node[i].index == index)
			return i;
	return PP_JSON_NOWHERE;
}

/* What comes next. */
enum PpJsonNext
{
	PP_JSON_NEXT_VALUE,
	PP_JSON_NEXT_KEY,
	PP_JSON_NEXT_COLON,
	PP_JSON_NEXT_COMMA			/* or the end of what is around; of the record, if
								 * nothing is */
};

/*
 * Where values of a record's nodes stand, in job.place; those without one are
 * set at last.  With more places than a word has bits, all are at first.
 */
struct PpJsonPlaces
{
	uint2	   *place;			/* of the record */
	size_t		room;
	uint32_t	nplaces;
	uint32_t	seen;			/* bits of places that are set */
};

static __device__ __forceinline__ void
pp_json_clear(PpJsonPlaces &p, uint32_t first, uint32_t n)
{
	if (p.nplaces <= 32)
		p.seen &= ~((n < 32 ? (1u << n) - 1 : 0xffffffffu) << (first & 31));
	else
		for (uint32_t i = first; i < first + n; i++)
			p.place[i * p.room] = make_uint2(0, 0);
}

static __device__ __forceinline__ void
pp_json_set(PpJsonPlaces &p, const PpJsonNodes &nodes, uint32_t node, uint32_t first, uint32_t stop)
{
	const uint32_t i = nodes.node[node].place;

	if (i == PP_JSON_NOWHERE)
		return;
	p.place[i * p.room] = make_uint2(first, stop);
	p.seen |= 1u << (i & 31);
}

/*
 * Reads record r, the n bytes at s, the first of which is at that position.
 * False: not accepted.  Answers where values are in job.place; what stands there
 * of a record that is not accepted means nothing.
 */
static __device__ __forceinline__ bool
pp_json_walk(const PpJsonJob &job, const PpJsonNodes &nodes, const uint8_t *s, uint32_t n, uint32_t at,
			 uint32_t r)
{
	uint64_t	objects = 0;	/* containers around, the innermost last: is it one? */
	uint32_t	depth = 0;
	uint32_t	next = PP_JSON_NEXT_VALUE;
	bool		open = false;	/* a container was opened right in front: it may end */
	uint32_t	node = 0;		/* of the value that comes next */
	uint32_t	around = PP_JSON_NOWHERE;	/* node of the innermost container that has
											 * one, ... */
	uint32_t	tracked = 0;	/* ... and its depth */
	uint32_t	index = 0;		/* element of it, if it is an array */
	uint32_t	pos = 0;
	PpJsonPlaces p = {job.place + r, job.room, job.nplaces, 0};

	if (p.nplaces > 32)
		pp_json_clear(p, 0, p.nplaces);
	for (;;)
	{
		uint32_t	c;

		while (pos < n && pp_json_is_space(s[pos]))
			pos++;
		if (pos == n)
			break;
		c = s[pos];
		if (c == '"')
		{
			const uint32_t first = pos;
			bool		escapes;

			pos = pp_json_string_stop(job, s, pos + 1, n, &escapes);
			if (pos == 0)
				return false;
			open = false;
			if (next == PP_JSON_NEXT_KEY)
			{
				next = PP_JSON_NEXT_COLON;
				node = PP_JSON_NOWHERE;
				if (tracked != depth || !nodes.node[around].keys)
					continue;
				if (escapes)
					return false;
				node = pp_json_find_key(nodes, around, s + first + 1, pos - first - 2);
				/* what an equal key in front of it led to does not count */
				if (node != PP_JSON_NOWHERE)
					pp_json_clear(p, nodes.node[node].below, nodes.node[node].nbelow);
				continue;
			}
			if (next != PP_JSON_NEXT_VALUE || (depth == 0 && !job.any_value))
				return false;
			if (node != PP_JSON_NOWHERE)
				pp_json_set(p, nodes, node, at + first, (at + pos) | (escapes ? PP_JSON_ESCAPES : 0));
			node = PP_JSON_NOWHERE;
			next = PP_JSON_NEXT_COMMA;
		}
		else if (c == ':')
		{
			if (next != PP_JSON_NEXT_COLON)
				return false;
			pos++;
			next = PP_JSON_NEXT_VALUE;
		}
		else if (c == ',')
		{
			if (next != PP_JSON_NEXT_COMMA || depth == 0)
				return false;
			pos++;
			if (objects & 1)
			{
				next = PP_JSON_NEXT_KEY;
				continue;
			}
			next = PP_JSON_NEXT_VALUE;
			node = PP_JSON_NOWHERE;
			if (tracked == depth && nodes.node[around].elements)
				node = pp_json_find_element(nodes, around, ++index);
		}
		else if (c == '{' || c == '[')
		{
			const bool	object = c == '{';

			if (next != PP_JSON_NEXT_VALUE || depth >= job.max_depth ||
				(depth == 0 && !object && !job.any_value))
				return false;
			if (node != PP_JSON_NOWHERE)
			{
				around = node;
				tracked = depth + 1;
				/* its end is told when it is there */
				pp_json_set(p, nodes, node, at + pos, 0);
				index = 0;
			}
			depth++;
			objects = objects << 1 | object;
			node = PP_JSON_NOWHERE;
			next = object ? PP_JSON_NEXT_KEY : PP_JSON_NEXT_VALUE;
			open = true;
			if (!object && tracked == depth && nodes.node[around].elements)
				node = pp_json_find_element(nodes, around, 0);
			pos++;
		}
		else if (c == '}' || c == ']')
		{
			if (depth == 0 || (objects & 1) != (c == '}') || !(open || next == PP_JSON_NEXT_COMMA))
				return false;
			pos++;
			if (tracked == depth)
			{
				const uint32_t i = nodes.node[around].place;

				if (i != PP_JSON_NOWHERE)
					p.place[i * p.room].y = at + pos;
				/* an element's node knows which one it is */
				index = nodes.node[around].index;
				around = nodes.node[around].parent;
				tracked--;
			}
			depth--;
			objects >>= 1;
			open = false;
			node = PP_JSON_NOWHERE;
			next = PP_JSON_NEXT_COMMA;
		}
		else
		{
			const uint32_t first = pos;

			if (next != PP_JSON_NEXT_VALUE || (depth == 0 && !job.any_value))
				return false;
			pos = pp_json_scalar_stop(s, pos, n);
			if (pos == 0)
				return false;
			if (node != PP_JSON_NOWHERE)
				pp_json_set(p, nodes, node, at + first, at + pos);
			node = PP_JSON_NOWHERE;
			open = false;
			next = PP_JSON_NEXT_COMMA;
		}
	}
	if (depth != 0 || next != PP_JSON_NEXT_COMMA)
		return false;
	for (uint32_t i = 0; i < p.nplaces && p.nplaces <= 32; i++)
		if ((p.seen >> i & 1) == 0)
			p.place[i * p.room] = make_uint2(0, 0);
	return true;
}

#endif							/* PP_JSON_WALK_H */

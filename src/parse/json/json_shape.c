/*
 * src/parse/json/json_shape.c
 *	  Proves records by their tokens, and remembers what was proven.
 */
#include <string.h>

#include "json_check.h"
#include "json_shape.h"

/*
 * Where shapes hardly come again, to remember them costs more than to walk.
 * So after this many walks it is decided anew whether to, and if not, one of
 * so many is remembered all the same.
 */
#define DECISION_WALKS	128
#define WARY_WALKS		8

bool
pp_json_shapes_init(PpJsonShapes *s, const PpJsonPaths *paths, const PpJsonScanSpec *spec)
{
	const PpAlloc *a = &spec->scan.alloc;

	s->alloc = a;
	s->max_depth = spec->max_depth;
	s->any_value = spec->any_value;
	s->stack = (uint64_t *) a->alloc(a->ctx, ((size_t) spec->max_depth / 64 + 1) * sizeof(uint64_t));
	s->value = (PpJsonRange *) a->alloc(a->ctx, (paths->ncolumns + 1) * sizeof(PpJsonRange));
	return pp_json_walk_init(&s->walk, paths, a) && s->stack && s->value;
}

void
pp_json_shapes_free(PpJsonShapes *s)
{
	const PpAlloc *a = s->alloc;

	if (!a)
		return;
	for (uint32_t n = 0; n <= PP_JSON_SHAPE_TOKENS; n++)
		for (uint32_t i = 0; i < PP_JSON_SHAPE_WAYS; i++)
			a->release(a->ctx, s->way[n][i]);
	a->release(a->ctx, s->stack);
	a->release(a->ctx, s->value);
	pp_json_walk_free(&s->walk, a);
}

/* Behind the last byte of the token in front of one that starts at next. */
static inline uint32_t
token_end(const uint8_t *text, uint32_t next)
{
	while (pp_json_space(text[next - 1]))
		next--;
	return next;
}

/*
 * The grammar, over the tokens.  False: they do not follow it, or a key that
 * matters has escapes, or the containers go too deep.
 */
static bool
walk_tokens(PpJsonShapes *s, const uint8_t *text, const uint32_t *pos,
			const uint8_t *cls, uint32_t n)
{
	PpJsonWalk *w = &s->walk;
	PpJsonExpect expect = PP_JSON_EXPECT_VALUE;
	bool		object = false; /* the container around */
	uint32_t	node;
	uint32_t	end;

	s->nkeys = 0;
	s->plain = true;
	pp_json_walk_begin(w);
	if (!s->any_value && cls[0] != PP_TOKEN_OBJECT)
		return false;
	for (uint32_t i = 0; i < n; i++)
	{
		bool		value = expect == PP_JSON_EXPECT_VALUE || expect == PP_JSON_EXPECT_VALUE_OR_CLOSE;

		switch (cls[i])
		{
			case PP_TOKEN_STRING:
				if (expect == PP_JSON_EXPECT_KEY || expect == PP_JSON_EXPECT_KEY_OR_CLOSE)
				{
					expect = PP_JSON_EXPECT_COLON;
					node = pp_json_walk_keys(w);
					if (node == PP_JSON_NO_NODE)
					{
						w->node = PP_JSON_NO_NODE;
						continue;
					}
					end = token_end(text, pos[i + 1]);
					if (memchr(text + pos[i], '\\', end - pos[i]))
						return false;
					if (s->nkeys < PP_JSON_SHAPE_KEYS)
						s->key[s->nkeys++] = i;
					else
						s->plain = false;
					pp_json_walk_key(w, node, text + pos[i] + 1, end - pos[i] - 2);
					continue;
				}
				/* fall through */
			case PP_TOKEN_NUMBER:
			case PP_TOKEN_WORD:
				if (!value)
					return false;
				pp_json_walk_scalar(w, i, i + 1);
				break;
			case PP_TOKEN_OBJECT:
			case PP_TOKEN_ARRAY:
				if (!value || w->depth >= s->max_depth)
					return false;
				object = cls[i] == PP_TOKEN_OBJECT;
				if (object)
					s->stack[w->depth / 64] |= UINT64_C(1) << (w->depth % 64);
				else
					s->stack[w->depth / 64] &= ~(UINT64_C(1) << (w->depth % 64));
				pp_json_walk_open(w, i);
				if (object)
					expect = PP_JSON_EXPECT_KEY_OR_CLOSE;
				else
				{
					expect = PP_JSON_EXPECT_VALUE_OR_CLOSE;
					pp_json_walk_element(w, true);
				}
				continue;
			case PP_TOKEN_OBJECT_END:
			case PP_TOKEN_ARRAY_END:
				if (w->depth == 0 || object != (cls[i] == PP_TOKEN_OBJECT_END) ||
					!(expect == PP_JSON_EXPECT_COMMA_OR_CLOSE ||
					  expect == (object ? PP_JSON_EXPECT_KEY_OR_CLOSE : PP_JSON_EXPECT_VALUE_OR_CLOSE)))
					return false;
				pp_json_walk_close(w, i + 1);
				if (w->depth > 0)
					object = (s->stack[(w->depth - 1) / 64] >> ((w->depth - 1) % 64) & 1) != 0;
				break;
			case PP_TOKEN_COLON:
				if (expect != PP_JSON_EXPECT_COLON)
					return false;
				expect = PP_JSON_EXPECT_VALUE;
				continue;
			case PP_TOKEN_COMMA:
				if (expect != PP_JSON_EXPECT_COMMA_OR_CLOSE)
					return false;
				if (object)
					expect = PP_JSON_EXPECT_KEY;
				else
				{
					expect = PP_JSON_EXPECT_VALUE;
					pp_json_walk_element(w, false);
				}
				continue;
			default:
				return false;
		}
		expect = w->depth > 0 ? PP_JSON_EXPECT_COMMA_OR_CLOSE : PP_JSON_EXPECT_END;
	}
	return expect == PP_JSON_EXPECT_END;
}

/* Keeps the record that the walk went through as a shape, if it suits one. */
static void
remember(PpJsonShapes *s, const uint8_t *text, const uint32_t *pos,
		 const uint8_t *cls, uint32_t n)
{
	const PpAlloc *a = s->alloc;
	uint32_t	ncolumns = s->walk.paths->ncolumns;
	PpJsonShape **way = s->way[n];
	PpJsonShape *shape = way[PP_JSON_SHAPE_WAYS - 1];
	uint32_t	used = 0;

	for (uint32_t i = 0; i < s->nkeys; i++)
	{
		uint32_t	len = token_end(text, pos[s->key[i] + 1]) - pos[s->key[i]];

		if (len > 16)
		{
			if (len - 16 > PP_JSON_SHAPE_TEXT - used)
				return;
			used += len - 16;
		}
	}
	if (!shape)
	{
		/* without memory for it there is one shape less */
		shape = (PpJsonShape *) a->alloc(a->ctx, sizeof(PpJsonShape) + (ncolumns + 1) * sizeof(PpJsonRange));
		if (!shape)
			return;
		shape->value = (PpJsonRange *) (shape + 1);
	}
	memset(shape->cls, 0, sizeof(shape->cls));
	memset(shape->mask, 0, sizeof(shape->mask));
	memcpy(shape->cls, cls, n);
	for (uint32_t i = 0; i < n; i++)
	{
		/* behind a record's last token another stands */
		bool		value = (cls[i] & PP_TOKEN_SCALAR_MASK) == (PP_TOKEN_STRING & PP_TOKEN_SCALAR_MASK) &&
			cls[i + 1] != PP_TOKEN_COLON;

		((uint8_t *) shape->mask)[i] = value ? PP_TOKEN_SCALAR_MASK : 0xff;
	}
	shape->nkeys = s->nkeys;
	shape->wide_keys = shape->long_keys = false;
	used = 0;
	for (uint32_t i = 0; i < s->nkeys; i++)
	{
		PpJsonShapeKey *k = &shape->key[i];
		const uint8_t *p = text + pos[s->key[i]];

		k->token = s->key[i];
		k->len = token_end(text, pos[k->token + 1]) - pos[k->token];
		k->head_mask = k->len < 8 ? (UINT64_C(1) << (8 * k->len)) - 1 : ~UINT64_C(0);
		k->head = pp_json_load8(p) & k->head_mask;
		k->tail_at = k->len > 8 ? k->len - 8 : 0;
		k->tail_mask = k->len > 8 ? ~UINT64_C(0) : 0;
		k->tail = pp_json_load8(p + k->tail_at) & k->tail_mask;
		k->middle = used;
		shape->wide_keys |= k->len > 8;
		if (k->len > 16)
		{
			memcpy(shape->text + used, p + 8, k->len - 16);
			used += k->len - 16;
			shape->long_keys = true;
		}
	}
	memcpy(shape->value, s->value, ncolumns * sizeof(PpJsonRange));
	memmove(way + 1, way, (PP_JSON_SHAPE_WAYS - 1) * sizeof(*way));
	way[0] = shape;
}

const PpJsonRange *
pp_json_shape_find(PpJsonShapes *s, const uint8_t *text, const uint32_t *pos,
				   const uint8_t *cls, uint32_t n)
{
	const PpJsonPaths *paths = s->walk.paths;

	if (n <= PP_JSON_SHAPE_TOKENS)
	{
		PpJsonShape **way = s->way[n];

		for (uint32_t i = 1; i < PP_JSON_SHAPE_WAYS && way[i]; i++)
		{
			PpJsonShape *shape = way[i];

			if (pp_json_shape_is(shape, text, pos, cls, n))
			{
				memmove(way + 1, way, i * sizeof(*way));
				way[0] = shape;
				s->hits++;
				return shape->value;
			}
		}
	}
	if (!walk_tokens(s, text, pos, cls, n))
		return NULL;
	for (uint32_t c = 0; c < paths->ncolumns; c++)
		s->value[c] = s->walk.range[paths->column[c]];
	if (++s->walks == DECISION_WALKS)
	{
		s->wary = s->hits < DECISION_WALKS / 2;
		s->walks = s->hits = 0;
	}
	if (n <= PP_JSON_SHAPE_TOKENS && s->plain && (!s->wary || s->walks % WARY_WALKS == 0))
		remember(s, text, pos, cls, n);
	return s->value;
}

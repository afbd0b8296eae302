/*
 * src/parse/json/json_shape.h
 *	  The fast path's second half: is a list of tokens a record, and which of
 *	  them are the columns' values?
 *
 * Most records are made like one before: the same classes of tokens, scalar
 * values being as good as each other, and, where columns are looked for, the
 * same keys.  Such a record follows the grammar because the other did, and its
 * values are in the same places.  Shapes that
 * were proven are kept; what a walk through the tokens has found is found
 * again by comparing.
 */
#ifndef PP_JSON_SHAPE_H
#define PP_JSON_SHAPE_H

#include <string.h>

#include "json_kernel.h"
#include "json_path.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Longer records, in tokens, are walked through each time. */
#define PP_JSON_SHAPE_TOKENS	120
#define PP_JSON_SHAPE_KEYS		40
#define PP_JSON_SHAPE_WAYS		4

typedef struct PpJsonShapeKey
{
	uint32_t	token;
	uint32_t	len;			/* quotes included */
	uint64_t	head;			/* its first eight bytes ... */
	uint64_t	head_mask;		/* ... as far as it has them */
	uint64_t	tail;			/* its last eight bytes, if it has more than eight */
	uint64_t	tail_mask;
	uint32_t	tail_at;
	uint32_t	middle;			/* if longer than sixteen: offset in PpJsonShape.text */
} PpJsonShapeKey;

#define PP_JSON_SHAPE_TEXT		512

typedef struct PpJsonShape
{
	uint64_t	cls[PP_JSON_SHAPE_TOKENS / 8];
	uint64_t	mask[PP_JSON_SHAPE_TOKENS / 8]; /* which bits of them count */
	uint32_t	nkeys;
	bool		wide_keys;		/* some keys have tails ... */
	bool		long_keys;		/* ... or middles */
	PpJsonShapeKey key[PP_JSON_SHAPE_KEYS];
	uint8_t		text[PP_JSON_SHAPE_TEXT];
	PpJsonRange *value;			/* [ncolumns] first token and the one behind the
								 * last; both 0: none */
} PpJsonShape;

typedef struct PpJsonShapes
{
	PpJsonShape *way[PP_JSON_SHAPE_TOKENS + 1][PP_JSON_SHAPE_WAYS];
	PpJsonWalk	walk;			/* places: numbers of tokens */
	uint64_t   *stack;			/* as in json_check.h */
	uint32_t	max_depth;
	bool		any_value;
	uint32_t	nkeys;			/* of the walk: keys where columns are looked for */
	bool		plain;			/* ... and they suit a shape */
	uint32_t	hits;			/* records of known shapes, ... */
	uint32_t	walks;			/* ... and others, since the last decision */
	bool		wary;			/* few come again: few are remembered */
	uint32_t	key[PP_JSON_SHAPE_KEYS];
	PpJsonRange *value;			/* [ncolumns] the walk's answer */
	const PpAlloc *alloc;
} PpJsonShapes;

/* False: out of memory; to be freed in any case.  Was zero. */
extern bool pp_json_shapes_init(PpJsonShapes *shapes, const PpJsonPaths *paths,
								const PpJsonScanSpec *spec);
extern void pp_json_shapes_free(PpJsonShapes *shapes);

static inline uint64_t
pp_json_load8(const uint8_t *p)
{
	uint64_t	v;

	memcpy(&v, p, 8);
	return v;
}

/* Has a record the shape's classes and keys? */
static inline bool
pp_json_shape_is(const PpJsonShape *shape, const uint8_t *text, const uint32_t *pos,
				 const uint8_t *cls, uint32_t n)
{
	uint64_t	diff = 0;
	uint32_t	i;
	/* few numbers of rounds, so that it is foreseen */
	uint32_t	words = n <= 32 ? 4 : n <= 64 ? 8 : PP_JSON_SHAPE_TOKENS / 8;

	for (i = 0; i < words; i++)
		diff |= (pp_json_load8(cls + 8 * i) ^ shape->cls[i]) & shape->mask[i];
	if (diff != 0)
		return false;

	for (i = 0; i < shape->nkeys; i++)
	{
		const PpJsonShapeKey *k = &shape->key[i];

		diff |= (pp_json_load8(text + pos[k->token]) ^ k->head) & k->head_mask;
	}
	if (shape->wide_keys)
		for (i = 0; i < shape->nkeys; i++)
		{
			const PpJsonShapeKey *k = &shape->key[i];

			diff |= (pp_json_load8(text + pos[k->token] + k->tail_at) ^ k->tail) & k->tail_mask;
		}
	if (PP_UNLIKELY(shape->long_keys) && diff == 0)
		for (i = 0; i < shape->nkeys; i++)
		{
			const PpJsonShapeKey *k = &shape->key[i];

			if (k->len > 16 &&
				memcmp(text + pos[k->token] + 8, shape->text + k->middle, k->len - 16) != 0)
				return false;
		}
	return diff == 0;
}

/* What pp_json_shape() does if the record is not of the shape that was last. */
extern const PpJsonRange *pp_json_shape_find(PpJsonShapes *shapes, const uint8_t *text,
											 const uint32_t *pos, const uint8_t *cls,
											 uint32_t n);

/*
 * The columns' values in a record of n tokens, n at least 1, behind which
 * another token stands; pos and cls are its own.  PP_PAD bytes behind the text
 * and PP_JSON_SHAPE_TOKENS classes may be read.  NULL: it is no record, or the
 * reference has to look at it.
 */
static inline const PpJsonRange *
pp_json_shape(PpJsonShapes *shapes, const uint8_t *text, const uint32_t *pos,
			  const uint8_t *cls, uint32_t n)
{
	if (PP_LIKELY(n <= PP_JSON_SHAPE_TOKENS))
	{
		const PpJsonShape *shape = shapes->way[n][0];

		if (PP_LIKELY(shape && pp_json_shape_is(shape, text, pos, cls, n)))
		{
			shapes->hits++;
			return shape->value;
		}
	}
	return pp_json_shape_find(shapes, text, pos, cls, n);
}

#ifdef __cplusplus
}
#endif

#endif							/* PP_JSON_SHAPE_H */

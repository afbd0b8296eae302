/*
 * src/parse/json/json_path.h
 *	  The columns' paths as one tree, and the walk of a record through it.
 *
 * Whoever reads a record's tokens in order (the reference byte by byte, the
 * fast path by the list of tokens) tells the walk of keys, elements, values
 * and brackets; the walk notes where the values of the tree's nodes are.
 * Places are the teller's: byte offsets or numbers of tokens.
 */
#ifndef PP_JSON_PATH_H
#define PP_JSON_PATH_H

#include "json.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define PP_JSON_NO_NODE		UINT32_MAX

/*
 * Nodes are in depth-first order: the nodes below one follow it.  Node 0 is
 * the record.
 */
typedef struct PpJsonNode
{
	PpJsonStep	step;			/* that leads here */
	uint32_t	size;			/* nodes below it, and itself */
	bool		keys;			/* some are reached by keys ... */
	bool		elements;		/* ... or by indexes */
} PpJsonNode;

typedef struct PpJsonPaths
{
	PpJsonNode *node;			/* [nnodes] */
	uint32_t	nnodes;
	uint32_t   *column;			/* [ncolumns] a column's node */
	uint32_t	ncolumns;
	uint32_t	max_steps;
} PpJsonPaths;

/* False: out of memory.  The steps' keys are not copied. */
extern bool pp_json_paths_init(PpJsonPaths *paths, const PpJsonScanSpec *spec);
extern void pp_json_paths_free(PpJsonPaths *paths, const PpAlloc *a);

typedef struct PpJsonWalk
{
	const PpJsonPaths *paths;
	PpJsonRange *range;			/* [nnodes] */
	uint32_t   *at;				/* [max_steps + 2] node of the container at a depth */
	uint32_t   *index;			/* [max_steps + 2] element there */
	uint32_t	depth;			/* containers around */
	uint32_t	node;			/* of the value that comes next */
} PpJsonWalk;

extern bool pp_json_walk_init(PpJsonWalk *walk, const PpJsonPaths *paths, const PpAlloc *a);
extern void pp_json_walk_free(PpJsonWalk *walk, const PpAlloc *a);

static inline void
pp_json_walk_reset(PpJsonWalk *w, uint32_t node)
{
	for (uint32_t i = node; i < node + w->paths->node[node].size; i++)
		w->range[i].start = w->range[i].end = 0;
}

static inline void
pp_json_walk_begin(PpJsonWalk *w)
{
	w->depth = 0;
	w->node = 0;
	pp_json_walk_reset(w, 0);
}

/* The node of the container around, if values in it are wanted by key. */
static inline uint32_t
pp_json_walk_keys(const PpJsonWalk *w)
{
	uint32_t	node;

	if (w->depth > w->paths->max_steps)
		return PP_JSON_NO_NODE;
	node = w->at[w->depth];
	return node != PP_JSON_NO_NODE && w->paths->node[node].keys ? node : PP_JSON_NO_NODE;
}

/* A key; node is what pp_json_walk_keys() said. */
static inline void
pp_json_walk_key(PpJsonWalk *w, uint32_t node, const uint8_t *key, uint32_t len)
{
	w->node = PP_JSON_NO_NODE;
	if (node != PP_JSON_NO_NODE)
	{
		const PpJsonNode *n = w->paths->node;
		uint32_t	end = node + n[node].size;

		for (uint32_t i = node + 1; i < end; i += n[i].size)
			if (n[i].step.key && n[i].step.key_len == len &&
				pp_same_bytes(n[i].step.key, key, len))
			{
				if (PP_MUTATED(json_first_key) && w->range[i].end > 0)
					return;
				/* what an equal key in front of it led to does not count */
				pp_json_walk_reset(w, i);
				w->node = i;
				return;
			}
	}
}

/* The element that comes next in the array around. */
static inline void
pp_json_walk_element(PpJsonWalk *w, bool first)
{
	uint32_t	node;

	w->node = PP_JSON_NO_NODE;
	if (w->depth > w->paths->max_steps)
		return;
	node = w->at[w->depth];
	if (node != PP_JSON_NO_NODE && w->paths->node[node].elements)
	{
		const PpJsonNode *n = w->paths->node;
		uint32_t	end = node + n[node].size;
		uint32_t	index = first ? 0 : w->index[w->depth] + 1;

		w->index[w->depth] = index;
		for (uint32_t i = node + 1; i < end; i += n[i].size)
			if (!n[i].step.key && n[i].step.index == index)
			{
				w->node = i;
				return;
			}
	}
}

static inline void
pp_json_walk_scalar(PpJsonWalk *w, uint32_t start, uint32_t end)
{
	if (w->node != PP_JSON_NO_NODE)
	{
		w->range[w->node].start = start;
		w->range[w->node].end = end;
		w->node = PP_JSON_NO_NODE;
	}
}

static inline void
pp_json_walk_open(PpJsonWalk *w, uint32_t start)
{
	w->depth++;
	if (w->depth <= w->paths->max_steps + 1)
	{
		w->at[w->depth] = w->node;
		if (w->node != PP_JSON_NO_NODE)
			w->range[w->node].start = start;
	}
	w->node = PP_JSON_NO_NODE;
}

static inline void
pp_json_walk_close(PpJsonWalk *w, uint32_t end)
{
	if (w->depth <= w->paths->max_steps + 1)
	{
		uint32_t	node = w->at[w->depth];

		if (node != PP_JSON_NO_NODE)
			w->range[node].end = end;
	}
	w->depth--;
}

#ifdef __cplusplus
}
#endif

#endif							/* PP_JSON_PATH_H */

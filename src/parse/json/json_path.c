/*
 * src/parse/json/json_path.c
 *	  Builds the tree of the columns' paths.
 *
 * Paths that begin alike share nodes, so that each key of a record is compared
 * with the distinct next steps only.
 */
#include "json_path.h"

static bool
same_step(const PpJsonStep *a, const PpJsonStep *b)
{
	if (!a->key || !b->key)
		return !a->key && !b->key && a->index == b->index;
	return a->key_len == b->key_len && pp_same_bytes(a->key, b->key, a->key_len);
}

/* A path's last step is below the node: add what is missing, move what follows. */
static uint32_t
add_path(PpJsonPaths *p, const PpJsonColumn *col)
{
	uint32_t	node = 0;

	for (uint32_t s = 0; s < col->nsteps; s++)
	{
		uint32_t	end = node + p->node[node].size;
		uint32_t	child = node + 1;

		while (child < end && !same_step(&p->node[child].step, &col->step[s]))
			child += p->node[child].size;
		if (child == end)
		{
			/* behind the others; those around grow by one */
			for (uint32_t i = p->nnodes; i > end; i--)
				p->node[i] = p->node[i - 1];
			for (uint32_t i = 0; i <= node; i++)
				if (node < i + p->node[i].size)
					p->node[i].size++;
			for (uint32_t c = 0; c < p->ncolumns; c++)
				if (p->column[c] >= end)
					p->column[c]++;
			p->node[child].step = col->step[s];
			p->node[child].size = 1;
			p->node[child].keys = p->node[child].elements = false;
			p->nnodes++;
			if (col->step[s].key)
				p->node[node].keys = true;
			else
				p->node[node].elements = true;
		}
		node = child;
	}
	return node;
}

bool
pp_json_paths_init(PpJsonPaths *paths, const PpJsonScanSpec *spec)
{
	const PpAlloc *a = &spec->scan.alloc;
	uint32_t	n = spec->scan.ncolumns;
	size_t		nodes = 1;

	paths->max_steps = 0;
	paths->nnodes = 1;
	paths->ncolumns = 0;
	for (uint32_t c = 0; c < n; c++)
	{
		nodes += spec->column[c].nsteps;
		if (spec->column[c].nsteps > paths->max_steps)
			paths->max_steps = spec->column[c].nsteps;
	}
	paths->node = (PpJsonNode *) a->alloc(a->ctx, nodes * sizeof(PpJsonNode));
	paths->column = (uint32_t *) a->alloc(a->ctx, (n + 1) * sizeof(uint32_t));
	if (!paths->node || !paths->column)
		return false;
	paths->node[0].step.key = NULL;
	paths->node[0].step.key_len = paths->node[0].step.index = 0;
	paths->node[0].size = 1;
	paths->node[0].keys = paths->node[0].elements = false;
	for (uint32_t c = 0; c < n; c++)
	{
		uint32_t	node = add_path(paths, &spec->column[c]);

		paths->column[c] = node;
		paths->ncolumns = c + 1;
	}
	return true;
}

void
pp_json_paths_free(PpJsonPaths *paths, const PpAlloc *a)
{
	a->release(a->ctx, paths->node);
	a->release(a->ctx, paths->column);
}

bool
pp_json_walk_init(PpJsonWalk *walk, const PpJsonPaths *paths, const PpAlloc *a)
{
	walk->paths = paths;
	walk->range = (PpJsonRange *) a->alloc(a->ctx, paths->nnodes * sizeof(PpJsonRange));
	walk->at = (uint32_t *) a->alloc(a->ctx, (paths->max_steps + 2) * sizeof(uint32_t));
	walk->index = (uint32_t *) a->alloc(a->ctx, (paths->max_steps + 2) * sizeof(uint32_t));
	return walk->range && walk->at && walk->index;
}

void
pp_json_walk_free(PpJsonWalk *walk, const PpAlloc *a)
{
	a->release(a->ctx, walk->range);
	a->release(a->ctx, walk->at);
	a->release(a->ctx, walk->index);
}

/*
 * cuda/join_optimized.cu
 *	  GPU-Optimized, the paper's second algorithm: a stage is gone through level
 *	  by level, all assignments of the levels so far, the frontier, together.
 *
 * A level of the stage takes three steps (Wu et al., ADMS 2014: expansion,
 * intersection, filtering):
 *
 *	  open		of each entry of the frontier the two shortest lists that bound
 *				the level, and sums of their lengths
 *	  points	where the tiles of join_expand.h begin
 *	  tiles		the two lists of all entries are intersected by merging, tile by
 *				tile in shared memory; what is left is looked for in the other
 *				lists, and in the second one if it is far longer than the first,
 *				by one binary search each; comparisons, heads and factors
 *				filter; and what remains is the next frontier, in order, or is
 *				counted
 *
 * A leaf that is no more than the length of a list takes one step.
 *
 * Frontiers have a fixed room.  When the next one is full, the tiles that found
 * no room are left for later, and the walk goes on with the next level: depth
 * first over slices, with a stack of frontiers, one to a level, so that every
 * join works in the same memory.  Which tiles these are depends on sums only,
 * so that all is in a fixed order.
 *
 * Owns the frontiers while it counts, or as long as there are rows to come.
 */
#include "join_optimized.h"

#include <algorithm>
#include <cstring>

#include "device_wide.h"

uint32_t	pp_optimized_room;
uint32_t	pp_optimized_tile;

namespace
{

/* Entries of a frontier: so many for each row of the largest trie, but not less nor
 * more than this; and tiles of a launch, at most. */
constexpr uint32_t ENTRIES_PER_ROW = 16;
constexpr uint32_t FEW_ENTRIES = 1u << 16;
constexpr uint32_t MOST_ENTRIES = 1u << 24;
constexpr uint32_t MOST_TILES = 1u << 15;
constexpr uint32_t LEAST_TILES = 16;

/* Entries that a frontier has room for at least. */
constexpr uint32_t LEAST_ROOM = 128;

/* Tiles of the first launch if the first rows may be all that is wanted. */
constexpr uint32_t FIRST_TILES = 16;

static_assert(MOST_TILES * PP_EXPAND_TILE < PP_FRONT_NO_ROOM, "no frontier's entries are as many");

/* A frontier: assignments of the levels before the one it is for. */
struct Frame
{
	uint32_t	first_level;	/* that it is for, leaves included */
	uint32_t	room;
	uint64_t	most;			/* entries that there can be in all */
	PpBuffer	memory;
	uint32_t   *column[PP_JOIN_MAX_VARIABLES];	/* by level; NULL: not needed any more */
	uint64_t   *weight;
	uint64_t   *counts;			/* of a leaf, by entry; or copies */
	PpExpansion	x;

	uint32_t	level;			/* that it is at */
	bool		opened;
	uint64_t	items;
	uint64_t	ntiles;
	uint64_t	next;			/* tile */
	uint32_t	slice;			/* tiles of the next launch */
};

struct Walk
{
	PpDeviceJoin *join;
	PpJoinSignals *signals;
	PpStage		stage;
	uint64_t   *out;			/* NULL: the total is counted */
	bool		rows;			/* the last frontier is the answer */
	bool		weighted;
	bool		copies;
	uint32_t	tile;			/* items */
	uint32_t	most_tiles;
	uint32_t	nframes;
	uint32_t	depth;
	bool		ended;
	Frame		frame[PP_JOIN_MAX_VARIABLES + 1];
	PpBuffer	tables;			/* Level of each, PpAnswer */
	PpBuffer	work;			/* PpSlice, chain, points */
	PpBuffer	scratch;		/* of scans */
	PpBuffer	report;			/* pinned: PpSlice, or sums of lengths */

	/* rows */
	uint64_t	nrows;			/* of the answer in hand */
	uint64_t	given;
};

bool
is_final(const Walk *w, uint32_t level)
{
	return !w->rows && level == w->stage.nlevels - 1u;
}

/* Is a level counted where it is, without a frontier of its own? */
bool
is_leaf(const Walk *w, uint32_t level)
{
	return w->stage.level[level].leaf && !(w->stage.by_value && level == 0);
}

bool
has_unequal(const PpStage *s, uint32_t level)
{
	const PpStageLevel *l = &s->level[level];

	for (uint32_t r = 0; r < l->nresiduals; r++)
		if (s->residual[l->first_residual + r].op == PP_JOIN_NE)
			return true;
	return false;
}

/* Is counting a leaf a look at one list? */
bool
is_length(const Walk *w, uint32_t level)
{
	const PpStageLevel *l = &w->stage.level[level];

	return is_leaf(w, level) && l->nlists == 1 && l->nheads == 0 && l->nfactors == 0 &&
		!has_unequal(&w->stage, level);
}

/* Does a level at or behind one look at the value of another, before it? */
bool
is_needed(const Walk *w, uint32_t level, uint32_t from)
{
	const PpStage *s = &w->stage;

	if (w->rows || (level == 0 && w->out != nullptr))
		return true;
	for (uint32_t l = from; l < s->nlevels; l++)
	{
		const PpStageLevel *at = &s->level[l];

		for (uint32_t k = 0; k < at->nlists; k++)
		{
			const PpStageList *list = &s->list[at->first_list + k];

			if (!list->loops && list->from == level)
				return true;
		}
		for (uint32_t r = 0; r < at->nresiduals; r++)
			if (s->residual[at->first_residual + r].level == level)
				return true;
	}
	return false;
}

/* ---------- its memory ---------- */

/* The next array of n entries; with base NULL places are counted only. */
template <class T>
T *
take(uint8_t *base, size_t *at, uint64_t n)
{
	T		   *p = base == nullptr ? nullptr : reinterpret_cast<T *>(base + *at);

	*at += (n * sizeof(T) + 15) / 16 * 16;
	return p;
}

/* Lays out a frame of so many entries; answers the bytes. */
size_t
lay_out(const Walk *w, Frame *f, uint32_t room, uint8_t *base)
{
	const bool	answer = f->first_level == w->stage.nlevels;
	bool		counts = answer && w->copies;
	size_t		at = 0;

	for (uint32_t l = 0; l < f->first_level; l++)
		if (!is_leaf(w, l) && is_needed(w, l, f->first_level))
			f->column[l] = take<uint32_t>(base, &at, room);
	if (w->weighted)
		f->weight = take<uint64_t>(base, &at, room);
	for (uint32_t l = f->first_level; l < w->stage.nlevels && is_leaf(w, l); l++)
		counts |= !is_length(w, l) && !is_final(w, l);
	if (counts)
		f->counts = take<uint64_t>(base, &at, (uint64_t) room + 1);
	if (!answer)
	{
		f->x.left = take<uint64_t>(base, &at, (uint64_t) room + 1);
		f->x.right = take<uint64_t>(base, &at, (uint64_t) room + 1);
		f->x.left_at = take<uint32_t>(base, &at, room);
		f->x.right_at = take<uint32_t>(base, &at, room);
		f->x.pick = take<uint32_t>(base, &at, room);
	}
	f->room = room;
	return at;
}

/* The longest list that bounds a level, at most. */
uint64_t
longest_at(const Walk *w, uint32_t level)
{
	const PpStageLevel *l = &w->stage.level[level];
	uint64_t	longest = w->join->nkeys;

	for (uint32_t k = 0; k < l->nlists; k++)
	{
		const PpStageList *list = &w->stage.list[l->first_list + k];
		const PpDeviceTrie *trie = &w->join->trie[list->trie];
		const uint64_t n = list->loops ? trie->nentries : trie->longest;

		longest = n < longest ? n : longest;
	}
	return longest;
}

/* Which frontiers there are, and how many entries each may have at all. */
void
plan_frames(Walk *w)
{
	const PpStage *s = &w->stage;
	uint64_t	most = 1;

	w->frame[0].most = 1;
	w->nframes = 1;
	for (uint32_t l = 0; l < s->nlevels; l++)
	{
		const PpStageLevel *level = &s->level[l];

		if (is_leaf(w, l) || is_final(w, l))
			continue;
		most *= longest_at(w, l);
		/* a list of the only level before has all there is in it once */
		for (uint32_t k = 0; k < level->nlists && w->nframes == 2; k++)
		{
			const PpStageList *list = &s->list[level->first_list + k];
			const uint64_t n = w->join->trie[list->trie].nentries;

			most = !list->loops && n < most ? n : most;
		}
		if (most > UINT32_MAX)
			most = UINT32_MAX;
		w->frame[w->nframes].first_level = l + 1;
		w->frame[w->nframes++].most = most;
	}
}

/* Tiles that any frontier of so many entries may come to, up to the most of a launch. */
uint32_t
most_tiles(const Walk *w, uint32_t room)
{
	uint64_t	most = 1;

	for (uint32_t i = 0; i < w->nframes; i++)
	{
		const Frame *f = &w->frame[i];
		const uint64_t n = f->most < room ? f->most : room;
		const uint32_t end = i + 1 < w->nframes ? f[1].first_level : w->stage.nlevels;

		for (uint32_t l = f->first_level; l < end; l++)
		{
			/* each entry itself, and two lists */
			const uint64_t tiles = n * (1 + 2 * longest_at(w, l)) / w->tile + 1;

			most = tiles > most ? tiles : most;
		}
	}
	return most < MOST_TILES ? (uint32_t) most : MOST_TILES;
}

PpJoinStatus
reserve_frames(Walk *w, uint32_t room)
{
	PpJoinStatus status = PP_JOIN_OK;
	uint32_t	largest = 1;

	for (uint32_t i = 0; i < w->nframes && status == PP_JOIN_OK; i++)
	{
		Frame	   *f = &w->frame[i];
		const uint32_t n = f->most > room ? room : f->most > 0 ? (uint32_t) f->most : 1;

		status = pp_join_reserve(w->join, &f->memory, lay_out(w, f, n, nullptr));
		if (status == PP_JOIN_OK)
			(void) lay_out(w, f, n, f->memory.p);
		largest = n > largest ? n : largest;
	}
	if (status == PP_JOIN_OK)
	{
		size_t		bytes = 0;

		status = pp_join_call("a scan failed",
							  pp_scan_sum64(nullptr, &bytes, nullptr, nullptr, largest + 1, nullptr));
		if (status == PP_JOIN_OK)
			status = pp_join_reserve(w->join, &w->scratch, bytes);
	}
	return status;
}

void
release_frames(Walk *w)
{
	for (uint32_t i = 0; i < w->nframes; i++)
		pp_buffer_release(&w->frame[i].memory);
	pp_buffer_release(&w->scratch);
}

/* Entries of a frontier that keep a device busy, given how much there is to join. */
uint32_t
sensible_room(const PpDeviceJoin *join)
{
	uint64_t	largest = join->nkeys;

	for (uint32_t t = 0; t < join->plan.ntries; t++)
		largest = join->trie[t].nentries > largest ? join->trie[t].nentries : largest;
	largest *= ENTRIES_PER_ROW;
	return largest < FEW_ENTRIES ? FEW_ENTRIES : largest < MOST_ENTRIES ? (uint32_t) largest : MOST_ENTRIES;
}

/* Frontiers as large as is sensible, within half of the memory that there is. */
PpJoinStatus
make_frames(Walk *w)
{
	const uint64_t left = pp_memory_left();
	uint32_t	room = pp_optimized_room > 0 ? pp_optimized_room : sensible_room(w->join);
	uint64_t	tiles;
	PpJoinStatus status;

	plan_frames(w);
	w->tile = pp_optimized_tile > 0 && pp_optimized_tile < PP_EXPAND_TILE ? pp_optimized_tile :
		PP_EXPAND_TILE;
	for (;; room /= 2)
	{
		uint64_t	bytes = 0;

		for (uint32_t i = 0; i < w->nframes; i++)
		{
			const uint64_t n = w->frame[i].most < room ? w->frame[i].most : room;

			bytes += lay_out(w, &w->frame[i], (uint32_t) n, nullptr);
		}
		if (bytes <= left / 2 || room / 2 < LEAST_ROOM)
			break;
	}
	/* a tile's entries have to fit */
	w->tile = std::min(w->tile, room);
	tiles = left / 64 / (sizeof(PpExpandPoint) + sizeof(uint32_t));
	w->most_tiles = most_tiles(w, room);
	if (w->most_tiles > tiles)
		w->most_tiles = tiles > LEAST_TILES ? (uint32_t) tiles : LEAST_TILES;
	status = pp_join_reserve(w->join, &w->work, sizeof(PpSlice) + w->most_tiles * sizeof(uint32_t) +
							 (w->most_tiles + 1) * sizeof(PpExpandPoint));
	while (status == PP_JOIN_OK && (status = reserve_frames(w, room)) == PP_JOIN_NO_FIT &&
		   room / 2 >= LEAST_ROOM)
	{
		/* memory comes in blocks that others have, too */
		release_frames(w);
		room /= 2;
		w->tile = std::min(w->tile, room);
		status = PP_JOIN_OK;
	}
	return status;
}

PpSlice *
slice_of(const Walk *w)
{
	return reinterpret_cast<PpSlice *>(w->work.p);
}

PpExpandPoint *
points_of(const Walk *w)
{
	return reinterpret_cast<PpExpandPoint *>(w->work.p + sizeof(PpSlice));
}

uint32_t *
chain_of(const Walk *w)
{
	return reinterpret_cast<uint32_t *>(points_of(w) + w->most_tiles + 1);
}

const PpFrontLevel *
level_of(const Walk *w, uint32_t level)
{
	return reinterpret_cast<const PpFrontLevel *>(w->tables.p) + level;
}

const PpAnswer *
answer_of(const Walk *w)
{
	return reinterpret_cast<const PpAnswer *>(level_of(w, w->stage.nlevels));
}

void
fill_level(const Walk *w, uint32_t l, const Frame *in, const Frame *out, PpFrontLevel *lv)
{
	const PpDeviceJoin *join = w->join;
	const PpStage *s = &w->stage;
	const PpStageLevel *from = &s->level[l];

	lv->nkeys = join->nkeys;
	lv->level = l;
	lv->nlists = from->nlists;
	lv->nheads = from->nheads;
	lv->nresiduals = from->nresiduals;
	lv->nfactors = from->nfactors;
	lv->unequal = has_unequal(s, l);
	for (uint32_t k = 0; k < from->nlists; k++)
	{
		const PpStageList *list = &s->list[from->first_list + k];
		const PpDeviceTrie *trie = &join->trie[list->trie];

		lv->list[k] = {list->loops ? nullptr : trie->start, trie->list, trie->first,
					   trie->nentries, list->from};
	}
	for (uint32_t h = 0; h < from->nheads; h++)
		lv->head[h] = join->trie[s->head[from->first_head + h]].start;
	for (uint32_t r = 0; r < from->nresiduals; r++)
		lv->residual[r] = s->residual[from->first_residual + r];
	for (uint32_t f = 0; f < from->nfactors; f++)
		lv->factor[f] = reinterpret_cast<const uint64_t *>(join->counted[from->factor[f]].p);
	for (uint32_t i = 0; i < l; i++)
		lv->in[i] = in->column[i];
	lv->weight = in->weight;
	if (out != nullptr)
	{
		for (uint32_t i = 0; i <= l; i++)
			if (out->column[i] != nullptr)
			{
				lv->out_level[lv->nout] = (uint8_t) i;
				lv->out[lv->nout++] = out->column[i];
			}
		lv->out_weight = out->weight;
	}
}

void
fill_answer(const Walk *w, PpAnswer *answer)
{
	const PpStage *s = &w->stage;
	const Frame *f = &w->frame[w->nframes - 1];

	answer->nlevels = s->nlevels;
	for (uint32_t l = 0; l < s->nlevels; l++)
	{
		answer->in[l] = f->column[l];
		answer->variable[l] = s->level[l].variable;
		for (uint32_t k = 0; k < s->level[l].nlists; k++)
		{
			const PpStageList *list = &s->list[s->level[l].first_list + k];
			const PpDeviceTrie *trie = &w->join->trie[list->trie];

			answer->atom[answer->natoms++] =
				{list->loops ? nullptr : trie->start, trie->list, trie->first, trie->row,
				 trie->nentries, list->from, l, list->atom};
		}
	}
}

/* Brings levels to the device, and the first frontier: one entry, of nothing. */
PpJoinStatus
upload(Walk *w)
{
	const uint32_t n = w->stage.nlevels;
	const size_t bytes = n * sizeof(PpFrontLevel) + sizeof(PpAnswer);
	const uint64_t one = 1;
	PpJoinStatus status = pp_join_reserve(w->join, &w->tables, bytes);
	PpBuffer	host = {PP_MEMORY_PINNED, nullptr, 0};
	PpFrontLevel	   *level;

	if (status == PP_JOIN_OK)
		status = pp_join_reserve(w->join, &host, bytes + sizeof(one));
	if (status != PP_JOIN_OK)
		return status;
	memset(host.p, 0, bytes);
	level = reinterpret_cast<PpFrontLevel *>(host.p);
	for (uint32_t l = 0, f = 0; l < n; l++)
	{
		const bool	next = !is_leaf(w, l) && !is_final(w, l);

		fill_level(w, l, &w->frame[f], next ? &w->frame[f + 1] : nullptr, &level[l]);
		f += next;
	}
	if (w->rows)
		fill_answer(w, reinterpret_cast<PpAnswer *>(level + n));
	memcpy(host.p + bytes, &one, sizeof(one));
	status = pp_join_copy(w->join, w->tables.p, host.p, bytes, cudaMemcpyHostToDevice);
	if (status == PP_JOIN_OK && w->weighted)
		status = pp_join_copy(w->join, w->frame[0].weight, host.p + bytes, sizeof(one),
							  cudaMemcpyHostToDevice);
	if (status == PP_JOIN_OK)
		status = pp_join_wait(w->join);
	else
		(void) cudaStreamSynchronize(w->join->stream);
	pp_buffer_release(&host);
	return status;
}

void
close_walk(Walk *w)
{
	/* after a failure there may be work that looks at them */
	(void) cudaStreamSynchronize(w->join->stream);
	release_frames(w);
	pp_buffer_release(&w->tables);
	pp_buffer_release(&w->work);
	pp_buffer_release(&w->report);
}

PpJoinStatus
open_walk(Walk *w, PpDeviceJoin *join, uint32_t stage, uint64_t *out, bool rows)
{
	PpJoinStatus status;

	memset(w, 0, sizeof(*w));
	w->join = join;
	w->signals = reinterpret_cast<PpJoinSignals *>(join->signals.p);
	w->stage = join->plan.stage[stage];
	w->out = out;
	w->rows = rows;
	w->report.kind = PP_MEMORY_PINNED;
	for (uint32_t l = 0; l < w->stage.nlevels; l++)
	{
		const PpStageLevel *level = &w->stage.level[l];

		for (uint32_t k = 0; k < level->nlists; k++)
			w->copies |= join->trie[w->stage.list[level->first_list + k].trie].first != nullptr;
		w->weighted |= level->nfactors > 0 || (is_leaf(w, l) && !is_final(w, l));
	}
	w->weighted = !rows && (w->weighted || w->copies);
	status = make_frames(w);
	if (status == PP_JOIN_OK)
		status = pp_join_reserve(join, &w->report, sizeof(PpSlice) + 2 * sizeof(uint64_t));
	if (status == PP_JOIN_OK)
		status = upload(w);
	w->frame[0].x.n = 1;
	return status;
}

/* ---------- its steps ---------- */

PpJoinStatus
sum_up(Walk *w, uint64_t *p, uint32_t n)
{
	size_t		bytes = w->scratch.size;
	PpJoinStatus status = pp_join_call("a scan failed",
									   pp_scan_sum64(w->scratch.p, &bytes, p, p, n,
													 w->join->stream));

	w->join->info.launches++;
	return status;
}

/* The frontier as kernels get it at its level. */
PpExpansion
expansion_of(const Walk *w, const Frame *f)
{
	PpExpansion	x = f->x;

	if (w->stage.level[f->level].nlists < 2)
		x.right = nullptr;
	return x;
}

/* Opens the frontier's level: its items, and how many tiles they make. */
PpJoinStatus
open_level(Walk *w, Frame *f)
{
	const PpExpansion x = expansion_of(w, f);
	uint64_t   *sums = reinterpret_cast<uint64_t *>(w->report.p);
	PpJoinStatus status;

	pp_front_open(level_of(w, f->level), x, w->signals, w->join->stream);
	status = pp_join_launched(w->join, "lists could not be opened");
	sums[1] = 0;
	if (status == PP_JOIN_OK)
		status = sum_up(w, x.left, x.n + 1);
	if (status == PP_JOIN_OK && x.right != nullptr)
		status = sum_up(w, x.right, x.n + 1);
	if (status == PP_JOIN_OK)
		status = pp_join_copy(w->join, &sums[0], &x.left[x.n], sizeof(sums[0]), cudaMemcpyDeviceToHost);
	if (status == PP_JOIN_OK && x.right != nullptr)
		status = pp_join_copy(w->join, &sums[1], &x.right[x.n], sizeof(sums[1]), cudaMemcpyDeviceToHost);
	if (status == PP_JOIN_OK)
		status = pp_join_wait(w->join);
	if (status != PP_JOIN_OK)
		return status;
	f->opened = true;
	f->next = 0;
	f->items = x.n + sums[0] + sums[1];
	/* entries alone are nothing */
	f->ntiles = sums[0] == 0 ? 0 : (f->items + w->tile - 1) / w->tile;
	return PP_JOIN_OK;
}

/* Enqueues the next n tiles of the frontier's level. */
PpJoinStatus
launch_tiles(Walk *w, Frame *f, uint32_t n, PpTileMode mode, uint64_t *out, PpTileKey key, uint32_t room)
{
	const PpTileJob job = {
		level_of(w, f->level), expansion_of(w, f), points_of(w), w->signals, slice_of(w),
		chain_of(w), out, key, room
	};
	PpJoinStatus status;

	pp_front_points(job, points_of(w), f->items, w->tile, f->next, n, w->join->stream);
	status = pp_join_launched(w->join, "tiles could not be made");
	if (status != PP_JOIN_OK)
		return status;
	pp_front_tiles(job, mode, n, w->join->stream);
	return pp_join_launched(w->join, "lists could not be intersected");
}

/* All tiles of a level that is only counted. */
PpJoinStatus
count_tiles(Walk *w, Frame *f, uint64_t *out, PpTileKey key)
{
	PpJoinStatus status = PP_JOIN_OK;

	while (f->next < f->ntiles && status == PP_JOIN_OK)
	{
		const uint64_t left = f->ntiles - f->next;
		const uint32_t n = left < w->most_tiles ? (uint32_t) left : w->most_tiles;

		status = launch_tiles(w, f, n, out != nullptr ? PP_TO_KEYS : PP_TO_TOTAL, out, key, 0);
		if (status == PP_JOIN_OK)
			status = pp_join_wait(w->join);
		f->next += n;
	}
	return status;
}

/* The answer's last level: what counts goes where it belongs. */
PpJoinStatus
count_final(Walk *w, Frame *f)
{
	PpJoinStatus status = open_level(w, f);

	if (status == PP_JOIN_OK)
		status = count_tiles(w, f, w->out, f->level == 0 ? PP_KEY_VALUE : PP_KEY_FIRST);
	return status;
}

PpJoinStatus
count_leaf(Walk *w, Frame *f)
{
	const bool	final = is_final(w, f->level);
	const uint64_t *counts = nullptr;
	PpJoinStatus status = PP_JOIN_OK;

	if (!is_length(w, f->level))
	{
		if (final)
			return count_final(w, f);
		counts = f->counts;
		status = pp_join_clear(w->join, f->counts, f->x.n * sizeof(uint64_t));
		/* what the entries weigh comes in with the product */
		if (status == PP_JOIN_OK)
			status = open_level(w, f);
		f->opened = false;
		if (status == PP_JOIN_OK)
			status = count_tiles(w, f, f->counts, PP_KEY_ENTRY);
		if (status != PP_JOIN_OK)
			return status;
	}
	pp_front_leaf(level_of(w, f->level), f->x.n, counts,
				  !final ? PP_LEAF_WEIGHT : w->out ? PP_LEAF_FIRST : PP_LEAF_TOTAL, w->out, w->signals,
				  w->join->stream);
	status = pp_join_launched(w->join, "lists could not be counted");
	if (status == PP_JOIN_OK)
		status = pp_join_wait(w->join);
	return status;
}

/* Tiles of the frontier's first launch, and of the next one, given what came of
 * done tiles. */
uint32_t
first_slice(const Walk *w, const Frame *next)
{
	uint64_t	n = next->room / w->tile;

	if (w->rows && n > FIRST_TILES)
		n = FIRST_TILES;
	return n < 1 ? 1 : n < w->most_tiles ? (uint32_t) n : w->most_tiles;
}

uint32_t
next_slice(const Walk *w, const Frame *next, uint32_t done, uint32_t made)
{
	/* some less than would fill it, if all were alike */
	const uint64_t fits = made == 0 ? UINT64_MAX : (uint64_t) next->room * done * 15 / 16 / made;
	const uint64_t more = 4 * (uint64_t) done;
	const uint64_t n = fits < more ? fits : more;

	return n < 1 ? 1 : n < w->most_tiles ? (uint32_t) n : w->most_tiles;
}

/* As many tiles as the next frontier has room for. */
PpJoinStatus
advance(Walk *w, Frame *f, Frame *next)
{
	const uint64_t left = f->ntiles - f->next;
	const uint32_t n = left < f->slice ? (uint32_t) left : f->slice;
	const PpSlice *slice = reinterpret_cast<const PpSlice *>(w->report.p);
	uint32_t	done;
	PpJoinStatus status = launch_tiles(w, f, n, PP_TO_FRONTIER, nullptr, PP_KEY_ENTRY, next->room);

	if (status == PP_JOIN_OK)
		status = pp_join_copy(w->join, w->report.p, slice_of(w), sizeof(PpSlice), cudaMemcpyDeviceToHost);
	if (status == PP_JOIN_OK)
		status = pp_join_wait(w->join);
	if (status != PP_JOIN_OK)
		return status;
	done = slice->stop < n ? slice->stop : n;
	f->next += done;
	f->slice = next_slice(w, next, done, slice->n);
	next->x.n = slice->n;
	next->level = next->first_level;
	next->opened = false;
	return PP_JOIN_OK;
}

/* Goes on until there is an answer's frontier, of rows, or the end. */
PpJoinStatus
go_on(Walk *w)
{
	PpJoinStatus status = PP_JOIN_OK;

	while (status == PP_JOIN_OK)
	{
		Frame	   *f = &w->frame[w->depth];

		if (f->level == w->stage.nlevels && w->rows && f->x.n > 0)
			return PP_JOIN_OK;
		if (f->x.n > 0 && !f->opened && f->level < w->stage.nlevels)
		{
			if (is_leaf(w, f->level))
			{
				status = count_leaf(w, f);
				f->level++;
			}
			else if (is_final(w, f->level))
			{
				status = count_final(w, f);
				f->level++;
			}
			else
			{
				status = open_level(w, f);
				f->slice = first_slice(w, f + 1);
			}
			if (f->level == w->stage.nlevels)
				f->x.n = 0;
		}
		else if (f->x.n > 0 && f->opened && f->next < f->ntiles)
		{
			status = advance(w, f, f + 1);
			if (status == PP_JOIN_OK)
				w->depth++;
		}
		else if (w->depth == 0)
		{
			w->ended = true;
			return PP_JOIN_OK;
		}
		else
			w->depth--;
	}
	return status;
}

/* How many rows the answer in hand has. */
PpJoinStatus
count_rows(Walk *w, Frame *f)
{
	uint64_t   *sum = reinterpret_cast<uint64_t *>(w->report.p);
	PpJoinStatus status;

	w->given = 0;
	w->nrows = f->x.n;
	if (!w->copies)
		return PP_JOIN_OK;
	pp_front_copies(answer_of(w), f->x.n, f->counts, w->signals, w->join->stream);
	status = pp_join_launched(w->join, "rows could not be counted");
	if (status == PP_JOIN_OK)
		status = sum_up(w, f->counts, f->x.n + 1);
	if (status == PP_JOIN_OK)
		status = pp_join_copy(w->join, sum, &f->counts[f->x.n], sizeof(*sum), cudaMemcpyDeviceToHost);
	if (status == PP_JOIN_OK)
		status = pp_join_signals(w->join, nullptr);
	if (status == PP_JOIN_OK)
		w->nrows = *sum;
	return status;
}

/* The next batch of rows; 0: there are none left. */
PpJoinStatus
give_rows(Walk *w, uint32_t *values, uint32_t *rows, uint32_t capacity, uint32_t *n)
{
	Frame	   *f = &w->frame[w->nframes - 1];
	PpJoinStatus status = PP_JOIN_OK;
	uint64_t	left;

	if (w->given == w->nrows)
	{
		f->x.n = 0;
		status = go_on(w);
		if (status != PP_JOIN_OK || w->ended)
			return status;
		status = count_rows(w, f);
		if (status != PP_JOIN_OK)
			return status;
	}
	left = w->nrows - w->given;
	*n = left < capacity ? (uint32_t) left : capacity;
	pp_front_rows(answer_of(w), w->copies ? f->counts : nullptr, f->x.n, w->given, *n, values,
				  rows, capacity, w->join->stream);
	status = pp_join_launched(w->join, "rows could not be written");
	if (status == PP_JOIN_OK)
		status = pp_join_wait(w->join);
	w->given += *n;
	return status;
}

}								/* namespace */

PpJoinStatus
pp_optimized_count(PpDeviceJoin *join, uint32_t stage, uint64_t *out)
{
	Walk	   *w = static_cast<Walk *>(join->alloc->alloc(join->alloc->ctx, sizeof(Walk)));
	PpJoinStatus status;

	if (w == nullptr)
		return PP_JOIN_NO_MEMORY;
	status = open_walk(w, join, stage, out, false);
	if (status == PP_JOIN_OK)
		status = go_on(w);
	if (status == PP_JOIN_OK)
		status = pp_join_signals(join, nullptr);
	close_walk(w);
	join->alloc->release(join->alloc->ctx, w);
	return status;
}

PpJoinStatus
pp_optimized_rows(PpDeviceJoin *join, PpDeviceRows **state, uint32_t *values, uint32_t *rows,
				  uint32_t capacity, uint32_t *n)
{
	Walk	   *w = reinterpret_cast<Walk *>(*state);

	*n = 0;
	if (w == nullptr)
	{
		PpJoinStatus status;

		w = static_cast<Walk *>(join->alloc->alloc(join->alloc->ctx, sizeof(Walk)));
		if (w == nullptr)
			return PP_JOIN_NO_MEMORY;
		status = open_walk(w, join, join->plan.nstages - 1, nullptr, true);
		*state = reinterpret_cast<PpDeviceRows *>(w);
		if (status != PP_JOIN_OK)
			return status;
	}
	if (w->ended)
		return PP_JOIN_OK;
	return give_rows(w, values, rows, capacity, n);
}

void
pp_optimized_rows_close(PpDeviceJoin *join, PpDeviceRows *state)
{
	Walk	   *w = reinterpret_cast<Walk *>(state);

	if (w == nullptr)
		return;
	close_walk(w);
	join->alloc->release(join->alloc->ctx, w);
}

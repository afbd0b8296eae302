/*
 * cuda/fused_lookback.h
 *	  What the tiles of the fused pipeline tell each other: the decoupled
 *	  look-back of a chained scan (Merrill and Garland), twice over.
 *
 *	  state		in which state a tile starts: state-transition vectors, composed
 *				(ParPaRaw, 3.1)
 *	  counts	records, and what is known of the record and the field that are
 *				open (3.2, with its absolute and relative columns)
 *
 * Each tile publishes what it does to any predecessor, finds what precedes it
 * from the nearest tile that knows, and the tiles in between, and publishes
 * what is behind it.  Tiles are numbered by an atomic counter, so those that
 * are waited for are at work.
 *
 * A status word and its value are one word wherever the value fits; else the
 * value is stored first and the status released.
 */
#ifndef PP_FUSED_LOOKBACK_H
#define PP_FUSED_LOOKBACK_H

#include "fused.h"

/* The lower bits of a status word; above them may be the value. */
#define PP_STATUS_NONE		0u
#define PP_STATUS_OWN		1u	/* what the tile alone does */
#define PP_STATUS_ALL		2u	/* what is behind it */
#define PP_STATUS_BITS		2
#define PP_STATUS_MASK		3u

/* A stretch of text's records and fields. */
struct alignas(8) PpTileCounts
{
	uint32_t	records;		/* that end in it, and two flags */
	uint32_t	column;			/* field ends behind the last record end, if it has
								 * PP_COLUMN_ABSOLUTE; else all of them */
	uint32_t	open;			/* position behind the last field end, 0: none */
	uint32_t	record_start;	/* and behind the last record end, 0: none */
	uint32_t	control;		/* bytes behind the last field end that are no content */
	uint32_t	first;			/* field ends in front of the first record end; if
								 * records are to be empty, its position */
};

#define PP_COUNTS_STOPPED	0x80000000u	/* a final state was met: nothing follows */
#define PP_COUNTS_BAD		0x40000000u	/* a record is of the wrong shape */
#define PP_COUNTS_RECORDS	0x3fffffffu

static_assert(PP_PAPER_MAX_BYTES <= PP_COUNTS_RECORDS, "a count leaves room for the flags");

/* Facts that one tile finds, each, and the last one looks at. */
struct PpTilesHeader
{
	uint32_t	done;			/* tiles that are */
	uint32_t	stopped;		/* a byte led to a final state: ... */
	uint32_t	stop;			/* ... where */
	uint32_t	state;			/* ... and which, as the PpDfa calls it */
	uint32_t	end_state;		/* the one at n */
	uint32_t	bad;			/* a record is of the wrong shape: the first ... */
	uint32_t	bad_end;		/* ... ends with this byte, */
	uint32_t	bad_record;		/* is of this number, */
	uint32_t	bad_start;		/* and starts here */
	uint32_t	room_next;		/* behind the last record that there is room for */
	uint32_t	least;			/* 0xffffffff - fields of a record, at most */
	uint32_t	greatest;
	uint32_t	unused[4];
};

/* job->tiles. */
struct PpTiles
{
	PpTilesHeader *header;
	uint32_t   *state_status;	/* [ntiles] with the state, or, of less than 16 */
	uint32_t   *counts_status;	/* states, the vector */
	uint64_t   *vector;			/* [ntiles] of 16 states */
	PpTileCounts *own;			/* [ntiles] */
	PpTileCounts *all;
};

/*
 * Tiles begin at multiples of 16 bytes, so the text may begin some bytes behind
 * the first one's start.  The byte behind the text has a tile as well, for a
 * last record may end there.
 */
static __host__ __device__ __forceinline__ uint32_t
pp_text_skew(const PpFusedJob &job)
{
	return (uint32_t) (reinterpret_cast<uintptr_t>(job.text) & 15u);
}

/* The tile of a position, 0 to n. */
static __host__ __device__ __forceinline__ uint32_t
pp_tile_of(const PpFusedJob &job, uint32_t pos)
{
	return (pos + pp_text_skew(job)) / job.tile_bytes;
}

/* A tile's first byte; of tile 0, below zero, that is, wrapped around. */
static __host__ __device__ __forceinline__ uint32_t
pp_tile_base(const PpFusedJob &job, uint32_t i)
{
	return i * job.tile_bytes - pp_text_skew(job);
}

static __host__ __device__ __forceinline__ uint32_t
pp_fused_tiles(const PpFusedJob &job)
{
	return pp_tile_of(job, job.n) + 1;
}

static __host__ __device__ __forceinline__ PpTiles
pp_tiles(void *base, uint32_t ntiles)
{
	PpTiles		t;

	t.header = static_cast<PpTilesHeader *>(base);
	t.state_status = reinterpret_cast<uint32_t *>(t.header + 1);
	t.counts_status = t.state_status + ntiles;
	t.vector = reinterpret_cast<uint64_t *>(t.counts_status + ntiles);
	t.own = reinterpret_cast<PpTileCounts *>(t.vector + ntiles);
	t.all = t.own + ntiles;
	return t;
}

/*
 * State-transition vectors, as PpVector; how they are kept depends on the
 * number of states.
 */
template <int STATES>
struct PpMap;

/* Two states, and all a byte can do is to change between them, or not. */
template <>
struct PpMap<PP_FUSED_PARITY>
{
	typedef uint32_t Word;

	static constexpr Word identity = 0;

	static __device__ __forceinline__ Word
	compose(Word a, Word b)
	{
		return a ^ b;
	}
	static __device__ __forceinline__ uint32_t
	apply(Word v, uint32_t state)
	{
		return v ^ state;
	}
	static __device__ __forceinline__ uint32_t
	pack(Word v)
	{
		return v;
	}
	static __device__ __forceinline__ Word
	unpack(uint32_t v, const uint64_t *)
	{
		return v;
	}
};

/* A byte for each nibble of v's lower half, and back. */
static __device__ __forceinline__ uint32_t
pp_spread_nibbles(uint32_t v)
{
	v = (v | v << 8) & 0x00ff00ffu;
	return (v | v << 4) & 0x0f0f0f0fu;
}

static __device__ __forceinline__ uint32_t
pp_gather_nibbles(uint32_t v)
{
	v = (v | v >> 4) & 0x00ff00ffu;
	return (v | v >> 8) & 0xffffu;
}

/*
 * Composition by __byte_perm(): the inner map's nibbles select bytes of the
 * outer one, whose states are spread to bytes.
 */
template <>
struct PpMap<PP_FUSED_STATES_8>
{
	typedef uint32_t Word;

	static constexpr Word identity = 0x76543210u;

	static __device__ __forceinline__ Word
	compose(Word a, Word b)
	{
		uint32_t	low = pp_spread_nibbles(b & 0xffffu);
		uint32_t	high = pp_spread_nibbles(b >> 16);

		return pp_gather_nibbles(__byte_perm(low, high, a & 0xffffu)) |
			pp_gather_nibbles(__byte_perm(low, high, a >> 16)) << 16;
	}
	static __device__ __forceinline__ uint32_t
	apply(Word v, uint32_t state)
	{
		return (v >> (4 * state)) & 15u;
	}
	/* three bits a state */
	static __device__ __forceinline__ uint32_t
	pack(Word v)
	{
		v = (v & 0x07070707u) | (v & 0x70707070u) >> 1;
		v = (v & 0x003f003fu) | (v & 0x3f003f00u) >> 2;
		return (v & 0xfffu) | (v & 0xfff0000u) >> 4;
	}
	static __device__ __forceinline__ Word
	unpack(uint32_t v, const uint64_t *)
	{
		v = (v & 0xfffu) | (v & 0xfff000u) << 4;
		v = (v & 0x003f003fu) | (v & 0x0fc00fc0u) << 2;
		return (v & 0x07070707u) | (v & 0x38383838u) << 1;
	}
};

/* Sixteen bytes: a selector's highest bit says in which half, see select(). */
template <>
struct PpMap<PP_FUSED_STATES_16>
{
	typedef uint64_t Word;

	static constexpr Word identity = PP_VEC_IDENTITY;

	/*
	 * Four of sixteen bytes.  __byte_perm() takes no notice of a selector's
	 * highest bit, so both halves are asked, and the bit, made a byte of ones or
	 * zeros, chooses.
	 */
	static __device__ __forceinline__ uint32_t
	select(uint32_t b0, uint32_t b1, uint32_t b2, uint32_t b3, uint32_t selector)
	{
		uint32_t	low = __byte_perm(b0, b1, selector);
		uint32_t	high = __byte_perm(b2, b3, selector);
		uint32_t	is_high = __byte_perm(0xff00u, 0, selector >> 3 & 0x1111u);

		return low ^ ((low ^ high) & is_high);
	}
	static __device__ __forceinline__ Word
	compose(Word a, Word b)
	{
		uint32_t	b0 = pp_spread_nibbles((uint32_t) b & 0xffffu);
		uint32_t	b1 = pp_spread_nibbles((uint32_t) b >> 16);
		uint32_t	b2 = pp_spread_nibbles((uint32_t) (b >> 32) & 0xffffu);
		uint32_t	b3 = pp_spread_nibbles((uint32_t) (b >> 48));
		uint32_t	low = (uint32_t) a;
		uint32_t	high = (uint32_t) (a >> 32);

		low = pp_gather_nibbles(select(b0, b1, b2, b3, low & 0xffffu)) |
			pp_gather_nibbles(select(b0, b1, b2, b3, low >> 16)) << 16;
		high = pp_gather_nibbles(select(b0, b1, b2, b3, high & 0xffffu)) |
			pp_gather_nibbles(select(b0, b1, b2, b3, high >> 16)) << 16;
		return low | (Word) high << 32;
	}
	static __device__ __forceinline__ uint32_t
	apply(Word v, uint32_t state)
	{
		return (uint32_t) (v >> (4 * state)) & 15u;
	}
	static __device__ __forceinline__ uint32_t
	pack(Word)
	{
		return 0;				/* too large: it stands in vector[] */
	}
	static __device__ __forceinline__ Word
	unpack(uint32_t, const uint64_t *vector)
	{
		return *vector;
	}
};

/* The nearest lane that has what is behind its tile; the others, up to it, have
 * what their tiles do.  32: none has, but all have something. */
static __device__ __forceinline__ uint32_t
pp_wait_for_status(const uint32_t *status, bool exists, uint32_t *word)
{
	uint32_t	w = exists ? PP_STATUS_NONE : PP_STATUS_ALL;

	for (;;)
	{
		uint32_t	all;
		uint32_t	missing;
		uint32_t	needed;

		if ((w & PP_STATUS_MASK) == PP_STATUS_NONE)
			w = pp_load_acquire(const_cast<uint32_t *>(status));
		all = __ballot_sync(0xffffffffu, (w & PP_STATUS_MASK) == PP_STATUS_ALL);
		missing = __ballot_sync(0xffffffffu, (w & PP_STATUS_MASK) == PP_STATUS_NONE);
		needed = all == 0 ? 0xffffffffu : all ^ (all - 1);
		if ((missing & needed) == 0)
		{
			*word = w;
			return all == 0 ? 32 : (uint32_t) __ffs((int) all) - 1;
		}
		pp_pause();
	}
}

/*
 * A warp, for tile number i whose vector is own: the state in which it starts.
 */
template <int STATES>
static __device__ __forceinline__ uint32_t
pp_look_back_state(const PpTiles &t, uint32_t i, typename PpMap<STATES>::Word own, uint32_t start)
{
	typedef PpMap<STATES> Map;
	typename Map::Word acc = Map::identity;
	const uint32_t lane = threadIdx.x & 31u;
	uint32_t	state = start;

	if (lane == 0 && i > 0)
	{
		if (STATES == PP_FUSED_STATES_16)
			t.vector[i] = own;
		pp_store_release(&t.state_status[i], Map::pack(own) << PP_STATUS_BITS | PP_STATUS_OWN);
	}
	for (uint32_t before = i; before > 0; before = before > 32 ? before - 32 : 0)
	{
		bool		exists = lane < before;
		uint32_t	at = exists ? before - 1 - lane : 0;
		uint32_t	word;
		uint32_t	nearest = pp_wait_for_status(&t.state_status[at], exists, &word);
		typename Map::Word v = Map::identity;

		if (lane < nearest)
			v = Map::unpack(word >> PP_STATUS_BITS, &t.vector[at]);
		PP_UNROLL
		for (uint32_t d = 1; d < 32; d *= 2)
		{
			typename Map::Word earlier = __shfl_down_sync(0xffffffffu, v, d);

			if (lane + d < 32)
				v = Map::compose(earlier, v);
		}
		acc = Map::compose(__shfl_sync(0xffffffffu, v, 0), acc);
		if (nearest < 32)
		{
			word = __shfl_sync(0xffffffffu, word, (int) nearest);
			if (nearest < before)
				state = word >> PP_STATUS_BITS;
			break;
		}
	}
	state = Map::apply(acc, state);
	if (lane == 0)
		pp_store_release(&t.state_status[i], Map::apply(own, state) << PP_STATUS_BITS | PP_STATUS_ALL);
	return state;
}

/* What records have to be. */
struct PpShape
{
	uint32_t	nfields;		/* 0: empty */
	uint32_t	eol_len;
};

/* In front of the text. */
static __device__ __forceinline__ PpTileCounts
pp_counts_start(void)
{
	return {0, PP_COLUMN_ABSOLUTE, 0, 0, 0, 0};
}

static __device__ __forceinline__ PpTileCounts
pp_counts_none(void)
{
	return {0, 0, 0, 0, 0, 0};
}

/* Is the record that starts in or before a, and is the first to end in b, of the
 * wrong shape?  Both have record ends. */
static __device__ __forceinline__ bool
pp_counts_disagree(PpShape shape, const PpTileCounts &a, const PpTileCounts &b)
{
	if (shape.nfields == 0)
		return b.first + 1 != a.record_start + shape.eol_len;
	return (a.column & ~PP_COLUMN_ABSOLUTE) + b.first + 1 != shape.nfields;
}

/* First a, then b. */
static __device__ __forceinline__ PpTileCounts
pp_counts_combine(PpShape shape, const PpTileCounts &a, const PpTileCounts &b)
{
	PpTileCounts r;
	bool		absolute = (b.column & PP_COLUMN_ABSOLUTE) != 0;
	bool		both = absolute && (a.column & PP_COLUMN_ABSOLUTE);

	if (a.records & PP_COUNTS_STOPPED)
		return a;
	r.records = (a.records | b.records) & ~PP_COUNTS_RECORDS;
	if (both && pp_counts_disagree(shape, a, b))
		r.records |= PP_COUNTS_BAD;
	r.records |= (a.records & PP_COUNTS_RECORDS) + (b.records & PP_COUNTS_RECORDS);
	r.column = absolute ? b.column : a.column + b.column;
	r.open = b.open ? b.open : a.open;
	r.record_start = b.record_start ? b.record_start : a.record_start;
	r.control = b.control + (b.open ? 0 : a.control);
	r.first = a.column & PP_COLUMN_ABSOLUTE ? a.first :
		b.first + (shape.nfields == 0 ? 0 : a.column);
	return r;
}

static __device__ __forceinline__ PpTileCounts
pp_load_counts(const PpTileCounts *p)
{
	const uint32_t *w = &p->records;
	uint2		v0 = pp_load8(w);
	uint2		v1 = pp_load8(w + 2);
	uint2		v2 = pp_load8(w + 4);

	return {v0.x, v0.y, v1.x, v1.y, v2.x, v2.y};
}

/*
 * A warp, for tile number i: what is in front of it, to *result.  Only lane 0 looks
 * at own and *result, which are in shared memory to save registers.
 */
static __device__ __forceinline__ void
pp_look_back_counts(const PpTiles &t, uint32_t i, PpShape shape, const PpTileCounts &own,
					PpTileCounts *result)
{
	const uint32_t lane = threadIdx.x & 31u;

	if (lane == 0)
	{
		*result = i == 0 ? pp_counts_start() : pp_counts_none();
		if (i > 0)
		{
			t.own[i] = own;
			pp_store_release(&t.counts_status[i], PP_STATUS_OWN);
		}
	}
	for (uint32_t before = i; before > 0; before = before > 32 ? before - 32 : 0)
	{
		bool		exists = lane < before;
		uint32_t	at = exists ? before - 1 - lane : 0;
		uint32_t	word;
		uint32_t	nearest = pp_wait_for_status(&t.counts_status[at], exists, &word);
		PpTileCounts v = pp_counts_none();

		if (!exists)
		{
			if (lane == nearest)
				v = pp_counts_start();
		}
		else if (lane <= nearest)
			v = pp_load_counts(lane == nearest ? &t.all[at] : &t.own[at]);
		/* most often it is the next tile but few */
		for (uint32_t d = 1; d <= nearest && d < 32; d *= 2)
		{
			PpTileCounts e;

			e.records = __shfl_down_sync(0xffffffffu, v.records, d);
			e.column = __shfl_down_sync(0xffffffffu, v.column, d);
			e.open = __shfl_down_sync(0xffffffffu, v.open, d);
			e.record_start = __shfl_down_sync(0xffffffffu, v.record_start, d);
			e.control = __shfl_down_sync(0xffffffffu, v.control, d);
			e.first = __shfl_down_sync(0xffffffffu, v.first, d);
			if (lane + d < 32)
				v = pp_counts_combine(shape, e, v);
		}
		if (lane == 0)
			*result = pp_counts_combine(shape, v, *result);
		if (nearest < 32)
			break;
	}
	if (lane == 0)
	{
		t.all[i] = pp_counts_combine(shape, *result, own);
		pp_store_release(&t.counts_status[i], PP_STATUS_ALL);
	}
}

#endif							/* PP_FUSED_LOOKBACK_H */

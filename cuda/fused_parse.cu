/*
 * cuda/fused_parse.cu
 *	  The pass of the fused pipeline: a block a tile, which it reads once.
 *
 *	  text		to shared memory
 *	  state		what the bytes do to it, and by the first look-back, what it is
 *	  fields	where they end, a list; records, and by the second look-back, which
 *				they are and whether they are of the right shape
 *	  columns	fused_convert.h
 *
 * The last tile to be done says what the host has to know.
 *
 * Owns no memory; never waits for the device.
 */
#include "fused_bits.h"
#include "fused_convert.h"

namespace
{

constexpr uint32_t WARPS = PP_FUSED_THREADS / 32;
constexpr uint32_t ALL = 0xffffffffu;
constexpr uint32_t NONE = 0xffffffffu;

/* Records in the upper half, fields in the lower, of a warp or thread. */
constexpr uint32_t COUNT_BITS = 16;
constexpr uint32_t COUNT_MASK = 0xffffu;

static_assert(PP_FUSED_MAX_TILE <= COUNT_MASK, "as many fields as a tile has bytes");

/* A record's number in the tile and its last byte's, so that the least counts. */
constexpr uint32_t BAD_BITS = 16;

template <int STATES>
struct PassShared
{
	PpByteTable<STATES> table;
	typename PpMap<STATES>::Word row[PP_DEVICE_SYMBOLS + 1];
	typename PpMap<STATES>::Word emit[PP_DEVICE_SYMBOLS + 1];
	typename PpMap<STATES>::Word warp_map[WARPS];
	uint32_t	warp_state[WARPS];	/* in front of them */
	uint32_t	warp_count[WARPS];
	uint32_t	tile;
	uint32_t	ntiles;			/* kept here, not in a register all the time */
	uint32_t	stop;			/* byte of the tile that leads to a final state */
	uint32_t	quoting;
	uint32_t	first;			/* entry of the first record end ... */
	uint32_t	first_at;		/* ... and its byte */
	uint32_t	last;			/* entry of the last record end ... */
	uint32_t	last_at;		/* ... and its byte */
	uint32_t	last_end_at;	/* byte of the last field end */
	uint32_t	control;		/* control bytes behind that */
	uint32_t	bad;			/* number << BAD_BITS | byte of a record that is wrong in
								 * itself */
	PpTileCounts own;
	PpTileCounts earlier;	/* in front of it */

	/* what is in front of the tile, and what follows for it */
	uint32_t	record;
	uint32_t	column;
	uint32_t	open;
	uint32_t	nends;			/* of the list, those that count */
	uint32_t	is_behind;		/* a final state was met before */
	uint32_t	is_ragged;		/* records of the wrong shape end in the tile */
	uint64_t	items[PP_DEVICE_SYMBOLS + 1];	/* of a parameter, for one thread */
	PpConvertShared convert;
};

/* The tile's bytes and some around them, as far as there are any. */
__device__ __forceinline__ void
load_tile(const PpFusedJob &job, uint32_t i, uint8_t *bytes)
{
	const uint32_t skew = pp_text_skew(job);
	const uint8_t *from = job.text - skew;
	const uint32_t size = PP_TILE_BEFORE + job.tile_bytes + 16;

	for (uint32_t at = threadIdx.x * 16; at < size; at += PP_FUSED_THREADS * 16)
	{
		/* in the text from its aligned start; wrapped around in front of it */
		uint32_t	pos = i * job.tile_bytes + at - PP_TILE_BEFORE;
		uint4		v = {0, 0, 0, 0};

		if (pos < skew + job.n + 16)
			v = pp_load16(static_cast<const void *>(from + pos));
		*reinterpret_cast<uint4 *>(bytes + at - PP_TILE_BEFORE) = v;
	}
}

__device__ __forceinline__ PpTilesHeader *
header_of(const PpFusedJob &job)
{
	return static_cast<PpTilesHeader *>(job.tiles);
}

/* Rows from the parameter, which must not be indexed dynamically. */
template <int STATES>
__device__ __forceinline__ void
copy_rows(const PpFusedJob &job, PassShared<STATES> &sh)
{
	if (threadIdx.x < 32)
	{
		PP_UNROLL
		for (uint32_t g = 0; g <= PP_DEVICE_SYMBOLS; g++)
			if (threadIdx.x == g)
			{
				sh.row[g] = (typename PpMap<STATES>::Word) job.dfa.row[g];
				sh.emit[g] = (typename PpMap<STATES>::Word) job.dfa.emit[g];
			}
	}
}

/* The group of byte c. */
__device__ __forceinline__ uint32_t
group_of(const PpDeviceDfa &dfa, uint32_t c)
{
	uint32_t	lu[PP_DEVICE_SYMBOLS / 4];

	PP_UNROLL
	for (uint32_t r = 0; r < PP_DEVICE_SYMBOLS / 4; r++)
		lu[r] = dfa.symbol[r];
	return pp_symbol_group<PP_DEVICE_SYMBOLS / 4>(lu, c, dfa.nsymbols);
}

template <int STATES>
__device__ __forceinline__ void
make_table(const PpFusedJob &job, PassShared<STATES> &sh)
{
	for (uint32_t c = threadIdx.x; c < 256; c += PP_FUSED_THREADS)
	{
		uint32_t	g = group_of(job.dfa, c);

		sh.table.row[c] = sh.row[g];
		sh.table.emit[c] = sh.emit[g];
	}
}

template <>
__device__ __forceinline__ void
copy_rows<PP_FUSED_PARITY>(const PpFusedJob &, PassShared<PP_FUSED_PARITY> &)
{
}

template <>
__device__ __forceinline__ void
make_table<PP_FUSED_PARITY>(const PpFusedJob &, PassShared<PP_FUSED_PARITY> &)
{
}

/*
 * A parameter's array to shared memory, by the one thread that wants to index
 * it: chosen item by item in a loop, all of them would be kept in registers.
 */
__device__ __forceinline__ const uint64_t *
to_shared(uint64_t *to, const uint64_t (&of)[PP_DEVICE_SYMBOLS + 1])
{
	PP_UNROLL
	for (uint32_t i = 0; i <= PP_DEVICE_SYMBOLS; i++)
		to[i] = of[i];
	return to;
}

/* How state and bits are found; the bits of quotes are for parity only. */
template <int STATES>
struct Way
{
	static __device__ __forceinline__ typename PpMap<STATES>::Word
	vector(const PpFusedJob &, const PassShared<STATES> &sh, const PpStretch &s, uint64_t *)
	{
		return pp_states_vector<STATES>(sh.table, s);
	}

	static __device__ __forceinline__ void
	bits(const PpFusedJob &job, const PassShared<STATES> &sh, const PpStretch &s, uint32_t,
		 uint64_t, uint32_t *state, PpBits *b)
	{
		pp_states_bits<STATES>(job, sh.table, s, state, b);
	}

	/* Can a record end behind the text's last byte, in that state? */
	static __device__ __forceinline__ bool
	ends_open(const PpFusedJob &job, const PpStretch &, uint32_t state)
	{
		return (job.dfa.accept >> state & 1u) && state != job.dfa.start;
	}

	/*
	 * The thread whose stretch has the tile's first stop, if the tile does not
	 * start in a final state: what the automaton calls the state.
	 */
	static __device__ __forceinline__ void
	note_stop(const PpFusedJob &job, PassShared<STATES> &sh, const PpStretch &s,
			  uint32_t state, PpTilesHeader *header)
	{
		uint32_t	at = s.from > s.begin ? s.from : s.begin;

		for (; at < sh.stop; at++)
			state = PpMap<STATES>::apply(sh.table.row[s.bytes[at]], state);
		/* a final state is the last one, and nothing else leads to itself by all bytes */
		if (state + 1 != job.dfa.nstates)
			header->state = (uint32_t) (to_shared(sh.items, job.final_of)[group_of(job.dfa, s.bytes[sh.stop])] >>
										(4 * state)) & 15u;
	}
};

template <>
struct Way<PP_FUSED_PARITY>
{
	static __device__ __forceinline__ uint32_t
	vector(const PpFusedJob &job, const PassShared<PP_FUSED_PARITY> &, const PpStretch &s,
		   uint64_t *quotes)
	{
		const uint32_t pattern = job.dfa.quote * 0x01010101u;

		*quotes = pp_equal_word(s, 0, pattern) & pp_text_bits(s, 0);
		if (s.count > 32)
			*quotes |= pp_words(pp_equal_word(s, 1, pattern) & pp_text_bits(s, 1), 1);
		return (uint32_t) __popcll(*quotes) & 1u;
	}

	static __device__ __forceinline__ void
	bits(const PpFusedJob &job, const PassShared<PP_FUSED_PARITY> &, const PpStretch &s,
		 uint32_t base, uint64_t quotes, uint32_t *state, PpBits *b)
	{
		pp_parity_bits(job, s, base, quotes, state, b);
	}

	static __device__ __forceinline__ bool
	ends_open(const PpFusedJob &job, const PpStretch &s, uint32_t state)
	{
		uint32_t	before = s.bytes[(int32_t) s.text_end - 1];

		return state == 0 && before != job.eol && !(job.dfa.eol_len == 2 && before == '\r');
	}

	static __device__ __forceinline__ void
	note_stop(const PpFusedJob &, PassShared<PP_FUSED_PARITY> &, const PpStretch &,
			  uint32_t, PpTilesHeader *)
	{
	}
};

/* The automaton itself, for a few bytes of the text (parity: no other has it). */
__device__ __forceinline__ uint32_t
run_automaton(const PpFusedJob &job, uint64_t *room, uint32_t from, uint32_t to, uint32_t state)
{
	const uint64_t *row = to_shared(room, job.dfa.row);

	for (; from < to; from++)
		state = (uint32_t) (row[group_of(job.dfa, job.text[from])] >> (4 * state)) & 15u;
	return state;
}

/*
 * Parity: the automaton's state behind the bytes in front of position to, which
 * are outside quotes but maybe for the last of them; the record starts at
 * `start`.  Of more than three bytes, no end-of-data marker can be under way.
 */
__device__ __forceinline__ uint32_t
outside_state(const PpFusedJob &job, uint64_t *room, uint32_t start, uint32_t to, bool stopped)
{
	uint32_t	seen = to - stopped;
	uint32_t	state;

	if (seen - start <= 3)
		return run_automaton(job, room, start, to, job.dfa.start);
	state = job.dfa.eol_len == 2 && job.text[seen - 1] == '\r' ? 8 : 0;
	return run_automaton(job, room, seen, to, (uint32_t) (job.state_of >> state) & 15u);
}

/* Adds the warps' counts; in front of this one, and all. */
__device__ __forceinline__ uint32_t
add_counts(const uint32_t (&count)[WARPS], uint32_t *all)
{
	uint32_t	before = 0;
	uint32_t	sum = 0;

	PP_UNROLL
	for (uint32_t w = 0; w < WARPS; w++)
	{
		if (w == threadIdx.x / 32)
			before = sum;
		sum += count[w];
	}
	*all = sum;
	return before;
}

/*
 * The thread's fields to the list from entry `at` on.  Answers the control
 * bytes behind the last of them.
 */
__device__ __forceinline__ uint32_t
list_fields(const PpBits &b, uint32_t from, uint32_t at, uint16_t *list)
{
	uint32_t	trailing = 0;

	PP_UNROLL
	for (uint32_t h = 0; h < 2; h++)
	{
		uint32_t	control = pp_word(b.control, h);

		for (uint32_t left = pp_word(b.end, h); left != 0; left &= left - 1)
		{
			uint32_t	up_to = left ^ (left - 1);
			uint32_t	e = from + 32 * h + (uint32_t) (__ffs((int) left) - 1);

			if (pp_word(b.record, h) & left & (0 - left))
				e |= PP_END_RECORD;
			if (trailing != 0 || (control & up_to) != 0)
				e |= PP_END_CONTROL;
			list[at++] = (uint16_t) e;
			trailing = 0;
			control &= ~up_to;
		}
		trailing += (uint32_t) __popc(control);
	}
	return trailing;
}

__device__ __forceinline__ uint32_t
highest(uint64_t bits)
{
	return 63 - (uint32_t) __clzll((long long) bits);
}

/* All bits from byte number `stop` of the tile on are taken off. */
__device__ __forceinline__ void
cut_bits(PpBits *b, uint32_t from, uint32_t stop)
{
	uint64_t	left = stop <= from ? 0 : stop - from >= 64 ? ~(uint64_t) 0 :
		((uint64_t) 1 << (stop - from)) - 1;

	b->end &= left;
	b->record &= left;
	b->control &= left;
	b->quoting &= left;
}

/*
 * By which a record's last byte counts where records are to be empty: one
 * without a line end is not.
 */
__device__ __forceinline__ uint32_t
shape_at(const PpStretch &s, uint32_t at)
{
	return at == s.text_end ? at + 2 * PP_TILE_BEFORE : at;
}

/* Are the records behind the tile's first one as they have to be? */
template <int STATES>
__device__ __forceinline__ void
check_shape(const PpFusedJob &job, PassShared<STATES> &sh, const PpStretch &s, const PpBits &b,
			uint32_t fields, uint32_t k)
{
	PP_UNROLL
	for (uint32_t h = 0; h < 2; h++)
	{
		for (uint32_t left = pp_word(b.record, h); left != 0; left &= left - 1, k++)
		{
			uint32_t	below = (left ^ (left - 1)) >> 1;
			uint32_t	at = s.from + 32 * h + (uint32_t) __popc(below);
			uint32_t	e = fields + (uint32_t) __popc(pp_word(b.end, h) & below);
			bool		right = job.nfields > 0 ? e == sh.first + (uint64_t) k * job.nfields :
				shape_at(s, at) == shape_at(s, sh.first_at) + k * job.dfa.eol_len;

			if (!right)
				atomicMin(&sh.bad, k << BAD_BITS | at);
		}
		fields += (uint32_t) __popc(pp_word(b.end, h));
	}
}

/* Least and greatest number of fields, where they are not all right. */
__device__ __forceinline__ void
count_shapes(const uint16_t *list, uint32_t nends, uint32_t column, PpTilesHeader *header)
{
	for (uint32_t i = threadIdx.x; i < nends; i += PP_FUSED_THREADS)
		if (list[i] & PP_END_RECORD)
		{
			uint32_t	j = i;
			uint32_t	fields;

			while (j > 0 && !(list[j - 1] & PP_END_RECORD))
				j--;
			fields = i - j + 1 + (j == 0 ? column : 0);
			atomicMax(&header->least, NONE - fields);
			atomicMax(&header->greatest, fields);
		}
}

/*
 * One thread, when the tile's predecessors are known: what there is to tell of
 * the tile, and which of its list counts.  There are nends fields and nrecords
 * records in it.
 */
template <int STATES>
__device__ __forceinline__ void
judge(const PpFusedJob &job, PassShared<STATES> &sh, const PpTiles &t, const uint16_t *list,
	  uint32_t base, uint32_t nends, uint32_t nrecords, PpShape shape, const PpTileCounts &before)
{
	const uint32_t width = job.nfields > 0 ? job.nfields : 1;
	const bool	is_behind = (before.records & PP_COUNTS_STOPPED) != 0;
	const bool	counts = (before.records & (PP_COUNTS_STOPPED | PP_COUNTS_BAD)) == 0;
	const uint32_t record = before.records & PP_COUNTS_RECORDS;
	const uint32_t column = before.column & ~PP_COLUMN_ABSOLUTE;
	uint32_t	bad = sh.bad;
	uint32_t	good = nrecords;
	uint64_t	usable = 0;

	if (nrecords > 0 && pp_counts_disagree(shape, before, sh.own))
		bad = sh.first_at;
	sh.record = record;
	sh.column = column;
	sh.open = before.open;
	sh.is_behind = is_behind;
	sh.is_ragged = bad != NONE;

	if (counts && bad != NONE)
	{
		good = bad >> BAD_BITS;
		t.header->bad_end = base + (bad & COUNT_MASK);
		t.header->bad_record = record + good;
		t.header->bad_start = good == 0 ? before.record_start :
			base + (list[(uint64_t) good * width - 1 - column] & PP_END_POSITION) + 1;
		t.header->bad = 1;
	}
	if (counts)
	{
		/* fields of whole records, and of one to come, but not too many */
		usable = (uint64_t) (good + (bad == NONE)) * width;
		usable = usable > column ? usable - column : 0;
		if (job.room - 1 >= record && job.room - 1 - record < good)
			t.header->room_next = base + 1 +
				(list[(uint64_t) (job.room - record) * width - 1 - column] & PP_END_POSITION);
	}
	sh.nends = usable < nends ? (uint32_t) usable : nends;

	if (sh.stop != NONE && !is_behind)
	{
		t.header->stop = base + sh.stop;
		t.header->stopped = 1;
		if (STATES == PP_FUSED_PARITY)
			t.header->state = outside_state(job, sh.items, sh.own.record_start ? sh.own.record_start :
											before.record_start, base + sh.stop + 1, true);
	}
}

/* One thread of the last tile: the state at the end of the text. */
template <int STATES>
__device__ __forceinline__ void
judge_end(const PpFusedJob &job, PassShared<STATES> &sh, const PpTiles &t, const uint16_t *list, uint32_t i,
		  uint32_t base, uint32_t nends, const PpTileCounts &before)
{
	uint32_t	state = pp_load_acquire(&t.state_status[i]) >> PP_STATUS_BITS;

	if (STATES != PP_FUSED_PARITY)
		t.header->end_state = (uint32_t) (job.state_of >> (4 * state)) & 15u;
	else if (state != 0)
		t.header->end_state = (uint32_t) (job.state_of >> 4) & 15u;
	else
	{
		/* start of the record that is open, or not so far in front of n */
		uint32_t	at = nends;
		uint32_t	start = before.record_start;

		if (at > 0 && base + (list[at - 1] & PP_END_POSITION) == job.n)
			at--;
		for (uint32_t k = 0; at > 0; at--, k++)
		{
			if ((list[at - 1] & PP_END_RECORD) || k == 4)
			{
				start = base + (list[at - 1] & PP_END_POSITION) + 1;
				break;
			}
		}
		t.header->end_state = outside_state(job, sh.items, start, job.n, false);
	}
}

/* One thread, when all tiles are done: what the host has to know. */
__device__ __forceinline__ void
finish(const PpFusedJob &job, const PpTiles &t, uint32_t ntiles)
{
	const PpTilesHeader *h = t.header;
	const PpTileCounts all = pp_load_counts(&t.all[ntiles - 1]);
	const bool	is_open = all.open == job.n + 1;	/* behind a line end that is not there */
	const uint32_t total = h->bad ? h->bad_record : (all.records & PP_COUNTS_RECORDS) - is_open;
	PpStructureResult *r = &job.result->structure;

	r->full = total >= job.room;
	r->nrecords = r->full ? job.room : total;
	r->next = r->full ? h->room_next : h->bad ? h->bad_start : all.record_start;
	r->bad = !r->full && h->bad;
	if (r->bad)
	{
		r->bad_end = h->bad_end == job.n ? job.n : h->bad_end - (job.dfa.eol_len - 1);
		r->bad_next = h->bad_end == job.n ? job.n : h->bad_end + 1;
	}
	else if (is_open && !r->full)
	{
		r->nrecords++;
		r->next = job.n;
	}
	r->stop = h->stopped ? h->stop : job.n;
	r->state = h->stopped ? h->state : h->end_state;
	r->min_fields = NONE - h->least;
	r->max_fields = h->greatest;
}

/*
 * Blocks of a multiprocessor at least, which bounds their registers: 40 without
 * conversions, 64 with them, as on a device that has no more threads anyway.
 */
#define PASS_BLOCKS		4
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define PLAIN_BLOCKS	4
#else
#define PLAIN_BLOCKS	6
#endif

template <int STATES, bool CONVERT>
__global__ void __launch_bounds__(PP_FUSED_THREADS, CONVERT ? PASS_BLOCKS : PLAIN_BLOCKS)
pp_fused_pass(PpFusedJob job)
{
	typedef PpMap<STATES> Map;
	typedef Way<STATES> Find;

	PP_SHARED(PassShared<STATES>, sh);
	PP_DYNAMIC_SHARED(dynamic);
	uint8_t    *const bytes = dynamic + PP_TILE_BEFORE;
	uint16_t   *const list = reinterpret_cast<uint16_t *>(bytes + job.tile_bytes + PP_PAD);
	const uint32_t lane = threadIdx.x & 31u;
	const uint32_t warp = threadIdx.x / 32;
	PpStretch	s;
	PpBits		b;
	uint64_t	quotes = 0;
	uint32_t	i;
	uint32_t	base;
	uint32_t	before;			/* counts */
	uint32_t	own;
	uint32_t	all;
	uint32_t	trailing;

	if (threadIdx.x == 0)
	{
		sh.tile = atomicAdd(&job.result->ticket, 1u);
		sh.ntiles = pp_fused_tiles(job);
		sh.stop = sh.bad = NONE;
		sh.quoting = sh.control = 0;
		sh.first = sh.first_at = sh.last = sh.last_at = sh.last_end_at = 0;
	}
	copy_rows<STATES>(job, sh);
	__syncthreads();

	i = sh.tile;
	base = pp_tile_base(job, i);
	load_tile(job, i, bytes);
	make_table<STATES>(job, sh);
	s.bytes = bytes;
	s.count = job.tile_bytes / PP_FUSED_THREADS;
	s.from = threadIdx.x * s.count;
	s.begin = i == 0 ? pp_text_skew(job) : 0;
	s.text_end = job.n - base;
	s.end = s.text_end < job.tile_bytes ? s.text_end : job.tile_bytes;
	__syncthreads();

	/* the state in front of each thread's bytes */
	uint32_t	state;
	{
		typename Map::Word v = Find::vector(job, sh, s, &quotes);

		PP_UNROLL
		for (uint32_t d = 1; d < 32; d *= 2)
		{
			typename Map::Word earlier = __shfl_up_sync(ALL, v, d);

			if (lane >= d)
				v = Map::compose(earlier, v);
		}
		if (lane == 31)
			sh.warp_map[warp] = v;
		v = __shfl_up_sync(ALL, v, 1);
		if (lane == 0)
			v = Map::identity;
		__syncthreads();
		if (warp == 0)
		{
			typename Map::Word w = lane < WARPS ? sh.warp_map[lane] : Map::identity;
			typename Map::Word total;
			uint32_t	start;

			PP_UNROLL
			for (uint32_t d = 1; d < WARPS; d *= 2)
			{
				typename Map::Word earlier = __shfl_up_sync(ALL, w, d);

				if (lane >= d)
					w = Map::compose(earlier, w);
			}
			total = __shfl_sync(ALL, w, WARPS - 1);
			w = __shfl_up_sync(ALL, w, 1);
			if (lane == 0)
				w = Map::identity;
			start = pp_look_back_state<STATES>(pp_tiles(job.tiles, sh.ntiles), i, total,
											   STATES == PP_FUSED_PARITY ? 0 : job.dfa.start);
			if (lane < WARPS)
				sh.warp_state[lane] = Map::apply(w, start);
		}
		__syncthreads();
		state = Map::apply(v, sh.warp_state[warp]);
	}

	/* field and record ends */
	{
		uint32_t	start = state;

		Find::bits(job, sh, s, base, quotes, &state, &b);
		if (b.stop != PP_NO_STOP)
			atomicMin(&sh.stop, b.stop);
		/* the byte behind the text ends a last record */
		if (job.last && job.n > 0 && s.text_end - s.from < s.count && Find::ends_open(job, s, state))
		{
			b.end |= (uint64_t) 1 << (s.text_end - s.from);
			b.record |= (uint64_t) 1 << (s.text_end - s.from);
		}
		if (__syncthreads_or(b.stop != PP_NO_STOP))
		{
			if (b.stop == sh.stop)
				Find::note_stop(job, sh, s, start, header_of(job));
			cut_bits(&b, s.from, sh.stop);
		}
		if (__any_sync(ALL, b.quoting != 0) && lane == 0)
			atomicOr(&sh.quoting, 1u);
	}

	/* how many are in front of each thread's */
	own = (uint32_t) __popcll(b.record) << COUNT_BITS | (uint32_t) __popcll(b.end);
	before = own;
	PP_UNROLL
	for (uint32_t d = 1; d < 32; d *= 2)
	{
		uint32_t	earlier = __shfl_up_sync(ALL, before, d);

		if (lane >= d)
			before += earlier;
	}
	if (lane == 31)
		sh.warp_count[warp] = before;
	__syncthreads();
	before += add_counts(sh.warp_count, &all) - own;

	trailing = list_fields(b, s.from, before & COUNT_MASK, list);
	if ((own & COUNT_MASK) != 0 && ((before + own) & COUNT_MASK) == (all & COUNT_MASK))
		sh.last_end_at = s.from + highest(b.end);
	if (own >> COUNT_BITS != 0)
	{
		if (before >> COUNT_BITS == 0)
		{
			uint64_t	below = (b.record ^ (b.record - 1)) >> 1;

			sh.first = (before & COUNT_MASK) + (uint32_t) __popcll(b.end & below);
			sh.first_at = s.from + (uint32_t) __popcll(below);
		}
		if ((before + own) >> COUNT_BITS == all >> COUNT_BITS)
		{
			uint32_t	at = highest(b.record);

			sh.last = (before & COUNT_MASK) +
				(uint32_t) __popcll(b.end & (((uint64_t) 1 << at) - 1));
			sh.last_at = s.from + at;
		}
	}
	__syncthreads();

	/* control bytes of fields that end in a later thread's bytes, or tile */
	if (trailing != 0)
	{
		uint32_t	at = (before + own) & COUNT_MASK;

		if (at == (all & COUNT_MASK))
			atomicAdd(&sh.control, trailing);
		else
			atomicOr(reinterpret_cast<uint32_t *>(list) + at / 2,
					 at % 2 ? PP_END_CONTROL << 16 : PP_END_CONTROL);
	}
	check_shape(job, sh, s, b, before & COUNT_MASK, before >> COUNT_BITS);
	__syncthreads();

	/* what is in front of the tile */
	if (warp == 0)
	{
		const PpTiles t = pp_tiles(job.tiles, sh.ntiles);
		const uint32_t nends = all & COUNT_MASK;
		const uint32_t nrecords = all >> COUNT_BITS;
		PpShape		shape;

		shape.nfields = job.nfields;
		shape.eol_len = job.dfa.eol_len;
		if (lane == 0)
		{
			sh.own.records = nrecords | (sh.stop != NONE ? PP_COUNTS_STOPPED : 0) |
				(sh.bad != NONE ? PP_COUNTS_BAD : 0);
			sh.own.column = nrecords > 0 ? (nends - 1 - sh.last) | PP_COLUMN_ABSOLUTE : nends;
			sh.own.open = nends > 0 ? base + sh.last_end_at + 1 : 0;
			sh.own.record_start = nrecords > 0 ? base + sh.last_at + 1 : 0;
			sh.own.control = sh.control;
			sh.own.first = job.nfields > 0 ? sh.first : base + shape_at(s, sh.first_at);
		}
		pp_look_back_counts(t, i, shape, sh.own, &sh.earlier);
		if (lane == 0)
		{
			judge<STATES>(job, sh, t, list, base, nends, nrecords, shape, sh.earlier);
			/* the field that ends first has control bytes in front of the tile */
			if (sh.earlier.control != 0 && nends > 0)
				list[0] |= PP_END_CONTROL;
			if (i == sh.ntiles - 1)
				judge_end<STATES>(job, sh, t, list, i, base, nends, sh.earlier);
		}
	}
	__syncthreads();

	if (!sh.is_behind)
	{
		if (threadIdx.x == 0 && sh.quoting != 0)
			atomicOr(&job.result->structure.quotes, 1u);
		if (all >> COUNT_BITS != 0)
		{
			if (sh.is_ragged)
				count_shapes(list, all & COUNT_MASK, sh.column, header_of(job));
			else if (threadIdx.x == 0)
			{
				uint32_t	width = job.nfields > 0 ? job.nfields : 1;

				atomicMax(&header_of(job)->least, NONE - width);
				atomicMax(&header_of(job)->greatest, width);
			}
		}
	}

	/* what is made of them */
	if (sh.nends > 0 && sh.record < job.room)
	{
		PpTile		tile;

		tile.bytes = bytes;
		tile.end = list;
		tile.text = job.text;
		tile.base = base;
		tile.n = job.n;
		tile.eol_len = job.dfa.eol_len;
		tile.width = job.nfields > 0 ? job.nfields : 1;
		tile.nends = sh.nends;
		tile.record = sh.record;
		tile.column = sh.column;
		tile.open = sh.open;
		if (job.end != nullptr)
		{
			const uint64_t first = (uint64_t) tile.record * tile.width + tile.column;
			const uint64_t room = (uint64_t) job.room * tile.width;

			for (uint32_t e = threadIdx.x; e < tile.nends; e += PP_FUSED_THREADS)
			{
				uint32_t	start,
							stop;

				pp_tile_field(tile, e, &start, &stop);
				if (first + e < room)
					job.end[first + e] = stop;
			}
		}
		if (CONVERT)
			pp_tile_convert(tile, job, sh.convert);
	}
	__syncthreads();
	if (threadIdx.x == 0 && pp_add_acq_rel(&header_of(job)->done, 1u) == sh.ntiles - 1)
		finish(job, pp_tiles(job.tiles, sh.ntiles), sh.ntiles);
}

typedef void (*Pass) (PpFusedJob);

template <bool CONVERT>
Pass
pass_of(PpFusedStates states)
{
	switch (states)
	{
		case PP_FUSED_PARITY:
			return pp_fused_pass<PP_FUSED_PARITY, CONVERT>;
		case PP_FUSED_STATES_8:
			return pp_fused_pass<PP_FUSED_STATES_8, CONVERT>;
		default:
			return pp_fused_pass<PP_FUSED_STATES_16, CONVERT>;
	}
}

/* Dynamic shared memory: a tile's text and the list of its fields. */
constexpr size_t
dynamic_bytes(uint32_t tile_bytes)
{
	return PP_TILE_BEFORE + (size_t) tile_bytes + PP_PAD + sizeof(uint16_t) * (size_t) tile_bytes;
}

/* What there is of shared memory without asking for more. */
constexpr size_t SHARED_UNASKED = 49152;

}								/* namespace */

uint32_t
pp_fused_best_tile(size_t multiprocessor, size_t block, size_t reserved)
{
	const size_t bytes = dynamic_bytes(PP_FUSED_MAX_TILE) + sizeof(PassShared<PP_FUSED_STATES_16>);

	return bytes <= block && PASS_BLOCKS * (bytes + reserved) <= multiprocessor ? PP_FUSED_MAX_TILE :
		PP_FUSED_TILE;
}

size_t
pp_fused_tiles_bytes(uint32_t n, uint32_t tile_bytes)
{
	/* the text may begin up to 15 bytes behind the first tile's start */
	const size_t ntiles = ((size_t) n + 15) / tile_bytes + 1;

	return sizeof(PpTilesHeader) + ntiles * (2 * sizeof(uint32_t) + sizeof(uint64_t) +
											 2 * sizeof(PpTileCounts));
}

cudaError_t
pp_fused_parse(const PpFusedJob *job, PpStageClock *clock, cudaStream_t stream)
{
	const bool	convert = job->ncolumns > 0;
	const Pass	pass = convert ? pass_of<true>(job->states) : pass_of<false>(job->states);
	const size_t shared = dynamic_bytes(job->tile_bytes);
	uint32_t	ntiles;
	cudaError_t error;

	if (job->n >= PP_PAPER_MAX_BYTES || job->room < 1 || job->tile_bytes < PP_FUSED_MIN_TILE ||
		job->tile_bytes > PP_FUSED_MAX_TILE || job->tile_bytes % PP_FUSED_MIN_TILE != 0)
		return cudaErrorInvalidValue;
	ntiles = pp_fused_tiles(*job);
	if (shared + sizeof(PassShared<PP_FUSED_STATES_16>) > SHARED_UNASKED)
	{
		error = cudaFuncSetAttribute(pass, cudaFuncAttributeMaxDynamicSharedMemorySize, (int) shared);
		if (error != cudaSuccess)
			return error;
	}
	pp_stage(clock, PP_STAGE_PARSE, stream);
	error = cudaMemsetAsync(job->tiles, 0, sizeof(PpTilesHeader) + ntiles * 2 * sizeof(uint32_t), stream);
	if (error != cudaSuccess)
		return error;
	pp_stage(clock, PP_STAGE_PARSE, stream);
	error = cudaMemsetAsync(job->result, 0, sizeof(PpFusedResult), stream);
	if (error != cudaSuccess)
		return error;
	pp_stage(clock, PP_STAGE_PARSE, stream);
	PP_LAUNCH(pass, ntiles, PP_FUSED_THREADS, shared, stream, *job);
	return pp_launch_error();
}

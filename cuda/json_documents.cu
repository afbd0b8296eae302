/*
 * cuda/json_documents.cu
 *	  Documents of JSON, text to records: one pass over tiles of text, which
 *	  tells strings from what is outside of them, follows the depth, finds what
 *	  separates records, and walks each record.
 *
 * Whether a tile begins in a string, and how deep, is a chained scan with
 * decoupled look-back (Merrill and Garland): a tile publishes, for each of the
 * three states in which it may begin (outside, in a string, behind a backslash
 * there), the state at its end and how the depth moves; from the nearest tile
 * whose end is known, these are applied one after the other.  A second such scan
 * counts records, and tells where the last separator stands, behind which the
 * tile's first record begins.
 *
 * The text begins behind a separator: at level 1 in an outermost array, whose
 * commas separate, up to its end; at level 0 between outermost values, whose
 * closing brackets do, up to the first array, which is to be unpacked.  There
 * the limit is: what stands behind it is looked at, but means nothing.  That
 * goes for all behind a record that is not accepted, too: strings and depth are
 * right as long as records are.
 */
#include "json_tile.h"

namespace
{

constexpr uint32_t THREADS = PP_JSON_THREADS;
constexpr uint32_t WARPS = PP_JSON_WARPS;
constexpr uint32_t FULL = 0xffffffffu;
constexpr uint32_t GROUPS = PP_JSON_MAX_TILE / 16;

#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 800 || __CUDA_ARCH__ >= 1000)
constexpr uint32_t BLOCKS = 8;
#else
constexpr uint32_t BLOCKS = 12;
#endif

/* In which a stretch of text may begin, or end. */
constexpr uint32_t OUTSIDE = 0;
constexpr uint32_t INSIDE = 1;
constexpr uint32_t ESCAPED = 2;

/*
 * Of each of these, 18 bits of a word: the state at the end, and by how much the
 * depth moves (a tile has less than 2^15 bytes).  Above, what a tile tells:
 * nothing yet, that, or the state and the depth at its end as they are.
 */
constexpr uint64_t EFFECT = UINT64_C(1) << 62;
constexpr uint64_t KNOWN = UINT64_C(1) << 63;

/* The other scan: how many records end, 30 bits, and one more than the last
 * separator's position; of the tile, or of all up to it. */
constexpr uint64_t COUNTED = UINT64_C(1) << 62;
constexpr uint64_t SUMMED = UINT64_C(1) << 63;

struct Shared
{
	uint64_t	effect[WARPS];
	uint64_t	before;			/* the second scan's answer */
	uint16_t	quote[GROUPS];	/* bits of 16 bytes */
	uint16_t	backslash[GROUPS];
	uint16_t	open[GROUPS];
	uint16_t	close[GROUPS];
	uint16_t	comma[GROUPS];	/* in the end, separators */
	uint32_t	count[WARPS];
	uint32_t	tile;
	uint32_t	state;			/* at the tile's beginning */
	int32_t		depth;
	uint32_t	last;			/* separator, as above */
};

/* The tile's text; spaces behind its end. */
__device__ __forceinline__ void
load_tile(const PpJsonJob &job, Shared &shared, unsigned char *text, uint32_t base)
{
	for (uint32_t i = 16 * threadIdx.x; i < job.tile_bytes; i += 16 * THREADS)
	{
		uint4		v = pp_json_load_16(job, base + i, ' ');

		*reinterpret_cast<uint4 *>(text + i) = v;
		shared.quote[i / 16] = (uint16_t) pp_json_equal_16(v, '"' * 0x01010101u);
		shared.backslash[i / 16] = (uint16_t) pp_json_equal_16(v, '\\' * 0x01010101u);
		shared.comma[i / 16] = (uint16_t) pp_json_equal_16(v, ',' * 0x01010101u);
		/* '[' and ']' become '{' and '}', and nothing else does */
		v.x |= 0x20202020u;
		v.y |= 0x20202020u;
		v.z |= 0x20202020u;
		v.w |= 0x20202020u;
		shared.open[i / 16] = (uint16_t) pp_json_equal_16(v, '{' * 0x01010101u);
		shared.close[i / 16] = (uint16_t) pp_json_equal_16(v, '}' * 0x01010101u);
	}
}

/*
 * Bits of a group that are in strings, opening quotes included, if it begins
 * outside; *escaping is whether its first byte is escaped, then that of the next
 * group; *quotes are those that are not.  As json_kernel_impl.h does it.
 */
__device__ __forceinline__ uint32_t
strings(const Shared &shared, uint32_t i, uint32_t *escaping, uint32_t *quotes)
{
	const uint32_t backslash = shared.backslash[i];
	uint32_t	x = shared.quote[i];

	if ((backslash | *escaping) != 0)
	{
		const uint32_t runs = backslash & ~*escaping;
		const uint32_t codes = ((((runs << 1) | 0xaaaau) - runs) ^ 0xaaaau) & 0xffffu;

		x &= ~(codes ^ (backslash | *escaping));
		*escaping = (codes & backslash) >> 15;
	}
	*quotes = x;
	x ^= x << 1;
	x ^= x << 2;
	x ^= x << 4;
	x ^= x << 8;
	return x & 0xffffu;
}

__device__ __forceinline__ uint64_t
pack(uint32_t state, uint32_t stop, int32_t delta)
{
	return (uint64_t) (stop | (uint32_t) (uint16_t) delta << 2) << (18 * state);
}

__device__ __forceinline__ uint32_t
stop_of(uint64_t effect, uint32_t state)
{
	return (uint32_t) (effect >> (18 * state)) & 3;
}

__device__ __forceinline__ int32_t
delta_of(uint64_t effect, uint32_t state)
{
	return (int16_t) (uint16_t) (effect >> (18 * state + 2));
}

/* Of no bytes. */
__device__ __forceinline__ uint64_t
nothing(void)
{
	return pack(INSIDE, INSIDE, 0) | pack(ESCAPED, ESCAPED, 0);
}

/* a, then b. */
__device__ __forceinline__ uint64_t
compose(uint64_t a, uint64_t b)
{
	uint64_t	r = 0;

	for (uint32_t s = 0; s < 3; s++)
	{
		const uint32_t middle = stop_of(a, s);

		r |= pack(s, stop_of(b, middle), delta_of(a, s) + delta_of(b, middle));
	}
	return r;
}

/* The state behind a stretch that begins in a string or not. */
__device__ __forceinline__ uint32_t
state_of(uint32_t inside, uint32_t escaping)
{
	return inside == 0 ? OUTSIDE : escaping != 0 ? ESCAPED : INSIDE;
}

/* The effect of the thread's groups. */
__device__ __forceinline__ uint64_t
own_effect(const Shared &shared, uint32_t first, uint32_t groups)
{
	uint64_t	r = 0;

	/* an escaped first byte matters if it is a quote or a backslash */
	for (uint32_t from = 0; from < 2; from++)
	{
		uint32_t	escaping = from;
		uint32_t	inside = 0;	/* in a string, if begun outside */
		int32_t		outer = 0;
		int32_t		inner = 0;

		if (from == 1 && ((shared.quote[first] | shared.backslash[first]) & 1) == 0)
			return r | pack(ESCAPED, stop_of(r, INSIDE), delta_of(r, INSIDE));
		for (uint32_t i = first; i < first + groups; i++)
		{
			uint32_t	quotes;
			const uint32_t x = strings(shared, i, &escaping, &quotes) ^ (0u - inside);
			const uint32_t open = shared.open[i];
			const uint32_t close = shared.close[i];

			inside ^= (uint32_t) __popc(quotes) & 1;
			outer += __popc(open & ~x) - __popc(close & ~x);
			inner += __popc(open & x) - __popc(close & x);
		}
		if (from == 0)
			r = pack(OUTSIDE, state_of(inside, escaping), outer) |
				pack(INSIDE, state_of(inside ^ 1, escaping), inner);
		else
			r |= pack(ESCAPED, state_of(inside ^ 1, escaping), inner);
	}
	return r;
}

/* The effect of the threads in front, and of all. */
__device__ __forceinline__ uint64_t
scan_effects(Shared &shared, uint64_t own, uint64_t *all)
{
	const uint32_t lane = threadIdx.x % 32;
	uint64_t	sum = own;
	uint64_t	before = nothing();
	uint64_t	up;

	for (uint32_t d = 1; d < 32; d *= 2)
	{
		const uint64_t other = __shfl_up_sync(FULL, sum, d);

		if (lane >= d)
			sum = compose(other, sum);
	}
	if (lane == 31)
		shared.effect[threadIdx.x / 32] = sum;
	up = __shfl_up_sync(FULL, sum, 1);
	__syncthreads();
	*all = nothing();
	for (uint32_t w = 0; w < WARPS; w++)
	{
		if (w == threadIdx.x / 32)
			before = *all;
		*all = compose(*all, shared.effect[w]);
	}
	return lane == 0 ? before : compose(before, up);
}

/* State and depth where the tile begins; by a warp. */
__device__ __forceinline__ void
look_back_depth(const PpJsonJob &job, uint32_t tile, uint64_t own, uint32_t *state, int32_t *depth)
{
	const uint32_t lane = threadIdx.x % 32;
	uint64_t   *tiles = job.states;

	*state = OUTSIDE;
	*depth = (int32_t) job.level;
	if (tile > 0)
	{
		uint64_t	word;
		uint32_t	known;

		if (lane == 0)
			pp_store_relaxed(&tiles[2 * tile], EFFECT | own);
		for (;;)
		{
			word = KNOWN;
			if (lane < tile)
				while ((word = pp_load_acquire(&tiles[2 * (tile - 1 - lane)])) == 0)
					pp_pause();
			known = __ballot_sync(FULL, lane < tile && (word & KNOWN) != 0);
			if (known != 0)
				break;
			pp_pause();
		}
		known = (uint32_t) __ffs((int) known) - 1;
		for (uint32_t k = known + 1; k-- > 0;)
		{
			const uint64_t w = __shfl_sync(FULL, word, (int) k);

			if (k == known)
			{
				*state = (uint32_t) w & 3;
				*depth = (int32_t) (uint32_t) (w >> 2);
			}
			else
			{
				*depth += delta_of(w, *state);
				*state = stop_of(w, *state);
			}
		}
	}
	if (lane == 0)
		pp_store_relaxed(&tiles[2 * tile], KNOWN | stop_of(own, *state) |
						 (uint64_t) (uint32_t) (*depth + delta_of(own, *state)) << 2);
}

__device__ __forceinline__ uint64_t
add_counts(uint64_t a, uint64_t b)
{
	const uint64_t last = UINT64_C(0x3fffffff) << 30;
	const uint64_t x = a & last;
	const uint64_t y = b & last;

	return (x > y ? x : y) | (uint32_t) ((a + b) & 0x3fffffffu);
}

/* Records in front of the tile, and the last separator; by a warp. */
__device__ __forceinline__ uint64_t
look_back_records(const PpJsonJob &job, uint32_t tile, uint64_t own)
{
	const uint32_t lane = threadIdx.x % 32;
	uint64_t   *tiles = job.states;
	uint64_t	before = 0;

	if (lane == 0 && tile > 0)
		pp_store_relaxed(&tiles[2 * tile + 1], COUNTED | own);
	for (uint32_t next = tile; next > 0;)
	{
		uint64_t	word = SUMMED;	/* in front of the first tile are none */
		uint32_t	summed;

		if (lane < next)
			while ((word = pp_load_acquire(&tiles[2 * (next - 1 - lane) + 1])) == 0)
				pp_pause();
		summed = __ballot_sync(FULL, (word & SUMMED) != 0);
		if (summed != 0 && lane > (uint32_t) __ffs((int) summed) - 1)
			word = 0;
		word &= COUNTED - 1;
		for (uint32_t d = 16; d > 0; d /= 2)
			word = add_counts(word, __shfl_xor_sync(FULL, word, d));
		before = add_counts(before, word);
		next = summed != 0 || next < 32 ? 0 : next - 32;
	}
	if (lane == 0)
		pp_store_relaxed(&tiles[2 * tile + 1], SUMMED | add_counts(before, own));
	return before;
}

/*
 * Separators in the thread's groups, to shared.comma; answers their number.
 * *limit is where the limit stands, if it is among them or next to them, and
 * *limited how many there are up to it.
 */
__device__ __forceinline__ uint32_t
find_separators(const PpJsonJob &job, Shared &shared, uint32_t first, uint32_t groups,
				uint32_t state, int32_t depth, uint32_t *limit, uint32_t *limited)
{
	const int32_t level = (int32_t) job.level;
	uint32_t	escaping = state == ESCAPED;
	uint32_t	inside = state != OUTSIDE;
	uint32_t	count = 0;

	*limit = PP_JSON_NOWHERE;
	*limited = 0;
	for (uint32_t i = first; i < first + groups; i++)
	{
		uint32_t	quotes;
		const uint32_t outside = ~(strings(shared, i, &escaping, &quotes) ^ (0u - inside));
		const uint32_t open = shared.open[i] & outside;
		const uint32_t close = shared.close[i] & outside;
		uint32_t	left = open | close | (shared.comma[i] & outside);
		uint32_t	found = 0;

		inside ^= (uint32_t) __popc(quotes) & 1;
		for (; left != 0; left &= left - 1)
		{
			const uint32_t bit = left & (0u - left);
			bool		separates = false;
			bool		ends = false;

			if ((open & bit) != 0)
			{
				/* what kind it is, who finds the limit looks at */
				ends = depth == 0;
				depth++;
			}
			else if ((close & bit) != 0)
			{
				ends = depth == (level == 0 ? 0 : 1);
				separates = depth == 1;
				depth--;
			}
			else
				separates = level == 1 && depth == 1;
			if (separates)
			{
				found |= bit;
				count++;
			}
			if (ends && *limit == PP_JSON_NOWHERE)
			{
				const uint32_t at = 16 * i + (uint32_t) __ffs((int) bit) - 1;

				/* at level 0, an object is what is wanted */
				if ((open & bit) == 0 || job.text[shared.tile * job.tile_bytes + at] == '[')
				{
					*limit = at;
					*limited = count;
				}
			}
		}
		shared.comma[i] = (uint16_t) found;
	}
	return count;
}

template <bool ON_CHIP>
__global__ void
__launch_bounds__(THREADS, BLOCKS)
documents_kernel(PpJsonJob job)
{
	PP_SHARED(Shared, shared);
	PP_DYNAMIC_SHARED(text);
	const PpJsonNodes nodes = pp_json_nodes<ON_CHIP>(job, text);
	const uint32_t groups = job.tile_bytes / (16 * THREADS);	/* of a thread */
	const uint32_t ntiles = (job.n + job.tile_bytes - 1) / job.tile_bytes;
	const uint32_t mine = threadIdx.x * groups;
	uint64_t	effect,
				all;
	uint32_t	base,
				own,
				before,
				count,
				first,
				limit,
				limited,
				state;
	int32_t		depth;

	if (threadIdx.x == 0)
	{
		shared.tile = atomicAdd(&job.result->ticket, 1u);
		shared.last = 0;
	}
	__syncthreads();
	base = shared.tile * job.tile_bytes;
	load_tile(job, shared, text, base);
	__syncthreads();

	effect = scan_effects(shared, own_effect(shared, mine, groups), &all);
	if (threadIdx.x < 32)
	{
		look_back_depth(job, shared.tile, all, &state, &depth);
		if (threadIdx.x == 0)
		{
			shared.state = state;
			shared.depth = depth;
		}
	}
	__syncthreads();
	state = shared.state;
	depth = shared.depth + delta_of(effect, state);
	state = stop_of(effect, state);
	own = find_separators(job, shared, mine, groups, state, depth, &limit, &limited);
	for (uint32_t k = groups; k-- > 0;)
		if (shared.comma[mine + k] != 0)
		{
			atomicMax(&shared.last, base + 16 * (mine + k) + 32 - (uint32_t) __clz((int) shared.comma[mine + k]));
			break;
		}
	before = pp_json_sum_block(shared.count, own, &count);
	if (threadIdx.x < 32)
	{
		const uint64_t sum = look_back_records(job, shared.tile, (uint64_t) shared.last << 30 | count);

		if (threadIdx.x == 0)
		{
			shared.before = sum;
			if (shared.tile == ntiles - 1)
			{
				const uint32_t last = (uint32_t) (sum >> 30);

				job.result->nrecords = (uint32_t) (sum & 0x3fffffffu) + count;
				job.result->lines_end = shared.last > last ? shared.last : last;
			}
		}
	}
	__syncthreads();
	first = (uint32_t) (shared.before & 0x3fffffffu);
	if (limit != PP_JSON_NOWHERE)
		atomicMax(&job.result->limit, ~((unsigned long long) (base + limit) << 32 | (first + before + limited)));

	/* where records end */
	for (uint32_t k = 0, r = first + before; k < groups; k++)
		r = pp_json_note_ends(job, shared.comma[mine + k], base + 16 * (mine + k), r);
	__syncthreads();

	for (uint32_t k = threadIdx.x; k < count && first + k < job.room; k += THREADS)
	{
		const uint32_t r = first + k;
		const uint32_t start = k == 0 ? (uint32_t) (shared.before >> 30) : job.end[r - 1] + 1 - job.begin;
		const uint32_t separator = job.end[r] - job.begin;
		const uint32_t stop = separator + (job.level == 0);

		if ((job.level == 1 && text[separator - base] == '}') ||
			!pp_json_accepts(job, nodes, text, base, start, stop - start, r))
			atomicMax(&job.result->refused, ~r);
	}
}

}								/* namespace */

cudaError_t
pp_json_documents_run(const PpJsonJob *job, PpStageClock *clock, cudaStream_t stream)
{
	uint32_t	ntiles;
	cudaError_t e;

	if (job->n == 0 || !pp_json_is_tile(job->tile_bytes))
		return cudaErrorInvalidValue;
	ntiles = (job->n + job->tile_bytes - 1) / job->tile_bytes;
	e = pp_json_begin_pass(job, job->states, ntiles * 2 * sizeof(uint64_t), clock, stream);
	if (e != cudaSuccess)
		return e;
	if (job->table_bytes <= PP_JSON_TABLE)
		PP_LAUNCH(documents_kernel<true>, dim3(ntiles), dim3(THREADS), job->tile_bytes + job->table_bytes, stream, *job);
	else
		PP_LAUNCH(documents_kernel<false>, dim3(ntiles), dim3(THREADS), job->tile_bytes, stream, *job);
	return pp_launch_error();
}

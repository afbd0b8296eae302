/*
 * cuda/json_column.cu
 *	  Values of JSON to columns: as json_convert.c does it on the CPU, one thread
 *	  a value.
 *
 * A warp sums up the room that its values by reference need and takes it from
 * the heap at once; what was wanted is counted even where the heap has no room
 * for it, so that the driver can run the step again with a larger one.  Long
 * strings without escapes are copied by the whole warp.
 *
 * Strings with escapes become texts in their place; those of other types are
 * written behind the value's room first, and converted from there.
 */
#include "json_walk.h"

#include "../src/parse/convert.h"

namespace
{

constexpr uint32_t THREADS = 128;
constexpr uint32_t FULL = 0xffffffffu;

/* A thread copies shorter strings by itself. */
constexpr uint32_t ALONE = 48;

/* What is to be done with a value. */
enum Work
{
	WORK_NONE,					/* its state is known */
	WORK_VALUE,					/* by value */
	WORK_REFERENCE,
	WORK_COPY,					/* a text as it stands, behind its header */
	WORK_UNESCAPE				/* a text, whose escapes are resolved */
};

/* A string's characters; answers their number. */
__device__ __forceinline__ uint32_t
unescape(const uint8_t *src, uint32_t n, uint8_t *dst)
{
	const uint8_t *stop = src + n;
	uint8_t    *out = dst;

	while (src < stop)
	{
		if (*src == '\\')
			src = pp_json_escape(src, &out);
		else
			*out++ = *src++;
	}
	return (uint32_t) (out - dst);
}

/* Copies n bytes, by a warp; dst is a multiple of 4, and so is its room. */
__device__ __forceinline__ void
copy_by_warp(uint8_t *dst, const uint8_t *src, uint32_t n)
{
	const uint32_t odd = (uint32_t) (reinterpret_cast<uintptr_t>(src) % 4);
	const uint8_t *words = src - odd;

	for (uint32_t i = 4 * (threadIdx.x % 32); i < n; i += 128)
	{
		uint32_t	v = pp_load4(words + i);

		if (odd != 0)
			v = v >> (8 * odd) | pp_load4(words + i + 4) << (32 - 8 * odd);
		*reinterpret_cast<uint32_t *>(dst + i) = v;
	}
}

/*
 * What becomes of a value whose text is raw[0 .. n), and the state if that is
 * known; raw and n are narrowed to the characters of a string.
 */
__device__ __forceinline__ Work
plan(const PpJsonDeviceColumn &column, uint32_t charset, bool escapes,
	 const uint8_t **raw, uint32_t *n, PpState *state)
{
	const PpType type = column.col.type;
	const bool	whole_text = type == PP_TEXT || (type == PP_VARCHAR && column.col.mod < 0);

	/* of values, only null begins with n */
	if (*n == 0 || (**raw == 'n' && !column.whole))
	{
		*state = column.col.flags & PP_COL_NULL_DEFERS ? PP_DEFERRED : PP_NULL;
		return WORK_NONE;
	}
	*state = PP_DEFERRED;
	if (type == PP_DEFER)
		return WORK_NONE;
	if (**raw == '"')
	{
		if (escapes && (charset || (column.as_json && !column.whole)))
			return WORK_NONE;
		if (!column.as_json)
		{
			*raw += 1;
			*n -= 2;
		}
	}
	*state = PP_VALUE;
	if (!pp_type_by_reference(type))
		return WORK_VALUE;
	if (whole_text)
		return escapes && !column.as_json ? WORK_UNESCAPE : WORK_COPY;
	if (pp_convert_room(&column.col, *n) <= PP_JSON_VALUE_ROOM)
		return WORK_REFERENCE;
	*state = PP_DEFERRED;
	return WORK_NONE;
}

/* Room in the heap for the lanes' values; all lanes come by. */
__device__ __forceinline__ uint64_t
take_room(PpJsonResult *result, uint32_t room)
{
	const uint32_t lane = threadIdx.x % 32;
	uint32_t	sum = room;
	unsigned long long first = 0;

	for (uint32_t d = 1; d < 32; d *= 2)
	{
		uint32_t	other = __shfl_up_sync(FULL, sum, d);

		if (lane >= d)
			sum += other;
	}
	if (lane == 31 && sum > 0)
		first = atomicAdd(&result->heap_bytes, (unsigned long long) sum);
	first = __shfl_sync(FULL, first, 31);
	return first + sum - room;
}

struct Columns
{
	PpJsonColumnsJob job;
	const uint8_t *text;		/* less its first byte's position: what a place counts
								 * from */
	const uint2 *place;
	uint32_t	room;
	PpJsonResult *result;
};

__global__ void
__launch_bounds__(THREADS)
columns_kernel(Columns c)
{
	const uint32_t row = blockIdx.x * THREADS + threadIdx.x;
	PP_SHARED(PpJsonDeviceColumn, column);
	const size_t i = (size_t) blockIdx.y * c.job.nrows + row;
	const bool	mine = row < c.job.nrows;
	const uint8_t *raw = c.text;
	uint32_t	n = 0;
	uint32_t	room = 0;
	uint32_t	own = 0;		/* of the room, what the value itself has */
	uint64_t	value = 0;
	bool		escapes = false;
	PpState		state = PP_NULL;
	Work		work = WORK_NONE;
	uint8_t    *dst;
	uint32_t	lanes;

	if (threadIdx.x == 0)
		column = c.job.column[blockIdx.y];
	__syncthreads();
	if (mine)
	{
		const uint32_t r = c.job.selected != nullptr ? c.job.selected[row] : row;
		const uint2 place = c.place[(size_t) column.place * c.room + r];

		raw += place.x;
		n = (place.y & ~PP_JSON_ESCAPES) - place.x;
		escapes = (place.y & PP_JSON_ESCAPES) != 0;
		work = plan(column, c.job.charset, escapes, &raw, &n, &state);
		if (work == WORK_REFERENCE)
			own = ((uint32_t) pp_convert_room(&column.col, n) + 7) / 8 * 8;
		else if (work == WORK_COPY || work == WORK_UNESCAPE)
			own = (n + 4 + 7) / 8 * 8;
		escapes &= work == WORK_VALUE || work == WORK_REFERENCE;
		room = own + (escapes ? (n + 7) / 8 * 8 : 0);
	}
	value = take_room(c.result, room);
	dst = c.job.heap + value;
	if (room > 0 && value + room > c.job.heap_room)
	{
		/* this step is going to be run again */
		work = WORK_NONE;
		state = PP_DEFERRED;
	}

	lanes = __ballot_sync(FULL, work == WORK_COPY && n > ALONE);
	while (lanes != 0)
	{
		const int	lane = __ffs((int) lanes) - 1;
		const uint64_t to = __shfl_sync(FULL, value, lane);
		const uint64_t from = __shfl_sync(FULL, (uint64_t) (uintptr_t) raw, lane);
		const uint32_t len = __shfl_sync(FULL, n, lane);

		copy_by_warp(c.job.heap + to + 4, reinterpret_cast<const uint8_t *>((uintptr_t) from), len);
		lanes &= lanes - 1;
	}

	if (escapes && work != WORK_NONE)
	{
		n = unescape(raw, n, dst + own);
		raw = dst + own;
	}
	if (work == WORK_VALUE)
	{
		if (!pp_convert_value(&column.col, c.job.env, raw, n, &value))
			state = PP_DEFERRED;
	}
	else if (work == WORK_REFERENCE)
	{
		if (pp_convert_reference(&column.col, c.job.env, raw, n, dst) == 0)
			state = PP_DEFERRED;
		value += c.job.host_heap;
	}
	else if (work == WORK_COPY || work == WORK_UNESCAPE)
	{
		if (work == WORK_UNESCAPE)
			n = unescape(raw, n, dst + 4);
		else if (n <= ALONE)
			pp_copy(dst + 4, raw, n);
		*reinterpret_cast<uint32_t *>(dst) = (n + 4) << 2;
		value += c.job.host_heap;
	}
	if (mine)
	{
		c.job.value[i] = state == PP_VALUE ? value : 0;
		c.job.state[i] = (uint8_t) state;
	}
	lanes = __ballot_sync(FULL, mine && state == PP_DEFERRED);
	if (threadIdx.x % 32 == 0 && lanes != 0)
		atomicAdd(&c.job.ndeferred[blockIdx.y], (uint32_t) __popc(lanes));
}

__global__ void
__launch_bounds__(THREADS)
gather_kernel(const uint64_t *value, const uint8_t *state, uint32_t nrecords,
			  const uint32_t *selected, uint32_t nrows, uint64_t *out_value, uint8_t *out_state)
{
	const uint32_t row = blockIdx.x * THREADS + threadIdx.x;

	if (row < nrows)
	{
		const size_t from = (size_t) blockIdx.y * nrecords + selected[row];
		const size_t to = (size_t) blockIdx.y * nrows + row;

		out_value[to] = value[from];
		out_state[to] = state[from];
	}
}

dim3
grid_of(uint32_t nrows, uint32_t ncolumns)
{
	return dim3((nrows + THREADS - 1) / THREADS, ncolumns);
}

}								/* namespace */

cudaError_t
pp_json_columns_run(const PpJsonColumnsJob *job, PpStageClock *clock, cudaStream_t stream)
{
	Columns		c;

	if (job->nrows == 0 || job->ncolumns == 0)
		return cudaSuccess;
	c.job = *job;
	c.text = reinterpret_cast<const uint8_t *>(reinterpret_cast<intptr_t>(job->job->text) - (int32_t) job->job->begin);
	c.place = job->job->place;
	c.room = job->job->room;
	c.result = job->job->result;
	pp_stage(clock, PP_STAGE_COLUMNS, stream);
	PP_LAUNCH(columns_kernel, grid_of(job->nrows, job->ncolumns), dim3(THREADS), 0, stream, c);
	return pp_launch_error();
}

cudaError_t
pp_json_gather_run(const uint64_t *value, const uint8_t *state, uint32_t ncolumns,
				   uint32_t nrecords, const uint32_t *selected, uint32_t nrows,
				   uint64_t *out_value, uint8_t *out_state, PpStageClock *clock,
				   cudaStream_t stream)
{
	if (nrows == 0 || ncolumns == 0)
		return cudaSuccess;
	pp_stage(clock, PP_STAGE_FILTER, stream);
	PP_LAUNCH(gather_kernel, grid_of(nrows, ncolumns), dim3(THREADS), 0, stream, value, state,
			  nrecords, selected, nrows, out_value, out_state);
	return pp_launch_error();
}

/*
 * cuda/paper_column.cu
 *	  Fields to columns: what a field is (NULL, DEFAULT, a value, something for
 *	  the input function), where its bytes go, its conversion, and filters.
 *
 * Follows the paper's section 4.3: a field is converted by one thread; a long
 * one is queued, and all threads of a block, or of the whole device, work on
 * it together.  All columns go through one launch a step, however many they
 * are.  The conversions are those of every backend (src/parse/convert.h); for
 * long texts the same rules are written here for many threads.
 *
 * Owns no memory and knows nothing of buffers or streams beyond what it is
 * handed; must not wait for the device.
 */
#include "field.h"

namespace
{

constexpr uint32_t THREADS = 128;	/* of a block, one value each */
constexpr uint32_t TEAM = 64;	/* of a block that converts one value */
constexpr uint32_t DEVICE_BLOCKS = 256;
constexpr uint32_t PIECE = 4096;	/* bytes of a long field a block takes at a time */

/* Adds up how many threads of the warp say so; all of them come by. */
__device__ __forceinline__ void
count(bool yes, uint32_t *counter)
{
	uint32_t	votes = __ballot_sync(0xffffffffu, yes);

	if (threadIdx.x % 32 == 0 && votes != 0)
		atomicAdd(counter, (uint32_t) __popc(votes));
}

__global__ void
__launch_bounds__(THREADS)
measure_kernel(PpColumnsJob job)
{
	const uint32_t r = blockIdx.x * THREADS + threadIdx.x;
	const uint32_t c = blockIdx.y;
	bool		deferred = false;

	if (r < job.nrecords)
	{
		const PpColumn col = job.column[c].col;
		const size_t i = (size_t) c * job.nrecords + r;
		PpState		state = PP_NULL;
		uint64_t	room = 0;

		if (job.pass == nullptr || job.pass[r] != 0)
		{
			const uint32_t j = job.column[c].css * job.nrecords + r;
			uint32_t	offset,
						n;
			uint32_t	work;

			pp_css_field(&job.fields, j, &offset, &n);
			state = pp_field_state(job.scan, col, job.fields.css + offset, n,
								   (job.fields.quoted[j / 32] >> (j % 32) & 1) != 0);
			deferred = state == PP_DEFERRED;
			if (state == PP_VALUE)
			{
				if (c >= job.nvalues)
					room = (pp_convert_room(&col, n) + 7) / 8 * 8;
				work = pp_work_bytes(col, n);
				if (work > job.scan->thread_bytes)
				{
					if (work > job.scan->block_bytes && pp_is_text(col.type))
						job.queue[job.queue_room - 1 - atomicAdd(&job.counts->ndevice, 1u)] = (uint32_t) i;
					else
						job.queue[atomicAdd(&job.counts->nblock, 1u)] = (uint32_t) i;
				}
			}
		}
		job.state[i] = (uint8_t) state;
		job.value[i] = room;
		if (r == 0 && c == 0)
			job.value[(size_t) job.ncolumns * job.nrecords] = 0;
	}
	count(deferred, &job.counts->ndeferred);
}

/* Takes note of what came of value i; used: bytes, or by value 1. */
__device__ __forceinline__ void
store_value(const PpColumnsJob &job, size_t i, bool by_reference, uint64_t value,
			uint64_t used)
{
	job.value[i] = used == 0 ? 0 : by_reference ? job.host_heap + value : value;
	if (used == 0)
		job.state[i] = PP_DEFERRED;
}

/* Converts n bytes at s to value i; false: handed over. */
__device__ __forceinline__ bool
convert_alone(const PpColumnsJob &job, const PpColumn &col, size_t i,
			  bool by_reference, const uint8_t *s, uint32_t n)
{
	uint64_t	value = by_reference ? job.value[i] : 0;
	uint64_t	used;

	if (by_reference)
		used = pp_convert_reference(&col, &job.scan->env, s, n, job.heap + value);
	else
		used = pp_convert_value(&col, &job.scan->env, s, n, &value);
	store_value(job, i, by_reference, value, used);
	return used != 0;
}

__global__ void
__launch_bounds__(THREADS)
convert_kernel(PpColumnsJob job)
{
	const uint32_t r = blockIdx.x * THREADS + threadIdx.x;
	const uint32_t c = blockIdx.y;
	const bool	by_reference = c >= job.nvalues;
	bool		deferred = false;

	if (r < job.nrecords)
	{
		const PpColumn col = job.column[c].col;
		const size_t i = (size_t) c * job.nrecords + r;

		if (job.state[i] == PP_VALUE)
		{
			uint32_t	offset,
						n;

			pp_css_field(&job.fields, job.column[c].css * job.nrecords + r, &offset, &n);
			if (pp_work_bytes(col, n) <= job.scan->thread_bytes)
				deferred = !convert_alone(job, col, i, by_reference,
										  job.fields.css + offset, n);
		}
		else if (by_reference)
			job.value[i] = 0;
	}
	count(deferred, &job.counts->ndeferred);
}

/* The field that queue entry i stands for. */
__device__ __forceinline__ const uint8_t *
queued_field(const PpColumnsJob &job, uint32_t i, PpColumn *col, uint32_t *n,
			 bool *by_reference)
{
	const uint32_t c = i / job.nrecords;
	const PpPaperColumn *column = &job.column[c];
	uint32_t	offset;

	*col = column->col;
	*by_reference = c >= job.nvalues;
	pp_css_field(&job.fields, column->css * job.nrecords + i % job.nrecords, &offset, n);
	return job.fields.css + offset;
}

struct TextShared
{
	PpLongField look;
};

/* One block a text: it is measured, then copied, by all threads. */
__global__ void
__launch_bounds__(TEAM)
block_text_kernel(PpColumnsJob job)
{
	PP_SHARED(TextShared, shared);
	const uint32_t i = job.queue[blockIdx.x];
	PpColumn	col;
	uint32_t	n;
	bool		by_reference;
	const uint8_t *s = queued_field(job, i, &col, &n, &by_reference);
	const uint64_t offset = job.value[i];
	uint8_t    *dst = job.heap + offset;
	uint32_t	pad,
				size,
				skip;
	bool		hex;

	if (!pp_is_text(col.type))
		return;
	hex = pp_is_hex(col, s, n);
	skip = hex ? 2 : 0;
	if (threadIdx.x == 0)
		shared.look.continued = shared.look.seen = 0;
	__syncthreads();
	if (pp_needs_look(col, n))
	{
		PpLongField own = pp_look_at(s + skip, n - skip, hex, 0, n - skip,
								  threadIdx.x, TEAM);

		if (own.continued != 0)
			atomicAdd(&shared.look.continued, own.continued);
		if (own.seen != 0)
			atomicOr(&shared.look.seen, own.seen);
	}
	__syncthreads();
	size = pp_text_size(col, job.scan->env.charset, n, hex, shared.look, &pad);
	if (size != 0)
	{
		pp_write_text(s + skip, n - skip, hex, 0, n - skip, threadIdx.x, TEAM, dst + 4);
		for (uint32_t k = threadIdx.x; k < pad; k += TEAM)
			dst[4 + n + k] = ' ';
	}
	__syncthreads();			/* all have read the offset */
	if (threadIdx.x == 0)
	{
		if (size != 0)
			*reinterpret_cast<uint32_t *>(dst) = size << 2;
		else
			atomicAdd(&job.counts->ndeferred, 1u);
		store_value(job, i, true, offset, size);
	}
}

struct NumberShared
{
	uint64_t	text[(PP_PAPER_NUMBER_BYTES + PP_PAD) / 8];
};

/*
 * One block a value of another type, which has to be read from left to right:
 * all threads bring it on chip, one reads it there.
 */
__global__ void
__launch_bounds__(TEAM)
block_number_kernel(PpColumnsJob job)
{
	PP_SHARED(NumberShared, shared);
	uint8_t    *text = reinterpret_cast<uint8_t *>(shared.text);
	const uint32_t i = job.queue[blockIdx.x];
	PpColumn	col;
	uint32_t	n;
	bool		by_reference;
	const uint8_t *s = queued_field(job, i, &col, &n, &by_reference);

	if (pp_is_text(col.type))
		return;
	for (uint32_t k = threadIdx.x; k < n + PP_PAD; k += TEAM)
		text[k] = k < n ? s[k] : 0;
	__syncthreads();
	if (threadIdx.x == 0 && !convert_alone(job, col, i, by_reference, text, n))
		atomicAdd(&job.counts->ndeferred, 1u);
}

/* The first piece of queued field q that is this block's. */
__device__ __forceinline__ uint64_t
first_piece(uint32_t q)
{
	return (uint64_t) ((blockIdx.x + gridDim.x - q % gridDim.x) % gridDim.x) * PIECE;
}

/* Texts that the whole device works on: all blocks look at pieces of each ... */
__global__ void
__launch_bounds__(THREADS)
device_look_kernel(PpColumnsJob job, uint32_t nqueued)
{
	for (uint32_t q = 0; q < nqueued; q++)
	{
		const uint32_t i = job.queue[job.queue_room - 1 - q];
		PpColumn	col;
		uint32_t	n;
		bool		by_reference;
		const uint8_t *s = queued_field(job, i, &col, &n, &by_reference);
		const bool	hex = pp_is_hex(col, s, n);
		const uint32_t skip = hex ? 2 : 0;

		if (!pp_needs_look(col, n))
			continue;
		for (uint64_t from = first_piece(q); from < n - skip; from += (uint64_t) gridDim.x * PIECE)
		{
			uint32_t	to = n - skip - from < PIECE ? n - skip : (uint32_t) from + PIECE;
			PpLongField own = pp_look_at(s + skip, n - skip, hex, (uint32_t) from, to,
									  threadIdx.x, THREADS);

			if (own.continued != 0)
				atomicAdd(&job.longs[q].continued, own.continued);
			if (own.seen != 0)
				atomicOr(&job.longs[q].seen, own.seen);
		}
	}
}

/* ... and then write pieces of it. */
__global__ void
__launch_bounds__(THREADS)
device_write_kernel(PpColumnsJob job, uint32_t nqueued)
{
	for (uint32_t q = 0; q < nqueued; q++)
	{
		const uint32_t i = job.queue[job.queue_room - 1 - q];
		PpColumn	col;
		uint32_t	n;
		bool		by_reference;
		const uint8_t *s = queued_field(job, i, &col, &n, &by_reference);
		const bool	hex = pp_is_hex(col, s, n);
		const uint32_t skip = hex ? 2 : 0;
		uint8_t    *dst = job.heap + job.value[i];
		uint32_t	pad;
		uint32_t	size = pp_text_size(col, job.scan->env.charset, n, hex, job.longs[q], &pad);

		if (size == 0)
			continue;
		for (uint64_t from = first_piece(q); from < n - skip; from += (uint64_t) gridDim.x * PIECE)
		{
			uint32_t	to = n - skip - from < PIECE ? n - skip : (uint32_t) from + PIECE;

			pp_write_text(s + skip, n - skip, hex, (uint32_t) from, to, threadIdx.x, THREADS, dst + 4);
		}
		for (uint64_t from = first_piece(q); from < pad; from += (uint64_t) gridDim.x * PIECE)
			for (uint32_t k = threadIdx.x; k < PIECE && from + k < pad; k += THREADS)
				dst[4 + n + from + k] = ' ';
		if (first_piece(q) == 0 && threadIdx.x == 0)
			*reinterpret_cast<uint32_t *>(dst) = size << 2;
	}
}

/* Behind that, offsets become addresses. */
__global__ void
__launch_bounds__(THREADS)
device_store_kernel(PpColumnsJob job, uint32_t nqueued)
{
	const uint32_t q = blockIdx.x * THREADS + threadIdx.x;
	bool		deferred = false;

	if (q < nqueued)
	{
		const uint32_t i = job.queue[job.queue_room - 1 - q];
		PpColumn	col;
		uint32_t	n;
		bool		by_reference;
		const uint8_t *s = queued_field(job, i, &col, &n, &by_reference);
		uint32_t	pad;
		uint32_t	size = pp_text_size(col, job.scan->env.charset, n, pp_is_hex(col, s, n),
									 job.longs[q], &pad);

		store_value(job, i, by_reference, job.value[i], size);
		deferred = size == 0;
	}
	count(deferred, &job.counts->ndeferred);
}

__global__ void
__launch_bounds__(THREADS)
filter_kernel(const PpPaperFilter *filter, uint32_t nfilters, uint32_t nrecords,
			  uint8_t *flag, uint32_t *unknown)
{
	const uint32_t r = blockIdx.x * THREADS + threadIdx.x;
	bool		may;

	if (r >= nrecords)
		return;
	flag[r] = pp_record_passes(filter, nfilters, r, &may);
	if (may)
		atomicOr(unknown, 1u);
}

__global__ void
__launch_bounds__(THREADS)
shift_kernel(uint32_t *position, uint64_t n, uint32_t by)
{
	for (uint64_t i = (uint64_t) blockIdx.x * THREADS + threadIdx.x; i < n;
		 i += (uint64_t) gridDim.x * THREADS)
		position[i] += by;
}

uint32_t
blocks_for(uint64_t n)
{
	return (uint32_t) ((n + THREADS - 1) / THREADS);
}

}								/* namespace */

cudaError_t
pp_columns_temp(uint32_t ncolumns, uint32_t nvalues, uint32_t nrecords, size_t *bytes)
{
	*bytes = 0;
	if (ncolumns == nvalues)
		return cudaSuccess;
	return pp_scan_sum64(nullptr, bytes, nullptr, nullptr,
						 (ncolumns - nvalues) * nrecords + 1, nullptr);
}

cudaError_t
pp_columns_measure(const PpColumnsJob *job, PpStageClock *clock, cudaStream_t stream)
{
	cudaError_t e;
	uint64_t   *first = job->value + (size_t) job->nvalues * job->nrecords;
	size_t		temp_bytes = job->temp_bytes;

	pp_stage(clock, PP_STAGE_CONVERT_THREAD, stream);
	PP_LAUNCH(measure_kernel, dim3(blocks_for(job->nrecords), job->ncolumns), dim3(THREADS), 0,
			  stream, *job);
	e = pp_launch_error();
	if (e != cudaSuccess || job->ncolumns == job->nvalues)
		return e;
	pp_stage(clock, PP_STAGE_CONVERT_THREAD, stream);
	return pp_scan_sum64(job->temp, &temp_bytes, first, first,
						 (job->ncolumns - job->nvalues) * job->nrecords + 1, stream);
}

cudaError_t
pp_columns_convert(const PpColumnsJob *job, const PpColumnCounts *counts,
				   PpStageClock *clock, cudaStream_t stream)
{
	cudaError_t e;

	pp_stage(clock, PP_STAGE_CONVERT_THREAD, stream);
	PP_LAUNCH(convert_kernel, dim3(blocks_for(job->nrecords), job->ncolumns), dim3(THREADS), 0,
			  stream, *job);
	e = pp_launch_error();
	if (e == cudaSuccess && counts->nblock > 0)
	{
		pp_stage(clock, PP_STAGE_CONVERT_BLOCK, stream);
		PP_LAUNCH(block_text_kernel, dim3(counts->nblock), dim3(TEAM), 0, stream, *job);
		e = pp_launch_error();
		if (e != cudaSuccess)
			return e;
		pp_stage(clock, PP_STAGE_CONVERT_BLOCK, stream);
		PP_LAUNCH(block_number_kernel, dim3(counts->nblock), dim3(TEAM), 0, stream, *job);
		e = pp_launch_error();
	}
	if (e == cudaSuccess && counts->ndevice > 0)
	{
		pp_stage(clock, PP_STAGE_CONVERT_DEVICE, stream);
		e = cudaMemsetAsync(job->longs, 0, counts->ndevice * sizeof(PpLongField), stream);
		if (e != cudaSuccess)
			return e;
		pp_stage(clock, PP_STAGE_CONVERT_DEVICE, stream);
		PP_LAUNCH(device_look_kernel, dim3(DEVICE_BLOCKS), dim3(THREADS), 0, stream, *job,
				  counts->ndevice);
		e = pp_launch_error();
		if (e != cudaSuccess)
			return e;
		pp_stage(clock, PP_STAGE_CONVERT_DEVICE, stream);
		PP_LAUNCH(device_write_kernel, dim3(DEVICE_BLOCKS), dim3(THREADS), 0, stream, *job,
				  counts->ndevice);
		e = pp_launch_error();
		if (e != cudaSuccess)
			return e;
		pp_stage(clock, PP_STAGE_CONVERT_DEVICE, stream);
		PP_LAUNCH(device_store_kernel, dim3(blocks_for(counts->ndevice)), dim3(THREADS), 0,
				  stream, *job, counts->ndevice);
		e = pp_launch_error();
	}
	return e;
}

cudaError_t
pp_filters_run(const PpPaperFilter *filter, uint32_t nfilters, uint32_t nrecords,
			   uint8_t *flag, uint32_t *unknown, PpStageClock *clock, cudaStream_t stream)
{
	pp_stage(clock, PP_STAGE_FILTER, stream);
	PP_LAUNCH(filter_kernel, dim3(blocks_for(nrecords)), dim3(THREADS), 0, stream,
			  filter, nfilters, nrecords, flag, unknown);
	return pp_launch_error();
}

cudaError_t
pp_shift_run(uint32_t *position, uint64_t n, uint32_t by, PpCudaStage stage,
			 PpStageClock *clock, cudaStream_t stream)
{
	uint32_t	blocks = n > (uint64_t) 8192 * THREADS ? 8192 : blocks_for(n);

	pp_stage(clock, stage, stream);
	PP_LAUNCH(shift_kernel, dim3(blocks), dim3(THREADS), 0, stream, position, n, by);
	return pp_launch_error();
}

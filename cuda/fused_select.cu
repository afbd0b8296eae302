/*
 * cuda/fused_select.cu
 *	  Behind the pass of the fused pipeline: filters, aggregates, and the
 *	  columns of the records that are left.
 *
 *	  flags		what becomes of each record: dropped, taken into the
 *				aggregates, or selected
 *	  totals	aggregates over the records that are taken
 *	  columns	of the selected ones: early values are gathered, late ones
 *				converted
 *
 * A record is taken if all is known of it: it passes, and none of its values was
 * handed over or is a default, so that it passes for certain.  Filters and conversions are those of every
 * backend.  Sums have 128 bits, so they are exact.
 *
 * Owns no memory; never waits for the device.
 */
#include "fused_convert.h"

namespace
{

constexpr uint32_t THREADS = 256;
constexpr uint32_t BLOCKS_PER_SM = 4;	/* at least; without it some compilers spill */
constexpr uint32_t MOST_BLOCKS = 1024;
constexpr uint32_t RECORDS = 4;	/* that a thread has, if there are not too many */

constexpr uint32_t ALL = 0xffffffffu;

/* 128 bits, as two's complement. */
struct Sum
{
	uint64_t	low;
	uint64_t	high;
};

__device__ __forceinline__ void
add(Sum *sum, uint64_t low, uint64_t high)
{
	sum->low += low;
	sum->high += high + (sum->low < low);
}

/* What stands for no value. */
__device__ __forceinline__ int64_t
identity(PpAggregateOp op)
{
	return op == PP_AGGREGATE_MIN ? INT64_MAX : op == PP_AGGREGATE_MAX ? INT64_MIN : 0;
}

/* Was any value of the record handed over, or is it a default? */
__device__ __forceinline__ bool
has_unknown(const PpFusedJob &job, uint32_t r)
{
	for (uint32_t c = 0; c < job.ncolumns; c++)
		if (job.state[(size_t) c * job.room + r] > PP_NULL)
			return true;
	return false;
}

__global__ void
__launch_bounds__(THREADS)
select_flags_kernel(PpFusedJob job, const PpPaperFilter *filter, uint32_t nfilters,
					const PpAggregate *aggregate, uint32_t naggregates, PpPartial *partial,
					uint8_t *flag)
{
	const uint32_t n = job.result->structure.nrecords;
	const uint32_t threads = gridDim.x * THREADS;
	bool		unknown = false;

	for (uint32_t a = blockIdx.x * THREADS + threadIdx.x; a < naggregates; a += threads)
	{
		PpPartial	p = {};

		p.low = (uint64_t) identity(aggregate[a].op);
		partial[a] = p;
	}
	for (uint32_t r = blockIdx.x * THREADS + threadIdx.x; r < job.room; r += threads)
	{
		bool		may = false;
		uint8_t		f = 0;

		if (r < n && pp_record_passes(filter, nfilters, r, &may))
			f = naggregates > 0 && !has_unknown(job, r) ? PP_SELECT_TAKEN : PP_SELECT_LEFT;
		flag[r] = f;
		unknown |= may;
	}
	if (__ballot_sync(ALL, unknown) != 0 && threadIdx.x % 32 == 0)
		atomicOr(&job.result->unknown, 1u);
}

struct TotalsShared
{
	uint64_t	count[THREADS / 32];
	Sum			sum[THREADS / 32];
	int64_t		best[THREADS / 32];
};

/* Of two values the one that counts for MIN or MAX. */
__device__ __forceinline__ int64_t
better(PpAggregateOp op, int64_t a, int64_t b)
{
	return (op == PP_AGGREGATE_MIN) == (b < a) ? b : a;
}

/* One aggregate for all blocks of a row of the grid. */
__global__ void
__launch_bounds__(THREADS)
select_totals_kernel(PpFusedJob job, const PpAggregate *aggregate, PpPartial *partial,
					 const uint8_t *flag)
{
	PP_SHARED(TotalsShared, sh);
	const PpAggregate g = aggregate[blockIdx.y];
	const uint32_t n = job.result->structure.nrecords;
	const uint32_t lane = threadIdx.x % 32;
	const size_t first = (size_t) g.column * job.room;
	PpPartial  *out = &partial[blockIdx.y];
	uint64_t	count = 0;
	Sum			sum = {0, 0};
	int64_t		best = identity(g.op);

	for (uint32_t r = blockIdx.x * THREADS + threadIdx.x; r < n; r += gridDim.x * THREADS)
	{
		if (flag[r] != PP_SELECT_TAKEN)
			continue;
		if (g.op == PP_AGGREGATE_COUNT_ALL)
			count++;
		else if (job.state[first + r] == PP_VALUE)
		{
			count++;
			if (g.op == PP_AGGREGATE_SUM)
			{
				const uint64_t v = job.value[first + r];

				add(&sum, v, (uint64_t) ((int64_t) v >> 63));
			}
			else if (g.op != PP_AGGREGATE_COUNT)
				best = better(g.op, best, (int64_t) job.value[first + r]);
		}
	}
	for (uint32_t d = 16; d > 0; d /= 2)
	{
		const uint64_t low = __shfl_down_sync(ALL, sum.low, d);
		const uint64_t high = __shfl_down_sync(ALL, sum.high, d);

		count += __shfl_down_sync(ALL, count, d);
		best = better(g.op, best, __shfl_down_sync(ALL, best, d));
		add(&sum, low, high);
	}
	if (lane == 0)
	{
		sh.count[threadIdx.x / 32] = count;
		sh.sum[threadIdx.x / 32] = sum;
		sh.best[threadIdx.x / 32] = best;
	}
	__syncthreads();
	if (threadIdx.x != 0)
		return;
	for (uint32_t w = 1; w < THREADS / 32; w++)
	{
		count += sh.count[w];
		add(&sum, sh.sum[w].low, sh.sum[w].high);
		best = better(g.op, best, sh.best[w]);
	}
	if (count == 0)
		return;
	atomicAdd(reinterpret_cast<unsigned long long *>(&out->count), (unsigned long long) count);
	if (g.op == PP_AGGREGATE_SUM)
	{
		const uint64_t before = atomicAdd(reinterpret_cast<unsigned long long *>(&out->low),
										  (unsigned long long) sum.low);

		/* every carry out of the lower half is seen by the one who makes it */
		atomicAdd(reinterpret_cast<unsigned long long *>(&out->high),
				  (unsigned long long) (sum.high + (before + sum.low < before)));
	}
	else if (g.op == PP_AGGREGATE_MIN)
		atomicMin(reinterpret_cast<long long *>(&out->low), (long long) best);
	else if (g.op == PP_AGGREGATE_MAX)
		atomicMax(reinterpret_cast<long long *>(&out->low), (long long) best);
}

struct ColumnsShared
{
	PpPaperScan scan;
	PpFusedColumn column;
	uint8_t		state[THREADS];
};

/*
 * Columns of the selected records, a lane each: `to` is the job of the pass but
 * for where values go; where they are now, the rest says.
 */
__global__ void
__launch_bounds__(THREADS, BLOCKS_PER_SM)
select_columns_kernel(PpFusedJob to, const uint64_t *value, const uint8_t *state,
					  uint32_t room, const uint32_t *selected)
{
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
	const uint32_t c = blockIdx.y;
	PP_SHARED(ColumnsShared, sh);
	const bool	there = i < to.room;
	size_t		from = 0;
	PpFusedField f = {};
	uint64_t	datum;
	PpState		after;
	uint32_t	votes;

	if (threadIdx.x == 0)
	{
		sh.column = to.column[c];
		sh.scan = *to.scan;
	}
	__syncthreads();
	if (there)
		from = (size_t) c * room + selected[i];
	if (!(sh.column.flags & PP_FUSED_LATE))
	{
		if (there)
		{
			to.value[(size_t) c * to.room + i] = value[from];
			to.state[(size_t) c * to.room + i] = state[from];
		}
		return;
	}
	if (there)
	{
		const uint64_t ref = value[from];

		f.start = (uint32_t) ref;
		f.n = (uint32_t) (ref >> 32) & ~PP_FIELD_CONTROL;
		f.control = f.quoted = (ref >> 32 & PP_FIELD_CONTROL) != 0;
		f.s = to.text + f.start;
	}
	after = pp_fused_convert(to, &sh.scan, pp_column_of(sh.column), c, i, there, f,
							 &sh.state[threadIdx.x], &datum);
	if (there)
	{
		to.value[(size_t) c * to.room + i] = datum;
		to.state[(size_t) c * to.room + i] = (uint8_t) after;
	}
	votes = __ballot_sync(ALL, after == PP_DEFERRED);
	if (threadIdx.x % 32 == 0 && votes != 0)
		atomicAdd(reinterpret_cast<unsigned long long *>(&to.result->ndeferred),
				  (unsigned long long) __popc(votes));
}

uint32_t
blocks_for(uint32_t n)
{
	const uint32_t blocks = n / (RECORDS * THREADS) + 1;

	return blocks > MOST_BLOCKS ? MOST_BLOCKS : blocks;
}

}								/* namespace */

cudaError_t
pp_select_temp(uint32_t room, size_t *bytes)
{
	return pp_select_flagged(nullptr, bytes, nullptr, PP_SELECT_LEFT, nullptr, nullptr, room, nullptr);
}

cudaError_t
pp_select_run(const PpSelectJob *job, PpStageClock *clock, cudaStream_t stream)
{
	const PpFusedJob *fused = job->job;
	const uint32_t blocks = blocks_for(fused->room);
	size_t		bytes = job->temp_bytes;
	cudaError_t e;

	pp_stage(clock, PP_STAGE_FILTER, stream);
	PP_LAUNCH(select_flags_kernel, blocks, THREADS, 0, stream, *fused, job->filter, job->nfilters,
			  job->aggregate, job->naggregates, job->partial, job->flag);
	e = pp_launch_error();
	if (e == cudaSuccess && job->naggregates > 0)
	{
		pp_stage(clock, PP_STAGE_FILTER, stream);
		PP_LAUNCH(select_totals_kernel, dim3(blocks, job->naggregates), THREADS, 0, stream, *fused,
				  job->aggregate, job->partial, job->flag);
		e = pp_launch_error();
	}
	if (e != cudaSuccess)
		return e;
	pp_stage(clock, PP_STAGE_FILTER, stream);
	return pp_select_flagged(job->temp, &bytes, job->flag, PP_SELECT_LEFT, job->selected,
							 &fused->result->nselected, fused->room, stream);
}

cudaError_t
pp_select_columns(const PpSelectJob *job, uint32_t nselected, uint64_t *out_value,
				  uint8_t *out_state, PpStageClock *clock, cudaStream_t stream)
{
	PpFusedJob	to = *job->job;
	cudaError_t e;

	if (nselected == 0 || to.ncolumns == 0)
		return cudaSuccess;
	to.value = out_value;
	to.state = out_state;
	to.room = nselected;
	pp_stage(clock, PP_STAGE_COLUMNS, stream);
	PP_LAUNCH(select_columns_kernel, dim3((nselected - 1) / THREADS + 1, to.ncolumns), THREADS, 0,
			  stream, to, job->job->value, job->job->state, job->job->room, job->selected);
	e = pp_launch_error();
	if (e != cudaSuccess)
		return e;
	return pp_fused_long_late(&to, clock, stream);
}

/*
 * cuda/fused_select.cu
 *	  Behind the pass of the fused pipeline: filters, aggregates, and the
 *	  columns of the records that are left.
 *
 *	  flags		what becomes of each record: dropped, taken into the
 *				aggregates, or selected
 *	  totals	aggregates over the records that are taken: sums and counts
 *	  ranks		MIN and MAX where equal values may differ: a block's, and then
 *				all blocks'
 *	  columns	of the selected ones: early values are gathered, late ones
 *				converted
 *
 * A record is taken if all is known of it: it passes, and none of its values was
 * handed over or is a default, so that it passes for certain.  Filters and
 * conversions are those of every backend.  Sums have 128 bits, so they are exact:
 * a value has less than 94, and there are less than 2^31.
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

__device__ __forceinline__ bool
is_numeric(PpAggregateOp op)
{
	return op == PP_AGGREGATE_SUM_NUMERIC || op == PP_AGGREGATE_MIN_NUMERIC ||
		op == PP_AGGREGATE_MAX_NUMERIC;
}

/* Is that value of a column, a numeric, one that numeric_value() can give? */
__device__ __forceinline__ PpNumericParts
numeric_at(const PpFusedJob &job, size_t i)
{
	return pp_numeric_parts(job.value[i] + (reinterpret_cast<uintptr_t>(job.heap) - job.host_heap));
}

__device__ __forceinline__ bool
fits(const PpNumericParts &p, uint32_t fraction)
{
	const int32_t places = p.weight + 1 + (int32_t) fraction;

	return p.special == 0 && (p.ndigits == 0 ||
							  (places <= PP_FIXED_DIGITS && (int32_t) p.ndigits <= places));
}

/* It, as a multiple of 10000^-fraction. */
__device__ __forceinline__ Sum
numeric_value(const PpNumericParts &p, uint32_t fraction)
{
	const uint32_t n = p.ndigits == 0 ? 0 : (uint32_t) (p.weight + 1 + (int32_t) fraction);
	uint64_t	upper = 0;		/* digits in front of the last four */
	uint64_t	lower = 0;
	Sum			v;

	for (uint32_t i = 0; i < n; i++)
	{
		const uint32_t digit = i >= p.ndigits ? 0 :
			(uint32_t) p.digits[2 * i] | (uint32_t) p.digits[2 * i + 1] << 8;

		if (n - i > 4)
			upper = upper * 10000 + digit;
		else
			lower = lower * 10000 + digit;
	}
	v.low = pp_mul128(upper, UINT64_C(10000000000000000), &v.high);
	add(&v, lower, 0);
	if (p.sign < 0)
	{
		v.high = ~v.high + (v.low == 0);
		v.low = 0 - v.low;
	}
	return v;
}

/* Digits behind the point that a numeric is shown with. */
__device__ __forceinline__ uint32_t
display_scale(const PpFusedJob &job, size_t i)
{
	uint32_t	len;
	const uint8_t *p = pp_varlena(job.value[i] + (reinterpret_cast<uintptr_t>(job.heap) - job.host_heap),
								  &len);
	const uint32_t header = (uint32_t) p[0] | (uint32_t) p[1] << 8;

	return header & 0x8000u ? header >> 7 & 0x3fu : header & 0x3fffu;
}

/* Has the record a numeric that an aggregate cannot take? */
__device__ __forceinline__ bool
has_unfit(const PpFusedJob &job, const PpAggregate *aggregate, uint32_t naggregates, uint32_t r)
{
	for (uint32_t a = 0; a < naggregates; a++)
	{
		const size_t i = (size_t) aggregate[a].column * job.room + r;

		if (is_numeric(aggregate[a].op) && job.state[i] == PP_VALUE &&
			!fits(numeric_at(job, i), aggregate[a].fraction))
			return true;
	}
	return false;
}

__global__ void
__launch_bounds__(THREADS, BLOCKS_PER_SM)
select_flags_kernel(PpFusedJob job, const PpPaperFilter *filter, uint32_t nfilters,
					const PpAggregate *aggregate, uint32_t naggregates, PpPartial *partial,
					uint8_t *flag)
{
	const uint32_t n = job.result->structure.nrecords;
	const uint32_t threads = gridDim.x * THREADS;
	bool		unknown = false;
	bool		left = false;

	for (uint32_t a = blockIdx.x * THREADS + threadIdx.x; a < naggregates; a += threads)
	{
		PpPartial	p = {};

		p.low = (uint64_t) identity(aggregate[a].op);
		p.fraction = aggregate[a].fraction;
		partial[a] = p;
	}
	for (uint32_t r = blockIdx.x * THREADS + threadIdx.x; r < job.room; r += threads)
	{
		bool		may = false;
		uint8_t		f = 0;

		if (r < n && pp_record_passes(filter, nfilters, r, &may))
			f = naggregates > 0 && !has_unknown(job, r) && !has_unfit(job, aggregate, naggregates, r) ?
				PP_SELECT_TAKEN : PP_SELECT_LEFT;
		flag[r] = f;
		unknown |= may;
		left |= f == PP_SELECT_LEFT;
	}
	if (__ballot_sync(ALL, unknown) != 0 && threadIdx.x % 32 == 0)
		atomicOr(&job.result->unknown, 1u);
	if (__ballot_sync(ALL, left) != 0 && threadIdx.x % 32 == 0)
		atomicOr(&job.result->some_left, 1u);
}

/* If any record is left, all are. */
__global__ void
__launch_bounds__(THREADS)
select_leave_kernel(PpFusedJob job, uint8_t *flag)
{
	if (job.result->some_left == 0)
		return;
	for (uint32_t r = blockIdx.x * THREADS + threadIdx.x; r < job.room; r += gridDim.x * THREADS)
		if (flag[r] == PP_SELECT_TAKEN)
			flag[r] = PP_SELECT_LEFT;
}

struct TotalsShared
{
	uint64_t	count[THREADS / 32];
	Sum			sum[THREADS / 32];
	int64_t		best[THREADS / 32];
	uint32_t	scale[THREADS / 32];
};

/* Of two values the one that counts for MIN or MAX. */
__device__ __forceinline__ int64_t
better(PpAggregateOp op, int64_t a, int64_t b)
{
	return (op == PP_AGGREGATE_MIN) == (b < a) ? b : a;
}

/* One aggregate for all blocks of a row of the grid. */
__global__ void
__launch_bounds__(THREADS, BLOCKS_PER_SM)
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
	uint32_t	scale = 0;

	if (pp_aggregate_is_ranked(g.op))
		return;
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
			else if (g.op == PP_AGGREGATE_SUM_NUMERIC)
			{
				const Sum	v = numeric_value(numeric_at(job, first + r), g.fraction);
				const uint32_t shown = display_scale(job, first + r);

				add(&sum, v.low, v.high);
				scale = shown > scale ? shown : scale;
			}
			else if (g.op != PP_AGGREGATE_COUNT)
				best = better(g.op, best, (int64_t) job.value[first + r]);
		}
	}
	for (uint32_t d = 16; d > 0; d /= 2)
	{
		const uint64_t low = __shfl_down_sync(ALL, sum.low, d);
		const uint64_t high = __shfl_down_sync(ALL, sum.high, d);
		const uint32_t shown = __shfl_down_sync(ALL, scale, d);

		count += __shfl_down_sync(ALL, count, d);
		best = better(g.op, best, __shfl_down_sync(ALL, best, d));
		add(&sum, low, high);
		scale = shown > scale ? shown : scale;
	}
	if (lane == 0)
	{
		sh.count[threadIdx.x / 32] = count;
		sh.sum[threadIdx.x / 32] = sum;
		sh.best[threadIdx.x / 32] = best;
		sh.scale[threadIdx.x / 32] = scale;
	}
	__syncthreads();
	if (threadIdx.x != 0)
		return;
	for (uint32_t w = 1; w < THREADS / 32; w++)
	{
		count += sh.count[w];
		add(&sum, sh.sum[w].low, sh.sum[w].high);
		best = better(g.op, best, sh.best[w]);
		scale = sh.scale[w] > scale ? sh.scale[w] : scale;
	}
	if (count == 0)
		return;
	atomicAdd(reinterpret_cast<unsigned long long *>(&out->count), (unsigned long long) count);
	if (g.op == PP_AGGREGATE_SUM || g.op == PP_AGGREGATE_SUM_NUMERIC)
	{
		const uint64_t before = atomicAdd(reinterpret_cast<unsigned long long *>(&out->low),
										  (unsigned long long) sum.low);

		/* every carry out of the lower half is seen by the one who makes it */
		atomicAdd(reinterpret_cast<unsigned long long *>(&out->high),
				  (unsigned long long) (sum.high + (before + sum.low < before)));
		if (scale != 0)
			atomicMax(&out->scale, scale);
	}
	else if (g.op == PP_AGGREGATE_MIN)
		atomicMin(reinterpret_cast<long long *>(&out->low), (long long) best);
	else if (g.op == PP_AGGREGATE_MAX)
		atomicMax(reinterpret_cast<long long *>(&out->low), (long long) best);
}

/*
 * The best of some records: what it is ranked by, 128 bits as two's complement,
 * and of equal ones the last.
 */
struct alignas(8) Rank
{
	uint64_t	low;
	uint64_t	high;
	uint32_t	record;			/* NOBODY: none has a value */
	uint32_t	count;			/* of values */
};

constexpr uint32_t NOBODY = 0xffffffffu;

/* Signed integers in the order of floats: all NaNs are equal, and the greatest. */
__device__ __forceinline__ int64_t
float_rank(double x)
{
	const int64_t bits = __double_as_longlong(x);

	if (x != x)
		return INT64_MAX;
	if (x == 0)
		return 0;
	return bits < 0 ? bits ^ INT64_MAX : bits;
}

/* Does b take the place of a? */
__device__ __forceinline__ bool
takes_place(bool is_max, const Rank &a, const Rank &b)
{
	if (a.record == NOBODY || b.record == NOBODY)
		return b.record != NOBODY;
	if (a.high != b.high)
		return ((int64_t) b.high < (int64_t) a.high) != is_max;
	if (a.low != b.low)
		return (b.low < a.low) != is_max;
	return b.record > a.record;
}

__device__ __forceinline__ void
join_ranks(bool is_max, Rank *a, const Rank &b)
{
	const uint32_t count = a->count + b.count;

	if (takes_place(is_max, *a, b))
		*a = b;
	a->count = count;
}

__device__ __forceinline__ Rank
rank_of(const PpFusedJob &job, const PpAggregate &g, uint32_t r)
{
	const size_t i = (size_t) g.column * job.room + r;
	Rank		b = {0, 0, r, 1};

	if (is_numeric(g.op))
	{
		const Sum	v = numeric_value(numeric_at(job, i), g.fraction);

		b.low = v.low;
		b.high = v.high;
	}
	else
	{
		const uint64_t v = job.value[i];

		b.high = (uint64_t) float_rank(g.op == PP_AGGREGATE_MIN_FLOAT4 || g.op == PP_AGGREGATE_MAX_FLOAT4 ?
									   (double) pp_bits_to_float(v) : pp_bits_to_double(v));
	}
	return b;
}

struct RanksShared
{
	Rank		rank[THREADS / 32];
};

/* The best of all of the block's threads, in the first one. */
__device__ __forceinline__ void
join_block(bool is_max, RanksShared &sh, Rank *best)
{
	for (uint32_t d = 16; d > 0; d /= 2)
	{
		Rank		other;

		other.low = __shfl_down_sync(ALL, best->low, d);
		other.high = __shfl_down_sync(ALL, best->high, d);
		other.record = __shfl_down_sync(ALL, best->record, d);
		other.count = __shfl_down_sync(ALL, best->count, d);
		if (threadIdx.x % 32 + d < 32)
			join_ranks(is_max, best, other);
	}
	if (threadIdx.x % 32 == 0)
		sh.rank[threadIdx.x / 32] = *best;
	__syncthreads();
	if (threadIdx.x == 0)
		for (uint32_t w = 1; w < THREADS / 32; w++)
			join_ranks(is_max, best, sh.rank[w]);
}

__device__ __forceinline__ bool
is_max_of(PpAggregateOp op)
{
	return op == PP_AGGREGATE_MAX_FLOAT4 || op == PP_AGGREGATE_MAX_FLOAT8 || op == PP_AGGREGATE_MAX_NUMERIC;
}

/* The best of all records that are taken. */
__device__ __forceinline__ void
tell_best(const PpFusedJob &job, const PpAggregate &g, const Rank &best, PpPartial *out)
{
	const size_t i = (size_t) g.column * job.room + best.record;

	if (best.record == NOBODY)
		return;
	out->count = best.count;
	out->low = is_numeric(g.op) ? best.low : job.value[i];
	if (is_numeric(g.op))
	{
		out->high = (int64_t) best.high;
		out->scale = display_scale(job, i);
	}
}

/*
 * One aggregate for all blocks of a row of the grid: each block's best, to rank[]
 * or, of a single block, to partial[].
 */
__global__ void
__launch_bounds__(THREADS, BLOCKS_PER_SM)
select_ranks_kernel(PpFusedJob job, const PpAggregate *aggregate, PpPartial *partial,
					const uint8_t *flag, Rank *rank)
{
	PP_SHARED(RanksShared, sh);
	const PpAggregate g = aggregate[blockIdx.y];
	const uint32_t n = job.result->structure.nrecords;
	const size_t first = (size_t) g.column * job.room;
	Rank		best = {0, 0, NOBODY, 0};

	if (!pp_aggregate_is_ranked(g.op))
		return;
	for (uint32_t r = blockIdx.x * THREADS + threadIdx.x; r < n; r += gridDim.x * THREADS)
		if (flag[r] == PP_SELECT_TAKEN && job.state[first + r] == PP_VALUE)
			join_ranks(is_max_of(g.op), &best, rank_of(job, g, r));
	join_block(is_max_of(g.op), sh, &best);
	if (threadIdx.x != 0)
		return;
	if (gridDim.x == 1)
		tell_best(job, g, best, &partial[blockIdx.y]);
	else
		rank[(size_t) blockIdx.y * gridDim.x + blockIdx.x] = best;
}

/* A block an aggregate: the best of its nblocks. */
__global__ void
__launch_bounds__(THREADS)
select_best_kernel(PpFusedJob job, const PpAggregate *aggregate, PpPartial *partial, const Rank *rank,
				   uint32_t nblocks)
{
	PP_SHARED(RanksShared, sh);
	const PpAggregate g = aggregate[blockIdx.x];
	Rank		best = {0, 0, NOBODY, 0};

	if (!pp_aggregate_is_ranked(g.op))
		return;
	for (uint32_t i = threadIdx.x; i < nblocks; i += THREADS)
		join_ranks(is_max_of(g.op), &best, rank[(size_t) blockIdx.x * nblocks + i]);
	join_block(is_max_of(g.op), sh, &best);
	if (threadIdx.x == 0)
		tell_best(job, g, best, &partial[blockIdx.x]);
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

/*
 * MIN and MAX that are ranked.  What blocks find is kept where numbers of selected
 * records will be; there are fewer blocks if there is little room.
 */
cudaError_t
rank_records(const PpSelectJob *job, uint32_t blocks, PpStageClock *clock, cudaStream_t stream)
{
	const PpFusedJob *fused = job->job;
	const uint64_t places = (uint64_t) fused->room * sizeof(uint32_t) / sizeof(Rank) / job->naggregates;
	Rank	   *rank = reinterpret_cast<Rank *>(job->selected);
	cudaError_t e;

	if (places < blocks)
		blocks = places > 0 ? (uint32_t) places : 1;
	pp_stage(clock, PP_STAGE_FILTER, stream);
	PP_LAUNCH(select_ranks_kernel, dim3(blocks, job->naggregates), THREADS, 0, stream, *fused,
			  job->aggregate, job->partial, job->flag, rank);
	e = pp_launch_error();
	if (e != cudaSuccess || blocks == 1)
		return e;
	pp_stage(clock, PP_STAGE_FILTER, stream);
	PP_LAUNCH(select_best_kernel, job->naggregates, THREADS, 0, stream, *fused, job->aggregate,
			  job->partial, rank, blocks);
	return pp_launch_error();
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
	if (e == cudaSuccess && job->ranked)
	{
		pp_stage(clock, PP_STAGE_FILTER, stream);
		PP_LAUNCH(select_leave_kernel, blocks, THREADS, 0, stream, *fused, job->flag);
		e = pp_launch_error();
	}
	if (e == cudaSuccess && job->naggregates > 0)
	{
		pp_stage(clock, PP_STAGE_FILTER, stream);
		PP_LAUNCH(select_totals_kernel, dim3(blocks, job->naggregates), THREADS, 0, stream, *fused,
				  job->aggregate, job->partial, job->flag);
		e = pp_launch_error();
	}
	if (e == cudaSuccess && job->ranked)
		e = rank_records(job, blocks, clock, stream);
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

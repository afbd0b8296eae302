/*
 * cuda/join_answers.cu
 *	  Counts, groups and rows of what was built: stages in their order, batches
 *	  on their way back.
 *
 * Owns what stages count by value and the memory that answers come back through.
 *
 * Rows come in batches, the first of them small, as a LIMIT may want no more.
 * From the second on the device works at the next batch while one is on its way
 * back: each has memory of its own, here and there, and copies go by a stream
 * of their own behind an event.
 */
#include "join_driver.h"

#include <cstring>
#include <initializer_list>

namespace
{

/* Rows of the first batch, and of the largest one; each is larger by so much. */
constexpr uint32_t FIRST_BATCH = 1024;
constexpr uint32_t LAST_BATCH = 1u << 20;
constexpr uint32_t BATCH_GROWTH = 8;

/* Rows of a batch where memory is short, and bytes of one where it is not. */
constexpr uint32_t LEAST_BATCH = 64;
constexpr size_t BATCH_BYTES = (size_t) 32 << 20;

/* Of the device's memory, the part that batches may have. */
constexpr uint64_t BATCH_PART = 8;

/* Groups that come back at a time. */
constexpr uint32_t GROUPS_BATCH = 65536;

constexpr uint32_t BLOCK = 256;

/* ---------- counting ---------- */

PpJoinStatus
clear_total(PpDeviceJoin *d)
{
	PpJoinSignals *there = reinterpret_cast<PpJoinSignals *>(d->signals.p);

	return pp_join_clear(d, there->total, sizeof(there->total));
}

/* Has a stage counted; with an algorithm that needs less memory, if need be. */
PpJoinStatus
count_stage(PpCudaJoin *j, uint32_t s)
{
	PpDeviceJoin *d = &j->device;
	const PpStage *stage = &d->plan.stage[s];
	uint64_t   *out = stage->by_value ? reinterpret_cast<uint64_t *>(d->counted[s].p) : nullptr;
	PpJoinStatus status = PP_JOIN_NO_FIT;

	for (uint32_t pass = d->info.algorithm == PP_CUDA_JOIN_OPTIMIZED ? 0 : 1;
		 pass < 2 && status == PP_JOIN_NO_FIT; pass++)
	{
		if (pass == 1 && d->info.algorithm == PP_CUDA_JOIN_OPTIMIZED)
		{
			if (!j->automatic)
				break;
			d->info.algorithm = PP_CUDA_JOIN_LFTJ;
		}
		status = out ? pp_join_clear(d, out, d->nkeys * sizeof(uint64_t)) : clear_total(d);
		if (status == PP_JOIN_OK)
			status = pass == 0 ? pp_optimized_count(d, s, out) : pp_lftj_count(d, s, out);
	}
	return status;
}

/* All stages but the last; *factor: what constants multiply to. */
PpJoinStatus
count_before(PpCudaJoin *j, PpUint128 *factor)
{
	PpDeviceJoin *d = &j->device;
	PpUint128	total[PP_JOIN_MAX_VARIABLES];

	*factor = 1;
	for (uint32_t s = 0; s + 1 < d->plan.nstages; s++)
	{
		PpJoinSignals signals;
		PpJoinStatus status = count_stage(j, s);

		if (status == PP_JOIN_OK)
			status = pp_join_signals(d, &signals);
		if (status != PP_JOIN_OK)
			return status;
		total[s] = (PpUint128) signals.total[1] << 64 | signals.total[0];
	}
	for (uint32_t c = 0; c < d->plan.nconstants; c++)
	{
		PpUint128	by = total[d->plan.constant[c]];

		if (by != 0 && *factor > ~(PpUint128) 0 / by)
			return PP_JOIN_HANDED_OVER;
		*factor *= by;
	}
	return PP_JOIN_OK;
}

/* ---------- batches on their way back ---------- */

__global__ void __launch_bounds__(BLOCK)
name_rows(const int64_t *names, const uint32_t *values, uint32_t capacity, uint32_t n,
		  uint32_t nvariables, int64_t *keys)
{
	const uint64_t total = (uint64_t) n * nvariables;

	for (uint64_t i = (uint64_t) blockIdx.x * BLOCK + threadIdx.x; i < total;
		 i += (uint64_t) gridDim.x * BLOCK)
	{
		const uint64_t v = i / n;

		keys[i] = names[values[v * capacity + (i - v * n)]];
	}
}

size_t
row_bytes(const PpCudaJoin *j)
{
	const PpDeviceJoin *d = &j->device;

	return d->nvariables * sizeof(int64_t) + (d->row_numbers ? d->natoms * sizeof(uint32_t) : 0);
}

/* Rows that a batch may have for the memory of the host's that it takes. */
uint32_t
most_rows(const PpCudaJoin *j)
{
	size_t		bytes = j->budget.limit / 8 < BATCH_BYTES ? j->budget.limit / 8 : BATCH_BYTES;
	size_t		rows = bytes / row_bytes(j);

	return rows < LEAST_BATCH ? LEAST_BATCH : rows < LAST_BATCH ? (uint32_t) rows : LAST_BATCH;
}

PpJoinStatus
reserve_rows(PpCudaJoin *j, PpJoinBatch *b, uint32_t capacity)
{
	PpDeviceJoin *d = &j->device;
	PpJoinStatus status = pp_join_reserve(d, &j->values, (uint64_t) capacity * d->nvariables * sizeof(uint32_t));

	if (status == PP_JOIN_OK)
		status = pp_join_reserve(d, &b->keys, (uint64_t) capacity * d->nvariables * sizeof(int64_t));
	if (status == PP_JOIN_OK && d->row_numbers)
		status = pp_join_reserve(d, &b->rows, (uint64_t) capacity * d->natoms * sizeof(uint32_t));
	if (status == PP_JOIN_OK)
		status = pp_join_reserve(d, &b->host, capacity * row_bytes(j));
	return status;
}

/*
 * Before anything is known of the algorithm's needs: with little memory, batches
 * have a part of it from the beginning, so that they need not grow into what it
 * takes then.
 */
void
settle_batches(PpCudaJoin *j)
{
	const PpDeviceJoin *d = &j->device;
	const uint64_t bytes = 2 * row_bytes(j) + d->nvariables * sizeof(uint32_t);
	const uint64_t rows = pp_memory_left() / BATCH_PART / bytes;

	if (rows >= j->largest)
		return;
	j->largest = rows > LEAST_BATCH ? (uint32_t) rows : LEAST_BATCH;
	if (j->batch_rows > j->largest)
		j->batch_rows = j->largest;
	for (PpJoinBatch &b : j->batch)
		if (reserve_rows(j, &b, j->largest) != PP_JOIN_OK)
			break;
}

/* Room for the next batch, fewer rows if memory does not suffice for more. */
PpJoinStatus
room_for_rows(PpCudaJoin *j, PpJoinBatch *b)
{
	PpJoinStatus status;

	if (j->rows == nullptr)
		settle_batches(j);
	for (;;)
	{
		status = reserve_rows(j, b, j->batch_rows);
		if (status != PP_JOIN_NO_FIT || j->batch_rows <= LEAST_BATCH)
			break;
		j->batch_rows = j->batch_rows / 2 > LEAST_BATCH ? j->batch_rows / 2 : LEAST_BATCH;
		j->largest = j->batch_rows;
	}
	b->capacity = j->batch_rows;
	j->batch_rows = j->batch_rows > j->largest / BATCH_GROWTH ? j->largest : j->batch_rows * BATCH_GROWTH;
	return status;
}

PpJoinStatus
copy_back(PpCudaJoin *j, void *to, const void *from, size_t bytes)
{
	j->device.info.d2h_bytes += bytes;
	return pp_join_call("a copy failed", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, j->out));
}

/* What is copied on the way out between these two comes behind the rest. */
PpJoinStatus
copy_begin(PpCudaJoin *j, PpJoinBatch *b)
{
	cudaError_t e = cudaEventRecord(b->ready, j->device.stream);

	if (e == cudaSuccess)
		e = cudaStreamWaitEvent(j->out, b->ready, 0);
	if (e == cudaSuccess)
		e = cudaEventRecord(b->begin, j->out);
	return pp_join_call("recording an event failed", e);
}

PpJoinStatus
copy_end(PpCudaJoin *j, PpJoinBatch *b)
{
	b->copying = true;
	return pp_join_call("recording an event failed", cudaEventRecord(b->done, j->out));
}

PpJoinStatus
copy_wait(PpCudaJoin *j, PpJoinBatch *b)
{
	PpJoinStatus status;
	float		ms = 0;

	if (!b->copying)
		return PP_JOIN_OK;
	status = pp_join_wait_for(j, nullptr, b->done);
	if (status != PP_JOIN_OK)
		return status;
	b->copying = false;
	if (cudaEventElapsedTime(&ms, b->begin, b->done) == cudaSuccess)
		j->device.info.d2h_seconds += ms / 1e3;
	(void) cudaGetLastError();
	return PP_JOIN_OK;
}

/* The next rows, on their way to a batch's memory here. */
PpJoinStatus
send_rows(PpCudaJoin *j, PpJoinBatch *b)
{
	PpDeviceJoin *d = &j->device;
	const PpRowsNext next = d->info.algorithm == PP_CUDA_JOIN_OPTIMIZED ? pp_optimized_rows : pp_lftj_rows;
	uint32_t   *values;
	uint32_t   *rows;
	PpJoinStatus status = room_for_rows(j, b);

	b->n = 0;
	b->taken = 0;
	if (status != PP_JOIN_OK)
		return status;
	values = reinterpret_cast<uint32_t *>(j->values.p);
	rows = d->row_numbers ? reinterpret_cast<uint32_t *>(b->rows.p) : nullptr;
	status = next(d, &j->rows, values, rows, b->capacity, &b->n);
	if (status == PP_JOIN_NO_FIT && j->automatic && next == pp_optimized_rows && !j->sent)
	{
		/* depth first takes less memory, and no row has been seen yet */
		pp_optimized_rows_close(d, j->rows);
		j->rows = nullptr;
		d->info.algorithm = PP_CUDA_JOIN_LFTJ;
		status = pp_lftj_rows(d, &j->rows, values, rows, b->capacity, &b->n);
	}
	if (status == PP_JOIN_OK)
		status = pp_join_signals(d, nullptr);
	if (status != PP_JOIN_OK || b->n == 0)
		return status;
	j->sent = true;
	PP_LAUNCH(name_rows, (uint32_t) (((uint64_t) b->n * d->nvariables + BLOCK - 1) / BLOCK), BLOCK, 0,
			  d->stream, reinterpret_cast<const int64_t *>(d->names.p), values, b->capacity, b->n,
			  d->nvariables, reinterpret_cast<int64_t *>(b->keys.p));
	status = pp_join_launched(d, "naming rows failed");
	if (status == PP_JOIN_OK)
		status = copy_begin(j, b);
	if (status == PP_JOIN_OK)
		status = copy_back(j, b->host.p, b->keys.p, b->n * d->nvariables * sizeof(int64_t));
	for (uint32_t a = 0; a < d->natoms && rows && status == PP_JOIN_OK; a++)
		status = copy_back(j, b->host.p + b->n * (d->nvariables * sizeof(int64_t) + a * sizeof(uint32_t)),
						   rows + (size_t) a * b->capacity, b->n * sizeof(uint32_t));
	return status == PP_JOIN_OK ? copy_end(j, b) : status;
}

/* The next numbers' keys and counts, some of which are 0. */
PpJoinStatus
send_groups(PpCudaJoin *j, PpJoinBatch *b)
{
	PpDeviceJoin *d = &j->device;
	const uint32_t left = d->nkeys - j->next_group;
	PpJoinStatus status;

	b->n = left < GROUPS_BATCH ? left : GROUPS_BATCH;
	b->taken = 0;
	if (b->n == 0)
		return PP_JOIN_OK;
	status = pp_join_reserve(d, &b->host, b->n * (sizeof(int64_t) + sizeof(uint64_t)));
	if (status == PP_JOIN_OK)
		status = copy_begin(j, b);
	if (status == PP_JOIN_OK)
		status = copy_back(j, b->host.p, reinterpret_cast<int64_t *>(d->names.p) + j->next_group,
						   b->n * sizeof(int64_t));
	if (status == PP_JOIN_OK)
		status = copy_back(j, b->host.p + b->n * sizeof(int64_t),
						   reinterpret_cast<uint64_t *>(j->groups->p) + j->next_group,
						   b->n * sizeof(uint64_t));
	j->next_group += b->n;
	return status == PP_JOIN_OK ? copy_end(j, b) : status;
}

/*
 * Puts the next batch in hand; the one behind it is begun meanwhile, unless
 * this is the first one of rows.
 */
PpJoinStatus
next_batch(PpCudaJoin *j, PpJoinStatus (*send) (PpCudaJoin *j, PpJoinBatch *b), bool first_alone)
{
	const bool	first = !j->begun;
	PpJoinStatus status = PP_JOIN_OK;

	if (!first)
		j->current ^= 1;
	j->begun = true;
	if (!j->ahead)
		status = send(j, &j->batch[j->current]);
	j->ahead = false;
	if (status == PP_JOIN_OK && j->batch[j->current].n == 0)
		j->ended = true;
	if (status == PP_JOIN_OK && !j->ended && !(first && first_alone))
	{
		status = send(j, &j->batch[j->current ^ 1]);
		j->ahead = true;
	}
	if (status == PP_JOIN_OK)
		status = copy_wait(j, &j->batch[j->current]);
	return status;
}
/* ---------- groups ---------- */

PpJoinStatus
count_groups(PpCudaJoin *j)
{
	PpDeviceJoin *d = &j->device;
	PpJoinStatus status;

	j->factor = 1;
	if (d->info.algorithm == PP_CUDA_JOIN_DEGREE)
	{
		j->groups = &d->counted[0];
		status = pp_join_reserve(d, j->groups, d->nkeys * sizeof(uint64_t));
		if (status == PP_JOIN_OK)
			status = pp_join_clear(d, j->groups->p, d->nkeys * sizeof(uint64_t));
		if (status == PP_JOIN_OK)
			status = pp_degree_groups(d, reinterpret_cast<uint64_t *>(j->groups->p));
	}
	else
	{
		j->groups = &d->counted[d->plan.nstages - 1];
		status = count_before(j, &j->factor);
		if (status == PP_JOIN_OK && j->factor > 0)
			status = count_stage(j, d->plan.nstages - 1);
	}
	if (status == PP_JOIN_OK)
		status = pp_join_signals(d, nullptr);
	j->ended = j->factor == 0;
	return status;
}

/* ---------- rows ---------- */

/* Copies what the batch in hand has and the caller has room for. */
void
serve_rows(PpCudaJoin *j, PpJoinBatch *b, int64_t *keys, uint32_t *rows, size_t capacity, size_t *n)
{
	const PpDeviceJoin *d = &j->device;
	const size_t left = b->n - b->taken;
	const size_t m = capacity - *n < left ? capacity - *n : left;
	const int64_t *key = reinterpret_cast<const int64_t *>(b->host.p);
	const uint32_t *row = reinterpret_cast<const uint32_t *>(key + (size_t) b->n * d->nvariables);

	for (uint32_t v = 0; v < d->nvariables && keys; v++)
		memcpy(keys + v * capacity + *n, key + (size_t) v * b->n + b->taken, m * sizeof(*keys));
	for (uint32_t a = 0; a < d->natoms && rows; a++)
		memcpy(rows + a * capacity + *n, row + (size_t) a * b->n + b->taken, m * sizeof(*rows));
	b->taken += (uint32_t) m;
	*n += m;
}

}								/* namespace */

PpJoinStatus
pp_answer_count(PpCudaJoin *j, PpCount *count)
{
	PpDeviceJoin *d = &j->device;
	PpUint128	factor = 1;
	PpUint128	total = 0;
	PpJoinSignals signals;
	PpJoinStatus status = pp_join_phase(d, PP_JOIN_PHASE_JOIN);

	if (j->none || status != PP_JOIN_OK)
		return status;
	if (d->info.algorithm == PP_CUDA_JOIN_DEGREE || d->info.algorithm == PP_CUDA_JOIN_PAIRWISE)
	{
		status = clear_total(d);
		if (status == PP_JOIN_OK)
			status = d->info.algorithm == PP_CUDA_JOIN_DEGREE ? pp_degree_count(d) :
				pp_pairwise_count(d, &j->query);
	}
	else
	{
		status = count_before(j, &factor);
		if (status == PP_JOIN_OK && factor > 0)
			status = count_stage(j, d->plan.nstages - 1);
	}
	if (status == PP_JOIN_OK)
		status = pp_join_signals(d, &signals);
	if (status != PP_JOIN_OK || factor == 0)
		return status;
	total = (PpUint128) signals.total[1] << 64 | signals.total[0];
	if (total > ~(PpUint128) 0 / factor)
		return PP_JOIN_HANDED_OVER;
	total *= factor;
	count->low = (uint64_t) total;
	count->high = (uint64_t) (total >> 64);
	return PP_JOIN_OK;
}

PpJoinStatus
pp_answer_groups(PpCudaJoin *j, int64_t *keys, PpCount *counts, size_t capacity, size_t *n)
{
	PpJoinStatus status = PP_JOIN_OK;

	if (!j->begun && !j->none)
	{
		status = pp_join_phase(&j->device, PP_JOIN_PHASE_JOIN);
		if (status == PP_JOIN_OK)
			status = count_groups(j);
	}
	while (status == PP_JOIN_OK && *n < capacity && !j->none && !j->ended)
	{
		PpJoinBatch *b = &j->batch[j->current];
		const int64_t *key = reinterpret_cast<const int64_t *>(b->host.p);
		const uint64_t *times = reinterpret_cast<const uint64_t *>(b->host.p + b->n * sizeof(int64_t));

		for (; b->taken < b->n && *n < capacity; b->taken++)
		{
			PpUint128	total = times[b->taken];

			if (total == 0)
				continue;
			if (total > ~(PpUint128) 0 / j->factor)
				return PP_JOIN_HANDED_OVER;
			total *= j->factor;
			keys[*n] = key[b->taken];
			counts[*n].low = (uint64_t) total;
			counts[*n].high = (uint64_t) (total >> 64);
			++*n;
		}
		if (b->taken == b->n && *n < capacity)
			status = next_batch(j, send_groups, false);
	}
	return status;
}

PpJoinStatus
pp_answer_rows(PpCudaJoin *j, int64_t *keys, uint32_t *rows, size_t capacity, size_t *n)
{
	PpJoinStatus status = PP_JOIN_OK;

	while (status == PP_JOIN_OK && *n < capacity && !j->none && !j->ended)
	{
		PpJoinBatch *b = &j->batch[j->current];

		if (b->taken < b->n)
			serve_rows(j, b, keys, rows, capacity, n);
		else
		{
			status = pp_join_phase(&j->device, PP_JOIN_PHASE_JOIN);
			if (status == PP_JOIN_OK)
				status = next_batch(j, send_rows, true);
		}
	}
	return status;
}

void
pp_answer_close(PpCudaJoin *j)
{
	if (j->device.info.algorithm == PP_CUDA_JOIN_OPTIMIZED)
		pp_optimized_rows_close(&j->device, j->rows);
	else
		pp_lftj_rows_close(&j->device, j->rows);
	j->rows = nullptr;
}

void
pp_answer_begin(PpCudaJoin *j)
{
	for (PpJoinBatch &b : j->batch)
	{
		b.n = 0;
		b.taken = 0;
		b.copying = false;
	}
	j->current = 0;
	j->largest = most_rows(j);
	j->batch_rows = j->largest < FIRST_BATCH ? j->largest : FIRST_BATCH;
	j->begun = false;
	j->sent = false;
	j->ahead = false;
	j->ended = false;
	j->next_group = 0;
}

PpJoinStatus
pp_answer_events(PpCudaJoin *j)
{
	cudaError_t e = cudaSuccess;

	for (PpJoinBatch &b : j->batch)
		for (cudaEvent_t *event : {&b.ready, &b.begin, &b.done})
			if (e == cudaSuccess)
				e = cudaEventCreate(event);
	return pp_join_call("making an event failed", e);
}

void
pp_answer_release(PpCudaJoin *j)
{
	pp_answer_close(j);
	pp_buffer_release(&j->values);
	for (PpJoinBatch &b : j->batch)
	{
		pp_buffer_release(&b.keys);
		pp_buffer_release(&b.rows);
		pp_buffer_release(&b.host);
		for (cudaEvent_t *event : {&b.ready, &b.begin, &b.done})
		{
			if (*event != nullptr)
				(void) cudaEventDestroy(*event);
			*event = nullptr;
		}
	}
}

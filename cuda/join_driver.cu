/*
 * cuda/join_driver.cu
 *	  Joins of the device: opening and building, waiting and cancelling, time
 *	  and memory, and the table of library.h.
 *
 * Owns streams, the clock's events, signals and stages.  Knows nothing of how
 * keys are numbered, tries built or stages gone through.
 */
#include "join_driver.h"

#include <chrono>
#include <cstring>
#include <initializer_list>
#include <time.h>

namespace
{

/* Questions to the device without a pause, and how long the pause is then. */
constexpr uint32_t SPINS = 64;
constexpr long PAUSE_NS = 20000;
constexpr int64_t ASK_NS = 1000000;

/* Device memory for each row with which a join is believed to fit. */
constexpr uint64_t SHORT_BYTES = 256;

/* Bytes that a value takes in frontiers. */
constexpr uint64_t FRONTIER_BYTES = 64;

PpCudaJoin *open_joins;

int64_t
now_ns(void)
{
	return std::chrono::duration_cast<std::chrono::nanoseconds>(
		std::chrono::steady_clock::now().time_since_epoch()).count();
}

void *
draw(void *ctx, size_t size)
{
	return pp_budget_alloc(static_cast<PpBudget *>(ctx), 1, size);
}

void
give_back(void *ctx, void *p)
{
	pp_budget_release(static_cast<PpBudget *>(ctx), p);
}

void
note_memory(PpCudaJoin *j)
{
	j->used = pp_memory_counts().used - j->used_by_others;
	if (j->used > j->device.info.peak_device_bytes)
		j->device.info.peak_device_bytes = j->used;
}

/* ---------- opening and freeing ---------- */

void
destroy_event(cudaEvent_t *event)
{
	if (*event != nullptr)
		(void) cudaEventDestroy(*event);
	*event = nullptr;
}

void
drop_built(PpDeviceJoin *d)
{
	pp_degree_release(d);
	pp_device_build_release(d);
	pp_buffer_release(&d->stages);
	for (PpBuffer &b : d->counted)
		pp_buffer_release(&b);
}

/* Takes from a join what it has on the device. */
void
stop_join(PpCudaJoin *j)
{
	PpDeviceJoin *d = &j->device;

	if (j->stopped)
		return;
	j->stopped = true;
	pp_boxes_release(j);
	/* nothing may work on what is put back */
	for (cudaStream_t stream : {d->stream, j->out})
		if (stream != nullptr)
			(void) cudaStreamSynchronize(stream);
	pp_answer_release(j);
	drop_built(d);
	pp_buffer_release(&d->signals);
	pp_buffer_release(&j->pinned);
	for (cudaEvent_t &event : j->clock)
		destroy_event(&event);
	for (cudaStream_t *stream : {&d->stream, &j->out})
	{
		if (*stream != nullptr)
			(void) cudaStreamDestroy(*stream);
		*stream = nullptr;
	}
	(void) cudaGetLastError();
}

PpJoinStatus
make_events(PpCudaJoin *j)
{
	cudaError_t e = cudaSuccess;

	for (cudaEvent_t &event : j->clock)
		if (e == cudaSuccess)
			e = cudaEventCreate(&event);
	return pp_join_call("making an event failed", e);
}

PpJoinStatus
open_device(PpCudaJoin *j)
{
	PpDeviceJoin *d = &j->device;
	PpJoinStatus status;

	for (cudaStream_t *stream : {&d->stream, &j->out})
	{
		status = pp_join_call("making a stream failed",
							  cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
		if (status != PP_JOIN_OK)
			return status;
	}
	status = make_events(j);
	if (status == PP_JOIN_OK)
		status = pp_answer_events(j);
	if (status == PP_JOIN_OK)
		status = pp_join_reserve(d, &d->signals, sizeof(PpJoinSignals));
	if (status == PP_JOIN_OK)
		status = pp_join_reserve(d, &j->pinned, 2 * sizeof(PpJoinSignals));
	if (status == PP_JOIN_OK)
		status = pp_join_clear(d, d->signals.p, sizeof(PpJoinSignals));
	/* the word to stop comes by another stream, and must not come before */
	if (status == PP_JOIN_OK)
		status = pp_join_call("waiting for it failed", cudaStreamSynchronize(d->stream));
	return status;
}

/* ---------- time ---------- */

/* Adds up the phases that are done. */
void
read_clock(PpCudaJoin *j)
{
	double	   *const seconds[PP_JOIN_PHASES] = {
		&j->device.info.h2d_seconds, &j->device.info.build_seconds,
		&j->device.info.join_seconds, &j->device.info.d2h_seconds
	};

	for (uint32_t i = 0; i < j->nphases; i++)
	{
		float		ms = 0;

		if (cudaEventElapsedTime(&ms, j->clock[i], j->clock[i + 1]) == cudaSuccess)
			*seconds[j->phase[i]] += ms / 1e3;
	}
	(void) cudaGetLastError();
}

/* ---------- asking whether to go on ---------- */

/* Has kernels end, and waits until they have. */
void
stop_kernels(PpCudaJoin *j)
{
	PpJoinSignals *word = reinterpret_cast<PpJoinSignals *>(j->pinned.p) + 1;
	PpJoinSignals *there = reinterpret_cast<PpJoinSignals *>(j->device.signals.p);

	word->stop = 1;
	if (cudaMemcpyAsync(&there->stop, &word->stop, sizeof(word->stop), cudaMemcpyHostToDevice,
						j->out) == cudaSuccess)
		(void) cudaStreamSynchronize(j->out);
	(void) cudaStreamSynchronize(j->device.stream);
	(void) cudaGetLastError();
}

/* ---------- building ---------- */

void
count_tries(PpDeviceJoin *d)
{
	d->info.ntries = d->plan.ntries;
	d->info.nshared = d->plan.nshared;
	for (uint32_t v = 0; v < d->nvariables; v++)
		d->info.order[v] = d->plan.order[v];
}

PpJoinStatus
build_tries(PpDeviceJoin *d)
{
	for (uint32_t t = 0; t < d->plan.ntries; t++)
	{
		bool		last = true;
		PpJoinStatus status = pp_device_trie(d, t, d->row_numbers);

		if (status != PP_JOIN_OK)
			return status;
		for (uint32_t u = t + 1; u < d->plan.ntries; u++)
			last &= d->plan.trie[u].relation != d->plan.trie[t].relation;
		if (last)
			pp_device_codes_release(d, d->plan.trie[t].relation);
	}
	return PP_JOIN_OK;
}

/* Brings the stages to the device, with room for what they count by value. */
PpJoinStatus
upload_stages(PpCudaJoin *j)
{
	PpDeviceJoin *d = &j->device;
	const uint64_t bytes = d->plan.nstages * sizeof(PpDeviceStage);
	PpDeviceStage *stages;
	PpBuffer	host = {PP_MEMORY_PINNED, nullptr, 0};
	PpJoinStatus status = pp_join_reserve(d, &d->stages, bytes);

	for (uint32_t s = 0; s < d->plan.nstages && status == PP_JOIN_OK; s++)
		if (d->plan.stage[s].by_value)
			status = pp_join_reserve(d, &d->counted[s], d->nkeys * sizeof(uint64_t));
	if (status == PP_JOIN_OK)
		status = pp_join_reserve(d, &host, bytes);
	if (status != PP_JOIN_OK)
		return status;
	stages = reinterpret_cast<PpDeviceStage *>(host.p);
	memset(host.p, 0, bytes);
	for (uint32_t s = 0; s < d->plan.nstages; s++)
	{
		stages[s].plan = d->plan.stage[s];
		stages[s].nkeys = d->nkeys;
		for (uint32_t t = 0; t < d->plan.ntries; t++)
			stages[s].trie[t] = d->trie[t];
		for (uint32_t f = 0; f < d->plan.nstages; f++)
			stages[s].factor[f] = reinterpret_cast<uint64_t *>(d->counted[f].p);
	}
	status = pp_join_copy(d, d->stages.p, host.p, bytes, cudaMemcpyHostToDevice);
	if (status == PP_JOIN_OK)
		status = pp_join_wait(d);
	else
		(void) cudaStreamSynchronize(d->stream);
	pp_buffer_release(&host);
	return status;
}

PpJoinStatus
number(PpCudaJoin *j, const PpJoinQuery *query)
{
	bool		used[PP_JOIN_MAX_RELATIONS] = {false};
	PpJoinStatus status = PP_JOIN_OK;

	for (uint32_t a = 0; a < query->natoms; a++)
		used[query->atoms[a].relation] = true;
	status = pp_device_number(&j->device, query, used);
	j->device.info.nkeys = j->device.nkeys;
	return status;
}

PpJoinStatus
plan(PpCudaJoin *j, const PpJoinQuery *query)
{
	PpDeviceJoin *d = &j->device;
	PpJoinSides sides[PP_JOIN_MAX_RELATIONS] = {};

	for (uint32_t r = 0; r < query->nrelations; r++)
		sides[r] = d->relation[r].sides;
	return pp_stages_plan(query, sides, d->alloc, &d->plan);
}

/* Plan, tries and stages, once keys are numbered. */
PpJoinStatus
build_general(PpCudaJoin *j, const PpJoinQuery *query)
{
	PpDeviceJoin *d = &j->device;
	PpJoinStatus status = plan(j, query);

	if (status != PP_JOIN_OK)
		return status;
	j->none = d->nkeys == 0 || d->plan.empty;
	count_tries(d);
	if (!j->none)
		status = build_tries(d);
	if (status == PP_JOIN_OK && !j->none)
		status = upload_stages(j);
	return status;
}

/*
 * Breadth first, which is the faster one of the paper's, and whose rows come in
 * an order that is easily told; but depth first, which needs no frontiers, where
 * there is no memory for those of one list's values.
 */
PpCudaJoinAlgorithm
choose(const PpDeviceJoin *d)
{
	uint64_t	longest = 0;

	for (uint32_t t = 0; t < d->plan.ntries; t++)
		if (d->trie[t].longest > longest)
			longest = d->trie[t].longest;
	return pp_memory_left() / FRONTIER_BYTES < longest ? PP_CUDA_JOIN_LFTJ : PP_CUDA_JOIN_OPTIMIZED;
}

/* ---------- the table ---------- */

/* Is the device's memory so short that building, or even joining, may fail? */
bool
is_short(const PpJoinQuery *query, PpCudaRelation *const *resident)
{
	uint64_t	rows = 0;

	for (uint32_t r = 0; r < query->nrelations; r++)
	{
		uint64_t	n = query->relations[r].nrows;

		if (resident != nullptr && resident[r] != nullptr && !pp_relation_rows(resident[r], &n))
			return false;
		rows += n;
	}
	return rows > pp_memory_left() / SHORT_BYTES;
}

/* As a whole, or in boxes where that does not fit or might not. */
PpJoinStatus
build_any(PpCudaJoin *j, const PpJoinQuery *query, PpCudaJoinAlgorithm algorithm)
{
	PpDeviceJoin *d = &j->device;
	const bool	boxes = is_short(query, d->resident);
	PpJoinStatus status = boxes ? pp_boxes_open(j, query, algorithm, false) : PP_JOIN_NO_FIT;

	if (!boxes || (status == PP_JOIN_NO_FIT && d->info.nboxes == 0))
	{
		pp_boxes_release(j);
		status = pp_join_build_as(j, query, algorithm);
		if (status != PP_JOIN_NO_FIT || boxes)
			return status;
		status = pp_join_wait(d);
		drop_built(d);
		if (status == PP_JOIN_OK)
			status = pp_boxes_open(j, query, algorithm, true);
	}
	return status;
}

PpJoinStatus
build(const PpJoinQuery *query, PpCudaRelation *const *resident, PpCudaJoinAlgorithm algorithm,
	  const PpAlloc *alloc, size_t budget, PpCudaJoin **out)
{
	PpDeviceJoin *d;
	PpCudaJoin *j;
	PpJoinStatus status = pp_device_join_open(query, alloc, budget, &d);

	*out = nullptr;
	if (status != PP_JOIN_OK)
		return status;
	j = pp_join_of(d);
	pp_join_enter(j);
	d->resident = resident;
	status = pp_join_leave(j, build_any(j, query, algorithm));
	if (status != PP_JOIN_OK)
	{
		pp_device_join_free(d);
		return status;
	}
	d->resident = nullptr;
	*out = j;
	return PP_JOIN_OK;
}

PpJoinStatus
count(PpCudaJoin *j, PpCount *count)
{
	count->low = 0;
	count->high = 0;
	if (j->status != PP_JOIN_OK)
		return j->status;
	if (j->query.mode != PP_JOIN_COUNT)
		return PP_JOIN_INVALID;
	pp_join_enter(j);
	return pp_join_leave(j, j->boxes ? pp_boxes_count(j, count) : pp_answer_count(j, count));
}

PpJoinStatus
groups(PpCudaJoin *j, int64_t *keys, PpCount *counts, size_t capacity, size_t *n)
{
	*n = 0;
	if (j->status != PP_JOIN_OK)
		return j->status;
	if (j->query.mode != PP_JOIN_GROUPS)
		return PP_JOIN_INVALID;
	pp_join_enter(j);
	return pp_join_leave(j, j->boxes ? pp_boxes_groups(j, keys, counts, capacity, n) :
						 pp_answer_groups(j, keys, counts, capacity, n));
}

PpJoinStatus
rows(PpCudaJoin *j, int64_t *keys, uint32_t *rows, size_t capacity, size_t *n)
{
	*n = 0;
	if (j->status != PP_JOIN_OK)
		return j->status;
	if (j->query.mode != PP_JOIN_ROWS || (rows != nullptr && !j->device.row_numbers))
		return PP_JOIN_INVALID;
	pp_join_enter(j);
	return pp_join_leave(j, j->boxes ? pp_boxes_rows(j, keys, rows, capacity, n) :
						 pp_answer_rows(j, keys, rows, capacity, n));
}

void
rewind(PpCudaJoin *j)
{
	if (j->status != PP_JOIN_OK)
		return;
	pp_join_enter(j);
	j->status = pp_join_wait_for(j, j->out, nullptr);
	if (j->status == PP_JOIN_OK)
		j->status = pp_join_wait(&j->device);
	pp_answer_close(j);
	pp_answer_begin(j);
	if (j->boxes != nullptr)
		pp_boxes_rewind(j);
	(void) pp_join_leave(j, j->status);
}

void
info(const PpCudaJoin *j, PpCudaJoinInfo *out)
{
	*out = j->device.info;
}

void
free_join(PpCudaJoin *j)
{
	if (j != nullptr)
		pp_device_join_free(&j->device);
}

}								/* namespace */

/* ---------- entering and leaving ---------- */

void
pp_join_enter(PpCudaJoin *j)
{
	j->used_by_others = pp_memory_counts().used - j->used;
}

PpJoinStatus
pp_join_leave(PpCudaJoin *j, PpJoinStatus status)
{
	/* those who draw from the budget cannot tell why there was nothing */
	if (status == PP_JOIN_NO_MEMORY && j->budget.failure == PP_JOIN_NO_FIT)
		status = PP_JOIN_NO_FIT;
	note_memory(j);
	j->nphases = 0;
	j->status = status;
	j->device.info.host_bytes = j->budget.used;
	j->device.info.host_peak_bytes = j->budget.peak;
	return status;
}

bool
pp_join_cancelled(PpCudaJoin *j)
{
	const int64_t now = now_ns();

	if (j->device.cancelled == nullptr || now - j->asked < ASK_NS)
		return false;
	j->asked = now;
	return j->device.cancelled(j->device.cancel_ctx);
}

PpJoinStatus
pp_join_wait_for(PpCudaJoin *j, cudaStream_t stream, cudaEvent_t event)
{
	const struct timespec pause = {0, PAUSE_NS};
	cudaError_t e;

	for (uint32_t n = 0;; n++)
	{
		if (pp_join_cancelled(j))
		{
			stop_kernels(j);
			return PP_JOIN_CANCELLED;
		}
		e = event != nullptr ? cudaEventQuery(event) : cudaStreamQuery(stream);
		if (e != cudaErrorNotReady)
			break;
		(void) cudaGetLastError();
		if ((j->idle == nullptr || !j->idle(j->idle_ctx)) && n >= SPINS)
			(void) nanosleep(&pause, nullptr);
	}
	return pp_join_call("waiting for it failed", e);
}

PpJoinStatus
pp_join_build_as(PpCudaJoin *j, const PpJoinQuery *query, PpCudaJoinAlgorithm algorithm)
{
	PpDeviceJoin *d = &j->device;
	PpJoinStatus status = number(j, query);

	j->automatic = algorithm == PP_CUDA_JOIN_AUTO;
	if (status == PP_JOIN_OK && j->numbered != nullptr)
		status = j->numbered(j->idle_ctx);
	if (j->automatic || algorithm == PP_CUDA_JOIN_DEGREE)
		d->info.declined = pp_degree_match(query);
	if (status == PP_JOIN_OK && d->nkeys > 0 && (j->automatic || algorithm == PP_CUDA_JOIN_DEGREE) &&
		d->info.declined == PP_CUDA_DECLINED_NOT)
	{
		status = pp_degree_build(d, query);
		if (status == PP_JOIN_OK && d->degree != nullptr)
		{
			d->info.algorithm = PP_CUDA_JOIN_DEGREE;
			return PP_JOIN_OK;
		}
		/* codes are there still, and tries take less */
		if (status == PP_JOIN_NO_FIT && j->automatic)
		{
			d->info.declined = PP_CUDA_DECLINED_MEMORY;
			status = pp_join_wait(d);
		}
	}
	if (status == PP_JOIN_OK && algorithm == PP_CUDA_JOIN_PAIRWISE && query->mode == PP_JOIN_COUNT)
	{
		d->info.algorithm = PP_CUDA_JOIN_PAIRWISE;
		j->none = d->nkeys == 0;
		return PP_JOIN_OK;
	}
	if (status == PP_JOIN_OK)
		status = build_general(j, query);
	if (status == PP_JOIN_OK)
		d->info.algorithm = algorithm == PP_CUDA_JOIN_LFTJ || algorithm == PP_CUDA_JOIN_OPTIMIZED ?
			algorithm : choose(d);
	return status;
}


/* ---------- what the algorithms call ---------- */

PpJoinStatus
pp_join_call(const char *what, cudaError_t e)
{
	if (e == cudaSuccess)
		return PP_JOIN_OK;
	(void) pp_fail_call(what, e);
	return e == cudaErrorMemoryAllocation ? PP_JOIN_NO_FIT : PP_JOIN_DEVICE_FAILED;
}

PpJoinStatus
pp_join_launched(PpDeviceJoin *join, const char *what)
{
	join->info.launches++;
	return pp_join_call(what, pp_launch_error());
}

PpJoinStatus
pp_join_copy(PpDeviceJoin *join, void *dst, const void *src, uint64_t bytes, cudaMemcpyKind kind)
{
	if (bytes == 0)
		return PP_JOIN_OK;
	if (kind == cudaMemcpyHostToDevice)
		join->info.h2d_bytes += bytes;
	else if (kind == cudaMemcpyDeviceToHost)
		join->info.d2h_bytes += bytes;
	return pp_join_call("a copy failed", cudaMemcpyAsync(dst, src, bytes, kind, join->stream));
}

PpJoinStatus
pp_join_clear(PpDeviceJoin *join, void *p, uint64_t bytes)
{
	if (bytes == 0)
		return PP_JOIN_OK;
	return pp_join_call("clearing memory failed", cudaMemsetAsync(p, 0, bytes, join->stream));
}

PpJoinStatus
pp_join_reserve(PpDeviceJoin *join, PpBuffer *buffer, uint64_t bytes)
{
	if (!pp_buffer_reserve(buffer, bytes))
	{
		const bool	full = pp_buffer_error() == cudaErrorMemoryAllocation;

		(void) pp_fail_buffer(buffer);
		return full ? PP_JOIN_NO_FIT : PP_JOIN_DEVICE_FAILED;
	}
	note_memory(pp_join_of(join));
	return PP_JOIN_OK;
}

PpJoinStatus
pp_join_phase(PpDeviceJoin *join, PpJoinPhase phase)
{
	PpCudaJoin *j = pp_join_of(join);

	if (j->nphases == PP_JOIN_CLOCK || (j->nphases > 0 && j->phase[j->nphases - 1] == phase))
		return PP_JOIN_OK;
	j->phase[j->nphases] = (uint8_t) phase;
	return pp_join_call("recording an event failed", cudaEventRecord(j->clock[j->nphases++], join->stream));
}

PpJoinStatus
pp_join_wait(PpDeviceJoin *join)
{
	PpCudaJoin *j = pp_join_of(join);
	const uint32_t n = j->nphases;
	PpJoinStatus status = PP_JOIN_OK;

	if (n > 0)
		status = pp_join_call("recording an event failed", cudaEventRecord(j->clock[n], join->stream));
	if (status == PP_JOIN_OK)
		status = pp_join_wait_for(j, join->stream, nullptr);
	if (status != PP_JOIN_OK || n == 0)
		return status;
	read_clock(j);
	/* the last phase goes on */
	j->nphases = 0;
	return pp_join_phase(join, (PpJoinPhase) j->phase[n - 1]);
}

PpJoinStatus
pp_join_signals(PpDeviceJoin *join, PpJoinSignals *signals)
{
	PpCudaJoin *j = pp_join_of(join);
	PpJoinSignals *here = reinterpret_cast<PpJoinSignals *>(j->pinned.p);
	/* but for the word to stop, which may be on its way */
	const size_t from = offsetof(PpJoinSignals, overflow);
	PpJoinStatus status = pp_join_copy(join, j->pinned.p + from, join->signals.p + from, sizeof(*here) - from,
									   cudaMemcpyDeviceToHost);

	if (status == PP_JOIN_OK)
		status = pp_join_wait(join);
	if (status != PP_JOIN_OK)
		return status;
	join->info.seeks = here->seeks;
	if (signals != nullptr)
		*signals = *here;
	return here->overflow ? PP_JOIN_HANDED_OVER : PP_JOIN_OK;
}

/* ---------- joins ---------- */

PpJoinStatus
pp_device_join_open(const PpJoinQuery *query, const PpAlloc *alloc, size_t budget, PpDeviceJoin **out)
{
	const PpCancel cancel = {query->cancelled, query->cancel_ctx};
	PpBudget	own;
	PpCudaJoin *j;
	PpDeviceJoin *d;
	PpJoinStatus status;

	*out = nullptr;
	if (query->nvariables > PP_JOIN_MAX_VARIABLES || query->natoms > PP_JOIN_MAX_ATOMS ||
		query->nresiduals > PP_JOIN_MAX_RESIDUALS || query->nkeys > 0 || !pp_plan_valid(query))
		return PP_JOIN_INVALID;
	if (!pp_process_ready())
		return PP_JOIN_DEVICE_FAILED;
	pp_budget_init(&own, alloc, budget, &cancel);
	j = static_cast<PpCudaJoin *>(pp_budget_zeros(&own, 1, sizeof(PpCudaJoin)));
	if (j == nullptr)
		return own.failure;
	j->budget = own;
	memcpy(j->atoms, query->atoms, query->natoms * sizeof(PpJoinAtom));
	if (query->nresiduals > 0)
		memcpy(j->residuals, query->residuals, query->nresiduals * sizeof(PpJoinResidual));
	j->query = *query;
	j->query.atoms = j->atoms;
	j->query.residuals = j->residuals;
	j->query.relations = nullptr;
	j->asked = now_ns();
	for (PpJoinBatch &b : j->batch)
		b.host.kind = PP_MEMORY_PINNED;
	j->pinned.kind = PP_MEMORY_PINNED;
	j->link = &open_joins;
	j->next = open_joins;
	if (open_joins != nullptr)
		open_joins->link = &j->next;
	open_joins = j;

	d = &j->device;
	d->nvariables = query->nvariables;
	d->natoms = query->natoms;
	d->nrelations = query->nrelations;
	d->mode = query->mode;
	d->row_numbers = query->mode == PP_JOIN_ROWS && query->row_numbers;
	d->cancelled = query->cancelled;
	d->cancel_ctx = query->cancel_ctx;
	j->drawing = {draw, give_back, &j->budget};
	d->alloc = &j->drawing;
	d->info.nboxes = 1;
	d->info.dictionary = "none";
	pp_answer_begin(j);
	pp_join_enter(j);
	status = pp_join_leave(j, open_device(j));
	if (status != PP_JOIN_OK)
	{
		pp_device_join_free(d);
		return status;
	}
	*out = d;
	return PP_JOIN_OK;
}

void
pp_device_join_free(PpDeviceJoin *join)
{
	if (join != nullptr)
	{
		PpCudaJoin *j = pp_join_of(join);
		PpBudget	budget;

		stop_join(j);
		*j->link = j->next;
		if (j->next != nullptr)
			j->next->link = j->link;
		/* what counts it goes with it */
		budget = j->budget;
		pp_budget_release(&budget, j);
	}
}

void
pp_joins_stop(void)
{
	for (PpCudaJoin *j = open_joins; j != nullptr; j = j->next)
	{
		stop_join(j);
		j->status = PP_JOIN_DEVICE_FAILED;
	}
}

extern const PpCudaJoinTable pp_cuda_join_table = {
	build,
	free_join,
	info,
	count,
	groups,
	rows,
	rewind,
	pp_relation_open,
	pp_relation_close,
	pp_relation_append,
	pp_relation_rows,
	pp_relation_fetch
};

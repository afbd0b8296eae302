/*
 * cuda/join_ahead.cu
 *	  Rows of the next box, on their way to the device while it joins the box
 *	  before: through pinned memory, on a stream of their own, to memory that is
 *	  set aside for one box at a time.
 *
 * The only order there is with the joins: a box's build takes rows that have
 * arrived (an event of the relation), and what overwrites a box's rows comes
 * when its build has read them (the event "read").  Rows that nobody takes need
 * no care: what comes next is behind them on the same stream.
 *
 * Owns the stream, the ring of pinned memory and the memory set aside.  Sending
 * never waits, as it is done while the host waits for something else; only
 * opening and closing do.
 */
#include "join_driver.h"

#include <algorithm>

namespace
{

/* In front of an input's rows: how many there are, as a relation's piece has it. */
constexpr size_t HEAD = 256;

size_t
aligned(size_t bytes)
{
	return (bytes + HEAD - 1) / HEAD * HEAD;
}

/* Adds up what the copy from a slot took, once it is done. */
void
read_clock(PpAhead *a, PpAheadSlot *slot)
{
	float		ms = 0;

	if (slot->sent && cudaEventElapsedTime(&ms, slot->begin, slot->end) == cudaSuccess)
		a->seconds += ms / 1e3;
	slot->sent = false;
	(void) cudaGetLastError();
}

PpJoinStatus
make_ring(PpCudaJoin *j, PpAhead *a, uint32_t slot_rows)
{
	PpJoinStatus status;

	if (a->stream != nullptr)
		return PP_JOIN_OK;
	status = pp_join_call("making a stream failed",
						  cudaStreamCreateWithFlags(&a->stream, cudaStreamNonBlocking));
	if (status == PP_JOIN_OK)
		status = pp_join_call("making an event failed",
							  cudaEventCreateWithFlags(&a->read, cudaEventDisableTiming));
	a->slot_rows = slot_rows;
	for (PpAheadSlot &slot : a->slot)
	{
		slot.pinned.kind = PP_MEMORY_PINNED;
		if (status == PP_JOIN_OK)
			status = pp_join_call("making an event failed", cudaEventCreate(&slot.begin));
		if (status == PP_JOIN_OK)
			status = pp_join_call("making an event failed", cudaEventCreate(&slot.end));
		if (status == PP_JOIN_OK)
			status = pp_join_reserve(&j->device, &slot.pinned, HEAD + slot_rows * 2 * sizeof(int64_t));
	}
	return status;
}

}								/* namespace */

uint64_t
pp_ahead_bytes(uint64_t nrows, uint32_t ninputs)
{
	return nrows * 2 * sizeof(int64_t) + ninputs * 2 * HEAD;
}

PpJoinStatus
pp_ahead_open(PpCudaJoin *j, PpAhead *a, uint64_t bytes, uint32_t slot_rows)
{
	PpJoinStatus status = make_ring(j, a, slot_rows);

	if (status == PP_JOIN_OK)
		status = pp_join_reserve(&j->device, &a->memory, bytes);
	return status;
}

void
pp_ahead_close(PpAhead *a)
{
	if (a->stream != nullptr)
	{
		(void) cudaStreamSynchronize(a->stream);
		(void) cudaStreamDestroy(a->stream);
	}
	for (PpAheadSlot &slot : a->slot)
	{
		read_clock(a, &slot);
		pp_buffer_release(&slot.pinned);
		for (cudaEvent_t event : {slot.begin, slot.end})
			if (event != nullptr)
				(void) cudaEventDestroy(event);
		slot.begin = slot.end = nullptr;
	}
	if (a->read != nullptr)
		(void) cudaEventDestroy(a->read);
	(void) cudaGetLastError();
	pp_buffer_release(&a->memory);
	a->stream = nullptr;
	a->read = nullptr;
	a->reading = false;
	pp_ahead_drop(a);
}

void
pp_ahead_drop(PpAhead *a)
{
	a->used = 0;
	a->filled = 0;
}

bool
pp_ahead_place(PpAhead *a, uint64_t nrows, size_t *place)
{
	const size_t size = aligned(HEAD + nrows * 2 * sizeof(int64_t));

	if (a->memory.p == nullptr || a->memory.size - a->used < size)
		return false;
	*place = a->used;
	a->used += size;
	return true;
}

PpJoinStatus
pp_ahead_slot(PpAhead *a, int64_t **pairs)
{
	PpAheadSlot *slot = &a->slot[a->at];

	*pairs = nullptr;
	if (slot->sent)
	{
		const cudaError_t e = cudaEventQuery(slot->end);

		if (e == cudaErrorNotReady)
		{
			(void) cudaGetLastError();
			return PP_JOIN_OK;
		}
		if (e != cudaSuccess)
			return pp_join_call("a copy to the device failed", e);
		read_clock(a, slot);
	}
	*pairs = reinterpret_cast<int64_t *>(slot->pinned.p + HEAD) + 2 * a->filled;
	return PP_JOIN_OK;
}

PpJoinStatus
pp_ahead_send(PpAhead *a, size_t place, uint64_t done, uint64_t nrows)
{
	PpAheadSlot *slot = &a->slot[a->at];
	/* the first of an input's pieces brings their number */
	const size_t head = done == 0 ? HEAD : 0;
	const size_t bytes = head + a->filled * 2 * sizeof(int64_t);
	uint8_t    *to = a->memory.p + place + HEAD - head + done * 2 * sizeof(int64_t);
	cudaError_t e;

	*reinterpret_cast<uint32_t *>(slot->pinned.p) = (uint32_t) nrows;
	e = a->reading ? cudaStreamWaitEvent(a->stream, a->read, 0) : cudaSuccess;
	a->reading = false;
	if (e == cudaSuccess)
		e = cudaEventRecord(slot->begin, a->stream);
	if (e == cudaSuccess)
		e = cudaMemcpyAsync(to, slot->pinned.p + HEAD - head, bytes, cudaMemcpyHostToDevice, a->stream);
	if (e == cudaSuccess)
		e = cudaEventRecord(slot->end, a->stream);
	slot->sent = true;
	a->bytes += bytes;
	a->filled = 0;
	a->at = (a->at + 1) % PP_AHEAD_SLOTS;
	return pp_join_call("rows cannot be copied to the device", e);
}

PpJoinStatus
pp_ahead_wait(PpCudaJoin *j, PpAhead *a)
{
	return pp_join_wait_for(j, a->stream, a->slot[a->at].end);
}

PpCudaRelation *
pp_ahead_relation(PpAhead *a, size_t place, uint64_t nrows)
{
	PpCudaRelation *relation = pp_relation_open();

	if (relation != nullptr && !pp_relation_adopt(relation, a->memory.p + place, nrows, a->stream))
	{
		pp_relation_close(relation);
		return nullptr;
	}
	return relation;
}

PpJoinStatus
pp_ahead_read(PpAhead *a, cudaStream_t stream)
{
	if (a->stream == nullptr)
		return PP_JOIN_OK;
	/* all that was sent has arrived */
	for (PpAheadSlot &slot : a->slot)
		read_clock(a, &slot);
	a->reading = true;
	return pp_join_call("recording an event failed", cudaEventRecord(a->read, stream));
}

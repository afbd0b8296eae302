/*
 * cuda/join_relation.cu
 *	  Relations that stay on the device: a scan leaves the keys of its records
 *	  there, and a join takes them from there, without a way to the host and back.
 *
 * Rows are in pieces, which grow no more once they are made.  Within a piece they
 * are in no order; a join does not care, as long as nobody asks for rows' numbers.
 *
 * Owns the pieces.  Appending never waits for the device; asking for rows does.
 */
#include "join.h"
#include "fused.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace
{

constexpr uint32_t THREADS = 256;
constexpr uint32_t ALL = 0xffffffffu;

/* Rows of the first piece, and of the largest one, unless more come at a time; each
 * is twice the one before. */
constexpr uint64_t FIRST_ROWS = 1024;
constexpr uint64_t PIECE_ROWS = UINT64_C(1) << 20;

struct Piece
{
	Piece	   *next;
	PpBuffer	memory;			/* a count of rows, then the rows */
	uint64_t	room;			/* rows */
	uint64_t	taken;			/* no more than so many are there */
	uint32_t	nrows;			/* once known */
	bool		lent;			/* the memory is another's */
};

/* Where the rows are: the count has a line of its own. */
constexpr size_t ROWS_AT = 256;

struct SinkColumns
{
	const uint64_t *value[2];
	const uint8_t *state[2];
	uint32_t	kind[2];
};

/* As pp_key_code() of the server's side: what a Datum's bits mean. */
__device__ __forceinline__ int64_t
key_of(uint32_t kind, uint64_t datum)
{
	switch (kind)
	{
		case PP_SINK_UINT8:
			return (uint8_t) datum;
		case PP_SINK_INT16:
			return (int16_t) datum;
		case PP_SINK_INT32:
			return (int32_t) datum;
		case PP_SINK_UINT32:
			return (uint32_t) datum;
		case PP_SINK_UINT64:
			return (int64_t) (datum ^ UINT64_C(1) << 63);
		default:
			return (int64_t) datum;
	}
}

/* A record a thread; each warp asks for room once. */
__global__ void
__launch_bounds__(THREADS)
relation_sink_kernel(SinkColumns in, const uint8_t *flag, uint32_t n, uint32_t *nrows,
					 longlong2 *row)
{
	const uint32_t r = blockIdx.x * THREADS + threadIdx.x;
	const uint32_t lane = threadIdx.x % 32;
	const bool	there = r < n && flag[r] == PP_SELECT_TAKEN &&
		in.state[0][r] == PP_VALUE && in.state[1][r] == PP_VALUE;
	const uint32_t votes = __ballot_sync(ALL, there);
	uint32_t	base = 0;

	if (lane == 0 && votes != 0)
		base = atomicAdd(nrows, (uint32_t) __popc(votes));
	base = __shfl_sync(ALL, base, 0);
	if (there)
	{
		longlong2	pair;

		pair.x = key_of(in.kind[0], in.value[0][r]);
		pair.y = key_of(in.kind[1], in.value[1][r]);
		row[base + __popc(votes & ((1u << lane) - 1))] = pair;
	}
}

}								/* namespace */

struct PpCudaRelation
{
	PpCudaRelation *next;		/* of all open ones */
	bool		gone;			/* with the context that it was in */
	bool		lost;			/* there was no room for some rows of a scan's */
	cudaStream_t stream;		/* for what is not enqueued by a scan */
	cudaEvent_t appended;		/* behind what was enqueued last */
	Piece	   *first;
	Piece	   *last;
	bool		counted;		/* nrows are known */
	uint64_t	nrows;
};

namespace
{

PpCudaRelation *relations;

/* A piece that has room for n rows more, and knows that they come. */
Piece *
make_room(PpCudaRelation *relation, uint64_t n)
{
	Piece	   *piece = relation->last;

	relation->counted = false;
	if (piece == nullptr || piece->room - piece->taken < n)
	{
		const uint64_t twice = piece == nullptr ? FIRST_ROWS : 2 * piece->room;
		const uint64_t usual = twice < PIECE_ROWS ? twice : PIECE_ROWS;
		const uint64_t room = n > usual ? n : usual;
		cudaError_t e;

		piece = static_cast<Piece *>(calloc(1, sizeof(Piece)));
		if (piece == nullptr)
		{
			pp_fail(PP_CUDA_NO_MEMORY, "out of memory");
			return nullptr;
		}
		piece->memory.kind = PP_MEMORY_DEVICE;
		piece->room = room;
		if (!pp_buffer_reserve(&piece->memory, ROWS_AT + room * sizeof(longlong2)))
		{
			pp_fail_buffer(&piece->memory);
			free(piece);
			return nullptr;
		}
		/* the event goes on to stand for what is enqueued already, elsewhere as well */
		e = relation->first == nullptr ? cudaSuccess :
			cudaStreamWaitEvent(relation->stream, relation->appended, 0);
		if (e == cudaSuccess)
			e = cudaMemsetAsync(piece->memory.p, 0, ROWS_AT, relation->stream);
		if (e == cudaSuccess)
			e = cudaEventRecord(relation->appended, relation->stream);
		if (e != cudaSuccess)
		{
			pp_fail_call("a relation on the device cannot be begun", e);
			pp_buffer_release(&piece->memory);
			free(piece);
			return nullptr;
		}
		*(relation->last ? &relation->last->next : &relation->first) = piece;
		relation->last = piece;
	}
	piece->taken += n;
	return piece;
}

/* Gives back all that is on the device. */
void
drop(PpCudaRelation *relation)
{
	/* scans whose work may still write here have been closed, or are waited for */
	if (relation->first != nullptr)
		(void) cudaEventSynchronize(relation->appended);
	(void) cudaStreamSynchronize(relation->stream);
	(void) cudaEventDestroy(relation->appended);
	(void) cudaStreamDestroy(relation->stream);
	(void) cudaGetLastError();
	while (relation->first != nullptr)
	{
		Piece	   *piece = relation->first;

		relation->first = piece->next;
		if (!piece->lent)
			pp_buffer_release(&piece->memory);
		free(piece);
	}
	relation->last = nullptr;
	relation->gone = true;
}

bool
is_there(const PpCudaRelation *relation)
{
	if (relation->gone)
		pp_fail(PP_CUDA_NO_DEVICE, "the device was stopped");
	else if (relation->lost)
		pp_fail(PP_CUDA_NO_MEMORY, "out of device memory");
	return !relation->gone && !relation->lost;
}

/* Waits for what was enqueued, and looks how many rows there are. */
bool
count_rows(PpCudaRelation *relation)
{
	cudaError_t e = cudaSuccess;

	if (!is_there(relation))
		return false;
	if (relation->counted)
		return true;
	relation->nrows = 0;
	if (relation->first != nullptr)
		e = cudaStreamWaitEvent(relation->stream, relation->appended, 0);
	for (Piece *p = relation->first; p != nullptr && e == cudaSuccess; p = p->next)
		e = cudaMemcpyAsync(&p->nrows, p->memory.p, sizeof(uint32_t), cudaMemcpyDeviceToHost,
							relation->stream);
	if (e == cudaSuccess)
		e = cudaStreamSynchronize(relation->stream);
	if (e != cudaSuccess)
	{
		pp_fail_call("the rows of a relation on the device cannot be counted", e);
		return false;
	}
	for (const Piece *p = relation->first; p != nullptr; p = p->next)
		relation->nrows += p->nrows;
	relation->counted = true;
	return true;
}

}								/* namespace */

PpCudaRelation *
pp_relation_open(void)
{
	PpCudaRelation *relation;
	cudaError_t e;

	if (!pp_process_ready())
		return nullptr;
	relation = static_cast<PpCudaRelation *>(calloc(1, sizeof(PpCudaRelation)));
	if (relation == nullptr)
	{
		pp_fail(PP_CUDA_NO_MEMORY, "out of memory");
		return nullptr;
	}
	e = cudaStreamCreateWithFlags(&relation->stream, cudaStreamNonBlocking);
	if (e == cudaSuccess)
	{
		e = cudaEventCreateWithFlags(&relation->appended, cudaEventDisableTiming);
		if (e != cudaSuccess)
			(void) cudaStreamDestroy(relation->stream);
	}
	if (e != cudaSuccess)
	{
		pp_fail_call("a relation on the device cannot be begun", e);
		free(relation);
		return nullptr;
	}
	relation->next = relations;
	relations = relation;
	return relation;
}

void
pp_relation_close(PpCudaRelation *relation)
{
	if (relation == nullptr)
		return;
	if (!relation->gone)
		drop(relation);
	for (PpCudaRelation **link = &relations; *link != nullptr; link = &(*link)->next)
		if (*link == relation)
		{
			*link = relation->next;
			break;
		}
	free(relation);
}

void
pp_relations_stop(void)
{
	for (PpCudaRelation *r = relations; r != nullptr; r = r->next)
		if (!r->gone)
			drop(r);
}

bool
pp_relation_append(PpCudaRelation *relation, const int64_t *pairs, uint64_t n)
{
	Piece	   *piece;
	uint32_t	before;
	cudaError_t e;

	/* what is behind the rows that are there is to be known */
	if (n == 0)
		return true;
	if (!is_there(relation))
		return false;
	piece = make_room(relation, n);
	if (piece == nullptr)
		return false;
	if (!count_rows(relation))
		return false;
	before = piece->nrows;
	e = cudaMemcpyAsync(piece->memory.p + ROWS_AT + before * sizeof(longlong2), pairs,
						n * sizeof(longlong2), cudaMemcpyHostToDevice, relation->stream);
	before += (uint32_t) n;
	if (e == cudaSuccess)
		e = cudaMemcpyAsync(piece->memory.p, &before, sizeof(before), cudaMemcpyHostToDevice,
							relation->stream);
	if (e == cudaSuccess)
		e = cudaEventRecord(relation->appended, relation->stream);
	/* the pairs are the caller's */
	if (e == cudaSuccess)
		e = cudaStreamSynchronize(relation->stream);
	if (e != cudaSuccess)
	{
		pp_fail_call("rows cannot be copied to the device", e);
		return false;
	}
	relation->counted = false;
	return true;
}

bool
pp_relation_adopt(PpCudaRelation *relation, uint8_t *memory, uint64_t nrows, cudaStream_t stream)
{
	Piece	   *piece;
	cudaError_t e;

	if (!is_there(relation))
		return false;
	piece = static_cast<Piece *>(calloc(1, sizeof(Piece)));
	if (piece == nullptr)
	{
		pp_fail(PP_CUDA_NO_MEMORY, "out of memory");
		return false;
	}
	piece->memory = {PP_MEMORY_DEVICE, memory, 0};
	piece->lent = true;
	piece->room = piece->taken = nrows;
	*(relation->last ? &relation->last->next : &relation->first) = piece;
	relation->last = piece;
	relation->counted = false;
	e = cudaEventRecord(relation->appended, stream);
	if (e != cudaSuccess)
		pp_fail_call("rows on the device cannot be waited for", e);
	return e == cudaSuccess;
}

bool
pp_relation_rows(PpCudaRelation *relation, uint64_t *nrows)
{
	if (!count_rows(relation))
		return false;
	*nrows = relation->nrows;
	return true;
}

bool
pp_relation_fetch(PpCudaRelation *relation, uint64_t first, uint64_t n, int64_t *pairs)
{
	cudaError_t e = cudaSuccess;

	if (!count_rows(relation))
		return false;
	for (const Piece *p = relation->first; p != nullptr && n > 0 && e == cudaSuccess; p = p->next)
	{
		const uint64_t there = first < p->nrows ? p->nrows - first : 0;
		const uint64_t some = there < n ? there : n;

		if (some > 0)
			e = cudaMemcpyAsync(pairs, p->memory.p + ROWS_AT + first * sizeof(longlong2),
								some * sizeof(longlong2), cudaMemcpyDeviceToHost,
								relation->stream);
		pairs += 2 * some;
		n -= some;
		first = some > 0 ? 0 : first - p->nrows;
	}
	if (e == cudaSuccess)
		e = cudaStreamSynchronize(relation->stream);
	if (e != cudaSuccess)
		pp_fail_call("rows cannot be copied from the device", e);
	return e == cudaSuccess;
}

bool
pp_relation_piece(PpCudaRelation *relation, uint32_t i, const int64_t **pairs, uint32_t *nrows)
{
	const Piece *p = relation->first;

	while (i-- > 0 && p != nullptr)
		p = p->next;
	if (p == nullptr)
		return false;
	*pairs = reinterpret_cast<const int64_t *>(p->memory.p + ROWS_AT);
	*nrows = p->nrows;
	return true;
}

bool
pp_relation_sink(const PpKeySink *sink, const PpFusedJob *job, const uint8_t *flag,
				 uint32_t nrecords, uint64_t ntaken, cudaStream_t stream)
{
	PpCudaRelation *relation = static_cast<PpCudaRelation *>(sink->relation);
	SinkColumns in;
	Piece	   *piece;
	cudaError_t e;

	if (ntaken == 0)
		return true;
	/* the scan itself can go on; that rows are missing is told to who asks for them */
	if (relation->lost)
		return true;
	if (!is_there(relation))
		return false;
	piece = make_room(relation, ntaken);
	if (piece == nullptr)
	{
		relation->lost = pp_process_ready();
		return relation->lost;
	}
	for (int i = 0; i < 2; i++)
	{
		const size_t at = (size_t) sink->column[i] * job->room;

		in.value[i] = job->value + at;
		in.state[i] = job->state + at;
		in.kind[i] = sink->kind[i];
	}
	/* behind what made the piece, and what others have appended */
	e = cudaStreamWaitEvent(stream, relation->appended, 0);
	if (e == cudaSuccess)
	{
		PP_LAUNCH(relation_sink_kernel, (nrecords - 1) / THREADS + 1, THREADS, 0, stream, in, flag,
				  nrecords, reinterpret_cast<uint32_t *>(piece->memory.p),
				  reinterpret_cast<longlong2 *>(piece->memory.p + ROWS_AT));
		e = pp_launch_error();
	}
	if (e == cudaSuccess)
		e = cudaEventRecord(relation->appended, stream);
	if (e != cudaSuccess)
		pp_fail_call("keys cannot be left on the device", e);
	return e == cudaSuccess;
}

/*
 * cuda/join_upload.cu
 *	  The ring of join_upload.h.
 *
 * A core copies a row in about the time that its memory takes to deliver it, and
 * the bus carries several times as many; so a few cores have to.  Pieces are so
 * small that a core's cache holds those it fills: the bus then reads them from
 * there, and memory is only read.
 *
 * The calling thread enqueues what is next if it is filled; else it fills a piece
 * itself, or waits for the device to leave one, or for who fills the next one.
 */
#include "join_upload.h"

#include "join_driver.h"

#include <cstring>
#include <time.h>

/*
 * Half a megabyte is little for a core's cache, and much for the calls that send
 * it.  To start and to end a thread takes about 20 us, a tenth of what it takes to
 * copy a thread's rows.
 */
PpUploadLimits pp_upload_limits = {4096, 512 << 10, 262144, 1 << 20, false};

namespace
{

/* Pieces of the ring, if only one thread fills them. */
constexpr uint32_t FEW_SLOTS = 3;

/* How long to wait between two questions whether to go on. */
constexpr long WAIT_NS = 1000000;

uint64_t
row_bytes(const PpUpload *u)
{
	return u->rows->narrow ? 8 : 16;
}

PpUploadSlot *
slot_of(PpUpload *u, uint64_t piece)
{
	return &u->slot[piece % u->nslots];
}

uint8_t *
memory_of(const PpUpload *u, uint64_t piece)
{
	return u->ring.p + piece % u->nslots * u->slot_bytes;
}

/* Lets go of the lock while it is there. */
struct Unlocked
{
	PpUpload   *u;

	explicit Unlocked(PpUpload *of) : u(of)
	{
		pthread_mutex_unlock(&u->lock);
	}
	~Unlocked()
	{
		pthread_mutex_lock(&u->lock);
	}
	Unlocked(const Unlocked &) = delete;
	Unlocked   &operator=(const Unlocked &) = delete;
};

/* ---------- under the lock ---------- */

/* Will there be no piece to fill any more? */
bool
all_taken(const PpUpload *u)
{
	return u->stop || u->unfit != UINT64_MAX || u->next == u->rows->nrows;
}

bool
has_room(const PpUpload *u)
{
	return u->taken - u->freed < u->nslots;
}

/* Fills a piece; false: it has keys that are not narrow. */
bool
fill(const PpUpload *u, uint64_t piece)
{
	const PpUploadRows *rows = u->rows;
	const PpUploadSlot *slot = &u->slot[piece % u->nslots];
	const int64_t *pairs = rows->pairs + 2 * slot->from;

	if (rows->narrow)
		return u->kernels->narrow(pairs, 2 * slot->n, rows->base,
								  reinterpret_cast<uint32_t *>(memory_of(u, piece)));
	memcpy(memory_of(u, piece), pairs, 16 * slot->n);
	return true;
}

/* Takes the next piece, for which there is room, and fills it. */
void
fill_next(PpUpload *u)
{
	const uint64_t most = u->slot_bytes / row_bytes(u);
	const uint64_t left = u->rows->nrows - u->next;
	const uint64_t piece = u->taken++;
	PpUploadSlot *slot = slot_of(u, piece);
	bool		fits;

	slot->from = u->next;
	slot->n = u->piece < most ? u->piece : most;
	slot->n = slot->n < left ? slot->n : left;
	slot->filled = false;
	u->next += slot->n;
	u->piece = u->piece < most / 2 ? 2 * u->piece : most;
	{
		Unlocked	meanwhile(u);

		fits = fill(u, piece);
	}
	slot->filled = true;
	if (!fits)
	{
		u->unfit = piece < u->unfit ? piece : u->unfit;
		pthread_cond_broadcast(&u->room);
	}
	if (piece == u->sent)
		pthread_cond_signal(&u->filled);
}

/* What the other threads do. */
void
help(PpUpload *u)
{
	while (!all_taken(u))
		if (has_room(u))
			fill_next(u);
		else
			pthread_cond_wait(&u->room, &u->lock);
}

/* Waits a little for the piece that is to be enqueued next. */
void
wait_filled(PpUpload *u)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += WAIT_NS;
	if (until.tv_nsec >= 1000000000)
	{
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	(void) pthread_cond_timedwait(&u->filled, &u->lock, &until);
}

/* ---------- what only the calling thread does ---------- */

PpJoinStatus
tell(PpUpload *u)
{
	const uint64_t from = u->told;

	u->told = u->nsent;
	return from == u->nsent ? PP_JOIN_OK : u->rows->arrive(u->rows->ctx, from, u->nsent - from);
}

/* Enqueues the copy of a piece that is filled. */
PpJoinStatus
send(PpUpload *u, uint64_t piece)
{
	PpUploadSlot *slot = slot_of(u, piece);
	const uint64_t bytes = row_bytes(u);
	PpJoinStatus status = PP_JOIN_OK;

	if (slot->copied == nullptr)
		status = pp_join_call("making an event failed",
							  cudaEventCreateWithFlags(&slot->copied, cudaEventDisableTiming));
	if (status != PP_JOIN_OK)
		return status;
	u->copying = true;
	status = pp_join_copy(u->join, u->rows->to + slot->from * bytes, memory_of(u, piece),
						  slot->n * bytes, cudaMemcpyHostToDevice);
	if (status == PP_JOIN_OK)
		status = pp_join_call("recording an event failed",
							  cudaEventRecord(slot->copied, u->join->stream));
	u->nsent = slot->from + slot->n;
	if (status == PP_JOIN_OK && u->nsent - u->told >= pp_upload_limits.told_rows)
		status = tell(u);
	return status;
}

/* Has the device left a piece?  That it failed shows when it is waited for. */
bool
is_left(PpUpload *u, uint64_t piece)
{
	const cudaError_t e = cudaEventQuery(slot_of(u, piece)->copied);

	if (e != cudaSuccess)
		(void) cudaGetLastError();
	return e == cudaSuccess;
}

PpJoinStatus
ask(PpUpload *u)
{
	PpCudaJoin *j = pp_join_of(u->join);

	if (pp_upload_limits.ask_always)
		j->asked = 0;
	return pp_join_cancelled(j) ? PP_JOIN_CANCELLED : PP_JOIN_OK;
}

/* Pieces that the device has left may be filled again; under the lock. */
void
free_left(PpUpload *u)
{
	uint64_t	behind = u->freed;

	{
		Unlocked	meanwhile(u);

		while (behind < u->sent && is_left(u, behind))
			behind++;
	}
	for (; u->freed < behind; u->freed++)
		pthread_cond_signal(&u->room);
}

/* A turn, under the lock: enqueues what is next, or else fills a piece, or waits. */
PpJoinStatus
turn(PpUpload *u)
{
	const bool	wanted = !all_taken(u);
	PpJoinStatus status = PP_JOIN_OK;

	if (u->sent < u->taken && slot_of(u, u->sent)->filled)
	{
		{
			Unlocked	meanwhile(u);

			status = send(u, u->sent);
		}
		u->sent++;
		/* before others run out of them */
		if (status == PP_JOIN_OK && u->taken - u->freed > u->nslots / 2)
			free_left(u);
	}
	else if (wanted && has_room(u))
		fill_next(u);
	else if (wanted && u->freed < u->sent)
	{
		{
			Unlocked	meanwhile(u);

			status = pp_join_wait_for(pp_join_of(u->join), u->join->stream,
									  slot_of(u, u->freed)->copied);
		}
		if (status == PP_JOIN_OK)
			free_left(u);
	}
	else
		wait_filled(u);
	return status;
}

/* Enqueues all pieces, or those before one that does not fit. */
PpJoinStatus
carry(PpUpload *u)
{
	PpJoinStatus status = PP_JOIN_OK;

	while (status == PP_JOIN_OK && u->sent != u->unfit && (u->sent < u->taken || !all_taken(u)))
	{
		status = turn(u);
		if (status == PP_JOIN_OK)
		{
			Unlocked	meanwhile(u);

			status = ask(u);
		}
	}
	u->stop = true;
	pthread_cond_broadcast(&u->room);
	return status;
}

void
work(void *ctx, uint32_t member)
{
	PpUpload   *u = static_cast<PpUpload *>(ctx);

	pthread_mutex_lock(&u->lock);
	if (member == 0)
		u->status = carry(u);
	else
		help(u);
	pthread_mutex_unlock(&u->lock);
}

/* Threads that are worth it for so many rows. */
uint32_t
threads_for(uint64_t nrows, uint32_t most)
{
	const uint64_t wanted = nrows / pp_upload_limits.thread_rows;

	most = most < PP_UPLOAD_THREADS ? most : PP_UPLOAD_THREADS;
	return wanted < most ? (uint32_t) wanted : most;
}

}								/* namespace */

void
pp_upload_begin(PpUpload *u, PpDeviceJoin *join, const PpJoinQuery *query, uint64_t most)
{
	const PpUploadLimits *limits = &pp_upload_limits;
	const uint64_t pieces = most / limits->first_rows + 1;
	pthread_condattr_t clock;

	u->join = join;
	u->kernels = query->simd == PP_SIMD_LEVELS ? nullptr : pp_trie_kernels(query->simd);
	if (u->kernels == nullptr)
		u->kernels = pp_trie_best_kernels();
	pp_team_begin(&u->team, threads_for(most, query->threads), nullptr, nullptr);
	u->nslots = u->team.most > 1 ? 2 * u->team.most : FEW_SLOTS;
	u->nslots = pieces < u->nslots ? (uint32_t) pieces : u->nslots;
	u->slot_bytes = 16 * most < limits->piece_bytes ? 16 * most : limits->piece_bytes;
	u->ring = {PP_MEMORY_PINNED, nullptr, 0};

	pthread_mutex_init(&u->lock, nullptr);
	pthread_cond_init(&u->room, nullptr);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&u->filled, &clock);
	pthread_condattr_destroy(&clock);
}

PpJoinStatus
pp_upload_rows(PpUpload *u, const PpUploadRows *rows, uint64_t *at)
{
	const uint32_t wanted = threads_for(rows->nrows - *at, u->team.most);
	PpJoinStatus status = pp_join_reserve(u->join, &u->ring, u->nslots * u->slot_bytes);

	if (status != PP_JOIN_OK)
		return status;
	u->rows = rows;
	u->told = u->nsent = u->next = *at;
	u->piece = pp_upload_limits.first_rows;
	u->taken = u->sent;			/* what was filled in vain is filled again */
	u->unfit = UINT64_MAX;
	u->stop = false;
	pp_team_run(&u->team, pp_team_start(&u->team, wanted), work, u);
	*at = u->nsent;
	return u->status == PP_JOIN_OK ? tell(u) : u->status;
}

void
pp_upload_end(PpUpload *u)
{
	pp_team_end(&u->team);
}

void
pp_upload_close(PpUpload *u)
{
	if (u->join == nullptr)
		return;
	pp_upload_end(u);
	if (u->copying)
		(void) cudaStreamSynchronize(u->join->stream);
	for (PpUploadSlot &slot : u->slot)
		if (slot.copied != nullptr)
			(void) cudaEventDestroy(slot.copied);
	(void) cudaGetLastError();
	pp_buffer_release(&u->ring);
	pthread_cond_destroy(&u->filled);
	pthread_cond_destroy(&u->room);
	pthread_mutex_destroy(&u->lock);
	u->join = nullptr;
}

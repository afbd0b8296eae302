/*
 * test/simt/cudart_stream.cpp
 *	  Streams, events and launches.
 *
 * Streams are lazy queues.  Nothing is executed when it is enqueued, only when
 * something waits or asks; then streams go on in random turns, kernels in the
 * middle included, so that an order that was not asked for shows.  A query
 * works off one slice of time and answers that the rest is not ready.
 *
 * The null stream is one more stream: it is ordered with no other (as with
 * per-thread default streams).
 */
#include "cudart.h"

#include <algorithm>
#include <vector>

struct CUevent_st
{
	std::shared_ptr<simt::EventState> state;
};

struct CUstream_st
{
	uint64_t	number;
	std::deque<simt::Op> ops;
	simt::Grid *grid;			/* of the first op, which is half-way */
	uint64_t	executed_ns;
	void	   *line;			/* of execution, to ThreadSanitizer */
	simt::Lines lines;			/* of its kernels' threads */
	char		enqueued;		/* addresses for happens-before */
	char		executed;
};

namespace simt
{

static uint64_t nevents;
static uint64_t nstreams;		/* ever */
static uint64_t nops;
static uint64_t device_ns;
static void (*watch) (const SimtOp *op, void *ctx);
static void *watch_ctx;

static void
tell(const CUstream_st *stream, const Op &op, bool done)
{
	const SimtOp told = {op.place, stream->number,
		op.kind == Op::Kind::kernel ? op.launch.kernel : nullptr, op.to_device, done};

	if (watch != nullptr)
		watch(&told, watch_ctx);
}

/*
 * Lines of streams that were destroyed.  The host had waited for them, and so
 * a kernel that it enqueues later is ordered behind: the lines can be used again.
 */
static std::vector<Lines> &
spare_lines()
{
	static std::vector<Lines> &spare = *new std::vector<Lines>();

	return spare;
}

static CUstream_st *
create()
{
	CUstream_st *stream = new CUstream_st();

	stream->number = nstreams++;
	stream->line = line_create();
	return stream;
}

static std::vector<CUstream_st *> &
all_streams()
{
	/* [0] is the null stream; never destroyed, for others may be at exit */
	static std::vector<CUstream_st *> &all = *new std::vector<CUstream_st *>();

	if (all.empty())
		all.push_back(create());
	return all;
}

static CUstream_st *
stream_of(cudaStream_t stream)
{
	return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread
		? all_streams()[0] : stream;
}

static bool
known(cudaStream_t stream)
{
	const std::vector<CUstream_st *> &all = all_streams();

	return std::find(all.begin(), all.end(), stream_of(stream)) != all.end();
}

uint64_t
streams_alive()
{
	return all_streams().size() - 1;
}

uint64_t
events_alive()
{
	return nevents;
}

/*
 * To ThreadSanitizer a stream is a thread of its own: what it executes is
 * ordered behind what the host had done when it enqueued, and before what the
 * host does when it has waited for the stream.
 */
static void *
enter_stream(CUstream_st *stream)
{
	void	   *caller = line_enter(stream->line);

	hb_acquire(&stream->enqueued);
	return caller;
}

static void
leave_stream(CUstream_st *stream, void *caller)
{
	hb_release(&stream->executed);
	(void) line_enter(caller);
}

/* Forgets what the stream has to do; events count as reached. */
static void
drop(CUstream_st *stream)
{
	bool		half = stream->grid != nullptr;
	void	   *caller;

	if (stream->ops.empty())
		return;
	caller = enter_stream(stream);
	if (half)
		grid_destroy(stream->grid);
	stream->grid = nullptr;
	while (!stream->ops.empty())
	{
		Op		   &op = stream->ops.front();

		if (op.kind == Op::Kind::kernel && !half)
			op.launch.release(op.launch.args);
		if (op.kind == Op::Kind::record)
			op.event->completed = std::max(op.event->completed, op.number);
		half = false;
		stream->ops.pop_front();
	}
	leave_stream(stream, caller);
}

static void
drop_all()
{
	for (CUstream_st *stream : all_streams())
		drop(stream);
}

/* False: the first op waits for an event that was not reached, or there is none. */
static bool
can_go_on(const CUstream_st *stream)
{
	const Op   *op;

	if (stream->ops.empty())
		return false;
	op = &stream->ops.front();
	return op->kind != Op::Kind::wait || op->event->completed >= op->number;
}

/* Executes the first op or a part of it. */
static void
step(CUstream_st *stream, uint64_t deadline)
{
	Op		   &op = stream->ops.front();
	uint64_t	start = clock_ns();
	uint64_t	ns;
	void	   *caller;
	bool		ended = true;

	caller = enter_stream(stream);
	switch (op.kind)
	{
		case Op::Kind::call:
			op.call();
			break;
		case Op::Kind::kernel:
			{
				Budget		budget = {deadline, 0};
				Step		result;

				if (injected(SIMT_EXECUTION))
				{
					report("kernel %s: injected failure of its execution", op.launch.kernel);
					set_sticky_error(cudaErrorLaunchFailure);
					break;
				}
				if (stream->grid == nullptr)
				{
					stream->grid = grid_create(op.launch, &stream->lines);
					if (stream->grid == nullptr)
					{
						/* the arguments are gone */
						op.kind = Op::Kind::call;
						report("kernel %s: no memory to execute it", op.launch.kernel);
						set_sticky_error(cudaErrorLaunchOutOfResources);
						break;
					}
				}
				if (config.seed != 0 && all_streams().size() > 2)
					budget.switches = 1 + random_below(config.slow ? 1000 : 20000);
				count_bytes_of(&op.launch);
				result = grid_run(stream->grid, budget);
				count_bytes_of(nullptr);
				ended = result != Step::more;
				if (result == Step::done)
				{
					grid_destroy(stream->grid);
					stream->grid = nullptr;
				}
				break;
			}
		case Op::Kind::record:
			op.event->completed = std::max(op.event->completed, op.number);
			hb_release(&op.event->order);
			break;
		case Op::Kind::wait:
			hb_acquire(&op.event->order);
			break;
	}
	leave_stream(stream, caller);
	ns = clock_ns() - start;
	stream->executed_ns += ns;
	device_ns += ns;
	if (op.kind == Op::Kind::record)
	{
		op.event->stream = stream;
		op.event->stream_ns = stream->executed_ns;
		op.event->device_ns = device_ns;
	}
	if (sticky_error() != cudaSuccess)
		drop_all();
	else if (ended)
	{
		tell(stream, op, true);
		stream->ops.pop_front();
	}
}

/*
 * Goes on with streams in random turns until done() or the deadline; 0 is
 * none.  False: not done.
 */
template <class Done>
static bool
work(CUstream_st *prefer, uint64_t deadline, Done done)
{
	while (!done())
	{
		std::vector<CUstream_st *> able;

		for (CUstream_st *stream : all_streams())
			if (can_go_on(stream))
				able.push_back(stream);
		if (able.empty())
		{
			report("deadlock: streams wait for events that nothing will reach");
			set_sticky_error(cudaErrorLaunchTimeout);
			drop_all();
			return true;
		}
		{
			SignalGuard guard;
			CUstream_st *next = able[random_below(able.size())];

			if (prefer != nullptr && can_go_on(prefer) && (random32() & 1) != 0)
				next = prefer;
			step(next, deadline);
		}
		if (deadline != 0 && (config.slow || clock_ns() >= deadline))
			return done();
	}
	return true;
}

static uint64_t
slice_end()
{
	return clock_ns() + (uint64_t) config.slice_ms * 1000000u;
}

bool
streams_busy()
{
	for (const CUstream_st *stream : all_streams())
		if (!stream->ops.empty())
			return true;
	return false;
}

cudaError_t
streams_drain()
{
	(void) work(nullptr, 0, [] { return !streams_busy(); });
	for (CUstream_st *stream : all_streams())
		hb_acquire(&stream->executed);
	return sticky_error();
}

static void
destroy(CUstream_st *stream)
{
	drop(stream);
	hb_acquire(&stream->executed);
	if (stream->lines.n != 0)
		spare_lines().push_back(stream->lines);
	line_destroy(stream->line);
	delete stream;
}

void
streams_reset()
{
	std::vector<CUstream_st *> &all = all_streams();

	drop_all();
	if (all.size() > 1)
		report("leak: %zu streams were not destroyed", all.size() - 1);
	while (!all.empty())
	{
		destroy(all.back());
		all.pop_back();
	}
	if (nevents != 0)
		report("leak: %llu events were not destroyed", (unsigned long long) nevents);
}

cudaError_t
stream_append(cudaStream_t stream, Op &&op)
{
	if (!known(stream))
	{
		if (op.kind == Op::Kind::kernel)
			op.launch.release(op.launch.args);
		return answer(cudaErrorInvalidResourceHandle);
	}
	op.place = ++nops;
	stream_of(stream)->ops.push_back(std::move(op));
	tell(stream_of(stream), stream_of(stream)->ops.back(), false);
	hb_release(&stream_of(stream)->enqueued);
	return cudaSuccess;
}

void
abandon(cudaStream_t stream)
{
	if (!known(stream))
		return;
	drop(stream_of(stream));
	hb_acquire(&stream_of(stream)->executed);
}

cudaError_t
enqueue(const Launch &launch, cudaStream_t stream)
{
	const dim3 &g = launch.grid;
	const dim3 &b = launch.block;
	uint64_t	threads = (uint64_t) b.x * b.y * b.z;
	cudaError_t error = sticky_error();
	Op			op = {};

	configure_once();
	if (error == cudaSuccess &&
		(threads == 0 || threads > 1024 || b.x > 1024 || b.y > 1024 || b.z > 64 ||
		 g.x == 0 || g.y == 0 || g.z == 0 || g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535))
	{
		report("kernel %s: grid %ux%ux%u of blocks %ux%ux%u cannot be launched", launch.kernel,
			   g.x, g.y, g.z, b.x, b.y, b.z);
		error = cudaErrorInvalidConfiguration;
	}
	if (error == cudaSuccess && (launch.dynamic_bytes > dynamic_limit(launch.function) ||
								 launch.flat_bytes > shared_block()))
	{
		report("kernel %s: %zu bytes of dynamic shared memory are more than it may have",
			   launch.kernel, launch.dynamic_bytes + launch.flat_bytes);
		error = cudaErrorInvalidValue;
	}
	if (error == cudaSuccess && injected(SIMT_LAUNCH))
		error = cudaErrorLaunchOutOfResources;
	if (error != cudaSuccess)
	{
		launch.release(launch.args);
		return answer(error);
	}
	count_launch(launch);
	if (known(stream) && stream_of(stream)->lines.n == 0 && !spare_lines().empty())
	{
		/* not before it has kernels: there may be many streams without */
		stream_of(stream)->lines = spare_lines().back();
		spare_lines().pop_back();
	}
	op.kind = Op::Kind::kernel;
	op.launch = launch;
	return stream_append(stream, std::move(op));
}

}								/* namespace simt */

using namespace simt;

extern "C" {

void
simt_watch(void (*to) (const SimtOp *op, void *ctx), void *ctx)
{
	watch = to;
	watch_ctx = ctx;
}

cudaError_t
cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int)
{
	*stream = nullptr;
	if (sticky_error() != cudaSuccess)
		return answer(sticky_error());
	(void) all_streams();
	*stream = create();
	all_streams().push_back(*stream);
	return cudaSuccess;
}

cudaError_t
cudaStreamCreate(cudaStream_t *stream)
{
	return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t
cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int)
{
	return cudaStreamCreateWithFlags(stream, flags);
}

/* What it still has to do is done first, as the device would. */
cudaError_t
cudaStreamDestroy(cudaStream_t stream)
{
	std::vector<CUstream_st *> &all = all_streams();

	if (stream == nullptr || !known(stream))
		return answer(cudaErrorInvalidResourceHandle);
	(void) cudaStreamSynchronize(stream);
	all.erase(std::find(all.begin(), all.end(), stream));
	destroy(stream);
	return answer(sticky_error());
}

cudaError_t
cudaStreamSynchronize(cudaStream_t stream)
{
	CUstream_st *s = stream_of(stream);

	if (!known(stream))
		return answer(cudaErrorInvalidResourceHandle);
	(void) work(s, 0, [=] { return s->ops.empty(); });
	hb_acquire(&s->executed);
	return answer(sticky_error());
}

cudaError_t
cudaDeviceSynchronize(void)
{
	return answer(streams_drain());
}

cudaError_t
cudaStreamQuery(cudaStream_t stream)
{
	CUstream_st *s = stream_of(stream);

	if (!known(stream))
		return answer(cudaErrorInvalidResourceHandle);
	configure_once();
	if (!work(s, slice_end(), [=] { return s->ops.empty(); }))
		return cudaErrorNotReady;
	hb_acquire(&s->executed);
	return answer(sticky_error());
}

cudaError_t
cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	*event = nullptr;
	if (sticky_error() != cudaSuccess)
		return answer(sticky_error());
	*event = new CUevent_st();
	(*event)->state = std::make_shared<EventState>();
	(*event)->state->timing = (flags & cudaEventDisableTiming) == 0;
	nevents++;
	return cudaSuccess;
}

cudaError_t
cudaEventCreate(cudaEvent_t *event)
{
	return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t
cudaEventDestroy(cudaEvent_t event)
{
	if (event == nullptr)
		return answer(cudaErrorInvalidResourceHandle);
	delete event;
	nevents--;
	return answer(sticky_error());
}

cudaError_t
cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	Op			op = {};

	if (event == nullptr || !known(stream))
		return answer(cudaErrorInvalidResourceHandle);
	if (sticky_error() != cudaSuccess)
		return answer(sticky_error());
	op.kind = Op::Kind::record;
	op.event = event->state;
	op.number = ++event->state->recorded;
	return stream_append(stream, std::move(op));
}

cudaError_t
cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int)
{
	return cudaEventRecord(event, stream);
}

cudaError_t
cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int)
{
	Op			op = {};

	if (event == nullptr || !known(stream))
		return answer(cudaErrorInvalidResourceHandle);
	if (sticky_error() != cudaSuccess)
		return answer(sticky_error());
	op.kind = Op::Kind::wait;
	op.event = event->state;
	op.number = event->state->recorded;
	return stream_append(stream, std::move(op));
}

cudaError_t
cudaEventQuery(cudaEvent_t event)
{
	if (event == nullptr)
		return answer(cudaErrorInvalidResourceHandle);
	std::shared_ptr<EventState> state = event->state;
	configure_once();
	if (!work(nullptr, slice_end(), [=] { return state->completed == state->recorded; }))
		return cudaErrorNotReady;
	hb_acquire(&state->order);
	return answer(sticky_error());
}

cudaError_t
cudaEventSynchronize(cudaEvent_t event)
{
	if (event == nullptr)
		return answer(cudaErrorInvalidResourceHandle);
	std::shared_ptr<EventState> state = event->state;
	(void) work(nullptr, 0, [=] { return state->completed == state->recorded; });
	hb_acquire(&state->order);
	return answer(sticky_error());
}

/* Of the time that was spent executing the stream, not of the time that passed. */
cudaError_t
cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	const EventState *a = start == nullptr ? nullptr : start->state.get();
	const EventState *b = end == nullptr ? nullptr : end->state.get();
	uint64_t	ns;

	*ms = 0;
	if (a == nullptr || b == nullptr || !a->timing || !b->timing || a->recorded == 0 ||
		b->recorded == 0)
		return answer(cudaErrorInvalidResourceHandle);
	if (a->completed != a->recorded || b->completed != b->recorded)
		return cudaErrorNotReady;
	ns = a->stream == b->stream ? b->stream_ns - a->stream_ns : b->device_ns - a->device_ns;
	*ms = (float) ((double) ns / 1e6);
	return answer(sticky_error());
}

}

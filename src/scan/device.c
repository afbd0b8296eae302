/*-------------------------------------------------------------------------
 *
 * device.c
 *		Scans on a device: choosing it, driving it, giving way to the CPU.
 *
 * The device's backend is a part of the device library.  It is called through
 * a table of functions here, which keep signals away from it and take note of
 * failures.  What a run holds of the device belongs to the run's memory
 * context, and goes with it.
 *
 * Under parparaw.backend = auto a failure is not an error: the CPU goes on at
 * the record where the device has stopped, with the same text.
 *
 * IDENTIFICATION
 *		src/scan/device.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "device.h"
#include "scan_private.h"

/*
 * What "auto" weighs, in seconds and bytes a second.  The CPU's rate is what
 * the bench measures where several columns are converted.  The device's
 * figures are assumptions, as nothing has been measured on a device yet: the
 * time to make a context, to set up a scan, and the rate at which a file gets
 * through memory, bus and device.
 */
#define CPU_RATE			2.0e9
#define DEVICE_RATE			5.0e9
#define DEVICE_START		0.4
#define DEVICE_SETUP		0.01

/* Blocks of memory from this size on are such as the device copies fast. */
#define PINNED_SIZE			65536

/* The first partition, whatever it may be later; see pp_stream's ramp. */
#define FIRST_PARTITION		(1024 * 1024)

/* A device that is busy is looked at so often before we sleep in between. */
#define SPINS				64
#define SLEEP_US			20
#define MAX_SLEEP_US		1000

typedef struct PpPinned
{
	struct PpPinned *next;
	void	   *block;
} PpPinned;

struct PpDeviceRun
{
	PpScan	   *scan;
	PpCudaPipeline pipeline;
	PpStream   *stream;			/* NULL: none, or not any more */
	const PpCudaLibrary *library;
	PpPinned   *pinned;
	bool		lenient;		/* the CPU may go on */
	bool		fallen;			/* it does */
	bool		gathered;		/* stats holds the device's, it is closed */
	uint32		waits;			/* polls in vain, in a row */
	instr_time	started;
	instr_time	paused;			/* the last time that we left next_batch() */
	double		start;
	double		read;
	PpCudaStats stats;
	MemoryContextCallback callback;
};

/* What the functions of the tables below call, and have met in the current step. */
static const PpCudaLibrary *library;
static const PpBackend *backend;
static const char *failure;		/* of the library; NULL: none */
static PpCudaFailure failure_kind;
static bool fallen;				/* the CPU goes on */
static bool pending;

/*
 * The device's backend as the stream sees it.  None of these may raise an
 * error: the engine is on the stack.
 */

static void
take_note(const char *message)
{
	failure = message ? message : "no reason given";
	failure_kind = library->failure();
}

static PpBackendScan *
device_open(const PpScanSpec *spec)
{
	PpBackendScan *scan;
	sigset_t	saved;

	parparaw_cuda_block(&saved);
	scan = backend->open(spec);
	if (scan == NULL)
		take_note(library->error());
	parparaw_cuda_unblock(&saved);
	return scan;
}

static bool
device_submit(PpBackendScan *scan, const PpJob *job)
{
	sigset_t	saved;
	bool		ok;

	parparaw_cuda_block(&saved);
	ok = backend->submit(scan, job);
	if (!ok)
		take_note(library->error());
	parparaw_cuda_unblock(&saved);
	return ok;
}

static PpPoll
device_poll(PpBackendScan *scan, const PpBatch **batch, const char **message)
{
	sigset_t	saved;
	PpPoll		result;

	parparaw_cuda_block(&saved);
	result = backend->poll(scan, batch, message);
	if (result == PP_POLL_FAILED)
		take_note(*message);
	parparaw_cuda_unblock(&saved);
	pending = result == PP_POLL_PENDING;
	return result;
}

static void
device_release(PpBackendScan *scan)
{
	sigset_t	saved;

	parparaw_cuda_block(&saved);
	backend->release(scan);
	parparaw_cuda_unblock(&saved);
}

static void
device_close(PpBackendScan *scan)
{
	sigset_t	saved;

	parparaw_cuda_block(&saved);
	backend->close(scan);
	parparaw_cuda_unblock(&saved);
}

static bool
device_ahead(PpBackendScan *scan, const uint8_t *text, uint32_t len, bool last)
{
	sigset_t	saved;
	bool		ok;

	parparaw_cuda_block(&saved);
	ok = backend->ahead && backend->ahead(scan, text, len, last);
	parparaw_cuda_unblock(&saved);
	return ok;
}

#define DEVICE_BACKEND(shown) \
{ \
	.struct_size = sizeof(PpBackend), \
	.version = PP_BACKEND_VERSION, \
	.name = (shown), \
	.open = device_open, \
	.submit = device_submit, \
	.poll = device_poll, \
	.release = device_release, \
	.close = device_close, \
	.ahead = device_ahead \
}

static const PpBackend device_backend[] = {
	[PP_PIPELINE_FUSED] = DEVICE_BACKEND("cuda (fused)"),
	[PP_PIPELINE_PAPER] = DEVICE_BACKEND("cuda (paper)")
};

/* Documents: where the next job begins, be it the device's or the CPU's. */
static void
device_enter(PpBackendScan *scan, PpJsonPlace place)
{
	(fallen ? pp_json_enter : library->json_enter) (scan, place);
}

/* The run's library and pipeline are those that are called next. */
static void
switch_to(const struct PpDeviceRun *run)
{
	fallen = run->fallen;
	library = run->library;
	backend = run->scan->maker ?
		(run->scan->spec.documents ? library->json : library->ndjson) :
		run->pipeline == PP_PIPELINE_PAPER ? library->paper : library->fused;
}

/* The engine's memory: what is large is pinned. */
static void *
device_alloc(void *ctx, size_t size)
{
	struct PpDeviceRun *run = ctx;
	MemoryContext context = run->scan->run_context;
	PpPinned   *pinned;

	if (size >= PINNED_SIZE && !run->fallen)
	{
		sigset_t	saved;

		pinned = MemoryContextAllocExtended(context, sizeof(PpPinned), MCXT_ALLOC_NO_OOM);
		if (pinned == NULL)
			return NULL;
		parparaw_cuda_block(&saved);
		pinned->block = run->library->pinned_alloc(size);
		parparaw_cuda_unblock(&saved);
		if (pinned->block)
		{
			pinned->next = run->pinned;
			run->pinned = pinned;
			return pinned->block;
		}
		pfree(pinned);
		if (!run->lenient)
		{
			failure = "no pinned memory for a buffer of the file's text";
			failure_kind = PP_CUDA_NO_MEMORY;
			return NULL;
		}
	}
	return MemoryContextAllocExtended(context, Max(size, 1),
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
}

static void
free_pinned(struct PpDeviceRun *run, void *block)
{
	sigset_t	saved;

	parparaw_cuda_block(&saved);
	run->library->pinned_free(block);
	parparaw_cuda_unblock(&saved);
}

static void
device_release_memory(void *ctx, void *ptr)
{
	struct PpDeviceRun *run = ctx;

	if (ptr == NULL)
		return;
	for (PpPinned **link = &run->pinned; *link; link = &(*link)->next)
	{
		PpPinned   *pinned = *link;

		if (pinned->block == ptr)
		{
			*link = pinned->next;
			free_pinned(run, ptr);
			pfree(pinned);
			return;
		}
	}
	pfree(ptr);
}

/* The run's memory context goes: so does what it holds of the device. */
static void
close_run(void *arg)
{
	struct PpDeviceRun *run = arg;

	if (!parparaw_cuda_let_go())
		return;
	switch_to(run);
	if (run->stream)
		pp_stream_close(run->stream);
	while (run->pinned)
	{
		free_pinned(run, run->pinned->block);
		run->pinned = run->pinned->next;
	}
}

/* Is the device likely to be faster, for a file of that many bytes? */
static bool
worthwhile(int64 bytes)
{
	double		device;

	if (bytes < 0)
		return false;			/* a program, or a pipe */
	if (parparaw_cuda_min_file_size >= 0)
		return bytes >= (int64) parparaw_cuda_min_file_size * 1024;
	device = DEVICE_SETUP + (parparaw_cuda_started() ? 0 : DEVICE_START) +
		bytes / DEVICE_RATE;
	return device < bytes / CPU_RATE;
}

/* How files of a format are parsed on a device: JSON in one way only. */
static PpCudaPipeline
pipeline_for(const PpOptions *options)
{
	return options->format == PP_FORMAT_CSV ? (PpCudaPipeline) parparaw_cuda_pipeline : PP_PIPELINE_FUSED;
}

/* What parses the scan's files without a device. */
static const PpBackend *
cpu_backend(const PpScan *scan)
{
	if (!scan->maker)
		return &pp_backend_scalar;
	return scan->spec.documents ? &pp_backend_json : &pp_backend_ndjson;
}

const char *
parparaw_scan_predicted(const PpOptions *options, bool shared)
{
	struct stat st;

	switch ((PpBackendChoice) parparaw_backend)
	{
		case PP_USE_CPU:
			break;
		case PP_USE_CUDA:
			return device_backend[pipeline_for(options)].name;
		case PP_USE_AUTO:
			if (parparaw_cuda_tries() && !shared && !options->is_program &&
				stat(options->filename, &st) == 0 && S_ISREG(st.st_mode) &&
				worthwhile(st.st_size) && parparaw_cuda_likely())
				return device_backend[pipeline_for(options)].name;
			break;
	}
	return pp_backend_scalar.name;
}

const char *
parparaw_scan_backend(const PpScan *scan)
{
	const PpDeviceUse *use = parparaw_device_use(scan);

	return use && !use->cpu ? device_backend[use->pipeline].name : pp_backend_scalar.name;
}

bool
parparaw_device_begin(PpScan *scan)
{
	bool		lenient = parparaw_backend == PP_USE_AUTO;
	PpScanSpec *spec = &scan->spec.scan;
	struct PpDeviceRun *run;
	const PpCudaLibrary *found;
	PpCudaProblem problem;
	instr_time	started;
	instr_time	now;

	if (scan->device_use)
		scan->device_use->cpu = true;
	scan->device = NULL;
	scan->spec.backend = cpu_backend(scan);
	scan->spec.enter = pp_json_enter;
	scan->spec.first_partition = 0;
	scan->spec.read_ahead = false;

	/* ANALYZE looks at few rows, and skips the others unread */
	if (parparaw_backend == PP_USE_CPU || scan->lazy)
		return false;
	if (lenient && (!parparaw_cuda_tries() || scan->shared || IsParallelWorker() ||
					!worthwhile(parparaw_source_size(scan->source)) ||
					!parparaw_cuda_likely()))
		return false;
	if (scan->shared || IsParallelWorker())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("several processes cannot share a scan on a device"),
				 errdetail("The query was planned with another parparaw.backend."),
				 errhint("Run the query again.")));

	INSTR_TIME_SET_CURRENT(started);
	found = parparaw_cuda_start(&problem);
	if (found == NULL)
	{
		if (!lenient)
			parparaw_cuda_raise(&problem);
		parparaw_cuda_note_failed_start(&problem);
		return false;
	}
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, started);

	if (scan->device_use == NULL)
		scan->device_use = MemoryContextAllocZero(scan->context, sizeof(PpDeviceUse));
	run = MemoryContextAllocZero(scan->run_context, sizeof(struct PpDeviceRun));
	run->scan = scan;
	run->library = found;
	run->pipeline = pipeline_for(scan->options);
	scan->device_use->pipeline = run->pipeline;
	scan->device_use->json = scan->maker != NULL;
	switch_to(run);
	run->lenient = lenient;
	run->started = run->paused = started;
	run->start = INSTR_TIME_GET_DOUBLE(now);
	run->callback.func = close_run;
	run->callback.arg = run;
	parparaw_cuda_hold();
	MemoryContextRegisterResetCallback(scan->run_context, &run->callback);
	scan->device = run;

	{
		PpCudaOptions options = {sizeof(PpCudaOptions), (PpTagging) parparaw_cuda_tagging};
		sigset_t	saved;

		parparaw_cuda_block(&saved);
		found->set_options(&options);
		parparaw_cuda_unblock(&saved);
	}
	spec->alloc.alloc = device_alloc;
	spec->alloc.release = device_release_memory;
	spec->alloc.ctx = run;
	spec->max_records = PP_MAX_RECORD;
	scan->spec.backend = &device_backend[run->pipeline];
	if (scan->maker)
	{
		scan->spec.json.host = cpu_backend(scan);
		scan->spec.json.host_enter = pp_json_enter;
		scan->spec.enter = device_enter;
	}
	scan->spec.partition_size = parparaw_cuda_partition_size;
	scan->spec.first_partition = FIRST_PARTITION;
	/* of a program or a pipe, rows are not to wait for more input */
	scan->spec.read_ahead = parparaw_source_size(scan->source) >= 0;
	return true;
}

void
parparaw_device_opened(PpScan *scan)
{
	scan->device->stream = scan->stream;
}

/* Sleeps a little, for longer the longer the device takes. */
static void
wait_for_device(struct PpDeviceRun *run)
{
	uint32		n = run->waits++;

	if (n < SPINS)
		return;
	pgstat_report_wait_start(PG_WAIT_EXTENSION);
	pg_usleep(Min(SLEEP_US + (n - SPINS), MAX_SLEEP_US));
	pgstat_report_wait_end();
}

PpStep
parparaw_device_step(PpScan *scan)
{
	struct PpDeviceRun *run = scan->device;
	PpStep		step;

	switch_to(run);
	failure = NULL;
	pending = false;
	step = pp_stream_step(scan->stream);
	if (pending)
		wait_for_device(run);
	else
		run->waits = 0;
	return step;
}

void
parparaw_device_pause(PpScan *scan)
{
	INSTR_TIME_SET_CURRENT(scan->device->paused);
}

void
parparaw_device_was_read(PpScan *scan, instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	scan->device->read += INSTR_TIME_GET_DOUBLE(now);
}

/* The device's own figures, before its scan is closed. */
static void
gather(struct PpDeviceRun *run, const PpStream *stream)
{
	const PpBackendScan *scan = pp_stream_scan(stream);
	sigset_t	saved;

	if (run->gathered || scan == NULL)
		return;
	parparaw_cuda_block(&saved);
	run->library->stats(scan, &run->stats);
	parparaw_cuda_unblock(&saved);
}

bool
parparaw_device_failed(PpScan *scan)
{
	struct PpDeviceRun *run = scan->device;
	PpCudaProblem problem;

	if (failure == NULL || run->fallen)
		return false;
	parparaw_cuda_explain_failure(failure_kind, failure, &problem);
	if (!run->lenient)
		parparaw_cuda_raise(&problem);
	parparaw_cuda_note_fallback(&problem);

	gather(run, scan->stream);
	run->gathered = run->fallen = true;
	return pp_stream_set_backend(scan->stream, cpu_backend(scan),
								 parparaw_scan_max_records(scan), parparaw_chunk_size);
}

static void
add_stats(PpCudaStats *sum, const PpCudaStats *s)
{
	for (int i = 0; i < PP_STAGES; i++)
	{
		sum->seconds[i] += s->seconds[i];
		sum->launches[i] += s->launches[i];
	}
	for (int i = 0; i < lengthof(sum->partitions_by_tagging); i++)
		sum->partitions_by_tagging[i] += s->partitions_by_tagging[i];
	for (int i = 0; i < lengthof(sum->partitions_by_states); i++)
		sum->partitions_by_states[i] += s->partitions_by_states[i];
	sum->h2d_bytes += s->h2d_bytes;
	sum->d2h_bytes += s->d2h_bytes;
	sum->device_bytes = s->device_bytes;
	sum->peak_device_bytes = Max(sum->peak_device_bytes, s->peak_device_bytes);
}

/* What the run has done so far is added. */
static void
add_run(struct PpDeviceRun *run, const PpStream *stream, PpDeviceUse *use)
{
	instr_time	total = run->paused;

	gather(run, stream);
	INSTR_TIME_SUBTRACT(total, run->started);
	use->cpu = run->fallen;
	use->total += INSTR_TIME_GET_DOUBLE(total);
	use->start += run->start;
	use->read += run->read;
	add_stats(&use->stats, &run->stats);
	use->rest = use->total - use->start - use->read;
	for (int i = 0; i < PP_STAGES; i++)
		use->rest -= use->stats.seconds[i];
}

void
parparaw_device_end(PpScan *scan)
{
	if (scan->stream)
		add_run(scan->device, scan->stream, scan->device_use);
	scan->device = NULL;
}

const PpDeviceUse *
parparaw_device_use(const PpScan *scan)
{
	PpDeviceUse *use = scan->device_use;

	if (use == NULL)
		return NULL;
	if (scan->device && scan->stream)
	{
		PpDeviceUse *copy = palloc(sizeof(PpDeviceUse));

		*copy = *use;
		add_run(scan->device, scan->stream, copy);
		return copy;
	}
	return use;
}

/*
 * cuda/library.h
 *	  What the device library (parparaw_cuda.so) offers to the extension: one
 *	  exported function that answers a table.
 *
 * The library is C++ inside and plain C at this border: no exception crosses
 * it, it includes no PostgreSQL header, starts no thread of its own (the
 * driver may) and keeps one context for the process, which is made by start()
 * and never before.  A device does not survive fork(): start() is for the
 * process that uses it.
 *
 * Backends (backend.h) are driven by submit and poll.  No call waits for the
 * device: poll looks whether what was enqueued is done, enqueues what comes
 * next, and answers PP_POLL_PENDING otherwise.
 */
#ifndef PP_LIBRARY_H
#define PP_LIBRARY_H

#include "../src/backend.h"
#include "../src/parse/json/json.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Grows with every change of what stands here. */
#define PP_CUDA_VERSION	2

/* How symbols find their record (ParPaRaw, sections 3.3 and 4.1). */
typedef enum PpTagging
{
	PP_TAG_AUTO,				/* chosen for each partition */
	PP_TAG_RECORD,				/* record tags */
	PP_TAG_INLINE,				/* inline-terminated, where the terminator does
								 * not occur; else vector-delimited */
	PP_TAG_VECTOR				/* vector-delimited */
} PpTagging;

typedef struct PpCudaConfig
{
	uint32_t	struct_size;
	int32_t		device;			/* ordinal */
	uint64_t	max_bytes;		/* of device memory that this process may take */
} PpCudaConfig;

/* Applies to scans opened from then on. */
typedef struct PpCudaOptions
{
	uint32_t	struct_size;
	PpTagging	tagging;
	uint32_t	thread_bytes;	/* longer values are converted by a block ... */
	uint32_t	block_bytes;	/* ... and still longer ones by the device; 0: as the
								 * library thinks best */
	uint32_t	tile_bytes;		/* that a block takes at a time, fused; 0: the same */
	uint32_t	states;			/* PpFusedStates: with no less than this, fused */
} PpCudaOptions;

typedef struct PpCudaDevice
{
	char		name[256];
	int32_t		major;			/* compute capability */
	int32_t		minor;
	uint64_t	total_bytes;
	double		start_seconds;	/* making the context took */
} PpCudaDevice;

/*
 * Where a scan's time goes.  Kernels' stages are those of the paper, unless the
 * pipeline is the fused one.
 */
typedef enum PpCudaStage
{
	PP_STAGE_H2D,				/* text to the device */
	PP_STAGE_VECTORS,			/* transition vectors */
	PP_STAGE_SCAN,				/* composite scan, offset scan */
	PP_STAGE_BITMAPS,			/* bitmap indexes, counts */
	PP_STAGE_TAG,				/* column (and record) tags */
	PP_STAGE_PARTITION,			/* radix partition by column */
	PP_STAGE_INDEX,				/* CSS index */
	PP_STAGE_CONVERT_THREAD,	/* conversion by one thread ... */
	PP_STAGE_CONVERT_BLOCK,		/* ... by a block ... */
	PP_STAGE_CONVERT_DEVICE,	/* ... by the whole device */
	PP_STAGE_PARSE,				/* fused: the pass from bytes to columns ... */
	PP_STAGE_LONG,				/* ... copies of long values ... */
	PP_STAGE_COLUMNS,			/* ... columns of the records that are left */
	PP_STAGE_FILTER,			/* and aggregates */
	PP_STAGE_D2H,				/* columns to the host */
	PP_STAGES
} PpCudaStage;

typedef struct PpCudaStats
{
	double		seconds[PP_STAGES];	/* on the device */
	uint64_t	launches[PP_STAGES];	/* kernels and device-wide calls; copies */
	uint64_t	h2d_bytes;
	uint64_t	d2h_bytes;
	uint64_t	device_bytes;	/* held now */
	uint64_t	peak_device_bytes;
	uint64_t	partitions_by_tagging[4];	/* by PpTagging, of pipeline paper */
	uint64_t	partitions_by_states[3];	/* by PpFusedStates, of pipeline fused */
} PpCudaStats;

/* Why something failed. */
typedef enum PpCudaFailure
{
	PP_CUDA_UNSUPPORTED = 1,	/* the pipeline does not do what the scan wants */
	PP_CUDA_NO_MEMORY,			/* on the device, or pinned */
	PP_CUDA_NO_DEVICE,			/* no driver, or none that will do; no device */
	PP_CUDA_BROKEN				/* a launch, a copy or the context failed */
} PpCudaFailure;

typedef struct PpCudaLibrary
{
	uint32_t	struct_size;
	uint32_t	version;		/* PP_CUDA_VERSION */
	const char *name;			/* "cuda", or "simt" where the CPU executes it */

	/* The pipeline as published.  Its name, as EXPLAIN shows it: "cuda (paper)". */
	const PpBackend *paper;

	/* The one that passes over the text once: "cuda (fused)". */
	const PpBackend *fused;

	/*
	 * The same of newline-delimited JSON and of JSON documents; specs are
	 * PpJsonScanSpec, with a host backend.
	 */
	const PpBackend *ndjson;
	const PpBackend *json;
	void		(*json_enter) (PpBackendScan *scan, PpJsonPlace place);	/* as pp_json_enter() */

	/*
	 * Makes the context, once a process; later calls answer the same.  False:
	 * *message says why not, static text.
	 */
	bool		(*start) (const PpCudaConfig *config, PpCudaDevice *device,
						  const char **message);
	void		(*set_options) (const PpCudaOptions *options);

	/*
	 * Why open(), submit() or poll() of a backend failed last, static text, and
	 * what kind of failure that, or start()'s last, was.
	 */
	const char *(*error) (void);
	PpCudaFailure (*failure) (void);

	/*
	 * Of one scan since it was opened; NULL: of the process since start(),
	 * memory only.
	 */
	void		(*stats) (const PpBackendScan *scan, PpCudaStats *stats);

	/* Host memory that is copied to and from the device at full speed. */
	void	   *(*pinned_alloc) (size_t size);	/* NULL: none */
	void		(*pinned_free) (void *p);	/* NULL is fine */

	/*
	 * Frees what scans left behind and the context.  No scan may be used
	 * afterwards, but start() may be called again.
	 */
	void		(*stop) (void);
} PpCudaLibrary;

/* The one exported symbol; NULL: that version is not what the library offers. */
extern const PpCudaLibrary *pp_cuda_library(uint32_t version);
typedef const PpCudaLibrary *(*PpCudaLibraryFunction) (uint32_t version);
#define PP_CUDA_LIBRARY_SYMBOL	"pp_cuda_library"

#ifdef __cplusplus
}
#endif

#endif							/* PP_LIBRARY_H */

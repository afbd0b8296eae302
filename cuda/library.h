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
#include "../src/trie/join.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Grows with every change of what stands here. */
#define PP_CUDA_VERSION	5

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

/* How a join is gone through. */
typedef enum PpCudaJoinAlgorithm
{
	PP_CUDA_JOIN_AUTO,			/* in a call: choose */
	PP_CUDA_JOIN_LFTJ,			/* depth first, a thread at a time */
	PP_CUDA_JOIN_OPTIMIZED,		/* breadth first, level by level */
	PP_CUDA_JOIN_DEGREE,		/* cliques of one relation, by classes of degree */
	PP_CUDA_JOIN_PAIRWISE,		/* sort-merge joins of two relations at a time:
								 * a baseline for measurements, COUNT only */
	PP_CUDA_JOIN_ALGORITHMS
} PpCudaJoinAlgorithm;

/* Why a join is not gone through by DEGREE. */
typedef enum PpCudaJoinDeclined
{
	PP_CUDA_DECLINED_NOT,		/* it is, or that was not asked */
	PP_CUDA_DECLINED_ROWS,		/* not counts, but rows are wanted */
	PP_CUDA_DECLINED_RELATIONS,	/* atoms are of several relations */
	PP_CUDA_DECLINED_SHAPE,		/* they are no clique, or no short cut is wanted */
	PP_CUDA_DECLINED_LISTS,		/* lists are too long to count by the key of one of four
								 * variables or more */
	PP_CUDA_DECLINED_MANY,		/* more rows than are counted for an edge */
	PP_CUDA_DECLINED_MEMORY,	/* the device has too little of it */
	PP_CUDA_DECLINED_REASONS
} PpCudaJoinDeclined;

typedef struct PpCudaJoin PpCudaJoin;

/* Rows of two keys each, in device memory. */
typedef struct PpCudaRelation PpCudaRelation;

/* What a join came to, and where its time went. */
typedef struct PpCudaJoinInfo
{
	PpCudaJoinAlgorithm algorithm;	/* that is used */
	PpCudaJoinDeclined declined;	/* of a call with AUTO or DEGREE */
	uint32_t	order[PP_JOIN_MAX_VARIABLES];	/* of variables; meaningless if DEGREE */
	uint32_t	nkeys;			/* numbers given to keys */
	uint32_t	ntries;			/* built */
	uint32_t	nshared;		/* atoms that use a trie built for another */
	uint32_t	nboxes;			/* that it was cut into, for the device's memory; 1: none */
	const char *dictionary;		/* how keys are numbered: "direct", "sort" or "none" */
	size_t		host_bytes;		/* of the caller's allocator, held now */
	size_t		host_peak_bytes;
	uint64_t	peak_device_bytes;	/* of this join, blocks not in use left out */
	uint64_t	h2d_bytes;
	uint64_t	d2h_bytes;
	uint64_t	launches;
	uint64_t	seeks;			/* searches in lists */
	double		h2d_seconds;	/* on the device: keys to it, ... */
	double		build_seconds;	/* ... numbers and tries, ... */
	double		join_seconds;	/* ... kernels that join, ... */
	double		d2h_seconds;	/* ... answers back */
} PpCudaJoinInfo;

/*
 * Joins on the device: as src/trie/join.h, with these differences.  A call
 * returns when its work is done; while it waits for the device it asks the
 * query's callback, about once a millisecond, from the calling thread only.
 * NO_FIT: the device's memory that the process may take, or the budget of the
 * host's, is too small for this algorithm.  HANDED_OVER: the device does not
 * answer this one (a count of 2^64 or more on the way, say), the CPU's engine
 * has to, from the beginning.  A join that answered anything but OK can only
 * be freed.
 */
typedef struct PpCudaJoinTable
{
	/*
	 * Uploads keys, builds all there is to build.  With an algorithm that is
	 * not for the query or its rows, another one is used: info() says which.
	 * Pairs of the query are not looked at after it has returned; codes are not
	 * supported (INVALID).  resident, if not NULL: for each relation of the query,
	 * NULL or where its rows are instead of in pairs; it stays the caller's, and
	 * may be closed then.  Not with row_numbers.
	 */
	PpJoinStatus (*build) (const PpJoinQuery *query, PpCudaRelation *const *resident,
						   PpCudaJoinAlgorithm algorithm, const PpAlloc *alloc, size_t budget,
						   PpCudaJoin **join);
	void		(*free) (PpCudaJoin *join);	/* NULL is fine */
	void		(*info) (const PpCudaJoin *join, PpCudaJoinInfo *info);

	/* As pp_join_count(), pp_join_groups(), pp_join_rows(). */
	PpJoinStatus (*count) (PpCudaJoin *join, PpCount *count);
	PpJoinStatus (*groups) (PpCudaJoin *join, int64_t *keys, PpCount *counts,
							size_t capacity, size_t *n);
	PpJoinStatus (*rows) (PpCudaJoin *join, int64_t *keys, uint32_t *rows,
						  size_t capacity, size_t *n);

	/* Begins the answers anew, for what was built. */
	void		(*rewind) (PpCudaJoin *join);

	/*
	 * Relations of the device: made of what scans leave there (PpKeySink of
	 * backend.h), and of rows of the host's.  Answers of NULL or false are
	 * failures, see error() and failure().  Rows are known once no scan adds to
	 * them; fetch copies n of them, from number first on, to pairs[2 * n].  close
	 * frees them, NULL is fine; no scan may add to them any more.
	 */
	PpCudaRelation *(*relation_open) (void);
	void		(*relation_close) (PpCudaRelation *relation);
	bool		(*relation_append) (PpCudaRelation *relation, const int64_t *pairs, uint64_t n);
	bool		(*relation_rows) (PpCudaRelation *relation, uint64_t *nrows);
	bool		(*relation_fetch) (PpCudaRelation *relation, uint64_t first, uint64_t n,
								   int64_t *pairs);
} PpCudaJoinTable;

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

	const PpCudaJoinTable *join;

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

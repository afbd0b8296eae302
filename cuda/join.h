/*
 * cuda/join.h
 *	  What the files of the device's join engine share: relations, tries and
 *	  stages in device memory, and what each algorithm offers.
 *
 * join_upload.cu	rows of pageable memory on their way to the device
 * join_build.cu	keys become numbers 0 .. nkeys - 1 in their order, and
 *					relations become codes
 * join_tries.cu	codes become tries in CSR form
 * join_lftj.cu		LFTJ-GPU: depth first, a thread goes through its share of the
 *					top levels by itself
 * join_optimized.cu	GPU-Optimized: breadth first, level by level, within
 *					bounded frontiers
 * join_degree*.cu	cliques of one relation: edges in order of degree, work in
 *					classes of degree
 * join_pairwise.cu	the baseline of sort-merge joins
 * join_relation.cu	relations that scans have left on the device
 * join_boxes.cu	joins larger than the device's memory, box by box
 * join_driver.cu	the table of library.h: opening and building, which algorithm,
 *					waiting and cancelling
 * join_answers.cu	stages in their order, groups and batches of rows on their
 *					way back
 *
 * (Wu, Zinn, Aref, Yalamanchili: Multipredicate Join Algorithms for
 * Accelerating Relational Graph Processing on GPUs, ADMS 2014.)
 *
 * Functions here enqueue on join->stream and answer a status; errors are noted
 * by pp_fail_call() and the like before DEVICE_FAILED is answered.  Only
 * pp_join_wait() and what calls it waits.  Nothing is thrown.
 */
#ifndef PP_CUDA_JOIN_H
#define PP_CUDA_JOIN_H

#include "process.h"
#include "../src/trie/join_stage.h"

/* ---------- in device memory ---------- */

/* A trie, as PpTrie of src/trie/trie.h; pointers are the device's. */
typedef struct PpDeviceTrie
{
	const uint32_t *start;		/* [nkeys + 1]; NULL: of LOOPS */
	const uint32_t *list;		/* [nentries], ascending in each list */
	const uint32_t *first;		/* [nentries + 1] rows of each entry, as places in row;
								 * NULL: entry i is row[i] only */
	const uint32_t *row;		/* NULL: not wanted */
	uint32_t	nentries;
	uint32_t	longest;		/* list */
} PpDeviceTrie;

/*
 * A stage as kernels read it, who copy it to shared memory first.  Levels, lists
 * and comparisons are those of the plan.
 */
typedef struct PpDeviceStage
{
	PpStage		plan;
	uint32_t	nkeys;
	uint32_t	nothing;
	PpDeviceTrie trie[PP_JOIN_MAX_ATOMS];	/* by number; those that the stage uses */
	const uint64_t *factor[PP_JOIN_MAX_VARIABLES];	/* by stage, then value; of those
													 * that are factors here */
} PpDeviceStage;

/*
 * What kernels report, one to a join.  A kernel that works for long looks at
 * stop every few thousand steps and ends when it is set.
 */
typedef struct PpJoinSignals
{
	uint32_t	stop;
	uint32_t	overflow;		/* set: a count of 2^64 or more, the answer is void */
	uint64_t	total[2];		/* sum of the counts so far, low and high */
	uint64_t	seeks;
} PpJoinSignals;

/* ---------- in host memory ---------- */

/* A relation on the device: codes[i] is first key's number << 32 | second's. */
typedef struct PpDeviceRelation
{
	PpBuffer	codes;
	uint32_t	nrows;
	uint32_t	nless;			/* rows whose first key is less than the second */
	uint32_t	nequal;
	PpJoinSides sides;
} PpDeviceRelation;

typedef struct PpDeviceJoin
{
	/* of the driver */
	uint32_t	nvariables;
	uint32_t	natoms;
	uint32_t	nrelations;
	PpJoinMode	mode;
	bool		row_numbers;
	bool		(*cancelled) (void *ctx);	/* NULL: never */
	void	   *cancel_ctx;
	const PpAlloc *alloc;		/* of the host's memory, for what is not small */
	PpCudaRelation *const *resident;	/* NULL, or by relation: NULL, or where the rows
										 * are instead of in pairs */
	cudaStream_t stream;
	PpBuffer	signals;		/* PpJoinSignals on the device */
	PpCudaJoinInfo info;
	PpStagePlan plan;
	PpBuffer	stages;			/* [nstages] of PpDeviceStage */
	PpBuffer	counted[PP_JOIN_MAX_VARIABLES];	/* of each stage by value: [nkeys] of
												 * uint64_t */

	/* of join_build.cu */
	uint32_t	nkeys;
	PpBuffer	names;			/* [nkeys] keys by number, int64_t; none if only to be
								 * counted */
	PpDeviceRelation relation[PP_JOIN_MAX_RELATIONS];
	PpDeviceTrie trie[PP_JOIN_MAX_ATOMS];	/* as plan.trie[] */
	PpBuffer	trie_memory[PP_JOIN_MAX_ATOMS][4];	/* start, list, first, row */

	struct PpDegreeJoin *degree;	/* of join_degree.cu; NULL: none */
} PpDeviceJoin;

/* Answers what a call does not answer OK. */
#define TRY(call) \
	do { \
		const PpJoinStatus status_ = (call); \
		if (status_ != PP_JOIN_OK) \
			return status_; \
	} while (0)

/* ---------- join_driver.cu ---------- */

/*
 * A join without anything built, of a query that is valid.  free: NULL is fine.
 * PpCudaJoin of library.h is one with what the driver has behind it.
 */
extern PpJoinStatus pp_device_join_open(const PpJoinQuery *query, const PpAlloc *alloc,
										size_t budget, PpDeviceJoin **join);
extern void pp_device_join_free(PpDeviceJoin *join);

/*
 * Waits until all that is enqueued is done, asking whether to go on about once
 * a millisecond.  CANCELLED: kernels were told to stop, and have.
 */
extern PpJoinStatus pp_join_wait(PpDeviceJoin *join);

/*
 * The same, and looks at what kernels reported: HANDED_OVER if something
 * overflowed.  signals may be NULL.
 */
extern PpJoinStatus pp_join_signals(PpDeviceJoin *join, PpJoinSignals *signals);

/* Makes room in device memory, or answers NO_FIT or DEVICE_FAILED. */
extern PpJoinStatus pp_join_reserve(PpDeviceJoin *join, PpBuffer *buffer, uint64_t bytes);

/* The status that a call's answer means; what failed is noted. */
extern PpJoinStatus pp_join_call(const char *what, cudaError_t e);

/* What the launch just made came to; counts it. */
extern PpJoinStatus pp_join_launched(PpDeviceJoin *join, const char *what);

/* Enqueues a copy on join->stream and counts its bytes, or clears memory. */
extern PpJoinStatus pp_join_copy(PpDeviceJoin *join, void *dst, const void *src, uint64_t bytes,
								 cudaMemcpyKind kind);
extern PpJoinStatus pp_join_clear(PpDeviceJoin *join, void *p, uint64_t bytes);

/*
 * What is enqueued from here on is of that phase: info's seconds.  Times are
 * added up by pp_join_wait().
 */
typedef enum PpJoinPhase
{
	PP_JOIN_PHASE_H2D,
	PP_JOIN_PHASE_BUILD,
	PP_JOIN_PHASE_JOIN,
	PP_JOIN_PHASE_D2H,
	PP_JOIN_PHASES
} PpJoinPhase;
extern PpJoinStatus pp_join_phase(PpDeviceJoin *join, PpJoinPhase phase);

/* ---------- join_relation.cu ---------- */

/* As the functions of PpCudaJoinTable. */
extern PpCudaRelation *pp_relation_open(void);
extern void pp_relation_close(PpCudaRelation *relation);
extern bool pp_relation_append(PpCudaRelation *relation, const int64_t *pairs, uint64_t n);
extern bool pp_relation_rows(PpCudaRelation *relation, uint64_t *nrows);
extern bool pp_relation_fetch(PpCudaRelation *relation, uint64_t first, uint64_t n,
							  int64_t *pairs);

/*
 * Takes rows that are in memory of the caller's once a stream has come to here:
 * their number, and 256 bytes behind it the rows.  The relation has no others.
 */
extern bool pp_relation_adopt(PpCudaRelation *relation, uint8_t *memory, uint64_t nrows,
							  cudaStream_t stream);

/*
 * Behind pp_relation_rows(): the rows of piece i, in device memory; false: there
 * are no more pieces.
 */
extern bool pp_relation_piece(PpCudaRelation *relation, uint32_t i, const int64_t **pairs,
							  uint32_t *nrows);

/* Takes from all relations what they have on the device; they may be closed. */
extern void pp_relations_stop(void);

/* ---------- join_build.cu, join_tries.cu ---------- */

/*
 * Uploads the keys of the relations that used[] says, in pieces through pinned
 * memory, and numbers all different keys of them in their order: nkeys, names,
 * relation[].  Keys that lie close together are numbered by their distance
 * from the least one ("direct"), some numbers being unused; others by sorting.
 */
extern PpJoinStatus pp_device_number(PpDeviceJoin *join, const PpJoinQuery *query,
									 const bool *used);

/*
 * Builds trie number t of the plan; rows: numbers of rows are wanted.  Tries are
 * built in the plan's order: the codes that no later one reads may be gone then.
 */
extern PpJoinStatus pp_device_trie(PpDeviceJoin *join, uint32_t t, bool rows);

extern void pp_device_codes_release(PpDeviceJoin *join, uint32_t relation);
extern void pp_device_tries_release(PpDeviceJoin *join);
extern void pp_device_build_release(PpDeviceJoin *join);	/* tries, too */

/* ---------- algorithms ---------- */

/*
 * Counts a stage: adds to out[value of level 0], in device memory, or if that
 * is NULL to signals->total.  Enqueues pieces of bounded work and waits for
 * each.
 */
typedef PpJoinStatus (*PpStageCounter) (PpDeviceJoin *join, uint32_t stage, uint64_t *out);
extern PpJoinStatus pp_lftj_count(PpDeviceJoin *join, uint32_t stage, uint64_t *out);
extern PpJoinStatus pp_optimized_count(PpDeviceJoin *join, uint32_t stage, uint64_t *out);

/*
 * Rows, a batch at a time, always in the same order.  Of row i of a batch of
 * at most capacity rows, variable v has number values[v * capacity + i], atom
 * a the row rows[a * capacity + i] (device memory; rows NULL: not wanted).  An
 * assignment of several rows comes as often.  Enqueued and waited for; *n is 0
 * at the end.  State is NULL before the first batch, and is made and kept
 * there; close frees it, and NULL is fine.
 */
typedef struct PpDeviceRows PpDeviceRows;
typedef PpJoinStatus (*PpRowsNext) (PpDeviceJoin *join, PpDeviceRows **state, uint32_t *values,
									uint32_t *rows, uint32_t capacity, uint32_t *n);
extern PpJoinStatus pp_lftj_rows(PpDeviceJoin *join, PpDeviceRows **state, uint32_t *values,
								 uint32_t *rows, uint32_t capacity, uint32_t *n);
extern void pp_lftj_rows_close(PpDeviceJoin *join, PpDeviceRows *state);
extern PpJoinStatus pp_optimized_rows(PpDeviceJoin *join, PpDeviceRows **state,
									  uint32_t *values, uint32_t *rows, uint32_t capacity,
									  uint32_t *n);
extern void pp_optimized_rows_close(PpDeviceJoin *join, PpDeviceRows *state);

/*
 * Cliques.  match: NOT if the query is one, whatever the rows are, or why this is
 * not for it.  build: takes the relation's codes and sets join->degree, or leaves
 * both: the rows are none that it is for, info.declined says why.  count adds to signals->total; groups to out[number], where
 * numbers are those of join->names.
 */
extern PpCudaJoinDeclined pp_degree_match(const PpJoinQuery *query);
extern PpJoinStatus pp_degree_build(PpDeviceJoin *join, const PpJoinQuery *query);
extern PpJoinStatus pp_degree_count(PpDeviceJoin *join);
extern PpJoinStatus pp_degree_groups(PpDeviceJoin *join, uint64_t *out);
extern void pp_degree_release(PpDeviceJoin *join);

/* The baseline: counts the query by joining two relations after another. */
extern PpJoinStatus pp_pairwise_count(PpDeviceJoin *join, const PpJoinQuery *query);

#endif							/* PP_CUDA_JOIN_H */

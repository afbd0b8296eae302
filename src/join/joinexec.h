/*-------------------------------------------------------------------------
 *
 * joinexec.h
 *		What the files that execute a cyclic join share.
 *
 * setup.c makes the structures; exec.c drives the engine, or device.c a device
 * in its place, and makes rows of what it answers; child.c and heap.c read the
 * children into relations, key.c makes codes of keys, store.c keeps the columns
 * that go along with them.  If all of this does not fit the memory that a hash
 * table may take, spill.c writes relations to files, and boxes.c joins them
 * piece by piece.
 *
 * IDENTIFICATION
 *		src/join/joinexec.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARPARAW_JOINEXEC_H
#define PARPARAW_JOINEXEC_H

#include "../cuda_loader.h"
#include "../scan/scan.h"
#include "../trie/box.h"
#include "joinscan.h"

#include "fmgr.h"
#include "portability/instr_time.h"
#include "storage/buffile.h"
#include "utils/tuplesort.h"

typedef struct PpJoinState PpJoinState;
typedef struct PpJoinDevice PpJoinDevice;

/*
 * key.c: codes of keys
 */

/* Values that are numbered as they come, since only equality is known. */
typedef struct PpDomain
{
	PpKeyKind	kind;			/* IMAGE or EQUAL */
	Oid			type;
	Oid			collation;
	int16		typlen;
	bool		typbyval;
	bool		named;			/* is the way back from codes wanted? */
	FmgrInfo	hash;			/* EQUAL */
	FmgrInfo	equal;
	MemoryContext context;
	uint32		n;
	uint32		mask;			/* of the slots */
	uint32	   *slots;			/* number plus one; 0: empty */
	uint32		room;			/* of the next two */
	uint32	   *hashes;			/* [n] */
	uint64	   *at;				/* [n] where the values are */
	char	   *data;
	uint64		used;
	uint64		size;

	/* once there is not enough memory, see spill.c */
	Tuplesortstate *sort;		/* values and where they occur */
	TupleTableSlot *put_slot;	/* to put into it, ... */
	TupleTableSlot *sort_slot;	/* ... and to get out of it */
	BufFile    *file;			/* the values; codes are places in it */
} PpDomain;

/* How a column's Datum, or what a page has in its place, becomes a code. */
typedef enum PpKeyRead
{
	PP_READ_UINT8,
	PP_READ_INT16,
	PP_READ_INT32,
	PP_READ_UINT32,
	PP_READ_INT64,
	PP_READ_UINT64,				/* in the order of signed numbers */
	PP_READ_DOMAIN
} PpKeyRead;

extern PpDomain *parparaw_domain_make(const PpVariablePlan *variable, MemoryContext context);
extern void parparaw_domain_reset(PpDomain *domain);

/* Gives back the memory of its numbers and values. */
extern void parparaw_domain_forget(PpDomain *domain);

/* The number of a value, which is one of the domain's from now on. */
extern int64 parparaw_domain_code(PpDomain *domain, Datum value);

/* The value of a number; by reference: valid as long as the domain is. */
extern Datum parparaw_domain_value(const PpDomain *domain, int64 code);

/* Bytes held; and those that so many more values take, while it grows. */
extern Size parparaw_domain_bytes(const PpDomain *domain);
extern Size parparaw_domain_growth(const PpDomain *domain, uint32 n);

/* How keys of a column of this length are read. */
extern PpKeyRead parparaw_key_read(const PpVariablePlan *variable, int16 typlen,
								   bool typbyval);

/* A code as a Datum of a type with that length. */
static inline Datum
pp_key_datum(PpKeyRead read, int64 code)
{
	return read == PP_READ_UINT64 ? (Datum) ((uint64) code ^ (UINT64CONST(1) << 63)) :
		(Datum) code;
}

/* The code of a value passed by value. */
static inline int64
pp_key_code(PpKeyRead read, Datum value)
{
	switch (read)
	{
		case PP_READ_UINT8:
			return (uint8) value;
		case PP_READ_INT16:
			return (int16) value;
		case PP_READ_INT32:
			return (int32) value;
		case PP_READ_UINT32:
			return (uint32) value;
		case PP_READ_UINT64:
			return (int64) ((uint64) value ^ (UINT64CONST(1) << 63));
		default:
			return (int64) value;
	}
}

/*
 * store.c: columns that go along with a relation's rows, in memory or in a
 * file: as records of one length if all are passed by value, else as minimal
 * tuples.
 */
typedef struct PpStore
{
	int			ncolumns;
	int			stride;			/* bytes of a record; 0: minimal tuples */
	AttrNumber *resno;			/* [ncolumns] in the child's list */
	TupleDesc	desc;
	TupleTableSlot *put;		/* a row to be stored */
	char	   *data;
	uint64		used;			/* bytes, those in the file included */
	uint64		size;
	BufFile    *file;			/* NULL: in memory */
	char	   *tuple;			/* read from the file last */
	Size		tuple_size;
	MemoryContext context;
} PpStore;

extern PpStore *parparaw_store_make(TupleDesc child, int ncolumns,
									const AttrNumber *resno, MemoryContext context);
extern void parparaw_store_reset(PpStore *store);

/* Stores what put holds; answers where it is. */
extern uint64 parparaw_store_put(PpStore *store);

/* Puts a row stored before into a slot's arrays, all of it. */
extern void parparaw_store_get(PpStore *store, uint64 at, TupleTableSlot *slot);

/* A slot for that. */
extern TupleTableSlot *parparaw_store_slot(PpStore *store);

/* Moves everything to a file. */
extern void parparaw_store_spill(PpStore *store);

/* Bytes of memory that moving to a file would free. */
static inline Size
parparaw_store_bytes(const PpStore *store)
{
	return store->file ? 0 : store->size;
}

/* Bytes that putting so many more into it takes on top, for a while at least. */
static inline Size
parparaw_store_growth(const PpStore *store, Size bytes)
{
	return store->file || store->used + bytes <= store->size ? 0 :
		Max(2 * store->size, store->used + bytes);
}

/*
 * Relations: rows of two keys, as the engine reads them.
 */
typedef struct PpSide
{
	AttrNumber	resno;			/* in the child's list */
	PpKeyRead	read;
	PpDomain   *domain;			/* of PP_READ_DOMAIN */
} PpSide;

typedef struct PpRelation
{
	int			number;
	int			child;
	PpSide		side[2];
	PpStore    *store;			/* NULL: no other columns */
	int64	   *pairs;
	uint64	   *at;				/* places in store; NULL without one, or if they
								 * are known from the row's number */
	uint64		nrows;			/* in pairs */
	uint64		room;
	uint64		limit;			/* rows until memory is to be looked at again */

	PpCudaRelation *resident;	/* rows on a device besides, see resident.c */
	struct PpResident *keeper;	/* closes it, though it be read no more */
	uint64		nresident;		/* once they are read */

	/* once spilled: a file of blocks of PP_SPILL_ROWS rows, see spill.c */
	BufFile    *file;
	uint64		nspilled;
	struct PpCells *cells;		/* by hash of their keys, see cells.c */
} PpRelation;

/* Memory that a box has for its rows, however little there is. */
#define LEAST_MEMORY	((Size) 16 * 1024)

#define PP_SPILL_ROWS	128

/* Rows that a relation takes without looking at memory. */
#define PP_ROWS_CHECKED	256

/* Has each row in memory to know its place in the store? */
static inline bool
pp_relation_places(const PpRelation *relation)
{
	return relation->store && relation->store->stride == 0;
}

/* Rows of a relation, wherever they are. */
static inline uint64
pp_relation_rows(const PpRelation *relation)
{
	return relation->nspilled + relation->nrows + relation->nresident;
}

/*
 * child.c
 */
typedef struct PpChild
{
	PlanState  *ps;
	int			nrelations;
	PpRelation **relations;		/* that are made of it */
	AttrNumber	last;			/* greatest resno that is needed */
	struct PpHeapReader *heap;	/* heap.c; NULL: by its rows, unless */
	struct PpColumnReader *columns; /* foreign.c */
	bool		touched;		/* read from since it was started or rescanned */
	bool		complete;		/* its relations have all rows of it */
} PpChild;

/* Prepares memory that has just been allocated for large amounts of data. */
extern void parparaw_join_advise(void *ptr, Size size);

/* Reads all of it into its relations.  False: rows that a device was to keep are
 * lost, see resident.c. */
extern bool parparaw_child_read(PpJoinState *state, PpChild *child);

/* Makes room for more rows, spilling if that takes too much memory. */
extern void parparaw_relation_grow(PpJoinState *state, PpRelation *relation);

static inline void
pp_relation_room(PpJoinState *state, PpRelation *relation)
{
	if (unlikely(relation->nrows >= relation->limit))
		parparaw_relation_grow(state, relation);
}

/*
 * Adds a row whose keys are not NULL; the store's columns are in put.  Only
 * behind pp_relation_room().
 */
extern void parparaw_relation_add(PpJoinState *state, PpRelation *relation,
								  const Datum *keys);

/*
 * The column of its table that a scan returns as number resno: 0 or less if it
 * is none of a user's.
 */
extern AttrNumber parparaw_child_column(const PpChild *child, AttrNumber resno);

/* foreign.c: NULL unless the child's columns can be taken from our own scan. */
extern struct PpColumnReader *parparaw_column_reader(PpJoinState *state, PpChild *child);
extern bool parparaw_column_read(PpJoinState *state, PpChild *child);

/* What the child's scan holds of a device is not needed any more. */
extern void parparaw_column_let_go(PpChild *child);

/* It is read again, and has to find the file as it was: an error else. */
extern void parparaw_column_require_same(PpChild *child);

/* heap.c: NULL unless the child can be read page by page. */
extern struct PpHeapReader *parparaw_heap_reader(PpJoinState *state, PpChild *child);
extern void parparaw_heap_read(PpJoinState *state, PpChild *child);

/*
 * spill.c
 */

/* Bytes that rows going to files takes, beside those in memory. */
extern Size parparaw_spill_bytes(const PpJoinState *state);

/* From now on, rows go to files. */
extern void parparaw_spill_start(PpJoinState *state);

/* Writes what the relation has in memory. */
extern void parparaw_spill_rows(PpJoinState *state, PpRelation *relation);

/* A value of the relation's next row; its code will be known later. */
extern void parparaw_spill_value(PpJoinState *state, PpRelation *relation, int side,
								 Datum value);

/*
 * Reads all that was spilled back once, relation by relation and in order,
 * with the codes of values in place.
 */
typedef void (*PpSpillConsumer) (void *arg, PpRelation *relation,
								 const int64 *pairs, const uint64 *at, int n);
extern void parparaw_spill_finish(PpJoinState *state);
extern void parparaw_spill_read(PpJoinState *state, PpRelation *relation,
								PpSpillConsumer consume, void *arg);

/* The value of a code once spilled, by reference, in a memory context. */
extern Datum parparaw_spill_get(PpDomain *domain, int64 code, MemoryContext context);

/* Reads or writes size bytes, or raises an error. */
extern void parparaw_file_read(BufFile *file, void *data, Size size);
extern void parparaw_file_seek(BufFile *file, uint64 offset);

/* A sort of rows of ncolumns bigints, by the first of them. */
extern Tuplesortstate *parparaw_sort_numbers(int ncolumns, int kilobytes,
											 TupleTableSlot **slot);

/*
 * Input of one build of the engine: a relation, or the part of one that falls
 * into a box.
 */
typedef struct PpInput
{
	int64	   *pairs;
	uint64	   *at;
	uint64		nrows;
	uint32	   *codes;			/* in place of pairs, for a box */
} PpInput;

/*
 * number.c: puts numbers below numbers->n in place of the keys of a box's
 * inputs, and drops rows that join with nothing.  False: that takes more than
 * memory, and the inputs are as they were.  Unless rows are only counted, keys
 * by number stay, in the context.
 */
typedef struct PpBoxNumbers
{
	uint32		n;
	int64	   *keys[PP_JOIN_MAX_VARIABLES];	/* by number; NULL: not kept */
	Size		bytes;			/* of keys */
} PpBoxNumbers;

extern bool parparaw_number_box(PpJoinState *state, int ninputs, Size memory,
								MemoryContext context, PpBoxNumbers *numbers);
extern void parparaw_number_forget(PpBoxNumbers *numbers);

/*
 * cells.c: spilled relations sorted by parts of their two columns.
 */
typedef struct PpCells
{
	uint8		bits[2];		/* how often its columns are cut, as a power of 2 */
	int			width;			/* numbers a row has: two keys, and with a store the
								 * place there */
	uint64		at;				/* where its rows are in the file */
	bool		wide;			/* start is of uint64, else of uint32 */
	void	   *start;			/* [cells + 1] rows before each, the first column's
								 * part in the higher bits of a cell's number */
	double		keys[2];		/* in each column, all taken to be as frequent as a
								 * row's is on average */
} PpCells;

/* Of a table's entry; of the table. */
static inline Size
parparaw_cell_bytes(const PpCells *cells)
{
	return cells->wide ? sizeof(uint64) : sizeof(uint32);
}

static inline Size
parparaw_cells_bytes(const PpCells *cells)
{
	return (((Size) 1 << (cells->bits[0] + cells->bits[1])) + 1) * parparaw_cell_bytes(cells);
}

extern void parparaw_cells_make(PpJoinState *state, PpRelation *relation, BufFile *file,
								uint64 *bytes, const uint8 *bits, Size memory,
								Size directory);

/*
 * Rows in the cells of parts of both columns, each one of 2^bits; those of
 * parts smaller than cells are not told apart.
 */
extern uint64 parparaw_cells_rows(const PpCells *cells, const int *bits, const uint32 *part);

/*
 * Gives an atom's rows in a box, always in the same order, some at a time,
 * which the consumer may change.  It answers false if it wants no more; then
 * so does the scan.
 */
typedef bool (*PpCellConsumer) (void *arg, int64 *rows, int n);
extern bool parparaw_cells_scan(PpJoinState *state, BufFile *file, int64 *buffer,
								Size buffer_bytes, const PpCells *cells,
								const PpJoinAtom *atom, const PpBox *box,
								PpCellConsumer consume, void *arg);

/*
 * boxes.c: after parparaw_spill_finish().
 */
typedef struct PpBoxRun PpBoxRun;

extern PpBoxRun *parparaw_boxes_begin(PpJoinState *state);
extern void parparaw_boxes_restart(PpJoinState *state, PpBoxRun *boxes);
extern void parparaw_boxes_end(PpJoinState *state);

/* Builds the join of the next box that may have rows; false: there is none. */
extern bool parparaw_boxes_next(PpJoinState *state, PpBoxRun *boxes);
extern uint64 parparaw_boxes_count(const PpBoxRun *boxes);

/* Keys of a variable in place of the numbers that a box's run answered. */
extern void parparaw_boxes_keys(const PpBoxRun *boxes, int v, int64 *keys, uint32 n);

/* Rows that were read for boxes so far. */
extern uint64 parparaw_boxes_read(const PpBoxRun *boxes);

/*
 * exec.c
 */

/* Of joins on a device. */
typedef struct PpJoinDeviceStats
{
	bool		used;
	const char *handed_over;	/* why the CPU took the last one over; NULL: it did not */
	PpCudaJoinInfo info;		/* of joins that are gone, all together */
	Size		held;			/* bytes of keys and columns meanwhile, at most */
	uint64		kept;			/* rows that scans left on a device */
	instr_time	start_time;		/* making the context */
} PpJoinDeviceStats;

/* What EXPLAIN ANALYZE shows of the runs. */
typedef struct PpJoinStats
{
	bool		built;
	PpJoinInfo	info;			/* of the last join */
	Size		bytes;			/* at most at one time */
	uint64		seeks;
	uint64		boxes;
	instr_time	read_time;
	instr_time	build_time;
	instr_time	join_time;
	PpJoinDeviceStats device;
} PpJoinStats;

typedef struct PpJoinCancel
{
	volatile sig_atomic_t stop;
	bool		alone;			/* no thread but ours is at work */
	bool		anything;		/* any interrupt at all is to stop the engine */
	pthread_t	backend;
	ErrorData  *error;			/* raised by an interrupt meanwhile */
	MemoryContext context;
} PpJoinCancel;

struct PpJoinState
{
	CustomScanState css;		/* must be first */
	PpJoinPlan *plan;
	MemoryContext context;		/* lives as long as the node */
	MemoryContext data_context; /* what was made of the children's rows */
	MemoryContext row_context;	/* values of one row of a child */
	MemoryContext engine_context;	/* what the engine allocates */
	ExprState  *gate;			/* what has to hold for there to be any row */
	bool		passed;			/* it does, for this scan */
	Size		limit;			/* bytes of memory */
	Size		fixed_bytes;	/* of it, for batches and readers */
	uint32		batch;			/* rows fetched at a time at most */
	int			threads;
	uint64		seed;			/* of hashes of keys */

	int			ndomains;
	PpDomain  **domains;
	PpDomain  **variable_domain;	/* [nvariables] or NULL */
	PpKeyRead  *variable_read;	/* [nvariables] */
	int			nchildren;
	PpChild    *children;
	int			nrelations;
	PpRelation *relations;
	PpJoinAtom *atoms;			/* [natoms] over relations */

	/* what the engine works on */
	bool		loaded;
	bool		empty;			/* some relation has no row: there is no answer */
	bool		spilled;
	bool		unkept;			/* no rows are left on a device */
	Size		other_bytes;	/* kept besides relations: sorts and files */
	Tuplesortstate *codes;		/* of values, by place (spill.c) */
	TupleTableSlot *code_put;
	TupleTableSlot *code_slot;
	PpBoxRun   *boxes;			/* if spilled */
	PpInput    *inputs;			/* of the current join */
	uint32	   *atom_input;		/* [natoms] */
	PpAlloc		alloc;
	PpJoinCancel cancel;
	PpJoin	   *join;
	PpJoinRun  *run;
	PpJoinDevice *device;		/* NULL: it was never on one */
	PpCount		weight;			/* of each assignment that the run counts */

	/* answers */
	bool		done;
	bool		counted;		/* the count is known */
	PpCount		count;
	Tuplesortstate *groups;		/* of all boxes, by key */
	TupleTableSlot *group_slot;
	bool		group_ahead;	/* the slot has the next group's first part */
	uint32		capacity;		/* of the batch in hand */
	uint32		nbatch;
	uint32		next;			/* of the batch */
	int64	   *keys;			/* [variable * capacity + row], or of groups [row] */
	uint32	   *rows;			/* [atom * capacity + row] */
	PpCount    *counts;			/* of groups */
	TupleTableSlot **payload;	/* [natoms] */
	uint64	   *payload_at;		/* [natoms] which tuple that is, or PP_NOWHERE */

	PpJoinStats stats;
};

#define PP_NOWHERE	UINT64_MAX

/* Bytes of memory for a sort of the groups of boxes. */
#define PP_GROUPS_BYTES(state)	((state)->limit / 8)

/* Bytes of memory that the children's rows take now. */
extern Size parparaw_join_bytes(const PpJoinState *state);

/*
 * Builds the engine's join of ninputs inputs, which atom_input[] gives to
 * atoms, and opens a run of it; nkeys, if not 0: inputs have codes below it.
 * All within state->limit, held bytes of which
 * are in use, those of the inputs included.  False: it does not fit.  Other
 * failures are raised.
 */
extern bool parparaw_join_build(PpJoinState *state, int ninputs, uint32 nkeys, Size held);

/* Bytes that the engine takes for any join of a plan, however few rows it has. */
extern Size parparaw_join_floor(const PpJoinPlan *plan);
extern void parparaw_join_release(PpJoinState *state);

/* A callback of engines, of a PpJoinCancel: are they to stop? */
extern bool parparaw_join_cancelled(void *ctx);

/*
 * resident.c: rows that a scan's device leaves in its own memory, for a join there.
 */

/* Before children are read: relations that are to have their rows there. */
extern void parparaw_resident_begin(PpJoinState *state);

/* Has the child's scan leave keys there, or not any more. */
extern void parparaw_resident_sink(PpJoinState *state, PpChild *child, PpScan *scan);
extern void parparaw_resident_unsink(PpJoinState *state, PpChild *child, PpScan *scan);

/*
 * Behind the child's last batch, of which ntaken records were left there.  False:
 * the device stopped in between, and what is there is not to be trusted.
 */
extern bool parparaw_resident_read(PpJoinState *state, PpChild *child, PpScan *scan,
								   uint64 ntaken);

/* Behind that: all rows of such relations of the child's are there, and counted.
 * False: they are lost. */
extern bool parparaw_resident_complete(PpJoinState *state, PpChild *child);

/* Takes all rows to the host.  False: they are lost. */
extern bool parparaw_resident_fetch(PpJoinState *state);

/* Has a device lost rows of the child's? */
extern bool parparaw_resident_lost(const PpChild *child);

/* Empties the child's relations, wherever their rows are; no join may use them any more. */
extern void parparaw_resident_drop(PpChild *child);

/*
 * device.c: a device in the engine's place.  Of the statuses, HANDED_OVER says
 * that nothing is left of the join there, and that the engine is to build and
 * answer it, from the beginning; others mean what they do of the engine.
 */

/* HANDED_OVER, too, if no device was chosen; the keys have to stay. */
extern PpJoinStatus parparaw_join_device_build(PpJoinState *state, const PpJoinQuery *query,
											   Size budget);

/* Is a device going to be asked, as far as is known before children are read? */
extern bool parparaw_join_wants_device(const PpJoinState *state);

/* Notes that relations are in files, so that no device is asked. */
extern void parparaw_join_device_spilled(PpJoinState *state);
extern void parparaw_join_device_release(PpJoinState *state);

/* Bytes that answers may take to be remembered. */
extern Size parparaw_join_device_memory(const PpJoinState *state);
extern bool parparaw_join_on_device(const PpJoinState *state);

/* Begins the answers, from the first on, and ends them. */
extern void parparaw_join_device_open(PpJoinState *state);
extern void parparaw_join_device_close(PpJoinState *state);
extern bool parparaw_join_device_is_open(const PpJoinState *state);

/* The node's answers begin anew, whoever gives them. */
extern void parparaw_join_device_rewind(PpJoinState *state);

/* The count; or the next groups or rows, into the state's batch. */
extern PpJoinStatus parparaw_join_device_count(PpJoinState *state, PpCount *count);
extern PpJoinStatus parparaw_join_device_fetch(PpJoinState *state, size_t *n);

/*
 * Has the device returned some of the answers that the engine now gives?  Drops
 * them from a batch of n in place; answers how many are left.
 */
extern bool parparaw_join_device_returned(const PpJoinState *state);
extern uint32 parparaw_join_device_rest(PpJoinState *state, uint32 n);

/* Raises the error that those cannot be told from the rest. */
extern void parparaw_join_device_lost(const char *why);

/* The backend for EXPLAIN: what is to be expected, and what it was. */
extern const char *parparaw_join_predicted(const PpJoinState *state);
extern const char *parparaw_join_backend(const PpJoinState *state);

/* What all joins on a device did together; of the last one where that makes no sense. */
extern void parparaw_join_device_info(const PpJoinState *state, PpCudaJoinInfo *info);

/* setup.c: once, for a plan that is going to run */
extern void parparaw_join_setup(PpJoinState *state);

/* explain.c */
extern void parparaw_join_explain(CustomScanState *node, List *ancestors,
								  ExplainState *es);

#endif							/* PARPARAW_JOINEXEC_H */

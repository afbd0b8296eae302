/*
 * test/unit/json_run.h
 *	  Runs a backend of JSON over a text, cut into jobs anywhere, and writes
 *	  down all it says; and a plain recursive reading of the same text that
 *	  writes down what it should have said.
 *
 * Shared by json_test.c, json_values_test.c and the fuzzer.
 */
#ifndef JSON_RUN_H
#define JSON_RUN_H

#include "parse/cpu/kernel.h"
#include "parse/json/json.h"
#include "unit.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define JSON_MAX_COLUMNS	40

typedef struct JsonTable
{
	uint32_t	ncolumns;
	PpColumn	column[JSON_MAX_COLUMNS];
	PpJsonColumn json[JSON_MAX_COLUMNS];
	uint32_t	nfilters;
	PpFilter	filter[2];
	uint32_t	max_depth;
	bool		any_value;
	bool		documents;		/* the text is not lines; not set by json_table() */

	/* nor are these */
	const PpBackend *backend;	/* NULL: the CPU's; else that is its host's */
	bool		lean;			/* places are told of what was handed over only, and
								 * batches may end anywhere */
	bool		ahead;			/* the backend is told what comes next, if it likes */
} JsonTable;

/* A growing text. */
typedef struct JsonLog
{
	char	   *text;
	size_t		len;
	size_t		room;
} JsonLog;

extern void json_log_free(JsonLog *log);

/* One of the tables that the tests use; n counts from 0. */
extern void json_table(JsonTable *table, uint32_t n);
#define JSON_TABLES		5

/* What the table is opened with, but for its allocator. */
typedef struct JsonCuts
{
	PpSimd		level;
	uint32_t	first;			/* bytes of the first job; 0: all */
	uint32_t	step;			/* bytes that each job has more; 0: all */
	uint32_t	max_records;
	bool		unlisted;
} JsonCuts;

/*
 * Goes over the whole text; a bad line is written down and skipped, a bad
 * document is the end.  False: the backend failed (there was no memory).
 */
extern bool json_run(const JsonTable *table, const JsonCuts *cuts, PpAlloc alloc,
					 const uint8_t *text, uint32_t len, JsonLog *log);

/*
 * The plain reading; filters aside.  Of bad documents it says no more than that
 * they are: which fault is the first depends on where a record is thought to end.
 */
extern void json_plain(const JsonTable *table, const uint8_t *text, uint32_t len, JsonLog *log);

/* Shortens what json_run() has said of documents to what json_plain() says. */
extern void json_log_shorten(JsonLog *log);

#ifdef __cplusplus
}
#endif

#endif							/* JSON_RUN_H */

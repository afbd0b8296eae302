/*-------------------------------------------------------------------------
 *
 * compat.h
 *		Differences between the PostgreSQL majors, 14 to 19.
 *
 * This is the only file that looks at PG_VERSION_NUM.  Each guard says what
 * changed when and gives the rest of the code one spelling, named after the
 * feature rather than the version.  Nothing here may declare variables or
 * hold logic of its own.
 *
 * IDENTIFICATION
 *		src/compat.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARPARAW_COMPAT_H
#define PARPARAW_COMPAT_H

#include "postgres.h"

#include "commands/explain.h"
#include "utils/builtins.h"

#if PG_VERSION_NUM < 140000
#error "parparaw_fdw needs PostgreSQL 14 or later"
#endif

/*
 * Batches hold finished Datums that the parse engine writes, so a Datum must
 * be eight little-endian bytes that carry every by-value type, and an address
 * must fill it.
 */
#if SIZEOF_VOID_P != 8 || SIZEOF_DATUM != 8
#error "parparaw_fdw needs a 64-bit PostgreSQL"
#endif
#ifndef USE_FLOAT8_BYVAL
#error "parparaw_fdw needs a PostgreSQL that passes float8 by value"
#endif
#ifdef WORDS_BIGENDIAN
#error "parparaw_fdw supports little-endian machines only"
#endif

/*
 * Prunes a heap page on access.  19: may use a page of the visibility map, which
 * the caller keeps pinned from call to call
 */
#if PG_VERSION_NUM >= 190000
#define pp_heap_page_prune_opt(rel, buffer, vmbuffer) \
	heap_page_prune_opt(rel, buffer, vmbuffer, false)
#else
#define pp_heap_page_prune_opt(rel, buffer, vmbuffer) \
	((void) (vmbuffer), heap_page_prune_opt(rel, buffer))
#endif

/* 19: nodes have instrumentation of a type of their own */
#if PG_VERSION_NUM >= 190000
#define PP_NODE_INSTRUMENTATION NodeInstrumentation
#else
#define PP_NODE_INSTRUMENTATION Instrumentation
#endif

/* 17: the check of pages against old_snapshot_threshold is gone, with the setting */
#if PG_VERSION_NUM < 170000
#define pp_test_for_old_snapshot(snapshot, rel, page) TestForOldSnapshot(snapshot, rel, page)
#else
#define pp_test_for_old_snapshot(snapshot, rel, page) ((void) 0)
#endif

/*
 * Will an interrupt end the session, besides those that ProcDiePending tells
 * of?  17: a transaction may time out
 */
#if PG_VERSION_NUM >= 170000
#define pp_other_end_pending() (ClientConnectionLost || TransactionTimeoutPending)
#else
#define pp_other_end_pending() (ClientConnectionLost)
#endif

/* 16: the varlena macros moved out of postgres.h */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* 18: explain.h was split, ExplainState and ExplainProperty*() moved */
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

/*
 * Do expressions in EXPLAIN name their tables?  18: a query's grouping is a
 * range table entry, which does not count
 */
#if PG_VERSION_NUM >= 180000
#define pp_explain_prefix(es) ((es)->rtable_size > 1 || (es)->verbose)
#else
#define pp_explain_prefix(es) (list_length((es)->rtable) > 1 || (es)->verbose)
#endif

/* 16: relation sets got members for outer joins; before there are only relations */
#if PG_VERSION_NUM >= 160000
#define pp_all_query_relids(root) ((root)->all_query_rels)
#else
#define pp_all_query_relids(root) ((root)->all_baserels)
#endif

/* 16: Vars know outer joins below that may have made them NULL */
#if PG_VERSION_NUM >= 160000
#define pp_var_is_nullable(var) (!bms_is_empty((var)->varnullingrels))
#else
#define pp_var_is_nullable(var) false
#endif

/* 16: conditions of outer joins that commute exist in several versions */
#if PG_VERSION_NUM >= 160000
#define pp_restrictinfo_is_clone(rinfo) ((rinfo)->has_clone || (rinfo)->is_clone)
#else
#define pp_restrictinfo_is_clone(rinfo) false
#endif

/* 15: custom scans have to say that they can project; before all can */
#if PG_VERSION_NUM >= 150000
#define PP_CUSTOMPATH_PROJECTS CUSTOMPATH_SUPPORT_PROJECTION
#else
#define PP_CUSTOMPATH_PROJECTS 0
#endif

/* 18: paths count the nodes that enable_... would rather not have */
#if PG_VERSION_NUM >= 180000
#define pp_path_disabled_nodes(path) ((path)->disabled_nodes)
#define pp_set_path_disabled_nodes(path, n) ((path)->disabled_nodes = (n))
#else
#define pp_path_disabled_nodes(path) 0
#define pp_set_path_disabled_nodes(path, n) ((void) (n))
#endif

/* 18: a module's magic block may carry its name and version */
#if PG_VERSION_NUM >= 180000
#define PP_MODULE_MAGIC(module_name, module_version) \
	PG_MODULE_MAGIC_EXT(.name = (module_name), .version = (module_version))
#else
#define PP_MODULE_MAGIC(module_name, module_version) PG_MODULE_MAGIC
#endif

/* 18: pg_attribute_noreturn() became pg_noreturn, written before the function */
#if PG_VERSION_NUM >= 180000
#define PP_NORETURN pg_noreturn
#else
#define PP_NORETURN pg_attribute_noreturn()
#endif

/* 15: EmitWarningsOnPlaceholders() became MarkGUCPrefixReserved() */
#if PG_VERSION_NUM < 150000
#define MarkGUCPrefixReserved(prefix) EmitWarningsOnPlaceholders(prefix)
#endif

/*
 * create_foreignscan_path() of a base relation without remote restrictions.
 * 17: fdw_restrictinfo was added; 18: disabled_nodes was.
 */
#if PG_VERSION_NUM >= 180000
#define pp_create_foreignscan_path(root, rel, rows, startup, total, pathkeys, required_outer, fdw_private) \
	create_foreignscan_path(root, rel, NULL, rows, 0, startup, total, \
							pathkeys, required_outer, NULL, NIL, fdw_private)
#elif PG_VERSION_NUM >= 170000
#define pp_create_foreignscan_path(root, rel, rows, startup, total, pathkeys, required_outer, fdw_private) \
	create_foreignscan_path(root, rel, NULL, rows, startup, total, \
							pathkeys, required_outer, NULL, NIL, fdw_private)
#else
#define pp_create_foreignscan_path(root, rel, rows, startup, total, pathkeys, required_outer, fdw_private) \
	create_foreignscan_path(root, rel, NULL, rows, startup, total, \
							pathkeys, required_outer, NULL, fdw_private)
#endif

/* create_foreign_upper_path().  17: as above; 18: as above */
#if PG_VERSION_NUM >= 180000
#define pp_create_foreign_upper_path(root, rel, target, rows, startup, total, fdw_private) \
	create_foreign_upper_path(root, rel, target, rows, 0, startup, total, \
							  NIL, NULL, NIL, fdw_private)
#elif PG_VERSION_NUM >= 170000
#define pp_create_foreign_upper_path(root, rel, target, rows, startup, total, fdw_private) \
	create_foreign_upper_path(root, rel, target, rows, startup, total, \
							  NIL, NULL, NIL, fdw_private)
#else
#define pp_create_foreign_upper_path(root, rel, target, rows, startup, total, fdw_private) \
	create_foreign_upper_path(root, rel, target, rows, startup, total, \
							  NIL, NULL, fdw_private)
#endif

/* 15: get_hash_mem(), in kilobytes, became get_hash_memory_limit(), in bytes */
#if PG_VERSION_NUM >= 150000
#define pp_hash_memory_limit() get_hash_memory_limit()
#else
#define pp_hash_memory_limit() ((size_t) get_hash_mem() * 1024)
#endif

/* May the user call a function?  16: the check became one for all objects */
#if PG_VERSION_NUM >= 160000
#define pp_function_aclcheck(function) \
	object_aclcheck(ProcedureRelationId, function, GetUserId(), ACL_EXECUTE)
#else
#define pp_function_aclcheck(function) \
	pg_proc_aclcheck(function, GetUserId(), ACL_EXECUTE)
#endif

/* vacuum_delay_point() during ANALYZE.  18: it is told for whom it waits */
#if PG_VERSION_NUM >= 180000
#define pp_analyze_delay_point() vacuum_delay_point(true)
#else
#define pp_analyze_delay_point() vacuum_delay_point()
#endif

/* 15: the sampler's random state became a structure */
#if PG_VERSION_NUM >= 150000
#define pp_reservoir_random_fract(reservoir) sampler_random_fract(&(reservoir)->randstate)
#else
#define pp_reservoir_random_fract(reservoir) sampler_random_fract((reservoir)->randstate)
#endif

/* 16: input functions can report errors softly, to an ErrorSaveContext */
#if PG_VERSION_NUM >= 160000
#define PP_HAVE_SOFT_ERRORS 1
#define PP_SOFT_ERRORS true
#include "nodes/miscnodes.h"
#else
#define PP_SOFT_ERRORS false
#endif

/*
 * Does the JSON lexer itself report escapes of characters that the server
 * encoding lacks?  16: it does, before the conversion did
 */
#if PG_VERSION_NUM >= 160000
#define PP_LEXER_REPORTS_UNTRANSLATABLE true
#else
#define PP_LEXER_REPORTS_UNTRANSLATABLE false
#endif

/* 17: so can checks of domains */
#if PG_VERSION_NUM >= 170000
#define PP_HAVE_SOFT_DOMAIN_CHECKS 1
#endif

/* 16: COPY FROM got the option DEFAULT (CopyFormatOptions.default_print) */
#if PG_VERSION_NUM >= 160000
#define PP_HAVE_COPY_DEFAULT 1
#endif

/* 18: COPY ... CSV no longer takes a line of "\." for the end of the data */
#if PG_VERSION_NUM >= 180000
#define PP_COPY_HAS_END_MARKER false
#else
#define PP_COPY_HAS_END_MARKER true
#endif

/*
 * The header lines that CopyFormatOptions asks for, or PP_COPY_HEADER_MATCH.
 * 15: the flag became a choice that includes "match"; 19: a number of lines.
 */
#define PP_COPY_HEADER_MATCH	(-1)
#if PG_VERSION_NUM >= 190000
#define pp_copy_header_lines(opts) \
	((opts)->header_line == COPY_HEADER_MATCH ? PP_COPY_HEADER_MATCH : (opts)->header_line)
#elif PG_VERSION_NUM >= 150000
#define pp_copy_header_lines(opts) \
	((opts)->header_line == COPY_HEADER_MATCH ? PP_COPY_HEADER_MATCH : \
	 (opts)->header_line == COPY_HEADER_TRUE ? 1 : 0)
#else
#define pp_copy_header_lines(opts) ((opts)->header_line ? 1 : 0)
#endif

/*
 * Does a collation certainly order text by its bytes?  18: the function that
 * tells is gone, and what replaces it needs ICU's headers
 */
#if PG_VERSION_NUM >= 180000
#include "catalog/pg_collation.h"
#define pp_collation_is_c(collation) ((collation) == C_COLLATION_OID)
#else
extern bool lc_collate_is_c(Oid collation);
#define pp_collation_is_c(collation) lc_collate_is_c(collation)
#endif

/*
 * Is this an abbreviation of the session's time zone itself?  18: such take
 * precedence over those of timezone_abbreviations
 */
#if PG_VERSION_NUM >= 180000
#include "pgtime.h"
static inline bool
pp_zone_defines(const char *abbreviation)
{
	bool		isfixed;
	long		offset;
	int			isdst;

	return pg_timezone_abbrev_is_known(abbreviation, &isfixed, &offset, &isdst,
									   session_timezone);
}
#else
#define pp_zone_defines(abbreviation) false
#endif

/* 15: scanint8() became pg_strtoint64() */
#if PG_VERSION_NUM < 150000
#include "utils/int8.h"
static inline int64
pg_strtoint64(const char *s)
{
	int64		result;

	(void) scanint8(s, false, &result);
	return result;
}
#endif

#endif							/* PARPARAW_COMPAT_H */

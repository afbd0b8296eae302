/*-------------------------------------------------------------------------
 *
 * module.c
 *		The module's entry points: load-time set-up, configuration variables
 *		and the handler of the foreign-data wrapper.
 *
 * Owns the variables under "parparaw.".  Loading must stay free of side
 * effects beyond defining them and setting hooks: it happens in any process,
 * the postmaster included, so no device is touched and no memory or file is
 * held from here.
 *
 * IDENTIFICATION
 *		src/module.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <limits.h>

#include "fmgr.h"
#include "utils/guc.h"
#include "utils/plancache.h"

#include "cuda_loader.h"
#include "join/joinscan.h"
#include "scan/scan.h"

PP_MODULE_MAGIC("parparaw_fdw", PARPARAW_VERSION);

PG_FUNCTION_INFO_V1(parparaw_fdw_handler);

PGDLLEXPORT void _PG_init(void);

#define PP_GIGABYTE	(1024 * 1024 * 1024)

/* GUCs; the defaults stand in _PG_init() as well */
int			parparaw_partition_size = 256 * 1024;
int			parparaw_chunk_size = 0;
int			parparaw_simd = PP_SIMD_LEVELS;
bool		parparaw_enable_filter_pushdown = true;
bool		parparaw_enable_aggregate_pushdown = true;
bool		parparaw_enable_join = true;
double		parparaw_join_cost_factor = 1;
int			parparaw_backend = PP_USE_AUTO;
char	   *parparaw_cuda_library = NULL;
char	   *parparaw_cuda_probe = NULL;
int			parparaw_cuda_pipeline = PP_PIPELINE_FUSED;
int			parparaw_cuda_partition_size = 16 * 1024 * 1024;
int			parparaw_cuda_min_file_size = -1;
int			parparaw_cuda_tagging = PP_TAG_AUTO;
int			parparaw_cuda_join_algorithm = PP_CUDA_JOIN_AUTO;
int			parparaw_cuda_device = 0;
int			parparaw_cuda_max_backends = 4;
int			parparaw_cuda_max_memory = 4 * 1024 * 1024;

#ifdef PP_TEST_MUTATION
#define MUTATION(name)	{#name, PP_MUTATION_##name, false}
static const struct config_enum_entry mutations[] = {
	MUTATION(none),
	MUTATION(drop_quote_toggle),
	MUTATION(escape_outside_quotes),
	MUTATION(null_matches_quoted),
	MUTATION(column_count_unchecked),
	MUTATION(carry_lost),
	MUTATION(float_rounding),
	MUTATION(crlf_split),
	MUTATION(line_number),
	MUTATION(marker_ignored),
	MUTATION(short_record_first),
	MUTATION(json_first_key),
	MUTATION(json_mark_kept),
	MUTATION(json_bad_line),
	MUTATION(json_null_domain),
	MUTATION(json_quotes_lost),
	MUTATION(json_sizes_unchecked),
	MUTATION(json_first_field),
	MUTATION(json_character_lost),
	MUTATION(join_residual_lost),
	MUTATION(join_payload_first),
	MUTATION(join_rescan_stale),
	MUTATION(join_box_lost),
	MUTATION(join_filter_shared),
	MUTATION(join_quals_lost),
	{NULL, 0, false}
};
#endif

/* parparaw.simd */
static const struct config_enum_entry simd_levels[] = {
	{"auto", PP_SIMD_LEVELS, false},
	{"avx512", PP_SIMD_AVX512, false},
	{"avx2", PP_SIMD_AVX2, false},
	{"sse2", PP_SIMD_SSE2, false},
	{"neon", PP_SIMD_NEON, false},
	{"scalar", PP_SIMD_SCALAR, false},
	{NULL, 0, false}
};

/* parparaw.backend */
static const struct config_enum_entry backends[] = {
	{"auto", PP_USE_AUTO, false},
	{"cpu", PP_USE_CPU, false},
	{"cuda", PP_USE_CUDA, false},
	{NULL, 0, false}
};

/* parparaw.cuda_pipeline */
static const struct config_enum_entry cuda_pipelines[] = {
	{"fused", PP_PIPELINE_FUSED, false},
	{"paper", PP_PIPELINE_PAPER, false},
	{NULL, 0, false}
};

/* parparaw.cuda_tagging */
static const struct config_enum_entry cuda_taggings[] = {
	{"auto", PP_TAG_AUTO, false},
	{"record", PP_TAG_RECORD, false},
	{"inline", PP_TAG_INLINE, false},
	{"vector", PP_TAG_VECTOR, false},
	{NULL, 0, false}
};

/* parparaw.cuda_join_algorithm */
static const struct config_enum_entry cuda_join_algorithms[] = {
	{"auto", PP_CUDA_JOIN_AUTO, false},
	{"lftj", PP_CUDA_JOIN_LFTJ, false},
	{"optimized", PP_CUDA_JOIN_OPTIMIZED, false},
	{"degree", PP_CUDA_JOIN_DEGREE, false},
	{NULL, 0, false}
};

/* Scans that several processes share are planned for the CPU only. */
static void
assign_backend(int newval, void *extra)
{
	if ((newval == PP_USE_CUDA) != (parparaw_backend == PP_USE_CUDA))
		ResetPlanCache();
}

static bool
check_cuda_library(char **newval, void **extra, GucSource source)
{
	if (**newval == '\0')
	{
		GUC_check_errdetail("The device library has to be named.");
		return false;
	}
	if (strchr(*newval, '/') && **newval != '/' && strncmp(*newval, "$libdir/", 8) != 0)
	{
		GUC_check_errdetail("A path has to be absolute, or to start with \"$libdir/\".");
		return false;
	}
	return true;
}

static bool
check_simd(int *newval, void **extra, GucSource source)
{
	if (*newval == PP_SIMD_LEVELS || pp_kernels((PpSimd) *newval))
		return true;
	GUC_check_errdetail("This processor, or this build, does not have these instructions.");
	return false;
}

static void
define_device_variables(void)
{
	DefineCustomEnumVariable("parparaw.backend",
							 "Chooses what parses files and joins: the CPU, a device by CUDA, or whichever suits.",
							 "With \"cuda\" a device that cannot be used is an error; "
							 "with \"auto\" the CPU takes its place.",
							 &parparaw_backend,
							 PP_USE_AUTO,
							 backends,
							 PGC_USERSET,
							 GUC_EXPLAIN,
							 NULL,
							 assign_backend,
							 NULL);

	DefineCustomStringVariable("parparaw.cuda_library",
							   "Names the device library.",
							   "A session reads this when it first uses a device.",
							   &parparaw_cuda_library,
							   "parparaw_cuda",
							   PGC_SUSET,
							   GUC_SUPERUSER_ONLY,
							   check_cuda_library,
							   NULL,
							   NULL);

	DefineCustomStringVariable("parparaw.cuda_probe",
							   "Names a file that exists where there is a device.",
							   "With parparaw.backend \"auto\" no device is tried without it. "
							   "An empty name stands for a file that exists.",
							   &parparaw_cuda_probe,
							   "/dev/nvidiactl",
							   PGC_SUSET,
							   0,
							   NULL,
							   NULL,
							   NULL);

	DefineCustomEnumVariable("parparaw.cuda_pipeline",
							 "Chooses how a device parses: in one pass, or step by step as published.",
							 "Results are the same with both.",
							 &parparaw_cuda_pipeline,
							 PP_PIPELINE_FUSED,
							 cuda_pipelines,
							 PGC_USERSET,
							 GUC_EXPLAIN,
							 NULL,
							 NULL,
							 NULL);

	DefineCustomIntVariable("parparaw.cuda_partition_size",
							"Sets how many bytes of a file a device parses at a time.",
							"A scan holds a multiple of this in device memory.",
							&parparaw_cuda_partition_size,
							16 * 1024 * 1024,
							1,
							PP_GIGABYTE,
							PGC_USERSET,
							GUC_UNIT_BYTE,
							NULL,
							NULL,
							NULL);

	DefineCustomIntVariable("parparaw.cuda_min_file_size",
							"Sets the size of a file, or of the keys of a join, from which on parparaw.backend \"auto\" uses a device.",
							"-1 weighs what it costs.",
							&parparaw_cuda_min_file_size,
							-1,
							-1,
							INT_MAX,
							PGC_USERSET,
							GUC_UNIT_KB,
							NULL,
							NULL,
							NULL);

	DefineCustomEnumVariable("parparaw.cuda_tagging",
							 "Chooses how a device remembers which record a symbol belongs to.",
							 "Results are the same with all of them.",
							 &parparaw_cuda_tagging,
							 PP_TAG_AUTO,
							 cuda_taggings,
							 PGC_USERSET,
							 0,
							 NULL,
							 NULL,
							 NULL);

	DefineCustomEnumVariable("parparaw.cuda_join_algorithm",
							 "Chooses how a device joins.",
							 "Results are the same with all of them. "
							 "One that a join is not for is replaced by another.",
							 &parparaw_cuda_join_algorithm,
							 PP_CUDA_JOIN_AUTO,
							 cuda_join_algorithms,
							 PGC_USERSET,
							 GUC_EXPLAIN,
							 NULL,
							 NULL,
							 NULL);

	DefineCustomIntVariable("parparaw.cuda_device",
							"Sets which device is used, counted from 0.",
							"A session reads this when it first uses a device.",
							&parparaw_cuda_device,
							0,
							0,
							INT_MAX,
							PGC_SUSET,
							0,
							NULL,
							NULL,
							NULL);

	DefineCustomIntVariable("parparaw.cuda_max_backends",
							"Sets how many sessions may use devices at a time.",
							NULL,
							&parparaw_cuda_max_backends,
							4,
							1,
							PP_CUDA_MAX_BACKENDS,
							PGC_SIGHUP,
							0,
							NULL,
							NULL,
							NULL);

	DefineCustomIntVariable("parparaw.cuda_max_memory",
							"Sets how much device memory all sessions may take together.",
							"Each may take an equal share, parparaw.cuda_max_backends of which there are.",
							&parparaw_cuda_max_memory,
							4 * 1024 * 1024,
							64,
							INT_MAX,
							PGC_SIGHUP,
							GUC_UNIT_KB,
							NULL,
							NULL,
							NULL);
}

void
_PG_init(void)
{
	parparaw_option_init();

	DefineCustomIntVariable("parparaw.partition_size",
							"Sets how many bytes of a file are parsed at a time.",
							"A scan holds a small multiple of this in memory, "
							"and at least its longest record.",
							&parparaw_partition_size,
							256 * 1024,
							1,
							PP_GIGABYTE,
							PGC_USERSET,
							GUC_UNIT_BYTE,
							NULL,
							NULL,
							NULL);

	/*
	 * Results never depend on where chunks are cut.  This exists so that
	 * tests can cut anywhere.
	 */
	DefineCustomIntVariable("parparaw.chunk_size",
							"Sets the size of the chunks a partition is cut into.",
							"Zero parses each partition as one chunk.",
							&parparaw_chunk_size,
							0,
							0,
							PP_GIGABYTE,
							PGC_USERSET,
							GUC_UNIT_BYTE | GUC_NOT_IN_SAMPLE,
							NULL,
							NULL,
							NULL);

	DefineCustomBoolVariable("parparaw.enable_filter_pushdown",
							 "Lets scans evaluate restrictions before rows are built.",
							 NULL,
							 &parparaw_enable_filter_pushdown,
							 true,
							 PGC_USERSET,
							 GUC_EXPLAIN,
							 NULL,
							 NULL,
							 NULL);

	DefineCustomBoolVariable("parparaw.enable_aggregate_pushdown",
							 "Lets scans compute aggregates and groups instead of returning rows.",
							 NULL,
							 &parparaw_enable_aggregate_pushdown,
							 true,
							 PGC_USERSET,
							 GUC_EXPLAIN,
							 NULL,
							 NULL,
							 NULL);

	DefineCustomBoolVariable("parparaw.enable_join",
							 "Lets cyclic joins be planned as one node.",
							 NULL,
							 &parparaw_enable_join,
							 true,
							 PGC_USERSET,
							 GUC_EXPLAIN,
							 NULL,
							 NULL,
							 NULL);

	DefineCustomRealVariable("parparaw.join_cost_factor",
							 "Multiplies what the planner thinks a cyclic join costs as one node.",
							 "Zero makes such a node the cheapest plan wherever it can be used.",
							 &parparaw_join_cost_factor,
							 1,
							 0,
							 DBL_MAX,
							 PGC_USERSET,
							 GUC_EXPLAIN,
							 NULL,
							 NULL,
							 NULL);

	DefineCustomEnumVariable("parparaw.simd",
							 "Chooses the vector instructions that the CPU backend uses.",
							 "Results are the same with all of them.",
							 &parparaw_simd,
							 PP_SIMD_LEVELS,
							 simd_levels,
							 PGC_USERSET,
							 0,
							 check_simd,
							 NULL,
							 NULL);

	define_device_variables();

#ifdef PP_TEST_MUTATION
	DefineCustomEnumVariable("parparaw.test_mutation",
							 "Switches on a deliberate fault.",
							 "Exists in test builds only.",
							 &pp_mutation,
							 PP_MUTATION_none,
							 mutations,
							 PGC_SUSET,
							 GUC_NOT_IN_SAMPLE,
							 NULL,
							 NULL,
							 NULL);
#endif

	MarkGUCPrefixReserved("parparaw");

	/* parallel workers look the node up by its name */
	RegisterCustomScanMethods(&parparaw_join_scan_methods);
	parparaw_join_install_hooks();
}

/*
 * SQL function: the callbacks of the foreign-data wrapper.  Those left out
 * make the core refuse what they are for (writing, for one) or do without
 * (pushing down joins).
 */
Datum
parparaw_fdw_handler(PG_FUNCTION_ARGS)
{
	FdwRoutine *routine = makeNode(FdwRoutine);

	routine->GetForeignRelSize = parparawGetForeignRelSize;
	routine->GetForeignPaths = parparawGetForeignPaths;
	routine->GetForeignPlan = parparawGetForeignPlan;
	routine->GetForeignUpperPaths = parparawGetForeignUpperPaths;
	routine->IsForeignScanParallelSafe = parparawIsForeignScanParallelSafe;

	routine->BeginForeignScan = parparawBeginForeignScan;
	routine->IterateForeignScan = parparawIterateForeignScan;
	routine->ReScanForeignScan = parparawReScanForeignScan;
	routine->RecheckForeignScan = parparawRecheckForeignScan;
	routine->EndForeignScan = parparawEndForeignScan;

	routine->EstimateDSMForeignScan = parparawEstimateDSMForeignScan;
	routine->InitializeDSMForeignScan = parparawInitializeDSMForeignScan;
	routine->ReInitializeDSMForeignScan = parparawReInitializeDSMForeignScan;
	routine->InitializeWorkerForeignScan = parparawInitializeWorkerForeignScan;
	routine->ShutdownForeignScan = parparawShutdownForeignScan;

	routine->ExplainForeignScan = parparawExplainForeignScan;
	routine->AnalyzeForeignTable = parparawAnalyzeForeignTable;

	PG_RETURN_POINTER(routine);
}

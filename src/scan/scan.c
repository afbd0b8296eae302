/*-------------------------------------------------------------------------
 *
 * scan.c
 *		Rows of one foreign table: drives the parse engine's stream over the
 *		table's source.
 *
 * A scan consists of runs, one for every time the file is read from its
 * start.  What belongs to a run (source, stream, buffers) lives in a memory
 * context of its own; deleting it, at a restart, at the end or at abort,
 * closes files, ends programs and frees the engine's memory.
 *
 * The engine allocates through MemoryContextAllocExtended() with
 * MCXT_ALLOC_NO_OOM, which answers NULL instead of raising an error, so
 * nothing jumps through it.
 *
 * IDENTIFICATION
 *		src/scan/scan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgtime.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "device.h"
#include "scan_private.h"

/*
 * Records of a batch.  Enough to make the cost of a batch vanish; few enough
 * for its columns and field positions to stay in the processor's cache.
 */
#define BATCH_FIELDS		65536
#define BATCH_MAX_RECORDS	8192
#define BATCH_MIN_RECORDS	64

/*
 * Of a numeric whose scale is not declared, the digits of base 10000 behind the
 * point that aggregates on a device foresee: twelve decimal ones, with as many as
 * there are left, sixteen, in front of it.
 */
#define USUAL_FRACTION		3

StaticAssertDecl(NAMEDATALEN == 64, "the engine writes names of 64 bytes");

static void *
engine_alloc(void *ctx, size_t size)
{
	return MemoryContextAllocExtended((MemoryContext) ctx, Max(size, 1),
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
}

static void
engine_release(void *ctx, void *ptr)
{
	if (ptr)
		pfree(ptr);
}

static const PpKernels *
current_kernels(void)
{
	return parparaw_simd == PP_SIMD_LEVELS ? pp_best_kernels() :
		pp_kernels((PpSimd) parparaw_simd);
}

const char *
parparaw_scan_simd(void)
{
	return current_kernels()->name;
}

PpType
parparaw_native_type(Oid type)
{
	switch (type)
	{
		case BOOLOID:
			return PP_BOOL;
		case INT2OID:
			return PP_INT2;
		case INT4OID:
			return PP_INT4;
		case INT8OID:
			return PP_INT8;
		case FLOAT4OID:
			return PP_FLOAT4;
		case FLOAT8OID:
			return PP_FLOAT8;
		case NUMERICOID:
			return PP_NUMERIC;
		case DATEOID:
			return PP_DATE;
		case TIMEOID:
			return PP_TIME;
		case TIMESTAMPOID:
			return PP_TIMESTAMP;
		case TIMESTAMPTZOID:
			return PP_TIMESTAMPTZ;
		case UUIDOID:
			return PP_UUID;
		case TEXTOID:
			return PP_TEXT;
		case VARCHAROID:
			return PP_VARCHAR;
		case BPCHAROID:
			return PP_BPCHAR;
		case NAMEOID:
			return PP_NAME;
		case BYTEAOID:
			return PP_BYTEA;
		default:
			return PP_DEFER;
	}
}

int32
parparaw_engine_typmod(PpType type, int32 typmod)
{
	switch (type)
	{
		case PP_VARCHAR:
		case PP_BPCHAR:
			return typmod < (int32) VARHDRSZ ? -1 : typmod - (int32) VARHDRSZ;
		case PP_NUMERIC:
			if (typmod < (int32) VARHDRSZ)
				return -1;
			typmod -= VARHDRSZ;

			/*
			 * Eleven bits of scale, signed since 15; before, a scale that
			 * uses the sign bit does not exist.
			 */
			return PP_NUMERIC_MOD((typmod >> 16) & 0xffff,
								  ((typmod & 0x7ff) ^ 1024) - 1024);
		default:
			return typmod;
	}
}

/* The session's time zone, if it has changed since the last run. */
static void
set_zone(PpScan *scan)
{
	MemoryContext old;

	if (scan->zone_of == session_timezone)
		return;
	if (scan->spec.scan.env.zone)
		pfree(unconstify(PpZoneSpan *, scan->spec.scan.env.zone));
	old = MemoryContextSwitchTo(scan->context);
	scan->spec.scan.env.zone = parparaw_zone_spans(session_timezone,
												   &scan->spec.scan.env.nzone);
	MemoryContextSwitchTo(old);
	scan->zone_of = session_timezone;
}

/*
 * Timestamps are read natively only while the letters in them mean what they
 * do in ISO 8601.
 */
static void
set_timestamps(PpScan *scan)
{
	for (uint32 i = 0; i < scan->spec.scan.ncolumns && !scan->lazy; i++)
	{
		PpFileColumn *col = &scan->file[scan->needed[i]];

		if (col->native_type != PP_TIMESTAMP && col->native_type != PP_TIMESTAMPTZ)
			continue;
		if (col->native_type == PP_TIMESTAMPTZ)
			set_zone(scan);
		scan->column[i].type = parparaw_iso_letters() ? col->native_type : PP_DEFER;
	}
}

/* How the file's bytes become text of the server encoding. */
static void
set_encoding(PpScan *scan)
{
	int			server = GetDatabaseEncoding();
	int			file = scan->options->encoding;
	PpStreamSpec *spec = &scan->spec;

	if (scan->maker && (file == server || file == PG_SQL_ASCII || server == PG_SQL_ASCII))
	{
		/* the engine checks each line by itself; JSON of no encoding is UTF-8 */
		scan->encoding = file != PG_SQL_ASCII ? file : server != PG_SQL_ASCII ? server : PG_UTF8;
		spec->verify = PP_VERIFY_NONE;
	}
	else if (file == server || file == PG_SQL_ASCII || server == PG_SQL_ASCII)
	{
		/*
		 * COPY trusts a file that is said to be SQL_ASCII; we do not let
		 * bytes into the server that are invalid in its encoding.
		 */
		scan->encoding = file == PG_SQL_ASCII ? server : file;
		spec->max_char = pg_encoding_max_length(scan->encoding);
		if (scan->encoding == PG_UTF8)
			spec->verify = PP_VERIFY_UTF8;
		else if (spec->max_char == 1)
			spec->verify = PP_VERIFY_NUL;
		else
			spec->verify = PP_VERIFY_CALLER;
	}
	else
	{
		scan->encoding = file;
		scan->conversion = FindDefaultConversionProc(file, server);
		if (!OidIsValid(scan->conversion))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_FUNCTION),
					 errmsg("default conversion function for encoding \"%s\" to \"%s\" does not exist",
							pg_encoding_to_char(file),
							pg_encoding_to_char(server))));
		spec->verify = PP_VERIFY_TRANSCODE;
		spec->max_char = MAX_CONVERSION_INPUT_LENGTH;
		spec->growth = MAX_CONVERSION_GROWTH;
	}
	if (scan->maker)
		spec->json.charset = parparaw_json_charset(scan);
	spec->scan.env.charset = server == PG_UTF8 ? PP_CHARSET_UTF8 :
		pg_database_encoding_max_length() == 1 ? PP_CHARSET_SINGLE : PP_CHARSET_OTHER;
}

PpScan *
parparaw_scan_begin(Relation rel, PpOptions *options, Bitmapset *needed, bool lazy)
{
	PpScan	   *scan = palloc0(sizeof(PpScan));
	TupleDesc	desc = RelationGetDescr(rel);
	PpScanSpec *spec = &scan->spec.scan;
	bool		json = options->format != PP_FORMAT_CSV;

	scan->rel = rel;
	scan->options = options;
	scan->lazy = lazy;
	scan->context = CurrentMemoryContext;
	scan->value_context = AllocSetContextCreate(scan->context, "parparaw values",
												ALLOCSET_DEFAULT_SIZES);
	scan->natts = desc->natts;
	scan->file = palloc0(Max(desc->natts, 1) * sizeof(PpFileColumn));
	scan->needed = palloc(Max(desc->natts, 1) * sizeof(int));
	scan->attribute = palloc(Max(desc->natts, 1) * sizeof(int));
	scan->column = palloc0(Max(desc->natts, 1) * sizeof(PpColumn));

	for (int a = 0; a < desc->natts; a++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, a);
		PpFileColumn *col = &scan->file[scan->nfile];
		AttrNumber	attnum = a + 1;

		/* as in COPY, these stand not in the file */
		if (att->attisdropped || att->attgenerated)
			continue;

		col->attnum = attnum;
		col->name = NameStr(att->attname);
		col->force_not_null = bms_is_member(attnum, options->force_not_null);
		col->force_null = bms_is_member(attnum, options->force_null);
		col->needed = bms_is_member(attnum, needed);
		col->projected = -1;
		if (col->needed)
		{
			PpType		type = json ? parparaw_json_type(att->atttypid) :
				parparaw_native_type(att->atttypid);

			col->native_type = type;
			if (json)
			{
				/* only the engine knows where values are; lazily, it leaves them */
				PpColumn   *column = &scan->column[scan->nneeded];

				column->type = lazy ? PP_DEFER : type;
				column->mod = parparaw_engine_typmod(type, att->atttypmod);
				/* NULL is NULL, except that domains may refuse it */
				column->flags = get_typtype(att->atttypid) == TYPTYPE_DOMAIN ?
					PP_COL_NULL_DEFERS : 0;
				col->projected = scan->nneeded;
			}
			else if (!lazy)
			{
				PpColumn   *column = &scan->column[scan->nneeded];

				column->type = type;
				column->field = scan->nfile;
				column->mod = parparaw_engine_typmod(type, att->atttypmod);
				column->flags = (col->force_not_null ? PP_COL_FORCE_NOT_NULL : 0) |
					(col->force_null ? PP_COL_FORCE_NULL : 0) |
					(type == PP_DEFER ? PP_COL_NULL_DEFERS : 0);
				col->projected = scan->nneeded;
			}
			scan->attribute[scan->nneeded] = a;
			scan->needed[scan->nneeded++] = scan->nfile;
		}
		scan->nfile++;
	}
	scan->field = palloc(Max(scan->nfile, 1) * sizeof(PpField));
	parparaw_record_init(scan);

	/*
	 * Of columns without native conversion even NULL is handed over, because
	 * an input function that is not strict may refuse it, as a domain's does.
	 * The others are strict.
	 */
	for (int i = 0; !lazy && i < scan->nneeded; i++)
		if (scan->file[scan->needed[i]].in_function.fn_strict)
			scan->column[i].flags &= ~PP_COL_NULL_DEFERS;

	scan->dialect.delimiter = options->delimiter;
	scan->dialect.quote = options->quote;
	scan->dialect.escape = options->escape;
	scan->dialect.end_marker = PP_COPY_HAS_END_MARKER;

	scan->spec.header = options->header != PP_HEADER_FALSE;
	spec->dialect = scan->dialect;
	spec->nfields = scan->nfile;
	spec->ncolumns = lazy && !json ? 0 : scan->nneeded;
	spec->unlisted = scan->nneeded == 0 && !scan->may_miss_default;
	spec->column = scan->column;
	spec->null_text = (const uint8 *) options->null_print;
	spec->null_len = strlen(options->null_print);
	if (options->default_print)
	{
		spec->has_default = true;
		spec->default_text = (const uint8 *) options->default_print;
		spec->default_len = strlen(options->default_print);
	}
	if (json)
		parparaw_json_init(scan);
	set_encoding(scan);
	return scan;
}

uint32
parparaw_scan_max_records(const PpScan *scan)
{
	uint32		n = BATCH_FIELDS / Max(scan->nfile, 1);

	return Min(Max(n, BATCH_MIN_RECORDS), BATCH_MAX_RECORDS);
}

/* False: another participant scans all of the file. */
static bool
start_run(PpScan *scan)
{
	MemoryContext old;
	int64		size;

	scan->run_context = AllocSetContextCreate(scan->context, "parparaw scan run",
											  ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(scan->run_context);
	scan->ranged = false;
	if (scan->shared)
		scan->source = parparaw_parallel_open(scan);
	else if (scan->same)
		scan->source = parparaw_source_open_same(scan->options->filename, &scan->found, true);
	else
		scan->source = parparaw_source_open(scan->options->filename,
											scan->options->is_program);
	scan->same = false;
	if (!scan->source)
	{
		MemoryContextSwitchTo(old);
		return false;
	}
	scan->found = *parparaw_source_state(scan->source);

	scan->spec.scan.alloc.alloc = engine_alloc;
	scan->spec.scan.alloc.release = engine_release;
	scan->spec.scan.alloc.ctx = scan->run_context;
	scan->spec.scan.chunk_size = parparaw_chunk_size;
	scan->spec.scan.simd = current_kernels()->level;
	scan->spec.partition_size = parparaw_partition_size;
	scan->spec.scan.max_records = parparaw_scan_max_records(scan);
	if (scan->maker)
		scan->spec.json.max_depth = parparaw_json_max_depth();
	(void) parparaw_device_begin(scan);
	size = parparaw_source_size(scan->source);
	if (size >= 0 && size < (int64) scan->spec.partition_size)
		scan->spec.partition_size = Max(size, 1);
	scan->spec.ranged = scan->ranged;
	if (scan->ranged)
		scan->spec.partition_size = parparaw_parallel_range_size(scan);
	set_timestamps(scan);

	scan->spec.scan.nfilters = scan->nfilters;
	scan->spec.scan.filter = parparaw_scan_make_filters(scan);

	scan->stream = pp_stream_open(&scan->spec);
	if (!scan->stream || (scan->ranged && !parparaw_parallel_prepare(scan)))
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	if (scan->device)
		parparaw_device_opened(scan);
	MemoryContextSwitchTo(old);
	scan->batch = NULL;
	scan->row = 0;
	scan->skipped = scan->malformed = 0;
	scan->deferred = 0;
	scan->at_mark = scan->maker && scan->encoding == PG_UTF8;
	return true;
}

/* What the current run counted is kept, its resources are not. */
static void
end_run(PpScan *scan)
{
	scan->stats = parparaw_scan_stats(scan);
	if (scan->device)
		parparaw_device_end(scan);
	scan->stream = NULL;
	scan->source = NULL;
	scan->batch = NULL;
	if (scan->run_context)
		MemoryContextDelete(scan->run_context);
	scan->run_context = NULL;
}

static void
read_more(PpScan *scan)
{
	const PpRequest *request = pp_stream_request(scan->stream);
	instr_time	start;
	bool		eof;
	size_t		n;

	if (scan->device)
		INSTR_TIME_SET_CURRENT(start);
	n = parparaw_source_read(scan->source, request->dst, request->want, &eof);
	pp_stream_fed(scan->stream, n, eof);
	if (scan->device)
		parparaw_device_was_read(scan, start);
}

static void
transcode(PpScan *scan)
{
	const PpRequest *request = pp_stream_request(scan->stream);
	int			consumed;

	if (scan->at_mark && request->len >= 3)
	{
		scan->at_mark = false;
		if (memcmp(request->src, "\xef\xbb\xbf", 3) == 0)
		{
			pp_stream_transcoded(scan->stream, 3, 0);
			return;
		}
	}
	consumed = pg_do_encoding_conversion_buf(scan->conversion, scan->encoding,
											 GetDatabaseEncoding(),
											 (unsigned char *) unconstify(uint8 *, request->src),
											 (int) request->len,
											 request->dst, (int) request->want,
											 true);
	scan->at_mark &= consumed == 0;
	pp_stream_transcoded(scan->stream, consumed,
						 consumed > 0 ? strlen((char *) request->dst) : 0);
}

static void
verify(PpScan *scan)
{
	const PpRequest *request = pp_stream_request(scan->stream);

	pp_stream_verified(scan->stream,
					   pg_encoding_verifymbstr(scan->encoding, (const char *) request->src,
											   (int) request->len));
}

void
parparaw_scan_stop(PpScan *scan)
{
	scan->at_end = true;
	scan->batch = NULL;
	if (scan->source)
		parparaw_source_close(scan->source);
}

static bool
find_batch(PpScan *scan)
{
	if (scan->at_end)
		return false;
	if (!scan->stream && !start_run(scan))
		scan->at_end = true;
	scan->batch = NULL;
	if (scan->stream && scan->zone_of && scan->zone_of != session_timezone)
	{
		/* a cursor, say: the setting has changed since the last fetch */
		set_zone(scan);
		pp_stream_set_env(scan->stream, &scan->spec.scan.env);
	}
	while (!scan->at_end)
	{
		CHECK_FOR_INTERRUPTS();
		switch (scan->device ? parparaw_device_step(scan) : pp_stream_step(scan->stream))
		{
			case PP_STEP_AGAIN:
				break;
			case PP_STEP_READ:
				read_more(scan);
				break;
			case PP_STEP_TRANSCODE:
				transcode(scan);
				break;
			case PP_STEP_VERIFY:
				verify(scan);
				break;
			case PP_STEP_HEADER:
				parparaw_record_header(scan, pp_stream_record(scan->stream));
				break;
			case PP_STEP_LAYOUT:
				parparaw_parallel_found(scan);
				if (!parparaw_parallel_claim(scan))
					parparaw_scan_stop(scan);
				break;
			case PP_STEP_EFFECT:
				if (!parparaw_parallel_enter(scan) && !parparaw_parallel_claim(scan))
					parparaw_scan_stop(scan);
				break;
			case PP_STEP_BATCH:
				scan->batch = pp_stream_batch(scan->stream);
				scan->row = 0;
				return true;
			case PP_STEP_BAD_RECORD:
				/* one that is skipped need not be left to others */
				if ((scan->options->on_error_ignore && scan->spec.lines &&
					 pp_stream_record(scan->stream)->bad == PP_BAD_JSON) ||
					!parparaw_parallel_leave(scan, -1))
					parparaw_record_bad(scan, pp_stream_record(scan->stream));
				break;
			case PP_STEP_END:
				if (!scan->ranged || !parparaw_parallel_claim(scan))
					parparaw_scan_stop(scan);
				break;
			case PP_STEP_FAILED:
				if (scan->device && parparaw_device_failed(scan))
					break;
				ereport(ERROR,
						(errcode(ERRCODE_OUT_OF_MEMORY),
						 errmsg("could not parse \"%s\": %s",
								scan->options->filename,
								pp_stream_message(scan->stream)),
						 errhint("A smaller parparaw.partition_size needs less memory.")));
		}
	}
	return false;
}

/* Next batch; false at the end of the data. */
static bool
next_batch(PpScan *scan)
{
	bool		found = find_batch(scan);

	if (scan->device)
	{
		parparaw_device_pause(scan);
		/* the rest of the query may want the device's memory */
		if (!found && scan->spec.scan.nsinks == 0)
			end_run(scan);
	}
	return found;
}

void
parparaw_scan_let_go(PpScan *scan)
{
	if (scan->device && scan->at_end)
		end_run(scan);
}

/* Did a filter of the engine meet a value that it does not know? */
static bool
is_unknown(PpScan *scan, uint32 i)
{
	uint32		at = pp_batch_at(scan->batch, i);

	for (uint32 f = 0; f < scan->spec.scan.nfilters; f++)
	{
		uint8		state = scan->batch->column[scan->spec.scan.filter[f].column].state[at];

		if (state != PP_VALUE && state != PP_NULL)
			return true;
	}
	return false;
}

bool
parparaw_scan_unknown(const PpScan *scan)
{
	return scan->unknown;
}

bool
parparaw_scan_next(PpScan *scan, Datum *values, bool *nulls)
{
	for (;;)
	{
		while (scan->batch && scan->row < scan->batch->nselected)
		{
			const PpBatch *batch = scan->batch;
			uint32		i = scan->row++;

			if (parparaw_record_row(scan, i, values, nulls))
			{
				scan->unknown = batch->unknown && is_unknown(scan, i);
				return true;
			}
			CHECK_FOR_INTERRUPTS();
		}
		if (!next_batch(scan))
			return false;
	}
}

const PpBatch *
parparaw_scan_next_batch(PpScan *scan)
{
	if (!next_batch(scan))
		return NULL;
	scan->row = scan->batch->nselected;
	return scan->batch;
}

void
parparaw_scan_set_aggregates(PpScan *scan, PpAggregate *aggregate, uint32 naggregates)
{
	/* each record has to be looked at for the marker of a default */
	if (scan->may_miss_default)
		return;
	for (uint32 i = 0; i < naggregates; i++)
	{
		PpAggregate *a = &aggregate[i];
		int32		mod;

		if (a->op != PP_AGGREGATE_SUM_NUMERIC && a->op != PP_AGGREGATE_MIN_NUMERIC &&
			a->op != PP_AGGREGATE_MAX_NUMERIC)
			continue;
		mod = scan->column[a->column].mod;
		a->fraction = mod == -1 ? USUAL_FRACTION :
			(Max(PP_NUMERIC_SCALE(mod), 0) + 3) / 4;
		if (a->fraction >= PP_FIXED_DIGITS)
			return;
	}
	scan->spec.scan.aggregate = aggregate;
	scan->spec.scan.naggregates = naggregates;
}

bool
parparaw_scan_set_sinks(PpScan *scan, const PpKeySink *sink, uint32 nsinks)
{
	static const PpAggregate records = {.op = PP_AGGREGATE_COUNT_ALL};
	PpScanSpec *spec = &scan->spec.scan;

	if (nsinks > 0 && (scan->options->is_program ||
					   !parparaw_is_regular_file(scan->options->filename)))
		return false;

	/* pipeline "paper" leaves no keys where they are */
	if (scan->may_miss_default || (scan->options->format == PP_FORMAT_CSV &&
								   parparaw_cuda_pipeline == PP_PIPELINE_PAPER && nsinks > 0))
		return false;
	spec->sink = sink;
	spec->nsinks = nsinks;
	spec->aggregate = &records;
	spec->naggregates = nsinks > 0 ? 1 : 0;
	return true;
}

int
parparaw_scan_column(const PpScan *scan, AttrNumber attnum)
{
	for (int i = 0; i < scan->nneeded; i++)
		if (scan->file[scan->needed[i]].attnum == attnum)
			return scan->file[scan->needed[i]].projected;
	return -1;
}

bool
parparaw_scan_row(PpScan *scan, uint32 i, Datum *values, bool *nulls)
{
	if (!parparaw_record_row(scan, i, values, nulls))
		return false;
	scan->unknown = scan->batch->unknown && is_unknown(scan, i);
	return true;
}

bool
parparaw_scan_stopped(const PpScan *scan)
{
	return scan->batch == NULL;
}

Relation
parparaw_scan_relation(const PpScan *scan)
{
	return scan->rel;
}

uint64
parparaw_scan_skip(PpScan *scan, uint64 n)
{
	uint64		done = 0;

	while (done < n)
	{
		uint64		here = scan->batch ? scan->batch->nselected - scan->row : 0;

		if (here == 0)
		{
			if (!next_batch(scan))
				break;
			continue;
		}
		here = Min(here, n - done);
		scan->row += here;
		done += here;
	}
	return done;
}

void
parparaw_scan_restart(PpScan *scan)
{
	end_run(scan);
	scan->at_end = false;
}

void
parparaw_scan_require_same(PpScan *scan)
{
	scan->same = true;
}

PpScanStats
parparaw_scan_stats(const PpScan *scan)
{
	PpScanStats stats = scan->stats;

	if (scan->stream)
	{
		PpStreamStats run = pp_stream_stats(scan->stream);

		stats.partitions += run.partitions;
		stats.bytes += run.bytes;
		stats.records += run.records;
		stats.removed += run.removed;
		stats.deferred += run.deferred;
	}
	return stats;
}

void
parparaw_scan_put_aside(PpScan *scan)
{
	scan->stats.put_aside++;
}

/* The NOTICEs about skipped rows, a cause each. */
static void
tell_skipped(const PpScan *scan)
{
	const uint64 values = scan->skipped - scan->malformed;

	if (scan->malformed > 0)
		ereport(NOTICE,
				(errmsg_plural(UINT64_FORMAT " row was skipped due to invalid JSON",
							   UINT64_FORMAT " rows were skipped due to invalid JSON",
							   scan->malformed, scan->malformed)));
	if (values > 0)
		ereport(NOTICE,
				(errmsg_plural(UINT64_FORMAT " row was skipped due to data type incompatibility",
							   UINT64_FORMAT " rows were skipped due to data type incompatibility",
							   values, values)));
}

void
parparaw_scan_end(PpScan *scan)
{
	parparaw_parallel_detach(scan);
	if (scan->participant == 0 && scan->options->log_verbosity >= PP_LOG_DEFAULT)
		tell_skipped(scan);
	end_run(scan);
	if (scan->default_context)
		FreeExprContext(scan->default_context, true);
	scan->default_context = NULL;
	MemoryContextDelete(scan->value_context);
}

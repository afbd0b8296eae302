/*
 * test/faults/simt_control.c
 *	  SQL functions by which a test of faults looks into the device library of
 *	  its own session and makes it fail: those of test/simt/control.h.
 *
 * The library is the very one that the extension has loaded, or is going to
 * load: a path is loaded once a process.
 */
#include "postgres.h"

#include <dlfcn.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "../simt/control.h"

PG_MODULE_MAGIC;

static void *
function(text *library, const char *name)
{
	void	   *handle = dlopen(text_to_cstring(library), RTLD_NOW | RTLD_LOCAL);
	void	   *result = handle ? dlsym(handle, name) : NULL;

	if (result == NULL)
		elog(ERROR, "%s", dlerror());
	return result;
}

PG_FUNCTION_INFO_V1(pd_simt_inject);
PG_FUNCTION_INFO_V1(pd_simt_memory);
PG_FUNCTION_INFO_V1(pd_simt_report);

/* (library text, kind int, nth bigint, lasting bool) returns void */
Datum
pd_simt_inject(PG_FUNCTION_ARGS)
{
	void		(*inject) (SimtCall, uint64_t, bool) = function(PG_GETARG_TEXT_PP(0), "simt_inject");

	inject((SimtCall) PG_GETARG_INT32(1), (uint64_t) PG_GETARG_INT64(2), PG_GETARG_BOOL(3));
	PG_RETURN_VOID();
}

/* (library text) returns bigint[]: device bytes and blocks, pinned bytes and
 * blocks, streams, events, blocks leaked */
Datum
pd_simt_memory(PG_FUNCTION_ARGS)
{
	SimtMemory	(*memory) (void) = function(PG_GETARG_TEXT_PP(0), "simt_memory");
	SimtMemory	m = memory();
	Datum		values[] = {
		Int64GetDatum((int64) m.device_bytes), Int64GetDatum((int64) m.device_blocks),
		Int64GetDatum((int64) m.pinned_bytes), Int64GetDatum((int64) m.pinned_blocks),
		Int64GetDatum((int64) m.streams), Int64GetDatum((int64) m.events),
		Int64GetDatum((int64) m.leaked_blocks)
	};

	PG_RETURN_ARRAYTYPE_P(construct_array(values, lengthof(values), INT8OID, 8, true, 'd'));
}

/* (library text) returns text: what was found wrong last, and then forgotten */
Datum
pd_simt_report(PG_FUNCTION_ARGS)
{
	const char *(*last) (void) = function(PG_GETARG_TEXT_PP(0), "simt_last_report");
	void		(*forget) (void) = function(PG_GETARG_TEXT_PP(0), "simt_clear_reports");
	text	   *result = cstring_to_text(last());

	forget();
	PG_RETURN_TEXT_P(result);
}

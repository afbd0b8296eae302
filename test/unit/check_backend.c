/*
 * test/unit/check_backend.c
 *	  Hands a text to a backend piece by piece and compares every batch with
 *	  the model.
 *
 * Each job lies in a buffer of its own, at a random offset, with hostile
 * bytes in the PP_PAD bytes behind it, so that a batch can depend neither on
 * where its record lay before nor on what follows.
 */
#include "engine_check.h"

#include <stdlib.h>
#include <string.h>

typedef struct BackendCheck
{
	const EngineCase *c;
	const uint8_t *text;
	size_t		len;
	const PpBackend *backend;
	PpBackendScan *scan;
	PpScanSpec	spec;
	RefFile    *file;
	PpEol		eol;
	size_t		next;			/* model record that is due */
	size_t		begin;			/* its start */
	size_t		cut;			/* end of what the backend has seen */
	bool		last;			/* and it was told that no more comes */
	bool		peek;			/* and it may look at the '\r' behind */
	UnitRandom	random;
	EngineResult *result;
} BackendCheck;

/* Has all that makes this record complete been seen? */
static bool
record_complete(const BackendCheck *k, const RefRecord *rec)
{
	return rec->at_eof ? k->last : rec->next <= k->cut;
}

/*
 * Has all that ends the scan been seen, if that is all up to cut?  A '\r' that
 * may be looked at behind the text may make it one byte more.
 */
static bool
end_visible(const BackendCheck *k, size_t cut)
{
	const RefFile *f = k->file;
	size_t		at = f->end_at;

	if (k->last)
		return true;
	switch (f->end)
	{
		case REF_END:
			return false;
		case REF_UNTERMINATED:
			return f->end_next > at && f->end_next <= cut;
		case REF_CR:
			return at + (k->eol == PP_EOL_CRNL ? 2 : 1) <= cut;
		case REF_NL:
			return at < cut;
		case REF_MARKER:
		case REF_MARKER_END:
			return f->end_start + (k->eol == PP_EOL_CRNL ? 4 : 3) <= cut;
		case REF_ENCODING:
			break;
	}
	return false;
}

static int
expected_end(RefEnd end)
{
	switch (end)
	{
		case REF_UNTERMINATED:
			return PP_END_UNTERMINATED;
		case REF_CR:
			return PP_END_BAD_CR;
		case REF_NL:
			return PP_END_BAD_NL;
		case REF_MARKER:
			return PP_END_BAD_MARKER;
		default:
			return -1;
	}
}

/* Where may the backend say that the record is broken? */
static bool
end_position(const BackendCheck *k, size_t pos)
{
	const RefFile *f = k->file;

	switch (f->end)
	{
		case REF_CR:
			/* with a two-byte line end also the byte that is not '\n' */
			return pos == f->end_at || (k->eol == PP_EOL_CRNL && pos == f->end_at + 1);
		case REF_NL:
			return pos == f->end_at;
		case REF_MARKER:
			return pos >= f->end_start + 2 && pos <= f->end_start + 3;
		case REF_UNTERMINATED:
			return pos == f->end_at;
		default:
			return false;
	}
}

/* Compares a batch; *again: submit the same text from k->begin on. */
static bool
check_batch(BackendCheck *k, const PpJob *job, size_t base, const PpBatch *b,
			bool *again, bool *over)
{
	EngineResult *result = k->result;
	const RefFile *f = k->file;
	uint32_t	width = k->c->nfields > 0 ? k->c->nfields : 1;
	uint64_t	deferred_min = 0;
	uint64_t	deferred_max = 0;
	const RefRecord *due;
	size_t		next;

	*again = *over = false;
	if (b->text != job->text || b->width != width || b->ncolumns != k->c->ncolumns ||
		b->eol_len != (k->eol == PP_EOL_CRNL ? 2u : 1u))
		return check_differs(result, "batch of %u fields, %u columns, line end of %u",
							 b->width, b->ncolumns, b->eol_len);
	if (b->nrecords > k->c->max_records)
		return check_differs(result, "%u records, %u allowed", b->nrecords, k->c->max_records);
	if (b->nrecords > f->nrecords - k->next)
		return check_differs(result, "%u records, but only %zu follow record %zu",
							 b->nrecords, f->nrecords - k->next, k->next);
	if (b->nrecords > 0 && !k->c->unlisted && b->end != NULL)
	{
		uint32_t	start;
		uint32_t	stop;

		pp_batch_field(b, 0, 0, &start, &stop);
		if (start != job->begin)
			return check_differs(result, "record 0 starts at %u, but the job at %u",
								 start, job->begin);
	}
	if (!check_batch_records(k->c, b, f, k->next, k->text, &deferred_min, &deferred_max, result))
		return false;
	for (uint32_t r = 0; r < b->nrecords; r++)
	{
		const RefRecord *rec = &f->record[k->next];

		if (!record_complete(k, rec))
			return check_differs(result, "record %zu at %zu is not complete at %zu",
								 k->next, rec->start, k->cut);
		k->begin = rec->next;
		k->next++;
		result->records++;
	}
	if (b->ndeferred < deferred_min || b->ndeferred > deferred_max)
		return check_differs(result, "%llu to %llu values handed over, but %llu counted",
							 (unsigned long long) deferred_min, (unsigned long long) deferred_max,
							 (unsigned long long) b->ndeferred);

	next = b->next - job->begin + base;
	if (next != k->begin)
		return check_differs(result, "next is %zu, but %zu expected", next, k->begin);
	due = k->next < f->nrecords ? &f->record[k->next] : NULL;
	switch (b->stop)
	{
		case PP_STOP_FULL:
			if (b->nrecords != k->c->max_records)
				return check_differs(result, "full with %u records", b->nrecords);
			*again = true;
			return true;

		case PP_STOP_MORE:
			if (job->last || (due && record_complete(k, due)) ||
				(due == NULL && end_visible(k, k->cut)))
				return check_differs(result, "wants more at %zu of %zu though record %zu is complete",
									 k->cut, k->len, k->next);
			return true;

		case PP_STOP_END:
			if (due || expected_end(f->end) >= 0 || !end_visible(k, k->cut + k->peek))
				return check_differs(result, "end in front of record %zu of %zu, at %zu of %zu",
									 k->next, f->nrecords, k->cut, k->len);
			*over = true;
			return true;

		case PP_STOP_FIELDS:
			if (due == NULL || !due->bad_fields || !record_complete(k, due))
				return check_differs(result, "record %zu has a wrong number of fields", k->next);
			if (b->bad_end - job->begin + base != due->stop ||
				b->bad_next - job->begin + base != due->next)
				return check_differs(result, "record of the wrong shape ends at %zu, next %zu; but %zu, %zu expected",
									 b->bad_end - job->begin + base,
									 b->bad_next - job->begin + base, due->stop, due->next);
			k->begin = due->next;
			k->next++;
			result->errors++;
			*again = true;
			return true;

		case PP_STOP_SYNTAX:
			if (due || (int) b->bad != expected_end(f->end) || !end_visible(k, k->cut + k->peek))
				return check_differs(result, "record %zu of %zu is broken (%d), %d expected there",
									 k->next, f->nrecords, (int) b->bad, expected_end(f->end));
			if (!end_position(k, b->bad_end - job->begin + base))
				return check_differs(result, "broken (%d) at %zu, but %zu expected",
									 (int) b->bad, b->bad_end - job->begin + base, f->end_at);
			*over = true;
			return true;
	}
	return check_differs(result, "unknown stop %d", (int) b->stop);
}

/* Submits and polls to the end; false if that is not DONE. */
static bool
run_job(BackendCheck *k, const PpJob *job, UnitHeap *heap, const PpBatch **batch)
{
	uint64_t	polls = 1000 + 10 * (uint64_t) k->len;

	if (!k->backend->submit(k->scan, job))
	{
		if (!heap->failed)
			return check_differs(k->result, "job refused");
		k->result->verdict = ENGINE_NO_MEMORY;
		return false;
	}
	while (polls-- > 0)
	{
		const char *message = NULL;

		switch (k->backend->poll(k->scan, batch, &message))
		{
			case PP_POLL_DONE:
				return true;
			case PP_POLL_PENDING:
				break;
			case PP_POLL_FAILED:
				if (!heap->failed)
					return check_differs(k->result, "failed: %s", message ? message : "no message");
				if (message == NULL)
					return check_differs(k->result, "failed without a message");
				k->result->verdict = ENGINE_NO_MEMORY;
				return false;
		}
	}
	return check_differs(k->result, "makes no progress");
}

/* The text up to cut, from k->begin on; *over: nothing follows. */
static bool
run_piece(BackendCheck *k, size_t cut, bool last, UnitHeap *heap, bool *over)
{
	bool		again = true;

	k->cut = cut;
	k->last = last;
	k->peek = !last && cut < k->len && k->text[cut] == '\r' && unit_once_in(&k->random, 2);
	while (again && !*over)
	{
		static const uint8_t hostile[] = "\"\n\r,\\.'\n\"\"\r\n\\.\n";
		size_t		base = k->begin;
		size_t		offset = unit_below(&k->random, 20);
		size_t		n = cut - base;
		uint8_t    *buffer = unit_malloc(offset + n + PP_PAD);
		PpJob		job;
		const PpBatch *batch = NULL;
		bool		ok;

		for (size_t i = 0; i < offset; i++)
			buffer[i] = hostile[unit_below(&k->random, sizeof(hostile) - 1)];
		if (n > 0)
			memcpy(buffer + offset, k->text + base, n);
		for (size_t i = 0; i < PP_PAD; i++)
			buffer[offset + n + i] = unit_once_in(&k->random, 3) ? k->c->dialect.quote :
				hostile[unit_below(&k->random, sizeof(hostile) - 1)];
		job.text = buffer;
		job.begin = (uint32_t) offset;
		job.len = (uint32_t) (offset + n);
		job.last = last;
		job.peek_cr = k->peek;
		if (k->peek)
			buffer[offset + n] = '\r';

		ok = run_job(k, &job, heap, &batch);
		if (ok)
		{
			ok = check_batch(k, &job, base, batch, &again, over);
			k->backend->release(k->scan);
		}
		free(buffer);
		if (!ok)
			return false;
	}
	return true;
}

void
check_backend(const EngineCase *c, const uint8_t *text, size_t len,
			  const size_t *cut, size_t ncuts, UnitHeap *heap,
			  EngineResult *result)
{
	BackendCheck k;
	RefSpec		ref;
	bool		over = false;

	memset(result, 0, sizeof(*result));
	memset(&k, 0, sizeof(k));
	k.c = c;
	k.text = text;
	k.len = len;
	k.random = c->seed;
	k.result = result;
	k.backend = c->backend;

	memset(&ref, 0, sizeof(ref));
	ref.dialect = c->dialect;
	ref.whole = true;
	ref.nfields = c->nfields;
	ref.null_text = c->markers.null_text;
	ref.null_len = c->markers.null_len;
	k.file = ref_read(&ref, text, len, len);
	result->end = k.file->end;
	if (expected_end(k.file->end) >= 0)
		result->errors++;
	k.eol = k.file->marker_first ? (text[2] == '\n' ? PP_EOL_NL : PP_EOL_CR) : k.file->eol;

	k.spec.struct_size = sizeof(k.spec);
	k.spec.dialect = c->dialect;
	pp_dialect_compile(&c->dialect, k.eol, &k.spec.dfa);
	k.spec.nfields = c->nfields;
	k.spec.ncolumns = c->ncolumns;
	k.spec.column = c->column;
	k.spec.nfilters = c->nfilters;
	k.spec.filter = c->filter;
	k.spec.null_text = c->markers.null_text;
	k.spec.null_len = c->markers.null_len;
	k.spec.has_default = c->markers.has_default;
	k.spec.default_text = c->markers.default_text;
	k.spec.default_len = c->markers.default_len;
	k.spec.env.charset = PP_CHARSET_UTF8;
	k.spec.max_records = c->max_records;
	k.spec.chunk_size = c->chunk;
	k.spec.simd = c->simd;
	k.spec.unlisted = c->unlisted;
	k.spec.alloc = unit_heap_alloc(heap);

	k.scan = c->backend->open(&k.spec);
	if (k.scan == NULL)
	{
		if (heap->failed)
			result->verdict = ENGINE_NO_MEMORY;
		else
			check_differs(result, "cannot be opened");
	}
	else
	{
		for (size_t i = 0; i < ncuts && !over; i++)
			if (!run_piece(&k, cut[i], false, heap, &over))
				break;
		if (!over && result->verdict == ENGINE_SAME)
			(void) run_piece(&k, len, true, heap, &over);
		if (!over && result->verdict == ENGINE_SAME)
			check_differs(result, "no end");
		c->backend->close(k.scan);
	}
	if (heap->live_blocks != 0 || heap->live_bytes != 0)
		check_differs(result, "%zu blocks of memory left behind", heap->live_blocks);
	ref_free(k.file);
}

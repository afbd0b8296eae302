/*
 * test/unit/json_document_test.c
 *	  Streams of JSON documents: records, faults and their places, wherever the
 *	  input is cut, at every level, by one stream or by two that share it.
 *
 * Documents are made so that the records are known without asking the engine.
 * Then bytes are changed: what the reference, given all at once, makes of that
 * is what all others have to.
 */
#include <stdio.h>
#include <string.h>

#include "parse/cpu/kernel.h"
#include "parse/stream.h"
#include "unit.h"

#define MAX_RECORDS	2000
#define MAX_INPUT	100000
#define STREAMS		2

/* What a document holds, or what a scan has made of it. */
typedef struct Records
{
	uint32_t	n;
	uint32_t	value[MAX_RECORDS];	/* of the key "a"; 0: none */
	uint32_t	start[MAX_RECORDS]; /* offset of the first byte */
	uint32_t	end[MAX_RECORDS];
	uint32_t	line[MAX_RECORDS];
	bool		bad;
	PpJsonFault fault;			/* its offset is that of the line: */
	uint64_t	fault_line;
	uint64_t	fault_byte;
} Records;

typedef struct Input
{
	uint8_t		text[MAX_INPUT];
	uint32_t	len;
	uint32_t	line;			/* so far */
	Records		records;
} Input;

static void
put(Input *in, const char *s)
{
	for (; *s; s++)
	{
		in->line += *s == '\n';
		in->text[in->len++] = (uint8_t) *s;
	}
}

static void
put_space(Input *in, UnitRandom *r)
{
	while (unit_once_in(r, 3))
		put(in, unit_once_in(r, 2) ? " " : unit_once_in(r, 2) ? "\n" : "\r\n\t");
}

static void
put_string(Input *in, UnitRandom *r)
{
	static const char *const piece[] = {"x", "}, ", "[", "\\\"", "\\\\", "\xc3\xa9", "\\u00e9", "\\n",
	"\\ud83d\\ude00", ",{", "some longer text that holds nothing of interest, "};

	put(in, "\"");
	for (uint32_t n = unit_below(r, 5); n > 0; n--)
		put(in, piece[unit_below(r, sizeof(piece) / sizeof(piece[0]))]);
	put(in, "\"");
}

static void
put_value(Input *in, UnitRandom *r, uint32_t levels)
{
	bool		array = unit_once_in(r, 2);
	uint32_t	n = unit_below(r, 4);

	switch (unit_below(r, levels > 0 ? 6 : 4))
	{
		case 0:
			put(in, unit_once_in(r, 2) ? "null" : "-1.5e+3");
			return;
		case 1:
			put(in, unit_once_in(r, 2) ? "true" : "0");
			return;
		case 2:
		case 3:
			put_string(in, r);
			return;
	}
	put(in, array ? "[" : "{");
	for (uint32_t i = 0; i < n; i++)
	{
		put(in, i > 0 ? "," : "");
		put_space(in, r);
		if (!array)
		{
			put(in, "\"k\"");
			put_space(in, r);
			put(in, ":");
		}
		put_value(in, r, levels - 1);
		put_space(in, r);
	}
	put(in, array ? "]" : "}");
}

/* An object with the key "a", or without. */
static void
put_record(Input *in, UnitRandom *r)
{
	Records    *k = &in->records;
	uint32_t	value = unit_once_in(r, 5) ? 0 : 1 + unit_below(r, 100000);
	uint32_t	others = unit_once_in(r, 3) ? unit_below(r, 6) : 1;
	uint32_t	at = unit_below(r, others + 1);
	char		text[64];

	k->start[k->n] = in->len;
	k->line[k->n] = in->line;
	put(in, "{");
	for (uint32_t i = 0; i <= others; i++)
	{
		put(in, i > 0 ? "," : "");
		put_space(in, r);
		if (i == at && value > 0)
		{
			snprintf(text, sizeof(text), "\"a\":%s%u", unit_once_in(r, 2) ? " " : "", value);
			put(in, text);
		}
		else
		{
			put(in, unit_once_in(r, 2) ? "\"b\":" : "\"a longer key, of no column\": ");
			put_value(in, r, 3);
		}
	}
	put_space(in, r);
	put(in, "}");
	k->end[k->n] = in->len;
	k->value[k->n++] = value;
}

static void
make(Input *in, UnitRandom *r)
{
	uint32_t	room = unit_once_in(r, 25) ? 70000 : unit_below(r, 3000);
	bool		even = unit_once_in(r, 3);

	in->len = in->records.n = 0;
	in->records.bad = false;
	in->line = 1;
	if (unit_once_in(r, 3))
		put(in, "\xef\xbb\xbf");
	put_space(in, r);
	while (in->len < room && in->records.n < MAX_RECORDS - 1000)
	{
		if (unit_once_in(r, 3))
			put_record(in, r);
		else
		{
			uint32_t	n = unit_once_in(r, 3) ? unit_below(r, 900) : unit_below(r, 4);
			UnitRandom	same = *r;

			put(in, "[");
			for (uint32_t i = 0; i < n && (i == 0 || in->len < room); i++)
			{
				put(in, i > 0 ? "," : "");
				if (even)
					*r = same;	/* records alike */
				put_space(in, r);
				put_record(in, r);
				put_space(in, r);
			}
			if (n == 0)
				put_space(in, r);
			put(in, "]");
			unit_next(r);
		}
		put_space(in, r);
	}
}

static bool any_value;

static void
make_spec(PpStreamSpec *spec, PpColumn *column, UnitHeap *heap, UnitRandom *r, PpSimd level)
{
	static const PpJsonStep step = {(const uint8_t *) "a", 1, 0};
	static const PpJsonColumn json = {1, &step, false};

	memset(column, 0, sizeof(*column));
	column->type = PP_INT4;
	column->mod = -1;
	memset(heap, 0, sizeof(*heap));
	memset(spec, 0, sizeof(*spec));
	spec->backend = &pp_backend_json;
	spec->documents = true;
	spec->enter = pp_json_enter;
	spec->verify = PP_VERIFY_NONE;
	spec->partition_size = 1 + unit_below(r, unit_once_in(r, 2) ? 8 : 30000);
	spec->json.column = &json;
	spec->json.max_depth = 8;
	spec->json.any_value = any_value;
	spec->scan.ncolumns = 1;
	spec->scan.column = column;
	spec->scan.env.charset = PP_CHARSET_UTF8;
	spec->scan.max_records = 1 + unit_below(r, unit_once_in(r, 2) ? 5 : 500);
	spec->scan.simd = level;
	spec->scan.alloc = unit_heap_alloc(heap);
}

static void
feed(PpStream *stream, const Input *in, size_t *fed, UnitRandom *r)
{
	const PpRequest *q = pp_stream_request(stream);
	size_t		n = in->len - *fed < q->want ? in->len - *fed : q->want;

	if (n > 0 && unit_once_in(r, 3))
		n = unit_below(r, (uint32_t) n + 1);
	if (n > 0)
		memcpy(q->dst, in->text + *fed, n);
	*fed += n;
	pp_stream_fed(stream, n, *fed == in->len);
}

/* The records [from, to) of the batch, whose text begins at base of the input. */
static void
take_batch(PpStream *stream, Records *got, uint32_t to, UnitRandom *r, const Input *in)
{
	const PpBatch *batch = pp_stream_batch(stream);
	bool		lines = unit_once_in(r, 2);

	for (uint32_t i = 0; i < to && got->n < MAX_RECORDS; i++)
	{
		PpJsonRange text = pp_json_record(batch, i);
		const uint8_t *found = batch->text + text.start;

		got->value[got->n] = batch->column[0].state[i] == PP_DEFERRED ? UINT32_MAX : 0;
		if (batch->column[0].state[i] == PP_VALUE)
			got->value[got->n] = (uint32_t) batch->column[0].value[i];
		got->start[got->n] = text.start;
		got->end[got->n] = text.end;
		got->line[got->n] = lines ? (uint32_t) pp_stream_line(stream, i) : 0;
		/* where it stands in the input is known if it is the right one */
		if (got->n < in->records.n)
			EXPECT(text.end - text.start == in->records.end[got->n] - in->records.start[got->n] &&
				   memcmp(found, in->text + in->records.start[got->n], text.end - text.start) == 0,
				   "record %u: another text", got->n);
		got->n++;
	}
}

static void
take_fault(PpStream *stream, Records *got)
{
	const PpRecord *record = pp_stream_record(stream);

	EXPECT(record->bad == PP_BAD_JSON, "bad: %d", (int) record->bad);
	EXPECT(record->fault.offset <= record->len, "a fault at %u of %u bytes", record->fault.offset,
		   record->len);
	got->bad = true;
	got->fault = record->fault;
	got->fault_line = record->line;
	got->fault_byte = record->byte;
}

static void
run_serial(const Input *in, Records *got, UnitRandom *r, PpSimd level, bool plain)
{
	PpColumn	column;
	UnitHeap	heap;
	PpStreamSpec spec;
	PpStream   *stream;
	size_t		fed = 0;
	bool		over = false;

	got->n = 0;
	got->bad = false;
	make_spec(&spec, &column, &heap, r, level);
	if (plain)
		spec.partition_size = MAX_INPUT;
	stream = pp_stream_open(&spec);
	EXPECT(stream != NULL, "no stream");
	while (stream && !over)
		switch (pp_stream_step(stream))
		{
			case PP_STEP_AGAIN:
				break;
			case PP_STEP_READ:
				feed(stream, in, &fed, r);
				break;
			case PP_STEP_BATCH:
				take_batch(stream, got, pp_stream_batch(stream)->nrecords, r, in);
				/* a scan that is opened anew goes on where it was */
				if (unit_once_in(r, 4))
					pp_stream_set_env(stream, &spec.scan.env);
				break;
			case PP_STEP_BAD_RECORD:
				take_fault(stream, got);
				over = true;
				break;
			case PP_STEP_END:
				over = true;
				break;
			default:
				EXPECT(false, "an unexpected step");
				over = true;
				break;
		}
	pp_stream_close(stream);
	EXPECT(heap.live_blocks == 0, "%zu blocks are left", heap.live_blocks);
}

/* As in json_stream_test.c; True: it was left. */
static bool
run_range(PpStream *stream, const Input *in, Records *got, uint64_t *start, uint64_t end,
		  bool at_record, PpRangeState *state, PpRangeState *behind, UnitRandom *r)
{
	size_t		fed = (size_t) *start;
	bool		may_leave = fed > 0;

	if (!pp_stream_range(stream, *start, end, at_record))
	{
		EXPECT(false, "no range");
		return false;
	}
	for (;;)
		switch (pp_stream_step(stream))
		{
			case PP_STEP_AGAIN:
				break;
			case PP_STEP_READ:
				feed(stream, in, &fed, r);
				break;
			case PP_STEP_EFFECT:
				*behind = pp_range_apply(pp_stream_effect(stream), *state);
				pp_stream_enter(stream, state);
				break;
			case PP_STEP_BATCH:
				{
					uint32_t	n = pp_stream_batch(stream)->nrecords;

					if (may_leave && unit_once_in(r, 4))
					{
						uint32_t	row = unit_below(r, n);

						take_batch(stream, got, row, r, in);
						pp_stream_place(stream, row, start, state);
						return true;
					}
					take_batch(stream, got, n, r, in);
					break;
				}
			case PP_STEP_BAD_RECORD:
				if (may_leave && unit_once_in(r, 4))
				{
					pp_stream_place(stream, -1, start, state);
					return true;
				}
				take_fault(stream, got);
				return false;
			case PP_STEP_END:
				return false;
			default:
				EXPECT(false, "an unexpected step of a range");
				return false;
		}
}

static void
run_ranges(const Input *in, Records *got, UnitRandom *r, PpSimd level)
{
	PpColumn	column[STREAMS];
	UnitHeap	heap[STREAMS];
	PpStreamSpec spec;
	PpStream   *stream[STREAMS];
	PpRangeState state = PP_RANGE_START;
	uint64_t	size;
	bool		found = false;

	got->n = 0;
	got->bad = false;
	for (int i = 0; i < STREAMS; i++)
	{
		make_spec(&spec, &column[i], &heap[i], r, level);
		spec.ranged = true;
		stream[i] = pp_stream_open(&spec);
		EXPECT(stream[i] != NULL, "no stream");
		if (!stream[i])
			return;
	}
	size = spec.partition_size;
	for (size_t fed = 0; !found;)
		switch (pp_stream_step(stream[0]))
		{
			case PP_STEP_AGAIN:
				break;
			case PP_STEP_READ:
				feed(stream[0], in, &fed, r);
				break;
			case PP_STEP_LAYOUT:
				found = true;
				break;
			default:
				EXPECT(false, "no layout");
				found = true;
				break;
		}
	for (int i = 1; i < STREAMS; i++)
		EXPECT(pp_stream_set_layout(stream[i], pp_stream_layout(stream[0])), "no layout");
	for (uint64_t at = 0; at < in->len && !got->bad; at += size)
	{
		uint64_t	end = at + size < in->len ? at + size : in->len;
		uint64_t	start = at;
		PpRangeState in_front = state;
		PpRangeState behind = state;
		PpRangeState again;
		bool		left = run_range(stream[unit_below(r, STREAMS)], in, got, &start, end, at == 0,
									 &in_front, &behind, r);

		state = behind;
		while (left)
			left = run_range(stream[unit_below(r, STREAMS)], in, got, &start, end, true,
							 &in_front, &again, r);
	}
	for (int i = 0; i < STREAMS; i++)
	{
		pp_stream_close(stream[i]);
		EXPECT(heap[i].live_blocks == 0, "%zu blocks are left", heap[i].live_blocks);
	}
}

static void
compare(const Records *got, const Records *want, bool fault, const char *who)
{
	EXPECT(got->n == want->n, "%s: %u records, %u expected", who, got->n, want->n);
	for (uint32_t i = 0; i < got->n && i < want->n; i++)
	{
		EXPECT(got->value[i] == want->value[i], "%s, record %u: %u, but %u expected", who, i,
			   got->value[i], want->value[i]);
		EXPECT(got->line[i] == 0 || want->line[i] == 0 || got->line[i] == want->line[i],
			   "%s, record %u: line %u, but %u expected", who, i, got->line[i], want->line[i]);
	}
	EXPECT(got->bad == want->bad, "%s: %s", who, got->bad ? "a fault" : "no fault");
	if (fault && got->bad && want->bad)
		EXPECT(got->fault.code == want->fault.code && got->fault.reason == want->fault.reason &&
			   got->fault_line == want->fault_line && got->fault_byte == want->fault_byte,
			   "%s: fault %d for %d, line %u, byte %u, but %d for %d, line %u, byte %u expected", who,
			   (int) got->fault.code, (int) got->fault.reason,
			   (unsigned) got->fault_line, (unsigned) got->fault_byte,
			   (int) want->fault.code, (int) want->fault.reason,
			   (unsigned) want->fault_line, (unsigned) want->fault_byte);
}

/* Changes a few bytes, or cuts the end off. */
static void
spoil(Input *in, UnitRandom *r)
{
	in->records.n = 0;			/* not known any more */
	if (in->len == 0)
		return;
	if (unit_once_in(r, 4))
		in->len = unit_below(r, in->len);
	else if (unit_once_in(r, 3))
	{
		/* a backslash outside of strings may hide a quote */
		uint32_t	at = unit_below(r, in->len);

		while (at + 1 < in->len && in->text[at + 1] != '"')
			at++;
		in->text[at] = '\\';
	}
	else
		for (uint32_t n = 1 + unit_below(r, 3); n > 0; n--)
			in->text[unit_below(r, in->len)] = (uint8_t) "{}[],:\"\\1a \n\x80"[unit_below(r, 13)];
}

/* Records may be any values. */
static void
check_values(UnitRandom *r, PpSimd level)
{
	static const struct
	{
		const char *text;
		uint32_t	n;
		PpJsonReason reason;
		uint32_t	line;
		uint32_t	byte;
	}			example[] = {
		{"", 0, PP_JSON_NO_REASON, 0, 0},
		{" \n", 0, PP_JSON_NO_REASON, 0, 0},
		{"1 \"two\" [3, [4], \"5\"] true{\"six\":6}[[]]null[]7", 10, PP_JSON_NO_REASON, 0, 0},
		{"[[1, 2], [\"]\"], {}]", 3, PP_JSON_NO_REASON, 0, 0},
		{"\"a\"\"b\"1\"c\"", 4, PP_JSON_NO_REASON, 0, 0},
		{"[1,", 1, PP_JSON_WANT_VALUE, 1, 4},
		{"[1", 0, PP_JSON_WANT_COMMA_OR_BRACKET, 1, 3},
		{"[", 0, PP_JSON_WANT_VALUE_OR_CLOSE, 1, 2},
		{"[,1]", 0, PP_JSON_WANT_VALUE_OR_CLOSE, 1, 2},
		{"[1,]", 1, PP_JSON_WANT_VALUE, 1, 4},
		{"[1,,2]", 1, PP_JSON_WANT_VALUE, 1, 4},
		{"[1 2]", 0, PP_JSON_WANT_COMMA_OR_BRACKET, 1, 4},
		{"[1}", 0, PP_JSON_WANT_COMMA_OR_BRACKET, 1, 3},
		{"[{}}", 0, PP_JSON_WANT_COMMA_OR_BRACKET, 1, 4},
		{"[[1},2]", 0, PP_JSON_WANT_COMMA_OR_BRACKET, 1, 4},
		{"{\"a\":[1}", 0, PP_JSON_WANT_COMMA_OR_BRACKET, 1, 8},
		{"]", 0, PP_JSON_WANT_VALUE, 1, 1},
		{"{}}", 1, PP_JSON_WANT_VALUE, 1, 3},
		{"{},{}", 1, PP_JSON_WANT_VALUE, 1, 3},
		{"[1],", 1, PP_JSON_WANT_VALUE, 1, 4},
		{"[1]x", 1, PP_JSON_BAD_TOKEN, 1, 4},
		{"[1,\n 2\n 3]", 1, PP_JSON_WANT_COMMA_OR_BRACKET, 3, 2},
		{"[{\"a\": 1},\n\n  {\"a\": tru}]", 1, PP_JSON_BAD_TOKEN, 3, 9},
		{"\"x", 0, PP_JSON_UNTERMINATED, 1, 1},
		{"[\"x]", 0, PP_JSON_UNTERMINATED, 1, 2},
	};

	any_value = true;
	for (uint32_t i = 0; i < sizeof(example) / sizeof(example[0]); i++)
	{
		static Input in;
		static Records got;

		in.len = in.records.n = 0;
		put(&in, example[i].text);
		for (int shared = 0; shared < 2; shared++)
		{
			unit_case("level %d, %s: %s", (int) level, shared ? "ranges" : "one stream", example[i].text);
			if (shared)
				run_ranges(&in, &got, r, level);
			else
				run_serial(&in, &got, r, level, unit_once_in(r, 3));
			EXPECT(got.n == example[i].n, "%u records, not %u", got.n, example[i].n);
			EXPECT(got.bad == (example[i].line > 0), "%s", got.bad ? "a fault" : "no fault");
			if (got.bad && example[i].line > 0)
				EXPECT(got.fault.reason == example[i].reason && got.fault_line == example[i].line &&
					   got.fault_byte == example[i].byte, "for %d, at %u, %u", (int) got.fault.reason,
					   (unsigned) got.fault_line, (unsigned) got.fault_byte);
		}
	}
	any_value = false;
}

int
main(int argc, char **argv)
{
	uint64_t	n;

	unit_begin(argc, argv, "json_document_test");
	for (int level = 0; level < PP_SIMD_LEVELS; level++)
		for (uint64_t i = 0; i < 20 && pp_kernels((PpSimd) level); i++)
		{
			UnitRandom	r = unit_random(2, i);

			check_values(&r, (PpSimd) level);
		}
	n = unit_iterations(3000);
	for (uint64_t i = 0; i < n; i++)
	{
		static Input in;
		static Records got,
					plain;
		UnitRandom	r = unit_random(1, i);
		PpSimd		level = (PpSimd) unit_below(&r, PP_SIMD_LEVELS);

		if (!pp_kernels(level))
			level = PP_SIMD_SCALAR;
		make(&in, &r);
		unit_case("document %u, level %d: %s", (unsigned) i, (int) level,
				  unit_show(in.text, in.len < 1000 ? in.len : 1000));
		run_serial(&in, &got, &r, level, false);
		compare(&got, &in.records, true, "one stream");
		run_ranges(&in, &got, &r, level);
		compare(&got, &in.records, true, "two streams");

		spoil(&in, &r);
		unit_case("spoiled document %u, level %d: %s", (unsigned) i, (int) level,
				  unit_show(in.text, in.len < 1000 ? in.len : 1000));
		run_serial(&in, &plain, &r, PP_SIMD_SCALAR, true);
		run_serial(&in, &got, &r, level, false);
		compare(&got, &plain, true, "one stream");
		run_ranges(&in, &got, &r, level);
		compare(&got, &plain, true, "two streams");
	}
	return unit_end();
}

/*
 * test/unit/json_stream_test.c
 *	  Streams of JSON lines: records, bad lines, their places and numbers,
 *	  wherever the input is cut.
 *
 * Inputs are made line by line, so what each line is, is known without asking
 * the engine.  They are read by one stream, and range by range by two that share
 * the input and leave records to each other.
 */
#include <stdio.h>
#include <string.h>

#include "parse/cpu/kernel.h"
#include "parse/stream.h"
#include "unit.h"

#define MAX_LINES	64
#define MAX_INPUT	8192

typedef enum Kind
{
	GOOD,
	BLANK,
	BAD
} Kind;

typedef struct Input
{
	uint8_t		text[MAX_INPUT];
	size_t		len;
	uint32_t	nlines;
	Kind		kind[MAX_LINES];
	uint32_t	value[MAX_LINES];	/* GOOD: of the key "a" */
	uint32_t	length[MAX_LINES];
	uint32_t	offset[MAX_LINES];	/* BAD: of the fault, in the line */
	PpJsonCode	code[MAX_LINES];	/* BAD */
} Input;

static void
add(Input *in, const char *s, size_t n)
{
	memcpy(in->text + in->len, s, n);
	in->len += n;
}

static void
make_input(Input *in, UnitRandom *r)
{
	static const struct
	{
		const char *text;
		uint32_t	offset;
		PpJsonCode	code;
	}			bad[] = {
		{"{\"a\": 1", 7, PP_JSON_SYNTAX},
		{"{\"a\": 01}", 6, PP_JSON_SYNTAX},
		{"{\"k\": \"\\ud800\"}", 7, PP_JSON_SURROGATE},
		{"{\"k\": \"\\u0000\"}", 7, PP_JSON_NUL},
		{"{\"k\": \"\xe2\x82\"}", 7, PP_JSON_ENCODING},
		{"[1]", 0, PP_JSON_NOT_OBJECT},
		{"{\"a\":[[[[[[[[[]]]]]]]]]}", 12, PP_JSON_DEPTH},
		/* behind the start of the input it is no byte order mark */
		{"\xef\xbb\xbf{\"a\": 2}", 0, PP_JSON_SYNTAX},
	};
	static const char *const blank[] = {"", " ", "\r", "\t \r"};
	bool		crlf = unit_once_in(r, 3);

	in->len = 0;
	in->nlines = unit_below(r, MAX_LINES);
	if (unit_once_in(r, 3))
		add(in, "\xef\xbb\xbf", 3);
	for (uint32_t l = 0; l < in->nlines; l++)
	{
		size_t		start = in->len;
		char		line[128];
		uint32_t	i;

		switch (unit_below(r, 6))
		{
			case 0:
				i = unit_below(r, sizeof(bad) / sizeof(bad[0]) - (in->len == 0 ? 1 : 0));
				in->kind[l] = BAD;
				in->offset[l] = bad[i].offset;
				in->code[l] = bad[i].code;
				add(in, bad[i].text, strlen(bad[i].text));
				break;
			case 1:
				i = unit_below(r, sizeof(blank) / sizeof(blank[0]));
				in->kind[l] = BLANK;
				add(in, blank[i], strlen(blank[i]));
				break;
			default:
				in->kind[l] = GOOD;
				in->value[l] = unit_below(r, 100000);
				snprintf(line, sizeof(line), "{\"b\": \"%.*s\\n\", \"a\": %u}",
						 (int) unit_below(r, 60),
						 "a string of some length, which holds { and \xc3\xa9 and more text",
						 in->value[l]);
				/* a cut may have fallen into the character of two bytes */
				i = (uint32_t) strlen(line);
				for (uint32_t k = 0; k + 1 < i; k++)
					if ((uint8_t) line[k] == 0xc3 && (uint8_t) line[k + 1] != 0xa9)
						line[k] = '?';
				add(in, line, i);
				break;
		}
		in->length[l] = (uint32_t) (in->len - start);
		/* the last line need not have an end */
		if (l + 1 < in->nlines || !unit_once_in(r, 2))
		{
			if (crlf)
				add(in, "\r", 1);
			in->length[l] = (uint32_t) (in->len - start);
			add(in, "\n", 1);
		}
	}
}

/* The next line from *l on that is not blank. */
static bool
next_line(const Input *in, uint32_t *l)
{
	while (*l < in->nlines && in->kind[*l] == BLANK)
		(*l)++;
	return *l < in->nlines;
}

static void
check_batch(PpStream *stream, const Input *in, uint32_t *l)
{
	const PpBatch *batch = pp_stream_batch(stream);

	for (uint32_t r = 0; r < batch->nrecords; r++)
	{
		bool		there = next_line(in, l);

		EXPECT(there && in->kind[*l] == GOOD, "record %u is no good line", r);
		if (!there)
			return;
		EXPECT(batch->column[0].state[r] == PP_VALUE && batch->column[0].value[r] == in->value[*l],
			   "line %u: another value", *l + 1);
		if ((r & 3) == 0)
			EXPECT(pp_stream_line(stream, r) == *l + 1, "line %u: called %u", *l + 1,
				   (unsigned) pp_stream_line(stream, r));
		(*l)++;
	}
}

static void
check_bad(PpStream *stream, const Input *in, uint32_t *l)
{
	const PpRecord *rec = pp_stream_record(stream);
	bool		there = next_line(in, l);

	EXPECT(there && in->kind[*l] == BAD && rec->bad == PP_BAD_JSON, "no bad line");
	if (!there)
		return;
	EXPECT(rec->fault.code == in->code[*l], "line %u: fault %d, not %d", *l + 1,
		   (int) rec->fault.code, (int) in->code[*l]);
	EXPECT(rec->fault.offset == in->offset[*l], "line %u: at %u, not %u", *l + 1,
		   rec->fault.offset, in->offset[*l]);
	EXPECT(rec->line == *l + 1, "line %u: called %u", *l + 1, (unsigned) rec->line);
	EXPECT(rec->len == in->length[*l], "line %u: %u bytes, not %u", *l + 1, rec->len,
		   in->length[*l]);
	(*l)++;
}

/* One column, of the key "a". */
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
	spec->backend = &pp_backend_ndjson;
	spec->lines = true;
	spec->verify = PP_VERIFY_NONE;
	spec->partition_size = 1 + unit_below(r, unit_once_in(r, 2) ? 8 : 4096);
	spec->json.column = &json;
	spec->json.max_depth = 8;
	spec->scan.ncolumns = 1;
	spec->scan.column = column;
	spec->scan.env.charset = PP_CHARSET_UTF8;
	spec->scan.max_records = 1 + unit_below(r, 20);
	spec->scan.simd = level;
	spec->scan.alloc = unit_heap_alloc(heap);
}

/* Reads on; *fed is the input's next byte. */
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

static void
run(const Input *in, UnitRandom *r, PpSimd level)
{
	PpColumn	column;
	UnitHeap	heap;
	PpStreamSpec spec;
	PpStream   *stream;
	uint32_t	l = 0;
	size_t		fed = 0;
	bool		over = false;

	make_spec(&spec, &column, &heap, r, level);
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
				check_batch(stream, in, &l);
				/* a scan that is opened anew goes on where it was */
				if (unit_once_in(r, 4))
					pp_stream_set_env(stream, &spec.scan.env);
				break;
			case PP_STEP_BAD_RECORD:
				check_bad(stream, in, &l);
				break;
			case PP_STEP_END:
				EXPECT(!next_line(in, &l), "ends in front of line %u", l + 1);
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

#define STREAMS	2

/*
 * A range on one of the streams, entered in a state.  True: it was left at a
 * record, to be gone on with from *start and *state.
 */
static bool
run_range(PpStream *stream, const Input *in, uint64_t *start, uint64_t end, bool at_record,
		  PpRangeState *state, PpRangeState *behind, uint32_t *l, UnitRandom *r)
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
				EXPECT(!pp_stream_effect(stream)->marker, "a marker");
				pp_stream_enter(stream, state);
				break;
			case PP_STEP_BATCH:
				if (may_leave && unit_once_in(r, 4))
				{
					const PpBatch *b = pp_stream_batch(stream);
					int64_t		row = unit_below(r, b->nrecords);

					for (int64_t k = 0; k < row; k++)
					{
						(void) next_line(in, l);
						(*l)++;
					}
					pp_stream_place(stream, row, start, state);
					return true;
				}
				check_batch(stream, in, l);
				break;
			case PP_STEP_BAD_RECORD:
				if (may_leave && unit_once_in(r, 4))
				{
					pp_stream_place(stream, -1, start, state);
					return true;
				}
				check_bad(stream, in, l);
				break;
			case PP_STEP_END:
				return false;
			default:
				EXPECT(false, "an unexpected step of a range");
				return false;
		}
}

/* The same input, by streams that share it. */
static void
run_ranges(const Input *in, UnitRandom *r, PpSimd level)
{
	PpColumn	column[STREAMS];
	UnitHeap	heap[STREAMS];
	PpStreamSpec spec;
	PpStream   *stream[STREAMS];
	uint64_t	size;
	PpRangeState state = PP_RANGE_START;
	uint32_t	l = 0;
	bool		found = false;

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
	EXPECT(pp_stream_has_records(stream[0]), "no records");
	for (int i = 1; i < STREAMS; i++)
		EXPECT(pp_stream_set_layout(stream[i], pp_stream_layout(stream[0])), "no layout");
	for (uint64_t at = 0; at < in->len; at += size)
	{
		uint64_t	end = at + size < in->len ? at + size : in->len;
		uint64_t	start = at;
		PpRangeState in_front = state;
		PpRangeState behind = state;
		PpRangeState again;
		bool		left = run_range(stream[unit_below(r, STREAMS)], in, &start, end, at == 0,
									 &in_front, &behind, &l, r);

		state = behind;
		while (left)
		{
			left = run_range(stream[unit_below(r, STREAMS)], in, &start, end, true,
							 &in_front, &again, &l, r);
		}
	}
	EXPECT(!next_line(in, &l), "ranges end in front of line %u", l + 1);
	for (int i = 0; i < STREAMS; i++)
	{
		pp_stream_close(stream[i]);
		EXPECT(heap[i].live_blocks == 0, "%zu blocks are left", heap[i].live_blocks);
	}
}

int
main(int argc, char **argv)
{
	uint64_t	n;

	unit_begin(argc, argv, "json_stream_test");
	n = unit_iterations(3000);
	for (uint64_t i = 0; i < n; i++)
	{
		static Input in;
		UnitRandom	r = unit_random(1, i);
		PpSimd		level = (PpSimd) unit_below(&r, PP_SIMD_LEVELS);

		make_input(&in, &r);
		if (!pp_kernels(level))
			level = PP_SIMD_SCALAR;
		unit_case("input %u, level %d: %s", (unsigned) i, (int) level, unit_show(in.text, in.len));
		run(&in, &r, level);
		run_ranges(&in, &r, level);
	}
	return unit_end();
}

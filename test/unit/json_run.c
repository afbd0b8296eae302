/*
 * test/unit/json_run.c
 *	  The NDJSON backend and a plain reader side by side, see json_run.h.
 *
 * The plain reader is written from RFC 8259 and shares nothing with the
 * engine but the conversion of a value's text, which has tests of its own.
 */
#define _POSIX_C_SOURCE 200809L	/* posix_memalign() */

#include "json_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse/convert.h"
#include "reference.h"

static void
put(JsonLog *log, const char *fmt,...)
{
	va_list		args;
	char		line[256];
	int			n;

	va_start(args, fmt);
	n = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (log->len + (size_t) n + 1 > log->room)
	{
		log->room = 2 * log->room + (size_t) n + 256;
		log->text = realloc(log->text, log->room);
		if (!log->text)
			abort();
	}
	memcpy(log->text + log->len, line, (size_t) n + 1);
	log->len += (size_t) n;
}

static void
put_bytes(JsonLog *log, const uint8_t *s, uint32_t n)
{
	uint32_t	hash = 0;

	for (uint32_t i = 0; i < n; i++)
		hash = hash * 31 + s[i];
	put(log, "%u:%08x ", n, hash);
	for (uint32_t i = 0; i < n && i < 40; i++)
		put(log, s[i] >= ' ' && s[i] < 127 ? "%c" : "\\%02x", s[i]);
}

void
json_log_free(JsonLog *log)
{
	free(log->text);
	log->text = NULL;
	log->len = log->room = 0;
}

/*
 * Tables.
 */

#define KEY(k)		{(const uint8_t *) k, sizeof(k) - 1, 0}
#define ELEMENT(i)	{NULL, 0, i}

static const PpJsonStep a[] = {KEY("a")};
static const PpJsonStep b[] = {KEY("b")};
static const PpJsonStep c[] = {KEY("c")};
static const PpJsonStep empty[] = {KEY("")};
static const PpJsonStep long_key[] = {KEY("a long key of 23 bytes.")};
static const PpJsonStep key16[] = {KEY("abcdefghijklmn")};
static const PpJsonStep key7[] = {KEY("abcdefg")};
static const PpJsonStep key8[] = {KEY("abcdef")};
static const PpJsonStep special[] = {KEY("\xc3\xa9\"\\")};
static const PpJsonStep a_b[] = {KEY("a"), KEY("b")};
static const PpJsonStep a_1[] = {KEY("a"), ELEMENT(1)};
static const PpJsonStep a_1_c[] = {KEY("a"), ELEMENT(1), KEY("c")};
static const PpJsonStep a_0_0[] = {KEY("a"), ELEMENT(0), ELEMENT(0)};
static const PpJsonStep b_c_a[] = {KEY("b"), KEY("c"), KEY("a")};
static const PpJsonStep at_2[] = {ELEMENT(2)};

static void
add(JsonTable *t, PpType type, int32_t mod, uint32_t flags, const PpJsonStep *step,
	uint32_t nsteps, bool as_json)
{
	PpColumn   *col = &t->column[t->ncolumns];
	PpJsonColumn *json = &t->json[t->ncolumns++];

	col->type = type;
	col->field = 0;
	col->flags = flags;
	col->mod = mod;
	json->nsteps = nsteps;
	json->step = step;
	json->as_json = as_json;
}

#define ADD(type, step)		add(t, type, -1, 0, step, sizeof(step) / sizeof((step)[0]), false)

void
json_table(JsonTable *t, uint32_t n)
{
	memset(t, 0, sizeof(*t));
	t->max_depth = 70;
	switch (n)
	{
		case 0:
			ADD(PP_INT8, a);
			ADD(PP_TEXT, b);
			ADD(PP_FLOAT8, a_b);
			ADD(PP_TEXT, a_1);
			ADD(PP_DEFER, b_c_a);
			add(t, PP_TEXT, -1, 0, c, 1, true);
			ADD(PP_BOOL, c);
			ADD(PP_TEXT, long_key);
			add(t, PP_TEXT, -1, 0, NULL, 0, true);
			break;
		case 1:
			/* only the record, which may be anything */
			add(t, PP_TEXT, -1, 0, NULL, 0, true);
			t->any_value = true;
			break;
		case 2:
			t->max_depth = 3;
			break;
		case 3:
			ADD(PP_TEXT, a_1_c);
			ADD(PP_TEXT, a_0_0);
			ADD(PP_TEXT, a_1);
			ADD(PP_NUMERIC, a);
			ADD(PP_TEXT, empty);
			ADD(PP_TEXT, key16);
			ADD(PP_TEXT, key8);
			ADD(PP_TEXT, key7);
			ADD(PP_TEXT, special);
			add(t, PP_VARCHAR, 3, 0, b, 1, false);
			add(t, PP_INT4, -1, PP_COL_NULL_DEFERS, c, 1, false);
			ADD(PP_TEXT, at_2);
			t->any_value = true;
			break;
		default:
			ADD(PP_FLOAT8, b);
			ADD(PP_INT2, a);
			ADD(PP_TEXT, c);
			t->nfilters = 1;
			t->filter[0].column = 1;
			t->filter[0].op = PP_OP_GT;
			t->filter[0].compare = PP_COMPARE_INT64;
			t->filter[0].constant = 3;
			break;
	}
}

/* Writes down a column's value. */
static void
put_value(JsonLog *log, const PpColumn *col, uint8_t state, uint64_t value)
{
	static const char *const name[] = {"value", "null", "deferred", "default"};

	put(log, " %s", name[state & 3]);
	if (state != PP_VALUE)
		return;
	put(log, "=");
	if (col->type == PP_UUID || col->type == PP_NAME)
		put_bytes(log, (const uint8_t *) (uintptr_t) value, col->type == PP_UUID ? 16 : 64);
	else if (pp_type_by_reference(col->type))
	{
		uint32_t	n;
		const uint8_t *p = pp_varlena(value, &n);

		put_bytes(log, p, n);
	}
	else
		put(log, "%" PRIx64, value);
}

/*
 * The engine.
 */

bool
json_run(const JsonTable *t, const JsonCuts *cuts, PpAlloc alloc,
		 const uint8_t *text, uint32_t len, JsonLog *log)
{
	PpJsonScanSpec spec;
	const PpBackend *host = t->documents ? &pp_backend_json : &pp_backend_ndjson;
	const PpBackend *backend = t->backend ? t->backend : host;
	PpBackendScan *scan;
	uint32_t	at = 0;			/* of the text, where the next job begins */
	uint32_t	upto = cuts->first > 0 && cuts->first < len ? cuts->first : len;
	uint8_t    *next = NULL;	/* memory with text that was announced ... */
	uint32_t	front = 0;		/* ... behind that much room */
	uint32_t	announced = 0;	/* its bytes */
	bool		goes_on = false;
	bool		going = true;

	memset(&spec, 0, sizeof(spec));
	spec.scan.struct_size = sizeof(spec);
	spec.scan.ncolumns = t->ncolumns;
	spec.scan.column = t->column;
	spec.scan.nfilters = t->nfilters;
	spec.scan.filter = t->filter;
	spec.scan.env.charset = PP_CHARSET_UTF8;
	spec.scan.unlisted = cuts->unlisted && t->ncolumns == 0;
	spec.scan.max_records = cuts->max_records;
	spec.scan.simd = cuts->level;
	spec.scan.alloc = alloc;
	spec.column = t->json;
	spec.max_depth = t->max_depth;
	spec.any_value = t->any_value;
	spec.bom = true;
	spec.host = host;
	spec.host_enter = pp_json_enter;

	scan = backend->open(&spec.scan);
	if (!scan)
		return false;
	while (going)
	{
		/* a gap in front, and a buffer that ends where it may be read */
		uint32_t	gap = at % 7;
		void	   *memory = NULL;
		uint8_t    *copy;
		PpJob		job;
		const PpBatch *batch = NULL;
		const char *message = NULL;
		PpPoll		poll;
		const PpJsonBatch *json;
		uint32_t	base;

		if (goes_on)
		{
			/* the rest goes in front of it */
			upto += announced;
			gap = front - (upto - announced - at);
			copy = next;
			next = NULL;
			memcpy(copy + gap, text + at, upto - announced - at);
		}
		else
		{
			/* at a block's beginning, so that a text tells its place in blocks */
			if (posix_memalign(&memory, 64, (size_t) gap + (upto - at) + PP_PAD) != 0)
				abort();
			copy = (uint8_t *) memory;
			memcpy(copy + gap, text + at, upto - at);
			memset(copy + gap + (upto - at), '0', PP_PAD);
		}
		memset(copy, '"', gap);
		base = at - gap;
		job.text = copy;
		job.begin = gap;
		job.len = gap + (upto - at);
		job.last = upto == len;
		job.peek_cr = false;
		if (!backend->submit(scan, &job))
		{
			/* the device may still read it */
			backend->close(scan);
			free(copy);
			free(next);
			return false;
		}
		if (t->ahead && backend->ahead && next == NULL && upto < len)
		{
			front = upto - at;
			announced = cuts->step > 0 && cuts->step < len - upto ? cuts->step : len - upto;
			next = (uint8_t *) malloc((size_t) front + announced + PP_PAD);
			if (next == NULL)
				abort();
			memcpy(next + front, text + upto, announced);
			memset(next + front + announced, '0', PP_PAD);
			if (!backend->ahead(scan, next + front, announced, upto + announced == len))
			{
				free(next);
				next = NULL;
			}
		}
		do
			poll = backend->poll(scan, &batch, &message);
		while (poll == PP_POLL_PENDING);
		if (poll == PP_POLL_FAILED)
		{
			/* the device may still read it */
			backend->close(scan);
			free(copy);
			free(next);
			return false;
		}
		json = pp_json_batch(batch);
		for (uint32_t i = 0; i < batch->nselected; i++)
		{
			uint32_t	r = batch->selected ? batch->selected[i] : i;

			bool		deferred = !t->lean || batch->ncolumns == 0;

			for (uint32_t k = 0; k < batch->ncolumns; k++)
				deferred |= batch->column[k].state[r] == PP_DEFERRED;
			put(log, "record");
			if (!spec.scan.unlisted && deferred)
			{
				PpJsonRange range = pp_json_record(batch, r);

				put(log, " %u-%u", base + range.start, base + range.end);
			}
			for (uint32_t k = 0; k < batch->ncolumns; k++)
			{
				if (!t->lean || batch->column[k].state[r] == PP_DEFERRED)
				{
					PpJsonRange range = json->range[k][r];

					if (range.end > 0)
						put(log, " [%u-%u]", base + range.start, base + range.end);
				}
				put_value(log, &t->column[k], batch->column[k].state[r], batch->column[k].value[r]);
			}
			put(log, "\n");
		}
		switch (batch->stop)
		{
			case PP_STOP_MORE:
				if (job.last)
					put(log, "more of nothing\n");
				going = !job.last;
				at = base + batch->next;
				goes_on = next != NULL;
				if (!goes_on)
					upto = cuts->step > 0 && cuts->step < len - upto ? upto + cuts->step : len;
				break;
			case PP_STOP_FULL:
				goes_on = false;
				if (batch->nrecords != cuts->max_records && !t->lean)
					put(log, "full with %u\n", batch->nrecords);
				at = base + batch->next;
				break;
			case PP_STOP_END:
				if (!job.last || batch->next != job.len)
					put(log, "end too early\n");
				going = false;
				break;
			case PP_STOP_SYNTAX:
				put(log, "bad %d %d at %u", json->fault.code, json->fault.reason,
					base + json->fault.offset);
				if (json->fault.key.end > 0)
					put(log, " key %u-%u", base + json->fault.key.start, base + json->fault.key.end);
				if (t->documents)
				{
					put(log, "\n");
					going = false;
					break;
				}
				put(log, " line %u-%u\n", base + batch->next, base + batch->bad_next);
				goes_on = false;
				at = base + batch->bad_next;
				break;
			default:
				put(log, "stop %d\n", batch->stop);
				going = false;
				break;
		}
		if (batch->nrecords > cuts->max_records || batch->next < job.begin || batch->next > job.len)
			put(log, "impossible\n");
		backend->release(scan);
		/* nobody may look at it any more */
		memset(copy, '#', job.len);
		free(copy);
	}
	backend->close(scan);
	free(next);
	return true;
}

/*
 * The plain reader.
 */

typedef struct Plain
{
	const uint8_t *s;
	uint32_t	at;
	uint32_t	end;
	uint32_t	max_depth;
	PpJsonFault fault;
	PpJsonFault later;
	PpJsonRange key;
} Plain;

static bool
fail(Plain *p, PpJsonCode code, PpJsonReason reason, uint32_t at)
{
	if (p->fault.code == PP_JSON_OK)
	{
		p->fault.code = code;
		p->fault.reason = reason;
		p->fault.offset = at;
		p->fault.key = p->key;
	}
	return false;
}

static void
spaces(Plain *p)
{
	while (p->at < p->end && strchr(" \t\r\n", p->s[p->at]) && p->s[p->at])
		p->at++;
}

static int
peek(Plain *p)
{
	spaces(p);
	return p->at < p->end ? p->s[p->at] : -1;
}

static int32_t
hex_at(const Plain *p, uint32_t at)
{
	int32_t		v = 0;

	if (p->end < at + 4)
		return -1;
	for (int i = 0; i < 4; i++)
	{
		static const char digits[] = "0123456789abcdef0123456789ABCDEF";
		const char *d = p->s[at + i] ? strchr(digits, p->s[at + i]) : NULL;

		if (!d)
			return -1;
		v = v * 16 + (int32_t) ((d - digits) % 16);
	}
	return v;
}

/* Reads a string; its characters go to out, if given. */
static bool
string(Plain *p, uint8_t *out, uint32_t *n)
{
	uint32_t	start = p->at++;

	*n = 0;
	while (p->at < p->end)
	{
		uint8_t		ch = p->s[p->at];
		uint32_t	here = p->at;
		uint32_t	v;

		if (ch == '"')
		{
			p->at++;
			return true;
		}
		if (ch < 0x20)
			return fail(p, PP_JSON_SYNTAX, PP_JSON_BAD_CONTROL, here);
		p->at++;
		if (ch != '\\')
		{
			if (out)
				out[*n] = ch;
			(*n)++;
			continue;
		}
		if (p->at == p->end)
			return fail(p, PP_JSON_SYNTAX, PP_JSON_UNTERMINATED, start);
		ch = p->s[p->at++];
		v = ch == 'b' ? 8 : ch == 'f' ? 12 : ch == 'n' ? 10 : ch == 'r' ? 13 : ch == 't' ? 9 :
			ch == '"' || ch == '\\' || ch == '/' ? ch : 0;
		if (ch == 'u')
		{
			int32_t		h = hex_at(p, p->at);

			if (h < 0)
				return fail(p, PP_JSON_SYNTAX, PP_JSON_BAD_ESCAPE, here);
			p->at += 4;
			v = (uint32_t) h;
			if (h == 0 || (h >= 0xd800 && h <= 0xdfff))
			{
				int32_t		l = -1;

				if (h != 0 && h <= 0xdbff && p->end >= p->at + 2 &&
					p->s[p->at] == '\\' && p->s[p->at + 1] == 'u')
					l = hex_at(p, p->at + 2);
				if (l >= 0xdc00 && l <= 0xdfff)
				{
					v = 0x10000 + ((uint32_t) h - 0xd800) * 0x400 + ((uint32_t) l - 0xdc00);
					p->at += 6;
				}
				else if (p->later.code == PP_JSON_OK)
				{
					p->later.code = h == 0 ? PP_JSON_NUL : PP_JSON_SURROGATE;
					p->later.offset = here;
					p->later.key = p->key;
				}
			}
		}
		else if (v == 0)
			return fail(p, PP_JSON_SYNTAX, PP_JSON_BAD_ESCAPE, here);

		{
			uint8_t		u[4];
			uint32_t	k = 0;

			if (v < 0x80)
				u[k++] = (uint8_t) v;
			else
			{
				if (v < 0x800)
					u[k++] = (uint8_t) (0xc0 + v / 64);
				else
				{
					if (v < 0x10000)
						u[k++] = (uint8_t) (0xe0 + v / 4096);
					else
					{
						u[k++] = (uint8_t) (0xf0 + v / 262144);
						u[k++] = (uint8_t) (0x80 + v / 4096 % 64);
					}
					u[k++] = (uint8_t) (0x80 + v / 64 % 64);
				}
				u[k++] = (uint8_t) (0x80 + v % 64);
			}
			for (uint32_t i = 0; i < k; i++, (*n)++)
				if (out)
					out[*n] = u[i];
		}
	}
	return fail(p, PP_JSON_SYNTAX, PP_JSON_UNTERMINATED, start);
}

static bool
digits(Plain *p)
{
	uint32_t	from = p->at;

	while (p->at < p->end && p->s[p->at] >= '0' && p->s[p->at] <= '9')
		p->at++;
	return p->at > from;
}

static bool
scalar(Plain *p)
{
	uint32_t	start = p->at;
	uint32_t	stop = start;
	bool		good;

	/* all up to something that ends it */
	while (stop < p->end && p->s[stop] && !strchr(" \t\r\n,:[]{}\"", p->s[stop]))
		stop++;
	if (stop < p->end && !p->s[stop])
		good = false;
	else if ((stop - start == 4 && (memcmp(p->s + start, "true", 4) == 0 || memcmp(p->s + start, "null", 4) == 0)) ||
			 (stop - start == 5 && memcmp(p->s + start, "false", 5) == 0))
	{
		p->at = stop;
		good = true;
	}
	else
	{
		if (p->s[p->at] == '-')
			p->at++;
		if (p->at < p->end && p->s[p->at] == '0')
		{
			p->at++;
			good = true;
		}
		else
			good = digits(p);
		if (good && p->at < stop && p->s[p->at] == '.')
		{
			p->at++;
			good = digits(p);
		}
		if (good && p->at < stop && (p->s[p->at] | 0x20) == 'e')
		{
			p->at++;
			if (p->at < stop && (p->s[p->at] == '+' || p->s[p->at] == '-'))
				p->at++;
			good = digits(p);
		}
		good = good && p->at == stop;
	}
	return good || fail(p, PP_JSON_SYNTAX, PP_JSON_BAD_TOKEN, start);
}

/*
 * Reads a value; with steps left, looks for the value that they lead to, the
 * last one, and puts its place into *found, else the value's own.
 */
static bool
read_value(Plain *p, PpJsonReason want, uint32_t depth, const PpJsonStep *step,
		   uint32_t nsteps, PpJsonRange *found)
{
	const PpJsonRange none = {0, 0};
	PpJsonRange inner = none;
	PpJsonRange ignored;
	uint32_t	n;
	int			ch = peek(p);
	uint32_t	start = p->at;
	bool		array = ch == '[';

	*found = none;
	if (ch == '{' || ch == '[')
	{
		uint32_t	index = 0;

		if (depth >= p->max_depth)
			return fail(p, PP_JSON_DEPTH, PP_JSON_NO_REASON, start);
		p->at++;
		if (peek(p) == (array ? ']' : '}'))
			p->at++;
		else
			for (;; index++)
			{
				bool		mine = nsteps > 0 && array && !step->key && step->index == index;

				if (!array)
				{
					uint32_t	from;
					uint8_t    *key;

					if (peek(p) != '"')
						return fail(p, PP_JSON_SYNTAX, index > 0 ? PP_JSON_WANT_KEY : PP_JSON_WANT_KEY_OR_CLOSE, p->at);
					from = p->at;
					key = unit_malloc(p->end - from + 4);
					if (!string(p, key, &n))
					{
						free(key);
						return false;
					}
					mine = nsteps > 0 && step->key && step->key_len == n && memcmp(step->key, key, n) == 0;
					free(key);
					p->key.start = from;
					p->key.end = p->at;
					if (peek(p) != ':')
						return fail(p, PP_JSON_SYNTAX, PP_JSON_WANT_COLON, p->at);
					p->at++;
				}
				if (!read_value(p, array && index == 0 ? PP_JSON_WANT_VALUE_OR_CLOSE : PP_JSON_WANT_VALUE,
								depth + 1, step + mine, mine ? nsteps - 1 : 0, mine ? &inner : &ignored))
					return false;
				ch = peek(p);
				if (ch == (array ? ']' : '}'))
				{
					p->at++;
					break;
				}
				if (ch != ',')
					return fail(p, PP_JSON_SYNTAX, array ? PP_JSON_WANT_COMMA_OR_BRACKET : PP_JSON_WANT_COMMA_OR_BRACE, p->at);
				p->at++;
			}
	}
	else if (ch == '"')
	{
		if (!string(p, NULL, &n))
			return false;
	}
	else if (ch < 0 || ch == '}' || ch == ']' || ch == ',' || ch == ':')
		return fail(p, PP_JSON_SYNTAX, want, p->at);
	else if (!scalar(p))
		return false;
	if (nsteps > 0)
		*found = inner;
	else
	{
		found->start = start;
		found->end = p->at;
	}
	return true;
}

/* Converts and writes down a value as a column. */
static void
plain_column(JsonLog *log, const PpColumn *col, const PpJsonColumn *json,
			 const uint8_t *s, PpJsonRange range)
{
	PpEnv		env = {PP_CHARSET_UTF8, 0, NULL};
	uint32_t	n = range.end - range.start;
	uint8_t    *text = unit_malloc((size_t) n + PP_PAD + 8);
	uint8_t    *dst = NULL;
	uint64_t	value = 0;
	uint8_t		state = PP_DEFERRED;
	Plain		p;

	memset(text, 0, (size_t) n + PP_PAD + 8);
	memcpy(text, s + range.start, n);
	if (range.end > 0)
		put(log, " [%u-%u]", range.start, range.end);
	if (n == 0 || (n == 4 && memcmp(text, "null", 4) == 0 && json->nsteps > 0))
		state = col->flags & PP_COL_NULL_DEFERS ? PP_DEFERRED : PP_NULL;
	else if (col->type != PP_DEFER &&
			 !(json->as_json && json->nsteps > 0 && text[0] == '"' && memchr(text, '\\', n)))
	{
		if (text[0] == '"' && !json->as_json)
		{
			memset(&p, 0, sizeof(p));
			p.s = s;
			p.at = range.start;
			p.end = range.end;
			(void) string(&p, text, &n);
		}
		if (pp_type_by_reference(col->type))
		{
			dst = unit_malloc(pp_convert_room(col, n) + 8);
			if (pp_convert_reference(col, &env, text, n, dst) > 0)
				state = PP_VALUE;
			value = (uint64_t) (uintptr_t) dst;
		}
		else if (pp_convert_value(col, &env, text, n, &value))
			state = PP_VALUE;
	}
	put_value(log, col, state, value);
	free(dst);
	free(text);
}

/* Writes down a record and its columns. */
static void
plain_record(const JsonTable *t, const uint8_t *text, uint32_t first, uint32_t stop, JsonLog *log)
{
	put(log, "record %u-%u", first, stop);
	for (uint32_t k = 0; k < t->ncolumns; k++)
	{
		Plain		q;
		PpJsonRange found;

		memset(&q, 0, sizeof(q));
		q.s = text;
		q.at = first;
		q.end = stop;
		q.max_depth = t->max_depth;
		(void) read_value(&q, PP_JSON_WANT_VALUE, 0, t->json[k].step, t->json[k].nsteps, &found);
		plain_column(log, &t->column[k], &t->json[k], text, found);
	}
	put(log, "\n");
}

/* One value of a document, of which all that may be wrong is; false: it is. */
static bool
plain_value(Plain *p, const JsonTable *t, PpJsonRange *value)
{
	return read_value(p, PP_JSON_WANT_VALUE, 0, NULL, 0, value) && p->later.code == PP_JSON_OK &&
		(t->any_value || p->s[value->start] == '{') &&
		ref_utf8_prefix(p->s + value->start, value->end - value->start) == value->end - value->start;
}

static void
plain_documents(const JsonTable *t, const uint8_t *text, uint32_t len, JsonLog *log)
{
	Plain		p;
	PpJsonRange value;
	bool		good = true;

	memset(&p, 0, sizeof(p));
	p.s = text;
	p.end = len;
	p.max_depth = t->max_depth;
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		p.at = 3;
	while (good && peek(&p) >= 0)
	{
		if (peek(&p) != '[')
		{
			good = plain_value(&p, t, &value);
			if (good)
				plain_record(t, text, value.start, value.end, log);
			continue;
		}
		p.at++;
		if (peek(&p) == ']')
		{
			p.at++;
			continue;
		}
		for (;;)
		{
			int			ch;

			/* an element is one once it is known that another, or none, follows */
			good = plain_value(&p, t, &value);
			ch = peek(&p);
			good = good && (ch == ',' || ch == ']');
			if (!good)
				break;
			plain_record(t, text, value.start, value.end, log);
			p.at++;
			if (ch == ']')
				break;
		}
	}
	if (!good)
		put(log, "bad\n");
}

void
json_log_shorten(JsonLog *log)
{
	const char *line = log->text;

	for (size_t at = 0; at < log->len; at += (size_t) (strchr(line, '\n') - line) + 1)
	{
		line = log->text + at;
		if (strncmp(line, "bad ", 4) == 0)
		{
			log->len = at;
			put(log, "bad\n");
			return;
		}
	}
}

void
json_plain(const JsonTable *t, const uint8_t *text, uint32_t len, JsonLog *log)
{
	uint32_t	line = 0;

	if (t->documents)
	{
		plain_documents(t, text, len, log);
		return;
	}
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		line = 3;
	while (line < len)
	{
		Plain		p;
		uint32_t	nl = line;
		uint32_t	stop;
		uint32_t	first;
		size_t		valid;
		PpJsonRange whole;
		bool		good;

		while (nl < len && text[nl] != '\n')
			nl++;
		stop = nl;
		memset(&p, 0, sizeof(p));
		p.s = text;
		p.at = line;
		p.end = stop;
		p.max_depth = t->max_depth;
		first = peek(&p) < 0 ? stop : p.at;
		if (first == stop)
		{
			line = nl < len ? nl + 1 : nl;
			continue;
		}
		while (strchr(" \t\r", text[stop - 1]) && text[stop - 1])
			stop--;
		p.end = stop;
		valid = ref_utf8_prefix(text + first, stop - first);
		if (valid < stop - first)
			good = fail(&p, PP_JSON_ENCODING, PP_JSON_NO_REASON, first + (uint32_t) valid);
		else
		{
			good = read_value(&p, PP_JSON_WANT_VALUE, 0, NULL, 0, &whole);
			if (good && peek(&p) >= 0)
				good = fail(&p, PP_JSON_SYNTAX, PP_JSON_WANT_END, p.at);
			memset(&p.key, 0, good ? sizeof(p.key) : 0);
			if (good && !t->any_value && text[first] == '[')
				good = fail(&p, PP_JSON_NOT_OBJECT, PP_JSON_NO_REASON, first);
			if (good && p.later.code != PP_JSON_OK)
			{
				p.fault = p.later;
				good = false;
			}
			if (good && !t->any_value && text[first] != '{')
				good = fail(&p, PP_JSON_NOT_OBJECT, PP_JSON_NO_REASON, first);
		}
		if (!good)
		{
			put(log, "bad %d %d at %u", p.fault.code, p.fault.reason, p.fault.offset);
			if (p.fault.key.end > 0)
				put(log, " key %u-%u", p.fault.key.start, p.fault.key.end);
			put(log, " line %u-%u\n", line, nl < len ? nl + 1 : nl);
		}
		else
			plain_record(t, text, first, stop, log);
		line = nl < len ? nl + 1 : nl;
	}
}

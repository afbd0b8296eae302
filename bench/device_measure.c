/*
 * bench/device_measure.c
 *	  Measures the device library on its own, without a server: both pipelines
 *	  over files of numbers, text and JSON, in all the ways that the options
 *	  allow, beside the CPU backend; one table of everything at the end.
 *
 * usage: device_measure --library FILE --folder DIR [--limit SECONDS]
 *		  [--rounds N] [--tsv FILE] [--name TEXT] [--tiny]
 *
 * The folder holds taxi.csv, reviews.csv, skewed.csv, even.csv, and the same
 * records as events.ndjson and events.json, of which those that are missing are
 * left out.  Rates are of the text's bytes:
 *
 *		kernels		by the time that the device was busy with kernels
 *		pinned		from pinned memory to columns in pinned memory, transfers
 *					both ways included
 *		file		from the page cache to columns, reading included
 *
 * Every answer (records, states, values) is compared with the CPU backend's; a
 * difference fails the run.  Nothing is begun once the time is used up: rows
 * that are left out are counted.
 *
 * Must not: know the server or any of the library's inner workings.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device_frame.h"
#include "../src/parse/cpu/kernel.h"
#include "../src/parse/filter.h"
#include "../src/parse/stream.h"

#define MAX_COLUMNS	20			/* of a query */
#define MAX_ROWS	400
#define MAX_PINNED	((uint64_t) 1 << 30)	/* bytes of a file that is kept in memory */
#define PINNED_SIZE	65536

/*
 * Files and what is asked of them
 */

typedef enum Format
{
	CSV,
	LINES,						/* of JSON */
	DOCUMENTS
} Format;

typedef struct File
{
	const char *name;
	const char *column_types;	/* a letter a field, see column_type() */
	Format		format;
	char		path[4096];
	int			fd;
	uint64_t	size;
	uint64_t	header;			/* bytes of its first line */
	uint8_t    *text;			/* the records, in pinned memory, or NULL */
	uint32_t	len;
} File;

static File files[] = {
	{.name = "taxi.csv", .column_types = "2tt282x4428888888"},
	{.name = "reviews.csv", .column_types = "xxx2dx444"},
	{.name = "skewed.csv", .column_types = "4x"},
	{.name = "even.csv", .column_types = "4x"},
	{.name = "events.ndjson", .column_types = "ixxx8b88", .format = LINES},
	{.name = "events.json", .column_types = "ixxx8b88", .format = DOCUMENTS},
};

/* Fields of events: a key, or two. */
#define KEY(k)		{(const uint8_t *) (k), sizeof(k) - 1, 0}

static const PpJsonStep event_field[][2] = {
	{KEY("id")}, {KEY("ts")}, {KEY("user")}, {KEY("kind")}, {KEY("value")}, {KEY("ok")},
	{KEY("geo"), KEY("lat")}, {KEY("geo"), KEY("lon")},
};

/* A query: the columns that it wants, a filter, aggregates. */
typedef struct Query
{
	const char *name;
	uint32_t	file;
	uint32_t	ncolumns;
	uint32_t	field[MAX_COLUMNS];
	bool		filtered;		/* the last column, a float8, is above 100 */
	bool		summed;			/* the columns' sums and counts are wanted only */
} Query;

enum
{
	TAXI,
	REVIEWS,
	SKEWED,
	EVEN,
	EVENTS,
	EVENTS_ARRAY,
	NFILES
};

#define ALL_TAXI	17, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
#define ALL_REVIEWS	9, {0, 1, 2, 3, 4, 5, 6, 7, 8}
#define ALL_EVENTS	8, {0, 1, 2, 3, 4, 5, 6, 7}

static const Query queries[] = {
	{"taxi: count", TAXI, 0, {0}, false, false},
	{"taxi: sums of 3 integers", TAXI, 3, {3, 7, 8}, false, true},
	{"taxi: 8 floats", TAXI, 8, {4, 10, 11, 12, 13, 14, 15, 16}, false, false},
	{"taxi: every column", TAXI, ALL_TAXI, false, false},
	{"taxi: every column, total_amount > 100", TAXI, ALL_TAXI, true, false},
	{"reviews: count", REVIEWS, 0, {0}, false, false},
	{"reviews: text", REVIEWS, 1, {5}, false, false},
	{"reviews: every column", REVIEWS, ALL_REVIEWS, false, false},
	{"one record of most of the file", SKEWED, 2, {0, 1}, false, false},
	{"the same text, evenly", EVEN, 2, {0, 1}, false, false},
	{"lines: count", EVENTS, 0, {0}, false, false},
	{"lines: sum of an integer", EVENTS, 1, {0}, false, true},
	{"lines: 3 columns, value > 100", EVENTS, 3, {3, 6, 4}, true, false},
	{"lines: every column", EVENTS, ALL_EVENTS, false, false},
	{"array: sum of an integer", EVENTS_ARRAY, 1, {0}, false, true},
	{"array: every column", EVENTS_ARRAY, ALL_EVENTS, false, false},
};

enum
{
	Q_TAXI_COUNT,
	Q_TAXI_SUMS,
	Q_TAXI_FLOATS,
	Q_TAXI_ALL,
	Q_TAXI_FILTER,
	Q_REVIEWS_COUNT,
	Q_REVIEWS_TEXT,
	Q_REVIEWS_ALL,
	Q_SKEWED,
	Q_EVEN,
	Q_JSON,						/* those of JSON are the last ones */
	Q_JSON_SUM = Q_JSON + 1,
	Q_ARRAY_SUM = Q_JSON + 4,
	NQUERIES = Q_JSON + 6
};

static PpType
column_type(char letter)
{
	switch (letter)
	{
		case '2':
			return PP_INT2;
		case '4':
			return PP_INT4;
		case 'i':
			return PP_INT8;
		case 'b':
			return PP_BOOL;
		case '8':
			return PP_FLOAT8;
		case 'd':
			return PP_DATE;
		case 't':
			return PP_TIMESTAMP;
		default:
			return PP_TEXT;
	}
}

/* What came of a query. */
typedef struct Answer
{
	uint64_t	records;
	uint64_t	nulls;
	uint64_t	sum;			/* of values, by reference of lengths */
	uint64_t	deferred;
} Answer;

typedef struct Row
{
	char		section[48];
	char		query[64];
	char		pipeline[32];
	char		setting[48];
	char		mode[8];		/* pinned or file */
	uint64_t	bytes;
	double		seconds;
	double		kernels;
	double		h2d;
	double		d2h;
	uint64_t	d2h_bytes;
	uint64_t	peak;
	double		stage[PP_STAGES];
	bool		failed;
	char		note[96];
} Row;

static Row	rows[MAX_ROWS];
static uint32_t nrows;

/* How a query is to be run. */
typedef struct How
{
	const PpBackend *backend;
	const char *pipeline;
	bool		cpu;
	uint32_t	partition;
	uint32_t	chunk;
	uint32_t	tile;
	PpTagging	tagging;
	bool		from_file;
	uint64_t	bytes;			/* of a file: as many, it being read again and again */
	bool		fresh;			/* a context of its own, so that memory is counted
								 * from nothing */
} How;

/*
 * Memory: what is large is pinned, for a device.
 */

typedef struct Block
{
	struct Block *next;
	void	   *p;
} Block;

typedef struct Memory
{
	bool		pins;
	Block	   *pinned;
} Memory;

static void *
memory_alloc(void *ctx, size_t size)
{
	Memory	   *m = ctx;

	if (m->pins && size >= PINNED_SIZE)
	{
		Block	   *b = malloc(sizeof(*b));

		if (b == NULL)
			return NULL;
		b->p = library->pinned_alloc(size);
		if (b->p == NULL)
		{
			free(b);
			return NULL;
		}
		b->next = m->pinned;
		m->pinned = b;
		return b->p;
	}
	return malloc(size == 0 ? 1 : size);
}

static void
memory_release(void *ctx, void *p)
{
	Memory	   *m = ctx;

	for (Block **link = &m->pinned; *link != NULL; link = &(*link)->next)
		if ((*link)->p == p)
		{
			Block	   *b = *link;

			*link = b->next;
			library->pinned_free(b->p);
			free(b);
			return;
		}
	free(p);
}

/*
 * One run
 */

typedef struct Run
{
	const Query *query;
	const How  *how;
	Memory		memory;
	PpColumn	column[MAX_COLUMNS];
	PpFilter	filter;
	PpAggregate aggregate[2 * MAX_COLUMNS];
	PpJsonColumn json[MAX_COLUMNS];
	union
	{
		PpScanSpec	spec;
		PpJsonScanSpec json_spec;	/* begins with it */
	};
	Answer		answer;
	PpCudaStats stats;
	double		seconds;
} Run;

static void
make_spec(Run *run)
{
	const Query *q = run->query;
	const File *f = &files[q->file];
	PpScanSpec *s = &run->spec;

	s->struct_size = f->format == CSV ? sizeof(*s) : sizeof(run->json_spec);
	s->dialect = (PpDialect) {',', '"', '"', false};
	pp_dialect_compile(&s->dialect, PP_EOL_NL, &s->dfa);
	s->nfields = (uint32_t) strlen(f->column_types);
	s->ncolumns = q->ncolumns;
	s->column = run->column;
	for (uint32_t i = 0; i < q->ncolumns; i++)
		run->column[i] = (PpColumn) {column_type(f->column_types[q->field[i]]), q->field[i], 0, -1};
	if (q->filtered)
	{
		double		least = 100;

		run->filter = (PpFilter) {q->ncolumns - 1, PP_OP_GT, PP_COMPARE_FLOAT8, 0, NULL, 0};
		memcpy(&run->filter.constant, &least, sizeof(least));
		s->nfilters = 1;
		s->filter = &run->filter;
	}
	if (q->summed)
	{
		s->naggregates = q->ncolumns + 1;
		s->aggregate = run->aggregate;
		run->aggregate[0].op = PP_AGGREGATE_COUNT_ALL;
		for (uint32_t i = 0; i < q->ncolumns; i++)
			run->aggregate[i + 1] = (PpAggregate) {PP_AGGREGATE_SUM, i, 0};
	}
	s->null_text = (const uint8_t *) "";
	s->env.charset = PP_CHARSET_UTF8;
	s->unlisted = q->ncolumns == 0;
	s->max_records = !run->how->cpu ? PP_MAX_RECORD : f->format == CSV ? 65536 : 8192;
	s->chunk_size = run->how->chunk;
	s->simd = run->how->cpu || f->format != CSV ? pp_best_kernels()->level : 0;
	s->alloc = (PpAlloc) {memory_alloc, memory_release, &run->memory};
	run->memory.pins = !run->how->cpu;
	if (f->format == CSV)
		return;
	for (uint32_t i = 0; i < q->ncolumns; i++)
	{
		const PpJsonStep *step = event_field[q->field[i]];

		run->json[i] = (PpJsonColumn) {step[1].key_len > 0 ? 2 : 1, step, false};
	}
	run->json_spec.column = run->json;
	run->json_spec.max_depth = 1000;
	if (!run->how->cpu)
	{
		run->json_spec.host = f->format == LINES ? &pp_backend_ndjson : &pp_backend_json;
		run->json_spec.host_enter = pp_json_enter;
	}
}

/* Of JSON, there is one for lines, and one for documents. */
static const PpBackend *
backend_of(const How *how, const File *f)
{
	switch (f->format)
	{
		case LINES:
			return how->cpu ? &pp_backend_ndjson : library->ndjson;
		case DOCUMENTS:
			return how->cpu ? &pp_backend_json : library->json;
		default:
			return how->backend;
	}
}

static void
take_batch(Run *run, const PpBatch *b)
{
	const PpScanSpec *s = &run->spec;
	Answer	   *a = &run->answer;

	a->records += s->nfilters > 0 ? b->nselected : b->nrecords;
	a->deferred += b->ndeferred;
	if (b->partial != NULL)
	{
		if (b->nselected > 0)
			die("records were left over of sums that are all known");
		for (uint32_t i = 1; i < s->naggregates; i++)
			a->sum += b->partial[i].low;
		return;
	}
	for (uint32_t c = 0; c < s->ncolumns; c++)
	{
		const PpColumnData *d = &b->column[c];
		const bool	text = s->column[c].type == PP_TEXT;

		for (uint32_t i = 0; i < b->nselected; i++)
		{
			const uint32_t r = pp_batch_at(b, i);

			if (d->state[r] == PP_NULL)
				a->nulls += run->query->summed ? 0 : 1;
			else if (d->state[r] == PP_VALUE)
			{
				if (text)
				{
					uint32_t	n;

					(void) pp_varlena(d->value[r], &n);
					a->sum += n;
				}
				else
					a->sum += d->value[r];
			}
		}
	}
}

/* Text that is in memory already, partition by partition. */
static bool
run_memory(Run *run, const char **message)
{
	const File *f = &files[run->query->file];
	const PpBackend *b = run->how->backend;
	PpBackendScan *scan = b->open(&run->spec);
	PpJob		job = {f->text, 0, 0, false, false};
	uint64_t	start = 0;		/* of the job, in the text */
	uint64_t	announced = 0;	/* bytes behind the job's that were announced */
	const PpBatch *batch;
	PpPoll		polled;

	if (scan == NULL)
	{
		*message = library->error();
		return false;
	}
	job.len = run->how->partition < f->len ? run->how->partition : f->len;
	for (;;)
	{
		uint64_t	end = start + job.len;

		job.text = f->text + start;
		job.last = end == f->len;
		if (!b->submit(scan, &job))
		{
			*message = library->error();
			b->close(scan);
			return false;
		}
		announced = 0;
		if (!job.last && b->ahead != NULL)
		{
			uint64_t	more = f->len - end < run->how->partition ? f->len - end : run->how->partition;

			if (b->ahead(scan, f->text + end, (uint32_t) more, end + more == f->len))
				announced = more;
		}
		while ((polled = b->poll(scan, &batch, message)) == PP_POLL_PENDING)
			continue;
		if (polled == PP_POLL_FAILED)
		{
			b->close(scan);
			return false;
		}
		take_batch(run, batch);
		if (batch->stop == PP_STOP_END)
			break;
		if (batch->stop != PP_STOP_MORE && batch->stop != PP_STOP_FULL)
			die("%s: bad text at byte %" PRIu64, f->name, start + batch->next);
		start += batch->next;
		if (batch->stop == PP_STOP_MORE)
		{
			if (announced == 0)
				announced = f->len - end < run->how->partition ? f->len - end : run->how->partition;
			end += announced;
		}
		job.len = (uint32_t) (end - start);
		b->release(scan);
	}
	b->release(scan);
	if (!run->how->cpu)
		library->stats(scan, &run->stats);
	b->close(scan);
	return true;
}

/* A file, read through a stream as the extension does. */
static bool
run_file(Run *run, const char **message)
{
	const File *f = &files[run->query->file];
	PpStreamSpec spec;
	PpStream   *stream;
	uint64_t	left = run->how->bytes > 0 ? run->how->bytes : f->size;
	uint64_t	size = left < f->size ? left : f->size;
	uint64_t	at = 0;
	bool		device = !run->how->cpu;
	const PpRequest *request;

	memset(&spec, 0, sizeof(spec));
	spec.backend = run->how->backend;
	if (f->format == CSV)
		spec.scan = run->spec;
	else
		spec.json = run->json_spec;
	spec.lines = f->format == LINES;
	spec.documents = f->format == DOCUMENTS;
	spec.enter = run->how->cpu ? pp_json_enter : library->json_enter;
	spec.header = f->header > 0;
	spec.partition_size = run->how->partition;
	spec.first_partition = device ? 1 << 20 : 0;
	spec.read_ahead = device;
	spec.verify = f->format == CSV ? PP_VERIFY_UTF8 : PP_VERIFY_NONE;
	stream = pp_stream_open(&spec);
	if (stream == NULL)
	{
		*message = device ? library->error() : "out of memory";
		return false;
	}
	for (;;)
	{
		switch (pp_stream_step(stream))
		{
			case PP_STEP_AGAIN:
			case PP_STEP_HEADER:
				break;
			case PP_STEP_READ:
				request = pp_stream_request(stream);
				if (left == 0)
					pp_stream_fed(stream, 0, true);
				else
				{
					uint64_t	want = request->want;
					ssize_t		n;

					/* it is read again from its first record on */
					if (at == size)
						at = f->header;
					if (want > size - at)
						want = size - at;
					n = pread(f->fd, request->dst, want, (off_t) at);
					if (n <= 0)
						die("cannot read %s", f->path);
					at += (uint64_t) n;
					if (at == size)
						left = left > size ? left - size : 0;
					pp_stream_fed(stream, (size_t) n, left == 0 && at == size);
				}
				break;
			case PP_STEP_BATCH:
				take_batch(run, pp_stream_batch(stream));
				break;
			case PP_STEP_END:
				if (device && pp_stream_scan(stream) != NULL)
					library->stats(pp_stream_scan(stream), &run->stats);
				pp_stream_close(stream);
				return true;
			case PP_STEP_FAILED:
				*message = pp_stream_message(stream);
				pp_stream_close(stream);
				return false;
			default:
				die("%s: a record is bad", f->path);
		}
	}
}

static int
by_seconds(const void *a, const void *b)
{
	const double x = ((const Run *) a)->seconds;
	const double y = ((const Run *) b)->seconds;

	return x < y ? -1 : x > y ? 1 : 0;
}

/* Pinned copies of what runs from memory; made anew behind each start. */
static void
load_text(File *f)
{
	uint64_t	n = f->size - f->header;

	if (f->text != NULL || f->fd < 0)
		return;
	if (n > MAX_PINNED)
		die("%s is too large to be kept in memory", f->path);
	f->text = library->pinned_alloc(n + PP_PAD);
	if (f->text == NULL)
		die("no pinned memory for %s", f->path);
	for (uint64_t got = 0; got < n;)
	{
		ssize_t		k = pread(f->fd, f->text + got, n - got, (off_t) (f->header + got));

		if (k <= 0)
			die("cannot read %s", f->path);
		got += (uint64_t) k;
	}
	memset(f->text + n, 0, PP_PAD);
	f->len = (uint32_t) n;
}

static void
restart(void)
{
	PpCudaDevice device;
	const char *message = NULL;

	for (uint32_t i = 0; i < NFILES; i++)
	{
		library->pinned_free(files[i].text);
		files[i].text = NULL;
	}
	library->stop();
	if (!frame_start(&device, &message))
		die("the device does not start again: %s", message);
}

/* The file's records that end within so many bytes: how many bytes these are, of
 * a file in which a record is a line. */
static uint64_t
whole_records(const File *f, uint64_t bytes)
{
	char		c;

	while (bytes > f->header && pread(f->fd, &c, 1, (off_t) bytes - 1) == 1 && c != '\n')
		bytes--;
	if (bytes <= f->header)
		die("%s has no record that is short enough", f->path);
	return bytes;
}

static void
measure(const char *section, uint32_t q, How how, const char *setting)
{
	static Run	runs[MAX_ROUNDS];
	static Answer expected[NQUERIES][2];
	static uint64_t expected_bytes[NQUERIES][2];
	const Query *query = &queries[q];
	File	   *f = &files[query->file];
	Row		   *row = &rows[nrows];
	uint32_t	n = rounds;
	PpCudaOptions options = {.struct_size = sizeof(options), .tagging = how.tagging};

	how.backend = backend_of(&how, f);
	if (f->fd < 0 || how.backend == NULL)
		return;
	if (how.bytes > 0 && how.bytes < f->size)
		how.bytes = whole_records(f, how.bytes);
	if (now() > deadline || nrows == MAX_ROWS)
	{
		left_out++;
		return;
	}
	nrows++;
	memset(row, 0, sizeof(*row));
	snprintf(row->section, sizeof(row->section), "%s", section);
	snprintf(row->query, sizeof(row->query), "%s", query->name);
	snprintf(row->pipeline, sizeof(row->pipeline), "%s", how.pipeline);
	snprintf(row->setting, sizeof(row->setting), "%s", setting);
	snprintf(row->mode, sizeof(row->mode), "%s", how.from_file ? "file" : "pinned");
	if (how.fresh)
		restart();
	if (!how.from_file)
		load_text(f);
	row->bytes = !how.from_file ? f->len : how.bytes > 0 ? how.bytes : f->size;
	options.tile_bytes = how.tile;
	library->set_options(&options);

	/* the first run warms up, and is not counted, if it is short */
	for (uint32_t i = 0; i < n + 1; i++)
	{
		Run		   *run = &runs[i == 0 ? 0 : i - 1];
		const char *message = "";
		bool		ok;
		Answer	   *e = &expected[q][how.from_file];
		double		before;

		memset(run, 0, sizeof(*run));
		run->query = query;
		run->how = &how;
		make_spec(run);
		before = now();
		ok = how.from_file ? run_file(run, &message) : run_memory(run, &message);
		run->seconds = now() - before;
		if (!ok)
		{
			row->failed = true;
			snprintf(row->note, sizeof(row->note), "%s", message);
			if (library->failure() == PP_CUDA_BROKEN)
				die("%s: %s", query->name, message);
			return;
		}
		if (expected_bytes[q][how.from_file] != row->bytes)
		{
			/* the first to ask is the CPU backend, see main() */
			expected_bytes[q][how.from_file] = row->bytes;
			if (how.cpu || how.bytes > 0)
				*e = run->answer;
		}
		if (run->answer.records != e->records || run->answer.nulls != e->nulls ||
			run->answer.sum != e->sum || run->answer.deferred != 0)
		{
			differences++;
			snprintf(row->note, sizeof(row->note), "DIFFERENT ANSWER");
			fprintf(stderr, "DIFFERENT ANSWER: %s, %s, %s: %" PRIu64 " %" PRIu64 " %" PRIu64
					" instead of %" PRIu64 " %" PRIu64 " %" PRIu64 ", %" PRIu64 " handed over\n",
					query->name, how.pipeline, setting, run->answer.records, run->answer.nulls,
					run->answer.sum, e->records, e->nulls, e->sum, run->answer.deferred);
		}
		if (i == 0 && run->seconds > 2)
			n = 1;				/* it is what counts */
		if (i >= 1 && now() > deadline)
			n = i;
		if (n == 1 && i == 0)
			break;
	}
	qsort(runs, n, sizeof(Run), by_seconds);
	{
		const Run  *m = &runs[n / 2];
		PpCudaStats all;

		row->seconds = m->seconds;
		row->h2d = m->stats.seconds[PP_STAGE_H2D];
		row->d2h = m->stats.seconds[PP_STAGE_D2H];
		row->d2h_bytes = m->stats.d2h_bytes;
		for (uint32_t i = 0; i < PP_STAGES; i++)
		{
			row->stage[i] = m->stats.seconds[i];
			if (i != PP_STAGE_H2D && i != PP_STAGE_D2H)
				row->kernels += m->stats.seconds[i];
		}
		library->stats(NULL, &all);
		row->peak = how.cpu ? 0 : all.peak_device_bytes;
	}
	fprintf(stderr, "%s: %s, %s %s: %.4f s\n", section, query->name, how.pipeline, setting,
			row->seconds);
}

static const char *
megabytes(uint64_t bytes)
{
	static char text[4][32];
	static uint32_t next;
	char	   *t = text[next++ % 4];

	if (bytes >= 1 << 20)
		snprintf(t, 32, "%" PRIu64 " MB", bytes >> 20);
	else
		snprintf(t, 32, "%" PRIu64 " kB", bytes >> 10);
	return t;
}

/*
 * What is measured
 */

static How
device_how(const PpBackend *backend, const char *name)
{
	How			h = {0};

	h.backend = backend;
	h.pipeline = name;
	h.partition = tiny ? 8192 : 32 << 20;
	return h;
}

static void
measure_all(void)
{
	const uint32_t mb = tiny ? 1 << 10 : 1 << 20;
	const How	cpu = {.backend = &pp_backend_scalar, .pipeline = "cpu", .cpu = true, .partition = 1 << 20};
	How			pipeline[2];
	How			h;
	char		setting[48];

	pipeline[0] = device_how(library->fused, "fused");
	pipeline[1] = device_how(library->paper, "paper");

	/* the CPU's answers come first */
	for (uint32_t q = 0; q < NQUERIES; q++)
	{
		measure("cpu", q, cpu, "one core");
		h = cpu;
		h.from_file = true;
		measure("cpu", q, h, "one core");
	}
	for (uint32_t p = 0; p < 2; p++)
		for (uint32_t q = 0; q < Q_JSON; q++)
		{
			measure("queries", q, pipeline[p], "");
			h = pipeline[p];
			h.from_file = true;
			measure("queries", q, h, "");
		}
	for (uint32_t q = Q_JSON; q < NQUERIES; q++)
	{
		h = device_how(NULL, "json");
		measure("json", q, h, "");
		h.from_file = true;
		measure("json", q, h, "");
	}
	/* file sizes, with the paper's from 1 MB up */
	for (uint64_t size = mb; size <= (uint64_t) mb << (tiny ? 2 : 13); size *= size < 64 * (uint64_t) mb ? 4 : 8)
		for (uint32_t p = 0; p < 3; p++)
		{
			h = p < 2 ? pipeline[p] : cpu;
			h.from_file = true;
			h.bytes = size;
			measure("file size", Q_TAXI_SUMS, h, megabytes(size));
		}
	/* of an array, whole ones only, one behind the other */
	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t p = 0; p < 2; p++)
		{
			const uint32_t q = i % 2 == 0 ? Q_JSON_SUM : Q_ARRAY_SUM;
			const File *f = &files[queries[q].file];

			h = p == 0 ? device_how(NULL, "json") : cpu;
			h.from_file = true;
			h.bytes = i < 2 ? (q == Q_JSON_SUM ? mb : f->size) : 4 * f->size;
			measure("json size", q, h, megabytes(h.bytes));
		}
	for (uint32_t p = 0; p < 2; p++)
		for (uint32_t partition = 8 * mb; partition <= 512 * mb && partition < UINT32_MAX / 2; partition *= 2)
		{
			if (tiny && partition > 16 * mb)
				break;
			h = pipeline[p];
			h.partition = partition;
			measure("partition", Q_TAXI_ALL, h, megabytes(partition));
			measure("partition", Q_REVIEWS_ALL, h, megabytes(partition));
		}
	for (uint32_t tile = 2048; tile <= 16384; tile *= 2)
	{
		h = pipeline[0];
		h.tile = tile;
		snprintf(setting, sizeof(setting), "tile %u", tile);
		measure("tile", Q_TAXI_ALL, h, setting);
		measure("tile", Q_REVIEWS_ALL, h, setting);
	}
	{
		static const uint32_t chunk[] = {8, 15, 16, 24, 31, 32, 48, 64, 128, 256};

		for (uint32_t i = 0; i < sizeof(chunk) / sizeof(chunk[0]); i++)
		{
			if (tiny && i % 4 != 0)
				continue;
			h = pipeline[1];
			h.chunk = chunk[i];
			snprintf(setting, sizeof(setting), "chunk %u", chunk[i]);
			measure("chunk", Q_TAXI_ALL, h, setting);
			measure("chunk", Q_REVIEWS_ALL, h, setting);
		}
	}
	for (PpTagging t = PP_TAG_RECORD; t <= PP_TAG_VECTOR; t++)
	{
		static const char *const name[] = {"auto", "record tags", "inline-terminated", "vector-delimited"};

		h = pipeline[1];
		h.tagging = t;
		measure("tagging", Q_TAXI_ALL, h, name[t]);
		measure("tagging", Q_REVIEWS_ALL, h, name[t]);
	}
	for (uint32_t p = 0; p < 2; p++)
	{
		h = pipeline[p];
		h.fresh = h.from_file = true;
		measure("memory", Q_TAXI_ALL, h, "32 MB partitions");
		measure("memory", Q_REVIEWS_ALL, h, "32 MB partitions");
	}
}

/*
 * What is shown
 */

static const char *const stage_name[PP_STAGES] = {
	[PP_STAGE_H2D] = "H2D",
	[PP_STAGE_VECTORS] = "vectors",
	[PP_STAGE_SCAN] = "scan",
	[PP_STAGE_BITMAPS] = "bitmaps",
	[PP_STAGE_TAG] = "tag",
	[PP_STAGE_PARTITION] = "partition",
	[PP_STAGE_INDEX] = "index",
	[PP_STAGE_CONVERT_THREAD] = "convert by thread",
	[PP_STAGE_CONVERT_BLOCK] = "convert by block",
	[PP_STAGE_CONVERT_DEVICE] = "convert by device",
	[PP_STAGE_PARSE] = "parse",
	[PP_STAGE_LONG] = "long",
	[PP_STAGE_COLUMNS] = "columns",
	[PP_STAGE_FILTER] = "filter",
	[PP_STAGE_D2H] = "D2H"
};

static double
rate(uint64_t bytes, double seconds)
{
	return seconds > 0 ? (double) bytes / seconds / 1e9 : 0;
}

static void
print_table(void)
{
	printf("| section | query | pipeline | setting | from | MB | s | GB/s | kernels GB/s | H2D ms | D2H ms"
		   " | D2H bytes/byte | device MB | longest stages, ms |\n"
		   "|---|---|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|\n");
	for (uint32_t i = 0; i < nrows; i++)
	{
		const Row  *r = &rows[i];
		bool		shown[PP_STAGES] = {false};

		printf("| %s | %s | %s | %s | %s | %.2f |", r->section, r->query, r->pipeline, r->setting,
			   r->mode, (double) r->bytes / 1e6);
		if (r->failed)
		{
			printf(" %s | | | | | | | |\n", r->note);
			continue;
		}
		printf(" %.4f | %.2f |", r->seconds, rate(r->bytes, r->seconds));
		if (strcmp(r->pipeline, "cpu") == 0)
			printf(" | | | | | %s |\n", r->note);
		else
		{
			printf(" %.1f | %.2f | %.2f | %.3f | %.0f | %s", rate(r->bytes, r->kernels),
				   r->h2d * 1e3, r->d2h * 1e3, (double) r->d2h_bytes / (double) r->bytes,
				   (double) r->peak / 1e6, r->note);
			for (uint32_t k = 0; k < 3; k++)
			{
				uint32_t	best = PP_STAGES;

				for (uint32_t s = 0; s < PP_STAGES; s++)
					if (!shown[s] && s != PP_STAGE_H2D && s != PP_STAGE_D2H && r->stage[s] > 0 &&
						(best == PP_STAGES || r->stage[s] > r->stage[best]))
						best = s;
				if (best == PP_STAGES)
					break;
				shown[best] = true;
				printf("%s%s %.2f", k > 0 || r->note[0] ? ", " : "", stage_name[best], r->stage[best] * 1e3);
			}
			printf(" |\n");
		}
	}
}

static void
write_tsv(const char *path, const char *device, double start)
{
	FILE	   *f = fopen(path, "w");

	if (f == NULL)
		die("cannot write %s", path);
	fprintf(f, "# device\t%s\n# start\t%.6f\n", device, start);
	fprintf(f, "section\tquery\tpipeline\tsetting\tfrom\tbytes\tseconds\tkernels\th2d\td2h\td2h_bytes\tpeak\tnote\n");
	for (uint32_t i = 0; i < nrows; i++)
	{
		const Row  *r = &rows[i];

		fprintf(f, "%s\t%s\t%s\t%s\t%s\t%" PRIu64 "\t%.9f\t%.9f\t%.9f\t%.9f\t%" PRIu64 "\t%" PRIu64 "\t%s\n",
				r->section, r->query, r->pipeline, r->setting, r->mode, r->bytes, r->seconds, r->kernels,
				r->h2d, r->d2h, r->d2h_bytes, r->peak, r->note);
	}
	if (fclose(f) != 0)
		die("cannot write %s", path);
}

/* From which size on the device, its start included, is faster than one core. */
static void
print_break_even(double start)
{
	const Row  *device = NULL,
			   *cpu = NULL;

	for (uint32_t i = 0; i < nrows; i++)
	{
		const Row  *r = &rows[i];

		if (strcmp(r->section, "file size") != 0 || r->failed)
			continue;
		if (strcmp(r->pipeline, "fused") == 0)
			device = r;
		else if (strcmp(r->pipeline, "cpu") == 0)
			cpu = r;
	}
	if (device == NULL || cpu == NULL)
		return;
	{
		const double slope = cpu->seconds / (double) cpu->bytes - device->seconds / (double) device->bytes;

		if (slope <= 0)
			printf("\nThe device is at no size faster than one core of the CPU.\n");
		else
			printf("\nBreak-even against one core: %.0f MB with the device's start, which is what"
				   " parparaw.cuda_min_file_size may be set to.\n", start / slope / 1e6);
	}
}

static void
open_file(File *f, const char *folder)
{
	struct stat st;
	char		c;

	snprintf(f->path, sizeof(f->path), "%s/%s", folder, f->name);
	f->fd = open(f->path, O_RDONLY);
	if (f->fd < 0)
	{
		fprintf(stderr, "device_measure: %s is missing, and left out\n", f->path);
		return;
	}
	if (fstat(f->fd, &st) != 0)
		die("cannot look at %s", f->path);
	f->size = (uint64_t) st.st_size;
	f->header = 0;
	if (f == &files[TAXI] || f == &files[REVIEWS])
		while (pread(f->fd, &c, 1, (off_t) f->header) == 1 && (f->header++, c != '\n'))
			continue;
}

int
main(int argc, char **argv)
{
	FrameOptions options = {.name = "", .limit = 300};
	const char *folder = NULL;
	const char *message = NULL;
	double		start;
	PpCudaDevice device;

	rounds = 5;
	for (int i = 1; i < argc; i++)
	{
		if (strcmp(argv[i], "--folder") == 0 && i + 1 < argc)
			folder = argv[++i];
		else if (!frame_option(&options, argc, argv, &i))
			die("unknown option %s", argv[i]);
	}
	if (folder == NULL)
		die("--folder is needed");

	/* loading the library and making the context is what a first query waits for */
	start = now();
	frame_load(&options);
	if (!frame_start(&device, &message))
		die("%s", message);
	start = now() - start;
	for (uint32_t i = 0; i < NFILES; i++)
		open_file(&files[i], folder);
	measure_all();

	printf("## The device library on %s%s%s (%s, compute capability %d.%d)\n\n", options.name,
		   options.name[0] ? ": " : "", device.name, library->name, device.major, device.minor);
	if (strcmp(library->name, "cuda") != 0)
		printf("Executed by the CPU: a test of the program, the figures mean nothing.\n\n");
	printf("Start-up (library and context): %.3f s, of which the context %.3f s\n\n", start,
		   device.start_seconds);
	print_table();
	print_break_even(start);
	if (left_out > 0)
		printf("\n%u rows are left out: the time was used up.\n", left_out);
	if (options.tsv != NULL)
		write_tsv(options.tsv, device.name, start);
	for (uint32_t i = 0; i < NFILES; i++)
		library->pinned_free(files[i].text);
	library->stop();
	return differences > 0 ? 1 : 0;
}

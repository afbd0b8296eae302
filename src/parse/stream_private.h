/*
 * src/parse/stream_private.h
 *	  The state of a stream, shared by its three files: stream.c (the steps of a
 *	  scan), stream_range.c (those of a range) and stream_ahead.c (reading on
 *	  while a backend works).
 *
 * For these only.  stream.c owns the state; see its head for how text,
 * positions and phases hang together.
 */
#ifndef PP_STREAM_PRIVATE_H
#define PP_STREAM_PRIVATE_H

#include "stream.h"
#include "cpu/kernel.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define VERIFY_SLICE	(1u << 23)	/* bytes verified a step */
#define COPY_SLICE		(1u << 23)	/* bytes copied a step */

typedef enum PpPhase
{
	PHASE_FILL,					/* read on */
	PHASE_GROW,					/* the buffer is being replaced by a bigger one */
	PHASE_FED,					/* bytes came in: transcode or verify them */
	PHASE_SEARCH,				/* which kind of line end? */
	PHASE_HEADER,				/* the header was shown */
	PHASE_LAYOUT,				/* ranged: a range is to be set */
	PHASE_EFFECT,				/* its effect was shown, it is to be entered */
	PHASE_ENTER,				/* where does its first record start? */
	PHASE_PARSE,				/* hand the buffer to the backend */
	PHASE_POLL,					/* wait for it */
	PHASE_BATCH,				/* the batch was shown */
	PHASE_SKIP,					/* a record of wrong shape was shown */
	PHASE_BROKEN,				/* a record that ends the scan was shown */
	PHASE_APPEND,				/* what was read ahead goes behind the rest */
	PHASE_END,
	PHASE_FAILED
} PpPhase;

/* What was read ahead, in the spare buffer. */
typedef enum PpAhead
{
	AHEAD_NONE,
	AHEAD_WANTED,				/* it is going to be */
	AHEAD_READING,
	AHEAD_READ,
	AHEAD_GIVEN					/* it is verified, and the backend has it */
} PpAhead;

struct PpStream
{
	PpStreamSpec spec;
	const PpKernels *kernels;
	PpPhase		phase;
	PpStreamStats stats;
	uint64_t	memory;			/* size of the buffers now */

	uint8_t    *text;
	size_t		capacity;		/* PP_PAD bytes behind it are ours, too */
	size_t		begin;
	size_t		valid;
	size_t		filled;
	uint8_t    *bigger;			/* PHASE_GROW: the new buffer, */
	size_t		bigger_capacity;
	size_t		copied;			/* what is in it, */
	PpPhase		behind_grow;	/* and what comes then */
	uint8_t    *raw;			/* transcoding only */
	size_t		raw_capacity;
	size_t		raw_pos;		/* raw bytes not yet transcoded: */
	size_t		raw_len;		/* [raw_pos, raw_len) */
	bool		eof;			/* no byte comes behind filled (raw_len) */
	bool		invalid;		/* an invalid character starts at valid */

	PpEolSearch search;
	bool		searched;
	PpBackendScan *scan;
	const PpBatch *batch;
	size_t		skip_to;		/* PHASE_SKIP: start of the next record */

	PpAhead		ahead_state;
	uint8_t    *spare;
	size_t		spare_capacity;
	size_t		ahead;			/* the byte at `parsed` of the text */
	size_t		ahead_read;		/* the byte at its `filled` */
	size_t		ahead_valid;
	size_t		ahead_filled;
	bool		ahead_copied;	/* into the text: the backend may still look at
								 * what it was given */
	bool		ahead_eof;
	bool		ahead_invalid;

	/*
	 * Line numbers: lines counts the line characters of the kind that COPY
	 * counts in front of counted, which lags behind begin where they are not
	 * known by themselves; in_first says that begin is in the file's first
	 * record, where COPY does not know the kind yet.
	 */
	uint8_t		line_char;
	uint64_t	lines;
	size_t		counted;
	bool		in_first;
	bool		line_known;		/* pp_stream_line() was asked of this batch ... */
	uint32_t	line_row;		/* ... last for this record, whose line is */
	uint64_t	line;
	size_t		line_pos;		/* ... that of this byte */

	/* of JSON documents */
	uint64_t	column;			/* bytes between counted and the last line end in
								 * front of it */
	uint8_t		behind;			/* the separator right in front of begin, or 0 */
	bool		enter;			/* the backend's scan is to be told of it */

	/* of a ranged stream */
	bool		entered;		/* the state at the range's start is known */
	size_t		parsed;			/* end of the text that the backend was given */
	bool		resumable;		/* it holds a part of a record */
	bool		at_record;		/* the range starts with a record of its own */
	uint64_t	base;			/* offset of text[0] in the input */
	size_t		stop;			/* end of the range */
	size_t		looked;			/* bytes surveyed; then, of the search for the
								 * first record, those looked at ... */
	PpRangeState state;			/* ... and the state there, but for lines */
	PpEffect	effect;
	size_t		cut_looked;		/* the same of the search for cut */
	PpRangeState cut_state;
	size_t		cut;			/* 0: not found yet */
	bool		bounded;		/* nothing more needs to be read */

	PpRequest	request;
	PpRecord	record;
	const char *message;
	bool		reopen;			/* the backend's scan is to be opened anew */
	PpPhase		retry;			/* PHASE_FAILED by the backend: where another may
								 * go on; else PHASE_FAILED */
};

typedef enum PpRoom
{
	ROOM,
	ROOM_LATER,					/* step again */
	NO_ROOM						/* out of memory */
} PpRoom;

static inline bool
pp_stream_is_json(const PpStream *s)
{
	return s->spec.lines || s->spec.documents;
}

/* How often c, a line end character, occurs. */
static inline uint64_t
pp_stream_count_lines(const PpStream *s, const uint8_t *p, size_t n, uint8_t c)
{
	return PP_MUTATED(line_number) ? 0 : s->kernels->count_byte(p, n, c);
}

/*
 * Of n bytes of documents, the first of which has that many bytes in front of it
 * in its line: how many has the byte behind them?  *lines line ends are added.
 */
static inline uint64_t
pp_stream_column_behind(const PpStream *s, const uint8_t *p, size_t n, uint64_t column,
						uint64_t *lines)
{
	uint64_t	here = pp_stream_count_lines(s, p, n, '\n');
	size_t		tail = 0;

	*lines += here;
	if (here == 0)
		return column + n;
	while (p[n - 1 - tail] != '\n')
		tail++;
	return tail;
}

/* Counts the lines that are left to be counted, before their text goes. */

/*
 * stream.c
 */

/* A buffer of size bytes with PP_PAD zeros behind it, counted; NULL: no memory. */
extern void *pp_stream_buffer_alloc(PpStream *s, size_t size);
extern void pp_stream_buffer_free(PpStream *s, void *p, size_t size);	/* NULL is fine */

/* The stream is over, for that reason, which is static text. */
extern PpStep pp_stream_fail(PpStream *s, const char *message);

/* To be called before text in front of begin goes away: counts its lines. */
extern void pp_stream_settle_lines(PpStream *s);

/* Room for want bytes behind filled: by moving, else by growing, in steps. */
extern PpRoom pp_stream_make_room(PpStream *s, size_t want);

/* Bytes that are to be read next. */
extern size_t pp_stream_read_size(const PpStream *s);

/* The kind of line end is known; false: the backend does not open. */
extern bool pp_stream_begin_parsing(PpStream *s);

/* The batch that was shown last, if there is one, is used no more. */
extern void pp_stream_release_batch(PpStream *s);

/*
 * stream_range.c
 */

/* PHASE_FED, of a range not entered: surveys a slice of it. */
extern PpStep pp_stream_survey(PpStream *s);

/* PHASE_ENTER: the state at the range's start is known; which record is its first? */
extern PpStep pp_stream_first_record(PpStream *s);

/* Looks for the end of the range's last record in what was read. */
extern void pp_stream_find_cut(PpStream *s);

/*
 * stream_ahead.c: the steps of reading ahead, in this order.
 */

/* AHEAD_WANTED: asks for the bytes behind the text that was submitted. */
extern PpStep pp_stream_read_ahead(PpStream *s);

/* AHEAD_READ: verifies a slice of them; once all are, the backend has them. */
extern PpStep pp_stream_give_ahead(PpStream *s);

/* AHEAD_GIVEN: the text is used up but for [begin, parsed), go on with them. */
extern PpStep pp_stream_take_ahead(PpStream *s);

/* PHASE_APPEND: they are copied behind what is left, a piece each time. */
extern PpStep pp_stream_append_ahead(PpStream *s);

#ifdef __cplusplus
}
#endif

#endif							/* PP_STREAM_PRIVATE_H */

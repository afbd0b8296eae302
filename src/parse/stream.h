/*
 * src/parse/stream.h
 *	  The scan of one input: partitions in, batches out.
 *
 * A stream never calls its user.  It is stepped: each step does a bounded
 * piece of work or says what it needs (bytes to be read, bytes to be
 * transcoded or verified), which the user supplies before stepping again.
 * So the user may raise its own errors, check for interrupts or stop for good
 * between any two steps, and nothing of the engine is on the stack.
 *
 * Partitions are consecutive stretches of the input of partition_size bytes
 * (before transcoding).  The automaton's state and the incomplete last record
 * are carried from one partition to the next; nothing is scanned twice and no
 * start state is guessed.  Memory is a small multiple of the partition plus
 * the longest record.
 *
 * A ranged stream is moved by its user from one range of the input to another,
 * so that several of them can share a file: see pp_stream_range().
 *
 * Lines of JSON need neither quoting states nor a kind of line end, and their
 * backend checks each line by itself, so a bad one is shown and stepped over.
 * In JSON documents nothing can follow what is bad.
 *
 * Encoding: bytes are verified (UTF-8 and single-byte encodings here, others
 * by the user) before they are parsed.  An invalid byte is an error of the
 * record it stands in: records before it are returned first.
 */
#ifndef PP_STREAM_H
#define PP_STREAM_H

#include "../backend.h"
#include "json/json.h"
#include "range.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* How incoming bytes become valid text of the server encoding. */
typedef enum PpVerify
{
	PP_VERIFY_NUL,				/* any byte but zero */
	PP_VERIFY_UTF8,
	PP_VERIFY_CALLER,			/* PP_STEP_VERIFY */
	PP_VERIFY_TRANSCODE,		/* PP_STEP_TRANSCODE, whose result is valid */
	PP_VERIFY_NONE				/* the backend checks bytes itself */
} PpVerify;

typedef struct PpStreamSpec
{
	const PpBackend *backend;
	union
	{
		PpJsonScanSpec json;	/* if lines or documents; begins with scan */
		PpScanSpec	scan;		/* dfa is filled in by the stream, struct_size too */
	};
	bool		lines;			/* records are lines of JSON: the backend is
								 * pp_backend_ndjson, and its bom is filled in.  No
								 * header; NONE and TRANSCODE only, ranged NONE */
	bool		documents;		/* the same of JSON documents and their backend */
	void		(*enter) (PpBackendScan *scan, PpJsonPlace place);	/* documents: tells
								 * the backend where its next job begins; what an
								 * earlier one left incomplete is forgotten */
	bool		header;			/* the first record is a header */
	bool		ranged;			/* goes over ranges; VERIFY_NUL and VERIFY_UTF8
								 * only, of a dialect that pp_range_possible(), or
								 * JSON */
	size_t		partition_size;	/* 1 .. 1 GiB */
	size_t		first_partition;	/* the first ones may be smaller; 0: the
									 * backend does not mind how small */
	bool		read_ahead;		/* for a backend that takes it: reading on before
								 * a batch is shown is fine.  Not ranged */
	PpVerify	verify;
	uint32_t	max_char;		/* longest character, in bytes (VERIFY_CALLER) or
								 * longest input of a conversion (TRANSCODE) */
	uint32_t	growth;			/* output bytes an input byte may become
								 * (TRANSCODE) */
} PpStreamSpec;

typedef enum PpStep
{
	PP_STEP_AGAIN,				/* step again */
	PP_STEP_READ,				/* read: supply bytes, pp_stream_fed() */
	PP_STEP_TRANSCODE,			/* transcode, pp_stream_transcoded() */
	PP_STEP_VERIFY,				/* verify, pp_stream_verified() */
	PP_STEP_HEADER,				/* record: the header's text */
	PP_STEP_LAYOUT,				/* ranged: the kind of line end is known,
								 * pp_stream_range() */
	PP_STEP_EFFECT,				/* ranged: the range was surveyed,
								 * pp_stream_enter() */
	PP_STEP_BATCH,				/* batch: valid until the next step */
	PP_STEP_BAD_RECORD,			/* record: it must be handled by itself */
	PP_STEP_END,				/* no record follows */
	PP_STEP_FAILED				/* message: out of memory, backend failure */
} PpStep;

/* What is wrong with a record that no batch can hold. */
typedef enum PpBad
{
	PP_BAD_FIELDS,				/* number of fields; stepping on is possible */
	PP_BAD_UNTERMINATED,		/* end of data inside quotes */
	PP_BAD_CR,					/* unquoted carriage return */
	PP_BAD_NL,					/* unquoted newline */
	PP_BAD_MARKER,				/* end-of-data marker with another line end */
	PP_BAD_ENCODING,			/* an invalid character */
	PP_BAD_JSON,				/* fault; stepping on is possible in lines */
	PP_BAD_LENGTH				/* PP_MAX_RECORD reached */
} PpBad;

typedef struct PpRecord
{
	PpBad		bad;			/* for PP_STEP_BAD_RECORD */
	const uint8_t *text;		/* the record from its first byte */
	uint32_t	len;			/* its bytes as far as they are known, line end
								 * excluded */
	uint64_t	line;			/* its line number as COPY counts; of documents
								 * that of the fault */
	uint64_t	byte;			/* PP_BAD_JSON: the fault's place in its line, from
								 * 1 */
	const uint8_t *invalid;		/* PP_BAD_ENCODING: the invalid character and
								 * what was read behind it, not transcoded */
	size_t		invalid_len;
	PpJsonFault fault;			/* PP_BAD_JSON: its places count from text */
} PpRecord;

typedef struct PpRequest
{
	uint8_t    *dst;			/* READ, TRANSCODE */
	size_t		want;			/* READ: bytes wanted; TRANSCODE: room at dst */
	const uint8_t *src;			/* TRANSCODE, VERIFY */
	size_t		len;			/* TRANSCODE, VERIFY: bytes at src */
} PpRequest;

typedef struct PpStream PpStream;

/*
 * Answers NULL when out of memory.  The spec is copied; what it points to
 * (columns, markers, zone) is not and must outlive the stream.
 */
extern PpStream *pp_stream_open(const PpStreamSpec *spec);
extern void pp_stream_close(PpStream *stream);	/* NULL is fine */

extern PpStep pp_stream_step(PpStream *stream);

/* What the last step asked for or gave. */
extern const PpRequest *pp_stream_request(const PpStream *stream);
extern const PpBatch *pp_stream_batch(const PpStream *stream);
extern const PpRecord *pp_stream_record(const PpStream *stream);
extern const char *pp_stream_message(const PpStream *stream);

/*
 * Answers.  fed: n bytes lie at dst (0 <= n <= want), eof says that no byte
 * follows them; n = 0 without eof asks for more time and is fine.
 * transcoded: consumed bytes of src became produced bytes at dst; 0 and 0 if
 * none could be.  verified: that many bytes of src are valid.
 */
extern void pp_stream_fed(PpStream *stream, size_t n, bool eof);
extern void pp_stream_transcoded(PpStream *stream, size_t consumed, size_t produced);
extern void pp_stream_verified(PpStream *stream, size_t valid);

/*
 * Line number of record r of the current batch, as COPY counts; of documents,
 * that of the record's first byte.  Cheap for records behind the one that was
 * asked for last.
 */
extern uint64_t pp_stream_line(PpStream *stream, uint32_t r);

/*
 * After PP_STEP_FAILED, if it was the backend's doing: the stream goes on with
 * another one, at the record where that one failed, as if nothing had
 * happened; step again.  Of documents, spec.enter has to serve both.  Answers
 * false if the failure was another.
 */
extern bool pp_stream_set_backend(PpStream *stream, const PpBackend *backend,
								  uint32_t max_records, uint32_t chunk_size);

/* The backend's scan, for its counters; NULL: not open. */
extern const PpBackendScan *pp_stream_scan(const PpStream *stream);

/* Values are converted under these facts from the next batch on. */
extern void pp_stream_set_env(PpStream *stream, const PpEnv *env);

/*
 * Ranges.  A ranged stream starts at byte 0 like any other, shows the header
 * if there is one, and then its layout: kind of line end and first record.
 * Streams on the same input that are given the layout start without.  Answers
 * false when out of memory.
 */
extern const PpEolSearch *pp_stream_layout(const PpStream *stream);
extern bool pp_stream_set_layout(PpStream *stream, const PpEolSearch *layout);

/* Does any record follow the header, as far as the layout tells? */
extern bool pp_stream_has_records(const PpStream *stream);

/*
 * Moves to bytes [start, end) of the input, end - start within 1 .. 1 GiB;
 * what is fed next are the bytes from start on.  The range's records are
 * those behind the line ends whose last byte lies in the range, so it may
 * have none, and the last one may be read to far behind it.  With at_record a
 * record starts at start that is the range's as well: the first record of an
 * input without header, or one that another stream left (pp_stream_place());
 * that one may start at the range's end, or behind it.
 *
 * Of documents, they are those behind the separators (see json/json_range.h).
 * In front of JSON at byte 0, a byte order mark is skipped.
 *
 * The stream reads and surveys the range first (PP_STEP_EFFECT).  It is to be
 * entered with the state at start, which the effects of what lies before add
 * up to (pp_range_apply()).  PP_STEP_END then ends the range, and another may
 * be set.  Answers false when out of memory.
 */
extern bool pp_stream_range(PpStream *stream, uint64_t start, uint64_t end,
							bool at_record);
extern const PpEffect *pp_stream_effect(const PpStream *stream);
extern void pp_stream_enter(PpStream *stream, const PpRangeState *state);

/*
 * At PP_STEP_EFFECT, if the effect says that an end-of-data marker is
 * possible: does one stand in the range, given the quoting state at its start?
 */
extern bool pp_stream_data_ends(const PpStream *stream, PpQuoting state);

/*
 * Where record r of the current batch starts, or, with r < 0, the bad record
 * that was shown: its offset, and the state there as pp_stream_enter() takes
 * it.  Not for the input's first record.
 */
extern void pp_stream_place(const PpStream *stream, int64_t r,
							uint64_t *offset, PpRangeState *state);

/* Counters since open. */
typedef struct PpStreamStats
{
	uint64_t	bytes;			/* read, before transcoding; of ranges, what is
								 * read behind their ends is not counted */
	uint64_t	partitions;		/* reads that gave bytes, or ranges */
	uint64_t	records;		/* in batches and bad ones, header excluded */
	uint64_t	removed;		/* of them, by filters */
	uint64_t	deferred;		/* values */
	uint64_t	peak_memory;	/* greatest size of the stream's own buffers */
} PpStreamStats;

extern PpStreamStats pp_stream_stats(const PpStream *stream);

#ifdef __cplusplus
}
#endif

#endif							/* PP_STREAM_H */

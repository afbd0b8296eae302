/*
 * src/parse/stream.h
 *	  The serial scan of one input: partitions in, batches out.
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
 * Encoding: bytes are verified (UTF-8 and single-byte encodings here, others
 * by the user) before they are parsed.  An invalid byte is an error of the
 * record it stands in: records before it are returned first.
 */
#ifndef PP_STREAM_H
#define PP_STREAM_H

#include "../backend.h"

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
	PP_VERIFY_TRANSCODE			/* PP_STEP_TRANSCODE, whose result is valid */
} PpVerify;

typedef struct PpStreamSpec
{
	const PpBackend *backend;
	PpScanSpec	scan;			/* dfa is filled in by the stream */
	bool		header;			/* the first record is a header */
	size_t		partition_size;	/* 1 .. 1 GiB */
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
	PP_BAD_LENGTH				/* PP_MAX_RECORD reached */
} PpBad;

typedef struct PpRecord
{
	PpBad		bad;			/* for PP_STEP_BAD_RECORD */
	const uint8_t *text;		/* the record from its first byte */
	uint32_t	len;			/* its bytes as far as they are known, line end
								 * excluded */
	uint64_t	line;			/* its line number as COPY counts */
	const uint8_t *invalid;		/* PP_BAD_ENCODING: the invalid character and
								 * what was read behind it, not transcoded */
	size_t		invalid_len;
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

/* Line number of record r of the current batch, as COPY counts. */
extern uint64_t pp_stream_line(const PpStream *stream, uint32_t r);

/* Counters since open. */
typedef struct PpStreamStats
{
	uint64_t	bytes;			/* read, before transcoding */
	uint64_t	partitions;		/* reads that gave bytes */
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

/*
 * test/unit/engine_check.h
 *	  Runs the backend or a stream over a text and compares everything that
 *	  comes out with the model of COPY.
 *
 * Used by the unit tests and by the fuzzers: the checks answer by value and
 * write what is wrong to a message; they print nothing and never stop.
 */
#ifndef ENGINE_CHECK_H
#define ENGINE_CHECK_H

#include "parse/stream.h"
#include "reference.h"
#include "unit.h"

#define CHECK_COLUMNS	6
#define CHECK_FILTERS	3
#define CHECK_LEVELS	8

/* How bytes are handed to a stream. */
#define FEED_SHORT		1u		/* fewer bytes than wanted */
#define FEED_LATE_EOF	2u		/* the end is told behind the last bytes */
#define FEED_IDLE		4u		/* now and then no byte, and no end */
#define FEED_PARTIAL	8u		/* transcode less than could be */
#define FEED_MODES		16u

typedef struct EngineCase
{
	PpDialect	dialect;
	bool		header;
	uint32_t	nfields;
	uint32_t	ncolumns;
	PpColumn	column[CHECK_COLUMNS];
	uint32_t	nfilters;
	PpFilter	filter[CHECK_FILTERS];
	RefMarkers	markers;
	uint32_t	chunk;
	uint32_t	simd;			/* PpSimd; see check_simd_levels() */
	bool		unlisted;		/* fields are not looked at (no columns) */
	uint32_t	max_records;
	size_t		partition;
	PpVerify	verify;
	uint32_t	feed;
	uint64_t	seed;			/* of what is random in feeding and cutting */
	const PpBackend *backend;
	bool		read_ahead;		/* of a stream */
	const PpBackend *fallback;	/* of a stream: goes on where that one fails */
} EngineCase;

typedef enum EngineVerdict
{
	ENGINE_SAME,				/* as the model says, to the end */
	ENGINE_DIFFERS,				/* see the message */
	ENGINE_NO_MEMORY			/* an injected failure was reported as such,
								 * and all before it was as the model says */
} EngineVerdict;

typedef struct EngineResult
{
	EngineVerdict verdict;
	char		why[1024];
	uint64_t	records;		/* in batches; those that filters remove included */
	uint64_t	selected;
	uint64_t	errors;			/* records of the wrong shape and a last error */
	RefEnd		end;
	uint64_t	peak_memory;	/* as the stream says */
} EngineResult;

/* Whole streams: partitions, verification, transcoding, lines, header. */
extern void check_stream(const EngineCase *c, const uint8_t *input, size_t len,
						 UnitHeap *heap, EngineResult *result);

/*
 * The backend alone: valid text, handed over up to each of the given positions
 * (ascending, at most len) and then to its end, each time in a buffer of its
 * own.
 */
extern void check_backend(const EngineCase *c, const uint8_t *text, size_t len,
						  const size_t *cut, size_t ncuts,
						  UnitHeap *heap, EngineResult *result);

/*
 * The SIMD levels that this processor has, the scalar one first; answers how
 * many there are.
 */
extern uint32_t check_simd_levels(uint32_t level[CHECK_LEVELS]);

/* One of them at random. */
extern uint32_t check_random_level(UnitRandom *r);

/* Columns, filters, markers and flags at random, within nfields fields. */
extern void check_random_columns(UnitRandom *r, EngineCase *c);

/*
 * Do the batch's records hold what the model says of the records from number
 * first on, and are those selected that its filters let pass?  Shared by the
 * two; answers false and says why if not.  *deferred_min and *deferred_max grow
 * by the number of values that must and may have been handed over: of records
 * that a filter removes not all columns need to be converted.
 */
extern bool check_batch_records(const EngineCase *c, const PpBatch *batch,
								const RefFile *file, size_t first,
								const uint8_t *text, uint64_t *deferred_min,
								uint64_t *deferred_max, EngineResult *result);

/* May a model record be removed by the filters? */
extern bool check_may_be_removed(const EngineCase *c, const RefFile *file,
								 const RefRecord *record, const uint8_t *text);

/* Sets the message of the first difference; answers false. */
extern bool check_differs(EngineResult *result, const char *fmt,...)
			__attribute__((format(printf, 2, 3)));

/*
 * Invented encodings for the bytes that a caller verifies or transcodes.
 * Server-side one: 0x80..0xdf and 0xe0..0xef lead two and three bytes, trail
 * bytes have the high bit; 0x00 and 0xf0..0xff are invalid.  Client-side one:
 * a lead of 0x81..0x9f takes a trail byte that may be ASCII (as in Shift JIS)
 * and becomes two or three bytes, 0xa0..0xdf become three bytes each,
 * 0xe0..0xe3 lead three bytes that become one; all else above 0x7f is
 * invalid.
 */
#define FAKE_MAX_CHAR	3
#define FAKE_GROWTH		3

/* Leading bytes that are whole characters. */
extern size_t fake_verify(const uint8_t *s, size_t n);

/* Bytes that the character starting with c ought to have. */
extern uint32_t fake_char_length(uint8_t c);

/*
 * Transcodes whole characters while they fit in room and while there are
 * fewer than most of them; answers the bytes consumed.
 */
extern size_t fake_transcode(const uint8_t *s, size_t n, uint8_t *dst, size_t room,
							 size_t most, size_t *produced);

#endif							/* ENGINE_CHECK_H */

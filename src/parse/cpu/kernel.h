/*
 * src/parse/cpu/kernel.h
 *	  The loops of the CPU backend that are written for each instruction set,
 *	  and the choice among them at run time.
 *
 * One algorithm, many instruction sets: kernel_impl.h holds the algorithms
 * over blocks of 64 bytes, simd_*.h what an instruction set can do with a
 * block, kernel_*.c one instance each.  A kernel only takes short cuts: what
 * it does not handle it leaves to the automaton, so that results never depend
 * on the level.
 */
#ifndef PP_KERNEL_H
#define PP_KERNEL_H

#include "../dialect.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef enum PpSimd
{
	PP_SIMD_SCALAR,
	PP_SIMD_SSE2,
	PP_SIMD_AVX2,
	PP_SIMD_AVX512,
	PP_SIMD_NEON,
	PP_SIMD_LEVELS
} PpSimd;

/*
 * Where a structure kernel stands: between two bytes of a text, in a batch of
 * records of width fields.
 */
typedef struct PpStructure
{
	/* constant */
	uint8_t		delimiter;
	uint8_t		quote;
	uint8_t		escape;			/* equal to quote if there is none */
	PpEol		eol;
	bool		end_marker;
	uint32_t	width;
	uint32_t	max_records;	/* of the batch */
	uint32_t   *end;			/* list of field ends; NULL: only counted */

	/* moving */
	uint32_t	nends;			/* field ends so far, whole records included */
	uint32_t	first;			/* of them, those of whole records */
	uint32_t	nrecords;		/* whole records */
	uint32_t	record;			/* start of the record that is being read */
	bool		in_quote;
	bool		at_start;		/* no byte of that record was read */
	bool		behind_cr;		/* CRNL: the byte before is an unquoted '\r' */
	bool		quotes;			/* a quote was seen */
} PpStructure;

/* Room that a kernel needs behind the list's last entry, in entries. */
#define PP_STRUCTURE_SLACK	80

/* Room behind an unquoted value, in bytes. */
#define PP_UNQUOTE_SLACK	64

typedef struct PpKernels
{
	PpSimd		level;
	const char *name;

	/*
	 * Goes over whole 64-byte blocks of text[pos .. to) as long as they hold
	 * nothing unusual: an error, an end-of-data marker, the end of the batch.
	 * Answers how far it got; if the last byte is an escape that acts, one byte
	 * less.  NULL: there is no such kernel.
	 */
	uint32_t	(*structure) (PpStructure *st, const uint8_t *text,
							  uint32_t pos, uint32_t to);

	/* As in utf8.h. */
	size_t		(*utf8_valid_prefix) (const uint8_t *s, size_t n);

	/*
	 * A field's value without its quotes, where the escape is the quote: as
	 * pp_unquote(), but may write up to PP_UNQUOTE_SLACK bytes behind it.  The
	 * field may come in pieces, none of which but the last ends with a quote;
	 * *in_quote is the state between them, false at first.
	 */
	uint32_t	(*unquote) (const uint8_t *src, uint32_t n, uint8_t quote,
							bool *in_quote, uint8_t *dst);

	/* The same where the escape is another byte; no piece but the last ends
	 * with it, either. */
	uint32_t	(*unescape) (const uint8_t *src, uint32_t n, uint8_t quote,
							 uint8_t escape, bool *in_quote, uint8_t *dst);

	/*
	 * Converts eight short numbers at a time: the fields that end at
	 * end[row * width], each lead bytes behind the end before it.  Bit i of the
	 * answer: value[i] is done, as bits of a float8 if real, else as an integer.
	 * Done are numbers of at most eight bytes: digits, a minus sign in front
	 * and, if real, one decimal point.  The eight bytes from a field's start on
	 * are read.  NULL: there is no such kernel.
	 */
	uint32_t	(*numbers) (const uint8_t *text, const uint32_t *end, size_t width,
							uint32_t lead, const uint32_t *row, bool real,
							uint64_t *value);

	/*
	 * The same for timestamps without fraction or zone, "YYYY-MM-DD HH:MM:SS":
	 * microseconds since 2000-01-01.  The 19 bytes from a field's start on are
	 * read.  Not done, although valid, is the 29th of February.
	 */
	uint32_t	(*timestamps) (const uint8_t *text, const uint32_t *end, size_t width,
							   uint32_t lead, const uint32_t *row, uint64_t *value);

	/* How often c occurs. */
	uint64_t	(*count_byte) (const uint8_t *s, size_t n, uint8_t c);

	/*
	 * Adds how often a and b occur to *na and *nb; answers whether c occurs.
	 */
	bool		(*survey) (const uint8_t *s, size_t n, uint8_t a, uint8_t b, uint8_t c,
						   uint64_t *na, uint64_t *nb);
} PpKernels;

extern const PpKernels pp_kernels_scalar;
#if defined(__x86_64__)
extern const PpKernels pp_kernels_sse2;
extern const PpKernels pp_kernels_avx2;
extern const PpKernels pp_kernels_avx512;
#elif defined(__aarch64__)
extern const PpKernels pp_kernels_neon;
#endif

/* The kernels of a level; NULL if this processor, or build, lacks it. */
extern const PpKernels *pp_kernels(PpSimd level);

/* The best level here. */
extern const PpKernels *pp_best_kernels(void);

#ifdef __cplusplus
}
#endif

#endif							/* PP_KERNEL_H */

/*
 * src/trie/trie_kernel.h
 *	  The loops of the join engine that are written for each instruction set,
 *	  and the choice among them at run time.
 *
 * One algorithm, many instruction sets: trie_kernel_impl.h holds the
 * algorithms over vectors of 32-bit numbers, each trie_kernel_*.c what an
 * instruction set can do with one.  Results never depend on the level.
 */
#ifndef PP_TRIE_KERNEL_H
#define PP_TRIE_KERNEL_H

#include "../parse/cpu/kernel.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Entries behind a list that kernels may read, or write where they write one. */
#define PP_TRIE_SLACK	16

/* Lists of at most so many entries count as short. */
#define PP_TRIE_SHORT	16

/* How many entries ahead what a list leads to is fetched. */
#define PP_TRIE_AHEAD	8

/* Words of a bit row come in multiples of this. */
#define PP_TRIE_WORDS	8

/* Lists are ascending without duplicates, unless said otherwise. */
typedef struct PpTrieKernels
{
	PpSimd		level;
	const char *name;

	/*
	 * Writes what a and b have in common to out, and whatever up to
	 * PP_TRIE_SLACK entries behind it; answers how many.  out is neither.
	 */
	size_t		(*intersect) (const uint32_t *a, size_t na,
							  const uint32_t *b, size_t nb, uint32_t *out);

	/* The same, only counted. */
	size_t		(*intersect_count) (const uint32_t *a, size_t na,
									const uint32_t *b, size_t nb);

	/*
	 * Of a vertex with a short list in a graph of lists, that of v being
	 * list[start[v]] to list[start[v + 1] - 1]: how many entries of the lists of
	 * its list's entries, list[from] to list[to - 1], are in its list.  Lists
	 * need not be ascending; what is needed soon is fetched, up to entry end.
	 * NULL: looking entries up costs less.
	 */
	size_t		(*short_triangles) (const uint32_t *start, const uint32_t *list,
									uint32_t from, uint32_t to, uint32_t end);

	/* Bits that both rows have; words is a multiple of PP_TRIE_WORDS. */
	uint64_t	(*and_count) (const uint64_t *a, const uint64_t *b, size_t words);

	/* Which those are, ascending; words as before. */
	size_t		(*and_list) (const uint64_t *a, const uint64_t *b, size_t words, uint32_t *out);

	/*
	 * Of a graph with a row of bits for each vertex, at rows[vertex * words]:
	 * the edges from vertices of one set to those of another, both being rows
	 * themselves.  words is at most 4 or a multiple of PP_TRIE_WORDS.
	 */
	uint64_t	(*edges_between) (const uint64_t *rows, size_t words,
								  const uint64_t *from, const uint64_t *to);

	/*
	 * The same, but an edge that heavy has as well counts two, and so does one
	 * to a vertex in twice.  One that would for both reasons, or leads to a
	 * vertex in more, counts one, and so does a heavy one unless twos: then its
	 * beginning is written to odd, of which there are *nodd in the end, each
	 * once.  odd has room for all of from and one entry more.
	 */
	uint64_t	(*doubled_between) (const uint64_t *rows, const uint64_t *heavy, size_t words,
									const uint64_t *from, const uint64_t *to,
									const uint64_t *twice, const uint64_t *more, bool twos,
									uint32_t *odd, size_t *nodd);

	/*
	 * Keys as distances of 32 bits from a base, modulo 2^64; false: one of them
	 * has more, and what is in to is void.
	 */
	bool		(*narrow) (const int64_t *keys, size_t n, uint64_t base, uint32_t *to);
} PpTrieKernels;

extern const PpTrieKernels pp_trie_kernels_scalar;
#if defined(__x86_64__)
extern const PpTrieKernels pp_trie_kernels_sse2;
extern const PpTrieKernels pp_trie_kernels_avx2;
extern const PpTrieKernels pp_trie_kernels_avx512;
#elif defined(__aarch64__)
extern const PpTrieKernels pp_trie_kernels_neon;
#endif

/* The kernels of a level; NULL if this processor, or build, lacks it. */
extern const PpTrieKernels *pp_trie_kernels(PpSimd level);

/* The best level here. */
extern const PpTrieKernels *pp_trie_best_kernels(void);

#ifdef __cplusplus
}
#endif

#endif							/* PP_TRIE_KERNEL_H */

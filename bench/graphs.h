/*
 * bench/graphs.h
 *	  Graphs for programs that measure joins: made by several threads, or read
 *	  from files.
 *
 * A graph is an array of edges, two keys each, that leads from the smaller key
 * to the greater, each edge once.  The same arguments give the same edges,
 * however many threads make them.  Whoever asks frees it with free(); there is
 * no answer without memory, the program ends.
 */
#ifndef BENCH_GRAPHS_H
#define BENCH_GRAPHS_H

#include <stdint.h>

/*
 * Graph500's R-MAT: 2^scale vertices, numbered in an order that tells nothing,
 * and edges_a_vertex edges for each of them, of which those that come again
 * and loops are left out.
 */
extern int64_t *graph_rmat(uint32_t scale, uint32_t edges_a_vertex, uint64_t *nedges);

/*
 * nedges edges between any of nvertices vertices, as likely one as the other,
 * whose keys are 64-bit numbers at random.  Needs nedges <= nvertices *
 * ((nvertices - 1) / 4); *made is how many there are, nedges or a few less.
 */
extern int64_t *graph_uniform(uint64_t nvertices, uint64_t nedges, uint64_t seed,
							  uint64_t *made);

/* Lines "src,dst" of a file, others left out; as they are. */
extern int64_t *graph_read(const char *path, uint64_t *nedges);

/* The same, tidied: from the smaller key to the greater, each once, no loops. */
extern int64_t *graph_read_tidy(const char *path, uint64_t *nedges);

/* Threads that make graphs; 0: as many as there are processors. */
extern void graph_threads(uint32_t n);

#endif							/* BENCH_GRAPHS_H */

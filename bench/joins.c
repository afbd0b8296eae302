/*
 * bench/joins.c
 *	  Times the join engine alone: building from arrays of key pairs, and
 *	  counting or enumerating, on generated graphs or on files of edges.
 *	  Times are those of a clock, as several threads may work.
 */
#define _GNU_SOURCE				/* MADV_HUGEPAGE */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "graphs.h"
#include "trie/join.h"

/* Large pieces in huge pages: page faults are not what is measured. */
static void *
get(void *ctx, size_t size)
{
	void	   *ptr = NULL;

	(void) ctx;
	if (size < (4u << 20))
		return malloc(size);
	if (posix_memalign(&ptr, 2u << 20, size) != 0)
		return NULL;
	madvise(ptr, size, MADV_HUGEPAGE);
	return ptr;
}

static void
put(void *ctx, void *ptr)
{
	(void) ctx;
	free(ptr);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

/* ---------- measuring ---------- */

static const PpJoinAtom triangle[] = {{0, {0, 1}}, {0, {1, 2}}, {0, {0, 2}}};
static const PpJoinAtom cyclic[] = {{0, {0, 1}}, {0, {1, 2}}, {0, {2, 0}}};
static const PpJoinAtom clique[] = {
	{0, {0, 1}}, {0, {1, 2}}, {0, {0, 2}}, {0, {2, 3}}, {0, {0, 3}}, {0, {1, 3}}
};
static const PpJoinAtom walk[] = {{0, {0, 1}}, {0, {1, 2}}, {0, {2, 3}}, {0, {3, 0}}};

static const PpJoinAtom diamond[] = {{0, {0, 1}}, {0, {1, 2}}, {0, {0, 2}}, {0, {1, 3}}, {0, {0, 3}}};
static const PpJoinAtom bow_tie[] = {
	{0, {0, 1}}, {0, {1, 2}}, {0, {0, 2}}, {0, {0, 3}}, {0, {3, 4}}, {0, {0, 4}}
};
static const PpJoinAtom lollipop[] = {
	{0, {0, 1}}, {0, {1, 2}}, {0, {0, 2}}, {0, {2, 3}}, {0, {3, 4}}
};

enum
{
	RUNS = 5
};

#define BATCH	4096

static uint32_t threads = 1;

static int
compare_double(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

/* Medians of building and of joining. */
static void
measure(const char *what, PpJoinQuery *q)
{
	static const char *const name[] = {"auto", "general", "oriented", "wedges"};
	const PpAlloc alloc = {get, put, NULL};
	static int64_t keys[16 * BATCH];
	double		build[RUNS];
	double		join[RUNS];
	uint64_t	answer = 0;
	size_t		peak = 0;
	PpJoinStrategy strategy = PP_JOIN_AUTO;
	const char *dictionary = "";

	for (uint32_t i = 0; i < RUNS; i++)
	{
		PpJoin	   *j;
		PpJoinRun  *run;
		double		begin = now();
		PpJoinStatus status = pp_join_build(q, &alloc, SIZE_MAX, &j);

		build[i] = now() - begin;
		if (status == PP_JOIN_OK)
			status = pp_join_open_threads(j, &alloc, SIZE_MAX, threads, &run);
		answer = 0;
		if (status == PP_JOIN_OK && q->mode == PP_JOIN_COUNT)
		{
			PpCount		count;

			status = pp_join_count(run, &count);
			answer = count.low;
		}
		else if (status == PP_JOIN_OK && q->mode == PP_JOIN_GROUPS)
		{
			static PpCount counts[BATCH];
			size_t		n;

			do
			{
				status = pp_join_groups(run, keys, counts, BATCH, &n);
				for (size_t k = 0; k < n; k++)
					answer += counts[k].low;
			} while (n > 0 && status == PP_JOIN_OK);
		}
		else if (status == PP_JOIN_OK)
		{
			size_t		n;

			do
			{
				status = pp_join_rows(run, keys, NULL, BATCH, &n);
				answer += n;
			} while (n > 0 && status == PP_JOIN_OK);
		}
		join[i] = now() - begin - build[i];
		if (status != PP_JOIN_OK)
		{
			fprintf(stderr, "joins: status %d\n", (int) status);
			exit(1);
		}
		strategy = pp_join_info(j)->strategy;
		dictionary = pp_join_info(j)->dictionary;
		peak = pp_join_info(j)->peak_bytes;
		pp_join_close(run);
		pp_join_free(j);
	}
	qsort(build, RUNS, sizeof(double), compare_double);
	qsort(join, RUNS, sizeof(double), compare_double);
	printf("  %-22s %-8s %-6s %9.1f %9.1f %9.1f %8.1f %16" PRIu64 "\n", what, name[strategy], dictionary,
		   build[RUNS / 2], join[RUNS / 2], build[RUNS / 2] + join[RUNS / 2],
		   (double) peak / (double) q->relations[0].nrows, answer);
	fflush(stdout);
}

static void
measure_graph(const char *name, int64_t *pairs, uint64_t n, const char *queries)
{
	PpJoinRelation e = {pairs, n};

	printf("%s: %" PRIu64 " rows\n", name, n);
	printf("  %-22s %-8s %-6s %9s %9s %9s %8s %16s\n", "query", "strategy", "keys", "build ms",
		   "join ms", "sum ms", "bytes/row", "answer");
	for (; *queries; queries++)
	{
		PpJoinQuery q;

		memset(&q, 0, sizeof(q));
		q.nrelations = 1;
		q.relations = &e;
		q.simd = PP_SIMD_LEVELS;
		q.threads = threads;
		q.atoms = strchr("kKR", *queries) ? clique : *queries == 'w' ? walk :
			*queries == 'c' ? cyclic : triangle;
		q.nvariables = q.atoms == clique || q.atoms == walk ? 4 : 3;
		q.natoms = q.atoms == clique ? 6 : q.nvariables;
		switch (*queries)
		{
			case 't':
				measure("triangles", &q);
				break;
			case 'k':
				measure("4-cliques", &q);
				break;
			case 'w':
				measure("closed 4-walks", &q);
				break;
			case 'T':
				q.strategy = PP_JOIN_GENERAL;
				measure("triangles, general", &q);
				break;
			case 'K':
				q.strategy = PP_JOIN_GENERAL;
				measure("4-cliques, general", &q);
				break;
			case 'r':
				q.mode = PP_JOIN_ROWS;
				measure("triangles as keys", &q);
				break;
			case 'R':
				q.mode = PP_JOIN_ROWS;
				measure("4-cliques as keys", &q);
				break;
			case 'c':
				measure("cyclic triangles", &q);
				break;
			case 'd':
				q.atoms = diamond;
				q.nvariables = 4;
				q.natoms = 5;
				measure("diamonds", &q);
				break;
			case 'b':
				q.atoms = bow_tie;
				q.nvariables = 5;
				q.natoms = 6;
				measure("bow ties", &q);
				break;
			case 'l':
				q.atoms = lollipop;
				q.nvariables = q.natoms = 5;
				measure("lollipops", &q);
				break;
			case 'g':
				q.mode = PP_JOIN_GROUPS;
				measure("triangles by vertex", &q);
				break;
			default:
				fprintf(stderr, "joins: no query '%c'\n", *queries);
				exit(2);
		}
	}
	free(pairs);
}

int
main(int argc, char **argv)
{
	if (getenv("THREADS"))
		threads = (uint32_t) strtoul(getenv("THREADS"), NULL, 10);
	if (argc < 3)
	{
		fprintf(stderr, "usage: joins QUERIES GRAPH...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++)
	{
		uint64_t	n;
		uint64_t	nv;
		uint64_t	ne;
		uint64_t	seed;
		uint32_t	scale;
		int64_t    *pairs;

		if (sscanf(argv[i], "rmat:%" SCNu32, &scale) == 1)
			pairs = graph_rmat(scale, 16, &n);
		else if (sscanf(argv[i], "random:%" SCNu64 ":%" SCNu64 ":%" SCNu64, &nv, &ne, &seed) == 3)
			pairs = graph_uniform(nv, ne, seed, &n);
		else
			pairs = graph_read(argv[i], &n);
		measure_graph(argv[i], pairs, n, argv[1]);
	}
	return 0;
}

/*
 * bench/device_join.c
 *	  Measures joins on a device, without a server: every algorithm on random
 *	  graphs as in the publication, on skewed ones and on those of a folder,
 *	  beside the CPU's engine; one table of everything at the end.
 *
 * usage: device_join --library FILE [--limit SECONDS] [--rounds N] [--threads N]
 *		  [--graphs DIR] [--tsv FILE] [--name TEXT] [--tiny]
 *		  [--only GRAPH QUERY ALGORITHM]
 *
 * (Wu, Zinn, Aref, Yalamanchili, ADMS 2014: keys are random 64-bit numbers;
 * triangles in graphs with as many vertices as edges, cliques of four in such
 * with edges^(3/4) vertices; 10 thousand to 100 million edges.)
 *
 * Rates are of the graph's edges, each of which is stored once:
 *
 *		join		by the time of the kernels that join
 *		device		the same, numbering keys and building tries included
 *		end to end	from pairs of keys in pinned memory of the host to the answer;
 *					the rows "pageable" are by the last algorithm, but the baseline,
 *					from memory that is not pinned, by all threads and by one
 *		upload		by the time until all pairs are on the device
 *
 * Beside the joins, the copy to pinned memory that precedes the bus where pairs
 * are pageable, by itself: rows as distances of 32 bits, and as they are.
 *
 * Every answer is compared with that of the CPU's engine; a difference fails
 * the run.  Nothing is begun once the time is used up: rows that are left out
 * are counted.
 *
 * Must not: know the server or any of the library's inner workings.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../src/trie/trie_kernel.h"
#include "../src/trie/trie_threads.h"
#include "device_frame.h"
#include "graphs.h"

#define MAX_ROWS	400
#define MAX_FILES	32

static uint32_t threads = 1;
static const char *only[3];		/* graph, query, algorithm; NULL: all */

typedef struct Query
{
	const char *name;
	uint32_t	nvariables;
	uint32_t	natoms;
	PpJoinAtom	atoms[6];
} Query;

static const Query queries[] = {
	{"triangles", 3, 3, {{0, {0, 1}}, {0, {1, 2}}, {0, {0, 2}}}},
	{"4-cliques", 4, 6, {{0, {0, 1}}, {0, {1, 2}}, {0, {0, 2}}, {0, {2, 3}}, {0, {0, 3}}, {0, {1, 3}}}},
	{"4-cycles", 4, 4, {{0, {0, 1}}, {0, {1, 2}}, {0, {3, 2}}, {0, {0, 3}}}},
};

enum
{
	TRIANGLES,
	CLIQUES,
	CYCLES
};

static const char *const algorithm_name[PP_CUDA_JOIN_ALGORITHMS] = {
	[PP_CUDA_JOIN_AUTO] = "auto",
	[PP_CUDA_JOIN_LFTJ] = "lftj",
	[PP_CUDA_JOIN_OPTIMIZED] = "optimized",
	[PP_CUDA_JOIN_DEGREE] = "degree",
	[PP_CUDA_JOIN_PAIRWISE] = "pairwise",
};

typedef struct Row
{
	char		graph[64];
	const char *query;
	const char *algorithm;
	uint64_t	edges;
	double		seconds;		/* in all */
	PpCudaJoinInfo info;
	double		cpu_build;
	uint64_t	answer;
	char		note[96];
} Row;

static Row	rows[MAX_ROWS];
static uint32_t nrows;

static void *
get(void *ctx, size_t size)
{
	(void) ctx;
	return malloc(size == 0 ? 1 : size);
}

static void
put(void *ctx, void *p)
{
	(void) ctx;
	free(p);
}

static const PpAlloc heap = {get, put, NULL};

/* ---------- one graph ---------- */

typedef struct Graph
{
	char		name[64];
	PpJoinRelation relation;
	int64_t    *pinned;			/* the same pairs; NULL: there was no room */
} Graph;

static PpJoinQuery
make_query(const Graph *graph, const Query *q)
{
	PpJoinQuery query;

	memset(&query, 0, sizeof(query));
	query.nvariables = q->nvariables;
	query.natoms = q->natoms;
	query.atoms = q->atoms;
	query.nrelations = 1;
	query.relations = &graph->relation;
	query.simd = PP_SIMD_LEVELS;
	query.threads = threads;
	return query;
}

static Row *
new_row(const Graph *graph, const Query *q, const char *algorithm)
{
	Row		   *row;

	if (only[0] && (strcmp(only[0], graph->name) != 0 || strcmp(only[1], q->name) != 0 ||
					strcmp(only[2], algorithm) != 0))
		return NULL;
	if (now() > deadline || nrows == MAX_ROWS)
	{
		left_out++;
		return NULL;
	}
	row = &rows[nrows++];
	memset(row, 0, sizeof(*row));
	snprintf(row->graph, sizeof(row->graph), "%s", graph->name);
	row->query = q->name;
	row->algorithm = algorithm;
	row->edges = graph->relation.nrows;
	return row;
}

static int
by_seconds(const void *a, const void *b)
{
	const double x = ((const Row *) a)->seconds;
	const double y = ((const Row *) b)->seconds;

	return x < y ? -1 : x > y;
}

static bool
on_cpu(const PpJoinQuery *query, Row *row)
{
	PpJoin	   *join;
	PpCount		count;
	uint64_t	seeks;
	double		before = now();
	PpJoinStatus status = pp_join_build(query, &heap, SIZE_MAX, &join);

	row->cpu_build = now() - before;
	if (status == PP_JOIN_OK)
	{
		status = pp_join_count_threads(join, &heap, SIZE_MAX, threads, &count, &seeks);
		row->answer = count.low;
		pp_join_free(join);
	}
	row->seconds = now() - before;
	if (status != PP_JOIN_OK)
		snprintf(row->note, sizeof(row->note), "status %d", (int) status);
	return status == PP_JOIN_OK;
}

static bool
on_device(const PpJoinQuery *query, PpCudaJoinAlgorithm algorithm, Row *row)
{
	PpCudaJoin *join;
	PpCount		count = {0, 0};
	double		before = now();
	PpJoinStatus status = library->join->build(query, NULL, algorithm, &heap, SIZE_MAX, &join);

	if (status == PP_JOIN_OK)
		status = library->join->count(join, &count);
	row->seconds = now() - before;
	if (status == PP_JOIN_OK)
		library->join->info(join, &row->info);
	row->answer = count.low;
	library->join->free(join);
	if (status == PP_JOIN_OK)
		return true;
	snprintf(row->note, sizeof(row->note), "%s",
			 status == PP_JOIN_DEVICE_FAILED ? library->error() :
			 status == PP_JOIN_NO_FIT ? "too little memory" :
			 status == PP_JOIN_HANDED_OVER ? "left to the CPU" : "failed");
	if (status == PP_JOIN_DEVICE_FAILED && library->failure() == PP_CUDA_BROKEN)
		die("%s, %s, %s: %s", row->graph, row->query, row->algorithm, row->note);
	return false;
}

/* The median of some runs; the first one warms up, unless it is long.  pageable:
 * the row's name if keys are to come from such memory. */
static void
measure(const Graph *graph, uint32_t q, PpCudaJoinAlgorithm algorithm, const char *pageable,
		uint32_t nthreads, const uint64_t *expected)
{
	static Row	runs[MAX_ROUNDS + 1];
	const PpJoinRelation relation = {
		!pageable && graph->pinned ? graph->pinned : graph->relation.pairs, graph->relation.nrows
	};
	PpJoinQuery query = make_query(graph, &queries[q]);
	Row		   *row = new_row(graph, &queries[q], pageable ? pageable : algorithm_name[algorithm]);
	uint32_t	n = 0;

	if (row == NULL)
		return;
	query.relations = &relation;
	query.threads = nthreads;
	for (uint32_t i = 0; i <= rounds; i++)
	{
		Row		   *run = &runs[n];

		*run = *row;
		if (!on_device(&query, algorithm, run))
		{
			*row = *run;
			return;
		}
		if (run->info.algorithm != algorithm)
			snprintf(run->note, sizeof(run->note), "went by %s",
					 algorithm_name[run->info.algorithm]);
		if (expected && run->answer != *expected)
		{
			differences++;
			snprintf(run->note, sizeof(run->note), "DIFFERENT ANSWER");
			fprintf(stderr, "DIFFERENT ANSWER: %s, %s, %s: %" PRIu64 " instead of %" PRIu64 "\n",
					row->graph, row->query, row->algorithm, run->answer, *expected);
		}
		n += i > 0 || run->seconds > 1;
		if (run->seconds > 1 || (n > 0 && now() > deadline))
			break;
	}
	qsort(runs, n, sizeof(Row), by_seconds);
	*row = runs[n / 2];
	fprintf(stderr, "%s, %s, %s: %.4f s\n", row->graph, row->query, row->algorithm, row->seconds);
}

/* By all algorithms, and the CPU's engine; baseline: the pairwise one as well. */
static void
measure_graph(const Graph *graph, uint32_t q, bool baseline)
{
	const PpJoinQuery query = make_query(graph, &queries[q]);
	const PpCudaJoinAlgorithm last = q == CYCLES ? PP_CUDA_JOIN_OPTIMIZED : PP_CUDA_JOIN_DEGREE;
	uint64_t	answer = 0;
	bool		known = false;
	Row		   *row = new_row(graph, &queries[q], "cpu");

	if (row)
	{
		known = on_cpu(&query, row);
		answer = row->answer;
		fprintf(stderr, "%s, %s, cpu: %.4f s\n", row->graph, row->query, row->seconds);
	}
	for (uint32_t a = PP_CUDA_JOIN_LFTJ; a < PP_CUDA_JOIN_ALGORITHMS; a++)
		if ((a != PP_CUDA_JOIN_DEGREE || q != CYCLES) && (a != PP_CUDA_JOIN_PAIRWISE || baseline))
			measure(graph, q, (PpCudaJoinAlgorithm) a, NULL, threads, known ? &answer : NULL);
	measure(graph, q, last, "pageable", threads, known ? &answer : NULL);
	measure(graph, q, last, "pageable, 1 thread", 1, known ? &answer : NULL);
}

static void
measure_and_drop(const char *name, int64_t *pairs, uint64_t n, const uint32_t *q, uint32_t nq,
				 bool baseline)
{
	Graph		graph;

	snprintf(graph.name, sizeof(graph.name), "%s", name);
	graph.relation.pairs = pairs;
	graph.relation.nrows = n;
	graph.pinned = library->pinned_alloc(2 * n * sizeof(int64_t));
	if (graph.pinned)
		memcpy(graph.pinned, pairs, 2 * n * sizeof(int64_t));
	for (uint32_t i = 0; i < nq; i++)
		measure_graph(&graph, q[i], baseline);
	library->pinned_free(graph.pinned);
	free(pairs);
}

/* ---------- all of them ---------- */

/* Is there time for a graph, and is it wanted? */
static bool
time_left(const char *graph, uint32_t nrows_then)
{
	if (only[0] && strcmp(only[0], graph) != 0)
		return false;
	if (now() <= deadline)
		return true;
	left_out += nrows_then;
	return false;
}

static void
measure_random(uint64_t nedges)
{
	for (uint32_t q = TRIANGLES; q <= CLIQUES; q++)
	{
		uint64_t	nvertices = nedges;
		uint64_t	n;
		int64_t    *pairs;
		char		name[64];

		if (q == CLIQUES)
		{
			/* edges^(3/4), by whole numbers */
			nvertices = 1;
			while (__extension__ (unsigned __int128) nvertices * nvertices * nvertices * nvertices <
				   __extension__ (unsigned __int128) nedges * nedges * nedges)
				nvertices += nvertices / 1000 + 1;
		}
		snprintf(name, sizeof(name), "random %" PRIu64 "K", nedges / 1000);
		if (!time_left(name, 7))
			continue;
		pairs = graph_uniform(nvertices, nedges, q + 1, &n);
		measure_and_drop(name, pairs, n, &q, 1, true);
	}
}

static void
measure_rmat(uint32_t scale)
{
	static const uint32_t all[] = {TRIANGLES, CLIQUES, CYCLES};
	uint64_t	n;
	int64_t    *pairs;
	char		name[64];

	snprintf(name, sizeof(name), "rmat %u", scale);
	if (!time_left(name, scale <= 16 ? 20 : 6))
		return;
	pairs = graph_rmat(scale, 16, &n);
	/* cliques and cycles of large skewed graphs take the time of everything else */
	measure_and_drop(name, pairs, n, all, scale <= 16 ? 3 : 1, scale <= 16);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

static void
measure_folder(const char *folder)
{
	static const uint32_t all[] = {TRIANGLES, CLIQUES};
	DIR		   *dir = opendir(folder);
	const struct dirent *entry;
	char	   *name[MAX_FILES];
	uint32_t	n = 0;

	if (dir == NULL)
		die("cannot read %s", folder);
	while ((entry = readdir(dir)) != NULL && n < MAX_FILES)
	{
		size_t		len = strlen(entry->d_name);

		if (len > 4 && strcmp(entry->d_name + len - 4, ".csv") == 0)
			name[n++] = strdup(entry->d_name);
	}
	closedir(dir);
	qsort(name, n, sizeof(char *), by_name);
	for (uint32_t i = 0; i < n; i++)
	{
		char		path[4096];
		uint64_t	nedges;
		int64_t    *pairs;

		snprintf(path, sizeof(path), "%s/%s", folder, name[i]);
		name[i][strlen(name[i]) - 4] = '\0';
		if (time_left(name[i], 12))
		{
			pairs = graph_read_tidy(path, &nedges);
			measure_and_drop(name[i], pairs, nedges, all, 2, false);
		}
		free(name[i]);
	}
}

static void
measure_all(const char *folder)
{
	/* what the targets are of comes first */
	static const uint64_t size[] = {10000000, 1000000, 100000, 10000, 100000000, 30000000, 3000000, 300000, 30000};
	static const uint32_t scale[] = {16, 20, 22, 18, 24};

	if (tiny)
	{
		measure_random(400);
		measure_rmat(6);
		if (folder)
			measure_folder(folder);
		return;
	}
	measure_random(size[0]);
	measure_rmat(scale[0]);
	if (folder)
		measure_folder(folder);
	measure_rmat(scale[1]);
	for (uint32_t i = 1; i < sizeof(size) / sizeof(size[0]); i++)
		measure_random(size[i]);
	for (uint32_t i = 2; i < sizeof(scale) / sizeof(scale[0]); i++)
		measure_rmat(scale[i]);
}

/* ---------- what is shown ---------- */

static double
rate(uint64_t edges, double seconds)
{
	return seconds > 0 ? (double) edges / seconds / 1e6 : 0;
}

static void
print_table(void)
{
	printf("| graph | edges | query | algorithm | s | M edges/s end to end | on the device | joining | H2D ms"
		   " | M rows/s upload | build ms | join ms | G seeks/s | device bytes/edge | answer | |\n"
		   "|---|---:|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|\n");
	for (uint32_t i = 0; i < nrows; i++)
	{
		const Row  *r = &rows[i];
		const PpCudaJoinInfo *info = &r->info;

		printf("| %s | %" PRIu64 " | %s | %s | %.4f | %.2f |", r->graph, r->edges, r->query,
			   r->algorithm, r->seconds, rate(r->edges, r->seconds));
		if (strcmp(r->algorithm, "cpu") == 0)
			printf(" | %.2f | | | %.2f | %.2f | | | %" PRIu64 " | %s |\n",
				   rate(r->edges, r->seconds - r->cpu_build), r->cpu_build * 1e3,
				   (r->seconds - r->cpu_build) * 1e3, r->answer, r->note);
		else
			printf(" %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.3f | %.1f | %" PRIu64 " | %s |\n",
				   rate(r->edges, info->build_seconds + info->join_seconds),
				   rate(r->edges, info->join_seconds), info->h2d_seconds * 1e3,
				   rate(r->edges, info->h2d_seconds), info->build_seconds * 1e3, info->join_seconds * 1e3,
				   info->join_seconds > 0 ? (double) info->seeks / info->join_seconds / 1e9 : 0,
				   (double) info->peak_device_bytes / (double) r->edges, r->answer, r->note);
	}
}

/* ---------- the host's copy ---------- */

/* Bytes of a piece, of which each thread has two in turn. */
#define COPY_BYTES	((uint64_t) 512 << 10)
#define COPY_ROUNDS	9

typedef struct Copying
{
	const int64_t *pairs;
	uint64_t	nrows;
	uint64_t	step;			/* rows of a piece */
	bool		narrow;
	uint8_t    *to;
	uint64_t	next;
} Copying;

static void
copy_pieces(void *ctx, uint32_t member)
{
	const PpTrieKernels *kernels = pp_trie_best_kernels();
	Copying    *c = ctx;
	uint64_t	from;
	uint64_t	n;

	for (uint32_t i = 0; (from = __atomic_fetch_add(&c->next, c->step, __ATOMIC_RELAXED)) < c->nrows; i++)
	{
		uint8_t    *to = c->to + (2 * member + i % 2) * COPY_BYTES;

		n = c->nrows - from < c->step ? c->nrows - from : c->step;
		if (!c->narrow)
			memcpy(to, c->pairs + 2 * from, n * 16);
		else if (!kernels->narrow(c->pairs + 2 * from, 2 * n, 0, (uint32_t *) to))
			die("keys of the copy are not narrow");
	}
}

static int
by_size(const void *a, const void *b)
{
	const double x = *(const double *) a;
	const double y = *(const double *) b;

	return x < y ? -1 : x > y;
}

/* Rows a second of so many threads, which are there already: a median. */
static double
copy_rate(PpTeam *team, uint32_t members, Copying *c, bool narrow)
{
	double		seconds[COPY_ROUNDS];

	c->narrow = narrow;
	c->step = COPY_BYTES / (narrow ? 8 : 16);
	for (uint32_t i = 0; i < COPY_ROUNDS; i++)
	{
		const double before = now();

		c->next = 0;
		pp_team_run(team, members, copy_pieces, c);
		seconds[i] = now() - before;
	}
	qsort(seconds, COPY_ROUNDS, sizeof(double), by_size);
	return (double) c->nrows / seconds[COPY_ROUNDS / 2];
}

static void
measure_copy(void)
{
	Copying		c = {.nrows = tiny ? 100000 : 16000000};
	int64_t    *pairs = malloc(2 * c.nrows * sizeof(int64_t));
	PpTeam		team;
	uint32_t	most;

	pp_team_begin(&team, threads, NULL, NULL);
	most = pp_team_start(&team, threads);
	c.to = library->pinned_alloc(2 * most * COPY_BYTES);
	if (pairs == NULL || c.to == NULL)
		die("no memory for the copy");
	for (uint64_t i = 0; i < 2 * c.nrows; i++)
		pairs[i] = (int64_t) (i * 2654435761u % 4000000000u);
	c.pairs = pairs;
	printf("| threads that copy to pinned memory | M rows/s as distances | as they are |\n|---:|---:|---:|\n");
	for (uint32_t n = 1;; n = 2 * n < most ? 2 * n : most)
	{
		printf("| %u | %.0f | %.0f |\n", n, copy_rate(&team, n, &c, true) / 1e6,
			   copy_rate(&team, n, &c, false) / 1e6);
		if (n == most)
			break;
	}
	printf("\n");
	pp_team_end(&team);
	library->pinned_free(c.to);
	free(pairs);
}

static void
write_tsv(const char *path, const char *name)
{
	FILE	   *f = fopen(path, "w");

	if (f == NULL)
		die("cannot write %s", path);
	fprintf(f, "# device\t%s\n# processors\t%u\n", name, threads);
	fprintf(f, "graph\tedges\tquery\talgorithm\tseconds\th2d\tbuild\tjoin\tseeks\tdevice_bytes\tanswer\tnote\n");
	for (uint32_t i = 0; i < nrows; i++)
	{
		const Row  *r = &rows[i];
		const bool	cpu = strcmp(r->algorithm, "cpu") == 0;

		fprintf(f, "%s\t%" PRIu64 "\t%s\t%s\t%.9f\t%.9f\t%.9f\t%.9f\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\n",
				r->graph, r->edges, r->query, r->algorithm, r->seconds, r->info.h2d_seconds,
				cpu ? r->cpu_build : r->info.build_seconds,
				cpu ? r->seconds - r->cpu_build : r->info.join_seconds, r->info.seeks,
				r->info.peak_device_bytes, r->answer, r->note);
	}
	if (fclose(f) != 0)
		die("cannot write %s", path);
}

int
main(int argc, char **argv)
{
	FrameOptions options = {.name = "", .limit = 120};
	const char *folder = NULL;
	PpCudaDevice device;
	const char *message = NULL;

	rounds = 3;
	threads = (uint32_t) sysconf(_SC_NPROCESSORS_ONLN);
	for (int i = 1; i < argc; i++)
	{
		if (strcmp(argv[i], "--only") == 0 && i + 3 < argc)
		{
			for (int k = 0; k < 3; k++)
				only[k] = argv[++i];
		}
		else if (frame_option(&options, argc, argv, &i))
			continue;
		else if (strcmp(argv[i], "--threads") == 0)
			threads = (uint32_t) strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--graphs") == 0)
			folder = argv[++i];
		else
			die("unknown option %s", argv[i]);
	}
	frame_load(&options);
	if (library->join == NULL)
		die("the device library has no joins");
	if (!frame_start(&device, &message))
		die("%s", message);

	if (!only[0])
		measure_copy();
	measure_all(folder);

	print_table();
	if (left_out > 0)
		printf("\n%u rows left out, as the time was used up\n", left_out);
	printf("\nThe CPU's rows are of %u threads.\n", threads);
	if (options.tsv)
		write_tsv(options.tsv, options.name[0] ? options.name : device.name);
	library->stop();
	return differences > 0;
}

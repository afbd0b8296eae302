/*
 * test/unit/trie_graphs_test.c
 *	  The join engine on real graphs whose counts are known from independent
 *	  programs.  PP_GRAPHS names their folder; what is not there is skipped,
 *	  and says so.
 */
#define _POSIX_C_SOURCE 200809L	/* popen */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trie_query.h"

typedef struct Graph
{
	const char *file;
	uint64_t	transitive;		/* of the rows as they are */
	uint64_t	cyclic;
	uint64_t	triangles;		/* of the undirected simple graph */
	uint64_t	four_cliques;
	uint64_t	four_cycles;
} Graph;

static const Graph graphs[] = {
	{"karate.csv", 270, 270, 45, 11, 154},
	{"email-Eu-core.csv.gz", 432801, 395667, 105461, 423750, 4647873},
	{"as-caida20071105.csv.gz", 36365, 0, 36365, 53875, 2287349},
	{"facebook-combined.csv.gz", 1612010, 0, 1612010, 30004668, 144023053},
	{"p2p-Gnutella31.csv.gz", 1967, 171, 2024, 16, 42466},
	{"email-Enron.csv.gz", 727044, 0, 727044, 2341639, 36262229},
	{"ca-AstroPh-cc1.csv.gz", 1353159, 59, 1350014, 9576850, 44905820}
};

static int
compare_pairs(const void *a, const void *b)
{
	const int64_t *x = a;
	const int64_t *y = b;

	return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : x[1] < y[1] ? -1 : x[1] > y[1];
}

static void
test_graphs(void)
{
	static const PpJoinAtom transitive[] = {{0, {0, 1}}, {0, {1, 2}}, {0, {0, 2}}};
	static const PpJoinAtom cyclic[] = {{0, {0, 1}}, {0, {1, 2}}, {0, {2, 0}}};
	static const PpJoinAtom walk[] = {{0, {0, 1}}, {0, {1, 2}}, {0, {2, 3}}, {0, {3, 0}}};
	static const PpJoinAtom clique[] = {
		{0, {0, 1}}, {0, {1, 2}}, {0, {0, 2}}, {0, {2, 3}}, {0, {0, 3}}, {0, {1, 3}}
	};
	const char *folder = getenv("PP_GRAPHS");
	char		path[4096];

	if (folder == NULL)
	{
		const char *slash = strrchr(__FILE__, '/');

		snprintf(path, sizeof(path), "%.*s/../../../shared/graphs",
				 slash ? (int) (slash - __FILE__) : 1, slash ? __FILE__ : ".");
		folder = path;
	}
	for (uint32_t g = 0; g < sizeof(graphs) / sizeof(graphs[0]); g++)
	{
		const Graph *graph = &graphs[g];
		char		command[5000];
		FILE	   *in;
		int64_t    *pairs = NULL;
		uint64_t	n = 0;
		uint64_t	room = 0;
		uint64_t	nsimple = 0;
		Uint128		degrees = 0;
		Uint128		squares = 0;
		char		line[200];

		/* a run of few cases is a slow one, emulated perhaps */
		if (g >= 2 && unit_iterations(100) < 10)
			break;
		snprintf(command, sizeof(command), "%s/%s", folder, graph->file);
		in = fopen(command, "r");
		if (in == NULL)
		{
			printf("skipped: no %s\n", command);
			continue;
		}
		fclose(in);
		snprintf(command, sizeof(command), "gzip -dcf '%s/%s'", folder, graph->file);
		in = popen(command, "r");
		if (in == NULL)
			abort();
		while (fgets(line, sizeof(line), in))
		{
			if (n == room)
			{
				room = 2 * room + 1000;
				pairs = realloc(pairs, 4 * room * sizeof(int64_t));
				if (pairs == NULL)
					abort();
			}
			if (sscanf(line, "%" SCNd64 ",%" SCNd64, &pairs[2 * n], &pairs[2 * n + 1]) == 2)
				n++;
		}
		unit_case("graph %s", graph->file);
		EXPECT(pclose(in) == 0 && n > 100, "not read");
		for (uint32_t q = 0; q < 8; q++)
		{
			PpJoinRelation e;
			PpJoinQuery query;
			Counted		got;
			Uint128		want;

			if (q == 2)
			{
				/* from here on undirected: both directions of each edge, once */
				for (uint64_t i = 0; i < n; i++)
				{
					pairs[2 * (n + i)] = pairs[2 * i + 1];
					pairs[2 * (n + i) + 1] = pairs[2 * i];
				}
				qsort(pairs, 2 * n, 2 * sizeof(int64_t), compare_pairs);
				for (uint64_t i = 0; i < 2 * n; i++)
				{
					int64_t		a = pairs[2 * i];
					int64_t		b = pairs[2 * i + 1];

					if (a == b || (nsimple > 0 && pairs[2 * nsimple - 2] == a && pairs[2 * nsimple - 1] == b))
						continue;
					pairs[2 * nsimple] = a;
					pairs[2 * nsimple++ + 1] = b;
				}
				for (uint64_t i = 0, from = 0; i <= nsimple; i++)
					if (i == nsimple || pairs[2 * i] != pairs[2 * from])
					{
						degrees += i - from;
						squares += (Uint128) (i - from) * (i - from);
						from = i;
					}
			}
			e.pairs = pairs;
			e.nrows = q < 2 ? n : nsimple;
			memset(&query, 0, sizeof(query));
			query.nrelations = 1;
			query.relations = &e;
			query.simd = PP_SIMD_LEVELS;
			switch (q)
			{
				case 0:
				case 1:
				case 2:
				case 3:
					query.atoms = q == 1 || q == 3 ? cyclic : transitive;
					query.nvariables = query.natoms = 3;
					want = q == 0 ? graph->transitive : q == 1 ? graph->cyclic :
						6 * (Uint128) graph->triangles;
					break;
				case 4:
				case 5:
					query.atoms = clique;
					query.nvariables = 4;
					query.natoms = 6;
					want = 24 * (Uint128) graph->four_cliques;
					break;
				default:
					/* closed walks: round cycles, and there and back twice */
					query.atoms = walk;
					query.nvariables = query.natoms = 4;
					want = 8 * (Uint128) graph->four_cycles + 2 * squares - degrees;
			}
			query.strategy = q == 3 || q == 5 || q == 7 ? PP_JOIN_GENERAL : PP_JOIN_AUTO;
			/* what would take too long without short cuts is done on small graphs */
			if ((q == 5 || q == 7) && nsimple > 60000)
				continue;
			query.threads = q % 3;
			EXPECT(count_query(&query, 1 - q % 2, &got) == PP_JOIN_OK, "query %u failed", q);
			EXPECT(got.count == want, "query %u, %s: %" PRIu64 ", not %" PRIu64, q,
				   strategy_name[got.strategy], (uint64_t) got.count, (uint64_t) want);
			if (q < 2 || (q == 4 && nsimple < 100000))
				check_modes(&query, want);
		}
		free(pairs);
	}
}

/* A graph that is always there: all edges among n vertices. */
static void
test_complete(void)
{
	enum
	{
		N = 40
	};
	static int64_t pairs[2 * N * N];

	for (uint32_t k = 3; k <= 6; k++)
		for (uint32_t both = 0; both < 2; both++)
		{
			PpJoinAtom	atoms[15];
			PpJoinRelation e = {pairs, 0};
			PpJoinQuery query;
			Counted		got;
			Uint128		want = 1;

			memset(&query, 0, sizeof(query));
			query.nvariables = k;
			query.nrelations = 1;
			query.atoms = atoms;
			query.relations = &e;
			query.simd = PP_SIMD_LEVELS;
			for (uint32_t x = 0; x < k; x++)
				for (uint32_t y = x + 1; y < k; y++)
				{
					atoms[query.natoms].relation = 0;
					atoms[query.natoms].variable[0] = x;
					atoms[query.natoms++].variable[1] = y;
				}
			for (uint32_t a = 0; a < N; a++)
				for (uint32_t b = 0; b < N; b++)
					if (a < b || (both && a != b))
					{
						pairs[2 * e.nrows] = a;
						pairs[2 * e.nrows++ + 1] = b;
					}
			/* ordered choices of k vertices, or choices */
			for (uint32_t i = 0; i < k; i++)
				want = both ? want * (N - i) : want * (N - i) / (i + 1);
			unit_case("%u-cliques of a complete graph%s", k, both ? ", both directions" : "");
			EXPECT(count_query(&query, 3, &got) == PP_JOIN_OK, "failed");
			EXPECT(got.count == want, "%" PRIu64 ", not %" PRIu64, (uint64_t) got.count, (uint64_t) want);
			EXPECT(got.strategy == PP_JOIN_ORIENTED, "%s", strategy_name[got.strategy]);
		}
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "trie_graphs_test");
	test_complete();
	test_graphs();
	return unit_end();
}

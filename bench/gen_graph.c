/*
 * bench/gen_graph.c
 *	  Writes graphs as CSV, a header and a line "src,dst" for each edge, src <
 *	  dst, each edge once, in order.
 *
 * The same arguments give the same bytes.  "rmat" makes skewed graphs as the
 * Graph500 does (0.57, 0.19, 0.19), with permuted numbers of vertices; "rand"
 * draws ends evenly among vertices whose ids are random 63-bit numbers.
 *
 * usage: gen_graph rmat SCALE EDGES_A_VERTEX SEED
 *		  gen_graph rand VERTICES EDGES SEED
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Edge
{
	uint64_t	src;
	uint64_t	dst;
} Edge;

static uint64_t random_state;

/* splitmix64 */
static uint64_t
random_bits(void)
{
	uint64_t	z = (random_state += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static int
compare(const void *a, const void *b)
{
	const Edge *x = a;
	const Edge *y = b;

	if (x->src != y->src)
		return x->src < y->src ? -1 : 1;
	return x->dst < y->dst ? -1 : x->dst > y->dst;
}

static void *
must(void *ptr)
{
	if (ptr == NULL)
	{
		fprintf(stderr, "gen_graph: out of memory\n");
		exit(1);
	}
	return ptr;
}

int
main(int argc, char **argv)
{
	int			rmat;
	uint64_t	vertices,
				wanted;
	uint64_t   *id;
	Edge	   *edges;
	size_t		n = 0,
				kept = 0;

	if (argc != 5 || (strcmp(argv[1], "rmat") != 0 && strcmp(argv[1], "rand") != 0))
	{
		fprintf(stderr, "usage: gen_graph rmat SCALE EDGES_A_VERTEX SEED | rand VERTICES EDGES SEED\n");
		return 2;
	}
	rmat = strcmp(argv[1], "rmat") == 0;
	vertices = strtoull(argv[2], NULL, 10);
	wanted = strtoull(argv[3], NULL, 10);
	random_state = strtoull(argv[4], NULL, 10);
	if (rmat)
	{
		vertices = UINT64_C(1) << vertices;
		wanted *= vertices;
	}
	id = must(malloc(vertices * sizeof(uint64_t)));
	edges = must(malloc(wanted * sizeof(Edge)));
	for (uint64_t v = 0; v < vertices; v++)
		id[v] = rmat ? v : random_bits() >> 1;
	for (uint64_t v = vertices - 1; rmat && v > 0; v--)
	{
		uint64_t	w = random_bits() % (v + 1);
		uint64_t	swap = id[v];

		id[v] = id[w];
		id[w] = swap;
	}
	for (uint64_t made = 0; made < wanted;)
	{
		uint64_t	a = 0,
					b = 0;

		if (rmat)
		{
			made++;
			for (uint64_t bit = 1; bit < vertices; bit <<= 1)
			{
				double		u = (double) (random_bits() >> 11) * (1.0 / 9007199254740992.0);

				a = a << 1 | (u >= 0.76);
				b = b << 1 | ((u >= 0.57 && u < 0.76) || u >= 0.95);
			}
		}
		else
		{
			a = random_bits() % vertices;
			b = random_bits() % vertices;
		}
		a = id[a];
		b = id[b];
		if (a == b)
			continue;
		if (!rmat)
			made++;
		edges[n].src = a < b ? a : b;
		edges[n++].dst = a < b ? b : a;
	}
	qsort(edges, n, sizeof(Edge), compare);
	printf("src,dst\n");
	for (size_t i = 0; i < n; i++)
	{
		if (i > 0 && compare(&edges[i - 1], &edges[i]) == 0)
			continue;
		printf("%" PRIu64 ",%" PRIu64 "\n", edges[i].src, edges[i].dst);
		kept++;
	}
	fprintf(stderr, "%zu edges\n", kept);
	free(id);
	free(edges);
	return 0;
}

/*
 * bench/graphs.c
 *	  Makes graphs with threads: each makes stretches of the edges, with random
 *	  numbers of the stretch's own, and those that come again are found by
 *	  sorting buckets.
 */
#define _GNU_SOURCE

#include "graphs.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STRETCH		65536u		/* edges, or vertices, of one seed */
#define BUCKETS		1024u
#define MOST_THREADS 64u

static uint32_t wanted;

void
graph_threads(uint32_t n)
{
	wanted = n;
}

static void *
must(void *ptr)
{
	if (ptr == NULL)
	{
		fprintf(stderr, "out of memory for a graph\n");
		exit(1);
	}
	return ptr;
}

/* splitmix64: a permutation of the 64-bit numbers, and a generator. */
static uint64_t
mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint64_t
next(uint64_t *state)
{
	return mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

/* ---------- threads ---------- */

typedef struct Work
{
	void		(*stretch) (void *arg, uint64_t i);
	void	   *arg;
	uint64_t	n;
	uint64_t	taken;
} Work;

static void *
work_off(void *arg)
{
	Work	   *work = arg;
	uint64_t	i;

	while ((i = __atomic_fetch_add(&work->taken, 1, __ATOMIC_RELAXED)) < work->n)
		work->stretch(work->arg, i);
	return NULL;
}

static void
share(void (*stretch) (void *arg, uint64_t i), void *arg, uint64_t n)
{
	Work		work = {stretch, arg, n, 0};
	pthread_t	thread[MOST_THREADS];
	uint32_t	most = wanted ? wanted : (uint32_t) sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t	started = 0;

	if (most > MOST_THREADS)
		most = MOST_THREADS;
	while (started + 1 < most && started + 1 < n &&
		   pthread_create(&thread[started], NULL, work_off, &work) == 0)
		started++;
	work_off(&work);
	for (uint32_t t = 0; t < started; t++)
		pthread_join(thread[t], NULL);
}

/* ---------- edges that come again ---------- */

typedef struct Edge
{
	int64_t		key[2];
} Edge;

typedef struct Tidying
{
	Edge	   *edge;
	uint64_t	n;
	uint64_t	start[BUCKETS + 1];
	uint64_t	kept[BUCKETS];
} Tidying;

static int
compare(const void *a, const void *b)
{
	const Edge *x = a;
	const Edge *y = b;

	return x->key[0] != y->key[0] ? (x->key[0] < y->key[0] ? -1 : 1) :
		x->key[1] < y->key[1] ? -1 : x->key[1] > y->key[1];
}

static void
sort_bucket(void *arg, uint64_t b)
{
	Tidying    *t = arg;
	Edge	   *edge = t->edge + t->start[b];
	const uint64_t n = t->start[b + 1] - t->start[b];
	uint64_t	m = 0;

	qsort(edge, n, sizeof(Edge), compare);
	for (uint64_t i = 0; i < n; i++)
		if (m == 0 || compare(&edge[i], &edge[m - 1]) != 0)
			edge[m++] = edge[i];
	t->kept[b] = m;
}

static uint32_t
bucket_of(const Edge *edge)
{
	return (uint32_t) (mix((uint64_t) edge->key[0]) % BUCKETS);
}

/* Turns edges, leaves out loops and those that come again; answers how many are left. */
static uint64_t
tidy(int64_t **pairs, uint64_t n)
{
	Tidying    *t = must(calloc(1, sizeof(Tidying)));
	Edge	   *edge = (Edge *) *pairs;
	uint64_t	at[BUCKETS];
	uint64_t	m = 0;

	for (uint64_t i = 0; i < n; i++)
	{
		Edge		e = edge[i];

		if (e.key[0] == e.key[1])
			continue;
		if (e.key[0] > e.key[1])
		{
			e.key[0] = edge[i].key[1];
			e.key[1] = edge[i].key[0];
		}
		edge[m++] = e;
		t->start[bucket_of(&e) + 1]++;
	}
	for (uint32_t b = 0; b < BUCKETS; b++)
	{
		t->start[b + 1] += t->start[b];
		at[b] = t->start[b];
	}
	t->n = m;
	t->edge = must(malloc((m + 1) * sizeof(Edge)));
	for (uint64_t i = 0; i < m; i++)
		t->edge[at[bucket_of(&edge[i])]++] = edge[i];
	free(edge);
	share(sort_bucket, t, BUCKETS);
	edge = t->edge;
	m = 0;
	for (uint32_t b = 0; b < BUCKETS; b++)
	{
		memmove(edge + m, t->edge + t->start[b], t->kept[b] * sizeof(Edge));
		m += t->kept[b];
	}
	free(t);
	*pairs = (int64_t *) edge;
	return m;
}

/* ---------- R-MAT ---------- */

typedef struct Rmat
{
	Edge	   *edge;
	uint64_t	n;
	uint32_t	scale;
} Rmat;

/*
 * A permutation of the numbers below 2^scale: multiplying by an odd number and
 * folding the upper half of the bits into the lower one both are, modulo 2^scale.
 */
static uint64_t
rename_vertex(uint64_t v, uint32_t scale)
{
	const uint64_t mask = (UINT64_C(1) << scale) - 1;

	for (uint32_t i = 0; i < 3; i++)
	{
		v = v * UINT64_C(0x9e3779b97f4a7c15) & mask;
		v ^= v >> (scale + 1) / 2;
	}
	return v;
}

static void
rmat_stretch(void *arg, uint64_t s)
{
	const Rmat *r = arg;
	uint64_t	state = mix(s + 3);
	const uint64_t end = (s + 1) * STRETCH < r->n ? (s + 1) * STRETCH : r->n;

	for (uint64_t i = s * STRETCH; i < end; i++)
	{
		uint64_t	a = 0;
		uint64_t	b = 0;

		for (uint32_t k = 0; k < r->scale; k++)
		{
			double		u = (double) (next(&state) >> 11) * (1.0 / 9007199254740992.0);

			a = a << 1 | (u >= .76);
			b = b << 1 | ((u >= .57 && u < .76) || u >= .95);
		}
		r->edge[i].key[0] = (int64_t) rename_vertex(a, r->scale);
		r->edge[i].key[1] = (int64_t) rename_vertex(b, r->scale);
	}
}

int64_t *
graph_rmat(uint32_t scale, uint32_t edges_a_vertex, uint64_t *nedges)
{
	Rmat		r = {NULL, (UINT64_C(1) << scale) * edges_a_vertex, scale};
	int64_t    *pairs = must(malloc(r.n * sizeof(Edge)));

	r.edge = (Edge *) pairs;
	share(rmat_stretch, &r, (r.n + STRETCH - 1) / STRETCH);
	*nedges = tidy(&pairs, r.n);
	return pairs;
}

/* ---------- uniform ---------- */

typedef struct Uniform
{
	Edge	   *edge;
	uint64_t	nvertices;
	uint64_t	nedges;
	uint64_t	seed;
} Uniform;

/* Edges of the vertices below v, spread evenly. */
static uint64_t
edges_below(const Uniform *u, uint64_t v)
{
	return (uint64_t) ((__extension__ (unsigned __int128) u->nedges) * v / u->nvertices);
}

/*
 * Vertex v's edges lead to different vertices among the half of all that
 * follows it in a circle, so that no two vertices are joined twice.
 */
static void
uniform_stretch(void *arg, uint64_t s)
{
	const Uniform *u = arg;
	const uint64_t end = (s + 1) * STRETCH < u->nvertices ? (s + 1) * STRETCH : u->nvertices;
	uint64_t	state = mix(s + u->seed);

	for (uint64_t v = s * STRETCH; v < end; v++)
	{
		const uint64_t from = edges_below(u, v);
		const uint64_t to = edges_below(u, v + 1);

		for (uint64_t i = from; i < to; i++)
		{
			int64_t		mine = (int64_t) mix(v + u->seed);
			int64_t		other;
			bool		again;

			do
			{
				uint64_t	step = 1 + next(&state) % ((u->nvertices - 1) / 2);

				other = (int64_t) mix((v + step) % u->nvertices + u->seed);
				again = false;
				for (uint64_t j = from; j < i && !again; j++)
					again = u->edge[j].key[0] == other || u->edge[j].key[1] == other;
			} while (again);
			u->edge[i].key[0] = mine < other ? mine : other;
			u->edge[i].key[1] = mine < other ? other : mine;
		}
	}
}

int64_t *
graph_uniform(uint64_t nvertices, uint64_t nedges, uint64_t seed, uint64_t *made)
{
	Uniform		u = {NULL, nvertices, nedges, seed};

	if (nvertices < 3 || nedges > nvertices * ((nvertices - 1) / 4))
	{
		fprintf(stderr, "a random graph of %" PRIu64 " vertices has not so many edges\n", nvertices);
		exit(1);
	}
	u.edge = must(malloc(nedges * sizeof(Edge) + 1));
	share(uniform_stretch, &u, (nvertices + STRETCH - 1) / STRETCH);
	*made = edges_below(&u, nvertices);
	return (int64_t *) u.edge;
}

/* ---------- files ---------- */

int64_t *
graph_read(const char *path, uint64_t *nedges)
{
	FILE	   *in = fopen(path, "r");
	int64_t    *pairs = NULL;
	uint64_t	room = 0;
	char		line[200];

	if (in == NULL)
	{
		perror(path);
		exit(1);
	}
	*nedges = 0;
	while (fgets(line, sizeof(line), in))
	{
		if (*nedges == room)
			pairs = must(realloc(pairs, (room = 2 * room + 1000) * sizeof(Edge)));
		if (sscanf(line, "%" SCNd64 ",%" SCNd64, &pairs[2 * *nedges], &pairs[2 * *nedges + 1]) == 2)
			++*nedges;
	}
	fclose(in);
	return pairs;
}

int64_t *
graph_read_tidy(const char *path, uint64_t *nedges)
{
	int64_t    *pairs = graph_read(path, nedges);

	*nedges = tidy(&pairs, *nedges);
	return pairs;
}

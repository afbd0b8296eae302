/*
 * cuda/join_build.cu
 *	  Keys to the device, where they are numbered, and relations become codes.
 *
 * Upload.  The host copies rows to pinned memory, piece by piece in a ring
 * (join_upload.cu), and what arrives on the device is surveyed there.
 * The host's copy narrows keys to 32-bit distances from a base as long as they
 * fit, which halves what passes the bus and lies on the device; from the first
 * piece that does not fit on, a relation is wide, and what came before it is
 * widened.  8 or 16 bytes a row on the device, then.  Rows that the caller has in
 * pinned memory are copied from there as they are, as the bus is faster than a
 * processor at that, unless there is little room on the device.
 *
 * Numbers.  Where the range of keys is small against the rows, a key's number is
 * its distance from the least one: 16 bytes moved a row, in place.  Else the
 * distances are sorted by those of their bits that can differ, equal ones
 * dropped, and each key is searched among what is left.  The other way would be
 * to sort pairs of a key and its place, and to scatter the ranks: with B bytes of
 * distance a pass moves 24 bytes a key instead of 16, so that sorting takes
 * 8 + 24 B instead of 8 + 16 B, and the scatter's lines 32; 232 bytes a key of 64
 * random bits in place of 136.  The search adds, behind a table by the distance's
 * leading bits, a line of the table and one or two of the keys: 64 to 96 bytes
 * where keys are many and spread evenly, next to nothing where they are few
 * enough for the cache.  That is no more in the worst of these cases, and lets
 * keys be dropped as they come: where memory is not plenty, sorting goes on in
 * room for a quarter of the keys, 8 bytes a row more, until different keys fill
 * it; 32 bytes a row at most, which is what is taken at once where it is plenty,
 * as different keys are sorted once only then.
 *
 * Device memory at most, beside what was there before, with n rows in all and k
 * different keys: 8 n if numbers are distances, and 8 k for names; else 8 n if
 * keys are narrow or 16 n if they are wide, 8 n to 32 n for sorting and 8 k for the
 * names.  Codes take 8 n.
 *
 * Owns names and codes of a PpDeviceJoin, and what is needed on the way.
 * Reads the caller's keys while pp_device_number() runs, never afterwards.
 */
#include "join_build.h"
#include "join_upload.h"

namespace
{

/* Bytes of rows in pinned memory that are looked at together, and room that there
 * has to be for each of them so that they need not be narrow. */
constexpr size_t PINNED_BYTES = 32 << 20;
constexpr uint64_t PINNED_ROOM = 128;

/* Keys that are sorted at a time, at least, and at most as device_wide.h wants
 * it: a multiple of 64. */
constexpr uint64_t LEAST_SORTED = 4096;
constexpr uint64_t MOST_SORTED = UINT64_C(0x7fffff00);

/* Bytes of memory for each key that are plenty: four times what sorting all at once
 * takes. */
constexpr uint64_t PLENTY = 64;

/* Bits of a distance that the table of searches is indexed by, at most: 16 MB. */
constexpr uint32_t TABLE_BITS = 22;

/* With more keys than this, only those are counted whose hash begins with this
 * many bits of 0. */
constexpr uint32_t ALL_KEYS = 65536;
constexpr uint32_t SAMPLE_BITS = 4;

/* How rows of keys lie in device memory. */
enum Shape
{
	NARROW,						/* two distances of 32 bits from a base */
	WIDE						/* two keys */
};

/*
 * What is known of a relation's rows, zero at first: keys are taken with the sign
 * bit flipped, which makes them compare as unsigned numbers.
 */
struct Survey
{
	unsigned long long least_inverted;
	unsigned long long greatest;
	unsigned long long nless;
	unsigned long long nequal;
};

/* Of one column: different keys, rows, and the sum of their squares. */
struct Side
{
	unsigned long long nkeys;
	unsigned long long sum;
	unsigned long long squares;
};

struct Report
{
	Survey		survey;
	Side		side[2];
};

constexpr uint64_t SIGN = UINT64_C(1) << 63;

/* ---------- kernels ---------- */

struct KeyPair
{
	uint64_t	a;
	uint64_t	b;
};

template <Shape SHAPE>
__device__ __forceinline__ KeyPair
load_row(const uint8_t *rows, uint64_t base, uint64_t i)
{
	if (SHAPE == NARROW)
	{
		const uint2 v = pp_load8(rows + 8 * i);

		return {base + v.x, base + v.y};
	}
	else
	{
		const uint4 v = pp_load16(rows + 16 * i);

		return {(uint64_t) v.y << 32 | v.x, (uint64_t) v.w << 32 | v.z};
	}
}

/* Looks at rows that have arrived. */
template <Shape SHAPE>
__global__ void
__launch_bounds__(BLOCK)
survey_rows(const uint8_t *rows, uint64_t base, uint32_t nrows, Survey *survey)
{
	unsigned long long least = 0;
	unsigned long long greatest = 0;
	unsigned long long nless = 0;
	unsigned long long nequal = 0;

	PP_SHARED(BlockSums, sums);

	for (uint64_t i = first_item(); i < nrows; i += step_items())
	{
		const KeyPair row = load_row<SHAPE>(rows, base, i);
		const unsigned long long a = row.a ^ SIGN;
		const unsigned long long b = row.b ^ SIGN;

		least = max(least, ~min(a, b));
		greatest = max(greatest, max(a, b));
		nless += a < b;
		nequal += a == b;
	}
	least = block_reduce<true>(sums.of[0], least);
	greatest = block_reduce<true>(sums.of[1], greatest);
	nless = block_reduce<false>(sums.of[2], nless);
	nequal = block_reduce<false>(sums.of[3], nequal);
	if (threadIdx.x == 0)
	{
		atomicMax(&survey->least_inverted, least);
		atomicMax(&survey->greatest, greatest);
		atomicAdd(&survey->nless, nless);
		atomicAdd(&survey->nequal, nequal);
	}
}

__global__ void
__launch_bounds__(BLOCK)
widen_rows(const uint8_t *narrow, uint64_t base, uint32_t nrows, uint64_t *wide)
{
	for (uint64_t i = first_item(); i < nrows; i += step_items())
	{
		const KeyPair row = load_row<NARROW>(narrow, base, i);

		wide[2 * i] = row.a;
		wide[2 * i + 1] = row.b;
	}
}

/* codes may be rows, if these are narrow. */
template <Shape SHAPE>
__global__ void
__launch_bounds__(BLOCK)
codes_by_distance(const uint8_t *rows, uint64_t base, uint32_t nrows, uint64_t least,
				  uint64_t *codes)
{
	for (uint64_t i = first_item(); i < nrows; i += step_items())
	{
		const KeyPair row = load_row<SHAPE>(rows, base, i);

		codes[i] = (row.a - least) << 32 | (row.b - least);
	}
}

__global__ void
__launch_bounds__(BLOCK)
names_by_distance(int64_t *names, uint32_t nkeys, uint64_t least)
{
	for (uint64_t i = first_item(); i < nkeys; i += step_items())
		names[i] = (int64_t) (least + i);
}

/* Distances from the least key, which sort as the keys do: two to a row. */
template <Shape SHAPE>
__global__ void
__launch_bounds__(BLOCK)
distances(const uint8_t *rows, uint64_t base, uint32_t nrows, uint64_t least, uint64_t *out)
{
	for (uint64_t i = first_item(); i < nrows; i += step_items())
	{
		const KeyPair row = load_row<SHAPE>(rows, base, i);

		out[2 * i] = row.a - least;
		out[2 * i + 1] = row.b - least;
	}
}

/* Keys where runs begin, and what is to be added to them. */
__global__ void
__launch_bounds__(BLOCK)
gather_keys(const uint64_t *keys, const uint32_t *head, uint32_t n, uint64_t more, uint64_t *out)
{
	for (uint64_t i = first_item(); i < n; i += step_items())
		out[i] = keys[head[i]] + more;
}

/* Different keys, ascending, and where those begin whose distance from the least
 * one has the same leading bits. */
struct Lookup
{
	const uint64_t *names;
	const uint32_t *table;
	uint64_t	least;
	uint32_t	nkeys;
	uint32_t	shift;			/* the leading bits are those above */
};

/* The first of names[low .. high) whose distance is not below d, or high. */
__device__ __forceinline__ uint32_t
search(const Lookup &in, uint32_t low, uint32_t high, uint64_t d)
{
	while (low < high)
	{
		const uint32_t middle = low + (high - low) / 2;

		if (in.names[middle] - in.least < d)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

__global__ void
__launch_bounds__(BLOCK)
fill_table(Lookup in, uint32_t *table, uint32_t n)
{
	for (uint64_t i = first_item(); i < n; i += step_items())
	{
		const bool	behind = i > 0 && (i << in.shift) >> in.shift != i;

		table[i] = behind ? in.nkeys : search(in, 0, in.nkeys, i << in.shift);
	}
}

__device__ __forceinline__ uint64_t
number_of(const Lookup &in, uint64_t key)
{
	const uint64_t d = key - in.least;
	const uint32_t *at = in.table + (d >> in.shift);

	return search(in, at[0], at[1], d);
}

/* codes may be rows, if these are narrow. */
template <Shape SHAPE>
__global__ void
__launch_bounds__(BLOCK)
codes_by_search(const uint8_t *rows, uint64_t base, uint32_t nrows, Lookup in, uint64_t *codes)
{
	for (uint64_t i = first_item(); i < nrows; i += step_items())
	{
		const KeyPair row = load_row<SHAPE>(rows, base, i);

		codes[i] = number_of(in, row.a) << 32 | number_of(in, row.b);
	}
}

/* Adds one for each lane's place below n; a warp of one place adds at once. */
__device__ __forceinline__ void
count_place(unsigned int *count, uint32_t n, uint32_t place)
{
	const uint32_t first = __shfl_sync(ALL_LANES, place, 0);

	if (__all_sync(ALL_LANES, place == first))
	{
		if (threadIdx.x % 32 == 0 && place < n)
			atomicAdd(&count[place], 32u);
	}
	else if (place < n)
		atomicAdd(&count[place], 1u);
}

/*
 * How often each column has a key.  Of a sample, those count whose product with
 * an odd number, of as many bits as numbers have, begins with bits of 0; what is
 * behind these is the key's place.
 */
__global__ void
__launch_bounds__(BLOCK)
count_keys(const uint64_t *codes, uint32_t nrows, uint32_t mask, uint32_t ncounts,
		   unsigned int *count)
{
	const uint32_t lane = threadIdx.x % 32;

	for (uint64_t i = first_item(); i - lane < nrows; i += step_items())
	{
		uint32_t	a = 0xffffffffu;
		uint32_t	b = 0xffffffffu;

		if (i < nrows)
		{
			const uint64_t code = codes[i];

			a = ((uint32_t) (code >> 32) * UINT32_C(2654435761)) & mask;
			b = ((uint32_t) code * UINT32_C(2654435761)) & mask;
		}
		count_place(count, ncounts, a);
		count_place(count + ncounts, ncounts, b);
	}
}

__global__ void
__launch_bounds__(BLOCK)
sum_counts(const uint32_t *count, uint32_t ncounts, Side *side)
{
	unsigned long long squares = 0;
	unsigned long long n = 0;

	PP_SHARED(BlockSums, sums);

	for (uint64_t i = first_item(); i < ncounts; i += step_items())
	{
		const unsigned long long c = count[i];

		/* n and sum are below 2^31 */
		n += (c > 0 ? UINT64_C(1) << 32 : 0) + c;
		squares += c * c;
	}
	n = block_reduce<false>(sums.of[0], n);
	squares = block_reduce<false>(sums.of[1], squares);
	if (threadIdx.x == 0)
	{
		atomicAdd(&side->nkeys, n >> 32);
		atomicAdd(&side->sum, n & 0xffffffffu);
		atomicAdd(&side->squares, squares);
	}
}

/* ---------- upload ---------- */

/* Rows of a relation on the device, all of one shape. */
struct Rows
{
	Shape		shape;
	const uint8_t *p;
	uint32_t	nrows;
};

/* The relations' rows while they are numbered. */
struct Numbering : Scratch
{
	PpDeviceJoin *join;
	const PpJoinQuery *query;
	const bool *used;
	uint64_t	base;			/* of narrow keys */
	bool		based;
	PpBuffer	rows[PP_JOIN_MAX_RELATIONS] = {};	/* not of resident ones */
	Shape		shape[PP_JOIN_MAX_RELATIONS] = {};
	PpBuffer	report = {};	/* [nrelations] */
	PpBuffer	count = {};		/* of keys */
	PpUpload	upload = {};
	bool		copying = false;	/* copies of what the caller has pinned were enqueued */
	uint64_t	nrows = 0;
	uint64_t	least = 0;
	uint64_t	range = 0;

	Numbering(PpDeviceJoin *of, const PpJoinQuery *q, const bool *u)
		: join(of), query(q), used(u), base(0), based(false)
	{
	}
	~Numbering()
	{
		pp_upload_close(&upload);
		if (copying)
			(void) cudaStreamSynchronize(join->stream);
		(void) cudaGetLastError();
		for (PpBuffer &each : rows)
			pp_buffer_release(&each);
		pp_buffer_release(&report);
		pp_buffer_release(&count);
	}

	PpCudaRelation *
	resident(uint32_t r) const
	{
		return join->resident == nullptr ? nullptr : join->resident[r];
	}

	/* Piece i of a relation; false: there is none. */
	bool
	piece(uint32_t r, uint32_t i, Rows *out) const
	{
		const int64_t *pairs;

		if (resident(r) != nullptr)
		{
			out->shape = WIDE;
			if (!pp_relation_piece(resident(r), i, &pairs, &out->nrows))
				return false;
			out->p = reinterpret_cast<const uint8_t *>(pairs);
			return true;
		}
		*out = {shape[r], rows[r].p, join->relation[r].nrows};
		return i == 0 && out->nrows > 0;
	}
};

/* What a relation has on the device becomes wide: its first n rows are there. */
PpJoinStatus
widen(Numbering *s, uint32_t r, uint64_t n)
{
	PpBuffer	narrow = s->rows[r];
	PpJoinStatus status;

	s->rows[r] = PpBuffer();
	s->shape[r] = WIDE;
	status = pp_join_reserve(s->join, &s->rows[r], s->query->relations[r].nrows * 16);
	if (status == PP_JOIN_OK && n > 0)
	{
		PP_LAUNCH(widen_rows, blocks(n), BLOCK, 0, s->join->stream, narrow.p, s->base,
				  (uint32_t) n, as<uint64_t>(s->rows[r]));
		status = launched(s->join);
	}
	pp_buffer_release(&narrow);
	return status;
}

PpJoinStatus
survey(Numbering *s, uint32_t r, const Rows &rows)
{
	Survey	   *out = &as<Report>(s->report)[r].survey;
	const uint32_t grid = blocks(rows.nrows, SUM_BLOCKS);

	if (rows.shape == NARROW)
		PP_LAUNCH(survey_rows<NARROW>, grid, BLOCK, 0, s->join->stream, rows.p, s->base,
				  rows.nrows, out);
	else
		PP_LAUNCH(survey_rows<WIDE>, grid, BLOCK, 0, s->join->stream, rows.p, s->base,
				  rows.nrows, out);
	return launched(s->join);
}

/* Is that memory which the device copies from by itself? */
bool
is_pinned(const void *p)
{
	cudaPointerAttributes attributes;
	const cudaError_t e = cudaPointerGetAttributes(&attributes, p);

	(void) cudaGetLastError();
	return e == cudaSuccess && attributes.type == cudaMemoryTypeHost;
}

/* The rows of a relation in pinned memory, as they are. */
PpJoinStatus
upload_pinned(Numbering *s, uint32_t r)
{
	PpDeviceJoin *join = s->join;
	const int64_t *pairs = s->query->relations[r].pairs;
	const uint64_t nrows = s->query->relations[r].nrows;
	const uint64_t piece = PINNED_BYTES / 16;

	s->shape[r] = WIDE;
	TRY(pp_join_reserve(join, &s->rows[r], nrows * 16));
	for (uint64_t at = 0; at < nrows; at += piece)
	{
		const uint64_t n = nrows - at < piece ? nrows - at : piece;

		s->copying = true;
		TRY(pp_join_copy(join, s->rows[r].p + at * 16, pairs + 2 * at, n * 16,
						 cudaMemcpyHostToDevice));
		TRY(survey(s, r, {WIDE, s->rows[r].p + at * 16, (uint32_t) n}));
	}
	return PP_JOIN_OK;
}

/* Rows of a relation that were sent to the device. */
struct Arriving
{
	Numbering  *s;
	uint32_t	r;
};

PpJoinStatus
survey_arriving(void *ctx, uint64_t from, uint64_t n)
{
	const Arriving *a = static_cast<Arriving *>(ctx);
	const Shape shape = a->s->shape[a->r];

	return survey(a->s, a->r, {shape, a->s->rows[a->r].p + from * (shape == NARROW ? 8 : 16),
							   (uint32_t) n});
}

/* The rows of a relation of the host's. */
PpJoinStatus
upload(Numbering *s, uint32_t r)
{
	const int64_t *pairs = s->query->relations[r].pairs;
	const uint64_t nrows = s->query->relations[r].nrows;
	Arriving	arriving = {s, r};
	PpUploadRows rows = {pairs, nrows, true, 0, nullptr, survey_arriving, &arriving};
	uint64_t	at = 0;

	if (pp_memory_left() / PINNED_ROOM >= nrows && is_pinned(pairs))
		return upload_pinned(s, r);
	if (!s->based)
	{
		/* in the middle of what is narrow; modulo 2^64, as all distances are */
		s->base = (uint64_t) pairs[0] - (UINT64_C(1) << 31);
		s->based = true;
	}
	TRY(pp_join_reserve(s->join, &s->rows[r], nrows * 8));
	rows.base = s->base;
	rows.to = s->rows[r].p;
	TRY(pp_upload_rows(&s->upload, &rows, &at));
	if (at == nrows)
		return PP_JOIN_OK;
	TRY(widen(s, r, at));
	rows.narrow = false;
	rows.to = s->rows[r].p;
	return pp_upload_rows(&s->upload, &rows, &at);
}

/* All rows to the device, and what is known of them. */
PpJoinStatus
collect(Numbering *s)
{
	PpDeviceJoin *join = s->join;
	const uint32_t nrelations = s->query->nrelations;
	uint64_t	greatest = 0;
	uint64_t	most = 0;		/* rows of a relation of the host's */
	Report		reports[PP_JOIN_MAX_RELATIONS];

	for (uint32_t r = 0; r < nrelations; r++)
	{
		uint64_t	nrows = s->query->relations[r].nrows;

		join->relation[r].nrows = 0;
		if (!s->used[r])
			continue;
		if (s->resident(r) != nullptr && !pp_relation_rows(s->resident(r), &nrows))
			return PP_JOIN_DEVICE_FAILED;
		if (nrows >= PP_JOIN_MAX_ROWS)
			return PP_JOIN_TOO_MANY;
		join->relation[r].nrows = (uint32_t) nrows;
		s->nrows += nrows;
		if (s->resident(r) == nullptr && nrows > most)
			most = nrows;
	}
	TRY(pp_join_reserve(join, &s->report, nrelations * sizeof(Report)));
	TRY(pp_join_clear(join, s->report.p, nrelations * sizeof(Report)));
	TRY(pp_join_phase(join, PP_JOIN_PHASE_H2D));
	pp_upload_begin(&s->upload, join, s->query, most);
	for (uint32_t r = 0; r < nrelations; r++)
		if (join->relation[r].nrows > 0 && s->resident(r) == nullptr)
			TRY(upload(s, r));
	pp_upload_end(&s->upload);
	TRY(pp_join_phase(join, PP_JOIN_PHASE_BUILD));
	for (uint32_t r = 0; r < nrelations; r++)
	{
		Rows		rows;

		for (uint32_t i = 0; s->resident(r) != nullptr && s->piece(r, i, &rows); i++)
			if (s->used[r] && rows.nrows > 0)
				TRY(survey(s, r, rows));
	}
	TRY(fetch(join, s, reports, s->report.p, nrelations * sizeof(Report)));
	s->least = UINT64_MAX;
	for (uint32_t r = 0; r < nrelations; r++)
	{
		PpDeviceRelation *relation = &join->relation[r];
		const Survey *found = &reports[r].survey;

		relation->nless = (uint32_t) found->nless;
		relation->nequal = (uint32_t) found->nequal;
		relation->sides.nloops = (double) found->nequal;
		if (relation->nrows == 0)
			continue;
		s->least = ~found->least_inverted < s->least ? ~found->least_inverted : s->least;
		greatest = found->greatest > greatest ? found->greatest : greatest;
	}
	s->range = greatest - s->least;
	s->least ^= SIGN;
	return PP_JOIN_OK;
}

/* ---------- numbers by sorting ---------- */

/* An array of pp_join_reserve()'s that holds so many keys. */
PpJoinStatus
reserve_keys(Numbering *s, uint32_t i, uint64_t n)
{
	return pp_join_reserve(s->join, &s->key[i], n * sizeof(uint64_t));
}

/*
 * Sorts n distances that are in key[0], of room, and takes each once, to key[0];
 * what is left of the last ones becomes the names.  Room doubles, up to most, if
 * too many are left.
 *
 * One array has the sorted distances, the other one all that is made of them: what
 * is left in its first three parts of eight, places in four, flags in the last.
 */
PpJoinStatus
sort_out(Numbering *s, uint32_t n, bool last, uint64_t *room, uint64_t most, uint32_t *left)
{
	PpDeviceJoin *join = s->join;
	uint32_t	at;
	uint8_t    *other;
	uint32_t   *place;

	TRY(sort(join, s, n, bits_of(s->range), false, &at));
	other = s->key[1 - at].p;
	place = reinterpret_cast<uint32_t *>(other + 3 * *room);
	TRY(find_heads(join, s, as<uint64_t>(s->key[at]), n, other + 7 * *room, place, left));
	if (last)
	{
		if (*left >= PP_JOIN_MAX_ROWS)
			return PP_JOIN_TOO_MANY;
		TRY(pp_join_reserve(join, &join->names, *left * sizeof(int64_t)));
		PP_LAUNCH(gather_keys, blocks(*left), BLOCK, 0, join->stream, as<uint64_t>(s->key[at]),
				  place, *left, s->least, as<uint64_t>(join->names));
		return launched(join);
	}
	if (8 * (uint64_t) *left > 3 * *room)
	{
		PpBuffer	more = {};
		PpJoinStatus status;

		*room = 2 * *room < most ? 2 * *room : most;
		if (*left + 2 > *room)
			return PP_JOIN_TOO_MANY;
		status = pp_join_reserve(join, &more, *room * sizeof(uint64_t));
		if (status == PP_JOIN_OK)
		{
			PP_LAUNCH(gather_keys, blocks(*left), BLOCK, 0, join->stream,
					  as<uint64_t>(s->key[at]), place, *left, (uint64_t) 0, as<uint64_t>(more));
			status = launched(join);
		}
		pp_buffer_release(&s->key[0]);
		pp_buffer_release(&s->key[1]);
		s->key[0] = more;
		return status == PP_JOIN_OK ? reserve_keys(s, 1, *room) : status;
	}
	PP_LAUNCH(gather_keys, blocks(*left), BLOCK, 0, join->stream, as<uint64_t>(s->key[at]), place,
			  *left, (uint64_t) 0, reinterpret_cast<uint64_t *>(other));
	if (at == 0)
	{
		PpBuffer	swap = s->key[0];

		s->key[0] = s->key[1];
		s->key[1] = swap;
	}
	return launched(join);
}

/* All different keys, ascending, to names. */
PpJoinStatus
find_names(Numbering *s)
{
	PpDeviceJoin *join = s->join;
	const uint64_t all = 2 * s->nrows;
	const uint64_t most = (all < MOST_SORTED ? all + 63 : MOST_SORTED) / 64 * 64;
	const uint64_t part = pp_memory_left() / PLENTY >= all ? all : all / 4;
	uint64_t	room = (part < LEAST_SORTED ? LEAST_SORTED : part + 63) / 64 * 64;
	uint64_t	done = 0;		/* keys */
	uint32_t	n = 0;			/* distances that are there */
	Rows		rows;

	room = room < most ? room : most;
	TRY(reserve_keys(s, 0, room));
	TRY(reserve_keys(s, 1, room));
	for (uint32_t r = 0; r < s->query->nrelations; r++)
		for (uint32_t i = 0; s->used[r] && s->piece(r, i, &rows); i++)
			for (uint32_t at = 0; at < rows.nrows;)
			{
				const uint64_t fits = (room - n) / 2;
				const uint32_t take = rows.nrows - at < fits ? rows.nrows - at : (uint32_t) fits;
				uint64_t   *to = as<uint64_t>(s->key[0]) + n;

				if (take > 0)
				{
					if (rows.shape == NARROW)
						PP_LAUNCH(distances<NARROW>, blocks(take), BLOCK, 0, join->stream,
								  rows.p + 8 * (size_t) at, s->base, take, s->least, to);
					else
						PP_LAUNCH(distances<WIDE>, blocks(take), BLOCK, 0, join->stream,
								  rows.p + 16 * (size_t) at, s->base, take, s->least, to);
					TRY(launched(join));
				}
				at += take;
				n += 2 * take;
				done += 2 * take;
				if (done == all || room - n < 2)
					TRY(sort_out(s, n, done == all, &room, most, &n));
			}
	join->nkeys = n;
	pp_buffer_release(&s->key[0]);
	pp_buffer_release(&s->key[1]);
	return PP_JOIN_OK;
}

/* Names and what finds them. */
PpJoinStatus
make_lookup(Numbering *s, Lookup *lookup)
{
	PpDeviceJoin *join = s->join;
	const uint32_t range_bits = bits_of(s->range);
	uint32_t	bits;
	uint32_t	n;

	TRY(find_names(s));
	/* about four keys to an entry, whose line is read anyway */
	bits = bits_of(join->nkeys / 4);
	bits = bits < TABLE_BITS ? bits : TABLE_BITS;
	bits = bits < range_bits ? bits : range_bits;
	lookup->shift = range_bits - bits;
	n = (uint32_t) (s->range >> lookup->shift) + 2;
	TRY(pp_join_reserve(join, &s->place, n * sizeof(uint32_t)));
	lookup->names = as<uint64_t>(join->names);
	lookup->table = as<uint32_t>(s->place);
	lookup->least = s->least;
	lookup->nkeys = join->nkeys;
	PP_LAUNCH(fill_table, blocks(n), BLOCK, 0, join->stream, *lookup, as<uint32_t>(s->place), n);
	return launched(join);
}

/* ---------- codes ---------- */

/* Codes of some rows; lookup: NULL if numbers are distances. */
PpJoinStatus
code_rows(Numbering *s, const Rows &rows, const Lookup *lookup, uint64_t *codes)
{
	const cudaStream_t stream = s->join->stream;
	const uint32_t grid = blocks(rows.nrows);

	if (lookup != nullptr && rows.shape == NARROW)
		PP_LAUNCH(codes_by_search<NARROW>, grid, BLOCK, 0, stream, rows.p, s->base, rows.nrows,
				  *lookup, codes);
	else if (lookup != nullptr)
		PP_LAUNCH(codes_by_search<WIDE>, grid, BLOCK, 0, stream, rows.p, s->base, rows.nrows,
				  *lookup, codes);
	else if (rows.shape == NARROW)
		PP_LAUNCH(codes_by_distance<NARROW>, grid, BLOCK, 0, stream, rows.p, s->base, rows.nrows,
				  s->least, codes);
	else
		PP_LAUNCH(codes_by_distance<WIDE>, grid, BLOCK, 0, stream, rows.p, s->base, rows.nrows,
				  s->least, codes);
	return launched(s->join);
}

PpJoinStatus
code_relation(Numbering *s, uint32_t r, const Lookup *lookup)
{
	PpDeviceRelation *relation = &s->join->relation[r];
	uint64_t   *codes;
	Rows		rows;

	if (s->resident(r) == nullptr && s->shape[r] == NARROW)
	{
		relation->codes = s->rows[r];
		s->rows[r] = PpBuffer();
		rows = {NARROW, relation->codes.p, relation->nrows};
		return code_rows(s, rows, lookup, as<uint64_t>(relation->codes));
	}
	TRY(pp_join_reserve(s->join, &relation->codes, relation->nrows * sizeof(uint64_t)));
	codes = as<uint64_t>(relation->codes);
	for (uint32_t i = 0; s->piece(r, i, &rows); i++)
		if (rows.nrows > 0)
		{
			TRY(code_rows(s, rows, lookup, codes));
			codes += rows.nrows;
		}
	pp_buffer_release(&s->rows[r]);
	return PP_JOIN_OK;
}

/* What the columns of all relations are like. */
PpJoinStatus
measure(Numbering *s)
{
	PpDeviceJoin *join = s->join;
	const uint32_t bits = bits_of(join->nkeys - 1);
	const uint32_t dropped = join->nkeys <= ALL_KEYS ? 0 : SAMPLE_BITS;
	const uint32_t mask = (uint32_t) ((UINT64_C(1) << bits) - 1);
	const uint32_t ncounts = 1u << (bits - dropped);
	const size_t bytes = 2 * (size_t) ncounts * sizeof(uint32_t);
	const uint32_t nrelations = s->query->nrelations;
	Report		reports[PP_JOIN_MAX_RELATIONS];

	TRY(pp_join_reserve(join, &s->count, bytes));
	for (uint32_t r = 0; r < nrelations; r++)
	{
		const PpDeviceRelation *relation = &join->relation[r];

		if (relation->nrows == 0)
			continue;
		TRY(pp_join_clear(join, s->count.p, bytes));
		PP_LAUNCH(count_keys, blocks(relation->nrows), BLOCK, 0, join->stream,
				  as<uint64_t>(relation->codes), relation->nrows, mask, ncounts,
				  as<unsigned int>(s->count));
		TRY(launched(join));
		for (uint32_t c = 0; c < 2; c++)
		{
			PP_LAUNCH(sum_counts, blocks(ncounts, SUM_BLOCKS), BLOCK, 0, join->stream,
					  as<uint32_t>(s->count) + c * (size_t) ncounts, ncounts,
					  &as<Report>(s->report)[r].side[c]);
			TRY(launched(join));
		}
	}
	TRY(fetch(join, s, reports, s->report.p, nrelations * sizeof(Report)));
	for (uint32_t r = 0; r < nrelations; r++)
		for (uint32_t c = 0; c < 2; c++)
		{
			const Side *side = &reports[r].side[c];

			join->relation[r].sides.nkeys[c] = (double) (side->nkeys << dropped);
			join->relation[r].sides.length[c] = side->sum == 0 ? 0 :
				(double) side->squares / (double) side->sum;
		}
	return PP_JOIN_OK;
}

PpJoinStatus
number(Numbering *s)
{
	PpDeviceJoin *join = s->join;
	Lookup		lookup = {};
	bool		direct;

	join->nkeys = 0;
	join->info.dictionary = "direct";
	TRY(collect(s));
	if (s->nrows == 0)
		return PP_JOIN_OK;
	direct = s->range / 4 < s->nrows && s->range < PP_JOIN_MAX_ROWS - 1;
	if (direct)
	{
		join->nkeys = (uint32_t) s->range + 1;
		if (join->mode != PP_JOIN_COUNT)
		{
			TRY(pp_join_reserve(join, &join->names, join->nkeys * sizeof(int64_t)));
			PP_LAUNCH(names_by_distance, blocks(join->nkeys), BLOCK, 0, join->stream,
					  as<int64_t>(join->names), join->nkeys, s->least);
			TRY(launched(join));
		}
	}
	else
	{
		join->info.dictionary = "sort";
		TRY(make_lookup(s, &lookup));
	}
	for (uint32_t r = 0; r < s->query->nrelations; r++)
		if (join->relation[r].nrows > 0)
			TRY(code_relation(s, r, direct ? nullptr : &lookup));
	if (join->mode == PP_JOIN_COUNT)
		pp_buffer_release(&join->names);
	return measure(s);
}

}								/* namespace */

PpJoinStatus
pp_device_number(PpDeviceJoin *join, const PpJoinQuery *query, const bool *used)
{
	Numbering	s(join, query, used);
	const PpJoinStatus status = number(&s);

	join->info.nkeys = join->nkeys;
	return status;
}

void
pp_device_codes_release(PpDeviceJoin *join, uint32_t relation)
{
	pp_buffer_release(&join->relation[relation].codes);
}

void
pp_device_build_release(PpDeviceJoin *join)
{
	pp_buffer_release(&join->names);
	for (uint32_t r = 0; r < PP_JOIN_MAX_RELATIONS; r++)
		pp_device_codes_release(join, r);
	pp_device_tries_release(join);
}

/*
 * cuda/join_tries.cu
 *	  Tries in CSR form from relations' codes, on the device.
 *
 * Codes are packed to the bits that numbers have and sorted by these,
 * with the rows' numbers if they are wanted; where an entry begins is a
 * selection, from which lists, multiplicities and lengths follow, and the
 * lengths' sums are the starts.  The floor is 8 bytes read and 4 written a row and
 * 4 a key; a pass of the sort is 16 bytes a row, or 24 with rows' numbers.
 *
 * Device memory at most, besides the trie itself: 24 bytes a row on top of the
 * codes, or 8 if no later trie needs these, and 8 more with rows' numbers, of which
 * 4 become the trie's.
 *
 * Owns the tries of a PpDeviceJoin, and what is needed on the way.
 */
#include "join_build.h"

namespace
{

/* ---------- kernels ---------- */

/*
 * A row's keys as one number of 2 * bits bits, in the trie's order; row: NULL or
 * to become the rows' numbers.  packed may be codes.
 */
__global__ void
__launch_bounds__(BLOCK)
pack_rows(const uint64_t *codes, uint32_t nrows, bool backward, uint32_t bits, uint64_t *packed,
		  uint32_t *row)
{
	for (uint64_t i = first_item(); i < nrows; i += step_items())
	{
		const uint64_t code = codes[i];
		const uint64_t a = backward ? code & 0xffffffffu : code >> 32;
		const uint64_t b = backward ? code >> 32 : code & 0xffffffffu;

		packed[i] = a << bits | b;
		if (row != nullptr)
			row[i] = (uint32_t) i;
	}
}

__global__ void
__launch_bounds__(BLOCK)
mark_loops(const uint64_t *codes, uint32_t nrows, uint8_t *flag)
{
	for (uint64_t i = first_item(); i < nrows; i += step_items())
		flag[i] = codes[i] >> 32 == (codes[i] & 0xffffffffu);
}

__global__ void
__launch_bounds__(BLOCK)
gather_loops(const uint64_t *codes, const uint32_t *row, uint32_t n, uint64_t *key)
{
	for (uint64_t i = first_item(); i < n; i += step_items())
		key[i] = codes[row[i]] >> 32;
}

/*
 * Entries from the sorted rows where they begin.  count: NULL, or of each key of
 * the first level, zero before: the first entry of a list adds minus its place,
 * the last one its place plus one, which comes to the list's length.
 */
__global__ void
__launch_bounds__(BLOCK)
list_entries(const uint64_t *packed, const uint32_t *head, uint32_t n, uint32_t bits,
			 uint32_t *list, unsigned int *count)
{
	for (uint64_t i = first_item(); i < n; i += step_items())
	{
		const uint64_t own = packed[head[i]];

		list[i] = (uint32_t) (own & ((UINT64_C(1) << bits) - 1));
		if (count == nullptr)
			continue;
		if (i == 0 || packed[head[i - 1]] >> bits != own >> bits)
			atomicAdd(&count[own >> bits], 0u - (uint32_t) i);
		if (i == n - 1 || packed[head[i + 1]] >> bits != own >> bits)
			atomicAdd(&count[own >> bits], (uint32_t) i + 1);
	}
}

__global__ void
__launch_bounds__(BLOCK)
longest_list(const uint32_t *count, uint32_t nkeys, unsigned long long *longest)
{
	unsigned long long most = 0;

	PP_SHARED(BlockSums, sums);

	for (uint64_t i = first_item(); i < nkeys; i += step_items())
		most = max(most, (unsigned long long) count[i]);
	most = block_reduce<true>(sums.of[0], most);
	if (threadIdx.x == 0)
		atomicMax(longest, most);
}

/* ---------- building ---------- */

/* Is there a trie behind t in the plan that is made of the same rows? */
bool
needed_behind(const PpStagePlan *plan, uint32_t t)
{
	for (uint32_t u = t + 1; u < plan->ntries; u++)
		if (plan->trie[u].relation == plan->trie[t].relation)
			return true;
	return false;
}

/* The rows of a trie to s->key[0], and their numbers to s->value[0] if wanted; *n
 * is how many there are. */
PpJoinStatus
gather_rows(PpDeviceJoin *join, Scratch *s, uint32_t t, uint32_t bits, bool rows, uint32_t *n)
{
	const PpStageTrie *plan = &join->plan.trie[t];
	PpDeviceRelation *relation = &join->relation[plan->relation];
	const uint64_t *codes = as<uint64_t>(relation->codes);
	const uint32_t nrows = relation->nrows;

	if (plan->order == PP_STAGE_LOOPS)
	{
		*n = relation->nequal;
		if (*n == 0)
			return PP_JOIN_OK;
		TRY(pp_join_reserve(join, &s->flag, nrows));
		TRY(pp_join_reserve(join, &s->value[0], *n * sizeof(uint32_t)));
		TRY(pp_join_reserve(join, &s->key[0], *n * sizeof(uint64_t)));
		PP_LAUNCH(mark_loops, blocks(nrows), BLOCK, 0, join->stream, codes, nrows, s->flag.p);
		TRY(launched(join));
		TRY(select(join, s, s->flag.p, nrows, as<uint32_t>(s->value[0]), n));
		PP_LAUNCH(gather_loops, blocks(*n), BLOCK, 0, join->stream, codes,
				  as<uint32_t>(s->value[0]), *n, as<uint64_t>(s->key[0]));
		return launched(join);
	}
	*n = nrows;
	if (nrows == 0)
		return PP_JOIN_OK;
	if (rows)
		TRY(pp_join_reserve(join, &s->value[0], nrows * sizeof(uint32_t)));
	if (needed_behind(&join->plan, t))
		TRY(pp_join_reserve(join, &s->key[0], nrows * sizeof(uint64_t)));
	else
	{
		s->key[0] = relation->codes;
		relation->codes = PpBuffer();
	}
	PP_LAUNCH(pack_rows, blocks(nrows), BLOCK, 0, join->stream, codes, nrows,
			  plan->order == PP_STAGE_BACKWARD, bits, as<uint64_t>(s->key[0]),
			  rows ? as<uint32_t>(s->value[0]) : nullptr);
	return launched(join);
}

/* Lengths of lists to starts, and the longest of them. */
PpJoinStatus
add_up(PpDeviceJoin *join, Scratch *s, uint32_t *start, uint32_t *longest)
{
	unsigned long long most;

	TRY(pp_join_clear(join, s->found.p, sizeof(most)));
	PP_LAUNCH(longest_list, blocks(join->nkeys, SUM_BLOCKS), BLOCK, 0, join->stream, start,
			  join->nkeys, as<unsigned long long>(s->found));
	TRY(launched(join));
	TRY(wide(join, s, [=](void *temp, size_t *bytes) {
		return pp_scan_sum32(temp, bytes, start, start, join->nkeys + 1, join->stream);
	}));
	TRY(fetch(join, s, &most, s->found.p, sizeof(most)));
	*longest = (uint32_t) most;
	return PP_JOIN_OK;
}

PpJoinStatus
build(PpDeviceJoin *join, Scratch *s, uint32_t t, bool rows)
{
	const bool	loops = join->plan.trie[t].order == PP_STAGE_LOOPS;
	PpDeviceTrie *trie = &join->trie[t];
	PpBuffer   *memory = join->trie_memory[t];
	const uint32_t bits = join->nkeys == 0 ? 1 : bits_of(join->nkeys - 1);
	uint32_t   *place = nullptr;
	uint32_t	n;
	uint32_t	at = 0;

	memset(trie, 0, sizeof(*trie));
	if (!loops)
	{
		const size_t bytes = ((size_t) join->nkeys + 1) * sizeof(uint32_t);

		TRY(pp_join_reserve(join, &memory[0], bytes));
		TRY(pp_join_clear(join, memory[0].p, bytes));
		trie->start = as<uint32_t>(memory[0]);
	}
	TRY(gather_rows(join, s, t, bits, rows, &n));
	pp_buffer_release(&s->flag);
	if (n > 0)
	{
		uint8_t    *other;

		TRY(sort(join, s, n, loops ? bits : 2 * bits, rows, &at));
		/* the other array has room for places, and flags behind them */
		other = s->key[1 - at].p;
		place = reinterpret_cast<uint32_t *>(other);
		TRY(find_heads(join, s, as<uint64_t>(s->key[at]), n, other + 4 * (size_t) n, place,
					   &trie->nentries));
	}
	if (rows)
	{
		TRY(pp_join_reserve(join, &s->value[at], n * sizeof(uint32_t)));
		memory[3] = s->value[at];
		s->value[at] = PpBuffer();
		trie->row = as<uint32_t>(memory[3]);
		pp_buffer_release(&s->value[1 - at]);
	}
	TRY(pp_join_reserve(join, &memory[1], trie->nentries * sizeof(uint32_t)));
	trie->list = as<uint32_t>(memory[1]);
	if (n > 0)
	{
		PP_LAUNCH(list_entries, blocks(trie->nentries), BLOCK, 0, join->stream,
				  as<uint64_t>(s->key[at]), place, trie->nentries, bits,
				  as<uint32_t>(memory[1]), loops ? nullptr : as<unsigned int>(memory[0]));
		TRY(launched(join));
	}
	if (trie->nentries < n)
	{
		const size_t bytes = trie->nentries * sizeof(uint32_t);

		TRY(pp_join_reserve(join, &memory[2], bytes + sizeof(n)));
		TRY(pp_join_copy(join, memory[2].p, place, bytes, cudaMemcpyDeviceToDevice));
		memcpy(s->host.p, &n, sizeof(n));
		TRY(pp_join_copy(join, memory[2].p + bytes, s->host.p, sizeof(n), cudaMemcpyHostToDevice));
		TRY(pp_join_wait(join));
		trie->first = as<uint32_t>(memory[2]);
	}
	trie->longest = trie->nentries;
	return loops || n == 0 ? PP_JOIN_OK : add_up(join, s, as<uint32_t>(memory[0]), &trie->longest);
}

}								/* namespace */

PpJoinStatus
pp_device_trie(PpDeviceJoin *join, uint32_t t, bool rows)
{
	Scratch		s;

	return build(join, &s, t, rows);
}

void
pp_device_tries_release(PpDeviceJoin *join)
{
	for (uint32_t t = 0; t < PP_JOIN_MAX_ATOMS; t++)
		for (PpBuffer &memory : join->trie_memory[t])
			pp_buffer_release(&memory);
}

/*
 * test/cuda/join_build_test.cpp
 *	  Numbers, codes and tries that the device makes of relations, against maps
 *	  of the host; how rows get there; memory, threads and failures on the way.
 */
#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <utility>

#include <cerrno>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "../../cuda/join_upload.h"
#include "device_check.h"

namespace
{

/* Threads that were started and joined while they are watched, which can fail. */
struct Threads
{
	std::atomic<bool> watched{false};
	std::atomic<uint32_t> started{0};
	std::atomic<uint32_t> joined{0};
	std::atomic<uint32_t> bare{0};	/* started with a signal that is not blocked */
	std::atomic<uint32_t> fail_at{0};	/* the one that fails, as all behind it do; 0: none */

	void
	watch(uint32_t fail)
	{
		started = joined = bare = 0;
		fail_at = fail;
		watched = true;
	}
	/* None may be left. */
	void
	check(void)
	{
		watched = false;
		EXPECT(started == joined, "%u threads were started, %u joined", started.load(), joined.load());
		EXPECT(bare == 0, "%u threads may get signals", bare.load());
	}
};

Threads		threads;

}								/* namespace */

/* ThreadSanitizer has to know of threads itself, and reports those that are left. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREADS_ARE_WATCHED 0
#endif
#elif defined(__SANITIZE_THREAD__)
#define THREADS_ARE_WATCHED 0
#endif
#ifndef THREADS_ARE_WATCHED
#define THREADS_ARE_WATCHED 1

extern "C" int
pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*f) (void *), void *arg) noexcept
{
	static int	(*const real) (pthread_t *, const pthread_attr_t *, void *(*) (void *), void *) =
		reinterpret_cast<int (*) (pthread_t *, const pthread_attr_t *, void *(*) (void *), void *)>(
			dlsym(RTLD_NEXT, "pthread_create"));

	if (threads.watched)
	{
		sigset_t	blocked;

		if (++threads.started >= threads.fail_at && threads.fail_at > 0)
		{
			threads.started--;
			return EAGAIN;
		}
		(void) pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
		threads.bare += sigismember(&blocked, SIGTERM) != 1 || sigismember(&blocked, SIGUSR1) != 1;
	}
	return real(thread, attr, f, arg);
}

extern "C" int
pthread_join(pthread_t thread, void **result)
{
	static int	(*const real) (pthread_t, void **) =
		reinterpret_cast<int (*) (pthread_t, void **)>(dlsym(RTLD_NEXT, "pthread_join"));

	threads.joined += threads.watched;
	return real(thread, result);
}
#endif

namespace
{

enum
{
	T_RANDOM = 1,
	T_LARGE,
	T_MEMORY,
	T_FAILURES,
	T_RING
};

const PpCudaLibrary *library;
const PpUploadLimits usual = pp_upload_limits;

/* Pieces of few rows, and few rows for each thread. */
void
set_limits(UnitRandom *r)
{
	pp_upload_limits = usual;
	pp_upload_limits.ask_always = unit_once_in(r, 2);
	if (unit_once_in(r, 8))
		return;
	pp_upload_limits.first_rows = 1 + unit_below(r, 30);
	pp_upload_limits.piece_bytes = 16 + 8 * unit_below(r, 80);
	pp_upload_limits.thread_rows = 1 + unit_below(r, 100);
	pp_upload_limits.told_rows = 1 + unit_below(r, 100);
}

/* A level that this processor has. */
PpSimd
random_simd(UnitRandom *r)
{
	const PpSimd level = (PpSimd) unit_below(r, PP_SIMD_LEVELS);

	return pp_trie_kernels(level) ? level : PP_SIMD_LEVELS;
}

struct Relation
{
	std::vector<int64_t> pairs;
	bool		used = true;
	bool		resident = false;	/* on the device, in pieces */
	bool		pinned = false;		/* in memory that it copies from */

	uint32_t
	nrows() const
	{
		return (uint32_t) (pairs.size() / 2);
	}
};

/* A join of relations that nothing is built of, but by the functions of the test. */
struct Join
{
	PpDeviceJoin *join = nullptr;
	std::vector<Relation> relations;
	std::vector<PpJoinRelation> described;
	std::vector<PpJoinAtom> atoms;
	PpJoinQuery query = {};
	UnitHeap	heap = {};
	PpAlloc		alloc;
	bool		used[PP_JOIN_MAX_RELATIONS] = {};
	PpCudaRelation *resident[PP_JOIN_MAX_RELATIONS] = {};
	void	   *pinned[PP_JOIN_MAX_RELATIONS] = {};

	Join(const std::vector<Relation> &of, PpJoinMode mode) : relations(of)
	{
		for (const Relation &r : relations)
		{
			used[described.size()] = r.used;
			atoms.push_back({(uint32_t) described.size(), {0, 1}});
			described.push_back({r.pairs.data(), r.nrows()});
			if (r.pinned && !r.resident && r.nrows() > 0)
				pin((uint32_t) described.size() - 1);
		}
		query.nvariables = 2;
		query.natoms = (uint32_t) atoms.size();
		query.atoms = atoms.data();
		query.nrelations = (uint32_t) relations.size();
		query.relations = described.data();
		query.mode = mode;
		query.simd = PP_SIMD_LEVELS;
		alloc = unit_heap_alloc(&heap);
	}
	Join(const Join &) = delete;
	Join	   &operator=(const Join &) = delete;

	void
	pin(uint32_t r)
	{
		const size_t bytes = relations[r].pairs.size() * sizeof(int64_t);

		pinned[r] = library->pinned_alloc(bytes);
		if (pinned[r] != nullptr)
			memcpy(pinned[r], relations[r].pairs.data(), bytes);
		described[r].pairs = static_cast<const int64_t *>(pinned[r]);
		if (pinned[r] == nullptr)
			described[r].pairs = relations[r].pairs.data();
	}
	~Join()
	{
		pp_device_join_free(join);
		for (PpCudaRelation *each : resident)
			pp_relation_close(each);
		for (void *each : pinned)
			library->pinned_free(each);
		EXPECT(heap.live_blocks == 0, "%zu blocks of the host's memory are left", heap.live_blocks);
	}

	/* All orders of all relations; which comes first depends on turn. */
	void
	plan(uint32_t turn)
	{
		PpStagePlan *p = &join->plan;

		for (uint32_t o = 0; o <= PP_STAGE_LOOPS; o++)
			for (uint32_t r = 0; r < relations.size(); r++)
				if (relations[r].used)
					p->trie[p->ntries++] = {(uint8_t) r, (uint8_t) ((o + turn) % 3)};
	}
	PpJoinStatus
	number(void)
	{
		PpJoinStatus status = pp_device_join_open(&query, &alloc, SIZE_MAX, &join);

		if (status != PP_JOIN_OK)
			return status;
		join->resident = resident;
		status = pp_device_number(join, &query, used);
		join->resident = nullptr;
		return status;
	}

	/* Takes those relations to the device that are to be there, a few rows at a time. */
	bool
	place(void)
	{
		for (uint32_t r = 0; r < relations.size(); r++)
		{
			const uint64_t step = relations[r].nrows() / 3 + 1;

			if (!relations[r].resident)
				continue;
			resident[r] = pp_relation_open();
			if (resident[r] == nullptr)
				return false;
			for (uint64_t at = 0; at < relations[r].nrows(); at += step)
				if (!pp_relation_append(resident[r], relations[r].pairs.data() + 2 * at,
										std::min<uint64_t>(step, relations[r].nrows() - at)))
					return false;
			/* they are not to be looked at here */
			described[r] = {nullptr, 0};
		}
		return true;
	}
	PpJoinStatus
	build(bool rows)
	{
		PpJoinStatus status = PP_JOIN_OK;

		for (uint32_t t = 0; t < join->plan.ntries && status == PP_JOIN_OK; t++)
			status = pp_device_trie(join, t, rows);
		return status;
	}
};

template <class T>
std::vector<T>
fetch(const Join &j, const void *p, size_t n)
{
	return get(static_cast<const T *>(p), n, j.join->stream);
}

/* Different keys of the relations in use. */
std::set<int64_t>
keys_of(const std::vector<Relation> &relations)
{
	std::set<int64_t> keys;

	for (const Relation &r : relations)
		if (r.used)
			keys.insert(r.pairs.begin(), r.pairs.end());
	return keys;
}

/* The number that a key has to have. */
struct Numbers
{
	std::map<int64_t, uint32_t> number;
	bool		direct;
	uint32_t	n;

	explicit Numbers(const Join &j)
	{
		const std::set<int64_t> keys = keys_of(j.relations);
		uint32_t	rank = 0;

		direct = strcmp(j.join->info.dictionary, "direct") == 0;
		for (int64_t k : keys)
			number[k] = direct ? (uint32_t) ((uint64_t) k - (uint64_t) *keys.begin()) : rank++;
		n = keys.empty() ? 0 : direct ? number[*keys.rbegin()] + 1 : rank;
	}
};

void
check_numbers(const Join &j, const Numbers &numbers)
{
	const PpDeviceJoin *d = j.join;
	std::vector<int64_t> names;

	EXPECT(d->nkeys == numbers.n && d->info.nkeys == numbers.n, "%u numbers, %u in the info, not %u",
		   d->nkeys, d->info.nkeys, numbers.n);
	if (d->mode != PP_JOIN_COUNT)
		names = fetch<int64_t>(j, d->names.p, d->nkeys);
	for (size_t i = 0; i < names.size(); i++)
		EXPECT(i == 0 || names[i - 1] < names[i], "name %zu", i);
	for (const auto &each : numbers.number)
		EXPECT(names.empty() || names[each.second] == each.first, "the name of %u", each.second);
}

/* Bits of numbers up to most. */
uint32_t
bits_of(uint32_t most)
{
	uint32_t	bits = 1;

	while (most >> bits != 0)
		bits++;
	return bits;
}

/* Of many numbers only those count whose product begins with four bits of 0. */
bool
is_counted(uint32_t k, uint32_t nkeys)
{
	const uint32_t bits = bits_of(nkeys - 1);

	return nkeys <= 65536 || (k * 2654435761u & ((1u << bits) - 1)) >> (bits - 4) == 0;
}

PpJoinSides
sides_of(const std::vector<std::pair<uint32_t, uint32_t>> &rows, uint32_t nkeys)
{
	PpJoinSides sides = {};

	for (uint32_t column = 0; column < 2; column++)
	{
		std::map<uint32_t, double> count;
		double		sum = 0;
		double		squares = 0;

		for (const auto &row : rows)
		{
			const uint32_t k = column == 0 ? row.first : row.second;

			if (is_counted(k, nkeys))
				count[k]++;
		}
		for (const auto &each : count)
		{
			sum += each.second;
			squares += each.second * each.second;
		}
		sides.nkeys[column] = (double) count.size() * (nkeys <= 65536 ? 1 : 16);
		sides.length[column] = sum > 0 ? squares / sum : 0;
	}
	for (const auto &row : rows)
		sides.nloops += row.first == row.second;
	return sides;
}

void
check_relation(const Join &j, const Numbers &numbers, uint32_t r)
{
	const PpDeviceRelation *d = &j.join->relation[r];
	const std::vector<int64_t> &pairs = j.relations[r].pairs;
	const std::vector<uint64_t> codes = fetch<uint64_t>(j, d->codes.p, d->nrows);
	std::vector<std::pair<uint32_t, uint32_t>> rows;
	PpJoinSides sides;
	uint32_t	nless = 0;
	uint32_t	nequal = 0;

	EXPECT(d->nrows == j.relations[r].nrows(), "relation %u has %u rows", r, d->nrows);
	for (uint32_t i = 0; i < codes.size(); i++)
	{
		rows.emplace_back(numbers.number.at(pairs[2 * i]), numbers.number.at(pairs[2 * i + 1]));
		EXPECT(codes[i] == ((uint64_t) rows[i].first << 32 | rows[i].second),
			   "relation %u: code %u is %llx", r, i, (unsigned long long) codes[i]);
		nless += pairs[2 * i] < pairs[2 * i + 1];
		nequal += pairs[2 * i] == pairs[2 * i + 1];
	}
	EXPECT(d->nless == nless && d->nequal == nequal, "relation %u: %u less, %u equal", r, d->nless,
		   d->nequal);
	sides = sides_of(rows, numbers.n);
	EXPECT(d->sides.nloops == sides.nloops, "relation %u: %g loops", r, d->sides.nloops);
	for (uint32_t c = 0; c < 2; c++)
		EXPECT(d->sides.nkeys[c] == sides.nkeys[c] && d->sides.length[c] == sides.length[c],
			   "relation %u, column %u: %g keys, length %g, not %g and %g", r, c,
			   d->sides.nkeys[c], d->sides.length[c], sides.nkeys[c], sides.length[c]);
}

void
check_trie(const Join &j, const Numbers &numbers, uint32_t t, bool rows)
{
	const PpStageTrie *plan = &j.join->plan.trie[t];
	const PpDeviceTrie *d = &j.join->trie[t];
	const std::vector<int64_t> &pairs = j.relations[plan->relation].pairs;
	const bool	loops = plan->order == PP_STAGE_LOOPS;
	std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> entries;
	std::vector<uint32_t> start(loops ? 0 : (size_t) numbers.n + 1);
	std::vector<uint32_t> list;
	std::vector<uint32_t> first;
	std::vector<uint32_t> row;
	uint32_t	longest = 0;
	bool		duplicates = false;

	for (uint32_t i = 0; i < j.relations[plan->relation].nrows(); i++)
	{
		uint32_t	a = numbers.number.at(pairs[2 * i]);
		uint32_t	b = numbers.number.at(pairs[2 * i + 1]);

		if (plan->order == PP_STAGE_BACKWARD)
			std::swap(a, b);
		if (!loops || a == b)
			entries[{loops ? 0 : a, b}].push_back(i);
	}
	for (const auto &each : entries)
	{
		if (!loops)
			start[each.first.first + 1]++;
		list.push_back(each.first.second);
		first.push_back((uint32_t) row.size());
		row.insert(row.end(), each.second.begin(), each.second.end());
		duplicates |= each.second.size() > 1;
	}
	first.push_back((uint32_t) row.size());
	for (size_t k = 1; k < start.size(); k++)
	{
		longest = std::max(longest, start[k]);
		start[k] += start[k - 1];
	}
	if (loops)
		longest = (uint32_t) list.size();

	EXPECT(d->nentries == list.size(), "trie %u: %u entries, not %zu", t, d->nentries, list.size());
	EXPECT(d->longest == longest, "trie %u: the longest list is %u, not %u", t, d->longest, longest);
	EXPECT((d->start == nullptr) == loops, "trie %u: start", t);
	EXPECT((d->first == nullptr) != duplicates, "trie %u: first", t);
	EXPECT((d->row == nullptr) != rows, "trie %u: row", t);
	EXPECT(d->list != nullptr, "trie %u: list", t);
	if (d->nentries != list.size())
		return;
	EXPECT(fetch<uint32_t>(j, d->list, list.size()) == list, "trie %u: the list", t);
	if (d->start)
		EXPECT(fetch<uint32_t>(j, d->start, start.size()) == start, "trie %u: the starts", t);
	if (d->first)
		EXPECT(fetch<uint32_t>(j, d->first, first.size()) == first, "trie %u: the firsts", t);
	if (d->row)
		EXPECT(fetch<uint32_t>(j, d->row, row.size()) == row, "trie %u: the rows", t);
}

enum Style
{
	CLOSE,						/* small numbers around 0 */
	HIGH,						/* small numbers below INT64_MAX */
	APART,						/* within 31 bits, far between */
	WIDE,						/* anything, the extremes among them */
	CLUSTERS,					/* few stretches far from each other */
	SAME,						/* one key */
	SPREAD,						/* every third of the small numbers */
	STYLES
};

int64_t
random_key(UnitRandom *r, uint32_t style, uint32_t domain)
{
	const uint32_t k = unit_below(r, domain);

	switch (style)
	{
		case CLOSE:
			return (int64_t) k - (int64_t) domain / 2;
		case HIGH:
			return INT64_MAX - (int64_t) k;
		case APART:
			return (int64_t) (k * UINT32_C(2654435761) >> 1) - 1000000000;
		case WIDE:
			return k == 0 ? INT64_MIN : k == 1 ? INT64_MAX :
				(int64_t) (k * UINT64_C(0x9e3779b97f4a7c15));
		case CLUSTERS:
			return (int64_t) ((uint64_t) (k % 3) << 61 | 1) + k / 3;
		case SPREAD:
			return 3 * (int64_t) k;
		default:
			return -7;
	}
}

std::vector<Relation>
random_relations(UnitRandom *r, uint32_t style, uint32_t most)
{
	std::vector<Relation> relations(1 + unit_below(r, 3));

	for (Relation &relation : relations)
	{
		const uint32_t domain = 1 + unit_below(r, unit_once_in(r, 2) ? 20 : most);
		uint32_t	n = unit_once_in(r, 8) ? 0 : unit_below(r, most);

		relation.used = !unit_once_in(r, 6);
		relation.resident = unit_once_in(r, 4);
		relation.pinned = unit_once_in(r, 4);
		for (uint32_t i = 0; i < n; i++)
		{
			relation.pairs.push_back(random_key(r, style, domain));
			relation.pairs.push_back(unit_once_in(r, 10) ? relation.pairs.back() :
									 random_key(r, style, domain));
		}
	}
	return relations;
}

/* Builds all there is, and looks at it. */
PpJoinStatus
build_and_check(Join &j, uint32_t turn, bool rows)
{
	PpJoinStatus status;

	if (!j.place())
		return PP_JOIN_DEVICE_FAILED;
	status = j.number();
	if (status != PP_JOIN_OK)
		return status;
	const Numbers numbers(j);

	check_numbers(j, numbers);
	for (uint32_t r = 0; r < j.relations.size(); r++)
		if (j.relations[r].used)
			check_relation(j, numbers, r);
	j.plan(turn);
	status = j.build(rows);
	for (uint32_t t = 0; t < j.join->plan.ntries && status == PP_JOIN_OK; t++)
		check_trie(j, numbers, t, rows);
	return status;
}

void
test_random(uint64_t i)
{
	UnitRandom	r = unit_random(T_RANDOM, i);
	const uint32_t style = (uint32_t) (i % STYLES);
	const bool	rows = unit_once_in(&r, 2);
	const PpJoinMode mode = rows ? PP_JOIN_ROWS : unit_once_in(&r, 2) ? PP_JOIN_GROUPS : PP_JOIN_COUNT;

	unit_case("random relations %u, style %u", (unsigned) i, style);
	schedule((uint32_t) i);
	set_limits(&r);
	threads.watch(unit_once_in(&r, 3) ? 1 + unit_below(&r, 3) : 0);
	{
		Join		j(random_relations(&r, style, 400), mode);
		PpJoinStatus status;

		j.query.threads = unit_below(&r, 6);
		j.query.simd = random_simd(&r);
		status = build_and_check(j, (uint32_t) i, rows);
		EXPECT(status == PP_JOIN_OK, "status %d: %s", (int) status, library->error());
	}
	threads.check();
}

/* Where the rows are that were told of. */
struct Arrivals
{
	uint64_t	at;
	bool		in_order;
};

PpJoinStatus
arrive(void *ctx, uint64_t from, uint64_t n)
{
	Arrivals   *a = static_cast<Arrivals *>(ctx);

	a->in_order &= from == a->at && n > 0;
	a->at += n;
	return PP_JOIN_OK;
}

/*
 * Uploads one relation as it is to be: narrow rows as long as they are, then wide
 * ones; far is the first row that is not narrow.
 */
void
upload_relation(const Join &j, PpUpload *upload, const std::vector<int64_t> &pairs, uint64_t base,
				uint64_t far)
{
	const uint64_t nrows = pairs.size() / 2;
	const uint64_t most = std::max(pp_upload_limits.piece_bytes / 8, UINT64_C(2));
	Device<uint32_t> narrow(2 * nrows);
	Device<int64_t> wide(2 * nrows);
	Arrivals	arrivals = {0, true};
	PpUploadRows rows = {pairs.data(), nrows, true, base, reinterpret_cast<uint8_t *>(narrow.p), arrive,
						 &arrivals};
	uint64_t	at = 0;
	uint64_t	all;
	PpJoinStatus status = pp_upload_rows(upload, &rows, &at);

	EXPECT(status == PP_JOIN_OK, "status %d: %s", (int) status, library->error());
	EXPECT(far == nrows ? at == nrows : at <= far && far < at + most,
		   "of %u rows, number %u not narrow, %u were sent", (unsigned) nrows, (unsigned) far,
		   (unsigned) at);
	EXPECT(arrivals.at == at, "%u rows of %u told of", (unsigned) arrivals.at, (unsigned) at);
	all = at;
	if (at < nrows)
	{
		rows.narrow = false;
		rows.to = reinterpret_cast<uint8_t *>(wide.p);
		status = pp_upload_rows(upload, &rows, &all);
		EXPECT(status == PP_JOIN_OK, "status %d: %s", (int) status, library->error());
	}
	EXPECT(all == nrows && arrivals.at == nrows && arrivals.in_order, "%u rows of %u sent, %u told of",
		   (unsigned) all, (unsigned) nrows, (unsigned) arrivals.at);
	CUDA(cudaStreamSynchronize(j.join->stream));

	const std::vector<uint32_t> first = fetch<uint32_t>(j, narrow.p, 2 * at);
	const std::vector<int64_t> second = fetch<int64_t>(j, wide.p + 2 * at, 2 * (nrows - at));

	uint64_t	same = 0;

	while (same < 2 * at && base + first[same] == (uint64_t) pairs[same])
		same++;
	EXPECT(same == 2 * at, "key %u of %u", (unsigned) same, 2 * (unsigned) nrows);
	EXPECT(std::equal(second.begin(), second.end(), pairs.begin() + (ptrdiff_t) (2 * at)),
		   "rows behind number %u", (unsigned) at);
}

/* Now and then much slower than other threads. */
bool
narrow_slowly(const int64_t *keys, size_t n, uint64_t base, uint32_t *to)
{
	const struct timespec pause = {0, 50000};

	if ((uint64_t) keys[0] % 4 == 0)
		(void) nanosleep(&pause, nullptr);
	return pp_trie_best_kernels()->narrow(keys, n, base, to);
}

/* The ring by itself: threads that there are and are not, keys that are not narrow;
 * pieces as they are, and threads for as many rows as these are for, once. */
void
test_ring(uint64_t i)
{
	UnitRandom	r = unit_random(T_RING, i);
	const uint64_t base = unit_next(&r);
	const bool	large = i == 0;
	const uint32_t nthreads = large ? 2 : unit_below(&r, 9);
	const uint32_t fail = unit_once_in(&r, 3) ? 1 + unit_below(&r, 4) : 0;
	uint32_t	most = 0;
	uint32_t	worth;
	std::vector<std::vector<int64_t>> pairs(1 + unit_below(&r, 3));
	std::vector<uint64_t> far;

	unit_case("ring %u, %u threads", (unsigned) i, nthreads);
	schedule((uint32_t) i);
	set_limits(&r);
	if (large)
		pp_upload_limits = usual;
	for (auto &each : pairs)
	{
		const uint32_t nrows = large ? 600000 : 1 + unit_below(&r, unit_once_in(&r, 3) ? 10 : 3000);

		for (uint32_t k = 0; k < 2 * nrows; k++)
			each.push_back((int64_t) (base + (uint32_t) unit_next(&r)));
		far.push_back(nrows);
		most = std::max(most, nrows);
		for (uint32_t n = unit_once_in(&r, 2) ? 1 + unit_below(&r, 4) : 0; n > 0; n--)
		{
			const uint32_t k = unit_below(&r, 2 * nrows);

			each[k] = (int64_t) (base + unit_below(&r, 100) + (UINT64_C(1) << (32 + unit_below(&r, 32))));
			far.back() = std::min<uint64_t>(far.back(), k / 2);
		}
	}
	worth = (uint32_t) std::min<uint64_t>(most / pp_upload_limits.thread_rows, nthreads);
	threads.watch(fail);
	{
		Join		j({Relation()}, PP_JOIN_COUNT);
		PpUpload	upload = {};

		j.query.threads = nthreads;
		j.query.simd = random_simd(&r);
		EXPECT(pp_device_join_open(&j.query, &j.alloc, SIZE_MAX, &j.join) == PP_JOIN_OK, "%s",
			   library->error());
		pp_upload_begin(&upload, j.join, &j.query, most);
		PpTrieKernels slow = *upload.kernels;

		slow.narrow = narrow_slowly;
		if (unit_once_in(&r, 2))
			upload.kernels = &slow;
		for (size_t k = 0; k < pairs.size(); k++)
			upload_relation(j, &upload, pairs[k], base, far[k]);
		if (unit_once_in(&r, 2))
			pp_upload_end(&upload);
		pp_upload_close(&upload);
		EXPECT(!THREADS_ARE_WATCHED || threads.started == (fail == 0 ? std::max(worth, 1u) - 1 :
														   std::min(std::max(worth, 1u), fail) - 1),
			   "%u threads were started for %u rows, of %u", threads.started.load(), most, nthreads);
	}
	threads.check();
}

/* Rows of one style, and of another from row number from on. */
Relation
large_relation(UnitRandom *r, uint32_t n, uint32_t style, uint32_t domain, uint32_t from, uint32_t other)
{
	Relation	relation;

	for (uint32_t i = 0; i < 2 * n; i++)
		relation.pairs.push_back(random_key(r, i / 2 < from ? style : other, domain));
	return relation;
}

/* Rows that come in several pieces, keys that need room, more of them than are counted. */
void
test_large(void)
{
	static const struct
	{
		const char *what;
		uint32_t	nrows[2];
		uint32_t	style;
		uint32_t	domain;
		uint32_t	from;
		uint32_t	other;
		const char *dictionary;
	}			cases[] = {
		{"many numbers", {30000, 9000}, SPREAD, 40000, 30000, SPREAD, "direct"},
		{"few different keys", {12000, 4000}, WIDE, 200, 12000, WIDE, "sort"},
		{"many different keys", {12000, 4000}, WIDE, 100000, 12000, WIDE, "sort"},
		{"half as many", {12000, 0}, APART, 6000, 12000, APART, "sort"},
		{"wide in the end", {30000, 5000}, APART, 20000, 29999, WIDE, "sort"},
		{"wide in the second piece", {12000, 5000}, CLOSE, 4000, 4097, CLUSTERS, "sort"},
		{"narrow at first only", {5000, 12000}, CLOSE, 4000, 5000, WIDE, "sort"},
		{"near the greatest key", {12000, 0}, HIGH, 4000, 12000, HIGH, "direct"}
	};
	uint32_t	i = 0;

	for (const auto &c : cases)
		for (uint32_t resident = 0; resident < 2; resident++)
		{
			UnitRandom	r = unit_random(T_LARGE, i);

			/* with sanitizers, the one of number 5 */
			if (!is_done(i++ + 15))
				continue;
			unit_case("%s, %u resident", c.what, resident);
			schedule(i);
			{
				std::vector<Relation> relations = {
					large_relation(&r, c.nrows[0], c.style, c.domain, c.from, c.other),
					large_relation(&r, c.nrows[1], c.style, c.domain, c.from, c.other)
				};

				relations[i % 2].resident = resident != 0;
				relations[1 - i % 2].pinned = resident != 0;
				{
					Join		j(relations, PP_JOIN_GROUPS);
					PpJoinStatus status;

					set_limits(&r);
					pp_upload_limits.piece_bytes *= 50;
					threads.watch(0);
					j.query.threads = 1 + i % 5;
					status = build_and_check(j, i, false);
					threads.check();
					EXPECT(status == PP_JOIN_OK, "status %d: %s", (int) status, library->error());
					EXPECT(strcmp(j.join->info.dictionary, c.dictionary) == 0, "%s",
						   j.join->info.dictionary);
				}
			}
		}
}

/*
 * Device memory: with a limit at what join_build.cu and join_tries.cu say, and a
 * little for what does not grow, everything fits; with half of that nothing does.
 */
void
test_memory(void)
{
	static const struct
	{
		const char *what;
		uint32_t	style;
		uint32_t	domain;
		uint32_t	number;		/* bytes a row, names left out */
		uint32_t	codes;
	}			cases[] = {
		{"direct", CLOSE, 16000, 8, 8},
		{"narrow, few keys", APART, 2000, 8 + 8, 8},
		{"wide, few keys", WIDE, 2000, 16 + 8, 8},
		/* codes may get a block that keys were sorted in, of twice their size */
		{"wide, all different", WIDE, 0x7fffffff, 16 + 32, 16}
	};
	const uint32_t n = 40000;
	const uint64_t little = 192 * 1024;
	uint64_t	i = 0;

	pp_upload_limits = usual;

	for (const auto &c : cases)
		for (uint32_t rows = 0; rows < 2; rows++)
			for (uint32_t part = 1; part <= 2; part++)
			{
				UnitRandom	r = unit_random(T_MEMORY, rows);

				if (!is_done(++i))
					continue;
				unit_case("memory of %s, rows %u, a part of %u", c.what, rows, part);
				schedule(1);
				pp_memory_trim();
				{
					Join		j({large_relation(&r, n, c.style, c.domain, n, c.style)},
								  rows ? PP_JOIN_ROWS : PP_JOIN_COUNT);
					const uint64_t nkeys = keys_of(j.relations).size();
					const uint64_t names = strcmp(c.what, "direct") != 0 || rows ? 8 * nkeys : 0;
					PpJoinStatus status;

					pp_memory_limit((c.number * (uint64_t) n + names) / part + little);
					status = j.number();
					EXPECT(part == 1 ? status == PP_JOIN_OK : status == PP_JOIN_NO_FIT,
						   "numbering: status %d", (int) status);
					if (status == PP_JOIN_OK)
					{
						/* one trie, of the last codes; names stay */
						const uint64_t trie = 4 * (uint64_t) j.join->nkeys + 4 * n;

						j.join->plan.ntries = 1;
						j.join->plan.trie[0] = {0, PP_STAGE_FORWARD};
						pp_memory_trim();
						pp_memory_limit((c.codes + 8 + (rows ? 8 : 0)) * (uint64_t) n +
										(j.join->names.p ? names : 0) + trie + little);
						status = j.build(rows != 0);
						EXPECT(status == PP_JOIN_OK, "the trie: status %d", (int) status);
					}
					pp_memory_limit(UINT64_MAX);
				}
			}
}

/* Keys around the borders of what is narrow, by what the first of them is. */
void
test_borders(void)
{
	static const int64_t first[] = {0, INT64_MIN, INT64_MAX, -1, INT64_C(1) << 31};
	const uint64_t half = UINT64_C(1) << 31;

	for (int64_t f : first)
		for (uint32_t last = 0; last < 6; last++)
		{
			const uint64_t beyond[] = {half - 1, half, half + 1, 0 - half, 0 - half - 1, 3 * half};

			unit_case("the first key is %lld, the last one of kind %u", (long long) f, last);
			schedule(last);
			pp_upload_limits = usual;
			pp_upload_limits.first_rows = 1 + last % 3;
			{
				Relation	relation;
				PpJoinStatus status;

				for (uint64_t d : {UINT64_C(0), half - 2, 0 - half + 1, UINT64_C(7), beyond[last],
								   UINT64_C(0)})
					relation.pairs.push_back((int64_t) ((uint64_t) f + d));
				{
					Join		j({relation}, PP_JOIN_ROWS);

					status = build_and_check(j, last, true);
				}
				EXPECT(status == PP_JOIN_OK, "status %d: %s", (int) status, library->error());
			}
		}
}

struct Cancelling
{
	uint32_t	asked = 0;
	uint32_t	at;				/* question that is answered by yes, as all behind it */
	pthread_t	caller = pthread_self();
	bool		elsewhere = false;
};

bool
cancelled(void *ctx)
{
	Cancelling *c = static_cast<Cancelling *>(ctx);

	c->elsewhere |= !pthread_equal(pthread_self(), c->caller);
	return ++c->asked >= c->at;
}

/* Stops at every piece of an upload, and later; only the calling thread is asked. */
void
test_cancel(void)
{
	UnitRandom	r = unit_random(T_LARGE, 100);
	const Relation relation = large_relation(&r, 15000, APART, 5000, 13000, WIDE);

	for (uint32_t at = 1; at < 2000; at += 1 + at / 16)
	{
		Cancelling	c;
		PpJoinStatus status;

		if (!is_done(at) && at > 3)
			continue;
		unit_case("cancelled when asked for the %uth time", at);
		schedule(at);
		set_limits(&r);
		pp_upload_limits.ask_always = true;
		pp_upload_limits.piece_bytes *= 5;
		threads.watch(0);
		c.at = at;
		{
			Join		j({relation}, PP_JOIN_COUNT);

			j.query.threads = at % 5;
			j.query.cancelled = cancelled;
			j.query.cancel_ctx = &c;
			status = j.number();
			if (status == PP_JOIN_OK)
			{
				j.plan(at);
				status = j.build(false);
			}
			EXPECT(status == (c.asked >= at ? PP_JOIN_CANCELLED : PP_JOIN_OK), "status %d, asked %u",
				   (int) status, c.asked);
			EXPECT(!c.elsewhere, "another thread asks");
		}
		threads.check();
		if (status == PP_JOIN_OK)
			break;
	}
}

/* Every allocation, copy and launch fails in turn. */
void
test_failures(SimtCall kind, const char *name)
{
	UnitRandom	r = unit_random(T_FAILURES, 0);
	const std::vector<Relation> relations[] = {random_relations(&r, WIDE, 300),
											   random_relations(&r, CLOSE, 300)};

	for (uint32_t which = 0; which < 2; which++)
		for (uint64_t nth = 1; nth < 1000; nth++)
		{
			PpJoinStatus status;

			if (!is_done(nth) && nth > 3)
				continue;
			unit_case("%s number %u fails, relations %u", name, (unsigned) nth, which);
			schedule((uint32_t) nth);
			simt_report_to_stderr(false);
			pp_upload_limits = {7, 256, 40, 30, nth % 2 == 0};
			threads.watch(0);
			{
				Join		j(relations[which], PP_JOIN_ROWS);

				j.query.threads = 1 + nth % 4;
				pp_memory_trim();
				simt_inject(kind, nth, false);
				status = j.place() ? j.number() : PP_JOIN_DEVICE_FAILED;
				if (status == PP_JOIN_OK)
				{
					j.plan(0);
					status = j.build(true);
				}
				simt_inject(kind, 0, false);
				EXPECT(status == PP_JOIN_OK || status == PP_JOIN_DEVICE_FAILED ||
					   (kind == SIMT_ALLOC && status == PP_JOIN_NO_FIT), "status %d", (int) status);
			}
			threads.check();
			restart_library(library);
			if (status == PP_JOIN_OK)
				break;
		}
}

}								/* namespace */

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "join_build_test");
	library = pp_cuda_library(PP_CUDA_VERSION);
	unit_case("start");
	start_library(library);
	for (uint64_t i = 0; i < unit_iterations(140); i++)
		test_random(i);
	for (uint64_t i = 0; i < unit_iterations(300); i++)
		test_ring(i);
	test_large();
	test_borders();
	test_cancel();
	if (simt_present())
		test_memory();
	if (simt_present())
	{
		test_failures(SIMT_ALLOC, "allocation");
		test_failures(SIMT_COPY, "copy");
		test_failures(SIMT_LAUNCH, "launch");
		test_failures(SIMT_EXECUTION, "execution");
	}
	library->stop();
	check_leftovers();
	return unit_end();
}

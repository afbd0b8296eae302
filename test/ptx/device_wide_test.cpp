/*
 * test/ptx/device_wide_test.cpp
 *	  The functions of cuda/device_wide.h against loops over arrays.
 *
 *	  device_wide_test [LARGEST [SEEDS]]
 *
 * Sizes around those at which the work changes shape, up to LARGEST elements;
 * small sizes under SEEDS random schedules as well as the orderly one.  Every
 * array has guard bytes behind it, scratch memory has the size asked for.
 */
#include "../../cuda/device_wide.h"
#include "../simt/control.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

static unsigned passed, failed;
static uint32_t seed;
static std::string context;

static void
check(bool ok, const char *what)
{
	if (ok)
		passed++;
	else
	{
		failed++;
		printf("FAILED: %s: %s (seed %u)\n", context.c_str(), what, seed);
	}
}

static uint64_t
random64()
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * UINT64_C(0x2545f4914f6cdd1d);
}

/* Device memory with guard bytes behind it. */
template <class T>
struct Array
{
	static constexpr size_t GUARD = 64;
	T		   *p = nullptr;
	size_t		n;

	explicit Array(size_t count) : n(count)
	{
		if (cudaMalloc(&p, n * sizeof(T) + GUARD) != cudaSuccess)
			exit(2);
		cudaMemset(p, 0xe7, n * sizeof(T) + GUARD);
	}
	explicit Array(const std::vector<T> &v) : Array(v.size())
	{
		put(v);
	}
	~Array()
	{
		cudaFree(p);
	}
	Array(const Array &) = delete;
	void put(const std::vector<T> &v)
	{
		cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
	}
	std::vector<T> get() const
	{
		std::vector<T> v(n);

		cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost);
		return v;
	}
	bool guarded() const
	{
		std::vector<uint8_t> guard(GUARD);

		cudaMemcpy(guard.data(), p + n, GUARD, cudaMemcpyDeviceToHost);
		for (uint8_t g : guard)
			if (g != 0xe7)
				return false;
		return true;
	}
};

template <class T>
static bool
same(const std::vector<T> &a, const std::vector<T> &b)
{
	return a.size() == b.size() && (a.empty() || memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/* Both steps of a call; the bytes of scratch memory. */
static size_t
call(const std::function<cudaError_t(void *, size_t *, cudaStream_t)> &function)
{
	size_t		bytes = 0;
	cudaStream_t stream;

	check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "stream");
	check(function(nullptr, &bytes, stream) == cudaSuccess, "size of scratch memory");
	/* the guard bytes would hide that a few more are used */
	void	   *temp = nullptr;

	check(cudaMalloc(&temp, bytes ? bytes : 1) == cudaSuccess, "scratch memory");
	check(function(temp, &bytes, stream) == cudaSuccess, "call");
	check(cudaStreamSynchronize(stream) == cudaSuccess && cudaGetLastError() == cudaSuccess, "execution");
	cudaFree(temp);
	cudaStreamDestroy(stream);
	return bytes;
}

static void
test_vectors(uint32_t n)
{
	std::vector<PpVector> in(n), expected(n);
	PpVector	acc = PP_VEC_IDENTITY;

	for (uint32_t i = 0; i < n; i++)
	{
		in[i] = random64();
		/* a vector at random forgets everything within a few; most must not */
		if (random64() % 4 != 0)
		{
			unsigned	a = random64() % 16, b = random64() % 16;

			in[i] = PP_VEC_IDENTITY & ~(UINT64_C(15) << (4 * a)) & ~(UINT64_C(15) << (4 * b));
			in[i] |= (uint64_t) b << (4 * a);
			if (a != b)
				in[i] |= (uint64_t) a << (4 * b);
		}
		expected[i] = acc;
		acc = pp_vec_compose(acc, in[i]);
	}

	Array<PpVector> from(in), to(n);

	call([&](void *t, size_t *b, cudaStream_t s) { return pp_scan_vectors(t, b, from.p, to.p, n, s); });
	check(same(to.get(), expected), "vectors");
	check(to.guarded(), "guard");
	call([&](void *t, size_t *b, cudaStream_t s) { return pp_scan_vectors(t, b, from.p, from.p, n, s); });
	check(same(from.get(), expected), "vectors in place");
}

static void
test_offsets(uint32_t n)
{
	std::vector<PpChunkOffset> in(n), expected(n);
	PpChunkOffset first = {(uint32_t) (random64() % 1000), (uint32_t) (random64() % 9)};
	PpChunkOffset acc = first;

	for (uint32_t i = 0; i < n; i++)
	{
		in[i].records = random64() % 4 == 0 ? random64() % 3 : 0;
		in[i].column = (uint32_t) (random64() % 5) | (in[i].records ? PP_COLUMN_ABSOLUTE : 0);
		expected[i] = acc;
		acc = pp_chunk_offset_combine(acc, in[i]);
	}

	Array<PpChunkOffset> from(in), to(n);

	call([&](void *t, size_t *b, cudaStream_t s) { return pp_scan_offsets(t, b, from.p, to.p, first, n, s); });
	check(same(to.get(), expected), "offsets");
	check(to.guarded(), "guard");
	call([&](void *t, size_t *b, cudaStream_t s) { return pp_scan_offsets(t, b, from.p, from.p, first, n, s); });
	check(same(from.get(), expected), "offsets in place");
}

template <class T>
static void
test_sum(uint32_t n, cudaError_t (*function) (void *, size_t *, const T *, T *, uint32_t, cudaStream_t))
{
	std::vector<T> in(n), expected(n);
	T			acc = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		in[i] = (T) random64();
		expected[i] = acc;
		acc = (T) (acc + in[i]);
	}

	Array<T>	from(in), to(n);

	call([&](void *t, size_t *b, cudaStream_t s) { return function(t, b, from.p, to.p, n, s); });
	check(same(to.get(), expected), "sums");
	check(to.guarded(), "guard");
	call([&](void *t, size_t *b, cudaStream_t s) { return function(t, b, from.p, from.p, n, s); });
	check(same(from.get(), expected), "sums in place");
}

/* Stable order of the keys' bits. */
static std::vector<uint32_t>
order(const std::vector<uint8_t> &key, unsigned first, unsigned end)
{
	std::vector<std::vector<uint32_t>> bins(256);
	std::vector<uint32_t> all;

	for (uint32_t i = 0; i < key.size(); i++)
		bins[(key[i] >> first) & ((1u << (end - first)) - 1)].push_back(i);
	for (auto &bin : bins)
		all.insert(all.end(), bin.begin(), bin.end());
	return all;
}

static void
test_sorts(uint32_t n, unsigned first, unsigned end, unsigned distinct)
{
	std::vector<uint8_t> key(n), symbol(n), sorted_key(n), sorted_symbol(n);
	std::vector<PpTaggedSymbol> tagged(n), sorted_tagged(n);

	for (uint32_t i = 0; i < n; i++)
	{
		/* long runs, as columns have them */
		key[i] = i != 0 && random64() % 4 != 0 ? key[i - 1] : (uint8_t) (random64() % distinct);
		symbol[i] = (uint8_t) random64();
		tagged[i].symbol = symbol[i];
		memcpy(tagged[i].record, &i, 4);
	}

	std::vector<uint32_t> at = order(key, first, end);

	for (uint32_t i = 0; i < n; i++)
	{
		sorted_key[i] = key[at[i]];
		sorted_symbol[i] = symbol[at[i]];
		sorted_tagged[i] = tagged[at[i]];
	}

	Array<uint8_t> key_in(key), key_out(n), symbol_in(symbol), symbol_out(n);
	size_t		bytes;

	bytes = call([&](void *t, size_t *b, cudaStream_t s)
		 { return pp_sort_symbols(t, b, key_in.p, key_out.p, symbol_in.p, symbol_out.p, n, first, end, s); });
	check(bytes <= n / 4 + 8192, "scratch memory of a sort");
	check(same(key_out.get(), sorted_key) && same(symbol_out.get(), sorted_symbol), "sorted symbols");
	check(same(key_in.get(), key) && same(symbol_in.get(), symbol), "input is left alone");
	check(key_out.guarded() && symbol_out.guarded(), "guard");

	Array<PpTaggedSymbol> tagged_in(tagged), tagged_out(n);

	bytes = call([&](void *t, size_t *b, cudaStream_t s)
		 { return pp_sort_tagged(t, b, key_in.p, key_out.p, tagged_in.p, tagged_out.p, n, first, end, s); });
	check(bytes <= n / 4 + 8192, "scratch memory of a sort");
	check(same(key_out.get(), sorted_key) && same(tagged_out.get(), sorted_tagged), "sorted tagged symbols");
	check(same(tagged_in.get(), tagged), "input is left alone");
	check(key_out.guarded() && tagged_out.guarded(), "guard");
}

/* Keys alone, and with values; the result goes where the number of passes says. */
static void
test_sorts64(uint32_t n, unsigned first, unsigned end, unsigned distinct)
{
	const uint64_t mask = end - first == 64 ? UINT64_MAX : (UINT64_C(1) << (end - first)) - 1;
	const bool	even = pp_sort_passes(first, end) % 2 == 0;
	std::vector<uint64_t> key(n), sorted_key(n), few(distinct);
	std::vector<uint32_t> value(n), sorted_value(n), at(n);

	for (uint64_t &f : few)
		f = random64();
	for (uint32_t i = 0; i < n; i++)
	{
		key[i] = few[random64() % distinct];
		value[i] = i;
		at[i] = i;
	}
	std::stable_sort(at.begin(), at.end(), [&](uint32_t x, uint32_t y)
					 { return (key[x] >> first & mask) < (key[y] >> first & mask); });
	for (uint32_t i = 0; i < n; i++)
	{
		sorted_key[i] = key[at[i]];
		sorted_value[i] = value[at[i]];
	}
	for (int pairs = 0; pairs < 2; pairs++)
	{
		Array<uint64_t> keys(key), other(n);
		Array<uint32_t> values(value), other_value(n);
		size_t		bytes;

		bytes = call([&](void *t, size_t *b, cudaStream_t s)
					 {
						 return pairs ? pp_sort_pairs64(t, b, keys.p, other.p, values.p, other_value.p, n, first, end, s) :
						 pp_sort_keys64(t, b, keys.p, other.p, n, first, end, s);
					 });
		check(bytes <= n / 4 + 65536, "scratch memory of a sort of 64 bits");
		check(same((even ? keys : other).get(), sorted_key), "sorted keys");
		check(!pairs || same((even ? values : other_value).get(), sorted_value), "sorted values");
		check(keys.guarded() && other.guarded() && values.guarded() && other_value.guarded(), "guard");
	}
}

static void
test_selects(uint32_t n, unsigned one_in)
{
	std::vector<uint8_t> byte(n);
	std::vector<uint32_t> flagged, equal;

	for (uint32_t i = 0; i < n; i++)
	{
		byte[i] = (uint8_t) random64();
		if (random64() % one_in == 0)
			byte[i] = random64() % 2 ? 0x30 : 0x10;
		if (byte[i] & 0x21)
			flagged.push_back(i);
		if (byte[i] == 0x30)
			equal.push_back(i);
	}

	Array<uint8_t> in(byte);

	for (int round = 0; round < 2; round++)
	{
		const std::vector<uint32_t> &expected = round ? equal : flagged;
		Array<uint32_t> position(expected.size()), count(1);

		call([&](void *t, size_t *b, cudaStream_t s)
			 {
				 return round ? pp_select_equal(t, b, in.p, 0x30, position.p, count.p, n, s) :
				 pp_select_flagged(t, b, in.p, 0x21, position.p, count.p, n, s);
			 });
		check(count.get()[0] == expected.size(), "number of positions");
		check(same(position.get(), expected), "positions");
		check(position.guarded() && count.guarded(), "guard");
	}
}

static void
test_runs(uint32_t n, unsigned longest)
{
	std::vector<uint8_t> key(n);
	std::vector<PpTaggedSymbol> tagged(n);
	std::vector<uint64_t> pair;
	std::vector<uint32_t> length;
	uint32_t	record = 0, left = 0;
	uint8_t		column = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		if (left == 0)
		{
			left = 1 + (uint32_t) (random64() % longest);
			/* one of the two or both change */
			switch (random64() % 3)
			{
				case 0:
					column++;
					break;
				case 1:
					record += 1 + (uint32_t) (random64() % 70000);
					break;
				default:
					column++;
					record = (uint32_t) random64();
					break;
			}
			pair.push_back((uint64_t) column << 32 | record);
			length.push_back(0);
		}
		left--;
		length.back()++;
		key[i] = column;
		tagged[i].symbol = (uint8_t) random64();
		memcpy(tagged[i].record, &record, 4);
	}

	Array<uint8_t> keys(key);
	Array<PpTaggedSymbol> symbols(tagged);
	Array<uint64_t> pairs(pair.size());
	Array<uint32_t> lengths(length.size()), count(1);

	call([&](void *t, size_t *b, cudaStream_t s)
		 { return pp_run_lengths(t, b, keys.p, symbols.p, pairs.p, lengths.p, count.p, n, s); });
	check(count.get()[0] == pair.size(), "number of runs");
	check(same(pairs.get(), pair), "pairs of runs");
	check(same(lengths.get(), length), "lengths of runs");
	check(pairs.guarded() && lengths.guarded() && count.guarded(), "guard");
}

static void
test_size(uint32_t n)
{
	auto		named = [n](const char *what) { context = std::string(what) + " of " + std::to_string(n); };

	named("scan of vectors");
	test_vectors(n);
	named("scan of offsets");
	test_offsets(n);
	named("scan of 32-bit sums");
	test_sum<uint32_t>(n, pp_scan_sum32);
	named("scan of 64-bit sums");
	test_sum<uint64_t>(n, pp_scan_sum64);
	named("sorts by 8 bits");
	test_sorts(n, 0, 8, 256);
	named("sorts by 7 bits");
	test_sorts(n, 0, 7, 19);
	named("sorts by bits 2 to 5");
	test_sorts(n, 2, 5, 256);
	named("sorts by all of 64 bits");
	if (n <= 20000)
		test_sorts64(n, 0, 64, 1u << 20);
	named("sorts by bits 3 to 20 of 64");
	test_sorts64(n, 3, 20, 1u << 20);
	named("sorts of few keys by bits 40 to 64");
	test_sorts64(n, 40, 64, 3);
	named("selections, few");
	test_selects(n, 1000);
	named("selections, many");
	test_selects(n, 2);
	named("short runs");
	test_runs(n, 3);
	named("long runs");
	test_runs(n, 5000);
}

static void
test_refusals()
{
	size_t		bytes = 0;

	context = "refusals";
	check(pp_sort_symbols(nullptr, &bytes, nullptr, nullptr, nullptr, nullptr, 5, 0, 9, nullptr) ==
		  cudaErrorInvalidValue, "bits behind the key");
	check(pp_sort_symbols(nullptr, &bytes, nullptr, nullptr, nullptr, nullptr, 5, 3, 3, nullptr) ==
		  cudaErrorInvalidValue, "no bits");
	check(pp_sort_keys64(nullptr, &bytes, nullptr, nullptr, 5, 1, 65, nullptr) ==
		  cudaErrorInvalidValue, "bits behind the key of 64");
	check(pp_sort_pairs64(nullptr, &bytes, nullptr, nullptr, nullptr, nullptr, 5, 64, 64, nullptr) ==
		  cudaErrorInvalidValue, "no bits of 64");
}

int
main(int argc, char **argv)
{
	static const uint32_t SIZES[] = {
		0, 1, 31, 32, 33, 255, 1000, 4095, 4096, 7679, 7680, 7681, 20000, 100000, 1000000
	};
	uint32_t	largest = argc > 1 ? (uint32_t) strtoul(argv[1], nullptr, 10) : 100000;
	uint32_t	seeds = argc > 2 ? (uint32_t) strtoul(argv[2], nullptr, 10) : 3;

	for (seed = 0; seed <= seeds; seed++)
	{
		SimtConfig	config = {};

		config.seed = seed;
		config.resident = seed % 2 ? 8 : 3;
		config.preempt = seed != 0 ? 16384 : 0;
		simt_configure(&config);
		for (uint32_t n : SIZES)
			if (n <= largest && (seed == 0 || n <= 20000))
				test_size(n);
	}
	test_refusals();
	context = "at the end";
	check(simt_reports() == 0, "something was reported");

	/* nothing but CUB did it */
	SimtKernelCount kernel;
	size_t		kernels = 0;

	for (; simt_kernel(kernels, &kernel); kernels++)
		check(strncmp(kernel.name, "cub::", 5) == 0, kernel.name);
	check(kernels >= 8, "too few kernels");
	printf("wide: %u passed, %u failed\n", passed, failed);
	return failed != 0;
}

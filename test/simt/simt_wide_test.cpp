/*
 * test/simt/simt_wide_test.cpp
 *	  The host's twins of cuda/device_wide.h: results against plain loops, and
 *	  callers that break the contract.
 */
#include "../../cuda/device_wide.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "control.h"
#include "unit.h"

static cudaStream_t stream;

template <class T>
struct Device
{
	T		   *p;
	size_t		n;

	explicit Device(size_t count) : p(nullptr), n(count)
	{
		EXPECT(cudaMalloc(&p, (n == 0 ? 1 : n) * sizeof(T)) == cudaSuccess, "allocation");
	}
	explicit Device(const std::vector<T> &from) : Device(from.size())
	{
		EXPECT(cudaMemcpy(p, from.data(), n * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess,
			   "copy");
	}
	~Device()
	{
		(void) cudaFree(p);
	}
	Device(const Device &) = delete;
	Device &operator=(const Device &) = delete;

	std::vector<T> get() const
	{
		std::vector<T> to(n);

		EXPECT(cudaMemcpyAsync(to.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost, stream) ==
			   cudaSuccess, "copy");
		EXPECT(cudaStreamSynchronize(stream) == cudaSuccess, "%s", simt_last_report());
		return to;
	}
};

/* Both steps. */
template <class F>
static cudaError_t
in_two_steps(F f)
{
	size_t		bytes = 0;
	cudaError_t error = f(static_cast<void *>(nullptr), &bytes);
	void	   *temp = nullptr;

	EXPECT(error == cudaSuccess && bytes > 0, "first step");
	EXPECT(cudaMallocAsync(&temp, bytes, stream) == cudaSuccess, "scratch memory");
	error = f(temp, &bytes);
	EXPECT(cudaFreeAsync(temp, stream) == cudaSuccess, "scratch memory");
	return error;
}

static void
test_scans(UnitRandom *r, uint32_t n)
{
	std::vector<uint32_t> small(n);
	std::vector<uint64_t> large(n);
	std::vector<PpVector> vectors(n);
	std::vector<PpChunkOffset> offsets(n);
	PpChunkOffset first = {(uint32_t) unit_next(r), unit_below(r, 100)};
	uint32_t	sum32 = 0;
	uint64_t	sum64 = 0;
	PpVector	vector = PP_VEC_IDENTITY;
	uint32_t	records = first.records;
	uint32_t	fields = first.column;
	bool		absolute = false;

	for (uint32_t i = 0; i < n; i++)
	{
		small[i] = (uint32_t) unit_next(r);
		large[i] = unit_next(r);
		vectors[i] = unit_next(r);
		offsets[i] = {unit_below(r, 5), unit_below(r, 7) |
			(unit_once_in(r, 3) ? PP_COLUMN_ABSOLUTE : 0)};
	}
	Device<uint32_t> a(small);
	Device<uint64_t> b(large);
	Device<uint64_t> b_out(n);
	Device<PpVector> c(vectors);
	Device<PpChunkOffset> d(offsets);

	EXPECT(in_two_steps([&](void *t, size_t *k) {
		return pp_scan_sum32(t, k, a.p, a.p, n, stream);
	}) == cudaSuccess, "sum32");
	EXPECT(in_two_steps([&](void *t, size_t *k) {
		return pp_scan_sum64(t, k, b.p, b_out.p, n, stream);
	}) == cudaSuccess, "sum64");
	EXPECT(in_two_steps([&](void *t, size_t *k) {
		return pp_scan_vectors(t, k, c.p, c.p, n, stream);
	}) == cudaSuccess, "vectors");
	EXPECT(in_two_steps([&](void *t, size_t *k) {
		return pp_scan_offsets(t, k, d.p, d.p, first, n, stream);
	}) == cudaSuccess, "offsets");

	std::vector<uint32_t> got_a = a.get();
	std::vector<uint64_t> got_b = b_out.get();
	std::vector<PpVector> got_c = c.get();
	std::vector<PpChunkOffset> got_d = d.get();

	for (uint32_t i = 0; i < n; i++)
	{
		PpVector	next = 0;

		EXPECT(got_a[i] == sum32, "sum32[%u]", i);
		EXPECT(got_b[i] == sum64, "sum64[%u]", i);
		EXPECT(got_c[i] == vector, "vectors[%u]", i);
		EXPECT(got_d[i].records == records && got_d[i].column ==
			   (fields | (absolute ? PP_COLUMN_ABSOLUTE : 0)), "offsets[%u]", i);
		sum32 += small[i];
		sum64 += large[i];
		for (int s = 0; s < 16; s++)
			next |= (vectors[i] >> (4 * (vector >> (4 * s) & 15)) & 15) << (4 * s);
		vector = next;
		records += offsets[i].records;
		if ((offsets[i].column & PP_COLUMN_ABSOLUTE) != 0)
		{
			absolute = true;
			fields = offsets[i].column & ~PP_COLUMN_ABSOLUTE;
		}
		else
			fields += offsets[i].column;
	}
}

static void
test_sorts(UnitRandom *r, uint32_t n)
{
	const uint32_t first_bit = unit_below(r, 7);
	const uint32_t end_bit = first_bit + 1 + unit_below(r, 8 - first_bit);
	std::vector<uint8_t> keys(n);
	std::vector<uint8_t> symbols(n);
	std::vector<PpTaggedSymbol> tagged(n);
	std::vector<uint32_t> order(n);

	for (uint32_t i = 0; i < n; i++)
	{
		keys[i] = (uint8_t) unit_next(r);
		symbols[i] = (uint8_t) i;
		tagged[i] = {(uint8_t) (i * 3), {(uint8_t) i, (uint8_t) (i >> 8), (uint8_t) (i >> 16), 1}};
		order[i] = i;
	}
	std::sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
		uint32_t	mask = (1u << (end_bit - first_bit)) - 1;
		uint32_t	a = keys[x] >> first_bit & mask;
		uint32_t	b = keys[y] >> first_bit & mask;

		return a != b ? a < b : x < y;
	});

	Device<uint8_t> key_in(keys);
	Device<uint8_t> key_out(n);
	Device<uint8_t> symbol_in(symbols);
	Device<uint8_t> symbol_out(n);
	Device<PpTaggedSymbol> tagged_in(tagged);
	Device<PpTaggedSymbol> tagged_out(n);

	EXPECT(in_two_steps([&](void *t, size_t *k) {
		return pp_sort_symbols(t, k, key_in.p, key_out.p, symbol_in.p, symbol_out.p, n, first_bit,
							   end_bit, stream);
	}) == cudaSuccess, "%s", simt_last_report());
	std::vector<uint8_t> got = symbol_out.get();
	for (uint32_t i = 0; i < n; i++)
		EXPECT(got[i] == symbols[order[i]], "symbol %u", i);
	EXPECT(in_two_steps([&](void *t, size_t *k) {
		return pp_sort_tagged(t, k, key_in.p, key_out.p, tagged_in.p, tagged_out.p, n, first_bit,
							  end_bit, stream);
	}) == cudaSuccess, "%s", simt_last_report());
	std::vector<PpTaggedSymbol> got_tagged = tagged_out.get();
	std::vector<uint8_t> got_keys = key_out.get();
	for (uint32_t i = 0; i < n; i++)
	{
		EXPECT(memcmp(&got_tagged[i], &tagged[order[i]], sizeof(PpTaggedSymbol)) == 0,
			   "tagged %u", i);
		EXPECT(got_keys[i] == keys[order[i]], "key %u", i);
	}
}

/* Whose array has the result, and whose is garbage. */
static void
test_sorts64(UnitRandom *r, uint32_t n)
{
	const uint32_t first_bit = unit_below(r, 64);
	const uint32_t end_bit = first_bit + 1 + unit_below(r, 64 - first_bit);
	const uint64_t mask = end_bit - first_bit == 64 ? UINT64_MAX :
		(UINT64_C(1) << (end_bit - first_bit)) - 1;
	const bool	even = pp_sort_passes(first_bit, end_bit) % 2 == 0;
	std::vector<uint64_t> keys(n);
	std::vector<uint32_t> values(n);
	std::vector<uint32_t> order(n);

	for (uint32_t i = 0; i < n; i++)
	{
		keys[i] = unit_once_in(r, 2) && i > 0 ? keys[unit_below(r, i)] : unit_next(r);
		values[i] = (uint32_t) unit_next(r);
		order[i] = i;
	}
	std::stable_sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
		return (keys[x] >> first_bit & mask) < (keys[y] >> first_bit & mask);
	});
	for (int pairs = 0; pairs < 2; pairs++)
	{
		Device<uint64_t> key(keys);
		Device<uint64_t> other(n);
		Device<uint32_t> value(values);
		Device<uint32_t> other_value(n);

		EXPECT(in_two_steps([&](void *t, size_t *k) {
			return pairs ? pp_sort_pairs64(t, k, key.p, other.p, value.p, other_value.p, n,
										   first_bit, end_bit, stream) :
				pp_sort_keys64(t, k, key.p, other.p, n, first_bit, end_bit, stream);
		}) == cudaSuccess, "%s", simt_last_report());
		std::vector<uint64_t> got = even ? key.get() : other.get();
		std::vector<uint32_t> got_values = even ? value.get() : other_value.get();
		for (uint32_t i = 0; i < n; i++)
		{
			EXPECT(got[i] == keys[order[i]], "key %u of bits %u to %u", i, first_bit, end_bit);
			EXPECT(!pairs || got_values[i] == values[order[i]], "value %u", i);
		}
	}
}

static void
test_selections(UnitRandom *r, uint32_t n)
{
	std::vector<uint8_t> bytes(n);
	std::vector<PpTaggedSymbol> tagged(n);
	std::vector<uint32_t> flagged;
	std::vector<uint32_t> equal;
	std::vector<uint64_t> pairs;
	std::vector<uint32_t> lengths;

	for (uint32_t i = 0; i < n; i++)
	{
		bytes[i] = (uint8_t) unit_below(r, 4);
		tagged[i] = {0, {(uint8_t) unit_below(r, 2), 0, 0, 2}};
		if ((bytes[i] & 2) != 0)
			flagged.push_back(i);
		if (bytes[i] == 1)
			equal.push_back(i);
		uint64_t	pair = (uint64_t) bytes[i] << 32 | 0x02000000u | tagged[i].record[0];
		if (pairs.empty() || pairs.back() != pair)
		{
			pairs.push_back(pair);
			lengths.push_back(0);
		}
		lengths.back()++;
	}
	Device<uint8_t> in(bytes);
	Device<PpTaggedSymbol> tags(tagged);
	Device<uint32_t> position(flagged.size());
	Device<uint32_t> position2(equal.size());
	Device<uint64_t> pair(pairs.size());
	Device<uint32_t> length(pairs.size());
	Device<uint32_t> count(3);

	EXPECT(in_two_steps([&](void *t, size_t *k) {
		return pp_select_flagged(t, k, in.p, 2, position.p, count.p, n, stream);
	}) == cudaSuccess, "%s", simt_last_report());
	EXPECT(in_two_steps([&](void *t, size_t *k) {
		return pp_select_equal(t, k, in.p, 1, position2.p, count.p + 1, n, stream);
	}) == cudaSuccess, "%s", simt_last_report());
	EXPECT(in_two_steps([&](void *t, size_t *k) {
		return pp_run_lengths(t, k, in.p, tags.p, pair.p, length.p, count.p + 2, n, stream);
	}) == cudaSuccess, "%s", simt_last_report());
	std::vector<uint32_t> counts = count.get();
	EXPECT(counts[0] == flagged.size() && counts[1] == equal.size() && counts[2] == pairs.size(),
		   "counts");
	EXPECT(position.get() == flagged, "flagged");
	EXPECT(position2.get() == equal, "equal");
	EXPECT(pair.get() == pairs, "pairs");
	EXPECT(length.get() == lengths, "lengths");
}

static void
test_contract()
{
	const uint32_t n = 1000;
	size_t		bytes = 0;
	Device<uint32_t> a(n);
	Device<uint8_t> keys(n);
	Device<uint64_t> wide(2 * n);
	Device<uint8_t> temp(100000);
	std::vector<uint32_t> host(n);
	uint64_t	reports = simt_reports();

	simt_report_to_stderr(false);
	unit_case("scratch memory that is too small");
	EXPECT(pp_scan_sum32(nullptr, &bytes, a.p, a.p, n, stream) == cudaSuccess, "first step");
	bytes--;
	EXPECT(pp_scan_sum32(temp.p, &bytes, a.p, a.p, n, stream) == cudaErrorInvalidValue, "taken");
	EXPECT(strstr(simt_last_report(), "scratch") != nullptr, "%s", simt_last_report());
	bytes = 100000;
	unit_case("an array that is too small");
	EXPECT(pp_scan_sum32(temp.p, &bytes, a.p, a.p, n + 1, stream) == cudaErrorInvalidValue, "taken");
	unit_case("an array of the host");
	EXPECT(pp_scan_sum32(temp.p, &bytes, host.data(), a.p, n, stream) == cudaErrorInvalidValue,
		   "taken");
	unit_case("scratch memory of the host");
	EXPECT(pp_scan_sum32(host.data(), &bytes, a.p, a.p, n, stream) == cudaErrorInvalidValue, "taken");
	unit_case("overlap");
	EXPECT(pp_scan_sum32(temp.p, &bytes, a.p, a.p + 1, n - 1, stream) == cudaErrorInvalidValue,
		   "taken");
	EXPECT(pp_sort_symbols(temp.p, &bytes, keys.p, keys.p, temp.p + 50000, temp.p + 60000, n, 0, 8,
						   stream) == cudaErrorInvalidValue, "taken");
	unit_case("bits that are not of the key");
	EXPECT(pp_sort_symbols(nullptr, &bytes, keys.p, keys.p, keys.p, keys.p, n, 3, 3, stream) ==
		   cudaErrorInvalidValue, "no bit");
	EXPECT(pp_sort_symbols(nullptr, &bytes, keys.p, keys.p, keys.p, keys.p, n, 3, 9, stream) ==
		   cudaErrorInvalidValue, "bit 8");
	EXPECT(pp_sort_keys64(nullptr, &bytes, nullptr, nullptr, n, 9, 65, stream) ==
		   cudaErrorInvalidValue, "bit 64");
	EXPECT(pp_sort_keys64(nullptr, &bytes, nullptr, nullptr, n, 64, 64, stream) ==
		   cudaErrorInvalidValue, "no bit of 64");
	unit_case("both arrays of a sort are one");
	EXPECT(pp_sort_keys64(temp.p, &bytes, wide.p, wide.p, n, 0, 64, stream) ==
		   cudaErrorInvalidValue, "taken");
	EXPECT(pp_sort_pairs64(temp.p, &bytes, wide.p, wide.p + n, a.p, a.p, n, 0, 64, stream) ==
		   cudaErrorInvalidValue, "taken");
	EXPECT(simt_reports() == reports + 8, "%llu reports",
		   (unsigned long long) (simt_reports() - reports));
	simt_report_to_stderr(true);
	unit_case("launches are counted by name");
	EXPECT(simt_launches("pp_scan_sum32") > 0 && simt_launches("pp_sort_tagged") > 0, "not counted");
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "simt_wide_test");
	unit_case("a stream");
	EXPECT(cudaStreamCreate(&stream) == cudaSuccess, "no stream");
	for (uint64_t i = 0; i < unit_iterations(40); i++)
	{
		UnitRandom	r = unit_random(1, i);
		uint32_t	n = i < 3 ? (uint32_t) i : unit_below(&r, i % 4 == 0 ? 20000 : 300);

		unit_case("case %u, %u elements", (unsigned) i, n);
		test_scans(&r, n);
		test_sorts(&r, n);
		test_sorts64(&r, n);
		test_selections(&r, n);
	}
	test_contract();
	unit_case("nothing is left");
	EXPECT(cudaStreamDestroy(stream) == cudaSuccess, "stream");
	simt_clear_reports();
	EXPECT(cudaDeviceReset() == cudaSuccess, "reset");
	EXPECT(simt_reports() == 0, "%s", simt_last_report());
	return unit_end();
}

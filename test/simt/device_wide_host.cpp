/*
 * test/simt/device_wide_host.cpp
 *	  Twins of cuda/device_wide.h for the host: the same two steps, the same
 *	  results, enqueued on the stream as kernels of one thread.
 *
 * They say nothing about CUB.  What they do say is whether callers keep to the
 * contract: arrays of the right size in device memory, scratch memory as large
 * as asked for and of no one else, no overlap, and no result looked at before
 * the stream has come to it.
 */
#include "../../cuda/device_wide.h"

#include <cstring>
#include <new>
#include <utility>

#include "report.h"
#include "runtime.h"

namespace
{

/* Elements between two chances for a query to end. */
const uint32_t CHECK_EVERY = 4096;

inline void
check(uint32_t i)
{
	if (i % CHECK_EVERY == CHECK_EVERY - 1)
		simt::checkpoint();
}

/* An array that a function was given. */
struct Array
{
	const void *p;
	size_t		bytes;
	const char *name;
};

bool
overlap(const Array &a, const Array &b)
{
	const char *p = static_cast<const char *>(a.p);
	const char *q = static_cast<const char *>(b.p);

	return p < q + b.bytes && q < p + a.bytes;
}

template <size_t N>
cudaError_t
check_arrays(const char *function, const Array (&arrays)[N], size_t temp_bytes, size_t need)
{
	/* [0] is the scratch memory */
	if (temp_bytes < need)
	{
		simt::report("%s: %zu bytes of scratch memory where %zu are needed", function,
					 temp_bytes, need);
		return cudaErrorInvalidValue;
	}
	for (size_t i = 0; i < N; i++)
	{
		if (arrays[i].bytes != 0 && !simt::in_device_memory(arrays[i].p, arrays[i].bytes))
		{
			simt::report("%s: %s is not %zu bytes of device memory", function, arrays[i].name,
						 arrays[i].bytes);
			return cudaErrorInvalidValue;
		}
		for (size_t k = 0; k < i; k++)
			if (arrays[i].p != arrays[k].p && overlap(arrays[i], arrays[k]))
			{
				simt::report("%s: %s and %s overlap", function, arrays[k].name, arrays[i].name);
				return cudaErrorInvalidValue;
			}
	}
	return cudaSuccess;
}

/* Scratch memory of a function over n elements. */
size_t
scratch_bytes(uint32_t n)
{
	return 768 + (size_t) n / 16;
}

/* Work on a stream; the scratch memory is garbage afterwards. */
template <class F>
struct Call
{
	F			work;
	void	   *temp;
	size_t		temp_bytes;

	static void
	run(void *args)
	{
		Call	   *call = static_cast<Call *>(args);

		memset(call->temp, 0xb7, call->temp_bytes);
		call->work();
	}
	static void
	release(void *args)
	{
		delete static_cast<Call *>(args);
	}
};

template <class F>
cudaError_t
enqueue(const char *name, void *temp, size_t temp_bytes, cudaStream_t stream, F work)
{
	Call<F>    *call = new (std::nothrow) Call<F>{work, temp, temp_bytes};
	simt::Launch launch = {};

	if (call == nullptr)
		return cudaErrorMemoryAllocation;
	launch.kernel = name;
	launch.grid = dim3(1);
	launch.block = dim3(1);
	launch.run = Call<F>::run;
	launch.release = Call<F>::release;
	launch.args = call;
	return simt::enqueue(launch, stream);
}

template <class T, class F>
cudaError_t
scan(const char *name, void *temp, size_t *bytes, const T *in, T *out, T first, uint32_t n,
	 cudaStream_t stream, F combine)
{
	size_t		need = scratch_bytes(n);
	cudaError_t error;

	if (temp == nullptr)
	{
		*bytes = need;
		return cudaSuccess;
	}
	const Array arrays[] = {{temp, need, "temp"}, {in, n * sizeof(T), "in"},
							{out, n * sizeof(T), "out"}};
	error = check_arrays(name, arrays, *bytes, need);
	if (error != cudaSuccess)
		return error;
	return enqueue(name, temp, need, stream, [=] {
		T			sum = first;

		for (uint32_t i = 0; i < n; i++)
		{
			T			own = in[i];

			out[i] = sum;
			sum = combine(sum, own);
			check(i);
		}
	});
}

template <class V>
cudaError_t
sort(const char *name, void *temp, size_t *bytes, const uint8_t *key_in, uint8_t *key_out,
	 const V *in, V *out, uint32_t n, uint32_t first_bit, uint32_t end_bit, cudaStream_t stream)
{
	size_t		need = scratch_bytes(n) + 1024;
	cudaError_t error;

	if (first_bit >= end_bit || end_bit > 8)
		return cudaErrorInvalidValue;
	if (temp == nullptr)
	{
		*bytes = need;
		return cudaSuccess;
	}
	const Array arrays[] = {{temp, need, "temp"}, {key_in, n, "key_in"}, {key_out, n, "key_out"},
							{in, n * sizeof(V), "in"}, {out, n * sizeof(V), "out"}};
	error = check_arrays(name, arrays, *bytes, need);
	if (error == cudaSuccess && n != 0 &&
		(static_cast<const void *>(in) == out || key_in == key_out))
	{
		simt::report("%s: input and output are the same", name);
		error = cudaErrorInvalidValue;
	}
	if (error != cudaSuccess)
		return error;
	return enqueue(name, temp, need, stream, [=] {
		uint32_t	at[256] = {0};
		uint32_t	mask = (1u << (end_bit - first_bit)) - 1;
		uint32_t	sum = 0;

		for (uint32_t i = 0; i < n; i++)
		{
			at[key_in[i] >> first_bit & mask]++;
			check(i);
		}
		for (uint32_t k = 0; k <= mask; k++)
		{
			uint32_t	count = at[k];

			at[k] = sum;
			sum += count;
		}
		for (uint32_t i = 0; i < n; i++)
		{
			uint32_t	to = at[key_in[i] >> first_bit & mask]++;

			key_out[to] = key_in[i];
			out[to] = in[i];
			check(i);
		}
	});
}

/* value and other_value are NULL if there are keys only. */
cudaError_t
sort64(const char *name, void *temp, size_t *bytes, uint64_t *key, uint64_t *other,
	   uint32_t *value, uint32_t *other_value, uint32_t n, uint32_t first_bit, uint32_t end_bit,
	   cudaStream_t stream)
{
	size_t		need = scratch_bytes(n) + 1024;
	const size_t values = value != nullptr ? n * sizeof(uint32_t) : 0;
	cudaError_t error;

	if (first_bit >= end_bit || end_bit > 64)
		return cudaErrorInvalidValue;
	if (temp == nullptr)
	{
		*bytes = need;
		return cudaSuccess;
	}
	const Array arrays[] = {{temp, need, "temp"}, {key, n * sizeof(*key), "key"},
							{other, n * sizeof(*other), "other"}, {value, values, "value"},
							{other_value, values, "other_value"}};
	error = check_arrays(name, arrays, *bytes, need);
	if (error == cudaSuccess && n != 0 &&
		(key == other || (value != nullptr && value == other_value)))
	{
		simt::report("%s: both arrays are the same", name);
		error = cudaErrorInvalidValue;
	}
	if (error != cudaSuccess)
		return error;
	return enqueue(name, temp, need, stream, [=] {
		uint64_t   *from = key;
		uint64_t   *to = other;
		uint32_t   *value_from = value;
		uint32_t   *value_to = other_value;

		for (uint32_t bit = first_bit; bit < end_bit; bit += 8)
		{
			uint32_t	at[256] = {0};
			uint64_t	mask = end_bit - bit < 8 ? (1u << (end_bit - bit)) - 1 : 255;
			uint32_t	sum = 0;

			for (uint32_t i = 0; i < n; i++)
			{
				at[from[i] >> bit & mask]++;
				check(i);
			}
			for (uint32_t k = 0; k <= mask; k++)
			{
				uint32_t	count = at[k];

				at[k] = sum;
				sum += count;
			}
			for (uint32_t i = 0; i < n; i++)
			{
				uint32_t	place = at[from[i] >> bit & mask]++;

				to[place] = from[i];
				if (value != nullptr)
					value_to[place] = value_from[i];
				check(i);
			}
			std::swap(from, to);
			std::swap(value_from, value_to);
		}
		/* to is what CUB leaves anything in */
		if (n != 0)
		{
			memset(to, 0xb7, n * sizeof(*to));
			if (value != nullptr)
				memset(value_to, 0xb7, n * sizeof(*value_to));
		}
	});
}

template <class F>
cudaError_t
select(const char *name, void *temp, size_t *bytes, const uint8_t *in, uint32_t *position,
	   uint32_t *count, uint32_t n, cudaStream_t stream, F wanted)
{
	size_t		need = scratch_bytes(n);
	cudaError_t error;

	if (temp == nullptr)
	{
		*bytes = need;
		return cudaSuccess;
	}
	/* position[] needs room for what is selected only */
	const Array arrays[] = {{temp, need, "temp"}, {in, n, "in"},
							{count, sizeof(*count), "count"}};
	error = check_arrays(name, arrays, *bytes, need);
	if (error != cudaSuccess)
		return error;
	return enqueue(name, temp, need, stream, [=] {
		uint32_t	k = 0;

		for (uint32_t i = 0; i < n; i++)
		{
			if (wanted(in[i]))
			{
				if (!simt::in_device_memory(position + k, sizeof(*position)))
					simt::fail(cudaErrorIllegalAddress, "%s: position[%u] is not device memory",
							   name, k);
				position[k++] = i;
			}
			check(i);
		}
		*count = k;
	});
}

}								/* namespace */

cudaError_t
pp_scan_vectors(void *temp, size_t *bytes, const PpVector *in, PpVector *out, uint32_t n,
				cudaStream_t stream)
{
	return scan(__func__, temp, bytes, in, out, (PpVector) PP_VEC_IDENTITY, n, stream,
				[](PpVector a, PpVector b) { return pp_vec_compose(a, b); });
}

cudaError_t
pp_scan_offsets(void *temp, size_t *bytes, const PpChunkOffset *in, PpChunkOffset *out,
				PpChunkOffset first, uint32_t n, cudaStream_t stream)
{
	return scan(__func__, temp, bytes, in, out, first, n, stream,
				[](PpChunkOffset a, PpChunkOffset b) { return pp_chunk_offset_combine(a, b); });
}

cudaError_t
pp_scan_sum32(void *temp, size_t *bytes, const uint32_t *in, uint32_t *out, uint32_t n,
			  cudaStream_t stream)
{
	return scan(__func__, temp, bytes, in, out, (uint32_t) 0, n, stream,
				[](uint32_t a, uint32_t b) { return a + b; });
}

cudaError_t
pp_scan_sum64(void *temp, size_t *bytes, const uint64_t *in, uint64_t *out, uint32_t n,
			  cudaStream_t stream)
{
	return scan(__func__, temp, bytes, in, out, (uint64_t) 0, n, stream,
				[](uint64_t a, uint64_t b) { return a + b; });
}

cudaError_t
pp_sort_symbols(void *temp, size_t *bytes, const uint8_t *key_in, uint8_t *key_out,
				const uint8_t *symbol_in, uint8_t *symbol_out, uint32_t n, uint32_t first_bit,
				uint32_t end_bit, cudaStream_t stream)
{
	return sort(__func__, temp, bytes, key_in, key_out, symbol_in, symbol_out, n, first_bit,
				end_bit, stream);
}

cudaError_t
pp_sort_tagged(void *temp, size_t *bytes, const uint8_t *key_in, uint8_t *key_out,
			   const PpTaggedSymbol *in, PpTaggedSymbol *out, uint32_t n, uint32_t first_bit,
			   uint32_t end_bit, cudaStream_t stream)
{
	return sort(__func__, temp, bytes, key_in, key_out, in, out, n, first_bit, end_bit, stream);
}

cudaError_t
pp_sort_keys64(void *temp, size_t *bytes, uint64_t *key, uint64_t *other, uint32_t n,
			   uint32_t first_bit, uint32_t end_bit, cudaStream_t stream)
{
	return sort64(__func__, temp, bytes, key, other, nullptr, nullptr, n, first_bit, end_bit,
				  stream);
}

cudaError_t
pp_sort_pairs64(void *temp, size_t *bytes, uint64_t *key, uint64_t *other, uint32_t *value,
				uint32_t *other_value, uint32_t n, uint32_t first_bit, uint32_t end_bit,
				cudaStream_t stream)
{
	return sort64(__func__, temp, bytes, key, other, value, other_value, n, first_bit, end_bit,
				  stream);
}

cudaError_t
pp_select_flagged(void *temp, size_t *bytes, const uint8_t *flag, uint8_t mask,
				  uint32_t *position, uint32_t *count, uint32_t n, cudaStream_t stream)
{
	return select(__func__, temp, bytes, flag, position, count, n, stream,
				  [=](uint8_t f) { return (f & mask) != 0; });
}

cudaError_t
pp_select_equal(void *temp, size_t *bytes, const uint8_t *byte, uint8_t value,
				uint32_t *position, uint32_t *count, uint32_t n, cudaStream_t stream)
{
	return select(__func__, temp, bytes, byte, position, count, n, stream,
				  [=](uint8_t b) { return b == value; });
}

cudaError_t
pp_run_lengths(void *temp, size_t *bytes, const uint8_t *key, const PpTaggedSymbol *tagged,
			   uint64_t *pair, uint32_t *length, uint32_t *count, uint32_t n,
			   cudaStream_t stream)
{
	const char *name = __func__;
	size_t		need = scratch_bytes(n);
	cudaError_t error;

	if (temp == nullptr)
	{
		*bytes = need;
		return cudaSuccess;
	}
	/* pair[] and length[] need room for as many runs as there are only */
	const Array arrays[] = {{temp, need, "temp"}, {key, n, "key"},
							{tagged, n * sizeof(*tagged), "tagged"},
							{count, sizeof(*count), "count"}};
	error = check_arrays(name, arrays, *bytes, need);
	if (error != cudaSuccess)
		return error;
	return enqueue(name, temp, need, stream, [=] {
		uint32_t	runs = 0;
		uint32_t	start = 0;
		uint64_t	before = 0;

		for (uint32_t i = 0; i < n; i++)
		{
			uint32_t	record;
			uint64_t	own;

			memcpy(&record, tagged[i].record, sizeof(record));
			own = (uint64_t) key[i] << 32 | record;
			if (i == 0 || own != before)
			{
				if (!simt::in_device_memory(pair + runs, sizeof(*pair)) ||
					!simt::in_device_memory(length + runs, sizeof(*length)))
					simt::fail(cudaErrorIllegalAddress, "%s: run %u is not device memory", name,
							   runs);
				pair[runs] = own;
				if (runs > 0)
					length[runs - 1] = i - start;
				start = i;
				runs++;
			}
			before = own;
			check(i);
		}
		if (runs > 0)
			length[runs - 1] = n - start;
		*count = runs;
	});
}

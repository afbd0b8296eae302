/*
 * test/simt/cudart_memory.cpp
 *	  Device and pinned memory, copies and fills.
 *
 * An allocation of device memory is a mapping of its own between two pages
 * that cannot be accessed, as close to the upper one as the alignment of 256
 * bytes allows; the bytes between its end and that page are watched.  It is
 * garbage at first.  Copies check their direction and the bounds of device
 * and pinned memory when they are called and again when they are executed.
 */
#include "cudart.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

#include "settings.h"

namespace simt
{

struct Allocation
{
	size_t		bytes;
	unsigned char *mapping;		/* null: pinned memory */
	size_t		mapped;
	bool		freed;			/* cudaFreeAsync() was called */
};

typedef std::map<const unsigned char *, Allocation> Allocations;

static const unsigned char GARBAGE = 0xc3;
static const unsigned char CANARY = 0x5c;
static const size_t ALIGN = 256;

/* Of large allocations only so much at both ends is made garbage. */
static const size_t GARBAGE_BYTES = 4 << 20;

/* That the device has, unless told otherwise. */
static const uint64_t DEVICE_BYTES = UINT64_C(8) << 30;

static uint64_t device_limit;
static SimtMemory held;
static SimtCopies copies;
static uint64_t changes;		/* of the set of allocations */

static Allocations &
allocations()
{
	static Allocations &all = *new Allocations();

	return all;
}

void
memory_from_settings()
{
	const char *value = setting("SIMT_MEMORY");

	device_limit = *value == '\0' ? DEVICE_BYTES : strtoull(value, nullptr, 10);
}

static uint64_t
limit()
{
	if (device_limit == 0)
		memory_from_settings();
	return device_limit;
}

static size_t
round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

static Allocations::iterator
find(const void *p)
{
	Allocations &all = allocations();
	Allocations::iterator i = all.upper_bound(static_cast<const unsigned char *>(p));

	if (i == all.begin())
		return all.end();
	--i;
	if (static_cast<const unsigned char *>(p) >= i->first + i->second.bytes)
		return all.end();
	return i;
}

Where
where_is(const void *p, size_t n)
{
	Allocations::iterator i = find(p);

	if (i == allocations().end())
		return Where::host;
	if (n > i->second.bytes - (size_t) (static_cast<const unsigned char *>(p) - i->first))
		return Where::outside;
	return i->second.mapping == nullptr ? Where::pinned : Where::device;
}

bool
is_device_address(const void *p)
{
	static const unsigned char *from;
	static const unsigned char *to;
	static uint64_t generation = ~UINT64_C(0);
	const unsigned char *at = static_cast<const unsigned char *>(p);

	/* most often in the allocation of the time before */
	if (generation != changes || at < from || at >= to)
	{
		Allocations::iterator i = find(p);

		if (i == allocations().end() || i->second.mapping == nullptr)
			return false;
		from = i->first;
		to = from + i->second.bytes;
		generation = changes;
	}
	return true;
}

bool
in_device_memory(const void *p, size_t n)
{
	return where_is(p, n) == Where::device;
}

static cudaError_t
allocate_device(void **p, size_t n)
{
	size_t		page = (size_t) sysconf(_SC_PAGESIZE);
	size_t		inside = round_up(n, page);
	size_t		mapped = inside + 2 * page;
	void	   *mapping;
	unsigned char *at;

	*p = nullptr;
	if (sticky_error() != cudaSuccess)
		return sticky_error();
	if (n == 0)
		return cudaSuccess;
	if (injected(SIMT_ALLOC) || n > limit() || held.device_bytes + n > limit())
		return cudaErrorMemoryAllocation;
	mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mapping == MAP_FAILED)
		return cudaErrorMemoryAllocation;
	at = static_cast<unsigned char *>(mapping);
	(void) mprotect(at, page, PROT_NONE);
	(void) mprotect(at + page + inside, page, PROT_NONE);
	at += page + inside - round_up(n, ALIGN);
	if (n <= 2 * GARBAGE_BYTES)
		memset(at, GARBAGE, n);
	else
	{
		memset(at, GARBAGE, GARBAGE_BYTES);
		memset(at + n - GARBAGE_BYTES, GARBAGE, GARBAGE_BYTES);
	}
	memset(at + n, CANARY, round_up(n, ALIGN) - n);
	poison(static_cast<unsigned char *>(mapping) + page,
		   (size_t) (at - static_cast<unsigned char *>(mapping)) - page);
	poison(at + n, round_up(n, ALIGN) - n);
	allocations()[at] = {n, static_cast<unsigned char *>(mapping), mapped, false};
	held.device_bytes += n;
	held.device_blocks++;
	if (held.peak_device_bytes < held.device_bytes)
		held.peak_device_bytes = held.device_bytes;
	*p = at;
	return cudaSuccess;
}

static void
release(Allocations::iterator i)
{
	const unsigned char *at = i->first;
	Allocation &a = i->second;

	if (a.mapping == nullptr)
	{
		held.pinned_bytes -= a.bytes;
		held.pinned_blocks--;
		free(const_cast<unsigned char *>(at));
	}
	else
	{
		size_t		page = (size_t) sysconf(_SC_PAGESIZE);

		held.device_bytes -= a.bytes;
		held.device_blocks--;
		unpoison(a.mapping + page, a.mapped - 2 * page);
		for (size_t k = a.bytes; k < round_up(a.bytes, ALIGN); k++)
			if (at[k] != CANARY)
			{
				report("byte %zu behind device memory of %zu bytes was written", k - a.bytes,
					   a.bytes);
				set_sticky_error(cudaErrorIllegalAddress);
				break;
			}
		(void) munmap(a.mapping, a.mapped);
	}
	allocations().erase(i);
	changes++;
}

void
memory_free_now(void *p)
{
	Allocations::iterator i = allocations().find(static_cast<unsigned char *>(p));

	if (i != allocations().end())
		release(i);
}

void
memory_reset_counters()
{
	held.peak_device_bytes = held.device_bytes;
	held.waits = 0;
	copies = SimtCopies();
}

void
memory_reset()
{
	Allocations &all = allocations();

	if (!all.empty())
	{
		size_t		shown = 0;

		report_begin();
		report_add("leak: %zu allocations were not freed:", all.size());
		for (const auto &each : all)
			if (shown++ < 16)
				report_add(" %zu bytes of %s memory;", each.second.bytes,
						   each.second.mapping == nullptr ? "pinned" : "device");
		report_end();
		held.leaked_blocks += all.size();
	}
	while (!all.empty())
		release(all.begin());
}

/* The direction that the pointers have; n is not 0. */
static cudaError_t
check_copy(const void *to, const void *from, size_t n, cudaMemcpyKind kind)
{
	Where		t = where_is(to, n);
	Where		f = where_is(from, n);
	bool		to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
	bool		from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;

	if (t == Where::outside || f == Where::outside)
	{
		report("copy of %zu bytes leaves the %s allocation", n,
			   t == Where::outside ? "destination's" : "source's");
		return cudaErrorInvalidValue;
	}
	if (kind == cudaMemcpyDefault)
		return cudaSuccess;
	if (to_device != (t == Where::device) || from_device != (f == Where::device))
	{
		report("copy of %zu bytes: direction %d does not fit memory of the %s to memory of the %s",
			   n, (int) kind, f == Where::device ? "device" : "host",
			   t == Where::device ? "device" : "host");
		return cudaErrorInvalidMemcpyDirection;
	}
	return cudaSuccess;
}

static void
count_copy(const void *to, const void *from, size_t n)
{
	bool		to_device = is_device_address(to);
	bool		from_device = is_device_address(from);

	if (to_device && from_device)
		copies.within_device += n;
	else if (to_device)
		copies.to_device += n;
	else if (from_device)
		copies.to_host += n;
}

/* A word comes to the device as a whole: kernels on their way may look at it, as
 * they do to be told to stop. */
static void
move(void *to, const void *from, size_t n)
{
	uint32_t	word;

	if (n == sizeof(word) && is_device_address(to) && reinterpret_cast<uintptr_t>(to) % sizeof(word) == 0)
	{
		memcpy(&word, from, sizeof(word));
		__atomic_store_n(static_cast<uint32_t *>(to), word, __ATOMIC_RELEASE);
	}
	else
		memmove(to, from, n);
}

static cudaError_t
copy(void *to, const void *from, size_t n, cudaMemcpyKind kind, cudaStream_t stream)
{
	cudaError_t error = sticky_error();
	Op			op = {};

	if (error == cudaSuccess && n != 0)
		error = check_copy(to, from, n, kind);
	if (error == cudaSuccess && injected(SIMT_COPY))
		error = cudaErrorInvalidValue;
	if (error != cudaSuccess)
		return answer(error);
	op.kind = Op::Kind::call;
	op.to_device = is_device_address(to) && !is_device_address(from) ? n : 0;
	op.call = [=] {
		if (n != 0 && check_copy(to, from, n, kind) != cudaSuccess)
		{
			report("copy of %zu bytes: memory was freed before the stream came to it", n);
			set_sticky_error(cudaErrorIllegalAddress);
		}
		else if (n != 0)
		{
			move(to, from, n);
			count_copy(to, from, n);
		}
	};
	return stream_append(stream, std::move(op));
}

static cudaError_t
fill(void *p, int value, size_t n, cudaStream_t stream)
{
	cudaError_t error = sticky_error();
	Op			op = {};

	if (error == cudaSuccess && n != 0 && !in_device_memory(p, n))
	{
		report("fill of %zu bytes is not within one allocation of device memory", n);
		error = cudaErrorInvalidValue;
	}
	if (error == cudaSuccess && injected(SIMT_COPY))
		error = cudaErrorInvalidValue;
	if (error != cudaSuccess)
		return answer(error);
	op.kind = Op::Kind::call;
	op.call = [=] {
		if (n != 0 && !in_device_memory(p, n))
		{
			report("fill of %zu bytes: memory was freed before the stream came to it", n);
			set_sticky_error(cudaErrorIllegalAddress);
		}
		else if (n != 0)
		{
			memset(p, value, n);
			copies.filled += n;
		}
	};
	return stream_append(stream, std::move(op));
}

}								/* namespace simt */

using namespace simt;

extern "C" {

void
simt_set_device_bytes(uint64_t bytes)
{
	device_limit = bytes;
}

SimtCopies
simt_copies(void)
{
	return copies;
}

SimtMemory
simt_memory(void)
{
	SimtMemory	m = held;

	m.streams = streams_alive();
	m.events = events_alive();
	return m;
}

cudaError_t
cudaMalloc(void **p, size_t n)
{
	return answer(allocate_device(p, n));
}

cudaError_t
cudaMallocAsync(void **p, size_t n, cudaStream_t)
{
	return answer(allocate_device(p, n));
}

/* Waits for all work, as the device's does. */
cudaError_t
cudaFree(void *p)
{
	cudaError_t error;

	if (p == nullptr)
		return answer(sticky_error());
	held.waits += streams_busy();
	error = streams_drain();
	Allocations::iterator i = allocations().find(static_cast<unsigned char *>(p));
	if (i == allocations().end() || i->second.mapping == nullptr || i->second.freed)
	{
		report("cudaFree of %p, which is not allocated", p);
		return answer(cudaErrorInvalidValue);
	}
	release(i);
	if (error == cudaSuccess)
		error = sticky_error();
	return answer(error);
}

cudaError_t
cudaFreeAsync(void *p, cudaStream_t stream)
{
	Op			op = {};

	if (p == nullptr)
		return answer(sticky_error());
	Allocations::iterator i = allocations().find(static_cast<unsigned char *>(p));
	if (i == allocations().end() || i->second.mapping == nullptr || i->second.freed)
	{
		report("cudaFreeAsync of %p, which is not allocated", p);
		return answer(cudaErrorInvalidValue);
	}
	if (sticky_error() != cudaSuccess)
	{
		release(i);
		return answer(sticky_error());
	}
	i->second.freed = true;
	op.kind = Op::Kind::call;
	op.call = [=] { memory_free_now(p); };
	return stream_append(stream, std::move(op));
}

cudaError_t
cudaHostAlloc(void **p, size_t n, unsigned int)
{
	size_t		page = (size_t) sysconf(_SC_PAGESIZE);

	*p = nullptr;
	if (sticky_error() != cudaSuccess)
		return answer(sticky_error());
	if (n == 0)
		return cudaSuccess;
	if (injected(SIMT_ALLOC) || posix_memalign(p, page, n) != 0)
	{
		*p = nullptr;
		return answer(cudaErrorMemoryAllocation);
	}
	memset(*p, GARBAGE, n < GARBAGE_BYTES ? n : GARBAGE_BYTES);
	allocations()[static_cast<unsigned char *>(*p)] = {n, nullptr, 0, false};
	held.pinned_bytes += n;
	held.pinned_blocks++;
	return cudaSuccess;
}

cudaError_t
cudaMallocHost(void **p, size_t n)
{
	return cudaHostAlloc(p, n, cudaHostAllocDefault);
}

cudaError_t
cudaFreeHost(void *p)
{
	cudaError_t error;

	if (p == nullptr)
		return answer(sticky_error());
	held.waits += streams_busy();
	error = streams_drain();
	Allocations::iterator i = allocations().find(static_cast<unsigned char *>(p));
	if (i == allocations().end() || i->second.mapping != nullptr)
	{
		report("cudaFreeHost of %p, which is not allocated", p);
		return answer(cudaErrorInvalidValue);
	}
	release(i);
	return answer(error);
}

cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t n, cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy(to, from, n, kind, stream);
}

cudaError_t
cudaMemcpy(void *to, const void *from, size_t n, cudaMemcpyKind kind)
{
	cudaError_t error = copy(to, from, n, kind, nullptr);

	return error != cudaSuccess ? error : cudaStreamSynchronize(nullptr);
}

cudaError_t
cudaMemsetAsync(void *p, int value, size_t n, cudaStream_t stream)
{
	return fill(p, value, n, stream);
}

cudaError_t
cudaMemset(void *p, int value, size_t n)
{
	cudaError_t error = fill(p, value, n, nullptr);

	return error != cudaSuccess ? error : cudaStreamSynchronize(nullptr);
}

cudaError_t
cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *p)
{
	const simt::Where where = simt::where_is(p, 1);

	*attributes = cudaPointerAttributes();
	attributes->type = where == simt::Where::device ? cudaMemoryTypeDevice :
		where == simt::Where::pinned ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
	return cudaSuccess;
}

cudaError_t
cudaMemGetInfo(size_t *available, size_t *total)
{
	*total = limit();
	*available = limit() > held.device_bytes ? limit() - held.device_bytes : 0;
	return answer(sticky_error());
}

}

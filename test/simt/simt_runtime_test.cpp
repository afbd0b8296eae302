/*
 * test/simt/simt_runtime_test.cpp
 *	  What drivers can rely on in the fake CUDA runtime: streams, events, slices
 *	  of time, memory, injected failures, and errors that last until a reset.
 */
#include "../../cuda/device.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/time.h>
#include <unistd.h>
#include <vector>

#include "control.h"
#include "unit.h"

/* EXPECT for calls that must answer an error. */
#define ANSWERS(call, error) \
	do { \
		cudaError_t got_ = (call); \
		EXPECT(got_ == (error), "%s answers %s", #call, cudaGetErrorName(got_)); \
	} while (0)
#define GOOD(call)	ANSWERS(call, cudaSuccess)

#define REPORTED(what) \
	EXPECT(strstr(simt_last_report(), (what)) != nullptr, "reported: %s", simt_last_report())

static void
start_case(uint32_t seed = 0)
{
	SimtConfig	config = {};

	config.seed = seed;
	config.preempt = seed == 0 ? 0 : 16384;
	simt_report_to_stderr(false);
	(void) cudaDeviceReset();
	simt_clear_reports();
	simt_reset_counters();
	simt_configure(&config);
	simt_set_device_bytes(UINT64_C(1) << 30);
}

__global__ void
add_one(uint32_t *p, uint32_t n)
{
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		p[i]++;
}

__global__ void
copy_to(const uint32_t *from, uint32_t *to, uint32_t n)
{
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		to[i] = from[i];
}

/* Takes long: many rounds of barriers. */
__global__ void
slow(uint32_t rounds, uint32_t *out)
{
	for (uint32_t i = 0; i < rounds; i++)
		__syncthreads();
	if (threadIdx.x == 0)
		atomicAdd(out, 1u);
}

static double
now()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

#if !defined(SIMT_TSAN)			/* which rightly objects */

static void
test_lazy()
{
	uint32_t	host = 41;
	uint32_t	back = 0;
	uint32_t   *d;
	cudaStream_t s;

	unit_case("streams are lazy: copies look at memory when they are executed");
	start_case();
	GOOD(cudaStreamCreate(&s));
	GOOD(cudaMalloc(&d, 4));
	GOOD(cudaMemcpyAsync(d, &host, 4, cudaMemcpyHostToDevice, s));
	host = 7;
	PP_LAUNCH(add_one, 1, 1, 0, s, d, 1);
	GOOD(cudaMemcpyAsync(&back, d, 4, cudaMemcpyDeviceToHost, s));
	EXPECT(back == 0, "something was executed at once");
	GOOD(cudaStreamSynchronize(s));
	EXPECT(back == 8, "%u", back);
	GOOD(cudaFree(d));
	GOOD(cudaStreamDestroy(s));
}

#endif

/* Two streams; the second may only follow the first where an event says so. */
static bool
run_two_streams(uint32_t seed, bool with_event)
{
	const uint32_t n = 4096;
	std::vector<uint32_t> host(n, 5);
	std::vector<uint32_t> back(n);
	uint32_t   *a;
	uint32_t   *b;
	cudaStream_t first;
	cudaStream_t second;
	cudaEvent_t event;
	bool		right = true;

	start_case(seed);
	GOOD(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
	GOOD(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
	GOOD(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	GOOD(cudaMalloc(&a, n * 4));
	GOOD(cudaMalloc(&b, n * 4));
	GOOD(cudaMemcpyAsync(a, host.data(), n * 4, cudaMemcpyHostToDevice, first));
	PP_LAUNCH(add_one, n / 128, 128, 0, first, a, n);
	GOOD(cudaEventRecord(event, first));
	if (with_event)
		GOOD(cudaStreamWaitEvent(second, event, 0));
	PP_LAUNCH(copy_to, n / 128, 128, 0, second, a, b, n);
	GOOD(cudaMemcpyAsync(back.data(), b, n * 4, cudaMemcpyDeviceToHost, second));
	GOOD(cudaStreamSynchronize(second));
	for (uint32_t i = 0; i < n; i++)
		right = right && back[i] == 6;
	GOOD(cudaFree(a));
	GOOD(cudaFree(b));
	GOOD(cudaEventDestroy(event));
	GOOD(cudaStreamDestroy(first));
	GOOD(cudaStreamDestroy(second));
	return right;
}

static void
test_streams()
{
#ifndef SIMT_TSAN
	uint32_t	wrong = 0;

	unit_case("streams without order go on in any order");
	for (uint32_t seed = 1; seed <= 10; seed++)
		wrong += !run_two_streams(seed, false);
	EXPECT(wrong > 0, "ten seeds show nothing");
#endif
	for (uint32_t seed = 0; seed <= 10; seed++)
	{
		unit_case("an event orders two streams, seed %u", seed);
		EXPECT(run_two_streams(seed, true), "wrong result");
	}
}

static void
test_slices()
{
	uint32_t   *d;
	uint32_t	done = 0;
	unsigned	polls = 0;
	double		longest = 0;
	cudaStream_t s;
	cudaEvent_t start;
	cudaEvent_t end;
	float		ms = 0;

	unit_case("a query executes a slice of time and answers that the rest is not ready");
	start_case();
	GOOD(cudaStreamCreate(&s));
	GOOD(cudaEventCreate(&start));
	GOOD(cudaEventCreate(&end));
	GOOD(cudaMalloc(&d, 4));
	GOOD(cudaMemsetAsync(d, 0, 4, s));
	GOOD(cudaEventRecord(start, s));
	PP_LAUNCH(slow, 20, 64, 0, s, 4000, d);
	GOOD(cudaEventRecord(end, s));
	ANSWERS(cudaEventElapsedTime(&ms, start, end), cudaErrorNotReady);
	for (;;)
	{
		double		t = now();
		cudaError_t error = cudaEventQuery(end);

		if (now() - t > longest)
			longest = now() - t;
		if (error != cudaErrorNotReady)
		{
			GOOD(error);
			break;
		}
		polls++;
	}
	EXPECT(polls >= 1, "the kernel ended within one slice");
	EXPECT(cudaGetLastError() == cudaSuccess, "not ready is no error");
	/* a loaded machine may take the processor away */
	EXPECT(longest < 1.0, "a query took %.3f s", longest);
	GOOD(cudaStreamQuery(s));
	GOOD(cudaEventElapsedTime(&ms, start, end));
	EXPECT(ms >= 20.0f * (float) (polls > 1 ? polls - 1 : 0), "%f ms in %u polls", (double) ms,
		   polls);
	GOOD(cudaMemcpyAsync(&done, d, 4, cudaMemcpyDeviceToHost, s));
	GOOD(cudaStreamSynchronize(s));
	EXPECT(done == 20, "%u blocks", done);
	GOOD(cudaEventQuery(end));
	GOOD(cudaFree(d));
	GOOD(cudaEventDestroy(start));
	GOOD(cudaEventDestroy(end));
	GOOD(cudaStreamDestroy(s));
}

static void
test_abandon()
{
	uint32_t   *d;
	cudaStream_t s;
	cudaEvent_t event;
	double		t;

	unit_case("abandoned work is dropped, a kernel half-way included");
	start_case();
	GOOD(cudaStreamCreate(&s));
	GOOD(cudaEventCreate(&event));
	GOOD(cudaMalloc(&d, 4));
	for (int i = 0; i < 5; i++)
		PP_LAUNCH(slow, 1000, 128, 0, s, 100000, d);
	GOOD(cudaEventRecord(event, s));
	ANSWERS(cudaEventQuery(event), cudaErrorNotReady);
	t = now();
	GOOD(pp_stream_abandon(s));
	GOOD(cudaEventQuery(event));
	GOOD(cudaFree(d));
	GOOD(cudaEventDestroy(event));
	GOOD(cudaStreamDestroy(s));
	EXPECT(now() - t < 2.0, "took %.3f s", now() - t);

	unit_case("a reset drops work as well");
	GOOD(cudaStreamCreate(&s));
	GOOD(cudaMalloc(&d, 4));
	PP_LAUNCH(slow, 1000, 128, 0, s, 100000, d);
	ANSWERS(cudaStreamQuery(s), cudaErrorNotReady);
	GOOD(cudaDeviceReset());
	REPORTED("leak");
	EXPECT(simt_memory().device_blocks == 0 && simt_memory().streams == 0, "something is left");
}

static void
test_deadlock_of_streams()
{
	cudaStream_t s;
	cudaEvent_t event;

	unit_case("an event that was never recorded is reached");
	start_case();
	GOOD(cudaStreamCreate(&s));
	GOOD(cudaEventCreate(&event));
	GOOD(cudaEventQuery(event));
	GOOD(cudaStreamWaitEvent(s, event, 0));
	GOOD(cudaStreamSynchronize(s));
	GOOD(cudaEventDestroy(event));
	GOOD(cudaStreamDestroy(s));
}

static void
test_memory()
{
	uint8_t    *d;
	uint8_t    *pinned;
	void	   *p;
	uint8_t		host[300] = {0};
	size_t		available;
	size_t		total;

	unit_case("device memory: alignment, garbage, accounts, limit");
	start_case();
	simt_set_device_bytes(1000);
	GOOD(cudaMalloc(&d, 300));
	EXPECT((uintptr_t) d % 256 == 0, "%p", (void *) d);
	GOOD(cudaMemcpy(host, d, 300, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 300; i++)
		EXPECT(host[i] == 0xc3, "byte %d is %02x", i, host[i]);
	GOOD(cudaMemGetInfo(&available, &total));
	EXPECT(available == 700 && total == 1000, "%zu of %zu", available, total);
	ANSWERS(cudaMalloc(&p, 701), cudaErrorMemoryAllocation);
	EXPECT(p == nullptr, "%p", p);
	ANSWERS(cudaGetLastError(), cudaErrorMemoryAllocation);
	ANSWERS(cudaGetLastError(), cudaSuccess);
	GOOD(cudaMalloc(&p, 700));
	GOOD(cudaFree(p));
	EXPECT(simt_memory().device_bytes == 300 && simt_memory().peak_device_bytes == 1000 &&
		   simt_memory().device_blocks == 1, "accounts");
	GOOD(cudaMalloc(&p, 0));
	EXPECT(p == nullptr, "%p", p);
	GOOD(cudaFree(nullptr));

	unit_case("copies: bounds and direction");
	GOOD(cudaMallocHost(&pinned, 100));
	ANSWERS(cudaMemcpy(d, host, 301, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	REPORTED("leaves the destination's allocation");
	ANSWERS(cudaMemcpy(host, d + 1, 300, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
	REPORTED("leaves the source's allocation");
	ANSWERS(cudaMemcpy(d, pinned, 101, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	ANSWERS(cudaMemcpy(d, host, 10, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
	ANSWERS(cudaMemcpy(d, pinned, 10, cudaMemcpyDeviceToDevice), cudaErrorInvalidMemcpyDirection);
	ANSWERS(cudaMemset(pinned, 0, 10), cudaErrorInvalidValue);
	ANSWERS(cudaMemset(d + 290, 0, 11), cudaErrorInvalidValue);
	GOOD(cudaMemset(d, 9, 300));
	GOOD(cudaMemcpy(pinned, d + 200, 100, cudaMemcpyDeviceToHost));
	EXPECT(pinned[99] == 9, "%u", pinned[99]);
	GOOD(cudaMemcpy(d, host, 0, cudaMemcpyHostToDevice));

	unit_case("free: what is not allocated");
	ANSWERS(cudaFree(d + 1), cudaErrorInvalidValue);
	ANSWERS(cudaFree(pinned), cudaErrorInvalidValue);
	ANSWERS(cudaFreeHost(d), cudaErrorInvalidValue);
	GOOD(cudaFree(d));
	ANSWERS(cudaFree(d), cudaErrorInvalidValue);
	GOOD(cudaFreeHost(pinned));

	unit_case("free in the order of a stream");
	GOOD(cudaMallocAsync(&d, 100, nullptr));
	GOOD(cudaMemsetAsync(d, 1, 100, nullptr));
	GOOD(cudaFreeAsync(d, nullptr));
	EXPECT(simt_memory().device_blocks == 1, "freed too early");
	ANSWERS(cudaFreeAsync(d, nullptr), cudaErrorInvalidValue);
	GOOD(cudaStreamSynchronize(nullptr));
	EXPECT(simt_memory().device_blocks == 0, "not freed");

	unit_case("memory freed before a copy comes to it");
	cudaStream_t s;
	GOOD(cudaStreamCreate(&s));
	GOOD(cudaMallocAsync(&d, 100, s));
	GOOD(cudaFreeAsync(d, s));
	GOOD(cudaMemcpyAsync(host, d, 100, cudaMemcpyDeviceToHost, s));
	ANSWERS(cudaStreamSynchronize(s), cudaErrorIllegalAddress);
	REPORTED("freed before");
}

static void
test_leaks()
{
	void	   *p;
	cudaStream_t s;
	cudaEvent_t event;
	uint64_t	leaked;

	unit_case("leaks are reported");
	start_case();
	leaked = simt_memory().leaked_blocks;
	GOOD(cudaMalloc(&p, 1234));
	GOOD(cudaDeviceReset());
	REPORTED("1234 bytes of device memory");
	GOOD(cudaMallocHost(&p, 77));
	GOOD(cudaDeviceReset());
	REPORTED("77 bytes of pinned memory");
	EXPECT(simt_memory().leaked_blocks == leaked + 2, "count");
	GOOD(cudaStreamCreate(&s));
	GOOD(cudaDeviceReset());
	REPORTED("streams");
	GOOD(cudaEventCreate(&event));
	GOOD(cudaDeviceReset());
	REPORTED("events");
	simt_clear_reports();
	GOOD(cudaEventDestroy(event));
	GOOD(cudaDeviceReset());
	EXPECT(simt_reports() == 0, "%s", simt_last_report());
}

static void
test_injection()
{
	uint32_t   *d;
	uint32_t   *e;
	uint32_t	host = 3;

	unit_case("injected failures");
	start_case();
	simt_inject(SIMT_ALLOC, 2, false);
	GOOD(cudaMalloc(&d, 4));
	ANSWERS(cudaMalloc(&e, 4), cudaErrorMemoryAllocation);
	GOOD(cudaMalloc(&e, 4));
	GOOD(cudaFree(e));
	simt_inject(SIMT_ALLOC, 1, true);
	ANSWERS(cudaMalloc(&e, 4), cudaErrorMemoryAllocation);
	ANSWERS(cudaMallocHost(&e, 4), cudaErrorMemoryAllocation);
	simt_inject(SIMT_ALLOC, 0, false);
	EXPECT(simt_calls(SIMT_ALLOC) == 5, "%llu", (unsigned long long) simt_calls(SIMT_ALLOC));
	simt_inject(SIMT_COPY, 2, false);
	GOOD(cudaMemcpy(d, &host, 4, cudaMemcpyHostToDevice));
	ANSWERS(cudaMemset(d, 0, 4), cudaErrorInvalidValue);
	GOOD(cudaMemset(d, 0, 4));
	(void) cudaGetLastError();
	simt_inject(SIMT_LAUNCH, 1, false);
	PP_LAUNCH(add_one, 1, 1, 0, nullptr, d, 1);
	ANSWERS(pp_launch_error(), cudaErrorLaunchOutOfResources);
	PP_LAUNCH(add_one, 1, 1, 0, nullptr, d, 1);
	GOOD(pp_launch_error());
	GOOD(cudaMemcpy(&host, d, 4, cudaMemcpyDeviceToHost));
	EXPECT(host == 1, "%u", host);
	EXPECT(simt_launches("add_one") == 1 && simt_launches(nullptr) == 1, "launches");
	/* what is counted without a template's arguments is one kernel with all of them */
	EXPECT(simt_launches("(add_one<3, 0>)") == 1 && simt_launches("add_one<X>") == 1 &&
		   simt_launches("add_on") == 0 && simt_launches("add_one_more<3>") == 0, "names");
	simt_inject(SIMT_EXECUTION, 1, false);
	PP_LAUNCH(add_one, 1, 1, 0, nullptr, d, 1);
	GOOD(pp_launch_error());
	ANSWERS(cudaStreamSynchronize(nullptr), cudaErrorLaunchFailure);

	unit_case("an error of execution lasts until the reset");
	ANSWERS(cudaGetLastError(), cudaErrorLaunchFailure);
	ANSWERS(cudaGetLastError(), cudaErrorLaunchFailure);
	ANSWERS(cudaMalloc(&e, 4), cudaErrorLaunchFailure);
	ANSWERS(cudaMemset(d, 0, 4), cudaErrorLaunchFailure);
	ANSWERS(cudaStreamQuery(nullptr), cudaErrorLaunchFailure);
	PP_LAUNCH(add_one, 1, 1, 0, nullptr, d, 1);
	ANSWERS(pp_launch_error(), cudaErrorLaunchFailure);
	ANSWERS(cudaFree(d), cudaErrorLaunchFailure);
	EXPECT(simt_memory().device_blocks == 0, "memory is freed all the same");
	GOOD(cudaDeviceReset());
	GOOD(cudaMalloc(&d, 4));
	GOOD(cudaFree(d));
}

static void
test_launches()
{
	uint32_t   *d;

	unit_case("launches that no device takes");
	start_case();
	GOOD(cudaMalloc(&d, 4));
	PP_LAUNCH(add_one, 1, 1025, 0, nullptr, d, 1);
	ANSWERS(pp_launch_error(), cudaErrorInvalidConfiguration);
	REPORTED("add_one");
	PP_LAUNCH(add_one, 0, 32, 0, nullptr, d, 1);
	ANSWERS(pp_launch_error(), cudaErrorInvalidConfiguration);
	PP_LAUNCH(add_one, dim3(1, 65536), 32, 0, nullptr, d, 1);
	ANSWERS(pp_launch_error(), cudaErrorInvalidConfiguration);
	PP_LAUNCH(add_one, 1, dim3(1, 1, 65), 0, nullptr, d, 1);
	ANSWERS(pp_launch_error(), cudaErrorInvalidConfiguration);
	GOOD(cudaStreamSynchronize(nullptr));
	GOOD(cudaFree(d));

	unit_case("the device");
	int			value = -1;
	cudaDeviceProp prop;
	GOOD(cudaGetDeviceCount(&value));
	EXPECT(value == 1, "%d devices", value);
	GOOD(cudaSetDevice(0));
	ANSWERS(cudaSetDevice(1), cudaErrorInvalidDevice);
	GOOD(cudaGetDeviceProperties(&prop, 0));
	EXPECT(prop.warpSize == 32 && prop.totalGlobalMem == UINT64_C(1) << 30, "properties");
	GOOD(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
	EXPECT(value == prop.major, "%d", value);
	EXPECT(strcmp(cudaGetErrorName(cudaErrorNotReady), "cudaErrorNotReady") == 0, "name");
	(void) cudaGetLastError();
}

#if !defined(SIMT_TSAN)

/*
 * Signals of the process are not handled while a kernel runs.
 */
static volatile sig_atomic_t alarms;
static uintptr_t handler_at;

static void
on_alarm(int)
{
	handler_at = (uintptr_t) __builtin_frame_address(0);
	alarms = alarms + 1;
}

static void
test_signals()
{
	struct sigaction action = {};
	struct sigaction before;
	struct itimerval timer = {{0, 1000}, {0, 1000}};
	struct itimerval off = {{0, 0}, {0, 0}};
	uint32_t   *d;
	uintptr_t	here = (uintptr_t) __builtin_frame_address(0);
	bool		strayed = false;

	unit_case("signal handlers run between slices and on the process's stack");
	start_case();
	action.sa_handler = on_alarm;
	GOOD(cudaMalloc(&d, 4));
	(void) sigaction(SIGALRM, &action, &before);
	(void) setitimer(ITIMER_REAL, &timer, nullptr);
	PP_LAUNCH(slow, 10, 64, 0, nullptr, 3000, d);
	while (cudaStreamQuery(nullptr) == cudaErrorNotReady)
	{
		uintptr_t	off_by = handler_at > here ? handler_at - here : here - handler_at;

		if (handler_at != 0 && off_by > 1 << 20)
			strayed = true;
	}
	(void) setitimer(ITIMER_REAL, &off, nullptr);
	(void) sigaction(SIGALRM, &before, nullptr);
	EXPECT(alarms > 0, "no signal came");
	EXPECT(!strayed, "a handler ran on another stack");
	GOOD(cudaFree(d));
}

#endif

#if !defined(SIMT_TSAN) && !defined(__SANITIZE_ADDRESS__)

/*
 * Crashes (with sanitizers they are the sanitizer's)
 */
__global__ void
write_to(uint32_t *p, uint32_t i)
{
	__syncthreads();
	p[i] = 1;
}

static __noinline__ uint32_t
deeper(uint32_t n, volatile uint32_t *p)
{
	volatile uint32_t room[64];

	room[n % 64] = *p;
	return n == 0 ? room[0] : deeper(n - 1, p) + room[n % 64];
}

__global__ void
fill_stack(uint32_t *p, uint32_t n)
{
	*p = deeper(n, p);
}

__global__ void
divide(uint32_t *p, uint32_t by)
{
	*p = 12345 / by;
}

static void
test_crashes()
{
	uint32_t   *d;

	unit_case("an address that is not mapped");
	start_case();
	GOOD(cudaMalloc(&d, 4096));
	PP_LAUNCH(write_to, 3, 64, 0, nullptr, nullptr, 1);
	ANSWERS(cudaStreamSynchronize(nullptr), cudaErrorIllegalAddress);
	REPORTED("kernel write_to");
	REPORTED("address 0x4");

	unit_case("far behind device memory");
	start_case();
	GOOD(cudaMalloc(&d, 4096));
	PP_LAUNCH(write_to, 3, 64, 0, nullptr, d, 1024);
	ANSWERS(cudaStreamSynchronize(nullptr), cudaErrorIllegalAddress);

	unit_case("just behind device memory: found when it is freed");
	start_case();
	GOOD(cudaMalloc(&d, 4));
	PP_LAUNCH(write_to, 1, 1, 0, nullptr, d, 1);
	GOOD(cudaStreamSynchronize(nullptr));
	ANSWERS(cudaFree(d), cudaErrorIllegalAddress);
	REPORTED("byte 0 behind");

	unit_case("a full stack");
	start_case();
	GOOD(cudaMalloc(&d, 4));
	GOOD(cudaMemset(d, 0, 4));
	PP_LAUNCH(fill_stack, 1, 1, 0, nullptr, d, 100);
	GOOD(cudaStreamSynchronize(nullptr));
	PP_LAUNCH(fill_stack, 1, 32, 0, nullptr, d, 100000);
	ANSWERS(cudaStreamSynchronize(nullptr), cudaErrorLaunchFailure);
	REPORTED("the stack of a thread is full");

	unit_case("division by zero");
	start_case();
	GOOD(cudaMalloc(&d, 4));
	PP_LAUNCH(divide, 1, 1, 0, nullptr, d, 0);
	(void) cudaStreamSynchronize(nullptr);
#ifdef __x86_64__
	REPORTED("division by zero");
#endif
	start_case();
}

#endif

static void
test_settings()
{
	char		path[] = "/tmp/simt_settings_XXXXXX";
	int			fd = mkstemp(path);
	const char	text[] = "SIMT_SEED=5\nSIMT_FAIL_ALLOC=2+\nSIMT_MEMORY=100\n";
	int			count;
	void	   *p;

	unit_case("settings from a file");
	start_case();
	EXPECT(fd >= 0 && write(fd, text, sizeof(text) - 1) == (ssize_t) sizeof(text) - 1, "file");
	(void) close(fd);
	(void) setenv("SIMT_CONTROL", path, 1);
	GOOD(cudaGetDeviceCount(&count));
	ANSWERS(cudaMalloc(&p, 101), cudaErrorMemoryAllocation);	/* call 1: too large */
	ANSWERS(cudaMalloc(&p, 10), cudaErrorMemoryAllocation);
	ANSWERS(cudaMalloc(&p, 10), cudaErrorMemoryAllocation);
	(void) unlink(path);
	GOOD(cudaGetDeviceCount(&count));
	GOOD(cudaMalloc(&p, 10));
	GOOD(cudaFree(p));
	(void) unsetenv("SIMT_CONTROL");
	(void) cudaGetLastError();
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "simt_runtime_test");
#if !defined(SIMT_TSAN)
	test_lazy();
#endif
	test_streams();
	test_slices();
	test_abandon();
	test_deadlock_of_streams();
	test_memory();
	test_leaks();
	test_injection();
	test_launches();
#if !defined(SIMT_TSAN)
	test_signals();
#endif
#if !defined(SIMT_TSAN) && !defined(__SANITIZE_ADDRESS__)
	test_crashes();
#endif
	test_settings();
	(void) cudaDeviceReset();
	return unit_end();
}

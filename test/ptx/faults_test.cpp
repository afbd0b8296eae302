/*
 * test/ptx/faults_test.cpp
 *	  Looks whether planted mistakes are found in what nvcc made, and that
 *	  nothing is found where there is none.
 *
 * Each mistake runs in a process of its own, for a sanitizer ends it.  What
 * has to find it depends on how this is built: wrong results under some random
 * schedule and the executor's own checks (plain), AddressSanitizer (asan) or
 * ThreadSanitizer (tsan).
 */
#include "faults.h"
#include "../simt/control.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

/* Runs of each mistake; starting threads takes long under sanitizers. */
#if defined(FAULTS_asan)
static const char *const MODE = "asan";
static const uint32_t SEEDS = 3;
#elif defined(FAULTS_tsan)
static const char *const MODE = "tsan";
static const uint32_t SEEDS = 2;
#else
static const char *const MODE = "plain";
static const uint32_t SEEDS = 6;
#endif

/* The blocks that a look-back race needs, and no more. */
static const uint32_t BLOCKS = 13;

static unsigned passed, failed;

/* In the child: what came of it, in words. */
static void
run(Fault fault, uint32_t seed)
{
	const uint32_t n = BLOCKS * FAULT_BLOCK;
	std::vector<uint32_t> in(n), expected(n), got(n);
	uint32_t   *d_in, *d_out, *d_carried, *d_state;
	SimtConfig	config = {};

	config.seed = seed;
	config.resident = 8;
	config.preempt = seed != 0 ? 16384 : 0;
	simt_configure(&config);
	for (uint32_t i = 0; i < n; i++)
		in[i] = i * 2654435761u;
	fault_expected(in.data(), expected.data(), BLOCKS);
	cudaMalloc(&d_in, n * 4);
	cudaMalloc(&d_out, n * 4);
	cudaMalloc(&d_carried, BLOCKS * 4);
	cudaMalloc(&d_state, (BLOCKS + 1) * 4);
	cudaMemcpy(d_in, in.data(), n * 4, cudaMemcpyHostToDevice);
	cudaMemset(d_state, 0, (BLOCKS + 1) * 4);

	cudaError_t error = fault_run(fault, d_in, d_out, d_carried, d_state, BLOCKS, nullptr);

	if (error == cudaSuccess)
		error = cudaDeviceSynchronize();
	cudaMemcpy(got.data(), d_out, n * 4, cudaMemcpyDeviceToHost);
	if (error != cudaSuccess)
		fprintf(stderr, "answer %s: %s\n", cudaGetErrorName(error), simt_last_report());
	else if (got != expected)
		fprintf(stderr, "wrong result\n");
	else
		fprintf(stderr, "right result\n");
	fflush(stderr);
}

static std::string
run_in_child(Fault fault, uint32_t seed)
{
	int			ends[2];
	std::string text;
	char		buffer[4096];
	ssize_t		n;
	pid_t		child;

	if (pipe(ends) != 0 || (child = fork()) < 0)
	{
		perror("child");
		exit(2);
	}
	if (child == 0)
	{
		dup2(ends[1], 2);
		close(ends[0]);
		close(ends[1]);
		/* a new image: sanitizers do not care for fork() */
		execl("/proc/self/exe", "faults_test", std::to_string(fault).c_str(), std::to_string(seed).c_str(),
			  (char *) nullptr);
		_exit(127);
	}
	close(ends[1]);
	while ((n = read(ends[0], buffer, sizeof(buffer))) > 0)
		text.append(buffer, (size_t) n);
	close(ends[0]);
	waitpid(child, nullptr, 0);
	return text;
}

static void
expect(Fault fault, const char *name, const char *finding)
{
	uint32_t	found = 0;
	std::string last;

	for (uint32_t seed = 0; seed < SEEDS; seed++)
	{
		std::string text = run_in_child(fault, seed);

		if (text.find(finding) != std::string::npos)
			found++;
		else
			last = text;
	}
	/* without a mistake every run is right; a mistake has to be found once */
	if (fault == FAULT_NONE ? found == SEEDS && last.empty() : found != 0)
		passed++;
	else
	{
		failed++;
		printf("FAILED: %s: \"%s\" in %u of %u runs; else: %s\n", name, finding, found, SEEDS, last.c_str());
	}
	printf("%s: %s: \"%s\" in %u of %u runs\n", MODE, name, finding, found, SEEDS);
}

int
main(int argc, char **argv)
{
	if (argc == 3)
	{
		run((Fault) atoi(argv[1]), (uint32_t) atoi(argv[2]));
		return 0;
	}
	std::string mode = MODE;

	expect(FAULT_NONE, "no mistake", "right result");
	expect(FAULT_ALIGNMENT, "alignment", "cudaErrorMisalignedAddress");
	expect(FAULT_DIVERGENCE, "divergent barriers", "answer cuda");
	if (mode == "plain")
	{
		expect(FAULT_BARRIER, "missing __syncthreads()", "wrong result");
		expect(FAULT_SYNCWARP, "missing __syncwarp()", "wrong result");
		expect(FAULT_DEVICE_BOUNDS, "store behind the output", "cudaErrorIllegalAddress");
	}
	if (mode == "tsan")
	{
		expect(FAULT_BARRIER, "missing __syncthreads()", "data race");
		expect(FAULT_SYNCWARP, "missing __syncwarp()", "data race");
		expect(FAULT_RELEASE, "missing release", "data race");
	}
	if (mode == "asan")
	{
		expect(FAULT_DEVICE_BOUNDS, "store behind the output", "AddressSanitizer");
		expect(FAULT_SHARED_BOUNDS, "load behind shared memory", "AddressSanitizer");
	}
	printf("faults_%s: %u passed, %u failed\n", MODE, passed, failed);
	return failed != 0;
}

/*
 * bench/device_frame.c
 *	  Options, time, failures, and the device library, for the programs that
 *	  measure it without a server.
 *
 * Must not: know what is measured, the server, or any of the library's inner
 * workings.
 */
#define _GNU_SOURCE
#include "device_frame.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const PpCudaLibrary *library;
double		deadline;
uint32_t	rounds;
bool		tiny;
uint32_t	left_out;
uint32_t	differences;

double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

void
die(const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, fmt, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(1);
}

bool
frame_option(FrameOptions *options, int argc, char **argv, int *i)
{
	const char *option = argv[*i];
	const char *value = *i + 1 < argc ? argv[*i + 1] : NULL;

	if (strcmp(option, "--tiny") == 0)
	{
		tiny = true;
		return true;
	}
	if (value == NULL)
		die("unknown option %s, or it needs a value", option);
	if (strcmp(option, "--library") == 0)
		options->library = value;
	else if (strcmp(option, "--limit") == 0)
		options->limit = strtod(value, NULL);
	else if (strcmp(option, "--rounds") == 0)
		rounds = (uint32_t) strtoul(value, NULL, 10);
	else if (strcmp(option, "--tsv") == 0)
		options->tsv = value;
	else if (strcmp(option, "--name") == 0)
		options->name = value;
	else
		return false;
	++*i;
	return true;
}

void
frame_load(const FrameOptions *options)
{
	PpCudaLibraryFunction function;
	void	   *handle;

	if (options->library == NULL)
		die("--library is needed");
	if (rounds < 1 || rounds > MAX_ROUNDS)
		die("--rounds is 1 to %d", MAX_ROUNDS);
	deadline = now() + options->limit;
	handle = dlopen(options->library, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL)
		die("%s", dlerror());
	*(void **) &function = dlsym(handle, PP_CUDA_LIBRARY_SYMBOL);
	library = function == NULL ? NULL : function(PP_CUDA_VERSION);
	if (library == NULL)
		die("%s is no device library of version %d", options->library, PP_CUDA_VERSION);
}

bool
frame_start(PpCudaDevice *device, const char **message)
{
	PpCudaConfig config = {sizeof(config), 0, UINT64_MAX};

	return library->start(&config, device, message);
}

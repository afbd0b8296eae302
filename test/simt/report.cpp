/*
 * test/simt/report.cpp
 *	  Reports and the error state of the runtime.  Allocates nothing, for it
 *	  is called when things are broken.
 */
#include "report.h"

#include <cstdarg>
#include <cstdio>

#include "control.h"

namespace simt
{

static char text[8192];
static size_t text_len;
static uint64_t number;
static bool to_stderr = true;

static cudaError_t last = cudaSuccess;
static cudaError_t sticky = cudaSuccess;

static void
add(const char *fmt, va_list args)
{
	int			n = vsnprintf(text + text_len, sizeof(text) - text_len, fmt, args);

	if (n > 0)
		text_len += (size_t) n;
	if (text_len >= sizeof(text))
		text_len = sizeof(text) - 1;
}

void
report_begin()
{
	text_len = 0;
	text[0] = '\0';
}

void
report_add(const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	add(fmt, args);
	va_end(args);
}

void
report_end()
{
	number++;
	if (to_stderr)
		fprintf(stderr, "SIMT: %s\n", text);
}

void
report(const char *fmt,...)
{
	va_list		args;

	report_begin();
	va_start(args, fmt);
	add(fmt, args);
	va_end(args);
	report_end();
}

cudaError_t
answer(cudaError_t error)
{
	if (error != cudaSuccess && error != cudaErrorNotReady)
		last = error;
	return error;
}

cudaError_t
sticky_error()
{
	return sticky;
}

void
set_sticky_error(cudaError_t error)
{
	if (sticky == cudaSuccess)
		sticky = error;
	last = sticky;
}

void
clear_errors()
{
	last = cudaSuccess;
	sticky = cudaSuccess;
}

}								/* namespace simt */

extern "C" {

const char *
simt_last_report(void)
{
	return simt::text;
}

uint64_t
simt_reports(void)
{
	return simt::number;
}

void
simt_clear_reports(void)
{
	simt::text[0] = '\0';
	simt::number = 0;
}

void
simt_report_to_stderr(bool on)
{
	simt::to_stderr = on;
}

cudaError_t
cudaGetLastError(void)
{
	cudaError_t error = simt::last;

	simt::last = simt::sticky;
	return error;
}

cudaError_t
cudaPeekAtLastError(void)
{
	return simt::last;
}

}

# shellcheck shell=bash
#
# scripts/suite_device.sh
#	  The suites "layer", "kernels", "ptx" and "ptxas" of scripts/test, which
#	  sources this: device code without a server.  The layer that executes its
#	  sources on the CPU, the kernels and their driver on it, then what nvcc
#	  makes of them, executed on the CPU as well, and measured.
#
# None needs a device.  What nvcc's results are translated to is kept in
# $PP_CACHE, if set, else beside the tests.

# $1: how many programs end with a count if there is no ThreadSanitizer that
# works; the rest: targets of test/$2's Makefile.
device_suite()
{
	local expected=$1 dir=$PP_SRC/test/$2
	local missing

	shift 2
	missing=$(make -s -C "$dir" --no-print-directory -n check 2>&1 >/dev/null) || true
	if grep -q 'CUDA headers are missing' <<<"$missing"; then
		echo "skipped: the CUDA headers are not installed"
	else
		MAKE_DIR=$dir make_suite "$expected" "$@"
	fi
}

suite_layer()
{
	device_suite 9 simt check check-asan check-tsan
}

suite_kernels()
{
	local tests

	# one of them is built for check-bytes only
	tests=$(find "$PP_SRC/test/cuda" -name '*_test.cpp' | wc -l)
	# shellcheck disable=SC2086 # a target, or nothing
	device_suite $((2 * tests - 1)) cuda check check-asan check-tsan check-bytes \
		${PP_FULL:+check-planted} PYTHON="$PP_PYTHON"
}

pp_has_nvcc()
{
	command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]
}

# Programs of test/ptx that make check runs, but for the one that needs a
# compiler whose ThreadSanitizer works.
PTX_PROGRAMS=8

suite_ptx()
{
	if ! pp_has_nvcc; then
		echo "skipped: nvcc is not installed"
		return
	fi
	MAKE_DIR=$PP_SRC/test/ptx make_suite "$PTX_PROGRAMS" check
}

suite_ptxas()
{
	if ! pp_has_nvcc; then
		echo "skipped: nvcc is not installed"
		return
	fi
	MAKE_DIR=$PP_SRC/test/ptx make_suite 1 limits
}

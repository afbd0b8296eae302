# shellcheck shell=bash
#
# scripts/suite_device.sh
#	  The suites "layer", "kernels", "ptx", "ptxas" and "device" of scripts/test,
#	  which sources this: device code without a server.  The layer that executes its
#	  sources on the CPU, the kernels and their driver on it, then what nvcc
#	  makes of them, executed on the CPU as well, and measured.
#
# None needs a device.  What nvcc's results are translated to is kept in
# $PP_CACHE, if set, else beside the tests.

# $1: how many programs end with a count; the rest: targets of test/$2's Makefile.
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
	device_suite 13 simt check check-asan check-tsan
}

suite_kernels()
{
	local tests expected sanitizers

	# Three programs are for check-bytes only, which runs two others as well.
	tests=$(($(find "$PP_SRC/test/cuda" -name '*_test.cpp' | wc -l) - 3))
	# each is compiled anew for every sanitizer: a run takes one, test-full both, and
	# planted faults.  ThreadSanitizer is too slow for two programs in every run.
	if [ -n "${PP_FULL:-}" ]; then
		sanitizers="check-asan check-tsan"
		expected=$((3 * tests + 6))
	elif [ $((RANDOM % 2)) = 0 ]; then
		sanitizers=check-asan
		expected=$((2 * tests + 5))
	else
		sanitizers=check-tsan
		expected=$((2 * tests + 3))
	fi
	echo "of the sanitizers: $sanitizers"
	# shellcheck disable=SC2086 # targets, or nothing
	device_suite "$expected" cuda check $sanitizers check-bytes \
		${PP_FULL:+check-planted TSAN_LONG=} PYTHON="$PP_PYTHON"
}

pp_has_nvcc()
{
	command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]
}

# Programs of test/ptx that make check runs.
PTX_PROGRAMS=23

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
	# shellcheck disable=SC2086 # a setting, or nothing
	MAKE_DIR=$PP_SRC/test/ptx make_suite 1 limits ${PP_FULL:+ARCHS=all}
}

# bench/device on the layer: does it measure everything, with equal answers?
suite_device()
{
	local out=$TMPDIR/device passed=0 failed=0 pipeline rows wanted joins

	if make -s -C "$PP_SRC/test/cuda" --no-print-directory -n check 2>&1 >/dev/null |
		grep -q 'CUDA headers are missing'; then
		echo "skipped: the CUDA headers are not installed"
		return
	fi
	if "$PP_SRC/bench/device" --simt --limit 300 -n 1 --output "$out" >"$TMPDIR/device.log" 2>&1 &&
		! grep -q 'left out' "$out/device.md"; then
		passed=$((passed + 1))
	else
		echo "FAILED: bench/device --simt"
		tail -n 20 "$TMPDIR/device.log" | indent
		failed=$((failed + 1))
	fi
	for pipeline in fused paper json cpu; do
		rows=$(awk -F '\t' -v p="$pipeline" '$3 == p && $7 > 0 && $13 == "" && !seen[$2, $5]++' \
			"$out/device.tsv" 2>/dev/null | wc -l)
		# ten queries of CSV, six of JSON, from memory and from the file
		case $pipeline in
			json) wanted=12 ;;
			cpu) wanted=32 ;;
			*) wanted=20 ;;
		esac
		if [ "$rows" = "$wanted" ]; then
			passed=$((passed + 1))
		else
			echo "FAILED: bench/device has measured $rows of $wanted with $pipeline"
			failed=$((failed + 1))
		fi
	done
	for pipeline in lftj optimized degree pairwise cpu; do
		rows=$(awk -F '\t' -v a="$pipeline" '$4 == a && $5 > 0 && $12 == ""' \
			"$out/joins.tsv" 2>/dev/null | wc -l)
		# of two random graphs, and three queries of a skewed one, of which a
		# cycle is no clique
		joins=5
		[ "$pipeline" != degree ] || joins=4
		if [ "$rows" = "$joins" ]; then
			passed=$((passed + 1))
		else
			echo "FAILED: bench/device has measured $rows joins with $pipeline"
			failed=$((failed + 1))
		fi
	done
	if "$PP_PYTHON" "$PP_SRC/bench/report" "$out/device.tsv" >"$TMPDIR/report.log" 2>&1 &&
		grep -q '^| one record of most of the file | [0-9]' "$out/report.md" &&
		grep -q '^| array: every column | [0-9]' "$out/report.md"; then
		passed=$((passed + 1))
	else
		echo "FAILED: bench/report"
		indent <"$TMPDIR/report.log"
		failed=$((failed + 1))
	fi
	echo "$passed passed, $failed failed"
}

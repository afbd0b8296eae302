#!/bin/sh
# test/simt/planted.sh MODE FOLDER
#	Plants faults in planted.cpp one by one and expects the layer to find them
#	in the build of MODE (plain, asan, tsan): by a report, by a sanitizer's
#	report, or by a wrong result under some seed.  Without a fault every seed
#	must give the right result and no report.
#
#	From the Makefile: CXX, FLAGS, LINK, LIB, UNDER (command to run programs
#	under), KIND (of ThreadSanitizer; see find-tsan.sh).  The last line is "simt_planted_MODE: N passed, N failed".
mode=$1
folder=$2
here=$(dirname "$0")
passed=0
failed=0
export ASAN_OPTIONS="abort_on_error=0 detect_leaks=1 ${ASAN_OPTIONS:-}"
export TSAN_OPTIONS="halt_on_error=1 ${TSAN_OPTIONS:-}"

build()
{
	$CXX $FLAGS -DFAULT="FAULT_$1" -c -o "$folder/planted_$1.o" "$here/planted.cpp" &&
	$CXX $LINK -o "$folder/planted_$1" "$folder/planted_$1.o" "$LIB" ||
	{
		echo "simt_planted_$mode: 0 passed, 1 failed"
		exit 1
	}
}

# Runs under a seed; what the program and the sanitizer said is in the output.
run()
{
	timeout 120 $UNDER "$folder/planted_$1" "$2" > "$folder/planted_$1.out" 2>&1
}

note()
{
	if [ "$1" = passed ]
	then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAILED simt_planted_$mode: $2"
		head -n 20 "$3"
	fi
}

# found FAULT SEEDS PATTERN: under one of the seeds at least, the output has it
found()
{
	build "$1"
	for seed in $2
	do
		run "$1" "$seed"
		if grep -Eq -- "$3" "$folder/planted_$1.out"
		then
			note passed
			return
		fi
	done
	note failed "fault $1 was not found" "$folder/planted_$1.out"
}

# always FAULT SEEDS PATTERN: under every seed
always()
{
	build "$1"
	for seed in $2
	do
		run "$1" "$seed"
		if ! grep -Eq -- "$3" "$folder/planted_$1.out"
		then
			note failed "fault $1, seed $seed: no '$3'" "$folder/planted_$1.out"
			return
		fi
	done
	note passed
}

case $mode in
	plain)
		always NONE "0 1 2 3 4 5 6 7" '^ok$'
		found BARRIER "1 2 3 4 5 6 7 8" '^(wrong|reported cudaErrorIllegalAddress.*)$'
		found SYNCWARP "1 2 3 4 5 6 7 8" '^wrong$'
		found STREAM_ORDER "1 2 3 4 5 6 7 8" '^wrong$'
		found PLAIN_COUNTER "1 2 3 4 5 6 7 8" '^wrong$'
		always HOST_ORDER "0 1" '^wrong$'
		always GARBAGE "0 1" '^wrong$'
		always DEVICE_GARBAGE "0 1" '^(wrong|reported.*)$'
		always DIVERGENT "0 1 2" 'kernel scan_tiles.*different barriers: __syncthreads at .*planted.cpp:[0-9]+ and at .*planted.cpp:[0-9]+'
		always LEFT_OUT "0 1 2" '(kernel scan_tiles.*(deadlock|different barriers))|waits in a warp operation at .*mask ffffffff'
		always MASK "0 1" 'kernel scan_tiles.*lane 31 is not in the mask 7fffffff'
		always WARP_OPS "0 1" 'lanes of mask ffffffff meet at different warp operations'
		always COPY_BOUNDS "0" 'copy of 8196 bytes leaves the destination'
		always LEAK "0" 'leak: 1 allocations were not freed: [0-9]+ bytes of device memory'
		always DEVICE_BOUNDS "0 1" 'byte 0 behind device memory of 200 bytes was written'
		always MISALIGNED "0 1" 'kernel scan_tiles.*access of 4 bytes at .* is not aligned'
		always FLAG "0 1" 'kernel scan_tiles.*deadlock: all threads that can run wait in loops'
		always USE_AFTER_FREE "0 1" 'kernel double_all.*access to address .*not mapped'
		always SCRATCH "0" 'pp_scan_sum32: [0-9]+ bytes of scratch memory where [0-9]+ are needed'
		;;
	asan)
		always NONE "0 1" '^ok$'
		always SHARED_BOUNDS "0 1" 'AddressSanitizer: use-after-poison|runtime error: index'
		always DYNAMIC_BOUNDS "0 1" 'AddressSanitizer: use-after-poison'
		always DEVICE_BOUNDS "0 1" 'AddressSanitizer: use-after-poison'
		always USE_AFTER_FREE "0" 'AddressSanitizer: (use-after-poison|SEGV)'
		always DIVERGENT "0" 'different barriers'
		;;
	tsan)
		always NONE "0 1 2" '^ok$'
		found BARRIER "1 2" 'ThreadSanitizer: data race'
		found SYNCWARP "1 2" 'ThreadSanitizer: data race'
		found RELEASE "1 2 3 4 5 6 7 8" 'ThreadSanitizer: data race'
		found PLAIN_COUNTER "1 2" 'ThreadSanitizer: data race'
		if [ "$KIND" = full ]
		then
			found STREAM_ORDER "1 2 3 4" 'ThreadSanitizer: data race'
			found HOST_ORDER "1 2" 'ThreadSanitizer: data race'
		else
			echo "skipped: order of streams; $CXX knows too few threads"
		fi
		;;
	*)
		echo "usage: planted.sh plain|asan|tsan FOLDER" >&2
		exit 2
		;;
esac

echo "simt_planted_$mode: $passed passed, $failed failed"
[ "$failed" -eq 0 ]

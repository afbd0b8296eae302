#!/bin/sh
# test/unit/headers.sh CC CXX NVCC SRC HEADER...
#	Compiles every header of the engine by itself, as C11 and as C++17, with
#	signed and with unsigned char, and as CUDA C++ where nvcc is there.  Those
#	of the CPU backend's inside are C; nvcc never sees them.
#	simd_*.h, json_masks.h and *_impl.h are pieces of *kernel_*.c, not
#	headers of their own, and are left out.
cc=$1
cxx=$2
nvcc=$3
src=$4
shift 4
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
passed=0
failed=0

try()
{
	what=$1
	shift
	if "$@" >"$dir/messages" 2>&1
	then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAILED headers: $what"
		head -n 20 "$dir/messages"
	fi
}

warn="-Wall -Wextra -Werror"
for header in "$@"
do
	case $(basename "$header") in
		simd_*.h | *_impl.h | json_masks.h) continue ;;
	esac
	for char in -funsigned-char -fsigned-char
	do
		# twice, so that include guards count; an object, so that functions do
		printf '#include "%s"\n#include "%s"\nint pp_header_test(void);\nint pp_header_test(void) { return 0; }\n' \
			"$header" "$header" >"$dir/header.c"
		cp "$dir/header.c" "$dir/header.cpp"
		try "$header as C11 with $char" $cc -std=c11 -O1 $warn $char -I"$src" -c -o "$dir/c.o" "$dir/header.c"
		# headers inside the CPU backend are C unless they say otherwise
		case $header in
			*/cpu/* | */json/*) grep -q __cplusplus "$header" || continue ;;
		esac
		try "$header as C++17 with $char" $cxx -std=c++17 -O1 $warn $char -I"$src" -c -o "$dir/cxx.o" "$dir/header.cpp"
	done
	case $header in
		*/cpu/* | */json/json_*) continue ;;
	esac
	if [ -n "$nvcc" ]
	then
		cp "$dir/header.c" "$dir/header.cu"
		try "$header as CUDA C++" "$nvcc" -x cu -std=c++17 -Werror all-warnings \
			-Xcompiler -Wall,-Wextra,-Werror -I"$src" -c -o "$dir/cu.o" "$dir/header.cu"
	fi
done
[ -n "$nvcc" ] || echo "headers: no nvcc, CUDA C++ skipped"
echo "headers: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]

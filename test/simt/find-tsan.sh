#!/bin/sh
# test/simt/find-tsan.sh [COMPILER]
#	Finds a C++ compiler whose ThreadSanitizer works on this machine and prints
#	four lines: the C++ compiler, its C compiler, the command that programs are
#	to be run under (may be empty), and "full" or "limited".  Nothing: there is
#	none.
#
#	Limited runtimes (of clang 14 and gcc 13 on) know 255 threads at a time: with
#	more, as kernels have, they take a thread for ordered behind another one
#	that had its place, and so miss races; they are several times as fast,
#	though.  The probe plants such a race.

dir=$(mktemp -d) || exit 0
trap 'rm -rf "$dir"' EXIT

cat > "$dir/probe.cpp" <<'PROBE'
extern "C" void *__tsan_get_current_fiber(void);
extern "C" void *__tsan_create_fiber(unsigned);
extern "C" void __tsan_switch_to_fiber(void *, unsigned);
extern "C" void __tsan_release(void *);
extern "C" void __tsan_acquire(void *);

int			shared[64];
static char order;

/* Writers that are not ordered; between them, many that the second follows. */
__attribute__((noinline)) static void
write_all(int v)
{
	for (int i = 0; i < 64; i++)
		*const_cast<volatile int *>(&shared[i]) = v;
}

int
main(int argc, char **)
{
	void	   *self = __tsan_get_current_fiber();
	void	   *fiber[602];

	for (void *&f : fiber)
		f = __tsan_create_fiber(0);
	__tsan_switch_to_fiber(fiber[0], 1);
	if (argc > 1)
		write_all(1);
	for (int i = 1; i <= 600; i++)
	{
		__tsan_switch_to_fiber(fiber[i], 1);
		__tsan_release(&order);
	}
	__tsan_switch_to_fiber(fiber[601], 1);
	__tsan_acquire(&order);
	write_all(2);
	__tsan_switch_to_fiber(self, 1);
	return 0;
}
PROBE

# found COMPILER KIND: prints the answer and ends if it fits
found()
{
	command -v "$1" > /dev/null 2>&1 || return
	"$1" -std=c++17 -O1 -g -fsanitize=thread -o "$dir/probe" "$dir/probe.cpp" \
		> /dev/null 2>&1 || return
	for under in '' "setarch $(uname -m) -R"
	do
		$under "$dir/probe" > /dev/null 2>&1 || continue
		kind=full
		$under "$dir/probe" race > /dev/null 2>&1 && kind=limited
		[ "$kind" = "$2" ] || return
		echo "$1"
		echo "$1" | sed 's/clang++/clang/; s/g++/gcc/'
		echo "$under"
		echo "$kind"
		exit 0
	done
}

if [ -n "$1" ]
then
	found "$1" full
	found "$1" limited
	exit 0
fi
for cxx in g++ g++-12 g++-11 clang++-13 clang++-12 clang++-11
do
	found "$cxx" full
done
for cxx in clang++ clang++-21 clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 g++
do
	found "$cxx" limited
done

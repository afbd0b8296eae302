#!/usr/bin/env python3
"""
test/ptx/launched.py LIST [PATTERN ...]
    Was every kernel of the library executed?  LIST is what the programs of a
    run appended to (cudart_launch.cpp, PTX_KERNELS): module, mangled name,
    threads that executed the kernel.  Patterns of file names, as join_*.cu,
    say of which files (all).

Kernels are those of the list, where each program names all that it was linked
with, and those that limits.tsv has of the same files: a module that no program
holds is missed as well.  What cannot run is in NEVER, with the reason, counts
for nothing, and must be there without being executed.

Prints "launched: N passed, N failed" at the end; exit status 1 if some failed.
"""
import argparse
import fnmatch
import sys

from limits import read_table, readable

MANY_SYMBOLS = 'for automata of more than 8 symbols, which no dialect has'
NEVER = {
    ('device_wide.cu', 'cub::EmptyKernel'): 'CUB asks for its architecture, and does not launch it',
    ('join_pairwise.cu', 'mark_heads'): 'a header has it, for the two files that launch theirs',
    ('paper_structure.cu', 'pp_paper_bitmaps<4>'): MANY_SYMBOLS,
    ('paper_structure.cu', 'pp_paper_vectors<4, 1>'): MANY_SYMBOLS,
    ('paper_structure.cu', 'pp_paper_vectors<4, 2>'): MANY_SYMBOLS,
}


def read_list(path):
    """Threads by file and readable name."""
    threads = {}
    with open(path) as source:
        for line in source:
            module, mangled, count = line.rstrip('\n').split('\t')
            names = threads.setdefault(module + '.cu', {})
            names[mangled] = names.get(mangled, 0) + int(count)
    return {(file, name): names[mangled] for file, names in threads.items()
            for mangled, name in readable(list(names)).items()}


def judge(threads, table, patterns, never):
    """How many kernels passed, and what is to be said of the others."""
    files = {file for file, _ in table}
    expected = table | {key for key in threads if key[0] in files} | set(never)
    passed, failures, notes = 0, [], []
    for key in sorted(expected):
        file, kernel = key
        if not any(fnmatch.fnmatch(file, pattern) for pattern in patterns):
            continue
        if key in never and threads.get(key) == 0:
            notes.append(f'not executed: {file}: {kernel}: {never[key]}')
        elif key not in never and threads.get(key, 0) > 0:
            passed += 1
        else:
            state = 'is not linked' if key not in threads else 'was executed' if threads[key] else 'was not executed'
            failures.append(f'FAILED: {file}: {kernel} {state}')
    return passed, failures, notes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('list')
    parser.add_argument('patterns', nargs='*', default=['*'])
    options = parser.parse_args()
    table = {(file, kernel) for file, kernel, _ in read_table()}
    passed, failures, notes = judge(read_list(options.list), table, options.patterns, NEVER)
    for line in notes + failures:
        print(line)
    print(f'launched: {passed} passed, {len(failures)} failed')
    return len(failures) != 0 or passed == 0


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""
test/ptx/limits.py [--archs "75 90 120"] [--write] FILE.cu ...
    What ptxas makes of every kernel, against the table in limits.tsv.

The library's own kernels must not spill, must have no stack frame, and must
not use more registers or static shared memory than the table says.  Kernels
of CUB are recorded with what they have, and only have to be known.  Rows for
kernels that are no more are failures, too: the table says what there is.

--write    puts what was found into the table, for the architectures asked for
--cache    folder for results of the compiler; $PP_CACHE/ptx wins

Prints "limits: N passed, N failed" at the end; exit status 1 if some failed.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
from dataclasses import dataclass

from compile_cache import CompileCache, CompileError, default_folder, read_dependencies, run

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, 'limits.tsv')
ALL_ARCHS = '75 80 86 89 90 100 120'
HEADER = '# file\tkernel\tarch\tregisters\tshared bytes\tstack bytes\tspilled bytes\n'


@dataclass
class Usage:
    file: str
    kernel: str
    arch: int
    registers: int = 0
    shared: int = 0
    stack: int = 0
    spilled: int = 0

    @property
    def key(self):
        return self.file, self.kernel, self.arch

    @property
    def is_cub(self):
        return self.kernel.startswith('cub::')

    def row(self):
        return '\t'.join(str(x) for x in (self.file, self.kernel, self.arch, self.registers, self.shared,
                                          self.stack, self.spilled)) + '\n'


def readable(names):
    """Short names for mangled ones, in order: equal ones of CUB are numbered."""
    demangled = subprocess.run(['c++filt'], input='\n'.join(names), capture_output=True, text=True,
                               check=True).stdout.split('\n')
    result, seen = {}, {}
    for mangled, name in zip(names, demangled):
        # what depends on the place of the file or the compiler
        name = re.sub(r'_GLOBAL__N__\w+::|\(anonymous namespace\)::', '', name)
        depth, end = 0, len(name)
        for i, char in enumerate(name):
            depth += (char == '<') - (char == '>')
            if char == '(' and depth == 0:
                end = i
                break
        name = name[:end].removeprefix('void ').strip()
        if re.match(r'(cub|thrust)::', name):
            name = 'cub::' + re.search(r'(\w+)(<.*)?$', re.sub(r'<.*', '', name))[1]
            seen[name] = seen.get(name, 0) + 1
            if seen[name] > 1:
                name += f'#{seen[name]}'
        result[mangled] = name
    return result


def parse(said, file, arch):
    """Usages out of what ptxas -v says of one file."""
    found, current = {}, None
    for line in said.splitlines():
        match = re.search(r"(?:Compiling entry function '([^']+)'|Function properties for (\S+))", line)
        if match:
            current = found.setdefault(match[1] or match[2], Usage(file, '', arch))
            continue
        match = re.search(r'(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads', line)
        if match:
            current.stack = int(match[1])
            current.spilled = int(match[2]) + int(match[3])
        match = re.search(r'Used (\d+) registers', line)
        if match:
            current.registers = int(match[1])
            shared = re.search(r'(\d+) bytes smem', line)
            current.shared = int(shared[1]) if shared else 0
        if 'cannot be statically determined' in line:
            raise CompileError(f'{file}, sm_{arch}: {line}')
    names = readable(list(found))
    for mangled, usage in found.items():
        usage.kernel = names[mangled]
    return list(found.values())


def measure(cache, nvcc, path, arch):
    command = [nvcc, '-std=c++17', '-O3', f'-arch=sm_{arch}', '-Xptxas', '-v', '-cubin']

    def make(folder):
        deps, said = os.path.join(folder, 'd'), os.path.join(folder, 'said')
        text = run(command + ['-MD', '-MF', deps, os.path.abspath(path), '-o', os.path.join(folder, 'o.cubin')])
        with open(said, 'w') as out:
            out.write(text)
        return read_dependencies(deps), {'.said': said}
    result = cache.compile(command, path, ['.said'], make)['.said']
    with open(result) as source:
        return parse(source.read(), os.path.basename(path), arch)


def read_table():
    table = {}
    if os.path.exists(TABLE):
        with open(TABLE) as source:
            for line in source:
                if line.startswith('#') or not line.strip():
                    continue
                file, kernel, *numbers = line.rstrip('\n').split('\t')
                usage = Usage(file, kernel, *map(int, numbers))
                table[usage.key] = usage
    return table


def write_table(table):
    with open(TABLE, 'w') as out:
        out.write(HEADER)
        for key in sorted(table):
            out.write(table[key].row())


def complaints(usage, limit):
    """What is wrong with one kernel."""
    if limit is None:
        return ['is not in the table']
    if usage.is_cub:
        return []
    wrong = []
    if usage.stack:
        wrong.append(f'has a stack frame of {usage.stack} bytes')
    if usage.spilled:
        wrong.append(f'spills {usage.spilled} bytes')
    if usage.registers > limit.registers:
        wrong.append(f'uses {usage.registers} registers, not {limit.registers}')
    if usage.shared > limit.shared:
        wrong.append(f'uses {usage.shared} bytes of shared memory, not {limit.shared}')
    return wrong


def check(found, table, archs):
    passed = failed = 0
    for usage in found:
        wrong = complaints(usage, table.get(usage.key))
        if wrong:
            failed += 1
            print(f'FAILED: {usage.file}: {usage.kernel} for sm_{usage.arch} {", ".join(wrong)}')
        else:
            passed += 1
    keys = {usage.key for usage in found}
    for key, limit in sorted(table.items()):
        if limit.arch in archs and key not in keys:
            failed += 1
            print(f'FAILED: {limit.file}: {limit.kernel} for sm_{limit.arch} is in the table only')
    return passed, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('files', nargs='+')
    parser.add_argument('--archs', default='75 90 120')
    parser.add_argument('--write', action='store_true')
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--cache', default='build/cache')
    options = parser.parse_args()
    archs = [int(a) for a in (ALL_ARCHS if options.archs == 'all' else options.archs).split()]
    cache = CompileCache(default_folder(options.cache))
    nvcc = os.environ.get('NVCC', 'nvcc')
    try:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            work = [(path, arch) for path in options.files for arch in archs]
            found = [usage for usages in pool.map(lambda w: measure(cache, nvcc, *w), work) for usage in usages]
    except CompileError as error:
        sys.exit(str(error))
    table = read_table()
    if options.write:
        table = {key: usage for key, usage in table.items() if usage.arch not in archs}
        table.update({usage.key: usage for usage in found})
        write_table(table)
    passed, failed = check(found, table, archs)
    print(f'limits: {passed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""
test/ptx/build.py OUTPUT [options] FILE.cu ... FILE.cpp ...
    Builds a program that executes on the CPU what nvcc makes of the .cu files.

nvcc makes of each .cu a host object, used as it is, and the PTX that this
object embeds; translate.py turns the PTX to C++.  The .cpp files are compiled
as ever; the SIMT runtime of test/simt and cudart_launch.cpp are linked to it.
A .cpp that holds kernels is marked: "kernels:FILE.cpp".

--arch 75        virtual architecture of the PTX
--mode MODE      plain, asan or tsan: what the kernels are compiled for
--shared         a shared library instead of a program
--jobs N         processes at a time
--cache FOLDER   results of compilers; $PP_CACHE/ptx wins
-D NAME          for the .cpp files
"""
import argparse
import concurrent.futures
import glob
import os
import re
import sys
import tempfile

import translate
from compile_cache import CompileCache, CompileError, default_folder, digest, read_dependencies, run
from ptx_module import PtxError

HERE = os.path.dirname(os.path.abspath(__file__))
SIMT = os.path.join(os.path.dirname(HERE), 'simt')
CUDA_INCLUDE = os.path.join(os.environ.get('CUDA_HOME', '/usr/local/cuda'), 'include')
INCLUDE = [HERE, SIMT, os.path.join(os.path.dirname(HERE), 'unit'),
           os.path.join(os.path.dirname(os.path.dirname(HERE)), 'src'), CUDA_INCLUDE]
KERNELS_IN = 'kernels:'
TRANSLATOR = ['translate.py', 'ptx_module.py', 'ptx_function.py', 'ptx_instructions.py']
RUNTIME_HEADERS = [os.path.join(HERE, 'ptx_runtime.h'), os.path.join(HERE, 'kernel_table.h'),
                   os.path.join(SIMT, 'runtime.h')]
LINES_PER_UNIT = 6000       # of PTX

SANITIZER = {'plain': [], 'asan': ['-fsanitize=address'], 'tsan': ['-fsanitize=thread']}
# stack frames of threads are not what is looked for, and cost minutes here
KERNEL_FLAGS = {'plain': [], 'tsan': [],
                'asan': ['--param', 'asan-stack=0', '-fno-sanitize-address-use-after-scope']}
# ThreadSanitizer must not see the runtime, which tells it what it has to know
RUNTIME_FLAGS = {'plain': [], 'asan': ['-fsanitize=address'], 'tsan': ['-DSIMT_TSAN']}


class Builder:
    def __init__(self, options):
        self.options = options
        self.cache = CompileCache(default_folder(options.cache))
        self.cxx = os.environ.get('CXX', 'g++')
        self.nvcc = os.environ.get('NVCC', 'nvcc')
        self.includes = [f'-I{p}' for p in INCLUDE]
        self.defines = [f'-D{d}' for d in options.D]
        self.pool = concurrent.futures.ThreadPoolExecutor(options.jobs)

    def host(self, source, flags):
        """Object of a C or C++ file."""
        is_c = source.endswith('.c')
        command = ['gcc', '-std=c11'] if is_c else [self.cxx, '-std=c++17']
        command += ['-O2', '-g', '-fPIC', '-Wall', '-Wextra'] + flags + self.includes

        def make(folder):
            obj, deps = os.path.join(folder, 'o'), os.path.join(folder, 'd')
            said = run(command + ['-MMD', '-MF', deps, '-c', os.path.abspath(source), '-o', obj])
            sys.stderr.write(said)
            return read_dependencies(deps), {'.o': obj}
        return self.cache.compile(command, source, ['.o'], make)['.o']

    def device(self, source):
        """Host object and PTX of a .cu, out of one compilation."""
        arch = f'compute_{self.options.arch}'
        command = [self.nvcc, '-std=c++17', '-O3', '-Xcompiler', '-fPIC', '-lineinfo',
                   f'-gencode=arch={arch},code={arch}'] + self.includes[:-1]
        if source.endswith('.cpp'):
            # a test: its own makefile is where it has to compile without warnings
            command += ['-x', 'cu', '-Xcompiler', '-w']

        def make(folder):
            obj, deps = os.path.join(folder, 'o.o'), os.path.join(folder, 'd')
            said = run(command + ['--keep', '--keep-dir', folder, '-MD', '-MF', deps,
                                  '-c', os.path.abspath(source), '-o', obj], folder)
            sys.stderr.write(said)
            ptx = glob.glob(os.path.join(folder, '*.ptx'))
            if len(ptx) != 1:
                raise CompileError(f'{source}: nvcc left {len(ptx)} PTX files')
            return read_dependencies(deps), {'.o': obj, '.ptx': ptx[0]}
        return self.cache.compile(command, source, ['.o', '.ptx'], make)

    def kernels(self, source, ptx):
        """Objects of the translation of a module."""
        mode = self.options.mode
        flags = ['-std=c++17', '-O1', '-fPIC', '-w', '-fno-strict-aliasing', '-fwrapv', '-ffp-contract=off']
        flags += SANITIZER[mode] + KERNEL_FLAGS[mode]
        if mode != 'plain':
            flags.append('-g1')
        with open(ptx) as f:
            text = f.read()
        made_by = [self.cache.file_digest(os.path.join(HERE, name)) for name in TRANSLATOR]
        made_by += [self.cache.file_digest(path) for path in RUNTIME_HEADERS]
        units = max(1, -(-text.count('\n') // LINES_PER_UNIT))
        key = digest(text, self.cache.version(self.cxx), *flags, units, *made_by)
        done = self.cache.entry(key + '.units')
        if not self.cached_units(key):
            self.cache.misses += 1
            with tempfile.TemporaryDirectory() as folder:
                name = os.path.splitext(os.path.basename(source))[0]
                try:
                    units = translate.translate(text, os.path.join(folder, name), units, mode != 'plain')
                except PtxError as error:
                    raise CompileError(f'{source}: {error}') from error

                def compile_unit(number):
                    obj = os.path.join(folder, f'{number}.o')
                    run([self.cxx] + flags + self.includes + ['-c', os.path.join(folder, f'{name}.{number}.cpp'),
                                                              '-o', obj])
                    self.cache.store(f'{key}.{number}.o', obj)
                list(self.pool.map(compile_unit, range(units)))
                count = os.path.join(folder, 'units')
                with open(count, 'w') as out:
                    out.write(str(units))
                self.cache.store(key + '.units', count)
        else:
            self.cache.hits += 1
        with open(done) as f:
            return [self.cache.entry(f'{key}.{n}.o') for n in range(int(f.read()))]

    def cached_units(self, key):
        """True if all objects of a translation are there."""
        if not self.cache.found(self.cache.entry(key + '.units')):
            return False
        with open(self.cache.entry(key + '.units')) as f:
            return all(self.cache.found(self.cache.entry(f'{key}.{n}.o')) for n in range(int(f.read())))

    def build(self):
        options = self.options
        runtime = [os.path.join(SIMT, name + '.cpp') for name in runtime_sources()]
        runtime.append(os.path.join(HERE, 'cudart_launch.cpp'))
        cu = [p.removeprefix(KERNELS_IN) for p in options.files
              if p.endswith('.cu') or p.startswith(KERNELS_IN)]
        host = [p for p in options.files if not p.endswith('.cu') and not p.startswith(KERNELS_IN)]
        compiled = list(self.pool.map(self.device, cu))
        objects = list(self.pool.map(lambda p: self.host(p, RUNTIME_FLAGS[options.mode]), runtime))
        host_flags = SANITIZER[options.mode] if options.mode == 'asan' else []
        # what others of the files are made of does not depend on them
        objects += list(self.pool.map(
            lambda p: self.host(p, host_flags + (self.defines if p.endswith('.cpp') else [])), host))
        for source, result in zip(cu, compiled):
            objects.append(result['.o'])
            objects += self.kernels(source, result['.ptx'])
        link = [self.cxx] + SANITIZER[options.mode] + (['-shared'] if options.shared else []) + objects
        run(link + ['-o', options.output, '-ldl', '-lpthread'])


def runtime_sources():
    """Files of test/simt that executors of kernels share, as its makefile has them."""
    with open(os.path.join(SIMT, 'simt.mk')) as source:
        text = source.read().replace('\\\n', ' ')
    return re.search(r'^SIMT_RUNTIME\s*:=(.*)$', text, re.M)[1].split()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('output')
    parser.add_argument('files', nargs='+')
    parser.add_argument('--arch', default='75')
    parser.add_argument('--mode', choices=sorted(SANITIZER), default='plain')
    parser.add_argument('--shared', action='store_true')
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--cache', default='build/cache')
    parser.add_argument('-D', action='append', default=[])
    options = parser.parse_args()
    builder = Builder(options)
    try:
        builder.build()
    except CompileError as error:
        sys.exit(str(error))
    print(f'{options.output}: {builder.cache.hits} results found, {builder.cache.misses} made')


if __name__ == '__main__':
    main()

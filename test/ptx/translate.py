#!/usr/bin/env python3
"""
test/ptx/translate.py [--units N] [--lines] MODULE.ptx OUTPUT_PREFIX
    Translates a PTX module to C++: OUTPUT_PREFIX.h and N translation units
    OUTPUT_PREFIX.0.cpp ..., the first of which registers the kernels.

--lines makes compilers and sanitizers name lines of the .cu instead of those
of the output (PTX has to be made with nvcc -lineinfo).

Exit status 1 with a message if the module holds something not supported.
"""
import argparse
import os
import re
import sys

from ptx_function import C_TYPES, FunctionWriter, align_up, identifier
from ptx_module import PtxError, parse_module


class ModuleNames:
    """What functions of a module share: names of globals and functions, shared memory."""

    def __init__(self, module):
        self.shared, self.shared_bytes = {}, 0
        self.dynamic_shared = set()
        self.globals, self.global_variables = {}, []
        self.function_names = {f.name for f in module.functions}
        for variable in module.variables:
            if variable.space == 'shared' and variable.count == 0:
                self.dynamic_shared.add(variable.name)
            elif variable.space == 'shared':
                self.shared_bytes = align_up(self.shared_bytes, max(variable.align, 16))
                self.shared[variable.name] = self.shared_bytes
                self.shared_bytes += variable.bytes
            elif variable.space in ('global', 'const'):
                self.globals[variable.name] = identifier(variable.name)
                self.global_variables.append(variable)
            else:
                raise PtxError(f'variable in state space {variable.space}')

    @staticmethod
    def function_name(name):
        return identifier(name)


def values_of(variable, names):
    """The initializer's numbers; addresses of other variables are not supported."""
    text = variable.values.strip()
    if text.startswith('{'):
        text = text[1:-1]
    numbers = [n.strip() for n in text.replace('{', '').replace('}', '').split(',')] if text else []
    for number in numbers:
        if not re.fullmatch(r'-?(0x[0-9a-fA-F]+|\d+)U?', number):
            raise PtxError(f'{variable.name}: unsupported initializer {number}')
    return ', '.join(f'({C_TYPES[variable.type]}) {n}' for n in numbers)


def used_globals(module, names):
    words = set()
    for function in module.functions:
        for statement in function.body:
            words.update(re.findall(r'[\w$]+', statement.text))
    return [v for v in names.global_variables if v.name in words]


def deal(items, sizes, units):
    """Items in at most units piles of about equal size."""
    piles = [[] for _ in range(min(units, max(len(items), 1)))]
    loads = [0] * len(piles)
    for index in sorted(range(len(items)), key=lambda n: -sizes[n]):
        least = loads.index(min(loads))
        piles[least].append(items[index])
        loads[least] += sizes[index]
    return piles


def kernel_table(writers, module, arch):
    rows, lines = [], []
    for number, writer in enumerate(writers):
        parameters = ', '.join(f'{{{offset}, {size}}}' for offset, size in writer.parameters)
        if parameters:
            lines.append(f'static const ptx::Parameter parameters{number}[] = {{{parameters}}};')
        rows.append(f'\t{{"{writer.function.name}", "{module}", {identifier(writer.function.name)}, '
                    f'{f"parameters{number}" if parameters else "nullptr"}, {len(writer.parameters)}, '
                    f'{writer.parameter_bytes}, {writer.shared_bytes}, {writer.function.max_threads}, {arch}}},')
    if rows:
        lines.append('static const ptx::Kernel kernels[] = {\n' + '\n'.join(rows) + '\n};')
        lines.append(f'static const ptx::Table table __attribute__((init_priority(200)))(kernels, {len(rows)});')
    return '\n'.join(lines)


def translate(text, prefix, units, with_lines):
    module = parse_module(text)
    arch = re.sub(r'\D', '', module.target)
    names = ModuleNames(module)
    writers, bodies = [], {}
    for function in module.functions:
        writer = FunctionWriter(names, function)
        bodies[writer] = writer.write_body(with_lines)
        writers.append(writer)
    module_name = os.path.basename(prefix)
    namespace = 'ptx_' + re.sub(r'\W', '_', module_name)
    variables = used_globals(module, names)
    declare = [f'extern {C_TYPES[v.type]} {names.globals[v.name]}[{max(v.count, 1)}];' for v in variables]
    declare += [f'{w.signature()};' for w in writers]
    header = f'{prefix}.h'
    with open(header, 'w') as out:
        out.write('#include "ptx_runtime.h"\n'
                  f'namespace {namespace}\n{{\n' + '\n'.join(declare) + '\n}\n')
    kernels = [w for w in writers if w.function.is_kernel]
    piles = deal(writers, [len(w.lines) for w in writers], units)
    for number, pile in enumerate(piles):
        parts = [bodies[w] for w in pile]
        if number == 0:
            parts += [f'alignas({max(v.align, 8)}) {C_TYPES[v.type]} {names.globals[v.name]}[{max(v.count, 1)}] '
                      f'= {{{values_of(v, names)}}};' for v in variables]
            parts.append(kernel_table(kernels, module_name, arch))
        with open(f'{prefix}.{number}.cpp', 'w') as out:
            out.write(f'#include "{os.path.basename(header)}"\nnamespace {namespace}\n{{\n'
                      + '\n\n'.join(parts) + '\n}\n')
    return len(piles)


def main():
    parser = argparse.ArgumentParser(description='PTX to C++')
    parser.add_argument('--units', type=int, default=1)
    parser.add_argument('--lines', action='store_true')
    parser.add_argument('module')
    parser.add_argument('prefix')
    options = parser.parse_args()
    with open(options.module) as source:
        text = source.read()
    try:
        translate(text, options.prefix, options.units, options.lines)
    except PtxError as error:
        sys.exit(f'{options.module}: {error}')


if __name__ == '__main__':
    main()

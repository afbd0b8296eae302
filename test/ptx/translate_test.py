#!/usr/bin/env python3
"""
test/ptx/translate_test.py
    What the translator must refuse: PTX that it does not know must never be
    executed as something else.  And that the C++ it writes is the same from
    run to run, for results are kept by their contents.  And that a kernel which
    was not executed is missed.
"""
import os
import sys
import tempfile

import launched
import translate
from ptx_module import PtxError

HEAD = '.version 9.0\n.target sm_75\n.address_size 64\n'
KERNEL = HEAD + '''
.extern .shared .align 16 .b8 dynamic[];
.visible .entry kernel(.param .u64 .ptr .align 1 kernel_param_0, .param .u32 kernel_param_1)
.maxntid 128, 2, 1
{{
\t.reg .pred %p<3>;
\t.reg .b16 %rs<3>;
\t.reg .b32 %r<5>;
\t.reg .b64 %rd<5>;
\t.shared .align 4 .b8 fixed[20];
\tld.param.u64 %rd1, [kernel_param_0];
\tld.param.u32 %r1, [kernel_param_1];
\t{0}
\tret;
}}
'''

ACCEPTED = [
    'add.s32 %r2, %r1, 5;',
    'st.shared.u32 [fixed+4], %r1;',
    'mov.u32 %r2, dynamic;',
    '@!%p1 bra DONE;\nDONE:',
    'ld.global.v2.u32 {%r2, %r3}, [%rd1+8];',
    'bar.sync 0;',
    'prefetch.global.L2 [%rd1];',
]

REFUSED = {
    'an instruction': 'tanh.approx.f32 %r2, %r1;',
    'a made-up instruction': 'frobnicate.u32 %r2, %r1;',
    'a modifier': 'add.sat.s32 %r2, %r1, %r1;',
    'a rounding': 'add.rz.f32 %r2, %r1, %r1;',
    'flushing to zero': 'mul.rn.ftz.f32 %r2, %r1, %r1;',
    'a barrier of some threads': 'bar.sync 1, 64;',
    'a barrier that does not wait': 'bar.arrive 0, 64;',
    'a warp function of unknown lanes': 'activemask.b32 %r2;',
    'a copy in the background': 'cp.async.ca.shared.global [%r1], [%rd1], 4;',
    'a match of all lanes': 'match.all.sync.b32 %r2|%p1, %r1, 0xffffffff;',
    'a call of nothing': '{ .param .b32 p; call.uni nothing, (p); }',
    'a name': 'mov.u64 %rd2, nowhere;',
    'a register that is too narrow': 'ld.global.u64 %r2, [%rd1];',
    'a register that is not there': 'add.s32 %r2, %r77, 1;',
    'a predicate as a number': 'add.s32 %r2, %p1, 1;',
    'a type': 'cvt.rn.bf16.f32 %rs1, %r1;',
    'a space': 'ld.weird.u32 %r2, [%rd1];',
    'an address': 'ld.global.u32 %r2, [%rd1+%r1];',
    'text': '?;',
}

REFUSED_MODULES = {
    'no target': '.version 9.0\n',
    'a brace': HEAD + '.visible .entry kernel()\n{ ret;\n',
    'textures': HEAD + '.global .texref t;\n',
    'an address in a variable': HEAD + '.global .align 8 .u64 v[1] = {generic(w)};\n.global .align 8 .u64 w[1];\n'
                                '.visible .entry kernel()\n{ .reg .b64 %rd<2>; ld.global.u64 %rd1, [v]; ret; }\n',
}


def translated(text):
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, 'module')
        translate.translate(text, prefix, 1, False)
        with open(prefix + '.0.cpp') as source:
            return source.read()


NEVER = ('a.cu', 'unused')

# threads of kernels, on top of what is right; how many pass, and what has to be said
LAUNCHED = {
    'all were': ({}, 2, []),
    'one has no thread': ({('a.cu', 'g<2u>'): 0}, 1, ['FAILED: a.cu: g<2u> was not executed']),
    'one is in no program': ({('a.cu', 'f'): None}, 1, ['FAILED: a.cu: f is not linked']),
    'one is not in the table': ({('a.cu', 'new'): 0}, 2, ['FAILED: a.cu: new was not executed']),
    'an exception was': ({NEVER: 1}, 2, ['FAILED: a.cu: unused was executed']),
    'an exception is no more': ({NEVER: None}, 2, ['FAILED: a.cu: unused is not linked']),
    'another file': ({('b.cu', 'f'): 0}, 2, []),
}


def judged(changes):
    """Lines of launched.py about two kernels of a file, and one exception."""
    mangled = {'f': '_ZN12_GLOBAL__N_11fEv', 'g<2u>': '_Z1gILj2EEvv', 'new': '_Z3newv'}
    threads = {('a.cu', 'f'): 32, ('a.cu', 'g<2u>'): 1, NEVER: 0}
    threads.update(changes)
    with tempfile.NamedTemporaryFile('w', suffix='.tsv') as out:
        # two programs, of which one executes
        for times in (0, 1):
            for (file, name), count in threads.items():
                if count is not None:
                    out.write(f'{file[:-3]}\t{mangled.get(name, name)}\t{times * count}\n')
        out.flush()
        found = launched.read_list(out.name)
    table = {('a.cu', 'f'), ('a.cu', 'g<2u>'), ('b.cu', 'f'), NEVER}
    return launched.judge(found, table, ['a.*'], {NEVER: 'of a header'})


def main():
    passed = failed = 0

    def check(right, what):
        nonlocal passed, failed
        if right:
            passed += 1
        else:
            failed += 1
            print(f'FAILED: {what}')

    for text in ACCEPTED:
        try:
            first = translated(KERNEL.format(text))
            check(first == translated(KERNEL.format(text)), f'differs from run to run: {text}')
            check('"kernel", "module", ' in first and '256, 75}' in first, f'table of kernels: {text}')
        except PtxError as error:
            check(False, error)
    modules = {what: KERNEL.format(text) for what, text in REFUSED.items()}
    modules.update(REFUSED_MODULES)
    for what, text in modules.items():
        try:
            translated(text)
            check(False, f'accepted: {what}')
        except PtxError as error:
            check(str(error) != '', f'no reason given: {what}')
    for what, (changes, count, lines) in LAUNCHED.items():
        good, failures, _ = judged(changes)
        check(good == count and failures == lines, f'kernels that were executed: {what}: {good}, {failures}')
    print(f'translate: {passed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())

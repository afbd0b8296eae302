"""
test/ptx/ptx_instructions.py
    What each PTX instruction computes, as C++ statements on top of
    ptx_runtime.h.

An instruction, a modifier or a type that is not listed here is an error at
translation: nothing is skipped in silence, except hints (prefetches, cache
operators) and what only matters between grids.
"""
import re

ROUNDING_TO_INTEGER = {'rni': 'nearbyint', 'rzi': 'trunc', 'rmi': 'floor', 'rpi': 'ceil'}
CACHE_HINTS = {'nc', 'ca', 'cg', 'cs', 'lu', 'cv', 'wb', 'wt', 'L1', 'L2', '64B', '128B', '256B',
               'evict_first', 'evict_last', 'no_allocate', 'evict_normal', 'evict_unchanged'}
SCOPES = {'cta', 'gpu', 'sys', 'cluster'}
SPACES = {'global', 'shared', 'local', 'param', 'const'}
COMBINE = {'and': '&', 'or': '|', 'xor': '^'}
HANDLERS = {}


def handles(*names):
    def register(function):
        for name in names:
            HANDLERS[name] = function
        return function
    return register


class Instruction:
    """An opcode with its modifiers and types apart, and its operands."""

    def __init__(self, writer, opcode, rest):
        parts = [p for p in re.split(r'\.|::', opcode) if p]
        self.name = parts[0]
        self.types = [p for p in parts[1:] if re.fullmatch(r'[usbf](8|16|32|64)|pred', p)]
        self.mods = [p for p in parts[1:] if p not in self.types]
        self.operands = split_operands(rest)
        self.writer = writer
        self.rest = rest

    @property
    def type(self):
        if not self.types:
            self.writer.error('no type')
        return self.types[-1]

    def has(self, mod):
        """True if the modifier is there; it counts as understood then."""
        if mod in self.mods:
            self.mods.remove(mod)
            return True
        return False

    def take(self, choices, default=None):
        for mod in self.mods:
            if mod in choices:
                self.mods.remove(mod)
                return mod
        if default is None:
            self.writer.error(f'none of {sorted(choices)}')
        return default

    def ignore(self, mods):
        self.mods = [m for m in self.mods if m not in mods]

    def read(self, index, type_name=None):
        return self.writer.read(self.operands[index], type_name or self.type)

    def write(self, expression, type_name=None, index=0):
        self.writer.write(self.operands[index], type_name or self.type, expression)


def split_operands(text):
    operands, depth, current = [], 0, ''
    for char in text.strip():
        depth += (char in '([{') - (char in ')]}')
        if char == ',' and depth == 0:
            operands.append(current.strip())
            current = ''
        else:
            current += char
    if current.strip():
        operands.append(current.strip())
    return operands


def translate(writer, opcode, rest):
    instruction = Instruction(writer, opcode, rest)
    handler = HANDLERS.get(instruction.name)
    if handler is None:
        writer.error('unsupported instruction')
    try:
        handler(instruction, writer)
    except (IndexError, ValueError):        # other operands or types than the handler takes apart
        writer.error('unsupported form')
    if instruction.mods:
        writer.error(f'unsupported modifier {instruction.mods}')


def is_float(type_name):
    return type_name[0] == 'f'


def is_signed(type_name):
    return type_name[0] == 's'


def bits(type_name):
    return int(type_name[1:])


def unsigned(type_name):
    return 'u' + type_name[1:]


def c_type(type_name):
    if type_name == 'pred':
        return 'bool'
    if is_float(type_name):
        return 'float' if type_name == 'f32' else 'double'
    return f'{"" if is_signed(type_name) else "u"}int{bits(type_name)}_t'


def rounds_to_nearest(i):
    """Of a float operation: other roundings and flushing are not supported."""
    if is_float(i.type):
        i.has('rn')


# Arithmetic

@handles('add', 'sub')
def add(i, w):
    operator = '+' if i.name == 'add' else '-'
    rounds_to_nearest(i)
    if is_float(i.type):
        return i.write(f'{i.read(1)} {operator} {i.read(2)}')
    t = unsigned(i.type)
    if i.has('cc'):
        w.emit(f'CC = ptx::carry_{i.name}<{c_type(t)}>({i.read(1, t)}, {i.read(2, t)}, 0);')
        w.uses_carry = True
    return i.write(f'({c_type(t)}) ({i.read(1, t)} {operator} {i.read(2, t)})', t)


@handles('addc', 'subc')
def add_with_carry(i, w):
    w.uses_carry = True
    operator = '+' if i.name == 'addc' else '-'
    t = unsigned(i.type)
    a, b = i.read(1, t), i.read(2, t)
    next_carry = f'ptx::carry_{i.name[:3]}<{c_type(t)}>({a}, {b}, CC)' if i.has('cc') else 'CC'
    w.emit(f'{{ bool next = {next_carry};')
    i.write(f'({c_type(t)}) ({a} {operator} {b} {operator} CC)', t)
    w.emit('CC = next; }')


def product(i, type_name):
    """Text of the low, high or wide product of operands 1 and 2, and its type."""
    if i.has('wide'):
        wide = type_name[0] + str(bits(type_name) * 2)
        return f'({c_type(wide)}) {i.read(1, type_name)} * ({c_type(wide)}) {i.read(2, type_name)}', wide
    if i.has('hi'):
        return f'ptx::high_product({i.read(1, type_name)}, {i.read(2, type_name)})', type_name
    i.has('lo')
    t = unsigned(type_name)
    # 16-bit operands would be promoted to int, whose product may overflow
    return f'({c_type(t)}) ((uint64_t) {i.read(1, t)} * {i.read(2, t)})', t


@handles('mul')
def multiply(i, w):
    rounds_to_nearest(i)
    if is_float(i.type):
        return i.write(f'{i.read(1)} * {i.read(2)}')
    expression, t = product(i, i.type)
    return i.write(expression, t)


@handles('mad', 'madc')
def multiply_add(i, w):
    if is_float(i.type):
        return fused_multiply_add(i, w)
    expression, t = product(i, i.type)
    t = unsigned(t)
    third = i.read(3, t)
    carry = i.name == 'madc'
    sets = i.has('cc')
    if not carry and not sets:
        return i.write(f'({c_type(t)}) (({c_type(t)}) ({expression}) + {third})', t)
    w.uses_carry = True
    carry_in = 'CC' if carry else '0'
    w.emit(f'{{ {c_type(t)} low = ({c_type(t)}) ({expression}), added = {third}; bool before = {carry_in};')
    if sets:
        w.emit(f'CC = ptx::carry_add<{c_type(t)}>(low, added, before);')
    i.write(f'({c_type(t)}) (low + added + before)', t)
    return w.emit('}')


@handles('fma')
def fused_multiply_add(i, w):
    rounds_to_nearest(i)
    suffix = 'f' if i.type == 'f32' else ''
    i.write(f'__builtin_fma{suffix}({i.read(1)}, {i.read(2)}, {i.read(3)})')


@handles('div', 'rem')
def divide(i, w):
    rounds_to_nearest(i)
    if is_float(i.type):
        return i.write(f'{i.read(1)} / {i.read(2)}')
    name = 'divide' if i.name == 'div' else 'remainder'
    return i.write(f'ptx::{name}({i.read(1)}, {i.read(2)})')


@handles('min', 'max')
def smaller_or_larger(i, w):
    name = 'smaller' if i.name == 'min' else 'larger'
    i.write(f'ptx::{name}({i.read(1)}, {i.read(2)})')


@handles('neg')
def negate(i, w):
    if is_float(i.type):
        return i.write(f'-{i.read(1)}')
    t = unsigned(i.type)
    return i.write(f'({c_type(t)}) (0 - {i.read(1, t)})', t)


@handles('abs')
def absolute(i, w):
    if is_float(i.type):
        return i.write(f'__builtin_fabs{"f" if i.type == "f32" else ""}({i.read(1)})')
    t = unsigned(i.type)
    return i.write(f'({c_type(t)}) ({i.read(1)} < 0 ? 0 - {i.read(1, t)} : {i.read(1, t)})', t)


@handles('sqrt')
def square_root(i, w):
    rounds_to_nearest(i)
    i.write(f'__builtin_sqrt{"f" if i.type == "f32" else ""}({i.read(1)})')


# Bits

@handles('and', 'or', 'xor')
def bitwise(i, w):
    i.write(f'({c_type(i.type)}) ({i.read(1)} {COMBINE[i.name]} {i.read(2)})')


@handles('not')
def bitwise_not(i, w):
    operator = '!' if i.type == 'pred' else '~'
    i.write(f'({c_type(i.type)}) {operator}{i.read(1)}')


@handles('shl', 'shr')
def shift(i, w):
    t = unsigned(i.type) if i.name == 'shl' else i.type
    operator = '<<' if i.name == 'shl' else '>>'
    by = w.constant(i.operands[2])
    if by is not None and 0 <= by < bits(t):
        return i.write(f'({c_type(t)}) ({i.read(1, t)} {operator} {by})', t)
    return i.write(f'ptx::shift_{"left" if i.name == "shl" else "right"}({i.read(1, t)}, {i.read(2, "u32")})', t)


@handles('shf')
def funnel_shift(i, w):
    left = i.take({'l', 'r'}) == 'l'
    clamp = i.take({'wrap', 'clamp'}) == 'clamp'
    i.write(f'ptx::funnel_{"left" if left else "right"}({i.read(1, "u32")}, {i.read(2, "u32")}, '
            f'{i.read(3, "u32")}, {int(clamp)})', 'u32')


@handles('popc')
def count_ones(i, w):
    i.write(f'(uint32_t) __builtin_popcountll({i.read(1, unsigned(i.type))})', 'u32')


@handles('clz')
def leading_zeros(i, w):
    i.write(f'ptx::leading_zeros({i.read(1, unsigned(i.type))})', 'u32')


@handles('bfind')
def highest_bit(i, w):
    i.write(f'ptx::highest_bit({i.read(1)}, {int(i.has("shiftamt"))})', 'u32')


@handles('brev')
def reverse_bits(i, w):
    i.write(f'ptx::reverse_bits({i.read(1, unsigned(i.type))})', unsigned(i.type))


@handles('bfe')
def extract_field(i, w):
    i.write(f'ptx::extract_field({i.read(1)}, {i.read(2, "u32")}, {i.read(3, "u32")})')


@handles('bfi')
def insert_field(i, w):
    t = unsigned(i.type)
    i.write(f'ptx::insert_field({i.read(1, t)}, {i.read(2, t)}, {i.read(3, "u32")}, {i.read(4, "u32")})', t)


@handles('bmsk')
def bit_mask(i, w):
    wrap = i.take({'wrap', 'clamp'}) == 'wrap'
    i.write(f'ptx::bit_mask({i.read(1, "u32")}, {i.read(2, "u32")}, {int(wrap)})', 'u32')


@handles('prmt')
def permute_bytes(i, w):
    i.write(f'ptx::permute_bytes({i.read(1, "u32")}, {i.read(2, "u32")}, {i.read(3, "u32")})', 'u32')


@handles('lop3')
def three_way_logic(i, w):
    i.write(f'ptx::three_way_logic<{w.constant(i.operands[4])}>({i.read(1, "u32")}, {i.read(2, "u32")}, '
            f'{i.read(3, "u32")})', 'u32')


@handles('dp4a', 'dp2a')
def dot_product(i, w):
    if i.types != ['u32', 'u32']:
        w.error('unsupported types')
    operands = ', '.join(i.read(n, 'u32') for n in (1, 2, 3))
    if i.name == 'dp4a':
        return i.write(f'ptx::dot_product4({operands})', 'u32')
    half = i.take({'lo', 'hi'})
    return i.write(f'ptx::dot_product2({operands}, {int(half == "hi")})', 'u32')


# Moves, conversions, comparisons

@handles('mov')
def move(i, w):
    target, source = i.operands
    if not (target.startswith('{') or source.startswith('{')):
        return i.write(i.read(1))
    packs = source.startswith('{')
    parts = split_operands((source if packs else target)[1:-1])
    part_bits = bits(i.type) // len(parts)
    part_type = f'u{part_bits}'
    if packs:
        terms = [f'(uint64_t) {w.read(part, part_type)} << {n * part_bits}' for n, part in enumerate(parts)]
        return i.write(f'({c_type(i.type)}) ({" | ".join(terms)})')
    w.emit(f'{{ uint64_t packed = {i.read(1)};')
    for n, part in enumerate(parts):
        w.write(part, part_type, f'({c_type(part_type)}) (packed >> {n * part_bits})')
    return w.emit('}')


@handles('cvta')
def convert_address(i, w):
    space = i.take(SPACES)
    to_space = i.has('to')
    if space == 'shared':
        return i.write(f'{i.read(1)} - (uint64_t) S' if to_space else f'(uint64_t) (S + (uint32_t) {i.read(1)})')
    return i.write(i.read(1))


@handles('isspacep')
def is_in_space(i, w):
    if i.take(SPACES) != 'shared':
        w.error('unsupported space')
    w.write(i.operands[0], 'pred', f'ptx::in_shared(S, {i.read(1, "u64")})')


@handles('cvt')
def convert(i, w):
    to, source = i.types
    if not is_float(to) and is_float(source):
        rounding = i.take(ROUNDING_TO_INTEGER)
        i.has('sat')        # all conversions to integers saturate
        suffix = 'f' if source == 'f32' else ''
        return i.write(f'ptx::to_integer<{c_type(to)}>(__builtin_{ROUNDING_TO_INTEGER[rounding]}{suffix}'
                       f'({i.read(1, source)}))', to)
    if is_float(to) and is_float(source) and to == source:
        rounding = i.take(ROUNDING_TO_INTEGER)
        return i.write(f'__builtin_{ROUNDING_TO_INTEGER[rounding]}{"f" if to == "f32" else ""}'
                       f'({i.read(1, source)})', to)
    if is_float(to):
        i.has('rn')
    return i.write(f'({c_type(to)}) {i.read(1, source)}', to)


ORDERED = {'eq': '==', 'ne': '!=', 'lt': '<', 'le': '<=', 'gt': '>', 'ge': '>=',
           'lo': '<', 'ls': '<=', 'hi': '>', 'hs': '>='}
# true as well if an operand is no number: the opposite comparison is false
UNORDERED = {'equ': '!=', 'neu': '==', 'ltu': '>=', 'leu': '>', 'gtu': '<=', 'geu': '<'}


def comparison(i, first):
    kind = i.take(set(ORDERED) | set(UNORDERED) | {'num', 'nan'})
    a, b = i.read(first), i.read(first + 1)
    if kind in ('num', 'nan'):
        return f'(ptx::is_number({a}) && ptx::is_number({b})) == {int(kind == "num")}'
    if kind == 'equ':
        return f'!({a} < {b} || {a} > {b})'
    if kind in UNORDERED:
        return f'!({a} {UNORDERED[kind]} {b})'
    if kind == 'ne' and is_float(i.type):
        return f'({a} < {b} || {a} > {b})'
    return f'({a} {ORDERED[kind]} {b})'


@handles('setp')
def set_predicate(i, w):
    combine = i.take(set(COMBINE), 'none')
    targets = [t.strip() for t in i.operands[0].split('|')]
    test = comparison(i, 1)
    w.emit(f'{{ bool test = {test};')
    for n, target in enumerate(targets):
        value = '!test' if n else 'test'
        if combine != 'none':
            value = f'(bool) ({value} {COMBINE[combine]} {w.read(i.operands[3], "pred")})'
        w.emit(f'bool result{n} = {value};')
    for n, target in enumerate(targets):
        w.write(target, 'pred', f'result{n}')
    w.emit('}')


@handles('set')
def set_value(i, w):
    to, _ = i.types
    if is_float(to):
        w.error('unsupported type')
    i.write(f'{comparison(i, 1)} ? ({c_type(to)}) -1 : 0', to)


@handles('selp')
def select(i, w):
    i.write(f'{w.read(i.operands[3], "pred")} ? {i.read(1)} : {i.read(2)}')


@handles('slct')
def select_by_sign(i, w):
    to, by = i.types
    i.write(f'{w.read(i.operands[3], by)} >= 0 ? {i.read(1, to)} : {i.read(2, to)}', to)


# Memory

def memory_order(i):
    order = i.take({'acquire', 'release', 'relaxed', 'volatile', 'weak'}, 'weak')
    i.ignore(SCOPES)
    return 'relaxed' if order == 'volatile' else order


def space_of(i):
    space = i.take(SPACES, 'generic')
    i.ignore(SCOPES)        # shared::cta and so on
    return space


@handles('ld', 'ldu', 'st')
def load_or_store(i, w):
    stores = i.name == 'st'
    order = memory_order(i)
    space = space_of(i)
    i.ignore(CACHE_HINTS)
    i.take({'v2', 'v4', 'v8'}, 'v1')
    value, memory = (i.operands[1], i.operands[0]) if stores else (i.operands[0], i.operands[1])
    parts = split_operands(value[1:-1]) if value.startswith('{') else [value]
    size = bits(i.type) // 8
    w.emit(f'{{ uint8_t *q = {w.address(memory, space)};')
    if size * len(parts) > 1 and space != 'param':
        w.emit(f'ptx::check_aligned<{size * len(parts)}>(q);')
    if order != 'weak':
        w.emit('ptx::before_atomic_store();' if stores else 'ptx::before_atomic_load();')
    # a vector is accessed as a whole: no other thread runs in between
    suffix = '' if order == 'weak' else f'_{order}'
    for n, part in enumerate(parts):
        at = f'q + {n * size}' if n else 'q'
        if stores:
            w.emit(f'ptx::store{suffix}<{c_type(i.type)}>({at}, {w.read(part, i.type)});')
        else:
            w.write(part, i.type, f'ptx::load{suffix}<{c_type(i.type)}>({at})')
    w.emit('}')


@handles('atom', 'red')
def atomic(i, w):
    kind = i.take({'add', 'and', 'or', 'xor', 'min', 'max', 'exch', 'cas', 'inc', 'dec'})
    order = i.take({'acquire', 'release', 'acq_rel', 'relaxed'}, 'relaxed')
    space = space_of(i)
    i.has('noftz')
    reduces = i.name == 'red'
    at = 0 if reduces else 1
    q = w.address(i.operands[at], space)
    first = i.read(at + 1)
    t = c_type(i.type)
    orders = {'acquire': '__ATOMIC_ACQUIRE', 'release': '__ATOMIC_RELEASE', 'acq_rel': '__ATOMIC_ACQ_REL',
              'relaxed': '__ATOMIC_RELAXED'}
    if kind == 'cas':
        expression = f'ptx::compare_and_swap<{t}, {orders[order]}>({q}, {first}, {i.read(at + 2)})'
    else:
        expression = f'ptx::atomic_{kind}<{t}, {orders[order]}>({q}, {first})'
    if reduces:
        w.emit(f'(void) {expression};')
    else:
        i.write(expression)


@handles('membar', 'fence')
def fence(i, w):
    i.ignore(SCOPES | {'gl', 'sc', 'acq_rel', 'acquire', 'release'})
    w.emit('ptx::fence();')


# Control flow

@handles('bra')
def branch(i, w):
    i.has('uni')
    w.jump(i.operands[0])


@handles('brx')
def branch_by_index(i, w):
    i.has('idx')
    i.has('uni')
    w.jump_table(i.operands[0], i.operands[1])


@handles('ret')
def return_from(i, w):
    i.has('uni')
    w.emit('return;')


@handles('exit')
def exit_thread(i, w):
    if not w.function.is_kernel:
        w.error('exit in a function')
    w.emit('return;')


@handles('trap', 'brkpt')
def trap(i, w):
    w.emit(f'simt::fail(cudaErrorLaunchFailure, "trap at %s", {w.where()});')


@handles('call')
def call(i, w):
    i.has('uni')
    match = re.fullmatch(r'(?:\(([^)]*)\)\s*,\s*)?([\w$]+)\s*(?:,\s*\(([^)]*)\))?', i.rest.strip(), re.S)
    if not match:
        w.error('unsupported call')
    names = [[x.strip() for x in (match[n] or '').split(',') if x.strip()] for n in (1, 3)]
    w.call(names[0], match[2], names[1])


@handles('nanosleep')
def nanosleep(i, w):
    i.types.clear()
    w.emit('simt::pause();')


@handles('griddepcontrol')
def grid_dependency(i, w):
    # grids of one stream do not overlap here
    i.ignore({'wait', 'launch_dependents'})


@handles('prefetch', 'prefetchu', 'pmevent', 'discard', 'applypriority')
def hint(i, w):
    i.mods.clear()


# Barriers and warps

REDUCE = {'popc': 'count', 'and': 'all', 'or': 'any'}


@handles('bar', 'barrier')
def barrier(i, w):
    i.ignore({'cta', 'aligned'})
    if i.has('warp'):
        i.has('sync')
        return w.emit(f'(void) simt::warp(simt::Warp::sync, {w.read(i.operands[0], "u32")}, 0, 0, {w.where()});')
    reduces = i.has('red')
    if not reduces and not i.has('sync'):
        w.error('unsupported barrier')
    # barrier 0 of all threads is the only one
    count_at = 2 if reduces else 1
    if len(i.operands) > count_at + (1 if reduces else 0) or w.constant(i.operands[count_at - 1]) != 0:
        w.error('unsupported barrier')
    if not reduces:
        return w.emit(f'(void) simt::barrier(simt::Reduce::none, 0, {w.where()});')
    kind = i.take(REDUCE)
    result = f'simt::barrier(simt::Reduce::{REDUCE[kind]}, {w.read(i.operands[-1], "pred")}, {w.where()})'
    if kind == 'popc':
        return i.write(f'(uint32_t) {result}', 'u32')
    return i.write(f'{result} != 0', 'pred')


@handles('shfl')
def shuffle(i, w):
    i.has('sync')
    kind = i.take({'idx', 'up', 'down', 'bfly'})
    targets = [t.strip() for t in i.operands[0].split('|')]
    values = ', '.join(i.read(n, 'u32') for n in range(1, 5))
    w.emit(f'{{ bool inside; uint32_t got = ptx::shuffle_{kind}({values}, inside, {w.where()});')
    w.write(targets[0], 'u32', 'got')
    if len(targets) > 1:
        w.write(targets[1], 'pred', 'inside')
    w.emit('(void) inside; }')


@handles('vote')
def vote(i, w):
    i.has('sync')
    kind = i.take({'ballot', 'any', 'all'})
    operation = 'all' if kind == 'all' else 'ballot'
    i.types = [t for t in i.types if t != 'pred'] or ['pred']
    result = (f'simt::warp(simt::Warp::{operation}, {w.read(i.operands[2], "u32")}, '
              f'{w.read(i.operands[1], "pred")}, 0, {w.where()})')
    if kind == 'ballot':
        return i.write(f'(uint32_t) {result}', 'u32')
    return i.write(f'{result} != 0', 'pred')


@handles('match')
def match_any(i, w):
    i.has('sync')
    if not i.has('any'):
        w.error('unsupported match')
    i.write(f'(uint32_t) simt::warp(simt::Warp::match, {w.read(i.operands[2], "u32")}, '
            f'{i.read(1, unsigned(i.type))}, 0, {w.where()})', 'u32')


@handles('redux')
def reduce_warp(i, w):
    i.has('sync')
    kind = i.take({'add', 'min', 'max', 'and', 'or', 'xor'})
    if bits(i.type) != 32 or is_float(i.type):
        w.error('unsupported type')
    if kind in ('min', 'max'):
        operation = ('s' if is_signed(i.type) else 'u') + kind
    else:
        operation = kind if kind == 'add' else f'bit_{kind}'
    i.write(f'(uint32_t) simt::warp(simt::Warp::{operation}, {w.read(i.operands[2], "u32")}, '
            f'{i.read(1, "u32")}, 0, {w.where()})', 'u32')


@handles('activemask')
def active_mask(i, w):
    w.error('which lanes are active is not defined; kernels say their masks')

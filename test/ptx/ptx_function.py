"""
test/ptx/ptx_function.py
    A PTX function as a C++ function: names, registers, operands, addresses,
    memory layout and control flow.

What single instructions compute stands in ptx_instructions.py.

Registers are unsigned integers of their width (bool for predicates); floats
are kept as bits.  All shared memory is one window at S, whose offsets are the
addresses of the shared state space; other addresses are the host's.
"""
import re

import ptx_instructions
from ptx_module import SIZES, PtxError, parse_variable

C_TYPES = {f'{kind}{bits}': f'{"u" if kind in "ub" else ""}int{bits}_t'
           for kind in 'usb' for bits in (8, 16, 32, 64)}
C_TYPES.update(f32='float', f64='double', pred='bool')

SPECIAL = {}
for ptx_name, cpp_name in (('tid', 'simt::current->thread'), ('ctaid', 'simt::current->block'),
                           ('ntid', 'simt::dims.block'), ('nctaid', 'simt::dims.grid')):
    for axis in 'xyz':
        SPECIAL[f'%{ptx_name}.{axis}'] = f'{cpp_name}.{axis}'
SPECIAL.update({
    '%laneid': 'ptx::lane()', '%warpid': '(ptx::flat_thread() / 32)', '%smid': '0u', '%nsmid': '1u',
    '%lanemask_eq': '(1u << ptx::lane())', '%lanemask_lt': '((1u << ptx::lane()) - 1)',
    '%lanemask_le': '((2u << ptx::lane()) - 1)', '%lanemask_gt': '(~1u << ptx::lane())',
    '%lanemask_ge': '(~0u << ptx::lane())', '%clock': '0u', '%clock64': '0ull',
    '%globaltimer': '0ull'})


def identifier(name):
    """A C++ name for a PTX one; distinct names stay distinct."""
    return 'r_' + name.replace('_', '__').replace('%', '_p').replace('$', '_d').replace('.', '_o')


def bits_of(type_name):
    return 1 if type_name == 'pred' else SIZES[type_name] * 8


def register_c_type(bits):
    return 'bool' if bits == 1 else f'uint{bits}_t'


def align_up(offset, alignment):
    return (offset + alignment - 1) // alignment * alignment


def place(variables):
    """Offsets of variables laid out as C would, and the bytes of all."""
    offset, offsets = 0, {}
    for variable in variables:
        offset = align_up(offset, variable.align)
        offsets[variable.name] = offset
        offset += variable.bytes
    return offsets, offset


class FunctionWriter:
    def __init__(self, module, function):
        self.module = module        # ModuleNames
        self.function = function
        self.lines = []
        self.scopes = [{}]          # register -> bits
        self.param_space = {}       # name -> C++ expression of its address
        self.shared = dict(module.shared)
        self.shared_bytes = module.shared_bytes
        self.targets = {}           # label -> labels of a jump table
        self.statement = None
        self.uses_carry = False
        if function.is_kernel:
            offsets, self.parameter_bytes = place(function.params)
            for name, offset in offsets.items():
                self.param_space[name] = f'(P + {offset})'
            self.parameters = [(offsets[p.name], p.bytes) for p in function.params]
        else:
            for variable in function.results + function.params:
                self.param_space[variable.name] = identifier(variable.name)

    def signature(self):
        name = self.module.function_name(self.function.name)
        if self.function.is_kernel:
            return f'void {name}(const uint8_t *P)'
        args = ['uint8_t *S'] + [f'uint8_t *{identifier(v.name)}'
                                 for v in self.function.results + self.function.params]
        return f'void {name}({", ".join(args)})'

    # What instructions are made of

    def error(self, why):
        raise PtxError(f'{self.function.name}, line {self.statement.line}: {why}: {self.statement.text}')

    def emit(self, text):
        self.lines.append(text)

    def where(self):
        """The C++ literal that names this place."""
        source = f'{self.statement.source} ' if self.statement.source else ''
        return f'"{source}(PTX line {self.statement.line})"'

    def register_bits(self, name):
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def symbol(self, name):
        """Address of a variable, as an integer expression."""
        if name in self.param_space:
            return f'(uint64_t) {self.param_space[name]}'
        if name in self.shared:
            return f'{self.shared[name]}u'
        if name in self.module.dynamic_shared:
            return 'DYNAMIC'
        if name in self.module.globals:
            return f'(uint64_t) &{self.module.globals[name]}'
        self.error(f'unknown name {name}')

    def literal(self, text):
        """(value, is_float) of a literal, or None."""
        match = re.fullmatch(r'(-?)(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?', text)
        if match:
            digits = match[2]
            base = 16 if digits[:2] in ('0x', '0X') else 2 if digits[:2] in ('0b', '0B') \
                else 8 if len(digits) > 1 and digits[0] == '0' else 10
            value = int(digits, base)
            return (-value if match[1] else value), False
        match = re.fullmatch(r'0[fFdD]([0-9a-fA-F]{8}|[0-9a-fA-F]{16})', text)
        if match:
            return int(match[1], 16), True
        return None

    def constant(self, operand):
        """The integer value of a literal operand, else None."""
        found = self.literal(operand.strip())
        return found[0] if found and not found[1] else None

    def read(self, operand, type_name):
        """C++ expression of type C_TYPES[type_name]."""
        operand = operand.strip()
        c_type = C_TYPES[type_name]
        if operand.startswith('!'):
            return f'!{self.read(operand[1:], "pred")}'
        if operand in SPECIAL:
            return f'({c_type}) ({SPECIAL[operand]})'
        bits = self.register_bits(operand)
        if bits is not None:
            name = identifier(operand)
            if type_name in ('f32', 'f64'):
                if bits != bits_of(type_name):
                    self.error(f'{operand} read as {type_name}')
                return f'ptx::as_{"float" if type_name == "f32" else "double"}({name})'
            if bits < bits_of(type_name) or (bits == 1) != (type_name == 'pred'):
                self.error(f'{operand} read as {type_name}')
            return name if c_type == register_c_type(bits) else f'({c_type}) {name}'
        found = self.literal(operand)
        if found:
            value, is_float = found
            if type_name in ('f32', 'f64'):
                if not is_float:
                    self.error('integer literal as a float')
                suffix, kind = ('u', 'float') if type_name == 'f32' else ('ull', 'double')
                return f'ptx::as_{kind}(0x{value:x}{suffix})'
            return f'({c_type}) 0x{value & (1 << 64) - 1:x}ull'
        match = re.fullmatch(r'([\w$%.]+)\s*\+\s*(-?\w+)', operand)
        if match:
            return f'({c_type}) ({self.symbol(match[1])} + ({match[2]}))'
        return f'({c_type}) ({self.symbol(operand)})'

    def write(self, operand, type_name, expression):
        """Assigns an expression of type C_TYPES[type_name]."""
        operand = operand.strip()
        if operand == '_':
            self.emit(f'(void) ({expression});')
            return
        bits = self.register_bits(operand)
        if bits is None:
            self.error(f'{operand} is no register')
        if type_name in ('f32', 'f64'):
            if bits != bits_of(type_name):
                self.error(f'{operand} written as {type_name}')
            expression = f'ptx::as_bits({expression})'
        elif bits < bits_of(type_name) or (bits == 1) != (type_name == 'pred'):
            self.error(f'{operand} written as {type_name}')
        elif C_TYPES[type_name] != register_c_type(bits):
            # the narrower type decides how the rest of the register is filled
            expression = f'({register_c_type(bits)}) ({C_TYPES[type_name]}) ({expression})'
        self.emit(f'{identifier(operand)} = {expression};')

    def address(self, operand, space):
        """C++ expression of type uint8_t *."""
        match = re.fullmatch(r'\[\s*([^\s+\]]+)\s*(?:\+\s*(-?\w+))?\s*\]', operand.strip())
        if not match:
            self.error('cannot read the address')
        base, offset = match[1], match[2]
        bits = self.register_bits(base)
        if bits is not None:
            expression = identifier(base)
        elif self.literal(base):
            expression = f'{self.constant(base)}ull'
        else:
            expression = self.symbol(base)
        if offset:
            expression = f'{expression} + ({offset})'
        if space == 'shared':
            return f'(S + (uint32_t) ({expression}))'
        return f'(uint8_t *) ({expression})'

    # Declarations and control flow

    def declare_registers(self, text):
        match = re.fullmatch(r'\.reg\s+\.(\w+)\s+(.*)', text, re.S)
        if not match or match[1] not in SIZES:
            self.error('cannot read the registers')
        bits = bits_of(match[1])
        names = []
        for item in match[2].split(','):
            counted = re.fullmatch(r'(.*)<(\d+)>', item.strip())
            names += [f'{counted[1]}{i}' for i in range(int(counted[2]))] if counted else [item.strip()]
        for name in names:
            self.scopes[-1][name] = bits
        used = [identifier(n) for n in names if len(names) < 8 or n in self.used_words]
        if used:
            self.emit(f'{register_c_type(bits)} {", ".join(used)};')

    def directive(self, text):
        if text.startswith('.reg'):
            self.declare_registers(text)
        elif text.startswith('.branchtargets'):
            self.targets[self.last_label] = [x.strip() for x in text[len('.branchtargets'):].split(',')]
        elif text.startswith(('.shared', '.local', '.param')):
            variable = parse_variable(text, self.statement.line)
            if variable.space == 'shared':
                self.shared_bytes = align_up(self.shared_bytes, max(variable.align, 16))
                self.shared[variable.name] = self.shared_bytes
                self.shared_bytes += variable.bytes
            else:
                name = identifier(variable.name)
                self.emit(f'alignas({max(variable.align, 8)}) uint8_t {name}[{variable.bytes}];')
                self.param_space[variable.name] = name
        else:
            self.error('unsupported directive')

    def instruction(self, text):
        match = re.match(r'(?:@(?P<guard>!?%?[\w$]+)\s+)?(?P<op>[a-z]\w*(?:(?:\.|::)\w+)*)\s*(?P<rest>.*)$',
                         text, re.S)
        if not match:
            self.error('cannot read the instruction')
        start = len(self.lines)
        ptx_instructions.translate(self, match['op'], match['rest'])
        if match['guard']:
            guarded = self.lines[start:]
            del self.lines[start:]
            self.emit(f'if ({self.read(match["guard"], "pred")}) {{ {" ".join(guarded)} }}')

    def call(self, results, name, arguments):
        arguments = ['S'] + [self.param_space.get(a) or self.error(f'unknown {a}')
                             for a in results + arguments]
        if name not in self.module.function_names:
            self.error('call of a function that is not in the module')
        self.emit(f'{self.module.function_name(name)}({", ".join(arguments)});')

    def jump(self, label):
        self.emit(f'goto {identifier(label)};')

    def jump_table(self, index, table):
        if table not in self.targets:
            self.error('jump table is not known yet')
        cases = ' '.join(f'case {i}: goto {identifier(label)};' for i, label in enumerate(self.targets[table]))
        self.emit(f'switch ({self.read(index, "u32")}) {{ {cases} default: __builtin_unreachable(); }}')

    def write_body(self, with_lines=False):
        """The whole C++ function; with_lines: #line directives of the .cu."""
        self.used_words = set(re.findall(r'%\w+', ' '.join(
            s.text for s in self.function.body if s.kind == 'instruction')))
        # jump tables may stand behind the jump
        self.last_label = None
        for self.statement in self.function.body:
            if self.statement.kind == 'label':
                self.last_label = self.statement.text
            elif self.statement.kind == 'directive' and self.statement.text.startswith('.branchtargets'):
                self.directive(self.statement.text)
        previous = None
        for self.statement in self.function.body:
            if with_lines and self.statement.source_line and self.statement.source_line != previous:
                previous = self.statement.source_line
                self.emit(f'#line {previous[1]} "{previous[0]}"')
            kind, text = self.statement.kind, self.statement.text
            if kind == 'open':
                self.emit('{')
                self.scopes.append({})
            elif kind == 'close':
                self.emit('}')
                self.scopes.pop()
            elif kind == 'label':
                self.emit(f'{identifier(text)}: ;')
            elif kind == 'directive':
                self.directive(text)
            else:
                self.instruction(text)
        head = ["{"]
        if self.uses_carry:
            head.append("bool CC = 0;")
        if self.function.is_kernel:
            head.append('uint8_t *const S = simt::flat_shared(); (void) S;')
        dynamic = f'{align_up(self.shared_bytes, 16)}u'
        body = [re.sub(r'\bDYNAMIC\b', dynamic, line) for line in self.lines]
        return '\n'.join([self.signature()] + head + body + ['}'])

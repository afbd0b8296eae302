"""
test/ptx/ptx_module.py
    The text of a PTX module as nvcc writes it, taken apart: variables,
    functions, and the statements of a function's body.

Knows the grammar of declarations and statements, nothing of what an
instruction does.  Anything it cannot read is an error: what is not understood
must not be executed.
"""
import re
from dataclasses import dataclass, field

SIZES = {f'{kind}{bits}': bits // 8 for kind in 'usb' for bits in (8, 16, 32, 64)}
SIZES.update(f32=4, f64=8, pred=1)

LINKAGE = r'(?:\.(?:visible|extern|weak|common)\s+)*'


class PtxError(Exception):
    """Something in a module that is not supported, with its line."""


@dataclass
class Variable:
    space: str
    align: int
    type: str
    name: str
    count: int          # elements; 0: as many as the launch says
    values: str         # text of the initializer or ''

    @property
    def bytes(self):
        return SIZES[self.type] * self.count


@dataclass
class Statement:
    kind: str           # 'label', 'open', 'close', 'directive', 'instruction'
    text: str
    line: int           # in the PTX text
    source: str         # "file.cu:12" or ''
    source_line: tuple  # (path, line) or None


@dataclass
class Function:
    name: str
    is_kernel: bool
    results: list       # Variable
    params: list        # Variable
    max_threads: int
    body: list = field(default_factory=list)    # Statement


@dataclass
class Module:
    target: str
    variables: list
    functions: list


VARIABLE = re.compile(
    LINKAGE + r'\.(?P<space>\w+)\s+(?:\.attribute\([^)]*\)\s*)?(?:\.align\s+(?P<align>\d+)\s+)?'
    r'\.(?P<type>\w+)\s+(?P<name>[\w$%.]+)\s*(?P<dims>(?:\[\d*\]\s*)*)(?:=\s*(?P<values>.*))?$', re.S)


def parse_variable(text, line=0):
    """'.shared .align 4 .b8 name[16]' and the like."""
    # what a pointer parameter points to is of no interest
    text = re.sub(r'\.ptr\b\s*(\.(?:global|const|shared|local)\b\s*)?(\.align\s+\d+\s*)?', '', text.strip())
    match = VARIABLE.match(text)
    if not match or match['type'] not in SIZES:
        raise PtxError(f'line {line}: cannot read the declaration: {text[:200]}')
    count = 1
    for dim in re.findall(r'\[(\d*)\]', match['dims']):
        count *= int(dim) if dim else 0
    return Variable(match['space'], int(match['align'] or SIZES[match['type']]), match['type'],
                    match['name'], count, (match['values'] or '').strip())


FUNCTION = re.compile(
    r'\s*' + LINKAGE + r'\.(?P<kind>entry|func)\s*(?P<results>\([^)]*\))?\s*(?P<name>[\w$]+)\s*'
    r'(?P<params>\([^)]*\))?(?P<directives>[^{;]*)(?P<end>[{;])', re.S)

STATEMENT = re.compile(
    r'\s*(?:(?P<loc>\.loc[^\n]*)'
    r'|(?P<label>[$\w]+):(?!:)'
    r'|(?P<open>\{)|(?P<close>\})'
    r'|(?P<text>[^;{}]+(?:\{[^{};]*\}[^;{}]*)*);)', re.S)


def parameters(text, line):
    inner = (text or '()').strip()[1:-1]
    return [parse_variable(part, line) for part in inner.split(',') if part.strip()]


def parse_body(text, first_line, files):
    """Statements of text, whose first line is first_line of the module."""
    statements, position, line = [], 0, first_line
    source, source_line = '', None
    while text[position:].strip():
        match = STATEMENT.match(text, position)
        if not match:
            raise PtxError(f'line {line}: cannot read: {text[position:position + 100].strip()}')
        start = match.start(match.lastgroup)
        line += text.count('\n', position, start)
        kind, content = match.lastgroup, match[match.lastgroup].strip()
        if kind == 'loc':
            number, at = re.match(r'\.loc\s+(\d+)\s+(\d+)', content).groups()
            path = files.get(number, '?')
            source, source_line = f"{path.rsplit('/', 1)[-1]}:{at}", (path, int(at))
        else:
            if kind == 'text':
                # ".branchtargets" and ".callprototype" stand behind a label
                kind = 'directive' if content.startswith('.') else 'instruction'
            statements.append(Statement(kind, content, line, source, source_line))
        line += text.count('\n', start, match.end())
        position = match.end()
    return statements


def closing_brace(text, position):
    """Position behind the brace that closes the one before position."""
    depth = 1
    for match in re.compile(r'[{}]').finditer(text, position):
        depth += 1 if match[0] == '{' else -1
        if depth == 0:
            return match.end()
    raise PtxError('a brace is not closed')


def without_comments(text):
    text = re.sub(r'/\*.*?\*/', lambda m: '\n' * m[0].count('\n'), text, flags=re.S)
    return re.sub(r'//[^\n]*', '', text)


def parse_module(text):
    text = without_comments(text)
    # debug information is of no use here
    text = re.sub(r'^\s*\.section\b.*?^\s*\}', lambda m: '\n' * m[0].count('\n'), text, flags=re.S | re.M)
    files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', text, flags=re.M))
    target = re.search(r'^\s*\.target\s+(\w+)', text, flags=re.M)
    if not target:
        raise PtxError('no .target')
    text = re.sub(r'^[ \t]*\.(version|target|address_size|file)\b[^\n]*', '', text, flags=re.M)
    text = re.sub(r'\.pragma\s+"[^"]*"\s*;', '', text)
    module = Module(target[1], [], [])
    position = 0
    while text[position:].strip():
        line = text.count('\n', 0, position) + 1
        match = FUNCTION.match(text, position)
        if match:
            position = match.end()
            if match['end'] == ';':
                continue                # a prototype
            end = closing_brace(text, position)
            limit = re.search(r'\.maxntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?', match['directives'])
            threads = 1024
            if limit:
                threads = int(limit[1]) * int(limit[2] or 1) * int(limit[3] or 1)
            module.functions.append(Function(
                match['name'], match['kind'] == 'entry', parameters(match['results'], line),
                parameters(match['params'], line), threads,
                parse_body(text[position:end - 1], text.count('\n', 0, position) + 1, files)))
            position = end
            continue
        end = text.find(';', position)
        if end < 0:
            raise PtxError(f'line {line}: cannot read: {text[position:position + 100].strip()}')
        module.variables.append(parse_variable(text[position:end], line))
        position = end + 1
    return module

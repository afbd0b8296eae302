"""Describes a CSV file from its first record, for scripts/demo.

usage: describe_csv.py FILE FOLDER DELIMITER ENCODING

Guesses the delimiter if DELIMITER is empty, makes the column names unique and
fit for PostgreSQL, and writes three files into FOLDER: "columns" and "options"
are parts of a CREATE FOREIGN TABLE, "wide" says on or off: whether rows are
better shown one column a line.  An empty ENCODING stands for UTF-8.

It must not read more of FILE than its beginning.
"""

import codecs
import csv
import io
import sys

HEAD = 16 << 20                 # bytes; a header record has to end before
GUESSES = ',;\t|'               # in order of preference
DELIMITER_NAMES = {'tab': '\t', '\\t': '\t'}
MAX_COLUMNS = 1600              # of a PostgreSQL table
MAX_NAME = 63                   # bytes of a PostgreSQL name
SYSTEM_COLUMNS = {'tableoid', 'cmax', 'xmax', 'cmin', 'xmin', 'ctid'}


def die(text):
    sys.exit('demo: ' + text)


def quoted_ident(s):
    return '"' + s.replace('"', '""') + '"'


def quoted_literal(s):
    return "E'\\t'" if s == '\t' else "'" + s.replace("'", "''") + "'"


def decode(head, encoding):
    """Text of the beginning of a file, which may end within a character."""
    for codec in ([encoding] if encoding else []) + ['utf-8', 'latin-1']:
        try:
            return codecs.getincrementaldecoder(codec)().decode(head).removeprefix('\ufeff')
        except (LookupError, UnicodeDecodeError):
            continue


def guess_delimiter(text):
    """The candidate seen most often in the first record, outside quotes."""
    seen, inside = dict.fromkeys(GUESSES, 0), False
    for c in text:
        if c == '"':
            inside = not inside
        elif not inside and c in '\r\n':
            break
        elif not inside and c in seen:
            seen[c] += 1
    return max(GUESSES, key=seen.get)


def first_record(text, delimiter):
    csv.field_size_limit(HEAD)
    try:
        return next(csv.reader(io.StringIO(text, newline=''), delimiter=delimiter))
    except (csv.Error, StopIteration) as e:
        die(f'the first line of the file makes no sense: {e or "it is empty"}')


def column_names(header):
    names, taken = [], set(SYSTEM_COLUMNS)
    for i, field in enumerate(header, 1):
        stem = ' '.join(field.replace('\0', ' ').split()) or f'column_{i}'
        name, number = '', 0
        while not name or name in taken:
            number += 1
            suffix = f'_{number}' if number > 1 else ''
            name = stem.encode()[:MAX_NAME - len(suffix)].decode(errors='ignore') + suffix
        taken.add(name)
        names.append(name)
    return names


def main():
    path, folder, delimiter, encoding = sys.argv[1:5]
    try:
        path.encode()
    except UnicodeEncodeError:
        die('the name of the file is not in UTF-8')
    with open(path, 'rb') as f:
        head = f.read(HEAD)
    if b'\0' in head[:4096]:
        die('the file has zero bytes in it: it is not a CSV file, or is in UTF-16')
    text = decode(head, encoding)

    delimiter = DELIMITER_NAMES.get(delimiter, delimiter) or guess_delimiter(text)
    if len(delimiter.encode()) != 1 or delimiter in '"\r\n':
        die('the delimiter has to be one character of one byte, neither a quote nor a line end')
    names = column_names(first_record(text, delimiter))
    if len(names) > MAX_COLUMNS:
        die(f'the file has {len(names)} columns; a table may have {MAX_COLUMNS}')

    options = [f'filename {quoted_literal(path)}', "header 'true'"]
    if delimiter != ',':
        options.append(f'delimiter {quoted_literal(delimiter)}')
    if encoding:
        options.append(f'encoding {quoted_literal(encoding)}')
    line_length = len(head) / max(head.count(b'\n'), head.count(b'\r'), 1)
    parts = {
        'columns': ',\n'.join(f'  {quoted_ident(name)} text' for name in names),
        'options': ', '.join(options),
        'wide': 'on' if len(names) > 10 or line_length > 150 else 'off',
    }
    for part, content in parts.items():
        with open(f'{folder}/{part}', 'w', encoding='utf-8') as f:
            f.write(content)


main()

#!/usr/bin/env python3
"""
test/ptx/fatbin.py LIBRARY ARCH ...
    Looks whether every fat binary in a library holds machine code for each
    architecture, and PTX for devices newer than all of them.

Reads the headers of the section .nv_fatbin itself, so that no tool of a device
driver is needed.  Prints "fatbin: N passed, N failed".
"""
import struct
import sys

MAGIC = 0xba55ed50
PTX, MACHINE_CODE = 1, 2


def fat_binaries(data):
    """For each fat binary in the bytes of a library: set of (kind, architecture)."""
    found, at = [], data.find(struct.pack('<I', MAGIC))
    while at >= 0:
        _, _, header, size = struct.unpack_from('<IHHQ', data, at)
        end, entry, entries = at + header + size, at + header, set()
        while entry < end:
            kind, _, entry_header, entry_size = struct.unpack_from('<HHIQ', data, entry)
            arch, = struct.unpack_from('<I', data, entry + 28)
            entries.add((kind, arch))
            entry += entry_header + entry_size
        found.append(entries)
        at = data.find(struct.pack('<I', MAGIC), end)
    return found


def main():
    library, archs = sys.argv[1], [int(a) for a in sys.argv[2:]]
    with open(library, 'rb') as source:
        binaries = fat_binaries(source.read())
    passed = failed = 0
    wanted = {(MACHINE_CODE, arch) for arch in archs} | {(PTX, min(archs))}
    for number, entries in enumerate(binaries):
        if wanted <= entries:
            passed += 1
        else:
            failed += 1
            print(f'FAILED: fat binary {number} of {library} lacks {sorted(wanted - entries)}')
    if not binaries:
        failed += 1
        print(f'FAILED: {library} holds no fat binary')
    print(f'fatbin: {passed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())

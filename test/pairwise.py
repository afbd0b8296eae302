#!/usr/bin/python3
"""Combinations of settings under which tests are run.

usage: pairwise.py [--all] NAME=LEVEL,LEVEL,... NAME=LEVEL,...
       pairwise.py --check

Prints combinations of one level of each factor, one a line, as NAME=LEVEL
separated by blanks: few of them, among which any two levels of any two factors
occur together, or with --all every combination there is.  What depends on one
or two of the settings is met that way without trying everything.

--check tests the generator; its last line is "N passed, N failed".

Owns: the choice of combinations.  Must not: know what the factors mean.
"""

import itertools
import random
import sys


def pairs_of(row):
    """The pairs in a combination, given as a tuple of levels' numbers."""
    return {((i, row[i]), (j, row[j])) for i, j in itertools.combinations(range(len(row)), 2)}


def pairwise(sizes):
    """
    Combinations, as tuples of levels' numbers, for factors with so many
    levels.  Greedy: each starts with a pair that is missing, then takes level
    by level what adds most of the missing pairs.  The same sizes always give
    the same combinations, of the shortest of several attempts.
    """
    if len(sizes) < 2:
        return list(itertools.product(*map(range, sizes)))
    return min((attempt(sizes, random.Random(seed)) for seed in range(20)), key=len)


def attempt(sizes, rng):
    missing = set()
    for i, j in itertools.combinations(range(len(sizes)), 2):
        missing.update(((i, a), (j, b)) for a in range(sizes[i]) for b in range(sizes[j]))
    rows = []
    while missing:
        (i, a), (j, b) = rng.choice(sorted(missing))
        row = {i: a, j: b}
        rest = [k for k in range(len(sizes)) if k not in row]
        rng.shuffle(rest)
        for k in rest:
            def gain(level):
                return sum(tuple(sorted(((k, level), other))) in missing for other in row.items())

            levels = list(range(sizes[k]))
            rng.shuffle(levels)
            row[k] = max(levels, key=gain)
        rows.append(tuple(row[k] for k in range(len(sizes))))
        missing -= pairs_of(rows[-1])
    return rows


def check():
    """Covers pairs without exception, in not many more combinations than there must be."""
    passed = failed = 0
    shapes = [(1, 1), (2, 2), (4, 2, 2, 2, 3, 3), (1, 2, 2, 2, 3, 3), (5, 4, 3, 2), (3,) * 8,
              (2,) * 12, (7, 1, 5), (4, 4, 4, 4, 4), (3,), ()]
    for sizes in shapes:
        rows = pairwise(sizes)
        expected = {((i, a), (j, b)) for i, j in itertools.combinations(range(len(sizes)), 2)
                    for a in range(sizes[i]) for b in range(sizes[j])}
        covered = set().union(*map(pairs_of, rows))
        largest = sorted(sizes, reverse=True)[:2]
        least = 1
        for n in largest:
            least *= n
        problem = None
        if any(len(row) != len(sizes) or any(not 0 <= v < n for v, n in zip(row, sizes))
               for row in rows):
            problem = "a combination is not one"
        elif covered != expected:
            problem = "%d pairs are missing" % len(expected - covered)
        elif not least <= len(rows) <= 2 * least + len(sizes):
            problem = "%d combinations, at least %d are needed" % (len(rows), least)
        elif len(set(rows)) != len(rows):
            problem = "a combination comes twice"
        elif pairwise(sizes) != rows:
            problem = "not the same a second time"
        if problem:
            failed += 1
            print("levels %s: FAILED: %s" % (sizes, problem))
        else:
            passed += 1
            print("levels %s: %d combinations of %d" % (
                ", ".join(map(str, sizes)), len(rows),
                len(list(itertools.product(*map(range, sizes))))))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


def main(arguments):
    if arguments == ["--check"]:
        return check()
    everything = arguments[:1] == ["--all"]
    factors = [a.partition("=") for a in arguments[everything:]]
    if not factors or any(not name or not levels for name, _, levels in factors):
        print(__doc__, file=sys.stderr)
        return 2
    names = [name for name, _, _ in factors]
    levels = [values.split(",") for _, _, values in factors]
    sizes = [len(v) for v in levels]
    rows = itertools.product(*map(range, sizes)) if everything else pairwise(sizes)
    for row in rows:
        print(" ".join("%s=%s" % (n, v[i]) for n, v, i in zip(names, levels, row)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

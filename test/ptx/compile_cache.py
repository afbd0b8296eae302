"""
test/ptx/compile_cache.py
    Results of compilers kept by what they were made from, in $PP_CACHE or a
    folder given.

A result is found by the command, the compiler's version and the contents of
every file that went into it.  Files that a compiler includes are only known
after it ran, so their names are kept with the result.  Names of files in the
source tree are kept as seen from its top: another copy of the tree, elsewhere,
finds the same results.  Entries are written under another name and renamed:
several builds may share one folder.
"""
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time

KEEP_DAYS = 14
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def digest(*parts):
    h = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        h.update(len(data).to_bytes(8, 'little'))
        h.update(data)
    return h.hexdigest()[:32]


def portable(text):
    """A path or an option with the source tree's place taken out."""
    return text.replace(TOP + os.sep, '@/')


def here(path):
    return os.path.join(TOP, path[2:]) if path.startswith('@/') else path


class CompileError(Exception):
    """A compiler failed; holds what it said."""


class CompileCache:
    def __init__(self, folder):
        self.folder = folder
        self.hits = self.misses = 0
        self.digests = {}       # of files, by path
        self.versions = {}
        os.makedirs(folder, exist_ok=True)
        self.prune()

    def prune(self):
        """Drops what nobody asked for in a long time."""
        oldest = time.time() - KEEP_DAYS * 86400
        for name in os.listdir(self.folder):
            path = self.entry(name)
            try:
                if os.path.getmtime(path) < oldest:
                    os.unlink(path)
            except FileNotFoundError:
                pass        # another build was faster

    def found(self, path):
        """True if the entry is there; it is kept a while longer then."""
        try:
            os.utime(path)
        except FileNotFoundError:
            return False
        return True

    def file_digest(self, path):
        if path not in self.digests:
            with open(path, 'rb') as source:
                self.digests[path] = digest(source.read())
        return self.digests[path]

    def version(self, compiler):
        if compiler not in self.versions:
            self.versions[compiler] = subprocess.run([compiler, '--version'], capture_output=True,
                                                     text=True, check=True).stdout
        return self.versions[compiler]

    def entry(self, key):
        return os.path.join(self.folder, key)

    def store(self, key, source):
        """Takes a copy of a file."""
        handle, temporary = tempfile.mkstemp(dir=self.folder)
        os.close(handle)
        shutil.copyfile(source, temporary)
        os.replace(temporary, self.entry(key))

    def lookup(self, name_key):
        """The stored result whose inputs are what they were, or None."""
        manifest = self.entry(name_key + '.json')
        if not self.found(manifest):
            return None
        with open(manifest) as source:
            variants = json.load(source)
        for variant in variants:
            if all(os.path.exists(here(p)) and self.file_digest(here(p)) == d
                   for p, d in variant['inputs'].items()) \
                    and all(self.found(self.entry(variant['key'] + suffix)) for suffix in variant['suffixes']):
                return variant['key']
        return None

    def remember(self, name_key, inputs, outputs):
        """outputs: suffix -> file; answers the key of the entries."""
        found = {portable(path): self.file_digest(path) for path in inputs}
        key = digest(name_key, json.dumps(found, sort_keys=True))
        for suffix, path in outputs.items():
            self.store(key + suffix, path)
        manifest = self.entry(name_key + '.json')
        variants = []
        if os.path.exists(manifest):
            with open(manifest) as source:
                variants = json.load(source)
        variants = [v for v in variants if v['key'] != key][-7:]
        variants.append({'key': key, 'inputs': found, 'suffixes': sorted(outputs)})
        handle, temporary = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(handle, 'w') as out:
            json.dump(variants, out)
        os.replace(temporary, manifest)
        return key

    def compile(self, command, source, suffixes, make):
        """
        Paths of the results, by suffix.  make(folder) runs the command in a
        folder of its own and answers (files that went in, {suffix: result}).
        """
        name_key = digest(self.version(command[0]), *map(portable, command), portable(os.path.abspath(source)))
        key = self.lookup(name_key)
        if key is None:
            self.misses += 1
            with tempfile.TemporaryDirectory() as folder:
                inputs, outputs = make(folder)
                key = self.remember(name_key, inputs, outputs)
        else:
            self.hits += 1
        return {suffix: self.entry(key + suffix) for suffix in suffixes}


def run(command, folder=None):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise CompileError(f'{" ".join(command)}\n{done.stderr}{done.stdout}')
    return done.stderr + done.stdout


def read_dependencies(path):
    """Files named by a make rule that a compiler wrote."""
    with open(path) as source:
        text = source.read().replace('\\\n', ' ')
    return sorted({os.path.abspath(p) for p in text.split(':', 1)[1].split() if p})


def default_folder(otherwise):
    return os.path.join(os.environ['PP_CACHE'], 'ptx') if os.environ.get('PP_CACHE') else otherwise

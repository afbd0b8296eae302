"""What bench/device measures of the cuda backend, and the table it prints.

Connects with the usual PG* variables by psql, so it needs nothing but the
standard library.  Rates are of the file's bytes: "kernels" by the time that
the device was busy with kernels, "query" by the client's clock, the files
being in the page cache.  Answers are compared with the CPU backend's.

Must not: measure anything else than this extension.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import queries                                                  # noqa: E402

QUERIES = {
    "taxi": (("count", "SELECT count(*) FROM {t}"),
             ("eight sums", "SELECT %s FROM {t}" % ", ".join(
                 "round(sum(%s)::numeric, 2)" % c for c in queries.EIGHT_SUMS)),
             ("every column", "SELECT %s FROM {t}" % ", ".join(
                 "count(%s)" % c for c, _ in queries.TABLES["taxi"]))),
    "reviews": (("count", "SELECT count(*) FROM {t}"),
                ("octets of text", "SELECT sum(octet_length(text)) FROM {t}"),
                ("every column", "SELECT %s FROM {t}" % ", ".join(
                    "count(%s)" % c for c, _ in queries.TABLES["reviews"]))),
}
TRANSFERS = ("H2D", "D2H")
NOT_STAGES = ("Total", "Start-up", "Read", "Row Return", "Overlapped")


class Bench:
    def __init__(self, a):
        self.a = a
        self.end = time.time() + a.limit
        self.left_out = 0
        self.differences = 0
        self.lines = []
        self.answers = {}

    def say(self, line=""):
        print(line, flush=True)
        self.lines.append(line)

    def psql(self, statements):
        """The lines that the statements give, in one session."""
        command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
        out = subprocess.run(command, input=";\n".join(statements) + ";\n", text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if out.returncode != 0:
            raise RuntimeError(out.stderr.strip())
        return out.stdout

    def table(self, name, size):
        return "%s_%s" % (name, size.replace(".", "_"))

    def create(self, name, size):
        self.psql(["CREATE FOREIGN TABLE %s (%s) SERVER gpu_csv OPTIONS (filename '%s', header"
                   " 'true')" % (self.table(name, size),
                                 ", ".join("%s %s" % c for c in queries.TABLES[name]),
                                 self.path(name, size))])

    def path(self, name, size):
        return os.path.join(self.a.folder, "%s-%s.csv" % (name, size))

    def measure(self, name, size, sql, settings, cpu=False):
        """Seconds of the client, and the device's times in a round, medians."""
        sets = ["SET parparaw.backend = %s" % ("cpu" if cpu else "cuda"),
                "SET max_parallel_workers_per_gather = 0"]
        sets += ["SET parparaw.%s = '%s'" % s for s in settings.items()]
        query = sql.replace("{t}", self.table(name, size))
        # the first one makes the context, and is not counted
        marks = []
        for i in range(self.a.rounds + 1):
            marks += ["SELECT 'clock ' || extract(epoch FROM clock_timestamp())", query,
                      "SELECT 'clock ' || extract(epoch FROM clock_timestamp())"]
        clocks = []
        answers = set()
        for line in self.psql(sets + marks).splitlines():
            if line.startswith("clock "):
                clocks.append(float(line[6:]))
            else:
                answers.add(line)
        if len(answers) != 1:
            raise RuntimeError("%s: answers %s" % (query, answers))
        reference = self.answers.setdefault((name, size, sql), answers)
        if reference != answers:
            self.differences += 1
            self.say("DIFFERENT ANSWERS: %s: %s, %s" % (query, reference, answers))
        seconds = statistics.median(b - a for a, b in zip(clocks[2::2], clocks[3::2]))
        if cpu:
            return seconds, None
        plan = json.loads(self.psql(sets + [query, "EXPLAIN (ANALYZE, VERBOSE, FORMAT json) " +
                                            query]).split("\n", 1)[1])
        node = plan[0]["Plan"]
        while "Backend" not in node:
            node = node["Plans"][0]
        if not node["Backend"].startswith("cuda"):
            raise RuntimeError("%s ran on %s" % (query, node["Backend"]))
        return seconds, node

    def enough(self):
        if time.time() < self.end:
            return True
        self.left_out += 1
        return False

    def row(self, label, name, size, sql, **settings):
        if not self.enough():
            return
        try:
            seconds, node = self.measure(name, size, sql, settings)
        except RuntimeError as e:
            # a large partition may not fit; all else is a failure
            if "out of device memory" not in str(e):
                raise
            self.say("| %s | %s MB | out of device memory | | | | | |" % (label, size))
            return
        timing = node["Device Timing"]
        kernels = sum(v for k, v in timing.items()
                      if k not in NOT_STAGES and k not in TRANSFERS) / 1000
        gigabytes = os.path.getsize(self.path(name, size)) / 1e9
        stages = sorted(((v, k) for k, v in timing.items() if k not in NOT_STAGES), reverse=True)
        self.say("| %s | %s MB | %.4f s | %.3f | %.3f | %.1f / %.1f ms | %.0f MB | %s |" % (
            label, size, seconds, gigabytes / seconds, gigabytes / kernels if kernels else 0,
            timing["H2D"], timing["D2H"], node["Device Bytes"]["Peak Memory"] / 1e6,
            ", ".join("%s %.1f" % (k, v) for v, k in stages[:4])))

    def heading(self, title):
        self.say()
        self.say("### " + title)
        self.say()
        self.say("| query | file | query time | GB/s, query | GB/s, kernels | H2D / D2H |"
                 " device memory | longest stages, ms |")
        self.say("| --- | --- | --- | --- | --- | --- | --- | --- |")

    def start_up(self):
        self.say()
        times = []
        for _ in range(self.a.rounds):
            name = "taxi"
            size = self.a.sizes.split()[0]
            started = time.time()
            plan = json.loads(self.psql(["SET parparaw.backend = cuda",
                                         "EXPLAIN (ANALYZE, FORMAT json) SELECT count(*) FROM " +
                                         self.table(name, size)]))
            times.append((plan[0]["Plan"]["Device Timing"]["Start-up"],
                          (time.time() - started) * 1000))
        self.say("Start-up: loading the library and making a context takes %.1f ms (median of %d);"
                 " a whole session with one query on the smallest file, %.1f ms." % (
                     statistics.median(t[0] for t in times), len(times),
                     statistics.median(t[1] for t in times)))

    def run(self):
        sizes = self.a.sizes.split()
        for name in QUERIES:
            for size in sizes:
                self.create(name, size)
        self.say("## The cuda backend on %s" % self.a.device)
        if self.a.simt:
            self.say()
            self.say("Executed by the CPU: a test of the script, the figures mean nothing.")
        self.start_up()
        self.say()
        self.say("### CPU backend, one core")
        self.say()
        self.say("| query | file | query time | GB/s |")
        self.say("| --- | --- | --- | --- |")
        for name, asked in QUERIES.items():
            for label, sql in asked:
                size = sizes[-1]
                if not self.enough():
                    continue
                seconds, _ = self.measure(name, size, sql, {}, cpu=True)
                self.say("| %s: %s | %s MB | %.4f s | %.3f |" % (
                    name, label, size, seconds,
                    os.path.getsize(self.path(name, size)) / 1e9 / seconds))
        self.heading("Files of growing size")
        for size in sizes:
            for name, asked in QUERIES.items():
                for label, sql in asked:
                    self.row("%s: %s" % (name, label), name, size, sql)
        middle = sizes[len(sizes) // 2]
        self.heading("Tagging")
        for mode in ("record", "inline", "vector"):
            for name, asked in QUERIES.items():
                self.row("%s: %s, %s" % (name, asked[2][0], mode), name, middle, asked[2][1],
                         cuda_tagging=mode)
        self.heading("Size of partitions")
        for partition in (("1kB", "4kB") if self.a.simt else
                          ("1MB", "4MB", "16MB", "64MB", "256MB")):
            for name, asked in QUERIES.items():
                self.row("%s: %s, %s" % (name, asked[2][0], partition), name, sizes[-1],
                         asked[2][1], cuda_partition_size=partition)
        self.heading("Size of chunks")
        for chunk in (8, 16, 24, 31, 32, 48, 64, 128, 256):
            for name, asked in QUERIES.items():
                self.row("%s: %s, %d B" % (name, asked[2][0], chunk), name, middle, asked[2][1],
                         chunk_size=str(chunk))
        if self.left_out:
            self.say()
            self.say("%d rows are left out: the time was used up." % self.left_out)
        with open(self.a.output, "w") as f:
            f.write("\n".join(self.lines) + "\n")
        return 1 if self.differences else 0


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("--folder", required=True)
    p.add_argument("--sizes", required=True)
    p.add_argument("--rounds", type=int, required=True)
    p.add_argument("--limit", type=float, required=True, help="seconds")
    p.add_argument("--device", required=True)
    p.add_argument("--output", required=True)
    p.add_argument("--simt", action="store_true")
    return Bench(p.parse_args()).run()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, OSError) as error:
        print("device: %s" % error, file=sys.stderr)
        sys.exit(1)

"""Shows what measure.py has measured: tables on standard output, a Markdown
file, and plots beside it if matplotlib is there.

usage: report.py RESULTS.json REPORT.md

Owns: medians, ratios, tables, plots.

Must not: measure.
"""

import json
import os
import statistics
import sys

try:
    import matplotlib
    from matplotlib import ticker
except ImportError:                     # then there are no plots
    ticker = None

MB = 1e6

COLORS = {
    "parparaw": "#c2410c",
    "file_fdw": "#525252",
    "file_fdw_json": "#525252",
    "file_fdw_jsonb": "#525252",
    "pg_read_file": "#525252",
    "copy": "#a3a3a3",
    "heap": "#a3a3a3",
    "duckdb": "#ca8a04",
    "polars": "#2563eb",
    "clickhouse": "#7c3aed",
    "simdjson": "#15803d",
}
OURS_BESIDES = "#fb923c"                # variants of parparaw_fdw
IDEAL = "#a3a3a3"


def median(series):
    return statistics.median(series["seconds"])


def seconds(value):
    if value is None:
        return "-"
    if value < 0.1:
        return "%.4f" % value
    return "%.3f" % value if value < 10 else "%.2f" % value


def times(value):
    if value is None:
        return "-"
    return "%.2fx" % value if value < 10 else "%.0fx" % value


def table(header, rows):
    """Markdown, its columns aligned; the first is text, others numbers."""
    widths = [max(len(row[i]) for row in [header] + rows) for i in range(len(header))]

    def line(cells):
        return "| " + " | ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths))) + " |"

    rule = ["-" * width if i == 0 else "-" * (width - 1) + ":"
            for i, width in enumerate(widths)]
    return "\n".join([line(header), line(rule)] + [line(row) for row in rows])


class Report:
    def __init__(self, results):
        self.results = results
        self.systems = results["systems"]

    def title(self, key):
        return self.systems[key]["title"]

    def kind(self, key):
        return self.systems[key]["kind"]

    def answered(self, job):
        """Keys of the systems that have measured seconds and are right."""
        return [key for key, series in job["systems"].items()
                if series["seconds"] and not series["error"] and key not in job["different"]]

    def best_peer(self, job):
        """The fastest other system that does the same from the same file."""
        peers = [key for key in self.answered(job) if self.kind(key) in ("reader", "load")]
        return min(peers, key=lambda key: median(job["systems"][key]), default=None)

    def references(self, job):
        """Medians of PostgreSQL's own fastest way, which is file_fdw but for
        arrays of JSON, and of the best peer, or None."""
        best = self.best_peer(job)
        core = [median(job["systems"][key]) for key in self.answered(job)
                if key.startswith("file_fdw") or key == "pg_read_file"]
        return min(core, default=None), median(job["systems"][best]) if best else None

    def job_table(self, job):
        file_fdw, best = self.references(job)
        rows = []

        def row_of(name, series, besides=0.0, file_fdw=file_fdw, best=best):
            wall = [s + besides for s in series["seconds"]]
            cpu = [c for c in series["cpu"] if c is not None]
            middle = statistics.median(wall)
            rows.append([name, seconds(middle), seconds(min(wall)), seconds(max(wall)),
                         seconds(statistics.median(cpu) if cpu and not besides else None),
                         "%.0f" % (job["bytes"] / middle / MB),
                         times(file_fdw and file_fdw / middle), times(best and best / middle)])

        row_of("pread", {"seconds": job["pread"], "cpu": []}, 0.0, None, None)
        for key, series in job["systems"].items():
            name = self.title(key)
            if series["error"]:
                rows.append(["%s (failed)" % name] + ["-"] * 7)
            elif key in job["different"]:
                rows.append(["%s (DIFFERENT)" % name] + ["-"] * 7)
            elif key == "heap":
                row_of("query on the loaded heap", series)
                row_of("COPY and query", series, self.results["copy_seconds"][job["table"]])
            elif job["load"] and key != "copy":
                row_of("CREATE TABLE AS, " + name, series)
            else:
                row_of(name, series)
        return table(["system", "median s", "min", "max", "CPU s", "MB/s", "x file_fdw",
                      "x best peer"], rows)

    def summary(self):
        rows = []
        for job in self.results["jobs"]:
            answered = self.answered(job)
            ours = median(job["systems"]["parparaw"]) if "parparaw" in answered else None
            file_fdw, best = self.references(job)
            name = self.best_peer(job)
            heap = None
            if "copy" in answered:
                heap = median(job["systems"]["copy"])
            elif "heap" in answered:
                heap = median(job["systems"]["heap"]) + self.results["copy_seconds"][job["table"]]
            rows.append([
                job["title"], seconds(ours), seconds(file_fdw), seconds(heap),
                "%s %s" % (self.title(name), seconds(best)) if name else "-",
                times(file_fdw / ours if ours and file_fdw else None),
                times(best / ours if ours and best else None)])
        return table(["job", "parparaw_fdw s", "file_fdw s", "COPY and query s", "best peer s",
                      "x file_fdw", "x best peer"], rows)

    def grid(self, jobs, label, speedup=False):
        """Medians of all systems, a line for each job; label(job) names it.
        With speedup they are also compared to the first line."""
        keys = []
        for job in jobs:
            keys += [key for key in job["systems"] if key not in keys]

        def cell(job, key):
            if key not in self.answered(job):
                return "-"
            value = median(job["systems"][key])
            if speedup and job is not jobs[0] and key in self.answered(jobs[0]):
                return "%s (%s)" % (seconds(value),
                                    times(median(jobs[0]["systems"][key]) / value))
            return seconds(value)

        return table(["seconds"] + [self.title(key) for key in keys],
                     [[label(job)] + [cell(job, key) for key in keys] for job in jobs])

    def preads(self):
        """For each file, the median time to read its file."""
        measured = {}
        for job in self.results["jobs"]:
            measured.setdefault((job["file"], job["bytes"]), []).extend(job["pread"])
        return ", ".join("%s (%d bytes) %s s" % (name, size, seconds(statistics.median(all)))
                         for (name, size), all in sorted(measured.items()))

    def text(self, plots):
        r = self.results
        s = r["settings"]
        parts = ["# Measurements"]
        versions = s["versions"]
        parts.append("\n".join([
            "* %s, %d processors" % (s["processor"], s["processors"]),
            "* " + ", ".join(versions[key] for key in
                             sorted(versions, key=lambda k: (k != "parparaw", k != "postgres", k))),
            "* %d round%s, all systems in turn in each; one processor unless workers are "
            "named%s" % (s["rounds"], "" if s["rounds"] == 1 else "s", "" if s["threads"] == 1 else
                         ", but %d threads for other engines" % s["threads"]),
            "* files in the page cache, no JIT; the whole run took %.1f minutes, load average "
            "at its end %.1f" % (s["minutes"], s["load_average"]),
        ]))
        parts.append(
            "Seconds are wall time as the client sees it; CPU seconds are those of the backend "
            "or of all threads of an engine. MB are 10^6 bytes of the file. \"x file_fdw\" and "
            "\"x best peer\" say how many times as fast a system is; peers are the other systems "
            "that do the job from the file (simdjson, a library, does not count), and file_fdw for "
            "JSON is the faster of ::json and ::jsonb. "
            "\"pread\" only reads the file into a small buffer. "
            "Answers of all systems were compared%s." % (
                "" if not r["failed"] else ": **there were failures, see the notes**"))
        if r["notes"]:
            parts.append("\n".join("* Note: " + note for note in r["notes"]))
        if r["jobs"]:
            parts += ["## Summary", self.summary(), "pread alone: " + self.preads()]
            parts += self.image(plots, "jobs", "Seconds of each job")
            for job in r["jobs"]:
                parts += ["## %s (%.0f MB)" % (job["title"], job["bytes"] / MB),
                          self.job_table(job)]
        if r["scaling"]:
            parts.append("## Workers")
            parts.append("Participants are the leader and its workers, or an engine's threads.")
            for name, jobs in self.by_job(r["scaling"]):
                parts += [jobs[0]["title"] + ":", self.grid(
                    jobs, lambda job: "%d participant%s" % (
                        job["participants"], "" if job["participants"] == 1 else "s"), True)]
            parts += self.image(plots, "scaling", "Speed over participants")
        if r["sizes"]:
            parts.append("## File sizes")
            for name, jobs in self.by_job(r["sizes"]):
                parts += [jobs[0]["title"] + ":",
                          self.grid(jobs, lambda job: "%d MiB" % job["size"])]
            parts += self.image(plots, "sizes", "Throughput over file size")
        return "\n\n".join(parts) + "\n"

    @staticmethod
    def image(plots, name, what):
        return ["![%s](%s)" % (what, plots[name])] if name in plots else []

    @staticmethod
    def by_job(results):
        names = []
        for result in results:
            if result["job"] not in names:
                names.append(result["job"])
        return [(name, [r for r in results if r["job"] == name]) for name in names]

    # -- plots ----------------------------------------------------------------

    def color(self, key):
        return COLORS.get(key, OURS_BESIDES)

    @staticmethod
    def plain_logarithmic(axis):
        """Ticks at 1, 2 and 5 times powers of ten, as plain numbers."""
        axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_locator(ticker.NullLocator())

    def style(self, axes):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(True, which="major", color="#e5e5e5", linewidth=0.8)
        axes.set_axisbelow(True)

    def plot_jobs(self, pyplot, path):
        jobs = self.results["jobs"]
        bars = []
        for job in jobs:
            entries = []
            for key in self.answered(job):
                value = median(job["systems"][key])
                if key == "heap":
                    entries.append(("COPY and query", COLORS["copy"],
                                    value + self.results["copy_seconds"][job["table"]]))
                else:
                    entries.append((self.title(key), self.color(key), value))
            bars.append(entries)
        columns = 2 if len(jobs) > 1 else 1
        lines = -(-len(jobs) // columns)
        most = max(map(len, bars))
        everything = [value for entries in bars for _, _, value in entries]
        figure, grid = pyplot.subplots(
            lines, columns, squeeze=False, layout="constrained",
            figsize=(6.5 * columns, lines * (0.9 + 0.27 * most)))
        for axes, job, entries in zip(grid.flat, jobs, bars):
            self.style(axes)
            axes.grid(False, axis="y")
            names = [name for name, _, _ in entries]
            values = [value for _, _, value in entries]
            axes.barh(names, values, color=[color for _, color, _ in entries], height=0.7)
            axes.invert_yaxis()
            axes.set_xscale("log")
            self.plain_logarithmic(axes.xaxis)
            axes.set_xlim(min(everything) / 2, max(everything) * 3)
            for i, value in enumerate(values):
                axes.annotate(" %s s" % seconds(value), (value, i), va="center", fontsize=8)
            axes.set_title("%s (%.0f MB)" % (job["title"], job["bytes"] / MB),
                           fontsize=10, loc="left")
            axes.set_xlabel("seconds, logarithmic", fontsize=8)
            axes.tick_params(labelsize=8)
        for axes in list(grid.flat)[len(jobs):]:
            axes.set_visible(False)
        figure.savefig(path, dpi=130)
        pyplot.close(figure)

    def plot_lines(self, pyplot, path, results, x_of, y_of, decorate):
        """A panel for each job, a line for each system."""
        legend = {}
        panels = self.by_job(results)
        figure, grid = pyplot.subplots(1, len(panels), squeeze=False, layout="constrained",
                                       figsize=(6.2 * len(panels), 4.2))
        for axes, (name, jobs) in zip(grid.flat, panels):
            self.style(axes)
            keys = []
            for job in jobs:
                keys += [key for key in self.answered(job) if key not in keys]
            for key in keys:
                points = [(x_of(job), y_of(job, key)) for job in jobs
                          if key in self.answered(job)]
                axes.plot(*zip(*points), marker="o", markersize=4, label=self.title(key),
                          color=self.color(key), linewidth=2.2 if key == "parparaw" else 1.4)
            decorate(axes, jobs)
            axes.set_title(jobs[0]["title"], fontsize=10, loc="left")
            axes.tick_params(labelsize=8)
            legend.update(zip(*reversed(axes.get_legend_handles_labels())))
        figure.legend(legend.values(), legend.keys(), loc="outside lower center",
                      ncols=len(legend), fontsize=8, frameon=False)
        figure.savefig(path, dpi=130)
        pyplot.close(figure)

    @staticmethod
    def throughput(job, key):
        return job["bytes"] / median(job["systems"][key]) / MB

    def plot_sizes(self, pyplot, path):
        def decorate(axes, jobs):
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            sizes = [job["size"] for job in jobs]
            axes.set_xticks(sizes, [str(size) for size in sizes])
            axes.minorticks_off()
            self.plain_logarithmic(axes.yaxis)
            axes.set_xlabel("file size, MiB", fontsize=8)
            axes.set_ylabel("MB/s, logarithmic", fontsize=8)

        self.plot_lines(pyplot, path, self.results["sizes"],
                        lambda job: job["size"], self.throughput, decorate)

    def plot_scaling(self, pyplot, path):
        def decorate(axes, jobs):
            counts = [job["participants"] for job in jobs]
            axes.plot(counts, [self.throughput(jobs[0], "parparaw") * n / counts[0]
                               for n in counts] if "parparaw" in self.answered(jobs[0])
                      else [None] * len(counts),
                      linestyle="--", color=IDEAL, linewidth=1, label="parparaw_fdw, ideal")
            axes.set_xticks(counts)
            axes.set_ylim(bottom=0)
            axes.set_xlabel("participants", fontsize=8)
            axes.set_ylabel("MB/s", fontsize=8)

        self.plot_lines(pyplot, path, self.results["scaling"],
                        lambda job: job["participants"], self.throughput, decorate)

    def plots(self, report):
        """Draws what there is to draw; answers names of files by plot."""
        if ticker is None:
            print("note: no plots, as there is no matplotlib")
            return {}
        matplotlib.use("Agg")
        from matplotlib import pyplot
        stem = os.path.splitext(report)[0]
        drawn = {}
        for name, draw in (("jobs", self.plot_jobs), ("scaling", self.plot_scaling),
                           ("sizes", self.plot_sizes)):
            if any(self.answered(job) for job in self.results[name]):
                path = "%s-%s.png" % (stem, name)
                draw(pyplot, path)
                drawn[name] = os.path.basename(path)
        return drawn


def main():
    source, report = sys.argv[1:]
    with open(source) as f:
        shown = Report(json.load(f))
    text = shown.text(shown.plots(report))
    with open(report, "w") as f:
        f.write(text)
    print("\n" + text)


if __name__ == "__main__":
    main()

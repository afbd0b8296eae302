#!/usr/bin/env python3
"""Planted faults: each is a small change of the pipeline's driver or of its
conversion, and a test has to notice it.

Works on a copy of the sources, of which one file is changed at a time.  Prints
what was missed; the last line is "planted: N passed, N failed".
"""
import argparse
import os
import shutil
import subprocess
import sys

# file, what stands there once, what is put there, test that has to fail
FAULTS = [
    ("paper_driver.cu", "!wait_for(s, s->work, t->uploaded) ||", "", "driver_test",
     "parsing does not wait for the text"),
    ("paper_driver.cu", " || !wait_for(s, s->in, s->carried)", "", "driver_test",
     "text overwrites a record that was not carried over yet"),
    ("paper_driver.cu", " || !wait_for(s, s->out, t->copy[2])", "", "pipeline_test",
     "the list leaves before it is made"),
    ("paper_driver.cu", "from->offset + from->result.next, rest,", "from->offset + from->result.next + 1, rest,",
     "driver_test", "the carry-over starts one byte late"),
    ("paper_driver.cu", "copy(s, t->input.p, s->rest.p, rest,", "copy(s, t->input.p, t->input.p + from, rest,",
     "driver_test", "the record that goes on is taken from where it may be no more"),
    ("paper_driver.cu", "if (cudaStreamSynchronize(s->in) == cudaSuccess &&", "if (cudaStreamSynchronize(s->in) != cudaSuccess &&", "driver_test",
     "a slot that is not used keeps its memory"),
    ("paper_driver.cu", "const uint32_t n = s->largest;", "const uint32_t n = UINT32_MAX;", "driver_test",
     "memory grows with the number of values"),
    ("paper_driver.cu", "job->last != next->last", "false", "driver_test",
     "whether more text follows is not compared"),
    ("paper_driver.cu", "	pp_buffer_release(&t->end);\n", "", "pipeline_test", "a buffer is kept"),
    ("paper_driver.cu", "!launched(s, pp_shift_run(", "false && !launched(s, pp_shift_run(", "pipeline_test",
     "field ends are counted from the wrong place"),
    ("paper_driver.cu", "t->job.peek_cr &&", "false &&", "pipeline_test",
     "the carriage return behind the text is not looked at"),
    ("paper_driver.cu", "t->result.terminator ? PP_TAG_VECTOR", "t->result.terminator > 1 ? PP_TAG_VECTOR", "pipeline_test",
     "a terminator in the data is taken for one"),
    ("paper_driver.cu", "	t->ndeferred = 0;\n", "", "pipeline_test", "values handed over add up"),
    ("paper_plan.cu", "part->padded +=", "part->padded += false &&", "pipeline_test", "too little room for padded values"),
    ("paper_column.cu", "if (!quoted && !null && scan->has_default", "if (!null && scan->has_default",
     "pipeline_test", "a quoted DEFAULT marker counts"),
    ("paper_column.cu", "(quoted ? PP_COL_FORCE_NULL : PP_COL_FORCE_NOT_NULL)", "PP_COL_FORCE_NOT_NULL",
     "pipeline_test", "FORCE_NULL is forgotten"),
    ("paper_column.cu", "if (work_bytes(col, n) <= job.scan->thread_bytes)",
     "if (work_bytes(col, n) < job.scan->thread_bytes)", "pipeline_test", "nobody converts some values"),
    ("paper_column.cu", "		shared.look.continued = shared.look.seen = 0;\n	__syncthreads();\n",
     "		shared.look.continued = shared.look.seen = 0;\n", "pipeline_test", "a barrier is missing"),
    ("paper_column.cu", "		may |= pass;\n", "", "pipeline_test", "what may pass is called known"),
    ("paper_column.cu", "k < PIECE && from + k < pad", "k < PIECE && from + k + 1 < pad", "pipeline_test", "a blank is missing"),
    ("paper_column.cu", "characters > (uint32_t) col.mod)", "n > (uint32_t) col.mod)", "pipeline_test",
     "characters are counted as bytes"),
]


def update(src, dst):
    """Copies what is new; whatever was changed here gets a new time."""
    with open(src, "rb") as f:
        text = f.read()
    if os.path.exists(dst):
        with open(dst, "rb") as f:
            if f.read() == text:
                return
    with open(dst, "wb") as f:
        f.write(text)
    shutil.copymode(src, dst)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--make", default="make")
    p.add_argument("--top", required=True, help="root of the sources")
    p.add_argument("--build", required=True)
    p.add_argument("--scale", default="10", help="of the pipeline's test, in percent")
    a = p.parse_args()

    tree = os.path.join(a.build, "tree")
    objects = os.path.join(a.build, "objects")
    for d in ("cuda", "src", "test/simt", "test/unit", "test/cuda"):
        shutil.copytree(os.path.join(a.top, d), os.path.join(tree, d), dirs_exist_ok=True,
                        copy_function=update, ignore=shutil.ignore_patterns("build", "*.o"))

    def build(test):
        return subprocess.run([a.make, "-s", "-C", os.path.join(tree, "test/cuda"), "BUILD=" + objects,
                               "ONLY=" + test, os.path.join(objects, "plain", test)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def fails(test):
        try:
            r = subprocess.run([os.path.join(objects, "plain", test), "-n", a.scale if test == "pipeline_test" else "100"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600)
        except subprocess.TimeoutExpired:
            return True
        return r.returncode != 0

    passed = failed = 0
    for test in sorted({f[3] for f in FAULTS}):
        r = build(test)
        if r.returncode != 0:
            sys.stdout.write(r.stdout.decode(errors="replace"))
            sys.exit("planted: cannot be built")
        if fails(test):
            print("planted: %s fails without a fault" % test)
            failed += 1
        else:
            passed += 1
    for name, old, new, test, what in FAULTS:
        path = os.path.join(tree, "cuda", name)
        with open(path) as f:
            text = f.read()
        if text.count(old) != 1:
            print("planted: %s: \"%s\" does not stand there once: %s" % (name, old.strip(), what))
            failed += 1
            continue
        with open(path, "w") as f:
            f.write(text.replace(old, new))
        r = build(test)
        if r.returncode != 0:
            print("planted: %s: does not compile: %s" % (name, what))
            failed += 1
        elif fails(test):
            passed += 1
        else:
            print("planted: %s: not noticed by %s: %s" % (name, test, what))
            failed += 1
        with open(path, "w") as f:
            f.write(text)
    print("planted: %d passed, %d failed" % (passed, failed))
    sys.exit(failed != 0)


main()

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
    ("driver.cu", "wait_for(s, s->work, t->uploaded) && ", "", "driver_test",
     "parsing does not wait for the text"),
    ("driver.cu", " || !wait_for(s, s->in, s->carried)", "", "driver_test",
     "text overwrites a record that was not carried over yet"),
    ("driver.cu", " && wait_for(s, s->out, t->copy[2])", "", "pipeline_test",
     "the list leaves before it is made"),
    ("driver.cu", "from->offset + from->result.next,\n", "from->offset + from->result.next + 1,\n",
     "driver_test", "the carry-over starts one byte late"),
    ("driver.cu", "copy(s, t->input.p, s->rest.p, rest,", "copy(s, t->input.p, t->input.p + from, rest,",
     "driver_test", "the record that goes on is taken from where it may be no more"),
    ("driver.cu", "if (cudaStreamSynchronize(s->in) == cudaSuccess &&", "if (cudaStreamSynchronize(s->in) != cudaSuccess &&", "driver_test",
     "a slot that is not used keeps its memory"),
    ("paper_driver.cu", "const uint32_t n = s->largest;", "const uint32_t n = UINT32_MAX;", "driver_test",
     "memory grows with the number of values"),
    ("driver.cu", "job->last != next->last", "false", "driver_test",
     "whether more text follows is not compared"),
    ("driver.cu", "	pp_buffer_release(&t->end);\n", "", "pipeline_test", "a buffer is kept"),
    ("driver.cu", "t->listed && t->job.begin > 0 &&", "false &&", "pipeline_test",
     "field ends are counted from the wrong place"),
    ("driver.cu", "t->job.peek_cr &&", "false &&", "pipeline_test",
     "the carriage return behind the text is not looked at"),
    ("paper_driver.cu", "t->result.terminator ? PP_TAG_VECTOR", "t->result.terminator > 1 ? PP_TAG_VECTOR", "pipeline_test",
     "a terminator in the data is taken for one"),
    ("driver.cu", "	t->ndeferred = 0;\n", "", "pipeline_test", "values handed over add up"),
    ("driver.cu", "		pp_buffer_retire(b);\n", "", "driver_test", "freeing memory waits for the device"),
    ("driver.cu", "		before->offset += before->result.next;\n", "", "driver_test",
     "the rest of a full batch starts where that one did"),
    ("driver.cu", "job->len - job->begin == before->n - before->result.next", "true", "driver_test",
     "any job is taken for the rest of a full batch"),
    ("memory.cu", "!list[i].retired && ", "", "driver_test", "memory that is still looked at is given away"),
    ("fused_driver.cu", "(uint64_t) s->largest * SELECT_MOST", "UINT64_C(16) * s->largest * SELECT_MOST", "driver_test",
     "memory grows with the number of values that filters look at"),
    ("fused_driver.cu", "	if (needs_more(s, t))\n		return pass(s, t);\n", "	(void) needs_more;\n", "driver_test",
     "values without room are handed over"),
    ("fused_driver.cu", "		const uint32_t r = t->selected[i];", "		const uint32_t r = i;", "driver_test",
     "selected values stay where they are"),
    ("fused_driver.cu", "			d->state[r] = state[(size_t) c * t->nselected + i];\n", "			d->state[r] = PP_VALUE;\n",
     "driver_test", "states of selected values are lost"),
    ("fused_driver.cu", "if (spec->nfilters == 0 || spec->naggregates > 0)", "if (spec->nfilters == 0)", "driver_test",
     "what is aggregated is not converted"),
    ("fused_driver.cu", "if (!t->with_end && !list_fields(s, t))", "if (false && !list_fields(s, t))", "pipeline_test",
     "where fields end is not found out"),
    ("fused_driver.cu", "reinterpret_cast<uintptr_t>(job->heap) - job->host_heap;", "0;", "pipeline_test",
     "filters look at the host's memory"),
    ("fused_driver.cu", "	t->selected = &NO_RECORD;\n", "", "pipeline_test", "no list is no restriction"),
    ("fused_driver.cu", "partial[s->spec->naggregates].count", "partial[0].count", "driver_test",
     "records are counted by another aggregate"),
    ("paper_plan.cu", "part->padded +=", "part->padded += false &&", "pipeline_test", "too little room for padded values"),
    ("field.h", "if (!quoted && !null && scan->has_default", "if (!null && scan->has_default",
     "pipeline_test", "a quoted DEFAULT marker counts"),
    ("field.h", "(quoted ? PP_COL_FORCE_NULL : PP_COL_FORCE_NOT_NULL)", "PP_COL_FORCE_NOT_NULL",
     "pipeline_test", "FORCE_NULL is forgotten"),
    ("paper_column.cu", "if (pp_work_bytes(col, n) <= job.scan->thread_bytes)",
     "if (pp_work_bytes(col, n) < job.scan->thread_bytes)", "pipeline_test", "nobody converts some values"),
    ("paper_column.cu", "		shared.look.continued = shared.look.seen = 0;\n	__syncthreads();\n",
     "		shared.look.continued = shared.look.seen = 0;\n", "pipeline_test", "a barrier is missing"),
    ("field.h", "			*may |= pass;\n", "", "pipeline_test", "what may pass is called known"),
    ("paper_column.cu", "k < PIECE && from + k < pad", "k < PIECE && from + k + 1 < pad", "pipeline_test", "a blank is missing"),
    ("field.h", "characters > (uint32_t) col.mod)", "n > (uint32_t) col.mod)", "pipeline_test",
     "characters are counted as bytes"),
    ("fused_convert.h", "*at = first + (up_to - room);", "*at = first;", "fused_convert_test", "a warp's values have one place"),
    ("fused_convert.h", "fits = pp_fused_reserve(job, room, &at) || room == 0;", "(void) pp_fused_reserve(job, room, &at);",
     "fused_convert_test", "values are written behind the heap"),
    ("fused_convert.h", "return first + up_to <= job.heap_room;", "return first + (up_to - room) < job.heap_room;",
     "fused_convert_test", "the last value does not fit as a whole"),
    ("fused_convert.h", "	f->start++;\n", "", "fused_convert_test", "a queued text starts with its quote"),
    ("fused_convert.h", "return pp_field_state(scan, col, f->s, f->n, f->quoted);",
     "return pp_field_state(scan, col, f->s, f->n, f->control);", "fused_convert_test", "quotes that were taken off are forgotten"),
    ("fused_convert.h", "	return k == len;\n", "	return true;\n", "fused_convert_test", "the beginning of a marker is one"),
    ("fused_convert.h", "if (q >= job.longs_room)", "if (q > job.longs_room)", "fused_convert_test", "the queue is longer than it is"),
    ("fused_convert.h", "entry < tile.nends && tile.record + k < job.room;", "entry < tile.nends;", "fused_convert_test",
     "records go where there is no room"),
    ("fused_convert.h", "(uint64_t) (f.n | (f.control ? PP_FIELD_CONTROL : 0)) << 32", "(uint64_t) f.n << 32",
     "fused_select_test", "quotes of late fields are kept"),
    ("fused_convert.h", "					bits &= ~(bit << 1);\n", "", "fused_convert_test", "an escaped escape escapes"),
    ("fused_convert.h", "			special &= ~1u;\n", "", "fused_convert_test", "an escape is forgotten at a step's end"),
    ("fused_long.cu", "to - from, to < job.n, before.quoting,\n									  before.content, dst",
     "to - from, to < job.n, PP_OUTSIDE,\n									  before.content, dst", "fused_convert_test", "a piece starts outside quotes"),
    ("fused_long.cu", "if (content + 2 == t.n && s[0] == quote", "if (content + 4 >= t.n && s[0] == quote",
     "fused_convert_test", "quotes in between are not removed"),
    ("fused_long.cu", "		look = add_lanes(look);\n", "", "fused_convert_test", "a lane's findings are taken for all"),
    ("fused_long.cu", "	job.state[i] = PP_DEFERRED;\n", "", "fused_convert_test", "a long value is nothing"),
    ("fused_long.cu", "k = words + 4 * lane;", "k = words + 8 * lane;", "fused_convert_test", "blanks are missing"),
    ("fused_long.cu", "if (e.value.column != PP_FUSED_NOTHING && text_of", "if (text_of", "fused_convert_test", "a place without a value is filled"),
    ("fused_long.cu", "longs_done = job.result->nlongs;", "longs_done = job.result->longs_done;", "fused_select_test", "long values are copied again"),
    ("fused_long.cu", "r < n; r += gridDim.x * THREADS)\n			count +=", "r < n / 2; r += gridDim.x * THREADS)\n			count +=",
     "fused_convert_test", "not all values are counted"),
    ("fused_select.cu", "(before + sum.low < before)", "(before == sum.low)", "fused_select_test", "a carry between blocks is lost"),
    ("fused_select.cu", "sum->high += high + (sum->low < low);", "sum->high += high;", "fused_select_test", "a carry is lost"),
    ("fused_select.cu", "(uint64_t) ((int64_t) v >> 63)", "0", "fused_select_test", "negative values are large ones"),
    ("fused_select.cu", " && !has_unknown(job, r)", "", "fused_select_test", "records with unknown values are taken"),
    ("fused_select.cu", "	__syncthreads();\n	if (threadIdx.x != 0)", "	if (threadIdx.x != 0)", "fused_select_test", "a barrier is missing"),
    ("fused_select.cu", "from = (size_t) c * room + selected[i];", "from = (size_t) c * room + selected[i] / 2;", "fused_select_test",
     "other records are given than those selected"),
    ("fused_select.cu", "? INT64_MAX : op", "? 0 : op", "fused_select_test", "a minimum starts at 0"),
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
    p.add_argument("--only", default="", help="faults in files with this in their name")
    a = p.parse_args()
    faults = [f for f in FAULTS if a.only in f[0]]

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
            r = subprocess.run([os.path.join(objects, "plain", test), "-n", "100" if test == "driver_test" else a.scale],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600)
        except subprocess.TimeoutExpired:
            return True
        return r.returncode != 0

    passed = failed = 0
    for test in sorted({f[3] for f in faults}):
        r = build(test)
        if r.returncode != 0:
            sys.stdout.write(r.stdout.decode(errors="replace"))
            sys.exit("planted: cannot be built")
        if fails(test):
            print("planted: %s fails without a fault" % test)
            failed += 1
        else:
            passed += 1
    for name, old, new, test, what in faults:
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

#!/usr/bin/env python3
"""Planted faults: each is a small change of a pipeline's driver, of its conversion,
or of what reads JSON, and a test has to notice it.

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
    ("driver.cu", "pp_frame_wait(s, s->work, t->came) && ", "", "driver_test",
     "parsing does not wait for the text"),
    ("scan_frame.cu", "!pp_frame_wait(s, s->in, s->carried) || ", "", "driver_test",
     "text overwrites a record that was not carried over yet"),
    ("driver.cu", " && pp_frame_mark_carried(s) &&\n", " &&\n", "driver_test", "text overwrites what a guess is made of"),
    ("scan_frame.cu", " && pp_frame_wait(s, s->out, t->copy[2])", "", "pipeline_test",
     "the list leaves before it is made"),
    ("driver.cu", "from->offset + from->result.next,\n", "from->offset + from->result.next + 1,\n",
     "driver_test", "the carry-over starts one byte late"),
    ("driver.cu", "copy(s, t->input.p, s->rest.p, rest,", "copy(s, t->input.p, t->input.p + from, rest,",
     "driver_test", "the record that goes on is taken from where it may be no more"),
    ("scan_frame.cu", "done = cudaStreamSynchronize(s->in) == cudaSuccess &&", "done = cudaStreamSynchronize(s->in) != cudaSuccess &&", "driver_test",
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
    ("fused_driver.cu", "	b->compact = t->filtered;\n", "", "driver_test",
     "selected values are looked for at their records' places"),
    ("fused_driver.cu", "length = t->filtered ? t->nselected : t->job.room;", "length = t->job.room;",
     "driver_test", "selected values are taken for those of all records"),
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
    ("fused_select.cu", "return b.record > a.record;", "return b.record < a.record;", "fused_select_test",
     "of equal values, the first one counts"),
    ("fused_select.cu", " && !has_unfit(job, aggregate, naggregates, r)", "", "fused_select_test", "numerics lose digits"),
    ("fused_select.cu", "	if (x == 0)\n		return 0;\n", "", "fused_select_test", "zeros are ranked by their signs"),
    ("fused_select.cu", "	if (job.result->some_left == 0)\n", "	if (job.result->some_left < 2)\n", "fused_select_test",
     "some of the records that are ranked are left"),
    ("fused_select.cu", "v.high = ~v.high + (v.low == 0);", "v.high = ~v.high;", "fused_select_test",
     "a carry of negative numerics is lost"),
    ("fused_select.cu", "			atomicMax(&out->scale, scale);\n", "			out->scale = scale;\n", "fused_select_test",
     "a sum has the last block's display scale"),
    ("fused_driver.cu", "SHORT_PARTS : 1)", "1 : 1) / 2", "driver_test", "a first text is passed over twice"),
    ("fused_select.cu", "? INT64_MAX : op", "? 0 : op", "fused_select_test", "a minimum starts at 0"),
    ("json_records.cu", "				kept &= ~(left & (0u - left));\n", "", "json_device_test", "a blank line is a record"),
    ("json_records.cu", "	return least == 0;\n", "	return true;\n", "json_device_test", "a line that ends in much white space is blank"),
    ("json_records.cu", "SUMMED | (before + own)", "SUMMED | own", "json_device_test", "records are counted from the tile in front"),
    ("json_records.cu", "last = 31 - (uint32_t) __clz((int) lanes);", "last = (uint32_t) __ffs((int) lanes) - 1;",
     "json_device_test", "a tile's first record begins at another one"),
    ("json_records.cu", "job.last ? '\\n' : ' '", "' '", "json_device_test",
     "the last line has to have an end"),
    ("json_documents.cu", "*escaping = (codes & backslash) >> 15;", "*escaping = 0;", "json_device_test",
     "an escape ends with its 16 bytes"),
    ("json_documents.cu", "	x ^= x << 8;\n", "", "json_device_test", "half a string is outside"),
    ("json_documents.cu", "return r | pack(ESCAPED, stop_of(r, INSIDE), delta_of(r, INSIDE));",
     "return r | pack(ESCAPED, stop_of(r, OUTSIDE), delta_of(r, OUTSIDE));", "json_device_test",
     "behind a backslash, strings are over"),
    ("json_documents.cu", "delta_of(a, s) + delta_of(b, middle)", "delta_of(b, middle)", "json_device_test",
     "the depth starts anew in each stretch"),
    ("json_documents.cu", "separates = level == 1 && depth == 1;", "separates = level == 1 && depth <= 2;", "json_device_test",
     "commas within records separate them"),
    ("json_documents.cu", "(job.level == 1 && text[separator - base] == '}') ||", "", "json_device_test",
     "an array ends with a brace"),
    ("json_documents.cu", "16 * (mine + k) + 32 -", "16 * (mine + k) + 31 -", "json_device_test",
     "a tile's first record begins with what separates it"),
    ("json_walk.h", "depth >= job.max_depth", "depth > job.max_depth", "json_device_test", "one level too many"),
    ("json_walk.h", "other[at] == key[at]", "(other[at] | key[at]) != 0", "json_device_test",
     "eight bytes of a key are enough"),
    ("json_walk.h", "nodes.node[i].head == head && nodes.node[i].key_len == len", "nodes.node[i].head == head", "json_device_test",
     "the beginning of a key is one"),
    ("json_walk.h", "					pp_json_clear(p, nodes.node[node].below, nodes.node[node].nbelow);\n",
     "					pp_json_clear(p, 0, 0);\n", "json_device_test", "of equal keys, all count"),
    ("json_walk.h", "(first & 31));", "((first + 1) & 31));", "json_device_test", "of equal keys, those beside each other do not count"),
    ("json_walk.h", "		if ((p.seen >> i & 1) == 0)\n", "		if ((p.seen >> i & 1) == 0 && i > 0)\n", "json_device_test",
     "what an earlier record had stays"),
    ("json_walk.h", "	if (s[pos] == '0')\n", "	if (false)\n", "json_device_test", "numbers begin with zeros"),
    ("json_walk.h", "v > 0xffff || v == 0 ||", "v > 0xffff ||", "json_device_test", "a zero byte is a character"),
    ("json_walk.h", "if (c < ' ')", "if (c < '\\t')", "json_device_test", "control characters in strings"),
    ("json_walk.h", "(objects & 1) != (c == '}')", "false", "json_device_test", "any bracket ends a container"),
    ("json_walk.h", "!(open || next == PP_JSON_NEXT_COMMA)", "(next == PP_JSON_NEXT_COLON && !open)", "json_device_test", "containers end with a comma"),
    ("json_walk.h", "if (k == 0)\n				return 0;\n			pos += k;", "pos += k + (k == 0);", "json_device_test",
     "any bytes are UTF-8"),
    ("json_walk.h", "index = nodes.node[around].index;", "index = 0;", "json_device_test", "an outer array's elements are counted anew"),
    ("json_column.cu", "return first + sum - room;", "return first;", "json_device_test", "a warp's texts have one place"),
    ("json_column.cu", "value + room > c.job.heap_room", "value > c.job.heap_room", "json_device_test",
     "values are written behind the heap"),
    ("json_column.cu", "**raw == 'n' && !column.whole", "**raw == 'n'", "json_device_test", "a record that is null is NULL"),
    ("json_batch.cu", "range[i].start += end == 0 ? 0 : t->moved;", "", "json_device_test", "places of a guess stay as they were"),
    ("json_text.cu", " && pp_frame_wait(s, s->work, to->came);", ";", "json_driver_test", "kernels do not wait for the text"),
    ("json_text.cu", "pp_stage(&t->clock, PP_STAGE_H2D, s->work);\n	return pp_frame_launched(s, cudaMemsetAsync(t->input.p + (from - t->blanks), ' ', t->blanks, s->work));",
     "return s != nullptr;", "json_device_test", "what stands in front of a text belongs to it"),
    ("scan_frame.cu", " && pp_frame_wait(s, s->out, t->copy[2])", "", "json_driver_test", "columns leave before they are made"),
    ("json_steps.cu", "constexpr uint64_t PLACES = 6;", "constexpr uint64_t PLACES = 24;", "json_driver_test", "places take too much memory"),
    ("json_steps.cu", "	if (t->nrecords == 0 && !t->adopted)\n", "	if (false)\n", "json_device_test", "the CPU gets what is but a guess"),
    ("json_driver.cu", "		if (!can_guess(s, t, ahead, &rest, &place))", "		if (!can_guess(s, t, ahead, &rest, &place) || s != nullptr)", "json_driver_test", "nothing is begun ahead"),
    ("json_driver.cu", "			t->first = t->moved = job->begin;\n", "			t->first = job->begin;\n", "json_device_test",
     "a guess counts from 0"),
    ("join_lftj_walk.cu", "s.limit(what) = s.cursor(what) + (s.limit(what) - s.cursor(what)) / 2;", "s.limit(what) += 0;",
     "join_lftj_test", "what another lane has taken is done twice"),
    ("join_lftj_walk.cu", "		if (lane == from)\n			pp_count_multiply(", "		pp_count_multiply(",
     "join_lftj_test", "what a warp has counted goes to every lane"),
    ("join_lftj_walk.cu", "		tile[FROM] = min(all, to);", "		tile[FROM] = all > 0 ? to : all;",
     "join_lftj_test", "what idle lanes leave of a tile is nobody's"),
    ("join_lftj_walk.cu", "		w.s.key()++;\n", "		w.s.key() += 0;\n",
     "join_lftj_test", "what a lane counts beyond 64 bits is lost"),
    ("join_lftj_walk.cu", "		s.left() = left - part;\n", "",
     "join_lftj_test", "copies beyond what an answer takes are lost"),
    ("join_lftj_walk.cu", "(uint32_t) min(left, (uint64_t) job.round.part);", "1;",
     "join_lftj_test", "every copy is an answer of its own"),
    ("join_lftj_walk.cu", "round.left[at] - 1 - (row - round.before[at]);", "round.left[at] - 1;",
     "join_lftj_test", "all copies of an answer have the same rows"),
    ("join_lftj_walk.cu", "if (round.before[(size_t) middle * walkers + w] <= row)",
     "if (round.before[(size_t) middle * walkers + w] < row)",
     "join_lftj_test", "the first row of an answer is of the one in front"),
    ("join_lftj_rows.cu", "	r->most = ROUND_ANSWERS / walkers;\n", "	r->most = 0;\n",
     "join_lftj_test", "few walkers have as few answers in a round as many have"),
    ("join_lftj_stack.h", "again |= other.op == PP_JOIN_NE && s.value(other.level) == v;", "again |= other.op > v + 9;",
     "join_lftj_test", "a value that two comparisons leave out is left out twice"),
    ("join_lftj_fixed.cu", "		a.from += (uint32_t) (all * slice / nslices);\n", "",
     "join_lftj_test", "slices of a long list overlap"),
    ("join_upload.cu", "return u->taken - u->freed < u->nslots;", "return u->taken - u->freed <= u->nslots;",
     "join_build_test", "a piece is filled that the device still reads"),
    ("join_upload.cu", "u->sent < u->taken && slot_of(u, u->sent)->filled)", "u->sent < u->taken)",
     "join_build_test", "a piece is sent that is still being filled"),
    ("join_upload.cu", "	u->taken = u->sent;", "	u->stop = true;", "join_build_test",
     "what was filled with narrow keys is sent for wide ones"),
    ("join_upload.cu", "u->sent != u->unfit && ", "", "join_build_test", "keys that are not narrow are sent"),
    ("join_upload.cu", "	pp_upload_end(u);\n	if", "	if", "join_build_test", "threads are left when an upload fails"),
    ("join_upload.cu", "const uint64_t from = u->told;", "const uint64_t from = u->nsent;", "join_build_test",
     "nobody is told of rows that arrive"),
    ("join_frontier.cu", "more = job.x.right != nullptr && to.right < job.x.right[to.entries];", "more = false;",
     "join_optimized_test", "the right item behind a tile is not looked at"),
    ("join_frontier.cu", "lv.weight != nullptr && (MODE != PP_TO_KEYS || job.key != PP_KEY_ENTRY) ?", "lv.weight != nullptr ?",
     "join_optimized_test", "an entry's weight comes in twice"),
    ("join_optimized.cu", "	f->next += done;\n", "	f->next += n;\n", "join_optimized_test",
     "tiles that found no room are forgotten"),
    ("join_answers.cu", "		e = cudaStreamWaitEvent(j->out, b->ready, 0);\n", "		e = cudaSuccess;\n", "join_test",
     "rows come back before they are there"),
    ("join_boxes.cu", "= b->number[b->place[a]][", "= b->number[b->place[0]][", "join_boxes_test",
     "rows of boxes are numbered as the first atom's"),
    ("join_boxes.cu", "		b->join->idle = prepare;\n", "", "join_boxes_test",
     "the next box is prepared when the device is done"),
    ("join_ahead.cu", "e = cudaEventRecord(slot->begin, a->stream);", "e = cudaDeviceSynchronize();", "join_boxes_test",
     "uploads wait for kernels"),
    ("join_ahead.cu", "	if (slot->sent)\n	{\n		const cudaError_t e", "	if (slot->sent && a->used > SIZE_MAX - 1)\n	{\n		const cudaError_t e",
     "join_boxes_test", "pinned memory is filled before it was sent"),
    ("join_ahead.cu", "	a->used = 0;\n	a->filled = 0;\n", "	a->filled = 0;\n", "join_boxes_test", "places are never free again"),
    ("join_boxes.cu", "	drop_inputs(b);\n	pp_ahead_close(&b->ahead);\n	b->boxes", "	pp_ahead_close(&b->ahead);\n	b->boxes", "join_boxes_test",
     "rows that were sent ahead for a box that was dropped are used"),
    ("join_relation.cu", "	e = cudaEventRecord(relation->appended, stream);\n	if (e != cudaSuccess)\n		pp_fail_call(\"rows on",
     "	e = stream == nullptr ? cudaErrorUnknown : cudaSuccess;\n	if (e != cudaSuccess)\n		pp_fail_call(\"rows on",
     "join_boxes_test", "a build does not wait for rows on their way"),
    ("join_sort.h", "	if (n <= PP_SORT_FEW)\n", "	if (n < UINT64_MAX)\n", "join_boxes_test",
     "nobody is asked while groups are sorted"),
    ("join_boxes.cu", "	*total *= b->one_way.factor;\n", "", "join_boxes_test",
     "cliques of boxes count once, in whatever ways they do"),
    ("join_cells.cu", "*same = n == 0 || memcmp(", "*same = a->start == nullptr || n == 0 || 0 * memcmp(", "join_boxes_test",
     "as many rows up as down are taken for the same ones"),
    ("join_one_way.cu", "	if (f->equal > 0 && !distinct)\n", "	if (f->nkeys == UINT64_MAX)\n", "join_boxes_test",
     "loops are left out of cliques where they are answers"),
    ("join_driver.cu", "		if (status == PP_JOIN_NO_FIT && j->automatic)\n", "		if (status == PP_JOIN_NO_FIT && j->none)\n",
     "join_boxes_test", "what does not fit by degree is cut into boxes"),
    ("join_optimized.cu", "	w->tile = std::min(w->tile, room);\n	tiles", "	tiles", "join_optimized_test",
     "a tile has more entries than the frontier it is for"),
    ("join_cells.cu", "part << (cells->bits - bits)", "part", "join_boxes_test", "a box's cells are looked for in another place"),
    ("join_degree_build.cu", "found.duplicates > 0 || ", "", "join_degree_test",
     "two rows of an edge are taken for its two directions"),
    ("join_degree_clique.cu", "				ended &= sh.state.warp_second[w] == NONE;\n", "				ended &= w < WARPS;\n",
     "join_degree_test", "what a warp has in hand at the end of a launch is forgotten"),
    ("join_degree.cu", "list[root.at + root.part_end - 1] + 1", "list[root.at + root.part_end - 1]",
     "join_degree_test", "the last entry of a part is not looked for"),
    ("join_degree_mixed.cu", "	*overflow |= sum.high != 0 || *n < sum.low;\n", "	*overflow |= *n < sum.low;\n", "join_degree_test",
     "a product beyond 64 bits is cut off"),
    ("join_degree_mixed.cu", "order = a.x >> 31 | b.x >> 31 << 1 | c.x >> 31 << 2;", "order = 7;", "join_degree_test",
     "comparisons are those of degrees"),
    ("join_degree_mixed.cu", "					if (edges.u[last] != edges.u[which])\n", "					if (last > which)\n",
     "join_degree_test", "what one vertex counts goes to another"),
    ("join_degree_build.cu", "			atomicAdd(&rows[2 * (uint64_t) entry], PP_KEY_LESS);\n",
     "			atomicAdd(&rows[2 * (uint64_t) entry + 1], PP_KEY_LESS);\n", "join_degree_test",
     "the mark of an edge is a number of rows"),
    ("join_degree_mixed.cu", "mixed.ways.one * loops);", "loops);", "join_degree_test",
     "loops count where comparisons leave them out"),
    ("join_degree_maps.cu", "(a == high) ? rows.x : rows.y;", "(a != high) ? rows.x : rows.y;", "join_degree_test",
     "rows of an edge are those of its other direction"),
    ("join_degree_maps.cu", "					word &= ~(1u << n % 32);\n", "					word &= ~0u;\n", "join_degree_test",
     "a map is counted by each variable that is its root"),
    ("join_degree_maps.cu", "? ~(less | same) : 0));", "? ~less : 0));", "join_degree_test",
     "the same key is taken for a greater one"),
    ("join_degree_maps.cu", "	pp_count_multiply(product, by, &overflow);\n", "	*product *= by;\n", "join_degree_test",
     "a product of rows beyond 64 bits is cut off"),
    ("join_degree_maps.cu", "		if (sum.high != 0)\n", "		if (sum.high == UINT64_MAX)\n", "join_degree_test",
     "a group beyond 64 bits is cut off"),
    ("join_degree_maps.cu", "		may_meet |= __any_sync(PP_JOIN_LANES, looped != 0);\n", "		(void) looped;\n", "join_degree_test",
     "variables that may become the same later are left out"),
    ("join_degree_maps.cu", "		if (state.turn != state.end)\n", "		if (state.turn > state.end)\n", "join_degree_test",
     "a turn that was begun is forgotten"),
    ("join_degree_build.cu", "	d->maps.alike &= !symmetric || found.unbalanced == 0;\n", "	(void) symmetric;\n", "join_degree_test",
     "an edge's directions are taken to have as many rows"),
]

# of tests that need more random cases than others to notice everything
SCALES = {"driver_test": "100", "join_build_test": "50", "json_driver_test": "30", "join_lftj_test": "100", "join_test": "25",
          "join_boxes_test": "30"}


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
    p.add_argument("--only", default="", help="faults in files, or of a kind, with this in their name")
    a = p.parse_args()
    faults = [f for f in FAULTS if a.only in f[0] + ": " + f[4]]

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
            r = subprocess.run([os.path.join(objects, "plain", test), "-n", SCALES.get(test, a.scale)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=400)
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

#!/usr/bin/env python3
"""test/unit/mutate.py: plants bugs and checks that the unit tests notice them.

The engine's sources are copied to a folder of their own; there, one line at a
time is changed as a slip of the pen might, and the named tests are built and
run.  A change that no test notices is a failure, and so is a change whose line
is no longer in the source or whose result does not compile: then this list
has to be brought up to date.  The sources themselves are never touched.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time

# file, the text to be changed (once in the file), what it becomes, the tests
# that have to notice
MUTATIONS = [
    # transition vectors
    ("parse/dfa.h", "return (uint32_t) (v >> (4 * state)) & 15u;",
     "return (uint32_t) (v >> (4 * state)) & 7u;", "dfa_test"),
    ("parse/dfa.h", "pp_vec_apply(b, pp_vec_apply(a, s)) << (4 * s)",
     "pp_vec_apply(a, pp_vec_apply(b, s)) << (4 * s)", "dfa_test"),
    ("parse/dfa.h", "		acc = pp_vec_compose(acc, own);",
     "		acc = pp_vec_compose(own, acc);", "dfa_test"),
    ("parse/dfa.h", "		v[i] = acc;", "		v[i] = pp_vec_compose(acc, own);", "dfa_test"),
    ("parse/dfa.h", "	if (!b.absolute)", "	if (b.absolute)", "dfa_test"),
    ("parse/dfa.h", "r.absolute = a.absolute;", "r.absolute = 0;", "dfa_test"),
    ("parse/dfa.c", "			if (dfa->row[g] == row)",
     "			if ((uint32_t) dfa->row[g] == (uint32_t) row)", "dfa_test"),

    # dialects
    ("parse/dialect.c", "if (state >= S_DATA_END)", "if (state > S_DATA_END)",
     "dialect_test scalar_test"),
    ("parse/dialect.c", "			if (c == d->delimiter)\n				return to(S_PLAIN, PP_EMIT_FIELD);",
     "			if (c == d->delimiter)\n				return to(S_START, PP_EMIT_FIELD);", "dialect_test"),
    ("parse/dialect.c", "			if (d->escape != d->quote && c == d->escape)\n				return to(S_ESCAPE, 0);",
     "			if (d->escape == d->quote && c == d->escape)\n				return to(S_ESCAPE, 0);", "dialect_test"),
    ("parse/dialect.c", "return eol == PP_EOL_NL ? to(S_START, PP_EMIT_RECORD) : to(S_BAD_NL, 0);",
     "return eol != PP_EOL_CR ? to(S_START, PP_EMIT_RECORD) : to(S_BAD_NL, 0);", "dialect_test"),
    ("parse/dialect.c", "return c == '\\n' ? to(S_START, PP_EMIT_RECORD) : to(S_BAD_CR, 0);",
     "return c == '\\n' ? to(S_START, PP_EMIT_RECORD) : to(S_PLAIN, 0);", "dialect_test"),
    ("parse/dialect.c", "		dfa->end[S_MARK3] = dfa->end[mark3];",
     "		dfa->end[S_MARK3] = PP_END_ACCEPT;", "dialect_test"),
    ("parse/dialect.c", "				dfa->step[S_MARK3]['\\r'] = to(S_BAD_MARKER, 0);", "",
     "dialect_test"),
    ("parse/dialect.c", "		if (in_quote && d->escape != d->quote && c == d->escape)\n			escaped = !escaped;",
     "		if (d->escape != d->quote && c == d->escape)\n			escaped = !escaped;", "dialect_test"),
    ("parse/dialect.c", "		if (c == '\\r' && i + 1 == len && !last)\n			break;", "", "dialect_test"),
    ("parse/dialect.c", "				search->quoted_nl++;", "				search->quoted_cr++;",
     "dialect_test"),
    ("parse/dialect.c", "field->unterminated = in_quote;", "field->unterminated = field->quoted;",
     "dialect_test"),
    ("parse/dialect.h", "(src[i + 1] == escape || src[i + 1] == quote))\n			*out++",
     "(src[i + 1] == escape))\n			*out++", "dialect_test"),

    # the CPU backend
    ("parse/cpu/structure.c", "		field_end -= s->spec->dfa.eol_len - 1;",
     "		field_end -= s->spec->dfa.eol_len;", "scalar_test"),
    ("parse/cpu/structure.c", "(s->spec->nfields == 0 && field_end != s->record)",
     "(s->spec->nfields == 0 && field_end == s->record)", "scalar_test"),
    ("parse/cpu/structure.c", "		s->batch.bad_next = pos + 1;\n		return false;",
     "		s->batch.bad_next = pos;\n		return false;", "scalar_test"),
    ("parse/cpu/structure.c", "	if (s->nrecords == s->spec->max_records)",
     "	if (s->nrecords > s->spec->max_records)", "scalar_test"),
    ("parse/cpu/structure.c", "	PpColumnOffset column = {0, s->nfields};",
     "	PpColumnOffset column = {0, 0};", "scalar_test"),
    ("parse/cpu/structure.c", "		column = pp_column_combine(column, own);",
     "		column = own;", "scalar_test"),
    ("parse/cpu/structure.c", "		s->resume_nfields = s->nfields;", "		s->resume_nfields = 0;",
     "scalar_test"),
    ("parse/cpu/backend.c", "			s->end[i] = s->resume_end[i] + s->record;",
     "			s->end[i] = s->resume_end[i];", "scalar_test"),
    ("parse/cpu/backend.c", "		s->quotes = s->resume_quotes;", "", "scalar_test"),
    ("parse/cpu/convert.c", "	s->batch.ndeferred += !done;", "	s->batch.ndeferred += done;",
     "scalar_test"),
    ("parse/cpu/convert.c", "		if (!(c->col.flags & PP_COL_FORCE_NOT_NULL))",
     "		if (!(c->col.flags & PP_COL_FORCE_NULL))", "scalar_test"),
    ("parse/cpu/convert.c", "			pass = op == PP_OP_IS_NULL;", "			pass = op != PP_OP_IS_NULL;",
     "scalar_test"),
    ("parse/cpu/convert.c", "			s->batch.unknown |= pass;", "", "scalar_test"),
    ("parse/filter.h", "			return pp_filter_compare(f, compare, value) <= 0;",
     "			return pp_filter_compare(f, compare, value) < 0;", "filter_test"),
    ("parse/filter.h", "	if (a.weight != b.weight)\n		return (a.weight < b.weight) == (a.sign > 0) ? -1 : 1;",
     "	if (a.weight != b.weight)\n		return a.weight < b.weight ? -1 : 1;", "filter_test"),

    # kernels
    ("parse/cpu/kernel_impl.h", "		in_quote = (uint64_t) ((int64_t) inside >> 63);\n		at_start",
     "		at_start", "kernel_test scalar_test"),
    ("parse/cpu/kernel_impl.h", "		at_start = line >> 63;", "		at_start = 0;",
     "scalar_test"),
    ("parse/cpu/kernel_impl.h", "			unusual = nl ^ ((cr << 1) | behind_cr);",
     "			unusual = nl & ~((cr << 1) | behind_cr);", "scalar_test"),
    ("parse/cpu/kernel_impl.h", "		closed = closing >> 63;", "		closed = 0;", "kernel_test"),
    ("parse/cpu/kernel_impl.h", "	*taken = *active >> 63;", "	*taken = 0;", "kernel_test"),
    ("parse/cpu/kernel_impl.h", "				m &= ~(bit << 1);", "", "kernel_test"),
    ("parse/cpu/kernel_impl.h", "	pos -= (uint32_t) taken;", "", "kernel_test scalar_test"),
    ("parse/cpu/kernel_impl.h", "		either >>= 1;", "", "kernel_test"),
    ("parse/cpu/kernel_impl.h", "(src[i + 64] == quote || src[i + 64] == escape)",
     "src[i + 64] == quote", "kernel_test"),
    ("parse/cpu/kernel_impl.h", "					wrong = vector_or(wrong, vector_minus(before, whole));",
     "					(void) whole;", "kernel_test"),
    ("parse/cpu/simd_list.h", "keep &= ~UINT64_C(0) << (from + len);", "keep &= keep - 1;",
     "kernel_test"),
    ("parse/cpu/simd_values.h", "~nonzero_bytes(wrong | points)", "~nonzero_bytes(wrong | (points & 1))",
     "kernel_test"),
    ("parse/cpu/simd_values.h", "[16] = 1e3", "[16] = 1e4", "kernel_test"),
    ("parse/cpu/simd_values.h", "lanes_above32(day, last)", "lanes_above32(day, lanes_set64(31))",
     "kernel_test"),
    ("parse/cpu/simd_values.h", "lanes_set64(979)", "lanes_set64(978)", "kernel_test"),
    ("parse/cpu/kernel_impl.h", "if (c >= 0xc0 && (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) > back)",
     "if (c >= 0xc0 && (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) > back + 1)", "kernel_test"),

    # verification
    ("parse/utf8.h", "		uint8_t		high = c == 0xed ? 0x9f : 0xbf;",
     "		uint8_t		high = 0xbf;", "utf8_test"),
    ("parse/utf8.h", "	if (c < 0xc2)\n		return 0;", "	if (c < 0xc1)\n		return 0;",
     "utf8_test"),
    ("parse/utf8.h", "	if (c < 0xf5)", "	if (c < 0xf6)", "utf8_test"),
    ("parse/utf8.h", "		return c != 0;", "		return 1;", "utf8_test"),

    # streams
    ("parse/stream.c", "		return s->valid - 1;\n	return s->valid;", "		return s->valid;\n	return s->valid;",
     "stream_test"),
    ("parse/stream.c", "	uint8_t		c = s->in_first ? '\\r' : s->line_char;",
     "	uint8_t		c = s->line_char;", "stream_test"),
    ("parse/stream.c", "			s->lines += s->search.quoted_cr - s->search.quoted_nl;",
     "			s->lines -= s->search.quoted_nl;", "stream_test"),
    ("parse/stream.c", "		pp_stream_settle_lines(s);\n		memmove(", "		memmove(", "stream_test"),
    ("parse/stream.c", "		s->filled -= s->begin;\n		s->begin = 0;", "		s->begin = 0;",
     "stream_test"),
    ("parse/stream.c", "			s->invalid = left >= 4 ||", "			s->invalid = left >= 3 ||",
     "stream_test"),
    ("parse/stream.c", "	s->raw_pos += consumed;\n	left = s->raw_len - s->raw_pos;",
     "	s->raw_pos += consumed;\n	left = s->raw_len - consumed;", "stream_test"),
    ("parse/stream.c", "	return !s->search.at_marker && (s->search.found || !s->spec.header);",
     "	return !s->search.at_marker && s->search.found;", "stream_test"),
    ("parse/stream.c", "	job.last = is_last(s);", "	job.last = s->eof;", "stream_test"),
    ("parse/stream.c", "	job.peek_cr = limit < s->valid;", "	job.peek_cr = false;", "stream_test"),
    ("parse/stream.c", "		s->spec.backend->release(s->scan);\n", "", "stream_test"),
    ("parse/stream.c", "	a.release(a.ctx, s->raw);\n", "", "stream_test"),
    ("parse/stream.c", "		s->valid -= s->begin;\n", "", "stream_test"),
    ("parse/stream_ahead.c", "	s->ahead = s->ahead_valid = PP_HEADROOM - tail;",
     "	s->ahead = s->ahead_valid = PP_HEADROOM;", "stream_test"),
    ("parse/stream_ahead.c", "	if (rest > s->ahead)", "	if (rest > s->ahead + 1)", "stream_test"),
    ("parse/stream_ahead.c", "	memcpy(s->spare + s->ahead - rest, s->text + s->begin, rest);\n", "",
     "stream_test"),
    ("parse/stream_ahead.c", "		limit--;\n	(void) s->spec.backend->ahead",
     "		limit -= 0;\n	(void) s->spec.backend->ahead", "stream_test"),
    ("parse/stream.c", "	s->phase = s->retry;", "	s->phase = PHASE_PARSE;", "stream_test"),

    # ranges
    ("parse/range.c", "	if (state == PP_ESCAPED && n > 0)", "	if (state == PP_ESCAPED && n > 1)",
     "range_test"),
    ("parse/range.c", "		if (escape < quote)", "		if (escape <= quote)", "range_test"),
    ("parse/range.c", "			if (p > end)\n				return PP_ESCAPED;", "", "range_test"),
    ("parse/range.c", "		(state == PP_OUTSIDE ? PP_INSIDE : PP_OUTSIDE) : state;",
     "		(state == PP_OUTSIDE ? PP_INSIDE : PP_OUTSIDE) : PP_OUTSIDE;", "range_test"),
    ("parse/range.c", "	if ((quotes & 1) && d->escape == d->quote)", "	if (quotes && d->escape == d->quote)", "range_test"),
    ("parse/range.c", "		*state = PP_INSIDE;		/* it is neither quote nor escape */\n", "",
     "range_test"),
    ("parse/stream_range.c", "		(s->effect.marker || (s->stop < s->filled && s->text[s->stop] == '\\\\')) &&\n",
     "		s->effect.marker &&\n", "range_test"),
    ("parse/cpu/kernel_impl.h", "		found |= block_eq(block, c);", "		found = block_eq(block, c);",
     "kernel_test"),
    ("parse/range.c", "	size_t		stop = n + 1 < avail ? n + 1 : avail;",
     "	size_t		stop = n < avail ? n : avail;", "range_test"),
    ("parse/range.c", "		if (state == PP_OUTSIDE)\n			return true;\n	}",
     "		return true;\n	}", "range_test"),
    ("parse/stream_range.c", "	if (s->filled < s->stop + PP_RANGE_AHEAD && !s->eof)",
     "	if (s->filled < s->stop && !s->eof)", "range_test"),
    ("parse/stream_range.c", "	s->lines += pp_stream_count_lines(s, s->text, begin, s->line_char);\n", "", "range_test"),
    ("parse/stream_range.c", "	limit = s->cut + (cr ? PP_RANGE_AHEAD : 0);", "	limit = s->cut;", "range_test"),
    ("parse/stream.c", "							  (s->bounded && s->valid < s->cut)));", "							  false));",
     "range_test"),
    ("parse/stream.c", "	if (s->cut > 0 && limit > s->cut)\n		limit = s->cut;\n", "", "range_test"),
    ("parse/stream_range.c", "	s->cut_state = pp_range_apply(&s->effect, *state);",
     "	s->cut_state = *state;", "range_test"),
    ("parse/stream_range.c", "	if (!s->in_first && s->line_char == '\\n')\n		s->lines +=",
     "	if (s->line_char == '\\n')\n		s->lines +=", "range_test"),
    ("parse/stream.c", "(s->batch->stop == PP_STOP_MORE || s->batch->stop == PP_STOP_FULL) &&\n			s->batch->next < s->parsed;", "false;",
     "range_test"),
    ("parse/stream.c", "		s->base += s->begin;\n", "", "range_test"),
    ("parse/stream.c", "		s->cut_looked -= s->begin;\n", "", "range_test"),
    ("parse/stream_range.c", "	*offset = s->base + at;", "	*offset = s->base + s->begin;", "range_test"),
    # JSON
    ("parse/stream.c", "		s->spec.json.bom = false;\n", "", "json_stream_test"),
    ("parse/stream.c", "	if (end > b->bad_end && s->text[end - 1] == '\\n')\n		end--;\n", "", "json_stream_test"),
    ("parse/stream.c", "	s->record.fault.offset -= begin;\n", "", "json_stream_test"),
    ("parse/stream.c", "		s->in_first = false;\n		s->searched = true;\n", "		s->searched = true;\n", "json_stream_test"),
    ("parse/stream.c", "s->spec.json.bom = pp_stream_is_json(s) &&", "s->spec.json.bom = false &&", "json_stream_test"),
    ("parse/stream_range.c", "		begin = 3;\n", "		begin = 2;\n", "json_stream_test"),
    ("parse/stream_range.c", "	s->effect.lines += pp_stream_count_lines(s, s->text + s->looked, left, '\\n');", "	;", "json_stream_test"),

    # documents
    ("parse/stream_private.h", "	if (here == 0)\n		return column + n;", "	if (here == 0)\n		return column;", "json_document_test"),
    ("parse/stream.c", "		s->enter = true;\n	}\n	if (s->enter && s->spec.documents)",
     "	}\n	if (s->enter && s->spec.documents)", "json_document_test"),
    ("parse/stream_range.c", "		state->behind = s->text[at - 1];\n", "", "json_document_test"),
    ("parse/stream_range.c", "		state->depth = state->array;\n", "		state->depth = 1;\n", "json_document_test"),
    ("parse/stream.c", "s->begin < s->stop ? s->begin : s->stop;", "s->begin;", "json_document_test"),
    ("parse/stream_range.c", "end > start ? (size_t) (end - start) : 0;", "(size_t) (end - start);", "json_document_test"),
    ("parse/stream.c", "			s->cut = 0;\n			s->phase = PHASE_PARSE;\n			return PP_STEP_AGAIN;",
     "			return pp_stream_fail(s, \"misled\");", "json_document_test"),
    ("parse/range.c", "effect->lines > 0 ? effect->tail : state.column + effect->tail",
     "effect->tail", "json_document_test"),
    ("parse/json/json_range.c", "	if (a->depth + b->lowest <= a->lowest)", "	if (a->depth + b->lowest < a->lowest)", "json_range_test"),
    ("parse/json/json_range.c", "		state.array = w->opened == '[';\n", "", "json_range_test"),
    ("parse/json/json_range.c", "text[0] == '\"' ? PP_OUTSIDE : PP_INSIDE", "PP_INSIDE", "json_range_test"),
    ("parse/json/json_range.c", "separates = state->depth == 1 && state->array;", "separates = state->depth == 1;", "json_range_test"),
    ("parse/json/json_range.h", "		if (w->depth == w->lowest)\n			w->opened = c;", "		w->opened = c;", "json_range_test"),
    ("parse/json/json_sweep_impl.h", ">> (len - 1)) & 1;", ">> 63) & 1;", "json_range_test"),
    ("parse/json/json_sweep_impl.h", "	if (w->depth - nclose > w->lowest)", "	if (w->depth - nclose >= w->lowest)", "json_range_test"),
    ("parse/json/json_document.c", "	if (element && separator != ',' && separator != ']')", "	if (element && separator == 0)", "json_document_test"),
    ("parse/json/json_document.c", "		js->first -= s->pos;\n", "", "json_document_test"),
    ("parse/json/json_document.c", "pp_json_space(c) || c == '\"' || c == ','", "pp_json_space(c) || c == ','", "json_values_test"),
    ("parse/json/json_document.c", "else if (b == '\"' && pos > js->first)", "else if (b == '\"')", "json_values_test"),
    ("parse/json/json_document.c", "	if (js->place != PP_JSON_AT_TOP || c == '{')", "	if (c == '{')", "json_document_test"),
    ("parse/json/json_document.c", "		if (element && what.reason == PP_JSON_WANT_END)", "		if (false)", "json_document_test"),
    ("parse/json/json_document.c", "			js->line_end--;\n			if", "			if", "json_document_test"),
    ("parse/json/json_document.c", "		ends[-1] = s->pos - 1;\n", "", "json_document_test"),
    ("parse/json/json_document.c", " || (element && !ends_element(t, i + n)))", ")", "json_document_test"),
    ("parse/json/json_document.c", "			if (js->place == PP_JSON_AT_TOP)\n				s->pos = at;\n", "			s->pos = at;\n", "json_document_test"),
    ("parse/json/json_document.c", "		else if (js->place == PP_JSON_AT_FIRST && text[at] == ']')",
     "		else if (js->place != PP_JSON_AT_TOP && text[at] == ']')", "json_document_test"),

    ("parse/json/json_path.c", "			if (p->column[c] >= end)", "				if (p->column[c] > end)", "json_test"),
    ("parse/json/json_path.h", "				pp_json_walk_reset(w, i);\n				w->node = i;", "				w->node = i;", "json_test"),
    ("parse/json/json_path.h", "first ? 0 : w->index[w->depth] + 1", "first ? 1 : w->index[w->depth] + 1", "json_test"),
    ("parse/json/json_path.h", "		w->index[w->depth] = index;\n", "", "json_test"),
    ("parse/json/json_check.c", "		if (ch < ' ')\n", "		if (ch < ' ' && ch != '\\t')\n", "json_test"),
    ("parse/json/json_check.c", "if (low < 0xdc00 || low >= 0xe000)", "if (low < 0xd800 || low >= 0xe000)", "json_test"),
    ("parse/json/json_check.c", "						else if (c->charset && v >= 0x80)\n							check_encoded(c, pos);\n", "", "json_charset_test"),
    ("parse/json/json_check.c", "									check_encoded(c, first);", "									check_encoded(c, first + 6);", "json_charset_test"),
    ("parse/json/json_check.c", "	if (!c->charset || c->charset->utf8)\n		good", "	if (!c->charset)\n		good", "json_charset_test"),
    ("parse/json/json_check.c", "pp_json_hex4(src + 2) < 0x80)", "pp_json_hex4(src + 2) < 0x8000)", "json_charset_test"),
    ("parse/json/json_backend.c", "(!js->spec->charset || !escapes_characters(", "(js->spec->charset || !escapes_characters(", "json_charset_test"),
    ("parse/json/json_convert.c", "		if (js->spec->charset && memchr(raw, '\\\\', n))", "		if (false)", "json_charset_test"),
    ("parse/json/json_check.c", "	if (text[pos] == '0')\n		pos++;", "	if (text[pos] == '0' && end == 0)\n		pos++;", "json_test"),
    ("parse/json/json_check.c", "if (w->depth >= c->max_depth)", "if (w->depth > c->max_depth)", "json_test"),
    ("parse/json/json_check.c", "	if (!c->any_value && c->first == '[')", "	if (!c->any_value && c->first == '[' && c->later.code == PP_JSON_OK)", "json_test"),
    ("parse/json/json_check.c", "	if (escapes && node != PP_JSON_NO_NODE)", "	if (escapes && node == PP_JSON_NO_NODE)", "json_test"),
    ("parse/json/json_escape.h", "	c |= 0x20;\n", "", "json_test"),
    ("parse/json/json_escape.h", "0x10000 + ((*code - 0xd800) << 10)", "((*code - 0xd800) << 10)", "json_test"),
    ("parse/json/json_kernel_impl.h", "			bad |= low == 0 && v >= 0xdc00 && v <= 0xdfff;\n", "", "json_test"),
    ("parse/json/json_kernel_impl.h", "(low != at || v < 0xdc00 || v > 0xdfff)", "(v < 0xdc00 || v > 0xdfff)", "json_test"),
    ("parse/json/json_kernel_impl.h", "v == 0;", "false;", "json_test"),
    ("parse/json/json_kernel_impl.h", "		c->escaping = (codes & backslash) >> 63;\n", "", "json_test"),
    ("parse/json/json_kernel_impl.h", "	c->bad |= b->m.control & b->inside;\n", "", "json_test"),
    ("parse/json/json_kernel_impl.h", "	carry.bad |= carry.in_string | carry.escaping;", "	carry.bad |= carry.escaping;", "json_test"),
    ("parse/json/json_kernel_impl.h", "	return bad | low;", "	return bad;", "json_test"),
    ("parse/json/json_kernel_impl.h", "	others |= negative & ~start;\n", "", "json_test"),
    ("parse/json/json_kernel_impl.h", "	c->after = (negative | point) >> 63;\n", "	c->after = 0;\n", "json_test"),
    ("parse/json/json_kernel_impl.h", "	c->zero = words >> 63;\n", "	c->zero = 0;\n", "json_test"),
    ("parse/json/json_kernel_impl.h", "	c->minus = negative >> 63;\n", "	c->minus = 0;\n", "json_test"),
    ("parse/json/json_kernel_impl.h", "	others |= sum & ~behind & point;\n", "", "json_test"),
    ("parse/json/json_kernel_impl.h", "	c->fraction |= point >> 63;\n", "", "json_test"),
    ("parse/json/json_kernel_impl.h", "	words = (point << 1) | c->fraction;\n", "	words = point << 1;\n", "json_test"),
    ("parse/json/json_kernel_impl.h", "	memset(block, ' ', 64);\n", "	memset(block, '\"', 64);\n", "json_test"),
    ("parse/json/json_kernel_avx512.c", "_mm512_testn_epi8_mask(b, k->high)", "~UINT64_C(0)", "json_test"),
    ("parse/json/json_kernel_avx512.c", "escaped & ~TEST(m->kinds, k->k_escaped)", "0", "json_test"),
    ("parse/json/json_kernel_avx512.c", "	if (PP_UNLIKELY(count > 32))", "	if (PP_UNLIKELY(count > 48))", "json_test"),
    ("parse/json/json_shape.h", "		diff |= (pp_json_load8(text + pos[k->token]) ^ k->head) & k->head_mask;\n", "		(void) k;\n", "json_test"),
    ("parse/json/json_shape.c", "			cls[i + 1] != PP_TOKEN_COLON;", "			true;", "json_fast_test"),
    ("parse/json/json_kernel.h", "#define PP_TOKEN_SCALAR_MASK	0x90", "#define PP_TOKEN_SCALAR_MASK	0x10", "json_fast_test"),
    ("parse/json/json_shape.h", "	uint32_t	words = n <= 32 ? 4 : n <= 64 ? 8 :", "	uint32_t	words = n <= 40 ? 4 : n <= 64 ? 8 :", "json_fast_test"),
    ("parse/json/json_shape.c", "shape->wide_keys |= k->len > 8;", "shape->wide_keys |= k->len > 9;", "json_test"),
    ("parse/json/json_shape.h", "			if (k->len > 16 &&", "			if (k->len > 32 &&", "json_test"),
    ("parse/json/json_shape.c", "w->depth >= s->max_depth", "w->depth > s->max_depth", "json_test"),
    ("parse/json/json_shape.c", "	if (!s->any_value && cls[0] != PP_TOKEN_OBJECT)\n		return false;\n", "", "json_test"),
    ("parse/json/json_shape.c", "					if (memchr(text + pos[i], '\\\\', end - pos[i]))\n						return false;\n", "", "json_test"),
    ("parse/json/json_shape.c", "	return expect == PP_JSON_EXPECT_END;", "	return true;", "json_test"),
    ("parse/json/json_backend.c", "	if (flags & PP_JSON_NUMBERS)", "	if (flags & PP_JSON_ODD)", "json_test"),
    ("parse/json/json_backend.c", "		if (!pp_json_scalar_end(text, pos, to))\n			return false;\n", "", "json_test"),
    ("parse/json/json_backend.c", "		(!(flags & PP_JSON_NOT_ASCII) ||", "		(!(flags & PP_JSON_NUMBERS) ||", "json_test"),
    ("parse/json/json_backend.c", "				while (pp_json_space(text[end - 1]))\n					end--;\n", "", "json_test"),
    ("parse/json/json_backend.c", " || s->batch.stop == PP_STOP_SYNTAX)\n		js->bom", ")\n		js->bom", "json_test"),
    ("parse/json/json_convert.c", "		if (n < 9 || n > 16)", "		if (n < 9 || n > 17)", "json_fast_test"),
    ("parse/json/json_convert.c", "n - before > 9)", "n - before > 10)", "json_fast_test"),
    ("parse/json/json_convert.c", "		quotient = negative ? -quotient : quotient;\n", "", "json_fast_test"),
    ("parse/json/json_convert.c", "		if (!all_digits(head) || !all_digits(tail))\n			return false;\n		head = eight", "		head = eight", "json_fast_test"),
    ("parse/json/json_convert.c", "	if (!all_digits(head) || !all_digits(tail))\n		return false;\n	head = eight", "	head = eight", "json_fast_test"),
    ("parse/json/json_convert.c", "(raw[0] == 'n' && json->nsteps > 0)", "raw[0] == 'n'", "json_test"),
    ("parse/json/json_convert.c", "			if (json->nsteps > 0 && memchr(raw, '\\\\', n))", "			if (memchr(raw, '\\\\', n))", "json_test"),
    ("parse/json/json_convert.c", "					done &= ~((uint32_t) (value[j] + 0x8000 > 0xffff) << j);\n", "					(void) j;\n", "json_test"),
    # the join engine
    ("trie/trie_dict.c", "		dict->n = (uint32_t) range + 1;", "		dict->n = (uint32_t) range;", "trie_test"),
    ("trie/join_count.c", "		known += plan->constant ? 0 : run->bound[plan->key];", "		known += plan->constant ? 0 : 1;", "trie_test"),
    ("trie/join_oriented.c", "		o->heavy[found - o->heavy].up += a < b;", "		o->heavy[found - o->heavy].up++;", "trie_test"),
    ("trie/join_oriented.c", "				chain_row(o, &o->row[2 * (size_t) entry[a > b ? b : a] + (a < b)], row[at]);", "				chain_row(o, &o->row[2 * (size_t) entry[a > b ? b : a] + (a > b)], row[at]);", "trie_test"),
    ("trie/join_blocks.c", "	return b + 1 == c->m ? c->last_edge[a][t] : c->edge[a + b - 1];", "	return b + 1 == c->m ? c->last_edge[a][t] : c->edge[b - 1];", "trie_test"),
    ("trie/join_blocks.c", "				c->last_edge[a][c->n] = c->last_edge[a][t];", "				c->last_edge[a][t] = c->last_edge[a][c->n];", "trie_clique_test"),
    ("trie/join_blocks.c", "		row[a] = first[a];\n	}", "		row[a] = first[0];\n	}", "trie_clique_test"),
    ("trie/trie_dict.c", "	return folded ^ (folded >> 32);", "	return folded >> 4 << 4;", "trie_dict_test"),
    ("trie/join_parts.c", "	own->unordered = join->dict.kind == PP_DICT_HASH && !ordered;", "	own->unordered = join->dict.kind == PP_DICT_HASH && ordered;", "trie_clique_test"),
    ("trie/join_parts.c", "a->query.nresiduals > 0 || b->query.nresiduals > 0)", "a->query.nresiduals != b->query.nresiduals)", "trie_clique_test"),
    ("trie/join_parts.c", "		counted[keys[i]] = counts[i].low;", "		counted[keys[i]] = i;", "trie_clique_test"),
    ("trie/join_count.c", "			part[c] = part[plan->twin[c] - 1];", "			part[c] = part[0] + 1;", "trie_clique_test"),
    ("trie/join_plan.c", " ||\n								 a->lists[i].from != b->lists[j].from))", "))", "trie_clique_test trie_test"),
    ("trie/join_oriented.c", "number[below + 1] > number[below];", "number[below + 1] < number[below];", "trie_clique_test"),
    ("trie/join_oriented.c", "balanced(o, kind == PP_EDGES_SYMMETRIC,", "balanced(o, false,", "trie_clique_test"),
    ("trie/join_oriented.c", "		return kind == PP_EDGES_SYMMETRIC && o->loop == NULL && !o->sorted &&", "		return kind == PP_EDGES_SYMMETRIC && o->loop == NULL &&", "trie_clique_test"),
    ("trie/join_oriented.c", "			o->loop[u] |= PP_NEAR_LOOP;", "			o->loop[u] |= o->loop[u] ? PP_NEAR_LOOP : 0;", "trie_clique_test"),
    ("trie/join_clique.c", "				if (o->heavy[h].v != v)\n", "", "trie_clique_test"),
    ("trie/join_clique.c", "				for (const PpHeavy *h = heavy; h < behind && h->v < v; h++)", "				for (const PpHeavy *h = behind; h < behind && h->v < v; h++)", "trie_clique_test"),
    ("trie/join_local.c", "			set[w] = from[w] & ~from_twice[w];", "			set[w] = from[w];", "trie_clique_test"),
    ("trie/join_local.c", "		l->twos &= found->rows == 2;", "		l->twos &= found->rows <= 3;", "trie_clique_test"),
    ("trie/join_local.c", "more[w] | (h[w] & (l->twos ? twice[w] : ~UINT64_C(0)));", "more[w] | (l->twos ? 0 : h[w]);", "trie_clique_test"),
    ("trie/join_local.c", "					add(l->spare[1], a);\n", "", "trie_clique_test"),
    ("trie/join_local.c", "			if (set[w] & l->looped[w])", "			if (set[w] & l->looped[w] & 1)", "trie_clique_test"),
    ("trie/join_local.c", "(allowed & PP_SAME ? same : 0)", "(allowed & PP_ABOVE ? same : 0)", "trie_clique_test"),
    ("trie/join_local.c", "		if (!pp_multiply(&l->sum[a], o->factor / o->k))", "		if (!pp_multiply(&l->sum[a], o->factor))", "trie_clique_test"),
    ("trie/join_local.c", "			note_heavy(l, a, l->number[w], heavy->down);", "			note_heavy(l, a, l->number[w], heavy->up);", "trie_clique_test"),
    ("trie/trie_kernel_impl.h", "(h[i] & (twice[i] | single));", "(h[i] & twice[i] & ~single);", "trie_clique_test"),
    ("trie/join_blocks.c", "			out[1][t] = middle_key(below, above, key);", "			out[1][t] = above;", "trie_test"),
    ("trie/join_blocks.c", "	const uint64_t lasts[3] = {ways[2], ways[1], ways[0]};", "	const uint64_t lasts[3] = {ways[2], ways[2], ways[0]};", "trie_test"),
    ("trie/trie_kernel_impl.h", "			for (uint64_t m = a[i] & b[i]; m; m &= m - 1)\n				out[n++] =", "			for (uint64_t m = a[i] & b[i]; m; m = 0)\n				out[n++] =", "trie_kernel_test"),
    ("trie/trie_kernel_impl.h", "	return beyond >> 32 == 0;", "	return beyond >> 33 == 0;", "trie_kernel_test"),
    ("trie/trie_kernel_impl.h", "		beyond |= distance;", "		beyond = distance;", "trie_kernel_test"),
    ("trie/join_blocks.c", "	uint32_t	out = code & PP_HEAVY_CODE;", "	uint32_t	out = 0;", "trie_test"),
    ("trie/join_blocks.c", "		(o->loop[v] & 2 ? PP_HEAVY_CODE : 0);", "		(o->loop[v] & 4 ? PP_HEAVY_CODE : 0);", "trie_test"),
    ("trie/join_plan.c", "(needs == UINT32_C(1) << plan->key &&", "(needs != 0 &&", "trie_test"),
    ("trie/trie_dict.c", "			nequal += a == b;\n", "			nequal += a != b;\n", "trie_test"),
    ("trie/trie_dict.c", "(UINT64_C(1) << (k % 64)) - 1;", "(UINT64_C(1) << (k % 64));", "trie_test"),
    ("trie/trie_dict.c", "		rank[sorted[i].number - 1] = i;", "		rank[sorted[i].number - 1] = sorted[i].number - 1;", "trie_test"),
    ("trie/trie_dict.c", "			behind = next + NUMBERS;", "			behind = next + 2 * NUMBERS;", "trie_large_test"),
    ("trie/trie_build.c", "	const uint32_t *order = work->members > 1 ? work->order : NULL;", "	const uint32_t *order = NULL;", "trie_test"),
    ("trie/trie_build.c", "			if (i == from || trie->list[i] != trie->list[i - 1])", "			if (i == 0 || trie->list[i] != trie->list[i - 1])", "trie_test"),
    ("trie/join_level.c", "				l->high = other + 1 < l->high ? other + 1 : l->high;", "				l->high = other < l->high ? other : l->high;", "trie_test"),
    ("trie/join_count.c", "		if (!pp_multiply(count, part[c]))", "		if (!pp_add(count, part[c]))", "trie_test"),
    ("trie/join_stage.c", "		((plan->kept && !join->levels[parent].constant) || beside > 1) ? FACTOR : HERE;", "		plan->kept ? FACTOR : HERE;", "join_stage_test"),
    ("trie/join_stage.c", "		if (!bare)\n			add_lists", "		add_lists", "join_stage_test"),
    ("trie/join_stage.c", "		const bool	bare = building->bare && at == 0;", "		const bool	bare = at == 0;", "join_stage_test"),
    ("trie/join_stage.c", "x.level[v].variable = y.level[v].variable = 0;", "(void) v;", "join_stage_test"),
    ("trie/join_stage.c", "	return memcmp(&x, &y, sizeof(x)) == 0;", "	return x.nlevels == y.nlevels && x.by_value == y.by_value;", "join_stage_test"),
    ("trie/join_rows.c", "			run->copy[list->atom] = 0;", "			run->copy[list->atom] = 1;", "trie_test"),
    ("trie/join_wedges.c", "			ways[met[i]] = 0;", "			ways[met[i]] = 1;", "trie_test"),
    ("trie/join_wedges.c", "	if (wedges[0] + wedges[2] < wedges[1]", "	if (wedges[0] + wedges[2] > wedges[1]", "trie_large_test"),
    ("trie/join_wedges.c", "			variables[v] = variables[v + 1];", "			variables[v] = variables[v];", "trie_large_test"),
    ("trie/join_oriented.c", "				duplicate |= (*at & bit) != 0;", "				duplicate |= *at == 3;", "trie_test"),
    ("trie/join_oriented.c", "symmetric &= (seen[v] & 3) == 3;", "symmetric &= seen[v] != 0;", "trie_test"),
    ("trie/join_oriented.c", "			o->start[v] -= gap;", "			o->start[v] -= gap - 1;", "trie_test"),
    ("trie/join_oriented.c", "		o->start[work->vertex[m]] = work->behind[m - 1];", "		o->start[work->vertex[m]] = work->from[m];", "trie_test"),
    ("trie/join_oriented.c", "			*duplicate |= o->loop[v] != 0;", "			*duplicate |= o->loop[v] > 1;", "trie_test"),
    ("trie/join_ways.c", "			fits &= up == (kind == PP_EDGES_INCREASING);", "			fits &= up == (kind != PP_EDGES_INCREASING);", "trie_test"),
    ("trie/join_oriented.c", "				from < to ? UINT32_C(1) <<", "				from > to ? UINT32_C(1) <<", "trie_large_test"),
    ("trie/join_oriented.c", "		if (used != (UINT32_C(1) << m) - 1)", "		if (used > (UINT32_C(1) << m) - 1)", "trie_test"),
    ("trie/join_blocks.c", "				edge = edge >> 1 | (edge & 1) << 1;\n", "", "trie_test"),
    ("trie/join_blocks.c", "		for (; c->at < c->n; c->at++, c->map = 0)\n		{\n			uint32_t	code =", "		for (; c->at < c->n; c->at++)\n		{\n			uint32_t	code =", "trie_test"),
    ("trie/join_blocks.c", "	m = (down[w] | up[w]) & ~UINT64_C(0) << (h % 64);", "	m = down[w] & ~UINT64_C(0) << (h % 64);", "trie_test"),
    ("trie/join_blocks.c", "			run->groups[c->vertex[a]] += sum[a];", "			run->groups[c->vertex[a]] += a ? sum[a] : 0;", "trie_test"),
    ("trie/join_run.c", "		run->to = cut(run->join, (uint32_t) i + 1, nstretches);", "		run->to = cut(run->join, (uint32_t) i + 2, nstretches + 1);", "trie_test"),
    ("trie/join_run.c", "					run->groups[v] += run->others[i]->groups[v];", "					run->groups[v] |= run->others[i]->groups[v];", "trie_clique_test"),
    ("trie/box.c", "		if ((box->part[v] & 1) == 0)", "		if (box->part[v] == 0)", "trie_box_test"),
    ("trie/box.c", "					box->part[atom->variable[s]] == box->part[other->variable[s]];", "					box->part[atom->variable[s]] >= box->part[other->variable[s]];", "trie_box_test"),
    ("trie/box.c", "	*shared = all <= sum * 1.25;", "	*shared = all <= sum * 125;", "trie_box_test"),
    ("trie/box.c", "			if (size < here)", "			if (size > here)", "trie_box_test"),
    ("trie/trie_memory.c", "		(size_t) n * size + extra > budget->limit - budget->used)", "		(size_t) n * size > budget->limit - budget->used)", "trie_test"),
]

TIMEOUT = 300


def run(command, log):
    """Runs a command in a process group of its own; answers its status, or None
    if it had to be ended."""
    with open(log, "wb") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT,
                                 start_new_session=True)
        try:
            return child.wait(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            return None


def share_out(args):
    """Has several processes of this program try a share each."""
    numbers = args.only
    children = []
    for job in range(args.jobs):
        share = list(numbers)[job::args.jobs]
        if share:
            command = [sys.executable, os.path.abspath(__file__), "--jobs", "1",
                       "--make", args.make, "--test", args.test, "--src", args.src,
                       "--build", os.path.join(args.build, str(job)),
                       "--cc", args.cc, "--cxx", args.cxx, "--scale", args.scale]
            for number in share:
                command += ["--only", str(number)]
            log = open(os.path.join(args.build, "job-%d" % job), "w+")
            children.append((subprocess.Popen(command, stdout=log), log))
    passed = failed = 0
    for child, log in children:
        status = child.wait()
        log.seek(0)
        for line in log:
            count = re.match(r"mutations: (\d+) passed, (\d+) failed$", line)
            if count:
                passed += int(count.group(1))
                failed += int(count.group(2))
                status = 0
            else:
                print(line, end="")
        failed += status != 0    # it ended without a count
        log.close()
    print("mutations: %d passed, %d failed" % (passed, failed))
    return 0 if failed == 0 else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--make", default="make")
    parser.add_argument("--test", required=True, help="folder of test/Makefile")
    parser.add_argument("--src", required=True, help="folder of the engine")
    parser.add_argument("--build", required=True, help="folder to work in")
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--only", type=int, action="append",
                        help="numbers of the mutations to try, from 1")
    parser.add_argument("--skip", help="none of files whose name starts like this")
    parser.add_argument("--third", type=int, choices=(0, 1, 2),
                        help="only those whose numbers leave this remainder")
    parser.add_argument("--scale", default="25", help="percentage of random cases")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1,
                        help="how many to try at a time, each in a folder of its own")
    args = parser.parse_args()
    if args.only is None:
        args.only = range(1, len(MUTATIONS) + 1)
    if args.skip:
        args.only = [n for n in args.only if not MUTATIONS[n - 1][0].startswith(args.skip)]
    if args.third is not None:
        args.only = [n for n in args.only if n % 3 == args.third]
    if args.jobs > 1:
        os.makedirs(args.build, exist_ok=True)
        return share_out(args)

    copy = os.path.join(args.build, "src")
    build = os.path.join(args.build, "build")
    # all anew: objects of an earlier run may hold a planted bug
    shutil.rmtree(args.build, ignore_errors=True)
    os.makedirs(copy)
    shutil.copytree(os.path.join(args.src, "parse"), os.path.join(copy, "parse"),
                    ignore=shutil.ignore_patterns("*.o", "*.d", "*.bc"))
    shutil.copytree(os.path.join(args.src, "trie"), os.path.join(copy, "trie"),
                    ignore=shutil.ignore_patterns("*.o", "*.d", "*.bc"))
    shutil.copy(os.path.join(args.src, "backend.h"), copy)

    # under make, the targets of this program must not be told ours
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES"):
        os.environ.pop(name, None)

    def check(tests, log):
        return run([args.make, "--no-print-directory", "-C", args.test, "check",
                    "SRC=" + copy, "BUILD=" + build, "ONLY=" + tests,
                    "CC=" + args.cc, "CXX=" + args.cxx, "SCALE=" + args.scale,
                    "CFLAGS=-O1 -Wno-maybe-uninitialized"], log)

    chosen = [(n, m) for n, m in enumerate(MUTATIONS, 1) if n in args.only]
    passed = failed = 0

    # Without a planted bug everything must pass, or nothing here means anything.
    tests = " ".join(sorted({t for _, m in chosen for t in m[3].split()}))
    log = os.path.join(args.build, "log-0")
    if check(tests, log) != 0:
        print("mutations: the tests fail without any planted bug, see", log)
        with open(log, errors="replace") as text:
            print("".join(text.readlines()[-20:]))
        print("mutations: 0 passed, 1 failed")
        return 1

    for number, (name, old, new, tests) in chosen:
        path = os.path.join(copy, name)
        log = os.path.join(args.build, "log-%d" % number)
        with open(os.path.join(args.src, name), newline="") as source:
            original = source.read()
        start = time.time()
        if original.count(old) != 1:
            verdict = "FAILED: found %d times, once expected; bring the list up to date" % original.count(old)
        else:
            with open(path, "w", newline="") as target:
                target.write(original.replace(old, new))
            status = check(tests, log)
            with open(path, "w", newline="") as target:
                target.write(original)
            with open(log, errors="replace") as text:
                output = text.read()
            noticed = re.search(r"^[^ ]+: \d+ passed, [1-9]\d* failed$", output, re.M)
            if status is None:
                verdict = "noticed (does not end)"
            elif status == 0:
                verdict = "FAILED: not noticed by " + tests
            elif noticed:
                verdict = "noticed"
            else:
                verdict = "FAILED: does not compile, see " + log
        ok = verdict.startswith("noticed")
        passed += ok
        failed += not ok
        print("mutation %d, %s: %s: %s (%.0f s)" %
              (number, name, " ".join(old.split())[:70], verdict, time.time() - start))
        sys.stdout.flush()
    print("mutations: %d passed, %d failed" % (passed, failed))
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())

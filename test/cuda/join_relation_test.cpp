/*
 * test/cuda/join_relation_test.cpp
 *	  Relations that stay on the device: what scans of the fused pipeline leave
 *	  there, beside what the CPU backend makes of the same text; rows of the
 *	  host's among them; failures; the device's end while one is open.
 */
#include "driver_check.h"

namespace
{

typedef std::pair<int64_t, int64_t> Row;
typedef std::vector<Row> Rows;

/* Integers of three widths, some empty, some that conversions hand over. */
Bytes
make_numbers(UnitRandom *r, uint32_t n)
{
	std::string s;

	for (uint32_t i = 0; i < n; i++)
	{
		for (uint32_t k = 0; k < 3; k++)
		{
			int64_t		v = (int64_t) unit_next(r);

			v = k == 0 ? (int32_t) v : k == 1 ? v : (int16_t) v;
			if (unit_once_in(r, 3))
				v = (int64_t) unit_below(r, 20) - 10;
			s += k > 0 ? "," : "";
			if (unit_once_in(r, 20))
				continue;
			s += unit_once_in(r, 40) ? " 7 7" : unit_once_in(r, 40) ? "\t5" : std::to_string(v);
		}
		s += "\n";
	}
	return Bytes(s.begin(), s.end());
}

struct NumberScan : Scan
{
	PpKeySink	sink[2] = {};

	NumberScan()
	{
		static const PpType type[] = {PP_INT4, PP_INT8, PP_INT2};

		for (uint32_t i = 0; i < 3; i++)
		{
			column[i].type = type[i];
			column[i].field = i;
			column[i].mod = -1;
		}
		spec.nfields = spec.ncolumns = 3;
		spec.naggregates = 1;
		spec.aggregate = aggregate;
		aggregate[0].op = PP_AGGREGATE_COUNT_ALL;
		spec.sink = sink;
	}

	void		add_sink(PpCudaRelation *relation, uint32_t a, uint32_t b, PpSinkKind x, PpSinkKind y)
	{
		PpKeySink  *k = &sink[spec.nsinks++];

		k->relation = relation;
		k->column[0] = a;
		k->column[1] = b;
		k->kind[0] = x;
		k->kind[1] = y;
	}
};

int64_t
key_of(uint32_t kind, uint64_t v)
{
	return kind == PP_SINK_UINT8 ? (uint8_t) v : kind == PP_SINK_INT16 ? (int16_t) v :
		kind == PP_SINK_INT32 ? (int32_t) v : kind == PP_SINK_UINT32 ? (uint32_t) v :
		kind == PP_SINK_UINT64 ? (int64_t) (v ^ UINT64_C(1) << 63) : (int64_t) v;
}

/* What a sink is to get: by the CPU, over all of the text at once. */
Rows
expected(const NumberScan &s, const Bytes &text, const PpKeySink *k)
{
	Bytes		copy = text;
	PpBackendScan *scan = pp_backend_scalar.open(&s.spec);
	PpJob		job = {};
	Rows		rows;

	copy.resize(text.size() + PP_PAD);
	job.text = copy.data();
	job.len = (uint32_t) text.size();
	job.last = true;
	EXPECT(scan != nullptr && pp_backend_scalar.submit(scan, &job), "no scan");
	if (scan == nullptr)
		return rows;
	const PpBatch *b = poll_to_end(&pp_backend_scalar, scan);

	EXPECT(b->stop == PP_STOP_END, "stops with %d", (int) b->stop);
	for (uint32_t i = 0; i < b->nselected; i++)
	{
		const uint32_t r = b->selected == nullptr ? i : b->selected[i];
		bool		known = true;

		for (uint32_t c = 0; c < b->ncolumns; c++)
			known = known && b->column[c].state[r] <= PP_NULL;
		if (known && b->column[k->column[0]].state[r] == PP_VALUE &&
			b->column[k->column[1]].state[r] == PP_VALUE)
			rows.push_back(Row(key_of(k->kind[0], b->column[k->column[0]].value[r]),
							   key_of(k->kind[1], b->column[k->column[1]].value[r])));
	}
	pp_backend_scalar.release(scan);
	pp_backend_scalar.close(scan);
	return rows;
}

bool
fetch(PpCudaRelation *relation, Rows *rows)
{
	uint64_t	n = 0;

	rows->clear();
	if (!library->join->relation_rows(relation, &n))
		return false;
	rows->resize(n);
	/* in two stretches, which need not end where pieces do */
	return library->join->relation_fetch(relation, 0, n / 3,
										 reinterpret_cast<int64_t *>(rows->data())) &&
		library->join->relation_fetch(relation, n / 3, n - n / 3,
									  reinterpret_cast<int64_t *>(rows->data() + n / 3));
}

void
same_rows(Rows a, Rows b)
{
	std::sort(a.begin(), a.end());
	std::sort(b.begin(), b.end());
	EXPECT(a == b, "%zu rows instead of %zu, or others", a.size(), b.size());
}

std::vector<size_t>
cut(UnitRandom *r, size_t n)
{
	std::vector<size_t> at;

	for (size_t i = 0; i < n;)
	{
		i += 1 + unit_below(r, (uint32_t) (n / 2 + 100));
		at.push_back(i < n ? i : n);
	}
	return at;
}

PpSinkKind
any_kind(UnitRandom *r)
{
	return (PpSinkKind) unit_below(r, PP_SINK_UINT64 + 1);
}

void
test_sinks(void)
{
	for (uint64_t i = 0; i < unit_iterations(60); i++)
	{
		UnitRandom	r = unit_random(1, i);
		const Bytes text = make_numbers(&r, 1 + unit_below(&r, i == 0 ? 4000 : 600));
		PpCudaRelation *relation[2];
		Rows		got,
					want[2];
		NumberScan	s;

		unit_case("sinks %" PRIu64, i);
		configure(i % 2 ? 1 + (uint32_t) i : 0);
		set_options((PpTagging) unit_below(&r, 4));
		for (uint32_t k = 0; k < 2; k++)
		{
			relation[k] = library->join->relation_open();
			EXPECT(relation[k] != nullptr, "no relation: %s", library->error());
			s.add_sink(relation[k], unit_below(&r, 3), unit_below(&r, 3), any_kind(&r), any_kind(&r));
		}
		if (unit_once_in(&r, 2))
			s.filter_half();
		stream(s, text, cut(&r, text.size()), unit_below(&r, 5), &r);
		for (uint32_t k = 0; k < 2; k++)
		{
			const Row	more[3] = {Row(INT64_MIN, 1), Row(-5, INT64_MAX), Row(0, 0)};

			want[k] = expected(s, text, &s.sink[k]);
			EXPECT(fetch(relation[k], &got), "%s", library->error());
			same_rows(got, want[k]);
			if (k == 0)
				continue;
			/* rows of the host's go behind them, more than once */
			for (uint32_t again = 0; again < 2; again++)
			{
				EXPECT(library->join->relation_append(relation[k], &more[0].first, 3), "%s",
					   library->error());
				want[k].insert(want[k].end(), more, more + 3);
				EXPECT(fetch(relation[k], &got), "%s", library->error());
				same_rows(got, want[k]);
			}
		}
		library->join->relation_close(relation[0]);
		library->join->relation_close(relation[1]);
	}
	library->join->relation_close(nullptr);
}

/* More rows than a piece has, of the host's only, and of none at all. */
void
test_pieces(void)
{
	PpCudaRelation *relation = library->join->relation_open();
	Rows		want,
				got;

	unit_case("many rows");
	EXPECT(fetch(relation, &got) && got.empty(), "rows of nothing");
	for (uint32_t n = 1; n < 3000000 && !simt_reports(); n = 4 * n + 1)
	{
		Rows		more;

		for (uint32_t i = 0; i < n; i++)
			more.push_back(Row(i, -(int64_t) n));
		EXPECT(library->join->relation_append(relation, n == 0 ? nullptr : &more[0].first, n), "%s",
			   library->error());
		want.insert(want.end(), more.begin(), more.end());
	}
	EXPECT(library->join->relation_append(relation, nullptr, 0), "%s", library->error());
	EXPECT(fetch(relation, &got), "%s", library->error());
	same_rows(got, want);
	library->join->relation_close(relation);
}

/* Calls of each kind fail one after another: rows that are there are right, or it is said. */
void
test_failures(void)
{
	static const char *const name[] = {"allocation", "copy", "launch", "kernel"};

	for (uint32_t kind = 0; kind < SIMT_CALLS; kind++)
	{
		uint64_t	failures = 0;
		uint32_t	same = 0;

		unit_case("failing %s", name[kind]);
		for (uint64_t at = 1; same < (kind == SIMT_ALLOC ? 20 : 1) && at < 1000; at++)
		{
			UnitRandom	r = unit_random(3, kind);
			const Bytes text = make_numbers(&r, 100);
			PpCudaRelation *relation;
			const Row	more(3, 4);
			bool		done = false;
			Rows		got;
			NumberScan	s;

			library->stop();
			start();
			set_options((PpTagging) (at % 4));
			configure((uint32_t) at);
			has_failed = false;
			may_fail = true;
			simt_inject((SimtCall) kind, at, at % 2 == 0);
			relation = library->join->relation_open();
			if (relation != nullptr)
			{
				s.add_sink(relation, 0, 1, PP_SINK_INT32, PP_SINK_INT64);
				stream(s, text, {300, 700, text.size()}, 4, &r);
				done = !has_failed && library->join->relation_append(relation, &more.first, 1) &&
					fetch(relation, &got);
			}
			simt_inject((SimtCall) kind, 0, false);
			may_fail = false;
			EXPECT(done || library->error()[0] != '\0', "nothing is said");
			if (done)
			{
				Rows		want = expected(s, text, &s.sink[0]);

				want.push_back(more);
				same_rows(got, want);
			}
			library->join->relation_close(relation);
			failures += !done;
			same = done ? same + 1 : 0;
		}
		EXPECT(failures > 3, "%" PRIu64 " failures", failures);
	}
	library->stop();
	simt_clear_reports();
	start();
}

void
test_stop(void)
{
	const int64_t pair[2] = {1, 2};
	uint64_t	n;
	PpCudaRelation *relation = library->join->relation_open();

	unit_case("the device is stopped while a relation is open");
	EXPECT(library->join->relation_append(relation, pair, 1), "%s", library->error());
	library->stop();
	EXPECT(!library->join->relation_rows(relation, &n) && library->failure() == PP_CUDA_NO_DEVICE,
		   "rows of a device that is gone");
	EXPECT(!library->join->relation_append(relation, pair, 1), "rows for a device that is gone");
	EXPECT(library->join->relation_open() == nullptr, "a relation without a device");
	start();
	EXPECT(!library->join->relation_rows(relation, &n), "rows of a device that was gone");
	library->join->relation_close(relation);
}

/* The pipeline whose scans add to relations. */
void
choose_pipeline(void)
{
	cuda = library->fused;
	fused = true;
}

}								/* namespace */

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "join_relation_test");
	simt_report_to_stderr(false);
	library = pp_cuda_library(PP_CUDA_VERSION);
	choose_pipeline();
	unit_case("start");
	start();
	test_sinks();
	test_pieces();
	test_stop();
	if (simt_present())
		test_failures();
	unit_case("nothing is left at the end");
	library->stop();
	EXPECT(simt_memory().device_blocks == 0 && simt_memory().pinned_blocks == 0 &&
		   simt_memory().streams == 0 && simt_memory().events == 0,
		   "%" PRIu64 " and %" PRIu64 " blocks, %" PRIu64 " streams, %" PRIu64 " events",
		   simt_memory().device_blocks, simt_memory().pinned_blocks, simt_memory().streams,
		   simt_memory().events);
	return unit_end();
}

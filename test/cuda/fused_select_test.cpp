/*
 * test/cuda/fused_select_test.cpp
 *	  Filters, aggregates and late columns of the fused pipeline, under the host
 *	  SIMT layer: against the CPU backend's filters, and sums made by the host.
 */
#include "fused_values.h"

#include "../../src/parse/filter.h"

namespace
{

enum
{
	T_FILTERS = 1,
	T_TOTALS,
	T_ROOM,
	T_RANKS
};

/* The comparison that a type's values are made for. */
PpCompare
compare_of(PpType type)
{
	switch (type)
	{
		case PP_FLOAT4:
			return PP_COMPARE_FLOAT4;
		case PP_FLOAT8:
			return PP_COMPARE_FLOAT8;
		case PP_NUMERIC:
			return PP_COMPARE_NUMERIC;
		case PP_UUID:
			return PP_COMPARE_UUID;
		case PP_BPCHAR:
			return PP_COMPARE_BPCHAR;
		case PP_TEXT:
		case PP_VARCHAR:
		case PP_BYTEA:
			return PP_COMPARE_BYTES;
		default:
			return PP_COMPARE_INT64;
	}
}

/*
 * A filter on column k whose constant is one of that column's values, or near
 * it; *bytes is its memory.
 */
PpFilter
random_filter(UnitRandom *r, const FusedCase &c, const Columns &all, uint32_t k, Bytes *bytes)
{
	const PpType type = c.column[k].type;
	const PpCompare compare = compare_of(type);
	PpFilter	f = {};
	Value		v;

	f.column = k;
	f.compare = compare;
	for (uint32_t tries = 0; tries < 20 && v.state != PP_VALUE && !all.number.empty(); tries++)
		v = all.column[k][unit_below(r, (uint32_t) all.number.size())];
	f.op = (PpOp) unit_below(r, PP_OP_NEVER + 1);
	if (v.state != PP_VALUE || type == PP_NAME)
	{
		f.op = (PpOp) (PP_OP_IS_NULL + unit_below(r, 3));
		return f;
	}
	if (f.op == PP_OP_PREFIX && compare != PP_COMPARE_BYTES)
		f.op = PP_OP_LE;
	switch (compare)
	{
		case PP_COMPARE_NUMERIC:
		case PP_COMPARE_UUID:
			*bytes = v.bytes;
			break;
		case PP_COMPARE_BYTES:
		case PP_COMPARE_BPCHAR:
			*bytes = Bytes(v.bytes.begin() + 4, v.bytes.end());
			while (compare == PP_COMPARE_BPCHAR && !bytes->empty() && bytes->back() == ' ')
				bytes->pop_back();
			if (f.op == PP_OP_PREFIX)
				bytes->resize(unit_below(r, bytes->size() < 3 ? (uint32_t) bytes->size() + 1 : 3));
			break;
		case PP_COMPARE_FLOAT4:
			{
				const double d = pp_bits_to_float(v.datum);

				memcpy(&f.constant, &d, 8);
				break;
			}
		default:
			f.constant = v.datum;
			if (type == PP_DATE && unit_once_in(r, 2))
			{
				f.compare = PP_COMPARE_DAYS;
				f.constant = (uint64_t) ((int64_t) v.datum * INT64_C(86400000000) + (int64_t) unit_below(r, 3) - 1);
			}
			break;
	}
	f.bytes = bytes->data();
	f.nbytes = (uint32_t) bytes->size();
	return f;
}

/* A run, and what is behind it. */
struct SelectRun : FusedRun
{
	std::vector<Device<uint8_t> *> constant;
	Device<PpPaperFilter> filter;
	Device<PpAggregate> aggregate;
	Device<PpPartial> partial;
	Device<uint8_t> flag;
	Device<uint32_t> selected;
	Device<uint8_t> *temp;
	PpSelectJob select = {};
	PpFusedResult r;
	std::vector<PpPartial> totals;

	explicit SelectRun(const FusedCase &of)
		: FusedRun(of), filter(of.filter.size()), aggregate(of.aggregate.size()),
		  partial(of.aggregate.size()), flag(room), selected(room), temp(nullptr)
	{
		std::vector<PpPaperFilter> filters;
		size_t		bytes = 0;

		for (const PpFilter &f : c.filter)
		{
			PpPaperFilter p = {};

			constant.push_back(new Device<uint8_t>(f.nbytes));
			constant.back()->put(f.bytes, f.nbytes, stream.s);
			p.filter = f;
			p.filter.bytes = constant.back()->p;
			p.value = value.p + (size_t) f.column * room;
			p.state = state.p + (size_t) f.column * room;
			p.to_device = reinterpret_cast<uint64_t>(heap.p) - HOST_HEAP;
			p.by_reference = pp_type_by_reference(c.column[f.column].type);
			filters.push_back(p);
		}
		filter.put(filters.data(), filters.size(), stream.s);
		aggregate.put(c.aggregate.data(), c.aggregate.size(), stream.s);
		CUDA(pp_select_temp(room, &bytes));
		temp = new Device<uint8_t>(bytes);
		select.job = &job;
		select.filter = filter.p;
		select.nfilters = (uint32_t) filters.size();
		select.aggregate = aggregate.p;
		select.naggregates = (uint32_t) c.aggregate.size();
		for (const PpAggregate &g : c.aggregate)
			select.ranked = select.ranked || pp_aggregate_is_ranked(g.op);
		select.partial = partial.p;
		select.flag = flag.p;
		select.selected = selected.p;
		select.temp = temp->p;
		select.temp_bytes = bytes;
		CUDA(cudaStreamSynchronize(stream.s));
	}
	~SelectRun()
	{
		for (Device<uint8_t> *p : constant)
			delete p;
		delete temp;
	}

	/* Both steps; what is selected. */
	Columns
	run(void)
	{
		std::vector<uint32_t> number;
		Columns		out;

		(void) pass();
		CUDA(pp_select_run(&select, &clock, stream.s));
		r = get(result.p, 1, stream.s)[0];
		EXPECT(r.nselected <= r.structure.nrecords, "%u of %u records are selected", r.nselected,
			   r.structure.nrecords);
		number = get(selected.p, r.nselected, stream.s);
		totals = get(partial.p, c.aggregate.size(), stream.s);
		{
			const size_t n = (size_t) ncolumns * r.nselected;
			Device<uint64_t> out_value(n);
			Device<uint8_t> out_state(n);

			CUDA(pp_select_columns(&select, r.nselected, out_value.p, out_state.p, &clock, stream.s));
			r = get(result.p, 1, stream.s)[0];
			out = fetch(out_value.p, out_state.p, r.nselected, number, true);
		}
		out.nrecords = r.structure.nrecords;
		out.ndeferred = r.ndeferred;
		out.unknown = r.unknown != 0;
		return out;
	}
};

bool
is_late(const FusedCase &c, size_t k)
{
	return k < c.late.size() && c.late[k];
}

bool
is_numeric(PpAggregateOp op)
{
	return op == PP_AGGREGATE_SUM_NUMERIC || op == PP_AGGREGATE_MIN_NUMERIC ||
		op == PP_AGGREGATE_MAX_NUMERIC;
}

/* A numeric as a multiple of 10000^-fraction, digit by digit; false: it is none. */
bool
fixed_value(const Bytes &b, uint32_t fraction, __int128 *value)
{
	const PpNumericParts p = pp_numeric_parts(reinterpret_cast<uintptr_t>(b.data()));

	*value = 0;
	for (uint32_t i = 0; i < p.ndigits; i++)
	{
		const int32_t place = p.weight - (int32_t) i + (int32_t) fraction;
		__int128	digit = p.digits[2 * i] | p.digits[2 * i + 1] << 8;

		if (place < 0 || place >= PP_FIXED_DIGITS)
			return false;
		for (int32_t k = 0; k < place; k++)
			digit *= 10000;
		*value += p.sign * digit;
	}
	return p.special == 0;
}

uint32_t
scale_shown(const Bytes &b)
{
	const uint32_t header = b[4] | (uint32_t) b[5] << 8;

	return header & 0x8000 ? header >> 7 & 63 : header & 0x3fff;
}

/*
 * Takes out of w, which are selected by the CPU, those of which all is known; of
 * ranked aggregates none unless all.
 */
Columns
take_known(const FusedCase &c, const Columns &w, std::vector<size_t> *taken)
{
	Columns		left;
	bool		ranked = false;

	left.nrecords = w.nrecords;
	left.unknown = w.unknown;
	left.column.resize(w.column.size());
	for (size_t i = 0; i < w.number.size(); i++)
	{
		bool		known = true;

		for (const std::vector<Value> &column : w.column)
			known &= column[i].state == PP_VALUE || column[i].state == PP_NULL;
		for (const PpAggregate &g : c.aggregate)
		{
			__int128	unused;

			ranked |= pp_aggregate_is_ranked(g.op);
			known = known && (!is_numeric(g.op) || w.column[g.column][i].state != PP_VALUE ||
							  fixed_value(w.column[g.column][i].bytes, g.fraction, &unused));
		}
		if (known)
		{
			taken->push_back(i);
			continue;
		}
		left.number.push_back(w.number[i]);
		for (size_t k = 0; k < w.column.size(); k++)
			left.column[k].push_back(w.column[k][i]);
	}
	if (!ranked || left.number.empty())
		return left;
	taken->clear();
	return w;
}

/* Has the second value the place of the first, if that comes first? */
bool
takes_place(PpAggregateOp op, const Value &a, const Value &b)
{
	int			order;

	switch (op)
	{
		case PP_AGGREGATE_MIN_NUMERIC:
		case PP_AGGREGATE_MAX_NUMERIC:
			order = pp_compare_numeric(reinterpret_cast<uintptr_t>(b.bytes.data()),
									   reinterpret_cast<uintptr_t>(a.bytes.data()));
			break;
		case PP_AGGREGATE_MIN_FLOAT4:
		case PP_AGGREGATE_MAX_FLOAT4:
			order = pp_compare_float8(pp_bits_to_float(b.datum), pp_bits_to_float(a.datum));
			break;
		default:
			order = pp_compare_float8(pp_bits_to_double(b.datum), pp_bits_to_double(a.datum));
			break;
	}
	return op == PP_AGGREGATE_MIN_NUMERIC || op == PP_AGGREGATE_MIN_FLOAT4 || op == PP_AGGREGATE_MIN_FLOAT8 ?
		order <= 0 : order >= 0;
}

/* What is of numerics or ranked, by the host. */
void
check_fixed(const PpAggregate &g, const std::vector<Value> &column, const std::vector<size_t> &taken,
			const PpPartial &p)
{
	const Value *best = nullptr;
	__int128	sum = 0;
	uint32_t	scale = 0;

	for (size_t i : taken)
		if (column[i].state == PP_VALUE)
		{
			__int128	v = 0;

			if (best == nullptr || takes_place(g.op, *best, column[i]))
				best = &column[i];
			if (is_numeric(g.op))
			{
				(void) fixed_value(column[i].bytes, g.fraction, &v);
				scale = std::max(scale, scale_shown(column[i].bytes));
			}
			sum += v;
		}
	if (best == nullptr)
		return;
	if (!is_numeric(g.op))
	{
		EXPECT(p.low == best->datum, "float %llx, not %llx", (unsigned long long) p.low,
			   (unsigned long long) best->datum);
		return;
	}
	if (g.op != PP_AGGREGATE_SUM_NUMERIC)
	{
		(void) fixed_value(best->bytes, g.fraction, &sum);
		scale = scale_shown(best->bytes);
	}
	EXPECT(p.low == (uint64_t) sum && p.high == (int64_t) (sum >> 64) && p.scale == scale &&
		   p.fraction == g.fraction, "numeric (%d) %llx %llx of scale %u, not %llx %llx, %u", (int) g.op,
		   (unsigned long long) p.high, (unsigned long long) p.low, p.scale,
		   (unsigned long long) (sum >> 64), (unsigned long long) sum, scale);
}

/* Aggregates over records of w by the host. */
void
check_totals(const FusedCase &c, const Columns &w, const std::vector<size_t> &taken,
			 const std::vector<PpPartial> &totals)
{
	for (size_t a = 0; a < c.aggregate.size(); a++)
	{
		const PpAggregate &g = c.aggregate[a];
		const PpPartial &p = totals[a];
		uint64_t	count = 0;
		__int128	sum = 0;
		int64_t		least = INT64_MAX;
		int64_t		greatest = INT64_MIN;

		for (size_t i : taken)
		{
			if (g.op == PP_AGGREGATE_COUNT_ALL)
				count++;
			else if (w.column[g.column][i].state == PP_VALUE)
			{
				const int64_t v = (int64_t) w.column[g.column][i].datum;

				count++;
				sum += v;
				least = std::min(least, v);
				greatest = std::max(greatest, v);
			}
		}
		EXPECT(p.count == count, "aggregate %zu (%d): counts %llu, not %llu", a, (int) g.op,
			   (unsigned long long) p.count, (unsigned long long) count);
		if (g.op >= PP_AGGREGATE_SUM_NUMERIC)
			check_fixed(g, w.column[g.column], taken, p);
		if (g.op == PP_AGGREGATE_SUM)
			EXPECT(p.low == (uint64_t) sum && p.high == (int64_t) (sum >> 64),
				   "aggregate %zu: sum %llx %llx, not %llx %llx", a, (unsigned long long) p.high,
				   (unsigned long long) p.low, (unsigned long long) (sum >> 64), (unsigned long long) sum);
		if (g.op == PP_AGGREGATE_MIN && count > 0)
			EXPECT((int64_t) p.low == least, "aggregate %zu: min %lld, not %lld", a, (long long) p.low,
				   (long long) least);
		if (g.op == PP_AGGREGATE_MAX && count > 0)
			EXPECT((int64_t) p.low == greatest, "aggregate %zu: max %lld, not %lld", a, (long long) p.low,
				   (long long) greatest);
	}
}

/* Runs it and compares; `all` are the CPU's columns of all records. */
void
check_select(const FusedCase &c, const Columns &all, bool lenient)
{
	const uint64_t reports = simt_reports();
	SelectRun	run(c);
	const Columns g = run.run();
	const Columns passing = cpu_columns(c);
	Columns		w = passing;
	std::vector<size_t> taken;
	uint64_t	deferred = 0;

	if (!c.aggregate.empty())
	{
		w = take_known(c, passing, &taken);
		check_totals(c, passing, taken, run.totals);
	}
	EXPECT(g.unknown == passing.unknown || (lenient && g.unknown), "unknown is %d", g.unknown);
	(void) check_columns(c, g, w, lenient);
	for (size_t k = 0; k < c.column.size() && !lenient; k++)
		for (const Value &v : is_late(c, k) ? w.column[k] : all.column[k])
			deferred += v.state == PP_DEFERRED;
	EXPECT(lenient || g.ndeferred == deferred, "%llu are said to be handed over, not %llu",
		   (unsigned long long) g.ndeferred, (unsigned long long) deferred);
	EXPECT(run.r.longs_done == run.r.nlongs, "%u of %u long values are done", run.r.longs_done, run.r.nlongs);
	EXPECT(simt_reports() == reports, "%s", simt_last_report());
}

/* A scan of every type, without filters. */
FusedCase
random_scan(UnitRandom *r, uint32_t most)
{
	FusedCase	c;

	schedule((uint32_t) unit_below(r, 1000));
	c.dialect = texts_dialect[unit_below(r, texts_nusual)];
	c.nfields = 1 + unit_below(r, 5);
	for (uint32_t k = 1 + unit_below(r, 6); k > 0; k--)
		c.column.push_back(random_column(r, (PpType) unit_below(r, PP_BYTEA), unit_below(r, c.nfields)));
	c.zone = usual_zone();
	c.has_default = unit_once_in(r, 3);
	c.default_text = bytes_of("DEF");
	c.thread_bytes = unit_once_in(r, 2) ? 256 : 10;
	add_records(r, &c, unit_below(r, most), 300);
	return c;
}

/* Columns that nothing looks at may wait. */
void
choose_late(UnitRandom *r, FusedCase *c)
{
	c->late.assign(c->column.size(), false);
	for (size_t k = 0; k < c->column.size(); k++)
	{
		bool		seen = false;

		for (const PpFilter &f : c->filter)
			seen |= f.column == k;
		c->late[k] = !seen && !unit_once_in(r, 4);
	}
}

void
test_filters(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_FILTERS, i);
		FusedCase	c = random_scan(&r, 120);
		std::vector<Bytes> constant(3);
		Columns		all;

		unit_case("filters %llu", (unsigned long long) i);
		if (unit_once_in(&r, 4))
			c.room = 1 + unit_below(&r, 60);
		all = cpu_columns(c);
		for (uint32_t f = 1 + unit_below(&r, 3); f > 0; f--)
			c.filter.push_back(random_filter(&r, c, all, unit_below(&r, (uint32_t) c.column.size()),
											 &constant[f - 1]));
		choose_late(&r, &c);
		check_select(c, all, false);
	}
}

/* Aggregates, with and without filters. */
void
test_totals(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_TOTALS, i);
		FusedCase	c = random_scan(&r, 300);
		std::vector<Bytes> constant(2);
		Columns		all;

		unit_case("totals %llu", (unsigned long long) i);
		all = cpu_columns(c);
		for (uint32_t f = unit_below(&r, 3); f > 0; f--)
			c.filter.push_back(random_filter(&r, c, all, unit_below(&r, (uint32_t) c.column.size()),
											 &constant[f - 1]));
		for (uint32_t a = 0; a < 6; a++)
		{
			const uint32_t k = unit_below(&r, (uint32_t) c.column.size());
			PpAggregateOp op = (PpAggregateOp) unit_below(&r, PP_AGGREGATE_MAX + 1);

			if (op > PP_AGGREGATE_COUNT && pp_type_by_reference(c.column[k].type))
				op = PP_AGGREGATE_COUNT;
			c.aggregate.push_back({op, k, 0});
		}
		c.aggregate.push_back({PP_AGGREGATE_COUNT_ALL, 0, 0});
		check_select(c, all, false);
	}
}

/* Sums that 64 bits do not hold, of either sign, over many blocks. */
void
test_large_sums(void)
{
	static const char *const value[][3] = {
		{"9223372036854775807", "9223372036854775807", "9223372036854775806"},
		{"-9223372036854775808", "-9223372036854775808", "-9223372036854775807"},
		{"9223372036854775807", "-9223372036854775808", "-1"},
		{"-1", "-1", "0"},
		{"", "", ""},
		{"", "-5", ""},
	};

	for (uint32_t i = 0; i < 6; i++)
		for (uint32_t records = 0; records < 6000; records = records * 7 + (i + records) % 2 + 2)
		{
			FusedCase	c;
			Columns		all;

			unit_case("large sums %u of %u", i, records);
			schedule(i + records);
			c.nfields = 2;
			c.column.push_back({PP_INT8, 0, 0, -1});
			c.column.push_back({PP_INT2, 1, 0, -1});
			for (uint32_t k = 0; k < records; k++)
				append(&c.text, bytes_of(std::string(value[i][k % 3]) + "," + std::to_string(k % 100) + "\n"));
			c.room = records + 1;
			c.heap_room = 0;
			all = cpu_columns(c);
			for (uint32_t op = 0; op <= PP_AGGREGATE_MAX; op++)
				c.aggregate.push_back({(PpAggregateOp) op, op % 2, 0});
			for (uint32_t op = 0; op <= PP_AGGREGATE_MAX; op++)
				c.aggregate.push_back({(PpAggregateOp) op, 0, 0});
			if (records % 3 == 1)
			{
				PpFilter	f = {};

				f.column = 1;
				f.op = PP_OP_LT;
				f.compare = PP_COMPARE_INT64;
				f.constant = 50;
				c.filter.push_back(f);
			}
			check_select(c, all, false);
		}
}

/*
 * Numerics and floats: equal values that differ, those that are too long to be
 * taken, few records and many blocks of them, many aggregates and few.
 */
void
test_ranks(uint64_t n)
{
	static const char *const value[] = {
		"0", "-0", "0.0", "0.00", "-0.0", "1", "1.0", "1.000", "-1", "-1.50", "-1.5", "", "",
		"1234.5678", "1234.56780000", "99999999", "-99999999.9999", "0.0001", "-0.00010000",
		"12345678.90123456", "9999999999999999.999999999999", "0.000000000001",
		/* too long for some, for all */
		"0.0000000000001", "10000000000000000", "123456789012345678901234.5", "x"
	};
	static const uint32_t tame[] = {7, 13, 19, 22, 26};
	static const PpAggregateOp op[] = {PP_AGGREGATE_SUM_NUMERIC, PP_AGGREGATE_MIN_NUMERIC, PP_AGGREGATE_MAX_NUMERIC,
		PP_AGGREGATE_MIN_FLOAT8, PP_AGGREGATE_MAX_FLOAT8, PP_AGGREGATE_MIN_FLOAT4, PP_AGGREGATE_MAX_FLOAT4,
		PP_AGGREGATE_COUNT_ALL};

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_RANKS, i);
		/* mostly such as are equal to others */
		const uint32_t values = unit_once_in(&r, 2) ? 7 : tame[unit_below(&r, 5)];
		const uint32_t from = unit_once_in(&r, 3) ? unit_below(&r, values) : 0;
		/* every eighth: a sum of many, and a value of its kind, which few blocks see */
		const bool	many = i % 8 == 0;
		const uint32_t records = many ? 4000 + unit_below(&r, 2000) :
			unit_below(&r, unit_once_in(&r, 8) ? 6000 : 40);
		const uint32_t rare = many || unit_once_in(&r, 2) ? unit_below(&r, records) : records;
		FusedCase	c;
		Columns		all;

		unit_case("ranks %llu: %u records", (unsigned long long) i, records);
		schedule((uint32_t) unit_below(&r, 1000));
		c.nfields = 2;
		c.column.push_back({PP_NUMERIC, 0, 0, -1});
		c.column.push_back({PP_FLOAT8, 0, 0, -1});
		c.column.push_back({PP_FLOAT4, 1, 0, -1});
		for (uint32_t k = 0; k < records; k++)
			append(&c.text, bytes_of(std::string(k == rare ? many ? "0.000000000001" : "-18446744073709551616" :
												 value[from + unit_below(&r, values - from)]) + "," +
									 value[unit_below(&r, 13)] + "\n"));
		c.room = records + 1;
		all = cpu_columns(c);
		if (many)
			c.aggregate.push_back({PP_AGGREGATE_SUM_NUMERIC, 0, 3});
		for (uint32_t a = unit_below(&r, unit_once_in(&r, 3) ? 30 : 4) + !many; a > 0; a--)
		{
			const PpAggregateOp one = op[unit_below(&r, unit_once_in(&r, 4) ? 1 : 8)];

			c.aggregate.push_back({one, is_numeric(one) ? 0u :
				one == PP_AGGREGATE_MIN_FLOAT4 || one == PP_AGGREGATE_MAX_FLOAT4 ? 2u : 1u,
				is_numeric(one) ? many ? 3 : unit_below(&r, 4) : 0});
		}
		if (unit_once_in(&r, 3))
		{
			PpFilter	f = {};

			f.column = 2;
			f.op = PP_OP_GE;
			f.compare = PP_COMPARE_FLOAT4;
			c.filter.push_back(f);
		}
		check_select(c, all, false);
	}
}

/* All, none, and records of which nothing is known. */
void
test_extremes(void)
{
	static const PpOp op[] = {PP_OP_NOT_NULL, PP_OP_IS_NULL, PP_OP_NEVER, PP_OP_EQ};

	for (uint32_t i = 0; i < 4 * 3 * 2; i++)
	{
		FusedCase	c;
		PpFilter	f = {};
		Columns		all;

		unit_case("extremes %u", i);
		schedule(i);
		c.nfields = 2;
		c.column.push_back({i / 4 % 3 == 0 ? PP_DEFER : PP_INT4, 0, 0, -1});
		c.column.push_back({PP_TEXT, 1, 0, -1});
		for (uint32_t k = 0; k < 700; k++)
			append(&c.text, bytes_of(i / 4 % 3 == 2 ? "x,abc\n" : "12,abc\n"));
		c.room = 700;
		all = cpu_columns(c);
		f.op = op[i % 4];
		f.compare = PP_COMPARE_INT64;
		f.constant = 12;
		c.filter.push_back(f);
		if (i >= 12)
			c.aggregate.push_back({PP_AGGREGATE_COUNT_ALL, 0, 0});
		else
			c.late = {false, true};
		check_select(c, all, false);
	}
}

/* Late values for which there is too little room are handed over. */
void
test_room(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_ROOM, i);
		FusedCase	c = random_scan(&r, 100);
		PpFilter	f = {};
		Columns		all;

		unit_case("room %llu", (unsigned long long) i);
		c.column.push_back({PP_TEXT, unit_below(&r, c.nfields), 0, -1});
		f.column = 0;
		f.op = PP_OP_NOT_NULL;
		all = cpu_columns(c);
		c.filter.push_back(f);
		choose_late(&r, &c);
		c.heap_room = unit_below(&r, 2000) / 8 * 8;
		c.longs_room = unit_below(&r, 10);
		check_select(c, all, true);
	}
}

}								/* namespace */

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "fused_select_test");
	test_extremes();
	test_large_sums();
	test_filters(unit_iterations(300));
	test_totals(unit_iterations(150));
	test_ranks(unit_iterations(300));
	test_room(unit_iterations(40));
	check_leftovers();
	return unit_end();
}

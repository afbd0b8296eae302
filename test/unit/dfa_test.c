/*
 * test/unit/dfa_test.c
 *	  Properties of transition vectors, their scan, symbol groups and column
 *	  offsets, on random automata and exhaustively on small ones.
 */
#include <string.h>

#include "parse/dfa.h"
#include "unit.h"

enum
{
	T_AUTOMATA = 1,
	T_ALGEBRA,
	T_SCAN,
	T_GROUPS,
	T_COLUMNS
};

/* A random automaton in which bytes fall into at most `kinds` kinds. */
static void
random_dfa(UnitRandom *r, PpDfa *dfa, uint32_t kinds)
{
	uint8_t		column[256][PP_DFA_STATES];

	memset(dfa, 0, sizeof(*dfa));
	dfa->nstates = (uint8_t) (1 + unit_below(r, PP_DFA_STATES));
	dfa->start = (uint8_t) unit_below(r, dfa->nstates);
	dfa->eol_len = 1;
	for (uint32_t k = 0; k < kinds; k++)
	{
		/* some differ from the one before in a single state */
		bool		similar = k > 0 && unit_once_in(r, 2);
		uint32_t	different = unit_below(r, dfa->nstates);

		for (uint32_t s = 0; s < PP_DFA_STATES; s++)
			column[k][s] = similar && s != different ? column[k - 1][s] :
				(uint8_t) (unit_below(r, dfa->nstates) | (unit_below(r, 16) << 4));
	}
	for (uint32_t b = 0; b < 256; b++)
	{
		uint32_t	k = kinds == 256 ? b : unit_below(r, kinds);

		for (uint32_t s = 0; s < dfa->nstates; s++)
			dfa->step[s][b] = column[k][s];
	}
	pp_dfa_group(dfa);
}

static uint32_t
run(const PpDfa *dfa, uint32_t state, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		state = dfa->step[state][p[i]] & 15u;
	return state;
}

/* Any sequence of cuts composes to the sequential automaton. */
static void
test_automata(void)
{
	uint64_t	n = unit_iterations(20000);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_AUTOMATA, i);
		static const uint32_t kinds[] = {1, 2, 3, 5, 9, 30, 255, 256};
		PpDfa		dfa;
		uint8_t		text[200];
		size_t		len = unit_below(&r, sizeof(text) + 1);
		size_t		from = 0;
		PpVector	composed = PP_VEC_IDENTITY;
		PpVector	whole;
		uint32_t	pieces = 0;

		unit_case("automaton %llu", (unsigned long long) i);
		random_dfa(&r, &dfa, kinds[unit_below(&r, 8)]);
		for (size_t k = 0; k < len; k++)
			text[k] = (uint8_t) unit_below(&r, 256);
		whole = pp_dfa_vector(&dfa, text, len);
		while (from < len)
		{
			size_t		to = from + unit_below(&r, (uint32_t) (len - from + 1));

			/* empty pieces are pieces, too */
			if (pieces++ > 400)
				to = len;
			composed = pp_vec_compose(composed, pp_dfa_vector(&dfa, text + from, to - from));
			from = to;
		}
		EXPECT(composed == whole, "%u pieces of %zu bytes: %llx is not %llx", pieces, len,
			   (unsigned long long) composed, (unsigned long long) whole);
		for (uint32_t s = 0; s < dfa.nstates; s++)
			EXPECT(pp_vec_apply(whole, s) == run(&dfa, s, text, len),
				   "from state %u: %u, but %u by steps", s,
				   pp_vec_apply(whole, s), run(&dfa, s, text, len));
	}
}

static PpVector
random_vector(UnitRandom *r)
{
	return (PpVector) unit_next(r);
}

/* The n-th of the k^k functions from k states to k states, identity beyond. */
static PpVector
small_function(uint32_t k, uint32_t n)
{
	PpVector	v = PP_VEC_IDENTITY;

	for (uint32_t s = 0; s < k; s++)
	{
		v &= ~((PpVector) 15 << (4 * s));
		v |= (PpVector) (n % k) << (4 * s);
		n /= k;
	}
	return v;
}

static bool
is_composition(PpVector c, PpVector a, PpVector b)
{
	for (uint32_t s = 0; s < PP_DFA_STATES; s++)
		if (pp_vec_apply(c, s) != pp_vec_apply(b, pp_vec_apply(a, s)))
			return false;
	return true;
}

static void
test_algebra(void)
{
	static const uint32_t functions[] = {1, 1, 4, 27};
	uint64_t	n = unit_iterations(200000);

	unit_case("identity");
	for (uint32_t s = 0; s < PP_DFA_STATES; s++)
		EXPECT(pp_vec_apply(PP_VEC_IDENTITY, s) == s, "state %u", s);

	for (uint32_t k = 1; k <= 3; k++)
	{
		unit_case("all functions of %u states", k);
		for (uint32_t a = 0; a < functions[k]; a++)
			for (uint32_t b = 0; b < functions[k]; b++)
			{
				PpVector	va = small_function(k, a);
				PpVector	vb = small_function(k, b);
				PpVector	ab = pp_vec_compose(va, vb);

				EXPECT(is_composition(ab, va, vb), "%u then %u", a, b);
				for (uint32_t c = 0; c < functions[k]; c++)
				{
					PpVector	vc = small_function(k, c);

					EXPECT(pp_vec_compose(ab, vc) == pp_vec_compose(va, pp_vec_compose(vb, vc)),
						   "%u, %u, %u do not associate", a, b, c);
				}
			}
	}

	unit_case("random vectors");
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_ALGEBRA, i);
		PpVector	a = random_vector(&r);
		PpVector	b = random_vector(&r);
		PpVector	c = random_vector(&r);

		EXPECT(is_composition(pp_vec_compose(a, b), a, b), "%llu: definition",
			   (unsigned long long) i);
		EXPECT(pp_vec_compose(pp_vec_compose(a, b), c) == pp_vec_compose(a, pp_vec_compose(b, c)),
			   "%llu: associativity", (unsigned long long) i);
		EXPECT(pp_vec_compose(a, PP_VEC_IDENTITY) == a, "%llu: right identity",
			   (unsigned long long) i);
		EXPECT(pp_vec_compose(PP_VEC_IDENTITY, a) == a, "%llu: left identity",
			   (unsigned long long) i);
	}
}

static void
test_scan(void)
{
	uint64_t	n = unit_iterations(2000);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_SCAN, i);
		PpVector	v[70];
		PpVector	scan[70];
		size_t		len = i < 4 ? (size_t) i : unit_below(&r, 71);
		PpVector	total;

		unit_case("scan %llu of %zu vectors", (unsigned long long) i, len);
		for (size_t k = 0; k < len; k++)
			scan[k] = v[k] = random_vector(&r);
		total = pp_vec_exclusive_scan(scan, len);
		for (uint32_t s = 0; s < PP_DFA_STATES; s++)
		{
			uint32_t	state = s;

			for (size_t k = 0; k < len; k++)
			{
				EXPECT(pp_vec_apply(scan[k], s) == state, "start of %zu from %u", k, s);
				state = pp_vec_apply(v[k], state);
			}
			EXPECT(pp_vec_apply(total, s) == state, "total from %u", s);
		}
	}
}

static bool
same_column(const PpDfa *dfa, uint32_t a, uint32_t b, uint32_t mask)
{
	for (uint32_t s = 0; s < dfa->nstates; s++)
		if ((dfa->step[s][a] & mask) != (dfa->step[s][b] & mask))
			return false;
	return true;
}

static void
test_groups(void)
{
	uint64_t	n = unit_iterations(300);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_GROUPS, i);
		static const uint32_t kinds[] = {1, 2, 4, 17, 255, 256};
		uint32_t	kind = kinds[unit_below(&r, 6)];
		PpDfa		dfa;
		uint32_t	distinct = 0;

		unit_case("groups %llu of at most %u kinds of bytes", (unsigned long long) i, kind);
		random_dfa(&r, &dfa, kind);
		for (uint32_t b = 0; b < 256; b++)
		{
			bool		first = true;

			for (uint32_t s = 0; s < dfa.nstates; s++)
				EXPECT(pp_vec_apply(dfa.row[dfa.group[b]], s) == (dfa.step[s][b] & 15u),
					   "byte %u, group %u, state %u", b, dfa.group[b], s);
			for (uint32_t a = 0; a < b; a++)
			{
				if (same_column(&dfa, a, b, 15))
					first = false;
				if (same_column(&dfa, a, b, 255))
					EXPECT(dfa.group[a] == dfa.group[b], "bytes %u and %u act alike", a, b);
			}
			distinct += first;
		}
		/* the number of groups does not fit if there are 256 */
		EXPECT(dfa.ngroups == (distinct < 256 ? distinct : 255), "%u groups, %u kinds",
			   dfa.ngroups, distinct);
	}
}

static bool
same_offset(PpColumnOffset a, PpColumnOffset b)
{
	return (a.absolute != 0) == (b.absolute != 0) && a.fields == b.fields;
}

static PpColumnOffset
offset(uint32_t absolute, uint32_t fields)
{
	PpColumnOffset o;

	o.absolute = absolute;
	o.fields = fields;
	return o;
}

static void
test_columns(void)
{
	uint64_t	n = unit_iterations(5000);

	unit_case("column offsets: all small triples");
	for (uint32_t a = 0; a < 8; a++)
		for (uint32_t b = 0; b < 8; b++)
		{
			PpColumnOffset oa = offset(a & 1, a >> 1);
			PpColumnOffset ob = offset(b & 1, b >> 1);
			PpColumnOffset ab = pp_column_combine(oa, ob);

			EXPECT(same_offset(ab, ob.absolute ? ob :
							   offset(oa.absolute, oa.fields + ob.fields)),
				   "%u with %u", a, b);
			for (uint32_t c = 0; c < 8; c++)
			{
				PpColumnOffset oc = offset(c & 1, c >> 1);

				EXPECT(same_offset(pp_column_combine(ab, oc),
								   pp_column_combine(oa, pp_column_combine(ob, oc))),
					   "%u, %u, %u do not associate", a, b, c);
			}
		}

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_COLUMNS, i);
		uint8_t		event[120];	/* 0 nothing, 1 field end, 2 record end */
		uint32_t	records = 1 + unit_below(&r, 30);
		uint32_t	len = unit_below(&r, sizeof(event) + 1);
		PpColumnOffset total = offset(0, 0);
		uint32_t	fields = 0;
		uint32_t	ends = 0;
		uint32_t	from = 0;

		unit_case("column offset %llu", (unsigned long long) i);
		for (uint32_t k = 0; k < len; k++)
		{
			event[k] = unit_once_in(&r, records) ? 2 : (uint8_t) unit_below(&r, 2);
			if (event[k] == 2)
				ends++, fields = 0;
			else
				fields += event[k];
		}
		while (from < len)
		{
			uint32_t	to = from + 1 + unit_below(&r, len - from);
			PpColumnOffset piece = offset(0, 0);

			for (; from < to; from++)
				piece = pp_column_combine(piece, event[from] == 2 ? offset(1, 0) :
										  offset(0, event[from]));
			total = pp_column_combine(total, piece);
		}
		EXPECT(same_offset(total, offset(ends > 0, fields)),
			   "%u %u, but %u field ends behind %u record ends",
			   total.absolute, total.fields, fields, ends);
	}
}

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "dfa");
	test_automata();
	test_algebra();
	test_scan();
	test_groups();
	test_columns();
	return unit_end();
}

/*
 * test/cuda/structure_test.cpp
 *	  The structure half of the pipeline as published, under the host SIMT layer:
 *	  in-register arrays, symbol matching, transition vectors, bitmap indexes,
 *	  offsets, shapes, tags, partition and index.
 *
 * Texts are hostile, chunks have any size, threads run in any order.  Features
 * beside the main path have a test of their own, features_test.cpp.
 */
#include "structure_check.h"

namespace
{

enum
{
	T_MATCH = 1,
	T_VECTORS,
	T_DIALECTS,
	T_CUTS,
	T_RAGGED,
	T_TERMINATOR,
	T_BLOCKS,
	T_EMPTY
};

/*
 * Symbol matching
 */
__global__ void
match_kernel(uint32_t lu0, uint32_t lu1, uint32_t lu2, uint32_t lu3, uint32_t nsymbols,
			 uint32_t *group)
{
	const uint32_t one[1] = {lu0};
	const uint32_t two[2] = {lu0, lu1};
	const uint32_t four[4] = {lu0, lu1, lu2, lu3};

	group[threadIdx.x] = nsymbols <= 4 ? pp_symbol_group<1>(one, threadIdx.x, nsymbols) :
		nsymbols <= 8 ? pp_symbol_group<2>(two, threadIdx.x, nsymbols) :
		pp_symbol_group<4>(four, threadIdx.x, nsymbols);
}

void
check_match(const Bytes &symbol, cudaStream_t stream)
{
	uint32_t	lu[4] = {0};
	Device<uint32_t> out(256);
	std::vector<uint32_t> group;

	for (uint32_t i = 0; i < 16; i++)
		lu[i / 4] |= (uint32_t) symbol[i < symbol.size() ? i : symbol.size() - 1] << (8 * (i % 4));
	PP_LAUNCH(match_kernel, 1, 256, 0, stream, lu[0], lu[1], lu[2], lu[3],
			  (uint32_t) symbol.size(), out.p);
	group = get(out.p, 256, stream);
	for (uint32_t c = 0; c < 256; c++)
	{
		uint32_t	want = (uint32_t) symbol.size();

		for (uint32_t i = (uint32_t) symbol.size(); i-- > 0;)
			if (symbol[i] == c)
				want = i;
		EXPECT(group[c] == want, "byte %02x: group %u, not %u", c, group[c], want);
	}
}

void
test_match(void)
{
	Stream		stream;
	uint64_t	n = unit_iterations(250);

	unit_case("every pair of symbols that differ in the lowest bit");
	for (uint32_t c = 0; c < 256; c += 2)
	{
		if (!is_done(c / 2))
			continue;
		/* a true match below one that Mycroft's formula takes for one */
		check_match({(uint8_t) c, (uint8_t) (c + 1), (uint8_t) (c + 1), (uint8_t) (c + 128)}, stream.s);
		check_match({(uint8_t) (c + 1), (uint8_t) c, (uint8_t) (c + 2), (uint8_t) (c + 129)}, stream.s);
	}
	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_MATCH, i);
		Bytes		symbol(1 + unit_below(&r, 16));
		uint32_t	near = unit_below(&r, 256);

		unit_case("symbols %llu", (unsigned long long) i);
		for (uint8_t &s : symbol)
			s = (uint8_t) (unit_once_in(&r, 2) ? unit_below(&r, 256) : near ^ (1u << unit_below(&r, 8)));
		check_match(symbol, stream.s);
	}
}

/*
 * In-register arrays
 */
static_assert(PpMfira<10, 5>::bits == 2 && PpMfira<10, 5>::fragments == 3, "the publication's example");
static_assert(PpMfira<16, 4>::bits == 2 && PpMfira<16, 4>::fragments == 2, "states");
static_assert(PpMfira<8, 4>::bits == 4 && PpMfira<8, 4>::fragments == 1, "up to eight states");
static_assert(PpMfira<32, 3>::bits == 1 && PpMfira<32, 3>::fragments == 3, "one bit each");
static_assert(PpMfira<1, 32>::fragments == 1 && PpMfira<2, 32>::fragments == 2, "whole words");

/* A thread does `steps` random writes; after each, items are as in item[]. */
template <int ITEMS, int BITS>
__global__ void
mfira_kernel(uint64_t seed, uint32_t steps, uint32_t *wrong)
{
	PP_DYNAMIC_SHARED(raw);
	uint32_t   *item = reinterpret_cast<uint32_t *>(raw) + threadIdx.x * ITEMS;
	PpMfira<ITEMS, BITS> a;
	uint32_t	mask = 0xffffffffu >> (32 - BITS);
	uint64_t	z = seed + threadIdx.x;

	a.clear();
	for (uint32_t i = 0; i < ITEMS; i++)
		item[i] = 0;
	for (uint32_t k = 0; k < steps; k++)
	{
		uint32_t	at;
		uint32_t	v;

		z = z * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		at = (uint32_t) (z >> 33) % ITEMS;
		v = (uint32_t) (z >> 20) & mask;
		item[at] = v;
		a.set(at, v);
		for (uint32_t i = 0; i < ITEMS; i++)
			if (a.get(i) != item[i])
				atomicAdd(wrong, 1u);
	}
}

template <int ITEMS, int BITS>
void
check_mfira(cudaStream_t stream)
{
	Device<uint32_t> wrong(1);

	unit_case("%d items of %d bits", ITEMS, BITS);
	CUDA(cudaMemsetAsync(wrong.p, 0, sizeof(uint32_t), stream));
	PP_LAUNCH((mfira_kernel<ITEMS, BITS>), 1, 32, 32 * ITEMS * 4, stream,
			  (uint64_t) ITEMS * 100 + BITS, 60u, wrong.p);
	EXPECT(get(wrong.p, 1, stream)[0] == 0, "items are not what was written");
}

void
test_mfira(void)
{
	Stream		stream;

	check_mfira<10, 5>(stream.s);
	check_mfira<16, 4>(stream.s);
	check_mfira<8, 4>(stream.s);
	check_mfira<6, 3>(stream.s);
	check_mfira<32, 1>(stream.s);
	check_mfira<32, 7>(stream.s);
	check_mfira<17, 9>(stream.s);
	check_mfira<2, 32>(stream.s);
	check_mfira<1, 32>(stream.s);
	check_mfira<3, 13>(stream.s);
}

/*
 * Random automata
 */
void
random_dfa(UnitRandom *r, PpDfa *dfa, uint32_t nsymbols)
{
	uint8_t		column[PP_DFA_STATES];
	bool		special[256] = {false};

	memset(dfa, 0, sizeof(*dfa));
	dfa->nstates = (uint8_t) (1 + unit_below(r, PP_DFA_STATES));
	dfa->start = (uint8_t) unit_below(r, dfa->nstates);
	dfa->eol_len = 1;
	for (uint32_t s = 0; s < PP_DFA_STATES; s++)
	{
		column[s] = (uint8_t) unit_below(r, dfa->nstates);
		dfa->end[s] = (uint8_t) unit_below(r, 7);
	}
	for (uint32_t i = 0; i < nsymbols;)
	{
		uint32_t	b = unit_below(r, 256);

		i += !special[b];
		special[b] = true;
	}
	for (uint32_t b = 0; b < 256; b++)
		for (uint32_t s = 0; s < dfa->nstates; s++)
			dfa->step[s][b] = !special[b] ? column[s] :
				(uint8_t) (unit_below(r, dfa->nstates) | (unit_below(r, 4) << 4));
	pp_dfa_group(dfa);
}

void
test_vectors(void)
{
	uint64_t	n = unit_iterations(120);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_VECTORS, i);
		PpDfa		dfa;
		Bytes		text(unit_below(&r, 1500));
		uint32_t	chunk = 1 + unit_below(&r, unit_once_in(&r, 4) ? PP_PAPER_MAX_CHUNK : 70);
		uint32_t	nsymbols = unit_below(&r, PP_DEVICE_SYMBOLS + 1);
		std::vector<PpVector> vector;

		unit_case("automaton %llu, %u symbols, chunks of %u", (unsigned long long) i, nsymbols, chunk);
		schedule((uint32_t) i);
		random_dfa(&r, &dfa, nsymbols);
		/* few values, so that those that matter occur */
		for (uint8_t &c : text)
		{
			c = (uint8_t) unit_below(&r, 256);
			for (int k = 0; k < 20 && dfa.group[c] == dfa.group[0]; k++)
				c = (uint8_t) unit_below(&r, 256);
		}
		vector = run_vectors(make_job(dfa, NULL, 1, chunk), text, unit_below(&r, 16), PP_SYMBOL_BYTE);
		EXPECT(vector.size() == (text.empty() ? 1 : (text.size() - 1) / chunk + 1), "chunks");
		for (size_t k = 0; k < vector.size(); k++)
		{
			size_t		from = k * chunk;
			size_t		len = text.size() - from < chunk ? text.size() - from : chunk;
			PpVector	want = pp_dfa_vector(&dfa, text.data() + from, len);

			EXPECT(vector[k] == want, "chunk %zu: %llx, not %llx", k,
				   (unsigned long long) vector[k], (unsigned long long) want);
			for (uint32_t s = 0; s < dfa.nstates; s++)
			{
				uint32_t	state = s;

				for (size_t b = 0; b < len; b++)
					state = dfa.step[state][text[from + b]] & 15u;
				EXPECT(pp_vec_apply(vector[k], s) == state, "chunk %zu from state %u", k, s);
			}
		}
	}

	unit_case("more symbols than there is room for");
	for (uint32_t extra = 0; extra < 4; extra++)
	{
		UnitRandom	r = unit_random(T_VECTORS, 1000000 + extra);
		PpDfa		dfa;
		PpDeviceDfa d;

		random_dfa(&r, &dfa, 0);
		for (uint32_t b = 0; b < PP_DEVICE_SYMBOLS + extra; b++)
			dfa.step[0][b] = (uint8_t) (dfa.step[0][b] ^ 0x10u);
		pp_dfa_group(&dfa);
		EXPECT(pp_device_dfa(&dfa, NULL, &d) == (extra == 0), "%u symbols",
			   PP_DEVICE_SYMBOLS + extra);
	}
}

/*
 * Dialects
 */
Bytes
random_text(UnitRandom *r, const PpDialect &d, PpEol eol, uint32_t nfields, size_t most)
{
	Bytes		text(most);

	switch (unit_below(r, 3))
	{
		case 0:
			text.resize(texts_soup(r, &d, text.data(), 1 + unit_below(r, (uint32_t) most)));
			break;
		case 1:
			text.resize(texts_records(r, &d, eol, nfields, 0, text.data(), most));
			break;
		default:
			text.resize(texts_records(r, &d, eol, nfields, 40, text.data(), most));
			break;
	}
	/* the terminator is a byte like any other */
	if (!text.empty() && unit_once_in(r, 3))
		text[unit_below(r, (uint32_t) text.size())] = PP_TERMINATOR;
	return text;
}

void
test_dialects(void)
{
	uint64_t	n = unit_iterations(900);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_DIALECTS, i);
		PpDialect	d = texts_dialect[i % texts_ndialects];
		PpEol		eol = (PpEol) (PP_EOL_NL + unit_below(&r, 3));
		uint32_t	nfields = unit_once_in(&r, 12) ? 0 : 1 + unit_below(&r, 5);
		uint32_t	chunk = 1 + (uint32_t) i % 70;
		PpStructureJob job;
		PpDfa		dfa;
		Bytes		text;

		d.end_marker = unit_once_in(&r, 3);
		if (unit_once_in(&r, 40))
			chunk = PP_PAPER_MAX_CHUNK - unit_below(&r, 130);
		unit_case("text %llu: %s, %s, %u fields, chunks of %u", (unsigned long long) i,
				  texts_dialect_name(&d), texts_eol_name(eol), nfields, chunk);
		schedule((uint32_t) i);
		pp_dialect_compile(&d, eol, &dfa);
		text = random_text(&r, d, eol, nfields > 0 ? nfields : 1, 40 + unit_below(&r, 500));
		job = make_job(dfa, &d, nfields, chunk);
		job.last = !unit_once_in(&r, 3);
		job.ragged = nfields > 0 && unit_once_in(&r, 4);
		if (unit_once_in(&r, 3))
			job.max_records = 1 + unit_below(&r, 6);
		if (unit_once_in(&r, 4))
			job.skip_first = unit_below(&r, 4);
		check_all(job, dfa, d, text, unit_below(&r, 16), &r);
	}
}

/* Texts of many blocks, which may run in any order. */
void
test_blocks(void)
{
	uint64_t	n = unit_iterations(60);

	for (uint64_t i = 0; i < n; i++)
	{
		UnitRandom	r = unit_random(T_BLOCKS, i);
		PpDialect	d = texts_dialect[unit_below(&r, texts_nusual)];
		PpEol		eol = (PpEol) (PP_EOL_NL + unit_below(&r, 3));
		uint32_t	chunk = 1 + (uint32_t) i % 6;
		PpStructureJob job;
		PpDfa		dfa;
		Bytes		text(3000);

		unit_case("long text %llu: %s, %s, chunks of %u", (unsigned long long) i,
				  texts_dialect_name(&d), texts_eol_name(eol), chunk);
		schedule((uint32_t) i);
		pp_dialect_compile(&d, eol, &dfa);
		if (i % 2 == 0)
		{
			/* records of the wrong shape in several blocks: the first counts */
			text.clear();
			while (text.size() < 2500)
			{
				bool		is_bad = text.size() > 400 && unit_once_in(&r, 40);

				text.push_back('a');
				text.push_back(is_bad ? 'x' : d.delimiter);
				text.push_back('b');
				if (eol != PP_EOL_NL)
					text.push_back('\r');
				if (eol != PP_EOL_CR)
					text.push_back('\n');
			}
		}
		else
			text.resize(texts_records(&r, &d, eol, 2, 0, text.data(), text.size()));
		job = make_job(dfa, &d, 2, chunk);
		/* aligned text has no byte more in a tile than it has to */
		check_all(job, dfa, d, text, i % 4 < 2 ? 0 : unit_below(&r, 16), &r);
	}
}

/* Records without fields hold nothing. */
void
test_empty(void)
{
	static const char *corpus[] = {"", "\n", "\n\n\n", "x", "\nx", "\n\nx\n\n", "\n,\n", "\n\"\"", ","};
	PpDialect	d = {',', '"', '"', false};
	uint64_t	number = 0;

	for (PpEol eol : {PP_EOL_NL, PP_EOL_CR, PP_EOL_CRNL})
		for (const char *c : corpus)
			for (uint32_t chunk : {1u, 2u, 3u, 31u})
			{
				UnitRandom	r = unit_random(T_EMPTY, number);
				Bytes		text;
				PpDfa		dfa;

				if (!is_done(number++))
					continue;
				for (const char *p = c; *p; p++)
				{
					if (*p != '\n' || eol != PP_EOL_NL)
						text.push_back((uint8_t) (*p == '\n' ? '\r' : *p));
					if (*p == '\n' && eol != PP_EOL_CR)
						text.push_back('\n');
				}
				unit_case("no fields, %s, %s, chunks of %u", unit_show(text.data(), text.size()),
						  texts_eol_name(eol), chunk);
				schedule((uint32_t) number);
				pp_dialect_compile(&d, eol, &dfa);
				check_all(make_job(dfa, &d, 0, chunk), dfa, d, text, 0, &r);
			}
}

/* The partition ends behind any byte, and chunks begin at any. */
void
test_cuts(void)
{
	static const struct
	{
		PpDialect	d;
		PpEol		eol;
		const char *text;
	}			corpus[] = {
		{{',', '"', '"', true}, PP_EOL_NL, "a,\"b\n\"\"c\"\n,\"\"\n\"x\"y\"z\",\x1e\n1,2\n\\.\nz"},
		{{',', '"', '\\', true}, PP_EOL_CRNL, "a,\"\\\"\\\\\\x\"\r\n\"\r\n\",,\r\n\\.,b\r\n\\.\r\nx"},
		{{';', '\'', '\'', false}, PP_EOL_CR, "\xc3\xa4;'''\r'\r;\r'';'a'\rlast;one"},
		{{',', '"', '"', false}, PP_EOL_CRNL, "a,b\r\n\"c\r\",d\rx,y\r\n"},
		{{',', '\\', '.', true}, PP_EOL_NL, "\\.\\\\,x\n\\a\\,\\..\\\nb,c\n"},
		{{'\x1e', '"', '"', false}, PP_EOL_NL, "a\x1e\"\x1e\"\nb\x1e\n"},
	};
	uint64_t	number = 0;

	for (const auto &c : corpus)
	{
		Bytes		whole = bytes_of(c.text);
		PpDfa		dfa;

		pp_dialect_compile(&c.d, c.eol, &dfa);
		for (size_t n = 0; n <= whole.size(); n++)
			for (int last = 0; last < 2; last++)
			{
				UnitRandom	r = unit_random(T_CUTS, number);
				static const uint32_t chunks[] = {1, 2, 3, 5, 7, 16, 31, 33};
				uint32_t	chunk = chunks[number % 8];
				PpStructureJob job;

				if (!is_done(number))
				{
					number++;
					continue;
				}
				unit_case("%s cut behind %zu bytes%s, chunks of %u",
						  unit_show(whole.data(), whole.size()), n, last ? ", the last" : "", chunk);
				schedule((uint32_t) number);
				job = make_job(dfa, &c.d, 2, chunk);
				job.last = last;
				check_all(job, dfa, c.d, Bytes(whole.begin(), whole.begin() + (ptrdiff_t) n),
						  (uint32_t) number % 16, &r);
				number++;
			}
	}
}

void
test_ragged(void)
{
	static const char *corpus[] = {
		"1,Apples\n2\n", "\n\n\n", ",,,,\n\n,\n", "a\nb,c\nd,e,f\ng,h,i,j\n\n\"\",\"\"\nz",
		"a,b,c\n\"d,e\nf\"\n,\"\"\n", "", "x", ",", "\"\"", "\n", "a,b\n,\n\"\",x,y,z",
	};
	PpDialect	d = {',', '"', '"', false};
	PpDfa		dfa;
	uint64_t	number = 0;

	pp_dialect_compile(&d, PP_EOL_NL, &dfa);
	for (const char *text : corpus)
		for (uint32_t nfields = 1; nfields <= 4; nfields++)
			for (uint32_t chunk = 1; chunk <= 34; chunk += 11)
			{
				UnitRandom	r = unit_random(T_RAGGED, number);
				PpStructureJob job;

				if (!is_done(number))
				{
					number++;
					continue;
				}
				unit_case("%s as %u fields, chunks of %u",
						  unit_show((const uint8_t *) text, strlen(text)), nfields, chunk);
				schedule((uint32_t) number++);
				job = make_job(dfa, &d, nfields, chunk);
				job.ragged = true;
				job.skip_first = number % 5 == 0;
				check_all(job, dfa, d, bytes_of(text), 0, &r);
			}
}

/* What a value holds is not looked at: terminators in it are data. */
void
test_terminator(void)
{
	PpDialect	d = {',', '"', '"', false};
	PpDfa		dfa;
	const std::string t = "\x1e";

	pp_dialect_compile(&d, PP_EOL_NL, &dfa);
	for (uint32_t chunk = 1; chunk <= 40; chunk += 3)
	{
		UnitRandom	r = unit_random(T_TERMINATOR, chunk);

		unit_case("terminators in values, chunks of %u", chunk);
		schedule(chunk);
		check_all(make_job(dfa, &d, 2, chunk), dfa, d,
				  bytes_of(t + "," + t + "\na" + t + ",\"" + t + t + "\"\n," + t + "\n" + t + ","), 0, &r);
	}
}

}								/* namespace */

int
main(int argc, char **argv)
{
	unit_begin(argc, argv, "structure_test");
	test_match();
	test_mfira();
	test_vectors();
	test_dialects();
	test_blocks();
	test_empty();
	test_cuts();
	test_ragged();
	test_terminator();
	check_leftovers();
	return unit_end();
}

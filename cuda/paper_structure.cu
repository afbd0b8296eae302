/*
 * cuda/paper_structure.cu
 *	  Text to bitmap indexes and offsets, as published (ParPaRaw, sections 3.1,
 *	  3.2 and 4.3).
 *
 *	  vectors	a thread a chunk: one automaton from every state at once
 *	  scan		composition of vectors: every chunk's start state
 *	  bitmaps	one automaton from the true state: records, fields, control
 *				symbols; what the chunk adds to record and column offsets
 *	  scan		offsets
 *	  shape		fields a record: min, max, and the first of the wrong shape
 *	  finish	what the host has to know
 *
 * The automaton runs twice and never again: all that follows reads bitmaps.
 * Owns no memory; never waits for the device.
 */
#include "paper_bitmap.h"

/* No position. */
#define NOWHERE		0xffffffffu

/*
 * A chunk's part of min and max of fields a record: field ends in front of its
 * first record end (the relative part), least and greatest number of fields of
 * the records that lie in it as a whole, and a bit that says that no record
 * ends in it.
 */
#define SHAPE_BITS	10
#define SHAPE_MASK	0x3ffu
#define SHAPE_NONE	0x80000000u

static_assert(PP_PAPER_MAX_CHUNK < SHAPE_MASK, "as many fields as a chunk has bytes");

bool
pp_device_dfa(const PpDfa *dfa, const PpDialect *dialect, PpDeviceDfa *out)
{
	uint64_t	row[256];
	uint64_t	emit[256];
	uint32_t	common = 0;
	uint32_t	most = 0;
	uint8_t		symbol[PP_DEVICE_SYMBOLS] = {0};
	uint32_t	n = 0;
	PpDeviceDfa d = {};

	for (uint32_t b = 0; b < 256; b++)
	{
		row[b] = emit[b] = 0;
		for (uint32_t s = 0; s < PP_DFA_STATES; s++)
		{
			uint32_t	step = s < dfa->nstates ? dfa->step[s][b] : s;

			row[b] |= (uint64_t) (step & 15u) << (4 * s);
			emit[b] |= (uint64_t) (step >> 4) << (4 * s);
		}
	}

	/* the catch-all group is the largest */
	for (uint32_t b = 0; b < 256; b++)
	{
		uint32_t	alike = 0;

		for (uint32_t c = b; c < 256; c++)
			alike += row[c] == row[b] && emit[c] == emit[b];
		if (alike > most)
		{
			most = alike;
			common = b;
		}
	}

	for (uint32_t b = 0; b < 256; b++)
	{
		if (row[b] == row[common] && emit[b] == emit[common])
			continue;
		if (n == PP_DEVICE_SYMBOLS)
			return false;
		symbol[n] = (uint8_t) b;
		d.row[n] = row[b];
		d.emit[n] = emit[b];
		n++;
	}
	d.row[n] = row[common];
	d.emit[n] = emit[common];
	d.nsymbols = n;
	for (uint32_t i = n; n > 0 && i < PP_DEVICE_SYMBOLS; i++)
		symbol[i] = symbol[n - 1];
	for (uint32_t i = 0; i < PP_DEVICE_SYMBOLS; i++)
		d.symbol[i / 4] |= (uint32_t) symbol[i] << (8 * (i % 4));

	d.nstates = dfa->nstates;
	d.start = dfa->start;
	d.eol_len = dfa->eol_len;
	for (uint32_t s = 0; s < dfa->nstates; s++)
	{
		d.end[s] = dfa->end[s];
		if (dfa->end[s] == PP_END_ACCEPT)
			d.accept |= (uint16_t) (1u << s);
	}

	if (dialect)
	{
		/*
		 * Follow the quoting through the automaton: behind a byte, a state is
		 * outside, inside, or inside behind an escape, whatever else it stands
		 * for.
		 */
		enum
		{
			UNKNOWN, OUTSIDE, INSIDE, ESCAPED
		};
		uint8_t		where[PP_DFA_STATES] = {0};
		bool		more = true;

		where[dfa->start] = OUTSIDE;
		while (more)
		{
			more = false;
			for (uint32_t s = 0; s < dfa->nstates; s++)
				for (uint32_t b = 0; where[s] != UNKNOWN && b < 256; b++)
				{
					uint32_t	step = dfa->step[s][b];
					uint8_t		to;

					if ((step & PP_EMIT_STOP) || where[step & 15u] != UNKNOWN)
						continue;
					if (where[s] == OUTSIDE)
						to = step & PP_EMIT_QUOTE ? INSIDE : OUTSIDE;
					else if (where[s] == ESCAPED)
						to = INSIDE;
					else if (dialect->escape != dialect->quote && b == dialect->escape)
						to = ESCAPED;
					else
						to = b == dialect->quote ? OUTSIDE : INSIDE;
					where[step & 15u] = to;
					more = true;
				}
		}
		for (uint32_t s = 0; s < dfa->nstates; s++)
			if (where[s] == INSIDE)
				d.inside |= (uint16_t) (1u << s);
		d.quote = dialect->quote;
		d.escape = dialect->escape;
	}
	*out = d;
	return true;
}

/* A transition row, or the states of all instances. */
typedef PpMfira<PP_DFA_STATES, 4> States;

struct VectorsShared
{
	uint64_t	row[PP_DEVICE_SYMBOLS + 1];
	States		states[PP_DEVICE_SYMBOLS + 1];
};

/* From the parameter, which must not be indexed dynamically. */
static __device__ __forceinline__ void
copy_rows(uint64_t *to, const uint64_t (&from)[PP_DEVICE_SYMBOLS + 1])
{
	PP_UNROLL
	for (uint32_t g = 0; g <= PP_DEVICE_SYMBOLS; g++)
		if (threadIdx.x == g)
			to[g] = from[g];
}

template <int REGISTERS>
static __device__ __forceinline__ void
copy_symbols(uint32_t (&to)[REGISTERS], const uint32_t (&from)[PP_DEVICE_SYMBOLS / 4])
{
	PP_UNROLL
	for (int r = 0; r < REGISTERS; r++)
		to[r] = from[r];
}

/*
 * Each chunk's transition vector (3.1).  A thread has one instance of the
 * automaton for every state; all of them take the row of the symbol read.
 */
template <int REGISTERS, int ENCODING>
__global__ void __launch_bounds__(PP_PAPER_THREADS)
pp_paper_vectors(PpDeviceDfa dfa, const uint8_t *text, uint32_t n, uint32_t chunk,
				 uint32_t nchunks, PpVector *vector, PpStructureResult *result)
{
	constexpr PpSymbolEncoding encoding = (PpSymbolEncoding) ENCODING;

	PP_SHARED(VectorsShared, sh);
	PP_DYNAMIC_SHARED(tile);
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t	base = blockIdx.x * blockDim.x * chunk;
	uint32_t	lu[REGISTERS];
	uint32_t	skew;
	States		state;

	if (i == 0)
	{
		/* what later kernels take the minimum or maximum with, or set */
		PpStructureResult r = {};

		r.bad_end = NOWHERE;
		r.stop = n;
		r.min_fields = NOWHERE;
		*result = r;
	}

	copy_rows(sh.row, dfa.row);
	copy_symbols(lu, dfa.symbol);
	skew = pp_stage_text(tile, text, n, base, blockDim.x * chunk + 1);
	__syncthreads();
	if (threadIdx.x <= PP_DEVICE_SYMBOLS)
	{
		uint64_t	row = sh.row[threadIdx.x];

		state.clear();
		PP_UNROLL
		for (uint32_t s = 0; s < PP_DFA_STATES; s++)
			state.set(s, (uint32_t) (row >> (4 * s)) & 15u);
		sh.states[threadIdx.x] = state;
	}
	__syncthreads();
	if (i >= nchunks)
		return;

	state.clear();
	PP_UNROLL
	for (uint32_t s = 0; s < PP_DFA_STATES; s++)
		state.set(s, s);

	{
		const uint8_t *in = tile + skew;
		uint32_t	at = threadIdx.x * chunk;
		uint32_t	end = n - base < at + chunk ? n - base : at + chunk;

		/* symbols whose lead byte stands in the chunk */
		for (at = pp_symbol_first(encoding, in, at, end); at < end;
			 at = pp_symbol_first(encoding, in, at + (encoding == PP_SYMBOL_UTF16 ? 2 : 1), end))
		{
			uint32_t	value = pp_symbol_value(encoding, in, at);
			uint32_t	group = value > 0xff ? dfa.nsymbols :
				pp_symbol_group<REGISTERS>(lu, value, dfa.nsymbols);
			States		row = sh.states[group];

			PP_UNROLL
			for (uint32_t s = 0; s < PP_DFA_STATES; s++)
				state.set(s, row.get(state.get(s)));
		}
	}

	{
		PpVector	v = 0;

		PP_UNROLL
		for (uint32_t s = 0; s < PP_DFA_STATES; s++)
			v |= (PpVector) state.get(s) << (4 * s);
		vector[i] = v;
	}
}

#define STEPS	((PP_DEVICE_SYMBOLS + 1) * PP_DFA_STATES)

struct BitmapsShared
{
	uint64_t	row[PP_DEVICE_SYMBOLS + 1];
	uint64_t	emit[PP_DEVICE_SYMBOLS + 1];
	uint8_t		step[STEPS];	/* [group][state] as in PpDfa */
};

/*
 * The single automaton from each chunk's true start state (3.1): the three
 * bitmaps, and what the chunk adds to the offsets (3.2).
 */
template <int REGISTERS>
__global__ void __launch_bounds__(PP_PAPER_THREADS)
pp_paper_bitmaps(PpDeviceDfa dfa, const uint8_t *text, uint32_t n, uint32_t chunk,
				 PpPaperStructure s)
{
	PP_SHARED(BitmapsShared, sh);
	PP_DYNAMIC_SHARED(tile);
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t	base = blockIdx.x * blockDim.x * chunk;
	uint32_t	lu[REGISTERS];
	uint32_t	skew;
	uint32_t	quotes = 0;
	uint32_t	terminator = 0;
	uint32_t	stop = NOWHERE;

	copy_rows(sh.row, dfa.row);
	copy_rows(sh.emit, dfa.emit);
	copy_symbols(lu, dfa.symbol);
	skew = pp_stage_text(tile, text, n, base, blockDim.x * chunk + 1);
	__syncthreads();
	for (uint32_t e = threadIdx.x; e < STEPS; e += blockDim.x)
	{
		uint32_t	group = e / PP_DFA_STATES;
		uint32_t	state = e % PP_DFA_STATES;

		sh.step[e] = (uint8_t) (((sh.row[group] >> (4 * state)) & 15u) |
								((sh.emit[group] >> (4 * state)) & 15u) << 4);
	}
	__syncthreads();

	if (i < s.nchunks)
	{
		const uint8_t *in = tile + skew;
		uint32_t	at = threadIdx.x * chunk;
		uint32_t	text_end = n - base;	/* in the tile */
		uint32_t	end = text_end < at + chunk ? text_end : at + chunk;
		uint32_t	state = pp_vec_apply(s.vector[i], dfa.start);
		uint32_t	byte = 0;
		uint32_t	step = 0;	/* of the byte at hand */
		uint32_t	records = 0;
		uint32_t	open = 0;	/* field ends behind the last record end */
		uint32_t	relative = 0;
		uint32_t	least = SHAPE_MASK;
		uint32_t	greatest = 0;

		if (at < end)
		{
			byte = in[at];
			step = sh.step[pp_symbol_group<REGISTERS>(lu, byte, dfa.nsymbols) * PP_DFA_STATES + state];
		}
		for (uint32_t w = 0; w < s.words; w++)
		{
			uint32_t	record_bits = 0;
			uint32_t	field_bits = 0;
			uint32_t	control_bits = 0;
			uint32_t	bits;

			for (uint32_t b = 0; b < 32 && at < end; b++, at++)
			{
				bool		is_inside = (dfa.inside >> state) & 1u;
				bool		has_next = at + 1 < text_end;
				uint32_t	next = 0;
				uint32_t	next_step = 0;
				uint32_t	control;

				if (has_next)
				{
					next = in[at + 1];
					next_step = sh.step[pp_symbol_group<REGISTERS>(lu, next, dfa.nsymbols) *
										PP_DFA_STATES + (step & 15u)];
				}

				/*
				 * Quotes and escapes by a look at the next byte: an escape is
				 * one only in front of a quote or an escape; of a doubled
				 * quote the first one stands for both, and the second, which
				 * opens again, is control.
				 */
				if (!is_inside)
					control = (step & (PP_EMIT_FIELD | PP_EMIT_RECORD | PP_EMIT_QUOTE)) != 0;
				else if (dfa.escape == dfa.quote)
					control = byte == dfa.quote && !(has_next && next == dfa.quote);
				else if (byte == dfa.escape)
					control = has_next && (next == dfa.quote || next == dfa.escape);
				else
					control = byte == dfa.quote;
				/* both bytes of a line end of two */
				if (dfa.eol_len == 2 && (next_step & PP_EMIT_RECORD))
					control = 1;

				control_bits |= control << b;
				record_bits |= (uint32_t) ((step & PP_EMIT_RECORD) != 0) << b;
				field_bits |= (uint32_t) ((step & (PP_EMIT_FIELD | PP_EMIT_RECORD)) == PP_EMIT_FIELD) << b;
				quotes |= step & PP_EMIT_QUOTE;
				terminator |= byte == PP_TERMINATOR && !control;
				if ((step & PP_EMIT_STOP) && stop == NOWHERE)
					stop = base + at;

				state = step & 15u;
				byte = next;
				step = next_step;
			}
			s.record_bits[(size_t) w * s.nchunks + i] = record_bits;
			s.field_bits[(size_t) w * s.nchunks + i] = field_bits;
			s.control_bits[(size_t) w * s.nchunks + i] = control_bits;

			/* fields of the records that end here */
			bits = field_bits;
			for (uint32_t left = record_bits; left != 0; left &= left - 1)
			{
				uint32_t	up_to = left ^ (left - 1);

				open += (uint32_t) __popc(bits & up_to);
				bits &= ~up_to;
				if (records++ == 0)
					relative = open;
				else
				{
					least = open + 1 < least ? open + 1 : least;
					greatest = open + 1 > greatest ? open + 1 : greatest;
				}
				open = 0;
			}
			/* absolute if a record ended, relative else: the field ends behind */
			open += (uint32_t) __popc(pp_behind_last(record_bits) & field_bits);
		}

		{
			PpChunkOffset o;

			o.records = records;
			o.column = open | (records > 0 ? PP_COLUMN_ABSOLUTE : 0);
			s.offset[i] = o;
		}
		s.shape[i] = records == 0 ? SHAPE_NONE :
			relative | least << SHAPE_BITS | greatest << (2 * SHAPE_BITS);
		if (stop != NOWHERE)
			atomicMin(&s.result->stop, stop);
		if (i == s.nchunks - 1)
			s.result->state = state;
	}

	/* one write a warp, and only the first */
	{
		uint32_t	any = __ballot_sync(0xffffffffu, quotes != 0);

		if (any && (threadIdx.x & 31) == 0 && pp_load_acquire(&s.result->quotes) == 0)
			atomicOr(&s.result->quotes, 1u);
	}
	{
		uint32_t	any = __ballot_sync(0xffffffffu, terminator != 0);

		if (any && (threadIdx.x & 31) == 0 && pp_load_acquire(&s.result->terminator) == 0)
			atomicOr(&s.result->terminator, 1u);
	}
}

/* Does the text end with a record that has no line end? */
static __device__ __forceinline__ bool
has_open_record(const PpPaperStructure *s, uint32_t n, uint32_t chunk, bool last,
				uint32_t accept)
{
	return last && n > 0 && (accept >> s->result->state & 1u) &&
		!pp_is_record_end(s, chunk, n - 1);
}

/* What the shape and finish kernels have to know of the job. */
struct ShapeParams
{
	uint64_t	skip_first;
	uint32_t	n;
	uint32_t	chunk;
	uint32_t	nfields;
	uint32_t	max_records;
	uint32_t	eol_len;
	uint32_t	accept;
	bool		last;
	bool		ragged;
};

struct ShapeShared
{
	uint32_t	least;
	uint32_t	greatest;
	uint32_t	bad;
};

/*
 * Min and max of fields a record, once the column offsets are known (4.3), and
 * the first record of the wrong shape: the one whose end comes first, however
 * the text is cut into chunks.
 */
__global__ void __launch_bounds__(PP_PAPER_THREADS)
pp_paper_shape(ShapeParams p, PpPaperStructure s)
{
	PP_SHARED(ShapeShared, sh);
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t	width = p.nfields > 0 ? p.nfields : 1;
	uint32_t	least = NOWHERE;
	uint32_t	greatest = 0;
	uint32_t	bad = NOWHERE;

	if (threadIdx.x == 0)
	{
		sh.least = NOWHERE;
		sh.greatest = 0;
		sh.bad = NOWHERE;
	}
	__syncthreads();

	if (i < s.nchunks)
	{
		PpChunkOffset o = s.offset[i];
		uint32_t	shape = s.shape[i];
		uint32_t	fields = o.column & ~PP_COLUMN_ABSOLUTE;
		bool		open_record = i == s.nchunks - 1 &&
			has_open_record(&s, p.n, p.chunk, p.last, p.accept);
		bool		walk = open_record;

		if (shape != SHAPE_NONE)
		{
			/* the relative part becomes a number of fields */
			uint32_t	first = fields + (shape & SHAPE_MASK) + 1;

			least = shape >> SHAPE_BITS & SHAPE_MASK;
			least = first < least || least == SHAPE_MASK ? first : least;
			greatest = shape >> (2 * SHAPE_BITS) & SHAPE_MASK;
			greatest = first > greatest ? first : greatest;
			walk |= o.records < p.skip_first ||
				(!p.ragged && (p.nfields == 0 || least != width || greatest != width));
		}
		if (walk)
		{
			uint32_t	r = o.records;

			least = NOWHERE;
			greatest = 0;
			for (uint32_t w = 0; w < s.words; w++)
			{
				uint32_t	record_bits = s.record_bits[(size_t) w * s.nchunks + i];
				uint32_t	field_bits = s.field_bits[(size_t) w * s.nchunks + i];

				for (; record_bits != 0; record_bits &= record_bits - 1)
				{
					uint32_t	up_to = record_bits ^ (record_bits - 1);
					uint32_t	pos = i * p.chunk + 32 * w + (uint32_t) (__ffs((int) record_bits) - 1);

					fields += (uint32_t) __popc(field_bits & up_to) + 1;
					field_bits &= ~up_to;
					if (r++ >= p.skip_first)
					{
						least = fields < least ? fields : least;
						greatest = fields > greatest ? fields : greatest;
						if (!p.ragged && bad == NOWHERE &&
							(fields != width ||
							 (p.nfields == 0 && pos + 1 != p.eol_len &&
							  (pos < p.eol_len || !pp_is_record_end(&s, p.chunk, pos - p.eol_len)))))
							bad = pos;
					}
					fields = 0;
				}
				fields += (uint32_t) __popc(field_bits);
			}
			if (open_record && r >= p.skip_first)
			{
				fields++;
				least = fields < least ? fields : least;
				greatest = fields > greatest ? fields : greatest;
				/* it holds something, or it would not be there */
				if (!p.ragged && bad == NOWHERE && (fields != width || p.nfields == 0))
					bad = p.n;
			}
		}
		if (least != NOWHERE)
		{
			atomicMin(&sh.least, least);
			atomicMax(&sh.greatest, greatest);
		}
		if (bad != NOWHERE)
			atomicMin(&sh.bad, bad);
	}
	__syncthreads();
	if (threadIdx.x == 0)
	{
		if (sh.least != NOWHERE)
		{
			atomicMin(&s.result->min_fields, sh.least);
			atomicMax(&s.result->max_fields, sh.greatest);
		}
		if (sh.bad != NOWHERE)
			atomicMin(&s.result->bad_end, sh.bad);
	}
}

/* One thread: the result, from the last byte of the first bad record (if any). */
__global__ void __launch_bounds__(32)
pp_paper_finish(ShapeParams p, PpPaperStructure s)
{
	PpStructureResult r;
	uint32_t	total;			/* record ends */
	uint32_t	bad_at;
	bool		open_record;

	if (threadIdx.x != 0)
		return;
	r = *s.result;
	bad_at = r.bad_end;
	open_record = has_open_record(&s, p.n, p.chunk, p.last, p.accept);
	total = s.offset[s.nchunks - 1].records + pp_records_of_chunk(&s, s.nchunks - 1);
	if (bad_at < p.n)
	{
		/* those in front of the bad one */
		uint32_t	i = bad_at / p.chunk;
		uint32_t	b = bad_at - i * p.chunk;

		total = s.offset[i].records;
		for (uint32_t w = 0; w <= b >> 5; w++)
			total += (uint32_t) __popc(s.record_bits[(size_t) w * s.nchunks + i] &
									   (w < b >> 5 ? 0xffffffffu : pp_low_bits(b & 31)));
	}

	r.full = total >= p.max_records;
	r.nrecords = r.full ? p.max_records : total;
	r.bad = !r.full && bad_at != NOWHERE;
	r.bad_end = r.bad_next = 0;
	if (r.bad)
	{
		r.bad_end = bad_at == p.n ? p.n : bad_at - (p.eol_len - 1);
		r.bad_next = bad_at == p.n ? p.n : bad_at + 1;
	}
	if (open_record && !r.full && !r.bad)
	{
		r.nrecords++;
		r.next = p.n;
	}
	else
		r.next = r.nrecords == 0 ? 0 : pp_record_end(&s, p.chunk, r.nrecords - 1) + 1;
	r.chunk_of_next = r.next == 0 ? 0 : (r.next - 1) / p.chunk;
	*s.result = r;
}

static bool
job_is_sound(const PpStructureJob *job)
{
	return job->n < PP_PAPER_MAX_BYTES && job->chunk >= 1 &&
		job->chunk <= PP_PAPER_MAX_CHUNK && job->max_records >= 1;
}

cudaError_t
pp_structure_layout(const PpStructureJob *job, void *base, size_t *bytes,
					PpPaperStructure *out)
{
	PpPaperStructure s = {};
	PpChunkOffset first = {};
	size_t		at = 0;
	size_t		bitmap;
	size_t		vectors = 0;
	size_t		offsets = 0;
	cudaError_t error;

	if (!job_is_sound(job))
		return cudaErrorInvalidValue;
	s.nchunks = pp_paper_chunks(job->n, job->chunk);
	s.words = (job->chunk + 31) / 32;
	bitmap = (size_t) s.words * s.nchunks;
	error = pp_scan_vectors(NULL, &vectors, NULL, NULL, s.nchunks, NULL);
	if (error == cudaSuccess)
		error = pp_scan_offsets(NULL, &offsets, NULL, NULL, first, s.nchunks, NULL);
	if (error != cudaSuccess)
		return error;

	s.vector = pp_paper_array<PpVector>(base, &at, s.nchunks);
	s.offset = pp_paper_array<PpChunkOffset>(base, &at, s.nchunks);
	s.record_bits = pp_paper_array<uint32_t>(base, &at, bitmap);
	s.field_bits = pp_paper_array<uint32_t>(base, &at, bitmap);
	s.control_bits = pp_paper_array<uint32_t>(base, &at, bitmap);
	s.shape = pp_paper_array<uint32_t>(base, &at, s.nchunks);
	s.result = pp_paper_array<PpStructureResult>(base, &at, 1);
	s.temp_bytes = vectors > offsets ? vectors : offsets;
	s.temp = pp_paper_array<uint8_t>(base, &at, s.temp_bytes);
	*bytes = at;
	if (out && base)
		*out = s;
	return cudaSuccess;
}

typedef void (*VectorsKernel) (PpDeviceDfa, const uint8_t *, uint32_t, uint32_t,
							   uint32_t, PpVector *, PpStructureResult *);
typedef void (*BitmapsKernel) (PpDeviceDfa, const uint8_t *, uint32_t, uint32_t,
							   PpPaperStructure);

/* Two lookup registers are enough for every dialect. */
template <int ENCODING>
static VectorsKernel
vectors_kernel(uint32_t nsymbols)
{
	return nsymbols <= 8 ? pp_paper_vectors<2, ENCODING> :
		pp_paper_vectors<PP_DEVICE_SYMBOLS / 4, ENCODING>;
}

cudaError_t
pp_structure_vectors(const PpStructureJob *job, const PpPaperStructure *s,
					 PpSymbolEncoding encoding, cudaStream_t stream,
					 PpStageClock *clock)
{
	VectorsKernel kernel = encoding == PP_SYMBOL_UTF8 ? vectors_kernel<PP_SYMBOL_UTF8>(job->dfa.nsymbols) :
		encoding == PP_SYMBOL_UTF16 ? vectors_kernel<PP_SYMBOL_UTF16>(job->dfa.nsymbols) :
		vectors_kernel<PP_SYMBOL_BYTE>(job->dfa.nsymbols);

	if (!job_is_sound(job) ||
		(encoding == PP_SYMBOL_UTF16 && (job->chunk % 2 != 0 || job->n % 2 != 0)))
		return cudaErrorInvalidValue;
	pp_stage(clock, PP_STAGE_VECTORS, stream);
	PP_LAUNCH(kernel, pp_paper_blocks(s->nchunks, job->chunk), pp_paper_threads(job->chunk),
			  pp_paper_tile_bytes(job->chunk), stream,
			  job->dfa, job->text, job->n, job->chunk, s->nchunks, s->vector, s->result);
	return pp_launch_error();
}

cudaError_t
pp_structure_run(const PpStructureJob *job, const PpPaperStructure *s,
				 cudaStream_t stream, PpStageClock *clock)
{
	uint32_t	blocks = pp_paper_blocks(s->nchunks, job->chunk);
	uint32_t	threads = pp_paper_threads(job->chunk);
	BitmapsKernel bitmaps = job->dfa.nsymbols <= 8 ? pp_paper_bitmaps<2> :
		pp_paper_bitmaps<PP_DEVICE_SYMBOLS / 4>;
	size_t		bytes = s->temp_bytes;
	PpChunkOffset first = {};
	ShapeParams p = {};
	cudaError_t error;

	p.skip_first = job->skip_first;
	p.n = job->n;
	p.chunk = job->chunk;
	p.nfields = job->nfields;
	p.max_records = job->max_records;
	p.eol_len = job->dfa.eol_len;
	p.accept = job->dfa.accept;
	p.last = job->last;
	p.ragged = job->ragged;

	error = pp_structure_vectors(job, s, PP_SYMBOL_BYTE, stream, clock);
	if (error != cudaSuccess)
		return error;

	pp_stage(clock, PP_STAGE_SCAN, stream);
	error = pp_scan_vectors(s->temp, &bytes, s->vector, s->vector, s->nchunks, stream);
	if (error != cudaSuccess)
		return error;

	pp_stage(clock, PP_STAGE_BITMAPS, stream);
	PP_LAUNCH(bitmaps, blocks, threads, pp_paper_tile_bytes(job->chunk), stream,
			  job->dfa, job->text, job->n, job->chunk, *s);
	error = pp_launch_error();
	if (error != cudaSuccess)
		return error;

	/* in front of the first chunk a record begins */
	first.column = PP_COLUMN_ABSOLUTE;
	bytes = s->temp_bytes;
	pp_stage(clock, PP_STAGE_SCAN, stream);
	error = pp_scan_offsets(s->temp, &bytes, s->offset, s->offset, first, s->nchunks, stream);
	if (error != cudaSuccess)
		return error;

	pp_stage(clock, PP_STAGE_BITMAPS, stream);
	PP_LAUNCH(pp_paper_shape, blocks, threads, 0, stream, p, *s);
	error = pp_launch_error();
	if (error != cudaSuccess)
		return error;
	pp_stage(clock, PP_STAGE_BITMAPS, stream);
	PP_LAUNCH(pp_paper_finish, 1, 32, 0, stream, p, *s);
	return pp_launch_error();
}

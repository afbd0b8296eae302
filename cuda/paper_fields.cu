/*
 * cuda/paper_fields.cu
 *	  Bitmap indexes to fields, column by column, as published (ParPaRaw,
 *	  sections 3.3, 4.1 and 4.3).
 *
 *	  tag		every symbol gets the column it belongs to as its key; symbols
 *				that are of no use (control symbols, columns that are not
 *				wanted, records that are skipped, anything behind the last
 *				whole record) get a spare key, the greatest
 *	  partition	a stable radix sort by key: columns lie one behind the other as
 *				concatenated symbol strings (CSS), in record order
 *	  index		where fields are in them
 *
 * Three ways to find the fields.  Inline-terminated: a delimiter becomes a
 * terminator, which must not occur in values.  Vector-delimited: a flag beside
 * each symbol, kept in the key's lowest bit, which the sort leaves out.  Both
 * need the same number of fields in every record, for the j-th terminator
 * ends field j.  Record tags: every symbol carries the number of its record,
 * runs of equal pairs of column and record are fields; the index is filled
 * over fields that are empty at first, so records may be of any shape.
 *
 * A last record without line end has a virtual one, one symbol behind the text.
 *
 * The number of launches does not depend on the number of columns.  Owns no
 * memory; never waits for the device.
 */
#include "paper_bitmap.h"

#define NO_COLUMN		0xffffu
#define NO_RECORD		0xffffffffu

/* Where things are in the one allocation of a fields job. */
struct Plan
{
	uint32_t	skip;			/* records that are left out */
	uint32_t	nrecords;		/* of the rest */
	uint32_t	nfields;
	uint32_t	nsymbols;		/* partitioned: those in front of next, and one
								 * for a last record's virtual end */
	uint32_t	key_bits;
	uint8_t    *key_in;
	uint8_t    *key_out;
	uint8_t    *symbol_in;
	uint8_t    *symbol_out;
	PpTaggedSymbol *tagged_in;
	PpTaggedSymbol *tagged_out;
	uint32_t   *mark;
	uint32_t	nruns;			/* at most; one of them is of spare keys */
	uint64_t   *pair;			/* [nruns] */
	uint32_t   *run_offset;		/* [nruns + 1]; lengths at first */
	uint8_t    *css;
	uint32_t   *offset;
	uint32_t   *length;
	uint32_t   *record_fields;
	uint32_t   *quoted;
	uint32_t   *count;			/* what selection or run lengths count */
	void	   *temp;
	size_t		temp_bytes;
	size_t		bytes;			/* of all */
};

static size_t
larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/*
 * Arrays that are dead once others are made share their memory: the index
 * takes the place of the partition's input, so that device memory stays in
 * proportion to the text and not to the number of fields.
 */
static cudaError_t
make_plan(const PpFieldsJob *job, void *base, Plan *out)
{
	Plan		p = {};
	size_t		at = 0;
	size_t		symbols;
	size_t		sort = 0,
				index = 0,
				scan = 0;
	cudaError_t error;

	if (job->tagging == PP_TAG_AUTO || job->ncolumns == 0 ||
		job->ncolumns > PP_PAPER_COLUMNS || job->job->nfields == 0 ||
		(job->job->ragged && job->tagging != PP_TAG_RECORD))
		return cudaErrorInvalidValue;
	p.skip = job->job->skip_first < job->nrecords ? (uint32_t) job->job->skip_first : job->nrecords;
	p.nrecords = job->nrecords - p.skip;
	if ((uint64_t) p.nrecords * job->ncolumns >= UINT64_C(1) << 31)
		return cudaErrorInvalidValue;
	p.nfields = p.nrecords * job->ncolumns;
	p.nsymbols = job->next + 1;
	for (p.key_bits = 1; job->ncolumns >> p.key_bits != 0; p.key_bits++)
		;

	/* words are written as a whole, and bytes behind a CSS may be read */
	symbols = ((size_t) p.nsymbols + PP_PAD + 255) & ~(size_t) 255;

	if (job->tagging == PP_TAG_RECORD)
	{
		size_t		second;
		size_t		inside = 0;

		/* a field that has a symbol has a delimiter as well */
		p.nruns = p.nfields < p.nsymbols / 2 ? p.nfields + 1 : p.nsymbols / 2 + 1;

		/* the partition's input, and then the CSS and the runs */
		p.key_in = pp_paper_address<uint8_t>(base, 0);
		p.tagged_in = pp_paper_address<PpTaggedSymbol>(base, symbols);
		p.css = pp_paper_array<uint8_t>(base, &inside, symbols);
		p.pair = pp_paper_array<uint64_t>(base, &inside, p.nruns);
		p.run_offset = pp_paper_array<uint32_t>(base, &inside, (size_t) p.nruns + 1);
		(void) pp_paper_place(&at, larger(6 * symbols, inside));

		/* its output, and then the index */
		second = inside = at;
		p.key_out = pp_paper_address<uint8_t>(base, second);
		p.tagged_out = pp_paper_address<PpTaggedSymbol>(base, second + symbols);
		p.offset = pp_paper_array<uint32_t>(base, &inside, p.nfields);
		p.length = pp_paper_array<uint32_t>(base, &inside, p.nfields);
		(void) pp_paper_place(&at, larger(6 * symbols, inside - second));

		p.record_fields = pp_paper_array<uint32_t>(base, &at, p.nrecords);

		error = pp_sort_tagged(NULL, &sort, NULL, NULL, NULL, NULL, p.nsymbols,
							   1, 1 + p.key_bits, NULL);
		if (error == cudaSuccess)
			error = pp_run_lengths(NULL, &index, NULL, NULL, NULL, NULL, NULL, p.nsymbols, NULL);
		if (error == cudaSuccess)
			error = pp_scan_sum32(NULL, &scan, NULL, NULL, p.nruns + 1, NULL);
	}
	else
	{
		bool		is_inline = job->tagging == PP_TAG_INLINE;

		/* the partition's input (and what else it is done with), then the index */
		p.key_in = pp_paper_address<uint8_t>(base, 0);
		p.symbol_in = pp_paper_address<uint8_t>(base, symbols);
		p.mark = pp_paper_address<uint32_t>(base, 0);
		if (is_inline)
			p.key_out = pp_paper_address<uint8_t>(base, 2 * symbols);
		(void) pp_paper_place(&at, larger(is_inline ? 3 * symbols : 2 * symbols,
										  (size_t) p.nfields * sizeof(uint32_t)));
		if (!is_inline)
			p.key_out = pp_paper_array<uint8_t>(base, &at, symbols);
		p.symbol_out = p.css = pp_paper_array<uint8_t>(base, &at, symbols);

		error = pp_sort_symbols(NULL, &sort, NULL, NULL, NULL, NULL, p.nsymbols,
								1, 1 + p.key_bits, NULL);
		if (error == cudaSuccess)
			error = is_inline ?
				pp_select_equal(NULL, &index, NULL, PP_TERMINATOR, NULL, NULL, p.nsymbols, NULL) :
				pp_select_flagged(NULL, &index, NULL, 1, NULL, NULL, p.nsymbols, NULL);
	}
	if (error != cudaSuccess)
		return error;
	p.quoted = pp_paper_array<uint32_t>(base, &at, ((size_t) p.nfields + 31) / 32);
	p.count = pp_paper_array<uint32_t>(base, &at, 1);
	p.temp_bytes = larger(sort, larger(index, scan));
	p.temp = pp_paper_array<uint8_t>(base, &at, p.temp_bytes);
	p.bytes = at;
	*out = p;
	return cudaSuccess;
}

struct TagParams
{
	const uint8_t *text;
	const uint16_t *column_of_field;
	uint8_t    *key;
	uint8_t    *symbol;			/* these, */
	PpTaggedSymbol *tagged;		/* or these */
	uint32_t   *record_fields;
	uint32_t   *quoted;
	uint32_t	chunk;
	uint32_t	next;
	uint32_t	nfields;		/* of a record */
	uint32_t	ncolumns;		/* the spare column's number */
	uint32_t	skip;
	uint32_t	nrecords;		/* less those skipped */
	uint32_t	quote;
};

struct TagShared
{
	uint32_t	first_record;	/* that the tile's first byte belongs to */
};

/* Column number of field i of a record, spare if it is not wanted. */
static __device__ __forceinline__ uint32_t
column_of(const TagParams &p, uint32_t field)
{
	uint32_t	c = field < p.nfields ? p.column_of_field[field] : NO_COLUMN;

	return c == NO_COLUMN ? p.ncolumns : c;
}

/*
 * Tags, a thread a chunk; keys and symbols go out through shared memory, so
 * that neighbouring threads write neighbouring words.
 */
template <bool RECORD_TAGS>
__global__ void __launch_bounds__(PP_PAPER_THREADS)
pp_paper_tag(TagParams p, PpPaperStructure s)
{
	PP_SHARED(TagShared, sh);
	PP_DYNAMIC_SHARED(tile);
	uint32_t	bytes = blockDim.x * p.chunk;
	uint32_t	room = (bytes + 1 + 15 + 15) & ~15u;	/* as pp_paper_tile_bytes() */
	uint8_t    *keys = tile + room;
	uint16_t   *records = reinterpret_cast<uint16_t *>(keys + room);	/* less first_record */
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t	base = blockIdx.x * bytes;
	uint32_t	skew = 0;
	uint8_t    *in;

	if (base < p.next)
		skew = pp_stage_text(tile, p.text, p.next, base, bytes);
	in = tile + skew;			/* symbols take the place of the text */
	if (RECORD_TAGS && threadIdx.x == 0)
		sh.first_record = base < p.next ? s.offset[i].records : 0;
	__syncthreads();

	if (base + threadIdx.x * p.chunk < p.next)
	{
		uint32_t	at = threadIdx.x * p.chunk;
		uint32_t	end = p.next - base < at + p.chunk ? p.next - base : at + p.chunk;
		uint32_t	first_record = RECORD_TAGS ? sh.first_record : 0;
		PpChunkOffset o = s.offset[i];
		uint32_t	record = o.records;
		uint32_t	field = o.column & ~PP_COLUMN_ABSOLUTE;
		uint32_t	column = record < p.skip ? p.ncolumns : column_of(p, field);
		bool		quote_seen = false;
		bool		is_end = false;

		for (uint32_t w = 0; at < end; w++)
		{
			uint32_t	record_bits = s.record_bits[(size_t) w * s.nchunks + i];
			uint32_t	field_bits = s.field_bits[(size_t) w * s.nchunks + i];
			uint32_t	control_bits = s.control_bits[(size_t) w * s.nchunks + i];

			for (uint32_t b = 0; b < 32 && at < end; b++, at++)
			{
				uint32_t	key = p.ncolumns << 1;
				uint32_t	symbol = 0;

				if (RECORD_TAGS)
					records[at] = (uint16_t) (record - first_record);
				is_end = record_bits >> b & 1u;
				if (!(control_bits >> b & 1u))
				{
					if (column != p.ncolumns)
					{
						key = column << 1;
						symbol = in[at];
					}
				}
				else if (is_end || (field_bits >> b & 1u))
				{
					if (!RECORD_TAGS && column != p.ncolumns)
					{
						key = column << 1 | 1u;
						symbol = PP_TERMINATOR;
					}
					field++;
					if (is_end)
					{
						if (RECORD_TAGS && record >= p.skip)
							p.record_fields[record - p.skip] = field;
						record++;
						field = 0;
					}
					column = record < p.skip ? p.ncolumns : column_of(p, field);
					quote_seen = false;
				}
				else if (column != p.ncolumns && !quote_seen && in[at] == p.quote)
				{
					uint32_t	j = column * p.nrecords + (record - p.skip);

					atomicOr(&p.quoted[j >> 5], 1u << (j & 31));
					quote_seen = true;
				}
				keys[at] = (uint8_t) key;
				in[at] = (uint8_t) symbol;
			}
		}
		/* the virtual end of a last record without line end */
		if (RECORD_TAGS && base + end == p.next && !is_end && record >= p.skip)
			p.record_fields[record - p.skip] = field + 1;
	}

	/* One symbol behind the last: that virtual end, or nothing. */
	if (threadIdx.x == 0 && p.next - base < bytes && p.next >= base)
	{
		uint32_t	column = p.ncolumns;

		if (!RECORD_TAGS && p.next > 0 && !pp_is_record_end(&s, p.chunk, p.next - 1))
			column = column_of(p, p.nfields - 1);
		keys[p.next - base] = (uint8_t) (column == p.ncolumns ? column << 1 : column << 1 | 1u);
		in[p.next - base] = (uint8_t) (column == p.ncolumns ? 0 : PP_TERMINATOR);
		if (RECORD_TAGS)
			records[p.next - base] = 0;
	}
	__syncthreads();

	/* What lies behind the last symbol in its word is written, but not looked at. */
	{
		uint32_t	left = p.next + 1 - base;
		uint32_t	n = left < bytes ? left : bytes;

		for (uint32_t at = threadIdx.x * 4; at < n; at += blockDim.x * 4)
			*reinterpret_cast<uint32_t *>(p.key + base + at) = pp_load4(keys + at);
		if (!RECORD_TAGS)
		{
			for (uint32_t at = threadIdx.x * 4; at < n; at += blockDim.x * 4)
				*reinterpret_cast<uint32_t *>(p.symbol + base + at) =
					in[at] | (uint32_t) in[at + 1] << 8 |
					(uint32_t) in[at + 2] << 16 | (uint32_t) in[at + 3] << 24;
		}
		else
		{
			uint32_t   *out = reinterpret_cast<uint32_t *>(p.tagged + base);
			uint32_t	first = sh.first_record - p.skip;

			for (uint32_t word = threadIdx.x; word * 4 < n * 5; word += blockDim.x)
			{
				uint32_t	v = 0;

				PP_UNROLL
				for (uint32_t k = 0; k < 4; k++)
				{
					uint32_t	at = (word * 4 + k) / 5;
					uint32_t	part = word * 4 + k - at * 5;
					uint32_t	record = keys[at] == p.ncolumns << 1 ? NO_RECORD : first + records[at];
					uint32_t	byte = part == 0 ? in[at] : record >> (8 * (part - 1)) & 0xffu;

					v |= byte << (8 * k);
				}
				out[word] = v;
			}
		}
	}
}

/* Shared memory of a tile: text, keys and, of record tags, records. */
static uint32_t
tag_bytes(uint32_t chunk, bool record_tags)
{
	return pp_paper_tile_bytes(chunk) * (record_tags ? 4 : 2);
}

/* The symbols without their tags. */
__global__ void __launch_bounds__(256)
pp_paper_symbols(const PpTaggedSymbol *tagged, uint8_t *css, uint32_t n)
{
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		css[i] = tagged[i].symbol;
}

/* Runs to fields; a run's length is the difference of two offsets. */
__global__ void __launch_bounds__(256)
pp_paper_scatter(const uint64_t *pair, const uint32_t *run_offset, const uint32_t *count,
				 uint32_t ncolumns, uint32_t nrecords,
				 uint32_t *offset, uint32_t *length)
{
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < *count)
	{
		uint32_t	column = (uint32_t) (pair[i] >> 33);

		if (column < ncolumns)
		{
			uint32_t	j = column * nrecords + (uint32_t) pair[i];

			offset[j] = run_offset[i];
			length[j] = run_offset[i + 1] - run_offset[i];
		}
	}
}

cudaError_t
pp_fields_layout(const PpFieldsJob *job, void *base, size_t *bytes, PpFields *out)
{
	Plan		p;
	cudaError_t error = make_plan(job, base, &p);

	if (error != cudaSuccess)
		return error;
	*bytes = p.bytes;
	if (out && base)
	{
		PpFields	f = {};

		f.tagging = job->tagging;
		f.nrecords = p.nrecords;
		f.nfields = p.nfields;
		f.css = p.css;
		f.mark = p.mark;
		f.offset = p.offset;
		f.length = p.length;
		f.record_fields = p.record_fields;
		f.quoted = p.quoted;
		*out = f;
	}
	return cudaSuccess;
}

static cudaError_t
run_tags(const PpFieldsJob *job, const Plan *p, cudaStream_t stream, PpStageClock *clock)
{
	const PpStructureJob *sj = job->job;
	bool		record_tags = job->tagging == PP_TAG_RECORD;
	uint32_t	chunks = job->next / sj->chunk + 1;	/* with that of the last symbol */
	TagParams	t = {};
	cudaError_t error;

	t.text = sj->text;
	t.column_of_field = job->column_of_field;
	t.key = p->key_in;
	t.symbol = p->symbol_in;
	t.tagged = p->tagged_in;
	t.record_fields = p->record_fields;
	t.quoted = p->quoted;
	t.chunk = sj->chunk;
	t.next = job->next;
	t.nfields = sj->nfields;
	t.ncolumns = job->ncolumns;
	t.skip = p->skip;
	t.nrecords = p->nrecords;
	t.quote = sj->dfa.quote;

	pp_stage(clock, PP_STAGE_TAG, stream);
	error = cudaMemsetAsync(p->quoted, 0, ((size_t) p->nfields + 31) / 32 * sizeof(uint32_t), stream);
	if (error != cudaSuccess)
		return error;
	pp_stage(clock, PP_STAGE_TAG, stream);
	if (record_tags)
		PP_LAUNCH(pp_paper_tag<true>, pp_paper_blocks(chunks, sj->chunk), pp_paper_threads(sj->chunk),
				  tag_bytes(sj->chunk, true), stream, t, *job->structure);
	else
		PP_LAUNCH(pp_paper_tag<false>, pp_paper_blocks(chunks, sj->chunk), pp_paper_threads(sj->chunk),
				  tag_bytes(sj->chunk, false), stream, t, *job->structure);
	return pp_launch_error();
}

/* The index of an inline-terminated or vector-delimited CSS. */
static cudaError_t
run_marks(const PpFieldsJob *job, const Plan *p, cudaStream_t stream, PpStageClock *clock)
{
	size_t		bytes = p->temp_bytes;

	pp_stage(clock, PP_STAGE_INDEX, stream);
	if (job->tagging == PP_TAG_INLINE)
		return pp_select_equal(p->temp, &bytes, p->symbol_out, PP_TERMINATOR, p->mark,
							   p->count, p->nsymbols, stream);
	return pp_select_flagged(p->temp, &bytes, p->key_out, 1, p->mark, p->count,
							 p->nsymbols, stream);
}

/* The index of a CSS with record tags. */
static cudaError_t
run_runs(const PpFieldsJob *job, const Plan *p, cudaStream_t stream, PpStageClock *clock)
{
	size_t		bytes = p->temp_bytes;
	cudaError_t error;

	pp_stage(clock, PP_STAGE_INDEX, stream);
	PP_LAUNCH(pp_paper_symbols, (p->nsymbols + 255) / 256, 256, 0, stream,
			  p->tagged_out, p->css, p->nsymbols);
	error = pp_launch_error();
	if (error != cudaSuccess)
		return error;

	/* lengths behind those of the runs are summed up as well */
	pp_stage(clock, PP_STAGE_INDEX, stream);
	error = cudaMemsetAsync(p->run_offset, 0, ((size_t) p->nruns + 1) * sizeof(uint32_t), stream);
	if (error != cudaSuccess)
		return error;
	pp_stage(clock, PP_STAGE_INDEX, stream);
	error = pp_run_lengths(p->temp, &bytes, p->key_out, p->tagged_out, p->pair,
						   p->run_offset, p->count, p->nsymbols, stream);
	if (error != cudaSuccess)
		return error;
	bytes = p->temp_bytes;
	pp_stage(clock, PP_STAGE_INDEX, stream);
	error = pp_scan_sum32(p->temp, &bytes, p->run_offset, p->run_offset, p->nruns + 1, stream);
	if (error != cudaSuccess)
		return error;

	/* fields are empty unless a run says other */
	pp_stage(clock, PP_STAGE_INDEX, stream);
	error = cudaMemsetAsync(p->offset, 0, (size_t) p->nfields * sizeof(uint32_t), stream);
	if (error != cudaSuccess)
		return error;
	pp_stage(clock, PP_STAGE_INDEX, stream);
	error = cudaMemsetAsync(p->length, 0, (size_t) p->nfields * sizeof(uint32_t), stream);
	if (error != cudaSuccess)
		return error;
	pp_stage(clock, PP_STAGE_INDEX, stream);
	PP_LAUNCH(pp_paper_scatter, (p->nruns + 255) / 256, 256, 0, stream,
			  p->pair, p->run_offset, p->count, job->ncolumns, p->nrecords,
			  p->offset, p->length);
	return pp_launch_error();
}

cudaError_t
pp_fields_run(const PpFieldsJob *job, void *base, size_t bytes, const PpFields *out,
			  cudaStream_t stream, PpStageClock *clock)
{
	Plan		p;
	size_t		temp_bytes;
	cudaError_t error = make_plan(job, base, &p);

	if (error != cudaSuccess)
		return error;
	if (bytes < p.bytes || out->nfields != p.nfields)
		return cudaErrorInvalidValue;
	if (p.nfields == 0)
		return cudaSuccess;

	error = run_tags(job, &p, stream, clock);
	if (error != cudaSuccess)
		return error;

	temp_bytes = p.temp_bytes;
	pp_stage(clock, PP_STAGE_PARTITION, stream);
	if (job->tagging == PP_TAG_RECORD)
	{
		error = pp_sort_tagged(p.temp, &temp_bytes, p.key_in, p.key_out, p.tagged_in,
							   p.tagged_out, p.nsymbols, 1, 1 + p.key_bits, stream);
		return error == cudaSuccess ? run_runs(job, &p, stream, clock) : error;
	}
	error = pp_sort_symbols(p.temp, &temp_bytes, p.key_in, p.key_out, p.symbol_in,
							p.symbol_out, p.nsymbols, 1, 1 + p.key_bits, stream);
	return error == cudaSuccess ? run_marks(job, &p, stream, clock) : error;
}

/* Where fields end, from the bitmaps: a thread a chunk. */
__global__ void __launch_bounds__(PP_PAPER_THREADS)
pp_paper_field_ends(PpPaperStructure s, uint32_t n, uint32_t chunk, uint32_t eol_len,
					uint32_t width, uint32_t nrecords, uint32_t *end)
{
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < s.nchunks)
	{
		PpChunkOffset o = s.offset[i];
		uint32_t	record = o.records;
		uint32_t	field = o.column & ~PP_COLUMN_ABSOLUTE;

		for (uint32_t w = 0; w < s.words && record < nrecords; w++)
		{
			uint32_t	record_bits = s.record_bits[(size_t) w * s.nchunks + i];
			uint32_t	bits = record_bits | s.field_bits[(size_t) w * s.nchunks + i];

			for (; bits != 0 && record < nrecords; bits &= bits - 1)
			{
				uint32_t	b = (uint32_t) (__ffs((int) bits) - 1);
				uint32_t	pos = i * chunk + 32 * w + b;
				bool		is_end = record_bits >> b & 1u;

				if (field < width)
					end[(size_t) record * width + field] = is_end ? pos - (eol_len - 1) : pos;
				field++;
				if (is_end)
				{
					record++;
					field = 0;
				}
			}
		}
		/* a last record without line end */
		if (i == s.nchunks - 1 && record < nrecords && field < width)
			end[(size_t) record * width + field] = n;
	}
}

cudaError_t
pp_field_ends_run(const PpStructureJob *job, const PpPaperStructure *s, uint32_t nrecords,
				  uint32_t *end, cudaStream_t stream, PpStageClock *clock)
{
	pp_stage(clock, PP_STAGE_INDEX, stream);
	PP_LAUNCH(pp_paper_field_ends, pp_paper_blocks(s->nchunks, job->chunk),
			  pp_paper_threads(job->chunk), 0, stream, *s, job->n, job->chunk,
			  job->dfa.eol_len, job->nfields > 0 ? job->nfields : 1, nrecords, end);
	return pp_launch_error();
}

/*
 * cuda/fused_convert.h
 *	  Fields to columns in the fused pipeline: those of a tile straight from
 *	  shared memory, and those of late columns from the text.
 *
 * A warp has 32 fields of one column, a lane each, and does what the column's
 * type needs: so all lanes go the same way, and what they store is side by
 * side.  Which fields are NULL or a marker, and how texts become values, is
 * what every pipeline agrees on (field.h); the other conversions are those of
 * every backend (src/parse/convert.h).
 *
 * Values by reference go to the heap.  A warp adds up what its lanes need and
 * takes it at once; where there is no room left, values are handed over, and
 * the heap's size says how much room there ought to have been.
 *
 * By length of the text that is to be written: a thread copies up to
 * scan->thread_bytes, a warp more than that if all of it is on chip, and up to
 * PP_FUSED_WARP_BYTES otherwise; what is still longer, or has to be looked at
 * first, is queued for fused_long.cu.  Quotes that are only around a field are
 * taken off; where there are more, the value is made in the heap.
 *
 * Owns no memory and launches nothing.
 */
#ifndef PP_FUSED_CONVERT_H
#define PP_FUSED_CONVERT_H

#include "field.h"
#include "fused_tile.h"

#include "../src/parse/dialect.h"

#define PP_ALL_LANES	0xffffffffu

/* The most that a warp copies within the pass, if it is not on chip. */
#define PP_FUSED_WARP_BYTES	4096

/* Columns of which a block keeps what it has to know on chip. */
#define PP_FUSED_COLUMNS	64

/*
 * Shared memory that converting a tile takes: facts that all warps ask for, read
 * once a block; and here they take no registers.
 */
struct PpConvertShared
{
	PpTile		tile;
	PpPaperScan scan;
	PpFusedColumn column[PP_FUSED_COLUMNS];
	uint32_t	groups;			/* of 32 records */
	uint8_t		state[PP_FUSED_THREADS];	/* of a thread's field, meanwhile */
	uint32_t	at[PP_FUSED_THREADS / 32];	/* column and group that a warp is at */
};

/* A lane's field. */
struct PpFusedField
{
	const uint8_t *s;			/* its bytes ... */
	uint32_t	start;			/* ... which in the text start here */
	uint32_t	n;
	bool		control;		/* quotes or escapes are to be removed */
	bool		quoted;			/* there were any */
};

/* A column as everybody else knows it. */
static __device__ __forceinline__ PpColumn
pp_column_of(const PpFusedColumn &c)
{
	PpColumn	col;

	col.type = (PpType) c.type;
	col.field = c.field;
	col.flags = c.flags & ~PP_FUSED_LATE;
	col.mod = c.mod;
	return col;
}

/* The most bytes of a field's text that a warp copies or looks through. */
static __device__ __forceinline__ uint32_t
pp_warp_bytes(const PpFusedJob &job, const PpFusedField &f)
{
	return f.s == job.text + f.start ? PP_FUSED_WARP_BYTES : PP_FUSED_MAX_TILE;
}

/* Is a quote or an escape among the n bytes? */
static __device__ __forceinline__ bool
pp_has_control(const uint8_t *s, uint32_t n, uint8_t quote, uint8_t escape)
{
	for (uint32_t i = 0; i < n; i++)
		if (s[i] == quote || s[i] == escape)
			return true;
	return false;
}

/* Is the value of a field with quotes that marker? */
static __device__ __forceinline__ bool
pp_is_quoted_marker(const PpFusedField &f, uint8_t quote, uint8_t escape,
					const uint8_t *marker, uint32_t len)
{
	PpQuoting	quoting = PP_OUTSIDE;
	uint32_t	k = 0;

	for (uint32_t i = 0; i < f.n; i++)
	{
		const uint8_t b = f.s[i];

		if (pp_byte_is_control(quote, escape, b, i + 1 < f.n ? f.s[i + 1] : 256u, &quoting))
			continue;
		if (k == len || marker[k] != b)
			return false;
		k++;
	}
	return k == len;
}

/* Takes off the quotes around a field; there is nothing else to be removed. */
static __device__ __forceinline__ void
pp_fused_strip(PpFusedField *f)
{
	f->s++;
	f->start++;
	f->n -= 2;
	f->control = false;
}

/*
 * Does that to long texts on chip whose quotes are only around them: the warp
 * looks through those of its lanes, one after the other; all lanes come by.
 * What is not on chip is rather read once.
 */
static __device__ __forceinline__ void
pp_fused_strip_long(const PpFusedJob &job, const PpPaperScan *scan, PpFusedField *f)
{
	const uint32_t lane = threadIdx.x % 32;
	const uint8_t quote = job.dfa.quote;
	const uint8_t escape = job.dfa.escape;
	const bool	wanted = f->control && f->n >= 2 && f->n - 2 > scan->thread_bytes &&
		f->s != job.text + f->start && f->s[0] == quote && f->s[f->n - 1] == quote;

	for (uint32_t left = __ballot_sync(PP_ALL_LANES, wanted); left != 0; left &= left - 1)
	{
		const uint32_t from = (uint32_t) __ffs((int) left) - 1;
		const uint64_t address = reinterpret_cast<uintptr_t>(f->s);
		const uint8_t *s = reinterpret_cast<const uint8_t *>(
			(uintptr_t) __shfl_sync(PP_ALL_LANES, (unsigned long long) address, from));
		const uint32_t n = __shfl_sync(PP_ALL_LANES, f->n, from);
		bool		found = false;

		for (uint32_t i = 1 + lane; i < n - 1; i += 32)
			found |= s[i] == quote || s[i] == escape;
		if (__ballot_sync(PP_ALL_LANES, found) == 0 && lane == from)
			pp_fused_strip(f);
	}
}

/*
 * The state of a field before it is converted.  Quotes around it are taken off
 * if they are all there is to be removed, and then f->control is false.
 */
static __device__ __forceinline__ PpState
pp_fused_state(const PpFusedJob &job, const PpPaperScan *scan, const PpColumn &col, PpFusedField *f)
{
	const uint8_t quote = job.dfa.quote;
	const uint8_t escape = job.dfa.escape;
	const bool	text = pp_is_text(col.type);

	if (f->control && f->n >= 2 && f->n - 2 <= (text ? scan->thread_bytes : PP_PAPER_NUMBER_BYTES) &&
		f->s[0] == quote && f->s[f->n - 1] == quote &&
		!pp_has_control(f->s + 1, f->n - 2, quote, escape))
		pp_fused_strip(f);
	if (!f->control)
		return pp_field_state(scan, col, f->s, f->n, f->quoted);
	if ((col.flags & PP_COL_FORCE_NULL) &&
		pp_is_quoted_marker(*f, quote, escape, scan->null_text, scan->null_len))
		return col.flags & PP_COL_NULL_DEFERS ? PP_DEFERRED : PP_NULL;
	return col.type == PP_DEFER || (!text && f->n > PP_PAPER_NUMBER_BYTES) ? PP_DEFERRED : PP_VALUE;
}

/* Bytes of the heap that the value of a field may take. */
static __device__ __forceinline__ uint32_t
pp_value_room(const PpColumn &col, uint32_t n)
{
	return pp_type_by_reference(col.type) ? ((uint32_t) pp_convert_room(&col, n) + 7) / 8 * 8 : 0;
}

/*
 * Where in its place in the heap a field is written without its quotes: a text
 * where it stays, others behind the value's room, from where they are read.
 */
static __device__ __forceinline__ uint32_t
pp_bare_offset(const PpColumn &col, uint32_t n)
{
	return pp_is_text(col.type) ? 4 : pp_value_room(col, n);
}

/* Bytes of the heap that the field takes. */
static __device__ __forceinline__ uint32_t
pp_fused_room(const PpColumn &col, const PpFusedField &f)
{
	const uint32_t room = pp_value_room(col, f.n);

	if (!f.control)
		return room;
	/* behind a text's end a hexadecimal word may be read */
	return room + (pp_is_text(col.type) ? 8 : (f.n + PP_PAD + 7) / 8 * 8);
}

/*
 * A place in the heap for each lane that wants one; all lanes of the warp come
 * by, and one at least wants.  Answers whether there is room.
 */
static __device__ __forceinline__ bool
pp_fused_reserve(const PpFusedJob &job, uint32_t room, uint64_t *at)
{
	const uint32_t lane = threadIdx.x % 32;
	uint32_t	up_to = room;
	unsigned long long first = 0;

	for (uint32_t d = 1; d < 32; d *= 2)
	{
		uint32_t	before = __shfl_up_sync(PP_ALL_LANES, up_to, d);

		if (lane >= d)
			up_to += before;
	}
	if (lane == 31)
		first = atomicAdd(reinterpret_cast<unsigned long long *>(&job.result->heap_bytes),
						  (unsigned long long) up_to);
	first = __shfl_sync(PP_ALL_LANES, first, 31);
	*at = first + (up_to - room);
	return first + up_to <= job.heap_room;
}

/* A value by reference that is no text, at dst; answers its size, 0: handed over. */
static __device__ __forceinline__ uint64_t
pp_fused_reference(const PpColumn &col, const uint8_t *s, uint32_t n, uint8_t *dst)
{
	switch (col.type)
	{
		case PP_NUMERIC:
			return pp_to_numeric(s, n, col.mod, dst);
		case PP_UUID:
			return pp_to_uuid(s, n, dst);
		case PP_NAME:
			return pp_to_name(s, n, dst);
		default:
			return 0;
	}
}

/* The same of a text; in_place: its bytes are behind the header already. */
static __device__ __forceinline__ uint32_t
pp_fused_text(const PpColumn &col, PpCharset charset, const uint8_t *s, uint32_t n,
			  bool in_place, uint8_t *dst)
{
	const bool	hex = pp_is_hex(col, s, n);
	const uint32_t skip = hex ? 2 : 0;
	PpLongField look = {0, 0};
	uint32_t	pad;
	uint32_t	size;

	if (pp_needs_look(col, n))
		look = pp_look_at(s + skip, n - skip, hex, 0, n - skip, 0, 1);
	size = pp_text_size(col, charset, n, hex, look, &pad);
	if (size == 0)
		return 0;
	if (hex || !in_place)
		pp_write_text(s + skip, n - skip, hex, 0, n - skip, 0, 1, dst + 4);
	for (uint32_t k = 0; k < pad; k++)
		dst[4 + n + k] = ' ';
	*reinterpret_cast<uint32_t *>(dst) = size << 2;
	return size;
}

/*
 * Takes a long value to the queue; false: that is full, or the heap was (fits),
 * but it takes its place in the queue so that all wanted are counted.
 */
static __device__ __forceinline__ bool
pp_fused_queue(const PpFusedJob &job, const PpFusedField &f, uint32_t c, uint32_t record,
			   uint64_t at, bool fits)
{
	const uint32_t q = atomicAdd(&job.result->nlongs, 1u);
	PpFusedLong entry = {};

	if (q >= job.longs_room)
		return false;
	entry.heap = at;
	entry.ref.start = f.start;
	entry.ref.length = fits ? f.n | (f.control ? PP_FIELD_CONTROL : 0) : 0;
	entry.column = fits ? c : PP_FUSED_NOTHING;
	entry.record = record;
	job.longs[q] = entry;
	if (fits && f.n > PP_FUSED_HUGE_BYTES)
		atomicAdd(&job.result->nhuge, 1u);
	return fits;
}

/*
 * A warp's walk over n bytes of a field with quotes; more: the byte behind them
 * may be looked at.  In front of them the state is quoting; those that are
 * content are looked at, or written from dst[content] on.  Answers content
 * behind them, the same in all lanes.
 */
template <bool WRITE>
static __device__ __forceinline__ uint32_t
pp_warp_walk(const PpFusedJob &job, const uint8_t *s, uint32_t n, bool more,
			 PpQuoting quoting, uint32_t content, uint8_t *dst, PpLongField *look)
{
	const uint32_t lane = threadIdx.x % 32;
	const uint8_t quote = job.dfa.quote;
	const uint8_t escape = job.dfa.escape;

	for (uint32_t at = 0; at < n; at += 32)
	{
		const bool	there = lane < n - at;
		const uint8_t b = there ? s[at + lane] : 0;
		uint32_t	special = __ballot_sync(PP_ALL_LANES, there && (b == quote || b == escape));
		uint32_t	control = 0;
		uint32_t	keep;

		if (quoting == PP_ESCAPED)
		{
			/* the first byte is content, whatever it is */
			special &= ~1u;
			quoting = PP_INSIDE;
		}
		if (special != 0)
		{
			const uint32_t quotes = __ballot_sync(PP_ALL_LANES, there && b == quote);
			uint32_t	before = special >> 1;	/* in front of a special byte */
			const uint32_t behind = n - at < 32 ? n - at : 32;

			if ((special >> (behind - 1) & 1u) && (at + behind < n || more))
			{
				const uint8_t next = s[at + behind];

				if (next == quote || next == escape)
					before |= 1u << (behind - 1);
			}

			/* one special byte after the other, by all lanes alike */
			for (uint32_t bits = special; bits != 0; bits &= bits - 1)
			{
				const uint32_t bit = bits & (0u - bits);
				const bool	was_inside = quoting == PP_INSIDE;

				if (quotes & bit)
				{
					/* of a doubled quote the second one goes */
					if (!was_inside || escape != quote || !(before & bit))
						control |= bit;
					quoting = was_inside ? PP_OUTSIDE : PP_INSIDE;
				}
				else if (was_inside && (before & bit))
				{
					control |= bit;
					bits &= ~(bit << 1);
					if (bit == 0x80000000u)
						quoting = PP_ESCAPED;
				}
			}
		}
		keep = __ballot_sync(PP_ALL_LANES, there) & ~control;
		if (keep >> lane & 1u)
		{
			if (WRITE)
				dst[content + (uint32_t) __popc(keep & ((1u << lane) - 1))] = b;
			else
			{
				look->continued += (b & 0xc0) == 0x80;
				look->seen |= b >= 0x80 ? PP_SEEN_HIGH : b == '\\' ? PP_SEEN_BACKSLASH : 0;
			}
		}
		content += (uint32_t) __popc(keep);
	}
	return content;
}

/*
 * All lanes of the warp copy the texts of those that ask for it, one after the
 * other, to their places in the heap.
 */
static __device__ __forceinline__ void
pp_fused_copy(const PpFusedJob &job, bool wanted, const PpFusedField &f, uint64_t at)
{
	const uint32_t lane = threadIdx.x % 32;

	for (uint32_t left = __ballot_sync(PP_ALL_LANES, wanted); left != 0; left &= left - 1)
	{
		const uint32_t from = (uint32_t) __ffs((int) left) - 1;
		const uint64_t address = reinterpret_cast<uintptr_t>(f.s);
		const uint8_t *s = reinterpret_cast<const uint8_t *>(
			(uintptr_t) __shfl_sync(PP_ALL_LANES, (unsigned long long) address, from));
		const uint32_t n = __shfl_sync(PP_ALL_LANES, f.n, from);
		uint8_t    *dst = job.heap + __shfl_sync(PP_ALL_LANES, (unsigned long long) at, from);

		uint32_t	content = n;

		if (__shfl_sync(PP_ALL_LANES, (uint32_t) f.control, from))
			content = pp_warp_walk<true>(job, s, n, false, PP_OUTSIDE, 0, dst + 4, nullptr);
		else
			pp_write_text(s, n, false, 0, n, lane, 32, dst + 4);
		if (lane == 0)
			*reinterpret_cast<uint32_t *>(dst) = (content + 4) << 2;
	}
}

/*
 * Converts a field a lane, all of column c; all lanes of the warp come by, those
 * that have none (not `there`) in vain.  scan is *job.scan; *kept is the lane's
 * own, in shared memory: its state while a conversion takes all registers.
 * Answers the state, and the Datum in *datum, 0 if there is none.
 */
static __device__ __forceinline__ PpState
pp_fused_convert(const PpFusedJob &job, const PpPaperScan *scan, const PpColumn &col,
				 uint32_t c, uint32_t record, bool there, PpFusedField f, uint8_t *kept,
				 uint64_t *datum)
{
	PpState		state = PP_NULL;
	uint64_t	at = 0;			/* in the heap */
	uint32_t	room = 0;
	bool		fits = true;
	bool		alone = true;	/* a thread converts it */

	if (pp_is_text(col.type))
		pp_fused_strip_long(job, scan, &f);
	if (there)
		state = pp_fused_state(job, scan, col, &f);
	if (state == PP_VALUE && there)
		room = pp_fused_room(col, f);
	if (__ballot_sync(PP_ALL_LANES, room != 0) != 0)
		fits = pp_fused_reserve(job, room, &at) || room == 0;

	/* what takes more than a thread goes first: then its facts are done with */
	if (pp_is_text(col.type))
	{
		const uint32_t work = pp_work_bytes(col, f.n);
		bool		by_warp = false;

		if (there && state == PP_VALUE && work > scan->thread_bytes)
		{
			alone = false;
			if (pp_needs_look(col, f.n) || work > pp_warp_bytes(job, f))
				fits = pp_fused_queue(job, f, c, record, at, fits);
			else
				by_warp = fits;
		}
		pp_fused_copy(job, by_warp, f, at);
	}
	if (!fits)
		state = PP_DEFERRED;

	/* if by reference; neither the type nor the place is needed from here on */
	*datum = job.host_heap + at;
	*kept = (uint8_t) state;
	if (there && state == PP_VALUE && alone)
	{
		uint8_t    *dst = job.heap + at;
		const uint8_t *s = f.s;
		uint32_t	n = f.n;
		bool		done;

		if (f.control)
		{
			const PpDialect d = {0, job.dfa.quote, job.dfa.escape, false};
			uint8_t    *bare = dst + pp_bare_offset(col, n);

			n = pp_unquote(&d, s, n, bare);
			s = bare;
		}
		if (pp_is_text(col.type))
			done = pp_fused_text(col, scan->env.charset, s, n, f.control, dst) != 0;
		else if (pp_type_by_reference(col.type))
			done = pp_fused_reference(col, s, n, dst) != 0;
		else
			done = pp_convert_value(&col, &scan->env, s, n, datum);
		if (!done)
			*kept = PP_DEFERRED;
	}
	state = (PpState) *kept;
	if (state != PP_VALUE)
		*datum = 0;
	return state;
}

/*
 * Converts all columns of a tile; all threads of the block come by, behind a
 * barrier that makes the tile complete.
 */
static __device__ __forceinline__ void
pp_tile_convert(const PpTile &of, const PpFusedJob &job, PpConvertShared &shared)
{
	const PpTile &tile = shared.tile;
	const uint32_t lane = threadIdx.x % 32;
	uint32_t   &at = shared.at[threadIdx.x / 32];

	if (threadIdx.x == 0)
	{
		shared.tile = of;
		shared.groups = (pp_tile_records(of) + 31) / 32;
	}
	/* where all columns are late there need be none */
	if (threadIdx.x == 32 && job.scan != nullptr)
		shared.scan = *job.scan;
	if (threadIdx.x < job.ncolumns && threadIdx.x < PP_FUSED_COLUMNS)
		shared.column[threadIdx.x] = job.column[threadIdx.x];
	if (lane == 0)
		at = threadIdx.x / 32;
	__syncthreads();
	while (at < shared.groups * job.ncolumns)
	{
		const uint32_t c = at / shared.groups;
		const PpFusedColumn column = c < PP_FUSED_COLUMNS ? shared.column[c] : job.column[c];
		const PpColumn col = pp_column_of(column);
		const uint32_t k = (at - c * shared.groups) * 32 + lane;
		const uint32_t entry = pp_tile_entry(tile, k, col.field);
		const bool	there = entry < tile.nends && tile.record + k < job.room;
		PpState		state = PP_VALUE;
		uint64_t	value;
		PpFusedField f = {};

		if (there)
		{
			uint32_t	stop;

			pp_tile_field(tile, entry, &f.start, &stop);
			f.s = pp_tile_bytes(tile, f.start);
			f.n = stop - f.start;
			f.control = f.quoted = pp_tile_control(tile, entry);
		}
		if (column.flags & PP_FUSED_LATE)
			value = (uint64_t) (f.n | (f.control ? PP_FIELD_CONTROL : 0)) << 32 | f.start;
		else
		{
			state = pp_fused_convert(job, &shared.scan, col, c, tile.record + k, there, f,
									 &shared.state[threadIdx.x], &value);
			if (__ballot_sync(PP_ALL_LANES, state == PP_DEFERRED) != 0 && lane == 0 &&
				pp_load_acquire(&job.result->handed) == 0)
				atomicOr(&job.result->handed, 1u);
		}
		if (there)
		{
			/* anew: a conversion takes all registers that there are */
			const uint32_t column_at = at / shared.groups;
			const size_t i = (size_t) column_at * job.room + tile.record +
				(at - column_at * shared.groups) * 32 + lane;

			job.value[i] = value;
			job.state[i] = (uint8_t) state;
		}
		__syncwarp();
		if (lane == 0)
			at += PP_FUSED_THREADS / 32;
		__syncwarp();
	}
}

#endif							/* PP_FUSED_CONVERT_H */

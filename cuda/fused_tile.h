/*
 * cuda/fused_tile.h
 *	  A tile of text in the fused pipeline: what the pass knows of it when its
 *	  fields are converted, and what of it can be asked afterwards.
 *
 * A block has one tile.  Its text is in shared memory, and so is the list of
 * the fields that end in it.  Of records of the wrong shape, and of what is
 * behind the first of them, there is nothing in the list: field f of record r
 * is entry (r - record) * width + f - column.
 *
 * Owns no memory.  The pass that fills this in is fused_parse.cu.
 */
#ifndef PP_FUSED_TILE_H
#define PP_FUSED_TILE_H

#include "fused_lookback.h"

/* An entry of the list of fields: position in the tile, and two facts. */
#define PP_END_POSITION	0x3fffu
#define PP_END_RECORD	0x4000u	/* it is a record's last field */
#define PP_END_CONTROL	0x8000u	/* quotes or escapes in it are no content */

static_assert(PP_FUSED_MAX_TILE - 1 <= PP_END_POSITION, "an entry holds every position");

/* Bytes in front of a tile's text that are in shared memory, too. */
#define PP_TILE_BEFORE	16

/* The same in all threads of the block. */
struct PpTile
{
	const uint8_t *bytes;		/* shared: text[base - PP_TILE_BEFORE, ...) from
								 * bytes - PP_TILE_BEFORE on, to PP_PAD behind the
								 * tile (garbage behind the text's end and in front
								 * of its start) */
	const uint16_t *end;		/* shared: [nends] fields that end in the tile */
	const uint8_t *text;		/* the partition's */
	uint32_t	base;			/* where the tile starts in it; of the first, up to
								 * 15 bytes in front of it, wrapped around */
	uint32_t	n;				/* and how long that is */
	uint32_t	eol_len;
	uint32_t	width;			/* max(nfields, 1) */
	uint32_t	nends;
	uint32_t	record;			/* number of the record in which end[0] ends ... */
	uint32_t	column;			/* ... and of that field in it */
	uint32_t	open;			/* start of that field, maybe in front of the tile */
};

/*
 * Number of records of which a field ends in the tile, from tile.record on;
 * the first may have lost fields to the tiles before, the last may have some
 * to come.  Each number below room * width is in one tile's list at most.
 */
static __device__ __forceinline__ uint32_t
pp_tile_records(const PpTile &tile)
{
	return tile.nends == 0 ? 0 : (tile.column + tile.nends - 1) / tile.width + 1;
}

/* Entry of field f of record tile.record + k; not below nends: it has none. */
static __device__ __forceinline__ uint32_t
pp_tile_entry(const PpTile &tile, uint32_t k, uint32_t f)
{
	return k * tile.width + f - tile.column;	/* of an earlier tile: huge */
}

/* Positions in the text of entry i, line end excluded, quotes included. */
static __device__ __forceinline__ void
pp_tile_field(const PpTile &tile, uint32_t i, uint32_t *start, uint32_t *stop)
{
	uint32_t	e = tile.end[i];
	uint32_t	at = tile.base + (e & PP_END_POSITION);

	*start = i == 0 ? tile.open : tile.base + (tile.end[i - 1] & PP_END_POSITION) + 1;
	/* a last record without line end ends at n */
	*stop = at - ((e & PP_END_RECORD) && at != tile.n ? tile.eol_len - 1 : 0);
}

/* Are there quotes or escapes in it that have to be removed? */
static __device__ __forceinline__ bool
pp_tile_control(const PpTile &tile, uint32_t i)
{
	return (tile.end[i] & PP_END_CONTROL) != 0;
}

/*
 * The bytes from position start on of a field that ends in the tile: in shared
 * memory if all of it is there.
 */
static __device__ __forceinline__ const uint8_t *
pp_tile_bytes(const PpTile &tile, uint32_t start)
{
	/* the difference is huge if it is negative, but not if the base is */
	return start - tile.base < PP_FUSED_MAX_TILE ? tile.bytes + (start - tile.base) : tile.text + start;
}

/*
 * Behind the pass, by job->tiles: what is in front of tile number i, for those
 * who copy a field of many tiles piece by piece.
 */
typedef enum PpQuoting
{
	PP_OUTSIDE,					/* of quotes */
	PP_INSIDE,
	PP_ESCAPED					/* inside, and behind an escape */
} PpQuoting;

struct PpTileStart
{
	PpQuoting	quoting;		/* in front of the tile's first byte */
	uint32_t	open;			/* start of the field to which that belongs ... */
	uint32_t	content;		/* ... and bytes of its value in front of the tile */
};

/* i is the number of a tile of the text; see pp_tile_of(), pp_tile_base(). */
static __device__ __forceinline__ PpTileStart
pp_tile_start(const PpFusedJob &job, uint32_t i)
{
	PpTileStart r = {PP_OUTSIDE, 0, 0};

	if (i > 0)
	{
		PpTiles		t = pp_tiles(job.tiles, pp_fused_tiles(job));
		const PpTileCounts *c = &t.all[i - 1];
		uint32_t	state = t.state_status[i - 1] >> PP_STATUS_BITS;

		if (job.states == PP_FUSED_PARITY)
			r.quoting = state ? PP_INSIDE : PP_OUTSIDE;
		else if (job.dfa.inside >> state & 1u)
			r.quoting = PP_INSIDE;
		else if (job.escaped >> state & 1u)
			r.quoting = PP_ESCAPED;
		r.open = c->open;
		r.content = pp_tile_base(job, i) - c->open - c->control;
	}
	return r;
}

/*
 * Is byte c, which is no delimiter and in no line end, left out of the value?
 * Of a doubled quote that is the second, of an escape and what it stands in
 * front of, the escape; next is the byte behind it, or 256 at the end of the
 * text.  *quoting moves on.
 */
static __host__ __device__ __forceinline__ bool
pp_byte_is_control(uint32_t quote, uint32_t escape, uint32_t c, uint32_t next, PpQuoting *quoting)
{
	PpQuoting	was = *quoting;

	if (was == PP_ESCAPED)
	{
		*quoting = PP_INSIDE;
		return false;
	}
	if (was == PP_INSIDE && escape != quote && c == escape)
	{
		*quoting = PP_ESCAPED;
		return next == quote || next == escape;
	}
	if (c != quote)
		return false;
	*quoting = was == PP_INSIDE ? PP_OUTSIDE : PP_INSIDE;
	return !(was == PP_INSIDE && escape == quote && next == quote);
}

#endif							/* PP_FUSED_TILE_H */

/*-------------------------------------------------------------------------
 *
 * cells.c
 *		Spilled relations in the order of cells.
 *
 * A relation's two columns are cut by the highest bits of their keys' hashes;
 * a cell is a part of the first column and one of the second.  Rows are sorted
 * by cell, in passes that each write the rows of many buckets side by side, so
 * that what a box needs of a relation lies in few places of a file, and how
 * many rows that are is known without reading them.
 *
 * Owns the order of these rows, the file's layout and the table of cells; the
 * file itself, and what is done with the rows, is boxes.c's.
 *
 * IDENTIFICATION
 *		src/join/cells.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "joinexec.h"

/* Rows of a block of a bucket. */
#define LEAST_BLOCK		16
#define MOST_BLOCK		512

/* In front of a block's rows: the block of its bucket before it, and how many
 * rows it has. */
typedef struct BlockHead
{
	int64		previous;		/* -1: none */
	int64		n;
} BlockHead;

/*
 * Rows by some bits of their cells' numbers.  Each bucket is a chain of blocks
 * in a file, from the last to the first.
 */
typedef struct Buckets
{
	int			shift;
	uint32		mask;
	int			block;			/* rows of a block */
	BufFile    *file;
	int64		nblocks;
	int64	   *last;			/* [bucket] block */
	int		   *fill;			/* [bucket] rows in the next one ... */
	int64	   *rows;			/* ... which are here; NULL: all is written */
} Buckets;

/* What sorting a relation works on. */
typedef struct Sorting
{
	PpCells    *cells;
	uint64		seed;
	Buckets    *to;
} Sorting;

static inline uint32
cell_number(const PpCells *cells, uint32 hash0, uint32 hash1)
{
	return pp_box_part(hash0, cells->bits[0]) << cells->bits[1] |
		pp_box_part(hash1, cells->bits[1]);
}

static inline uint32
cell_count(const PpCells *cells)
{
	return UINT32_C(1) << (cells->bits[0] + cells->bits[1]);
}

/* Rows before a cell. */
static inline uint64
cell_start(const PpCells *cells, uint32 cell)
{
	return cells->wide ? ((const uint64 *) cells->start)[cell] :
		((const uint32 *) cells->start)[cell];
}

static Size
block_bytes(const PpCells *cells, const Buckets *buckets)
{
	return sizeof(BlockHead) + (Size) buckets->block * cells->width * sizeof(int64);
}

/*
 * Sorting.
 */

static Buckets *
make_buckets(const PpCells *cells, int shift, int bits, Size memory)
{
	Buckets    *buckets = palloc0(sizeof(Buckets));
	Size		row = cells->width * sizeof(int64);
	Size		n = (Size) 1 << bits;

	buckets->shift = shift;
	buckets->mask = (uint32) n - 1;
	buckets->block = (int) Max(Min(memory / n / row, MOST_BLOCK), LEAST_BLOCK);
	buckets->last = palloc(n * sizeof(int64));
	for (Size b = 0; b < n; b++)
		buckets->last[b] = -1;
	buckets->fill = palloc0(n * sizeof(int));
	buckets->rows = MemoryContextAllocExtended(CurrentMemoryContext, n * buckets->block * row,
											   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	buckets->file = BufFileCreateTemp(false);
	return buckets;
}

static void
write_block(const PpCells *cells, Buckets *buckets, uint32 bucket)
{
	BlockHead	head;

	CHECK_FOR_INTERRUPTS();
	head.previous = buckets->last[bucket];
	head.n = buckets->fill[bucket];
	BufFileWrite(buckets->file, &head, sizeof(head));
	BufFileWrite(buckets->file, buckets->rows + (Size) bucket * buckets->block * cells->width,
				 (Size) buckets->block * cells->width * sizeof(int64));
	buckets->last[bucket] = buckets->nblocks++;
	buckets->fill[bucket] = 0;
}

/* Where the next row of a cell goes. */
static inline int64 *
bucket_row(const PpCells *cells, Buckets *buckets, uint32 cell)
{
	uint32		bucket = cell >> buckets->shift & buckets->mask;

	if (buckets->fill[bucket] == buckets->block)
		write_block(cells, buckets, bucket);
	return buckets->rows +
		((Size) bucket * buckets->block + buckets->fill[bucket]++) * cells->width;
}

/* Writes what is left; from now on, buckets are read. */
static void
end_buckets(const PpCells *cells, Buckets *buckets)
{
	for (uint32 b = 0; b <= buckets->mask; b++)
		if (buckets->fill[b] > 0)
			write_block(cells, buckets, b);
	pfree(buckets->rows);
	pfree(buckets->fill);
	buckets->rows = NULL;
	buckets->fill = NULL;
}

static void
free_buckets(Buckets *buckets)
{
	BufFileClose(buckets->file);
	pfree(buckets->last);
	pfree(buckets);
}

/* The first pass: rows as they were spilled. */
static void
take_spilled(void *arg, PpRelation *relation, const int64 *pairs, const uint64 *at, int n)
{
	Sorting    *sorting = arg;
	PpCells    *cells = sorting->cells;

	for (int i = 0; i < n; i++)
	{
		uint32		hash0 = pp_box_hash(pairs[2 * i], sorting->seed);
		uint32		hash1 = pp_box_hash(pairs[2 * i + 1], sorting->seed);
		uint32		cell = cell_number(cells, hash0, hash1);
		int64	   *row = bucket_row(cells, sorting->to, cell);

		row[0] = pairs[2 * i];
		row[1] = pairs[2 * i + 1];
		if (at)
			row[2] = (int64) at[i];
		if (cells->wide)
			((uint64 *) cells->start)[cell + 1]++;
		else
			((uint32 *) cells->start)[cell + 1]++;
	}
}

/*
 * Reads buckets, forwards or backwards, each from the last row that it got to
 * the first, into the next buckets or to the file, if there are none.
 */
static void
move_rows(Sorting *sorting, Buckets *from, bool forwards, BufFile *file)
{
	const PpCells *cells = sorting->cells;
	BlockHead  *head = palloc(block_bytes(cells, from));
	int64	   *rows = (int64 *) (head + 1);
	int64		row[3];

	for (uint32 i = 0; i <= from->mask; i++)
	{
		for (int64 block = from->last[forwards ? i : from->mask - i]; block >= 0;
			 block = head->previous)
		{
			CHECK_FOR_INTERRUPTS();
			parparaw_file_seek(from->file, (uint64) block * block_bytes(cells, from));
			parparaw_file_read(from->file, head, block_bytes(cells, from));
			if (sorting->to)
			{
				for (int64 r = head->n; r-- > 0;)
				{
					const int64 *other = rows + r * cells->width;

					memcpy(bucket_row(cells, sorting->to,
									  cell_number(cells, pp_box_hash(other[0], sorting->seed),
												  pp_box_hash(other[1], sorting->seed))),
						   other, cells->width * sizeof(int64));
				}
				continue;
			}
			for (int64 r = 0, s = head->n - 1; r < s; r++, s--)
			{
				memcpy(row, rows + r * cells->width, cells->width * sizeof(int64));
				memcpy(rows + r * cells->width, rows + s * cells->width,
					   cells->width * sizeof(int64));
				memcpy(rows + s * cells->width, row, cells->width * sizeof(int64));
			}
			BufFileWrite(file, rows, head->n * cells->width * sizeof(int64));
		}
	}
	pfree(head);
}

/*
 * How many keys a column would have if all had as many rows as that of a row
 * has on average: n^2 / F2, F2 being the sum of squares of keys' rows.  Parts
 * tell: of P of them, the squares of their rows add up to F2 (1 - 1/P) +
 * n^2 / P, if keys fall into them at random.
 */
static double
effective_keys(const PpCells *cells, int column, uint64 nrows)
{
	double		nparts = (double) (UINT32_C(1) << cells->bits[column]);
	double		n = (double) nrows;
	double		squares = 0;
	double		most = Max(n, 1);
	int			bits[2] = {0, 0};

	if (nparts < 2 || nrows < 2)
		return most;
	bits[column] = cells->bits[column];
	for (uint32 p = 0; p < (UINT32_C(1) << cells->bits[column]); p++)
	{
		uint32		part[2] = {0, 0};
		double		rows;

		part[column] = p;
		rows = (double) parparaw_cells_rows(cells, bits, part);
		squares += rows * rows;
	}
	squares = Max((squares - n * n / nparts) / (1 - 1 / nparts), n);
	return Max(Min(n * n / squares, most), 1);
}

/*
 * Sorts a spilled relation, whose own file is closed, and appends its rows to
 * a file that has *bytes bytes.  bits: how often each column is to be cut, as
 * powers of two, at most; memory: what sorting may take, directory: what the
 * table of cells may.
 */
void
parparaw_cells_make(PpJoinState *state, PpRelation *relation, BufFile *file, uint64 *bytes,
					const uint8 *bits, Size memory, Size directory)
{
	PpCells    *cells = palloc0(sizeof(PpCells));
	Size		row;
	int			all;
	int			fan = 0;
	int			npasses;
	Sorting		sorting = {0};

	relation->cells = cells;
	cells->width = relation->store ? 3 : 2;
	cells->wide = relation->nspilled > PG_UINT32_MAX;
	cells->bits[0] = bits[0];
	cells->bits[1] = bits[1];
	row = cells->width * sizeof(int64);

	/* no more cells than there is room for, or than have some rows each */
	for (;;)
	{
		Size		n = cell_count(cells);

		if (cells->bits[0] + cells->bits[1] == 0 ||
			(n * parparaw_cell_bytes(cells) <= directory && n <= relation->nspilled / 4))
			break;
		cells->bits[cells->bits[1] > cells->bits[0] ? 1 : 0]--;
	}
	cells->start = MemoryContextAllocExtended(CurrentMemoryContext,
											  parparaw_cells_bytes(cells),
											  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	all = cells->bits[0] + cells->bits[1];
	while (fan < all && ((row * LEAST_BLOCK + sizeof(int64) + sizeof(int)) << (fan + 1)) <= memory)
		fan++;
	fan = Max(fan, 1);
	npasses = Max((all + fan - 1) / fan, 1);

	/* the last bits first; as buckets are read from behind, in every other pass
	 * the greatest come first, so that in the end the least do */
	sorting.cells = cells;
	sorting.seed = state->seed;
	for (int pass = 0, shift = 0; pass < npasses; pass++)
	{
		int			here = (all - shift + npasses - pass - 1) / (npasses - pass);
		Buckets    *from = sorting.to;

		sorting.to = make_buckets(cells, shift, here, memory);
		shift += here;
		if (pass == 0)
			parparaw_spill_read(state, relation, take_spilled, &sorting);
		else
		{
			move_rows(&sorting, from, (npasses - pass) % 2 == 0, NULL);
			free_buckets(from);
		}
		end_buckets(cells, sorting.to);
	}
	for (uint32 c = 0; c < cell_count(cells); c++)
	{
		if (cells->wide)
			((uint64 *) cells->start)[c + 1] += ((uint64 *) cells->start)[c];
		else
			((uint32 *) cells->start)[c + 1] += ((uint32 *) cells->start)[c];
	}
	{
		Buckets    *from = sorting.to;

		sorting.to = NULL;
		move_rows(&sorting, from, true, file);
		free_buckets(from);
	}
	for (int i = 0; i < 2; i++)
		cells->keys[i] = effective_keys(cells, i, relation->nspilled);
	cells->at = *bytes;
	*bytes += relation->nspilled * row;
}

/*
 * Reading.
 */

/* Cells of a part of a column: first .. last. */
static inline void
part_range(int bits, int part_bits, uint32 part, uint32 *first, uint32 *last)
{
	if (part_bits >= bits)
		*first = *last = part >> (part_bits - bits);
	else
	{
		*first = part << (bits - part_bits);
		*last = *first + (UINT32_C(1) << (bits - part_bits)) - 1;
	}
}

uint64
parparaw_cells_rows(const PpCells *cells, const int *bits, const uint32 *part)
{
	uint32		first[2];
	uint32		last[2];
	uint64		n = 0;

	for (int i = 0; i < 2; i++)
		part_range(cells->bits[i], bits[i], part[i], &first[i], &last[i]);
	if (first[1] == 0 && last[1] == (UINT32_C(1) << cells->bits[1]) - 1)
		return cell_start(cells, (last[0] + 1) << cells->bits[1]) -
			cell_start(cells, first[0] << cells->bits[1]);
	for (uint32 s = first[0]; s <= last[0]; s++)
		n += cell_start(cells, (s << cells->bits[1] | last[1]) + 1) -
			cell_start(cells, s << cells->bits[1] | first[1]);
	return n;
}

bool
parparaw_cells_scan(PpJoinState *state, BufFile *file, int64 *buffer, Size buffer_bytes,
					const PpCells *cells, const PpJoinAtom *atom, const PpBox *box,
					PpCellConsumer consume, void *arg)
{
	const int	width = cells->width;
	const Size	row = width * sizeof(int64);
	const uint64 most = buffer_bytes / row;
	uint32		first[2];
	uint32		last[2];
	bool		whole[2];		/* is a cell's every row one of the part? */
	bool		merged;

	for (int i = 0; i < 2; i++)
	{
		int			part_bits = box->bits[atom->variable[i]];

		part_range(cells->bits[i], part_bits, box->part[atom->variable[i]],
				   &first[i], &last[i]);
		whole[i] = part_bits <= cells->bits[i];
	}
	merged = first[1] == 0 && last[1] == (UINT32_C(1) << cells->bits[1]) - 1;
	for (uint32 s = first[0]; s <= last[0]; s = merged ? last[0] + 1 : s + 1)
	{
		uint64		i = cell_start(cells, s << cells->bits[1] | first[1]);
		uint64		end = cell_start(cells, ((merged ? last[0] : s) << cells->bits[1] |
											 last[1]) + 1);

		if (i == end)
			continue;
		parparaw_file_seek(file, cells->at + i * row);
		while (i < end)
		{
			uint64		n = Min(end - i, most);

			CHECK_FOR_INTERRUPTS();
			parparaw_file_read(file, buffer, n * row);
			i += n;
			if (!whole[0] || !whole[1])
			{
				uint64		kept = 0;

				for (uint64 r = 0; r < n; r++)
				{
					const int64 *from = buffer + r * width;

					if (!pp_box_has_row(box, state->seed, atom, from[0], from[1]))
						continue;
					memmove(buffer + kept++ * width, from, row);
				}
				n = kept;
			}
			if (n > 0 && !consume(arg, buffer, (int) n))
				return false;
		}
	}
	return true;
}

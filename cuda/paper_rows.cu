/*
 * cuda/paper_rows.cu
 *	  Skipping rows, as published (ParPaRaw, section 4.3): physical lines are
 *	  taken out of the text before anything is parsed, by a stream compaction.
 *
 * Rows are not records: a record may span rows, and a row that is to be
 * ignored may hold a quote that opens and never closes.  A chunk's row number
 * is a sum over the chunks before it, and so is the place of what it keeps.
 * Owns no memory; never waits for the device.
 */
#include "paper_bitmap.h"

/* Does a row end with byte at of a tile that has end bytes of text? */
static __device__ __forceinline__ bool
ends_row(const uint8_t *in, uint32_t at, uint32_t end)
{
	return in[at] == '\n' || (in[at] == '\r' && !(at + 1 < end && in[at + 1] == '\n'));
}

/* Row ends of each chunk. */
__global__ void __launch_bounds__(PP_PAPER_THREADS)
pp_rows_count(const uint8_t *text, uint32_t n, uint32_t chunk, uint32_t nchunks,
			  uint32_t *count)
{
	PP_DYNAMIC_SHARED(tile);
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t	base = blockIdx.x * blockDim.x * chunk;
	uint32_t	skew = pp_stage_text(tile, text, n, base, blockDim.x * chunk + 1);

	__syncthreads();
	if (i < nchunks)
	{
		const uint8_t *in = tile + skew;
		uint32_t	at = threadIdx.x * chunk;
		uint32_t	end = n - base < at + chunk ? n - base : at + chunk;
		uint32_t	rows = 0;

		for (; at < end; at++)
			rows += ends_row(in, at, n - base);
		count[i] = rows;
	}
}

/* Is that row to be ignored?  The numbers ascend. */
static __device__ __forceinline__ bool
is_ignored(const uint32_t *row, uint32_t nrows, uint32_t number)
{
	uint32_t	low = 0;
	uint32_t	high = nrows;

	while (low < high)
	{
		uint32_t	middle = low + (high - low) / 2;

		if (row[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < nrows && row[low] == number;
}

/*
 * Bytes that each chunk keeps; or, with WRITE, these bytes themselves, to
 * where the sums say.
 */
template <bool WRITE>
__global__ void __launch_bounds__(PP_PAPER_THREADS)
pp_rows_keep(const uint8_t *text, uint32_t n, uint32_t chunk, uint32_t nchunks,
			 const uint32_t *row, uint32_t nrows, const uint32_t *first_row,
			 uint32_t *kept, uint8_t *out, uint32_t *out_n)
{
	PP_DYNAMIC_SHARED(tile);
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t	base = blockIdx.x * blockDim.x * chunk;
	uint32_t	skew = pp_stage_text(tile, text, n, base, blockDim.x * chunk + 1);

	__syncthreads();
	if (i < nchunks)
	{
		const uint8_t *in = tile + skew;
		uint32_t	at = threadIdx.x * chunk;
		uint32_t	end = n - base < at + chunk ? n - base : at + chunk;
		uint32_t	number = first_row[i];
		uint32_t	place = WRITE ? kept[i] : 0;
		bool		ignored = is_ignored(row, nrows, number);

		for (; at < end; at++)
		{
			if (!ignored)
			{
				if (WRITE)
					out[place] = in[at];
				place++;
			}
			if (ends_row(in, at, n - base))
				ignored = is_ignored(row, nrows, ++number);
		}
		if (!WRITE)
			kept[i] = place;
		else if (i == nchunks - 1)
			*out_n = place;
	}
}

/* Row numbers, places and scratch memory in one allocation. */
struct RowsPlan
{
	uint32_t	nchunks;
	uint32_t   *first_row;		/* [nchunks] */
	uint32_t   *kept;			/* [nchunks] */
	void	   *temp;
	size_t		temp_bytes;
	size_t		bytes;
};

static cudaError_t
make_plan(const PpRowsJob *job, void *base, RowsPlan *p)
{
	size_t		at = 0;
	cudaError_t error;

	if (job->n >= PP_PAPER_MAX_BYTES || job->chunk < 1 || job->chunk > PP_PAPER_MAX_CHUNK)
		return cudaErrorInvalidValue;
	p->nchunks = pp_paper_chunks(job->n, job->chunk);
	p->first_row = pp_paper_array<uint32_t>(base, &at, p->nchunks);
	p->kept = pp_paper_array<uint32_t>(base, &at, p->nchunks);
	error = pp_scan_sum32(NULL, &p->temp_bytes, NULL, NULL, p->nchunks, NULL);
	if (error != cudaSuccess)
		return error;
	p->temp = pp_paper_array<uint8_t>(base, &at, p->temp_bytes);
	p->bytes = at;
	return cudaSuccess;
}

cudaError_t
pp_rows_layout(const PpRowsJob *job, size_t *bytes)
{
	RowsPlan	p = {};
	cudaError_t error = make_plan(job, NULL, &p);

	*bytes = p.bytes;
	return error;
}

cudaError_t
pp_rows_run(const PpRowsJob *job, void *base, size_t bytes, uint8_t *out, uint32_t *out_n,
			cudaStream_t stream, PpStageClock *clock)
{
	RowsPlan	p = {};
	cudaError_t error = make_plan(job, base, &p);
	uint32_t	blocks = pp_paper_blocks(p.nchunks, job->chunk);
	uint32_t	threads = pp_paper_threads(job->chunk);
	uint32_t	shared = pp_paper_tile_bytes(job->chunk);
	size_t		temp_bytes;

	if (error != cudaSuccess)
		return error;
	if (bytes < p.bytes)
		return cudaErrorInvalidValue;

	pp_stage(clock, PP_STAGE_BITMAPS, stream);
	PP_LAUNCH(pp_rows_count, blocks, threads, shared, stream,
			  job->text, job->n, job->chunk, p.nchunks, p.first_row);
	error = pp_launch_error();
	if (error != cudaSuccess)
		return error;
	temp_bytes = p.temp_bytes;
	pp_stage(clock, PP_STAGE_SCAN, stream);
	error = pp_scan_sum32(p.temp, &temp_bytes, p.first_row, p.first_row, p.nchunks, stream);
	if (error != cudaSuccess)
		return error;

	pp_stage(clock, PP_STAGE_BITMAPS, stream);
	PP_LAUNCH(pp_rows_keep<false>, blocks, threads, shared, stream,
			  job->text, job->n, job->chunk, p.nchunks, job->row, job->nrows,
			  p.first_row, p.kept, out, out_n);
	error = pp_launch_error();
	if (error != cudaSuccess)
		return error;
	temp_bytes = p.temp_bytes;
	pp_stage(clock, PP_STAGE_SCAN, stream);
	error = pp_scan_sum32(p.temp, &temp_bytes, p.kept, p.kept, p.nchunks, stream);
	if (error != cudaSuccess)
		return error;
	pp_stage(clock, PP_STAGE_TAG, stream);
	PP_LAUNCH(pp_rows_keep<true>, blocks, threads, shared, stream,
			  job->text, job->n, job->chunk, p.nchunks, job->row, job->nrows,
			  p.first_row, p.kept, out, out_n);
	return pp_launch_error();
}

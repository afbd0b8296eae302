/*
 * test/ptx/instructions_test.cpp
 *	  Single instructions, executed as nvcc wrote them, against definitions that
 *	  are written bit by bit or with wider types, after the PTX ISA's text.
 *
 * Operands are the numbers at which instructions change what they do, in all
 * pairs, and random ones.
 */
#include "instructions.h"
#include "../simt/control.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static unsigned passed, failed;

static const char *const name[] = {
#define X(name, width, text) #name,
	INSTRUCTIONS(X)
#undef X
};

static const unsigned width_of[] = {
#define X(name, width, text) width,
	INSTRUCTIONS(X)
#undef X
};

static uint64_t
random64()
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * UINT64_C(0x2545f4914f6cdd1d);
}

/* A field of n bits from bit p on, of v's width w; signed: filled by its last bit. */
static uint64_t
field(uint64_t v, unsigned w, bool is_signed, uint64_t p, uint64_t n)
{
	uint64_t	r = 0;
	unsigned	last;
	bool		fill;

	p &= 255;
	n &= 255;
	last = p + n - 1 < w - 1 ? (unsigned) (p + n - 1) : w - 1;
	fill = is_signed && n != 0 && (v >> last & 1) != 0;
	for (unsigned i = 0; i < w; i++)
	{
		bool		bit = i < n && p + i < w ? (v >> (p + i) & 1) != 0 : fill;

		r |= (uint64_t) bit << i;
	}
	return r;
}

static uint64_t
with_field(uint64_t bits, uint64_t v, unsigned w, uint64_t p, uint64_t n)
{
	p &= 255;
	n &= 255;
	for (unsigned i = 0; i < n && p + i < w; i++)
	{
		v &= ~(UINT64_C(1) << (p + i));
		v |= (bits >> i & 1) << (p + i);
	}
	return v;
}

static uint32_t
funnel(uint32_t low, uint32_t high, unsigned by, bool left)
{
	for (; by != 0; by--)
	{
		if (left)
		{
			high = high << 1 | low >> 31;
			low <<= 1;
		}
		else
		{
			low = low >> 1 | high << 31;
			high >>= 1;
		}
	}
	return left ? high : low;
}

static uint32_t
logic(uint32_t a, uint32_t b, uint32_t c, unsigned table)
{
	uint32_t	r = 0;

	for (unsigned i = 0; i < 32; i++)
		r |= (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i;
	return r;
}

static unsigned
leading(uint64_t v, unsigned w)
{
	unsigned	n = 0;

	while (n < w && (v >> (w - 1 - n) & 1) == 0)
		n++;
	return n;
}

static uint64_t
reversed(uint64_t v, unsigned w)
{
	uint64_t	r = 0;

	for (unsigned i = 0; i < w; i++)
		r = r << 1 | (v >> i & 1);
	return r;
}

static double
as_double(uint64_t v)
{
	double		r;

	memcpy(&r, &v, sizeof(r));
	return r;
}

static float
as_float(uint32_t v)
{
	float		r;

	memcpy(&r, &v, sizeof(r));
	return r;
}

static int64_t
saturated(double v, int64_t least, int64_t most)
{
	if (std::isnan(v))
		return 0;
	if (v <= (double) least)
		return least;
	if (v >= (double) most)
		return most;
	return (int64_t) v;
}

/* False: the instruction does not define a result of these. */
static bool
expected(Instruction instruction, const Operands &o, uint64_t *result)
{
	const uint64_t *w = o.v;
	uint32_t	a = (uint32_t) w[0], b = (uint32_t) w[1], c = (uint32_t) w[2], d = (uint32_t) w[3];
	int32_t		sa = (int32_t) a, sb = (int32_t) b;
	uint64_t   &r = *result;

	switch (instruction)
	{
		case I_bfe_u32:
			r = field(a, 32, false, b, c);
			break;
		case I_bfe_s32:
			/* behind the word: not defined which bit is the sign */
			r = field(a, 32, true, b, c);
			break;
		case I_bfi_b32:
			r = with_field(a, b, 32, c, d);
			break;
		case I_bmsk_clamp:
			r = 0;
			for (unsigned i = 0; i < 32; i++)
				if (i >= a && i - a < b)
					r |= UINT64_C(1) << i;
			break;
		case I_shl_b32:
			r = b > 31 ? 0 : a << b;
			break;
		case I_shr_u32:
			r = b > 31 ? 0 : a >> b;
			break;
		case I_shr_s32:
			r = (uint32_t) (sa >> (b > 31 ? 31 : b));
			break;
		case I_prmt_b32:
			r = 0;
			for (unsigned i = 0; i < 4; i++)
			{
				unsigned	s = c >> (4 * i) & 15;
				uint64_t	byte = (s & 4 ? b : a) >> (8 * (s & 3)) & 255;

				if (s & 8)
					byte = byte & 128 ? 255 : 0;
				r |= byte << (8 * i);
			}
			break;
		case I_lop3_1e:
			r = logic(a, b, c, 0x1e);
			break;
		case I_lop3_e4:
			r = logic(a, b, c, 0xe4);
			break;
		case I_shf_l_wrap:
			r = funnel(a, b, c & 31, true);
			break;
		case I_shf_l_clamp:
			r = funnel(a, b, c > 32 ? 32 : c, true);
			break;
		case I_shf_r_wrap:
			r = funnel(a, b, c & 31, false);
			break;
		case I_shf_r_clamp:
			r = funnel(a, b, c > 32 ? 32 : c, false);
			break;
		case I_popc_b32:
			r = 0;
			for (unsigned i = 0; i < 32; i++)
				r += a >> i & 1;
			break;
		case I_clz_b32:
			r = leading(a, 32);
			break;
		case I_bfind_u32:
			r = a == 0 ? 0xffffffffu : 31 - leading(a, 32);
			break;
		case I_bfind_s32:
			a = sa < 0 ? ~a : a;
			r = a == 0 ? 0xffffffffu : 31 - leading(a, 32);
			break;
		case I_bfind_shift:
			r = a == 0 ? 0xffffffffu : leading(a, 32);
			break;
		case I_brev_b32:
			r = reversed(a, 32);
			break;
		case I_mul_hi_u32:
			r = (uint64_t) a * b >> 32;
			break;
		case I_mul_hi_s32:
			r = (uint32_t) ((int64_t) sa * sb >> 32);
			break;
		case I_mad_hi_u32:
			r = (uint32_t) (((uint64_t) a * b >> 32) + c);
			break;
		case I_div_s32:
			if (b == 0 || (sa == INT32_MIN && sb == -1))
				return false;
			r = (uint32_t) (sa / sb);
			break;
		case I_rem_s32:
			if (b == 0 || (sa == INT32_MIN && sb == -1))
				return false;
			r = (uint32_t) (sa % sb);
			break;
		case I_min_s32:
			r = (uint32_t) (sa < sb ? sa : sb);
			break;
		case I_max_u32:
			r = a > b ? a : b;
			break;
		case I_at_least_u16:
			r = (a & 0xffff) >= (b & 0xffff);
			break;
		case I_abs_s32:
			r = (uint32_t) (sa < 0 ? -(int64_t) sa : sa);
			break;
		case I_slct_s32:
			r = (int32_t) c >= 0 ? a : b;
			break;
		case I_dp4a_u32:
			for (unsigned i = 0; i < 4; i++)
				c += (a >> (8 * i) & 255) * (b >> (8 * i) & 255);
			r = c;
			break;
		case I_dp2a_lo:
			r = (uint32_t) (c + (a & 0xffff) * (b & 255) + (a >> 16) * (b >> 8 & 255));
			break;
		case I_dp2a_hi:
			r = (uint32_t) (c + (a & 0xffff) * (b >> 16 & 255) + (a >> 16) * (b >> 24));
			break;
		case I_carry_add:
			r = (uint32_t) (c + d + (((uint64_t) a + b) >> 32));
			break;
		case I_carry_sub:
			r = (uint32_t) (c - d - (a < b));
			break;
		case I_carry_chain:
			r = ((uint64_t) a + b) >> 32;
			r = ((uint64_t) b + c + r) >> 32;
			r = (uint32_t) (c + d + r);
			break;
		case I_sign_extend:
			r = (uint32_t) (int8_t) a;
			break;
		case I_set_lt:
			r = sa < sb ? 0xffffffffu : 0;
			break;
		case I_guarded:
			r = a > b ? c : d;
			break;
		case I_two_predicates:
			r = sa < sb && c == d ? 1 : sa >= sb && c == d ? 3 : 2;
			break;
		case I_to_float_and_back:
			r = (uint32_t) saturated((float) sa, INT32_MIN, INT32_MAX);
			break;
		case I_float_fma:
			{
				float		f = fmaf(as_float(a), as_float(b), as_float(c));
				uint32_t	bits;

				if (std::isnan(f))
					return false;
				memcpy(&bits, &f, sizeof(bits));
				r = bits;
				break;
			}
		case I_jump_table:
			r = (a & 3) == 0 ? b : (a & 3) == 2 ? d : c;
			break;
		case I_bfe_u64:
			r = field(w[0], 64, false, (uint32_t) w[1], (uint32_t) w[2]);
			break;
		case I_bfe_s64:
			r = field(w[0], 64, true, (uint32_t) w[1], (uint32_t) w[2]);
			break;
		case I_bfi_b64:
			r = with_field(w[0], w[1], 64, (uint32_t) w[2], (uint32_t) w[3]);
			break;
		case I_shr_s64:
			r = (uint64_t) ((int64_t) w[0] >> (b > 63 ? 63 : b));
			break;
		case I_mul_hi_u64:
			r = (uint64_t) ((unsigned __int128) w[0] * w[1] >> 64);
			break;
		case I_mul_hi_s64:
			r = (uint64_t) ((__int128) (int64_t) w[0] * (int64_t) w[1] >> 64);
			break;
		case I_mul_wide_s32:
			r = (uint64_t) ((int64_t) sa * sb);
			break;
		case I_rem_s64:
			if (w[1] == 0 || ((int64_t) w[0] == INT64_MIN && (int64_t) w[1] == -1))
				return false;
			r = (uint64_t) ((int64_t) w[0] % (int64_t) w[1]);
			break;
		case I_min_u64:
			r = w[0] < w[1] ? w[0] : w[1];
			break;
		case I_max_s64:
			r = (int64_t) w[0] > (int64_t) w[1] ? w[0] : w[1];
			break;
		case I_sign_extend_s16:
			r = (uint64_t) (int64_t) (int16_t) w[0];
			break;
		case I_clz_b64:
			r = leading(w[0], 64);
			break;
		case I_brev_b64:
			r = reversed(w[0], 64);
			break;
		case I_pack:
			r = w[0] << 32 | w[0] >> 32;
			break;
		case I_double_truncated:
			r = (uint64_t) saturated(trunc(as_double(w[0])), INT64_MIN, INT64_MAX);
			break;
		case I_double_nearest:
			r = (uint64_t) saturated(rint(as_double(w[0])), INT32_MIN, INT32_MAX);
			break;
		case I_double_compare:
			{
				double		f = as_double(w[0]), g = as_double(w[1]);
				bool		nan = std::isnan(f) || std::isnan(g);

				r = (f < g) | (nan || f < g) << 1 | (!nan && f != g) << 2 | (nan || f != g) << 3 |
					(f == g) << 4 | (nan || f == g) << 5 | nan << 6 | !nan << 7;
				break;
			}
		default:
			return false;
	}
	return true;
}

/* Where instructions change what they do. */
static std::vector<uint64_t>
edges(unsigned width)
{
	std::vector<uint64_t> v = {
		0, 1, 2, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 254, 255, 256, 0x7fff, 0x8000, 0x7fffffff,
		0x80000000u, 0xffffffffu
	};

	if (width == 64)
	{
		static const double number[] = {0.5, 1.5, 2.5, -0.5, -2.5, 1e10, -1e10, 2147483647.5, 1e300, -1e300, -0.0};

		for (uint64_t x : {UINT64_C(0x7fffffffffffffff), UINT64_C(0x8000000000000000),
						   UINT64_C(0xffffffffffffffff), UINT64_C(0x100000000),
						   UINT64_C(0x7ff8000000000000), UINT64_C(0x7ff0000000000000)})
			v.push_back(x);
		for (double x : number)
		{
			uint64_t	bits;

			memcpy(&bits, &x, sizeof(bits));
			v.push_back(bits);
		}
	}
	return v;
}

static void
test_instruction(Instruction instruction)
{
	std::vector<uint64_t> edge = edges(width_of[instruction]);
	std::vector<Operands> in;

	for (uint64_t a : edge)
		for (uint64_t b : edge)
			for (int i = 0; i < 3; i++)
			{
				Operands	o = {{a, b, edge[random64() % edge.size()], edge[random64() % edge.size()]}};

				if (i == 1)
					o.v[0] = random64();
				if (i == 2)
				{
					o.v[2] = random64();
					o.v[3] = random64();
				}
				in.push_back(o);
			}
	for (int i = 0; i < 500; i++)
		in.push_back({{random64(), random64(), random64(), random64()}});

	std::vector<uint64_t> got(in.size());
	Operands   *d_in;
	uint64_t   *d_out;

	cudaMalloc(&d_in, in.size() * sizeof(Operands));
	cudaMalloc(&d_out, in.size() * sizeof(uint64_t));
	cudaMemcpy(d_in, in.data(), in.size() * sizeof(Operands), cudaMemcpyHostToDevice);
	if (instruction_run(instruction, d_in, d_out, (uint32_t) in.size(), nullptr) != cudaSuccess ||
		cudaDeviceSynchronize() != cudaSuccess)
		exit(2);
	cudaMemcpy(got.data(), d_out, in.size() * sizeof(uint64_t), cudaMemcpyDeviceToHost);
	cudaFree(d_in);
	cudaFree(d_out);

	unsigned	wrong = 0, checked = 0;

	for (size_t i = 0; i < in.size(); i++)
	{
		uint64_t	want;

		if (!expected(instruction, in[i], &want))
			continue;
		checked++;
		if (got[i] != want && wrong++ == 0)
			printf("FAILED: %s of %llx %llx %llx %llx: %llx, not %llx\n", name[instruction],
				   (unsigned long long) in[i].v[0], (unsigned long long) in[i].v[1],
				   (unsigned long long) in[i].v[2], (unsigned long long) in[i].v[3],
				   (unsigned long long) got[i], (unsigned long long) want);
	}
	if (wrong == 0 && checked > 100)
		passed++;
	else
		failed++;
}

static void
test_shuffles(uint32_t width)
{
	std::vector<uint32_t> value(SHUFFLE_THREADS), lane(SHUFFLE_THREADS), got(SHUFFLE_RESULTS), want(SHUFFLE_RESULTS);
	uint32_t   *d_value, *d_lane, *d_result;
	const uint32_t n = SHUFFLE_THREADS;

	for (uint32_t t = 0; t < n; t++)
	{
		value[t] = (uint32_t) random64() % 40;
		lane[t] = (uint32_t) random64() % 40;
	}
	/* 31 at most: what larger distances do is not defined */
	lane[0] = (uint32_t) random64() % 32;
	for (uint32_t t = 0; t < n; t++)
	{
		uint32_t	group = t / width * width, in_group = t % width, odd = 0, equal = 0, all_odd = 0;
		uint32_t	other = t ^ lane[0];
		bool		all = true, half = true;

		want[t] = value[group + lane[t] % width];
		want[n + t] = value[in_group >= lane[0] ? t - lane[0] : t];
		want[2 * n + t] = value[in_group + lane[0] < width ? t + lane[0] : t];
		/* lanes of groups in front can be reached, those behind cannot */
		want[3 * n + t] = value[other / width <= t / width ? other : t];
		for (uint32_t i = t / 32 * 32; i < t / 32 * 32 + 32; i++)
		{
			odd += value[i] & 1;
			equal += value[i] == value[t];
			all &= value[i] < 38;
			half &= value[i] < 38 || i % 2 != t % 2;
		}
		for (uint32_t i = 0; i < n; i++)
			all_odd += value[i] & 1;
		want[4 * n + t] = equal;
		want[5 * n + t] = odd;
		want[6 * n + t] = all_odd;
		want[7 * n + t] = all;
		want[8 * n + t] = half;
	}
	cudaMalloc(&d_value, n * 4);
	cudaMalloc(&d_lane, n * 4);
	cudaMalloc(&d_result, SHUFFLE_RESULTS * 4);
	cudaMemcpy(d_value, value.data(), n * 4, cudaMemcpyHostToDevice);
	cudaMemcpy(d_lane, lane.data(), n * 4, cudaMemcpyHostToDevice);
	if (shuffle_run(d_value, d_lane, width, d_result, nullptr) != cudaSuccess ||
		cudaDeviceSynchronize() != cudaSuccess)
		exit(2);
	cudaMemcpy(got.data(), d_result, SHUFFLE_RESULTS * 4, cudaMemcpyDeviceToHost);
	cudaFree(d_value);
	cudaFree(d_lane);
	cudaFree(d_result);
	for (uint32_t i = 0; i < SHUFFLE_RESULTS; i += n)
		if (memcmp(&got[i], &want[i], n * 4) == 0)
			passed++;
		else
		{
			failed++;
			printf("FAILED: warp function %u, width %u\n", i / n, width);
		}
}

static void
test_memory(int8_t number)
{
	std::vector<uint64_t> value(MEMORY_THREADS);
	MemoryResults *got = new MemoryResults, *d_results;
	uint64_t   *d_value;
	uint64_t	sum = 0;
	const char *wrong = nullptr;

	for (uint64_t &v : value)
	{
		/* some slots are wanted by many, and none wants 0 */
		v = (random64() & ~UINT64_C(0x40)) | 1;
		sum += v;
	}
	cudaMalloc(&d_value, MEMORY_THREADS * sizeof(uint64_t));
	cudaMalloc(&d_results, sizeof(MemoryResults));
	cudaMemcpy(d_value, value.data(), MEMORY_THREADS * sizeof(uint64_t), cudaMemcpyHostToDevice);
	if (memory_run(d_value, number, d_results, nullptr) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess)
		exit(2);
	cudaMemcpy(got, d_results, sizeof(MemoryResults), cudaMemcpyDeviceToHost);
	cudaFree(d_value);
	cudaFree(d_results);

	/* in the order in which they came, threads take the sum from 0 to what it is */
	uint64_t	reached = 0;

	for (uint32_t i = 0; i < MEMORY_THREADS; i++)
		for (uint32_t t = 0; t < MEMORY_THREADS; t++)
			if (got->before[t] == reached)
			{
				reached += value[t];
				break;
			}
	if (got->sum != sum || reached != sum)
		wrong = "an atomic sum";
	for (uint32_t s = 0; s < MEMORY_SLOTS; s++)
	{
		uint32_t	winners = 0, wanted = 0;

		for (uint32_t t = 0; t < MEMORY_THREADS; t++)
			if ((uint32_t) value[t] % MEMORY_SLOTS == s)
			{
				wanted++;
				winners += got->found[t] == 0;
				if (got->found[t] == 0 ? got->slot[s] != (uint32_t) value[t] : got->found[t] != got->slot[s])
					wrong = "compare and swap";
			}
		if (winners != (wanted > 0) || (wanted == 0 && got->slot[s] != 0))
			wrong = "compare and swap";
	}
	for (uint32_t t = 0; t < MEMORY_THREADS; t++)
	{
		if (got->bytes[t] != (value[t] & 0xffff))
			wrong = "two bytes at once";
		if (got->pair[t][0] != value[t] || got->pair[t][1] != 0 - value[t])
			wrong = "two words at once";
		if (got->generic[t] != value[t] + (uint64_t) (int64_t) number ||
			got->generic32[t] != (uint32_t) (value[t] + (uint64_t) (int64_t) number))
			wrong = "a store to one memory or another";
	}
	delete got;
	if (wrong == nullptr)
		passed++;
	else
	{
		failed++;
		printf("FAILED: %s, number %d\n", wrong, number);
	}
}

int
main()
{
	for (uint32_t seed = 0; seed < 3; seed++)
	{
		SimtConfig	config = {};

		config.seed = seed;
		simt_configure(&config);
		for (uint32_t width = 1; width <= 32; width *= 2)
			for (int i = 0; i < 20; i++)
				test_shuffles(width);
		for (int number : {0, 1, 127, -1, -128})
			test_memory((int8_t) number);
	}
	for (int i = 0; i < I_COUNT; i++)
		test_instruction((Instruction) i);
	/* by their names in the source, not by those that the host registers */
	if (simt_launches("instruction_kernel") == I_COUNT && simt_launches("memory_kernel") == 15)
		passed++;
	else
	{
		failed++;
		printf("FAILED: launches are not counted by name\n");
	}
	printf("instructions: %u passed, %u failed\n", passed, failed);
	return failed != 0;
}

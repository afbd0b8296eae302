/*
 * test/ptx/instructions.h
 *	  Instructions of PTX that the executor has functions for, by number, so
 *	  that each can be executed alone: instructions.cu has the kernels,
 *	  instructions_test.cpp what has to come out.
 */
#ifndef PTX_INSTRUCTIONS_H
#define PTX_INSTRUCTIONS_H

#include "../../cuda/device.h"

/*
 * X(name, width of operands and result, text).  %0 is the result, %1 to %4 the
 * operands, whose low bits are taken where they are narrower.
 */
#define INSTRUCTIONS(X) \
	X(bfe_u32, 32, "bfe.u32 %0, %1, %2, %3;") \
	X(bfe_s32, 32, "bfe.s32 %0, %1, %2, %3;") \
	X(bfi_b32, 32, "bfi.b32 %0, %1, %2, %3, %4;") \
	X(bmsk_clamp, 32, "bmsk.clamp.b32 %0, %1, %2;") \
	X(shl_b32, 32, "shl.b32 %0, %1, %2;") \
	X(shr_u32, 32, "shr.u32 %0, %1, %2;") \
	X(shr_s32, 32, "shr.s32 %0, %1, %2;") \
	X(prmt_b32, 32, "prmt.b32 %0, %1, %2, %3;") \
	X(lop3_1e, 32, "lop3.b32 %0, %1, %2, %3, 0x1e;") \
	X(lop3_e4, 32, "lop3.b32 %0, %1, %2, %3, 0xe4;") \
	X(shf_l_wrap, 32, "shf.l.wrap.b32 %0, %1, %2, %3;") \
	X(shf_l_clamp, 32, "shf.l.clamp.b32 %0, %1, %2, %3;") \
	X(shf_r_wrap, 32, "shf.r.wrap.b32 %0, %1, %2, %3;") \
	X(shf_r_clamp, 32, "shf.r.clamp.b32 %0, %1, %2, %3;") \
	X(popc_b32, 32, "popc.b32 %0, %1;") \
	X(clz_b32, 32, "clz.b32 %0, %1;") \
	X(bfind_u32, 32, "bfind.u32 %0, %1;") \
	X(bfind_s32, 32, "bfind.s32 %0, %1;") \
	X(bfind_shift, 32, "bfind.shiftamt.u32 %0, %1;") \
	X(brev_b32, 32, "brev.b32 %0, %1;") \
	X(mul_hi_u32, 32, "mul.hi.u32 %0, %1, %2;") \
	X(mul_hi_s32, 32, "mul.hi.s32 %0, %1, %2;") \
	X(mad_hi_u32, 32, "mad.hi.u32 %0, %1, %2, %3;") \
	X(div_s32, 32, "div.s32 %0, %1, %2;") \
	X(rem_s32, 32, "rem.s32 %0, %1, %2;") \
	X(min_s32, 32, "min.s32 %0, %1, %2;") \
	X(max_u32, 32, "max.u32 %0, %1, %2;") \
	X(at_least_u16, 32, "{ .reg .u16 a, b; .reg .pred p; cvt.u16.u32 a, %1; cvt.u16.u32 b, %2;" \
	  " setp.ge.u16 p, a, b; selp.u32 %0, 1, 0, p; }") \
	X(abs_s32, 32, "abs.s32 %0, %1;") \
	X(slct_s32, 32, "slct.b32.s32 %0, %1, %2, %3;") \
	X(dp4a_u32, 32, "dp4a.u32.u32 %0, %1, %2, %3;") \
	X(dp2a_lo, 32, "dp2a.lo.u32.u32 %0, %1, %2, %3;") \
	X(dp2a_hi, 32, "dp2a.hi.u32.u32 %0, %1, %2, %3;") \
	X(carry_add, 32, "{ .reg .u32 t; add.cc.u32 t, %1, %2; addc.u32 %0, %3, %4; }") \
	X(carry_sub, 32, "{ .reg .u32 t; sub.cc.u32 t, %1, %2; subc.u32 %0, %3, %4; }") \
	X(carry_chain, 32, "{ .reg .u32 t; add.cc.u32 t, %1, %2; addc.cc.u32 t, %2, %3; addc.u32 %0, %3, %4; }") \
	X(sign_extend, 32, "cvt.s32.s8 %0, %1;") \
	X(set_lt, 32, "set.lt.u32.s32 %0, %1, %2;") \
	X(guarded, 32, "{ .reg .pred p; setp.gt.u32 p, %1, %2; mov.u32 %0, %3; @!p mov.u32 %0, %4; }") \
	X(two_predicates, 32, "{ .reg .pred p, q, r; setp.eq.u32 r, %3, %4; setp.lt.and.s32 p|q, %1, %2, r;" \
	  " selp.u32 %0, 1, 2, p; @q mov.u32 %0, 3; }") \
	X(to_float_and_back, 32, "{ .reg .f32 f; cvt.rn.f32.s32 f, %1; cvt.rzi.s32.f32 %0, f; }") \
	X(float_fma, 32, "{ .reg .f32 a, b, c; mov.b32 a, %1; mov.b32 b, %2; mov.b32 c, %3; fma.rn.f32 a, a, b, c;" \
	  " mov.b32 %0, a; }") \
	X(jump_table, 32, "{ .reg .u32 t; and.b32 t, %1, 3; targets: .branchtargets j0, j1, j2, j1;" \
	  " brx.idx t, targets; j0: mov.u32 %0, %2; bra j3; j1: mov.u32 %0, %3; bra j3; j2: mov.u32 %0, %4; j3: }") \
	X(bfe_u64, 64, "{ .reg .u32 p, n; cvt.u32.u64 p, %2; cvt.u32.u64 n, %3; bfe.u64 %0, %1, p, n; }") \
	X(bfe_s64, 64, "{ .reg .u32 p, n; cvt.u32.u64 p, %2; cvt.u32.u64 n, %3; bfe.s64 %0, %1, p, n; }") \
	X(bfi_b64, 64, "{ .reg .u32 p, n; cvt.u32.u64 p, %3; cvt.u32.u64 n, %4; bfi.b64 %0, %1, %2, p, n; }") \
	X(shr_s64, 64, "{ .reg .u32 n; cvt.u32.u64 n, %2; shr.s64 %0, %1, n; }") \
	X(mul_hi_u64, 64, "mul.hi.u64 %0, %1, %2;") \
	X(mul_hi_s64, 64, "mul.hi.s64 %0, %1, %2;") \
	X(mul_wide_s32, 64, "{ .reg .s32 a, b; cvt.u32.u64 a, %1; cvt.u32.u64 b, %2; mul.wide.s32 %0, a, b; }") \
	X(rem_s64, 64, "rem.s64 %0, %1, %2;") \
	X(min_u64, 64, "min.u64 %0, %1, %2;") \
	X(max_s64, 64, "max.s64 %0, %1, %2;") \
	X(sign_extend_s16, 64, "{ .reg .s16 a; cvt.u16.u64 a, %1; cvt.s64.s16 %0, a; }") \
	X(clz_b64, 64, "{ .reg .u32 n; clz.b64 n, %1; cvt.u64.u32 %0, n; }") \
	X(brev_b64, 64, "brev.b64 %0, %1;") \
	X(pack, 64, "{ .reg .b32 a, b; mov.b64 {a, b}, %1; mov.b64 %0, {b, a}; }") \
	X(double_truncated, 64, "{ .reg .f64 f; mov.b64 f, %1; cvt.rzi.s64.f64 %0, f; }") \
	X(double_nearest, 64, "{ .reg .f64 f; mov.b64 f, %1; .reg .s32 n; cvt.rni.s32.f64 n, f; cvt.s64.s32 %0, n; }") \
	X(double_compare, 64, "{ .reg .f64 f, g; .reg .pred p; mov.b64 f, %1; mov.b64 g, %2; mov.b64 %0, 0;" \
	  " setp.lt.f64 p, f, g; @p or.b64 %0, %0, 1; setp.ltu.f64 p, f, g; @p or.b64 %0, %0, 2;" \
	  " setp.ne.f64 p, f, g; @p or.b64 %0, %0, 4; setp.neu.f64 p, f, g; @p or.b64 %0, %0, 8;" \
	  " setp.eq.f64 p, f, g; @p or.b64 %0, %0, 16; setp.equ.f64 p, f, g; @p or.b64 %0, %0, 32;" \
	  " setp.nan.f64 p, f, g; @p or.b64 %0, %0, 64; setp.num.f64 p, f, g; @p or.b64 %0, %0, 128; }")

enum Instruction
{
#define X(name, width, text) I_##name,
	INSTRUCTIONS(X)
#undef X
	I_COUNT
};

struct Operands
{
	uint64_t	v[4];
};

/* result[i] of operands[i], i < n. */
extern cudaError_t instruction_run(Instruction instruction, const Operands *operands, uint64_t *result,
								   uint32_t n, cudaStream_t stream);

/*
 * Shuffles of all threads of one block of 64: result[kind * 64 + t], kinds 0
 * to 3 in the order of __shfl_sync, _up, _down, _xor; then (kinds 4 to 6) the
 * numbers of equal values in the warp, of odd ones, of odd ones in the block; then
 * whether all of the warp, and all of an even or an odd half of it, are less than 38.
 */
#define SHUFFLE_THREADS	64
#define SHUFFLE_RESULTS	(9 * SHUFFLE_THREADS)

extern cudaError_t shuffle_run(const uint32_t *value, const uint32_t *lane, uint32_t width,
							   uint32_t *result, cudaStream_t stream);

/*
 * Memory that all threads of one block of MEMORY_THREADS write: their values' sum and
 * the set of their values (0 is none), by atomic instructions on shared memory;
 * then what each has stored as two bytes, as two words of 64 bits, and through
 * addresses that may be of either memory.  Numbers as small as signed bytes are
 * parameters.
 */
#define MEMORY_THREADS	96
#define MEMORY_SLOTS	128

struct MemoryResults
{
	uint64_t	before[MEMORY_THREADS];		/* the sum when a thread came */
	uint64_t	sum;
	uint32_t	slot[MEMORY_SLOTS];
	uint32_t	found[MEMORY_THREADS];		/* what was in a thread's slot: 0 if it was the first */
	uint32_t	bytes[MEMORY_THREADS];		/* the value's lowest two */
	alignas(16) uint64_t pair[MEMORY_THREADS][2];	/* the value, and what it lacks to 2^64 */
	uint64_t	generic[MEMORY_THREADS];	/* the value, plus the number */
	uint32_t	generic32[MEMORY_THREADS];
};

extern cudaError_t memory_run(const uint64_t *value, int8_t number, MemoryResults *results,
							  cudaStream_t stream);

#endif							/* PTX_INSTRUCTIONS_H */

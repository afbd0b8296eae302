/*
 * test/ptx/ptx_runtime.h
 *	  What C++ made from PTX by translate.py calls: the instructions that are
 *	  more than an operator of C, as inline functions.
 *
 * Memory and warps are those of the host SIMT runtime (test/simt/runtime.h).
 * Follows the PTX ISA where it differs from C: shifts by more than the width,
 * division by zero, saturating conversions, accesses that must be aligned.
 */
#ifndef PTX_RUNTIME_H
#define PTX_RUNTIME_H

#include <cstring>
#include <limits>
#include <type_traits>

#include "kernel_table.h"
#include "runtime.h"

namespace ptx
{

/* Bits of floats */

static inline float
as_float(uint32_t v)
{
	float		r;

	memcpy(&r, &v, sizeof(r));
	return r;
}

static inline double
as_double(uint64_t v)
{
	double		r;

	memcpy(&r, &v, sizeof(r));
	return r;
}

static inline uint32_t
as_bits(float v)
{
	uint32_t	r;

	memcpy(&r, &v, sizeof(r));
	return r;
}

static inline uint64_t
as_bits(double v)
{
	uint64_t	r;

	memcpy(&r, &v, sizeof(r));
	return r;
}

/* Threads */

static inline uint32_t
flat_thread()
{
	const uint3 &t = simt::current->thread;
	const dim3 &b = simt::dims.block;

	return t.x + b.x * (t.y + b.y * t.z);
}

static inline uint32_t
lane()
{
	return flat_thread() & 31;
}

/* Memory */

/* Accesses alias whatever type was stored there. */
template <class T>
struct Cell
{
	typedef T	type __attribute__((may_alias));
};

template <unsigned bytes>
static inline void
check_aligned(const uint8_t *q)
{
	if (__builtin_expect(((uintptr_t) q & (bytes - 1)) != 0, 0))
		simt::misaligned(q, bytes);
}

template <class T>
static inline T
load(const uint8_t *q)
{
	return *(const typename Cell<T>::type *) q;
}

template <class T>
static inline void
store(uint8_t *q, T v)
{
	*(typename Cell<T>::type *) q = v;
}

/* nvcc's loops that wait need not say so: loads give others a chance. */
static inline void
before_atomic_load()
{
	simt::before_load();
	simt::spin();
}

static inline void
before_atomic_store()
{
	simt::before_store();
}

template <class T, int order>
static inline T
load_ordered(const uint8_t *q)
{
	typename Cell<T>::type v;

	__atomic_load((typename Cell<T>::type *) q, &v, order);
	return v;
}

template <class T, int order>
static inline void
store_ordered(uint8_t *q, T v)
{
	typename Cell<T>::type cell = v;

	__atomic_store((typename Cell<T>::type *) q, &cell, order);
}

template <class T>
static inline T
load_acquire(const uint8_t *q)
{
	return load_ordered<T, __ATOMIC_ACQUIRE>(q);
}

template <class T>
static inline T
load_relaxed(const uint8_t *q)
{
	return load_ordered<T, __ATOMIC_RELAXED>(q);
}

template <class T>
static inline void
store_release(uint8_t *q, T v)
{
	store_ordered<T, __ATOMIC_RELEASE>(q, v);
}

template <class T>
static inline void
store_relaxed(uint8_t *q, T v)
{
	store_ordered<T, __ATOMIC_RELAXED>(q, v);
}

static inline void
fence()
{
	simt::before_load();
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Replaces *q by next(*q); answers what was there. */
template <class T, int order, class Next>
static inline T
update(uint8_t *q, Next next)
{
	typedef typename Cell<T>::type C;
	C		   *p = (C *) q;
	C			old, changed;

	check_aligned<sizeof(T)>(q);
	simt::before_store();
	__atomic_load(p, &old, __ATOMIC_RELAXED);
	do
		changed = next((T) old);
	while (!__atomic_compare_exchange(p, &old, &changed, false, order, __ATOMIC_RELAXED));
	return old;
}

template <class T, int order>
static inline T
compare_and_swap(uint8_t *q, T expected, T v)
{
	typedef typename Cell<T>::type C;
	C			found = expected, changed = v;

	check_aligned<sizeof(T)>(q);
	simt::before_load();
	simt::spin();
	__atomic_compare_exchange((C *) q, &found, &changed, false, order,
							  order == __ATOMIC_ACQ_REL || order == __ATOMIC_ACQUIRE ?
							  __ATOMIC_ACQUIRE : __ATOMIC_RELAXED);
	return found;
}

#define PTX_ATOMIC(name, expr) \
	template <class T, int order> \
	static inline T atomic_##name(uint8_t *q, T v) \
	{ \
		return update<T, order>(q, [v](T old) -> T { return (T) (expr); }); \
	}

PTX_ATOMIC(add, old + v)
PTX_ATOMIC(and, old & v)
PTX_ATOMIC(or, old | v)
PTX_ATOMIC(xor, old ^ v)
PTX_ATOMIC(min, v < old ? v : old)
PTX_ATOMIC(max, v > old ? v : old)
PTX_ATOMIC(exch, v)
PTX_ATOMIC(inc, old >= v ? 0 : old + 1)
PTX_ATOMIC(dec, old == 0 || old > v ? v : old - 1)

/* Arithmetic */

template <class T>
static inline bool
carry_add(T a, T b, bool carry)
{
	T			sum = (T) (a + b);

	return sum < a || (carry && sum == std::numeric_limits<T>::max());
}

template <class T>
static inline bool
carry_sub(T a, T b, bool borrow)
{
	return a < b || (borrow && a == b);
}

static inline uint16_t high_product(uint16_t a, uint16_t b) { return (uint16_t) ((uint32_t) a * b >> 16); }
static inline int16_t high_product(int16_t a, int16_t b) { return (int16_t) ((int32_t) a * b >> 16); }
static inline uint32_t high_product(uint32_t a, uint32_t b) { return (uint32_t) ((uint64_t) a * b >> 32); }
static inline int32_t high_product(int32_t a, int32_t b) { return (int32_t) ((int64_t) a * b >> 32); }
static inline uint64_t high_product(uint64_t a, uint64_t b) { return (uint64_t) ((unsigned __int128) a * b >> 64); }
static inline int64_t high_product(int64_t a, int64_t b) { return (int64_t) ((__int128) a * b >> 64); }

/* What division by zero yields is not specified. */
template <class T>
static inline T
divide(T a, T b)
{
	if (b == 0)
		return (T) -1;
	if (std::is_signed<T>::value && b == (T) -1)
		return (T) (0 - (uint64_t) a);
	return (T) (a / b);
}

template <class T>
static inline T
remainder(T a, T b)
{
	if (b == 0)
		return a;
	if (std::is_signed<T>::value && b == (T) -1)
		return 0;
	return (T) (a % b);
}

static inline bool is_number(double v) { return v == v; }

/* Of a number and no number, the number. */
template <class T>
static inline T
smaller(T a, T b)
{
	return a < b || b != b ? a : b;
}

template <class T>
static inline T
larger(T a, T b)
{
	return a > b || b != b ? a : b;
}

template <class T, class F>
static inline T
to_integer(F v)
{
	if (v != v)
		return 0;
	if (v <= (F) std::numeric_limits<T>::min())
		return std::numeric_limits<T>::min();
	if (v >= (F) std::numeric_limits<T>::max())
		return std::numeric_limits<T>::max();
	return (T) v;
}

/* Bits */

template <class T>
static inline T
shift_left(T v, uint32_t by)
{
	return by >= sizeof(T) * 8 ? (T) 0 : (T) (v << by);
}

template <class T>
static inline T
shift_right(T v, uint32_t by)
{
	if (by >= sizeof(T) * 8)
		return v < 0 ? (T) -1 : (T) 0;
	return (T) (v >> by);
}

static inline uint32_t
funnel_left(uint32_t low, uint32_t high, uint32_t by, bool clamp)
{
	by = clamp ? (by > 32 ? 32 : by) : by & 31;
	return (uint32_t) (((uint64_t) high << 32 | low) << by >> 32);
}

static inline uint32_t
funnel_right(uint32_t low, uint32_t high, uint32_t by, bool clamp)
{
	by = clamp ? (by > 32 ? 32 : by) : by & 31;
	return (uint32_t) (((uint64_t) high << 32 | low) >> by);
}

template <class T>
static inline uint32_t
leading_zeros(T v)
{
	return v == 0 ? sizeof(T) * 8 : (uint32_t) (__builtin_clzll((uint64_t) v) - (64 - (int) sizeof(T) * 8));
}

template <class T>
static inline uint32_t
highest_bit(T v, bool as_shift)
{
	typedef typename std::make_unsigned<T>::type U;
	U			bits = v < 0 ? (U) ~v : (U) v;

	if (bits == 0)
		return 0xffffffffu;
	return as_shift ? leading_zeros(bits) : (uint32_t) sizeof(T) * 8 - 1 - leading_zeros(bits);
}

template <class T>
static inline T
reverse_bits(T v)
{
	T			r = 0;

	for (unsigned i = 0; i < sizeof(T) * 8; i++)
		r |= (T) ((v >> i & 1) << (sizeof(T) * 8 - 1 - i));
	return r;
}

/* Signed: filled up with the field's highest bit that there is. */
template <class T>
static inline T
extract_field(T v, uint32_t at, uint32_t n)
{
	typedef typename std::make_unsigned<T>::type U;
	const uint32_t width = sizeof(T) * 8;
	U			field;

	at &= 255;
	n &= 255;
	if (n == 0)
		return 0;
	field = at >= width ? 0 : (U) ((U) v >> at);
	if (at >= width && v < 0)
		field = (U) ~(U) 0;
	if (n < width)
		field &= (U) (((U) 1 << n) - 1);
	if (std::is_signed<T>::value)
	{
		uint32_t	top = at + n - 1 < width - 1 ? at + n - 1 : width - 1;

		if (((U) v >> top & 1) != 0)
		{
			uint32_t	kept = at >= width ? 0 : (n < width - at ? n : width - at);

			field |= kept >= width ? 0 : (U) (~(U) 0 << kept);
		}
	}
	return (T) field;
}

template <class T>
static inline T
insert_field(T bits, T v, uint32_t at, uint32_t n)
{
	const uint32_t width = sizeof(T) * 8;
	T			mask;

	at &= 255;
	n &= 255;
	if (n == 0 || at >= width)
		return v;
	mask = n >= width ? (T) ~(T) 0 : (T) (((T) 1 << n) - 1);
	return (T) ((v & ~(T) (mask << at)) | (T) ((bits & mask) << at));
}

static inline uint32_t
bit_mask(uint32_t at, uint32_t n, bool wrap)
{
	if (wrap)
	{
		at &= 31;
		n &= 31;
	}
	if (at >= 32)
		return 0;
	return (n >= 32 ? 0xffffffffu : (1u << n) - 1) << at;
}

/* Selector nibbles with bit 3 replicate the byte's sign. */
static inline uint32_t
permute_bytes(uint32_t a, uint32_t b, uint32_t selector)
{
	uint64_t	bytes = (uint64_t) b << 32 | a;
	uint32_t	r = 0;

	for (int i = 0; i < 4; i++)
	{
		uint32_t	s = selector >> (4 * i) & 15;
		uint32_t	v = (uint32_t) (bytes >> (8 * (s & 7))) & 255;

		if (s & 8)
			v = v & 128 ? 255 : 0;
		r |= v << (8 * i);
	}
	return r;
}

template <unsigned table>
static inline uint32_t
three_way_logic(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t	r = 0;

	for (int i = 0; i < 8; i++)
		if (table >> i & 1)
			r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
	return r;
}

static inline uint32_t
dot_product4(uint32_t a, uint32_t b, uint32_t c)
{
	for (int i = 0; i < 32; i += 8)
		c += (a >> i & 255) * (b >> i & 255);
	return c;
}

/* Two 16-bit numbers of a, two bytes of b. */
static inline uint32_t
dot_product2(uint32_t a, uint32_t b, uint32_t c, bool high)
{
	b >>= high ? 16 : 0;
	return c + (a & 0xffff) * (b & 255) + (a >> 16) * (b >> 8 & 255);
}

/* Warps: b, c and mask as the instruction has them. */

static inline uint32_t
shuffle_from(uint32_t value, int source, bool inside, uint32_t mask, const char *where)
{
	if (!inside)
		source = (int) lane();
	return (uint32_t) simt::warp(simt::Warp::shuffle, mask, value,
								 simt::shuffle_arg(simt::Shuffle::index, source & 31, 32), where);
}

static inline uint32_t
shuffle_idx(uint32_t value, uint32_t b, uint32_t c, uint32_t mask, bool &inside, const char *where)
{
	uint32_t	segment = c >> 8 & 31, clamp = c & 31;
	uint32_t	first = lane() & segment, last = first | (clamp & ~segment);
	uint32_t	source = first | (b & 31 & ~segment);

	inside = source <= last;
	return shuffle_from(value, (int) source, inside, mask, where);
}

static inline uint32_t
shuffle_up(uint32_t value, uint32_t b, uint32_t c, uint32_t mask, bool &inside, const char *where)
{
	uint32_t	segment = c >> 8 & 31, clamp = c & 31;
	int			last = (int) ((lane() & segment) | (clamp & ~segment));
	int			source = (int) lane() - (int) (b & 31);

	inside = source >= last;
	return shuffle_from(value, source, inside, mask, where);
}

static inline uint32_t
shuffle_down(uint32_t value, uint32_t b, uint32_t c, uint32_t mask, bool &inside, const char *where)
{
	uint32_t	segment = c >> 8 & 31, clamp = c & 31;
	int			last = (int) ((lane() & segment) | (clamp & ~segment));
	int			source = (int) lane() + (int) (b & 31);

	inside = source <= last;
	return shuffle_from(value, source, inside, mask, where);
}

static inline uint32_t
shuffle_bfly(uint32_t value, uint32_t b, uint32_t c, uint32_t mask, bool &inside, const char *where)
{
	uint32_t	segment = c >> 8 & 31, clamp = c & 31;
	int			last = (int) ((lane() & segment) | (clamp & ~segment));
	int			source = (int) (lane() ^ (b & 31));

	inside = source <= last;
	return shuffle_from(value, source, inside, mask, where);
}

}								/* namespace ptx */

#endif							/* PTX_RUNTIME_H */

/*
 * test/convert_oracle/oracle.h
 *	  What the oracle's two files share: random numbers and the generator of
 *	  texts.
 */
#ifndef CONVERT_ORACLE_H
#define CONVERT_ORACLE_H

#include "../../src/parse/convert.h"

/* Room for a generated text. */
#define ORACLE_TEXT_MAX		4096

typedef struct OracleRandom
{
	uint64_t	state;
} OracleRandom;

/* Splitmix64. */
static inline uint64_t
oracle_random(OracleRandom *r)
{
	uint64_t	z = (r->state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline uint32_t
oracle_below(OracleRandom *r, uint32_t n)
{
	return (uint32_t) (oracle_random(r) % n);
}

static inline bool
oracle_one_in(OracleRandom *r, uint32_t n)
{
	return oracle_below(r, n) == 0;
}

/* What bytes above 127 may stand in a text. */
typedef enum OracleCharset
{
	ORACLE_ASCII,
	ORACLE_BYTES,				/* any */
	ORACLE_UTF8,
	ORACLE_EUC_JP
} OracleCharset;

/*
 * Writes a text to try on a type, with the modifier in the engine's terms, and
 * answers its length.  zone is where changes of the session's time zone are
 * found; without any, times are spread evenly.
 */
extern size_t oracle_generate(OracleRandom *r, PpType type, int32_t mod,
							  OracleCharset charset, const PpEnv *env,
							  char *dst);

#endif							/* CONVERT_ORACLE_H */

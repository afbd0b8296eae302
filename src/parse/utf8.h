/*
 * src/parse/utf8.h
 *	  Verification of incoming bytes: how many from the start are valid.
 *
 * What is valid is what PostgreSQL accepts: for UTF-8 the well-formed
 * sequences of RFC 3629 (no overlong forms, no surrogates, nothing above
 * U+10FFFF), and never a zero byte in any encoding.
 */
#ifndef PP_UTF8_H
#define PP_UTF8_H

#include "common.h"

#ifdef __cplusplus
extern "C"
{
#endif

/*
 * Leading bytes of s that are whole valid UTF-8 characters other than NUL.
 * If the answer is less than n, an invalid or an incomplete character starts
 * there; it is certainly invalid if four bytes or more are left.
 */
extern size_t pp_utf8_valid_prefix(const uint8_t *s, size_t n);

/* Leading bytes of s that are not zero. */
extern size_t pp_nul_free_prefix(const uint8_t *s, size_t n);

#ifdef __cplusplus
}
#endif

#endif							/* PP_UTF8_H */

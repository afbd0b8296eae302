/*
 * src/parse/dfa.h
 *	  Deterministic finite automata of at most 16 states, their
 *	  state-transition vectors, and the operators whose scans give every
 *	  chunk its start (ParPaRaw, sections 3.1 and 3.2).
 *
 * A transition vector is a function from states to states, packed four bits
 * a state in one 64-bit word: nibble s is the state that the automaton
 * reaches from state s.  Vectors compose associatively; the identity is
 * PP_VEC_IDENTITY.  An exclusive scan of the chunks' vectors, applied to the
 * state before the first chunk, gives each chunk its true start state.
 *
 * The record count of a chunk is summed.  The column offset is an absolute or
 * a relative number of field ends (PpColumnOffset): absolute if a record ends
 * in the chunk, for then what came before no longer matters.
 */
#ifndef PP_DFA_H
#define PP_DFA_H

#include "common.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define PP_DFA_STATES	16

/* What a transition does, beside changing the state. */
#define PP_EMIT_FIELD	0x10u	/* the byte ends a field */
#define PP_EMIT_RECORD	0x20u	/* the byte ends a record (and its last field) */
#define PP_EMIT_STOP	0x40u	/* the new state is never left */
#define PP_EMIT_QUOTE	0x80u	/* a quoted stretch opens */
#define PP_EMIT_ANY		0xf0u

/* What it means if the input ends in a state. */
typedef enum PpEnd
{
	PP_END_ACCEPT,				/* the bytes so far are a whole record */
	PP_END_DATA,				/* an end-of-data marker was met before */
	PP_END_UNTERMINATED,		/* inside quotes */
	PP_END_BAD_CR,				/* carriage return outside quotes */
	PP_END_BAD_NL,				/* newline outside quotes */
	PP_END_BAD_MARKER,			/* end-of-data marker with another line end */
	PP_END_TOO_LONG				/* PP_MAX_RECORD bytes; no state means this */
} PpEnd;

typedef uint64_t PpVector;

#define PP_VEC_IDENTITY UINT64_C(0xfedcba9876543210)

/*
 * An automaton.  step[state][byte] is the next state in the low four bits
 * and the PP_EMIT_* flags in the high four.  group[byte] names the symbol
 * group (bytes that act alike in every state) and row[group] holds the
 * group's transition vector, which is all the vector pass needs.
 */
typedef struct PpDfa
{
	uint8_t		nstates;
	uint8_t		ngroups;
	uint8_t		start;			/* state at the start of a record */
	uint8_t		eol_len;		/* bytes of a line end: 1 or 2 */
	uint8_t		end[PP_DFA_STATES];	/* PpEnd of each state */
	uint8_t		group[256];
	PpVector	row[256];
	uint8_t		step[PP_DFA_STATES][256];
} PpDfa;

/* Fills group[], row[] and ngroups from step[][] and nstates. */
extern void pp_dfa_group(PpDfa *dfa);

PP_INLINE uint32_t
pp_vec_apply(PpVector v, uint32_t state)
{
	return (uint32_t) (v >> (4 * state)) & 15u;
}

/* First a, then b. */
PP_INLINE PpVector
pp_vec_compose(PpVector a, PpVector b)
{
	PpVector	r = 0;

	for (uint32_t s = 0; s < PP_DFA_STATES; s++)
		r |= (PpVector) pp_vec_apply(b, pp_vec_apply(a, s)) << (4 * s);
	return r;
}

/* The vector of n bytes. */
PP_INLINE PpVector
pp_dfa_vector(const PpDfa *dfa, const uint8_t *p, size_t n)
{
	PpVector	v = PP_VEC_IDENTITY;

	for (size_t i = 0; i < n; i++)
		v = pp_vec_compose(v, dfa->row[dfa->group[p[i]]]);
	return v;
}

/*
 * Replaces the vectors by their exclusive scan, seeded with the identity;
 * answers the composition of all of them.
 */
PP_INLINE PpVector
pp_vec_exclusive_scan(PpVector *v, size_t n)
{
	PpVector	acc = PP_VEC_IDENTITY;

	for (size_t i = 0; i < n; i++)
	{
		PpVector	own = v[i];

		v[i] = acc;
		acc = pp_vec_compose(acc, own);
	}
	return acc;
}

/*
 * Field ends since the last record end, if one lies in the range ("absolute"),
 * else since the range's start ("relative").
 */
typedef struct PpColumnOffset
{
	uint32_t	absolute;
	uint32_t	fields;
} PpColumnOffset;

/* ParPaRaw, section 3.2: b absolute gives b, b relative adds to a. */
PP_INLINE PpColumnOffset
pp_column_combine(PpColumnOffset a, PpColumnOffset b)
{
	PpColumnOffset r = b;

	if (!b.absolute)
	{
		r.absolute = a.absolute;
		r.fields = a.fields + b.fields;
	}
	return r;
}

#ifdef __cplusplus
}
#endif

#endif							/* PP_DFA_H */

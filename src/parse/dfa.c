/*
 * src/parse/dfa.c
 *	  Symbol groups of an automaton.
 *
 * Bytes whose transitions agree in every state form one group, so that the
 * vector pass works on a handful of transition vectors instead of 256.  Pure
 * computation: no memory is allocated.
 */
#include "dfa.h"

void
pp_dfa_group(PpDfa *dfa)
{
	dfa->ngroups = 0;
	for (uint32_t byte = 0; byte < 256; byte++)
	{
		PpVector	row = 0;
		uint32_t	g;

		for (uint32_t s = 0; s < PP_DFA_STATES; s++)
		{
			/* States that do not exist map to themselves. */
			PpVector	next = s < dfa->nstates ? (dfa->step[s][byte] & 15u) : s;

			row |= next << (4 * s);
		}
		for (g = 0; g < dfa->ngroups; g++)
			if (dfa->row[g] == row)
				break;
		if (g == dfa->ngroups)
		{
			dfa->row[g] = row;
			/* 256 groups at most, of which the last is number 255 */
			if (dfa->ngroups < 255)
				dfa->ngroups++;
		}
		dfa->group[byte] = (uint8_t) g;
	}
}

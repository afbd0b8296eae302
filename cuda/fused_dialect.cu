/*
 * cuda/fused_dialect.cu
 *	  A dialect's automaton as the fused pass wants it: which of its ways serves
 *	  best, and the automaton cut down to the states that matter.
 *
 * For the host only.  Owns nothing, calls nothing of the device.
 */
#include "fused.h"

#include <cstring>

namespace
{

/*
 * Quotes are counted where nothing but a quote is of interest inside quotes,
 * and where an end-of-data marker is the same bytes whatever they mean.
 */
bool
is_parity(const PpDialect *d)
{
	return pp_dialect_is_parity(d) && d->escape == d->quote &&
		d->delimiter != '\r' && d->delimiter != '\n' &&
		!(d->end_marker && (d->quote == '\\' || d->quote == '.'));
}

uint32_t
nibble(uint64_t row, uint32_t state)
{
	return (uint32_t) (row >> (4 * state)) & 15u;
}

/*
 * States that can be reached, renumbered in this order, all that are never left
 * at the end and as one.  Answers how many there are.
 */
uint32_t
cut_down(PpFusedJob *job, const PpDeviceDfa &whole)
{
	constexpr uint32_t NONE = 255;
	constexpr uint32_t STOP = PP_EMIT_STOP >> 4;
	PpDeviceDfa *d = &job->dfa;
	uint8_t		number[PP_DFA_STATES];	/* of the cut-down automaton */
	uint8_t		old[PP_DFA_STATES];
	uint32_t	n = 0;
	uint32_t	stop = NONE;

	memset(number, NONE, sizeof(number));
	number[whole.start] = 0;
	old[n++] = (uint8_t) whole.start;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t g = 0; g <= whole.nsymbols; g++)
		{
			uint32_t	to = nibble(whole.row[g], old[i]);

			if (nibble(whole.emit[g], old[i]) & STOP)
				stop = 0;		/* there is one */
			else if (number[to] == NONE)
			{
				number[to] = (uint8_t) n;
				old[n++] = (uint8_t) to;
			}
		}
	if (stop != NONE)
		stop = n;

	*d = whole;
	d->nstates = n + (stop != NONE);
	d->start = 0;
	d->accept = d->inside = 0;
	memset(d->end, 0, sizeof(d->end));
	job->state_of = 0;
	for (uint32_t s = 0; s < n; s++)
	{
		d->end[s] = whole.end[old[s]];
		d->accept |= (uint16_t) ((whole.accept >> old[s] & 1u) << s);
		d->inside |= (uint16_t) ((whole.inside >> old[s] & 1u) << s);
		job->state_of |= (uint64_t) old[s] << (4 * s);
	}
	for (uint32_t g = 0; g <= whole.nsymbols; g++)
	{
		d->row[g] = d->emit[g] = job->final_of[g] = 0;
		for (uint32_t s = 0; s < PP_DFA_STATES; s++)
		{
			uint32_t	to = s;	/* of no state: keeps to itself */
			uint32_t	emit = 0;

			if (s == stop)
				emit = STOP;
			else if (s < n)
			{
				uint32_t	final = nibble(whole.row[g], old[s]);

				emit = nibble(whole.emit[g], old[s]);
				to = emit & STOP ? stop : number[final];
				job->final_of[g] |= (uint64_t) final << (4 * s);
			}
			d->row[g] |= (uint64_t) to << (4 * s);
			d->emit[g] |= (uint64_t) emit << (4 * s);
		}
	}
	return d->nstates;
}

/* The group of byte c. */
uint32_t
group_of(const PpDeviceDfa &d, uint8_t c)
{
	for (uint32_t g = 0; g < d.nsymbols; g++)
		if ((uint8_t) (d.symbol[g / 4] >> (8 * (g % 4))) == c)
			return g;
	return d.nsymbols;
}

/* PP_EMIT_* to PP_FUSED_*: what the pass looks for. */
void
recode(PpFusedJob *job)
{
	PpDeviceDfa *d = &job->dfa;
	const bool	escapes = d->quote != d->escape;
	const uint32_t quote = group_of(*d, d->quote);
	const uint32_t escape = group_of(*d, d->escape);

	job->escaped = 0;
	if (escapes)
		for (uint32_t s = 0; s < d->nstates; s++)
			if ((d->inside >> s & 1u) && !(nibble(d->emit[escape], s) & (PP_EMIT_STOP >> 4)))
				job->escaped |= 1u << nibble(d->row[escape], s);
	for (uint32_t g = 0; g <= d->nsymbols; g++)
	{
		uint64_t	emit = 0;

		for (uint32_t s = 0; s < d->nstates; s++)
		{
			uint32_t	was = nibble(d->emit[g], s) << 4;
			bool		in_quotes = ((d->inside | job->escaped) >> s & 1u) != 0;
			uint32_t	is = 0;

			if (was & PP_EMIT_STOP)
				is = PP_FUSED_STOP;
			else
			{
				is = was & PP_EMIT_RECORD ? PP_FUSED_RECORD : was & PP_EMIT_FIELD ? PP_FUSED_FIELD : 0;
				/* (a quote that is a line end character may end one) */
				if (is == 0 && (g == quote || (g == escape && in_quotes)))
					is |= PP_FUSED_QUOTING;
				if ((escapes ? job->escaped : d->inside) >> s & 1u)
					is |= PP_FUSED_WITHIN;
			}
			emit |= (uint64_t) is << (4 * s);
		}
		d->emit[g] = emit;
	}
}

}								/* namespace */

bool
pp_fused_states(PpFusedJob *job, const PpDialect *dialect, const PpDfa *dfa, PpFusedStates least)
{
	PpDeviceDfa whole;
	uint32_t	nstates;

	if (!pp_device_dfa(dfa, dialect, &whole))
		return false;
	job->delimiter = dialect->delimiter;
	job->eol = pp_dialect_eol(dfa) == PP_EOL_CR ? '\r' : '\n';
	job->markers = dialect->end_marker;
	if (least == PP_FUSED_PARITY && is_parity(dialect))
	{
		job->states = PP_FUSED_PARITY;
		job->dfa = whole;
		job->escaped = 0;
		memset(job->final_of, 0, sizeof(job->final_of));
		job->state_of = pp_dialect_state(dfa, false, false, false) |
			(uint64_t) pp_dialect_state(dfa, true, false, false) << 4 |
			(uint64_t) pp_dialect_state(dfa, false, false, true) << 8;
		return true;
	}
	nstates = cut_down(job, whole);
	recode(job);
	job->states = nstates <= 8 && least != PP_FUSED_STATES_16 ? PP_FUSED_STATES_8 : PP_FUSED_STATES_16;
	return true;
}

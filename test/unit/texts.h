/*
 * test/unit/texts.h
 *	  Dialects and hostile CSV texts for the tests of the parse engine.
 *
 * The dialects are those that COPY accepts, the odd ones included; the texts
 * range from soups of special bytes to files that are nearly in order.
 */
#ifndef TEXTS_H
#define TEXTS_H

#include "parse/dialect.h"
#include "unit.h"

/* Delimiter, quote and escape; each is used with and without end marker. */
extern const PpDialect texts_dialect[];
extern const uint32_t texts_ndialects;

/* Those in front of this one are usual, the rest are odd. */
extern const uint32_t texts_nusual;

extern const char *texts_dialect_name(const PpDialect *d);
extern const char *texts_eol_name(PpEol eol);

/* A soup of the dialect's special bytes and some others, of n bytes or less. */
extern size_t texts_soup(UnitRandom *r, const PpDialect *d, uint8_t *dst, size_t n);

/*
 * Records of nfields fields with line ends of one kind, n bytes or less.
 * About one in `slips` of the fields, records and line ends is out of order
 * (0: none): a wrong number of fields, another kind of line end, a quote left
 * open, an end-of-data marker.
 */
extern size_t texts_records(UnitRandom *r, const PpDialect *d, PpEol eol,
							uint32_t nfields, uint32_t slips,
							uint8_t *dst, size_t n);

/* Puts an invalid or incomplete UTF-8 sequence or a zero byte somewhere. */
extern size_t texts_spoil(UnitRandom *r, uint8_t *text, size_t len, size_t room);

#endif							/* TEXTS_H */

/*
 * src/parse/json/json_check.h
 *	  The reference: checks a record byte by byte, finds its values, and says
 *	  what is wrong.  What the fast path cannot accept ends up here, so that
 *	  every fault is found by the same code.
 */
#ifndef PP_JSON_CHECK_H
#define PP_JSON_CHECK_H

#include "json_path.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef enum PpJsonExpect
{
	PP_JSON_EXPECT_VALUE,
	PP_JSON_EXPECT_VALUE_OR_CLOSE,
	PP_JSON_EXPECT_KEY,
	PP_JSON_EXPECT_KEY_OR_CLOSE,
	PP_JSON_EXPECT_COLON,
	PP_JSON_EXPECT_COMMA_OR_CLOSE,
	PP_JSON_EXPECT_END
} PpJsonExpect;

/* A record that is being checked. */
typedef struct PpJsonCheck
{
	/* constant */
	uint32_t	max_depth;
	bool		any_value;
	const PpJsonCharset *charset;
	size_t		(*utf8_valid_prefix) (const uint8_t *s, size_t n);
	uint64_t   *stack;			/* bit d: the container at depth d + 1 is an object */
	PpJsonWalk	walk;			/* places: byte offsets */
	uint8_t    *key;			/* room for an unescaped key */
	uint32_t	key_room;
	const PpAlloc *alloc;

	/* moving */
	const uint8_t *text;
	uint32_t	pos;
	uint32_t	end;
	uint32_t	valid;			/* bytes in front of this are valid */
	PpJsonExpect expect;
	uint32_t	string_pos;		/* of the string at pos, where its end is sought; 0:
								 * none is */
	bool		string_escapes;
	uint32_t	start;			/* the record's first byte ... */
	uint8_t		first;			/* ... and what it is, once it was seen */
	PpJsonFault fault;			/* what ends the check */
	PpJsonFault later;			/* what is wrong if nothing else is */
	PpJsonRange last_key;
} PpJsonCheck;

typedef enum PpJsonProgress
{
	PP_JSON_GO_ON,				/* more to be done */
	PP_JSON_DONE,				/* fault.code tells how */
	PP_JSON_NO_MEMORY
} PpJsonProgress;

/* False: out of memory; to be freed in any case.  Was zero. */
extern bool pp_json_check_init(PpJsonCheck *check, const PpJsonPaths *paths,
							   const PpJsonScanSpec *spec);
extern void pp_json_check_free(PpJsonCheck *check);

/* Takes up the record text[start .. end), which has a byte other than space. */
extern void pp_json_check_begin(PpJsonCheck *check, const uint8_t *text,
								uint32_t start, uint32_t end);

/* Looks at about budget bytes; the walk's ranges hold if all is well. */
extern PpJsonProgress pp_json_check_step(PpJsonCheck *check, uint32_t budget);

/*
 * Where the number at text[pos .. end), or true, false or null, ends; 0 if
 * there is none.  Ends are spaces, brackets, commas, colons and quotes.
 */
extern uint32_t pp_json_scalar_end(const uint8_t *text, uint32_t pos, uint32_t end);

#ifdef __cplusplus
}
#endif

#endif							/* PP_JSON_CHECK_H */

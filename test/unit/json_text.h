/*
 * test/unit/json_text.h
 *	  Lines of JSON for the tests of its backends, good and broken: chosen ones,
 *	  and random ones of which most are made alike.
 */
#ifndef JSON_TEXT_H
#define JSON_TEXT_H

#include "unit.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define JSON_CHOSEN		177
extern const char *const json_chosen[JSON_CHOSEN];

/* A growing text; its memory is malloc()'s. */
typedef struct JsonText
{
	char	   *s;
	uint32_t	n;
	uint32_t	room;
} JsonText;

extern void json_text_add(JsonText *t, const char *s);

/* The text made anew, of so many lines; broken: a few bytes of them are changed. */
extern void json_random_text(JsonText *t, UnitRandom *r, uint32_t records, bool broken);

#ifdef __cplusplus
}
#endif

#endif							/* JSON_TEXT_H */

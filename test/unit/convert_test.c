/*
 * test/unit/convert_test.c
 *	  Every native conversion against references that share no code with it.
 *
 * The program stands alone: it includes the conversions' headers and links
 * only the C library, whose number and calendar functions are the references
 * where they can be.  Each text is converted twice, with different bytes
 * behind it and different garbage at the destination, and must come out the
 * same; texts that must be handed over are checked like values.
 *
 * usage: convert_test [ITERATIONS [SEED]]
 */
#define _GNU_SOURCE				/* timegm */

#include <time.h>

#include "convert_check.h"
#include "convert_numbers.h"
#include "convert_times.h"
#include "convert_texts.h"

/* The sizes and dispatch that convert.h promises. */
static void
test_dispatch(void)
{
	static const PpType by_value[] = {
		PP_BOOL, PP_INT2, PP_INT4, PP_INT8, PP_FLOAT4, PP_FLOAT8, PP_DATE,
		PP_TIME, PP_TIMESTAMP, PP_TIMESTAMPTZ
	};
	static const PpType by_reference[] = {
		PP_NUMERIC, PP_UUID, PP_TEXT, PP_VARCHAR, PP_BPCHAR, PP_NAME, PP_BYTEA
	};
	PpColumn	col = {PP_DEFER, 0, 0, -1};
	uint64_t	value;
	uint8_t		dst[64];

	begin_group("dispatch");
	group_values++;
	if (pp_convert_value(&col, &no_zone_env, place_text("1", 1, 0), 1, &value))
		complain("1", 1, "a deferred type converted");
	if (pp_convert_reference(&col, &no_zone_env, place_text("1", 1, 0), 1, dst) != 0)
		complain("1", 1, "a deferred type converted");
	for (size_t i = 0; i < sizeof(by_value) / sizeof(by_value[0]); i++)
	{
		group_values++;
		if (pp_type_by_reference(by_value[i]))
			complain("", 0, "type %d by reference", (int) by_value[i]);
	}
	for (size_t i = 0; i < sizeof(by_reference) / sizeof(by_reference[0]); i++)
	{
		group_values++;
		if (!pp_type_by_reference(by_reference[i]))
			complain("", 0, "type %d by value", (int) by_reference[i]);
	}
	end_group();
}

int
main(int argc, char **argv)
{
	uint64_t	seed = (uint64_t) time(NULL);

	if (argc > 1)
		iterations = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	random_state = seed;
	printf("conversions: %" PRIu64 " iterations, seed %" PRIu64 "\n",
		   iterations, seed);

	test_dispatch();
	test_product();
	test_bool();
	test_ints();
	test_floats();
	test_float_ties();
	test_numeric();
	test_calendar();
	test_datetime();
	test_texts();
	test_hex();

	printf("convert_test: %d passed, %d failed\n", passed, failed);
	return failed != 0;
}

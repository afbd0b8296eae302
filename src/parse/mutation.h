/*
 * src/parse/mutation.h
 *	  Planted bugs, for the tests of the tests.
 *
 * A build with PP_TEST_MUTATION holds a handful of deliberate faults, one of
 * which can be switched on by the GUC parparaw.test_mutation; the test suites
 * must then fail.  Any other build holds nothing of this.
 */
#ifndef PP_MUTATION_H
#define PP_MUTATION_H

typedef enum PpMutation
{
	PP_MUTATION_none,
	PP_MUTATION_drop_quote_toggle,	/* quotes in mid-field are kept */
	PP_MUTATION_escape_outside_quotes,	/* ESCAPE acts outside quotes, too */
	PP_MUTATION_null_matches_quoted,	/* a quoted NULL marker is NULL */
	PP_MUTATION_column_count_unchecked, /* records may have extra fields */
	PP_MUTATION_carry_lost,		/* an incomplete record forgets its state */
	PP_MUTATION_float_rounding, /* the last bit of a float is off at times */
	PP_MUTATION_crlf_split,		/* CRLF counts as a one-byte line end */
	PP_MUTATION_line_number,	/* lines are not counted */
	PP_MUTATION_marker_ignored, /* "\." is data */
	PP_MUTATION_short_record_first, /* a missing field is reported before the
									 * conversion errors in front of it */
	PP_MUTATION_json_first_key, /* of equal keys the first one counts */
	PP_MUTATION_json_mark_kept, /* a byte order mark is not skipped */
	PP_MUTATION_json_bad_line,	/* a bad line takes the ones behind it along */
	PP_MUTATION_json_null_domain,	/* domains are not asked about NULL */
	PP_MUTATION_json_quotes_lost,	/* strings are not quoted again for jsonb */
	PP_MUTATION_json_sizes_unchecked,	/* later parts of an array may be longer */
	PP_MUTATION_json_first_field,	/* of a composite's equal keys the first one
									 * counts */
	PP_MUTATION_json_character_lost, /* escapes that the server encoding has no
									 * character for stand for nothing */
	PP_MUTATION_join_residual_lost,	/* comparisons of keys are not made */
	PP_MUTATION_join_payload_first, /* all rows of a batch get the columns of
									 * its first */
	PP_MUTATION_join_rescan_stale,	/* parameters change nothing */
	PP_MUTATION_join_box_lost,	/* the third box is left out */
	PP_MUTATION_join_filter_shared, /* aliases share a scan whatever their
									 * filters */
	PP_MUTATION_join_quals_lost /* counts are taken before other conditions */
} PpMutation;

#ifdef PP_TEST_MUTATION
#ifdef __cplusplus
extern "C"
#else
extern
#endif
int			pp_mutation;
#define PP_MUTATED(name)	(pp_mutation == PP_MUTATION_##name)
#else
#define PP_MUTATED(name)	false
#endif

#endif							/* PP_MUTATION_H */

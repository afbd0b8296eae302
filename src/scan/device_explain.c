/*-------------------------------------------------------------------------
 *
 * device_explain.c
 *		What EXPLAIN ANALYZE says of a scan on a device: where its time went,
 *		what ran how often, what was moved.
 *
 * The times are of one clock, the host's, from the start of a scan to its
 * end: making the context, reading the file, the stages on the device, and
 * the rest, in which rows were returned (and the plan above did its work), so
 * they add up to the total.  What the device does while the host reads or
 * returns rows counts for the device, and "overlapped" says how much of it
 * would then be counted twice.
 *
 * IDENTIFICATION
 *		src/scan/device_explain.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "../explain_line.h"
#include "device.h"

typedef struct StageName
{
	const char *text;			/* in text */
	const char *label;			/* in other formats */
} StageName;

static const StageName stages[] = {
	[PP_STAGE_H2D] = {"h2d", "H2D"},
	[PP_STAGE_VECTORS] = {"vectors", "Transition Vectors"},
	[PP_STAGE_SCAN] = {"scan", "Scan"},
	[PP_STAGE_BITMAPS] = {"bitmaps", "Bitmap Indexes"},
	[PP_STAGE_TAG] = {"tag", "Tag"},
	[PP_STAGE_PARTITION] = {"partition", "Partition"},
	[PP_STAGE_INDEX] = {"index", "Index"},
	[PP_STAGE_CONVERT_THREAD] = {"convert", "Convert by Thread"},
	[PP_STAGE_CONVERT_BLOCK] = {"convert-block", "Convert by Block"},
	[PP_STAGE_CONVERT_DEVICE] = {"convert-device", "Convert by Device"},
	[PP_STAGE_PARSE] = {"parse", "Parse"},
	[PP_STAGE_LONG] = {"long", "Long Values"},
	[PP_STAGE_COLUMNS] = {"columns", "Columns"},
	[PP_STAGE_FILTER] = {"filter", "Filter"},
	[PP_STAGE_D2H] = {"d2h", "D2H"}
};

StaticAssertDecl(lengthof(stages) == PP_STAGES, "a stage has no name");

void
parparaw_explain_device(const PpScan *scan, ExplainState *es)
{
	const PpDeviceUse *use = parparaw_device_use(scan);
	const PpDeviceUse *u = use;
	const PpCudaDevice *device = parparaw_cuda_device_facts();

	if (use == NULL)
		return;

	ExplainPropertyText("Device", device->name, es);
	if (es->timing)
	{
		pp_explain_begin_line("Device Timing", es);
		pp_explain_ms("total", "Total", u->total, es);
		pp_explain_ms("start-up", "Start-up", u->start, es);
		pp_explain_ms("read", "Read", u->read, es);
		for (int i = 0; i < PP_STAGES; i++)
		{
			if (es->format != EXPLAIN_FORMAT_TEXT || u->stats.launches[i] > 0)
				pp_explain_ms(stages[i].text, stages[i].label, u->stats.seconds[i], es);
		}
		pp_explain_ms("rows", "Row Return", Max(u->rest, 0), es);
		if (es->format != EXPLAIN_FORMAT_TEXT || u->rest < 0)
			pp_explain_ms("overlapped", "Overlapped", Min(u->rest, 0), es);
		pp_explain_end_line("Device Timing", es);
	}

	pp_explain_begin_line("Device Launches", es);
	for (int i = 0; i < PP_STAGES; i++)
	{
		if (es->format != EXPLAIN_FORMAT_TEXT || u->stats.launches[i] > 0)
			pp_explain_count(stages[i].text, stages[i].label, NULL, u->stats.launches[i], es);
	}
	pp_explain_end_line("Device Launches", es);

	pp_explain_begin_line("Device Bytes", es);
	pp_explain_count("h2d", "H2D", "B", u->stats.h2d_bytes, es);
	pp_explain_count("d2h", "D2H", "B", u->stats.d2h_bytes, es);
	pp_explain_count("peak", "Peak Memory", "B", u->stats.peak_device_bytes, es);
	pp_explain_end_line("Device Bytes", es);

	if (u->json)
		return;
	pp_explain_begin_line("Device Partitions", es);
	if (u->pipeline == PP_PIPELINE_PAPER)
	{
		pp_explain_count("record", "Record Tags", NULL, u->stats.partitions_by_tagging[PP_TAG_RECORD], es);
		pp_explain_count("inline", "Inline Terminated", NULL, u->stats.partitions_by_tagging[PP_TAG_INLINE], es);
		pp_explain_count("vector", "Vector Delimited", NULL, u->stats.partitions_by_tagging[PP_TAG_VECTOR], es);
	}
	else
	{
		pp_explain_count("parity", "Quote Parity", NULL, u->stats.partitions_by_states[0], es);
		pp_explain_count("states-8", "Up to 8 States", NULL, u->stats.partitions_by_states[1], es);
		pp_explain_count("states-16", "Up to 16 States", NULL, u->stats.partitions_by_states[2], es);
	}
	pp_explain_end_line("Device Partitions", es);
}

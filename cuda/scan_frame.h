/*
 * cuda/scan_frame.h
 *	  What every scan on the device begins with: streams, events, the clock of
 *	  phases, counted copies, and how a failed call is noted.
 *
 * Used by driver.cu and json_driver.cu, which derive their scans and slots from
 * the two structs here.  Knows nothing of what is enqueued, nor who comes next;
 * nothing here waits for the device but pp_frame_drain() and what ends a scan.
 */
#ifndef PP_SCAN_FRAME_H
#define PP_SCAN_FRAME_H

#include "paper.h"
#include "process.h"

/* The most events that a slot's clock has; a phase records fewer. */
#define PP_CLOCK_EVENTS	40

/* Of one of a scan's two slots. */
struct PpSlotFrame
{
	cudaEvent_t came;			/* what stream `in` brought is there */
	cudaEvent_t done;			/* what the phase waits for */
	cudaEvent_t copy[4];		/* start and end of copies, in and out */
	bool		copied[2];		/* copy[] is to be read */
	PpStageClock clock;
	cudaEvent_t clock_event[PP_CLOCK_EVENTS];
	uint8_t		clock_stage[PP_CLOCK_EVENTS];
};

struct PpBackendScan
{
	PpBackendScan *next;		/* of all open scans */
	PpSlotFrame *frame[2];
	void		(*release) (PpBackendScan *s);	/* buffers */
	bool		stopped;		/* has nothing on the device any more */
	bool		failed;

	cudaStream_t in;			/* text that was announced */
	cudaStream_t work;
	cudaStream_t out;			/* results */
	cudaEvent_t carried;		/* what the stream `in` must not overtake */
	uint32_t	nevents;		/* made so far, for close */

	PpCudaStats stats;
};

/*
 * What answers a bool has noted its failure in the scan, and told pp_fail(), when
 * it is false.
 */

extern bool pp_frame_fail(PpBackendScan *s, PpCudaFailure kind, const char *what);
extern bool pp_frame_no_memory(PpBackendScan *s);	/* of the host */
extern bool pp_frame_call_failed(PpBackendScan *s, const char *what, cudaError_t e);

/* Was a launch, or another call, in order? */
extern bool pp_frame_launched(PpBackendScan *s, cudaError_t e);

/*
 * Streams and events of a zeroed scan, and a clock of that many events in each
 * slot.  From then on the scan is open; if it comes to an end before it is
 * closed, release() is called for its buffers, nothing being enqueued any more.
 */
extern bool pp_frame_open(PpBackendScan *s, PpSlotFrame *first, PpSlotFrame *second,
						  uint32_t clock_events, void (*release) (PpBackendScan *s));

/* Also of a scan that was not opened, or not altogether. */
extern void pp_frame_close(PpBackendScan *s);

/* May the scan be used at all? */
extern bool pp_frame_usable(PpBackendScan *s);

/* Is nothing enqueued on the device, for any scan? */
extern bool pp_frame_device_idle(void);

/* Waits for all that the scan has enqueued; false: the device fails, which shows
 * later. */
extern bool pp_frame_drain(PpBackendScan *s);

extern bool pp_frame_record(PpBackendScan *s, cudaEvent_t event, cudaStream_t stream);
extern bool pp_frame_wait(PpBackendScan *s, cudaStream_t stream, cudaEvent_t event);

/* What was enqueued on stream `work` so far may read text that is replaced next. */
extern bool pp_frame_mark_carried(PpBackendScan *s);

/* Has the event come about?  Looks, and does not wait. */
extern PpPoll pp_frame_ask(PpBackendScan *s, cudaEvent_t event);

/* Adds up the times of a phase that is over. */
extern void pp_frame_read_clock(PpBackendScan *s, PpSlotFrame *t);

/* Copies in a stream, counted. */
extern bool pp_frame_copy(PpBackendScan *s, void *dst, const void *src, size_t n,
						  cudaMemcpyKind kind, cudaStream_t stream);

/* Text to a slot's input by stream `in`, behind the last pp_frame_mark_carried(). */
extern bool pp_frame_bring(PpBackendScan *s, PpSlotFrame *t, uint8_t *to, const uint8_t *text,
						   uint32_t n);

/* Between these two, copies go by stream `out`, behind all of `work`; what the phase
 * waits for is that they are done. */
extern bool pp_frame_return_begin(PpBackendScan *s, PpSlotFrame *t);
extern bool pp_frame_return_end(PpBackendScan *s, PpSlotFrame *t);

static inline size_t
pp_align16(size_t n)
{
	return (n + 15) / 16 * 16;
}

static inline size_t
pp_align256(size_t n)
{
	return (n + 255) / 256 * 256;
}

/*
 * Room in front of announced text for the record that goes on in it: a part of
 * the n bytes, or a least; a longer record comes in anew.
 */
static inline uint32_t
pp_frame_carry_room(uint32_t n)
{
	return n / 16 > 4096 ? (uint32_t) pp_align16(n / 16) : 4096;
}

#endif							/* PP_SCAN_FRAME_H */

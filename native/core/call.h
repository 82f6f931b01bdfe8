/* call.h - one call of a verb, from its checks to its end: memory, threads, progress, cancelling. */
#ifndef OSSIFY_CALL_H
#define OSSIFY_CALL_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/parallel.h"
#include "base/portable.h"
#include "ossify.h"

/* One call of a verb, from its checks to its end. */
typedef struct Call {
    const ossify_settings *settings;
    Arena arena;
    Pool *pool;
    ossify_info *info;
    ossify_progress progress;
    double began; /* clock_seconds() at the start, and of the stage at hand */
    double stage_began;
    double from, to;      /* the part of the progress that the work at hand makes up */
    atomic_int cancelled; /* read by all workers */
    int written;          /* 1 once the rig is written: a wish to cancel comes too late */
} Call;

/* How many rest poses there are: one of each subject. */
static inline int64_t call_rests(const ossify_poses *poses) {
    return poses->subject_count > 1 ? poses->subject_count : 1;
}
/* Takes memory and threads; 0, or the status that says what could not be had. call_end follows in any case. */
int64_t call_begin(Call *call, const ossify_settings *settings, ossify_info *info);
/* Tells the watcher where the call is; returns 1 when the call must end now (cancelled).
 * Solving rooms call it at least every few milliseconds of work, from worker 0 only. */
int call_poll(Call *call, double fraction);
/* Ends the seconds of the stage at hand and begins those of `stage`. */
void call_stage(Call *call, int stage);
/* Why a call ends early: OSSIFY_CANCELLED or OSSIFY_OUT_OF_MEMORY. */
int64_t call_ended(const Call *call);
/* Gives everything back and writes the status, with a sentence where none was said; returns it. */
int64_t call_end(Call *call, int64_t status, const ossify_poses *poses);

#endif

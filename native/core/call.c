/* call.c - one call of a verb: memory, threads, progress and the wish to cancel, one exit for all of them. */
#include "core/call.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "core/sentence.h"

/* The watcher sees every poll, also when it can no longer cancel. */
int call_poll(Call *call, double fraction) {
    const ossify_settings *settings = call->settings;
    int64_t wish;
    if (atomic_load(&call->cancelled)) {
        return 1;
    }
    if (fraction > call->progress.fraction) {
        call->progress.fraction = fraction < 1 ? fraction : 1;
    }
    if (settings->watch == NULL) {
        return 0;
    }
    wish = settings->watch(settings->watch_user, &call->progress);
    if (wish != 0 && !call->written) {
        atomic_store(&call->cancelled, 1);
    }
    return atomic_load(&call->cancelled);
}

void call_stage(Call *call, int stage) {
    const double now = clock_seconds();
    call->info->stage_seconds[call->progress.stage] += now - call->stage_began;
    call->stage_began = now;
    call->progress.stage = stage;
}

int64_t call_ended(const Call *call) {
    return atomic_load(&call->cancelled) ? OSSIFY_CANCELLED : OSSIFY_OUT_OF_MEMORY;
}

int64_t call_begin(Call *call, const ossify_settings *settings, ossify_info *info) {
    memset(call, 0, sizeof *call);
    call->settings = settings;
    call->info = info;
    call->began = call->stage_began = clock_seconds();
    call->progress.struct_size = sizeof call->progress;
    call->progress.erms = -1;
    atomic_init(&call->cancelled, 0);
    arena_start(&call->arena, settings);
    call->pool = parallel_start(&call->arena, (int)settings->threads);
    if (call->pool != NULL) {
        return 0;
    }
    return call->arena.failed ? OSSIFY_OUT_OF_MEMORY : OSSIFY_THREAD_FAILED;
}

/* A sentence for a status that comes without one. */
static void explain(ossify_info *info, int64_t status, const ossify_poses *poses, size_t refused) {
    if (info->message[0] != '\0') {
        return;
    }
    if (status == OSSIFY_CANCELLED) {
        sentence_refuse(info, status, "cancelled by the caller: the rig is as it was");
    }
    if (status == OSSIFY_THREAD_FAILED) {
        sentence_refuse(info, status,
                        "the system refused a thread: set settings.threads to 1 or end other programs");
    }
    if (status == OSSIFY_OUT_OF_MEMORY) {
        sentence_refuse(
            info, status,
            "out of memory: %.3g MB more were needed for %.0f vertices and %.0f frames; end other "
            "programs, or convert fewer vertices, frames or bones",
            fmax(1e-3, (double)refused * 1e-6), (double)poses->vertex_count, (double)poses->frame_count);
    }
}

int64_t call_end(Call *call, int64_t status, const ossify_poses *poses) {
    call_stage(call, (int)call->progress.stage);
    parallel_end(call->pool);
    arena_end(&call->arena);
    call->info->status = status;
    explain(call->info, status, poses, call->arena.refused);
    return status;
}

/* job.c - ossify_decompose or ossify_articulate on a thread of its own, for callers that cannot start one.
 *
 * The job works on copies of the structs and puts its own watcher between the call and the caller's:
 * it notes the progress for ossify_job_poll and answers with the wish to cancel. Each figure is an
 * atomic of its own, so a poll neither waits for the solver nor holds it up. */
#include "api/check.h"

#include "base/arena.h"

struct ossify_job {
    Arena arena; /* the job and its thread live in it */
    Thread *thread;
    ossify_poses poses;
    ossify_settings settings;
    ossify_rig rig;
    ossify_skeleton skeleton;
    int articulates; /* 1: the skeleton is used */
    ossify_info info;
    ossify_rig *caller_rig;
    ossify_info *caller_info;
    ossify_watch caller_watch;
    void *caller_watch_user;

    atomic_int cancel;
    atomic_int finished;
    _Atomic int64_t stage, iterations, bones;
    _Atomic double fraction, erms;
};

static void note(ossify_job *job, const ossify_progress *progress) {
    atomic_store(&job->stage, progress->stage);
    atomic_store(&job->iterations, progress->iterations);
    atomic_store(&job->bones, progress->bones);
    atomic_store(&job->fraction, progress->fraction);
    atomic_store(&job->erms, progress->erms);
}

static int64_t watch(void *user, const ossify_progress *progress) {
    ossify_job *job = user;
    int64_t wish = 0;
    note(job, progress);
    if (job->caller_watch != NULL) {
        wish = job->caller_watch(job->caller_watch_user, progress);
    }
    return wish != 0 || atomic_load(&job->cancel);
}

static void run(void *user) {
    ossify_job *job = user;
    if (job->articulates) {
        ossify_articulate(&job->poses, &job->settings, &job->rig, &job->skeleton, &job->info);
    } else {
        ossify_decompose(&job->poses, &job->settings, &job->rig, &job->info);
    }
    atomic_store(&job->finished, 1);
}

/* The arena moves into the first piece that it gives. */
static ossify_job *job_take(const ossify_settings *settings) {
    Arena arena;
    ossify_job *job;
    arena_start(&arena, settings);
    job = arena_take(&arena, 1, sizeof *job);
    if (job != NULL) {
        job->arena = arena;
    }
    return job;
}

static void job_give(ossify_job *job) {
    Arena arena = job->arena;
    arena_end(&arena);
}

static void job_fill(ossify_job *job, const ossify_poses *poses, const ossify_settings *settings,
                     ossify_rig *rig, const ossify_skeleton *skeleton, ossify_info *info) {
    const ossify_progress nothing_yet = {.erms = -1};
    job->poses = *poses;
    job->settings = *settings;
    job->settings.watch = watch;
    job->settings.watch_user = job;
    job->rig = *rig;
    job->articulates = skeleton != NULL;
    if (skeleton != NULL) {
        job->skeleton = *skeleton;
    }
    job->info.struct_size = sizeof job->info;
    job->caller_rig = rig;
    job->caller_info = info;
    job->caller_watch = settings->watch;
    job->caller_watch_user = settings->watch_user;
    atomic_init(&job->cancel, 0);
    atomic_init(&job->finished, 0);
    note(job, &nothing_yet);
}

static ossify_job *no_job(ossify_info *info, int out_of_memory) {
    if (out_of_memory) {
        sentence_refuse(info, OSSIFY_OUT_OF_MEMORY,
                        "out of memory: no job could be started; end other programs");
    } else {
        sentence_refuse(info, OSSIFY_THREAD_FAILED,
                        "the system refused a thread for the job: end other programs");
    }
    return NULL;
}

/* Arguments are checked. skeleton: NULL to decompose */
static ossify_job *job_start(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                             const ossify_skeleton *skeleton, ossify_info *info) {
    ossify_job *job = job_take(settings);
    if (job == NULL) {
        return no_job(info, 1);
    }
    job_fill(job, poses, settings, rig, skeleton, info);
    job->thread = thread_start(&job->arena, run, job);
    if (job->thread == NULL) {
        no_job(info, job->arena.failed);
        job_give(job);
        return NULL;
    }
    return job;
}

ossify_job *ossify_decompose_start(const ossify_poses *poses, const ossify_settings *settings,
                                   ossify_rig *rig, ossify_info *info) {
    if (!check_info(info) || check_decompose(poses, settings, rig, info) < 0) {
        return NULL;
    }
    return job_start(poses, settings, rig, NULL, info);
}

ossify_job *ossify_articulate_start(const ossify_poses *poses, const ossify_settings *settings,
                                    ossify_rig *rig, ossify_skeleton *skeleton, ossify_info *info) {
    if (!check_info(info) || check_articulate(poses, settings, rig, skeleton, info) < 0) {
        return NULL;
    }
    return job_start(poses, settings, rig, skeleton, info);
}

void ossify_job_poll(ossify_job *job, ossify_progress *progress) {
    if (job == NULL || progress == NULL || progress->struct_size != (int64_t)sizeof *progress) {
        return;
    }
    progress->finished = atomic_load(&job->finished);
    progress->stage = atomic_load(&job->stage);
    progress->iterations = atomic_load(&job->iterations);
    progress->bones = atomic_load(&job->bones);
    progress->fraction = atomic_load(&job->fraction);
    progress->erms = atomic_load(&job->erms);
}

void ossify_job_cancel(ossify_job *job) {
    if (job != NULL) {
        atomic_store(&job->cancel, 1);
    }
}

int64_t ossify_job_finish(ossify_job *job) {
    int64_t status;
    if (job == NULL) {
        return OSSIFY_BAD_ARGUMENT;
    }
    thread_join(job->thread);
    status = job->info.status;
    *job->caller_info = job->info;
    if (status >= 0) {
        job->caller_rig->bones = job->rig.bones;
    }
    job_give(job);
    return status;
}

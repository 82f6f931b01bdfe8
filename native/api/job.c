/* job.c - a verb on a thread of its own, for callers that cannot start one.
 *
 * The job works on copies of the structs and puts its own watcher between the call and the caller's:
 * it notes the progress for ossify_job_poll and answers with the wish to cancel. Each figure is an
 * atomic of its own, so a poll neither waits for the solver nor holds it up. */
#include <string.h>

#include "api/frame.h"
#include "api/verb.h"
#include "core/sentence.h"

struct ossify_job {
    Arena arena; /* the job and its thread live in it */
    Thread *thread;
    const Verb *verb;
    ossify_request request; /* of the copies below */
    ossify_poses poses;
    ossify_settings settings;
    ossify_rig rig;
    ossify_skeleton skeleton;
    ossify_space space;
    ossify_evaluation evaluation;
    void *options, *result;
    ossify_info info;
    ossify_request caller; /* the caller's own, of which only what is written is looked at again */
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
    frame_run(&job->request, &job->info);
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

/* A struct of the verb's own; NULL: it has none, or memory is out. */
static void *copy_noun(ossify_job *job, Noun noun, const void *given) {
    void *copy = noun.type != NULL ? arena_take(&job->arena, 1, noun.size) : NULL;
    if (copy != NULL) {
        memcpy(copy, given, noun.size);
    }
    return copy;
}

/* Structs that the verb does not use may be anything, and are left alone. */
static void copy_structs(ossify_job *job, const ossify_request *request) {
    job->caller = job->request = *request;
    job->poses = *request->poses;
    job->request.poses = &job->poses;
    if (verb_has_rig(job->verb)) {
        job->rig = *request->rig;
        job->request.rig = &job->rig;
    }
    if (verb_has_skeleton(job->verb)) {
        job->skeleton = *request->skeleton;
        job->request.skeleton = &job->skeleton;
    }
    if (verb_has_space(job->verb, request)) {
        job->space = *request->space;
        job->request.space = &job->space;
    }
    if (job->verb->writes & WRITES_EVALUATION) {
        job->evaluation = *request->evaluation;
        job->request.evaluation = &job->evaluation;
    }
    job->request.options = job->options = copy_noun(job, job->verb->options, request->options);
    job->request.result = job->result = copy_noun(job, job->verb->result, request->result);
}

static void watch_settings(ossify_job *job, const ossify_settings *settings) {
    if (settings != NULL) {
        job->settings = *settings;
    } else {
        ossify_default_settings(&job->settings);
    }
    job->caller_watch = job->settings.watch;
    job->caller_watch_user = job->settings.watch_user;
    job->settings.watch = watch;
    job->settings.watch_user = job;
    job->request.settings = &job->settings;
}

static void job_fill(ossify_job *job, const ossify_request *request, ossify_info *info) {
    const ossify_progress nothing_yet = {.erms = -1};
    job->verb = verbs_find(request->verb);
    copy_structs(job, request);
    watch_settings(job, request->settings);
    job->info.struct_size = sizeof job->info;
    job->caller_info = info;
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

ossify_job *ossify_start(const ossify_request *request, ossify_info *info) {
    if (frame_check(request, info) < 0) {
        return NULL;
    }
    ossify_job *job = job_take(request->settings);
    if (job == NULL) {
        return no_job(info, 1);
    }
    job_fill(job, request, info);
    job->thread = job->arena.failed ? NULL : parallel_thread_start(&job->arena, run, job);
    if (job->thread == NULL) {
        no_job(info, job->arena.failed);
        job_give(job);
        return NULL;
    }
    return job;
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

/* What the verb wrote in the structs; the arrays are the caller's own. */
static void write_back(const ossify_job *job) {
    const int writes = job->verb->writes;
    if (writes & WRITES_RIG) {
        job->caller.rig->bones = job->rig.bones;
        job->caller.rig->correctives = job->rig.correctives;
    }
    if (writes & WRITES_SKELETON) {
        job->caller.skeleton->root = job->skeleton.root;
        job->caller.skeleton->symmetry = job->skeleton.symmetry;
        memcpy(job->caller.skeleton->plane, job->skeleton.plane, sizeof job->skeleton.plane);
    }
    if (writes & WRITES_SPACE) {
        job->caller.space->given = job->space.given;
    }
    if (writes & WRITES_EVALUATION) {
        *job->caller.evaluation = job->evaluation;
    }
    if (job->result != NULL) {
        memcpy(job->caller.result, job->result, job->verb->result.size);
    }
}

int64_t ossify_job_finish(ossify_job *job) {
    int64_t status;
    if (job == NULL) {
        return OSSIFY_BAD_ARGUMENT;
    }
    parallel_thread_join(job->thread);
    status = job->info.status;
    *job->caller_info = job->info;
    if (status >= 0) {
        write_back(job);
    }
    job_give(job);
    return status;
}

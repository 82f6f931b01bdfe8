/* probe.h - an allocator that counts and refuses, a watcher that counts and cancels, and a call to try
 * single rooms with. */
#ifndef OSSIFY_PROBE_H
#define OSSIFY_PROBE_H

#include "core/rig.h"

/* Set settings.memory_user to it. Memory comes filled with rubbish, so that nobody counts on zeros. */
typedef struct Ledger {
    int64_t asked, taken, given;
    int64_t refuse_at; /* the number of the request that is refused, from 1; 0: none */
    int refuse_on;     /* 1: all after it are refused, too */
} Ledger;

void *ledger_allocate(void *user, uint64_t bytes);
void ledger_release(void *user, void *memory);
void ledger_join(Ledger *ledger, ossify_settings *settings);

/* Set settings.watch_user to it. Checks that the fraction never falls. */
typedef struct Watcher {
    int64_t calls;
    int64_t cancel_at; /* the number of the call that is answered with 1, from 1; 0: none */
    ossify_progress last;
    void (*see)(void *user, const ossify_progress *progress); /* may be NULL */
    void *see_user;
} Watcher;

void watcher_join(Watcher *watcher, ossify_settings *settings);

/* Which of `count` requests or polls is tried after the i-th: all of few; of many the first and the last ones, and
 * between them some a step apart that is prime to any pattern in them. */
int64_t trial_after(int64_t i, int64_t count);

/* Defaults, but one thread, and plain least squares. */
ossify_settings plain_settings(int64_t bones);

/* ossify_start of the two verbs that take long. */
ossify_job *job_decompose(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                          ossify_info *info);
ossify_job *job_articulate(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                           ossify_skeleton *skeleton, ossify_info *info);

/* The edges of the faces, [n][2], each once; returns n. edge [3 triangles][2] */
int64_t edges_of_faces(const ossify_poses *poses, int32_t *edge);

/* A call without a verb. */
typedef struct Workshop {
    ossify_settings settings;
    ossify_info info;
    Call call;
} Workshop;

void workshop_open(Workshop *workshop, ossify_settings settings);
void workshop_close(Workshop *workshop);

/* Poses as the solver sees them, and a model that holds the rig. */
typedef struct Stage {
    Workshop workshop;
    Problem problem;
    Placement placement;
    Model model;
} Stage;

void stage_open(Stage *stage, const ossify_poses *poses, const ossify_rig *rig, ossify_settings settings);
void stage_close(Stage *stage);

/* y[3F] of a vertex as the model replays it, and its squared distance from the observed positions:
 * by definition, from no moments. */
void model_replay(const Problem *problem, const Model *model, int v, double *y);
double model_distance(const Problem *problem, const Model *model, int v);
/* The same over all vertices, by mass. */
double model_objective(const Problem *problem, const Model *model);

#endif

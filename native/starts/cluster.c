/* cluster.c - the first bones: every vertex follows one bone (SSDR 3.1).
 *
 * K-means whose clusters are rigid motions: assign each vertex to the bone that moves it best, fit
 * each bone to its vertices by Kabsch. That is the descent with one influence, so it is the same
 * code. Deviation from the paper's random clusters: bones are added a few at a time where the error
 * is worst, which never loses one, crosses shells, needs no faces, and always gives the same answer.
 * Clusters found in another way (face_cluster.c, spectral.c) are improved and filled up here, too. */
#include "starts/cluster.h"

#include <string.h>

#include "descent/pass.h"
#include "descent/transforms.h"
#include "starts/reseed.h"

enum { ROUNDS = 2, LAST_ROUNDS = 3 };

static int assign_and_fit(Call *call, const Problem *problem, Model *model, Moments *moments, int rounds,
                          int assign) {
    PassPlan plan = {.plain = 1};
    plan.search = plan.solve_weights = assign;
    for (int i = 0; i < rounds && !call->cancelled; i++) {
        pass_run(call, problem, model, moments, &plan);
        if (call->arena.failed || call->cancelled ||
            !transforms_update(call, problem, model, moments, 0, 1)) {
            return 0;
        }
    }
    return !call->cancelled;
}

/* Every vertex on the bone of its cluster, or all on one; no bone has moved yet. */
static void put_on_bones(const Problem *problem, const int *label, int clusters, Model *model) {
    model->bones = clusters;
    for (size_t i = 0; i < 3 * (size_t)problem->frames; i++) {
        for (size_t b = 0; b < (size_t)clusters; b++) {
            model->transform[(i * (size_t)model->capacity + b) * 4 + i % 3] = 1;
        }
    }
    for (int v = 0; v < problem->vertices; v++) {
        model->bone[v] = label ? label[v] : 0;
        model->weight[v] = 1;
    }
}

/* Bones that lost their last vertex to others leave; one always stays. */
static void remove_idle(const Problem *problem, Model *model) {
    for (int b = model->bones - 1; b >= 0 && model->bones > 1; b--) {
        if (model_bone_is_idle(problem, model, b)) {
            model_remove_bone(problem, model, b);
        }
    }
}

/* More bones where the error is worst, until there are enough or nothing is left to explain. */
static int grow(Call *call, const Problem *problem, int bones, Model *single, Moments *moments) {
    while (single->bones < bones) {
        const int want = 1 + single->bones / 3, room = bones - single->bones;
        const int got = reseed_insert(call, problem, single, want < room ? want : room, NULL);
        if (got < 0 || !assign_and_fit(call, problem, single, moments, ROUNDS, 1)) {
            return 0;
        }
        if (got == 0) {
            break;
        }
    }
    return 1;
}

static void hand_on(const Problem *problem, const Model *single, Model *model) {
    const size_t size = 3 * (size_t)problem->frames * (size_t)model->capacity * 4;
    model->bones = single->bones;
    memcpy(model->transform, single->transform, size * sizeof(double));
    memcpy(model->error, single->error, (size_t)problem->vertices * sizeof(double));
    for (int v = 0; v < problem->vertices; v++) {
        model->bone[(size_t)v * (size_t)model->influences] = single->bone[v];
        model->weight[(size_t)v * (size_t)model->influences] = 1;
    }
}

int cluster_from(Call *call, const Problem *problem, const int *label, int clusters, int bones,
                 Model *model) {
    ArenaPiece *mark = arena_mark(&call->arena);
    Model single;
    Moments moments;
    int done =
        model_make(call, problem, model->capacity, 1, &single) && pass_make(call, problem, &single, &moments);
    if (done) {
        put_on_bones(problem, label, clusters, &single);
        done = assign_and_fit(call, problem, &single, &moments, 1, 0) &&
               assign_and_fit(call, problem, &single, &moments, 1, 0);
    }
    if (done && label) {
        done = assign_and_fit(call, problem, &single, &moments, ROUNDS, 1);
        remove_idle(problem, &single);
    }
    done = done && grow(call, problem, bones, &single, &moments) &&
           assign_and_fit(call, problem, &single, &moments, LAST_ROUNDS, 1);
    if (done) {
        hand_on(problem, &single, model);
    }
    arena_return(&call->arena, mark);
    return done;
}

int cluster(Call *call, const Problem *problem, int bones, Model *model) {
    return cluster_from(call, problem, NULL, 1, bones, model);
}

double cluster_tolerance(const Call *call, const Problem *problem) {
    return problem_squared(problem, call->settings->start_tolerance) /
           (problem->total_mass * problem->frames);
}

/* claim.c - the last bones: a patch each, for those that found no place by themselves.
 *
 * A bone that no vertex follows is a bone fewer than asked for. What insertion and descent could not
 * place (reseed.c, explore.c) takes a patch around a vertex of large error for itself alone: weights of
 * one, and the rigid motion that fits the patch best (Kabsch). The largest patch that lowers the error
 * is taken; a single vertex always does, unless it is already explained. A claim is given up when it
 * would leave another bone without vertices or, with locality, cut another bone's region. */
#include "search/claim.h"

#include <math.h>
#include <string.h>

#include "math/walk.h"
#include "starts/reseed.h"

enum { LARGEST_PATCH = 16, SHRINK = 4, SEEDS = 64 };

typedef struct Claim {
    Descent *descent;
    const Problem *problem;
    Model *model;
    Walk walk;
    int *followers;  /* [capacity] vertices of each bone */
    uint8_t *closed; /* [v] tried, or claimed */
    double *x;       /* [LARGEST_PATCH][3F] */
    /* what the patch was before */
    int bone[LARGEST_PATCH * OSSIFY_MAX_INFLUENCES];
    double weight[LARGEST_PATCH * OSSIFY_MAX_INFLUENCES], error[LARGEST_PATCH];
} Claim;

static int make_claim(Descent *descent, Claim *claim) {
    Arena *arena = &descent->call->arena;
    const size_t rows = 3 * (size_t)descent->problem->frames;
    claim->descent = descent;
    claim->problem = descent->problem;
    claim->model = descent->model;
    claim->followers = arena_take(arena, (size_t)descent->model->capacity, sizeof(int));
    claim->closed = arena_take(arena, (size_t)descent->problem->vertices, 1);
    claim->x = arena_take(arena, LARGEST_PATCH * rows, sizeof(double));
    return walk_make(arena, &descent->problem->graph, &claim->walk);
}

/* Counts the vertex in (+1) or out (-1) of the bones it follows. */
static void count_vertex(Claim *claim, int v, int sign) {
    const Model *model = claim->model;
    const size_t at = (size_t)v * (size_t)model->influences;
    for (int k = 0; k < model->influences && model->bone[at + (size_t)k] >= 0; k++) {
        claim->followers[model->bone[at + (size_t)k]] += model->weight[at + (size_t)k] > 0 ? sign : 0;
    }
}

static int worst_open(const Claim *claim) {
    int worst = -1;
    for (int v = 0; v < claim->problem->vertices; v++) {
        if (!claim->closed[v] && (worst < 0 || claim->model->error[v] > claim->model->error[worst])) {
            worst = v;
        }
    }
    return worst;
}

static double patch_error(const Claim *claim, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) {
        const int v = claim->walk.reached[i];
        sum += claim->problem->mass[v] * claim->model->error[v];
    }
    return sum;
}

static void take_patch(Claim *claim, int count, int b) {
    Model *model = claim->model;
    const size_t k = (size_t)model->influences, rows = 3 * (size_t)claim->problem->frames;
    for (int i = 0; i < count; i++) {
        const int v = claim->walk.reached[i];
        int *bone = model->bone + (size_t)v * k;
        double *weight = model->weight + (size_t)v * k;
        memcpy(claim->bone + (size_t)i * k, bone, k * sizeof *bone);
        memcpy(claim->weight + (size_t)i * k, weight, k * sizeof *weight);
        claim->error[i] = model->error[v];
        count_vertex(claim, v, -1);
        memset(bone, -1, k * sizeof *bone);
        memset(weight, 0, k * sizeof *weight);
        bone[0] = b;
        weight[0] = 1;
        model->error[v] = reseed_distance(claim->problem, model, v, b, claim->x + (size_t)i * rows);
        count_vertex(claim, v, 1);
    }
}

static void give_back(Claim *claim, int count) {
    Model *model = claim->model;
    const size_t k = (size_t)model->influences;
    for (int i = 0; i < count; i++) {
        const int v = claim->walk.reached[i];
        count_vertex(claim, v, -1);
        memcpy(model->bone + (size_t)v * k, claim->bone + (size_t)i * k, k * sizeof(int));
        memcpy(model->weight + (size_t)v * k, claim->weight + (size_t)i * k, k * sizeof(double));
        model->error[v] = claim->error[i];
        count_vertex(claim, v, 1);
    }
}

static int all_followed(const Claim *claim) {
    for (int b = 0; b < claim->model->bones; b++) {
        if (claim->followers[b] == 0) {
            return 0;
        }
    }
    return 1;
}

static int all_whole(const Claim *claim) {
    Descent *descent = claim->descent;
    return !descent->local ||
           locality_strip(descent->call, descent->problem, descent->model, 0, &descent->locality) == 0;
}

/* 1 when a new bone holds the first `count` vertices of the walk, and the error is lower. */
static int claim_patch(Claim *claim, int count) {
    Model *model = claim->model;
    const int b = model->bones;
    const double before = patch_error(claim, count);
    reseed_fit(claim->problem, model, claim->walk.reached, count, claim->x, b);
    take_patch(claim, count, b);
    model->bones++;
    if (patch_error(claim, count) < before && all_followed(claim) && all_whole(claim)) {
        return 1;
    }
    give_back(claim, count);
    model->bones--;
    return 0;
}

/* 1 when the next bone has found its patch. */
static int place_bone(Claim *claim) {
    const Problem *problem = claim->problem;
    for (int seeds = 0; seeds < SEEDS && !call_poll(claim->descent->call, -1); seeds++) {
        const int seed = worst_open(claim);
        if (seed < 0 || reseed_is_explained(problem, claim->model->error[seed])) {
            return 0;
        }
        claim->closed[seed] = 1;
        walk_begin(&claim->walk);
        walk_source(&claim->walk, seed);
        walk_run(&claim->walk, &problem->graph, LARGEST_PATCH, INFINITY);
        for (int count = claim->walk.reached_count; count > 0; count /= SHRINK) {
            if (claim_patch(claim, count)) {
                return 1;
            }
        }
    }
    return 0;
}

int claim_places(Descent *descent, int bones) {
    ArenaPiece *mark = arena_mark(&descent->call->arena);
    Claim claim;
    const int ready = make_claim(descent, &claim);
    for (int v = 0; v < descent->problem->vertices && ready; v++) {
        count_vertex(&claim, v, 1);
    }
    while (ready && descent->model->bones < bones && place_bone(&claim)) {
    }
    arena_return(&descent->call->arena, mark);
    return ready && !atomic_load(&descent->call->cancelled) && !descent->call->arena.failed;
}

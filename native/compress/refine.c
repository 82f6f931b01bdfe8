/* refine.c - masters and rest positions for weights as they are, the same step as a decomposition's.
 *
 *     rest     min over p of |sum_b w_b M_b p~ - x|^2 (+ |p - p0|^2)              descent/rest_pose.c
 *     masters  from U[b,c] = sum_v w_b w_c p~p~' and C[b] = sum_v w_b x p~'       descent/transforms.c
 *
 * Le & Deng 2012 (SSDR), lines 4 and 6 of Algorithm 1. A pass of the descent (descent/pass.c) has the few weights that a
 * vertex of a plain rig has; here w = D alpha has many, so the moments are summed anew. Blocks are dealt to a fixed
 * number of lanes, whose sums are added in order. */
#include "compress/refine.h"

#include <string.h>

#include "descent/rest_pose.h"
#include "descent/transforms.h"
#include "math/product.h"

enum { MASTER_SWEEPS = 4 };

typedef struct Room {
    double *d, *wp, *w; /* [BLOCK][4 bones] twice, [bones] */
    int *bone;          /* [bones] that carry weight */
} Room;

typedef struct Refining {
    Call *call;
    const Problem *problem;
    const Target *target;
    const Layers *layers;
    Model *model;
    Moments moments;
    double rest_pull;
    int solves_rest;
    Room *room;
} Refining;

static int list_bones(const double *w, int bones, int *bone) {
    int count = 0;
    for (int b = 0; b < bones; b++) {
        if (w[b] != 0) {
            bone[count++] = b;
        }
    }
    return count;
}

/* N = sum w_b w_c G[b,c] and d = sum w_b D[b], then p */
static void solve_rest(const Refining *refining, const Room *room, int v, int count, const double *d) {
    const Target *target = refining->target;
    const size_t k = (size_t)target->bones, size = k * k;
    const Problem *problem = refining->problem;
    double form[MONOMIALS] = {0}, blend[4] = {0};
    if (!refining->solves_rest || (problem->held_rest && problem->held_rest[v])) {
        return;
    }
    for (int i = 0; i < count; i++) {
        const size_t b = (size_t)room->bone[i];
        for (int j = 0; j <= i; j++) {
            const size_t c = (size_t)room->bone[j];
            const double ww = (i == j ? 1 : 2) * room->w[b] * room->w[c];
            for (size_t q = 0; q < MONOMIALS; q++) {
                form[q] += ww * target->gram[q * size + b * k + c];
            }
        }
        for (int a = 0; a < 4; a++) {
            blend[a] += room->w[b] * d[4 * b + (size_t)a];
        }
    }
    rest_pose_solve(form, blend, refining->rest_pull, problem->rest + 3 * (size_t)v,
                    refining->model->rest + 3 * (size_t)v);
}

/* w p~ to the vertex's row, w_b w_c p~p~' to u for c <= b */
static void add_moments(const Refining *refining, const Room *room, int v, int count, double *wp, double *u) {
    const double *p = refining->model->rest + 3 * (size_t)v;
    const size_t capacity = (size_t)refining->model->capacity;
    double term[POSE_TERMS];
    target_terms(refining->target, v, term);
    for (int i = 0; i < count; i++) {
        const size_t b = (size_t)room->bone[i];
        const double w = room->w[b];
        wp[4 * b] = w * p[0], wp[4 * b + 1] = w * p[1], wp[4 * b + 2] = w * p[2], wp[4 * b + 3] = w;
        for (int j = 0; j <= i; j++) {
            const size_t c = (size_t)room->bone[j];
            double *to = u + (b * capacity + c) * MONOMIALS;
            for (size_t q = 0; q < MONOMIALS; q++) {
                to[q] += w * room->w[c] * term[q];
            }
        }
    }
}

static void add_block(const Refining *refining, const Room *room, int block, double *c, double *u) {
    const Problem *problem = refining->problem;
    const Model *model = refining->model;
    const size_t rows = 3 * (size_t)problem->frames, k = (size_t)model->bones;
    const int v0 = block * BLOCK, v1 = v0 + BLOCK < problem->vertices ? v0 + BLOCK : problem->vertices;
    const float *from = problem->x + (size_t)block * rows * BLOCK;
    memset(room->d, 0, BLOCK * 4 * k * sizeof *room->d);
    product_floats_tn(BLOCK, (int)(4 * k), (int)rows, from, BLOCK, model->transform,
                      4 * (size_t)model->capacity, room->d, 4 * k);
    memset(room->wp, 0, BLOCK * 4 * k * sizeof *room->wp);
    for (int v = v0; v < v1; v++) {
        const size_t row = (size_t)(v - v0) * 4 * k;
        if (refining->layers) {
            layers_blend(refining->layers, v, (int)k, room->w);
        } else {
            memcpy(room->w, refining->target->dense + (size_t)v * k, k * sizeof *room->w);
        }
        const int count = list_bones(room->w, (int)k, room->bone);
        solve_rest(refining, room, v, count, room->d + row);
        add_moments(refining, room, v, count, room->wp + row, u);
    }
    product_floats_nn((int)rows, (int)(4 * k), BLOCK, from, BLOCK, room->wp, 4 * k, c,
                      4 * (size_t)model->capacity);
}

static void run_lane(void *user, int lane, int worker) {
    const Refining *refining = user;
    const Moments *moments = &refining->moments;
    const size_t bones = (size_t)refining->model->capacity, rows = 3 * (size_t)refining->problem->frames;
    double *c = moments->lane_c + (size_t)lane * rows * bones * 4;
    double *u = moments->lane_u + (size_t)lane * bones * bones * MONOMIALS;
    const int64_t blocks = refining->problem->blocks;
    const int begin = (int)(blocks * lane / moments->lanes),
              end = (int)(blocks * (lane + 1) / moments->lanes);
    for (int block = begin; block < end && !atomic_load(&refining->call->cancelled); block++) {
        if (worker == 0) {
            call_poll(refining->call, -1);
        }
        add_block(refining, &refining->room[worker], block, c, u);
    }
}

static void add_lanes(size_t count, int lanes, const double *from, double *to) {
    memcpy(to, from, count * sizeof *to);
    for (size_t lane = 1; lane < (size_t)lanes; lane++) {
        for (size_t i = 0; i < count; i++) {
            to[i] += from[lane * count + i];
        }
    }
}

/* U was summed for c <= b only. */
static void join_lanes(const Refining *refining) {
    const Moments *moments = &refining->moments;
    const size_t bones = (size_t)refining->model->capacity, rows = 3 * (size_t)refining->problem->frames;
    add_lanes(rows * bones * 4, moments->lanes, moments->lane_c, moments->c);
    add_lanes(bones * bones * MONOMIALS, moments->lanes, moments->lane_u, moments->u);
    for (size_t b = 0; b < bones; b++) {
        for (size_t c = 0; c < b; c++) {
            memcpy(moments->u + (c * bones + b) * MONOMIALS, moments->u + (b * bones + c) * MONOMIALS,
                   MONOMIALS * sizeof(double));
        }
    }
}

static int make_rooms(Refining *refining) {
    Arena *arena = &refining->call->arena;
    const size_t workers = (size_t)parallel_workers(refining->call->pool), k = (size_t)refining->model->bones;
    refining->room = arena_take(arena, workers, sizeof *refining->room);
    for (size_t w = 0; w < workers && !arena->failed; w++) {
        Room *room = &refining->room[w];
        room->d = arena_take(arena, BLOCK * 4 * k, sizeof(double));
        room->wp = arena_take(arena, BLOCK * 4 * k, sizeof(double));
        room->w = arena_take(arena, k, sizeof(double));
        room->bone = arena_take(arena, k, sizeof(int));
    }
    return !arena->failed;
}

int refine_bones(Call *call, const Problem *problem, const Target *target, const Layers *layers,
                 Model *model) {
    const ossify_settings *settings = call->settings;
    Refining refining = {.call = call,
                         .problem = problem,
                         .target = target,
                         .layers = layers,
                         .model = model,
                         .rest_pull = settings->rest_mode == OSSIFY_REST_KEPT,
                         .solves_rest = settings->rest_mode != OSSIFY_REST_FIXED};
    ArenaPiece *mark = arena_mark(&call->arena);
    int made = pass_make(call, problem, model, &refining.moments) && make_rooms(&refining);
    if (made) {
        parallel_run(call->pool, refining.moments.lanes, run_lane, &refining);
        made = !call_poll(call, -1);
    }
    if (made) {
        join_lanes(&refining);
        made = transforms_update(call, problem, model, &refining.moments,
                                 settings->bone_kind == OSSIFY_FLEXIBLE, MASTER_SWEEPS);
    }
    arena_return(&call->arena, mark);
    return made && !call_poll(call, -1);
}

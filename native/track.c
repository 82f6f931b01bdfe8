/* track.c - transforms for given weights: a new clip on an old rig, or a refit of the transforms alone.
 *
 * With weights and rest pose held, all that the transforms need of the vertices are the moments of
 * transforms.c; U is the same for every frame, and C[b] = sum_v w_b x p~' is summed bone by bone from the
 * caller's own frames. No vertex is looked at twice, so a frame costs little more than reading it.
 *
 * A bone without a guess starts from its own vertices, weighted by w_b, as if the others moved with it,
 * and turns with the whole mesh where they do not say how: because weights sum to one, that needs no other
 * moments than
 *     sum_c U[c,b] = sum_v w_b p~ p~'. */
#include "track.h"

#include <math.h>
#include <string.h>

#include "math/rotation3.h"
#include "math/sphere.h"

enum {
    MOST_SWEEPS = 400,
    MOST_STEPS = 100,
    MOST_AT_ONCE = 96, /* bones: with more, sweeps are faster, if not as good */
    FRAMES_A_TASK = 8  /* while a bone's followers are in cache */
};

/* Vertices by bone. */
typedef struct Followers {
    int64_t *first; /* [bones + 1] */
    int *vertex;    /* [entries] in the caller's order */
    double *wp;     /* [entries][4] w p~ */
} Followers;

typedef struct Track {
    Call *call;
    const ossify_poses *poses;
    Problem problem; /* frames and no positions */
    Placement placement;
    Model model; /* transforms alone */
    Moments moments;
    Followers followers;
    double *own;    /* [b][MONOMIALS] sum_v w_b p~ p~' */
    double *square; /* [f] sum |x|^2 */
    int64_t vertices;
} Track;

int track_is_all(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig) {
    const size_t n = (size_t)poses->vertex_count;
    int held = (rig->given & OSSIFY_GIVEN_WEIGHTS) && rig->held_vertices != NULL;
    for (size_t v = 0; v < n && held; v++) {
        held = rig->held_vertices[v] &&
               (settings->rest_mode == OSSIFY_REST_FIXED || (rig->held_rest != NULL && rig->held_rest[v]));
    }
    return held;
}

static void place(const float *rest, int64_t vertices, Placement *placement) {
    const Sphere sphere = smallest_sphere(rest, vertices);
    int exponent = 0;
    memcpy(placement->centre, sphere.centre, sizeof placement->centre);
    placement->radius = sphere.radius > 0 ? sphere.radius : 1;
    frexp(placement->radius, &exponent);
    placement->unit = ldexp(1.0, exponent);
}

static int make_track(Track *track, const ossify_rig *rig) {
    Arena *arena = &track->call->arena;
    const size_t b = (size_t)rig->bones, rows = 3 * (size_t)track->poses->frame_count;
    const size_t entries = (size_t)track->poses->vertex_count * (size_t)rig->influences;
    Model *model = &track->model;
    track->vertices = track->poses->vertex_count;
    track->problem.frames = (int)track->poses->frame_count;
    model->bones = model->capacity = (int)rig->bones;
    model->transform = arena_take(arena, rows * b * 4, sizeof(double));
    model->held = arena_take(arena, rows / 3 * b, 1);
    track->moments.c = arena_take(arena, rows * b * 4, sizeof(double));
    track->moments.u = arena_take(arena, b * b * MONOMIALS, sizeof(double));
    track->placement.frame_centre = arena_take(arena, rows, sizeof(double));
    track->own = arena_take(arena, b, MONOMIALS * sizeof(double));
    track->square = arena_take(arena, rows / 3, sizeof(double));
    track->followers.first = arena_take(arena, b + 1, sizeof(int64_t));
    track->followers.vertex = arena_take(arena, entries, sizeof(int));
    track->followers.wp = arena_take(arena, 4 * entries, sizeof(double));
    return !arena->failed;
}

static void rest_inside(const Track *track, const ossify_rig *rig, int64_t v, double p[4]) {
    for (int a = 0; a < 3; a++) {
        p[a] = ((double)rig->rest[3 * v + a] - track->placement.centre[a]) / track->placement.unit;
    }
    p[3] = 1;
}

static int is_used(const ossify_rig *rig, int64_t i) {
    return rig->influence_bones[i] >= 0 && rig->influence_weights[i] > 0;
}

static void list_followers(Track *track, const ossify_rig *rig) {
    const int64_t wide = rig->influences, all = track->vertices * wide;
    int64_t *first = track->followers.first;
    for (int64_t i = 0; i < all; i++) {
        if (is_used(rig, i)) {
            first[rig->influence_bones[i] + 1]++;
        }
    }
    for (int64_t b = 0; b < rig->bones; b++) {
        first[b + 1] += first[b];
    }
    for (int64_t i = all - 1; i >= 0; i--) { /* backwards, so that first[b + 1] ends where bone b begins */
        if (is_used(rig, i)) {
            const int64_t at = --first[rig->influence_bones[i] + 1];
            double p[4];
            rest_inside(track, rig, i / wide, p);
            track->followers.vertex[at] = (int)(i / wide);
            for (int a = 0; a < 4; a++) {
                track->followers.wp[4 * at + a] = (double)rig->influence_weights[i] * p[a];
            }
        }
    }
    for (int64_t b = 0; b < rig->bones; b++) {
        first[b] = first[b + 1];
    }
    first[rig->bones] = 0;
    for (int64_t i = 0; i < all; i++) {
        first[rig->bones] += is_used(rig, i);
    }
}

/* U[b][c] += w_b w_c p~ p~' */
static void add_u(Track *track, const ossify_rig *rig) {
    const int64_t wide = rig->influences;
    const size_t bones = (size_t)rig->bones;
    for (int64_t v = 0; v < track->vertices; v++) {
        double p[4];
        rest_inside(track, rig, v, p);
        const double monomial[MONOMIALS] = {p[0] * p[0], p[1] * p[1], p[2] * p[2], p[0] * p[1], p[0] * p[2],
                                            p[1] * p[2], p[0],        p[1],        p[2],        1};
        for (int64_t i = v * wide; i < (v + 1) * wide; i++) {
            for (int64_t j = v * wide; j < (v + 1) * wide && is_used(rig, i); j++) {
                if (is_used(rig, j)) {
                    const double ww = (double)rig->influence_weights[i] * (double)rig->influence_weights[j];
                    double *u = track->moments.u +
                                ((size_t)rig->influence_bones[i] * bones + (size_t)rig->influence_bones[j]) *
                                    MONOMIALS;
                    for (int m = 0; m < MONOMIALS; m++) {
                        u[m] += ww * monomial[m];
                    }
                }
            }
        }
    }
}

static const float *frame_at(const Track *track, int f) {
    return track->poses->frames + 3 * (size_t)f * (size_t)track->vertices;
}

/* The mean of a frame, rounded to float: then most differences to it are exact. */
static void centre_frame(const Track *track, int f) {
    const float *x = frame_at(track, f);
    double *centre = track->placement.frame_centre + 3 * (size_t)f, sum[3] = {0, 0, 0}, square[3] = {0, 0, 0};
    for (int64_t v = 0; v < track->vertices; v++) {
        for (int a = 0; a < 3; a++) {
            sum[a] += (double)x[3 * v + a];
        }
    }
    for (int a = 0; a < 3; a++) {
        centre[a] = (double)(float)(sum[a] / (double)track->vertices);
    }
    for (int64_t v = 0; v < track->vertices; v++) {
        for (int a = 0; a < 3; a++) {
            const double d = (double)x[3 * v + a] - centre[a];
            square[a] += d * d;
        }
    }
    track->square[f] = (square[0] + square[1] + square[2]) / track->placement.unit / track->placement.unit;
}

/* C of one bone in one frame */
static void sum_bone(const Track *track, int f, int b, double c[3][4]) {
    const Followers *followers = &track->followers;
    const float *frame = frame_at(track, f);
    const double *centre = track->placement.frame_centre + 3 * (size_t)f;
    double c0[4] = {0}, c1[4] = {0}, c2[4] = {0};
    for (int64_t i = followers->first[b]; i < followers->first[b + 1]; i++) {
        const float *x = frame + 3 * (size_t)followers->vertex[i];
        const double *wp = followers->wp + 4 * i;
        const double x0 = x[0] - centre[0], x1 = x[1] - centre[1], x2 = x[2] - centre[2];
        for (int a = 0; a < 4; a++) {
            c0[a] += x0 * wp[a];
            c1[a] += x1 * wp[a];
            c2[a] += x2 * wp[a];
        }
    }
    for (int a = 0; a < 4; a++) {
        c[0][a] = c0[a] / track->placement.unit;
        c[1][a] = c1[a] / track->placement.unit;
        c[2][a] = c2[a] / track->placement.unit;
    }
}

static void sum_frames(void *user, int task, int worker) {
    const Track *track = user;
    const size_t row = 4 * (size_t)track->model.capacity;
    const int begin = task * FRAMES_A_TASK, left = track->problem.frames - begin;
    const int end = begin + (left < FRAMES_A_TASK ? left : FRAMES_A_TASK);
    for (int f = begin; f < end; f++) {
        if (track->call->cancelled || (worker == 0 && call_poll(track->call, -1))) {
            return;
        }
        centre_frame(track, f);
    }
    for (int b = 0; b < track->model.bones; b++) {
        for (int f = begin; f < end; f++) {
            double c[3][4];
            sum_bone(track, f, b, c);
            for (size_t i = 0; i < 3; i++) {
                memcpy(track->moments.c + (3 * (size_t)f + i) * row + 4 * (size_t)b, c[i], sizeof c[i]);
            }
        }
    }
}

/* sum_v w_b p~ p~' */
static void add_own_forms(Track *track) {
    const size_t bones = (size_t)track->model.bones;
    for (size_t i = 0; i < bones * bones * MONOMIALS; i++) {
        track->own[i / (bones * MONOMIALS) * MONOMIALS + i % MONOMIALS] += track->moments.u[i];
    }
}

/* The rotation nearest to sum_v w x p~' about its centre; 0 when there are no vertices. */
static int turn_alone(double c[3][4], const double form[MONOMIALS], double r[9]) {
    double h[9];
    if (!(form[9] > 0)) {
        return 0;
    }
    for (size_t i = 0; i < 9; i++) {
        h[i] = c[i / 3][i % 3] - c[i / 3][3] * form[6 + i % 3] / form[9];
    }
    rotation_nearest(h, r, r);
    return 1;
}

static void read_c(const Track *track, int f, int b, double c[3][4]) {
    const size_t row = 4 * (size_t)track->model.capacity;
    for (size_t i = 0; i < 3; i++) {
        memcpy(c[i], track->moments.c + (3 * (size_t)f + i) * row + 4 * (size_t)b, sizeof c[i]);
    }
}

/* How the whole mesh turned. */
static void turn_whole(const Track *track, int f, double r[9]) {
    const double still[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double all[3][4] = {{0}}, form[MONOMIALS] = {0}, c[3][4];
    for (int b = 0; b < track->model.bones; b++) {
        read_c(track, f, b, c);
        for (size_t i = 0; i < 12; i++) {
            all[i / 4][i % 4] += c[i / 4][i % 4];
        }
        for (int m = 0; m < MONOMIALS; m++) {
            form[m] += track->own[b * MONOMIALS + m];
        }
    }
    memcpy(r, still, sizeof still);
    turn_alone(all, form, r);
}

static void guess_frame(void *user, int f, int worker) {
    const Track *track = user;
    const size_t row = 4 * (size_t)track->model.capacity;
    double whole[9], r[9], c[3][4];
    (void)worker;
    turn_whole(track, f, whole);
    for (int b = 0; b < track->model.bones; b++) {
        const double *form = track->own + b * MONOMIALS;
        double *m = track->model.transform + 3 * (size_t)f * row + 4 * (size_t)b;
        read_c(track, f, b, c);
        memcpy(r, whole, sizeof r);
        const int moves = turn_alone(c, form, r);
        for (size_t i = 0; i < 3 && moves; i++) {
            memcpy(m + i * row, r + 3 * i, 3 * sizeof *r);
            m[i * row + 3] =
                (c[i][3] - r[3 * i] * form[6] - r[3 * i + 1] * form[7] - r[3 * i + 2] * form[8]) / form[9];
        }
    }
}

int64_t track(Call *call, const ossify_poses *poses, ossify_rig *rig) {
    Track track = {.call = call, .poses = poses};
    const ossify_settings *settings = call->settings;
    const int flexible = settings->bone_kind == OSSIFY_FLEXIBLE;
    const int at_once = !flexible && rig->bones <= MOST_AT_ONCE;
    const int most = settings->iterations > 0 ? (int)settings->iterations
                     : at_once                ? MOST_STEPS
                                              : MOST_SWEEPS;
    if (!make_track(&track, rig)) {
        return call_ended(call);
    }
    call_stage(call, OSSIFY_STAGE_REFINE);
    place(poses->rest ? poses->rest : rig->rest, poses->vertex_count, &track.placement);
    list_followers(&track, rig);
    add_u(&track, rig);
    add_own_forms(&track);
    pool_run(call->pool, (track.problem.frames + FRAMES_A_TASK - 1) / FRAMES_A_TASK, sum_frames, &track);
    if (call_poll(call, 0.5)) {
        return call_ended(call);
    }
    rig_read_transforms(&track.problem, &track.placement, rig, !flexible, &track.model);
    if (!(rig->given & OSSIFY_GIVEN_TRANSFORMS)) {
        pool_run(call->pool, track.problem.frames, guess_frame, &track);
    }
    const int steps =
        at_once ? newton_settle(call, &track.problem, &track.model, &track.moments, most, track.square)
                : transforms_settle(call, &track.problem, &track.model, &track.moments, flexible, most,
                                    track.square);
    if (steps < 0) {
        return call_ended(call);
    }
    call->info->iterations = steps;
    rig_write_transforms(&track.problem, &track.placement, &track.model, 0, rig);
    return steps < most ? OSSIFY_CONVERGED : OSSIFY_OUT_OF_ITERATIONS;
}

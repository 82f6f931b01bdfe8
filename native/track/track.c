/* track.c - transforms for given weights: a new clip on an old rig, or a refit of the transforms alone.
 *
 * With weights and rest pose held, all that the transforms need of the vertices are the moments of
 * transforms.c; U is the same for every frame, and C[b] = sum_v w_b x p~' is summed from the caller's own
 * frames, patch by patch of vertices that follow the same few bones (patches.c): a matrix product of their
 * positions in some frames, centred, and their w p~. So a frame costs little more than reading it.
 *
 * A bone without a guess starts from its own vertices, weighted by w_b, as if the others moved with it,
 * and turns with the whole mesh where they do not say how: because weights sum to one, that needs no other
 * moments than
 *     sum_c U[c,b] = sum_v w_b p~ p~'.
 *
 * Bones then go on in the norm of descent/fair.c, by the moments of ties.c; given ones do from the start. */
#include "track/track.h"

#include <math.h>
#include <string.h>

#include "core/rig.h"
#include "descent/transforms.h"
#include "math/product.h"
#include "math/rotation3.h"
#include "math/sphere.h"
#include "track/clip.h"
#include "track/patches.h"
#include "track/ties.h"

enum {
    MOST_SWEEPS = 400,
    MOST_STEPS = 100,
    MOST_AT_ONCE = 96,     /* bones: with more, sweeps are faster, if not as good */
    FRAMES_ABREAST = 16,   /* frames that are summed at once */
    AT_HAND = 32,          /* and those of a task, for which a patch is weighed once */
    CENTRE_OF = 64,        /* vertices: any point amid the mesh is as good as the mean */
    VERTICES_A_POLL = 1024 /* vertices, between two looks at a wish to cancel */
};

/* What a worker needs to sum some frames. */
typedef struct Sums {
    double *x;       /* [3 FRAMES_ABREAST][PATCH] positions of a patch, centred */
    double *wp;      /* [PATCH][bones of a patch][4] */
    int *local;      /* [b] number of a bone among those of the patch */
    double *product; /* [3 FRAMES_ABREAST][bones of a patch][4] */
    double *c;       /* [3 AT_HAND][b][4] */
} Sums;

typedef struct Track {
    Call *call;
    const ossify_poses *poses;
    const ossify_rig *rig;
    Problem problem; /* frames and no positions */
    Placement placement;
    Model model; /* transforms alone */
    Moments moments;
    Patches patches;
    Sums *sums;     /* [workers] */
    double *own;    /* [b][MONOMIALS] sum_v w_b p~ p~' */
    double *square; /* [f] sum |x|^2, or x'Sx */
    Ties ties;
    int in_norm; /* 1: sums are those of the norm */
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
    const Sphere sphere = sphere_smallest(rest, vertices);
    int exponent = 0;
    memcpy(placement->centre, sphere.centre, sizeof placement->centre);
    placement->radius = sphere.radius > 0 ? sphere.radius : 1;
    frexp(placement->radius, &exponent);
    placement->unit = ldexp(1.0, exponent);
}

static void take_sums(Arena *arena, size_t bones, Sums *sums) {
    const size_t rows = 3 * FRAMES_ABREAST, wide = 4 * PATCH_BONES;
    sums->x = arena_take(arena, rows * PATCH, sizeof(double));
    sums->wp = arena_take(arena, PATCH * wide, sizeof(double));
    sums->local = arena_take(arena, bones, sizeof(int));
    sums->product = arena_take(arena, rows * wide, sizeof(double));
    sums->c = arena_take(arena, 3 * AT_HAND * bones * 4, sizeof(double));
}

static int make_track(Track *track) {
    const ossify_rig *rig = track->rig;
    Arena *arena = &track->call->arena;
    const size_t b = (size_t)rig->bones, rows = 3 * (size_t)track->poses->frame_count;
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
    track->sums = arena_take(arena, (size_t)parallel_workers(track->call->pool), sizeof *track->sums);
    if (!patches_take(arena, track->vertices, rig->bones, rig->influences, &track->patches)) {
        return 0;
    }
    for (int worker = 0; worker < parallel_workers(track->call->pool); worker++) {
        take_sums(arena, b, &track->sums[worker]);
    }
    return !arena->failed;
}

static void rest_inside(const Track *track, int64_t v, double p[4]) {
    const double scale = 1 / track->placement.unit; /* a power of two */
    for (int a = 0; a < 3; a++) {
        p[a] = ((double)track->rig->rest[3 * v + a] - track->placement.centre[a]) * scale;
    }
    p[3] = 1;
}

/* U[b][c] += w_b w_c p~ p~' */
static void add_u_of(Track *track, int64_t v) {
    const ossify_rig *rig = track->rig;
    const int64_t wide = rig->influences;
    const size_t bones = (size_t)rig->bones;
    double p[4];
    rest_inside(track, v, p);
    const double monomial[MONOMIALS] = {p[0] * p[0], p[1] * p[1], p[2] * p[2], p[0] * p[1], p[0] * p[2],
                                        p[1] * p[2], p[0],        p[1],        p[2],        1};
    for (int64_t i = v * wide; i < (v + 1) * wide; i++) {
        for (int64_t j = v * wide; j < (v + 1) * wide && patches_follows(rig, i); j++) {
            if (patches_follows(rig, j)) {
                const double ww = (double)rig->influence_weights[i] * (double)rig->influence_weights[j];
                double *u =
                    track->moments.u +
                    ((size_t)rig->influence_bones[i] * bones + (size_t)rig->influence_bones[j]) * MONOMIALS;
                for (int m = 0; m < MONOMIALS; m++) {
                    u[m] += ww * monomial[m];
                }
            }
        }
    }
}

/* 0 when the call must end. */
static int add_u(Track *track) {
    for (int64_t v = 0; v < track->vertices; v++) {
        if (v % VERTICES_A_POLL == 0 && call_poll(track->call, -1)) {
            return 0;
        }
        add_u_of(track, v);
    }
    return 1;
}

/* About the mean of a frame, rounded to float: then most differences to it are exact. */
static void centre_frame(const Track *track, int f) {
    const float *x = track->poses->frames + 3 * (size_t)f * (size_t)track->vertices;
    double *centre = track->placement.frame_centre + 3 * (size_t)f, sum[3] = {0, 0, 0};
    const int64_t step = 1 + track->vertices / CENTRE_OF;
    int64_t count = 0;
    for (int64_t v = 0; v < track->vertices; v += step, count++) {
        for (int a = 0; a < 3; a++) {
            sum[a] += (double)x[3 * v + a];
        }
    }
    for (int a = 0; a < 3; a++) {
        centre[a] = (double)(float)(sum[a] / (double)count);
    }
}

/* C of some frames += X (w p~)' of the patch that is weighed; in the norm their squares grow, too */
static void add_abreast(const Track *track, const Patch *patch, int begin, int frames, const Sums *sums,
                        double *c, double *square) {
    const int wide = 4 * patch->bones, row = 4 * track->model.bones;
    const int32_t *bone = track->patches.bone + patch->first_bone;
    for (int g = 0; g < frames; g++) {
        patches_read(track->poses, &track->patches, patch, begin + g,
                     track->placement.frame_centre + 3 * (size_t)(begin + g), sums->x + 3 * g * PATCH);
        if (track->in_norm) {
            square[g] += ties_stiffen(&track->ties, track->poses, &track->patches, patch, begin + g,
                                      sums->x + 3 * g * PATCH);
        }
    }
    memset(sums->product, 0, 3 * (size_t)frames * (size_t)wide * sizeof *sums->product);
    product_nn(3 * frames, wide, patch->count, sums->x, PATCH, sums->wp, (size_t)wide, sums->product,
               (size_t)wide);
    for (int i = 0; i < 3 * frames; i++) {
        const double *restrict from = sums->product + i * wide;
        for (int n = 0; n < patch->bones; n++) {
            double *restrict to = c + i * row + 4 * bone[n];
            for (int m = 0; m < 4; m++) {
                to[m] += from[4 * n + m];
            }
        }
    }
}

static void add_patch(const Track *track, const Patch *patch, int begin, int frames, const Sums *sums,
                      double *square) {
    patches_weigh(track->rig, &track->patches, patch, track->placement.centre, 1 / track->placement.unit,
                  sums->local, sums->wp);
    for (int g = 0; g < frames; g += FRAMES_ABREAST) {
        add_abreast(track, patch, begin + g, frames - g < FRAMES_ABREAST ? frames - g : FRAMES_ABREAST, sums,
                    sums->c + 3 * g * 4 * track->model.bones, square + g);
    }
}

/* sum |x - c|^2 of some vertices of a frame, of two side by side. They are read in the order of memory, which is
 * how they are at hand when their patches want them. */
static double square_of(const Track *track, int f, int64_t begin, int64_t end) {
    const float *x = track->poses->frames + 3 * ((int64_t)f * track->vertices + begin);
    const double *centre = track->placement.frame_centre + 3 * (size_t)f;
    const double c[6] = {centre[0], centre[1], centre[2], centre[0], centre[1], centre[2]};
    const int64_t numbers = 3 * (end - begin);
    double sum[6] = {0};
    int64_t i = 0;
    for (; i + 6 <= numbers; i += 6) {
        for (int k = 0; k < 6; k++) {
            const double away = (double)x[i + k] - c[k];
            sum[k] += away * away;
        }
    }
    for (int k = 0; i + k < numbers; k++) {
        sum[k] += ((double)x[i + k] - c[k]) * ((double)x[i + k] - c[k]);
    }
    return sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5];
}

/* 1 when a worker must stop. */
static int must_stop(const Track *track, int worker) {
    return track->call->cancelled || (worker == 0 && call_poll(track->call, -1));
}

static void sum_frames(void *user, int task, int worker) {
    const Track *track = user;
    const size_t row = 4 * (size_t)track->model.capacity;
    const int begin = task * AT_HAND, left = track->problem.frames - begin;
    const int frames = left < AT_HAND ? left : AT_HAND;
    const Sums *sums = &track->sums[worker];
    double square[AT_HAND] = {0};
    memset(sums->c, 0, 3 * (size_t)frames * row * sizeof(double));
    for (int64_t v = 0, i = 0; v < track->vertices; v += PATCH_WINDOW) {
        const int64_t end = v + PATCH_WINDOW < track->vertices ? v + PATCH_WINDOW : track->vertices;
        if (must_stop(track, worker)) {
            return;
        }
        for (int g = 0; g < frames; g++) {
            square[g] += square_of(track, begin + g, v, end);
        }
        for (; i < track->patches.count && track->patches.patch[i].first < end; i++) {
            add_patch(track, &track->patches.patch[i], begin, frames, sums, square);
        }
    }
    for (size_t i = 0; i < 3 * (size_t)frames * row; i++) {
        track->moments.c[3 * (size_t)begin * row + i] = sums->c[i] / track->placement.unit;
    }
    for (int g = 0; g < frames; g++) {
        track->square[begin + g] = square[g] / track->placement.unit / track->placement.unit;
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
    rotation3_nearest(h, r, r);
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

static int solves_at_once(const Track *track) {
    return track->call->settings->bone_kind == OSSIFY_RIGID && track->model.bones <= MOST_AT_ONCE;
}

/* Iterations of the slowest frame; -1 when the call must end. */
static int solve_bones(Track *track, int most, PoolTask guess) {
    Call *call = track->call;
    if (solves_at_once(track)) {
        return clip_solve(call, &track->problem, &track->model, &track->moments, most, track->square, guess,
                          track);
    }
    if (guess) {
        parallel_run(call->pool, track->problem.frames, guess, track);
    }
    return transforms_converge(call, &track->problem, &track->model, &track->moments,
                               call->settings->bone_kind == OSSIFY_FLEXIBLE, most, track->square);
}

static void sum_clip(Track *track) {
    parallel_run(track->call->pool, (track->problem.frames + AT_HAND - 1) / AT_HAND, sum_frames, track);
}

static int solve_plainly(Track *track, int most, PoolTask guess) {
    add_own_forms(track);
    sum_clip(track);
    return call_poll(track->call, 0.5) ? -1 : solve_bones(track, most, guess);
}

/* From bones that are given, or those of plain least squares. */
static int solve_in_norm(Track *track, int most) {
    track->in_norm = 1;
    track->moments.whole = track->ties.whole;
    sum_clip(track);
    return call_poll(track->call, 0.8) ? -1 : solve_bones(track, most, NULL);
}

int64_t track(Call *call, const ossify_poses *poses, ossify_rig *rig) {
    Track track = {.call = call, .poses = poses, .rig = rig};
    const ossify_settings *settings = call->settings;
    if (!make_track(&track)) {
        return call_ended(call);
    }
    const int most = settings->iterations > 0 ? (int)settings->iterations
                     : solves_at_once(&track) ? MOST_STEPS
                                              : MOST_SWEEPS;
    call_stage(call, OSSIFY_STAGE_REFINE);
    place(poses->rest ? poses->rest : rig->rest, poses->vertex_count, &track.placement);
    patches_make(rig, poses->vertex_count, &track.patches);
    if (!add_u(&track) || !ties_make(call, poses, rig, &track.placement, &track.ties)) {
        return call_ended(call);
    }
    for (int f = 0; f < track.problem.frames; f++) {
        centre_frame(&track, f);
    }
    const PoolTask guess = rig->given & OSSIFY_GIVEN_TRANSFORMS ? NULL : guess_frame;
    const int last = !(track.ties.tie > 0) ? 0 : guess ? most / 2 : most; /* iterations in the norm */
    rig_read_transforms(&track.problem, &track.placement, rig, settings->bone_kind == OSSIFY_RIGID,
                        &track.model);
    const int steps = last < most ? solve_plainly(&track, most - last, guess) : 0;
    const int more = steps >= 0 && last > 0 ? solve_in_norm(&track, last) : 0;
    if (steps < 0 || more < 0) {
        return call_ended(call);
    }
    call->info->iterations = steps + more;
    rig_write_transforms(&track.problem, &track.placement, &track.model, 0, rig);
    return (last > 0 ? more < last : steps < most) ? OSSIFY_CONVERGED : OSSIFY_OUT_OF_ITERATIONS;
}

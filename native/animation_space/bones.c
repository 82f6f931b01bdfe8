/* bones.c - the best bones of every frame for coordinates that stay, no vertex touched.
 *
 * With p_b = (q, w) of every vertex (Merry, Marais and Gain 2006), S_bc = sum_v p_b p_c' and C_b = sum_v x p_b', what
 * the other bones of a frame leave to bone b is
 *
 *     H = [H3 | h] = C_b - sum_{c != b} T_c S_cb,     S_bb = [Q a; a' m],
 *
 * the best rotation maximises trace(R' (H3 - h a' / m)), and t = (h - R a) / m: exact, because trace(R Q R') does not
 * depend on R. A flexible bone is H S_bb^-1. Bones are updated one by one, so the error cannot rise. The paper takes
 * the bones as given.
 *
 * Where joints hold (hanging.c), the same sums are those of X_b = [R_b | 0], but for roots; the best rotation then
 * maximises trace(R' H3). */
#include "animation_space/bones.h"

#include <math.h>
#include <string.h>

#include "animation_space/hanging.h"
#include "math/positive.h"
#include "math/rotation3.h"

#define FRAME_STILL 1e-7 /* of the squared error of a frame: a smaller fall between looks is none */
#define LIGHTEST 1e-12   /* of the vertices, by squared weight: a bone that moves less stays */
#define STIFF 1e-10 /* of the mean diagonal: keeps a flexible bone where the surface says nothing of it */

enum { LOOKS = 4 }; /* sweeps between two looks at the error */

typedef struct Sums {
    Call *call;
    Skin *skin;
    const Coordinates *coordinates;
    const ossify_rig *rig;
    const Hanging *hanging;
    int sweeps;
    int *first;     /* [b + 1] of what follows: */
    int *member;    /* vertices of a bone, */
    double *point;  /* [members][4] with their p, inside */
    double *s;      /* [b][b][16] */
    double *c;      /* [b][12][wide] */
    double *square; /* [wide] sum_v |x|^2 */
    double *pose;   /* [workers][b][12] */
} Sums;

/* p = w (r, 1) + d */
static void point_of(const Coordinates *c, int v, int k, double p[4]) {
    const double w = c->weight[(size_t)v * (size_t)c->slots + (size_t)k];
    coordinates_inside(c, v, k, p);
    for (int a = 0; a < 3; a++) {
        p[a] += w * c->skin->rest[3 * (size_t)v + (size_t)a];
    }
    p[3] += w;
}

static int list_members(Sums *sums) {
    const Coordinates *c = sums->coordinates;
    const size_t k = (size_t)c->slots, n = (size_t)c->skin->vertices * k, bones = (size_t)c->skin->bones;
    Arena *arena = &sums->call->arena;
    sums->first = arena_take(arena, bones + 1, sizeof(int));
    sums->member = arena_take(arena, n, sizeof(int));
    sums->point = arena_take(arena, 4 * n, sizeof(double));
    if (arena->failed) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (c->bone[i] >= 0) {
            sums->first[c->bone[i]]++;
        }
    }
    for (size_t b = 1; b <= bones; b++) { /* where each bone's members end */
        sums->first[b] += sums->first[b - 1];
    }
    for (size_t i = n; i-- > 0;) { /* from behind: they come to lie in the order of the vertices */
        if (c->bone[i] >= 0) {
            const size_t at = (size_t)--sums->first[c->bone[i]];
            sums->member[at] = (int)(i / k);
            point_of(c, (int)(i / k), (int)(i % k), sums->point + 4 * at);
        }
    }
    return 1;
}

/* ---- sums over the vertices ---- */

/* S_bc of one bone with all others, from its vertices */
static void form_of_bone(void *user, int b, int worker) {
    const Sums *sums = user;
    const Coordinates *c = sums->coordinates;
    const size_t k = (size_t)c->slots, bones = (size_t)c->skin->bones;
    if (worker == 0) {
        call_poll(sums->call, -1);
    }
    for (int m = sums->first[b]; m < sums->first[b + 1]; m++) {
        const int v = sums->member[m];
        const double *p = sums->point + 4 * (size_t)m;
        for (size_t i = 0; i < k && c->bone[(size_t)v * k + i] >= 0; i++) {
            double *s = sums->s + 16 * ((size_t)b * bones + (size_t)c->bone[(size_t)v * k + i]);
            double q[4];
            point_of(c, v, (int)i, q);
            for (size_t j = 0; j < 16; j++) {
                s[j] += p[j / 4] * q[j % 4];
            }
        }
    }
}

/* C_b of one bone in a few frames; a task is a bone and its frames */
static void pull_of_bone(void *user, int task, int worker) {
    const Sums *sums = user;
    const Skin *skin = sums->skin;
    const size_t wide = (size_t)skin->wide, runs = wide / SKIN_LANES;
    const size_t b = (size_t)task / runs, begin = (size_t)task % runs * SKIN_LANES;
    if (worker == 0) {
        call_poll(sums->call, -1);
    }
    for (size_t f = begin; f < begin + SKIN_LANES && f < (size_t)skin->frames; f++) {
        const float *x = skin->poses->frames + 3 * f * (size_t)skin->vertices;
        const double *centre = skin->frame_centre + 3 * f;
        double sum[12] = {0};
        for (int m = sums->first[b]; m < sums->first[b + 1]; m++) {
            const float *at = x + 3 * (size_t)sums->member[m];
            const double *p = sums->point + 4 * (size_t)m;
            for (size_t i = 0; i < 12; i++) {
                sum[i] += ((double)at[i / 4] - centre[i / 4]) * p[i % 4];
            }
        }
        for (size_t i = 0; i < 12; i++) {
            sums->c[(12 * b + i) * wide + f] = sum[i] / skin->unit;
        }
    }
}

static void square_of_frame(void *user, int f, int worker) {
    const Sums *sums = user;
    const Skin *skin = sums->skin;
    const float *x = skin->poses->frames + 3 * (size_t)f * (size_t)skin->vertices;
    double sum = 0;
    if (worker == 0) {
        call_poll(sums->call, -1);
    }
    for (size_t i = 0; i < 3 * (size_t)skin->vertices; i++) {
        const double d = ((double)x[i] - skin->frame_centre[3 * (size_t)f + i % 3]) / skin->unit;
        sum += d * d;
    }
    sums->square[f] = sum;
}

static int take_sums(Sums *sums) {
    Arena *arena = &sums->call->arena;
    const size_t bones = (size_t)sums->skin->bones, wide = (size_t)sums->skin->wide;
    const size_t workers = (size_t)parallel_workers(sums->call->pool);
    sums->s = arena_take(arena, 16 * bones * bones, sizeof(double));
    sums->c = arena_take(arena, 12 * bones * wide, sizeof(double));
    sums->square = arena_take(arena, wide, sizeof(double));
    sums->pose = arena_take(arena, workers * 12 * bones, sizeof(double));
    if (arena->failed || !list_members(sums)) {
        return 0;
    }
    parallel_run(sums->call->pool, (int)bones, form_of_bone, sums);
    parallel_run(sums->call->pool, (int)(bones * (wide / SKIN_LANES)), pull_of_bone, sums);
    parallel_run(sums->call->pool, sums->skin->frames, square_of_frame, sums);
    return !call_poll(sums->call, -1);
}

/* ---- one frame ---- */

static const double *form(const Sums *sums, int b, int c) {
    return sums->s + 16 * ((size_t)b * (size_t)sums->skin->bones + (size_t)c);
}

/* What a bone moves: of one that only turns, by how far it is from the joint. */
static double mass(const Sums *sums, int b) {
    const double *s = form(sums, b, b);
    return hanging_turns(sums->hanging, b) ? s[0] + s[5] + s[10] : s[15];
}

/* to = sum_c T_c S_cb, without bone `but` */
static void blend_forms(const Sums *sums, const double *pose, int b, int but, double to[12]) {
    memset(to, 0, 12 * sizeof *to);
    for (int c = 0; c < sums->skin->bones; c++) {
        const double *s = form(sums, c, b), *t = pose + 12 * (size_t)c;
        for (int i = 0; i < 12 && c != but && mass(sums, c) > 0; i++) {
            const double *row = t + i / 4 * 4;
            to[i] +=
                row[0] * s[i % 4] + row[1] * s[4 + i % 4] + row[2] * s[8 + i % 4] + row[3] * s[12 + i % 4];
        }
    }
}

static double frame_error(const Sums *sums, const double *pose, int f) {
    const size_t wide = (size_t)sums->skin->wide;
    double error = sums->square[f];
    for (int b = 0; b < sums->skin->bones; b++) {
        double blend[12];
        blend_forms(sums, pose, b, -1, blend);
        for (size_t i = 0; i < 12; i++) {
            const double c = sums->c[(12 * (size_t)b + i) * wide + (size_t)f];
            error += pose[12 * (size_t)b + i] * (blend[i] - 2 * c);
        }
    }
    return error;
}

/* What the others leave to a bone: H */
static void left_for_bone(const Sums *sums, const double *pose, int f, int b, double h[12]) {
    const size_t wide = (size_t)sums->skin->wide;
    blend_forms(sums, pose, b, b, h);
    for (size_t i = 0; i < 12; i++) {
        h[i] = sums->c[(12 * (size_t)b + i) * wide + (size_t)f] - h[i];
    }
}

static void fit_rigid(const double s[16], const double h[12], double t[12]) {
    const double m = s[15];
    double g[9], r[9];
    for (int i = 0; i < 9; i++) {
        g[i] = h[i / 3 * 4 + i % 3] - h[i / 3 * 4 + 3] * s[12 + i % 3] / m; /* H3 - h a' / m */
        r[i] = t[i / 3 * 4 + i % 3];
    }
    rotation3_nearest(g, r, r);
    for (int i = 0; i < 3; i++) {
        const double *row = r + 3 * i;
        memcpy(t + 4 * i, row, 3 * sizeof *row);
        t[4 * i + 3] =
            (h[4 * i + 3] - row[0] * s[12] - row[1] * s[13] - row[2] * s[14]) / m; /* (h - R a) / m */
    }
}

/* About the joint alone. */
static void fit_turn(const double h[12], double t[12]) {
    double g[9], r[9];
    for (int i = 0; i < 9; i++) {
        g[i] = h[i / 3 * 4 + i % 3];
        r[i] = t[i / 3 * 4 + i % 3];
    }
    rotation3_nearest(g, r, r);
    for (int i = 0; i < 9; i++) {
        t[i / 3 * 4 + i % 3] = r[i];
    }
}

/* H S^-1, held back where S says nothing */
static void fit_flexible(const double s[16], const double h[12], double t[12]) {
    const double stiff = STIFF * (s[0] + s[5] + s[10] + s[15]) / 4;
    double a[16], b[12];
    memcpy(a, s, sizeof a);
    for (int i = 0; i < 4; i++) {
        a[5 * i] += stiff;
    }
    for (int i = 0; i < 12; i++) {
        b[i] = h[i] + stiff * t[i];
    }
    if (!positive_solve(4, a, 3, b)) {
        memcpy(t, b, sizeof b);
    }
}

static void sweep(const Sums *sums, double *pose, int f) {
    const Skin *skin = sums->skin;
    const uint8_t *held = sums->rig->held_transforms;
    for (int b = 0; b < skin->bones; b++) {
        const double *s = form(sums, b, b);
        double h[12];
        if (!(mass(sums, b) > LIGHTEST * skin->vertices) ||
            (held && held[(size_t)f * (size_t)skin->bones + (size_t)b])) {
            continue;
        }
        left_for_bone(sums, pose, f, b, h);
        if (hanging_turns(sums->hanging, b)) {
            fit_turn(h, pose + 12 * (size_t)b);
        } else if (sums->call->settings->bone_kind == OSSIFY_FLEXIBLE) {
            fit_flexible(s, h, pose + 12 * (size_t)b);
        } else {
            fit_rigid(s, h, pose + 12 * (size_t)b);
        }
    }
}

static void solve_frame(void *user, int f, int worker) {
    const Sums *sums = user;
    const Skin *skin = sums->skin;
    const size_t numbers = 12 * (size_t)skin->bones, wide = (size_t)skin->wide;
    double *pose = sums->pose + (size_t)worker * numbers;
    for (size_t i = 0; i < numbers; i++) {
        pose[i] = skin->transform[i * wide + (size_t)f];
    }
    hanging_release(sums->hanging, pose);
    double before = frame_error(sums, pose, f);
    for (int i = 1; i <= sums->sweeps; i++) {
        if (worker == 0 && call_poll(sums->call, -1)) {
            return;
        }
        sweep(sums, pose, f);
        if (i % LOOKS == 0) {
            const double now = frame_error(sums, pose, f);
            if (!(before - now > FRAME_STILL * now)) {
                break;
            }
            before = now;
        }
    }
    hanging_hang(sums->hanging, pose);
    for (size_t i = 0; i < numbers; i++) {
        skin->transform[i * wide + (size_t)f] = pose[i];
    }
}

int bones_solve(Call *call, Skin *skin, const Coordinates *coordinates, const ossify_rig *rig,
                const Hanging *hanging, int sweeps) {
    Sums sums = {.call = call,
                 .skin = skin,
                 .coordinates = coordinates,
                 .rig = rig,
                 .hanging = hanging,
                 .sweeps = sweeps};
    ArenaPiece *mark = arena_mark(&call->arena);
    int made = take_sums(&sums);
    if (made) {
        hanging_join(hanging, skin->wide, sums.s, sums.c);
        parallel_run(call->pool, skin->frames, solve_frame, &sums);
        made = !call_poll(call, -1);
    }
    arena_return(&call->arena, mark);
    return made;
}

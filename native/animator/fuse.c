/* fuse.c - which of many free bones move one part that an animator would rig.
 *
 * A body that bends everywhere has no number of parts: the least error always asks for one bone more, and spends it on
 * cloth and muscles. What an animator wants is a bone for every joint that is worth having. So bones are fused, the
 * cheapest pair first. With rho the squared error of the best rigid motions of what a group owns (the vertices on which
 * it is strongest, by area; Schaefer & Yuksel 2007, Eq. 2-4, starts/rigid_error.c), two groups cost
 *
 *     delta(b, c) = 100 / size sqrt[(rho(b u c) - rho(b) - rho(c)) / (F area of the smaller)]
 *
 * percent of the size: how far the smaller would be off were it moved by the union. They are fused while
 *
 *     delta < t g,    t = 4 times the error that all bones leave, within 0.5 and 1.05 %
 *
 * g is for cloth and muscle: with A = |sum n| / sum |n| of the normals owned, 0 for a sleeve around a limb and 1 for a
 * flat patch, a smaller group s that is a patch, and that makes its union more of a sleeve, may cost more:
 *     g = 1 + 2 clip((A_s - 0.3) / 0.4, 0, 1)  if A_union < A_s - 0.05,  else 1.
 * Only groups that share surface are fused. Those of hardly any area always go to one that they share surface with.
 * The papers have no such rule: a fixed tolerance, or one relative to a part's own error, took true joints away. */
#include "animator/animator.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/evaluate.h"
#include "core/problem.h"
#include "core/sentence.h"
#include "skeleton/body.h"
#include "starts/rigid_error.h"

static const double ALLOWED = 4;             /* of the error that all bones leave, */
static const double LEAST_ALLOWED = 0.5;     /* percent of the size, */
static const double MOST_ALLOWED = 1.05;     /* likewise */
static const double SHARES = 0.02;           /* of the smaller group: groups that share less are apart */
static const double TINY_GROUP = 0.003;      /* of the surface: no bone is worth having for that */
static const double TINY_GROUP_PRICE = 1e-6; /* it goes before all others, to whom it costs least */
static const double PATCH_BEGINS = 0.3,
                    PATCH_FLAT = 0.7;  /* |sum n| / sum |n| from which, and from which all, is a patch */
static const double ROUNDER = 0.05;    /* a union that is so much more of a sleeve */
static const double PATCH_ALLOWED = 2; /* a flat patch may cost so much more */

typedef struct Fusing {
    Call *call;
    Problem problem;
    Body body;
    RigidErrors errors;
    int bones, groups;
    double allowed;  /* percent of the size */
    double size;     /* of the rest's box, in the problem's lengths */
    double surface;  /* all area */
    double *weight;  /* [v][bones] by group */
    double *mass;    /* [bones] area by weight */
    double *owned;   /* [bones] area on which it is strongest */
    double *normal;  /* [bones][3] sum of the normals there, */
    double *normals; /* [bones] and of their lengths */
    double *error;   /* [bones] rho */
    double *price;   /* [bones][bones] of fusing two groups; 1: just allowed */
    int *group;      /* [bones] the group that a bone is in: its first bone */
    double *single;  /* [bones] area that the bone alone owned */
} Fusing;

static int take(Fusing *fusing, size_t vertices) {
    Arena *arena = &fusing->call->arena;
    const size_t b = (size_t)fusing->bones;
    fusing->weight = arena_take(arena, vertices * b, sizeof(double));
    fusing->mass = arena_take(arena, b, sizeof(double));
    fusing->owned = arena_take(arena, b, sizeof(double));
    fusing->single = arena_take(arena, b, sizeof(double));
    fusing->normal = arena_take(arena, 3 * b, sizeof(double));
    fusing->normals = arena_take(arena, b, sizeof(double));
    fusing->error = arena_take(arena, b, sizeof(double));
    fusing->price = arena_take(arena, b * b, sizeof(double));
    fusing->group = arena_take(arena, b, sizeof(int));
    return rigid_error_make(fusing->call, fusing->bones, fusing->problem.frames, &fusing->errors);
}

/* Weights by bone, and what it is strongest on. */
static void spread_weights(Fusing *fusing, const ossify_rig *rig) {
    const size_t wide = (size_t)rig->influences, bones = (size_t)fusing->bones;
    for (size_t v = 0; v < (size_t)fusing->body.vertices; v++) {
        double *row = fusing->weight + v * bones;
        for (size_t k = 0; k < wide; k++) {
            if (rig->influence_bones[v * wide + k] >= 0) {
                row[rig->influence_bones[v * wide + k]] += (double)rig->influence_weights[v * wide + k];
            }
        }
        for (size_t b = 0; b < bones; b++) {
            fusing->mass[b] += fusing->body.area[v] * row[b];
        }
        fusing->owned[fusing->body.owner[v]] += fusing->body.area[v];
        fusing->surface += fusing->body.area[v];
    }
    memcpy(fusing->single, fusing->owned, bones * sizeof(double));
}

static void add_normals(Fusing *fusing, const ossify_poses *poses) {
    for (int64_t t = 0; t < poses->triangle_count; t++) {
        const int32_t *corner = poses->triangles + 3 * t;
        const double *p = fusing->body.rest + 3 * (size_t)corner[0],
                     *q = fusing->body.rest + 3 * (size_t)corner[1],
                     *r = fusing->body.rest + 3 * (size_t)corner[2];
        const double u[3] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]},
                     v[3] = {r[0] - p[0], r[1] - p[1], r[2] - p[2]};
        const double n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
        const double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (int k = 0; k < 3; k++) {
            const int b = fusing->body.owner[corner[k]];
            fusing->normals[b] += length;
            for (int i = 0; i < 3; i++) {
                fusing->normal[3 * b + i] += n[i];
            }
        }
    }
}

/* 0 when the call must end. */
static int add_motion(Fusing *fusing) {
    const Problem *problem = &fusing->problem;
    double *x = arena_take(&fusing->call->arena, 3 * (size_t)problem->frames, sizeof *x);
    for (int v = 0; v < problem->vertices && x; v++) {
        if (v % BLOCK == 0 && call_poll(fusing->call, -1)) {
            return 0;
        }
        const int from = problem->caller[v];
        problem_read(problem, v, x);
        rigid_error_add(&fusing->errors, fusing->body.owner[from], fusing->body.area[from],
                        problem->rest + 3 * (size_t)v, x);
    }
    for (int b = 0; b < fusing->bones && x; b++) {
        rigid_error_fit(&fusing->errors, b);
        fusing->error[b] = rigid_error(&fusing->errors, b, -1);
    }
    arena_give(&fusing->call->arena, x);
    return x != NULL;
}

/* Of the smaller group's surface, what both move. */
static double shared(const Fusing *fusing, int b, int c) {
    const size_t bones = (size_t)fusing->bones;
    const double smaller = fmin(fusing->mass[b], fusing->mass[c]);
    double sum = 0;
    for (size_t v = 0; v < (size_t)fusing->body.vertices; v++) {
        const double *row = fusing->weight + v * bones;
        sum += fusing->body.area[v] * fmin(row[b], row[c]);
    }
    return smaller > 0 ? sum / smaller : 1;
}

static double flatness(const double n[3], double all) {
    return all > 0 ? sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) / all : 0;
}

/* g */
static double leniency(const Fusing *fusing, int small, int other) {
    const double *m = fusing->normal + 3 * (size_t)small, *n = fusing->normal + 3 * (size_t)other;
    const double sum[3] = {m[0] + n[0], m[1] + n[1], m[2] + n[2]};
    const double own = flatness(m, fusing->normals[small]);
    const double both = flatness(sum, fusing->normals[small] + fusing->normals[other]);
    return both < own - ROUNDER
               ? 1 + PATCH_ALLOWED * fmin(fmax((own - PATCH_BEGINS) / (PATCH_FLAT - PATCH_BEGINS), 0), 1)
               : 1;
}

static double price_of(const Fusing *fusing, int b, int c) {
    const int small = fusing->owned[b] <= fusing->owned[c] ? b : c, other = small == b ? c : b;
    const double area = fusing->owned[small], overlap = shared(fusing, b, c);
    const int tiny = area < TINY_GROUP * fusing->surface;
    if (overlap < SHARES && !tiny) {
        return INFINITY;
    }
    const double rise = rigid_error(&fusing->errors, b, c) - fusing->error[b] - fusing->error[c];
    const double delta =
        area > 0 ? 100 / fusing->size * sqrt(fmax(rise, 0) / (fusing->problem.frames * area)) : 0;
    const double price = delta / (fusing->allowed * leniency(fusing, small, other));
    return tiny && overlap >= SHARES ? TINY_GROUP_PRICE * price : price;
}

static double *price_at(const Fusing *fusing, int b, int c) {
    return fusing->price + (size_t)b * (size_t)fusing->bones + (size_t)c;
}

static void price_all_of(const Fusing *fusing, int b) {
    for (int c = 0; c < fusing->bones; c++) {
        const int is_pair = c != b && fusing->group[c] == c;
        *price_at(fusing, b, c) = *price_at(fusing, c, b) = is_pair ? price_of(fusing, b, c) : INFINITY;
    }
}

static void fuse(Fusing *fusing, int into, int from) {
    const size_t bones = (size_t)fusing->bones;
    rigid_error_merge(&fusing->errors, into, from);
    fusing->error[into] = rigid_error(&fusing->errors, into, -1);
    fusing->mass[into] += fusing->mass[from];
    fusing->owned[into] += fusing->owned[from];
    fusing->normals[into] += fusing->normals[from];
    for (int i = 0; i < 3; i++) {
        fusing->normal[3 * into + i] += fusing->normal[3 * from + i];
    }
    for (size_t v = 0; v < (size_t)fusing->body.vertices; v++) {
        fusing->weight[v * bones + (size_t)into] += fusing->weight[v * bones + (size_t)from];
    }
    for (int b = 0; b < fusing->bones; b++) {
        fusing->group[b] = fusing->group[b] == from ? into : fusing->group[b];
        *price_at(fusing, b, from) = *price_at(fusing, from, b) = INFINITY;
    }
    fusing->groups--;
    price_all_of(fusing, into);
}

/* The cheapest pair, the first of several; its price. */
static double cheapest(const Fusing *fusing, int *into, int *from) {
    double least = INFINITY;
    for (int b = 0; b < fusing->bones; b++) {
        for (int c = b + 1; c < fusing->bones; c++) {
            if (*price_at(fusing, b, c) < least) {
                least = *price_at(fusing, b, c);
                *into = b;
                *from = c;
            }
        }
    }
    return least;
}

/* To `count` groups, or with 0 while it is cheap; 0 when the call must end. */
static int fuse_all(Fusing *fusing, int count) {
    for (int b = 0; b < fusing->bones; b++) {
        if (call_poll(fusing->call, 0.3 + 0.6 * b / fusing->bones)) {
            return 0;
        }
        price_all_of(fusing, b);
    }
    int into = 0, from = 0;
    for (double price = cheapest(fusing, &into, &from);
         fusing->groups > (count > 0 ? count : 1) && (count > 0 ? isfinite(price) : price < 1);
         price = cheapest(fusing, &into, &from)) {
        fuse(fusing, into, from);
        if (call_poll(fusing->call, -1)) {
            return 0;
        }
    }
    return 1;
}

/* Of each group the bone that owned most leads. */
static void write_leaders(const Fusing *fusing, ossify_groups *groups) {
    for (int b = 0; b < fusing->bones; b++) {
        int leader = fusing->group[b];
        for (int c = 0; c < fusing->bones; c++) {
            if (fusing->group[c] == fusing->group[b] && fusing->single[c] > fusing->single[leader]) {
                leader = c;
            }
        }
        groups->leaders[b] = leader;
    }
    groups->count = fusing->groups;
}

/* Root mean square distance, percent of the size; < 0 when the call must end. */
static double left_over(Call *call, const ossify_poses *poses, const ossify_rig *rig) {
    ossify_evaluation evaluation = {.struct_size = sizeof evaluation};
    ArenaPiece *mark = arena_mark(&call->arena);
    Measure *measure = evaluate_take(call, poses, rig->bones);
    const int done = measure && evaluate(call, measure, poses, rig, NULL, &evaluation) >= 0;
    arena_return(&call->arena, mark);
    return done ? 100 * evaluation.rms / (evaluation.diagonal > 0 ? evaluation.diagonal : 1) : -1;
}

int animator_refuses_fuse(const ossify_request *request, ossify_info *info) {
    const ossify_fusion *fusion = request->options;
    const ossify_groups *groups = request->result;
    return sentence_bad_range(info, "fusion.count", fusion->count, 0, OSSIFY_MAX_BONES) ||
           sentence_bad_array(info, "groups.leaders", groups->leaders, sizeof(int32_t), "[rig.bones]");
}

int64_t animator_fuse(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                      const ossify_fusion *fusion, ossify_groups *groups) {
    Fusing fusing = {.call = call, .bones = (int)rig->bones, .groups = (int)rig->bones};
    Placement placement;
    call_stage(call, OSSIFY_STAGE_SKELETON);
    const double percent = left_over(call, poses, rig);
    if (percent < 0 ||
        !problem_prepare(call, poses, poses->rest ? poses->rest : rig->rest, rig, &fusing.problem,
                         &placement) ||
        !body_make(call, poses, rig, &fusing.body) || !take(&fusing, (size_t)poses->vertex_count)) {
        return call_ended(call);
    }
    fusing.allowed = fmin(fmax(ALLOWED * percent, LEAST_ALLOWED), MOST_ALLOWED);
    fusing.size = fusing.body.unit / placement.unit;
    for (int b = 0; b < fusing.bones; b++) {
        fusing.group[b] = b;
    }
    spread_weights(&fusing, rig);
    add_normals(&fusing, poses);
    if (!add_motion(&fusing) || !fuse_all(&fusing, (int)fusion->count)) {
        return call_ended(call);
    }
    write_leaders(&fusing, groups);
    return OSSIFY_CONVERGED;
}

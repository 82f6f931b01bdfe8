/* body.c - a rig as bodies: how they move, where they are and what surface they share.
 *
 * Everything about motion is in one Gram matrix, 1/F sum_f M[b]' M[c] over all pairs of bones: one
 * matrix product. Everything about place is gathered in one pass over the vertices, weighed by the area
 * around each (a vertex counts as 1 where there are no faces). */
#include "skeleton/body.h"

#include <math.h>
#include <string.h>

#include "math/product.h"

enum { FRAMES_AT_ONCE = 64 };

static const double SHARED = 1e-6; /* of the smaller bone: less is no boundary */

static void place_rest(const ossify_rig *rig, Body *body) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, square = 0;
    for (size_t i = 0; i < 3 * (size_t)body->vertices; i++) {
        low[i % 3] = fmin(low[i % 3], (double)rig->rest[i]);
        high[i % 3] = fmax(high[i % 3], (double)rig->rest[i]);
    }
    for (int a = 0; a < 3; a++) {
        body->origin[a] = 0.5 * (low[a] + high[a]);
        square += (high[a] - low[a]) * (high[a] - low[a]);
    }
    body->unit = square > 0 ? sqrt(square) : 1;
    for (size_t i = 0; i < 3 * (size_t)body->vertices; i++) {
        body->rest[i] = ((double)rig->rest[i] - body->origin[i % 3]) / body->unit;
    }
}

/* A third of each triangle to each of its corners. */
static void weigh_vertices(const ossify_poses *poses, Body *body) {
    double all = 0;
    for (int64_t t = 0; t < poses->triangle_count; t++) {
        const int32_t *corner = poses->triangles + 3 * t;
        const double *p = body->rest + 3 * (size_t)corner[0], *q = body->rest + 3 * (size_t)corner[1],
                     *r = body->rest + 3 * (size_t)corner[2];
        const double u[3] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]},
                     v[3] = {r[0] - p[0], r[1] - p[1], r[2] - p[2]};
        const double x = u[1] * v[2] - u[2] * v[1], y = u[2] * v[0] - u[0] * v[2],
                     z = u[0] * v[1] - u[1] * v[0];
        const double third = sqrt(x * x + y * y + z * z) / 6;
        for (int k = 0; k < 3; k++) {
            body->area[corner[k]] += third;
        }
        all += 3 * third;
    }
    /* loose vertices and edges have no area, yet they are there */
    const double least = all > 0 ? 1e-3 * all / body->vertices : 1;
    for (int v = 0; v < body->vertices; v++) {
        body->area[v] += least;
    }
}

/* Both sides centred: the translations stay small, and so does what is lost in their squares. */
static void read_transforms(const ossify_rig *rig, const Body *body, size_t frame, double *m) {
    const size_t bones = (size_t)body->bones, row = 4 * bones;
    const double *from = rig->transforms + 12 * frame * (size_t)rig->bone_capacity;
    for (size_t i = 0; i < 3; i++) {
        double mean = 0;
        for (size_t b = 0; b < bones; b++) {
            const double *f = from + 12 * b + 4 * i;
            double *to = m + i * row + 4 * b;
            memcpy(to, f, 3 * sizeof *to);
            to[3] = f[0] * body->origin[0] + f[1] * body->origin[1] + f[2] * body->origin[2] + f[3];
            mean += to[3] / (double)bones;
        }
        for (size_t b = 0; b < bones; b++) {
            m[i * row + 4 * b + 3] = (m[i * row + 4 * b + 3] - mean) / body->unit;
        }
    }
}

static void add_turns(const Body *body, const double *m) {
    const size_t row = 4 * (size_t)body->bones;
    for (size_t b = 0; b < (size_t)body->bones; b++) {
        for (size_t i = 0; i < 9; i++) {
            const double off = m[i / 3 * row + 4 * b + i % 3] - (i % 4 == 0);
            body->turn[b] += off * off / body->frames;
        }
    }
}

static int gather_motion(Call *call, const ossify_rig *rig, Body *body) {
    const int n = 4 * body->bones;
    const int most = body->frames < FRAMES_AT_ONCE ? body->frames : FRAMES_AT_ONCE;
    double *m = arena_take(&call->arena, 3 * (size_t)most * (size_t)n, sizeof *m);
    if (!m) {
        return 0;
    }
    for (int f = 0; f < body->frames && !call_poll(call, -1); f += most) {
        const int count = body->frames - f < most ? body->frames - f : most;
        for (int i = 0; i < count; i++) {
            read_transforms(rig, body, (size_t)(f + i), m + 3 * (size_t)i * (size_t)n);
            add_turns(body, m + 3 * (size_t)i * (size_t)n);
        }
        product_tn(n, n, 3 * count, m, (size_t)n, m, (size_t)n, body->gram, (size_t)n);
    }
    for (size_t i = 0; i < (size_t)n * (size_t)n; i++) {
        body->gram[i] /= body->frames;
    }
    arena_give(&call->arena, m);
    return !atomic_load(&call->cancelled);
}

static void add_shared(Body *body, int v, int b, int c, double least) {
    const size_t bones = (size_t)body->bones;
    for (int way = 0; way < 2; way++) {
        const size_t pair = way ? (size_t)c * bones + (size_t)b : (size_t)b * bones + (size_t)c;
        body->overlap[pair] += least;
        for (size_t a = 0; a < 3; a++) {
            body->boundary[3 * pair + a] += least * body->rest[3 * (size_t)v + a];
        }
    }
}

/* The weights of all others where a bone is strongest. */
static void add_beside(const ossify_rig *rig, Body *body, int v) {
    const size_t wide = (size_t)rig->influences, bones = (size_t)body->bones;
    const int32_t *bone = rig->influence_bones + (size_t)v * wide;
    const float *weight = rig->influence_weights + (size_t)v * wide;
    size_t most = 0;
    for (size_t k = 1; k < wide; k++) {
        most = bone[k] >= 0 && (bone[most] < 0 || weight[k] > weight[most]) ? k : most;
    }
    body->owner[v] = bone[most] < 0 ? 0 : bone[most];
    for (size_t k = 0; k < wide; k++) {
        if (k != most && bone[k] >= 0 && bone[k] != bone[most]) {
            const size_t b = (size_t)bone[k], c = (size_t)bone[most];
            body->beside[b * bones + c] += body->area[v] * (double)weight[k];
            body->beside[c * bones + b] = body->beside[b * bones + c];
        }
    }
}

static void gather_surface(const ossify_rig *rig, Body *body) {
    const size_t wide = (size_t)rig->influences;
    for (int v = 0; v < body->vertices; v++) {
        const int32_t *bone = rig->influence_bones + (size_t)v * wide;
        const float *weight = rig->influence_weights + (size_t)v * wide;
        add_beside(rig, body, v);
        for (size_t k = 0; k < wide; k++) {
            const double w = body->area[v] * (double)weight[k];
            if (bone[k] < 0 || !(w > 0)) {
                continue;
            }
            body->mass[bone[k]] += w;
            for (size_t a = 0; a < 3; a++) {
                body->centre[3 * (size_t)bone[k] + a] += w * body->rest[3 * (size_t)v + a];
            }
            for (size_t l = 0; l < k; l++) {
                if (bone[l] >= 0) {
                    add_shared(body, v, bone[k], bone[l], fmin(w, body->area[v] * (double)weight[l]));
                }
            }
        }
    }
}

static void finish_places(Body *body) {
    const size_t bones = (size_t)body->bones;
    for (size_t b = 0; b < bones; b++) {
        for (size_t a = 0; a < 3 && body->mass[b] > 0; a++) {
            body->centre[3 * b + a] /= body->mass[b];
        }
    }
    for (size_t b = 0; b < bones; b++) {
        for (size_t c = 0; c < bones; c++) {
            const size_t pair = b * bones + c;
            const double shared = body->overlap[pair];
            const int touch = shared > SHARED * fmin(body->mass[b], body->mass[c]);
            for (size_t a = 0; a < 3; a++) {
                body->boundary[3 * pair + a] =
                    touch ? body->boundary[3 * pair + a] / shared
                          : 0.5 * (body->centre[3 * b + a] + body->centre[3 * c + a]);
            }
        }
    }
}

int body_make(Call *call, const ossify_poses *poses, const ossify_rig *rig, Body *body) {
    Arena *arena = &call->arena;
    const size_t bones = (size_t)rig->bones, vertices = (size_t)poses->vertex_count;
    *body = (Body){
        .bones = (int)rig->bones, .frames = (int)poses->frame_count, .vertices = (int)poses->vertex_count};
    body->rig = rig;
    body->rest = arena_take(arena, 3 * vertices, sizeof(double));
    body->area = arena_take(arena, vertices, sizeof(double));
    body->owner = arena_take(arena, vertices, sizeof(int));
    body->gram = arena_take(arena, 16 * bones * bones, sizeof(double));
    body->turn = arena_take(arena, bones, sizeof(double));
    body->mass = arena_take(arena, bones, sizeof(double));
    body->centre = arena_take(arena, 3 * bones, sizeof(double));
    body->overlap = arena_take(arena, bones * bones, sizeof(double));
    body->beside = arena_take(arena, bones * bones, sizeof(double));
    body->boundary = arena_take(arena, 3 * bones * bones, sizeof(double));
    if (arena->failed) {
        return 0;
    }
    place_rest(rig, body);
    weigh_vertices(poses, body);
    if (!gather_motion(call, rig, body)) {
        return 0;
    }
    gather_surface(rig, body);
    finish_places(body);
    return 1;
}

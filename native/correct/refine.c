/* refine.c - weights and bones that suit the fields, because both were found for a rest pose that stands still.
 *
 * With p[f][v] = rest[v] + sum_n c[f][n] B[n][v] in place of the rest, each step is the one of the decomposition:
 *
 *   weights  min |sum_b w_b M[f][b] p~[f][v] - x[f][v]|^2 over the bones that a vertex has (Le & Deng 2012, Eq. 3)
 *   bones    Algorithm 2 and Eq. 6-10, with moments C and U of their own in every frame
 *   fields   layer.c
 *
 * Supports do not grow, so regions stay as they were. */
#include "correct/refine.h"

#include <math.h>
#include <string.h>

#include "descent/transforms.h"
#include "math/simplex_ls.h"

enum { REFINE_SWEEPS = 2 };

static const double ROUNDING = 1e-14;    /* of |x|^2: covers that of the Gram matrix */
static const double REFINE_FAINT = 1e-6; /* weights below are none */
static const double REFINE_FLAT = 5e-4;  /* of the error: a smaller fall is none */

typedef struct Scratch {
    double *x; /* [SKIN_BLOCK][3][wide] */
    double *p; /* [3][wide] */
    double *d; /* [influences][3][wide] M p~ - x */
    Model model;
    Moments moments;
} Scratch;

typedef struct Refine {
    Call *call;
    Skin *skin;
    const Layer *layer;
    const ossify_rig *rig;
    Sharing sharing;
    Scratch *scratch;
} Refine;

/* ---- weights ---- */

/* The corrected rest of a vertex in every frame. */
INSIDE void correct_rest(const Refine *refine, int v, double *restrict p) {
    const Layer *layer = refine->layer;
    const size_t wide = (size_t)refine->skin->wide, slots = (size_t)layer->fields + 1;
    for (size_t a = 0; a < 3; a++) {
        const double rest = refine->skin->rest[3 * (size_t)v + a];
        for (size_t f = 0; f < wide; f++) {
            p[a * wide + f] = rest;
        }
        for (size_t n = 0; n < slots; n++) {
            const double *c = layer->coefficient + n * wide;
            const double field = layer->field[3 * ((size_t)v * slots + n) + a];
            for (size_t f = 0; f < wide && field != 0; f++) {
                p[a * wide + f] += c[f] * field;
            }
        }
    }
}

/* d = M p~ - x of one bone */
INSIDE void miss_of_bone(const Skin *skin, int b, const double *restrict p, const double *restrict x,
                         double *restrict d) {
    const size_t wide = (size_t)skin->wide;
    const double *m = skin->transform + 12 * (size_t)b * wide;
    for (size_t a = 0; a < 3; a++, m += 4 * wide) {
        for (size_t f = 0; f < wide; f++) {
            d[a * wide + f] = m[f] * p[f] + m[wide + f] * p[wide + f] + m[2 * wide + f] * p[2 * wide + f] +
                              m[3 * wide + f] - x[a * wide + f];
        }
    }
}

INSIDE void solve_vertex(const Refine *refine, Scratch *s, int v, const double *x) {
    Skin *skin = refine->skin;
    const size_t wide = (size_t)skin->wide, k = (size_t)skin->influences;
    int *bone = skin->bone + (size_t)v * k;
    double *weight = skin->weight + (size_t)v * k, q[SIMPLEX_MAX * SIMPLEX_MAX], w[SIMPLEX_MAX];
    int count = 0, kept = 0;
    correct_rest(refine, v, s->p);
    for (; count < skin->influences && bone[count] >= 0; count++) {
        double *d = s->d + 3 * (size_t)count * wide;
        miss_of_bone(skin, bone[count], s->p, x, d);
        for (int i = 0; i <= count; i++) {
            q[count * SIMPLEX_MAX + i] = q[i * SIMPLEX_MAX + count] =
                skin_dot(d, s->d + 3 * (size_t)i * wide, 3 * wide);
        }
        w[count] = weight[count];
    }
    const double square = skin_dot(x, x, 3 * wide) + skin->frames;
    simplex_ls(count, q, ROUNDING * square, w);
    for (int i = 0; i < count; i++) {
        if (w[i] > REFINE_FAINT) {
            bone[kept] = bone[i];
            weight[kept++] = w[i];
        }
    }
    for (int i = kept; i < skin->influences; i++) {
        bone[i] = -1;
        weight[i] = 0;
    }
}

INSIDE void solve_weights(const Refine *refine, int block, int worker) {
    const Skin *skin = refine->skin;
    Scratch *s = &refine->scratch[worker];
    if (atomic_load(&refine->call->cancelled) || (worker == 0 && call_poll(refine->call, -1))) {
        return;
    }
    const int count = skin_read(skin, block, s->x);
    for (int i = 0; i < count; i++) {
        const int v = block * SKIN_BLOCK + i;
        if (!skin_keeps_weights(skin, refine->rig, v)) {
            solve_vertex(refine, s, v, s->x + 3 * (size_t)i * (size_t)skin->wide);
        }
    }
}

static void weights_of_block(void *user, int block, int worker) {
    solve_weights(user, block, worker);
}

WIDE static void weights_of_block_wide(void *user, int block, int worker) {
    solve_weights(user, block, worker);
}

/* ---- bones ---- */

/* x and the corrected rest of a vertex in one frame */
static void place_vertex(const Refine *refine, int f, int v, double x[3], double p[3]) {
    const Skin *skin = refine->skin;
    const Layer *layer = refine->layer;
    const size_t wide = (size_t)skin->wide, slots = (size_t)layer->fields + 1;
    const float *from = skin->poses->frames + 3 * ((size_t)f * (size_t)skin->vertices + (size_t)v);
    const double *field = layer->field + 3 * (size_t)v * slots;
    for (int a = 0; a < 3; a++) {
        x[a] = ((double)from[a] - skin->frame_centre[3 * f + a]) / skin->unit;
        p[a] = skin->rest[3 * (size_t)v + (size_t)a];
    }
    for (size_t n = 0; n < slots; n++, field += 3) {
        const double c = layer->coefficient[n * wide + (size_t)f];
        p[0] += c * field[0], p[1] += c * field[1], p[2] += c * field[2];
    }
}

/* C += w x p~',  U += w_b w_c p~ p~' */
static void add_vertex(const Refine *refine, Scratch *s, int v, const double x[3], const double p[3]) {
    const Skin *skin = refine->skin;
    const size_t k = (size_t)skin->influences, bones = (size_t)skin->bones;
    const int *bone = skin->bone + (size_t)v * k;
    const double *weight = skin->weight + (size_t)v * k;
    const double monomial[MONOMIALS] = {p[0] * p[0], p[1] * p[1], p[2] * p[2], p[0] * p[1], p[0] * p[2],
                                        p[1] * p[2], p[0],        p[1],        p[2],        1};
    for (size_t i = 0; i < k && bone[i] >= 0; i++) {
        double *c = s->moments.c + 4 * (size_t)bone[i];
        for (size_t a = 0; a < 3; a++, c += 4 * bones) {
            const double wx = weight[i] * x[a];
            c[0] += wx * p[0], c[1] += wx * p[1], c[2] += wx * p[2], c[3] += wx;
        }
        for (size_t j = 0; j < k && bone[j] >= 0; j++) {
            double *u = s->moments.u + ((size_t)bone[i] * bones + (size_t)bone[j]) * MONOMIALS;
            const double ww = weight[i] * weight[j];
            for (size_t m = 0; m < MONOMIALS; m++) {
                u[m] += ww * monomial[m];
            }
        }
    }
}

static void read_frame(const Refine *refine, Scratch *s, int f) {
    const size_t bones = (size_t)refine->skin->bones, wide = (size_t)refine->skin->wide;
    for (size_t b = 0; b < bones; b++) {
        const double *m = refine->skin->transform + 12 * b * wide + (size_t)f;
        for (size_t i = 0; i < 12; i++) {
            s->model.transform[i / 4 * 4 * bones + 4 * b + i % 4] = m[i * wide];
        }
        s->model.held[b] =
            refine->rig->held_transforms && refine->rig->held_transforms[(size_t)f * bones + b];
    }
}

static void write_frame(const Refine *refine, const Scratch *s, int f) {
    const size_t bones = (size_t)refine->skin->bones, wide = (size_t)refine->skin->wide;
    for (size_t b = 0; b < bones; b++) {
        double *m = refine->skin->transform + 12 * b * wide + (size_t)f;
        for (size_t i = 0; i < 12; i++) {
            m[i * wide] = s->model.transform[i / 4 * 4 * bones + 4 * b + i % 4];
        }
    }
}

static void bones_of_frame(void *user, int f, int worker) {
    const Refine *refine = user;
    Scratch *s = &refine->scratch[worker];
    const size_t bones = (size_t)refine->skin->bones;
    const int flexible = refine->call->settings->bone_kind == OSSIFY_FLEXIBLE;
    if (atomic_load(&refine->call->cancelled) || (worker == 0 && call_poll(refine->call, -1))) {
        return;
    }
    memset(s->moments.c, 0, 12 * bones * sizeof(double));
    memset(s->moments.u, 0, bones * bones * MONOMIALS * sizeof(double));
    for (int v = 0; v < refine->skin->vertices; v++) {
        double x[3], p[3];
        place_vertex(refine, f, v, x, p);
        add_vertex(refine, s, v, x, p);
    }
    read_frame(refine, s, f);
    for (int sweep = 0; sweep < REFINE_SWEEPS; sweep++) {
        (flexible ? transforms_sweep_flexible : transforms_sweep)(&s->model, &s->moments, refine->sharing, 0);
    }
    write_frame(refine, s, f);
}

/* Bones that have vertices in common; supports never grow, so once is enough. */
static int make_sharing(Refine *refine) {
    const Skin *skin = refine->skin;
    Scratch *s = &refine->scratch[0];
    for (int v = 0; v < skin->vertices; v++) {
        add_vertex(refine, s, v, skin->rest + 3 * (size_t)v, skin->rest + 3 * (size_t)v);
    }
    return transforms_share(&refine->call->arena, &s->model, &s->moments, &refine->sharing);
}

/* ---- rounds ---- */

static int make_scratch(Arena *arena, const Skin *skin, Scratch *s) {
    const size_t wide = (size_t)skin->wide, bones = (size_t)skin->bones;
    s->x = arena_take(arena, 3 * SKIN_BLOCK * wide, sizeof(double));
    s->p = arena_take(arena, 3 * wide, sizeof(double));
    s->d = arena_take(arena, 3 * (size_t)skin->influences * wide, sizeof(double));
    s->moments.c = arena_take(arena, 12 * bones, sizeof(double));
    s->moments.u = arena_take(arena, bones * bones * MONOMIALS, sizeof(double));
    s->model.bones = s->model.capacity = skin->bones;
    s->model.transform = arena_take(arena, 12 * bones, sizeof(double));
    s->model.held = arena_take(arena, bones, 1);
    return !arena->failed;
}

static double round_of(Refine *refine, Layer *layer) {
    Call *call = refine->call;
    parallel_run(call->pool, refine->skin->blocks,
                 portable_is_wide() ? weights_of_block_wide : weights_of_block, refine);
    parallel_run(call->pool, refine->skin->frames, bones_of_frame, refine);
    layer_normalise(layer);
    return layer_sweep(call, layer, 0) ? layer_fit_coefficients(call, layer, layer->coefficient, 0) : -1;
}

double refine_run(Call *call, Skin *skin, Layer *layer, const ossify_rig *rig, int rounds) {
    ArenaPiece *mark = arena_mark(&call->arena);
    const int workers = parallel_workers(call->pool);
    Refine refine = {.call = call, .skin = skin, .layer = layer, .rig = rig};
    refine.scratch = arena_take(&call->arena, (size_t)workers, sizeof(Scratch));
    int ready = refine.scratch != NULL;
    for (int i = 0; i < workers && ready; i++) {
        ready = make_scratch(&call->arena, skin, &refine.scratch[i]);
    }
    ready = ready && make_sharing(&refine);
    double error = ready ? INFINITY : -1, last = INFINITY;
    for (int round = 0; round < rounds && error >= 0 && !(last - error <= REFINE_FLAT * error); round++) {
        last = error;
        error = round_of(&refine, layer);
    }
    arena_return(&call->arena, mark);
    return error;
}

/* modes.c - the principal components of what a rig misses, pulled back into the rest pose (EigenSkin, 3.2).
 *
 *     d = (L'L + lambda I)^-1 L'r,     G[f][g] = sum_v d[f][v]' d[g][v],     G c = c sigma^2
 *
 * Uncentred, because zero is what no corrective gives; through the Gram matrix of the frames, because there are fewer
 * frames than vertices. Where bones fold a surface L is nearly singular, and without lambda its vertices would outweigh
 * all others. Only coefficients are wanted, and only to start from: many vertices and frames are thinned evenly.
 * Around joints, each has components of its own, of its share of d (support.c), and the largest of all are taken. */
#include "correct/modes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "math/eigen.h"
#include "math/product.h"

enum {
    GRAM_FRAMES = 256, /* in a Gram matrix */
    MODE_LANES = 8,    /* partial sums of it */
    MODES_A_JOINT = 9  /* as many as a rotation has entries */
};

static const double DAMPING = 0.1;
static const double MOST_WORK = 5e8; /* multiplications in a Gram matrix */
static const double NOTHING = 1e-12; /* of the largest square: rounding */

typedef struct Gram {
    Call *call;
    const Layer *layer;
    const Support *support;
    int frames;     /* in the matrix */
    int *frame;     /* [frames] which */
    int step;       /* blocks */
    int most;       /* modes a matrix */
    double *matrix; /* [lanes or workers][frames][frames] */
    double *value;  /* [matrices][most] */
    double *vector; /* [matrices][most][frames] */
    struct Scratch *scratch;
} Gram;

typedef struct Scratch {
    SkinView view;
    double *x; /* [SKIN_BLOCK][3][wide] */
    double *d; /* [3 SKIN_BLOCK][frames] */
    double *room;
} Scratch;

/* d of one frame, times a share */
INSIDE void pull_back(const SkinView *view, size_t wide, size_t f, double share, double d[3]) {
    const double *q = view->q + f, *g = view->g + f;
    const double xx = q[0] + DAMPING, yy = q[wide] + DAMPING, zz = q[2 * wide] + DAMPING;
    const double xy = q[3 * wide], xz = q[4 * wide], yz = q[5 * wide];
    const double a = yy * zz - yz * yz, b = xz * yz - xy * zz, c = xy * yz - xz * yy; /* the adjugate */
    const double e = xx * zz - xz * xz, h = xy * xz - xx * yz, i = xx * yy - xy * xy;
    const double scale = share / (xx * a + xy * b + xz * c);
    d[0] = (a * g[0] + b * g[wide] + c * g[2 * wide]) * scale;
    d[1] = (b * g[0] + e * g[wide] + h * g[2 * wide]) * scale;
    d[2] = (c * g[0] + h * g[wide] + i * g[2 * wide]) * scale;
}

INSIDE void pull_vertex(const Gram *gram, Scratch *s, int v, const double *x, double share, double *rows) {
    const Layer *layer = gram->layer;
    const size_t wide = (size_t)layer->skin->wide, n = (size_t)gram->frames;
    const double *field = layer->field + 3 * (size_t)v * ((size_t)layer->fields + 1);
    skin_look(layer->skin, v, x, &s->view);
    for (int m = 0; m < layer->held; m++) {
        skin_take(&s->view, wide, layer->coefficient + (size_t)m * wide, field + 3 * m);
    }
    skin_square(&s->view, wide);
    skin_pull(&s->view, wide);
    for (size_t f = 0; f < n; f++) {
        double d[3];
        pull_back(&s->view, wide, (size_t)gram->frame[f], share, d);
        rows[f] = d[0], rows[n + f] = d[1], rows[2 * n + f] = d[2];
    }
}

/* Adds the vertices of a block to a matrix; joint -1: with all that they are. */
static void add_block(const Gram *gram, Scratch *s, int block, int joint, double *matrix) {
    const Layer *layer = gram->layer;
    const int count = skin_read(layer->skin, block, s->x), n = gram->frames;
    int rows = 0;
    for (int i = 0; i < count; i++) {
        const int v = block * SKIN_BLOCK + i;
        const double share = joint < 0 ? 1 : support_share(gram->support, layer->skin, v, joint);
        if (share > 0) {
            pull_vertex(gram, s, v, s->x + 3 * (size_t)i * (size_t)layer->skin->wide, share,
                        s->d + (size_t)rows * (size_t)n);
            rows += 3;
        }
    }
    if (rows > 0) {
        product_tn(n, n, rows, s->d, (size_t)n, s->d, (size_t)n, matrix, (size_t)n);
    }
}

static void fill_lane(void *user, int lane, int worker) {
    const Gram *gram = user;
    const size_t size = (size_t)gram->frames * (size_t)gram->frames;
    for (int block = lane * gram->step; block < gram->layer->skin->blocks; block += MODE_LANES * gram->step) {
        if (atomic_load(&gram->call->cancelled) || (worker == 0 && call_poll(gram->call, -1))) {
            return;
        }
        add_block(gram, &gram->scratch[worker], block, -1, gram->matrix + (size_t)lane * size);
    }
}

/* The largest modes of a matrix, which is destroyed; largest first. */
static void find_modes(const Gram *gram, Scratch *s, double *matrix, int at) {
    const size_t n = (size_t)gram->frames, most = (size_t)gram->most;
    double *value = gram->value + (size_t)at * most, *vector = gram->vector + (size_t)at * most * n;
    if (eigen_largest(gram->frames, matrix, gram->most, value, vector, s->room)) {
        memset(vector, 0, most * n * sizeof *vector);
        memset(value, 0, most * sizeof *value);
    }
}

static int touches(const Gram *gram, int block, int joint) {
    const Skin *skin = gram->layer->skin;
    int touched = 0;
    for (int v = block * SKIN_BLOCK; v < (block + 1) * SKIN_BLOCK && v < skin->vertices; v++) {
        touched |= support_share(gram->support, skin, v, joint) > 0;
    }
    return touched;
}

static void find_joint(void *user, int joint, int worker) {
    const Gram *gram = user;
    const size_t size = (size_t)gram->frames * (size_t)gram->frames;
    double *matrix = gram->matrix + (size_t)worker * size;
    memset(matrix, 0, size * sizeof *matrix);
    for (int block = 0; block < gram->layer->skin->blocks && support_has(gram->support, joint);
         block += gram->step) {
        if (atomic_load(&gram->call->cancelled) || (worker == 0 && call_poll(gram->call, -1))) {
            return;
        }
        if (touches(gram, block, joint)) {
            add_block(gram, &gram->scratch[worker], block, joint, matrix);
        }
    }
    find_modes(gram, &gram->scratch[worker], matrix, joint);
}

static void fill_whole(Gram *gram) {
    const size_t size = (size_t)gram->frames * (size_t)gram->frames;
    parallel_run(gram->call->pool, MODE_LANES, fill_lane, gram);
    for (size_t lane = 1; lane < MODE_LANES; lane++) {
        for (size_t i = 0; i < size; i++) {
            gram->matrix[i] += gram->matrix[lane * size + i];
        }
    }
    find_modes(gram, &gram->scratch[0], gram->matrix, 0);
}

/* The frames that are seen, evenly thinned if there are many. */
static void choose_frames(Gram *gram) {
    const Layer *layer = gram->layer;
    int seen = 0, taken = 0;
    for (int f = 0; f < layer->skin->frames; f++) {
        seen += !(layer->blind && layer->blind[f]);
    }
    const int most = seen < GRAM_FRAMES ? seen : GRAM_FRAMES;
    for (int f = 0, i = 0; f < layer->skin->frames; f++) {
        if (!(layer->blind && layer->blind[f])) {
            if ((int64_t)i++ * most / seen >= taken) {
                gram->frame[taken++] = f;
            }
        }
    }
    gram->frames = taken;
}

static int make_scratch(Call *call, const Gram *gram, Scratch *s) {
    Arena *arena = &call->arena;
    const size_t n = (size_t)gram->frames, wide = (size_t)gram->layer->skin->wide;
    s->x = arena_take(arena, 3 * SKIN_BLOCK * wide, sizeof(double));
    s->d = arena_take(arena, 3 * SKIN_BLOCK * n, sizeof(double));
    s->room = arena_take(arena, eigen_room((int)n), sizeof(double));
    return skin_view_make(arena, gram->layer->skin, &s->view) && !arena->failed;
}

static int make_gram(Call *call, Gram *gram, int matrices) {
    Arena *arena = &call->arena;
    const int workers = parallel_workers(call->pool);
    const size_t n = (size_t)gram->frames, most = (size_t)gram->most;
    gram->matrix = arena_take(arena, (size_t)(gram->support ? workers : MODE_LANES) * n * n, sizeof(double));
    gram->value = arena_take(arena, (size_t)matrices * most, sizeof(double));
    gram->vector = arena_take(arena, (size_t)matrices * most * n, sizeof(double));
    gram->scratch = arena_take(arena, (size_t)workers, sizeof *gram->scratch);
    int ready = !arena->failed;
    for (int i = 0; i < workers && ready; i++) {
        ready = make_scratch(call, gram, &gram->scratch[i]);
    }
    return ready;
}

typedef struct Place {
    double value;
    int at;
} Place;

static int compare_places(const void *a, const void *b) {
    const Place *x = a, *y = b;
    return x->value != y->value ? (x->value > y->value ? -1 : 1) : (x->at > y->at) - (x->at < y->at);
}

/* The largest of all matrices, as columns of all frames. */
static int take_largest(Gram *gram, int matrices, int wanted, Modes *modes) {
    const size_t n = (size_t)gram->frames, wide = (size_t)gram->layer->skin->wide;
    const int all = matrices * gram->most;
    Place *place = arena_take(&gram->call->arena, (size_t)all, sizeof *place);
    if (!place) {
        return 0;
    }
    for (int i = 0; i < all; i++) {
        place[i] = (Place){gram->value[i], i};
    }
    qsort(place, (size_t)all, sizeof *place, compare_places);
    for (int i = 0; i < all && i < wanted && place[i].value > NOTHING * place[0].value; i++) {
        const double *vector = gram->vector + (size_t)place[i].at * n;
        modes->joint[i] = gram->support ? place[i].at / gram->most : -1;
        for (size_t f = 0; f < n; f++) {
            modes->coefficient[(size_t)i * wide + (size_t)gram->frame[f]] = vector[f];
        }
        modes->count++;
    }
    return 1;
}

static int64_t thinning(const Gram *gram, int matrices) {
    const double rows = 3.0 * gram->layer->skin->vertices, n = gram->frames;
    return (int64_t)ceil(rows * n * n * (matrices > 1 ? 2 : 1) / MOST_WORK);
}

int modes_make(Call *call, const Layer *layer, const Support *support, int wanted, Modes *modes) {
    const int matrices = support ? layer->skin->bones : 1;
    Gram gram = {.call = call, .layer = layer, .support = support};
    modes->count = 0;
    modes->coefficient =
        arena_take(&call->arena, (size_t)wanted * (size_t)layer->skin->wide + 1, sizeof(double));
    modes->joint = arena_take(&call->arena, (size_t)wanted + 1, sizeof(int));
    ArenaPiece *mark = arena_mark(&call->arena);
    gram.frame = arena_take(&call->arena, (size_t)layer->skin->frames, sizeof(int));
    if (call->arena.failed) {
        return 0;
    }
    choose_frames(&gram);
    gram.most = wanted < gram.frames ? wanted : gram.frames;
    gram.most = support && gram.most > MODES_A_JOINT ? MODES_A_JOINT : gram.most;
    gram.step = (int)thinning(&gram, matrices);
    gram.step = gram.step < 1 ? 1 : gram.step < layer->skin->blocks ? gram.step : layer->skin->blocks;
    int made = gram.most == 0 || make_gram(call, &gram, matrices);
    if (made && gram.most > 0) {
        if (support) {
            parallel_run(call->pool, matrices, find_joint, &gram);
        } else {
            fill_whole(&gram);
        }
        made = take_largest(&gram, matrices, wanted, modes);
    }
    arena_return(&call->arena, mark);
    return made && !call_poll(call, -1);
}

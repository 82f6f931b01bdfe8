/* layer.c - fields that are added to the rest pose before skinning, and how much of each in which frame.
 *
 * With L the linear part of a vertex's blended matrix in a frame, and r what the bare rig misses,
 *
 *     min  sum_fv | r - L sum_n c[f][n] B[n][v] |^2  +  rho sum_n B[n]' (I + mu Lap / 6) B[n].
 *
 * Kry, James and Pai, "EigenSkin: Real Time Large Deformation Character Skinning in Hardware" (2002), pull r back
 * into the rest pose and take principal components. That minimises another error than the one that is seen, so it
 * only starts the descent (modes.c); here both halves are solved in turn, each exactly:
 *
 *   fields, a vertex at a time    (sum_f c c' (x) L'L + rho I) B[.][v] = sum_f c (x) L'r
 *   coefficients, frame by frame  (sum_v B' L'L B) c[f] = sum_v B' L'r
 *
 * rho is the mean square of what is left over that of what a field explains, as if the fields were drawn from a
 * normal distribution and the rest were noise: none when the fields explain everything. Neighbours enter by a bound
 * of the Laplacian that is met at the last fields, so the vertices stay independent and the sum cannot rise.
 * The rest pose can be solved along, as one more field that is 1 in every frame. */
#include "correct/layer.h"

#include <math.h>
#include <string.h>

#include "math/positive.h"

enum { MAX_LANES = 32, LAYER_BYTES = 64 << 20 };

static const double FIRST_RIDGE = 1e-2; /* of the frames: before anything is known */
static const double LEAST_RIDGE = 1e-9; /* of the frames */
static const double SHARE = 0.5;        /* of the ridge that a normal distribution would give */
static const double SINGULAR = 1e-10;   /* of a field's square: where fields cannot be told apart */
static const double TINY = 1e-300;      /* and where there is none */
static const double DEPENDENT = 1e-8;   /* of a column's length: what is left of it is rounding */
static const double LAYER_FLAT = 1e-3;  /* of the error: a smaller fall is none */
static const double RING_MEAN = 6;      /* of a vertex, on the average */

/* ---- memory ---- */

static size_t pairs_of(const Layer *layer) {
    return (size_t)layer->fields * ((size_t)layer->fields + 1) / 2;
}

static size_t sums_of(const Layer *layer) {
    return (pairs_of(layer) + (size_t)layer->fields + 1) * (size_t)layer->skin->wide;
}

int layer_make(Call *call, const Skin *skin, int fields, Layer *layer) {
    const size_t n = (size_t)fields, wide = (size_t)skin->wide;
    Arena *arena = &call->arena;
    memset(layer, 0, sizeof *layer);
    layer->skin = skin;
    layer->fields = fields;
    layer->step = 1;
    layer->field = arena_take(arena, 3 * (n + 1) * (size_t)skin->vertices, sizeof(double));
    layer->coefficient = arena_take(arena, (n + 1) * wide, sizeof(double));
    layer->known = arena_take(arena, n + 1, 1);
    const size_t bytes = sums_of(layer) * sizeof(double), most = LAYER_BYTES / bytes;
    layer->lanes = most < 1 ? 1 : most < MAX_LANES ? (int)most : MAX_LANES;
    layer->lanes = layer->lanes < skin->blocks ? layer->lanes : skin->blocks;
    layer->lane_sums = arena_take(arena, (size_t)layer->lanes * sums_of(layer), sizeof(double));
    layer->ridge = FIRST_RIDGE * skin->frames;
    if (arena->failed) {
        return 0;
    }
    layer->a = layer->lane_sums;
    layer->b = layer->a + pairs_of(layer) * wide;
    layer->s = layer->b + n * wide;
    for (size_t f = 0; f < (size_t)skin->frames; f++) {
        layer->coefficient[n * wide + f] = 1;
    }
    return 1;
}

int layer_smooth(Call *call, Layer *layer, const Graph *graph, double smoothness) {
    layer->graph = graph;
    layer->smoothness = smoothness;
    layer->before = arena_take(&call->arena, 3 * (size_t)(layer->fields + 1) * (size_t)layer->skin->vertices,
                               sizeof(double));
    return layer->before != NULL;
}

/* ---- a vertex's fields ---- */

typedef struct Scratch {
    SkinView view;
    double *x;      /* [SKIN_BLOCK][3][wide] */
    double *scaled; /* [6][wide] */
    double *system; /* [3 count][3 count] */
    double *right;  /* [3 count] */
    int *slot;      /* [count] fields that are solved at the vertex at hand */
    int count;
} Scratch;

typedef struct Sweep {
    Call *call;
    Layer *layer;
    int keep;
    Scratch *scratch;
} Sweep;

/* The fields that may act at a vertex and are not held; the rest last. */
INSIDE void list_slots(const Layer *layer, int v, Scratch *s) {
    s->count = 0;
    for (int n = layer->held; n < layer->fields; n++) {
        if (!layer->reach || layer->reach[(size_t)v * (size_t)layer->fields + (size_t)n] > 0) {
            s->slot[s->count++] = n;
        }
    }
    if (layer->solves_rest && !(layer->held_rest && layer->held_rest[v])) {
        s->slot[s->count++] = layer->fields;
    }
}

/* c L'L */
INSIDE void scale_square(const Layer *layer, const Scratch *s, int n) {
    const size_t wide = (size_t)layer->skin->wide;
    const double *c = layer->coefficient + (size_t)n * wide;
    for (size_t m = 0; m < 6; m++) {
        for (size_t f = 0; f < wide; f++) {
            s->scaled[m * wide + f] = c[f] * s->view.q[m * wide + f];
        }
    }
}

/* sum_f c_n c_m L'L, n as scaled */
INSIDE void square_block(const Layer *layer, const Scratch *s, int m, double block[9]) {
    static const int entry[9] = {0, 3, 4, 3, 1, 5, 4, 5, 2};
    const size_t wide = (size_t)layer->skin->wide;
    double sum[6];
    for (size_t i = 0; i < 6; i++) {
        sum[i] = skin_dot(s->scaled + i * wide, layer->coefficient + (size_t)m * wide, wide);
    }
    for (int i = 0; i < 9; i++) {
        block[i] = sum[entry[i]];
    }
}

/* What held fields do already: sum_f c_n c_m L'L B[m] */
INSIDE void take_held(const Layer *layer, const Scratch *s, const double *field, double *right) {
    for (int m = 0; m < layer->held; m++) {
        double block[9];
        square_block(layer, s, m, block);
        for (int i = 0; i < 9; i++) {
            right[i / 3] -= block[i] * field[3 * m + i % 3];
        }
    }
}

/* sum_f c c' (x) L'L, lower half, and sum_f c (x) L'r */
INSIDE void fill_system(const Layer *layer, const Scratch *s, const double *field) {
    const size_t wide = (size_t)layer->skin->wide, size = 3 * (size_t)s->count;
    for (int i = 0; i < s->count; i++) {
        double *right = s->right + 3 * i;
        scale_square(layer, s, s->slot[i]);
        for (int j = 0; j <= i; j++) {
            double block[9];
            square_block(layer, s, s->slot[j], block);
            for (int m = 0; m < 9; m++) {
                s->system[(size_t)(3 * i + m / 3) * size + (size_t)(3 * j + m % 3)] = block[m];
            }
        }
        for (size_t m = 0; m < 3; m++) {
            right[m] = skin_dot(s->view.g + m * wide, layer->coefficient + (size_t)s->slot[i] * wide, wide);
        }
        take_held(layer, s, field, right);
    }
}

/* Adds pull |B - goal|^2 for one slot. */
INSIDE void add_pull(const Scratch *s, int at, double pull, const double goal[3]) {
    for (int m = 0; m < 3; m++) {
        const size_t row = (size_t)(3 * at + m);
        s->system[row * 3 * (size_t)s->count + row] += pull;
        s->right[row] += pull * goal[m];
    }
}

/* The edges' part of rho mu / 6 B' Lap B is at most rho mu / 3 |B - (B0 + neighbour's B0) / 2|^2 a vertex, and
 * that at B0, the fields of the last sweep. */
INSIDE void add_neighbours(const Layer *layer, const Scratch *s, int v, int at) {
    const size_t slots = (size_t)layer->fields + 1, n = (size_t)s->slot[at];
    const double pull = 2 * layer->ridge * layer->smoothness / RING_MEAN;
    const double *own = layer->before + 3 * ((size_t)v * slots + n);
    for (int64_t e = layer->graph->first[v]; e < layer->graph->first[v + 1]; e++) {
        const double *other = layer->before + 3 * ((size_t)layer->graph->neighbour[e] * slots + n);
        const double goal[3] = {(own[0] + other[0]) / 2, (own[1] + other[1]) / 2, (own[2] + other[2]) / 2};
        add_pull(s, at, pull, goal);
    }
}

/* Fields are pulled to zero, the harder the less they may reach, and the rest to the one that was given. */
INSIDE void add_pulls(const Layer *layer, const Scratch *s, int v) {
    const double none[3] = {0, 0, 0}, least = LEAST_RIDGE * layer->skin->frames;
    for (int i = 0; i < s->count; i++) {
        const int n = s->slot[i];
        const double *p = layer->skin->rest + 3 * (size_t)v, *given = layer->skin->given + 3 * (size_t)v;
        const double away[3] = {given[0] - p[0], given[1] - p[1], given[2] - p[2]};
        const double reach = layer->reach && n < layer->fields
                                 ? (double)layer->reach[(size_t)v * (size_t)layer->fields + (size_t)n]
                                 : 1;
        if (n == layer->fields) {
            add_pull(s, i, layer->rest_pull, away);
            add_pull(s, i, least, none);
        } else {
            add_pull(s, i, fmax(layer->ridge, least) / (reach * reach), none);
        }
        if (layer->before && n < layer->fields) {
            add_neighbours(layer, s, v, i);
        }
    }
}

INSIDE void solve_fields(const Layer *layer, Scratch *s, int v) {
    double *field = layer->field + 3 * (size_t)v * ((size_t)layer->fields + 1);
    list_slots(layer, v, s);
    if (s->count == 0) {
        return;
    }
    fill_system(layer, s, field);
    add_pulls(layer, s, v);
    const int singular = positive_solve(3 * s->count, s->system, 1, s->right);
    for (int i = 0; i < 3 * s->count; i++) {
        field[3 * s->slot[i / 3] + i % 3] = singular ? 0 : s->right[i];
    }
}

/* ---- what the coefficients need to know of a vertex ---- */

static int is_zero(const double d[3]) {
    return d[0] == 0 && d[1] == 0 && d[2] == 0;
}

/* h = L'L d */
INSIDE void square_times(const double *restrict q, size_t wide, const double d[3], double *restrict h) {
    const double x = d[0], y = d[1], z = d[2];
    for (size_t f = 0; f < wide; f++) {
        h[f] = q[f] * x + q[3 * wide + f] * y + q[4 * wide + f] * z;
        h[wide + f] = q[3 * wide + f] * x + q[wide + f] * y + q[5 * wide + f] * z;
        h[2 * wide + f] = q[4 * wide + f] * x + q[5 * wide + f] * y + q[2 * wide + f] * z;
    }
}

/* sum += d'h */
INSIDE void add_product(const double *restrict h, size_t wide, const double d[3], double *restrict sum) {
    const double x = d[0], y = d[1], z = d[2];
    for (size_t f = 0; f < wide; f++) {
        sum[f] += h[f] * x + h[wide + f] * y + h[2 * wide + f] * z;
    }
}

INSIDE void add_sums(const Layer *layer, const Scratch *s, int v, double *sums) {
    const size_t wide = (size_t)layer->skin->wide, n = (size_t)layer->fields;
    const double *field = layer->field + 3 * (size_t)v * (n + 1), *r = s->view.r;
    double *b = sums + pairs_of(layer) * wide, *square = b + n * wide;
    for (size_t i = 0; i < n; i++) {
        if (is_zero(field + 3 * i)) {
            continue;
        }
        double *a = sums + i * (i + 1) / 2 * wide;
        square_times(s->view.q, wide, field + 3 * i, s->scaled);
        for (size_t j = 0; j <= i; j++) {
            if (!is_zero(field + 3 * j)) {
                add_product(s->scaled, wide, field + 3 * j, a + j * wide);
            }
        }
        add_product(s->view.g, wide, field + 3 * i, b + i * wide);
    }
    for (size_t f = 0; f < wide; f++) {
        square[f] += r[f] * r[f] + r[wide + f] * r[wide + f] + r[2 * wide + f] * r[2 * wide + f];
    }
}

/* ---- the pass ---- */

INSIDE void sweep_vertex(const Sweep *sweep, Scratch *s, int v, const double *x, double *sums) {
    const Layer *layer = sweep->layer;
    const size_t wide = (size_t)layer->skin->wide, n = (size_t)layer->fields;
    const double *moved = layer->field + 3 * ((size_t)v * (n + 1) + n);
    skin_look(layer->skin, v, x, &s->view);
    skin_square(&s->view, wide);
    skin_pull(&s->view, wide);
    if (!sweep->keep) {
        solve_fields(layer, s, v);
    }
    if (!is_zero(moved)) {
        skin_take(&s->view, wide, layer->coefficient + n * wide, moved);
        skin_pull(&s->view, wide);
    }
    add_sums(layer, s, v, sums);
}

INSIDE void sweep_blocks(const Sweep *sweep, int lane, int worker) {
    const Layer *layer = sweep->layer;
    const int blocks = (layer->skin->blocks + layer->step - 1) / layer->step;
    Scratch *s = &sweep->scratch[worker];
    double *sums = layer->lane_sums + (size_t)lane * sums_of(layer);
    const int begin = (int)((int64_t)blocks * lane / layer->lanes);
    const int end = (int)((int64_t)blocks * (lane + 1) / layer->lanes);
    memset(sums, 0, sums_of(layer) * sizeof *sums);
    for (int block = begin; block < end && !atomic_load(&sweep->call->cancelled); block++) {
        if (worker == 0 && call_poll(sweep->call, -1)) {
            return;
        }
        const int count = skin_read(layer->skin, block * layer->step, s->x);
        for (int i = 0; i < count; i++) {
            sweep_vertex(sweep, s, block * layer->step * SKIN_BLOCK + i,
                         s->x + 3 * (size_t)i * (size_t)layer->skin->wide, sums);
        }
    }
}

static void sweep_lane(void *user, int lane, int worker) {
    sweep_blocks(user, lane, worker);
}

WIDE static void sweep_lane_wide(void *user, int lane, int worker) {
    sweep_blocks(user, lane, worker);
}

/* One row of the sums, the lanes in their order. */
static void add_lanes(void *user, int row, int worker) {
    const Layer *layer = ((Sweep *)user)->layer;
    const size_t wide = (size_t)layer->skin->wide;
    double *to = layer->lane_sums + (size_t)row * wide;
    (void)worker;
    for (int lane = 1; lane < layer->lanes; lane++) {
        const double *from = to + (size_t)lane * sums_of(layer);
        for (size_t f = 0; f < wide; f++) {
            to[f] += from[f];
        }
    }
}

static int make_scratch(Arena *arena, const Layer *layer, Scratch *s) {
    const size_t wide = (size_t)layer->skin->wide, size = 3 * ((size_t)layer->fields + 1);
    s->x = arena_take(arena, 3 * SKIN_BLOCK * wide, sizeof(double));
    s->scaled = arena_take(arena, 6 * wide, sizeof(double));
    s->system = arena_take(arena, size * size, sizeof(double));
    s->right = arena_take(arena, size, sizeof(double));
    s->slot = arena_take(arena, size, sizeof(int));
    return skin_view_make(arena, layer->skin, &s->view) && !arena->failed;
}

int layer_sweep(Call *call, Layer *layer, int keep) {
    ArenaPiece *mark = arena_mark(&call->arena);
    const int workers = parallel_workers(call->pool);
    Sweep sweep = {call, layer, keep, arena_take(&call->arena, (size_t)workers, sizeof(Scratch))};
    int ready = sweep.scratch != NULL;
    for (int i = 0; i < workers && ready; i++) {
        ready = make_scratch(&call->arena, layer, &sweep.scratch[i]);
    }
    if (ready) {
        if (layer->before) {
            memcpy(layer->before, layer->field,
                   3 * ((size_t)layer->fields + 1) * (size_t)layer->skin->vertices * sizeof(double));
        }
        parallel_run(call->pool, layer->lanes, portable_is_wide() ? sweep_lane_wide : sweep_lane, &sweep);
        parallel_run(call->pool, (int)(sums_of(layer) / (size_t)layer->skin->wide), add_lanes, &sweep);
    }
    arena_return(&call->arena, mark);
    return ready && !call_poll(call, -1);
}

/* ---- coefficients ---- */

typedef struct Fit {
    Call *call;
    const Layer *layer;
    double *coefficient;
    int blind;
    double *room; /* [workers][n (n + 1)] */
} Fit;

static int is_seen(const Layer *layer, int f, int blind) {
    return (layer->blind ? layer->blind[f] : 0) == blind;
}

static double a_at(const Layer *layer, int n, int m, int f) {
    const size_t i = (size_t)(n > m ? n : m), j = (size_t)(n > m ? m : n);
    return layer->a[(i * (i + 1) / 2 + j) * (size_t)layer->skin->wide + (size_t)f];
}

/* b less what known coefficients do already */
static double right_of(const Fit *fit, int n, int f) {
    const size_t wide = (size_t)fit->layer->skin->wide;
    double sum = fit->layer->b[(size_t)n * wide + (size_t)f];
    for (int m = 0; m < fit->layer->fields; m++) {
        sum -= fit->layer->known[m]
                   ? a_at(fit->layer, n, m, f) * fit->coefficient[(size_t)m * wide + (size_t)f]
                   : 0;
    }
    return sum;
}

/* The system of a frame: A, lower half, and what is to be explained; returns its size. */
static int fill_frame(const Fit *fit, int f, double *a, double *right) {
    const Layer *layer = fit->layer;
    int count = 0, row = 0;
    for (int i = 0; i < layer->fields; i++) {
        count += !layer->known[i];
    }
    for (int i = 0; i < layer->fields; i++) {
        for (int j = 0, column = 0; j <= i && !layer->known[i]; j++) {
            if (!layer->known[j]) {
                a[row * count + column++] =
                    a_at(layer, i, j, f) * (i == j ? 1 + SINGULAR : 1) + (i == j ? TINY : 0);
            }
        }
        if (!layer->known[i]) {
            right[row++] = right_of(fit, i, f);
        }
    }
    return count;
}

static void fit_frame(void *user, int f, int worker) {
    const Fit *fit = user;
    const Layer *layer = fit->layer;
    const size_t n = (size_t)layer->fields, wide = (size_t)layer->skin->wide;
    double *a = fit->room + (size_t)worker * n * (n + 1), *c = a + n * n;
    if (!is_seen(layer, f, fit->blind) || (worker == 0 && call_poll(fit->call, -1))) {
        return;
    }
    const int count = fill_frame(fit, f, a, c);
    const int singular = count == 0 || positive_solve(count, a, 1, c);
    for (int i = 0, row = 0; i < layer->fields; i++) {
        if (!layer->known[i]) {
            fit->coefficient[(size_t)i * wide + (size_t)f] = singular ? 0 : c[row++];
        }
    }
}

double layer_error(const Layer *layer, const double *coefficient, int blind) {
    const size_t wide = (size_t)layer->skin->wide;
    double sum = 0;
    for (int f = 0; f < layer->skin->frames; f++) {
        double error = layer->s[f];
        for (int n = 0; n < layer->fields && is_seen(layer, f, blind); n++) {
            const double *c = coefficient + f;
            double slope = -2 * layer->b[(size_t)n * wide + (size_t)f];
            for (int m = 0; m < layer->fields; m++) {
                slope += a_at(layer, n, m, f) * c[(size_t)m * wide];
            }
            error += slope * c[(size_t)n * wide];
        }
        sum += is_seen(layer, f, blind) ? fmax(error, 0) : 0;
    }
    return sum;
}

double layer_fit_coefficients(Call *call, const Layer *layer, double *coefficient, int blind) {
    ArenaPiece *mark = arena_mark(&call->arena);
    const size_t n = (size_t)layer->fields, workers = (size_t)parallel_workers(call->pool);
    Fit fit = {call, layer, coefficient, blind,
               arena_take(&call->arena, workers * n * (n + 1) + 1, sizeof(double))};
    if (fit.room) {
        parallel_run(call->pool, layer->skin->frames, fit_frame, &fit);
    }
    arena_return(&call->arena, mark);
    return fit.room && !call_poll(call, -1) ? layer_error(layer, coefficient, blind) : -1;
}

/* ---- rounds ---- */

static int is_solved(const Layer *layer, int n) {
    return n >= layer->held && !layer->known[n];
}

/* Takes the part along `of`, of length |of|^2 = frames, out of a column. */
static void take_part(double *column, const double *of, size_t wide, double frames) {
    const double part = skin_dot(column, of, wide) / frames;
    for (size_t f = 0; f < wide; f++) {
        column[f] -= part * of[f];
    }
}

void layer_normalise(const Layer *layer) {
    const size_t wide = (size_t)layer->skin->wide;
    const double frames = layer->skin->frames;
    for (int n = 0; n < layer->fields; n++) {
        double *c = layer->coefficient + (size_t)n * wide;
        const double before = sqrt(skin_dot(c, c, wide) / frames);
        for (int twice = 0; twice < 2 && is_solved(layer, n) && !layer->reach; twice++) {
            for (int m = 0; m < n; m++) {
                if (is_solved(layer, m)) {
                    take_part(c, layer->coefficient + (size_t)m * wide, wide, frames);
                }
            }
        }
        const double left = sqrt(skin_dot(c, c, wide) / frames);
        for (size_t f = 0; f < wide && is_solved(layer, n); f++) {
            c[f] = left > DEPENDENT * before ? c[f] / left : 0;
        }
    }
}

double layer_bare(const Layer *layer) {
    double sum = 0;
    for (int f = 0; f < layer->skin->frames; f++) {
        sum += is_seen(layer, f, 0) ? layer->s[f] : 0;
    }
    return sum;
}

/* Noise over signal, at most as much as the frames say. */
static double ridge_of(const Layer *layer, double left) {
    const double explained = (layer_bare(layer) - left) / fmax(1, layer->fields - layer->held);
    const double most = layer->skin->frames;
    return explained * most > SHARE * left ? SHARE * left / explained : most;
}

double layer_solve(Call *call, Layer *layer, int rounds) {
    double error = INFINITY;
    for (int round = 0; round < rounds; round++) {
        layer_normalise(layer);
        const double last = error;
        if (!layer_sweep(call, layer, 0)) {
            return -1;
        }
        error = layer_fit_coefficients(call, layer, layer->coefficient, 0);
        if (error < 0 || last - error <= LAYER_FLAT * error) {
            return error;
        }
        if (round == 0) {
            layer->ridge = ridge_of(layer, error);
        }
    }
    return error;
}

double layer_worth(const Layer *layer, int n) {
    const double *c = layer->coefficient + (size_t)n * (size_t)layer->skin->wide;
    double sum = 0;
    for (int f = 0; f < layer->skin->frames; f++) {
        sum += c[f] * c[f] * a_at(layer, n, n, f);
    }
    return sum;
}

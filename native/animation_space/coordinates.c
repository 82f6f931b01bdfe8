/* coordinates.c - the best rest positions of every vertex for each of its bones.
 *
 * Animation space (Merry, Marais and Gain, "Animation Space: A Truly Linear Framework for Character Animation",
 * 2006, Section 3): a vertex is v = sum_b T_b p_b with p_b = (q, w) and sum_b w = 1. With p = y + d, y = w (r, 1) what
 * linear blend skinning has, r_f what that misses in frame f, about the bones' centres (slots.c):
 *
 *     sum_f |sum_b T_bf d_b - r_f|^2 + delta sum_edges |d_i - d_j|^2 / length + lambda |d|^2
 *
 * subject to sum_b d = 0 (the rest pose stays) or sum_b w = 0; then the rest is one more frame. An absent bone counts as
 * d = 0.
 *
 * The frames are seen once: M_bc = sum_f T_b' T_c is shared by all vertices, g = sum_f T_b' r_f belongs to one. Then
 * conjugate gradients over all vertices, preconditioned by each vertex's own block K = A + (delta sum 1/length +
 * lambda) I with the constraint C d = 0 projected out,
 *
 *     Z = K^-1 - K^-1 C' (C K^-1 C')^-1 C K^-1.
 *
 * Deviation: the paper (Eq. 18) smooths p itself and damps nothing, which pulls the surface off linear blend skinning;
 * `smooths_positions` does so, and the rest is no frame then. The paper solves by LSQR over all frames. */
#include "animation_space/coordinates.h"

#include <math.h>
#include <string.h>

#include "math/positive.h"

#define FLAT 1e-10 /* of the preconditioned gradient's square at the start: nothing left to gain */
#define SINGULAR \
    1e-9 /* of a block's mean diagonal: keeps it positive where motion and penalties say nothing */

enum {
    MOST_GRADIENTS = 4000,
    MOST_NUMBERS = 4 * OSSIFY_MAX_INFLUENCES,
};

int coordinates_used(const Coordinates *c, int v) {
    const int *bones = c->bone + (size_t)v * (size_t)c->slots;
    int used = 0;
    while (used < c->slots && bones[used] >= 0) {
        used++;
    }
    return used;
}

void coordinates_inside(const Coordinates *c, int v, int k, double d[4]) {
    const size_t i = (size_t)v * (size_t)c->slots + (size_t)k;
    memcpy(d, c->correction + 4 * i, 4 * sizeof(double));
    for (int a = 0; a < 3; a++) { /* q + w c */
        d[a] += d[3] * c->centre[3 * c->bone[i] + a];
    }
}

/* ---- moments ---- */

typedef struct Task Task;
typedef double (*VertexStep)(const Task *task, int v);

struct Task {
    Call *call;
    const Coordinates *coordinates;
    SkinView *view;       /* [workers] */
    double *x;            /* [workers][SKIN_BLOCK][3][wide] */
    double *gradient;     /* [v][4 slots] what is left to descend */
    double *inverse;      /* [v][n (n + 1) / 2], n = 4 slots: Z */
    double *step;         /* [v][4 slots] its direction, */
    double *image;        /* and the whole form times that */
    double *descended;    /* Z times the gradient */
    double *sums;         /* [blocks] */
    VertexStep at_vertex; /* what every vertex does in the pass at hand */
    double length, turn;
};

/* Row of a transform of bone b about its centre: T' = T [I c; 0 1] */
static void shifted_row(const Coordinates *c, int b, int i, size_t f, double row[4]) {
    const size_t wide = (size_t)c->skin->wide;
    const double *t = c->skin->transform + (12 * (size_t)b + 4 * (size_t)i) * wide + f;
    const double *centre = c->centre + 3 * (size_t)b;
    row[0] = t[0], row[1] = t[wide], row[2] = t[2 * wide];
    row[3] = t[3 * wide] + row[0] * centre[0] + row[1] * centre[1] + row[2] * centre[2];
}

static void moment_of(const Coordinates *c, int a, int b, double m[16]) {
    memset(m, 0, 16 * sizeof *m);
    for (size_t f = 0; f < (size_t)c->skin->frames; f++) {
        for (int i = 0; i < 3; i++) {
            double s[4], t[4];
            shifted_row(c, a, i, f, s);
            shifted_row(c, b, i, f, t);
            for (size_t j = 0; j < 16; j++) {
                m[j] += s[j / 4] * t[j % 4];
            }
        }
    }
}

/* The rest as one more pose, T = I, of which nothing is missed: what sum_b d_b may not be for nothing. */
static void add_rest_moment(const Coordinates *c, int a, int b, double m[16]) {
    for (int i = 0; i < 3; i++) {
        double s[4] = {i == 0, i == 1, i == 2, c->centre[3 * a + i]};
        double t[4] = {i == 0, i == 1, i == 2, c->centre[3 * b + i]};
        for (size_t j = 0; j < 16; j++) {
            m[j] += s[j / 4] * t[j % 4];
        }
    }
}

/* Bone a with all from itself on, and what mirrors them. */
static void moments_of_bone(void *user, int a, int worker) {
    const Task *task = user;
    const Coordinates *c = task->coordinates;
    const size_t bones = (size_t)c->skin->bones;
    if (worker == 0) {
        call_poll(task->call, -1);
    }
    for (int b = a; b < c->skin->bones; b++) {
        double *m = c->moment + 16 * ((size_t)a * bones + (size_t)b);
        double *mirror = c->moment + 16 * ((size_t)b * bones + (size_t)a);
        moment_of(c, a, b, m);
        if (!c->rest_exact && !c->smooths_positions) {
            add_rest_moment(c, a, b, m);
        }
        for (size_t j = 0; j < 16 && b > a; j++) {
            mirror[j] = m[j % 4 * 4 + j / 4];
        }
    }
}

int coordinates_find_moments(Call *call, Coordinates *coordinates) {
    Task task = {.call = call, .coordinates = coordinates};
    parallel_run(call->pool, coordinates->skin->bones, moments_of_bone, &task);
    return !call_poll(call, -1);
}

/* ---- the form ---- */

static double held_by_edges(const Coordinates *c, int v) {
    double sum = 0;
    for (int64_t e = c->graph.first[v]; e < c->graph.first[v + 1]; e++) {
        sum += c->stiffness[e];
    }
    return sum;
}

/* to += smoothness times the Laplacian of `of` at a vertex */
static void add_laplacian(const Coordinates *c, const double *of, int v, double *to) {
    const size_t k = (size_t)c->slots;
    for (int64_t e = c->graph.first[v]; e < c->graph.first[v + 1]; e++) {
        const double stiffness = c->smoothness * c->stiffness[e];
        const double *there = of + 4 * (size_t)c->graph.neighbour[e] * k, *here = of + 4 * (size_t)v * k;
        for (size_t i = 0; i < k && c->bone[(size_t)v * k + i] >= 0; i++) {
            const int slot = c->beside[(size_t)e * k + i];
            for (size_t j = 0; j < 4; j++) {
                const double beside = slot < 0 ? 0 : there[4 * (size_t)slot + j];
                to[4 * i + j] += stiffness * (here[4 * i + j] - beside);
            }
        }
    }
}

/* to = (A + delta L + lambda) d at a vertex */
static void apply(const Coordinates *c, const double *all, int v, double *to) {
    const size_t k = (size_t)c->slots, bones = (size_t)c->skin->bones;
    const int *bone = c->bone + (size_t)v * k;
    const double *d = all + 4 * (size_t)v * k;
    const size_t used = (size_t)coordinates_used(c, v);
    for (size_t i = 0; i < used; i++) {
        double sum[4];
        for (size_t j = 0; j < 4; j++) {
            sum[j] = c->damping * d[4 * i + j];
        }
        for (size_t l = 0; l < used; l++) {
            const double *m = c->moment + 16 * ((size_t)bone[i] * bones + (size_t)bone[l]);
            const double *e = d + 4 * l;
            for (size_t j = 0; j < 4; j++) {
                sum[j] += m[4 * j] * e[0] + m[4 * j + 1] * e[1] + m[4 * j + 2] * e[2] + m[4 * j + 3] * e[3];
            }
        }
        memcpy(to + 4 * i, sum, sizeof sum);
    }
    add_laplacian(c, all, v, to);
}

/* y = w (r - c, 1), what linear blend skinning has */
static void positions_of(const Coordinates *c, double *y) {
    const size_t k = (size_t)c->slots;
    for (size_t i = 0; i < (size_t)c->skin->vertices * k; i++) {
        for (size_t a = 0; a < 3 && c->bone[i] >= 0; a++) {
            const double centre = c->centre[3 * (size_t)c->bone[i] + a];
            y[4 * i + a] = c->weight[i] * (c->skin->rest[3 * (i / k) + a] - centre);
        }
        y[4 * i + 3] = c->weight[i];
    }
}

/* ---- the gradient to begin with ---- */

/* g = sum_f T' r, about the centre */
static void pull_of_bone(const Coordinates *c, int b, const double *r, double g[4]) {
    const size_t wide = (size_t)c->skin->wide;
    for (size_t j = 0; j < 4; j++) {
        g[j] = 0;
        for (size_t i = 0; i < 3; i++) {
            g[j] += skin_dot(c->skin->transform + (12 * (size_t)b + 4 * i + j) * wide, r + i * wide, wide);
        }
    }
    for (size_t a = 0; a < 3; a++) {
        g[3] += c->centre[3 * (size_t)b + a] * g[a];
    }
}

/* Of the vertices of a block: what the frames ask for, less what the corrections at hand give. */
static void gradient_of_block(void *user, int block, int worker) {
    const Task *task = user;
    const Coordinates *c = task->coordinates;
    const Skin *skin = c->skin;
    const size_t wide = (size_t)skin->wide, k = (size_t)c->slots;
    double *x = task->x + (size_t)worker * SKIN_BLOCK * 3 * wide;
    const SkinView *view = task->view + worker;
    if (worker == 0) {
        call_poll(task->call, -1);
    }
    const int count = skin_read(skin, block, x);
    for (int i = 0; i < count; i++) {
        const int v = block * SKIN_BLOCK + i, used = coordinates_used(c, v);
        double image[MOST_NUMBERS], *g = task->gradient + 4 * (size_t)v * k;
        skin_look(skin, v, x + 3 * (size_t)i * wide, view);
        for (int s = 0; s < used; s++) {
            pull_of_bone(c, c->bone[(size_t)v * k + (size_t)s], view->r, g + 4 * s);
        }
        apply(c, c->correction, v, image);
        if (c->smooths_positions) {
            add_laplacian(c, task->step, v, image); /* of y */
        }
        for (int j = 0; j < 4 * used; j++) {
            g[j] -= image[j];
        }
    }
}

/* ---- the preconditioner ---- */

/* K, with the identity beside it for its inverse */
static void block_of_vertex(const Coordinates *c, int v, int used, double *a, double *identity) {
    const size_t n = 4 * (size_t)used, bones = (size_t)c->skin->bones;
    const int *bone = c->bone + (size_t)v * (size_t)c->slots;
    double trace = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            const double *m = c->moment + 16 * ((size_t)bone[i / 4] * bones + (size_t)bone[j / 4]);
            a[i * n + j] = m[i % 4 * 4 + j % 4];
            identity[i * n + j] = i == j;
        }
        trace += a[i * n + i];
    }
    const double held = c->smoothness * held_by_edges(c, v) + c->damping + SINGULAR * trace / (double)n;
    for (size_t i = 0; i < n; i++) {
        a[i * n + i] += held;
    }
}

/* C [rows][n]: what must sum to nothing, about the centres */
static int constraint_of_vertex(const Coordinates *c, int v, int used, double *constraint) {
    const int rows = c->rest_exact ? 4 : 1, n = 4 * used;
    const int *bone = c->bone + (size_t)v * (size_t)c->slots;
    memset(constraint, 0, (size_t)(rows * n) * sizeof *constraint);
    for (int i = 0; i < used; i++) {
        for (int a = 0; a + 1 < rows; a++) {
            constraint[a * n + 4 * i + a] = 1; /* sum q + w c = 0 */
            constraint[a * n + 4 * i + 3] = c->centre[3 * bone[i] + a];
        }
        constraint[(rows - 1) * n + 4 * i + 3] = 1; /* sum w = 0 */
    }
    return rows;
}

/* inverse -= H G^-1 H', H = inverse C', G = C H; 0 when the constraint leaves nothing free */
static int project(int n, int rows, const double *constraint, double *inverse) {
    double h[4 * MOST_NUMBERS], g[16], solved[4 * MOST_NUMBERS];
    for (int i = 0; i < n * rows; i++) {
        const double *line = inverse + i / rows * n, *of = constraint + i % rows * n;
        h[i] = 0;
        for (int j = 0; j < n; j++) {
            h[i] += line[j] * of[j];
        }
    }
    for (int i = 0; i < rows * rows; i++) {
        g[i] = 0;
        for (int j = 0; j < n; j++) {
            g[i] += constraint[i / rows * n + j] * h[j * rows + i % rows];
        }
    }
    memcpy(solved, h, (size_t)(n * rows) * sizeof *h);
    if (positive_solve(rows, g, n, solved)) {
        return 0;
    }
    for (int i = 0; i < n * n; i++) {
        for (int j = 0; j < rows; j++) {
            inverse[i] -= solved[i / n * rows + j] * h[i % n * rows + j];
        }
    }
    return 1;
}

static void precondition_vertex(const Coordinates *c, int v, double *packed) {
    double a[MOST_NUMBERS * MOST_NUMBERS], inverse[MOST_NUMBERS * MOST_NUMBERS], constraint[4 * MOST_NUMBERS];
    const int used = coordinates_used(c, v), n = 4 * used;
    if (used == 0 || (used == 1 && c->rest_exact)) { /* nothing is free: Z = 0 */
        return;
    }
    block_of_vertex(c, v, used, a, inverse);
    if (positive_solve(n, a, n, inverse)) {
        return;
    }
    const int rows = constraint_of_vertex(c, v, used, constraint);
    if (!project(n, rows, constraint, inverse)) {
        return;
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            *packed++ = (inverse[i * n + j] + inverse[j * n + i]) / 2;
        }
    }
}

static size_t packed_numbers(const Coordinates *c) {
    const size_t n = 4 * (size_t)c->slots;
    return n * (n + 1) / 2;
}

/* z = Z g */
static void precondition(const double *packed, size_t n, const double *g, double *z) {
    memset(z, 0, n * sizeof *z);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < i; j++, packed++) {
            sum += *packed * g[j];
            z[j] += *packed * g[i];
        }
        z[i] += sum + *packed++ * g[i];
    }
}

/* ---- conjugate gradients ---- */

/* Some vertices, with a sum of their own. */
static void run_block(void *user, int block, int worker) {
    const Task *task = user;
    const int vertices = task->coordinates->skin->vertices, far = (block + 1) * SKIN_BLOCK;
    double sum = 0;
    if (worker == 0) {
        call_poll(task->call, -1);
    }
    for (int v = block * SKIN_BLOCK; v < far && v < vertices; v++) {
        sum += task->at_vertex(task, v);
    }
    task->sums[block] = sum;
}

static double start_vertex(const Task *task, int v) {
    const Coordinates *c = task->coordinates;
    const size_t n = 4 * (size_t)c->slots, at = (size_t)v * n, used = 4 * (size_t)coordinates_used(c, v);
    double *packed = task->inverse + (size_t)v * packed_numbers(c);
    precondition_vertex(c, v, packed);
    precondition(packed, used, task->gradient + at, task->descended + at);
    memset(task->step + at, 0, n * sizeof(double));
    memcpy(task->step + at, task->descended + at, used * sizeof(double));
    double sum = 0;
    for (size_t i = 0; i < used; i++) {
        sum += task->gradient[at + i] * task->descended[at + i];
    }
    return sum;
}

static double image_vertex(const Task *task, int v) {
    const Coordinates *c = task->coordinates;
    const size_t n = 4 * (size_t)c->slots, at = (size_t)v * n, used = 4 * (size_t)coordinates_used(c, v);
    double sum = 0;
    apply(c, task->step, v, task->image + at);
    for (size_t i = 0; i < used; i++) {
        sum += task->step[at + i] * task->image[at + i];
    }
    return sum;
}

static double advance_vertex(const Task *task, int v) {
    const Coordinates *c = task->coordinates;
    const size_t n = 4 * (size_t)c->slots, at = (size_t)v * n, used = 4 * (size_t)coordinates_used(c, v);
    double sum = 0;
    for (size_t i = at; i < at + used; i++) {
        c->correction[i] += task->length * task->step[i];
        task->gradient[i] -= task->length * task->image[i];
    }
    precondition(task->inverse + (size_t)v * packed_numbers(c), used, task->gradient + at,
                 task->descended + at);
    for (size_t i = at; i < at + used; i++) {
        sum += task->gradient[i] * task->descended[i];
    }
    return sum;
}

static double turn_vertex(const Task *task, int v) {
    const Coordinates *c = task->coordinates;
    const size_t n = 4 * (size_t)c->slots, at = (size_t)v * n, used = 4 * (size_t)coordinates_used(c, v);
    for (size_t i = at; i < at + used; i++) {
        task->step[i] = task->descended[i] + task->turn * task->step[i];
    }
    return 0;
}

/* All vertices; the sum in the order of the blocks. */
static double over_all(Task *task, VertexStep at_vertex) {
    const int blocks = task->coordinates->skin->blocks;
    double sum = 0;
    task->at_vertex = at_vertex;
    parallel_run(task->call->pool, blocks, run_block, task);
    for (int b = 0; b < blocks; b++) {
        sum += task->sums[b];
    }
    return sum;
}

static int take_room(Task *task) {
    const Coordinates *c = task->coordinates;
    const Skin *skin = c->skin;
    Arena *arena = &task->call->arena;
    const size_t n = 4 * (size_t)skin->vertices * (size_t)c->slots;
    const int workers = parallel_workers(task->call->pool);
    task->view = arena_take(arena, (size_t)workers, sizeof *task->view);
    task->x = arena_take(arena, (size_t)workers * SKIN_BLOCK * 3 * (size_t)skin->wide, sizeof(double));
    task->gradient = arena_take(arena, n, sizeof(double));
    task->step = arena_take(arena, n, sizeof(double));
    task->image = arena_take(arena, n, sizeof(double));
    task->descended = arena_take(arena, n, sizeof(double));
    task->inverse = arena_take(arena, (size_t)skin->vertices * packed_numbers(c), sizeof(double));
    task->sums = arena_take(arena, (size_t)skin->blocks, sizeof(double));
    for (int i = 0; i < workers && !arena->failed; i++) {
        skin_view_make(arena, skin, task->view + i);
    }
    return !arena->failed;
}

/* Steps until there is nothing left to gain; 0 when the call must end. */
static int descend(Task *task) {
    double slope = over_all(task, start_vertex);
    const double flat = FLAT * slope;
    for (int i = 0; i < MOST_GRADIENTS && slope > flat && slope > 0; i++) {
        const double bend = over_all(task, image_vertex), before = slope;
        if (!(bend > 0)) {
            break;
        }
        task->length = slope / bend;
        slope = over_all(task, advance_vertex);
        task->turn = slope / before;
        over_all(task, turn_vertex);
        if (call_poll(task->call, -1)) {
            return 0;
        }
    }
    return !call_poll(task->call, -1);
}

int coordinates_solve(Call *call, Coordinates *c) {
    Task task = {.call = call, .coordinates = c};
    ArenaPiece *mark = arena_mark(&call->arena);
    int made = take_room(&task);
    if (made) {
        if (c->smooths_positions) {
            positions_of(c, task.step);
        }
        parallel_run(call->pool, c->skin->blocks, gradient_of_block, &task);
        made = !call_poll(call, -1) && descend(&task);
    }
    arena_return(&call->arena, mark);
    return made;
}

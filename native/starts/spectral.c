/* spectral.c - the first bones by spectral clustering of rotations (Hasler et al. 2010, section 3.1).
 *
 * Patches that turn alike in all frames belong together. With R[i,f] the rotation of patch i in frame f,
 *
 *     d(i,l)^2 = mean over f of |log q(R[i,f] R[l,f]')|^2    half the angle between the two, squared
 *     A(i,l)   = exp(-d(i,l)^2 / (s_i s_l)),  A(i,i) = 0,    s_i = d(i, 7th nearest in d)
 *     N        = D^-1/2 A D^-1/2,                            D = diag of A's row sums
 *
 * (self-tuning scales: Zelnik-Manor & Perona 2005). The rows of N's `bones` largest eigenvectors, each
 * brought to length 1, are points on a sphere, one cluster for each bone.
 *
 * Deviations: the paper says neither how rotations are found nor how frames are combined: a patch is a
 * cell of the surface (of single vertices if they are few) with its neighbours, fitted by Kabsch, and
 * frames are averaged. The count is given, so k-means on the sphere (Ng, Jordan & Weiss 2002) takes the
 * place of the alignment that finds it. Scales have a floor, so that rounding is no structure. Rotations do
 * not tell apart two limbs that turn alike, so clusters are split where they are not connected, and the
 * pieces merged again to the count by what a union cannot follow rigidly (face_cluster.c). */
#include "starts/spectral.h"

#include <math.h>
#include <string.h>

#include "math/eigen.h"
#include "math/elementary.h"
#include "math/walk.h"
#include "starts/cluster.h"
#include "starts/face_cluster.h"

enum { MOST_PATCHES = 512, SCALE_NEIGHBOUR = 7, MEANS_ROUNDS = 30 };

static const double LEAST_SCALE = 0.005; /* radians, half an angle: closer rotations are the same */

typedef struct Patches {
    Call *call;
    const Problem *problem;
    int count;
    int *cell; /* [v] the patch a vertex is in */
    RigidErrors errors;
    double *affinity; /* [patch][patch]; d^2 at first */
    double *scale;    /* [patch] */
} Patches;

/* ---- patches and their rotations */

static int choose_patches(Patches *patches) {
    const Problem *problem = patches->problem;
    const int n = problem->vertices;
    Arena *arena = &patches->call->arena;
    Walk walk;
    int *rank = arena_take(arena, (size_t)n, sizeof *rank);
    if (!walk_make(arena, &problem->graph, &walk)) {
        return 0;
    }
    walk_begin(&walk);
    for (int i = 0; i < patches->count; i++) {
        const int seed = (int)((2 * (int64_t)i + 1) * n / (2 * (int64_t)patches->count));
        rank[seed] = i;
        walk_source(&walk, seed);
    }
    walk_run(&walk, &problem->graph, n, INFINITY);
    for (int v = 0; v < n; v++) {
        patches->cell[v] = rank[walk.from[v]];
    }
    return 1;
}

/* A vertex counts in its own cell and in those beside it, once each. */
static void add_vertex(Patches *patches, int v, const double *x, int *seen) {
    const Graph *graph = &patches->problem->graph;
    for (int64_t e = graph->first[v] - 1; e < graph->first[v + 1]; e++) {
        const int cell = patches->cell[e < graph->first[v] ? v : graph->neighbour[e]];
        if (seen[cell] != v + 1) {
            seen[cell] = v + 1;
            rigid_error_add(&patches->errors, cell, patches->problem->mass[v],
                            patches->problem->rest + 3 * (size_t)v, x);
        }
    }
}

static int fit_patches(Patches *patches) {
    const Problem *problem = patches->problem;
    Arena *arena = &patches->call->arena;
    int *seen = arena_take(arena, (size_t)patches->count, sizeof *seen);
    double *x = arena_take(arena, 3 * (size_t)problem->frames, sizeof *x);
    if (!rigid_error_make(patches->call, patches->count, problem->frames, &patches->errors)) {
        return 0;
    }
    for (int v = 0; v < problem->vertices; v++) {
        if (v % BLOCK == 0 && call_poll(patches->call, -1)) {
            return 0;
        }
        problem_read(problem, v, x);
        add_vertex(patches, v, x, seen);
    }
    for (int i = 0; i < patches->count; i++) {
        rigid_error_fit(&patches->errors, i);
    }
    return 1;
}

/* ---- affinity */

/* |R - S|^2 = 8 sin^2(half the angle), which is exact where the angle is small */
static double half_angle_square(const double r[9], const double s[9]) {
    double apart = 0;
    for (int i = 0; i < 9; i++) {
        apart += (r[i] - s[i]) * (r[i] - s[i]);
    }
    const double half = elementary_asin(fmin(sqrt(apart / 8), 1));
    return half * half;
}

static void measure_row(void *user, int i, int worker) {
    const Patches *patches = user;
    const RigidErrors *errors = &patches->errors;
    if (worker == 0) {
        call_poll(patches->call, -1);
    }
    for (int l = 0; l < i && !patches->call->cancelled; l++) {
        double sum = 0;
        for (int f = 0; f < errors->frames; f++) {
            sum += half_angle_square(rigid_error_rotation(errors, i, f), rigid_error_rotation(errors, l, f));
        }
        patches->affinity[(size_t)i * (size_t)patches->count + (size_t)l] = sum / errors->frames;
    }
}

/* The distance of the SCALE_NEIGHBOUR-th nearest, by insertion into the nearest so far. */
static double scale_of(const double *row, int count, int own) {
    double nearest[SCALE_NEIGHBOUR];
    int found = 0;
    for (int l = 0; l < count; l++) {
        if (l == own || (found == SCALE_NEIGHBOUR && row[l] >= nearest[found - 1])) {
            continue;
        }
        int at = found < SCALE_NEIGHBOUR ? found++ : found - 1;
        for (; at > 0 && nearest[at - 1] > row[l]; at--) {
            nearest[at] = nearest[at - 1];
        }
        nearest[at] = row[l];
    }
    return fmax(found > 0 ? sqrt(nearest[found - 1]) : 0, LEAST_SCALE);
}

/* d^2 becomes N. */
static void normalise_affinity(Patches *patches, double *sum) {
    const size_t n = (size_t)patches->count;
    double *a = patches->affinity;
    for (size_t i = 0; i < n; i++) {
        for (size_t l = 0; l < i; l++) {
            a[l * n + i] = a[i * n + l];
        }
    }
    for (size_t i = 0; i < n; i++) {
        patches->scale[i] = scale_of(a + i * n, patches->count, (int)i);
    }
    for (size_t i = 0; i < n; i++) {
        sum[i] = 0;
        for (size_t l = 0; l < n; l++) {
            a[i * n + l] =
                i == l ? 0 : elementary_exp(-a[i * n + l] / (patches->scale[i] * patches->scale[l]));
            sum[i] += a[i * n + l];
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t l = 0; l < n; l++) {
            a[i * n + l] *= sum[i] > 0 && sum[l] > 0 ? 1 / sqrt(sum[i] * sum[l]) : 0;
        }
    }
}

/* ---- k-means on the sphere */

typedef struct Sphere {
    int points, means, dimensions;
    double *point, *mean; /* [points][dimensions], [means][dimensions] */
    double *nearest;      /* [points] largest product with a mean */
    int *label;
} Sphere;

static void to_length_one(double *x, int dimensions) {
    double square = 0;
    for (int d = 0; d < dimensions; d++) {
        square += x[d] * x[d];
    }
    for (int d = 0; d < dimensions; d++) {
        x[d] = square > 0 ? x[d] / sqrt(square) : d == 0;
    }
}

static void read_points(Sphere *sphere, const double *vector) {
    for (int i = 0; i < sphere->points; i++) {
        double *x = sphere->point + (size_t)i * (size_t)sphere->dimensions;
        for (int d = 0; d < sphere->dimensions; d++) {
            x[d] = vector[(size_t)d * (size_t)sphere->points + (size_t)i];
        }
        to_length_one(x, sphere->dimensions);
    }
}

static double product(const Sphere *sphere, int i, int m) {
    const double *x = sphere->point + (size_t)i * (size_t)sphere->dimensions;
    const double *y = sphere->mean + (size_t)m * (size_t)sphere->dimensions;
    double sum = 0;
    for (int d = 0; d < sphere->dimensions; d++) {
        sum += x[d] * y[d];
    }
    return sum;
}

/* Each mean begins at the point farthest from those before it. */
static void choose_means(Sphere *sphere) {
    const size_t size = (size_t)sphere->dimensions;
    int next = 0;
    for (int i = 0; i < sphere->points; i++) {
        sphere->nearest[i] = -INFINITY;
    }
    for (int m = 0; m < sphere->means; m++) {
        memcpy(sphere->mean + (size_t)m * size, sphere->point + (size_t)next * size, size * sizeof(double));
        next = 0;
        for (int i = 0; i < sphere->points; i++) {
            sphere->nearest[i] = fmax(sphere->nearest[i], product(sphere, i, m));
            next = sphere->nearest[i] < sphere->nearest[next] ? i : next;
        }
    }
}

static int assign_points(Sphere *sphere) {
    int changed = 0;
    for (int i = 0; i < sphere->points; i++) {
        int best = 0;
        double most = -INFINITY;
        for (int m = 0; m < sphere->means; m++) {
            const double near = product(sphere, i, m);
            best = near > most ? m : best;
            most = fmax(near, most);
        }
        changed += sphere->label[i] != best;
        sphere->label[i] = best;
    }
    return changed;
}

static void move_means(Sphere *sphere) {
    const size_t size = (size_t)sphere->dimensions;
    memset(sphere->mean, 0, (size_t)sphere->means * size * sizeof(double));
    for (size_t i = 0; i < (size_t)sphere->points; i++) {
        for (size_t d = 0; d < size; d++) {
            sphere->mean[(size_t)sphere->label[i] * size + d] += sphere->point[i * size + d];
        }
    }
    for (int m = 0; m < sphere->means; m++) {
        to_length_one(sphere->mean + (size_t)m * size, sphere->dimensions);
    }
}

static int run_means(Call *call, const double *vector, Sphere *sphere) {
    Arena *arena = &call->arena;
    const size_t size = (size_t)sphere->dimensions;
    sphere->point = arena_take(arena, (size_t)sphere->points * size, sizeof(double));
    sphere->mean = arena_take(arena, (size_t)sphere->means * size, sizeof(double));
    sphere->nearest = arena_take(arena, (size_t)sphere->points, sizeof(double));
    if (arena->failed) {
        return 0;
    }
    read_points(sphere, vector);
    choose_means(sphere);
    for (int round = 0; round < MEANS_ROUNDS && !call_poll(call, -1); round++) {
        if (!assign_points(sphere)) {
            break;
        }
        move_means(sphere);
    }
    return !call->cancelled;
}

/* label [patch] from the largest eigenvectors; 0 when the call must end. */
static int cluster_patches(Patches *patches, int bones, int *label) {
    Call *call = patches->call;
    const size_t n = (size_t)patches->count;
    const int k = bones < patches->count ? bones : patches->count;
    double *value = arena_take(&call->arena, n, sizeof *value);
    double *vector = arena_take(&call->arena, (size_t)k * n, sizeof *vector);
    double *room = arena_take(&call->arena, eigen_room(patches->count), sizeof *room);
    patches->affinity = arena_take(&call->arena, n * n, sizeof(double));
    patches->scale = arena_take(&call->arena, n, sizeof(double));
    if (call->arena.failed) {
        return 0;
    }
    parallel_run(call->pool, patches->count, measure_row, patches);
    normalise_affinity(patches, value);
    if (call_poll(call, -1)) {
        return 0;
    }
    memset(label, -1, n * sizeof *label);
    if (eigen_largest(patches->count, patches->affinity, k, value, vector, room)) {
        memset(label, 0, n * sizeof *label); /* no clusters: bones are added where the error is */
        return 1;
    }
    Sphere sphere = {.points = patches->count, .means = k, .dimensions = k, .label = label};
    return run_means(call, vector, &sphere);
}

/* ---- connected pieces */

/* piece [v] of connected vertices with the same label; returns how many. */
static int split_into_pieces(const Graph *graph, const int *label, int *piece, int *stack) {
    int pieces = 0;
    memset(piece, -1, (size_t)graph->vertices * sizeof *piece);
    for (int v = 0; v < graph->vertices; v++) {
        int depth = 0;
        if (piece[v] < 0) {
            piece[v] = pieces++;
            stack[depth++] = v;
        }
        while (depth > 0) {
            const int u = stack[--depth];
            for (int64_t e = graph->first[u]; e < graph->first[u + 1]; e++) {
                const int w = graph->neighbour[e];
                if (piece[w] < 0 && label[w] == label[u]) {
                    piece[w] = piece[u];
                    stack[depth++] = w;
                }
            }
        }
    }
    return pieces;
}

static int measure_pieces(Call *call, const Problem *problem, const int *piece, int pieces,
                          RigidErrors *errors, double *centre) {
    double *x = arena_take(&call->arena, 3 * (size_t)problem->frames, sizeof *x);
    if (!rigid_error_make(call, pieces, problem->frames, errors)) {
        return 0;
    }
    for (int v = 0; v < problem->vertices; v++) {
        const double *p = problem->rest + 3 * (size_t)v;
        if (v % BLOCK == 0 && call_poll(call, -1)) {
            return 0;
        }
        problem_read(problem, v, x);
        rigid_error_add(errors, piece[v], problem->mass[v], p, x);
        memcpy(centre + 3 * (size_t)piece[v], p, 3 * sizeof *p); /* lengths play no part in a collapse */
    }
    for (int i = 0; i < pieces; i++) {
        rigid_error_fit(errors, i);
    }
    return 1;
}

/* label [v] becomes connected clusters, `bones` of them if there are enough; returns how many or -1. */
static int connect_clusters(Call *call, const Problem *problem, int bones, int *label) {
    const size_t n = (size_t)problem->vertices;
    Graph graph;
    RigidErrors errors;
    int *piece = arena_take(&call->arena, n, sizeof *piece);
    int *merged = arena_take(&call->arena, n, sizeof *merged);
    double *centre = arena_take(&call->arena, 3 * n, sizeof *centre);
    if (call->arena.failed) {
        return -1;
    }
    const int pieces = split_into_pieces(&problem->graph, label, piece, merged);
    if (!measure_pieces(call, problem, piece, pieces, &errors, centre) ||
        !graph_of_cells(&call->arena, &problem->graph, pieces, piece, centre, &graph)) {
        return -1;
    }
    const int clusters =
        face_cluster_collapse(call, &graph, &errors, bones, cluster_tolerance(call, problem), merged);
    for (size_t v = 0; v < n && clusters > 0; v++) {
        label[v] = merged[piece[v]];
    }
    return clusters;
}

int spectral(Call *call, const Problem *problem, int bones, Model *model) {
    ArenaPiece *mark = arena_mark(&call->arena);
    Patches patches = {.call = call, .problem = problem};
    int clusters = -1;
    patches.count = problem->vertices < MOST_PATCHES ? problem->vertices : MOST_PATCHES;
    patches.cell = arena_take(&call->arena, (size_t)problem->vertices, sizeof(int));
    int *label = arena_take(&call->arena, (size_t)problem->vertices, sizeof *label);
    int *patch_label = arena_take(&call->arena, (size_t)patches.count, sizeof *patch_label);
    if (!call->arena.failed && choose_patches(&patches) && fit_patches(&patches) &&
        cluster_patches(&patches, bones, patch_label)) {
        for (int v = 0; v < problem->vertices; v++) {
            label[v] = patch_label[patches.cell[v]];
        }
        clusters = connect_clusters(call, problem, bones, label);
    }
    const int done = clusters > 0 && cluster_from(call, problem, label, clusters, bones, model);
    arena_return(&call->arena, mark);
    return done;
}

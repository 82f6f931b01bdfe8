/* test_pass.c - one pass over the vertices: its moments, errors and choices, against their definitions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "descent/pass.h"
#include "probe.h"
#include "synthetic.h"
#include "test.h"

/* A rig that does not quite fit, on vertices that count differently. */
static Synthetic open_noisy(Stage *stage, ossify_settings settings) {
    SyntheticOptions options = {
        .shape = SHAPE_TUBE, .vertices = 150, .frames = 6, .bones = 5, .influences = 3, .noise = 0.02};
    Synthetic s = synthetic_make(options);
    settings.influences = 3;
    stage_open(stage, &s.poses, &s.truth, settings);
    stage->problem.total_mass = 0;
    for (int v = 0; v < stage->problem.vertices; v++) {
        stage->problem.mass[v] = 1 + v % 3;
        stage->problem.total_mass += stage->problem.mass[v];
    }
    return s;
}

static void close_noisy(Stage *stage, Synthetic *s) {
    stage_close(stage);
    synthetic_free(s);
}

static double weight_of(const Model *model, int v, int b) {
    for (int k = 0; k < model->influences; k++) {
        if (model->bone[v * model->influences + k] == b) {
            return model->weight[v * model->influences + k];
        }
    }
    return 0;
}

TEST(pass_that_keeps_all_gives_moments_by_their_definition) {
    const PassPlan keep_all = {0};
    Stage stage;
    Synthetic s = open_noisy(&stage, plain_settings(5));
    const Problem *problem = &stage.problem;
    Model *model = &stage.model;
    Moments moments;
    double *x = calloc(3 * (size_t)problem->frames, sizeof *x), value;
    CHECK(pass_make(&stage.workshop.call, problem, model, &moments));
    value = pass_run(&stage.workshop.call, problem, model, &moments, &keep_all);
    CHECK_NEAR(value, model_objective(problem, model), 1e-9 * value);
    CHECK_NEAR(value, model_squared_error(problem, model), 1e-9 * value);
    for (int v = 0; v < problem->vertices; v++) {
        CHECK_NEAR(model->error[v], model_distance(problem, model, v), 1e-9);
    }
    for (int b = 0; b < model->bones; b++) {
        for (int c = 0; c < model->bones; c++) {
            for (int m = 0; m < PAIR; m++) {
                double sum = 0;
                for (int v = 0; v < problem->vertices; v++) {
                    const double p[4] = {model->rest[3 * v], model->rest[3 * v + 1], model->rest[3 * v + 2],
                                         1};
                    sum += problem->mass[v] * weight_of(model, v, b) * weight_of(model, v, c) * p[m / 4] *
                           p[m % 4];
                }
                CHECK_NEAR(moments.u[(b * model->capacity + c) * PAIR + m], sum, 1e-9);
            }
        }
    }
    for (int b = 0; b < model->bones; b++) {
        for (int row = 0; row < 3 * problem->frames; row++) {
            double sum[4] = {0};
            for (int v = 0; v < problem->vertices; v++) {
                problem_read(problem, v, x);
                for (int i = 0; i < 4; i++) {
                    sum[i] += problem->mass[v] * weight_of(model, v, b) * x[row] *
                              (i < 3 ? model->rest[3 * v + i] : 1);
                }
            }
            for (int i = 0; i < 4; i++) {
                CHECK_NEAR(moments.c[4 * (row * model->capacity + b) + i], sum[i], 1e-9);
            }
        }
    }
    free(x);
    close_noisy(&stage, &s);
}

TEST(pass_lowers_the_error_and_says_how_far) {
    for (int rest = 0; rest < 3; rest++) {
        const PassPlan plan = {
            .solve_weights = 1, .solve_rest = rest > 0, .rest_pull = rest == 2, .search = rest == 1};
        Stage stage;
        Synthetic s = open_noisy(&stage, plain_settings(5));
        Moments moments;
        double before = model_objective(&stage.problem, &stage.model), value, moved = 0;
        test_case("rest %d", rest);
        CHECK(pass_make(&stage.workshop.call, &stage.problem, &stage.model, &moments));
        value = pass_run(&stage.workshop.call, &stage.problem, &stage.model, &moments, &plan);
        CHECK(value < before);
        for (int i = 0; i < 3 * stage.problem.vertices; i++) {
            moved += stage.problem.mass[i / 3] * pow(stage.model.rest[i] - stage.problem.rest[i], 2);
        }
        CHECK(rest == 0 ? moved == 0 : moved > 0);
        CHECK_NEAR(value, model_objective(&stage.problem, &stage.model) + plan.rest_pull * moved,
                   1e-9 * value);
        close_noisy(&stage, &s);
    }
}

TEST(pass_keeps_to_the_candidates) {
    uint8_t candidates[400];
    PassPlan plan = {.solve_weights = 1, .candidates = candidates, .bytes = 1, .smoothing = 0.01};
    Stage stage;
    Synthetic s = open_noisy(&stage, plain_settings(5));
    Moments moments;
    CHECK(pass_make(&stage.workshop.call, &stage.problem, &stage.model, &moments));
    for (int v = 0; v < stage.problem.vertices; v++) {
        candidates[v] = (uint8_t)(v % 31 + 1);
    }
    pass_run(&stage.workshop.call, &stage.problem, &stage.model, &moments, &plan);
    for (int v = 0; v < stage.problem.vertices; v++) {
        for (int b = 0; b < 5; b++) {
            CHECK(weight_of(&stage.model, v, b) == 0 || candidates[v] >> b & 1);
        }
    }
    close_noisy(&stage, &s);
}

/* Also where a vertex may no longer use what it came with. */
TEST(pass_says_what_error_was_given) {
    uint8_t candidates[400];
    double given[400], before[400];
    const PassPlan plan = {
        .solve_weights = 1, .solve_rest = 1, .candidates = candidates, .bytes = 1, .given_error = given};
    Stage stage;
    Synthetic s = open_noisy(&stage, plain_settings(5));
    Moments moments;
    int changed = 0;
    CHECK(pass_make(&stage.workshop.call, &stage.problem, &stage.model, &moments));
    for (int v = 0; v < stage.problem.vertices; v++) {
        candidates[v] = (uint8_t)(1 << v % 5);
        before[v] = model_distance(&stage.problem, &stage.model, v);
    }
    pass_run(&stage.workshop.call, &stage.problem, &stage.model, &moments, &plan);
    for (int v = 0; v < stage.problem.vertices; v++) {
        CHECK_NEAR(given[v], before[v], 1e-9);
        changed += fabs(model_distance(&stage.problem, &stage.model, v) - before[v]) > 1e-6;
    }
    CHECK(changed > stage.problem.vertices / 2);
    close_noisy(&stage, &s);
}

TEST(pass_over_some_blocks_leaves_the_others) {
    const uint8_t only[] = {0, 1, 0, 0, 0, 0, 0};
    const PassPlan plan = {.solve_weights = 1, .only = only};
    Stage stage;
    Synthetic s = open_noisy(&stage, plain_settings(5));
    Moments moments;
    Model before;
    double value;
    CHECK(stage.problem.blocks > 1 && stage.problem.blocks <= (int)sizeof only);
    CHECK(model_make(&stage.workshop.call, &stage.problem, 5, 3, &before));
    CHECK(pass_make(&stage.workshop.call, &stage.problem, &stage.model, &moments));
    pass_run(&stage.workshop.call, &stage.problem, &stage.model, &moments, &(PassPlan){0});
    model_copy(&stage.problem, &stage.model, &before);
    value = pass_run(&stage.workshop.call, &stage.problem, &stage.model, &moments, &plan);
    CHECK_NEAR(value, model_objective(&stage.problem, &stage.model), 1e-9 * value);
    CHECK(value < model_squared_error(&stage.problem, &before));
    for (int v = 0; v < stage.problem.vertices; v++) {
        CHECK(v / BLOCK == 1 ||
              memcmp(stage.model.weight + 3 * v, before.weight + 3 * v, 3 * sizeof(double)) == 0);
    }
    close_noisy(&stage, &s);
}

TEST(pass_with_every_bone_a_candidate_is_the_plain_pass) {
    uint8_t candidates[400];
    const PassPlan plain = {.solve_weights = 1},
                   packed = {.solve_weights = 1, .candidates = candidates, .bytes = 1};
    Stage a, b;
    Synthetic s = open_noisy(&a, plain_settings(5)), t = open_noisy(&b, plain_settings(5));
    Moments moments, other;
    double value;
    memset(candidates, 31, sizeof candidates);
    CHECK(pass_make(&a.workshop.call, &a.problem, &a.model, &moments));
    CHECK(pass_make(&b.workshop.call, &b.problem, &b.model, &other));
    value = pass_run(&a.workshop.call, &a.problem, &a.model, &moments, &plain);
    CHECK_NEAR(pass_run(&b.workshop.call, &b.problem, &b.model, &other, &packed), value, 1e-12 * value);
    for (int i = 0; i < 3 * a.problem.frames * a.model.capacity * 4; i++) {
        CHECK_NEAR(moments.c[i], other.c[i], 1e-9);
    }
    close_noisy(&a, &s);
    close_noisy(&b, &t);
}

TEST(pass_leaves_held_vertices_their_weights) {
    SyntheticOptions options = {.vertices = 150, .frames = 6, .bones = 5, .influences = 3, .noise = 0.02};
    Synthetic s = synthetic_make(options);
    const PassPlan plan = {.solve_weights = 1, .search = 1};
    ossify_settings settings = plain_settings(5);
    uint8_t held[200];
    Stage stage;
    Moments moments;
    Model before;
    int changed = 0;
    for (int v = 0; v < 200; v++) {
        held[v] = v % 2 == 1;
    }
    s.truth.held_vertices = held;
    settings.influences = 3;
    stage_open(&stage, &s.poses, &s.truth, settings);
    CHECK(model_make(&stage.workshop.call, &stage.problem, 5, 3, &before));
    model_copy(&stage.problem, &stage.model, &before);
    CHECK(pass_make(&stage.workshop.call, &stage.problem, &stage.model, &moments));
    pass_run(&stage.workshop.call, &stage.problem, &stage.model, &moments, &plan);
    for (int v = 0; v < stage.problem.vertices; v++) {
        int same = memcmp(stage.model.weight + 3 * v, before.weight + 3 * v, 3 * sizeof(double)) == 0;
        CHECK_INT(stage.problem.held[v], held[stage.problem.caller[v]]);
        CHECK(same || !stage.problem.held[v]);
        changed += !same;
    }
    CHECK(changed > 0);
    stage_close(&stage);
    synthetic_free(&s);
}

/* With one influence, a bone's loss sends each of its vertices to the next best bone. */
TEST(pass_prices_the_removal_of_each_bone) {
    SyntheticOptions options = {.vertices = 150, .frames = 6, .bones = 5, .influences = 1, .noise = 0.01};
    Synthetic s = synthetic_make(options);
    double cost[5], wanted[5] = {0};
    const PassPlan plan = {.solve_weights = 1, .search = 1, .removal_cost = cost};
    ossify_settings settings = plain_settings(5);
    Stage stage;
    Moments moments;
    settings.influences = 1;
    stage_open(&stage, &s.poses, &s.truth, settings);
    CHECK(pass_make(&stage.workshop.call, &stage.problem, &stage.model, &moments));
    pass_run(&stage.workshop.call, &stage.problem, &stage.model, &moments, &plan);
    for (int v = 0; v < stage.problem.vertices; v++) {
        int own = stage.model.bone[v];
        double now = model_distance(&stage.problem, &stage.model, v), next = INFINITY;
        for (int b = 0; b < 5; b++) {
            stage.model.bone[v] = b;
            if (b != own) {
                next = fmin(next, model_distance(&stage.problem, &stage.model, v));
            }
        }
        stage.model.bone[v] = own;
        CHECK(next >= now);
        wanted[own] += next - now;
    }
    for (int b = 0; b < 5; b++) {
        CHECK_NEAR(cost[b], wanted[b], 1e-6 * (1 + wanted[b]));
    }
    stage_close(&stage);
    synthetic_free(&s);
}

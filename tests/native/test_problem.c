/* test_problem.c - poses as the solver sees them, whole and thinned, and the way back (levels). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "search/explore.h"
#include "search/levels.h"
#include "synthetic.h"
#include "test.h"

static Synthetic tentacle(int vertices, int frames, int shells) {
    SyntheticOptions options = {.shape = SHAPE_TUBE,
                                .vertices = vertices,
                                .frames = frames,
                                .bones = 4,
                                .influences = 1,
                                .shells = shells,
                                .seed = 8};
    return synthetic_make(options);
}

static ossify_settings one_influence(void) {
    ossify_settings settings = plain_settings(4);
    settings.influences = 1;
    return settings;
}

static int is_a_permutation(const int *order, int n) {
    uint8_t *seen = calloc((size_t)n, 1);
    int all = 1;
    for (int i = 0; i < n; i++) {
        if (order[i] < 0 || order[i] >= n || seen[order[i]]++) {
            all = 0;
        }
    }
    free(seen);
    return all;
}

TEST(problem_holds_the_positions_of_the_poses) {
    Synthetic s = tentacle(200, 7, 1);
    Stage stage;
    double x[21];
    stage_open(&stage, &s.poses, &s.truth, one_influence());
    CHECK(is_a_permutation(stage.problem.caller, stage.problem.vertices));
    CHECK(stage.problem.radius >= 0.5 && stage.problem.radius <= 1);
    for (int v = 0; v < stage.problem.vertices && !test_failed(); v++) {
        int64_t from = stage.problem.caller[v];
        double square = 0, far = 0;
        problem_read(&stage.problem, v, x);
        for (int i = 0; i < 21; i++) {
            double caller = stage.placement.frame_centre[i] + stage.placement.unit * x[i];
            CHECK_NEAR(caller, s.frames[3 * (i / 3 * s.poses.vertex_count + from) + i % 3], 3e-7);
            square += x[i] * x[i];
        }
        for (int a = 0; a < 3; a++) {
            double p = stage.problem.rest[3 * v + a];
            CHECK_NEAR(stage.placement.centre[a] + stage.placement.unit * p, s.rest[3 * from + a], 1e-12);
            far += p * p;
        }
        CHECK(sqrt(far) <= stage.problem.radius * (1 + 1e-9));
        CHECK_NEAR(stage.problem.square[v], square, 1e-12 * square);
        CHECK(stage.problem.mass[v] == 1);
    }
    stage_close(&stage);
    synthetic_free(&s);
}

TEST(problem_of_a_mesh_scaled_by_two_has_the_same_bits) {
    Synthetic s = tentacle(200, 5, 1), t = tentacle(200, 5, 1);
    Stage a, b;
    for (int64_t i = 0; i < 3 * t.poses.vertex_count * 5; i++) {
        t.frames[i] *= 1024;
    }
    for (int64_t i = 0; i < 3 * t.poses.vertex_count; i++) {
        t.rest[i] *= 1024;
    }
    stage_open(&a, &s.poses, &s.truth, one_influence());
    stage_open(&b, &t.poses, &t.truth, one_influence());
    CHECK(memcmp(a.problem.x, b.problem.x, 15 * BLOCK * (size_t)a.problem.blocks * sizeof(float)) == 0);
    CHECK(memcmp(a.problem.rest, b.problem.rest, 3 * (size_t)a.problem.vertices * sizeof(double)) == 0);
    CHECK_NEAR(b.placement.unit, 1024 * a.placement.unit, 0);
    stage_close(&a);
    stage_close(&b);
    synthetic_free(&s);
    synthetic_free(&t);
}

TEST(problem_does_not_depend_on_the_order_of_the_vertices) {
    Synthetic s = tentacle(200, 5, 1), t = tentacle(200, 5, 1);
    int64_t n = s.poses.vertex_count;
    Stage a, b;
    for (int64_t v = 0; v < n; v++) { /* backwards */
        for (int i = 0; i < 3; i++) {
            t.rest[3 * (n - 1 - v) + i] = s.rest[3 * v + i];
        }
        for (int64_t f = 0; f < 5; f++) {
            for (int i = 0; i < 3; i++) {
                t.frames[3 * (f * n + n - 1 - v) + i] = s.frames[3 * (f * n + v) + i];
            }
        }
    }
    for (int64_t i = 0; i < 3 * t.poses.triangle_count; i++) {
        t.triangles[i] = (int32_t)n - 1 - s.triangles[i];
    }
    stage_open(&a, &s.poses, &s.truth, one_influence());
    stage_open(&b, &t.poses, &t.truth, one_influence());
    for (int v = 0; v < n; v++) {
        CHECK_INT(b.problem.caller[v], n - 1 - a.problem.caller[v]);
    }
    CHECK(memcmp(a.problem.rest, b.problem.rest, 3 * (size_t)n * sizeof(double)) == 0);
    CHECK(memcmp(a.problem.graph.neighbour, b.problem.graph.neighbour,
                 (size_t)a.problem.graph.first[n] * sizeof(int)) == 0);
    stage_close(&a);
    stage_close(&b);
    synthetic_free(&s);
    synthetic_free(&t);
}

TEST(problem_erms_and_back) {
    Synthetic s = tentacle(100, 5, 1);
    Stage stage;
    double squared;
    stage_open(&stage, &s.poses, &s.truth, one_influence());
    squared = problem_squared(&stage.problem, 1.5);
    CHECK_NEAR(problem_erms(&stage.problem, squared), 1.5, 1e-12);
    /* every coordinate off by a thousandth of the radius */
    squared = 3.0 * stage.problem.vertices * 5 * pow(stage.problem.radius / 1000, 2);
    CHECK_NEAR(problem_erms(&stage.problem, squared), 1, 1e-12);
    stage_close(&stage);
    synthetic_free(&s);
}

TEST(middle_frame_is_the_one_most_like_the_others) {
    Synthetic s = tentacle(100, 9, 1);
    int64_t size = 3 * s.poses.vertex_count;
    for (int64_t f = 0; f < 9; f++) { /* away from the mean shape to both sides, each somewhere else */
        for (int64_t i = 0; i < size; i++) {
            s.frames[f * size + i] = s.rest[i] * (1 + 0.1f * (float)(f - 4)) + (float)(10 * f * (i % 3 == 0));
        }
    }
    CHECK_INT(problem_middle_frame(&s.poses), 4);
    s.poses.frame_count = 1;
    CHECK_INT(problem_middle_frame(&s.poses), 0);
    synthetic_free(&s);
}

TEST(thinned_vertices_stand_for_all) {
    enum { FEW = 60 };
    for (int shells = 1; shells <= 3; shells += 2) {
        Synthetic s = tentacle(400, 4, shells);
        Stage stage;
        Problem sample;
        int *cell = calloc((size_t)s.poses.vertex_count, sizeof *cell);
        double mass = 0, x[12], y[12];
        test_case("%d shells", shells);
        stage_open(&stage, &s.poses, &s.truth, one_influence());
        CHECK(problem_thin_vertices(&stage.workshop.call, &stage.problem, FEW, &sample, cell));
        CHECK_INT(sample.vertices, FEW);
        CHECK_INT(sample.frames, 4);
        for (int i = 0; i < FEW; i++) {
            int from = sample.caller[i];
            CHECK_INT(cell[from], i);
            CHECK(sample.mass[i] >= 1);
            mass += sample.mass[i];
            problem_read(&sample, i, x);
            problem_read(&stage.problem, from, y);
            CHECK(memcmp(x, y, sizeof x) == 0);
            CHECK(memcmp(sample.rest + 3 * i, stage.problem.rest + 3 * from, 3 * sizeof(double)) == 0);
            CHECK_NEAR(sample.square[i], stage.problem.square[from], 1e-12);
        }
        CHECK_NEAR(mass, stage.problem.vertices, 1e-9);
        for (int v = 0; v < stage.problem.vertices; v++) { /* a cell is near its vertex */
            double own = 0, span = 0;
            CHECK(cell[v] >= 0 && cell[v] < FEW);
            for (int a = 0; a < 3; a++) {
                own += pow(stage.problem.rest[3 * v + a] - sample.rest[3 * cell[v] + a], 2);
            }
            span = stage.problem.radius * stage.problem.radius;
            CHECK(own < span);
        }
        free(cell);
        stage_close(&stage);
        synthetic_free(&s);
    }
}

TEST(thinned_frames_are_those_that_differ_most) {
    enum { FRAMES = 30, FEW = 6 };
    Synthetic s = tentacle(100, FRAMES, 1);
    int64_t size = 3 * s.poses.vertex_count;
    Stage stage;
    Problem sample;
    int chosen[FRAMES], nearest[FRAMES];
    double x[3 * FRAMES], y[3 * FEW];
    for (int64_t f = 0; f < FRAMES; f++) { /* six poses, each five times with a little difference */
        for (int64_t i = 0; i < size; i++) {
            double phase = (double)(f / 5) + 0.7 * s.rest[i / 3 * 3 + 2];
            s.frames[f * size + i] = s.rest[i] + (float)(0.3 * sin(phase) * (i % 3 == 0) + 1e-4 * (double)f);
        }
    }
    stage_open(&stage, &s.poses, &s.truth, one_influence());
    CHECK(problem_thin_frames(&stage.workshop.call, &stage.problem, FEW, &sample, chosen, nearest));
    CHECK_INT(sample.frames, FEW);
    CHECK_INT(sample.vertices, stage.problem.vertices);
    for (int i = 0; i < FEW; i++) {
        for (int j = 0; j < i; j++) {
            CHECK(chosen[i] / 5 != chosen[j] / 5);
        }
    }
    for (int f = 0; f < FRAMES; f++) {
        CHECK_INT(chosen[nearest[f]] / 5, f / 5);
    }
    for (int v = 0; v < stage.problem.vertices; v++) {
        double square = 0;
        problem_read(&stage.problem, v, x);
        problem_read(&sample, v, y);
        for (int i = 0; i < 3 * FEW; i++) {
            CHECK(y[i] == x[3 * chosen[i / 3] + i % 3]);
            square += y[i] * y[i];
        }
        CHECK_NEAR(sample.square[v], square, 1e-12);
    }
    stage_close(&stage);
    synthetic_free(&s);
}

static double erms_of(const Stage *stage, const Model *model) {
    return problem_erms(&stage->problem, model_objective(&stage->problem, model));
}

/* Bones found on a few vertices and frames serve all of them. */
TEST(a_model_of_the_sample_is_carried_to_the_whole) {
    for (int thin = 0; thin < 4; thin++) { /* neither, frames, vertices, both */
        const Effort effort = {.sample_vertices = thin & 2 ? 150 : 1000,
                               .sample_frames = thin & 1 ? 10 : 1000,
                               .surplus = 1.5,
                               .warm = 10,
                               .between = 2,
                               .after = 40,
                               .tolerance = 1e-6};
        const PassPlan solve = {.solve_weights = 1, .search = 1};
        Synthetic s = tentacle(500, 36, 1);
        ossify_settings settings = one_influence();
        Stage stage;
        Levels levels;
        Model few, model;
        Moments moments;
        Call *call = &stage.workshop.call;
        int capacity = explore_capacity(4, &effort);
        settings.rest_mode = OSSIFY_REST_FIXED;
        settings.locality = 0;
        stage_open(&stage, &s.poses, &s.truth, settings);
        test_case("thinned %d", thin);
        call->to = 1;
        CHECK(levels_make(call, &stage.problem, &effort, &levels));
        CHECK_INT(levels.sample.vertices, thin & 2 ? 150 : stage.problem.vertices);
        CHECK_INT(levels.few.frames, thin & 1 ? 10 : 36);
        CHECK(model_make(call, &levels.few, capacity, 1, &few));
        CHECK(model_make(call, &stage.problem, capacity, 1, &model));
        CHECK(explore(call, &levels.few, 4, &effort, 0, &few));
        CHECK_INT(few.bones, 4);
        CHECK(problem_erms(&levels.few, model_objective(&levels.few, &few)) < 0.01);
        CHECK(levels_carry(call, &stage.problem, &levels, &few, 0, &model));
        CHECK_INT(model.bones, 4);
        CHECK(pass_make(call, &stage.problem, &model, &moments));
        pass_run(call, &stage.problem, &model, &moments, &solve);
        CHECK(erms_of(&stage, &model) < 0.01);
        stage_close(&stage);
        synthetic_free(&s);
    }
}

TEST(exploring_stops_when_it_is_good_enough) {
    const Effort effort = {
        .surplus = 1, .warm = 50, .after = 50, .cycles = 5, .cycle_warm = 6, .cycle_after = 20};
    Synthetic s = tentacle(200, 8, 1);
    Stage stage;
    Model model;
    Call *call = &stage.workshop.call;
    stage_open(&stage, &s.poses, &s.truth, one_influence());
    call->to = 1;
    CHECK(model_make(call, &stage.problem, explore_capacity(4, &effort), 1, &model));
    CHECK(explore(call, &stage.problem, 4, &effort, problem_squared(&stage.problem, 200), &model));
    CHECK(call->progress.iterations < 10);
    CHECK_INT(model.bones, 4);
    stage_close(&stage);
    synthetic_free(&s);
}

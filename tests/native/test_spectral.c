/* test_spectral.c - what is special to the clustering of rotations. */
#include <math.h>
#include <string.h>

#include "probe.h"
#include "starts/spectral.h"
#include "synthetic.h"
#include "test.h"

static Model spectral_model(Stage *stage, int bones) {
    Model model;
    CHECK(model_make(&stage->workshop.call, &stage->problem, bones, 1, &model));
    CHECK(spectral(&stage->workshop.call, &stage->problem, bones, &model));
    return model;
}

/* A strip whose two ends turn alike about axes of their own, the middle at rest. */
TEST(limbs_that_turn_alike_are_two_bones) {
    SyntheticOptions options = {
        .shape = SHAPE_TUBE, .vertices = 300, .frames = 6, .bones = 3, .influences = 1};
    Synthetic s = synthetic_make(options);
    const int64_t n = s.poses.vertex_count;
    Stage stage;
    int bone[3] = {-1, -1, -1};
    for (int64_t f = 0; f < 6; f++) {
        for (int64_t v = 0; v < n; v++) {
            const float *p = s.rest + 3 * v;
            const double turn = 0.2 * (double)f, z = p[2];
            const int part = z < -0.3 ? 0 : z < 0.3 ? 1 : 2;
            const double at = part == 0 ? -0.3 : 0.3, c = part == 1 ? 1 : cos(turn),
                         d = part == 1 ? 0 : sin(turn);
            float *x = s.frames + 3 * (f * n + v);
            x[0] = p[0];
            x[1] = (float)(c * p[1] - d * (z - at));
            x[2] = (float)(d * p[1] + c * (z - at) + at);
        }
    }
    stage_open(&stage, &s.poses, &s.truth, plain_settings(3));
    Model model = spectral_model(&stage, 3);
    CHECK_INT(model.bones, 3);
    for (int v = 0; v < stage.problem.vertices && !test_failed(); v++) {
        const double z = s.rest[3 * stage.problem.caller[v] + 2];
        const int part = z < -0.3 ? 0 : z < 0.3 ? 1 : 2;
        bone[part] = bone[part] < 0 ? model.bone[v] : bone[part];
        CHECK_INT(model.bone[v], bone[part]);
    }
    CHECK(bone[0] != bone[1] && bone[1] != bone[2] && bone[0] != bone[2]);
    stage_close(&stage);
    synthetic_free(&s);
}

/* Rotations say nothing here: the parts only shift. */
TEST(parts_that_shift_without_turning_are_found) {
    SyntheticOptions options = {
        .shape = SHAPE_BLOBS, .vertices = 300, .frames = 6, .bones = 3, .influences = 1, .shells = 3};
    Synthetic s = synthetic_make(options);
    const int64_t n = s.poses.vertex_count;
    Stage stage;
    for (int64_t i = 0; i < 18 * n; i++) {
        const int64_t f = i / (3 * n), v = i / 3 % n;
        const int part = s.truth.influence_bones[v];
        s.frames[i] = s.rest[i % (3 * n)] + (i % 3 == part ? (float)(0.3 * sin((double)f + part)) : 0);
    }
    stage_open(&stage, &s.poses, &s.truth, plain_settings(3));
    Model model = spectral_model(&stage, 3);
    CHECK_INT(model.bones, 3);
    CHECK(problem_erms(&stage.problem, model_objective(&stage.problem, &model)) < 1e-3);
    stage_close(&stage);
    synthetic_free(&s);
}

/* More vertices than patches: cells stand for them. */
TEST(parts_of_a_mesh_with_more_vertices_than_patches) {
    SyntheticOptions options = {
        .shape = SHAPE_TUBE, .vertices = 3000, .frames = 5, .bones = 7, .influences = 1};
    Synthetic s = synthetic_make(options);
    Stage stage;
    stage_open(&stage, &s.poses, &s.truth, plain_settings(7));
    Model model = spectral_model(&stage, 7);
    CHECK_INT(model.bones, 7);
    CHECK(problem_erms(&stage.problem, model_objective(&stage.problem, &model)) < 1e-3);
    stage_close(&stage);
    synthetic_free(&s);
}

TEST(more_bones_than_patches) {
    SyntheticOptions options = {.vertices = 20, .frames = 5, .bones = 3, .influences = 3, .noise = 0.1};
    Synthetic s = synthetic_make(options);
    Stage stage;
    stage_open(&stage, &s.poses, &s.truth, plain_settings(3));
    Model model = spectral_model(&stage, stage.problem.vertices + 4);
    CHECK(model.bones > 3 && model.bones <= stage.problem.vertices + 4);
    CHECK(problem_erms(&stage.problem, model_objective(&stage.problem, &model)) < 1e-3);
    stage_close(&stage);
    synthetic_free(&s);
}

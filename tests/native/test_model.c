/* test_model.c - bones that come and go leave their vertices in order. */
#include <string.h>

#include "probe.h"
#include "synthetic.h"
#include "test.h"

enum { BONES = 5, K = 3 };

static Synthetic open_model(Stage *stage) {
    SyntheticOptions options = {.vertices = 100, .frames = 3, .bones = BONES, .influences = K};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(BONES);
    settings.influences = K;
    stage_open(stage, &s.poses, &s.truth, settings);
    return s;
}

TEST(a_new_model_has_no_bones_and_the_given_rest) {
    Stage stage;
    Synthetic s = open_model(&stage);
    Model model;
    CHECK(model_make(&stage.workshop.call, &stage.problem, 7, 2, &model));
    CHECK_INT(model.bones, 0);
    CHECK_INT(model.capacity, 7);
    for (int i = 0; i < 2 * stage.problem.vertices; i++)
        CHECK(model.bone[i] == -1 && model.weight[i] == 0);
    CHECK(memcmp(model.rest, stage.problem.rest, 3 * (size_t)stage.problem.vertices * sizeof(double)) == 0);
    stage_close(&stage);
    synthetic_free(&s);
}

TEST(a_removed_bone_leaves_its_share_to_the_others) {
    for (int gone = 0; gone < BONES; gone += 2) { /* the first, one between, the last */
        Stage stage;
        Synthetic s = open_model(&stage);
        Model *model = &stage.model, before;
        int lost = 0;
        CHECK(model_make(&stage.workshop.call, &stage.problem, BONES, K, &before));
        model->held[2 * BONES + BONES - 1] = model->held_group[BONES - 1] = 1;
        model_copy(&stage.problem, model, &before);
        CHECK(memcmp(before.transform, model->transform, 9 * BONES * 4 * sizeof(double)) == 0);
        model_remove_bone(&stage.problem, model, gone);
        test_case("bone %d", gone);
        CHECK_INT(model->bones, BONES - 1);
        for (int row = 0; row < 9; row++) /* the last bone has taken the place */
            for (int b = 0; b < BONES - 1; b++)
                CHECK(memcmp(model->transform + 4 * (row * BONES + b),
                             before.transform + 4 * (row * BONES + (b == gone ? BONES - 1 : b)),
                             4 * sizeof(double)) == 0);
        CHECK(gone == BONES - 1 || model->held_group[gone] == 1);
        for (int f = 0; f < 3; f++)
            CHECK_INT(model->held[f * BONES + gone], f == 2);
        for (int v = 0; v < stage.problem.vertices && !test_failed(); v++) {
            double left = 0;
            int used = 0;
            for (int k = 0; k < K; k++)
                if (before.bone[K * v + k] >= 0 && before.bone[K * v + k] != gone)
                    left += before.weight[K * v + k];
            for (int k = 0; k < K; k++) {
                int b = before.bone[K * v + k];
                if (b < 0 || b == gone)
                    continue;
                CHECK_INT(model->bone[K * v + used], b == BONES - 1 ? gone : b);
                CHECK_NEAR(model->weight[K * v + used], before.weight[K * v + k] / left, 1e-12);
                used++;
            }
            lost += used == 0;
            for (int k = used; k < K; k++)
                CHECK(model->bone[K * v + k] == -1 && model->weight[K * v + k] == 0);
        }
        CHECK(lost > 0); /* its own patch has no bone until the next pass */
        stage_close(&stage);
        synthetic_free(&s);
    }
}

TEST(squared_error_counts_vertices_by_their_mass) {
    Stage stage;
    Synthetic s = open_model(&stage);
    double sum = 0;
    for (int v = 0; v < stage.problem.vertices; v++) {
        stage.model.error[v] = 0.5 * v;
        stage.problem.mass[v] = 1 + v % 4;
        sum += 0.5 * v * (1 + v % 4);
    }
    CHECK_NEAR(model_squared_error(&stage.problem, &stage.model), sum, 1e-9);
    stage_close(&stage);
    synthetic_free(&s);
}

/* test_reseed.c - first bones (cluster.c) and bones that go where the error is (reseed.c). */
#include "starts/reseed.h"

#include <math.h>
#include <string.h>

#include "descent/pass.h"
#include "probe.h"
#include "starts/cluster.h"
#include "synthetic.h"
#include "test.h"

static int vertices_of(const Model *model, const Problem *problem, int b) {
    int count = 0;
    for (int i = 0; i < problem->vertices * model->influences; i++) {
        count += model->bone[i] == b && model->weight[i] > 0;
    }
    return count;
}

TEST(cluster_finds_every_bone_of_a_rigid_rig) {
    for (int shape = 0; shape < 3; shape++) {
        for (int shells = 1; shells <= 4; shells += 3) {
            for (int faceless = 0; faceless < 2; faceless++) {
                SyntheticOptions options = {.shape = (Shape)shape,
                                            .vertices = 400,
                                            .frames = 10,
                                            .bones = 8,
                                            .influences = 1,
                                            .shells = shells,
                                            .faceless = faceless};
                Synthetic s = synthetic_make(options);
                ossify_settings settings = plain_settings(8);
                Stage stage;
                Model model;
                settings.influences = 1;
                stage_open(&stage, &s.poses, &s.truth, settings);
                CHECK(model_make(&stage.workshop.call, &stage.problem, 12, 3, &model));
                CHECK(cluster(&stage.workshop.call, &stage.problem, 12, &model));
                test_case("shape %d, %d shells, faceless %d", shape, shells, faceless);
                CHECK(model.bones >= 8);
                for (int v = 0; v < stage.problem.vertices && !test_failed(); v++) {
                    CHECK(model.bone[3 * v] >= 0 && model.bone[3 * v] < model.bones);
                    CHECK(model.bone[3 * v + 1] == -1 && model.weight[3 * v] == 1);
                }
                CHECK(problem_erms(&stage.problem, model_objective(&stage.problem, &model)) < 1);
                stage_close(&stage);
                synthetic_free(&s);
            }
        }
    }
}

TEST(cluster_gives_as_many_bones_as_the_motion_allows) {
    SyntheticOptions options = {.vertices = 200, .frames = 10, .bones = 6, .influences = 4, .noise = 0.02};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(6);
    Stage stage;
    stage_open(&stage, &s.poses, &s.truth, settings);
    for (int bones = 1; bones <= 24; bones++) {
        Model model;
        CHECK(model_make(&stage.workshop.call, &stage.problem, bones, 1, &model));
        CHECK(cluster(&stage.workshop.call, &stage.problem, bones, &model));
        CHECK_INT(model.bones, bones);
        for (int b = 0; b < bones; b++) {
            CHECK(vertices_of(&model, &stage.problem, b) > 0);
        }
    }
    stage_close(&stage);
    synthetic_free(&s);
}

TEST(cluster_of_a_mesh_that_does_not_move_is_one_bone) {
    SyntheticOptions options = {.vertices = 100, .frames = 4, .motion = 1e-12};
    Synthetic s = synthetic_make(options);
    Stage stage;
    Model model;
    stage_open(&stage, &s.poses, &s.truth, plain_settings(4));
    CHECK(model_make(&stage.workshop.call, &stage.problem, 10, 2, &model));
    CHECK(cluster(&stage.workshop.call, &stage.problem, 10, &model));
    CHECK_INT(model.bones, 1);
    stage_close(&stage);
    synthetic_free(&s);
}

/* One patch of a rig has lost its bone: the new one must come there, and fit it. */
TEST(a_new_bone_goes_where_the_error_is) {
    SyntheticOptions options = {
        .shape = SHAPE_TUBE, .vertices = 300, .frames = 8, .bones = 5, .influences = 1};
    for (int lost = 0; lost < 5; lost++) {
        Synthetic s = synthetic_make(options);
        const PassPlan keep_all = {0}, solve = {.solve_weights = 1};
        ossify_settings settings = plain_settings(5);
        Stage stage;
        Moments moments;
        Call *call = &stage.workshop.call;
        Model *model = &stage.model;
        double before, after;
        int inside = 0, all = 0;
        settings.influences = 1;
        stage_open(&stage, &s.poses, &s.truth, settings);
        test_case("bone %d", lost);
        CHECK(pass_make(call, &stage.problem, model, &moments));
        model_remove_bone(&stage.problem, model, lost);
        pass_run(call, &stage.problem, model, &moments, &solve);
        before = model_objective(&stage.problem, model);
        CHECK_INT(reseed_insert(call, &stage.problem, model, 1, NULL), 1);
        CHECK_INT(model->bones, 5);
        for (int v = 0; v < stage.problem.vertices; v++) {
            if (model->bone[v] == 4) {
                all++;
                inside += s.truth.influence_bones[stage.problem.caller[v]] == lost;
            }
        }
        CHECK(all > 0 && 2 * inside > all);
        pass_run(call, &stage.problem, model, &moments, &solve);
        pass_run(call, &stage.problem, model, &moments, &keep_all);
        after = model_objective(&stage.problem, model);
        CHECK(after < 0.5 * before);
        stage_close(&stage);
        synthetic_free(&s);
    }
}

TEST(no_bone_is_inserted_where_all_is_explained) {
    SyntheticOptions options = {.vertices = 200, .frames = 6, .bones = 3, .influences = 1};
    Synthetic s = synthetic_make(options);
    const PassPlan keep_all = {0};
    ossify_settings settings = plain_settings(3);
    Stage stage;
    Moments moments;
    Model model;
    uint64_t random = 3;
    settings.influences = 1;
    stage_open(&stage, &s.poses, &s.truth, settings);
    CHECK(model_make(&stage.workshop.call, &stage.problem, 6, 1, &model));
    for (int row = 0; row < 18; row++) {
        memcpy(model.transform + 24 * row, stage.model.transform + 12 * row, 12 * sizeof(double));
    }
    model_copy_vertices(&stage.problem, &stage.model, &model);
    model.bones = 3;
    CHECK(pass_make(&stage.workshop.call, &stage.problem, &model, &moments));
    pass_run(&stage.workshop.call, &stage.problem, &model, &moments, &keep_all);
    CHECK_INT(reseed_insert(&stage.workshop.call, &stage.problem, &model, 3, NULL), 0);
    CHECK_INT(reseed_insert(&stage.workshop.call, &stage.problem, &model, 3, &random), 0);
    CHECK_INT(model.bones, 3);
    stage_close(&stage);
    synthetic_free(&s);
}

TEST(inserted_bones_leave_held_vertices_alone) {
    SyntheticOptions options = {.vertices = 150, .frames = 6, .bones = 3, .influences = 2, .noise = 0.05};
    Synthetic s = synthetic_make(options);
    const PassPlan keep_all = {0};
    uint8_t held[200];
    Stage stage;
    Moments moments;
    for (int v = 0; v < 200; v++) {
        held[v] = v % 2 == 0;
    }
    s.truth.held_vertices = held;
    stage_open(&stage, &s.poses, &s.truth, plain_settings(3));
    stage.model.bones = 2;
    CHECK(pass_make(&stage.workshop.call, &stage.problem, &stage.model, &moments));
    for (int i = 0; i < stage.problem.vertices * stage.model.influences; i++) {
        stage.model.bone[i] = stage.model.bone[i] == 2 ? 1 : stage.model.bone[i];
    }
    pass_run(&stage.workshop.call, &stage.problem, &stage.model, &moments, &keep_all);
    CHECK_INT(reseed_insert(&stage.workshop.call, &stage.problem, &stage.model, 1, NULL), 1);
    for (int v = 0; v < stage.problem.vertices; v++) {
        for (int k = 0; k < stage.model.influences; k++) {
            CHECK(stage.model.bone[stage.model.influences * v + k] != 2 || !stage.problem.held[v]);
        }
    }
    CHECK(vertices_of(&stage.model, &stage.problem, 2) > 0);
    memset(held, 1, sizeof held);
    stage.problem.held = held;
    stage.model.bones = 2;
    CHECK_INT(reseed_insert(&stage.workshop.call, &stage.problem, &stage.model, 1, NULL), 0);
    stage_close(&stage);
    synthetic_free(&s);
}

TEST(the_cheapest_bone_is_one_that_may_leave) {
    const double cost[4] = {3, 1, 0.5, 2};
    uint8_t stays[4] = {0};
    Model model = {.bones = 4, .capacity = 4, .stays = stays};
    CHECK_INT(reseed_cheapest(&model, cost), 2);
    stays[2] = 1;
    CHECK_INT(reseed_cheapest(&model, cost), 1);
    memset(stays, 1, sizeof stays);
    CHECK_INT(reseed_cheapest(&model, cost), -1);
}

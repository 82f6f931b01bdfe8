/* test_prune.c - bones leave until as many are left as asked for, and no part of a body with them. */
#include "search/prune.h"

#include "probe.h"
#include "starts/cluster.h"
#include "synthetic.h"
#include "test.h"

/* A tentacle of sixteen parts whose weights blend three at a time. First sight let a part go and kept a bone that
 * had got in between two others: 0.6 to 1.7 were left of each of these. */
TEST(every_part_of_a_tentacle_is_found) {
    static const int seeds[] = {1, 4};
    for (int i = 0; i < (SLOW_BUILD ? 1 : 2); i++) {
        SyntheticOptions options = {.shape = SHAPE_TUBE,
                                    .vertices = 960,
                                    .frames = 24,
                                    .bones = 16,
                                    .influences = 3,
                                    .jointed = 1,
                                    .seed = (uint64_t)seeds[i]};
        Synthetic made = synthetic_make(options);
        ossify_settings settings = plain_settings(16);
        Answer answer = answer_start(&made.poses, &settings);
        double most;
        test_case("seed %d", seeds[i]);
        CHECK(ossify_decompose(&made.poses, &settings, &answer.rig, &answer.info) >= 0);
        check_rig(&made.poses, &answer.rig, 1);
        CHECK_INT(answer.rig.bones, 16);
        CHECK(answer.info.erms < 0.1);
        CHECK(replay_error(&made.poses, &answer.rig, &most) < 3e-4);
        answer_free(&answer);
        synthetic_free(&made);
    }
}

/* More bones than a body has parts: the surplus leaves, with trials and without, and the motion stays. */
TEST(surplus_bones_leave_without_a_trace) {
    for (int tried = 0; tried < 2; tried++) {
        SyntheticOptions options = {.shape = SHAPE_TUBE, .vertices = 400, .bones = 6, .jointed = 1};
        Synthetic made = synthetic_make(options);
        Stage stage;
        Model model;
        Descent descent;
        Trials trials;
        stage_open(&stage, &made.poses, &made.truth, plain_settings(6));
        Call *call = &stage.workshop.call;
        CHECK(model_make(call, &stage.problem, 9, stage.model.influences, &model));
        CHECK(cluster(call, &stage.problem, 9, &model));
        CHECK(descent_make(call, &stage.problem, &model, &descent));
        CHECK(prune_trials(call, &stage.problem, &model, &trials));
        descent_restart(&descent);
        CHECK(descent_run(&descent, 60, 0, 0) != DESCENT_STOPPED);
        CHECK(prune(&descent, 6, 20, tried ? &trials : NULL));
        test_case("with trials %d", tried);
        CHECK_INT(model.bones, 6);
        CHECK(problem_erms(&stage.problem, model_objective(&stage.problem, &model)) < 1);
        stage_close(&stage);
        synthetic_free(&made);
    }
}

/* The last bone takes the number of each that leaves, so what vertices may use must be written anew, also when no
 * iteration is asked for in between, or the next bone is priced by what another one was. */
TEST(bones_that_leave_at_once_are_known_by_their_new_numbers) {
    SyntheticOptions options = {.shape = SHAPE_TUBE, .vertices = 400, .bones = 6, .jointed = 1};
    Synthetic made = synthetic_make(options);
    Stage stage;
    Model model;
    Descent descent;
    stage_open(&stage, &made.poses, &made.truth, plain_settings(6));
    Call *call = &stage.workshop.call;
    CHECK(model_make(call, &stage.problem, 10, stage.model.influences, &model));
    CHECK(cluster(call, &stage.problem, 10, &model));
    CHECK(descent_make(call, &stage.problem, &model, &descent));
    CHECK(descent.local);
    descent_restart(&descent);
    CHECK(descent_run(&descent, 5, 0, 0) != DESCENT_STOPPED);
    CHECK(prune(&descent, 6, 0, NULL));
    CHECK_INT(model.bones, 6);
    for (int v = 0; v < stage.problem.vertices && !test_failed(); v++) {
        const uint8_t *may = descent.plan.candidates + v * descent.plan.bytes;
        double sum = 0;
        for (int b = 0; b < 8 * descent.plan.bytes; b++) {
            CHECK(b < 6 || !(may[b / 8] >> b % 8 & 1));
        }
        for (int i = v * model.influences; i < (v + 1) * model.influences; i++) {
            CHECK(model.bone[i] < 6);
            CHECK(model.bone[i] < 0 || may[model.bone[i] / 8] >> model.bone[i] % 8 & 1);
            sum += model.weight[i];
        }
        CHECK_NEAR(sum, 1, 1e-9);
    }
    stage_close(&stage);
    synthetic_free(&made);
}

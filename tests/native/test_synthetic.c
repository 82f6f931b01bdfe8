/* test_synthetic.c - the made-up rigs are what they claim to be. */
#include "synthetic.h"

#include "test.h"

TEST(synthetic_rigs_replay_their_frames) {
    for (int shape = 0; shape < 3; shape++) {
        for (int shells = 1; shells <= 3; shells++) {
            for (int influences = 1; influences <= 8; influences += 3) {
                SyntheticOptions options = {.shape = (Shape)shape,
                                            .shells = shells,
                                            .influences = influences,
                                            .bones = 6,
                                            .flexible = influences == 4,
                                            .seed = 3};
                Synthetic s = synthetic_make(options);
                test_case("shape %d, %d shells, %d influences", shape, shells, influences);
                check_rig(&s.poses, &s.truth, !options.flexible);
                CHECK_NEAR(replay_error(&s.poses, &s.truth, NULL), 0, 1e-6);
                CHECK_NEAR(s.poses.vertex_count, 600, 60);
                synthetic_free(&s);
            }
        }
    }
}

TEST(synthetic_bones_each_own_a_patch) {
    SyntheticOptions options = {
        .shape = SHAPE_TUBE, .bones = 12, .influences = 4, .shells = 2, .vertices = 2000};
    Synthetic s = synthetic_make(options);
    int owned[12] = {0};
    for (int64_t v = 0; v < s.poses.vertex_count; v++) {
        if (s.truth.influence_weights[v * 4] > 0.999f) {
            owned[s.truth.influence_bones[v * 4]]++;
        }
    }
    for (int b = 0; b < 12; b++) {
        CHECK(owned[b] >= 4);
    }
    synthetic_free(&s);
}

TEST(synthetic_shells_share_bones_when_there_are_few) {
    SyntheticOptions options = {.shape = SHAPE_BLOBS, .bones = 2, .shells = 5};
    Synthetic s = synthetic_make(options);
    check_rig(&s.poses, &s.truth, 1);
    CHECK_INT(s.truth.influence_bones[(s.poses.vertex_count - 1) * s.truth.influences], 0);
    synthetic_free(&s);
}

TEST(synthetic_noise_has_the_size_asked_for) {
    SyntheticOptions options = {.noise = 0.01, .vertices = 2000};
    Synthetic s = synthetic_make(options);
    CHECK_NEAR(replay_error(&s.poses, &s.truth, NULL), 0.01 * 1.7320508, 0.0005);
    synthetic_free(&s);
}

TEST(synthetic_rigs_are_the_same_for_the_same_seed) {
    SyntheticOptions options = {.seed = 5};
    Synthetic a = synthetic_make(options), b = synthetic_make(options);
    CHECK(rigs_are_equal(&a.poses, &a.truth, &b.truth));
    options.seed = 6;
    synthetic_free(&b);
    b = synthetic_make(options);
    CHECK(!rigs_are_equal(&a.poses, &a.truth, &b.truth));
    synthetic_free(&a);
    synthetic_free(&b);
}

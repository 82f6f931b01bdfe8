/* test_decompose.c - whole calls: known rigs come back, answers are optimal, odd meshes end well, what is
 * held stays, budgets are met. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "judge.h"
#include "probe.h"
#include "synthetic.h"
#include "test.h"

static Answer solve(const ossify_poses *poses, ossify_settings settings) {
    Answer answer = answer_start(poses, &settings);
    CHECK(ossify_decompose(poses, &settings, &answer.rig, &answer.info) >= 0);
    CHECK_INT(answer.info.bones, answer.rig.bones);
    check_rig(poses, &answer.rig, settings.bone_kind == OSSIFY_RIGID);
    return answer;
}

/* A rig for `s` that is near the truth. */
static Answer near_truth(const Synthetic *s, double off) {
    Answer answer = answer_of(&s->poses, &s->truth);
    for (int64_t i = 0; i < s->poses.frame_count * s->truth.bones * 12; i++) {
        if (i % 4 == 3) {
            answer.rig.transforms[i] += off * sin((double)i);
        }
    }
    return answer;
}

static ossify_settings refit_settings(const Synthetic *s) {
    ossify_settings settings = plain_settings(s->truth.bones);
    settings.influences = s->truth.influences;
    return settings;
}

/* ---- known rigs */

/* Plain least squares, as hard as it can. */
static ossify_settings hard_settings(int64_t bones, int64_t influences) {
    ossify_settings settings = plain_settings(bones);
    settings.influences = influences;
    settings.quality = OSSIFY_BEST;
    settings.locality = 0;
    settings.rest_mode = OSSIFY_REST_FIXED;
    settings.iterations = 400;
    return settings;
}

static void check_comes_back(SyntheticOptions options) {
    Synthetic s = synthetic_make(options);
    ossify_settings settings = hard_settings(options.bones, options.influences);
    Answer answer;
    settings.bone_kind = options.flexible;
    answer = solve(&s.poses, settings);
    test_case("shape %d, %d bones, %d influences, %d shells, flexible %d, faceless %d", options.shape,
              options.bones, options.influences, options.shells, options.flexible, options.faceless);
    CHECK_INT(answer.rig.bones, options.bones);
    CHECK(answer.info.erms < 1e-3); /* a millionth of the radius; the frames' own rounding is 1e-5 */
    answer_free(&answer);
    synthetic_free(&s);
}

TEST(rigs_of_any_number_of_influences_come_back) {
    for (int k = 1; k <= 8; k++) {
        check_comes_back((SyntheticOptions){.shape = (Shape)(k % 3),
                                            .vertices = 200,
                                            .frames = 15,
                                            .bones = 4,
                                            .influences = k,
                                            .flexible = k % 4 == 3,
                                            .seed = 1});
    }
}

TEST(rigs_of_several_shells_come_back) {
    for (int shells = 2; shells <= 4; shells++) {
        for (int flexible = 0; flexible < 2; flexible++) {
            check_comes_back((SyntheticOptions){.shape = (Shape)(shells % 3),
                                                .vertices = 200,
                                                .frames = 15,
                                                .bones = 4,
                                                .influences = 2,
                                                .shells = shells,
                                                .flexible = flexible,
                                                .seed = 2});
        }
    }
}

TEST(rigs_without_faces_come_back) {
    for (int shells = 1; shells <= 3; shells += 2) {
        check_comes_back((SyntheticOptions){.shape = SHAPE_BLOBS,
                                            .vertices = 200,
                                            .frames = 15,
                                            .bones = 3,
                                            .influences = 2,
                                            .shells = shells,
                                            .faceless = 1});
    }
}

TEST(rigs_of_one_bone_come_back) {
    for (int flexible = 0; flexible < 2; flexible++) {
        check_comes_back((SyntheticOptions){
            .vertices = 100, .frames = 6, .bones = 1, .influences = 1, .shells = 1, .flexible = flexible});
    }
}

/* Local weights are a little off the true ones; a rig whose weights are local by themselves is not. */
TEST(rigid_patches_come_back_with_every_default) {
    SyntheticOptions options = {
        .shape = SHAPE_TUBE, .vertices = 300, .frames = 12, .bones = 5, .influences = 1};
    Synthetic s = synthetic_make(options);
    Answer answer = solve(&s.poses, plain_settings(5));
    CHECK(answer.info.erms < 1e-2);
    answer_free(&answer);
    synthetic_free(&s);
}

/* The true rig leaves the noise; the best one leaves less. */
TEST(noise_is_all_that_is_left_of_a_noisy_rig) {
    static const double noises[] = {1e-4, 1e-3, 1e-2, 5e-2};
    for (int i = 0; i < 4; i++) {
        for (int flexible = 0; flexible < 2; flexible++) {
            SyntheticOptions options = {.vertices = 200,
                                        .frames = 12,
                                        .bones = 4,
                                        .influences = 2,
                                        .noise = noises[i],
                                        .flexible = flexible,
                                        .seed = 5};
            Synthetic s = synthetic_make(options);
            ossify_settings settings = hard_settings(4, 2);
            Answer answer;
            settings.bone_kind = flexible;
            answer = solve(&s.poses, settings);
            test_case("noise %g, flexible %d", noises[i], flexible);
            CHECK(replay_error(&s.poses, &answer.rig, NULL) <= replay_error(&s.poses, &s.truth, NULL));
            answer_free(&answer);
            synthetic_free(&s);
        }
    }
}

TEST(a_rest_pose_is_found_when_none_is_given) {
    for (int flexible = 0; flexible < 2; flexible++) {
        SyntheticOptions options = {.shape = SHAPE_TUBE,
                                    .vertices = 200,
                                    .frames = 15,
                                    .bones = 3,
                                    .influences = 2,
                                    .flexible = flexible,
                                    .motion = 0.5};
        Synthetic s = synthetic_make(options);
        ossify_settings settings = hard_settings(3, 2);
        Answer answer;
        settings.rest_mode = OSSIFY_REST_KEPT;
        settings.bone_kind = flexible;
        s.poses.rest = NULL;
        answer = solve(&s.poses, settings);
        test_case("flexible %d", flexible);
        CHECK(answer.info.erms < 0.5);
        answer_free(&answer);
        synthetic_free(&s);
    }
}

/* A rest pose with errors of its own is mended where it may be. */
TEST(a_wrong_rest_pose_is_corrected_as_far_as_allowed) {
    SyntheticOptions options = {.vertices = 200, .frames = 15, .bones = 3, .influences = 2};
    Synthetic s = synthetic_make(options);
    double erms[3], moved[3] = {0, 0, 0};
    for (int64_t i = 0; i < 3 * s.poses.vertex_count; i++) {
        s.rest[i] += 0.02f * (float)(i % 7 - 3) / 3;
    }
    for (int mode = OSSIFY_REST_FIXED; mode <= OSSIFY_REST_FREE; mode++) {
        ossify_settings settings = hard_settings(3, 2);
        Answer answer;
        settings.rest_mode = mode;
        answer = solve(&s.poses, settings);
        erms[mode] = answer.info.erms;
        for (int64_t i = 0; i < 3 * s.poses.vertex_count; i++) {
            moved[mode] += pow(answer.rig.rest[i] - s.rest[i], 2);
        }
        answer_free(&answer);
    }
    CHECK(moved[OSSIFY_REST_FIXED] == 0);
    CHECK(erms[OSSIFY_REST_KEPT] < 0.5 * erms[OSSIFY_REST_FIXED]);
    CHECK(erms[OSSIFY_REST_FREE] < erms[OSSIFY_REST_KEPT]);
    CHECK(erms[OSSIFY_REST_FREE] < 0.1);
    synthetic_free(&s);
}

/* ---- optimality */

static Synthetic noisy_rig(int flexible) {
    SyntheticOptions options = {.shape = SHAPE_TUBE,
                                .vertices = 200,
                                .frames = 8,
                                .bones = 5,
                                .influences = 4,
                                .noise = 0.02,
                                .flexible = flexible,
                                .seed = 9};
    return synthetic_make(options);
}

TEST(written_weights_are_optimal_on_their_bones) {
    for (int quality = OSSIFY_DRAFT; quality <= OSSIFY_BEST; quality++) {
        for (int mode = OSSIFY_REST_FIXED; mode <= OSSIFY_REST_FREE; mode++) {
            Synthetic s = noisy_rig(quality == OSSIFY_NORMAL);
            ossify_settings settings = plain_settings(6);
            Answer answer;
            settings.quality = quality;
            settings.rest_mode = mode;
            settings.locality = 0;
            settings.bone_kind = quality == OSSIFY_NORMAL;
            settings.iterations = quality == OSSIFY_BEST ? 20 : 0;
            answer = solve(&s.poses, settings);
            test_case("quality %d, rest mode %d", quality, mode);
            judge_weights(&s.poses, &answer.rig, NULL);
            answer_free(&answer);
            synthetic_free(&s);
        }
    }
}

TEST(written_weights_sum_to_one_exactly) {
    for (int local = 0; local < 2; local++) {
        Synthetic s = noisy_rig(0);
        ossify_settings settings = plain_settings(6);
        Answer answer;
        settings.locality = local;
        settings.influences = 5;
        answer = solve(&s.poses, settings);
        for (int64_t v = 0; v < s.poses.vertex_count; v++) {
            float sum = 0;
            for (int k = 4; k >= 0; k--) {
                sum += answer.rig.influence_weights[5 * v + k];
            }
            CHECK(sum == 1);
        }
        answer_free(&answer);
        synthetic_free(&s);
    }
}

TEST(bones_of_a_settled_rig_cannot_be_moved_to_a_lower_error) {
    for (int flexible = 0; flexible < 2; flexible++) {
        Synthetic s = noisy_rig(flexible);
        ossify_settings settings = hard_settings(5, 4);
        Answer answer;
        settings.bone_kind = flexible;
        settings.iterations = 2000;
        answer = solve(&s.poses, settings);
        test_case("flexible %d", flexible);
        judge_bones(&s.poses, &answer.rig, 1e-5);
        answer_free(&answer);
        synthetic_free(&s);
    }
}

/* What the watcher saw of the last stage: one error for each iteration. */
typedef struct Falls {
    int64_t iteration, seen;
    double before, rises; /* the largest rise, relative */
} Falls;

static void see_fall(void *user, const ossify_progress *progress) {
    Falls *falls = user;
    if (progress->stage != OSSIFY_STAGE_REFINE || progress->erms < 0) {
        return;
    }
    if (progress->iterations == falls->iteration + 1 && falls->iteration > 0) {
        falls->rises = fmax(falls->rises, progress->erms / falls->before - 1);
        falls->seen++;
    }
    falls->iteration = progress->iterations;
    falls->before = progress->erms;
}

TEST(the_error_never_rises) {
    for (int way = 0; way < 4; way++) {
        Synthetic s = noisy_rig(way % 2);
        ossify_settings settings = refit_settings(&s);
        Falls falls = {0};
        Watcher watcher = {.see = see_fall, .see_user = &falls};
        Answer answer = near_truth(&s, 0.1);
        settings.bone_kind = way % 2;
        settings.rest_mode = way / 2 ? OSSIFY_REST_FREE : OSSIFY_REST_FIXED;
        settings.locality = 0;
        settings.quality = OSSIFY_BEST;
        settings.iterations = 60;
        watcher_join(&watcher, &settings);
        test_case("flexible %d, rest mode %d", way % 2, (int)settings.rest_mode);
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        CHECK(falls.seen > 5);
        CHECK(falls.rises < 1e-7);
        CHECK(answer.info.erms <= falls.before * (1 + 1e-6));
        answer_free(&answer);
        synthetic_free(&s);
    }
}

TEST(more_effort_gives_less_error) {
    Synthetic s = noisy_rig(0);
    double last = INFINITY;
    for (int quality = OSSIFY_DRAFT; quality <= OSSIFY_BEST; quality++) {
        ossify_settings settings = plain_settings(8);
        Answer answer;
        settings.quality = quality;
        settings.locality = 0;
        answer = solve(&s.poses, settings);
        CHECK(answer.info.erms <= last * 1.02);
        last = answer.info.erms;
        answer_free(&answer);
    }
    synthetic_free(&s);
}

TEST(more_bones_and_influences_give_less_error) {
    Synthetic s = noisy_rig(0);
    double last = INFINITY;
    for (int size = 1; size <= 4; size++) {
        ossify_settings settings = plain_settings(2 * size);
        Answer answer;
        settings.influences = size;
        settings.locality = 0;
        answer = solve(&s.poses, settings);
        CHECK_INT(answer.rig.bones, 2 * size);
        CHECK(answer.info.erms < last);
        last = answer.info.erms;
        answer_free(&answer);
    }
    synthetic_free(&s);
}

TEST(the_error_told_is_the_error_of_the_rig) {
    for (int local = 0; local < 2; local++) {
        Synthetic s = noisy_rig(0);
        ossify_settings settings = plain_settings(4);
        ossify_evaluation e = {.struct_size = sizeof e};
        ossify_info info = {.struct_size = sizeof info};
        Answer answer;
        double most, rms;
        settings.locality = local;
        answer = solve(&s.poses, settings);
        rms = replay_error(&s.poses, &answer.rig, &most);
        CHECK_INT(ossify_evaluate(&s.poses, &answer.rig, NULL, &e, &info), OSSIFY_CONVERGED);
        CHECK_NEAR(answer.info.erms, e.erms, 0);
        CHECK_NEAR(answer.info.rms_percent, 100 * rms / e.diagonal, 1e-9);
        CHECK_NEAR(answer.info.maximum_percent, 100 * most / e.diagonal, 1e-9);
        answer_free(&answer);
        synthetic_free(&s);
    }
}

TEST(the_seconds_of_the_stages_are_told) {
    Synthetic s = noisy_rig(0);
    double began = clock_seconds(), all, sum = 0;
    Answer answer = solve(&s.poses, plain_settings(6));
    all = clock_seconds() - began;
    for (int stage = 0; stage < OSSIFY_STAGES; stage++) {
        CHECK(answer.info.stage_seconds[stage] >= 0);
        sum += answer.info.stage_seconds[stage];
    }
    CHECK(answer.info.stage_seconds[OSSIFY_STAGE_EXPLORE] > 0);
    CHECK(answer.info.stage_seconds[OSSIFY_STAGE_REFINE] > 0);
    CHECK(sum <= all);
    answer_free(&answer);
    synthetic_free(&s);
}

/* ---- stopping */

TEST(until_stops_at_the_error_asked_for) {
    for (int quality = OSSIFY_DRAFT; quality <= OSSIFY_BEST; quality++) {
        for (int local = 0; local < 2; local++) {
            Synthetic s = noisy_rig(0);
            ossify_settings settings = plain_settings(6);
            Answer easy, hard;
            settings.quality = quality;
            settings.locality = local;
            settings.until = 60;
            easy = solve(&s.poses, settings);
            test_case("quality %d, locality %d", quality, local);
            CHECK_INT(easy.info.status, OSSIFY_REACHED);
            CHECK(easy.info.erms <= 60);
            settings.until = 1e-9; /* never reached */
            hard = solve(&s.poses, settings);
            CHECK(hard.info.status != OSSIFY_REACHED);
            CHECK(hard.info.erms > 1e-9);
            answer_free(&easy);
            answer_free(&hard);
            synthetic_free(&s);
        }
    }
}

TEST(iterations_are_bounded_as_asked) {
    Synthetic s = noisy_rig(0);
    for (int iterations = 1; iterations <= 5; iterations += 2) {
        ossify_settings settings = plain_settings(6);
        Answer answer;
        settings.iterations = iterations;
        settings.locality = 0;
        answer = solve(&s.poses, settings);
        CHECK(answer.info.iterations <= iterations);
        answer_free(&answer);
    }
    synthetic_free(&s);
}

/* Among these a first round ends with regions that fell apart, and the refit goes on with the weights that were
 * sound. */
TEST(a_refit_is_bounded_as_asked) {
    for (int way = 0; way < 27 && !test_failed(); way++) {
        SyntheticOptions options = {.shape = (Shape)(way % 3),
                                    .vertices = 300,
                                    .frames = 12,
                                    .bones = 8,
                                    .influences = 4,
                                    .noise = 0.02,
                                    .seed = (uint64_t)(way / 3)};
        Synthetic s = synthetic_make(options);
        ossify_settings settings = plain_settings(5);
        Answer answer;
        settings.quality = OSSIFY_DRAFT;
        answer = solve(&s.poses, settings);
        answer.rig.given = OSSIFY_GIVEN_TRANSFORMS | OSSIFY_GIVEN_WEIGHTS;
        settings.quality = OSSIFY_BEST;
        settings.iterations = 15;
        test_case("shape %d, seed %d", way % 3, way / 3);
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        CHECK(answer.info.iterations <= 15);
        answer_free(&answer);
        synthetic_free(&s);
    }
}

/* ---- odd meshes */

/* One patch a bone, each with its own motion: as many bones as asked for must be found. */
TEST(never_fewer_bones_than_asked_for) {
    for (int quality = OSSIFY_DRAFT; quality <= OSSIFY_BEST; quality++) {
        for (int kind = quality == OSSIFY_BEST ? 3 : 0; kind < 4; kind++) {
            SyntheticOptions options = {.shape = (Shape)(kind % 3),
                                        .vertices = SLOW_BUILD ? 160 : 240,
                                        .frames = 10,
                                        .bones = 10,
                                        .influences = 2,
                                        .shells = kind == 1 ? 10 : 1 + kind % 3,
                                        .faceless = kind == 2,
                                        .noise = 0.03,
                                        .seed = 7};
            Synthetic s = synthetic_make(options);
            ossify_settings settings = plain_settings(16);
            Answer answer;
            int used[16] = {0};
            settings.quality = quality;
            settings.iterations = 5;
            if (kind == 3) { /* loose vertices: the second half has no faces */
                s.poses.triangle_count /= 2;
            }
            answer = solve(&s.poses, settings);
            test_case("quality %d, kind %d", quality, kind);
            CHECK_INT(answer.rig.bones, 16);
            for (int64_t i = 0; i < s.poses.vertex_count * 4; i++) {
                if (answer.rig.influence_bones[i] >= 0) {
                    used[answer.rig.influence_bones[i]]++;
                }
            }
            for (int b = 0; b < 16; b++) {
                CHECK(used[b] > 0);
            }
            answer_free(&answer);
            synthetic_free(&s);
        }
    }
}

/* Few vertices a bone, one influence: there is hardly a place for every bone, and each must have one. */
TEST(no_bone_is_without_vertices_on_a_small_mesh) {
    for (int seed = 1; seed <= 8; seed++) {
        SyntheticOptions options = {.shape = (Shape)(seed % 3),
                                    .vertices = 60,
                                    .frames = 12,
                                    .bones = 6,
                                    .noise = 0.05,
                                    .faceless = seed % 2,
                                    .seed = (uint64_t)seed};
        Synthetic s = synthetic_make(options);
        ossify_settings settings = plain_settings(s.poses.vertex_count / 4);
        Answer answer;
        int used[OSSIFY_MAX_BONES] = {0};
        settings.quality = OSSIFY_DRAFT;
        settings.influences = 1 + seed % 3;
        answer = solve(&s.poses, settings);
        test_case("seed %d", seed);
        CHECK_INT(answer.rig.bones, settings.bones);
        for (int64_t i = 0; i < s.poses.vertex_count * answer.rig.influences; i++) {
            if (answer.rig.influence_weights[i] > 0) {
                used[answer.rig.influence_bones[i]]++;
            }
        }
        for (int b = 0; b < (int)settings.bones; b++) {
            CHECK(used[b] > 0);
        }
        judge_locality(&s.poses, &answer.rig);
        answer_free(&answer);
        synthetic_free(&s);
    }
}

TEST(loose_vertices_are_solved_with_the_rest) {
    SyntheticOptions options = {.vertices = 150, .frames = 10, .bones = 3, .influences = 1, .seed = 3};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(3);
    Answer answer;
    settings.influences = 1;
    s.poses.triangle_count = 40;
    answer = solve(&s.poses, settings);
    CHECK(answer.info.erms < 1);
    answer_free(&answer);
    synthetic_free(&s);
}

/* Runs all qualities, rigid and flexible, with and without locality. */
static void check_ends_well(const ossify_poses *poses, int64_t bones, double most_erms) {
    for (int way = 0; way < 12; way++) {
        ossify_settings settings = plain_settings(bones);
        Answer answer;
        settings.quality = way % 3;
        settings.bone_kind = way / 3 % 2;
        settings.locality = way / 6;
        settings.rest_mode = way % 3;
        if (poses->rest == NULL && settings.rest_mode == OSSIFY_REST_FIXED) {
            settings.rest_mode = OSSIFY_REST_KEPT;
        }
        answer = solve(poses, settings);
        CHECK(isfinite(answer.info.erms) && answer.info.erms <= most_erms);
        CHECK(answer.rig.bones >= 1 && answer.rig.bones <= bones);
        if (answer.info.erms < 1e-4) { /* of rounding no iteration takes anything away */
            CHECK_INT(answer.info.status, OSSIFY_CONVERGED);
        }
        answer_free(&answer);
    }
}

TEST(a_mesh_that_does_not_move_is_solved) {
    SyntheticOptions options = {.vertices = 80, .frames = 6};
    Synthetic s = synthetic_make(options);
    for (int64_t i = 0; i < 6 * 3 * s.poses.vertex_count; i++) {
        s.frames[i] = s.rest[i % (3 * s.poses.vertex_count)];
    }
    test_case("bones 5");
    check_ends_well(&s.poses, 5, 1e-3);
    s.poses.rest = NULL;
    test_case("no rest");
    check_ends_well(&s.poses, 5, 1e-3);
    synthetic_free(&s);
}

TEST(a_mesh_that_moves_as_a_whole_needs_one_bone) {
    SyntheticOptions options = {.vertices = 80, .frames = 6, .bones = 1, .influences = 1};
    Synthetic s = synthetic_make(options);
    check_ends_well(&s.poses, 4, 1e-2);
    synthetic_free(&s);
}

TEST(one_frame_is_solved) {
    SyntheticOptions options = {.vertices = 80, .frames = 1, .bones = 3};
    Synthetic s = synthetic_make(options);
    check_ends_well(&s.poses, 3, 60);
    s.poses.rest = NULL; /* then it is its own rest pose */
    check_ends_well(&s.poses, 3, 1e-2);
    synthetic_free(&s);
}

TEST(one_vertex_is_solved) {
    SyntheticOptions options = {.vertices = 80, .frames = 6};
    Synthetic s = synthetic_make(options);
    s.poses.vertex_count = 1;
    s.poses.triangle_count = 0;
    check_ends_well(&s.poses, 1, 1e-2);
    for (int local = 0; local < 2; local++) {
        ossify_settings settings = plain_settings(1);
        Answer answer;
        settings.locality = local;
        answer = solve(&s.poses, settings);
        CHECK_INT(answer.info.status, OSSIFY_CONVERGED); /* nothing is left to lower */
        answer_free(&answer);
    }
    check_ends_well(&s.poses, 7, 1e-2); /* more bones than vertices */
    s.poses.rest = NULL;
    check_ends_well(&s.poses, 2, 1e-2);
    synthetic_free(&s);
}

TEST(more_bones_than_vertices_are_fitted_exactly) {
    SyntheticOptions options = {.vertices = 9, .frames = 5, .bones = 3, .noise = 0.3, .faceless = 1};
    Synthetic s = synthetic_make(options);
    test_case("%d vertices", (int)s.poses.vertex_count);
    for (int way = 0; way < 4; way++) {
        ossify_settings settings = plain_settings(64);
        Answer answer;
        settings.locality = way % 2;
        settings.bone_kind = way / 2;
        answer = solve(&s.poses, settings);
        CHECK(answer.rig.bones <= s.poses.vertex_count);
        answer_free(&answer);
    }
    synthetic_free(&s);
}

TEST(points_in_a_plane_or_on_a_line_are_solved) {
    for (int flat = 1; flat <= 2; flat++) {
        SyntheticOptions options = {.vertices = 100, .frames = 6, .bones = 3, .influences = 1};
        Synthetic s = synthetic_make(options);
        int64_t n = s.poses.vertex_count;
        for (int64_t v = 0; v < n; v++) {
            s.rest[3 * v + 2] = s.truth.rest[3 * v + 2] = 0;
            if (flat == 2) {
                s.rest[3 * v + 1] = s.truth.rest[3 * v + 1] = 0;
            }
        }
        for (int64_t f = 0; f < 6; f++) {
            for (int64_t v = 0; v < n; v++) {
                const double *m = s.truth.transforms + 12 * (f * 3 + s.truth.influence_bones[v]);
                const float *p = s.rest + 3 * v;
                for (int i = 0; i < 3; i++) {
                    s.frames[3 * (f * n + v) + i] =
                        (float)(m[4 * i] * p[0] + m[4 * i + 1] * p[1] + m[4 * i + 2] * p[2] + m[4 * i + 3]);
                }
            }
        }
        test_case("%s", flat == 1 ? "plane" : "line");
        check_ends_well(&s.poses, 3, 120);
        synthetic_free(&s);
    }
}

/* Vertices at the same place that move apart, faces without area. */
TEST(coincident_vertices_are_solved) {
    SyntheticOptions options = {.vertices = 80, .frames = 6, .bones = 3};
    Synthetic s = synthetic_make(options);
    for (int64_t i = 0; i < 3 * s.poses.vertex_count; i++) {
        if (i % 2 == 0 || i < 60) {
            s.rest[i] = 0.25f;
        }
    }
    check_ends_well(&s.poses, 3, 1000);
    for (int64_t i = 0; i < 3 * s.poses.vertex_count; i++) {
        s.rest[i] = -2;
    }
    check_ends_well(&s.poses, 3, 10000); /* all of them: size 1 by agreement */
    synthetic_free(&s);
}

TEST(frames_without_size_are_solved) {
    SyntheticOptions options = {.vertices = 80, .frames = 5, .bones = 3};
    Synthetic s = synthetic_make(options);
    for (int64_t i = 0; i < 5 * 3 * s.poses.vertex_count; i++) {
        s.frames[i] = (float)(i % 3);
    }
    check_ends_well(&s.poses, 3, 1000);
    synthetic_free(&s);
}

TEST(extreme_sizes_end_well) {
    static const float sizes[] = {1e-38f, 1e-18f, 1e18f, 4e29f};
    for (int i = 0; i < 4; i++) {
        SyntheticOptions options = {.vertices = 80, .frames = 5, .bones = 3};
        Synthetic s = synthetic_make(options);
        for (int64_t j = 0; j < 3 * s.poses.vertex_count; j++) {
            s.rest[j] *= sizes[i];
        }
        for (int64_t j = 0; j < 5 * 3 * s.poses.vertex_count; j++) {
            s.frames[j] *= sizes[i];
        }
        test_case("size %g", (double)sizes[i]);
        check_ends_well(&s.poses, 3, 50);
        synthetic_free(&s);
    }
}

/* The rest and the frames of very different sizes: the error is large, the answer finite. */
TEST(a_rest_pose_of_another_size_ends_well) {
    static const float sizes[] = {1e-20f, 1e-6f, 1e6f, 1e20f};
    for (int i = 0; i < 4; i++) {
        SyntheticOptions options = {.vertices = 80, .frames = 5, .bones = 3};
        Synthetic s = synthetic_make(options);
        for (int64_t j = 0; j < 3 * s.poses.vertex_count; j++) {
            s.rest[j] *= sizes[i];
        }
        test_case("size %g", (double)sizes[i]);
        check_ends_well(&s.poses, 3, DBL_MAX);
        synthetic_free(&s);
    }
}

/* ---- what is given and what is held */

/* [f][5]: what bones are held, in all frames or, with `some`, in every third. */
static uint8_t *held_transforms(const ossify_poses *poses, const uint8_t bones[5], int some) {
    uint8_t *held = calloc(5 * (size_t)poses->frame_count, 1);
    for (int64_t i = 0; i < 5 * poses->frame_count; i++) {
        held[i] = bones[i % 5] && (!some || i / 5 % 3 == 0);
    }
    return held;
}

TEST(held_transforms_come_back_equal_to_the_bit) {
    for (int way = 0; way < 16; way++) {
        Synthetic s = noisy_rig(way % 2);
        uint8_t *held = held_transforms(&s.poses, (const uint8_t[5]){0, 1, 0, 0, 1}, way / 8);
        ossify_settings settings = refit_settings(&s);
        Answer given = near_truth(&s, 0.02), answer = answer_of(&s.poses, &given.rig);
        int moved = 0;
        settings.bone_kind = way % 2;
        settings.locality = way / 2 % 2;
        answer.rig.given = way / 4 % 2 ? OSSIFY_GIVEN_TRANSFORMS : 3;
        answer.rig.held_transforms = held;
        test_case("way %d", way);
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        check_rig(&s.poses, &answer.rig, way % 2 == 0);
        for (int64_t f = 0; f < s.poses.frame_count; f++) {
            for (int b = 0; b < 5; b++) {
                int same = memcmp(answer.rig.transforms + 12 * (f * 5 + b),
                                  given.rig.transforms + 12 * (f * 5 + b), 12 * sizeof(double)) == 0;
                CHECK(same || !held[f * 5 + b]);
                moved += !same;
            }
        }
        CHECK(moved > 0);
        free(held);
        answer_free(&given);
        answer_free(&answer);
        synthetic_free(&s);
    }
}

/* A held bone may be anything; the others are fitted around it as it is. */
TEST(held_bones_that_are_not_rigid_are_solved_around) {
    Synthetic s = noisy_rig(1); /* a flexible truth, of which one bone is held while the others are rigid */
    uint8_t *held = held_transforms(&s.poses, (const uint8_t[5]){0, 1, 0, 0, 0}, 0);
    for (int local = 0; local < 2; local++) {
        ossify_settings settings = refit_settings(&s);
        Answer answer = answer_of(&s.poses, &s.truth);
        settings.locality = local;
        settings.iterations = 40;
        settings.quality = OSSIFY_BEST;
        answer.rig.held_transforms = held;
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        for (int64_t f = 0; f < s.poses.frame_count; f++) {
            CHECK(memcmp(answer.rig.transforms + 12 * (f * 5 + 1), s.truth.transforms + 12 * (f * 5 + 1),
                         12 * sizeof(double)) == 0);
        }
        if (!local) {
            judge_weights(&s.poses, &answer.rig, NULL); /* as they are written, not as they were turned */
        }
        answer_free(&answer);
    }
    free(held);
    synthetic_free(&s);
}

TEST(held_vertices_come_back_equal_to_the_bit) {
    for (int way = 0; way < 4; way++) {
        Synthetic s = noisy_rig(0);
        int64_t n = s.poses.vertex_count, k = s.truth.influences;
        uint8_t *held = calloc((size_t)n, 1);
        ossify_settings settings = refit_settings(&s);
        Answer given = near_truth(&s, 0.02), answer = answer_of(&s.poses, &given.rig);
        int changed = 0;
        settings.locality = way % 2;
        answer.rig.given = way / 2 ? OSSIFY_GIVEN_WEIGHTS : 3;
        for (int64_t v = 0; v < n; v++) {
            held[v] = v % 3 == 0;
        }
        answer.rig.held_vertices = held;
        test_case("locality %d, given %d", way % 2, (int)answer.rig.given);
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        for (int64_t v = 0; v < n; v++) {
            int same = memcmp(answer.rig.influence_weights + v * k, given.rig.influence_weights + v * k,
                              (size_t)k * sizeof(float)) == 0 &&
                       memcmp(answer.rig.influence_bones + v * k, given.rig.influence_bones + v * k,
                              (size_t)k * sizeof(int32_t)) == 0;
            CHECK(same || !held[v]);
            changed += !same;
        }
        CHECK(changed > 0);
        if (way % 2 == 0) {
            judge_weights(&s.poses, &answer.rig, held);
        }
        answer_free(&given);
        answer_free(&answer);
        free(held);
        synthetic_free(&s);
    }
}

static float weight_of(const ossify_rig *rig, int64_t v, int32_t b) {
    for (int64_t i = v * rig->influences; i < (v + 1) * rig->influences; i++) {
        if (rig->influence_bones[i] == b) {
            return rig->influence_weights[i];
        }
    }
    return 0;
}

TEST(held_groups_come_back_equal_to_the_bit) {
    for (int way = 0; way < 8; way++) {
        Synthetic s = noisy_rig(0);
        const uint8_t groups[5] = {0, 1, 0, way >= 4, 0};
        ossify_settings settings = refit_settings(&s);
        Answer given = near_truth(&s, 0.02), answer = answer_of(&s.poses, &given.rig);
        int64_t changed = 0;
        settings.locality = way % 2;
        answer.rig.given = way / 2 % 2 ? OSSIFY_GIVEN_WEIGHTS : 3;
        answer.rig.held_groups = groups;
        test_case("way %d", way);
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        check_rig(&s.poses, &answer.rig, 1);
        for (int64_t v = 0; v < s.poses.vertex_count; v++) {
            for (int32_t b = 0; b < 5; b++) {
                float was = weight_of(&given.rig, v, b), is = weight_of(&answer.rig, v, b);
                CHECK(was == is || !groups[b]);
                changed += was != is;
            }
        }
        CHECK(changed > 0);
        answer_free(&given);
        answer_free(&answer);
        synthetic_free(&s);
    }
}

/* Beside a held group the other weights are the best there are: no shift between two of them lowers the error. */
TEST(weights_beside_held_groups_are_optimal) {
    Synthetic s = noisy_rig(0);
    const uint8_t groups[5] = {0, 0, 1, 0, 0};
    ossify_settings settings = refit_settings(&s);
    Answer answer = near_truth(&s, 0.02);
    int64_t k = answer.rig.influences, shared = 0;
    settings.locality = 0;
    settings.rest_mode = OSSIFY_REST_FIXED;
    answer.rig.held_groups = groups;
    CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
    const double least = replay_error(&s.poses, &answer.rig, NULL);
    for (int64_t v = 0; v < s.poses.vertex_count; v++) {
        float *w = answer.rig.influence_weights + v * k;
        int32_t *bone = answer.rig.influence_bones + v * k;
        for (int64_t i = 0; i < k * k; i++) {
            int64_t from = i / k, to = i % k;
            const float a = w[from], b = w[to];
            if (from == to || bone[from] < 0 || bone[to] < 0 || bone[from] == 2 || bone[to] == 2 ||
                a < 0.01f) {
                continue;
            }
            w[from] -= 0.01f;
            w[to] += 0.01f;
            test_case("vertex %d, %d to %d", (int)v, (int)bone[from], (int)bone[to]);
            CHECK(replay_error(&s.poses, &answer.rig, NULL) > least);
            w[from] = a;
            w[to] = b;
            shared += weight_of(&answer.rig, v, 2) > 0;
        }
    }
    CHECK(shared > 20);
    answer_free(&answer);
    synthetic_free(&s);
}

TEST(held_rest_positions_come_back_equal_to_the_bit) {
    for (int mode = OSSIFY_REST_KEPT; mode <= OSSIFY_REST_FREE; mode++) {
        Synthetic s = noisy_rig(0);
        ossify_settings settings = refit_settings(&s);
        Answer given = near_truth(&s, 0.02), answer = answer_of(&s.poses, &given.rig);
        uint8_t *held = calloc((size_t)s.poses.vertex_count, 1);
        int64_t moved = 0;
        for (int64_t v = 0; v < s.poses.vertex_count; v++) {
            held[v] = v % 4 == 1;
        }
        settings.rest_mode = mode;
        answer.rig.held_rest = held;
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        for (int64_t v = 0; v < s.poses.vertex_count; v++) {
            int same = memcmp(answer.rig.rest + 3 * v, given.rig.rest + 3 * v, 3 * sizeof(float)) == 0;
            CHECK(same || !held[v]);
            moved += !same;
        }
        CHECK(moved > s.poses.vertex_count / 2);
        free(held);
        answer_free(&given);
        answer_free(&answer);
        synthetic_free(&s);
    }
}

TEST(everything_held_changes_not_a_bit) {
    for (int way = 0; way < 12; way++) {
        Synthetic s = noisy_rig(way % 2);
        ossify_settings settings = refit_settings(&s);
        Answer given = near_truth(&s, 0.02), answer = answer_of(&s.poses, &given.rig);
        uint8_t *held = held_transforms(&s.poses, (const uint8_t[5]){1, 1, 1, 1, 1}, 0), all[400];
        memset(all, 1, sizeof all);
        settings.bone_kind = way / 4 % 2;
        settings.locality = way / 2 % 2;
        settings.relocate = way >= 8 ? OSSIFY_RELOCATE_ALL : OSSIFY_RELOCATE_NONE;
        answer.rig.held_transforms = held;
        answer.rig.held_vertices = way % 2 ? all : NULL;
        answer.rig.held_groups = way % 2 ? NULL : all;
        answer.rig.held_rest = all;
        test_case("way %d", way);
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        CHECK(rigs_are_equal(&s.poses, &answer.rig, &given.rig));
        free(held);
        answer_free(&given);
        answer_free(&answer);
        synthetic_free(&s);
    }
}

/* A group was deleted: some vertices have lost a part of their weights, some all. */
TEST(vertices_without_weights_find_their_bones) {
    for (int local = 0; local < 2; local++) {
        SyntheticOptions options = {.vertices = 300, .frames = 8, .bones = 4, .influences = 2};
        Synthetic s = synthetic_make(options);
        ossify_settings settings = refit_settings(&s);
        Answer answer = answer_of(&s.poses, &s.truth);
        settings.locality = local;
        settings.quality = OSSIFY_BEST;
        for (int64_t v = 0; v < s.poses.vertex_count; v++) {
            answer.rig.influence_weights[2 * v] *= v % 5 == 0 ? 0.25f : 1;
            if (v % 7 == 0) {
                for (int i = 0; i < 2; i++) {
                    answer.rig.influence_weights[2 * v + i] = 0;
                    answer.rig.influence_bones[2 * v + i] = -1;
                }
            }
        }
        test_case("locality %d", local);
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        check_rig(&s.poses, &answer.rig, 1);
        CHECK(answer.info.erms < 1e-3);
        answer_free(&answer);
        synthetic_free(&s);
    }
}

/* Weights repainted with noise and not held: the error comes back to what it was. */
TEST(noise_on_a_few_weights_is_undone) {
    for (int local = 0; local < 2; local++) {
        Synthetic s = noisy_rig(0);
        ossify_settings settings = refit_settings(&s);
        Answer first, again;
        settings.locality = local;
        first = solve(&s.poses, settings);
        again = answer_of(&s.poses, &first.rig);
        again.rig.given = 3;
        for (int64_t v = 0; v < s.poses.vertex_count; v += 50) {
            for (int64_t i = v * again.rig.influences; i < (v + 1) * again.rig.influences; i++) {
                again.rig.influence_weights[i] *= (float)(0.5 + 0.5 * sin((double)(17 * i)));
            }
        }
        CHECK(ossify_decompose(&s.poses, &settings, &again.rig, &again.info) >= 0);
        check_rig(&s.poses, &again.rig, 1);
        test_case("locality %d", local);
        CHECK(again.info.erms <= first.info.erms);
        answer_free(&first);
        answer_free(&again);
        synthetic_free(&s);
    }
}

/* A clip that the weights were not solved for. */
TEST(a_clip_is_tracked_with_weights_held) {
    for (int way = 0; way < 4; way++) {
        SyntheticOptions options = {.vertices = 400,
                                    .frames = 12,
                                    .bones = 5,
                                    .influences = 3,
                                    .flexible = way % 2,
                                    .motion = 2.5,
                                    .noise = way / 2 ? 0.02 : 0};
        Synthetic s = synthetic_make(options);
        ossify_settings settings = refit_settings(&s);
        Answer answer = answer_of(&s.poses, &s.truth);
        uint8_t held[500];
        size_t wide = (size_t)(s.poses.vertex_count * s.truth.influences);
        memset(held, 1, sizeof held);
        CHECK(s.poses.vertex_count <= 500);
        memset(answer.rig.transforms, 0, 12 * 12 * 5 * sizeof(double));
        answer.rig.given = OSSIFY_GIVEN_WEIGHTS;
        answer.rig.held_vertices = held;
        settings.bone_kind = way % 2;
        settings.rest_mode = OSSIFY_REST_FIXED;
        test_case("flexible %d, noise %d", way % 2, way / 2);
        CHECK_INT(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info), OSSIFY_CONVERGED);
        check_rig(&s.poses, &answer.rig, way % 2 == 0);
        CHECK(memcmp(answer.rig.influence_weights, s.truth.influence_weights, wide * sizeof(float)) == 0);
        CHECK(memcmp(answer.rig.influence_bones, s.truth.influence_bones, wide * sizeof(int32_t)) == 0);
        CHECK(memcmp(answer.rig.rest, s.truth.rest, 3 * (size_t)s.poses.vertex_count * sizeof(float)) == 0);
        if (way / 2) {
            CHECK(replay_error(&s.poses, &answer.rig, NULL) <= replay_error(&s.poses, &s.truth, NULL));
            if (way % 2 == 0) {
                judge_bones(&s.poses, &answer.rig, 1e-3);
            }
        } else {
            CHECK(answer.info.erms < 0.01);
        }
        answer_free(&answer);
        synthetic_free(&s);
    }
}

/* Only the transforms of some frames are free: tracked from what is given, the others stay. */
TEST(frames_that_are_not_held_are_tracked) {
    Synthetic s = noisy_rig(0);
    ossify_settings settings = refit_settings(&s);
    Answer given = near_truth(&s, 0.05), answer = answer_of(&s.poses, &given.rig);
    uint8_t *held = held_transforms(&s.poses, (const uint8_t[5]){1, 1, 1, 1, 1}, 1), all[400];
    memset(all, 1, sizeof all);
    settings.rest_mode = OSSIFY_REST_FIXED;
    answer.rig.held_transforms = held;
    answer.rig.held_vertices = all;
    CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
    for (int64_t i = 0; i < 5 * s.poses.frame_count; i++) {
        int same = memcmp(answer.rig.transforms + 12 * i, given.rig.transforms + 12 * i, 12 * sizeof(double));
        CHECK((same == 0) == held[i]);
    }
    CHECK(replay_error(&s.poses, &answer.rig, NULL) < replay_error(&s.poses, &given.rig, NULL));
    free(held);
    answer_free(&given);
    answer_free(&answer);
    synthetic_free(&s);
}

/* One of two bones that carry the same vertices is worth more elsewhere; what is held stays where it is. */
TEST(bones_that_may_leave_lower_the_error) {
    Synthetic s = noisy_rig(0);
    ossify_settings settings = refit_settings(&s);
    uint8_t *held = held_transforms(&s.poses, (const uint8_t[5]){1, 0, 0, 0, 0}, 0);
    Answer stayed = answer_of(&s.poses, &s.truth), left;
    for (int64_t i = 0; i < s.poses.vertex_count * s.truth.influences;
         i++) { /* bone 4 goes to bone 0's place */
        int32_t *b = &stayed.rig.influence_bones[i];
        *b = *b == 4 ? 3 : *b;
    }
    for (int64_t v = 0; v < s.poses.vertex_count; v++) {
        for (int64_t i = v * 4; i < v * 4 + 4; i++) {
            for (int64_t j = v * 4; j < i; j++) {
                if (stayed.rig.influence_bones[i] >= 0 &&
                    stayed.rig.influence_bones[i] == stayed.rig.influence_bones[j]) {
                    stayed.rig.influence_weights[j] += stayed.rig.influence_weights[i];
                    stayed.rig.influence_weights[i] = 0;
                    stayed.rig.influence_bones[i] = -1;
                }
            }
        }
    }
    stayed.rig.held_transforms = held;
    left = answer_of(&s.poses, &stayed.rig);
    left.rig.held_transforms = held;
    CHECK(ossify_decompose(&s.poses, &settings, &stayed.rig, &stayed.info) >= 0);
    settings.relocate = OSSIFY_RELOCATE_ALL;
    CHECK(ossify_decompose(&s.poses, &settings, &left.rig, &left.info) >= 0);
    check_rig(&s.poses, &left.rig, 1);
    CHECK_INT(left.rig.bones, 5);
    CHECK(left.info.erms < 0.8 * stayed.info.erms);
    for (int64_t f = 0; f < s.poses.frame_count; f++) {
        CHECK(memcmp(left.rig.transforms + 60 * f, s.truth.transforms + 60 * f, 12 * sizeof(double)) == 0);
    }
    free(held);
    answer_free(&stayed);
    answer_free(&left);
    synthetic_free(&s);
}

/* All bones but one do nothing, so that there is little to start from: as good as a solve all the same. With a
 * rest pose that is fixed and not the poses' own, no solve from nothing could know it: it stays. */
TEST(bones_that_may_all_leave_come_to_what_a_solve_does) {
    for (int sculpted = 0; sculpted < 2; sculpted++) {
        Synthetic s = noisy_rig(0);
        ossify_settings settings = refit_settings(&s);
        Answer fresh, left = answer_of(&s.poses, &s.truth);
        size_t bytes = 3 * (size_t)s.poses.vertex_count * sizeof(float);
        float *rest = malloc(bytes);
        for (int64_t i = 0; i < s.poses.vertex_count * s.truth.influences; i++) {
            left.rig.influence_bones[i] = i % s.truth.influences == 0 ? 2 : -1;
            left.rig.influence_weights[i] = i % s.truth.influences == 0;
        }
        settings.rest_mode = sculpted ? OSSIFY_REST_FIXED : OSSIFY_REST_KEPT;
        for (int64_t i = 0; i < 3 * s.poses.vertex_count && sculpted; i++) {
            left.rig.rest[i] += 0.001f;
        }
        memcpy(rest, left.rig.rest, bytes);
        test_case("sculpted %d", sculpted);
        fresh = solve(&s.poses, settings);
        settings.relocate = OSSIFY_RELOCATE_ALL;
        CHECK(ossify_decompose(&s.poses, &settings, &left.rig, &left.info) >= 0);
        check_rig(&s.poses, &left.rig, 1);
        CHECK_INT(left.rig.bones, 5);
        if (sculpted) {
            CHECK(memcmp(left.rig.rest, rest, bytes) == 0);
        } else {
            CHECK(left.info.erms < 1.011 * fresh.info.erms);
        }
        free(rest);
        answer_free(&fresh);
        answer_free(&left);
        synthetic_free(&s);
    }
}

TEST(a_fixed_rest_comes_back_equal_to_the_bit) {
    for (int given = 0; given <= 3; given++) {
        Synthetic s = noisy_rig(0);
        ossify_settings settings = refit_settings(&s);
        Answer answer = given ? near_truth(&s, 0.02) : answer_start(&s.poses, &settings);
        size_t bytes = 3 * (size_t)s.poses.vertex_count * sizeof(float);
        float *rest = malloc(bytes);
        settings.rest_mode = OSSIFY_REST_FIXED;
        answer.rig.given = given;
        if (given) { /* a given rig's own rest pose is the one that is kept */
            for (int64_t i = 0; i < 3 * s.poses.vertex_count; i++) {
                answer.rig.rest[i] += 0.001f;
            }
        }
        memcpy(rest, given ? answer.rig.rest : s.rest, bytes);
        test_case("given %d", given);
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        CHECK(memcmp(answer.rig.rest, rest, bytes) == 0);
        free(rest);
        answer_free(&answer);
        synthetic_free(&s);
    }
}

TEST(an_unchanged_rig_is_never_made_worse) {
    for (int way = 0; way < 12; way++) {
        Synthetic s = noisy_rig(way % 2);
        ossify_settings settings = refit_settings(&s);
        Answer first, again;
        double before;
        settings.bone_kind = way % 2;
        settings.locality = way / 2 % 2;
        settings.rest_mode = way / 4;
        test_case("flexible %d, locality %d, rest mode %d", way % 2, way / 2 % 2, way / 4);
        first = solve(&s.poses, settings);
        before = replay_error(&s.poses, &first.rig, NULL);
        again = answer_of(&s.poses, &first.rig);
        again.rig.given = 3;
        CHECK(ossify_decompose(&s.poses, &settings, &again.rig, &again.info) >= 0);
        check_rig(&s.poses, &again.rig, way % 2 == 0);
        CHECK(replay_error(&s.poses, &again.rig, NULL) <= before * (1 + 1e-5));
        answer_free(&first);
        answer_free(&again);
        synthetic_free(&s);
    }
}

TEST(the_true_rig_is_kept) {
    SyntheticOptions options = {.vertices = 150, .frames = 8, .bones = 4, .influences = 3};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = refit_settings(&s);
    Answer answer = answer_of(&s.poses, &s.truth);
    CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
    CHECK(answer.info.erms < 1e-3);
    answer_free(&answer);
    synthetic_free(&s);
}

TEST(given_weights_alone_find_their_bones) {
    for (int flexible = 0; flexible < 2; flexible++) {
        SyntheticOptions options = {
            .vertices = 150, .frames = 8, .bones = 4, .influences = 2, .flexible = flexible};
        Synthetic s = synthetic_make(options);
        ossify_settings settings = refit_settings(&s);
        Answer answer = answer_of(&s.poses, &s.truth);
        settings.bone_kind = flexible;
        settings.locality = 0;
        settings.iterations = 100;
        settings.quality = OSSIFY_BEST;
        answer.rig.given = OSSIFY_GIVEN_WEIGHTS;
        memset(answer.rig.transforms, 0xFF, 8 * 4 * 12 * sizeof(double)); /* not to be looked at */
        test_case("flexible %d", flexible);
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        check_rig(&s.poses, &answer.rig, !flexible);
        CHECK(answer.info.erms < 0.01);
        answer_free(&answer);
        synthetic_free(&s);
    }
}

TEST(given_transforms_alone_find_their_weights) {
    for (int flexible = 0; flexible < 2; flexible++) {
        SyntheticOptions options = {
            .vertices = 150, .frames = 8, .bones = 4, .influences = 2, .flexible = flexible};
        Synthetic s = synthetic_make(options);
        ossify_settings settings = refit_settings(&s);
        Answer answer = answer_of(&s.poses, &s.truth);
        settings.bone_kind = flexible;
        settings.locality = 0;
        answer.rig.given = OSSIFY_GIVEN_TRANSFORMS;
        memset(answer.rig.influence_bones, 0x7F, 2 * (size_t)s.poses.vertex_count * sizeof(int32_t));
        test_case("flexible %d", flexible);
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        check_rig(&s.poses, &answer.rig, !flexible);
        CHECK(answer.info.erms < 0.01);
        answer_free(&answer);
        synthetic_free(&s);
    }
}

/* A rig of affine bones refitted as a rigid one, with fewer influences than it had. */
TEST(a_given_rig_is_brought_to_what_is_asked_for) {
    Synthetic s = noisy_rig(1);
    ossify_settings settings = refit_settings(&s);
    Answer answer = answer_of(&s.poses, &s.truth);
    settings.influences = 2;
    CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
    check_rig(&s.poses, &answer.rig, 1);
    for (int64_t v = 0; v < s.poses.vertex_count; v++) {
        CHECK_INT(answer.rig.influence_bones[4 * v + 2], -1);
    }
    answer_free(&answer);
    synthetic_free(&s);
}

/* ---- budgets */

TEST(a_budget_is_met) {
    static const double budgets[] = {8, 2, 0.7};
    for (int kind = OSSIFY_BUDGET_RMS; kind <= OSSIFY_BUDGET_MAXIMUM; kind++) {
        int64_t last = 0;
        for (int i = 0; i < 3; i++) {
            SyntheticOptions options = {.vertices = 200, .frames = 8, .bones = 6, .influences = 2};
            Synthetic s = synthetic_make(options);
            ossify_settings settings = plain_settings(40);
            Answer answer;
            settings.quality = OSSIFY_DRAFT;
            settings.budget_kind = kind;
            settings.budget = budgets[i] * (kind == OSSIFY_BUDGET_MAXIMUM ? 3 : 1);
            answer = solve(&s.poses, settings);
            test_case("kind %d, budget %g", kind, settings.budget);
            CHECK_TEXT(answer.info.message, "");
            CHECK((kind == OSSIFY_BUDGET_RMS ? answer.info.rms_percent : answer.info.maximum_percent) <=
                  settings.budget);
            CHECK(answer.rig.bones >= last); /* less error asked for, no fewer bones */
            last = answer.rig.bones;
            answer_free(&answer);
            synthetic_free(&s);
        }
        CHECK(last > 1 && last < 40);
    }
}

TEST(a_budget_of_the_surface_is_met_by_more_bones_than_half_of_them_meet) {
    static const double budgets[] = {12, 0.15};
    for (int kind = OSSIFY_BUDGET_NORMALS; kind <= OSSIFY_BUDGET_BUMPS; kind++) {
        SyntheticOptions options = {.vertices = 200, .frames = 8, .bones = 6, .influences = 2};
        Synthetic s = synthetic_make(options);
        const int is_normals = kind == OSSIFY_BUDGET_NORMALS;
        ossify_settings settings = plain_settings(40);
        settings.quality = OSSIFY_DRAFT;
        settings.budget_kind = kind;
        settings.budget = budgets[!is_normals];
        Answer met = solve(&s.poses, settings);
        test_case("kind %d, %g", kind, settings.budget);
        CHECK_TEXT(met.info.message, "");
        CHECK((is_normals ? met.info.normal_degrees : met.info.bumps) <= settings.budget);
        CHECK(met.rig.bones > 1 && met.rig.bones < 40);
        settings.budget_kind = OSSIFY_BUDGET_NONE;
        settings.bones = met.rig.bones / 2;
        Answer half = solve(&s.poses, settings);
        CHECK((is_normals ? half.info.normal_degrees : half.info.bumps) > settings.budget);
        answer_free(&half);
        answer_free(&met);
        synthetic_free(&s);
    }
}

TEST(a_budget_that_cannot_be_met_says_so_with_a_rig) {
    Synthetic s = noisy_rig(0);
    ossify_settings settings = plain_settings(3);
    Answer answer;
    settings.quality = OSSIFY_DRAFT;
    settings.budget_kind = OSSIFY_BUDGET_RMS;
    settings.budget = 1e-4;
    answer = solve(&s.poses, settings);
    CHECK_INT(answer.info.status, OSSIFY_OUT_OF_ITERATIONS);
    CHECK_SAYS(answer.info.message, "3 bones leave ");
    CHECK_SAYS(answer.info.message, "above the budget of 0.0001 %");
    CHECK_INT(answer.rig.bones, 3);
    CHECK(answer.info.rms_percent > 1e-4);
    answer_free(&answer);
    synthetic_free(&s);
}

TEST(a_budget_on_very_few_vertices_ends) {
    SyntheticOptions options = {.vertices = 4, .frames = 3, .noise = 0.5, .faceless = 1};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(20);
    Answer answer;
    settings.budget_kind = OSSIFY_BUDGET_MAXIMUM;
    settings.budget = 1e-3;
    s.poses.vertex_count = 3;
    s.poses.frames = s.frames;
    answer = solve(&s.poses, settings);
    CHECK(answer.rig.bones >= 1);
    answer_free(&answer);
    synthetic_free(&s);
}

TEST(a_budget_for_a_mesh_that_does_not_move_is_one_bone) {
    SyntheticOptions options = {.vertices = 80, .frames = 6, .bones = 1, .influences = 1};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(20);
    Answer answer;
    settings.budget_kind = OSSIFY_BUDGET_RMS;
    settings.budget = 0.1;
    answer = solve(&s.poses, settings);
    CHECK_INT(answer.rig.bones, 1);
    answer_free(&answer);
    synthetic_free(&s);
}

/* ---- large enough to be thinned */

TEST(a_thinned_mesh_comes_back) {
    SyntheticOptions options = {
        .shape = SHAPE_TUBE, .vertices = 1700, .frames = 30, .bones = 4, .influences = 1, .seed = 6};
    for (int shells = 1; shells <= 2; shells++) {
        Synthetic s;
        ossify_settings settings = plain_settings(4);
        Answer answer;
        options.shells = shells;
        s = synthetic_make(options);
        settings.quality = OSSIFY_DRAFT;
        settings.influences = 1;
        answer = solve(&s.poses, settings);
        test_case("%d shells", shells);
        CHECK(answer.info.erms < 0.1);
        answer_free(&answer);
        synthetic_free(&s);
    }
}

/* test_unite.c - one rig for several subjects. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "synthetic.h"
#include "test.h"

enum { SUBJECTS = 3, BONES = 4, FRAMES = 12 };

/* A body and two that are stretched, each in every third frame, moved by the same bones. */
typedef struct Crowd {
    Synthetic made;
    ossify_settings settings;
    Answer answer;
    ossify_subjects subjects;
    ossify_united united;
    float *rest, *solved;
    int32_t subject[FRAMES], parents[BONES];
    double joints[3 * SUBJECTS * BONES];
} Crowd;

static const double STRETCH[SUBJECTS][3] = {{1, 1, 1}, {1.3, 0.8, 1.1}, {2, 2.2, 1.7}};

static const float *rest_of(const Crowd *crowd, const float *rest, int64_t f) {
    return rest + 3 * crowd->subject[f] * crowd->made.poses.vertex_count;
}

/* y of a vertex, from the definition. */
static void replay(const Crowd *crowd, const ossify_rig *rig, const float *rest, int64_t f, int64_t v,
                   double y[3]) {
    const float *p = rest_of(crowd, rest, f) + 3 * v;
    memset(y, 0, 3 * sizeof *y);
    for (int64_t i = v * rig->influences; i < (v + 1) * rig->influences; i++) {
        for (int a = 0; a < 3 && rig->influence_bones[i] >= 0; a++) {
            const double *row =
                rig->transforms + 12 * (f * rig->bone_capacity + rig->influence_bones[i]) + 4 * a;
            y[a] += (double)rig->influence_weights[i] *
                    (row[0] * (double)p[0] + row[1] * (double)p[1] + row[2] * (double)p[2] + row[3]);
        }
    }
}

static Crowd *crowd_open(int vertices) {
    SyntheticOptions options = {.shape = SHAPE_TUBE,
                                .vertices = vertices,
                                .frames = FRAMES,
                                .bones = BONES,
                                .influences = 2,
                                .jointed = 1};
    Crowd *crowd = calloc(1, sizeof *crowd);
    crowd->made = synthetic_make(options);
    const ossify_poses *poses = &crowd->made.poses;
    const int64_t numbers = 3 * poses->vertex_count;
    crowd->settings = plain_settings(BONES);
    crowd->settings.influences = 2;
    crowd->settings.rest_mode = OSSIFY_REST_FIXED;
    crowd->answer = answer_start(poses, &crowd->settings);
    crowd->rest = calloc((size_t)(SUBJECTS * numbers), sizeof(float));
    crowd->solved = calloc((size_t)(SUBJECTS * numbers), sizeof(float));
    for (int64_t i = 0; i < SUBJECTS * numbers; i++) {
        crowd->rest[i] = (float)((double)crowd->made.rest[i % numbers] * STRETCH[i / numbers][i % 3]);
    }
    for (int64_t f = 0; f < FRAMES; f++) {
        crowd->subject[f] = (int32_t)(f % SUBJECTS);
        for (int64_t v = 0; v < poses->vertex_count; v++) {
            double y[3];
            replay(crowd, &crowd->made.truth, crowd->rest, f, v, y);
            for (int a = 0; a < 3; a++) {
                crowd->made.frames[3 * (f * poses->vertex_count + v) + a] = (float)y[a];
            }
        }
    }
    crowd->subjects = (ossify_subjects){.struct_size = sizeof crowd->subjects,
                                        .count = SUBJECTS,
                                        .joined = 1,
                                        .rest = crowd->rest,
                                        .subject = crowd->subject};
    crowd->united = (ossify_united){.struct_size = sizeof crowd->united,
                                    .rest = crowd->solved,
                                    .parents = crowd->parents,
                                    .joints = crowd->joints};
    return crowd;
}

static void crowd_close(Crowd *crowd) {
    answer_free(&crowd->answer);
    synthetic_free(&crowd->made);
    free(crowd->rest);
    free(crowd->solved);
    free(crowd);
}

static int64_t unite(Crowd *crowd) {
    return ossify_unite(&crowd->made.poses, &crowd->settings, &crowd->answer.rig, &crowd->subjects,
                        &crowd->united, &crowd->answer.info);
}

/* Root mean square, in percent of each subject's own diagonal. */
static double percent_off(const Crowd *crowd, const float *rest) {
    const int64_t vertices = crowd->made.poses.vertex_count;
    double sum = 0;
    for (int64_t f = 0; f < FRAMES; f++) {
        double square = 0, off = 0;
        for (int a = 0; a < 3; a++) {
            double low = INFINITY, high = -INFINITY;
            for (int64_t v = 0; v < vertices; v++) {
                low = fmin(low, (double)rest_of(crowd, crowd->rest, f)[3 * v + a]);
                high = fmax(high, (double)rest_of(crowd, crowd->rest, f)[3 * v + a]);
            }
            square += (high - low) * (high - low);
        }
        for (int64_t v = 0; v < vertices; v++) {
            double y[3];
            replay(crowd, &crowd->answer.rig, rest, f, v, y);
            for (int a = 0; a < 3; a++) {
                off += pow(y[a] - (double)crowd->made.frames[3 * (f * vertices + v) + a], 2);
            }
        }
        sum += off / square;
    }
    return 100 * sqrt(sum / (double)(FRAMES * vertices));
}

TEST(one_rig_for_three_bodies) {
    Crowd *crowd = crowd_open(500);
    const int64_t numbers = 3 * crowd->made.poses.vertex_count;
    int roots = 0;
    CHECK(unite(crowd) >= 0);
    CHECK_TEXT(crowd->answer.info.message, "");
    check_rig(&crowd->made.poses, &crowd->answer.rig, 1);
    CHECK(percent_off(crowd, crowd->solved) < 0.05);
    CHECK_NEAR(crowd->answer.info.rms_percent, percent_off(crowd, crowd->solved), 1e-4);
    CHECK(memcmp(crowd->solved, crowd->rest, (size_t)(SUBJECTS * numbers) * sizeof(float)) == 0);
    for (int b = 0; b < BONES; b++) {
        roots += crowd->parents[b] < 0;
    }
    CHECK_INT(roots, 1);
    CHECK_INT(crowd->parents[crowd->united.root], -1);
    /* what both bones hold stays together in the frames of the subject whose joint it is */
    for (int64_t i = 0; i < FRAMES * BONES; i++) {
        const int64_t f = i / BONES, b = i % BONES, parent = crowd->parents[b];
        const double *j = crowd->joints + 3 * (crowd->subject[f] * BONES + b);
        for (int a = 0; a < 3 && parent >= 0; a++) {
            const double *m = crowd->answer.rig.transforms + 12 * (f * BONES + b) + 4 * a,
                         *n = crowd->answer.rig.transforms + 12 * (f * BONES + parent) + 4 * a;
            CHECK_NEAR(m[0] * j[0] + m[1] * j[1] + m[2] * j[2] + m[3],
                       n[0] * j[0] + n[1] * j[1] + n[2] * j[2] + n[3], 0.5);
        }
    }
    crowd_close(crowd);
}

TEST(one_rig_whatever_the_threads) {
    Crowd *one = crowd_open(200), *four = crowd_open(200);
    four->settings.threads = 4;
    CHECK_INT(unite(one), unite(four));
    CHECK(rigs_are_equal(&one->made.poses, &one->answer.rig, &four->answer.rig));
    CHECK(memcmp(one->joints, four->joints, sizeof one->joints) == 0);
    crowd_close(one);
    crowd_close(four);
}

TEST(one_rig_from_weights_that_are_given) {
    Crowd *crowd = crowd_open(300);
    answer_free(&crowd->answer);
    crowd->answer = answer_of(&crowd->made.poses, &crowd->made.truth);
    crowd->answer.info = (ossify_info){.struct_size = sizeof crowd->answer.info};
    crowd->answer.rig.given = OSSIFY_GIVEN_WEIGHTS;
    memset(crowd->answer.rig.influence_weights, 0, 2 * sizeof(float)); /* finds its bones itself */
    crowd->subjects.joined = 0;
    crowd->united.parents = NULL;
    crowd->united.joints = NULL;
    CHECK(unite(crowd) >= 0);
    CHECK_INT(crowd->united.root, -1);
    CHECK(percent_off(crowd, crowd->solved) < 0.01);
    crowd_close(crowd);
}

/* A rest that lies beside the true one is found from the frames. */
TEST(a_bind_shape_from_posed_frames) {
    double off[3];
    for (int mode = 0; mode < 3; mode++) {
        Crowd *crowd = crowd_open(300);
        const int64_t numbers = 3 * crowd->made.poses.vertex_count;
        answer_free(&crowd->answer);
        crowd->answer = answer_of(&crowd->made.poses, &crowd->made.truth);
        crowd->answer.info = (ossify_info){.struct_size = sizeof crowd->answer.info};
        crowd->answer.rig.given = OSSIFY_GIVEN_WEIGHTS;
        for (int64_t i = 0; i < SUBJECTS * numbers; i++) {
            crowd->rest[i] += 0.02f * (float)sin(0.7 * (double)(i % numbers));
        }
        crowd->settings.rest_mode = mode;
        CHECK(unite(crowd) >= 0);
        off[mode] = percent_off(crowd, crowd->solved);
        CHECK_NEAR(crowd->answer.info.rms_percent, off[mode], 1e-3);
        crowd_close(crowd);
    }
    CHECK(off[1] < 0.5 * off[0]);
    CHECK(off[2] < 0.3 * off[0]);
}

static void check_refused(Crowd *crowd, const char *says) {
    CHECK_INT(unite(crowd), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(crowd->answer.info.message, says);
    crowd_close(crowd);
}

TEST(subjects_that_cannot_be_are_refused) {
    static const uint8_t HELD[FRAMES * BONES] = {1};
    Crowd *crowd = crowd_open(100);
    crowd->subjects.count = 0;
    check_refused(crowd, "subjects.count is 0");
    crowd = crowd_open(100);
    crowd->subject[4] = SUBJECTS;
    check_refused(crowd, "subjects.subject[4] is 3: with 3 subjects it must be 0..2");
    crowd = crowd_open(100);
    crowd->united.joints = NULL;
    check_refused(crowd, "united.joints is NULL");
    crowd = crowd_open(100);
    crowd->rest[4] = NAN;
    check_refused(crowd, "subjects.rest[0][1][1] is nan");
    crowd = crowd_open(100);
    crowd->settings.bone_kind = OSSIFY_FLEXIBLE;
    check_refused(crowd, "subjects share rigid bones");
    crowd = crowd_open(100);
    crowd->answer.rig.given = OSSIFY_GIVEN_TRANSFORMS;
    crowd->answer.rig.bones = BONES;
    crowd->answer.rig.held_transforms = HELD;
    check_refused(crowd, "the rig holds something");
}

static Crowd *small_crowd(void) {
    Crowd *crowd = crowd_open(48);
    crowd->settings.quality = OSSIFY_DRAFT;
    crowd->settings.rest_mode = OSSIFY_REST_KEPT;
    crowd->settings.iterations = 2;
    return crowd;
}

TEST(uniting_ends_at_any_allocation_and_poll) {
    Ledger all = {0};
    Watcher watched = {0};
    Crowd *crowd = small_crowd();
    ledger_join(&all, &crowd->settings);
    watcher_join(&watched, &crowd->settings);
    CHECK(unite(crowd) >= 0);
    CHECK_INT(all.given, all.taken);
    crowd_close(crowd);
    for (int64_t i = 1; i <= all.asked && !test_failed(); i++) {
        Ledger ledger = {.refuse_at = i};
        crowd = small_crowd();
        ledger_join(&ledger, &crowd->settings);
        CHECK_INT(unite(crowd), OSSIFY_OUT_OF_MEMORY);
        CHECK_INT(ledger.given, ledger.taken);
        CHECK(crowd->solved[0] == 0 && crowd->joints[3] == 0);
        crowd_close(crowd);
    }
    for (int64_t i = 1; i < watched.calls && !test_failed(); i += 1 + watched.calls / 100) {
        Watcher watcher = {.cancel_at = i};
        crowd = small_crowd();
        watcher_join(&watcher, &crowd->settings);
        const int64_t status = unite(crowd);
        CHECK(status == OSSIFY_CANCELLED || status >= 0);
        CHECK(status >= 0 || (crowd->solved[0] == 0 && crowd->joints[3] == 0));
        crowd_close(crowd);
    }
}

/* ---- the subject as an axis of the poses ---- */

/* The crowd's poses with all its subjects, and a rig with a rest for each. */
typedef struct Axis {
    Crowd *crowd;
    ossify_poses poses;
    ossify_rig rig;
    ossify_skeleton skeleton;
    double joints[3 * SUBJECTS * BONES];
} Axis;

static Axis axis_of(Crowd *crowd) {
    Axis axis = {.crowd = crowd, .poses = crowd->made.poses, .rig = crowd->answer.rig};
    axis.poses.subject_count = SUBJECTS;
    axis.poses.subject = crowd->subject;
    axis.poses.rest = crowd->rest;
    axis.rig.rest = crowd->solved;
    return axis;
}

static int64_t decompose_axis(Axis *axis) {
    return ossify_decompose(&axis->poses, &axis->crowd->settings, &axis->rig, &axis->crowd->answer.info);
}

static int64_t connect_axis(Axis *axis) {
    axis->skeleton = skeleton_start(BONES);
    free(axis->skeleton.joints);
    axis->skeleton.joints = axis->joints;
    return ossify_connect(&axis->poses, &axis->crowd->settings, &axis->rig, &axis->skeleton,
                          &axis->crowd->answer.info);
}

static void axis_close(Axis *axis) {
    axis->skeleton.joints = calloc(3 * BONES, sizeof(double)); /* which it frees */
    skeleton_free(&axis->skeleton);
    crowd_close(axis->crowd);
}

TEST(decompose_and_connect_know_subjects) {
    Crowd *other = crowd_open(300);
    Axis axis = axis_of(crowd_open(300));
    CHECK(unite(other) >= 0);
    CHECK(decompose_axis(&axis) >= 0);
    const int64_t n = axis.poses.vertex_count;
    CHECK(memcmp(axis.rig.transforms, other->answer.rig.transforms, 12 * FRAMES * BONES * sizeof(double)) ==
          0);
    CHECK(memcmp(axis.rig.influence_weights, other->answer.rig.influence_weights,
                 (size_t)(2 * n) * sizeof(float)) == 0);
    CHECK(memcmp(axis.crowd->solved, axis.crowd->rest, (size_t)(3 * SUBJECTS * n) * sizeof(float)) == 0);
    axis.crowd->answer.rig.bones = axis.rig.bones;
    CHECK_NEAR(axis.crowd->answer.info.rms_percent, percent_off(axis.crowd, axis.crowd->solved), 1e-6);
    CHECK(connect_axis(&axis) >= 0);
    CHECK(memcmp(axis.skeleton.parents, other->parents, sizeof other->parents) == 0);
    CHECK(memcmp(axis.joints, other->joints, sizeof other->joints) == 0);
    crowd_close(other);
    axis_close(&axis);
}

TEST(evaluate_replays_each_frame_from_its_own_subject) {
    Axis axis = axis_of(crowd_open(200));
    float *frames = calloc((size_t)(3 * FRAMES * axis.poses.vertex_count), sizeof *frames);
    ossify_evaluation evaluation = {.struct_size = sizeof evaluation, .frames = frames};
    CHECK(decompose_axis(&axis) >= 0);
    CHECK(ossify_evaluate(&axis.poses, &axis.rig, NULL, &evaluation, &axis.crowd->answer.info) >= 0);
    for (int64_t i = 0; i < FRAMES * axis.poses.vertex_count; i++) {
        double y[3];
        replay(axis.crowd, &axis.rig, axis.crowd->solved, i / axis.poses.vertex_count,
               i % axis.poses.vertex_count, y);
        for (int a = 0; a < 3; a++) {
            CHECK_NEAR((double)frames[3 * i + a], y[a], 1e-5);
        }
    }
    free(frames);
    crowd_close(axis.crowd);
}

TEST(joints_of_each_subject_hold_once_articulated) {
    Axis axis = axis_of(crowd_open(200));
    CHECK(decompose_axis(&axis) >= 0);
    CHECK(connect_axis(&axis) >= 0);
    axis.rig.given = OSSIFY_GIVEN_TRANSFORMS | OSSIFY_GIVEN_WEIGHTS;
    CHECK(ossify_articulate(&axis.poses, &axis.crowd->settings, &axis.rig, &axis.skeleton,
                            &axis.crowd->answer.info) >= 0);
    CHECK(axis.crowd->answer.info.rms_percent < 1);
    for (int64_t i = 0; i < FRAMES * BONES; i++) {
        const int64_t f = i / BONES, b = i % BONES, parent = axis.skeleton.parents[b];
        const double *j = axis.joints + 3 * (axis.crowd->subject[f] * BONES + b);
        for (int a = 0; a < 3 && parent >= 0; a++) {
            const double *m = axis.rig.transforms + 12 * (f * BONES + b) + 4 * a,
                         *n = axis.rig.transforms + 12 * (f * BONES + parent) + 4 * a;
            CHECK_NEAR(m[0] * j[0] + m[1] * j[1] + m[2] * j[2] + m[3],
                       n[0] * j[0] + n[1] * j[1] + n[2] * j[2] + n[3], 1e-5);
        }
    }
    axis_close(&axis);
}

/* All weights held, and the rest fixed: transforms alone. */
TEST(known_subjects_are_tracked_through_new_frames) {
    Axis axis = axis_of(crowd_open(200));
    uint8_t held[400];
    memset(held, 1, sizeof held);
    const size_t n = (size_t)axis.poses.vertex_count;
    memcpy(axis.rig.influence_bones, axis.crowd->made.truth.influence_bones, 2 * n * sizeof(int32_t));
    memcpy(axis.rig.influence_weights, axis.crowd->made.truth.influence_weights, 2 * n * sizeof(float));
    memcpy(axis.crowd->solved, axis.crowd->rest, 3 * SUBJECTS * n * sizeof(float));
    axis.rig.bones = BONES;
    axis.rig.given = OSSIFY_GIVEN_WEIGHTS;
    axis.rig.held_vertices = held;
    CHECK(decompose_axis(&axis) >= 0);
    CHECK(axis.crowd->answer.info.rms_percent < 0.01);
    CHECK(memcmp(axis.rig.influence_weights, axis.crowd->made.truth.influence_weights,
                 2 * n * sizeof(float)) == 0);
    axis.crowd->settings.rest_mode = OSSIFY_REST_KEPT;
    CHECK_INT(decompose_axis(&axis), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(axis.crowd->answer.info.message, "all weights can be held");
    crowd_close(axis.crowd);
}

TEST(one_subject_is_one_body_to_the_bit) {
    Crowd *one = crowd_open(200), *none = crowd_open(200);
    one->made.poses.subject_count = 1;
    CHECK_INT(ossify_decompose(&one->made.poses, &one->settings, &one->answer.rig, &one->answer.info),
              ossify_decompose(&none->made.poses, &none->settings, &none->answer.rig, &none->answer.info));
    CHECK(rigs_are_equal(&one->made.poses, &one->answer.rig, &none->answer.rig));
    crowd_close(one);
    crowd_close(none);
}

TEST(poses_of_subjects_that_cannot_be_are_refused) {
    Axis axis = axis_of(crowd_open(60));
    ossify_info *info = &axis.crowd->answer.info;
    double costs[BONES];
    axis.rig.bones = BONES;
    CHECK_INT(ossify_bone_costs(&axis.poses, &axis.crowd->settings, &axis.rig, costs, info),
              OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info->message, "poses.subject_count is 3: this works on one body at a time");
    axis.crowd->settings.bone_kind = OSSIFY_FLEXIBLE;
    CHECK_INT(decompose_axis(&axis), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info->message, "subjects share rigid bones");
    axis.crowd->settings.bone_kind = OSSIFY_RIGID;
    axis.crowd->rest[3 * axis.poses.vertex_count + 4] = NAN;
    CHECK_INT(decompose_axis(&axis), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info->message, "rest[1][1][1] is nan");
    axis.crowd->subject[4] = SUBJECTS;
    CHECK_INT(decompose_axis(&axis), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info->message, "poses.subject[4] is 3: with 3 subjects it must be 0..2");
    axis.poses.rest = NULL;
    CHECK_INT(decompose_axis(&axis), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info->message, "several subjects need a rest each");
    axis.poses.subject_count = -1;
    CHECK_INT(decompose_axis(&axis), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info->message, "poses.subject_count is -1");
    crowd_close(axis.crowd);
}

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

/* Of the diagonal of the subject of a frame. */
static double square_of_size(const Crowd *crowd, int64_t f) {
    double square = 0;
    for (int a = 0; a < 3; a++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t v = 0; v < crowd->made.poses.vertex_count; v++) {
            low = fmin(low, (double)rest_of(crowd, crowd->rest, f)[3 * v + a]);
            high = fmax(high, (double)rest_of(crowd, crowd->rest, f)[3 * v + a]);
        }
        square += (high - low) * (high - low);
    }
    return square;
}

/* Root mean square, in percent of each subject's own diagonal. */
static double percent_off(const Crowd *crowd, const float *rest) {
    const int64_t vertices = crowd->made.poses.vertex_count;
    double sum = 0;
    for (int64_t f = 0; f < FRAMES; f++) {
        double off = 0;
        for (int64_t v = 0; v < vertices; v++) {
            double y[3];
            replay(crowd, &crowd->answer.rig, rest, f, v, y);
            for (int a = 0; a < 3; a++) {
                off += pow(y[a] - (double)crowd->made.frames[3 * (f * vertices + v) + a], 2);
            }
        }
        sum += off / square_of_size(crowd, f);
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
    for (int64_t i = 1; i <= all.asked && !test_failed(); i = trial_after(i, all.asked)) {
        Ledger ledger = {.refuse_at = i};
        crowd = small_crowd();
        ledger_join(&ledger, &crowd->settings);
        CHECK_INT(unite(crowd), OSSIFY_OUT_OF_MEMORY);
        CHECK_INT(ledger.given, ledger.taken);
        CHECK(crowd->solved[0] == 0 && crowd->joints[3] == 0);
        crowd_close(crowd);
    }
    for (int64_t i = 1; i < watched.calls && !test_failed(); i = trial_after(i, watched.calls)) {
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
    crowd_close(axis.crowd);
}

/* Bones are found from the frames of one body alone, and its error is of those. */
TEST(a_budget_is_met_by_several_subjects) {
    Axis axis = axis_of(crowd_open(200));
    axis.crowd->settings.quality = OSSIFY_DRAFT;
    axis.crowd->settings.budget_kind = OSSIFY_BUDGET_RMS;
    axis.crowd->settings.budget = 1;
    CHECK(decompose_axis(&axis) >= 0);
    CHECK_TEXT(axis.crowd->answer.info.message, "");
    CHECK(axis.crowd->answer.info.rms_percent <= 1);
    crowd_close(axis.crowd);
}

/* ---- refits ---- */

/* The weights of the truth, in which every vertex gives the next bone a tenth, and its transforms. */
static Axis spoiled_axis(int vertices, int64_t influences) {
    Crowd *crowd = crowd_open(vertices);
    answer_free(&crowd->answer);
    crowd->settings.influences = influences;
    crowd->answer = answer_start(&crowd->made.poses, &crowd->settings);
    Axis axis = axis_of(crowd);
    const ossify_rig *truth = &axis.crowd->made.truth;
    const int64_t k = axis.rig.influences;
    for (int64_t v = 0; v < axis.poses.vertex_count; v++) {
        const int32_t bone = truth->influence_bones[v * truth->influences];
        for (int64_t i = 0; i < k; i++) {
            axis.rig.influence_bones[v * k + i] = i == 0 ? bone : i == 1 ? (bone + 1) % BONES : -1;
            axis.rig.influence_weights[v * k + i] = i == 0 ? 0.9F : i == 1 ? 0.1F : 0;
        }
    }
    memcpy(axis.rig.transforms, truth->transforms, 12 * FRAMES * BONES * sizeof(double));
    memcpy(axis.crowd->solved, axis.crowd->rest,
           (size_t)(3 * SUBJECTS * axis.poses.vertex_count) * sizeof(float));
    axis.rig.bones = axis.crowd->answer.rig.bones = BONES;
    axis.rig.given = OSSIFY_GIVEN_TRANSFORMS | OSSIFY_GIVEN_WEIGHTS;
    return axis;
}

static float weight_of(const ossify_rig *rig, int64_t v, int bone) {
    float sum = 0;
    for (int64_t i = v * rig->influences; i < (v + 1) * rig->influences; i++) {
        sum += rig->influence_bones[i] == bone ? rig->influence_weights[i] : 0;
    }
    return sum;
}

typedef struct Holding {
    uint8_t transforms[FRAMES * BONES], vertices[400], groups[BONES], rest[400];
} Holding;

/* Every fifth vertex, the weights of bone 1, a bone of every frame and the rest of every third vertex. */
static void hold_some(Axis *axis, Holding *holding) {
    memset(holding, 0, sizeof *holding);
    holding->groups[1] = 1;
    for (int i = 0; i < 400; i++) {
        holding->vertices[i] = i % 5 == 0;
        holding->rest[i] = i % 3 == 0;
    }
    for (int f = 0; f < FRAMES; f++) {
        holding->transforms[f * BONES + f % BONES] = 1;
        axis->rig.transforms[12 * (f * BONES + f % BONES) + 3] += 0.01; /* which a solve would undo */
    }
    axis->rig.held_transforms = holding->transforms;
    axis->rig.held_vertices = holding->vertices;
    axis->rig.held_groups = holding->groups;
    axis->rig.held_rest = holding->rest;
}

static void check_held(const Axis *axis, const Holding *holding, const ossify_rig *before) {
    const int64_t n = axis->poses.vertex_count, k = axis->rig.influences;
    for (int64_t v = 0; v < n; v++) {
        const size_t row = (size_t)k * sizeof(float);
        CHECK(!holding->vertices[v] ||
              memcmp(axis->rig.influence_weights + v * k, before->influence_weights + v * k, row) == 0);
        CHECK(weight_of(&axis->rig, v, 1) == weight_of(before, v, 1));
        for (int s = 0; s < SUBJECTS; s++) {
            const size_t at = (size_t)(3 * (s * n + v));
            CHECK((memcmp(axis->rig.rest + at, axis->crowd->rest + at, 3 * sizeof(float)) == 0) ==
                  (holding->rest[v] != 0));
        }
    }
    for (int64_t i = 0; i < FRAMES * BONES; i++) {
        const int same =
            memcmp(axis->rig.transforms + 12 * i, before->transforms + 12 * i, 12 * sizeof(double)) == 0;
        CHECK_INT(same, holding->transforms[i]);
    }
}

TEST(a_refit_of_several_subjects_keeps_what_is_held_to_the_bit) {
    Axis axis = spoiled_axis(200, 2), start = spoiled_axis(200, 2);
    Holding holding;
    const double before = percent_off(axis.crowd, axis.crowd->solved);
    hold_some(&axis, &holding);
    hold_some(&start, &holding);
    axis.crowd->settings.rest_mode = OSSIFY_REST_FREE;
    CHECK(decompose_axis(&axis) >= 0);
    check_held(&axis, &holding, &start.rig);
    axis.crowd->answer.rig.bones = axis.rig.bones;
    CHECK(percent_off(axis.crowd, axis.crowd->solved) < before);
    CHECK_NEAR(axis.crowd->answer.info.rms_percent, percent_off(axis.crowd, axis.crowd->solved), 1e-4);
    crowd_close(axis.crowd);
    crowd_close(start.crowd);
}

TEST(several_subjects_hold_nothing_without_weights) {
    static const uint8_t held[FRAMES * BONES] = {1};
    Axis axis = spoiled_axis(40, 2);
    axis.rig.given = OSSIFY_GIVEN_TRANSFORMS;
    axis.rig.held_transforms = held;
    CHECK_INT(decompose_axis(&axis), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(axis.crowd->answer.info.message, "several subjects are refitted from weights");
    crowd_close(axis.crowd);
}

/* Squares of a vertex over all frames, each by its subject's own size. */
static double squares_of(const Axis *axis, int64_t v) {
    const int64_t n = axis->poses.vertex_count;
    double sum = 0;
    for (int64_t f = 0; f < FRAMES; f++) {
        const float *x = axis->crowd->made.frames + 3 * (f * n + v);
        double y[3], square = 0;
        replay(axis->crowd, &axis->rig, axis->rig.rest, f, v, y);
        for (int a = 0; a < 3; a++) {
            square += pow(y[a] - (double)x[a], 2);
        }
        sum += square / square_of_size(axis->crowd, f);
    }
    return sum;
}

/* All transforms held, and the weights of bone 1, which are not those of the truth: what others have is the best. */
TEST(beside_a_held_group_no_other_weights_do_better) {
    Axis axis = spoiled_axis(200, BONES);
    const uint8_t groups[BONES] = {0, 1, 0, 0};
    uint8_t transforms[FRAMES * BONES];
    int tried = 0;
    memset(transforms, 1, sizeof transforms);
    axis.rig.held_groups = groups;
    axis.rig.held_transforms = transforms;
    CHECK(decompose_axis(&axis) >= 0);
    for (int64_t at = 0; at < BONES * BONES * axis.poses.vertex_count && !test_failed(); at++) {
        const int64_t v = at / (BONES * BONES), i = v * BONES + at % BONES,
                      j = v * BONES + at / BONES % BONES;
        float *weight = axis.rig.influence_weights;
        const int32_t from = axis.rig.influence_bones[i], to = axis.rig.influence_bones[j];
        if (from < 0 || to < 0 || from == 1 || to == 1 || from == to || weight[i] < 0.01F ||
            weight_of(&axis.rig, v, 1) == 0) {
            continue;
        }
        const float before[2] = {weight[i], weight[j]};
        const double found = squares_of(&axis, v);
        weight[i] -= 0.01F;
        weight[j] += 0.01F;
        CHECK(squares_of(&axis, v) >= found);
        weight[i] = before[0];
        weight[j] = before[1];
        tried++;
    }
    CHECK(tried > 50);
    crowd_close(axis.crowd);
}

TEST(held_groups_of_no_weight_take_no_room) {
    Axis axis = spoiled_axis(40, 4);
    const uint8_t groups[BONES] = {0, 1, 1, 0};
    const int32_t bones[4] = {1, 2, 0, -1};
    const float weights[4] = {0, 0, 1, 0};
    float sum = 0;
    memcpy(axis.rig.influence_bones, bones, sizeof bones);
    memcpy(axis.rig.influence_weights, weights, sizeof weights);
    axis.crowd->settings.influences = 2;
    axis.rig.held_groups = groups;
    CHECK(decompose_axis(&axis) >= 0);
    for (int b = 0; b < BONES; b++) {
        sum += weight_of(&axis.rig, 0, b);
    }
    CHECK_NEAR((double)sum, 1, 1e-6);
    crowd_close(axis.crowd);
}

TEST(what_a_held_group_leaves_is_given_to_others_however_little) {
    Axis axis = spoiled_axis(40, 4);
    const uint8_t groups[BONES] = {0, 1, 0, 0};
    const int32_t bones[4] = {1, 0, -1, -1};
    const float weights[4] = {0.99995F, 0.00005F, 0, 0};
    double sum = 0;
    memcpy(axis.rig.influence_bones, bones, sizeof bones);
    memcpy(axis.rig.influence_weights, weights, sizeof weights);
    axis.rig.held_groups = groups;
    CHECK(decompose_axis(&axis) >= 0);
    CHECK(weight_of(&axis.rig, 0, 1) == weights[0]);
    for (int b = 0; b < BONES; b++) {
        sum += (double)weight_of(&axis.rig, 0, b);
    }
    CHECK_NEAR(sum, 1, 1e-6);
    crowd_close(axis.crowd);
}

/* ---- correctives ---- */

/* x += N (c B): a field of the rest that every frame has as much of as it is late. */
static double planted(int64_t f, int64_t v, int axis) {
    return 0.02 * (double)(f + 1) * sin((double)(3 * v + axis));
}

static void plant(Axis *axis) {
    const ossify_rig *rig = &axis->rig;
    const int64_t n = axis->poses.vertex_count;
    for (int64_t i = 0; i < FRAMES * n; i++) {
        const int64_t f = i / n, v = i % n;
        for (int64_t j = v * rig->influences; j < (v + 1) * rig->influences; j++) {
            for (int a = 0; a < 9 && rig->influence_bones[j] >= 0; a++) {
                const double *m = rig->transforms + 12 * (f * rig->bone_capacity + rig->influence_bones[j]);
                axis->crowd->made.frames[3 * i + a / 3] +=
                    (float)((double)rig->influence_weights[j] * m[a / 3 * 4 + a % 3] * planted(f, v, a % 3));
            }
        }
    }
}

static int64_t correct_axis(Axis *axis, ossify_correction *correction) {
    ossify_corrected corrected = {.struct_size = sizeof corrected};
    return ossify_correct(&axis->poses, &axis->crowd->settings, &axis->rig, correction, &corrected,
                          &axis->crowd->answer.info);
}

TEST(a_field_that_several_subjects_share_comes_back) {
    Axis axis = axis_of(crowd_open(200));
    const int64_t n = axis.poses.vertex_count;
    float *fields = calloc((size_t)(3 * n), sizeof *fields);
    double coefficients[FRAMES] = {0};
    ossify_correction correction;
    memcpy(axis.crowd->solved, axis.crowd->rest, (size_t)(3 * SUBJECTS * n) * sizeof(float));
    memcpy(axis.rig.influence_bones, axis.crowd->made.truth.influence_bones,
           (size_t)(2 * n) * sizeof(int32_t));
    memcpy(axis.rig.influence_weights, axis.crowd->made.truth.influence_weights,
           (size_t)(2 * n) * sizeof(float));
    memcpy(axis.rig.transforms, axis.crowd->made.truth.transforms, 12 * FRAMES * BONES * sizeof(double));
    axis.rig.bones = BONES;
    axis.rig.corrective_capacity = 1;
    axis.rig.fields = fields;
    axis.rig.coefficients = coefficients;
    plant(&axis);
    ossify_default_correction(&correction);
    correction.count = 1;
    CHECK(correct_axis(&axis, &correction) >= 0);
    CHECK_INT(axis.rig.correctives, 1);
    CHECK(axis.crowd->answer.info.rms_percent < 1e-3);
    for (int64_t i = 0; i < 3 * FRAMES * n; i++) {
        const int64_t f = i / (3 * n), v = i / 3 % n;
        CHECK_NEAR(coefficients[f] * (double)fields[3 * v + i % 3], planted(f, v, (int)(i % 3)), 1e-4);
    }
    correction.refine = 1;
    axis.rig.correctives = 0;
    CHECK_INT(correct_axis(&axis, &correction), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(axis.crowd->answer.info.message, "bones of several subjects stay as they are");
    correction.refine = 0;
    correction.budget_kind = OSSIFY_BUDGET_RMS;
    correction.budget = 1;
    CHECK_INT(correct_axis(&axis, &correction), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(axis.crowd->answer.info.message, "ask for a count");
    free(fields);
    crowd_close(axis.crowd);
}

/* ---- ended at any time ---- */

/* A verb over several subjects, and the numbers that it writes. */
typedef struct Trial {
    Axis axis;
    Holding holding;
    float *fields;
    double coefficients[FRAMES];
    int corrects;
} Trial;

static void trial_open(Trial *trial, int corrects) {
    *trial = (Trial){.axis = spoiled_axis(40, 2), .corrects = corrects};
    trial->fields = calloc((size_t)(3 * trial->axis.poses.vertex_count), sizeof *trial->fields);
    trial->axis.rig.fields = trial->fields;
    trial->axis.rig.coefficients = trial->coefficients;
    trial->axis.rig.corrective_capacity = corrects;
    trial->axis.crowd->settings.quality = OSSIFY_DRAFT;
    trial->axis.crowd->settings.iterations = 2;
    trial->axis.crowd->settings.rest_mode = corrects ? OSSIFY_REST_FIXED : OSSIFY_REST_FREE;
    if (!corrects) {
        hold_some(&trial->axis, &trial->holding);
    }
}

static int64_t trial_run(Trial *trial) {
    ossify_correction correction;
    if (!trial->corrects) {
        return decompose_axis(&trial->axis);
    }
    ossify_default_correction(&correction);
    correction.count = 1;
    return correct_axis(&trial->axis, &correction);
}

/* Whether nothing was written: all is as another that was opened, but not run, has it. */
static int trial_is_untouched(const Trial *trial) {
    Trial other;
    trial_open(&other, trial->corrects);
    const size_t n = (size_t)trial->axis.poses.vertex_count;
    const int same =
        rigs_are_equal(&trial->axis.poses, &trial->axis.rig, &other.axis.rig) &&
        memcmp(trial->axis.rig.rest, other.axis.rig.rest, 3 * SUBJECTS * n * sizeof(float)) == 0 &&
        memcmp(trial->fields, other.fields, 3 * n * sizeof(float)) == 0 && trial->axis.rig.correctives == 0;
    free(other.fields);
    crowd_close(other.axis.crowd);
    return same;
}

static void trial_close(Trial *trial) {
    free(trial->fields);
    crowd_close(trial->axis.crowd);
}

TEST(refits_and_correctives_of_subjects_with_every_allocation_refused) {
    for (int corrects = 0; corrects < 2; corrects++) {
        int64_t needed = 1;
        for (int64_t i = 0; i <= needed && !test_failed(); i = trial_after(i, needed)) {
            Ledger ledger = {.refuse_at = i};
            Trial trial;
            trial_open(&trial, corrects);
            ledger_join(&ledger, &trial.axis.crowd->settings);
            const int64_t status = trial_run(&trial);
            test_case("correctives %d, allocation %d of %d", corrects, (int)i, (int)needed);
            CHECK(i == 0 ? status >= 0 : status == OSSIFY_OUT_OF_MEMORY);
            CHECK(trial_is_untouched(&trial) == (i > 0));
            CHECK_INT(ledger.taken, ledger.given);
            needed = i == 0 ? ledger.asked : needed;
            trial_close(&trial);
        }
        CHECK(needed > 10);
    }
}

TEST(refits_and_correctives_of_subjects_cancelled_at_every_poll) {
    for (int corrects = 0; corrects < 2; corrects++) {
        int64_t polls = 1;
        for (int64_t i = 0; i <= polls && !test_failed(); i = trial_after(i, polls)) {
            Watcher watcher = {.cancel_at = i};
            Trial trial;
            trial_open(&trial, corrects);
            watcher_join(&watcher, &trial.axis.crowd->settings);
            const int64_t status = trial_run(&trial);
            test_case("correctives %d, poll %d of %d", corrects, (int)i, (int)polls);
            CHECK(status >= 0 || (status == OSSIFY_CANCELLED && trial_is_untouched(&trial)));
            CHECK(i > 0 || status >= 0);
            polls = i == 0 ? watcher.calls : polls;
            trial_close(&trial);
        }
        CHECK(polls > 5);
    }
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

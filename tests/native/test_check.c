/* test_check.c - whatever is wrong with the arguments is refused in a sentence that names the place and
 * the value, and nothing is written. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/sentence.h"
#include "probe.h"
#include "synthetic.h"
#include "test.h"

/* Arguments that are right, to be spoilt one at a time. */
typedef struct Input {
    Synthetic made;
    ossify_poses poses;
    ossify_settings settings;
    Answer answer;
    ossify_rig whole; /* the answer's rig before its fields were spoilt */
    uint8_t held[200];
} Input;

static Input *input(void) {
    SyntheticOptions options = {.vertices = 100, .frames = 5, .bones = 3, .influences = 2};
    Input *in = calloc(1, sizeof *in);
    in->made = synthetic_make(options);
    in->poses = in->made.poses;
    in->settings = plain_settings(3);
    in->settings.influences = 2;
    in->settings.quality = OSSIFY_DRAFT;
    in->answer = answer_of(&in->poses, &in->made.truth);
    in->whole = in->answer.rig;
    return in;
}

static void input_free(Input *in) {
    in->answer.rig = in->whole;
    answer_free(&in->answer);
    synthetic_free(&in->made);
    free(in);
}

static void check_refused(Input *in, const char *sentence) {
    Answer before = answer_of(&in->made.poses, &in->whole);
    ossify_rig *rig = &in->answer.rig, same = *rig;
    ossify_info *info = &in->answer.info;
    ossify_job *job;
    test_case("%s", sentence);
    CHECK_INT(ossify_decompose(&in->poses, &in->settings, rig, info), OSSIFY_BAD_ARGUMENT);
    CHECK_INT(info->status, OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info->message, sentence);
    CHECK(info->erms == -1 && info->bones == 0);
    info->message[0] = '\0';
    job = job_decompose(&in->poses, &in->settings, rig, info);
    if (job != NULL) { /* what needs a look at every number is found by the job itself */
        CHECK_INT(ossify_job_finish(job), OSSIFY_BAD_ARGUMENT);
    }
    CHECK_INT(info->status, OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info->message, sentence);
    CHECK(memcmp(&same, rig, sizeof same) == 0);
    CHECK(rigs_are_equal(&in->made.poses, &in->whole, &before.rig));
    answer_free(&before);
}

/* `change` spoils *in or *rig. */
#define REFUSED(sentence, change)          \
    do {                                   \
        Input *in = input();               \
        ossify_rig *rig = &in->answer.rig; \
        (void)rig;                         \
        change;                            \
        check_refused(in, sentence);       \
        input_free(in);                    \
    } while (0)

TEST(right_arguments_are_not_refused) {
    Input *in = input();
    CHECK(ossify_decompose(&in->poses, &in->settings, &in->answer.rig, &in->answer.info) >= 0);
    CHECK_TEXT(in->answer.info.message, "");
    input_free(in);
}

TEST(structs_of_another_version_are_refused) {
    REFUSED("ossify_poses has size 0, this library (", in->poses.struct_size = 0);
    REFUSED("expects 72", in->poses.struct_size = 8);
    REFUSED("ossify_settings has size 7", in->settings.struct_size = 7);
    REFUSED("ossify_rig has size -1", rig->struct_size = -1);
}

TEST(missing_structs_are_refused) {
    Input *in = input();
    ossify_info *info = &in->answer.info;
    CHECK_INT(ossify_decompose(NULL, &in->settings, &in->answer.rig, info), OSSIFY_BAD_ARGUMENT);
    CHECK_TEXT(info->message, "poses is NULL: give the address of an ossify_poses");
    CHECK_INT(ossify_decompose(&in->poses, NULL, &in->answer.rig, info), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info->message, "settings is NULL");
    CHECK_INT(ossify_decompose(&in->poses, &in->settings, NULL, info), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info->message, "rig is NULL");
    CHECK_INT(ossify_decompose(&in->poses, &in->settings, &in->answer.rig, NULL), OSSIFY_BAD_ARGUMENT);
    CHECK(job_decompose(&in->poses, &in->settings, &in->answer.rig, NULL) == NULL);
    CHECK_INT(ossify_evaluate(&in->poses, &in->answer.rig, NULL, NULL, info), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info->message, "evaluation is NULL");
    CHECK_INT(ossify_evaluate(&in->poses, &in->answer.rig, NULL, NULL, NULL), OSSIFY_BAD_ARGUMENT);
    input_free(in);
}

TEST(an_info_of_another_version_is_not_written) {
    Input *in = input();
    ossify_info other;
    memset(&other, 0x55, sizeof other);
    other.struct_size = 24;
    CHECK_INT(ossify_decompose(&in->poses, &in->settings, &in->answer.rig, &other), OSSIFY_BAD_ARGUMENT);
    CHECK_INT(other.struct_size, 24);
    CHECK_INT(other.message[0], 0x55);
    input_free(in);
}

TEST(counts_out_of_range_are_refused) {
    REFUSED("poses.vertex_count is 0", in->poses.vertex_count = 0);
    REFUSED("poses.vertex_count is -5", in->poses.vertex_count = -5);
    REFUSED("poses.vertex_count is 9223372036854775807", in->poses.vertex_count = INT64_MAX);
    REFUSED("poses.vertex_count is 134217728", in->poses.vertex_count = 134217728); /* times 16 overflows */
    REFUSED("poses.frame_count is 0", in->poses.frame_count = 0);
    REFUSED("poses.frame_count is -9223372036854775808", in->poses.frame_count = INT64_MIN);
    REFUSED("poses.frame_count is 1000001", in->poses.frame_count = 1000001);
    REFUSED("poses.triangle_count is -1", in->poses.triangle_count = -1);
    REFUSED("poses.triangle_count is 715827883", in->poses.triangle_count = 715827883); /* times 3 */
}

TEST(settings_out_of_range_are_refused) {
    REFUSED("settings.bones is 0: it must be 1..1024", in->settings.bones = 0);
    REFUSED("settings.bones is 1025", in->settings.bones = 1025);
    REFUSED("settings.influences is 17: it must be 1..16", in->settings.influences = 17);
    REFUSED("settings.bone_kind is 2", in->settings.bone_kind = 2);
    REFUSED("settings.quality is 3", in->settings.quality = 3);
    REFUSED("settings.rest_mode is -1", in->settings.rest_mode = -1);
    REFUSED("settings.locality is 2", in->settings.locality = 2);
    REFUSED("settings.start is 4: it must be 0..3", in->settings.start = 4);
    REFUSED("settings.connect is 3: it must be 0..2", in->settings.connect = 3);
    REFUSED("settings.relocate is 3: it must be 0..2", in->settings.relocate = 3);
    REFUSED("settings.budget_kind is 9", in->settings.budget_kind = 9);
    REFUSED("settings.iterations is -1", in->settings.iterations = -1);
    REFUSED("settings.iterations is 1000001", in->settings.iterations = 1000001);
    REFUSED("settings.threads is 257: it must be 0..256", in->settings.threads = 257);
    REFUSED("settings.threads is -1", in->settings.threads = -1);
    REFUSED("settings.start_tolerance is -1", in->settings.start_tolerance = -1);
    REFUSED("settings.start_tolerance is inf", in->settings.start_tolerance = INFINITY);
    REFUSED("settings.smoothness is nan", in->settings.smoothness = NAN);
    REFUSED("settings.smoothness is -0.5", in->settings.smoothness = -0.5);
    REFUSED("settings.smoothness is 1001: it must be 0..1000", in->settings.smoothness = 1001);
    REFUSED("settings.fairness is nan", in->settings.fairness = NAN);
    REFUSED("settings.fairness is 1001: it must be 0..1000", in->settings.fairness = 1001);
    REFUSED("settings.until is -1", in->settings.until = -1);
    REFUSED("settings.until is inf", in->settings.until = INFINITY);
}

TEST(budgets_out_of_range_are_refused) {
    REFUSED("settings.budget is 0: with budget_kind 1", in->settings.budget_kind = OSSIFY_BUDGET_RMS);
    REFUSED("settings.budget is -inf: with budget_kind 2", (in->settings.budget_kind = OSSIFY_BUDGET_MAXIMUM,
                                                            in->settings.budget = -INFINITY, rig->given = 0));
    REFUSED("settings.budget is 0: with budget_kind 4 it must be a number above 0, in degrees",
            (in->settings.budget_kind = OSSIFY_BUDGET_NORMALS, rig->given = 0));
    REFUSED("settings.budget is nan",
            (in->settings.budget_kind = OSSIFY_BUDGET_MAXIMUM, in->settings.budget = NAN, rig->given = 0));
}

static void *no_memory(void *user, uint64_t bytes) {
    (void)user;
    (void)bytes;
    return NULL;
}

static void no_release(void *user, void *memory) {
    (void)user;
    (void)memory;
}

TEST(half_an_allocator_is_refused) {
    REFUSED("settings.allocate is set but settings.release is NULL", in->settings.allocate = no_memory);
    REFUSED("settings.release is set but settings.allocate is NULL", in->settings.release = no_release);
}

TEST(missing_arrays_are_refused) {
    REFUSED("poses.frames is NULL: it must point to an array [frame_count][vertex_count][3]",
            in->poses.frames = NULL);
    REFUSED("poses.triangles is NULL", in->poses.triangles = NULL);
    REFUSED("rig.transforms is NULL", rig->transforms = NULL);
    REFUSED("rig.influence_bones is NULL", rig->influence_bones = NULL);
    REFUSED("rig.influence_weights is NULL", rig->influence_weights = NULL);
    REFUSED("rig.rest is NULL: it must point to an array [vertex_count][3]", rig->rest = NULL);
}

TEST(arrays_that_are_not_aligned_are_refused) {
    REFUSED("poses.frames is not aligned: its address must be a multiple of 4",
            in->poses.frames = (const float *)(const void *)((const char *)in->poses.frames + 1));
    REFUSED("poses.rest is not aligned",
            in->poses.rest = (const float *)(const void *)((const char *)in->poses.rest + 2));
    REFUSED("poses.triangles is not aligned",
            in->poses.triangles = (const int32_t *)(const void *)((const char *)in->poses.triangles + 3));
}

TEST(a_rig_without_room_is_refused) {
    REFUSED("rig.bone_capacity is 0", rig->bone_capacity = 0);
    REFUSED("rig.bone_capacity is 1025", rig->bone_capacity = 1025);
    REFUSED("rig.influences is 0", rig->influences = 0);
    REFUSED("settings.influences is 3, but the rig's arrays have room for 2", in->settings.influences = 3);
    REFUSED("settings.bones is 4, but the rig's arrays have room for 3",
            (in->settings.bones = 4, rig->given = 0));
}

TEST(held_groups_that_leave_no_room_are_named) {
    REFUSED("the held groups of vertex 4 sum to 1.5",
            (memset(in->held, 1, 3), rig->held_groups = in->held, rig->influence_weights[2 * 4] = 0.75f,
             rig->influence_weights[2 * 4 + 1] = 0.75f, rig->influence_bones[2 * 4] = 0,
             rig->influence_bones[2 * 4 + 1] = 1));
    REFUSED("the 1 held groups of vertex 4 sum to 0.5 and leave no room",
            (memset(in->held, 1, 3), rig->held_groups = in->held, rig->influence_weights[2 * 4] = 0.5f,
             rig->influence_weights[2 * 4 + 1] = 0));
}

TEST(contradictions_are_refused) {
    REFUSED("rig.given is 4", rig->given = 4);
    REFUSED("rig.held_transforms is set but rig.given is 2: add OSSIFY_GIVEN_TRANSFORMS, or set "
            "held_transforms to NULL",
            (rig->held_transforms = in->held, rig->given = 2));
    REFUSED("rig.held_vertices is set but rig.given is 1", (rig->held_vertices = in->held, rig->given = 1));
    REFUSED("rig.held_groups is set but rig.given is 1", (rig->held_groups = in->held, rig->given = 1));
    REFUSED("rig.held_rest is set but rig.given is 0", (rig->held_rest = in->held, rig->given = 0));
    REFUSED("rig.bones is 0: the rig must come with 1..3 bones", rig->bones = 0);
    REFUSED("rig.bones is 4: the rig must come with 1..3 bones", rig->bones = 4);
    REFUSED("rig.bones is 165, but there are only 100 vertices: a rig may have 64 bones more",
            (rig->bone_capacity = 165, rig->bones = 165));
    REFUSED(
        "settings.bones is 17 and poses.vertex_count 134217727: their product may be 2147483648 at most",
        (in->poses.vertex_count = 134217727, in->settings.bones = rig->bone_capacity = 17, rig->given = 0));
    REFUSED("settings.budget_kind is 1 and rig.given is 3",
            (in->settings.budget_kind = OSSIFY_BUDGET_RMS, in->settings.budget = 1));
    REFUSED("settings.budget_kind is 4 and poses.triangle_count is 0",
            (in->settings.budget_kind = OSSIFY_BUDGET_NORMALS, in->settings.budget = 1, rig->given = 0,
             in->poses.triangles = NULL, in->poses.triangle_count = 0));
    REFUSED("poses.rest is NULL and settings.rest_mode is OSSIFY_REST_FIXED",
            (in->poses.rest = NULL, in->settings.rest_mode = OSSIFY_REST_FIXED));
}

TEST(positions_that_are_not_finite_are_named) {
    REFUSED("frames[0][0][0] is nan", in->made.frames[0] = NAN);
    REFUSED("frames[4][99][2] is inf", in->made.frames[3 * (4 * in->poses.vertex_count + 99) + 2] = INFINITY);
    REFUSED("frames[2][7][1] is -inf", in->made.frames[3 * (2 * in->poses.vertex_count + 7) + 1] = -INFINITY);
    REFUSED("frames[0][1][0] is 2e+30", in->made.frames[3] = 2e30f);
    REFUSED("frames[0][1][2] is nan", (in->made.frames[8] = NAN, in->made.frames[5] = NAN));
    REFUSED("rest[31][2] is nan", in->made.rest[3 * 31 + 2] = NAN);
    REFUSED("rest[0][1] is -3e+38", in->made.rest[1] = -3e38f);
    REFUSED("rig.rest[5][0] is inf", rig->rest[15] = INFINITY);
}

TEST(triangles_without_such_a_vertex_are_named) {
    REFUSED("triangles[0][0] is -1: with 100 vertices it must be 0..99", in->made.triangles[0] = -1);
    REFUSED("triangles[3][2] is 100", in->made.triangles[11] = 100);
    REFUSED("triangles[1][1] is 2147483647", in->made.triangles[4] = INT32_MAX);
    REFUSED("triangles[1][0] is -2147483648", in->made.triangles[3] = INT32_MIN);
}

TEST(given_transforms_that_are_not_finite_are_named) {
    REFUSED("transforms[0][0][0][0] is nan", rig->transforms[0] = NAN);
    REFUSED("transforms[4][2][1][3] is inf", rig->transforms[12 * (4 * 3 + 2) + 7] = INFINITY);
    REFUSED("transforms[1][0][2][2] is -1e+31", rig->transforms[12 * 3 + 10] = -1e31);
}

TEST(given_weights_that_make_no_sense_are_named) {
    REFUSED("influence_bones[4][0] is 3: it must be -1 (unused) or a bone, 0..2",
            rig->influence_bones[8] = 3);
    REFUSED("influence_bones[4][1] is -2", rig->influence_bones[9] = -2);
    REFUSED("influence_bones[6][1] is 1, which that vertex already has",
            (rig->influence_bones[12] = 1, rig->influence_bones[13] = 1, rig->influence_weights[12] = 0.5f,
             rig->influence_weights[13] = 0.5f));
    REFUSED("influence_weights[0][0] is nan", rig->influence_weights[0] = NAN);
    REFUSED("influence_weights[0][0] is -0.25", rig->influence_weights[0] = -0.25f);
    REFUSED("influence_weights[0][0] is 1.5", rig->influence_weights[0] = 1.5f);
    REFUSED("influence_weights[7][1] is 0.5, but its bone is -1 (unused)",
            (rig->influence_bones[14] = 0, rig->influence_weights[14] = 0.5f, rig->influence_bones[15] = -1,
             rig->influence_weights[15] = 0.5f));
    REFUSED("influence_weights[7] sum to 0.5", /* which only what is held must not */
            (rig->influence_bones[14] = 0, rig->influence_weights[14] = 0.5f, rig->influence_bones[15] = -1,
             rig->influence_weights[15] = 0, rig->held_vertices = in->held, in->held[7] = 1));
}

TEST(a_held_vertex_with_too_many_bones_is_named) {
    REFUSED("held_vertices[9] is set, but that vertex has 2 bones and settings.influences is 1",
            (in->settings.influences = 1, rig->held_vertices = in->held, in->held[9] = 1,
             rig->influence_bones[18] = 0, rig->influence_bones[19] = 1, rig->influence_weights[18] = 0.5f,
             rig->influence_weights[19] = 0.5f));
}

/* Scans run in pieces: the first fault is named, whichever piece ends first. */
TEST(the_first_fault_of_a_large_array_is_named) {
    SyntheticOptions options = {.vertices = 30000, .frames = 60, .bones = 1};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(1);
    Answer answer = answer_start(&s.poses, &settings);
    settings.threads = 3;
    s.frames[3 * (57 * s.poses.vertex_count + 5)] = NAN;
    s.frames[3 * (52 * s.poses.vertex_count + 29000) + 1] = NAN;
    CHECK_INT(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(answer.info.message, "frames[52][29000][1] is nan");
    answer_free(&answer);
    synthetic_free(&s);
}

static void check_evaluate_refused(Input *in, ossify_evaluation *evaluation, const char *sentence) {
    ossify_settings *settings =
        in->settings.struct_size != sizeof in->settings || in->settings.allocate ? &in->settings : NULL;
    test_case("%s", sentence);
    CHECK_INT(ossify_evaluate(&in->poses, &in->answer.rig, settings, evaluation, &in->answer.info),
              OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(in->answer.info.message, sentence);
}

#define EVALUATION_REFUSED(sentence, change)                               \
    do {                                                                   \
        Input *in = input();                                               \
        ossify_evaluation evaluation = {.struct_size = sizeof evaluation}; \
        change;                                                            \
        check_evaluate_refused(in, &evaluation, sentence);                 \
        input_free(in);                                                    \
    } while (0)

TEST(evaluation_refuses_what_it_cannot_replay) {
    static double odd[2];
    void *shifted = (char *)odd + 4;
    EVALUATION_REFUSED("ossify_evaluation has size 3", evaluation.struct_size = 3);
    EVALUATION_REFUSED("evaluation.vertex_error is not aligned", evaluation.vertex_error = shifted);
    EVALUATION_REFUSED("evaluation.frame_error is not aligned", evaluation.frame_error = shifted);
    EVALUATION_REFUSED("evaluation.frames is not aligned",
                       evaluation.frames = (float *)(void *)((char *)odd + 1));
    EVALUATION_REFUSED("ossify_settings has size 1", in->settings.struct_size = 1);
    EVALUATION_REFUSED("settings.allocate is set", in->settings.allocate = no_memory);
    EVALUATION_REFUSED("poses.vertex_count is 0", in->poses.vertex_count = 0);
    EVALUATION_REFUSED("rig.bones is 0", in->answer.rig.bones = 0);
    EVALUATION_REFUSED("rest[0][0] is nan", in->made.rest[0] = NAN);
    EVALUATION_REFUSED("frames[0][0][1] is nan", in->made.frames[1] = NAN);
    EVALUATION_REFUSED("rig.rest[0][2] is nan", in->answer.rig.rest[2] = NAN);
    EVALUATION_REFUSED("transforms[0][0][0][1] is nan", in->answer.rig.transforms[1] = NAN);
    EVALUATION_REFUSED("influence_bones[0][0] is 77", in->answer.rig.influence_bones[0] = 77);
}

TEST(a_long_sentence_is_cut_after_a_word) {
    ossify_info info = {.struct_size = sizeof info};
    char text[400];
    for (int i = 0; i < 399; i++) {
        text[i] = i % 8 == 7 ? ' ' : 'a';
    }
    text[399] = '\0';
    CHECK_INT(sentence_refuse(&info, OSSIFY_BAD_ARGUMENT, "%s", text), OSSIFY_BAD_ARGUMENT);
    CHECK(strlen(info.message) < OSSIFY_MESSAGE_LENGTH);
    CHECK(strlen(info.message) > OSSIFY_MESSAGE_LENGTH - 16);
    CHECK(strncmp(info.message, text, strlen(info.message)) == 0);
    CHECK_INT(strlen(info.message) % 8, 7);
}

TEST(defaults_are_those_the_header_names) {
    ossify_settings settings;
    ossify_default_settings(NULL);
    memset(&settings, 0x77, sizeof settings);
    ossify_default_settings(&settings);
    CHECK_INT(settings.struct_size, sizeof settings);
    CHECK_INT(settings.influences, 4);
    CHECK_INT(settings.bone_kind, OSSIFY_RIGID);
    CHECK_INT(settings.quality, OSSIFY_NORMAL);
    CHECK_INT(settings.rest_mode, OSSIFY_REST_KEPT);
    CHECK_INT(settings.locality, 1);
    CHECK_INT(settings.start, OSSIFY_START_GROWN);
    CHECK_INT(settings.budget_kind, OSSIFY_BUDGET_NONE);
    CHECK_NEAR(settings.smoothness, 1, 0);
    CHECK_NEAR(settings.fairness, 10, 0);
    CHECK(settings.until == 0 && settings.iterations == 0 && settings.threads == 0 && settings.seed == 0);
    CHECK(!settings.allocate && !settings.release && !settings.watch);
}

TEST(the_version_is_three_numbers) {
    int dots = 0;
    for (const char *at = ossify_version(); *at; at++) {
        CHECK(*at == '.' || (*at >= '0' && *at <= '9'));
        dots += *at == '.';
    }
    CHECK_INT(dots, 2);
}

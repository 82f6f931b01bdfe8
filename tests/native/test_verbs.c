/* test_verbs.c - the table of verbs and the frame around them: any verb as a job, every array that a verb reads
 * checked, every answer checked. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/check.h"
#include "probe.h"
#include "synthetic.h"
#include "test.h"

enum { BONES = 4, FRAMES = 6, VERTICES = 120, K = 2, FIELDS = 3 };

/* What any verb needs. */
typedef struct Bench {
    Synthetic made;
    ossify_settings settings;
    Answer answer;
    ossify_skeleton skeleton;
    int32_t parents[BONES + 1], kinds[BONES + 1], mirrors[BONES + 1], demanded[2];
    double joints[3 * BONES + 3], axes[3 * BONES + 3], angles[BONES + 1], drifts[BONES + 1], costs[BONES + 1];
    ossify_evaluation evaluation;
    double vertex_error[VERTICES + 60];
    ossify_place place;
    ossify_fewer fewer;
    ossify_smoother smoother;
    ossify_costs result;
    ossify_correction correction;
    ossify_corrected corrected;
    double gains[FIELDS];
    ossify_space_fit fit;
    ossify_space space;
    int32_t space_bones[K * (VERTICES + 60)];
    float corrections[4 * K * (VERTICES + 60)];
    ossify_compression compression;
    ossify_layers layers;
    int32_t virtual_bones[2 * BONES], blended_bones[2 * (VERTICES + 60)];
    float virtual_weights[2 * BONES], blended_weights[2 * (VERTICES + 60)];
    ossify_driving driving;
    ossify_driven driven;
    int32_t driving_parents[BONES + 1];
    double map[FIELDS * (BONES + 1) * 9];
    ossify_subjects subjects;
    ossify_united united;
    int32_t subject[FRAMES];
    float united_rest[3 * (VERTICES + 60)];
    ossify_shaping shaping;
    ossify_merging merging;
    ossify_merged merged;
    int32_t merged_parents[BONES + 1], carriers[BONES + 1], one_bone[VERTICES + 60], no_parent[BONES];
    float whole_weight[VERTICES + 60];
    double merged_joints[3 * BONES + 3], shapes[12 * BONES + 12], pose_joint[3];
    ossify_bodies bodies;
    ossify_placed placed;
    double known_joints[3 * BONES], placed_joints[3 * BONES], shares[OSSIFY_JOINT_VERTICES * BONES];
    int32_t joint_vertices[OSSIFY_JOINT_VERTICES * BONES];
    ossify_unwrapping unwrapping;
    ossify_unwrapped unwrapped;
    float uv[12 * (VERTICES + 60)], relaxed[12 * (VERTICES + 60)];
    ossify_fusion fusion;
    ossify_groups groups;
    int32_t leaders[BONES + 1];
    ossify_conduct conduct;
    double flights[BONES + 1], excesses[BONES + 1], slips[BONES + 1], owned[BONES + 1];
    uint8_t idle[BONES + 1];
    int32_t limbs[BONES + 1], foreign[BONES + 1];
    ossify_pose_model pose_model;
    ossify_average average;
    double products[16 * BONES * BONES], model_joints[3 * BONES];
    int32_t model_parents[BONES];
    ossify_request request;
} Bench;

static void rig_with_room(Bench *bench) {
    const ossify_poses *poses = &bench->made.poses;
    ossify_settings roomy = bench->settings;
    roomy.bones = BONES + 1;
    bench->answer = answer_start(poses, &roomy);
    ossify_rig *rig = &bench->answer.rig;
    rig->bones = BONES;
    rig->given = OSSIFY_GIVEN_TRANSFORMS | OSSIFY_GIVEN_WEIGHTS;
    for (int64_t f = 0; f < poses->frame_count; f++) {
        memcpy(rig->transforms + 12 * f * (BONES + 1), bench->made.truth.transforms + 12 * f * BONES,
               12 * BONES * sizeof(double));
    }
    const size_t v = (size_t)poses->vertex_count;
    memcpy(rig->influence_bones, bench->made.truth.influence_bones, K * v * sizeof(int32_t));
    memcpy(rig->influence_weights, bench->made.truth.influence_weights, K * v * sizeof(float));
    memcpy(rig->rest, bench->made.truth.rest, 3 * v * sizeof(float));
}

static const void *options_of(const Bench *bench, int64_t verb) {
    return verb == OSSIFY_PRUNE_WEIGHTS     ? (const void *)&bench->fewer
           : verb == OSSIFY_SMOOTH_WEIGHTS  ? (const void *)&bench->smoother
           : verb == OSSIFY_ANIMATION_SPACE ? (const void *)&bench->fit
                                            : (const void *)&bench->place;
}

/* Verbs that know correctives get one, and room for more. */
static void give_correctives(Bench *bench) {
    answer_correctives(&bench->made.poses, FIELDS, &bench->answer);
    bench->answer.rig.correctives = 1;
    for (int64_t i = 0; i < 3 * bench->made.poses.vertex_count; i++) {
        bench->answer.rig.fields[i] = (float)(i % 5) * 0.01f;
    }
    ossify_default_correction(&bench->correction);
    bench->correction.count = FIELDS;
    bench->corrected = (ossify_corrected){.struct_size = sizeof bench->corrected, .gains = bench->gains};
    if (bench->request.verb == OSSIFY_CORRECT) {
        bench->request.options = &bench->correction;
        bench->request.result = &bench->corrected;
    }
    for (int b = 0; b <= BONES; b++) {
        bench->driving_parents[b] = b - 1;
    }
    bench->driving = (ossify_driving){.struct_size = sizeof bench->driving,
                                      .count = FIELDS,
                                      .joint_count = FIELDS,
                                      .form = OSSIFY_DRIVEN_FOUND,
                                      .parents = bench->driving_parents};
    bench->driven = (ossify_driven){.struct_size = sizeof bench->driven, .map = bench->map};
    if (bench->request.verb == OSSIFY_DRIVE) {
        bench->answer.rig.correctives = 0; /* they are solved anew */
        bench->request.options = &bench->driving;
        bench->request.result = &bench->driven;
    }
}

/* Corrections that came from somewhere. */
static void give_space(Bench *bench) {
    const int64_t slots = K * bench->made.poses.vertex_count;
    ossify_default_space_fit(&bench->fit);
    bench->space = (ossify_space){sizeof bench->space, K, 1, bench->space_bones, bench->corrections};
    for (int64_t i = 0; i < slots; i++) {
        bench->space_bones[i] = bench->answer.rig.influence_bones[i];
        bench->corrections[4 * i] = bench->space_bones[i] < 0 ? 0 : (float)(i % 7) * 0.001f;
    }
}

static void give_layers(Bench *bench) {
    ossify_default_compression(&bench->compression);
    bench->compression.virtual_bones = BONES;
    bench->compression.masters = bench->compression.influences = 2;
    bench->layers = (ossify_layers){.struct_size = sizeof bench->layers,
                                    .virtual_bones = bench->virtual_bones,
                                    .virtual_weights = bench->virtual_weights,
                                    .influence_bones = bench->blended_bones,
                                    .influence_weights = bench->blended_weights};
    bench->request.options = &bench->compression;
    bench->request.result = &bench->layers;
}

/* The rest and a frame are bodies like any others. */
static void give_bodies(Bench *bench) {
    bench->bodies = (ossify_bodies){.struct_size = sizeof bench->bodies,
                                    .known_count = 1,
                                    .count = 1,
                                    .parents = bench->parents,
                                    .known = bench->answer.rig.rest,
                                    .joints = bench->known_joints,
                                    .rest = bench->made.truth.rest};
    bench->placed = (ossify_placed){.struct_size = sizeof bench->placed,
                                    .joints = bench->placed_joints,
                                    .vertices = bench->joint_vertices,
                                    .shares = bench->shares};
    bench->request.options = &bench->bodies;
    bench->request.result = &bench->placed;
}

/* The tube seen from the side: most of it lies on its back. */
static void give_map(Bench *bench) {
    const ossify_poses *poses = &bench->made.poses;
    CHECK(6 * poses->triangle_count <= (int64_t)(sizeof bench->uv / sizeof *bench->uv));
    for (int64_t i = 0; i < 6 * poses->triangle_count; i++) {
        bench->uv[i] = bench->made.rest[3 * poses->triangles[i / 2] + i % 2];
    }
    ossify_default_unwrapping(&bench->unwrapping);
    bench->unwrapping.uv = bench->uv;
    bench->unwrapped = (ossify_unwrapped){.struct_size = sizeof bench->unwrapped, .uv = bench->relaxed};
    bench->request.options = &bench->unwrapping;
    bench->request.result = &bench->unwrapped;
}

static void give_groups(Bench *bench) {
    bench->fusion = (ossify_fusion){.struct_size = sizeof bench->fusion, .count = 2};
    bench->groups = (ossify_groups){.struct_size = sizeof bench->groups, .leaders = bench->leaders};
    bench->request.options = &bench->fusion;
    bench->request.result = &bench->groups;
}

static void give_conduct(Bench *bench) {
    bench->conduct = (ossify_conduct){.struct_size = sizeof bench->conduct,
                                      .flights = bench->flights,
                                      .excesses = bench->excesses,
                                      .drifts = bench->slips,
                                      .shares = bench->owned,
                                      .idle = bench->idle,
                                      .limbs = bench->limbs,
                                      .foreign = bench->foreign};
    bench->request.result = &bench->conduct;
}

static void give_model(Bench *bench) {
    for (int b = 0; b < BONES; b++) {
        bench->model_parents[b] = b - 1;
    }
    bench->pose_model = (ossify_pose_model){.struct_size = sizeof bench->pose_model,
                                            .kind = OSSIFY_POSES_COMPONENTS,
                                            .parents = bench->model_parents,
                                            .joints = bench->model_joints};
    bench->average = (ossify_average){.struct_size = sizeof bench->average, .products = bench->products};
    bench->request.options = &bench->pose_model;
    bench->request.result = &bench->average;
}

static void give_subjects(Bench *bench) {
    bench->subjects = (ossify_subjects){.struct_size = sizeof bench->subjects,
                                        .count = 1,
                                        .rest = bench->made.truth.rest,
                                        .subject = bench->subject};
    bench->united = (ossify_united){.struct_size = sizeof bench->united, .rest = bench->united_rest};
    bench->request.options = &bench->subjects;
    bench->request.result = &bench->united;
}

/* One pose bone that moves all, and the bones of the rig as shape bones. */
static void give_merging(Bench *bench) {
    for (int v = 0; v < VERTICES + 60; v++) {
        bench->whole_weight[v] = 1;
    }
    memset(bench->no_parent, -1, sizeof bench->no_parent);
    bench->merging = (ossify_merging){.struct_size = sizeof bench->merging,
                                      .tree = OSSIFY_MERGE_SPANNED,
                                      .subject_count = 1,
                                      .pose_bones = 1,
                                      .pose_influences = 1,
                                      .shape_bones = BONES,
                                      .shape_influences = K,
                                      .subject_rest = bench->made.truth.rest,
                                      .subject = bench->subject,
                                      .pose_parents = bench->no_parent,
                                      .pose_joints = bench->pose_joint,
                                      .pose_transforms = bench->made.truth.transforms,
                                      .pose_influenced = bench->one_bone,
                                      .pose_weights = bench->whole_weight,
                                      .shape_influenced = bench->made.truth.influence_bones,
                                      .shape_weights = bench->made.truth.influence_weights};
    bench->merged = (ossify_merged){.struct_size = sizeof bench->merged,
                                    .parents = bench->merged_parents,
                                    .carriers = bench->carriers,
                                    .joints = bench->merged_joints,
                                    .shapes = bench->shapes};
    bench->request.options = &bench->merging;
    bench->request.result = &bench->merged;
}

static Bench *bench_open(int64_t verb) {
    SyntheticOptions options = {.shape = SHAPE_TUBE,
                                .vertices = VERTICES,
                                .frames = FRAMES,
                                .bones = BONES,
                                .influences = K,
                                .noise = 0.01};
    Bench *bench = calloc(1, sizeof *bench);
    bench->made = synthetic_make(options);
    bench->settings = plain_settings(BONES);
    bench->settings.influences = K;
    bench->settings.quality = OSSIFY_DRAFT;
    rig_with_room(bench);
    bench->skeleton = (ossify_skeleton){.struct_size = sizeof bench->skeleton,
                                        .bone_capacity = BONES + 1,
                                        .root = -1,
                                        .demanded_count = 1,
                                        .demanded = bench->demanded,
                                        .parents = bench->parents,
                                        .joint_kinds = bench->kinds,
                                        .mirrors = bench->mirrors,
                                        .joints = bench->joints,
                                        .axes = bench->axes,
                                        .angles = bench->angles,
                                        .drifts = bench->drifts};
    bench->demanded[1] = 1;
    for (int b = 0; b < BONES; b++) {
        bench->parents[b] = b - 1;
        bench->kinds[b] = b == 0 ? OSSIFY_JOINT_ROOT : OSSIFY_JOINT_BALL;
        bench->mirrors[b] = -1;
    }
    bench->evaluation =
        (ossify_evaluation){.struct_size = sizeof bench->evaluation, .vertex_error = bench->vertex_error};
    bench->place = (ossify_place){sizeof bench->place, -1, -1};
    bench->fewer = (ossify_fewer){sizeof bench->fewer, 1};
    bench->smoother = (ossify_smoother){sizeof bench->smoother, K, 2, 0.01};
    bench->result = (ossify_costs){sizeof bench->result, bench->costs};
    bench->request = (ossify_request){.struct_size = sizeof bench->request,
                                      .verb = verb,
                                      .poses = &bench->made.poses,
                                      .settings = &bench->settings,
                                      .rig = &bench->answer.rig,
                                      .skeleton = &bench->skeleton,
                                      .space = &bench->space,
                                      .evaluation = &bench->evaluation,
                                      .options = options_of(bench, verb),
                                      .result = &bench->result};
    give_space(bench);
    if (verbs_find(verb)->reads & READS_FIELDS) {
        give_correctives(bench);
    }
    if (verb == OSSIFY_COMPRESS) {
        give_layers(bench);
    }
    if (verb == OSSIFY_UNITE) {
        give_subjects(bench);
    }
    bench->shaping = (ossify_shaping){.struct_size = sizeof bench->shaping};
    if (verb == OSSIFY_SHAPE_BONES) {
        bench->request.options = &bench->shaping;
    }
    if (verb == OSSIFY_MERGE) {
        give_merging(bench);
    }
    if (verb == OSSIFY_PLACE_JOINTS) {
        give_bodies(bench);
    }
    if (verb == OSSIFY_UNWRAP) {
        give_map(bench);
    }
    if (verb == OSSIFY_FUSE) {
        give_groups(bench);
    }
    if (verb == OSSIFY_INSPECT) {
        give_conduct(bench);
    }
    if (verb == OSSIFY_AVERAGE_POSES) {
        give_model(bench);
    }
    return bench;
}

static void bench_close(Bench *bench) {
    answer_free(&bench->answer);
    synthetic_free(&bench->made);
    free(bench);
}

static void check_same(const Bench *a, const Bench *b) {
    CHECK(rigs_are_equal(&a->made.poses, &a->answer.rig, &b->answer.rig));
    CHECK(memcmp(a->parents, b->parents, sizeof a->parents) == 0);
    CHECK(memcmp(a->kinds, b->kinds, sizeof a->kinds) == 0);
    CHECK(memcmp(a->joints, b->joints, sizeof a->joints) == 0);
    CHECK(memcmp(a->drifts, b->drifts, sizeof a->drifts) == 0);
    CHECK(memcmp(a->costs, b->costs, sizeof a->costs) == 0);
    CHECK(memcmp(a->gains, b->gains, sizeof a->gains) == 0);
    CHECK(memcmp(a->leaders, b->leaders, sizeof a->leaders) == 0);
    CHECK(memcmp(a->flights, b->flights, sizeof a->flights) == 0);
    CHECK(memcmp(a->foreign, b->foreign, sizeof a->foreign) == 0);
    CHECK(memcmp(a->products, b->products, sizeof a->products) == 0);
    CHECK(a->corrected.bare_erms == b->corrected.bare_erms);
    CHECK(memcmp(a->virtual_weights, b->virtual_weights, sizeof a->virtual_weights) == 0);
    CHECK(memcmp(a->blended_weights, b->blended_weights, sizeof a->blended_weights) == 0);
    CHECK(memcmp(a->placed_joints, b->placed_joints, sizeof a->placed_joints) == 0);
    CHECK(memcmp(a->united_rest, b->united_rest, sizeof a->united_rest) == 0);
    CHECK(memcmp(a->merged_parents, b->merged_parents, sizeof a->merged_parents) == 0);
    CHECK(memcmp(a->shapes, b->shapes, sizeof a->shapes) == 0);
    CHECK(memcmp(a->shares, b->shares, sizeof a->shares) == 0);
    CHECK(a->layers.count == b->layers.count && a->layers.delta == b->layers.delta);
    CHECK(memcmp(a->relaxed, b->relaxed, sizeof a->relaxed) == 0);
    CHECK(a->unwrapped.stretch == b->unwrapped.stretch && a->unwrapped.islands == b->unwrapped.islands);
    CHECK(memcmp(a->space_bones, b->space_bones, sizeof a->space_bones) == 0);
    CHECK(memcmp(a->corrections, b->corrections, sizeof a->corrections) == 0);
    CHECK(memcmp(a->map, b->map, sizeof a->map) == 0);
    CHECK(a->driven.whole_erms == b->driven.whole_erms && a->driven.form == b->driven.form);
    CHECK(memcmp(a->vertex_error, b->vertex_error, sizeof a->vertex_error) == 0);
    CHECK(a->evaluation.erms == b->evaluation.erms &&
          a->evaluation.worst_vertex == b->evaluation.worst_vertex);
    CHECK_INT(a->skeleton.root, b->skeleton.root);
    CHECK_INT(a->skeleton.symmetry, b->skeleton.symmetry);
    CHECK(a->answer.info.erms == b->answer.info.erms);
    CHECK_INT(a->answer.rig.bones, b->answer.rig.bones);
}

TEST(any_verb_as_a_job_gives_what_the_call_gives) {
    for (int64_t verb = 0; verb < OSSIFY_VERBS; verb++) {
        Bench *direct = bench_open(verb), *other = bench_open(verb);
        test_case("%s", verbs_find(verb)->name);
        const int64_t status = ossify_run(&direct->request, &direct->answer.info);
        CHECK(status >= 0);
        CHECK_TEXT(direct->answer.info.message, "");
        ossify_job *job = ossify_start(&other->request, &other->answer.info);
        CHECK(job != NULL);
        memset(&other->request, 0xEE, sizeof other->request); /* the structs are copied */
        CHECK_INT(ossify_job_finish(job), status);
        check_same(direct, other);
        bench_close(direct);
        bench_close(other);
    }
}

TEST(a_cancelled_verb_leaves_everything_as_it_was) {
    for (int64_t verb = 0; verb < OSSIFY_VERBS; verb++) {
        Bench *before = bench_open(verb), *bench = bench_open(verb);
        ossify_job *job = ossify_start(&bench->request, &bench->answer.info);
        test_case("%s", verbs_find(verb)->name);
        ossify_job_cancel(job);
        const int64_t status = ossify_job_finish(job);
        CHECK(status == OSSIFY_CANCELLED || status >= 0);
        if (status < 0) {
            before->answer.info = bench->answer.info;
            check_same(before, bench);
        }
        bench_close(before);
        bench_close(bench);
    }
}

/* One fault in one array; the verbs that read it must find it, and no other looks. */
typedef struct Spoilt {
    int reads;
    const char *says;
} Spoilt;

static Spoilt spoil(Bench *bench, int what) {
    ossify_rig *rig = &bench->answer.rig;
    switch (what) {
    case 0:
        bench->made.rest[4] = NAN;
        return (Spoilt){READS_REST, "rest[1][1] is nan"};
    case 1:
        bench->made.frames[7] = INFINITY;
        return (Spoilt){READS_FRAMES, "frames[0][2][1] is inf"};
    case 2:
        bench->made.triangles[5] = 3000000;
        return (Spoilt){READS_TRIANGLES, "triangles[1][2] is 3000000"};
    case 3:
        rig->transforms[14] = NAN;
        return (Spoilt){READS_RIG | READS_GIVEN, "transforms[0][1][0][2] is nan"};
    case 4:
        rig->influence_bones[2 * K] = BONES;
        return (Spoilt){READS_RIG | READS_GIVEN, "influence_bones[2][0] is 4"};
    case 5:
        rig->influence_weights[2 * K] = -1;
        return (Spoilt){READS_RIG | READS_GIVEN, "influence_weights[2][0] is -1"};
    case 6:
        rig->rest[3] = NAN;
        return (Spoilt){READS_RIG | READS_GIVEN, "rig.rest[1][0] is nan"};
    case 7:
        bench->demanded[1] = 99;
        return (Spoilt){READS_WISHES, "skeleton.demanded[0][1] is 99"};
    case 8:
        bench->parents[0] = 1;
        return (Spoilt){READS_TREE, "skeleton.parents[0] is 1"};
    case 9:
        bench->joints[5] = NAN;
        return (Spoilt){READS_TREE, "skeleton.joints[1][2] is nan"};
    case 10:
        bench->kinds[1] = 17;
        return (Spoilt){READS_TREE, "skeleton.joint_kinds[1] is 17"};
    case 11:
        if (rig->correctives > 0) {
            rig->fields[4] = NAN;
        }
        return (Spoilt){rig->correctives > 0 ? READS_FIELDS : 0, "fields[0][1][1] is nan"};
    case 12:
        if (rig->correctives > 0) {
            rig->coefficients[FIELDS] = -INFINITY;
        }
        return (Spoilt){READS_COEFFICIENTS, "coefficients[1][0] is -inf"};
    case 13:
        bench->space_bones[2 * K] = BONES;
        return (Spoilt){READS_SPACE, "space.bones[2][0] is 4"};
    case 14:
        bench->corrections[4 * (2 * K + 1) + 3] = NAN;
        return (Spoilt){READS_SPACE, "space.corrections[2][1][3] is nan"};
    default:
        return (Spoilt){0, NULL};
    }
}

TEST(every_verb_checks_every_array_that_it_reads) {
    for (int64_t verb = 0; verb < OSSIFY_VERBS; verb++) {
        for (int what = 0;; what++) {
            Bench *bench = bench_open(verb);
            const Spoilt spoilt = spoil(bench, what);
            if (spoilt.says == NULL) {
                bench_close(bench);
                break;
            }
            test_case("%s, %s", verbs_find(verb)->name, spoilt.says);
            const int64_t status = ossify_run(&bench->request, &bench->answer.info);
            if (verbs_find(verb)->reads & spoilt.reads) {
                CHECK_INT(status, OSSIFY_BAD_ARGUMENT);
                CHECK_SAYS(bench->answer.info.message, spoilt.says);
            } else {
                CHECK(status >= 0);
            }
            bench_close(bench);
        }
    }
}

TEST(a_request_that_is_none_is_refused) {
    Bench *bench = bench_open(OSSIFY_DECOMPOSE);
    ossify_info *info = &bench->answer.info;
    char says[80];
    CHECK_INT(ossify_run(NULL, info), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info->message, "request is NULL");
    CHECK(ossify_start(NULL, info) == NULL);
    bench->request.verb = OSSIFY_VERBS;
    CHECK_INT(ossify_run(&bench->request, info), OSSIFY_BAD_ARGUMENT);
    snprintf(says, sizeof says, "request.verb is %d: it must be 0..%d", OSSIFY_VERBS, OSSIFY_VERBS - 1);
    CHECK_SAYS(info->message, says);
    bench->request.verb = -1;
    CHECK(ossify_start(&bench->request, info) == NULL);
    bench->request.verb = OSSIFY_ADD_BONE;
    bench->request.options = NULL;
    CHECK_INT(ossify_run(&bench->request, info), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info->message, "request.options is NULL: give the address of an ossify_place");
    bench->request.struct_size = 1;
    CHECK_INT(ossify_run(&bench->request, info), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info->message, "ossify_request has size 1");
    bench_close(bench);
}

/* What a solve could leave behind when it fails; the checks do not ask how. */
TEST(an_answer_that_is_no_rig_is_refused) {
    for (int what = 0; what < 6; what++) {
        Bench *bench = bench_open(OSSIFY_ARTICULATE);
        Workshop workshop;
        ossify_rig *rig = &bench->answer.rig;
        static const char *const SAYS[] = {"the transform of bone 1 in frame 2 has a number that is nan",
                                           "vertex 9 has no bone that it may follow",
                                           "vertex 9 follows its bones by no weights",
                                           "vertex 9 follows its bones by no weights",
                                           "vertex 3 came to rest at inf",
                                           "the joint of bone 2 came out nowhere"};
        workshop_open(&workshop, bench->settings);
        CHECK_INT(check_answer(&workshop.call, verbs_find(OSSIFY_ARTICULATE), &bench->request), 0);
        switch (what) {
        case 0:
            rig->transforms[12 * (2 * (BONES + 1) + 1) + 7] = NAN;
            break;
        case 1:
            rig->influence_weights[9 * K] = rig->influence_weights[9 * K + 1] = 0;
            break;
        case 2:
            rig->influence_weights[9 * K] = NAN;
            break;
        case 3:
            rig->influence_bones[9 * K] = BONES;
            break;
        case 4:
            rig->rest[10] = INFINITY;
            break;
        default:
            bench->joints[7] = NAN;
        }
        test_case("%s", SAYS[what]);
        CHECK_INT(check_answer(&workshop.call, verbs_find(OSSIFY_ARTICULATE), &bench->request),
                  OSSIFY_NO_ANSWER);
        CHECK_SAYS(workshop.info.message, SAYS[what]);
        workshop_close(&workshop);
        bench_close(bench);
    }
}

/* A caller that spoils its frames once they were checked: the way to an answer that is none. */
static int64_t spoil_later(void *user, const ossify_progress *progress) {
    Bench *bench = user;
    if (progress->stage == OSSIFY_STAGE_REFINE) {
        bench->made.frames[3 * bench->made.poses.vertex_count] = NAN;
    }
    return 0;
}

TEST(no_answer_is_said_and_nothing_is_written) {
    Bench *before = bench_open(OSSIFY_DECOMPOSE), *bench = bench_open(OSSIFY_DECOMPOSE);
    uint8_t held[2 * VERTICES];
    memset(held, 1, sizeof held);
    bench->answer.rig.given = before->answer.rig.given =
        OSSIFY_GIVEN_WEIGHTS; /* transforms alone are solved */
    bench->answer.rig.held_vertices = bench->answer.rig.held_rest = held;
    bench->settings.watch = spoil_later;
    bench->settings.watch_user = bench;
    CHECK_INT(ossify_run(&bench->request, &bench->answer.info), OSSIFY_NO_ANSWER);
    CHECK_SAYS(bench->answer.info.message, "no answer was found: the transform of bone");
    before->answer.info = bench->answer.info;
    check_same(before, bench);
    bench_close(before);
    bench_close(bench);
}

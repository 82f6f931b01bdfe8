/* test_merge.c - pose bones and shape bones in one tree. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "synthetic.h"
#include "test.h"

enum { SUBJECTS = 3, BONES = 4, FRAMES = 12, MOST = 3 * BONES };

/* Three bodies that one leaf beneath each bone makes of a mean, moved by the bones. */
typedef struct Guild {
    Synthetic made;
    ossify_settings settings;
    Answer answer;
    ossify_merging merging;
    ossify_merged merged;
    float *rest;
    int32_t subject[FRAMES], parents[MOST], carriers[MOST], shape_parents[BONES];
    double pose_joints[3 * SUBJECTS * BONES], joints[3 * MOST], shapes[12 * SUBJECTS * MOST];
} Guild;

/* What the leaf of a bone does to the mean. */
static void grown(int64_t s, int64_t b, double m[12]) {
    const double turn = 0.08 * sin(2.1 * (double)(s * BONES + b));
    const double all[12] = {cos(turn), -sin(turn), 0, 0.2 * sin((double)(3 * s + b)),
                            sin(turn), cos(turn),  0, 0.2 * cos((double)(s - 2 * b)),
                            0,         0,          1, 0.1 * (double)s};
    memcpy(m, all, sizeof all);
}

static void move(const double *m, const double *p, double y[3]) {
    for (int a = 0; a < 3; a++) {
        y[a] = m[4 * a] * p[0] + m[4 * a + 1] * p[1] + m[4 * a + 2] * p[2] + m[4 * a + 3];
    }
}

/* Of frame f, or of the rest where that is < 0. */
static void make_body(const Guild *guild, int64_t s, int64_t f, float *x) {
    const ossify_rig *truth = &guild->made.truth;
    for (int64_t v = 0; v < guild->made.poses.vertex_count; v++) {
        const float *rest = truth->rest + 3 * v;
        const double p[3] = {(double)rest[0], (double)rest[1], (double)rest[2]};
        double sum[3] = {0};
        for (int64_t i = 2 * v; i < 2 * v + 2; i++) {
            const int64_t b = truth->influence_bones[i];
            double m[12], q[3], y[3];
            if (b < 0) {
                continue;
            }
            grown(s, b, m);
            move(m, p, q);
            memcpy(y, q, sizeof y);
            if (f >= 0) {
                move(truth->transforms + 12 * (f * BONES + b), q, y);
            }
            for (int a = 0; a < 3; a++) {
                sum[a] += (double)truth->influence_weights[i] * y[a];
            }
        }
        for (int a = 0; a < 3; a++) {
            x[3 * v + a] = (float)sum[a];
        }
    }
}

static void make_bodies(Guild *guild) {
    const int64_t numbers = 3 * guild->made.poses.vertex_count;
    guild->rest = calloc((size_t)(SUBJECTS * numbers), sizeof(float));
    for (int64_t s = 0; s < SUBJECTS; s++) {
        make_body(guild, s, -1, guild->rest + s * numbers);
        for (int b = 0; b < BONES; b++) {
            double m[12];
            grown(s, b, m);
            move(m, guild->made.skeleton.joints + 3 * b, guild->pose_joints + 3 * (s * BONES + b));
        }
    }
    for (int64_t f = 0; f < FRAMES; f++) {
        guild->subject[f] = (int32_t)(f % SUBJECTS);
        make_body(guild, f % SUBJECTS, f, guild->made.frames + f * numbers);
    }
}

static Guild *guild_open(int vertices, int tree) {
    SyntheticOptions options = {.shape = SHAPE_TUBE,
                                .vertices = vertices,
                                .frames = FRAMES,
                                .bones = BONES,
                                .influences = 2,
                                .jointed = 1};
    Guild *guild = calloc(1, sizeof *guild);
    guild->made = synthetic_make(options);
    make_bodies(guild);
    guild->settings = plain_settings(MOST);
    guild->settings.influences = 4;
    guild->settings.rest_mode = OSSIFY_REST_FIXED;
    guild->answer = answer_start(&guild->made.poses, &guild->settings);
    const ossify_rig *truth = &guild->made.truth;
    memcpy(guild->shape_parents, guild->made.skeleton.parents, sizeof guild->shape_parents);
    guild->merging = (ossify_merging){.struct_size = sizeof guild->merging,
                                      .tree = tree,
                                      .leaves = BONES,
                                      .subject_count = SUBJECTS,
                                      .pose_bones = BONES,
                                      .pose_influences = 2,
                                      .shape_bones = BONES,
                                      .shape_influences = 2,
                                      .subject_rest = guild->rest,
                                      .subject = guild->subject,
                                      .pose_parents = guild->made.skeleton.parents,
                                      .pose_joints = guild->pose_joints,
                                      .pose_transforms = truth->transforms,
                                      .pose_influenced = truth->influence_bones,
                                      .pose_weights = truth->influence_weights,
                                      .shape_influenced = truth->influence_bones,
                                      .shape_weights = truth->influence_weights,
                                      .shape_parents = guild->shape_parents};
    guild->merged = (ossify_merged){.struct_size = sizeof guild->merged,
                                    .parents = guild->parents,
                                    .carriers = guild->carriers,
                                    .joints = guild->joints,
                                    .shapes = guild->shapes};
    return guild;
}

static void guild_close(Guild *guild) {
    answer_free(&guild->answer);
    synthetic_free(&guild->made);
    free(guild->rest);
    free(guild);
}

static int64_t merge(Guild *guild) {
    return ossify_merge(&guild->made.poses, &guild->settings, &guild->answer.rig, &guild->merging,
                        &guild->merged, &guild->answer.info);
}

/* In every frame a bone is where the given motion of its carrier takes its subject's shape. */
static void check_carried(const Guild *guild) {
    const ossify_rig *rig = &guild->answer.rig;
    for (int64_t i = 0; i < FRAMES * rig->bones; i++) {
        const int64_t f = i / rig->bones, b = i % rig->bones;
        const double *own = guild->shapes + 12 * (guild->subject[f] * rig->bone_capacity + b);
        const double *carrier = guild->made.truth.transforms + 12 * (f * BONES + guild->carriers[b]);
        const double p[3] = {0.3, -0.2, 0.5};
        double q[3], y[3], x[3];
        move(own, p, q);
        move(carrier, q, y);
        move(rig->transforms + 12 * (f * rig->bone_capacity + b), p, x);
        for (int a = 0; a < 3; a++) {
            CHECK_NEAR(x[a], y[a], 1e-6);
        }
    }
}

/* One root, and the next pose bone above a pose bone is its parent. */
static void check_tree(const Guild *guild) {
    int roots = 0;
    for (int64_t b = 0; b < guild->answer.rig.bones; b++) {
        int64_t up = guild->parents[b];
        roots += up < 0;
        while (up >= BONES) {
            up = guild->parents[up];
        }
        CHECK_INT(up, b < BONES ? guild->made.skeleton.parents[b] : guild->carriers[b]);
        CHECK(b >= BONES || guild->carriers[b] == b);
        CHECK(b < BONES || (up >= 0 && up < BONES));
    }
    CHECK_INT(roots, 1);
}

TEST(leaves_show_bodies_that_leaves_made) {
    Guild *guild = guild_open(400, OSSIFY_MERGE_LEAVES);
    CHECK(merge(guild) >= 0);
    CHECK_TEXT(guild->answer.info.message, "");
    CHECK_INT(guild->answer.rig.bones, 2 * BONES);
    check_rig(&guild->made.poses, &guild->answer.rig, 1);
    check_carried(guild);
    check_tree(guild);
    CHECK(guild->answer.info.rms_percent < 0.1);
    const size_t numbers = 3 * (size_t)guild->made.poses.vertex_count;
    CHECK(memcmp(guild->answer.rig.rest, guild->made.poses.rest, numbers * sizeof(float)) == 0);
    guild_close(guild);
}

TEST(a_shape_bone_that_several_move_has_a_leaf_beneath_each) {
    Guild *guild = guild_open(300, OSSIFY_MERGE_LEAVES);
    guild->merging.leaves = 2 * BONES;
    CHECK(merge(guild) >= 0);
    CHECK(guild->answer.rig.bones > 2 * BONES && guild->answer.rig.bones <= 3 * BONES);
    check_rig(&guild->made.poses, &guild->answer.rig, 1);
    check_carried(guild);
    check_tree(guild);
    CHECK(guild->answer.info.rms_percent < 0.1);
    guild_close(guild);
}

TEST(a_spanned_tree_keeps_the_pose_hierarchy) {
    for (int joined = 0; joined < 2; joined++) {
        Guild *guild = guild_open(400, OSSIFY_MERGE_SPANNED);
        guild->merging.shape_parents = joined ? guild->shape_parents : NULL;
        CHECK(merge(guild) >= 0);
        CHECK_INT(guild->answer.rig.bones, 2 * BONES);
        check_rig(&guild->made.poses, &guild->answer.rig, 1);
        check_carried(guild);
        check_tree(guild);
        CHECK(guild->answer.info.rms_percent < 2);
        guild_close(guild);
    }
}

TEST(a_mean_body_that_is_free_fits_better) {
    double percent[2];
    for (int mode = 0; mode < 2; mode++) {
        Guild *guild = guild_open(300, OSSIFY_MERGE_LEAVES);
        for (int64_t i = 0; i < 3 * guild->made.poses.vertex_count; i++) {
            guild->made.rest[i] += 0.02f * (float)sin(0.9 * (double)i);
        }
        guild->settings.rest_mode = mode ? OSSIFY_REST_FREE : OSSIFY_REST_FIXED;
        CHECK(merge(guild) >= 0);
        percent[mode] = guild->answer.info.rms_percent;
        guild_close(guild);
    }
    CHECK(percent[1] < 0.5 * percent[0]);
}

TEST(merged_bones_whatever_the_threads) {
    Guild *one = guild_open(200, OSSIFY_MERGE_LEAVES), *four = guild_open(200, OSSIFY_MERGE_LEAVES);
    four->settings.threads = 4;
    CHECK_INT(merge(one), merge(four));
    CHECK(rigs_are_equal(&one->made.poses, &one->answer.rig, &four->answer.rig));
    CHECK(memcmp(one->shapes, four->shapes, sizeof one->shapes) == 0);
    guild_close(one);
    guild_close(four);
}

static void check_refused(Guild *guild, const char *says) {
    CHECK_INT(merge(guild), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(guild->answer.info.message, says);
    guild_close(guild);
}

TEST(bones_that_cannot_be_merged_are_refused) {
    static const int32_t RING[BONES] = {1, 2, 3, 0}, ROOTS[BONES] = {-1, -1, 0, 0},
                         ODD[BONES] = {-1, 9, 0, 0};
    Guild *guild = guild_open(60, OSSIFY_MERGE_LEAVES);
    guild->merging.leaves = BONES - 1;
    check_refused(guild, "merging.leaves is 3: it must be 4..");
    guild = guild_open(60, OSSIFY_MERGE_LEAVES);
    guild->merging.leaves = MOST;
    check_refused(guild, "rig.bone_capacity is 12: the merged tree has up to 16 bones");
    guild = guild_open(60, OSSIFY_MERGE_LEAVES);
    guild->merging.pose_joints = NULL;
    check_refused(guild, "merging.pose_joints is NULL");
    guild = guild_open(60, OSSIFY_MERGE_LEAVES);
    guild->made.poses.rest = NULL;
    guild->settings.rest_mode = OSSIFY_REST_KEPT;
    check_refused(guild, "poses.rest is NULL");
    guild = guild_open(60, OSSIFY_MERGE_LEAVES);
    guild->merging.pose_parents = RING;
    check_refused(guild, "from there up no root comes");
    guild = guild_open(60, OSSIFY_MERGE_LEAVES);
    guild->merging.pose_parents = ROOTS;
    check_refused(guild, "has 2 roots");
    guild = guild_open(60, OSSIFY_MERGE_LEAVES);
    guild->merging.shape_parents = ODD;
    check_refused(guild, "merging.shape_parents[1] is 9");
    guild = guild_open(60, OSSIFY_MERGE_LEAVES);
    guild->subject[3] = -1;
    check_refused(guild, "merging.subject[3] is -1");
    guild = guild_open(60, OSSIFY_MERGE_LEAVES);
    guild->rest[5] = NAN;
    check_refused(guild, "merging.subject_rest has nan as number 5");
    guild = guild_open(60, OSSIFY_MERGE_LEAVES);
    guild->pose_joints[7] = INFINITY;
    check_refused(guild, "merging.pose_joints has inf as number 7");
    guild = guild_open(60, OSSIFY_MERGE_LEAVES);
    guild->made.truth.influence_bones[4] = BONES;
    check_refused(guild, "merging.pose_influenced[2][0] is 4");
    guild = guild_open(60, OSSIFY_MERGE_LEAVES);
    guild->made.truth.influence_weights[4] = -1;
    check_refused(guild, "merging.pose_weights[2][0] is -1");
    guild = guild_open(60, OSSIFY_MERGE_LEAVES);
    guild->made.truth.influence_weights[4] = guild->made.truth.influence_weights[5] = 0;
    check_refused(guild, "merging.pose_weights[2] are all 0");
}

static Guild *small_guild(int tree) {
    Guild *guild = guild_open(48, tree);
    guild->settings.rest_mode = OSSIFY_REST_KEPT;
    guild->settings.iterations = 2;
    return guild;
}

TEST(merging_ends_at_any_allocation_and_poll) {
    for (int tree = 0; tree < 2; tree++) {
        Ledger all = {0};
        Watcher watched = {0};
        Guild *guild = small_guild(tree);
        ledger_join(&all, &guild->settings);
        watcher_join(&watched, &guild->settings);
        CHECK(merge(guild) >= 0);
        CHECK_INT(all.given, all.taken);
        guild_close(guild);
        for (int64_t i = 1; i <= all.asked && !test_failed(); i = trial_after(i, all.asked)) {
            Ledger ledger = {.refuse_at = i};
            guild = small_guild(tree);
            ledger_join(&ledger, &guild->settings);
            CHECK_INT(merge(guild), OSSIFY_OUT_OF_MEMORY);
            CHECK_INT(ledger.given, ledger.taken);
            CHECK(guild->answer.rig.rest[0] == 0 && guild->shapes[0] == 0);
            guild_close(guild);
        }
        for (int64_t i = 1; i < watched.calls && !test_failed(); i = trial_after(i, watched.calls)) {
            Watcher watcher = {.cancel_at = i};
            guild = small_guild(tree);
            watcher_join(&watcher, &guild->settings);
            const int64_t status = merge(guild);
            CHECK(status == OSSIFY_CANCELLED || status >= 0);
            CHECK(status >= 0 || (guild->answer.rig.rest[0] == 0 && guild->shapes[0] == 0));
            guild_close(guild);
        }
    }
}

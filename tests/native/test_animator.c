/* test_animator.c - bones that move one part are fused, those of other parts are not; where bones go is told as a
 * second look at the definitions tells it; limbs are found, and bones that hang from another's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "synthetic.h"
#include "test.h"

enum { MOST = 16 };

typedef struct Case {
    Synthetic made;
    ossify_settings settings;
    Answer answer; /* every bone of the truth twice: 2b on one half of what it moves, 2b + 1 on the other */
    ossify_info info;
    int32_t leaders[MOST];
    ossify_groups groups;
} Case;

static ossify_info no_info(void) {
    return (ossify_info){.struct_size = sizeof(ossify_info)};
}

static Case case_of(SyntheticOptions options) {
    Case c = {.info = no_info()};
    options.jointed = 1;
    c.made = synthetic_make(options);
    const int64_t bones = c.made.truth.bones, frames = c.made.poses.frame_count;
    c.settings = plain_settings(2 * bones);
    c.settings.influences = c.made.truth.influences;
    c.answer = answer_start(&c.made.poses, &c.settings);
    ossify_rig *rig = &c.answer.rig;
    rig->bones = 2 * bones;
    for (int64_t i = 0; i < frames * 2 * bones; i++) {
        const int64_t f = i / (2 * bones), b = i % (2 * bones) / 2;
        memcpy(rig->transforms + 12 * i, c.made.truth.transforms + 12 * (f * bones + b), 12 * sizeof(double));
    }
    for (int64_t i = 0; i < c.made.poses.vertex_count * rig->influences; i++) {
        const int64_t v = i / rig->influences;
        const int32_t b = c.made.truth.influence_bones[i];
        rig->influence_bones[i] = b < 0 ? -1 : 2 * b + (c.made.rest[3 * v + 1] > 0);
        rig->influence_weights[i] = c.made.truth.influence_weights[i];
    }
    memcpy(rig->rest, c.made.truth.rest, 3 * (size_t)c.made.poses.vertex_count * sizeof(float));
    return c;
}

static void case_free(Case *c) {
    answer_free(&c->answer);
    synthetic_free(&c->made);
}

static int64_t fuse(Case *c, int64_t count) {
    const ossify_fusion fusion = {.struct_size = sizeof fusion, .count = count};
    c->groups = (ossify_groups){.struct_size = sizeof c->groups, .leaders = c->leaders};
    return ossify_fuse(&c->made.poses, &c->settings, &c->answer.rig, &fusion, &c->groups, &c->info);
}

static int is_used(const ossify_rig *rig, int64_t vertices, int b) {
    for (int64_t i = 0; i < vertices * rig->influences; i++) {
        if (rig->influence_bones[i] == b && rig->influence_weights[i] > 0.5f) {
            return 1;
        }
    }
    return 0;
}

/* The halves do not share a vertex, and so no surface by weight: neighbours on both sides do. */
static void share_seams(Case *c) {
    ossify_rig *rig = &c->answer.rig;
    for (int64_t v = 0; v < c->made.poses.vertex_count; v++) {
        int32_t *bone = rig->influence_bones + v * rig->influences;
        float *weight = rig->influence_weights + v * rig->influences;
        if (fabsf(c->made.rest[3 * v + 1]) < 0.15f) {
            bone[1] = bone[0] ^ 1;
            weight[0] = 0.6f;
            weight[1] = 0.4f;
            for (int64_t k = 2; k < rig->influences; k++) {
                bone[k] = -1;
                weight[k] = 0;
            }
        }
    }
}

TEST(halves_of_a_part_are_fused_and_parts_are_not) {
    Case c = case_of((SyntheticOptions){.shape = SHAPE_TUBE, .vertices = 900, .bones = 4, .frames = 16});
    share_seams(&c);
    CHECK(fuse(&c, 0) >= 0);
    int groups = 0;
    for (int b = 0; b < 8; b++) {
        CHECK(c.leaders[b] >= 0 && c.leaders[b] < 8);
        CHECK_INT(c.leaders[c.leaders[b]], c.leaders[b]);
        groups += c.leaders[b] == b;
        if (is_used(&c.answer.rig, c.made.poses.vertex_count, b)) {
            CHECK_INT(c.leaders[b] / 2, b / 2);
        }
    }
    CHECK_INT(groups, c.groups.count);
    CHECK_INT(groups, 4);
    case_free(&c);
}

TEST(as_many_groups_as_asked_for) {
    Case c = case_of((SyntheticOptions){.shape = SHAPE_TUBE, .vertices = 900, .bones = 4, .frames = 16});
    share_seams(&c);
    for (int64_t count = 2; count <= 8; count++) { /* a part that shares no surface is fused with none */
        CHECK(fuse(&c, count) >= 0);
        CHECK_INT(c.groups.count, count);
    }
    CHECK_INT(fuse(&c, -1), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(c.info.message, "fusion.count is -1");
    c.groups.leaders = NULL;
    const ossify_fusion fusion = {.struct_size = sizeof fusion};
    CHECK_INT(ossify_fuse(&c.made.poses, &c.settings, &c.answer.rig, &fusion, &c.groups, &c.info),
              OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(c.info.message, "groups.leaders is NULL");
    case_free(&c);
}

TEST(groups_do_not_depend_on_the_threads) {
    Case one = case_of((SyntheticOptions){.vertices = 500, .bones = 5, .frames = 9, .noise = 0.02});
    Case more = case_of((SyntheticOptions){.vertices = 500, .bones = 5, .frames = 9, .noise = 0.02});
    more.settings.threads = 3;
    CHECK(fuse(&one, 0) >= 0 && fuse(&more, 0) >= 0);
    CHECK(memcmp(one.leaders, more.leaders, sizeof one.leaders) == 0);
    case_free(&one);
    case_free(&more);
}

/* ---- where bones go ---- */

typedef struct Sight {
    ossify_conduct conduct;
    double flights[MOST], excesses[MOST], drifts[MOST], shares[MOST];
    uint8_t idle[MOST];
    int32_t limbs[MOST], foreign[MOST];
    ossify_info info;
} Sight;

static Sight *sight_open(void) {
    Sight *s = calloc(1, sizeof *s);
    s->info = no_info();
    s->conduct = (ossify_conduct){.struct_size = sizeof s->conduct,
                                  .flights = s->flights,
                                  .excesses = s->excesses,
                                  .drifts = s->drifts,
                                  .shares = s->shares,
                                  .idle = s->idle,
                                  .limbs = s->limbs,
                                  .foreign = s->foreign};
    return s;
}

static double diagonal(const float *rest, int64_t vertices) {
    double square = 0;
    for (int i = 0; i < 3; i++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t v = 0; v < vertices; v++) {
            low = fmin(low, (double)rest[3 * v + i]);
            high = fmax(high, (double)rest[3 * v + i]);
        }
        square += (high - low) * (high - low);
    }
    return sqrt(square);
}

static int owner(const ossify_rig *rig, int64_t v) {
    int64_t most = 0;
    for (int64_t k = 1; k < rig->influences; k++) {
        if (rig->influence_weights[v * rig->influences + k] >
            rig->influence_weights[v * rig->influences + most]) {
            most = k;
        }
    }
    return rig->influence_bones[v * rig->influences + most];
}

static void place(const double *m, const double *c, double x[3]) {
    for (int i = 0; i < 3; i++) {
        x[i] = m[4 * i] * c[0] + m[4 * i + 1] * c[1] + m[4 * i + 2] * c[2] + m[4 * i + 3];
    }
}

static double to_own(const ossify_rig *rig, int64_t vertices, const float *points, int b, const double x[3]) {
    double least = INFINITY;
    for (int64_t v = 0; v < vertices; v++) {
        const float *p = points + 3 * v;
        if (owner(rig, v) == b) {
            least = fmin(least, sqrt(pow((double)p[0] - x[0], 2) + pow((double)p[1] - x[1], 2) +
                                     pow((double)p[2] - x[2], 2)));
        }
    }
    return least;
}

TEST(flight_and_drift_are_what_they_are_defined_as) {
    Synthetic made = synthetic_make(
        (SyntheticOptions){.vertices = 400, .bones = 5, .frames = 7, .jointed = 1, .noise = 0.01});
    ossify_rig *rig = &made.truth;
    const int64_t vertices = made.poses.vertex_count;
    ossify_settings settings = plain_settings(5);
    Sight *s = sight_open();
    made.skeleton.joints[3 * 2] += 0.3; /* one that is off */
    CHECK(ossify_inspect(&made.poses, &settings, rig, &made.skeleton, &s->conduct, &s->info) >= 0);
    const double percent = 100 / diagonal(rig->rest, vertices);
    for (int b = 0; b < 5; b++) {
        const double *c = made.skeleton.joints + 3 * b;
        const int parent = made.skeleton.parents[b];
        double most = 0, square = 0;
        int64_t owned = 0;
        for (int64_t v = 0; v < vertices; v++) {
            owned += owner(rig, v) == b;
        }
        for (int64_t f = 0; f < made.poses.frame_count; f++) {
            double x[3], y[3];
            place(rig->transforms + 12 * (f * rig->bone_capacity + b), c, x);
            place(rig->transforms + 12 * (f * rig->bone_capacity + (parent < 0 ? b : parent)), c, y);
            most = fmax(most, to_own(rig, vertices, made.frames + 3 * f * vertices, b, x));
            square += pow(x[0] - y[0], 2) + pow(x[1] - y[1], 2) + pow(x[2] - y[2], 2);
        }
        CHECK_NEAR(s->flights[b], percent * most, 1e-6);
        CHECK_NEAR(s->excesses[b], percent * fmax(0, most - to_own(rig, vertices, rig->rest, b, c)), 1e-6);
        CHECK_NEAR(s->drifts[b], percent * sqrt(square / (double)made.poses.frame_count), 1e-6);
        CHECK_NEAR(s->shares[b], (double)owned / (double)vertices, 1e-12);
        CHECK_INT(s->idle[b], (double)owned < 0.001 * (double)vertices);
    }
    CHECK(s->drifts[2] > 1);
    s->conduct.limbs = NULL;
    CHECK_INT(ossify_inspect(&made.poses, &settings, rig, &made.skeleton, &s->conduct, &s->info),
              OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(s->info.message, "conduct.limbs is NULL");
    free(s);
    synthetic_free(&made);
}

/* A cross in the plane, four arms of `LONG` squares around one in the middle, with one bone for the middle and two
 * for each arm. */
enum { ARM = 12, SIDE = 2 * ARM + 3, CROSS_BONES = 9, CROSS_FRAMES = 2 };

typedef struct Cross {
    ossify_poses poses;
    ossify_rig rig;
    ossify_skeleton skeleton;
    float rest[3 * SIDE * SIDE], frames[CROSS_FRAMES * 3 * SIDE * SIDE], weights[SIDE * SIDE];
    int32_t bones[SIDE * SIDE], triangles[6 * SIDE * SIDE];
    double transforms[12 * CROSS_FRAMES * CROSS_BONES];
} Cross;

static int on_cross(int x, int y) {
    return (x >= ARM && x < ARM + 3) || (y >= ARM && y < ARM + 3);
}

/* 0 in the middle, 1..4 next to it, 5..8 outside */
static int bone_at(int x, int y) {
    const int dx = x - ARM - 1, dy = y - ARM - 1, far = abs(dx) > abs(dy) ? abs(dx) : abs(dy);
    const int arm = abs(dx) > abs(dy) ? (dx > 0 ? 1 : 2) : (dy > 0 ? 3 : 4);
    return far <= 2 ? 0 : far <= ARM / 2 + 1 ? arm : arm + 4;
}

static Cross *cross_open(void) {
    Cross *c = calloc(1, sizeof *c);
    int number[SIDE][SIDE], count = 0, corners = 0;
    for (int i = 0; i < SIDE * SIDE; i++) {
        const int x = i % SIDE, y = i / SIDE;
        if (on_cross(x, y)) {
            c->rest[3 * count] = (float)x;
            c->rest[3 * count + 1] = (float)y;
            c->bones[count] = bone_at(x, y);
            c->weights[count] = 1;
            number[y][x] = count++;
        }
    }
    for (int i = 0; i < SIDE * SIDE; i++) {
        const int x = i % SIDE, y = i / SIDE;
        if (x + 1 < SIDE && y + 1 < SIDE && on_cross(x, y) && on_cross(x + 1, y) && on_cross(x, y + 1) &&
            on_cross(x + 1, y + 1)) {
            const int square[6] = {number[y][x], number[y][x + 1],     number[y + 1][x + 1],
                                   number[y][x], number[y + 1][x + 1], number[y + 1][x]};
            for (int k = 0; k < 6; k++) {
                c->triangles[corners++] = square[k];
            }
        }
    }
    for (int f = 0; f < CROSS_FRAMES; f++) {
        memcpy(c->frames + 3 * f * count, c->rest, 3 * (size_t)count * sizeof(float));
        for (int i = 0; i < 3 * CROSS_BONES; i++) {
            c->transforms[12 * CROSS_BONES * f + 4 * i + i % 3] = 1;
        }
    }
    c->poses = (ossify_poses){.struct_size = sizeof c->poses,
                              .vertex_count = count,
                              .frame_count = CROSS_FRAMES,
                              .triangle_count = corners / 3,
                              .rest = c->rest,
                              .frames = c->frames,
                              .triangles = c->triangles};
    c->rig = (ossify_rig){.struct_size = sizeof c->rig,
                          .bone_capacity = CROSS_BONES,
                          .influences = 1,
                          .bones = CROSS_BONES,
                          .transforms = c->transforms,
                          .influence_bones = c->bones,
                          .influence_weights = c->weights,
                          .rest = c->rest};
    c->skeleton = skeleton_start(CROSS_BONES);
    for (int b = 1; b < CROSS_BONES; b++) {
        c->skeleton.parents[b] = b < 5 ? 0 : b - 4;
    }
    return c;
}

static void cross_close(Cross *c) {
    skeleton_free(&c->skeleton);
    free(c);
}

TEST(limbs_of_a_cross_and_who_hangs_from_another) {
    Cross *c = cross_open();
    Sight *s = sight_open();
    ossify_settings settings = plain_settings(1);
    CHECK(ossify_inspect(&c->poses, &settings, &c->rig, &c->skeleton, &s->conduct, &s->info) >= 0);
    CHECK_INT(s->conduct.limb_count, 4);
    CHECK_INT(s->conduct.torso, 0);
    CHECK_INT(s->limbs[0], -1);
    for (int b = 1; b < CROSS_BONES; b++) {
        CHECK(s->limbs[b] >= 0);
        CHECK_INT(s->limbs[b], s->limbs[b < 5 ? b + 4 : b - 4]);
        CHECK_INT(s->foreign[b], -1);
    }
    c->skeleton.parents[3] = 1; /* one arm, with its end, from another */
    CHECK(ossify_inspect(&c->poses, &settings, &c->rig, &c->skeleton, &s->conduct, &s->info) >= 0);
    for (int b = 0; b < CROSS_BONES; b++) {
        CHECK_INT(s->foreign[b], b == 3 || b == 7 ? 1 : -1);
    }
    c->skeleton.parents[3] = -1; /* and the same with all of the body below the other's end */
    c->skeleton.parents[0] = c->skeleton.parents[7] = 3;
    CHECK(ossify_inspect(&c->poses, &settings, &c->rig, &c->skeleton, &s->conduct, &s->info) >= 0);
    for (int b = 0; b < CROSS_BONES; b++) {
        CHECK_INT(s->foreign[b], -1);
    }
    free(s);
    cross_close(c);
}

/* To bone `to`, what bone 0 has on rows from..., seen from the middle. */
static void give_rows(Cross *c, int from, int to) {
    for (int64_t v = 0; v < c->poses.vertex_count; v++) {
        const int up = (int)c->rest[3 * v + 1] - ARM - 1;
        c->bones[v] = c->bones[v] == 0 && up >= from ? to : c->bones[v];
    }
}

TEST(a_limb_may_hang_from_the_bone_that_it_grows_from) {
    Cross *c = cross_open();
    Sight *s = sight_open();
    ossify_settings settings = plain_settings(1);
    give_rows(c, 1, 1); /* arm 3 grows from what bone 1 has */
    c->skeleton.parents[3] = c->skeleton.parents[4] = 1;
    for (int pair = 0; pair < 2; pair++) { /* but not if it is the other's mirror image */
        c->skeleton.mirrors[1] = pair ? 3 : -1;
        c->skeleton.mirrors[3] = pair ? 1 : -1;
        CHECK(ossify_inspect(&c->poses, &settings, &c->rig, &c->skeleton, &s->conduct, &s->info) >= 0);
        CHECK_INT(s->conduct.torso, 0);
        for (int b = 0; b < CROSS_BONES; b++) {
            const int foreign = b == 4 || b == 8 || (pair && (b == 3 || b == 7));
            test_case("pair %d, bone %d", pair, b);
            CHECK_INT(s->foreign[b], foreign ? 1 : -1);
        }
    }
    free(s);
    cross_close(c);
}

TEST(what_lies_behind_a_limb_on_every_way_hangs_from_it_by_right) {
    Cross *c = cross_open();
    Sight *s = sight_open();
    ossify_settings settings = plain_settings(1);
    c->skeleton.parents[7] = 1; /* the end of arm 3, over the surface behind bone 3, hangs from arm 1 */
    for (int wall = 0; wall < 2; wall++) {
        for (int64_t v = 0; v < c->poses.vertex_count && wall; v++) {
            const int up = (int)c->rest[3 * v + 1] - ARM - 1; /* rows across arm 3 are a part of bone 1 */
            c->bones[v] = c->bones[v] == 3 && up >= ARM / 2 ? 1 : c->bones[v];
        }
        CHECK(ossify_inspect(&c->poses, &settings, &c->rig, &c->skeleton, &s->conduct, &s->info) >= 0);
        test_case("wall %d", wall);
        CHECK_INT(s->conduct.torso, 0);
        CHECK(s->limbs[1] >= 0 && s->limbs[1] != s->limbs[7]);
        CHECK_INT(s->foreign[7], wall ? -1 : 1);
    }
    free(s);
    cross_close(c);
}

TEST(a_bone_whose_mirror_image_is_in_no_limb_is_in_none) {
    Cross *c = cross_open();
    Sight *s = sight_open();
    ossify_settings settings = plain_settings(1);
    c->skeleton.parents[3] = 1;
    c->skeleton.mirrors[1] = 0;
    c->skeleton.mirrors[2] = 4;
    CHECK(ossify_inspect(&c->poses, &settings, &c->rig, &c->skeleton, &s->conduct, &s->info) >= 0);
    CHECK_INT(s->limbs[1], -1);
    CHECK(s->limbs[2] >= 0);
    CHECK_INT(s->foreign[3], -1);
    free(s);
    cross_close(c);
}

/* Bone 1 has nearly all that is in no limb, and more in its own: what is left to bone 0 is no torso. */
TEST(a_speck_between_the_limbs_is_no_torso) {
    Cross *c = cross_open();
    Sight *s = sight_open();
    ossify_settings settings = plain_settings(1);
    give_rows(c, -2, 1);
    for (int64_t v = 0; v < c->poses.vertex_count; v++) {
        const int x = (int)c->rest[3 * v] - ARM - 1, y = (int)c->rest[3 * v + 1] - ARM - 1;
        c->bones[v] = x == 0 && y == 0 ? 0 : c->bones[v];
    }
    c->skeleton.parents[0] = 2; /* even where it is in the wrong place */
    c->skeleton.parents[1] = -1;
    c->skeleton.parents[2] = c->skeleton.parents[3] = c->skeleton.parents[4] = 1;
    CHECK(ossify_inspect(&c->poses, &settings, &c->rig, &c->skeleton, &s->conduct, &s->info) >= 0);
    CHECK_INT(s->conduct.torso, 1);
    for (int b = 1; b < CROSS_BONES; b++) {
        CHECK_INT(s->foreign[b], -1);
    }
    free(s);
    cross_close(c);
}

TEST(memory_that_is_out_and_a_wish_to_cancel_end_both) {
    Case c = case_of((SyntheticOptions){.vertices = 200, .bones = 3, .frames = 4, .noise = 0.02});
    Sight *s = sight_open();
    c.groups = (ossify_groups){.struct_size = sizeof c.groups, .leaders = c.leaders};
    for (int64_t at = 1; at < 200; at++) {
        Ledger ledger = {.refuse_at = at};
        ossify_settings settings = c.settings;
        ledger_join(&ledger, &settings);
        const ossify_fusion fusion = {.struct_size = sizeof fusion};
        const int64_t fused =
            ossify_fuse(&c.made.poses, &settings, &c.answer.rig, &fusion, &c.groups, &c.info);
        CHECK(fused >= 0 || fused == OSSIFY_OUT_OF_MEMORY);
        CHECK_INT(ledger.taken, ledger.given);
        ledger = (Ledger){.refuse_at = at};
        const int64_t seen =
            ossify_inspect(&c.made.poses, &settings, &c.made.truth, &c.made.skeleton, &s->conduct, &s->info);
        CHECK(seen >= 0 || seen == OSSIFY_OUT_OF_MEMORY);
        CHECK_INT(ledger.taken, ledger.given);
        if (fused >= 0 && seen >= 0) {
            break;
        }
    }
    for (int64_t at = 1; at < 400; at += 7) {
        Watcher watcher = {.cancel_at = at};
        ossify_settings settings = c.settings;
        watcher_join(&watcher, &settings);
        const ossify_fusion fusion = {.struct_size = sizeof fusion};
        const int64_t fused =
            ossify_fuse(&c.made.poses, &settings, &c.answer.rig, &fusion, &c.groups, &c.info);
        CHECK(fused >= 0 || fused == OSSIFY_CANCELLED);
        watcher = (Watcher){.cancel_at = at};
        const int64_t seen =
            ossify_inspect(&c.made.poses, &settings, &c.made.truth, &c.made.skeleton, &s->conduct, &s->info);
        CHECK(seen >= 0 || seen == OSSIFY_CANCELLED);
    }
    free(s);
    case_free(&c);
}

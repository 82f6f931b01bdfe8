/* test_skeleton.c - bones join to the tree they were made from, joints lie where the motion says, wishes
 * are kept, and mirrored bodies get mirrored skeletons. Drift and trees are checked by code of this file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/check.h"
#include "math/symmetric3.h"
#include "probe.h"
#include "skeleton/joint.h"
#include "synthetic.h"
#include "test.h"

typedef struct Found {
    Synthetic made;
    ossify_settings settings;
    ossify_skeleton skeleton;
    ossify_info info;
    int64_t status;
} Found;

static void connect(Found *found) {
    found->info.struct_size = sizeof found->info;
    found->status = ossify_connect(&found->made.poses, &found->settings, &found->made.truth, &found->skeleton,
                                   &found->info);
}

static Found prepare(SyntheticOptions options) {
    Found found = {0};
    options.jointed = 1;
    found.made = synthetic_make(options);
    found.settings = plain_settings(1);
    found.skeleton = skeleton_start(found.made.truth.bones);
    found.skeleton.root = 0;
    return found;
}

static Found found_of(SyntheticOptions options) {
    Found found = prepare(options);
    connect(&found);
    CHECK(found.status >= 0);
    return found;
}

static void found_free(Found *found) {
    skeleton_free(&found->skeleton);
    synthetic_free(&found->made);
}

static double distance(const double *a, const double *b) {
    return sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
}

/* Root mean square distance between what two bones make of a point, frame by frame. */
static double drift_at(const Found *found, int b, int c, const double x[3]) {
    const ossify_rig *rig = &found->made.truth;
    double sum = 0;
    for (int64_t f = 0; f < found->made.poses.frame_count; f++) {
        const double *m = rig->transforms + 12 * (f * rig->bone_capacity + b);
        const double *n = rig->transforms + 12 * (f * rig->bone_capacity + c);
        for (int i = 0; i < 3; i++) {
            double d = m[4 * i + 3] - n[4 * i + 3];
            for (int j = 0; j < 3; j++) {
                d += (m[4 * i + j] - n[4 * i + j]) * x[j];
            }
            sum += d * d;
        }
    }
    return sqrt(sum / (double)found->made.poses.frame_count);
}

static void check_tree(const Found *found) {
    const int bones = (int)found->made.truth.bones;
    for (int b = 0; b < bones; b++) {
        int steps = 0;
        for (int at = b; found->skeleton.parents[at] >= 0 && steps <= bones;
             at = found->skeleton.parents[at]) {
            steps++;
        }
        CHECK(steps < bones);
    }
}

static int joined(const ossify_skeleton *skeleton, int b, int c) {
    return skeleton->parents[b] == c || skeleton->parents[c] == b;
}

TEST(edges_and_joints_of_balls_come_back) {
    for (int shape = SHAPE_GRID; shape <= SHAPE_BLOBS; shape++) {
        SyntheticOptions options = {
            .shape = (Shape)shape, .bones = 7, .vertices = 700, .frames = 24, .seed = 5};
        Found found = found_of(options);
        test_case("shape %d", shape);
        check_tree(&found);
        CHECK_INT(found.skeleton.root, 0);
        CHECK_INT(found.skeleton.joint_kinds[0], OSSIFY_JOINT_ROOT);
        for (int b = 1; b < 7; b++) {
            CHECK_INT(found.skeleton.parents[b], found.made.skeleton.parents[b]);
            CHECK_INT(found.skeleton.joint_kinds[b], OSSIFY_JOINT_BALL);
            CHECK(distance(found.skeleton.joints + 3 * b, found.made.skeleton.joints + 3 * b) < 1e-3);
        }
        found_free(&found);
    }
}

TEST(hinges_are_told_from_balls_with_their_axes) {
    SyntheticOptions options = {.bones = 6, .vertices = 600, .frames = 24, .hinges = 1, .seed = 2};
    Found found = found_of(options);
    for (int b = 1; b < 6; b++) {
        const double *n = found.skeleton.axes + 3 * b, *m = found.made.skeleton.axes + 3 * b;
        CHECK_INT(found.skeleton.parents[b], found.made.skeleton.parents[b]);
        CHECK_INT(found.skeleton.joint_kinds[b], OSSIFY_JOINT_HINGE);
        CHECK_NEAR(fabs(n[0] * m[0] + n[1] * m[1] + n[2] * m[2]), 1, 1e-6);
    }
    found_free(&found);
}

TEST(bones_that_do_not_move_against_each_other_are_told) {
    SyntheticOptions options = {.bones = 6, .vertices = 600, .frames = 24, .motion = 0.5, .seed = 4};
    Found found = prepare(options);
    const int lone = 3, above = found.made.skeleton.parents[lone];
    ossify_rig *rig = &found.made.truth;
    for (int64_t f = 0; f < found.made.poses.frame_count; f++) {
        memcpy(rig->transforms + 12 * (f * rig->bone_capacity + lone),
               rig->transforms + 12 * (f * rig->bone_capacity + above), 12 * sizeof(double));
    }
    connect(&found);
    CHECK(found.status >= 0);
    CHECK(joined(&found.skeleton, lone, above));
    CHECK_INT(found.skeleton.joint_kinds[found.skeleton.parents[lone] == above ? lone : above],
              OSSIFY_JOINT_STIFF);
    found_free(&found);
}

TEST(the_drift_is_what_two_bones_make_of_the_joint) {
    SyntheticOptions options = {.bones = 5, .vertices = 500, .frames = 16, .seed = 7};
    Found found = prepare(options);
    ossify_rig *rig = &found.made.truth;
    for (int64_t i = 0; i < 12 * found.made.poses.frame_count * rig->bone_capacity; i++) {
        rig->transforms[i] += i % 4 == 3 ? 0.05 * sin(0.7 * (double)i) : 0; /* joints no longer hold */
    }
    connect(&found);
    double low[3] = {1e9, 1e9, 1e9}, high[3] = {-1e9, -1e9, -1e9};
    for (int64_t i = 0; i < 3 * found.made.poses.vertex_count; i++) {
        low[i % 3] = fmin(low[i % 3], (double)rig->rest[i]);
        high[i % 3] = fmax(high[i % 3], (double)rig->rest[i]);
    }
    for (int b = 1; b < 5; b++) {
        const double drift = drift_at(&found, b, found.skeleton.parents[b], found.skeleton.joints + 3 * b);
        CHECK(drift > 0);
        CHECK_NEAR(found.skeleton.drifts[b], 100 * drift / distance(low, high), 1e-9);
    }
    found_free(&found);
}

/* Of all points, the joint of two balls is where the drift is least. */
TEST(no_point_near_a_joint_drifts_less) {
    SyntheticOptions options = {.bones = 5, .vertices = 500, .frames = 20, .seed = 8};
    Found found = found_of(options);
    for (int b = 1; b < 5; b++) {
        for (int i = 0; i < 6; i++) {
            double near[3];
            memcpy(near, found.skeleton.joints + 3 * b, sizeof near);
            near[i / 2] += i % 2 ? 0.01 : -0.01;
            CHECK(drift_at(&found, b, found.skeleton.parents[b], found.skeleton.joints + 3 * b) <
                  drift_at(&found, b, found.skeleton.parents[b], near));
        }
    }
    found_free(&found);
}

/* Maximal: an edge that is not in the tree scores no more than any edge on the path between its ends. */
static void check_maximal(int64_t connect_by) {
    SyntheticOptions options = {.shape = SHAPE_BLOBS, .bones = 9, .vertices = 900, .noise = 0.01, .seed = 6};
    Found found = prepare(options);
    found.settings.connect = connect_by;
    connect(&found);
    CHECK(found.status >= 0);
    Workshop w;
    Body body;
    workshop_open(&w, found.settings);
    CHECK(body_make(&w.call, &found.made.poses, &found.made.truth, &body));
    for (int b = 0; b < 9; b++) {
        for (int c = 0; c < b; c++) {
            Joint joint;
            joint_between(&body, b, c, &joint);
            const double score = joint_score(&joint, connect_by);
            int up[16], ups = 0, at = b;
            for (; at >= 0; at = found.skeleton.parents[at]) {
                up[ups++] = at;
            }
            for (at = c; at >= 0; at = found.skeleton.parents[at]) {
                int meets = -1;
                for (int i = 0; i < ups && meets < 0; i++) {
                    meets = up[i] == at ? i : -1;
                }
                for (int i = 0; i < meets; i++) {
                    joint_between(&body, up[i], up[i + 1], &joint);
                    CHECK(joint_score(&joint, connect_by) >= score - 1e-6);
                }
                if (meets >= 0) {
                    break;
                }
                joint_between(&body, at, found.skeleton.parents[at], &joint);
                CHECK(joint_score(&joint, connect_by) >= score - 1e-6);
            }
        }
    }
    workshop_close(&w);
    found_free(&found);
}

TEST(no_other_edge_belongs_into_the_tree) {
    for (int64_t connect_by = OSSIFY_CONNECT_BOTH; connect_by <= OSSIFY_CONNECT_STABLE; connect_by++) {
        test_case("connected by %d", (int)connect_by);
        check_maximal(connect_by);
    }
}

TEST(demanded_edges_are_there_and_forbidden_ones_are_not) {
    SyntheticOptions options = {.bones = 7, .vertices = 700, .frames = 20, .seed = 5};
    Found found = prepare(options);
    connect(&found);
    int32_t demanded[2] = {-1, -1}, forbidden[2] = {3, found.skeleton.parents[3]};
    for (int b = 0; b < 7; b++) {
        for (int c = 0; c < b; c++) {
            if (!joined(&found.skeleton, b, c) && demanded[0] < 0) {
                demanded[0] = b, demanded[1] = c;
            }
        }
    }
    found.skeleton.demanded = demanded;
    found.skeleton.forbidden = forbidden;
    found.skeleton.demanded_count = found.skeleton.forbidden_count = 1;
    found.skeleton.root = 2;
    connect(&found);
    CHECK(found.status >= 0);
    check_tree(&found);
    CHECK(joined(&found.skeleton, demanded[0], demanded[1]));
    CHECK(!joined(&found.skeleton, forbidden[0], forbidden[1]));
    CHECK_INT(found.skeleton.root, 2);
    CHECK_INT(found.skeleton.parents[2], -1);
    found_free(&found);
}

TEST(a_bone_that_nothing_may_join_is_a_tree_of_its_own) {
    SyntheticOptions options = {.bones = 3, .vertices = 300, .frames = 12};
    Found found = prepare(options);
    const int32_t forbidden[4] = {2, 0, 1, 2};
    found.skeleton.forbidden = forbidden;
    found.skeleton.forbidden_count = 2;
    connect(&found);
    CHECK_INT(found.skeleton.parents[2], -1);
    CHECK_SAYS(found.info.message, "2 trees");
    found_free(&found);
}

TEST(shells_make_one_tree_or_a_forest) {
    for (int forest = 0; forest < 2; forest++) {
        SyntheticOptions options = {.bones = 6, .vertices = 600, .shells = 3, .frames = 12, .seed = 3};
        Found found = prepare(options);
        int roots = 0;
        found.skeleton.forest = forest;
        connect(&found);
        CHECK(found.status >= 0);
        check_tree(&found);
        for (int b = 0; b < 6; b++) {
            roots += found.skeleton.parents[b] < 0;
        }
        CHECK_INT(roots, forest ? 3 : 1);
        CHECK_TEXT(found.info.message, "");
        found_free(&found);
    }
}

/* A body and its mirror image in the plane x = 3, as one. */
static Found doubled(int vertices) {
    SyntheticOptions options = {.bones = 5, .vertices = vertices, .frames = 16, .seed = 9};
    Found one = prepare(options), two = {0};
    const int64_t n = one.made.poses.vertex_count, f = one.made.poses.frame_count,
                  k = one.made.truth.influences;
    two.made = synthetic_make((SyntheticOptions){.bones = 10, .vertices = 400, .frames = 16, .shells = 2});
    two.settings = one.settings;
    two.skeleton = skeleton_start(10);
    ossify_rig *to = &two.made.truth, *from = &one.made.truth;
    to->influences = k;
    to->bone_capacity = to->bones = 10;
    two.made.poses.vertex_count = 2 * n;
    two.made.poses.triangle_count = 0;
    to->rest = realloc(to->rest, sizeof(float[3]) * 2 * (size_t)n);
    to->influence_bones = realloc(to->influence_bones, sizeof(int32_t) * (size_t)(2 * n * k));
    to->influence_weights = realloc(to->influence_weights, sizeof(float) * (size_t)(2 * n * k));
    to->transforms = realloc(to->transforms, sizeof(double[12]) * (size_t)(10 * f));
    for (int64_t i = 0; i < 2 * n; i++) {
        for (int a = 0; a < 3; a++) {
            to->rest[3 * i + a] = from->rest[3 * (i % n) + a];
        }
        if (i >= n) {
            to->rest[3 * i] = 6 - to->rest[3 * i];
        }
        for (int64_t j = 0; j < k; j++) {
            const int32_t b = from->influence_bones[(i % n) * k + j];
            to->influence_bones[i * k + j] = b < 0 ? -1 : b + (i >= n ? 5 : 0);
            to->influence_weights[i * k + j] = from->influence_weights[(i % n) * k + j];
        }
    }
    for (int64_t i = 0; i < f; i++) {
        for (int b = 0; b < 10; b++) {
            double *m = to->transforms + 12 * (10 * i + b);
            memcpy(m, from->transforms + 12 * (from->bone_capacity * i + b % 5), sizeof(double[12]));
            if (b >= 5) { /* S M S with S: x -> 6 - x */
                m[1] = -m[1], m[2] = -m[2], m[4] = -m[4], m[8] = -m[8];
                m[3] = 6 - m[3] - 6 * m[0];
                m[7] -= 6 * m[4];
                m[11] -= 6 * m[8];
            }
        }
    }
    skeleton_free(&one.skeleton);
    synthetic_free(&one.made);
    return two;
}

static void check_mirrored(Found *found) {
    found->skeleton.symmetry = OSSIFY_SYMMETRY_FOUND;
    found->skeleton.root = -1;
    connect(found);
    CHECK(found->status >= 0);
    CHECK_INT(found->skeleton.symmetry, OSSIFY_SYMMETRY_FOUND);
    CHECK_NEAR(fabs(found->skeleton.plane[0]), 1, 1e-6);
    CHECK_NEAR(found->skeleton.plane[3] / found->skeleton.plane[0], 3, 1e-6);
    for (int b = 0; b < 10; b++) {
        const int other = found->skeleton.mirrors[b], above = found->skeleton.parents[b];
        CHECK_INT(other, (b + 5) % 10);
        if (above < 0 || found->skeleton.parents[other] != found->skeleton.mirrors[above]) {
            continue;
        }
        const double *x = found->skeleton.joints + 3 * b, *y = found->skeleton.joints + 3 * other;
        CHECK_NEAR(x[0] + y[0], 2 * found->skeleton.plane[3] / found->skeleton.plane[0], 1e-9);
        CHECK_NEAR(x[1], y[1], 1e-9);
        CHECK_NEAR(x[2], y[2], 1e-9);
    }
}

TEST(a_mirrored_body_has_a_mirrored_skeleton) {
    static const int vertices[] = {400, 12000};
    for (int i = 0; i < 2; i++) {
        Found found = doubled(vertices[i]);
        test_case("%d vertices", (int)found.made.poses.vertex_count);
        check_mirrored(&found);
        found_free(&found);
    }
}

TEST(a_sheet_is_not_mirrored_in_its_own_plane) {
    Found found = doubled(2000);
    for (int64_t v = 0; v < found.made.poses.vertex_count; v++) { /* its two sides are only nearly alike */
        found.made.truth.rest[3 * v] += (float)(0.002 * sin((double)v));
        found.made.truth.rest[3 * v + 2] = 0.25F;
    }
    found.skeleton.symmetry = OSSIFY_SYMMETRY_FOUND;
    connect(&found);
    CHECK_INT(found.skeleton.symmetry, OSSIFY_SYMMETRY_FOUND);
    CHECK(fabs(found.skeleton.plane[2]) < 0.01);
    found_free(&found);
}

/* Root mean square distance from a vertex to the nearest other one. */
static double spacing_of(const float *rest, int64_t n) {
    double sum = 0;
    for (int64_t v = 0; v < n; v++) {
        double least = INFINITY;
        for (int64_t u = 0; u < n; u++) {
            double square = 0;
            for (int a = 0; a < 3; a++) {
                square += pow((double)rest[3 * v + a] - (double)rest[3 * u + a], 2);
            }
            least = u == v ? least : fmin(least, square);
        }
        sum += least;
    }
    return sqrt(sum / (double)n);
}

typedef enum Thin { BENT, IN_WAVES, LAYERS, THIN } Thin;

/* Vertices spread over a horn, which is lopsided, none above another, at a root mean square height of 1. */
static void spread(Thin kind, float *rest, int64_t n) {
    double mean = 0, square = 0;
    for (int64_t v = 0; v < n; v++) {
        const double u = fmod(0.5 + 0.7548776662466927 * (double)v, 1);
        const double w = fmod(0.5 + 0.5698402909980532 * (double)v, 1);
        const double height[THIN] = {cos(2.5 * (u - 0.5)), cos(20 * u), 2 * (double)(v % 2) - 1};
        rest[3 * v] = (float)(2 * u);
        rest[3 * v + 1] = (float)(0.9 * u * u + w * (0.15 + 0.6 * u));
        rest[3 * v + 2] = (float)height[kind];
        mean += height[kind] / (double)n;
    }
    for (int64_t v = 0; v < n; v++) {
        square += pow((double)rest[3 * v + 2] - mean, 2) / (double)n;
    }
    for (int64_t v = 0; v < n; v++) {
        rest[3 * v + 2] = (float)(((double)rest[3 * v + 2] - mean) / sqrt(square));
    }
}

/* Half a percent of the size and two spacings: how far off a mirrored vertex may land. */
static double most_off(Thin kind, float *rest, int64_t n) {
    double low[3] = {INFINITY, INFINITY, 0}, high[3] = {-INFINITY, -INFINITY, 0};
    spread(kind, rest, n);
    for (int64_t i = 0; i < 3 * n; i++) {
        if (i % 3 == 2) {
            rest[i] *= kind == LAYERS; /* a sheet as if flat, layers far apart */
        } else {
            low[i % 3] = fmin(low[i % 3], (double)rest[i]);
            high[i % 3] = fmax(high[i % 3], (double)rest[i]);
        }
    }
    return 0.005 * distance(low, high) + 2 * spacing_of(rest, n);
}

/* A mirrored vertex lands twice its height from where it was: when that is further than it may be off, a body has its
 * mirror; when it is less, all its vertices land on themselves. A sheet has none however it bends. */
TEST(a_thin_body_is_mirrored_as_soon_as_that_can_be_seen) {
    static const double factor[] = {0.5, 0.8, 0.95, 1.01, 1.02, 1.05, 1.1, 1.25, 1.6, 1.9, 2.2, 3};
    for (int i = 0; i < 3 * THIN * 12; i++) {
        const Thin kind = (Thin)(i / 3 % THIN);
        SyntheticOptions options = {.bones = 3, .vertices = 200 << i % 3, .frames = 3, .faceless = 1};
        Found found = prepare(options);
        const int64_t n = found.made.poses.vertex_count;
        float *rest = found.made.truth.rest;
        const double most = most_off(kind, rest, n), times = factor[i / 9];
        spread(kind, rest, n);
        for (int64_t v = 0; v < n; v++) {
            rest[3 * v + 2] *= (float)(0.5 * times * most);
        }
        found.skeleton.symmetry = OSSIFY_SYMMETRY_FOUND;
        test_case("kind %d, %d vertices, %g of the limit", (int)kind, (int)n, times);
        connect(&found);
        const int mirrored =
            found.skeleton.symmetry == OSSIFY_SYMMETRY_FOUND && fabs(found.skeleton.plane[2]) > 0.9;
        CHECK_INT(mirrored, kind == LAYERS && times > 1);
        found_free(&found);
    }
}

/* A bone of a body made by hand: a ball of vertices that is all its own. */
typedef struct Limb {
    int parent; /* -1: the root, which only turns */
    double joint[3], centre[3];
    double turn; /* radians, in space */
} Limb;

static void turn_about(const double n[3], double turn, double r[9]) {
    const double c = cos(turn), s = sin(turn);
    for (int i = 0; i < 9; i++) {
        const int row = i / 3, column = i % 3;
        const double across = row == column ? 0 : (column - row + 3) % 3 == 1 ? -1 : 1;
        r[i] = (row == column ? c : across * s * n[3 - row - column]) + (1 - c) * n[row] * n[column];
    }
}

/* Turns by `turn` about a direction that wanders, another one for each bone. */
static void turned(double turn, int b, int64_t f, double r[9]) {
    const double t = 0.9 * (double)f + 2.3 * b, u = 1.7 * (double)f + 1.1 * b;
    const double n[3] = {sin(t) * cos(u), sin(t) * sin(u), cos(t)};
    turn_about(n, turn, r);
}

/* Hangs the bone where its parent takes its joint; r is its turn in space. */
static void hang(double *all, int b, int parent, const double x[3], const double r[9]) {
    const double *above = parent < 0 ? NULL : all + 12 * parent;
    for (int i = 0; i < 3; i++) {
        double *row = all + 12 * b + 4 * i;
        memcpy(row, r + 3 * i, 3 * sizeof *row);
        row[3] = -(row[0] * x[0] + row[1] * x[1] + row[2] * x[2]);
        row[3] += !above ? x[i]
                         : above[4 * i] * x[0] + above[4 * i + 1] * x[1] + above[4 * i + 2] * x[2] +
                               above[4 * i + 3];
    }
}

/* Vertices lie in mirrored pairs within every ball: a body of mirrored balls is mirrored at x = 0. */
static Found body_by_hand(const Limb *limb, int bones) {
    Found found =
        prepare((SyntheticOptions){.bones = bones, .vertices = 120 * bones, .frames = 12, .faceless = 1});
    ossify_rig *rig = &found.made.truth;
    for (int64_t v = 0; v < found.made.poses.vertex_count; v++) {
        const int b = (int)(v % bones), at = (int)(v / bones);
        const double side = limb[b].centre[0] < 0 ? -1 : 1, up = 1.3 * (at / 2);
        const double off[3] = {(at % 2 ? -0.1 : 0.1) * (0.2 + fabs(sin(up))), 0.1 * cos(up),
                               0.1 * sin(1.7 * up)};
        for (int a = 0; a < 3; a++) {
            rig->rest[3 * v + a] = (float)(limb[b].centre[a] + (a == 0 ? side : 1) * off[a]);
        }
        for (int64_t k = 0; k < rig->influences; k++) {
            rig->influence_bones[v * rig->influences + k] = k == 0 ? b : -1;
            rig->influence_weights[v * rig->influences + k] = k == 0 ? 1 : 0;
        }
    }
    for (int64_t f = 0; f < found.made.poses.frame_count; f++) {
        double *all = rig->transforms + 12 * f * rig->bone_capacity;
        for (int b = 0; b < bones; b++) {
            double r[9];
            turned(limb[b].turn, b, f, r);
            hang(all, b, limb[b].parent, limb[b].joint, r);
        }
    }
    found.skeleton.root = -1;
    return found;
}

TEST(bones_that_meet_in_a_point_hang_from_the_one_that_leads_there) {
    static const Limb hand[] = {{-1, {0, 0, 0}, {0, 0, 0}, 0.1},
                                {0, {1, 0, 0}, {1.5, 0, 0}, 0.5},
                                {1, {4, 0, 0}, {4.4, 0.3, 0}, 0.6},
                                {1, {4, 0, 0}, {4.5, 0, 0}, 0.6},
                                {1, {4, 0, 0}, {4.4, -0.3, 0}, 0.6}};
    Found found = body_by_hand(hand, 5);
    connect(&found);
    CHECK(found.status >= 0);
    CHECK_INT(found.skeleton.root, 0);
    for (int b = 0; b < 5; b++) {
        test_case("bone %d", b);
        CHECK_INT(found.skeleton.parents[b], hand[b].parent);
        if (b > 0) {
            CHECK(distance(found.skeleton.joints + 3 * b, hand[b].joint) < 1e-3);
        }
    }
    const int32_t fingers[2] = {2, 3};
    found.skeleton.root = 0;
    found.skeleton.demanded_count = 1; /* an artist's word counts more */
    found.skeleton.demanded = fingers;
    connect(&found);
    CHECK(joined(&found.skeleton, 2, 3));
    found_free(&found);
}

TEST(a_bone_with_a_mirror_image_is_not_the_root) {
    static const Limb bird[] = {{-1, {0, 0, 0}, {0, 0, 0}, 0.5},
                                {0, {0.6, 0, 0}, {1.5, 0.4, 0}, 0.05},
                                {0, {-0.6, 0, 0}, {-1.5, 0.4, 0}, 0.06},
                                {0, {0, 0.6, 0}, {0, 1.2, 0}, 0.9}};
    Found found = body_by_hand(bird, 4);
    connect(&found);
    CHECK(found.status >= 0);
    CHECK_INT(found.skeleton.root, 1); /* a wing turns least */
    found.skeleton.root = -1;
    found.skeleton.symmetry = OSSIFY_SYMMETRY_FOUND;
    connect(&found);
    CHECK(found.status >= 0);
    CHECK_INT(found.skeleton.symmetry, OSSIFY_SYMMETRY_FOUND);
    CHECK_INT(found.skeleton.mirrors[1], 2);
    CHECK_INT(found.skeleton.root, 0);
    found.skeleton.root = 1; /* unless the artist says so */
    connect(&found);
    CHECK_INT(found.skeleton.root, 1);
    found_free(&found);
}

/* An artist's word hangs one wing from the other: then they are no pair. */
TEST(a_bone_that_hangs_from_its_mirror_image_is_none) {
    static const Limb bird[] = {{-1, {0, 0, 0}, {0, 0, 0}, 0.5},
                                {0, {0.6, 0, 0}, {1.5, 0.4, 0}, 0.05},
                                {0, {-0.6, 0, 0}, {-1.5, 0.4, 0}, 0.06},
                                {0, {0, 0.6, 0}, {0, 1.2, 0}, 0.9}};
    const int32_t apart[2] = {0, 2}, together[2] = {1, 2};
    Found found = body_by_hand(bird, 4);
    found.skeleton.symmetry = OSSIFY_SYMMETRY_FOUND;
    found.skeleton.forbidden_count = found.skeleton.demanded_count = 1;
    found.skeleton.forbidden = apart;
    found.skeleton.demanded = together;
    connect(&found);
    CHECK(found.status >= 0);
    CHECK_INT(found.skeleton.root, 0);
    CHECK_INT(found.skeleton.parents[2], 1);
    CHECK_INT(found.skeleton.mirrors[1], -1);
    CHECK_INT(found.skeleton.mirrors[2], -1);
    CHECK_INT(found.skeleton.mirrors[3], 3);
    found_free(&found);
}

/* Moves vertices of bone b to a point and lets them follow bone c as much. */
static void share_vertices(Found *found, int b, int c, int count, const double at[3]) {
    ossify_rig *rig = &found->made.truth;
    for (int64_t v = 0; v < found->made.poses.vertex_count && count > 0; v++) {
        int32_t *bone = rig->influence_bones + v * rig->influences;
        float *weight = rig->influence_weights + v * rig->influences;
        if (bone[0] != b || bone[1] >= 0) {
            continue;
        }
        bone[1] = c;
        weight[0] = weight[1] = 0.5F;
        for (int a = 0; a < 3; a++) {
            rig->rest[3 * v + a] = (float)at[a];
        }
        count--;
    }
}

TEST(a_mirror_image_joins_no_shells) {
    static const Limb arms[] = {{-1, {0, 0, 0}, {0, 0, 0}, 0.1},
                                {0, {0.6, 0, 0}, {1.5, 0.4, 0}, 0.5},
                                {0, {-0.6, 0, 0}, {-1.5, 0.4, 0}, 0.5}};
    Found found = body_by_hand(arms, 3);
    share_vertices(&found, 0, 1, 1, (const double[3]){0, 0.1, 0});
    found.skeleton.symmetry = OSSIFY_SYMMETRY_FOUND;
    found.skeleton.forest = 1;
    connect(&found);
    CHECK(found.status >= 0);
    CHECK_INT(found.skeleton.mirrors[1], 2);
    CHECK(joined(&found.skeleton, 0, 1));
    CHECK_INT(found.skeleton.parents[2], -1);
    found_free(&found);
}

/* Two arms that turn about one axis, and a body that shakes a little: a joint that holds speaks for the arms, the
 * surface for the body. */
TEST(stable_joints_alone_are_taken_in_by_bones_that_move_alike) {
    static const Limb arms[] = {{-1, {0, 0, 0}, {0, 0, 0}, 0},
                                {0, {0.6, 0, 0}, {1.5, 0.4, 0}, 0},
                                {0, {-0.6, 0, 0}, {-1.5, 0.4, 0}, 0}};
    Found found = body_by_hand(arms, 3);
    for (int64_t f = 0; f < found.made.poses.frame_count; f++) {
        double *all = found.made.truth.transforms + 12 * f * found.made.truth.bone_capacity, r[9];
        turn_about((const double[3]){1, 0, 0}, sin((double)f), r);
        hang(all, 1, -1, arms[1].joint, r);
        hang(all, 2, -1, arms[2].joint, r);
        all[3] = 0.002 * sin(2.0 * (double)f);
    }
    share_vertices(&found, 0, 1, 40, arms[1].joint);
    share_vertices(&found, 0, 2, 40, arms[2].joint);
    found.skeleton.root = 0;
    connect(&found);
    CHECK(joined(&found.skeleton, 0, 1) && joined(&found.skeleton, 0, 2));
    found.settings.connect = OSSIFY_CONNECT_OVERLAP;
    connect(&found);
    CHECK(joined(&found.skeleton, 0, 1) && joined(&found.skeleton, 0, 2));
    found.settings.connect = OSSIFY_CONNECT_STABLE;
    connect(&found);
    CHECK(joined(&found.skeleton, 1, 2));
    found_free(&found);
}

/* A hand that rests on the body. */
TEST(overlap_alone_is_taken_in_by_bones_that_touch) {
    static const Limb arm[] = {
        {-1, {0, 0, 0}, {0, 0, 0}, 0.1}, {0, {1, 0, 0}, {1.5, 0, 0}, 0.5}, {1, {2, 0, 0}, {2.5, 0, 0}, 0.6}};
    for (int64_t by = OSSIFY_CONNECT_BOTH; by <= OSSIFY_CONNECT_STABLE; by++) {
        Found found = body_by_hand(arm, 3);
        share_vertices(&found, 0, 1, 20, arm[1].joint);
        share_vertices(&found, 1, 2, 20, arm[2].joint);
        share_vertices(&found, 0, 2, 40, (const double[3]){2.2, 0.3, 0});
        found.settings.connect = by;
        connect(&found);
        test_case("connected by %d", (int)by);
        CHECK(found.status >= 0);
        CHECK_INT(joined(&found.skeleton, 0, 2), by == OSSIFY_CONNECT_OVERLAP);
        found_free(&found);
    }
}

/* Schaefer & Yuksel 2007, section 5.1, by its words: each vertex adds the weights of its other bones to their edges
 * with its strongest. */
TEST(overlap_is_counted_against_the_strongest_bone_of_a_vertex) {
    SyntheticOptions options = {.bones = 6, .vertices = 400, .influences = 4, .faceless = 1, .seed = 3};
    Found found = prepare(options);
    const ossify_rig *rig = &found.made.truth;
    double edge[36] = {0};
    for (int64_t v = 0; v < found.made.poses.vertex_count; v++) {
        double weight[6] = {0};
        int strongest = 0;
        for (int64_t k = v * rig->influences; k < (v + 1) * rig->influences; k++) {
            if (rig->influence_bones[k] >= 0) {
                weight[rig->influence_bones[k]] = (double)rig->influence_weights[k];
            }
        }
        for (int b = 1; b < 6; b++) {
            strongest = weight[b] > weight[strongest] ? b : strongest;
        }
        for (int b = 0; b < 6; b++) {
            if (b != strongest) {
                edge[6 * b + strongest] += weight[b];
                edge[6 * strongest + b] += weight[b];
            }
        }
    }
    Workshop w;
    Body body;
    workshop_open(&w, found.settings);
    CHECK(body_make(&w.call, &found.made.poses, rig, &body));
    for (int i = 0; i < 36; i++) {
        CHECK_NEAR(body.beside[i], edge[i] * body.area[0], 1e-4 * edge[i] + 1e-9);
    }
    workshop_close(&w);
    found_free(&found);
}

/* The root of a chain of five whose edges are given: a body that does not move says nothing about them. */
static int64_t root_of_chain(const double turn[5]) {
    static const int32_t edges[8] = {0, 1, 1, 2, 2, 3, 3, 4};
    Limb chain[5];
    for (int b = 0; b < 5; b++) {
        chain[b] = (Limb){b - 1, {b - 0.5, 0, 0}, {b, 0, 0}, turn[b]};
    }
    Found found = body_by_hand(chain, 5);
    found.skeleton.demanded = edges;
    found.skeleton.demanded_count = 4;
    connect(&found);
    CHECK(found.status >= 0);
    const int64_t root = found.skeleton.root;
    found_free(&found);
    return root;
}

TEST(where_the_motion_says_nothing_the_root_is_in_the_middle) {
    static const double turns[][5] = {{0, 0, 0, 0, 0},
                                      {0, 0, 0, 0, 0.5},
                                      {0.5, 0, 0, 0, 0},
                                      {0, 1e-7, 1e-6, 1e-7, 0},
                                      {0, 1e-3, 2e-3, 1e-3, 0.5}};
    for (int i = 0; i < 5; i++) {
        test_case("chain %d", i);
        CHECK_INT(root_of_chain(turns[i]), 2);
    }
    CHECK_INT(root_of_chain((const double[5]){0.5, 0.1, 0.4, 0.5, 0.5}), 1);
}

/* Three swings of their own; bone 1 undoes most of what bone 0 does. */
static void swing(int b, int64_t f, double w[3]) {
    const double t = 0.2 * (double)f, own = b == 1 ? 0.1 : 0.4;
    double above[3] = {0};
    if (b == 1) {
        swing(0, f, above);
    }
    for (int i = 0; i < 3; i++) {
        w[i] = own * sin((0.8 + 0.37 * i + 0.23 * b) * t + 1.9 * i + b) - 0.6 * above[i];
    }
}

/* A chain of swings; with `jump` the frames are in no order. */
static void swing_chain(Found *found, int64_t jump) {
    const int64_t frames = found->made.poses.frame_count;
    for (int64_t f = 0; f < frames; f++) {
        double *all =
            found->made.truth.transforms + 12 * (jump * f % frames) * found->made.truth.bone_capacity;
        double in_space[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
        for (int b = 0; b < found->made.truth.bones; b++) {
            double w[3], own[9], r[9] = {0};
            swing(b, f, w);
            const double angle = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
            turn_about((double[3]){w[0] / angle, w[1] / angle, w[2] / angle}, angle, own);
            for (int i = 0; i < 27; i++) {
                r[i / 9 * 3 + i % 3] += in_space[i / 9 * 3 + i / 3 % 3] * own[i / 3 % 3 * 3 + i % 3];
            }
            memcpy(in_space, r, sizeof r);
            hang(all, b, b - 1, found->made.skeleton.joints + 3 * b, r);
        }
    }
    found->skeleton.root = -1;
}

static double turn_in_space(const Found *found, int b) {
    double sum = 0;
    for (int64_t f = 0; f < found->made.poses.frame_count; f++) {
        for (int i = 0; i < 9; i++) {
            const double *m = found->made.truth.transforms + 12 * (f * found->made.truth.bone_capacity + b);
            sum += pow(m[4 * (i / 3) + i % 3] - (i % 4 == 0), 2);
        }
    }
    return sum;
}

TEST(what_swings_by_itself_is_the_root_although_another_turns_less) {
    Found found = prepare((SyntheticOptions){.bones = 4, .vertices = 400, .frames = 67, .faceless = 1});
    swing_chain(&found, 1);
    CHECK(turn_in_space(&found, 1) < 0.5 * turn_in_space(&found, 0));
    connect(&found);
    CHECK(found.status >= 0);
    CHECK_INT(found.skeleton.root, 0);
    swing_chain(&found, 29);
    connect(&found);
    CHECK_INT(found.skeleton.root, 1); /* poses in no order swing in no way */
    found_free(&found);
    found = prepare((SyntheticOptions){.bones = 4, .vertices = 400, .frames = 19, .faceless = 1});
    swing_chain(&found, 1);
    connect(&found);
    CHECK_INT(found.skeleton.root, 1); /* and a few poses say nothing */
    found_free(&found);
}

/* The whole body turns about z, by `total` from the first frame to the last. */
static void turn_body(Found *found, double total) {
    const ossify_rig *rig = &found->made.truth;
    const int64_t frames = found->made.poses.frame_count;
    for (int64_t i = 0; i < frames * rig->bones; i++) {
        const int64_t f = i / rig->bones;
        double *m = rig->transforms + 12 * (f * rig->bone_capacity + i % rig->bones);
        const double angle = total * (double)f / (double)frames, c = cos(angle), s = sin(angle);
        for (int k = 0; k < 4; k++) {
            const double x = m[k], y = m[4 + k];
            m[k] = c * x - s * y;
            m[4 + k] = s * x + c * y;
        }
    }
}

/* Of a chain: what turns least, and lies in the middle. */
static int64_t quietest_of_chain(const Found *found) {
    const int last = (int)found->made.truth.bones - 1;
    int64_t best = 0;
    double least = INFINITY;
    for (int b = 0; b <= last; b++) {
        const double turns = turn_in_space(found, b) * (1 + (b > last - b ? b : last - b));
        best = turns < least ? b : best;
        least = turns < least ? turns : least;
    }
    return best;
}

TEST(a_body_that_turns_has_no_bone_that_swings_by_itself) {
    for (int third = 1; third <= 9; third++) {
        Found found = prepare((SyntheticOptions){.bones = 4, .vertices = 400, .frames = 67, .faceless = 1});
        swing_chain(&found, 1);
        turn_body(&found, 2 + third / 3.0);
        test_case("turned by %g", 2 + third / 3.0);
        connect(&found);
        CHECK(found.status >= 0);
        CHECK_INT(found.skeleton.root, quietest_of_chain(&found));
        found_free(&found);
    }
}

TEST(a_given_plane_is_taken_and_a_lopsided_body_has_none) {
    SyntheticOptions options = {.shape = SHAPE_TUBE, .bones = 5, .vertices = 4000, .frames = 4};
    Found found = prepare(options);
    found.skeleton.symmetry = OSSIFY_SYMMETRY_FOUND;
    for (int64_t v = 0; v < found.made.poses.vertex_count; v++) { /* no straight line, no plane */
        for (int a = 0; a < 3; a++) {
            found.made.truth.rest[3 * v + a] +=
                (float)(0.3 * (a + 1) * sin(2.0 * (double)found.made.truth.rest[3 * v + (a + 1) % 3]));
        }
    }
    connect(&found);
    CHECK_INT(found.skeleton.symmetry, OSSIFY_SYMMETRY_NONE);
    for (int b = 0; b < 5; b++) {
        CHECK_INT(found.skeleton.mirrors[b], -1);
    }
    found.skeleton.symmetry = OSSIFY_SYMMETRY_GIVEN;
    found.skeleton.plane[1] = 1;
    found.skeleton.plane[3] = 0.25;
    connect(&found);
    CHECK_INT(found.skeleton.symmetry, OSSIFY_SYMMETRY_GIVEN);
    CHECK_NEAR(found.skeleton.plane[3], 0.25, 1e-12);
    found_free(&found);
}

/* A cat whose forelegs are its hind legs' mirror images, but whose head is not its tail's. */
TEST(a_plane_that_mirrors_little_pairs_nothing) {
    static const Limb cat[] = {
        {-1, {0, 0.3, 0}, {0, 0.3, 0}, 0.1},       {0, {0, 1, 0.2}, {0, 2, 0.5}, 0.5},
        {0, {0, -1, 0}, {0, -2.6, -0.2}, 0.5},     {0, {0.4, 1, -0.4}, {0.4, 1, -1}, 0.5},
        {0, {-0.4, 1, -0.4}, {-0.4, 1, -1}, 0.5},  {0, {0.4, -1, -0.4}, {0.4, -1, -1}, 0.5},
        {0, {-0.4, -1, -0.4}, {-0.4, -1, -1}, 0.5}};
    static const int sides[] = {0, 1, 2, 4, 3, 6, 5};
    Found found = body_by_hand(cat, 7);
    for (int across = 0; across < 2; across++) {
        found.skeleton.symmetry = OSSIFY_SYMMETRY_GIVEN;
        memcpy(found.skeleton.plane, (const double[4]){across, !across, 0, 0}, sizeof found.skeleton.plane);
        connect(&found);
        CHECK(found.status >= 0);
        CHECK_INT(found.skeleton.symmetry, OSSIFY_SYMMETRY_GIVEN);
        for (int b = 0; b < 7; b++) {
            test_case("bone %d, %s", b, across ? "from side to side" : "from end to end");
            CHECK_INT(found.skeleton.mirrors[b], across ? sides[b] : -1);
        }
        CHECK_SAYS(found.info.message, across ? "" : "skeleton.plane mirrors no bone");
    }
    CHECK_TEXT(found.info.message, "");
    found_free(&found);
}

/* Of a plane that mirrors most of a body, what it does not mirror has no pair. */
TEST(a_limb_that_lies_elsewhere_than_its_mirror_image_has_none) {
    static const Limb bird[] = {
        {-1, {0, 0, 0}, {0, 0, 0}, 0.5},          {0, {0.6, 0, 0}, {1.5, 0.4, 0}, 0.5},
        {0, {-0.6, 0, 0}, {-1.5, 0.4, 0}, 0.6},   {0, {0, 0.6, 0}, {0, 1.2, 0}, 0.9},
        {0, {0.3, -0.6, 0}, {0.3, -1.4, 0}, 0.9}, {0, {-0.3, -0.6, 0}, {-0.3, -1.2, 0.9}, 0.9}};
    static const int expected[] = {0, 2, 1, 3, -1, -1};
    Found found = body_by_hand(bird, 6);
    found.skeleton.symmetry = OSSIFY_SYMMETRY_GIVEN;
    found.skeleton.plane[0] = 1;
    connect(&found);
    CHECK(found.status >= 0);
    for (int b = 0; b < 6; b++) {
        CHECK_INT(found.skeleton.mirrors[b], expected[b]);
    }
    CHECK_TEXT(found.info.message, "");
    found_free(&found);
}

TEST(a_moved_and_scaled_body_has_the_moved_and_scaled_skeleton) {
    static const double SCALES[] = {1e-6, 1, 1e6};
    SyntheticOptions options = {.bones = 6, .vertices = 600, .frames = 16, .seed = 5};
    Found first = found_of(options);
    for (int s = 0; s < 3; s++) {
        Found found = prepare(options);
        ossify_rig *rig = &found.made.truth;
        const double scale = SCALES[s], way[3] = {10 * scale, -20 * scale, 5 * scale};
        for (int64_t i = 0; i < 3 * found.made.poses.vertex_count; i++) {
            rig->rest[i] = (float)(scale * (double)rig->rest[i] + way[i % 3]);
        }
        for (int64_t i = 0; i < 3 * found.made.poses.frame_count * rig->bone_capacity; i++) {
            double *row = rig->transforms + 4 * i;
            row[3] = scale * row[3] + way[i % 3] - row[0] * way[0] - row[1] * way[1] - row[2] * way[2];
        }
        connect(&found);
        CHECK(found.status >= 0);
        for (int b = 0; b < 6; b++) {
            CHECK_INT(found.skeleton.parents[b], first.skeleton.parents[b]);
            for (int a = 0; a < 3; a++) {
                CHECK_NEAR((found.skeleton.joints[3 * b + a] - way[a]) / scale,
                           first.skeleton.joints[3 * b + a], 2e-5);
            }
        }
        found_free(&found);
    }
    found_free(&first);
}

TEST(wishes_that_cannot_be_kept_are_refused_in_a_sentence) {
    static const struct {
        const char *says;
        int32_t demanded[6], forbidden[2];
        int demands, forbids;
    } BAD[] = {
        {"skeleton.demanded[0][1] is 9: it must be a bone, 0..3", {1, 9}, {0}, 1, 0},
        {"skeleton.forbidden[0][0] is -1: it must be a bone, 0..3", {0}, {-1, 2}, 0, 1},
        {"joins bone 2 to itself", {2, 2}, {0}, 1, 0},
        {"between bones 1 and 2 is demanded (0) and forbidden (0)", {1, 2}, {2, 1}, 1, 1},
        {"skeleton.demanded[2] (bones 3 and 1) closes a ring", {1, 2, 2, 3, 3, 1}, {0}, 3, 0},
    };
    Found found = prepare((SyntheticOptions){.bones = 4, .vertices = 200, .frames = 6});
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        ossify_skeleton before;
        found.skeleton.demanded = BAD[i].demanded;
        found.skeleton.forbidden = BAD[i].forbidden;
        found.skeleton.demanded_count = BAD[i].demands;
        found.skeleton.forbidden_count = BAD[i].forbids;
        before = skeleton_of(&found.skeleton);
        connect(&found);
        CHECK_INT(found.status, OSSIFY_BAD_ARGUMENT);
        CHECK_SAYS(found.info.message, BAD[i].says);
        CHECK(skeletons_are_equal(&before, &found.skeleton));
        skeleton_free(&before);
    }
    found_free(&found);
}

TEST(a_skeleton_with_bad_fields_is_refused) {
    Found found = prepare((SyntheticOptions){.bones = 4, .vertices = 200, .frames = 6});
    const ossify_skeleton good = found.skeleton;
#define REFUSED(says, change)                         \
    do {                                              \
        found.skeleton = good;                        \
        change;                                       \
        connect(&found);                              \
        CHECK_INT(found.status, OSSIFY_BAD_ARGUMENT); \
        CHECK_SAYS(found.info.message, says);         \
    } while (0)
    REFUSED("ossify_skeleton has size 3", found.skeleton.struct_size = 3);
    REFUSED("skeleton.bone_capacity is 3", found.skeleton.bone_capacity = 3);
    REFUSED("skeleton.root is 4", found.skeleton.root = 4);
    REFUSED("skeleton.forest is 2", found.skeleton.forest = 2);
    REFUSED("skeleton.symmetry is -1", found.skeleton.symmetry = -1);
    REFUSED("normal of length 0", found.skeleton.symmetry = OSSIFY_SYMMETRY_GIVEN);
    REFUSED("skeleton.plane[3] is nan", (found.skeleton.symmetry = OSSIFY_SYMMETRY_GIVEN,
                                         found.skeleton.plane[0] = 1, found.skeleton.plane[3] = NAN));
    REFUSED("skeleton.demanded_count is -1", found.skeleton.demanded_count = -1);
    REFUSED("skeleton.forbidden is NULL",
            (found.skeleton.forbidden_count = 1, found.skeleton.forbidden = NULL));
    REFUSED("skeleton.parents is NULL", found.skeleton.parents = NULL);
    REFUSED("skeleton.joints is NULL", found.skeleton.joints = NULL);
#undef REFUSED
    found.skeleton = good;
    CHECK_INT(ossify_connect(&found.made.poses, &found.settings, &found.made.truth, NULL, &found.info),
              OSSIFY_BAD_ARGUMENT);
    found_free(&found);
}

TEST(degenerate_bodies_are_connected) {
    static const int VERTICES[] = {200, 200, 200};
    for (int kind = 0; kind < 3; kind++) {
        Found found = prepare((SyntheticOptions){.bones = 4, .vertices = VERTICES[kind], .frames = 3});
        ossify_rig *rig = &found.made.truth;
        found.skeleton.root = -1;
        found.skeleton.symmetry = OSSIFY_SYMMETRY_FOUND;
        for (int64_t v = 0; v < found.made.poses.vertex_count; v++) {
            if (kind == 0) { /* all in one place */
                memcpy(rig->rest + 3 * v, rig->rest, 3 * sizeof(float));
            }
            if (kind == 1) { /* one bone has everything */
                for (int64_t k = 0; k < rig->influences; k++) {
                    rig->influence_bones[v * rig->influences + k] = k == 0 ? 1 : -1;
                    rig->influence_weights[v * rig->influences + k] = k == 0;
                }
            }
        }
        if (kind == 2) { /* nothing moves */
            for (int64_t i = 0; i < 12 * found.made.poses.frame_count * rig->bone_capacity; i++) {
                rig->transforms[i] = i % 12 % 5 == 0;
            }
        }
        test_case("kind %d", kind);
        connect(&found);
        CHECK(found.status >= 0);
        check_tree(&found);
        for (int i = 0; i < 12; i++) {
            CHECK(isfinite(found.skeleton.joints[i]));
        }
        found_free(&found);
    }
}

TEST(symmetric_matrices_are_solved_and_taken_apart) {
    const double a[9] = {4, 1, -2, 1, 3, 0.5, -2, 0.5, 5}, y[3] = {1, -2, 3};
    double x[3], value[3], vector[9];
    symmetric3_solve(a, 0.25, y, x);
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(a[3 * i] * x[0] + a[3 * i + 1] * x[1] + a[3 * i + 2] * x[2] + 0.25 * x[i], y[i], 1e-12);
    }
    symmetric3_eigen(a, value, vector);
    CHECK(value[0] <= value[1] && value[1] <= value[2]);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++) {
            const double *v = vector + 3 * k;
            CHECK_NEAR(a[3 * i] * v[0] + a[3 * i + 1] * v[1] + a[3 * i + 2] * v[2], value[k] * v[i], 1e-12);
        }
    }
}

/* test_articulate.c - bones that hang together: known skeletons come back, joints hold, nothing better is
 * near, and what is held stays. Replay and chain are this file's own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "probe.h"
#include "synthetic.h"
#include "test.h"

/* A made-up body, a rig to start from and its skeleton. */
typedef struct Case {
    Synthetic made;
    ossify_settings settings;
    Answer answer;
    ossify_skeleton skeleton;
} Case;

/* Joints start `off` away from the truth. */
static Case case_of(SyntheticOptions options, double off) {
    Case c;
    options.jointed = 1;
    c.made = synthetic_make(options);
    c.settings = plain_settings(c.made.truth.bones);
    c.settings.influences = c.made.truth.influences;
    c.answer = answer_of(&c.made.poses, &c.made.truth);
    c.skeleton = skeleton_of(&c.made.skeleton);
    for (int b = 0; b < c.made.truth.bones; b++) {
        for (int i = 0; i < 3 && c.skeleton.parents[b] >= 0; i++) {
            c.skeleton.joints[3 * b + i] += off * sin(5 * b + 2 * i);
        }
    }
    return c;
}

static void case_free(Case *c) {
    skeleton_free(&c->skeleton);
    answer_free(&c->answer);
    synthetic_free(&c->made);
}

static int64_t run(Case *c) {
    return ossify_articulate(&c->made.poses, &c->settings, &c->answer.rig, &c->skeleton, &c->answer.info);
}

static double *transform_of(const ossify_rig *rig, int64_t f, int64_t b) {
    return rig->transforms + 12 * (f * rig->bone_capacity + b);
}

static void apply(const double *m, const double x[3], double y[3]) {
    for (int i = 0; i < 3; i++) {
        y[i] = m[4 * i] * x[0] + m[4 * i + 1] * x[1] + m[4 * i + 2] * x[2] + m[4 * i + 3];
    }
}

static double apart(const double a[3], const double b[3]) {
    return sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
}

/* The largest distance between what the two bones of a joint make of it, over frames and joints. */
static double largest_gap(const Case *c) {
    const ossify_rig *rig = &c->answer.rig;
    double most = 0;
    for (int64_t f = 0; f < c->made.poses.frame_count; f++) {
        for (int64_t b = 0; b < rig->bones; b++) {
            double own[3], above[3];
            if (c->skeleton.parents[b] < 0) {
                continue;
            }
            apply(transform_of(rig, f, b), c->skeleton.joints + 3 * b, own);
            apply(transform_of(rig, f, c->skeleton.parents[b]), c->skeleton.joints + 3 * b, above);
            most = fmax(most, apart(own, above));
        }
    }
    return most;
}

static double joint_error(const Case *c, int64_t b) {
    return apart(c->skeleton.joints + 3 * b, c->made.skeleton.joints + 3 * b);
}

/* From the line through the true joint along the true axis. */
static double axis_error(const Case *c, int64_t b) {
    const double *x = c->skeleton.joints + 3 * b, *o = c->made.skeleton.joints + 3 * b,
                 *n = c->made.skeleton.axes + 3 * b;
    double along = 0, foot[3];
    for (int i = 0; i < 3; i++) {
        along += (x[i] - o[i]) * n[i];
    }
    for (int i = 0; i < 3; i++) {
        foot[i] = o[i] + along * n[i];
    }
    return apart(x, foot);
}

static void check_answer(const Case *c) {
    check_rig(&c->made.poses, &c->answer.rig, 1);
    CHECK(largest_gap(c) < 1e-9);
    CHECK_INT(c->answer.info.bones, c->made.truth.bones);
}

TEST(a_chain_of_balls_comes_back) {
    SyntheticOptions options = {.shape = SHAPE_TUBE, .bones = 4, .frames = 16};
    Case c = case_of(options, 0.03);
    c.settings.quality = OSSIFY_BEST;
    CHECK(run(&c) >= 0);
    check_answer(&c);
    CHECK_NEAR(c.answer.info.erms, 0, 0.02);
    for (int b = 1; b < 4; b++) {
        test_case("joint %d", b);
        CHECK(joint_error(&c, b) < 1e-3);
        CHECK_INT(c.skeleton.joint_kinds[b], OSSIFY_JOINT_BALL);
        CHECK(c.skeleton.angles[b] > 0.1);
        CHECK_NEAR(c.skeleton.drifts[b], 0, 1e-12);
    }
    case_free(&c);
}

TEST(a_tree_of_balls_comes_back) {
    SyntheticOptions options = {.vertices = 900, .bones = 9, .frames = 24, .seed = 3};
    Case c = case_of(options, 0.03);
    CHECK(run(&c) >= 0);
    check_answer(&c);
    CHECK(c.answer.info.erms < 0.05);
    for (int b = 1; b < 9; b++) {
        test_case("joint %d", b);
        CHECK(joint_error(&c, b) < 2e-3);
    }
    case_free(&c);
}

TEST(hinges_come_back_as_axes) {
    SyntheticOptions options = {.shape = SHAPE_TUBE, .bones = 4, .frames = 24, .hinges = 1, .seed = 5};
    Case c = case_of(options, 0.02);
    CHECK(run(&c) >= 0);
    check_answer(&c);
    CHECK(c.answer.info.erms < 0.05);
    for (int b = 1; b < 4; b++) {
        const double *found = c.skeleton.axes + 3 * b, *axis = c.made.skeleton.axes + 3 * b;
        test_case("joint %d", b);
        CHECK(axis_error(&c, b) < 1e-3);
        CHECK(joint_error(&c, b) < 0.08); /* along the axis it stays where it was */
        CHECK_INT(c.skeleton.joint_kinds[b], OSSIFY_JOINT_HINGE);
        CHECK_NEAR(fabs(found[0] * axis[0] + found[1] * axis[1] + found[2] * axis[2]), 1, 1e-3);
    }
    case_free(&c);
}

/* From the middle of the vertices that a bone and its parent share, along the true axis. */
static double boundary_error(const Case *c, int64_t b) {
    const ossify_rig *truth = &c->made.truth;
    double sum = 0, middle[3] = {0}, along = 0;
    for (int64_t v = 0; v < c->made.poses.vertex_count; v++) {
        double own = 0, above = 0;
        for (int64_t k = v * truth->influences; k < (v + 1) * truth->influences; k++) {
            own += truth->influence_bones[k] == b ? (double)truth->influence_weights[k] : 0;
            above += truth->influence_bones[k] == c->made.skeleton.parents[b]
                         ? (double)truth->influence_weights[k]
                         : 0;
        }
        sum += fmin(own, above);
        for (int i = 0; i < 3; i++) {
            middle[i] += fmin(own, above) * (double)c->made.rest[3 * v + i];
        }
    }
    for (int i = 0; i < 3; i++) {
        along += (c->skeleton.joints[3 * b + i] - middle[i] / sum) * c->made.skeleton.axes[3 * b + i];
    }
    return along;
}

/* With noise the motion seems to say where on its axis a hinge is, and does not: it goes where its bones meet. */
TEST(a_joint_on_a_pure_hinge_goes_to_where_its_bones_meet) {
    SyntheticOptions options = {
        .shape = SHAPE_TUBE, .bones = 4, .frames = 24, .hinges = 1, .noise = 0.004, .seed = 5};
    Case c = case_of(options, 0);
    double before[4];
    for (int b = 1; b < 4; b++) {
        const double side = boundary_error(&c, b) > 0 ? 0.08 : -0.08;
        for (int i = 0; i < 3; i++) {
            c.skeleton.joints[3 * b + i] += side * c.skeleton.axes[3 * b + i];
        }
        before[b] = fabs(boundary_error(&c, b));
    }
    CHECK(run(&c) >= 0);
    check_answer(&c);
    for (int b = 1; b < 4; b++) {
        test_case("joint %d was off by %g, is by %g", b, before[b], boundary_error(&c, b));
        CHECK(fabs(boundary_error(&c, b)) < 0.25 * before[b]);
        CHECK(axis_error(&c, b) < 0.01);
    }
    case_free(&c);
}

/* The root mean square distance of what a bone moves from its middle, by squared weights. */
static double part_radius(const Case *c, int64_t b) {
    const ossify_rig *rig = &c->made.truth;
    double sum = 0, middle[3] = {0}, square = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < c->made.poses.vertex_count * rig->influences; i++) {
            const float *p = c->made.rest + 3 * (i / rig->influences);
            const double w = (double)rig->influence_weights[i] * (double)rig->influence_weights[i];
            for (int a = 0; a < 3 && rig->influence_bones[i] == b; a++) {
                sum += pass == 0 ? w / 3 : 0;
                middle[a] += pass == 0 ? w * (double)p[a] : 0;
                square += pass == 1 ? w * pow((double)p[a] - middle[a] / sum, 2) : 0;
            }
        }
    }
    return sqrt(square / sum);
}

TEST(a_joint_goes_no_further_than_its_part_is_large) {
    SyntheticOptions options = {.shape = SHAPE_TUBE, .vertices = 2000, .bones = 40, .frames = 16};
    Case c = case_of(options, 0.1);
    ossify_skeleton before = skeleton_of(&c.skeleton);
    c.settings.rest_mode = OSSIFY_REST_FIXED;
    CHECK(run(&c) >= 0);
    check_answer(&c);
    for (int b = 1; b < 40; b++) {
        const double smaller = fmin(part_radius(&c, b), part_radius(&c, c.skeleton.parents[b]));
        const double moved = apart(c.skeleton.joints + 3 * b, before.joints + 3 * b);
        test_case("joint %d of a part of %g went %g", b, smaller, moved);
        CHECK(moved <= 1.1 * smaller); /* weights, and so parts, have changed a little, too */
    }
    skeleton_free(&before);
    case_free(&c);
}

/* From a point to the nearest vertex of the rest. */
static double clearance(const Case *c, const double x[3]) {
    double least = INFINITY;
    for (int64_t v = 0; v < c->made.poses.vertex_count; v++) {
        const float *p = c->made.rest + 3 * v;
        least = fmin(least, apart(x, (const double[3]){(double)p[0], (double)p[1], (double)p[2]}));
    }
    return least;
}

/* Where the motion wants joints is further from where they begin than the surface. */
TEST(a_joint_stays_inside_of_the_body) {
    SyntheticOptions options = {.shape = SHAPE_TUBE, .vertices = 6000, .bones = 6, .frames = 16};
    Case c = case_of(options, 0.08);
    ossify_skeleton before = skeleton_of(&c.skeleton);
    c.settings.rest_mode = OSSIFY_REST_FIXED;
    int wanted = 0;
    CHECK(run(&c) >= 0);
    check_answer(&c);
    for (int b = 1; b < 6; b++) {
        const double *from = before.joints + 3 * b, room = fmax(clearance(&c, from), 0.005 * 3);
        test_case("joint %d, %g from the surface", b, room);
        wanted += apart(from, c.made.skeleton.joints + 3 * b) > 1.1 * room;
        CHECK(apart(from, c.skeleton.joints + 3 * b) <= 1.001 * room);
    }
    CHECK(wanted > 0);
    skeleton_free(&before);
    case_free(&c);
}

TEST(a_stiff_joint_stays_where_it_was) {
    SyntheticOptions options = {.shape = SHAPE_TUBE, .bones = 4, .frames = 16, .stiff = 2};
    Case c = case_of(options, 0);
    CHECK(run(&c) >= 0);
    check_answer(&c);
    CHECK_INT(c.skeleton.joint_kinds[2], OSSIFY_JOINT_STIFF);
    CHECK(joint_error(&c, 2) < 0.02);
    CHECK(joint_error(&c, 1) < 2e-3);
    case_free(&c);
}

TEST(noise_costs_hardly_more_than_with_free_bones) {
    SyntheticOptions options = {.vertices = 800, .bones = 6, .frames = 20, .noise = 0.004, .seed = 2};
    Case c = case_of(options, 0.01);
    Answer free_rig = answer_of(&c.made.poses, &c.made.truth);
    CHECK(ossify_decompose(&c.made.poses, &c.settings, &free_rig.rig, &free_rig.info) >= 0);
    CHECK(run(&c) >= 0);
    check_answer(&c);
    CHECK(c.answer.info.erms < 1.02 * free_rig.info.erms);
    for (int b = 1; b < 6; b++) {
        test_case("joint %d", b);
        CHECK(joint_error(&c, b) < 0.02);
    }
    answer_free(&free_rig);
    case_free(&c);
}

/* From bones that were never jointed: solved free, connected, then refitted. */
TEST(a_body_is_found_connected_and_articulated) {
    SyntheticOptions options = {.shape = SHAPE_TUBE, .bones = 4, .frames = 20, .noise = 0.001};
    Case c = case_of(options, 0);
    c.answer.rig.given = OSSIFY_GIVEN_NOTHING;
    CHECK(ossify_decompose(&c.made.poses, &c.settings, &c.answer.rig, &c.answer.info) >= 0);
    double free_error = c.answer.info.erms;
    CHECK(ossify_connect(&c.made.poses, &c.settings, &c.answer.rig, &c.skeleton, &c.answer.info) >= 0);
    c.answer.rig.given = OSSIFY_GIVEN_TRANSFORMS | OSSIFY_GIVEN_WEIGHTS;
    CHECK(run(&c) >= 0);
    check_answer(&c);
    CHECK(c.answer.info.erms < 1.4 * free_error);
    case_free(&c);
}

TEST(joints_hold_far_from_the_origin) {
    SyntheticOptions options = {.vertices = 300, .bones = 4, .frames = 8, .noise = 0.01};
    Case c = case_of(options, 0.02);
    const double far[3] = {3000, -2000, 1000};
    int64_t v = c.made.poses.vertex_count, f = c.made.poses.frame_count;
    for (int64_t i = 0; i < 3 * v; i++) {
        c.made.rest[i] += (float)far[i % 3];
        c.answer.rig.rest[i] += (float)far[i % 3];
    }
    for (int64_t i = 0; i < 3 * v * f; i++) {
        c.made.frames[i] += (float)far[i % 3];
    }
    for (int b = 0; b < 4; b++) {
        for (int i = 0; i < 3; i++) {
            c.skeleton.joints[3 * b + i] += far[i];
        }
        for (int64_t g = 0; g < f; g++) {
            double *m = transform_of(&c.answer.rig, g, b);
            for (int i = 0; i < 3; i++) {
                m[4 * i + 3] += far[i] - m[4 * i] * far[0] - m[4 * i + 1] * far[1] - m[4 * i + 2] * far[2];
            }
        }
    }
    CHECK(run(&c) >= 0);
    check_rig(&c.made.poses, &c.answer.rig, 1);
    CHECK(largest_gap(&c) < 1e-8);
    case_free(&c);
}

/* ---- nothing better is near */

/* A copy of the answer's rig with one bone of one frame turned by w, its descendants carried along. */
static double error_turned(const Case *c, int64_t frame, int64_t bone, const double w[3]) {
    ossify_rig rig = c->answer.rig;
    size_t size = 12 * (size_t)rig.bone_capacity;
    double *m = malloc(size * sizeof *m), sum = 0;
    memcpy(m, transform_of(&rig, frame, 0), size * sizeof *m);
    const double *joint = c->skeleton.joints + 3 * bone;
    double pivot[3];
    apply(m + 12 * bone, joint, pivot);
    double angle = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    for (int64_t b = 0; b < rig.bones; b++) {
        int64_t up = b;
        int below = 0;
        while (up >= 0 && !below) {
            below = up == bone;
            up = c->skeleton.parents[up];
        }
        if (!below) {
            continue;
        }
        /* all below turn with it about its joint: of turns that keep joints as good as any */
        for (int j = 0; j < 4 && angle > 0; j++) {
            double x[3], axis[3] = {w[0] / angle, w[1] / angle, w[2] / angle}, along = 0;
            for (int i = 0; i < 3; i++) {
                x[i] = m[12 * b + 4 * i + j] - (j == 3 ? pivot[i] : 0);
                along += x[i] * axis[i];
            }
            double side[3] = {axis[1] * x[2] - axis[2] * x[1], axis[2] * x[0] - axis[0] * x[2],
                              axis[0] * x[1] - axis[1] * x[0]};
            for (int i = 0; i < 3; i++) {
                m[12 * b + 4 * i + j] = x[i] * cos(angle) + side[i] * sin(angle) +
                                        axis[i] * along * (1 - cos(angle)) + (j == 3 ? pivot[i] : 0);
            }
        }
    }
    for (int64_t v = 0; v < c->made.poses.vertex_count; v++) {
        double p[3], y[3], all[3] = {0};
        for (int i = 0; i < 3; i++) {
            p[i] = rig.rest[3 * v + i];
        }
        for (int64_t k = 0; k < rig.influences; k++) {
            int32_t b = rig.influence_bones[v * rig.influences + k];
            if (b < 0) {
                continue;
            }
            apply(m + 12 * b, p, y);
            for (int i = 0; i < 3; i++) {
                all[i] += (double)rig.influence_weights[v * rig.influences + k] * y[i];
            }
        }
        for (int i = 0; i < 3; i++) {
            sum += pow(all[i] - c->made.frames[3 * (frame * c->made.poses.vertex_count + v) + i], 2);
        }
    }
    free(m);
    return sum;
}

/* Newton's decrement by differences: what the best step along an axis would gain, as a share of the error. */
static double gain_of_a_turn(const Case *c, int64_t frame, int64_t bone, int axis) {
    const double h = 1e-3, none[3] = {0};
    double more[3] = {0}, less[3] = {0};
    more[axis] = h;
    less[axis] = -h;
    double up = error_turned(c, frame, bone, more), down = error_turned(c, frame, bone, less),
           here = error_turned(c, frame, bone, none);
    double slope = (up - down) / (2 * h), bend = (up + down - 2 * here) / (h * h);
    return bend > 0 ? 0.5 * slope * slope / bend / here : 1;
}

TEST(no_turn_of_any_bone_lowers_the_error) {
    SyntheticOptions options = {.vertices = 300, .bones = 5, .frames = 6, .noise = 0.02};
    Case c = case_of(options, 0.02);
    CHECK(run(&c) >= 0);
    for (int64_t f = 0; f < 6; f++) {
        for (int64_t b = 0; b < 5; b++) {
            for (int axis = 0; axis < 3; axis++) {
                test_case("frame %d, bone %d, axis %d", (int)f, (int)b, axis);
                CHECK(gain_of_a_turn(&c, f, b, axis) < 1e-7);
            }
        }
    }
    case_free(&c);
}

/* Error over all frames with one joint moved, turns and the root's way as they are. */
static double error_with_joint_at(const Case *c, int64_t bone, const double at[3]) {
    const ossify_rig *rig = &c->answer.rig;
    const int32_t *parents = c->skeleton.parents;
    double sum = 0;
    for (int64_t f = 0; f < c->made.poses.frame_count; f++) {
        double own[3], above[3], old_own[3], old_above[3];
        const double *m = transform_of(rig, f, bone), *p = transform_of(rig, f, parents[bone]);
        apply(m, at, own);
        apply(p, at, above);
        apply(m, c->skeleton.joints + 3 * bone, old_own);
        apply(p, c->skeleton.joints + 3 * bone, old_above);
        for (int64_t v = 0; v < c->made.poses.vertex_count; v++) {
            double x[3], y[3], all[3] = {0}, carried = 0;
            for (int i = 0; i < 3; i++) {
                x[i] = rig->rest[3 * v + i];
            }
            for (int64_t k = 0; k < rig->influences; k++) {
                int32_t b = rig->influence_bones[v * rig->influences + k];
                double w = rig->influence_weights[v * rig->influences + k];
                if (b < 0) {
                    continue;
                }
                apply(transform_of(rig, f, b), x, y);
                for (int64_t up = b; up >= 0; up = parents[up]) {
                    carried += up == bone ? w : 0;
                }
                for (int i = 0; i < 3; i++) {
                    all[i] += w * y[i];
                }
            }
            for (int i = 0; i < 3; i++) {
                double moved = all[i] + carried * (above[i] - own[i] - old_above[i] + old_own[i]);
                sum += pow(moved - c->made.frames[3 * (f * c->made.poses.vertex_count + v) + i], 2);
            }
        }
    }
    return sum;
}

TEST(no_step_of_any_joint_lowers_the_error) {
    SyntheticOptions options = {.vertices = 300, .bones = 5, .frames = 16, .noise = 0.005};
    Case c = case_of(options, 0.01);
    uint8_t held[400];
    memset(held, 1, sizeof held);
    CHECK(c.made.poses.vertex_count <= 400);
    c.answer.rig.held_vertices = held; /* so that joints are of these very weights */
    c.settings.rest_mode = OSSIFY_REST_FIXED;
    c.settings.iterations = 60;
    CHECK(run(&c) >= 0);
    for (int64_t b = 1; b < 5; b++) {
        for (int axis = 0; axis < 3; axis++) {
            const double h = 1e-3, *here = c.skeleton.joints + 3 * b;
            double more[3], less[3];
            memcpy(more, here, sizeof more);
            memcpy(less, here, sizeof less);
            more[axis] += h;
            less[axis] -= h;
            double middle = error_with_joint_at(&c, b, here);
            double up = error_with_joint_at(&c, b, more), down = error_with_joint_at(&c, b, less);
            double slope = (up - down) / (2 * h), bend = (up + down - 2 * middle) / (h * h);
            test_case("joint %d, axis %d", (int)b, axis);
            CHECK(bend > 0);
            CHECK(0.5 * slope * slope / bend < 1e-4 * middle);
        }
    }
    case_free(&c);
}

/* ---- what is asked for */

TEST(the_articulated_answer_is_the_same_on_any_number_of_threads) {
    SyntheticOptions options = {.vertices = 700, .bones = 7, .frames = 19, .noise = 0.01, .seed = 8};
    Case one = case_of(options, 0.02);
    CHECK(run(&one) >= 0);
    for (int threads = 2; threads <= 3; threads++) {
        Case more = case_of(options, 0.02);
        test_case("%d threads", threads);
        more.settings.threads = threads;
        CHECK(run(&more) >= 0);
        CHECK(rigs_are_equal(&one.made.poses, &one.answer.rig, &more.answer.rig));
        CHECK(skeletons_are_equal(&one.skeleton, &more.skeleton));
        CHECK(one.answer.info.erms == more.answer.info.erms);
        case_free(&more);
    }
    case_free(&one);
}

TEST(held_weights_and_a_fixed_rest_stay_to_the_bit) {
    SyntheticOptions options = {.vertices = 300, .bones = 4, .frames = 8, .noise = 0.02};
    Case c = case_of(options, 0.02);
    uint8_t held[400] = {0};
    size_t wide = (size_t)c.answer.rig.influences;
    int changed = 0;
    for (int v = 0; v < 400; v += 2) {
        held[v] = 1;
    }
    c.answer.rig.held_vertices = held;
    c.settings.rest_mode = OSSIFY_REST_FIXED;
    CHECK(run(&c) >= 0);
    for (size_t v = 0; v < (size_t)c.made.poses.vertex_count; v++) {
        int same = memcmp(c.answer.rig.influence_weights + v * wide,
                          c.made.truth.influence_weights + v * wide, wide * sizeof(float)) == 0;
        CHECK(!held[v] || same);
        changed += !same;
    }
    CHECK(changed > 0);
    CHECK(memcmp(c.answer.rig.rest, c.made.truth.rest,
                 3 * (size_t)c.made.poses.vertex_count * sizeof(float)) == 0);
    CHECK(largest_gap(&c) < 1e-9);
    case_free(&c);
}

/* With weights and rest held, too, only poses are left: a clip on an old skeleton. */
TEST(held_joints_stay_to_the_bit) {
    for (int way = 0; way < 4; way++) {
        SyntheticOptions options = {.vertices = 300, .bones = 4, .frames = 8, .noise = way / 2 ? 0.01 : 0};
        Case c = case_of(options, 0.02);
        uint8_t held[400], joints[4] = {1, 1, 0, 1};
        double before[12];
        memset(held, 1, sizeof held);
        joints[2] = way % 2 == 0;
        for (int i = 0; i < 12 && way / 2; i++) { /* not where the motion would have them */
            c.skeleton.joints[i] += 0.01 * sin(i);
        }
        memcpy(before, c.skeleton.joints, sizeof before);
        c.skeleton.held_joints = joints;
        c.answer.rig.held_vertices = held;
        c.settings.rest_mode = OSSIFY_REST_FIXED;
        test_case("way %d", way);
        CHECK(run(&c) >= 0);
        for (int b = 0; b < 4; b++) {
            CHECK(memcmp(c.skeleton.joints + 3 * b, before + 3 * b, 3 * sizeof(double)) == 0 || !joints[b]);
        }
        if (way == 3) {
            CHECK(memcmp(c.skeleton.joints + 6, before + 6, 3 * sizeof(double)) != 0);
        }
        CHECK(largest_gap(&c) < 1e-9);
        if (way == 0) { /* the true joints were given, off by what case_of shook them */
            CHECK(c.answer.info.rms_percent < 1);
        }
        case_free(&c);
    }
}

/* The stiffer a joint the less it drifts, and the more it costs; very stiff is as good as held. */
TEST(soft_joints_go_from_free_to_holding) {
    const double stiffness[4] = {1e-4, 0.1, 10, 1e5};
    double drift[4], erms[4], held;
    SyntheticOptions options = {.vertices = 300, .bones = 4, .frames = 10, .noise = 0.03};
    for (int way = 0; way < 5; way++) {
        Case c = case_of(options, 0.08);
        const double soft[4] = {0, 0, 0, stiffness[way % 4]};
        double joint[3];
        memcpy(joint, c.skeleton.joints + 9, sizeof joint);
        c.settings.rest_mode = OSSIFY_REST_FIXED;
        c.skeleton.stiffness = way < 4 ? soft : NULL;
        uint8_t joints[4] = {0, 0, 0, 1};
        c.skeleton.held_joints = joints;
        test_case("way %d", way);
        CHECK(run(&c) >= 0);
        check_rig(&c.made.poses, &c.answer.rig, 1);
        CHECK(apart(joint, c.skeleton.joints + 9) == 0);
        if (way < 4) {
            double square = 0, diagonal = 0;
            for (int64_t f = 0; f < c.made.poses.frame_count; f++) {
                double own[3], above[3];
                apply(transform_of(&c.answer.rig, f, 3), joint, own);
                apply(transform_of(&c.answer.rig, f, c.skeleton.parents[3]), joint, above);
                square += pow(apart(own, above), 2) / (double)c.made.poses.frame_count;
            }
            for (int i = 0; i < 3; i++) {
                double low = INFINITY, high = -INFINITY;
                for (int64_t v = 0; v < c.made.poses.vertex_count; v++) {
                    low = fmin(low, (double)c.made.rest[3 * v + i]);
                    high = fmax(high, (double)c.made.rest[3 * v + i]);
                }
                diagonal += (high - low) * (high - low);
            }
            drift[way] = c.skeleton.drifts[3];
            erms[way] = c.answer.info.erms;
            CHECK_NEAR(drift[way], 100 * sqrt(square / diagonal), 1e-6);
            c.skeleton.parents[3] = -1; /* the others hold */
            CHECK(largest_gap(&c) < 1e-9);
        } else {
            held = c.answer.info.erms;
            CHECK(largest_gap(&c) < 1e-9);
        }
        case_free(&c);
    }
    for (int way = 0; way < 3; way++) {
        CHECK(drift[way] > drift[way + 1]);
        CHECK(erms[way] < 1.02 * erms[way + 1]);
    }
    CHECK(drift[0] > 0.3 && drift[3] < 1e-3);
    CHECK(erms[0] < 0.99 * held && erms[3] < 1.05 * held && erms[3] > 0.95 * held);
}

TEST(a_stiffness_that_is_none_is_refused) {
    SyntheticOptions options = {.vertices = 100, .bones = 3, .frames = 4};
    for (int way = 0; way < 3; way++) {
        Case c = case_of(options, 0);
        const double soft[3] = {0, 0, way == 0 ? -1 : way == 1 ? NAN : 2e6};
        c.skeleton.stiffness = soft;
        CHECK_INT(run(&c), OSSIFY_BAD_ARGUMENT);
        CHECK_SAYS(c.answer.info.message, "skeleton.stiffness[2] is ");
        case_free(&c);
    }
}

TEST(mirrored_bones_keep_mirrored_joints) {
    SyntheticOptions options = {.vertices = 500, .bones = 3, .frames = 12, .noise = 0.01};
    Case c = case_of(options, 0.02);
    const double plane[4] = {0.6, 0.8, 0, 0.1};
    memcpy(c.skeleton.plane, plane, sizeof plane);
    c.skeleton.symmetry = OSSIFY_SYMMETRY_GIVEN;
    c.skeleton.parents[0] = -1;
    c.skeleton.parents[1] = c.skeleton.parents[2] = 0;
    c.skeleton.mirrors[0] = 0;
    c.skeleton.mirrors[1] = 2;
    c.skeleton.mirrors[2] = 1;
    double before[3];
    memcpy(before, c.skeleton.joints + 3, sizeof before);
    CHECK(run(&c) >= 0);
    CHECK(largest_gap(&c) < 1e-9);
    for (int b = 0; b < 3; b++) {
        const double *x = c.skeleton.joints + 3 * b, *other = c.skeleton.joints + 3 * c.skeleton.mirrors[b];
        double beyond = 2 * (plane[0] * x[0] + plane[1] * x[1] + plane[2] * x[2] - plane[3]);
        for (int i = 0; i < 3; i++) {
            CHECK_NEAR(other[i], x[i] - beyond * plane[i], 1e-12);
        }
    }
    CHECK(apart(before, c.skeleton.joints + 3) > 1e-3);
    case_free(&c);
}

TEST(every_tree_of_a_forest_has_a_root_that_moves) {
    SyntheticOptions options = {.vertices = 400, .bones = 4, .frames = 10, .shells = 2, .shape = SHAPE_BLOBS};
    Case c = case_of(options, 0);
    int cut = -1;
    for (int b = 1; b < 4; b++) {
        if (b % 2 != c.skeleton.parents[b] % 2) { /* bones go to shells in turn */
            cut = b;
        }
    }
    CHECK(cut > 0);
    c.skeleton.parents[cut] = -1;
    c.skeleton.joint_kinds[cut] = OSSIFY_JOINT_ROOT;
    for (int64_t f = 0; f < 10; f++) { /* the one shell leaves the other */
        for (int64_t v = 0; v < c.made.poses.vertex_count; v++) {
            if (c.made.truth.influence_bones[v * c.made.truth.influences] % 2 == cut % 2) {
                c.made.frames[3 * (f * c.made.poses.vertex_count + v)] += 0.1f * (float)f;
            }
        }
    }
    CHECK(run(&c) >= 0);
    CHECK(largest_gap(&c) < 1e-9);
    CHECK(c.answer.info.erms < 0.1);
    CHECK_INT(c.skeleton.parents[cut], -1);
    case_free(&c);
}

/* ---- bones that change their length */

TEST(a_sliding_chain_comes_back_with_stretch_alone) {
    SyntheticOptions options = {.shape = SHAPE_TUBE, .bones = 4, .frames = 16, .stretch = 1};
    Case without = case_of(options, 0), with = case_of(options, 0);
    with.skeleton.stretch = 1;
    CHECK(run(&without) >= 0);
    CHECK(run(&with) >= 0);
    CHECK(largest_gap(&without) < 1e-9);
    CHECK(largest_gap(&with) > 0.01);
    CHECK(without.answer.info.erms > 5);
    CHECK(with.answer.info.erms < 0.05 * without.answer.info.erms);
    for (int b = 1; b < 4; b++) {
        test_case("joint %d", b);
        CHECK(with.skeleton.drifts[b] > 0.5);
        CHECK_NEAR(without.skeleton.drifts[b], 0, 1e-12);
    }
    /* what slides does so along the line between the joints, as the parent turns */
    for (int64_t f = 0; f < 16; f++) {
        for (int b = 1; b < 4; b++) {
            const double *x = with.skeleton.joints + 3 * b;
            const int p = with.skeleton.parents[b];
            const double *o = with.skeleton.joints + 3 * p;
            double own[3], above[3], start[3], along = 0, slid = 0, length = 0;
            apply(transform_of(&with.answer.rig, f, b), x, own);
            apply(transform_of(&with.answer.rig, f, p), x, above);
            apply(transform_of(&with.answer.rig, f, p), o, start);
            for (int i = 0; i < 3; i++) {
                along += (own[i] - above[i]) * (above[i] - start[i]);
                slid += pow(own[i] - above[i], 2);
                length += pow(above[i] - start[i], 2);
            }
            CHECK_NEAR(along * along, slid * length, 1e-9);
        }
    }
    case_free(&without);
    case_free(&with);
}

/* ---- what nobody means, and what is refused */

TEST(degenerate_bodies_are_articulated) {
    const SyntheticOptions bodies[] = {{.vertices = 40, .bones = 1, .frames = 3},
                                       {.vertices = 40, .bones = 3, .frames = 1},
                                       {.vertices = 40, .bones = 3, .frames = 5, .motion = 1e-12},
                                       {.vertices = 4, .bones = 4, .frames = 4},
                                       {.vertices = 6, .bones = 6, .frames = 3, .faceless = 1}};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        for (int stretch = 0; stretch < 2; stretch++) {
            Case c = case_of(bodies[i], 0.01);
            test_case("body %d, stretch %d", (int)i, stretch);
            c.skeleton.stretch = stretch;
            CHECK(run(&c) >= 0);
            check_rig(&c.made.poses, &c.answer.rig, 1);
            CHECK(isfinite(c.answer.info.erms));
            CHECK(stretch || largest_gap(&c) < 1e-9);
            case_free(&c);
        }
    }
}

TEST(an_idle_bone_hangs_on) {
    SyntheticOptions options = {.vertices = 100, .bones = 3, .frames = 6};
    Case c = case_of(options, 0);
    int64_t all = c.made.poses.vertex_count * c.answer.rig.influences;
    int leaf = c.skeleton.parents[2] == 1 ? 2 : c.skeleton.parents[1] == 2 ? 1 : 2;
    for (int64_t i = 0; i < all; i++) { /* every vertex on one bone, none on the leaf */
        c.answer.rig.influence_bones[i] = i % c.answer.rig.influences ? -1
                                          : c.answer.rig.influence_bones[i] == leaf
                                              ? c.skeleton.parents[leaf]
                                              : c.answer.rig.influence_bones[i];
    }
    for (int64_t i = 0; i < all; i++) {
        c.answer.rig.influence_weights[i] = i % c.answer.rig.influences ? 0 : 1;
    }
    CHECK(run(&c) >= 0);
    check_answer(&c);
    case_free(&c);
}

/* All but one of the vertices that follow the bone go to its parent. */
static void shrink_to_a_point(ossify_rig *rig, int64_t vertices, int32_t b, int32_t parent) {
    int64_t own = -1;
    for (int64_t v = 0; v < vertices; v++) {
        int32_t *bone = rig->influence_bones + v * rig->influences;
        float *weight = rig->influence_weights + v * rig->influences;
        if (own < 0 && bone[0] == b && weight[0] == 1) {
            own = v;
            continue;
        }
        for (int64_t i = 0; i < rig->influences; i++) {
            for (int64_t j = 0; j < rig->influences && bone[i] == b; j++) {
                if (bone[j] == parent) {
                    weight[j] += weight[i];
                    weight[i] = 0;
                    bone[i] = -1;
                }
            }
            bone[i] = bone[i] == b ? parent : bone[i];
        }
    }
    CHECK(own >= 0);
}

/* The frames become what the rig makes of the rest. */
static void play(Synthetic *made, const ossify_rig *rig) {
    const int64_t n = made->poses.vertex_count;
    for (int64_t j = 0; j < n * made->poses.frame_count; j++) {
        const int64_t f = j / n, v = j % n;
        const double rest[3] = {(double)made->rest[3 * v], (double)made->rest[3 * v + 1],
                                (double)made->rest[3 * v + 2]};
        double sum[3] = {0};
        for (int64_t i = v * rig->influences; i < (v + 1) * rig->influences; i++) {
            double y[3];
            if (rig->influence_bones[i] < 0) {
                continue;
            }
            apply(transform_of(rig, f, rig->influence_bones[i]), rest, y);
            for (int a = 0; a < 3; a++) {
                sum[a] += (double)rig->influence_weights[i] * y[a];
            }
        }
        for (int a = 0; a < 3; a++) {
            made->frames[3 * j + a] = (float)sum[a];
        }
    }
}

/* A bone that moves one vertex has no size, and none by which its joint, or all of them, had to stay. */
TEST(a_bone_that_moves_a_point_holds_no_joint_back) {
    SyntheticOptions options = {.shape = SHAPE_TUBE, .bones = 4, .frames = 16};
    Case c = case_of(options, 0.03);
    int leaf = 3;
    while (leaf == c.skeleton.parents[0] || leaf == c.skeleton.parents[1] || leaf == c.skeleton.parents[2]) {
        leaf--;
    }
    shrink_to_a_point(&c.answer.rig, c.made.poses.vertex_count, leaf, c.skeleton.parents[leaf]);
    play(&c.made, &c.answer.rig);
    c.settings.quality = OSSIFY_BEST;
    CHECK(run(&c) >= 0);
    check_answer(&c);
    CHECK(c.answer.info.erms < 0.05);
    for (int b = 0; b < 4; b++) {
        test_case("joint %d", b);
        CHECK(c.skeleton.parents[b] < 0 || b == leaf || joint_error(&c, b) < 1e-3);
    }
    case_free(&c);
}

TEST(a_loose_joint_stays_marked) {
    SyntheticOptions options = {.vertices = 100, .bones = 3, .frames = 6};
    Case c = case_of(options, 0);
    c.skeleton.joint_kinds[1] = OSSIFY_JOINT_LOOSE;
    CHECK(run(&c) >= 0);
    CHECK_INT(c.skeleton.joint_kinds[1], OSSIFY_JOINT_LOOSE);
    CHECK_INT(c.skeleton.joint_kinds[2], OSSIFY_JOINT_BALL);
    case_free(&c);
}

TEST(a_loose_joint_that_hardly_turns_is_stiff) {
    SyntheticOptions options = {.shape = SHAPE_TUBE, .bones = 4, .frames = 16, .stiff = 2};
    Case c = case_of(options, 0);
    c.skeleton.joint_kinds[1] = c.skeleton.joint_kinds[2] = OSSIFY_JOINT_LOOSE;
    CHECK(run(&c) >= 0);
    CHECK_INT(c.skeleton.joint_kinds[1], OSSIFY_JOINT_LOOSE);
    CHECK_INT(c.skeleton.joint_kinds[2], OSSIFY_JOINT_STIFF);
    case_free(&c);
}

/* One thing wrong at a time, by number; returns what the sentence must hold, or NULL after the last. */
static const char *spoil(Case *c, int what) {
    static uint8_t held[3 * 64] = {0, 0, 0, 0, 0, 1};
    switch (what) {
    case 0:
        c->answer.rig.given = OSSIFY_GIVEN_WEIGHTS;
        return "rig.given is 2: this needs a whole rig to start from";
    case 1:
        c->settings.bone_kind = OSSIFY_FLEXIBLE;
        return "settings.bone_kind is 1: bones that turn about joints are OSSIFY_RIGID";
    case 2:
        c->answer.rig.held_transforms = held;
        return "rig.held_transforms[1][2] is set: joints that hold move every bone";
    case 3:
        c->skeleton.parents[1] = 7;
        return "skeleton.parents[1] is 7: it must be -1 (a root) or a bone, 0..2";
    case 4:
        c->skeleton.parents[0] = 1;
        c->skeleton.parents[1] = 0;
        return "from there up no root comes: a skeleton is a tree";
    case 5:
        c->skeleton.joints[4] = NAN;
        return "skeleton.joints[1][1] is nan: every number must be finite";
    case 6:
        c->skeleton.stretch = 2;
        return "skeleton.stretch is 2: it must be 0..1";
    case 7:
        c->skeleton.symmetry = OSSIFY_SYMMETRY_FOUND;
        c->skeleton.mirrors[1] = 2;
        return "skeleton.mirrors[1] is 2: it must be -1 or a bone";
    case 8:
        c->skeleton.symmetry = OSSIFY_SYMMETRY_FOUND;
        return "skeleton.plane has a normal of length 0: it must be 1";
    case 9:
        c->skeleton.struct_size--;
        return "ossify_skeleton has size";
    case 10:
        c->skeleton.bone_capacity = 2;
        return "skeleton.bone_capacity is 2: it must be 3..1024";
    case 11:
        c->made.frames[5] = INFINITY;
        return "frames[0][1][2] is inf";
    case 12:
        c->skeleton.parents[2] = -2;
        return "skeleton.parents[2] is -2";
    case 13:
        c->skeleton.joint_kinds[1] = 5;
        return "skeleton.joint_kinds[1] is 5: it must be 0..4";
    case 14:
        c->skeleton.joint_kinds[1] = OSSIFY_JOINT_HINGE;
        c->skeleton.axes[5] = NAN;
        return "skeleton.axes[1] has length nan: what a hinge turns about must have length 1";
    case 15:
        c->skeleton.joint_kinds[2] = OSSIFY_JOINT_HINGE;
        c->skeleton.axes[6] = c->skeleton.axes[7] = 1;
        c->skeleton.axes[8] = 0;
        return "skeleton.axes[2] has length 1.414214";
    default:
        return NULL;
    }
}

TEST(what_cannot_be_articulated_is_refused_in_a_sentence) {
    for (int what = 0;; what++) {
        SyntheticOptions options = {.vertices = 60, .bones = 3, .frames = 3};
        Case c = case_of(options, 0);
        const char *sentence = spoil(&c, what);
        int64_t room = c.skeleton.bone_capacity;
        Answer before = answer_of(&c.made.poses, &c.answer.rig);
        ossify_skeleton skeleton = skeleton_of(&c.skeleton);
        if (sentence != NULL) {
            test_case("spoiled by %d", what);
            CHECK_INT(run(&c), OSSIFY_BAD_ARGUMENT);
            CHECK_INT(c.answer.info.status, OSSIFY_BAD_ARGUMENT);
            CHECK_SAYS(c.answer.info.message, sentence);
            CHECK(rigs_are_equal(&c.made.poses, &before.rig, &c.answer.rig));
            CHECK(memcmp(skeleton.joint_kinds, c.skeleton.joint_kinds, (size_t)room * sizeof(int32_t)) == 0);
            CHECK(memcmp(skeleton.joints, c.skeleton.joints, 3 * (size_t)room * sizeof(double)) == 0);
        }
        skeleton_free(&skeleton);
        answer_free(&before);
        case_free(&c);
        if (sentence == NULL) {
            return;
        }
    }
}

TEST(an_articulation_that_is_missing_a_struct_is_refused) {
    SyntheticOptions options = {.vertices = 60, .bones = 3, .frames = 3};
    Case c = case_of(options, 0);
    CHECK_INT(ossify_articulate(&c.made.poses, &c.settings, &c.answer.rig, NULL, &c.answer.info),
              OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(c.answer.info.message, "skeleton is NULL");
    CHECK_INT(ossify_articulate(&c.made.poses, &c.settings, &c.answer.rig, &c.skeleton, NULL),
              OSSIFY_BAD_ARGUMENT);
    CHECK(job_articulate(&c.made.poses, &c.settings, &c.answer.rig, NULL, &c.answer.info) == NULL);
    CHECK_SAYS(c.answer.info.message, "skeleton is NULL");
    case_free(&c);
}

/* ---- jobs */

TEST(an_articulating_job_gives_what_the_call_gives) {
    SyntheticOptions options = {.vertices = 200, .bones = 4, .frames = 8, .noise = 0.01};
    Case direct = case_of(options, 0.02), other = case_of(options, 0.02);
    ossify_settings gone = other.settings;
    ossify_skeleton skeleton = other.skeleton;
    CHECK(run(&direct) >= 0);
    ossify_job *job =
        job_articulate(&other.made.poses, &gone, &other.answer.rig, &skeleton, &other.answer.info);
    CHECK(job != NULL);
    memset(&gone, 0xEE, sizeof gone); /* the structs are copied */
    skeleton.struct_size = 0;
    CHECK_INT(ossify_job_finish(job), direct.answer.info.status);
    CHECK(rigs_are_equal(&direct.made.poses, &direct.answer.rig, &other.answer.rig));
    CHECK(skeletons_are_equal(&direct.skeleton, &other.skeleton));
    CHECK(direct.answer.info.erms == other.answer.info.erms);
    case_free(&direct);
    case_free(&other);
}

TEST(an_articulating_job_that_is_cancelled_leaves_all_as_it_was) {
    SyntheticOptions options = {.vertices = SLOW_BUILD ? 600 : 3000, .bones = 8, .frames = 30, .noise = 0.02};
    Case c = case_of(options, 0.02);
    ossify_skeleton before = skeleton_of(&c.skeleton);
    ossify_progress progress = {.struct_size = sizeof progress};
    c.settings.iterations = 100000;
    c.settings.quality = OSSIFY_BEST;
    ossify_job *job = job_articulate(&c.made.poses, &c.settings, &c.answer.rig, &c.skeleton, &c.answer.info);
    CHECK(job != NULL);
    do {
        ossify_job_poll(job, &progress);
    } while (job != NULL && progress.stage != OSSIFY_STAGE_SKELETON && !progress.finished);
    ossify_job_cancel(job);
    double asked = clock_seconds();
    CHECK_INT(ossify_job_finish(job), OSSIFY_CANCELLED);
    CHECK(SLOW_BUILD || clock_seconds() - asked < 0.5);
    CHECK(rigs_are_equal(&c.made.poses, &c.made.truth, &c.answer.rig));
    CHECK(skeletons_are_equal(&before, &c.skeleton));
    skeleton_free(&before);
    case_free(&c);
}

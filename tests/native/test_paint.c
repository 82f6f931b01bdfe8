/* test_paint.c - weights pruned and smoothed by what they cost, against errors replayed from positions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "synthetic.h"
#include "test.h"

enum { BONES = 6, K = 4, FRAMES = 9 };

static Synthetic make_rig(int shells) {
    SyntheticOptions options = {.shape = shells > 1 ? SHAPE_BLOBS : SHAPE_TUBE,
                                .vertices = 240,
                                .frames = FRAMES,
                                .bones = BONES,
                                .influences = K,
                                .shells = shells,
                                .noise = 0.02,
                                .seed = 5};
    return synthetic_make(options);
}

static int count_of(const ossify_rig *rig, int64_t v) {
    int count = 0;
    for (int64_t k = 0; k < rig->influences; k++) {
        count += rig->influence_bones[v * rig->influences + k] >= 0;
    }
    return count;
}

static double weight_of(const ossify_rig *rig, int64_t v, int32_t b) {
    for (int64_t i = v * rig->influences; i < (v + 1) * rig->influences; i++) {
        if (rig->influence_bones[i] == b) {
            return (double)rig->influence_weights[i];
        }
    }
    return 0;
}

/* Coordinate a of M p~ - x */
static double missed(const Synthetic *s, const ossify_rig *rig, int64_t v, int32_t b, int64_t f, int a) {
    const double *m = rig->transforms + 12 * (f * rig->bone_capacity + b) + 4 * a;
    const float *p = rig->rest + 3 * v;
    return m[0] * (double)p[0] + m[1] * (double)p[1] + m[2] * (double)p[2] + m[3] -
           (double)s->frames[3 * (f * s->poses.vertex_count + v) + a];
}

/* Squared error of a vertex that follows bone b by w and bone c by 1 - w. */
static double error_of_two(const Synthetic *s, const ossify_rig *rig, int64_t v, int32_t b, int32_t c,
                           double w) {
    double error = 0;
    for (int64_t i = 0; i < 3 * s->poses.frame_count; i++) {
        const double r = w * missed(s, rig, v, b, i / 3, (int)(i % 3)) +
                         (1 - w) * missed(s, rig, v, c, i / 3, (int)(i % 3));
        error += r * r;
    }
    return error;
}

/* The least that any two of a vertex's bones can leave: a parabola through three points. */
static double least_of_two(const Synthetic *s, const ossify_rig *given, int64_t v) {
    double least = INFINITY;
    for (int i = 0; i < count_of(given, v); i++) {
        for (int j = 0; j < count_of(given, v); j++) {
            const int32_t b = given->influence_bones[v * K + i], c = given->influence_bones[v * K + j];
            const double at0 = error_of_two(s, given, v, b, c, 0), at1 = error_of_two(s, given, v, b, c, 1);
            const double curve = 2 * (at0 + at1 - 2 * error_of_two(s, given, v, b, c, 0.5));
            const double w = curve > 0 ? fmin(1, fmax(0, 0.5 + (at0 - at1) / (2 * curve))) : at1 < at0;
            least = fmin(least, error_of_two(s, given, v, b, c, w));
        }
    }
    return least;
}

TEST(pruned_weights_leave_no_more_than_the_best_two_bones_would) {
    Synthetic s = make_rig(1);
    Answer answer = answer_of(&s.poses, &s.truth);
    ossify_settings settings = plain_settings(BONES);
    int pruned = 0;
    CHECK_INT(ossify_prune_weights(&s.poses, &settings, &answer.rig, 2, &answer.info), OSSIFY_CONVERGED);
    check_rig(&s.poses, &answer.rig, 1);
    for (int64_t v = 0; v < s.poses.vertex_count && !test_failed(); v++) {
        CHECK(count_of(&answer.rig, v) <= 2);
        if (count_of(&s.truth, v) > 2) {
            const int32_t b = answer.rig.influence_bones[K * v], c = answer.rig.influence_bones[K * v + 1];
            const double w = (double)answer.rig.influence_weights[K * v];
            const double left = error_of_two(&s, &s.truth, v, b, c < 0 ? b : c, w);
            test_case("vertex %d", (int)v);
            CHECK(left <=
                  1.01 * least_of_two(&s, &s.truth, v)); /* weights stay near where they were, a little */
            pruned++;
        }
    }
    CHECK(pruned > 50);
    answer_free(&answer);
    synthetic_free(&s);
}

/* [v][3F] replayed less observed */
static double *residuals(const Synthetic *s, const ossify_rig *rig) {
    const int64_t rows = 3 * s->poses.frame_count;
    double *r = calloc((size_t)(rows * s->poses.vertex_count), sizeof *r);
    for (int64_t i = 0; i < rows * s->poses.vertex_count; i++) {
        const int64_t v = i / rows, f = i % rows / 3;
        for (int64_t k = v * K; k < (v + 1) * K && rig->influence_bones[k] >= 0; k++) {
            r[i] += (double)rig->influence_weights[k] *
                    missed(s, rig, v, rig->influence_bones[k], f, (int)(i % 3));
        }
    }
    return r;
}

/* |r - other|^2 */
static double apart(const double *r, const double *other, int64_t rows) {
    double sum = 0;
    for (int64_t i = 0; i < rows; i++) {
        sum += (r[i] - (other ? other[i] : 0)) * (r[i] - (other ? other[i] : 0));
    }
    return sum;
}

/* sum |r_v|^2 + tie sum_edges |r_i - r_j|^2; with a vertex v only what it has a part in */
static double norm_of(const Synthetic *s, const double *r, const int32_t *edge, int64_t edges, double tie,
                      int64_t v) {
    const int64_t rows = 3 * s->poses.frame_count;
    double sum = 0;
    for (int64_t u = 0; u < s->poses.vertex_count; u++) {
        sum += v < 0 || u == v ? apart(r + u * rows, NULL, rows) : 0;
    }
    for (int64_t e = 0; e < edges; e++) {
        const int64_t a = edge[2 * e], b = edge[2 * e + 1];
        sum += v < 0 || a == v || b == v ? tie * apart(r + a * rows, r + b * rows, rows) : 0;
    }
    return sum;
}

/* The least that any two of a vertex's given bones leave in the norm, its neighbours as they are. */
static double least_in_norm(const Synthetic *s, double *r, const int32_t *edge, int64_t edges, double tie,
                            int64_t v) {
    const int64_t rows = 3 * s->poses.frame_count;
    double *own = r + v * rows, *kept = malloc((size_t)rows * sizeof *kept), least = INFINITY;
    memcpy(kept, own, (size_t)rows * sizeof *own);
    for (int pair = 0; pair < K * K; pair++) {
        const int32_t b = s->truth.influence_bones[K * v + pair / K],
                      c = s->truth.influence_bones[K * v + pair % K];
        for (int step = 0; step <= 50 && b >= 0 && c >= 0; step++) {
            for (int64_t i = 0; i < rows; i++) {
                own[i] = 0.02 * step * missed(s, &s->truth, v, b, i / 3, (int)(i % 3)) +
                         (1 - 0.02 * step) * missed(s, &s->truth, v, c, i / 3, (int)(i % 3));
            }
            least = fmin(least, norm_of(s, r, edge, edges, tie, v));
        }
    }
    memcpy(own, kept, (size_t)rows * sizeof *own);
    free(kept);
    return least;
}

TEST(weights_pruned_in_the_norm_leave_less_of_it_than_plain_ones_and_as_little_as_two_bones_can) {
    Synthetic s = make_rig(1);
    Answer answer[2];
    int32_t *edge = calloc((size_t)(6 * s.poses.triangle_count), sizeof *edge);
    const int64_t edges = edges_of_faces(&s.poses, edge);
    const double n = (double)s.poses.vertex_count, tie = 10 * n / (200 * BONES) / (2 * (double)edges / n);
    double norm[2], has = 0, could = 0;
    for (int fair = 0; fair < 2; fair++) {
        ossify_settings settings = plain_settings(BONES);
        settings.fairness = 10 * fair;
        answer[fair] = answer_of(&s.poses, &s.truth);
        CHECK_INT(ossify_prune_weights(&s.poses, &settings, &answer[fair].rig, 2, &answer[fair].info),
                  OSSIFY_CONVERGED);
        double *r = residuals(&s, &answer[fair].rig);
        norm[fair] = norm_of(&s, r, edge, edges, tie, -1);
        for (int64_t v = 0; v < s.poses.vertex_count && fair; v++) {
            if (count_of(&s.truth, v) > 2) {
                has += norm_of(&s, r, edge, edges, tie, v);
                could += least_in_norm(&s, r, edge, edges, tie, v);
            }
        }
        free(r);
    }
    CHECK(norm[1] < 0.998 * norm[0]);
    CHECK(answer[1].info.bumps < answer[0].info.bumps);
    CHECK(has < 1.002 * could);
    answer_free(&answer[0]);
    answer_free(&answer[1]);
    free(edge);
    synthetic_free(&s);
}

TEST(vertices_with_few_enough_bones_keep_their_bits_when_pruned) {
    Synthetic s = make_rig(1);
    Answer answer = answer_of(&s.poses, &s.truth);
    ossify_settings settings = plain_settings(BONES);
    CHECK_INT(ossify_prune_weights(&s.poses, &settings, &answer.rig, K, &answer.info), OSSIFY_CONVERGED);
    CHECK(rigs_are_equal(&s.poses, &answer.rig, &s.truth));
    answer_free(&answer);
    synthetic_free(&s);
}

enum { PRUNE, PRUNE_FAIRLY, SMOOTH, WAYS };

/* To two influences; or smoother. */
static int64_t paint(const Synthetic *s, int way, ossify_settings settings, Answer *answer) {
    const ossify_smoother smoother = {sizeof smoother, K, 5, 0.01};
    settings.fairness = way == PRUNE_FAIRLY ? 10 : 0;
    return way == SMOOTH ? ossify_smooth_weights(&s->poses, &settings, &answer->rig, &smoother, &answer->info)
                         : ossify_prune_weights(&s->poses, &settings, &answer->rig, 2, &answer->info);
}

TEST(painting_leaves_what_is_held) {
    for (int way = 0; way < WAYS; way++) {
        Synthetic s = make_rig(1);
        Answer answer = answer_of(&s.poses, &s.truth);
        ossify_settings settings = plain_settings(BONES);
        uint8_t *held = calloc((size_t)s.poses.vertex_count, 1), groups[BONES] = {0, 1};
        int changed = 0;
        for (int64_t v = 0; v < s.poses.vertex_count; v++) {
            held[v] = v % 3 == 0;
        }
        answer.rig.held_vertices = held;
        answer.rig.held_groups = groups;
        test_case("way %d", way);
        CHECK_INT(paint(&s, way, settings, &answer), OSSIFY_CONVERGED);
        for (int64_t v = 0; v < s.poses.vertex_count; v++) {
            const int same = memcmp(answer.rig.influence_weights + K * v, s.truth.influence_weights + K * v,
                                    K * sizeof(float)) == 0;
            CHECK(same || !held[v]);
            CHECK(weight_of(&answer.rig, v, 1) == weight_of(&s.truth, v, 1));
            changed += !same;
        }
        CHECK(changed > 30);
        CHECK(memcmp(answer.rig.rest, s.truth.rest, 3 * (size_t)s.poses.vertex_count * sizeof(float)) == 0);
        CHECK(memcmp(answer.rig.transforms, s.truth.transforms, 12 * BONES * FRAMES * sizeof(double)) == 0);
        free(held);
        answer_free(&answer);
        synthetic_free(&s);
    }
}

TEST(a_held_group_that_fills_a_vertex_stays_alone_there_when_pruned) {
    for (int way = PRUNE; way <= PRUNE_FAIRLY; way++) {
        Synthetic s = make_rig(1);
        Answer answer = answer_of(&s.poses, &s.truth);
        const uint8_t groups[BONES] = {0, 1};
        const int32_t bones[K] = {1, 0, 2, -1};
        const float weights[K] = {1, 0, 0, 0};
        memcpy(answer.rig.influence_bones, bones, sizeof bones);
        memcpy(answer.rig.influence_weights, weights, sizeof weights);
        answer.rig.held_groups = groups;
        test_case("way %d", way);
        CHECK_INT(paint(&s, way, plain_settings(BONES), &answer), OSSIFY_CONVERGED);
        CHECK_INT(count_of(&answer.rig, 0), 1);
        CHECK(weight_of(&answer.rig, 0, 1) == 1);
        answer_free(&answer);
        synthetic_free(&s);
    }
}

TEST(pruning_that_finds_no_room_beside_held_groups_is_refused) {
    Synthetic s = make_rig(1);
    Answer answer = answer_of(&s.poses, &s.truth);
    ossify_settings settings = plain_settings(BONES);
    const uint8_t groups[BONES] = {0, 1};
    answer.rig.held_groups = groups;
    CHECK_INT(ossify_prune_weights(&s.poses, &settings, &answer.rig, 1, &answer.info), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(answer.info.message,
               "or more weights in held groups, and no room beside them: let go of some");
    CHECK(rigs_are_equal(&s.poses, &answer.rig, &s.truth));
    answer_free(&answer);
    synthetic_free(&s);
}

/* Mean squared difference of weights along the sides of faces. */
static double roughness(const Synthetic *s, const ossify_rig *rig) {
    double sum = 0;
    for (int64_t i = 0; i < 3 * s->poses.triangle_count; i++) {
        const int32_t v = s->triangles[i], u = s->triangles[i % 3 == 2 ? i - 2 : i + 1];
        for (int32_t b = 0; b < BONES; b++) {
            const double d = weight_of(rig, v, b) - weight_of(rig, u, b);
            sum += d * d;
        }
    }
    return sum / (double)(3 * s->poses.triangle_count);
}

/* Every other vertex leans to its strongest bone: weights as noise leaves them. */
static Answer rough_rig(const Synthetic *s) {
    Answer answer = answer_of(&s->poses, &s->truth);
    for (int64_t v = 0; v < s->poses.vertex_count; v += 2) {
        float *w = answer.rig.influence_weights + K * v;
        for (int k = 1; k < K; k++) {
            w[0] += 0.25f * w[k];
            w[k] -= 0.25f * w[k];
        }
    }
    return answer;
}

TEST(smoothing_stays_within_its_budget_and_more_of_it_is_smoother) {
    static const double BUDGETS[] = {0, 0.001, 0.01, 10};
    Synthetic s = make_rig(1);
    Answer given = rough_rig(&s);
    ossify_settings settings = plain_settings(BONES);
    const double before = replay_error(&s.poses, &given.rig, NULL);
    double last = roughness(&s, &given.rig);
    for (int i = 0; i < 4; i++) {
        Answer answer = answer_of(&s.poses, &given.rig);
        const ossify_smoother smoother = {sizeof smoother, K, 5, BUDGETS[i]};
        test_case("budget %g", BUDGETS[i]);
        CHECK_INT(ossify_smooth_weights(&s.poses, &settings, &answer.rig, &smoother, &answer.info),
                  OSSIFY_CONVERGED);
        check_rig(&s.poses, &answer.rig, 1);
        CHECK(replay_error(&s.poses, &answer.rig, NULL) <= before + BUDGETS[i] + 1e-7);
        CHECK(roughness(&s, &answer.rig) <= last + 1e-9);
        last = roughness(&s, &answer.rig);
        answer_free(&answer);
    }
    CHECK(last < 0.5 * roughness(&s, &given.rig));
    answer_free(&given);
    synthetic_free(&s);
}

TEST(smoothing_carries_no_weight_from_shell_to_shell) {
    Synthetic s = make_rig(2);
    Answer answer = answer_of(&s.poses, &s.truth);
    ossify_settings settings = plain_settings(BONES);
    const ossify_smoother smoother = {sizeof smoother, K, 8, 10};
    const int64_t half = s.poses.vertex_count / 2;
    CHECK_INT(ossify_smooth_weights(&s.poses, &settings, &answer.rig, &smoother, &answer.info),
              OSSIFY_CONVERGED);
    for (int32_t b = 0; b < BONES; b++) {
        double had[2] = {0, 0}, has[2] = {0, 0};
        for (int64_t v = 0; v < s.poses.vertex_count; v++) {
            had[v >= half] += weight_of(&s.truth, v, b);
            has[v >= half] += weight_of(&answer.rig, v, b);
        }
        CHECK(had[0] > 0 || has[0] == 0);
        CHECK(had[1] > 0 || has[1] == 0);
    }
    answer_free(&answer);
    synthetic_free(&s);
}

TEST(painting_gives_the_same_bits_on_any_number_of_threads) {
    for (int way = 0; way < WAYS; way++) {
        Synthetic s = make_rig(1);
        Answer one = rough_rig(&s), four = rough_rig(&s);
        ossify_settings settings = plain_settings(BONES);
        CHECK_INT(paint(&s, way, settings, &one), OSSIFY_CONVERGED);
        settings.threads = 4;
        CHECK_INT(paint(&s, way, settings, &four), OSSIFY_CONVERGED);
        CHECK(rigs_are_equal(&s.poses, &one.rig, &four.rig));
        answer_free(&one);
        answer_free(&four);
        synthetic_free(&s);
    }
}

TEST(painting_by_numbers_that_make_no_sense_is_refused) {
    Synthetic s = make_rig(1);
    Answer answer = answer_of(&s.poses, &s.truth);
    ossify_settings settings = plain_settings(BONES);
    ossify_smoother smoother = {sizeof smoother, K, 5, NAN};
    ossify_info *info = &answer.info;
    CHECK_INT(ossify_prune_weights(&s.poses, &settings, &answer.rig, 0, info), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info->message, "fewer.influences is 0: it must be 1..16");
    CHECK_INT(ossify_smooth_weights(&s.poses, &settings, &answer.rig, &smoother, info), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info->message, "smoother.budget is nan: give a distance");
    smoother = (ossify_smoother){sizeof smoother, K + 1, 5, 0.1};
    CHECK_INT(ossify_smooth_weights(&s.poses, &settings, &answer.rig, &smoother, info), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info->message, "smoother.influences is 5: it must be 1..4");
    smoother = (ossify_smoother){sizeof smoother, K, 101, 0.1};
    CHECK_INT(ossify_smooth_weights(&s.poses, &settings, &answer.rig, &smoother, info), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info->message, "smoother.rounds is 101: it must be 1..100");
    CHECK_INT(ossify_smooth_weights(&s.poses, &settings, &answer.rig, NULL, info), OSSIFY_BAD_ARGUMENT);
    answer_free(&answer);
    synthetic_free(&s);
}

/* test_weights.c - one vertex's weights, against all supports tried one by one.
 *
 * The view is made so that Q is any matrix: only the constant monomial is used, and x = 0. */
#include "descent/weights.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "test.h"

enum { BONES = 8, STRIDE = 8, ROWS = 12 };

typedef struct Vertex {
    VertexView view;
    double gram[BONES * MONOMIALS * STRIDE], diagonal[MONOMIALS * STRIDE];
    double linear[BONES], rows[BONES * STRIDE], own[BONES], slope[BONES];
    uint8_t allowed[BONES], ready[BONES];
    double q[BONES][BONES];
} Vertex;

static void set_up(Vertex *v, int n) {
    VertexView *view = &v->view;
    view->n = n;
    view->stride = STRIDE;
    view->gram = v->gram;
    view->diagonal = v->diagonal;
    view->allowed = v->allowed;
    view->linear = v->linear;
    view->rows = v->rows;
    view->ready = v->ready;
    view->own = v->own;
    view->slope = v->slope;
    view->ridge = 1e-12;
    view->monomial[9] = 1;
    memset(v->allowed, 1, sizeof v->allowed);
    for (int b = 0; b < n; b++) {
        for (int c = 0; c < n; c++) {
            v->gram[(b * MONOMIALS + 9) * STRIDE + c] = v->q[b][c];
            v->diagonal[9 * STRIDE + c] = v->q[c][c];
        }
    }
    weights_begin(view);
}

/* Q = D'D; `shift` moves all columns to one side of zero, where mixtures pay less. */
static void random_vertex(uint64_t *random, int n, double shift, Vertex *v) {
    double d[BONES][ROWS];
    memset(v, 0, sizeof *v);
    for (int b = 0; b < n; b++) {
        for (int r = 0; r < ROWS; r++) {
            d[b][r] = 2 * random_unit(random) - 1 + shift;
        }
    }
    for (int b = 0; b < n; b++) {
        for (int c = 0; c < n; c++) {
            for (int r = 0; r < ROWS; r++) {
                v->q[b][c] += d[b][r] * d[c][r];
            }
        }
    }
    set_up(v, n);
}

static double value_of(const Vertex *v, const Support *support) {
    double value = 0;
    for (int i = 0; i < support->count; i++) {
        for (int j = 0; j < support->count; j++) {
            value += support->weight[i] * support->weight[j] * v->q[support->bone[i]][support->bone[j]];
        }
    }
    return value;
}

/* The least value on the bones of `mask`, by small steps between pairs of weights, which cannot get
 * stuck because the problem is convex. */
static double least_on(const Vertex *v, int mask) {
    double w[BONES] = {0}, slope[BONES], value = 0;
    int first = 0;
    while (!(mask >> first & 1)) {
        first++;
    }
    w[first] = 1;
    for (int round = 0; round < 4000; round++) {
        int up = -1, down = -1;
        for (int b = 0; b < v->view.n; b++) {
            slope[b] = 0;
            for (int c = 0; c < v->view.n; c++) {
                slope[b] += v->q[b][c] * w[c];
            }
            if (mask >> b & 1 && (up < 0 || slope[b] < slope[up])) {
                up = b;
            }
            if (w[b] > 0 && (down < 0 || slope[b] > slope[down])) {
                down = b;
            }
        }
        if (slope[down] - slope[up] < 1e-13) {
            break;
        }
        double curve = v->q[up][up] + v->q[down][down] - 2 * v->q[up][down];
        double step = fmin(w[down], (slope[down] - slope[up]) / fmax(curve, 1e-300));
        w[up] += step;
        w[down] -= step;
    }
    for (int b = 0; b < v->view.n; b++) {
        for (int c = 0; c < v->view.n; c++) {
            value += w[b] * w[c] * v->q[b][c];
        }
    }
    return value;
}

static int mask_of(const Support *support) {
    int mask = 0;
    for (int i = 0; i < support->count; i++) {
        mask |= 1 << support->bone[i];
    }
    return mask;
}

static void check_support(const Vertex *v, int influences, const Support *support) {
    double sum = 0;
    CHECK(support->count >= 1 && support->count <= influences);
    for (int i = 0; i < support->count; i++) {
        CHECK(support->bone[i] >= 0 && support->bone[i] < v->view.n);
        CHECK(v->allowed[support->bone[i]]);
        CHECK(support->weight[i] > 0);
        for (int j = 0; j < i; j++) {
            CHECK(support->bone[i] != support->bone[j]);
        }
        sum += support->weight[i];
    }
    CHECK_NEAR(sum, 1, 1e-9);
    CHECK_NEAR(support->value, value_of(v, support), 1e-9);
    CHECK_NEAR(support->value, least_on(v, mask_of(support)), 1e-8); /* optimal on its bones */
}

TEST(weights_with_room_for_all_bones_are_the_optimum) {
    uint64_t random = 1;
    for (int trial = 0; trial < 300 && !test_failed(); trial++) {
        int n = 1 + trial % BONES;
        Vertex v;
        Support support = {.count = 0};
        test_case("trial %d, %d bones", trial, n);
        random_vertex(&random, n, trial % 3 * 0.5, &v);
        weights_solve(&v.view, BONES, 1, &support);
        check_support(&v, BONES, &support);
        CHECK_NEAR(support.value, least_on(&v, (1 << n) - 1), 1e-6 * v.q[0][0]);
    }
}

TEST(weights_are_optimal_on_a_support_of_at_most_k) {
    uint64_t random = 2;
    double excess = 0;
    for (int trial = 0; trial < 300 && !test_failed(); trial++) {
        int k = 1 + trial % 4;
        double best = INFINITY;
        Vertex v;
        Support support = {.count = 0};
        test_case("trial %d, %d influences", trial, k);
        random_vertex(&random, BONES, trial % 2 * 0.3, &v);
        weights_solve(&v.view, k, 1, &support);
        check_support(&v, k, &support);
        for (int mask = 1; mask < 1 << BONES && trial < 40; mask++) {
            int count = 0;
            for (int b = 0; b < BONES; b++) {
                count += mask >> b & 1;
            }
            best = count == k ? fmin(best, least_on(&v, mask)) : best;
        }
        if (trial < 40) {
            excess += (support.value - best) / best / 40;
        }
    }
    CHECK(excess < 0.05); /* on average close to the best of all supports */
}

TEST(weights_never_become_worse) {
    uint64_t random = 3;
    for (int trial = 0; trial < 300 && !test_failed(); trial++) {
        int k = 1 + trial % 4, search = trial % 2;
        Vertex v;
        Support support = {.count = 0};
        double before;
        random_vertex(&random, BONES, trial % 3 * 0.4, &v);
        for (int i = 0; i < k; i++) {
            support.bone[i] = (trial + 3 * i) % BONES;
            support.weight[i] = 1.0 / k;
        }
        support.count = k;
        before = value_of(&v, &support);
        test_case("trial %d, search %d", trial, search);
        weights_solve(&v.view, k, search, &support);
        check_support(&v, k, &support);
        CHECK(support.value <= before + 1e-12);
    }
}

TEST(weights_of_one_influence_are_on_the_nearest_bone) {
    uint64_t random = 4;
    for (int trial = 0; trial < 100; trial++) {
        Vertex v;
        Support support = {.count = 0};
        int best = 0;
        random_vertex(&random, BONES, 0.2, &v);
        for (int b = 1; b < BONES; b++) {
            best = v.q[b][b] < v.q[best][best] ? b : best;
        }
        weights_solve(&v.view, 1, 1, &support);
        CHECK_INT(support.count, 1);
        CHECK_INT(support.bone[0], best);
        CHECK_NEAR(support.weight[0], 1, 1e-12);
    }
}

TEST(weights_keep_to_the_bones_that_are_allowed) {
    uint64_t random = 5;
    for (int trial = 0; trial < 100 && !test_failed(); trial++) {
        Vertex v;
        Support support = {.count = 0};
        random_vertex(&random, BONES, 0, &v);
        for (int b = 0; b < BONES; b++) {
            v.allowed[b] = b % 3 == trial % 3;
        }
        weights_solve(&v.view, 4, trial % 2, &support);
        check_support(&v, 4, &support);
    }
}

TEST(weights_of_a_static_vertex) {
    Vertex v; /* every bone fits exactly */
    Support support = {.count = 0};
    memset(&v, 0, sizeof v);
    set_up(&v, BONES);
    weights_solve(&v.view, 4, 1, &support);
    CHECK_NEAR(support.value, 0, 1e-12);
    CHECK(support.count >= 1);
}

TEST(weights_of_equal_bones_end) {
    Vertex v;
    Support support = {.count = 0};
    memset(&v, 0, sizeof v);
    for (int i = 0; i < BONES * BONES; i++) {
        v.q[i / BONES][i % BONES] = 3;
    }
    set_up(&v, BONES);
    weights_solve(&v.view, 4, 1, &support);
    check_support(&v, 4, &support);
    CHECK_NEAR(support.value, 3, 1e-9);
}

/* lambda |w - mean|^2 alone: the neighbours' mean, if it has at most K bones. */
TEST(weights_follow_the_neighbours_where_the_motion_says_nothing) {
    static const double mean[BONES] = {0, 0.5, 0, 0.3, 0, 0.2, 0, 0};
    const double lambda = 0.4;
    Vertex v;
    Support support = {.count = 0};
    memset(&v, 0, sizeof v);
    v.view.smoothing = lambda;
    for (int b = 0; b < BONES; b++) {
        v.linear[b] = lambda * mean[b];
        v.view.square += lambda * mean[b] * mean[b];
    }
    set_up(&v, BONES);
    weights_solve(&v.view, 4, 1, &support);
    CHECK_INT(support.count, 3);
    for (int i = 0; i < support.count; i++) {
        CHECK_NEAR(support.weight[i], mean[support.bone[i]], 1e-6);
    }
    CHECK_NEAR(support.value, 0, 1e-9);
}

TEST(loss_of_a_bone_is_what_its_vertex_then_misses) {
    uint64_t random = 6;
    for (int trial = 0; trial < 200 && !test_failed(); trial++) {
        int k = 1 + trial % 4;
        Vertex v;
        Support support = {.count = 0};
        random_vertex(&random, BONES, trial % 2 * 0.4, &v);
        weights_solve(&v.view, k, 1, &support);
        for (int i = 0; i < support.count; i++) {
            int gone = support.bone[i];
            double loss = weights_loss(&v.view, k, &support, i);
            double least = least_on(&v, ((1 << BONES) - 1) & ~(1 << gone)) - support.value;
            double most = mask_of(&support) != 1 << gone
                              ? least_on(&v, mask_of(&support) & ~(1 << gone)) - support.value
                              : INFINITY;
            test_case("trial %d, %d influences, bone %d", trial, k, i);
            CHECK(loss >= least - 1e-9);
            CHECK(loss <= most + 1e-8);
            if (k == 1) {
                double next = INFINITY;
                for (int b = 0; b < BONES; b++) {
                    next = b != gone ? fmin(next, v.q[b][b]) : next;
                }
                CHECK_NEAR(loss, next - support.value, 1e-9);
            }
        }
    }
}

TEST(loss_of_the_only_bone_goes_to_one_that_is_not_allowed) {
    uint64_t random = 7;
    Vertex v;
    Support support = {.count = 0};
    random_vertex(&random, 3, 0, &v);
    v.allowed[1] = v.allowed[2] = 0;
    weights_solve(&v.view, 1, 1, &support);
    CHECK_INT(support.bone[0], 0);
    CHECK_NEAR(weights_loss(&v.view, 1, &support, 0), fmin(v.q[1][1], v.q[2][2]) - v.q[0][0], 1e-9);
}

TEST(loss_of_the_last_bone_is_everything) {
    uint64_t random = 8;
    Vertex v;
    Support support = {.count = 0};
    random_vertex(&random, 1, 0, &v);
    weights_solve(&v.view, 1, 1, &support);
    v.view.square = 12;
    CHECK_NEAR(weights_loss(&v.view, 1, &support, 0), 12, 1e-12);
}

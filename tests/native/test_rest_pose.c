/* test_rest_pose.c - where a vertex rests best, against its definition. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "descent/pass.h"
#include "descent/rest_pose.h"
#include "test.h"

enum { ROWS = 12 };

/* One vertex: y = A p + t in ROWS coordinates should be x. */
typedef struct Vertex {
    double a[ROWS][4], x[ROWS], given[3], pull;
} Vertex;

static Vertex random_vertex(uint64_t *random, double pull) {
    Vertex v;
    for (int r = 0; r < ROWS; r++) {
        for (int i = 0; i < 4; i++) {
            v.a[r][i] = 2 * random_unit(random) - 1;
        }
        v.x[r] = 2 * random_unit(random) - 1;
    }
    for (int i = 0; i < 3; i++) {
        v.given[i] = 2 * random_unit(random) - 1;
    }
    v.pull = pull;
    return v;
}

static double objective(const Vertex *v, const double p[3]) {
    double sum = 0;
    for (int r = 0; r < ROWS; r++) {
        double miss = v->a[r][0] * p[0] + v->a[r][1] * p[1] + v->a[r][2] * p[2] + v->a[r][3] - v->x[r];
        sum += miss * miss;
    }
    for (int i = 0; i < 3; i++) {
        sum += v->pull * (p[i] - v->given[i]) * (p[i] - v->given[i]);
    }
    return sum;
}

/* The moments: A~'A~ as a form in the monomials, A~'x. */
static void solve(const Vertex *v, double p[3]) {
    static const int rows[MONOMIALS] = {0, 1, 2, 0, 0, 1, 0, 1, 2, 3};
    static const int columns[MONOMIALS] = {0, 1, 2, 1, 2, 2, 3, 3, 3, 3};
    double form[MONOMIALS] = {0}, blend[4] = {0};
    for (int r = 0; r < ROWS; r++) {
        for (int m = 0; m < MONOMIALS; m++) {
            form[m] += (rows[m] == columns[m] ? 1 : 2) * v->a[r][rows[m]] * v->a[r][columns[m]];
        }
        for (int i = 0; i < 4; i++) {
            blend[i] += v->a[r][i] * v->x[r];
        }
    }
    rest_pose_solve(form, blend, v->pull, v->given, p);
}

static void check_least(const Vertex *v, const double p[3]) {
    double least = objective(v, p);
    for (int i = 0; i < 6; i++) {
        double moved[3] = {p[0], p[1], p[2]};
        moved[i / 2] += i % 2 ? 1e-4 : -1e-4;
        CHECK(objective(v, moved) >= least);
    }
}

TEST(rest_of_a_vertex_is_where_its_error_is_least) {
    uint64_t random = 1;
    for (int trial = 0; trial < 200; trial++) {
        Vertex v = random_vertex(&random, trial % 2 * 0.7);
        double p[3] = {5, -5, 5};
        test_case("trial %d", trial);
        solve(&v, p);
        check_least(&v, p);
    }
}

TEST(rest_of_a_known_vertex_is_found) {
    const double truth[3] = {0.3, -0.7, 0.2};
    uint64_t random = 2;
    Vertex v = random_vertex(&random, 0);
    double p[3] = {0, 0, 0};
    for (int r = 0; r < ROWS; r++) {
        v.x[r] = v.a[r][0] * truth[0] + v.a[r][1] * truth[1] + v.a[r][2] * truth[2] + v.a[r][3];
    }
    solve(&v, p);
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(p[i], truth[i], 1e-7);
    }
}

TEST(rest_with_a_strong_pull_is_the_given_one) {
    uint64_t random = 3;
    Vertex v = random_vertex(&random, 1e9);
    double p[3] = {9, 9, 9};
    solve(&v, p);
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(p[i], v.given[i], 1e-6);
    }
}

TEST(rest_stays_along_directions_that_nothing_determines) {
    uint64_t random = 4;
    Vertex v = random_vertex(&random, 0);
    double p[3] = {0.1, 0.2, 0.3};
    for (int r = 0; r < ROWS; r++) { /* flattened: z has no effect */
        v.a[r][2] = 0;
    }
    solve(&v, p);
    CHECK_NEAR(p[2], 0.3, 1e-9);
    check_least(&v, p);
}

TEST(rest_of_a_vertex_that_nothing_moves_stays) {
    Vertex v;
    double p[3] = {0.1, 0.2, 0.3};
    memset(&v, 0, sizeof v);
    solve(&v, p);
    CHECK_NEAR(p[0], 0.1, 1e-12);
    CHECK_NEAR(p[1], 0.2, 1e-12);
    CHECK_NEAR(p[2], 0.3, 1e-12);
}

TEST(rest_of_a_form_that_is_not_positive_stays) {
    const double blend[4] = {1, 1, 1, 1}, given[3] = {0, 0, 0};
    const double flat[MONOMIALS] = {1, 1, 1, 4, 0, 0, 0, 0, 0, 1}, last[MONOMIALS] = {1, 1, 1, 0, 4, 0};
    double p[3] = {0.1, 0.2, 0.3};
    rest_pose_solve(flat, blend, 0, given, p);
    rest_pose_solve(last, blend, 0, given, p);
    CHECK(p[0] == 0.1 && p[1] == 0.2 && p[2] == 0.3);
}

/* test_rotation3.c - the nearest rotation is one, is the best one, and stays near the guess. */
#include "math/rotation3.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "test.h"

static const double IDENTITY[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

static void multiply(const double a[9], const double b[9], double ab[9]) {
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            ab[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
        }
    }
}

static double determinant(const double m[9]) {
    return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
           m[2] * (m[3] * m[7] - m[4] * m[6]);
}

/* trace(r' h) */
static double score(const double r[9], const double h[9]) {
    double sum = 0;
    for (int i = 0; i < 9; i++) {
        sum += r[i] * h[i];
    }
    return sum;
}

static void about_axis(int axis, double angle, double r[9]) {
    int a = (axis + 1) % 3, b = (axis + 2) % 3;
    memset(r, 0, 9 * sizeof *r);
    r[4 * axis] = 1;
    r[4 * a] = r[4 * b] = cos(angle);
    r[3 * b + a] = sin(angle);
    r[3 * a + b] = -sin(angle);
}

static void random_rotation(uint64_t *random, double r[9]) {
    memcpy(r, IDENTITY, sizeof IDENTITY);
    for (int axis = 0; axis < 3; axis++) {
        double turn[9], old[9];
        memcpy(old, r, sizeof old);
        about_axis(axis, 6.3 * random_unit(random), turn);
        multiply(old, turn, r);
    }
}

static void random_matrix(uint64_t *random, double h[9]) {
    for (int i = 0; i < 9; i++) {
        h[i] = 2 * random_unit(random) - 1;
    }
}

/* Singular values of h from the characteristic polynomial of h'h, largest first. */
static void singular_values(const double h[9], double s[3]) {
    double g[9], mean, spread = 0, shifted[9], angle;
    double transposed[9] = {h[0], h[3], h[6], h[1], h[4], h[7], h[2], h[5], h[8]};
    multiply(transposed, h, g);
    mean = (g[0] + g[4] + g[8]) / 3;
    for (int i = 0; i < 9; i++) {
        shifted[i] = g[i] - (i % 4 == 0 ? mean : 0);
        spread += shifted[i] * shifted[i];
    }
    spread = sqrt(spread / 6);
    for (int i = 0; i < 9 && spread > 0; i++) {
        shifted[i] /= spread;
    }
    angle = spread > 0 ? acos(fmax(-1, fmin(1, determinant(shifted) / 2))) / 3 : 0;
    for (int i = 0; i < 3; i++) {
        s[i] = sqrt(fmax(0, mean + 2 * spread * cos(angle + 2.0943951023931953 * (i == 0 ? 0 : 3 - i))));
    }
}

/* Kabsch's theorem: the best trace is s1 + s2 +- s3, the sign being that of det h. */
static double best_score(const double h[9]) {
    double s[3];
    singular_values(h, s);
    return s[0] + s[1] + (determinant(h) < 0 ? -s[2] : s[2]);
}

static void check_rotation(const double r[9]) {
    CHECK_NEAR(determinant(r), 1, 1e-12);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j <= i; j++) {
            CHECK_NEAR(r[3 * i] * r[3 * j] + r[3 * i + 1] * r[3 * j + 1] + r[3 * i + 2] * r[3 * j + 2],
                       i == j, 1e-12);
        }
    }
}

static double farthest(const double a[9], const double b[9]) {
    double most = 0;
    for (int i = 0; i < 9; i++) {
        most = fmax(most, fabs(a[i] - b[i]));
    }
    return most;
}

TEST(rotation_of_a_rotation_is_itself) {
    uint64_t random = 1;
    for (int i = 0; i < 200; i++) {
        double h[9], guess[9], r[9];
        random_rotation(&random, h);
        random_rotation(&random, guess);
        rotation3_nearest(h, guess, r);
        check_rotation(r);
        CHECK_NEAR(farthest(r, h), 0, 1e-9);
    }
}

TEST(rotation_of_a_stretched_rotation_is_the_rotation) {
    uint64_t random = 2;
    for (int i = 0; i < 200; i++) {
        double turn[9], h[9], r[9], stretch[9] = {0.1 + random_unit(&random), 0, 0, 0, 1, 0, 0, 0, 3};
        random_rotation(&random, turn);
        multiply(turn, stretch, h);
        rotation3_nearest(h, IDENTITY, r);
        CHECK_NEAR(farthest(r, turn), 0, 1e-8);
    }
}

TEST(rotation_of_any_matrix_is_the_best_there_is) {
    uint64_t random = 3;
    for (int i = 0; i < 3000 && !test_failed(); i++) {
        double h[9], guess[9], r[9];
        test_case("matrix %d", i);
        random_matrix(&random, h);
        random_rotation(&random, guess);
        rotation3_nearest(h, guess, r);
        check_rotation(r);
        CHECK_NEAR(score(r, h), best_score(h), 1e-7);
    }
}

TEST(rotation_is_found_from_the_worst_guess) {
    uint64_t random = 4;
    for (int i = 0; i < 300; i++) {
        double h[9], guess[9], turn[9], r[9];
        random_rotation(&random, h);
        about_axis(i % 3, 3.141592653589793, turn);
        multiply(h, turn, guess);
        rotation3_nearest(h, guess, r);
        CHECK_NEAR(farthest(r, h), 0, 1e-9);
    }
}

TEST(rotation_of_a_reflection_is_still_a_rotation) {
    const double mirror[9] = {1, 0, 0, 0, 1, 0, 0, 0, -0.5}, point[9] = {-1, 0, 0, 0, -1, 0, 0, 0, -1};
    double r[9];
    rotation3_nearest(mirror, IDENTITY, r);
    check_rotation(r);
    CHECK_NEAR(score(r, mirror), 1.5, 1e-9);
    rotation3_nearest(point, IDENTITY, r);
    check_rotation(r);
    CHECK_NEAR(score(r, point), 1, 1e-9); /* 1 + 1 - 1: any half turn */
}

TEST(rotation_of_nothing_is_the_guess) {
    const double zero[9] = {0};
    double guess[9], r[9];
    uint64_t random = 5;
    random_rotation(&random, guess);
    rotation3_nearest(zero, guess, r);
    CHECK(memcmp(r, guess, sizeof r) == 0);
}

/* h = a b' only says that b goes to a; of the turns about a, the guess's own is the nearest. */
TEST(rotation_of_a_line_stays_near_the_guess) {
    uint64_t random = 6;
    for (int i = 0; i < 100; i++) {
        double guess[9], h[9], r[9];
        random_rotation(&random, guess);
        for (int j = 0; j < 9; j++) {
            h[j] = guess[3 * (j / 3) + i % 3] * (j % 3 == i % 3);
        }
        rotation3_nearest(h, guess, r);
        check_rotation(r);
        CHECK_NEAR(score(r, h), 1, 1e-9);
        CHECK_NEAR(farthest(r, guess), 0, 1e-4);
    }
}

TEST(rotation_of_a_plane_is_determined) {
    const double flat[9] = {1, 0, 0, 0, 1, 0, 0, 0, 0};
    double turn[9], h[9], r[9];
    about_axis(1, 1.1, turn);
    multiply(turn, flat, h);
    rotation3_nearest(h, IDENTITY, r);
    CHECK_NEAR(farthest(r, turn), 0, 1e-8);
}

TEST(rotation_does_not_depend_on_the_size_of_the_matrix) {
    static const double sizes[] = {1e-250, 1e-30, 1e30, 1e250};
    uint64_t random = 7;
    double h[9], scaled[9], r[9], other[9];
    random_matrix(&random, h);
    rotation3_nearest(h, IDENTITY, r);
    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < 9; i++) {
            scaled[i] = sizes[s] * h[i];
        }
        rotation3_nearest(scaled, IDENTITY, other);
        CHECK_NEAR(farthest(r, other), 0, 1e-12);
    }
}

TEST(rotation_may_be_written_over_the_guess) {
    uint64_t random = 8;
    double h[9], guess[9], r[9];
    random_matrix(&random, h);
    random_rotation(&random, guess);
    rotation3_nearest(h, guess, r);
    rotation3_nearest(h, guess, guess);
    CHECK(memcmp(r, guess, sizeof r) == 0);
}

TEST(rotation_from_a_guess_that_is_none_is_one) {
    static const double sizes[] = {1e-9, 0.5, 1.001, 3, 1e5};
    uint64_t random = 9;
    for (int i = 0; i < 100; i++) {
        double h[9], guess[9], r[9];
        random_matrix(&random, h);
        random_matrix(&random, guess);
        for (int j = 0; j < 9; j++) {
            guess[j] = sizes[i % 5] * (i % 2 ? guess[j] : IDENTITY[j]);
        }
        rotation3_nearest(h, guess, r);
        check_rotation(r);
        CHECK_NEAR(score(r, h), best_score(h), 1e-4);
    }
}

TEST(turns_about_an_axis_are_made_one_after_the_other) {
    static const double angles[] = {1e-9, 1e-5, 0.99e-4, 1.01e-4, 0.3, 3};
    for (int i = 0; i < 6; i++) {
        for (int axis = 0; axis < 3; axis++) {
            double first[9], second[9], both[9], w[3] = {0}, r[12] = {0};
            about_axis((axis + 1) % 3, 0.7, first);
            about_axis(axis, angles[i], second);
            multiply(second, first, both);
            for (int k = 0; k < 9; k++) {
                r[k / 3 * 4 + k % 3] = first[k];
            }
            w[axis] = angles[i];
            rotation3_turn(w, r, 4);
            test_case("axis %d, angle %g", axis, angles[i]);
            for (int k = 0; k < 9; k++) {
                CHECK_NEAR(r[k / 3 * 4 + k % 3], both[k], 1e-15);
            }
        }
    }
}

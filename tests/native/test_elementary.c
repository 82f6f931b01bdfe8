/* test_elementary.c - against the C library in as many bits as there are, and identities. */
#include "math/elementary.h"

#include <float.h>
#include <math.h>

#include "base/random.h"
#include "test.h"

static int is_near(double x, double exact) {
    return fabs(x - exact) <= 2 * DBL_EPSILON * fabs(exact) + 2 * DBL_TRUE_MIN;
}

TEST(elementary_functions_are_those_of_the_library) {
    uint64_t random = 4;
    for (int i = 0; i < 200000 && !test_failed(); i++) {
        const double unit = random_unit(&random),
                     size = ldexp(unit, (int)(2000 * random_unit(&random)) - 1000);
        const double angle = 20000 * (unit - 0.5), exponent = 1400 * (unit - 0.5), side = 2 * unit - 1;
        const double other = 2 * random_unit(&random) - 1;
        double sine, cosine;
        elementary_sincos(angle, &sine, &cosine);
        test_case("%.17g", unit);
        CHECK_NEAR(sine, sin(angle), 3e-16);
        CHECK_NEAR(cosine, cos(angle), 3e-16);
        CHECK(is_near(elementary_exp(exponent), exp(exponent)));
        CHECK(is_near(elementary_log(size), log(size)));
        CHECK(is_near(elementary_asin(side), asin(side)));
        CHECK(is_near(elementary_atan2(side, other), atan2(side, other)));
        CHECK_NEAR(elementary_power(unit, side), pow(unit, side), 1e-14 * pow(unit, side));
    }
}

/* Relative, where they are small. */
TEST(elementary_functions_of_small_numbers) {
    for (int e = -1070; e < 0; e++) {
        const double x = ldexp(1.2345, e);
        double sine, cosine;
        elementary_sincos(x, &sine, &cosine);
        test_case("%g", x);
        CHECK(is_near(sine, sin(x)) && is_near(cosine, cos(x)));
        CHECK(is_near(elementary_exp(x), exp(x)) && is_near(elementary_exp(-x), exp(-x)));
        CHECK(is_near(elementary_asin(x), asin(x)) && is_near(elementary_atan2(x, 1), atan(x)));
        CHECK(is_near(elementary_log(1 + x), log(1 + x)) && is_near(elementary_log(x), log(x)));
        CHECK(is_near(elementary_atan2(1, x), atan2(1, x)) && is_near(elementary_atan2(x, -1), atan2(x, -1)));
    }
}

TEST(elementary_functions_at_their_ends) {
    const double pi = 3.14159265358979323846;
    double sine, cosine;
    elementary_sincos(0, &sine, &cosine);
    CHECK(sine == 0 && cosine == 1);
    CHECK(elementary_exp(0) == 1 && elementary_exp(-INFINITY) == 0 && elementary_exp(INFINITY) == INFINITY);
    CHECK(elementary_exp(709) < INFINITY && elementary_exp(710) == INFINITY && elementary_exp(-746) == 0);
    CHECK(isnan(elementary_exp(NAN)) && isnan(elementary_log(NAN)) && isnan(elementary_log(-1)));
    CHECK(elementary_log(1) == 0 && elementary_log(0) == -INFINITY && elementary_log(INFINITY) == INFINITY);
    CHECK(elementary_power(0, 0) == 1 && elementary_power(0, 2) == 0 && elementary_power(5, 0) == 1);
    CHECK_NEAR(elementary_asin(1), pi / 2, 0);
    CHECK_NEAR(elementary_asin(-1), -pi / 2, 0);
    CHECK_NEAR(elementary_atan2(0, 1), 0, 0);
    CHECK_NEAR(elementary_atan2(0, -1), pi, 0);
    CHECK_NEAR(elementary_atan2(-1, 0), -pi / 2, 0);
    CHECK_NEAR(elementary_atan2(0, 0), 0, 0);
}

/* test_sphere.c - the smallest sphere holds every point, and no smaller one does. */
#include "math/sphere.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "test.h"

static double reach(const float *points, int64_t n, const double centre[3]) {
    long double most = 0;
    for (int64_t i = 0; i < n; i++) {
        long double square = 0;
        for (int a = 0; a < 3; a++) {
            square +=
                ((long double)points[3 * i + a] - centre[a]) * ((long double)points[3 * i + a] - centre[a]);
        }
        most = fmaxl(most, square);
    }
    return (double)sqrtl(most);
}

/* The largest distance is convex in the centre: what no step nearby improves is the best of all. */
static void check_smallest(const float *points, int64_t n, double size) {
    Sphere sphere = sphere_smallest(points, n);
    uint64_t random = 9;
    double own = reach(points, n, sphere.centre);
    double rounding = 1e-12 * size; /* and of the centre itself, far from the origin */
    for (int a = 0; a < 3; a++) {
        rounding += 4e-16 * fabs(sphere.centre[a]);
    }
    CHECK_NEAR(own, sphere.radius, rounding);
    for (int trial = 0; trial < 200 && !test_failed(); trial++) {
        double step = size * pow(10, -1 - trial % 7), other[3];
        for (int a = 0; a < 3; a++) {
            other[a] = sphere.centre[a] + step * (2 * random_unit(&random) - 1);
        }
        CHECK(reach(points, n, other) >= own - rounding);
    }
}

TEST(sphere_of_one_point_has_no_radius) {
    const float point[3] = {3, -4, 5};
    Sphere sphere = sphere_smallest(point, 1);
    CHECK_NEAR(sphere.radius, 0, 0);
    for (int a = 0; a < 3; a++) {
        CHECK_NEAR(sphere.centre[a], point[a], 0);
    }
}

TEST(sphere_of_equal_points_has_no_radius) {
    float points[30];
    for (int i = 0; i < 30; i++) {
        points[i] = 0.1f * (float)(i % 3);
    }
    CHECK_NEAR(sphere_smallest(points, 10).radius, 0, 0);
}

TEST(sphere_of_two_points_lies_between_them) {
    const float points[6] = {1, 2, 3, 1, 2, 7};
    Sphere sphere = sphere_smallest(points, 2);
    CHECK_NEAR(sphere.radius, 2, 1e-14);
    CHECK_NEAR(sphere.centre[2], 5, 1e-14);
}

TEST(sphere_of_known_bodies) {
    const float tetrahedron[12] = {1, 1, 1, 1, -1, -1, -1, 1, -1, -1, -1, 1};
    const float obtuse[9] = {-5, 0, 0, 5, 0, 0, 0, 1, 0}; /* the short corner lies inside */
    const float line[15] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4};
    float cube[24];
    for (int i = 0; i < 24; i++) {
        cube[i] = i / 3 >> i % 3 & 1 ? 1 : -1;
    }
    CHECK_NEAR(sphere_smallest(tetrahedron, 4).radius, sqrt(3), 1e-12);
    CHECK_NEAR(sphere_smallest(cube, 8).radius, sqrt(3), 1e-12);
    CHECK_NEAR(sphere_smallest(obtuse, 3).radius, 5, 1e-12);
    CHECK_NEAR(sphere_smallest(line, 5).radius, 2 * sqrt(3), 1e-12);
}

/* How each cloud is bent: a ball, a sheet, a line, points on a sphere, a few places many times over. */
static void make_cloud(int kind, uint64_t *random, int n, float *points) {
    for (int i = 0; i < n; i++) {
        double p[3], length = 0;
        for (int a = 0; a < 3; a++) {
            p[a] = 2 * random_unit(random) - 1;
            length += p[a] * p[a];
        }
        for (int a = 0; a < 3; a++) {
            p[a] = kind == 1 && a == 2 ? 0.25 : kind == 2 ? p[0] * (a + 1) : p[a];
            p[a] = kind == 3 ? p[a] / sqrt(length) : kind == 4 ? rint(2 * p[a]) : p[a];
            points[3 * i + a] = (float)p[a];
        }
    }
}

TEST(sphere_of_many_points_is_the_smallest) {
    uint64_t random = 1;
    for (int trial = 0; trial < 40 && !test_failed(); trial++) {
        int n = 3 + trial * 7;
        float *points = malloc(3 * (size_t)n * sizeof *points);
        test_case("cloud %d of kind %d", trial, trial % 5);
        make_cloud(trial % 5, &random, n, points);
        check_smallest(points, n, 1);
        free(points);
    }
}

TEST(sphere_moves_and_scales_with_its_points) {
    static const double sizes[] = {1e-30, 1e-18, 1, 1e18, 1e30};
    uint64_t random = 2;
    for (int s = 0; s < 5; s++) {
        float points[150];
        for (int i = 0; i < 150; i++) {
            points[i] = (float)(sizes[s] * (2 * random_unit(&random) - 1));
        }
        test_case("size %g", sizes[s]);
        check_smallest(points, 50, sizes[s]);
    }
    for (int far = 0; far < 2; far++) {
        float points[150];
        for (int i = 0; i < 150; i++) {
            points[i] = (float)((far ? -1e6 : 1e6) * (i % 3 - 1) + random_unit(&random));
        }
        test_case("far away %d", far);
        check_smallest(points, 50, 1);
    }
}

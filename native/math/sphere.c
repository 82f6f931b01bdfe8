/* sphere.c - the smallest sphere around points p[i]:  min_c max_i |p[i] - c|.
 *
 * Farthest-point pivoting (Gaertner, "Fast and Robust Smallest Enclosing Balls", ESA 1999): hold at
 * most four support points, find the point farthest from the centre of their smallest sphere, let it
 * enter, repeat. The radius grows in each step, so that the walk ends; a dozen passes are usual.
 *
 * Deviation: the smallest sphere of the five points of a step is found by trying the circumsphere of
 * each of their subsets, and a trial counts by the distance of the farthest of the five from its
 * centre. A subset that is nearly flat can then be badly solved but never wrongly chosen, and no
 * tolerance is needed. The answer is the centre with the least distance to its farthest point. */
#include "math/sphere.h"

#include <math.h>

enum { MOST_PASSES = 256, MOST_SUPPORT = 4 };

/* Points as they are worked on: (p - middle) * 2^-exponent, within the unit box and exact in double
 * unless the coordinates of one mesh differ by more than 2^29. */
typedef struct Cloud {
    const float *points;
    int64_t n;
    double middle[3];
    double scale;
} Cloud;

typedef struct Support {
    int count;
    double points[MOST_SUPPORT + 1][3];
} Support;

static Cloud cloud_of(const float *points, int64_t n) {
    Cloud cloud = {points, n, {0, 0, 0}, 1};
    double extent = 0;
    int exponent = 0;
    for (int a = 0; a < 3; a++) {
        double low = (double)points[a], high = low;
        for (int64_t i = 1; i < n; i++) {
            double x = (double)points[3 * i + a];
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        cloud.middle[a] = low + (high - low) / 2;
        extent = fmax(extent, high - low);
    }
    frexp(extent, &exponent);
    cloud.scale = ldexp(1, -exponent);
    return cloud;
}

static void cloud_point(const Cloud *cloud, int64_t i, double point[3]) {
    for (int a = 0; a < 3; a++) {
        point[a] = ((double)cloud->points[3 * i + a] - cloud->middle[a]) * cloud->scale;
    }
}

static double dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double distance2(const double a[3], const double b[3]) {
    double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return dot(d, d);
}

static int64_t farthest_from(const Cloud *cloud, const double centre[3], double *distance) {
    int64_t farthest = 0;
    double most = -1;
    for (int64_t i = 0; i < cloud->n; i++) {
        double point[3], d;
        cloud_point(cloud, i, point);
        d = distance2(point, centre);
        if (d > most) {
            most = d;
            farthest = i;
        }
    }
    *distance = sqrt(most);
    return farthest;
}

/* Gaussian elimination with the largest pivot of the diagonal, for A symmetric, of m <= 3 rows;
 * 0 when A is singular. Row j of A is followed by its right side. */
static int solve_small(int m, double A[3][4], double x[3]) {
    int order[3] = {0, 1, 2};
    for (int j = 0; j < m; j++) {
        int best = j, row;
        for (int i = j + 1; i < m; i++) {
            if (A[order[i]][order[i]] > A[order[best]][order[best]]) {
                best = i;
            }
        }
        row = order[best];
        order[best] = order[j];
        order[j] = row;
        if (!(A[row][row] > 0)) {
            return 0;
        }
        for (int i = j + 1; i < m; i++) {
            double factor = A[order[i]][row] / A[row][row];
            for (int k = j + 1; k < m; k++) {
                A[order[i]][order[k]] -= factor * A[row][order[k]];
            }
            A[order[i]][3] -= factor * A[row][3];
        }
    }
    for (int j = m - 1; j >= 0; j--) {
        double sum = A[order[j]][3];
        for (int k = j + 1; k < m; k++) {
            sum -= A[order[j]][order[k]] * x[order[k]];
        }
        x[order[j]] = sum / A[order[j]][order[j]];
    }
    return 1;
}

/* The centre c = q0 + sum_j x[j] d[j], d[j] = q[j] - q0, that is as far from each point of the
 * subset:  2 d[i].(c - q0) = d[i].d[i].  0 when the points do not determine it. */
static int circumcentre(const Support *subset, double centre[3]) {
    const double *q0 = subset->points[0];
    double d[3][3], A[3][4], x[3] = {0, 0, 0};
    int m = subset->count - 1;
    for (int j = 0; j < m; j++) {
        for (int a = 0; a < 3; a++) {
            d[j][a] = subset->points[j + 1][a] - q0[a];
        }
    }
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            A[i][j] = 2 * dot(d[i], d[j]);
        }
        A[i][3] = dot(d[i], d[i]);
    }
    if (!solve_small(m, A, x)) {
        return 0;
    }
    for (int a = 0; a < 3; a++) {
        centre[a] = q0[a];
        for (int j = 0; j < m; j++) {
            centre[a] += x[j] * d[j][a];
        }
    }
    return isfinite(dot(centre, centre));
}

static Support subset_of(const Support *support, int mask) {
    Support subset;
    subset.count = 0;
    for (int i = 0; i < support->count; i++) {
        if (mask >> i & 1) {
            for (int a = 0; a < 3; a++) {
                subset.points[subset.count][a] = support->points[i][a];
            }
            subset.count++;
        }
    }
    return subset;
}

/* Keeps of at most five points those that determine their smallest sphere. */
static Sphere shrink_to_support(Support *support) {
    Sphere best = {{0, 0, 0}, INFINITY};
    int best_mask = 0;
    for (int mask = 1; mask < 1 << support->count; mask++) {
        Support subset = subset_of(support, mask);
        double centre[3], radius2 = 0;
        if (subset.count > MOST_SUPPORT || !circumcentre(&subset, centre)) {
            continue;
        }
        for (int i = 0; i < support->count; i++) {
            radius2 = fmax(radius2, distance2(support->points[i], centre));
        }
        if (sqrt(radius2) < best.radius) {
            best = (Sphere){{centre[0], centre[1], centre[2]}, sqrt(radius2)};
            best_mask = mask;
        }
    }
    *support = subset_of(support, best_mask);
    return best;
}

static Sphere to_input_units(const Cloud *cloud, Sphere sphere) {
    for (int a = 0; a < 3; a++) {
        sphere.centre[a] = cloud->middle[a] + sphere.centre[a] / cloud->scale;
    }
    sphere.radius /= cloud->scale;
    return sphere;
}

Sphere sphere_smallest(const float *points, int64_t n) {
    Cloud cloud = cloud_of(points, n);
    Sphere best = {{0, 0, 0}, INFINITY}, trial = {{0, 0, 0}, 0};
    Support support = {0};
    double grown_from = -1;
    for (int pass = 0; pass < MOST_PASSES; pass++) {
        double reach;
        int64_t farthest = farthest_from(&cloud, trial.centre, &reach);
        if (reach < best.radius) {
            best = (Sphere){{trial.centre[0], trial.centre[1], trial.centre[2]}, reach};
        }
        if (pass > 0 && (reach <= trial.radius || trial.radius <= grown_from)) {
            break;
        }
        grown_from = pass > 0 ? trial.radius : -1;
        cloud_point(&cloud, farthest, support.points[support.count++]);
        trial = shrink_to_support(&support);
    }
    return to_input_units(&cloud, best);
}

/* eigen.c - the largest eigenvalues of a symmetric matrix, and their eigenvectors.
 *
 * A = Q T Q' with a tridiagonal T, by Householder's reflections (Golub and Van Loan, Matrix Computations,
 * 8.3.1):  with x the part of column k below the diagonal, v = x -+ |x| e_1, b = 2 / v'v,
 *     p = b A v,   w = p - (b/2) (p'v) v,   A <- A - v w' - w v'.
 * The eigenvalues of T come from LAPACK, its eigenvectors from inverse iteration: (T - value) z <- z a few times,
 * from a random start, less the eigenvectors of values that are near (as LAPACK's dstein does it; Wilkinson, The
 * Algebraic Eigenvalue Problem, 5.53). What is our own is so because LAPACK's goes through BLAS, whose bits
 * depend on the processor. */
#include "math/eigen.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "math/lapack.h"

enum { DOT_SUMS = 4, INVERSE_ROUNDS = 5 };

static const double NEAR = 1e-3; /* of T: eigenvalues that are nearer have their vectors kept apart */

static double dot(int n, const double *a, const double *b) {
    double sum[DOT_SUMS] = {0};
    int i = 0;
    for (; i + DOT_SUMS <= n; i += DOT_SUMS) {
        for (int j = 0; j < DOT_SUMS; j++) {
            sum[j] += a[i + j] * b[i + j];
        }
    }
    for (; i < n; i++) {
        sum[0] += a[i] * b[i];
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void scale(int n, double factor, double *a) {
    for (int i = 0; i < n; i++) {
        a[i] *= factor;
    }
}

/* ---- the tridiagonal matrix */

/* v of x [n], in place, and what becomes of x[0]; returns b, 0 where nothing is to be reflected. */
static double reflection(int n, double *x, double *first) {
    double largest = 0;
    for (int i = 1; i < n; i++) {
        largest = fmax(largest, fabs(x[i]));
    }
    *first = x[0];
    if (!(largest > 0)) {
        return 0;
    }
    largest = fmax(largest, fabs(x[0]));
    for (int i = 0; i < n; i++) {
        x[i] /= largest;
    }
    const double square = dot(n, x, x), length = x[0] > 0 ? -sqrt(square) : sqrt(square);
    const double beta = 1 / (square - x[0] * length);
    *first = length * largest;
    x[0] -= length;
    return beta;
}

/* A [m][m] <- A - v w' - w v', in rows of ld numbers; w is scratch */
static void reflect(int m, double beta, const double *v, double *a, size_t ld, double *w) {
    for (int i = 0; i < m; i++) {
        w[i] = beta * dot(m, a + (size_t)i * ld, v);
    }
    const double half = 0.5 * beta * dot(m, w, v);
    for (int i = 0; i < m; i++) {
        w[i] -= half * v[i];
    }
    for (int i = 0; i < m; i++) {
        double *restrict row = a + (size_t)i * ld;
        const double *restrict other = v, *restrict more = w;
        const double vi = v[i], wi = w[i];
        for (int j = 0; j < m; j++) {
            row[j] -= vi * more[j] + wi * other[j];
        }
    }
}

/* T into diagonal and beside; the rows of A above its diagonal become the v, their b goes into beta. */
static void make_tridiagonal(int n, double *a, double *diagonal, double *beside, double *beta, double *room) {
    const size_t ld = (size_t)n;
    for (int k = 0; k < n; k++) {
        double *own = a + (size_t)k * (ld + 1);
        diagonal[k] = own[0];
        if (k + 1 < n) {
            beta[k] = reflection(n - k - 1, own + 1, beside + k);
            if (beta[k] != 0) {
                reflect(n - k - 1, beta[k], own + 1, own + ld + 1, ld, room);
            }
        }
    }
}

/* z <- Q z */
static void turn_back(int n, const double *a, const double *beta, double *z) {
    for (int k = n - 2; k >= 0; k--) {
        const double *v = a + (size_t)k * (size_t)(n + 1) + 1;
        const double along = beta[k] != 0 ? beta[k] * dot(n - k - 1, v, z + k + 1) : 0;
        for (int i = k + 1; i < n; i++) {
            z[i] -= along * v[i - k - 1];
        }
    }
}

/* ---- its eigenvectors */

/* T - value = P L U by Gauss, with exchanges of neighbouring rows. */
typedef struct Factor {
    int n;
    const double *diagonal, *beside; /* of T */
    double *own, *second, *third;    /* [n] of U: the diagonal and the two above it */
    double *multiple;                /* [n] of L */
    double *swapped;                 /* [n] 1: rows i and i + 1 were exchanged */
    double least;                    /* in place of a pivot that is none */
} Factor;

static void factorise(Factor *f, double value) {
    double own = f->diagonal[0] - value, second = f->n > 1 ? f->beside[0] : 0;
    for (int i = 0; i + 1 < f->n; i++) {
        const double below = f->beside[i], next = f->diagonal[i + 1] - value;
        const double after = i + 2 < f->n ? f->beside[i + 1] : 0;
        f->swapped[i] = fabs(below) > fabs(own);
        if (f->swapped[i] != 0) {
            f->multiple[i] = own / below;
            f->own[i] = below, f->second[i] = next, f->third[i] = after;
            own = second - f->multiple[i] * next;
            second = -f->multiple[i] * after;
        } else {
            own = fabs(own) < f->least ? f->least : own;
            f->multiple[i] = below / own;
            f->own[i] = own, f->second[i] = second, f->third[i] = 0;
            own = next - f->multiple[i] * second;
            second = after;
        }
    }
    f->own[f->n - 1] = fabs(own) < f->least ? f->least : own;
}

static void solve(const Factor *f, double *z) {
    for (int i = 0; i + 1 < f->n; i++) {
        const double here = z[i], next = z[i + 1];
        z[i] = f->swapped[i] != 0 ? next : here;
        z[i + 1] = (f->swapped[i] != 0 ? here : next) - f->multiple[i] * z[i];
    }
    for (int i = f->n - 1; i >= 0; i--) {
        z[i] -= i + 1 < f->n ? f->second[i] * z[i + 1] : 0;
        z[i] -= i + 2 < f->n ? f->third[i] * z[i + 2] : 0;
        z[i] /= f->own[i];
    }
}

/* z less what it has of the vectors before it, from `first` on, then of length 1; 0 when nothing is left. */
static int clean(int n, const double *vector, int first, int at, double *z) {
    double largest = 0;
    for (int i = 0; i < n; i++) {
        largest = fmax(largest, fabs(z[i]));
    }
    if (!(largest > 0 && largest <= DBL_MAX)) {
        return 0;
    }
    scale(n, 1 / largest, z);
    for (int twice = 0; twice < 2; twice++) {
        for (int e = first; e < at; e++) {
            const double *other = vector + (size_t)e * (size_t)n, along = dot(n, other, z);
            for (int i = 0; i < n; i++) {
                z[i] -= along * other[i];
            }
        }
        const double length = sqrt(dot(n, z, z));
        if (!(length > 0)) {
            return 0;
        }
        scale(n, 1 / length, z);
    }
    return 1;
}

/* Eigenvector `at` of T; near values are told apart by least, so that their factors are not the same. */
static int find_vector(Factor *f, const double *value, int first, int at, double *vector, uint64_t *random) {
    double *z = vector + (size_t)at * (size_t)f->n;
    factorise(f, value[at] + 4 * f->least * (at - first));
    for (int i = 0; i < f->n; i++) {
        z[i] = random_unit(random) - 0.5;
    }
    for (int round = 0; round < INVERSE_ROUNDS; round++) {
        solve(f, z);
        if (!clean(f->n, vector, first, at, z)) {
            return 0;
        }
    }
    return 1;
}

static int find_vectors(Factor *f, int count, const double *value, double *vector) {
    uint64_t random = 1;
    for (int e = 0, first = 0; e < count; e++) {
        first = e > 0 && value[e] - value[e - 1] > NEAR ? e : first;
        if (!find_vector(f, value, first, e, vector, &random)) {
            return 0;
        }
    }
    return 1;
}

/* ---- all of it */

/* The power of two that brings the largest number to 1/2..1; 0 where there is none. */
static double scale_of(int n, const double *a) {
    double largest = 0;
    int exponent;
    for (size_t i = 0; i < (size_t)n * (size_t)n; i++) {
        largest = fmax(largest, fabs(a[i]));
    }
    if (!(largest > 0 && largest <= DBL_MAX)) {
        return 0;
    }
    frexp(largest, &exponent);
    return ldexp(1, exponent < -1000 ? 1000 : -exponent);
}

size_t eigen_room(int n) {
    return 10 * (size_t)n;
}

int eigen_largest(int n, double *a, int count, double *value, double *vector, double *room) {
    const size_t size = (size_t)n;
    double *diagonal = room, *beside = room + size, *beta = room + 2 * size, *values = room + 3 * size;
    Factor factor = {n,
                     diagonal,
                     beside,
                     room + 5 * size,
                     room + 6 * size,
                     room + 7 * size,
                     room + 8 * size,
                     room + 9 * size,
                     DBL_EPSILON * n};
    const double unit = scale_of(n, a);
    for (int i = 0; i < n; i++) {
        scale(n, unit, a + (size_t)i * size);
    }
    make_tridiagonal(n, a, diagonal, beside, beta, room + 4 * size);
    memcpy(values, diagonal, size * sizeof *values);
    memcpy(factor.own, beside, size * sizeof *values);
    if (lapack_tridiagonal_values(n, values, factor.own)) {
        return 1;
    }
    memcpy(value, values + (n - count), (size_t)count * sizeof *value);
    if (!find_vectors(&factor, count, value, vector)) {
        return 1;
    }
    for (int e = 0; e < count; e++) {
        turn_back(n, a, beta, vector + (size_t)e * size);
        value[e] = unit > 0 ? value[e] / unit : 0;
    }
    return 0;
}

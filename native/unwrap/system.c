/* system.c - A x = b with a symmetric positive semidefinite A that has 2 x 2 numbers for every pair of points that share
 * a triangle: conjugate gradients, preconditioned by
 *
 *     M = (D + L) D^-1 (D + L')        symmetric block Gauss-Seidel: A = L + D + L'
 *
 * which needs no numbers besides those of A, never breaks down, and takes about as many steps as an incomplete
 * factorisation without fill. From x = 0 on every iterate is a way down, so Newton's method can stop early. Sums are in
 * the order of the points. */
#include "unwrap/system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_A_POLL = 8 };

static const double SYSTEM_RIDGE = 1e-10; /* of a point's own numbers: a map may lie anywhere, and turn */

static const int PAIRS[6][2] = {{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}};

static int compare_numbers(const void *a, const void *b) {
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Sorted, each once; returns how many. */
static int tidy(int *list, int count) {
    int kept = 0;
    if (count > 1) {
        qsort(list, (size_t)count, sizeof *list, compare_numbers);
    }
    for (int i = 0; i < count; i++) {
        if (i == 0 || list[i] != list[i - 1]) {
            list[kept++] = list[i];
        }
    }
    return kept;
}

static void gather_neighbours(const Chart *chart, System *s) {
    for (int t = 0; t < chart->triangles; t++) {
        for (int c = 0; c < 3; c++) {
            s->first[chart->corner[3 * t + c] + 1] += 2;
        }
    }
    for (int i = 0; i < s->points; i++) {
        s->first[i + 1] += s->first[i];
        s->middle[i] = s->first[i];
    }
    for (int t = 0; t < chart->triangles; t++) {
        for (int k = 0; k < 6; k++) {
            s->beside[s->middle[chart->corner[3 * t + PAIRS[k][0]]]++] = chart->corner[3 * t + PAIRS[k][1]];
        }
    }
}

static void tidy_rows(System *s) {
    int begin = 0, kept = 0;
    for (int i = 0; i < s->points; i++) {
        const int end = s->first[i + 1], count = tidy(s->beside + begin, end - begin);
        memmove(s->beside + kept, s->beside + begin, (size_t)count * sizeof *s->beside);
        begin = end;
        s->first[i] = kept;
        s->middle[i] = kept;
        while (s->middle[i] < kept + count && s->beside[s->middle[i]] < i) {
            s->middle[i]++;
        }
        kept += count;
    }
    s->first[s->points] = kept;
}

static int slot_of(const System *s, int row, int column) {
    int low = s->first[row], high = s->first[row + 1] - 1;
    while (low < high) {
        const int half = (low + high) / 2;
        if (s->beside[half] < column) {
            low = half + 1;
        } else {
            high = half;
        }
    }
    return low;
}

int system_make(Arena *arena, const Chart *chart, System *s) {
    const size_t points = (size_t)chart->points, pairs = 6 * (size_t)chart->triangles;
    *s = (System){.points = chart->points};
    s->first = arena_take(arena, points + 1, sizeof(int));
    s->middle = arena_take(arena, points, sizeof(int));
    s->beside = arena_take(arena, pairs, sizeof(int));
    s->slot = arena_take(arena, pairs, sizeof(int));
    s->own = arena_take(arena, 4 * points, sizeof(double));
    s->inverse = arena_take(arena, 4 * points, sizeof(double));
    s->room = arena_take(arena, 8 * points, sizeof(double));
    if (arena->failed) {
        return 0;
    }
    gather_neighbours(chart, s);
    tidy_rows(s);
    s->pair = arena_take(arena, 4 * (size_t)s->first[s->points], sizeof(double));
    for (int i = 0; i < (int)pairs; i++) {
        const int *corner = chart->corner + 3 * (i / 6);
        s->slot[i] = slot_of(s, corner[PAIRS[i % 6][0]], corner[PAIRS[i % 6][1]]);
    }
    return !arena->failed;
}

void system_clear(System *s) {
    memset(s->own, 0, 4 * (size_t)s->points * sizeof(double));
    memset(s->pair, 0, 4 * (size_t)s->first[s->points] * sizeof(double));
}

static void add_block(double *to, const double *h) {
    to[0] += h[0];
    to[1] += h[1];
    to[2] += h[6];
    to[3] += h[7];
}

void system_add(System *s, const Chart *chart, int t, const double h[36]) {
    const int *corner = chart->corner + 3 * t;
    for (int c = 0; c < 3; c++) {
        add_block(s->own + 4 * corner[c], h + 14 * c);
    }
    for (int k = 0; k < 6; k++) {
        add_block(s->pair + 4 * (size_t)s->slot[6 * t + k], h + 12 * PAIRS[k][0] + 2 * PAIRS[k][1]);
    }
}

/* ---- conjugate gradients ---- */

static void invert_own(System *s) {
    for (int i = 0; i < s->points; i++) {
        double *a = s->own + 4 * i, *inverse = s->inverse + 4 * i;
        const double more = SYSTEM_RIDGE * (a[0] + a[3]);
        a[0] += more;
        a[3] += more;
        const double det = a[0] * a[3] - a[1] * a[2], by = det > 0 && !(s->held && s->held[i]) ? 1 / det : 0;
        inverse[0] = a[3] * by;
        inverse[1] = -a[1] * by;
        inverse[2] = -a[2] * by;
        inverse[3] = a[0] * by;
    }
}

/* y -= sum of pairs from..to of x */
static inline void subtract_pairs(const System *s, int from, int to, const double *x, double y[2]) {
    double u = y[0], v = y[1];
    for (int k = from; k < to; k++) {
        const double *a = s->pair + 4 * (size_t)k, *p = x + 2 * s->beside[k];
        u -= a[0] * p[0] + a[1] * p[1];
        v -= a[2] * p[0] + a[3] * p[1];
    }
    y[0] = u;
    y[1] = v;
}

static inline void times(const double a[4], const double x[2], double y[2]) {
    y[0] = a[0] * x[0] + a[1] * x[1];
    y[1] = a[2] * x[0] + a[3] * x[1];
}

/* z = M^-1 r: (D + L) y = r, then (D + L') z = D y. What is held stays 0. */
static void precondition(const System *s, const double *r, double *z) {
    for (int i = 0; i < s->points; i++) {
        double y[2] = {r[2 * i], r[2 * i + 1]};
        subtract_pairs(s, s->first[i], s->middle[i], z, y);
        times(s->inverse + 4 * i, y, z + 2 * i);
    }
    for (int i = s->points - 1; i >= 0; i--) {
        double y[2] = {0, 0}, step[2];
        subtract_pairs(s, s->middle[i], s->first[i + 1], z, y);
        times(s->inverse + 4 * i, y, step);
        z[2 * i] += step[0];
        z[2 * i + 1] += step[1];
    }
}

/* y = A x */
static void apply(const System *s, const double *x, double *y) {
    for (int i = 0; i < s->points; i++) {
        double sum[2] = {0, 0}, own[2];
        subtract_pairs(s, s->first[i], s->first[i + 1], x, sum);
        times(s->own + 4 * i, x + 2 * i, own);
        y[2 * i] = s->held && s->held[i] ? 0 : own[0] - sum[0];
        y[2 * i + 1] = s->held && s->held[i] ? 0 : own[1] - sum[1];
    }
}

static double dot(const double *x, const double *y, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

int system_solve(Call *call, System *s, const double *b, double near, int most, double *x) {
    const int n = 2 * s->points;
    double *r = s->room, *z = r + n, *p = z + n, *ap = p + n;
    invert_own(s);
    memset(x, 0, (size_t)n * sizeof *x);
    for (int i = 0; i < n; i++) {
        r[i] = s->held && s->held[i / 2] ? 0 : b[i];
    }
    precondition(s, r, z);
    memcpy(p, z, (size_t)n * sizeof *p);
    double rz = dot(r, z, n);
    const double enough = near * near * rz;
    int step = 0;
    while (step < most && rz > enough && rz > 0) {
        if (step % STEPS_A_POLL == 0 && call_poll(call, -1)) {
            return -1;
        }
        apply(s, p, ap);
        const double curvature = dot(p, ap, n);
        if (!(curvature > 0)) {
            break;
        }
        const double alpha = rz / curvature;
        for (int i = 0; i < n; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * ap[i];
        }
        precondition(s, r, z);
        const double next = dot(r, z, n), beta = next / rz;
        for (int i = 0; i < n; i++) {
            p[i] = z[i] + beta * p[i];
        }
        rz = next;
        step++;
    }
    return step;
}

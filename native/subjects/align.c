/* align.c - the mean of many bodies in one pose, each anywhere and turned anyhow (Gower 1975, without scale, because
 * large and small are shapes, too):
 *
 *     min over R_s, t_s, m of  sum_s |R_s m + t_s - x_s|^2,     m = mean over s of R_s' (x_s - t_s),  in turns. */
#include "subjects/align.h"

#include <string.h>

#include "subjects/pull.h"

enum { ALIGN_ROUNDS = 8 };

void align_onto(const double *p, const float *x, int vertices, double m[12]) {
    Pull pull = {0};
    memset(m, 0, 12 * sizeof *m);
    m[0] = m[5] = m[10] = 1;
    for (int v = 0; v < vertices; v++) {
        const double y[3] = {(double)x[3 * v], (double)x[3 * v + 1], (double)x[3 * v + 2]};
        pull_add(&pull, 1, p + 3 * v, y);
    }
    pull_solve(&pull, 0, m);
}

/* mean += R' (x - t) / count */
static void add_back(const float *x, int vertices, const double m[12], int count, double *mean) {
    for (int v = 0; v < vertices; v++) {
        double d[3];
        for (int a = 0; a < 3; a++) {
            d[a] = ((double)x[3 * v + a] - m[4 * a + 3]) / count;
        }
        for (int a = 0; a < 3; a++) {
            mean[3 * v + a] += m[a] * d[0] + m[4 + a] * d[1] + m[8 + a] * d[2];
        }
    }
}

int align_mean(Call *call, const float *bodies, int count, int vertices, double *mean) {
    const size_t numbers = 3 * (size_t)vertices;
    double *next = arena_take(&call->arena, numbers, sizeof *next);
    if (next == NULL) {
        return 0;
    }
    for (size_t i = 0; i < numbers; i++) {
        mean[i] = (double)bodies[i];
    }
    for (int round = 0; round < ALIGN_ROUNDS; round++) {
        memset(next, 0, numbers * sizeof *next);
        for (int s = 0; s < count; s++) {
            const float *x = bodies + (size_t)s * numbers;
            double m[12];
            if (call_poll(call, -1)) {
                return 0;
            }
            align_onto(mean, x, vertices, m);
            add_back(x, vertices, m, count, next);
        }
        memcpy(mean, next, numbers * sizeof *mean);
    }
    arena_give(&call->arena, next);
    return 1;
}

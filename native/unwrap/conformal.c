/* conformal.c - a least squares conformal map (Levy et al. 2002) in the metric of the motion, as Merry, Marais & Gain
 * 2006 have it (Section 5, Eq. 11):
 *
 *     min  sum_T  a (c^2 + d^2),      F = (a -b; b a) + (c d; d -c)
 *
 * with the two points held that lie farthest apart in the given map. It is there to compare with: it keeps angles and
 * not sizes, and triangles may flip. */
#include "unwrap/conformal.h"

#include <math.h>
#include <string.h>

#include "unwrap/energy.h"

enum { MOST_CONFORMAL_STEPS = 20000 };

static const double CONFORMAL_RESIDUAL = 1e-9;

/* Of the points, the one farthest from `from`. */
static int farthest(const Chart *chart, int from) {
    double most = -1;
    int found = 0;
    for (int i = 0; i < chart->points; i++) {
        const double u = chart->uv[2 * i] - chart->uv[2 * from],
                     v = chart->uv[2 * i + 1] - chart->uv[2 * from + 1];
        if (u * u + v * v > most) {
            most = u * u + v * v;
            found = i;
        }
    }
    return found;
}

static void assemble(const Chart *chart, System *system) {
    system_clear(system);
    for (int t = 0; t < chart->triangles; t++) {
        const double *in = chart->inward + 3 * t;
        const double b[3][2] = {{-in[0], -in[1] - in[2]}, {in[0], in[1]}, {0, in[2]}};
        double c[6], d[6], h[36] = {0};
        for (int i = 0; i < 3; i++) {
            c[2 * i] = d[2 * i + 1] = 0.5 * b[i][0];
            d[2 * i] = 0.5 * b[i][1];
            c[2 * i + 1] = -0.5 * b[i][1];
        }
        energy_add_mode(chart->weight[t], c, h);
        energy_add_mode(chart->weight[t], d, h);
        system_add(system, chart, t, h);
    }
}

/* b = -A u of what is held */
static void pull_of_held(const System *s, const double *uv, double *b) {
    for (int i = 0; i < s->points; i++) {
        for (int k = s->first[i]; k < s->first[i + 1]; k++) {
            const double *a = s->pair + 4 * (size_t)k, *x = uv + 2 * s->beside[k];
            if (s->held[s->beside[k]]) {
                b[2 * i] -= a[0] * x[0] + a[1] * x[1];
                b[2 * i + 1] -= a[2] * x[0] + a[3] * x[1];
            }
        }
    }
}

int conformal_solve(Call *call, Chart *chart) {
    Arena *arena = &call->arena;
    ArenaPiece *mark = arena_mark(arena);
    const size_t n = 2 * (size_t)chart->points;
    System system;
    uint8_t *held = arena_take(arena, (size_t)chart->points, 1);
    double *b = arena_take(arena, n, sizeof(double)), *x = arena_take(arena, n, sizeof(double));
    int done = system_make(arena, chart, &system);
    if (done) {
        const int one = farthest(chart, farthest(chart, 0));
        held[one] = held[farthest(chart, one)] = 1;
        system.held = held;
        assemble(chart, &system);
        pull_of_held(&system, chart->uv, b);
        done = system_solve(call, &system, b, CONFORMAL_RESIDUAL, MOST_CONFORMAL_STEPS, x) >= 0;
    }
    for (size_t i = 0; i < n && done; i++) {
        chart->uv[i] = held[i / 2] ? chart->uv[i] : x[i];
    }
    arena_return(arena, mark);
    return done;
}

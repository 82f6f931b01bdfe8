/* relax.c - Newton's method on the energy of an island (energy.c).
 *
 * A step goes down the projected Hessian, at most 9/10 of the way to the first triangle that would lose its area (the
 * smaller root of det(D + s dD) = 0, Smith & Schaefer 2015), and is halved until the energy falls: no triangle flips, and
 * none ever could. The system is solved as far as is worth it (system.c).
 *
 * Deviation from the trial that this room comes from: SLIM's weights (Rabinovich et al. 2017) instead of the Hessian take
 * as many steps to a percent of the optimum, and do not get much nearer. */
#include "unwrap/relax.h"

#include <math.h>
#include <string.h>

enum { MOST_HALVINGS = 40, MOST_INNER_STEPS = 400 };

static const double WAY_RESIDUAL = 1e-2; /* of the first residual: where a system is left */
static const double SHARE_OF_REACH = 0.9;
static const double ARMIJO = 1e-4;
static const double RELAXED_FLAT =
    1e-4; /* of what the energy is above an isometry's: a smaller fall ends it */
static const double ENERGY_ROUNDING = 1e-14; /* of the energy */

/* The least positive root of a s^2 + b s + c, c > 0. */
static double first_root(double a, double b, double c) {
    const double inside = b * b - 4 * a * c;
    if (inside < 0 || (b >= 0 && a >= 0)) {
        return INFINITY;
    }
    const double q = -0.5 * (b + (b < 0 ? -1 : 1) * sqrt(inside));
    const double one = q / a, other = c / q;
    const double least = one > 0 && (!(other > 0) || one < other) ? one : other;
    return least > 0 ? least : INFINITY;
}

double relax_reach(const Chart *chart, const double *way) {
    double reach = INFINITY;
    for (int t = 0; t < chart->triangles; t++) {
        double f[4], d[4];
        chart_form(chart, t, chart->uv, f);
        chart_form(chart, t, way, d);
        const double root =
            first_root(d[0] * d[3] - d[1] * d[2], f[0] * d[3] + f[3] * d[0] - f[1] * d[2] - f[2] * d[1],
                       f[0] * f[3] - f[1] * f[2]);
        reach = root < reach ? root : reach;
    }
    return reach;
}

typedef struct Descent {
    Call *call;
    Chart *chart;
    System system;
    double *gradient, *way, *tried;
    double energy;
} Descent;

static double slope_of(const Descent *d) {
    double slope = 0;
    for (int i = 0; i < 2 * d->chart->points; i++) {
        slope += d->gradient[i] * d->way[i];
    }
    return slope;
}

/* Moves the map; 0 when it cannot fall any more. */
static int search_line(Descent *d) {
    const int n = 2 * d->chart->points;
    const double slope = slope_of(d);
    double step = fmin(1, SHARE_OF_REACH * relax_reach(d->chart, d->way));
    for (int halving = 0; halving < MOST_HALVINGS && slope < 0; halving++) {
        for (int i = 0; i < n; i++) {
            d->tried[i] = d->chart->uv[i] + step * d->way[i];
        }
        const double energy = energy_value(d->chart, d->tried);
        if (energy <= d->energy + ARMIJO * step * slope) {
            memcpy(d->chart->uv, d->tried, (size_t)n * sizeof *d->tried);
            d->energy = energy;
            return 1;
        }
        step *= 0.5;
    }
    return 0;
}

static double least_energy(const Chart *chart) {
    double sum = 0;
    for (int t = 0; t < chart->triangles; t++) {
        sum += 4 * chart->weight[t];
    }
    return sum;
}

static int descent_open(Descent *d) {
    const size_t n = 2 * (size_t)d->chart->points;
    Arena *arena = &d->call->arena;
    d->gradient = arena_take(arena, n, sizeof(double));
    d->way = arena_take(arena, n, sizeof(double));
    d->tried = arena_take(arena, n, sizeof(double));
    return system_make(arena, d->chart, &d->system);
}

int relax(Call *call, Chart *chart, int most, double from, double to) {
    Descent d = {.call = call, .chart = chart};
    ArenaPiece *mark = arena_mark(&call->arena);
    const double least = least_energy(chart);
    int step = 0, falls = descent_open(&d);
    d.energy = falls ? energy_value(chart, chart->uv) : 0;
    while (falls && step < most) {
        const double before = d.energy;
        energy_derive(chart, d.gradient, &d.system);
        for (int i = 0; i < 2 * chart->points; i++) {
            d.gradient[i] = -d.gradient[i];
        }
        if (system_solve(call, &d.system, d.gradient, WAY_RESIDUAL, MOST_INNER_STEPS, d.way) < 0) {
            break;
        }
        for (int i = 0; i < 2 * chart->points; i++) {
            d.gradient[i] = -d.gradient[i];
        }
        step++;
        falls =
            search_line(&d) && before - d.energy > RELAXED_FLAT * (before - least) + ENERGY_ROUNDING * before;
        call->info->iterations++;
        call->progress.iterations = call->info->iterations;
        if (call_poll(call, from + (to - from) * step / most)) {
            break;
        }
    }
    const int ended = call->arena.failed || atomic_load(&call->cancelled);
    arena_return(&call->arena, mark);
    return ended ? -1 : step;
}

/* convex_ls.c - min w'Hw - 2g'w subject to sum w = 1 and, if asked for, w >= 0, for any number of unknowns.
 *
 * On the free set, with (H + near I) a = g + near w0 and (H + near I) b = 1, the minimum is w = a + lambda b,
 * lambda = (1 - sum a) / sum b. Around that the active set of simplex_ls.c: step from the feasible w toward the
 * minimum, stop at the first bound, fix that weight; then let the fixed weight go that lowers the form most steeply.
 * Where simplex_ls.c has a Gram matrix of a few columns on the stack, here are all bones, of which few carry weight:
 * what is factored is as small as those. The number of turns is bounded. */
#include "math/convex_ls.h"

#include <string.h>

static const double RELEASE = 1e-12; /* of a form's size: a slope below this is rounding */

int convex_ls_room(Arena *arena, int n, ConvexRoom *room) {
    const size_t size = (size_t)n;
    room->factor = arena_take(arena, size * size, sizeof(double));
    room->pivot = arena_take(arena, 4 * size, sizeof(double));
    room->free_at = arena_take(arena, size, sizeof(int));
    room->is_free = arena_take(arena, size, 1);
    if (arena->failed) {
        return 0;
    }
    room->a = room->pivot + size;
    room->b = room->a + size;
    room->gradient = room->b + size;
    return 1;
}

/* L D L' of the free rows; D no less than `near`. */
static void factor(int n, int count, const double *h, double near, const ConvexRoom *room) {
    for (int i = 0; i < count; i++) {
        const double *row = h + (size_t)room->free_at[i] * (size_t)n;
        double *li = room->factor + (size_t)i * (size_t)n, pivot = row[room->free_at[i]] + near;
        for (int j = 0; j < i; j++) {
            const double *lj = room->factor + (size_t)j * (size_t)n;
            double sum = row[room->free_at[j]];
            for (int k = 0; k < j; k++) {
                sum -= li[k] * lj[k]; /* li holds L_ik D_k until the row is done */
            }
            li[j] = sum;
        }
        for (int j = 0; j < i; j++) {
            const double scaled = li[j];
            li[j] /= room->pivot[j];
            pivot -= scaled * li[j];
        }
        room->pivot[i] = pivot > near ? pivot : near; /* D_i = H_ii - sum_k L_ik^2 D_k */
    }
}

/* x = (L D L')^-1 x */
static void solve(int n, int count, const ConvexRoom *room, double *x) {
    for (int i = 0; i < count; i++) {
        const double *li = room->factor + (size_t)i * (size_t)n;
        for (int k = 0; k < i; k++) {
            x[i] -= li[k] * x[k];
        }
    }
    for (int i = 0; i < count; i++) {
        x[i] /= room->pivot[i];
    }
    for (int i = count - 1; i >= 0; i--) {
        const double *li = room->factor + (size_t)i * (size_t)n;
        for (int k = 0; k < i; k++) {
            x[k] -= li[k] * x[i];
        }
    }
}

/* a = the minimum on the free set */
static void minimise(int n, int count, const double *h, const double *g, double near, const double *w,
                     const ConvexRoom *room) {
    double sum_a = 0, sum_b = 0;
    factor(n, count, h, near, room);
    for (int i = 0; i < count; i++) {
        room->a[i] = g[room->free_at[i]] + near * w[room->free_at[i]];
        room->b[i] = 1;
    }
    solve(n, count, room, room->a);
    solve(n, count, room, room->b);
    for (int i = 0; i < count; i++) {
        sum_a += room->a[i];
        sum_b += room->b[i];
    }
    for (int i = 0; i < count; i++) {
        room->a[i] += (1 - sum_a) / sum_b * room->b[i];
    }
}

/* Steps toward the minimum; returns the free weight that a bound stops, or -1. */
static int step(int count, const ConvexRoom *room, double *w) {
    double length = 1;
    int blocking = -1;
    for (int i = 0; i < count; i++) {
        const double now = w[room->free_at[i]], target = room->a[i];
        if (target <= 0 && now - target > 0 && now / (now - target) < length) {
            length = now / (now - target);
            blocking = i;
        }
    }
    for (int i = 0; i < count; i++) {
        w[room->free_at[i]] += length * (room->a[i] - w[room->free_at[i]]);
    }
    return blocking;
}

/* Hw - g over all unknowns, from the free ones */
static void slope(int n, int count, const double *h, const double *g, const double *w,
                  const ConvexRoom *room) {
    for (int i = 0; i < n; i++) {
        room->gradient[i] = -g[i];
    }
    for (int k = 0; k < count; k++) {
        const double *row = h + (size_t)room->free_at[k] * (size_t)n, x = w[room->free_at[k]];
        for (int i = 0; i < n; i++) {
            room->gradient[i] += x * row[i];
        }
    }
}

/* The fixed weight whose growth lowers the form most steeply, or -1 at the minimum. */
static int releasable(int n, int count, const double *h, const double *g, const uint8_t *barred,
                      const double *w, const ConvexRoom *room) {
    double least = 0, size = 0;
    int best = -1;
    slope(n, count, h, g, w, room);
    for (int k = 0; k < count; k++) {
        const int i = room->free_at[k];
        least += w[i] * room->gradient[i]; /* the slope of all that is free */
        size += w[i] * h[(size_t)i * (size_t)n + (size_t)i];
    }
    least -= RELEASE * size;
    for (int i = 0; i < n; i++) {
        if (!room->is_free[i] && !(barred && barred[i]) && room->gradient[i] < least) {
            least = room->gradient[i];
            best = i;
        }
    }
    return best;
}

double convex_ls_value(int n, const double *h, const double *g, const double *w) {
    double value = 0;
    for (int i = 0; i < n; i++) {
        const double *row = h + (size_t)i * (size_t)n;
        double product = 0;
        for (int j = 0; j < n && w[i] != 0; j++) {
            product += row[j] * w[j];
        }
        value += w[i] * (product - 2 * g[i]);
    }
    return value;
}

double convex_ls_signed(int n, const double *h, const double *g, double near, const uint8_t *barred,
                        double *w, const ConvexRoom *room) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (!(barred && barred[i])) {
            room->free_at[count++] = i;
        }
    }
    minimise(n, count, h, g, near, w, room);
    for (int i = 0; i < count; i++) {
        w[room->free_at[i]] = room->a[i];
    }
    return convex_ls_value(n, h, g, w);
}

double convex_ls(int n, const double *h, const double *g, double near, const uint8_t *barred, double *w,
                 const ConvexRoom *room) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        room->is_free[i] = w[i] > 0;
        if (w[i] > 0) {
            room->free_at[count++] = i;
        }
    }
    for (int turn = 0; turn < 6 * n + 6; turn++) {
        minimise(n, count, h, g, near, w, room);
        const int blocking = step(count, room, w);
        if (blocking >= 0) {
            w[room->free_at[blocking]] = 0;
            room->is_free[room->free_at[blocking]] = 0;
            room->free_at[blocking] = room->free_at[--count];
            continue;
        }
        const int released = releasable(n, count, h, g, barred, w, room);
        if (released < 0) {
            break;
        }
        room->free_at[count++] = released;
        room->is_free[released] = 1;
    }
    return convex_ls_value(n, h, g, w);
}

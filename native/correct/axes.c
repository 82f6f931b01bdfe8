/* axes.c - fields that do not repeat each other, the one that does most first.
 *
 * Any invertible T gives the same displacements C B = (C T^-1)(T B). With C'C = R'R and R (B B') R' = U S U', the choice
 * T = U'R makes both the coefficients and the fields orthogonal: the singular value decomposition of C B, from two
 * small matrices. */
#include "correct/axes.h"

#include <math.h>
#include <string.h>

#include "math/eigen.h"

static const double LEAST = 1e-12; /* of the mean diagonal: what R must not lack */

typedef struct Axes {
    const Layer *layer;
    int first, count;
    double *r; /* [n][n] upper */
    double *b; /* [n][n] sum_v B B' */
    double *u; /* [n][n] eigenvectors in rows, the largest last */
    double *t; /* [n][n] */
    double *value, *room, *column;
} Axes;

static double *column_of(const Axes *axes, int n) {
    return axes->layer->coefficient + (size_t)(axes->first + n) * (size_t)axes->layer->skin->wide;
}

/* R'R = C'C, and a little that keeps it invertible */
static void factor_coefficients(const Axes *axes) {
    const int n = axes->count;
    const size_t wide = (size_t)axes->layer->skin->wide;
    double trace = 0;
    for (int i = 0; i < n; i++) {
        trace += skin_dot(column_of(axes, i), column_of(axes, i), wide);
    }
    for (int i = 0; i < n; i++) {
        for (int j = i; j < n; j++) {
            double sum = skin_dot(column_of(axes, i), column_of(axes, j), wide) +
                         (i == j ? LEAST * trace / n + 1e-300 : 0);
            for (int k = 0; k < i; k++) {
                sum -= axes->r[k * n + i] * axes->r[k * n + j];
            }
            axes->r[i * n + j] =
                i == j ? sqrt(fmax(sum, LEAST * trace / n + 1e-300)) : sum / axes->r[i * n + i];
        }
    }
}

static void square_fields(const Axes *axes) {
    const Layer *layer = axes->layer;
    const size_t slots = (size_t)layer->fields + 1;
    memset(axes->b, 0, (size_t)axes->count * (size_t)axes->count * sizeof *axes->b);
    for (size_t v = 0; v < (size_t)layer->skin->vertices; v++) {
        const double *d = layer->field + 3 * (v * slots + (size_t)axes->first);
        for (int i = 0; i < axes->count; i++) {
            for (int j = 0; j < axes->count; j++) {
                axes->b[i * axes->count + j] +=
                    d[3 * i] * d[3 * j] + d[3 * i + 1] * d[3 * j + 1] + d[3 * i + 2] * d[3 * j + 2];
            }
        }
    }
}

/* T = U'R with the largest first; 0 when it could not be had. */
static int find_axes(const Axes *axes) {
    const int n = axes->count;
    double *half = axes->t, *whole = axes->u;
    for (int i = 0; i < n * n; i++) { /* R B */
        half[i] = 0;
        for (int k = i / n; k < n; k++) {
            half[i] += axes->r[i / n * n + k] * axes->b[k * n + i % n];
        }
    }
    for (int i = 0; i < n * n; i++) { /* (R B) R' */
        whole[i] = 0;
        for (int k = i % n; k < n; k++) {
            whole[i] += half[i / n * n + k] * axes->r[i % n * n + k];
        }
    }
    memcpy(axes->b, whole, (size_t)(n * n) * sizeof *whole);
    if (eigen_largest(n, axes->b, n, axes->value, axes->u, axes->room)) {
        return 0;
    }
    for (int i = 0; i < n * n; i++) {
        axes->t[i] = 0;
        for (int k = 0; k <= i % n; k++) {
            axes->t[i] += axes->u[(n - 1 - i / n) * n + k] * axes->r[k * n + i % n];
        }
    }
    return 1;
}

static void turn_fields(const Axes *axes) {
    const Layer *layer = axes->layer;
    const size_t slots = (size_t)layer->fields + 1;
    for (size_t v = 0; v < (size_t)layer->skin->vertices; v++) {
        double *d = layer->field + 3 * (v * slots + (size_t)axes->first);
        for (int i = 0; i < 3 * axes->count; i++) {
            axes->column[i] = 0;
            for (int k = 0; k < axes->count; k++) {
                axes->column[i] += axes->t[i / 3 * axes->count + k] * d[3 * k + i % 3];
            }
        }
        memcpy(d, axes->column, 3 * (size_t)axes->count * sizeof *d);
    }
}

/* C R^-1 U, frame by frame */
static void turn_coefficients(const Axes *axes) {
    const int n = axes->count;
    double *q = axes->column, *turned = axes->column + n;
    for (int f = 0; f < axes->layer->skin->frames; f++) {
        for (int i = 0; i < n; i++) {
            q[i] = column_of(axes, i)[f];
            for (int k = 0; k < i; k++) {
                q[i] -= q[k] * axes->r[k * n + i];
            }
            q[i] /= axes->r[i * n + i];
        }
        for (int i = 0; i < n; i++) {
            turned[i] = 0;
            for (int k = 0; k < n; k++) {
                turned[i] += q[k] * axes->u[(n - 1 - i) * n + k];
            }
        }
        for (int i = 0; i < n; i++) {
            column_of(axes, i)[f] = turned[i];
        }
    }
}

int axes_turn(Call *call, const Layer *layer) {
    ArenaPiece *mark = arena_mark(&call->arena);
    const size_t n = (size_t)(layer->fields - layer->held);
    Axes axes = {.layer = layer, .first = layer->held, .count = (int)n};
    double *room = arena_take(&call->arena, n * (4 * n + 4) + eigen_room((int)n) + 1, sizeof(double));
    if (room && n > 0) {
        axes.r = room;
        axes.b = axes.r + n * n;
        axes.u = axes.b + n * n;
        axes.t = axes.u + n * n;
        axes.value = axes.t + n * n;
        axes.column = axes.value + n;
        axes.room = axes.column + 3 * n;
        factor_coefficients(&axes);
        square_fields(&axes);
        if (find_axes(&axes)) {
            turn_fields(&axes);
            turn_coefficients(&axes);
        }
    }
    const int made = room != NULL;
    arena_return(&call->arena, mark);
    return made;
}

/* judge.c - see judge.h. */
#include "judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static void *take(size_t count, size_t size) {
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL) {
        fprintf(stderr, "judge.c: out of memory\n");
        exit(1);
    }
    return memory;
}

/* M p~ of one bone in one frame. */
static void place(const ossify_rig *rig, int64_t f, int32_t b, int64_t v, double y[3]) {
    const double *m = rig->transforms + 12 * (f * rig->bone_capacity + b);
    const float *p = rig->rest + 3 * v;
    for (int i = 0; i < 3; i++) {
        y[i] = m[4 * i] * p[0] + m[4 * i + 1] * p[1] + m[4 * i + 2] * p[2] + m[4 * i + 3];
    }
}

/* d[k][3f] = M_k p~ - x for each influence of a vertex; r = sum w d. Returns how many there are. */
static int residuals(const ossify_poses *poses, const ossify_rig *rig, int64_t v, double *d, double *r) {
    int64_t rows = 3 * poses->frame_count;
    int used = 0;
    memset(r, 0, (size_t)rows * sizeof *r);
    while (used < rig->influences && rig->influence_bones[v * rig->influences + used] >= 0) {
        double w = rig->influence_weights[v * rig->influences + used];
        for (int64_t f = 0; f < poses->frame_count; f++) {
            const float *x = poses->frames + 3 * (f * poses->vertex_count + v);
            double y[3];
            place(rig, f, rig->influence_bones[v * rig->influences + used], v, y);
            for (int i = 0; i < 3; i++) {
                d[used * rows + 3 * f + i] = y[i] - x[i];
                r[3 * f + i] += w * (y[i] - x[i]);
            }
        }
        used++;
    }
    return used;
}

/* Half the diagonal of what the frames fill, each frame on its own. */
static double size_of(const ossify_poses *poses) {
    double most = 0;
    for (int64_t f = 0; f < poses->frame_count; f++) {
        double square = 0;
        for (int i = 0; i < 3; i++) {
            double low = INFINITY, high = -INFINITY;
            for (int64_t v = 0; v < poses->vertex_count; v++) {
                double x = poses->frames[3 * (f * poses->vertex_count + v) + i];
                low = fmin(low, x);
                high = fmax(high, x);
            }
            square += (high - low) * (high - low);
        }
        most = fmax(most, sqrt(square));
    }
    return most / 2;
}

/* |d_k - r| of each influence, and (d_k - r) . r: zero where w_k is free to grow and to shrink. */
static void slopes(const double *d, const double *r, int used, size_t rows, double *apart, double *slope) {
    for (int k = 0; k < used; k++) {
        apart[k] = slope[k] = 0;
        for (size_t i = 0; i < rows; i++) {
            double away = d[(size_t)k * rows + i] - r[i];
            slope[k] += away * r[i];
            apart[k] += away * away;
        }
        apart[k] = sqrt(apart[k]);
    }
}

void judge_weights(const ossify_poses *poses, const ossify_rig *rig, const uint8_t *skip) {
    size_t rows = 3 * (size_t)poses->frame_count;
    double *d = take(rows * (size_t)rig->influences, sizeof *d), *r = take(rows, sizeof *r);
    double apart[OSSIFY_MAX_INFLUENCES], slope[OSSIFY_MAX_INFLUENCES];
    double of_positions = 1e-6 * size_of(poses) * sqrt((double)rows);
    for (int64_t v = 0; v < poses->vertex_count && !test_failed(); v++) {
        int used = residuals(poses, rig, v, d, r);
        double rounding = of_positions; /* and of weights */
        slopes(d, r, used, rows, apart, slope);
        for (int k = 0; k < used; k++) {
            rounding += 0x1p-23 * apart[k];
        }
        for (int k = 0; k < used && !(skip && skip[v]); k++) {
            CHECK_NEAR(slope[k], 0, rounding * apart[k]);
        }
    }
    free(d);
    free(r);
}

static double frame_error(const ossify_poses *poses, const ossify_rig *rig, int64_t f) {
    double sum = 0;
    for (int64_t v = 0; v < poses->vertex_count; v++) {
        const float *x = poses->frames + 3 * (f * poses->vertex_count + v);
        double y[3] = {0, 0, 0}, part[3];
        for (int64_t k = 0; k < rig->influences; k++) {
            if (rig->influence_bones[v * rig->influences + k] >= 0) {
                place(rig, f, rig->influence_bones[v * rig->influences + k], v, part);
                for (int i = 0; i < 3; i++) {
                    y[i] += rig->influence_weights[v * rig->influences + k] * part[i];
                }
            }
        }
        for (int i = 0; i < 3; i++) {
            sum += (x[i] - y[i]) * (x[i] - y[i]);
        }
    }
    return sum;
}

/* m <- m turned about an axis through the origin of the frame, or shifted along it */
static void nudge(double *m, int kind, double step) {
    int axis = kind % 3, a = (axis + 1) % 3, b = (axis + 2) % 3;
    if (kind >= 3) {
        m[4 * axis + 3] += step;
        return;
    }
    for (int i = 0; i < 4; i++) {
        double x = m[4 * a + i], y = m[4 * b + i];
        m[4 * a + i] = cos(step) * x - sin(step) * y;
        m[4 * b + i] = sin(step) * x + cos(step) * y;
    }
}

void judge_bones(const ossify_poses *poses, const ossify_rig *rig, double slack) {
    for (int64_t f = 0; f < poses->frame_count && !test_failed(); f++) {
        double least = frame_error(poses, rig, f);
        for (int64_t b = 0; b < rig->bones; b++) {
            for (int kind = 0; kind < 12; kind++) {
                double *m = rig->transforms + 12 * (f * rig->bone_capacity + b), copy[12];
                memcpy(copy, m, sizeof copy);
                nudge(m, kind % 6, kind < 6 ? 1e-4 : -1e-4);
                CHECK(frame_error(poses, rig, f) >= least * (1 - slack));
                memcpy(m, copy, sizeof copy);
            }
        }
    }
}

/* ---- locality: who is beside whom, as a table of bits, and regions by flooding */

typedef struct Table {
    int n;
    uint8_t *beside; /* [n][n] */
    int *part;       /* [n] the connected part each belongs to */
} Table;

static double between(const float *rest, int a, int b) {
    double square = 0;
    for (int i = 0; i < 3; i++) {
        square += ((double)rest[3 * a + i] - rest[3 * b + i]) * ((double)rest[3 * a + i] - rest[3 * b + i]);
    }
    return square;
}

static void join(Table *table, int a, int b) {
    int gone = table->part[b], kept = table->part[a];
    table->beside[a * table->n + b] = table->beside[b * table->n + a] = 1;
    for (int v = 0; v < table->n && gone != kept; v++) {
        if (table->part[v] == gone) {
            table->part[v] = kept;
        }
    }
}

static int in_one_part(const Table *table) {
    for (int v = 1; v < table->n; v++) {
        if (table->part[v] != table->part[0]) {
            return 0;
        }
    }
    return 1;
}

/* Everything as near as the eighth nearest, ties and all. */
static void join_nearest(Table *table, const float *rest) {
    for (int v = 0; v < table->n; v++) {
        double reach = -1;
        for (int found = 0; found < 8 && found < table->n - 1;) {
            double next = INFINITY;
            for (int u = 0; u < table->n; u++) {
                if (u != v && between(rest, u, v) > reach) {
                    next = fmin(next, between(rest, u, v));
                }
            }
            reach = next;
            found = 0;
            for (int u = 0; u < table->n; u++) {
                found += u != v && between(rest, u, v) <= reach;
            }
            reach *= 1 + 1e-6;
        }
        for (int u = 0; u < table->n; u++) {
            if (u != v && between(rest, u, v) <= reach) {
                join(table, v, u);
            }
        }
    }
}

/* Parts that are still apart are tied where they are nearest, at all such places. */
static void join_parts(Table *table, const float *rest) {
    int *part = take((size_t)table->n, sizeof *part);
    while (!in_one_part(table)) {
        double shortest = INFINITY;
        memcpy(part, table->part, (size_t)table->n * sizeof *part);
        for (int v = 0; v < table->n; v++) {
            for (int u = 0; u < v; u++) {
                if (part[u] != part[v]) {
                    shortest = fmin(shortest, between(rest, u, v));
                }
            }
        }
        for (int v = 0; v < table->n; v++) {
            for (int u = 0; u < v; u++) {
                if (part[u] != part[v] && between(rest, u, v) <= shortest * (1 + 1e-6)) {
                    join(table, u, v);
                }
            }
        }
    }
    free(part);
}

static Table table_of(const ossify_poses *poses) {
    Table table = {(int)poses->vertex_count, NULL, NULL};
    table.beside = take((size_t)table.n * (size_t)table.n, 1);
    table.part = take((size_t)table.n, sizeof(int));
    for (int v = 0; v < table.n; v++) {
        table.part[v] = v;
    }
    for (int64_t t = 0; t < poses->triangle_count; t++) {
        for (int i = 0; i < 3; i++) {
            join(&table, poses->triangles[3 * t + i], poses->triangles[3 * t + (i + 1) % 3]);
        }
    }
    if (!in_one_part(&table)) {
        join_nearest(&table, poses->rest);
        join_parts(&table, poses->rest);
    }
    return table;
}

static float weight_of(const ossify_rig *rig, int64_t v, int64_t b) {
    for (int64_t k = 0; k < rig->influences; k++) {
        if (rig->influence_bones[v * rig->influences + k] == b) {
            return rig->influence_weights[v * rig->influences + k];
        }
    }
    return 0;
}

/* How many separate parts {w > threshold} of a bone has. */
static int parts_of(const Table *table, const ossify_rig *rig, int64_t b, float threshold) {
    uint8_t *left = take((size_t)table->n, 1);
    int *queue = take((size_t)table->n, sizeof *queue), parts = 0;
    for (int v = 0; v < table->n; v++) {
        left[v] = weight_of(rig, v, b) > threshold;
    }
    for (int seed = 0; seed < table->n; seed++) {
        int count = 0;
        if (!left[seed]) {
            continue;
        }
        parts++;
        left[seed] = 0;
        queue[count++] = seed;
        for (int head = 0; head < count; head++) {
            for (int u = 0; u < table->n; u++) {
                if (left[u] && table->beside[queue[head] * table->n + u]) {
                    left[u] = 0;
                    queue[count++] = u;
                }
            }
        }
    }
    free(left);
    free(queue);
    return parts;
}

void judge_locality(const ossify_poses *poses, const ossify_rig *rig) {
    Table table = table_of(poses);
    for (int64_t b = 0; b < rig->bones; b++) {
        CHECK(parts_of(&table, rig, b, 0.02f) <= 1);
        CHECK(parts_of(&table, rig, b, 0.05f) <= 1);
    }
    free(table.beside);
    free(table.part);
}

double faint_share(const ossify_poses *poses, const ossify_rig *rig) {
    double faint = 0, all = 0;
    for (int64_t i = 0; i < poses->vertex_count * rig->influences; i++) {
        all += rig->influence_weights[i] > 0;
        faint += rig->influence_weights[i] > 0 && rig->influence_weights[i] < 0.0099999f;
    }
    return faint / all;
}

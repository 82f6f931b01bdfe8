/* map.c - the linear map from turns and shifts phi to coefficients c that serves the frames seen best.
 *
 * Of all joints at once, field by field, by conjugate gradients (Hestenes and Stiefel 1952), since there may be more
 * numbers than frames:
 *
 *     min_w  sum_f (w'phi[f] - c[f])^2 + ridge F |w|^2
 *
 * With one joint a field, by turns alone, all fields together, for then they cannot be normalised to be independent, and
 * from the sums of the layer, so that it is the error of the surface that falls:
 *
 *     min_w  sum_f c'A c - 2 c'b + ridge sum_n (sum_f A[n][n]) |w[n]|^2,     c[n] = w[n]'phi[joint n] */
#include "correct/map.h"

#include <math.h>
#include <string.h>

#include "math/positive.h"

enum { GRADIENTS = 400 };

static const double GRADIENT_LEFT = 1e-9; /* of the first gradient */

static int sees(const Layer *layer, size_t f) {
    return f < (size_t)layer->skin->frames && !(layer->blind && layer->blind[f]);
}

static double frames_seen(const Layer *layer) {
    double count = 0;
    for (size_t f = 0; f < (size_t)layer->skin->frames; f++) {
        count += sees(layer, f);
    }
    return count;
}

/* ---- all joints */

typedef struct Columns {
    Call *call;
    const Layer *layer;
    const Turns *turns;
    const double *wanted;
    double ridge;
    double *map;
    double *room; /* [workers][3 rows + wide] */
} Columns;

/* out = Phi (Phi'w), over the frames that are seen, + ridge w */
static void apply(const Columns *columns, const double *w, double *c, double *out) {
    const Skin *skin = columns->layer->skin;
    const size_t wide = (size_t)skin->wide;
    turns_drive(columns->turns, skin, w, c);
    for (size_t f = 0; f < wide; f++) {
        c[f] = sees(columns->layer, f) ? c[f] : 0;
    }
    for (size_t row = 0; row < (size_t)columns->turns->rows; row++) {
        out[row] = skin_dot(columns->turns->phi + row * wide, c, wide) + columns->ridge * w[row];
    }
}

static double square_of(const double *x, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += x[i] * x[i];
    }
    return sum;
}

static void fit_column(void *user, int n, int worker) {
    const Columns *columns = user;
    const size_t wide = (size_t)columns->layer->skin->wide, rows = (size_t)columns->turns->rows;
    double *c = columns->room + (size_t)worker * (3 * rows + wide), *left = c + wide, *way = left + rows;
    double *out = way + rows, *w = columns->map + (size_t)n * rows;
    for (size_t f = 0; f < wide; f++) {
        c[f] = sees(columns->layer, f) ? columns->wanted[(size_t)n * wide + f] : 0;
    }
    for (size_t row = 0; row < rows; row++) {
        w[row] = 0;
        way[row] = left[row] = skin_dot(columns->turns->phi + row * wide, c, wide);
    }
    double now = square_of(left, rows);
    const double enough = GRADIENT_LEFT * GRADIENT_LEFT * now;
    for (int i = 0; i < GRADIENTS && now > enough; i++) {
        if (atomic_load(&columns->call->cancelled) || (worker == 0 && call_poll(columns->call, -1))) {
            return;
        }
        double bend = 0;
        apply(columns, way, c, out);
        for (size_t row = 0; row < rows; row++) {
            bend += way[row] * out[row];
        }
        const double step = now / bend, last = now;
        for (size_t row = 0; row < rows; row++) {
            w[row] += step * way[row];
            left[row] -= step * out[row];
        }
        now = square_of(left, rows);
        for (size_t row = 0; row < rows; row++) {
            way[row] = left[row] + now / last * way[row];
        }
    }
}

int map_fit_columns(Call *call, const Layer *layer, const Turns *turns, const double *wanted, double ridge,
                    double *map) {
    ArenaPiece *mark = arena_mark(&call->arena);
    const size_t rows = (size_t)turns->rows, workers = (size_t)parallel_workers(call->pool);
    Columns columns = {.call = call, .layer = layer, .turns = turns, .wanted = wanted, .map = map};
    columns.ridge = ridge * frames_seen(layer);
    columns.room = arena_take(&call->arena, workers * (3 * rows + (size_t)layer->skin->wide), sizeof(double));
    if (columns.room) {
        parallel_run(call->pool, layer->fields, fit_column, &columns);
    }
    arena_return(&call->arena, mark);
    return columns.room && !call_poll(call, -1);
}

/* ---- one joint a field */

typedef struct Joints {
    const Layer *layer;
    const Turns *turns;
    const int *joint;
    double *system; /* [9 n][9 n], lower half */
    double *right;  /* [9 n] */
    double *scaled; /* [workers][wide] */
} Joints;

static const double *turn_row(const Joints *joints, size_t n, size_t i) {
    return joints->turns->phi +
           (TURN_NUMBERS * (size_t)joints->joint[n] + i) * (size_t)joints->layer->skin->wide;
}

/* The rows of one field: sum_f A[n][m] phi phi', and sum_f b phi */
static void fill_field(void *user, int n, int worker) {
    const Joints *joints = user;
    const Layer *layer = joints->layer;
    const size_t wide = (size_t)layer->skin->wide, size = TURN_NUMBERS * (size_t)layer->fields,
                 at = (size_t)n;
    double *scaled = joints->scaled + (size_t)worker * wide;
    for (size_t i = 0; i < TURN_NUMBERS; i++) {
        const double *phi = turn_row(joints, at, i);
        const size_t row = TURN_NUMBERS * at + i;
        for (size_t m = 0; m <= at; m++) {
            const double *a = layer->a + (at * (at + 1) / 2 + m) * wide;
            for (size_t f = 0; f < wide; f++) {
                scaled[f] = sees(layer, f) ? a[f] * phi[f] : 0;
            }
            for (size_t j = 0; j < TURN_NUMBERS; j++) {
                joints->system[row * size + TURN_NUMBERS * m + j] =
                    skin_dot(scaled, turn_row(joints, m, j), wide);
            }
        }
        for (size_t f = 0; f < wide; f++) {
            scaled[f] = sees(layer, f) ? layer->b[at * wide + f] : 0;
        }
        joints->right[row] = skin_dot(scaled, phi, wide);
    }
}

static void add_ridges(const Joints *joints, double ridge) {
    const Layer *layer = joints->layer;
    const size_t wide = (size_t)layer->skin->wide, size = TURN_NUMBERS * (size_t)layer->fields;
    for (size_t n = 0; n < (size_t)layer->fields; n++) {
        const double *a = layer->a + (n * (n + 1) / 2 + n) * wide;
        double sum = 0;
        for (size_t f = 0; f < wide; f++) {
            sum += sees(layer, f) ? a[f] : 0;
        }
        for (size_t row = TURN_NUMBERS * n; row < TURN_NUMBERS * (n + 1); row++) {
            joints->system[row * size + row] += ridge * sum + 1e-300;
        }
    }
}

int map_fit_joints(Call *call, const Layer *layer, const Turns *turns, const int *joint, double ridge,
                   double *map) {
    ArenaPiece *mark = arena_mark(&call->arena);
    const size_t n = (size_t)layer->fields, size = TURN_NUMBERS * n, rows = (size_t)turns->rows;
    Joints joints = {.layer = layer, .turns = turns, .joint = joint};
    joints.system = arena_take(&call->arena, size * size + 1, sizeof(double));
    joints.right = arena_take(&call->arena, size + 1, sizeof(double));
    joints.scaled = arena_take(&call->arena, (size_t)parallel_workers(call->pool) * (size_t)layer->skin->wide,
                               sizeof(double));
    const int made = !call->arena.failed;
    memset(map, 0, n * rows * sizeof *map);
    if (made && n > 0) {
        parallel_run(call->pool, layer->fields, fill_field, &joints);
        add_ridges(&joints, ridge);
        const int singular = positive_solve((int)size, joints.system, 1, joints.right);
        for (size_t i = 0; i < size && !singular; i++) {
            map[i / TURN_NUMBERS * rows + TURN_NUMBERS * (size_t)joint[i / TURN_NUMBERS] + i % TURN_NUMBERS] =
                joints.right[i];
        }
    }
    arena_return(&call->arena, mark);
    return made && !call_poll(call, -1);
}

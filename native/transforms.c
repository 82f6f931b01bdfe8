/* transforms.c - all bones of all frames from moments, no vertex touched.
 *
 * Le & Deng 2012 (SSDR), Algorithm 2 and Eq. 6-10. In frame f, with C[b] = sum_v w_b x p~' and
 * U[b,c] = sum_v w_b w_c p~ p~' = [S s; s' m], what the other bones leave to bone b is
 *     Y = [Y3 | y] = C[b] - sum_{c != b} M[c] U[c,b],
 * the best rotation maximises trace(R' (Y3 - y s'/m)), and t = (y - R s) / m. Bones are updated one
 * by one, so the error cannot rise; the moments make further sweeps cheap.
 * Flexible bones: the affine optimum of all bones at once, M U = C, one Cholesky for all frames. */
#include <math.h>
#include <string.h>

#include "math/lapack.h"
#include "math/rotation3.h"
#include "rooms.h"

static const double INSIGNIFICANT = 1e-9; /* sum of squared weights below which a bone stays */
static const double RIDGE = 1e-9;         /* of U's mean diagonal: axes the vertices do not determine stay */

typedef struct Update {
    Call *call;
    const Problem *problem;
    Model *model;
    const Moments *moments;
    int sweeps;
    int *first, *other; /* bones that share vertices, as lists */
} Update;

static void full_form(const double *form, double u[16]) {
    const double all[16] = {form[0], form[3], form[4], form[6], form[3], form[1], form[5], form[7],
                            form[4], form[5], form[2], form[8], form[6], form[7], form[8], form[9]};
    memcpy(u, all, sizeof all);
}

static const double *u_at(const Update *update, int b, int c) {
    return update->moments->u + ((size_t)b * (size_t)update->model->capacity + (size_t)c) * MONOMIALS;
}

/* y = C[b] - sum over the others of M[c] U[c,b] */
static void left_for_bone(const Update *update, int frame, int b, double y[3][4]) {
    const size_t row = 4 * (size_t)update->model->capacity;
    const double *c = update->moments->c + 3 * (size_t)frame * row;
    const double *m = update->model->transform + 3 * (size_t)frame * row;
    for (size_t i = 0; i < 3; i++) {
        memcpy(y[i], c + i * row + 4 * b, 4 * sizeof(double));
    }
    for (int e = update->first[b]; e < update->first[b + 1]; e++) {
        const int o = update->other[e];
        const double *u = u_at(update, b, o);
        for (size_t i = 0; i < 3; i++) {
            const double *mo = m + i * row + 4 * o;
            y[i][0] -= mo[0] * u[0] + mo[1] * u[3] + mo[2] * u[4] + mo[3] * u[6];
            y[i][1] -= mo[0] * u[3] + mo[1] * u[1] + mo[2] * u[5] + mo[3] * u[7];
            y[i][2] -= mo[0] * u[4] + mo[1] * u[5] + mo[2] * u[2] + mo[3] * u[8];
            y[i][3] -= mo[0] * u[6] + mo[1] * u[7] + mo[2] * u[8] + mo[3] * u[9];
        }
    }
}

static void fit_rigid(const Update *update, int frame, int b) {
    const double *own = u_at(update, b, b);
    const double mass = own[9], s[3] = {own[6], own[7], own[8]};
    if (mass < INSIGNIFICANT || update->model->held_bone[b]) {
        return;
    }
    double y[3][4], h[9], r[9];
    left_for_bone(update, frame, b, y);
    double *m =
        update->model->transform + 4 * ((size_t)frame * 3 * (size_t)update->model->capacity + (size_t)b);
    const size_t row = 4 * (size_t)update->model->capacity;
    const double spread = own[0] + own[1] + own[2] - (s[0] * s[0] + s[1] * s[1] + s[2] * s[2]) / mass;
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 3; j++) {
            r[3 * i + j] = m[i * row + j];
            h[3 * i + j] = y[i][j] - y[i][3] * s[j] / mass + RIDGE * spread * r[3 * i + j];
        }
    }
    rotation_nearest(h, r, r);
    for (size_t i = 0; i < 3; i++) {
        const double turned = r[3 * i] * s[0] + r[3 * i + 1] * s[1] + r[3 * i + 2] * s[2];
        memcpy(m + i * row, r + 3 * i, 3 * sizeof *r);
        m[i * row + 3] = (y[i][3] - turned) / mass;
    }
}

static void sweep_frame(void *user, int frame, int worker) {
    const Update *update = user;
    for (int sweep = 0; sweep < update->sweeps && !update->call->cancelled; sweep++) {
        if (worker == 0) {
            call_poll(update->call, -1);
        }
        for (int b = 0; b < update->model->bones; b++) {
            fit_rigid(update, frame, b);
        }
    }
}

static void list_neighbours(Update *update) {
    int count = 0;
    for (int b = 0; b < update->model->bones; b++) {
        update->first[b] = count;
        for (int c = 0; c < update->model->bones; c++) {
            if (c != b && u_at(update, b, c)[9] > 0) {
                update->other[count++] = c;
            }
        }
        update->first[b + 1] = count;
    }
}

/* Bones whose transforms are free to change, in order. */
static int list_free(const Model *model, int *free_bone) {
    int n = 0;
    for (int b = 0; b < model->bones; b++) {
        if (!model->held_bone[b]) {
            free_bone[n++] = b;
        }
    }
    return n;
}

/* (U + ridge) M' = C' - held bones' part + ridge M', over the free bones */
static int fit_affine(Update *update, int *free_bone) {
    const Model *model = update->model;
    const int n = list_free(model, free_bone), rows = 3 * update->problem->frames;
    const size_t size = 4 * (size_t)n, ld = 4 * (size_t)model->capacity;
    double *u = arena_take(&update->call->arena, size * size, sizeof *u);
    double *y = arena_take(&update->call->arena, (size_t)rows * size, sizeof *y);
    if (!u || !y || n == 0) {
        return n == 0;
    }
    double trace = 0;
    for (int i = 0; i < n; i++) {
        const double *own = u_at(update, free_bone[i], free_bone[i]);
        trace += own[0] + own[1] + own[2] + own[9];
    }
    const double ridge = RIDGE * trace / (4.0 * n) + 1e-300;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            double block[16];
            full_form(u_at(update, free_bone[i], free_bone[j]), block);
            for (size_t k = 0; k < 16; k++) {
                u[(4 * (size_t)i + k / 4) * size + 4 * (size_t)j + k % 4] = block[k];
            }
        }
    }
    for (size_t i = 0; i < size; i++) {
        u[i * size + i] += ridge;
    }
    for (int row = 0; row < rows; row++) {
        const double *c = update->moments->c + (size_t)row * ld;
        const double *m = model->transform + (size_t)row * ld;
        for (int i = 0; i < n; i++) {
            double *out = y + (size_t)row * size + 4 * (size_t)i;
            for (int k = 0; k < 4; k++) {
                out[k] = c[4 * free_bone[i] + k] + ridge * m[4 * free_bone[i] + k];
            }
            for (int b = 0; b < model->bones; b++) {
                if (model->held_bone[b]) {
                    double block[16];
                    full_form(u_at(update, b, free_bone[i]), block);
                    for (int k = 0; k < 16; k++) {
                        out[k % 4] -= m[4 * b + k / 4] * block[k];
                    }
                }
            }
        }
    }
    if (solve_positive((int)size, u, rows, y)) {
        return 1; /* too degenerate to improve: the bones stay */
    }
    for (int row = 0; row < rows; row++) {
        double *m = model->transform + (size_t)row * ld;
        for (int i = 0; i < n; i++) {
            memcpy(m + 4 * free_bone[i], y + (size_t)row * size + 4 * (size_t)i, 4 * sizeof *m);
        }
    }
    return 1;
}

int transforms_update(Call *call, const Problem *problem, Model *model, Moments *moments, int flexible,
                      int sweeps) {
    ArenaPiece *mark = arena_mark(&call->arena);
    const size_t bones = (size_t)model->bones;
    Update update = {call, problem, model, moments, sweeps, NULL, NULL};
    update.first = arena_take(&call->arena, bones + 1, sizeof(int));
    update.other = arena_take(&call->arena, bones * bones, sizeof(int));
    int done = !call->arena.failed;
    if (done && flexible) {
        done = fit_affine(&update, update.other);
    } else if (done) {
        list_neighbours(&update);
        pool_run(call->pool, problem->frames, sweep_frame, &update);
    }
    arena_return(&call->arena, mark);
    return done && !call->cancelled;
}

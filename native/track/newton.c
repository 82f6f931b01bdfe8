/* newton.c - the rigid bones of a frame all at once: damped Newton steps on the rotations alone.
 *
 * With the moments of transforms.c, S, s and m the parts of U, and G = M U - C at the start [R0 | t0], the
 * ways d = t - t0 enter as least squares: d = -(G_t + (R - R0) s) W, W = m^-1. What they leave to the
 * rotations is, with X = s W, a form that is the same for all frames that hold the same bones,
 *     E(R) = E(R0) + 2 tr(G' (R - R0)) + tr((R - R0) F (R - R0)'),    F = S - X s',  G = G_R - G_t X',
 * half as many unknowns and an eighth of the work of a Cholesky. With R_b <- exp[w_b] R_b,
 * A = R_b F_bc R_c', K = G_b R_b' and G = G(R),
 *     slope:  (K32 - K23, K13 - K31, K21 - K12)
 *     b, c:   tr(A) I - A', and on the diagonal also (K + K') / 2 - tr(K) I
 * The last term is what Gauss-Newton leaves out: it costs next to nothing here, and without it a frame that
 * the bones cannot follow converges linearly. A step is taken only if the error falls, else the damping grows
 * (Levenberg 1944, Marquardt 1963). Falls are computed from the step itself, so that small ones are known,
 * too. While each fall is a small part of the one before, the Cholesky factor of an earlier step serves on, that
 * of the frame before, too: a step with it costs a quarter of one with its own.
 * Ways that the vertices do not determine stay: W has a ridge, which counts from the start and so cannot
 * raise the error either. */
#include "track/newton.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "descent/tolerances.h"
#include "math/positive.h"
#include "math/product.h"
#include "math/rotation3.h"

enum { NEWTON_TRIES = 12 };

static const double NEWTON_DAMPING = 1e-4; /* of the diagonal: from where sweeps or the frame before lead */
static const double STALE = 0.1; /* of a fall: after a larger one the next step has a factor of its own */

void newton_take(Arena *arena, size_t bones, Bench *bench) {
    double **squares[] = {&bench->form, &bench->system, &bench->factor};
    double **rotations[] = {&bench->start, &bench->r,    &bench->tried, &bench->change,
                            &bench->left,  &bench->more, &bench->half};
    double **rows[] = {&bench->diagonal, &bench->slope, &bench->step, &bench->left_way, &bench->way};
    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++) {
        *squares[i] = arena_take(arena, 9 * bones * bones, sizeof(double));
    }
    for (size_t i = 0; i < sizeof rotations / sizeof *rotations; i++) {
        *rotations[i] = arena_take(arena, 9 * bones, sizeof(double));
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *rows[i] = arena_take(arena, 3 * bones, sizeof(double));
    }
    bench->mass = arena_take(arena, bones * bones, sizeof(double));
    bench->lever = arena_take(arena, 4 * bones * bones, sizeof(double));
    bench->arm = arena_take(arena, 4 * bones * bones, sizeof(double));
    bench->bone = arena_take(arena, bones, sizeof(int));
    bench->made_for = -1;
    newton_forget(bench);
}

void newton_forget(Bench *bench) {
    bench->age = -1;
}

/* U[b,c] */
static void read_u(const Newton *newton, int b, int c, double u[PAIR]) {
    pass_pair(newton->moments, newton->model->capacity, b, c, u);
}

static const uint8_t *held_in(const Newton *newton, int frame) {
    return newton->model->held + (size_t)frame * (size_t)newton->model->capacity;
}

/* m, s and S of the free bones */
static void read_moments(const Newton *newton, Bench *bench) {
    const size_t n = (size_t)bench->n;
    memset(bench->arm, 0, 4 * n * n * sizeof(double));
    for (size_t b = 0; b < n; b++) {
        for (size_t c = 0; c < n; c++) {
            double u[PAIR];
            read_u(newton, bench->bone[b], bench->bone[c], u);
            bench->mass[b * n + c] = u[15] * (b == c ? 1 + BONE_RIDGE : 1);
            for (size_t i = 0; i < 3; i++) {
                bench->arm[(3 * b + i) * n + c] = u[4 * i + 3];
                for (size_t j = 0; j < 3; j++) {
                    bench->form[(3 * b + i) * 3 * n + 3 * c + j] = u[4 * i + j];
                }
            }
        }
        bench->arm[(3 * n + b) * n + b] = 1;
    }
}

int newton_make(const Newton *newton, int frame, Bench *bench) {
    const uint8_t *held = held_in(newton, frame);
    const size_t all = (size_t)newton->model->bones;
    if (bench->made_for >= 0 && memcmp(held, held_in(newton, bench->made_for), all) == 0) {
        return bench->n > 0;
    }
    bench->made_for = frame;
    bench->n = 0;
    newton_forget(bench);
    for (int b = 0; b < newton->model->bones; b++) {
        double own[PAIR];
        read_u(newton, b, b, own);
        if (!held[b] && own[15] >= BONE_LEAST) {
            bench->bone[bench->n++] = b;
        }
    }
    if (bench->n == 0) {
        return 0;
    }
    const size_t n = (size_t)bench->n;
    read_moments(newton, bench);
    memcpy(bench->lever, bench->arm, 4 * n * n * sizeof(double));
    if (positive_solve(bench->n, bench->mass, 4 * bench->n, bench->lever)) {
        bench->n = 0;
        return 0;
    }
    for (size_t i = 0; i < 3 * n * n; i++) { /* so that F = S + (-X) s' is one product */
        bench->factor[i % n * 3 * n + i / n] = -bench->lever[i];
        bench->system[i % n * 3 * n + i / n] = bench->arm[i];
    }
    product_tn(3 * bench->n, 3 * bench->n, bench->n, bench->factor, 3 * n, bench->system, 3 * n, bench->form,
               3 * n);
    return 1;
}

/* Bones that share no vertex and no edge. One number may be 0 by chance: what neighbours share in the norm is below 0. */
static int share_nothing(const double u[PAIR]) {
    int any = 0;
    for (int i = 0; i < PAIR; i++) {
        any |= u[i] != 0;
    }
    return !any;
}

/* G = M U - C of one bone; returns its part of tr(M (G - C)'), the error less |x|^2 */
static double left_of_bone(const Newton *newton, int frame, int b, double g[3][4]) {
    const size_t row = 4 * (size_t)newton->model->capacity;
    const double *c = newton->moments->c + 3 * (size_t)frame * row + 4 * (size_t)b;
    const double *m = newton->model->transform + 3 * (size_t)frame * row;
    double sum = 0;
    memset(g, 0, 12 * sizeof(double));
    for (int o = 0; o < newton->model->bones; o++) {
        double u[PAIR];
        read_u(newton, o, b, u);
        if (share_nothing(u)) {
            continue;
        }
        for (size_t i = 0; i < 3; i++) {
            const double *mo = m + i * row + 4 * o;
            for (size_t j = 0; j < 4; j++) {
                g[i][j] += mo[0] * u[j] + mo[1] * u[4 + j] + mo[2] * u[8 + j] + mo[3] * u[12 + j];
            }
        }
    }
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 4; k++) {
            g[i][k] -= c[i * row + k];
            sum += m[i * row + 4 * (size_t)b + k] * (g[i][k] - c[i * row + k]);
        }
    }
    return sum;
}

/* d = -(G_t + (R - R0) s) W */
static void find_ways(Bench *bench) {
    const size_t n = (size_t)bench->n;
    memset(bench->way, 0, 3 * n * sizeof(double));
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 4 * n; k++) {
            const size_t at = 3 * n * i + k;
            const double off =
                k < 3 * n ? bench->r[at] - bench->start[at] : bench->left_way[n * i + k - 3 * n];
            for (size_t c = 0; c < n; c++) {
                bench->way[n * i + c] -= off * bench->lever[k * n + c];
            }
        }
    }
}

void newton_read(const Newton *newton, int frame, Bench *bench) {
    const size_t row = 4 * (size_t)newton->model->capacity, n = (size_t)bench->n;
    const double *m = newton->model->transform + 3 * (size_t)frame * row;
    int free_bones = 0;
    bench->error = newton->square[frame];
    for (int b = 0; b < newton->model->bones; b++) {
        double g[3][4];
        bench->error += left_of_bone(newton, frame, b, g);
        if (free_bones < bench->n && bench->bone[free_bones] == b) {
            for (size_t i = 0; i < 3; i++) {
                const size_t to = 3 * (n * i + (size_t)free_bones);
                memcpy(bench->start + to, m + i * row + 4 * b, 3 * sizeof(double));
                memcpy(bench->left + to, g[i], 3 * sizeof(double));
                bench->left_way[n * i + (size_t)free_bones] = g[i][3];
            }
            free_bones++;
        }
    }
    memcpy(bench->r, bench->start, 9 * n * sizeof(double));
    find_ways(bench);
    for (size_t i = 0; i < 3 * n; i++) {
        bench->error += bench->left_way[i] * bench->way[i];
    }
    for (size_t i = 0; i < 9 * n; i++) { /* G_R - G_t X' = G_R + d s' */
        const double *arm = bench->arm + i % (3 * n) * n, *way = bench->way + i / (3 * n) * n;
        for (size_t k = 0; k < n; k++) {
            bench->left[i] += way[k] * arm[k];
        }
    }
    bench->fall = 0;
    bench->damping = NEWTON_DAMPING;
}

/* half = R_b F_b, its columns up to bone b's */
static void turn_form(Bench *bench, int b) {
    const size_t n = 3 * (size_t)bench->n, columns = 3 * (size_t)b + 3;
    const double *f = bench->form + 3 * (size_t)b * n;
    for (size_t i = 0; i < 3; i++) {
        const double *r = bench->r + i * n + 3 * (size_t)b;
        for (size_t c = 0; c < columns; c++) {
            bench->half[i * n + c] = r[0] * f[c] + r[1] * f[n + c] + r[2] * f[2 * n + c];
        }
    }
}

/* a = R_b F_bc R_c' */
static void turned_form(const Bench *bench, int c, double a[9]) {
    const size_t n = 3 * (size_t)bench->n;
    for (size_t i = 0; i < 9; i++) {
        const double *h = bench->half + i / 3 * n + 3 * (size_t)c, *r = bench->r + i % 3 * n + 3 * (size_t)c;
        a[i] = h[0] * r[0] + h[1] * r[1] + h[2] * r[2];
    }
}

/* k = G_b R_b' */
static void turned_left(const Bench *bench, int b, double k[9]) {
    const size_t n = 3 * (size_t)bench->n;
    for (size_t i = 0; i < 9; i++) {
        const double *g = bench->left + i / 3 * n + 3 * (size_t)b, *r = bench->r + i % 3 * n + 3 * (size_t)b;
        k[i] = g[0] * r[0] + g[1] * r[1] + g[2] * r[2];
    }
}

static void find_slope(Bench *bench) {
    for (int b = 0; b < bench->n; b++) {
        double k[9], *slope = bench->slope + 3 * b;
        turned_left(bench, b, k);
        slope[0] = k[7] - k[5];
        slope[1] = k[2] - k[6];
        slope[2] = k[3] - k[1];
    }
}

/* LAPACK reads the lower triangle of rows. */
static void fill_system(Bench *bench) {
    const size_t n = 3 * (size_t)bench->n;
    double trace = 0;
    for (int b = 0; b < bench->n; b++) {
        double k[9], a[9];
        turn_form(bench, b);
        for (int c = 0; c <= b; c++) {
            double *to = bench->system + 3 * ((size_t)b * n + (size_t)c);
            turned_form(bench, c, a);
            for (size_t i = 0; i < 9; i++) {
                to[i / 3 * n + i % 3] = (i % 4 == 0 ? a[0] + a[4] + a[8] : 0) - a[i % 3 * 3 + i / 3];
            }
        }
        turned_left(bench, b, k);
        double *own = bench->system + 3 * ((size_t)b * n + (size_t)b);
        for (size_t i = 0; i < 3; i++) {
            bench->diagonal[3 * (size_t)b + i] = own[i * n + i];
            trace += own[i * n + i];
        }
        for (size_t i = 0; i < 9; i++) {
            own[i / 3 * n + i % 3] +=
                0.5 * (k[i] + k[i % 3 * 3 + i / 3]) - (i % 4 == 0 ? k[0] + k[4] + k[8] : 0);
        }
    }
    for (size_t i = 0; i < n; i++) {
        bench->system[i * n + i] += BONE_RIDGE * trace / (double)n + DBL_MIN;
    }
}

/* The damped system where the bones are now; 0 when it is not positive definite, whatever the damping. */
static int factorise(Bench *bench) {
    const size_t n = 3 * (size_t)bench->n;
    fill_system(bench);
    for (int try = 0; try < NEWTON_TRIES; try++, bench->damping *= MORE_DAMPING) {
        memcpy(bench->factor, bench->system, n * n * sizeof(double));
        for (size_t i = 0; i < n; i++) {
            bench->factor[i * n + i] += bench->damping * bench->diagonal[i];
        }
        if (positive_factor((int)n, bench->factor) == 0) {
            bench->age = 0;
            return 1;
        }
    }
    return 0;
}

/* The step by the factor; returns the largest turn of a bone. */
static double find_step(Bench *bench) {
    const size_t n = 3 * (size_t)bench->n;
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        bench->step[i] = -bench->slope[i];
    }
    positive_solve_one((int)n, bench->factor, bench->step);
    for (size_t i = 0; i < n; i += 3) {
        const double *w = bench->step + i;
        most = fmax(most, w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    }
    return sqrt(most);
}

/* No turn larger than allowed. */
static void shorten_step(Bench *bench, double turn) {
    for (int i = 0; i < 3 * bench->n && turn > LARGEST_TURN; i++) {
        bench->step[i] *= LARGEST_TURN / turn;
    }
}

/* Tries the step; returns by how much the error falls. */
static double try_step(Bench *bench) {
    const size_t n = 3 * (size_t)bench->n;
    double fall = 0;
    memcpy(bench->tried, bench->r, 3 * n * sizeof(double));
    for (int b = 0; b < bench->n; b++) {
        rotation3_turn(bench->step + 3 * b, bench->tried + 3 * b, n);
    }
    for (size_t i = 0; i < 3 * n; i++) {
        bench->change[i] = bench->tried[i] - bench->r[i];
    }
    memset(bench->more, 0, 3 * n * sizeof(double));
    product_nn(3, (int)n, (int)n, bench->change, n, bench->form, n, bench->more, n);
    for (size_t i = 0; i < 3 * n; i++) {
        fall -= bench->change[i] * (2 * bench->left[i] + bench->more[i]);
    }
    return fall;
}

/* Takes the step that was tried. */
static void accept(Bench *bench, double fall) {
    const size_t n = 3 * (size_t)bench->n;
    memcpy(bench->r, bench->tried, 3 * n * sizeof(double));
    for (size_t i = 0; i < 3 * n; i++) {
        bench->left[i] += bench->more[i];
    }
    bench->damping *= bench->age == 0 ? LESS_DAMPING : 1;
    bench->age = bench->fall > 0 && fall > STALE * bench->fall ? -1 : bench->age + 1;
    bench->fall = fall;
    bench->error -= fall;
}

double newton_step(Bench *bench) {
    find_slope(bench);
    for (int try = 0; try < NEWTON_TRIES && (bench->age >= 0 || factorise(bench)); try++) {
        const double turn = find_step(bench);
        shorten_step(bench, turn);
        const double fall = isfinite(turn) ? try_step(bench) : 0;
        if (fall > 0) {
            accept(bench, fall);
            return fall;
        }
        bench->damping *= bench->age == 0 ? MORE_DAMPING : 1; /* an old factor is to blame itself */
        bench->age = -1;
    }
    return 0;
}

void newton_write(const Newton *newton, int frame, Bench *bench) {
    const size_t row = 4 * (size_t)newton->model->capacity, n = (size_t)bench->n;
    find_ways(bench);
    for (size_t i = 0; i < 3; i++) {
        double *m = newton->model->transform + (3 * (size_t)frame + i) * row;
        for (size_t b = 0; b < n; b++) {
            memcpy(m + 4 * bench->bone[b], bench->r + 3 * (n * i + b), 3 * sizeof *m);
            m[4 * bench->bone[b] + 3] += bench->way[n * i + b];
        }
    }
}

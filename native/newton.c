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
 * too. A few sweeps go first: they find their way from far off, where Newton's steps must be damped.
 * Ways that the vertices do not determine stay: W has a ridge, which counts from the start and so cannot
 * raise the error either. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "math/lapack.h"
#include "math/rotation3.h"
#include "track.h"

enum { TRIES = 12, FIRST_SWEEPS = 4 };

static const double FIRST_DAMPING = 1e-2, LESS_DAMPING = 0.1, MORE_DAMPING = 30;
static const double RIDGE = 1e-9;         /* of the diagonal: what no vertex determines stays */
static const double LARGEST_TURN = 0.5;   /* radians a step */
static const double FLAT = 1e-6;          /* of the squared error: after a smaller fall none is left */
static const double ROUNDING = 1e-13;     /* of |x|^2: no error below it is known */
static const double INSIGNIFICANT = 1e-9; /* sum of squared weights below which a bone stays */

/* A worker's scratch; n bones are free, and matrices of rotations are 3 x 3n. */
typedef struct Bench {
    int n, made_for; /* the frame whose free bones these are; -1: none yet */
    int *bone;       /* [n] */
    double *mass;    /* [n][n] m */
    double *lever;   /* [4n][n] X, and W below it */
    double *arm;     /* [4n][n] s, and I below it */
    double *form;    /* [3n][3n] F */
    double *system, *damped;
    double *diagonal, *slope, *step;    /* [3n]; the diagonal is Gauss-Newton's */
    double *start, *r, *tried, *change; /* R0, R, exp[w] R and its difference to R */
    double *left, *more;                /* G, and (change) F */
    double *left_way, *way;             /* [3][n] G_t, and d */
} Bench;

typedef struct Newton {
    Call *call;
    Model *model;
    const Moments *moments;
    const double *square; /* [f] sum |x|^2 */
    int most, *taken;     /* steps: at most, and of each frame */
    Bench *bench;         /* [workers] */
} Newton;

static void bench_take(Arena *arena, size_t bones, Bench *bench) {
    double **squares[] = {&bench->form, &bench->system, &bench->damped};
    double **rotations[] = {&bench->start,  &bench->r,    &bench->tried,
                            &bench->change, &bench->left, &bench->more};
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
}

static const double *u_at(const Newton *newton, int b, int c) {
    return newton->moments->u + ((size_t)b * (size_t)newton->model->capacity + (size_t)c) * MONOMIALS;
}

static const uint8_t *held_in(const Newton *newton, int frame) {
    return newton->model->held + (size_t)frame * (size_t)newton->model->capacity;
}

/* m, s and S of the free bones */
static void read_moments(const Newton *newton, Bench *bench) {
    static const int SECOND[9] = {0, 3, 4, 3, 1, 5, 4, 5, 2};
    const size_t n = (size_t)bench->n;
    memset(bench->arm, 0, 4 * n * n * sizeof(double));
    for (size_t b = 0; b < n; b++) {
        for (size_t c = 0; c < n; c++) {
            const double *u = u_at(newton, bench->bone[b], bench->bone[c]);
            bench->mass[b * n + c] = u[9] * (b == c ? 1 + RIDGE : 1);
            for (size_t i = 0; i < 3; i++) {
                bench->arm[(3 * b + i) * n + c] = u[6 + i];
                for (size_t j = 0; j < 3; j++) {
                    bench->form[(3 * b + i) * 3 * n + 3 * c + j] = u[SECOND[3 * i + j]];
                }
            }
        }
        bench->arm[(3 * n + b) * n + b] = 1;
    }
}

/* Which bones are free in a frame, and F, X and W for them; 0 when there is nothing to solve. */
static int bench_make(const Newton *newton, int frame, Bench *bench) {
    const uint8_t *held = held_in(newton, frame);
    const size_t all = (size_t)newton->model->bones;
    if (bench->made_for >= 0 && memcmp(held, held_in(newton, bench->made_for), all) == 0) {
        return bench->n > 0;
    }
    bench->made_for = frame;
    bench->n = 0;
    for (int b = 0; b < newton->model->bones; b++) {
        if (!held[b] && u_at(newton, b, b)[9] >= INSIGNIFICANT) {
            bench->bone[bench->n++] = b;
        }
    }
    if (bench->n == 0) {
        return 0;
    }
    const size_t n = (size_t)bench->n;
    read_moments(newton, bench);
    memcpy(bench->lever, bench->arm, 4 * n * n * sizeof(double));
    if (solve_positive(bench->n, bench->mass, 4 * bench->n, bench->lever)) {
        bench->n = 0;
        return 0;
    }
    for (size_t i = 0; i < 3 * n * n; i++) { /* so that F = S + (-X) s' is one product */
        bench->damped[i % n * 3 * n + i / n] = -bench->lever[i];
        bench->system[i % n * 3 * n + i / n] = bench->arm[i];
    }
    multiply_tn(3 * bench->n, 3 * bench->n, bench->n, bench->damped, 3 * bench->n, bench->system,
                3 * bench->n, 1, bench->form, 3 * bench->n);
    return 1;
}

/* G = M U - C of one bone; returns its part of tr(M (G - C)'), the error less |x|^2 */
static double left_of_bone(const Newton *newton, int frame, int b, double g[3][4]) {
    const size_t row = 4 * (size_t)newton->model->capacity;
    const double *c = newton->moments->c + 3 * (size_t)frame * row + 4 * (size_t)b;
    const double *m = newton->model->transform + 3 * (size_t)frame * row;
    double sum = 0;
    memset(g, 0, 12 * sizeof(double));
    for (int o = 0; o < newton->model->bones; o++) {
        const double *u = u_at(newton, b, o);
        for (size_t i = 0; i < 3 && u[9] > 0; i++) {
            const double *mo = m + i * row + 4 * o;
            g[i][0] += mo[0] * u[0] + mo[1] * u[3] + mo[2] * u[4] + mo[3] * u[6];
            g[i][1] += mo[0] * u[3] + mo[1] * u[1] + mo[2] * u[5] + mo[3] * u[7];
            g[i][2] += mo[0] * u[4] + mo[1] * u[5] + mo[2] * u[2] + mo[3] * u[8];
            g[i][3] += mo[0] * u[6] + mo[1] * u[7] + mo[2] * u[8] + mo[3] * u[9];
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
    for (size_t i = 0; i < 3; i++) {
        for (size_t c = 0; c < n; c++) {
            double sum = 0;
            for (size_t k = 0; k < 3 * n; k++) {
                sum += (bench->r[3 * n * i + k] - bench->start[3 * n * i + k]) * bench->lever[k * n + c];
            }
            for (size_t k = 0; k < n; k++) {
                sum += bench->left_way[n * i + k] * bench->lever[(3 * n + k) * n + c];
            }
            bench->way[n * i + c] = -sum;
        }
    }
}

/* R0 and G of a frame, its ways at their best; returns the error then. */
static double read_frame(const Newton *newton, int frame, Bench *bench) {
    const size_t row = 4 * (size_t)newton->model->capacity, n = (size_t)bench->n;
    const double *m = newton->model->transform + 3 * (size_t)frame * row;
    double error = newton->square[frame];
    int free_bones = 0;
    for (int b = 0; b < newton->model->bones; b++) {
        double g[3][4];
        error += left_of_bone(newton, frame, b, g);
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
        error += bench->left_way[i] * bench->way[i];
    }
    for (size_t i = 0; i < 9 * n; i++) { /* G_R - G_t X' = G_R + d s' */
        const double *arm = bench->arm + i % (3 * n) * n, *way = bench->way + i / (3 * n) * n;
        for (size_t k = 0; k < n; k++) {
            bench->left[i] += way[k] * arm[k];
        }
    }
    return error;
}

/* a = R_b F_bc R_c' */
static void turned_form(const Bench *bench, int b, int c, double a[9]) {
    const size_t n = 3 * (size_t)bench->n;
    const double *f = bench->form + 3 * (size_t)b * n + 3 * (size_t)c;
    double half[9];
    for (size_t i = 0; i < 9; i++) {
        const double *r = bench->r + i / 3 * n + 3 * (size_t)b, *column = f + i % 3;
        half[i] = r[0] * column[0] + r[1] * column[n] + r[2] * column[2 * n];
    }
    for (size_t i = 0; i < 9; i++) {
        const double *h = half + i / 3 * 3, *r = bench->r + i % 3 * n + 3 * (size_t)c;
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

/* LAPACK reads the lower triangle of rows. */
static void fill_system(Bench *bench) {
    const size_t n = 3 * (size_t)bench->n;
    double trace = 0;
    for (int b = 0; b < bench->n; b++) {
        double k[9], a[9];
        for (int c = 0; c <= b; c++) {
            double *to = bench->system + 3 * ((size_t)b * n + (size_t)c);
            turned_form(bench, b, c, a);
            for (size_t i = 0; i < 9; i++) {
                to[i / 3 * n + i % 3] = (i % 4 == 0 ? a[0] + a[4] + a[8] : 0) - a[i % 3 * 3 + i / 3];
            }
        }
        turned_left(bench, b, k);
        double *own = bench->system + 3 * ((size_t)b * n + (size_t)b), *slope = bench->slope + 3 * b;
        slope[0] = k[7] - k[5];
        slope[1] = k[2] - k[6];
        slope[2] = k[3] - k[1];
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
        bench->system[i * n + i] += RIDGE * trace / (double)n + DBL_MIN;
    }
}

/* The step of the damped system, no turn larger than allowed; 0 when there is none. */
static int find_step(Bench *bench, double damping) {
    const size_t n = 3 * (size_t)bench->n;
    double most = 0;
    memcpy(bench->damped, bench->system, n * n * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        bench->damped[i * n + i] += damping * bench->diagonal[i];
        bench->step[i] = -bench->slope[i];
    }
    if (solve_positive((int)n, bench->damped, 1, bench->step)) {
        return 0;
    }
    for (size_t i = 0; i < n; i += 3) {
        const double *w = bench->step + i;
        most = fmax(most, w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    }
    const double scale = most > LARGEST_TURN * LARGEST_TURN ? LARGEST_TURN / sqrt(most) : 1;
    for (size_t i = 0; i < n; i++) {
        bench->step[i] *= scale;
    }
    return isfinite(most);
}

/* Tries the step; returns by how much the error falls. */
static double try_step(Bench *bench) {
    const size_t n = 3 * (size_t)bench->n;
    double fall = 0;
    memcpy(bench->tried, bench->r, 3 * n * sizeof(double));
    for (int b = 0; b < bench->n; b++) {
        rotation_turn(bench->step + 3 * b, bench->tried + 3 * b, n);
    }
    for (size_t i = 0; i < 3 * n; i++) {
        bench->change[i] = bench->tried[i] - bench->r[i];
    }
    multiply_nn(3, (int)n, (int)n, bench->change, (int)n, bench->form, (int)n, 0, bench->more, (int)n);
    for (size_t i = 0; i < 3 * n; i++) {
        fall -= bench->change[i] * (2 * bench->left[i] + bench->more[i]);
    }
    return fall;
}

/* One accepted step; returns by how much the error fell, 0 if no step lowers it. */
static double improve(Bench *bench, double *damping) {
    const size_t n = 3 * (size_t)bench->n;
    fill_system(bench);
    for (int try = 0; try < TRIES; try++, *damping *= MORE_DAMPING) {
        const double fall = find_step(bench, *damping) ? try_step(bench) : 0;
        if (fall > 0) {
            memcpy(bench->r, bench->tried, 3 * n * sizeof(double));
            for (size_t i = 0; i < 3 * n; i++) {
                bench->left[i] += bench->more[i];
            }
            *damping *= LESS_DAMPING;
            return fall;
        }
    }
    return 0;
}

static void write_frame(const Newton *newton, int frame, Bench *bench) {
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

static void solve_frame(void *user, int frame, int worker) {
    Newton *newton = user;
    Bench *bench = &newton->bench[worker];
    if (newton->call->cancelled || !bench_make(newton, frame, bench)) {
        return;
    }
    double error = read_frame(newton, frame, bench), damping = FIRST_DAMPING;
    const double least = ROUNDING * newton->square[frame];
    int step = 0;
    for (int settled = 0; step < newton->most && !settled && !newton->call->cancelled; step++) {
        if (worker == 0) {
            call_poll(newton->call, -1);
        }
        const double fall = improve(bench, &damping);
        error -= fall;
        settled = fall <= FLAT * fmax(error, least);
    }
    newton->taken[frame] = step;
    write_frame(newton, frame, bench);
}

int newton_settle(Call *call, const Problem *problem, Model *model, Moments *moments, int most,
                  const double *square) {
    const int workers = pool_workers(call->pool), sweeps = most < FIRST_SWEEPS ? most : FIRST_SWEEPS;
    Newton newton = {
        .call = call, .model = model, .moments = moments, .square = square, .most = most - sweeps};
    int slowest = 0;
    newton.taken = arena_take(&call->arena, (size_t)problem->frames, sizeof(int));
    newton.bench = arena_take(&call->arena, (size_t)workers, sizeof(Bench));
    for (int i = 0; i < workers && !call->arena.failed; i++) {
        bench_take(&call->arena, (size_t)model->bones, &newton.bench[i]);
    }
    if (call->arena.failed || !transforms_update(call, problem, model, moments, 0, sweeps)) {
        return -1;
    }
    pool_run(call->pool, problem->frames, solve_frame, &newton);
    for (int f = 0; f < problem->frames; f++) {
        slowest = newton.taken[f] > slowest ? newton.taken[f] : slowest;
    }
    return call->cancelled ? -1 : sweeps + slowest;
}

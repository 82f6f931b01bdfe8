/* transforms.c - all bones of all frames from moments, no vertex touched.
 *
 * Le & Deng 2012 (SSDR), Algorithm 2 and Eq. 6-10. In frame f, with C[b] = sum_v w_b x p~' and
 * U[b,c] = sum_v w_b w_c p~ p~' = [S s; s' m], what the other bones leave to bone b is
 *     Y = [Y3 | y] = C[b] - sum_{c != b} M[c] U[c,b],
 * the best rotation maximises trace(R' (Y3 - y s'/m)), and t = (y - R s) / m. Bones are updated one
 * by one, so the error cannot rise; the moments make further sweeps cheap.
 * Flexible bones: the affine optimum of all bones at once, M U = C, one Cholesky for all frames. */
#include "descent/transforms.h"

#include <math.h>
#include <string.h>

#include "core/tolerances.h"
#include "descent/tolerances.h"
#include "math/positive.h"
#include "math/rotation3.h"

enum { LOOK = 4 }; /* sweeps between two looks at the error */

static const double SWEEP_FLAT = 3e-4; /* of the squared error: a smaller fall between looks is none */

typedef struct Update {
    Call *call;
    const Problem *problem;
    Model *model;
    const Moments *moments;
    int sweeps;
    Sharing sharing;
    const double *square; /* [frames] sum |x|^2: a frame is done when its error no longer falls; or NULL */
    int *taken;           /* [frames] sweeps that a frame took */
} Update;

static int holds(const Model *model, int frame, int b) {
    return model->held[(size_t)frame * (size_t)model->capacity + (size_t)b];
}

static void read_u(const Update *update, int b, int c, double u[PAIR]) {
    pass_pair(update->moments, update->model->capacity, b, c, u);
}

/* y = C[b] - sum over the others of M[c] U[c,b] */
static void left_for_bone(const Update *update, int frame, int b, double y[3][4]) {
    const size_t row = 4 * (size_t)update->model->capacity;
    const double *c = update->moments->c + 3 * (size_t)frame * row;
    const double *m = update->model->transform + 3 * (size_t)frame * row;
    for (size_t i = 0; i < 3; i++) {
        memcpy(y[i], c + i * row + 4 * b, 4 * sizeof(double)); /* Y = C[b] */
    }
    for (int e = update->sharing.first[b]; e < update->sharing.first[b + 1]; e++) {
        const int o = update->sharing.other[e];
        double u[PAIR];
        read_u(update, o, b, u);
        for (size_t i = 0; i < 3; i++) {
            const double *mo = m + i * row + 4 * o;
            for (size_t j = 0; j < 4; j++) {
                y[i][j] -= mo[0] * u[j] + mo[1] * u[4 + j] + mo[2] * u[8 + j] +
                           mo[3] * u[12 + j]; /* Y -= M[o] U[o,b] */
            }
        }
    }
}

static void fit_rigid(const Update *update, int frame, int b) {
    double own[PAIR];
    read_u(update, b, b, own);
    const double mass = own[15], s[3] = {own[12], own[13], own[14]}; /* U[b,b] = [S s; s' m] */
    if (mass < BONE_LEAST || holds(update->model, frame, b)) {
        return;
    }
    double y[3][4], h[9], r[9];
    left_for_bone(update, frame, b, y);
    double *m =
        update->model->transform + 4 * ((size_t)frame * 3 * (size_t)update->model->capacity + (size_t)b);
    const size_t row = 4 * (size_t)update->model->capacity;
    const double spread = own[0] + own[5] + own[10] - (s[0] * s[0] + s[1] * s[1] + s[2] * s[2]) / mass;
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 3; j++) {
            r[3 * i + j] = m[i * row + j];
            h[3 * i + j] =
                y[i][j] - y[i][3] * s[j] / mass + BONE_RIDGE * spread * r[3 * i + j]; /* H = Y3 - y s'/m */
        }
    }
    rotation3_nearest(h, r, r); /* R = argmax trace(R' H) */
    for (size_t i = 0; i < 3; i++) {
        const double turned = r[3 * i] * s[0] + r[3 * i + 1] * s[1] + r[3 * i + 2] * s[2];
        memcpy(m + i * row, r + 3 * i, 3 * sizeof *r);
        m[i * row + 3] = (y[i][3] - turned) / mass; /* t = (y - R s) / m */
    }
}

/* The affine optimum of one bone, the others staying: M U[b,b] = Y */
static void fit_flexible(const Update *update, int frame, int b) {
    const size_t row = 4 * (size_t)update->model->capacity;
    double *m = update->model->transform + 3 * (size_t)frame * row + 4 * (size_t)b;
    double y[3][4], own[PAIR];
    read_u(update, b, b, own);
    if (own[15] < BONE_LEAST || holds(update->model, frame, b)) {
        return;
    }
    const double ridge = BONE_RIDGE * (own[0] + own[5] + own[10] + own[15]) / 4;
    left_for_bone(update, frame, b, y);
    for (size_t i = 0; i < 4; i++) {
        own[5 * i] += ridge;
        for (size_t k = 0; k < 3; k++) {
            y[k][i] += ridge * m[k * row + i];
        }
    }
    if (positive_solve(4, own, 3, y[0]) == 0) {
        for (size_t i = 0; i < 3; i++) {
            memcpy(m + i * row, y[i], sizeof y[i]);
        }
    }
}

/* |x|^2 - 2 tr(M C') + tr(M U M'), no less than what rounding leaves */
static double frame_error(const Update *update, int frame) {
    const size_t row = 4 * (size_t)update->model->capacity;
    double sum = update->square[frame]; /* sum_v |x|^2 */
    for (int b = 0; b < update->model->bones; b++) {
        const double *c = update->moments->c + 3 * (size_t)frame * row + 4 * (size_t)b;
        const double *m = update->model->transform + 3 * (size_t)frame * row + 4 * (size_t)b;
        double y[3][4], own[PAIR];
        left_for_bone(update, frame, b, y);
        read_u(update, b, b, own);
        for (size_t i = 0; i < 3; i++) {
            for (size_t j = 0; j < 4; j++) {
                double mu = 0;
                for (size_t k = 0; k < 4; k++) {
                    mu += m[i * row + k] * own[4 * k + j]; /* M[b] U[b,b] */
                }
                sum -= m[i * row + j] * (c[i * row + j] + y[i][j] - mu);
            }
        }
    }
    return fmax(sum, FLOAT_NOISE * update->square[frame]);
}

static void sweep_once(const Update *update, int frame) {
    for (int b = 0; b < update->model->bones; b++) {
        fit_rigid(update, frame, b);
    }
}

static void sweep_frame(void *user, int frame, int worker) {
    const Update *update = user;
    double error = INFINITY;
    int sweep = 0;
    for (int flat = 0; sweep < update->sweeps && !flat && !update->call->cancelled; sweep++) {
        if (worker == 0) {
            call_poll(update->call, -1);
        }
        sweep_once(update, frame);
        if (update->square && sweep % LOOK == LOOK - 1) {
            const double now = frame_error(update, frame);
            flat = error - now <= SWEEP_FLAT * now;
            error = now;
        }
    }
    if (update->taken) {
        update->taken[frame] = sweep;
    }
}

/* The affine optimum of frames that hold the same bones. */
typedef struct Affine {
    Update *update;
    int bones, frames;       /* how many are free, and how many frames there are */
    int *free_bone, *frame;  /* which */
    uint8_t *solved;         /* [frames of the problem] */
    double *system, *answer; /* [4n][4n], [3 frames][4n] */
} Affine;

static double affine_ridge(const Affine *affine) {
    double trace = 0;
    for (int i = 0; i < affine->bones; i++) {
        double own[PAIR];
        read_u(affine->update, affine->free_bone[i], affine->free_bone[i], own);
        trace += own[0] + own[5] + own[10] + own[15];
    }
    return BONE_RIDGE * trace / (4.0 * affine->bones) + 1e-300;
}

static void fill_system(const Affine *affine, double ridge) {
    const size_t n = (size_t)affine->bones, size = 4 * n;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            double block[PAIR];
            read_u(affine->update, affine->free_bone[i], affine->free_bone[j], block);
            for (size_t k = 0; k < 16; k++) {
                affine->system[(4 * i + k / 4) * size + 4 * j + k % 4] = block[k];
            }
        }
    }
    for (size_t i = 0; i < size; i++) {
        affine->system[i * size + i] += ridge;
    }
}

/* C' - held bones' part + ridge M' of one row */
static void fill_right(const Affine *affine, int frame, size_t row, double ridge, double *out) {
    const Update *update = affine->update;
    const Model *model = update->model;
    const double *c = update->moments->c + row * 4 * (size_t)model->capacity;
    const double *m = model->transform + row * 4 * (size_t)model->capacity;
    for (int i = 0; i < affine->bones; i++, out += 4) {
        const int to = affine->free_bone[i];
        for (int k = 0; k < 4; k++) {
            out[k] = c[4 * to + k] + ridge * m[4 * to + k]; /* C' + ridge M' */
        }
        for (int b = 0; b < model->bones; b++) {
            if (holds(model, frame, b)) {
                double block[PAIR];
                read_u(update, b, to, block);
                for (int k = 0; k < 16; k++) {
                    out[k % 4] -= m[4 * b + k / 4] * block[k]; /* - U[to,b] M[b]', b held */
                }
            }
        }
    }
}

/* (U + ridge) M' = C' - held bones' part + ridge M', over the free bones; if that is too degenerate to improve
 * anything, the bones stay. */
static void solve_affine(Affine *affine) {
    Model *model = affine->update->model;
    const size_t size = 4 * (size_t)affine->bones, ld = 4 * (size_t)model->capacity;
    const double ridge = affine_ridge(affine);
    fill_system(affine, ridge);
    for (int i = 0; i < 3 * affine->frames; i++) {
        const int frame = affine->frame[i / 3];
        fill_right(affine, frame, 3 * (size_t)frame + (size_t)(i % 3), ridge,
                   affine->answer + (size_t)i * size);
    }
    if (positive_solve((int)size, affine->system, 3 * affine->frames, affine->answer)) {
        return;
    }
    for (int i = 0; i < 3 * affine->frames; i++) {
        double *m = model->transform + (3 * (size_t)affine->frame[i / 3] + (size_t)(i % 3)) * ld;
        for (int j = 0; j < affine->bones; j++) {
            memcpy(m + 4 * affine->free_bone[j], affine->answer + (size_t)i * size + 4 * (size_t)j,
                   4 * sizeof *m);
        }
    }
}

/* Frames from `first` on that hold what it holds, and the bones that are free in them. */
static void gather_alike(Affine *affine, int first) {
    const Model *model = affine->update->model;
    const uint8_t *held = model->held + (size_t)first * (size_t)model->capacity;
    affine->bones = affine->frames = 0;
    for (int b = 0; b < model->bones; b++) {
        if (!held[b]) {
            affine->free_bone[affine->bones++] = b;
        }
    }
    for (int f = first; f < affine->update->problem->frames; f++) {
        const uint8_t *other = model->held + (size_t)f * (size_t)model->capacity;
        if (!affine->solved[f] && memcmp(held, other, (size_t)model->bones) == 0) {
            affine->solved[f] = 1;
            affine->frame[affine->frames++] = f;
        }
    }
}

static int fit_affine(Update *update) {
    Arena *arena = &update->call->arena;
    const size_t size = 4 * (size_t)update->model->bones, frames = (size_t)update->problem->frames;
    Affine affine = {.update = update};
    affine.free_bone = arena_take(arena, size, sizeof(int));
    affine.frame = arena_take(arena, frames, sizeof(int));
    affine.solved = arena_take(arena, frames, 1);
    affine.system = arena_take(arena, size * size, sizeof(double));
    affine.answer = arena_take(arena, 3 * frames * size, sizeof(double));
    for (int f = 0; f < update->problem->frames && !arena->failed && !call_poll(update->call, -1); f++) {
        if (!affine.solved[f]) {
            gather_alike(&affine, f);
            if (affine.bones > 0) {
                solve_affine(&affine);
            }
        }
    }
    return !arena->failed;
}

int transforms_share(Arena *arena, const Model *model, const Moments *moments, Sharing *sharing) {
    const size_t bones = (size_t)model->bones;
    int count = 0;
    sharing->first = arena_take(arena, bones + 1, sizeof(int));
    sharing->other = arena_take(arena, bones * bones, sizeof(int));
    if (arena->failed) {
        return 0;
    }
    for (int b = 0; b < model->bones; b++) {
        for (int c = 0; c < model->bones; c++) {
            const size_t pair = (size_t)b * (size_t)model->capacity + (size_t)c;
            const int whole = moments->whole && moments->whole[pair * PAIR + PAIR - 1] != 0;
            if (c != b && (moments->whole ? whole : moments->u[pair * MONOMIALS + 9] > 0)) {
                sharing->other[count++] = c;
            }
        }
        sharing->first[b + 1] = count;
    }
    return 1;
}

void transforms_sweep(Model *model, const Moments *moments, Sharing sharing, int frame) {
    const Update update = {.model = model, .moments = moments, .sharing = sharing};
    sweep_once(&update, frame);
}

void transforms_sweep_flexible(Model *model, const Moments *moments, Sharing sharing, int frame) {
    const Update update = {.model = model, .moments = moments, .sharing = sharing};
    for (int b = 0; b < model->bones; b++) {
        fit_flexible(&update, frame, b);
    }
}

static int run(Update *update, int flexible) {
    Call *call = update->call;
    ArenaPiece *mark = arena_mark(&call->arena);
    int done;
    if (flexible) {
        done = fit_affine(update);
    } else {
        done = transforms_share(&call->arena, update->model, update->moments, &update->sharing);
        parallel_run(call->pool, done ? update->problem->frames : 0, sweep_frame, update);
    }
    arena_return(&call->arena, mark);
    return done && !call->cancelled;
}

int transforms_update(Call *call, const Problem *problem, Model *model, Moments *moments, int flexible,
                      int sweeps) {
    Update update = {.call = call, .problem = problem, .model = model, .moments = moments, .sweeps = sweeps};
    return run(&update, flexible);
}

int transforms_converge(Call *call, const Problem *problem, Model *model, Moments *moments, int flexible,
                        int most, const double *square) {
    Update update = {.call = call,
                     .problem = problem,
                     .model = model,
                     .moments = moments,
                     .sweeps = most,
                     .square = square};
    int slowest = 0;
    update.taken = arena_take(&call->arena, (size_t)problem->frames, sizeof(int));
    if (!update.taken || !run(&update, flexible)) {
        return -1;
    }
    for (int f = 0; f < problem->frames; f++) {
        slowest = update.taken[f] > slowest ? update.taken[f] : slowest;
    }
    return slowest;
}

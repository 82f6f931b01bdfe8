/* settle.c - the rigid bones of all frames of a clip, settled by Newton's method (newton.c).
 *
 * A frame goes on as the two before moved, if one step from there comes near the error of the last: most do where
 * a clip is smooth, and are spared the way from far off. Else it starts from a guess of its own, and a few sweeps
 * go first: they find that way, where Newton's steps must be damped. What is not as near would settle elsewhere
 * at times, and higher. Runs of frames have a fixed length, so that no answer depends on who solves which. */
#include <math.h>
#include <string.h>

#include "math/rotation3.h"
#include "newton.h"
#include "track.h"

enum {
    FIRST_SWEEPS = 4,
    RUN = 16,      /* frames */
    POLL_EVERY = 8 /* steps, between two looks at a wish to cancel */
};

static const double AS_NEAR = 1.5;    /* times the error of the frame before: it led on to this one */
static const double FLAT = 1e-9;      /* of the squared error: after a smaller fall none is left */
static const double ROUNDING = 1e-13; /* of |x|^2: no error below it is known */

typedef struct Settle {
    Call *call;
    Newton newton;
    Sharing sharing;
    Bench *bench; /* [workers] */
    int frames;
    int most, *taken; /* sweeps and steps: at most, and of each frame */
    PoolTask guess;   /* where a frame starts, or NULL: where it is */
    void *guess_user;
} Settle;

/* No error of a frame is known to be smaller. */
static double known(const Settle *settle, int frame, double error) {
    return fmax(error, ROUNDING * settle->newton.square[frame]);
}

/* r = R_last R_before' R_last; rows of both are `row` numbers apart */
static void turn_on(const double *last, const double *before, size_t row, double r[9]) {
    double turn[9];
    for (size_t i = 0; i < 9; i++) {
        const double *a = last + i / 3 * row, *b = before + i % 3 * row;
        turn[i] = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    }
    for (size_t i = 0; i < 9; i++) {
        const double *a = turn + i / 3 * 3, *b = last + i % 3;
        r[i] = a[0] * b[0] + a[1] * b[row] + a[2] * b[2 * row];
    }
    rotation_clean(r); /* else rounding would double from frame to frame */
}

/* The free bones as the frame before has them, or, after two of the run, moved on as they moved last. */
static void lead_on(const Newton *newton, int frame, const Bench *bench) {
    const size_t row = 4 * (size_t)newton->model->capacity;
    for (int n = 0; n < bench->n; n++) {
        double *m = newton->model->transform + 3 * (size_t)frame * row + 4 * bench->bone[n], r[9];
        const double *last = m - 3 * row, *before = frame % RUN > 1 ? last - 3 * row : last;
        turn_on(last, before, row, r);
        for (size_t i = 0; i < 3; i++, m += row) {
            memcpy(m, r + 3 * i, 3 * sizeof *r);
            m[3] = 2 * last[i * row + 3] - before[i * row + 3];
        }
    }
}

/* A step from where the frames before lead; 0 when that does not come near the error of the last. */
static int go_on(const Settle *settle, int frame, Bench *bench) {
    const double before = known(settle, frame, bench->error);
    lead_on(&settle->newton, frame, bench);
    newton_read(&settle->newton, frame, bench);
    newton_step(bench);
    return bench->error <= AS_NEAR * before;
}

/* Starts a frame from its guess, or from what was given; returns how many sweeps that took. */
static int start_anew(const Settle *settle, int frame, int worker) {
    const int sweeps = settle->most < FIRST_SWEEPS ? settle->most : FIRST_SWEEPS;
    if (settle->guess) {
        settle->guess(settle->guess_user, frame, worker);
    }
    for (int sweep = 0; sweep < sweeps; sweep++) {
        transforms_sweep(settle->newton.model, settle->newton.moments, settle->sharing, frame);
    }
    newton_forget(&settle->bench[worker]);
    newton_read(&settle->newton, frame, &settle->bench[worker]);
    return sweeps;
}

/* 1 when a worker must stop. */
static int must_stop(const Settle *settle, int worker) {
    return settle->call->cancelled || (worker == 0 && call_poll(settle->call, -1));
}

static void solve_frame(const Settle *settle, int frame, int leads_on, int worker) {
    Bench *bench = &settle->bench[worker];
    int step = 1;
    if (!leads_on || !go_on(settle, frame, bench)) {
        step = start_anew(settle, frame, worker);
    }
    for (int settled = 0; step < settle->most && !settled; step++) {
        const double fall = newton_step(bench);
        settled = fall <= FLAT * known(settle, frame, bench->error) ||
                  (step % POLL_EVERY == POLL_EVERY - 1 && must_stop(settle, worker));
    }
    settle->taken[frame] = step;
    newton_write(&settle->newton, frame, bench);
}

static void solve_run(void *user, int run, int worker) {
    const Settle *settle = user;
    Bench *bench = &settle->bench[worker];
    const int begin = run * RUN, left = settle->frames - begin, end = begin + (left < RUN ? left : RUN);
    if (must_stop(settle, worker)) {
        return;
    }
    for (int f = begin; f < end && !settle->call->cancelled; f++) {
        const int any = newton_make(&settle->newton, f, bench);
        if (settle->guess &&
            bench->n < settle->newton.model->bones) { /* bones too light to solve for stay there */
            settle->guess(settle->guess_user, f, worker);
        }
        if (any) {
            solve_frame(settle, f, f > begin && settle->guess, worker);
        }
    }
}

int settle_rigid(Call *call, const Problem *problem, Model *model, Moments *moments, int most,
                 const double *square, PoolTask guess, void *guess_user) {
    Arena *arena = &call->arena;
    const int workers = pool_workers(call->pool);
    Settle settle = {.call = call,
                     .newton = {.model = model, .moments = moments, .square = square},
                     .frames = problem->frames,
                     .most = most,
                     .guess = guess,
                     .guess_user = guess_user};
    int slowest = 0;
    settle.taken = arena_take(arena, (size_t)problem->frames, sizeof(int));
    settle.bench = arena_take(arena, (size_t)workers, sizeof(Bench));
    for (int i = 0; i < workers && !arena->failed; i++) {
        newton_take(arena, (size_t)model->bones, &settle.bench[i]);
    }
    if (!transforms_share(arena, model, moments, &settle.sharing)) {
        return -1;
    }
    pool_run(call->pool, (problem->frames + RUN - 1) / RUN, solve_run, &settle);
    for (int f = 0; f < problem->frames; f++) {
        slowest = settle.taken[f] > slowest ? settle.taken[f] : slowest;
    }
    return call->cancelled ? -1 : slowest;
}

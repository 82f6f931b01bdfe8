/* clip.c - the rigid bones of all frames of a clip, by Newton's method (newton.c).
 *
 * A frame goes on as the two before moved, if one step from there comes near the error of the last: most do where
 * a clip is smooth, and are spared the way from far off. Else it starts from a guess of its own, and a few sweeps
 * go first: they find that way, where Newton's steps must be damped. What is not as near would end elsewhere
 * at times, and higher. Runs of frames have a fixed length, so that no answer depends on who solves which. */
#include "track/clip.h"

#include <math.h>
#include <string.h>

#include "core/tolerances.h"
#include "descent/transforms.h"
#include "math/rotation3.h"
#include "track/newton.h"

enum {
    FIRST_SWEEPS = 4,
    RUN = 16,        /* frames */
    STEPS_A_POLL = 8 /* steps, between two looks at a wish to cancel */
};

static const double AS_NEAR = 1.5;    /* times the error of the frame before: it led on to this one */
static const double STEP_FLAT = 1e-9; /* of the squared error: after a smaller fall none is left */

typedef struct Clip {
    Call *call;
    Newton newton;
    Sharing sharing;
    Bench *bench; /* [workers] */
    int frames;
    int most, *taken; /* sweeps and steps: at most, and of each frame */
    PoolTask guess;   /* where a frame starts, or NULL: where it is */
    void *guess_user;
} Clip;

/* No error of a frame is known to be smaller. */
static double known(const Clip *clip, int frame, double error) {
    return fmax(error, FLOAT_NOISE * clip->newton.square[frame]);
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
    rotation3_clean(r); /* else rounding would double from frame to frame */
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
static int go_on(const Clip *clip, int frame, Bench *bench) {
    const double before = known(clip, frame, bench->error);
    lead_on(&clip->newton, frame, bench);
    newton_read(&clip->newton, frame, bench);
    newton_step(bench);
    return bench->error <= AS_NEAR * before;
}

/* Starts a frame from its guess, or from what was given; returns how many sweeps that took. */
static int start_anew(const Clip *clip, int frame, int worker) {
    const int sweeps = clip->most < FIRST_SWEEPS ? clip->most : FIRST_SWEEPS;
    if (clip->guess) {
        clip->guess(clip->guess_user, frame, worker);
    }
    for (int sweep = 0; sweep < sweeps; sweep++) {
        transforms_sweep(clip->newton.model, clip->newton.moments, clip->sharing, frame);
    }
    newton_forget(&clip->bench[worker]);
    newton_read(&clip->newton, frame, &clip->bench[worker]);
    return sweeps;
}

/* 1 when a worker must stop. */
static int must_stop(const Clip *clip, int worker) {
    return clip->call->cancelled || (worker == 0 && call_poll(clip->call, -1));
}

static void solve_frame(const Clip *clip, int frame, int leads_on, int worker) {
    Bench *bench = &clip->bench[worker];
    int step = 1;
    if (!leads_on || !go_on(clip, frame, bench)) {
        step = start_anew(clip, frame, worker);
    }
    for (int flat = 0; step < clip->most && !flat; step++) {
        const double fall = newton_step(bench);
        flat = fall <= STEP_FLAT * known(clip, frame, bench->error) ||
               (step % STEPS_A_POLL == STEPS_A_POLL - 1 && must_stop(clip, worker));
    }
    clip->taken[frame] = step;
    newton_write(&clip->newton, frame, bench);
}

static void solve_run(void *user, int run, int worker) {
    const Clip *clip = user;
    Bench *bench = &clip->bench[worker];
    const int begin = run * RUN, left = clip->frames - begin, end = begin + (left < RUN ? left : RUN);
    if (must_stop(clip, worker)) {
        return;
    }
    for (int f = begin; f < end && !clip->call->cancelled; f++) {
        const int any = newton_make(&clip->newton, f, bench);
        if (clip->guess &&
            bench->n < clip->newton.model->bones) { /* bones too light to solve for stay there */
            clip->guess(clip->guess_user, f, worker);
        }
        if (any) {
            solve_frame(clip, f, f > begin && clip->guess, worker);
        }
    }
}

int clip_solve(Call *call, const Problem *problem, Model *model, Moments *moments, int most,
               const double *square, PoolTask guess, void *guess_user) {
    Arena *arena = &call->arena;
    const int workers = parallel_workers(call->pool);
    Clip clip = {.call = call,
                 .newton = {.model = model, .moments = moments, .square = square},
                 .frames = problem->frames,
                 .most = most,
                 .guess = guess,
                 .guess_user = guess_user};
    int slowest = 0;
    clip.taken = arena_take(arena, (size_t)problem->frames, sizeof(int));
    clip.bench = arena_take(arena, (size_t)workers, sizeof(Bench));
    for (int i = 0; i < workers && !arena->failed; i++) {
        newton_take(arena, (size_t)model->bones, &clip.bench[i]);
    }
    if (!transforms_share(arena, model, moments, &clip.sharing)) {
        return -1;
    }
    parallel_run(call->pool, (problem->frames + RUN - 1) / RUN, solve_run, &clip);
    for (int f = 0; f < problem->frames; f++) {
        slowest = clip.taken[f] > slowest ? clip.taken[f] : slowest;
    }
    return call->cancelled ? -1 : slowest;
}

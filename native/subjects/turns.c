/* turns.c - the bones of every frame, weights and rest poses held: bone by bone, the others standing still,
 *
 *     min over R, t of  sum_v |r_v + w M p~ - w (R p + t)|^2,    r = x - sum_c w_c M_c p~ what all bones miss,
 *
 * a weighted Procrustes problem (Le & Deng 2012, Eq. 5-10; here summed over vertices, not from moments, because the
 * rest differs from frame to frame). A bone without a guess starts from its own vertices, as if the others moved with
 * it. */
#include "subjects/turns.h"

#include <string.h>

#include "subjects/pull.h"

typedef struct Turns {
    const People *people;
    double **room;
    int sweeps, guess;
} Turns;

static void sweep_bone(const People *people, int f, int b, const double *rest, double *r) {
    double *m = people->transform + 12 * ((size_t)f * (size_t)people->bones + (size_t)b), old[12];
    const int first = people->first[b], end = people->first[b + 1];
    Pull pull = {0};
    memcpy(old, m, sizeof old);
    for (int i = first; i < end; i++) {
        const int v = people->member[i];
        const double w = people->share[i], *p = rest + 3 * v;
        double y[3];
        people_move(old, p, y);
        for (int a = 0; a < 3; a++) {
            y[a] = w * (r[3 * v + a] + w * y[a]);
        }
        pull_add(&pull, w * w, p, y);
    }
    pull_solve(&pull, people->scaled, m);
    for (int i = first; i < end; i++) {
        const int v = people->member[i];
        double before[3], after[3];
        people_move(old, rest + 3 * v, before);
        people_move(m, rest + 3 * v, after);
        for (int a = 0; a < 3; a++) {
            r[3 * v + a] += people->share[i] * (before[a] - after[a]);
        }
    }
}

static void guess_bone(const People *people, int f, int b, const double *rest) {
    double *m = people->transform + 12 * ((size_t)f * (size_t)people->bones + (size_t)b);
    const float *x = people->x + 3 * (size_t)f * (size_t)people->vertices;
    Pull pull = {0};
    memset(m, 0, 12 * sizeof *m);
    m[0] = m[5] = m[10] = 1;
    for (int i = people->first[b]; i < people->first[b + 1]; i++) {
        const size_t v = (size_t)people->member[i];
        const double w = people->share[i];
        const double y[3] = {w * (double)x[3 * v], w * (double)x[3 * v + 1], w * (double)x[3 * v + 2]};
        pull_add(&pull, w, rest + 3 * v, y);
    }
    pull_solve(&pull, people->scaled, m);
}

/* r = x - sum w M p~ */
static void miss(const People *people, int f, const double *rest, double *r) {
    const float *x = people->x + 3 * (size_t)f * (size_t)people->vertices;
    for (size_t i = 0; i < 3 * (size_t)people->vertices; i++) {
        r[i] = (double)x[i];
    }
    for (int b = 0; b < people->bones; b++) {
        for (int i = people->first[b]; i < people->first[b + 1]; i++) {
            const int v = people->member[i];
            double y[3];
            people_move(people_transform(people, f, b), rest + 3 * v, y);
            for (int a = 0; a < 3; a++) {
                r[3 * v + a] -= people->share[i] * y[a];
            }
        }
    }
}

static void turn_frame(void *user, int f, int worker) {
    const Turns *turns = user;
    const People *people = turns->people;
    const double *rest = people->rest + 3 * (size_t)people->subject[f] * (size_t)people->vertices;
    double *r = turns->room[worker], sum = 0;
    if ((worker == 0 && call_poll(people->call, -1)) || atomic_load(&people->call->cancelled)) {
        return;
    }
    for (int b = 0; b < people->bones && turns->guess; b++) {
        if (!people_holds_transform(people, f, b)) {
            guess_bone(people, f, b, rest);
        }
    }
    miss(people, f, rest, r);
    for (int sweep = 0; sweep < turns->sweeps; sweep++) {
        for (int b = 0; b < people->bones; b++) {
            if (!people_holds_transform(people, f, b)) {
                sweep_bone(people, f, b, rest, r);
            }
        }
    }
    for (size_t i = 0; i < 3 * (size_t)people->vertices; i++) {
        sum += r[i] * r[i];
    }
    people->error[f] = sum;
}

void turns_update(People *people, double **room, int sweeps, int guess) {
    Turns turns = {people, room, sweeps, guess};
    people_list(people);
    parallel_run(people->call->pool, people->frames, turn_frame, &turns);
}

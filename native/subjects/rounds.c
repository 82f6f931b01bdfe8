/* rounds.c - descent for several bodies: transforms (turns.c), weights and, unless they are fixed, rest poses (shares.c),
 * each with the others held, until a round gains nothing (Le & Deng 2012, Algorithm 1). */
#include "subjects/rounds.h"

#include <math.h>
#include <string.h>

#include "subjects/turns.h"

enum { GUESS_SWEEPS = 12, SWEEPS = 3, SETTLE = 2 };

static const double SETTLED = 3e-4;   /* of the error, that a round gains: less is nothing */
static const double FREE_HOLD = 1e-2; /* of the frames: how much a rest that is free is held */

static int rounds_of(const ossify_settings *settings) {
    static const int BY_QUALITY[] = {20, 60, 150};
    return settings->iterations > 0 ? (int)settings->iterations : BY_QUALITY[settings->quality];
}

static double hold_of(const People *people) {
    const int64_t mode = people->call->settings->rest_mode;
    return mode == OSSIFY_REST_FIXED  ? -1
           : mode == OSSIFY_REST_KEPT ? 1
                                      : FREE_HOLD * people->frames / people->subjects;
}

static void turn_all(void *user, int sweeps, int guess) {
    const Rounds *rounds = user;
    turns_update(rounds->people, rounds->room, sweeps, guess);
}

int rounds_take(People *people, Rounds *rounds) {
    Arena *arena = &people->call->arena;
    const int workers = parallel_workers(people->call->pool);
    const size_t slots = (size_t)people->vertices * (size_t)people->influences;
    *rounds = (Rounds){.people = people,
                       .spare_bone = arena_take(arena, slots, sizeof(int)),
                       .spare_weight = arena_take(arena, slots, sizeof(double)),
                       .room = arena_take(arena, (size_t)workers, sizeof(double *)),
                       .shares = shares_take(people),
                       .most = rounds_of(people->call->settings),
                       .weights = 1,
                       .hold = hold_of(people),
                       .turn = turn_all,
                       .user = rounds};
    for (int i = 0; i < workers && rounds->room != NULL; i++) {
        rounds->room[i] = arena_take(arena, 3 * (size_t)people->vertices, sizeof(double));
    }
    return !arena->failed;
}

int rounds_descend(Rounds *rounds) {
    People *people = rounds->people;
    double last = INFINITY;
    memcpy(people->rest, people->given,
           3 * (size_t)people->vertices * (size_t)people->subjects * sizeof(double));
    rounds->turn(rounds->user, GUESS_SWEEPS, 1);
    for (int round = 0, settled = 0; round < rounds->most && settled < SETTLE; round++) {
        if (rounds->weights) {
            shares_update(people, rounds->shares, rounds->spare_bone, rounds->spare_weight);
        }
        if (rounds->hold >= 0) {
            shares_rest(people, rounds->hold);
        }
        rounds->turn(rounds->user, SWEEPS, 0);
        if (atomic_load(&people->call->cancelled)) {
            return 0;
        }
        people->call->info->iterations++;
        rounds->left_over = round + 1 == rounds->most;
        const double error = people_error(people);
        settled = error > (1 - SETTLED) * last ? settled + 1 : 0;
        last = error;
    }
    return 1;
}

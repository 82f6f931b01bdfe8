/* rounds.h - transforms, weights and rest poses in turns; see rounds.c. */
#ifndef OSSIFY_ROUNDS_H
#define OSSIFY_ROUNDS_H

#include "subjects/shares.h"

typedef struct Rounds {
    People *people;
    SharesRoom *shares;
    double **room; /* [workers] of turns.c */
    int *spare_bone;
    double *spare_weight;
    int most;      /* rounds */
    int weights;   /* 0: they are held */
    double hold;   /* as how many frames the given rests count; < 0: they are fixed */
    int left_over; /* out: 1 when more rounds would gain */
    /* Who moves bones: turns_update, or another. */
    void (*turn)(void *user, int sweeps, int guess);
    void *user;
} Rounds;

/* Room, and what the call's settings say; the people have theirs. 0 when memory is out. */
int rounds_take(People *people, Rounds *rounds);
/* From the weights at hand. 0 when the call must end. */
int rounds_descend(Rounds *rounds);

#endif

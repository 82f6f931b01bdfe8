/* turns.h - the transforms of all frames, weights held; see turns.c. */
#ifndef OSSIFY_TURNS_H
#define OSSIFY_TURNS_H

#include "subjects/people.h"

/* Room of one worker: [v][3]. `guess`: from each bone's own vertices alone. */
void turns_update(People *people, double **room, int sweeps, int guess);

#endif

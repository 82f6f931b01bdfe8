/* shares.h - the weights of all vertices, and their rest positions, transforms held; see shares.c. */
#ifndef OSSIFY_SHARES_H
#define OSSIFY_SHARES_H

#include "subjects/people.h"

typedef struct SharesRoom {
    double *d;   /* [SIMPLEX_MAX][3 frames] what single bones miss */
    double *sum; /* [bones] weights around a vertex */
} SharesRoom;

/* Room of each worker; 0 when memory is out. */
SharesRoom *shares_take(People *people);
/* `spare` [v][influences] twice: the new bones and weights, which then change places with the old. */
void shares_update(People *people, const SharesRoom *room, int *spare_bone, double *spare_weight);
/* Rest positions; `hold`: as how many frames the given ones count. */
void shares_rest(People *people, double hold);

#endif

/* joined.h - one tree for several subjects, and joints of each's own; see joined.c. */
#ifndef OSSIFY_JOINED_H
#define OSSIFY_JOINED_H

#include "core/call.h"

/* What is known of the subjects once their rig is solved, in the caller's coordinates. */
typedef struct Joining {
    const ossify_poses *poses;
    const ossify_rig *rig;
    const int32_t *subject; /* [f] */
    int subjects;
    float *rest;      /* [s][v][3] */
    int32_t *parents; /* [bone_capacity] out */
    double *joints;   /* [s][bone_capacity][3] out */
    int64_t root;     /* out */
} Joining;

/* Returns a status. */
int64_t joined_find(Call *call, Joining *joining);

#endif

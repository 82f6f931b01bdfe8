/* hung.h - shape bones that hang from pose bones; see hung.c. */
#ifndef OSSIFY_HUNG_H
#define OSSIFY_HUNG_H

#include "subjects/people.h"

typedef struct Hung {
    People *people; /* one body, the mean, in all frames of all subjects and in their rests */
    int subjects;
    int pose_bones;       /* the first bones, which stay in place within a subject */
    const int *first;     /* [subjects + 1] of the list below */
    const int *frame;     /* [frames] of each subject, its rest last */
    const int *carrier;   /* [bones] the pose bone that a bone goes with */
    const double *motion; /* [f][pose_bones][3][4] of the pose bones, from the subject's rest */
    double *grown;        /* [subjects][bones][3][4] from the mean to the subject's rest */
    double **room;        /* [workers][most frames of a subject][v][3] */
} Hung;

/* Transforms of shape bones within each subject, and of all bones in all frames, as rounds.h asks: user is a Hung. */
void hung_update(void *user, int sweeps, int guess);

#endif

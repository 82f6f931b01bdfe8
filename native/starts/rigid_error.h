/* rigid_error.h - Rigid Error Functions, which clusters are merged by; see rigid_error.c. */
#ifndef OSSIFY_RIGID_ERROR_H
#define OSSIFY_RIGID_ERROR_H

#include "core/call.h"

typedef struct RigidErrors {
    int clusters, frames;
    double *whole; /* [cluster][WHOLE] what does not depend on the frame */
    double *part;  /* [cluster][frame][PART] */
} RigidErrors;

/* Empty ones; 0 when memory is out. */
int rigid_error_make(Call *call, int clusters, int frames, RigidErrors *errors);
/* A point p [3] of this mass that is seen at x [3 frames]. */
void rigid_error_add(RigidErrors *errors, int cluster, double mass, const double *p, const double *x);
/* After the points: the rotations that later questions start from. */
void rigid_error_fit(RigidErrors *errors, int cluster);
/* [3][3], after the fit */
const double *rigid_error_rotation(const RigidErrors *errors, int cluster, int frame);
/* `into` gets what `from` has. */
void rigid_error_merge(RigidErrors *errors, int into, int from);
double rigid_error_mass(const RigidErrors *errors, int cluster);
/* The squared error of the best rigid motion, a frame each, of a and b together; of a alone with b < 0. */
double rigid_error(const RigidErrors *errors, int a, int b);

#endif

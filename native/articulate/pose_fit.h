/* pose_fit.h - turns, ways and slides of every frame, joints given; see pose_fit.c. */
#ifndef OSSIFY_POSE_FIT_H
#define OSSIFY_POSE_FIT_H

#include "articulate/linkage.h"

/* For the joints at hand; returns the sum of misfits. */
double pose_fit(Linkage *linkage);
/* Half the second derivatives of a frame's misfit, and half the slope downhill. */
void pose_fit_system(const Linkage *linkage, Bench *bench);

#endif

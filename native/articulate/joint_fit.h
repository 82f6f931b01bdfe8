/* joint_fit.h - a step of all joints, the poses of all frames following; see joint_fit.c. */
#ifndef OSSIFY_JOINT_FIT_H
#define OSSIFY_JOINT_FIT_H

#include "articulate/linkage.h"

/* How far the surface is from every anchor, beyond which no joint goes from now on. */
void joint_fit_clear(Linkage *linkage);
/* misfit: of the poses as they are. Returns the misfit after the step, never more. */
double joint_fit(Linkage *linkage, const Moments *moments, double misfit);

#endif

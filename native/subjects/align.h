/* align.h - bodies laid upon each other, turned and moved but not scaled; see align.c. */
#ifndef OSSIFY_ALIGN_H
#define OSSIFY_ALIGN_H

#include "core/call.h"

/* m [3][4] takes p as near to x as can be. */
void align_onto(const double *p, const float *x, int vertices, double m[12]);
/* The mean of bodies [count][v][3], all laid upon it. 0 when the call must end. */
int align_mean(Call *call, const float *bodies, int count, int vertices, double *mean);

#endif

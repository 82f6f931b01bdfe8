/* conformal.h - a map that keeps angles, to compare with; see conformal.c. */
#ifndef OSSIFY_UNWRAP_CONFORMAL_H
#define OSSIFY_UNWRAP_CONFORMAL_H

#include "unwrap/chart.h"

/* 0 when memory is out or the call is cancelled. Triangles may flip. */
int conformal_solve(Call *call, Chart *chart);

#endif

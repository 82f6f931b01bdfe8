/* energy.h - what a map costs, triangle by triangle; see energy.c. */
#ifndef OSSIFY_UNWRAP_ENERGY_H
#define OSSIFY_UNWRAP_ENERGY_H

#include "unwrap/system.h"

/* sum of weight (|F^-1|^2 + 2 det F + shear (s1 - s2)^2); INFINITY when a triangle is flipped. 4 a weight is the least. */
double energy_value(const Chart *chart, const double *uv);
/* 1 when no triangle has a curvature below 0 against a flip. */
int energy_resists_folds(const Chart *chart);
/* Its gradient [points][2] at chart->uv, and its Hessian with nothing of negative curvature. */
void energy_derive(const Chart *chart, double *gradient, System *system);
/* h [6][6] += factor m m', m by the u and v of the corners */
void energy_add_mode(double factor, const double m[6], double h[36]);

#endif

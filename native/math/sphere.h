/* sphere.h - the smallest sphere around points (the paper's "tight" sphere). */
#ifndef OSSIFY_SPHERE_H
#define OSSIFY_SPHERE_H

#include <stdint.h>

typedef struct Sphere {
    double centre[3];
    double radius;
} Sphere;

/* points [n][3], n >= 1. Exact to rounding; deterministic; bounded. */
Sphere sphere_smallest(const float *points, int64_t n);

#endif

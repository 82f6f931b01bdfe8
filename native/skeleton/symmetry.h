/* symmetry.h - the plane of symmetry, and which bone mirrors which; see symmetry.c. */
#ifndef OSSIFY_SYMMETRY_H
#define OSSIFY_SYMMETRY_H

#include "skeleton/body.h"

typedef struct Symmetry {
    double plane[4]; /* n.x = d */
    int *mirror;     /* [bones], -1 none */
} Symmetry;

/* With `given`, plane is the plane. 1 found, 0 none, < 0 when the call must end. */
int symmetry_find(Call *call, const Body *body, int given, Symmetry *symmetry);
void symmetry_reflect(const double plane[4], const double x[3], double mirrored[3]);
/* A bone that hangs from its mirror image is none, a root's set aside: the two play unlike parts, as a pelvis and a
 * thigh do that lie to both sides of the plane. */
void symmetry_part(int *mirror, const int *parent, int bones);
/* 1 when a bone's joint has a mirror image in the tree, or lies in the plane and is its own. */
int symmetry_has_mirrored_joint(const int *mirror, const int *parent, int b);
/* Joints x [bones][3] that have a mirror image meet it half way. */
void symmetry_mirror_joints(const double plane[4], const int *mirror, const int *parent, int bones,
                            double *x);

#endif

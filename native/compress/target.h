/* target.h - what the two layers are to come near, vertex by vertex; see target.c. */
#ifndef OSSIFY_TARGET_H
#define OSSIFY_TARGET_H

#include "core/model.h"

enum { POSE_TERMS = 10 /* xx yy zz xy xz yz x y z 1 of a rest position */ };

typedef struct Target {
    int vertices, bones;
    int terms;          /* of H: 1 for weights, where it is the identity, or POSE_TERMS */
    const double *rest; /* [v][3] */
    double *gram;       /* [terms][bones][bones]; NULL for weights */
    double *linear;     /* [v][bones] g */
    double *square;     /* [v] s */
    double *dense;      /* [v][bones] weights of all bones: the given ones, or the best for the poses */
    double *least;      /* [v] their error: no layers need do better */
    double scale;       /* 1000 sqrt(scale sum of errors) is what the caller reads */
} Target;

/* 0 when the call must end; so below. The weights of the model, Eq. 1. */
int target_of_weights(Call *call, const Problem *problem, const Model *model, Target *target);
/* The poses, Eq. 7; `dense` starts from the model's weights. */
int target_of_poses(Call *call, const Problem *problem, const Model *model, Target *target);
/* The same after bones or rest positions have changed. */
int target_renew(Call *call, const Problem *problem, const Model *model, Target *target);
/* The weights target that `dense` makes. */
int target_of_dense(Call *call, const Target *poses, Target *target);
/* phi(v) [terms] */
void target_terms(const Target *target, int v, double *term);
/* H = sum_q phi_q gram_q, as [bones][bones] */
void target_form(const Target *target, const double *term, double *h);

#endif

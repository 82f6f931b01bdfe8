/* body.h - a rig seen as bodies that move against each other; see body.c.
 *
 * Lengths inside are in diagonals of the rest's box, the rest centred on it. */
#ifndef OSSIFY_BODY_H
#define OSSIFY_BODY_H

#include "core/call.h"

typedef struct Body {
    int bones, frames, vertices;
    double origin[3], unit; /* inside = (caller's - origin) / unit */
    double *rest;           /* [v][3] */
    double *area;           /* [v] */
    double *gram;           /* [4 bones][4 bones] mean over frames of M[b]' M[c] */
    double *turn;           /* [bones] mean over frames of |R - I|^2 */
    double *mass;           /* [bones] area it moves */
    double *centre;         /* [bones][3] of that area */
    double *overlap;        /* [bones][bones] area two bones share: sum_v area min(w_b, w_c) */
    double *beside;   /* [bones][bones] area of one by its weights where the other is strongest, and back */
    double *boundary; /* [bones][bones][3] its centre; between the bones' centres when there is none */
    int *owner;       /* [v] the bone that is strongest there */
    const double *traffic; /* [bones][bones] of paths.c, NULL: not measured */
    const ossify_rig *rig; /* for its weights */
} Body;

/* 0 when memory is out. */
int body_make(Call *call, const ossify_poses *poses, const ossify_rig *rig, Body *body);

#endif

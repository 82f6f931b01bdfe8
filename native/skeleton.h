/* skeleton.h - what the rooms of the skeleton share: a rig seen as bodies that move against each other.
 *
 * Lengths inside are in diagonals of the rest's box, the rest centred on it. */
#ifndef OSSIFY_SKELETON_H
#define OSSIFY_SKELETON_H

#include "rooms.h"

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
    const ossify_rig *rig; /* for its weights */
} Body;

/* Two bones and the points they share. */
typedef struct Joint {
    double drift[16]; /* x~' drift x~ = mean over frames of |M_b x~ - M_c x~|^2 */
    double anchor[3]; /* where the joint should be as far as the motion does not say */
    double share;     /* of the smaller bone that both move */
    double beside;    /* area that one moves where the other is strongest, and back */
} Joint;

/* body.c: 0 when memory is out. */
int body_make(Call *call, const ossify_poses *poses, const ossify_rig *rig, Body *body);

/* joint.c */
void joint_between(const Body *body, int b, int c, Joint *joint);
/* Mean squared distance at x. */
double joint_drift(const Joint *joint, const double x[3]);
/* How much speaks for a joint between the two, by OSSIFY_CONNECT_*: larger is likelier. */
double joint_score(const Joint *joint, int64_t connect);
/* The point that both hold best. */
void joint_place(const Joint *joint, double x[3]);
/* OSSIFY_JOINT_*; axis: of a hinge, else 0; angle: root mean square, radians. */
int joint_kind(const Joint *joint, const double x[3], double axis[3], double *angle);

/* sway.c: sway [bones], how little each bone swings by itself, 0 to 1. 0 when the call must end. */
int sway_measure(Call *call, const ossify_rig *rig, int frames, double *sway);

/* symmetry.c */
typedef struct Symmetry {
    double plane[4]; /* n.x = d */
    int *mirror;     /* [bones], -1 none */
} Symmetry;
/* With `given`, plane is the plane. 1 found, 0 none, < 0 when the call must end. */
int symmetry_find(Call *call, const Body *body, int given, Symmetry *symmetry);
void symmetry_reflect(const double plane[4], const double x[3], double mirrored[3]);
/* 1 when a bone's joint has a mirror image in the tree, or lies in the plane and is its own. */
int symmetry_has_mirrored_joint(const int *mirror, const int *parent, int b);
/* Joints x [bones][3] that have a mirror image meet it half way. */
void symmetry_mirror_joints(const double plane[4], const int *mirror, const int *parent, int bones,
                            double *x);

/* skeleton.c: arguments are checked; returns a status. */
int64_t skeleton_connect(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                         ossify_skeleton *skeleton);

#endif

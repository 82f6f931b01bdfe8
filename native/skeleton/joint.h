/* joint.h - two bones and the points they share; see joint.c. */
#ifndef OSSIFY_JOINT_H
#define OSSIFY_JOINT_H

#include "skeleton/body.h"

/* Of the anchor, the drift counting as 1: it decides where the motion does not. */
#define ANCHOR_PULL 1e-5

typedef struct Joint {
    double drift[16]; /* x~' drift x~ = mean over frames of |M_b x~ - M_c x~|^2 */
    double anchor[3]; /* where the joint should be as far as the motion does not say */
    double share;     /* of the smaller bone that both move */
    double beside;    /* area that one moves where the other is strongest, and back */
    double
        traffic; /* of the ways over the surface that visit one of them, those that cross; < 0: not known */
} Joint;

void joint_between(const Body *body, int b, int c, Joint *joint);
/* Mean squared distance at x. */
double joint_drift(const Joint *joint, const double x[3]);
/* Of the point that both hold best near the anchor: mean squared distance, and what that point is off. */
double joint_strain(const Joint *joint);
/* How much speaks for a joint, by its strain and by what both bones share. */
double joint_rate(double strain, double share);
/* How much speaks for a joint between the two, by OSSIFY_CONNECT_*: larger is likelier. */
double joint_score(const Joint *joint, int64_t connect);
/* The point that both hold best. */
void joint_place(const Joint *joint, double x[3]);
/* OSSIFY_JOINT_*; axis: of a hinge, else 0; angle: root mean square, radians. */
int joint_kind(const Joint *joint, const double x[3], double axis[3], double *angle);

#endif

/* linkage.h - bones that hang together: the tree and its algebra; see linkage.c.
 *
 * A bone a turns by R_a and, with its parent p, holds the joint c_a: t_a = t_p + (R_p - R_a) c_a. Only a root
 * has a way e of its own. A joint that may slide is taken along by the parent: t_a gains e_a = R_p d_a l_a,
 * d_a the way from the parent's joint to this one, l_a(f) how far.
 *
 * So all transforms of a frame are linear in Z = [R_b | e_b]: M = Z J, and with the moments of the free bones
 *     N = J U J',  K = C J',  error = tr(Z N Z') - 2 tr(Z K') + const.
 * Row 4b + i of J picks q_b = w_b p - s_b c_b + sum over children s_c c_c, and row 4b + 3 s_b, the weight of
 * the whole subtree: a vertex is replayed as y = sum_b R_b q_b + s_b e_b.
 *
 * A soft joint does not hold: its bone has a way of its own, as a root has, and pays k m |M_a c~_a - M_p c~_a|^2 in
 * every frame, k its stiffness and m the vertices of the smaller bone. That is a form in the transforms,
 * U += k m a a' with a = c~_a at bone a and -c~_a at bone p. */
#ifndef OSSIFY_LINKAGE_H
#define OSSIFY_LINKAGE_H

#include "core/model.h"
#include "descent/pass.h"

/* A state to go back to. */
typedef struct Pinned {
    double *joint, *slide, *transform;
} Pinned;

typedef struct Linkage {
    Call *call;
    const Problem *problem;
    Model *model; /* rotations and the roots' ways live in its transforms */
    int bones, frames;
    int stretch;       /* 1: joints may slide */
    int unknowns;      /* of a frame */
    int *parent;       /* [b] -1 at a root, and where the joint is soft */
    int *leader;       /* [b] the parent, soft or not */
    double *stiffness; /* [b] of a soft joint; 0: it holds */
    int *order;        /* [b] parents before children */
    int *first;        /* [b] of its unknowns: three of its turn, then a root's way or a slide */
    const int *mirror; /* [b] or NULL; -1 where a joint is held, which then is of no pair */
    int *mirror_room;
    uint8_t *held; /* [b] joints that stay, and roots, which have none */
    int all_held;
    double plane[4];        /* of the mirror */
    double *joint;          /* [b][3] */
    double *anchor;         /* [b][3] where joints are drawn to as far as the motion does not say */
    double *clearance;      /* [b] from the anchor to the nearest vertex; infinite: it does not matter */
    double *axis;           /* [b][3] d, 0: does not slide */
    double *slide;          /* [f][b] l */
    double *normal;         /* [4b][4b] N */
    double *right;          /* [3f][4b] K */
    double *misfit;         /* [f] error less a constant */
    double constant;        /* what misfits lack of the squared error */
    double diagonal;        /* of the rest's box */
    double fine;            /* fall of a frame's misfit that is not worth another step */
    int steps, joint_steps; /* most steps of a frame, and of the joints */
    Pinned before;          /* the step at hand */
    struct Bench *bench;    /* [workers] */
} Linkage;

/* Scratch of one worker. */
typedef struct Bench {
    double *z, *tried;           /* [3][4b] Z and where a step leads */
    double *slide, *tried_slide; /* [b] */
    double *left;                /* [3][4b] K - Z N */
    double *normal;              /* [4b][4b] N with the slides at hand */
    double *system, *damped;     /* [unknowns][unknowns] */
    double *gradient, *step;     /* [unknowns] */
    double *across, *solved;     /* [3b][unknowns] A, joints against poses, and A H^-1 */
    double *flipped;             /* [unknowns][3b] -A' */
    double *turned;              /* [3b][3] D' of each joint, D = R_p - R_b; 0 for roots */
} Bench;

int linkage_make(Call *call, const Problem *problem, Model *model, const ossify_skeleton *skeleton,
                 const Placement *placement, Linkage *linkage);
/* Takes every hinge that is not held along its axis to the middle of the surface that its bones share: the motion
 * does not say where on the axis it is. 0 when the call must end. */
int linkage_centre_hinges(Linkage *linkage, const ossify_poses *poses, const ossify_rig *rig,
                          const ossify_skeleton *skeleton, const Placement *placement);
int linkage_pin_make(const Linkage *linkage, Pinned *pinned);
void linkage_pin(const Linkage *linkage, Pinned *pinned);
/* Back to the pinned state; N and K are not gathered. */
void linkage_unpin(Linkage *linkage, const Pinned *pinned);
/* N and K from the moments, for the joints at hand. */
void linkage_gather(Linkage *linkage, const Moments *moments);
/* Translations from rotations, joints and roots' ways, in all frames. */
void linkage_chain(Linkage *linkage);
/* Where slides go, from the joints at hand. */
void linkage_aim(Linkage *linkage);
/* Z of a frame from the model and its slides, and back. */
void linkage_read(const Linkage *linkage, int frame, double *slide, double *z);
void linkage_write(Linkage *linkage, int frame, const double *slide, const double *z);
/* Sets the ways e of all joints that slide. */
void linkage_slide(const Linkage *linkage, const double *slide, double *z);
/* |M_a c~_a - M_p c~_a| in a frame. */
double linkage_gap(const Linkage *linkage, int frame, int b);
/* left = K - Z N; returns the misfit. */
double linkage_misfit(const Linkage *linkage, int frame, const double *z, double *left);
/* The directions in which a bone has a way of its own; returns how many. */
int linkage_ways(const Linkage *linkage, const double *z, int b, double way[3][3]);

#endif

/* rest_pose.h - the rest position of one vertex; see rest_pose.c. */
#ifndef OSSIFY_REST_POSE_H
#define OSSIFY_REST_POSE_H

#include "descent/pass.h"

/* Moves p to where the vertex should rest. */
void rest_pose_solve(const double form[MONOMIALS], const double blend[4], double pull, const double given[3],
                     double p[3]);

#endif

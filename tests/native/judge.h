/* judge.h - what a written rig must be, recomputed from positions by code that shares nothing with the
 * library: optimal weights, optimal bones, local influence. All use the checks of test.h. */
#ifndef OSSIFY_JUDGE_H
#define OSSIFY_JUDGE_H

#include "ossify.h"

/* Karush, Kuhn and Tucker: on a vertex's bones, the slope of the error is the same. `skip` [v]: vertices
 * that need not, or NULL. */
void judge_weights(const ossify_poses *poses, const ossify_rig *rig, const uint8_t *skip);

/* No small turn or shift of a bone in a frame lowers the error by more than `slack` of itself. */
void judge_bones(const ossify_poses *poses, const ossify_rig *rig, double slack);

/* Every bone's {w > 0.02} and {w > 0.05} is one connected region. */
void judge_locality(const ossify_poses *poses, const ossify_rig *rig);
/* The share of influences with a weight below 0.01, which an artist would only wipe away. */
double faint_share(const ossify_poses *poses, const ossify_rig *rig);

#endif

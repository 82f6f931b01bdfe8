/* paint.h - weights of a whole rig, painted by what they cost in the motion; see prune_weights.c, smooth_weights.c.
 *
 * No transform and no rest position changes; held vertices and held groups stay as they are. */
#ifndef OSSIFY_PAINT_H
#define OSSIFY_PAINT_H

#include "core/call.h"

/* Say what they cannot work with. */
int paint_refuses_prune(const ossify_request *request, ossify_info *info);
int paint_refuses_smooth(const ossify_request *request, ossify_info *info);

/* At most `influences` bones a vertex; those go whose loss costs least. Returns a status. */
int64_t paint_prune(Call *call, const ossify_poses *poses, const ossify_fewer *fewer, ossify_rig *rig);
/* As smooth over the surface as the budget allows. Returns a status. */
int64_t paint_smooth(Call *call, const ossify_poses *poses, const ossify_smoother *smoother, ossify_rig *rig);

#endif

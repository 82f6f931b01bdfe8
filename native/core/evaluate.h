/* evaluate.h - replays a rig and measures it; shares no code with the solver. See evaluate.c. */
#ifndef OSSIFY_EVALUATE_H
#define OSSIFY_EVALUATE_H

#include "core/call.h"

/* Arguments are checked. All its memory, for rigs of at most `bones`
 * bones, is taken by evaluate_take (NULL when memory is out), so that a rig that is already written can be
 * measured without a chance of failing. */
typedef struct Measure Measure;
Measure *evaluate_take(Call *call, const ossify_poses *poses, int64_t bones);
/* space may be NULL. */
int64_t evaluate(Call *call, Measure *measure, const ossify_poses *poses, const ossify_rig *rig,
                 const ossify_space *space, ossify_evaluation *evaluation);
/* What of it a caller reads of every verb. */
void evaluate_tell(ossify_info *info, int64_t bones, const ossify_evaluation *evaluation);

#endif

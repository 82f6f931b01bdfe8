/* correct.h - correctives for a finished rig; see correct.c. */
#ifndef OSSIFY_CORRECT_H
#define OSSIFY_CORRECT_H

#include "core/call.h"

/* refuses.c: 1 when something was said. */
int correct_refuses(const ossify_request *request, ossify_info *info);
/* Arguments are checked. Writes rig and result; returns a status. */
int64_t correct(Call *call, const ossify_poses *poses, ossify_rig *rig, const ossify_correction *correction,
                ossify_corrected *corrected);

#endif

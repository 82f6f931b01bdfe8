/* drive.h - correctives that follow the bones; see drive.c. */
#ifndef OSSIFY_DRIVE_H
#define OSSIFY_DRIVE_H

#include "core/call.h"

/* refuses.c: 1 when something was said. */
int correct_refuses_drive(const ossify_request *request, ossify_info *info);
/* Arguments are checked. Writes rig and result; returns a status. */
int64_t drive(Call *call, const ossify_poses *poses, ossify_rig *rig, const ossify_driving *driving,
              ossify_driven *driven);

#endif

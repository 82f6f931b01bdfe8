/* merging.h - what cannot be merged; see merging.c. */
#ifndef OSSIFY_MERGING_H
#define OSSIFY_MERGING_H

#include "core/call.h"

/* Every number of what shall be merged: 1 when something was said. */
int merging_is_bad(ossify_info *info, const ossify_poses *poses, const ossify_merging *merging);

#endif

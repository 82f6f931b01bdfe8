/* frame.h - what happens around a verb, the same for all; see frame.c. */
#ifndef OSSIFY_FRAME_H
#define OSSIFY_FRAME_H

#include "ossify.h"

/* The quick checks; 0, or OSSIFY_BAD_ARGUMENT. */
int64_t frame_check(const ossify_request *request, ossify_info *info);
/* From the checks to the end; returns a status. */
int64_t frame_run(const ossify_request *request, ossify_info *info);

#endif

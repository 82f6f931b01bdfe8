/* average.h - lengths of animation space, averaged over poses; see average.c. */
#ifndef OSSIFY_AVERAGE_H
#define OSSIFY_AVERAGE_H

#include "core/call.h"

/* 1 when something was said. */
int average_refuses(const ossify_request *request, ossify_info *info);
/* Arguments are checked; returns a status. */
int64_t average(Call *call, const ossify_request *request);

#endif

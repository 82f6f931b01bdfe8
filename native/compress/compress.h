/* compress.h - weights of many bones in two layers of few; see compress.c. */
#ifndef OSSIFY_COMPRESS_H
#define OSSIFY_COMPRESS_H

#include "core/call.h"

/* refuses.c: 1 when something was said. */
int compress_refuses(const ossify_request *request, ossify_info *info);
/* Arguments are checked. Writes rig and layers; returns a status. */
int64_t compress(Call *call, const ossify_poses *poses, ossify_rig *rig,
                 const ossify_compression *compression, ossify_layers *layers);

#endif

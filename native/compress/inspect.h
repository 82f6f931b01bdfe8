/* inspect.h - layers looked at before a caller gets them; see inspect.c. */
#ifndef OSSIFY_INSPECT_H
#define OSSIFY_INSPECT_H

#include "core/call.h"

/* 1 when every number is one that can be played: layers of so many masters and vertices; 0 when something was said. */
int inspect_layers(const ossify_compression *wish, int64_t masters, int64_t vertices,
                   const ossify_layers *layers, ossify_info *info);

#endif

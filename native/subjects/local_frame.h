/* local_frame.h - a joint carried along by the surface around it; see local_frame.c. */
#ifndef OSSIFY_LOCAL_FRAME_H
#define OSSIFY_LOCAL_FRAME_H

#include "subjects/around.h"

/* Of the first body of `around`, into a body `rest` [v][3] whose box has diagonal 1 / unit. */
void local_frame_place(const Around *around, const float *rest, double unit, double joint[3]);

#endif

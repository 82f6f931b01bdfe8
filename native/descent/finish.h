/* finish.h - the last iterations, in a norm that sees cracks; see finish.c. */
#ifndef OSSIFY_FINISH_H
#define OSSIFY_FINISH_H

#include "descent/descent.h"

/* 1 when the settings ask for it. */
int finish_is_due(const ossify_settings *settings);
/* Of settings.iterations, how many it takes. */
int finish_share(const ossify_settings *settings);
/* How many of its iterations a few frames are enough for. */
int finish_sampled(const ossify_settings *settings);
/* These, on a sample with `share` of the frames; 0 when the call must end; so below. */
int finish_on_sample(Descent *descent, double share);
/* From a model that plain least squares left, or that so many iterations on a sample did. */
int finish_run(Descent *descent, int sampled);

#endif

/* finish.h - the last iterations, in a norm that sees cracks; see finish.c. */
#ifndef OSSIFY_FINISH_H
#define OSSIFY_FINISH_H

#include "descent/descent.h"

/* 1 when the settings ask for it. */
int finish_is_due(const ossify_settings *settings);
/* Of settings.iterations, how many it takes. */
int finish_share(const ossify_settings *settings);
/* From a model that plain least squares left; 0 when the call must end. */
int finish_run(Descent *descent);

#endif

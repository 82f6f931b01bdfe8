/* dictionary.h - how virtual bones blend their masters; see dictionary.c. */
#ifndef OSSIFY_DICTIONARY_H
#define OSSIFY_DICTIONARY_H

#include "compress/layers.h"

/* All virtual bones once, each at its optimum beside the others. 0 when the call must end. The vertices' errors are
 * not brought up to date. */
int dictionary_update(Call *call, const Target *target, Layers *layers);
/* The same on fewer masters, for which E may rise by `spare` for each virtual bone; with any sign all stay. */
int dictionary_thin(Call *call, const Target *target, double spare, Layers *layers);

#endif

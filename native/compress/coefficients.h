/* coefficients.h - which virtual bones a vertex follows, and how much; see coefficients.c. */
#ifndef OSSIFY_COEFFICIENTS_H
#define OSSIFY_COEFFICIENTS_H

#include "compress/layers.h"

/* Scratch of one worker. */
typedef struct CoefficientsRoom {
    double *h, *u; /* [bones][bones], [candidates][bones] */
    int *met;      /* [capacity] where a virtual bone stands among the candidates, if it does */
} CoefficientsRoom;

/* 0 when memory is out. */
int coefficients_room(Arena *arena, const Target *target, int atoms, CoefficientsRoom *room);
/* The best blend of at most `most` of some virtual bones, of which -1 counts for none: its own numbers and shares go
 * out, [MOST_BLENDED] each, -1 unused. Returns E. */
double coefficients_best(const Target *target, const Layers *layers, int v, const CoefficientsRoom *room,
                         int count, const int *atom, int most, int *best, double *share);
/* One round over all vertices, odd rounds backwards. Returns the squared error, or -1 when the call must end. */
double coefficients_update(Call *call, const Target *target, const Graph *graph, int round, Layers *layers);
/* Every vertex leaves out, one by one, virtual bones without which its E, blended anew, rises by `spare` in all at most.
 * 0 when the call must end. */
int coefficients_thin(Call *call, const Target *target, double spare, Layers *layers);
/* E of one vertex as it is, from its definition in the target. */
double coefficients_error(const Target *target, const Layers *layers, int v, double *h, double *w);

#endif

/* layers.h - masters blended to virtual bones (D), virtual bones blended to vertices (A); see layers.c. */
#ifndef OSSIFY_LAYERS_H
#define OSSIFY_LAYERS_H

#include "compress/target.h"

enum { MOST_BLENDED = 4 /* virtual bones a vertex */ };

typedef struct Layers {
    int masters, influences, affine; /* most masters a virtual bone, most virtual bones a vertex */
    int capacity, count;             /* virtual bones */
    int vertices;
    int *used;     /* [capacity] masters of each */
    int *master;   /* [capacity][masters] */
    double *share; /* [capacity][masters] D */
    int *atom;     /* [v][influences] used ones first, -1 unused */
    double *alpha; /* [v][influences] A */
    double *error; /* [v] E of the target at hand, E* not taken off */
} Layers;

/* 0 when memory is out. */
int layers_make(Arena *arena, int vertices, int capacity, int masters, int influences, int affine,
                Layers *layers);
void layers_copy(const Layers *from, Layers *to);
/* A virtual bone that blends the strongest of dense [bones]; its number. */
int layers_add(const Layers *layers, int at, const double *dense, int bones);
/* number [count]: of the virtual bones that are followed, their new numbers, -1 for the others; returns how many. */
int layers_number_followed(const Layers *layers, int *number);
/* Leaves out the virtual bones that nobody follows, with scratch [capacity]; returns how many. */
int layers_close_ranks(Layers *layers, int *number);
/* w [bones] = D alpha of a vertex */
void layers_blend(const Layers *layers, int v, int bones, double *w);
/* The errors as one number, as the caller reads it: 1000 Delta, Eq. 1a and 7a. */
double layers_delta(const Layers *layers, const Target *target);
double layers_squared(const Layers *layers);

#endif

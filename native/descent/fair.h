/* fair.h - a pass in which neighbours shall miss in the same way; see fair.c. */
#ifndef OSSIFY_FAIR_H
#define OSSIFY_FAIR_H

#include "descent/vertex.h"
#include "math/colours.h"

/* The norm r'Sr of a problem, and residuals in it. */
typedef struct Fair {
    double tie;      /* mu / mean number of neighbours */
    double beside;   /* mean number of neighbours */
    Colours colours; /* vertices of one colour are no neighbours */
    size_t rows;     /* 3F, filled up (fair_rows.h) */
    float *residual; /* [v][rows] replayed less observed */
    double *whole;   /* room for Moments.whole, */
    double *lane_whole;
    double *turned; /* [4 capacity][rows] transforms, a column of all frames in a row */
    double *gram;   /* [4 bones][4 bones] G[b,c] */
    int fresh;      /* 1: residuals and `turned` are those of the model as it is */
    int turns;      /* passes so far: each goes through the colours the other way round */
} Fair;

/* mu: settings.fairness, or less where the mesh is coarse for its bones. */
double fair_strength(double fairness, int vertices, int bones);
/* The mean number of neighbours, 1 at least: mu over it is the tie. */
double fair_beside(const Graph *graph);
/* 0 when memory is out. */
int fair_make(Call *call, const Problem *problem, const Model *model, const Moments *moments, double mu,
              Fair *fair);
/* r'Sr and the rest pose's own term of a model as it is, -1 when memory is out. */
double fair_value(Call *call, const Problem *problem, Model *model, Moments *moments, const PassPlan *plan,
                  Fair *fair);
/* As pass_run, in the norm; moments go out in it, too. */
double fair_pass(Call *call, const Problem *problem, Model *model, Moments *moments, const PassPlan *plan,
                 Fair *fair);

#endif

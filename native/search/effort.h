/* effort.h - how hard to look for bones. */
#ifndef OSSIFY_EFFORT_H
#define OSSIFY_EFFORT_H

/* What a quality setting buys. */
typedef struct Effort {
    int sample_vertices, sample_frames; /* the search runs on about so many */
    double surplus;                     /* bones at the start, over those asked for */
    int warm, between, after;           /* iterations: before, between and after removals */
    int cycles, cycle_warm;             /* rounds of insertion and removal, iterations between the two, */
    int cycle_after;                    /* and after */
    double tolerance;                   /* relative fall of the error that ends a stage */
    int refine;                         /* iterations on all vertices and frames */
    double refine_tolerance;
    double least_reach; /* of the radius: with locality, how far bones may always reach while they move */
} Effort;

#endif

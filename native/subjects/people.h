/* people.h - several bodies that move, and the rig that they share while it is solved; see people.c. */
#ifndef OSSIFY_PEOPLE_H
#define OSSIFY_PEOPLE_H

#include "core/call.h"
#include "math/graph.h"

/* Inside, a body and its frames are in diagonals of its box, the body and every frame centred. */
typedef struct People {
    Call *call;
    int scaled; /* 1: bones are scaled along the axes of the rest, too */
    int vertices, frames, subjects, bones, influences;
    const int32_t *subject; /* [f] */
    double *unit;           /* [s] one by the diagonal */
    double *centre;         /* [s][3] */
    double *frame_centre;   /* [f][3] */
    float *x;               /* [f][v][3] */
    double *given;          /* [s][v][3] */
    double *rest;           /* [s][v][3] as corrected */
    int *bone;              /* [v][influences], -1 unused */
    double *weight;         /* [v][influences] */
    double *transform;      /* [f][bones][3][4] */
    double *error;          /* [f] squared */
    int *first;             /* [bones + 1] of the lists below */
    int *member;            /* [v influences] vertices, bone by bone */
    double *share;          /* likewise, their weights on it */
    Graph graph;
    const ossify_rig *held; /* who holds something; NULL: nothing is held */
} People;

/* The bodies as the caller has them. */
typedef struct PeopleBodies {
    int count;
    const float *rest;      /* [count][v][3] */
    const int32_t *subject; /* [f]; NULL: all of the first */
} PeopleBodies;

/* 0 when the call must end. */
int people_make(Call *call, const ossify_poses *poses, const PeopleBodies *bodies, int influences,
                People *people);
/* Room for so many bones. 0 when memory is out. */
int people_take_bones(People *people, int bones);
/* What is held of a rig, to the bit. */
static inline int people_holds_weights(const People *people, int v) {
    return people->held && people->held->held_vertices && people->held->held_vertices[v];
}
static inline int people_holds_group(const People *people, int b) {
    return people->held && people->held->held_groups && people->held->held_groups[b];
}
static inline int people_holds_rest(const People *people, int v) {
    return people->held && people->held->held_rest && people->held->held_rest[v];
}
static inline int people_holds_transform(const People *people, int f, int b) {
    return people->held && people->held->held_transforms &&
           people->held->held_transforms[(int64_t)f * people->bones + b];
}
/* From a rig and into one, in the caller's coordinates; what is held is not written. */
void people_read_weights(const ossify_rig *rig, People *people);
/* Those that are held. */
void people_read_transforms(const ossify_rig *rig, People *people);
void people_write_weights(const People *people, ossify_rig *rig);
/* Of the first `frames` frames. */
void people_write_transforms(const People *people, int frames, ossify_rig *rig);
void people_write_rests(const People *people, float *rest); /* [s][v][3] */
/* The lists of who follows a bone. */
void people_list(People *people);
/* M p of a bone in a frame */
static inline void people_move(const double *m, const double *p, double y[3]) {
    for (int a = 0; a < 3; a++) {
        y[a] = m[4 * a] * p[0] + m[4 * a + 1] * p[1] + m[4 * a + 2] * p[2] + m[4 * a + 3];
    }
}
static inline const double *people_transform(const People *people, int f, int b) {
    return people->transform + 12 * ((size_t)f * (size_t)people->bones + (size_t)b);
}
/* The sum of squares over all frames. */
double people_error(const People *people);

#endif

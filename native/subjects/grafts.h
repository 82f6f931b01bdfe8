/* grafts.h - which shape bones a merged tree has and where they hang; see leaves.c and spanned.c. */
#ifndef OSSIFY_GRAFTS_H
#define OSSIFY_GRAFTS_H

#include "subjects/people.h"

typedef struct Grafts {
    const ossify_merging *merging;
    int vertices;
    int bones;        /* of the merged tree: pose bones as they came, then shape bones */
    int32_t *parent;  /* [bones], -1 at the root */
    int32_t *carrier; /* [bones] the pose bone that a bone goes with */
    int *of;          /* of leaves: [shape_bones][pose_bones] the leaf, -1: none; NULL of a spanned tree */
} Grafts;

/* Both: 0 when the call must end. */
int leaves_choose(Call *call, Grafts *grafts);
int spanned_choose(Call *call, Grafts *grafts);
/* The weights to start from. */
void leaves_share(const Grafts *grafts, People *people);
void spanned_share(const Grafts *grafts, People *people);

/* One by the sum of what a vertex has. */
static inline double grafts_whole(const int32_t *bone, const float *weight, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += bone[i] >= 0 ? (double)weight[i] : 0;
    }
    return sum > 0 ? 1 / sum : 0;
}

/* The strongest of `sum` [bones], as many as there is room for, become the weights of the vertex; sum is emptied. */
void grafts_keep(People *people, int v, double *sum);

#endif

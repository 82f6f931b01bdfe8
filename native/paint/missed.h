/* missed.h - what all vertices of a rig miss, while their weights change; see missed.c. */
#ifndef OSSIFY_MISSED_H
#define OSSIFY_MISSED_H

#include "core/call.h"
#include "math/colours.h"

typedef struct Missed {
    const ossify_poses *poses;
    const ossify_rig *rig;
    double tie;  /* mu / mean number of neighbours; 0: vertices count one by one, and nothing below is kept */
    Graph graph; /* of the faces */
    Colours colours; /* vertices of one colour are no neighbours; with a tie of 0 all are of one */
    float *residual; /* [v][3F] replayed less observed */
    float **aside;   /* [workers][3F] */
} Missed;

/* Of the rig as it is, in the norm that the settings ask for; 0 when the call must end. */
int missed_make(Call *call, const ossify_poses *poses, const ossify_rig *rig, Missed *missed);
/* [3F] how far beside its own positions a vertex is best off with its neighbours as they are; NULL: not at all. */
const float *missed_aside(const Missed *missed, int v, int worker);
/* After a vertex's weights have changed. */
void missed_renew(const Missed *missed, int v);

#endif

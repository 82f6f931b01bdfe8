/* locality.h - which bones each vertex may use; see locality.c. */
#ifndef OSSIFY_LOCALITY_H
#define OSSIFY_LOCALITY_H

#include "core/model.h"

typedef struct Locality {
    uint8_t *candidates; /* [v][bytes] */
    uint8_t *kept;       /* [v][bytes] candidates to come back to */
    double joins;        /* weights above it belong to a region if they join what holds it together */
    int bytes;
    uint8_t *touched; /* [blocks] 1 where the last strip forbade something, */
    uint8_t *lost;    /* [bytes] and one bit for each bone that it forbade */
    void *regions;    /* a worker's scratch each */
} Locality;

int locality_make(Call *call, const Problem *problem, int capacity, Locality *locality);
int locality_update(Call *call, const Problem *problem, const Model *model, double radius, int hops,
                    Locality *locality);
/* Forbids what lies outside main regions and marks the blocks it touches; returns how many, -1 when
 * memory is out. `again`: only the vertices of the blocks that the last strip touched have changed since. */
int locality_strip(Call *call, const Problem *problem, const Model *model, int again, Locality *locality);
/* Forbids weights too faint to be worth an artist's time, likewise. */
int locality_strip_faint(const Problem *problem, const Model *model, Locality *locality);

#endif

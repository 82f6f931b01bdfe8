/* turns.h - how each bone is turned against its parent, as numbers that a driver can read. See turns.c. */
#ifndef OSSIFY_TURNS_H
#define OSSIFY_TURNS_H

#include "correct/skin.h"

enum { TURN_NUMBERS = 9 };

typedef struct Turns {
    int rows;      /* TURN_NUMBERS a bone */
    double *phi;   /* [rows][wide]: the entries of R - I, row-major; 0 of bones without a parent */
    uint8_t *used; /* [bones] 1: it has a parent */
} Turns;

int turns_make(Call *call, const Skin *skin, const int32_t *parents, Turns *turns);
/* c [wide] = sum_rows map[row] phi[row] */
void turns_drive(const Turns *turns, const Skin *skin, const double *map, double *c);

#endif

/* turns.h - how each bone is turned and shifted against its parent, as numbers that a driver can read. See turns.c. */
#ifndef OSSIFY_TURNS_H
#define OSSIFY_TURNS_H

#include "correct/skin.h"

enum { TURN_NUMBERS = 9, SHIFT_NUMBERS = 3 };

typedef struct Turns {
    int turned;    /* rows of turns, TURN_NUMBERS a bone: the entries of R - I, row-major */
    int rows;      /* and with those of shifts, SHIFT_NUMBERS a bone, behind them */
    double *phi;   /* [rows][wide]; 0 of bones without a parent */
    uint8_t *used; /* [bones] 1: it has a parent */
} Turns;

/* pivots: [bones][3] in the caller's rest, NULL: no shifts */
int turns_make(Call *call, const Skin *skin, const int32_t *parents, const double *pivots, Turns *turns);
/* c [wide] = sum_rows map[row] phi[row] */
void turns_drive(const Turns *turns, const Skin *skin, const double *map, double *c);
/* What a number of a map counts for one of the caller's units of shift. */
double turns_shift_unit(const Skin *skin);

#endif

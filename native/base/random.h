/* random.h - a small deterministic generator (SplitMix64); the state is the caller's. */
#ifndef OSSIFY_RANDOM_H
#define OSSIFY_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* 0 <= result < bound; bound > 0. */
static inline int random_below(uint64_t *state, int bound) {
    return (int)(random_next(state) % (uint64_t)bound);
}

/* 0 <= result < 1 */
static inline double random_unit(uint64_t *state) {
    return (double)(random_next(state) >> 11) * 0x1.0p-53;
}

#endif

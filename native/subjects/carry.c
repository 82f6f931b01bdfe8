/* carry.c - frames of all subjects on one body, to find bones by: with R_v the rotation of the surface around a vertex,
 *
 *     x' = x + R_v (q_v - p_v),      p the subject's own rest, q that of the body that takes the frame over.
 *
 * Where vertices move rigidly that is exact. Near joints it is not, and noise of the frames turns the surface: it serves
 * to find out which bones there are, no more; the descent then goes on with each subject's own rest. */
#include "subjects/carry.h"

#include <string.h>

#include "math/rotation3.h"

enum { MOST_AROUND = 48 };

/* A vertex, those beside it and those beside them. */
static int gather(const Graph *graph, int v, int *around) {
    int count = 0;
    around[count++] = v;
    for (int ring = 0, i = 0; ring < 2; ring++) {
        for (const int end = count; i < end; i++) {
            for (int64_t j = graph->first[around[i]]; j < graph->first[around[i] + 1]; j++) {
                int known = 0;
                for (int k = 0; k < count && !known; k++) {
                    known = around[k] == graph->neighbour[j];
                }
                if (!known && count < MOST_AROUND) {
                    around[count++] = graph->neighbour[j];
                }
            }
        }
    }
    return count;
}

static void turn_of(int count, const int *around, const double *p, const float *x, double r[9]) {
    static const double STILL[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double from[3] = {0}, to[3] = {0}, h[9] = {0};
    for (int i = 0; i < count; i++) {
        for (int a = 0; a < 3; a++) {
            from[a] += p[3 * around[i] + a] / count;
            to[a] += (double)x[3 * around[i] + a] / count;
        }
    }
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < 9; k++) {
            h[k] += ((double)x[3 * around[i] + k / 3] - to[k / 3]) * (p[3 * around[i] + k % 3] - from[k % 3]);
        }
    }
    rotation3_nearest(h, STILL, r);
}

typedef struct Carrying {
    const People *people;
    int onto;
    float *frames;
} Carrying;

static void carry_vertex(void *user, int v, int worker) {
    const Carrying *carrying = user;
    const People *people = carrying->people;
    const size_t numbers = 3 * (size_t)people->vertices, at = 3 * (size_t)v;
    const double *q = people->given + (size_t)carrying->onto * numbers + at;
    int around[MOST_AROUND];
    if ((worker == 0 && call_poll(people->call, -1)) || atomic_load(&people->call->cancelled)) {
        return;
    }
    const int count = gather(&people->graph, v, around);
    for (size_t f = 0; f < (size_t)people->frames; f++) {
        const double *p = people->given + (size_t)people->subject[f] * numbers;
        const float *x = people->x + f * numbers;
        const double d[3] = {q[0] - p[at], q[1] - p[at + 1], q[2] - p[at + 2]};
        double r[9];
        turn_of(count, around, p, x, r);
        for (size_t a = 0; a < 3; a++) {
            carrying->frames[f * numbers + at + a] =
                (float)((double)x[at + a] + r[3 * a] * d[0] + r[3 * a + 1] * d[1] + r[3 * a + 2] * d[2]);
        }
    }
}

void carry_frames(const People *people, int onto, float *frames) {
    Carrying carrying = {people, onto, frames};
    parallel_run(people->call->pool, people->vertices, carry_vertex, &carrying);
}

/* What no rigid motion of the whole explains. */
static double unrest(const People *people, int f) {
    const size_t numbers = 3 * (size_t)people->vertices;
    const double *p = people->given + (size_t)people->subject[f] * numbers;
    const float *x = people->x + (size_t)f * numbers;
    static const double STILL[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double h[9] = {0}, r[9], sum = 0;
    for (size_t v = 0; v < numbers; v += 3) {
        for (size_t k = 0; k < 9; k++) {
            h[k] += (double)x[v + k / 3] * p[v + k % 3];
        }
    }
    rotation3_nearest(h, STILL, r);
    for (size_t v = 0; v < numbers; v += 3) {
        for (size_t a = 0; a < 3; a++) {
            const double d =
                (double)x[v + a] - r[3 * a] * p[v] - r[3 * a + 1] * p[v + 1] - r[3 * a + 2] * p[v + 2];
            sum += d * d;
        }
    }
    return sum;
}

int carry_richest(const People *people) {
    int best = 0;
    double most = -1;
    for (int s = 0; s < people->subjects; s++) {
        double sum = 0;
        for (int f = 0; f < people->frames; f++) {
            sum += people->subject[f] == s ? unrest(people, f) : 0;
        }
        if (sum > most) {
            most = sum;
            best = s;
        }
    }
    return best;
}

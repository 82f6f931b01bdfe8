/* grafts.c - weights of a vertex kept as far as there is room. */
#include "subjects/grafts.h"

#include <string.h>

void grafts_keep(People *people, int v, double *sum) {
    const int k = people->influences;
    double all = 0;
    for (int i = 0; i < k; i++) {
        int best = 0;
        for (int b = 1; b < people->bones; b++) {
            best = sum[b] > sum[best] ? b : best;
        }
        const int found = sum[best] > 0;
        people->bone[v * k + i] = found ? best : -1;
        people->weight[v * k + i] = found ? sum[best] : 0;
        all += people->weight[v * k + i];
        sum[best] = 0;
    }
    for (int i = 0; i < k && all > 0; i++) {
        people->weight[v * k + i] /= all;
    }
    memset(sum, 0, (size_t)people->bones * sizeof *sum);
}

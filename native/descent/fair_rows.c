/* fair_rows.c - what a vertex and its neighbours miss in all frames: the inner loops of the norm (fair.c).
 *
 * Frames go by in ROW_LANES side by side, and a sum over them is one of each lane, added in order at the end: the bits do
 * not depend on the width of a processor's vectors. */
#include "descent/fair_rows.h"

#include "base/portable.h"

#if defined(__GNUC__)
typedef float Floats __attribute__((vector_size(32), aligned(4), may_alias));
typedef float Half __attribute__((vector_size(16), aligned(4), may_alias));
typedef Four Doubles;
#define DOUBLES_OF(half) __builtin_convertvector(half, Doubles)
#define FLOATS_OF(doubles) __builtin_convertvector(doubles, Half)
#else
typedef float Floats, Half;
typedef double Doubles;
#define DOUBLES_OF(half) ((double)(half))
#define FLOATS_OF(doubles) ((float)(doubles))
#endif

enum {
    ROW_LANES = sizeof(Floats) / sizeof(float),
    ROWS_ABREAST = sizeof(Doubles) / sizeof(double),
    ROW_PARTS = ROW_LANES / ROWS_ABREAST
};

typedef struct Beside {
    const float *of_v, *residual;
    const int *neighbour;
    size_t count, rows;
    float own, others;
} Beside;

INSIDE double total(const Doubles sum[ROW_PARTS]) {
    const double *lane = (const double *)sum;
    double all = 0;
    for (int i = 0; i < ROW_LANES; i++) {
        all += lane[i];
    }
    return all;
}

INSIDE double stiffen(const Beside *at, int with_own, float *to) {
    Doubles sum[ROW_PARTS] = {0};
    for (size_t i = 0; i < at->rows; i += ROW_LANES) {
        Floats all = {0};
        for (size_t e = 0; e < at->count; e++) {
            all += *(const Floats *)(at->residual + (size_t)at->neighbour[e] * at->rows + i);
        }
        *(Floats *)(to + i) = at->own * *(const Floats *)(at->of_v + i) - at->others * all;
        for (int half = 0; half < ROW_PARTS; half++) {
            const size_t j = i + (size_t)(ROWS_ABREAST * half);
            const Doubles stiff = DOUBLES_OF(*(const Half *)(to + j));
            sum[half] += stiff * (with_own ? DOUBLES_OF(*(const Half *)(at->of_v + j)) : stiff);
        }
    }
    return total(sum);
}

INSIDE double move_rows(const FairMove *move, size_t rows, float *r) {
    Doubles sum[ROW_PARTS] = {0};
    for (size_t i = 0; i < rows; i += ROW_LANES) {
        for (int half = 0; half < ROW_PARTS; half++) {
            const size_t j = i + (size_t)(ROWS_ABREAST * half);
            Doubles moved = {0};
            for (int b = 0; b < move->count; b++) {
                const double *t = move->turned[b] + j, *q = move->q[b];
                moved += q[0] * *(const Doubles *)t + q[1] * *(const Doubles *)(t + rows) +
                         q[2] * *(const Doubles *)(t + 2 * rows) + q[3] * *(const Doubles *)(t + 3 * rows);
            }
            *(Half *)(r + j) = FLOATS_OF(DOUBLES_OF(*(const Half *)(r + j)) + moved);
            const Doubles now = DOUBLES_OF(*(const Half *)(r + j));
            sum[half] += now * now;
        }
    }
    return total(sum);
}

#define FOR_PROCESSORS(target, width)                                                \
    target static double square_##width(const Beside *at, float *to) {               \
        return stiffen(at, 0, to);                                                   \
    }                                                                                \
    target static double product_##width(const Beside *at, float *to) {              \
        return stiffen(at, 1, to);                                                   \
    }                                                                                \
    target static double move_##width(const FairMove *move, size_t rows, float *r) { \
        return move_rows(move, rows, r);                                             \
    }
FOR_PROCESSORS(, narrow)
FOR_PROCESSORS(WIDE, wide)

static Beside beside(const Graph *graph, int v, size_t rows, const float *residual, float own, float others) {
    const int64_t first = graph->first[v];
    return (Beside){.of_v = residual + (size_t)v * rows,
                    .residual = residual,
                    .neighbour = graph->neighbour + first,
                    .count = (size_t)(graph->first[v + 1] - first),
                    .rows = rows,
                    .own = own,
                    .others = others};
}

double fair_rows_square(const Graph *graph, int v, size_t rows, const float *residual, float own,
                        float others, float *to) {
    const Beside at = beside(graph, v, rows, residual, own, others);
    return portable_is_wide() ? square_wide(&at, to) : square_narrow(&at, to);
}

double fair_rows_product(const Graph *graph, int v, size_t rows, const float *residual, float own,
                         float others, float *to) {
    const Beside at = beside(graph, v, rows, residual, own, others);
    return portable_is_wide() ? product_wide(&at, to) : product_narrow(&at, to);
}

size_t fair_rows_padded(int frames) {
    return (3 * (size_t)frames + ROW_LANES - 1) / ROW_LANES * ROW_LANES;
}

double fair_rows_move(const FairMove *move, size_t rows, float *r) {
    return portable_is_wide() ? move_wide(move, rows, r) : move_narrow(move, rows, r);
}

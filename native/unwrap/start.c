/* start.c - a map without flips to begin with: the given one, or a disc (Tutte 1963, How to Draw a Graph).
 *
 * The longest border of the island is laid on a circle, by its lengths in the metric, and every other point is in the
 * middle of its neighbours; other borders are closed by a point each, for the time being. On a triangulated disc no
 * triangle then flips (Floater 2003, One-to-One Piecewise Linear Mappings over Triangulations). An island that is none,
 * a whole sphere or a handle, has no such map: more seams would open it. */
#include "unwrap/start.h"

#include <math.h>
#include <string.h>

#include "math/elementary.h"
#include "unwrap/system.h"

enum { MOST_MIDDLE_STEPS = 20000 };

static const double PI = 3.14159265358979323846;
static const double MIDDLE_RESIDUAL = 1e-13; /* limbs shrink by orders of magnitude */

typedef struct Border {
    int *next; /* [points] along the border, counterclockwise; -1: not on one */
    int *loop; /* [points] which border, -1: none */
    int loops, longest;
    int edges; /* of all borders */
} Border;

/* Edges that no triangle has the other way round; 0 when a point has two of them. */
static int find_border(const Chart *chart, const System *s, uint8_t *beyond, Border *border) {
    for (int t = 0; t < chart->triangles; t++) {
        for (int c = 0; c < 3; c++) { /* pair 01, 12, 20 */
            static const int ALONG[3] = {0, 3, 4};
            uint8_t *seen = beyond + s->slot[6 * t + ALONG[c]];
            if (*seen) {
                return 0;
            }
            *seen = 1;
        }
    }
    for (int t = 0; t < chart->triangles; t++) {
        for (int c = 0; c < 3; c++) {
            static const int BACK[3] = {2, 5, 1};
            const int from = chart->corner[3 * t + c], to = chart->corner[3 * t + (c + 1) % 3];
            if (beyond[s->slot[6 * t + BACK[c]]]) {
                continue;
            }
            if (border->next[from] >= 0) {
                return 0;
            }
            border->next[from] = to;
            border->edges++;
        }
    }
    return 1;
}

/* Length in the metric of the edge from corner c of a triangle to the next. */
static double edge_length(const Chart *chart, int t, int c) {
    const double *b = chart->inward + 3 * t;
    const double x1 = 1 / b[0], y2 = 1 / b[2], x2 = -b[1] * x1 * y2;
    const double x = c == 0 ? x1 : c == 1 ? x2 - x1 : x2, y = c == 0 ? 0 : y2;
    return sqrt(x * x + y * y);
}

/* Numbers the borders; 0 when one does not close. */
static int number_loops(const Chart *chart, const double *length, Border *border) {
    double most = -1;
    for (int i = 0; i < chart->points; i++) {
        border->loop[i] = -1;
    }
    for (int i = 0; i < chart->points; i++) {
        if (border->next[i] < 0 || border->loop[i] >= 0) {
            continue;
        }
        double sum = 0;
        int at = i;
        do {
            border->loop[at] = border->loops;
            sum += length[at];
            at = border->next[at];
        } while (at >= 0 && border->loop[at] < 0);
        if (at != i) {
            return 0;
        }
        if (sum > most) {
            most = sum;
            border->longest = border->loops;
        }
        border->loops++;
    }
    return border->loops > 0;
}

/* points - edges + triangles = 2 - borders, and each point has one fan of triangles around it */
static int is_disc(const Chart *chart, const Border *border) {
    const int edges = (3 * chart->triangles + border->edges) / 2;
    return chart->points - edges + chart->triangles == 2 - border->loops;
}

/* The island with other borders closed: their own points are the last. */
static int close_holes(Arena *arena, const Chart *chart, const Border *border, Chart *closed) {
    int more = 0;
    for (int i = 0; i < chart->points; i++) {
        more += border->loop[i] >= 0 && border->loop[i] != border->longest;
    }
    *closed = (Chart){.points = chart->points + border->loops, .triangles = chart->triangles + more};
    closed->corner = arena_take(arena, 3 * (size_t)closed->triangles, sizeof(int));
    if (arena->failed) {
        return 0;
    }
    memcpy(closed->corner, chart->corner, 3 * (size_t)chart->triangles * sizeof(int));
    int *to = closed->corner + 3 * (size_t)chart->triangles;
    for (int i = 0; i < chart->points; i++) {
        if (border->loop[i] >= 0 && border->loop[i] != border->longest) {
            to[0] = border->next[i];
            to[1] = i;
            to[2] = chart->points + border->loop[i];
            to += 3;
        }
    }
    return 1;
}

static void lay_circle(const Chart *chart, const Border *border, const double *length, double *uv,
                       uint8_t *held) {
    int first = 0;
    double whole = 0, along = 0;
    while (border->loop[first] != border->longest) {
        first++;
    }
    for (int i = 0; i < chart->points; i++) {
        whole += border->loop[i] == border->longest ? length[i] : 0;
    }
    const double radius = sqrt(chart_metric_area(chart) / PI);
    int at = first;
    do {
        double sine, cosine;
        elementary_sincos(2 * PI * along / whole, &sine, &cosine);
        uv[2 * at] = radius * cosine;
        uv[2 * at + 1] = radius * sine;
        held[at] = 1;
        along += length[at];
        at = border->next[at];
    } while (at != first);
}

/* Every point in the middle of its neighbours. */
static int solve_middle(Call *call, System *s, const double *uv, double *pull, double *x) {
    system_clear(s);
    for (int i = 0; i < s->points; i++) {
        const double count = s->first[i + 1] - s->first[i];
        s->own[4 * i] = s->own[4 * i + 3] = count > 0 ? count : 1;
        for (int k = s->first[i]; k < s->first[i + 1]; k++) {
            s->pair[4 * (size_t)k] = s->pair[4 * (size_t)k + 3] = -1;
            if (s->held[s->beside[k]]) {
                pull[2 * i] += uv[2 * s->beside[k]];
                pull[2 * i + 1] += uv[2 * s->beside[k] + 1];
            }
        }
    }
    return system_solve(call, s, pull, MIDDLE_RESIDUAL, MOST_MIDDLE_STEPS, x) >= 0;
}

static Start lay_disc(Call *call, Chart *chart, const Border *border, const double *length) {
    Arena *arena = &call->arena;
    Chart closed;
    System system;
    if (!close_holes(arena, chart, border, &closed) || !system_make(arena, &closed, &system)) {
        return START_ENDED;
    }
    const size_t n = 2 * (size_t)closed.points;
    double *uv = arena_take(arena, n, sizeof(double)), *pull = arena_take(arena, n, sizeof(double)),
           *x = arena_take(arena, n, sizeof(double));
    uint8_t *held = arena_take(arena, (size_t)closed.points, 1);
    if (arena->failed) {
        return START_ENDED;
    }
    held[chart->points + border->longest] = 1; /* that border is not closed */
    lay_circle(chart, border, length, uv, held);
    system.held = held;
    if (!solve_middle(call, &system, uv, pull, x)) {
        return START_ENDED;
    }
    for (int i = 0; i < 2 * chart->points; i++) {
        chart->uv[i] = held[i / 2] ? uv[i] : x[i];
    }
    return chart_count_flipped(chart) == 0 ? START_ROUND : START_NONE;
}

static Start begin_round(Call *call, Chart *chart) {
    Arena *arena = &call->arena;
    System system;
    if (!system_make(arena, chart, &system)) {
        return START_ENDED;
    }
    const size_t points = (size_t)chart->points;
    Border border = {.next = arena_take(arena, points, sizeof(int)),
                     .loop = arena_take(arena, points, sizeof(int))};
    uint8_t *beyond = arena_take(arena, (size_t)system.first[chart->points], 1);
    double *length = arena_take(arena, points, sizeof(double));
    if (arena->failed) {
        return START_ENDED;
    }
    for (int i = 0; i < chart->points; i++) {
        border.next[i] = -1;
    }
    if (!find_border(chart, &system, beyond, &border)) {
        return START_NONE;
    }
    for (int i = 0; i < 3 * chart->triangles; i++) {
        const int from = chart->corner[i];
        if (border.next[from] == chart->corner[i % 3 == 2 ? i - 2 : i + 1]) {
            length[from] = edge_length(chart, i / 3, i % 3);
        }
    }
    if (!number_loops(chart, length, &border) || !is_disc(chart, &border)) {
        return START_NONE;
    }
    return lay_disc(call, chart, &border, length);
}

Start start_find(Call *call, Chart *chart) {
    if (!chart_is_whole(chart)) {
        return START_NONE;
    }
    if (chart_count_flipped(chart) == 0) {
        return START_GIVEN;
    }
    ArenaPiece *mark = arena_mark(&call->arena);
    const Start start = begin_round(call, chart);
    arena_return(&call->arena, mark);
    return start;
}

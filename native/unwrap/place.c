/* place.c - islands that were relaxed go back to where they were, or are packed.
 *
 * Back: the turn that brings the points nearest to where they were (Procrustes in 2D: the angle of sum conj(after)
 * before), about their middle.
 *
 * Packed: each is turned to the least box (of angles in equal steps), boxes stand on shelves, the highest first, and
 * the width of the shelves is the one of some that leaves the least square. Blender's own packer does better and may
 * follow; this one makes the map usable as it is. */
#include "unwrap/place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "math/elementary.h"

enum { ANGLES = 45, WIDTHS = 64 };

static const double QUARTER = 1.57079632679489661923;

static void middle_of(int points, const double *uv, double middle[2]) {
    middle[0] = middle[1] = 0;
    for (int i = 0; i < 2 * points; i++) {
        middle[i % 2] += uv[i] / points;
    }
}

void place_back(int points, const double *before, double scale, double *after) {
    double from[2], to[2], real = 0, imaginary = 0;
    middle_of(points, after, from);
    middle_of(points, before, to);
    for (int i = 0; i < points; i++) {
        const double u = after[2 * i] - from[0], v = after[2 * i + 1] - from[1];
        const double x = before[2 * i] - to[0], y = before[2 * i + 1] - to[1];
        real += u * x + v * y;
        imaginary += u * y - v * x;
    }
    const double length = sqrt(real * real + imaginary * imaginary);
    const double c = length > 0 ? scale * real / length : scale,
                 s = length > 0 ? scale * imaginary / length : 0;
    for (int i = 0; i < points; i++) {
        const double u = after[2 * i] - from[0], v = after[2 * i + 1] - from[1];
        after[2 * i] = to[0] + c * u - s * v;
        after[2 * i + 1] = to[1] + s * u + c * v;
    }
}

/* ---- packing ---- */

typedef struct Box {
    int island;
    double low[2], size[2];
} Box;

static void turn(int points, double angle, const double *uv, double *turned) {
    double s, c;
    elementary_sincos(angle, &s, &c);
    for (int i = 0; i < points; i++) {
        const double u = uv[2 * i], v = uv[2 * i + 1];
        turned[2 * i] = c * u - s * v;
        turned[2 * i + 1] = s * u + c * v;
    }
}

static void bound(int points, const double *uv, Box *box) {
    double high[2] = {-INFINITY, -INFINITY};
    box->low[0] = box->low[1] = INFINITY;
    for (int i = 0; i < 2 * points; i++) {
        box->low[i % 2] = fmin(box->low[i % 2], uv[i]);
        high[i % 2] = fmax(high[i % 2], uv[i]);
    }
    box->size[0] = high[0] - box->low[0];
    box->size[1] = high[1] - box->low[1];
}

/* Turns an island to its least box, which lies. */
static void lay(int points, double *uv, double *room, Box *box) {
    double least = INFINITY, best = 0;
    for (int i = 0; i < ANGLES; i++) {
        turn(points, QUARTER * i / ANGLES, uv, room);
        bound(points, room, box);
        if (box->size[0] * box->size[1] < least) {
            least = box->size[0] * box->size[1];
            best = QUARTER * i / ANGLES;
        }
    }
    turn(points, best, uv, room);
    bound(points, room, box);
    if (box->size[1] > box->size[0]) {
        turn(points, best + QUARTER, uv, room);
        bound(points, room, box);
    }
    memcpy(uv, room, 2 * (size_t)points * sizeof *uv);
}

static int compare_boxes(const void *a, const void *b) {
    const Box *x = a, *y = b;
    if (x->size[1] != y->size[1]) {
        return x->size[1] < y->size[1] ? 1 : -1;
    }
    return (x->island > y->island) - (x->island < y->island);
}

/* Corners of boxes on shelves of a width; returns the side of the square that holds them. */
static double shelve(const Box *box, int count, double width, double gap, double *corner) {
    double x = 0, y = 0, height = 0, widest = 0;
    for (int i = 0; i < count; i++) {
        if (x > 0 && x + box[i].size[0] > width) {
            y += height + gap;
            x = height = 0;
        }
        corner[2 * i] = x;
        corner[2 * i + 1] = y;
        x += box[i].size[0] + gap;
        height = fmax(height, box[i].size[1]);
        widest = fmax(widest, x - gap);
    }
    return fmax(widest, y + height);
}

static double best_width(const Box *box, int count, double gap, double *corner) {
    double area = 0, widest = 0, least = INFINITY, best = 0;
    for (int i = 0; i < count; i++) {
        area += (box[i].size[0] + gap) * (box[i].size[1] + gap);
        widest = fmax(widest, box[i].size[0]);
    }
    for (int i = 0; i < WIDTHS; i++) {
        const double width = fmax(widest, sqrt(area) * (1 + (double)i / WIDTHS));
        const double side = shelve(box, count, width, gap, corner);
        if (side < least) {
            least = side;
            best = width;
        }
    }
    return best;
}

int place_pack(Arena *arena, const Islands *islands, double margin, double *uv) {
    const int count = islands->count;
    ArenaPiece *mark = arena_mark(arena);
    Box *box = arena_take(arena, (size_t)count, sizeof *box);
    double *room = arena_take(arena, 2 * (size_t)islands->points, sizeof *room);
    double *corner = arena_take(arena, 2 * (size_t)count, sizeof *corner), size = 0;
    if (arena->failed) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        const int first = islands->first_point[i];
        box[i].island = i;
        lay(islands->first_point[i + 1] - first, uv + 2 * first, room, box + i);
        size += box[i].size[0] * box[i].size[1];
    }
    qsort(box, (size_t)count, sizeof *box, compare_boxes);
    const double gap = margin * sqrt(size);
    const double width = best_width(box, count, gap, corner);
    const double scale = 1 / (shelve(box, count, width, gap, corner) + gap);
    for (int i = 0; i < count; i++) {
        for (int k = 2 * islands->first_point[box[i].island]; k < 2 * islands->first_point[box[i].island + 1];
             k++) {
            uv[k] = scale * (uv[k] - box[i].low[k % 2] + corner[2 * i + k % 2] + 0.5 * gap);
        }
    }
    arena_return(arena, mark);
    return 1;
}

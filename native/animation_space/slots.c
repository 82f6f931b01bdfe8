/* slots.c - the bones that a vertex has coordinates for, and the coordinates in which penalties mean the same.
 *
 * Linear blend skinning is y_b = w_b (r, 1). Coordinates of a bone are taken about the centre of what it moves,
 *
 *     c_b = sum_v w_vb^2 r_v / sum_v w_vb^2,     (q, w) -> (q - w c_b, w),
 *
 * in the unit sphere: a change of the weight w and one of the place q then move the surface alike, and damping them
 * alike is fair. Merry, Marais and Gain (2006) leave the coordinates as they are and damp nothing. */
#include "animation_space/slots.h"

#include <math.h>
#include <string.h>

#define SHORTEST_EDGE 1e-3 /* of the mean one: vertices that lie in one place are held together, not welded */

#define FADING 0.5 /* of a bone's share, from one edge to the next */

enum { EDGE_CHUNK = 256, MOST_BESIDE = 64, MOST_RINGS = 32 };

/* ---- lengths ---- */

typedef struct Lengths {
    Call *call;
    const Coordinates *coordinates;
} Lengths;

/* The mean length over the frames of every edge of some vertices. */
static void measure_chunk(void *user, int chunk, int worker) {
    const Lengths *lengths = user;
    const Coordinates *c = lengths->coordinates;
    const Skin *skin = c->skin;
    const int begin = chunk * EDGE_CHUNK, far = begin + EDGE_CHUNK;
    const int end = far < skin->vertices ? far : skin->vertices;
    if (worker == 0) {
        call_poll(lengths->call, -1);
    }
    for (int f = 0; f < skin->frames; f++) {
        const float *x = skin->poses->frames + 3 * (size_t)f * (size_t)skin->vertices;
        for (int v = begin; v < end; v++) {
            for (int64_t e = c->graph.first[v]; e < c->graph.first[v + 1]; e++) {
                const float *a = x + 3 * (size_t)v, *b = x + 3 * (size_t)c->graph.neighbour[e];
                const double d[3] = {(double)a[0] - (double)b[0], (double)a[1] - (double)b[1],
                                     (double)a[2] - (double)b[2]};
                c->stiffness[e] += sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            }
        }
    }
}

/* 1 / length, inside */
static void invert_lengths(const Coordinates *c) {
    const int64_t edges = c->graph.first[c->skin->vertices];
    const double scale = 1 / (c->skin->unit * c->skin->frames);
    double mean = 0;
    for (int64_t e = 0; e < edges; e++) {
        mean += c->stiffness[e] * scale / (double)edges;
    }
    for (int64_t e = 0; e < edges && mean > 0; e++) {
        c->stiffness[e] = 1 / fmax(c->stiffness[e] * scale, SHORTEST_EDGE * mean);
    }
}

int slots_make(Call *call, const Skin *skin, int slots, Coordinates *c) {
    Arena *arena = &call->arena;
    const size_t n = (size_t)skin->vertices, k = (size_t)slots, bones = (size_t)skin->bones;
    const ossify_poses *poses = skin->poses;
    memset(c, 0, sizeof *c);
    c->skin = skin;
    c->slots = slots;
    c->bone = arena_take(arena, n * k, sizeof(int));
    c->weight = arena_take(arena, n * k, sizeof(double));
    c->correction = arena_take(arena, 4 * n * k, sizeof(double));
    c->centre = arena_take(arena, 3 * bones, sizeof(double));
    c->moment = arena_take(arena, 16 * bones * bones, sizeof(double));
    if (arena->failed || !graph_of_faces(arena, skin->vertices, skin->rest, poses->triangle_count,
                                         poses->triangles, &c->graph)) {
        return 0;
    }
    const size_t edges = (size_t)c->graph.first[n];
    c->stiffness = arena_take(arena, edges + 1, sizeof(double));
    c->beside = arena_take(arena, edges * k + 1, sizeof(int8_t));
    if (arena->failed) {
        return 0;
    }
    Lengths lengths = {call, c};
    parallel_run(call->pool, (skin->vertices + EDGE_CHUNK - 1) / EDGE_CHUNK, measure_chunk, &lengths);
    invert_lengths(c);
    return !call_poll(call, -1);
}

/* ---- bones ---- */

void slots_take_own(Coordinates *c) {
    const Skin *skin = c->skin;
    const size_t own = (size_t)skin->influences, k = (size_t)c->slots;
    for (size_t v = 0; v < (size_t)skin->vertices; v++) {
        for (size_t i = 0; i < k; i++) {
            const int there = i < own && skin->bone[v * own + i] >= 0;
            c->bone[v * k + i] = there ? skin->bone[v * own + i] : -1;
            c->weight[v * k + i] = there ? skin->weight[v * own + i] : 0;
        }
    }
}

static int slot_of(const Coordinates *c, int v, int bone) {
    const int *bones = c->bone + (size_t)v * (size_t)c->slots;
    for (int k = 0; k < c->slots && bones[k] >= 0; k++) {
        if (bones[k] == bone) {
            return k;
        }
    }
    return -1;
}

typedef struct Offer {
    int bone;
    double share;
} Offer;

/* What the vertices had before a round: a round looks one edge far, whatever the order of the vertices. */
typedef struct Round {
    int *bone; /* [v][slots] */
    double *
        share; /* [v][slots] of a vertex in a bone, fading with the distance from those that have weight on it */
} Round;

static int add_offer(Offer *offers, int count, int bone, double share) {
    for (int i = 0; i < count; i++) {
        if (offers[i].bone == bone) {
            offers[i].share += share;
            return count;
        }
    }
    if (count < MOST_BESIDE) {
        offers[count++] = (Offer){bone, share};
    }
    return count;
}

/* The bones beside a vertex that it has not. */
static int offers_of(const Coordinates *c, const Round *before, int v, Offer *offers) {
    const size_t k = (size_t)c->slots;
    int count = 0;
    for (int64_t e = c->graph.first[v]; e < c->graph.first[v + 1]; e++) {
        const size_t u = (size_t)c->graph.neighbour[e] * k;
        for (size_t i = 0; i < k && before->bone[u + i] >= 0; i++) {
            if (slot_of(c, v, before->bone[u + i]) < 0) {
                count = add_offer(offers, count, before->bone[u + i], before->share[u + i]);
            }
        }
    }
    return count;
}

static int best_offer(const Offer *offers, int count) {
    int best = 0;
    for (int i = 1; i < count; i++) {
        const double more = offers[i].share - offers[best].share;
        best = more > 0 || (more == 0 && offers[i].bone < offers[best].bone) ? i : best;
    }
    return best;
}

/* Free slots of a vertex take what is offered; returns how many. */
static int fill_vertex(const Coordinates *c, const Round *before, int v, double *share) {
    const int64_t beside = c->graph.first[v + 1] - c->graph.first[v];
    const size_t at = (size_t)v * (size_t)c->slots;
    Offer offers[MOST_BESIDE];
    int used = coordinates_used(c, v), filled = 0;
    int count = used < c->slots ? offers_of(c, before, v, offers) : 0;
    for (; used < c->slots && count > 0; used++, filled++) {
        const int best = best_offer(offers, count);
        c->bone[at + (size_t)used] = offers[best].bone;
        share[at + (size_t)used] = FADING * offers[best].share / (double)beside;
        offers[best] = offers[--count];
    }
    return filled;
}

int slots_fill_up(Call *call, Coordinates *c) {
    const size_t n = (size_t)c->skin->vertices * (size_t)c->slots;
    ArenaPiece *mark = arena_mark(&call->arena);
    double *share = arena_take(&call->arena, n, sizeof(double));
    const Round before = {arena_take(&call->arena, n, sizeof(int)),
                          arena_take(&call->arena, n, sizeof(double))};
    int filled = !call->arena.failed;
    if (filled) {
        memcpy(share, c->weight, n * sizeof(double));
    }
    for (int round = 0; round < MOST_RINGS && filled > 0; round++) {
        filled = 0;
        memcpy(before.bone, c->bone, n * sizeof(int));
        memcpy(before.share, share, n * sizeof(double));
        for (int v = 0; v < c->skin->vertices; v++) {
            filled += fill_vertex(c, &before, v, share);
            if (v % EDGE_CHUNK == 0 && call_poll(call, -1)) {
                return 0;
            }
        }
    }
    arena_return(&call->arena, mark);
    return !call->arena.failed;
}

/* ---- the caller's ---- */

void slots_take_given(Coordinates *c, const ossify_space *space) {
    const Skin *skin = c->skin;
    const size_t own = (size_t)skin->influences, k = (size_t)c->slots;
    for (size_t v = 0; v < (size_t)skin->vertices; v++) {
        size_t used = 0;
        for (size_t i = v * k; i < (v + 1) * k; i++) {
            const float *from = space->corrections + 4 * i;
            double *d = c->correction + 4 * (v * k + used);
            if (space->bones[i] < 0) {
                continue;
            }
            for (int a = 0; a < 3; a++) {
                d[a] = ((double)from[a] - (double)from[3] * skin->centre[a]) / skin->unit;
            }
            d[3] = (double)from[3];
            c->bone[v * k + used++] = space->bones[i];
        }
        for (size_t i = used; i < k; i++) {
            c->bone[v * k + i] = -1;
        }
        for (size_t i = 0; i < own && skin->bone[v * own + i] >= 0; i++) {
            const int slot = slot_of(c, (int)v, skin->bone[v * own + i]);
            if (slot >= 0) {
                c->weight[v * k + (size_t)slot] = skin->weight[v * own + i];
            }
        }
    }
}

void slots_write(const Coordinates *c, ossify_space *space) {
    const Skin *skin = c->skin;
    const size_t k = (size_t)c->slots;
    for (size_t i = 0; i < (size_t)skin->vertices * k; i++) {
        float *to = space->corrections + 4 * i;
        double d[4] = {0, 0, 0, 0};
        space->bones[i] = c->bone[i];
        if (c->bone[i] >= 0) {
            coordinates_inside(c, (int)(i / k), (int)(i % k), d);
        }
        for (int a = 0; a < 3; a++) { /* back to the caller's coordinates */
            to[a] = (float)(skin->unit * d[a] + d[3] * skin->centre[a]);
        }
        to[3] = (float)d[3];
    }
}

/* ---- centres, and slots that face each other ---- */

static void find_centres(Coordinates *c) {
    const Skin *skin = c->skin;
    const size_t k = (size_t)c->slots, bones = (size_t)skin->bones;
    double *mass = c->moment; /* scratch: the moments come later */
    memset(c->centre, 0, 3 * bones * sizeof(double));
    memset(mass, 0, bones * sizeof(double));
    for (size_t v = 0; v < (size_t)skin->vertices; v++) {
        for (size_t i = v * k; i < (v + 1) * k && c->bone[i] >= 0; i++) {
            const double square = c->weight[i] * c->weight[i];
            const size_t b = (size_t)c->bone[i];
            mass[b] += square;
            for (size_t a = 0; a < 3; a++) {
                c->centre[3 * b + a] += square * skin->rest[3 * v + a];
            }
        }
    }
    for (size_t i = 0; i < 3 * bones; i++) {
        c->centre[i] = mass[i / 3] > 0 ? c->centre[i] / mass[i / 3] : 0;
    }
}

/* Corrections that came in are inside; from here on they are about the centres. */
static void shift_corrections(Coordinates *c) {
    for (size_t i = 0; i < (size_t)c->skin->vertices * (size_t)c->slots; i++) {
        double *d = c->correction + 4 * i;
        for (size_t a = 0; a < 3 && c->bone[i] >= 0; a++) {
            d[a] -= d[3] * c->centre[3 * (size_t)c->bone[i] + a];
        }
    }
}

void slots_match(Coordinates *c) {
    const size_t k = (size_t)c->slots;
    find_centres(c);
    shift_corrections(c);
    for (int v = 0; v < c->skin->vertices; v++) {
        for (int64_t e = c->graph.first[v]; e < c->graph.first[v + 1]; e++) {
            for (size_t i = 0; i < k; i++) {
                const int bone = c->bone[(size_t)v * k + i];
                const int other = bone < 0 ? -1 : slot_of(c, c->graph.neighbour[e], bone);
                c->beside[(size_t)e * k + i] = (int8_t)other;
            }
        }
    }
}

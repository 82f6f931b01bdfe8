/* rig.c - between the caller's rig and the solver's model: coordinates, order, precision.
 *
 * With inside = (caller's - centre) / unit, a transform (R, t) of the inside is
 *     (R, frame_centre + unit t - R centre)
 * in the caller's coordinates. What is held is not written, so it stays equal to the bit. */
#include "core/rig.h"

#include <math.h>
#include <string.h>

#include "math/rotation3.h"

static const double LAWFUL = 1e-5;           /* off 1, of sums of weights and products of axes */
static const double WEIGHT_STEPS = 16777216; /* 2^24: sums of multiples of 2^-24 are exact in float */

/* A bone that is solved as rigid starts from the nearest rotation to what was given. The second call
 * takes away the pull of the first one's guess. */
static void make_rigid(double *m, size_t row) {
    double h[9], r[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (size_t i = 0; i < 9; i++) {
        h[i] = m[i / 3 * row + i % 3];
    }
    rotation3_nearest(h, r, r);
    rotation3_nearest(h, r, r);
    for (size_t i = 0; i < 9; i++) {
        m[i / 3 * row + i % 3] = r[i];
    }
}

static void read_transform(const Placement *placement, const double *from, size_t f, size_t row, double *m) {
    for (size_t i = 0; i < 3; i++, from += 4, m += row) {
        memcpy(m, from, 3 * sizeof *m);
        m[3] = (from[3] - placement->frame_centre[3 * f + i] + from[0] * placement->centre[0] +
                from[1] * placement->centre[1] + from[2] * placement->centre[2]) /
               placement->unit;
    }
}

void rig_read_transforms(const Problem *problem, const Placement *placement, const ossify_rig *rig, int rigid,
                         Model *model) {
    const size_t row = 4 * (size_t)model->capacity, in = 12 * (size_t)rig->bone_capacity;
    for (size_t f = 0; f < (size_t)problem->frames; f++) {
        uint8_t *held = model->held + f * (size_t)model->capacity;
        for (size_t b = 0; b < (size_t)model->bones; b++) {
            held[b] = rig->held_transforms && rig->held_transforms[f * (size_t)model->bones + b];
            double *m = model->transform + 3 * f * row + 4 * b;
            m[0] = m[row + 1] = m[2 * row + 2] = 1;
            if (rig->given & OSSIFY_GIVEN_TRANSFORMS) {
                read_transform(placement, rig->transforms + f * in + 12 * b, f, row, m);
            }
            if (rigid && !held[b]) {
                make_rigid(m, row);
            }
        }
    }
}

/* The strongest of a kind that there is room for, behind those that are there; returns how many there are. */
static size_t read_strongest(const ossify_rig *rig, size_t from, int held_group, Model *model, size_t v,
                             size_t begin) {
    const size_t k = (size_t)model->influences, wide = (size_t)rig->influences;
    int *bone = model->bone + v * k;
    double *weight = model->weight + v * k;
    size_t used = begin;
    for (size_t i = 0; i < wide; i++) {
        const int b = rig->influence_bones[from * wide + i];
        const double w = (double)rig->influence_weights[from * wide + i];
        if (b < 0 || !(w > 0) || model->held_group[b] != held_group ||
            (used == k && (begin == k || w <= weight[k - 1]))) {
            continue;
        }
        size_t at = used < k ? used++ : k - 1;
        for (; at > begin && weight[at - 1] < w; at--) {
            bone[at] = bone[at - 1];
            weight[at] = weight[at - 1];
        }
        bone[at] = b;
        weight[at] = w;
    }
    return used;
}

static double sum_of(const double *weight, size_t begin, size_t end) {
    double sum = 0;
    for (size_t i = begin; i < end; i++) {
        sum += weight[i];
    }
    return sum;
}

/* Held groups as they are, then the strongest others that there is room for, summing to one with them; of a
 * held vertex all, as they are. A vertex may come without any. */
static void read_influences(const ossify_rig *rig, size_t from, int held, Model *model, size_t v) {
    const size_t k = (size_t)model->influences, first = read_strongest(rig, from, 1, model, v, 0);
    const size_t used = read_strongest(rig, from, 0, model, v, first);
    double *weight = model->weight + v * k;
    const double left = fmax(0, 1 - sum_of(weight, 0, first)), sum = sum_of(weight, first, used);
    for (size_t i = first; i < used && !held; i++) {
        weight[i] *= left / sum;
        if (left <= 0) {
            model->bone[v * k + i] = -1;
        }
    }
}

void rig_read(const Problem *problem, const Placement *placement, const ossify_rig *rig, int rigid,
              Model *model) {
    model->bones = (int)rig->bones;
    rig_read_transforms(problem, placement, rig, rigid, model);
    for (int b = 0; b < model->bones; b++) {
        model->held_group[b] = rig->held_groups && rig->held_groups[b];
    }
    for (size_t v = 0; v < (size_t)problem->vertices; v++) {
        const size_t from = (size_t)problem->caller[v];
        if (rig->given & OSSIFY_GIVEN_WEIGHTS) {
            read_influences(rig, from, problem->held && problem->held[v], model, v);
        }
        for (size_t a = 0; a < 3; a++) {
            model->rest[3 * v + a] =
                ((double)rig->rest[3 * from + a] - placement->centre[a]) / placement->unit;
        }
    }
    model_find_staying(problem, model);
}

void rig_write_transforms(const Problem *problem, const Placement *placement, const Model *model, int first,
                          ossify_rig *rig) {
    const size_t row = 4 * (size_t)model->capacity, out = 12 * (size_t)rig->bone_capacity;
    for (size_t f = 0; f < (size_t)problem->frames; f++) {
        for (size_t b = (size_t)first; b < (size_t)model->bones; b++) {
            for (size_t i = 0; i < 3 && !model->held[f * (size_t)model->capacity + b]; i++) {
                const double *m = model->transform + (3 * f + i) * row + 4 * b;
                double *to = rig->transforms + f * out + 12 * b + 4 * i;
                memcpy(to, m, 3 * sizeof *to);
                to[3] = placement->frame_centre[3 * f + i] + placement->unit * m[3] -
                        m[0] * placement->centre[0] - m[1] * placement->centre[1] -
                        m[2] * placement->centre[2];
            }
        }
    }
}

/* Strongest first, what is too faint for a step left out; returns how many. */
static int sort_shares(RigShare *share, int count) {
    int used = 0;
    for (int i = 0; i < count; i++) {
        const RigShare next = share[i];
        int at = used;
        if (!next.held && next.weight * WEIGHT_STEPS < 1) {
            continue;
        }
        for (; at > 0 && next.weight > share[at - 1].weight; at--) {
            share[at] = share[at - 1];
        }
        share[at] = next;
        used++;
    }
    return used;
}

/* Rounds down what is free, so that the strongest stays the strongest: it takes what is left. */
static void round_shares(RigShare *share, int used) {
    int strongest = -1;
    double left = WEIGHT_STEPS;
    for (int i = used - 1; i >= 0; i--) {
        share[i].weight *= WEIGHT_STEPS;
        strongest = share[i].held ? strongest : i;
    }
    for (int i = 0; i < used; i++) {
        share[i].weight = share[i].held ? share[i].weight : floor(share[i].weight);
        left -= i == strongest ? 0 : share[i].weight;
    }
    if (strongest >= 0) {
        share[strongest].weight = left;
    }
}

void rig_write_shares(RigShare *share, int count, size_t v, ossify_rig *rig) {
    const size_t wide = (size_t)rig->influences;
    const int used = sort_shares(share, count);
    round_shares(share, used);
    for (size_t i = 0; i < wide; i++) {
        rig->influence_bones[v * wide + i] = (int)i < used ? share[i].bone : -1;
        rig->influence_weights[v * wide + i] = (int)i < used ? (float)(share[i].weight / WEIGHT_STEPS) : 0;
    }
}

void rig_write_vertex(const Problem *problem, const Model *model, int v, ossify_rig *rig) {
    RigShare share[OSSIFY_MAX_INFLUENCES];
    const size_t at = (size_t)v * (size_t)model->influences;
    int count = 0;
    for (; count < model->influences && model->bone[at + (size_t)count] >= 0; count++) {
        const int b = model->bone[at + (size_t)count];
        share[count] = (RigShare){b, model->held_group[b], model->weight[at + (size_t)count]};
    }
    rig_write_shares(share, count, (size_t)problem->caller[v], rig);
}

void rig_write(const Problem *problem, const Placement *placement, const Model *model,
               const float *fixed_rest, ossify_rig *rig) {
    rig_write_transforms(problem, placement, model, 0, rig);
    for (size_t v = 0; v < (size_t)problem->vertices; v++) {
        const size_t to = (size_t)problem->caller[v];
        if (!(problem->held && problem->held[v])) {
            rig_write_vertex(problem, model, (int)v, rig);
        }
        for (size_t a = 0; a < 3 && !(problem->held_rest && problem->held_rest[v]); a++) {
            const double inside = model->rest[3 * v + a];
            rig->rest[3 * to + a] = fixed_rest ? fixed_rest[3 * to + a]
                                               : (float)(placement->centre[a] + placement->unit * inside);
        }
    }
    rig->bones = model->bones;
}

int rig_graph(Arena *arena, const ossify_poses *poses, const ossify_rig *rig, Graph *graph) {
    const size_t numbers = 3 * (size_t)poses->vertex_count;
    double *points = arena_take(arena, numbers, sizeof *points);
    for (size_t i = 0; i < numbers && points; i++) {
        points[i] = (double)rig->rest[i];
    }
    const int made = points && graph_of_faces(arena, (int)poses->vertex_count, points, poses->triangle_count,
                                              poses->triangles, graph);
    arena_give(arena, points);
    return made;
}

static int has_lawful_weights(const ossify_rig *rig, int64_t v, int64_t most) {
    double sum = 0;
    for (int64_t i = v * rig->influences; i < (v + 1) * rig->influences; i++) {
        sum += (double)rig->influence_weights[i];
        most -= rig->influence_weights[i] > 0;
    }
    return most >= 0 && fabs(sum - 1) <= LAWFUL;
}

static int is_rotation(const double *m) {
    double r[9];
    for (int i = 0; i < 9; i++) {
        r[i] = m[i / 3 * 4 + i % 3];
    }
    int rotates = r[0] * (r[4] * r[8] - r[5] * r[7]) - r[1] * (r[3] * r[8] - r[5] * r[6]) +
                      r[2] * (r[3] * r[7] - r[4] * r[6]) >
                  0;
    for (int i = 0; i < 9; i++) {
        const double *a = r + 3 * (i / 3), *b = r + 3 * (i % 3);
        rotates &= fabs(a[0] * b[0] + a[1] * b[1] + a[2] * b[2] - (i / 3 == i % 3)) <= LAWFUL;
    }
    return rotates;
}

int rig_is_lawful(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig) {
    for (int64_t v = 0; v < poses->vertex_count; v++) {
        const int held = rig->held_vertices && rig->held_vertices[v];
        if (!held && !has_lawful_weights(rig, v, settings->influences)) {
            return 0;
        }
    }
    for (int64_t i = 0; i < poses->frame_count * rig->bones && settings->bone_kind == OSSIFY_RIGID; i++) {
        const int held = rig->held_transforms && rig->held_transforms[i];
        const double *m = rig->transforms + 12 * (i / rig->bones * rig->bone_capacity + i % rig->bones);
        if (!held && !is_rotation(m)) {
            return 0;
        }
    }
    return 1;
}

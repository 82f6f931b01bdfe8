/* people.c - several bodies in several poses, of one topology: x[f] ~ sum_b w_b M[f][b] p~[s(f)]. Weights are shared,
 * transforms belong to the frame, rest poses to the subject s(f) (Hasler et al. 2010, section 3.1).
 *
 * Every subject and its frames are measured in diagonals of its own box, so that the large do not outweigh the
 * small. */
#include "subjects/people.h"

#include <math.h>
#include <string.h>

#include "core/rig.h"
#include "subjects/around.h"

static void centre_of(const float *x, int vertices, double centre[3]) {
    memset(centre, 0, 3 * sizeof *centre);
    for (size_t i = 0; i < 3 * (size_t)vertices; i++) {
        centre[i % 3] += (double)x[i] / vertices;
    }
}

static void take(Arena *arena, People *people) {
    const size_t v = (size_t)people->vertices, f = (size_t)people->frames, s = (size_t)people->subjects;
    const size_t k = (size_t)people->influences;
    people->unit = arena_take(arena, s, sizeof(double));
    people->centre = arena_take(arena, 3 * s, sizeof(double));
    people->frame_centre = arena_take(arena, 3 * f, sizeof(double));
    people->x = arena_take(arena, 3 * f * v, sizeof(float));
    people->given = arena_take(arena, 3 * s * v, sizeof(double));
    people->rest = arena_take(arena, 3 * s * v, sizeof(double));
    people->bone = arena_take(arena, v * k, sizeof(int));
    people->weight = arena_take(arena, v * k, sizeof(double));
    people->error = arena_take(arena, f, sizeof(double));
    people->member = arena_take(arena, v * k, sizeof(int));
    people->share = arena_take(arena, v * k, sizeof(double));
}

static void read_bodies(const PeopleBodies *bodies, People *people) {
    const size_t numbers = 3 * (size_t)people->vertices;
    for (size_t s = 0; s < (size_t)people->subjects; s++) {
        const float *rest = bodies->rest + s * numbers;
        double *centre = people->centre + 3 * s;
        people->unit[s] = around_unit(rest, people->vertices);
        centre_of(rest, people->vertices, centre);
        for (size_t i = 0; i < numbers; i++) {
            people->given[s * numbers + i] = ((double)rest[i] - centre[i % 3]) * people->unit[s];
        }
    }
    memcpy(people->rest, people->given, numbers * (size_t)people->subjects * sizeof(double));
}

static void read_frames(const ossify_poses *poses, People *people) {
    const size_t numbers = 3 * (size_t)people->vertices;
    for (size_t f = 0; f < (size_t)people->frames; f++) {
        const float *x = poses->frames + f * numbers;
        double *centre = people->frame_centre + 3 * f;
        centre_of(x, people->vertices, centre);
        for (size_t i = 0; i < numbers; i++) {
            people->x[f * numbers + i] =
                (float)(((double)x[i] - centre[i % 3]) * people->unit[people->subject[f]]);
        }
    }
}

static int is_wanted(void *user) {
    return !call_poll(user, -1);
}

int people_make(Call *call, const ossify_poses *poses, const PeopleBodies *bodies, int influences,
                People *people) {
    *people = (People){.call = call,
                       .vertices = (int)poses->vertex_count,
                       .frames = (int)poses->frame_count,
                       .subjects = bodies->count,
                       .influences = influences,
                       .subject = bodies->subject};
    take(&call->arena, people);
    int *same = arena_take(&call->arena, (size_t)people->vertices, sizeof *same);
    int32_t *one = arena_take(&call->arena, (size_t)people->frames, sizeof *one);
    if (call->arena.failed || call_poll(call, -1)) {
        return 0;
    }
    if (bodies->subject == NULL) { /* all frames are of the one body */
        memset(one, 0, (size_t)people->frames * sizeof *one);
        people->subject = one;
    }
    read_bodies(bodies, people);
    read_frames(poses, people);
    for (int v = 0; v < people->vertices; v++) {
        same[v] = v;
    }
    const GraphWatch watch = {is_wanted, call};
    return graph_of_surface(&call->arena, call->pool, &watch, people->vertices, people->given,
                            poses->triangle_count, poses->triangles, same, &people->graph);
}

int people_take_bones(People *people, int bones) {
    Arena *arena = &people->call->arena;
    people->bones = bones;
    people->transform = arena_take(arena, 12 * (size_t)people->frames * (size_t)bones, sizeof(double));
    people->first = arena_take(arena, (size_t)bones + 1, sizeof(int));
    return !arena->failed;
}

void people_read_weights(const ossify_rig *rig, People *people) {
    const int k = people->influences;
    people->bones = (int)rig->bones;
    for (int v = 0; v < people->vertices; v++) {
        double sum = 0, held = 0;
        for (int i = 0; i < k; i++) {
            const int64_t at = v * rig->influences + i;
            const int known = i < rig->influences && rig->influence_bones[at] >= 0;
            people->bone[v * k + i] = known ? rig->influence_bones[at] : -1;
            const double w = known ? (double)rig->influence_weights[at] : 0;
            const int is_held = known && people_holds_group(people, rig->influence_bones[at]);
            people->weight[v * k + i] = w;
            held += is_held ? w : 0;
            sum += is_held ? 0 : w;
        }
        for (int i = 0; i < k; i++) {
            if (people->bone[v * k + i] >= 0 && !people_holds_group(people, people->bone[v * k + i])) {
                people->weight[v * k + i] *= fmax(1 - held, 0);
                people->weight[v * k + i] /= sum > 0 ? sum : 1;
            }
        }
        if (!(sum + held > 0)) { /* it finds its bones itself */
            people->bone[v * k] = 0;
            people->weight[v * k] = 1;
        }
    }
}

void people_write_weights(const People *people, ossify_rig *rig) {
    const int k = people->influences;
    for (int v = 0; v < people->vertices; v++) {
        RigShare share[OSSIFY_MAX_INFLUENCES];
        int count = 0;
        if (people_holds_weights(people, v)) {
            continue;
        }
        for (int i = v * k; i < (v + 1) * k; i++) {
            if (people->bone[i] >= 0) {
                const int b = people->bone[i];
                share[count++] = (RigShare){b, people_holds_group(people, b), people->weight[i]};
            }
        }
        rig_write_shares(share, count, (size_t)v, rig);
    }
}

/* t = u (t_out + R c_s - c_f) */
void people_read_transforms(const ossify_rig *rig, People *people) {
    for (int i = 0; i < people->frames * people->bones; i++) {
        const int f = i / people->bones, b = i % people->bones, s = people->subject[f];
        const double *m = rig->transforms + 12 * ((int64_t)f * rig->bone_capacity + b);
        const double *centre = people->centre + 3 * s, *to = people->frame_centre + 3 * f;
        double *own = people->transform + 12 * (size_t)i;
        if (!people_holds_transform(people, f, b)) {
            continue;
        }
        memcpy(own, m, 12 * sizeof *m);
        for (int a = 0; a < 3; a++) {
            const double *row = m + 4 * a;
            own[4 * a + 3] = people->unit[s] *
                             (row[3] + row[0] * centre[0] + row[1] * centre[1] + row[2] * centre[2] - to[a]);
        }
    }
}

/* x = c_f + (R (p - c_s) u + t) / u */
void people_write_transforms(const People *people, int frames, ossify_rig *rig) {
    for (int f = 0; f < frames; f++) {
        const int s = people->subject[f];
        const double *centre = people->centre + 3 * s, *to = people->frame_centre + 3 * f;
        for (int b = 0; b < people->bones; b++) {
            const double *m = people_transform(people, f, b);
            double *out = rig->transforms + 12 * ((int64_t)f * rig->bone_capacity + b);
            for (int a = 0; a < 3 && !people_holds_transform(people, f, b); a++) {
                const double *row = m + 4 * a;
                memcpy(out + 4 * a, row, 3 * sizeof *row);
                out[4 * a + 3] = to[a] + row[3] / people->unit[s] - row[0] * centre[0] - row[1] * centre[1] -
                                 row[2] * centre[2];
            }
        }
    }
}

void people_write_rests(const People *people, float *rest) {
    const size_t numbers = 3 * (size_t)people->vertices;
    for (size_t i = 0; i < numbers * (size_t)people->subjects; i++) {
        const size_t s = i / numbers;
        if (people_holds_rest(people, (int)(i % numbers / 3))) {
            continue;
        }
        rest[i] = (float)(people->rest[i] / people->unit[s] + people->centre[3 * s + i % 3]);
    }
}

void people_list(People *people) {
    const int slots = people->vertices * people->influences;
    memset(people->first, 0, ((size_t)people->bones + 1) * sizeof(int));
    for (int i = 0; i < slots; i++) {
        if (people->bone[i] >= 0) {
            people->first[people->bone[i] + 1]++;
        }
    }
    for (int b = 0; b < people->bones; b++) {
        people->first[b + 1] += people->first[b];
    }
    for (int i = 0; i < slots; i++) { /* each first ends where the next began */
        if (people->bone[i] >= 0) {
            const int at = people->first[people->bone[i]]++;
            people->member[at] = i / people->influences;
            people->share[at] = people->weight[i];
        }
    }
    memmove(people->first + 1, people->first, (size_t)people->bones * sizeof(int));
    people->first[0] = 0;
}

double people_error(const People *people) {
    double sum = 0;
    for (int f = 0; f < people->frames; f++) {
        sum += people->error[f];
    }
    return sum;
}

/* hung.c - shape bones that go with pose bones: in all frames f of a subject s
 *
 *     x[f] ~ sum_b w_b C[f][c(b)] A[s][b] p~,        p the mean body,
 *
 * C the given motion of the pose bone that carries b, A what the bone does to the mean in that subject: one rigid motion
 * for all its frames, and its rest pose as one more. Bone by bone, the others standing still,
 *
 *     min over A of  sum_f sum_v |r + w C A_old p~ - w C A p~|^2,       r = x - sum_b w_b C A_b p~ what all bones miss,
 *
 * which is a Procrustes problem (pull.c) once every frame is seen from the carrier. Pose bones keep theirs. */
#include "subjects/hung.h"

#include <string.h>

#include "subjects/pull.h"

typedef struct Hanging {
    const Hung *hung;
    int sweeps, guess;
} Hanging;

/* x = c a */
static void chain(const double *c, const double *a, double *x) {
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 4; j++) {
            x[4 * i + j] = c[4 * i] * a[j] + c[4 * i + 1] * a[4 + j] + c[4 * i + 2] * a[8 + j] +
                           (j == 3 ? c[4 * i + 3] : 0);
        }
    }
}

static double *grown_of(const Hung *hung, int s, int b) {
    return hung->grown + 12 * ((size_t)s * (size_t)hung->people->bones + (size_t)b);
}

static const double *motion_of(const Hung *hung, int f, int b) {
    return hung->motion + 12 * ((size_t)f * (size_t)hung->pose_bones + (size_t)hung->carrier[b]);
}

/* y = w R_c' (r + w X p~ - w t_c) */
static void seen_from(const double *carrier, const double *x, const double *p, const double *r, double w,
                      double y[3]) {
    double d[3];
    people_move(x, p, d);
    for (int a = 0; a < 3; a++) {
        d[a] = w * (r[a] + w * (d[a] - carrier[4 * a + 3]));
    }
    for (int a = 0; a < 3; a++) {
        y[a] = carrier[a] * d[0] + carrier[4 + a] * d[1] + carrier[8 + a] * d[2];
    }
}

static void sweep_bone(const Hung *hung, int s, int b, double *room) {
    People *people = hung->people;
    const size_t numbers = 3 * (size_t)people->vertices;
    Pull pull = {0};
    for (int j = hung->first[s]; j < hung->first[s + 1]; j++) {
        const double *r = room + (size_t)(j - hung->first[s]) * numbers;
        const double *x = people_transform(people, hung->frame[j], b);
        for (int i = people->first[b]; i < people->first[b + 1]; i++) {
            const int v = people->member[i];
            double y[3];
            seen_from(motion_of(hung, hung->frame[j], b), x, people->rest + 3 * v, r + 3 * v,
                      people->share[i], y);
            pull_add(&pull, people->share[i] * people->share[i], people->rest + 3 * v, y);
        }
    }
    pull_solve(&pull, 0, grown_of(hung, s, b));
}

/* The bone in the frames of the subject, and what is missed then. */
static void move_bone(const Hung *hung, int s, int b, double *room) {
    People *people = hung->people;
    const size_t numbers = 3 * (size_t)people->vertices;
    for (int j = hung->first[s]; j < hung->first[s + 1]; j++) {
        const int f = hung->frame[j];
        double *r = room + (size_t)(j - hung->first[s]) * numbers, before[12];
        double *x = people->transform + 12 * ((size_t)f * (size_t)people->bones + (size_t)b);
        memcpy(before, x, sizeof before);
        chain(motion_of(hung, f, b), grown_of(hung, s, b), x);
        for (int i = people->first[b]; i < people->first[b + 1]; i++) {
            const int v = people->member[i];
            double from[3], to[3];
            people_move(before, people->rest + 3 * v, from);
            people_move(x, people->rest + 3 * v, to);
            for (int a = 0; a < 3; a++) {
                r[3 * v + a] += people->share[i] * (from[a] - to[a]);
            }
        }
    }
}

/* From the bone's own vertices in the subject's rest alone. */
static void guess_bone(const Hung *hung, int s, int b) {
    const People *people = hung->people;
    const int f = hung->frame[hung->first[s + 1] - 1];
    const double *still = hung->motion + 12 * (size_t)f * (size_t)hung->pose_bones; /* the same for all */
    const float *x = people->x + 3 * (size_t)f * (size_t)people->vertices;
    double *grown = grown_of(hung, s, b);
    Pull pull = {0};
    memset(grown, 0, 12 * sizeof *grown);
    grown[0] = grown[5] = grown[10] = 1;
    for (int i = people->first[b]; i < people->first[b + 1]; i++) {
        const size_t v = (size_t)people->member[i];
        double y[3];
        for (size_t a = 0; a < 3; a++) {
            y[a] = people->share[i] * ((double)x[3 * v + a] - still[4 * a + 3]);
        }
        pull_add(&pull, people->share[i], people->rest + 3 * v, y);
    }
    pull_solve(&pull, 0, grown);
}

static void miss(const Hung *hung, int s, double *room) {
    const People *people = hung->people;
    const size_t numbers = 3 * (size_t)people->vertices;
    for (int j = hung->first[s]; j < hung->first[s + 1]; j++) {
        const float *x = people->x + (size_t)hung->frame[j] * numbers;
        double *r = room + (size_t)(j - hung->first[s]) * numbers;
        for (size_t i = 0; i < numbers; i++) {
            r[i] = (double)x[i];
        }
        for (int i = 0; i < people->vertices * people->influences; i++) {
            const int v = i / people->influences;
            double y[3];
            if (people->bone[i] < 0) {
                continue;
            }
            people_move(people_transform(people, hung->frame[j], people->bone[i]), people->rest + 3 * v, y);
            for (int a = 0; a < 3; a++) {
                r[3 * v + a] -= people->weight[i] * y[a];
            }
        }
    }
}

static void place_bones(const Hung *hung, int s) {
    People *people = hung->people;
    for (int j = hung->first[s]; j < hung->first[s + 1]; j++) {
        for (int b = 0; b < people->bones; b++) {
            chain(motion_of(hung, hung->frame[j], b), grown_of(hung, s, b),
                  people->transform + 12 * ((size_t)hung->frame[j] * (size_t)people->bones + (size_t)b));
        }
    }
}

static void tell_errors(const Hung *hung, int s, const double *room) {
    const size_t numbers = 3 * (size_t)hung->people->vertices;
    for (int j = hung->first[s]; j < hung->first[s + 1]; j++) {
        const double *r = room + (size_t)(j - hung->first[s]) * numbers;
        double sum = 0;
        for (size_t i = 0; i < numbers; i++) {
            sum += r[i] * r[i];
        }
        hung->people->error[hung->frame[j]] = sum;
    }
}

static void hang_subject(void *user, int s, int worker) {
    const Hanging *hanging = user;
    const Hung *hung = hanging->hung;
    Call *call = hung->people->call;
    double *room = hung->room[worker];
    for (int b = hung->pose_bones; b < hung->people->bones && hanging->guess; b++) {
        guess_bone(hung, s, b);
    }
    place_bones(hung, s);
    miss(hung, s, room);
    for (int sweep = 0; sweep < hanging->sweeps; sweep++) {
        if ((worker == 0 && call_poll(call, -1)) || atomic_load(&call->cancelled)) {
            return;
        }
        for (int b = hung->pose_bones; b < hung->people->bones; b++) {
            sweep_bone(hung, s, b, room);
            move_bone(hung, s, b, room);
        }
    }
    tell_errors(hung, s, room);
}

void hung_update(void *user, int sweeps, int guess) {
    Hung *hung = user;
    Hanging hanging = {hung, sweeps, guess};
    people_list(hung->people);
    parallel_run(hung->people->call->pool, hung->subjects, hang_subject, &hanging);
}

/* fuzz_api.c - libFuzzer target over the public calls: bytes become sizes, values, settings, a rig to
 * start from, an allocator that fails and a watcher that cancels. Whatever comes in, a call must end,
 * with a status it documents, a sentence when it refuses, an untouched rig when it refuses and a whole
 * one when it does not. Arrays always have the size that the structs claim: that much is the caller's.
 *
 * An input whose first byte is ABUSE or more goes on with the verb to call first, whatever the rig is like, and with
 * sizes for what stands in units of length: from denormal numbers to the largest that are taken. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "ossify.h"

enum {
    ABUSE = 240,
    MOST_VERTICES = 24,
    MOST_FRAMES = 6,
    MOST_TRIANGLES = 16,
    MOST_BONES = 12,
    MOST_FIELDS = 4
};

#define MUST(condition) ((condition) ? (void)0 : violated(__LINE__, #condition))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void violated(int line, const char *condition) {
    fprintf(stderr, "tests/native/fuzz_api.c:%d: violated: %s\n", line, condition);
    abort();
}

/* Options read as 0 once the bytes are used up; numbers of the arrays then come from `random`. */
typedef struct Reader {
    const uint8_t *at;
    size_t left;
    uint64_t random;
} Reader;

static uint8_t byte(Reader *r) {
    if (r->left == 0) {
        return 0;
    }
    r->left--;
    return *r->at++;
}

static int below(Reader *r, int bound) {
    return byte(r) % bound;
}

static uint64_t raw(Reader *r) {
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) {
        bits = bits << 8 | byte(r);
    }
    return bits;
}

/* Mostly small, sometimes anything. */
static int64_t whole(Reader *r) {
    int kind = byte(r);
    return kind < 230 ? kind % 20 - 2 : (int64_t)raw(r);
}

static double real(Reader *r) {
    int kind = byte(r);
    uint64_t bits;
    double value;
    if (kind < 230) {
        return (kind - 20) / 10.0;
    }
    bits = raw(r);
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float coordinate(Reader *r) {
    int kind = byte(r);
    uint32_t bits;
    float value;
    if (r->left == 0) {
        return (float)(2 * random_unit(&r->random) - 1);
    }
    if (kind < 250) {
        return (float)(kind - 125) / 32;
    }
    bits = (uint32_t)raw(r);
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A count that is true, or one that no caller can mean: those in between would be a lie about memory. */
static int64_t count_or_nonsense(Reader *r, int64_t count) {
    static const int64_t nonsense[] = {0, -1, INT64_MIN, INT64_MAX, INT64_MAX / 3};
    int kind = byte(r);
    return kind < 250 ? count : nonsense[kind % 5];
}

typedef struct Case {
    ossify_poses poses;
    ossify_settings settings;
    ossify_rig rig;
    ossify_info info;
    float rest[MOST_VERTICES * 3];
    float frames[MOST_FRAMES * MOST_VERTICES * 3];
    int32_t triangles[MOST_TRIANGLES * 3];
    double transforms[MOST_FRAMES * MOST_BONES * 12];
    int32_t influence_bones[MOST_VERTICES * OSSIFY_MAX_INFLUENCES];
    float influence_weights[MOST_VERTICES * OSSIFY_MAX_INFLUENCES];
    float corrected[MOST_VERTICES * 3];
    uint8_t held_transforms[MOST_FRAMES * MOST_BONES];
    uint8_t held_groups[MOST_BONES], held_joints[MOST_BONES];
    uint8_t held_rest[MOST_VERTICES];
    uint8_t held_vertices[MOST_VERTICES];
    int64_t vertex, split;    /* where a bone is added */
    int64_t allocations_left; /* < 0: no end */
    int64_t calls_left;       /* of the watcher; < 0: no end */
    double fraction;          /* seen last */
    ossify_skeleton skeleton;
    int32_t parents[MOST_BONES], joint_kinds[MOST_BONES], mirrors[MOST_BONES];
    int32_t demanded[4], forbidden[4];
    double joints[3 * MOST_BONES], axes[3 * MOST_BONES], angles[MOST_BONES], drifts[MOST_BONES];
    ossify_correction correction;
    int64_t correctives; /* that come in */
    float fields[MOST_FIELDS * MOST_VERTICES * 3];
    double coefficients[MOST_FRAMES * MOST_FIELDS];
    uint8_t held_coefficients[MOST_FIELDS];
    ossify_space_fit fit;
    int32_t space_bones[MOST_VERTICES * OSSIFY_MAX_INFLUENCES];
    float space_corrections[4 * MOST_VERTICES * OSSIFY_MAX_INFLUENCES];
    int64_t influences; /* wanted by those that paint */
    int odd_sizes;      /* 1: lengths that do not go together */
} Case;

static void *allocate(void *user, uint64_t bytes) {
    Case *c = user;
    if (c->allocations_left == 0) {
        return NULL;
    }
    c->allocations_left -= c->allocations_left > 0;
    return malloc((size_t)bytes);
}

static void release(void *user, void *memory) {
    (void)user;
    free(memory);
}

static int64_t watch(void *user, const ossify_progress *progress) {
    Case *c = user;
    MUST(progress->struct_size == sizeof *progress);
    MUST(progress->fraction >= c->fraction && progress->fraction <= 1);
    MUST(progress->stage >= 0 && progress->stage < OSSIFY_STAGES);
    c->fraction = progress->fraction;
    if (c->calls_left == 0) {
        return 1;
    }
    c->calls_left -= c->calls_left > 0;
    return 0;
}

/* Three groups of vertices, each on its own way. */
static float moved(const float *rest, int64_t vertices, int64_t i) {
    int64_t f = i / (vertices * 3), v = i % (vertices * 3) / 3, axis = i % 3;
    double group = (double)(3 * v / vertices);
    return rest[3 * v + axis] + (float)(0.4 * sin((double)f + 2 * group + (double)axis));
}

static void read_poses(Reader *r, Case *c) {
    int64_t vertices = 1 + below(r, MOST_VERTICES), frames = 1 + below(r, MOST_FRAMES);
    int64_t triangles = below(r, MOST_TRIANGLES + 1);
    for (int64_t i = 0; i < vertices * 3; i++) {
        c->rest[i] = coordinate(r);
    }
    for (int64_t i = 0; i < frames * vertices * 3; i++) {
        c->frames[i] = r->left > 0 ? coordinate(r) : moved(c->rest, vertices, i);
    }
    for (int64_t i = 0; i < triangles * 3; i++) {
        c->triangles[i] = below(r, 8) ? (int32_t)(byte(r) % vertices) : (int32_t)whole(r);
    }
    c->poses.struct_size = below(r, 64) == 63 ? whole(r) : (int64_t)sizeof c->poses;
    c->poses.vertex_count = count_or_nonsense(r, vertices);
    c->poses.frame_count = count_or_nonsense(r, frames);
    c->poses.triangle_count = count_or_nonsense(r, triangles);
    c->poses.rest = below(r, 16) == 15 ? NULL : c->rest;
    c->poses.frames = below(r, 64) == 63 ? NULL : c->frames;
    c->poses.triangles = below(r, 64) == 63 ? NULL : c->triangles;
}

static void read_settings(Reader *r, Case *c) {
    ossify_settings *s = &c->settings;
    int64_t *wholes[] = {&s->bones,     &s->influences, &s->bone_kind,   &s->quality,
                         &s->rest_mode, &s->locality,   &s->budget_kind, &s->iterations,
                         &s->threads,   &s->seed,       &s->struct_size};
    double *reals[] = {&s->budget, &s->smoothness, &s->fairness, &s->until};
    int changes = below(r, 8);
    ossify_default_settings(s);
    s->bones = 1 + below(r, MOST_BONES);
    s->threads = 1;
    for (int i = 0; i < changes; i++) {
        if (below(r, 4) > 0) {
            *wholes[below(r, 11)] = whole(r);
        } else {
            *reals[below(r, 4)] = real(r);
        }
    }
    if (s->threads > 4 && s->threads <= 256) { /* slow to start, and no other path */
        s->threads = 4;
    }
    s->allocate = below(r, 32) == 31 ? NULL : allocate;
    s->release = below(r, 32) == 31 ? NULL : release;
    s->memory_user = c;
    s->watch = watch;
    s->watch_user = c;
    c->allocations_left = below(r, 8) == 7 ? byte(r) : -1;
    c->calls_left = below(r, 8) == 7 ? byte(r) : -1;
}

/* Read last, so that inputs kept from before there was a choice still mean the same. */
static void read_start(Reader *r, Case *c) {
    c->settings.start = below(r, 16) == 15 ? whole(r) : below(r, 4);
}

static void read_rig(Reader *r, Case *c) {
    ossify_rig *rig = &c->rig;
    int filled = below(r, 4) == 3;
    rig->struct_size = below(r, 64) == 63 ? whole(r) : (int64_t)sizeof *rig;
    rig->bone_capacity = below(r, 8) == 7 ? below(r, MOST_BONES + 1) : MOST_BONES;
    rig->influences = below(r, 8) == 7 ? below(r, OSSIFY_MAX_INFLUENCES + 1) : OSSIFY_MAX_INFLUENCES;
    rig->bones = filled ? whole(r) : 0;
    rig->given = filled ? (below(r, 8) == 7 ? whole(r) : below(r, 4)) : 0;
    for (size_t i = 0; filled && i < sizeof c->transforms / sizeof(double); i++) {
        c->transforms[i] = r->left > 0 ? real(r) : i % 12 == 0 || i % 12 == 5 || i % 12 == 10;
    }
    for (int i = 0; filled && i < MOST_VERTICES * OSSIFY_MAX_INFLUENCES; i++) {
        int first = rig->influences > 0 && i % rig->influences == 0;
        c->influence_bones[i] = r->left > 0 ? (int32_t)whole(r) : first ? 0 : -1;
        c->influence_weights[i] = r->left > 0 ? coordinate(r) : (float)first;
    }
    for (int i = 0; filled && i < MOST_VERTICES * 3; i++) {
        c->corrected[i] = r->left > 0 ? coordinate(r) : c->rest[i];
    }
    for (int i = 0; i < MOST_VERTICES; i++) {
        c->held_vertices[i] = byte(r) & 1;
    }
    for (int i = 0; i < MOST_BONES; i++) {
        for (int f = 0, bit = byte(r) & 1; f < MOST_FRAMES; f++) {
            c->held_transforms[f * MOST_BONES + i] = (uint8_t)bit;
        }
    }
    rig->transforms = below(r, 64) == 63 ? NULL : c->transforms;
    rig->influence_bones = below(r, 64) == 63 ? NULL : c->influence_bones;
    rig->influence_weights = below(r, 64) == 63 ? NULL : c->influence_weights;
    rig->rest = below(r, 64) == 63 ? NULL : c->corrected;
    rig->held_transforms = below(r, 4) == 3 ? c->held_transforms : NULL;
    rig->held_vertices = below(r, 4) == 3 ? c->held_vertices : NULL;
    c->info.struct_size = below(r, 64) == 63 ? whole(r) : (int64_t)sizeof c->info;
}

/* Read after all else, for the same reason as the start. */
static void read_skeleton(Reader *r, Case *c) {
    ossify_skeleton *s = &c->skeleton;
    int64_t *wholes[] = {&s->root, &s->forest, &s->symmetry, &s->stretch, &s->bone_capacity, &s->struct_size};
    int changes = below(r, 4);
    *s = (ossify_skeleton){.struct_size = sizeof *s, .bone_capacity = MOST_BONES, .root = -1};
    for (int i = 0; i < MOST_BONES; i++) {
        c->parents[i] = below(r, 8) == 7 ? (int32_t)whole(r) : below(r, i + 1) - 1;
        c->mirrors[i] = below(r, 8) == 7 ? (int32_t)whole(r) : i;
    }
    for (int i = 0; i < 3 * MOST_BONES; i++) {
        c->joints[i] = r->left > 0 ? real(r) : (double)coordinate(r);
    }
    for (int i = 0; i < 4; i++) {
        c->demanded[i] = below(r, MOST_BONES) - 1;
        c->forbidden[i] = below(r, MOST_BONES) - 1;
        s->plane[i] = i == 0 ? 1 : real(r) - 1;
    }
    s->symmetry = below(r, 3);
    s->stretch = below(r, 2);
    s->demanded_count = below(r, 3);
    s->forbidden_count = below(r, 3);
    for (int i = 0; i < changes; i++) {
        *wholes[below(r, 6)] = whole(r);
    }
    if (s->bone_capacity > MOST_BONES && s->bone_capacity <= OSSIFY_MAX_BONES) {
        s->bone_capacity = MOST_BONES; /* else a lie about memory */
    }
    s->demanded = c->demanded;
    s->forbidden = c->forbidden;
    s->parents = below(r, 64) == 63 ? NULL : c->parents;
    s->joint_kinds = c->joint_kinds;
    s->mirrors = c->mirrors;
    s->joints = c->joints;
    s->axes = c->axes;
    s->angles = c->angles;
    s->drifts = c->drifts;
}

/* Read last of all: the kept inputs know nothing of it. */
static void read_locks(Reader *r, Case *c) {
    for (int i = 0; i < MOST_BONES; i++) {
        c->held_groups[i] = byte(r) & 1;
        c->held_joints[i] = byte(r) & 1;
        c->held_transforms[below(r, MOST_FRAMES) * MOST_BONES + i] ^= byte(r) & 1;
    }
    for (int i = 0; i < MOST_VERTICES; i++) {
        c->held_rest[i] = byte(r) & 1;
    }
    c->rig.held_groups = below(r, 4) == 3 ? c->held_groups : NULL;
    c->rig.held_rest = below(r, 4) == 3 ? c->held_rest : NULL;
    c->skeleton.held_joints = below(r, 4) == 3 ? c->held_joints : NULL;
    c->settings.relocate = below(r, 8) == 7 ? whole(r) : below(r, 3);
    c->vertex = below(r, 8) == 7 ? whole(r) : below(r, MOST_VERTICES + 1) - 1;
    c->split = below(r, 8) == 7 ? whole(r) : below(r, MOST_BONES + 1) - 1;
    c->settings.jointed = below(r, 8) == 7 ? whole(r) : below(r, 2);
    c->settings.connect = below(r, 8) == 7 ? whole(r) : below(r, 3);
    c->settings.start_tolerance = below(r, 8) == 7 ? (double)whole(r) : 0.5 * below(r, 64);
}

/* And this, again, after it. */
static void read_correction(Reader *r, Case *c) {
    ossify_correction *s = &c->correction;
    int64_t *wholes[] = {&s->count,      &s->budget_kind, &s->support,
                         &s->solve_rest, &s->refine,      &s->struct_size};
    double *reals[] = {&s->budget, &s->smoothness};
    const int changes = below(r, 8);
    ossify_default_correction(s);
    s->count = below(r, MOST_FIELDS + 1);
    s->budget = 1;
    for (int i = 0; i < changes; i++) {
        if (below(r, 4) > 0) {
            *wholes[below(r, 6)] = below(r, 4) == 3 ? whole(r) : below(r, 2);
        } else {
            *reals[below(r, 2)] = real(r);
        }
    }
    if (s->count == 1 && below(r, 2)) {
        s->count = MOST_FIELDS;
    }
    c->correctives = below(r, 4) == 3 ? below(r, MOST_FIELDS + 1) : 0;
    for (int i = 0; i < MOST_FIELDS * MOST_VERTICES * 3; i++) {
        c->fields[i] = coordinate(r);
    }
    for (int i = 0; i < MOST_FRAMES * MOST_FIELDS; i++) {
        c->coefficients[i] = r->left > 0 ? real(r) : (double)coordinate(r);
        c->held_coefficients[i % MOST_FIELDS] = byte(r) & 1;
    }
    s->parents = below(r, 2) ? c->parents : NULL;
    s->held_coefficients = below(r, 4) == 3 ? c->held_coefficients : NULL;
}

/* ---- sizes */

typedef struct Sizes {
    float rest, frames, rig;
} Sizes;

static float read_size(Reader *r) {
    static const float sizes[] = {1,     1e-45f, 1e-40f, 1e-38f, 1e-30f, 1e-20f, 1e-10f,
                                  1e-4f, 1e4f,   1e10f,  1e18f,  1e29f,  0};
    return sizes[below(r, sizeof sizes / sizeof *sizes)];
}

/* Mostly one for all: that much a caller means well. */
static Sizes read_sizes(Reader *r) {
    const int kind = below(r, 4);
    const float one = read_size(r);
    return kind < 2 ? (Sizes){one, one, one} : (Sizes){one, read_size(r), read_size(r)};
}

static void scale(float *x, int count, float by) {
    for (int i = 0; i < count; i++) {
        x[i] *= by;
    }
}

static void resize(Case *c, Sizes sizes) {
    scale(c->rest, MOST_VERTICES * 3, sizes.rest);
    scale(c->frames, MOST_FRAMES * MOST_VERTICES * 3, sizes.frames);
    scale(c->corrected, MOST_VERTICES * 3, sizes.rig);
    scale(c->fields, MOST_FIELDS * MOST_VERTICES * 3, sizes.rig);
    for (int i = 3; i < MOST_FRAMES * MOST_BONES * 12; i += 4) {
        c->transforms[i] *= (double)sizes.rig;
    }
    for (int i = 0; i < 3 * MOST_BONES; i++) {
        c->joints[i] *= (double)sizes.rig;
    }
}

/* A rig that can be worked with, if a strange one: several bones to a vertex, each turning by itself. */
static void make_rig(Case *c, Reader *r) {
    ossify_rig *rig = &c->rig;
    const int bones = 1 + below(r, MOST_BONES), influences = 1 + below(r, 4);
    rig->bone_capacity = MOST_BONES;
    rig->bones = bones;
    rig->influences = influences;
    rig->given = OSSIFY_GIVEN_TRANSFORMS | OSSIFY_GIVEN_WEIGHTS;
    for (int i = 0; i < MOST_FRAMES * MOST_BONES; i++) {
        const double angle = random_unit(&r->random), x = cos(angle), y = sin(angle);
        const double turn[12] = {x, -y, 0, angle, y, x, 0, 1 - angle, 0, 0, 1, angle / 2};
        memcpy(c->transforms + 12 * (ptrdiff_t)i, turn, sizeof turn);
    }
    for (int v = 0; v < MOST_VERTICES; v++) {
        const int used = 1 + random_below(&r->random, influences < bones ? influences : bones);
        for (int k = 0; k < influences; k++) {
            c->influence_bones[v * influences + k] = k < used ? (v + k) % bones : -1;
            c->influence_weights[v * influences + k] = k < used ? 1 / (float)used : 0;
        }
    }
    memcpy(c->corrected, c->rest, sizeof c->corrected);
}

/* ---- what must hold */

static void check_answer(const Case *c) {
    int64_t k = c->rig.influences;
    MUST(c->rig.bones >= 1 && c->rig.bones <= c->rig.bone_capacity && c->info.bones == c->rig.bones);
    MUST(c->info.erms >= 0 && isfinite(c->info.erms));
    for (int64_t v = 0; v < c->poses.vertex_count; v++) {
        double sum = 0;
        for (int64_t i = v * k; i < (v + 1) * k; i++) {
            MUST(c->influence_bones[i] >= -1 && c->influence_bones[i] < c->rig.bones);
            MUST(c->influence_weights[i] >= 0 && isfinite(c->influence_weights[i]));
            sum += c->influence_weights[i];
        }
        MUST(fabs(sum - 1) < 1e-5);
        for (int i = 0; i < 3; i++) {
            MUST(isfinite(c->corrected[3 * v + i]));
        }
    }
    for (int64_t f = 0; f < c->poses.frame_count; f++) {
        for (int64_t i = 0; i < c->rig.bones * 12; i++) {
            MUST(isfinite(c->transforms[f * c->rig.bone_capacity * 12 + i]));
        }
    }
}

static void check_refusal(const Case *c, const Case *before) {
    MUST(memcmp(c->transforms, before->transforms, sizeof c->transforms) == 0);
    MUST(memcmp(c->influence_bones, before->influence_bones, sizeof c->influence_bones) == 0);
    MUST(memcmp(c->influence_weights, before->influence_weights, sizeof c->influence_weights) == 0);
    MUST(memcmp(c->corrected, before->corrected, sizeof c->corrected) == 0);
    MUST(c->rig.bones == before->rig.bones);
    MUST(memcmp(c->parents, before->parents, sizeof c->parents) == 0);
    MUST(memcmp(c->joints, before->joints, sizeof c->joints) == 0);
    MUST(memcmp(c->joint_kinds, before->joint_kinds, sizeof c->joint_kinds) == 0);
}

/* The largest coordinate of the mesh and its motion. */
static double reach(const Case *c) {
    double size = 0;
    for (int64_t i = 0; i < 3 * c->poses.vertex_count; i++) {
        size = fmax(size, fabs(c->rest[i]));
    }
    for (int64_t i = 0; i < 3 * c->poses.vertex_count * c->poses.frame_count; i++) {
        size = fmax(size, fabs(c->frames[i]));
    }
    return size;
}

/* A tree whose joints are numbers; articulated, without stretch, they hold: to a millionth of where the bone is, but
 * for what doubles of the mesh's size round off. */
static void check_skeleton(const Case *c, int holds) {
    const double rounding = 1e-12 * reach(c);
    for (int64_t b = 0; b < c->rig.bones; b++) {
        int64_t top = b, steps = 0;
        double square = 0, size = 1;
        for (; c->parents[top] >= 0 && steps <= c->rig.bones; steps++) {
            top = c->parents[top];
        }
        MUST(c->parents[top] == -1);
        MUST(c->joint_kinds[b] >= OSSIFY_JOINT_ROOT && c->joint_kinds[b] <= OSSIFY_JOINT_LOOSE);
        for (int i = 0; i < 3; i++) {
            MUST(isfinite(c->joints[3 * b + i]) && isfinite(c->axes[3 * b + i]));
        }
        for (int64_t f = 0; holds && c->parents[b] >= 0 && f < c->poses.frame_count; f++) {
            for (int i = 0; i < 3; i++) {
                const double *own = c->transforms + 12 * (f * c->rig.bone_capacity + b) + 4 * i;
                const double *above = c->transforms + 12 * (f * c->rig.bone_capacity + c->parents[b]) + 4 * i;
                double gap = own[3] - above[3];
                for (int j = 0; j < 3; j++) {
                    gap += (own[j] - above[j]) * c->joints[3 * b + j];
                    size = fmax(size, fabs(c->joints[3 * b + j]));
                }
                size = fmax(size, fmax(fabs(own[3]), fabs(above[3])));
                square = fmax(square, gap * gap);
            }
        }
        MUST(sqrt(square) <= fmax(1e-6 * size, rounding));
    }
}

static void check_status(const Case *c, int64_t status) {
    MUST(status >= OSSIFY_NO_ANSWER && status <= OSSIFY_REACHED);
    if (c->info.struct_size != sizeof c->info) {
        return; /* an info of another version is not written */
    }
    MUST(c->info.status == status);
    MUST(memchr(c->info.message, '\0', OSSIFY_MESSAGE_LENGTH) != NULL);
    MUST(status >= 0 || c->info.message[0] != '\0');
}

static int64_t run_job(Case *c, int manner, int articulates) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = articulates ? OSSIFY_ARTICULATE : OSSIFY_DECOMPOSE,
                                    .poses = &c->poses,
                                    .settings = &c->settings,
                                    .rig = &c->rig,
                                    .skeleton = &c->skeleton};
    ossify_job *job = ossify_start(&request, &c->info);
    ossify_progress progress = {.struct_size = sizeof progress};
    if (job == NULL) {
        return c->info.struct_size == sizeof c->info ? c->info.status : OSSIFY_BAD_ARGUMENT;
    }
    if (manner & 1) {
        ossify_job_poll(job, &progress);
    }
    if (manner & 2) {
        ossify_job_cancel(job);
    }
    if (manner & 4) {
        ossify_job_poll(job, &progress);
    }
    return ossify_job_finish(job);
}

static void run_evaluate(Case *c) {
    float *frames = calloc(MOST_FRAMES * MOST_VERTICES * 3, sizeof *frames);
    double vertex_error[MOST_VERTICES], frame_error[MOST_FRAMES], vertex_degrees[MOST_VERTICES];
    ossify_evaluation evaluation = {.struct_size = sizeof evaluation,
                                    .frames = frames,
                                    .vertex_error = vertex_error,
                                    .frame_error = frame_error,
                                    .vertex_degrees = vertex_degrees};
    int64_t status;
    c->fraction = 0;
    status = ossify_evaluate(&c->poses, &c->rig, &c->settings, &evaluation, &c->info);
    check_status(c, status);
    if (status >= 0) {
        MUST(evaluation.rms >= 0 && evaluation.maximum >= evaluation.rms * 0.999999);
        MUST(evaluation.worst_vertex >= 0 && evaluation.worst_vertex < c->poses.vertex_count);
        MUST(!(evaluation.normal_degrees > 180.000001) && !(evaluation.rest_normal_degrees > 180.000001));
        MUST(evaluation.worst_frame >= 0 && evaluation.worst_frame < c->poses.frame_count);
    }
    free(frames);
}

/* What its bones are worth, and one more. */
static void run_edits(Case *c) {
    double costs[OSSIFY_MAX_BONES];
    const int64_t bones = c->rig.bones;
    int64_t status;
    c->fraction = 0;
    status = ossify_bone_costs(&c->poses, &c->settings, &c->rig, costs, &c->info);
    check_status(c, status);
    for (int64_t b = 0; status >= 0 && b < bones; b++) {
        MUST(costs[b] >= 0 && isfinite(costs[b]));
    }
    c->fraction = 0;
    c->rig.held_transforms = NULL; /* of as many bones as there were */
    c->rig.held_groups = NULL;
    status = ossify_add_bone(&c->poses, &c->settings, &c->rig, c->vertex, c->split, &c->info);
    check_status(c, status);
    MUST(c->rig.bones == bones + (status >= 0));
    if (status >= 0) {
        check_answer(c);
    }
}

/* The rig that came out, connected and articulated without hindrance: refused only for what it asks. */
static void run_skeleton(Case *c) {
    int64_t status;
    c->allocations_left = c->calls_left = -1;
    c->fraction = 0;
    status = ossify_connect(&c->poses, &c->settings, &c->rig, &c->skeleton, &c->info);
    check_status(c, status);
    if (status < 0) {
        return;
    }
    check_skeleton(c, 0);
    c->rig.given = OSSIFY_GIVEN_TRANSFORMS | OSSIFY_GIVEN_WEIGHTS;
    c->fraction = 0;
    status = ossify_articulate(&c->poses, &c->settings, &c->rig, &c->skeleton, &c->info);
    check_status(c, status);
    if (status >= 0) {
        check_answer(c);
        check_skeleton(c, !c->skeleton.stretch && !c->odd_sizes);
    }
}

/* The rig that came out, corrected. */
static void run_correct(Case *c) {
    double gains[MOST_FIELDS];
    int32_t joints[MOST_FIELDS];
    ossify_corrected corrected = {.struct_size = sizeof corrected, .joints = joints, .gains = gains};
    c->fraction = 0;
    c->rig.corrective_capacity = MOST_FIELDS;
    c->rig.correctives = c->correctives;
    c->rig.fields = c->fields;
    c->rig.coefficients = c->coefficients;
    const int64_t status =
        ossify_correct(&c->poses, &c->settings, &c->rig, &c->correction, &corrected, &c->info);
    check_status(c, status);
    if (status < 0) {
        MUST(c->rig.correctives == c->correctives);
        return;
    }
    check_answer(c);
    MUST(c->rig.correctives >= c->correctives && c->rig.correctives <= c->correction.count);
    for (int64_t n = 0; n < c->rig.correctives; n++) {
        MUST(gains[n] >= 0 && isfinite(gains[n]) && joints[n] >= -1 && joints[n] < c->rig.bones);
        for (int64_t i = 0; i < 3 * c->poses.vertex_count; i++) {
            MUST(isfinite(c->fields[3 * n * c->poses.vertex_count + i]));
        }
        for (int64_t f = 0; f < c->poses.frame_count; f++) {
            MUST(isfinite(c->coefficients[f * MOST_FIELDS + n]));
        }
    }
    run_evaluate(c);
}

static void read_fit(Reader *r, Case *c) {
    ossify_space_fit *fit = &c->fit;
    ossify_default_space_fit(fit);
    fit->bones = below(r, 8) == 7 ? whole(r) : below(r, 2);
    fit->form = below(r, 8) == 7 ? whole(r) : below(r, 2);
    fit->rest_exact = below(r, 8) == 7 ? whole(r) : below(r, 2);
    fit->rounds = below(r, 3);
    if (below(r, 4) == 3) {
        fit->smoothness = real(r);
        fit->damping = real(r);
    }
    if (below(r, 4) == 3) {
        fit->parents = c->parents;
        fit->joints = below(r, 8) == 7 ? NULL : c->joints;
    }
}

static void check_space(const Case *c, const ossify_space *space) {
    MUST(space->given == 1);
    for (int64_t i = 0; i < c->poses.vertex_count * space->influences; i++) {
        MUST(space->bones[i] >= -1 && space->bones[i] < c->rig.bones);
        for (int j = 0; j < 4; j++) {
            MUST(isfinite(space->corrections[4 * i + j]));
        }
    }
}

/* An animation space for the rig that came out, and its bones tracked once more with it. */
static void run_space(Case *c) {
    ossify_space space = {.struct_size = sizeof space,
                          .influences = c->rig.influences,
                          .bones = c->space_bones,
                          .corrections = c->space_corrections};
    c->rig.correctives = 0;
    for (int i = 0; i < 2; i++) {
        c->fraction = 0;
        const int64_t status =
            ossify_animation_space(&c->poses, &c->settings, &c->rig, &c->fit, &space, &c->info);
        check_status(c, status);
        if (status < 0) {
            return;
        }
        check_answer(c);
        check_space(c, &space);
    }
}

/* The rig that came out, in two layers. What they shall be follows from what was read for the correctives: inputs of old
 * mean what they meant. */
static void run_compress(Case *c) {
    enum { MOST_VIRTUAL = 8, MOST_OF_EACH = 3 };
    int32_t bones[MOST_VIRTUAL * MOST_OF_EACH], blended[MOST_VERTICES * OSSIFY_MAX_BLENDED];
    float weights[MOST_VIRTUAL * MOST_OF_EACH], shares[MOST_VERTICES * OSSIFY_MAX_BLENDED];
    const int64_t odd = c->correction.count & 1, asked = c->correctives;
    ossify_compression wish;
    ossify_layers layers = {.struct_size = sizeof layers,
                            .virtual_bones = bones,
                            .virtual_weights = weights,
                            .influence_bones = blended,
                            .influence_weights = shares};
    ossify_default_compression(&wish);
    wish.virtual_bones = 1 + (c->correction.support ? 7 : asked % MOST_VIRTUAL);
    wish.masters = 1 + asked % MOST_OF_EACH;
    wish.influences = 2 + asked % 3;
    wish.source = c->correction.solve_rest != 0;
    wish.method = c->correction.support != 0;
    wish.affine = odd;
    wish.refine = wish.source && c->correction.refine != 0;
    wish.tolerance = c->correction.budget_kind ? 10 : 0;
    c->fraction = 0;
    c->rig.correctives = 0;
    const int64_t status = ossify_compress(&c->poses, &c->settings, &c->rig, &wish, &layers, &c->info);
    check_status(c, status);
    if (status < 0) {
        return;
    }
    check_answer(c);
    MUST(layers.count >= 1 && layers.count <= wish.virtual_bones && isfinite(layers.delta));
    for (int64_t i = 0; i < layers.count * wish.masters; i++) {
        MUST(bones[i] >= -1 && bones[i] < c->rig.bones && isfinite(weights[i]));
    }
    for (int64_t i = 0; i < c->poses.vertex_count * wish.influences; i++) {
        MUST(blended[i] >= -1 && blended[i] < layers.count && isfinite(shares[i]));
    }
}

/* The rig, whatever it is like, with fields that follow bones in a row; how many follows from what was read for the
 * correctives. */
static void run_drive(Case *c) {
    int32_t joints[MOST_FIELDS], parents[MOST_BONES + 1];
    double map[MOST_FIELDS * (MOST_BONES + 1) * 9], shifts[MOST_FIELDS * (MOST_BONES + 1) * 3];
    double pivots[3 * (MOST_BONES + 1)];
    ossify_driving wish;
    ossify_driven driven = {.struct_size = sizeof driven, .joints = joints, .map = map, .shifts = shifts};
    ossify_default_driving(&wish);
    wish.count = wish.joint_count = c->correctives;
    wish.form = c->correction.support ? OSSIFY_DRIVEN_JOINTS : OSSIFY_DRIVEN_FOUND;
    wish.parents = parents;
    for (int32_t b = 0; b <= MOST_BONES; b++) {
        parents[b] = b - 1;
    }
    for (int i = 0; i < 3 * (MOST_BONES + 1); i++) {
        pivots[i] = i % 7 - 3;
    }
    wish.pivots = c->correctives % 2 ? pivots : NULL;
    c->fraction = 0;
    c->rig.corrective_capacity = MOST_FIELDS;
    c->rig.correctives = 0;
    c->rig.fields = c->fields;
    c->rig.coefficients = c->coefficients;
    const int64_t status = ossify_drive(&c->poses, &c->settings, &c->rig, &wish, &driven, &c->info);
    check_status(c, status);
    for (int64_t n = 0; n < c->rig.correctives && status >= 0; n++) {
        MUST(joints[n] >= -1 && joints[n] < c->rig.bones);
        for (int64_t i = 0; i < 9 * c->rig.bones; i++) {
            MUST(isfinite(map[9 * n * c->rig.bones + i]));
        }
        for (int64_t i = 0; i < 3 * c->rig.bones; i++) {
            MUST(isfinite(shifts[3 * n * c->rig.bones + i]));
        }
        for (int64_t f = 0; f < c->poses.frame_count; f++) {
            MUST(isfinite(c->coefficients[f * MOST_FIELDS + n]));
        }
    }
    c->rig.correctives = 0;
}

/* The rest and the first frame as two subjects, to whom frames belong in turns. */
static void run_unite(Case *c) {
    enum { MOST_SUBJECTS = 2 };
    static float rest[MOST_SUBJECTS * 3 * MOST_VERTICES], solved[MOST_SUBJECTS * 3 * MOST_VERTICES];
    double joints[MOST_SUBJECTS * 3 * (MOST_BONES + 1)];
    int32_t parents[MOST_BONES + 1], subject[MOST_FRAMES];
    const int64_t numbers = 3 * c->poses.vertex_count;
    for (int64_t i = 0; i < MOST_SUBJECTS * numbers; i++) {
        rest[i] = i < numbers ? c->rig.rest[i] : c->poses.frames[i - numbers];
    }
    for (int32_t f = 0; f < MOST_FRAMES; f++) {
        subject[f] = f % MOST_SUBJECTS;
    }
    const ossify_subjects subjects = {.struct_size = sizeof subjects,
                                      .count = MOST_SUBJECTS,
                                      .joined = 1,
                                      .rest = rest,
                                      .subject = subject};
    ossify_united united = {
        .struct_size = sizeof united, .rest = solved, .parents = parents, .joints = joints};
    c->fraction = 0;
    c->rig.correctives = 0;
    c->rig.held_transforms = c->rig.held_vertices = c->rig.held_groups = c->rig.held_rest = NULL;
    const int64_t status = ossify_unite(&c->poses, &c->settings, &c->rig, &subjects, &united, &c->info);
    check_status(c, status);
    for (int64_t i = 0; i < MOST_SUBJECTS * numbers && status >= 0; i++) {
        MUST(isfinite(solved[i]));
    }
    for (int64_t b = 0; b < c->rig.bones && status >= 0; b++) {
        MUST(parents[b] >= -1 && parents[b] < c->rig.bones && isfinite(joints[3 * b]));
    }
}

/* Frames as bodies; then the bones as they came, to pose by, and merged with those that shape. */
static void run_shapes(Case *c) {
    enum { ROOM = 3 * MOST_BONES + 3 };
    static double transforms[12 * MOST_FRAMES * ROOM], shapes[12 * ROOM], joints[3 * ROOM];
    static double motion[12 * MOST_FRAMES * MOST_BONES];
    int32_t parents[ROOM], carriers[ROOM], pose_parents[MOST_BONES], subject[MOST_FRAMES] = {0};
    const int64_t bones = c->rig.bones, wide = c->rig.bone_capacity;
    const ossify_shaping shaping = {.struct_size = sizeof shaping, .kind = c->vertex % 2};
    ossify_rig shaped = c->rig, rig = c->rig;
    for (int64_t f = 0; f < c->poses.frame_count; f++) {
        memcpy(motion + 12 * f * bones, c->rig.transforms + 12 * f * wide,
               12 * (size_t)bones * sizeof *motion);
    }
    for (int64_t b = 0; b < bones; b++) {
        pose_parents[b] = (int32_t)b - 1;
    }
    const ossify_merging merging = {.struct_size = sizeof merging,
                                    .tree = c->vertex % 2,
                                    .leaves = bones,
                                    .subject_count = 1,
                                    .pose_bones = bones,
                                    .pose_influences = c->rig.influences,
                                    .shape_bones = bones,
                                    .shape_influences = c->rig.influences,
                                    .subject_rest = c->rig.rest,
                                    .subject = subject,
                                    .pose_parents = pose_parents,
                                    .pose_joints = joints,
                                    .pose_transforms = motion,
                                    .pose_influenced = c->rig.influence_bones,
                                    .pose_weights = c->rig.influence_weights,
                                    .shape_influenced = c->rig.influence_bones,
                                    .shape_weights = c->rig.influence_weights,
                                    .shape_parents = c->vertex % 3 ? pose_parents : NULL};
    ossify_merged merged = {.struct_size = sizeof merged,
                            .parents = parents,
                            .carriers = carriers,
                            .joints = joints,
                            .shapes = shapes};
    c->fraction = 0;
    c->rig.correctives = 0;
    shaped.held_transforms = shaped.held_vertices = shaped.held_groups = shaped.held_rest = NULL;
    check_status(c, ossify_shape_bones(&c->poses, &c->settings, &shaped, &shaping, &c->info));
    rig = shaped;
    rig.given = OSSIFY_GIVEN_NOTHING;
    rig.bone_capacity = ROOM;
    rig.transforms = transforms;
    c->fraction = 0;
    const int64_t status = ossify_merge(&c->poses, &c->settings, &rig, &merging, &merged, &c->info);
    check_status(c, status);
    for (int64_t b = 0; b < rig.bones && status >= 0; b++) {
        MUST(parents[b] >= -1 && parents[b] < rig.bones && carriers[b] >= 0 && carriers[b] < bones);
        MUST(isfinite(joints[3 * b]) && isfinite(shapes[12 * b]));
    }
}

/* The skeleton in the rest and in the first frame, learnt from one body or from both. */
static void run_place_joints(Case *c) {
    enum { MOST_BODIES = 2 };
    static float known[MOST_BODIES * 3 * MOST_VERTICES];
    double joints[MOST_BODIES * 3 * MOST_BONES], placed[MOST_BODIES * 3 * MOST_BONES];
    double shares[OSSIFY_JOINT_VERTICES * MOST_BONES];
    int32_t parents[MOST_BONES], vertices[OSSIFY_JOINT_VERTICES * MOST_BONES];
    const int64_t numbers = 3 * c->poses.vertex_count, bones = c->rig.bones;
    for (int64_t i = 0; i < MOST_BODIES * numbers; i++) {
        known[i] = i < numbers ? c->rig.rest[i] : c->poses.frames[i - numbers];
    }
    for (int64_t i = 0; i < MOST_BODIES * 3 * bones; i++) {
        joints[i] = (double)known[i % (MOST_BODIES * numbers)];
        parents[i % bones] = (int32_t)(i % bones) - 1;
    }
    const ossify_bodies bodies = {.struct_size = sizeof bodies,
                                  .known_count = 1 + c->correctives % MOST_BODIES,
                                  .count = MOST_BODIES,
                                  .parents = parents,
                                  .known = known,
                                  .joints = joints,
                                  .rest = known};
    ossify_placed result = {
        .struct_size = sizeof result, .joints = placed, .vertices = vertices, .shares = shares};
    c->fraction = 0;
    const int64_t status = ossify_place_joints(&c->poses, &c->settings, &c->rig, &bodies, &result, &c->info);
    check_status(c, status);
    for (int64_t i = 0; i < 3 * bones * bodies.count && status >= 0; i++) {
        MUST(isfinite(placed[i]));
    }
    for (int64_t i = 0; i < OSSIFY_JOINT_VERTICES * bones && status >= 0; i++) {
        MUST(vertices[i] >= -1 && vertices[i] < c->poses.vertex_count && isfinite(shares[i]));
    }
}

/* A map of the mesh, from above or as the bytes have it; what shall become of it follows from the correctives, too. */
static void run_unwrap(Case *c) {
    float uv[MOST_TRIANGLES * 6], relaxed[MOST_TRIANGLES * 6], stretch[MOST_TRIANGLES];
    ossify_unwrapping wish;
    ossify_unwrapped found = {.struct_size = sizeof found, .uv = relaxed, .triangle_stretch = stretch};
    const int64_t corners = 3 * c->poses.triangle_count;
    if (corners < 0 || corners > 3 * MOST_TRIANGLES) {
        return;
    }
    for (int64_t i = 0; i < corners; i++) {
        const int64_t v = c->triangles[i] < 0 ? 0 : c->triangles[i] % MOST_VERTICES;
        uv[2 * i] = c->rest[3 * v];
        uv[2 * i + 1] = c->rest[3 * v + 1] + (c->correction.refine ? (float)(i % 3) : 0);
    }
    ossify_default_unwrapping(&wish);
    wish.uv = uv;
    wish.method = (int64_t)((uint64_t)c->correction.support % (OSSIFY_UNWRAP_CONFORMAL + 1));
    wish.place = c->correction.solve_rest != 0;
    wish.with_rest = c->correction.count & 1;
    c->fraction = 0;
    const int64_t status = ossify_unwrap(&c->poses, &c->settings, &wish, &found, &c->info);
    check_status(c, status);
    if (status < 0) {
        return;
    }
    MUST(found.islands >= 1 && found.flipped >= 0 && found.flipped <= corners / 3);
    MUST(isfinite(found.stretch) && isfinite(found.rest_stretch));
    for (int64_t i = 0; i < 2 * corners; i++) {
        MUST(isfinite(relaxed[i]));
    }
    for (int64_t i = 0; i < corners / 3; i++) {
        MUST(isfinite(stretch[i]));
    }
}

/* ---- verbs that only look at a rig */

/* Which of its bones move as one. */
static void run_fuse(Case *c) {
    int32_t leaders[OSSIFY_MAX_BONES];
    const ossify_fusion fusion = {.struct_size = sizeof fusion, .count = c->correctives};
    ossify_groups groups = {.struct_size = sizeof groups, .leaders = leaders};
    c->fraction = 0;
    c->rig.correctives = 0;
    const int64_t status = ossify_fuse(&c->poses, &c->settings, &c->rig, &fusion, &groups, &c->info);
    check_status(c, status);
    MUST(status < 0 || (groups.count >= 1 && groups.count <= c->rig.bones));
    for (int64_t b = 0; b < c->rig.bones && status >= 0; b++) {
        MUST(leaders[b] >= 0 && leaders[b] < c->rig.bones && leaders[leaders[b]] == leaders[b]);
    }
}

/* Where its bones go, by the skeleton as it is. */
static void run_inspect(Case *c) {
    double flights[OSSIFY_MAX_BONES], excesses[OSSIFY_MAX_BONES], drifts[OSSIFY_MAX_BONES];
    double shares[OSSIFY_MAX_BONES];
    uint8_t idle[OSSIFY_MAX_BONES];
    int32_t limbs[OSSIFY_MAX_BONES], foreign[OSSIFY_MAX_BONES];
    ossify_conduct conduct = {.struct_size = sizeof conduct,
                              .flights = flights,
                              .excesses = excesses,
                              .drifts = drifts,
                              .shares = shares,
                              .idle = idle,
                              .limbs = limbs,
                              .foreign = foreign};
    c->fraction = 0;
    c->rig.correctives = 0;
    const int64_t status = ossify_inspect(&c->poses, &c->settings, &c->rig, &c->skeleton, &conduct, &c->info);
    check_status(c, status);
    for (int64_t b = 0; b < c->rig.bones && status >= 0; b++) {
        MUST(flights[b] >= 0 && isfinite(flights[b]) && isfinite(drifts[b]));
        MUST(excesses[b] >= 0 && excesses[b] <= flights[b]);
        MUST(shares[b] >= 0 && shares[b] <= 1 && idle[b] <= 1);
        MUST(limbs[b] >= -1 && limbs[b] < conduct.limb_count);
        MUST(foreign[b] >= -1 && foreign[b] < c->rig.bones);
    }
    MUST(status < 0 || (conduct.torso >= 0 && conduct.torso < c->rig.bones));
}

/* The mean over the poses of each model; rig and skeleton as they are. */
static void run_average_poses(Case *c) {
    static double products[16 * MOST_BONES * MOST_BONES], edges[3 * MOST_TRIANGLES];
    ossify_average average = {
        .struct_size = sizeof average, .products = products, .edges = c->correctives % 2 ? edges : NULL};
    for (int64_t kind = -1; kind <= OSSIFY_POSES_UNIFORM + 1; kind++) {
        const ossify_pose_model model = {
            .struct_size = sizeof model, .kind = kind, .parents = c->parents, .joints = c->joints};
        c->fraction = 0;
        c->rig.correctives = 0;
        const int64_t status =
            ossify_average_poses(&c->poses, &c->settings, &c->rig, NULL, &model, &average, &c->info);
        check_status(c, status);
        for (int64_t i = 0, row = 4 * c->rig.bones; status >= 0 && i < row * row; i++) {
            MUST(isfinite(products[i]) && products[i] == products[i % row * row + i / row]);
        }
        for (int64_t i = 0; status >= 0 && average.edges != NULL && i < 3 * c->poses.triangle_count; i++) {
            MUST(isfinite(edges[i]) && edges[i] >= 0);
        }
    }
}

/* The rig, whatever it is like, painted. */
static void run_paint(Case *c) {
    const ossify_smoother smoother = {.struct_size = sizeof smoother,
                                      .influences = c->influences,
                                      .rounds = 1 + c->vertex % 8,
                                      .budget = fabs(c->settings.budget)};
    for (int smooth = 0; smooth < 2; smooth++) {
        c->fraction = 0;
        const int64_t status =
            smooth ? ossify_smooth_weights(&c->poses, &c->settings, &c->rig, &smoother, &c->info)
                   : ossify_prune_weights(&c->poses, &c->settings, &c->rig, c->influences, &c->info);
        check_status(c, status);
        if (status >= 0) {
            check_answer(c);
        }
    }
}

/* What is copied before such a verb is called is there. */
static int has_arrays(const Case *c) {
    return c->poses.vertex_count >= 1 && c->poses.vertex_count <= MOST_VERTICES &&
           c->poses.frame_count >= 1 && c->poses.frame_count <= MOST_FRAMES && c->rig.bones >= 1 &&
           c->rig.bones <= c->rig.bone_capacity && c->rig.transforms != NULL && c->rig.rest != NULL &&
           c->poses.frames != NULL;
}

static void run_bodies(Case *c) {
    run_place_joints(c);
    run_unite(c);
    run_shapes(c);
}

/* Any verb on a rig that nobody has looked at. */
static void run_any(Case *c, int verb) {
    switch (verb) {
    case OSSIFY_EVALUATE:
        run_evaluate(c);
        break;
    case OSSIFY_CONNECT:
    case OSSIFY_ARTICULATE:
        run_skeleton(c);
        break;
    case OSSIFY_BONE_COSTS:
    case OSSIFY_ADD_BONE:
        run_edits(c);
        break;
    case OSSIFY_CORRECT:
        run_correct(c);
        break;
    case OSSIFY_DRIVE:
        run_drive(c);
        break;
    case OSSIFY_UNWRAP:
        run_unwrap(c);
        break;
    case OSSIFY_FUSE:
        run_fuse(c);
        break;
    case OSSIFY_INSPECT:
        run_inspect(c);
        break;
    case OSSIFY_AVERAGE_POSES:
        run_average_poses(c);
        break;
    case OSSIFY_ANIMATION_SPACE:
        run_space(c);
        break;
    case OSSIFY_COMPRESS:
        run_compress(c);
        break;
    case OSSIFY_PRUNE_WEIGHTS:
    case OSSIFY_SMOOTH_WEIGHTS:
        run_paint(c);
        break;
    default:
        if (has_arrays(c)) {
            run_bodies(c);
        }
        break;
    }
}

static int64_t run_verb(Case *c, int verb, int articulates) {
    if (verb < 8) {
        return run_job(c, verb, articulates);
    }
    return articulates ? ossify_articulate(&c->poses, &c->settings, &c->rig, &c->skeleton, &c->info)
                       : ossify_decompose(&c->poses, &c->settings, &c->rig, &c->info);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Reader reader = {data, size, size};
    Case *c = calloc(1, sizeof *c), *before = malloc(sizeof *before);
    int first = byte(&reader), abused = -1, means_well = 0, verb, articulates;
    Sizes sizes = {1, 1, 1};
    int64_t status;
    if (c == NULL || before == NULL) {
        abort();
    }
    for (size_t i = 0; i < size; i++) {
        reader.random = 31 * reader.random + data[i];
    }
    if (first >= ABUSE) {
        sizes = read_sizes(&reader);
        abused = below(&reader, OSSIFY_VERBS);
        c->influences = below(&reader, OSSIFY_MAX_INFLUENCES + 2);
        means_well = below(&reader, 8);
        first = byte(&reader);
    }
    verb = first % 16;
    read_settings(&reader, c);
    read_rig(&reader, c);
    read_poses(&reader, c);
    read_start(&reader, c);
    articulates = below(&reader, 2);
    read_skeleton(&reader, c);
    read_locks(&reader, c);
    read_correction(&reader, c);
    read_fit(&reader, c);
    if (means_well & 3) { /* else as the bytes have it */
        make_rig(c, &reader);
    }
    if (means_well & 4) {
        ossify_default_settings(&c->settings);
        c->settings.bones = 1 + c->influences % MOST_BONES;
        c->settings.threads = 1;
    }
    c->odd_sizes = sizes.rest != sizes.frames || sizes.frames != sizes.rig;
    resize(c, sizes);
    *before = *c;
    if (abused > 0) {
        run_any(c, abused);
    } else if (verb == 0) {
        run_evaluate(c);
    } else {
        status = run_verb(c, verb, articulates);
        check_status(c, status);
        if (status >= 0) {
            check_answer(c);
            c->allocations_left = -1;
            run_evaluate(c);
            run_skeleton(c);
            run_edits(c);
            run_correct(c);
            run_drive(c);
            run_space(c);
            c->influences = 1 + c->vertex % 4;
            run_paint(c);
            run_compress(c);
            run_fuse(c);
            run_inspect(c);
            run_average_poses(c);
            run_unwrap(c);
            run_bodies(c);
        } else {
            check_refusal(c, before);
        }
    }
    free(c);
    free(before);
    return 0;
}

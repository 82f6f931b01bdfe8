/* fuzz_api.c - libFuzzer target over the public calls: bytes become sizes, values, settings, a rig to
 * start from, an allocator that fails and a watcher that cancels. Whatever comes in, a call must end,
 * with a status it documents, a sentence when it refuses, an untouched rig when it refuses and a whole
 * one when it does not. Arrays always have the size that the structs claim: that much is the caller's. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "ossify.h"

enum { MOST_VERTICES = 24, MOST_FRAMES = 6, MOST_TRIANGLES = 16, MOST_BONES = 12 };

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
    double *reals[] = {&s->budget, &s->fairness, &s->until};
    int changes = below(r, 8);
    ossify_default_settings(s);
    s->bones = 1 + below(r, MOST_BONES);
    s->threads = 1;
    for (int i = 0; i < changes; i++) {
        if (below(r, 4) > 0) {
            *wholes[below(r, 11)] = whole(r);
        } else {
            *reals[below(r, 3)] = real(r);
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
    c->settings.relocate = below(r, 8) == 7 ? whole(r) : below(r, 2);
    c->vertex = below(r, 8) == 7 ? whole(r) : below(r, MOST_VERTICES + 1) - 1;
    c->split = below(r, 8) == 7 ? whole(r) : below(r, MOST_BONES + 1) - 1;
    c->settings.jointed = below(r, 8) == 7 ? whole(r) : below(r, 2);
    c->settings.connect = below(r, 8) == 7 ? whole(r) : below(r, 3);
    c->settings.start_tolerance = below(r, 8) == 7 ? (double)whole(r) : 0.5 * below(r, 64);
}

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

/* A tree whose joints are numbers; articulated, without stretch, they hold. */
static void check_skeleton(const Case *c, int holds) {
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
        MUST(sqrt(square) <= 1e-6 * size);
    }
}

static void check_status(const Case *c, int64_t status) {
    MUST(status >= OSSIFY_THREAD_FAILED && status <= OSSIFY_REACHED);
    if (c->info.struct_size != sizeof c->info) {
        return; /* an info of another version is not written */
    }
    MUST(c->info.status == status);
    MUST(memchr(c->info.message, '\0', OSSIFY_MESSAGE_LENGTH) != NULL);
    MUST(status >= 0 || c->info.message[0] != '\0');
}

static int64_t run_job(Case *c, int manner, int articulates) {
    ossify_job *job = articulates
                          ? ossify_articulate_start(&c->poses, &c->settings, &c->rig, &c->skeleton, &c->info)
                          : ossify_decompose_start(&c->poses, &c->settings, &c->rig, &c->info);
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
    int64_t status = ossify_evaluate(&c->poses, &c->rig, &c->settings, &evaluation, &c->info);
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
        check_skeleton(c, !c->skeleton.stretch);
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
    int verb = below(&reader, 16), articulates;
    int64_t status;
    if (c == NULL || before == NULL) {
        abort();
    }
    for (size_t i = 0; i < size; i++) {
        reader.random = 31 * reader.random + data[i];
    }
    read_settings(&reader, c);
    read_rig(&reader, c);
    read_poses(&reader, c);
    read_start(&reader, c);
    articulates = below(&reader, 2);
    read_skeleton(&reader, c);
    read_locks(&reader, c);
    *before = *c;
    if (verb == 0) {
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
        } else {
            check_refusal(c, before);
        }
    }
    free(c);
    free(before);
    return 0;
}

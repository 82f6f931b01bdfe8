/* test_relocate.c - bones that may leave their places: what is held stays, whatever it is, and the rig never becomes
 * worse. */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "probe.h"
#include "search/levels.h"
#include "synthetic.h"
#include "test.h"

enum { BONES = 6, K = 3 };

/* Random things of a rig that are held. */
typedef struct Holds {
    uint8_t *transforms, *vertices, *groups, *rest;
} Holds;

static uint8_t *draw(uint64_t *random, int64_t count, double share) {
    uint8_t *flags = calloc((size_t)count, 1);
    for (int64_t i = 0; i < count; i++) {
        flags[i] = random_unit(random) < share;
    }
    return flags;
}

/* A kind is left out now and then, and seldom is much held, or no bone could leave. */
static double draw_share(uint64_t *random, double most) {
    return random_below(random, 3) == 0 ? 0 : most * random_unit(random);
}

static Holds draw_holds(uint64_t *random, const Synthetic *s) {
    Holds holds;
    holds.transforms = draw(random, s->poses.frame_count * BONES, draw_share(random, 0.05));
    holds.vertices = draw(random, s->poses.vertex_count, draw_share(random, 0.03));
    holds.groups = draw(random, BONES, draw_share(random, 0.5));
    holds.rest = draw(random, s->poses.vertex_count, draw_share(random, 0.5));
    return holds;
}

static void hold(const Holds *holds, ossify_rig *rig) {
    rig->held_transforms = holds->transforms;
    rig->held_vertices = holds->vertices;
    rig->held_groups = holds->groups;
    rig->held_rest = holds->rest;
}

static void free_holds(Holds *holds) {
    free(holds->transforms);
    free(holds->vertices);
    free(holds->groups);
    free(holds->rest);
}

/* The truth, but one bone has its vertices from another: there is something to gain for a bone that leaves. Weights
 * sum to one only as nearly as a caller may leave them. */
static Answer spoilt(const Synthetic *s, int32_t lost, int32_t taker) {
    Answer answer = answer_of(&s->poses, &s->truth);
    for (int64_t v = 0; v < s->poses.vertex_count; v++) {
        int32_t *bone = answer.rig.influence_bones + K * v;
        float *weight = answer.rig.influence_weights + K * v;
        int at = -1, from = -1;
        for (int k = 0; k < K; k++) {
            at = bone[k] == taker ? k : at;
            from = bone[k] == lost ? k : from;
        }
        if (from >= 0 && at >= 0) {
            weight[at] += weight[from];
            weight[from] = 0;
            bone[from] = -1;
        } else if (from >= 0) {
            bone[from] = taker;
        }
        for (int k = 0; k < K; k++) {
            weight[k] *= 1 - 1e-6f * (float)(v % 7);
        }
    }
    return answer;
}

static float weight_of(const ossify_rig *rig, int64_t v, int32_t b) {
    for (int64_t i = v * rig->influences; i < (v + 1) * rig->influences; i++) {
        if (rig->influence_bones[i] == b) {
            return rig->influence_weights[i];
        }
    }
    return 0;
}

static void check_held(const ossify_poses *poses, const Holds *holds, const ossify_rig *before,
                       const ossify_rig *after) {
    for (int64_t i = 0; i < poses->frame_count * BONES; i++) {
        if (holds->transforms[i]) {
            CHECK(memcmp(after->transforms + 12 * i, before->transforms + 12 * i, 12 * sizeof(double)) == 0);
        }
    }
    for (int64_t v = 0; v < poses->vertex_count; v++) {
        for (int32_t b = 0; b < BONES; b++) {
            if (holds->vertices[v] || holds->groups[b]) {
                CHECK(weight_of(after, v, b) == weight_of(before, v, b));
            }
        }
        if (holds->rest[v]) {
            CHECK(memcmp(after->rest + 3 * v, before->rest + 3 * v, 3 * sizeof(float)) == 0);
        }
    }
}

TEST(whatever_is_held_stays_when_bones_may_leave) {
    uint64_t random = 5;
    int better = 0;
    for (int round = 0; round < (SLOW_BUILD ? 6 : 30) && !test_failed(); round++) {
        const int large = round % 6 == 5; /* then a sample stands for the whole */
        SyntheticOptions options = {.shape = round % 2 ? SHAPE_TUBE : SHAPE_GRID,
                                    .vertices = large ? 1700 : 200,
                                    .frames = large ? 40 : 8,
                                    .bones = BONES,
                                    .influences = K,
                                    .noise = 0.01,
                                    .seed = (uint64_t)round};
        Synthetic s = synthetic_make(options);
        ossify_settings settings = plain_settings(BONES);
        const int32_t lost = random_below(&random, BONES);
        Answer given = spoilt(&s, lost, (lost + 1) % BONES), answer = answer_of(&s.poses, &given.rig);
        Holds holds = draw_holds(&random, &s);
        settings.influences = K;
        settings.quality = OSSIFY_DRAFT;
        settings.locality = round / 2 % 2;
        settings.relocate = OSSIFY_RELOCATE_ALL;
        hold(&holds, &answer.rig);
        test_case("round %d", round);
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        CHECK_TEXT(answer.info.message, "");
        check_held(&s.poses, &holds, &given.rig, &answer.rig);
        const double before = replay_error(&s.poses, &given.rig, NULL),
                     after = replay_error(&s.poses, &answer.rig, NULL);
        CHECK(after <= before * (1 + 1e-6));
        better += after < 0.5 * before;
        free_holds(&holds);
        answer_free(&given);
        answer_free(&answer);
        synthetic_free(&s);
    }
    CHECK(better > 0); /* of all these rigs some have a bone that may leave */
}

static int is_among(int item, const int *list, int count) {
    for (int i = 0; i < count; i++) {
        if (list[i] == item) {
            return 1;
        }
    }
    return 0;
}

/* A sample may lack the one vertex and the one frame that are held: their bones stay all the same. */
TEST(bones_stay_for_what_a_sample_lacks) {
    SyntheticOptions options = {.vertices = 600, .frames = 30, .bones = BONES, .influences = K};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(BONES);
    const Effort effort = {.sample_vertices = 100, .sample_frames = 6, .surplus = 1};
    uint8_t *frames = calloc(30 * BONES, 1), *vertices = calloc((size_t)s.poses.vertex_count, 1);
    Stage stage;
    Levels levels;
    Model few;
    int64_t v = 0;
    int f = 0, seen = 0;
    settings.influences = K;
    stage_open(&stage, &s.poses, &s.truth, settings); /* to learn what the sample lacks */
    CHECK(levels_make(&stage.workshop.call, &stage.problem, &effort, &levels));
    CHECK(levels.few.vertices < 600 && levels.few.frames == 6);
    for (int i = 0; i < levels.few.vertices; i++) {
        vertices[stage.problem.caller[levels.sample.caller[i]]] = 2;
    }
    while (vertices[v] == 2 || s.truth.influence_weights[K * v] < 1) {
        v++;
    }
    while (is_among(f, levels.chosen, 6)) {
        f++;
    }
    stage_close(&stage);
    for (int64_t i = 0; i < s.poses.vertex_count; i++) {
        vertices[i] = i == v;
    }
    const int carries = s.truth.influence_bones[K * v], keyed = (carries + 1) % BONES;
    frames[f * BONES + keyed] = 1;
    s.truth.held_vertices = vertices;
    s.truth.held_transforms = frames;
    stage_open(&stage, &s.poses, &s.truth, settings);
    CHECK(levels_make(&stage.workshop.call, &stage.problem, &effort, &levels));
    CHECK(model_make(&stage.workshop.call, &levels.few, BONES, K, &few));
    levels_lower(&stage.problem, &levels, &stage.model, &few);
    for (int i = 0; i < levels.few.vertices; i++) {
        seen += levels.few.held[i];
    }
    for (int i = 0; i < 6 * BONES; i++) {
        seen += few.held[i];
    }
    CHECK_INT(seen, 0);
    for (int b = 0; b < BONES; b++) {
        CHECK_INT(few.stays[b], b == carries || b == keyed);
    }
    free(frames);
    free(vertices);
    stage_close(&stage);
    synthetic_free(&s);
}

static void note_start(void *user, const ossify_progress *progress) {
    *(int *)user |= progress->stage == OSSIFY_STAGE_START;
}

/* First bones are looked for only where all may be others; what some gain by leaving, all gain too. */
TEST(bones_are_looked_for_anew_only_when_all_may_leave) {
    SyntheticOptions options = {.shape = SHAPE_TUBE,
                                .vertices = 200,
                                .frames = 8,
                                .bones = BONES,
                                .influences = K,
                                .noise = 0.01,
                                .seed = 3};
    Synthetic s = synthetic_make(options);
    double error[3];
    for (int64_t relocate = OSSIFY_RELOCATE_NONE; relocate <= OSSIFY_RELOCATE_ALL; relocate++) {
        Answer answer = spoilt(&s, 2, 3);
        ossify_settings settings = plain_settings(BONES);
        int looked = 0;
        Watcher watcher = {.see = note_start, .see_user = &looked};
        settings.influences = K;
        settings.relocate = relocate;
        watcher_join(&watcher, &settings);
        test_case("relocate %d", (int)relocate);
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        CHECK_INT(looked, relocate == OSSIFY_RELOCATE_ALL);
        error[relocate] = replay_error(&s.poses, &answer.rig, NULL);
        answer_free(&answer);
    }
    CHECK(error[OSSIFY_RELOCATE_SOME] < 0.9 * error[OSSIFY_RELOCATE_NONE]);
    CHECK(error[OSSIFY_RELOCATE_ALL] <= error[OSSIFY_RELOCATE_SOME]);
    synthetic_free(&s);
}

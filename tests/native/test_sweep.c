/* test_sweep.c - a call that fails at any point leaves nothing behind: every allocation refused in turn,
 * cancelled at every poll. */
#include <string.h>

#include "probe.h"
#include "search/explore.h"
#include "search/levels.h"
#include "starts/cluster.h"
#include "synthetic.h"
#include "test.h"

/* The ways through decompose.c, track.c, edit.c, skeleton.c and articulate.c. */
typedef enum Way {
    PLAIN,
    LOCALITY_OFF,
    FLEXIBLE,
    FREE_REST,
    NO_REST,
    FACELESS,
    THINNED,
    FACES,
    SPECTRAL,
    TRIED,
    BEST,
    UNTIL,
    BUDGET,
    PARTS,
    JOINTED,
    GIVEN_ALL,
    GIVEN_WEIGHTS,
    GIVEN_TRANSFORMS,
    TRACKED,
    GROUPS_HELD,
    RELOCATED,
    PRICED,
    ADDED,
    SPLIT,
    PRUNED,
    SMOOTHED,
    TWO_THREADS,
    CONNECTED,
    ARTICULATED,
    STRETCHED,
    MIRRORED,
    POSED,
    WAYS
} Way;

static const char *const NAMES[WAYS] = {
    "plain",    "locality off", "flexible",    "free rest", "no rest",       "faceless",
    "thinned",  "faces",        "spectral",    "tried",     "best",          "until",
    "budget",   "parts",        "jointed",     "given all", "given weights", "given transforms",
    "tracked",  "groups held",  "relocated",   "priced",    "added",         "split",
    "pruned",   "smoothed",     "two threads", "connected", "articulated",   "stretched",
    "mirrored", "posed"};

static uint8_t HELD[64]; /* all of them, once a trial is made */
static const uint8_t GROUPS[4] = {0, 1, 0, 0};

typedef struct Trial {
    Synthetic made;
    ossify_settings settings;
    Answer before; /* what the rig holds when the call begins */
    ossify_skeleton skeleton;
    Way way;
} Trial;

/* Three bones, of which the last two are taken for each other's mirror images. */
static void mirror_bones(ossify_skeleton *skeleton) {
    skeleton->symmetry = OSSIFY_SYMMETRY_GIVEN;
    skeleton->plane[0] = 1;
    skeleton->parents[1] = skeleton->parents[2] = skeleton->mirrors[0] = 0;
    skeleton->mirrors[1] = 2;
    skeleton->mirrors[2] = 1;
}

/* The truth with bones out of place, so that there is something to solve. */
static Answer worse_truth(const Synthetic *s) {
    Answer answer = answer_of(&s->poses, &s->truth);
    for (int64_t i = 0; i < s->poses.frame_count * s->truth.bones * 3; i++) {
        answer.rig.transforms[4 * i + 3] += (double)(i % 7) * 0.02;
    }
    return answer;
}

/* The truth with room for one more bone. */
static Answer roomy_truth(const Synthetic *s) {
    ossify_settings settings = plain_settings(s->truth.bones + 1);
    Answer answer;
    settings.influences = s->truth.influences;
    answer = answer_start(&s->poses, &settings);
    size_t count = (size_t)(s->poses.vertex_count * s->truth.influences), bones = (size_t)s->truth.bones;
    answer.rig.bones = s->truth.bones;
    memcpy(answer.rig.influence_bones, s->truth.influence_bones, count * sizeof(int32_t));
    memcpy(answer.rig.influence_weights, s->truth.influence_weights, count * sizeof(float));
    memcpy(answer.rig.rest, s->truth.rest, 3 * (size_t)s->poses.vertex_count * sizeof(float));
    for (size_t f = 0; f < (size_t)s->poses.frame_count; f++) {
        memcpy(answer.rig.transforms + 12 * f * (bones + 1), s->truth.transforms + 12 * f * bones,
               12 * bones * sizeof(double));
    }
    return answer;
}

static Trial trial_of(Way way) {
    SyntheticOptions options = {.vertices = 48,
                                .frames = way == THINNED ? 30 : 4,
                                .bones = 3,
                                .noise = 0.01,
                                .faceless = way == FACELESS,
                                .flexible = way == FLEXIBLE,
                                .jointed = way >= CONNECTED};
    Trial t = {.way = way};
    t.made = synthetic_make(options);
    t.settings = plain_settings(3);
    t.settings.quality = way == BEST                      ? OSSIFY_BEST
                         : way == UNTIL || way == JOINTED ? OSSIFY_NORMAL
                                                          : OSSIFY_DRAFT;
    t.settings.iterations = 3;
    t.settings.influences = 2;
    t.settings.locality = way != LOCALITY_OFF;
    t.settings.bone_kind = way == FLEXIBLE;
    t.settings.rest_mode = way == FREE_REST ? OSSIFY_REST_FREE : OSSIFY_REST_KEPT;
    t.settings.start = way == FACES      ? OSSIFY_START_FACES
                       : way == SPECTRAL ? OSSIFY_START_SPECTRAL
                       : way == TRIED    ? OSSIFY_START_TRIED
                                         : OSSIFY_START_GROWN;
    t.settings.until = way == UNTIL ? 1e-9 : 0;
    t.settings.threads = way == TWO_THREADS ? 2 : 1;
    if (way == BUDGET) {
        t.settings.budget_kind = OSSIFY_BUDGET_RMS;
        t.settings.budget = 2;
        t.settings.bones = 8;
    }
    if (way == PARTS) {
        t.settings.budget_kind = OSSIFY_BUDGET_PARTS;
        t.settings.bones = 8;
    }
    if (way == NO_REST) {
        t.made.poses.rest = NULL;
    }
    t.before = answer_start(&t.made.poses, &t.settings);
    t.skeleton = skeleton_of(&t.made.skeleton);
    t.skeleton.stretch = way == STRETCHED;
    t.skeleton.symmetry = way == CONNECTED ? OSSIFY_SYMMETRY_FOUND : OSSIFY_SYMMETRY_NONE;
    if (way == MIRRORED) {
        mirror_bones(&t.skeleton);
    }
    if (way >= CONNECTED) {
        answer_free(&t.before);
        t.before = answer_of(&t.made.poses, &t.made.truth);
    }
    if (way >= GIVEN_ALL && way <= SMOOTHED) {
        answer_free(&t.before);
        t.before = way == ADDED || way == SPLIT ? roomy_truth(&t.made) : worse_truth(&t.made);
        t.before.rig.given = way == GIVEN_WEIGHTS || way == TRACKED ? OSSIFY_GIVEN_WEIGHTS
                             : way == GIVEN_TRANSFORMS ? OSSIFY_GIVEN_TRANSFORMS
                                                       : OSSIFY_GIVEN_TRANSFORMS | OSSIFY_GIVEN_WEIGHTS;
    }
    if (way == TRACKED || way == POSED) {
        CHECK(t.made.poses.vertex_count <= 64);
        memset(HELD, 1, sizeof HELD);
        t.before.rig.held_vertices = HELD;
        t.skeleton.held_joints = HELD;
        t.settings.rest_mode = OSSIFY_REST_FIXED;
    }
    t.before.rig.held_groups = way == GROUPS_HELD ? GROUPS : NULL;
    t.settings.relocate = way == RELOCATED ? OSSIFY_RELOCATE_ALL : OSSIFY_RELOCATE_NONE;
    t.settings.jointed = way == JOINTED;
    return t;
}

static void trial_free(Trial *t) {
    answer_free(&t->before);
    skeleton_free(&t->skeleton);
    synthetic_free(&t->made);
}

static int64_t call_verb(const Trial *t, const ossify_settings *settings, Answer *answer,
                         ossify_skeleton *skeleton) {
    const ossify_poses *poses = &t->made.poses;
    double costs[3];
    if (t->way == PRICED) {
        return ossify_bone_costs(poses, settings, &answer->rig, costs, &answer->info);
    }
    if (t->way == ADDED || t->way == SPLIT) {
        return ossify_add_bone(poses, settings, &answer->rig, -1, t->way == SPLIT ? 1 : -1, &answer->info);
    }
    if (t->way == PRUNED) {
        return ossify_prune_weights(poses, settings, &answer->rig, 1, &answer->info);
    }
    if (t->way == SMOOTHED) {
        const ossify_smoother smoother = {sizeof smoother, 2, 3, 1e-3};
        return ossify_smooth_weights(poses, settings, &answer->rig, &smoother, &answer->info);
    }
    if (t->way == CONNECTED) {
        return ossify_connect(poses, settings, &answer->rig, skeleton, &answer->info);
    }
    if (t->way > CONNECTED) {
        return ossify_articulate(poses, settings, &answer->rig, skeleton, &answer->info);
    }
    return ossify_decompose(poses, settings, &answer->rig, &answer->info);
}

/* Runs with a fresh copy of rig and skeleton; says whether they are untouched. */
static int64_t run(const Trial *t, const ossify_settings *settings, int *untouched, ossify_info *info) {
    Answer answer = answer_of(&t->made.poses, &t->before.rig);
    ossify_skeleton skeleton = skeleton_of(&t->skeleton);
    int64_t status = call_verb(t, settings, &answer, &skeleton);
    *untouched = rigs_are_equal(&t->made.poses, &answer.rig, &t->before.rig) &&
                 skeletons_are_equal(&skeleton, &t->skeleton);
    *info = answer.info;
    skeleton_free(&skeleton);
    answer_free(&answer);
    return status;
}

static void refuse_each_allocation(Way way, int refuse_on) {
    Trial t = trial_of(way);
    ossify_settings settings = t.settings;
    Ledger ledger = {0};
    ossify_info info;
    int untouched;
    int64_t needed;
    ledger_join(&ledger, &settings);
    CHECK(run(&t, &settings, &untouched, &info) >= 0);
    CHECK_INT(ledger.taken, ledger.given);
    needed = ledger.asked;
    for (int64_t i = 1; i <= needed && !test_failed(); i = trial_after(i, needed)) {
        ledger = (Ledger){.refuse_at = i, .refuse_on = refuse_on};
        test_case("%s, allocation %d of %d", NAMES[way], (int)i, (int)needed);
        CHECK_INT(run(&t, &settings, &untouched, &info), OSSIFY_OUT_OF_MEMORY);
        CHECK_INT(info.status, OSSIFY_OUT_OF_MEMORY);
        CHECK_SAYS(info.message, "out of memory: ");
        CHECK(untouched);
        CHECK_INT(ledger.taken, ledger.given);
    }
    trial_free(&t);
}

TEST(every_allocation_refused_in_turn) {
    for (int way = 0; way < WAYS; way++) {
        refuse_each_allocation((Way)way, 0);
    }
}

TEST(every_allocation_refused_from_one_on) {
    refuse_each_allocation(PLAIN, 1);
    refuse_each_allocation(BUDGET, 1);
}

/* Thinning is for large meshes; here it is asked for on a small one. Returns 1 when all went well. */
static int thin_and_carry(Stage *stage) {
    const Effort effort = {.sample_vertices = 60, .sample_frames = 4, .surplus = 1, .warm = 1};
    Call *call = &stage->workshop.call;
    Levels levels;
    Model few, model;
    return levels_make(call, &stage->problem, &effort, &levels) &&
           model_make(call, &levels.few, explore_capacity(3, &effort), 2, &few) &&
           model_make(call, &stage->problem, few.capacity, 2, &model) &&
           cluster(call, &levels.few, 3, &few) &&
           levels_carry(call, &stage->problem, &levels, &few, 0, &model);
}

TEST(every_allocation_refused_while_thinning) {
    SyntheticOptions options = {.vertices = 150, .frames = 9, .bones = 3, .shells = 2};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(3);
    Ledger ledger = {0};
    int64_t first = 0, needed = 0;
    settings.influences = 2;
    ledger_join(&ledger, &settings);
    for (int64_t i = 0; i <= needed && !test_failed(); i = trial_after(i, needed)) {
        Stage stage;
        ledger = (Ledger){.refuse_at = i > 0 ? first + i : 0};
        stage_open(&stage, &s.poses, &s.truth, settings);
        first = ledger.asked;
        test_case("allocation %d of %d", (int)i, (int)needed);
        CHECK_INT(thin_and_carry(&stage), i == 0);
        CHECK_INT(stage.workshop.call.arena.failed, i > 0);
        needed = i == 0 ? ledger.asked - first : needed;
        stage_close(&stage);
        CHECK_INT(ledger.taken, ledger.given);
    }
    CHECK(needed > 30);
    synthetic_free(&s);
}

/* Cancelled at the i-th poll. With two threads the number of polls varies, and the i-th may not come;
 * and the last one comes when the rig is written: both are too late, and the answer must be whole. */
static void cancel_at(const Trial *t, ossify_settings settings, int64_t i, int64_t status, double erms) {
    Watcher watcher = {.cancel_at = i};
    Ledger ledger = {0};
    ossify_info info;
    int untouched;
    int64_t got;
    watcher_join(&watcher, &settings);
    ledger_join(&ledger, &settings);
    got = run(t, &settings, &untouched, &info);
    CHECK_INT(info.status, got);
    CHECK_INT(ledger.taken, ledger.given);
    if (watcher.calls < i || watcher.last.fraction >= 1) {
        CHECK_INT(got, status);
        CHECK(untouched == (t->way == PRICED)); /* which only reads */
        CHECK(info.erms == erms);
    } else {
        CHECK_INT(got, OSSIFY_CANCELLED);
        CHECK_TEXT(info.message, "cancelled by the caller: the rig is as it was");
        CHECK(untouched);
        CHECK_INT(watcher.calls, i); /* nobody asks again */
    }
}

static void cancel_each_poll(Way way) {
    Trial t = trial_of(way);
    ossify_settings settings = t.settings;
    Watcher watcher = {0};
    ossify_info info;
    int untouched;
    int64_t polls, status;
    watcher_join(&watcher, &settings);
    test_case("%s", NAMES[way]);
    status = run(&t, &settings, &untouched, &info);
    CHECK(status >= 0);
    if (way != CONNECTED) { /* which has no error to measure */
        CHECK_NEAR(watcher.last.fraction, 1, 1e-12);
        CHECK_INT(watcher.last.stage, OSSIFY_STAGE_FINISH);
    }
    polls = watcher.calls;
    for (int64_t i = 1; i <= polls && !test_failed(); i = trial_after(i, polls)) {
        test_case("%s, poll %d of %d", NAMES[way], (int)i, (int)polls);
        cancel_at(&t, t.settings, i, status, info.erms);
    }
    trial_free(&t);
}

TEST(cancelled_at_every_poll) {
    for (int way = 0; way < WAYS; way++) {
        cancel_each_poll((Way)way);
    }
}

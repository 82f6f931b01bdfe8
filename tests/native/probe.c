/* probe.c - see probe.h. */
#include "probe.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

void *ledger_allocate(void *user, uint64_t bytes) {
    Ledger *ledger = user;
    void *memory;
    ledger->asked++;
    if (ledger->refuse_at > 0 &&
        (ledger->refuse_on ? ledger->asked >= ledger->refuse_at : ledger->asked == ledger->refuse_at)) {
        return NULL;
    }
    memory = malloc((size_t)bytes);
    memset(memory, 0xAB, (size_t)bytes);
    ledger->taken++;
    return memory;
}

void ledger_release(void *user, void *memory) {
    ((Ledger *)user)->given++;
    free(memory);
}

void ledger_join(Ledger *ledger, ossify_settings *settings) {
    settings->allocate = ledger_allocate;
    settings->release = ledger_release;
    settings->memory_user = ledger;
}

static int64_t watch(void *user, const ossify_progress *progress) {
    Watcher *watcher = user;
    watcher->calls++;
    CHECK_INT(progress->struct_size, sizeof *progress);
    CHECK(progress->fraction >= watcher->last.fraction && progress->fraction <= 1);
    CHECK(progress->stage >= 0 && progress->stage < OSSIFY_STAGES);
    if (watcher->see != NULL) {
        watcher->see(watcher->see_user, progress);
    }
    watcher->last = *progress;
    return watcher->calls == watcher->cancel_at;
}

void watcher_join(Watcher *watcher, ossify_settings *settings) {
    settings->watch = watch;
    settings->watch_user = watcher;
}

ossify_settings plain_settings(int64_t bones) {
    ossify_settings settings;
    ossify_default_settings(&settings);
    settings.bones = bones;
    settings.threads = 1;
    settings.fairness = 0;
    return settings;
}

ossify_job *job_decompose(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                          ossify_info *info) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_DECOMPOSE,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = rig};
    return ossify_start(&request, info);
}

ossify_job *job_articulate(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                           ossify_skeleton *skeleton, ossify_info *info) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_ARTICULATE,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = rig,
                                    .skeleton = skeleton};
    return ossify_start(&request, info);
}

void workshop_open(Workshop *workshop, ossify_settings settings) {
    memset(workshop, 0, sizeof *workshop);
    workshop->settings = settings;
    workshop->info.struct_size = sizeof workshop->info;
    workshop->call.settings = &workshop->settings;
    workshop->call.info = &workshop->info;
    workshop->call.progress.struct_size = sizeof workshop->call.progress;
    atomic_init(&workshop->call.cancelled, 0);
    arena_start(&workshop->call.arena, &workshop->settings);
    workshop->call.pool = parallel_start(&workshop->call.arena, (int)settings.threads);
    CHECK(workshop->call.pool != NULL);
}

void workshop_close(Workshop *workshop) {
    parallel_end(workshop->call.pool);
    arena_end(&workshop->call.arena);
}

void stage_open(Stage *stage, const ossify_poses *poses, const ossify_rig *rig, ossify_settings settings) {
    Call *call = &stage->workshop.call;
    workshop_open(&stage->workshop, settings);
    CHECK(problem_prepare(call, poses, poses->rest, rig, &stage->problem, &stage->placement));
    CHECK(
        model_make(call, &stage->problem, (int)rig->bone_capacity, (int)settings.influences, &stage->model));
    rig_read(&stage->problem, &stage->placement, rig, settings.bone_kind == OSSIFY_RIGID, &stage->model);
}

int64_t trial_after(int64_t i, int64_t count) {
    const int64_t most = SLOW_BUILD ? 30 : 60, first = 30, last = 10;
    if (count <= most || i < first || i + last > count) {
        return i + 1;
    }
    const int64_t next = i + (count / most | 1);
    return next + last > count ? count - last + 1 : next;
}

void stage_close(Stage *stage) {
    workshop_close(&stage->workshop);
}

void model_replay(const Problem *problem, const Model *model, int v, double *y) {
    const double *p = model->rest + 3 * v;
    for (int row = 0; row < 3 * problem->frames; row++) {
        y[row] = 0;
        for (int k = 0; k < model->influences; k++) {
            int b = model->bone[v * model->influences + k];
            if (b >= 0) {
                const double *m = model->transform + 4 * (row * model->capacity + b);
                y[row] += model->weight[v * model->influences + k] *
                          (m[0] * p[0] + m[1] * p[1] + m[2] * p[2] + m[3]);
            }
        }
    }
}

double model_distance(const Problem *problem, const Model *model, int v) {
    size_t rows = 3 * (size_t)problem->frames;
    double *x = malloc(2 * rows * sizeof *x), *y = x + rows, sum = 0;
    problem_read(problem, v, x);
    model_replay(problem, model, v, y);
    for (size_t i = 0; i < rows; i++) {
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    }
    free(x);
    return sum;
}

double model_objective(const Problem *problem, const Model *model) {
    double sum = 0;
    for (int v = 0; v < problem->vertices; v++) {
        sum += problem->mass[v] * model_distance(problem, model, v);
    }
    return sum;
}

int64_t edges_of_faces(const ossify_poses *poses, int32_t *edge) {
    int64_t count = 0;
    for (int64_t i = 0; i < 3 * poses->triangle_count; i++) {
        const int32_t v = poses->triangles[i], u = poses->triangles[i % 3 == 2 ? i - 2 : i + 1];
        int64_t e = 0;
        while (e < count && !(edge[2 * e] == (v < u ? v : u) && edge[2 * e + 1] == (v < u ? u : v))) {
            e++;
        }
        edge[2 * e] = v < u ? v : u;
        edge[2 * e + 1] = v < u ? u : v;
        count += e == count;
    }
    return count;
}

/* edit.c - what an artist's edits of a rig need besides a refit: the price of each bone, and one bone more.
 *
 * The price is the explorer's: the rise of the squared error when a bone's vertices are solved again without
 * it (pass.c), over the mean. A bone is added as the explorer inserts one (reseed.c), where the error is most
 * or where it is asked for; or out of another bone, whose vertices are parted in two by 2-means over rigid
 * motions, the part with the seed going to the new bone. Only the weights of vertices that the new bone takes
 * are written, so all others keep their bits. */
#include "solve/edit.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/rig.h"
#include "core/sentence.h"
#include "descent/locality.h"
#include "descent/pass.h"
#include "descent/tolerances.h"
#include "math/walk.h"
#include "starts/reseed.h"

static const double TOO_MUCH =
    1.2; /* times the squared error: what a new bone may cost until it is refitted */

enum {
    PARTING_ROUNDS = 8, /* of 2-means */
    SAMPLE = 256,       /* vertices of a part that its motion is fitted to */
    LEAST_PART = 4      /* vertices: a motion needs three, and one to tell it from rounding */
};

typedef struct Edit {
    Call *call;
    Problem problem;
    Placement placement;
    Model model;
    Moments moments;
} Edit;

/* The rig as a model with room for `more` bones, errors measured; 0 when the call must end. */
static int open_rig(Call *call, const ossify_poses *poses, const ossify_rig *rig, int more, Edit *edit) {
    const float *rest = poses->rest ? poses->rest : rig->rest;
    ossify_rig whole = *rig;
    whole.given = OSSIFY_GIVEN_TRANSFORMS | OSSIFY_GIVEN_WEIGHTS;
    edit->call = call;
    if (!problem_prepare(call, poses, rest, rig, &edit->problem, &edit->placement) || call_poll(call, 0.3) ||
        !model_make(call, &edit->problem, (int)rig->bones + more, (int)rig->influences, &edit->model) ||
        !pass_make(call, &edit->problem, &edit->model, &edit->moments)) {
        return 0;
    }
    rig_read(&edit->problem, &edit->placement, &whole, 0, &edit->model);
    return 1;
}

static int must_end(const Call *call) {
    return call->arena.failed || atomic_load(&call->cancelled);
}

int edit_refuses_costs(const ossify_request *request, ossify_info *info) {
    const ossify_costs *result = request->result;
    return sentence_bad_array(info, "costs", result->costs, sizeof(double), "[rig.bones]");
}

/* The mean squared distance rises by cost: how much more is its root, in percent of the size? */
void edit_root_costs(const ossify_evaluation *evaluation, int64_t bones, double *costs) {
    const double size = evaluation->diagonal > 0 ? evaluation->diagonal : 1;
    for (int64_t b = 0; b < bones; b++) {
        costs[b] = 100 * (sqrt(evaluation->rms * evaluation->rms + costs[b]) - evaluation->rms) / size;
    }
}

int64_t edit_bone_costs(Call *call, const ossify_poses *poses, const ossify_rig *rig, double *costs) {
    Edit edit;
    Locality locality;
    PassPlan plan = {.removal_cost = costs};
    ossify_rig released = *rig;
    released.held_vertices = released.held_groups = NULL;
    if (!open_rig(call, poses, &released, 0, &edit)) {
        return call_ended(call);
    }
    if (call->settings->locality) {
        if (!locality_make(call, &edit.problem, edit.model.capacity, &locality) ||
            !locality_update(call, &edit.problem, &edit.model, 0, LOCAL_HOPS, &locality)) {
            return call_ended(call);
        }
        plan.candidates = locality.candidates;
        plan.bytes = locality.bytes;
    }
    pass_run(call, &edit.problem, &edit.model, &edit.moments, &plan);
    const double unit = edit.placement.unit, count = edit.problem.total_mass * edit.problem.frames;
    for (int b = 0; b < edit.model.bones && !must_end(call); b++) {
        costs[b] *= unit * unit / count;
    }
    return must_end(call) ? call_ended(call) : OSSIFY_CONVERGED;
}

/* Two rigid motions, the last two bones of the model, and which vertex moves like which. */
typedef struct Parting {
    Edit *edit;
    int *member;   /* [count] the vertices to be parted */
    uint8_t *part; /* [count] 1: like the second */
    int count;
    int *sample; /* [SAMPLE] */
    double *x;   /* [SAMPLE][3F] */
} Parting;

static int strongest(const Model *model, int v) {
    const size_t at = (size_t)v * (size_t)model->influences;
    int best = 0;
    for (int k = 1; k < model->influences; k++) {
        best = model->weight[at + (size_t)k] > model->weight[at + (size_t)best] ? k : best;
    }
    return model->bone[at + (size_t)best];
}

/* Vertices that follow the bone more than any other and may change. */
static int list_members(const Edit *edit, int b, int *member) {
    int count = 0;
    for (int v = 0; v < edit->problem.vertices; v++) {
        const int held = edit->problem.held && edit->problem.held[v];
        if (!held && strongest(&edit->model, v) == b) {
            member[count++] = v;
        }
    }
    return count;
}

/* Bone `to` becomes the motion of one part, by a spread sample of it; returns how many there are. */
static int fit_part(const Parting *parting, int part, int to) {
    int size = 0, seen = 0, taken = 0;
    for (int i = 0; i < parting->count; i++) {
        size += parting->part[i] == part;
    }
    const int most = size < SAMPLE ? size : SAMPLE;
    for (int i = 0; i < parting->count && taken < most; i++) {
        if (parting->part[i] == part && (int64_t)seen++ * most / size >= taken) {
            parting->sample[taken++] = parting->member[i];
        }
    }
    if (taken > 0) {
        reseed_fit(&parting->edit->problem, &parting->edit->model, parting->sample, taken, parting->x, to);
    }
    return size;
}

/* Every vertex goes to the motion that explains it better; returns how many changed sides. */
static int choose_sides(Parting *parting, int first, int second) {
    const Edit *edit = parting->edit;
    int changed = 0;
    for (int i = 0; i < parting->count && !call_poll(edit->call, -1); i++) {
        problem_read(&edit->problem, parting->member[i], parting->x);
        const uint8_t part =
            reseed_distance(&edit->problem, &edit->model, parting->member[i], second, parting->x) <
            reseed_distance(&edit->problem, &edit->model, parting->member[i], first, parting->x);
        changed += part != parting->part[i];
        parting->part[i] = part;
    }
    return changed;
}

/* The quarter nearest to the seed first, then 2-means; 1 when both parts are left with some vertices. */
static int part_in_two(Parting *parting, int seed) {
    Edit *edit = parting->edit;
    const int first = edit->model.bones, second = first + 1;
    Walk walk;
    if (!walk_make(&edit->call->arena, &edit->problem.graph, &walk)) {
        return 0;
    }
    walk_begin(&walk);
    walk_source(&walk, seed);
    walk_run(&walk, &edit->problem.graph, edit->problem.vertices, INFINITY);
    int *rank = arena_take(&edit->call->arena, (size_t)edit->problem.vertices, sizeof *rank);
    for (int i = 0; i < parting->count && rank; i++) {
        rank[parting->member[i]] = i + 1;
    }
    for (int i = 0, near = 0; i < walk.reached_count && 4 * near <= parting->count && rank; i++) {
        if (rank[walk.reached[i]] > 0) {
            parting->part[rank[walk.reached[i]] - 1] = 1;
            near++;
        }
    }
    int left = !must_end(edit->call);
    for (int round = 0, changed = 1; round < PARTING_ROUNDS && changed && left; round++) {
        left = fit_part(parting, 0, first) >= LEAST_PART && fit_part(parting, 1, second) >= LEAST_PART;
        changed = left ? choose_sides(parting, first, second) : 0;
    }
    return left && fit_part(parting, 0, first) >= LEAST_PART && fit_part(parting, 1, second) >= LEAST_PART;
}

/* The part that holds the seed goes to a new bone; the other stays. */
static void hand_over_part(Parting *parting, int split, int seed) {
    Edit *edit = parting->edit;
    Model *model = &edit->model;
    const size_t row = 4 * (size_t)model->capacity;
    const int b = model->bones;
    int part = 1;
    for (int i = 0; i < parting->count; i++) {
        part = parting->member[i] == seed ? parting->part[i] : part;
    }
    for (size_t i = 0; i < 3 * (size_t)edit->problem.frames && part == 1; i++) {
        double *m = model->transform + i * row + 4 * (size_t)b;
        memcpy(m, m + 4, 4 * sizeof *m);
    }
    for (int i = 0; i < parting->count; i++) {
        const size_t at = (size_t)parting->member[i] * (size_t)model->influences;
        for (int k = 0; k < model->influences && parting->part[i] == part; k++) {
            if (model->bone[at + (size_t)k] == split) {
                model->bone[at + (size_t)k] = b;
            }
        }
    }
    model->bones++;
}

/* 1 when the bone was split, 0 when its vertices all move alike, or when the call must end. */
static int split_bone(Edit *edit, int split, int seed) {
    Arena *arena = &edit->call->arena;
    const size_t n = (size_t)edit->problem.vertices;
    Parting parting = {.edit = edit};
    parting.member = arena_take(arena, n, sizeof(int));
    parting.part = arena_take(arena, n, 1);
    parting.sample = arena_take(arena, SAMPLE, sizeof(int));
    parting.x = arena_take(arena, SAMPLE * 3 * (size_t)edit->problem.frames, sizeof(double));
    if (arena->failed) {
        return 0;
    }
    parting.count = list_members(edit, split, parting.member);
    if (!part_in_two(&parting, seed) || must_end(edit->call)) {
        return 0;
    }
    hand_over_part(&parting, split, seed);
    return 1;
}

static int seed_of(const Edit *edit, int vertex, int split) {
    for (int v = 0; v < edit->problem.vertices && vertex >= 0; v++) {
        if (edit->problem.caller[v] == vertex) {
            return v;
        }
    }
    return reseed_worst(&edit->problem, &edit->model, split);
}

static int64_t write_bone(Edit *edit, ossify_rig *rig) {
    const int b = edit->model.bones - 1;
    int taken = 0;
    for (int v = 0; v < edit->problem.vertices; v++) {
        taken += model_follows(&edit->model, v, b);
    }
    if (taken == 0) {
        return sentence_refuse(
            edit->call->info, OSSIFY_BAD_ARGUMENT,
            "no vertex is free to follow a new bone there: their weights are held; let go of some");
    }
    for (int v = 0; v < edit->problem.vertices; v++) {
        if (model_follows(&edit->model, v, b)) {
            rig_write_vertex(&edit->problem, &edit->model, v, rig);
        }
    }
    rig_write_transforms(&edit->problem, &edit->placement, &edit->model, b, rig);
    rig->bones++;
    return OSSIFY_CONVERGED;
}

/* Where next to nothing is left to explain, a bone fitted to that costs more than it explains, and one that
 * doubles the strongest there costs nothing. */
static void insert_bone(Edit *edit, int seed) {
    Call *call = edit->call;
    Model *model = &edit->model, before;
    const double error = model_squared_error(&edit->problem, model);
    const PassPlan keep_all = {0};
    if (!model_make(call, &edit->problem, model->capacity, model->influences, &before)) {
        return;
    }
    model_copy(&edit->problem, model, &before);
    if (!reseed_at(call, &edit->problem, model, seed, 0) || must_end(call)) {
        return;
    }
    pass_run(call, &edit->problem, model, &edit->moments, &keep_all);
    if (!must_end(call) && model_squared_error(&edit->problem, model) > TOO_MUCH * error) {
        model_copy(&edit->problem, &before, model);
        reseed_at(call, &edit->problem, model, seed, 1);
    }
}

int edit_refuses_place(const ossify_request *request, ossify_info *info) {
    const ossify_place *place = request->options;
    const ossify_rig *rig = request->rig;
    if (sentence_bad_range(info, "vertex", place->vertex, -1, request->poses->vertex_count - 1) ||
        sentence_bad_range(info, "split", place->split, -1, rig->bones - 1)) {
        return 1;
    }
    if (rig->bones == rig->bone_capacity) {
        return BAD(info,
                   "rig.bones is %" PRId64 " and so is rig.bone_capacity: make the rig's arrays larger, or "
                   "remove a bone first",
                   rig->bones);
    }
    if (place->split >= 0 && rig->held_groups != NULL && rig->held_groups[place->split]) {
        return BAD(info,
                   "rig.held_groups[%" PRId64 "] is set: a bone that keeps its weights cannot be split; let "
                   "go of it first",
                   place->split);
    }
    return 0;
}

int64_t edit_add_bone(Call *call, const ossify_poses *poses, ossify_rig *rig, int vertex, int split) {
    Edit edit;
    ossify_rig loose =
        *rig; /* transforms are not touched anyway, and held ones have no place for the new bone */
    const PassPlan keep_all = {0};
    loose.held_transforms = NULL;
    if (!open_rig(call, poses, &loose, 2, &edit)) {
        return call_ended(call);
    }
    pass_run(call, &edit.problem, &edit.model, &edit.moments, &keep_all);
    if (must_end(call)) {
        return call_ended(call);
    }
    const int seed = seed_of(&edit, vertex, split);
    if (seed < 0) {
        return sentence_refuse(
            call->info, OSSIFY_BAD_ARGUMENT,
            "no vertex is free to follow a new bone: all weights are held, or the bone to split has "
            "no vertex of its own");
    }
    if (!(split >= 0 && split_bone(&edit, split, seed)) && !must_end(call)) {
        insert_bone(&edit, seed);
    }
    return must_end(call) ? call_ended(call) : write_bone(&edit, rig);
}

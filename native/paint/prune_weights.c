/* prune_weights.c - fewer influences: of each vertex that has too many, the bones whose loss costs least in the motion.
 *
 *     min e(w) = w'Qw (form.c),    w >= 0,  sum w = 1,  at most K of them not 0
 *
 * in the norm of missed.c, where neighbours shall miss in the same way: vertices go one after the other, each for its
 * neighbours as they are then, and in some rounds more each looks at its given bones again; none goes back to more of
 * the norm.
 *
 * One after the other goes whose loss costs least, what is left being solved again each time; then, where there are
 * few choices, all of them are tried, and else those that went in the place of those that stayed, as long as that
 * lowers the error. What the motion leaves open, two bones that move alike, stays where it was: a small
 * NEAR tr(Q)/n |w - given|^2 is in the form.
 *
 * Weights of held groups are not shares of anything: with h of them and s = 1 - sum h left, w = h + s u, and
 * sum u = 1 makes e a form of u alone: s^2 Q + s (Qh 1' + 1 h'Q) + h'Qh 11'. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/sentence.h"
#include "paint/form.h"
#include "paint/missed.h"
#include "paint/paint.h"

enum {
    PRUNE_CHUNK = 64,
    FEW_CHOICES = 70, /* eight bones, of which four stay */
    PRUNE_ROUNDS = 4  /* later ones gain next to nothing */
};

static const double NEAR = 1e-3;         /* of a form's mean: how strongly what is open stays */
static const double RIDGE = 1e-12;       /* likewise, for bones that move the same */
static const double WORTH = 1e-9;        /* of the error: smaller gains change nothing */
static const double NOTHING_LEFT = 1e-6; /* of a weight of 1 beside held groups */

/* A vertex's bones that may go, as shares of what held groups leave; sets of them are bits. */
typedef struct Choice {
    int n;
    int at[FORM_MOST]; /* in the vertex's form */
    double q[FORM_MOST * FORM_MOST], given[FORM_MOST], ridge;
} Choice;

typedef struct Chosen {
    unsigned set;
    double share[FORM_MOST]; /* [n], 0 outside the set */
    double error;
} Chosen;

static int is_held(const ossify_rig *rig, int bone) {
    return rig->held_groups != NULL && rig->held_groups[bone];
}

/* h, and what it leaves */
static double hold(const ossify_rig *rig, const Form *form, double *held) {
    double left = 1;
    for (int i = 0; i < form->n; i++) {
        held[i] = is_held(rig, form->bone[i]) ? form->weight[i] : 0;
        left -= held[i];
    }
    return left;
}

/* The form of the shares u; `held` [form->n] is h. */
static void make_choice(const ossify_rig *rig, const Form *form, const double *held, double left,
                        Choice *choice) {
    const double fixed = form_error(form, held);
    double pull[FORM_MOST], trace = 0;
    choice->n = 0;
    for (int i = 0; i < form->n; i++) {
        pull[i] = 0;
        for (int j = 0; j < form->n; j++) {
            pull[i] += form->q[i * FORM_MOST + j] * held[j]; /* Qh */
        }
        if (!is_held(rig, form->bone[i])) {
            choice->given[choice->n] = form->weight[i] / left;
            choice->at[choice->n++] = i;
        }
    }
    for (int i = 0; i < choice->n; i++) {
        const int a = choice->at[i];
        for (int j = 0; j < choice->n; j++) {
            const int b = choice->at[j];
            choice->q[i * FORM_MOST + j] =
                left * left * form->q[a * FORM_MOST + b] + left * (pull[a] + pull[b]) + fixed;
        }
        trace += choice->q[i * FORM_MOST + i];
    }
    choice->ridge = RIDGE * trace / choice->n + 1e-300;
}

/* Q + NEAR tr(Q)/n (I - t1' - 1t' + |t|^2 11') on the set: |u - t|^2 of shares of sum 1; t is what was given, as far
 * as it lies in the set. */
static int lean(const Choice *choice, unsigned set, int *member, double *q, double *u) {
    int n = 0;
    double sum = 0, square = 0, trace = 0;
    for (int i = 0; i < choice->n; i++) {
        if (set >> i & 1) {
            member[n] = i;
            u[n++] = choice->given[i];
            sum += choice->given[i];
        }
    }
    for (int i = 0; i < n; i++) {
        u[i] = sum > 0 ? u[i] / sum : 1.0 / n;
        square += u[i] * u[i];
        trace += choice->q[member[i] * FORM_MOST + member[i]];
    }
    const double near = NEAR * trace / n;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            q[i * FORM_MOST + j] =
                choice->q[member[i] * FORM_MOST + member[j]] + near * ((i == j) - u[i] - u[j] + square);
        }
    }
    return n;
}

static Chosen solve_set(const Choice *choice, unsigned set) {
    Chosen chosen = {.set = set};
    double q[FORM_MOST * FORM_MOST] = {0}, u[FORM_MOST] = {0};
    int member[FORM_MOST];
    const int n = lean(choice, set, member, q, u);
    simplex_ls(n, q, choice->ridge, u);
    for (int i = 0; i < n; i++) {
        chosen.share[member[i]] = u[i];
        for (int j = 0; j < n; j++) {
            chosen.error += u[i] * choice->q[member[i] * FORM_MOST + member[j]] * u[j]; /* u'Qu */
        }
    }
    return chosen;
}

static int size_of(unsigned set) {
    int size = 0;
    for (; set != 0; set &= set - 1) {
        size++;
    }
    return size;
}

static void take_better(const Choice *choice, unsigned set, Chosen *best) {
    const Chosen tried = solve_set(choice, set);
    if (tried.error < best->error * (1 - WORTH)) {
        *best = tried;
    }
}

static Chosen without_cheapest(const Choice *choice, unsigned set) {
    Chosen best = {.error = INFINITY};
    for (int i = 0; i < choice->n; i++) {
        if (set >> i & 1) {
            take_better(choice, set & ~(1u << i), &best);
        }
    }
    return best;
}

static double choices(int n, int most) {
    double count = 1;
    for (int i = 0; i < most; i++) {
        count = count * (n - i) / (i + 1);
    }
    return count;
}

static void try_all(const Choice *choice, int most, Chosen *best) {
    for (unsigned set = 1; set < 1u << choice->n; set++) {
        if (size_of(set) == most) {
            take_better(choice, set, best);
        }
    }
}

static void exchange(const Choice *choice, Chosen *best) {
    for (int out = 0; out < choice->n; out++) {
        for (int back = 0; back < choice->n; back++) {
            if (best->set >> out & 1 && !(best->set >> back & 1)) {
                take_better(choice, (best->set & ~(1u << out)) | 1u << back, best);
            }
        }
    }
}

/* The best shares on `most` bones. */
static Chosen choose(const Choice *choice, int most) {
    Chosen best = solve_set(choice, (1u << choice->n) - 1);
    while (size_of(best.set) > most) {
        best = without_cheapest(choice, best.set);
    }
    if (choices(choice->n, most) <= FEW_CHOICES) {
        try_all(choice, most, &best);
    } else {
        exchange(choice, &best);
    }
    return best;
}

typedef struct Pruning {
    Call *call;
    const ossify_poses *poses;
    ossify_rig *rig;
    ossify_rig given; /* with the weights that came */
    Missed missed;
    int most, round, rounds;
    int begin, end; /* of the colour at hand in missed.colours.order */
} Pruning;

/* [given->n] weights that a vertex has now */
static void read_now(const ossify_rig *rig, int64_t v, const Form *given, double *now) {
    Form form;
    form_follow(rig, v, &form);
    for (int i = 0; i < given->n; i++) {
        now[i] = 0;
        for (int k = 0; k < form.n; k++) {
            now[i] += form.bone[k] == given->bone[i] ? form.weight[k] : 0;
        }
    }
}

static void prune_vertex(const Pruning *pruning, int v, int worker) {
    const ossify_rig *rig = pruning->rig;
    double held[FORM_MOST], w[FORM_MOST], now[FORM_MOST];
    Choice choice;
    Form form;
    form_follow(&pruning->given, v, &form);
    if (form.n <= pruning->most || (rig->held_vertices != NULL && rig->held_vertices[v])) {
        return;
    }
    const double left = hold(rig, &form, held);
    if (left <= NOTHING_LEFT && pruning->round > 0) {
        return; /* there is no choice */
    }
    memcpy(w, held, sizeof w);
    if (left > NOTHING_LEFT) {
        form_make(pruning->poses, rig, v, missed_aside(&pruning->missed, v, worker), &form);
        make_choice(rig, &form, held, left, &choice);
        const Chosen best = choose(&choice, pruning->most - (form.n - choice.n));
        for (int i = 0; i < choice.n; i++) {
            w[choice.at[i]] = left * best.share[i];
        }
    }
    read_now(rig, v, &form, now);
    if (pruning->round == 0 || form_error(&form, w) < form_error(&form, now)) {
        form_write(&form, w, v, pruning->rig);
        missed_renew(&pruning->missed, v);
    }
}

static void prune_chunk(void *user, int task, int worker) {
    const Pruning *pruning = user;
    const int first = pruning->begin + task * PRUNE_CHUNK;
    const int end = first + PRUNE_CHUNK < pruning->end ? first + PRUNE_CHUNK : pruning->end;
    const double done = (double)first / (double)pruning->poses->vertex_count;
    if (worker == 0) {
        call_poll(pruning->call, (pruning->round + done) / pruning->rounds);
    }
    for (int i = first; i < end && !atomic_load(&pruning->call->cancelled); i++) {
        prune_vertex(pruning, pruning->missed.colours.order[i], worker);
    }
}

static void prune_round(Pruning *pruning) {
    const Colours *colours = &pruning->missed.colours;
    for (int c = 0; c < colours->count; c++) {
        pruning->begin = colours->first[c];
        pruning->end = colours->first[c + 1];
        parallel_run(pruning->call->pool, (pruning->end - pruning->begin + PRUNE_CHUNK - 1) / PRUNE_CHUNK,
                     prune_chunk, pruning);
    }
}

/* 0 when memory is out. */
static int keep_given(Pruning *pruning) {
    const ossify_rig *rig = pruning->rig;
    const size_t n = (size_t)pruning->poses->vertex_count * (size_t)rig->influences;
    int32_t *bones = arena_take(&pruning->call->arena, n, sizeof *bones);
    float *weights = arena_take(&pruning->call->arena, n, sizeof *weights);
    if (!bones || !weights) {
        return 0;
    }
    memcpy(bones, rig->influence_bones, n * sizeof *bones);
    memcpy(weights, rig->influence_weights, n * sizeof *weights);
    pruning->given = *rig;
    pruning->given.influence_bones = bones;
    pruning->given.influence_weights = weights;
    return 1;
}

/* Vertices that hold as many weights as they may have, and have others beside them. */
static int64_t count_overfull(const ossify_poses *poses, const ossify_rig *rig, int64_t most) {
    int64_t overfull = 0;
    for (int64_t v = 0; v < poses->vertex_count && rig->held_groups != NULL; v++) {
        double sum = 0;
        int64_t held = 0;
        for (int64_t i = v * rig->influences; i < (v + 1) * rig->influences; i++) {
            if (rig->influence_bones[i] >= 0 && is_held(rig, rig->influence_bones[i])) {
                sum += (double)rig->influence_weights[i];
                held++;
            }
        }
        const int free = rig->held_vertices == NULL || !rig->held_vertices[v];
        overfull += free && held >= most && sum < 1 - NOTHING_LEFT;
    }
    return overfull;
}

int paint_refuses_prune(const ossify_request *request, ossify_info *info) {
    const ossify_fewer *fewer = request->options;
    return sentence_bad_range(info, "fewer.influences", fewer->influences, 1, OSSIFY_MAX_INFLUENCES);
}

int64_t paint_prune(Call *call, const ossify_poses *poses, const ossify_fewer *fewer, ossify_rig *rig) {
    const int64_t overfull = count_overfull(poses, rig, fewer->influences);
    Pruning pruning = {.call = call, .poses = poses, .rig = rig, .most = (int)fewer->influences};
    if (overfull > 0) {
        return sentence_refuse(call->info, OSSIFY_BAD_ARGUMENT,
                               "%" PRId64 " vertices have %" PRId64
                               " or more weights in held groups, and no room beside them: let go of some "
                               "groups, or allow more influences",
                               overfull, fewer->influences);
    }
    call_stage(call, OSSIFY_STAGE_REFINE);
    if (!keep_given(&pruning) || !missed_make(call, poses, rig, &pruning.missed)) {
        return call_ended(call);
    }
    pruning.rounds = pruning.missed.tie > 0 ? PRUNE_ROUNDS : 1;
    for (; pruning.round < pruning.rounds && !atomic_load(&call->cancelled); pruning.round++) {
        prune_round(&pruning);
    }
    return atomic_load(&call->cancelled) ? OSSIFY_CANCELLED : OSSIFY_CONVERGED;
}

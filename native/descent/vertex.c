/* vertex.c - one vertex in a pass: its least squares set up from moments, solved, and handed on.
 *
 * From D[b] = sum_f M[b,f]' x and G[b,c] = sum_f M[b,f]' M[c,f] come the weights (weights.c), the
 * rest position (rest_pose.c), the squared error  p~' N p~ - 2 p~' d + |x|^2  with N = sum w_b w_c G[b,c]
 * and d = sum w_b D[b], and the vertex's part of the moments of the bones. */
#include "descent/vertex.h"

#include <math.h>
#include <string.h>

#include "descent/rest_pose.h"

static const double GRAM_RIDGE = 1e-14; /* of |x|^2: covers the rounding of the Gram matrix */
static const double LEAST_LEFT = 1e-6;  /* beside held groups: less is not worth a bone */

static void monomials_of(const double p[3], double monomial[MONOMIALS]) {
    const double x = p[0], y = p[1], z = p[2];
    const double all[MONOMIALS] = {x * x, y * y, z * z, x * y, x * z, y * z, x, y, z, 1};
    memcpy(monomial, all, sizeof all);
}

static int may_use(const PassPlan *plan, int v, int b) {
    return plan->candidates[(size_t)v * (size_t)plan->bytes + (size_t)(b >> 3)] >> (b & 7) & 1;
}

/* What groups that are held carry of a vertex. */
typedef struct Held {
    Support support;
    double left; /* 1 less its sum */
} Held;

static void load_held(const Pass *pass, const Scratch *s, int v, Held *held) {
    const Model *model = pass->model;
    const size_t at = (size_t)v * (size_t)model->influences;
    held->support.count = 0;
    held->left = 1;
    for (int k = 0; pass->holds_groups && k < model->influences && model->bone[at + (size_t)k] >= 0; k++) {
        const int b = model->bone[at + (size_t)k];
        if (model->held_group[b]) {
            held->support.bone[held->support.count] = s->local[b];
            held->support.weight[held->support.count++] = model->weight[at + (size_t)k];
            held->left -= model->weight[at + (size_t)k];
        }
    }
}

/* Bars held groups from the bones that may carry what is left; 0 when nothing is left to do so. */
static int bar_held(const Pass *pass, Scratch *s, int n, const Held *held) {
    int open = 0;
    for (int b = 0; b < n; b++) {
        s->allowed[b] = s->allowed[b] && !pass->model->held_group[s->at_hand[b]];
        open += s->allowed[b];
    }
    for (int b = 0; b < n && open == 0; b++) { /* better a bone from afar than a vertex that is not carried */
        s->allowed[b] = !pass->model->held_group[s->at_hand[b]];
    }
    return held->left > LEAST_LEFT && held->support.count < pass->model->influences &&
           memchr(s->allowed, 1, (size_t)n) != NULL;
}

/* What was solved are shares of what is left: together with what is held they sum to one. */
static void join_held(const Held *held, Support *support) {
    for (int i = 0; i < support->count; i++) {
        support->weight[i] *= held->left;
    }
    for (int i = 0; i < held->support.count; i++) {
        support->bone[support->count] = held->support.bone[i];
        support->weight[support->count++] = held->support.weight[i];
    }
}

/* Neighbours' mean weights, by the weights before this pass, over the bones that may be used. */
static void neighbours_mean(const Pass *pass, Scratch *s, int n, int v) {
    const Graph *graph = &pass->problem->graph;
    const size_t k = (size_t)pass->model->influences;
    memset(s->mean, 0, (size_t)n * sizeof *s->mean);
    const int64_t first = graph->first[v], last = graph->first[v + 1];
    double sum = 0;
    for (int64_t e = first; e < last; e++) {
        const size_t u = (size_t)graph->neighbour[e] * k;
        for (size_t i = 0; i < k && pass->old_bone[u + i] >= 0; i++) {
            const int b = s->local[pass->old_bone[u + i]];
            if (b >= 0 && !pass->model->held_group[pass->old_bone[u + i]]) {
                s->mean[b] += pass->old_weight[u + i];
                sum += pass->old_weight[u + i];
            }
        }
    }
    for (int b = 0; b < n && sum > 0; b++) {
        s->mean[b] /= sum;
    }
}

/* The vertex's least squares at rest position p, for what held groups leave of it. */
static void view_at(const Pass *pass, Scratch *s, int n, const double *d, const double p[3], const Held *held,
                    int smooth) {
    VertexView *view = &s->view;
    monomials_of(p, view->monomial);
    view->smoothing = smooth ? pass->plan->smoothing : 0;
    view->square = s->square;
    for (int i = 0; i < n; i++) {
        const double *di = d + 4 * i;
        view->linear[i] = di[0] * p[0] + di[1] * p[1] + di[2] * p[2] + di[3]; /* p~' D[b] */
    }
    if (held->support.count > 0) {
        weights_hold(view, &held->support, held->left);
    }
    view->ridge = GRAM_RIDGE * (view->square + pass->problem->frames);
    for (int i = 0; i < n && view->smoothing > 0; i++) {
        view->linear[i] += view->smoothing * s->mean[i];           /* + lambda mean_b */
        view->square += view->smoothing * s->mean[i] * s->mean[i]; /* + lambda |mean|^2 */
    }
    weights_begin(view);
}

void vertex_load(const Pass *pass, const Scratch *s, int v, int keep, Support *support) {
    const size_t k = (size_t)pass->model->influences, at = (size_t)v * k;
    support->count = 0;
    double sum = 0;
    for (size_t i = 0; i < k && pass->model->bone[at + i] >= 0; i++) {
        const int b = s->local[pass->model->bone[at + i]];
        if (b >= 0 && (keep || s->allowed[b])) {
            support->bone[support->count] = b;
            support->weight[support->count++] = pass->model->weight[at + i];
            sum += pass->model->weight[at + i];
        }
    }
    if (!keep && sum > 0) {
        for (int i = 0; i < support->count; i++) {
            support->weight[i] /= sum;
        }
    }
}

static void store_support(const Pass *pass, const Scratch *s, int v, const Support *support) {
    const size_t k = (size_t)pass->model->influences, at = (size_t)v * k;
    for (size_t i = 0; i < k; i++) {
        const int used = (int)i < support->count;
        pass->model->bone[at + i] = used ? s->at_hand[support->bone[i]] : -1;
        pass->model->weight[at + i] = used ? support->weight[i] : 0;
    }
}

/* Sum over the support of w_b w_c G[b,c] as a form, and of w_b D[b]. */
static void blend_form(const VertexView *view, const Support *support, const double *d,
                       double form[MONOMIALS], double blend[4]) {
    memset(form, 0, MONOMIALS * sizeof *form);
    memset(blend, 0, 4 * sizeof *blend);
    for (int i = 0; i < support->count; i++) {
        const int b = support->bone[i];
        const double *g = view->gram + (size_t)b * MONOMIALS * (size_t)view->stride;
        for (int j = 0; j <= i; j++) {
            const double ww = (i == j ? 1 : 2) * support->weight[i] * support->weight[j];
            for (int m = 0; m < MONOMIALS; m++) {
                form[m] += ww * g[(size_t)m * (size_t)view->stride + (size_t)support->bone[j]]; /* N */
            }
        }
        for (int m = 0; m < 4; m++) {
            blend[m] += support->weight[i] * d[4 * b + m]; /* d */
        }
    }
}

static double squared_error(const double form[MONOMIALS], const double blend[4], const double p[3],
                            double square) {
    double monomial[MONOMIALS],
        value = square - 2 * (blend[0] * p[0] + blend[1] * p[1] + blend[2] * p[2] + blend[3]);
    monomials_of(p, monomial);
    for (int m = 0; m < MONOMIALS; m++) {
        value += form[m] * monomial[m]; /* p~' N p~ */
    }
    return value > 0 ? value : 0;
}

double vertex_objective(const Pass *pass, int v) {
    const double *p = pass->model->rest + 3 * (size_t)v, *given = pass->problem->rest + 3 * (size_t)v;
    double moved = 0;
    for (int i = 0; i < 3; i++) {
        moved += (p[i] - given[i]) * (p[i] - given[i]);
    }
    return pass->problem->mass[v] * (pass->model->error[v] + pass->plan->rest_pull * moved);
}

/* The squared error of the weights and the rest position as they are. */
static double error_now(const Pass *pass, const Scratch *s, int v, const double *d) {
    double form[MONOMIALS], blend[4];
    Support support;
    vertex_load(pass, s, v, 1, &support);
    blend_form(&s->view, &support, d, form, blend);
    return squared_error(form, blend, pass->model->rest + 3 * (size_t)v, s->square);
}

void vertex_expect(const Pass *pass, int v, Scratch *s) {
    s->square = pass->problem->square[v];
    s->pull = pass->plan->rest_pull;
    memcpy(s->given, pass->problem->rest + 3 * (size_t)v, sizeof s->given);
}

void vertex_solve(const Pass *pass, Scratch *s, int n, int v, const double *d, Support *support) {
    const Problem *problem = pass->problem;
    const PassPlan *plan = pass->plan;
    double *p = pass->model->rest + 3 * (size_t)v;
    if (plan->given_error) {
        plan->given_error[v] = error_now(pass, s, v, d);
    }
    for (int b = 0; b < n; b++) {
        s->allowed[b] = (uint8_t)(plan->bytes == 0 || may_use(plan, v, s->at_hand[b]));
    }
    Held held;
    load_held(pass, s, v, &held);
    const int keep = vertex_keeps_weights(pass, v) || (pass->holds_groups && !bar_held(pass, s, n, &held));
    vertex_load(pass, s, v, keep, support);
    if (!keep) {
        const int smooth = plan->smoothing > 0;
        if (smooth) {
            neighbours_mean(pass, s, n, v);
        }
        view_at(pass, s, n, d, p, &held, smooth);
        weights_solve(&s->view, pass->model->influences - held.support.count, plan->search, support);
        join_held(&held, support);
        store_support(pass, s, v, support);
    }
    double form[MONOMIALS], blend[4];
    blend_form(&s->view, support, d, form, blend);
    if (plan->solve_rest && !(problem->held_rest && problem->held_rest[v])) {
        rest_pose_solve(form, blend, s->pull, s->given, p);
    }
    pass->model->error[v] = squared_error(form, blend, p, s->square);
}

void vertex_removal_costs(const Pass *pass, Scratch *s, int n, int v, const double *d, const Support *support,
                          double *cost) {
    const Held nothing = {.left = 1};
    view_at(pass, s, n, d, pass->model->rest + 3 * (size_t)v, &nothing, 0);
    Support now = *support;
    now.value = pass->model->error[v];
    for (int i = 0; i < support->count; i++) {
        const double loss = weights_loss(&s->view, pass->model->influences, &now, i);
        cost[s->at_hand[support->bone[i]]] += pass->problem->mass[v] * fmax(loss, 0);
    }
}

void vertex_moments(const Pass *pass, const Scratch *s, int v, const Support *support, double *wp,
                    double *u) {
    const double *p = pass->model->rest + 3 * (size_t)v;
    const double mass = pass->problem->mass[v];
    const size_t bones = (size_t)pass->model->capacity;
    double monomial[MONOMIALS];
    monomials_of(p, monomial);
    for (int i = 0; i < support->count; i++) {
        const double w = mass * support->weight[i];
        double *row = wp + 4 * support->bone[i];
        row[0] = w * p[0], row[1] = w * p[1], row[2] = w * p[2], row[3] = w; /* w_b p~ */
        const size_t b = (size_t)s->at_hand[support->bone[i]];
        for (int j = 0; j < support->count; j++) {
            const size_t c = (size_t)s->at_hand[support->bone[j]];
            double *ubc = u + (b * bones + c) * MONOMIALS;
            const double ww = w * support->weight[j];
            for (int m = 0; m < MONOMIALS && c <= b; m++) {
                ubc[m] += ww * monomial[m]; /* w_b w_c p~ p~' */
            }
        }
    }
}

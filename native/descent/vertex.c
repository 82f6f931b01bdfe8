/* vertex.c - one vertex in a pass: its least squares set up from moments, solved, and handed on.
 *
 * From D[b] = sum_f M[b,f]' x and G[b,c] = sum_f M[b,f]' M[c,f] come the weights (weights.c), the
 * rest position (rest_pose.c), the squared error  p~' N p~ - 2 p~' d + |x|^2  with N = sum w_b w_c G[b,c]
 * and d = sum w_b D[b], and the vertex's part of the moments of the bones. */
#include "descent/vertex.h"

#include <math.h>
#include <string.h>

#include "descent/rest_pose.h"

static const double RIDGE = 1e-14;     /* of |x|^2: covers the rounding of the Gram matrix */
static const double LEAST_LEFT = 1e-6; /* beside held groups: less is not worth a bone */

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
static void view_at(const Pass *pass, Scratch *s, int n, const Goal *goal, const double p[3],
                    const Held *held, int smooth) {
    VertexView *view = &s->view;
    monomials_of(p, view->monomial);
    view->smoothing = smooth ? pass->plan->smoothing : 0;
    view->square = goal->square;
    for (int i = 0; i < n; i++) {
        const double *di = goal->d + 4 * i;
        view->linear[i] = di[0] * p[0] + di[1] * p[1] + di[2] * p[2] + di[3];
    }
    if (held->support.count > 0) {
        weights_hold(view, &held->support, held->left);
    }
    view->ridge = RIDGE * (view->square + pass->problem->frames);
    for (int i = 0; i < n && view->smoothing > 0; i++) {
        view->linear[i] += view->smoothing * s->mean[i];
        view->square += view->smoothing * s->mean[i] * s->mean[i];
    }
    weights_begin(view);
}

static void load_support(const Pass *pass, const Scratch *s, int v, int keep, Support *support) {
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
                form[m] += ww * g[(size_t)m * (size_t)view->stride + (size_t)support->bone[j]];
            }
        }
        for (int m = 0; m < 4; m++) {
            blend[m] += support->weight[i] * d[4 * b + m];
        }
    }
}

static double squared_error(const double form[MONOMIALS], const double blend[4], const double p[3],
                            double square) {
    double monomial[MONOMIALS],
        value = square - 2 * (blend[0] * p[0] + blend[1] * p[1] + blend[2] * p[2] + blend[3]);
    monomials_of(p, monomial);
    for (int m = 0; m < MONOMIALS; m++) {
        value += form[m] * monomial[m];
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

/* sum of the neighbours' w p~, bone by bone, to s->near; returns how many bones there are */
static int gather_near(const Pass *pass, Scratch *s, int v) {
    const Graph *graph = &pass->problem->graph;
    const Model *model = pass->model;
    const size_t k = (size_t)model->influences;
    int count = 0;
    for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
        const size_t u = (size_t)graph->neighbour[e];
        const double *p = model->rest + 3 * u;
        for (size_t i = u * k; i < (u + 1) * k && model->bone[i] >= 0; i++) {
            const int b = s->local[model->bone[i]];
            double *near = s->near + 4 * b;
            const double w = model->weight[i];
            if (near[3] == 0) { /* weights of 0 bring nothing, whether they are noted or not */
                s->touched[count] = b;
                count += w > 0;
            }
            near[0] += w * p[0], near[1] += w * p[1], near[2] += w * p[2], near[3] += w;
        }
    }
    return count;
}

/* D of t = z + share sum of the neighbours' y, M_c' y_j = sum_b G[c,b] w_jb p~_j; and |t|^2 */
static void share_near(Scratch *s, int n, int v, int count, double share, const Problem *problem,
                       const double *d, Goal *goal) {
    double *restrict to = s->goal;
    const size_t wide = 4 * (size_t)n;
    memcpy(to, d, wide * sizeof *to);
    for (int i = 0; i < count; i++) {
        const double *h = s->near + 4 * s->touched[i];
        const double h0 = share * h[0], h1 = share * h[1], h2 = share * h[2], h3 = share * h[3];
        const double *restrict g0 = s->full + 4 * (size_t)s->touched[i] * wide, *restrict g1 = g0 + wide;
        const double *restrict g2 = g1 + wide, *restrict g3 = g2 + wide;
        for (size_t c = 0; c < wide; c++) {
            to[c] += h0 * g0[c] + h1 * g1[c] + h2 * g2[c] + h3 * g3[c];
        }
    }
    double square = problem->sharp_square[v];
    for (int i = 0; i < count; i++) {
        const int b = 4 * s->touched[i];
        for (int a = b; a < b + 4; a++) {
            square += share * s->near[a] * (d[a] + to[a]);
            s->near[a] = 0;
        }
    }
    goal->d = to;
    goal->square = square > 0 ? square : 0;
}

/* Where the vertex would rest if it moved with its neighbours. */
static void rest_goal(const Pass *pass, int v, Goal *goal) {
    const Problem *problem = pass->problem;
    const Graph *graph = &problem->graph;
    const double tie = pass->plan->rest_tie, pull = pass->plan->rest_pull;
    const int64_t first = graph->first[v], last = graph->first[v + 1];
    const double stiffness = pull * problem->mass[v] + tie * (double)(last - first);
    double moved[3] = {0};
    for (int64_t e = first; e < last && tie > 0; e++) {
        const size_t u = 3 * (size_t)graph->neighbour[e];
        for (size_t i = 0; i < 3; i++) {
            moved[i] += pass->model->rest[u + i] - problem->rest[u + i];
        }
    }
    goal->pull = stiffness / goal->stiffness;
    for (size_t i = 0; i < 3; i++) {
        goal->rest[i] =
            problem->rest[3 * (size_t)v + i] + (stiffness > 0 ? tie / stiffness * moved[i] : 0);
    }
}

void vertex_goal(const Pass *pass, Scratch *s, int n, int v, const double *d, Goal *goal) {
    const Problem *problem = pass->problem;
    goal->d = d;
    goal->square = problem->square[v];
    goal->stiffness = problem->mass[v];
    goal->pull = pass->plan->rest_pull;
    memcpy(goal->rest, problem->rest + 3 * (size_t)v, sizeof goal->rest);
    if (!pass->fair) {
        return;
    }
    goal->stiffness = problem->stiffness[v];
    if (problem->tie > 0) {
        share_near(s, n, v, gather_near(pass, s, v), problem->tie / goal->stiffness, problem, d, goal);
    }
    if (pass->plan->solve_rest) {
        rest_goal(pass, v, goal);
    }
}

double vertex_distance(const Pass *pass, const Scratch *s, int v, const Goal *goal) {
    double form[MONOMIALS], blend[4];
    Support support;
    load_support(pass, s, v, 1, &support);
    blend_form(&s->view, &support, goal->d, form, blend);
    return squared_error(form, blend, pass->model->rest + 3 * (size_t)v, goal->square);
}

double vertex_solve(const Pass *pass, Scratch *s, int n, int v, const Goal *goal, Support *support) {
    const Problem *problem = pass->problem;
    const PassPlan *plan = pass->plan;
    double *p = pass->model->rest + 3 * (size_t)v;
    for (int b = 0; b < n; b++) {
        s->allowed[b] = (uint8_t)(plan->bytes == 0 || may_use(plan, v, s->at_hand[b]));
    }
    Held held;
    load_held(pass, s, v, &held);
    const int keep = keeps_weights(pass, v) || (pass->holds_groups && !bar_held(pass, s, n, &held));
    load_support(pass, s, v, keep, support);
    if (!keep) {
        const int smooth = plan->smoothing > 0;
        if (smooth) {
            neighbours_mean(pass, s, n, v);
        }
        view_at(pass, s, n, goal, p, &held, smooth);
        weights_solve(&s->view, pass->model->influences - held.support.count, plan->search, support);
        join_held(&held, support);
        store_support(pass, s, v, support);
    }
    double form[MONOMIALS], blend[4];
    blend_form(&s->view, support, goal->d, form, blend);
    if (plan->solve_rest && !(problem->held_rest && problem->held_rest[v])) {
        rest_pose_solve(form, blend, goal->pull, goal->rest, p);
    }
    return squared_error(form, blend, p, goal->square);
}

void vertex_removal_costs(const Pass *pass, Scratch *s, int n, int v, const Goal *goal,
                          const Support *support, double *cost) {
    const Held nothing = {.left = 1};
    view_at(pass, s, n, goal, pass->model->rest + 3 * (size_t)v, &nothing, 0);
    Support now = *support;
    now.value = pass->model->error[v];
    if (pass->problem->tie > 0) { /* weights were not solved for this: what a bone is worth must not be mixed with that */
        weights_settle(&s->view, pass->model->influences, &now);
    }
    for (int i = 0; i < support->count; i++) {
        for (int j = 0; j < now.count; j++) {
            if (now.bone[j] == support->bone[i]) {
                const double loss = weights_loss(&s->view, pass->model->influences, &now, j);
                cost[s->at_hand[support->bone[i]]] += pass->problem->mass[v] * fmax(loss, 0);
            }
        }
    }
}

void vertex_moments(const Pass *pass, const Scratch *s, int v, const Support *support, double *wp,
                    double *u) {
    const double *p = pass->model->rest + 3 * (size_t)v;
    const double mass = pass->fair ? pass->problem->stiffness[v] : pass->problem->mass[v];
    const size_t bones = (size_t)pass->model->capacity;
    double monomial[MONOMIALS];
    monomials_of(p, monomial);
    for (int i = 0; i < support->count; i++) {
        const double w = mass * support->weight[i];
        double *row = wp + 4 * support->bone[i];
        row[0] = w * p[0], row[1] = w * p[1], row[2] = w * p[2], row[3] = w;
        const size_t b = (size_t)s->at_hand[support->bone[i]];
        for (int j = 0; j < support->count && !pass->fair; j++) {
            const size_t c = (size_t)s->at_hand[support->bone[j]];
            double *ubc = u + (b * bones + c) * MONOMIALS;
            const double ww = w * support->weight[j];
            for (int m = 0; m < MONOMIALS && c <= b; m++) {
                ubc[m] += ww * monomial[m];
            }
        }
    }
}

/* w_b p~ (m_c)' for the vertex's own bones b >= c */
static void add_pairs(const Model *model, int v, const double *p, int c, const double *m, double *u) {
    const size_t k = (size_t)model->influences, bones = (size_t)model->capacity;
    for (size_t i = (size_t)v * k; i < (size_t)(v + 1) * k && model->bone[i] >= 0; i++) {
        const double w = model->weight[i];
        double *pair = u + ((size_t)model->bone[i] * bones + (size_t)c) * PAIR;
        for (int a = 0; a < 4 && model->bone[i] >= c; a++) {
            const double q = w * p[a];
            pair[4 * a] += q * m[0], pair[4 * a + 1] += q * m[1];
            pair[4 * a + 2] += q * m[2], pair[4 * a + 3] += q * m[3];
        }
    }
}

/* pull mass |d|^2 + tie sum_edges |d_i - d_j|^2, half of each edge, d how far rest positions have moved */
static double rest_counts(const Pass *pass, int v) {
    const Problem *problem = pass->problem;
    const Graph *graph = &problem->graph;
    const double *rest = pass->model->rest, *given = problem->rest;
    double d[3], own = 0, apart = 0;
    for (size_t i = 0; i < 3; i++) {
        d[i] = rest[3 * (size_t)v + i] - given[3 * (size_t)v + i];
        own += d[i] * d[i];
    }
    for (int64_t e = graph->first[v]; e < graph->first[v + 1] && pass->plan->rest_tie > 0; e++) {
        const size_t u = 3 * (size_t)graph->neighbour[e];
        for (size_t i = 0; i < 3; i++) {
            const double off = rest[u + i] - given[u + i] - d[i];
            apart += off * off;
        }
    }
    return pass->plan->rest_pull * problem->mass[v] * own + 0.5 * pass->plan->rest_tie * apart;
}

double vertex_pairs(const Pass *pass, int v, double *near, int *touched, double *u) {
    const Model *model = pass->model;
    const Graph *graph = &pass->problem->graph;
    const size_t k = (size_t)model->influences;
    const double tie = pass->problem->tie, stiffness = pass->problem->stiffness[v];
    int count = 0;
    for (int64_t e = tie > 0 ? graph->first[v] : graph->first[v + 1]; e <= graph->first[v + 1]; e++) {
        const int own = e == graph->first[v + 1]; /* last */
        const size_t o = own ? (size_t)v : (size_t)graph->neighbour[e];
        const double *p = model->rest + 3 * o, by = own ? stiffness : -tie;
        for (size_t i = o * k; i < (o + 1) * k && model->bone[i] >= 0; i++) {
            double *m = near + 4 * model->bone[i];
            const double w = by * model->weight[i];
            if (m[3] == 0) {
                touched[count] = model->bone[i];
                count += w != 0;
            }
            m[0] += w * p[0], m[1] += w * p[1], m[2] += w * p[2], m[3] += w;
        }
    }
    const double *at = model->rest + 3 * (size_t)v, p[4] = {at[0], at[1], at[2], 1};
    for (int i = 0; i < count; i++) {
        double *m = near + 4 * touched[i];
        add_pairs(model, v, p, touched[i], m, u);
        memset(m, 0, 4 * sizeof *m);
    }
    return rest_counts(pass, v);
}

/* dictionary.c - the virtual bones' step: with A as it is, each blends its masters anew.
 *
 *     min over d of sum_v E_v(alpha_v d + r_v) = d'A d - 2 b'd + ...,   sum d = 1, d >= 0 unless affine, at most c
 *     A = sum_v alpha^2 H_v = sum_q Phi_q gram_q,                 Phi_q = sum_v alpha^2 phi_q(v)
 *     b = sum_v alpha (g_v - H_v r_v) = sum_v alpha g_v - sum_l (sum_q Phi^l_q gram_q) d_l
 *
 * with r_v what the vertex's other virtual bones l give it, and Phi^l_q = sum_v alpha alpha_l phi_q(v).
 * Le & Deng 2013, Eq. 4: for weights Phi is theirs, and sum alpha g their Gamma. Deviations from Eq. 5: there d is the
 * optimum without constraints, cut to the c largest and scaled to sum 1, which may raise the error, and from poses it is
 * the same step on W*, which is no step on E at all. Here it is the optimum under the constraints, of the error at hand;
 * the cheapest master leaves and the others are solved again until c are left, and what is not lower is not taken: the
 * error never rises. From weights A = Phi I, and the optimum has a closed form: the c largest of b / Phi, projected onto
 * the simplex (Kyrillidis, Becker, Cevher & Koch 2013, Sparse projections onto the simplex).
 *
 * Virtual bones that share no vertex do not see each other: they are coloured, and those of a colour are solved side by
 * side, colour after colour, the same on any number of threads. */
#include "compress/dictionary.h"

#include <math.h>
#include <string.h>

#include "compress/near.h"
#include "math/convex_ls.h"

static const double WORTH_BLEND = 1e-12; /* of the form's size: a smaller fall is rounding */
static const double LARGEST_SHARE = 4;   /* of a master, affine: larger ones cancel each other */

/* Vertices of each virtual bone. */
typedef struct Followers {
    int *first;  /* [count + 1] */
    int *vertex; /* [first[count]] */
    double *alpha;
} Followers;

typedef struct Room {
    double *h, *linear, *d, *best, *w, *kept; /* [bones][bones], then [bones] each */
    double *beside;                           /* [bones][terms] sum_l Phi^l d_l */
    uint8_t *barred;                          /* [bones] */
    ConvexRoom convex;
} Room;

typedef struct Update {
    Call *call;
    const Target *target;
    Layers *layers;
    Followers followers;
    int *order;   /* [count] virtual bones, colour by colour */
    int begin;    /* of the colour at hand */
    double spare; /* of E that each gives for fewer masters; 0: none gives any, and all are looked for anew */
    Room *room;
} Update;

static int list_followers(Arena *arena, const Layers *layers, Followers *followers) {
    const size_t n = (size_t)layers->vertices, k = (size_t)layers->influences;
    followers->first = arena_take(arena, (size_t)layers->count + 2, sizeof(int));
    followers->vertex = arena_take(arena, n * k, sizeof(int));
    followers->alpha = arena_take(arena, n * k, sizeof(double));
    if (arena->failed) {
        return 0;
    }
    int *first = followers->first;
    for (size_t i = 0; i < n * k; i++) {
        if (layers->atom[i] >= 0) {
            first[layers->atom[i] + 2]++;
        }
    }
    for (int a = 0; a < layers->count; a++) {
        first[a + 2] += first[a + 1];
    }
    for (size_t i = 0; i < n * k; i++) {
        if (layers->atom[i] >= 0) {
            const int to = first[layers->atom[i] + 1]++;
            followers->vertex[to] = (int)(i / k);
            followers->alpha[to] = layers->alpha[i];
        }
    }
    return 1;
}

/* The smallest colour that none of those beside it has. */
static int colour_of(const Update *update, int a, const int *colour, int *seen) {
    const Layers *layers = update->layers;
    const size_t k = (size_t)layers->influences;
    int free_colour = 0;
    for (int i = update->followers.first[a]; i < update->followers.first[a + 1]; i++) {
        const size_t v = (size_t)update->followers.vertex[i];
        for (size_t j = v * k; j < (v + 1) * k && layers->atom[j] >= 0; j++) {
            if (layers->atom[j] < a) {
                seen[colour[layers->atom[j]]] = a + 1;
            }
        }
    }
    while (seen[free_colour] == a + 1) {
        free_colour++;
    }
    return free_colour;
}

/* Orders them by colour; end [colours] tells where each ends. Returns how many colours there are. */
static int order_colours(const Update *update, int *colour, int *seen, int *end) {
    const int count = update->layers->count;
    int colours = 0, placed = 0;
    for (int a = 0; a < count; a++) {
        colour[a] = colour_of(update, a, colour, seen);
        colours = colour[a] + 1 > colours ? colour[a] + 1 : colours;
    }
    for (int a = 0; a < count; a++) {
        end[colour[a]]++;
    }
    for (int c = 0; c < colours; c++) {
        const int here = end[c];
        end[c] = placed;
        placed += here;
    }
    for (int a = 0; a < count; a++) {
        update->order[end[colour[a]]++] = a;
    }
    return colours;
}

/* Phi, sum alpha g, and sum_l Phi^l d_l as [master][terms] */
static void sum_up(const Update *update, int a, const Room *room, double *phi) {
    const Target *target = update->target;
    const Layers *layers = update->layers;
    const size_t bones = (size_t)target->bones, k = (size_t)layers->influences, c = (size_t)layers->masters,
                 terms = (size_t)target->terms;
    double term[POSE_TERMS];
    memset(phi, 0, terms * sizeof *phi);
    memset(room->linear, 0, bones * sizeof *room->linear);
    memset(room->beside, 0, bones * terms * sizeof *room->beside);
    for (int i = update->followers.first[a]; i < update->followers.first[a + 1]; i++) {
        const size_t v = (size_t)update->followers.vertex[i];
        const double alpha = update->followers.alpha[i], *g = target->linear + v * bones;
        target_terms(target, (int)v, term);
        for (size_t q = 0; q < terms; q++) {
            phi[q] += alpha * alpha * term[q];
        }
        for (size_t b = 0; b < bones; b++) {
            room->linear[b] += alpha * g[b];
        }
        for (size_t j = v * k; j < (v + 1) * k && layers->atom[j] >= 0; j++) {
            const size_t l = (size_t)layers->atom[j];
            for (size_t s = 0; s < (size_t)layers->used[l] && l != (size_t)a; s++) {
                const double share = alpha * layers->alpha[j] * layers->share[l * c + s];
                double *to = room->beside + (size_t)layers->master[l * c + s] * terms;
                for (size_t q = 0; q < terms; q++) {
                    to[q] += share * term[q];
                }
            }
        }
    }
}

/* b = sum alpha g - sum_master beside[master] . gram */
static void take_others(const Target *target, const Room *room) {
    const size_t bones = (size_t)target->bones, terms = (size_t)target->terms, size = bones * bones;
    for (size_t s = 0; s < bones; s++) {
        const double *beside = room->beside + s * terms;
        if (target->terms == 1) {
            room->linear[s] -= beside[0];
            continue;
        }
        int any = 0;
        for (size_t q = 0; q < terms; q++) {
            any |= beside[q] != 0;
        }
        if (!any) {
            continue;
        }
        for (size_t b = 0; b < bones; b++) {
            double sum = 0;
            for (size_t q = 0; q < terms; q++) {
                sum += beside[q] * target->gram[q * size + s * bones + b];
            }
            room->linear[b] -= sum;
        }
    }
}

static int count_used(int n, const double *d) {
    int used = 0;
    for (int b = 0; b < n; b++) {
        used += d[b] != 0;
    }
    return used;
}

/* The master whose loss costs least, as far as its own share tells: d_b^2 A_bb. */
static int cheapest(int n, const double *h, const double *d) {
    int least = -1;
    double cost = INFINITY;
    for (int b = 0; b < n; b++) {
        const double here = d[b] * d[b] * h[(size_t)b * (size_t)n + (size_t)b];
        if (d[b] != 0 && here < cost) {
            cost = here;
            least = b;
        }
    }
    return least;
}

/* Others take over what a master leaves. */
static void remove_master(int n, int gone, double *d, uint8_t *barred) {
    const double left = 1 - d[gone];
    barred[gone] = 1;
    d[gone] = 0;
    for (int b = 0; b < n; b++) {
        d[b] = left > 0 ? d[b] / left : d[b];
    }
}

/* Signs let go, if shares stay within bounds. */
static double let_signs_go(const Target *target, double near, const Room *room, double value, double *d) {
    const int n = target->bones;
    for (int b = 0; b < n; b++) {
        room->barred[b] = d[b] == 0;
    }
    memcpy(room->w, d, (size_t)n * sizeof *d);
    const double other =
        convex_ls_signed(n, room->h, room->linear, near, room->barred, room->w, &room->convex);
    for (int b = 0; b < n; b++) {
        if (!(fabs(room->w[b]) <= LARGEST_SHARE)) {
            return value;
        }
    }
    if (other < value) {
        memcpy(d, room->w, (size_t)n * sizeof *d);
        return other;
    }
    return value;
}

/* From the start d on: the optimum of at most c masters, `open` to all or those that it has. Returns its value. */
static double blend_masters(const Update *update, double near, int open, const Room *room, double *d) {
    const int n = update->target->bones;
    for (int b = 0; b < n; b++) {
        room->barred[b] = !open && d[b] == 0;
    }
    double value = convex_ls(n, room->h, room->linear, near, room->barred, d, &room->convex);
    for (int over = count_used(n, d) - update->layers->masters; over > 0;
         over = count_used(n, d) - update->layers->masters) {
        for (int b = 0; b < n; b++) {
            room->barred[b] = d[b] == 0;
        }
        for (int i = 0; i < (over + 1) / 2; i++) {
            remove_master(n, cheapest(n, room->h, d), d, room->barred);
        }
        value = convex_ls(n, room->h, room->linear, near, room->barred, d, &room->convex);
    }
    return update->layers->affine ? let_signs_go(update->target, near, room, value, d) : value;
}

/* The largest of x that is not taken yet, of equals the first. */
static int largest_open(int n, const double *x, const uint8_t *taken) {
    int best = -1;
    for (int b = 0; b < n; b++) {
        if (!taken[b] && (best < 0 || x[b] > x[best])) {
            best = b;
        }
    }
    return best;
}

/* The point of the simplex nearest to x with at most c entries: the largest of x less t = (sum - 1) / count, for as many
 * as stay above 0. */
static void project(int n, int c, const double *x, uint8_t *taken, double *d) {
    double sum = 0, t = 0;
    for (int b = 0; b < n; b++) {
        taken[b] = 0;
    }
    for (int count = 1; count <= c && count <= n; count++) {
        const int next = largest_open(n, x, taken);
        const double with = (sum + x[next] - 1) / count;
        if (!(x[next] > with)) {
            break;
        }
        taken[next] = 1;
        sum += x[next];
        t = with;
    }
    for (int b = 0; b < n; b++) {
        d[b] = taken[b] ? x[b] - t : 0;
    }
}

static double project_masters(const Update *update, double phi, double near, const Room *room, double *d) {
    const int n = update->target->bones;
    for (int b = 0; b < n; b++) {
        room->w[b] = room->linear[b] / phi;
    }
    project(n, update->layers->masters, room->w, room->barred, d);
    const double value = convex_ls_value(n, room->h, room->linear, d);
    return update->layers->affine ? let_signs_go(update->target, near, room, value, d) : value;
}

/* d with signs has no place to start from on the simplex: its positive part has. */
static void start_from(const Layers *layers, int a, int bones, double *d) {
    const size_t c = (size_t)layers->masters;
    double sum = 0;
    memset(d, 0, (size_t)bones * sizeof *d);
    for (size_t j = (size_t)a * c; j < (size_t)a * c + (size_t)layers->used[a]; j++) {
        d[layers->master[j]] = layers->share[j] > 0 ? layers->share[j] : 0;
        sum += d[layers->master[j]];
    }
    for (int b = 0; b < bones; b++) {
        d[b] /= sum;
    }
}

/* From where it is, all masters open, or only those that it has if that is lower. */
static double search_masters(const Update *update, int a, double near, const Room *room, double *d) {
    const int n = update->target->bones;
    start_from(update->layers, a, n, d);
    memcpy(room->best, d, (size_t)n * sizeof *d);
    const double value = blend_masters(update, near, 1, room, d);
    if (n <= update->layers->masters) {
        return value;
    }
    const double kept = blend_masters(update, near, 0, room, room->best);
    if (kept < value) {
        memcpy(d, room->best, (size_t)n * sizeof *d);
    }
    return kept < value ? kept : value;
}

static double value_now(const Update *update, int a, const Room *room) {
    const Layers *layers = update->layers;
    const size_t c = (size_t)layers->masters;
    memset(room->w, 0, (size_t)update->target->bones * sizeof *room->w);
    for (size_t j = (size_t)a * c; j < (size_t)a * c + (size_t)layers->used[a]; j++) {
        room->w[layers->master[j]] = layers->share[j];
    }
    return convex_ls_value(update->target->bones, room->h, room->linear, room->w);
}

/* d without the master that it misses least, the others blended anew; its value */
static double without_one(const Update *update, double near, const Room *room, double *d) {
    const int n = update->target->bones;
    double least = INFINITY;
    memcpy(room->w, d, (size_t)n * sizeof *d);
    for (int gone = 0; gone < n; gone++) {
        if (room->w[gone] == 0) {
            continue;
        }
        memcpy(room->best, room->w, (size_t)n * sizeof *d);
        for (int b = 0; b < n; b++) {
            room->barred[b] = room->w[b] == 0;
        }
        remove_master(n, gone, room->best, room->barred);
        const double value =
            convex_ls(n, room->h, room->linear, near, room->barred, room->best, &room->convex);
        if (value < least) {
            least = value;
            memcpy(d, room->best, (size_t)n * sizeof *d);
        }
    }
    return least;
}

/* From what it has: fewer masters, as long as the value rises by `spare` in all at most. */
static double thin_masters(const Update *update, int a, double near, const Room *room, double *d) {
    const int n = update->target->bones;
    start_from(update->layers, a, n, d);
    double value = blend_masters(update, near, 0, room, d);
    const double most = value + update->spare;
    while (count_used(n, d) > 1) {
        memcpy(room->kept, d, (size_t)n * sizeof *d);
        const double fewer = without_one(update, near, room, d);
        if (!(fewer <= most)) {
            memcpy(d, room->kept, (size_t)n * sizeof *d);
            break;
        }
        value = fewer;
    }
    return value;
}

static void update_atom(void *user, int task, int worker) {
    const Update *update = user;
    const Target *target = update->target;
    const Room *room = &update->room[worker];
    const int a = update->order[update->begin + task], n = target->bones;
    double phi[POSE_TERMS], trace = 0;
    if (worker == 0) {
        call_poll(update->call, -1);
    }
    if (update->followers.first[a] == update->followers.first[a + 1] ||
        atomic_load(&update->call->cancelled)) {
        return;
    }
    sum_up(update, a, room, phi);
    take_others(target, room);
    target_form(target, phi, room->h);
    for (int b = 0; b < n; b++) {
        trace += room->h[(size_t)b * (size_t)n + (size_t)b];
    }
    const double near = NEAR_BLEND * trace / n + 1e-300, now = value_now(update, a, room);
    if (update->spare > 0) {
        if (thin_masters(update, a, near, room, room->d) <= now + update->spare) {
            layers_add(update->layers, a, room->d, n);
        }
        return;
    }
    const double value = target->terms == 1 ? project_masters(update, phi[0], near, room, room->d)
                                            : search_masters(update, a, near, room, room->d);
    if (value < now - WORTH_BLEND * (fabs(now) + trace / n)) {
        layers_add(update->layers, a, room->d, n);
    }
}

static int make_rooms(Update *update) {
    Arena *arena = &update->call->arena;
    const size_t workers = (size_t)parallel_workers(update->call->pool), k = (size_t)update->target->bones;
    update->room = arena_take(arena, workers, sizeof *update->room);
    for (size_t w = 0; w < workers && !arena->failed; w++) {
        Room *room = &update->room[w];
        room->h = arena_take(arena, k * k, sizeof(double));
        room->linear = arena_take(arena, 5 * k, sizeof(double));
        room->beside = arena_take(arena, k * (size_t)update->target->terms, sizeof(double));
        room->barred = arena_take(arena, k, 1);
        if (convex_ls_room(arena, (int)k, &room->convex)) {
            room->d = room->linear + k;
            room->best = room->d + k;
            room->w = room->best + k;
            room->kept = room->w + k;
        }
    }
    return !arena->failed;
}

static int update_all(Call *call, const Target *target, double spare, Layers *layers) {
    Arena *arena = &call->arena;
    ArenaPiece *mark = arena_mark(arena);
    const size_t count = (size_t)layers->count;
    Update update = {.call = call, .target = target, .layers = layers, .spare = spare};
    update.order = arena_take(arena, count, sizeof(int));
    int *colour = arena_take(arena, count, sizeof(int)), *seen = arena_take(arena, count + 1, sizeof(int)),
        *end = arena_take(arena, count + 1, sizeof(int));
    const int made =
        !arena->failed && list_followers(arena, layers, &update.followers) && make_rooms(&update);
    const int colours = made ? order_colours(&update, colour, seen, end) : 0;
    for (int c = 0; c < colours && !call_poll(call, -1); c++) {
        update.begin = c > 0 ? end[c - 1] : 0;
        parallel_run(call->pool, end[c] - update.begin, update_atom, &update);
    }
    arena_return(arena, mark);
    return made && !call_poll(call, -1);
}

int dictionary_update(Call *call, const Target *target, Layers *layers) {
    return update_all(call, target, 0, layers);
}

int dictionary_thin(Call *call, const Target *target, double spare, Layers *layers) {
    return spare > 0 && !layers->affine ? update_all(call, target, spare, layers) : 1;
}

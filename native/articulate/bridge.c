/* bridge.c - holds the thread by which a region hangs together.
 *
 * The surface of a part can fall in two: an octopus has its head above the arms and below them. A bone's region has
 * to be connected (locality.c), so free bones lead a faint band of weights along an arm and bend the arm's motion to
 * it. With joints that hold it cannot be bent, the band fades when weights are solved again, and one of the halves
 * is lost. All that the region needs is a way across: of the vertices between two pieces of what a bone owns, those
 * on a shortest way over weights that count as the region keep theirs, and the others are free. */
#include "articulate/bridge.h"

#include "descent/tolerances.h"

enum { NONE = 0, OWNED = -1, JOINED = -2 };

typedef struct Crossing {
    const Problem *problem;
    const Model *model;
    double *weight; /* [v] of the bone at hand */
    int *piece;     /* [v] of what the bone owns, from 1, or one of the above */
    int *from;      /* [v] where a way came from, v itself at its start; -1: no way came here */
    int *queue;
} Crossing;

/* Weights of bone b, and which vertices it owns. */
static void read_bone(Crossing *crossing, int b) {
    const Model *model = crossing->model;
    const size_t k = (size_t)model->influences;
    for (size_t v = 0; v < (size_t)crossing->problem->vertices; v++) {
        double own = 0, most = 0;
        for (size_t i = v * k; i < (v + 1) * k; i++) {
            own = model->bone[i] == b ? model->weight[i] : own;
            most = model->weight[i] > most ? model->weight[i] : most;
        }
        crossing->weight[v] = own;
        crossing->piece[v] = own > 0 && own >= most ? OWNED : NONE;
        crossing->from[v] = -1;
    }
}

/* The piece around v gets its number; returns its mass. */
static double number_piece(Crossing *crossing, int v, int number) {
    const Graph *graph = &crossing->problem->graph;
    double mass = 0;
    int tail = 0;
    crossing->piece[v] = number;
    crossing->queue[tail++] = v;
    for (int head = 0; head < tail; head++) {
        const int u = crossing->queue[head];
        mass += crossing->problem->mass[u] * crossing->weight[u];
        for (int64_t e = graph->first[u]; e < graph->first[u + 1]; e++) {
            const int w = graph->neighbour[e];
            if (crossing->piece[w] == OWNED) {
                crossing->piece[w] = number;
                crossing->queue[tail++] = w;
            }
        }
    }
    return mass;
}

/* Numbers all pieces; returns how many, and the heaviest. */
static int number_pieces(Crossing *crossing, int *heaviest) {
    int pieces = 0;
    double most = 0;
    for (int v = 0; v < crossing->problem->vertices; v++) {
        const double mass = crossing->piece[v] == OWNED ? number_piece(crossing, v, ++pieces) : 0;
        if (mass > most) {
            most = mass;
            *heaviest = pieces;
        }
    }
    return pieces;
}

/* Holds the way back from v to where it began; returns how many vertices were not held before. */
static int hold_way(const Crossing *crossing, int v, uint8_t *held) {
    int count = 0;
    for (; crossing->from[v] != v; v = crossing->from[v]) {
        count += !held[v];
        held[v] = 1;
    }
    return count;
}

/* Ways may begin anywhere in the piece; returns the queue's new tail. */
static int begin_at(Crossing *crossing, int piece, int tail) {
    for (int v = 0; v < crossing->problem->vertices; v++) {
        if (crossing->piece[v] == piece) {
            if (crossing->from[v] < 0) {
                crossing->queue[tail++] = v;
            }
            crossing->from[v] = v;
            crossing->piece[v] = JOINED;
        }
    }
    return tail;
}

/* Ways from the heaviest piece to all others, over the bone's region. */
static int cross_over(Crossing *crossing, int heaviest, uint8_t *held) {
    const Graph *graph = &crossing->problem->graph;
    int tail = begin_at(crossing, heaviest, 0), count = 0;
    for (int head = 0; head < tail; head++) {
        const int u = crossing->queue[head];
        for (int64_t e = graph->first[u]; e < graph->first[u + 1]; e++) {
            const int v = graph->neighbour[e];
            if (crossing->from[v] >= 0 || crossing->weight[v] <= REGION_WEIGHT) {
                continue;
            }
            crossing->from[v] = u;
            crossing->queue[tail++] = v;
            if (crossing->piece[v] > 0) {
                count += hold_way(crossing, u, held);
                tail = begin_at(crossing, crossing->piece[v], tail);
            }
        }
    }
    return count;
}

int bridge_hold(Call *call, const Problem *problem, const Model *model, uint8_t *held) {
    const size_t n = (size_t)problem->vertices;
    ArenaPiece *mark = arena_mark(&call->arena);
    Crossing crossing = {.problem = problem, .model = model};
    crossing.weight = arena_take(&call->arena, n, sizeof(double));
    crossing.piece = arena_take(&call->arena, n, sizeof(int));
    crossing.from = arena_take(&call->arena, n, sizeof(int));
    crossing.queue = arena_take(&call->arena, n, sizeof(int));
    int count = 0;
    for (int b = 0; b < model->bones && !call->arena.failed && !call_poll(call, -1); b++) {
        int heaviest = 0;
        read_bone(&crossing, b);
        const int pieces = number_pieces(&crossing, &heaviest);
        count += pieces > 1 ? cross_over(&crossing, heaviest, held) : 0;
    }
    arena_return(&call->arena, mark);
    return count;
}

/* tree.c - a k-d tree over points (Bentley 1975): node i has children 2i + 1 and 2i + 2, each
 * half of its points; leaves hold a few. Ties go to the lower number, so answers do not depend on
 * how the tree was built. */
#include "math/tree.h"

#include <math.h>

enum { LEAF = 8 };

typedef struct Range {
    int node, begin, end;
} Range;

static int is_leaf(int begin, int end) {
    return end - begin <= LEAF;
}

static void swap(int *a, int *b) {
    const int t = *a;
    *a = *b;
    *b = t;
}

static int before(const double *points, int axis, int a, int b) {
    const double x = points[3 * (size_t)a + (size_t)axis], y = points[3 * (size_t)b + (size_t)axis];
    return x < y || (x == y && a < b);
}

/* Quickselect (Hoare): order[middle] is where a sort would put it. */
static void select_middle(int *order, const double *points, int axis, int begin, int end, int middle) {
    int low = begin, high = end - 1;
    while (low < high) {
        const int pivot = order[low + (high - low) / 2];
        int i = low, j = high;
        while (i <= j) {
            while (before(points, axis, order[i], pivot)) {
                i++;
            }
            while (before(points, axis, pivot, order[j])) {
                j--;
            }
            if (i <= j) {
                swap(&order[i++], &order[j--]);
            }
        }
        if (middle <= j) {
            high = j;
        } else if (middle >= i) {
            low = i;
        } else {
            return;
        }
    }
}

static void bound(const Tree *tree, const Range *range) {
    double *box = tree->box + 6 * (size_t)range->node;
    int *lowest = tree->lowest + range->node;
    for (int a = 0; a < 3; a++) {
        box[a] = INFINITY;
        box[3 + a] = -INFINITY;
    }
    *lowest = tree->order[range->begin];
    for (int i = range->begin; i < range->end; i++) {
        const double *p = tree->points + 3 * (size_t)tree->order[i];
        *lowest = tree->order[i] < *lowest ? tree->order[i] : *lowest;
        for (int a = 0; a < 3; a++) {
            box[a] = fmin(box[a], p[a]);
            box[3 + a] = fmax(box[3 + a], p[a]);
        }
    }
}

static void build(Tree *tree, Range range) {
    bound(tree, &range);
    if (is_leaf(range.begin, range.end)) {
        return;
    }
    const double *box = tree->box + 6 * (size_t)range.node;
    int axis = 0;
    for (int a = 1; a < 3; a++) {
        axis = box[3 + a] - box[a] > box[3 + axis] - box[axis] ? a : axis;
    }
    const int middle = range.begin + (range.end - range.begin) / 2;
    select_middle(tree->order, tree->points, axis, range.begin, range.end, middle);
    build(tree, (Range){2 * range.node + 1, range.begin, middle});
    build(tree, (Range){2 * range.node + 2, middle, range.end});
}

int tree_make(Arena *arena, int count, const double *points, Tree *tree) {
    size_t nodes = 1;
    for (size_t width = 1, size = (size_t)count; size > LEAF; size = (size + 1) / 2) {
        width *= 2;
        nodes += width;
    }
    tree->count = count;
    tree->points = points;
    tree->order = arena_take(arena, (size_t)count, sizeof(int));
    tree->box = arena_take(arena, nodes * 6, sizeof(double));
    tree->lowest = arena_take(arena, nodes, sizeof(int));
    tree->label = arena_take(arena, nodes, sizeof(int));
    if (arena->failed) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        tree->order[i] = i;
    }
    build(tree, (Range){0, 0, count});
    return 1;
}

static double square_to_box(const double *box, const double *p) {
    double square = 0;
    for (int a = 0; a < 3; a++) {
        const double out = fmax(fmax(box[a] - p[a], p[a] - box[3 + a]), 0);
        square += out * out;
    }
    return square;
}

static double square_between(const double *a, const double *b) {
    return (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]);
}

typedef struct Query {
    const Tree *tree;
    const double *point;
    const int *label; /* NULL: any point but v */
    int v, most, found;
    int *near;
    double *square;
} Query;

static double worst(const Query *query) {
    return query->found < query->most ? INFINITY : query->square[query->found - 1];
}

/* 1 when no point of the node can be kept; without the rule for ties, points that all lie in one place
 * would be searched to the last by each query. */
static int is_beyond(const Query *query, int node, const double *p) {
    const double square = square_to_box(query->tree->box + 6 * (size_t)node, p);
    return square > worst(query) ||
           (square == worst(query) && query->tree->lowest[node] > query->near[query->found - 1]);
}

static void keep(Query *query, int u, double square) {
    int at = query->found < query->most ? query->found++ : query->most - 1;
    while (at > 0 &&
           (query->square[at - 1] > square || (query->square[at - 1] == square && query->near[at - 1] > u))) {
        query->near[at] = query->near[at - 1];
        query->square[at] = query->square[at - 1];
        at--;
    }
    query->near[at] = u;
    query->square[at] = square;
}

static void look(Query *query, Range range) {
    const Tree *tree = query->tree;
    const double *p = query->point;
    if (is_beyond(query, range.node, p) ||
        (query->label && tree->label[range.node] == query->label[query->v])) {
        return;
    }
    if (is_leaf(range.begin, range.end)) {
        for (int i = range.begin; i < range.end; i++) {
            const int u = tree->order[i];
            if (query->label ? query->label[u] == query->label[query->v] : u == query->v) {
                continue;
            }
            const double square = square_between(p, tree->points + 3 * (size_t)u);
            if (query->found < query->most || square < worst(query) ||
                (square == worst(query) && u < query->near[query->found - 1])) {
                keep(query, u, square);
            }
        }
        return;
    }
    const int middle = range.begin + (range.end - range.begin) / 2;
    const Range low = {2 * range.node + 1, range.begin, middle},
                high = {2 * range.node + 2, middle, range.end};
    const int low_first = square_to_box(tree->box + 6 * (size_t)low.node, p) <=
                          square_to_box(tree->box + 6 * (size_t)high.node, p);
    look(query, low_first ? low : high);
    look(query, low_first ? high : low);
}

static const double *point_of(const Tree *tree, int v) {
    return tree->points + 3 * (size_t)v;
}

int tree_nearest_to(const Tree *tree, const double point[3], double *square) {
    int near = -1;
    Query query = {tree, point, NULL, -1, 1, 0, &near, square};
    look(&query, (Range){0, 0, tree->count});
    return near;
}

int tree_nearest(const Tree *tree, int v, int most, int *near, double *square) {
    Query query = {tree, point_of(tree, v), NULL, v, most, 0, near, square};
    look(&query, (Range){0, 0, tree->count});
    return query.found;
}

static int label_node(Tree *tree, const int *label, Range range) {
    int shared;
    if (is_leaf(range.begin, range.end)) {
        shared = label[tree->order[range.begin]];
        for (int i = range.begin + 1; i < range.end; i++) {
            shared = label[tree->order[i]] == shared ? shared : -1;
        }
    } else {
        const int middle = range.begin + (range.end - range.begin) / 2;
        const int low = label_node(tree, label, (Range){2 * range.node + 1, range.begin, middle});
        const int high = label_node(tree, label, (Range){2 * range.node + 2, middle, range.end});
        shared = low == high ? low : -1;
    }
    tree->label[range.node] = shared;
    return shared;
}

void tree_label(Tree *tree, const int *label) {
    label_node(tree, label, (Range){0, 0, tree->count});
}

int tree_nearest_other(const Tree *tree, const int *label, int v, double *square) {
    int near = -1;
    Query query = {tree, point_of(tree, v), label, v, 1, 0, &near, square};
    look(&query, (Range){0, 0, tree->count});
    return near;
}

int tree_nearer_other(const Tree *tree, const int *label, int v, double *square) {
    int near = -1; /* lower than any number: what is as far does not count */
    Query query = {tree, point_of(tree, v), label, v, 1, 1, &near, square};
    look(&query, (Range){0, 0, tree->count});
    return near >= 0;
}

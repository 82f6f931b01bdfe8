/* tree.h - nearest points in space: a balanced k-d tree. */
#ifndef OSSIFY_NEAREST_H
#define OSSIFY_NEAREST_H

#include "base/arena.h"

typedef struct Tree {
    int count;
    int *order;           /* points, halved again and again */
    const double *points; /* [n][3] */
    double *box;          /* [nodes][6] low, high */
    int *lowest;          /* [nodes] the lowest number among a node's points */
    int *label;           /* [nodes] the label shared by all points of a node, or -1; see tree_label */
} Tree;

int tree_make(Arena *arena, int count, const double *points, Tree *tree);
/* Up to `most` points nearest to point v, itself left out, nearest first; returns how many. */
int tree_nearest(const Tree *tree, int v, int most, int *near, double *square);
/* The point nearest to any place. */
int tree_nearest_to(const Tree *tree, const double point[3], double *square);
/* Gives each point a label; tree_nearest_other then finds the nearest point of another label. */
void tree_label(Tree *tree, const int *label);
int tree_nearest_other(const Tree *tree, const int *label, int v, double *square);
/* 1 when some point of another label is nearer than *square, which becomes the least such distance. */
int tree_nearer_other(const Tree *tree, const int *label, int v, double *square);

#endif

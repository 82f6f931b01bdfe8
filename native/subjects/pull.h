/* pull.h - the one motion that vertices ask of a bone; see pull.c. */
#ifndef OSSIFY_PULL_H
#define OSSIFY_PULL_H

/* The sums of w^2, w^2 p, w^2 p^2 (axis by axis), w y and w y p', y where a vertex should go times w. */
typedef struct Pull {
    double mass, from[3], spread[3], to[3], cross[9];
} Pull;

/* `square` is w^2; y is w times where the bone should take p, times w. */
void pull_add(Pull *pull, double square, const double *p, const double y[3]);
/* Into m [3][4], the guess; without mass it stays. scaled: [R diag(s), t] instead of [R, t] */
void pull_solve(const Pull *pull, int scaled, double *m);

#endif

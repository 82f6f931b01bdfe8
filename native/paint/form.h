/* form.h - the squared error of a vertex as a form of its weights; see form.c. */
#ifndef OSSIFY_FORM_H
#define OSSIFY_FORM_H

#include "core/call.h"
#include "math/simplex_ls.h"

enum { FORM_MOST = SIMPLEX_MAX }; /* bones of a vertex */

/* Bones that a vertex may follow, and the weights it has on them. */
typedef struct Form {
    int n;
    int bone[FORM_MOST];
    double weight[FORM_MOST];
    double q[FORM_MOST * FORM_MOST]; /* [n][FORM_MOST] */
} Form;

/* The bones that a vertex follows in a rig, with their weights; no q yet. */
void form_follow(const ossify_rig *rig, int64_t v, Form *form);
/* q of the bones at hand; aside [3F]: the vertex is to go so far beside its own positions, NULL: to them. */
void form_make(const ossify_poses *poses, const ossify_rig *rig, int64_t v, const float *aside, Form *form);
/* w'Qw */
double form_error(const Form *form, const double *w);
/* Writes weights of the form's bones, whose sum is 1, as the rig has them: strongest first. */
void form_write(const Form *form, const double *w, int64_t v, ossify_rig *rig);

#endif

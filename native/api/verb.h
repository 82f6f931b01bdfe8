/* verb.h - what a verb of the library is: a row of the table in verbs.c. */
#ifndef OSSIFY_VERB_H
#define OSSIFY_VERB_H

#include "core/call.h"

/* What a verb reads. All of it is checked before the verb runs (check.c, check_arrays.c): none can be forgotten. */
enum {
    READS_SETTINGS = 1 << 0, /* all; without it the memory functions and the watcher, and there may be none */
    READS_REST = 1 << 1,     /* poses.rest, if there is one */
    READS_FRAMES = 1 << 2,   /* poses.frames */
    READS_TRIANGLES = 1 << 3, /* poses.triangles */
    READS_GIVEN = 1 << 4,     /* of the rig what rig.given names, and what of it is held */
    READS_RIG = 1 << 5,       /* all of the rig; with READS_GIVEN, rig.given must name all of it */
    READS_WISHES = 1 << 6,    /* of the skeleton the edges that are demanded and forbidden */
    READS_TREE = 1 << 7,      /* of the skeleton parents, joints, kinds, axes and mirrors */
    READS_FIELDS = 1 << 8, /* of the rig its correctives; without it a verb that measures must come without */
    READS_COEFFICIENTS = 1 << 9, /* and how much of each */
    READS_SPACE = 1 << 10,       /* the space, if there is one that is given; measuring has it in */
    READS_DENSE = 1 << 11,       /* weights of any number of bones a vertex */
    READS_SUBJECTS = 1 << 12 /* poses of several subjects; without it a verb works on one body at a time */
};

/* What a verb writes. The rig and the skeleton that it gets are drafts: the caller's are written, draft.c, once they
 * are whole. */
enum {
    WRITES_RIG = 1 << 0,
    WRITES_SKELETON = 1 << 1,
    WRITES_EVALUATION = 1 << 2,
    MEASURES = 1 << 3, /* info tells the error of the rig against the frames */
    WRITES_SPACE = 1 << 4
};

/* A struct of the verb's own in the request. */
typedef struct Noun {
    const char *type; /* NULL: it has none */
    size_t size;
} Noun;

typedef struct Verb {
    const char *name;
    int reads, writes;
    Noun options, result;
    /* Says what the verb cannot work with although every struct is right by itself, 1 then; NULL: nothing. */
    int (*refuses)(const ossify_request *request, ossify_info *info);
    /* Returns a status. Its own result it writes last, when it can no longer fail. NULL: measuring is all. */
    int64_t (*run)(Call *call, const ossify_request *request);
    /* What has to know the measured error; NULL: nothing. */
    void (*conclude)(const ossify_request *request, const ossify_evaluation *evaluation);
} Verb;

/* 1 when the request has to come with one. */
static inline int verb_has_rig(const Verb *verb) {
    return verb->reads & (READS_GIVEN | READS_RIG) || verb->writes & WRITES_RIG;
}

static inline int verb_has_skeleton(const Verb *verb) {
    return verb->reads & (READS_WISHES | READS_TREE) || verb->writes & WRITES_SKELETON;
}

static inline int verb_has_space(const Verb *verb, const ossify_request *request) {
    return verb->writes & WRITES_SPACE || (verb->reads & READS_SPACE && request->space != NULL);
}

/* The row of a verb, OSSIFY_DECOMPOSE and on. */
const Verb *verbs_find(int64_t verb);

#endif

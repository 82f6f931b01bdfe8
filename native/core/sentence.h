/* sentence.h - what is wrong, said in info->message. */
#ifndef OSSIFY_SENTENCE_H
#define OSSIFY_SENTENCE_H

#include <stddef.h>

#include "base/portable.h"
#include "ossify.h"

/* Writes the sentence, cut after a whole word if it is too long; returns status. */
int64_t sentence_refuse(ossify_info *info, int64_t status, const char *format, ...) PRINTF_LIKE(3, 4);

/* Says what is wrong with an argument; 1. */
#define BAD(info, ...) ((int)(sentence_refuse((info), OSSIFY_BAD_ARGUMENT, __VA_ARGS__) != 0))

/* 1 when something was said: a number outside of least..most; an array that is missing, or not aligned. */
int sentence_bad_range(ossify_info *info, const char *name, int64_t value, int64_t least, int64_t most);
int sentence_bad_array(ossify_info *info, const char *name, const void *array, size_t item,
                       const char *shape);

typedef struct Text {
    char letters[32];
} Text;

/* C runtimes differ in how they print what is not finite. */
Text sentence_number(double x);

/* 1 when something was said: not every bone reaches a root by its parents. NULL says nothing. */
int sentence_bad_parents(ossify_info *info, const char *of, const int32_t *parents, int64_t bones);

#endif

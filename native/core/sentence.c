/* sentence.c - refusals: one sentence that says what is wrong, where, and what to do. */
#include "core/sentence.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void cut_after_a_word(char *message, size_t length) {
    while (length > 0 && message[length] != ' ') {
        length--;
    }
    message[length] = '\0';
}

int64_t sentence_refuse(ossify_info *info, int64_t status, const char *format, ...) {
    va_list arguments;
    int length;
    va_start(arguments, format);
    length = vsnprintf(info->message, sizeof info->message, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof info->message) {
        cut_after_a_word(info->message, sizeof info->message - 1);
    }
    info->status = status;
    return status;
}

Text sentence_number(double x) {
    Text text;
    if (isnan(x)) {
        strcpy(text.letters, "nan");
    } else if (isinf(x)) {
        strcpy(text.letters, x < 0 ? "-inf" : "inf");
    } else {
        snprintf(text.letters, sizeof text.letters, "%.7g", x);
    }
    return text;
}

int sentence_bad_range(ossify_info *info, const char *name, int64_t value, int64_t least, int64_t most) {
    if (value >= least && value <= most) {
        return 0;
    }
    return BAD(info, "%s is %" PRId64 ": it must be %" PRId64 "..%" PRId64, name, value, least, most);
}

int sentence_bad_array(ossify_info *info, const char *name, const void *array, size_t item,
                       const char *shape) {
    if (array == NULL) {
        return BAD(info, "%s is NULL: it must point to an array %s", name, shape);
    }
    if ((uintptr_t)array % item != 0) {
        return BAD(info, "%s is not aligned: its address must be a multiple of %d; give a copy", name,
                   (int)item);
    }
    return 0;
}

int sentence_bad_parents(ossify_info *info, const char *of, const int32_t *parents, int64_t bones) {
    for (int64_t b = 0; b < bones && parents != NULL; b++) {
        if (parents[b] < -1 || parents[b] >= bones) {
            return BAD(
                info, "%s.parents[%" PRId64 "] is %" PRId32 ": it must be -1 (a root) or a bone, 0..%" PRId64,
                of, b, parents[b], bones - 1);
        }
    }
    for (int64_t b = 0; b < bones && parents != NULL; b++) {
        int64_t steps = 0;
        for (int64_t at = b; at >= 0; at = parents[at]) {
            if (steps++ > bones) {
                return BAD(info,
                           "%s.parents lead from bone %" PRId64 " in a circle: some bone must be a root (-1)",
                           of, b);
            }
        }
    }
    return 0;
}

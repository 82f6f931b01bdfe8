/* sentence.h - what is wrong, said in info->message. */
#ifndef OSSIFY_SENTENCE_H
#define OSSIFY_SENTENCE_H

#include "base/portable.h"
#include "ossify.h"

/* Writes the sentence, cut after a whole word if it is too long; returns status. */
int64_t sentence_refuse(ossify_info *info, int64_t status, const char *format, ...) PRINTF_LIKE(3, 4);

typedef struct Text {
    char letters[32];
} Text;

/* C runtimes differ in how they print what is not finite. */
Text sentence_number(double x);

#endif

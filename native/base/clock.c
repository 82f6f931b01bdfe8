/* clock.c - see clock.h. */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L
#endif

#include "base/clock.h"

#if defined(_WIN32)

#include <windows.h>

double clock_seconds(void) {
    LARGE_INTEGER ticks, ticks_a_second;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&ticks_a_second);
    return (double)ticks.QuadPart / (double)ticks_a_second.QuadPart;
}

#else

#include <time.h>

double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif

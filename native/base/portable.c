/* portable.c - what the processor at hand can do, asked once: in a virtual machine asking takes long. */
#include "base/portable.h"

#include <stdatomic.h>

#ifdef HAS_WIDE
#include <cpuid.h>

static int ask_whether_wide(void) {
    const unsigned fma = 1u << 12, saves = 1u << 27, avx = 1u << 28, avx2 = 1u << 5, kept = 6;
    unsigned a, b, c, d, state;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & (fma | saves | avx)) != (fma | saves | avx)) {
        return 0;
    }
    __asm__("xgetbv" : "=a"(state), "=d"(d) : "c"(0)); /* which registers the system keeps for a thread */
    return (state & kept) == kept && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & avx2) != 0;
}
#else
static int ask_whether_wide(void) {
    return 0;
}
#endif

static atomic_int answer; /* 0: not asked yet; else 1 + whether */

int portable_is_wide(void) {
    int known = atomic_load_explicit(&answer, memory_order_relaxed);
    if (known == 0) {
        known = 1 + ask_whether_wide();
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known - 1;
}

void portable_allow_wide(int allowed) {
    atomic_store_explicit(&answer, allowed ? 0 : 1, memory_order_relaxed);
}

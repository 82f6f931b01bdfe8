/* portable.h - the only compiler extensions of the library; each is empty where it is unknown. */
#ifndef OSSIFY_PORTABLE_H
#define OSSIFY_PORTABLE_H

/* Lets the compiler check a message's arguments. Not on Windows, where the meaning of the
 * formats depends on the C runtime at hand. */
#if defined(__GNUC__) && !defined(_WIN32)
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#else
#define PRINTF_LIKE(text, first)
#endif

/* A function that is compiled into its callers, and for the processors that they are for. */
#if defined(__GNUC__)
#define INSIDE static inline __attribute__((always_inline))
#else
#define INSIDE static inline
#endif

/* A function for processors with vectors of four doubles and fused multiplications, whatever the others are
 * compiled for. To be called only where portable_is_wide() says so. gcc does not align the stack of Windows
 * for such vectors. */
#if defined(__x86_64__) && defined(__GNUC__) && (defined(__clang__) || !defined(_WIN32))
#include <cpuid.h>
#define WIDE __attribute__((target("avx2,fma")))
static inline int portable_is_wide(void) {
    const unsigned fma = 1u << 12, saves = 1u << 27, avx = 1u << 28, avx2 = 1u << 5, kept = 6;
    unsigned a, b, c, d, state;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & (fma | saves | avx)) != (fma | saves | avx)) {
        return 0;
    }
    __asm__("xgetbv" : "=a"(state), "=d"(d) : "c"(0)); /* which registers the system keeps for a thread */
    return (state & kept) == kept && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & avx2) != 0;
}
#else
#define WIDE
static inline int portable_is_wide(void) {
    return 0;
}
#endif

#endif

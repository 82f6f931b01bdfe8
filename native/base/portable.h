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

/* Several doubles that are computed with as one, wherever they stand; one where the compiler knows no more. */
#if defined(__GNUC__)
typedef double Two __attribute__((vector_size(16), aligned(8), may_alias));
typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));
#else
typedef double Two;
#endif

/* A function for processors with vectors of four doubles and fused multiplications, whatever the others are
 * compiled for. To be called only where portable_is_wide() says so. gcc does not align the stack of Windows
 * for such vectors. */
#if defined(__x86_64__) && defined(__GNUC__) && (defined(__clang__) || !defined(_WIN32))
#define HAS_WIDE
#define WIDE __attribute__((target("avx2,fma")))
#else
#define WIDE
#endif
int portable_is_wide(void);
/* For tests, which try both ways on one processor: 0 says it is not, 1 asks it again. */
void portable_allow_wide(int allowed);

/* a b + c, rounded once; nothing where the processors at hand need not be able to. */
#ifdef HAS_WIDE
#include <immintrin.h>
WIDE static inline Four portable_fuse_four(double a, Four b, Four c) {
    return (Four)_mm256_fmadd_pd(_mm256_set1_pd(a), (__m256d)b, (__m256d)c);
}
#endif
#if defined(__aarch64__) && defined(__GNUC__)
#include <arm_neon.h>
static inline Two portable_fuse_two(double a, Two b, Two c) {
    return (Two)vfmaq_n_f64((float64x2_t)c, (float64x2_t)b, a);
}
#define HAS_FUSED_TWO
#elif !defined(__GNUC__)
#include <math.h>
static inline Two portable_fuse_two(double a, Two b, Two c) {
    return fma(a, b, c);
}
#define HAS_FUSED_TWO
#endif

#endif

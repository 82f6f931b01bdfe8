/* test.h - the whole test framework: a test is a function that checks, one runner runs them all.
 *
 *     TEST(weights_of_a_static_vertex) {
 *         CHECK(count == 1);
 *         CHECK_NEAR(sum, 1.0, 1e-6);
 *     }
 *
 * One page of our own instead of cmocka, Check or Unity: it builds on three platforms with nothing
 * to install, and what those add (mocks, forks, XML) is not used here. Checks print file:line and go
 * on; they belong on the main thread. The runner takes words and runs the tests whose name or file
 * holds one of them; -v names every test with its seconds, -l only lists them, and with -i their names
 * come from tools/test_c.py, which keeps all processors busy. */
#ifndef OSSIFY_TEST_H
#define OSSIFY_TEST_H

#include <stddef.h>
#include <stdint.h>

/* SLOW_BUILD: 1 under sanitizers and coverage, which are slow: take smaller meshes there.
 * WATCHED_MEMORY: 1 under sanitizers, which need memory of their own in large amounts. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { WATCHED_MEMORY = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { WATCHED_MEMORY = 1 };
#else
enum { WATCHED_MEMORY = 0 };
#endif
#else
enum { WATCHED_MEMORY = 0 };
#endif
#if defined(TEST_SLOW_BUILD)
enum { SLOW_BUILD = 1 };
#else
enum { SLOW_BUILD = WATCHED_MEMORY };
#endif

typedef struct Test {
    const char *name;
    const char *file;
    void (*run)(void);
    struct Test *next;
} Test;

#define TEST(name)                                              \
    static void name(void);                                     \
    static Test name##_test = {#name, __FILE__, name, 0};       \
    __attribute__((constructor)) static void name##_add(void) { \
        test_add(&name##_test);                                 \
    }                                                           \
    static void name(void)

#define CHECK(condition) ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, "%s", #condition))
#define CHECK_INT(value, wanted) \
    test_check_int(__FILE__, __LINE__, #value, (int64_t)(value), (int64_t)(wanted))
/* |value - wanted| <= tolerance; NaN fails. */
#define CHECK_NEAR(value, wanted, tolerance) \
    test_check_near(__FILE__, __LINE__, #value, (double)(value), (double)(wanted), (double)(tolerance))
#define CHECK_TEXT(text, wanted) test_check_text(__FILE__, __LINE__, #text, (text), (wanted))
/* `part` stands somewhere in `text`. */
#define CHECK_SAYS(text, part) test_check_says(__FILE__, __LINE__, #text, (text), (part))

/* Names the case at hand in the messages of checks that follow, until the next call or test. */
void test_case(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Counts the test as skipped, with the reason; return after it. */
void test_skip(const char *reason);
/* 1 once a check of this test failed: leave loops early. */
int test_failed(void);

void test_add(Test *test);
void test_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
void test_check_int(const char *file, int line, const char *what, int64_t value, int64_t wanted);
void test_check_near(const char *file, int line, const char *what, double value, double wanted,
                     double tolerance);
void test_check_text(const char *file, int line, const char *what, const char *text, const char *wanted);
void test_check_says(const char *file, int line, const char *what, const char *text, const char *part);

#endif

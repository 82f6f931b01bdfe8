/* test.c - see test.h: the list of tests, what checks print, and main. */
#include "test.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum { MOST_PRINTED = 5 }; /* failures a test; more of the same tell nothing */

static Test *tests;
static const Test *current;
static char current_case[200];
static int failures; /* of the current test */
static const char *skipped;

/* Sorted by file and name: the order of constructors is the linker's business. */
void test_add(Test *test) {
    Test **at = &tests;
    while (*at != NULL) {
        int order = strcmp((*at)->file, test->file);
        if (order > 0 || (order == 0 && strcmp((*at)->name, test->name) > 0)) {
            break;
        }
        at = &(*at)->next;
    }
    test->next = *at;
    *at = test;
}

void test_case(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(current_case, sizeof current_case, format, arguments);
    va_end(arguments);
}

void test_skip(const char *reason) {
    skipped = reason;
}

int test_failed(void) {
    return failures > 0;
}

void test_fail(const char *file, int line, const char *format, ...) {
    va_list arguments;
    failures++;
    if (failures > MOST_PRINTED) {
        return;
    }
    printf("%s:%d: %s", file, line, current->name);
    if (current_case[0] != '\0') {
        printf(" (%s)", current_case);
    }
    printf(": ");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

void test_check_int(const char *file, int line, const char *what, int64_t value, int64_t wanted) {
    if (value != wanted) {
        test_fail(file, line, "%s is %" PRId64 ", not %" PRId64, what, value, wanted);
    }
}

void test_check_near(const char *file, int line, const char *what, double value, double wanted,
                     double tolerance) {
    if (!(fabs(value - wanted) <= tolerance)) {
        test_fail(file, line, "%s is %.17g, not %.17g +- %g", what, value, wanted, tolerance);
    }
}

void test_check_text(const char *file, int line, const char *what, const char *text, const char *wanted) {
    if (text == NULL || strcmp(text, wanted) != 0) {
        test_fail(file, line, "%s is \"%s\", not \"%s\"", what, text != NULL ? text : "(null)", wanted);
    }
}

void test_check_says(const char *file, int line, const char *what, const char *text, const char *part) {
    if (text == NULL || strstr(text, part) == NULL) {
        test_fail(file, line, "%s is \"%s\", without \"%s\"", what, text != NULL ? text : "(null)", part);
    }
}

static int asked_for(const Test *test, int words, char **word) {
    int named = 0;
    for (int i = 0; i < words; i++) {
        if (word[i][0] == '-') {
            continue;
        }
        named = 1;
        if (strstr(test->name, word[i]) != NULL || strstr(test->file, word[i]) != NULL) {
            return 1;
        }
    }
    return !named;
}

typedef enum Result { FAILED, SKIPPED, PASSED } Result;

static Result run(const Test *test) {
    current = test;
    current_case[0] = '\0';
    failures = 0;
    skipped = NULL;
    test->run();
    if (failures > MOST_PRINTED) {
        printf("%s: %d more\n", test->name, failures - MOST_PRINTED);
    }
    if (skipped != NULL) {
        printf("skipped %s: %s\n", test->name, skipped);
    }
    return failures > 0 ? FAILED : skipped != NULL ? SKIPPED : PASSED;
}

/* The tests whose names come in, one a line; each is answered with a line of its own. */
static int run_as_told(void) {
    static const char *const WORDS[] = {"failed", "skipped", "passed"};
    char line[200];
    while (fgets(line, sizeof line, stdin) != NULL) {
        const Test *test = tests;
        double began = clock_seconds();
        line[strcspn(line, "\r\n")] = '\0';
        while (test != NULL && strcmp(test->name, line) != 0) {
            test = test->next;
        }
        const Result result = test != NULL ? run(test) : FAILED;
        printf("= %s %.3f\n", WORDS[result], clock_seconds() - began);
        fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv) {
    int count[] = {0, 0, 0};
    int verbose = 0, list = 0;
    double began = clock_seconds();
    for (int i = 1; i < argc; i++) {
        verbose |= strcmp(argv[i], "-v") == 0;
        list |= strcmp(argv[i], "-l") == 0;
        if (strcmp(argv[i], "-i") == 0) {
            return run_as_told();
        }
    }
    for (const Test *test = tests; test != NULL; test = test->next) {
        double start = clock_seconds();
        if (!asked_for(test, argc - 1, argv + 1)) {
            continue;
        }
        if (list) {
            printf("%s\n", test->name);
            continue;
        }
        count[run(test)]++;
        if (verbose) {
            printf("%8.3f s  %s\n", clock_seconds() - start, test->name);
        }
        fflush(stdout);
    }
    if (list) {
        return 0;
    }
    printf("%d passed, %d failed, %d skipped in %.2f s\n", count[PASSED], count[FAILED], count[SKIPPED],
           clock_seconds() - began);
    return count[FAILED] > 0 || count[PASSED] + count[SKIPPED] == 0;
}

/* fuzz_replay.c - feeds the fuzz target without libFuzzer: files, so that the kept corpus is a test like any other, or
 * `--made FIRST COUNT`, inputs that are made up, each from its number alone. Those run without sanitizers and hence
 * by the million. */
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BYTES = 1 << 20, MADE_BYTES = 512, EVERY = 100000 };

static volatile uint64_t at_hand;

/* Which input it was; the signal then ends the process as it would have. */
static void tell(int number) {
    fprintf(stderr, "signal %d at --made %" PRIu64 " 1\n", number, at_hand);
    signal(number, SIG_DFL);
    raise(number);
}

/* Half of them abuse a verb (fuzz_api.c); many bytes are alike, so that few options are strange at once. */
static size_t make_input(uint64_t number, uint8_t *data) {
    uint64_t random = number;
    const size_t size = (size_t)(random_next(&random) % MADE_BYTES) + 1;
    const uint8_t filler = (uint8_t)(random_next(&random) % 200);
    const uint64_t odd = random_next(&random) % 4;
    for (size_t i = 0; i < size; i++) {
        const uint64_t bits = random_next(&random);
        data[i] = bits >> 32 & 3 & (odd + 1) ? (uint8_t)bits : filler;
    }
    data[0] = random_next(&random) & 1 ? data[0] : (uint8_t)(data[0] | 0xf0);
    return size;
}

static void run_made(uint64_t first, uint64_t count, uint8_t *data) {
    static const int signals[] = {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGTERM};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        signal(signals[i], tell);
    }
    for (uint64_t i = 0; i < count; i++) {
        at_hand = first + i;
        LLVMFuzzerTestOneInput(data, make_input(at_hand, data));
        if ((i + 1) % EVERY == 0) {
            printf("%" PRIu64 " made-up inputs fed\n", i + 1);
            fflush(stdout);
        }
    }
    printf("%" PRIu64 " made-up inputs fed, from number %" PRIu64 " on\n", count, first);
}

static int replay(const char *name, uint8_t *data) {
    FILE *file = fopen(name, "rb");
    if (file == NULL) {
        fprintf(stderr, "%s cannot be read\n", name);
        return 0;
    }
    const size_t size = fread(data, 1, MOST_BYTES, file);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    return 1;
}

int main(int argc, char **argv) {
    uint8_t *data = malloc(MOST_BYTES);
    int well = data != NULL;
    if (well && argc == 4 && strcmp(argv[1], "--made") == 0) {
        run_made(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), data);
    } else {
        for (int i = 1; well && i < argc; i++) {
            well = replay(argv[i], data);
        }
        printf("%d inputs of the fuzz corpus replayed\n", argc - 1);
    }
    free(data);
    return !well;
}

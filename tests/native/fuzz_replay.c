/* fuzz_replay.c - feeds files to the fuzz target, for compilers without libFuzzer: the kept corpus
 * is a test like any other. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BYTES = 1 << 20 };

int main(int argc, char **argv) {
    uint8_t *data = malloc(MOST_BYTES);
    if (data == NULL) {
        return 1;
    }
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        size_t size;
        if (file == NULL) {
            fprintf(stderr, "%s cannot be read\n", argv[i]);
            free(data);
            return 1;
        }
        size = fread(data, 1, MOST_BYTES, file);
        fclose(file);
        LLVMFuzzerTestOneInput(data, size);
    }
    free(data);
    printf("%d inputs of the fuzz corpus replayed\n", argc - 1);
    return 0;
}

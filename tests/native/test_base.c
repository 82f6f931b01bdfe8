/* test_base.c - arena, parallel, random. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "probe.h"
#include "test.h"

static Arena arena_with(Ledger *ledger) {
    ossify_settings settings;
    Arena arena;
    ledger_join(ledger, &settings);
    arena_start(&arena, &settings);
    return arena;
}

static int is_zero(const unsigned char *memory, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        if (memory[i] != 0) {
            return 0;
        }
    }
    return 1;
}

TEST(arena_pieces_are_zeroed_and_aligned) {
    static const size_t sizes[] = {1, 63, 64, 65, 4096, 1 << 20};
    Ledger ledger = {0};
    for (int own = 0; own < 2; own++) {
        Arena arena;
        if (own) {
            arena = arena_with(&ledger);
        } else {
            arena_start(&arena, NULL);
        }
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            unsigned char *piece = arena_take(&arena, sizes[i], 1);
            CHECK((uintptr_t)piece % 64 == 0);
            CHECK(is_zero(piece, sizes[i]));
            memset(piece, 0xCD, sizes[i]);
        }
        CHECK_INT(arena.failed, 0);
        arena_end(&arena);
    }
    CHECK_INT(ledger.taken, 6);
    CHECK_INT(ledger.given, 6);
}

TEST(arena_of_no_bytes_is_not_a_failure) {
    Arena arena;
    arena_start(&arena, NULL);
    CHECK(arena_take(&arena, 0, 8) != NULL);
    CHECK(arena_take(&arena, 8, 0) != NULL);
    CHECK_INT(arena.failed, 0);
    arena_end(&arena);
}

TEST(arena_refuses_a_product_that_overflows) {
    Arena arena;
    arena_start(&arena, NULL);
    CHECK(arena_take(&arena, SIZE_MAX / 4, 8) == NULL);
    CHECK_INT(arena.failed, 1);
    CHECK(arena_take(&arena, SIZE_MAX, 1) == NULL);
    CHECK(arena_take(&arena, 1, 1) != NULL); /* it still serves; the caller tests `failed` once */
    CHECK_INT(arena.failed, 1);
    arena_end(&arena);
}

TEST(arena_remembers_the_first_refusal) {
    Ledger ledger = {.refuse_at = 2, .refuse_on = 1};
    Arena arena = arena_with(&ledger);
    CHECK(arena_take(&arena, 10, 1) != NULL);
    CHECK(arena_take(&arena, 20, 3) == NULL);
    CHECK(arena_take(&arena, 5, 1) == NULL);
    CHECK_INT(arena.failed, 1);
    CHECK_INT(arena.refused, 60);
    arena_end(&arena);
    CHECK_INT(ledger.given, 1);
}

TEST(arena_pieces_go_back_early_in_any_order) {
    static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}};
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        Ledger ledger = {0};
        Arena arena = arena_with(&ledger);
        void *piece[3];
        test_case("order %d %d %d", orders[o][0], orders[o][1], orders[o][2]);
        for (int i = 0; i < 3; i++) {
            piece[i] = arena_take(&arena, 100, 1);
        }
        for (int i = 0; i < 2; i++) {
            arena_give(&arena, piece[orders[o][i]]);
        }
        CHECK_INT(ledger.given, 2);
        CHECK(arena_take(&arena, 100, 1) != NULL);
        arena_give(&arena, NULL);
        arena_end(&arena);
        CHECK_INT(ledger.given, ledger.taken);
    }
}

TEST(arena_returns_to_a_mark) {
    Ledger ledger = {0};
    Arena arena = arena_with(&ledger);
    ArenaPiece *empty = arena_mark(&arena), *mark;
    unsigned char *kept = arena_take(&arena, 8, 1);
    kept[0] = 7;
    mark = arena_mark(&arena);
    arena_take(&arena, 8, 1);
    arena_take(&arena, 8, 1);
    arena_return(&arena, mark);
    CHECK_INT(ledger.given, 2);
    CHECK_INT(kept[0], 7);
    arena_return(&arena, mark); /* nothing newer: nothing happens */
    CHECK_INT(ledger.given, 2);
    arena_return(&arena, empty);
    CHECK_INT(ledger.given, 3);
    arena_end(&arena);
}

TEST(arena_with_half_an_allocator_uses_the_system) {
    Ledger ledger = {0};
    ossify_settings settings = {.allocate = ledger_allocate, .memory_user = &ledger};
    Arena arena;
    arena_start(&arena, &settings);
    CHECK(arena_take(&arena, 8, 1) != NULL);
    arena_end(&arena);
    CHECK_INT(ledger.taken, 0);
}

/* ---- parallel */

enum { MANY = 1000 };

typedef struct Tally {
    int runs[MANY]; /* each task writes its own */
    int worker[MANY];
    atomic_int inside;
} Tally;

static void count_task(void *user, int task, int worker) {
    Tally *tally = user;
    atomic_fetch_add(&tally->inside, 1);
    tally->runs[task]++;
    tally->worker[task] = worker;
}

TEST(every_task_runs_once_on_a_known_worker) {
    static const int threads[] = {1, 2, 3, 8};
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        Tally *tally = calloc(1, sizeof *tally);
        Arena arena;
        Pool *pool;
        test_case("%d threads", threads[t]);
        arena_start(&arena, NULL);
        pool = parallel_start(&arena, threads[t]);
        CHECK(pool != NULL);
        CHECK_INT(parallel_workers(pool), threads[t]);
        parallel_run(pool, MANY, count_task, tally);
        CHECK_INT(atomic_load(&tally->inside), MANY); /* all done on return */
        for (int i = 0; i < MANY; i++) {
            CHECK_INT(tally->runs[i], 1);
            CHECK(tally->worker[i] >= 0 && tally->worker[i] < threads[t]);
        }
        parallel_end(pool);
        arena_end(&arena);
        free(tally);
    }
}

TEST(many_short_runs_lose_no_task) {
    Tally *tally = calloc(1, sizeof *tally);
    int rounds = SLOW_BUILD ? 300 : 3000, tasks = 0;
    Arena arena;
    Pool *pool;
    arena_start(&arena, NULL);
    pool = parallel_start(&arena, 4);
    for (int round = 0; round < rounds; round++) {
        parallel_run(pool, round % 7, count_task, tally);
        tasks += round % 7;
        if (atomic_load(&tally->inside) != tasks) {
            break;
        }
    }
    CHECK_INT(atomic_load(&tally->inside), tasks);
    parallel_end(pool);
    arena_end(&arena);
    free(tally);
}

TEST(a_pool_by_cores_has_a_worker) {
    Arena arena;
    Pool *pool;
    arena_start(&arena, NULL);
    pool = parallel_start(&arena, 0);
    CHECK(pool != NULL && parallel_workers(pool) >= 1);
    parallel_end(pool);
    arena_end(&arena);
}

TEST(a_pool_that_is_never_run_ends) {
    Arena arena;
    arena_start(&arena, NULL);
    parallel_end(parallel_start(&arena, 8));
    parallel_end(NULL);
    arena_end(&arena);
}

TEST(a_pool_without_memory_is_refused) {
    for (int refused = 1; refused <= 2; refused++) {
        Ledger ledger = {.refuse_at = refused, .refuse_on = 1};
        Arena arena = arena_with(&ledger);
        test_case("allocation %d", refused);
        CHECK(parallel_start(&arena, 2) == NULL);
        CHECK_INT(arena.failed, 1);
        arena_end(&arena);
        CHECK_INT(ledger.given, ledger.taken);
    }
}

static void set_flag(void *user) {
    *(int *)user = 1;
}

TEST(a_joined_thread_has_run) {
    Arena arena;
    Thread *thread;
    int flag = 0;
    arena_start(&arena, NULL);
    thread = parallel_thread_start(&arena, set_flag, &flag);
    CHECK(thread != NULL);
    parallel_thread_join(thread);
    CHECK_INT(flag, 1);
    arena_end(&arena);
}

TEST(a_thread_without_memory_is_refused) {
    Ledger ledger = {.refuse_at = 1, .refuse_on = 1};
    Arena arena = arena_with(&ledger);
    int flag = 0;
    CHECK(parallel_thread_start(&arena, set_flag, &flag) == NULL);
    CHECK_INT(arena.failed, 1);
    arena_end(&arena);
}

TEST(seconds_do_not_run_backwards) {
    double last = clock_seconds();
    for (int i = 0; i < 1000; i++) {
        double now = clock_seconds();
        CHECK(now >= last);
        last = now;
    }
}

/* ---- random */

TEST(random_numbers_are_splitmix64) {
    static const uint64_t published[] = {UINT64_C(0xE220A8397B1DCDAF), UINT64_C(0x6E789E6AA1B965F4),
                                         UINT64_C(0x06C45D188009454F)};
    uint64_t state = 0;
    for (int i = 0; i < 3; i++) {
        CHECK(random_next(&state) == published[i]);
    }
}

TEST(random_units_fill_their_range_evenly) {
    enum { DRAWS = 20000, BINS = 10 };
    int bins[BINS] = {0};
    uint64_t state = 1;
    for (int i = 0; i < DRAWS; i++) {
        double unit = random_unit(&state);
        CHECK(unit >= 0 && unit < 1);
        bins[(int)(unit * BINS)]++;
    }
    for (int b = 0; b < BINS; b++) {
        CHECK_NEAR(bins[b], DRAWS / BINS, 250); /* about six standard deviations */
    }
}

TEST(random_below_reaches_every_number) {
    int seen[7] = {0};
    uint64_t state = 2;
    for (int i = 0; i < 1000; i++) {
        int n = random_below(&state, 7);
        CHECK(n >= 0 && n < 7);
        seen[n]++;
    }
    for (int n = 0; n < 7; n++) {
        CHECK(seen[n] > 0);
    }
    CHECK_INT(random_below(&state, 1), 0);
}

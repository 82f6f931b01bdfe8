/* test_job.c - jobs started, polled, cancelled and finished in every order. */
#if defined(__linux__)
#define _GNU_SOURCE /* setrlimit */
#endif

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "probe.h"
#include "synthetic.h"
#include "test.h"

static Synthetic small_mesh(void) {
    SyntheticOptions options = {.vertices = 120, .frames = 6, .bones = 3, .noise = 0.01};
    return synthetic_make(options);
}

/* Work for a while: long enough to be caught at it. */
static Synthetic large_mesh(void) {
    SyntheticOptions options = {
        .vertices = SLOW_BUILD ? 800 : 3000, .frames = 40, .bones = 12, .influences = 4, .noise = 0.02};
    return synthetic_make(options);
}

static ossify_settings long_settings(void) {
    ossify_settings settings = plain_settings(24);
    settings.quality = OSSIFY_BEST;
    settings.iterations = 100000;
    return settings;
}

static ossify_progress poll(ossify_job *job) {
    ossify_progress progress = {.struct_size = sizeof progress};
    ossify_job_poll(job, &progress);
    return progress;
}

/* Without a sleep that all systems share: the other thread needs the core more. */
static void wait_until(ossify_job *job, double fraction) {
    while (poll(job).fraction < fraction && !poll(job).finished) {
        double until = clock_seconds() + 1e-3;
        while (clock_seconds() < until)
            ;
    }
}

TEST(a_job_gives_what_the_call_gives) {
    Synthetic s = small_mesh();
    ossify_settings settings = plain_settings(3);
    Answer direct = answer_start(&s.poses, &settings), other = answer_start(&s.poses, &settings);
    int64_t status = ossify_decompose(&s.poses, &settings, &direct.rig, &direct.info);
    ossify_job *job = job_decompose(&s.poses, &settings, &other.rig, &other.info);
    CHECK(job != NULL);
    CHECK_INT(ossify_job_finish(job), status);
    CHECK(rigs_are_equal(&s.poses, &direct.rig, &other.rig));
    CHECK(direct.info.erms == other.info.erms);
    CHECK_INT(other.info.status, status);
    CHECK_INT(other.info.bones, 3);
    CHECK_INT(other.info.iterations, direct.info.iterations);
    answer_free(&direct);
    answer_free(&other);
    synthetic_free(&s);
}

TEST(a_job_copies_the_structs_it_is_given) {
    Synthetic s = small_mesh();
    ossify_settings settings = plain_settings(3), gone = settings;
    Answer direct = answer_start(&s.poses, &settings), other = answer_start(&s.poses, &settings);
    ossify_poses poses = s.poses;
    ossify_job *job = job_decompose(&poses, &gone, &other.rig, &other.info);
    memset(&poses, 0xEE, sizeof poses);
    memset(&gone, 0xEE, sizeof gone);
    CHECK(ossify_decompose(&s.poses, &settings, &direct.rig, &direct.info) >= 0);
    CHECK(ossify_job_finish(job) >= 0);
    CHECK(rigs_are_equal(&s.poses, &direct.rig, &other.rig));
    answer_free(&direct);
    answer_free(&other);
    synthetic_free(&s);
}

TEST(a_poll_tells_where_the_job_is) {
    Synthetic s = small_mesh();
    ossify_settings settings = plain_settings(3);
    Answer answer = answer_start(&s.poses, &settings);
    ossify_job *job = job_decompose(&s.poses, &settings, &answer.rig, &answer.info);
    double last = 0;
    ossify_progress progress;
    do {
        progress = poll(job);
        CHECK(progress.fraction >= last && progress.fraction <= 1);
        CHECK(progress.stage >= 0 && progress.stage < OSSIFY_STAGES);
        last = progress.fraction;
    } while (!progress.finished);
    CHECK_NEAR(progress.fraction, 1, 1e-12);
    CHECK_INT(progress.stage, OSSIFY_STAGE_FINISH);
    CHECK_INT(progress.bones, 3);
    CHECK(progress.erms >= 0);
    CHECK_INT(answer.rig.bones, 0); /* written by finish, on the caller's thread */
    CHECK_INT(poll(job).finished, 1);
    CHECK(ossify_job_finish(job) >= 0);
    CHECK_INT(answer.rig.bones, 3);
    answer_free(&answer);
    synthetic_free(&s);
}

/* What is done to a job before it is finished, by letter: p poll, c cancel, w wait for the end. */
TEST(jobs_may_be_polled_and_cancelled_in_any_order) {
    static const char *const orders[] = {"",    "p",   "c",   "w",   "cc",  "pc",       "cp",
                                         "pp",  "pcp", "ccp", "wc",  "wcc", "wp",       "wpc",
                                         "cwp", "cwc", "pwc", "cww", "pcw", "ppcpcpwpc"};
    Synthetic s = small_mesh();
    ossify_settings settings = plain_settings(3);
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        Answer answer = answer_start(&s.poses, &settings), empty = answer_start(&s.poses, &settings);
        ossify_job *job = job_decompose(&s.poses, &settings, &answer.rig, &answer.info);
        const char *cancel = strchr(orders[o], 'c'), *wait = strchr(orders[o], 'w');
        int64_t status;
        test_case("order \"%s\"", orders[o]);
        for (const char *step = orders[o]; *step; step++) {
            if (*step == 'p') {
                poll(job);
            } else if (*step == 'c') {
                ossify_job_cancel(job);
            } else {
                while (!poll(job).finished)
                    ;
            }
        }
        status = ossify_job_finish(job);
        CHECK_INT(answer.info.status, status);
        if (status == OSSIFY_CANCELLED) {
            CHECK(cancel != NULL);
            CHECK_SAYS(answer.info.message, "cancelled by the caller");
            CHECK(rigs_are_equal(&s.poses, &answer.rig, &empty.rig));
        } else {
            CHECK(status >= 0);
            check_rig(&s.poses, &answer.rig, 1);
        }
        if (cancel == NULL || (wait != NULL && wait < cancel)) { /* too late to cancel */
            CHECK(status >= 0);
        }
        answer_free(&answer);
        answer_free(&empty);
    }
    synthetic_free(&s);
}

TEST(a_cancelled_job_ends_early) {
    static const double when[] = {0, 0.06, 0.2};
    Synthetic s = large_mesh();
    ossify_settings settings = long_settings();
    for (int i = 0; i < 3; i++) {
        for (int threads = 1; threads <= 2; threads++) {
            Answer answer = answer_start(&s.poses, &settings);
            ossify_job *job;
            double began;
            settings.threads = threads;
            job = job_decompose(&s.poses, &settings, &answer.rig, &answer.info);
            test_case("at %g of the whole, %d threads", when[i], threads);
            wait_until(job, when[i]);
            began = clock_seconds();
            ossify_job_cancel(job);
            CHECK_INT(ossify_job_finish(job), OSSIFY_CANCELLED);
            CHECK(clock_seconds() - began < (SLOW_BUILD ? 10 : 1));
            CHECK_INT(answer.rig.bones, 0);
            CHECK(answer.rig.transforms[0] == 0 && answer.rig.influence_weights[0] == 0);
            answer_free(&answer);
        }
    }
    synthetic_free(&s);
}

static int64_t count_calls(void *user, const ossify_progress *progress) {
    (void)progress;
    ++*(int64_t *)user;
    return 0;
}

static int64_t cancel_third_call(void *user, const ossify_progress *progress) {
    (void)progress;
    return ++*(int64_t *)user == 3;
}

TEST(the_callers_own_watcher_sees_a_job_and_can_cancel_it) {
    Synthetic s = small_mesh();
    ossify_settings settings = plain_settings(3);
    Answer answer = answer_start(&s.poses, &settings);
    int64_t calls = 0;
    settings.watch = count_calls;
    settings.watch_user = &calls;
    CHECK(ossify_job_finish(job_decompose(&s.poses, &settings, &answer.rig, &answer.info)) >= 0);
    CHECK(calls > 3);
    calls = 0;
    settings.watch = cancel_third_call;
    CHECK_INT(ossify_job_finish(job_decompose(&s.poses, &settings, &answer.rig, &answer.info)),
              OSSIFY_CANCELLED);
    CHECK_INT(calls, 3);
    answer_free(&answer);
    synthetic_free(&s);
}

TEST(many_jobs_run_at_the_same_time) {
    enum { JOBS = 10 };
    Synthetic s = small_mesh();
    ossify_settings settings = plain_settings(3);
    Answer direct = answer_start(&s.poses, &settings), answers[JOBS];
    ossify_job *jobs[JOBS];
    CHECK(ossify_decompose(&s.poses, &settings, &direct.rig, &direct.info) >= 0);
    for (int i = 0; i < JOBS; i++) {
        answers[i] = answer_start(&s.poses, &settings);
        settings.threads = 1 + i % 3;
        jobs[i] = job_decompose(&s.poses, &settings, &answers[i].rig, &answers[i].info);
        CHECK(jobs[i] != NULL);
    }
    for (int i = 0; i < JOBS; i += 3) {
        ossify_job_cancel(jobs[i]);
    }
    for (int i = JOBS - 1; i >= 0; i--) {
        int64_t status = ossify_job_finish(jobs[i]);
        CHECK(status >= 0 || (i % 3 == 0 && status == OSSIFY_CANCELLED));
        CHECK(status < 0 || rigs_are_equal(&s.poses, &direct.rig, &answers[i].rig));
        answer_free(&answers[i]);
    }
    answer_free(&direct);
    synthetic_free(&s);
}

TEST(no_job_is_no_crash) {
    ossify_progress progress = {.struct_size = sizeof progress, .stage = 77};
    ossify_job_poll(NULL, &progress);
    CHECK_INT(progress.stage, 77);
    ossify_job_cancel(NULL);
    CHECK_INT(ossify_job_finish(NULL), OSSIFY_BAD_ARGUMENT);
}

TEST(a_progress_of_another_version_is_not_written) {
    Synthetic s = small_mesh();
    ossify_settings settings = plain_settings(3);
    Answer answer = answer_start(&s.poses, &settings);
    ossify_job *job = job_decompose(&s.poses, &settings, &answer.rig, &answer.info);
    ossify_progress progress = {.struct_size = 16, .stage = 77};
    ossify_job_poll(job, &progress);
    CHECK_INT(progress.stage, 77);
    ossify_job_poll(job, NULL);
    CHECK(ossify_job_finish(job) >= 0);
    answer_free(&answer);
    synthetic_free(&s);
}

TEST(a_fault_in_the_arrays_is_told_at_the_end) {
    Synthetic s = small_mesh();
    ossify_settings settings = plain_settings(3);
    Answer answer = answer_start(&s.poses, &settings);
    ossify_job *job;
    s.frames[7] = NAN;
    job = job_decompose(&s.poses, &settings, &answer.rig, &answer.info);
    CHECK(job != NULL);
    CHECK_INT(ossify_job_finish(job), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(answer.info.message, "frames[0][2][1] is nan");
    answer_free(&answer);
    synthetic_free(&s);
}

TEST(a_job_without_memory_does_not_start) {
    Synthetic s = small_mesh();
    ossify_settings settings = plain_settings(3);
    Answer answer = answer_start(&s.poses, &settings);
    for (int64_t refused = 1; refused <= 2; refused++) {
        Ledger ledger = {.refuse_at = refused};
        ledger_join(&ledger, &settings);
        test_case("allocation %d", (int)refused);
        CHECK(job_decompose(&s.poses, &settings, &answer.rig, &answer.info) == NULL);
        CHECK_INT(answer.info.status, OSSIFY_OUT_OF_MEMORY);
        CHECK_SAYS(answer.info.message, "no job could be started");
        CHECK_INT(ledger.taken, ledger.given);
    }
    answer_free(&answer);
    synthetic_free(&s);
}

/* ---- when the system gives no more threads */

#if defined(__linux__)
#include <sys/resource.h>

static rlim_t address_space_in_use(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    if (file == NULL || fscanf(file, "%lu", &pages) != 1) {
        pages = 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    return (rlim_t)pages * 4096;
}

/* Leaves room for `bytes` more; 0 when that cannot be arranged. */
static int bound_memory(rlim_t bytes, struct rlimit *before) {
    struct rlimit tight;
    if (WATCHED_MEMORY || address_space_in_use() == 0 || getrlimit(RLIMIT_AS, before) != 0) {
        return 0;
    }
    tight = *before;
    tight.rlim_cur = address_space_in_use() + bytes;
    return setrlimit(RLIMIT_AS, &tight) == 0;
}

/* A thread needs room for its stack: with little address space left, few can be had. */
TEST(a_system_without_threads_is_told) {
    Synthetic s = small_mesh();
    ossify_settings settings = plain_settings(3);
    Answer answer = answer_start(&s.poses, &settings);
    struct rlimit before;
    settings.threads = 256;
    if (bound_memory(64 << 20, &before)) {
        int64_t status = ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info);
        setrlimit(RLIMIT_AS, &before);
        CHECK_INT(status, OSSIFY_THREAD_FAILED);
        CHECK_SAYS(answer.info.message, "refused a thread: set settings.threads to 1");
        CHECK_INT(answer.rig.bones, 0);
    } else {
        test_skip("the address space cannot be bounded here");
    }
    answer_free(&answer);
    synthetic_free(&s);
}

static int64_t wait_for_flag(void *user, const ossify_progress *progress) {
    (void)progress;
    while (!atomic_load((atomic_int *)user))
        ;
    return 0;
}

/* The C library keeps the stacks of ended threads: jobs are started, and kept from ending, until there
 * is none left. */
TEST(a_system_without_a_thread_for_a_job_is_told) {
    enum { MOST_JOBS = 32 };
    Synthetic s = small_mesh();
    ossify_settings settings = plain_settings(3);
    Answer answers[MOST_JOBS];
    ossify_job *jobs[MOST_JOBS] = {NULL};
    struct rlimit before;
    atomic_int flag;
    int count = 0;
    atomic_init(&flag, 0);
    settings.watch = wait_for_flag;
    settings.watch_user = &flag;
    for (int i = 0; i < MOST_JOBS; i++) {
        answers[i] = answer_start(&s.poses, &settings);
    }
    if (bound_memory(1 << 20, &before)) {
        for (count = 0; count < MOST_JOBS; count++) {
            jobs[count] = job_decompose(&s.poses, &settings, &answers[count].rig, &answers[count].info);
            if (jobs[count] == NULL) {
                break;
            }
        }
        setrlimit(RLIMIT_AS, &before);
        atomic_store(&flag, 1);
        CHECK(count < MOST_JOBS);
        CHECK_INT(answers[count].info.status, OSSIFY_THREAD_FAILED);
        CHECK_SAYS(answers[count].info.message, "refused a thread for the job");
        for (int i = 0; i < count; i++) {
            ossify_job_finish(jobs[i]);
        }
    } else {
        test_skip("the address space cannot be bounded here");
    }
    for (int i = 0; i < MOST_JOBS; i++) {
        answer_free(&answers[i]);
    }
    synthetic_free(&s);
}
#endif

/* parallel.c - see parallel.h. Everything that differs between systems stands in the first part.
 *
 * A run opens a round: workers that wake while it is open take task numbers from one atomic
 * counter until it is used up. The caller works too, closes the round when no number is left,
 * and waits only for workers that joined; one that sleeps through a short round costs nothing.
 * Rounds often follow each other at once, and to wake a sleeping core takes longer than many of them
 * last: whoever waits looks for a while before it sleeps, leaving the core to any who need it. */
#if defined(__linux__)
#define _GNU_SOURCE /* sched_getaffinity */
#elif !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L
#define _DARWIN_C_SOURCE /* _SC_NPROCESSORS_ONLN */
#endif

#include "base/parallel.h"

#include <assert.h>
#include <fenv.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"

/* The default is 512 kB on macOS and 128 kB with musl; too little for a call with its BLAS. */
enum { STACK_BYTES = 8 << 20 };
static const double LOOK_SECONDS = 2e-4; /* that whoever waits looks before it sleeps */

static void thread_body(Thread *thread);

#if defined(_WIN32)

#include <process.h>
#include <windows.h>

typedef SRWLOCK Mutex;
typedef CONDITION_VARIABLE Condition;
typedef HANDLE ThreadHandle;

static int mutex_start(Mutex *mutex) {
    InitializeSRWLock(mutex);
    return 1;
}

static void mutex_end(Mutex *mutex) {
    (void)mutex;
}

static void mutex_lock(Mutex *mutex) {
    AcquireSRWLockExclusive(mutex);
}

static void mutex_unlock(Mutex *mutex) {
    ReleaseSRWLockExclusive(mutex);
}

static int condition_start(Condition *condition) {
    InitializeConditionVariable(condition);
    return 1;
}

static void condition_end(Condition *condition) {
    (void)condition;
}

static void condition_wait(Condition *condition, Mutex *mutex) {
    SleepConditionVariableSRW(condition, mutex, INFINITE, 0);
}

static void condition_wake_all(Condition *condition) {
    WakeAllConditionVariable(condition);
}

static unsigned __stdcall thread_entry(void *thread) {
    thread_body(thread);
    return 0;
}

static int handle_start(ThreadHandle *handle, Thread *thread) {
    *handle = (HANDLE)_beginthreadex(NULL, STACK_BYTES, thread_entry, thread,
                                     STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    return *handle != NULL;
}

static void handle_join(ThreadHandle handle) {
    WaitForSingleObject(handle, INFINITE);
    CloseHandle(handle);
}

static void thread_yield(void) {
    SwitchToThread();
}

static int core_count(void) {
    return (int)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
}

#else

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

typedef pthread_mutex_t Mutex;
typedef pthread_cond_t Condition;
typedef pthread_t ThreadHandle;

static int mutex_start(Mutex *mutex) {
    return pthread_mutex_init(mutex, NULL) == 0;
}

static void mutex_end(Mutex *mutex) {
    pthread_mutex_destroy(mutex);
}

static void mutex_lock(Mutex *mutex) {
    pthread_mutex_lock(mutex);
}

static void mutex_unlock(Mutex *mutex) {
    pthread_mutex_unlock(mutex);
}

static int condition_start(Condition *condition) {
    return pthread_cond_init(condition, NULL) == 0;
}

static void condition_end(Condition *condition) {
    pthread_cond_destroy(condition);
}

static void condition_wait(Condition *condition, Mutex *mutex) {
    pthread_cond_wait(condition, mutex);
}

static void condition_wake_all(Condition *condition) {
    pthread_cond_broadcast(condition);
}

static void *thread_entry(void *thread) {
    thread_body(thread);
    return NULL;
}

/* The host's handlers must run on the host's threads; faults stay with the thread at fault. */
static void signals_of_a_worker(sigset_t *blocked) {
    sigfillset(blocked);
    sigdelset(blocked, SIGSEGV);
    sigdelset(blocked, SIGBUS);
    sigdelset(blocked, SIGFPE);
    sigdelset(blocked, SIGILL);
    sigdelset(blocked, SIGABRT);
}

static int handle_start(ThreadHandle *handle, Thread *thread) {
    pthread_attr_t attributes;
    sigset_t blocked, before;
    int started;
    if (pthread_attr_init(&attributes) != 0) {
        return 0;
    }
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    signals_of_a_worker(&blocked);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    started = pthread_create(handle, &attributes, thread_entry, thread) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

static void handle_join(ThreadHandle handle) {
    pthread_join(handle, NULL);
}

static void thread_yield(void) {
    sched_yield();
}

/* Cores that this process may use, which taskset and containers make fewer than there are. */
static int core_count(void) {
#if defined(__linux__)
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable) == 0) {
        return CPU_COUNT(&usable);
    }
#endif
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

#endif

/* ---- from here on the same everywhere ---- */

struct Thread {
    ThreadHandle handle;
    void (*run)(void *user);
    void *user;
    fenv_t environment; /* a new thread does not inherit it everywhere; rounding must be the same on all */
};

typedef struct Worker {
    Pool *pool;
    int number; /* 1..workers-1; the caller is 0 */
    Thread thread;
} Worker;

struct Pool {
    int workers;
    Worker *members;  /* [workers - 1] */
    Mutex mutex;      /* all below changes under it, but for `next` */
    Condition wake;   /* there is news */
    Condition idle;   /* no worker is busy */
    atomic_uint news; /* rises when a round opens and when the pool ends */
    atomic_uint busy; /* workers in the round */
    int open;
    int ending;
    PoolTask task;
    void *user;
    unsigned tasks;
    atomic_uint next; /* unsigned: it may run past INT_MAX, by one for each worker */
};

static void thread_body(Thread *thread) {
    fesetenv(&thread->environment);
    thread->run(thread->user);
}

static int thread_begin(Thread *thread, void (*run)(void *user), void *user) {
    thread->run = run;
    thread->user = user;
    fegetenv(&thread->environment);
    return handle_start(&thread->handle, thread);
}

static void take_tasks(Pool *pool, int worker) {
    unsigned task;
    while ((task = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed)) < pool->tasks) {
        pool->task(pool->user, (int)task, worker);
    }
}

/* Looks until *value is no longer `old`, for LOOK_SECONDS at most. */
static void look_for_change(atomic_uint *value, unsigned old) {
    const double until = clock_seconds() + LOOK_SECONDS;
    while (atomic_load(value) == old && clock_seconds() < until) {
        thread_yield();
    }
}

static void wait_for_news(Pool *pool, unsigned seen) {
    look_for_change(&pool->news, seen);
    mutex_lock(&pool->mutex);
    while (atomic_load(&pool->news) == seen) {
        condition_wait(&pool->wake, &pool->mutex);
    }
    mutex_unlock(&pool->mutex);
}

/* 1 when the worker now belongs to the round; *seen is the news it has read. */
static int join_round(Pool *pool, unsigned *seen, int *ending) {
    int joined;
    mutex_lock(&pool->mutex);
    *seen = atomic_load(&pool->news);
    *ending = pool->ending;
    joined = pool->open && !pool->ending;
    if (joined) {
        atomic_fetch_add(&pool->busy, 1);
    }
    mutex_unlock(&pool->mutex);
    return joined;
}

static void leave_round(Pool *pool) {
    mutex_lock(&pool->mutex);
    if (atomic_fetch_sub(&pool->busy, 1) == 1) {
        condition_wake_all(&pool->idle);
    }
    mutex_unlock(&pool->mutex);
}

static void work(void *user) {
    Worker *worker = user;
    Pool *pool = worker->pool;
    unsigned seen = 0;
    int ending = 0;
    while (!ending) {
        wait_for_news(pool, seen);
        if (join_round(pool, &seen, &ending)) {
            take_tasks(pool, worker->number);
            leave_round(pool);
        }
    }
}

/* 0 and nothing left behind when one of the three cannot be had. */
static int start_locks(Pool *pool) {
    if (!mutex_start(&pool->mutex)) {
        return 0;
    }
    if (condition_start(&pool->wake)) {
        if (condition_start(&pool->idle)) {
            return 1;
        }
        condition_end(&pool->wake);
    }
    mutex_end(&pool->mutex);
    return 0;
}

/* `workers` counts those that run, so that parallel_end serves a pool that started in part. */
static int start_workers(Pool *pool, int threads) {
    for (pool->workers = 1; pool->workers < threads; pool->workers++) {
        Worker *worker = &pool->members[pool->workers - 1];
        worker->pool = pool;
        worker->number = pool->workers;
        if (!thread_begin(&worker->thread, work, worker)) {
            return 0;
        }
    }
    return 1;
}

Pool *parallel_start(Arena *arena, int threads) {
    Pool *pool = arena_take(arena, 1, sizeof *pool);
    if (pool == NULL) {
        return NULL;
    }
    if (threads <= 0) {
        threads = core_count();
    }
    threads = threads < 1 ? 1 : threads > MOST_THREADS ? MOST_THREADS : threads;
    pool->members = arena_take(arena, (size_t)threads, sizeof *pool->members);
    if (pool->members == NULL) {
        return NULL;
    }
    atomic_init(&pool->news, 0);
    atomic_init(&pool->busy, 0);
    atomic_init(&pool->next, 0);
    if (!start_locks(pool)) {
        return NULL;
    }
    if (!start_workers(pool, threads)) {
        parallel_end(pool);
        return NULL;
    }
    return pool;
}

int parallel_workers(const Pool *pool) {
    return pool->workers;
}

static void open_round(Pool *pool, int tasks, PoolTask task, void *user) {
    mutex_lock(&pool->mutex);
    assert(!pool->open && "parallel_run from inside a task");
    pool->task = task;
    pool->user = user;
    pool->tasks = (unsigned)tasks;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    pool->open = 1;
    atomic_fetch_add(&pool->news, 1);
    condition_wake_all(&pool->wake);
    mutex_unlock(&pool->mutex);
}

static void close_round(Pool *pool) {
    const double until = clock_seconds() + LOOK_SECONDS;
    mutex_lock(&pool->mutex);
    pool->open = 0;
    mutex_unlock(&pool->mutex);
    while (atomic_load(&pool->busy) > 0 && clock_seconds() < until) {
        thread_yield();
    }
    mutex_lock(&pool->mutex);
    while (atomic_load(&pool->busy) > 0) {
        condition_wait(&pool->idle, &pool->mutex);
    }
    mutex_unlock(&pool->mutex);
}

void parallel_run(Pool *pool, int tasks, PoolTask task, void *user) {
    if (pool->workers == 1 || tasks <= 1) {
        for (int t = 0; t < tasks; t++) {
            task(user, t, 0);
        }
        return;
    }
    open_round(pool, tasks, task, user);
    take_tasks(pool, 0);
    close_round(pool);
}

void parallel_end(Pool *pool) {
    if (pool == NULL) {
        return;
    }
    mutex_lock(&pool->mutex);
    pool->ending = 1;
    atomic_fetch_add(&pool->news, 1);
    condition_wake_all(&pool->wake);
    mutex_unlock(&pool->mutex);
    for (int w = 1; w < pool->workers; w++) {
        handle_join(pool->members[w - 1].thread.handle);
    }
    condition_end(&pool->idle);
    condition_end(&pool->wake);
    mutex_end(&pool->mutex);
}

Thread *parallel_thread_start(Arena *arena, void (*run)(void *user), void *user) {
    Thread *thread = arena_take(arena, 1, sizeof *thread);
    if (thread == NULL || !thread_begin(thread, run, user)) {
        return NULL;
    }
    return thread;
}

void parallel_thread_join(Thread *thread) {
    handle_join(thread->handle);
}

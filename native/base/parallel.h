/* parallel.h - the only file that knows threads: pthreads, or Win32 on Windows.
 *
 * parallel_run hands out task numbers 0..tasks-1 in any order to any worker, so a task
 * must write only what belongs to its number; sums over tasks are then made in the
 * order of the numbers. That is why results do not depend on the number of threads. */
#ifndef OSSIFY_PARALLEL_H
#define OSSIFY_PARALLEL_H

#include "base/arena.h"

enum { MOST_THREADS = 256 };

typedef struct Pool Pool;
typedef void (*PoolTask)(void *user, int task, int worker); /* worker: 0..parallel_workers-1 */

/* threads <= 0: one for each core. NULL when memory is out (arena->failed) or the system
 * refuses a thread (arena->failed stays 0). */
Pool *parallel_start(Arena *arena, int threads);
int parallel_workers(const Pool *pool);
/* Returns when all tasks are done; the calling thread is worker 0. Not from inside a task. */
void parallel_run(Pool *pool, int tasks, PoolTask task, void *user);
void parallel_end(Pool *pool); /* before arena_end; NULL is fine */

typedef struct Thread Thread; /* for jobs */
/* NULL as for parallel_start. */
Thread *parallel_thread_start(Arena *arena, void (*run)(void *user), void *user);
void parallel_thread_join(Thread *thread); /* before arena_end */

#endif

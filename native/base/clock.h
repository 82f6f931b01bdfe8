/* clock.h - monotonic time. */
#ifndef OSSIFY_CLOCK_H
#define OSSIFY_CLOCK_H

double clock_seconds(void);

#endif

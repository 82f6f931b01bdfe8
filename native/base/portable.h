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

#endif

/* arena.h - all memory of one call: taken piece by piece, given back at once.
 *
 * Rooms take everything they need and test `failed` once. A piece is zeroed and
 * aligned to 64 bytes. Not for use from inside parallel tasks. */
#ifndef OSSIFY_ARENA_H
#define OSSIFY_ARENA_H

#include <stddef.h>

#include "ossify.h"

typedef struct ArenaPiece ArenaPiece;

typedef struct Arena {
    ossify_allocate allocate;
    ossify_release release;
    void *user;
    ArenaPiece *newest;
    int failed;     /* 1 once any piece could not be had */
    size_t refused; /* bytes of the first such piece */
} Arena;

/* settings may be NULL: malloc and free. */
void arena_start(Arena *arena, const ossify_settings *settings);
/* count * size bytes, zeroed; NULL (and failed = 1) when memory is out or the product overflows. */
void *arena_take(Arena *arena, size_t count, size_t size);
/* Gives one piece back early; NULL is fine. */
void arena_give(Arena *arena, void *memory);
/* Gives back everything taken since the mark: arena_return(a, mark) after mark = arena_mark(a).
 * What was newest at the mark must not be given back in between. */
ArenaPiece *arena_mark(const Arena *arena);
void arena_return(Arena *arena, ArenaPiece *mark);
void arena_end(Arena *arena);

#endif

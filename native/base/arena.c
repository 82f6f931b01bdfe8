/* arena.c - see arena.h.
 *
 * Every piece is one block of the caller's allocator:
 *
 *     | slack | ArenaPiece | memory, aligned to 64 bytes ... |
 *
 * and the pieces form a doubly linked list, newest first, so that one piece can be
 * given back early at no cost and a mark is just the piece that was newest. */
#include "base/arena.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

struct ArenaPiece {
    ArenaPiece *older;
    ArenaPiece *newer;
    void *block; /* as the allocator gave it */
};

/* calloc rather than malloc: large blocks come zeroed from the system and need no second pass. */
static void *block_take(Arena *arena, size_t bytes) {
    void *block;
    if (arena->allocate == NULL) {
        return calloc(1, bytes);
    }
    block = arena->allocate(arena->user, bytes);
    if (block != NULL) {
        memset(block, 0, bytes);
    }
    return block;
}

static void block_give(Arena *arena, void *block) {
    if (arena->release == NULL) {
        free(block);
    } else {
        arena->release(arena->user, block);
    }
}

static void *memory_of(ArenaPiece *piece) {
    return (unsigned char *)piece + sizeof(ArenaPiece);
}

static ArenaPiece *piece_of(void *memory) {
    return (ArenaPiece *)(void *)((unsigned char *)memory - sizeof(ArenaPiece));
}

static ArenaPiece *piece_in(void *block) {
    uintptr_t first = (uintptr_t)block + sizeof(ArenaPiece);
    size_t slack = (size_t)((ALIGNMENT - first % ALIGNMENT) % ALIGNMENT);
    return (ArenaPiece *)(void *)((unsigned char *)block + slack);
}

static void *out_of_memory(Arena *arena, size_t bytes) {
    if (!arena->failed) {
        arena->refused = bytes;
    }
    arena->failed = 1;
    return NULL;
}

void arena_start(Arena *arena, const ossify_settings *settings) {
    memset(arena, 0, sizeof *arena);
    if (settings != NULL && settings->allocate != NULL && settings->release != NULL) {
        arena->allocate = settings->allocate;
        arena->release = settings->release;
        arena->user = settings->memory_user;
    }
}

void *arena_take(Arena *arena, size_t count, size_t size) {
    const size_t overhead = sizeof(ArenaPiece) + ALIGNMENT - 1;
    ArenaPiece *piece;
    void *block;
    if (size != 0 && count > (PTRDIFF_MAX - overhead) / size) {
        return out_of_memory(arena, PTRDIFF_MAX);
    }
    block = block_take(arena, count * size + overhead);
    if (block == NULL) {
        return out_of_memory(arena, count * size);
    }
    piece = piece_in(block);
    piece->block = block;
    piece->older = arena->newest;
    if (piece->older != NULL) {
        piece->older->newer = piece;
    }
    arena->newest = piece;
    return memory_of(piece);
}

void arena_give(Arena *arena, void *memory) {
    ArenaPiece *piece;
    if (memory == NULL) {
        return;
    }
    piece = piece_of(memory);
    if (piece->older != NULL) {
        piece->older->newer = piece->newer;
    }
    if (piece->newer != NULL) {
        piece->newer->older = piece->older;
    } else {
        arena->newest = piece->older;
    }
    block_give(arena, piece->block);
}

ArenaPiece *arena_mark(const Arena *arena) {
    return arena->newest;
}

void arena_return(Arena *arena, ArenaPiece *mark) {
    while (arena->newest != mark) {
        assert(arena->newest != NULL && "the piece under a mark was given back before arena_return");
        arena_give(arena, memory_of(arena->newest));
    }
}

void arena_end(Arena *arena) {
    arena_return(arena, NULL);
}

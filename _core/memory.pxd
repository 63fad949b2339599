"""Memory blocks that kernel objects claim and pass on to the next object.

A search needs megabytes for a millisecond. Were they returned to the system each time, every page would be a fault of
the next search: half its time. Blocks of `SMALL` bytes and more are kept when they are freed, up to `KEPT` bytes for
each compiled module. Call all of it with the GIL only; `free` and what it calls need no declared GIL only because they
touch no Python object.
"""

from libc.string cimport memcpy, memset

cdef extern from *:
    """
    #include <stdlib.h>

    #define WB_SMALL ((size_t)1 << 14)
    #define WB_KEPT ((size_t)1 << 26)

    typedef struct wb_block {
        size_t capacity;          /* of what follows this header */
        struct wb_block* next;    /* among kept blocks of one class */
    } wb_block;                   /* 16 bytes on 64-bit machines: what follows is aligned like malloc's */

    static wb_block* wb_kept[256];
    static size_t wb_kept_bytes = 0;

    /* Four classes for each power of two, so that at most a fifth of a block is left over. */
    static size_t wb_round(size_t size, int* at) {
        int power = 14;
        size_t step;
        *at = -1;
        if (size < WB_SMALL) return size;
        while (power < 60 && ((size_t)1 << (power + 1)) <= size) power++;
        step = (size_t)1 << (power - 2);
        size = (size + step - 1) / step * step;
        *at = 4 * power + (int)(size / step) - 4;
        return size;
    }

    static void* wb_claim(size_t size) {
        int at;
        wb_block* block;
        if (size > (size_t)1 << 60) return NULL;    /* no class is as large */
        size = wb_round(size, &at);
        if (at >= 0 && wb_kept[at] != NULL) {
            block = wb_kept[at];
            wb_kept[at] = block->next;
            wb_kept_bytes -= block->capacity;
        } else {
            block = (wb_block*)malloc(sizeof(wb_block) + size);
            if (block == NULL) return NULL;
            block->capacity = size;
        }
        return block + 1;
    }

    static size_t wb_capacity(const void* memory) {
        return ((const wb_block*)memory - 1)->capacity;
    }

    static void wb_leave(void* memory) {
        int at;
        wb_block* block;
        if (memory == NULL) return;
        block = (wb_block*)memory - 1;
        wb_round(block->capacity, &at);
        if (at < 0 || wb_kept_bytes + block->capacity > WB_KEPT) {
            free(block);
            return;
        }
        block->next = wb_kept[at];
        wb_kept[at] = block;
        wb_kept_bytes += block->capacity;
    }
    """
    void* wb_claim(size_t size) noexcept nogil
    size_t wb_capacity(const void* memory) noexcept nogil
    void wb_leave(void* memory) noexcept nogil


cdef inline void* claim(size_t size) except NULL:
    """Allocate memory that the caller writes before reading."""
    cdef void* memory = wb_claim(size)
    if memory == NULL:
        raise MemoryError
    return memory


cdef inline void* grab(size_t size) except NULL:
    """Allocate zeroed memory."""
    cdef void* memory = claim(size)
    memset(memory, 0, size)
    return memory


cdef inline void* regrow(void* memory, size_t size) except NULL:
    """Reallocate memory, keeping its content; NULL allocates new memory. The old block is freed."""
    cdef void* grown = claim(size)
    if memory != NULL:
        memcpy(grown, memory, min(size, wb_capacity(memory)))
        wb_leave(memory)
    return grown


cdef inline void free(void* memory) noexcept nogil:
    """Free claimed memory; NULL is ignored."""
    wb_leave(memory)

"""Memory allocation for kernel objects that keeps freed blocks for the next object.

A search needs megabytes for a millisecond. If they were returned to the system each time, page faults would take half
of the next search. Blocks of `SMALL` bytes and more are kept when freed, up to `KEPT` bytes per compiled module. Call
these functions with the GIL only; `free` is declared without it because it touches no Python object.
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
    """Allocate ``size`` bytes, not zeroed."""
    cdef void* memory = wb_claim(size)
    if memory == NULL:
        raise MemoryError
    return memory


cdef inline void* grab(size_t size) except NULL:
    """Allocate ``size`` zeroed bytes."""
    cdef void* memory = claim(size)
    memset(memory, 0, size)
    return memory


cdef inline void* regrow(void* memory, size_t size) except NULL:
    """Change the size of a block, keeping its content, and free the old block; NULL allocates a new block."""
    cdef void* grown = claim(size)
    if memory != NULL:
        memcpy(grown, memory, min(size, wb_capacity(memory)))
        wb_leave(memory)
    return grown


cdef inline void free(void* memory) noexcept nogil:
    """Free a block of `claim`, `grab` or `regrow`; NULL is ignored."""
    wb_leave(memory)

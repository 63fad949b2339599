"""Counting and finding bits in 64-bit words.

A device set of n devices takes ``(n + 63) // 64`` little-endian words: device i is bit ``i & 63`` of word ``i >> 6``.
"""

from libc.stdint cimport uint64_t

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static __inline int wb_popcount(unsigned long long x) { return (int)__popcnt64(x); }
    static __inline int wb_ctz(unsigned long long x) { unsigned long i; _BitScanForward64(&i, x); return (int)i; }
    static __inline int wb_clz(unsigned long long x) { unsigned long i; _BitScanReverse64(&i, x); return 63 - (int)i; }
    #else
    /* A wheel is built for the oldest x86-64, where the builtin is a call of a table look-up, several times dearer than
       the instruction that every machine since 2008 has; asking for it costs one predictable branch. */
    #if defined(__GNUC__) && defined(__x86_64__) && defined(__linux__) && !defined(__POPCNT__)
    static inline int wb_popcount(unsigned long long x) {
        if (__builtin_cpu_supports("popcnt")) {
            unsigned long long out;
            __asm__("popcntq %1, %0" : "=r"(out) : "r"(x) : "cc");
            return (int)out;
        }
        return __builtin_popcountll(x);
    }
    #else
    static inline int wb_popcount(unsigned long long x) { return __builtin_popcountll(x); }
    #endif
    static inline int wb_ctz(unsigned long long x) { return __builtin_ctzll(x); }
    static inline int wb_clz(unsigned long long x) { return __builtin_clzll(x); }
    #endif
    """
    # wb_ctz(0) and wb_clz(0) are undefined in C: callers test for zero first.
    int popcount "wb_popcount"(uint64_t x) noexcept nogil
    int ctz "wb_ctz"(uint64_t x) noexcept nogil
    int clz "wb_clz"(uint64_t x) noexcept nogil

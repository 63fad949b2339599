"""State of a leaf switch, given the votes of pods; codes and rows are described in ``workbench.kernels.switches``."""

from libc.stdint cimport int8_t, int64_t

cdef enum:
    IDLE = 0
    SHARED = 1
    EXCLUSIVE = 2
    # Rows of the sums after those of the states.
    UNHEALTHY_ROW = 3
    FOUNDATION_ROW = 4


cdef inline int8_t state_of(int64_t say_shared, int64_t say_exclusive) noexcept nogil:
    """State of a switch from its votes: shared if any pod votes shared, else exclusive if any does, else idle."""
    if say_shared > 0:
        return SHARED
    return EXCLUSIVE if say_exclusive > 0 else IDLE

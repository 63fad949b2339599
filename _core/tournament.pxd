"""Tournament tree over the HyperNodes of one tier: finds the one with the largest score, ties by the smallest number.

The tree has m leaves, one for each HyperNode in the array ``domains``; leaf i is ``domains[i]``, and ``key[i]`` is its
score. The inner nodes are 1 (the root) to m - 1; ``best[i]`` is the leaf with the largest score below inner node i.
"""

from libc.stdint cimport int32_t, int64_t


cdef struct Tournament:
    int64_t attempt, seen, first, m
    bint empty             # no leaf has a solution: counts only sink within an attempt
    bint played            # whether `best` is known; until a leaf changes its winner is enough
    int32_t winner
    double* key            # of each leaf
    int32_t* best          # leaf that wins below each inner node


cdef inline int32_t winner_below(const Tournament* tree, int64_t i) noexcept nogil:
    return tree.best[i] if i < tree.m else <int32_t>(i - tree.m)


cdef inline int32_t better(const Tournament* tree, const int32_t* domains, int32_t a, int32_t b) noexcept nogil:
    if tree.key[a] != tree.key[b]:
        return a if tree.key[a] > tree.key[b] else b
    return a if domains[a] < domains[b] else b


cdef inline int32_t play(const Tournament* tree, const int32_t* domains, int64_t i) noexcept nogil:
    return better(tree, domains, winner_below(tree, 2 * i), winner_below(tree, 2 * i + 1))


cdef inline void play_all(Tournament* tree, const int32_t* domains) noexcept nogil:
    cdef int64_t i
    for i in range(tree.m - 1, 0, -1):
        tree.best[i] = play(tree, domains, i)
    tree.played = True
    tree.winner = winner_below(tree, 1)


cdef inline void set_key(Tournament* tree, const int32_t* domains, int64_t i, double key) noexcept nogil:
    tree.key[i] = key
    if not tree.played:
        play_all(tree, domains)
        return
    i += tree.m
    while i > 1:
        i >>= 1
        tree.best[i] = play(tree, domains, i)
    tree.winner = winner_below(tree, 1)

"""Fills nodes whose GPUs pods may share, pod by pod, and keeps the fragmentation of every node.

The rules and the arguments are described, and checked, in ``workbench.kernels.gpu_sharing``.

The score of a pod shape on a node depends on nothing but this node, so that each shape keeps its scores and computes
again only those of nodes that changed since the shape was asked for last; a log of changed nodes says which.
"""

from libc.math cimport exp, floor
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t

import numpy as np

cdef enum:
    WIDTH = 64
    WHOLE = 1000
    # Numbers of the rules, as in workbench.kernels.gpu_sharing.
    RANDOM = 0
    DOT_PRODUCT = 1
    CLUSTERING = 2
    PACKING = 3
    BEST_FIT = 4
    FGD = 5
    HEADROOM = 6

# Below any score: the pod does not fit.
cdef double NEVER = -1e300
# The largest node of the study: 128 CPUs and 8 GPUs, in thousandths.
cdef double MOST_CPU = 128000.0
cdef double MOST_GPU = 8000.0


cdef struct Shape:
    int64_t cpu
    int32_t milli
    int32_t count
    const uint8_t* accepts


cdef class _Known:
    """A pod shape with its scores on every node."""

    cdef Shape shape
    cdef object accepts
    cdef double[::1] scores
    cdef int8_t[::1] devices
    # 1 where the pod strands more GPU thousandths than the rule headroom allows in a cluster that is nearly full.
    cdef uint8_t[::1] strands
    # How much of the log of changes the scores know; -1: nothing.
    cdef int64_t seen


cdef class GpuSharing:
    """Free CPU, other resources and GPU thousandths of nodes; typical shapes by which fragmentation is measured."""

    cdef readonly int64_t n, width
    cdef readonly double fragmented
    cdef readonly int64_t allocated
    # GPU thousandths of all nodes, and those that are idle.
    cdef int64_t total, idle
    cdef int64_t[::1] cpu
    cdef int64_t[:, ::1] others
    cdef int32_t[:, ::1] free
    cdef int32_t[::1] gpus, model, order
    # Pods on each node by kind: those with a share of a GPU, then those with 1, 2, ... whole GPUs.
    cdef int32_t[:, ::1] kinds
    cdef int64_t[::1] typical_cpu
    cdef int32_t[::1] typical_milli, typical_count
    cdef uint64_t[::1] typical_models
    cdef double[::1] frequency
    # Shapes 0 to `scored` judge placements; those from `measured` on, the same or others, measure the fragmentation.
    cdef int64_t scored, measured
    # Fragmentation of each node by the shapes that judge, and by those that measure.
    cdef double[::1] judged, fragments
    cdef int rule
    # Whether each pod draws among the nodes with the best score, instead of taking the first in the order.
    cdef bint fresh
    cdef double[::1] weights
    cdef list shapes
    cdef int32_t[::1] log
    cdef int64_t logged
    cdef int64_t[::1] mark
    cdef int64_t marks

    def __init__(
        self, const int64_t[::1] cpu not None, const int64_t[:, ::1] others not None,
        const int32_t[:, ::1] free not None, const int32_t[::1] gpus not None, const int32_t[::1] model not None,
        const int32_t[:, ::1] kinds not None, const int32_t[::1] order not None,
        const int64_t[::1] typical_cpu not None, const int32_t[::1] typical_milli not None,
        const int32_t[::1] typical_count not None, const uint64_t[::1] typical_models not None,
        const double[::1] frequency not None, int64_t scored, int rule, const double[::1] weights not None,
        bint fresh,
    ):
        cdef int64_t i, g
        self.n, self.width = free.shape[0], free.shape[1]
        self.cpu, self.others, self.free = np.array(cpu), np.array(others), np.array(free)
        self.gpus, self.model, self.order = np.array(gpus), np.array(model), np.array(order)
        self.kinds = np.array(kinds)
        self.typical_cpu, self.typical_milli = np.array(typical_cpu), np.array(typical_milli)
        self.typical_count, self.typical_models = np.array(typical_count), np.array(typical_models)
        self.frequency = np.array(frequency)
        self.rule, self.weights, self.fresh = rule, np.array(weights), fresh
        self.scored, self.measured = scored, 0 if scored == self.frequency.shape[0] else scored
        self.judged, self.fragments = np.zeros(self.n), np.zeros(self.n)
        self.shapes = []
        self.log = np.zeros(1024, dtype=np.int32)
        self.mark = np.full(self.n, -1, dtype=np.int64)
        for i in range(self.n):
            self.measure(i)
            self.total += WHOLE * <int64_t>self.gpus[i]
            for g in range(self.gpus[i]):
                self.idle += self.free[i, g]

    cdef void measure(self, int64_t node) noexcept nogil:
        """Compute the fragmentation of a node and add it to the cluster's, which does not hold it yet."""
        self.judged[node] = self.fragments_of(node, self.cpu[node], &self.free[node, 0], 0, self.scored)
        if self.measured:
            self.fragments[node] = self.fragments_of(
                node, self.cpu[node], &self.free[node, 0], self.measured, self.frequency.shape[0]
            )
        else:
            self.fragments[node] = self.judged[node]
        self.fragmented += self.fragments[node]

    cdef double fragments_of(
        self, int64_t node, int64_t cpu, const int32_t* free, int64_t first, int64_t last
    ) noexcept nogil:
        """Thousandths on a node that typical shapes, weighted by frequency, cannot use."""
        # A sum per reason, in this order, as the study's program adds: a difference of 0 must come out as 0.
        cdef double neither = 0.0, no_gpu = 0.0, no_cpu = 0.0, cpu_fits = 0.0, cpu_lacks = 0.0, no_access = 0.0
        cdef int64_t t, g, here = self.gpus[node], idle = 0, small
        cdef int32_t fitting
        cdef uint64_t bit = <uint64_t>1 << self.model[node]
        cdef bint enough
        for g in range(here):
            idle += free[g]
        if not idle:
            return 0.0
        for t in range(first, last):
            enough = cpu >= self.typical_cpu[t]
            if not self.typical_count[t]:
                if enough:
                    cpu_fits += self.frequency[t] * idle
                else:
                    cpu_lacks += self.frequency[t] * idle
                continue
            if not self.typical_models[t] & bit:
                no_access += self.frequency[t] * idle
                continue
            small, fitting = 0, 0
            for g in range(here):
                if free[g] < self.typical_milli[t]:
                    small += free[g]
                else:
                    fitting += 1
            if fitting < self.typical_count[t]:
                if enough:
                    no_gpu += self.frequency[t] * idle
                else:
                    neither += self.frequency[t] * idle
            elif enough:
                no_gpu += self.frequency[t] * small
            else:
                no_cpu += self.frequency[t] * idle
        return neither + no_gpu + no_cpu + cpu_fits + cpu_lacks + no_access

    cdef double score(self, int64_t node, const Shape* shape, int8_t* device, uint8_t* strands) noexcept nogil:
        """Score of a node for a pod, and the GPU that a share takes; NEVER if the pod does not fit (others aside)."""
        cdef int64_t g, here = self.gpus[node], idle = 0, entirely = 0, asked = <int64_t>shape.milli * shape.count
        cdef int32_t least = WHOLE + 1, fitting = 0
        device[0] = -1
        strands[0] = 0
        if self.cpu[node] < shape.cpu or (shape.accepts != NULL and not shape.accepts[node]):
            return NEVER
        for g in range(here):
            idle += self.free[node, g]
            entirely += self.free[node, g] == WHOLE
            if shape.count and self.free[node, g] >= shape.milli:
                fitting += 1
                if self.free[node, g] < least:
                    least = self.free[node, g]
                    device[0] = <int8_t>g
        if fitting < shape.count:
            return NEVER
        if self.rule == DOT_PRODUCT:
            return floor(100 * (1 - 0.5 * (
                self.cpu[node] / MOST_CPU * (shape.cpu / MOST_CPU) + idle / MOST_GPU * (asked / MOST_GPU)
            )))
        if self.rule == BEST_FIT:
            return floor(100 * (
                1 - 0.5 * ((self.cpu[node] - shape.cpu) / MOST_CPU) - 0.5 * ((idle - asked) / MOST_GPU)
            ))
        if self.rule == CLUSTERING:
            return self.clustering(node, shape, idle)
        if self.rule == PACKING:
            return self.packing(node, shape, entirely)
        if self.rule == FGD or self.rule == HEADROOM:
            return self.descent(node, shape, idle, device, strands)
        return 0.0

    cdef double clustering(self, int64_t node, const Shape* shape, int64_t idle) noexcept nogil:
        """Fuller nodes and nodes whose pods ask for GPUs as this one does, by steps of 25."""
        cdef int64_t kind, own, others = 0, base
        if not shape.count:
            return 0.0
        own = 0 if shape.milli < WHOLE else shape.count
        for kind in range(self.width + 1):
            others += self.kinds[node, kind] > 0 and kind != own
        # A machine with more than eight GPUs counts as an empty one of eight.
        base = max(0, 25 * (<int64_t>MOST_GPU - idle) // <int64_t>MOST_GPU)
        if self.kinds[node, own]:
            return base + (50 if others else 75)
        return base + (0 if others else 25)

    cdef double packing(self, int64_t node, const Shape* shape, int64_t entirely) noexcept nogil:
        """GPUs that are shared already before free ones, and nodes in use before empty ones."""
        cdef int64_t g, here = self.gpus[node], wanted = shape.count, whole = 0, part = 0, best
        cdef uint64_t taken = 0
        if not shape.count:
            return 0.0
        if entirely == here:
            return max(33 - here, here)
        while wanted:
            best = -1
            for g in range(here):
                if taken >> g & 1 or self.free[node, g] < shape.milli:
                    continue
                if best < 0 or self.free[node, g] < self.free[node, best]:
                    best = g
            taken |= <uint64_t>1 << best
            whole += self.free[node, best] == WHOLE
            part += 100 * self.free[node, best] // WHOLE
            wanted -= 1
        if whole:
            return max(50 - whole, 33)
        return max(100 - part // 10, 50)

    cdef double descent(
        self, int64_t node, const Shape* shape, int64_t idle, int8_t* device, uint8_t* strands
    ) noexcept nogil:
        """How little fragmentation a pod adds; writes the GPU for which this is best."""
        cdef int32_t after[WIDTH]
        cdef int64_t g, k, here = self.gpus[node], wanted = shape.count
        cdef double best = NEVER, found, lost
        for g in range(here):
            after[g] = self.free[node, g]
        if shape.milli == WHOLE or not shape.count:
            for g in range(here):
                if wanted and after[g] == WHOLE:
                    after[g] = 0
                    wanted -= 1
            lost = self.growth(node, shape, after)
            strands[0] = lost > self.weights[4]
            return self.worth(shape, lost, idle)
        for g in range(here):
            if after[g] < shape.milli:
                continue
            for k in range(g):
                # GPUs with as much left are alike: the first stands for all.
                if after[k] == after[g]:
                    break
            else:
                after[g] -= shape.milli
                lost = self.growth(node, shape, after)
                found = self.worth(shape, lost, idle)
                after[g] += shape.milli
                if found > best:
                    best = found
                    strands[0] = lost > self.weights[4]
                    device[0] = <int8_t>g
        return best

    cdef double growth(self, int64_t node, const Shape* shape, const int32_t* free) noexcept nogil:
        return self.fragments_of(node, self.cpu[node] - shape.cpu, free, 0, self.scored) - self.judged[node]

    cdef double worth(self, const Shape* shape, double lost, int64_t idle) noexcept nogil:
        """Score for a growth of fragmentation."""
        if self.rule == FGD:
            return floor(100 * (1 / (1 + exp(lost / 1000))))
        return floor(
            # Rounded about 0, so that pods that strand nothing are in the middle of a step.
            0.5 + self.weights[1] * (
                100 * (1 / (1 + exp(lost / self.weights[0]))) - 50
                - (0.0 if shape.count else self.weights[2] * idle / MOST_GPU)
            )
        )

    def add_shape(self, int64_t cpu, int32_t milli, int32_t count, accepts):
        """Make a pod shape known; ``accepts`` (uint8 per node) or None. Returns its number."""
        cdef _Known known = _Known()
        cdef const uint8_t[::1] flags
        known.shape.cpu, known.shape.milli, known.shape.count = cpu, milli, count
        known.shape.accepts = NULL
        known.accepts = accepts
        if accepts is not None and self.n:
            flags = accepts
            known.shape.accepts = &flags[0]
        known.scores, known.devices = np.full(self.n, NEVER), np.full(self.n, -1, dtype=np.int8)
        known.strands = np.zeros(self.n, dtype=np.uint8)
        known.seen = -1
        self.shapes.append(known)
        return len(self.shapes) - 1

    cdef void update(self, _Known known) noexcept nogil:
        """Compute the scores of a shape on the nodes that changed since it was asked for last."""
        cdef int64_t i, node
        if known.seen < 0 or self.logged - known.seen >= self.n:
            for node in range(self.n):
                known.scores[node] = self.score(node, &known.shape, &known.devices[node], &known.strands[node])
        else:
            self.marks += 1
            for i in range(known.seen, self.logged):
                node = self.log[i]
                if self.mark[node] != self.marks:
                    self.mark[node] = self.marks
                    known.scores[node] = self.score(node, &known.shape, &known.devices[node], &known.strands[node])
        known.seen = self.logged

    cdef bint has_others(self, int64_t node, const int64_t* wanted) noexcept nogil:
        cdef int64_t k
        for k in range(self.others.shape[1]):
            if self.others[node, k] < wanted[k]:
                return False
        return True

    cdef int64_t best_node(self, _Known known, const int64_t* wanted, double uniform) noexcept nogil:
        cdef int64_t i, node, best = -1, feasible = 0, equals = 0
        cdef double top = NEVER
        cdef bint scarce = self.rule == HEADROOM and self.idle < self.weights[3] * self.total
        if self.rule != RANDOM:
            for i in range(self.n):
                node = self.order[i]
                if scarce and known.strands[node]:
                    continue
                if known.scores[node] > top and self.has_others(node, wanted):
                    top = known.scores[node]
                    best = node
                    equals = 1
                elif self.fresh and best >= 0 and known.scores[node] == top and self.has_others(node, wanted):
                    equals += 1
            if equals > 1:
                equals = <int64_t>(uniform * equals)
                for i in range(self.n):
                    node = self.order[i]
                    if known.scores[node] != top or (scarce and known.strands[node]):
                        continue
                    if self.has_others(node, wanted):
                        if not equals:
                            return node
                        equals -= 1
            return best
        for node in range(self.n):
            feasible += known.scores[node] != NEVER and self.has_others(node, wanted)
        feasible = <int64_t>(uniform * feasible)
        for i in range(self.n):
            node = self.order[i]
            if known.scores[node] != NEVER and self.has_others(node, wanted):
                if not feasible:
                    return node
                feasible -= 1
        return -1

    cdef uint64_t gpus_for(self, int64_t node, _Known known, double uniform) noexcept nogil:
        """GPUs of a pod on a node that has room: the lowest free ones, or the one that is shared."""
        cdef int64_t g, wanted = known.shape.count, fitting = 0
        cdef uint64_t mask = 0
        if not wanted:
            return 0
        if known.shape.milli == WHOLE:
            for g in range(self.gpus[node]):
                if wanted and self.free[node, g] == WHOLE:
                    mask |= <uint64_t>1 << g
                    wanted -= 1
            return mask
        if self.rule != RANDOM:
            return <uint64_t>1 << known.devices[node]
        for g in range(self.gpus[node]):
            fitting += self.free[node, g] >= known.shape.milli
        fitting = <int64_t>(uniform * fitting)
        for g in range(self.gpus[node]):
            if self.free[node, g] >= known.shape.milli:
                if not fitting:
                    return <uint64_t>1 << g
                fitting -= 1
        return 0

    cdef void change(self, int64_t node, const Shape* shape, const int64_t* wanted, uint64_t mask, int sign):
        """Take the resources of a pod from a node (``sign`` 1), or give them back (-1)."""
        cdef int64_t g, k
        for g in range(self.gpus[node]):
            if mask >> g & 1:
                self.free[node, g] -= sign * shape.milli
                self.allocated += sign * shape.milli
                self.idle -= sign * shape.milli
        self.cpu[node] -= sign * shape.cpu
        for k in range(self.others.shape[1]):
            self.others[node, k] -= sign * wanted[k]
        if shape.count:
            self.kinds[node, 0 if shape.milli < WHOLE else shape.count] += sign
        self.fragmented -= self.fragments[node]
        self.measure(node)
        if self.logged == self.log.shape[0]:
            self.log = np.concatenate([self.log, np.zeros_like(self.log)])
        self.log[self.logged] = <int32_t>node
        self.logged += 1

    def fill(
        self, const int32_t[::1] numbers not None, const int64_t[:, ::1] others not None,
        const double[:, ::1] uniform not None, int32_t[::1] nodes not None, uint64_t[::1] masks not None,
        int64_t[::1] allocated not None, double[::1] fragmented not None,
    ):
        """Place pods one after another; write node (-1: it fits nowhere), GPUs and the cluster's state after each."""
        cdef int64_t i, node, p = numbers.shape[0]
        cdef int64_t nothing = 0
        cdef const int64_t* wanted
        cdef _Known known
        for i in range(p):
            known = <_Known>self.shapes[numbers[i]]
            wanted = &others[i, 0] if others.shape[1] else &nothing
            self.update(known)
            node = self.best_node(known, wanted, uniform[i, 0])
            nodes[i] = <int32_t>node
            masks[i] = 0
            if node >= 0:
                masks[i] = self.gpus_for(node, known, uniform[i, 1])
                self.change(node, &known.shape, wanted, masks[i], 1)
            allocated[i] = self.allocated
            fragmented[i] = self.fragmented

    def give_back(self, int64_t number, int64_t node, uint64_t mask, const int64_t[::1] others not None):
        """Free what a pod of a known shape holds on a node."""
        cdef int64_t nothing = 0
        cdef _Known known = <_Known>self.shapes[number]
        self.change(node, &known.shape, &others[0] if others.shape[0] else &nothing, mask, -1)

    def scores(self, int64_t number, double[::1] found not None):
        """Write the score of every node for a shape; NaN where it does not fit (other resources aside)."""
        cdef int64_t node
        cdef _Known known = <_Known>self.shapes[number]
        self.update(known)
        for node in range(self.n):
            found[node] = np.nan if known.scores[node] == NEVER else known.scores[node]

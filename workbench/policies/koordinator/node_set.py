"""Chooses the nodes for a whole group of pods: fewest nodes, then fewest GPUs left over, then bandwidth, then names.

Source: Koordinator proposal 20230314 "GPU topology-aware scheduling", "Node Selection"; the order of the tie-breaks is
that of docs/reference/gpu-topology.md, section A3.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["NodeClass", "NodeSet", "choose_nodes"]

Pods = tuple[int, ...]

#: Pods that a node takes, none if it takes none; pods that are left then, and their number.
_Deal = tuple[Pods, Pods, int]
#: Nodes with what they take, the last one first: sets that begin alike share their beginning.
_Places = tuple["_Places", int, Pods] | None
_State = tuple[int, _Places]

# Work before the search gives up proving that its node set is the best: partial solutions, large ones counting more.
_MOST_WORK = 300_000


@dataclass(frozen=True)
class NodeClass:
    """Nodes that are interchangeable for a group of pods: equal in everything that the pods request.

    Attributes
    ----------
    nodes : tuple of int
        Indices of the nodes, in byte order of their names.
    ranks : tuple of int
        Rank of each node's name among all names.
    free : int
        Number of free GPUs of each node.
    room : tuple of tuple of int
        Combinations of pods that one node can hold, each as the number of pods of each shape.
    values : tuple of float
        Bottleneck in GB/s of the best set of 0, 1, ... ``free`` GPUs; never rises with the number of GPUs.
    """

    nodes: tuple[int, ...]
    ranks: tuple[int, ...]
    free: int
    room: tuple[Pods, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class NodeSet:
    """The nodes chosen for a group of pods, with the number of pods on each.

    `nodes`: tuple of (int, tuple of int); each node with the number of pods of each shape that it gets, in byte order
    of the nodes' names. `left`: free GPUs left over on these nodes. `proven`: whether no better set exists; False: the
    search ended early.
    """

    nodes: tuple[tuple[int, Pods], ...]
    left: int
    proven: bool = True


def choose_nodes(classes: Sequence[NodeClass], counts: Pods, gpus: Pods) -> NodeSet | None:
    """Choose nodes that together hold a whole group of pods.

    Returns None if no set of nodes holds all pods, or none was found before the search had to stop.

    `classes`: classes without a common node. `counts`: pods of each shape. `gpus`: GPUs of one pod of each shape. Order
    of preference: fewest nodes; fewest GPUs left over on them; largest bottleneck of the worst node; lexicographically
    smallest ranks of names. The best set is found by dynamic programming over the pods still to place, class by class.
    The search stops after a number of steps; the answer, with ``proven`` False, is then the best set apart from
    bandwidth, or the set that fills one node after another.
    """
    wanted = sum(n * g for n, g in zip(counts, gpus, strict=True))
    group = _Group(classes, counts, gpus)
    offers = group.offers(-float("inf"))
    greedy = _fullest_first(classes, offers, counts, gpus)
    limit = min(sum(counts), len(greedy)) if greedy is not None else sum(counts)
    budget = _Budget(_MOST_WORK)
    try:
        best = _best(group, -float("inf"), limit, budget)
    except _OutOfWork:
        if greedy is None:
            return None
        free = {node: c.free for c in classes for node in c.nodes}
        return NodeSet(group.by_name(greedy), sum(free[node] for node, _ in greedy) - wanted, proven=False)
    if best is None:
        return None
    best, proven = _widest(group, best, budget)
    return NodeSet(group.by_name(best.places), best.free - wanted, proven)


class _Group:
    """The pods to place and the classes of nodes that may hold them, as `choose_nodes` is asked.

    Classes of equal room, free GPUs and bandwidths are one *kind*: whatever the lowest bandwidth, they offer the same.
    """

    def __init__(self, classes: Sequence[NodeClass], counts: Pods, gpus: Pods) -> None:
        self.classes, self.counts, self.gpus = classes, counts, gpus
        kinds: dict[tuple[tuple[Pods, ...], int, tuple[float, ...]], int] = {}
        self.kind_of = [kinds.setdefault((c.room, c.free, c.values), len(kinds)) for c in classes]
        self.kinds = list(kinds)
        # What is known of each room is found by kind, because to look a room up is slow.
        known: dict[tuple[Pods, ...], dict[int, list[Pods]]] = {}
        self._known = [known.setdefault(room, {}) for room, *_ in self.kinds]

    @cached_property
    def place_of(self) -> dict[int, tuple[int, int]]:
        """Rank of the name and class of every node."""
        node, rank, of_class = (part.tolist() for part in self.lines)
        return dict(zip(node, zip(rank, of_class, strict=True), strict=True))

    def by_name(self, places: Sequence[tuple[int, Pods]]) -> tuple[tuple[int, Pods], ...]:
        """The places (nodes with the pods that they get) in byte order of the nodes' names."""
        return tuple(sorted(places, key=lambda place: self.place_of[place[0]]))

    @cached_property
    def lines(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Index, rank of the name and class of every node, by name."""
        node = np.array([node for c in self.classes for node in c.nodes], dtype=np.int64)
        rank = np.array([rank for c in self.classes for rank in c.ranks], dtype=np.int64)
        of_class = np.repeat(np.arange(len(self.classes)), [len(c.nodes) for c in self.classes])
        order = np.argsort(rank)
        return node[order], rank[order], of_class[order]

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Row of each kind: bottleneck (GB/s) of 0, 1, ... GPUs; NaN for more GPUs than its nodes have."""
        longest = max([len(values) for *_, values in self.kinds], default=0)
        rows = [values + (np.nan,) * (longest - len(values)) for *_, values in self.kinds]
        return np.array(rows, dtype=np.float64).reshape(len(rows), longest)

    def offers_of_kinds(self, floor: float) -> list[list[Pods]]:
        """For each kind, the largest sets of pods that a node holds with a bottleneck of `floor` GB/s or more."""
        # Bottlenecks never rise with the number of GPUs: as many numbers from 0 on are fast enough.
        fast = (self.values >= floor).sum(axis=1).tolist()
        offers = []
        for (room, *_), known, n_fast in zip(self.kinds, self._known, fast, strict=True):
            if n_fast not in known:
                known[n_fast] = self._largest(room, n_fast)
            offers.append(known[n_fast])
        return offers

    def _largest(self, room: tuple[Pods, ...], n_fast: int) -> list[Pods]:
        """The largest sets of pods of ``room`` with less than ``n_fast`` GPUs."""
        kept = {pods for pods in room if _gpus(pods, self.gpus) < n_fast}
        # What holds some pods holds fewer of them, so a vector is largest where no single pod can be added.
        found = (pods for pods in kept if any(pods) and not any(more in kept for more in _one_more(pods)))
        return sorted(found, reverse=True)

    def offers(self, floor: float) -> list[list[Pods]]:
        """`offers_of_kinds` for each class."""
        of_kinds = self.offers_of_kinds(floor)
        return [of_kinds[kind] for kind in self.kind_of]


class _OutOfWork(Exception):
    pass


@dataclass
class _Budget:
    """Limit of the search in counted steps instead of time, so that every machine stops at the same place."""

    left: int

    def spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise _OutOfWork


@dataclass(frozen=True)
class _NodeSet:
    used: int
    free: int
    places: tuple[tuple[int, Pods], ...]


def _one_more(pods: Pods) -> Iterator[Pods]:
    for i in range(len(pods)):
        yield (*pods[:i], pods[i] + 1, *pods[i + 1 :])


def _gpus(pods: Pods, gpus: Pods) -> int:
    return sum(n * g for n, g in zip(pods, gpus, strict=True))


def _best(group: _Group, floor: float, limit: int, budget: _Budget) -> _NodeSet | None:
    """Best set of at most `limit` nodes by number, GPUs left over and names, at `floor` GB/s or more; None: none."""
    offers = group.offers_of_kinds(floor)
    if len(group.counts) > 1 or any(len(some) > 1 for some in offers):
        return _search(group.classes, [offers[kind] for kind in group.kind_of], group.counts, limit, budget)
    # Pods of one shape: nodes with equal offers and as many free GPUs differ in their names alone, whatever their
    # links, and of such nodes those with the smallest names are taken first: they are one class of the search.
    merged: dict[tuple[Pods, int], int] = {}
    numbers = [
        merged.setdefault((some[0], free), len(merged)) if some else -1
        for some, (_, free, _) in zip(offers, group.kinds, strict=True)
    ]
    nodes, ranks, of_class = group.lines
    number = np.array([numbers[kind] for kind in group.kind_of], dtype=np.int64)[of_class]
    lists = []
    for i, (_, free) in enumerate(merged):
        here = np.flatnonzero(number == i)[:limit]
        lists.append(NodeClass(tuple(nodes[here].tolist()), tuple(ranks[here].tolist()), free, (), ()))
    found = _search(lists, [[offer] for offer, _ in merged], group.counts, limit, budget)
    if found is None:
        return None
    # The node that is not filled is the last one in the order of the classes as they were given.
    in_turn = []
    for node, _ in found.places:
        rank, i = group.place_of[node]
        offer = offers[group.kind_of[i]][0]
        in_turn.append((-offer[0], group.classes[i].ranks[0], rank, node, offer))
    rest, places = group.counts, []
    for *_, node, offer in sorted(in_turn):
        taken, rest, _ = _deal(offer, rest)
        places.append((node, taken))
    return replace(found, places=tuple(places))


def _in_turn(classes: Sequence[NodeClass], offers: Sequence[Sequence[Pods]]) -> list[int]:
    """Classes with the largest offers first, so that what those still to come can hold bounds early."""
    largest = {i: max(map(sum, some)) for i, some in enumerate(offers) if some}
    return sorted(largest, key=lambda i: (-largest[i], classes[i].ranks[0]))


def _search(
    classes: Sequence[NodeClass], offers: Sequence[Sequence[Pods]], counts: Pods, limit: int, budget: _Budget
) -> _NodeSet | None:
    """As `_best`, for pods of any shapes."""
    order = _in_turn(classes, offers)
    top = max((max(classes[i].ranks) for i in order), default=0) + 1
    # What is known of each offer: by the pods to place, the pods that the node takes and those that are left.
    deals: dict[Pods, dict[Pods, _Deal]] = {offer: {} for i in order for offer in offers[i]}
    # (nodes used, pods to place) -> (cost of the best such nodes, places on them)
    states: dict[tuple[int, Pods], _State] = {(0, counts): (0, None)}
    done: dict[int, _State] = {} if any(counts) else {0: (0, None)}
    most = -1
    for number in order:
        some = classes[number]
        if most != (largest := max(map(sum, offers[number]))):
            most = largest
            # What even the largest offers cannot complete now they never will: later ones are no larger.
            states = {key: state for key, state in states.items() if (limit - key[0]) * most >= sum(key[1]) > 0}
            if not states:
                break
        known = [(offer, deals[offer]) for offer in offers[number]]
        fresh = states
        for node, rank in zip(some.nodes, some.ranks, strict=True):
            # One number to compare by GPUs, then by names. Each name is a bit, the smaller the name, the higher: of two
            # sets of as many names, the one whose sorted ranks come first has the larger sum, and the smaller cost.
            cost = (some.free << top) - (1 << (top - 1 - rank))
            grown: dict[tuple[int, Pods], _State] = {}
            work = 0
            for (used, rest), (before, places) in fresh.items():
                for offer, by_rest in known:
                    deal = by_rest.get(rest)
                    if deal is None:
                        deal = by_rest[rest] = _deal(offer, rest)
                    taken, left, n_left = deal
                    if not taken:
                        continue
                    work += 1 + used // 16
                    total = before + cost
                    if not n_left:
                        if used + 1 not in done or total < done[used + 1][0]:
                            done[used + 1] = total, (places, node, taken)
                    elif (limit - used - 1) * most >= n_left:
                        key = (used + 1, left)
                        if key not in grown or total < grown[key][0]:
                            grown[key] = total, (places, node, taken)
            budget.spend(work)
            if not grown:
                break
            # What another node of the class adds starts from here; all of it is open to the classes that follow.
            for key, state in grown.items():
                if key not in states or state[0] < states[key][0]:
                    states[key] = state
            fresh = grown
    if not done:
        return None
    used = min(done)
    total, places = done[used]
    return _NodeSet(used, -(-total >> top), _listed(places))


def _deal(offer: Pods, rest: Pods) -> _Deal:
    taken = tuple(map(min, offer, rest))
    left = tuple(map(int.__sub__, rest, taken))
    return taken if any(taken) else (), left, sum(left)


def _listed(places: _Places) -> tuple[tuple[int, Pods], ...]:
    listed = []
    while places is not None:
        places, node, taken = places
        listed.append((node, taken))
    return tuple(reversed(listed))


def _widest(group: _Group, best: _NodeSet, budget: _Budget) -> tuple[_NodeSet, bool]:
    """Set with the best worst bandwidth, with as few nodes and spare GPUs as `best`; and whether that is proven."""

    def with_floor(floor: float) -> _NodeSet | None:
        found = _best(group, floor, best.used, budget)
        return found if found is not None and (found.used, found.free) == (best.used, best.free) else None

    # The lowest value rules nothing out: with it as the floor, `best` is the answer.
    floors = sorted({value for _, _, values in group.kinds for value in values})[1:]
    try:
        return _last(floors, with_floor) or best, True
    except _OutOfWork:
        return best, False


def _last(floors: Sequence[float], ask: Callable[[float], _NodeSet | None]) -> _NodeSet | None:
    """Answer of `ask` for the highest of the ascending `floors` that has one, as all lower ones must; None: none."""
    found = None
    low, high = 0, len(floors)
    while low < high:
        middle = (low + high) // 2
        answer = ask(floors[middle])
        if answer is None:
            high = middle
        else:
            found, low = answer, middle + 1
    return found


def _fullest_first(
    classes: Sequence[NodeClass], offers: Sequence[Sequence[Pods]], counts: Pods, gpus: Pods
) -> list[tuple[int, Pods]] | None:
    """Choose nodes greedily by the most remaining pods taken; the last node is the tightest that takes all."""
    # Nodes with equal offers differ in their free GPUs and names alone: only the first of them can be the best.
    waiting: dict[tuple[Pods, ...], list[tuple[int, int, int, int]]] = {}
    for i, c in enumerate(classes):
        waiting.setdefault(tuple(offers[i]), []).append((c.free, c.ranks[0], i, 0))
    for heap in waiting.values():
        heapq.heapify(heap)
    rest, places = counts, []
    while any(rest):
        best: tuple[tuple[int, int, int, int], tuple[Pods, ...], Pods] | None = None
        for kind, heap in waiting.items():
            for offer in kind if heap else ():
                taken = tuple(map(min, offer, rest))
                key = (-_gpus(taken, gpus), -sum(taken), *heap[0][:2])
                if any(taken) and (best is None or key < best[0]):
                    best = key, kind, taken
        if best is None:
            return None
        _, kind, taken = best
        free, _, i, at = heapq.heappop(waiting[kind])
        places.append((classes[i].nodes[at], taken))
        if at + 1 < len(classes[i].nodes):
            heapq.heappush(waiting[kind], (free, classes[i].ranks[at + 1], i, at + 1))
        rest = tuple(a - b for a, b in zip(rest, taken, strict=True))
    return places

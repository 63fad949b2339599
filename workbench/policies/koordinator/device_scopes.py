"""Koordinator's topology scopes: choose GPUs in the narrowest part of a machine that has enough of them.

Source: Koordinator, deviceshare GPU allocator, device topology; docs/reference/gpu-topology.md, part (b).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from workbench.policies.koordinator.devices import NodeDevice

__all__ = ["SCOPE_LEVEL", "Scope", "choose_in_scope", "scope_tree"]

#: Narrower scopes have higher levels.
SCOPE_LEVEL: Mapping[str, int] = {"": 0, "Node": 1, "NUMANode": 2, "PCIe": 3, "Device": 4}


@dataclass(frozen=True)
class Scope:
    """A part of a machine (node, NUMA node or PCIe root): its level, minor numbers of its GPUs, and its own parts."""

    level: int
    minors: tuple[int, ...]
    parts: tuple[Scope, ...] = ()


@dataclass(frozen=True)
class _GpuSet:
    depth: int
    in_use: int
    score: int
    minors: tuple[int, ...]


def scope_tree(gpus: Sequence[NodeDevice]) -> Scope:
    """Tree of a machine's scopes: the node, below it its NUMA nodes by number, below them their PCIe roots by name."""

    def minors(some: Sequence[NodeDevice]) -> tuple[int, ...]:
        return tuple(sorted(gpu.minor for gpu in some))

    numa = []
    for number in sorted({gpu.numa_node for gpu in gpus}):
        here = [gpu for gpu in gpus if gpu.numa_node == number]
        roots = sorted({gpu.pcie for gpu in here})
        parts = tuple(Scope(SCOPE_LEVEL["PCIe"], minors([g for g in here if g.pcie == root])) for root in roots)
        numa.append(Scope(SCOPE_LEVEL["NUMANode"], minors(here), parts))
    return Scope(SCOPE_LEVEL["Node"], minors(gpus), tuple(numa))


def choose_in_scope(
    tree: Scope,
    count: int,
    fits: Callable[[int], bool],
    used: int,
    required_level: int = 0,
    score: Callable[[int], int] | None = None,
) -> tuple[int, ...] | None:
    """Choose ``count`` GPUs with room inside the best scope (part of the machine): the deepest one that has enough.

    Parameters
    ----------
    tree : Scope
        The scopes of the machine, as `scope_tree` makes them.
    count : int
        GPUs wanted.
    fits : callable
        Whether a GPU has room for the request.
    used : int
        Mask of the GPUs that pods use wholly or in part.
    required_level : int
        Smallest level of a scope that may be chosen; a wider scope has a smaller level.
    score : callable, optional
        Given for a request of a part of one GPU: score of a GPU by its minor number. The GPU with the highest score is
        chosen; ties: the lowest number.

    Returns
    -------
    tuple of int or None
        Minor numbers of the chosen GPUs, ascending; None if no allowed scope has enough GPUs with room.

    Notes
    -----
    The deepest scope wins; of equal ones that with more scopes in use on the way to it (bin packing), then the higher
    score, then the first by NUMA node and PCIe root. Bandwidth of pairs is never looked at.
    """
    found = _descend(tree, count, fits, used, required_level, score, 0, 0)
    return None if found is None else found.minors


def _descend(
    scope: Scope,
    count: int,
    fits: Callable[[int], bool],
    used: int,
    required_level: int,
    score: Callable[[int], int] | None,
    depth: int,
    in_use: int,
) -> _GpuSet | None:
    if len(scope.minors) < count:
        return None
    depth += 1
    in_use += any(used >> minor & 1 for minor in scope.minors)
    best: _GpuSet | None = None
    for part in scope.parts:
        found = _descend(part, count, fits, used, required_level, score, depth, in_use)
        if found is not None and (best is None or _rank(found) > _rank(best)):
            best = found
    if best is not None or required_level > scope.level:
        return best
    minors = [minor for minor in scope.minors if fits(minor)]
    if score is None:
        return _GpuSet(depth, in_use, -1, tuple(minors[:count])) if len(minors) >= count else None
    if not minors:
        return None
    chosen = max(minors, key=score)
    return _GpuSet(depth, in_use, score(chosen), (chosen,))


def _rank(found: _GpuSet) -> tuple[int, int, int]:
    return (found.depth, found.in_use, found.score)

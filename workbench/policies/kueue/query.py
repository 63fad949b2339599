"""`PlacementQuery`: what one pod set, or a leader with its workers, requests of a topology, as level numbers and sizes.

`Gates` are Kueue's feature gates, with the defaults of release 0.19.

Source: Kueue 0.19, pkg/cache/scheduler/tas_flavor_snapshot.go, findTopologyAssignment and buildSliceSizeAtLevel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

from workbench.policies.kueue.values import PodSet, SliceLayer, TopologyRequest

__all__ = ["Gates", "PlacementQuery", "read_query", "requested_level"]

_NOTHING = TopologyRequest()


@dataclass(frozen=True)
class PlacementQuery:
    """A placement request in numbers of levels, 0 the widest.

    Attributes
    ----------
    level : int
        The requested level.
    required : bool
        All pods in one domain of that level.
    unconstrained : bool
        Only the total capacity counts; also true of a request for slices alone.
    slice_level, slice_size : int
        Of the outermost slice layer; the lowest level and 1 without slices.
    inner_sizes : tuple of (int, int)
        Level and slice size of the levels between two slice layers, and of the lower layers themselves.
    count : int
        Number of workers.
    n_slices : int
        Number of slices; pods beyond the last whole slice are left out, as upstream does.
    leaders : int
        1 with a leader, else 0.
    least_free : bool
        Take domains with least free capacity first (LeastFreeCapacity); False: BestFit.
    by_affinity : bool
        Prefer domains by their preferred node affinity.
    """

    level: int
    required: bool
    unconstrained: bool
    slice_level: int
    slice_size: int
    inner_sizes: tuple[tuple[int, int], ...]
    layers: tuple[SliceLayer, ...]
    count: int
    n_slices: int
    leaders: int
    least_free: bool
    by_affinity: bool

    def inner_size(self, level: int) -> int:
        """Slice size of the layer inside which domains of a level lie; 1: none, single pods."""
        return next((size for at, size in self.inner_sizes if at == level), 1) if self.inner_sizes else 1


def read_query(levels: Sequence[str], pods: PodSet, leaders: int, gates: Gates) -> PlacementQuery | str:
    """Read the request of a pod set; the text is Kueue's reason why it cannot be placed at all.

    `levels`: levels of the topology, widest first. `pods`: the workers, with their present count. `leaders`: number of
    leader pods placed with them.
    """
    request = pods.topology or _NOTHING
    layers = request.slices
    if any(layer.size <= 0 for layer in layers[:1]):
        return "slice topology requested, but slice size not provided"
    implied = (request.required, request.preferred, request.unconstrained, layers) == (None, None, None, ())
    name = levels[-1] if implied else requested_level(levels, request)
    if name is None:
        return "topology level not specified"
    if name not in levels:
        return f"no requested topology level: {name}"
    level = levels.index(name)
    slice_name, size = (layers[0].level, layers[0].size) if layers else (levels[-1], 1)
    if slice_name not in levels:
        return f"no requested topology level for slices: {slice_name}"
    slice_level = levels.index(slice_name)
    if slice_level < level:
        return f"podset slice topology {slice_name} is above the podset topology {name}"
    inner = _inner_sizes(levels, layers)
    if isinstance(inner, str):
        return inner
    unconstrained = request.unconstrained is True or implied or _slices_only(request)
    return PlacementQuery(
        level,
        request.required is not None,
        unconstrained,
        slice_level,
        size,
        inner,
        layers,
        pods.count,
        pods.count // size,
        leaders,
        unconstrained and gates.TASProfileMixed,
        gates.TASRespectNodeAffinityPreferred,
    )


def requested_level(levels: Sequence[str], request: TopologyRequest) -> str | None:
    """The level that a request names, or that stands for slices alone or for no constraint; None: there is none."""
    for named in (request.required, request.preferred):
        if named is not None:
            return named
    if _slices_only(request):
        return levels[0]
    return levels[-1] if request.unconstrained else None


def _slices_only(request: TopologyRequest) -> bool:
    return bool(request.slices) and request.required is None and request.preferred is None


def _inner_sizes(levels: Sequence[str], layers: Sequence[SliceLayer]) -> tuple[tuple[int, int], ...] | str:
    """Slice size of each level below the first layer down to the last one, or why the layers are impossible."""
    found: list[tuple[int, int]] = []
    for above, layer in pairwise(layers):
        if layer.level not in levels:
            return f"no requested topology level for additional slice layer: {layer.level}"
        upper, lower = levels.index(above.level), levels.index(layer.level)
        if lower <= upper:
            return f"additional slice layer topology {layer.level} must be at a lower level than {above.level}"
        if layer.size <= 0 or above.size % layer.size:
            return f"additional slice layer size {layer.size} must evenly divide parent layer size {above.size}"
        found += [(level, layer.size) for level in range(upper + 1, lower + 1)]
    return tuple(found)


@dataclass(frozen=True)
class Gates:
    """Feature gates that change a placement or a scheduling cycle; the names are upstream's.

    Gates that change only the speed of Kueue are not here.
    """

    TASProfileMixed: bool = True
    TASBalancedPlacement: bool = False
    TASMultiLayerTopology: bool = True
    TASRespectNodeAffinityPreferred: bool = False
    TASHandleOverlappingFlavors: bool = True
    TASFailedNodeReplacement: bool = True
    TASFailedNodeReplacementFailFast: bool = True
    TASReplaceNodeOnPodTermination: bool = True
    TASReplaceNodeOnNodeTaints: bool = True
    TASReplaceNodeDueToNotReadyOverFixedTime: bool = False
    TASRecomputeAssignmentWithinSchedulingCycle: bool = True
    SkipReassignmentForPodOwnedWorkloads: bool = True
    ElasticJobsViaWorkloadSlices: bool = False
    ElasticJobsViaWorkloadSlicesWithTAS: bool = False

    @classmethod
    def of(cls, changed: Mapping[str, bool]) -> Gates:
        """The defaults with the named gates changed; gates that are not modelled are ignored."""
        known = {each.name for each in fields(cls)}
        return cls(**{name: on for name, on in changed.items() if name in known})

"""Kueue's values that objects and policies share: pod sets, their topology requests, flavors, assignments.

Resources are integers by Kubernetes' name: ``cpu`` in thousandths of a core, all others in base units. Levels of a
topology are node label keys, widest first; that is the opposite of tiers, where 1 is the closest.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from workbench.model.labels import Requirement, Taint, Toleration

__all__ = ["Flavor", "PodSet", "PreferredTerm", "SliceLayer", "TopologyAssignment", "TopologyRequest"]


@dataclass(frozen=True)
class SliceLayer:
    """A slice layer: every `size` pods of a pod set stay inside one domain of a level."""

    level: str
    size: int


@dataclass(frozen=True)
class TopologyRequest:
    """What a pod set requests of the topology, as the annotations of its pod template say it.

    Attributes
    ----------
    required, preferred : str, optional
        A level: all pods in one of its domains, or, if preferred, in as few wider domains as needed.
    unconstrained : bool, optional
        True: only the total capacity counts. None: the annotation is absent.
    slices : tuple of SliceLayer
        Outermost layer first.
    group : str, optional
        Name of the pod-set group: a leader and its workers, placed together.
    pod_index_label, sub_group_label : str, optional
        Labels of the pods that hold their index, used when pods get their ranks.
    """

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    slices: tuple[SliceLayer, ...] = ()
    group: str | None = None
    pod_index_label: str | None = None
    sub_group_label: str | None = None
    sub_group_count: int | None = None

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels that are named: required or preferred, then those of the slices."""
        own = tuple(level for level in (self.required, self.preferred) if level is not None)
        return (*own, *(layer.level for layer in self.slices))


@dataclass(frozen=True)
class PreferredTerm:
    """A preferred node affinity term: a node on which every requirement holds gains `weight`."""

    weight: int
    match: tuple[Requirement, ...]


@dataclass(frozen=True)
class TopologyAssignment:
    """Where the pods of one pod set go (topologyAssignment).

    `levels`: the level ``kubernetes.io/hostname`` alone if it is the lowest of the topology, else all levels.
    `domains`: the values of a domain at these levels and its number of pods, sorted by values.
    """

    levels: tuple[str, ...]
    domains: tuple[tuple[tuple[str, ...], int], ...]

    @property
    def count(self) -> int:
        """Number of pods in all domains."""
        return sum(count for _, count in self.domains)


class _Shape(tuple[object, ...]):
    """A tuple that remembers its hash."""

    def __hash__(self) -> int:
        found: int | None = self.__dict__.get("hash")
        if found is None:
            found = self.__dict__["hash"] = super().__hash__()
        return found

    def __reduce__(self) -> tuple[object, ...]:
        # Hashes of texts differ from process to process.
        return _Shape, (tuple(self),)


@dataclass(frozen=True)
class PodSet:
    """A pod set of a workload: `count` equal pods.

    Attributes
    ----------
    requests : mapping of str to int
        Requests of one pod; Kueue adds one of the resource ``pods`` itself.
    topology : TopologyRequest, optional
        None: nothing requested, which means unconstrained on a flavor with a topology.
    required_affinity : tuple of tuple of Requirement
        Node affinity terms, one of which must hold as a whole; empty: no condition.
    previous : TopologyAssignment, optional
        Assignment of the workload slice that this one replaces (elastic jobs).
    min_count : int, optional
        Fewest pods with which the workload may be admitted (partial admission); None: all.
    """

    name: str
    count: int
    requests: Mapping[str, int]
    topology: TopologyRequest | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    required_affinity: tuple[tuple[Requirement, ...], ...] = ()
    preferred_affinity: tuple[PreferredTerm, ...] = ()
    previous: TopologyAssignment | None = None
    min_count: int | None = None

    @cached_property
    def shape(self) -> Hashable:
        """What decides where its pods may go; equal for pod sets that request the same under the same name."""
        return _Shape(
            (
                self.name,
                self.count,
                tuple(self.requests.items()),
                self.topology,
                tuple(self.node_selector.items()),
                self.tolerations,
                self.required_affinity,
                self.preferred_affinity,
                self.previous,
                self.min_count,
            )
        )

    @property
    def group(self) -> str | None:
        """Name of its pod-set group; None: it is placed by itself."""
        return self.topology.group if self.topology is not None else None


@dataclass(frozen=True)
class Flavor:
    """A ResourceFlavor: the nodes with its labels; with a topology its pod sets are placed on them.

    `topology`: name of its Topology; None: its pods are not placed by Kueue. `tolerations`: added to those of the pods.
    `taints`: taints that a pod set must tolerate to use the flavor.
    """

    name: str
    topology: str | None = None
    node_labels: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    taints: tuple[Taint, ...] = ()

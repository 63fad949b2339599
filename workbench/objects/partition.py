"""partitionPolicy of a Volcano Job's task and subGroupPolicy of a PodGroup, which divide a gang into sub-groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.model.gang import TopologyConstraint
from workbench.model.labels import Requirement
from workbench.objects.fields import child, get_int, get_map, get_maps, get_text, get_text_list
from workbench.objects.selectors import read_label_selector
from workbench.objects.topology_spec import read_constraint

__all__ = ["PartitionPolicy", "SubGroupPolicy", "read_partition_policy", "read_sub_group_policies"]

# a requirement that no labels meet
_NO_POD = (Requirement("", "In", ()),)


@dataclass(frozen=True)
class PartitionPolicy:
    """The field partitionPolicy of a Volcano Job's task: consecutive pods form partitions of equal size.

    Only Volcano 1.15 has it.

    `total_partitions`, `partition_size`: number of partitions, and number of pods in each; 0 if absent.
    `min_partitions`: partitions without which the job does not start; 0: no such minimum.
    """

    total_partitions: int
    partition_size: int
    min_partitions: int = 0
    constraint: TopologyConstraint | None = None

    @property
    def min_pods(self) -> int:
        """Number of pods in the minimum number of partitions; 0 if there is no such minimum."""
        return self.min_partitions * self.partition_size


@dataclass(frozen=True)
class SubGroupPolicy:
    """One entry of a PodGroup's subGroupPolicy, which groups its pods by labels (Volcano 1.15 only).

    Attributes
    ----------
    size : int
        subGroupSize: pods without which a sub-group does not start; 1 where absent.
    min_sub_groups : int
        Number of sub-groups that must be ready; 0: no minimum.
    labels : tuple of Requirement, optional
        The policy's labelSelector; None or empty: every pod.
    match_label_keys : tuple of str
        Pods that agree on the values of these labels are one sub-group; none: the policy captures no pod.
    """

    name: str
    constraint: TopologyConstraint | None = None
    size: int = 1
    min_sub_groups: int = 0
    labels: tuple[Requirement, ...] | None = None
    match_label_keys: tuple[str, ...] = ()


def read_partition_policy(data: Mapping[str, Any], where: str, *, submitted: bool = False) -> PartitionPolicy | None:
    """Read the field partitionPolicy of a Volcano Job's task; None if absent.

    `where`: path of the task, for error messages. `submitted`: as for
    `workbench.objects.topology_spec.read_constraint`.
    """
    if data.get("partitionPolicy") is None:
        return None
    policy = get_map(data, "partitionPolicy", where)
    where = child(where, "partitionPolicy")
    return PartitionPolicy(
        total_partitions=get_int(policy, "totalPartitions", where) or 0,
        partition_size=get_int(policy, "partitionSize", where) or 0,
        min_partitions=get_int(policy, "minPartitions", where) or 0,
        constraint=read_constraint(policy, where, submitted=submitted),
    )


def read_sub_group_policies(
    data: Mapping[str, Any], where: str, *, submitted: bool = False
) -> tuple[SubGroupPolicy, ...]:
    """Read the field subGroupPolicy of a PodGroup's spec, in order; empty if absent.

    `data`: the PodGroup's spec. `where`: path of the spec, for error messages. `submitted`: as for
    `workbench.objects.topology_spec.read_constraint`.
    """
    return tuple(_sub_group_policy(item, path, submitted) for path, item in get_maps(data, "subGroupPolicy", where))


def _sub_group_policy(item: Mapping[str, Any], where: str, submitted: bool) -> SubGroupPolicy:
    size = get_int(item, "subGroupSize", where)
    labels = None
    if item.get("labelSelector") is not None:
        selector = get_map(item, "labelSelector", where)
        # An empty selector selects every pod here, but nothing in a HyperNode; an invalid selector selects no pod.
        labels = read_label_selector(selector, child(where, "labelSelector")) or (
            _NO_POD if any(selector.values()) else ()
        )
    keys = get_text_list(item, "matchLabelKeys", where)
    return SubGroupPolicy(
        name=get_text(item, "name", where),
        constraint=read_constraint(item, where, submitted=submitted),
        size=1 if size is None else size,
        min_sub_groups=get_int(item, "minSubGroups", where) or 0,
        labels=labels,
        match_label_keys=tuple(keys),
    )

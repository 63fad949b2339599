"""`KubeGroup`: what a gang requests of kube-scheduler by a PodGroup of scheduling.k8s.io and the groups above it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from workbench.model.extras import Extra
from workbench.model.notice import Notice

__all__ = ["KubeGroup", "KubeParent"]


@dataclass(frozen=True)
class KubeParent:
    """A CompositePodGroup above a gang.

    Attributes
    ----------
    name : str
        In the namespace of the gang.
    min_count : int, optional
        Child groups that must be placed together (gang.minGroupCount); None: one is enough (basic).
    topology_key : str
        Label key of nodes of which all pods under the group share one value; empty: no constraint.
    priority : int, optional
        None: 0.
    preemption_policy : str
        Empty: PreemptLowerPriority.
    falls_whole : bool
        Whether preemption evicts all pods under it or none (disruptionMode all).
    created : str
        When it was created, as the API writes it; empty: not created yet.
    parent : str
        Name of the CompositePodGroup that it belongs to; empty: none.
    """

    name: str
    min_count: int | None = None
    topology_key: str = ""
    priority: int | None = None
    preemption_policy: str = ""
    falls_whole: bool = False
    created: str = ""
    parent: str = ""


@dataclass(frozen=True)
class KubeGroup(Extra):
    """What the PodGroup of a gang says, beside its minimum.

    Read by `kube-1.37-topology` and `kube-default`.

    Attributes
    ----------
    given : bool
        Whether the gang has a PodGroup of scheduling.k8s.io.
    absent : bool
        Whether its pods name such a PodGroup which is not in the input.
    basic : bool
        The PodGroup has no minimum (schedulingPolicy basic): one pod is enough, and pods are known to be a group.
    topology_key : str
        Label key of nodes of which all pods share one value; empty: no constraint.
    parent : str
        Name of the CompositePodGroup that it belongs to; empty: none.
    parents : tuple of KubeParent
        The CompositePodGroups above it that are in the input, the nearest first.
    priority : int, optional
        Priority as written; None: that of its PriorityClass.
    preemption_policy : str
        Empty: PreemptLowerPriority.
    falls_whole : bool
        Whether preemption evicts all pods of the group or none (disruptionMode all).
    scheduled : bool
        Its condition PodGroupInitiallyScheduled is True, which it stays.
    arrived : str
        When the first of its waiting pods was created, which gives it its place in kube-scheduler's queue; empty: none
        exists yet.
    """

    given: bool = False
    basic: bool = False
    topology_key: str = ""
    parent: str = ""
    parents: tuple[KubeParent, ...] = ()
    priority: int | None = None
    preemption_policy: str = ""
    falls_whole: bool = False
    scheduled: bool = False
    arrived: str = ""
    absent: bool = False

    def since(self, pods: Iterable[str]) -> KubeGroup:
        """The same request of a group whose waiting pods were created at these times; empty ones do not exist yet."""
        return replace(self, arrived=min(filter(None, pods), default=""))

    def unread(self, policy: str) -> Notice | None:
        what = [f"the topology key {self.topology_key}"] if self.topology_key else []
        what += [f"the CompositePodGroup {self.parent}"] if self.parent else []
        if not what:
            return None
        return Notice("kube-groups-not-read", f"{policy} does not read {' and '.join(what)} of the gang's PodGroup")

"""`GroupPod`: a pod as the cycle of its group handles it, and the order of the pods of a group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from workbench.policies.kube.shape import PodShape

__all__ = ["GroupPod", "by_shape", "pod_order", "runs_of"]


@dataclass(eq=False, slots=True)
class GroupPod:
    """A pod that waits, or that has a node.

    Attributes
    ----------
    group : str
        Identity of its PodGroup (`KubePodGroup.key`); empty: it has none.
    attempts : int
        How often the pod was tried before.
    arrival : int
        Place in the order of arrival.
    scheduler : str
        Name of the scheduler that it asks for.
    preemption_policy : str
        Empty: PreemptLowerPriority.
    node : int
        Index of its node; -1: none.
    nominated : int
        Index of the node that preemption freed for it; -1: none.
    role : int
        Index of its role in its gang; -1: it is of no gang.
    serving : ndarray of shape (n,), bool, optional
        Nodes that may take the pod whatever the filters say; None: all.
    """

    name: str
    shape: PodShape
    group: str = ""
    priority: int = 0
    attempts: int = 0
    arrival: int = 0
    scheduler: str = ""
    preemption_policy: str = ""
    node: int = -1
    nominated: int = -1
    role: int = -1
    serving: npt.NDArray[np.bool_] | None = None

    @property
    def full_name(self) -> str:
        """Namespace and name."""
        return f"{self.shape.namespace}/{self.name}"


def pod_order(pods: Iterable[GroupPod]) -> list[GroupPod]:
    """Order in which the pods of a group are tried.

    By priority, the highest first; then by attempts, the most first; then by arrival and by name.
    """
    # Code points order names as their bytes do.
    by_arrival = sorted(pods, key=attrgetter("arrival", "name"))
    return sorted(by_arrival, key=attrgetter("priority", "attempts"), reverse=True)


def runs_of(pods: Iterable[GroupPod]) -> list[list[GroupPod]]:
    """Pods in their order, cut into runs of pods that are alike to every node.

    They have one shape and may go to the same nodes. A pod with a nominated node is a run by itself.
    """
    cut: list[list[GroupPod]] = []
    last: GroupPod | None = None
    for pod in pods:
        same = last is not None and pod.shape is last.shape and pod.serving is last.serving
        if same and pod.nominated < 0:
            cut[-1].append(pod)
        else:
            cut.append([pod])
        last = pod if pod.nominated < 0 else None
    return cut


def by_shape(pods: Iterable[tuple[GroupPod, int]]) -> dict[PodShape, list[int]]:
    """Nodes of pods by the shape of the pods."""
    found: dict[PodShape, list[int]] = {}
    for pod, node in pods:
        found.setdefault(pod.shape, []).append(node)
    return found

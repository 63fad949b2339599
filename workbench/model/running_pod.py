"""`RunningPod`: a pod that holds resources on a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from workbench.model.extras import GpuGroup
from workbench.model.pod_rules import NO_RULES, PodRules

__all__ = ["UNKNOWN_NODE", "RunningPod"]

#: `RunningPod.node` of a pod that runs on a node which the snapshot lacks.
UNKNOWN_NODE = -1


@dataclass(frozen=True)
class RunningPod:
    """A pod that holds resources on a node.

    Attributes
    ----------
    gang : str
        ``namespace/name`` of the gang it belongs to; empty: none.
    node : int
        Node index, `UNKNOWN_NODE` (-1) where its node is not in the snapshot.
    gpu_mask : int
        GPUs of the node that the pod holds, as a bit mask.
    queue : str
        Queue of its gang; empty: none.
    terminating : bool
        The pod is terminating: it holds its resources until it is gone, and counts for no gang and no queue, except as
        `leaving` says.
    job_class : str
        Value of the gang's label tor-affinity; empty: none.
    group_phase : str
        Phase of the pod's PodGroup; empty: the pod has none, or the input does not say.
    gpu_group : GpuGroup, optional
        Koordinator's GPU topology group that the pod belongs to; None: none.
    assumed : mapping of str to int
        Resources that scores assume of the pod beyond `requests` (`workbench.model.gang.Role.assumed`).
    uid, resource_version : str
        metadata.uid and metadata.resourceVersion, so that an action on the pod can be conditional; empty: unknown.
    gpu_milli : int
        Thousandths of each of its GPUs that the pod holds, 1 to 999, while other pods may hold the rest; 0: whole GPUs.
    rules : PodRules
        Its affinity to other pods, which schedulers consult for pods that come later.
    priority : int
        Priority that the API server gave it (spec.priority); 0: none.
    leaving : str
        ``namespace/name`` of the gang of a terminating pod that names a PodGroup of scheduling.k8s.io: kube-scheduler
        takes it for a member until it is gone. Empty: it names none, or is not terminating.
    """

    # Where nodes are renumbered, thousands of pods get another index: what does not change is shared with the copy.
    __slots__ = ("__dict__", "node")

    namespace: str
    name: str
    node: int
    requests: Mapping[str, int]
    gang: str = ""
    role: str = ""
    gpu_mask: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    queue: str = ""
    terminating: bool = False
    job_class: str = ""
    group_phase: str = ""
    gpu_group: GpuGroup | None = None
    assumed: Mapping[str, int] = field(default_factory=dict)
    uid: str = ""
    resource_version: str = ""
    gpu_milli: int = 0
    rules: PodRules = NO_RULES
    priority: int = 0
    leaving: str = ""

    def on(self, node: int) -> RunningPod:
        """The same pod on the node of another index."""
        return _pod(self.__dict__, node)

    def __reduce__(self) -> tuple[Callable[..., RunningPod], tuple[object, ...]]:
        return _pod, (self.__dict__, self.node)


# As object.__setattr__, which would look the names up for each of thousands of pods.
_set_others = RunningPod.__dict__["__dict__"].__set__
_set_node = RunningPod.__dict__["node"].__set__


def _pod(others: dict[str, object], node: int) -> RunningPod:
    """A pod of the given fields other than its node's index, which it does not copy."""
    pod = object.__new__(RunningPod)
    _set_others(pod, others)
    _set_node(pod, node)
    return pod

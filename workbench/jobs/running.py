"""`running_pods`: the pods of a cluster that hold resources, with the GPUs that each holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from types import MappingProxyType

from workbench.jobs.job_labels import JobLabels
from workbench.jobs.membership import role_of
from workbench.jobs.roles import JOB_CLASS_LABEL, gpu_group_of
from workbench.model.counted import counted
from workbench.model.gpu_annotation import GPU_ANNOTATION, recorded_gpus
from workbench.model.notice import Notice
from workbench.model.resources import is_gpu_resource
from workbench.model.running_pod import UNKNOWN_NODE, RunningPod
from workbench.objects.pod import Pod

__all__ = ["Doubts", "deal_gpus", "running_pods"]


@dataclass(frozen=True)
class Doubts:
    """Number of running pods whose GPUs or role had to be guessed, by the reason.

    `assumed`: pods that do not state which GPUs they hold. `short`: pods that request more GPUs than their node has
    left. `contradictions`: pods with GPUs that their node does not have or that another pod holds. `lost`: pods whose
    node is unknown.
    """

    assumed: int = 0
    short: int = 0
    contradictions: int = 0
    lost: int = 0

    def __add__(self, other: Doubts) -> Doubts:
        return Doubts(
            self.assumed + other.assumed,
            self.short + other.short,
            self.contradictions + other.contradictions,
            self.lost + other.lost,
        )

    def __sub__(self, other: Doubts) -> Doubts:
        return Doubts(
            self.assumed - other.assumed,
            self.short - other.short,
            self.contradictions - other.contradictions,
            self.lost - other.lost,
        )

    def gaps(self) -> list[Notice]:
        """One notice for each reason that occurred, with the number of pods."""
        reasons = (
            (
                "gpus-not-recorded",
                self.assumed,
                "running pod does not say which GPUs it holds: the lowest free ones are taken",
                "running pods do not say which GPUs they hold: the lowest free ones are taken",
            ),
            (
                "gpus-exceeded",
                self.short,
                "running pod asks for more GPUs than its node has left",
                "running pods ask for more GPUs than their node has left",
            ),
            (
                "gpus-contradict",
                self.contradictions,
                "running pod holds GPUs that its node does not have or that another pod holds",
                "running pods hold GPUs that their node does not have or that another pod holds",
            ),
            (
                "unknown-node",
                self.lost,
                "running pod is on a node that is not in the input",
                "running pods are on nodes that are not in the input",
            ),
        )
        return [Notice(code, counted(n, one, many), numbers={"count": n}) for code, n, one, many in reasons if n]


def running_pods(
    pods: Iterable[tuple[Pod, str]],
    node_index: Mapping[str, int],
    gpu_masks: Sequence[int],
    queues: Mapping[str, str] = MappingProxyType({}),
    labels: Mapping[str, JobLabels] = MappingProxyType({}),
) -> tuple[tuple[RunningPod, ...], list[int], list[Notice]]:
    """Find the running pods of a cluster and the GPUs they leave free, with notices about what had to be assumed.

    Parameters
    ----------
    pods : iterable of (Pod, str)
        Pods with the gang they belong to (empty: none), in the order in which GPUs are assigned to pods without an
        annotation of their GPUs.
    node_index : mapping of str to int
        Index of each node by its name.
    gpu_masks : sequence of int
        Healthy GPUs of each node.
    queues : mapping of str to str
        Queue of each gang; a gang that is missing has none.
    labels : mapping of str to JobLabels
        Labels of each gang; a pod of any other gang is described by its own labels.

    Returns
    -------
    running : tuple of RunningPod
    free : list of int
        GPU mask per node.
    gaps : list of Notice
        Notices about pods without an annotation of their GPUs (the lowest free GPUs are assumed), pods on unknown
        nodes, and annotations that contradict the node or one another.
    """
    running, free, doubts = deal_gpus(pods, node_index, dict(enumerate(gpu_masks)), queues, labels)
    return running, [free[i] for i in range(len(gpu_masks))], doubts.gaps()


def deal_gpus(
    pods: Iterable[tuple[Pod, str]],
    node_index: Mapping[str, int],
    gpu_masks: Mapping[int, int],
    queues: Mapping[str, str],
    labels: Mapping[str, JobLabels],
    known: Sequence[RunningPod | None] = (),
) -> tuple[tuple[RunningPod, ...], dict[int, int], Doubts]:
    """Find the running pods of some nodes and the GPUs they leave free, counting every assumption.

    `pods`, `node_index`, `queues`, `labels`: as for `running_pods`. A pod affects only pods on its own node.
    `gpu_masks`: healthy GPUs of each node of the pods, by the node's index. `known`: each pod as it was when it was
    last asked, if nothing but its node's index and its GPUs may have changed since.

    Returns
    -------
    running : tuple of RunningPod
        In the order of `pods`.
    free : dict of int to int
        GPU mask per node of `gpu_masks`.
    doubts : Doubts
    """
    free = dict(gpu_masks)
    placed = [(pod, gang, node_index.get(pod.spec.node_name, UNKNOWN_NODE)) for pod, gang in pods]
    masks: list[int | None] = []
    contradictions = 0
    for pod, _, node in placed:
        mask = recorded_gpus(pod.metadata.annotations.get(GPU_ANNOTATION))
        if mask is not None and node >= 0:
            contradictions += (mask & free[node]) != mask
            free[node] &= ~mask
        masks.append(mask)
    assumed = short = 0
    for i, (pod, _, node) in enumerate(placed):
        if masks[i] is not None:
            continue
        wanted = sum(n for name, n in pod.spec.requests.items() if is_gpu_resource(name))
        mask = _lowest(free[node], wanted) if node >= 0 else 0
        assumed += wanted > 0 and node >= 0
        short += node >= 0 and mask.bit_count() < wanted
        if node >= 0:
            free[node] &= ~mask
        masks[i] = mask
    running = tuple(
        before
        if before is not None and (before.node, before.gpu_mask) == (node, mask)
        else RunningPod(
            namespace=pod.metadata.namespace,
            name=pod.metadata.name,
            node=node,
            requests=pod.spec.requests,
            gang="" if pod.terminating else gang,
            role=role_of(pod),
            gpu_mask=mask or 0,
            labels=pod.metadata.labels,
            annotations=pod.metadata.annotations,
            queue="" if pod.terminating else queues.get(gang, ""),
            terminating=pod.terminating,
            job_class=labels[gang].job_class if gang in labels else pod.metadata.labels.get(JOB_CLASS_LABEL, ""),
            group_phase=_group_phase(pod, labels[gang].phase) if gang in labels else "",
            gpu_group=gpu_group_of(pod.metadata.labels),
            assumed=pod.spec.assumed,
            rules=pod.spec.rules,
            priority=pod.spec.priority or 0,
            leaving=gang if pod.group and pod.terminating else "",
            uid=pod.metadata.uid,
            resource_version=pod.metadata.resource_version,
        )
        for (pod, gang, node), mask, before in zip(placed, masks, known or repeat(None))
    )
    lost = sum(node < 0 for _, _, node in placed)
    return running, free, Doubts(assumed, short, contradictions, lost)


def _group_phase(pod: Pod, written: str) -> str:
    """Phase of a pod's PodGroup: Unknown where the pod runs and the group is written as Pending, as after a fault."""
    return "Unknown" if written == "Pending" and pod.phase == "Running" else written


def _lowest(mask: int, count: int) -> int:
    chosen = 0
    while count > 0 and mask:
        lowest = mask & -mask
        chosen |= lowest
        mask ^= lowest
        count -= 1
    return chosen

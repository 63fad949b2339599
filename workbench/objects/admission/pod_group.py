"""Admission of a new PodGroup: violations that the schema and Volcano's webhook find.

Source: docs/reference/volcano-topology.md, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.model.release import Release
from workbench.objects.admission.schema import Fault
from workbench.objects.admission.topology_spec import BOTH_TIERS, both_tiers
from workbench.objects.deployment import QUEUE_ANNOTATION
from workbench.objects.pod_group import PodGroup

__all__ = ["pod_group_findings", "queue_of_namespace", "refuse_pod_group"]

_QUEUE = "spec.queue"


def refuse_pod_group(
    group: PodGroup, queue: str = "", queue_state: str | None = None, release: Release = Release.V1_15
) -> str:
    """The text with which admission refuses a new PodGroup; empty if it is accepted.

    `queue`: spec.queue as written; empty: none, and the queue is not checked. `queue_state`: state of that queue, such
    as ``Open``; None: there is no such queue. `release`: 1.13 knows neither highestTierName nor subGroupPolicy.
    """
    topology: list[str] = []
    queues: list[str] = []
    for one in pod_group_findings(group, queue, queue_state, release):
        (queues if one.path == _QUEUE else topology).append(one.text)
    return "; ".join([*queues, *([" ".join(topology)] if topology else [])])


def pod_group_findings(
    group: PodGroup, queue: str = "", queue_state: str | None = None, release: Release = Release.V1_15
) -> list[Fault]:
    """Violations that admission finds in a new PodGroup.

    `queue`, `queue_state`, `release`: as in `refuse_pod_group`.
    """
    found = []
    if queue and queue_state is None:
        found.append(Fault(_QUEUE, f'unable to find queue: queue.scheduling.volcano.sh "{queue}" not found'))
    elif queue and queue_state != "Open":
        state = f"can only submit PodGroup to queue with state `Open`, queue `{queue}` status is `{queue_state}`."
        found.append(Fault(_QUEUE, state))
    if release is Release.V1_15:
        if both_tiers(group.constraint):
            found.append(Fault("spec.networkTopology", f"{BOTH_TIERS}."))
        for i, policy in enumerate(group.sub_group_policies):
            if both_tiers(policy.constraint):
                text = f"in subGroupPolicy '{policy.name}': {BOTH_TIERS}."
                # Upstream stops at the first sub-group.
                return [*found, Fault(f"spec.subGroupPolicy[{i}].networkTopology", text)]
    return found


def queue_of_namespace(queue: str, annotations: Mapping[str, str]) -> str:
    """The queue that Volcano's mutating webhook writes into a new PodGroup or Job in place of ``default``.

    It is named by an annotation of the namespace (`annotations`). Empty if `queue` stays as it is.
    """
    return annotations.get(QUEUE_ANNOTATION, "") if queue in ("", "default") else ""

"""PodGroup: what Volcano's webhook refuses. Only creation is judged.

Source: docs/reference/volcano-topology.md, section 3.
"""

from __future__ import annotations

from workbench.model.release import Release
from workbench.objects.admission.topology_spec import BOTH_TIERS, both_tiers
from workbench.objects.pod_group import PodGroup

__all__ = ["refuse_pod_group"]


def refuse_pod_group(
    group: PodGroup, queue: str = "", queue_state: str | None = None, release: Release = Release.NEWEST
) -> str:
    """Return the text with which admission refuses a new PodGroup; empty: accepted.

    Parameters
    ----------
    group : PodGroup
    queue : str
        spec.queue as written; empty: none, and the queue is not checked.
    queue_state : str, optional
        State of that queue, such as ``Open``; None: there is no such queue.
    release : Release
        1.13 knows neither highestTierName nor subGroupPolicy.
    """
    fragments = []
    if queue and queue_state is None:
        fragments.append(f'unable to find queue: queue.scheduling.volcano.sh "{queue}" not found')
    elif queue and queue_state != "Open":
        fragments.append(
            f"can only submit PodGroup to queue with state `Open`, queue `{queue}` status is `{queue_state}`."
        )
    if release is Release.NEWEST:
        topology = [f"{BOTH_TIERS}."] if both_tiers(group.constraint) else []
        # Upstream stops at the first sub-group.
        bad = next((policy for policy in group.sub_group_policies if both_tiers(policy.constraint)), None)
        if bad is not None:
            topology.append(f"in subGroupPolicy '{bad.name}': {BOTH_TIERS}.")
        if topology:
            fragments.append(" ".join(topology))
    return "; ".join(fragments)

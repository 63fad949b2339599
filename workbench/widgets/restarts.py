"""What policies would do with running jobs that lose pods in the drawing, if those started again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from workbench.cancel import check, finish
from workbench.cluster.observed import observed_gangs
from workbench.cluster.state import ClusterState
from workbench.errors import WorkbenchError
from workbench.evaluate.policy_choices import make_policy, with_config
from workbench.model.counted import counted
from workbench.model.gang import Gang
from workbench.model.placement import Decision, Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.kinds import ClusterObjects
from workbench.widgets.comparer import PlacementComparer
from workbench.widgets.editor import TopologyEditor
from workbench.widgets.lost_pods import HitJob
from workbench.widgets.messages import one_line
from workbench.widgets.worker import Worker

__all__ = ["LostJobRestarts", "restart_table"]

#: How a policy decides on gangs in one session.
_Schedule = Callable[[Sequence[Gang], ClusterSnapshot], Sequence[Decision]]


class LostJobRestarts:
    """Works out, in the background, what the compared policies would do with the jobs that an editor's drawing hits.

    `objects`: reads the objects of the cluster that was drawn, which say how its running jobs were written.
    """

    def __init__(
        self, editor: TopologyEditor, comparer: PlacementComparer, objects: Callable[[], ClusterObjects]
    ) -> None:
        self._editor, self._comparer, self._objects = editor, comparer, objects
        self._worker = Worker()

    @cached_property
    def _gangs(self) -> dict[str, Gang]:
        state = ClusterState(self._objects())
        return {one.gang.key: one.gang for one in observed_gangs(state, lambda *_: check())}

    def look(self) -> None:
        """Work it out for the drawing as it is now, and show it in the editor."""
        hits, later = self._editor.hit_jobs, self._editor.snapshot_later()
        comparer, config = self._comparer, self._comparer.config
        if not hits:
            self._worker.cancel()
            self._editor.show_restarts({"policies": [], "rows": []})
            return
        chosen = [(n, dict(p) if config is None else with_config(n, p, config)) for n, p in comparer.policies]

        def work() -> None:
            policies = [(name, make_policy(name, parameters).schedule) for name, parameters in chosen]
            table = restart_table(hits, self._gangs, later(), policies)
            finish()
            self._editor.show_restarts(table)

        self._worker.start(work)

    def wait(self) -> None:
        """Wait until what was looked for last is shown."""
        self._worker.wait()

    def cancel(self) -> None:
        """Give up what is being worked out."""
        self._worker.cancel()


def restart_table(
    hits: Sequence[HitJob],
    gangs: Mapping[str, Gang],
    snapshot: ClusterSnapshot,
    policies: Sequence[tuple[str, _Schedule]],
) -> dict[str, Any]:
    """What each policy would do with running jobs if they started again, all of them in one session.

    Returns: JSON-ready values: ``policies``, their names; ``rows``, a row per job with its name, what it loses, and a
    text per policy.

    Parameters
    ----------
    gangs : mapping of str to Gang
        The running jobs as if none of their pods had a node, by ``namespace/name``; a job that is missing has no row.
    snapshot : ClusterSnapshot
        The cluster after what has failed, with all running pods; those of the jobs give back what they hold first.
    policies : sequence of (str, callable)
        Names to show, and the method `schedule` of each policy.
    """
    known = [hit for hit in hits if hit.key in gangs]
    keys = {hit.key for hit in known}
    rest = snapshot.without_pods(lambda pod: pod.gang in keys)
    for key in keys:
        rest = rest.without_record(key)
    told = [_told(schedule, [gangs[hit.key] for hit in known], rest) for _, schedule in policies]
    return {
        "policies": [name for name, _ in policies],
        "rows": [{"job": hit.key, "loss": hit.text, "told": [texts[hit.key] for texts in told]} for hit in known],
    }


def _told(schedule: _Schedule, gangs: Sequence[Gang], snapshot: ClusterSnapshot) -> dict[str, str]:
    """What a policy would do with each of some jobs, by name."""
    try:
        decisions = schedule(gangs, snapshot)
    except WorkbenchError as error:
        return dict.fromkeys((gang.key for gang in gangs), one_line(str(error)))
    return {decision.gang.key: _outcome(decision.result) for decision in decisions}


def _outcome(result: Placement | Refusal) -> str:
    if isinstance(result, Refusal):
        return f"stays pending: {result.reasons[0].message}" if result.reasons else "stays pending"
    topology = result.topology
    nodes = np.unique(result.node[result.node >= 0])
    around = topology.smallest_around(nodes)
    everywhere = f"on {counted(len(nodes), 'node')}"
    where = f"in {topology.domain_name(around)} (tier {topology.domain_tier(around)})" if around >= 0 else everywhere
    missing = f"; {counted(len(result.unplaced), 'pod')} pending" if result.unplaced else ""
    return f"starts again {where}{missing}"

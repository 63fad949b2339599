"""Controllers that write the status of Queues and HyperNodes, and one that deletes finished Jobs after their TTL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from workbench.control.kinds import Ref
from workbench.control.reconciler import Reconciler
from workbench.control.store import Object, StoreChange, job_phase, phase_of
from workbench.errors import InputError
from workbench.model.counted import name_list
from workbench.objects.hypernode import HyperNode, Member, node_count, read_hypernode, resolve_members
from workbench.objects.job_status import read_job_status
from workbench.objects.selectors import NameIndex, resolve_selector

__all__ = ["FinishedJobs", "HyperNodeStatus", "QueueStatus"]

_PHASES = ("Unknown", "Pending", "Running", "Inqueue", "Completed")
_FINISHED = ("Completed", "Failed", "Terminated")


class QueueStatus(Reconciler):
    """Counts the PodGroups of each Queue by phase, and opens a new Queue."""

    kinds = frozenset({"Queue", "PodGroup"})

    def _begin(self) -> None:
        self._counts: dict[str, Counter[str]] = {}

    def observe(self, change: StoreChange) -> Iterable[Hashable]:
        """Update the counts of PodGroups by queue and phase; return the names of the queues to be written."""
        if change.key.kind == "Queue":
            return [] if change.after is None else [change.key.name]
        before, after = _counted(change.before), _counted(change.after)
        if before == after:
            return []
        for sign, found in ((-1, before), (1, after)):
            if found is not None:
                self._counts.setdefault(found[0], Counter())[found[1]] += sign
        return [found[0] for found in (before, after) if found is not None]

    def reconcile(self, key: Hashable) -> float | None:
        """Write state and counts of PodGroups by phase into the status of the Queue named `key`, unless it is gone.

        Returns None: only a change brings it back.
        """
        queue = Ref("Queue", "", str(key))
        stored = self.store.get(queue)
        if stored is not None:
            counts = self._counts.get(queue.name, Counter())
            state = (stored.get("status") or {}).get("state") or "Open"
            counters = {phase.lower(): counts[phase] or None for phase in _PHASES}
            self.store.patch_status(queue, {"state": state, **counters})
        return None


def _counted(group: Object | None) -> tuple[str, str] | None:
    """Queue and phase of a PodGroup."""
    if group is None:
        return None
    phase = phase_of(group)
    return str((group.get("spec") or {}).get("queue") or "default"), str(phase)


class HyperNodeStatus(Reconciler):
    """Writes the status of each HyperNode: how many members its selectors name, and whether all of them are there.

    The design document promises conditions without naming them; no release of Volcano writes any. The one here is
    called Ready: it is True when every member leads to a node or HyperNode that exists.
    """

    # `observe` keeps the labels of nodes and the parsed HyperNodes, and answers which HyperNodes a change concerns:
    # those that name the object (`_naming`), and all that select by pattern or label. `reconcile` counts with an index
    # of the node names, which is built anew after a change of a node.

    kinds = frozenset({"HyperNode", "Node"})
    #: Whether nodeCount counts all nodes under a HyperNode, as the design document says, or its members, as Volcano.
    counts_all_nodes = False

    def _begin(self) -> None:
        self._nodes: dict[str, dict[str, str]] = {}
        self._index: NameIndex | None = None
        self._read: dict[str, HyperNode] = {}
        self._naming: dict[str, set[str]] = {}

    def observe(self, change: StoreChange) -> Iterable[Hashable]:
        """Return a HyperNode with a new spec; after a change of a Node, all that select by name pattern or label."""
        name = change.key.name
        if change.key.kind == "HyperNode":
            appeared = (change.before is None) != (change.after is None)
            changed = [*self._hypernode(name, change), *(self._naming.get(name, ()) if appeared else ())]
            return [*self._read] if changed and self.counts_all_nodes else changed
        labels = None if change.after is None else change.after["metadata"].get("labels") or {}
        if self._nodes.get(name) == labels:
            return []
        if labels is None:
            self._nodes.pop(name, None)
        else:
            self._nodes[name] = labels
        self._index = None
        if self.counts_all_nodes:
            return [*self._read]
        named = self._naming.get(name, ())
        return [*named, *self._selecting()]

    def _selecting(self) -> Iterable[str]:
        return [each for each, read in self._read.items() if any(m.selector.exact is None for m in read.members)]

    def _hypernode(self, name: str, change: StoreChange) -> Iterable[Hashable]:
        if change.after is None:
            self._read.pop(name, None)
            return []
        if change.before is not None and change.before.get("spec") is change.after.get("spec"):
            return []
        try:
            self._read[name] = read_hypernode(change.after)
        except InputError as error:
            self.log.say(self.clock.now, change.key, "FailedSync", str(error), warning=True)
            return []
        for member in self._read[name].members:
            if member.selector.exact:
                self._naming.setdefault(member.selector.exact, set()).add(name)
        return [name]

    def reconcile(self, key: Hashable) -> float | None:
        """Write the status of one HyperNode."""
        hypernode = self._read.get(str(key))
        if hypernode is not None:
            if self._index is None:
                self._index = NameIndex(list(self._nodes), list(self._nodes.values()))
            at = Ref("HyperNode", "", str(key))
            known = ((self.store.get(at) or {}).get("status") or {}).get("conditions") or ()
            missing = [text for member in hypernode.members if (text := self._missing(member, self._index))]
            condition = _ready_condition(missing, self.clock.stamp)
            before = next((one for one in known if one.get("type") == condition["type"]), None)
            if before is not None and before.get("status") == condition["status"]:
                condition["lastTransitionTime"] = before.get("lastTransitionTime")
            others = [one for one in known if one.get("type") != condition["type"]]
            count = self._all_nodes(hypernode) if self.counts_all_nodes else node_count(hypernode, self._index)
            self.store.patch_status(at, {"nodeCount": count, "conditions": [*others, condition]})
        return None

    def _all_nodes(self, hypernode: HyperNode) -> int:
        """Number of nodes at any depth under a HyperNode, each once; a cycle ends where it begins."""
        assert self._index is not None
        nodes: set[str] = set()
        waiting, seen = [hypernode], {hypernode.name}
        while waiting:
            positions, _, children = resolve_members(waiting.pop(), self._index)
            nodes.update(self._index.names[position] for position in positions)
            below = [self._read[child] for child in children if child in self._read and child not in seen]
            seen.update(child.name for child in below)
            waiting += below
        return len(nodes)

    def _missing(self, member: Member, index: NameIndex) -> str:
        """What a member names or selects and the cluster does not have; empty if it is there."""
        exact = member.selector.exact
        if member.type == "HyperNode":
            return "" if exact in self._read else f"HyperNode {exact or '(no name)'}"
        if exact is not None:
            return "" if exact in self._nodes else f"Node {exact or '(no name)'}"
        return "" if resolve_selector(member.selector, index) else "a Node that a selector finds"


def _ready_condition(missing: Sequence[str], now: str) -> dict[str, Any]:
    ready = not missing
    return {
        "type": "Ready",
        "status": "True" if ready else "False",
        "reason": "MembersFound" if ready else "MembersMissing",
        "message": "every member is there" if ready else f"missing: {name_list(missing)}",
        "lastTransitionTime": now,
    }


class FinishedJobs(Reconciler):
    """Deletes a finished Job when its ttlSecondsAfterFinished has passed."""

    kinds = frozenset({"Job"})

    def _begin(self) -> None:
        self._ends: dict[Ref, float] = {}

    def observe(self, change: StoreChange) -> Iterable[Hashable]:
        """Return the changed Job if it has finished and has ttlSecondsAfterFinished, or had and is at work again."""
        after = change.after
        lives = after is not None and after["spec"].get("ttlSecondsAfterFinished") is not None
        if after is None or not lives or job_phase(after) not in _FINISHED:
            return [] if self._ends.pop(change.key, None) is None else [change.key]
        return [change.key]

    def reconcile(self, key: Hashable) -> float | None:
        """Delete a finished Job if its ttlSecondsAfterFinished has passed; otherwise return the time when it will."""
        assert isinstance(key, Ref)
        job = self.store.get(key)
        if job is None or job_phase(job) not in _FINISHED:
            return None
        end = self._ends.setdefault(key, self._finished_at(job) + float(job["spec"]["ttlSecondsAfterFinished"]))
        if end > self.clock.now:
            return end
        self.log.say(self.clock.now, key, "Deleted", "its time to live after its end is over")
        self.store.delete(key)
        return None

    def _finished_at(self, job: Object) -> float:
        """When a Job finished, by its newest condition; now, if that time is not one of this cluster."""
        conditions = read_job_status(job).conditions
        at = self.clock.seconds_of(conditions[-1].at) if conditions else None
        return self.clock.now if at is None or at > self.clock.now else at

"""`schedule_groups`: a session in which the gangs of one gang group are placed together or not at all.

Source: Koordinator's annotation gang.scheduling.koordinator.sh/groups; docs/reference/gpu-topology.md, "Gang".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from workbench.cancel import check
from workbench.model.counted import name_list
from workbench.model.extras import KoordinatorWish
from workbench.model.gang import Gang
from workbench.model.notice import Notice
from workbench.model.placement import Decision, Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.contract import Policy, session_order

__all__ = ["schedule_groups"]

Mark = TypeVar("Mark")


def schedule_groups(
    policy: Policy,
    gangs: Sequence[Gang],
    snapshot: ClusterSnapshot,
    place: Callable[[int], Decision],
    mark: Callable[[], Mark],
    undo: Callable[[Mark], None],
) -> list[Decision]:
    """Decide on all gangs of a session, each gang group as a whole.

    Groups come in `session_order` of their first gang, and so do the gangs of a group. A gang that runs already with
    its minimum needs no place.

    The result is in the order of `gangs`.

    `place`: places the gang at a position of `gangs`. `mark`, `undo`: return the present state, and go back to a state
    returned before.
    """
    order = session_order(gangs)
    if not any(gang.extra(KoordinatorWish).gang_groups for gang in gangs):
        made = {}
        for turn, i in enumerate(order):
            check()
            made[i] = replace(place(i), turn=turn)
        return [made[i] for i in range(len(gangs))]
    session = _Session(gangs, order, snapshot)
    decided: dict[int, Decision] = {}
    for i in order:
        if i in decided:
            continue
        check()
        if absent := session.absent(i):
            decided[i] = Decision(gangs[i], _refusal(policy, gangs[i], _missing(absent)), turn=len(decided))
            continue
        before = mark()
        tried: dict[int, Decision] = {}
        failed = None
        for j in session.together(i):
            if j in decided:
                failed = None if decided[j].placed or session.runs(j) else j
            else:
                tried[j] = place(j)
                failed = None if tried[j].placed or session.runs(j) else j
            if failed is not None:
                break
        if failed is None:
            for j, decision in tried.items():
                decided[j] = replace(decision, turn=len(decided))
            continue
        undo(before)
        beside = [j for j, decision in tried.items() if decision.placed]
        # A gang that does not need those that were placed before it is tried again in its own turn.
        if failed in tried and set(beside) <= set(session.together(failed)):
            decided[failed] = replace(_beside(tried[failed], [gangs[j].key for j in beside]), turn=len(decided))
        for j in session.together(i):
            if j != failed and j not in decided and failed in session.together(j):
                why = _no_room(gangs[failed])
                decided[j] = Decision(gangs[j], _refusal(policy, gangs[j], why), turn=len(decided))
    return [decided[i] for i in range(len(gangs))]


class _Session:
    """The gang groups of a session. `order`: positions of the gangs in the order of the session."""

    def __init__(self, gangs: Sequence[Gang], order: Sequence[int], snapshot: ClusterSnapshot) -> None:
        self._gangs = gangs
        self._place_of = {i: place for place, i in enumerate(order)}
        self._position = {gangs[i].key: i for i in reversed(order)}
        self._running = {pod.gang for pod in snapshot.running if not pod.terminating}
        self._together: dict[int, list[int]] = {}

    def runs(self, i: int) -> bool:
        """Whether a gang has its minimum without the pods that wait."""
        return 0 < self._gangs[i].min_available <= self._gangs[i].ready

    def together(self, i: int) -> list[int]:
        """The gangs without which gang `i` is not placed, itself included, in session order."""
        if i not in self._together:
            found, left = {i}, [i]
            while left:
                for key in self._gangs[left.pop()].extra(KoordinatorWish).gang_groups:
                    j = self._position.get(key)
                    if j is not None and j not in found:
                        found.add(j)
                        if not self.runs(j):
                            left.append(j)
            self._together[i] = sorted(found, key=self._place_of.__getitem__)
        return self._together[i]

    def absent(self, i: int) -> list[str]:
        """Keys of gangs without which gang `i` is not placed, and which neither wait nor run."""
        return list(dict.fromkeys(self._absent(i)))

    def _absent(self, i: int) -> Iterator[str]:
        for j in self.together(i):
            if j != i and self.runs(j):
                continue
            for key in self._gangs[j].extra(KoordinatorWish).gang_groups:
                if key not in self._position and key not in self._running:
                    yield key


def _missing(keys: Sequence[str]) -> Notice:
    verb = "waits nor runs" if len(keys) == 1 else "wait nor run"
    text = f"gang group: {name_list(keys)} neither {verb}, and the gangs of a group are placed together or not at all"
    return Notice("gang-group-waits", text, f"gang {keys[0]}", {"count": len(keys)})


def _no_room(gang: Gang) -> Notice:
    text = f"gang group: {gang.key} finds no room, and the gangs of a group are placed together or not at all"
    return Notice("gang-group-waits", text, f"gang {gang.key}", {"count": 1})


def _beside(decision: Decision, others: Sequence[str]) -> Decision:
    """The refusal of the gang for which a group is not placed, with the gangs of the group that were placed before."""
    refusal = decision.result
    if isinstance(refusal, Placement) or not others:
        return decision
    text = f"gang group: it was tried beside {name_list(others)}, with which it is placed together or not at all"
    note = Notice("gang-group-tried", text, numbers={"count": len(others)})
    reasons = (*refusal.reasons, note)
    result = Refusal(
        refusal.gang, refusal.policy, refusal.parameters, reasons, refusal.nearest_misses, refusal.warnings
    )
    return replace(decision, result=result)


def _refusal(policy: Policy, gang: Gang, why: Notice) -> Refusal:
    return Refusal(gang, policy.name, policy.parameters, (why,), warnings=gang.notes)

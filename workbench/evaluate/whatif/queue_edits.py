"""Edits of queues, and of the pending jobs that compete with the job in question."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from workbench.evaluate.whatif.edit import Edit, EditedSession
from workbench.model.resources import amount_text, quantity_text
from workbench.model.snapshot import Queue

__all__ = ["Amounts", "QueueAmounts", "QueueWeight", "Withdraw"]

#: Amounts of resources in base units, sorted by name; an amount of None means no limit.
Amounts = tuple[tuple[str, int | None], ...]

Field = Literal["capability", "deserved", "guarantee"]


@dataclass(frozen=True)
class QueueAmounts(Edit):
    """Set some resources of a queue's capability, deserved share or guarantee.

    `field`: {"capability", "deserved", "guarantee"}. `old`, `new`: the resources that change, before and after.
    """

    queue: str
    field: Field
    old: Amounts
    new: Amounts

    category = "queue"

    @property
    def kind(self) -> str:  # type: ignore[override]  # one class for three fields
        return f"queue-{self.field}"

    def apply(self, case: EditedSession) -> EditedSession:
        """The session with the changed queue."""
        queue = case.snapshot.queues.get(self.queue, Queue(self.queue))
        amounts = dict(getattr(queue, self.field) or {})
        for name, amount in self.new:
            if amount is None:
                amounts.pop(name, None)
            else:
                amounts[name] = amount
        changed: Any = {self.field: amounts or None}
        return _with_queue(case, dataclasses.replace(queue, **changed))

    @property
    def subject(self) -> str:
        return f"queue {self.queue}"

    @property
    def before(self) -> dict[str, str | None]:
        return _quantities(self.old)

    @property
    def after(self) -> dict[str, str | None]:
        return _quantities(self.new)

    @property
    def text(self) -> str:
        old = dict(self.old)
        changes = []
        for name, amount in self.new:
            now = "nothing" if amount is None else amount_text(name, amount)
            was = old.get(name)
            changes.append(f"{name} {'' if was is None else f'from {amount_text(name, was)} '}to {now}")
        verb = "lower" if all(amount == 0 for _, amount in self.new) else "raise"
        return f"{verb} the {self.field} of queue {self.queue}: {', '.join(changes)}"


def _quantities(amounts: Amounts) -> dict[str, str | None]:
    return {name: None if amount is None else quantity_text(name, amount) for name, amount in amounts}


def _with_queue(case: EditedSession, queue: Queue) -> EditedSession:
    queues = {**case.snapshot.queues, queue.name: queue}
    return case.with_snapshot(dataclasses.replace(case.snapshot, queues=queues))


@dataclass(frozen=True)
class QueueWeight(Edit):
    """Raise the weight of a queue, and with it the share of the cluster that it deserves (plugin proportion)."""

    queue: str
    old: int
    new: int

    kind: ClassVar[str] = "queue-weight"
    category = "queue"

    def apply(self, case: EditedSession) -> EditedSession:
        """The session with the heavier queue."""
        queue = case.snapshot.queues.get(self.queue, Queue(self.queue))
        return _with_queue(case, dataclasses.replace(queue, weight=self.new))

    @property
    def subject(self) -> str:
        return f"queue {self.queue}"

    @property
    def text(self) -> str:
        return f"raise the weight of queue {self.queue} from {self.old} to {self.new}"


@dataclass(frozen=True)
class Withdraw(Edit):
    """Withdraw another pending job from the session. `job`: ``namespace/name`` of the other job."""

    job: str

    kind: ClassVar[str] = "withdraw"
    category = "queue"

    def apply(self, case: EditedSession) -> EditedSession:
        """The session without the other job."""
        return case.without(frozenset({self.job}))

    @property
    def subject(self) -> str:
        return f"job {self.job}"

    @property
    def before(self) -> str:
        return "pending"

    @property
    def after(self) -> str:
        return "withdrawn"

    @property
    def text(self) -> str:
        return f"withdraw the pending job {self.job}"

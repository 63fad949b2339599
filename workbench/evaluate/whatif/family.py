"""`Family`: changes of one kind, of which larger ones help where smaller ones do not."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.evaluate.whatif.cluster_edits import NodesEdit
from workbench.evaluate.whatif.edit import Edit
from workbench.evaluate.whatif.queue_edits import QueueAmounts
from workbench.evaluate.whatif.trials import EditOutcome

__all__ = ["Family", "OfNodes", "OfQueue", "One", "Several"]

#: Amounts of a queue that are told apart at most.
_MOST_STEPS = 4_096
#: By the kind of an edit: kinds after whose success it is not tried alone.
_SPARED_BY = {
    "queue-guarantee": ("queue-capability", "queue-weight"),
    "queue-deserved": ("queue-capability", "queue-weight"),
    "replicas": ("min-available",),
    "selector": ("selector",),
    "withdraw": ("priority",),
    "untaint": ("toleration",),
}


class Family(ABC):
    """Edits of one kind and subject that differ in how much they change."""

    @property
    @abstractmethod
    def loosest(self) -> Edit:
        """The largest change; if it does not help, no smaller one is expected to."""

    @property
    def spared_by(self) -> tuple[str, ...]:
        """Kinds of edits after which this family is not tried alone: where they help, they are the better advice."""
        return _SPARED_BY.get(self.loosest.kind, ())

    def milder(self, outcome: EditOutcome) -> Sequence[Edit]:
        """Smaller changes, the smallest first, given a session in which the largest one helped."""
        return ()

    def few(self, most: int) -> Sequence[Edit]:
        """The first smaller changes, the smallest first, that are known without a session."""
        return ()

    def shrunk(self, edit: Edit) -> Iterator[Edit]:
        """Changes that are parts of `edit`, such as the same for fewer nodes."""
        return iter(())


@dataclass(frozen=True)
class One(Family):
    """A family of a single edit."""

    edit: Edit

    @property
    def loosest(self) -> Edit:
        return self.edit


@dataclass(frozen=True)
class Several(Family):
    """A family of a few edits, the smallest change first."""

    edits: tuple[Edit, ...]

    @property
    def loosest(self) -> Edit:
        return self.edits[-1]

    def few(self, most: int) -> Sequence[Edit]:
        return self.edits[:-1][:most]

    def milder(self, outcome: EditOutcome) -> Sequence[Edit]:
        return self.edits[:-1]


@dataclass(frozen=True)
class OfNodes(Family):
    """An edit of nodes, which may concern fewer nodes."""

    edit: NodesEdit

    @property
    def loosest(self) -> Edit:
        return self.edit

    def milder(self, outcome: EditOutcome) -> Sequence[Edit]:
        """The edit for the nodes that the job then uses."""
        assert outcome.placement is not None
        names = outcome.case.snapshot.topology.node_names
        node = outcome.placement.node
        taken = {names[i] for i in np.unique(node[node >= 0]).tolist()}
        some = [name for name in self.edit.nodes if name in taken]
        return [self.edit.only(some)] if 0 < len(some) < len(self.edit.nodes) else []

    def shrunk(self, edit: Edit) -> Iterator[Edit]:
        """The edit without one of its nodes."""
        assert isinstance(edit, NodesEdit)
        if len(edit.nodes) > 1:
            for gone in reversed(edit.nodes):
                yield edit.only([name for name in edit.nodes if name != gone])


@dataclass(frozen=True)
class OfQueue(Family):
    """Amounts of one field of a queue, raised up to what all jobs of the queue ask for.

    `edit`: the largest change. `steps`: smallest useful step of each resource in base units: the request of one pod.
    """

    edit: QueueAmounts
    steps: Mapping[str, int]

    @property
    def loosest(self) -> Edit:
        return self.edit

    def few(self, most: int) -> Sequence[Edit]:
        return [self._after(n) for n in range(1, most + 1)]

    def milder(self, outcome: EditOutcome) -> Sequence[Edit]:
        """Smaller amounts, in steps of one pod, the smallest first."""
        largest = max(self._steps_to(name, amount) for name, amount in self.edit.new)
        return [self._after(n) for n in range(1, min(largest, _MOST_STEPS))]

    def _old(self, name: str) -> int:
        return dict(self.edit.old).get(name) or 0

    def _steps_to(self, name: str, amount: int | None) -> int:
        return -(-((amount or 0) - self._old(name)) // self.steps[name])

    def _after(self, n_steps: int) -> QueueAmounts:
        """The edit that goes at most `n_steps` of each resource up."""
        new = tuple(
            (name, min(self._old(name) + n_steps * self.steps[name], amount or 0)) for name, amount in self.edit.new
        )
        return dataclasses.replace(self.edit, new=new)

    def shrunk(self, edit: Edit) -> Iterator[Edit]:
        """The edit without one of its resources, or with one step less of one."""
        assert isinstance(edit, QueueAmounts)
        if len(edit.new) == 1:
            return
        for gone, _ in edit.new:
            old, new = (tuple(one for one in some if one[0] != gone) for some in (edit.old, edit.new))
            yield dataclasses.replace(edit, old=old, new=new)
        for name, amount in edit.new:
            if self._steps_to(name, amount) > 1:
                less = tuple((one, a if one != name else (a or 0) - self.steps[name]) for one, a in edit.new)
                yield dataclasses.replace(edit, new=less)

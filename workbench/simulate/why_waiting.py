"""`WaitingReasons`: why jobs wait when a simulation is looked at; a sentence is computed when it is read."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from workbench.evaluate.whatif.budget import sessions_each
from workbench.evaluate.whatif.fix import fix_report
from workbench.model.counted import counted
from workbench.model.gang import Gang
from workbench.model.placement import Placement
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.contract import Policy
from workbench.simulate.job_run import kind_of

__all__ = ["WaitingReasons"]


class WaitingReasons(Mapping[int, str]):
    """Why jobs wait, one sentence each with what would help, by the number of the job.

    A copy or pickle is a plain dict.

    Parameters
    ----------
    snapshot : ClusterSnapshot
        The cluster with the jobs that run.
    known : mapping of int to str or Gang
        In the order of the jobs: the sentence, or the pods that a job waits for, of which the policy is asked.
    in_sessions : frozenset of int
        Jobs about which a session of the policy is asked; for others the policy places one gang.
    """

    def __init__(
        self,
        policy: Policy,
        snapshot: ClusterSnapshot,
        known: Mapping[int, str | Gang],
        in_sessions: frozenset[int],
    ) -> None:
        self._policy, self._snapshot, self._in_sessions = policy, snapshot, in_sessions
        self._known = dict(known)
        # Of jobs that ask for the same, where the sentence names none of them.
        self._of_kind: dict[Hashable, str] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[int]:
        return iter(self._known)

    def __contains__(self, number: object) -> bool:
        return number in self._known

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (dict(self.items()),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({counted(len(self), 'job')})"

    def __getitem__(self, number: int) -> str:
        found = self._known[number]
        if isinstance(found, Gang):
            found = self._known[number] = self._told(found, in_session=number in self._in_sessions)
        return found

    @cached_property
    def _runs(self) -> int:
        """Trials of changes for a job: all jobs share the budget of the advice of a session."""
        gangs = [each for each in self._known.values() if isinstance(each, Gang)]
        kinds = [_kind_of(gang) for gang in gangs]
        jobs = len({kind for kind in kinds if kind is not None}) + kinds.count(None)
        return sessions_each(jobs, 1, self._snapshot.n_nodes)

    def _told(self, gang: Gang, *, in_session: bool) -> str:
        kind = _kind_of(gang)
        if kind is not None and (kind, in_session) in self._of_kind:
            return self._of_kind[kind, in_session]
        answer = (
            self._policy.schedule([gang], self._snapshot)[0].result
            if in_session
            else self._policy.place(gang, self._snapshot.ledger())
        )
        if isinstance(answer, Placement):
            text = "it waits behind another job"
        else:
            text = fix_report(self._policy, [gang], self._snapshot, gang.key, most_runs=self._runs).headline
        if kind is not None and gang.name not in text:
            self._of_kind[kind, in_session] = text
        return text


def _kind_of(gang: Gang) -> Hashable | None:
    """Key that is equal for gangs that ask for the same, also of one scheduler alone; None: it is like no other."""
    kind, extras = kind_of(replace(gang, extras={})), tuple(gang.extras.values())
    try:
        hash(extras)
    except TypeError:
        return None
    return None if kind is None else (kind, extras)

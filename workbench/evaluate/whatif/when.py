"""`earliest_starts`: when pending jobs could start, given how long running and pending gangs run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.cancel import check
from workbench.errors import InputError
from workbench.model.counted import name_list
from workbench.model.extras import REMAINING_SECONDS, RUN_SECONDS
from workbench.model.gang import Gang
from workbench.model.number_text import duration_text
from workbench.model.placement import Placement
from workbench.model.running_pod import RunningPod
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies import Policy

__all__ = ["EarliestStart", "RunTimes", "earliest_starts"]


@dataclass(frozen=True)
class EarliestStart:
    """When a pending job starts, if nothing else is submitted and the run times hold.

    Attributes
    ----------
    job : str
        ``namespace/name``.
    seconds : float or None
        Seconds from now; None: it does not start, however long one waits.
    after : tuple of str
        Gangs that end at that moment.
    hypernode : str
        HyperNode in which it is then allocated; empty if the policy records none.
    ends_known : bool
        Whether the end of some running gang is known, if one runs.
    """

    job: str
    seconds: float | None
    after: tuple[str, ...] = ()
    hypernode: str = ""
    ends_known: bool = True

    @property
    def text(self) -> str:
        """When the job could start, or why that is unknown, as a sentence."""
        if self.seconds is None and not self.ends_known:
            return (
                f"when {self.job} could start is unknown: no running gang has a known end; give --run-seconds, or "
                f"annotate pods with {REMAINING_SECONDS}"
            )
        if self.seconds is None:
            return f"{self.job} does not start, even when all gangs with a known end have ended"
        ends = f", when {name_list(self.after)} {'ends' if len(self.after) == 1 else 'end'}" if self.after else ""
        inside = f", in {self.hypernode}" if self.hypernode else ""
        return f"{self.job} could start in {duration_text(self.seconds)}{ends}{inside}"

    def to_dict(self) -> dict[str, Any]:
        """The answer as a JSON-ready dict."""
        return {"seconds": self.seconds, "after": list(self.after), "hypernode": self.hypernode or None}


@dataclass(frozen=True)
class RunTimes:
    """How long gangs run: by annotations of their pods, otherwise one number for all.

    `default_s`: seconds that a gang runs, or still runs, whose pods have no annotation; None: it has no known end.
    """

    default_s: float | None = None

    def left(self, pods: Sequence[RunningPod]) -> float | None:
        """Seconds until the last pod of a gang ends: `REMAINING_SECONDS`, else `RUN_SECONDS`, else the default."""
        return self._longest((f"pod {pod.namespace}/{pod.name}", pod.annotations) for pod in pods)

    def whole(self, gang: Gang) -> float | None:
        """Seconds that a pending gang runs once it has started."""
        return self._longest((f"job {gang.key}, role {role.name}", role.annotations) for role in gang.roles)

    def _longest(self, annotated: Iterable[tuple[str, Mapping[str, str]]]) -> float | None:
        longest = 0.0
        for subject, written in annotated:
            key = next((name for name in (REMAINING_SECONDS, RUN_SECONDS) if name in written), None)
            one = self.default_s if key is None else _seconds(written[key], subject, key)
            if one is None:
                return None
            longest = max(longest, one)
        return longest


def _seconds(text: str, subject: str, key: str) -> float:
    """The time that an annotation of a subject gives, in seconds."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        expected = "seconds, such as 3600"
        raise InputError("no run time", source=subject, where=f"annotation {key}", got=repr(text), expected=expected)
    return seconds


def earliest_starts(
    policy: Policy,
    gangs: Sequence[Gang],
    snapshot: ClusterSnapshot,
    times: RunTimes,
    progress: Callable[[float], None] | None = None,
) -> list[EarliestStart]:
    """When each gang of a session starts if gangs end as their run times say and nothing else is submitted.

    At every end of a gang the policy runs a session with all gangs that still wait. Gangs that start end in their turn.

    `snapshot`: the cluster now. `progress`: called with the seconds from now at every session. Returns: one start per
    gang, in the order of the gangs. A gang that is placed at once starts in 0 seconds. Raises InputError: an annotation
    is no time.
    """
    # What runs of a job that waits does not end before the job has run.
    own = {gang.key for gang in gangs} | {f"{gang.namespace}/{part.name}" for gang in gangs for part in gang.jobs}
    ends = {
        key: left
        for key, pods in snapshot.running_index.gangs.items()
        if key not in own and (left := times.left(pods)) is not None
    }
    known = bool(ends) or not snapshot.running_index.gangs.keys() - own
    found: dict[str, EarliestStart] = {}
    waiting = list(gangs)
    now, ended = 0.0, tuple[str, ...]()
    while True:
        check()
        if progress is not None:
            progress(now)
        still = []
        for decision in policy.schedule(waiting, snapshot):
            result, gang = decision.result, decision.gang
            if not isinstance(result, Placement) or not result.n_placed:
                still.append(gang)
                continue
            found[gang.key] = EarliestStart(gang.key, now, ended, result.hypernode)
            snapshot = snapshot.with_placement(result)
            if (run := times.whole(gang)) is not None:
                ends[gang.key] = now + run
        waiting = still
        if not waiting or not ends:
            break
        now = min(ends.values())
        ended = tuple(sorted((key for key, end in ends.items() if end == now), key=str.encode))
        for key in ended:
            del ends[key]
            snapshot = snapshot.without(key)
    return [found.get(gang.key, EarliestStart(gang.key, None, ends_known=known)) for gang in gangs]

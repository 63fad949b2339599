"""`SimulatedJob`: a gang with the time of its arrival, the time that it runs, and its checkpoints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, floor, isfinite
from typing import Literal

from workbench.errors import InputError, UnknownNameError
from workbench.evaluate.contention import TrainingStep
from workbench.model.counted import counted
from workbench.model.extras import KoordinatorWish
from workbench.model.gang import Gang
from workbench.model.job_log import MOST_SECONDS
from workbench.model.notice import Notice
from workbench.model.value import Value

__all__ = ["RESTARTS", "Restarts", "SimulatedJob", "without_gang_group"]

Restarts = Literal["job", "pods"]
RESTARTS: tuple[Restarts, ...] = ("job", "pods")

#: Checkpoints by which a quotient of two times may miss a whole number.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class SimulatedJob(Value):
    """A gang that arrives and works for some time; a fault on one of its nodes stops it.

    Raises InputError: a time is negative or above 1e12 (`MOST_SECONDS`), `checkpoint_s` is 0, there are no pods, or the
    parallel shape of `step` is not one of all pods; UnknownNameError: no such `restarts`.

    Attributes
    ----------
    gang : Gang
        Placed by itself: a gang group is taken from it (`without_gang_group`).
    submitted_s : float
        Seconds since the start of the simulation.
    duration_s : float
        Seconds of work with all its pods, checkpoints and restarts left out.
    checkpoint_s : float, optional
        Seconds of work after which a checkpoint is written; None: none is, and after a fault all work begins anew.
    writing_s : float
        Seconds that writing a checkpoint stops the work; 0: it is hidden.
    restart_s : float
        Seconds from the placement after a fault until the work goes on.
    restarts : {"job", "pods"}
        What a fault on one of its pods takes from it: all its pods, or this pod only, while the others keep their
        nodes and stand still until it has found another node, as MindCluster reschedules. Of a HyperJob it takes the
        Jobs with such pods in either case.
    step : TrainingStep, optional
        What it sends in a training step, for simulations on a network; None: nothing.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.SimulatedJob(wb.gang("mine", pods=2, gpus=8), submitted_s=0.0, duration_s=60.0).duration_s
    60.0
    """

    gang: Gang
    submitted_s: float
    duration_s: float
    checkpoint_s: float | None = None
    writing_s: float = 0.0
    restart_s: float = 0.0
    restarts: Restarts = "job"
    step: TrainingStep | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "gang", without_gang_group(self.gang))
        for name in ("submitted_s", "duration_s", "writing_s", "restart_s"):
            value = getattr(self, name)
            if not 0 <= value <= MOST_SECONDS:
                raise self._wrong(name, value, f"seconds from 0 to {MOST_SECONDS:g}")
        if not self.gang.n_pods:
            raise InputError("a job without pods", source=f"job {self.gang.key}", expected="one pod or more")
        if self.restarts not in RESTARTS:
            raise UnknownNameError("restart", self.restarts, RESTARTS)
        if self.checkpoint_s is not None and not (isfinite(self.checkpoint_s) and self.checkpoint_s > 0):
            raise self._wrong("checkpoint_s", self.checkpoint_s, "more than 0 seconds, or None")

        shape = None if self.step is None else self.step.shape
        gang = self.gang
        gpus = sum(role.count * role.n_gpus for role in gang.roles)
        if shape is not None and (shape.ranks != gpus or gang.min_available < gang.n_pods):
            needed = f"{counted(gpus, 'GPU')}, {gang.min_available} of {counted(gang.n_pods, 'pod')} needed"
            raise InputError(
                "the parallel shape does not fit the job",
                source=f"job {gang.key}",
                got=f"{shape} = {counted(shape.ranks, 'GPU')}; {needed}",
                expected="DP x TP x PP x CP GPUs, and every pod needed",
            )

    def _wrong(self, name: str, value: float, expected: str) -> InputError:
        source = f"job {self.gang.key}"
        return InputError("not a time", source=source, where=name, got=f"{value:g}", expected=expected)

    def time_for(self, work_s: float) -> float:
        """Seconds that some seconds of work take with the checkpoints in between; none is written at the end."""
        if self.checkpoint_s is None or work_s <= 0:
            return work_s
        return work_s + self.writing_s * max(ceil(work_s / self.checkpoint_s - _ROUNDING) - 1, 0)

    def saved_after(self, time_s: float, work_s: float) -> float:
        """Seconds of work in checkpoints after `time_s` seconds of an attempt that had `work_s` ahead of it."""
        if self.checkpoint_s is None or time_s <= 0:
            return 0.0
        written = floor(time_s / (self.checkpoint_s + self.writing_s) + _ROUNDING)
        return min(written * self.checkpoint_s, work_s)

    def worked_in(self, time_s: float) -> float:
        """Seconds of work in `time_s` seconds of an attempt, without those that writing checkpoints took."""
        if self.checkpoint_s is None or not self.writing_s:
            return time_s
        written, since = divmod(time_s, self.checkpoint_s + self.writing_s)
        return written * self.checkpoint_s + min(since, self.checkpoint_s)


def without_gang_group(gang: Gang) -> Gang:
    """The gang without Koordinator's gang group, with a notice about it; the gang itself if it belongs to none.

    Jobs arrive and are placed one by one in a simulation, so the other gangs of a group cannot be decided with it.
    """
    if not gang.extra(KoordinatorWish).gang_groups:
        return gang
    note = Notice("gang-groups-not-read", "a simulation does not follow gang groups: the gang is placed by itself")
    alone = gang.with_extra(replace(gang.extra(KoordinatorWish), gang_groups=()))
    return replace(alone, notes=(*gang.notes, note))

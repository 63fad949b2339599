"""`RetryRule`: when a scheduler tries a job again that it could not place."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite

from workbench.errors import InputError
from workbench.model.value import Value

__all__ = ["AT_CHANGES", "KUBE_SCHEDULER", "VOLCANO", "RetryRule"]


@dataclass(frozen=True)
class RetryRule(Value):
    """When waiting jobs are tried: at every change, in scheduling cycles, or after a back-off.

    Without any of them a job is tried when it arrives and whenever resources are freed. With back-off, a job that was
    refused is tried again once resources were freed *and* its back-off is over; the arrival of another job is no
    reason.

    Raises InputError: a time is negative or not finite, or the longest back-off is shorter than the first.

    `cycle_s`: seconds from one scheduling cycle to the next, the first at 0; jobs are tried in cycles only. 0: no
    cycles. `first_back_off_s`, `longest_back_off_s`: seconds of back-off after the first refusal; every further one
    doubles them, up to the longest. 0: none.
    """

    cycle_s: float = 0.0
    first_back_off_s: float = 0.0
    longest_back_off_s: float = 0.0

    def __post_init__(self) -> None:
        for name in ("cycle_s", "first_back_off_s", "longest_back_off_s"):
            value = getattr(self, name)
            if not (isfinite(value) and value >= 0):
                raise InputError("not a time", source="retry rule", where=name, got=f"{value:g}", expected="0 or more")
        if self.longest_back_off_s < self.first_back_off_s:
            raise InputError(
                "the longest back-off is shorter than the first",
                source="retry rule",
                got=f"{self.longest_back_off_s:g} s",
                expected=f"at least {self.first_back_off_s:g} s",
            )

    @property
    def backs_off(self) -> bool:
        """Whether refused jobs wait for a back-off."""
        return self.first_back_off_s > 0

    def next_cycle(self, now_s: float) -> float:
        """Time of the first scheduling cycle at or after `now_s`; without cycles `now_s` itself."""
        # The product may be rounded to a time before.
        return max(ceil(now_s / self.cycle_s) * self.cycle_s, now_s) if self.cycle_s else now_s

    def back_off(self, refusals: int) -> float:
        """Seconds that a job waits after so many refusals, 1 or more, in a row."""
        # Two to the power of 60 is longer than any simulation; larger powers would overflow.
        return min(self.first_back_off_s * 2.0 ** min(refusals - 1, 60), self.longest_back_off_s)


#: At every change: what schedulers would do if they took no time.
AT_CHANGES = RetryRule()

#: In cycles of one second, Volcano's default ``--schedule-period``.
VOLCANO = RetryRule(cycle_s=1.0)

#: The queue of kube-scheduler with its defaults, podInitialBackoffSeconds 1 and podMaxBackoffSeconds 10.
KUBE_SCHEDULER = RetryRule(first_back_off_s=1.0, longest_back_off_s=10.0)

"""What a run of a study measures: the numbers of `SimulationResult.summary`, with their units and directions."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.errors import UnknownNameError

__all__ = ["COUNTS", "NEVER_PLACED", "OUTCOMES", "SHOWN", "Outcome", "outcome"]


@dataclass(frozen=True)
class Outcome:
    """A number that each run measures.

    Attributes
    ----------
    key : str
        Name in `SimulationResult.summary`.
    heading : str
    unit : str
        Empty for a ratio; that of numbers as they are stored: a share is 0 to 1.
    better : {"less", "more"}
    whole : bool
        Whether it is a count.
    share : bool
        Whether it is a part of a whole, 0 to 1.
    """

    key: str
    heading: str
    unit: str
    better: str
    whole: bool = False
    share: bool = False

    @property
    def shown_unit(self) -> str:
        """The unit in tables and pictures, which show shares in percent."""
        return "%" if self.share else self.unit


OUTCOMES: tuple[Outcome, ...] = (
    Outcome("completed", "completed", "jobs", "more", True),
    Outcome("never_placed", "never ran", "jobs", "less", True),
    Outcome("restarts", "restarts", "restarts", "less", True),
    Outcome("makespan_s", "until the last job ends", "s", "less"),
    Outcome("span_s", "simulated time", "s", "less"),
    Outcome("gpu_use", "GPUs in use", "", "more", share=True),
    Outcome("redone", "work undone by faults", "", "less", share=True),
    Outcome("slowed", "GPU time that the network cost", "", "less", share=True),
    Outcome("waited_mean_s", "wait, mean", "s", "less"),
    Outcome("waited_p50_s", "wait, p50", "s", "less"),
    Outcome("waited_p99_s", "wait, p99", "s", "less"),
    Outcome("slowdown_p50", "slowdown, p50", "", "less"),
)

COUNTS: tuple[str, ...] = ("jobs", *(one.key for one in OUTCOMES if one.whole))

#: Jobs that arrived and never started. Waiting times leave them out, so tables show their number if it is not 0.
NEVER_PLACED = "never_placed"

#: Outcomes that tables show unless the user names others.
SHOWN: tuple[str, ...] = ("waited_mean_s", "waited_p99_s", "gpu_use")


def outcome(key: str) -> Outcome:
    """The outcome of a key; raises UnknownNameError with close names if there is none."""
    found = next((one for one in OUTCOMES if one.key == key), None)
    if found is None:
        raise UnknownNameError("outcome of a run", key, [one.key for one in OUTCOMES])
    return found

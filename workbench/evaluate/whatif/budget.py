"""`TrialBudget`: how much work the trials of edits may do, in nodes times gangs tried."""

from __future__ import annotations

__all__ = ["FEWEST_SESSIONS", "MOST_WORK", "TrialBudget", "session_work"]

#: Work for the advice of one call, whether it is about one pending job or about all of a session: some seconds.
MOST_WORK = 12_000_000
#: Sessions without which a search for edits is not begun; a single job in question always gets as many.
FEWEST_SESSIONS = 16
#: Nodes that each gang counts as beyond those of the cluster, because trying a gang on very few nodes takes time, too.
_GANG = 800


def session_work(n_gangs: int, n_nodes: int) -> int:
    """Work of running one session: nodes times gangs tried.

    Parameters
    ----------
    n_gangs : int
        Gangs of the session.
    n_nodes : int
        Nodes of the cluster.
    """
    return n_gangs * (n_nodes + _GANG)


class TrialBudget:
    """Work that may still be done.

    Parameters
    ----------
    work : int
        As `session_work` counts it.
    whole : TrialBudget, optional
        The budget of which this is a part; work counts there, too.

    Attributes
    ----------
    left : int
        Work that is left; negative where the last question needed more.
    """

    def __init__(self, work: int = MOST_WORK, whole: TrialBudget | None = None) -> None:
        self.left = work
        self._whole = whole

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0

    def spend(self, work: int) -> None:
        """Count work that was done."""
        self.left -= work
        if self._whole is not None:
            self._whole.spend(work)

    def part(self, work: int) -> TrialBudget:
        """A budget for one job."""
        return TrialBudget(work, self)

"""`TrialBudget`: how much work the trials of edits may do, in nodes times gangs tried.

One budget, `MOST_WORK`, limits the advice of a call, for one pending job as for all jobs of a session; what each job
gets follows from it.
"""

from __future__ import annotations

__all__ = ["FEWEST_SESSIONS", "MOST_WORK", "PROOF_SESSIONS", "TrialBudget", "session_work", "sessions_each"]

#: Work for the advice of one call, whether it is about one pending job or about all of a session: some seconds.
MOST_WORK = 12_000_000
#: Sessions without which a search for edits is not begun; a single job in question always gets as many.
FEWEST_SESSIONS = 16
#: Sessions in which edits that help a job by itself may be run although its share of the work pays for fewer.
PROOF_SESSIONS = 2
#: Nodes that each gang counts as beyond those of the cluster, because trying a gang on very few nodes takes time, too.
_GANG = 800


def session_work(n_gangs: int, n_nodes: int) -> int:
    """Work of running one session: nodes times gangs tried.

    `n_gangs`: gangs of the session. `n_nodes`: nodes of the cluster.
    """
    return n_gangs * (n_nodes + _GANG)


def sessions_each(n_jobs: int, n_gangs: int, n_nodes: int) -> int:
    """Sessions that the budget pays for each of some jobs; `FEWEST_SESSIONS` at least.

    `n_jobs`: Jobs in question. `n_gangs`, `n_nodes`: as of `session_work`.
    """
    return max(MOST_WORK // (max(n_jobs, 1) * max(session_work(n_gangs, n_nodes), 1)), FEWEST_SESSIONS)


class TrialBudget:
    """Work that may still be done.

    `left`: work that is left; negative where the last question needed more.

    Parameters
    ----------
    work : int
        As `session_work` counts it.
    whole : TrialBudget, optional
        The budget of which this is a part; work counts there, too.
    free_answers : bool
        Whether an answer that another job's search has found costs nothing. If False it counts as work here, though
        not in `whole`, so that a search goes as far as it would alone.
    """

    def __init__(self, work: int = MOST_WORK, whole: TrialBudget | None = None, *, free_answers: bool = False) -> None:
        self.left = work
        self.free_answers = free_answers
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

    def learn(self, work: int) -> None:
        """Count work that another job's search has done."""
        if not self.free_answers:
            self.left -= work

    def part(self, work: int, *, free_answers: bool = False) -> TrialBudget:
        """A budget for one job."""
        return TrialBudget(work, self, free_answers=free_answers)

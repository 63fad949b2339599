from typing import Self, final

from workbench._core.domain_counts import DomainCounts
from workbench._core.job_state import JobState

@final
class BestAttempt:
    def __new__(cls, job: JobState, counts: DomainCounts) -> Self: ...

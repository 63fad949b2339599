from typing import Self, final

from workbench._core.domain_counts import DomainCounts

@final
class SubJobScores:
    def __new__(cls, counts: DomainCounts) -> Self: ...

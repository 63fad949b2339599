from typing import Self, final

from workbench._core.sub_job_search import SubJobSearch

@final
class AttemptTrace:
    def __new__(cls, search: SubJobSearch) -> Self: ...

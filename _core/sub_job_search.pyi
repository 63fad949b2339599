from typing import Self, final

from workbench._core.job_state import JobState
from workbench._core.sub_job_scores import SubJobScores
from workbench._core.trial_fill import TrialFill

@final
class SubJobSearch:
    def __new__(cls, fill: TrialFill, scores: SubJobScores, job: JobState) -> Self: ...

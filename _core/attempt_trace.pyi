from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from workbench._core.sub_job_search import SubJobSearch

@final
class AttemptTrace:
    def __new__(cls, search: SubJobSearch) -> Self: ...
    def begin(self, inner: bool) -> None: ...
    def tell_sub(self, number: int, given: int) -> bool: ...
    def told(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]: ...

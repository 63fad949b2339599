from typing import Self, final

@final
class JobState:
    def __new__(cls, r: int) -> Self: ...

from typing import final

@final
class TrialFill:
    @property
    def best(self) -> tuple[float, int]: ...

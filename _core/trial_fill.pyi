from typing import final

@final
class TrialFill: ...

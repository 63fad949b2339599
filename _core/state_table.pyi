from typing import final

@final
class StateTable: ...

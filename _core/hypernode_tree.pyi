from typing import final

@final
class HyperNodeTree: ...

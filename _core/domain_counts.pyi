from typing import Self, final

from workbench._core.hypernode_tree import HyperNodeTree
from workbench._core.state_table import StateTable

@final
class DomainCounts:
    def __new__(cls, states: StateTable, hypernodes: HyperNodeTree) -> Self: ...

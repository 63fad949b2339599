from typing import final

import numpy as np
from numpy.typing import NDArray

@final
class HyperNodeTree:
    def set_nodes(self, leaf: NDArray[np.int32], start: NDArray[np.int64], members: NDArray[np.int32]) -> None: ...
    def set_leaves(self, start: NDArray[np.int64], leaves: NDArray[np.int32]) -> None: ...
    def set_tree(
        self,
        parent: NDArray[np.int32],
        tiers: NDArray[np.int64],
        tier_start: NDArray[np.int64],
        tier_domains: NDArray[np.int32],
        tier_of: NDArray[np.int32],
        place_of: NDArray[np.int32],
        end_of: NDArray[np.int32],
        place_in_tier: NDArray[np.int32],
        largest: NDArray[np.int64],
        node_start: NDArray[np.int64],
        node_domains: NDArray[np.int32],
        spans: NDArray[np.int32] | None,
        top_tier: int,
        nested: bool,
        proper: bool,
        contained: bool,
    ) -> None: ...
    def domain_tier(self, domain: int) -> int: ...
    def contains(self, outer: int, inner: int) -> bool: ...
    def holds_node(self, domain: int, node: int) -> bool: ...
    def interval_of(self, domain: int) -> tuple[int, int] | None: ...
    def gradients(self, given: int, record: int, limit: int | None) -> list[NDArray[np.int32]]: ...

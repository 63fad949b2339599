"""`RealNodes`: the set of nodes under a HyperNode, computed only when it is read."""

from __future__ import annotations

from workbench.objects.selectors import NameIndex, Selector, resolve_selector

__all__ = ["RealNodes"]

# A chain of sets longer than this comes from a cycle that is updated again and again: it is cut by copying.
_DEEPEST = 64


class RealNodes:
    """The nodes under a HyperNode: its own, and those that its children had when they were added.

    A child that is rebuilt gets a new object, so that a parent which added the old one keeps the old nodes. Volcano
    copies the sets; here the 20,000 nodes of a parent are not copied for every event below it.
    """

    def __init__(self) -> None:
        self._own: set[str] = set()
        self._parts: list[RealNodes] = []
        self._depth = 0
        self._names: frozenset[str] | None = None

    def add(self, index: NameIndex, selector: Selector) -> None:
        """Add the nodes that `selector` selects from `index`."""
        self._own.update(resolve_selector(selector, index))

    def join(self, child: RealNodes) -> None:
        """Add the nodes that a child has now; the child's object must not be changed afterwards."""
        if child._depth >= _DEEPEST:
            self._own |= child.names()
            return
        self._parts.append(child)
        self._depth = max(self._depth, child._depth + 1)

    def names(self) -> frozenset[str]:
        """Names of all nodes in the set; the object must not be changed afterwards."""
        if self._names is None:
            found: set[str] = set()
            seen: set[RealNodes] = set()
            waiting = [self]
            while waiting:
                nodes = waiting.pop()
                if nodes in seen:
                    continue
                seen.add(nodes)
                if nodes._names is not None:
                    found |= nodes._names
                else:
                    found |= nodes._own
                    waiting += nodes._parts
            self._names = frozenset(found)
        return self._names

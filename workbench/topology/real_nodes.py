"""The nodes under a HyperNode, put together when somebody reads them."""

from __future__ import annotations

from workbench.objects.selectors import NameIndex, Selector, resolve_selector

__all__ = ["RealNodes"]

# A chain of sets this long comes from a cycle that is updated again and again: it is cut by copying.
_DEEPEST = 64


class RealNodes:
    """Own nodes and the sets of children as they were when they were joined.

    A child that is rebuilt gets a new object, so that who joined the old one keeps what it had, as upstream's copied
    sets do; a parent of 20,000 nodes is not copied for every event below it.
    """

    def __init__(self) -> None:
        self._own: set[str] = set()
        self._parts: list[RealNodes] = []
        self._depth = 0
        self._names: frozenset[str] | None = None

    def add(self, index: NameIndex, selector: Selector) -> None:
        """What a selector yields."""
        self._own.update(resolve_selector(selector, index))

    def join(self, child: RealNodes) -> None:
        """The nodes of a child, as they are now; it is not changed any more."""
        if child._depth >= _DEEPEST:
            self._own |= child.names()
            return
        self._parts.append(child)
        self._depth = max(self._depth, child._depth + 1)

    def names(self) -> frozenset[str]:
        """All names; afterwards the object is not changed any more."""
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

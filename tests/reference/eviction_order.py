"""Order in which eviction tries HyperNodes. The product evicts nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def reverse_and_cap(gradients: Sequence[Sequence[T]], most: int) -> list[list[T]]:
    """HyperNodes in the order in which eviction tries them: widest tier first, at most `most` HyperNodes in all.

    If a tier has to be cut, the last HyperNodes of its list are kept. `most` <= 0 means no limit.
    """
    if most <= 0:
        return [list(gradient) for gradient in gradients]
    found = []
    for gradient in reversed(gradients):
        kept = list(gradient)[-most:] if most else []
        if not kept:
            break
        found.append(kept)
        most -= len(kept)
    return found

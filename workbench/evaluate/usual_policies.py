"""`USUAL_POLICIES`: the policies that are compared by default; `FIELD`: one for each scheduler that has a twin.

The module imports nothing of the workbench, because `--help` loads it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

__all__ = ["FIELD", "USUAL_POLICIES", "with_field"]

#: The two releases of Volcano, and what fits without looking at the network.
USUAL_POLICIES = ("volcano-1.15", "volcano-1.13", "gang")

#: The twins of schedulers, which `with_field` puts in the place of the name ``field``.
FIELD = ("volcano-1.15", "volcano-1.13", "kueue-0.19", "kube-1.37-topology", "kube-default")

T = TypeVar("T")


def with_field(policies: Iterable[T | str]) -> list[T | str]:
    """The policies with those of `FIELD` in the place of ``field``, but for those that are named themselves.

    `policies`: names of policies; anything else is kept as it is.
    """
    given = list(policies)
    if "field" not in given:
        return given
    at = given.index("field")
    others = [*given[:at], *given[at + 1 :]]
    return [*given[:at], *(name for name in FIELD if name not in others), *given[at + 1 :]]

"""Paths through a tree of switches whose ends need not be its leaves."""

from __future__ import annotations

import pytest

from workbench.errors import InputError
from workbench.evaluate.cost import TreeFabric

#      S0
#     /  \
#   L0    L1
#   |      |
#   n0    n4
FABRIC = TreeFabric({"n0": "L0", "n4": "L1", "L0": "S0", "L1": "S0"}, dict.fromkeys(("n0", "n4", "L0", "L1"), 1.0))


@pytest.mark.parametrize(
    ("source", "target", "path"),
    [
        ("n0", "n4", ("u:n0", "u:L0", "d:L1", "d:n4")),
        ("n0", "S0", ("u:n0", "u:L0")),
        ("S0", "n4", ("d:L1", "d:n4")),
        ("S0", "S0", ()),
        ("L1", "n4", ("d:n4",)),
    ],
)
def test_the_root_and_the_switches_are_nodes_of_the_fabric(source: str, target: str, path: tuple[str, ...]) -> None:
    assert FABRIC.path(source, target) == path


def test_other_names_are_not() -> None:
    with pytest.raises(InputError, match="unknown node"):
        FABRIC.path("n0", "n9")

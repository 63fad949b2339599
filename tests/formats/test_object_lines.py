"""Positions of fields, and cutting text."""

from __future__ import annotations

import pytest

from workbench.formats.object_lines import decoded, object_texts, spliced
from workbench.topology.lint import FieldEdit

TEXT = """\
%YAML 1.1
---
kind: Job
metadata: {name: a}
---
kind: HyperNode
metadata:
  name: a
spec:
  members:
  - x: 1

  - x: 2
  # between
  - x: 3
"""


def removed(*numbers: int) -> list[FieldEdit]:
    return [FieldEdit(("spec", "members", i), remove=True) for i in numbers]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 6),
        (("metadata", "name"), 8),
        (("spec", "members"), 10),
        (("spec", "members", 1), 13),
        (("spec", "members", 2, "x"), 15),
        (("spec", "tier"), 9),
        (("spec", "members", 7), 10),
        (("status", "nodeCount"), 6),
    ],
)
def test_line_of_a_field_or_of_what_is_there_above_it(path: tuple[str | int, ...], line: int) -> None:
    assert object_texts(TEXT, {"HyperNode a"})["HyperNode a"].line_of(path) == line


def test_only_hypernodes_of_the_names_asked_for() -> None:
    assert object_texts(TEXT, {"HyperNode b"}) == {}
    assert object_texts("kind: HyperNode\nmetadata: {}\n", {"HyperNode a"}) == {}
    assert object_texts("HyperNode: [", {"HyperNode a"}) == {}


@pytest.mark.parametrize(
    ("numbers", "want"),
    [
        ((0,), "  members:\n\n  - x: 2\n  # between\n  - x: 3\n"),
        ((1,), "  members:\n  - x: 1\n\n  # between\n  - x: 3\n"),
        ((2,), "  members:\n  - x: 1\n\n  - x: 2\n  # between\n"),
        ((1, 2), "  members:\n  - x: 1\n\n  # between\n"),
    ],
)
def test_entries_of_a_block_go_with_their_lines(numbers: tuple[int, ...], want: str) -> None:
    found = object_texts(TEXT, {"HyperNode a"})["HyperNode a"]
    assert spliced(TEXT, [(found, removed(*numbers))]).endswith("spec:\n" + want)


@pytest.mark.parametrize(
    ("numbers", "want"), [((0,), "[2, 3]"), ((1,), "[1, 3]"), ((2,), "[1, 2]"), ((1, 2), "[1]"), ((0, 2), "[2]")]
)
def test_entries_of_a_flow_list_go_with_their_commas(numbers: tuple[int, ...], want: str) -> None:
    text = "kind: HyperNode\nmetadata: {name: a}\nspec: {members: [1, 2, 3]}\n"
    found = object_texts(text, {"HyperNode a"})["HyperNode a"]
    assert spliced(text, [(found, removed(*numbers))]) == text.replace("[1, 2, 3]", want)


@pytest.mark.parametrize(
    ("old", "value", "new"),
    [
        ("Node1", "node1", "node1"),
        ("'Node1 '", "node1", "'node1'"),
        ('"Node1"', "node1", '"node1"'),
        ("Yes", "yes", '"yes"'),
        ("NODE", "node-1", "node-1"),
        ("NODE", "1e3", '"1e3"'),  # a number to readers of YAML 1.2
        ("NODE", "12", '"12"'),
        ("7", 12, "12"),
    ],
)
def test_a_value_keeps_its_quotes_where_it_can(old: str, value: object, new: str) -> None:
    text = f"kind: HyperNode\nmetadata: {{name: a}}\nspec: {{x: {old}}}  # remark\n"
    found = object_texts(text, {"HyperNode a"})["HyperNode a"]
    assert spliced(text, [(found, [FieldEdit(("spec", "x"), value)])]) == text.replace(f"x: {old}", f"x: {new}")


def test_byte_order_marks() -> None:
    assert decoded(b"\xef\xbb\xbfa") == ("a", "utf-8", b"\xef\xbb\xbf")
    assert decoded("a".encode("utf-16-be")) == ("\0a", "utf-8", b"")
    assert decoded(b"\xff\xfea\0") == ("a", "utf-16-le", b"\xff\xfe")

"""Every slip of a text that is no YAML is named with its line and a remedy, all of them in one run."""

from __future__ import annotations

import pytest

from workbench.errors import InputError
from workbench.formats.manifests import read_text
from workbench.formats.yaml_slips import find_slips

ALL_AT_ONCE = """\
version: v1
kind: A
name: s4
spec:
  members:
    name: s0
    name: s1
version: v1
kind: A
spec:
tier: 2
  members:
  - mode: hard** // a remark
    highest: 2**
    // another
  - mode: soft
   other: “curly”
\ttabbed: 1
"""


def _found(text: str) -> list[tuple[int, str]]:
    return [(slip.line, slip.found) for slip in find_slips(text)]


def test_every_slip_of_a_file_is_found_in_one_run() -> None:
    found = _found(ALL_AT_ONCE)

    assert [line for line, _ in found] == [7, 8, 12, 13, 13, 14, 15, 17, 17, 18]
    words = [
        "'name' twice",
        "a second 'version'",
        "'members' is indented",
        "**",
        "//",
        "**",
        "//",
        "quotes",
        "'other' is",
    ]
    assert [word for word, (_, text) in zip(words, found, strict=False) if word not in text] == []
    assert "a tab" in found[-1][1]


@pytest.mark.parametrize(
    ("text", "line", "remedy"),
    [
        ("a: 1\n// said\nb: [", 2, "begin it with #"),
        ("a: 1\nb: hard**\nc: [", 2, "leave the ** out"),
        ("a: 1\na: 2\n", 2, "keep one"),
        ("x:\n  a: 1\n  b: 2\n  b: 3\n", 4, "keep one of them"),
        ("x:\n  - a: 1\n    a: 2\n", 3, "begin each entry of a list with a dash"),
        ("kind: A\nspec: {}\nkind: B\n", 3, "write --- above"),
        ("a: 1\n  b: 2\n", 2, "alike"),
        ("a:\n\tb: 2\n", 2, "indent with spaces"),
        # The repeated key forgets the keys before it, and b is named all the same.
        ("a:\nb: {x: y}\n    a: [1]\n  c: 1\n", 4, "alike"),
    ],
)
def test_a_slip_is_refused_with_its_line_and_a_remedy(text: str, line: int, remedy: str) -> None:
    with pytest.raises(InputError) as caught:
        read_text(text.encode(), "f.yaml")

    said = str(caught.value)
    assert said.startswith("f.yaml: line ")
    assert f"line {line}: " in said.partition("to be mended")[2]
    assert remedy in said.partition("to be mended")[2]
    assert "\n" not in said


@pytest.mark.parametrize(
    "text",
    [
        "url: https://a.b/c  # not // a comment\n",
        "text: 'a // b ** c'\nother: \"x ** // y\"\n",
        "script: |\n  // in here\n    all is **text**\n  a: 1\n  a: 1\nnext: 1\n",
        "a:\n- b: 1\n  c: 2\n- b: 1\nd: 1\n",
        "---\nkind: A\n---\nkind: B\n",
        "a: {b: 1,\n  b2: 2,\n    c: 3}\nd: [1,\n 2]\n",
        "a:\n  b:\n    c: 1\n  d: 1\ne:\n    f: 1\n",
    ],
)
def test_what_is_in_order_is_no_slip(text: str) -> None:
    assert _found(text) == []
    assert read_text(text.encode(), "f.yaml")


def test_items_that_begin_with_an_anchor_are_no_slip() -> None:
    text = "spec: &a\n  x: 1\ntasks:\n  - &id\n    name: w\n  -\n    name: v\n  - !!map\n    name: u\n"
    assert find_slips(text) == []

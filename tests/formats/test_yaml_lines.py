"""Documents that are read line by line, and the others: with both readers a stream says what libyaml alone says."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.choice import choices
from tests.profiles import max_examples
from workbench.errors import InputError
from workbench.formats import yaml_events
from workbench.formats.yaml_events import MAX_DEPTH, read_yaml
from workbench.formats.yaml_lines import document_of_lines, segments
from workbench.formats.yaml_scalars import Scalars

NODE = """\
apiVersion: v1
kind: Node
metadata:
  name: node-0
  annotations:
    csi.volume.kubernetes.io/nodeid: '{"driver": "n0"}'
    note: "a # b: c"
  labels: {}
spec:
  podCIDRs:
  - 10.0.0.0/24
  taints:
  - key: node.kubernetes.io/unreachable
    effect: NoSchedule
    value:
  - key: gpu
status:
  images: []
  allocatable:
    cpu: 95500m
    ephemeral-storage: 0644
    pods: "110"
  conditions:
    - type: Ready
      message: kubelet is posting ready status, since 10:30
"""
WANT = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {
        "name": "node-0",
        "annotations": {"csi.volume.kubernetes.io/nodeid": '{"driver": "n0"}', "note": "a # b: c"},
        "labels": {},
    },
    "spec": {
        "podCIDRs": ["10.0.0.0/24"],
        "taints": [
            {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule", "value": None},
            {"key": "gpu"},
        ],
    },
    "status": {
        "images": [],
        "allocatable": {"cpu": "95500m", "ephemeral-storage": 420, "pods": "110"},
        "conditions": [{"type": "Ready", "message": "kubelet is posting ready status, since 10:30"}],
    },
}
STREAM = f"# a comment\n---\n{NODE}---\nitems:\n- a: 1\n  b:\n  - x\n- y\nlast: |\n  text\n---\n{NODE}"
PIECES = [
    *" \n:-#\"'{}[]&*!|>%@`,?=<~.01ay_/\t\r\x01é\u2028",
    "- ",
    ": ",
    "\n---\n",
    "\n- ",
    "  ",
    "...",
    "\nk: v\n",
    "1e999",
]


def by_lines(text):
    parts = segments(text)
    return None if parts is None else [document_of_lines(text, part, Scalars()) for part in parts]


def outcome(text):
    """Every document with its line, and the error that ends the stream."""
    found = []
    try:
        for document in read_yaml(text.encode(), "file.yaml"):
            found.append((document.line, repr(document.data)))
    except InputError as error:
        found.append(str(error))
    return found


def by_libyaml(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_events, "segments", lambda _: None)
        return outcome(text)


def changed(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    at, line = rng.randrange(len(text) + 1), rng.randrange(len(lines))
    kind = rng.choice(["insert", "delete", "repeat", "indent", "drop"])
    if kind == "insert":
        return text[:at] + rng.choice(PIECES) + text[at:]
    if kind == "delete":
        return text[:at] + text[at + 1 :]
    if kind == "repeat":
        lines.insert(rng.randrange(len(lines) + 1), lines[line])
    elif kind == "indent":
        lines[line] = " " * rng.randrange(5) + lines[line].lstrip(" ")
    else:
        lines.pop(line)
    return "\n".join(lines)


def test_what_tools_write_is_read_line_by_line():
    assert by_lines(NODE) == [(WANT, 1)]
    assert by_lines(f"---\n{NODE}---\n{NODE}") == [(WANT, 2), (WANT, 2 + NODE.count("\n") + 1)]


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\na: 2\n", "a: &x 1\nb: *x\n", "a: !!str 1\n", "<<: {a: 1}\n", "a: 1 # b\n", "a: |\n  b\n", "a: b\n  c\n",
        "a: b\n  c: d\n", "a:\n    b: 1\n  c: 2\n", "- a\n  b\n", "- a: 1\n   b: 2\n", "a: 1\n- b\n", "- a\nb: 1\n",
        "- - a\n", "-\n  a: 1\n", "? a\n: b\n", "a: 'it''s'\n", 'a: "\\n"\n', "a: [1]\n", "a: {b: 1}\n", "a:  1\n",
        "a: 1 \n", "a: 1\r\n", "a: é\n", "é: 1\n", "a: b: c\n", "a: - b\n", "\n", "", "a: 1", "--- a\n", "a:\tb\n",
        "a: " + "9" * 5000 + "\n", "- a: 1\n b: 2\n", "a: @b\n", "a: b:\n", "  a: 1\nb: 2\n", "a\n",
    ],
)  # fmt: skip
def test_any_other_document_is_libyamls(text):
    assert by_lines(text) == [None]
    assert outcome(text) == by_libyaml(text)


@pytest.mark.parametrize("text", ["%YAML 1.1\n---\na: 1\n", "a: 1\n...\n---\nb: 2\n"])
def test_streams_with_directives_or_ends_are_libyamls(text):
    assert by_lines(text) is None
    assert outcome(text) == by_libyaml(text)


def test_lists_may_stand_in_the_column_of_their_key_or_beyond():
    text = "a:\n- b:\n  - c\n  - d:\n      e: 1\n  f: 2\n- g\nh:\n  - i: 3\n    j:\n  - k\nl: m\n"
    want = {"a": [{"b": ["c", {"d": {"e": 1}}], "f": 2}, "g"], "h": [{"i": 3, "j": None}, "k"], "l": "m"}
    assert by_lines(text) == [(want, 1)]
    assert by_libyaml(text) == [(1, repr(want))]


def test_levels_are_limited_as_by_libyaml():
    for depth in (80, 95, MAX_DEPTH, MAX_DEPTH + 1):
        text = "".join(f"{'  ' * i}a:\n" for i in range(depth)) + "  " * depth + "b: 1\n"
        assert outcome(text) == by_libyaml(text)


def test_documents_over_several_steps(monkeypatch):
    monkeypatch.setattr("workbench.formats.yaml_lines._STEP", 7)
    assert by_lines(NODE) == [(WANT, 1)]


def test_after_many_documents_of_another_form_the_rest_is_libyamls():
    text = "".join(f"a: {i} # {i}\n---\n" for i in range(40)) + NODE
    assert outcome(text) == by_libyaml(text)


@max_examples(2_000)
@given(choices(), st.integers(1, 6))
def test_whatever_is_changed_both_readers_say_what_libyaml_says(rng, times):
    text = rng.choice([NODE, STREAM, "a: 1\nb:\n- x\n- y: 1\n  z:\n  - q\nc: {}\n"])
    for _ in range(times):
        text = changed(rng, text)
    assert outcome(text) == by_libyaml(text)

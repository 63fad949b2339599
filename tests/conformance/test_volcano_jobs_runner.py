"""The runners of plugins and pods: a changed expectation fails, and so does an addition that is not listed."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.collect import Item, items
from tests.conformance.registry import NotUnderstood
from tests.conformance.runners import AREAS
from tests.conformance.runners.volcano_jobs_asserts import assert_holds, same
from workbench.objects.frameworks import FRAMEWORKS, Addition

HERE = Path(__file__).parent
CASES = [
    item
    for item in items(HERE / "cases", AREAS)
    if item.area == "volcano-jobs" and item.case and item.file.startswith(("plugin-", "create-pod", "helpers"))
]


def spoilt(value: Any) -> Iterator[Any]:
    """The value with one text, number or truth value changed, for each of them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            # What a check looks at says where it looks; every name of a plugin's argument has a value of its own.
            if key not in ("op", "path"):
                for other in spoilt(inner):
                    yield {**value, key: other}
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            for other in spoilt(inner):
                yield [*value[:i], other, *value[i + 1 :]]
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 7
    elif isinstance(value, str):
        yield f"{value}?"


@pytest.mark.slow
@pytest.mark.parametrize("item", CASES, ids=lambda item: item.id)
def test_a_changed_expectation_fails(item: Item) -> None:
    AREAS[item.area].run(item.file, item.case)
    passed = []
    for expected in spoilt(item.case["expected"]):
        try:
            AREAS[item.area].run(item.file, {**item.case, "expected": expected})
        except (AssertionError, NotUnderstood, KeyError):
            continue
        passed.append(expected)
    assert passed == []


@pytest.mark.parametrize("plugin", ["mpi", "pytorch"])
def test_what_is_not_listed_as_an_addition_fails(plugin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FRAMEWORKS, plugin, replace(FRAMEWORKS[plugin], additions=Addition()))
    failed = 0
    for item in CASES:
        if item.file == f"plugin-{plugin}":
            case = copy.deepcopy(item.case)
            try:
                AREAS[item.area].run(item.file, case)
            except AssertionError:
                failed += 1
    assert failed > 0


def test_inputs_are_left_as_they_are() -> None:
    changed = []
    for item in CASES:
        before = copy.deepcopy(item.case)
        AREAS[item.area].run(item.file, item.case)
        changed += [item.id] if item.case != before else []
    assert changed == []


@pytest.mark.parametrize(
    ("found", "want", "answer"),
    [
        (None, "", True),
        ({"a": 0, "b": []}, {}, True),
        ({"a": 1}, {}, False),
        (1, True, False),
        (0, False, True),
        ("1", 1, False),
        ([{"a": None}], [{}], True),
        ([1, 2], [2, 1], False),
        ("sh -c x", {"$contains": ["sh", "x"]}, True),
        ("sh", {"$contains": ["sh", "x"]}, False),
        ("", {"$nonempty": True}, False),
        ("x", {"$nonempty": True}, True),
    ],
)
def test_values_that_count_as_equal(found: Any, want: Any, answer: bool) -> None:
    assert same(found, want) is answer


DOCUMENT = {"pod": {"spec": {"containers": [{"name": "a", "n": 1}, {"name": "b", "n": 2}]}, "labels": {"x/y": "1"}}}


@pytest.mark.parametrize(
    ("path", "op", "value", "answer"),
    [
        ("/pod/spec/containers/*/n", "set", [2, 1], True),
        ("/pod/spec/containers/*/n", "set", [1], False),
        ("/pod/spec/containers/*/n", "has", [2], True),
        ("/pod/spec/containers/*/n", "has", [3], False),
        ("/pod/spec/containers/[name=b]/n", "equals", 2, True),
        ("/pod/spec/containers/[name=c]/n", "absent", None, True),
        ("/pod/spec/containers/2/n", "absent", None, True),
        ("/pod/spec/containers/1/n", "absent", None, False),
        ("/pod/spec/containers", "count", 2, True),
        ("/pod/spec/containers", "count", 1, False),
        ("/pod/spec/volumes", "count", 0, True),
        ("/pod/labels/x~1y", "present", None, True),
        ("/pod/labels/x~1z", "present", None, False),
        ("/pod/labels", "includes", {"x/y": "1"}, True),
        ("/pod/labels", "includes", {"x/y": "2"}, False),
        ("/pod/labels", "includes", {"z": ""}, True),
        ("/pod/labels", "empty", None, False),
        ("/pod/notes", "empty", None, True),
        ("/pod/notes", "nonempty", None, False),
        ("/pod/labels/x~1y", "json-equals", 1, True),
        ("/pod/labels/x~1y", "json-equals", 2, False),
    ],
)
def test_the_operations_of_assert(path: str, op: str, value: Any, answer: bool) -> None:
    checks = [{"path": path, "op": op, "value": value}]
    if answer:
        assert_holds(DOCUMENT, checks)
    else:
        with pytest.raises(AssertionError):
            assert_holds(DOCUMENT, checks)


def test_an_unknown_operation_is_not_understood() -> None:
    with pytest.raises(NotUnderstood):
        assert_holds(DOCUMENT, [{"path": "/pod", "op": "resembles", "value": 1}])

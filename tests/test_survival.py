"""Every exported value survives pickle, copy, deepcopy and a process boundary, before and after any policy used it."""

from __future__ import annotations

import copy
import dataclasses
import functools
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

import workbench
from tests.ledger_check import check_ledger
from tests.survival import (
    COPIES,
    POLICIES,
    again,
    answers,
    differences,
    exported_values,
    load_demo,
    objects_in,
    parts_to_derive,
    there_and_back,
    unused_values,
    used_values,
)
from workbench.errors import CapacityError, InputError, UnknownNameError, WorkbenchError
from workbench.model.gang import Gang
from workbench.model.topology import Topology
from workbench.model.value import Value, Working
from workbench.study import Study

#: What a process of a pool does until none comes: a function with its arguments comes in as a pickle, the answer or the
#: error goes out.
_OF_A_POOL = """
import pickle, sys
while True:
    try:
        function, arguments = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    try:
        answer = (True, function(*arguments))
    except Exception as error:
        answer = (False, error)
    pickle.dump(answer, sys.stdout.buffer)
    sys.stdout.buffer.flush()
"""


@pytest.fixture(scope="module")
def in_another_process() -> Iterator[Callable[..., Any]]:
    """What asks a second process, which stays: a function's answer there, or what it raises there.

    Not a `ProcessPoolExecutor`: its threads stood still for ever in a process of pytest-xdist.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", _OF_A_POOL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdin is not None and process.stdout is not None

        def ask(function: Callable[..., Any], *arguments: Any) -> Any:
            # Whole or not at all: after half a pickle the process would understand no later test.
            process.stdin.write(pickle.dumps((function, arguments)))
            process.stdin.flush()
            succeeded, answer = pickle.load(process.stdout)
            if not succeeded:
                raise answer
            return answer

        yield ask


#: The quick set takes a policy that keeps much, and the newest protocol; `make test` takes all of them.
QUICK = ("volcano-1.15",)
EACH_POLICY = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in POLICIES]
)
NEWEST = f"pickle {pickle.HIGHEST_PROTOCOL}"
OLDER = tuple(way for way in COPIES if way.startswith("pickle") and way != NEWEST)


@functools.cache
def examples() -> list[Any]:
    names = ("volcano", "switch-affinity", "koordinator-gpu")
    return objects_in([used_values(load_demo(), name) for name in names])


def same(a: object, b: object) -> None:
    assert list(differences(a, b)) == []


@pytest.mark.slow
def test_every_exported_value_is_among_the_examples() -> None:
    covered = {kind for each in examples() for kind in type(each).__mro__}
    missing = sorted(name for name, kind in exported_values().items() if kind not in covered)
    assert missing == [], "give tests/survival.py an example of each"


@pytest.mark.slow
def test_whatever_has_derived_parts_or_arrays_says_what_a_copy_keeps() -> None:
    # A policy is no value: it may remember what it worked out, and nobody else has its arrays. The parts of a
    # simulation are copied with it.
    left_out = ("workbench.policies", "workbench.kernels", "workbench.simulate.candidates")
    values = [each for each in examples() if not type(each).__module__.startswith(left_out)]
    without = {type(each).__qualname__ for each in values if not isinstance(each, Value) and parts_to_derive(each)}
    assert without == set(), "derive them from workbench.model.value.Value"


@pytest.mark.slow
def test_a_value_equals_its_copy_and_what_changes_equals_itself_only() -> None:
    values = [each for each in examples() if isinstance(each, Value)]
    assert len({type(each) for each in values}) > 20
    for each in values:
        copied = copy.deepcopy(each)
        assert (copied == each) is not isinstance(each, (Working, Study)), type(each).__name__
        assert each != 3
    own = (Value.__hash__, Gang.__hash__, Topology.__hash__)
    frozen = [each for each in values if not isinstance(each, (Working, Study)) and type(each).__hash__ in own]
    assert len(frozen) > 20 and all(hash(copy.deepcopy(each)) == hash(each) for each in frozen)


@pytest.mark.parametrize("way", COPIES)
def test_unused_values_survive(way: str) -> None:
    values = unused_values(load_demo())
    copied = {name: COPIES[way](value) for name, value in values.items()}
    same(values, copied)


def test_the_quick_set_has_policies_that_are_registered() -> None:
    assert set(QUICK) <= set(POLICIES) and NEWEST in COPIES and len(OLDER) == pickle.HIGHEST_PROTOCOL - 2


def copied_one_by_one(values: dict[str, Any]) -> dict[str, Any]:
    return {key: copy.copy(value) for key, value in values.items()}


def survive(name: str, ways: Iterable[Callable[[Any], Any]]) -> None:
    values = used_values(load_demo(), name)
    copies = [way(values) for way in ways]
    for copied in copies:
        same(values, copied)
    want = again(values)
    for copied in copies:
        same(want, again(copied))


@EACH_POLICY
def test_used_values_survive_every_way_to_copy_them_and_answer_alike(name: str) -> None:
    survive(name, [copied_one_by_one, COPIES["deepcopy"], COPIES[NEWEST]])


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_used_values_survive_the_older_protocols(name: str) -> None:
    survive(name, [COPIES[way] for way in OLDER])


@pytest.mark.slow
@EACH_POLICY
def test_used_values_go_to_another_process_and_come_back(name: str, in_another_process: Callable[..., Any]) -> None:
    values = used_values(load_demo(), name)
    arrived, there = in_another_process(there_and_back, values)
    same(values, arrived)
    same(again(values), there)


@pytest.mark.slow
@EACH_POLICY
def test_a_scenario_read_anew_survives_where_an_equal_one_was_used(name: str) -> None:
    used_values(load_demo(), name)
    fresh = load_demo()
    copied = pickle.loads(pickle.dumps(fresh))
    same(fresh, copied)
    policy = workbench.get_policy(name)
    same(answers(policy, fresh), answers(policy, copied))


@functools.cache
def used_snapshot() -> Any:
    return used_values(load_demo(), "volcano")["scenario"].snapshot


@pytest.mark.parametrize("way", COPIES)
def test_arrays_of_values_stay_read_only(way: str) -> None:
    snapshot = COPIES[way](used_snapshot())
    topology, matrix = snapshot.topology, snapshot.matrices[0]
    arrays = [topology.parent, topology.member_nodes, topology.domain_rank, matrix.gb_s, snapshot.used]
    arrays += [snapshot.taints.codes, *(column for column, _ in snapshot.labels.columns.values())]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_a_copied_ledger_takes_from_itself_alone() -> None:
    for way in COPIES.values():
        ledger = load_demo().snapshot.ledger()
        row = np.ones(ledger.used.shape[1], dtype=np.int64)
        ledger.take(np.array([0], dtype=np.int32), row)
        other = way(ledger)
        other.take(np.array([0], dtype=np.int32), row)
        check_ledger(ledger), check_ledger(other)
        assert (other.used[0] - ledger.used[0] == 1).all()
        other.rollback(0)
        assert np.array_equal(other.used, other.snapshot.used)
        assert (ledger.used[0] - ledger.snapshot.used[0] == 1).all()


def test_a_copied_stream_gives_back_its_own_placements() -> None:
    scenario = load_demo()
    for name in POLICIES:
        stream = workbench.get_policy(name).stream(scenario.snapshot)
        for gang in scenario.gangs:
            stream.place(gang)
        other = copy.deepcopy(stream)
        for placement in other.held:
            other.give_back(placement)
        assert np.array_equal(other.ledger.used, other.ledger.snapshot.used)
        assert other.held == ()


@pytest.mark.parametrize(
    "error",
    [
        InputError("no number", source="f.txt", where="line 3", got="x", expected="1 to 9"),
        UnknownNameError("policy", "volcanoo", ["volcano", "gang"]),
        CapacityError("too many"),
        WorkbenchError(),
    ],
)
@pytest.mark.parametrize("way", COPIES)
def test_errors_survive(error: WorkbenchError, way: str) -> None:
    other = COPIES[way](error)
    assert (type(other), str(other), other.args, vars(other)) == (type(error), str(error), error.args, vars(error))


def _refuse() -> Any:
    raise UnknownNameError("policy", "volcanoo", ["volcano"])


@pytest.mark.slow
def test_an_error_comes_back_from_another_process(in_another_process: Callable[..., Any]) -> None:
    with pytest.raises(UnknownNameError, match="did you mean volcano"):
        in_another_process(_refuse)


@pytest.mark.slow
def test_values_are_frozen_and_what_changes_is_a_working_object() -> None:
    for each in examples():
        if isinstance(each, Value):
            kind = type(each)
            frozen = dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
            assert frozen != isinstance(each, Working), kind

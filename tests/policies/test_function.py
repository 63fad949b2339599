from __future__ import annotations

import numpy as np
import pytest

from tests.fabrics import document_tree
from tests.ledger_check import check_ledger
from workbench.errors import InputError, UnknownNameError
from workbench.model.gang import Gang, Role
from workbench.model.labels import NodeFilter, Requirement
from workbench.model.notice import Notice
from workbench.model.placement import NearestMiss, Refusal
from workbench.model.topology import Problem
from workbench.policies.composed import Composed
from workbench.policies.contract import SchedulerTraits
from workbench.policies.function import FunctionPolicy, parameters_of
from workbench.policies.gpu.lowest_index import GpuLowestIndex
from workbench.policies.parameters import NoParameters, parameter_infos


def job(n=2, *, min_available=None, gpus=8, **role):
    return Gang("d", "j", (Role("w", n, {"nvidia.com/gpu": gpus}, (gpus,), **role),), min_available or n)


def place(function, gang=None, cluster=None, **options):
    made = Composed("mine", FunctionPolicy("mine", function, **options), GpuLowestIndex(NoParameters()))
    ledger = (cluster or document_tree()).ledger()
    result = made.place(gang or job(), ledger)
    check_ledger(ledger)
    return result


ANSWERS = {
    "names": ["node3", "node1"],
    "indices": [3, 1],
    "numpy indices": np.array([3, 1]),
    "a mixture": ("node3", np.int64(1)),
}


@pytest.mark.parametrize("given", ANSWERS.values(), ids=ANSWERS.keys())
def test_nodes_are_given_by_name_or_index(given):
    assert place(lambda gang, ledger: given).node.tolist() == [3, 1]


def test_pods_beyond_the_minimum_may_be_left_out():
    placement = place(lambda gang, ledger: [None, 4, -1], job(3, min_available=1))
    assert placement.node.tolist() == [-1, 4, -1]
    assert [u.reasons[0].code for u in placement.unplaced] == ["left-out", "left-out"]


REFUSALS = {
    "None": (None, "mine found no placement"),
    "a text": ("too far", "too far"),
    "fewer pods than the minimum": ([0, None], "1 of the 2 pods needed find a node"),
}


@pytest.mark.parametrize(("given", "want"), REFUSALS.values(), ids=REFUSALS.keys())
def test_refusing(given, want):
    refusal = place(lambda gang, ledger: given)
    assert isinstance(refusal, Refusal)
    assert refusal.reasons[0].message == want
    assert refusal.policy == "mine"


def test_a_refusal_is_passed_on():
    miss = NearestMiss(1, "s0", 1, 2)
    given = Refusal(job(), "x", {}, (Notice("mine", "because"),), (miss,), (Notice("careful", "careful"),))
    refusal = place(lambda gang, ledger: given)
    assert (refusal.reasons, refusal.nearest_misses, refusal.warnings) == (
        given.reasons,
        (miss,),
        (Notice("careful", "careful"),),
    )


WRONG = {
    "too short": ([0], "one node per pod is needed"),
    "an unknown name": (["node0", "node9"], "no such node"),
    "an index too large": ([0, 8], "no such node"),
    "over capacity": ([1, 1], "over capacity"),
}


@pytest.mark.parametrize(("given", "want"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_answer_names_the_policy(given, want):
    with pytest.raises(InputError, match=want) as error:
        place(lambda gang, ledger: given)
    assert error.value.source == "mine"


def test_a_node_that_the_pod_does_not_accept_is_a_wrong_answer():
    picky = job(filter=NodeFilter((Requirement("zone", "Exists"),)))
    with pytest.raises(InputError, match="does not accept"):
        place(lambda gang, ledger: [0, 1], picky)


def test_free_gpus_count_by_number_as_well():
    with pytest.raises(InputError, match="over capacity"):
        place(lambda gang, ledger: [0, 1], cluster=document_tree(free_gpus={"node1": 0b1111111}))


def test_the_ledger_may_be_used_as_scratch():
    def scribble(gang, ledger):
        ledger.take(np.array([0], dtype=np.int32), np.array([0, 0, 1, 8]))
        return [0, 1]

    cluster = document_tree()
    ledger = cluster.ledger()
    made = Composed("mine", FunctionPolicy("mine", scribble), GpuLowestIndex(NoParameters()))
    assert made.place(job(), ledger).node.tolist() == [0, 1]
    assert ledger.used[0].tolist() == [0, 0, 1, 8]


def test_a_policy_that_reads_the_topology_is_not_asked_before_it_is_ready():
    broken = document_tree(problems=(Problem("cycle", "s0", "s0 contains itself"),), ready=False)
    refusal = place(lambda gang, ledger: [0, 1], cluster=broken, traits=SchedulerTraits(reads_topology=True))
    assert refusal.reasons[0].code == "topology-not-ready"
    assert "s0 contains itself" in refusal.reasons[0].message


def test_parameters_are_those_with_defaults():
    def mine(gang, ledger, alpha=0.5, rounds=3):
        return None

    infos = parameter_infos(parameters_of("mine", mine))
    assert [(i.name, i.type, i.default) for i in infos] == [("alpha", "number", 0.5), ("rounds", "integer", 3)]
    with pytest.raises(InputError, match="default"):
        parameters_of("mine", lambda gang, ledger, alpha: None)
    with pytest.raises(InputError):
        parameters_of("mine", lambda gang: None)


def test_what_a_function_writes_into_the_arrays_of_its_ledger_is_forgotten():
    def scribble(gang, ledger):
        ledger.idle[:] = 0
        ledger.gpu_free[:] = 0
        return [0, 1]

    assert place(scribble).node.tolist() == [0, 1]


@pytest.mark.parametrize("entry", [0.5, [0], {}])
def test_what_is_no_node_is_said_with_the_pod(entry):
    with pytest.raises(InputError, match="pod 1: no such node"):
        place(lambda gang, ledger: [0, entry])


def test_other_values_of_parameters_leave_the_function_as_it_is():
    def mine(gang, ledger, first=0, factor=1.0):
        return [first, first + 1]

    made = FunctionPolicy("mine", mine, {"first": 1, "factor": 2.0}, SchedulerTraits(reads_topology=True))
    other = made.with_parameters(first="4")
    assert other.parameters == {"first": 4, "factor": 2.0} and other.function is mine and other.traits.reads_topology
    assert made.parameters == {"first": 1, "factor": 2.0}
    with pytest.raises(UnknownNameError, match="parameter of mine 'fist'; did you mean first"):
        made.with_parameters(fist=1)
    with pytest.raises(InputError, match="mine: first: not a value for it"):
        made.with_parameters(first=0.5)

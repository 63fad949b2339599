"""The three policies at their edges: labels, roles, ranks, warnings, explanations, the session."""

from __future__ import annotations

import dataclasses

import pytest

from tests.hand_made import document_tree, snapshot_of
from tests.switch_fabric import REQUEST, Switch, fabric, job, running_pod, states, with_running
from workbench.model.extras import AscendWish, FormerPod, extras_of
from workbench.model.gang import Gang, Role
from workbench.model.labels import NodeFilter, Requirement
from workbench.model.placement import Placement, Refusal
from workbench.model.switches import SwitchStates, SwitchTable, switches_of_hypernodes
from workbench.model.topology import VIRTUAL_TOP
from workbench.policies.registry import get_policy
from workbench.policies.switch_affinity.job_kind import JobKind

TWO = [Switch("S0", 4, 4), Switch("S1", 4, 4)]


def placed(result: Placement | Refusal) -> Placement:
    assert isinstance(result, Placement)
    return result


def test_jobs_of_one_session_see_the_states_that_the_earlier_ones_left() -> None:
    snapshot = fabric([*TWO, Switch("S2", 4, 4)], 4)
    gangs = [job("A", "foundation", 6), job("B", "foundation", 5), job("C", "padding", 1)]
    first, second, third = (placed(d.result) for d in get_policy("switch-affinity").schedule(gangs, snapshot))
    table = snapshot.switch_table
    assert table is not None
    assert table.node_switch[first.node].tolist() == [0] * 4 + [1] * 2
    assert table.node_switch[second.node].tolist() == [2] * 4 + [1]
    assert table.node_switch[third.node].tolist() == [1]


def test_no_two_pods_share_a_node_even_where_both_would_fit() -> None:
    role = Role("worker", 6, {"huawei.com/Ascend910": 2}, container_gpus=(2,))
    small = Gang("default", "small", (role,), 6, extras=extras_of(AscendWish("normal-schema")))
    snapshot = fabric(TWO, 4)
    policy = get_policy("switch-affinity")
    first = placed(policy.place(small, snapshot.ledger()))
    assert len(set(first.node.tolist())) == 6
    after = snapshot.with_placement(first)
    second = policy.place(dataclasses.replace(small, name="other"), after.ledger())
    assert isinstance(second, Refusal)


def test_roles_that_ask_for_different_nodes_share_those_that_suit_all() -> None:
    snapshot = fabric(TWO, 4)
    condition = NodeFilter((Requirement("missing", "DoesNotExist"),))
    roles = (Role("master", 1, REQUEST, (8,), filter=condition), Role("worker", 3, REQUEST, (8,)))
    gang = Gang("default", "two-roles", roles, 4, extras=extras_of(AscendWish("large-model-schema")))
    result = placed(get_policy("switch-affinity").place(gang, snapshot.ledger()))
    assert result.rank is not None
    assert result.rank.tolist() == [0, 1, 2, 3]


def test_pods_that_ask_for_nothing_have_the_last_ranks_and_no_annotation() -> None:
    snapshot = fabric(TWO, 4)
    gang = Gang(
        "default",
        "j",
        (Role("watch", 1, {}), Role("worker", 5, REQUEST, (8,))),
        6,
        extras=extras_of(AscendWish("normal-schema")),
    )
    result = placed(get_policy("switch-affinity").place(gang, snapshot.ledger()))
    assert result.rank is not None
    assert result.rank.tolist() == [5, 0, 1, 2, 3, 4]
    assert "isSharedTor" not in result.annotations_of(0)
    assert result.annotations_of(1)["isSharedTor"] == "2"


def test_pods_without_npus_do_not_make_a_padding_job_larger() -> None:
    snapshot = fabric([Switch("S0", 3, 3), Switch("S1", 3, 3)], 3)

    def driven(workers: int) -> Placement | Refusal:
        roles = (Role("driver", 1, {"cpu": 1000}), Role("worker", workers, REQUEST, (8,)))
        gang = Gang("default", "j", roles, 1 + workers, extras=extras_of(AscendWish("large-model-schema")))
        return get_policy("switch-affinity").place(gang, snapshot.ledger())

    refused = driven(3)
    assert isinstance(refused, Refusal)
    assert refused.reasons[0].message == "tor check failed not enough resource for fill job"
    assert placed(driven(4)).n_placed == 5


def test_the_pods_of_a_job_without_npus_all_count() -> None:
    snapshot = fabric([Switch("S0", 3, 3), Switch("S1", 3, 3)], 3)
    plain = Gang("default", "j", (Role("w", 4, {"cpu": 1000}),), 4, extras=extras_of(AscendWish("large-model-schema")))
    assert placed(get_policy("switch-affinity").place(plain, snapshot.ledger())).n_placed == 4


def test_a_shared_switch_is_named_by_its_address() -> None:
    result = placed(get_policy("switch-affinity").place(job("A", "foundation", 6), fabric(TWO, 4).ledger()))
    last = list(result.pods())[-1].annotations
    assert {key: last[key] for key in ("isSharedTor", "isHealthy", "sharedTorIp", "hccl/rankIndex")} == {
        "isSharedTor": "1",
        "isHealthy": "0",
        "sharedTorIp": "10.0.0.1",
        "hccl/rankIndex": "5",
    }


@pytest.mark.parametrize(
    ("label", "pods", "code"),
    [
        ("large-model", 4, "invalid-label"),
        ("large-model-schema", 9, "not-enough-switches"),
        ("normal-schema", 9, "not-enough-switches"),
        ("large-model-schema", 3, None),
    ],
)
def test_reasons(label: str, pods: int, code: str | None) -> None:
    gang = job("A", "common", pods).with_extra(AscendWish(label))
    result = get_policy("switch-affinity").place(gang, fabric(TWO, 4).ledger())
    assert (result.reasons[0].code if isinstance(result, Refusal) else None) == code


def test_a_broken_topology_is_refused() -> None:
    snapshot = fabric(TWO, 4)
    topology = dataclasses.replace(snapshot.topology, ready=False)
    result = get_policy("switch-affinity").place(
        job("A", "common", 2), dataclasses.replace(snapshot, topology=topology).ledger()
    )
    assert isinstance(result, Refusal)
    assert result.reasons[0].code == "topology-not-ready"


def test_ranks_of_running_pods_are_not_given_twice() -> None:
    snapshot = fabric(TWO, 4)
    pods = [
        running_pod(snapshot, "A-worker-3", "A", "foundation", "S0-n0", {}),
        running_pod(snapshot, "A-x", "A", "foundation", "S0-n1", {"hccl/rankIndex": "1", "isSharedTor": "2"}),
        running_pod(snapshot, "A-y", "A", "foundation", "S0-n2", {"hccl/rankIndex": "nonsense"}),
    ]
    gang = dataclasses.replace(job("A", "foundation", 2), ready=3)
    result = placed(get_policy("switch-affinity").place(gang, with_running(snapshot, pods).ledger()))
    assert result.rank is not None
    # 1 is annotated, 3 is in a name, the third pod has any other number, here 0.
    assert result.rank.tolist() == [2, 4]


def test_a_single_layer_network_has_its_own_rules_in_every_version() -> None:
    snapshot = fabric(TWO, 4, level="single_layer")
    for name in ("switch-affinity", "switch-affinity-1.0"):
        result = get_policy(name).place(job("A", "common", 5), snapshot.ledger())
        assert isinstance(result, Refusal)
        assert result.reasons[0].code == "larger-than-switch"


def test_nodes_per_switch_may_be_given() -> None:
    snapshot = fabric([Switch("S0", 4, 4), Switch("S1", 4, 4, "exclusive")], 4)
    gang = job("A", "foundation", 4)
    alone = placed(get_policy("switch-affinity").place(gang, snapshot.ledger()))
    shortcut = placed(get_policy("switch-affinity", nodes_per_switch=8).place(gang, snapshot.ledger()))
    table = snapshot.switch_table
    assert table is not None
    assert set(table.node_switch[alone.node].tolist()) == {0}
    assert set(table.node_switch[shortcut.node].tolist()) == {1}


def test_the_explanation_tells_the_steps_and_every_switch() -> None:
    told = get_policy("switch-affinity", max_shared_switches=1).explain(
        job("A", "common", 9), fabric([*TWO, Switch("S2", 4, 2, "shared/unhealthy")], 4)
    )
    assert isinstance(told.decision.result, Placement)
    assert [(c.name, c.kept) for c in told.domains] == [("S0", True), ("S1", True), ("S2", True)]
    assert told.domains[2].why == "shared/unhealthy, 2 free: takes 1 pod"
    assert told.notes[-3:] == (
        "no 1 healthy shared and no idle switch hold the 1 pod that is left",
        "fall-back: 8 pods fill all 2 idle switches, 1 left",
        "fall-back: 1 pod to S2 (shared/unhealthy, 2 free), now unhealthy",
    )


def test_hyper_nodes_of_tier_1_are_the_switches_by_name() -> None:
    snapshot = snapshot_of(document_tree())
    table = snapshot.switch_table
    assert table is not None
    assert table.names == ("s0", "s1", "s2", "s3")
    assert table.nodes_per_switch == 2
    assert states(snapshot) == dict.fromkeys(table.names, "idle")
    given = switches_of_hypernodes(snapshot.topology, 7)
    assert given is not None
    assert given.nodes_per_switch == 7


def test_a_rolled_back_ledger_has_the_old_states() -> None:
    ledger = fabric(TWO, 4).ledger()
    mark = ledger.checkpoint()
    get_policy("switch-affinity").place(job("A", "foundation", 6), ledger)
    copied = ledger.copy()
    assert ledger.switches is not None and copied.switches is not None
    assert ledger.switches.states().names() == ("exclusive", "shared/healthy")
    ledger.rollback(mark)
    assert ledger.switches.states() == SwitchStates.all_idle(2)
    assert copied.switches.states().names() == ("exclusive", "shared/healthy")
    assert (ledger.switches.holders == 0).all()


def test_a_pod_may_go_back_to_a_node_without_a_switch() -> None:
    snapshot = fabric([*TWO, Switch("none", 1, 1)], 4)
    table = snapshot.switch_table
    assert table is not None
    under = [
        (name, name, [(int(n), i) for i, n in enumerate(table.nodes_of(s))]) for s, name in enumerate(table.names[:2])
    ]
    snapshot = snapshot.with_switches(SwitchTable.build(under, snapshot.n_nodes, 4))
    former = tuple(FormerPod(i, node, mark=2) for i, node in enumerate(["none-n0", "S0-n0", "S0-n1", "S1-n0"]))
    gang = job("A", "foundation", 5)
    gang = gang.with_extra(dataclasses.replace(gang.extra(AscendWish), former=former))
    result = placed(get_policy("switch-affinity").place(gang, snapshot.ledger()))
    names = snapshot.topology.node_names
    assert [names[node] for node in result.node[:4]] == ["none-n0", "S0-n0", "S0-n1", "S1-n0"]
    assert "isSharedTor" not in result.annotations_of(0)
    assert "isSharedTor" in result.annotations_of(4)


def test_a_stream_of_jobs_forgets_the_states_of_those_that_ended() -> None:
    snapshot = fabric(TWO, 4)
    stream = get_policy("switch-affinity").stream(snapshot)
    first = placed(stream.place(job("A", "foundation", 6)))
    second = placed(stream.place(job("B", "padding", 2)))
    book = stream.ledger.switches
    assert book is not None
    stream.give_back(first)
    assert book.states() == SwitchStates.all_idle(2)
    assert book.holders[second.node].tolist() == [1, 1]
    assert int(book.holders.sum()) == 2
    stream.give_back(second)
    assert not book.holders.any()
    assert book.job("default/B") is None


def test_pods_of_a_job_end_one_by_one() -> None:
    ledger = fabric(TWO, 4).ledger()
    result = placed(get_policy("switch-affinity").place(job("A", "foundation", 6), ledger))
    ledger.end_pods("default/A", result.node[4:])
    book = ledger.switches
    assert book is not None
    assert book.states().names() == ("exclusive", "idle")
    ledger.end_pods("default/unknown", result.node)
    assert int(book.holders.sum()) == 4


def test_a_refusal_names_the_switch_that_came_closest() -> None:
    snapshot = fabric([Switch("S0", 4, 1), Switch("S1", 4, 3), Switch("S2", 4, 3)], 4)
    result = get_policy("switch-affinity").place(job("A", "foundation", 9), snapshot.ledger())
    assert isinstance(result, Refusal)
    one, across = result.nearest_misses
    assert (one.tier, one.domain, one.holds, one.needs) == (1, "S1", 3, 9)
    assert (across.domain, across.holds, across.needs) == (VIRTUAL_TOP, 7, 9)


@pytest.mark.parametrize(("kind", "holds"), [("foundation", 6), ("common", 7)])
def test_a_job_that_may_cross_switches_is_told_how_many_pods_all_of_them_take(kind: JobKind, holds: int) -> None:
    shared = [
        Switch("U", 4, 1, "shared/unhealthy"),
        Switch("H", 4, 2, "shared/healthy"),
        Switch("X", 4, 4, "exclusive"),
    ]
    snapshot = fabric([Switch("S0", 4, 4), *shared], 4)
    result = get_policy("switch-affinity").place(job("A", kind, 8), snapshot.ledger())
    assert isinstance(result, Refusal)
    assert max(miss.holds for miss in result.nearest_misses) == holds
    smaller = get_policy("switch-affinity").place(job("A", kind, holds), snapshot.ledger())
    assert isinstance(smaller, Placement)
    assert isinstance(get_policy("switch-affinity").place(job("A", kind, holds + 1), snapshot.ledger()), Refusal)


def test_of_switches_that_come_equally_close_the_smallest_name_is_told() -> None:
    snapshot = fabric([Switch("S2", 4, 3), Switch("S1", 4, 3)], 4)
    result = get_policy("switch-affinity").place(job("A", "foundation", 9), snapshot.ledger())
    assert isinstance(result, Refusal)
    assert [(miss.domain, miss.holds) for miss in result.nearest_misses] == [("S1", 3), (VIRTUAL_TOP, 6)]


def test_the_explanation_of_a_rescheduling_tells_every_step() -> None:
    switches = [Switch("S0", 4, 1), Switch("S1", 4, 4), Switch("S2", 4, 1, "shared/healthy")]
    snapshot = fabric(switches, 4)
    written = {"isSharedTor": "2", "isHealthy": "0"}
    pods = [
        running_pod(snapshot, f"A-{i}", "A", "foundation", node, {**written, "hccl/rankIndex": str(i)})
        for i, node in enumerate(["S0-n0", "S0-n1", "S0-n2"])
    ]
    gang = dataclasses.replace(job("A", "foundation", 4), ready=3)
    told = get_policy("switch-affinity").explain(gang, with_running(snapshot, pods))
    assert told.notes == (
        "the switches used before have 1 free node for 4 pods",
        "used before: 1 pod to S0 (exclusive, 1 free)",
        "idle rule: stop at S1 (idle, 4 free), which would not be full",
        "not used before: 3 pods open S1 (idle, 4 free)",
    )
    assert isinstance(told.decision.result, Placement)


def test_what_every_node_lacks_is_told_beside_the_plugins_own_text() -> None:
    role = Role("worker", 4, {**REQUEST, "cpu": 200_000}, container_gpus=(8,))
    greedy = Gang("default", "greedy", (role,), 4, extras=extras_of(AscendWish("large-model-schema")))
    answer = get_policy("switch-affinity").place(greedy, fabric(TWO, 4).ledger())
    assert isinstance(answer, Refusal)
    assert [(reason.code, reason.numbers["count"]) for reason in answer.reasons] == [
        ("not-offered", 4),
        ("not-enough-switches", 4),
        ("insufficient", 8),
    ]
    assert answer.reasons[2].message == "8 Insufficient cpu"


def test_where_the_rule_keeps_a_job_waiting_no_node_lacks_anything() -> None:
    answer = get_policy("switch-affinity").place(
        job("pad", "padding", 3), fabric([Switch("S0", 2, 2), Switch("S1", 2, 2)], 2).ledger()
    )
    assert isinstance(answer, Refusal)
    assert len(answer.reasons) == 1

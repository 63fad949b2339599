"""Gang groups: all gangs of a group are placed or none, in the order of the session."""

from __future__ import annotations

import random

import pytest
from hypothesis import given

from tests.choice import choices
from tests.fabrics import snapshot
from tests.jobs.test_gangs import gang as gang_of
from tests.jobs.test_gangs import pod, pod_group
from tests.notices import codes
from tests.profiles import max_examples
from workbench.model.extras import KoordinatorWish, extras_of
from workbench.model.gang import Gang, Role
from workbench.model.ledger import Ledger
from workbench.model.placement import Decision, Placement
from workbench.model.running_pod import RunningPod
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.contract import session_order
from workbench.policies.registry import get_policy
from workbench.policies.taking import take_placement
from workbench.simulate.job import without_gang_group

BOTH = ("koordinator-network", "koordinator-gpu")
GROUPS = "gang.scheduling.koordinator.sh/groups"


def gang(name: str, *group: str, pods: int = 2, priority: int = 0, ready: int = 0) -> Gang:
    role = Role("w", pods, {"nvidia.com/gpu": 8}, (8,))
    wish = KoordinatorWish(gang_groups=tuple(f"d/{each}" for each in group))
    return Gang("d", name, (role,), ready or pods, extras=extras_of(wish), priority=priority, ready=ready)


def cluster(n: int, running: tuple[RunningPod, ...] = ()) -> ClusterSnapshot:
    return snapshot([f"n{i}" for i in range(n)], running=running)


def decide(policy: str, n: int, *gangs: Gang, running: tuple[RunningPod, ...] = ()) -> dict[str, Decision]:
    found = get_policy(policy).schedule(gangs, cluster(n, running))
    assert sorted(one.turn for one in found) == list(range(len(gangs)))
    return {one.gang.name: one for one in found}


def placed(found: dict[str, Decision]) -> str:
    return " ".join(name for name, one in found.items() if one.placed)


def reasons(decision: Decision) -> tuple[str, ...]:
    assert not isinstance(decision.result, Placement)
    return codes(decision.result.reasons)


def why(decision: Decision) -> str:
    assert not isinstance(decision.result, Placement)
    codes_of_groups = ("gang-group-waits", "gang-group-tried")
    return next(one.message for one in decision.result.reasons if one.code in codes_of_groups)


@pytest.mark.parametrize("policy", BOTH)
class TestGroups:
    def test_one_group_is_placed_and_the_other_waits(self, policy: str) -> None:
        gangs = gang("g1", "g1", "g3"), gang("g2", "g2", "g4"), gang("g3", "g1", "g3"), gang("g4", "g2", "g4")
        found = decide(policy, 4, *gangs)
        assert placed(found) == "g1 g3"
        assert "insufficient" in reasons(found["g2"])
        assert reasons(found["g4"]) == ("gang-group-waits",)
        assert why(found["g4"]).startswith("gang group: d/g2 finds no room")

    def test_what_a_group_gives_back_others_get(self, policy: str) -> None:
        found = decide(policy, 3, gang("g1", "g1", "g3"), gang("g2", pods=3), gang("g3", "g1", "g3"))
        assert placed(found) == "g2"
        assert why(found["g1"]).startswith("gang group: d/g3 finds no room")
        assert why(found["g3"]).startswith("gang group: it was tried beside d/g1")

    def test_the_first_gang_of_a_group_decides_its_turn(self, policy: str) -> None:
        found = decide(policy, 4, gang("g1", pods=1), gang("g2", "g3"), gang("g3", "g2", priority=5))
        assert placed(found) == "g2 g3"
        assert [found[name].turn for name in ("g3", "g2", "g1")] == [0, 1, 2]

    def test_a_gang_that_runs_counts(self, policy: str) -> None:
        one = RunningPod("d", "x", 0, {"nvidia.com/gpu": 8}, gang="d/g2")
        assert placed(decide(policy, 3, gang("g1", "g1", "g2"), running=(one,))) == "g1"

    def test_a_gang_that_runs_with_its_minimum_need_not_grow(self, policy: str) -> None:
        running = tuple(RunningPod("d", f"x{i}", i, {"nvidia.com/gpu": 8}, gang="d/g2") for i in range(2))
        found = decide(policy, 4, gang("g1", "g1", "g2"), gang("g2", "g1", "g2", pods=5, ready=2), running=running)
        assert "g1" in placed(found)

    def test_a_gang_that_neither_waits_nor_runs_keeps_the_others_waiting(self, policy: str) -> None:
        found = decide(policy, 8, gang("g1", "g1", "g2", "g9"), gang("g2", "g1", "g2", "g9"))
        assert placed(found) == ""
        assert why(found["g1"]) == (
            "gang group: d/g9 neither waits nor runs, and the gangs of a group are placed together or not at all"
        )

    def test_a_gang_that_does_not_name_the_other_goes_alone(self, policy: str) -> None:
        """g1 needs g2, which is too large for what is left; g2 needs nobody, and neither does g3."""
        found = decide(policy, 4, gang("g1", "g2"), gang("g2", pods=4), gang("g3", pods=9))
        assert placed(found) == "g2"

    def test_an_explanation_tells_the_same(self, policy: str) -> None:
        assert not isinstance(get_policy(policy).explain(gang("g1", "g2"), cluster(4)).decision.result, Placement)


def oracle(policy: str, gangs: list[Gang], where: ClusterSnapshot) -> set[str]:
    """Names of the gangs that are placed, where every gang names its whole group: group by group, on copies."""
    chosen, ledger = get_policy(policy), where.ledger()
    done: set[str] = set()
    found: set[str] = set()
    order = [gangs[i] for i in session_order(gangs)]
    for first in order:
        if first.key in done:
            continue
        group = [one for one in order if one is first or one.key in first.extra(KoordinatorWish).gang_groups]
        done |= {one.key for one in group}
        trial: Ledger = ledger.copy()
        if all(isinstance(chosen.place(one, trial), Placement) for one in group):
            for one in group:
                answer = chosen.place(one, ledger)
                assert isinstance(answer, Placement)
            found |= {one.name for one in group}
    return found


@pytest.mark.parametrize("policy", BOTH)
@max_examples(100)
@given(rng=choices())
def test_random_sessions_equal_the_slow_way(policy: str, rng: random.Random) -> None:
    names = [f"g{i}" for i in range(rng.randint(1, 7))]
    of = {name: rng.randrange(3) for name in names}
    gangs = []
    for name in names:
        group = [other for other in names if of[other] == of[name]] if of[name] else []
        gangs.append(gang(name, *group, pods=rng.randint(1, 3), priority=rng.randint(0, 1)))
    where = cluster(rng.randint(2, 10))
    found = get_policy(policy).schedule(gangs, where)
    assert {one.gang.name for one in found if one.placed} == oracle(policy, gangs, where)
    # What is placed fits beside each other.
    ledger = where.ledger()
    for one in found:
        if isinstance(one.result, Placement):
            take_placement(one.result, ledger)
    assert (ledger.idle >= 0).all()


@pytest.mark.parametrize("policy", ["volcano-1.15", "volcano-1.13", "gang", "allocate", "switch-affinity", "fgd"])
def test_other_policies_say_that_they_do_not_know_groups(policy: str) -> None:
    for pods in (2, 9):
        (found,) = get_policy(policy).schedule([gang("g1", "g1", "g2", pods=pods)], cluster(4))
        assert "gang-groups-not-read" in codes(found.result.warnings)


class TestReading:
    def test_pods_of_a_gang_and_pod_groups_name_groups(self) -> None:
        names = {"gang.scheduling.koordinator.sh/name": "a", GROUPS: '["ns/a", "ns/b", "ns/a"]'}
        assert gang_of(pod("p", annotations=names)).extra(KoordinatorWish).gang_groups == ("ns/a", "ns/b")
        member = pod("p", annotations={"scheduling.k8s.io/group-name": "g"})
        found = gang_of(pod_group("g", {GROUPS: '["ns/g", "ns/h"]'}, minMember=1), member)
        assert found.extra(KoordinatorWish).gang_groups == ("ns/g", "ns/h")

    @pytest.mark.parametrize("text", ["ns/a", "{}", '["a"]', "[1]", '["ns/"]', "[" * 100_000])
    def test_a_list_that_cannot_be_read_is_told(self, text: str) -> None:
        found = gang_of(pod("p", annotations={"gang.scheduling.koordinator.sh/name": "a", GROUPS: text}))
        assert found.extra(KoordinatorWish).gang_groups == ()
        assert "invalid-gang-groups" in codes(found.notes)

    def test_an_empty_list_is_no_group(self) -> None:
        found = gang_of(pod("p", annotations={"gang.scheduling.koordinator.sh/name": "a", GROUPS: "[]"}))
        assert (found.extra(KoordinatorWish).gang_groups, codes(found.notes)) == ((), ())


def test_a_simulation_places_each_gang_by_itself_and_says_so() -> None:
    found = without_gang_group(gang("g1", "g1", "g2"))
    assert found.extra(KoordinatorWish).gang_groups == ()
    assert codes(found.notes) == ("gang-groups-not-read",)
    assert without_gang_group(gang("g1")).notes == ()

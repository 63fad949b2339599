"""Limits of a queue on a job with sub-groups, in whole sessions on a cluster with room for everybody."""

from __future__ import annotations

import dataclasses

from tests.fabrics import snapshot
from workbench.model.gang import Gang, Role, SubGroup, TopologyConstraint
from workbench.model.placement import Decision, Placement
from workbench.model.running_pod import RunningPod
from workbench.model.scheduler_config import PluginOption, SchedulerConfig
from workbench.model.snapshot import Queue
from workbench.policies import get_policy


def placed(gang: Gang, cpu: int, *plugins: str, running: tuple[RunningPod, ...] = ()) -> list[int]:
    """Positions of the pods that get a node where the queue takes so much CPU."""
    names = [f"n{i}" for i in range(9)]
    cluster = snapshot(names, [("s", 1, names, "")], cpu=4000, gpus=0, running=running)
    cluster = dataclasses.replace(cluster, queues={"default": Queue("default", capability={"cpu": cpu})})
    options = tuple(PluginOption(name) for name in plugins or ("priority", "gang", "predicates", "capacity"))
    config = SchedulerConfig(("allocate",), (options,))
    decision: Decision
    (decision,) = get_policy("volcano-1.15", config=config).schedule([gang], cluster)
    result = decision.result
    return [i for i, node in enumerate(result.node.tolist()) if node >= 0] if isinstance(result, Placement) else []


def gang(roles: tuple[Role, ...], minimum: int, *groups: SubGroup, **options: object) -> Gang:
    return Gang("d", "j", roles, minimum, sub_groups=groups, sub_grouped=bool(groups), **options)  # type: ignore[arg-type]


def group(number: int, pods: tuple[int, ...], least: int, policy: str = "p") -> SubGroup:
    return SubGroup(f"{policy}-{number}", pods, None, least, policy=policy, match_index=number)


CHIEF_AND_WORKER = (Role("chief", 2, {"cpu": 2000}), Role("worker", 2, {"cpu": 1000}))


def test_a_sub_group_is_asked_for_whole_before_the_next_one() -> None:
    # Both chiefs would leave nothing for a worker.
    assert placed(gang(CHIEF_AND_WORKER, 2, group(0, (0, 2), 2), group(1, (1, 3), 2)), 4000) == [0, 2]


def test_one_that_stays_below_its_minimum_takes_nothing_from_the_next() -> None:
    roles = (Role("w", 5, {"cpu": 1000}),)
    assert placed(gang(roles, 2, group(0, (0, 1, 2), 3), group(1, (3, 4), 2)), 2000) == [3, 4]


def test_pods_beyond_the_minimum_come_after_the_minimum_of_the_others() -> None:
    roles = (Role("w", 5, {"cpu": 1000}),)
    assert placed(gang(roles, 3, group(0, (0, 1, 2), 1), group(1, (3, 4), 2)), 3000) == [0, 3, 4]


def test_a_needed_sub_group_is_asked_for_first_with_all_its_pods() -> None:
    roles = (Role("w", 5, {"cpu": 1000}),)
    groups = (group(0, (0, 1), 2), group(1, (2, 3, 4), 2, "q"))
    assert placed(gang(roles, 2, *groups), 3000) == [0, 1]
    assert placed(gang(roles, 2, *groups, min_subgroups={"q": 1}), 3000) == [2, 3, 4]


def test_a_sub_group_of_a_higher_priority_is_asked_for_first() -> None:
    roles = (Role("low", 2, {"cpu": 1000}), Role("high", 2, {"cpu": 1000}, priority=5))
    assert placed(gang(roles, 2, group(0, (0, 1), 2), group(1, (2, 3), 2)), 2000) == [2, 3]


def test_what_runs_counts_for_its_sub_group() -> None:
    roles = (Role("w", 3, {"cpu": 1000}),)
    first = dataclasses.replace(group(0, (0,), 2), running=("r",))
    running = (RunningPod("d", "r", 0, {"cpu": 1000}, "d/j", "w", queue="default"),)
    whole = gang(roles, 2, first, group(1, (1, 2), 2), ready=1)
    assert placed(whole, 3000, running=running) == [0]
    assert placed(whole, 4000, running=running) == [0, 1, 2]


def test_pods_of_a_job_without_sub_groups_ask_in_their_order() -> None:
    roles = (Role("a", 3, {"cpu": 1000}), Role("b", 2, {"cpu": 2000}))
    # a-0, b-0, a-1: too little is left for b-1, and for a-2 after it.
    assert placed(gang(roles, 0, constraint=TopologyConstraint("hard", 1)), 4900) == [0, 1, 3]

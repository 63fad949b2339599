from __future__ import annotations

import pytest

from tests.fabrics import document_tree
from workbench.model.gang import Gang, Role
from workbench.model.running_pod import RunningPod
from workbench.policies.progress import Progress, invalid_gang

CPU = {"cpu": 1000}


def gang(*roles, min_available, ready=0):
    return Gang("d", "j", tuple(roles), min_available, ready=ready)


def progress(*roles, min_available, ready=0, running=()):
    return Progress.of(gang(*roles, min_available=min_available, ready=ready), document_tree(running=running))


def test_until_ready_counts_the_whole_gang_and_the_role():
    now = progress(Role("a", 4, CPU, min_available=3), Role("b", 4, CPU, min_available=1), min_available=5)
    assert now.until_ready(0) == 4  # b is short, so no number of a's pods makes the gang ready
    now.place(0, 4)
    assert now.until_ready(1) == 1
    now.place(1, 1)
    assert now.ready
    assert now.until_ready(1) == 1  # one per turn from here on


def test_per_role_minimums_do_not_count_while_they_exceed_the_gangs():
    now = progress(Role("a", 4, CPU, min_available=4), Role("b", 4, CPU, min_available=4), min_available=3)
    now.place(0, 3)
    assert now.ready


def test_best_effort_pods_count_without_being_placed():
    now = progress(Role("a", 2, CPU), Role("idle", 1, {}), min_available=3)
    assert now.until_ready(0) == 2
    assert now.left == [2, 0]
    now.place(0, 2)
    assert now.ready


def test_succeeded_pods_count_for_their_role():
    roles = [Role("a", 1, CPU, min_available=2, succeeded=1), Role("b", 0, {}, min_available=1, succeeded=1)]
    now = progress(*roles, min_available=3, ready=2)
    assert (now.present, now.counted, now.missing) == ([1, 1], 2, 1)
    assert invalid_gang(now) == ""
    now.place(0, 1)
    assert now.ready


def test_running_pods_count_for_their_role():
    running = [RunningPod("d", "j-a-0", 0, CPU, "d/j", "a")]
    now = progress(Role("a", 1, CPU, min_available=2), min_available=2, ready=1, running=running)
    assert now.missing == 1
    assert now.total == 2
    now.place(0, 1)
    assert now.ready


GO_ON = {
    "not when every pod is needed": (
        {"min_available": 4},
        (Role("a", 2, CPU), Role("b", 2, CPU)),
        False,
    ),
    "when the failed role has no minimum": (
        {"min_available": 2},
        (Role("a", 2, CPU), Role("b", 2, CPU)),
        True,
    ),
    "not when the failed role is below its minimum": (
        {"min_available": 2},
        (Role("a", 2, CPU, min_available=1), Role("b", 2, CPU)),
        False,
    ),
    "when minimums do not count and the other roles suffice": (
        {"min_available": 2},
        (Role("a", 2, CPU, min_available=2), Role("b", 2, CPU, min_available=2)),
        True,
    ),
    "not when minimums do not count and the other roles are too few": (
        {"min_available": 3},
        (Role("a", 2, CPU, min_available=2), Role("b", 2, CPU, min_available=2)),
        False,
    ),
}


@pytest.mark.parametrize(("options", "roles", "want"), GO_ON.values(), ids=GO_ON.keys())
def test_going_on_after_the_first_role_failed(options, roles, want):
    now = progress(*roles, **options)
    now.give_up(0)
    assert now.go_on([0]) is want


def test_a_gang_with_too_few_pods_is_told_in_volcanos_words():
    text = invalid_gang(progress(Role("a", 2, CPU), min_available=3))
    assert text == "Not enough valid tasks for gang-scheduling, valid: 2, min: 3"
    short = progress(Role("a", 2, CPU, min_available=3), Role("b", 2, CPU), min_available=4)
    assert invalid_gang(short) == "Not enough valid pods of each task for gang-scheduling"
    assert invalid_gang(progress(Role("a", 2, CPU), min_available=2)) == ""

"""How far a job and its sub-jobs are, and whose turn is next, against lists that are looked through each time."""

from __future__ import annotations

import random

from hypothesis import given

from tests.choice import choices
from tests.core.test_tournament import of_single_nodes
from tests.core.test_two_level import compiled, int64, random_search
from tests.profiles import max_examples
from tests.reference.copies import copied
from tests.reference.two_level import Search


def place(s: Search, number: int, pods: list[int]) -> None:
    ask = s.subs[number].ask
    for e, count in enumerate(pods):
        ask.left[e] -= count
        ask.present[e] += count
        ask.counted += count
        if s.grouped:
            s.job.present[ask.shapes[e]] += count
            s.job.counted += count
    if not s.grouped:
        s.job = ask


def give_up(s: Search, number: int) -> bool:
    """Whether the job may become ready without the sub-job's pods."""
    sub = s.subs[number]
    sub.ask.left = [0] * len(sub.ask.left)
    mine = [other.ask for other in s.subs if other.policy == sub.policy >= 0]
    hopeful = sum(ask.ready() or any(ask.left) for ask in mine)
    if sub.policy >= 0 and not sub.ask.ready() and hopeful < s.wanted[sub.policy]:
        return False
    return s.job.counted + s.pods_left() >= s.job.min_available


@max_examples(600)
@given(rng=choices())
def test_sub_jobs_take_turns_until_the_job_is_ready_in_one_attempt_after_another(rng: random.Random) -> None:
    settled = random_search(rng)
    job = compiled(settled)._c.job
    for _ in range(3):
        job.reset()
        job.line_up()
        s = copied(settled)
        stuck, hopeful = -1, True
        for _ in range(12):
            assert job.job_ready() == s.ready()
            number = job.next_sub()
            assert number == s.next_sub()
            if number < 0:
                break
            left = s.subs[number].ask.left
            pods = rng.choice([left, [rng.randint(0, count) for count in left]])
            after = copied(s)
            place(after, number, pods)
            if any(pods) and after.subs[number].ask.ready():
                job.place(number, int64(pods))
                s = after
            else:
                stuck = number if stuck < 0 else stuck
                hopeful = give_up(s, number)
                assert job.give_up(number) == hopeful
                assert job.stuck == stuck
                if not hopeful:
                    break
        if hopeful and rng.random() < 0.5:
            job.settle(-1)
            settled = s


@max_examples(100)
@given(rng=choices())
def test_many_sub_jobs_that_are_ready_take_turns_with_the_rest_of_their_pods(rng: random.Random) -> None:
    s = of_single_nodes([0], rng.randint(4, 15))
    ranks = rng.sample(range(len(s.subs)), len(s.subs))
    for sub, rank in zip(s.subs, ranks, strict=True):
        sub.ask.left, sub.rank, sub.grade, sub.total = [3], rank, rng.randint(0, 2), 3
    s.job.left = [3 * len(s.subs)]
    job = compiled(s)._c.job
    job.reset()
    job.line_up()
    for _ in range(3 * len(s.subs)):
        number = job.next_sub()
        assert number == s.next_sub()
        job.place(number, int64([1]))
        place(s, number, [1])
    assert job.next_sub() == -1


@max_examples(300)
@given(rng=choices())
def test_sub_jobs_of_a_kind_ask_for_the_same(rng: random.Random) -> None:
    s = random_search(rng)
    kinds = compiled(s)._c.job.kinds()
    looks = [
        (
            sub.limit,
            sub.scored,
            sub.total,
            sub.record,
            sub.request,
            sub.pending,
            sub.ask.shapes,
            sub.ask.left,
            sub.ask.min_available,
            sub.ask.counted,
            sub.ask.after_failure == "stop",
            sub.ask.order,
        )
        for sub in s.subs
    ]
    assert [looks.index(look) for look in looks] == [kinds.index(kind) for kind in kinds]


def test_random_sub_jobs_are_of_one_kind_or_of_several() -> None:
    kinds = [compiled(random_search(random.Random(seed)))._c.job.kinds() for seed in range(60)]
    assert sum(len(set(one)) < len(one) for one in kinds) > 5
    assert sum(len(set(one)) > 1 for one in kinds) > 5

"""The best base among the nodes that fit and how many share it: a trial fill against a look at every node."""

from __future__ import annotations

import math
import random

from hypothesis import given

from tests.choice import choices
from tests.core.test_dry_runs import Case
from tests.profiles import max_examples
from tests.reference.domains import NO_RECORD, RescanFill


def best_of(fill: RescanFill, shape: int) -> tuple[float, int]:
    fitting = [i for i in range(len(fill.idle)) if fill.fits(shape, i)]
    topology = fill.topology
    if topology is None or topology.record == NO_RECORD or not fitting:
        return -math.inf, 0
    topology.tasks = {}  # so that what is added to a node is its base alone
    bases = [offset / 100.0 for offset in fill.offsets(fitting, shape).values()]
    return max(bases), bases.count(max(bases))


@max_examples(400)
@given(rng=choices())
def test_before_the_first_pod(rng: random.Random) -> None:
    case = Case(rng)
    runs = case.runs()
    case.put_to(runs, case.ask())
    for domain in range(-1, len(case.members)):
        for shape in range(len(case.shapes)):
            runs.node_scores(domain, shape)
            base, count = runs._c_runs.fill.best
            want = best_of(case.rescan(domain), shape)
            assert (math.isclose(base, want[0]), count) == (True, want[1])


@max_examples(400)
@given(rng=choices())
def test_after_pods_that_widened_the_record(rng: random.Random) -> None:
    case = Case(rng)
    runs = case.runs()
    ask = case.ask()
    case.put_to(runs, ask)
    domain = case.rng.randrange(-1, len(case.members))
    expected = case.slowly(domain, ask)
    settled = runs.settle(domain)
    if expected.placed and expected.failed is None:
        base, count = runs._c_runs.fill.best
        want = best_of(expected.fill, ask.shapes[int(settled.entries[-1])])
        assert (math.isclose(base, want[0]), count) == (True, want[1])

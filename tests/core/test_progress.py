"""What is ready, missing and tried next, by pods that fit only one node for each shape."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given

from tests.choice import choices
from tests.core.test_two_level import int32, int64
from tests.profiles import max_examples
from tests.reference.domains import RescanFill, Weights
from tests.reference.dry_runs import Ask, runs_of, shuffled, trial
from workbench.kernels.domain_nodes import DomainNodes
from workbench.kernels.domains import ScoreWeights
from workbench.kernels.dry_run_values import Counts
from workbench.kernels.dry_runs import DryRuns


@max_examples(1500)
@given(rng=choices())
def test_a_pass_ends_with_the_pod_that_makes_the_gang_ready(rng: random.Random) -> None:
    m = rng.randint(1, 4)
    room = [rng.randint(0, 4) for _ in range(m)]
    left = [rng.randint(0, 5) for _ in range(m)]
    ask = Ask(
        shapes=list(range(m)),
        left=left,
        present=[rng.randint(0, 2) for _ in range(m)],
        minimums=[rng.choice([0, rng.randint(0, 4)]) for _ in range(m)],
        names=[rng.randint(0, 1) for _ in range(m)],
        min_available=rng.randint(0, 10),
        counted=rng.randint(0, 3),
        after_failure=rng.choice(["by-minimums", "stop", "go-on"]),
        order=rng.choice([None, shuffled(rng, left)]),
    )
    amounts = int64([[n] for n in room])
    masks = [[int(i == shape) for i in range(m)] for shape in range(m)]
    zero = np.zeros_like(amounts)
    domains = DomainNodes(int32(range(m)), int32([-1] * m), int64([0]), int32([]))
    runs = DryRuns(amounts, zero, amounts, domains, weights=ScoreWeights())
    for mask in masks:
        runs.add_shape(int64([1]), feasible=np.array(mask, dtype=np.uint8))
    runs.ask(
        Counts(
            shapes=int32(ask.shapes),
            left=int64(ask.left),
            present=int64(ask.present),
            minimums=int64(ask.minimums),
            names=int32(ask.names),
            min_available=ask.min_available,
            counted=ask.counted,
            after_failure=ask.after_failure,
            runs=None if ask.order is None else runs_of(ask.order),
        )
    )
    slow = RescanFill(
        [[n] for n in room], [[0]] * m, [[n] for n in room], list(range(m)), [-1] * m,
        Weights(0.0, [0.0], 0.0, 0.0, [1], 0.0, [1]), shapes=[([1], mask, None) for mask in masks],
    )  # fmt: skip
    want = trial(slow, ask)
    told = runs.try_each(int32([-1]))
    assert (told.ready.tolist(), told.missing.tolist()) == ([want.ask.ready()], [want.ask.missing()])
    settled = runs.settle(-1)
    assert settled.entries.tolist() == [entry for entry, _, _ in want.placed]
    assert settled.placed.tolist() == [settled.entries.tolist().count(entry) for entry in range(len(want.ask.left))]
    assert settled.left.tolist() == want.ask.left

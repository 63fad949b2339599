"""Step times of jobs that share links, against exact flows in time, and after any sequence of changes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference.cost.fluid import Flow, IteratingJob, iteration_ends
from tests.reference.cost.tree_fabric import RingJob, TreeFabric, ring_times
from workbench.errors import InputError, UnknownNameError
from workbench.evaluate.contention import Network, RoutedFabric, SharedLinks, TierLinks, TrainingStep, job_traffic
from workbench.evaluate.cost import ParallelShape, TrainingModel
from workbench.model.gang import Gang, Role
from workbench.model.placement import Placement
from workbench.model.topology import DomainSpec, Topology

LEAVES = [DomainSpec(f"leaf{i}", 1, tuple(range(4 * i, 4 * i + 4)), "core") for i in range(3)]
TREE = Topology.build([f"n{i}" for i in range(12)], [*LEAVES, DomainSpec("core", 2, range(12))])


def fabric(gpus: int = 1, leaf_gb_s: float = 5.0, **more) -> RoutedFabric:
    more.setdefault("routes", "spread")
    return RoutedFabric(TREE, (gpus,) * 12, 10.0, {1: TierLinks(leaf_gb_s, more.pop("cables", 1))}, **more)


def placed(nodes: list[int], gpus: int = 1) -> Placement:
    gang = Gang("default", "job", (Role("w", len(nodes), {"nvidia.com/gpu": gpus}, (gpus,)),), len(nodes))
    return Placement(gang, TREE, "by-hand", {}, np.array(nodes, dtype=np.int32))


def sends(gb: float, compute_s: float = 0.0) -> TrainingStep:
    return TrainingStep(compute_s, {"data": gb})


def sent_gb_s(links: SharedLinks) -> np.ndarray:
    """GB/s on each link while all jobs send (``together``), or on average (``interleaved``)."""
    load = np.zeros(2 * links.network.fabric.n_cables)
    for member in links._members.values():
        if member.traffic.largest_gb:
            load[member.traffic.link] += member.traffic.gb * member.rate
    return load


def test_a_ring_alone_takes_the_time_of_its_slowest_link() -> None:
    tree = TreeFabric(
        {**{f"n{i}": f"leaf{i // 4}" for i in range(12)}, **{f"leaf{i}": "core" for i in range(3)}},
        {**{f"n{i}": 10.0 for i in range(12)}, **{f"leaf{i}": 20.0 for i in range(3)}},
    )
    for ranks in ([0, 1, 4], [0, 4, 1, 5, 2, 6, 3, 7], [0, 4, 8, 1, 5, 9]):
        payload = 6.0
        (wanted,) = ring_times(tree, [RingJob(tuple(f"n{i}" for i in ranks), payload)])
        sent = 2 * (len(ranks) - 1) / len(ranks) * payload
        links = SharedLinks(Network(fabric()))
        assert links.join(0, placed(ranks), sends(sent))[0].alone_s == pytest.approx(wanted)


@pytest.mark.parametrize("shift, phases", [(0, "together"), (1, "interleaved")])
def test_two_jobs_on_one_link_are_as_exact_flows_say(shift: int, phases: str) -> None:
    """Jobs that begin together stay together and both wait; shifted far enough they do not meet."""
    flow = Flow(("up",))
    jobs = [IteratingJob(1, ((flow, 2.0),), start) for start in (0, shift)]
    ends = iteration_ends({"up": 2.0}, jobs, 6)
    # One node of the leaf sends out of it, a second one too: 0.5 GB/s per GPU of four are 2 GB/s.
    links = SharedLinks(Network(fabric(leaf_gb_s=0.5), phases))
    links.join(0, placed([0, 4]), sends(2.0, 1.0))
    times = links.join(1, placed([1, 5]), sends(2.0, 1.0))
    period = ends[0][-1] - ends[0][-2]
    assert period == {0: 3.0, 1: 2.0}[shift]
    assert times[1].now_s == pytest.approx(period)
    assert times[1].alone_s == pytest.approx(2.0)
    assert times[1].card_s == pytest.approx(1.2)


def test_interleaved_jobs_that_ask_for_more_than_the_link_share_it() -> None:
    links = SharedLinks(Network(fabric(leaf_gb_s=0.5), "interleaved"))
    for job in range(3):
        times = links.join(job, placed([job, job + 4]), sends(2.0, 1.0))
    # 2 GB each over 2 GB/s: no three steps fit into less than three seconds.
    assert {job: found.now_s for job, found in times.items()} == pytest.approx({0: 3.0, 1: 3.0, 2: 3.0})


def test_a_job_that_leaves_frees_the_others_and_nobody_else() -> None:
    links = SharedLinks(Network(fabric(leaf_gb_s=0.5)))
    links.join(0, placed([0, 4]), sends(2.0))
    assert list(links.join(7, placed([8, 9]), sends(2.0))) == [7]
    assert sorted(links.join(1, placed([1, 5]), sends(2.0))) == [0, 1]
    times = links.leave(1)
    assert list(times) == [0]
    assert times[0].now_s == times[0].alone_s


def test_a_job_on_one_node_takes_its_compute() -> None:
    links = SharedLinks(Network(fabric(gpus=8)))
    times = links.join(0, placed([0], 8), sends(5.0, 1.5))[0]
    assert (times.card_s, times.alone_s, times.now_s) == (1.5, 1.5, 1.5)


def test_a_ring_is_spread_over_the_gpus_that_it_has_on_a_node() -> None:
    made = fabric(gpus=8, rails=4)
    traffic = job_traffic(made, placed([0, 1], 8), sends(8.0), 0)
    # 8 GB leave each node once, on four rails.
    assert traffic.gb == pytest.approx(np.full(16, 2.0))
    assert traffic.largest_gb == 1.0


def test_groups_of_a_shape() -> None:
    """Two nodes of two GPUs: the tensor-parallel pair stays in its node, data goes from GPU to GPU along the rail."""
    shape = ParallelShape(data=2, tensor=2)
    step = TrainingStep(1.0, {"tensor": 100.0, "data": 3.0}, shape)
    traffic = job_traffic(fabric(gpus=2, rails=2), placed([0, 1], 2), step, 0)
    assert traffic.gb.tolist() == [3.0] * 8
    spread = ParallelShape(pipeline=2, expert=2, data=2)
    both = TrainingStep(1.0, {"pipeline": 4.0, "expert": 6.0}, spread)
    traffic = job_traffic(fabric(gpus=1), placed([0, 1, 2, 3]), both, 0)
    # Each node sends half of 4 GB to the other stage and 6 GB to the other expert rank.
    assert traffic.gb.tolist() == [8.0] * 8


def test_a_step_of_a_model_has_its_exchanges() -> None:
    model = TrainingModel(8e9, 32, 4096, 8192, microbatches=4, forward_s=0.1, backward_s=0.2)
    step = TrainingStep.of(ParallelShape(4, 8), model)
    assert step.compute_s == pytest.approx(1.2)
    assert step.sent_gb["data"] == pytest.approx(2 * 3 / 4 * 1e9 * 2 / 1e9)
    with pytest.raises(InputError, match="does not fit the job"):
        job_traffic(fabric(gpus=8), placed([0, 1], 8), step, 0)


def test_rank_order_decides_how_often_a_ring_leaves_its_switch() -> None:
    links = SharedLinks(Network(fabric(leaf_gb_s=0.5)))
    good = links.join(0, placed([0, 1, 2, 3, 4, 5, 6, 7]), sends(1.0))[0]
    links.leave(0)
    bad = links.join(0, placed([0, 4, 1, 5, 2, 6, 3, 7]), sends(1.0))[0]
    assert bad.alone_s == pytest.approx(4 * good.alone_s)


def test_a_broken_cable_moves_flows_and_the_last_one_stops_them() -> None:
    made = fabric(leaf_gb_s=5.0, routes="hashed", cables=2)
    one, other = (made.n_card_cables + cable for cable in range(2))
    assert made.cable(other) == ("leaf0", 1, 0, 1)
    links = SharedLinks(Network(made))
    whole = links.join(0, placed([0, 1, 2, 3, 4, 5, 6, 7]), sends(4.0))[0]
    both = frozenset({one, other})
    for broken in (frozenset({one}), both, frozenset({one}), frozenset()):
        times = links.change_broken(broken)
        assert (sent_gb_s(links)[[2 * cable for cable in broken]] == 0).all()
    assert links.change_broken(both)[0].now_s == float("inf")
    assert links.change_broken(frozenset())[0] == whole
    assert times == {} or times[0] == whole


@pytest.mark.parametrize("phases", ["together", "interleaved"])
def test_any_sequence_of_changes_ends_where_a_fresh_start_ends_and_no_link_carries_too_much(phases: str) -> None:
    rng = np.random.default_rng(2)
    made = fabric(gpus=4, leaf_gb_s=3.0, routes="hashed", cables=2, rails=2)
    links = SharedLinks(Network(made, phases))
    known: dict[int, object] = {}
    members: dict[int, tuple[Placement, TrainingStep]] = {}
    broken: frozenset[int] = frozenset()
    for turn in range(120):
        kind = rng.random()
        if kind < 0.1:
            cables = rng.choice(np.arange(made.n_card_cables, made.n_cables), 2, replace=False)
            broken = frozenset(cables.tolist())
            found = links.change_broken(broken)
        elif kind < 0.5 and members:
            job = int(rng.choice(sorted(members)))
            del members[job], known[job]
            found = links.leave(job)
        else:
            n = int(rng.integers(1, 7))
            step = sends(float(rng.uniform(0.1, 9)), float(rng.choice([0, 0.5, 3])))
            members[turn] = placed(rng.choice(12, n, replace=False).tolist(), 2), step
            found = links.join(turn, *members[turn])
        known |= found
        used = sent_gb_s(links)
        capacity = made.link_gb_s()
        capacity[[2 * cable + way for cable in broken for way in (0, 1)]] = 0
        assert (used <= capacity * (1 + 1e-9)).all()
    fresh = SharedLinks(Network(made, phases))
    fresh.change_broken(broken)
    again: dict[int, object] = {}
    for job, member in members.items():
        again |= fresh.join(job, *member)
    assert len(members) > 3
    for job in members:
        ours, theirs = known[job], again[job]
        assert (ours.card_s, ours.alone_s) == (theirs.card_s, theirs.alone_s)
        assert ours.now_s == pytest.approx(theirs.now_s, rel=1e-9)


def test_unknown_phases() -> None:
    with pytest.raises(UnknownNameError):
        Network(fabric(), "random")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="wrong number"):
        TrainingStep(-1.0)
    with pytest.raises(InputError, match="GB sent, data"):
        sends(float("nan"))


def test_after_a_cable_breaks_flows_on_the_same_links_may_be_shared_out_otherwise() -> None:
    """The job uses the cables that are left before and after, but puts other amounts on them."""
    tree = Topology.build(
        [f"n{i:02d}" for i in range(20)], [DomainSpec("l0", 1, range(10)), DomainSpec("l1", 1, range(10, 20))]
    )
    hashed = RoutedFabric(tree, (8,) * 20, 10.0, {1: TierLinks(2.0, 4)}, routes="hashed", seed=1294)
    gang = Gang("default", "job", (Role("w", 8, {"nvidia.com/gpu": 8}, (8,)),), 8)
    nodes = np.array([node for i in range(4) for node in (i, 10 + i)], dtype=np.int32)
    placement, broken = Placement(gang, tree, "by-hand", {}, nodes), frozenset({hashed.n_card_cables})
    before, fresh = SharedLinks(Network(hashed)), SharedLinks(Network(hashed))
    before.join(0, placement, sends(10.0))
    changed = before.change_broken(broken)
    fresh.change_broken(broken)
    assert changed == fresh.join(0, placement, sends(10.0))
    assert (sent_gb_s(before) <= hashed.link_gb_s() * (1 + 1e-9)).all()

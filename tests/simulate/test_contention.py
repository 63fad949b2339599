"""Simulations on a network: two switches of four nodes each, eight GPUs to a node, one cable to a switch."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from tests.simulate.test_engine import PER_NODE, SNAPSHOT, job
from workbench.errors import InputError
from workbench.evaluate.contention import Network, RoutedFabric, TierLinks, TrainingStep
from workbench.model.gang import Gang
from workbench.model.ledger import Ledger
from workbench.model.topology import DomainSpec, Topology
from workbench.policies.composed import Composed
from workbench.policies.contract import Policy
from workbench.policies.function import FunctionPolicy
from workbench.policies.gpu.lowest_index import GpuLowestIndex
from workbench.policies.parameters import NoParameters
from workbench.policies.registry import get_policy
from workbench.simulate import Breakdown, FaultRates, SimulatedJob, Simulation, SimulationResult, draw_breakdowns

TREE = SNAPSHOT.topology
#: A node's cards carry 80 GB/s, the cable above a switch 80 GB/s, too.
FABRIC = RoutedFabric.of(SNAPSHOT, 10.0, {TREE.tiers[0]: TierLinks(2.5)}, routes="spread")
NETWORK = Network(FABRIC)
LEAVES = range(FABRIC.n_card_cables, FABRIC.n_cables)


def across(gang: Gang, ledger: Ledger) -> list[int] | None:
    """Free nodes of the two switches in turn."""
    leaf = TREE.domain_of_node(TREE.tiers[0])
    free = np.flatnonzero(np.bitwise_count(ledger.gpu_free).sum(axis=1) == PER_NODE)
    turns = sorted(free.tolist(), key=lambda node: (int((leaf[free[free < node]] == leaf[node]).sum()), node))
    return turns[: gang.n_pods] if len(free) >= gang.n_pods else None


ACROSS = Composed("across", FunctionPolicy("across", across), GpuLowestIndex(NoParameters()))


def run(jobs: list[SimulatedJob], policy: Policy = ACROSS, **options: Any) -> SimulationResult:
    options.setdefault("network", NETWORK)
    return Simulation(SNAPSHOT, policy, jobs, **options).run().result()


def ends(result: SimulationResult) -> list[float]:
    return result.to_dataframe()["ended_s"].tolist()


#: 1 s of compute, 80 GB to the next node: 2 s a step as fast as the cards are.
STEP = TrainingStep(1.0, {"data": 80.0})


def two_of_two(at: float = 5) -> list[SimulatedJob]:
    """Two jobs of two nodes each; with a pod on each switch they meet on the cables."""
    return [job("a", 2, 0, 20, step=STEP), job("b", 2, at, 20, step=STEP)]


def crossed(result: SimulationResult) -> list[int]:
    """How many switches each attempt is on."""
    leaf = TREE.domain_of_node(TREE.tiers[0])
    return [len(np.unique(leaf[list(attempt.nodes)])) for attempt in result.attempts]


def test_rates_change_when_a_job_starts_and_when_one_ends() -> None:
    result = run(two_of_two())
    assert crossed(result) == [2, 2]
    # Alone a step is 2 s, together 3 s. At 5 s job a has 15 s of work left, at 27.5 s nothing; b then has 5 s left.
    assert ends(result) == pytest.approx([27.5, 32.5])
    assert [row[2:] for row in result.steps] == [(2, 2, 2), (2, 2, 3), (2, 2, 3), (2, 2, 2)]
    frame = result.step_frame()
    assert frame["job"].tolist() == ["default/a"] * 2 + ["default/b"] * 2
    assert frame["from_s"].tolist() == pytest.approx([0, 5, 5, 27.5])
    assert frame["to_s"].tolist() == pytest.approx([5, 27.5, 27.5, 32.5])
    assert result.to_dataframe()["slowed_s"].tolist() == pytest.approx([7.5, 7.5])
    assert result.summary()["slowed"] == pytest.approx(15 / 55)


def test_interleaved_phases_wait_only_for_full_links() -> None:
    assert ends(run(two_of_two(), network=Network(FABRIC, "interleaved"))) == pytest.approx([20, 25])


def test_jobs_on_one_switch_do_not_meet() -> None:
    result = run(two_of_two(), policy=get_policy("binpack"))
    assert crossed(result) == [1, 1]
    assert ends(result) == pytest.approx([20, 25])


def test_without_a_step_or_a_network_every_job_works_as_fast() -> None:
    assert ends(run(two_of_two(), network=None)) == [20, 25]
    assert ends(run([job("a", 2, 0, 20), job("b", 2, 5, 20)])) == [20, 25]


def test_rates_change_when_a_job_meets_a_fault() -> None:
    a, b = two_of_two()
    (node, *_), _ = (attempt.nodes for attempt in run([a, b]).attempts)
    result = run([a, b], breakdowns=[Breakdown(10.5, 11, (node,))])
    stopped, other = result.attempts[0], result.attempts[1]
    assert (stopped.outcome, stopped.end_s, stopped.saved_s) == ("stopped", 10.5, 0)
    # 5 s alone and 5.5 s at two thirds: 1.83 s are lost to the network.
    assert stopped.slowed_s == pytest.approx(5.5 / 3)
    assert other.outcome == "completed"


def test_checkpoints_hold_the_work_not_the_time() -> None:
    a, b = two_of_two(at=0)
    slow = SimulatedJob(a.gang, 0, 20, checkpoint_s=6, step=STEP)
    (node, *_), _ = (attempt.nodes for attempt in run([slow, b]).attempts)
    stopped = run([slow, b], breakdowns=[Breakdown(13, 14, (node,))]).attempts[0]
    # 13 s at two thirds of the speed are 8.67 s of work: one checkpoint, not two.
    assert (stopped.end_s, stopped.saved_s) == (13, 6)


def test_a_broken_cable_stops_the_steps_until_its_repair() -> None:
    result = run([job("a", 2, 0, 20, step=STEP)], breakdowns=[Breakdown(5, 65, (), cables=(LEAVES[0],))])
    assert ends(result) == pytest.approx([80])
    assert [row.now_s for row in result.steps] == [2, float("inf"), 2]
    assert result.to_dataframe()["restarts"].tolist() == [0]


def random_jobs(rng: np.random.Generator, count: int = 60) -> list[SimulatedJob]:
    made = []
    for number in range(count):
        step = TrainingStep(float(rng.uniform(0, 2)), {"data": float(rng.uniform(1, 300))})
        more = {"checkpoint_s": 40.0, "restart_s": 7.0, "step": step if rng.random() < 0.8 else None}
        made.append(job(f"j{number}", int(rng.integers(1, 6)), float(rng.uniform(0, 900)), rng.exponential(60), **more))
    return made


@pytest.mark.parametrize("phases", ["together", "interleaved"])
def test_no_second_and_no_gigabyte_is_lost(phases: str) -> None:
    rng = np.random.default_rng(4)
    jobs = random_jobs(rng)
    rates = FaultRates(node_per_1000_days=60_000, gpu_per_1000_days=0, switch_per_1000_days=0, repair_s=60)
    drawn = draw_breakdowns(SNAPSHOT, rates, 1500, rng)
    cables = [Breakdown(100.0 * i, 100.0 * i + 30, (), cables=(LEAVES[i % 2],)) for i in range(1, 9)]
    network = Network(FABRIC, phases)  # type: ignore[arg-type]
    result = run(jobs, breakdowns=[*drawn, *cables], network=network)
    frame = result.to_dataframe()
    assert frame["ended_s"].notna().all()
    assert frame["restarts"].sum() > 5
    assert frame["slowed_s"].sum() > 100
    # By job: the time that it ran is its work, restarts, work done again, and what the network cost.
    for number, one in enumerate(jobs):
        own = [attempt for attempt in result.attempts if attempt.job == number]
        ran = sum(attempt.end_s - attempt.start_s for attempt in own)
        extra = frame["redone_s"][number] + frame["slowed_s"][number]
        # A fault may come while the job still restarts.
        restart = sum(min(7.0, attempt.end_s - attempt.start_s) for attempt in own[1:])
        assert ran == pytest.approx(one.duration_s + restart + extra, abs=1e-5)
    # What the cards of the nodes sent is what the steps of the jobs say, and no link carried more than it can.
    links = result.link_frame()
    assert (links["gb"] <= links["gb_s"] * result.ended_s).all()
    sent = 0.0
    for row in result.step_frame().itertuples():
        number = next(i for i, one in enumerate(jobs) if one.gang.key == row.job)
        attempt = next(a for a in result.attempts if a.job == number and a.start_s <= row.from_s < a.end_s)
        late = 7.0 if frame["restarts"][number] and attempt.start_s > frame["started_s"][number] else 0.0
        worked = max(row.to_s - max(row.from_s, attempt.start_s + late), 0.0)
        nodes = len(set(attempt.nodes))
        if nodes > 1:
            sent += worked / row.now_s * jobs[number].step.sent_gb["data"] * nodes
    assert links[(links["tier"] == 0) & (links["direction"] == "up")]["gb"].sum() == pytest.approx(sent, rel=1e-6)


def test_same_input_same_bytes_stopped_and_looked_at_or_not() -> None:
    jobs = random_jobs(np.random.default_rng(7), 30)
    whole = run(jobs)
    again = Simulation(SNAPSHOT, ACROSS, jobs, network=NETWORK)
    for until in (50.0, 120.0, 333.0):
        again = pickle.loads(pickle.dumps(again.run(until)))
        assert again.result().ended_s <= until
    stopped = again.run().result()
    assert stopped.attempts == whole.attempts
    assert stopped.steps == whole.steps
    assert stopped.to_dict() == whole.to_dict()


def test_bad_networks() -> None:
    other = Topology.build(TREE.node_names, [DomainSpec("x", 1, range(8))])
    with pytest.raises(InputError, match="another topology"):
        run([], network=Network(RoutedFabric(other, FABRIC.gpus, 10.0)))
    for network, cable in ((None, 0), (NETWORK, FABRIC.n_cables)):
        with pytest.raises(InputError, match="a cable that the network does not have"):
            run([], network=network, breakdowns=[Breakdown(1, 2, (), cables=(cable,))])


def test_cables_break_and_the_other_breakdowns_are_as_without_a_network() -> None:
    rates = FaultRates(node_per_1000_days=9000, gpu_per_1000_days=0, switch_per_1000_days=900, cable_per_1000_days=3000)
    alone = draw_breakdowns(SNAPSHOT, rates, 1e6, np.random.default_rng(5))
    drawn = draw_breakdowns(SNAPSHOT, rates, 1e6, np.random.default_rng(5), FABRIC)
    assert [one for one in drawn if not one.cables] == list(alone)
    broken = [one for one in drawn if one.cables]
    # 10 cables for 10^6 s, each whole for 28,800 s and broken for 7,200 s on average: 278.
    assert 200 < len(broken) < 350
    assert {one.cables[0] for one in broken} == set(range(FABRIC.n_cables))
    assert {one.what for one in broken if one.cables[0] in LEAVES} == {"S0 rail 0 cable 0", "S1 rail 0 cable 0"}
    result = run([job("a", 2, 0, 3000, step=STEP)], breakdowns=drawn)
    assert ends(result)[0] > ends(run([job("a", 2, 0, 3000, step=STEP)]))[0]


def test_a_broken_network_card_stops_a_job_until_its_repair() -> None:
    cards = tuple(range(FABRIC.n_card_cables))
    alone = run([job("a", 2, 0, 20, step=STEP)], network=NETWORK)
    result = run([job("a", 2, 0, 20, step=STEP)], network=NETWORK, breakdowns=[Breakdown(5, 65, (), cables=cards)])
    (end,), (delayed,) = alone.to_dataframe()["ended_s"].tolist(), result.to_dataframe()["ended_s"].tolist()
    assert delayed == pytest.approx(end + 60)

"""What is told of two policies' placements of the same jobs, on placements that a test writes down."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import cluster_yaml, job_yaml
from workbench.evaluate.compare import Comparison, compare
from workbench.evaluate.differences import Move, differences, moves_in_brief
from workbench.formats.load import load
from workbench.policies.composed import Composed
from workbench.policies.function import FunctionPolicy
from workbench.policies.gpu.lowest_index import GpuLowestIndex
from workbench.policies.parameters import NoParameters
from workbench.report.html import comparison_html


@pytest.fixture
def compared(tmp_path: Path):
    """One job of three pods of one GPU; a policy for each list of nodes, None for the whole list where it refuses."""

    def call(*answers: list[str | None] | None) -> Comparison:
        job = job_yaml("a", 3, gpus=1, min_available=1)
        (tmp_path / "all.yaml").write_text(f"{cluster_yaml()}---\n{job}", "utf-8")
        scenario = load(tmp_path / "all.yaml")
        policies = [
            Composed(
                f"p{i}",
                FunctionPolicy(f"p{i}", lambda gang, ledger, answer=answer: answer),
                GpuLowestIndex(NoParameters()),
            )
            for i, answer in enumerate(answers)
        ]
        return compare(scenario.gangs, scenario.snapshot, policies)

    return call


def test_pods_of_a_role_are_alike_so_that_a_permutation_is_no_difference(compared) -> None:
    assert differences(compared(["node0", "node0", "node1"], ["node1", "node0", "node0"])) == ()


def test_the_fewest_moves_are_told_with_their_numbers(compared) -> None:
    (one,) = differences(
        compared(["node0", "node0", "node1"], ["node2", "node2", "node1"], ["node0", "node3", "node1"])
    )
    assert one.job == "default/a"
    assert one.outcomes == ("2 nodes", "2 nodes", "3 nodes")
    assert one.moves == ((), (Move("worker", 2, "node0", "node2"),), (Move("worker", 1, "node0", "node3"),))
    assert one.moves[1][0].text == "2 worker: node0 → node2"


def test_a_pod_without_a_node_and_a_pending_job_are_told(compared) -> None:
    (one,) = differences(compared(["node0", "node0", None], None, ["node0", "node0", "node1"]))
    assert one.outcomes == ("1 node, 1 pod pending", "pending", "2 nodes")
    assert one.moves[1] == (Move("worker", 2, "node0", ""),)
    assert one.moves[2] == (Move("worker", 1, "", "node1"),)
    record = one.to_dict(("p0", "p1", "p2"))
    assert record["policies"][2]["moves"] == [{"role": "worker", "pods": 1, "from": None, "to": "node1"}]


def test_a_policy_that_failed_moves_nothing(compared) -> None:
    (one,) = differences(compared(["node0"] * 3, ["no-such-node"] * 3))
    assert one.outcomes == ("1 node", "failed") and one.moves == ((), ())


def test_the_page_shows_them(compared) -> None:
    page = comparison_html(compared(["node0"] * 3, ["node1"] * 3))
    assert "Placed differently" in page and "3 worker: node0 → node1" in page
    assert "Placed differently" not in comparison_html(compared(["node0"] * 3, ["node0"] * 3))


def test_pods_that_lose_or_find_a_node_are_counted_together(compared) -> None:
    """The pods of a job that is pending elsewhere are one line, however many nodes they leave."""
    (one,) = differences(compared(["node0", "node1", "node2"], None, ["node0", "node1", "node3"]))
    assert len(one.moves[1]) == 3
    assert [move.text for move in moves_in_brief(one.moves[1])] == ["3 worker: 3 nodes → pending"]
    assert moves_in_brief(one.moves[2]) == one.moves[2] == (Move("worker", 1, "node2", "node3"),)
    back = tuple(Move(move.role, move.pods, "", move.source) for move in one.moves[1])
    assert [move.text for move in moves_in_brief(back)] == ["3 worker: pending → 3 nodes"]
    assert "3 worker: 3 nodes → pending" in comparison_html(compared(["node0", "node1", "node2"], None))

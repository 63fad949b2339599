from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.hand_made import dgx_like, document_tree, gang_of, placement_of, snapshot_of
from workbench.evaluate.compare import compare
from workbench.evaluate.metrics import measure_run
from workbench.model.best_gpus import best_gpus
from workbench.model.explanation import Candidate, Explanation
from workbench.model.notice import Notice
from workbench.model.placement import Decision, NearestMiss, Refusal
from workbench.report import command_tables, tables
from workbench.report.comparison_tables import comparison_tables
from workbench.report.layout import fitted
from workbench.topology.discovery.reconcile import reconcile
from workbench.topology.discovery.result import DiscoveryResult, discovered

TOPOLOGY = document_tree()
SNAPSHOT = snapshot_of(TOPOLOGY)


def shown(parts: list[Any], width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    for part in parts:
        console.print(fitted(part, console) if isinstance(part, Table) else part)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(len(line) <= width for line in text.splitlines())
    return text


def decisions() -> list[Decision]:
    a, b = gang_of("[red]train[/red]", 2), gang_of("big", 9)
    refusal = Refusal(
        b,
        "p",
        {},
        (Notice("insufficient", "0 of 8 nodes fit", numbers={"count": 8}),),
        (NearestMiss(1, "s0", 2, 9),),
        (Notice("careful", "careful"),),
    )
    return [Decision(a, placement_of(a, TOPOLOGY, [0, 1], [0xFF, 0xFF])), Decision(b, refusal)]


def test_a_session_lists_jobs_pods_and_reasons_and_reads_no_markup() -> None:
    text = shown(tables.session_tables("volcano-1.13", decisions(), measure_run(decisions(), SNAPSHOT)))
    assert "default/[red]train[/red]" in text
    assert "[red]train[/red]-worker-1" in text and "0,1,2,3,4,5,6,7" in text
    assert "default/big is pending: 0 of 8 nodes fit" in text
    assert "nearest on tier 1: s0 holds 2 of 9" in text
    assert "warning: careful" in text


def pending(reasons: list[Notice], misses: list[NearestMiss]) -> list[Decision]:
    gang = gang_of("big", 9)
    return [Decision(gang, Refusal(gang, "p", {}, tuple(reasons), tuple(misses)))]


def lines_about(made: list[Decision], cause: Notice | None = None) -> list[str]:
    # Of the advice on a job the lines need the headline, and the reasons that it quotes.
    said = SimpleNamespace(headline=str(cause), quoted=(cause,))
    advice: Any = {"default/big": said} if cause is not None else {}
    told = measure_run(made, SNAPSHOT)
    text = shown(tables.session_tables("p", made, told, advice=advice), 200)
    return [line.strip() for line in text.splitlines() if "pending:" in line or "tried:" in line or "nearest" in line]


def test_nothing_about_a_pending_job_is_said_twice() -> None:
    best = "no HyperNode of tier <= 2 holds 9 pods: best s4 (tier 2) holds 4 of 9"
    gang_of_nine = "9/9 tasks in gang unschedulable: 0/2 nodes are unavailable: 2 Insufficient cpu."
    reasons = [Notice("no-domain", best), Notice("gang-unschedulable", gang_of_nine)]
    made = pending(reasons, [NearestMiss(1, "s0", 2, 9), NearestMiss(2, "s4", 4, 9), NearestMiss(3, "s6", 0, 9)])
    volcano = f"when it was tried: Volcano writes: “{gang_of_nine}”"
    assert lines_about(made, reasons[0]) == [
        f"default/big is pending: {best}",
        volcano,
        "nearest on tier 1: s0 holds 2 of 9",
    ]
    assert lines_about(made) == [
        f"default/big is pending: {best}",
        volcano.replace("when it was tried", "default/big is pending"),
        "nearest on tier 1: s0 holds 2 of 9",
    ]


def test_no_hypernode_is_near_where_one_has_room_for_all() -> None:
    made = pending([Notice("queue-limit", "queue a is full")], [NearestMiss(1, "s0", 2, 9), NearestMiss(2, "s4", 9, 9)])
    assert lines_about(made) == ["default/big is pending: queue a is full"]


def test_the_sentence_of_kubernetes_is_a_quotation() -> None:
    sentence = "0/8 nodes are unavailable: 8 Insufficient cpu."
    reason = Notice("insufficient", sentence, numbers={"count": 8, "nodes": 8})
    assert lines_about(pending([reason], [])) == [f"default/big is pending: Kubernetes writes: “{sentence}”"]


def test_a_long_session_is_cut_and_counted() -> None:
    gang = gang_of("a", 5000)
    long = [Decision(gang, placement_of(gang, TOPOLOGY, [0] * 5000))]
    text = shown(tables.session_tables("p", long, measure_run(long, SNAPSHOT)))
    assert "… and 4,960 more pods" in text and len(text.splitlines()) < 70


def test_a_comparison_of_long_names_and_large_counts_fits_eighty_columns() -> None:
    class Fixed:
        name, parameters = "volcano-1.13+gpu-lowest-index", {}

        def schedule(self, gangs: Any, snapshot: Any) -> list[Decision]:
            return [Decision(gangs[0], placement_of(gangs[0], TOPOLOGY, [i % 8 for i in range(5000)]))]

    class Broken(Fixed):
        name = "mine"

        def schedule(self, gangs: Any, snapshot: Any) -> list[Decision]:
            raise ValueError("no")

    policies: list[Any] = [Fixed(), Broken()]
    text = shown(comparison_tables(compare([gang_of("a", 5000)], SNAPSHOT, policies)))
    first = next(line for line in text.splitlines() if line.startswith(" volcano-1.13"))
    assert first.split()[:3] == ["volcano-1.13", "1", "5000"]
    assert "1.56M" in first
    assert "mine failed: ValueError: no" in text


def test_a_comparison_names_what_is_pending() -> None:
    class Fixed:
        name, parameters = "p", {}

        def schedule(self, gangs: Any, snapshot: Any) -> list[Decision]:
            return decisions()

    policies: list[Any] = [Fixed()]
    text = shown(comparison_tables(compare([d.gang for d in decisions()], SNAPSHOT, policies)))
    assert "\np:\n  default/big is pending: none of the changes that were tried helps: room for 2" in text
    assert text.count("p:") == 1


def test_an_explanation_lists_domains_then_nodes() -> None:
    candidates = (
        Candidate("domain", "s4", 2, False, "tier 2 above the highest allowed 1"),
        Candidate("node", "node0", None, True, "", 12.0, {"binpack": 12.0}),
        Candidate("inner", "s1", 1, True, "holds 2 of 2 pods", 9.0, {"packing": 9.0}, "w-0"),
    )
    text = shown(tables.explanation_tables(Explanation(decisions()[0], candidates, ("a note",))))
    assert text.index("a note") < text.index("above the highest allowed") < text.index("w-0") < text.index("binpack")
    assert "inner HyperNode  for  tier  kept  score  why" in text


def test_an_explanation_has_the_parts_of_node_scores_in_columns_while_they_fit() -> None:
    parts = {"binpack": 7.292, "least": 92.0, "balanced": 98.0, "tier": 66.67, "tasks": 33.33}
    nodes = (
        Candidate("node", "node0", None, True, "fits a pod of worker", 297.3, parts),
        Candidate("node", "node1", None, False, "nvidia.com/gpu: 8 asked, 5 idle"),
    )
    domain = Candidate("domain", "<cluster-top-hypernode>", 4, True, "holds 3 of 3 pods", 54.6, {"cpu": 31.2})
    text = shown(tables.explanation_tables(Explanation(decisions()[0], (domain, *nodes))))
    assert "node   kept  score  binpack  least  balanced   tier  tasks  why" in text
    assert "holds 3 of 3 pods; cpu 31.2" in text
    wide = Candidate("node", "n", None, True, "fits", 1.0, {f"a-long-part-{i}": 1.0 for i in range(4)})
    text = shown(tables.explanation_tables(Explanation(decisions()[0], (wide,))))
    assert "fits; a-long-part-0 1, a-long-part-1 1" in text


def test_best_gpus_show_value_pair_and_ties() -> None:
    text = shown(command_tables.best_gpus_tables(best_gpus(dgx_like(), 4)))
    assert "48 GB/s" in text and "{4,5,6,7}" in text and "proved optimal" in text


def test_without_a_set_nothing_is_called_best_or_proved() -> None:
    text = shown(command_tables.best_gpus_tables(best_gpus(dgx_like(), 4, free=[0, 1])))
    assert text.splitlines()[0] == "no such set: only 2 of 8 GPUs are free"
    assert "proved" not in text and "best" not in text


def test_a_plan_lists_what_it_does_and_counts_what_stays() -> None:
    owned = [discovered("ufm", f"leaf-hn-{i}", 1, [f"n{i}"], "Node") for i in range(60)]
    foreign = discovered("\x1b[31m", "spine-hn", 2, ["x"], "Node")
    found = [*owned[:1], discovered("ufm", "leaf-hn-1", 1, ["new"], "Node"), foreign]
    text = shown(command_tables.plan_tables(reconcile(DiscoveryResult("ufm", tuple(found)), [*owned, foreign])))
    assert "leaf-hn-1 " in text and "update" in text and "delete" in text and "20 more HyperNodes" in text
    assert "ufm: 1 to update, 58 to delete, 1 unchanged, 1 in conflict" in text and "\x1b" not in text
    few = shown(command_tables.plan_tables(reconcile(DiscoveryResult("ufm", (foreign,)), [foreign])))
    assert "conflict: '\\x1b[31m'" in few
    same = shown(command_tables.plan_tables(reconcile(DiscoveryResult("ufm", tuple(owned)), owned)))
    assert same.split() == ["ufm:", "60", "unchanged"]

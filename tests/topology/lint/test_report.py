from __future__ import annotations

import pytest

from tests.fabrics import document_tree
from tests.topology.lint.good import Cluster, member
from workbench.errors import InputError
from workbench.model.topology import Problem, Topology
from workbench.topology.lint import lint
from workbench.topology.presets import generate_scenario


def damaged() -> Cluster:
    made = Cluster()
    for name in ("n0", "n1", "n2"):
        made.add_node(name)
    made.add_hypernode("a", 1, [member("n0"), member("n1"), member("n1")])
    made.add_hypernode("b", 1, [member("n1"), member("n2")])
    made.add_hypernode("c", 2, [member("a", "HyperNode"), member("b", "HyperNode")])
    return made


def test_worst_first_then_by_code() -> None:
    report = damaged().lint()
    assert [(f.severity.value, f.rule.id, f.subject) for f in report.findings] == [
        ("error", "overlap", "b"),
        ("warning", "duplicate-member", "a"),
    ]
    assert report.counts == {"error": 1, "warning": 1, "note": 0} and report.errors == 1
    assert [f.rule.id for f in report.fixable] == ["duplicate-member"]
    assert repr(report) == "LintReport(1 errors, 1 warnings, 0 notes; 3 HyperNodes, 3 nodes)"


def test_a_snapshot_a_scenario_and_a_topology_are_looked_at_too() -> None:
    scenario = generate_scenario("balanced")
    for what in (scenario, scenario.snapshot, scenario.snapshot.topology):
        report = lint(what)
        assert report.findings == () and report.ready and report.n_nodes == 32
        assert [rule.id for rule, _ in report.not_judged] == ["refused-by-admission", "unknown-field"]
    assert [f.rule.id for f in lint(document_tree(cordoned=("node2", "node3"))).findings] == ["leaf-cordoned"]
    names = {"example.com/rack": "r3"}
    odd = document_tree(labels={f"node{i}": {"example.com/rack": f"r{i // 2}"} for i in range(8)} | {"node1": names})
    assert [f.node for f in lint(odd).of("label-disagrees")] == ["node1"]


def test_what_the_builder_found_is_told_where_the_hypernodes_are_gone() -> None:
    topology = Topology.build(["n"], [], [Problem("cycle", "s1", "cyclic dependency: s1 -> s1")], ready=False)
    report = lint(topology)
    assert [(f.rule.id, f.hypernode) for f in report.findings] == [("cycle", "s1")] and not report.ready


@pytest.mark.parametrize("code", ["two-parents", "tier-order", "dangling-member", "empty-member", "overlap"])
def test_every_problem_of_the_builder_is_a_finding(code: str) -> None:
    topology = Topology.build(["n"], [], [Problem(code, "s1", "what is wrong")])
    assert [(f.rule.id, f.message) for f in lint(topology).of(code)] == [(code, "what is wrong")]


def test_something_else_is_refused() -> None:
    with pytest.raises(InputError, match="not a topology"):
        lint(42)  # type: ignore[arg-type]


def test_a_report_draws_itself() -> None:
    html = damaged().lint()._repr_html_()
    assert html is not None and "tw-lint" in html and "overlap" in html and "duplicate-member" in html

"""Every kind of defect, planted in random good topologies, is found at its place; in the good ones nothing is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import workbench
from tests.profiles import max_examples
from tests.topology.lint.defects import DEFECTS
from tests.topology.lint.good import Cluster, good_clusters
from workbench.formats.lint_files import lint_files
from workbench.topology.lint import RULES, lint
from workbench.topology.presets import PRESETS, generate_scenario

DATASETS = Path(__file__).parents[3] / "datasets"


def test_every_rule_has_a_planted_defect() -> None:
    assert set(DEFECTS) == {rule.id for rule in RULES}


@max_examples(60, suppress_health_check=[HealthCheck.too_slow])
@given(good_clusters())
def test_nothing_is_found_in_a_good_topology(cluster: Cluster) -> None:
    assert cluster.lint().findings == ()


@pytest.mark.parametrize("rule", sorted(DEFECTS))
@max_examples(10, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_planted_defect_is_found_at_its_place(rule: str, data: st.DataObject) -> None:
    cluster = data.draw(good_clusters())
    places = DEFECTS[rule](cluster, data.draw)
    subject = cluster.subject()
    report = lint(subject)
    found = report.of(rule)
    assert any({finding.hypernode, finding.node} & places for finding in found)
    assert report.of(next(r.code for r in RULES if r.id == rule)) == found
    json.dumps(report.to_dict())
    # Alone it finds the same; left out it finds nothing.
    assert [f.message for f in cluster.lint(only=[rule]).findings] == [f.message for f in found]
    assert lint(subject, ignore=[rule]).of(rule) == ()


@pytest.mark.parametrize("name", ["leaf-hn-{}", "hypernode-rdma-tier{}-x7k2p"])
@max_examples(2, suppress_health_check=[HealthCheck.too_slow])
@given(cluster=good_clusters())
def test_a_name_with_more_digits_than_numbers_have_is_none_of_discovery(name: str, cluster: Cluster) -> None:
    cluster.rename(cluster.of_tier(1)[0], name.format("9" * 5000))
    assert cluster.lint().of("shifting-name") == ()


@max_examples(40, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_the_order_of_the_objects_does_not_matter(data: st.DataObject) -> None:
    cluster = data.draw(good_clusters())
    for rule in data.draw(st.lists(st.sampled_from(sorted(DEFECTS)), min_size=1, max_size=1)):
        DEFECTS[rule](cluster, data.draw)
    shuffled = Cluster(
        dict(data.draw(st.permutations(list(cluster.hypernodes.items())))), cluster.nodes, cluster.with_matrix
    )
    assert [f.to_dict() for f in shuffled.lint().findings] == [f.to_dict() for f in cluster.lint().findings]


@pytest.mark.parametrize("kind", sorted(PRESETS))
def test_nothing_is_found_in_a_generated_fabric(kind: str) -> None:
    params = {"sizes": (4, 4, 4, 2)} if kind == "fleet" else {}
    assert lint(generate_scenario(kind, **params)).findings == ()


@pytest.mark.parametrize(
    "path",
    [
        "demo",
        "three-level-tree",
        "two-roce-networks",
        "use-case-1/small.yaml",
        "use-case-2/small.yaml",
        "koordinator-matrices/node-host04.yaml",
    ],
)
def test_nothing_is_found_in_a_dataset(path: str) -> None:
    assert lint_files([DATASETS / path]).report.findings == ()
    assert lint(workbench.load(DATASETS / path)).findings == ()

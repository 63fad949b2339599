from __future__ import annotations

import copy

from tests.topology.lint.good import Cluster, member
from workbench.topology.lint import FieldEdit, Fix, apply_edits, edits_by_hypernode


def cluster() -> Cluster:
    made = Cluster()
    for name in ("n0", "n1", "n2", "n3"):
        made.add_node(name)
    made.add_hypernode("a", 1, [member("n0"), member("N1"), member("n0"), member("n0")])
    made.add_hypernode("b", 1, [member("n2"), member("n3")])
    made.add_hypernode("c", 2, [member("a", "HyperNode"), member("b", "HyperNode"), member("n3"), member("n3")])
    return made


def test_a_tier_that_does_not_rise_becomes_that_of_the_siblings() -> None:
    made = cluster()
    made.hypernodes["b"]["spec"]["tier"] = 4
    (finding,) = made.lint(only=["tier-order"]).findings
    assert finding.fix == Fix("give b tier 1, as the other members of c", (FieldEdit(("spec", "tier"), 1),))
    made.hypernodes["a"]["spec"]["tier"] = 2
    assert [f.fix for f in made.lint(only=["tier-order"]).findings] == [None, None]  # tier 3 of c, or lower ones?


def test_the_changed_hypernodes_and_only_those() -> None:
    made = cluster()
    before = copy.deepcopy(made.hypernodes)
    fixed = {name: apply_edits(before[name], edits) for name, edits in edits_by_hypernode(made.lint().findings).items()}
    assert fixed.keys() == {"a", "c"}
    assert fixed["a"]["spec"]["members"] == [member("n0"), member("n1")]
    assert fixed["c"]["spec"]["members"] == [member("a", "HyperNode"), member("b", "HyperNode")]
    assert made.hypernodes == before


def test_later_entries_go_first_and_a_removal_beats_a_correction() -> None:
    edits = edits_by_hypernode(cluster().lint().findings)
    assert [edit.path[2] for edit in edits["a"] if edit.remove] == [3, 2]
    made = cluster()
    made.members("a").append(member("N1"))
    last = ("spec", "members", 4)
    assert [e for e in edits_by_hypernode(made.lint().findings)["a"] if e.path[:3] == last] == [
        FieldEdit(last, remove=True)
    ]


def test_a_copy_is_changed() -> None:
    manifest = {"status": {"nodeCount": 1}, "spec": {"members": [1, 2]}}
    edits = (FieldEdit(("status", "nodeCount"), 2), FieldEdit(("spec", "members", 0), remove=True))
    assert apply_edits(manifest, edits) == {"status": {"nodeCount": 2}, "spec": {"members": [2]}}
    assert manifest["spec"]["members"] == [1, 2]

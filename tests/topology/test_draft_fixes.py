"""The remedies of the linter in a drawing: the finding is gone, no other appears, and undo takes the step back."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.profiles import max_examples
from tests.topology.lint.defects import DEFECTS
from tests.topology.lint.good import Cluster, good_clusters, member
from workbench.errors import InputError
from workbench.formats.load import load_objects
from workbench.formats.write_manifests import to_yaml
from workbench.topology.draft import Draft
from workbench.topology.draft_objects import draft_of, fix_finding, subject_of
from workbench.topology.history import History
from workbench.topology.lint import RULES, lint

FIXABLE = sorted(rule.id for rule in RULES if rule.fixable)


def drawn(cluster: Cluster) -> Draft:
    read = load_objects("-", stdin=to_yaml(cluster.manifests()))
    return draft_of(read.hypernodes.values(), read.nodes.values())


def said(draft: Draft) -> set[tuple[str, str]]:
    return {(finding.rule.id, finding.message) for finding in lint(subject_of(draft)).findings}


def mend_all(draft: Draft, rule: str) -> int:
    """Mend each finding of a rule that has one remedy, checking every step; return their number."""
    history, steps = History(draft), 0
    while fixable := [f for f in lint(subject_of(draft), only=[rule]).findings if f.fix is not None]:
        before, drawing = said(draft), draft.copy()
        history.do("fix", fix_finding(draft, rule, fixable[0].hypernode, fixable[0].field))
        assert said(draft) < before and (rule, fixable[0].message) not in said(draft)
        history.undo()
        assert draft == drawing
        history.redo()
        steps += 1
        assert steps < 20
    return steps


@pytest.mark.parametrize("rule", FIXABLE)
@max_examples(10, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_the_finding_is_gone_and_no_other_appears(rule: str, data: st.DataObject) -> None:
    cluster = data.draw(good_clusters())
    DEFECTS[rule](cluster, data.draw)
    mend_all(drawn(cluster), rule)


def racks() -> Cluster:
    made = Cluster()
    for name in ("n0", "n1", "n2", "n3"):
        made.add_node(name)
    made.add_hypernode("a", 1, [member("n0"), member("n1")])
    made.add_hypernode("b", 1, [member("n2"), member("n3")])
    made.add_hypernode("c", 2, [member("a", "HyperNode"), member("b", "HyperNode")])
    return made


def test_remedies_of_a_drawing_are_one_step_each() -> None:
    """What a drawing can show of the fixable rules; the others vanish when members are drawn."""
    cluster = racks()
    cluster.hypernodes["b"]["spec"]["tier"] = 7
    assert mend_all(drawn(cluster), "tier-order") == 1
    cluster = racks()
    cluster.members("a").append(member("n0"))
    assert mend_all(drawn(cluster), "duplicate-member") == 1


def test_a_finding_that_is_gone_is_refused() -> None:
    with pytest.raises(InputError, match=r"tier-order at spec\.tier of a"):
        fix_finding(drawn(racks()), "tier-order", "a", "spec.tier")

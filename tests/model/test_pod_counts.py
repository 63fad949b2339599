"""Pods that rules select are counted node by node, while pods come and go."""

from __future__ import annotations

import copy

from hypothesis import given

from tests.choice import choices
from tests.profiles import max_examples
from workbench.model.labels import Requirement
from workbench.model.pod_counts import Count, PodCounts, PodKind
from workbench.model.pod_rules import PodAffinityTerm, PodRules, PodSelector

SELECTORS = [
    PodSelector((), ("d",)),
    PodSelector((Requirement("app", "In", ("a",)),), ("d", "e")),
    PodSelector((Requirement("app", "NotIn", ("a",)),), (), ()),
    PodSelector((), (), (Requirement("team", "Exists"),)),
    PodSelector((), (), (Requirement("kubernetes.io/metadata.name", "In", ("e",)),)),
    PodSelector(None, ("d",)),
]
RULES = PodRules(affinity=(PodAffinityTerm("rack", SELECTORS[0]),))
NAMESPACES = {"d": {"team": "x"}}


@max_examples(200)
@given(rng=choices())
def test_counts_are_those_of_the_pods_that_are_there(rng):
    n = 3
    counts, pods = PodCounts(n, NAMESPACES), []
    for _ in range(rng.randint(1, 12)):
        if pods and rng.random() < 0.4:
            kind, node = pods.pop(rng.randrange(len(pods)))
            counts.add(kind, (node,), -1)
        else:
            labels = {"app": rng.choice("ab")}
            rules = rng.choice([PodRules(), RULES])
            kind = PodKind.of(rng.choice("de"), labels, rules, terminating=rng.random() < 0.3)
            pods.append((kind, rng.randrange(n)))
            counts.add(kind, (pods[-1][1],))
        if rng.random() < 0.2:
            counts = copy.copy(counts)
        asked = Count((rng.choice(SELECTORS), rng.choice(SELECTORS)), terminating=rng.random() < 0.5)

        def counted(kind, asked=asked):
            if kind.terminating and not asked.terminating:
                return False
            own = NAMESPACES.get(kind.namespace, {"kubernetes.io/metadata.name": kind.namespace})
            return all(one.selects(dict(kind.labels), kind.namespace, own) for one in asked.selectors)

        want = [sum(at == node and counted(kind) for kind, at in pods) for node in range(n)]
        assert counts.of(asked).tolist() == want
    with_rules = {kind for kind, _ in pods if kind.rules != PodRules()}
    found = dict(counts.with_rules())
    assert found.keys() == with_rules
    for kind, array in found.items():
        assert array.tolist() == [pods.count((kind, node)) for node in range(n)]


def test_selectors_of_jobs_that_left_are_dropped_and_counted_anew():
    counts, kind = PodCounts(2), PodKind.of("d", {"app": "a"})
    counts.add(kind, (0,))
    asked = [Count((PodSelector((Requirement("job", "NotIn", (str(number),)),), ("d",)),)) for number in range(600)]
    for one in asked:
        assert counts.of(one).tolist() == [1, 0]
    counts.add(kind, (1,))
    assert [counts.of(one).tolist() for one in (asked[0], asked[-1])] == [[1, 1]] * 2
    assert len(counts.__dict__["_counts"]) < 600


def test_nothing_is_kept_of_pods_that_left():
    counts = PodCounts(2)
    for number in range(5):
        kind = PodKind.of("d", {"job": str(number)}, RULES)
        counts.add(kind, (0, 1, 1))
        counts.add(kind, (1, 0, 1), -1)
    assert not any(counts.__dict__[name] for name in ("_kinds", "_arrays", "_with_rules"))

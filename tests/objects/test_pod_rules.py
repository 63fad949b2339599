"""Affinity between pods, spreading and preferred nodes are read from every pod spec, and written back."""

from __future__ import annotations

import pytest

from tests.objects.pod_specs import EVERY_FIELD, EVERY_RULE
from workbench.errors import InputError
from workbench.model.labels import Requirement
from workbench.model.pod_rules import NO_RULES, PodAffinityTerm, PodSelector, SpreadConstraint
from workbench.objects.node_terms import read_required_terms
from workbench.objects.pod import read_pod_spec
from workbench.objects.pod_rules import read_pod_rules
from workbench.objects.pod_rules_manifest import pod_rules_manifest

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def test_every_rule_of_a_spec_is_read() -> None:
    assert read_pod_rules(EVERY_FIELD, "spec") == EVERY_RULE
    assert read_pod_spec(EVERY_FIELD, "spec").rules == EVERY_RULE


def test_rules_are_written_as_they_are_read() -> None:
    assert read_pod_rules(pod_rules_manifest(EVERY_RULE), "spec") == EVERY_RULE
    assert pod_rules_manifest(NO_RULES) == {}


def test_a_spec_without_rules_has_none() -> None:
    for spec in ({}, {"affinity": {}}, {"affinity": None, "topologySpreadConstraints": []}):
        assert read_pod_rules(spec, "spec") is NO_RULES


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        pytest.param(None, None, id="none selects nothing"),
        pytest.param({}, (), id="an empty one selects everything"),
        pytest.param({"matchLabels": {}}, (), id="so does one with empty parts"),
        pytest.param({"matchLabels": {"a": "b"}}, (Requirement("a", "In", ("b",)),), id="labels"),
        pytest.param({"matchLabels": {"a": "no label!"}}, None, id="what no label can be selects nothing"),
    ],
)
def test_what_a_label_selector_means(selector: object, want: object) -> None:
    term = {"topologyKey": "k"} | ({} if selector is None else {"labelSelector": selector})
    (read,) = read_pod_rules({"affinity": {"podAffinity": {REQUIRED: [term]}}}, "spec").affinity
    assert read.selector.labels == want


def test_terms_are_completed_by_the_pod_that_has_them() -> None:
    term = PodAffinityTerm("rack", PodSelector(()), match_keys=("job", "none"), mismatch_keys=("team",))
    found = term.resolved("ns", {"job": "j", "team": "t"})
    labels = (Requirement("job", "In", ("j",)), Requirement("team", "NotIn", ("t",)))
    assert found == PodAffinityTerm("rack", PodSelector(labels, ("ns",)))
    # Without a selector there is nothing to add to.
    assert PodAffinityTerm("r", PodSelector(), match_keys=("job",)).resolved("ns", {"job": "j"}).selector.labels is None
    spread = SpreadConstraint("zone", labels=(), match_keys=("job",)).resolved({"job": "j"})
    assert spread.labels == (Requirement("job", "In", ("j",)),)
    # All namespaces are no namespaces of the pod's own.
    everywhere = PodSelector((), (), ())
    assert PodAffinityTerm("rack", everywhere).resolved("ns", {}).selector == everywhere


def node_affinity(*terms: object) -> dict[str, object]:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}}


@pytest.mark.parametrize(
    "expression",
    [
        {"key": "a", "operator": "NotIn", "values": ["no label!"]},
        {"key": "no key!", "operator": "Exists"},
        {"key": "a", "operator": "Exists", "values": ["b"]},
        {"key": "a", "operator": "In"},
        {"key": "a", "operator": "Gt", "values": ["1", "2"]},
        {"key": "a", "operator": "Lt", "values": ["b"]},
    ],
)
def test_a_node_term_that_cannot_be_parsed_matches_no_node(expression: dict[str, object]) -> None:
    good = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
    found = read_required_terms(node_affinity({"matchExpressions": [expression]}, good), "spec")
    assert found == ((), (Requirement("a", "Exists"),))


def test_a_name_is_selected_by_one_value() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["a", "b"]}
    assert read_required_terms(node_affinity({"matchFields": [field]}), "spec") == ((),)


def test_required_affinity_without_terms_matches_no_node() -> None:
    assert read_required_terms(node_affinity(), "spec") == ((),)
    assert read_required_terms({"affinity": {"nodeAffinity": {}}}, "spec") == ()


TERM = {"topologyKey": "k"}


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"affinity": []}, "spec.affinity"),
        ({"affinity": {"podAffinity": {REQUIRED: [{}]}}}, f"spec.affinity.podAffinity.{REQUIRED}[0].topologyKey"),
        (
            {"affinity": {"podAntiAffinity": {PREFERRED: [{"podAffinityTerm": TERM}]}}},
            f"spec.affinity.podAntiAffinity.{PREFERRED}[0].weight",
        ),
        (
            {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 101, "preference": {}}]}}},
            f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight",
        ),
        (
            {"affinity": {"podAffinity": {REQUIRED: [TERM | {"namespaces": [1]}]}}},
            f"spec.affinity.podAffinity.{REQUIRED}[0].namespaces",
        ),
        ({"topologySpreadConstraints": [{"maxSkew": 1}]}, "spec.topologySpreadConstraints[0].topologyKey"),
        ({"topologySpreadConstraints": [TERM]}, "spec.topologySpreadConstraints[0].maxSkew"),
        ({"topologySpreadConstraints": [TERM | {"maxSkew": 0}]}, "spec.topologySpreadConstraints[0].maxSkew"),
        *(
            (
                {"topologySpreadConstraints": [TERM | {"maxSkew": 1, "minDomains": n}]},
                "spec.topologySpreadConstraints[0].minDomains",
            )
            for n in (0, -3)
        ),
        (
            {"topologySpreadConstraints": [TERM | {"maxSkew": 1, "whenUnsatisfiable": "Never"}]},
            "spec.topologySpreadConstraints[0].whenUnsatisfiable",
        ),
    ],
)
def test_a_bad_field_is_refused_with_its_path(spec: dict[str, object], where: str) -> None:
    with pytest.raises(InputError) as caught:
        read_pod_rules(spec, "spec")
    assert where in str(caught.value)

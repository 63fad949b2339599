"""A pod spec with every kind of rule, and the rules that it means."""

from __future__ import annotations

from workbench.model.labels import NODE_NAME_FIELD, Requirement
from workbench.model.pod_rules import NodePreference, PodAffinityTerm, PodRules, PodSelector, SpreadConstraint

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

EVERY_FIELD = {
    "affinity": {
        "nodeAffinity": {
            _PREFERRED: [
                {
                    "weight": 3,
                    "preference": {
                        "matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}],
                        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}],
                    },
                },
                {"weight": 1, "preference": {}},
            ]
        },
        "podAffinity": {
            _REQUIRED: [
                {
                    "topologyKey": "rack",
                    "labelSelector": {"matchLabels": {"app": "a"}},
                    "namespaces": ["y", "x"],
                    "matchLabelKeys": ["job"],
                    "mismatchLabelKeys": ["team"],
                }
            ],
            _PREFERRED: [
                {
                    "weight": 100,
                    "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": {}},
                }
            ],
        },
        "podAntiAffinity": {_REQUIRED: [{"topologyKey": "host"}]},
    },
    "topologySpreadConstraints": [
        {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", "matchLabelKeys": ["job"]},
        {
            "topologyKey": "rack",
            "maxSkew": 2,
            "minDomains": 3,
            "whenUnsatisfiable": "DoNotSchedule",
            "nodeTaintsPolicy": "Honor",
            "nodeAffinityPolicy": "Ignore",
            "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
        },
    ],
}

EVERY_RULE = PodRules(
    preferred_nodes=(
        NodePreference(3, (Requirement("disk", "In", ("ssd",)), Requirement(NODE_NAME_FIELD, "In", ("n1",)))),
        NodePreference(1, ()),
    ),
    affinity=(
        PodAffinityTerm(
            "rack",
            PodSelector((Requirement("app", "In", ("a",)),), ("x", "y")),
            match_keys=("job",),
            mismatch_keys=("team",),
        ),
    ),
    anti_affinity=(PodAffinityTerm("host", PodSelector()),),
    preferred_affinity=(PodAffinityTerm("zone", PodSelector((), (), ()), 100),),
    spread=(
        SpreadConstraint("zone", 1, hard=False, match_keys=("job",)),
        SpreadConstraint(
            "rack",
            2,
            labels=(Requirement("app", "Exists"),),
            min_domains=3,
            honor_affinity=False,
            honor_taints=True,
        ),
    ),
)

"""Rules of Volcano's kinds beyond names and types, in the words of JSON Schema, and one-line descriptions of fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.objects.lifecycle_policy import USER_ACTIONS, USER_EVENTS
from workbench.objects.names import LONGEST, SUBDOMAIN

__all__ = ["DESCRIPTIONS", "ONE_SELECTOR", "REQUIRED", "RULES"]

_COUNT = {"minimum": 0}

#: Keywords of JSON Schema by type and field; the keyword ``items`` applies to each entry of a list.
RULES: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("HyperJobSpec", "minAvailable"): _COUNT,
    ("HyperNodeSpec", "tier"): _COUNT,
    ("HyperNodeSpec", "tierName"): {"maxLength": LONGEST},
    ("HyperNodeSpec", "members"): {"minItems": 1},
    ("Member", "type"): {"enum": ["Node", "HyperNode"]},
    ("ExactMatch", "name"): {"minLength": 1, "maxLength": LONGEST, "pattern": SUBDOMAIN},
    ("RegexMatch", "pattern"): {"minLength": 1},
    ("JobSpec", "minAvailable"): _COUNT,
    ("JobSpec", "tasks"): {"minItems": 1},
    ("LifecyclePolicy", "action"): {"examples": list(USER_ACTIONS)},
    ("LifecyclePolicy", "event"): {"examples": list(USER_EVENTS)},
    ("LifecyclePolicy", "events"): {"items": {"examples": list(USER_EVENTS)}},
    ("NetworkTopology", "mode"): {"enum": ["hard", "soft"], "default": "hard"},
    ("NetworkTopology", "highestTierAllowed"): _COUNT,
    ("PartitionPolicy", "minPartitions"): _COUNT,
    ("QueueSpec", "weight"): _COUNT,
    ("ReplicatedJob", "name"): {"minLength": 1},
    ("ReplicatedJob", "replicas"): {**_COUNT, "default": 1},
    ("Task", "replicas"): _COUNT,
    ("Task", "minAvailable"): _COUNT,
}

#: Fields that an object of a type must have.
REQUIRED: Mapping[str, tuple[str, ...]] = {
    "ExactMatch": ("name",),
    "HyperNode": ("spec",),
    "HyperNodeSpec": ("tier", "members"),
    "Job": ("spec",),
    "JobSpec": ("tasks",),
    "Member": ("type", "selector"),
    "RegexMatch": ("pattern",),
    "ReplicatedJob": ("name",),
}

#: The type of which exactly one field is given.
ONE_SELECTOR = "MemberSelector"

#: What a field means, by type and field, for editors and ``kubectl explain``.
DESCRIPTIONS: Mapping[tuple[str, str], str] = {
    ("HyperJobSpec", "minAvailable"): "Number of Jobs that must run together; the sum of the replicas where absent.",
    (
        "HyperJobSpec",
        "networkTopology",
    ): "Topology constraint across the Jobs. Where absent the Jobs are placed as near to "
    "each other as they can be, which is the soft mode; nothing has to be written for it. Volcano itself does not have "
    "the field.",
    ("HyperJobSpec", "replicatedJobs"): "Groups of equal Jobs.",
    ("HyperNodeSpec", "members"): "Nodes or HyperNodes that belong to this HyperNode.",
    ("HyperNodeSpec", "tier"): "Level of this HyperNode; nodes of a smaller tier are closer to each other.",
    ("HyperNodeSpec", "tierName"): "Name of the tier, which highestTierName of a job may give.",
    ("JobSpec", "minAvailable"): "Pods that must run together; the sum of the tasks' minimums where absent.",
    ("JobSpec", "networkTopology"): "Topology constraint across all pods of the Job.",
    ("JobSpec", "plugins"): "Job plugins by name, each with its arguments.",
    ("JobSpec", "queue"): "Queue of the Job; default where absent.",
    ("JobSpec", "tasks"): "Groups of equal pods.",
    ("Member", "selector"): "Selects the members by exactly one of exactMatch, regexMatch and labelMatch.",
    ("NetworkTopology", "highestTierAllowed"): "Highest tier of a HyperNode that may hold all pods.",
    ("NetworkTopology", "highestTierName"): "The same as highestTierAllowed, by the name of the tier.",
    ("NetworkTopology", "mode"): "hard: the pods wait until the constraint can be kept; soft: it is a preference.",
    ("PodGroupSpec", "minMember"): "Pods that must run together.",
    ("QueueSpec", "capability"): "Most resources that the queue may use.",
    ("QueueSpec", "deserved"): "Resources that the queue may use even when others want them.",
    ("QueueSpec", "weight"): "Share of the queue among its siblings.",
    ("ReplicatedJob", "templateSpec"): "The spec of each Job of the group.",
    ("Task", "partitionPolicy"): "Divides the pods of the task into partitions of equal size.",
    ("Task", "replicas"): "Number of pods; 1 where absent.",
}

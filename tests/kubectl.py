"""A `kubectl` for the commands of the pages: ``kubectl get RESOURCE,… -A -o json`` lists the objects of datasets/demo.

It fails as the real one does on a resource that no API server of such a cluster knows.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import yaml

__all__ = ["listed", "main"]

DEMO = Path(__file__).parents[1] / "datasets" / "demo"

#: Kinds by the resource as a user names it; those of Volcano in full, because other groups have resources of that name.
KINDS = {
    "nodes": "Node",
    "pods": "Pod",
    "priorityclasses": "PriorityClass",
    "hypernodes.topology.volcano.sh": "HyperNode",
    "jobs.batch.volcano.sh": "Job",
    "podgroups.scheduling.volcano.sh": "PodGroup",
    "queues.scheduling.volcano.sh": "Queue",
    "devices.scheduling.koordinator.sh": "Device",
}


def listed(resources: list[str]) -> dict[str, object]:
    """The List that the API server would answer with; KeyError for a resource that it does not know."""
    objects = [item for path in sorted(DEMO.glob("*.yaml")) for item in yaml.safe_load_all(path.read_text("utf-8"))]
    wanted = [KINDS[resource] for resource in resources]
    items = [item for kind in wanted for item in objects if item and item["kind"] == kind]
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items}


def main(arguments: list[str]) -> int:
    """Answer the one form of `kubectl get` that the pages use."""
    verb, resources, *rest = arguments
    if verb != "get" or rest != ["-A", "-o", "json"]:
        print(f"error: this kubectl knows 'get RESOURCE,… -A -o json', not {arguments}", file=sys.stderr)
        return 1
    try:
        print(json.dumps(listed(resources.split(",")), indent=4))
    except KeyError as unknown:
        print(f"error: the server doesn't have a resource type {unknown}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

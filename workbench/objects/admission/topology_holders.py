"""The fields of each kind that can hold a networkTopology, and the schema violations in each networkTopology."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from workbench.model.notice import Notice
from workbench.model.release import Release
from workbench.objects.admission.topology_spec import constraint_errors
from workbench.objects.fields import child, get_map, get_maps
from workbench.objects.hyper_job import read_members, released_form

__all__ = ["topology_errors", "topology_holders", "unknown_tier_names"]


def topology_holders(data: Mapping[str, Any], release: Release) -> list[tuple[Mapping[str, Any], str]]:
    """Mappings of an object that may contain a networkTopology in this release, with their paths."""
    if data.get("kind") == "HyperJob":
        return _of_hyper_job(data, release)
    spec = get_map(data, "spec", "")
    found: list[tuple[Mapping[str, Any], str]] = [(spec, "spec")]
    if release is Release.V1_13:
        return found
    if data.get("kind") == "PodGroup":
        found += [(item, path) for path, item in get_maps(spec, "subGroupPolicy", "spec")]
    else:
        for path, item in get_maps(spec, "tasks", "spec"):
            found.append((get_map(item, "partitionPolicy", path), child(path, "partitionPolicy")))
    return found


def _of_hyper_job(data: Mapping[str, Any], release: Release) -> list[tuple[Mapping[str, Any], str]]:
    """The spec of a HyperJob, and the holders of each template."""
    found: list[tuple[Mapping[str, Any], str]] = [(get_map(released_form(data), "spec", ""), "spec")]
    for member in read_members(data):
        inside = topology_holders({"kind": "Job", "spec": dict(member.template)}, release)
        found += [(holder, f"{member.path}{path.removeprefix('spec')}") for holder, path in inside]
    return found


def topology_errors(data: Mapping[str, Any], release: Release) -> list[str]:
    """Texts of the API server's schema for violations in every networkTopology of a manifest, each with its
    field path.
    """
    return [
        error for holder, path in topology_holders(data, release) for error in constraint_errors(holder, path, release)
    ]


def unknown_tier_names(data: Mapping[str, Any], release: Release, tier_names: Collection[str] | None) -> list[Notice]:
    """Notices about topology constraints in a manifest that name a tier which no HyperNode has.

    `tier_names`: tier names of all HyperNodes; None if HyperNodes are unknown, and then there are no notices.
    """
    if tier_names is None or release is Release.V1_13 or data.get("kind") == "HyperNode":
        return []
    found = []
    for holder, path in topology_holders(data, release):
        topology = get_map(holder, "networkTopology", path)
        name = topology.get("highestTierName")
        if name and topology.get("highestTierAllowed") is None and name not in tier_names:
            text = f"{path}.networkTopology: no HyperNode has the tier name {name}: it restricts nothing"
            found.append(Notice("constraint-without-effect", text, path))
    return found

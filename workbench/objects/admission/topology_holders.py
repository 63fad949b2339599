"""The places where an object may have a networkTopology, and the errors in each networkTopology."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from workbench.model.notice import Notice
from workbench.model.release import Release
from workbench.objects.admission.topology_spec import constraint_errors
from workbench.objects.fields import child, get_map, get_maps

__all__ = ["topology_errors", "topology_holders", "unknown_tier_names"]


def topology_holders(data: Mapping[str, Any], release: Release) -> list[tuple[Mapping[str, Any], str]]:
    """Mappings of an object that may contain a networkTopology in this release, with their paths."""
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


def topology_errors(data: Mapping[str, Any], release: Release) -> list[str]:
    """Errors that the API server's schema finds in every networkTopology of an object, each text with its path."""
    return [
        error for holder, path in topology_holders(data, release) for error in constraint_errors(holder, path, release)
    ]


def unknown_tier_names(data: Mapping[str, Any], release: Release, tier_names: Collection[str] | None) -> list[Notice]:
    """Notices about topology constraints that name a tier which no HyperNode has.

    Parameters
    ----------
    data : mapping
    release : Release
    tier_names : collection of str, optional
        None: HyperNodes are unknown, and nothing is found.
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

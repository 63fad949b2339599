"""`load_with_job_text`: a scenario together with the manifests of its jobs, as one text that a person edits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.formats.load import load_and_keep
from workbench.formats.write_manifests import to_yaml
from workbench.model.scenario import Scenario
from workbench.objects.leader_worker_set import read_leader_worker_set
from workbench.objects.top_owner import TOP_OWNERS, top_owner_reader

__all__ = ["load_with_job_text"]

# Kinds of jobs that wait to be placed; running pods are in the snapshot.
_WANT_TO_RUN = frozenset({"Job", "HyperJob", "Deployment", "PodGroup", "PriorityClass"}) | {
    kind for _, kind in TOP_OWNERS
}


def load_with_job_text(path: str | Path, stdin: str | None = None) -> tuple[Scenario, str]:
    """Read a file or folder as `workbench.load` does, and return also the manifests of its jobs as one YAML text.

    A job that partly runs is written as the whole job; its running pods are in the snapshot and count towards its
    minimum. A job all of whose pods run is left out. The input is read once.

    `path`: a file or folder in any form that `workbench.load` reads; its errors are the same. `stdin`: content for the
    path ``-``.
    """
    scenario, jobs = load_and_keep(path, _wants_to_run, stdin)
    waiting = {gang.key for gang in scenario.gangs}
    running = {pod.gang for pod in scenario.snapshot.running} - waiting
    return scenario, to_yaml(one for one in jobs if running.isdisjoint(_gang_keys(one)) or _replicas(one) & waiting)


def _gang_keys(data: Mapping[str, Any]) -> list[str]:
    """Keys by which the snapshot may know the gang of a job or PodGroup: its own, and that of the job that owns it."""
    metadata = data.get("metadata")
    if (data.get("kind") not in ("Job", "PodGroup") and not top_owner_reader(data)) or not isinstance(
        metadata, Mapping
    ):
        return []
    if replicas := _replicas(data):
        return list(replicas)
    owners = [one.get("name") for one in metadata.get("ownerReferences") or () if isinstance(one, Mapping)]
    space = metadata.get("namespace") or "default"
    return [f"{space}/{name}" for name in (metadata.get("name"), *owners)]


def _replicas(data: Mapping[str, Any]) -> set[str]:
    """Keys of the gangs of a LeaderWorkerSet, one for each replica; empty for other kinds."""
    if data.get("kind") != "LeaderWorkerSet":
        return set()
    owner = read_leader_worker_set(data)
    return {f"{owner.metadata.key}-{i}" for i in range(owner.replicas)}


def _wants_to_run(data: Mapping[str, Any]) -> bool:
    if data.get("kind") == "Pod":
        status, spec = data.get("status"), data.get("spec")
        placed = isinstance(spec, Mapping) and spec.get("nodeName")
        return not placed and not (isinstance(status, Mapping) and status.get("phase") in ("Succeeded", "Failed"))
    return data.get("kind") in _WANT_TO_RUN

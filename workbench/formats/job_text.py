"""`load_with_job_text`: a scenario together with the manifests of its jobs, as one text that a person edits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.formats.load import load_and_keep
from workbench.formats.write_manifests import to_yaml
from workbench.model.snapshot import Scenario

__all__ = ["load_with_job_text"]

# Kinds of jobs that wait to be placed; running pods are in the snapshot.
_WANT_TO_RUN = frozenset({"Job", "HyperJob", "Deployment", "PodGroup", "PriorityClass"})


def load_with_job_text(path: str | Path, stdin: str | None = None) -> tuple[Scenario, str]:
    """Read a file or folder as `workbench.load` does, and return also the manifests of its jobs as one YAML text.

    A job that partly runs is written as the whole job; its running pods are in the snapshot and count towards its
    minimum. A job all of whose pods run is left out. The input is read once.

    Parameters
    ----------
    path : str or Path
        A file or folder in any form that `workbench.load` reads; its errors are the same.
    stdin : str, optional
        Content for the path ``-``.
    """
    scenario, jobs = load_and_keep(path, _wants_to_run, stdin)
    running = {pod.gang for pod in scenario.snapshot.running} - {gang.key for gang in scenario.gangs}
    return scenario, to_yaml(one for one in jobs if running.isdisjoint(_gang_keys(one)))


def _gang_keys(data: Mapping[str, Any]) -> list[str]:
    """Keys by which the snapshot may know the gang of a Job or PodGroup: its own, and that of the Job that owns it."""
    metadata = data.get("metadata")
    if data.get("kind") not in ("Job", "PodGroup") or not isinstance(metadata, Mapping):
        return []
    owners = [one.get("name") for one in metadata.get("ownerReferences") or () if isinstance(one, Mapping)]
    space = metadata.get("namespace") or "default"
    return [f"{space}/{name}" for name in (metadata.get("name"), *owners)]


def _wants_to_run(data: Mapping[str, Any]) -> bool:
    if data.get("kind") == "Pod":
        status, spec = data.get("status"), data.get("spec")
        placed = isinstance(spec, Mapping) and spec.get("nodeName")
        return not placed and not (isinstance(status, Mapping) and status.get("phase") in ("Succeeded", "Failed"))
    return data.get("kind") in _WANT_TO_RUN

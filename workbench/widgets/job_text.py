"""The jobs that users type in a widget: read from their text, joined with a file, or made from a form."""

from __future__ import annotations

from typing import Any

from workbench.errors import InputError
from workbench.formats.load import load
from workbench.formats.write_manifests import to_yaml
from workbench.model.gang import Gang
from workbench.model.notice import Notice, texts_of
from workbench.objects.fields import shown

__all__ = ["gangs_of", "job_yaml", "with_file"]


def gangs_of(text: str) -> tuple[tuple[Gang, ...], tuple[Notice, ...]]:
    """The jobs in a text of manifests, and notices on its other objects.

    Raises InputError: an object is refused, or the text has no job.
    """
    scenario = load("-", stdin=text)
    if scenario.refused:
        refused = scenario.refused[0]
        raise InputError(f"{refused.subject}: {refused}")
    if not scenario.gangs:
        expected = "a Job, PodGroup with pods, HyperJob or Deployment"
        raise InputError("no job in the text", got="; ".join(texts_of(scenario.notes)) or None, expected=expected)
    return scenario.gangs, scenario.notes


def with_file(text: str, file: str, name: str) -> str:
    """The text of the jobs with a file added.

    `text`, `file`: manifests of the jobs so far, and those to add. `name`: name of the file, for the error. Raises
    InputError: no jobs can be read of the file, alone or with the text.
    """
    joined = f"{text.rstrip()}\n---\n{file}" if text.strip() else file
    try:
        gangs_of(file)
    except InputError as error:
        # A PodGroup and its pods may come in two files.
        if not text.strip() or _keys_in(joined) <= _keys_in(text):
            raise error.of(name) from None
    return joined


def _keys_in(text: str) -> set[str]:
    """``namespace/name`` of each job in a text; empty if none can be read."""
    try:
        return {gang.key for gang in gangs_of(text)[0]}
    except InputError:
        return set()


def job_yaml(fields: dict[str, Any]) -> str:
    """The YAML manifest of one Volcano Job of equal pods.

    Raises InputError: a field that is missing or out of range.

    `fields`: ``name``; ``pods``, ``gpus``, ``cpu`` (whole numbers per job, per pod, per pod); ``mode`` (``none``,
    ``hard``, ``soft``) and ``tier`` (highest tier allowed, of a hard job).
    """
    name = fields.get("name")
    if not isinstance(name, str) or not name:
        raise InputError("a job needs a name", source="form", where="name", got=shown(name), expected="text")
    pods, gpus, cpu = (_count(fields, key, least) for key, least in (("pods", 1), ("gpus", 0), ("cpu", 0)))
    requests = {key: str(amount) for key, amount in (("cpu", cpu), ("nvidia.com/gpu", gpus)) if amount}
    spec: dict[str, Any] = {"schedulerName": "volcano", "minAvailable": pods}
    mode = fields.get("mode", "none")
    if mode not in ("none", "hard", "soft"):
        raise InputError("no such mode", source="form", where="mode", got=shown(mode), expected="none, hard or soft")
    if mode != "none":
        spec["networkTopology"] = {"mode": mode}
        if mode == "hard":
            spec["networkTopology"]["highestTierAllowed"] = _count(fields, "tier", 1)
    container = {"name": "main", "image": "training", "resources": {"requests": requests, "limits": requests}}
    spec["tasks"] = [{"name": "worker", "replicas": pods, "template": {"spec": {"containers": [container]}}}]
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
    return to_yaml([job])


def _count(fields: dict[str, Any], key: str, least: int) -> int:
    value = fields.get(key, least)
    if type(value) is not int or value < least:
        raise InputError("no number", source="form", where=key, got=shown(value), expected=f"a whole number >= {least}")
    return value

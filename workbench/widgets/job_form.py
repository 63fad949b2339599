"""`job_yaml`: the manifest of a Volcano Job from the few fields of a form."""

from __future__ import annotations

from typing import Any

from workbench.errors import InputError
from workbench.formats.write_manifests import to_yaml
from workbench.objects.fields import shown

__all__ = ["job_yaml"]


def job_yaml(fields: dict[str, Any]) -> str:
    """The YAML manifest of one Volcano Job of equal pods.

    Raises InputError: a field that is missing or out of range.

    Parameters
    ----------
    fields : dict
        ``name``; ``pods``, ``gpus``, ``cpu`` (whole numbers per job, per pod, per pod); ``mode`` (``none``, ``hard``,
        ``soft``) and ``tier`` (highest tier allowed, of a hard job).
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

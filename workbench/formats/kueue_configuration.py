"""Kueue's Configuration inside the ConfigMap of its controller manager."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.formats.config_maps import parse_text

__all__ = ["configuration_in"]

#: Key of the ConfigMap, which Kueue's manifests call kueue-manager-config.
_KEY = "controller_manager_config.yaml"


def configuration_in(data: Mapping[str, Any], source: str) -> dict[str, Any] | None:
    """The Configuration in a ConfigMap, under the name of the ConfigMap; None: the object has none.

    Raises InputError: a text under the key that is not YAML.

    Parameters
    ----------
    data : mapping
        A parsed manifest.
    source : str
        Its file, for errors.
    """
    if (data.get("apiVersion"), data.get("kind")) != ("v1", "ConfigMap"):
        return None
    held = data.get("data")
    text = held.get(_KEY) if isinstance(held, dict) else None
    if not isinstance(text, str):
        return None
    inner = parse_text(text, source, lambda found: found)
    if not isinstance(inner, dict) or not str(inner.get("apiVersion")).startswith("config.kueue.x-k8s.io/"):
        return None
    return {**inner, "metadata": data.get("metadata")}

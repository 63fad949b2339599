"""Reader of Volcano's ``volcano-controller.conf`` (or its ConfigMap) for the topology discovery section."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench.formats.config_maps import parse_conf, parse_text
from workbench.formats.file_bytes import MAX_SETTINGS, read_bytes
from workbench.objects.discovery import DiscoveryConfig, read_discovery_config
from workbench.objects.fields import wrong

__all__ = ["DISCOVERY_KEY", "discovery_config_of", "load_discovery_config", "parse_discovery_config"]

#: Key of the controller's ConfigMap; its name is `workbench.objects.discovery.config_map_name`.
DISCOVERY_KEY = "volcano-controller.conf"


def load_discovery_config(path: str | Path) -> DiscoveryConfig:
    """Read the topology discovery configuration of Volcano's controller from a file.

    Raises InputError: not YAML, or a field of the wrong type: with file, place, what was found and what was expected.

    `path`: the configuration in YAML, or a manifest of a ConfigMap that contains it under the key
    ``volcano-controller.conf``.
    """
    return parse_discovery_config(read_bytes(path, MAX_SETTINGS), str(path))


def parse_discovery_config(content: bytes, source: str) -> DiscoveryConfig:
    """Read a topology discovery configuration from the bytes of a file; `source` names the file in errors."""
    what, expected = "discovery configuration", "networkTopologyDiscovery"
    return parse_conf(content, source, DISCOVERY_KEY, what, expected, _read)


def _read(data: Any) -> DiscoveryConfig:
    """Read a parsed ``volcano-controller.conf``.

    A file of another kind raises InputError here, while Volcano would read it as a configuration without sources.
    """
    if type(data) is dict and "networkTopologyDiscovery" not in data:
        found = ", ".join(str(key) for key in sorted(data)[:5]) or "nothing"
        raise InputError(
            "no discovery configuration", where="the document", got=found, expected="networkTopologyDiscovery"
        )
    return read_discovery_config(data)


def discovery_config_of(data: Mapping[str, Any] | None, source: str = "ConfigMap") -> DiscoveryConfig:
    """Read the discovery configuration in the ``data`` of the controller's ConfigMap; errors are in Volcano's words.

    Raises InputError: no ConfigMap, no ``volcano-controller.conf`` in it, or a text that cannot be read.

    `data`: the ConfigMap's data; None if there is no such ConfigMap. `source`: name of the ConfigMap in errors.

    Notes
    -----
    Source: docs/reference/volcano-topology.md, section 9.
    """
    if data is None:
        raise InputError("ConfigMap not found", source=source)
    if DISCOVERY_KEY not in data:
        raise InputError(f"config key not found in ConfigMap: {DISCOVERY_KEY}", source=source)
    text = data[DISCOVERY_KEY]
    try:
        if type(text) is not str:
            raise wrong("", text, "text")
        return parse_text(text, source, read_discovery_config)
    except InputError as error:
        raise InputError(
            f"failed to parse config: {error.message}",
            source=source,
            where=error.where,
            got=error.got,
            expected=error.expected,
        ) from None

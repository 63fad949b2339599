"""A scenario in one file: a cluster, the text of its jobs, the policies to compare and their configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from workbench.errors import InputError
from workbench.formats.file_bytes import on_disk, read_bytes
from workbench.formats.scheduler_conf import parse_config
from workbench.formats.snapshot_file import parse_snapshot
from workbench.formats.snapshot_record import snapshot_text
from workbench.model.scheduler_config import SchedulerConfig
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.fields import get_map, get_maps, get_text, shown

__all__ = ["MARK", "ScenarioFile", "parse_scenario", "read_scenario", "scenario_text"]

#: The key that tells a scenario from other files; its value is the version of this layout.
MARK = "workbench_scenario"
VERSION = 1


@dataclass(frozen=True)
class ScenarioFile:
    """Contents of a scenario file.

    Attributes
    ----------
    snapshot : ClusterSnapshot, optional
        The cluster; None: the scenario has none yet.
    jobs : str
        Manifests of the jobs to place.
    policies : tuple of (str, mapping)
        Names and parameters of the policies to compare.
    config : SchedulerConfig, optional
        The configuration of every policy that reads one; None: each has its own default.
    """

    snapshot: ClusterSnapshot | None
    jobs: str = ""
    policies: tuple[tuple[str, Mapping[str, Any]], ...] = field(default=())
    config: SchedulerConfig | None = None


def scenario_text(scenario: ScenarioFile) -> str:
    """The text of a scenario file; the same scenario gives the same text.

    Raises InputError: the text of the jobs is not valid Unicode, or the configuration was made in Python and so has no
    text to save.
    """
    parts = [f'"{MARK}":{VERSION}']
    try:
        parts.append(f'"jobs":{_json(scenario.jobs)}')
    except TypeError:
        raise InputError("not text that a file can hold", source="scenario", where="jobs", expected="Unicode") from None
    named = [{"name": name, "parameters": dict(parameters)} for name, parameters in scenario.policies]
    parts.append(f'"policies":{_json(named)}')
    if scenario.config is not None:
        parts.append(f'"config":{_json(_config_parts(scenario.config))}')
    if scenario.snapshot is not None:
        parts.append(f'"snapshot":{snapshot_text(scenario.snapshot).strip()}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _config_parts(config: SchedulerConfig) -> dict[str, str]:
    if not config.text:
        expected = "one that was read from a file in UTF-8"
        raise InputError("a configuration without a text cannot be saved", source="scenario", expected=expected)
    return {"name": config.source, "text": config.text}


def read_scenario(path: str | Path) -> ScenarioFile | None:
    """Read a scenario file; None if the file is something else, such as manifests.

    Raises InputError: a scenario of another version, or with a field of the wrong type.
    """
    return None if on_disk(path).is_dir() else parse_scenario(read_bytes(path), str(path))


def parse_scenario(content: bytes, source: str) -> ScenarioFile | None:
    """Read a scenario from the bytes of a file named `source`, like `read_scenario`."""
    head = content[:200].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not head.startswith(b"{") or f'"{MARK}"'.encode() not in head:
        return None
    try:
        data = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"not JSON: {error.msg}", source=source, where=where, expected="a scenario") from None
    if not isinstance(data, dict) or data.get(MARK) != VERSION:
        got = shown(data.get(MARK) if isinstance(data, dict) else data)
        raise InputError("not a scenario", source=source, got=got, expected=f"{MARK}: {VERSION}")
    try:
        policies = tuple(
            (get_text(item, "name", where), get_map(item, "parameters", where))
            for where, item in get_maps(data, "policies", "")
        )
        snapshot = parse_snapshot(_json(get_map(data, "snapshot", "")), source) if "snapshot" in data else None
        return ScenarioFile(snapshot, get_text(data, "jobs", ""), policies, _config_in(data, source))
    except InputError as error:
        raise error.at(source=source) from None


def _config_in(data: Mapping[str, Any], source: str) -> SchedulerConfig | None:
    if "config" not in data:
        return None
    parts = get_map(data, "config", "")
    config = parse_config(get_text(parts, "text", "config").encode(), f"{source}, config")
    return replace(config, source=get_text(parts, "name", "config"))


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()

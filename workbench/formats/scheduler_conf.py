"""Reader of Volcano's ``volcano-scheduler.conf`` (or its ConfigMap) as a `SchedulerConfig`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.errors import InputError, named_arguments
from workbench.formats.config_maps import parse_conf
from workbench.formats.file_bytes import MAX_SETTINGS, read_bytes
from workbench.model.notice import Notice
from workbench.model.scheduler_config import SWITCHES, PluginOption, SchedulerConfig
from workbench.objects.fields import get_map, get_maps, get_text, wrong

__all__ = ["CONFIG_KEY", "load_config", "parse_config", "switch_of"]

#: Key of the ConfigMap volcano-scheduler-configmap.
CONFIG_KEY = "volcano-scheduler.conf"

_FIELDS = frozenset({"actions", "tiers", "configurations", "metrics"})
_SWITCH = re.compile("enabled?([A-Z][A-Za-z]*)")


def switch_of(key: str) -> str | None:
    """Name of the on/off option of a Volcano plugin that a key sets, such as ``JobOrder`` for ``enableJobOrder``.

    The key may also begin with ``enabled``. None if the key sets no option that `SWITCHES` lists.
    """
    match = _SWITCH.fullmatch(key)
    return match[1] if match and match[1] in SWITCHES else None


@named_arguments
def load_config(path: str | Path) -> SchedulerConfig:
    """Read the configuration of Volcano's scheduler from a file.

    `path`: the configuration in YAML, or a manifest of a ConfigMap that contains it under the key
    ``volcano-scheduler.conf``. Raises InputError: not YAML, or a field of the wrong type: with file, place, what was
    found and what was expected. What Volcano would ignore (unknown fields, unparsable arguments) is in its `notes`.

    Examples
    --------
    >>> import workbench as wb
    >>> from pathlib import Path
    >>> _ = Path("scheduler.conf").write_text("actions: enqueue, allocate\\ntiers: [{plugins: [{name: gang}]}]\\n")
    >>> wb.load_config("scheduler.conf").actions
    ('enqueue', 'allocate')
    """
    return parse_config(read_bytes(path, MAX_SETTINGS), str(path))


def parse_config(content: bytes, source: str) -> SchedulerConfig:
    """Read a scheduler configuration from the bytes of a file, like `load_config`.

    `source` names the file in errors.
    """
    what, expected = "scheduler configuration", "actions and tiers"
    config = parse_conf(content, source, CONFIG_KEY, what, expected, lambda data: _config(data, source))
    try:
        return replace(config, text=content.decode("utf-8"))
    except UnicodeDecodeError:
        return config


def _config(data: Any, source: str) -> SchedulerConfig:
    if type(data) is not dict:
        raise wrong("", data, "a mapping with actions and tiers")
    if not data.keys() & {"actions", "tiers"}:
        raise InputError(
            "no scheduler configuration",
            where="the document",
            got=", ".join(sorted(data)[:5]) or "nothing",
            expected="actions and tiers",
        )
    notes = [
        Notice("unknown-field", f"field {key} is not known to Volcano: ignored", f"field {key}")
        for key in data
        if key not in _FIELDS
    ]
    names = (name.strip() for name in get_text(data, "actions", "").split(","))
    tiers = tuple(
        tuple(_plugin(entry, place, notes) for place, entry in get_maps(tier, "plugins", where))
        for where, tier in get_maps(data, "tiers", "")
    )
    arguments = {
        get_text(entry, "name", where): _arguments(entry, where)
        for where, entry in get_maps(data, "configurations", "")
    }
    return SchedulerConfig(tuple(name for name in names if name), tiers, arguments, tuple(notes), source)


def _plugin(entry: Mapping[str, Any], where: str, notes: list[Notice]) -> PluginOption:
    name = get_text(entry, "name", where)
    if not name:
        raise wrong(f"{where}.name", entry.get("name"), "the name of a plugin")
    switches: dict[str, bool] = {}
    for key, value in entry.items():
        switch = switch_of(key)
        if switch is not None and key != SWITCHES[switch]:
            text = f"plugin {name}: {key} is ignored, because Volcano reads {SWITCHES[switch]}"
            notes.append(Notice("field-misspelled", text, f"plugin {name}"))
        elif switch is not None:
            if type(value) is not bool:
                raise wrong(f"{where}.{key}", value, "true or false")
            switches[switch] = value
        elif key not in ("name", "arguments"):
            text = f"plugin {name}: field {key} is not known to Volcano: ignored"
            notes.append(Notice("unknown-field", text, f"plugin {name}"))
    return PluginOption(name, switches, _arguments(entry, where))


def _arguments(entry: Mapping[str, Any], where: str) -> dict[str, Any]:
    return dict(get_map(entry, "arguments", where))

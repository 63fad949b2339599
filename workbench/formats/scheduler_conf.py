"""``volcano-scheduler.conf``: the text, or the ConfigMap that carries it, as a `SchedulerConfig`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench.formats.manifests import read_bytes
from workbench.formats.yaml_events import YamlDocument, read_yaml
from workbench.model.scheduler_config import SWITCHES, PluginOption, SchedulerConfig, switch_of
from workbench.objects.fields import get_map, get_maps, get_text, shown, wrong

__all__ = ["CONFIG_KEY", "load_config", "parse_config"]

#: Key of the ConfigMap volcano-scheduler-configmap.
CONFIG_KEY = "volcano-scheduler.conf"

_FIELDS = frozenset({"actions", "tiers", "configurations", "metrics"})


def load_config(path: str | Path) -> SchedulerConfig:
    """Read a scheduler configuration.

    Parameters
    ----------
    path : str or Path
        The configuration itself in YAML, or a manifest with a ConfigMap that has it under ``volcano-scheduler.conf``.

    Returns
    -------
    SchedulerConfig
        What Volcano would ignore (unknown fields, unparsable arguments) is in its `notes`.

    Raises
    ------
    InputError
        Not YAML, or a field of the wrong type: with file, place, what was found and what was expected.
    """
    return parse_config(read_bytes(path), str(path))


def parse_config(content: bytes, source: str) -> SchedulerConfig:
    """The same of a text; `source` names it in errors."""
    documents = list(read_yaml(content, source))
    inner = [text for document in documents if (text := _of_config_map(document, source)) is not None]
    if len(inner) > 1 or (not inner and len(documents) != 1):
        raise InputError(
            "not one scheduler configuration",
            source=source,
            got=f"{len(inner) or len(documents)} of them",
            expected=f"actions and tiers, or one ConfigMap with {CONFIG_KEY}",
        )
    try:
        if not inner:
            return _config(documents[0].data, source)
        parts = list(read_yaml(inner[0].encode(), source))
        if len(parts) != 1:
            raise wrong("", f"{len(parts)} documents", "one document")
        return _config(parts[0].data, source)
    except InputError as error:
        where = f"data[{CONFIG_KEY}], {error.where}" if inner and error.where else error.where
        raise InputError(error.message, source=source, where=where, got=error.got, expected=error.expected) from None


def _of_config_map(document: YamlDocument, source: str) -> str | None:
    """The text inside a ConfigMap; None for a document of another kind."""
    data = document.data
    if type(data) is not dict or data.get("kind") is None:
        return None
    place = f"line {document.line}"
    if data["kind"] == "List":
        found = [_of_config_map(YamlDocument(item, document.line), source) for item in data.get("items") or ()]
        return next((text for text in found if text is not None), None)
    if data["kind"] != "ConfigMap":
        return None
    text = get_map(data, "data", "").get(CONFIG_KEY)
    if type(text) is not str:
        raise InputError(
            "a ConfigMap without a scheduler configuration",
            source=source,
            where=place,
            got=shown(text),
            expected=f"text under data[{CONFIG_KEY}]",
        )
    return text


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
    notes = [f"field {key} is not known to Volcano: ignored" for key in data if key not in _FIELDS]
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


def _plugin(entry: Mapping[str, Any], where: str, notes: list[str]) -> PluginOption:
    name = get_text(entry, "name", where)
    if not name:
        raise wrong(f"{where}.name", entry.get("name"), "the name of a plugin")
    switches: dict[str, bool] = {}
    for key, value in entry.items():
        switch = switch_of(key)
        if switch is not None:
            if type(value) is not bool:
                raise wrong(f"{where}.{key}", value, "true or false")
            switches[switch] = value
            if key != SWITCHES[switch]:
                notes.append(f"plugin {name}: {key} is read as {SWITCHES[switch]}, the only spelling Volcano knows")
        elif key not in ("name", "arguments"):
            notes.append(f"plugin {name}: field {key} is not known to Volcano: ignored")
    return PluginOption(name, switches, _arguments(entry, where))


def _arguments(entry: Mapping[str, Any], where: str) -> dict[str, Any]:
    return dict(get_map(entry, "arguments", where))

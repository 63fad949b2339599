"""Configuration of topology discovery in Volcano's controller, and what the controller does when it changes.

Covers the section ``networkTopologyDiscovery`` of ``volcano-controller.conf``. The file is parsed in
`workbench.formats.discovery_conf`; HyperNodes are made from discovered links in `workbench.topology.discovery`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import InputError
from workbench.model.notice import Notice
from workbench.objects.fields import child, get_bool, get_map, get_maps, get_text, wrong
from workbench.objects.quantity import read_duration

__all__ = [
    "DEFAULT_INTERVAL_S",
    "VOLCANO_SOURCES",
    "DiscoveryConfig",
    "DiscoverySource",
    "Reload",
    "SecretRef",
    "config_map_name",
    "read_discovery_config",
    "read_topology_types",
    "reload",
]

#: Seconds between two rounds of a source without an interval above zero.
DEFAULT_INTERVAL_S = 3600.0

#: Sources that a Volcano controller has; `roce` stands in its examples only.
VOLCANO_SOURCES = frozenset({"label", "ufm"})

_FIELDS = frozenset({"source", "enabled", "interval", "credentials", "config"})


@dataclass(frozen=True)
class SecretRef:
    """Name and namespace of the Secret that holds the user name and password of a discovery source."""

    name: str
    namespace: str


@dataclass(frozen=True)
class DiscoverySource:
    """One entry of networkTopologyDiscovery in ``volcano-controller.conf``: a source of HyperNodes.

    `source`: ``ufm``, ``label``, ``roce`` or an unknown name. `enabled`: whether the source is enabled; False by
    default. `interval_s`: seconds from one round to the next; an hour if the entry gives none, or one of zero or less.
    `config`: settings of the source, as written.
    """

    source: str
    enabled: bool = False
    interval_s: float = DEFAULT_INTERVAL_S
    secret: SecretRef | None = None
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DiscoveryConfig:
    """The discovery sources in file order, and notices about parts of the configuration that Volcano ignores."""

    sources: tuple[DiscoverySource, ...] = ()
    notes: tuple[Notice, ...] = ()

    @property
    def enabled(self) -> dict[str, DiscoverySource]:
        """Enabled sources by name, in file order; of several with one name the first counts, as in Volcano."""
        found: dict[str, DiscoverySource] = {}
        for source in self.sources:
            if source.enabled:
                found.setdefault(source.source, source)
        return found


@dataclass(frozen=True)
class Reload:
    """What Volcano's controller does with each discovery source when it reads a changed configuration.

    Attributes
    ----------
    stopped : tuple of str
        Sources enabled before, not now. Their HyperNodes stay.
    restarted, started : tuple of str
        Restarted: sources enabled before and now, even if their settings are equal. Started: sources enabled only now.
    changed : tuple of str
        Sources of `restarted` whose settings differ.
    failing : str
        The first enabled source that cannot be run, which the controller retries without end; empty: none.
    waiting : tuple of str
        Enabled sources behind `failing`, which wait until it can be run. A source that ran before continues with its
        old settings.
    """

    stopped: tuple[str, ...]
    restarted: tuple[str, ...]
    started: tuple[str, ...]
    changed: tuple[str, ...]
    failing: str = ""
    waiting: tuple[str, ...] = ()


def reload(old: DiscoveryConfig, new: DiscoveryConfig | None, known: Collection[str] = VOLCANO_SOURCES) -> Reload:
    """Determine what Volcano's controller does when it reads a changed discovery configuration.

    Source: docs/reference/volcano-topology.md, section 9. `stopped` by name, the rest in the order of the new file.

    `old`: configuration that is in force. A text that cannot be read raises InputError before this function is called:
    upstream then continues with the old sources. `new`: None means the ConfigMap is gone, which is an empty
    configuration. `known`: sources that can be run.
    """
    before, now = old.enabled, (new or DiscoveryConfig()).enabled
    names = list(now)
    bad = next((i for i, name in enumerate(names) if name not in known), len(names))
    restarted = tuple(name for name in names[:bad] if name in before)
    return Reload(
        stopped=tuple(sorted(before.keys() - now.keys())),
        restarted=restarted,
        started=tuple(name for name in names[:bad] if name not in before),
        changed=tuple(name for name in restarted if before[name] != now[name]),
        failing=names[bad] if bad < len(names) else "",
        waiting=tuple(names[bad + 1 :]),
    )


def config_map_name(environment: Mapping[str, str]) -> tuple[str, str]:
    """Namespace and name of the Volcano controller's ConfigMap, derived from its pod's environment variables.

    ``KUBE_POD_NAMESPACE`` (default ``volcano-system``) gives the namespace; ``HELM_RELEASE_NAME`` (default ``volcano``)
    is part of the name.
    """
    namespace = environment.get("KUBE_POD_NAMESPACE") or "volcano-system"
    release = environment.get("HELM_RELEASE_NAME") or "volcano"
    return namespace, f"{release}-controller-configmap"


def read_discovery_config(data: Any) -> DiscoveryConfig:
    """Read the discovery configuration from parsed YAML; None is an empty configuration.

    Raises InputError: a field of the wrong type, a source without a name, an interval that is no duration.
    """
    if data is None:
        return DiscoveryConfig()
    if type(data) is not dict:
        raise wrong("", data, "a mapping with networkTopologyDiscovery")
    notes: list[Notice] = []
    sources = tuple(_source(item, path, notes) for path, item in get_maps(data, "networkTopologyDiscovery", ""))
    names = [source.source for source in sources if source.enabled]
    notes += [
        Notice("source-twice", f"source {name} is enabled twice: the first counts", f"source {name}")
        for name in sorted({n for n in names if names.count(n) > 1})
    ]
    return DiscoveryConfig(sources, tuple(notes))


def _source(item: Mapping[str, Any], path: str, notes: list[Notice]) -> DiscoverySource:
    name = get_text(item, "source", path)
    if not name:
        raise wrong(child(path, "source"), item.get("source"), "the name of a source: label, ufm or roce")
    notes += [
        Notice("unknown-field", f"source {name}: field {key} is not known to Volcano: ignored", f"source {name}")
        for key in item
        if key not in _FIELDS
    ]
    credentials = get_map(item, "credentials", path)
    where = child(path, "credentials")
    secret = get_map(credentials, "secretRef", where)
    place = child(where, "secretRef")
    reference = SecretRef(get_text(secret, "name", place), get_text(secret, "namespace", place)) if secret else None
    return DiscoverySource(
        source=name,
        enabled=get_bool(item, "enabled", path),
        interval_s=_interval(item.get("interval"), child(path, "interval")),
        secret=reference,
        config=get_map(item, "config", path),
    )


def _interval(value: Any, where: str) -> float:
    if value is None:
        return DEFAULT_INTERVAL_S
    if type(value) is int:
        seconds = value / 1e9  # Go reads a bare number as nanoseconds
    elif type(value) is str:
        try:
            seconds = read_duration(value)
        except InputError as error:
            raise error.at(where=where) from None
    else:
        raise wrong(where, value, "a duration such as 10m")
    return seconds if seconds > 0 else DEFAULT_INTERVAL_S


def read_topology_types(config: Mapping[str, Any], where: str = "config") -> dict[str, tuple[str, ...]]:
    """Read ``networkTopologyTypes`` of the label source: for each network type its node label keys, widest first.

    Raises InputError: not a mapping of lists of ``{nodeLabel: key}``.
    """
    place = child(where, "networkTopologyTypes")
    types = get_map(config, "networkTopologyTypes", where)
    return {name: tuple(_label(item, path) for path, item in get_maps(types, name, place)) for name in types}


def _label(item: Mapping[str, Any], path: str) -> str:
    key = get_text(item, "nodeLabel", path)
    if not key:
        raise wrong(child(path, "nodeLabel"), item.get("nodeLabel"), "the key of a node label")
    return key

"""`read_study_file`: the text of a study (STUDY.yaml) as plain values, every key and type checked.

The files that a study names are not read here; `workbench.study.read` does that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from workbench.errors import InputError, close_names
from workbench.formats.file_bytes import MAX_SETTINGS, read_bytes
from workbench.formats.manifests import read_text
from workbench.model.number_text import number_range, whole_number
from workbench.objects.fields import child, get_list, get_map, get_text, shown, wrong

__all__ = ["NetworkEntry", "PolicyEntry", "StudyFile", "TopologyEntry", "WorkloadEntry", "read_study_file"]

_MOST_SEEDS = 10_000
_MOST_PERCENT = 1000
_MOST_GPUS = 1024
_MOST_CABLES = 1024
_MOST_RAILS = 64

_KEYS = (
    "name",
    "topologies",
    "workloads",
    "policies",
    "disciplines",
    "seeds",
    "faults",
    "restart_s",
    "restarts",
    "retry",
    "until_s",
    "baseline",
)
_RATES = ("node_per_1000_days", "gpu_per_1000_days", "switch_per_1000_days", "cable_per_1000_days", "repair_s")


@dataclass(frozen=True)
class NetworkEntry:
    """Links that the jobs on a topology share.

    `where`: place in the file. `tiers`: GB/s per GPU and cables of the links above the HyperNodes of each tier.
    `routes`, `phases`: empty: none was named.
    """

    where: str
    card_gb_s: float
    tiers: Mapping[int, tuple[float, int]]
    rails: int
    routes: str
    phases: str


@dataclass(frozen=True)
class TopologyEntry:
    """A cluster of a study.

    `where`: place in the file. `paths` (tuple of Path): files and folders as `workbench.load` reads them.
    `gpus_per_node`: as of `workbench.load`. `network`: None: a job works as fast anywhere.
    """

    where: str
    name: str
    paths: tuple[Path, ...]
    gpus_per_node: int | None
    network: NetworkEntry | None


@dataclass(frozen=True)
class WorkloadEntry:
    """Jobs of a study.

    `trace`: a log of jobs. `load_percent`: None: arrivals as the log has them. `arrivals`: how arrivals are drawn at a
    load. `step`: seconds of compute and GB that a rank sends in a training step, for jobs without one in the log.
    """

    where: str
    name: str
    trace: Path
    load_percent: int | None
    arrivals: str
    step: tuple[float, float] | None


@dataclass(frozen=True)
class PolicyEntry:
    """A policy of a study, or several that differ in parameters.

    `name`: empty: none was given. `policy`: ``NODE[+GPU]``. `set`: parameters; a list stands for one policy per item.
    """

    where: str
    name: str
    policy: str
    set: Mapping[str, Any]


@dataclass(frozen=True)
class StudyFile:
    """What a study's file says.

    `disciplines` (tuple of str): empty: none was named. `faults`: rates that differ from the usual ones; None: no
    faults. `restarts`, `retry`: empty: none was named. `baseline`: empty: none was named.
    """

    name: str
    topologies: tuple[TopologyEntry, ...]
    workloads: tuple[WorkloadEntry, ...]
    policies: tuple[PolicyEntry, ...]
    disciplines: tuple[str, ...]
    seeds: tuple[int, ...]
    faults: Mapping[str, float] | None
    restart_s: float | None
    until_s: float | None
    restarts: str
    retry: str
    baseline: str


def read_study_file(path: str | Path) -> StudyFile:
    """Read a study's file.

    Raises InputError: not one document, a key that is not known or missing, a value of a wrong type or out of range;
    file, place, what was found and what was expected are named.

    `path`: YAML or JSON. Paths in it are relative to its folder.
    """
    path, source = Path(path), str(path)
    documents = read_text(read_bytes(path, MAX_SETTINGS), source)
    if len(documents) != 1 or type(documents[0][0]) is not dict:
        got = f"{len(documents)} documents" if len(documents) != 1 else shown(documents[0][0])
        raise InputError("not a study", source=source, got=got, expected=f"a mapping with {', '.join(_KEYS[:4])}")
    try:
        return _study(documents[0][0], path)
    except InputError as error:
        raise error.at(source=source) from None


def _study(data: Mapping[str, Any], path: Path) -> StudyFile:
    _check_keys(data, _KEYS, "")
    folder = path.parent
    return StudyFile(
        name=get_text(data, "name", "", path.stem),
        topologies=tuple(_topology(entry, where, folder) for where, entry in _entries(data, "topologies", "path")),
        workloads=tuple(_workload(entry, where, folder) for where, entry in _entries(data, "workloads", "trace")),
        policies=tuple(_policy(entry, where) for where, entry in _entries(data, "policies", "policy")),
        disciplines=tuple(_texts(data, "disciplines")),
        seeds=_seeds(data.get("seeds")),
        faults=_faults(data),
        restart_s=_number(data, "restart_s", ""),
        restarts=get_text(data, "restarts", ""),
        retry=get_text(data, "retry", ""),
        until_s=_number(data, "until_s", ""),
        baseline=get_text(data, "baseline", ""),
    )


def _topology(entry: Mapping[str, Any], where: str, folder: Path) -> TopologyEntry:
    _check_keys(entry, ("name", "path", "gpus_per_node", "network"), where)
    given = entry.get("path")
    texts: list[Any] = given if type(given) is list and given else [given]
    for text in texts:
        if type(text) is not str or not text:
            raise wrong(child(where, "path"), text, "a path, or a list of them")
    name = get_text(entry, "name", where) or Path(texts[0]).stem
    gpus = _whole(entry, "gpus_per_node", where, _MOST_GPUS)
    network = _network(get_map(entry, "network", where), child(where, "network")) if "network" in entry else None
    return TopologyEntry(where, name, tuple(folder / text for text in texts), gpus, network)


def _network(entry: Mapping[str, Any], where: str) -> NetworkEntry:
    _check_keys(entry, ("card_gb_s", "tiers", "rails", "routes", "phases"), where)
    given = get_map(entry, "tiers", where)
    tiers: dict[int, tuple[float, int]] = {}
    for key, value in given.items():
        place = child(child(where, "tiers"), key)
        tier = whole_number(str(key))
        if tier is None:
            raise wrong(place, key, "the number of a tier")
        links = value if type(value) is dict else {"gb_s": value}
        _check_keys(links, ("gb_s", "cables"), place)
        tiers[tier] = _above_zero(links, "gb_s", place), _whole(links, "cables", place, _MOST_CABLES) or 1
    rails = _whole(entry, "rails", where, _MOST_RAILS) or 1
    texts = (get_text(entry, key, where) for key in ("routes", "phases"))
    return NetworkEntry(where, _above_zero(entry, "card_gb_s", where), tiers, rails, *texts)


def _above_zero(data: Mapping[str, Any], key: str, where: str) -> float:
    value = _number(data, key, where)
    if not value:
        raise wrong(child(where, key), data.get(key), "a number above 0")
    return value


def _workload(entry: Mapping[str, Any], where: str, folder: Path) -> WorkloadEntry:
    _check_keys(entry, ("name", "trace", "load", "arrivals", "step"), where)
    trace, load = _needed(entry, "trace", where), _whole(entry, "load", where, _MOST_PERCENT)
    arrivals = get_text(entry, "arrivals", where)
    if arrivals and load is None:
        raise InputError(
            "arrivals are drawn for a load", where=where, got="no load", expected="load: PERCENT beside it"
        )
    usual = Path(trace).name.partition(".")[0] + ("" if load is None else f" {load} %")
    name = get_text(entry, "name", where) or (f"{usual} {arrivals}" if arrivals else usual)
    step = None
    if "step" in entry:
        told, place = get_map(entry, "step", where), child(where, "step")
        _check_keys(told, ("compute_s", "data_gb"), place)
        step = _number(told, "compute_s", place) or 0.0, _above_zero(told, "data_gb", place)
    return WorkloadEntry(where, name, folder / trace, load, arrivals or "poisson", step)


def _policy(entry: Mapping[str, Any], where: str) -> PolicyEntry:
    _check_keys(entry, ("name", "policy", "set"), where)
    given = get_map(entry, "set", where)
    for key, value in given.items():
        for each in value if type(value) is list and value else [value]:
            if type(each) not in (str, int, float, bool, dict):
                raise wrong(child(child(where, "set"), key), value, "a value, or a list of values")
    return PolicyEntry(where, get_text(entry, "name", where), _needed(entry, "policy", where), given)


def _entries(data: Mapping[str, Any], key: str, alone: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Items of a list that must have some, with their places; a text stands for a mapping with the one key `alone`."""
    items = get_list(data, key, "")
    if not items:
        raise wrong(key, data.get(key), f"a list of texts or of mappings with {alone}")
    for i, item in enumerate(items):
        if type(item) not in (str, dict):
            raise wrong(f"{key}[{i}]", item, f"text, or a mapping with {alone}")
        yield f"{key}[{i}]", {alone: item} if type(item) is str else item


def _check_keys(data: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in data:
        if key not in known:
            raise InputError("a key that is not known", where=child(where, key), expected=close_names(key, known))


def _needed(data: Mapping[str, Any], key: str, where: str) -> str:
    text = get_text(data, key, where)
    if not text:
        raise wrong(child(where, key), None if key not in data else text, "text")
    return text


def _texts(data: Mapping[str, Any], key: str) -> list[str]:
    for i, item in enumerate(found := get_list(data, key, "")):
        if type(item) is not str:
            raise wrong(f"{key}[{i}]", item, "text")
    return found


def _whole(data: Mapping[str, Any], key: str, where: str, most: int) -> int | None:
    value = data.get(key)
    if value is not None and (type(value) is not int or not 1 <= value <= most):
        raise wrong(child(where, key), value, f"a whole number from 1 to {most:,}")
    return value


def _number(data: Mapping[str, Any], key: str, where: str) -> float | None:
    value = data.get(key)
    if value is None:
        return None
    if type(value) not in (int, float) or not isfinite(value) or value < 0:
        raise wrong(child(where, key), value, "a number from 0 on")
    return float(value)


def _seeds(value: Any) -> tuple[int, ...]:
    """Seeds of a list of whole numbers, of one, or of a text such as ``0-9``; one seed 0 if there is nothing."""
    if value is None:
        return (0,)
    found: Any = number_range(str(value), _MOST_SEEDS) if type(value) in (int, str) else value
    ok = type(found) in (list, range) and 0 < len(found) <= _MOST_SEEDS
    if not ok or any(type(seed) is not int or not 0 <= seed < 2**63 for seed in found):
        raise wrong("seeds", value, f"a list of whole numbers, or A-B such as 0-9; at most {_MOST_SEEDS:,}")
    return tuple(found)


def _faults(data: Mapping[str, Any]) -> Mapping[str, float] | None:
    """Rates of faults: none for ``true``, which means the usual ones; None for ``false`` or nothing."""
    value = data.get("faults")
    if value is None or type(value) is bool:
        return {} if value else None
    if type(value) is not dict:
        raise wrong("faults", value, "true, false or a mapping of rates")
    rates = get_map(data, "faults", "")
    _check_keys(rates, _RATES, "faults")
    found = {key: _number(rates, key, "faults") for key in rates}
    return {key: rate for key, rate in found.items() if rate is not None}

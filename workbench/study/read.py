"""`read_study`: a study from its file, with the clusters, logs and policies that the file names."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any, TypeVar, cast

from workbench.errors import InputError, UnknownNameError, WorkbenchError
from workbench.evaluate.contention import Network, Phases, RoutedFabric, Routes, TierLinks, TrainingStep
from workbench.formats.file_bytes import read_bytes
from workbench.formats.job_logs import load_jobs
from workbench.formats.load import load
from workbench.formats.openb import is_openb_nodes, is_openb_pods, read_openb_log, read_openb_nodes
from workbench.formats.scheduler_conf import load_config
from workbench.formats.study_file import (
    NetworkEntry,
    PolicyEntry,
    StudyFile,
    TopologyEntry,
    WorkloadEntry,
    read_study_file,
)
from workbench.model.job_log import JobLog
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.typical_shapes import TypicalShapes
from workbench.policies import get_policy
from workbench.policies.contract import Policy
from workbench.simulate import FaultRates
from workbench.simulate.arrivals import ARRIVALS
from workbench.simulate.job import Restarts
from workbench.study.plan import Retry, StudyPlan, StudyWorkload

__all__ = ["read_study"]

T = TypeVar("T")
S = TypeVar("S", bound=StudyPlan)


def read_study(path: str | Path, kind: type[S]) -> S:
    """Read a study and every file that it names.

    Raises InputError: in any of the files; a name twice; a policy's parameter that is none; a network without any
    training step, or a step without a network. The study's file and the place are named.

    `path`: the study's file (docs/studies.md). `kind`: `StudyPlan` or a class derived from it; one of its instances is
    returned.
    """
    file = read_study_file(path)
    source = str(path)
    inputs: dict[str, str] = {}
    topologies: dict[str, ClusterSnapshot] = {}
    networks: dict[str, Network] = {}
    workloads: dict[str, StudyWorkload] = {}
    policies: dict[str, Policy] = {}
    for topology in file.topologies:
        snapshot, files = _located(partial(_cluster, topology), source, topology.where)
        _add_named(topologies, topology.name, snapshot, source, topology.where)
        if topology.network is not None:
            made = partial(_network, topology.network, snapshot)
            networks[topology.name] = _located(made, source, topology.network.where)
        inputs |= {_relative(path, name): checksum for name, checksum in files.items()}
    for entry in file.workloads:
        arrivals = next((one for one in ARRIVALS if one == entry.arrivals), None)
        if arrivals is None:
            expected = " or ".join(ARRIVALS)
            raise InputError(
                "no kind of arrivals", source=source, where=entry.where, got=entry.arrivals, expected=expected
            )
        log, usual = _located(partial(_jobs, entry, file.topologies), source, entry.where)
        load_ = None if entry.load_percent is None else entry.load_percent / 100
        step = None if entry.step is None else TrainingStep(entry.step[0], {"data": entry.step[1]})
        _add_named(workloads, entry.name, StudyWorkload(log, load_, arrivals, step, usual), source, entry.where)
        inputs[_relative(path, entry.trace)] = log.inputs[entry.trace.name]
    _check_steps(file, workloads, source)
    for several in file.policies:
        for name, policy in _located(partial(_policies, several, Path(path).parent), source, several.where):
            _add_named(policies, name, policy, source, several.where)
    faults = None if file.faults is None else _located(partial(FaultRates, **file.faults), source, "faults")
    found = partial(_study, kind, file, topologies, networks, workloads, policies, faults, inputs)
    return _located(found, source, "the study")


def _check_steps(file: StudyFile, workloads: Mapping[str, StudyWorkload], source: str) -> None:
    """Refuse a network on which no job sends anything, and a training step without a network."""
    network = next((one.network for one in file.topologies if one.network is not None), None)
    steps = any(one.step is not None or any(job.step for job in one.log.jobs) for one in workloads.values())
    if network is not None and not steps:
        expected = "step: {compute_s: …, data_gb: …} in a workload, or columns compute_s and data_gb in its trace"
        raise InputError("no job has a training step", source=source, where=network.where, expected=expected)
    alone = next((one for one in file.workloads if one.step is not None), None)
    if network is None and alone is not None:
        expected = "network: {card_gb_s: …} in a topology"
        raise InputError("a step without a network", source=source, where=f"{alone.where}.step", expected=expected)


def _cluster(entry: TopologyEntry) -> tuple[ClusterSnapshot, Mapping[str, str]]:
    """Read a cluster; also return the SHA-256 of each of its files, by path."""
    first = entry.paths[0]
    if len(entry.paths) == 1 and is_openb_nodes(first):
        return read_openb_nodes(first), {str(first): sha256(read_bytes(first)).hexdigest()}
    read = load(*entry.paths, gpus_per_node=entry.gpus_per_node)
    return read.snapshot, read.inputs


def _jobs(entry: WorkloadEntry, topologies: Sequence[TopologyEntry]) -> tuple[JobLog, TypicalShapes | None]:
    """Read a job log; for the trace openb, also return the typical requests of its pods."""
    content = read_bytes(entry.trace)
    if not is_openb_pods(content):
        return load_jobs(entry.trace, content), None
    nodes = next((one.paths[0] for one in topologies if is_openb_nodes(one.paths[0])), None)
    if nodes is None:
        expected = "a table of nodes (sn, cpu_milli, memory_mib, gpu, model) among the topologies"
        raise InputError("pods of openb need its nodes", where=entry.where, expected=expected)
    read = read_openb_log(nodes, entry.trace, content)
    return read.log, read.usual


def _study(
    kind: type[S],
    file: StudyFile,
    topologies: Mapping[str, ClusterSnapshot],
    networks: Mapping[str, Network],
    workloads: Mapping[str, StudyWorkload],
    policies: Mapping[str, Policy],
    faults: FaultRates | None,
    inputs: Mapping[str, str],
) -> S:
    return kind(
        name=file.name,
        topologies=topologies,
        workloads=workloads,
        policies=policies,
        disciplines=file.disciplines or StudyPlan.disciplines,
        seeds=file.seeds,
        faults=faults,
        restart_s=StudyPlan.restart_s if file.restart_s is None else file.restart_s,
        until_s=file.until_s,
        restarts=cast(Restarts, file.restarts or StudyPlan.restarts),
        retry=cast(Retry, file.retry or StudyPlan.retry),
        baseline=file.baseline,
        inputs=inputs,
        networks=networks,
    )


def _network(entry: NetworkEntry, snapshot: ClusterSnapshot) -> Network:
    tiers = {tier: TierLinks(gb_s, cables) for tier, (gb_s, cables) in entry.tiers.items()}
    routes = cast(Routes, entry.routes or "hashed")
    fabric = RoutedFabric.of(snapshot, entry.card_gb_s, tiers, rails=entry.rails, routes=routes)
    return Network(fabric, cast(Phases, entry.phases or "together"))


def _policies(entry: PolicyEntry, folder: Path) -> list[tuple[str, Policy]]:
    """Make the policies of an entry by name: one, or one per combination if parameters have lists of values."""
    known = get_policy(entry.policy).parameters
    choices = []
    for key, value in entry.set.items():
        if key not in known:
            raise UnknownNameError(f"parameter of {entry.policy}", key, known)
        values = value if isinstance(value, list) else [value]
        # Only a configuration has None for its default; its value is a file.
        choices.append([(key, folder / str(one) if known[key] is None else one) for one in values])
    found = []
    for chosen in product(*choices):
        given: dict[str, Any] = {key: load_config(value) if isinstance(value, Path) else value for key, value in chosen}
        policy = get_policy(entry.policy, **given)
        swept = [(key, value) for key, value in chosen if not entry.name or isinstance(entry.set[key], list)]
        parts = [f"{key}={value.name if isinstance(value, Path) else value}" for key, value in swept]
        found.append((" ".join([entry.name or policy.name, *parts]), policy))
    return found


def _relative(study: str | Path, file: str | Path) -> str:
    """Path of an input file relative to the study's folder, so that results do not depend on where the study lies."""
    return Path(os.path.relpath(file, Path(study).parent)).as_posix()


def _add_named(table: dict[str, T], name: str, value: T, source: str, where: str) -> None:
    if name in table:
        raise InputError("the same name twice", source=source, where=where, got=name, expected="a name of its own each")
    table[name] = value


def _located(read: Callable[[], T], source: str, where: str) -> T:
    """Call `read`, adding the position in the study file to its errors."""
    try:
        return read()
    except InputError as error:
        if error.source in (None, source, "study"):
            raise error.of(source).at(where=where) from None
        raise error.remarking(f"asked for by {source}, {where}") from None
    except UnknownNameError as error:
        raise InputError(str(error), source=source, where=where) from None
    except WorkbenchError as error:
        raise type(error)(f"{source}: {where}: {error}") from None

"""Examples of every exported value, ways to copy one, and equality of two copies, for `tests/test_survival.py`.

Also imported by the processes of its pool, so everything that they run stands at the top of this module.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import numpy as np

import workbench
from tests.control.manifests import job, small_cluster
from workbench.errors import WorkbenchError
from workbench.model import display
from workbench.model.explanation import Recorder
from workbench.model.gang import TopologyConstraint
from workbench.model.scenario import Scenario
from workbench.model.value import Working
from workbench.policies import Policy
from workbench.report.displays import install
from workbench.simulate import SimulatedJob, Simulation, SimulationResult
from workbench.study import StudyWorkload
from workbench.topology.diff import diff_topologies
from workbench.topology.lint import lint

DEMO = Path(__file__).parents[1] / "datasets" / "demo"

COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {protocol}": lambda value, protocol=protocol: pickle.loads(pickle.dumps(value, protocol))
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)
    },
}

#: One policy per line of the registry; a GPU policy beside a node policy that leaves the GPUs to it.
POLICIES = [f"allocate+{info.name}" if info.kind == "gpu" else info.name for info in workbench.list_policies()]


def load_demo() -> Scenario:
    """The demo cluster with its jobs, and one job more that fits nowhere."""
    scenario = workbench.load(str(DEMO))
    snapshot = scenario.snapshot.with_switches(scenario.snapshot.switch_table)
    large = dataclasses.replace(
        scenario.gangs[0],
        name="too-large",
        roles=tuple(dataclasses.replace(role, count=99) for role in scenario.gangs[0].roles),
        min_available=99,
        constraint=TopologyConstraint("hard", 1),
        order=(),
        sub_groups=(),
    )
    return dataclasses.replace(scenario, snapshot=snapshot, gangs=(*scenario.gangs, large))


def embedded_cluster() -> workbench.EmbeddedCluster:
    """A cluster in the middle of a Job's life."""
    cluster = workbench.EmbeddedCluster(run_seconds=60)
    cluster.submit(*small_cluster(), job())
    cluster.run(30)
    return cluster


def unused_values(scenario: Scenario) -> dict[str, Any]:
    """Values that no policy has seen."""
    snapshot, matrix = scenario.snapshot, scenario.snapshot.matrices[0]
    return {
        "scenario": scenario,
        "gang with a constraint": scenario.gangs[-1],
        "extra": workbench.KoordinatorWish(gang_groups=("default/a", "default/b")),
        "constraint": scenario.gangs[-1].constraint,
        "role": scenario.gangs[0].roles[0],
        "ledger": snapshot.ledger(),
        "matrix": matrix,
        "scheduler configuration": workbench.get_policy("volcano").node.config,  # type: ignore[attr-defined]
        "matrix of its own": workbench.BandwidthMatrix(matrix.gb_s * 2, source="twice"),
        "lint": lint(snapshot.topology),
        "difference": diff_topologies(snapshot.topology, snapshot.topology),
        "list of policies": workbench.list_policies(),
        "ssh keys": workbench.jobs.SshKeys("private", "public"),
        "embedded cluster": (cluster := embedded_cluster()),
        "job of a cluster": cluster.job("train"),
        "pod of a cluster": cluster.pod("train-worker-0"),
        "lives of a cluster's jobs": cluster.timeline(),
        "simulation": simulation_result(scenario),
        "simulation that goes on": Simulation(scenario.snapshot, "binpack", []),
        "study": workbench.Study(
            name="s",
            topologies={"demo": snapshot},
            workloads={"a log": StudyWorkload(workbench.load_jobs(DEMO.parent / "job-log" / "jobs.csv"))},
            policies={"binpack": workbench.get_policy("binpack")},
        ),
        "gang in sub-groups": dataclasses.replace(
            scenario.gangs[0], sub_grouped=True, sub_groups=(workbench.SubGroup("half", (0, 1), None, 2),)
        ),
        **lifecycle_values(),
    }


def simulation_result(scenario: Scenario) -> SimulationResult:
    """What became of the scenario's jobs when each worked for a minute."""
    jobs = [SimulatedJob(gang, 0.0, 60.0) for gang in scenario.gangs[:-1]]
    return Simulation(scenario.snapshot, workbench.get_policy("volcano"), jobs).run().result()


def lifecycle_values() -> dict[str, Any]:
    """What the rules on the life of a Job are asked and answer."""
    job = {"kind": "Job", "metadata": {"name": "train"}, "spec": {"tasks": [{"name": "worker", "replicas": 2}]}}
    observed = workbench.jobs.Observed.of_manifests(job, pod_group=workbench.jobs.next_pod_group(job).write)
    request = workbench.jobs.JobRequest(action="AbortJob")
    step = workbench.jobs.next_status(job, observed, request)
    return {"observed": observed, "request": request, "step": step}


def used_values(scenario: Scenario, name: str) -> dict[str, Any]:
    """Values that a policy used, and what it answered."""
    gangs, snapshot = scenario.gangs, scenario.snapshot
    policy = workbench.get_policy(name)
    ledger, stream, timeline = snapshot.ledger(), policy.stream(snapshot), workbench.Timeline(snapshot, policy)
    for gang in gangs:
        policy.place(gang, ledger)
        stream.place(gang)
        timeline.submit(gang)
    timeline.fault(snapshot.topology.node_names[0])
    recorders = {i: Recorder() for i in range(len(gangs))}
    decisions = policy.schedule(gangs, snapshot, recorders)
    return {
        **unused_values(scenario),
        "policy": policy,
        "ledger": ledger,
        "stream": stream,
        "timeline": timeline,
        "history": timeline.history,
        "decisions": decisions,
        "snapshot afterwards": timeline.snapshot,
        "explanations": [recorder.explanation(decisions[i]) for i, recorder in recorders.items()],
        "comparison": workbench.compare(gangs, snapshot, [policy]),
        "best GPUs": workbench.best_gpus(snapshot.matrices[0], 4),
        "bottleneck curve": workbench.bottleneck_curve(snapshot.matrices[0]),
        "regret": workbench.regret(snapshot.matrices[0], ["gpu-lowest-index"], sizes=[2], samples=2),
    }


def answers(policy: Policy, scenario: Scenario) -> list[Any]:
    """What a policy says about a scenario, by each of the ways to ask it."""
    gangs, snapshot = scenario.gangs, scenario.snapshot
    stream = policy.stream(snapshot)
    return [
        policy.schedule(gangs, snapshot),
        [policy.explain(gang, snapshot) for gang in gangs],
        [stream.place(gang) for gang in gangs],
    ]


def again(values: Mapping[str, Any]) -> list[Any]:
    """What used values answer when they are used once more."""
    stream, ledger, policy = values["stream"], values["ledger"], values["policy"]
    gangs = values["scenario"].gangs
    for placement in stream.held:
        stream.give_back(placement)
    timeline = values["timeline"]
    timeline.recover(timeline.snapshot.topology.node_names[0])
    return [
        answers(policy, values["scenario"]),
        [stream.place(gang) for gang in gangs],
        [policy.place(gang, ledger) for gang in gangs],
        [timeline.retry(key) for key in sorted(timeline.pending)],
        workbench.best_gpus(values["matrix"], 4),
        values["comparison"].to_dict(),
        values["regret"].to_dict(),
        repr(values["lint"]),
    ]


def there_and_back(values: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[Any]]:
    """What a process of the pool runs: the values as they arrived, and what they answer there."""
    arrived = copy.deepcopy(values)
    return arrived, again(values)


def differences(a: object, b: object, at: str = "") -> Iterator[str]:
    """Where two values differ in what they are made of; derived parts are not looked at, `writeable` is."""
    if type(a) is not type(b):
        yield f"{at}: {type(a).__name__} and {type(b).__name__}"
    elif isinstance(a, np.ndarray):
        assert isinstance(b, np.ndarray)
        if a.dtype != b.dtype or not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
            yield f"{at}: other numbers"
        if a.flags.writeable != b.flags.writeable:
            yield f"{at}: writeable is {a.flags.writeable} and {b.flags.writeable}"
    elif isinstance(a, partial):
        assert isinstance(b, partial)
        yield from differences((a.func, a.args, a.keywords), (b.func, b.args, b.keywords), at)
    elif isinstance(a, Mapping):
        assert isinstance(b, Mapping)
        if list(a) != list(b):
            yield f"{at}: other keys"
        else:
            for key in a:
                if key != "decision_s":
                    yield from differences(a[key], b[key], f"{at}[{key!r}]")
    elif isinstance(a, (tuple, list)):
        assert isinstance(b, (tuple, list))
        if len(a) != len(b):
            yield f"{at}: {len(a)} and {len(b)} entries"
        for i, (one, other) in enumerate(zip(a, b)):
            yield from differences(one, other, f"{at}[{i}]")
    elif isinstance(a, MethodType):
        assert isinstance(b, MethodType)
        if a.__func__ is not b.__func__:
            yield f"{at}: other methods"
    elif _has_parts(a):
        yield from differences(parts(a), parts(b), f"{at}.{type(a).__name__}")
    elif a != b and not (a != a and b != b):
        yield f"{at}: {a!r} and {b!r}"


def _has_parts(value: object) -> bool:
    return type(value).__module__.startswith("workbench.") and (
        dataclasses.is_dataclass(value) or hasattr(value, "__dict__")
    )


def parts(value: Any) -> dict[str, Any]:
    """What an object is made of, by attribute name."""
    if dataclasses.is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value) if each.init}
    if isinstance(value, Working):
        return value._kept()
    return {name: part for name, part in vars(value).items() if not isinstance(part, FunctionType)}


def exported_values() -> dict[str, type]:
    """Every class that users get by name or see drawn; not the widgets, which are pages, nor the errors."""
    install()
    named = {name: getattr(workbench, name) for name in workbench.__all__}
    classes = {name: value for name, value in named.items() if inspect.isclass(value)}
    classes |= {kind.__name__: kind for kind in display._renderers}
    return {
        name: kind
        for name, kind in classes.items()
        if not kind.__module__.startswith("workbench.widgets") and not issubclass(kind, WorkbenchError)
    }


def objects_in(value: object) -> list[Any]:
    """A value and its parts, as far as their classes are those of this package; each once."""
    seen: dict[int, Any] = {}
    waiting: list[object] = [value]
    while waiting:
        each = waiting.pop()
        if id(each) not in seen:
            seen[id(each)] = each
            waiting += _inner(each)
    return [each for each in seen.values() if _has_parts(each)]


def _inner(value: Any) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    if isinstance(value, (tuple, list)):
        return value
    return parts(value).values() if _has_parts(value) else ()


def parts_to_derive(value: object) -> list[str]:
    """Attributes that pickle would keep and should not, or would not keep read-only."""
    of_class = (each for base in type(value).__mro__ for each in vars(base).items())
    found = [name for name, attribute in of_class if isinstance(attribute, cached_property)]
    if dataclasses.is_dataclass(value):
        found += [each.name for each in dataclasses.fields(value) if not each.init]
    return found + [name for name, part in parts(value).items() if any(True for _ in arrays_in(part))]


def arrays_in(value: object) -> Iterator[np.ndarray]:
    """Arrays of an attribute, inside plain containers too."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (Mapping, tuple, list)):
        for part in _inner(value):
            yield from arrays_in(part)

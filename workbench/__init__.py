"""Topology Workbench: where should the pods of an AI job go, given the network and the links between the GPUs?

The notebook's surface. Everything is loaded when first used, so that ``import workbench`` and ``workbench --help`` cost
nothing; pandas, pyvis and the drawing code come in only when a table or a picture is wanted.

>>> import workbench
>>> scenario = workbench.datasets.load("demo")
>>> comparison = workbench.compare(scenario.gangs, scenario.snapshot, ["allocate", "volcano"])
>>> [row.policy for row in comparison.rows]
['allocate', 'volcano-1.15']
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from workbench.errors import (
    CapacityError,
    ClusterError,
    InputError,
    InternalError,
    MissingExtraError,
    StoreError,
    UnknownNameError,
    WorkbenchError,
)
from workbench.model.display import set_installer
from workbench.model.handed_in import hand_in

if TYPE_CHECKING:
    from workbench.control.cluster import EmbeddedCluster as EmbeddedCluster
    from workbench.evaluate import cost as cost
    from workbench.evaluate.bottleneck_curve import bottleneck_curve as bottleneck_curve
    from workbench.evaluate.compare import Comparison as Comparison
    from workbench.evaluate.compare import compare as compare
    from workbench.evaluate.differences import differences as differences
    from workbench.evaluate.metric_table import metric as metric
    from workbench.evaluate.metrics import measure as measure
    from workbench.evaluate.regret import Regret as Regret
    from workbench.evaluate.regret import regret as regret
    from workbench.evaluate.whatif.fix import FixReport
    from workbench.evaluate.whatif.fix import fix_report as fix_report
    from workbench.formats import datasets as datasets
    from workbench.formats.fabric.graphml import from_networkx as from_networkx
    from workbench.formats.fabric.graphml import to_networkx as to_networkx
    from workbench.formats.load import load as load
    from workbench.formats.matrix import load_matrix as load_matrix
    from workbench.formats.scheduler_conf import load_config as load_config
    from workbench.formats.snapshot_file import save as save
    from workbench.jobs.expand import expand_job as expand_job
    from workbench.jobs.frameworks.contract import SshKeys as SshKeys
    from workbench.jobs.hyper_job.next_step import next_hyper_job as next_hyper_job
    from workbench.jobs.lifecycle.events import job_request as job_request
    from workbench.jobs.lifecycle.next_status import NextStep as NextStep
    from workbench.jobs.lifecycle.next_status import next_status as next_status
    from workbench.jobs.lifecycle.observed import Observed as Observed
    from workbench.jobs.lifecycle.request import JobRequest as JobRequest
    from workbench.jobs.next_pod_group import next_pod_group as next_pod_group
    from workbench.model.bandwidth import BandwidthMatrix as BandwidthMatrix
    from workbench.model.best_gpus import BestGpus as BestGpus
    from workbench.model.best_gpus import best_gpus as best_gpus
    from workbench.model.explanation import Explanation as Explanation
    from workbench.model.extras import AscendWish as AscendWish
    from workbench.model.extras import Extra as Extra
    from workbench.model.extras import KoordinatorWish as KoordinatorWish
    from workbench.model.extras import VolcanoMemory as VolcanoMemory
    from workbench.model.gang import Gang as Gang
    from workbench.model.gang import Role as Role
    from workbench.model.gang import TopologyConstraint as TopologyConstraint
    from workbench.model.notice import Notice as Notice
    from workbench.model.placement import Decision as Decision
    from workbench.model.placement import Placement as Placement
    from workbench.model.placement import Refusal as Refusal
    from workbench.model.pod_gpus import split_gpus as split_gpus
    from workbench.model.scheduler_config import SchedulerConfig as SchedulerConfig
    from workbench.model.snapshot import ClusterSnapshot as ClusterSnapshot
    from workbench.model.snapshot import Scenario as Scenario
    from workbench.model.topology import Topology as Topology
    from workbench.policies import Policy as Policy
    from workbench.policies import get_gpu_policy as get_gpu_policy
    from workbench.policies import get_policy as get_policy
    from workbench.policies import list_policies as list_policies
    from workbench.policies import policy as policy
    from workbench.simulate.timeline import Timeline as Timeline
    from workbench.topology.presets import generate_scenario as generate_scenario

_HOME = {
    "AscendWish": "workbench.model.extras",
    "BandwidthMatrix": "workbench.model.bandwidth",
    "BestGpus": "workbench.model.best_gpus",
    "ClusterSnapshot": "workbench.model.snapshot",
    "Comparison": "workbench.evaluate.compare",
    "Decision": "workbench.model.placement",
    "EmbeddedCluster": "workbench.control.cluster",
    "Explanation": "workbench.model.explanation",
    "Extra": "workbench.model.extras",
    "Gang": "workbench.model.gang",
    "JobRequest": "workbench.jobs.lifecycle.request",
    "KoordinatorWish": "workbench.model.extras",
    "NextStep": "workbench.jobs.lifecycle.next_status",
    "Notice": "workbench.model.notice",
    "Observed": "workbench.jobs.lifecycle.observed",
    "Placement": "workbench.model.placement",
    "Policy": "workbench.policies",
    "Refusal": "workbench.model.placement",
    "Regret": "workbench.evaluate.regret",
    "Role": "workbench.model.gang",
    "Scenario": "workbench.model.snapshot",
    "SchedulerConfig": "workbench.model.scheduler_config",
    "SshKeys": "workbench.jobs.frameworks.contract",
    "Timeline": "workbench.simulate.timeline",
    "Topology": "workbench.model.topology",
    "TopologyConstraint": "workbench.model.gang",
    "VolcanoMemory": "workbench.model.extras",
    "best_gpus": "workbench.model.best_gpus",
    "bottleneck_curve": "workbench.evaluate.bottleneck_curve",
    "compare": "workbench.evaluate.compare",
    "cost": "workbench.evaluate",
    "datasets": "workbench.formats",
    "differences": "workbench.evaluate.differences",
    "expand_job": "workbench.jobs.expand",
    "fix_report": "workbench.evaluate.whatif.fix",
    "from_networkx": "workbench.formats.fabric.graphml",
    "generate_scenario": "workbench.topology.presets",
    "get_gpu_policy": "workbench.policies",
    "get_policy": "workbench.policies",
    "job_request": "workbench.jobs.lifecycle.events",
    "list_policies": "workbench.policies",
    "load": "workbench.formats.load",
    "load_config": "workbench.formats.scheduler_conf",
    "load_matrix": "workbench.formats.matrix",
    "measure": "workbench.evaluate.metrics",
    "metric": "workbench.evaluate.metric_table",
    "next_hyper_job": "workbench.jobs.hyper_job.next_step",
    "next_pod_group": "workbench.jobs.next_pod_group",
    "next_status": "workbench.jobs.lifecycle.next_status",
    "policy": "workbench.policies",
    "regret": "workbench.evaluate.regret",
    "save": "workbench.formats.snapshot_file",
    "split_gpus": "workbench.model.pod_gpus",
    "to_networkx": "workbench.formats.fabric.graphml",
    "MatrixLoader": "workbench.widgets.matrix_loader",
    "PlacementComparer": "workbench.widgets.comparer",
    "SimulationExplorer": "workbench.widgets.simulation_explorer",
    "TopologyEditor": "workbench.widgets.editor",
    "Workbench": "workbench.widgets.workbench",
}

__all__ = [
    "CapacityError",
    "ClusterError",
    "InputError",
    "InternalError",
    "MissingExtraError",
    "StoreError",
    "UnknownNameError",
    "WorkbenchError",
    "explain",
    "place",
    "schedule",
    *_HOME,
]


def place(
    gang: Gang, snapshot: ClusterSnapshot, policy: str | Policy = "volcano", **params: Any
) -> Placement | Refusal:
    """Place one gang by a policy, in a scheduling session of its own.

    Parameters
    ----------
    gang : Gang
    snapshot : ClusterSnapshot
        Not changed; ``snapshot.with_placement(p)`` is the snapshot with the placed pods running.
    policy : str or Policy
        Name of a node policy, with ``+GPU`` for a GPU policy (``volcano+gpu-bottleneck``), or a policy object.
    **params
        Parameters of the policy by name; those of the GPU part as ``gpu={"name": value}``.

    Returns
    -------
    Placement or Refusal

    Raises
    ------
    UnknownNameError, InputError
        No such policy or parameter, or a value that it does not take.
    """
    return schedule([gang], snapshot, policy, **params)[0].result


def schedule(
    gangs: Sequence[Gang], snapshot: ClusterSnapshot, policy: str | Policy = "volcano", **params: Any
) -> list[Decision]:
    """Place several gangs in one scheduling session, in the order that the policy chooses.

    Parameters
    ----------
    gangs : sequence of Gang
    snapshot : ClusterSnapshot
    policy : str or Policy
    **params
        As in `place`.

    Returns
    -------
    list of Decision
        In the order of `gangs`; `Decision.turn` numbers the decisions in the order in which the policy took them.
    """
    _check_values(gangs, snapshot)
    return _policy_of(policy, params).schedule(gangs, snapshot)


def explain(gang: Gang, snapshot: ClusterSnapshot, policy: str | Policy = "volcano", **params: Any) -> Explanation:
    """Explain a policy's decision on one gang: which HyperNodes and nodes it considers, and why it keeps or drops each.

    Parameters
    ----------
    gang : Gang
    snapshot : ClusterSnapshot
    policy : str or Policy
    **params
        As in `place`.
    """
    _check_values([gang], snapshot)
    return _policy_of(policy, params).explain(gang, snapshot)


def _check_values(gangs: Sequence[Gang], snapshot: ClusterSnapshot) -> None:
    from workbench.model.gang import Gang
    from workbench.model.snapshot import ClusterSnapshot

    for gang in gangs:
        if not isinstance(gang, Gang):
            expected = "a Gang, such as scenario.gang('name')"
            raise InputError("not a gang", source="gang", got=repr(gang), expected=expected)
    if not isinstance(snapshot, ClusterSnapshot):
        expected = "a ClusterSnapshot, such as scenario.snapshot"
        raise InputError("not a snapshot", source="snapshot", got=repr(snapshot), expected=expected)


def _policy_of(policy: str | Policy, params: dict[str, Any]) -> Policy:
    from workbench.policies import as_policy, get_policy

    if isinstance(policy, str):
        return get_policy(policy, **params)
    found = as_policy(policy)
    if params:
        raise InputError("a policy object has its parameters already", source="policy", got=", ".join(sorted(params)))
    return found


def _install_displays() -> None:
    from workbench.report.displays import install

    install()


def _fix(scenario: Scenario, job: str, policy: str | Policy, **params: Any) -> FixReport:
    from workbench.evaluate.whatif.fix import fix_report

    return fix_report(_policy_of(policy, params), scenario.gangs, scenario.snapshot, scenario.gang(job).key)


set_installer(_install_displays)
hand_in("fix", _fix)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from workbench.evaluate.provenance import version

        return version()
    if name in _HOME:
        home = import_module(_HOME[name])
        value = getattr(home, name, None) or import_module(f"{_HOME[name]}.{name}")  # a room of functions
        globals()[name] = value
        return value
    raise AttributeError(f"module 'workbench' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})

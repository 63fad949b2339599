"""Topology Workbench: where should the pods of an AI job go, given the network and the links between the GPUs?

The notebook's surface. Everything is loaded when first used, so that ``import workbench`` and ``workbench --help`` cost
nothing; pandas, pyvis and the drawing code come in only when a table or a picture is wanted.

Examples
--------
>>> import workbench as wb
>>> scenario = wb.generate_scenario("three-level-tree").with_gangs(wb.gang("mine", pods=4, gpus=8, tier=2))
>>> scenario.place("mine", policy="volcano-1.15")
Placement(default/mine by volcano-1.15: 4 pods on 4 nodes inside s4 (tier 2))
>>> wb.compare(scenario, ["allocate", "volcano-1.15"])
Comparison(1 job; allocate: 1 placed; volcano-1.15: 1 placed)
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
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
    named_arguments,
)
from workbench.model.deferred import DeferredModule
from workbench.model.display import hand_in, set_installer

if TYPE_CHECKING:
    from workbench import jobs as jobs
    from workbench import simulate as simulate
    from workbench.control.cluster import EmbeddedCluster as EmbeddedCluster
    from workbench.evaluate import contention as contention
    from workbench.evaluate import cost as _cost
    from workbench.evaluate import cost as cost
    from workbench.evaluate.bottleneck_curve import bottleneck_curve as bottleneck_curve
    from workbench.evaluate.compare import Comparison as Comparison
    from workbench.evaluate.compare import compare as compare
    from workbench.evaluate.differences import differences as differences
    from workbench.evaluate.metric_table import metric as metric
    from workbench.evaluate.metrics import measure as measure
    from workbench.evaluate.provenance import show_versions as show_versions
    from workbench.evaluate.regret import Regret as Regret
    from workbench.evaluate.regret import regret as regret
    from workbench.evaluate.sessions import explain as explain
    from workbench.evaluate.sessions import fix as fix
    from workbench.evaluate.sessions import place as place
    from workbench.evaluate.sessions import schedule as schedule
    from workbench.evaluate.whatif.fix import fix_report as fix_report
    from workbench.formats import datasets as datasets
    from workbench.formats.fabric.graphml import from_networkx as from_networkx
    from workbench.formats.fabric.graphml import to_networkx as to_networkx
    from workbench.formats.job_logs.read import load_jobs as load_jobs
    from workbench.formats.load import load as load
    from workbench.formats.matrix import load_matrix as load_matrix
    from workbench.formats.scheduler_conf import load_config as load_config
    from workbench.formats.snapshot_file import save as save
    from workbench.kernels.states import best_bottlenecks as best_bottlenecks
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
    from workbench.model.gang import SubGroup as SubGroup
    from workbench.model.gang import TopologyConstraint as TopologyConstraint
    from workbench.model.new_gang import gang as gang
    from workbench.model.notice import Notice as Notice
    from workbench.model.placement import Decision as Decision
    from workbench.model.placement import Placement as Placement
    from workbench.model.placement import Refusal as Refusal
    from workbench.model.pod_gpus import split_gpus as split_gpus
    from workbench.model.scenario import Scenario as Scenario
    from workbench.model.scheduler_config import SchedulerConfig as SchedulerConfig
    from workbench.model.snapshot import ClusterSnapshot as ClusterSnapshot
    from workbench.model.topology import Topology as Topology
    from workbench.policies import Policy as Policy
    from workbench.policies import get_gpu_policy as get_gpu_policy
    from workbench.policies import get_policy as get_policy
    from workbench.policies import list_policies as list_policies
    from workbench.policies import policy as policy
    from workbench.simulate.disciplines import discipline as discipline
    from workbench.simulate.engine import Simulation as Simulation
    from workbench.simulate.job import SimulatedJob as SimulatedJob
    from workbench.simulate.result import SimulationResult as SimulationResult
    from workbench.simulate.timeline import Timeline as Timeline
    from workbench.study.study import Study as Study
    from workbench.topology.diff import diff_topologies as diff_topologies
    from workbench.topology.lint import lint as lint
    from workbench.topology.machines import machine as machine
    from workbench.topology.machines import with_noise as with_noise
    from workbench.topology.presets import generate_scenario as generate_scenario
else:
    _cost = DeferredModule("workbench.evaluate.cost")

#: The module that has each name.
_HOME = {
    name: module
    for module, names in {
        "workbench": "jobs live simulate",
        "workbench.control.cluster": "EmbeddedCluster",
        "workbench.evaluate": "contention cost",
        "workbench.evaluate.bottleneck_curve": "bottleneck_curve",
        "workbench.evaluate.compare": "Comparison compare",
        "workbench.evaluate.differences": "differences",
        "workbench.evaluate.metric_table": "metric",
        "workbench.evaluate.metrics": "measure",
        "workbench.evaluate.provenance": "show_versions",
        "workbench.evaluate.regret": "Regret regret",
        "workbench.evaluate.sessions": "explain fix place schedule",
        "workbench.evaluate.whatif.fix": "fix_report",
        "workbench.formats": "datasets",
        "workbench.formats.fabric.graphml": "from_networkx to_networkx",
        "workbench.formats.job_logs.read": "load_jobs",
        "workbench.formats.load": "load",
        "workbench.formats.matrix": "load_matrix",
        "workbench.formats.scheduler_conf": "load_config",
        "workbench.formats.snapshot_file": "save",
        "workbench.kernels.states": "best_bottlenecks",
        "workbench.model.bandwidth": "BandwidthMatrix",
        "workbench.model.best_gpus": "BestGpus best_gpus",
        "workbench.model.explanation": "Explanation",
        "workbench.model.extras": "AscendWish Extra KoordinatorWish VolcanoMemory",
        "workbench.model.gang": "Gang Role SubGroup TopologyConstraint",
        "workbench.model.new_gang": "gang",
        "workbench.model.notice": "Notice",
        "workbench.model.placement": "Decision Placement Refusal",
        "workbench.model.pod_gpus": "split_gpus",
        "workbench.model.scenario": "Scenario",
        "workbench.model.scheduler_config": "SchedulerConfig",
        "workbench.model.snapshot": "ClusterSnapshot",
        "workbench.model.topology": "Topology",
        "workbench.policies": "Policy get_gpu_policy get_policy list_policies policy",
        "workbench.simulate.disciplines": "discipline",
        "workbench.simulate.engine": "Simulation",
        "workbench.simulate.job": "SimulatedJob",
        "workbench.simulate.result": "SimulationResult",
        "workbench.simulate.timeline": "Timeline",
        "workbench.study.study": "Study",
        "workbench.topology.diff": "diff_topologies",
        "workbench.topology.lint": "lint",
        "workbench.topology.machines": "machine with_noise",
        "workbench.topology.presets": "generate_scenario",
        "workbench.widgets.comparer": "PlacementComparer",
        "workbench.widgets.editor": "TopologyEditor",
        "workbench.widgets.matrix_loader": "MatrixLoader",
        "workbench.widgets.simulation_explorer": "SimulationExplorer",
        "workbench.widgets.workbench": "Workbench",
    }.items()
    for name in names.split()
}

#: Names that stand for a package of functions.
_ROOMS = frozenset({"contention", "cost", "datasets", "jobs", "live", "simulate"})

__all__ = [
    "CapacityError",
    "ClusterError",
    "InputError",
    "InternalError",
    "MissingExtraError",
    "StoreError",
    "UnknownNameError",
    "WorkbenchError",
    "load_calibration",
    *_HOME,
]


def _install_displays() -> None:
    from workbench.report.displays import install

    install()


def _frame(value: Any) -> Any:
    from workbench.evaluate.frames import frame_of

    return frame_of(value)


def _plot(value: Any, *given: Any, **options: Any) -> Any:
    from workbench.report.plots import plot_value

    return plot_value(value, *given, **options)


def _plot_runs(*given: Any, **options: Any) -> Any:
    from workbench.report.plots import plot_runs

    return plot_runs(*given, **options)


def _asked(name: str) -> Callable[..., Any]:
    """The function of this package behind a method of `Scenario` or `Topology`, loaded when it is called."""

    def call(*given: Any, **options: Any) -> Any:
        return getattr(sys.modules[__name__], name)(*given, **options)

    return call


set_installer(_install_displays)
hand_in("frame", _frame)
hand_in("plot", _plot)
hand_in("plot_runs", _plot_runs)
for _name in ("place", "schedule", "explain", "compare", "fix", "to_networkx"):
    hand_in(_name, _asked(_name))


@named_arguments
def load_calibration(path: str | Path | None = None) -> _cost.Calibration:
    """Read what communication costs, as `workbench.cost` prices it, from a fit to measurements.

    `path`: JSON that ``workbench calibrate`` wrote; None: the calibration that comes with the package. Raises
    InputError: the file cannot be read, or is no calibration.

    Examples
    --------
    >>> import workbench as wb
    >>> "h100_sxm" in wb.load_calibration().machines
    True
    """
    from workbench.formats.collectives import read_calibration_record

    return _cost.Calibration.from_record(*read_calibration_record(path))


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from workbench.evaluate.provenance import version

        return version()
    if name in _HOME:
        if name in _ROOMS:
            value: Any = import_module(f"{_HOME[name]}.{name}")
        else:
            value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'workbench' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)

"""Runner of scores of nodes and HyperNodes: `score-node`, `score-hypernode`, `plugin-config`, `helper`."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from typing import Any

import numpy as np

from tests.conformance.registry import NotUnderstood, Runners
from tests.conformance.runners.volcano_gradients import amounts, topology_of
from tests.conformance.runners.volcano_sessions import session
from tests.fabrics import snapshot as fabric
from workbench.kernels.domains import NO_RECORD, ScoreWeights, TopologyScores
from workbench.kernels.dry_run_values import Counts, DomainTotals
from workbench.kernels.dry_runs import DryRuns
from workbench.kernels.two_level import TwoLevel
from workbench.model.extras import VolcanoMemory
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.release import Release
from workbench.model.running_pod import RunningPod
from workbench.model.scheduler_config import PluginOption, SchedulerConfig
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import VIRTUAL_TOP, DomainSpec, Topology
from workbench.policies.demand import Demand
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.gpu.lowest_index import GpuLowestIndex
from workbench.policies.parameters import NoParameters, read_parameters
from workbench.policies.volcano.parts.plugins import score_parameters
from workbench.policies.volcano.parts.scores import best, topology_scores_1_13
from workbench.policies.volcano.parts.topology_arguments import TopologyArguments
from workbench.policies.volcano.v1_13.hard_search import read_record, to_score
from workbench.policies.volcano.v1_15.constraints import limits_of
from workbench.policies.volcano.v1_15.hypernode_scores import (
    HyperNodeParameters,
    fading_of,
    topology_scores_1_15,
)
from workbench.policies.volcano.v1_15.policy import Volcano115
from workbench.policies.volcano.v1_15.splitting import SubJobs, split

RESOURCE = {"milli_cpu": "cpu", "memory_bytes": "memory"}


def register(runners: Runners) -> None:
    """Add the operations of these files to the area's runners."""
    case = ("nodes", "topology", "queues", "podgroups", "pods", "plugin_arguments")
    answer = ("scores", "exact_number_of_scores", "error", "tolerance")
    runners.op("score-node", "score-nodes", (*case, "score_nodes"), answer, per_release=True)(score_nodes)
    asked = ("topology", "node_allocatable", "node_used", "task_request", "plugin_arguments")
    runners.op("score-node", "normal-pod-score", asked, ("score_of_every_node", "tolerance"))(normal_pod)
    asked = (*case, "sub_job", "candidates")
    runners.op("score-hypernode", "score-hypernodes", asked, answer)(score_hypernodes)
    runners.op("helper", "best-of-scores", ("score_to_hypernodes",), ("any_of", "score"))(best_of_scores)
    asked = ("hyperNodeName", "tasks", "hyperNodes")
    runners.op("helper", "count-tasks-in-hypernode", asked, ("count",))(count_tasks)
    values = ("weight", "cpu", "memory", "resources", "normal_pod_enable", "normal_pod_fading")
    values += ("max_hypernodes_for_eviction",)
    runners.op("plugin-config", "plugin-config", ("arguments",), values, per_release=True)(plugin_config)


def parameters_of(arguments: dict[str, Any]) -> HyperNodeParameters:
    config = SchedulerConfig((), ((PluginOption("network-topology-aware", {}, arguments),),))
    return read_parameters("volcano-1.15", HyperNodeParameters, score_parameters(config, Release.V1_15))


def sub_jobs(gang: Gang, snapshot: ClusterSnapshot) -> SubJobs:
    ledger = snapshot.ledger()
    demand = Demand(gang, ledger, GpuQuestions(GpuLowestIndex(NoParameters()), ledger))
    return split(gang, snapshot, demand, limits_of(gang, snapshot.topology))


def assert_scores(found: dict[str, float], want: dict[str, Any]) -> None:
    assert not want["error"]
    for name, score in want["scores"].items():
        assert math.isclose(found.get(name, 0.0), score, rel_tol=0, abs_tol=want["tolerance"]), (name, found)
    if want["exact_number_of_scores"] is not None:
        assert len(found) == want["exact_number_of_scores"]


def score_nodes(given: dict[str, Any], want: dict[str, Any], release: Release) -> None:
    """The one pending pod; its node part is left out, so that what remains is the plugin's."""
    snapshot, gangs = session(given, release)
    (gang,) = gangs
    (sub,) = [sub for sub in sub_jobs(gang, snapshot) if sub.n_pods]
    ((role, _),) = sub.pods.items()
    topology = snapshot.topology
    nodes = np.array([topology.node(name) for name in given["score_nodes"]], dtype=np.int32)
    parameters = parameters_of(given["plugin_arguments"])
    if sub.topology:
        if release is Release.V1_13:
            scores, total = topology_scores_1_13(topology, parameters.weight), gang.n_pods + gang.ready
            record = to_score(read_record(gang.extra(VolcanoMemory).record, topology))
        else:
            scores, total = topology_scores_1_15(topology, parameters.weight), sub.total
            # A session drops a record that is no HyperNode.
            known = gang.extra(VolcanoMemory).record == VIRTUAL_TOP or topology.has_domain(
                gang.extra(VolcanoMemory).record
            )
            record = topology.domain(gang.extra(VolcanoMemory).record) if known else NO_RECORD
        found = by_record(snapshot, nodes, scores, record, sub.running_nodes, total)
    elif release is Release.V1_13 or not parameters.normal_pod_enable:
        found = None
    else:
        sums = (snapshot.domain_used, snapshot.domain_allocatable)
        found = by_fullness(topology, parameters, snapshot.resources, *sums, sub.pending, nodes)
        assert gang.roles[role].count == 1
    assert_scores({} if found is None else dict(zip(given["score_nodes"], found.tolist(), strict=True)), want)


def by_record(
    snapshot: ClusterSnapshot, nodes: np.ndarray, scores: TopologyScores, record: int, running: np.ndarray, total: int
) -> np.ndarray:
    """Scores of some nodes as candidates of one pod that fits each of them."""
    topology = snapshot.topology
    room = np.ones_like(snapshot.allocatable)
    runs = dry_runs(topology, room, snapshot.used, snapshot.allocatable, scores=scores)
    request, tasks = np.zeros(room.shape[1], dtype=np.int64), topology.count_on_leaves(running)
    return totals_of(runs, request, nodes, record=record, tasks_on_leaf=tasks, total_tasks=total)


def dry_runs(topology: Topology, idle: np.ndarray, used: np.ndarray, allocatable: np.ndarray, **scores: Any) -> DryRuns:
    return DryRuns(idle, used, allocatable, topology.domain_nodes, weights=ScoreWeights(), **scores)


def totals_of(runs: DryRuns, request: np.ndarray, nodes: np.ndarray, **asked: Any) -> np.ndarray:
    """Scores of some nodes, the only candidates of one pod."""
    feasible = np.zeros(runs.n_nodes, dtype=np.uint8)
    feasible[nodes] = 1
    shape = runs.add_shape(request, feasible=feasible)
    counts = Counts(shapes=np.array([shape], dtype=np.int32), left=np.ones(1, dtype=np.int64), min_available=1)
    runs.ask(counts, **asked)
    return runs.node_scores(-1, shape)[1][nodes]


def by_fullness(
    topology: Topology,
    parameters: HyperNodeParameters,
    resources: tuple[str, ...],
    used: np.ndarray,
    allocatable: np.ndarray,
    request: np.ndarray,
    nodes: np.ndarray,
) -> np.ndarray:
    """Scores of some nodes, on which anything fits, for a pod without a topology; sums over HyperNodes are given."""
    fading = fading_of(parameters, topology, resources)
    room = np.full((topology.n_nodes, len(resources)), 2**53, dtype=np.int64)
    totals = DomainTotals(used, allocatable, *topology.node_domains)
    return totals_of(dry_runs(topology, room, room * 0, room, fading=fading, totals=totals), request, nodes)


def normal_pod(given: dict[str, Any], want: dict[str, Any]) -> None:
    topology = topology_of(given["topology"])
    rows = [
        {RESOURCE.get(name, name): amount for name, amount in given[key].items()}
        for key in ("node_allocatable", "node_used", "task_request")
    ]
    columns = tuple(sorted({name for row in rows for name in row}))
    allocatable, used, request = amounts(*rows)
    parameters = parameters_of(given["plugin_arguments"])
    every = (topology.n_nodes, 1)
    used, allocatable = (topology.domain_sums(np.tile(row, every)) for row in (used, allocatable))
    nodes = np.arange(topology.n_nodes, dtype=np.int32)
    found = by_fullness(topology, parameters, columns, used, allocatable, request, nodes) / (100.0 * parameters.weight)
    assert np.allclose(found, want["score_of_every_node"], rtol=0, atol=want["tolerance"])


def score_hypernodes(given: dict[str, Any], want: dict[str, Any]) -> None:
    snapshot, gangs = session(given, Release.V1_15)
    # The default sub-job has the id of its job.
    ids = {f"{gang.key}/{sub.name}".rstrip("/"): (gang, sub.name) for gang in gangs for sub in sub_jobs(gang, snapshot)}
    gang, name = ids[given["sub_job"]]
    topology = snapshot.topology
    domains = np.array([topology.domain(one) for one in given["candidates"]], dtype=np.int32)
    parameters = parameters_of(given["plugin_arguments"])
    subs, search = search_1_15(gang, snapshot, parameters)
    found = search.scores_of(subs.names.index(name), domains).sum(axis=1) * 100.0 * parameters.weight
    assert_scores(dict(zip(given["candidates"], found.tolist(), strict=True)), want)


def count_tasks(given: dict[str, Any], want: dict[str, Any]) -> None:
    # A HyperNode that upstream's map does not know holds nothing; a task without a node is nowhere.
    sets = {given["hyperNodeName"]: [], **given["hyperNodes"]}
    given = {**given, "tasks": {task: node for task, node in given["tasks"].items() if node}}
    names = sorted({*given["tasks"].values(), *(node for nodes in sets.values() for node in nodes)})
    specs = [DomainSpec(name, 1, [names.index(node) for node in nodes]) for name, nodes in sets.items()]
    topology = Topology.build(names, specs)
    nodes = [topology.node(node) for node in given["tasks"].values()]
    pods = tuple(RunningPod("d", f"p{i}", node, {}, "d/j") for i, node in enumerate(nodes))
    cluster = replace(fabric(topology.node_names), topology=topology, running=pods)
    gang = Gang("d", "j", (Role("w", 1, {"cpu": 1}),), 1, TopologyConstraint("hard", 1), ready=len(pods))
    subs, search = search_1_15(gang, cluster, HyperNodeParameters())
    # Beside itself a HyperNode is one of two that are fullest: those count the tasks inside.
    share = search.scores_of(0, np.array([topology.domain(given["hyperNodeName"])] * 2, dtype=np.int32))[0, 1]
    assert share * subs[0].total == want["count"]


def search_1_15(gang: Gang, snapshot: ClusterSnapshot, parameters: HyperNodeParameters) -> tuple[SubJobs, TwoLevel]:
    ledger, policy = snapshot.ledger(), Volcano115(parameters)
    asked = policy.enter(policy.request(gang, ledger, GpuQuestions(GpuLowestIndex(NoParameters()), ledger), None))
    return asked.subs, policy.search(asked)


def best_of_scores(given: dict[str, Any], want: dict[str, Any]) -> None:
    pairs = sorted((name, float(score)) for score, names in given["score_to_hypernodes"].items() for name in names)
    at = best(np.array([score for _, score in pairs]))
    name, score = pairs[at] if at >= 0 else ("", 0.0)
    assert name in want["any_of"]
    assert score == want["score"]


def plugin_config(given: dict[str, Any], want: dict[str, Any], release: Release) -> None:
    option = PluginOption("network-topology-aware", {}, given["arguments"])
    found = dataclasses.asdict(TopologyArguments.of(option, release))
    pinned = {key: value for key, value in want.items() if value is not None}
    if not pinned:
        raise NotUnderstood("nothing is pinned")
    assert {key: found[key] for key in pinned} == pinned

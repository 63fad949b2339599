"""Base of the policies named after Volcano: scheduler configuration, the gang as its plugins see it, the session."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.kernels.domains import MAX_SUM, ScoreWeights
from workbench.model.arrays import Ints, Longs
from workbench.model.explanation import Recorder
from workbench.model.extras import VolcanoMemory
from workbench.model.gang import Gang
from workbench.model.labels import NodeFilter
from workbench.model.ledger import Ledger
from workbench.model.release import Release
from workbench.model.resources import PODS
from workbench.model.scheduler_config import SchedulerConfig
from workbench.policies.contract import SchedulerTraits
from workbench.policies.demand import Demand
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.node_policy import NodePolicy
from workbench.policies.request import Assignment, Declined, Request
from workbench.policies.retry import VOLCANO
from workbench.policies.volcano.filling import Filling, NodeExplainer
from workbench.policies.volcano.parts.node_scores import NodeScore
from workbench.policies.volcano.parts.plugins import (
    DEFAULT_CONFIG,
    TOPOLOGY,
    config_warnings,
    enabled,
    node_scores,
    score_parameters,
)
from workbench.policies.volcano.parts.scored_nodes import (
    FillContext,
    FixedScores,
    NodeOrderAtOpen,
    assumed_of,
    nodeorder_at_open,
    scored_columns,
    without_nodeorder,
)
from workbench.policies.volcano.parts.scores import NodeOrderParameters, score_weights
from workbench.policies.volcano.session.pipelined import assign_beside_endings
from workbench.policies.volcano.session.rounds import FlatRounds, Rounds

__all__ = ["Allocate", "PluginChanges", "VolcanoPolicy", "min_resources"]


P = TypeVar("P", bound=NodeOrderParameters)


class VolcanoPolicy(NodePolicy):
    """Base class of node policies that follow a scheduler configuration of Volcano (volcano-scheduler.conf).

    Attributes
    ----------
    release : Release
        Release whose defaults and arguments apply.
    config : SchedulerConfig
        The configuration that was given, else `DEFAULT_CONFIG`.
    gradients : bool
        Whether the plugin network-topology-aware chooses the HyperNodes to try (Volcano 1.15).
    scores_at_open : bool
        Whether nodeorder scores the nodes as they were when the session began. This is True without the plugin
        predicates, because only predicates passes the pods placed in the session on to nodeorder.
    waits_for_closer : bool
        Whether a job waits for terminating pods rather than start in a wider HyperNode now.
    explainer : NodeExplainer, optional
        Records scores of nodes for explanations; None: explanations lack them.
    """

    release: Release = Release.V1_13
    traits = SchedulerTraits(retry=VOLCANO, reads_names=False)
    waits_for_closer: bool = False

    def __init__(self, parameters: NodeOrderParameters, explainer: NodeExplainer | None = None) -> None:
        self.explainer = explainer
        given = parameters.config
        self.config = DEFAULT_CONFIG if given is None else given
        option = self.config.plugin(TOPOLOGY)
        self.gradients = option is not None and enabled(option, "HyperNodeGradient")
        predicates = self.config.plugin("predicates")
        self.scores_at_open = predicates is None
        self._changes = PluginChanges.of(self.config)
        self._filters_nodes = predicates is not None and enabled(predicates, "Predicate")
        self.warnings = () if given is None else config_warnings(given, self.release)
        self._weights: dict[tuple[str, ...], ScoreWeights] = {}
        self._at_open: dict[tuple[str, ...], NodeOrderAtOpen] = {}
        self._parameters = parameters if given is None else _configured(self.name, parameters, given, self.release)
        self._node_scores: tuple[NodeScore, ...] = node_scores(self.config, self.parameters)

    def context(self, request: Request) -> FillContext:
        """Make the `FillContext` of a request: node amounts and score weights, without regard to topology."""
        return FillContext(
            request,
            self._score_weights(scored_columns(request)),
            self.fixed_scores(request),
            request.demand.idle,
            request.ledger.used,
            assumed_of(request),
        )

    def fixed_scores(self, request: Request) -> FixedScores:
        """Parts of the node scores that no pod of the session changes."""
        at_open = None
        if self.scores_at_open:
            columns = scored_columns(request)
            if columns not in self._at_open:
                self._at_open[columns] = nodeorder_at_open(score_weights(self._parameters, columns))
            at_open = self._at_open[columns]
        return FixedScores(request, self._node_scores, at_open)

    def _score_weights(self, columns: tuple[str, ...]) -> ScoreWeights:
        """Weights over `columns` of the score parts that placed pods change; kept, because checking them takes long."""
        if columns not in self._weights:
            weights = score_weights(self._parameters, columns)
            self._weights[columns] = without_nodeorder(weights) if self.scores_at_open else weights
        return self._weights[columns]

    def best_effort_nodes(self, request: Request, role: int, pods: Longs) -> Ints:
        """Nodes for best-effort pods as Volcano's backfill chooses them: by the scores that all plugins give."""
        return self._best_effort_filling(request, pods).place_alike(role, len(pods))

    def _best_effort_filling(self, request: Request, pods: Longs) -> Filling:
        """Make the `Filling` that scores nodes for pods without a request, topology apart, as backfill does."""
        return Filling(self.context(request))

    @abstractmethod
    def rounds(self, request: Request) -> Rounds:
        """Make the `Rounds` in which a job's pods are placed, before the first round."""

    def assign(self, request: Request) -> Assignment | Declined:
        if request.ledger.releasing is not None:
            return assign_beside_endings(self, request)
        return self.assign_idle(request)

    def assign_idle(self, request: Request) -> Assignment | Declined:
        """Choose nodes by the idle resources alone; what terminating pods will free does not count."""
        rounds = self.rounds(request)
        if not rounds.over:
            rounds.take(request, None, every=True)
        return rounds.answer(request, None)

    def request(self, gang: Gang, ledger: Ledger, gpus: GpuQuestions, recorder: Recorder | None) -> Request:
        """Make the `Request` about a gang as the enabled plugins see it.

        Without the plugin predicates, selectors and taints do not restrict the nodes.
        """
        seen = self._changes.apply(gang)
        demand = Demand(seen, ledger, gpus) if self._filters_nodes else _ResourceDemand(seen, ledger, gpus)
        return Request(seen, ledger, demand, gpus, recorder)


class Allocate(VolcanoPolicy):
    """Volcano's allocate action without topology: nodes by binpack and nodeorder scores, minAvailable pods or none.

    Source: Volcano, allocate action with the plugins gang, predicates, nodeorder and binpack.
    """

    name = "allocate"
    traits = replace(VolcanoPolicy.traits, constraints=False)

    def rounds(self, request: Request) -> Rounds:
        return FlatRounds(request, self)


@dataclass(eq=False)
class _ResourceDemand(Demand):
    """Demand of a gang without the plugin predicates: resources only, no selectors, taints, cordons or pod slots.

    Nodes that are not ready take no pods all the same.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.rows = self.rows.copy()
        self.rows[:, self.ledger.snapshot.resources.index(PODS)] = 0

    def _accepting(self, condition: NodeFilter) -> npt.NDArray[np.bool_]:
        return ~self.ledger.snapshot.not_ready


def _configured(policy: str, parameters: P, config: SchedulerConfig, release: Release) -> P:
    """Merge what a scheduler configuration sets into `parameters`; InputError if one was set directly, too."""
    known = {field.name for field in fields(parameters)}
    given = {name: value for name, value in score_parameters(config, release).items() if name in known}
    defaults = type(parameters)()
    for name in given:
        if getattr(parameters, name) != getattr(defaults, name):
            raise InputError(
                "the configuration gives this weight", source=policy, where=name, expected="only one of the two"
            )
    return replace(parameters, **given)


class PluginChanges(NamedTuple):
    """What the plugins of a configuration that are missing or switched off change in a gang; read once per policy.

    `no_minimums`: no minimum of the job holds a pod back: the plugin gang is missing, or its job readiness is off.
    `no_group_minimums`: no minimum of a sub-group does: the plugin gang is missing, or its sub-job readiness is off.
    `no_priorities`: roles come in the gang's order: the plugin priority is missing, or its task order is off.
    """

    no_minimums: bool
    no_group_minimums: bool
    no_priorities: bool

    @classmethod
    def of(cls, config: SchedulerConfig) -> PluginChanges:
        """Read the plugins gang and priority of a configuration."""

        def off(plugin: str, switch: str) -> bool:
            option = config.plugin(plugin)
            return option is None or not enabled(option, switch)

        return cls(off("gang", "JobReady"), off("gang", "SubJobReady"), off("priority", "TaskOrder"))

    def apply(self, gang: Gang) -> Gang:
        """A gang without the minimums and priorities of which the configuration has no plugin."""
        if self.no_minimums:
            roles = tuple(replace(role, min_available=None) for role in gang.roles)
            gang = replace(gang, min_available=0, roles=roles, min_subgroups={})
        if self.no_group_minimums and gang.sub_groups:
            gang = replace(gang, sub_groups=tuple(replace(group, min_available=0) for group in gang.sub_groups))
        if self.no_priorities and len({role.priority for role in gang.roles}) > 1:
            # The order of sub-jobs still goes by the priorities of their pods.
            gang = replace(gang, tasks_by_priority=False)
        return gang


def min_resources(gang: Gang, resources: Sequence[str]) -> Longs | None:
    """minResources of the job's PodGroup as an array over a snapshot's resources, int64 (r,).

    None if the PodGroup has no minResources, so that nothing holds the job back. Resources that no node has are left
    out, as in Volcano, which compares only what nodes offer; amounts above `MAX_SUM`, which no cluster has, become
    `MAX_SUM`.
    """
    amounts = gang.extra(VolcanoMemory).min_resources
    if amounts is None:
        return None
    found = [amounts.get(name, 0) for name in resources]
    if max(found) > MAX_SUM:
        found = [min(amount, MAX_SUM) for amount in found]
    return np.array(found, dtype=np.int64)

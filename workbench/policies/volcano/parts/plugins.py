"""The parts of a scheduler configuration that are modelled: weights of scores, and warnings about everything else.

Source: Volcano's plugins of the same names; defaults and invalid values as there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.errors import InputError
from workbench.kernels.fading import MAX_WEIGHT
from workbench.model.notice import Notice
from workbench.model.release import Release
from workbench.model.scheduler_config import SWITCHES, PluginOption, SchedulerConfig
from workbench.policies.volcano.parts.node_scores import GpuScore, NodeScore, TaintScore
from workbench.policies.volcano.parts.topology_arguments import TopologyArguments

__all__ = [
    "ACTIONS",
    "DEFAULT_CONFIG",
    "NODE_SCORES",
    "TOPOLOGY",
    "config_warnings",
    "enabled",
    "hypernode_weight",
    "node_scores",
    "score_parameters",
    "sub_job_order",
]

TOPOLOGY = "network-topology-aware"

#: Actions that a session runs, in the order in which they may stand.
ACTIONS = ("enqueue", "allocate", "backfill")

#: What a policy without a configuration works by: the sample of the article on 1.13, but for the action enqueue (jobs
#: count as admitted, so that each is tried). The weights are the policy's parameters.
DEFAULT_CONFIG = SchedulerConfig(
    ("allocate", "backfill"),
    (
        (PluginOption("priority"), PluginOption("gang"), PluginOption("conformance")),
        (
            PluginOption("predicates"),
            PluginOption("proportion"),
            PluginOption(TOPOLOGY),
            PluginOption("nodeorder"),
            PluginOption("binpack"),
        ),
    ),
)

#: In the order in which they are added up and shown.
NODE_SCORES: tuple[type[NodeScore], ...] = (GpuScore, TaintScore)

# Volcano's framework turns on every switch that the configuration leaves out but this one.
_OFF = "Hierarchy"

_NODE_ORDER = {
    "leastrequested.weight": ("least_weight", 1),
    "mostrequested.weight": ("most_weight", 0),
    "balancedresource.weight": ("balanced_weight", 1),
    "tainttoleration.weight": ("taint_weight", 3),
}

_TOPOLOGY_1_13 = frozenset({"weight"})
_TOPOLOGY_1_15 = _TOPOLOGY_1_13 | {
    "hypernode.binpack.cpu",
    "hypernode.binpack.memory",
    "hypernode.binpack.resources",
    "hypernode.binpack.normal-pod.enable",
    "hypernode.binpack.normal-pod.fading",
}

#: Plugins that are modelled beside those of `NODE_SCORES`, with their arguments; an entry that ends in a point stands
#: for all that begin with it. conformance protects pods from eviction, which is not part of a session here.
_ARGUMENTS: Mapping[str, frozenset[str]] = {
    "priority": frozenset(),
    "gang": frozenset(),
    "conformance": frozenset(),
    "drf": frozenset(),
    "predicates": frozenset(),
    "proportion": frozenset(),
    "capacity": frozenset(),
    "overcommit": frozenset({"overcommit-factor", "overcommit-factor."}),
    "nodeorder": frozenset(_NODE_ORDER),
    "binpack": frozenset(
        {"binpack.weight", "binpack.cpu", "binpack.memory", "binpack.resources", "binpack.resources."}
    ),
}


def enabled(option: PluginOption, switch: str) -> bool:
    """Whether a function of a plugin is on; a function whose switch is not written is on, except ``Hierarchy``.

    `switch`: a name of `workbench.model.scheduler_config.SWITCHES`.
    """
    return option.switches.get(switch, switch != _OFF)


def score_parameters(config: SchedulerConfig, release: Release) -> dict[str, Any]:
    """Values of the policies' node score parameters that a scheduler configuration sets, by parameter name.

    The weights of a plugin that is missing, or whose node order is off, are 0. A negative weight counts as 0, which
    `config_warnings` reports.

    Raises InputError: a weight above the largest one allowed; names the configuration, the plugin and the argument.
    """
    _check_weights(config, release)
    nodeorder = _ordering(config, "nodeorder")
    found: dict[str, Any] = {
        name: max(nodeorder.integer(key, default), 0) if nodeorder else 0
        for key, (name, default) in _NODE_ORDER.items()
    }
    found |= _binpack(_ordering(config, "binpack"))
    topology = config.plugin(TOPOLOGY)
    if topology is None:
        return found | {"weight": 0, "normal_pod_enable": False}
    arguments = TopologyArguments.of(topology, release)
    return found | {
        "weight": max(arguments.weight, 0) if enabled(topology, "NodeOrder") else 0,
        "hypernode_binpack_cpu": arguments.cpu,
        "hypernode_binpack_memory": arguments.memory,
        "hypernode_binpack_resources": arguments.resources,
        "normal_pod_enable": arguments.normal_pod_enable and enabled(topology, "NodeOrder"),
        "normal_pod_fading": arguments.normal_pod_fading,
    }


def node_scores(config: SchedulerConfig, parameters: Mapping[str, Any]) -> tuple[NodeScore, ...]:
    """Make the node scores of `NODE_SCORES` that a configuration and a policy's parameters turn on.

    Raises InputError: an argument with a value that its plugin does not accept; names the configuration, the plugin and
    the argument.
    """
    found = []
    for part in NODE_SCORES:
        if not part.plugin:
            found.append(part.of(parameters))
            continue
        option = _ordering(config, part.plugin)
        if option is not None:
            numbers = {key: max(option.integer(key, default), 0) for key, default in part.weights.items()}
            texts = {key: option.text(key, default) for key, default in part.texts.items()}
            try:
                found.append(part.of({**numbers, **texts}))
            except InputError as error:
                raise error.at(source=f"{config.source or 'config'}: plugin {part.plugin}") from None
    return tuple(part for part in found if part is not None)


def _scoring(plugin: str) -> list[type[NodeScore]]:
    """Classes of the node scores that a plugin gives."""
    return [part for part in NODE_SCORES if part.plugin == plugin]


def _check_weights(config: SchedulerConfig, release: Release) -> None:
    for option in config.plugins:
        if option.name not in ("nodeorder", "binpack", TOPOLOGY) and not _scoring(option.name):
            continue
        for key, value in option.arguments.items():
            if type(value) in (int, float) and _is_known(option, key, release) and not value <= MAX_WEIGHT:
                raise InputError(
                    "the weight is too large",
                    source=config.source or "config",
                    where=f"plugin {option.name}, argument {key}",
                    got=str(value),
                    expected=f"at most {MAX_WEIGHT}",
                )


def hypernode_weight(config: SchedulerConfig, release: Release) -> int:
    """Weight of the scores of HyperNodes; the configuration switches them separately from the scores of nodes."""
    topology = config.plugin(TOPOLOGY)
    if topology is None or not enabled(topology, "HyperNodeOrder"):
        return 0
    return TopologyArguments.of(topology, release).weight


def sub_job_order(config: SchedulerConfig) -> tuple[str, ...]:
    """Plugins that order sub-jobs, as they are asked: gang (not ready before ready), priority (higher first)."""
    names = [option.name for option in config.plugins if enabled(option, "SubJobOrder")]
    return tuple(dict.fromkeys(name for name in names if name in ("gang", "priority")))


def _ordering(config: SchedulerConfig, name: str) -> PluginOption | None:
    option = config.plugin(name)
    return option if option is not None and enabled(option, "NodeOrder") else None


def _binpack(option: PluginOption | None) -> dict[str, Any]:
    if option is None:
        return {"binpack_weight": 0}

    return {
        "binpack_weight": max(option.integer("binpack.weight", 1), 0),
        "binpack_cpu": option.weight("binpack.cpu"),
        "binpack_memory": option.weight("binpack.memory"),
        "binpack_resources": {
            name: option.weight(f"binpack.resources.{name}") for name in option.names("binpack.resources")
        },
    }


def config_warnings(config: SchedulerConfig, release: Release) -> tuple[Notice, ...]:
    """A warning for every setting of a configuration that the model ignores."""
    return (*config.notes, *_about_actions(config), *(text for o in config.plugins for text in _about(o, release)))


def _about_actions(config: SchedulerConfig) -> Iterator[Notice]:
    for action in config.actions:
        if action not in ACTIONS:
            yield Notice("not-modelled", f"action {action} is not modelled: it does nothing here", f"action {action}")
    for action, arguments in config.action_arguments.items():
        for key in arguments:
            yield Notice("not-modelled", f"argument {key} of action {action} is not modelled", f"action {action}")


def _negative(option: PluginOption, key: str, value: object) -> bool:
    of_scores = (key for part in _scoring(option.name) for key in part.weights)
    weights = ("weight", "binpack.weight", *_NODE_ORDER, *of_scores)
    return type(value) is int and value < 0 and key in weights


def _known_arguments(option: PluginOption, release: Release) -> frozenset[str] | None:
    """Names of the arguments of a plugin that are modelled in a release; None if the plugin is not modelled."""
    if scoring := _scoring(option.name):
        return frozenset(key for part in scoring for key in (*part.weights, *part.texts))
    if option.name != TOPOLOGY:
        return _ARGUMENTS.get(option.name)
    return _TOPOLOGY_1_13 if release is Release.V1_13 else _TOPOLOGY_1_15 | {"hypernode.binpack.resources."}


def _is_known(option: PluginOption, key: str, release: Release) -> bool:
    known = _known_arguments(option, release) or frozenset()
    return key in known or any(key.startswith(prefix) for prefix in known if prefix.endswith("."))


def _about(option: PluginOption, release: Release) -> Iterator[Notice]:
    if _known_arguments(option, release) is None:
        yield Notice(
            "not-modelled", f"plugin {option.name} is not modelled: it has no effect here", f"plugin {option.name}"
        )
        return
    for key, value in option.arguments.items():
        if not _is_known(option, key, release):
            reads = " by 1.13" if option.name == TOPOLOGY and key in _TOPOLOGY_1_15 else ""
            yield Notice(
                "not-modelled",
                f"argument {key} of plugin {option.name} is not {'read' if reads else 'modelled'}{reads}",
                f"plugin {option.name}",
            )
        elif any(key in part.texts for part in _scoring(option.name)):
            if type(value) is not str:
                yield Notice(
                    "invalid-argument",
                    f"argument {key} of plugin {option.name} is no text: its default applies",
                    f"plugin {option.name}",
                )
        elif type(value) not in (int, float, bool) and not key.endswith((".resources", ".enable")):
            yield Notice(
                "invalid-argument",
                f"argument {key} of plugin {option.name} is no number: its default applies, as in Volcano",
                f"plugin {option.name}",
            )
        elif _negative(option, key, value) and (option.name != TOPOLOGY or release is Release.V1_13):
            yield Notice(
                "invalid-argument",
                f"argument {key} of plugin {option.name} is negative: it counts as 0 here",
                f"plugin {option.name}",
            )
    yield from _about_pipelined(option, release)
    if enabled(option, "Hierarchy"):
        yield Notice(
            "not-modelled",
            f"enableHierarchy of plugin {option.name} is not modelled: its queues stand side by side",
            f"plugin {option.name}",
        )


def _about_pipelined(option: PluginOption, release: Release) -> Iterator[Notice]:
    """Warnings for a plugin gang without its pipelined vote.

    Every job then counts as pipelined in Volcano and keeps its resources until the session ends, which is not modelled.
    """
    parts = [("Job", "a job")] + [("SubJob", "a sub-group")] * (release is Release.V1_15)
    for part, name in parts if option.name == "gang" else ():
        switch = f"{part}Pipelined"
        if enabled(option, f"{part}Ready") and not enabled(option, switch):
            yield Notice(
                "not-modelled",
                f"{SWITCHES[switch]}: false of plugin gang is not modelled: {name} that cannot start gives all back",
                "plugin gang",
            )

"""The registry of policies: lists them by name, and makes a policy from the name that a user typed.

The registry holds our own policies, those of the entry-point group ``workbench.policies`` (an `Entry` or a function of
another package), and those that the decorator `policy` adds in a notebook cell. A policy of ours is imported when it is
made or described, not with the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal, TypeVar, cast

from workbench.errors import InputError, UnknownNameError
from workbench.model.deferred import Deferred
from workbench.model.display import Tabular
from workbench.policies.composed import Composed
from workbench.policies.contract import Policy, SchedulerTraits
from workbench.policies.departures import DEPARTURES
from workbench.policies.function import FunctionPolicy, PlaceFunction, parameters_of
from workbench.policies.gpu.base import GpuPolicy
from workbench.policies.node_policy import NodePolicy
from workbench.policies.parameters import NoParameters, ParameterInfo, make_policy, parameter_infos, read_parameters

__all__ = [
    "Entry",
    "PolicyInfo",
    "PolicyList",
    "as_policy",
    "get_gpu_policy",
    "get_policy",
    "list_policies",
    "policy",
    "watch",
]

F = TypeVar("F", bound=PlaceFunction)

GROUP = "workbench.policies"
_GPU_PREFIX = "gpu."


@dataclass(frozen=True)
class Entry:
    """A policy as it stands in the registry: its name, how it is made, and its parameters.

    Attributes
    ----------
    name : str
        The name that users type.
    kind : {"node", "gpu", "whole"}
        Chooses nodes, GPUs on a node, or both.
    make : callable
        Function from an instance of `parameters` to a `NodePolicy`, a `GpuPolicy` or, for a whole policy, a `Policy`.
    parameters : type or Deferred
        Frozen dataclass of `workbench.policies.parameters.parameter` fields.
    meaning : str
        One line.
    source : str
        Document or program whose behaviour it is.
    compose : type of Composed, or Deferred
        Policy that is made of the node policy and a GPU policy; a scheduler with sessions of its own has its own class.

    Notes
    -----
    A `Deferred` names a class or function of a module that is imported when the policy is made or described.
    """

    name: str
    kind: Literal["node", "gpu", "whole"]
    make: Callable[[Any], NodePolicy | GpuPolicy | Policy]
    parameters: type[Any] | Deferred
    meaning: str
    source: str
    compose: Callable[..., Policy] = Composed

    @property
    def parameter_type(self) -> type[Any]:
        """The dataclass of the parameters, imported if need be."""
        return self.parameters.load() if isinstance(self.parameters, Deferred) else self.parameters


@dataclass(frozen=True)
class PolicyInfo:
    """One policy as `workbench policies` lists it: name, kind, parameters, meaning and source.

    `departs` lists the rules of the design documents that the policy does not follow, because the released program does
    not.
    """

    name: str
    kind: str
    parameters: tuple[ParameterInfo, ...]
    meaning: str
    source: str
    departs: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "parameters": [{**asdict(each), "range": each.range} for each in self.parameters]}


_VOLCANO = "Volcano"
_VOLCANO_SCHEDULER = Deferred("workbench.policies.volcano.session.session:VolcanoScheduler")
_ASCEND = "Ascend MindCluster, switch affinity"
_NVIDIA = "NVIDIA go-gpuallocator"
_GPU_SHARING = Deferred("workbench.policies.gpu_sharing.policy:GpuSharingPolicy")
_FGD = "FGD study (USENIX ATC'23)"

_place_hyper_job = Deferred("workbench.policies.hyper_job.place:place_hyper_job")


def _make_explained(node_policy: Deferred, parameters: Any) -> NodePolicy:
    """A policy of Volcano with the explainer of Volcano's searches."""
    from workbench.policies.volcano.explain.search_explainer import VolcanoExplainer

    made: NodePolicy = node_policy(parameters, explainer=VolcanoExplainer())
    return made


def _explained(home: str) -> Callable[[Any], NodePolicy]:
    return partial(_make_explained, Deferred(home))


def _sharing(name: str, rule: str, parameters: Deferred, meaning: str, source: str = _FGD) -> Entry:
    """Entry of a policy that lets pods share GPUs by a rule of the kernel."""
    return Entry(name, "whole", partial(_GPU_SHARING, name, rule), parameters, meaning, source)


_BUILT_IN = (
    Entry(
        "allocate",
        "node",
        _explained("workbench.policies.volcano.session.policy:Allocate"),
        Deferred("workbench.policies.volcano.parts.scores:NodeOrderParameters"),
        "Volcano without topology: gang, binpack and nodeorder scores",
        f"{_VOLCANO} 1.13, allocate action",
        _VOLCANO_SCHEDULER,
    ),
    Entry(
        "volcano-1.13",
        "node",
        _explained("workbench.policies.volcano.v1_13.policy:Volcano113"),
        Deferred("workbench.policies.volcano.parts.scores:TopologyParameters"),
        "hard, soft and plain jobs tier by tier, LCA score, recorded HyperNode",
        f"{_VOLCANO} 1.13, network-topology-aware",
        _VOLCANO_SCHEDULER,
    ),
    Entry(
        "volcano-documents",
        "node",
        _explained("workbench.policies.volcano.v1_13.documents:VolcanoDocuments"),
        Deferred("workbench.policies.volcano.parts.scores:TopologyParameters"),
        "the letter of the design documents: LCA rule, scores 100/50/0, tier 1 by default, record on the PodGroup",
        "Volcano design document and article on 1.13",
        _VOLCANO_SCHEDULER,
    ),
    Entry(
        "volcano-1.15",
        "node",
        _explained("workbench.policies.volcano.v1_15.policy:Volcano115"),
        Deferred("workbench.policies.volcano.v1_15.hypernode_scores:HyperNodeParameters"),
        "two-level search with sub-groups, soft as hard at the virtual top, packing of HyperNodes",
        f"{_VOLCANO}, newest after 1.15, network-topology-aware",
        Deferred("workbench.policies.volcano.v1_15.policy:Volcano115Scheduler"),
    ),
    Entry(
        "switch-affinity",
        "node",
        Deferred("workbench.policies.switch_affinity.policy:SwitchAffinity"),
        Deferred("workbench.policies.switch_affinity.policy:SwitchParameters"),
        "foundation-model, common and padding jobs on idle, shared and exclusive switches",
        f"{_ASCEND} 2.0",
    ),
    Entry(
        "switch-affinity-1.0",
        "node",
        Deferred("workbench.policies.switch_affinity.policy:SwitchAffinity10"),
        Deferred("workbench.policies.switch_affinity.policy:TableParameters"),
        "one cross-switch job per switch, in full or in logical switches",
        f"{_ASCEND} 1.0",
    ),
    Entry(
        "switch-affinity-single-layer",
        "node",
        Deferred("workbench.policies.switch_affinity.policy:SingleLayer"),
        Deferred("workbench.policies.switch_affinity.policy:TableParameters"),
        "every job under one switch",
        f"{_ASCEND}, single-layer network",
    ),
    Entry(
        "koordinator-network",
        "node",
        Deferred("workbench.policies.koordinator.network:KoordinatorNetwork"),
        NoParameters,
        "a gang under one domain of the network, MustGather or PreferGather per layer",
        "Koordinator, ClusterNetworkTopology solver",
        Deferred("workbench.policies.koordinator.network:GangGroupScheduler"),
    ),
    Entry(
        "kube-default",
        "node",
        Deferred("workbench.policies.kube.policy:KubeDefault"),
        Deferred("workbench.policies.kube.parameters:KubeParameters"),
        "pods one by one by default filters and scores, all or nothing",
        "kube-scheduler 1.37.2, default profile",
        Deferred("workbench.policies.kube.policy:KubeScheduler"),
    ),
    Entry(
        "kube-1.37-topology",
        "node",
        Deferred("workbench.policies.kube.groups.policy:KubeTopology"),
        Deferred("workbench.policies.kube.groups.policy:KubeTopologyParameters"),
        "a gang in one domain of its level, the fullest that takes most pods",
        "kube-scheduler 1.37.2, topology-aware workloads",
        Deferred("workbench.policies.kube.groups.policy:KubeTopologyScheduler"),
    ),
    Entry(
        "kueue-0.19",
        "node",
        Deferred("workbench.policies.kueue.policy:Kueue019"),
        Deferred("workbench.policies.kueue.policy:KueueParameters"),
        "a gang in one domain of a level, or in few; slices, leader groups",
        "Kueue 0.19.2, Topology Aware Scheduling",
        Deferred("workbench.policies.kueue.queued.scheduler:KueueScheduler"),
    ),
    Entry(
        "gang",
        "node",
        Deferred("workbench.policies.baselines:GangFirstFit"),
        NoParameters,
        "all or nothing, first fit by name",
        "baseline",
    ),
    Entry(
        "binpack",
        "node",
        Deferred("workbench.policies.baselines:BinPack"),
        Deferred("workbench.policies.baselines:ScoreParameters"),
        "fullest node first",
        "baseline",
    ),
    Entry(
        "spread",
        "node",
        Deferred("workbench.policies.baselines:Spread"),
        Deferred("workbench.policies.baselines:ScoreParameters"),
        "emptiest node first",
        "baseline",
    ),
    Entry(
        "random",
        "node",
        Deferred("workbench.policies.baselines:Random"),
        Deferred("workbench.policies.baselines:RandomParameters"),
        "a random free slot for each pod",
        "baseline",
    ),
    Entry(
        "gpu-bottleneck",
        "gpu",
        Deferred("workbench.policies.gpu.bottleneck:GpuBottleneck"),
        Deferred("workbench.policies.gpu.bottleneck:BottleneckParameters"),
        "GPUs whose slowest pair is fastest, exactly; link classes first",
        "Koordinator proposal 20230314, Pick GPUs of Node; docs/decisions.md, decision 1",
    ),
    Entry(
        "gpu-lowest-index",
        "gpu",
        Deferred("workbench.policies.gpu.lowest_index:GpuLowestIndex"),
        NoParameters,
        "free GPUs with the lowest numbers",
        "baseline",
    ),
    Entry(
        "gpu-best-effort",
        "gpu",
        Deferred("workbench.policies.gpu.best_effort:GpuBestEffort"),
        NoParameters,
        "link counts summed over a split of all free GPUs, up to 16",
        f"{_NVIDIA}, best-effort policy of the device plugin",
    ),
    Entry(
        "gpu-simple",
        "gpu",
        Deferred("workbench.policies.gpu.simple:GpuSimple"),
        NoParameters,
        "free GPUs with the lowest numbers",
        f"{_NVIDIA}, simple policy",
    ),
    Entry(
        "gpu-static-dgx",
        "gpu",
        Deferred("workbench.policies.gpu.static_dgx:GpuStaticDgx"),
        Deferred("workbench.policies.gpu.static_dgx:StaticDgxParameters"),
        "sets from the table of a DGX: 1, 2, 4, 8 or 16 GPUs, others refused",
        f"{_NVIDIA}, static DGX policies",
    ),
    Entry(
        "gpu-ascend910",
        "gpu",
        Deferred("workbench.policies.gpu.ascend910:GpuAscend910"),
        NoParameters,
        "1, 2 or 4 NPUs inside one of two rings, or all 8",
        "Ascend mind-cluster, module910x8",
    ),
    Entry(
        "gpu-mapa",
        "gpu",
        Deferred("workbench.policies.gpu.mapa:GpuMapa"),
        Deferred("workbench.policies.gpu.mapa:MapaParameters"),
        "predicted bandwidth of a ring of GPUs, or most NVLink bandwidth left for others",
        "MAPA (SC21), preserve policy",
    ),
    Entry(
        "gpu-koordinator-partition",
        "gpu",
        Deferred("workbench.policies.koordinator.partition_policy:GpuPartition"),
        Deferred("workbench.policies.koordinator.partition_policy:PartitionParameters"),
        "partitions of neighbours from Koordinator's built-in table",
        "Koordinator, deviceshare GPU allocator",
    ),
    Entry(
        "koordinator-gpu",
        "whole",
        Deferred("workbench.policies.koordinator.gpu:KoordinatorGpu"),
        Deferred("workbench.policies.koordinator.gpu:KoordinatorGpuParameters"),
        "GPU groups planned together: fewest nodes, least left over, best bottleneck",
        "Koordinator proposal 20230314",
    ),
    _sharing(
        "fgd",
        "fgd",
        Deferred("workbench.policies.gpu_sharing.policy:FgdParameters"),
        "shares of GPUs where least becomes unusable for the usual pods",
    ),
    _sharing(
        "fgd-random",
        "random",
        Deferred("workbench.policies.gpu_sharing.policy:DrawParameters"),
        "shares of GPUs on a node and GPU drawn at random",
    ),
    _sharing(
        "fgd-dot-product",
        "dot-product",
        Deferred("workbench.policies.gpu_sharing.policy:TieParameters"),
        "shares of GPUs where idle times asked is smallest",
    ),
    _sharing(
        "fgd-clustering",
        "clustering",
        Deferred("workbench.policies.gpu_sharing.policy:TieParameters"),
        "shares of GPUs beside pods that ask for GPUs alike",
    ),
    _sharing(
        "fgd-packing",
        "packing",
        Deferred("workbench.policies.gpu_sharing.policy:TieParameters"),
        "shares of GPUs on GPUs and nodes in use before idle ones",
    ),
    _sharing(
        "fgd-best-fit",
        "best-fit",
        Deferred("workbench.policies.gpu_sharing.policy:TieParameters"),
        "shares of GPUs on the node with the least left over",
    ),
    _sharing(
        "headroom",
        "headroom",
        Deferred("workbench.policies.gpu_sharing.policy:HeadroomParameters"),
        "as fgd, and in a nearly full cluster pods wait rather than strand GPUs",
        "our own, docs/fgd.md",
    ),
)

#: Names that stand for the newest registered of a family.
_ALIASES = {"volcano": "volcano-1.15"}

_registered: dict[str, Entry] = {entry.name: entry for entry in _BUILT_IN}
#: What the decorator `policy` made of each function, so that the function itself stands for its policy.
_of_function: dict[PlaceFunction, Entry] = {}
_own = frozenset(_registered) | frozenset(_ALIASES)
_packages_read = False
_watching: list[Callable[[str], None]] = []


def _register(entry: Entry) -> None:
    if entry.name in _own:
        raise InputError("this name is taken by a built-in policy", source="policy", got=entry.name)
    if not entry.name or "+" in entry.name or entry.name != entry.name.strip():
        raise InputError("not a name for a policy", source="policy", got=repr(entry.name), expected="no '+', no spaces")
    _registered[entry.name] = entry


def policy(name: str, *, reads_topology: bool = False, meaning: str = "") -> Callable[[F], F]:
    """Decorator that registers a function as a node policy, replacing an earlier function of that name.

    The function is called with the gang, the ledger and its own keyword parameters (those with defaults; users set them
    like any policy's). It answers with one entry per pod (a node's name or index, None for a pod left out), or refuses
    with None, a text, or a `Refusal`. GPUs are chosen by the GPU policy it is combined with.

    Parameters
    ----------
    name : str
        The name that users type.
    reads_topology : bool
        Refuse a gang, without calling the function, if the HyperNodes form no tree.
    meaning : str
        One line for the list of policies; the first line of the docstring by default.

    Examples
    --------
    >>> import workbench as wb
    >>> @wb.policy("first-rack")
    ... def first_rack(gang, ledger):
    ...     for rack in ledger.topology.domains_at(1):
    ...         nodes = ledger.topology.nodes_of(rack)
    ...         if len(nodes) >= gang.n_pods:
    ...             return nodes[: gang.n_pods]
    ...     return "no rack has a node for each pod"
    >>> wb.place(wb.gang("mine", pods=2, gpus=8), wb.generate_scenario("three-level-tree"), policy=first_rack)
    Placement(default/mine by first-rack: 2 pods on 2 nodes)
    """

    if type(name) is not str:
        raise InputError("a policy needs a name", source="policy", got=repr(name), expected='@policy("NAME")')

    def register(function: F) -> F:
        _of_function[function] = _function_entry(name, function, reads_topology, meaning)
        _register(_of_function[function])
        for told in tuple(_watching):
            told(name)
        return function

    return register


def watch(told: Callable[[str], None]) -> Callable[[], None]:
    """Call ``told`` with the name of every policy that is registered from now on (by a notebook cell).

    Returns
    -------
    callable
        Function that ends the calls of ``told``; calling it again does nothing.
    """
    _watching.append(told)

    def end() -> None:
        if told in _watching:
            _watching.remove(told)

    return end


def _function_entry(name: str, function: PlaceFunction, reads_topology: bool = False, meaning: str = "") -> Entry:
    def make(parameters: Any) -> FunctionPolicy:
        traits = SchedulerTraits(reads_topology=reads_topology)
        return FunctionPolicy(name, function, asdict(parameters), traits)

    first_line = (function.__doc__ or "").strip().partition("\n")[0]
    return Entry(name, "node", make, parameters_of(name, function), meaning or first_line, function.__module__)


def _entries() -> dict[str, Entry]:
    """Every registered policy by name; policies of other packages (entry points) are loaded at the first call."""
    global _packages_read
    if not _packages_read:
        from importlib.metadata import entry_points

        _packages_read = True
        for found in entry_points(group=GROUP):
            loaded = found.load()
            _register(loaded if isinstance(loaded, Entry) else _function_entry(found.name, loaded))
    return _registered


class PolicyList(tuple[PolicyInfo, ...], Tabular):
    """The registered policies, a tuple that is a table, too."""


def list_policies() -> PolicyList:
    """Every registered policy: node policies first, then GPU policies, then whole ones, each by name.

    Examples
    --------
    >>> import workbench as wb
    >>> table = wb.list_policies().to_dataframe()
    >>> table[table["kind"] == "gpu"]["name"].tolist()[:2]
    ['gpu-ascend910', 'gpu-best-effort']
    """
    kinds = ("node", "gpu", "whole")
    entries = sorted(_entries().values(), key=lambda e: (kinds.index(e.kind), e.name.encode()))
    return PolicyList(
        PolicyInfo(e.name, e.kind, parameter_infos(e.parameter_type), _meaning(e), e.source, DEPARTURES.get(e.name, ()))
        for e in entries
    )


def _meaning(entry: Entry) -> str:
    also = [alias for alias, name in _ALIASES.items() if name == entry.name]
    return f"{entry.meaning} (also: {', '.join(also)})" if also else entry.meaning


def get_policy(spec: str, *, gpu: Mapping[str, object] | None = None, **parameters: object) -> Policy:
    """Make a policy from its name and parameters.

    Parameters
    ----------
    spec : str
        ``NODE``, ``NODE+GPU`` or the name of a whole policy. Without a GPU part: `gpu-bottleneck` where the snapshot
        has a matrix, lowest indices elsewhere.
    gpu : mapping, optional
        Parameters of the GPU part; they can also be given as ``gpu.NAME`` among `parameters`.
    **parameters
        Parameters of the node part or the whole policy. Numbers and flags may be given as texts.

    Returns
    -------
    Policy

    Raises
    ------
    UnknownNameError
        No such policy or parameter; close names are offered.
    InputError
        A part of the wrong kind, a value of the wrong type or out of range.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.get_policy("volcano+gpu-lowest-index").name
    'volcano-1.15+gpu-lowest-index'
    """
    _check_name(spec)
    of_node, of_gpu = _parted(parameters, gpu)
    first, plus, second = (part.strip() for part in spec.partition("+"))
    entry = _find(first, ("node", "whole"))
    if entry.kind == "whole":
        if plus:
            raise InputError("it chooses the GPUs itself", source=entry.name, got=spec, expected="no GPU part")
        if of_gpu:
            known = [info.name for info in parameter_infos(entry.parameter_type)]
            raise UnknownNameError(f"parameter of {entry.name}", f"{_GPU_PREFIX}{next(iter(of_gpu))}", known)
        whole: Policy = _make(entry, of_node, Policy)
        return whole
    if not plus:
        return _with_usual_gpus(entry, of_node, of_gpu)
    node: NodePolicy = _make(entry, of_node, NodePolicy)
    chooser = _find(second, ("gpu",))
    return entry.compose(f"{entry.name}+{chooser.name}", node, _make(chooser, of_gpu, GpuPolicy), _place_hyper_job)


def _parted(
    parameters: Mapping[str, object], gpu: Mapping[str, object] | None
) -> tuple[dict[str, object], dict[str, object]]:
    """Parameters of the node part and those of the GPU part."""
    of_gpu = dict(gpu or {})
    of_node: dict[str, object] = {}
    for name, value in parameters.items():
        if name.startswith(_GPU_PREFIX):
            of_gpu[name.removeprefix(_GPU_PREFIX)] = value
        else:
            of_node[name] = value
    return of_node, of_gpu


def _with_usual_gpus(entry: Entry, of_node: Mapping[str, object], of_gpu: Mapping[str, object]) -> Policy:
    """A node policy without a GPU part of the user's choice."""
    from workbench.policies.gpu.bottleneck import BottleneckParameters, GpuBottleneck

    node: NodePolicy = _make(entry, of_node, NodePolicy)
    usual = read_parameters(GpuBottleneck.name, BottleneckParameters, of_gpu)
    return entry.compose(entry.name, node, make_policy(partial(GpuBottleneck, required=False), usual), _place_hyper_job)


def as_policy(given: object, parameters: Mapping[str, Any] | None = None) -> Policy:
    """The policy that a name, a decorated function or a policy stands for.

    Parameters
    ----------
    given : str, callable or Policy
        Of functions, those that the decorator `policy` registered.
    parameters : mapping of str to Any, optional
        Parameters as of `get_policy`; a policy object has its own.

    Raises
    ------
    UnknownNameError
        No such policy or parameter.
    InputError
        Neither a name nor a policy, such as a function without the decorator; parameters for a policy object.
    """
    values = dict(parameters or {})
    if isinstance(given, str):
        return get_policy(given, **values)
    decorated = _of_function.get(cast("PlaceFunction", given)) if isinstance(given, Hashable) else None
    if decorated is not None:
        return _with_usual_gpus(decorated, *_parted(values, values.pop("gpu", None)))
    if not isinstance(given, Policy) and not callable(getattr(given, "schedule", None)):
        expected = "a name such as 'volcano', a Policy, or a function with the decorator @workbench.policy('name')"
        raise InputError("not a policy", source="policy", got=repr(given), expected=expected)
    if values:
        raise InputError("a policy object has its parameters already", source="policy", got=", ".join(sorted(values)))
    return cast("Policy", given)


def get_gpu_policy(name: str, **parameters: object) -> GpuPolicy:
    """Make a GPU policy without a node policy, for questions about one machine; errors as in `get_policy`.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.get_gpu_policy("gpu-bottleneck", symmetric="max").parameters["symmetric"]
    'max'
    """
    _check_name(name)
    made: GpuPolicy = _make(_find(name, ("gpu",)), parameters, GpuPolicy)
    return made


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise InputError("not the name of a policy", source="policy", got=repr(name), expected="text such as 'gang'")


def _make(entry: Entry, given: Mapping[str, object], wanted: type[Any]) -> Any:
    made = make_policy(entry.make, read_parameters(entry.name, entry.parameter_type, given))
    if not isinstance(made, wanted):
        raise InputError(
            f"the entry of a {entry.kind} policy makes something else",
            source=entry.name,
            got=type(made).__name__,
            expected=wanted.__name__,
        )
    return made


def _find(name: str, kinds: tuple[str, ...]) -> Entry:
    # No package may take a name of our own: its policies are asked for, which takes a while, for other names alone.
    entries = _registered if name in _own else _entries()
    entry = entries.get(_ALIASES.get(name, name))
    wanted = "GPU policy" if kinds == ("gpu",) else "policy"
    if entry is None:
        known = [e.name for e in entries.values() if e.kind in kinds]
        raise UnknownNameError(wanted, name, known if kinds == ("gpu",) else [*known, *_ALIASES])
    if entry.kind not in kinds:
        expected = "NODE+GPU, such as allocate+gpu-bottleneck" if entry.kind == "gpu" else "a GPU policy after the '+'"
        raise InputError(f"it is a {entry.kind} policy", source=entry.name, expected=expected)
    return entry

"""The registry of policies: lists them by name, and makes a policy from the name that a user typed.

The registry holds our own policies, those of the entry-point group ``workbench.policies`` (an `Entry` or a function of
another package), and those that the decorator `policy` adds in a notebook cell.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeVar, cast

from workbench.errors import InputError, UnknownNameError, named_arguments
from workbench.model.deferred import Deferred
from workbench.model.display import Tabular
from workbench.policies.built_in import ALIASES, BUILT_IN, Entry
from workbench.policies.contract import Policy, SchedulerTraits
from workbench.policies.departures import DEPARTURES
from workbench.policies.function import FunctionPolicy, PlaceFunction, parameters_of
from workbench.policies.gpu.base import GpuPolicy
from workbench.policies.node_policy import NodePolicy
from workbench.policies.parameters import ParameterInfo, make_policy, parameter_infos, read_parameters

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


_place_hyper_job = Deferred("workbench.policies.hyper_job.place:place_hyper_job")


_registered: dict[str, Entry] = {entry.name: entry for entry in BUILT_IN}
#: What the decorator `policy` made of each function, so that the function itself stands for its policy.
_of_function: dict[PlaceFunction, Entry] = {}
_own = frozenset(_registered) | frozenset(ALIASES)
_packages_read = False
_watching: list[Callable[[str], None]] = []


def _register(entry: Entry) -> None:
    if entry.name in _own:
        raise InputError("this name is taken by a built-in policy", source="policy", got=entry.name)
    if not entry.name or "+" in entry.name or entry.name != entry.name.strip():
        raise InputError("not a name for a policy", source="policy", got=repr(entry.name), expected="no '+', no spaces")
    _registered[entry.name] = entry


@named_arguments
def policy(name: str, *, reads_topology: bool = False, meaning: str = "") -> Callable[[F], F]:
    """Decorator that registers a function as a node policy, replacing an earlier function of that name.

    The function is called with the gang, the ledger and its own keyword parameters (those with defaults; users set them
    like any policy's). It answers with one entry per pod (a node's name or index, None for a pod left out), or refuses
    with None, a text, or a `Refusal`. GPUs are chosen by the GPU policy it is combined with.

    `name`: the name that users type. `reads_topology`: refuse a gang, without calling the function, if the HyperNodes
    form no tree. `meaning`: one line for the list of policies; the first line of the docstring by default.

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

    Returns callable: function that ends the calls of ``told``; calling it again does nothing.
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
    also = [alias for alias, name in ALIASES.items() if name == entry.name]
    return f"{entry.meaning} (also: {', '.join(also)})" if also else entry.meaning


def get_policy(spec: str, *, gpu: Mapping[str, object] | None = None, **parameters: object) -> Policy:
    """Make a policy from its name and parameters.

    Raises UnknownNameError: no such policy or parameter; close names are offered. Raises InputError: a part of the
    wrong kind, a value of the wrong type or out of range.

    Parameters
    ----------
    spec : str
        ``NODE``, ``NODE+GPU`` or the name of a whole policy. Without a GPU part: `gpu-bottleneck` where the snapshot
        has a matrix, lowest indices elsewhere.
    gpu : mapping, optional
        Parameters of the GPU part; they can also be given as ``gpu.NAME`` among `parameters`.
    **parameters
        Parameters of the node part or the whole policy. Numbers and flags may be given as texts.

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

    `given`: of functions, those that the decorator `policy` registered. `parameters`: parameters as of `get_policy`; a
    policy object has its own. Raises UnknownNameError: no such policy or parameter. Raises InputError: neither a name
    nor a policy, such as a function without the decorator; parameters for a policy object.
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
    entry = entries.get(ALIASES.get(name, name))
    wanted = "GPU policy" if kinds == ("gpu",) else "policy"
    if entry is None:
        known = [e.name for e in entries.values() if e.kind in kinds]
        raise UnknownNameError(wanted, name, known if kinds == ("gpu",) else [*known, *ALIASES])
    if entry.kind not in kinds:
        expected = "NODE+GPU, such as allocate+gpu-bottleneck" if entry.kind == "gpu" else "a GPU policy after the '+'"
        raise InputError(f"it is a {entry.kind} policy", source=entry.name, expected=expected)
    return entry

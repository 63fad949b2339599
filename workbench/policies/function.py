"""Policies that are one Python function, as written in a notebook cell."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass, replace
from typing import Any, Self

import numpy as np

from workbench.cancel import call_foreign
from workbench.errors import InputError
from workbench.model.gang import Gang
from workbench.model.ledger import Ledger
from workbench.model.notice import Notice
from workbench.model.placement import UNPLACED, Refusal
from workbench.policies.contract import SchedulerTraits
from workbench.policies.demand import node_text
from workbench.policies.node_policy import NodePolicy
from workbench.policies.parameters import NoParameters, parameter, read_parameters
from workbench.policies.reasons import gang_incomplete
from workbench.policies.request import Assignment, Declined, Request

__all__ = ["FunctionPolicy", "PlaceFunction", "parameters_of"]

#: ``(gang, ledger, **parameters)`` -> a node (name, index or None) per pod, or None, a reason text or a Refusal.
PlaceFunction = Callable[..., Any]


def parameters_of(name: str, function: PlaceFunction) -> type:
    """Make the parameter dataclass of a policy that is a function: the arguments after gang and ledger.

    A parameter's type is that of its default.

    Raises InputError: fewer than two parameters, or a further one without a default.
    """
    _, *rest = inspect.signature(function).parameters.values()
    if not rest:
        raise InputError("not a policy function", source=name, got="one parameter", expected="gang, ledger, ...")
    fields: list[tuple[str, Any, Any]] = []
    for given in rest[1:]:
        if given.default is inspect.Parameter.empty:
            raise InputError("a parameter needs a default", source=name, where=given.name)
        fields.append((given.name, type(given.default), parameter(given.default, "")))
    return make_dataclass("Parameters", fields, frozen=True) if fields else NoParameters


@dataclass(eq=False)
class FunctionPolicy(NodePolicy):
    """A node policy that calls a user's function and checks the function's answer.

    The function gets the gang and a copy of the ledger, whose arrays it may change as it likes. It returns one entry
    per pod: a node's name or index, or None or -1 for a pod that is left out. To refuse the gang it returns None, a
    text or a `Refusal`.
    """

    name: str
    function: PlaceFunction
    values: Mapping[str, Any] = field(default_factory=dict)
    traits: SchedulerTraits = field(default_factory=SchedulerTraits)

    @property
    def parameters(self) -> Mapping[str, Any]:
        return dict(self.values)

    def with_parameters(self, **values: object) -> Self:
        """Make a policy that calls this one's function with other values of some parameters.

        Raises UnknownNameError: a parameter that the function does not have; close names are offered. Raises
        InputError: a value of another type than the parameter's default.

        Parameters
        ----------
        **values
            Values by the names of the function's parameters; the others keep theirs.
        """
        read: Any = read_parameters(self.name, parameters_of(self.name, self.function), values)
        return replace(self, values={**self.values, **{name: getattr(read, name) for name in values}})

    def _remember(self, make: Callable[[Any], Any], parameters: Any) -> None:
        # The function and its values are enough to remake the policy; a dataclass made at run time cannot be pickled.
        pass

    def assign(self, request: Request) -> Assignment | Declined:
        """Call the user's function and turn its answer into an `Assignment` or `Declined`.

        Raises InputError, naming the policy, if the function's answer is neither a placement nor a refusal.
        """
        answer = call_foreign(self.function, request.gang, request.ledger.copy(), **self.values)
        if answer is None:
            return Declined((Notice("refused", f"{self.name} found no placement"),))
        if isinstance(answer, str):
            return Declined((Notice("refused", answer),))
        if isinstance(answer, Refusal):
            return Declined(answer.reasons, answer.nearest_misses, answer.warnings)
        node = self._nodes(request.gang, request.ledger, answer)
        for role in request.demand.best_effort:
            start = int(request.gang.role_start[role])
            node[start : start + request.gang.roles[role].count] = UNPLACED
        self._check_room(request, node)
        progress = request.progress()
        missing = progress.missing
        for role in request.demand.order:
            start = int(request.gang.role_start[role])
            progress.place(role, int((node[start : start + request.gang.roles[role].count] >= 0).sum()))
        if not progress.ready:
            return Declined((gang_incomplete(missing - progress.missing, missing),))
        reasons = {
            role: (Notice("left-out", f"{self.name} gave it no node"),)
            for role in request.demand.order
            if progress.left[role]
        }
        return Assignment(node, reasons)

    def _nodes(self, gang: Gang, ledger: Ledger, answer: Sequence[Any]) -> Any:
        try:
            entries = list(answer)
        except TypeError:
            expected = "a node per pod, None, a reason as text, or a Refusal"
            raise InputError(
                "no placement", source=self.name, where=gang.key, got=repr(answer), expected=expected
            ) from None
        if len(entries) != gang.n_pods:
            raise InputError(
                "one node per pod is needed",
                source=self.name,
                where=gang.key,
                got=f"{len(entries)} entries",
                expected=str(gang.n_pods),
            )
        topology = ledger.topology
        node = np.full(gang.n_pods, UNPLACED, dtype=np.int32)
        for position, entry in enumerate(entries):
            if entry is None:
                continue
            if isinstance(entry, str):
                known = topology.has_node(entry)
                index = topology.node(entry) if known else 0
            else:
                known = isinstance(entry, (int, np.integer)) and -1 <= int(entry) < topology.n_nodes
                index = int(entry) if known else 0
            if not known:
                raise InputError(
                    "no such node",
                    source=self.name,
                    where=f"{gang.key}, pod {position}",
                    got=repr(entry),
                    expected=f"a node's name, 0 to {topology.n_nodes - 1}, or None",
                )
            node[position] = index
        return node

    def _check_room(self, request: Request, node: Any) -> None:
        gang, demand = request.gang, request.demand
        idle = demand.idle.copy()
        placed = np.flatnonzero(node >= 0)
        np.subtract.at(idle, node[placed], demand.rows[gang.role_of_pod[placed]])
        for position in placed:
            role, at = int(gang.role_of_pod[position]), node[position : position + 1]
            over = ((idle[at[0]] < 0) & (demand.rows[role] > 0)).any()
            if not over and demand.feasible(role)[at[0]]:
                continue
            lacks = node_text(demand, role, idle + demand.rows[role], int(at[0]))
            raise InputError(
                "over capacity" if over else "the node does not accept the pod",
                source=self.name,
                where=f"{gang.key}, pod {position}",
                got=request.snapshot.topology.node_names[int(at[0])],
                expected=f"a node with room ({lacks})",
            )

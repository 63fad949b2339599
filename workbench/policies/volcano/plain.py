"""`allocate`: Volcano's allocate action without topology."""

from __future__ import annotations

from workbench.policies.request import Request
from workbench.policies.volcano.policy import VolcanoPolicy
from workbench.policies.volcano.session.turns import FlatTurns, Turns

__all__ = ["Allocate"]


class Allocate(VolcanoPolicy):
    """Volcano's allocate action without topology: nodes by binpack and nodeorder scores, minAvailable pods or none.

    Source: Volcano, allocate action with the plugins gang, predicates, nodeorder and binpack.
    """

    name = "allocate"

    def turns(self, request: Request) -> Turns:
        return FlatTurns(request, self.context)

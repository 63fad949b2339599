"""Parts of node scores that pods placed in a session do not change: one number for each node and role.

::

    least, most, balanced
              of the plugin nodeorder as the session found the nodes, where nobody tells it of the pods placed since
    gpu, taints, …
              those of `workbench.policies.volcano.parts.node_scores.table`

Source: Volcano, plugin nodeorder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from workbench.kernels.domains import ScoreWeights
from workbench.kernels.dry_run_values import Counts
from workbench.model.arrays import Floats
from workbench.policies.request import Request
from workbench.policies.volcano.parts.node_scores.base import NodeScore
from workbench.policies.volcano.parts.scored_nodes import ScoredNodes, assumed_of

__all__ = ["FixedScores", "NodeOrderAtOpen", "nodeorder_at_open", "without_nodeorder"]


#: Parts of nodeorder that look at what is used: the name shown, and the field of `ScoreWeights`.
_NODEORDER = {"least": "least_requested", "most": "most_requested", "balanced": "balanced"}


@dataclass(frozen=True, eq=False)
class NodeOrderAtOpen:
    """Parts of the plugin nodeorder's score that read used resources as they were when the session began, by name.

    Each part is given as weights in which only this part counts.
    """

    parts: dict[str, ScoreWeights]

    def scores(self, request: Request, role: int) -> dict[str, Floats]:
        """Nodeorder's score of every node for a pod of a role when the session began, by part: float64 (n,) each.

        0 if a pod did not fit then, since it will not fit later either.
        """
        opened = request if request.opened is None else replace(request, ledger=request.opened)
        seen = ScoredNodes.of(request, opened.ledger.idle, opened.ledger.used, assumed_of(opened))
        first = Counts(shapes=np.zeros(1, dtype=np.int32), left=np.ones(1, dtype=np.int64), min_available=1)
        found = {}
        for name, weights in self.parts.items():
            runs = seen.dry_runs(request, weights)
            shape = runs.add_shape(seen.rows[role], feasible=request.demand.restriction(role))
            runs.ask(first)
            scores = runs.node_scores(-1, shape)[0]
            found[name] = np.where(np.isfinite(scores), scores, 0.0)
        return found


def nodeorder_at_open(weights: ScoreWeights) -> NodeOrderAtOpen:
    """Split off the parts of the score weights that nodeorder computes from the nodes at the session's start."""
    none = replace(without_nodeorder(weights), binpack=0.0)
    given = {name: getattr(weights, field) for name, field in _NODEORDER.items()}
    return NodeOrderAtOpen(
        {name: replace(none, **{_NODEORDER[name]: weight}) for name, weight in given.items() if weight}
    )


def without_nodeorder(weights: ScoreWeights) -> ScoreWeights:
    """The score weights without nodeorder's parts, which are computed from used resources."""
    return replace(weights, least_requested=0.0, most_requested=0.0, balanced=0.0)


@dataclass(frozen=True, eq=False)
class FixedScores:
    """Parts of the node scores for one gang that do not change when pods are placed in the session.

    Attributes
    ----------
    given : sequence of NodeScore
        Score parts that never change in a session, in the order in which they are added up.
    at_open : NodeOrderAtOpen, optional
        Parts that nodeorder computes from the nodes as they were when the session began; None: nodeorder scores the
        present nodes, which the kernels do.
    """

    request: Request
    given: Sequence[NodeScore] = ()
    at_open: NodeOrderAtOpen | None = None

    def parts(self, role: int, *, even: bool = False) -> dict[str, Floats]:
        """Every score part that differs between nodes, by the name that explanations show: float64 (n,) each.

        With `even`, also the parts that are equal for all nodes.
        """
        found: dict[str, Floats] = {} if self.at_open is None else self.at_open.scores(self.request, role)
        for part in self.given:
            scores = part.scores(self.request, role)
            if scores is None and even and part.uniform_score:
                scores = np.full(self.request.snapshot.n_nodes, part.uniform_score)
            if scores is not None:
                found[part.name] = scores
        return found

    def extra(self, role: int, *, even: bool = False) -> Floats | None:
        """Sum of the score parts that placing pods does not change, for each node of the cluster: float64 (n,).

        None if there is no such part for the role. `even` is as in `parts`.
        """
        parts = list(self.parts(role, even=even).values())
        if len(parts) < 2:
            return parts[0] if parts else None
        total: Floats = np.sum(parts, axis=0)
        return total

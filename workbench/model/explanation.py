"""Explanations of scheduling decisions: which HyperNodes and nodes a policy considered for a gang, and why each was
kept.

A policy fills a `Recorder` while it decides; the explanation's text is made only when it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from workbench.model.counted import counted
from workbench.model.display import Displayed, Tabular
from workbench.model.placement import Decision
from workbench.model.value import Value

__all__ = ["NO_RECORDERS", "Candidate", "Explanation", "Recorder", "Recorders"]


@dataclass(frozen=True)
class Candidate:
    """A HyperNode ("domain") or a node that a policy considered for a gang.

    Attributes
    ----------
    kind : {"domain", "inner", "node"}
        ``domain``: a HyperNode considered for the job; ``inner``: a HyperNode inside the job's, considered for a
        sub-group; ``node``: a node.
    tier : int, optional
        Tier of the HyperNode; None for a node.
    kept : bool
        Whether the policy kept the candidate, that is did not rule it out.
    why : str
        Short reason: ``holds 4 of 6 pods``, ``tier 3 above the highest allowed 2``.
    score : float, optional
        The candidate's score; None if it was not scored.
    parts : mapping of str to float
        Parts of the score by the scheduler's own names.
    owner : str
        Name of the sub-group for which an ``inner`` HyperNode was considered; empty for other kinds.
    """

    kind: str
    name: str
    tier: int | None
    kept: bool
    why: str
    score: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    owner: str = ""

    def to_dict(self) -> dict[str, object]:
        found: dict[str, object] = {
            "kind": self.kind,
            "name": self.name,
            "tier": self.tier,
            "kept": self.kept,
            "why": self.why,
            "score": self.score,
            "parts": dict(self.parts),
        }
        return {**found, "owner": self.owner} if self.owner else found


@dataclass(eq=False)
class Recorder:
    """Collects the HyperNodes and nodes that a policy considers for a gang.

    A policy gets a recorder only if the caller wants an explanation of the decision.

    `ties_only`: only the HyperNodes that were kept are collected, as `Explanation.tied_hypernodes` needs them. A policy
    need not put anything else into words; what it tells nevertheless is dropped.
    """

    candidates: list[Candidate] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ties_only: bool = False

    def domain(self, name: str, tier: int, kept: bool, why: str, score: float | None = None, **parts: float) -> None:
        """Record that the policy considered a domain (a HyperNode) for the gang.

        `kept`: whether the policy kept the HyperNode, that is did not rule it out. `why`: the reason, for the user.
        `score`: score of the HyperNode; None if it was not scored. `**parts`: parts of the score by name.
        """
        if kept or not self.ties_only:
            self.candidates.append(Candidate("domain", name, tier, kept, why, score, parts))

    def node(self, name: str, kept: bool, why: str, score: float | None = None, **parts: float) -> None:
        """Record that the policy considered a node for the gang.

        `why`, `**parts`: as in `domain`.

        `kept`: whether the policy kept the node, that is did not rule it out. `score`: score of the node; None if it
        was not scored.
        """
        if not self.ties_only:
            self.candidates.append(Candidate("node", name, None, kept, why, score, parts))

    def note(self, sentence: str) -> None:
        if not self.ties_only:
            self.notes.append(sentence)

    def add(self, other: Recorder) -> None:
        """Append all candidates of another recorder."""
        self.candidates += other.candidates
        self.notes += other.notes

    def explanation(self, decision: Decision) -> Explanation:
        """The explanation of `decision`, with all candidates recorded so far."""
        return Explanation(decision, tuple(self.candidates), tuple(self.notes))


#: Recorders of some gangs of a session, by the position of the gang.
Recorders = Mapping[int, Recorder]
#: Nobody wants to know.
NO_RECORDERS: Recorders = MappingProxyType({})


def _best_of(candidates: Iterable[Candidate]) -> tuple[str, ...]:
    """Names of the candidates that were kept and have the highest score, in the order given."""
    scores = {c.name: c.score for c in candidates if c.kept and c.score is not None}
    best = max(scores.values(), default=None)
    return tuple(name for name, score in scores.items() if score == best)


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Value, Displayed, Tabular):
    """The decision on one gang, with every HyperNode and node that the policy considered, in the order it considered
    them.

    Examples
    --------
    >>> import workbench as wb
    >>> tree = wb.generate_scenario("three-level-tree")
    >>> explanation = tree.explain(wb.gang("mine", pods=2, gpus=8, tier=1), policy="volcano-1.15")
    >>> explanation.domains[0].name, explanation.domains[0].kept
    ('s0', True)
    """

    decision: Decision
    candidates: tuple[Candidate, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        looked = f"{counted(len(self.domains), 'HyperNode')} and {counted(len(self.nodes), 'node')} considered"
        return f"Explanation({self.decision.result!r}, {looked})"

    @property
    def domains(self) -> tuple[Candidate, ...]:
        return tuple(c for c in self.candidates if c.kind == "domain")

    @property
    def inner(self) -> tuple[Candidate, ...]:
        """HyperNodes that the policy considered for the gang's sub-groups inside the job's HyperNode, in the policy's
        order.
        """
        return tuple(c for c in self.candidates if c.kind == "inner")

    @property
    def nodes(self) -> tuple[Candidate, ...]:
        return tuple(c for c in self.candidates if c.kind == "node")

    @property
    def tied_hypernodes(self) -> tuple[str, ...]:
        """Names of the HyperNodes that tied for the job's best score, the chosen one included.

        The smallest name was chosen. A scheduler that breaks ties at random could have chosen any of them. Empty if the
        policy does not score HyperNodes or found none that fits.
        """
        return _best_of(self.domains)

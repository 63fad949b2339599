"""The contract of policies: `Policy`, `SessionPolicy`, and the traits of the scheduler that a policy follows.

A `Policy` answers for whole gangs. Most are `Composed` of two parts: a `NodePolicy`, which gives every pod a node, and
a GPU policy (`workbench.policies.gpu`), which then picks the GPUs on each node. Nothing is kept between calls; what
must survive a session is read from the snapshot and returned in the answer. Clocks, files and the cluster are
handled elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workbench.cancel import check
from workbench.model.explanation import NO_RECORDERS, Explanation, Recorder, Recorders
from workbench.model.extras import Extra
from workbench.model.gang import Gang
from workbench.model.ledger import Ledger
from workbench.model.notice import Notice
from workbench.model.placement import Decision, Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.parameters import Parametrised
from workbench.policies.reasons import Words
from workbench.policies.retry import AT_CHANGES, RetryRule
from workbench.policies.stream import Stream

__all__ = ["Policy", "SchedulerTraits", "SessionPolicy", "schedulers_of", "session_order"]


def session_order(gangs: Sequence[Gang]) -> list[int]:
    """Indices of gangs in the order in which one scheduling session takes them.

    Higher priority first, then queue, namespace and name in byte order.
    """
    return sorted(
        range(len(gangs)),
        key=lambda i: (
            -gangs[i].priority,
            gangs[i].queue.encode(),
            gangs[i].namespace.encode(),
            gangs[i].name.encode(),
        ),
    )


@dataclass(frozen=True)
class SchedulerTraits:
    """Traits of a scheduler: its duties beside placing gangs, and the requests that it serves.

    Attributes
    ----------
    annotates_group : bool
        Whether it writes the HyperNode of a gang on its PodGroup (volcano.sh/job-allocated-hypernode).
    publishes_switches : bool
        Whether it writes the states of the leaf switches after a session (ConfigMap tor-share-cm).
    counts_all_nodes : bool
        Whether status.nodeCount of a HyperNode counts all nodes under it; otherwise its direct members, as in Volcano.
    retry : RetryRule
        When it tries a refused job again.
    reads_topology : bool
        Whether it needs the topology; if so, a gang is refused when the topology is not ready (docs/decisions.md,
        decision 14).
    constraints : bool
        Whether it reads the topology constraint of a gang; otherwise the gang is placed anywhere, with a warning.
    sub_groups : bool
        Whether it gives each sub-group nodes of its own choice; otherwise a gang is placed as if it had no sub-groups,
        with a warning.
    reads : frozenset of type
        Extras that it reads of a gang; of another that matters, a warning says what is left out (`Extra.unread`).
    gang_groups : bool
        Whether it decides the gangs of a gang group together (`workbench.policies.koordinator.gang_groups`); otherwise
        each is placed by itself, with a warning.
    shares_gpus : bool
        Whether pods may ask for thousandths of a GPU; otherwise such a gang is refused.
    reads_pods : bool
        Whether it reads affinity to other pods, spreading and preferred nodes (`Role.rules`); otherwise a gang with any
        of these is placed without them, with a warning.
    best_effort_last : bool
        Whether pods without a request are placed after all others and apart from them, as Volcano's backfill does;
        otherwise they are pods like others.
    words : {"volcano", "kubernetes", "kueue"}
        Whose sentences its refusals use: those of Volcano, which baselines use, too; of kube-scheduler and programs
        derived from it; or of Kueue, which says nothing of single nodes.
    reads_names : bool
        Whether names or labels of nodes and HyperNodes can change a placement, beyond their order and what the pods
        themselves select; otherwise HyperNodes that are equal in all else are tried once for a HyperJob.
    schedules : frozenset of str
        Names in schedulerName by which pods ask for it in a cluster; where it is asked, plain pods with such a name are
        jobs (docs/decisions.md, decision 17).
    """

    annotates_group: bool = False
    publishes_switches: bool = False
    counts_all_nodes: bool = False
    retry: RetryRule = AT_CHANGES
    reads_topology: bool = False
    constraints: bool = True
    sub_groups: bool = False
    gang_groups: bool = False
    reads: frozenset[type[Extra]] = frozenset()
    shares_gpus: bool = False
    reads_pods: bool = False
    best_effort_last: bool = True
    words: Words = "volcano"
    reads_names: bool = True
    schedules: frozenset[str] = frozenset()


class Policy(Parametrised, ABC):
    """Base class of all policies: places gangs (groups of pods that start together) on the nodes of a cluster.

    Policies are deterministic: the same arguments give the same answer, byte for byte. A policy equals itself only.

    `name`: the name that users type, aliases resolved: ``volcano-1.13+gpu-bottleneck``. `traits`: what the scheduler
    that the policy follows does beside placing, and what it cannot place. `warnings`: warnings that are part of every
    answer, for example about settings that are not modelled.

    Examples
    --------
    >>> import workbench as wb
    >>> policy = wb.get_policy("random", seed=5)
    >>> policy.name, policy.parameters["seed"]
    ('random', 5)
    """

    name: str
    traits: SchedulerTraits = SchedulerTraits()
    warnings: tuple[Notice, ...] = ()

    @abstractmethod
    def place(self, gang: Gang, ledger: Ledger, recorder: Recorder | None = None) -> Placement | Refusal:
        """Place one gang on the free resources of a ledger.

        `ledger`: state of the nodes; holds the placement afterwards, and is unchanged if the answer is a refusal.
        `recorder`: receives every candidate that was considered; it must not change the answer.
        """

    def schedule(
        self, gangs: Sequence[Gang], snapshot: ClusterSnapshot, recorders: Recorders = NO_RECORDERS
    ) -> list[Decision]:
        """Decide on all gangs of one session, in `session_order`, on one ledger.

        `recorders`: recorder of a gang, by its position in `gangs`, which receives every candidate; it must not change
        the answers. Returns list of Decision: decisions in the order of `gangs`; `Decision.turn` gives the order in
        which they were made.
        """
        ledger = snapshot.ledger()
        decisions: dict[int, Decision] = {}
        for turn, i in enumerate(session_order(gangs)):
            check()
            decisions[i] = Decision(gangs[i], self.place(gangs[i], ledger, recorders.get(i)), turn=turn)
        return [decisions[i] for i in range(len(gangs))]

    def stream(self, snapshot: ClusterSnapshot) -> Stream:
        """Return a `Stream`, which places gangs one by one on a copy of a snapshot and can take placements back.

        Each gang is placed as `place` would place it.
        """
        return Stream(self, snapshot)

    def explain(self, gang: Gang, snapshot: ClusterSnapshot) -> Explanation:
        """Place one gang by itself on a snapshot and return the decision with every candidate that was considered.

        To explain the decision on a gang in a session with other gangs, pass a recorder for it to `schedule`.
        """
        recorder = Recorder()
        (decision,) = self.schedule([gang], snapshot, {0: recorder})
        return recorder.explanation(decision)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({self.name}{': ' if values else ''}{values})"


class SessionPolicy(Policy):
    """Base class of policies whose scheduler admits gangs before it places them."""

    @abstractmethod
    def admit(self, gangs: Sequence[Gang], snapshot: ClusterSnapshot) -> list[Notice | None]:
        """Say which gangs are admitted: only for these the controllers create pods, which then wait for nodes.

        `gangs`: also gangs without pods, whose PodGroup alone exists, and gangs that run or were admitted before: they
        count for the limits. The result is in the order of the gangs: None if the gang is admitted, else the reason.
        """


def schedulers_of(policies: Iterable[Policy]) -> frozenset[str]:
    """Names in schedulerName by which pods ask for one of some policies in a cluster (`SchedulerTraits.schedules`)."""
    return frozenset(name for policy in policies for name in policy.traits.schedules)

"""`KueueRequest`: what one gang requests of Kueue alone, and `KueueObjects`: Kueue's objects of a whole cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from workbench.model.deferred import DeferredModule
from workbench.model.extras import Extra
from workbench.model.notice import Notice

if TYPE_CHECKING:
    from workbench.model import kueue, kueue_queues
else:
    kueue = DeferredModule("workbench.model.kueue")
    kueue_queues = DeferredModule("workbench.model.kueue_queues")

__all__ = ["KueueObjects", "KueueRequest", "KueueRole"]


@dataclass(frozen=True)
class KueueRole:
    """What the pods of one role, a pod set of Kueue, request.

    `topology`: None means nothing. `min_count`: fewest pods with which Kueue may admit the gang; None: all.
    `preferred`: preferred node affinity.
    """

    role: str
    topology: kueue.TopologyRequest | None = None
    min_count: int | None = None
    preferred: tuple[kueue.PreferredTerm, ...] = ()


@dataclass(frozen=True)
class KueueRequest(Extra):
    """What a gang requests of Kueue; read by the policies whose names begin with ``kueue``.

    `queue`: its LocalQueue; empty: not given. `roles`: roles that request something. `workload`: key
    (``namespace/name``) of its Workload; empty: it has none.
    """

    queue: str = ""
    roles: tuple[KueueRole, ...] = ()
    workload: str = ""

    def of(self, role: str) -> KueueRole:
        """What a role requests, by its name."""
        return next((each for each in self.roles if each.role == role), KueueRole(role))

    def unread(self, policy: str) -> Notice | None:
        if not any(role.topology for role in self.roles):
            return None
        text = f"{policy} does not read what the annotations of Kueue request of the topology"
        return Notice("kueue-request-not-read", text)


@dataclass(frozen=True)
class KueueObjects(Extra):
    """Kueue's objects of a cluster; an extra of the snapshot.

    Attributes
    ----------
    topologies : mapping of str to tuple of str
        Levels of each Topology, node label keys, widest first.
    local_queues : mapping of str to str
        ClusterQueue of each LocalQueue, by ``namespace/name``.
    provisioning : tuple of str
        Admission checks that ask for machines.
    workloads : tuple of QueuedWorkload
        Those that hold quota.
    checks : tuple of str
        Names of all AdmissionChecks.
    fair_sharing : tuple of str
        Strategies of preemption under fair sharing, in their order; empty: queues do not share fairly.
    """

    topologies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    flavors: tuple[kueue.Flavor, ...] = ()
    cluster_queues: tuple[kueue_queues.ClusterQueue, ...] = ()
    local_queues: Mapping[str, str] = field(default_factory=dict)
    cohorts: tuple[kueue_queues.Cohort, ...] = ()
    provisioning: tuple[str, ...] = ()
    workloads: tuple[kueue_queues.QueuedWorkload, ...] = ()
    checks: tuple[str, ...] = ()
    fair_sharing: tuple[str, ...] = ()

    @cached_property
    def queue_names(self) -> frozenset[str]:
        """Names of the ClusterQueues."""
        return frozenset(queue.name for queue in self.cluster_queues)

"""`Operator`: the controllers and the scheduler of this package at work on a live cluster."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from workbench.control.kinds import key_of
from workbench.control.reconciler import Reconciler
from workbench.control.reconcilers.discovery import Discovery
from workbench.control.reconcilers.hyper_jobs import HyperJobReconciler
from workbench.control.reconcilers.jobs import JobReconciler
from workbench.control.reconcilers.pod_groups import PodGroupReconciler
from workbench.control.reconcilers.statuses import FinishedJobs, HyperNodeStatus, QueueStatus
from workbench.control.scheduler import Scheduler
from workbench.control.scheduler_settings import SchedulerSettings
from workbench.control.store import Object
from workbench.jobs.frameworks.contract import SshKeys
from workbench.jobs.lifecycle.request import JobRequest
from workbench.jobs.schedulers import OPERATOR
from workbench.live.kubernetes.api_store import ApiStore
from workbench.live.kubernetes.discovery_sources import discovery_asks
from workbench.live.kubernetes.loop import KINDS, Loop, Tell
from workbench.live.kubernetes.mirror import without_managed_fields
from workbench.live.kubernetes.writer import Writer
from workbench.model.placement import Refusal
from workbench.optional import optional
from workbench.policies.contract import Policy
from workbench.policies.registry import as_policy

__all__ = ["Operator"]


_BITS = 2048
_EXPONENT = 65537


def new_ssh_keys() -> SshKeys:
    """Draw a new pair of RSA keys with 2,048 bits; the private key as PEM (PKCS #1), the public one as OpenSSH."""
    with optional("live"):
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(_EXPONENT, _BITS)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return SshKeys(private.decode(), public.decode() + "\n")


class Operator(Loop):
    """The controllers of Jobs, PodGroups, HyperJobs and HyperNodes, and a scheduler, on a live cluster.

    HyperNodes are discovered as the ConfigMap of Volcano's controller says; a UFM, or the URL of an Ethernet fabric's
    links, is asked only where that ConfigMap names it.

    All state is read from the cluster at the start: an operator that was killed goes on where the cluster is.

    Parameters
    ----------
    policy : str or Policy
        Decides where pods go: a name as ``workbench policies`` lists them, or a policy. One that is named after Volcano
        and was given no configuration follows that of the cluster's Volcano
        (`workbench.control.scheduler_settings.SchedulerSettings`).
    schedulers : collection of str
        Values of schedulerName whose Jobs, HyperJobs and pods this operator handles; all others it leaves alone.
    controllers : bool
        False: only pods are scheduled, because Volcano's controllers run in the cluster.
    tell : callable, optional
        Called with each line of the operator's log.
    secrets : collection of (str, str)
        Namespace and name of each Secret that discovery may read beside those in the namespace of its ConfigMap.
    plain_http : bool
        Whether discovery may send a user name and a password over http.
    """

    def __init__(
        self,
        connection: Writer,
        policy: str | Policy = "volcano",
        *,
        schedulers: Collection[str] = (OPERATOR,),
        controllers: bool = True,
        tell: Tell | None = None,
        secrets: Collection[tuple[str, str]] = (),
        plain_http: bool = False,
    ) -> None:
        self.policy = as_policy(policy)
        self.schedulers = frozenset(schedulers)
        self._controllers = controllers
        self._secrets = frozenset(secrets)
        self._plain_http = plain_http
        super().__init__(ApiStore(connection, KINDS, self._kept), tell)

    @property
    def pending(self) -> int:
        """Number of gangs that the last session could not place."""
        if not self.started:
            return 0
        return sum(isinstance(decision.result, Refusal) for decision in self.scheduler.decisions)

    def _kept(self, kind: str, data: Object) -> Object | None:
        """What the mirror keeps of an object; None for a Job or HyperJob of another scheduler."""
        spec = data.get("spec") or {}
        if kind == "Job" and not self._asks_for_us(spec):
            return None
        if kind == "HyperJob":
            parts = spec.get("replicatedJobs") or ()
            if not all(self._asks_for_us(part.get("templateSpec") or {}) for part in parts):
                return None
        return without_managed_fields(kind, data)

    def _asks_for_us(self, job_spec: Object) -> bool:
        return (job_spec.get("schedulerName") or "volcano") in self.schedulers

    def _stages(self) -> Sequence[Sequence[Reconciler]]:
        parts = self.store, self.clock, self.log
        settings = SchedulerSettings(self.policy)
        self.scheduler = Scheduler(*parts, self.policy, names=self.schedulers, settings=settings)
        if not self._controllers:
            return ((self.scheduler,),)
        # Whatever happened to a Job while nobody looked is found when it is synchronised.
        requests = [(key_of(job), JobRequest("OutOfSync")) for job in self.store.list("Job")]
        controllers = (
            HyperJobReconciler(*parts),
            PodGroupReconciler(*parts, schedulers=tuple(self.schedulers)),
            QueueStatus(*parts),
            HyperNodeStatus(*parts),
            Discovery(*parts, asks=discovery_asks(plain_http=self._plain_http), secrets=self._secrets),
            FinishedJobs(*parts),
            JobReconciler(*parts, ssh_keys=new_ssh_keys, requests=requests),
        )
        return (controllers, (self.scheduler,))

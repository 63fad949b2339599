"""The controller of HyperJobs: creates, updates and deletes their Jobs, and computes their status."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from workbench.control.kinds import Ref
from workbench.control.reconciler import Reconciler
from workbench.control.store import StoreChange
from workbench.errors import InputError, StoreError
from workbench.jobs.hyper_job.next_step import next_hyper_job
from workbench.objects.hyper_job import HYPER_JOB_LABEL

__all__ = ["HyperJobReconciler"]


class HyperJobReconciler(Reconciler):
    """Carries out the steps of `workbench.jobs.hyper_job.next_step`; propagation policies are left to Karmada."""

    kinds = frozenset({"HyperJob", "Job"})

    def observe(self, change: StoreChange) -> Iterable[Hashable]:
        """Return the HyperJob that changed, or the HyperJob that a label of the changed Job names."""
        data = change.after or change.before
        assert data is not None
        if change.key.kind == "HyperJob":
            return [] if change.after is None else [change.key]
        name = (data["metadata"].get("labels") or {}).get(HYPER_JOB_LABEL)
        return [Ref("HyperJob", change.key.namespace, name)] if name else []

    def reconcile(self, key: Hashable) -> float | None:
        """Bring the Jobs of one HyperJob in line with its members."""
        assert isinstance(key, Ref)
        stored = self.store.get(key)
        if stored is None or stored["metadata"].get("deletionTimestamp"):
            return None
        jobs = [
            job
            for job in self.store.list("Job", key.namespace)
            # A Job of another owner may have taken the name of one that is to be made.
            if (job["metadata"].get("labels") or {}).get(HYPER_JOB_LABEL) == key.name
            or job["metadata"]["name"].startswith(f"{key.name}-")
        ]
        try:
            step = next_hyper_job(stored, jobs)
            for job in step.create:
                self.store.create(job)
            for job in step.update:
                self.store.update(job)
        except (InputError, StoreError) as error:
            self.log.say(self.clock.now, key, "FailedSync", str(error), warning=True)
            return None
        for name in step.delete:
            self.store.delete(Ref("Job", key.namespace, name))
        for error_text in step.errors:
            self.log.say(self.clock.now, key, "FailedCreate", error_text, warning=True)
        self.store.patch_status(key, dict(step.status))
        return None

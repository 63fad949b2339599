"""Fake kubelets: they let pods that have a node start, run, and succeed or fail at given times."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.control.event_log import EventLog
from workbench.control.kinds import Ref
from workbench.control.reconciler import Reconciler
from workbench.control.store import Object, ReadStore, Store, StoreChange, phase_of
from workbench.errors import InputError
from workbench.model.clock import Clock
from workbench.model.extras import RUN_SECONDS
from workbench.model.gpu_annotation import GPU_ANNOTATION, container_environment

__all__ = ["EXIT_CODE", "START_SECONDS", "Behaviour", "Kubelets", "containers_environment"]

#: Annotations of a pod that tell its kubelet how it behaves: seconds from its binding until it runs, seconds that it
#: runs, and the exit code of its containers.
START_SECONDS = "topology-workbench/start-seconds"
EXIT_CODE = "topology-workbench/exit-code"


@dataclass(frozen=True)
class Behaviour:
    """How long pods take to start and run, and how they end, unless their annotations say otherwise.

    `start_seconds`: from binding to Running. `run_seconds`: from Running to the end; None: pods run until they are
    deleted. `exit_code`: exit code at the end; 0: the pod succeeds.
    """

    start_seconds: float = 0.0
    run_seconds: float | None = None
    exit_code: int = 0

    def of(self, pod: Object) -> Behaviour:
        """The behaviour of one pod: the values in its annotations, and those of this object where it has none.

        Raises InputError: an annotation that is no number, or no time.
        """
        written = pod["metadata"].get("annotations") or {}
        if not written.keys() & {START_SECONDS, RUN_SECONDS, EXIT_CODE}:
            return self
        run = written.get(RUN_SECONDS)
        return Behaviour(
            start_seconds=_seconds(pod, START_SECONDS) if START_SECONDS in written else self.start_seconds,
            run_seconds=self.run_seconds if run is None else _seconds(pod, RUN_SECONDS),
            exit_code=int(_seconds(pod, EXIT_CODE)) if EXIT_CODE in written else self.exit_code,
        )


def _seconds(pod: Object, name: str) -> float:
    text = pod["metadata"]["annotations"][name]
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        where = f"metadata.annotations[{name!r}]"
        raise InputError("no number of seconds or exit code", where=where, got=repr(text), expected="0 or more")
    return value


class Kubelets(Reconciler):
    """The kubelets of all nodes.

    `store`, `clock`, `log`: as for `workbench.control.reconciler.Reconciler`. `behaviour`: start, run time and exit
    code of pods without annotations about them. `ends`: times (seconds since the start of the cluster) at which pods
    start or end, from a saved cluster.
    """

    kinds = frozenset({"Pod"})

    def __init__(
        self,
        store: Store,
        clock: Clock,
        log: EventLog,
        behaviour: Behaviour,
        ends: Mapping[Ref, float] | None = None,
    ) -> None:
        super().__init__(store, clock, log)
        self.behaviour = behaviour
        #: Time at which a pod starts or ends, by its key; a pod that is not here runs until it is deleted.
        self._ends: dict[Ref, float] = dict(ends or {})

    @property
    def ends(self) -> Mapping[Ref, float]:
        """Time (seconds since the start of the cluster) at which each pod will start or end."""
        return dict(self._ends)

    def observe(self, change: StoreChange) -> Iterable[Hashable]:
        """Return the changed pod if it has a node and has not finished, or ended before its time."""
        if change.after is None or phase_of(change.after) not in _ALIVE:
            # Nothing happens any more at the time at which it would have ended.
            return [] if self._ends.pop(change.key, None) is None else [change.key]
        return [change.key] if change.after["spec"].get("nodeName") else []

    def reconcile(self, key: Hashable) -> float | None:
        """Start a pod, end it, or remove it if it is terminating; return the time of its next change, or None."""
        assert isinstance(key, Ref)
        pod = self.store.get(key)
        if pod is None or not pod["spec"].get("nodeName"):
            return None
        if pod["metadata"].get("deletionTimestamp"):
            self.store.delete(key, now=True)
            return None
        phase = phase_of(pod)
        if phase not in _ALIVE:
            return None
        try:
            behaviour = self.behaviour.of(pod)
        except InputError as error:
            self.log.say(self.clock.now, key, "Ignored", str(error), warning=True)
            behaviour = self.behaviour
        if phase == "Pending":
            start = self._ends.setdefault(key, self.clock.now + behaviour.start_seconds)
            if start > self.clock.now:
                return start
            del self._ends[key]
            self._start(key, pod)
        if behaviour.run_seconds is None:
            return None
        end = self._ends.setdefault(key, self.clock.now + behaviour.run_seconds)
        if end > self.clock.now:
            return end
        del self._ends[key]
        self.finish(key, behaviour.exit_code)
        return None

    def finish(self, key: Ref, exit_code: int) -> None:
        """End a running pod with an exit code.

        `key`: the pod; `StoreError` if there is none. `exit_code`, if 0: the pod succeeds.
        """
        phase = "Failed" if exit_code else "Succeeded"
        ended = {"terminated": {"exitCode": exit_code, "reason": "Error" if exit_code else "Completed"}}
        pod = self.store.get(key) or {"spec": {}}
        self.store.patch_status(key, {"phase": phase, "containerStatuses": _statuses(pod, ended, ready=False)})
        self.log.say(self.clock.now, key, phase, f"exit code {exit_code}", warning=bool(exit_code))

    def _start(self, key: Ref, pod: Object) -> None:
        running = {"running": {"startedAt": self.clock.stamp}}
        status = {"phase": "Running", "startTime": self.clock.stamp, "containerStatuses": _statuses(pod, running)}
        self.store.patch_status(key, status)


_ALIVE = ("Pending", "Running")


def _statuses(pod: Object, state: Mapping[str, Any], ready: bool = True) -> list[dict[str, Any]]:
    containers = pod["spec"].get("containers") or ()
    return [{"name": one.get("name") or "", "ready": ready, "restartCount": 0, "state": state} for one in containers]


def containers_environment(store: ReadStore, pod: Object) -> dict[str, dict[str, str]]:
    """Environment variables that the processes of each container of a pod see, by the container's name.

    Those of the template, also from the ConfigMaps of the store, those that job plugins added, and
    NVIDIA_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES as the kubelet sets them from the pod's GPU annotation. Left out:
    values from Secrets, and of fields that the embedded cluster does not fill in, such as the pod's IP address.
    """
    annotation = (pod["metadata"].get("annotations") or {}).get(GPU_ANNOTATION)
    found = {}
    for position, container in enumerate(pod["spec"].get("containers") or ()):
        named = (one for one in container.get("env") or () if one.get("name"))
        values = ((one["name"], _value(store, pod, one)) for one in named)
        variables = {name: value for name, value in values if value is not None}
        devices = {} if annotation is None else container_environment(annotation, position)
        found[container.get("name") or str(position)] = {**variables, **devices}
    return found


def _value(store: ReadStore, pod: Object, variable: Mapping[str, Any]) -> str | None:
    source = variable.get("valueFrom")
    if source is None:
        return str(variable.get("value") or "")
    metadata = pod["metadata"]
    if "configMapKeyRef" in source:
        wanted = source["configMapKeyRef"]
        config_map = store.get(Ref("ConfigMap", metadata["namespace"], wanted.get("name") or ""))
        value = ((config_map or {}).get("data") or {}).get(wanted.get("key"))
        return None if value is None else str(value)
    fields = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata["uid"],
        "spec.nodeName": pod["spec"].get("nodeName"),
    }
    return fields.get(str((source.get("fieldRef") or {}).get("fieldPath")))

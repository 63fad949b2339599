"""`owner_rows`: jobs of other systems than Volcano as rows: JobSets, groups of kube-scheduler, Workloads of Kueue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from workbench.control.kinds import Ref, owner_key
from workbench.control.reconciler import controller_of
from workbench.control.store import Object, ReadStore, phase_of
from workbench.control.views import JobRow, row_of
from workbench.model.kueue_names import WORKLOAD
from workbench.model.topology import Topology
from workbench.objects.top_owner import TOP_OWNERS, top_kind

__all__ = ["owner_rows"]

#: Gives the keys (``namespace/name``) of the pods of an object by the object's own key.
_PodsOf = Callable[[str], Sequence[str]]

_WORKLOADS, _GROUPS = "Workload.kueue.x-k8s.io", "PodGroup.scheduling.k8s.io"

#: Conditions that end a job.
_ENDS = ("Complete", "Completed", "Succeeded", "Failed", "Finished")


def owner_rows(store: ReadStore, topology: Topology, pods_of: _PodsOf) -> list[JobRow]:
    """One row for each top owner, each PodGroup of scheduling.k8s.io, and each Workload of Kueue beside these.

    `topology`: as for `workbench.control.views.job_rows`. `pods_of`: gives the keys of the pods of an object by its
    ``namespace/name``. The rows are sorted by namespace, name and kind. The phase is the condition that ended the job,
    or Suspended, Running or Pending; of a Workload Admitted or Pending. `JobRow.waits_for` is what Kueue says of the
    job's Workload, else what the PodGroup or a pod says. What an object of the store makes, such as a Job of a JobSet,
    has no row.
    """
    said = dict(_said_by_kueue(store))
    rows, grouped = [], set()
    for group, kind in TOP_OWNERS:
        for data in store.list(f"{kind}.{group}"):
            if _is_made(store, data):
                continue
            pods = _pods(store, pods_of(_key(data)))
            grouped |= {(_key(data).partition("/")[0], _group(pod)) for pod in pods}
            text = said.get(Ref(f"{kind}.{group}", *_key(data).split("/")), "") or _said_by_pods(pods)
            rows.append(row_of(data["metadata"], top_kind(group, kind), _phase(data, pods), pods, topology, text))
    for data in store.list(_GROUPS):
        if (data["metadata"]["namespace"], data["metadata"]["name"]) not in grouped:
            pods = _pods(store, pods_of(_key(data)))
            text = _message(data, "PodGroupInitiallyScheduled", "False") or _said_by_pods(pods)
            rows.append(row_of(data["metadata"], "PodGroup", _phase(data, pods), pods, topology, text))
    rows += _rows_of_workloads(store, topology)
    return sorted(rows, key=lambda row: (row.namespace.encode(), row.name.encode(), row.kind))


def _rows_of_workloads(store: ReadStore, topology: Topology) -> Iterator[JobRow]:
    """Rows of the Workloads of Kueue whose job is of a kind that is not read."""
    pods: dict[tuple[str, str], list[Object]] = {}
    alone = [data for data in store.list(_WORKLOADS) if not _is_made(store, data)]
    for pod in store.list("Pod") if alone else ():
        name = (pod["metadata"].get("annotations") or {}).get(WORKLOAD)
        if name:
            pods.setdefault((pod["metadata"]["namespace"], name), []).append(pod)
    for data in alone:
        mine = pods.get((data["metadata"]["namespace"], data["metadata"]["name"]), [])
        ended = "Finished" if _condition(data, "Finished", "True") else ""
        phase = ended or ("Admitted" if _condition(data, "Admitted", "True") else "Pending")
        text = _waits_in_kueue(data) or _said_by_pods(mine)
        yield row_of(data["metadata"], "Workload", phase, mine, topology, text)


def _said_by_kueue(store: ReadStore) -> Iterator[tuple[Ref, str]]:
    """Why Kueue lets jobs wait, by the object that owns the Workload."""
    for data in store.list(_WORKLOADS):
        owner, text = controller_of(data), _waits_in_kueue(data)
        if owner is not None and text:
            yield owner_key(owner, data["metadata"]["namespace"]), text


def _waits_in_kueue(data: Object) -> str:
    if any(_condition(data, kind, "True") for kind in ("Finished", "Admitted")):
        return ""
    return _message(data, "QuotaReserved", "False") or _message(data, "Evicted", "True")


def _is_made(store: ReadStore, data: Object) -> bool:
    """Whether an object of the store, but no pod, controls an object."""
    owner = controller_of(data)
    key = None if owner is None else owner_key(owner, data["metadata"]["namespace"])
    return key is not None and key.kind != "Pod" and store.get(key) is not None


def _phase(data: Object, pods: Sequence[Object]) -> str:
    for kind in _ENDS:
        if _condition(data, kind, "True"):
            return kind
    spec = data.get("spec") or {}
    if spec.get("suspend") or (spec.get("runPolicy") or {}).get("suspend"):
        return "Suspended"
    return "Running" if any(phase_of(pod) == "Running" for pod in pods) else "Pending"


def _said_by_pods(pods: Sequence[Object]) -> str:
    """The scheduler's message on the first pod, by name, that waits for a node."""
    return next((text for pod in pods if (text := _message(pod, "PodScheduled", "False"))), "")


def _message(data: Object, kind: str, status: str) -> str:
    return str(_condition(data, kind, status).get("message") or "")


def _condition(data: Object, kind: str, status: str) -> Object:
    """The condition of a type with a status; empty if there is none."""
    listed = (data.get("status") or {}).get("conditions") or ()
    return next((one for one in listed if (one.get("type"), one.get("status")) == (kind, status)), {})


def _pods(store: ReadStore, keys: Sequence[str]) -> list[Object]:
    found = (store.get(Ref("Pod", *key.split("/"))) for key in sorted(keys, key=str.encode))
    return [pod for pod in found if pod is not None]


def _group(pod: Object) -> str:
    return str((pod["spec"].get("schedulingGroup") or {}).get("podGroupName") or "")


def _key(data: Object) -> str:
    return f"{data['metadata']['namespace']}/{data['metadata']['name']}"

"""`apply_edits`: manifests after edits of the cluster and its jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from workbench.errors import InputError
from workbench.formats.edit_manifests import (
    job_edits,
    job_order_edits,
    kueue_edits,
    node_edits,
    pod_edits,
    pod_removal,
    queue_edits,
)
from workbench.formats.edit_manifests.job_objects import JobObjects, pending_job
from workbench.formats.edit_manifests.manifest_set import Manifest, ManifestSet
from workbench.formats.load_documents import LoadedDocuments
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.fields import shown

__all__ = ["apply_edits", "apply_to", "changed_text", "editable", "is_of_jobs", "subject_of"]

Edit = Mapping[str, Any]

_OF_PENDING: Mapping[str, Callable[[ManifestSet, JobObjects, Edit], None]] = {
    "tier": job_edits.raise_tier,
    "min-available": job_edits.change_min_available,
    "replicas": job_edits.change_replicas,
    "dependency": job_order_edits.change_dependency,
    "priority": job_order_edits.change_priority,
    "toleration": pod_edits.add_tolerations,
    "selector": pod_edits.change_selector,
    "affinity": pod_edits.drop_affinity,
    "kueue-level": kueue_edits.change_level,
    "kueue-slices": kueue_edits.change_slices,
}
_OF_QUEUES: Mapping[str, Callable[[ManifestSet, str, Edit], None]] = {
    **dict.fromkeys(queue_edits.AMOUNTS, queue_edits.change_amounts),
    "queue-weight": queue_edits.change_weight,
}
_OF_NODES: Mapping[str, Callable[[ManifestSet, Edit], None]] = {
    "uncordon": node_edits.uncordon,
    "ready": node_edits.make_ready,
    "untaint": node_edits.remove_taint,
    "wait": pod_removal.remove_terminating,
}
_KINDS = (*_OF_PENDING, *_OF_QUEUES, *_OF_NODES, "withdraw", "move", "finish", "add-nodes")


def apply_edits(manifests: Iterable[Mapping[str, Any]] | ManifestSet, edits: Sequence[Edit]) -> list[Manifest]:
    """The manifests of a cluster and its jobs after edits, as a list of single objects.

    Read by `workbench.load`, they are the scenario with the edits made: a job is changed in all the objects that it is
    made of, such as a Job, its PodGroup and its pending pods. A manifest that changes is copied, any other is shared
    with the input.

    The result is in the order of the input; new objects come last.

    `manifests`: parsed manifests; Lists are taken apart. `LoadedDocuments.manifest_set` saves reading them again for
    each call. `edits`: each with ``kind``, ``subject``, ``from`` and ``to``, and the keys that its kind needs beside
    them; they are made one after another. Raises InputError: an unknown kind, or a subject that the manifests do not
    have; the edit is named.
    """
    held = editable(manifests)
    for edit in edits:
        apply_to(held, edit)
    return held.manifests()


def editable(manifests: Iterable[Mapping[str, Any]] | ManifestSet) -> ManifestSet:
    """Manifests as a set that may be changed without changing what was given."""
    return manifests.fork() if isinstance(manifests, ManifestSet) else ManifestSet(manifests)


def apply_to(manifests: ManifestSet, edit: Edit) -> None:
    """Make one edit in a set of manifests, with the errors of `apply_edits`."""
    try:
        _apply(manifests, edit)
    except InputError as error:
        raise error.at(source=f"edit {edit.get('kind')} of {edit.get('subject')}") from None


def _apply(manifests: ManifestSet, edit: Edit) -> None:
    kind = edit.get("kind")
    if kind not in _KINDS:
        raise InputError("no kind of edit", where="kind", got=shown(kind), expected=", ".join(_KINDS))
    what, name = subject_of(edit)
    if kind in _OF_PENDING:
        _OF_PENDING[kind](manifests, pending_job(manifests, name, kind), edit)
    elif kind in _OF_QUEUES:
        _OF_QUEUES[kind](manifests, name, edit)
    elif kind in _OF_NODES:
        _OF_NODES[kind](manifests, edit)
    elif kind == "withdraw":
        pod_removal.withdraw_job(manifests, name)
    elif kind == "move":
        pod_removal.move_pods(manifests, name, edit)
    elif kind == "add-nodes":
        node_edits.add_nodes(manifests, name, edit)
    elif what == "pod":
        pod_removal.finish_pod(manifests, name)
    else:
        pod_removal.finish_job(manifests, name)


def subject_of(edit: Edit) -> tuple[str, str]:
    """What an edit is about: ``job``, ``pod``, ``queue``, ``HyperNode`` or another word, and the name behind it."""
    subject = edit.get("subject")
    if type(subject) is not str:
        raise InputError("wrong type or value", where="subject", got=shown(subject), expected="text")
    what, _, name = subject.partition(" ")
    return what, name


def changed_text(loaded: LoadedDocuments, edits: Sequence[Edit], cluster: ClusterSnapshot) -> str:
    """The text of one file that `workbench.load` reads as a scenario after edits.

    `loaded`: the scenario before them. `edits`: as for `apply_edits`. `cluster`: the snapshot of the cluster after the
    edits. It counts only if the input was a snapshot file, whose manifests are those of jobs alone.
    """
    if not loaded.whole_cluster:
        edits = [edit for edit in edits if is_of_jobs(loaded.manifest_set, edit)]
    return loaded.text(apply_edits(loaded.manifest_set, edits), cluster)


def is_of_jobs(manifests: ManifestSet, edit: Edit) -> bool:
    """Whether an edit changes manifests of jobs: pending ones, or a Queue that is among these manifests."""
    kind = edit.get("kind")
    if kind in _OF_QUEUES:
        return manifests.find("Queue", subject_of(edit)[1]) is not None
    return kind in _OF_PENDING or kind == "withdraw"

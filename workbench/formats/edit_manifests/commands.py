"""`kubectl_commands`: what a user types to make edits in a live cluster.

What Kubernetes and Volcano let nobody change is told in a line that begins with ``#``: such an object has to be
submitted anew.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from workbench.formats.edit_manifests.apply import apply_to, editable, is_of_jobs, subject_of
from workbench.formats.edit_manifests.command_lines import CommandLines, as_json
from workbench.formats.edit_manifests.manifest_set import GROUPS, Manifest, ManifestSet
from workbench.formats.edit_manifests.node_edits import parse_taint
from workbench.formats.edit_manifests.queue_edits import AMOUNTS
from workbench.jobs.membership import JOB_LABEL
from workbench.objects.admission.job_update import refuse_job_update
from workbench.objects.names import qualified_name_errors

__all__ = ["kubectl_commands"]


def json_patch(before: Any, after: Any, path: str = "") -> Iterator[dict[str, Any]]:
    """The operations of a JSON patch (RFC 6902) that turn one value into another.

    `before`, `after`: parsed JSON. `path`: JSON pointer to both values.
    """
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in [*before, *(key for key in after if key not in before)]:
            place = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
            if key not in after:
                yield {"op": "remove", "path": place}
            elif key not in before:
                yield {"op": "add", "path": place, "value": after[key]}
            else:
                yield from json_patch(before[key], after[key], place)
    elif isinstance(before, list) and isinstance(after, list) and len(before) <= len(after):
        for i, (old, new) in enumerate(zip(before, after, strict=False)):
            yield from json_patch(old, new, f"{path}/{i}")
        for new in after[len(before) :]:
            yield {"op": "add", "path": f"{path}/-", "value": new}
    elif before != after:
        yield {"op": "replace", "path": path, "value": after}


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any] | None:
    """The JSON merge patch (RFC 7386) that turns one mapping into another.

    None: a list differs in both, which such a patch would have to repeat as a whole.
    """
    patch: dict[str, Any] = {}
    for key in [*before, *(key for key in after if key not in before)]:
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            inner = merge_patch(old, new)
            if inner is None:
                return None
            patch[key] = inner
        elif isinstance(old, list) and isinstance(new, list):
            return None
        else:
            patch[key] = new
    return patch


Edit = Mapping[str, Any]
Identity = tuple[str, str, str]

#: Kinds whose specs may be changed at any time.
_MUTABLE = frozenset({"HyperNode", "Queue", "PodGroup", "Deployment", "ConfigMap"})

_CLUSTER_SCOPED = frozenset({"Node", "HyperNode", "Queue", "PriorityClass", "Device"})


def kubectl_commands(
    manifests: Iterable[Mapping[str, Any]] | ManifestSet, edits: Sequence[Edit], *, whole_cluster: bool = True
) -> list[str]:
    """Commands that make edits in a live cluster, one a line, to be typed into a shell.

    Returns: commands; lines that begin with ``#`` say what no command can do. Names and values are quoted for a POSIX
    shell.

    Parameters
    ----------
    manifests : iterable of mapping or ManifestSet
        Manifests before the edits, as for `workbench.formats.edit_manifests.apply.apply_edits`.
    edits : sequence of mapping
        As there, with its errors.
    whole_cluster : bool
        Whether the manifests describe the cluster, too. False: edits of the cluster are told from the edits alone.
    """
    held, lines = editable(manifests), CommandLines()
    for edit in edits:
        _tell_edit(lines, edit)
    for edit in edits:
        if whole_cluster or is_of_jobs(held, edit):
            apply_to(held, edit)
        else:
            _tell_without_manifests(lines, edit)
    changes = list(held.changes())
    for before, after in changes:
        if before is None and after is not None:
            _tell_new(lines, after)
    touched = {_identity(before) for before, _ in changes if before is not None}
    for before, after in changes:
        if before is None or _is_made_by(before, touched):
            continue
        if after is None:
            _tell_removed(lines, before)
        else:
            _tell_changed(lines, before, after, _runs(held, before))
    return lines.lines()


def _tell_edit(lines: CommandLines, edit: Edit) -> None:
    """Tell about nodes and pods what follows from an edit alone."""
    kind = edit.get("kind")
    nodes = [str(name) for name in edit.get("nodes") or ()]
    if kind == "uncordon":
        lines.command("", "uncordon", *nodes, names=nodes)
    elif kind == "untaint":
        key, value, effect = parse_taint(edit.get("from"))
        taint = f"{key}={value}:{effect}" if value else f"{key}:{effect}"
        if qualified_name_errors(key):
            lines.comment(f"remove the taint {taint} from {', '.join(nodes)}")
        else:
            lines.command("", "taint", "nodes", *nodes, f"{taint}-", names=nodes)
    elif kind == "ready":
        lines.comment(f"bring back to ready, then Kubernetes takes their taints away: {', '.join(nodes)}")
    elif kind == "wait":
        for key in edit.get("pods") or ():
            namespace, _, name = str(key).partition("/")
            lines.command(namespace, "wait", "--for=delete", f"pod/{name}", names=[name])
    elif kind == "move":
        namespace = subject_of(edit)[1].partition("/")[0]
        for name, node in (edit.get("to") or {}).items():
            key = name if "/" in name else f"{namespace}/{name}"
            lines.comment(f"a running pod cannot be moved: let pod {key} be made again on node {node}")
    elif kind == "add-nodes":
        names = ", ".join(map(str, edit.get("names") or ()))
        lines.comment(f"join new nodes like {edit.get('like')} to the cluster: {names}")


def _tell_without_manifests(lines: CommandLines, edit: Edit) -> None:
    """Tell an edit of a cluster of which there are no manifests."""
    kind = edit["kind"]
    what, name = subject_of(edit)
    if kind in AMOUNTS:
        before, after = edit.get("from") or {}, edit.get("to") or {}
        spec: Any = {key: after.get(key) for key in {**before, **after}}
        for key in reversed(AMOUNTS[kind]):
            spec = {key: spec}
        lines.patch("Queue", "", name, {"spec": spec})
    elif kind == "queue-weight":
        lines.patch("Queue", "", name, {"spec": {"weight": edit["to"]}})
    elif kind == "finish" and what == "pod":
        namespace, _, pod = name.partition("/")
        lines.delete("Pod", namespace, pod)
    elif kind == "finish":
        lines.comment(f"let the job {name} end, or delete the object that owns its pods")
    elif kind == "add-nodes" and name:
        lines.comment(f"make them members of HyperNode {name}")


def _tell_new(lines: CommandLines, after: Manifest) -> None:
    """Tell a new object; nodes and what describes their GPUs are not made by commands."""
    name = after["metadata"]["name"]
    if after["kind"] == "PriorityClass":
        lines.command("", "create", "priorityclass", name, f"--value={after['value']}", names=[name])
    elif after["kind"] == "Queue":
        lines.patch("Queue", "", name, {"spec": after["spec"]})
    elif after["kind"] == "Pod":
        lines.comment("hold back by a scheduling gate: pod {}", f"{_namespace(after)}/{name}")


def _tell_removed(lines: CommandLines, before: Manifest) -> None:
    """Tell that an object is to be deleted, or the Job that makes it and is not in the input."""
    if before["metadata"].get("deletionTimestamp"):
        return
    namespace, name = _namespace(before), before["metadata"]["name"]
    owners = before["metadata"].get("ownerReferences") or ()
    owner = next((owner for owner in owners if owner.get("controller")), None)
    if owner is not None and str(owner.get("apiVersion")).startswith("batch.volcano.sh/"):
        lines.delete("Job", namespace, str(owner.get("name")))
        return
    if owner is not None and before["kind"] == "Pod":
        made = f"{owner.get('kind')} {namespace}/{owner.get('name')} makes pods again as long as it is there: "
        lines.comment(made.replace("{}", "") + "{}", name)
    lines.delete(_with_group(before), namespace, name)


def _runs(manifests: ManifestSet, data: Manifest) -> bool:
    """Whether pods of an object run."""
    key, members = f"{_namespace(data)}/{data['metadata']['name']}", manifests.members
    made = members.of_top_owner.get(f"{data['kind']} {key}", [])
    return any(pod.runs for pod in [*made, *(members.of_job.get(key, []) if data["kind"] == "Job" else [])])


def _tell_changed(lines: CommandLines, before: Manifest, after: Manifest, runs: bool) -> None:
    """Tell a changed object; `runs`: whether pods of it run, which end if it is replaced."""
    kind, name, namespace = before["kind"], before["metadata"]["name"], _namespace(before)
    if kind == "Node" or (kind == "Pod" and before["metadata"].get("deletionTimestamp")):
        # The edit alone says what to do.
        return
    if kind == "Pod" and _is_told_of_pod(lines, before, after):
        return
    if before["metadata"].get("deletionTimestamp") != after["metadata"].get("deletionTimestamp"):
        lines.comment(f"let no further Job of {kind} {namespace}/{name} be made")
    elif _may_change(before, after):
        patch = merge_patch(before, after)
        lines.patch(_with_group(before), namespace, name, list(json_patch(before, after)) if patch is None else patch)
    else:
        fields = ", ".join(map(_field_change, json_patch(before, after))).replace("{}", "{ }")
        ends = ", which ends its running pods" if runs else ""
        text = f"{kind} {{}} cannot be changed: in its manifest {fields}; then kubectl replace --force -f FILE{ends}"
        lines.comment(text, f"{namespace}/{name}")


def _is_told_of_pod(lines: CommandLines, before: Manifest, after: Manifest) -> bool:
    """Tell what an edit does to a pod beside its fields; returns whether that was all."""
    old, new = before.get("spec") or {}, after.get("spec") or {}
    name, namespace = before["metadata"]["name"], _namespace(before)
    if before.get("status") != after.get("status"):
        job = (before["metadata"].get("labels") or {}).get(JOB_LABEL, name)
        text = f"let the Job {namespace}/{job} end by itself: its HyperJob makes a Job that is missing again"
        lines.comment(text)
    elif old.get("schedulingGates") != new.get("schedulingGates"):
        lines.comment("hold back by a scheduling gate: pod {}", f"{namespace}/{name}")
    else:
        # That it moves, the edit says.
        return bool(old.get("nodeName") != new.get("nodeName"))
    return True


def _may_change(before: Manifest, after: Manifest) -> bool:
    """Whether Kubernetes and Volcano accept the change of an object."""
    kind, group = before["kind"], str(before["apiVersion"]).rpartition("/")[0]
    if (group, kind) == ("batch", "Job"):
        return _may_change_batch_job(before.get("spec") or {}, after.get("spec") or {})
    if kind == "Job":
        return not refuse_job_update(after, before=before)
    free = {"HyperJob": "minAvailable", "Pod": "tolerations"}.get(kind)
    if free is None:
        return kind in _MUTABLE
    old, new = before.get("spec") or {}, after.get("spec") or {}
    return bool({**old, free: None} == {**new, free: None})


def _may_change_batch_job(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether Kubernetes accepts another spec of a Job: parallelism, and with it the completions of an Indexed Job."""
    free = {"parallelism"}
    if old.get("completionMode") == "Indexed" and new.get("completions") == new.get("parallelism"):
        free.add("completions")
    return all(old.get(key) == new.get(key) for key in {*old, *new} - free)


def _field_change(operation: Mapping[str, Any]) -> str:
    """An operation of a JSON patch in words: ``set spec.tasks[0].replicas to 2``."""
    parts = (part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:])
    path = "".join(f"[{part}]" if part.isdigit() or part == "-" else f".{part}" for part in parts).lstrip(".")
    return f"remove {path}" if operation["op"] == "remove" else f"set {path} to {as_json(operation['value'])}"


def _is_made_by(data: Manifest, others: Container[Identity]) -> bool:
    """Whether one of the other objects owns an object, or is the Deployment of the ReplicaSet that does."""
    namespace = _namespace(data)
    for owner in data["metadata"].get("ownerReferences") or ():
        kind, name = str(owner.get("kind")), str(owner.get("name"))
        if (kind, namespace, name) in others:
            return True
        if kind == "ReplicaSet" and ("Deployment", namespace, name.rpartition("-")[0]) in others:
            return True
    # The ReplicaSet itself, whose owner is not always in the manifest.
    name = str(data["metadata"]["name"]).rpartition("-")[0]
    return data["kind"] == "ReplicaSet" and ("Deployment", namespace, name) in others


def _identity(data: Manifest) -> Identity:
    return data["kind"], _namespace(data), str(data["metadata"]["name"])


def _namespace(data: Manifest) -> str:
    return "" if data["kind"] in _CLUSTER_SCOPED else str(data["metadata"].get("namespace") or "default")


def _with_group(data: Manifest) -> str:
    """The kind of an object, with its API group where another one's is usual (`CommandLines`)."""
    kind, group = data["kind"], str(data.get("apiVersion")).rpartition("/")[0]
    return f"{kind}.{group}" if kind in ("PodGroup", "Job") and group != GROUPS[kind][0] else str(kind)

"""`kubectl_commands`: what a user types to make edits in a live cluster.

What Kubernetes and Volcano let nobody change is told in a line that begins with ``#``: such an object has to be
submitted anew.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from workbench.formats.edit_manifests.apply import apply_to, editable, is_of_jobs, subject_of
from workbench.formats.edit_manifests.json_patch import json_patch, merge_patch
from workbench.formats.edit_manifests.manifest_set import GROUPS, Manifest, ManifestSet
from workbench.formats.edit_manifests.node_edits import parse_taint
from workbench.formats.edit_manifests.queue_edits import AMOUNTS
from workbench.jobs.membership import JOB_LABEL
from workbench.objects.admission.job_update import refuse_job_update
from workbench.objects.names import is_subdomain, qualified_name_errors

__all__ = ["kubectl_commands"]

Edit = Mapping[str, Any]

#: Plural of each kind, as kubectl takes it with the API group behind it.
_PLURALS = {
    "Node": "nodes",
    "Pod": "pods",
    "ConfigMap": "configmaps",
    "HyperNode": "hypernodes",
    "Queue": "queues",
    "PodGroup": "podgroups",
    "PriorityClass": "priorityclasses",
    "Job": "jobs",
    "HyperJob": "hyperjobs",
    "Deployment": "deployments",
    "ReplicaSet": "replicasets",
    "StatefulSet": "statefulsets",
}

#: Kinds whose specs may be changed at any time.
_MUTABLE = frozenset({"HyperNode", "Queue", "PodGroup", "Deployment", "ConfigMap"})


def kubectl_commands(
    manifests: Iterable[Mapping[str, Any]] | ManifestSet, edits: Sequence[Edit], *, whole_cluster: bool = True
) -> list[str]:
    """Commands that make edits in a live cluster, one a line, to be typed into a shell.

    Parameters
    ----------
    manifests : iterable of mapping or ManifestSet
        Manifests before the edits, as for `workbench.formats.edit_manifests.apply.apply_edits`.
    edits : sequence of mapping
        As there, with its errors.
    whole_cluster : bool
        Whether the manifests describe the cluster, too. False: edits of the cluster are told from the edits alone.

    Returns
    -------
    list of str
        Lines that begin with ``#`` say what no command can do. Names and values are quoted for a POSIX shell.
    """
    held = editable(manifests)
    lines = [line for edit in edits for line in _of_edit(edit)]
    for edit in edits:
        if whole_cluster or is_of_jobs(held, edit):
            apply_to(held, edit)
        else:
            lines += _without_manifests(edit)
    changes = list(held.changes())
    gone = {_identity(before) for before, after in changes if before is not None and after is None}
    changed = {_identity(before) for before, after in changes if before is not None and after is not None}
    made = [after for before, after in changes if before is None and after is not None]
    lines += [line for after in made for line in _created(after)]
    deleted: dict[tuple[str, str], list[str]] = {}
    for before, after in changes:
        if before is None or _is_made_by(before, gone | changed):
            continue
        if after is None:
            if not before["metadata"].get("deletionTimestamp"):
                lines += _made_again(before)
                deleted.setdefault((_resource(before), _namespace(before)), []).append(before["metadata"]["name"])
        else:
            lines += _patched(before, after)
    for (resource, namespace), names in deleted.items():
        lines.append(_command(namespace, "delete", resource, *names))
    return list(dict.fromkeys(lines))


def _of_edit(edit: Edit) -> Iterator[str]:
    """Lines about nodes and pods that follow from the edit alone."""
    kind = edit.get("kind")
    nodes = [str(name) for name in edit.get("nodes") or ()]
    if kind == "uncordon":
        yield _command("", "uncordon", *nodes)
    elif kind == "untaint":
        yield _taint_command(nodes, str(edit.get("from")))
    elif kind == "ready":
        yield _comment(f"bring back to ready, then Kubernetes takes their taints away: {', '.join(nodes)}")
    elif kind == "wait":
        for key in edit.get("pods") or ():
            namespace, _, name = str(key).partition("/")
            yield _command(namespace, "wait", "--for=delete", f"pod/{name}", names=[name])
    elif kind == "move":
        namespace = subject_of(edit)[1].partition("/")[0]
        for name, node in (edit.get("to") or {}).items():
            key = name if "/" in name else f"{namespace}/{name}"
            yield _comment(f"a running pod cannot be moved: let pod {key} be made again on node {node}")
    elif kind == "add-nodes":
        names = ", ".join(map(str, edit.get("names") or ()))
        yield _comment(f"join new nodes like {edit.get('like')} to the cluster: {names}")


def _taint_command(nodes: Sequence[str], text: str) -> str:
    key, value, effect = parse_taint(text)
    shown = f"{key}={value}:{effect}" if value else f"{key}:{effect}"
    if qualified_name_errors(key):
        return _comment(f"remove the taint {text} from {', '.join(nodes)}")
    return _command("", "taint", "nodes", *nodes, f"{shown}-", names=nodes)


def _without_manifests(edit: Edit) -> Iterator[str]:
    """Lines for an edit of a cluster of which there are no manifests."""
    kind = edit["kind"]
    what, name = subject_of(edit)
    if kind in AMOUNTS:
        spec: Any = {key: (edit.get("to") or {}).get(key) for key in {**(edit.get("from") or {}), **(edit["to"] or {})}}
        for key in reversed(AMOUNTS[kind]):
            spec = {key: spec}
        yield _patch_command("Queue", "", name, {"spec": spec})
    elif kind == "queue-weight":
        yield _patch_command("Queue", "", name, {"spec": {"weight": edit["to"]}})
    elif kind == "finish" and what == "pod":
        namespace, _, pod = name.partition("/")
        yield _command(namespace, "delete", "pods", pod)
    elif kind == "finish":
        yield _comment(f"let the job {name} end, or delete the object that owns its pods")
    elif kind == "add-nodes" and name:
        yield _comment(f"make them members of HyperNode {name}")


def _created(after: Manifest) -> Iterator[str]:
    """Lines for a new object; nodes and what describes their GPUs are not made by commands."""
    name = after["metadata"]["name"]
    if after["kind"] == "PriorityClass":
        yield _command("", "create", "priorityclass", name, f"--value={after['value']}", names=[name])
    elif after["kind"] == "Queue":
        yield _comment(f"the queue {name} is not in the input; it is taken to be there")
        yield _patch_command("Queue", "", name, {"spec": after["spec"]})
    elif after["kind"] == "Pod":
        yield _comment(f"hold back pod {_namespace(after)}/{name} by a scheduling gate")


def _patched(before: Manifest, after: Manifest) -> Iterator[str]:
    """Lines for a changed object."""
    kind, name, namespace = _kind(before), before["metadata"]["name"], _namespace(before)
    if kind == "Node":
        return
    if kind == "Pod":
        yield from _patched_pod(before, after)
        return
    if before["metadata"].get("deletionTimestamp") != after["metadata"].get("deletionTimestamp"):
        yield _comment(f"let no further Job of {kind} {namespace}/{name} be made")
        return
    if kind == "HyperJob":
        specs = ({**before["spec"], "minAvailable": None}, {**after["spec"], "minAvailable": None})
        allowed = specs[0] == specs[1]
    else:
        allowed = kind in _MUTABLE or (kind == "Job" and not refuse_job_update(after, before=before))
    if not allowed:
        yield _resubmitted(before, after)
        return
    patch = merge_patch(before, after)
    if patch is not None:
        yield _patch_command(kind, namespace, name, patch)
    else:
        yield _patch_command(kind, namespace, name, list(json_patch(before, after)))


def _patched_pod(before: Manifest, after: Manifest) -> Iterator[str]:
    """Lines for a changed pod, of which labels, annotations and further tolerations may change."""
    old, new = before.get("spec") or {}, after.get("spec") or {}
    if old.get("nodeName") != new.get("nodeName"):
        return
    name, namespace = before["metadata"]["name"], _namespace(before)
    if before.get("status") != after.get("status"):
        job = (before["metadata"].get("labels") or {}).get(JOB_LABEL, name)
        yield _comment(f"let the Job {namespace}/{job} end by itself: its HyperJob makes a Job that is missing again")
        return
    if old.get("schedulingGates") != new.get("schedulingGates"):
        yield _comment(f"hold back pod {namespace}/{name} by a scheduling gate")
        return
    rest = ({**old, "tolerations": None}, {**new, "tolerations": None})
    if rest[0] != rest[1]:
        yield _resubmitted(before, after)
        return
    patch = merge_patch(before, after)
    yield _patch_command("Pod", namespace, name, list(json_patch(before, after)) if patch is None else patch)


def _resubmitted(before: Manifest, after: Manifest) -> str:
    """A line about an object that cannot be changed, with the fields to change in its manifest."""
    fields = []
    for operation in json_patch(before, after):
        path = _field(operation["path"])
        value = f" to {_json(operation['value'])}" if "value" in operation else ""
        fields.append(f"{'remove' if operation['op'] == 'remove' else 'set'} {path}{value}")
    subject = f"{_kind(before)} {_namespace(before)}/{before['metadata']['name']}"
    return _comment(
        f"{subject} cannot be changed: in its manifest {', '.join(fields)}; then kubectl replace --force -f FILE"
    )


def _field(pointer: str) -> str:
    """The path of a field, such as ``spec.tasks[0].name``, for a JSON pointer."""
    parts = (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
    return "".join(f"[{part}]" if part.isdigit() or part == "-" else f".{part}" for part in parts).lstrip(".")


def _patch_command(kind: str, namespace: str, name: str, patch: Any) -> str:
    style = "merge" if isinstance(patch, Mapping) else "json"
    words = ("patch", _resource({"kind": kind}), name, f"--type={style}", "-p", _json(patch))
    return _command(namespace, *words, names=[name])


def _command(namespace: str, *words: str, names: Iterable[str] | None = None) -> str:
    """A kubectl command; names that no object can have could be taken for options, so it is then a comment."""
    checked = [*(words[1:] if names is None else names), *([namespace] if namespace else [])]
    line = shlex.join(["kubectl", *(["-n", namespace] if namespace else []), *words])
    return line if all(map(is_subdomain, checked)) else _comment(f"names that no object can have: {line}")


def _comment(text: str) -> str:
    return "# " + "".join(letter if letter.isprintable() else "?" for letter in text)


def _is_made_by(data: Manifest, others: Container[tuple[str, str, str]]) -> bool:
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
    return _kind(data) == "ReplicaSet" and ("Deployment", namespace, name) in others


def _made_again(pod: Manifest) -> Iterator[str]:
    """A line about a pod that something outside of the input makes again."""
    for owner in pod["metadata"].get("ownerReferences") or () if _kind(pod) == "Pod" else ():
        if owner.get("controller"):
            name = f"{_namespace(pod)}/{pod['metadata']['name']}"
            yield _comment(f"{owner.get('kind')} {owner.get('name')} makes pod {name} again as long as it is there")


def _identity(data: Manifest) -> tuple[str, str, str]:
    return _kind(data), _namespace(data), str(data["metadata"]["name"])


def _kind(data: Mapping[str, Any]) -> str:
    return str(data["kind"])


def _namespace(data: Manifest) -> str:
    if _kind(data) in ("Node", "HyperNode", "Queue", "PriorityClass", "Device"):
        return ""
    return str(data["metadata"].get("namespace") or "default")


def _resource(data: Mapping[str, Any]) -> str:
    kind = _kind(data)
    group = GROUPS[kind][0]
    return f"{_PLURALS[kind]}.{group}" if group else _PLURALS[kind]


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))

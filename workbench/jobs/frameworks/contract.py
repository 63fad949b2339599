"""`Plugin`, the interface of a job plugin: functions that take parsed manifests and return new ones, or actions on
objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from workbench.jobs.membership import JOB_LABEL
from workbench.jobs.task_pods import NAMESPACE_LABEL, name_of, namespace_of
from workbench.objects.flags import Arguments, Flag

__all__ = [
    "PLACEHOLDER_KEYS",
    "Action",
    "JobHook",
    "Object",
    "Plugin",
    "PluginCall",
    "PodHook",
    "SshKeys",
    "Stored",
    "created_if_absent",
    "data_written",
    "deleted_if_there",
    "labels_of_pods",
    "object_of_job",
    "owner_reference",
]

#: A parsed manifest.
Object = Mapping[str, Any]
#: The objects in the Job's namespace, by kind and name.
Stored = Mapping[tuple[str, str], Object]


@dataclass(frozen=True)
class SshKeys:
    """A pair of SSH keys, as the contents of ``id_rsa`` and ``id_rsa.pub``; the private key is not shown by repr."""

    private: str = field(repr=False)
    public: str


#: Stands for the pair that upstream draws anew for each Job: a text that no sshd takes for a key.
PLACEHOLDER_KEYS = SshKeys("(a new RSA private key, in PEM)\n", "(its public key, as OpenSSH writes it)\n")


@dataclass(frozen=True)
class Action:
    """Creation, update or deletion of one object in the Job's namespace; `manifest` is empty for a deletion."""

    verb: Literal["create", "update", "delete"]
    kind: str
    name: str
    manifest: Object = field(default_factory=dict)


@dataclass(frozen=True)
class PluginCall:
    """Arguments that every hook of a job plugin receives.

    `job`: the Job as stored. `arguments`: parsed arguments of the plugin. `stored`: mapping of (kind, name) to mapping;
    objects in the Job's namespace. `ssh_keys`: the pair for a Job whose arguments contain no keys.
    """

    job: Object
    arguments: Arguments
    stored: Stored = field(default_factory=dict)
    ssh_keys: SshKeys = PLACEHOLDER_KEYS

    def text(self, flag: str) -> str:
        """Value of the plugin's flag `flag`, which must be a text flag."""
        return str(self.arguments.values[flag])

    def number(self, flag: str) -> int:
        """Value of the plugin's flag `flag`, which must be an integer flag."""
        return int(self.arguments.values[flag])

    def on(self, flag: str) -> bool:
        """Value of the plugin's flag `flag`, which must be a boolean flag."""
        return bool(self.arguments.values[flag])


PodHook = Callable[[Object, PluginCall], Object]
JobHook = Callable[[PluginCall], Iterable[Action]]


def _unchanged(pod: Object, call: PluginCall) -> Object:
    return pod


def _nothing(call: PluginCall) -> Iterable[Action]:
    return ()


@dataclass(frozen=True)
class Plugin:
    """One job plugin: its name, its flags, and the hooks that run when pods are created and when the Job changes.

    Attributes
    ----------
    inject : callable
        Hook that returns a new pod as Volcano's plugin changes it.
    extend_pod : callable
        Hook that adds to a pod what the `Addition` of its framework names; it runs after `inject` of every plugin.
    on_add : callable
        Actions when the Job is new; not called once the marker is set.
    on_update, on_delete : callable
        Actions when the Job runs, and when it is killed; the latter is called only while the marker is set.
    extend_job : callable
        Actions, on add and on update, on the objects that the `Addition` of its framework names.
    marked : bool
        Whether the plugin leaves its marker in ``status.controlledResources``.
    sets_commands : bool
        Whether the plugin replaces commands of containers.
    """

    name: str
    flags: tuple[Flag, ...] = ()
    inject: PodHook = _unchanged
    extend_pod: PodHook = _unchanged
    on_add: JobHook = _nothing
    on_update: JobHook = _nothing
    on_delete: JobHook = _nothing
    extend_job: JobHook = _nothing
    marked: bool = True
    sets_commands: bool = False


def owner_reference(job: Object) -> dict[str, Any]:
    """The entry of metadata.ownerReferences that makes `job` the controller of an object."""
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": name_of(job),
        "uid": (job.get("metadata") or {}).get("uid") or "",
        "controller": True,
        "blockOwnerDeletion": True,
    }


def object_of_job(job: Object, api_version: str, kind: str, name: str, **fields: Any) -> dict[str, Any]:
    """The manifest of an object, of an API version and kind, in the Job's namespace; the Job controls the object.

    `job`: the Job; it becomes the owner. `fields`: further fields of the object beside its metadata: ``spec``,
    ``data``.
    """
    metadata = {"name": name, "namespace": namespace_of(job), "ownerReferences": [owner_reference(job)]}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def labels_of_pods(job: Object) -> dict[str, str]:
    """Labels by which a Service or NetworkPolicy selects all pods of the Job."""
    return {JOB_LABEL: name_of(job), NAMESPACE_LABEL: namespace_of(job)}


def created_if_absent(call: PluginCall, manifest: Object) -> Iterable[Action]:
    """The action that creates the object `manifest`; none if an object of that kind and name exists."""
    kind, name = manifest["kind"], name_of(manifest)
    return () if (kind, name) in call.stored else (Action("create", kind, name, manifest),)


def data_written(call: PluginCall, manifest: Object) -> Iterable[Action]:
    """The action that creates the ConfigMap or Secret `manifest`, or updates an existing one whose data differ.

    Else none.
    """
    kind, name = manifest["kind"], name_of(manifest)
    known = call.stored.get((kind, name))
    if known is None:
        return (Action("create", kind, name, manifest),)
    if known.get("data") == manifest["data"]:
        return ()
    return (Action("update", kind, name, {**known, "data": manifest["data"]}),)


def deleted_if_there(call: PluginCall, kind: str, name: str) -> Iterable[Action]:
    """The action that deletes an object; none if it does not exist.

    `call`: input of the plugin's hook, which has the stored objects.
    """
    return (Action("delete", kind, name),) if (kind, name) in call.stored else ()

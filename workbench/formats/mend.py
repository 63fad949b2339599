"""`mended`: an object as its author meant it, where the manifest has a slip that the API server would refuse.

The commands `run`, `place`, `compare` and `expand` read manifests so. `validate` and the linter say what a cluster
would answer; they mend only objects whose kind or name it could not tell (`with_readable_head`) and call them refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from workbench.errors import InputError
from workbench.formats.manifests import Document
from workbench.formats.mend_names import child_paths, name_of, names_in, with_name_of_parent
from workbench.model.notice import Notice, texts_of
from workbench.objects.fields import group_kind
from workbench.objects.hyper_job import DOCUMENT_GROUP, hyper_job_notes, released_form
from workbench.objects.metadata import is_stored
from workbench.objects.top_owner import KUBEFLOW_KINDS

__all__ = ["mended", "mended_documents", "with_readable_head"]

_TOPOLOGY_GROUP = "topology.volcano.sh"
_JOB_VERSION = "batch.volcano.sh/v1alpha1"
_GPU = "nvidia.com/gpu"
#: Parts of one GPU as Koordinator counts them: in hundredths, the memory in bytes. The design document writes them with
#: the domain of Kubernetes, released Koordinator with its own; ``gpu`` stands for core and memory-ratio together.
_DOMAINS = ("kubernetes.io", "koordinator.sh")
_MEMORY = tuple(f"{domain}/gpu-memory" for domain in _DOMAINS)
_SHARES = (
    *(f"{domain}/{part}" for part in ("gpu-core", "gpu", "gpu-memory-ratio") for domain in _DOMAINS),
    *_MEMORY,
)
#: Kinds that people write; others, such as Nodes, come from a cluster.
_WRITTEN = ("HyperNode", "Job", "HyperJob", "PodGroup", "Pod", "Deployment", "StatefulSet")
#: Kinds whose controllers make the pods of gangs, which people write, too.
_OF_PODS = ("JobSet", "LeaderWorkerSet", "RayCluster", "RayJob", *KUBEFLOW_KINDS)
#: Keys through which the containers of a kind are reached.
_TO_CONTAINERS = (
    *("spec", "template", "templateSpec", "tasks", "replicatedJobs", "jobs"),
    *("leaderWorkerTemplate", "leaderTemplate", "workerTemplate"),
    *("rayClusterSpec", "headGroupSpec", "workerGroupSpecs"),
    *KUBEFLOW_KINDS.values(),
)
#: Of these the keys whose values have a template under each of their own keys.
_BY_TYPE = frozenset(KUBEFLOW_KINDS.values())


def mended(document: Document) -> tuple[Document, list[Notice]]:
    """The document with its slips mended, and a notice about each; a document without slips is returned as it is.

    `document`: the object as read; not changed.

    Returns
    -------
    Document
    list of Notice
        One notice per slip: file, document and field, what was found, what is taken instead, and how to write it.
    """
    data = document.data
    kind = data.get("kind")
    if "apiVersion" in data and "name" not in data and kind not in (*_WRITTEN, *_OF_PODS) and not _offers_gpu(data):
        return document, []
    if _is_stored(document):
        return document, []
    return _mend(document, document.source, document.where)


def with_readable_head(document: Document) -> tuple[Document, list[str]]:
    """A document as `mended` returns it if it lacks apiVersion or its name stands beside kind; else as it is.

    No API server knows what kind and name such an object has. It refuses the object, and nothing else can be said of it
    before it is mended. The texts about the slips begin with the field, not with file and document.
    """
    if ("apiVersion" in document.data and "name" not in document.data) or _is_stored(document):
        return document, []
    readable, notices = _mend(document)
    return readable, texts_of(notices)


def _is_stored(document: Document) -> bool:
    return type(document.data.get("metadata")) is dict and is_stored(document.data)


def _mend(document: Document, *place: str) -> tuple[Document, list[Notice]]:
    """A document with its slips mended, and the notices about them, which begin with the place."""
    mender = _Mender(document, *place)
    mender.mend()
    return (replace(document, data=mender.data), mender.notices) if mender.notices else (document, [])


class _Mender:
    """One object whose slips are being mended; only what changes is copied.

    `source`, `where`: file and document that the notices name; empty: none.
    """

    # `mend` goes through the object once; only the mappings on the way to a slip are copied:
    #   _head        kind, apiVersion and fields at the top
    #   _hypernode   members and selectors of a HyperNode
    #   _offered     resources of a Node
    #   _pods        templates of pods at any depth: labels, resources of containers, shares of GPUs

    def __init__(self, document: Document, source: str = "", where: str = "") -> None:
        self._file = f"{source}: " if source else ""
        self._place = f"{source}: {where}, " if source else ""
        self.data: dict[str, Any] = dict(document.data)
        self.notices: list[Notice] = []

    def mend(self) -> None:
        """Mend `data`."""
        self._head()
        kind, spec = self.data.get("kind"), self.data.get("spec")
        if kind == "Node":
            self._offered()
        if type(spec) is not dict:
            return
        if kind == "HyperNode":
            self.data["spec"] = self._hypernode(dict(spec))
        elif kind in ("Job", "PodGroup"):
            spec = self.data["spec"] = dict(spec)
            self._one_topology(spec)
        if kind in _WRITTEN or kind in _OF_PODS:
            self.data["spec"] = self._pods(self.data["spec"], "spec")

    @property
    def _subject(self) -> str:
        name = name_of(self.data)
        return f"{self.data.get('kind')} {name}" if type(name) is str else ""

    def _said(self, path: str, found: str, taken: str, remedy: str) -> str:
        return f"{self._place}{path}: {found}; taken as {taken}; write {remedy}"

    def _head(self) -> None:
        data = self.data
        name = data.get("name")
        metadata = data.get("metadata")
        if type(name) is str and metadata in (None, {}):
            del data["name"]
            data["metadata"] = {"name": name}
            self.notices.append(
                Notice(
                    "name-outside-metadata",
                    self._said("name", "a name beside kind", "metadata.name", f"metadata: {{name: {name}}}"),
                    self._subject,
                )
            )
        version = data.get("version")
        if type(version) is str and "apiVersion" not in data:
            self.data = data = {"apiVersion": version, **{key: data[key] for key in data if key != "version"}}
            self.notices.append(
                Notice(
                    "version-not-api-version",
                    self._said("version", "the key 'version'", "apiVersion", f"apiVersion: {version}"),
                    self._subject,
                )
            )
        group, _, _ = str(data.get("apiVersion")).rpartition("/")
        if data.get("kind") == "Job" and group == _TOPOLOGY_GROUP:
            found = str(data["apiVersion"])
            data["apiVersion"] = _JOB_VERSION
            self.notices.append(
                Notice(
                    "job-in-wrong-group",
                    self._said("apiVersion", f"a Job of {found}", _JOB_VERSION, f"apiVersion: {_JOB_VERSION}"),
                    self._subject,
                )
            )

    def _offered(self) -> None:
        """Mend what a Node offers; all Nodes of a file share the text of the notice."""
        if not _offers_gpu(self.data):
            return
        status = dict(self.data["status"])
        for key in ("allocatable", "capacity"):
            if type(status.get(key)) is dict and _GPU not in status[key]:
                status[key] = {_GPU if name == "gpu" else name: amount for name, amount in status[key].items()}
        self.data["status"] = status
        text = f"{self._file}Nodes offer the resource 'gpu'; taken as {_GPU}; write {_GPU}"
        self.notices.append(Notice("gpu-without-domain", text, self._subject))

    def _one_topology(self, spec: dict[str, Any]) -> None:
        topology = spec.get("networkTopology")
        if type(topology) is list and len(topology) == 1 and type(topology[0]) is dict:
            spec["networkTopology"] = topology[0]
            self.notices.append(
                Notice(
                    "list-for-object",
                    self._said("spec.networkTopology", "a list", "its only entry", "the fields without a dash"),
                    self._subject,
                )
            )

    def _hypernode(self, spec: dict[str, Any]) -> dict[str, Any]:
        tier = spec.get("tier")
        if type(tier) is str and re.fullmatch(r"[0-9]{1,9}", tier, re.ASCII):
            spec["tier"] = int(tier)
            self.notices.append(
                Notice(
                    "text-for-number",
                    self._said("spec.tier", f"the text '{tier}'", "the number", f"tier: {int(tier)}"),
                    self._subject,
                )
            )
        members = spec.get("members")
        if type(members) is dict and "name" in members:
            self.notices.append(
                Notice(
                    "list-for-object",
                    self._said("spec.members", "one member", "a list of it", "a dash before the member"),
                    self._subject,
                )
            )
            members = [members]
        if type(members) is list:
            spec["members"] = [
                self._member(member, f"spec.members[{i}]", spec.get("tier")) for i, member in enumerate(members)
            ]
        return spec

    def _member(self, member: Any, path: str, tier: Any) -> Any:
        if type(member) is not dict or type(member.get("name")) is not str or "selector" in member:
            return member
        kind = member.get("type") or ("Node" if tier == 1 else "HyperNode")
        selector = {"exactMatch": {"name": member["name"]}}
        written = f"{{type: {kind}, selector: {{exactMatch: {{name: {member['name']}}}}}}}"
        named = f"the {kind} of that name" + ("" if member.get("type") else f", as the tier is {tier}")
        self.notices.append(
            Notice(
                "member-without-selector",
                self._said(path, "a name instead of a selector", named, written),
                self._subject,
            )
        )
        return {**{key: value for key, value in member.items() if key != "name"}, "type": kind, "selector": selector}

    def _pods(self, value: Any, path: str) -> Any:
        """The value with the slips mended of the pod templates below it: `gpu` without a domain, numbers for texts."""
        if type(value) is list:
            return [self._pods(item, f"{path}[{i}]") for i, item in enumerate(value)]
        if type(value) is not dict:
            return value
        out = value
        for key in _TO_CONTAINERS:
            if type(value.get(key)) in (dict, list):
                below = value[key]
                if key in _BY_TYPE and type(below) is dict:
                    mended = {one: self._pods(item, f"{path}.{key}.{one}") for one, item in below.items()}
                else:
                    mended = self._pods(below, f"{path}.{key}")
                out = _set(out, value, key, mended)
        if type(value.get("metadata")) is dict:
            out = _set(out, value, "metadata", self._texts(value["metadata"], f"{path}.metadata"))
        for key in ("containers", "initContainers"):
            if type(value.get(key)) is list:
                listed = [self._container(one, f"{path}.{key}[{i}]") for i, one in enumerate(value[key])]
                out = _set(out, value, key, listed)
        return out

    def _texts(self, metadata: dict[str, Any], path: str) -> dict[str, Any]:
        """Metadata of a template whose labels and annotations are texts: a number means its digits."""
        out = metadata
        for key in ("labels", "annotations"):
            entries = metadata.get(key)
            if type(entries) is not dict:
                continue
            texts = {name: _text_of(value) for name, value in entries.items()}
            for name, value in entries.items():
                if texts[name] != value:
                    at, text = f"{path}.{key}[{name!r}]", texts[name]
                    said = self._said(at, f"{value!r} without quotes", f"the text '{text}'", f'"{text}"')
                    self.notices.append(Notice("number-for-text", said, self._subject))
            out = _set(out, metadata, key, texts)
        return out

    def _container(self, container: Any, path: str) -> Any:
        resources = container.get("resources") if type(container) is dict else None
        if type(resources) is not dict:
            return container
        out = resources
        for key in ("requests", "limits"):
            amounts = resources.get(key)
            if type(amounts) is dict and "gpu" in amounts and _GPU not in amounts:
                named = {_GPU if name == "gpu" else name: amount for name, amount in amounts.items()}
                out = _set(out, resources, key, named)
                at = f"{path}.resources.{key}"
                self.notices.append(
                    Notice(
                        "gpu-without-domain",
                        self._said(at, "the resource 'gpu'", _GPU, f"{_GPU}: {amounts['gpu']}"),
                        self._subject,
                    )
                )
                amounts = named
            if type(amounts) is dict and (told := next((name for name in _SHARES if name in amounts), "")):
                out = self._shares(out, resources, key, amounts, told, path)
        return container if out is resources else {**container, "resources": out}

    def _shares(
        self, out: dict[str, Any], resources: dict[str, Any], key: str, amounts: dict[str, Any], told: str, path: str
    ) -> dict[str, Any]:
        """The resources with whole GPUs instead of hundredths of them, as the Device of the GPU proposal counts."""
        at, written = f"{path}.resources.{key}", str(amounts[told])
        if _GPU in amounts or told in _MEMORY or not re.fullmatch(r"[1-9][0-9]{0,3}00", written, re.ASCII):
            text = f"{self._place}{at}: {told}: {written} is a share of a GPU"
            text += f", which manifests cannot ask for here; ask for whole GPUs with {_GPU}"
            self.notices.append(Notice("gpu-share-not-read", text, self._subject))
            return out
        whole = {name: amount for name, amount in amounts.items() if name not in _SHARES}
        gpus = int(written) // 100
        said = self._said(at, f"{told}: {written}, hundredths of a GPU", f"{_GPU}: {gpus}", f"{_GPU}: {gpus}")
        self.notices.append(Notice("gpu-in-hundredths", said, self._subject))
        return _set(out, resources, key, {**whole, _GPU: gpus})


def _text_of(value: Any) -> Any:
    """The text that a whole number or a truth value stands for; other values as they are."""
    if type(value) is bool:
        return "true" if value else "false"
    return str(value) if type(value) is int else value


def _offers_gpu(data: Mapping[str, Any]) -> bool:
    """Whether a Node offers GPUs under a name without a domain, which no Kubernetes node can."""
    status = data.get("status") if data.get("kind") == "Node" else None
    if type(status) is not dict:
        return False
    offered = (status.get("allocatable"), status.get("capacity"))
    return any(type(amounts) is dict and "gpu" in amounts and _GPU not in amounts for amounts in offered)


def _set(out: dict[str, Any], value: dict[str, Any], key: str, item: Any) -> dict[str, Any]:
    """`out` with another item, copied before the first change; `value` is what `out` was in the beginning."""
    if item == value[key]:
        return out
    return {**out, key: item}


def mended_documents(documents: Iterable[Document]) -> list[tuple[Document, list[Notice]]]:
    """All documents of an input as `mended` returns them, with HyperNodes under the names that their parents use."""
    ones = [_released(*mended(document)) for document in documents]
    hypernodes = [document.data for document, _ in ones if document.data.get("kind") == "HyperNode"]
    children = {name: child_paths(data) for data in hypernodes if type(name := name_of(data)) is str}
    names = names_in(children)
    return [with_name_of_parent(document, notices, names) for document, notices in ones] if names else ones


def _released(document: Document, notices: list[Notice]) -> tuple[Document, list[Notice]]:
    """A HyperJob in the spelling of the design document as the released kind, which alone a cluster stores."""
    data = document.data
    if group_kind(data) != (DOCUMENT_GROUP, "HyperJob"):
        return document, notices
    try:
        return replace(document, data=released_form(data)), [*notices, *hyper_job_notes(data)]
    except InputError as error:
        raise document.error(error) from None

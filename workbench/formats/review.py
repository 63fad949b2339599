"""`review_manifests`: whether a cluster's admission would accept each object of the input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.errors import InputError
from workbench.formats.manifests import Document, Manifests
from workbench.formats.mend import with_readable_head
from workbench.jobs.before_submission import job_notices
from workbench.jobs.frameworks.checking import plugin_fault
from workbench.model.release import Release
from workbench.objects.admission import Known, Verdict, is_reviewed, review
from workbench.objects.admission.finding import Fault
from workbench.objects.admission.known import KnownQueue
from workbench.objects.admission.stored import with_defaults
from workbench.objects.fields import get_map, get_text
from workbench.objects.kinds import ClusterObjects, kind_label
from workbench.objects.metadata import read_metadata

__all__ = ["Review", "Reviewed", "review_manifests"]

_CLUSTER_SCOPED = ("HyperNode", "Queue")


@dataclass(frozen=True)
class Reviewed:
    """One object of the input, and whether admission accepts it.

    Attributes
    ----------
    kind, namespace, name : str
        Identity of the object; `namespace` is empty for cluster-scoped kinds.
    source, where : str
        File and document in which the object stands.
    verdict : Verdict
        Admission's answer, with the defaults that it would add.
    submitted : mapping of str to Any
        The object's manifest as written.
    """

    kind: str
    namespace: str
    name: str
    source: str
    where: str
    verdict: Verdict
    submitted: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def stored(self) -> dict[str, Any]:
        """The manifest with admission's defaults, as a cluster that accepts the object would store it."""
        return with_defaults(self.submitted, self.verdict.defaults)

    @property
    def key(self) -> str:
        """The object's name as ``Kind namespace/name``."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True)
class Review:
    """Result of `review_manifests`: what admission would say to each object of an input.

    Attributes
    ----------
    release : Release
        Release of Volcano whose admission is modelled.
    objects : tuple of Reviewed
        In the order of the input.
    not_reviewed : mapping of str to int
        Kinds whose admission is not modelled, with counts; their fields were read where the kind is known.
    """

    release: Release
    objects: tuple[Reviewed, ...]
    not_reviewed: Mapping[str, int]

    @property
    def refused(self) -> int:
        """Number of objects that admission would refuse."""
        return sum(not reviewed.verdict.allowed for reviewed in self.objects)


def review_manifests(manifests: Manifests, release: Release = Release.V1_15, *, own_plugins: bool = True) -> Review:
    """Check every object that `is_reviewed` as if it were created in a cluster with a given Volcano release.

    Queues, namespaces and tier names are those of the input.

    Parameters
    ----------
    manifests : Manifests
    release : Release
    own_plugins : bool
        Accept the Job plugins that only this project has, with a warning.

    Raises
    ------
    InputError
        A field of the wrong type, with file, document and field.
    """
    queues: dict[str, KnownQueue] = {}
    namespaces: dict[str, Mapping[str, str]] = {}
    tier_names: set[str] = set()
    any_hypernode = False
    others = ClusterObjects()
    not_reviewed = Counter(manifests.ignored)
    waiting = []
    for written in manifests.documents:
        document, slips = with_readable_head(written)
        with _at(document):
            data = document.data
            group_and_kind = _kind(data)
            if is_reviewed(data):
                waiting.append((document, slips))
            else:
                others.add(data, f"{document.source}: {document.where}")
                not_reviewed[kind_label(str(data["apiVersion"]), str(data["kind"]))] += 1
            if group_and_kind == ("scheduling.volcano.sh", "Queue"):
                state = get_text(get_map(data, "status", ""), "state", "status")
                parent = get_text(get_map(data, "spec", ""), "parent", "spec")
                queues[read_metadata(data, namespaced=False).name] = KnownQueue(state or "Open", parent)
            elif group_and_kind == ("", "Namespace"):
                metadata = read_metadata(data, namespaced=False)
                namespaces[metadata.name] = metadata.annotations
            elif group_and_kind == ("topology.volcano.sh", "HyperNode"):
                any_hypernode = True
                tier_names.add(get_text(get_map(data, "spec", ""), "tierName", "spec"))
    known = Known(queues, tier_names if any_hypernode else None, namespaces)
    objects = []
    for document, slips in waiting:
        with _at(document):
            verdict = review(document.data, release, known, own_plugins=own_plugins)
            if verdict.allowed and (fault := plugin_fault(document.data)) is not None:
                verdict = Verdict(
                    str(fault), warnings=verdict.warnings, findings=(Fault(fault.where or "", str(fault)),)
                )
            if slips:
                found = (*(Fault("", text) for text in slips), *verdict.findings)
                text = "; ".join(one.text.strip() for one in found)
                verdict = Verdict(text, warnings=verdict.warnings, findings=found)
            kind = str(document.data["kind"])
            if verdict.allowed and (notices := job_notices(document.data)):
                verdict = replace(verdict, warnings=(*verdict.warnings, *notices))
            metadata = read_metadata(document.data, namespaced=kind not in _CLUSTER_SCOPED)
            place = (document.source, document.where)
            objects.append(Reviewed(kind, metadata.namespace, metadata.name, *place, verdict, document.data))
    return Review(release, tuple(objects), dict(sorted(not_reviewed.items())))


def _kind(data: Mapping[str, object]) -> tuple[str, str]:
    return str(data.get("apiVersion")).rpartition("/")[0], str(data.get("kind"))


@contextmanager
def _at(document: Document) -> Iterator[None]:
    """Context manager that adds the file and the document of an object to InputErrors."""
    try:
        yield
    except InputError as error:
        raise document.error(error) from None

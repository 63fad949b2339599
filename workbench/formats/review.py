"""`Reviewer`: whether a cluster's admission would accept each object of the input, and where it says no."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.errors import InputError
from workbench.formats.file_bytes import read_bytes
from workbench.formats.manifests import HAND_WRITTEN, Document, Manifests
from workbench.formats.mend import with_readable_head
from workbench.formats.object_lines import ObjectText, decoded, object_texts
from workbench.jobs.before_submission import job_notices
from workbench.jobs.frameworks.checking import plugin_fault
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.model.release import Release
from workbench.objects.admission import Known, Verdict, is_reviewed, review
from workbench.objects.admission.known import KnownQueue, with_defaults
from workbench.objects.admission.kueue import judge_of
from workbench.objects.admission.schema import Fault
from workbench.objects.fields import get_map, get_maps, get_text, group_kind, path_steps
from workbench.objects.kinds import ClusterObjects, kind_label
from workbench.objects.metadata import Metadata, is_stored, read_metadata
from workbench.objects.top_owner import owner_metadata, top_kind, top_owner_reader

__all__ = ["Review", "Reviewed", "Reviewer", "review_manifests"]

_CLUSTER_SCOPED = ("HyperNode", "Queue", "Topology", "ResourceFlavor")

#: Kinds whose admission depends on queues and tier names.
_OF_QUEUES = ("Job", "PodGroup", "HyperJob")

_LINE = re.compile(r"line ([0-9]+)")


@dataclass(frozen=True)
class Reviewed:
    """One object of the input, and whether admission accepts it.

    `kind`, `namespace`, `name`: identity of the object; `namespace` is empty for cluster-scoped kinds. `source`,
    `where`: file and document in which the object stands. `verdict`: admission's answer, with the defaults that it
    would add. `submitted`: the object's manifest as written.
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

    @property
    def subject(self) -> str:
        """The object's name in notices, where the Job of Kubernetes is a ``BatchJob``."""
        kind = top_kind(group_kind(self.submitted)[0], self.kind)
        return f"{kind}{self.key.removeprefix(self.kind)}"

    def judge(self, release: Release) -> str:
        """Whose admission was asked, such as ``Volcano (1.15)``."""
        return judge_of(self.submitted, release)


@dataclass(frozen=True)
class Review:
    """Result of `review_manifests`: what admission would say to each object of an input.

    `release`: release of Volcano whose admission is modelled. `objects` (tuple of Reviewed): in the order of the input.
    `not_reviewed`: kinds whose admission is not modelled, with counts; their fields were read where the kind is known.
    """

    release: Release
    objects: tuple[Reviewed, ...]
    not_reviewed: Mapping[str, int]

    @property
    def refused(self) -> int:
        """Number of objects that admission would refuse."""
        return sum(not reviewed.verdict.allowed for reviewed in self.objects)

    @property
    def summary(self) -> str:
        """How many objects are accepted, and by whom."""
        judged: Counter[str] = Counter()
        accepted: Counter[str] = Counter()
        for one in self.objects:
            judge = one.judge(self.release)
            judged[judge] += 1
            accepted[judge] += one.verdict.allowed
        total = f"{sum(accepted.values()):,} of {counted(len(self.objects), 'object', form=',')} accepted"
        if len(judged) == 1:
            return f"{total} by {next(iter(judged))}"
        return f"{total} ({', '.join(f'{accepted[name]:,} of {n:,} by {name}' for name, n in sorted(judged.items()))})"

    def located(self, stdin: bytes | str | None = None) -> Iterator[tuple[Reviewed, Fault, str, int | None]]:
        """Each violation with its object, its place ``file:line``, and the line alone where it is known."""
        refused = [one for one in self.objects if not one.verdict.allowed]
        keys: dict[str, set[str]] = {}
        for one in refused:
            keys.setdefault(one.source, set()).add(one.key)
        texts = {source: _positions(source, wanted, stdin) for source, wanted in keys.items()}
        for one in refused:
            position = texts[one.source].get(one.key)
            for fault in one.verdict.findings:
                document = _LINE.search(one.where)
                line = int(document[1]) if document else None
                # Objects of a JSON text may all stand in one line, which says less than their number.
                if position is not None and (document or position.line_of(()) > 1):
                    line = position.line_of(path_steps(fault.path))
                yield one, fault, f"{one.source}:{line}" if line is not None else f"{one.source}: {one.where}", line

    def findings(self, stdin: bytes | str | None = None) -> tuple[Notice, ...]:
        """Every violation for which admission would refuse an object, each with the object and ``file:line``.

        `stdin`: content of the file ``stdin``. Returns: notices in the order of the input, with the object as subject
        and the line as a number where it is known. Pods by the thousand may have one violation: the first is named, and
        the others are counted.
        """
        found: dict[tuple[str, str], list[tuple[str, str, int | None]]] = {}
        for one, fault, place, line in self.located(stdin):
            group = ("Pod" if one.kind == "Pod" else one.key, fault.sentence)
            found.setdefault(group, []).append((one.subject, place, line))
        notices = []
        for (_, said), alike in found.items():
            key, place, line = alike[0]
            more = f" and {counted(len(alike) - 1, 'more pod')}" if len(alike) > 1 else ""
            numbers = {} if line is None else {"line": line}
            notices.append(Notice("refused-by-admission", f"{said} ({place}{more})", key, numbers))
        return tuple(notices)


class Reviewer:
    """Asks a cluster's admission about each object of an input, in whatever order they are read.

    Queues, namespaces and tier names are those of the input. Everything that reads manifests has its findings from
    here, so that all say the same of an object.

    `own_plugins`: accept the Job plugins that only this project has, with a warning. `written_only`: leave out objects
    that a cluster has stored already, pods with a node, and the fields of kinds whose admission is not modelled; keep
    refused objects alone. False: review everything.
    """

    # `take` learns of each object what others depend on, such as queues and tier names (`_learn`), and asks admission
    # about it (`_judge`, `_verdict`). Jobs and other kinds that depend on objects later in the input wait for `review`.

    def __init__(
        self, release: Release = Release.V1_15, *, own_plugins: bool = True, written_only: bool = False
    ) -> None:
        self._release = release
        self._own_plugins = own_plugins
        self._written_only = written_only
        self._queues: dict[str, KnownQueue] = {}
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._tier_names: set[str] = set()
        self._levels: set[str] = set()
        self._any_hypernode = False
        self._others = ClusterObjects()
        self._not_reviewed: Counter[str] = Counter()
        self._done: dict[int, Reviewed] = {}
        self._waiting: list[tuple[int, Document, list[str]]] = []
        self._taken = 0

    def take(self, written: Document) -> bool:
        """Add an object, as its author wrote it.

        Raises InputError: a field of the wrong type, with file, document and field; with `written_only` that is a
        finding, because it may be a slip that whoever reads the object mends.

        Returns whether admission has accepted the object; False also where it is asked later, or not at all.
        """
        document, slips = with_readable_head(written)
        if self._written_only:
            with suppress(InputError):
                self._learn(document.data)
            if not is_reviewed(document.data) or _is_in_cluster(document.data):
                return False
        else:
            with _at(document):
                self._learn(document.data)
                if not is_reviewed(document.data):
                    self._others.add(document.data, f"{document.source}: {document.where}")
                    kind = kind_label(str(document.data["apiVersion"]), str(document.data["kind"]))
                    self._not_reviewed[kind] += 1
                    return False
        self._taken += 1
        if document.data["kind"] in _OF_QUEUES or top_owner_reader(document.data) is not None:
            # The queue, the tier names and the levels may come later in the input.
            self._waiting.append((self._taken, document, slips))
            return False
        return self._judge(self._taken, document, slips)

    def review(self, ignored: Mapping[str, int] | None = None) -> Review:
        """The answers to the objects so far; `ignored` counts documents that are no objects.

        Raises InputError: as `take`.
        """
        for number, document, slips in self._waiting:
            self._judge(number, document, slips)
        self._waiting.clear()
        objects = tuple(self._done[number] for number in sorted(self._done))
        return Review(self._release, objects, dict(sorted((Counter(ignored) + self._not_reviewed).items())))

    def error(self, document: Document, error: InputError, stdin: bytes | str | None = None) -> InputError:
        """The error for an object that cannot be used: in the cluster's words if admission refuses the object.

        `error`: what to raise otherwise. `stdin`: content of the file ``stdin``.
        """
        alone = Reviewer(self._release, own_plugins=self._own_plugins)
        try:
            alone.take(document)
            found = alone.review().findings(stdin)
        except InputError as unreadable:
            return unreadable
        if not found:
            return error
        said = "; ".join(one.message for one in found)
        return InputError(f"{found[0].subject}: {said}", source=document.source, where=document.where)

    def _learn(self, data: Mapping[str, Any]) -> None:
        """Remember what admission looks up in the cluster."""
        match group_kind(data):
            case ("scheduling.volcano.sh", "Queue"):
                state = get_text(get_map(data, "status", ""), "state", "status")
                parent = get_text(get_map(data, "spec", ""), "parent", "spec")
                self._queues[read_metadata(data, namespaced=False).name] = KnownQueue(state or "Open", parent)
            case ("", "Namespace"):
                metadata = read_metadata(data, namespaced=False)
                self._namespaces[metadata.name] = metadata.annotations
            case ("kueue.x-k8s.io", "Topology"):
                levels = get_maps(get_map(data, "spec", ""), "levels", "spec")
                self._levels.update(get_text(level, "nodeLabel", path) for path, level in levels)
            case ("topology.volcano.sh", "HyperNode"):
                self._any_hypernode = True
                self._tier_names.add(get_text(get_map(data, "spec", ""), "tierName", "spec"))

    def _judge(self, number: int, document: Document, slips: list[str]) -> bool:
        """Keep admission's answer to a document; returns whether it accepts the object."""
        kind = str(document.data["kind"])
        try:
            verdict = self._verdict(document.data, slips)
            metadata = _metadata_of(document.data, kind)
            namespace, name = metadata.namespace, metadata.name
        except InputError as error:
            if not self._written_only:
                raise document.error(error) from None
            verdict = Verdict(str(error), findings=(Fault(error.where or "", str(error)),))
            namespace, name = _identity(document.data, kind)
        if not (self._written_only and verdict.allowed):
            place = (document.source, document.where)
            self._done[number] = Reviewed(kind, namespace, name, *place, verdict, document.data)
        return verdict.allowed

    def _verdict(self, data: Mapping[str, Any], slips: list[str]) -> Verdict:
        """Admission's answer, with what only this project checks before it."""
        known = Known(
            self._queues, self._tier_names if self._any_hypernode else None, self._namespaces, self._levels or None
        )
        verdict = review(data, self._release, known, own_plugins=self._own_plugins)
        if verdict.allowed and (fault := plugin_fault(data)) is not None:
            verdict = Verdict(str(fault), warnings=verdict.warnings, findings=(Fault(fault.where or "", str(fault)),))
        if slips:
            found = (*(Fault("", text) for text in slips), *verdict.findings)
            return Verdict("; ".join(one.text.strip() for one in found), warnings=verdict.warnings, findings=found)
        if verdict.allowed and not self._written_only and (notices := job_notices(data)):
            return replace(verdict, warnings=(*verdict.warnings, *notices))
        return verdict


def review_manifests(manifests: Manifests, release: Release = Release.V1_15, *, own_plugins: bool = True) -> Review:
    """Check every object that `is_reviewed` as if it were created in a cluster with a given Volcano release.

    `release`, `own_plugins`: as for `Reviewer`. Raises InputError: a field of the wrong type, with file, document and
    field.
    """
    reviewer = Reviewer(release, own_plugins=own_plugins)
    for document in manifests.documents:
        reviewer.take(document)
    return reviewer.review(manifests.ignored)


def _metadata_of(data: Mapping[str, Any], kind: str) -> Metadata:
    if top_owner_reader(data) is not None:
        return owner_metadata(data, [])
    return read_metadata(data, namespaced=kind not in _CLUSTER_SCOPED)


def _identity(data: Mapping[str, Any], kind: str) -> tuple[str, str]:
    """Namespace and name of an object as far as they can be read."""
    metadata = data.get("metadata")
    found = metadata if type(metadata) is dict else {}
    return "" if kind in _CLUSTER_SCOPED else str(found.get("namespace") or "default"), str(found.get("name") or "")


def _is_in_cluster(data: Mapping[str, Any]) -> bool:
    """Whether a cluster has accepted the object already: it has stored the object, or the pod has a node."""
    if type(data.get("metadata")) is dict and is_stored(data):
        return True
    spec = data.get("spec") if data.get("kind") == "Pod" else None
    return type(spec) is dict and bool(spec.get("nodeName"))


def _positions(source: str, keys: set[str], stdin: bytes | str | None) -> dict[str, ObjectText]:
    try:
        content = stdin if source == "stdin" and stdin is not None else read_bytes(source)
        content = content.encode(errors="surrogatepass") if isinstance(content, str) else content
        return object_texts(decoded(content)[0], keys) if len(content) <= HAND_WRITTEN else {}
    except (InputError, UnicodeError):
        # Gone since it was read, or never a file: the place of the document is known all the same.
        return {}


@contextmanager
def _at(document: Document) -> Iterator[None]:
    """Context manager that adds the file and the document of an object to InputErrors."""
    try:
        yield
    except InputError as error:
        raise document.error(error) from None

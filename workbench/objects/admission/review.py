"""`review`: whether a cluster would accept an object, and the defaults that admission would write into it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.errors import InputError
from workbench.model.notice import Notice
from workbench.model.release import Release
from workbench.objects.admission.gpu_group import refuse_gpu_group
from workbench.objects.admission.hyper_job import (
    hyper_job_defaults,
    hyper_job_findings,
    own_field_warnings,
    unknown_in_hyper_job,
)
from workbench.objects.admission.hypernode import hypernode_findings, refuse_hypernode
from workbench.objects.admission.job import job_defaults, job_findings, refuse_job
from workbench.objects.admission.known import Known, KnownQueue
from workbench.objects.admission.kueue import (
    KUEUE_KINDS,
    is_kueue_kind,
    kueue_findings,
    owner_annotation_faults,
    pod_annotation_faults,
    template_annotation_faults,
    unknown_levels,
)
from workbench.objects.admission.notes import NOTED_KINDS, annotation_notes
from workbench.objects.admission.plugins import master_warnings, plugin_warnings
from workbench.objects.admission.pod_group import pod_group_findings, queue_of_namespace, refuse_pod_group
from workbench.objects.admission.queue import queue_defaults, queue_findings
from workbench.objects.admission.schema import Fault, refusal_text
from workbench.objects.admission.topology_holders import topology_errors, topology_holders, unknown_tier_names
from workbench.objects.admission.topology_spec import constraint_defaults, constraint_warnings
from workbench.objects.deployment import read_deployment
from workbench.objects.fields import child, get_map, get_maps, get_text, get_texts, group_kind
from workbench.objects.hyper_job import hyper_job_notes
from workbench.objects.job import read_job
from workbench.objects.metadata import is_stored, read_metadata
from workbench.objects.names import label_errors, name_error
from workbench.objects.pod import PodTemplate, read_pod, read_template
from workbench.objects.pod_group import read_pod_group
from workbench.objects.queue import read_queue
from workbench.objects.schemas import strict_text, unknown_in, unknown_notes
from workbench.objects.schemas.json_schema import SCHEMA_KINDS, served_version
from workbench.objects.schemas.wrong_types import wrong_types_in
from workbench.objects.top_owner import TopOwner, top_owner_reader

__all__ = ["REVIEWED_KINDS", "Verdict", "is_reviewed", "refusal_of", "review"]

#: (API group, kind) of the objects that `review` knows in all fields. Of Deployments it checks the names of fields and
#: keys, and the types of the fields that are read; of top owners (`TOP_OWNERS`) it checks the fields that are read.
REVIEWED_KINDS = NOTED_KINDS | KUEUE_KINDS

#: End of the names of Volcano's API groups.
_VOLCANO = ".volcano.sh"

#: Kinds of Volcano, whose CustomResourceDefinitions check the types of all fields.
_CUSTOM = frozenset(SCHEMA_KINDS)


@dataclass(frozen=True)
class Verdict:
    """Result of admission for one object: accepted or refused, with defaults and warnings.

    `refusal`: why the object is refused, in the words of the cluster; empty: accepted. `defaults`: defaults that
    admission fills in, by path; empty if the object is refused. `warnings`: fields that are accepted but have no
    effect, or cause trouble later. `findings`: the refusal in parts, each with its path.
    """

    refusal: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[Notice, ...] = ()
    findings: tuple[Fault, ...] = field(default=(), compare=False)

    @property
    def allowed(self) -> bool:
        """Whether a cluster would accept and store the object."""
        return not self.refusal


_NOTHING_KNOWN = Known()


def is_reviewed(data: Mapping[str, Any]) -> bool:
    """Whether `review` knows an object: its kind is StatefulSet or in `REVIEWED_KINDS` or `TOP_OWNERS`, or one of
    Volcano's kinds in a wrong group.
    """
    group, kind = group_kind(data)
    if type(data.get("kind")) is not str:
        return False
    return (
        top_owner_reader(data) is not None
        or _is_stateful_set(data)
        or (group, kind) in REVIEWED_KINDS
        or (kind in _CUSTOM and group.endswith(_VOLCANO))
    )


def review(
    data: Mapping[str, Any],
    release: Release = Release.V1_15,
    known: Known = _NOTHING_KNOWN,
    *,
    own_plugins: bool = True,
    strict: bool = True,
) -> Verdict:
    """Check whether a cluster that runs a Volcano release would accept a new object of one of `REVIEWED_KINDS`.

    Raises InputError: a field of the wrong type.

    Parameters
    ----------
    data : mapping
        The parsed manifest.
    own_plugins : bool
        Accept, with a warning, what only this project has and a cluster refuses: Job plugins, networkTopology of a
        HyperJob. False also leaves out the checks of a HyperJob that only this project makes.
    strict : bool
        Refuse fields that the kind does not have, as the API server does for kubectl; otherwise they are warnings, as
        for a program, and have no effect.
    """
    if is_kueue_kind(data):
        return _kueue_object(data)
    read = top_owner_reader(data)
    other = read is not None or _is_stateful_set(data)
    if not other and (refusal := _no_such_kind(data, release)):
        notes = hyper_job_notes(data) if data["kind"] == "HyperJob" else []
        return Verdict(refusal, warnings=tuple(notes), findings=(Fault("apiVersion", refusal),))
    # The API server decodes an object before anybody else sees it.
    own = own_plugins and data.get("kind") == "HyperJob"
    unknown_fields = unknown_in_hyper_job(data, release) if own else unknown_in(data, release)
    if strict and (not_decoded := strict_text(unknown_fields)):
        findings = tuple(Fault(one.path, strict_text([one])) for one in unknown_fields)
        return Verdict(not_decoded, findings=findings)
    dropped = () if strict else tuple(unknown_notes(unknown_fields))
    if other:
        verdict = _stateful_set(data) if read is None else _top_owner(data, read, known)
        return replace(verdict, warnings=(*dropped, *verdict.warnings))
    verdict = _decoded(data, release, known, own_plugins)
    if not verdict.refusal and data["kind"] in _CUSTOM and (wrong := wrong_types_in(data)):
        return Verdict(wrong[0][1], findings=tuple(Fault(*each) for each in wrong))
    if not verdict.refusal and (wrong := _wrong_metadata(data)):
        found = tuple(Fault(*each) for each in wrong)
        verdict = Verdict("; ".join(one.text for one in found), warnings=verdict.warnings, findings=found)
    unknown = unknown_tier_names(data, release, known.tier_names)
    warnings = (*dropped, *verdict.warnings, *unknown, *annotation_notes(data))
    findings = verdict.findings or ((Fault("", verdict.refusal),) if verdict.refusal else ())
    return Verdict(verdict.refusal, {} if verdict.refusal else verdict.defaults, warnings, findings)


def refusal_of(data: Mapping[str, Any]) -> str:
    """Why no cluster could contain an input object; empty if one could, or if the kind is not one of `REVIEWED_KINDS`.

    A HyperNode is refused only if both releases refuse it, because the input may come from a cluster of either; the
    text is that of Volcano 1.15. A tier written as text counts as a number, as in the design document, and an
    absent tier as 0, because a cluster shows tier 0 as absent. Jobs and PodGroups are checked by Volcano 1.15;
    their queue counts as open, because it may have been open when they were created. Of pod templates of a Job only
    the annotations of Kueue are checked, because other errors do not affect the placement; of a Queue only the types of
    its fields are checked. A Pod with a node was accepted before.

    Fields and keys that a kind does not have refuse nothing here: a program may submit such an object (`notes_of`).
    Of top owners (`TOP_OWNERS`) and StatefulSets the annotations of Kueue on their pod templates are checked.

    Raises InputError: a field of the wrong type.
    """
    if (read := top_owner_reader(data)) is not None:
        return "; ".join(one.text for one in owner_annotation_faults(read(data)))
    if _is_stateful_set(data):
        return _replicated(data).refusal
    if group_kind(data) not in REVIEWED_KINDS:
        return ""
    if is_kueue_kind(data):
        return "; ".join(one.text for one in kueue_findings(data))
    if data["kind"] == "Pod":
        return "" if get_map(data, "spec", "").get("nodeName") else _refuse_pod(data)
    if data["kind"] == "Job":
        of_kueue = "; ".join(one.text for one in template_annotation_faults(data))
        return "; ".join(topology_errors(data, Release.V1_15)) or refuse_job(data) or of_kueue
    if data["kind"] == "HyperJob":
        return refusal_text(hyper_job_findings(data, templates=False))
    if data["kind"] == "Queue":
        read_queue(data)
        return ""
    if data["kind"] != "HyperNode":
        return _decoded(data, Release.V1_15, _NOTHING_KNOWN, True).refusal
    spec = get_map(data, "spec", "")
    tier = spec.get("tier")
    if tier is None or type(tier) is str:
        data = {**data, "spec": {**spec, "tier": int(tier or 0)}}
    text = refuse_hypernode(data, Release.V1_15)
    return text if text and refuse_hypernode(data, Release.V1_13) else ""


def _decoded(data: Mapping[str, Any], release: Release, known: Known, own_plugins: bool) -> Verdict:
    """The admission result of an object that the API server could decode (that is, without unknown fields)."""
    match data.get("kind"):
        case "HyperNode":
            return _hypernode(data, release)
        case "PodGroup":
            return _pod_group(data, release, known)
        case "Job":
            return _job(data, release, known, own_plugins)
        case "Pod":
            read_pod(data)
            found = _pod_findings(data)
            return Verdict("; ".join(one.text for one in found), findings=tuple(found))
        case "Queue":
            findings = queue_findings(data)
            return Verdict("; ".join(one.text for one in findings), queue_defaults(data), findings=tuple(findings))
        case "Deployment":
            return _replicated(data)
        case "HyperJob":
            return _hyper_job(data, release, known, own_plugins)
    return Verdict()


def _replicated(data: Mapping[str, Any]) -> Verdict:
    """The verdict on the pod template of a Deployment or StatefulSet."""
    found = template_annotation_faults(data)
    warnings = tuple(_pods_refused(read_deployment(data).template, "spec"))
    return Verdict("; ".join(one.text for one in found), warnings=warnings, findings=tuple(found))


def _stateful_set(data: Mapping[str, Any]) -> Verdict:
    """The verdict on a StatefulSet whose fields have known names: as of a top owner."""
    try:
        verdict = _replicated(data)
    except InputError as error:
        return Verdict(str(error), findings=(Fault(error.where or "", str(error)),))
    found = [*(Fault(*each) for each in _wrong_metadata(data)), *verdict.findings]
    warnings = (*verdict.warnings, *annotation_notes(data))
    return Verdict("; ".join(one.text for one in found), warnings=warnings, findings=tuple(found))


def _is_stateful_set(data: Mapping[str, Any]) -> bool:
    return group_kind(data) == ("apps", "StatefulSet")


def _top_owner(data: Mapping[str, Any], read: Callable[[Mapping[str, Any]], TopOwner], known: Known) -> Verdict:
    """The verdict on an object of a kind whose own admission is not modelled.

    It is refused if a field cannot be read, and by Kueue for the annotations of its pod templates.
    """
    try:
        owner = read(data)
    except InputError as error:
        return Verdict(str(error), findings=(Fault(error.where or "", str(error)),))
    findings = (*(Fault(*each) for each in _wrong_metadata(data)), *owner_annotation_faults(owner))
    if findings:
        return Verdict("; ".join(one.text for one in findings), warnings=owner.notes, findings=findings)
    return Verdict(warnings=(*owner.notes, *unknown_levels(owner, known.levels)))


def _refuse_pod(data: Mapping[str, Any]) -> str:
    return "; ".join(one.text for one in _pod_findings(data))


def _pod_findings(data: Mapping[str, Any]) -> list[Fault]:
    metadata = get_map(data, "metadata", "")
    annotations = get_texts(metadata, "annotations", "metadata")
    text = refuse_gpu_group(get_texts(metadata, "labels", "metadata"), annotations)
    return [*([Fault("", text)] if text else []), *pod_annotation_faults(annotations, "metadata")]


def _kueue_object(data: Mapping[str, Any]) -> Verdict:
    read_metadata(data, namespaced=data["kind"] in ("Workload", "LocalQueue"))
    found = [*kueue_findings(data), *(Fault(*each) for each in _wrong_metadata(data))]
    return Verdict("; ".join(one.text for one in found), findings=tuple(found))


def _wrong_metadata(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Paths and texts with which the API server refuses name and labels; a name made on storing is absent."""
    metadata = get_map(data, "metadata", "")
    name = get_text(metadata, "name", "metadata")
    found = label_errors(get_texts(metadata, "labels", "metadata"), "metadata.labels")
    if name and (error := name_error(name)):
        path = "metadata.name"
        found.insert(0, (path, f"{path}: Invalid value: {json.dumps(name, ensure_ascii=False)}: {error}"))
    return found


def _no_such_kind(data: Mapping[str, Any], release: Release) -> str:
    """Text that refuses a kind of Volcano in an API group or version that has no such kind.

    HyperJobs are refused in 1.13, which lacks the kind, and in the design document's API group.
    """
    kind = str(data.get("kind"))
    served = served_version(kind) if kind in _CUSTOM else ""
    version = str(data.get("apiVersion", served))
    if version == (served or version) and not (kind == "HyperJob" and release is Release.V1_13):
        return ""
    # Of a HyperJob in the design document's group, a notice says how it is read.
    hint = f" (did you mean {served}?)" if version != served and kind != "HyperJob" else ""
    return f'no matches for kind "{kind}" in version "{version}"{hint}'


def _hypernode(data: Mapping[str, Any], release: Release) -> Verdict:
    read_metadata(data, namespaced=False)
    findings = tuple(hypernode_findings(data, release))
    refusal = refuse_hypernode(data, release) if findings else ""
    return Verdict(refusal, warnings=_ignored_members(data), findings=findings)


def _ignored_members(data: Mapping[str, Any]) -> tuple[Notice, ...]:
    """A warning for each member that selects HyperNodes by pattern or label: Volcano reads exact names alone."""
    notes = []
    for path, member in get_maps(get_map(data, "spec", ""), "members", "spec"):
        selector = get_map(member, "selector", path)
        if member.get("type") == "HyperNode" and any(selector.get(key) for key in ("regexMatch", "labelMatch")):
            where = child(path, "selector")
            text = f"{where} selects HyperNodes otherwise than by exactMatch: Volcano accepts and ignores the member"
            notes.append(Notice("ignored-member", text, where))
    return tuple(notes)


def _by_schema(errors: Sequence[str]) -> tuple[Fault, ...]:
    """Error texts of the API server's schema, each of which begins with a field path, as `Fault` objects."""
    return tuple(Fault(error.partition(": ")[0], error, by_schema=True) for error in errors)


def _pod_group(data: Mapping[str, Any], release: Release, known: Known) -> Verdict:
    spec = get_map(data, "spec", "")
    queue = get_text(spec, "queue", "spec")
    metadata = read_metadata(data, namespaced=True)
    instead = queue_of_namespace(queue, known.namespaces.get(metadata.namespace, {}))
    errors = topology_errors(data, release)
    refusal, findings = "; ".join(errors), _by_schema(errors)
    taken = instead or queue
    if not refusal:
        group, state = read_pod_group(data), known.queues.get(taken, KnownQueue()).state
        refusal = refuse_pod_group(group, taken, state, release)
        findings = tuple(pod_group_findings(group, taken, state, release))
    defaults: dict[str, Any] = {"spec.queue": instead or "default"} if instead or not queue else {}
    if spec.get("minMember") is None:
        defaults["spec.minMember"] = 1
    warnings = _unknown_queue(taken, known)
    if release is Release.V1_15:
        for path, policy in get_maps(spec, "subGroupPolicy", "spec"):
            if not policy.get("matchLabelKeys"):
                text = f"{path} has no matchLabelKeys: it captures no pod"
                warnings.append(Notice("captures-no-pod", text, path))
    return _with_topology(refusal, defaults, warnings, data, release, findings)


def _unknown_queue(queue: str, known: Known) -> list[Notice]:
    if not queue or queue in known.queues or queue in ("default", "root"):
        return []
    return [Notice("unknown-queue", f"queue {queue} is not in the input: taken as open", f"queue {queue}")]


def _job(data: Mapping[str, Any], release: Release, known: Known, own_plugins: bool) -> Verdict:
    errors = topology_errors(data, release)
    refusal, findings = "; ".join(errors), _by_schema(errors)
    spec = get_map(data, "spec", "")
    defaults: dict[str, Any] = {}
    warnings: list[Notice] = []
    if not refusal:
        job = read_job(data)
        defaults = job_defaults(data, job)
        queues = {"root": KnownQueue(), job.queue: KnownQueue(), **known.queues}
        found = job_findings(data, release, queues=queues, own_plugins=own_plugins)
        found = [*found, *template_annotation_faults(data)]
        refusal, findings = refusal_text(found), tuple(found)
        warnings += _unknown_queue(job.queue, known) + plugin_warnings(job) + master_warnings(spec, job)
    for path, item in get_maps(spec, "tasks", "spec"):
        template = read_template(item, path)
        warnings += _pods_refused(template, path)
    return _with_topology(refusal, defaults, warnings, data, release, findings)


def _pods_refused(template: PodTemplate, path: str) -> list[Notice]:
    """A warning if the pods of a template, whose owner is accepted, will be refused."""
    if not (contradiction := refuse_gpu_group(template.labels, template.annotations)):
        return []
    text = f"{child(path, 'template')}: its pods will be refused: {contradiction}"
    return [Notice("pods-refused-by-admission", text, path)]


def _hyper_job(data: Mapping[str, Any], release: Release, known: Known, own: bool) -> Verdict:
    queues = {"root": KnownQueue(), **known.queues}
    found = hyper_job_findings(data, queues=queues, own=own, own_plugins=own)
    warnings: list[Notice] = list(own_field_warnings(data)) if own else []
    for holder, path in topology_holders(data, release):
        warnings += constraint_warnings(holder, path, release)
    defaults = {} if found else hyper_job_defaults(data, own=own)
    return Verdict(refusal_text(found), defaults, tuple(warnings), tuple(found))


def _with_topology(
    refusal: str,
    defaults: dict[str, Any],
    warnings: list[Notice],
    data: Mapping[str, Any],
    release: Release,
    findings: tuple[Fault, ...],
) -> Verdict:
    stored = is_stored(data)
    for holder, path in topology_holders(data, release):
        if not stored:
            defaults |= constraint_defaults(holder, path, release)
        elif missing := constraint_defaults(holder, path, release):
            text = f"{path}.networkTopology was read from a cluster: {', '.join(missing)} stays absent"
            warnings.append(Notice("default-not-filled-in", text, path))
        warnings += constraint_warnings(holder, path, release)
    return Verdict(refusal, defaults, tuple(warnings), findings)

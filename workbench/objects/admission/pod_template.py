"""Validation of a Job task's pod template, with the error texts of Kubernetes.

Checked are labels, containers, ports, mounts, policies and resources, after Kubernetes' defaults have been filled in;
Kubernetes' other rules are not modelled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.objects.admission import schema
from workbench.objects.admission.pod_resources import container_resource_findings, pod_resource_findings
from workbench.objects.admission.schema import Fault
from workbench.objects.fields import child, get_int, get_map, get_maps, get_text, get_texts
from workbench.objects.names import label_errors
from workbench.objects.quantity import read_resources

__all__ = ["template_findings", "topology_policy_findings"]

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_LONGEST_LABEL = 63
_NO_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_PORTS = range(1, 1 << 16)


def template_findings(task: Mapping[str, Any], pod_level_resources: bool) -> list[Fault]:
    """Violations in the pod template of a Job's task; field paths begin with ``template``.

    `pod_level_resources`: the feature gate PodLevelResources; if off, resources of the pod as a whole are not checked.
    """
    template = get_map(task, "template", "")
    metadata, spec = get_map(template, "metadata", "template"), get_map(template, "spec", "template")
    labels = label_errors(get_texts(metadata, "labels", "template.metadata"), "template.metadata.labels")
    return [*(Fault(*each) for each in labels), *_spec_findings(spec, "template.spec", pod_level_resources)]


def topology_policy_findings(task: Mapping[str, Any], position: int) -> list[Fault]:
    """Violation of a task with a NUMA topology policy: its first container that does not request a whole number of
    CPUs.

    The list is empty if there is none.

    `position`: position of the task in the Job. In the path, init containers are counted after the other containers.
    """
    if get_text(task, "topologyPolicy", "") in ("", "none"):
        return []
    spec = get_map(get_map(task, "template", ""), "spec", "template")
    containers = [*get_maps(spec, "containers", "template.spec"), *get_maps(spec, "initContainers", "template.spec")]
    for number, (path, container) in enumerate(containers):
        if not _whole_cpus(container, path):
            text = f"the cpu request isn't an integer in spec.task[{position}] container[{number}]."
            return [Fault(path, text)]
    return []


def _whole_cpus(container: Mapping[str, Any], path: str) -> bool:
    resources, where = get_map(container, "resources", path), child(path, "resources")
    requests = read_resources(resources, "requests", where) or read_resources(resources, "limits", where)
    cpu = requests.get("cpu", 0)
    return cpu > 0 and cpu % 1000 == 0


def _spec_findings(spec: Mapping[str, Any], where: str, pod_level_resources: bool) -> Iterator[Fault]:
    volumes = list(_volume_names(spec, where))
    yield from _names(volumes, required=True)
    known = {name for _, name in volumes}
    containers = list(get_maps(spec, "containers", where))
    if not containers:
        yield Fault(child(where, "containers"), schema.required(child(where, "containers")))
    names = []
    for path, container in [*get_maps(spec, "initContainers", where), *containers]:
        names.append((child(path, "name"), get_text(container, "name", path)))
        yield from _container_findings(container, path, known)
    yield from _names(names, required=True)
    yield from _choice(spec, "restartPolicy", where, _RESTART_POLICIES)
    yield from _choice(spec, "dnsPolicy", where, _DNS_POLICIES)
    if pod_level_resources and spec.get("resources") is not None:
        yield from pod_resource_findings(spec, where)


def _volume_names(spec: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
    for path, volume in get_maps(spec, "volumes", where):
        yield child(path, "name"), get_text(volume, "name", path)


def _container_findings(container: Mapping[str, Any], where: str, volumes: set[str]) -> Iterator[Fault]:
    if not get_text(container, "image", where):
        yield Fault(child(where, "image"), schema.required(child(where, "image")))
    yield from _choice(container, "imagePullPolicy", where, _PULL_POLICIES)
    yield from _port_findings(container, where)
    for path, variable in get_maps(container, "env", where):
        if not get_text(variable, "name", path):
            yield Fault(child(path, "name"), schema.required(child(path, "name")))
    for path, mount in get_maps(container, "volumeMounts", where):
        name = get_text(mount, "name", path)
        if not name:
            yield Fault(child(path, "name"), schema.required(child(path, "name")))
        elif name not in volumes:
            yield Fault(child(path, "name"), f'{child(path, "name")}: Not found: "{name}"')
        if not get_text(mount, "mountPath", path):
            yield Fault(child(path, "mountPath"), schema.required(child(path, "mountPath")))
    yield from container_resource_findings(container, where)


def _port_findings(container: Mapping[str, Any], where: str) -> Iterator[Fault]:
    names: set[str] = set()
    for path, port in get_maps(container, "ports", where):
        number, name = get_int(port, "containerPort", path), get_text(port, "name", path)
        if not number:
            yield Fault(child(path, "containerPort"), schema.required(child(path, "containerPort")))
        elif number not in _PORTS:
            text = f"{child(path, 'containerPort')}: Invalid value: {number}: must be between 1 and 65535, inclusive"
            yield Fault(child(path, "containerPort"), text)
        if name and name in names:
            yield Fault(child(path, "name"), f'{child(path, "name")}: Duplicate value: "{name}"')
        names.add(name)
        yield from _choice(port, "protocol", path, _PROTOCOLS)


def _names(found: Sequence[tuple[str, str]], required: bool) -> Iterator[Fault]:
    """Violations in a list of (path, name): names missing if `required`, no DNS label, or used twice."""
    seen: set[str] = set()
    for path, name in found:
        if not name:
            if required:
                yield Fault(path, schema.required(path))
        elif len(name) > _LONGEST_LABEL:
            yield Fault(path, f'{path}: Invalid value: "{name}": must be no more than {_LONGEST_LABEL} characters')
        elif not _LABEL.fullmatch(name):
            yield Fault(path, f'{path}: Invalid value: "{name}": {_NO_LABEL}')
        elif name in seen:
            yield Fault(path, f'{path}: Duplicate value: "{name}"')
        seen.add(name)


def _choice(data: Mapping[str, Any], key: str, where: str, known: Sequence[str]) -> Iterator[Fault]:
    value = get_text(data, key, where)
    if value and value not in known:
        yield Fault(child(where, key), schema.unsupported(child(where, key), value, known))

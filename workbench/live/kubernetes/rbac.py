"""`reader_role`: the rights that reading a cluster needs, as manifests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.errors import InputError
from workbench.live.kubernetes.resources import CONFIG_MAPS, EVENTS, KUEUE_CONFIG, LISTS, OPTIONAL, NamedConfigMap

__all__ = ["reader_role"]

_NAME = "topology-workbench-reader"
_RBAC = "rbac.authorization.k8s.io"


def reader_role(subject: str) -> list[dict[str, Any]]:
    """Manifests that let somebody read what `workbench.live.take_snapshot` reads, and nothing else.

    `subject`: ``user:NAME``, ``group:NAME`` or ``serviceaccount:NAMESPACE/NAME``. Raises InputError: `subject` has
    another form.

    Returns a ClusterRole and its binding, and for each namespace with ConfigMaps that are read by name a Role and its
    binding. None grants access to Secrets. The right to list the ConfigMaps of ``kube-system``, which a cluster with
    Ascend NPUs needs besides (`workbench.live.kubernetes.resources.DEVICE_INFOS`), is not among them.
    """
    bound, lists = [_subject(subject)], (*LISTS, EVENTS, *OPTIONAL)
    rules = [
        {"apiGroups": [group], "resources": plurals, "verbs": ["get", "list", "watch"]}
        for group in sorted({one.group for one in lists})
        if (plurals := list(dict.fromkeys(one.plural for one in lists if one.group == group)))
    ]
    found = _pair("ClusterRole", None, rules, bound)
    maps = (*CONFIG_MAPS, KUEUE_CONFIG)
    for namespace in sorted({one.namespace for one in maps}):
        mine = [one for one in maps if one.namespace == namespace]
        found += _pair(
            "Role", namespace, [_by_name(mine, verbs) for verbs in sorted({one.verbs for one in mine})], bound
        )
    return found


def _by_name(maps: Sequence[NamedConfigMap], verbs: tuple[str, ...]) -> dict[str, Any]:
    """The rule for those of the ConfigMaps that are asked with the same verbs."""
    names = [one.name for one in maps if one.verbs == verbs]
    return {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": names, "verbs": list(verbs)}


def _subject(text: str) -> dict[str, str]:
    kind, colon, name = text.partition(":")
    if kind == "serviceaccount":
        namespace, slash, name = name.partition("/")
        if namespace and slash and name:
            return {"kind": "ServiceAccount", "namespace": namespace, "name": name}
    elif kind in ("user", "group") and colon and name:
        return {"apiGroup": _RBAC, "kind": kind.capitalize(), "name": name}
    forms = "user:NAME, group:NAME or serviceaccount:NAMESPACE/NAME"
    raise InputError("not a subject", source="SUBJECT", got=repr(text), expected=forms)


def _pair(
    kind: str, namespace: str | None, rules: Sequence[dict[str, Any]], subjects: list[dict[str, str]]
) -> list[dict[str, Any]]:
    metadata = {"name": _NAME, **({"namespace": namespace} if namespace else {})}
    common = {"apiVersion": f"{_RBAC}/v1", "metadata": metadata}
    reference = {"apiGroup": _RBAC, "kind": kind, "name": _NAME}
    return [
        {**common, "kind": kind, "rules": list(rules)},
        {**common, "kind": f"{kind}Binding", "roleRef": reference, "subjects": subjects},
    ]

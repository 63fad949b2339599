"""`examine`: what may keep a cluster from being read, or its jobs from being placed as intended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson

from workbench.errors import ClusterError, InputError
from workbench.formats.lint_files import lint_files
from workbench.formats.scheduler_conf import CONFIG_KEY, parse_config
from workbench.live.kubernetes.configuration import Cluster, cluster_of
from workbench.live.kubernetes.connection import Connection
from workbench.live.kubernetes.lists import Served
from workbench.live.kubernetes.resources import (
    CONFIG_MAPS,
    EVENTS,
    KUEUE_CONFIG,
    LISTS,
    OPTIONAL,
    QUEUEING,
    is_kueue_there,
)
from workbench.live.kubernetes.shapes import mapping
from workbench.live.kubernetes.snapshot import LiveSnapshot, read_cluster
from workbench.model.counted import counted
from workbench.policies import get_policy

__all__ = ["Check", "State", "examine", "examine_cluster"]

#: Requests that a reader has no use for: verb, group, resource.
_WRITES = (
    ("create", "", "pods/binding"),
    ("delete", "", "pods"),
    ("patch", "", "nodes"),
    ("get", "", "secrets"),
)


class State(StrEnum):
    """What a check says: all is well, worth knowing, or in the way."""

    ok = "ok"
    note = "note"
    problem = "problem"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    `subject`: ``version``, ``rights``, ``kinds``, ``HyperNodes`` or ``scheduler``. `text`: what was found and, of a
    problem, what to do.
    """

    subject: str
    state: State
    text: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def examine_cluster(
    context: str | None = None,
    *,
    kubeconfig: str | Path | None = None,
    timeout_s: float = 60.0,
    announce: Callable[[Cluster], object] | None = None,
) -> list[Check]:
    """Look for what may keep a cluster from being read, or its jobs from being placed as intended.

    Raises ClusterError: no connection, or credentials that are not accepted.

    Returns list of Check: as `examine` finds them.

    `context`, `kubeconfig`, `timeout_s`, `announce`: as for `workbench.live.take_snapshot`.
    """
    cluster = cluster_of(context, kubeconfig, timeout_s=timeout_s)
    if announce is not None:
        announce(cluster)
    with Connection(cluster, timeout_s) as connection:
        return examine(connection)


def examine(connection: Connection) -> list[Check]:
    """Look at the version, this user's rights, the kinds, the HyperNodes and the scheduler's configuration.

    The result is by subject, in this order; a part that cannot be looked at is a problem with the reason. Raises
    ClusterError: no connection, or credentials that are not accepted.
    """
    version = mapping(connection.get("/version"))
    checks = [Check("version", State.ok, f"Kubernetes {version.get('gitVersion', 'of an unknown version')}")]
    checks += _rights(connection)
    try:
        snapshot = read_cluster(connection)
    except ClusterError as error:
        return [*checks, Check("kinds", State.problem, str(error))]
    return [*checks, *_kinds(snapshot), *_hypernodes(snapshot), *_scheduler(snapshot)]


def _rights(connection: Connection) -> Iterator[Check]:
    missing = 0
    served = Served(connection)
    optional = (each for one in OPTIONAL for each in served.versions_of(one)[:1] if served.known)
    for one in (*LISTS, EVENTS, *optional):
        if not _allowed(connection, "list", one.group, one.plural):
            missing += 1
            state = State.problem if one.needed else State.note
            yield Check("rights", state, f"may not list {one.name}; the rule {one.rule} would allow it")
    kueue = is_kueue_there(one.name for each in QUEUEING if served.known for one in served.versions_of(each))
    for map_ in (*CONFIG_MAPS, KUEUE_CONFIG) if kueue else CONFIG_MAPS:
        if not _allowed(connection, "get", "", "configmaps", map_.namespace, map_.name):
            missing += 1
            text = f"may not get ConfigMap {map_.namespace}/{map_.name}; in that namespace {map_.rule} would allow it"
            yield Check("rights", State.note, text)
    if not missing:
        yield Check("rights", State.ok, "everything may be read")
    more = [f"{verb} {resource}" for verb, group, resource in _WRITES if _allowed(connection, verb, group, resource)]
    if more:
        text = f"this user may also {', '.join(more)}; reading needs none of it (workbench live rbac writes roles)"
        yield Check("rights", State.note, text)


def _allowed(connection: Connection, verb: str, group: str, resource: str, namespace: str = "", name: str = "") -> bool:
    plural, _, part = resource.partition("/")
    attributes = {"verb": verb, "group": group, "resource": plural, "subresource": part}
    attributes |= {"namespace": namespace, "name": name}
    status = connection.review("SelfSubjectAccessReview", {"resourceAttributes": attributes})
    return bool(status.get("allowed"))


def _kinds(snapshot: LiveSnapshot) -> Iterator[Check]:
    absent = [gap for gap in snapshot.gaps if gap.code == "kind-not-served"]
    for gap in absent:
        yield Check("kinds", State.note, gap.message)
    if not absent:
        yield Check("kinds", State.ok, "all kinds of Volcano and Koordinator are served")
    queued = sum(is_kueue_there([name]) for name in snapshot.versions)
    if queued:
        yield Check("kinds", State.ok, f"Kueue is there: {counted(queued, 'kind')} of it")


def _hypernodes(snapshot: LiveSnapshot) -> Iterator[Check]:
    try:
        report = lint_files(["-"], snapshot.to_json()).report
    except InputError as error:
        yield Check("HyperNodes", State.problem, str(error))
        return
    for found in report.findings:
        state = State.problem if found.severity == "error" else State.note
        yield Check("HyperNodes", state, f"{found.rule.code} {found.subject}: {found.message}".replace(" :", ":"))
    if not report.n_hypernodes:
        yield Check("HyperNodes", State.note, "there are none: every node is equally far from every other")
    elif not report.findings:
        yield Check(
            "HyperNodes", State.ok, f"{report.n_hypernodes:,} over {counted(report.n_nodes, 'node')}, no finding"
        )


def _scheduler(snapshot: LiveSnapshot) -> Iterator[Check]:
    maps = [orjson.loads(line) for line in snapshot.objects if b'"kind":"ConfigMap"' in line]
    texts = [text for one in maps if type(text := mapping(one.get("data")).get(CONFIG_KEY)) is str]
    if not texts:
        yield Check("scheduler", State.note, "no configuration of Volcano's scheduler was found or may be read")
    for text in texts:
        try:
            policy = get_policy("volcano", config=parse_config(text.encode(), CONFIG_KEY))
        except InputError as error:
            yield Check("scheduler", State.problem, str(error))
            continue
        for warning in policy.warnings:
            yield Check("scheduler", State.note, warning.message)
        if not policy.warnings:
            yield Check("scheduler", State.ok, "every setting of its configuration is modelled")

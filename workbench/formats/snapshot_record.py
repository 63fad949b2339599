"""`snapshot_text`: a snapshot as JSON or YAML, which `workbench.formats.snapshot_file` reads again."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from workbench.formats.plain_values import to_plain
from workbench.formats.write_manifests import to_yaml_value
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.extras import Extra
from workbench.model.gpu_shares import Milli
from workbench.model.kueue_request import KueueObjects
from workbench.model.labels import NODE_NAME_FIELD
from workbench.model.pod_counts import Namespaces
from workbench.model.pod_rules import NO_RULES
from workbench.model.running_pod import RunningPod
from workbench.model.snapshot import ClusterSnapshot, Queue
from workbench.model.switches import SwitchTable
from workbench.objects.pod_rules_manifest import pod_rules_manifest

__all__ = ["EXTRAS", "MARK", "TERMINATING", "VERSION", "snapshot_text"]

#: Extras of a snapshot by their names in the file.
EXTRAS: dict[str, type[Extra]] = {"kueue": KueueObjects, "namespaces": Namespaces}
#: `RunningPod.terminating` in the file.
TERMINATING = "ending"
#: The key that tells a snapshot from other files; its value is the version of this layout.
MARK = "workbench_snapshot"
VERSION = 1


def snapshot_text(snapshot: ClusterSnapshot, *, yaml: bool = False) -> str:
    """The text of a snapshot file, JSON or with `yaml` YAML; equal snapshots give the same text."""
    record = _record(snapshot)
    if yaml:
        return to_yaml_value(record)
    # A line per key: readable enough, and a tenth of the lines of indented JSON.
    lines = [f"{_json(key)}:{_json(value)}" for key, value in record.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _record(snapshot: ClusterSnapshot) -> dict[str, Any]:
    topology = snapshot.topology
    labels = {
        key: {"values": list(values), "codes": codes.tolist()}
        for key, (codes, values) in sorted(snapshot.labels.columns.items())
        if key != NODE_NAME_FIELD
    }
    return {
        MARK: VERSION,
        "source": snapshot.source,
        "taken_at": snapshot.taken_at,
        "gaps": [gap.to_dict() for gap in snapshot.gaps],
        "nodes": list(topology.node_names),
        "domains": [
            {
                "name": name,
                "tier": int(topology.tier[j]),
                "tier_name": topology.tier_names[j],
                "parent": topology.domain_names[topology.parent[j]] if topology.parent[j] >= 0 else "",
                "nodes": _runs(topology.nodes_of(j)),
            }
            for j, name in enumerate(topology.domain_names)
        ],
        "problems": [dataclasses.asdict(problem) for problem in topology.problems],
        "ready": topology.ready,
        "resources": list(snapshot.resources),
        "allocatable": snapshot.allocatable.tolist(),
        "used": snapshot.used.tolist(),
        "labels": labels,
        "taints": {
            "sets": [[dataclasses.asdict(taint) for taint in some] for some in snapshot.taints.sets],
            "codes": snapshot.taints.codes.tolist(),
        },
        "unschedulable": np.flatnonzero(snapshot.unschedulable).tolist(),
        "not_ready": np.flatnonzero(snapshot.not_ready).tolist(),
        "addresses": list(snapshot.addresses),
        "node_uids": list(snapshot.node_uids or ()),
        "node_resource_versions": list(snapshot.node_resource_versions or ()),
        "switches": None if snapshot.switches is None else _switch_record(snapshot.switches),
        "gpu_total": _hex_rows(snapshot.gpu_total),
        "gpu_free": _hex_rows(snapshot.gpu_free),
        "gpu_shares": [] if snapshot.gpu_shares is None else _share_records(snapshot.gpu_shares),
        "matrices": [_matrix_record(matrix) for matrix in snapshot.matrices],
        "node_matrix": snapshot.node_matrix.tolist(),
        "queues": [_plain(queue) for queue in snapshot.queues.values()],
        "running": [_running_record(pod) for pod in snapshot.running],
        "records": dict(snapshot.records),
        "exclusive": dict(snapshot.exclusive),
        "extras": {name: to_plain(snapshot.extras[kind]) for name, kind in EXTRAS.items() if kind in snapshot.extras},
        "gpu_plans": [
            {
                "namespace": plan.namespace,
                "name": plan.group.name,
                "replica": plan.group.replica,
                "made_at": plan.made_at,
                "pods": [{"name": p.name, "node": p.node, "gpu_mask": f"{p.gpu_mask:x}"} for p in plan.pods],
            }
            for plan in snapshot.gpu_plans
        ],
    }


def _switch_record(table: SwitchTable) -> dict[str, Any]:
    return {
        "nodes_per_switch": table.nodes_per_switch,
        "level": table.level,
        "list": [
            {
                "name": name,
                "address": table.addresses[i],
                "nodes": table.nodes_of(i).tolist(),
                "positions": table.node_position[table.nodes_of(i)].tolist(),
                "state": int(table.preset.state[i]),
                "unhealthy": bool(table.preset.unhealthy[i]),
            }
            for i, name in enumerate(table.names)
        ],
    }


def _running_record(pod: RunningPod) -> dict[str, Any]:
    found = {**_plain(pod), "gpu_mask": f"{pod.gpu_mask:x}"}
    if pod.gpu_group is not None:
        found["gpu_group"] = dataclasses.asdict(pod.gpu_group)
    if pod.rules != NO_RULES:
        found["rules"] = pod_rules_manifest(pod.rules)
    if found.pop("terminating", False):
        found[TERMINATING] = True
    return found


def _plain(value: Queue | RunningPod) -> dict[str, Any]:
    """The fields of a queue or running pod that differ from their defaults, JSON-ready."""
    found = {}
    for field in dataclasses.fields(value):
        item = getattr(value, field.name)
        default = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
        if item != default:
            found[field.name] = dict(item) if isinstance(item, Mapping) else item
    return found


def _runs(indices: npt.NDArray[np.int32]) -> list[list[int]]:
    """Ascending node indices as runs [first, one past the last]."""
    if not len(indices):
        return []
    cuts = np.flatnonzero(np.diff(indices) != 1)
    first = indices[np.concatenate([[0], cuts + 1])]
    last = indices[np.concatenate([cuts, [len(indices) - 1]])] + 1
    return np.stack([first, last], axis=1).tolist()  # type: ignore[no-any-return]


def _share_records(shares: Milli) -> list[list[int]]:
    """Node index, GPU number and thousandths in use of each GPU that pods share."""
    nodes, gpus = shares.nonzero()
    return np.stack([nodes, gpus, shares[nodes, gpus]], axis=1).tolist()  # type: ignore[no-any-return]


def _hex_rows(words: npt.NDArray[np.uint64]) -> list[str]:
    return [f"{int.from_bytes(row.astype('<u8').tobytes(), 'little'):x}" for row in words]


def _matrix_record(matrix: BandwidthMatrix) -> dict[str, Any]:
    """JSON-ready fields of a bandwidth matrix; link types and suspicious links only if there are any."""
    record: dict[str, Any] = {
        "source": matrix.source,
        "labels": list(matrix.labels),
        "gb_s": [[(x if math.isfinite(x) else str(x)) for x in row] for row in matrix.gb_s.tolist()],
    }
    if matrix.link_types:
        record["link_types"] = [list(row) for row in matrix.link_types]
    if matrix.suspicious:
        record["suspicious"] = [doubt.to_dict() for doubt in matrix.suspicious]
    if matrix.parts is not None:
        nics = [{"name": name, "links": list(types)} for name, types in matrix.parts.nics.items()]
        record["parts"] = {"nics": nics, "numa": list(matrix.parts.numa)}
    return record

"""Readers of the openb trace (Alibaba GPU cluster 2023): nodes, pods with shares of GPUs, and orders of arrival."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
import orjson

from workbench.errors import InputError
from workbench.formats.file_bytes import on_disk, read_bytes
from workbench.formats.tables import Row, read_table, unpacked
from workbench.model.arrays import Ints, Longs
from workbench.model.counted import counted, name_list
from workbench.model.gang import Gang, Role
from workbench.model.gpu_shares import WHOLE_GPU
from workbench.model.job_log import MOST_SECONDS, JobLog, LoggedJob
from workbench.model.labels import NodeFilter, NodeLabels, NodeTaints, Requirement
from workbench.model.notice import Notice
from workbench.model.pod_trace import PodTrace
from workbench.model.resources import CPU, MEMORY, PODS, resource_columns
from workbench.model.snapshot import ClusterSnapshot, gpu_words
from workbench.model.topology import Topology
from workbench.model.typical_shapes import TypicalShape, TypicalShapes

__all__ = [
    "GPU",
    "MODEL_LABEL",
    "OpenbLog",
    "is_openb_nodes",
    "is_openb_pods",
    "read_openb",
    "read_openb_log",
    "read_openb_nodes",
    "read_openb_order",
]


GPU = "nvidia.com/gpu"
MODEL_LABEL = "nvidia.com/gpu.product"

_MIB = 1 << 20
#: Pods of a node in the study.
_MOST_PODS = 1001
_MOST_GPUS = 64
_NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_TIMES = ("creation_time", "deletion_time")


def read_openb(nodes: str | Path, pods: str | Path, content: bytes | None = None) -> PodTrace:
    """Read a cluster and the pods of one variant of the trace.

    Nodes carry their model in the label ``nvidia.com/gpu.product``; a pod's gpu_spec is a node affinity on it. A pod
    with num_gpu 0 asks for no GPU, whatever its gpu_milli and gpu_spec say. A note counts the pods that accept models
    which no node has beside one that there is. Raises InputError: a file that cannot be read, a missing column, a field
    that is no number or out of range, a share of several GPUs, a name given twice, a pod none of whose GPU models any
    node has, an end before the beginning; the line is named.

    Parameters
    ----------
    nodes : path
        CSV with the columns sn, cpu_milli, memory_mib, gpu and model.
    pods : path
        CSV with the columns name, cpu_milli, memory_mib, num_gpu and gpu_milli; gpu_spec (models that the pod accepts,
        separated by ``|``), creation_time and deletion_time (s) may be missing.
    content : bytes, optional
        Content of `pods` if it has been read, because a pipe gives it only once; None: it is read.
    """
    of_nodes = read_bytes(nodes)
    of_pods = read_bytes(pods) if content is None else content
    snapshot, models = _read_nodes(Path(nodes), of_nodes)
    gangs: list[Gang] = []
    shapes: list[TypicalShape] = []
    times: list[tuple[float, float]] = []
    numbers: list[int] = []
    absent: dict[str, None] = {}
    widened = 0
    for number, row in _in_order(of_pods, Path(pods), _POD_COLUMNS, "name"):
        shape = _shape(row, models)
        unknown = [model for model in shape.models if model not in models]
        absent |= dict.fromkeys(unknown)
        widened += bool(unknown)
        numbers.append(number)
        requests = {CPU: shape.cpu_milli, MEMORY: row.number("memory_mib") * _MIB}
        whole = shape.gpus if shape.gpu_milli == WHOLE_GPU else 0
        share = shape.gpu_milli if shape.gpus and not whole else 0
        if whole:
            requests[GPU] = whole
        accepted = NodeFilter((Requirement(MODEL_LABEL, "In", shape.models),)) if shape.models else NodeFilter()
        role = Role("pod", 1, requests, (whole,) if whole else (), filter=accepted, gpu_milli=share)
        gangs.append(Gang("openb", row.text("name"), (role,), 1, kind="Pod"))
        shapes.append(shape)
        times.append(_times(row))
    at = np.array(times, dtype=np.float64).reshape(-1, 2)
    read = ((Path(nodes), of_nodes), (Path(pods), of_pods))
    return PodTrace(
        snapshot,
        tuple(gangs),
        tuple(shapes),
        at[:, 0].copy(),
        at[:, 1] - at[:, 0],
        np.array(numbers, dtype=np.int64),
        Path(pods).stem.removeprefix("openb_pod_list_"),
        {path.name: sha256(data).hexdigest() for path, data in read},
        _absent_models(widened, sorted(absent)),
    )


def _absent_models(pods: int, models: list[str]) -> tuple[Notice, ...]:
    if not pods:
        return ()
    text = f"{counted(pods, 'pod accepts', 'pods accept')} GPU models that no node has: {name_list(models, 8)}"
    return (Notice("unknown-gpu-models", text, numbers={"count": pods}),)


class OpenbLog(NamedTuple):
    """The pods of the trace that have times, as jobs of one pod.

    `snapshot`: the nodes of the trace. `usual`: shapes of all pods, by which policies judge (`PodTrace.usual`).
    """

    log: JobLog
    snapshot: ClusterSnapshot
    usual: TypicalShapes


def read_openb_log(nodes: str | Path, pods: str | Path, content: bytes | None = None) -> OpenbLog:
    """Read the pods of the trace as a log of jobs.

    `nodes`, `pods`, `content`: as of `read_openb`, with its errors. Pods without times are left out, with a notice that
    counts them. Raises InputError: no pod has times.
    """
    trace = read_openb(nodes, pods, content)
    timed = zip(trace.gangs, trace.submitted_s.tolist(), trace.duration_s.tolist(), strict=True)
    jobs = tuple(LoggedJob(gang, at, work) for gang, at, work in timed if work == work)
    left_out = len(trace.gangs) - len(jobs)
    text = f"{counted(left_out, 'pod')} without times left out"
    notes = (Notice("jobs-without-times", text, numbers={"count": left_out}),) if left_out else ()
    if not jobs:
        raise InputError("no pod with times", source=str(pods), expected="creation_time and deletion_time")
    log = JobLog(jobs, "openb", notes=(*trace.notes, *notes), inputs=trace.inputs)
    return OpenbLog(log, trace.snapshot, trace.usual)


def read_openb_nodes(path: str | Path) -> ClusterSnapshot:
    """Read the nodes of the trace alone; columns and errors are those of `read_openb`."""
    return _read_nodes(Path(path), read_bytes(path))[0]


def is_openb_pods(content: bytes) -> bool:
    """Whether the content of a file is a table of pods of the trace, by the columns in its first line."""
    return _has_columns(content, _POD_COLUMNS)


def is_openb_nodes(path: str | Path) -> bool:
    """Whether a path is a file with a table of nodes of the trace, by the columns in its first line."""
    return on_disk(path).is_file() and _has_columns(read_bytes(path), _NODE_COLUMNS)


def _has_columns(content: bytes, columns: tuple[str, ...]) -> bool:
    first = content[:4096].decode("utf-8-sig", "replace").split("\n", 1)[0]
    return set(columns) <= {name.strip() for name in first.split(",")}


def read_openb_order(path: str | Path, trace: PodTrace) -> tuple[Longs, Ints]:
    """Read an order of arrival: JSON, also compressed by gzip, with ``order`` and ``node_rank``.

    ``order`` has rows of the file of pods, from 0, whatever the order of its lines; ``node_rank`` has a rank for each
    node, sorted by name.

    Raises InputError: not such a file, or one for other pods or nodes.

    `trace`: the pods and nodes that the order is of.

    Returns
    -------
    arrivals : ndarray of shape (a,), int64
        Positions in ``trace.gangs``; a pod may arrive several times.
    nodes : ndarray of shape (n,), int32
        The nodes in the order in which equals win.
    """
    path = Path(path)
    content = unpacked(read_bytes(path), str(path))
    try:
        data = orjson.loads(content)
        arrivals = np.array(data["order"], dtype=np.int64)
        rank = np.array(data["node_rank"], dtype=np.int64)
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, OverflowError):
        expected = "JSON with lists of numbers order and node_rank"
        raise InputError("not an order of arrival", source=str(path), expected=expected) from None
    n, p = trace.snapshot.n_nodes, len(trace.gangs)
    if arrivals.ndim != 1 or (len(arrivals) and not 0 <= arrivals.min() <= arrivals.max() < p):
        raise InputError(
            "a pod that the trace does not have", source=str(path), where="order", expected=f"0 to {p - 1}"
        )
    if rank.shape != (n,) or (np.sort(rank) != np.arange(n)).any():
        raise InputError(
            "not the ranks of the nodes", source=str(path), where="node_rank", expected=f"0 to {n - 1}, each once"
        )
    by_name = np.argsort(trace.snapshot.topology.node_rank)
    position = np.empty(p, dtype=np.int64)
    position[trace.row] = np.arange(p)
    return position[arrivals], by_name[np.argsort(rank)].astype(np.int32)


def _in_order(content: bytes, path: Path, columns: tuple[str, ...], name: str) -> list[tuple[int, Row]]:
    """Rows with their numbers from 0, sorted by name; InputError: no rows, or a name that is empty or given twice."""
    found: dict[str, tuple[int, Row]] = {}
    for number, row in enumerate(read_table(content, str(path), columns)):
        key = row.text(name)
        if not key or key in found:
            raise row.wrong(name, key or "nothing", "a name of its own in each line")
        found[key] = number, row
    if not found:
        raise InputError("no rows in the table", source=str(path))
    return [found[key] for key in sorted(found, key=str.encode)]


def _read_nodes(path: Path, content: bytes) -> tuple[ClusterSnapshot, frozenset[str]]:
    rows = {row.text("sn"): row for _, row in _in_order(content, path, _NODE_COLUMNS, "sn")}
    topology = Topology.build(list(rows), ())
    resources = resource_columns([GPU])
    allocatable = np.zeros((len(rows), len(resources)), dtype=np.int64)
    gpus = []
    labels = []
    for i, name in enumerate(topology.node_names):
        row = rows[name]
        n_gpus = row.number("gpu", _MOST_GPUS)
        amounts = {CPU: row.number("cpu_milli"), MEMORY: row.number("memory_mib") * _MIB, GPU: n_gpus, PODS: _MOST_PODS}
        allocatable[i] = [amounts[column] for column in resources]
        gpus.append((1 << n_gpus) - 1)
        model = row.text("model")
        if n_gpus and not model:
            raise row.wrong("model", "nothing", "the model of the node's GPUs")
        labels.append({MODEL_LABEL: model} if model else {})
    words = gpu_words(gpus)
    n = len(rows)
    snapshot = ClusterSnapshot(
        topology=topology,
        resources=resources,
        allocatable=allocatable,
        used=np.zeros_like(allocatable),
        labels=NodeLabels.from_rows(topology.node_names, labels),
        taints=NodeTaints.from_rows([()] * n),
        unschedulable=np.zeros(n, dtype=np.bool_),
        gpu_total=words,
        gpu_free=words.copy(),
        matrices=(),
        node_matrix=np.full(n, -1, dtype=np.int32),
        source=path.name,
    )
    return snapshot, frozenset(label[MODEL_LABEL] for label in labels if label)


def _shape(row: Row, models: frozenset[str]) -> TypicalShape:
    gpus = row.number("num_gpu", _MOST_GPUS)
    cpu = row.number("cpu_milli")
    if not gpus:
        return TypicalShape(cpu, 0, 0)
    milli = row.number("gpu_milli", WHOLE_GPU)
    if not milli or (gpus > 1 and milli != WHOLE_GPU):
        raise row.wrong("gpu_milli", str(milli), f"1 to {WHOLE_GPU}, {WHOLE_GPU} where num_gpu is above 1")
    spec = row.text("gpu_spec")
    accepted = tuple(spec.split("|")) if spec else ()
    if "" in accepted or (accepted and models.isdisjoint(accepted)):
        known = ", ".join(sorted(models)) or "none, as no node has GPUs"
        raise row.wrong("gpu_spec", spec, f"models of the nodes: {known}")
    return TypicalShape(cpu, milli, gpus, accepted)


def _times(row: Row) -> tuple[float, float]:
    begin, end = (float(row.number(name, int(MOST_SECONDS))) if row.text(name) else float("nan") for name in _TIMES)
    if end < begin:
        raise row.wrong(_TIMES[1], f"{end:g}", f"at least creation_time, {begin:g}")
    return begin, end

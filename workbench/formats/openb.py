"""Readers of the openb trace (Alibaba GPU cluster 2023): nodes, pods with shares of GPUs, and orders of arrival."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

import numpy as np
import numpy.typing as npt
import orjson

from workbench.errors import InputError
from workbench.model.gang import Gang, Role
from workbench.model.gpu_shares import WHOLE_GPU
from workbench.model.labels import NodeFilter, NodeLabels, NodeTaints, Requirement
from workbench.model.pod_trace import PodTrace
from workbench.model.resources import CPU, MEMORY, PODS, resource_columns
from workbench.model.snapshot import ClusterSnapshot, gpu_words
from workbench.model.topology import Topology
from workbench.model.typical_shapes import TypicalShape

__all__ = ["GPU", "MODEL_LABEL", "read_openb", "read_openb_order"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

GPU = "nvidia.com/gpu"
MODEL_LABEL = "nvidia.com/gpu.product"

_MIB = 1 << 20
#: Pods of a node in the study.
_MOST_PODS = 1001
_MOST_GPUS = 64
_MOST = 1 << 40
_NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_TIMES = ("creation_time", "deletion_time")


class _Row:
    """One line of a table with its place, for messages."""

    def __init__(self, fields: Mapping[str, str], source: str, line: int) -> None:
        self._fields, self._source, self._where = fields, source, f"line {line}"

    def text(self, column: str) -> str:
        return (self._fields.get(column) or "").strip()

    def number(self, column: str, most: int = _MOST) -> int:
        """A whole number from 0 on; raises InputError for anything else, or more than `most`."""
        text = self.text(column)
        number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else -1
        if not 0 <= number <= most:
            raise self.wrong(column, text or "nothing", f"a whole number from 0 to {most}")
        return number

    def wrong(self, column: str, got: str, expected: str) -> InputError:
        return InputError(
            "not a value of this column",
            source=self._source,
            where=f"{self._where}, {column}",
            got=got[:60],
            expected=expected,
        )


def read_openb(nodes: str | Path, pods: str | Path) -> PodTrace:
    """Read a cluster and the pods of one variant of the trace.

    Parameters
    ----------
    nodes : path
        CSV with the columns sn, cpu_milli, memory_mib, gpu and model.
    pods : path
        CSV with the columns name, cpu_milli, memory_mib, num_gpu and gpu_milli; gpu_spec (models that the pod accepts,
        separated by ``|``), creation_time and deletion_time (s) may be missing.

    Returns
    -------
    PodTrace
        Nodes carry their model in the label ``nvidia.com/gpu.product``; a pod's gpu_spec is a node affinity on it. A
        pod with num_gpu 0 asks for no GPU, whatever its gpu_milli and gpu_spec say.

    Raises
    ------
    InputError
        A file that cannot be read, a missing column, a field that is no number or out of range, a share of several
        GPUs, a name given twice, a GPU model that no node has, an end before the beginning; the line is named.
    """
    snapshot, models = _read_nodes(Path(nodes))
    gangs: list[Gang] = []
    shapes: list[TypicalShape] = []
    times: list[tuple[float, float]] = []
    for row in _in_order(Path(pods), _POD_COLUMNS, "name"):
        shape = _shape(row, models)
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
    paths = (Path(nodes), Path(pods))
    return PodTrace(
        snapshot,
        tuple(gangs),
        tuple(shapes),
        at[:, 0].copy(),
        at[:, 1] - at[:, 0],
        Path(pods).stem.removeprefix("openb_pod_list_"),
        {path.name: sha256(_content(path)).hexdigest() for path in paths},
    )


def read_openb_order(path: str | Path, trace: PodTrace) -> tuple[Longs, Ints]:
    """Read an order of arrival: JSON, also compressed by gzip, with ``order`` and ``node_rank``.

    Returns
    -------
    arrivals : ndarray of shape (a,), int64
        Positions in ``trace.gangs``; a pod may arrive several times.
    nodes : ndarray of shape (n,), int32
        The nodes in the order in which equals win.

    Raises
    ------
    InputError
        Not such a file, or one for other pods or nodes.
    """
    path = Path(path)
    content = _content(path)
    try:
        data = orjson.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
        arrivals = np.array(data["order"], dtype=np.int64)
        rank = np.array(data["node_rank"], dtype=np.int64)
    except (orjson.JSONDecodeError, OSError, EOFError, KeyError, TypeError, ValueError, OverflowError):
        expected = "JSON with lists of numbers order and node_rank"
        raise InputError("not an order of arrival", source=str(path), expected=expected) from None
    n, p = trace.snapshot.n_nodes, len(trace.gangs)
    if arrivals.ndim != 1 or (len(arrivals) and not 0 <= arrivals.min() <= arrivals.max() < p):
        raise InputError("a pod that the trace has not", source=str(path), where="order", expected=f"0 to {p - 1}")
    if rank.shape != (n,) or (np.sort(rank) != np.arange(n)).any():
        raise InputError(
            "not the ranks of the nodes", source=str(path), where="node_rank", expected=f"0 to {n - 1}, each once"
        )
    by_name = np.argsort(trace.snapshot.topology.node_rank)
    return arrivals, by_name[np.argsort(rank)].astype(np.int32)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError("cannot be read", source=str(path), got=error.strerror) from None


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[_Row]:
    try:
        text = _content(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8", source=str(path), where=f"byte {error.start}") from None
    reader = csv.DictReader(io.StringIO(text), strict=True)
    try:
        missing = [name for name in columns if name not in (reader.fieldnames or ())]
        if missing:
            got = ",".join(reader.fieldnames or ())[:60]
            raise InputError(
                f"no column {missing[0]}", source=str(path), where="line 1", got=got, expected=", ".join(columns)
            )
        for fields in reader:
            if None in fields or None in fields.values():
                where, expected = f"line {reader.line_num}", f"{len(reader.fieldnames or ())} fields"
                raise InputError("not a row of the table", source=str(path), where=where, expected=expected)
            yield _Row(fields, str(path), reader.line_num)
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", source=str(path), where=f"line {reader.line_num}") from None


def _in_order(path: Path, columns: tuple[str, ...], name: str) -> list[_Row]:
    """Rows sorted by name; raises InputError for an empty name, one given twice, and a table without rows."""
    found: dict[str, _Row] = {}
    for row in _rows(path, columns):
        key = row.text(name)
        if not key or key in found:
            raise row.wrong(name, key or "nothing", "a name of its own in each line")
        found[key] = row
    if not found:
        raise InputError("no rows in the table", source=str(path))
    return [found[key] for key in sorted(found, key=str.encode)]


def _read_nodes(path: Path) -> tuple[ClusterSnapshot, frozenset[str]]:
    rows = {row.text("sn"): row for row in _in_order(path, _NODE_COLUMNS, "sn")}
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


def _shape(row: _Row, models: frozenset[str]) -> TypicalShape:
    gpus = row.number("num_gpu", _MOST_GPUS)
    cpu = row.number("cpu_milli")
    if not gpus:
        return TypicalShape(cpu, 0, 0)
    milli = row.number("gpu_milli", WHOLE_GPU)
    if not milli or (gpus > 1 and milli != WHOLE_GPU):
        raise row.wrong("gpu_milli", str(milli), f"1 to {WHOLE_GPU}, {WHOLE_GPU} where num_gpu is above 1")
    spec = row.text("gpu_spec")
    accepted = tuple(spec.split("|")) if spec else ()
    unknown = [model for model in accepted if model not in models]
    if unknown:
        raise row.wrong("gpu_spec", spec, f"models of the nodes: {', '.join(sorted(models))}")
    return TypicalShape(cpu, milli, gpus, accepted)


def _times(row: _Row) -> tuple[float, float]:
    begin, end = (float(row.number(name)) if row.text(name) else float("nan") for name in _TIMES)
    if end < begin:
        raise row.wrong(_TIMES[1], f"{end:g}", f"at least creation_time, {begin:g}")
    return begin, end

"""Write a whole `ClusterSnapshot` to one JSON or YAML file without loss, and read it back.

Numbers are exact, arrays are in the topology's node order, sets of nodes are runs of indices, GPU masks are in hex.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.errors import CapacityError, InputError, named_arguments
from workbench.formats.file_bytes import checked_path
from workbench.formats.manifests import read_text
from workbench.formats.plain_values import from_plain
from workbench.formats.snapshot_fields import (
    amounts_by_name,
    gpu_mask,
    gpu_masks,
    texts_by_key,
    texts_of_nodes,
    whole_number,
    whole_numbers,
)
from workbench.formats.snapshot_record import EXTRAS, MARK, TERMINATING, VERSION, snapshot_text
from workbench.formats.whole_file import write_whole
from workbench.jobs.roles import gpu_group_of
from workbench.model.bandwidth import BandwidthMatrix, SuspiciousLinks
from workbench.model.extras import Extra, GpuGroup, GpuPlan, PlannedPod, extras_of
from workbench.model.gpu_shares import WHOLE_GPU, Milli, gpu_width
from workbench.model.labels import NODE_NAME_FIELD, NodeLabels, NodeTaints, Taint
from workbench.model.machine_parts import MachineParts
from workbench.model.notice import Notice
from workbench.model.running_pod import RunningPod
from workbench.model.scenario import Scenario, snapshot_of
from workbench.model.snapshot import ClusterSnapshot, Queue, gpu_words
from workbench.model.switches import MOST_NODES_PER_SWITCH, SwitchStates, SwitchTable
from workbench.model.topology import DomainSpec, Problem, Topology
from workbench.objects.fields import (
    child,
    get_bool,
    get_int,
    get_list,
    get_map,
    get_maps,
    get_text,
    get_text_list,
    wrong,
)
from workbench.objects.pod_rules import read_pod_rules

__all__ = ["parse_snapshot", "save"]

_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


@named_arguments
def save(snapshot: ClusterSnapshot | Scenario, path: str | Path) -> None:
    """Write a snapshot, or that of a scenario without its jobs, to a file that `workbench.load` reads back.

    The file is YAML if its name ends in ``.yaml`` or ``.yml``, else JSON. What is read back equals what was written.

    Raises InputError: the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import workbench as wb
    >>> tree = wb.generate_scenario("three-level-tree").snapshot
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wb.save(tree, f"{folder}/cluster.json")
    ...     wb.load(f"{folder}/cluster.json").snapshot == tree
    True
    """
    path = Path(checked_path(path))
    write_whole(path, snapshot_text(snapshot_of(snapshot), yaml=path.suffix in (".yaml", ".yml")))


def parse_snapshot(text: str, source: str) -> ClusterSnapshot:
    """Read a snapshot from the text of a snapshot file in JSON or YAML; `source` names the file in errors.

    Raises InputError: not a snapshot of this version, a field that is missing, of the wrong type or size, an index of
    no node.
    """
    documents = read_text(text.encode(), source)
    data = documents[0][0]
    if len(documents) != 1 or type(data) is not dict or data.get(MARK) != VERSION:
        got = data.get(MARK) if type(data) is dict else None
        raise InputError("not a snapshot", source=source, got=f"{MARK}: {got}", expected=f"{MARK}: {VERSION}")
    try:
        return _snapshot(data)
    except InputError as error:
        raise error.at(source=source) from None
    except CapacityError as error:
        raise InputError(str(error), source=source) from None


def _snapshot(data: Mapping[str, Any]) -> ClusterSnapshot:
    for key in ("nodes", "domains", "resources"):
        if key not in data:
            raise wrong(key, None, "a list; is the snapshot cut off?")
    nodes = get_text_list(data, "nodes", "")
    n = len(nodes)
    if len(set(nodes)) != n:
        raise InputError("the same node twice", where="nodes", expected="each node once")
    topology = _topology(data, nodes)
    # Numbering is a function of names and sets alone, but a file may list its nodes in any order.
    position = {name: i for i, name in enumerate(nodes)}
    order = np.array([position[name] for name in topology.node_names], dtype=np.int64)
    resources = tuple(get_text_list(data, "resources", ""))
    matrices = tuple(_matrix(item, path) for path, item in get_maps(data, "matrices", ""))
    node_matrix = whole_numbers(data, "node_matrix", "", (n,), -1, len(matrices) - 1)
    addresses = texts_of_nodes(data, "addresses", order)
    unschedulable, not_ready = (_nodes_listed(data, key, n) for key in ("unschedulable", "not_ready"))
    where = np.argsort(order).tolist()
    running = tuple([_pod(item, path, where) for path, item in get_maps(data, "running", "")])
    masks = [gpu_masks(data, key, n) for key in ("gpu_total", "gpu_free")]
    words = gpu_words([*masks[0], *masks[1]])
    queues = [_queue(item, path) for path, item in get_maps(data, "queues", "")]
    return ClusterSnapshot(
        topology=topology,
        resources=resources,
        allocatable=whole_numbers(data, "allocatable", "", (n, len(resources)))[order],
        used=whole_numbers(data, "used", "", (n, len(resources)))[order],
        labels=_labels(data, topology, order),
        taints=_taints(data, n, order),
        unschedulable=unschedulable[order],
        not_ready=not_ready[order],
        gpu_total=words[:n][order],
        gpu_free=words[n:][order],
        gpu_shares=_shares(data, words[:n], order),
        matrices=matrices,
        node_matrix=node_matrix[order].astype(np.int32),
        queues={queue.name: queue for queue in queues},
        running=running,
        records=texts_by_key(data, "records", ""),
        exclusive=texts_by_key(data, "exclusive", ""),
        gaps=_gaps(data),
        source=get_text(data, "source", ""),
        taken_at=get_text(data, "taken_at", ""),
        addresses=addresses,
        node_uids=texts_of_nodes(data, "node_uids", order) or None,
        node_resource_versions=texts_of_nodes(data, "node_resource_versions", order) or None,
        switches=None if data.get("switches") is None else _switches(get_map(data, "switches", ""), n, order),
        gpu_plans=tuple(_gpu_plan(item, path) for path, item in get_maps(data, "gpu_plans", "")),
        extras=_extras(data),
    )


def _extras(data: Mapping[str, Any]) -> dict[type[Extra], Extra]:
    """Extras by class; a file without the field has none."""
    found = []
    for name, item in get_map(data, "extras", "").items():
        if name not in EXTRAS:
            raise wrong(child("extras", name), item, f"one of {', '.join(EXTRAS)}")
        found.append(from_plain(EXTRAS[name], item, child("extras", name)))
    return extras_of(*found)


def _nodes_listed(data: Mapping[str, Any], key: str, n: int) -> npt.NDArray[np.bool_]:
    """Mask of the nodes, by their indices in the file, that a field lists; a file without the field lists none."""
    mask = np.zeros(n, dtype=np.bool_)
    mask[whole_numbers(data, key, "", (-1,), 0, n - 1)] = True
    return mask


def _gaps(data: Mapping[str, Any]) -> tuple[Notice, ...]:
    """Read the notices on gaps of a snapshot; plain sentences in older files get the code ``unclassified``."""
    gaps = []
    for i, item in enumerate(get_list(data, "gaps", "")):
        path = f"gaps[{i}]"
        if type(item) is str:
            gaps.append(Notice("unclassified", item))
            continue
        if type(item) is not dict or not item.get("code"):
            raise wrong(path, item, "a mapping with code, message, subject and numbers")
        numbers = get_map(item, "numbers", path)
        for key, value in numbers.items():
            if type(value) not in (int, float) or not math.isfinite(value):
                raise wrong(f"{path}.numbers.{key}", value, "a number")
        texts = [get_text(item, key, path) for key in ("code", "message", "subject")]
        gaps.append(Notice(texts[0], texts[1], texts[2], numbers))
    return tuple(gaps)


def _switches(data: Mapping[str, Any], n: int, order: npt.NDArray[np.int64]) -> SwitchTable:
    where = np.argsort(order)
    rows, states, unhealthy = [], [], []
    for path, item in get_maps(data, "list", "switches"):
        nodes = where[whole_numbers(item, "nodes", path, (-1,), 0, n - 1)].tolist()
        positions = whole_numbers(item, "positions", path, (len(nodes),), 0, 2**31 - 1).tolist()
        rows.append(
            (get_text(item, "name", path), get_text(item, "address", path), list(zip(nodes, positions, strict=True)))
        )
        states.append(whole_number(item.get("state"), child(path, "state"), 0, 2))
        unhealthy.append(get_bool(item, "unhealthy", path))
    preset = SwitchStates(np.array(states, dtype=np.int8), np.array(unhealthy, dtype=np.bool_))
    per_switch = whole_number(data.get("nodes_per_switch"), "switches.nodes_per_switch", 1, MOST_NODES_PER_SWITCH)
    return SwitchTable.build(rows, n, per_switch, preset, get_text(data, "level", "switches"))


def _shares(data: Mapping[str, Any], gpu_total: npt.NDArray[np.uint64], order: npt.NDArray[np.int64]) -> Milli | None:
    rows = whole_numbers(data, "gpu_shares", "", (-1, 3))
    if not len(rows):
        return None
    # A GPU that broke may be shared still.
    width = min(max(gpu_width(gpu_total), int(rows[:, 1].max()) + 1), 64 * gpu_total.shape[1])
    shares = np.zeros((len(gpu_total), width), dtype=np.int16)
    for i, (node, gpu, milli) in enumerate(rows.tolist()):
        if not (0 <= node < len(shares) and 0 <= gpu < shares.shape[1] and 0 < milli <= WHOLE_GPU):
            n, g = shares.shape
            expected = f"a node below {n}, a GPU below {g} and 1 to {WHOLE_GPU} thousandths"
            raise wrong(f"gpu_shares[{i}]", [node, gpu, milli], expected)
        shares[node, gpu] = milli
    return shares[order]


def _topology(data: Mapping[str, Any], nodes: Sequence[str]) -> Topology:
    specs: dict[str, DomainSpec] = {}
    for path, item in get_maps(data, "domains", ""):
        name = get_text(item, "name", path)
        if not name or name in specs:
            raise wrong(child(path, "name"), item.get("name"), "a name, each once")
        runs = whole_numbers(item, "nodes", path, (-1, 2), 0, len(nodes))
        if (np.diff(runs.ravel()) < 0).any():
            raise wrong(child(path, "nodes"), item["nodes"], "runs [first, one past the last] that rise")
        members = np.concatenate([np.arange(a, b, dtype=np.int32) for a, b in runs] or [np.zeros(0, dtype=np.int32)])
        tier = int(whole_numbers({"tier": [item.get("tier")]}, "tier", path, (1,), -(2**31), 2**31 - 1)[0])
        parent = get_text(item, "parent", path)
        specs[name] = DomainSpec(name, tier, members, parent, get_text(item, "tier_name", path))
    _check_parents(specs)
    problems = [
        Problem(get_text(item, "code", path), get_text(item, "domain", path), get_text(item, "message", path))
        for path, item in get_maps(data, "problems", "")
    ]
    return Topology.build(nodes, specs.values(), problems, get_bool(data, "ready", "", True))


def _check_parents(specs: Mapping[str, DomainSpec]) -> None:
    safe: set[str] = set()
    for name in specs:
        path: dict[str, None] = {}
        while name and name not in safe:
            if name in path:
                raise InputError(
                    "a domain inside itself", where="domains", got=name, expected="parents without a cycle"
                )
            path[name] = None
            parent = specs[name].parent
            if parent and parent not in specs:
                raise InputError("a parent that is not there", where=f"domains, {name}", got=parent)
            name = parent
        safe.update(path)


def _labels(data: Mapping[str, Any], topology: Topology, order: npt.NDArray[np.int64]) -> NodeLabels:
    n = topology.n_nodes
    columns: dict[str, tuple[npt.NDArray[np.int32], tuple[str, ...]]] = {}
    labels = get_map(data, "labels", "")
    for key in labels:
        where = f"labels[{key!r}]"
        column = get_map(labels, key, "labels")
        values = tuple(get_text_list(column, "values", where))
        codes = whole_numbers(column, "codes", where, (n,), -1, len(values) - 1)[order].astype(np.int32)
        codes.flags.writeable = False
        columns[key] = (codes, values)
    columns[NODE_NAME_FIELD] = (np.arange(n, dtype=np.int32), topology.node_names)
    columns[NODE_NAME_FIELD][0].flags.writeable = False
    return NodeLabels(columns, n)


def _taints(data: Mapping[str, Any], n: int, order: npt.NDArray[np.int64]) -> NodeTaints:
    taints = get_map(data, "taints", "")
    sets = []
    for i, some in enumerate(get_list(taints, "sets", "taints")):
        rows = get_maps({"sets": some}, "sets", f"taints[{i}]")
        sets.append(
            tuple(Taint(get_text(t, "key", at), get_text(t, "value", at), get_text(t, "effect", at)) for at, t in rows)
        )
    codes = whole_numbers(taints, "codes", "taints", (n,), 0, len(sets) - 1)[order].astype(np.int32)
    codes.flags.writeable = False
    return NodeTaints(tuple(sets), codes)


def _matrix(item: Mapping[str, Any], path: str) -> BandwidthMatrix:
    rows = get_list(item, "gb_s", path)
    try:
        numbers = [[_NOT_FINITE[x] if type(x) is str else float(x) for x in row] for row in rows]
        gb_s = np.array(numbers, dtype=np.float64)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise wrong(child(path, "gb_s"), rows, "rows of numbers") from None
    types = get_list(item, "link_types", path)
    if not all(type(row) is list and all(type(cell) is str for cell in row) for row in types):
        raise wrong(child(path, "link_types"), types, "rows of text")
    return BandwidthMatrix(
        gb_s,
        tuple(get_text_list(item, "labels", path)),
        get_text(item, "source", path),
        tuple(map(tuple, types)),
        tuple(_doubt(doubt, where, len(rows)) for where, doubt in get_maps(item, "suspicious", path)),
        None if item.get("parts") is None else _parts(get_map(item, "parts", path), child(path, "parts")),
    )


def _parts(item: Mapping[str, Any], path: str) -> MachineParts:
    rows = get_maps(item, "nics", path)
    nics = {get_text(nic, "name", at): tuple(get_text_list(nic, "links", at)) for at, nic in rows}
    return MachineParts(nics, tuple(get_text_list(item, "numa", path)))


def _doubt(item: Mapping[str, Any], path: str, n: int) -> SuspiciousLinks:
    pairs = get_list(item, "pairs", path)
    if not all(type(pair) is list and len(pair) == 2 for pair in pairs):
        raise wrong(child(path, "pairs"), pairs, "pairs of numbers")
    numbers = whole_numbers(
        {"pairs": [gpu for pair in pairs for gpu in pair]}, "pairs", path, (2 * len(pairs),), 0, n - 1
    )
    return SuspiciousLinks(
        get_text(item, "code", path),
        tuple(zip(numbers[::2].tolist(), numbers[1::2].tolist(), strict=True)),
        get_text(item, "message", path),
    )


def _queue(item: Mapping[str, Any], path: str) -> Queue:
    amounts = {
        key: amounts_by_name(item, key, path)
        for key in ("capability", "deserved", "guarantee")
        if item.get(key) is not None
    }
    weight, priority = (int(whole_numbers({"n": [item.get(key, d)]}, "n", path, (1,))[0]) for key, d in _QUEUE_NUMBERS)
    created = get_text(item, "created", path)
    return Queue(get_text(item, "name", path), weight, priority=priority, created=created, **amounts)


_QUEUE_NUMBERS = (("weight", 1), ("priority", 0))


#: Fields of a running pod that are text, and those that map text to text.
_TEXTS = frozenset(
    {"namespace", "name", "gang", "role", "queue", "job_class", "group_phase", "uid", "resource_version", "leaving"}
)
_MAPPINGS = frozenset({"labels", "annotations"})
_OTHERS = frozenset(
    {"node", "gpu_mask", "gpu_milli", "requests", "assumed", TERMINATING, "gpu_group", "rules", "priority"}
)


def _pod(item: Mapping[str, Any], path: str, where: Sequence[int]) -> RunningPod:
    """A running pod; `where` gives the index in the topology of each node, by the node's index in the file."""
    node = whole_number(item.get("node"), child(path, "node"), -1, len(where) - 1)
    texts: dict[str, Any] = {"namespace": "", "name": ""}
    for key, value in item.items():
        if key in _TEXTS:
            texts[key] = value if type(value) is str else get_text(item, key, path)
        elif key in _MAPPINGS:
            texts[key] = texts_by_key(item, key, path)
        elif key not in _OTHERS:
            raise wrong(child(path, key), value, "a field of a running pod")
    return RunningPod(
        node=node if node < 0 else where[node],
        requests=amounts_by_name(item, "requests", path),
        assumed=amounts_by_name(item, "assumed", path),
        gpu_mask=gpu_mask(item.get("gpu_mask"), child(path, "gpu_mask")),
        gpu_milli=whole_number(item.get("gpu_milli", 0), child(path, "gpu_milli"), 0, WHOLE_GPU - 1),
        priority=get_int(item, "priority", path) or 0,
        terminating=get_bool(item, TERMINATING, path),
        rules=read_pod_rules(get_map(item, "rules", path), child(path, "rules")),
        gpu_group=_gpu_group_of_pod(item, path, texts.get("labels", {})),
        **texts,
    )


def _gpu_group_of_pod(item: Mapping[str, Any], path: str, labels: Mapping[str, str]) -> GpuGroup | None:
    """The GPU group of a running pod; that of its labels where a file, as older ones, names none."""
    if "gpu_group" not in item:
        return gpu_group_of(labels)
    return _gpu_group(get_map(item, "gpu_group", path), child(path, "gpu_group"))


def _gpu_group(item: Mapping[str, Any], path: str) -> GpuGroup:
    replica = int(whole_numbers({"replica": [item.get("replica")]}, "replica", path, (1,), 1)[0])
    return GpuGroup(get_text(item, "name", path), replica)


def _gpu_plan(item: Mapping[str, Any], path: str) -> GpuPlan:
    pods = tuple(
        PlannedPod(get_text(pod, "name", at), get_text(pod, "node", at), gpu_mask(pod.get("gpu_mask"), at))
        for at, pod in get_maps(item, "pods", path)
    )
    return GpuPlan(get_text(item, "namespace", path), _gpu_group(item, path), pods, get_text(item, "made_at", path))

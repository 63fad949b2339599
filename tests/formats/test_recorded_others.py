"""Recorded sessions of Kueue and kube-scheduler, and folders of recordings, by `live compare --recorded`."""

from __future__ import annotations

import copy
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.test_live_compare import AGREEING, recorded_job
from tests.conftest import PUBLIC_DATA
from workbench.errors import InputError
from workbench.formats.recorded_sessions import read_sessions

RACK, HOST = "example.com/rack", "kubernetes.io/hostname"
GATES = ["GenericWorkload", "TopologyAwareWorkloadScheduling"]


def node(name: str, rack: str, **more: Any) -> dict[str, Any]:
    amounts = {"cpu": "8", "memory": "8Gi", "pods": "10", "nvidia.com/gpu": "4"}
    return {"name": name, "labels": {RACK: rack, HOST: name}, "allocatable": amounts, "taints": [], **more}


def pod(name: str, group: str = "", gpus: int = 4, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "labels": {},
        "containers": [{"cpu": "1", "nvidia.com/gpu": str(gpus)}],
        **({"group": group} if group else {}),
        **more,
    }


def kube(bound: dict[str, str], **more: Any) -> dict[str, Any]:
    """Two racks of two nodes; on n0 a pod runs, so that a gang of two whole nodes fits into r1 only."""
    given = {
        "op": "schedule",
        "kind": "topology",
        "gates": GATES,
        "nodes": [node(f"n{i}", f"r{i // 2}") for i in range(4)],
        "running": [pod("run", gpus=2, node="n0")],
        "groups": [{"kind": "PodGroup", "name": "g", "gang": 2, "topology_key": RACK}],
        "pending": [pod("g-0", "g"), pod("alone"), pod("g-1", "g")],
        **more,
    }
    return {"id": "kube-1", "input": given, "expected": {"bound": bound, "conditions": {}}}


def kueue(*admitted: str, gates: dict[str, bool] | None = None) -> dict[str, Any]:
    quotas = {"cpu": {"nominal": "8", "borrowing_limit": None, "lending_limit": None}}
    queue = {
        "name": "cq",
        "cohort": None,
        "groups": [[{"flavor": "f", "quotas": quotas}]],
        "within_queue": "Never",
        "reclaim_in_cohort": "Never",
        "borrow_preempt_max_priority": None,
        "checks": [],
    }
    request = {"required": RACK, "preferred": None, "unconstrained": None, "slices": []}
    sets = [
        {
            "name": "main",
            "count": 2,
            "requests": {"cpu": "4"},
            "topology": request,
            "group": None,
            "node_selector": {},
            "tolerations": [],
            "node_affinity": None,
            "min_count": None,
        }
    ]
    workloads = [
        {"name": f"default/{name}", "cluster_queue": "cq", "priority": 0, "created": i, "uid": name, "pod_sets": sets}
        for i, name in enumerate(("first", "second"))
    ]
    flavor = {"name": "f", "topology": "default", "node_labels": {}, "tolerations": [], "taints": []}
    given = {
        "op": "schedule",
        "gates": gates or {},
        "topologies": {"default": [RACK, HOST]},
        "nodes": [node(f"n{i}", f"r{i // 2}", ready=True, unschedulable=False) for i in range(4)],
        "pods": [],
        "flavors": [flavor | {"node_labels": {RACK: "r0"}}],
        "cluster_queues": [queue],
        "check_kinds": {},
        "workloads": workloads,
    }
    assignment = {"levels": [HOST], "domains": [{"values": ["n0"], "count": 2}]}
    told = {"cluster_queue": "cq", "pod_sets": [{"name": "main", "flavors": {"cpu": "f"}, "count": 2}]}
    told["pod_sets"][0]["assignment"] = assignment
    cycles = [{"admitted": {f"default/{name}": told}} for name in admitted]
    return {"id": "kueue-1", "input": given, "expected": {"cycles": cycles}}


def written(path: Path, *records: Any) -> Path:
    """A list with a record in each line, as such recordings are."""
    path.write_text("[\n" + ",\n".join(map(json.dumps, records)) + "\n]\n", "utf-8")
    return path


def test_what_kube_scheduler_did_is_compared_with_its_twin(run: Run, tmp_path: Path) -> None:
    bound = {"g-0": "n2", "g-1": "n3", "alone": "n1"}
    result = run("live", "compare", "--recorded", written(tmp_path / "r.json", kube(bound)), "-o", "json")
    assert result.status == 0, result.out
    rows = [(one["session"], one["job"], one["policy"], one["verdict"], one["pods"]) for one in result.json]
    assert rows == [
        ("kube-1", "default/alone", "kube-1.37-topology", "placed", 1),
        ("kube-1", "default/g", "kube-1.37-topology", "placed", 2),
    ]
    plain = kube(bound, gates=["GenericWorkload"])
    result = run("live", "compare", "--recorded", written(tmp_path / "r.json", plain), "-o", "json")
    assert {one["policy"] for one in result.json} == {"kube-default"}


def test_a_gang_that_it_left_pending_is_a_difference(run: Run, tmp_path: Path) -> None:
    result = run("live", "compare", "--recorded", written(tmp_path / "r.json", kube({"alone": "n1"})), "-o", "json")
    told = {one["job"]: one["difference"] for one in result.json}
    assert result.status == 1
    assert told == {"default/alone": "", "default/g": "2 pods placed, but the cluster placed none"}


def test_what_kueue_admitted_is_compared_with_its_twin(run: Run, tmp_path: Path) -> None:
    result = run("live", "compare", "--recorded", written(tmp_path / "r.json", kueue("first")), "-o", "json")
    assert result.status == 0, result.out
    rows = [(one["job"], one["policy"], one["verdict"], one["observed_pods"]) for one in result.json]
    assert rows == [("default/first", "kueue-0.19", "placed", 2), ("default/second", "kueue-0.19", "pending", 0)]
    result = run("live", "compare", "--recorded", written(tmp_path / "r.json", kueue("second")), "-o", "json")
    assert result.status == 1 and not any(one["agrees"] for one in result.json)
    others = ("--policies", "volcano-1.15,kube-default")
    result = run("live", "compare", "--recorded", written(tmp_path / "r.json", kueue("first")), *others, "-o", "json")
    assert {one["policy"] for one in result.json} == {"volcano-1.15", "kube-default"}


def test_groups_that_are_each_others_parents_end(run: Run, tmp_path: Path) -> None:
    groups = [
        {"kind": "PodGroup", "name": "g", "gang": 2, "parent": "c"},
        {"kind": "CompositePodGroup", "name": "c", "gang": 1, "parent": "d"},
        {"kind": "CompositePodGroup", "name": "d", "gang": 1, "parent": "c"},
    ]
    path = written(tmp_path / "r.json", kube({}, groups=groups))
    assert run("live", "compare", "--recorded", path, "-o", "json").status in (0, 1)


def test_the_settings_of_a_session_reach_its_twin(tmp_path: Path) -> None:
    (session,) = read_sessions(written(tmp_path / "r.json", kueue(gates={"TASBalancedPlacement": True, "Other": True})))
    assert session.settings == {"balanced": True}
    (session,) = read_sessions(written(tmp_path / "r.json", kube({})))
    assert (session.twin, session.settings) == ("kube-1.37-topology", {"ties": "heap", "percentage": 0})


def test_a_folder_is_all_its_recordings(run: Run, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("no recording")
    written(tmp_path / "b.json", kube({"alone": "n1", "g-0": "n2", "g-1": "n3"}))
    written(tmp_path / "c.json", {"id": "s", "input": {"steps": []}, "expected": {"steps": []}})
    (tmp_path / "d.json").write_text(json.dumps({"scenarios": [], "scheduler": "x"}, indent=1))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(json.dumps(AGREEING).encode()))
    result = run("live", "compare", "--recorded", tmp_path, "-o", "json")
    assert result.status == 0
    policies = [one["policy"] for one in result.json]
    assert policies == [*["volcano-1.15"] * 3, *["kube-1.37-topology"] * 2]
    notes = [line.partition(f"{tmp_path}/")[2] for line in result.err.splitlines()]
    assert notes == [
        "c.json: 1 sequence of single placements by Kueue: no sessions",
        "d.json: no recorded session",
    ]


@pytest.mark.parametrize("folder", [False, True])
def test_placements_that_are_no_sessions_are_named_in_the_error(run: Run, tmp_path: Path, folder: bool) -> None:
    path = written(tmp_path / "c.json", *[{"id": "s", "input": {"steps": []}, "expected": {"steps": []}}] * 2)
    result = run("live", "compare", "--recorded", tmp_path if folder else path)
    said = "2 sequences of single placements by Kueue: no sessions"
    got = f"c.json: {said}" if folder else said
    assert result.status == 2 and f"no recorded session (found {got}, expected a line per session" in result.err


def broken(folder: Path, name: str) -> Path:
    """A path that cannot be compared, by what is wrong with it."""
    files = {
        "no jobs": '{"about": "x"}\n',
        "no JSON": "# hello\n",
        "a broken list": "[{]",
        "a list of numbers": "[1, 2]",
        "half a session": json.dumps([{"id": "k", "input": {}, "expected": {"bound": {}}}]),
        "half a session of Kueue": json.dumps([{"id": "k", "input": {"gates": {}}, "expected": {"cycles": []}}]),
        "a recording of live watch": '{"recording":1,"context":"c","began":"2026-11-27T01:00:00+00:00"}\n',
    }
    files["a pod without a name"] = json.dumps(kube({}, pending=[{"containers": []}]))
    late = kueue()
    late["input"]["workloads"][0]["created"] = 1e300
    files["a time without end"] = json.dumps(late)
    if name in files:
        (folder / "x.jsonl").write_text(files[name])
        return folder / "x.jsonl"
    if name == "a folder without jobs":
        (folder / "x.jsonl").write_text(files["no jobs"])
    elif name == "a folder without recordings":
        (folder / "cluster.yaml").write_text("kind: Node\n")
    return folder / "none" if name == "nothing there" else folder


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("an empty folder", ": a folder without recordings (expected files *.json or *.jsonl with recorded sessions)"),
        ("a folder without recordings", ": a folder without recordings (expected files *.json or *.jsonl"),
        ("a folder without jobs", ": no recorded session (found x.jsonl, expected a line per session"),
        ("nothing there", ": cannot be read: No such file or directory (expected a readable file or folder)"),
        ("no jobs", "x.jsonl: no recorded session (expected a line per session"),
        ("no JSON", "x.jsonl: line 1: not JSON"),
        ("a broken list", "x.jsonl: line 1: not JSON"),
        ("a list of numbers", "x.jsonl: record 1: no recorded session"),
        ("half a session", "x.jsonl: record 1, input.gates: the field is missing (found nothing, expected a list)"),
        ("half a session of Kueue", "x.jsonl: record 1, input.topologies: the field is missing (found nothing"),
        ("a pod without a name", "x.jsonl: line 1, input.pending[0].name: the field is missing (found nothing"),
        (
            "a time without end",
            "x.jsonl: line 1, input.workloads[0].created: wrong type or value (found a number 1e+300",
        ),
        ("a recording of live watch", "a recording of live watch, no sessions of a scheduler (expected workbench live"),
    ],
)
def test_what_cannot_be_compared_is_one_line(run: Run, tmp_path: Path, name: str, said: str) -> None:
    result = run("live", "compare", "--recorded", broken(tmp_path, name))
    assert (result.status, result.out) == (2, "")
    assert said in result.err and len(result.err.splitlines()) == 1


def changed(record: dict[str, Any], path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """The record with another value of one field; `...` takes the field away."""
    made = copy.deepcopy(record)
    *steps, last = path
    at: Any = made
    for step in steps:
        at = at[step]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return made


BOUND = kube({"g-0": "n2", "g-1": "n3", "alone": "n1"})
ADMITTED = ("expected", "cycles", 0, "admitted")
SET = ("input", "workloads", 0, "pod_sets", 0)


@pytest.mark.parametrize(
    ("record", "path", "value", "said"),
    [
        (kueue("first"), (*SET, "count"), -1, "input.workloads[0].pod_sets[0].count: wrong type or value (found a num"),
        (kueue("first"), (*SET, "topology"), 5, "input.workloads[0].pod_sets[0].topology: wrong type or value (found"),
        (kueue("first"), (*SET, "requests", "cpu"), "8x", "input.workloads[0].pod_sets[0].requests['cpu']: not a quan"),
        (kueue("first"), ("input", "workloads", 1, "name"), "default/first", "input.workloads[1].name: the same name"),
        (kueue("first"), ("input", "workloads", 1, "name"), "second", "input.workloads[1].name: no namespace (found"),
        (
            kueue("first"),
            ("input", "nodes", 0, "allocatable", "cpu"),
            -8,
            "input.nodes[0].allocatable['cpu']: a negati",
        ),
        (kueue("first"), ("input", "gates", "TASProfileMixed"), "no", "input.gates['TASProfileMixed']: wrong type or"),
        (
            kueue("first"),
            ("input", "cluster_queues", 0, "within_queue"),
            "Sometimes",
            "input.cluster_queues[0]: ClusterQueue default/cq: spec.preemption.withinClusterQueue: Unsupported value",
        ),
        (kueue("first"), ADMITTED, {"default/zz": {}}, "expected.cycles[0].admitted['default/zz']: nothing of that na"),
        (kueue("first"), ("expected", "cycles"), ..., "no recorded session (found nothing in expected, expected what"),
        (kueue("first"), ("expected",), [], "no recorded session (found expected: a list of 0, expected what the sche"),
        (kueue("first"), ("expected",), ..., "no recorded session (found no field expected, expected what the schedu"),
        (BOUND, ("input", "running"), 5, "input.running: wrong type or value (found a number 5, expected a list)"),
        (BOUND, ("input", "op"), "sing", "input.op: wrong type or value (found text 'sing', expected schedule)"),
        (BOUND, ("input", "nodes", 0, "name"), "n1", "input.nodes[1].name: the same name twice, first in input.nodes["),
        (BOUND, ("input", "nodes", 0, "taints"), [{"key": 5}], "input.nodes[0], spec.taints[0].key: wrong type or val"),
        (BOUND, ("input", "groups", 0, "kind"), "weird", "input.groups[0].kind: wrong type or value (found text 'weir"),
        (
            BOUND,
            ("expected", "bound"),
            {"zz": "n1"},
            "expected.bound['zz']: nothing of that name was there (found 'zz'",
        ),
        (
            BOUND,
            ("expected", "bound", "g-0"),
            "n9",
            "expected.bound['g-0']: nothing of that name was there (found 'n9'",
        ),
        (AGREEING, ("jobs",), ..., "no recorded session (found no field jobs, expected jobs, as in every session of"),
        (AGREEING, ("gpus",), -1, "gpus: wrong type or value (found a number -1, expected a whole number from 0 to"),
        (AGREEING, ("jobs", 0, "pods"), {"b-w-0": "n1"}, "jobs[0].pods: no pod of the Job (found 'b-w-0', expected a-"),
    ],
)
def test_one_wrong_field_is_one_line_with_its_place(
    run: Run, tmp_path: Path, record: dict[str, Any], path: tuple[str | int, ...], value: Any, said: str
) -> None:
    """In a folder, too, where only the message tells which file it is."""
    file = written(tmp_path / "r.json", record, changed(record, path, value))
    result = run("live", "compare", "--recorded", tmp_path)
    assert (result.status, result.out) == (2, "")
    assert len(result.err.splitlines()) == 1
    separator = ": " if said.startswith("no recorded session") else ", "
    assert result.err.startswith(f"workbench: {file}: record 2{separator}{said}")


@pytest.mark.parametrize(
    ("record", "path", "value", "said"),
    [
        (kueue("first"), ("input", "gates"), {"NoSuch": True}, "input.gates['NoSuch']: a feature gate that changes no"),
        (
            kueue("first"),
            ("input", "cluster_queues", 0, "groups", 0, 0, "flavor"),
            "nope",
            "input.cluster_queues[0].groups[0][0].flavor: no flavor of the record has this name (found 'nope')",
        ),
        (
            kueue("first"),
            ("input", "pods"),
            [{"name": f"x/{i}", "node": "gone", "phase": "Running", "requests": {}} for i in range(3)],
            "input.pods[0].node: no node of the record has this name (found 'gone'), and 2 more places like it",
        ),
        (BOUND, ("input", "gates"), [*GATES, "Foo"], "input.gates[2]: a feature gate that changes nothing here (found"),
        (BOUND, ("input", "kind"), "weird", "input.kind: a kind of session that is not known, read like any other (fo"),
        (AGREEING, ("jobs", 0, "pods", "a-w-0"), "gone", "jobs[0].pods['a-w-0']: no node of the record has this name"),
    ],
)
def test_what_a_real_cluster_may_lack_is_told(
    run: Run, tmp_path: Path, record: dict[str, Any], path: tuple[str | int, ...], value: Any, said: str
) -> None:
    file = written(tmp_path / "r.json", record, changed(record, path, value))
    result = run("live", "compare", "--recorded", file, "-o", "json")
    assert result.status in (0, 1)
    (line,) = result.err.splitlines()
    assert line.startswith(f"note: {file}: record 2, {said}")


#: Values of every type, most of them wrong wherever they stand.
ODD_VALUES = (..., None, -1, 2**40, 1.5, True, "", "9x", [], {}, [1], {"a": 1}, [None], [{}], {"": None})


def every_field(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all fields below a value, of a list those of its first item."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, item in inner:
        yield from every_field(item, (*path, key))


@pytest.mark.slow
@pytest.mark.parametrize("record", [kueue("first"), BOUND, AGREEING], ids=["kueue", "kube", "volcano"])
def test_no_value_of_any_field_ends_otherwise(tmp_path: Path, record: dict[str, Any]) -> None:
    """Each is read, or is an error that names the file and the record; no session vanishes."""
    for path in every_field(record):
        for value in ODD_VALUES:
            file = written(tmp_path / "r.json", record, changed(record, path, value))
            try:
                sessions = list(read_sessions(file))
                for session in sessions:
                    list(session.moments())
            except InputError as error:
                assert error.source == str(file) and (error.where or "").startswith("record 2"), (path, value)
                assert "stdin" not in str(error) and "items[" not in str(error), (path, value)
            else:
                assert len(sessions) == 2, (path, value)


def test_jobs_that_wait_are_as_old_as_their_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond sixty, too, where a second of its own is no longer one of the first minute."""
    names = [f"j{number:03d}" for number in range(65)]
    record = changed(AGREEING, ("jobs",), [recorded_job(name, None) for name in names])
    (session,) = read_sessions(written(tmp_path / "r.json", record))
    # Only the last moment is read.
    read = type(session)._at
    monkeypatch.setattr(type(session), "_at", lambda self, *moment: moment)
    *_, last = session.moments()
    gangs = read(session, *last).scenario.gangs
    ages = [gang.created for gang in sorted(gangs, key=lambda gang: gang.name)]
    assert len(ages) == 65 and ages == sorted(set(ages))


@pytest.mark.parametrize(
    "arguments", [("place", "datasets/demo", "--set", "config={}"), ("place", "datasets/demo", "--matrix", "n={}")]
)
def test_a_folder_where_a_file_belongs_is_said_so(run: Run, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = run(*(one.format(tmp_path) for one in arguments))
    assert result.status == 2 and f"{tmp_path}: a folder (expected a file)" in result.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "policies", "least"),
    [
        ("kube-recorded/scenarios.json", {"kube-default", "kube-1.37-topology"}, 0.99),
        ("kueue-recorded/cycles.json", {"kueue-0.19"}, 0.96),
    ],
)
def test_real_recordings(run: Run, file: str, policies: set[str], least: float) -> None:
    """Ties that upstream breaks otherwise, retries, and domains above the nodes on which pods do not fit remain."""
    if not (PUBLIC_DATA / file).exists():
        pytest.skip(f"no {PUBLIC_DATA / file}")
    result = run("live", "compare", "--recorded", PUBLIC_DATA / file, "-o", "json")
    agrees = Counter(one["agrees"] for one in result.json)
    assert {one["policy"] for one in result.json} == policies
    assert agrees[True] / agrees.total() >= least

"""Runs of studies on Dask: results, what is kept, what is done again, errors of policies, workers and addresses."""

from __future__ import annotations

import gc
import json
import urllib.error
import urllib.request
from pathlib import Path

import distributed
import numpy as np
import psutil
import pyarrow.parquet
import pytest

import workbench.study.cluster as cluster_module
import workbench.study.run as run_module
from tests.study.small import STUDY, small_study
from workbench.errors import ClusterError, InputError
from workbench.evaluate.metric_table import simulation_metrics
from workbench.policies import Policy, get_policy, policy
from workbench.study import Study
from workbench.study.cluster import check_connection, local_cluster
from workbench.study.results import PARQUET, keep_result, prepare_folder, write_results
from workbench.study.work import simulate_case


def parquet(folder: Path) -> bytes:
    return (folder / "results.parquet").read_bytes()


def test_a_row_per_run_in_the_order_of_the_plan(study: Study, tmp_path: Path, address: str) -> None:
    told: list[tuple[int, int, str]] = []
    frame = study.run(tmp_path / "out", address, progress=lambda *each: told.append(each))
    names = ["topology", "workload", "discipline", "policy", "seed"]
    want = [[getattr(run, name) for name in names] for run in study.runs]
    assert frame[names].to_numpy().tolist() == want
    assert len(frame) == 12 and (frame["jobs"] == 12).all()
    assert [each[:2] for each in told] == [(i, 12) for i in range(13)]
    assert {each[2] for each in told[1:]} == {run.title for run in study.runs}
    assert pyarrow.parquet.read_table(tmp_path / "out" / "results.parquet").to_pylist() == [
        {key: None if value != value else value for key, value in row.items()} for row in frame.to_dict("records")
    ]


def test_each_number_is_the_simulations_own(study: Study, tmp_path: Path, address: str) -> None:
    frame = study.run(tmp_path / "out", address)
    for run, row in zip(study.runs, frame.to_dict("records"), strict=True):
        case = study.cases[run.topology, run.workload]
        alone = simulate_case(case, get_policy(run.policy), run.discipline, run.seed, run_module.package_digest())
        np.testing.assert_equal({key: row[key] for key in alone}, alone)


def test_cases_are_sent_while_few_are_out(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of many large clusters at once would fill the memory of the process that sends them."""
    loads = "".join(f"  - {{name: w{load}, trace: jobs.csv, load: {load}}}\n" for load in range(50, 62))
    text = STUDY.replace("  - trace: jobs.csv\n    load: 90\n", loads).replace("seeds: 0-2", "seeds: 0")
    study = small_study(tmp_path, text)
    sent: list[str] = []
    before_result: list[int] = []
    submit, keep = distributed.Client.submit, run_module.keep_result

    def noted(client, call, *arguments, key, **more):
        if key.startswith("case-"):
            sent.append(key)
        return submit(client, call, *arguments, key=key, **more)

    monkeypatch.setattr(distributed.Client, "submit", noted)
    monkeypatch.setattr(run_module, "keep_result", lambda *each: (before_result.append(len(sent)), keep(*each))[1])
    assert len(study.run(tmp_path / "out", address)) == len(study.runs) == 48
    assert len(sent) == len(set(sent)) == 12
    assert before_result[0] < 12
    assert before_result == sorted(before_result)


def test_every_number_of_a_simulation_is_an_outcome(study: Study) -> None:
    run = study.runs[0]
    case = study.cases[run.topology, run.workload]
    told = simulate_case(case, get_policy("binpack"), "fifo", 0, run_module.package_digest())
    assert list(told) == [one.key for one in simulation_metrics()]


def test_runs_with_results_are_not_done_again(
    study: Study, tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = study.run(tmp_path / "out", address)
    before = parquet(tmp_path / "out")
    (tmp_path / "out" / "results.parquet").unlink()

    def nobody(*_: object) -> None:
        raise AssertionError("no cluster is needed")

    monkeypatch.setattr(run_module, "connected", nobody)
    assert study.run(tmp_path / "out").equals(first)
    assert parquet(tmp_path / "out") == before


def test_another_study_takes_over_what_it_shares(study: Study, tmp_path: Path, address: str) -> None:
    study.run(tmp_path / "out", address)
    told: list[int] = []
    text = (tmp_path / "study.yaml").read_text().replace("seeds: 0-2", "seeds: [2, 7]").replace("small", "other")
    other = small_study(tmp_path, text)
    frame = other.run(tmp_path / "out", address, progress=lambda done, *_: told.append(done))
    assert told == [4, 5, 6, 7, 8]
    assert len(frame) == 8


@pytest.mark.parametrize("damage", [pytest.param(b"", marks=pytest.mark.slow), b"{", b"[]", b'{"run": "x"}'])
def test_a_damaged_result_is_done_again(study: Study, tmp_path: Path, address: str, damage: bytes) -> None:
    study.run(tmp_path / "out", address)
    before = parquet(tmp_path / "out")
    file = tmp_path / "out" / "runs" / f"{study.runs[3].digest}.json"
    whole = file.read_bytes()
    file.write_bytes(damage or json.dumps({**json.loads(whole), "summary": {"jobs": 1}}).encode())
    assert len(study.results(tmp_path / "out")) == 11
    study.run(tmp_path / "out", address)
    assert file.read_bytes() == whole and parquet(tmp_path / "out") == before


def test_the_same_seed_breaks_the_same_things_for_every_policy(study: Study, tmp_path: Path, address: str) -> None:
    frame = study.run(tmp_path / "out", address)
    assert frame["restarts"].sum() > 0
    no_faults = Study("calm", study.topologies, study.workloads, study.policies, study.disciplines, study.seeds)
    assert no_faults.run(tmp_path / "calm", address)["restarts"].sum() == 0


CELL = """
import numpy as np
FROM = {first}
def from_node(gang, ledger, step=1):
    {body}
    nodes = np.roll(np.arange(len(ledger.topology.node_names)), -FROM * step)
    room = np.min([ledger.room_for(role) for role in gang.roles], axis=0)
    chosen = np.repeat(nodes, room[nodes])[: gang.n_pods]
    return chosen if len(chosen) == gang.n_pods else "full"
"""


def written(first: int = 1, body: str = "pass") -> Policy:
    """A policy as a notebook's cell makes it: its function is in no module that a worker could import."""
    cell: dict[str, object] = {"__name__": "__main__"}
    exec(CELL.format(first=first, body=body), cell)
    policy("from-node")(cell["from_node"])  # type: ignore[type-var]
    return get_policy("from-node")


def with_policies(study: Study, **policies: Policy) -> Study:
    return Study("mine", study.topologies, study.workloads, policies, seeds=(0,))


@pytest.mark.slow
def test_a_policy_of_a_notebook_gives_the_same_bytes_here_and_on_a_cluster(
    study: Study, tmp_path: Path, address: str
) -> None:
    mine = with_policies(study, mine=written(), binpack=get_policy("binpack"))
    frame = mine.run(tmp_path / "there", address)
    mine.run(tmp_path / "here", workers=1)
    assert parquet(tmp_path / "there") == parquet(tmp_path / "here")
    (case,) = mine.cases.values()
    alone = simulate_case(case, written(), "best-effort", 0, run_module.package_digest())
    assert frame["waited_mean_s"][0] == alone["waited_mean_s"] != frame["waited_mean_s"][1]


def test_a_policy_that_was_edited_is_run_again(study: Study, tmp_path: Path, address: str) -> None:
    told: list[int] = []

    def run(mine: Policy) -> None:
        with_policies(study, mine=mine).run(tmp_path / "out", address, progress=lambda done, *_: told.append(done))

    run(written())
    run(written())
    assert told == [0, 1, 1]
    run(written(first=2))
    run(written(body="room = 0"))
    assert told[3:] == [0, 1, 0, 1]


def test_an_error_of_a_policy_names_the_run_and_keeps_the_others(
    study: Study, tmp_path: Path, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "workbench")
    failing = with_policies(study, binpack=get_policy("binpack"), mine=written(body="1 / 0"))
    with pytest.raises(InputError, match=r"four nodes, jobs 90 %, best-effort, mine, seed 0: .*ZeroDivisionError"):
        failing.run(tmp_path / "out", address)
    assert failing.results(tmp_path / "out")["policy"].tolist() == ["binpack"]
    told = [record.getMessage() for record in caplog.records if record.name == "workbench"]
    assert told[0].endswith("0 of 2 runs are done") and len(told) == 4
    assert [text for text in told if "ZeroDivisionError" in text] and told[0].startswith(f"study {failing.name}: ")


def test_a_worker_with_other_sources_is_refused(
    study: Study, tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "package_digest", lambda: "another")
    with pytest.raises(ClusterError, match="another version of the workbench"):
        study.run(tmp_path / "out", address)


def test_an_address_without_a_scheduler(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.study.cluster._ANSWER_S", 0.2)
    with pytest.raises(ClusterError, match=r"tcp://127\.0\.0\.1:9: no Dask scheduler answers"):
        study.run(tmp_path / "out", "tcp://127.0.0.1:9")
    assert not (tmp_path / "out").exists()
    with pytest.raises(InputError, match="with the address of a scheduler"):
        study.run(tmp_path / "out", "tcp://127.0.0.1:9", workers=2)
    with pytest.raises(InputError, match="workers: workers cannot be set so"):
        study.run(tmp_path / "out", workers=0)
    with pytest.raises(InputError, match="workers: workers cannot be set so"):
        study.run(tmp_path / "out", workers=1000)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "address",
    ["", "nope", "127.0.0.1", "tcp://", "tcp://x:0", "tcp://x:99999", "foo://x:1", "nonsense://x:y", "a b:1"],
)
def test_what_is_no_address(study: Study, tmp_path: Path, address: str) -> None:
    with pytest.raises(InputError, match="not the address of a scheduler"):
        study.run(tmp_path / "out", address)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("address", ["10.0.0.1:8786", "tcp://h-1.x:1", "wss://[::1]:8786", "inproc://1.2.3.4/5/6"])
def test_what_is_an_address(address: str) -> None:
    check_connection(address, None)
    with pytest.raises(InputError, match="with the address of a scheduler"):
        check_connection(address, 1)


def test_an_address_of_tls_without_certificates(study: Study, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no certificates for TLS"):
        study.run(tmp_path / "out", "tls://127.0.0.1:1")
    gc.collect()  # an unfinished client would now complain
    assert not (tmp_path / "out").exists()


def test_no_more_workers_than_runs(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def connected(_: str | None, workers: int | None) -> None:
        started.append(workers)
        raise ClusterError("not now")

    monkeypatch.setattr(run_module, "connected", connected)
    monkeypatch.setattr(cluster_module, "cores", lambda: 100)
    for asked in (400, 5):
        with pytest.raises(ClusterError, match="not now"):
            study.run(tmp_path / "out", workers=asked)
    assert started == [len(study.runs), 5]


def test_a_scheduler_without_workers(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import LocalCluster

    monkeypatch.setattr("workbench.study.cluster._WORKER_S", 0.2)
    settings = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "protocol": "tcp://"}
    with (
        LocalCluster(n_workers=0, threads_per_worker=1, processes=False, **settings) as cluster,
        pytest.raises(ClusterError, match=r"the scheduler has no worker \(waited 0.2 s\)"),
    ):
        study.run(tmp_path / "out", cluster.scheduler_address)


def test_a_folder_that_cannot_be_made(study: Study, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        study.run(tmp_path / "file" / "out")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "runs").write_text("")
    with pytest.raises(InputError, match=r"out/runs: cannot be made"):
        study.run(tmp_path / "out")


@pytest.mark.slow
def test_a_local_cluster_listens_on_loopback_alone_and_ends() -> None:
    me = psutil.Process()
    with local_cluster(2) as cluster:
        pids = [nanny.pid for nanny in cluster.workers.values()]
        listening = [
            connection.laddr.ip
            for process in (me, *map(psutil.Process, pids))
            for connection in process.net_connections()
            if connection.status == psutil.CONN_LISTEN
        ]
        assert len(pids) == 2
        assert set(listening) == {"127.0.0.1"} and len(listening) >= 4
        assert cluster.scheduler_address.startswith("tls://")
    assert not any(map(psutil.pid_exists, pids))


def test_links_in_a_folder_that_somebody_prepared_are_not_followed(study: Study, tmp_path: Path) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "results"
    victim.write_text("mine")
    prepare_folder(folder)
    (folder / PARQUET).symlink_to(victim)
    run = study.runs[0]
    (folder / "runs" / f"{run.digest}.json").symlink_to(victim)
    keep_result(folder, run, dict.fromkeys([one.key for one in simulation_metrics()], 0.0))
    write_results(study, folder)
    assert victim.read_text() == "mine"
    assert not (folder / PARQUET).is_symlink()


def test_a_folder_of_runs_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "runs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="a link"):
        prepare_folder(tmp_path / "results")


@pytest.mark.slow
def test_a_local_cluster_shows_no_pages() -> None:
    with local_cluster(1) as cluster:
        port = cluster.scheduler.http_server.port
        for page in ("/", "/status", "/info/main/workers.html", "/json/identity.json", "/metrics", "/health"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=10)

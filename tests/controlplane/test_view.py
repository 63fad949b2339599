"""`LiveView` and `workbench live watch` on a real API server."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.controlplane.faults import GPUS, RACKS, WIDTH, job
from tests.controlplane.live import Live
from tests.waiting import PATIENCE_S, until
from workbench.errors import InputError
from workbench.live import LiveView, Recording, take_snapshot
from workbench.live.kubernetes.apply import apply
from workbench.model.snapshot import ClusterSnapshot

pytestmark = pytest.mark.slow

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"


def _running(snapshot: ClusterSnapshot) -> list[tuple[str, int, int, str]]:
    """The pods that hold resources: name, node, GPUs and phase of the PodGroup."""
    return sorted((one.name, one.node, one.gpu_mask, one.group_phase) for one in snapshot.running)


def test_what_is_followed_equals_what_is_read_anew(live: Live) -> None:
    draw = random.Random(1)
    with LiveView(kubeconfig=live.config) as view:
        for step in range(12):
            names = list(live.job_phases())
            if names and draw.random() < 0.4:
                live.plane.ask(
                    "DELETE", f"/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/{draw.choice(names)}"
                )
            else:
                apply(live.writer, [job(f"j{step}", draw.randint(1, WIDTH), draw.choice([4, 8]))])

            def rest() -> bool:
                jobs = set(live.job_phases())
                owners = {one["metadata"]["ownerReferences"][0]["name"] for one in live.list("Pod")}
                return owners == jobs and len(live.list("PodGroup")) == len(jobs)

            live.until(rest, "the cluster to rest")

            def equal() -> bool:
                view.update(0.05)
                read = take_snapshot(kubeconfig=live.config).scenario().snapshot
                mine = view.snapshot
                return mine.topology.node_names == read.topology.node_names and _running(mine) == _running(read)

            live.until(equal, "the view to equal a new snapshot")
            assert {row.name for row in view.jobs()} == set(live.job_phases())


def test_a_job_that_waits_is_told_with_the_policys_reason(live: Live) -> None:
    with LiveView(kubeconfig=live.config) as view:
        apply(live.writer, [job("wide", WIDTH + 1, GPUS)])

        def told() -> bool:
            view.update(0.1)
            return "default/wide" in view.reasons()

        until(told, "the reason")
        assert view.snapshot.n_nodes == RACKS * WIDTH
        assert all(not environment for pod in view.pods() for environment in pod.environment.values())


def test_each_change_of_a_job_is_a_line(live: Live) -> None:
    command = [sys.executable, "-m", "workbench", "live", "watch", "--kubeconfig", str(live.config)]
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings)
    assert process.stdout is not None and process.stderr is not None
    assert process.stderr.readline().startswith("context test, server https://127.0.0.1")
    apply(live.writer, [job("a", 2, 8)])
    lines = []
    for line in process.stdout:
        lines.append(line.strip())
        if "Running, 2 running, in s" in line:
            break
    live.plane.ask("DELETE", f"{JOBS}/a")
    for line in process.stdout:
        if line.strip() == "default/a: gone":
            break
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0 and "Traceback" not in said, said
    assert all(line.startswith("default/a: ") for line in lines)


def test_what_is_watched_is_recorded(live: Live, tmp_path: Path, run: Run) -> None:
    file = tmp_path / "session.jsonl"
    watched = ("live", "watch", "--kubeconfig", str(live.config), "--record", str(file))
    process = subprocess.Popen([sys.executable, "-m", "workbench", *watched], stderr=subprocess.PIPE, text=True)
    until(lambda: file.exists() and file.read_bytes().count(b"\n") >= 2, "the recording to begin")
    apply(live.writer, [job("a", 2, GPUS)])
    live.until(lambda: live.job_phases().get("a") == "Running", "a to run")

    with LiveView(kubeconfig=live.config) as view:

        def kept() -> bool:
            view.update(0.1)
            try:
                recording = Recording.read(file)
            except InputError:
                # It is being written.
                return False
            recording.seek(len(recording.clocks) - 1)
            return recording.jobs() == view.jobs()

        until(kept, "the recording to hold it")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    recording = Recording.read(file)
    assert recording.jobs() == []
    recording.seek(len(recording.clocks) - 1)
    with LiveView(kubeconfig=live.config) as view:
        assert recording.jobs() == view.jobs()
        assert _running(recording.snapshot) == _running(view.snapshot)
    again = run(*watched, "--for", "1")
    assert (again.status, again.err.count("\n")) == (2, 1) and "--record" in again.err


def test_the_notebook_works_with_a_cluster(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    from nbclient import NotebookClient

    root = Path(__file__).parents[2]
    apply(live.writer, [job("a", 2, GPUS), job("wide", WIDTH + 1, GPUS)])
    live.until(lambda: live.job_phases().get("a") == "Running", "a to run")
    for name, value in (("PYTHONPATH", str(root)), ("KUBECONFIG", str(live.config)), ("WORKBENCH_CONTEXT", "test")):
        monkeypatch.setenv(name, value)
    notebook = nbformat.read(root / "notebooks" / "08_live_cluster.ipynb", as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(root / "notebooks")}}).execute()
    shown = {cell.id: str(cell.get("outputs")) for cell in notebook.cells}
    assert "nodes: 16, running pods: 2, gangs that wait: 1" in shown["read"] and "default/wide" in shown["why"]

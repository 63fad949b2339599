"""`workbench kind` and `workbench operator` as a user calls them, without Docker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run
from tests.controlplane.live import Live
from tests.controlplane.server import ControlPlane
from tests.waiting import until
from workbench.control.kinds import api_path
from workbench.live.kubernetes.clusters import made_clusters
from workbench.live.kubernetes.control_plane import _free_ports

pytestmark = pytest.mark.slow

DATASETS = Path(__file__).parents[2] / "datasets"


@pytest.fixture(autouse=True)
def home(control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own, with the programs of the real one."""
    from workbench.live.kubernetes.control_plane import programs

    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(programs()))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    yield tmp_path
    from workbench.live.kubernetes.clusters import cluster_down

    for one in made_clusters():
        cluster_down(one.name)


@pytest.fixture
def behind_kind(control_plane: ControlPlane, home: Path) -> Iterator[Live]:
    """The server of the tests, for a `kind` that is not there; what a deleted cluster would take along is removed."""
    server = Live(control_plane, home)
    yield server
    server.close()
    for kind in ("Node", "HyperNode"):
        assert control_plane.ask("DELETE", api_path(kind))[0] == 200


def test_a_topology_becomes_a_cluster_on_which_a_job_runs(run: Run, home: Path) -> None:
    made = run("kind", "up", "--control-plane", "--name", "t", "--topology", "balanced", "--set", "sizes=2,2")
    assert made.status == 0, made.err
    config = made.out.splitlines()[0].removeprefix("export KUBECONFIG=")
    assert oct(Path(config).stat().st_mode)[-3:] == "600"
    listed = run("kind", "list", "-o", "json").json
    assert [(one["name"], one["engine"], one["state"]) for one in listed] == [("t", "control-plane", "runs")]
    port = _free_ports(1)[0]
    command = [sys.executable, "-m", "workbench", "operator", "run", "--kubeconfig", config]
    command += ["--scheduler-name", "volcano", "--metrics", str(port)]
    operator = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        job = next(yaml.safe_load_all((DATASETS / "samples/pytorch-job.yaml").read_text("utf-8")))
        from workbench.live.kubernetes.apply import apply
        from workbench.live.kubernetes.configuration import cluster_of
        from workbench.live.kubernetes.writer import Writer

        writer = Writer(cluster_of(kubeconfig=config))
        apply(writer, [job])

        def runs() -> bool:
            found = writer.get(f"/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/{job['metadata']['name']}")
            return ((found.get("status") or {}).get("state") or {}).get("phase") == "Running"

        until(runs, "the Job to run")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            told = answer.read().decode()
        assert 'workbench_bindings_total{outcome="bound"} 3.0' in told and "workbench_leader 1.0" in told
        compared = run("live", "compare", "--kubeconfig", config)
        assert compared.status == 0, compared.err
        operator.send_signal(signal.SIGINT)
        _, said = operator.communicate(timeout=60)
        assert operator.returncode == 0 and "Scheduled" in said and "Traceback" not in said
    finally:
        operator.kill()
    assert run("kind", "down", "--name", "t").status == 0
    assert run("kind", "list", "-o", "json").json == [] and not Path(config).exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("up", "--control-plane", "--topology", "no-such"), "no-such"),
        (("up", "--control-plane", "--topology", "no/such.yaml"), "no such file"),
        (("up", "--control-plane", "--topology", "balanced", "--name", "A_b"), "--name"),
        (("up", "--control-plane", "--topology", "balanced", "--set", "sizes=x"), "sizes"),
        (("down", "--name", "other"), "other"),
    ],
)
def test_what_cannot_be_made_is_told_in_a_line_and_leaves_nothing(
    run: Run, home: Path, arguments: tuple[str, ...], told: str
) -> None:
    result = run("kind", *arguments)
    assert result.status == 2 and told in result.err and len(result.err.strip().splitlines()) == 1
    assert made_clusters() == []


def test_a_refused_object_ends_the_cluster_again(run: Run, home: Path) -> None:
    wrong = home / "wrong.yaml"
    data = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"a": "not a label!"}}}
    wrong.write_text(yaml.safe_dump(data), "utf-8")
    result = run("kind", "up", "--control-plane", "--topology", str(wrong))
    assert result.status in (2, 3) and "label" in result.err.splitlines()[-1]
    assert made_clusters() == [] and not list((home / "cache").rglob("kubeconfig"))


FAKE_KIND = """#!{python}
import json, pathlib, shutil, sys
log = pathlib.Path({log!r})
log.write_text((log.read_text() if log.exists() else "") + json.dumps(sys.argv[1:]) + "\\n")
if sys.argv[1] == "create":
    config = sys.argv[sys.argv.index("--config") + 1]
    shutil.copy(config, {seen!r})
    shutil.copy({kubeconfig!r}, sys.argv[sys.argv.index("--kubeconfig") + 1])
"""


def test_kind_is_called_with_a_cluster_and_a_kubeconfig_of_its_own(
    run: Run, home: Path, behind_kind: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, log, seen = home / "bin", home / "calls", home / "seen.yaml"
    programs.mkdir()
    fake = programs / "kind"
    settings = {"python": sys.executable, "log": str(log), "seen": str(seen), "kubeconfig": str(behind_kind.config)}
    fake.write_text(FAKE_KIND.format(**settings), "utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    made = run("kind", "up", "--name", "k", "--topology", "balanced", "--set", "sizes=2,2")
    assert made.status == 0, made.err
    (cluster,) = made_clusters()
    assert cluster.engine == "kind" and cluster.context == "workbench-k"
    assert yaml.safe_load(cluster.kubeconfig.read_text("utf-8"))["current-context"] == "workbench-k"
    assert yaml.safe_load(seen.read_text("utf-8"))["name"] == "workbench-k"
    until(
        lambda: behind_kind.plane.ask("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")[1][
            "items"
        ],
        "signs of life",
    )
    assert run("kind", "down", "--name", "k").status == 0
    calls = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert [call[:2] for call in calls] == [["create", "cluster"], ["delete", "cluster"]]
    assert calls[1][calls[1].index("--name") + 1] == "workbench-k"


FAKE_HELM = """#!{python}
import json, pathlib, sys
log = pathlib.Path({log!r})
log.write_text((log.read_text() if log.exists() else "") + json.dumps(["helm", *sys.argv[1:]]) + "\\n")
if {fails!r}:
    sys.exit("Error: INSTALLATION FAILED: context deadline exceeded")
"""


@pytest.mark.parametrize("fails", [False, True], ids=["installed", "images missing"])
def test_volcano_is_installed_by_helm_before_anything_is_written(
    run: Run, home: Path, behind_kind: Live, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    programs, log = home / "bin", home / "calls"
    programs.mkdir()
    settings = {"python": sys.executable, "log": str(log)}
    kubeconfig = {"seen": str(home / "seen.yaml"), "kubeconfig": str(behind_kind.config)}
    for name, text in (
        ("kind", FAKE_KIND.format(**settings, **kubeconfig)),
        ("helm", FAKE_HELM.format(**settings, fails=fails)),
    ):
        (programs / name).write_text(text, "utf-8")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    made = run("kind", "up", "--name", "v", "--volcano", "--topology", "balanced", "--set", "sizes=2,2")
    calls = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    helm = calls[1]
    assert [call[0] for call in calls[:2]] == ["create", "helm"] and helm[1:4] == ["install", "volcano", "volcano"]
    assert helm[helm.index("--kube-context") + 1] == "workbench-v"
    assert helm[helm.index("--kubeconfig") + 1].endswith("clusters/v/kubeconfig")
    assert {"--wait", "--create-namespace", "volcano-system"} <= set(helm)
    if fails:
        assert made.status == 3 and made.err.splitlines()[-1].endswith("INSTALLATION FAILED: context deadline exceeded")
        assert made_clusters() == [] and calls[-1][:2] == ["delete", "cluster"]
    else:
        assert made.status == 0, made.err
        assert run("kind", "down", "--name", "v").status == 0


def test_volcano_needs_helm_and_kind(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = run("kind", "up", "--volcano", "--control-plane", "--topology", "balanced")
    assert both.status == 2 and "--control-plane" in both.err
    monkeypatch.setenv("PATH", str(home))
    without = run("kind", "up", "--volcano", "--topology", "balanced")
    assert without.status == 3 and "helm" in without.err.splitlines()[-1] and made_clusters() == []


def test_without_kind_the_way_without_docker_is_named(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(home))
    result = run("kind", "up", "--topology", "balanced")
    assert result.status == 3 and "--control-plane" in result.err.splitlines()[-1]

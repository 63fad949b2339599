"""Clusters that this package made itself: on kind, or a bare control plane on this machine without Docker."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from workbench.control.store import Object
from workbench.errors import ClusterError, InputError, UnknownNameError
from workbench.formats.write_manifests import to_yaml_value
from workbench.live.kubernetes.apply import apply, apply_kinds
from workbench.live.kubernetes.configuration import cluster_of
from workbench.live.kubernetes.control_plane import cache_folder, start_control_plane, write_kubeconfig
from workbench.live.kubernetes.writer import Writer
from workbench.optional import optional

with optional("live"):
    import psutil

__all__ = ["MadeCluster", "cluster_down", "cluster_up", "made_cluster", "made_clusters"]

#: Every context that this package makes begins so, and it touches no other.
PREFIX = "workbench-"

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?")
_RECORD = "cluster.json"
_KIND_S = 600

#: Volcano's own charts, the release that `volcano-1.15` follows, and seconds to wait for its pods, whose images the
#: cluster fetches.
_CHARTS = "https://volcano-sh.github.io/helm-charts"
_VOLCANO = "1.15.1"
_HELM_S = 480


@dataclass(frozen=True)
class MadeCluster:
    """A cluster that `cluster_up` made.

    `engine`: {"kind", "control-plane"}. `folder`: its kubeconfig, logs and, for a control plane, its data. `processes`:
    tuple of (int, float); number and start time of each process that was started for it.
    """

    name: str
    engine: str
    folder: str
    processes: tuple[tuple[int, float], ...] = ()

    @property
    def context(self) -> str:
        """Name of its context in the kubeconfig."""
        return PREFIX + self.name

    @property
    def kubeconfig(self) -> Path:
        """The file with that context, and no other."""
        return Path(self.folder) / "kubeconfig"

    @property
    def runs(self) -> bool:
        """Whether all its processes are alive."""
        return all(_process(*one) is not None for one in self.processes)


def cluster_up(
    name: str,
    objects: Sequence[Object],
    *,
    control_plane: bool,
    volcano: bool = False,
    fake_nodes: Sequence[str] = (),
    step: Callable[[str], object] = lambda _: None,
) -> MadeCluster:
    """Make a cluster with fake nodes.

    Raises InputError: the name is none, or taken; Volcano on a bare control plane. Raises ClusterError: a program is
    missing or fails; nothing is left behind.

    Parameters
    ----------
    name : str
        The context is called ``workbench-NAME``.
    objects : sequence of mapping
        Manifests: nodes, HyperNodes, and whatever else the cluster shall begin with.
    control_plane : bool
        True: etcd and kube-apiserver on loopback; False: a kind cluster, which needs Docker.
    volcano : bool
        Install Volcano by helm before anything else is written; only with kind, because its pods must really run.
    fake_nodes : sequence of str
        Arguments of the process that acts for the nodes' kubelets.
    step : callable, optional
        Called with a line of text before each step.
    """
    if not _NAME.fullmatch(name):
        raise InputError("not a name", source="--name", got=repr(name), expected="lower case letters, digits and -")
    if volcano and control_plane:
        raise InputError("Volcano's pods need a kubelet", source="--volcano", expected="no --control-plane")
    folder = _root() / name
    if (folder / _RECORD).exists():
        raise InputError("a cluster of this name exists", source="--name", got=name, expected="another name")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    made = MadeCluster(name, "control-plane" if control_plane else "kind", str(folder))
    try:
        if control_plane:
            step("starting etcd and kube-apiserver")
            plane = start_control_plane(folder, {"admin": "system:masters"})
            made = _with(made, [process.pid for process in plane.processes])
            write_kubeconfig(made.kubeconfig, made.context, plane.url, plane.ca_file, "admin", plane.tokens["admin"])
        else:
            if volcano and shutil.which("helm") is None:
                raise ClusterError("helm is not installed (https://helm.sh), by which --volcano installs Volcano")
            step("creating a kind cluster")
            _kind_create(made)
        _save(made)
        if volcano:
            step("installing Volcano")
            _install_volcano(made)
        with Writer(cluster_of(made.context, made.kubeconfig)) as connection:
            step("defining the kinds of Volcano")
            apply_kinds(connection)
            step(f"writing {len(objects):,} objects")
            apply(connection, objects)
        step("starting the fake nodes")
        made = _with(made, [_start_nodes(made, fake_nodes)])
        _save(made)
    except BaseException:
        _stop(made)
        raise
    return made


def cluster_down(name: str) -> None:
    """End a cluster that `cluster_up` made, and delete its files.

    Raises UnknownNameError: no cluster of that name was made here; ClusterError: kind fails.
    """
    _stop(made_cluster(name))


def made_clusters() -> list[MadeCluster]:
    """The clusters that were made on this machine by this user, by name."""
    root = _root()
    records = sorted(root.glob(f"*/{_RECORD}")) if root.is_dir() else []
    found = []
    for path in records:
        data = json.loads(path.read_text("utf-8"))
        processes = tuple((int(pid), float(at)) for pid, at in data["processes"])
        found.append(MadeCluster(data["name"], data["engine"], str(path.parent), processes))
    return found


def made_cluster(name: str) -> MadeCluster:
    """The cluster of that name; `UnknownNameError` if none was made."""
    found = {one.name: one for one in made_clusters()}
    if name not in found:
        raise UnknownNameError("cluster made by 'workbench kind up'", name, list(found))
    return found[name]


def _root() -> Path:
    return cache_folder() / "clusters"


def _save(made: MadeCluster) -> None:
    (Path(made.folder) / _RECORD).write_text(json.dumps(asdict(made)), "utf-8")


def _with(made: MadeCluster, pids: Sequence[int]) -> MadeCluster:
    started = tuple((pid, psutil.Process(pid).create_time()) for pid in pids)
    return MadeCluster(made.name, made.engine, made.folder, made.processes + started)


def _process(pid: int, started: float) -> Any:
    """The process, if it is still the one that was started; its number may have gone to another since."""
    try:
        process = psutil.Process(pid)
        same = abs(process.create_time() - started) < 1.0 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return None
    return process if same else None


def _stop(made: MadeCluster) -> None:
    alive = [process for process in (_process(*one) for one in made.processes) if process is not None]
    # The API server would wait for every watch to end; its data is deleted anyway.
    for process in alive:
        process.kill()
    psutil.wait_procs(alive, timeout=10)
    if made.engine == "kind" and shutil.which("kind"):
        _kind("delete", "cluster", "--name", made.context, "--kubeconfig", str(made.kubeconfig))
    shutil.rmtree(made.folder, ignore_errors=True)


def _start_nodes(made: MadeCluster, arguments: Sequence[str]) -> int:
    command = [sys.executable, "-P", "-m", "workbench", "kind", "nodes", made.name, *arguments]
    with (Path(made.folder) / "nodes.log").open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    return process.pid


def _kind_create(made: MadeCluster) -> None:
    if shutil.which("kind") is None:
        raise ClusterError(
            "kind is not installed (https://kind.sigs.k8s.io); --control-plane needs neither it nor Docker"
        )
    config = {
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "kind": "Cluster",
        "name": made.context,
        "nodes": [{"role": "control-plane"}],
    }
    path = Path(made.folder) / "kind.yaml"
    path.write_text(to_yaml_value(config), "utf-8")
    _kind("create", "cluster", "--config", str(path), "--kubeconfig", str(made.kubeconfig), "--wait", "120s")
    # kind names its contexts kind-NAME; this package's begin with its own prefix.
    data = yaml.safe_load(made.kubeconfig.read_text("utf-8"))
    for one in data["contexts"]:
        one["name"] = made.context
    data["current-context"] = made.context
    made.kubeconfig.write_text(to_yaml_value(data), "utf-8")


def _install_volcano(made: MadeCluster) -> None:
    """Install Volcano's chart, which brings the definitions of its kinds; they must not exist before."""
    where = ["--kubeconfig", str(made.kubeconfig), "--kube-context", made.context]
    namespace = ["--namespace", "volcano-system", "--create-namespace"]
    chart = ["volcano", "volcano", "--repo", _CHARTS, "--version", _VOLCANO]
    _run("helm", "install", *chart, *where, *namespace, "--wait", "--timeout", f"{_HELM_S}s")


def _kind(*arguments: str) -> None:
    _run("kind", *arguments)


def _run(program: str, *arguments: str) -> None:
    """Run a program to its end; `ClusterError` with its first line on stderr where it fails."""
    try:
        done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=_KIND_S)
    except subprocess.TimeoutExpired:
        raise ClusterError(f"{program} {arguments[0]} did not end within {_KIND_S} s") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise ClusterError(f"{program} {arguments[0]} failed: {lines[0] if lines else f'status {done.returncode}'}")

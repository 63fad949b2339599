"""Kueue's kinds and JobSets on a real API server: snapshot, view, compare, rights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Run
from tests.cli.test_live_compare_systems import admission
from tests.controlplane.kubeconfigs import kubeconfig
from tests.controlplane.other_systems import KINDS, RACK, crd, kueue, kueue_cluster, path_of, workload
from tests.controlplane.server import ControlPlane, started, until
from workbench.live import LiveView, Recording, record, take_snapshot
from workbench.model.kueue_request import KueueObjects
from workbench.objects.schemas.json_schema import SCHEMA_KINDS, crd_of

pytestmark = pytest.mark.slow

CONTAINER = {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "2"}, "requests": {"cpu": "1"}}}
MERGE = "application/merge-patch+json"
SPEC = {"containers": [CONTAINER], "schedulerName": "default-scheduler"}
CONFIG_MAPS = "/api/v1/namespaces/kueue-system/configmaps"
JOB_SET_OWNER = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "train"}


def write(server: ControlPlane, data: dict[str, Any]) -> Any:
    """Create an object, with its status."""
    made = server.create(data, path_of(data))
    if "status" in data:
        return set_status(server, data, data["status"])
    return made


def set_status(server: ControlPlane, data: dict[str, Any], status: dict[str, Any]) -> Any:
    path = f"{path_of(data, data['metadata']['name'])}/status"
    code, answer = server.ask("PATCH", path, {"status": status}, kind="application/merge-patch+json")
    assert code == 200, answer
    return answer


def change(server: ControlPlane, data: dict[str, Any]) -> None:
    path = path_of(data, data["metadata"]["name"])
    code, answer = server.ask("PATCH", path, {"spec": data["spec"]}, kind="application/merge-patch+json")
    assert code == 200, answer


def pod(name: str, node: str = "", **more: Any) -> dict[str, Any]:
    spec = {**SPEC, **more.pop("spec", {}), **({"nodeName": node} if node else {})}
    metadata = {"name": name, "namespace": "default", **more}
    found = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return {**found, "status": {"phase": "Running"}} if node else found


def job_set(name: str, **spec: Any) -> dict[str, Any]:
    job = {"parallelism": 2, "completions": 2, "template": {"spec": {**SPEC, "restartPolicy": "Never"}}}
    jobs = [{"name": "w", "replicas": 1, "template": {"spec": job}}]
    labels = {"kueue.x-k8s.io/queue-name": "lq"}
    metadata = {"name": name, "namespace": "default", "labels": labels}
    whole = {"replicatedJobs": jobs, **spec}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": whole}


def configuration(text: str = "") -> dict[str, Any]:
    """The ConfigMap of Kueue's controller manager, with `text` in its Configuration."""
    held = f"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n{text}\n"
    metadata = {"name": "kueue-manager-config", "namespace": "kueue-system"}
    data = {"controller_manager_config.yaml": held}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@pytest.fixture
def server(control_plane: ControlPlane, tmp_path: Path) -> Iterator[ControlPlane]:
    """A cluster with the kinds of Kueue and JobSet, a queue and a topology."""
    with started(tmp_path / "server") as plane:
        for kind in SCHEMA_KINDS:
            plane.apply_crd(crd_of(kind))
        for row in KINDS:
            plane.apply_crd(crd(*row))
        for data in kueue_cluster():
            write(plane, data)
        plane.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "kueue-system"}})
        plane.create(configuration(), CONFIG_MAPS)
        yield plane


@pytest.fixture
def config(server: ControlPlane, tmp_path: Path) -> Path:
    return kubeconfig(server, tmp_path / "config")


def followed(view: LiveView, holds: Callable[[], bool], what: str) -> None:
    def updated() -> bool:
        view.update(0.05)
        return holds()

    until(updated, what)


def test_the_kinds_are_read_and_the_absent_one_is_told(server: ControlPlane, config: Path) -> None:
    write(server, job_set("train", suspend=True))
    write(server, workload("jobset-train", 2, JOB_SET_OWNER))
    write(server, pod("plain"))
    found = take_snapshot(kubeconfig=config)
    assert {gap.subject for gap in found.gaps} == {
        "devices.scheduling.koordinator.sh",
        "admissionchecks.kueue.x-k8s.io",
    }
    scenario = found.scenario()
    objects = scenario.snapshot.extra(KueueObjects)
    assert [one.name for one in objects.cluster_queues] == ["team"]
    assert [one.name for one in objects.cohorts] == ["all"]
    assert [(one.kind, one.key) for one in scenario.gangs] == [("JobSet", "default/train")]
    assert "jobsets.jobset.x-k8s.io" in found.versions and "cohorts.kueue.x-k8s.io" in found.versions


def test_what_is_followed_equals_what_is_read_anew(server: ControlPlane, config: Path) -> None:
    with LiveView(kubeconfig=config, policy="kueue-0.19") as view:
        assert set(view.gaps) == {"Device", "AdmissionCheck.kueue.x-k8s.io"}

        def equal() -> bool:
            read = take_snapshot(kubeconfig=config).scenario()
            mine = view.scenario()
            gangs = [[(one.kind, one.key, one.ready, one.n_pods) for one in each.gangs] for each in (read, mine)]
            return gangs[0] == gangs[1] and read.snapshot.extras == mine.snapshot.extras

        write(server, job_set("train", suspend=True))
        write(server, workload("jobset-train", 2, JOB_SET_OWNER))
        followed(
            view, lambda: [one.key for one in view.scenario().gangs] == ["default/train"] and equal(), "the JobSet"
        )
        (row,) = view.jobs(ask_policy=True)
        assert (row.kind, row.phase, row.waits_for) == ("JobSet", "Suspended", "")
        (decision,) = view.what_if()
        assert decision.placed and decision.result.n_placed == 2

        # Without its Topology the flavor has no levels, with another one the rack is no level.
        change(server, kueue("Topology", "default", {"levels": [{"nodeLabel": "example.com/row"}]}))
        followed(view, lambda: not view.what_if()[0].placed and equal(), "the changed Topology")
        change(server, kueue("Topology", "default", {"levels": [{"nodeLabel": RACK}]}))
        followed(view, lambda: view.what_if()[0].placed and equal(), "the Topology as before")
        change(server, kueue("ResourceFlavor", "gpu", {"nodeLabels": {"pool": "none"}}))
        followed(view, lambda: not view.what_if()[0].placed and equal(), "the changed ResourceFlavor")
        server.ask("DELETE", "/apis/kueue.x-k8s.io/v1beta2/topologies/default")
        followed(view, lambda: view.snapshot.extra(KueueObjects).topologies == {} and equal(), "the Topology to go")


def test_the_configuration_is_read_followed_and_recorded(server: ControlPlane, config: Path, tmp_path: Path) -> None:
    path = f"{CONFIG_MAPS}/kueue-manager-config"
    with LiveView(kubeconfig=config) as view, (tmp_path / "recording").open("wb") as file:
        record(view, file)

        def holds(*strategies: str) -> bool:
            read = take_snapshot(kubeconfig=config)
            shares = [one.snapshot.extra(KueueObjects).fair_sharing for one in (read.scenario(), view.scenario())]
            shares.append(read.anonymized().scenario().snapshot.extra(KueueObjects).fair_sharing)
            return shares == [strategies] * 3

        assert holds()
        given = configuration("fairSharing: {preemptionStrategies: [LessThanInitialShare]}\nfeatureGates: {A: true}")
        server.ask("PATCH", path, given, kind=MERGE)
        followed(view, lambda: holds("LessThanInitialShare"), "fair sharing")
        notes = [
            {one.message for one in scenario.snapshot.gaps if one.code == "not-modelled"}
            for scenario in (take_snapshot(kubeconfig=config).scenario(), view.scenario())
        ]
        assert notes[0] == notes[1] and "data[controller_manager_config.yaml], featureGates" in str(notes[0])
        server.ask("PATCH", path, configuration("fairSharing: {preemptionStrategies: [Nope]}"), kind=MERGE)
        followed(view, lambda: "ConfigMap kueue-system/kueue-manager-config" in view.gaps, "the broken one")
        server.ask("DELETE", path)
        followed(view, lambda: holds() and view.gaps.get("ConfigMap") is not None, "it to go")
        assert view.gaps["ConfigMap"] in take_snapshot(kubeconfig=config).gaps
        past = Recording.read(tmp_path / "recording")
        found = set()
        for step in range(len(past.clocks)):
            past.seek(step)
            found.add(past.snapshot.extra(KueueObjects).fair_sharing)
        assert found == {(), ("LessThanInitialShare",)}


def test_what_kueue_says_is_the_reason_of_its_job(server: ControlPlane, config: Path) -> None:
    with LiveView(kubeconfig=config) as view:
        write(server, job_set("train", suspend=True))
        waits = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "insufficient quota"}
        one = workload("jobset-train", 2, JOB_SET_OWNER, conditions=[waits])
        write(server, one)

        def rows() -> list[tuple[str, str, str, str]]:
            return [(row.kind, row.name, row.phase, row.waits_for) for row in view.jobs()]

        want = [("JobSet", "train", "Suspended", "insufficient quota")]
        followed(view, lambda: rows() == want, "Kueue's words")
        unknown = workload(
            "pod-x", 1, {"apiVersion": "example.com/v1", "kind": "Robot", "name": "x"}, conditions=[waits]
        )
        write(server, unknown)
        want = [*want, ("Workload", "pod-x", "Pending", "insufficient quota")]
        followed(
            view, lambda: [row for row in rows() if row[0] != "PodGroup"] == sorted(want, key=lambda r: r[1]), "it"
        )


def test_an_object_that_cannot_be_read_is_told_and_the_rest_goes_on(server: ControlPlane, config: Path) -> None:
    with LiveView(kubeconfig=config) as view:
        write(server, kueue("Topology", "odd", {"levels": "none"}))
        name = "Topology.kueue.x-k8s.io odd"
        followed(view, lambda: name in view.gaps, "the note about the odd one")
        assert view.gaps[name].code == "object-not-read"
        change(server, kueue("Topology", "odd", {"levels": [{"nodeLabel": RACK}]}))
        followed(view, lambda: "odd" in view.snapshot.extra(KueueObjects).topologies, "the mended one")
        assert name not in view.gaps
        change(server, kueue("Topology", "odd", {"levels": "none"}))
        followed(view, lambda: "odd" not in view.snapshot.extra(KueueObjects).topologies, "the one that broke")
        server.ask("DELETE", "/apis/kueue.x-k8s.io/v1beta2/topologies/odd")
        followed(view, lambda: name not in view.gaps, "it to go")


def test_a_reader_without_rights_to_kueue_is_told_the_rules(server: ControlPlane, tmp_path: Path, run: Run) -> None:
    config = kubeconfig(server, tmp_path / "config", "reader")
    homes = {"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings", "Role": "roles"}
    server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "volcano-system"}})
    roles = list(yaml.safe_load_all(run("live", "rbac", "user:reader").out))
    for one in roles:
        inside = one["metadata"].get("namespace")
        base = "/apis/rbac.authorization.k8s.io/v1" + (f"/namespaces/{inside}" if inside else "")
        server.create(one, f"{base}/{homes.get(one['kind'], 'rolebindings')}")
    found = take_snapshot(kubeconfig=config)
    assert {gap.code for gap in found.gaps} == {"kind-not-served"}
    role = next(one for one in roles if one["kind"] == "ClusterRole")
    kept = [rule for rule in role["rules"] if rule["apiGroups"] != ["kueue.x-k8s.io"]]
    path = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{role['metadata']['name']}"
    server.ask("PATCH", path, {"rules": kept}, kind="application/merge-patch+json")

    def refused() -> bool:
        gaps = take_snapshot(kubeconfig=config).gaps
        return "workloads.kueue.x-k8s.io" in {gap.subject for gap in gaps if gap.code == "not-permitted"}

    until(refused, "the API server to know the smaller role")
    gaps = take_snapshot(kubeconfig=config).gaps
    text = next(gap.message for gap in gaps if gap.subject == "topologies.kueue.x-k8s.io")
    rule = '{apiGroups: ["kueue.x-k8s.io"], resources: ["topologies"], verbs: ["get", "list", "watch"]}'
    assert text == f"user reader may not list topologies.kueue.x-k8s.io; the rule {rule} would allow it"
    with LiveView(kubeconfig=config) as view:
        codes = {kind: gap.code for kind, gap in view.gaps.items()}
        assert codes["Topology.kueue.x-k8s.io"] == "not-permitted"
        assert view.snapshot.n_nodes == 4


def test_the_doctor_knows_kueue(server: ControlPlane, config: Path, tmp_path: Path, run: Run) -> None:
    told = [(one["subject"], one["state"], one["text"]) for one in run_json(run, "live", "doctor", config)]
    assert ("rights", "ok", "everything may be read") in told
    assert ("kinds", "note", "the cluster has no AdmissionCheck (kueue.x-k8s.io/v1beta2)") in told
    assert ("kinds", "ok", "Kueue is there: 6 kinds of it") in told
    reader = kubeconfig(server, tmp_path / "config", "reader")
    told = [(one["subject"], one["state"], one["text"]) for one in run_json(run, "live", "doctor", reader)]
    assert any(
        about == "rights" and state == "note" and text.startswith("may not list workloads.kueue.x-k8s.io; the rule")
        for about, state, text in told
    )


def run_json(run: Run, *arguments: Any) -> Any:
    *words, config = arguments
    return run(*words, "--kubeconfig", str(config), "-o", "json").json


def test_what_kueue_did_is_compared_with_its_twin(server: ControlPlane, config: Path, run: Run) -> None:
    """A JobSet runs in rack r0, another one waits for quota; a plain pod of default-scheduler is usage."""
    write(server, job_set("train"))
    held = [{"type": kind, "status": "True"} for kind in ("QuotaReserved", "Admitted")]
    write(server, workload("jobset-train", 2, JOB_SET_OWNER, admission=admission("n0", "n1"), conditions=held))
    for i in range(2):
        labels = {
            "jobset.sigs.k8s.io/jobset-name": "train",
            "jobset.sigs.k8s.io/replicatedjob-name": "w",
            "kueue.x-k8s.io/podset": "main",
        }
        annotations = {"kueue.x-k8s.io/workload": "jobset-train"}
        write(server, pod(f"train-w-0-{i}-x", f"n{i}", labels=labels, annotations=annotations))
    waits = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "insufficient quota"}
    other = {**JOB_SET_OWNER, "name": "waits"}
    write(server, job_set("waits", suspend=True))
    write(server, workload("jobset-waits", 2, other, conditions=[waits]))
    write(server, pod("plain", "n2"))
    rows = run_json(run, "live", "compare", "--policies", "kueue-0.19,kube-default", config)
    found = {(one["job"], one["policy"]): one for one in rows}
    mine = found["default/train", "kueue-0.19"]
    assert (mine["verdict"], mine["observed_pods"], mine["agrees"]) == ("placed", 2, True)
    waiting = found["default/waits", "kueue-0.19"]
    assert [(one["kind"], one["message"]) for one in waiting["cluster_says"]] == [("Workload", "insufficient quota")]
    assert waiting["difference"] == "2 pods placed, but the cluster placed none"
    taken = run("live", "snapshot", "--kubeconfig", str(config)).out
    assert '"jobset-waits"' in taken and '"managedFields"' not in taken

"""Objects that another cluster stored, in a file that somebody may have changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.control.manifests import job, small_cluster
from workbench.control.cluster import EmbeddedCluster
from workbench.errors import InputError
from workbench.model.clock import VirtualClock

STORED = {"name": "p", "namespace": "default", "uid": "u", "resourceVersion": "5"}
OWNER = {"apiVersion": "v1", "kind": "Job", "name": "j", "uid": "o", "controller": True}


def pod(spec: Any = None, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**STORED, **metadata}, "spec": spec or {"containers": []}}


BROKEN = {
    "a uid that is a mapping": pod(ownerReferences=[{**OWNER, "uid": {"a": 1}}]),
    "an owner without a kind": pod(ownerReferences=[{**OWNER, "kind": ""}]),
    "an owner without a name": pod(ownerReferences=[{"kind": "Job", "uid": "o", "controller": True}]),
    "owners that are texts": pod(ownerReferences=["j"]),
    "containers that are a text": pod({"containers": "x", "nodeName": "n0"}),
    "containers that are numbers": pod({"containers": [5], "nodeName": "n0"}),
    "an environment that is a text": pod({"containers": [{"name": "c", "env": "x"}], "nodeName": "n0"}),
    "a variable without a mapping": pod({"containers": [{"name": "c", "env": ["x"]}], "nodeName": "n0"}),
    "a source that is a text": pod({"containers": [{"name": "c", "env": [{"name": "a", "valueFrom": "x"}]}]}),
    "a reference that is a list": pod(
        {"containers": [{"name": "c", "env": [{"name": "a", "valueFrom": {"configMapKeyRef": ["x"]}}]}]}
    ),
    "a status that is a list": {**pod(), "status": ["x"]},
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
def test_a_stored_object_of_another_form_is_refused(broken: dict[str, Any], tmp_path: Path) -> None:
    cluster = EmbeddedCluster()
    with pytest.raises(InputError):
        cluster.submit(broken)
    assert not cluster.store.list("Pod")
    cluster.save(tmp_path / "store.json")
    data = json.loads((tmp_path / "store.json").read_text())
    data["objects"].append(broken)
    (tmp_path / "store.json").write_text(json.dumps(data))
    with pytest.raises(InputError) as caught:
        cluster.resume(tmp_path / "store.json")
    assert "objects[" in str(caught.value)


@pytest.mark.parametrize("field", ["name", "namespace"])
@pytest.mark.parametrize("value", [{"a": "x"}, ["x"], 5])
def test_a_name_of_another_type_is_refused_before_anything_is_looked_up(field: str, value: Any, tmp_path: Path) -> None:
    cluster = EmbeddedCluster()
    for one in (job(), *small_cluster(2)[:1], pod()):
        with pytest.raises(InputError, match=f"metadata.{field}"):
            cluster.submit({**one, "metadata": {**one["metadata"], field: value}})
    cluster.save(tmp_path / "store.json")
    data = json.loads((tmp_path / "store.json").read_text())
    data["objects"].append(pod(**{field: value}))
    (tmp_path / "store.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match=f"metadata.{field}"):
        cluster.resume(tmp_path / "store.json")


@pytest.mark.parametrize("now", [2.6e11, 9e14])
def test_time_goes_on_beyond_the_year_9999(now: float, tmp_path: Path) -> None:
    cluster = EmbeddedCluster(run_seconds=1)
    cluster.submit(*small_cluster(2), job())
    cluster.save(tmp_path / "store.json")
    data = json.loads((tmp_path / "store.json").read_text())
    (tmp_path / "store.json").write_text(json.dumps({**data, "now": now}))
    cluster.resume(tmp_path / "store.json")
    cluster.run()
    assert [row.phase for row in cluster.jobs()] == ["Completed"]
    assert VirtualClock(now).stamp == "9999-12-31T23:59:59Z"


def test_a_time_to_live_of_ages_ends_after_the_last_moment_that_can_be_written() -> None:
    cluster = EmbeddedCluster(run_seconds=1)
    cluster.submit(*small_cluster(2), job(ttlSecondsAfterFinished=10**12))
    cluster.run()
    assert cluster.jobs() == []


@pytest.mark.parametrize("at", [float("1e300"), -1, "x", None, True])
def test_times_of_pods_are_times(at: Any, tmp_path: Path) -> None:
    cluster = EmbeddedCluster()
    cluster.save(tmp_path / "store.json")
    data = json.loads((tmp_path / "store.json").read_text())
    data["ends"] = [["Pod", "default", "p", at]]
    (tmp_path / "store.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match="ends"):
        cluster.resume(tmp_path / "store.json")

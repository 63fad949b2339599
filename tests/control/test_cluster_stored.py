"""The embedded cluster as a file or a copy: it goes on where it stopped, and a broken file changes nothing."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.control.manifests import cluster_with, job, phase_of, pod_template, task
from workbench.control.cluster import EmbeddedCluster
from workbench.errors import InputError


def test_the_time_to_live_of_a_finished_job_goes_on_in_a_saved_cluster(tmp_path: Path) -> None:
    cluster = cluster_with(job(ttlSecondsAfterFinished=30), run_seconds=10)
    cluster.run(25)
    cluster.save(tmp_path / "store.json")
    resumed = EmbeddedCluster()
    resumed.resume(tmp_path / "store.json")
    for one in (copy.copy(cluster), resumed):
        one.run()
        assert one.store.list("Job") == [] and one.now == 40


def test_a_saved_cluster_goes_on_where_it_stopped(tmp_path: Path) -> None:
    failing = task(replicas=2)
    failing["policies"] = [{"event": "PodFailed", "action": "AbortJob", "timeout": "20s"}]
    failing["template"] = pod_template(**{"annotations": {"topology-workbench/exit-code": "1"}})
    first = cluster_with(job(tasks=[failing]), run_seconds=60)
    first.run(65)
    path = tmp_path / "store.json"
    first.save(path)
    second = EmbeddedCluster("volcano-1.15", run_seconds=60)
    second.resume(path)
    assert second.now == 65 and second.log == first.log
    first.run()
    second.run()
    assert first.now == second.now == 80
    assert [_lasting(one) for one in first.store.contents()] == [_lasting(one) for one in second.store.contents()]


def _lasting(data: Any) -> Any:
    return {**data, "metadata": {name: value for name, value in data["metadata"].items() if name != "resourceVersion"}}


def test_a_broken_store_file_is_one_error_and_the_cluster_stays(tmp_path: Path) -> None:
    cluster = cluster_with(job())
    path = tmp_path / "store.json"
    cluster.save(path)
    whole = path.read_text()
    before = cluster.store.contents()
    data = json.loads(whole)
    del data["objects"][0]["metadata"]["uid"]
    twice = json.loads(whole)
    twice["objects"].append(twice["objects"][0])
    broken = [whole[: len(whole) // 2], "[]", '{"format": "another"}', json.dumps(data), json.dumps(twice)]
    for text, said in zip(broken, ["no JSON", "format", "format", "metadata.uid", "each object once"], strict=True):
        path.write_text(text)
        with pytest.raises(InputError, match=said) as caught:
            cluster.resume(path)
        assert str(path) in str(caught.value)
    assert cluster.store.contents() == before


def test_a_store_file_without_one_of_its_fields_is_refused(tmp_path: Path) -> None:
    cluster = cluster_with(job(), run_seconds=60)
    path = tmp_path / "store.json"
    cluster.save(path)
    whole = json.loads(path.read_text())
    # Some came later, and stores without them are read.
    for name in whole.keys() - {"former", "session_due", "policy", "rested_at"}:
        path.write_text(json.dumps({key: value for key, value in whole.items() if key != name}))
        with pytest.raises(InputError, match=f"{name}: the field is missing"):
            EmbeddedCluster().resume(path)


def test_two_runs_are_equal_byte_by_byte(tmp_path: Path) -> None:
    texts = []
    for number in range(2):
        cluster = cluster_with(job(plugins={"svc": [], "env": []}), run_seconds=60)
        cluster.run()
        cluster.save(tmp_path / str(number))
        texts.append((tmp_path / str(number)).read_bytes())
    assert texts[0] == texts[1]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_lives_its_own_life(copied: Any) -> None:
    cluster = cluster_with(job(), run_seconds=60)
    other = copied(cluster)
    other.run()
    assert phase_of(other) == "Completed" and phase_of(cluster) == "Running"
    cluster.run()
    assert [_lasting(o) for o in cluster.store.contents()] == [_lasting(o) for o in other.store.contents()]

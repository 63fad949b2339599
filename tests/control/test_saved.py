"""A cluster that is saved at rest and resumed: nothing happens that would not have happened."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.control.manifests import job, small_cluster, task
from workbench.control.cluster import EmbeddedCluster
from workbench.errors import InputError

#: More pods than fit, of which two suffice: the gang runs, and two of its pods wait.
GROWING = job("growing", [task(replicas=6)], minAvailable=2)

TOO_LARGE = job("large", [task(replicas=9)])


def _resumed(cluster: EmbeddedCluster, folder: Path, policy: str = "volcano-1.15") -> EmbeddedCluster:
    cluster.save(folder / "store.json")
    other = EmbeddedCluster(policy)
    other.resume(folder / "store.json")
    return other


def _pickled(cluster: EmbeddedCluster, _: Path) -> EmbeddedCluster:
    other: EmbeddedCluster = pickle.loads(pickle.dumps(cluster))
    return other


BOTH = pytest.mark.parametrize("moved", [_resumed, _pickled])


def _cluster(*objects: object) -> EmbeddedCluster:
    cluster = EmbeddedCluster("volcano-1.15", run_seconds=60)
    cluster.submit(*small_cluster(), *objects)
    return cluster


@BOTH
def test_between_two_events_the_scheduler_of_a_resumed_cluster_rests(
    moved: Callable[[EmbeddedCluster, Path], EmbeddedCluster], tmp_path: Path
) -> None:
    cluster = _cluster(GROWING)
    cluster.settle()
    other = moved(cluster, tmp_path)
    other.settle()
    assert other.log == cluster.log
    assert other.store.contents() == cluster.store.contents()


@BOTH
def test_what_the_last_session_refused_is_known_after_resuming(
    moved: Callable[[EmbeddedCluster, Path], EmbeddedCluster], tmp_path: Path
) -> None:
    cluster = _cluster(GROWING, TOO_LARGE)
    cluster.settle()
    assert "default/large" in cluster.refusals()
    other = moved(cluster, tmp_path)
    assert other.refusals().keys() == cluster.refusals().keys()
    assert other.log == cluster.log


def test_another_policy_decides_anew(tmp_path: Path) -> None:
    hard = {"mode": "hard", "highestTierAllowed": 1}
    cluster = _cluster(job("wide", [task(replicas=4)], networkTopology=hard))
    cluster.settle()
    assert not any(pod.node for pod in cluster.pods())
    other = _resumed(cluster, tmp_path, "binpack")
    other.settle()
    assert all(pod.node for pod in other.pods())


def test_a_job_that_is_gone_is_not_refused_any_more() -> None:
    cluster = _cluster(TOO_LARGE)
    cluster.settle()
    assert cluster.refusals()
    cluster.delete("Job", "large")
    cluster.settle()
    assert cluster.refusals() == {}


def test_a_store_of_an_earlier_release_is_decided_on_anew(tmp_path: Path) -> None:
    cluster = _cluster(GROWING)
    cluster.settle()
    path = tmp_path / "store.json"
    cluster.save(path)
    data = json.loads(path.read_text())
    del data["session_due"], data["policy"], data["rested_at"]
    path.write_text(json.dumps(data))
    other = EmbeddedCluster("volcano-1.15")
    other.resume(path)
    other.settle()
    assert len(other.log) > len(cluster.log)


@pytest.mark.parametrize(("name", "value"), [("session_due", "yes"), ("policy", 5), ("rested_at", -1)])
def test_a_wrong_field_about_the_last_session_is_refused(name: str, value: object, tmp_path: Path) -> None:
    path = tmp_path / "store.json"
    _cluster().save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    with pytest.raises(InputError, match=name):
        EmbeddedCluster().resume(path)

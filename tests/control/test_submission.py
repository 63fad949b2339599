"""Kinds that an embedded cluster does not follow are told, and read as `workbench.load` reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.control.manifests import small_cluster
from workbench.control.cluster import EmbeddedCluster
from workbench.control.kinds import kind_of
from workbench.control.reconciler import Reconciler
from workbench.control.submission import unfollowed
from workbench.errors import InputError
from workbench.formats.manifests import Document
from workbench.formats.write_manifests import to_yaml
from workbench.objects import kinds

SHARING = "fairSharing: {preemptionStrategies: [%s]}\n"
CONFIGURATION = f"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n{SHARING}"


def config_map(text: str) -> dict[str, Any]:
    metadata = {"name": "kueue-manager-config", "namespace": "kueue-system"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"controller_manager_config.yaml": text},
    }


def followed() -> set[str]:
    """The kinds of all controllers and of the scheduler, of their classes."""
    found: set[str] = set()
    classes = list(Reconciler.__subclasses__())
    for one in classes:
        classes += one.__subclasses__()
        if one.__module__.startswith("workbench.control"):
            found |= set(getattr(one, "kinds", ()))
    return found


def is_told(manifest: dict[str, Any]) -> bool:
    try:
        return bool(unfollowed(Document(manifest, "file", "document 1")))
    except InputError:  # it was read for being told
        return True


def test_each_kind_of_an_input_is_followed_or_told() -> None:
    EmbeddedCluster()  # imports every controller
    # Events say what has happened; the form of the design document is submitted as the released one.
    left = {("", "Event"), ("topology.volcano.sh", "HyperJob")}
    for group, kind in set(kinds._READERS) - left:
        metadata = {"name": "one", "namespace": "default"}
        manifest = {"apiVersion": f"{group}/v1".lstrip("/"), "kind": kind, "metadata": metadata, "spec": {}}
        assert (kind_of(manifest) in followed()) != is_told(manifest), (group, kind)


def test_an_unknown_kind_is_told_too() -> None:
    cluster = EmbeddedCluster()
    cluster.submit({"apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": "one"}})
    ((key, notice),) = cluster.warnings
    assert (key.name, notice.code) == ("one", "not-modelled")
    assert "compare" not in notice.message


def test_kueues_file_is_read_and_not_stored(tmp_path: Path) -> None:
    path = tmp_path / "configuration.yaml"
    path.write_text(CONFIGURATION % "LessThanInitialShare", encoding="utf-8")
    cluster = EmbeddedCluster()
    assert len(cluster.submit(*small_cluster(), path)) == len(small_cluster())
    ((key, notice),) = cluster.warnings
    assert (key.kind.partition(".")[0], key.name, notice.code) == ("Configuration", "kueue", "not-modelled")
    assert not cluster.store.list(key.kind)


@pytest.mark.parametrize(
    "text",
    [
        CONFIGURATION % "Nope",
        to_yaml([config_map(CONFIGURATION % "Nope")]),
        to_yaml([config_map("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: [Configuration")]),
    ],
    ids=["a file", "a ConfigMap", "no YAML"],
)
def test_a_configuration_is_refused_as_by_load(text: str, tmp_path: Path) -> None:
    path = tmp_path / "configuration.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as by_load:
        wb.load(path)
    with pytest.raises(InputError) as by_run:
        EmbeddedCluster().submit(path)
    assert str(by_run.value) == str(by_load.value)
    assert ("data[controller_manager_config.yaml]" in str(by_run.value)) == ("ConfigMap" in text)


def test_a_configuration_in_a_config_map_is_told_and_the_config_map_stored() -> None:
    cluster = EmbeddedCluster()
    cluster.submit(config_map(CONFIGURATION % "LessThanInitialShare"))
    ((key, notice),) = cluster.warnings
    assert (key.kind, notice.code) == ("ConfigMap", "not-modelled")
    assert cluster.store.get(key) is not None

"""Compare scenarios value by value, but for what names the files that they were read from."""

import dataclasses
from typing import Any

import orjson

from workbench import load
from workbench.formats.load_documents import LoadedDocuments
from workbench.formats.snapshot_record import snapshot_text
from workbench.model.gang import Gang
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot

#: Fields of a snapshot that tell of the files, not of the cluster.
_OF_THE_FILES = ("source", "taken_at", "gaps")


def snapshot_parts(snapshot: ClusterSnapshot, *, link_types: bool = True) -> dict[str, Any]:
    """The cluster as plain data; without `link_types`, of matrices only the bandwidths between two GPUs."""
    parts: dict[str, Any] = orjson.loads(snapshot_text(snapshot))
    for key in _OF_THE_FILES:
        del parts[key]
    parts["queues"] = sorted(parts["queues"], key=lambda queue: queue["name"])
    if not link_types:
        for matrix in parts["matrices"]:
            rows = [[0 if i == j else entry for j, entry in enumerate(row)] for i, row in enumerate(matrix["gb_s"])]
            matrix.clear()
            matrix["gb_s"] = rows
        # Equal matrices of several files count as one in Devices.
        parts["matrices"] = [parts["matrices"][i] if i >= 0 else None for i in parts.pop("node_matrix")]
    return parts


def gang_parts(gang: Gang) -> dict[str, Any]:
    return dataclasses.asdict(gang)


def assert_same(found: Scenario, wanted: Scenario, *, link_types: bool = True) -> None:
    """Assert that two scenarios have equal clusters, jobs and refused objects."""
    first = snapshot_parts(found.snapshot, link_types=link_types)
    second = snapshot_parts(wanted.snapshot, link_types=link_types)
    for key in second:
        assert first[key] == second[key], key
    assert [gang.key for gang in found.gangs] == [gang.key for gang in wanted.gangs]
    for one, other in zip(found.gangs, wanted.gangs, strict=True):
        assert gang_parts(one) == gang_parts(other)
    assert found.refused == wanted.refused


def read_back(loaded: LoadedDocuments) -> Scenario:
    """The scenario that is read from the written file."""
    return load("-", stdin=loaded.text())

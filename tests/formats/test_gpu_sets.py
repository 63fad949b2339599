"""Sets of GPUs from a file or an option."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.formats.gpu_sets import parse_gpu_sets, read_gpu_sets

MANAGER = {
    "version": 1,
    "numPartitions": 2,
    "partitionInfo": [
        {
            "partitionId": 1,
            "isActive": 0,
            "gpuInfo": [{"physicalId": i, "pciBusId": f"0000:0{i}:00.0"} for i in (1, 2)],
        },
        {
            "partitionId": 2,
            "isActive": 1,
            "gpuInfo": [{"physicalId": i, "pciBusId": f"0000:0{i}:00.0"} for i in (3, 4)],
        },
    ],
}


@pytest.mark.parametrize(
    "text",
    [
        "0,1;2,3",
        "0-1;2-3",
        "0 1\n2 3\n",
        "# partitions\n0,1\n\n2,3  # the second\n",
        "partition 0: 0,1\npartition 1: 2,3",
        "{0,1} ; {2,3}",
        "[[0, 1], [2, 3]]",
        '{"allowed": [[0, 1], [2, 3]]}',
        '[{"gpus": [0, 1]}, {"gpus": ["2", "3"]}]',
        "a,b;c,d",
        '[["a", "b"], ["c", "d"]]',
    ],
)
def test_sets_are_read_in_many_forms(text: str) -> None:
    assert parse_gpu_sets(text, "sets", ("a", "b", "c", "d")) == (((0, 1), (2, 3)), ())


def test_partitions_of_the_fabric_manager_are_read_by_bus_id_or_by_physical_id() -> None:
    text = json.dumps(MANAGER)
    sets, notes = parse_gpu_sets(text, "sets")
    assert (sets, [note.code for note in notes]) == (((0, 1), (2, 3)), ["physical-ids"])
    labels = tuple(f"0000:0{i}:00.0" for i in (4, 3, 2, 1))
    assert parse_gpu_sets(text, "sets", labels) == (((3, 2), (1, 0)), ())


def test_bus_ids_of_all_gpus_give_the_order_of_nvidia_smi() -> None:
    order = {1: "00000000:BD:00.0", 2: "00000000:0F:00.0", 3: "00000000:CB:00.0", 4: "00000000:16:00.0"}
    partitions = [{"gpuInfo": [{"physicalId": i, "pciBusId": order[i]} for i in pair]} for pair in ((1, 3), (2, 4))]
    text = json.dumps({"partitionInfo": partitions})
    assert parse_gpu_sets(text, "sets", ("GPU0", "GPU1", "GPU2", "GPU3")) == (((2, 3), (0, 1)), ())
    labels = ("0000:cb:00.0", "0000:bd:00.0", "0000:0f:00.0", "0000:16:00.0")
    assert parse_gpu_sets(text, "sets", labels) == (((1, 0), (2, 3)), ())


def test_names_with_colons_are_no_titles() -> None:
    labels = ("0000:c1:00.0", "0000:c6:00.0")
    assert parse_gpu_sets("pair: 0000:c1:00.0, 0000:c6:00.0", "sets", labels)[0] == ((0, 1),)
    assert parse_gpu_sets("0000:c1:00.0,0000:c6:00.0", "sets", labels)[0] == ((0, 1),)


def test_a_file_is_read_and_a_text_is_no_path(tmp_path: Path) -> None:
    path = tmp_path / "sets.txt"
    path.write_text("0,1\n2,3\n")
    assert read_gpu_sets(str(path), "--allowed")[0] == ((0, 1), (2, 3)) == read_gpu_sets("0,1;2,3", "--allowed")[0]
    assert read_gpu_sets("5", "--allowed")[0] == ((5,),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no list of sets"),
        ("0,x", "not a list of GPUs"),
        ("3-1", "not a list of GPUs"),
        ("0-99999999", "not a list of GPUs"),
        ('{"a": 1}', "no list of sets"),
        ('[[0, 1], "x"]', "set 2"),
        ("[[0, true]]", "not a GPU"),
        ("[[0, 1]", "not JSON"),
        ('[{"gpuInfo": [{"physicalId": 0}]}]', "a physical id of 0"),
    ],
)
def test_what_is_no_list_of_sets_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_gpu_sets(text, "sets")


def test_a_missing_file_is_named() -> None:
    with pytest.raises(InputError, match=r"no-such\.txt"):
        read_gpu_sets("no-such.txt", "--allowed")

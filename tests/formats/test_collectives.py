"""Tables of measured collectives: what is read, left out and refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.formats.collectives import read_calibration_record, read_measurements

HEAD = "source,machine,gpus_per_node,nodes,collective,bytes,time_us,note\n"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "collectives.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_become_measurements_and_overruled_ones_are_counted(tmp_path: Path) -> None:
    text = HEAD + "s,m,8,2,alltoall,1024,5.5,\ns,m,8,2,all_reduce,1024,6,NVLS off; x\n"
    found, overruled = read_measurements(written(tmp_path, text))
    assert overruled == 1
    assert [(each.block.collective, each.block.ranks, each.size, each.time_s) for each in found] == [
        ("all-to-all", 16, 1024, pytest.approx(5.5e-6))
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("source,machine\n", "column", id="columns"),
        pytest.param(HEAD + "s,m,8,2,gossip,1024,5,\n", "line 2", id="collective"),
        pytest.param(HEAD + "s,m,8,2,alltoall,1024,0,\n", "line 2, time_us", id="no time"),
        pytest.param(HEAD + "s,m,8,2,alltoall,big,5,\n", "line 2, bytes", id="no number"),
        pytest.param(HEAD + "s,m,8\n", "short row", id="short"),
        pytest.param(HEAD + "s,m,8.5,2,alltoall,1024,5,\n", "line 2, gpus_per_node", id="half a GPU"),
        pytest.param(HEAD + "s,m,8,2.5,alltoall,1024,5,\n", "line 2, nodes", id="half a node"),
        pytest.param(HEAD + "s,m,1,1,alltoall,1024,5,\n", "csv: line 2: a collective of one rank", id="one rank"),
        pytest.param(HEAD, "csv: no measurement", id="header only"),
        pytest.param(HEAD + "s,m,8,2,alltoall,1024,5,NVLS off\n", "csv: no measurement", id="nothing left"),
    ],
)
def test_wrong_tables_are_refused_with_their_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_measurements(written(tmp_path, text))


@pytest.mark.parametrize(
    "note", ["NVLS off; x", "nvls off", "x, NVLS=off", "NCCL_NVLS_ENABLE=0", "nccl 2.27, nccl_nvls_enable=0"]
)
def test_an_algorithm_that_was_switched_off_is_seen_however_it_is_written(tmp_path: Path, note: str) -> None:
    rows = f's,m,8,2,alltoall,1024,5.5,\ns,m,8,2,alltoall,1024,9,"{note}"\n'
    assert read_measurements(written(tmp_path, HEAD + rows))[1] == 1


@pytest.mark.parametrize("note", ["NVLS on", "NCCL picks NVLS; time from bandwidth", "NCCL_NVLS_ENABLE=1", "offline"])
def test_other_notes_are_read(tmp_path: Path, note: str) -> None:
    assert len(read_measurements(written(tmp_path, HEAD + f's,m,8,2,alltoall,1024,5.5,"{note}"\n'))[0]) == 1


def test_racks_are_read_where_they_are_stated(tmp_path: Path) -> None:
    head = HEAD.replace("nodes,", "nodes,racks,")
    rows = "s,m,8.0,4,,alltoall,1024,5.5,\ns,m,8,4,2,alltoall,1024,5.5,\n"
    found, _ = read_measurements(written(tmp_path, head + rows))
    assert [(each.block.gpus_per_node, each.block.racks) for each in found] == [(8, 0), (8, 2)]
    with pytest.raises(InputError, match="line 2, racks"):
        read_measurements(written(tmp_path, head + "s,m,8,4,two,alltoall,1024,5.5,\n"))
    with pytest.raises(InputError, match="line 2: more racks than nodes"):
        read_measurements(written(tmp_path, head + "s,m,8,4,9,alltoall,1024,5.5,\n"))


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_what_is_no_calibration_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError):
        read_calibration_record(written(tmp_path, text))

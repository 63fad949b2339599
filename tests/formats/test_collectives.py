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
    ],
)
def test_wrong_tables_are_refused_with_their_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_measurements(written(tmp_path, text))


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_what_is_no_calibration_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError):
        read_calibration_record(written(tmp_path, text))

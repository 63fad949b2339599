"""``amd-smi topology``: tables by bus id, JSON and CSV."""

from __future__ import annotations

import json
import re

import pytest

from workbench.errors import InputError
from workbench.formats.matrices.base import MatrixReading
from workbench.formats.matrices.link_speeds import default_link_speeds
from workbench.formats.matrix import read_matrix_content

IDS = ("0000:c1:00.0", "0000:c6:00.0", "0000:C9:00.0")
TABLES = {
    "ACCESS": [["ENABLED"] * 3, ["ENABLED"] * 3, ["ENABLED"] * 3],
    "WEIGHT": [["0", "15", "15"], ["15", "0", "40"], ["15", "40", "0"]],
    "HOPS": [["0", "1", "1"], ["1", "0", "2"], ["1", "2", "0"]],
    "LINK TYPE": [["SELF", "XGMI", "XGMI"], ["XGMI", "SELF", "PCIE"], ["XGMI", "PCIE", "SELF"]],
    "NUMA BW": [["N/A", "50000-200000", "0-0"], ["50000-100000", "N/A", "N/A"], ["0-0", "N/A", "N/A"]],
    "CACHE COHERENCY": [["SELF", "C", "NC"], ["C", "SELF", "NC"], ["C", "NC", "SELF"]],
    "ATOMICS": [["SELF", "64,32", "64,32"], ["64,32", "SELF", "N/A"], ["64,32", "N/A", "SELF"]],
}
KEYS = {
    "ACCESS": "link_status",
    "WEIGHT": "weight",
    "HOPS": "num_hops",
    "LINK TYPE": "link_type",
    "NUMA BW": "bandwidth",
}
COLUMNS = {"ACCESS": "link_accessibility", "WEIGHT": "weight", "LINK TYPE": "link_type", "NUMA BW": "numa_bandwidth"}
SPEEDS = default_link_speeds()


def printed(tables: dict[str, list[list[str]]], ids: tuple[str, ...] = IDS) -> str:
    parts = []
    for name, rows in tables.items():
        head = " " * 13 + "".join(f"{label:<13}" for label in ids)
        body = [f"{label:<13}" + "".join(f"{cell:<13}" for cell in row) for label, row in zip(ids, rows, strict=True)]
        parts.append("\n".join([f"{name} TABLE:", head, *body, ""]))
    return "\n".join(parts) + "\n\nLegend:\n  SELF = Current GPU\n  64,32 = 64 bit and 32 bit atomic support\n"


def as_json(tables: dict[str, list[list[str]]]) -> str:
    gpus = []
    for i, bus in enumerate(IDS):
        links = [
            {"gpu": j, "bdf": IDS[j]} | {KEYS[name]: rows[i][j] for name, rows in tables.items() if name in KEYS}
            for j in (2, 0, 1)  # the bus id counts, not the place
        ]
        gpus.append({"gpu": i, "bdf": bus, "links": links})
    return json.dumps(gpus, indent=4)


def as_old_json(tables: dict[str, list[list[str]]]) -> str:
    return json.dumps(
        [
            {"gpu": bus}
            | {COLUMNS[n]: {f"gpu_{j}": rows[i][j] for j in range(3)} for n, rows in tables.items() if n in COLUMNS}
            for i, bus in enumerate(IDS)
        ]
    )


def as_csv(tables: dict[str, list[list[str]]]) -> str:
    names = [name for name in tables if name in COLUMNS]
    head = ",".join(["gpu", *(f"{COLUMNS[name]}_gpu_{j}" for name in names for j in range(3))])
    rows = [",".join([IDS[i], *(tables[name][i][j] for name in names for j in range(3))]) for i in range(3)]
    return "\n".join([head, *rows]) + "\n"


def read(text: str, block: str | None = None) -> MatrixReading:
    return read_matrix_content(text.encode(), "amd.txt", block=block)


@pytest.mark.parametrize("form", [printed, as_json, as_old_json, as_csv])
def test_bandwidth_tells_links_apart_in_every_form(form: object) -> None:
    reading = read(form(TABLES))  # type: ignore[operator]
    assert (reading.format, reading.kind, reading.block) == ("amd-smi", "nominal", "bandwidth")
    assert reading.matrix.gb_s[0, 1] == 200.0
    assert reading.matrix.gb_s[1, 0] == 100.0
    assert reading.matrix.gb_s[0, 2] == SPEEDS.staging_gb_s
    # Over PCIe the tool prints no bandwidth, which is no missing link.
    assert reading.matrix.gb_s[1, 2] == SPEEDS.gb_s("PCIE")
    assert [(d.code, d.pairs) for d in reading.matrix.suspicious] == [("no-direct-link", ((0, 2), (2, 0)))]
    assert not reading.unread


def test_other_tables_can_be_chosen_and_what_is_left_is_named() -> None:
    reading = read(printed(TABLES))
    assert reading.matrix.labels == IDS
    assert reading.blocks == ("weight", "link type", "bandwidth")
    assert str(reading.notes[0]) == "left aside: the table CACHE COHERENCY, the table ATOMICS, hops"
    assert read(printed(TABLES), "link type").matrix.link_types[1][2] == "PCIE"
    assert [note.code for note in read(printed(TABLES), "weight").notes] == ["link-types-assumed", "left-aside"]


@pytest.mark.parametrize("form", [printed, as_json, as_csv])
def test_pairs_whose_access_is_disabled_have_no_p2p(form: object) -> None:
    closed = TABLES | {"ACCESS": [["ENABLED", "DISABLED", "ENABLED"], *TABLES["ACCESS"][1:]]}
    reading = read(form(closed))  # type: ignore[operator]
    assert reading.matrix.gb_s[0, 1] == SPEEDS.staging_gb_s
    assert [d.pairs for d in reading.matrix.suspicious if d.code == "p2p-disabled"] == [((0, 1),)]


def test_without_any_bandwidth_link_types_decide() -> None:
    none = TABLES | {"NUMA BW": [["N/A"] * 3] * 3}
    assert read(printed(none)).block == "link type"
    assert read(printed({"WEIGHT": TABLES["WEIGHT"]})).matrix.gb_s[1, 2] == SPEEDS.gb_s("PCIE")


def test_tables_may_be_quoted_by_a_log() -> None:
    logged = "\n".join(f"node-3: {line}" for line in printed(TABLES).splitlines())
    assert read(logged).matrix == read(printed(TABLES)).matrix


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (printed({"HOPS": TABLES["HOPS"]}), "nothing to tell links apart"),
        (printed(TABLES).split("0000:C9:00.0 0-0")[0], "the table is cut off"),
        ("NUMA BW TABLE:\n", "the table is cut off"),
        (printed(TABLES).replace("50000-200000", "fast"), "line 27, row 0000:c1:00.0, column 0000:c6:00.0"),
        (as_csv(TABLES).rsplit("\n", 2)[0], "the table is cut off"),
        (re.sub(r"\]\s*$", "", as_json(TABLES)), "not JSON"),
    ],
)
def test_what_is_broken_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message) if "line" in message else message):
        read(text)

"""The file of a study: what is read, and one clear error for what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.formats.study_file import read_study_file

WHOLE = """\
name: all of it
topologies:
  - a.yaml
  - {name: two files, path: [b.yaml, c.yaml], gpus_per_node: 4,
     network: {card_gb_s: 50, tiers: {1: {gb_s: 12.5, cables: 8}, 2: 6}, rails: 2, phases: together}}
workloads:
  - x/jobs.csv
  - {trace: jobs.csv.gz, load: 90, arrivals: bursty, step: {compute_s: 0.5, data_gb: 4}}
policies:
  - volcano
  - {policy: binpack, name: packed, set: {gpu_weight: [0, 1.5]}}
disciplines: [fifo]
seeds: [3, 1]
faults: {repair_s: 60}
restart_s: 1
restarts: pods
retry: own
until_s: 86400
baseline: packed
"""


def read(tmp_path: Path, text: str) -> object:
    (tmp_path / "s.yaml").write_text(text)
    return read_study_file(tmp_path / "s.yaml")


def test_every_key(tmp_path: Path) -> None:
    said = read(tmp_path, WHOLE)
    network = said.topologies[1].network
    assert (network.card_gb_s, network.tiers, network.rails) == (50, {1: (12.5, 8), 2: (6, 1)}, 2)
    assert (network.routes, network.phases, said.topologies[0].network) == ("", "together", None)
    assert [one.step for one in said.workloads] == [None, (0.5, 4)]
    assert [(one.name, one.paths, one.gpus_per_node) for one in said.topologies] == [
        ("a", (tmp_path / "a.yaml",), None),
        ("two files", (tmp_path / "b.yaml", tmp_path / "c.yaml"), 4),
    ]
    assert [(one.name, one.trace, one.load_percent, one.arrivals) for one in said.workloads] == [
        ("jobs", tmp_path / "x/jobs.csv", None, "poisson"),
        ("jobs 90 % bursty", tmp_path / "jobs.csv.gz", 90, "bursty"),
    ]
    assert [(one.name, one.policy, one.set) for one in said.policies] == [
        ("", "volcano", {}),
        ("packed", "binpack", {"gpu_weight": [0, 1.5]}),
    ]
    assert (said.disciplines, said.seeds, said.faults) == (("fifo",), (3, 1), {"repair_s": 60.0})
    assert (said.restarts, said.retry) == ("pods", "own")
    assert (said.name, said.restart_s, said.until_s, said.baseline) == ("all of it", 1.0, 86400.0, "packed")


def test_what_is_left_out(tmp_path: Path) -> None:
    said = read(tmp_path, "topologies: [a.yaml]\nworkloads: [jobs.csv]\npolicies: [volcano]\n")
    assert (said.name, said.disciplines, said.seeds, said.faults, said.baseline) == ("s", (), (0,), None, "")


@pytest.mark.parametrize(("seeds", "want"), [("7", (7,)), ("0-2", (0, 1, 2)), ("[5]", (5,)), ("'4'", (4,))])
def test_seeds(tmp_path: Path, seeds: str, want: tuple[int, ...]) -> None:
    text = f"topologies: [a.yaml]\nworkloads: [jobs.csv]\npolicies: [volcano]\nseeds: {seeds}\n"
    assert read(tmp_path, text).seeds == want


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (WHOLE, "", "s.yaml"),
        (WHOLE, "[]", "not a study .found a list of 0, expected a mapping with name, topologies"),
        (WHOLE, "a: 1\n---\nb: 2\n", "not a study .found 2 documents"),
        ("seeds:", "seed:", "seed: a key that is not known .expected seeds"),
        (
            "gpus_per_node: 4",
            "gpu_per_node: 4",
            r"topologies\[1\].gpu_per_node: a key that is not known .expected gpus_per_node",
        ),
        (
            "gpus_per_node: 4",
            "gpus_per_node: 0",
            r"topologies\[1\].gpus_per_node: wrong type or value .found a number 0",
        ),
        ("[b.yaml, c.yaml]", "[b.yaml, 3]", r"topologies\[1\].path: wrong type or value .found a number 3"),
        ("[b.yaml, c.yaml]", "[]", r"topologies\[1\].path: wrong type or value .found a list of 0"),
        ("  - a.yaml", "  - 3", r"topologies\[0\]: wrong type or value .found a number 3, expected text, or a mapping"),
        ("load: 90", "load: 0", r"workloads\[1\].load: .*from 1 to 1,000"),
        ("load: 90", "load: 90 %", r"workloads\[1\].load: .*found text '90 %'"),
        ("load: 90, ", "", r"workloads\[1\]: arrivals are drawn for a load"),
        ("trace: jobs.csv.gz, ", "", r"workloads\[1\].trace: the field is missing"),
        ("card_gb_s: 50", "card_gb_s: 0", r"topologies\[1\].network.card_gb_s: .*above 0"),
        ("{gb_s: 12.5, cables: 8}", "{gb_s: 12.5, cable: 8}", r"network.tiers.1.cable: a key that is not known"),
        ("cables: 8", "cables: 1.5", r"network.tiers.1.cables: wrong type or value"),
        ("tiers: {1:", "tiers: {rack:", r"network.tiers.rack: .*the number of a tier"),
        ("2: 6}", "2: .nan}", r"network.tiers.2.gb_s: wrong type or value"),
        ("data_gb: 4", "data_gb: -4", r"workloads\[1\].step.data_gb: wrong type or value"),
        ("policy: binpack", "policy: ''", r"policies\[1\].policy: wrong type or value"),
        ("gpu_weight: [0, 1.5]", "gpu_weight: []", r"policies\[1\].set.gpu_weight: .*a list of 0"),
        ("{gpu_weight: [0, 1.5]}", "3", r"policies\[1\].set: wrong type or value"),
        ("[fifo]", "fifo", "disciplines: wrong type or value .found text 'fifo', expected a list"),
        ("[fifo]", "[1]", r"disciplines\[0\]: wrong type or value"),
        ("[3, 1]", "[3, -1]", "seeds: wrong type or value"),
        ("[3, 1]", "[3, 1.5]", "seeds: wrong type or value"),
        ("[3, 1]", "9-3", "seeds: wrong type or value .found text '9-3', expected a list of whole numbers, or A-B"),
        ("[3, 1]", "[]", "seeds: wrong type or value"),
        ("{repair_s: 60}", "{repair: 60}", "faults.repair: a key that is not known .expected repair_s"),
        ("{repair_s: 60}", "{repair_s: -1}", "faults.repair_s: wrong type or value .found a number -1"),
        (
            "{repair_s: 60}",
            "sometimes",
            "faults: wrong type or value .found text 'sometimes', expected true, false or a",
        ),
        ("{repair_s: 60}", "[1]", "faults: wrong type or value .found a list of 1, expected true, false or a mapping"),
        ("restart_s: 1", "restart_s: .nan", "restart_s: wrong type or value"),
        ("policies:", "policies: []\nx:", "x: a key that is not known"),
    ],
)
def test_one_clear_error(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in WHOLE
    with pytest.raises(InputError, match=message) as found:
        read(tmp_path, WHOLE.replace(old, new, 1))
    assert str(found.value).startswith(str(tmp_path / "s.yaml"))


@pytest.mark.parametrize("key", ["topologies", "workloads", "policies"])
def test_a_part_that_is_missing(tmp_path: Path, key: str) -> None:
    parts = {"topologies": "[a.yaml]", "workloads": "[jobs.csv]", "policies": "[volcano]"}
    text = "".join(f"{name}: {value}\n" for name, value in parts.items() if name != key)
    with pytest.raises(InputError, match=f"s.yaml: {key}: the field is missing"):
        read(tmp_path, text)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.yaml"):
        read_study_file(tmp_path / "nowhere.yaml")

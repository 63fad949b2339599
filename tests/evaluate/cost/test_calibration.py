"""Calibration of collectives: the formula, the fit, and how far it is off where measurements were held out."""

from __future__ import annotations

import csv
import json
import math
from collections import defaultdict
from pathlib import Path
from statistics import median

import pytest

from tests.reference.calibration import seconds
from workbench.errors import InputError, UnknownNameError
from workbench.evaluate.cost import BlockFit, Calibration, fit_calibration
from workbench.evaluate.cost.kriging import system_of
from workbench.formats.collectives import default_systems, read_calibration_record, read_measurements
from workbench.model.collective import CollectiveBlock, GpuSystem, Measurement

#: Rows of the public table that the shipped calibration was fitted to.
MEASUREMENTS = 1_912

SIZES = [2**power for power in range(10, 31)]


def shipped() -> Calibration:
    return Calibration.from_record(*read_calibration_record())


def sweep(block: CollectiveBlock, alpha_s: float, gb_s: float) -> list[Measurement]:
    """Measurements of a machine that does exactly what latency and bandwidth say; all-reduce."""
    factor = 2 * (block.ranks - 1) / block.ranks
    return [Measurement(block, "made up", size, alpha_s + size * factor / gb_s / 1e9) for size in SIZES]


def test_the_fit_finds_latency_and_bandwidth_of_a_machine_that_has_nothing_else() -> None:
    block = CollectiveBlock("x", "all-reduce", 8, 1)
    fit = fit_calibration(sweep(block, 20e-6, 200), [], "made up").blocks[0]
    assert fit.alpha_s == pytest.approx(20e-6, rel=0.03)
    assert fit.bandwidth_gb_s == pytest.approx(200, rel=0.03)
    assert all(0.95 < each < 1.05 for each in fit.efficiency)


def test_a_block_that_was_not_measured_is_estimated_from_similar_ones_with_a_wider_interval() -> None:
    measured = CollectiveBlock("x", "all-gather", 8, 1)
    factor = 7 / 8
    rows = [Measurement(measured, "made up", size, 10e-6 + size * factor / 3e11) for size in SIZES]
    calibration = fit_calibration(rows, [], "made up")
    near = calibration.estimate(CollectiveBlock("x", "reduce-scatter", 8, 1), 2**26)
    known = calibration.estimate(measured, 2**26)
    assert near.basis == "similar blocks" and known.basis == "measured block"
    assert near.time_s == pytest.approx(known.time_s, rel=0.1)
    assert near.high_s / near.low_s > known.high_s / known.low_s


def test_a_size_outside_the_measured_ones_is_extrapolated_and_says_so() -> None:
    block = CollectiveBlock("x", "all-reduce", 8, 1)
    calibration = fit_calibration(sweep(block, 20e-6, 200), [], "made up")
    beyond = calibration.estimate(block, 2**33)
    assert beyond.basis == "sizes outside the measured"
    assert beyond.time_s == pytest.approx(20e-6 + 2**33 * 1.75 / 2e11, rel=0.1)


def test_unknown_machines_and_sizes_are_refused() -> None:
    calibration = fit_calibration(sweep(CollectiveBlock("x", "all-reduce", 8, 1), 20e-6, 200), [], "made up")
    with pytest.raises(UnknownNameError):
        calibration.estimate(CollectiveBlock("y", "all-reduce", 8, 1), 1024)
    with pytest.raises(InputError):
        calibration.estimate(CollectiveBlock("x", "all-reduce", 8, 1), 0)
    with pytest.raises(InputError):
        calibration.estimate(CollectiveBlock("x", "broadcast", 8, 2), 1024)
    with pytest.raises(InputError):
        CollectiveBlock("x", "all-reduce", 1, 1)
    with pytest.raises(InputError):
        fit_calibration([], [], "nothing")


def test_a_calibration_survives_its_record() -> None:
    record, _ = read_calibration_record()
    assert shipped().to_record() == record
    with pytest.raises(InputError):
        Calibration.from_record({"name": "x"}, "file")
    with pytest.raises(InputError):
        BlockFit(CollectiveBlock("x", "all-reduce", 8, 1), 1e-6, 100, (3.0, 2.0), (1, 1), (0.1, 0.1), ())


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        pytest.param("blocks", "machine", ["x"], id="no name"),
        pytest.param("blocks", "nodes", 0, id="no node"),
        pytest.param("blocks", "alpha_us", "fast", id="no number"),
        pytest.param("blocks", "bandwidth_gb_s", -1, id="negative"),
        pytest.param("blocks", "efficiency", [0.5], id="lengths differ"),
        pytest.param("racks", "efficiency", 0, id="efficiency of 0"),
        pytest.param("systems", "gpus_per_rack", 0, id="an empty rack"),
        pytest.param("systems", "patterns", None, id="no patterns"),
    ],
)
def test_a_wrong_value_in_a_file_is_refused(part: str, key: str, value: object) -> None:
    record, source = read_calibration_record()
    record[part][0][key] = value
    with pytest.raises(InputError):
        Calibration.from_record(record, source)


def test_the_formula_equals_its_slow_twin() -> None:
    calibration = shipped()
    for record in calibration.to_record()["blocks"]:
        block = CollectiveBlock(record["machine"], record["collective"], record["gpus_per_node"], record["nodes"])
        low, high = record["log2_bytes"][0], record["log2_bytes"][-1]
        for share in (0, 0.13, 0.5, 0.77, 1):
            size = 2 ** (low + share * (high - low))
            if not low <= math.log2(size) <= high:
                continue
            assert calibration.estimate(block, size).time_s == pytest.approx(seconds(record, size), rel=1e-9)


def test_time_grows_with_the_interval_around_it() -> None:
    for fit in shipped().blocks:
        for knot in fit.log2_sizes:
            found = fit.estimate(2**knot)
            assert found.low_s < found.time_s < found.high_s


def test_systems_are_found_by_parts_of_names_and_count_their_domains() -> None:
    systems = {machine: system for system in default_systems() for machine in system.patterns}
    assert systems["gb200"].domains(CollectiveBlock("a gb200", "all-reduce", 4, 18)) == 1
    assert systems["gb200"].domains(CollectiveBlock("a gb200", "all-reduce", 4, 32)) == 2
    assert GpuSystem("x", "x", ("x",)).domains(CollectiveBlock("x", "all-reduce", 8, 2)) == 2


@pytest.mark.parametrize(
    ("machine", "name", "gb_s"),
    [
        ("h100_sxm", "h100", 50),
        ("NVIDIA H100 80GB HBM3", "h100", 50),
        ("h100_pcie", "h100-pcie", 50),
        ("NVIDIA H100 PCIe", "h100-pcie", 50),
        ("NVIDIA A100-PCIE-40GB", "a100-pcie", 25),
        ("NVIDIA A100 80GB PCIe", "a100-pcie", 25),
        ("a100_sxm", "a100", 25),
        ("NVIDIA A800-SXM4-80GB", "a800", None),
        ("NVIDIA A800 80GB PCIe", "a800-pcie", None),
        ("NVIDIA H800", "h800", None),
        ("NVIDIA H800 PCIe", "h800-pcie", None),
        ("Tesla V100-PCIE-16GB", "v100-pcie", None),
        ("AWS p3dn.24xlarge", "v100", None),
        ("NVIDIA GH200 480GB", "gh200", None),
        ("AWS p5.48xlarge", "h100", 50),
        ("AWS p5en.48xlarge", "h200", 50),
        ("AWS p5e.48xlarge", "h200", 50),
        ("H200 8 GPUs", "h200", 50),
        ("H20 NVLink SHARP", "h20", None),
        ("NVIDIA A30", "a30", 25),
        ("NVIDIA L4", "l4", 25),
        ("NVIDIA L40", "l40", None),
        ("NVIDIA L40S", "l40s", 50),
        ("RTX PRO 6000 Blackwell Server", "rtx-pro-6000", 50),
        ("rtx_pro_6000_server", "rtx-pro-6000", 50),
        ("OCI BM.GPU.GB200-v3.4", "gb200", None),
        ("AWS p6-b200.48xlarge", "b200", 100),
    ],
)
def test_cards_without_nvlink_are_no_machines_of_the_nvlink_family(machine: str, name: str, gb_s: float | None) -> None:
    found = system_of(machine, default_systems())
    assert (found.name, found.inter_node_gb_s) == (name, gb_s)
    assert ("pcie" in machine.lower()) <= (found.architecture == "pcie")


def test_speeds_between_nodes_are_those_of_the_public_table(public_data: Path) -> None:
    with (public_data / "collectives-measured" / "systems.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        found = system_of(row["system"], default_systems())
        rack = row["gpus_per_rack"] != ""
        assert found.gpus_per_rack == (int(row["gpus_per_rack"]) if rack else None)
        assert found.inter_rack_gb_s == (float(row["inter_rack_gb_s"]) if rack else None)
        assert found.inter_node_gb_s == (None if rack else float(row["inter_node_gb_s"]))


def test_what_was_not_measured_is_never_faster_than_the_network() -> None:
    calibration = shipped()
    two = CollectiveBlock("AWS p5.48xlarge", "all-to-all", 8, 2)
    assert two not in {fit.block for fit in calibration.blocks}
    # Half of 134 MB leaves the node, at 50 GB/s per GPU.
    found = calibration.estimate(two, 2**27)
    assert found.low_s >= 2**27 / 2 / 50e9 and found.low_s <= found.time_s <= found.high_s
    system = GpuSystem("x", "x", ("x",), inter_node_gb_s=50)
    gather = CollectiveBlock("x", "all-gather", 8, 4)
    assert system.least_s(gather, 64e9) == pytest.approx(64 * 3 / 4 / 8 / 50)
    assert system.least_s(CollectiveBlock("x", "all-gather", 8, 1), 64e9) == 0
    assert GpuSystem("x", "x", ("x",)).least_s(gather, 64e9) == 0
    rack = GpuSystem("x", "x", ("x",), gpus_per_rack=72, inter_rack_gb_s=100)
    assert rack.least_s(CollectiveBlock("x", "all-to-all", 4, 18), 1e9) == 0
    assert rack.least_s(CollectiveBlock("x", "all-to-all", 4, 36), 1e9) == pytest.approx(1 / 2 / 100)


def test_no_measurement_was_faster_than_the_network(public_data: Path) -> None:
    systems = default_systems()
    for each in _measured(public_data):
        system = next((one for one in systems if one.matches(each.block.machine)), None)
        assert system is None or system.least_s(each.block, each.size) <= each.time_s


@pytest.mark.slow
def test_what_is_shipped_is_what_the_fit_makes_of_the_measurements(public_data: Path) -> None:
    record, _ = read_calibration_record()
    measured = _measured(public_data)
    if len(measured) != MEASUREMENTS:
        pytest.skip(
            f"the table has {len(measured):,} measurements; the shipped calibration was fitted to {MEASUREMENTS:,}"
        )
    found = fit_calibration(measured, default_systems(), "collectives").to_record()
    assert json.loads(json.dumps(found)).keys() == record.keys()
    for mine, theirs in zip(found["blocks"], record["blocks"], strict=True):
        assert mine["machine"] == theirs["machine"]
        assert mine["efficiency"] == pytest.approx(theirs["efficiency"], rel=2e-3)
        assert mine["bandwidth_gb_s"] == pytest.approx(theirs["bandwidth_gb_s"], rel=2e-3)


def _measured(public_data: Path) -> tuple[Measurement, ...]:
    return read_measurements(public_data / "collectives-measured" / "collectives.csv")[0]


def _held_out(measured: tuple[Measurement, ...], sweeps: list[CollectiveBlock], first: int) -> tuple[list, list]:
    """Errors of every third size of some sweeps, estimated from all the rest, and whether they are in the interval."""
    sizes = defaultdict(set)
    for each in measured:
        sizes[each.block].add(each.size)
    held = {(block, size) for block in sweeps for size in sorted(sizes[block])[first::3]}
    kept = [each for each in measured if (each.block, each.size) not in held]
    calibration = fit_calibration(kept, default_systems(), "held out")
    asked = [
        (each, calibration.estimate(each.block, each.size)) for each in measured if (each.block, each.size) in held
    ]
    inside = [found.low_s <= each.time_s <= found.high_s for each, found in asked]
    return [abs(found.time_s / each.time_s - 1) for each, found in asked], inside


def _sweeps(measured: tuple[Measurement, ...]) -> list[CollectiveBlock]:
    sizes = defaultdict(set)
    for each in measured:
        sizes[each.block].add(each.size)
    return sorted(block for block, them in sizes.items() if len(them) >= 6)


@pytest.mark.slow
@pytest.mark.parametrize(("first", "least"), [(0, 0.945), (1, 0.95), (2, 0.95)])
def test_within_a_sweep_every_third_size_is_found_again(public_data: Path, first: int, least: float) -> None:
    """The other sweeps are known; eleven times every eleventh sweep, so that the test takes eleven fits."""
    measured, errors, inside = _measured(public_data), [], []
    for start in range(11):
        found, held = _held_out(measured, _sweeps(measured)[start::11], first)
        errors += found
        inside += held
    assert len(errors) > 500
    assert median(errors) <= 0.03
    assert sum(error <= 0.15 for error in errors) >= least * len(errors)
    assert sum(inside) >= 0.95 * len(inside)


@pytest.mark.slow
def test_every_third_size_is_found_again_if_it_is_missing_in_every_sweep(public_data: Path) -> None:
    measured = _measured(public_data)
    errors, inside = _held_out(measured, _sweeps(measured), 2)
    assert median(errors) <= 0.03
    assert sum(error <= 0.15 for error in errors) >= 0.93 * len(errors)
    assert sum(inside) >= 0.95 * len(inside)


@pytest.mark.slow
def test_a_block_is_found_from_the_others(public_data: Path) -> None:
    """A quarter of the blocks at a time, so that the test takes four fits."""
    measured = _measured(public_data)
    blocks = sorted({each.block for each in measured})
    errors = []
    for start in range(4):
        left_out = set(blocks[start::4])
        kept = [each for each in measured if each.block not in left_out]
        machines = {each.block.machine for each in kept}
        calibration = fit_calibration(kept, default_systems(), "left out")
        for block in left_out:
            rows = [each for each in measured if each.block == block and each.size >= 2**20]
            if rows and block.machine in machines:
                errors.append(
                    median(abs(calibration.estimate(block, each.size).time_s / each.time_s - 1) for each in rows)
                )
    assert len(errors) > 80
    assert median(errors) <= 0.12
    assert sum(error <= 0.25 for error in errors) >= 0.8 * len(errors)


def test_two_racks_of_nvl72_share_one_efficiency(public_data: Path) -> None:
    calibration, allowed = shipped(), {"all-reduce": 0.05, "all-to-all": 0.15}
    best: dict[tuple[str, str], float] = {}
    for each in _measured(public_data):
        if each.block.machine in ("OCI BM.GPU.GB200.4", "OCI BM.GPU.GB300.4") and each.block.nodes == 32:
            twice = 2 if each.block.collective == "all-reduce" else 1
            gb_s = each.size * twice * 127 / 128 / each.time_s / 1e9
            key = each.block.machine, each.block.collective
            best[key] = max(best.get(key, 0.0), gb_s)
    assert len(best) >= 3
    for (machine, collective), gb_s in best.items():
        assert calibration.two_rack_bus_bandwidth(machine, collective) == pytest.approx(gb_s, rel=allowed[collective])
    assert calibration.two_rack_bus_bandwidth("h100_sxm", "all-reduce") is None


@pytest.mark.slow
def test_an_interval_over_two_racks_holds_what_another_machine_of_the_system_measured(public_data: Path) -> None:
    calibration, block = shipped(), CollectiveBlock("gb200", "all-reduce", 4, 32)
    assert block not in {fit.block for fit in calibration.blocks}
    rows = [
        each
        for each in _measured(public_data)
        if each.block.machine == "OCI BM.GPU.GB200-v3.4" and 2**20 <= each.size <= 2**32
    ]
    assert len(rows) > 20 and {each.block.ranks for each in rows} == {128}
    found = [(each.time_s, calibration.estimate(block, each.size)) for each in rows]
    assert all(estimate.basis == "rack efficiency" for _, estimate in found)
    assert sum(estimate.low_s <= time_s <= estimate.high_s for time_s, estimate in found) > len(found) / 2


def in_racks(racks: int, time_us: float, machine: str = "gb200 y", nodes: int = 16) -> Measurement:
    return Measurement(CollectiveBlock(machine, "all-reduce", 4, nodes, racks), "made up", 2**30, time_us * 1e-6)


def test_racks_that_are_stated_make_blocks_of_their_own() -> None:
    calibration = fit_calibration([in_racks(1, 2_000), in_racks(2, 20_000)], default_systems(), "made up")
    one, two = (CollectiveBlock("gb200 y", "all-reduce", 4, 16, racks) for racks in (0, 2))
    assert [fit.block for fit in calibration.blocks] == [one, two]
    assert calibration.estimate(one, 2**30).time_s == pytest.approx(2e-3, rel=0.15)
    assert calibration.estimate(two, 2**30).time_s == pytest.approx(20e-3, rel=0.15)
    again = Calibration.from_record(json.loads(json.dumps(calibration.to_record())), "file")
    assert [fit.block for fit in again.blocks] == [one, two]


def test_racks_that_are_clear_anyway_are_not_told_apart() -> None:
    systems = default_systems()
    rows = [
        *[in_racks(racks, 2_000) for racks in (0, 1)],
        *[in_racks(racks, 20_000, nodes=32) for racks in (0, 1, 2)],
        # The domain of an H100 ends at the node: its rack says nothing.
        *[in_racks(racks, 5_000, machine="h100 z") for racks in (0, 1, 2)],
    ]
    calibration = fit_calibration(rows, systems, "made up")
    assert [(fit.block.machine, fit.block.nodes, fit.block.racks) for fit in calibration.blocks] == [
        ("gb200 y", 16, 0),
        ("gb200 y", 32, 0),
        ("h100 z", 16, 0),
    ]
    # Asked with racks, the fit is found, too.
    asked = CollectiveBlock("gb200 y", "all-reduce", 4, 32, 2)
    assert calibration.estimate(asked, 2**30).basis == "measured block"
    with pytest.raises(InputError, match="more racks than nodes"):
        CollectiveBlock("gb200 y", "all-reduce", 4, 2, 3)


@pytest.mark.slow
def test_an_all_to_all_over_three_racks_is_slower_by_the_share_that_leaves() -> None:
    calibration, size = shipped(), 2**36
    two, three = (
        calibration.estimate(CollectiveBlock("OCI BM.GPU.GB200.4", "all-to-all", 4, 48, racks), size)
        for racks in (0, 4)
    )
    # 192 GPUs are at least three racks, 2/3 of the bytes leave theirs; of four racks 3/4.
    assert three.time_s / two.time_s == pytest.approx((3 / 4) / (2 / 3), rel=0.01)
    gb_s = calibration.two_rack_bus_bandwidth("OCI BM.GPU.GB200.4", "all-to-all")
    assert gb_s is not None and two.basis == "rack efficiency"
    assert two.time_s == pytest.approx(size * 191 / 192 / (gb_s * 3 / 4) / 1e9, rel=0.01)


@pytest.mark.parametrize("key", ["alpha_us", "bandwidth_gb_s", "log2_bytes"])
def test_a_number_that_is_none_is_refused_with_file_and_block(key: str) -> None:
    record, _ = read_calibration_record()
    block = record["blocks"][0]
    block[key] = [math.nan] * len(block[key]) if isinstance(block[key], list) else math.nan
    with pytest.raises(InputError, match=f"^mine.json: block {block['machine']}"):
        Calibration.from_record(record, "mine.json")

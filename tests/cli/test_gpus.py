from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import workbench
from tests.cli.conftest import Run
from tests.machines import koordinator_matrix_a, koordinator_matrix_b
from tests.reach import reach_of
from workbench.kernels import subsets
from workbench.policies.gpu import best_effort


@pytest.fixture
def matrices(tmp_path: Path) -> Path:
    for name, matrix in (("a", koordinator_matrix_a()), ("b", koordinator_matrix_b())):
        np.savetxt(tmp_path / f"{name}.csv", matrix, delimiter=",")
    return tmp_path


def test_the_documents_first_matrix_has_two_best_sets_of_four(run: Run, matrices: Path) -> None:
    result = run("gpus", matrices / "a.csv", "-k", 4, "-o", "json")
    assert result.status == 0
    assert result.json["bottleneck_gb_s"] == 48.33
    assert result.json["ties"] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert {"gpus", "objective", "optimal_sets", "upper_bound_gb_s", "exact", "tie_break_complete"} <= set(result.json)


def test_the_chosen_set_comes_as_a_variable_to_copy(run: Run, matrices: Path) -> None:
    result = run("gpus", matrices / "b.csv", "-k", 4, "-o", "json")
    assert result.json["environment"] == {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": "4,5,6,7",
    }
    assert "CUDA_VISIBLE_DEVICES=4,5,6,7" in run("gpus", matrices / "b.csv", "-k", 4).out.split()
    assert run("gpus", matrices / "b.csv", "-k", 4, "--free", "0,1", "-o", "json").json["environment"] == {}


def test_a_printout_tells_the_nics_near_the_chosen_gpus_and_their_numa_nodes(run: Run, tmp_path: Path) -> None:
    text = """\tGPU0 GPU1 NIC0 NIC1 CPU Affinity NUMA Affinity
GPU0 X NV4 PIX SYS 0-7 0
GPU1 NV4 X SYS PXB 8-15 1
NIC0 PIX SYS X SYS
NIC1 SYS PXB SYS X
"""
    (tmp_path / "topo.txt").write_text(text)
    both = run("gpus", tmp_path / "topo.txt", "-k", 2, "-o", "json").json
    assert both["near_nics"] == {"NIC0": {"0": "PIX"}, "NIC1": {"1": "PXB"}}
    assert both["numa_nodes"] == ["0", "1"]
    one = run("gpus", tmp_path / "topo.txt", "-k", 1, "--free", "1").out
    assert "near NIC NIC1: GPU 1 (PXB)" in one and "NUMA nodes: 1" in one and "NIC0" not in one


def test_the_documents_second_matrix_has_one(run: Run, matrices: Path) -> None:
    assert run("gpus", matrices / "b.csv", "-k", 4, "-o", "json").json["ties"] == [[4, 5, 6, 7]]


def test_six_of_the_first_reach_15_52(run: Run, matrices: Path) -> None:
    assert run("gpus", matrices / "a.csv", "-k", 6, "-o", "json").json["bottleneck_gb_s"] == 15.52


def test_one_gpu_has_no_bottleneck(run: Run, matrices: Path) -> None:
    assert run("gpus", matrices / "a.csv", "-k", 1, "-o", "json").json["bottleneck_gb_s"] is None


def test_free_required_and_avoided_gpus_are_kept_to(run: Run, matrices: Path) -> None:
    arguments = ["--free", "0,2-7", "--require", "0", "--avoid", "3", "-o", "json"]
    chosen = run("gpus", matrices / "a.csv", "-k", 3, *arguments).json["gpus"]
    assert 0 in chosen and not {1, 3} & set(chosen)


def test_options_of_the_objective_are_passed_on(run: Run, matrices: Path) -> None:
    plain = run("gpus", matrices / "a.csv", "-k", 6, "-o", "json").json
    best_direction = run("gpus", matrices / "a.csv", "-k", 6, "--symmetric", "max", "-o", "json").json
    assert best_direction["bottleneck_gb_s"] > plain["bottleneck_gb_s"]
    assert run("gpus", matrices / "a.csv", "-k", 6, "--link-classes", "-o", "json").json["objective"] == "link-class"


def test_all_lists_more_ties_than_a_hundred(run: Run, tmp_path: Path) -> None:
    np.savetxt(tmp_path / "flat.csv", np.ones((10, 10)), delimiter=",")
    assert len(run("gpus", tmp_path / "flat.csv", "-k", 5, "-o", "json").json["ties"]) == 100
    assert len(run("gpus", tmp_path / "flat.csv", "-k", 5, "--all", "-o", "json").json["ties"]) == 252


def test_the_table_shows_set_value_and_ties(run: Run, matrices: Path) -> None:
    out = run("gpus", matrices / "a.csv", "-k", 4).out
    assert "0, 1, 2, 3" in out and "48.33 GB/s" in out and "{4,5,6,7}" in out


def test_more_than_are_free_is_a_fact_and_more_than_there_are_an_error(run: Run, matrices: Path) -> None:
    few = run("gpus", matrices / "a.csv", "-k", 4, "--free", "0,1", "-o", "json")
    assert few.status == 1 and few.json["gpus"] == []
    assert few.err == "workbench: 4 GPUs asked for, 2 of 8 are free\n"
    many = run("gpus", matrices / "a.csv", "-k", 9)
    assert many.status == 2 and "1 to 8 GPUs" in many.err and len(many.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        (["-k", "0"], "1 to 8"),
        (["-k", "4", "--free", "0,x"], "--free"),
        (["-k", "4", "--free", "0,9"], "9"),
        (["-k", "4", "--require", "0-99999"], "--require"),
        (["-k", "2", "--require", "1", "--avoid", "1"], "not free"),
        (["-k", "2", "--symmetric", "median"], "--symmetric"),
        (["-k", "two"], "-k"),
        ([], "-k"),
    ],
)
def test_bad_arguments_are_one_line_that_names_them(run: Run, matrices: Path, arguments: list[str], want: str) -> None:
    result = run("gpus", matrices / "a.csv", *arguments)
    assert result.status == 2 and want in result.err and len(result.err.splitlines()) == 1


@pytest.mark.parametrize("content", ["", "1,2\n3\n", "1,-2\n3,4\n", "1,nan\n3,4\n", "a,b\nc,d\n"])
def test_bad_matrices_are_one_line_that_names_the_file(run: Run, tmp_path: Path, content: str) -> None:
    (tmp_path / "bad.csv").write_text(content, encoding="utf-8")
    result = run("gpus", tmp_path / "bad.csv", "-k", 1)
    assert result.status == 2 and "bad.csv" in result.err and len(result.err.splitlines()) == 1


def test_a_file_that_is_not_there_is_named(run: Run, tmp_path: Path) -> None:
    result = run("gpus", tmp_path / "none.csv", "-k", 1)
    assert result.status == 2 and "none.csv" in result.err


def test_printouts_of_tools_are_read_with_the_users_own_link_speeds(run: Run, tmp_path: Path) -> None:
    topo = tmp_path / "topo.txt"
    topo.write_text(
        "     GPU0 GPU1 GPU2 NIC0\nGPU0 X NV2 SYS PIX\nGPU1 NV2 X SYS PIX\nGPU2 SYS SYS X PIX\nwhat is this\n", "utf-8"
    )
    (tmp_path / "own.csv").write_text("type,gb_s,per\nNV,14,link\n", "utf-8")
    plain = run("gpus", topo, "-k", 2, "-o", "json")
    assert (plain.json["gpus"], plain.json["bottleneck_gb_s"], plain.json["suspicious_links"]) == ([0, 1], 50.0, [])
    assert set(plain.json["near_nics"]) == {"NIC0"} and "line 5 could not be read: 'what is this'" in plain.err
    own = run("gpus", topo, "-k", 2, "--link-speeds", tmp_path / "own.csv", "-o", "json")
    assert own.json["bottleneck_gb_s"] == 28.0
    bad = run("gpus", topo, "-k", 2, "--link-speeds", tmp_path / "none.csv")
    assert bad.status == 2 and "none.csv" in bad.err and len(bad.err.splitlines()) == 1


def test_a_block_of_a_printout_is_chosen_by_name(run: Run, tmp_path: Path) -> None:
    table = "Matrix (GB/s)\n   D\\D     0      1\n     0 800.00  {0}\n     1  {0} 800.00\n"
    text = "Unidirectional P2P=Enabled Bandwidth " + table.format("26.3")
    text += "Bidirectional P2P=Enabled Bandwidth " + table.format("52.1")
    (tmp_path / "p2p.txt").write_text(text, "utf-8")
    assert run("gpus", tmp_path / "p2p.txt", "-k", 2, "-o", "json").json["bottleneck_gb_s"] == 26.3
    both = run("gpus", tmp_path / "p2p.txt", "-k", 2, "--block", "bidirectional", "-o", "json")
    assert both.json["bottleneck_gb_s"] == 52.1
    assert run("gpus", tmp_path / "p2p.txt", "-k", 2, "--block", "both").status == 2


def test_suspicious_links_are_said_in_words_and_values(run: Run, matrices: Path) -> None:
    told = run("gpus", matrices / "b.csv", "-k", 4)
    assert "one slow direction: 2 → 3 has 6.02 GB/s, 3 → 2 96.48" in " ".join(told.out.split())
    (doubt,) = run("gpus", matrices / "b.csv", "-k", 4, "-o", "json").json["suspicious_links"]
    assert (doubt["code"], doubt["pairs"]) == ("one-slow-direction", [[2, 3]])


def test_several_pods_are_dealt_together_or_each_by_itself(run: Run, matrices: Path) -> None:
    union = run("gpus", matrices / "a.csv", "--pods", "2,2", "-o", "json").json
    assert (union["pods"], union["bottleneck_gb_s"], union["objective"]) == ([[0, 3], [1, 2]], 48.33, "union")
    apart = run("gpus", matrices / "a.csv", "--pods", "2,2", "--objective", "per-pod", "-o", "json").json
    assert min(apart["pod_bottlenecks_gb_s"]) >= min(union["pod_bottlenecks_gb_s"])
    told = run("gpus", matrices / "a.csv", "--pods", "2,2")
    assert told.status == 0 and "0, 3" in told.out and "48.33" in told.out and "one slow direction" in told.out
    few = run("gpus", matrices / "a.csv", "--pods", "2,2", "--free", "0-2")
    assert few.status == 1 and few.err == "workbench: 4 GPUs asked for, 3 of 8 are free\n"


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        (["-k", "2", "--pods", "2"], "found both"),
        (["--pods", "2,x"], "not sizes of pods"),
        (["--pods", "2,0"], "not sizes of pods"),
        (["--pods", "5,5"], "at most 8"),
        (["--pods", "2,2", "--link-classes"], "not for several pods"),
        (["--pods", "2,2", "--objective", "sum"], "--objective"),
        (["--pods", "2,2", "--objective", "per-pod", "--require", "1"], "bind the union only"),
    ],
)
def test_bad_pods_are_one_line_that_says_why(run: Run, matrices: Path, arguments: list[str], want: str) -> None:
    result = run("gpus", matrices / "a.csv", *arguments)
    assert result.status == 2 and want in result.err and len(result.err.splitlines()) == 1


def test_regret_as_a_table_and_as_json(run: Run, matrices: Path) -> None:
    table = run("gpus", matrices / "a.csv", "--regret")
    assert table.status == 0 and "gpu-best-effort" in table.out and "0.266" in table.out
    lines = run("gpus", matrices / "a.csv", "--regret", "-k", 4, "--policies", "gpu-lowest-index", "-o", "json").json
    assert lines["every_state"] and [(x["policy"], x["k"], x["states"], x["optimal"]) for x in lines["regret"]] == [
        ("gpu-lowest-index", 4, 163, 95)
    ]


def test_regret_as_a_page(run: Run, matrices: Path) -> None:
    page = run("gpus", matrices / "b.csv", "--regret", "-o", "html")
    assert page.status == 0 and "tw-regret" in page.out and "tw-heatmap" in page.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "or --regret"),
        (["-k", 2, "-o", "html"], "only with --regret"),
        (["-k", 2, "--policies", "gpu-simple"], "only with --regret"),
        (["--regret", "--free", "0,1"], "not with --regret"),
        (["--regret", "--pods", "2,2"], "not with --regret"),
        (["--regret", "--policies", "volcano"], "volcano"),
    ],
)
def test_options_that_do_not_belong_together(run: Run, matrices: Path, arguments: list[object], message: str) -> None:
    result = run("gpus", matrices / "a.csv", *arguments)
    assert result.status == 2 and message in result.err


@pytest.mark.parametrize("k", [0, 9, 99])
def test_regret_of_a_size_that_the_machine_has_not_names_the_machine(run: Run, matrices: Path, k: int) -> None:
    result = run("gpus", matrices / "a.csv", "--regret", "-k", k)
    assert (result.status, result.out) == (2, "")
    assert result.err == (
        f"workbench: {matrices / 'a.csv'}: k does not fit the machine (found k={k}, expected 1 to 8 GPUs)\n"
    )


@pytest.mark.slow
def test_the_enumeration_of_subsets_serves_the_command(run: Run, matrices: Path, monkeypatch) -> None:
    """By the names that the sources follow from `workbench gpus`, and by the calls of one run."""
    reach = reach_of(Path(workbench.__file__).parents[1])
    assert "workbench.kernels.subsets:enumerate_masks" in reach.reached(["workbench.cli.gpus:gpus"])

    listed = []
    enumerate_masks = subsets.kernel.enumerate_masks
    spied = SimpleNamespace(**vars(subsets.kernel))
    spied.enumerate_masks = lambda words, k, *window: listed.append(k) or enumerate_masks(words, k, *window)
    monkeypatch.setattr(subsets, "kernel", spied)
    # Positions are kept from one call to the next.
    best_effort._first_positions.cache_clear()
    for policy, want in (("gpu-best-effort", {4}), ("gpu-mapa", {5})):
        listed.clear()
        result = run("gpus", matrices / "a.csv", "--regret", "-k", 5, "--policies", policy, "-o", "json")
        assert result.status == 0 and want <= set(listed)


@pytest.mark.parametrize("size", [("-k", "2"), ("--pods", "1,1")], ids=" ".join)
@pytest.mark.parametrize("option", ["--free", "--require", "--avoid"])
def test_a_gpu_that_the_machine_lacks_names_the_option(
    run: Run, files: Path, size: tuple[str, str], option: str
) -> None:
    result = run("gpus", files / "matrix.csv", *size, option, "9")
    assert result.status == 2 and result.err == f"workbench: {option}: no such GPU (found 9, expected 0 to 7)\n"

"""What nccl-tests prints, as measured collectives."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.formats.collectives import read_measurement_files
from workbench.formats.matrix import parse_matrix
from workbench.formats.nccl_tests import is_nccl_tests, read_nccl_tests

HEAD = "# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: 20\n#\n# Using devices\n"
TABLE = """\
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
END = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 300\n#\n"


def ranks(hosts: int, each: int) -> str:
    return "".join(
        f"#  Rank {h * each + d:2} Group  0 Pid {100 + d} on  node-{h} device {d:2} [0x{d:02x}] NVIDIA H100 80GB HBM3\n"
        for h in range(hosts)
        for d in range(each)
    )


def rows(factor: float, redop: str = "sum", root: str = "-1") -> str:
    measured = f"100.00  {100 * factor:.2f}  0  1.0  1.0  1.0  0"
    return "".join(
        f"  {size:>12} {size // 4:>12}  float  {redop:>6} {root:>6}  {size / 1e5:.2f}  {measured}\n"
        for size in (1_000_000, 2_000_000)
    )


REDUCED = HEAD + ranks(2, 8) + "#\n" + TABLE + rows(1.875) + END


def test_a_printout_gives_a_measurement_per_size() -> None:
    found, notes, overruled = read_nccl_tests(f"$ mpirun all_reduce_perf -b 8\n{REDUCED}", "some/run.txt")
    assert [(m.size, pytest.approx(m.time_s)) for m in found] == [(1_000_000, 1e-5), (2_000_000, 2e-5)]
    block = found[0].block
    assert (block.machine, block.collective) == ("NVIDIA H100 80GB HBM3", "all-reduce")
    assert (block.gpus_per_node, block.nodes, found[0].source) == (8, 2, "run.txt")
    assert (notes, overruled) == ((), 0)


@pytest.mark.parametrize(
    ("text", "name", "collective"),
    [
        (REDUCED, "a.txt", "all-reduce"),
        (HEAD + ranks(1, 8) + TABLE + rows(0.875), "a.txt", "reduce-scatter"),
        (HEAD + ranks(1, 2) + TABLE + rows(1.0), "a.txt", "all-reduce"),
        (HEAD + ranks(1, 8) + TABLE + rows(0.875, "none"), "all-gather.txt", "all-gather"),
        (HEAD + ranks(1, 8) + TABLE + rows(0.875, "none"), "alltoall_h100.log", "all-to-all"),
        (HEAD + ranks(1, 8) + TABLE + rows(0.875, "", ""), "all_gather.txt", "all-gather"),
    ],
)
def test_without_a_name_of_the_program_columns_or_the_file_tell_the_collective(
    text: str, name: str, collective: str
) -> None:
    found, notes, _ = read_nccl_tests(text, name)
    assert found[0].block.collective == collective
    assert [note.code for note in notes] == ["collective-assumed"]


@pytest.mark.parametrize("prefix", ["0: ", "[1,0]<stdout>:", "2026-05-01T08:00:00Z ", "node-1: "])
def test_prefixes_of_launchers_do_not_matter(prefix: str) -> None:
    text = "".join(f"{prefix}{line}\n" for line in REDUCED.splitlines())
    assert is_nccl_tests(text)
    assert read_nccl_tests(text, "x")[0] == read_nccl_tests(REDUCED, "x")[0]


def test_several_runs_in_one_file_are_kept_apart() -> None:
    gathered = HEAD + ranks(1, 8) + TABLE + rows(0.875, "none") + END
    sent = HEAD + ranks(1, 8) + TABLE + rows(1.0, "none") + END
    text = f"./all_reduce_perf -g 8\n{REDUCED}./all_gather_perf\n{gathered}./sendrecv_perf\n{sent}"
    found, notes, _ = read_nccl_tests(text, "x")
    assert [(m.block.collective, m.block.ranks) for m in found] == [("all-reduce", 16)] * 2 + [("all-gather", 8)] * 2
    assert "left aside: sendrecv_perf" in str(notes[0])


def test_a_list_of_devices_that_is_cut_off_is_told() -> None:
    _, notes, _ = read_nccl_tests(HEAD + ranks(1, 2) + TABLE + rows(1.875), "all_reduce")
    assert [note.code for note in notes] == ["collective-assumed", "ranks-contradict"]
    assert "are those of 16 ranks, the list of devices names 2" in str(notes[1])


def test_runs_with_an_algorithm_switched_off_are_counted() -> None:
    assert read_nccl_tests(f"NCCL_NVLS_ENABLE=0 all_reduce_perf\n{REDUCED}", "x")[::2] == ((), 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + ranks(1, 8) + TABLE, "no measurement"),
        (HEAD + TABLE + rows(1.75), "how many ranks"),
        (HEAD + ranks(1, 8) + TABLE + rows(0.875, "none"), "which collective"),
        (HEAD + ranks(2, 2).rsplit("#  Rank", 1)[0] + TABLE + rows(1.5), "different numbers of ranks"),
        (HEAD + ranks(1, 1) + TABLE + rows(1.0), "a collective of one rank"),
    ],
)
def test_what_is_missing_is_named(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_nccl_tests(text, "x")


def test_a_folder_may_hold_printouts_beside_other_files(tmp_path: Path) -> None:
    (tmp_path / "b.log").write_text(REDUCED)
    (tmp_path / "a.txt").write_text(REDUCED)
    (tmp_path / "notes.txt").write_text("nothing\n")
    found, _, notes = read_measurement_files(tmp_path)
    assert [m.source for m in found] == ["a.txt", "a.txt", "b.log", "b.log"]
    assert [file for file, _ in notes] == ["a.txt", "b.log"]
    assert read_measurement_files(tmp_path / "b.log")[0] == found[2:]
    with pytest.raises(InputError, match="no measured collectives"):
        read_measurement_files(tmp_path / "notes.txt")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"collectives\.csv"):
        read_measurement_files(tmp_path / "empty")


def test_it_is_no_matrix_and_says_what_reads_it() -> None:
    with pytest.raises(InputError, match="workbench calibrate"):
        parse_matrix(REDUCED.encode(), "x")

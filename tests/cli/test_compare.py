from __future__ import annotations

import csv
import io
import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Run
from workbench.evaluate.usual_policies import USUAL_POLICIES
from workbench.policies import policy, registry


def test_policies_stand_in_the_order_given(run: Run, files: Path) -> None:
    arguments = ["compare", "-f", files / "cluster.yaml", "-f", files / "fits.yaml"]
    result = run(
        *arguments, "--policies", "spread,volcano-1.13+gpu-lowest-index", "--policies", "binpack", "-o", "json"
    )
    assert result.status == 0
    rows = result.json["policies"]
    assert [row["policy"] for row in rows] == ["spread", "volcano-1.13+gpu-lowest-index", "binpack"]
    assert all(row["decision_s"] > 0 and row["metrics"]["placed"] == 1 for row in rows)
    assert set(result.json["provenance"]["inputs"]) == {str(files / "cluster.yaml"), str(files / "fits.yaml")}


def test_the_table_fits_eighty_columns_and_names_what_is_pending(on_terminal: Run, files: Path) -> None:
    result = on_terminal("compare", "-f", files, "--policies", "spread,volcano-1.13+gpu-lowest-index")
    assert result.status == 1
    assert max(map(len, result.out.splitlines())) <= 80
    assert "volcano-1.13+gpu-lowest-index: default/stuck is pending" in " ".join(result.out.split())


def test_the_report_is_written_whole_to_a_file(run: Run, files: Path) -> None:
    out = files / "report.html"
    arguments = ["compare", "-f", files / "cluster.yaml", "-f", files / "fits.yaml", "--policies", "spread,gang"]
    result = run(*arguments, "-o", "html", "--out", out)
    assert (result.status, result.out) == (0, "")
    page = out.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and page.count("tw-topology") == 2
    assert sorted(p.name for p in files.iterdir() if "part" in p.name or p.name.startswith(".")) == []
    assert run(*arguments, "-o", "html").out.startswith("<!DOCTYPE html>")


def test_a_place_that_cannot_be_written_is_bad_input(run: Run, files: Path) -> None:
    arguments = ["compare", "-f", files / "cluster.yaml", "-f", files / "fits.yaml", "--policies", "gang", "-o", "html"]
    result = run(*arguments, "--out", files / "nowhere" / "report.html")
    assert result.status == 2 and "cannot be written" in result.err and len(result.err.splitlines()) == 1


def test_a_table_goes_to_a_file(run: Run, files: Path, tmp_path: Path) -> None:
    arguments = ("compare", "-f", files, "--policies", "gang,binpack", "-o", "wide")
    result = run(*arguments, "--out", tmp_path / "x")
    assert (result.status, result.out) == (1, "")
    lines = (tmp_path / "x").read_text("utf-8").splitlines()
    assert [line.split()[0] for line in lines if line.startswith((" gang", " binpack"))] == ["gang", "binpack"]


def test_one_policy_with_several_configurations(run: Run, files: Path, tmp_path: Path) -> None:
    for name, weight in (("a.conf", 1), ("b.conf", 5)):
        plugins = f"[{{name: gang}}, {{name: binpack, arguments: {{binpack.weight: {weight}}}}}]"
        text = f'actions: "enqueue, allocate"\ntiers: [{{plugins: {plugins}}}]\n'
        (tmp_path / name).write_text(text)
    policies = f"volcano@{tmp_path / 'a.conf'},volcano@{tmp_path / 'b.conf'},volcano"
    result = run("compare", "-f", files, "--policies", policies, "-o", "json")
    named = [row["policy"] for row in result.json["policies"]]
    assert named == [f"volcano-1.15@{tmp_path / 'a.conf'}", f"volcano-1.15@{tmp_path / 'b.conf'}", "volcano-1.15"]
    assert [one["policy"] for one in result.json["provenance"]["policies"]] == named
    configurations = [one["parameters"]["config"] for one in result.json["provenance"]["policies"]]
    assert configurations[0] != configurations[1] and configurations[2] is None


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        ("gang@a.conf", "gang: it reads no configuration (found @a.conf"),
        ("volcano@", "no file after the '@'"),
        ("volcano@no-such.conf", "no-such.conf: cannot be read"),
        ("volcan@a.conf", "did you mean volcano"),
    ],
)
def test_a_configuration_that_cannot_be(run: Run, files: Path, spec: str, want: str) -> None:
    for command, option in (("compare", "--policies"), ("place", "--policy")):
        result = run(command, "-f", files, option, spec)
        assert result.status == 2 and want in result.err and len(result.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("policies", "want"),
    [
        ("alocate", "did you mean allocate"),
        (",", "no policy given"),
        (
            "gang,allocate,gang",
            "--policies: a policy stands twice (found 'gang', expected each policy once)",
        ),
    ],
)
def test_bad_policies_are_said_in_one_line(run: Run, files: Path, policies: str, want: str) -> None:
    result = run("compare", "-f", files, "--policies", policies)
    assert result.status == 2 and want in result.err and len(result.err.splitlines()) == 1


@pytest.fixture
def broken_policy() -> object:
    @policy("broken")
    def broken(gang, ledger):
        raise RuntimeError("my mistake")

    yield
    del registry._registered["broken"]


@pytest.mark.usefixtures("broken_policy")
def test_a_policy_that_raises_is_a_row_and_leaves_the_others_alone(run: Run, files: Path) -> None:
    arguments = ["compare", "-f", files / "cluster.yaml", "-f", files / "fits.yaml", "--policies", "gang,broken"]
    result = run(*arguments)
    assert result.status == 1
    assert "broken failed: RuntimeError: my mistake" in result.out
    rows = run(*arguments, "-o", "json").json["policies"]
    assert rows[0]["metrics"]["placed"] == 1 and rows[1]["metrics"] is None


def test_set_reaches_every_policy_that_has_the_parameter(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "volcano-scheduler.conf"
    path.write_text("actions: allocate\ntiers:\n- plugins:\n  - name: gang\n  - name: binpack\n")
    options = ("--set", f"config={path}", "--set", "gpu_weight=1", "-o", "json")
    result = run("compare", "-f", "datasets/demo", "--policies", "volcano-1.13,spread,gang", *options)
    volcano, spread, gang = (row["parameters"] for row in result.json["policies"])
    assert (volcano["binpack_weight"], volcano["least_weight"], volcano["gpu_weight"]) == (1, 0, 1.0)
    assert spread["gpu_weight"] == 1.0
    assert not {"config", "gpu_weight"} & set(gang)


def test_a_parameter_that_no_policy_has_is_refused(run: Run) -> None:
    result = run("compare", "-f", "datasets/demo", "--policies", "spread,gang", "--set", "config=x")
    assert result.status == 2
    assert "unknown parameter of the policies compared 'config'" in result.err


def test_the_usual_policies_are_compared_where_none_is_named(run: Run, files: Path) -> None:
    result = run("compare", files / "cluster.yaml", files / "fits.yaml", "-o", "json")
    assert [row["policy"] for row in result.json["policies"]] == list(USUAL_POLICIES)


def test_by_job_says_what_pending_jobs_lack_and_what_would_help(run: Run, files: Path) -> None:
    result = run(
        "compare", files / "cluster.yaml", files / "stuck.yaml", "--policies", "volcano-1.13,volcano-1.15", "--by-job"
    )
    line = next(line for line in result.out.splitlines() if line.startswith("default/stuck is pending by "))
    assert "volcano-1.13, volcano-1.15" in line and "would help: allow tier 2" in line


def test_csv_is_the_table_of_the_data_frame(run: Run, files: Path) -> None:
    result = run("compare", files / "cluster.yaml", files / "fits.yaml", "--policies", "gang,spread", "-o", "csv")
    assert result.status == 0
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert [row["policy"] for row in rows] == ["gang", "spread"]


def test_the_pictures_stand_side_by_side_in_one_drawing(run: Run, files: Path, tmp_path: Path) -> None:
    command = ("compare", files / "cluster.yaml", files / "fits.yaml", "--policies", "gang,spread,binpack")
    svg = run(*command, "-o", "svg").out
    assert [svg.count(f">{name}</text>") for name in ("gang", "spread", "binpack")] == [1, 1, 1]
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert run(*command, "-o", "png", "--out", tmp_path / "all.png").status == 0
    image = (tmp_path / "all.png").read_bytes()
    size = struct.unpack(">II", image[16:24])
    wanted = ElementTree.fromstring(svg)
    assert image.startswith(b"\x89PNG") and size == (2 * int(wanted.get("width", 0)), 2 * int(wanted.get("height", 0)))


def test_an_image_is_not_written_to_a_terminal(on_terminal: Run, files: Path) -> None:
    result = on_terminal("topology", "show", files / "cluster.yaml", "-o", "png")
    assert result.status == 2 and "--out FILE" in result.err


def test_by_job_says_who_got_the_place_of_a_job(run: Run) -> None:
    result = run("compare", "datasets/demo", "--policies", "binpack,volcano-1.13", "--by-job", "-o", "json")
    lost = result.json["lost_places"]
    assert all(set(one) == {"job", "to", "policy", "place_by"} for one in lost)
    text = run("compare", "datasets/demo", "--policies", "binpack,volcano-1.13", "--by-job").out
    assert all(
        f"{one['job']}, {one['policy']}: its place by {one['place_by']} went to {one['to']}" in text for one in lost
    )

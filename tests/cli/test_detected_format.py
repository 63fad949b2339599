"""A text that looks like a fabric but is none: every command names the format and the option that forces another."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run

#: Prose that quotes a line of Slurm's topology.conf, and a table of numbers.
PROSE = "# A project\n\nTwo leaves:\n\n| a | 1 | 2 |\n| b | 3 | 4 |\n\n    SwitchName=s0 Nodes=n[0-3]\n"
TAKES_FILES = (
    ("place",),
    ("compare", "--policies", "gang"),
    ("validate",),
    ("topology", "show"),
    ("topology", "lint"),
    ("topology", "convert", "--to", "slurm"),
    ("topology", "diff"),
    ("topology", "discover", "label", "--type", "fabric=rack,host"),
    ("topology", "discover", "roce", "links.json"),
)


@pytest.mark.parametrize("command", TAKES_FILES, ids=" ".join)
def test_a_format_that_the_content_suggested_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    (tmp_path / "README.md").write_text(PROSE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    other = ("-f", "README.md") if "diff" in command else ()
    result = run(*command, "-f", "README.md", *other)
    assert (result.status, result.out) == (2, "")
    assert result.err == (
        "workbench: README.md: line 3: not KEY=VALUE (found 'Two leaves:', expected SwitchName=... Nodes=...);"
        " read as slurm (Slurm topology.conf; written as switches (topology/tree)), --from FORMAT forces another\n"
    )
    forced = run(*command, "-f", "README.md", *other, "--from", "netq")
    assert forced.status == 2 and "slurm" not in forced.err


def test_a_fabric_in_another_format_is_not_reviewed(run: Run, files: Path) -> None:
    (files / "topology.conf").write_text("SwitchName=s9 Nodes=n[0-3]\n", encoding="utf-8")
    alone = run("validate", "-f", files / "topology.conf")
    assert alone.status == 2 and "nothing to review" in alone.err
    both = run("validate", "-f", files / "topology.conf", "-f", files / "fits.yaml")
    assert both.status == 0
    assert both.err == f"not reviewed: {files / 'topology.conf'} (a fabric, slurm)\n"


def test_discovery_keeps_the_hypernodes_of_a_fabric_and_derives_none(run: Run, tmp_path: Path) -> None:
    labels = {"network.topology.nvidia.com/leaf": "l0", "rack": "r0"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0", "labels": labels}}
    (tmp_path / "nodes.yaml").write_text(yaml.safe_dump(node), encoding="utf-8")
    (tmp_path / "topology.conf").write_text("SwitchName=s0 Nodes=n0\n", encoding="utf-8")
    command = ("topology", "discover", "label", "--type", "fabric=rack,host", "-f", tmp_path / "nodes.yaml")

    def names(*more: object) -> list[str]:
        return [data["metadata"]["name"] for data in yaml.safe_load_all(run(*command, *more).out)]

    (made,) = names()
    assert made.startswith("hypernode-fabric-")
    assert names("-f", tmp_path / "topology.conf")[0] == "s0"


@pytest.mark.parametrize("command", [("topology", "show"), ("topology", "convert", "--to", "hypernodes")], ids=" ".join)
def test_a_text_that_is_read_says_as_what(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    path = tmp_path / "topology.conf"
    path.write_text("SwitchName=s0 Nodes=n[0-3]\n", encoding="utf-8")
    said = f"note: {path}: read as slurm; --from FORMAT reads it as another format\n"
    assert said in run(*command, path).err
    assert "read as" not in run(*command, path, "--from", "slurm").err

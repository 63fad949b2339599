from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run, cluster_yaml


@pytest.fixture
def both(tmp_path: Path) -> tuple[Path, Path]:
    """The cluster, and the cluster with node1 plugged into s1."""
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(cluster_yaml(), encoding="utf-8")
    moved = "  - {type: Node, selector: {exactMatch: {name: node1}}}\n"
    kept = "  - {type: Node, selector: {exactMatch: {name: node2}}}\n"
    text = cluster_yaml().replace(moved, "").replace(kept, moved + kept)
    assert text != cluster_yaml()
    new.write_text(text, encoding="utf-8")
    return old, new


def test_the_same_exits_0_and_says_so(run: Run, both: tuple[Path, Path]) -> None:
    result = run("topology", "diff", both[0], both[0])
    assert result.status == 0 and result.out == "The topologies are the same.\n"


def test_a_moved_node_exits_1_and_is_named(run: Run, both: tuple[Path, Path]) -> None:
    result = run("topology", "diff", *both)
    assert result.status == 1 and "s0    s1      1  node1" in result.out
    by_option = run("topology", "diff", "-f", both[0], "-f", both[1])
    assert (by_option.status, by_option.out) == (1, result.out)


def test_json_has_every_field(run: Run, both: tuple[Path, Path]) -> None:
    found = run("topology", "diff", *both, "-o", "json").json
    assert (found["before"], found["after"], found["same"]) == (str(both[0]), str(both[1]), False)
    assert found["nodes_moved"] == [{"node": "node1", "before": "s0", "after": "s1"}]
    assert [m["name"] for m in found["members_changed"]] == ["s0", "s1"]
    assert run("topology", "diff", both[0], both[0], "-o", "json").json["same"] is True


def test_html_goes_to_a_file(run: Run, both: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "diff.html"
    assert run("topology", "diff", *both, "-o", "html", "--out", out).status == 1
    assert "What changed in the topology" in out.read_text(encoding="utf-8")


def test_other_amounts_of_a_resource_are_a_difference(run: Run, both: tuple[Path, Path], tmp_path: Path) -> None:
    def node(name: str, gpus: int) -> str:
        amounts = f"{{cpu: '8', nvidia.com/gpu: '{gpus}'}}"
        return f"---\napiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\nstatus: {{allocatable: {amounts}}}\n"

    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text("".join(node(f"n{i}", 8) for i in range(3)))
    new.write_text("".join(node(f"n{i}", 4 if i else 8) for i in range(3)))
    result = run("topology", "diff", old, new, "-o", "json")
    assert result.status == 1
    change = {"nodes": ["n1", "n2"], "resource": "nvidia.com/gpu", "before": "8", "after": "4"}
    assert result.json["resources_changed"] == [change] and not result.json["same"]
    assert "Resources changed" in run("topology", "diff", old, new).out
    # A fabric file says nothing of resources, so that none changed.
    bare = tmp_path / "bare.yaml"
    bare.write_text("".join(f"---\napiVersion: v1\nkind: Node\nmetadata: {{name: n{i}}}\n" for i in range(3)))
    assert run("topology", "diff", old, bare, "-o", "json").json["resources_changed"] == []


def test_two_formats_may_be_compared(run: Run, both: tuple[Path, Path], tmp_path: Path) -> None:
    conf = tmp_path / "topology.conf"
    conf.write_text(
        "SwitchName=s0 Nodes=node[0-1]\nSwitchName=s1 Nodes=node[2-3]\nSwitchName=s2 Switches=s[0-1]\n",
        encoding="utf-8",
    )
    assert run("topology", "diff", both[0], conf).status == 0
    assert run("topology", "diff", both[0], conf, "--from", "auto", "--from", "slurm").status == 0
    assert run("topology", "diff", conf, conf, "--from", "slurm").status == 0
    assert run("topology", "diff", both[0], conf, "--from", "slurm").status == 2


@pytest.mark.parametrize("count", [0, 1, 3])
def test_two_inputs_are_needed(run: Run, both: tuple[Path, Path], count: int) -> None:
    result = run("topology", "diff", *(both * 2)[:count])
    assert result.status == 2 and "OLD NEW: not two topologies" in result.err


def test_bad_input_is_one_line_and_exits_2(run: Run, both: tuple[Path, Path], tmp_path: Path) -> None:
    assert run("topology", "diff", both[0], tmp_path / "none.yaml").status == 2
    result = run("topology", "diff", *both, "--from", "slrm")
    assert result.status == 2 and "did you mean slurm" in result.err
    assert run("topology", "diff", *both, *(["--from", "slurm"] * 3)).status == 2


def test_what_the_readers_doubt_is_told_with_its_file(run: Run) -> None:
    fabrics = Path(__file__).parents[2] / "datasets" / "one-fabric"
    before, after = fabrics / "ibnetdiscover.out", fabrics / "ibnetdiscover-one-wrong-cable.out"
    result = run("topology", "diff", before, after)
    assert result.status == 1
    assert [line for line in result.err.splitlines() if "a wrong cable?" in line] == [
        f"note: {after}: only gpu-05 joins leaf-2a/leaf-2b and leaf-3a/leaf-3b to one HyperNode: a wrong cable?"
    ]

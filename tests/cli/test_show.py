from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Run


def test_json_gives_domains_with_tier_parent_and_nodes(run: Run, files: Path) -> None:
    result = run("topology", "show", "-f", files / "cluster.yaml", "-o", "json")
    assert result.status == 0
    assert result.json == {
        "nodes": 4,
        "domains": [
            {"name": "s0", "tier": 1, "parent": "s2", "nodes": 2},
            {"name": "s1", "tier": 1, "parent": "s2", "nodes": 2},
            {"name": "s2", "tier": 2, "parent": None, "nodes": 4},
        ],
        "problems": [],
    }


def test_the_terminal_shows_a_tree(run: Run, files: Path) -> None:
    out = run("topology", "show", "-f", files / "cluster.yaml").out
    assert "└── s2  tier 2, 4 nodes\n    ├── s0  tier 1, 2 nodes: node[0-1]\n" in out


def test_depth_and_unfold(run: Run, files: Path) -> None:
    arguments = ("topology", "show", "-f", files / "cluster.yaml", "--depth", "1")
    assert "in 2 HyperNodes, folded" in run(*arguments).out
    assert "└── node3" in run(*arguments, "--unfold", "s1").out
    result = run(*arguments, "--unfold", "s9")
    assert result.status == 2 and "unknown HyperNode 's9'" in result.err


def test_svg_is_a_picture_of_its_own(run: Run, files: Path) -> None:
    out = files / "t.svg"
    assert run("topology", "show", "-f", files / "cluster.yaml", "-o", "svg", "--out", out).status == 0
    root = ElementTree.fromstring(out.read_text(encoding="utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_html_is_a_page(run: Run, files: Path) -> None:
    run("topology", "show", "-f", files / "cluster.yaml", "-o", "html", "--out", files / "t.html")
    page = (files / "t.html").read_text(encoding="utf-8")
    assert "tw-topology" in page and "node3" in page


def test_what_a_reader_left_aside_is_said_on_stderr(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "nodes.json"
    table.write_text('[{"Name": "a", "DomainUUID": "u", "Health": "BAD"}]', encoding="utf-8")
    assert "note: not healthy says NetQ" in run("topology", "show", "-f", table).err


def test_it_is_said_in_every_form_of_output(run: Run, tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "datasets" / "one-fabric" / "ibnetdiscover.out"
    told = run("topology", "show", "-f", path).err
    assert "note: storage ports, not nodes: nas-1" in told
    for form in ("json", "svg", "html"):
        assert run("topology", "show", "-f", path, "-o", form, "--out", tmp_path / form).err == told


@pytest.mark.parametrize("option", [("--depth", "1"), ("--unfold", "s0")], ids=" ".join)
@pytest.mark.parametrize("output", ["json", "svg", "html"])
def test_what_shapes_the_tree_is_refused_beside_another_output(
    run: Run, files: Path, option: tuple[str, str], output: str
) -> None:
    result = run("topology", "show", "-f", files / "cluster.yaml", *option, "-o", output)
    assert (result.status, result.out) == (2, "")
    assert result.err == f"workbench: {option[0]}: only for the tree (found -o {output}, expected -o table)\n"

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from tests.hand_made import document_tree, gang_of, placement_of, tree
from workbench.errors import CapacityError
from workbench.model.topology import DomainSpec, Topology
from workbench.report.colours import tier_colour
from workbench.report.occupancy import occupancy
from workbench.report.pyvis_view import network_html

TOPOLOGY = document_tree()


def page_in(frame: str) -> str:
    found = re.search(r'srcdoc="([^"]*)"', frame)
    assert found is not None
    return html.unescape(found[1])


def test_the_page_asks_nothing_of_the_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = re.sub(r"<!--.*?-->", "", page_in(network_html(TOPOLOGY)), flags=re.DOTALL)
    assert not re.findall(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=[^>]*>", page)
    assert "bootstrap" not in page.lower()
    assert list(tmp_path.iterdir()) == []


def test_every_node_and_hypernode_has_a_fixed_place_and_physics_are_off() -> None:
    page = page_in(network_html(TOPOLOGY))
    for name in ("node7", "s6"):
        assert f'"label": "{name}"' in page
    assert page.count('"physics": false') >= 15
    assert len(re.findall(r'"y": -?\d', page)) == 15
    places = re.findall(r'"x": (-?[\d.]+), "y": 0\b', page)
    assert len(set(places)) == 8


def test_nodes_are_coloured_by_job_and_hostile_names_stay_text() -> None:
    topology = Topology.build(["</script><b>"], [DomainSpec("d", 1, [0])])
    frame = network_html(topology, occupancy([placement_of(gang_of("train", 1), topology, [0])]))
    assert "#0072b2" in page_in(frame)
    assert "</script><b>" not in page_in(frame)


def test_large_clusters_are_left_to_the_svg() -> None:
    with pytest.raises(CapacityError, match="kind='svg'"):
        network_html(tree((301,)))


def test_hypernodes_have_the_colour_of_their_tier() -> None:
    page = page_in(network_html(TOPOLOGY))
    for name, tier in (("s0", 1), ("s4", 2), ("s6", 3)):
        box = next(
            part for part in re.findall(r"\{[^{}]*(?:\{[^{}]*\})?[^{}]*\}", page) if f'"label": "{name}"' in part
        )
        assert f'"color": "{tier_colour(tier)}"' in box

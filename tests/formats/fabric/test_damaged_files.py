"""Tests that a reader answers a damaged file with records or with one clear error."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.fabric.test_hived import CONFIG
from tests.formats.fabric.test_ibnetdiscover import FABRIC
from tests.formats.fabric.test_lingjun import TABLE
from tests.formats.fabric.test_netq import TREE, graph
from tests.formats.fabric.test_rail_cables import CABLES
from tests.formats.fabric.test_topograph import MODEL, OLDER
from tests.formats.test_nccl_topo import SYSTEM
from workbench.errors import InputError
from workbench.formats.fabric.base import FabricRecords
from workbench.formats.fabric.hived import read_hived
from workbench.formats.fabric.ibnetdiscover import read_ibnetdiscover
from workbench.formats.fabric.lingjun import read_lingjun
from workbench.formats.fabric.netq import read_netq_graph, read_netq_inventory
from workbench.formats.fabric.rail_cables import read_rail_cables
from workbench.formats.fabric.topograph import read_topograph
from workbench.formats.nccl_topo import Machine, read_nccl_topo
from workbench.topology.build import build_topology

Reader = Callable[[str, str], FabricRecords | Machine]

INVENTORY = '[{"Name": "a", "DomainUUID": "u", "GpuIDList": ["x", "y"], "Health": "HEALTHY"}]'
GRAPH = json.dumps([graph(*TREE)])

FILES: dict[str, tuple[Reader, str]] = {
    "ibnetdiscover": (read_ibnetdiscover, FABRIC),
    "netq": (read_netq_graph, GRAPH),
    "netq-inventory": (read_netq_inventory, INVENTORY),
    "hived": (read_hived, CONFIG),
    "topograph": (read_topograph, MODEL),
    "topograph, older": (read_topograph, OLDER),
    "lingjun": (read_lingjun, TABLE),
    "rail-cables": (read_rail_cables, CABLES),
    "nccl-topo": (read_nccl_topo, SYSTEM),
}

SCRAPS = st.sampled_from(
    ["", "\n", '"', "[", "{", "- ", ": ", "0", "-1", "null", "true", "\x00", "é", "[1-3]", "S-1", "<x>", ","]
)


@st.composite
def damages(draw: st.DrawFn) -> list[tuple[float, float, str]]:
    """Parts that are cut out, as shares of the length, and what comes in their place."""
    share = st.floats(0, 1, allow_nan=False)
    return draw(st.lists(st.tuples(share, st.sampled_from([0.0, 0.005, 0.05, 0.5]), SCRAPS), min_size=1, max_size=3))


@pytest.mark.parametrize(("read", "text"), FILES.values(), ids=FILES.keys())
@given(damage=damages())
def test_damage_gives_records_or_one_error(read: Reader, text: str, damage: list[tuple[float, float, str]]) -> None:
    for at, length, scrap in damage:
        start = int(at * len(text))
        text = text[:start] + scrap + text[start + int(length * len(text)) :]
    try:
        records = read(text, "f")
    except InputError as error:
        assert str(error).startswith("f: ") and "\n" not in str(error)
        return
    if isinstance(records, FabricRecords):
        names = [node.name for node in records.nodes]
        assert len(set(names)) == len(names)
        build_topology(records.hypernodes, names)


def test_the_files_themselves_are_sound() -> None:
    for read, text in FILES.values():
        assert read(text, "f")

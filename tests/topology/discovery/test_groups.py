from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from workbench.topology.discovery.result import linked_groups

fabrics = st.dictionaries(st.sampled_from("abcdefgh"), st.sets(st.integers(0, 9).map(str), max_size=4))


@given(fabrics)
def test_the_groups_are_the_connected_parts_of_the_graph(members) -> None:
    graph = nx.Graph()
    graph.add_nodes_from(("switch", switch) for switch in members)
    graph.add_edges_from((("switch", switch), ("node", node)) for switch, nodes in members.items() for node in nodes)
    parts = [sorted(name for kind, name in part if kind == "switch") for part in nx.connected_components(graph)]
    assert linked_groups(members) == sorted(part for part in parts if part)

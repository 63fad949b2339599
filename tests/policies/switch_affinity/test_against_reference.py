"""Version 2.0 beside its plain twin on random switches: same switches, same counts, same states."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.reference.switch_affinity import Row, place, states_after
from tests.switch_fabric import Switch, fabric, job, states
from workbench.model.placement import Placement
from workbench.policies.registry import get_policy

STATES = ("idle", "idle", "exclusive", "shared/healthy", "shared/healthy", "shared/unhealthy")
ROWS = st.lists(
    st.tuples(st.sampled_from(STATES), st.integers(1, 6), st.integers(0, 6), st.booleans()), min_size=1, max_size=7
)


@given(
    rows=ROWS,
    kind=st.sampled_from(["foundation", "common", "padding"]),
    pods=st.integers(1, 20),
    per_switch=st.integers(2, 6),
    max_shared=st.integers(1, 2),
)
def test_same_answer_as_the_reference(
    rows: list[tuple[str, int, int, bool]], kind: str, pods: int, per_switch: int, max_shared: int
) -> None:
    pods = min(pods, 3) if kind == "padding" else max(pods, 4) if kind == "foundation" else pods
    switches = [
        # A foundation-model job that crosses the switch keeps the fall-back away from it.
        Switch(f"S{i}", total, min(free, total), state, jobs=() if common else (("other", "foundation", True),))
        for i, (state, total, free, common) in enumerate(rows)
    ]
    reference = [Row(s.state, s.free, common) for s, (_, _, _, common) in zip(switches, rows, strict=True)]
    snapshot = fabric(switches, per_switch)
    result = get_policy("switch-affinity", max_shared_switches=max_shared).place(
        job("J", kind, pods), snapshot.ledger()
    )

    want = place(reference, kind, pods, per_switch, max_shared)
    assert isinstance(result, Placement) == (want is not None)
    if want is None or not isinstance(result, Placement):
        return
    table = snapshot.switch_table
    assert table is not None
    # Ranks run through the switches in selection order, and through their nodes by position.
    under = [(int(table.node_switch[node]), int(table.node_position[node])) for node in result.node]
    expected = []
    for switch, count, _ in want:
        row = switches[switch]
        expected += [(switch, position) for position in range(row.total - row.free, row.total - row.free + count)]
    assert under == expected
    assert result.rank is not None
    assert result.rank.tolist() == list(range(pods))
    after = snapshot.with_placement(result)
    assert list(states(after).values()) == states_after(reference, want)

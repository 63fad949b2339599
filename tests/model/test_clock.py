"""Events of virtual time, against a plain list of what is planned."""

from __future__ import annotations

import copy
import pickle

from hypothesis import given
from hypothesis import strategies as st

from workbench.model.clock import EventQueue


def test_a_later_plan_replaces_the_former_one() -> None:
    events: EventQueue[str] = EventQueue()
    for at in (5.0, 3.0, 5.0, 4.0):
        events.plan("a", at)
    assert (events.first, len(events), events.time_of("a"), events.time_of("b")) == ((4.0, "a"), 1, 4.0, float("inf"))
    events.drop_first()
    assert (events.first, len(events)) == (None, 0)


@given(
    st.lists(
        st.tuples(st.sampled_from(["plan", "cancel", "drop", "clear"]), st.integers(0, 5), st.integers(0, 4)),
        max_size=40,
    )
)
def test_the_first_event_is_that_of_a_plain_list(steps: list[tuple[str, int, int]]) -> None:
    events: EventQueue[tuple[int, int]] = EventQueue()
    planned: dict[tuple[int, int], float] = {}
    for what, number, at in steps:
        key = (number % 2, number)
        if what == "plan":
            events.plan(key, float(at))
            planned[key] = float(at)
        elif what == "cancel":
            events.cancel(key)
            planned.pop(key, None)
        elif what == "drop":
            events.drop_first()
            if planned:
                del planned[min(planned, key=lambda one: (planned[one], one))]
        else:
            events.clear()
            planned.clear()
        expected = min(((time, key) for key, time in planned.items()), default=None)
        for each in (events, copy.copy(events), pickle.loads(pickle.dumps(events))):
            assert (each.first, len(each)) == (expected, len(planned))

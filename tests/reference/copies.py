"""Copies of an oracle's whole state, for trying a step."""

from __future__ import annotations

import pickle
from typing import TypeVar

State = TypeVar("State")


def copied(state: State) -> State:
    """What `copy.deepcopy` gives, in a third of the time: most of what an oracle does is to copy."""
    return pickle.loads(pickle.dumps(state, pickle.HIGHEST_PROTOCOL))  # type: ignore[no-any-return]

"""How far the placing of one small gang walks: how often one module of the package calls into another."""

from __future__ import annotations

import sys
from types import FrameType

from workbench.policies import get_policy
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.request import Assignment
from workbench.topology.presets import generate_scenario


def walk(call):
    """Answer of a call, the number of entries into another module of the package, and the modules entered."""
    entries, stack = [], [""]

    def follow(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            name = frame.f_globals.get("__name__", "")
            stack.append(name if name.startswith("workbench.") else stack[-1])
            if stack[-1] != stack[-2]:
                entries.append(stack[-1])
        elif event == "return" and len(stack) > 1:
            stack.pop()

    sys.setprofile(follow)
    try:
        answer = call()
    finally:
        sys.setprofile(None)
    return answer, len(entries), set(entries)


def test_a_hard_gang_is_placed_without_a_long_walk():
    scenario = generate_scenario("use-case-1", pods=8)
    (gang,), policy = scenario.gangs, get_policy("volcano-1.15")

    def place():
        ledger = scenario.snapshot.ledger()
        request = policy.node.request(gang, ledger, GpuQuestions(policy.gpu, ledger), None)
        return walk(lambda: policy.node.assign(request))

    # The first call makes what the topology and the snapshot keep.
    place()
    answer, entries, modules = place()
    assert isinstance(answer, Assignment) and (answer.node >= 0).all()
    assert entries <= 52 and len(modules) <= 20, sorted(modules)

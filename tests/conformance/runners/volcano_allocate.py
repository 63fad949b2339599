"""Runner of single sessions of Volcano's allocate action: `cases/volcano-topology/allocate.json`."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.conformance.registry import NotUnderstood, Runners
from tests.conformance.runners.volcano_sessions import after, binds, session
from workbench.model.notice import texts_of
from workbench.model.release import Release
from workbench.model.scheduler_config import PluginOption, SchedulerConfig
from workbench.policies import get_policy
from workbench.policies.contract import Policy
from workbench.policies.volcano.parts.plugins import config_warnings

POLICY = {Release.V1_13: "volcano-1.13", Release.V1_15: "volcano-1.15"}


def register(runners: Runners) -> None:
    """Add the operation of allocate.json to the area's runners."""
    runners.op(
        "allocate",
        "allocate",
        given=("nodes", "topology", "queues", "podgroups", "pods", "plugins", "action"),
        want=(
            "kind",
            "bind_count",
            "binds",
            "binds_per_tier1_hypernode_sorted",
            # What an independent model reached; a miss there is a question, not a failure.
            "model_leaf_counts_any_of",
            "model_binds_any_of",
        ),
        per_release=True,
    )(allocate)


def policy_of(plugins: list[str], action: str, release: Release) -> Policy:
    """The policy with the action and the plugins of a case in one tier, at their default arguments."""
    config = SchedulerConfig((action,), (tuple(PluginOption(name) for name in plugins),))
    policy = get_policy(POLICY[release], config=config)
    unknown = config_warnings(config, release)
    if unknown:
        raise NotUnderstood("; ".join(texts_of(unknown)))
    return policy


def allocate(given: dict[str, Any], want: dict[str, Any], release: Release) -> None:
    snapshot, gangs = session(given, release)
    decisions = policy_of(given["plugins"], given["action"], release).schedule(gangs, snapshot)
    bound = binds(decisions)
    after(snapshot, decisions)
    assert len(bound) == want["bind_count"], bound
    if want["kind"] == "exact-map":
        assert bound == want["binds"]
    elif want["kind"] == "per-leaf-hypernode-counts":
        assert per_leaf(given["topology"], bound) == want["binds_per_tier1_hypernode_sorted"]
    elif want["kind"] not in ("count-only", "none/pending"):
        raise NotUnderstood(f"kind {want['kind']!r}")


def per_leaf(topology: dict[str, Any], bound: dict[str, str]) -> list[int]:
    """Bound pods per HyperNode of tier 1, ascending; leaves without any are left out."""
    counts: Counter[str] = Counter()
    for node in bound.values():
        leaves = topology["tiers"].get("1", ())
        counts.update(leaf for leaf in leaves if node in topology["real_nodes"].get(leaf, ()))
    return sorted(counts.values())

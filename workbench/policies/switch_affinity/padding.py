"""Padding jobs: one switch or nothing (document, "Switch Affinity for Padding Jobs")."""

from __future__ import annotations

from workbench.policies.switch_affinity.small import place_on_one
from workbench.policies.switch_affinity.table import NoPlan, Plan, Switches

__all__ = ["place_padding"]


def place_padding(switches: Switches, n_pods: int) -> Plan | NoPlan:
    """Exclusive, then shared, then idle switches; never two of them, however small a switch is (ambiguity B10)."""
    plan = place_on_one(switches, n_pods, unhealthy_too=True)
    if plan is None:
        return NoPlan("no-single-switch", "tor check failed not enough resource for fill job", n_pods)
    return plan

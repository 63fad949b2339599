"""Placement policies: their contract, the registry that finds them by name, and the policies themselves."""

from workbench.policies.contract import Policy
from workbench.policies.registry import PolicyInfo, as_policy, get_gpu_policy, get_policy, list_policies, policy

__all__ = ["Policy", "PolicyInfo", "as_policy", "get_gpu_policy", "get_policy", "list_policies", "policy"]

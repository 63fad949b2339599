"""Compiled kernels: numpy arrays and ints in, numpy arrays and ints out.

Only ``workbench.kernels`` may import this package; it validates and translates errors.
"""

if __name__ == "_core":
    raise ImportError(
        "import workbench._core, not _core: from the repository root this would load a second copy "
        "of the kernels whose types differ from the first"
    )

try:
    from workbench._core import (
        bottleneck,
        domains,
        dry_runs,
        hypernode_tree,
        ledger,
        ranges,
        search_parts,
        state_table,
        states,
        sub_jobs,
        subsets,
        switch_rules,
        switches,
        tiers,
        trial_fill,
        two_level,
    )
except ImportError as error:
    raise ImportError(
        f"the compiled kernels of Topology Workbench are missing or out of date ({error}); "
        "build them with 'make build', or 'pip install --no-build-isolation -e .' in your own environment"
    ) from error

__all__ = [
    "bottleneck",
    "domains",
    "dry_runs",
    "hypernode_tree",
    "ledger",
    "ranges",
    "search_parts",
    "state_table",
    "states",
    "sub_jobs",
    "subsets",
    "switch_rules",
    "switches",
    "tiers",
    "trial_fill",
    "two_level",
]

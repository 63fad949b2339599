"""Compiled kernels (Cython): functions and classes that take and return numpy arrays and ints.

Only ``workbench.kernels`` may import this package; it validates and translates errors.
"""

if __name__ == "_core":
    raise ImportError(
        "import workbench._core, not _core: from the repository root this would load a second copy "
        "of the kernels whose types differ from the first"
    )

try:
    from workbench._core import (
        attempt_trace,
        best_attempt,
        bottleneck,
        clique_search,
        deal,
        domain_counts,
        domains,
        dry_runs,
        gpu_sharing,
        hypernode_tree,
        job_state,
        ledger,
        ranges,
        repeated,
        search_parts,
        set_query,
        state_table,
        states,
        sub_job_scores,
        sub_job_search,
        sub_jobs,
        subset_tables,
        subsets,
        switch_rules,
        switches,
        tied_sets,
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
    "attempt_trace",
    "best_attempt",
    "bottleneck",
    "clique_search",
    "deal",
    "domain_counts",
    "domains",
    "dry_runs",
    "gpu_sharing",
    "hypernode_tree",
    "job_state",
    "ledger",
    "ranges",
    "repeated",
    "search_parts",
    "set_query",
    "state_table",
    "states",
    "sub_job_scores",
    "sub_job_search",
    "sub_jobs",
    "subset_tables",
    "subsets",
    "switch_rules",
    "switches",
    "tied_sets",
    "tiers",
    "trial_fill",
    "two_level",
]

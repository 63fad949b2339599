"""Labels and annotations in the domain volcano.sh that Volcano, its agent or this package reads or writes.

Source: constants of Volcano after 1.15 and of volcano-global 0.3; docs/reference/volcano-jobs.md and
docs/reference/volcano-topology.md.
"""

from __future__ import annotations

__all__ = ["DOMAIN", "KNOWN_KEYS", "in_domain"]

DOMAIN = "volcano.sh"

_NAMES = {
    "scheduling.volcano.sh": "group-min-member group-min-resources group-name queue-allocation-gate queue-name",
    "volcano.sh": """
        bind-phase bind-time burst-name closed-by-parent colocation controller-out-of-sync cooldown-time
        createdByJobFlow createdByJobTemplate cronjob-scheduled-timestamp dequeue-strategy devices-to-allocate
        enable-quota-burst forward-cluster gpu-assigned gpu-index hierarchy hierarchy-weights hypercluster hyperjob-name
        hypernode hypernodes inqueue-timeout jdb-max-unavailable jdb-min-available job-allocated-hypernode
        job-forwarding job-name job-namespace job-retry-count job-spec job-type job-version namespace.weight
        network-bandwidth-rate network-topology-highest-tier network-topology-mode network-topology-source
        nodegroup-name nodegroup-resource-limits numa-topology-policy original-qos-level partition-id pp-spec-hash
        predicate-time preemptable qos-level queue-name quota-burst-time replicatedjob-name resource-group
        revocable-zone silo-resource sla-waiting-time task-index task-instance task-priority task-spec
        task-topology task-topology-affinity task-topology-anti-affinity task-topology-task-order template-uid
        topology-decision vcjob-template-spec-hash vgpu-ids-new vgpu-mode vgpu-node vgpu-time
    """,
}

KNOWN_KEYS = frozenset(f"{domain}/{name}" for domain, names in _NAMES.items() for name in names.split())


def in_domain(key: str) -> bool:
    """Whether a label or annotation key has the prefix volcano.sh or one of its subdomains."""
    domain, slash, _ = key.partition("/")
    return bool(slash) and f".{domain}".endswith(f".{DOMAIN}")

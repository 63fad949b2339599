"""Rows that test nothing of the product, and rows of which an oracle answers a part: by area and operation, and why.

The runners run these rows as all others, against the oracles in `tests/reference`, so that they are ready for whoever
ships such a rule. ``pytest tests/conformance -m oracle`` runs the rows that test nothing of the product.
"""

from __future__ import annotations

__all__ = ["IN_PART", "ORACLE_ROWS"]

_PRICED = "communication is priced by measurements (`workbench.evaluate.cost`), not by this formula"
_STEPS = "jobs that share links have step times (`workbench.evaluate.contention`), single flows in time nobody asks for"
_ROTATION = "phases of jobs are together or interleaved; nobody searches for shifts in time"
_EVENTS = "HyperNodes are built at once by `workbench.topology.build`, after every change anew"
_READINESS = "the search counts the pods that it places; a snapshot keeps no statuses of tasks"

ORACLE_ROWS = {
    ("communication", "collective-cost"): _PRICED,
    ("communication", "nccl-model"): _PRICED,
    ("communication", "collective-time"): _PRICED,
    ("communication", "simai-bus-bandwidth"): _PRICED,
    ("communication", "simai-ratio"): _PRICED,
    ("communication", "finish-times"): _STEPS,
    ("communication", "ring-collectives"): _STEPS,
    ("communication", "iterations"): _STEPS,
    ("communication", "rotation"): _ROTATION,
    ("communication", "time-shifts"): _ROTATION,
    (
        "kube-scheduler",
        "requeue-hint",
    ): "a refused gang is tried again when the cluster changes; there is no queue of pods that single events wake",
    (
        "switch-affinity",
        "job-summary",
    ): "nobody writes the record of a job's switches; annotations of its pods say them",
    ("switch-affinity", "configure"): "parameters of the policies say what the plugin's arguments say",
    ("volcano-jobs", "pod-order-before"): "all pods of a gang are ordered; the relation of two is no order of three",
    ("volcano-topology", "events"): _EVENTS,
    ("volcano-topology", "ancestors"): _EVENTS,
    ("volcano-topology", "leaves-under"): _EVENTS,
    ("volcano-topology", "leaves-with-pattern"): _EVENTS,
    ("volcano-topology", "sub-job-ready"): _READINESS,
    ("volcano-topology", "sub-job-pipelined"): _READINESS,
    ("volcano-topology", "reverse-and-cap"): "nothing is evicted",
}

IN_PART = {
    ("communication", "rates"): "the kernel gives the rates; a case may name the ends of a flow in a tree of switches",
    ("gpu", "allocate"): "partitions are the policy's; scopes, shares and NICs need devices that snapshots lack",
    (
        "kube-scheduler",
        "gang-flow",
    ): "who may be tried is the policy's; pods are bound at once, so none waits for a permit",
    (
        "switch-affinity",
        "derive-states",
    ): "states are the snapshot's; marks of a job that starts follow the definitions",
    ("switch-affinity", "handler"): "reasons are the policy's; which rules apply, the name of the policy says",
    ("volcano-topology", "sub-job-gradients"): "gradients are the policy's; the order of eviction is not shipped",
}

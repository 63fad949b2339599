"""Generator of docs/notices.md from the table of codes; run as a script it writes the page.

PYTHONPATH=. python -m tests.notice_codes
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from workbench.model.notice_codes import GROUPS

__all__ = ["PAGE", "REMEDIES", "page"]

PAGE = Path(__file__).parents[1] / "docs" / "notices.md"

_HEAD = """\
# Notices

Written by `python -m tests.notice_codes` from `workbench/model/notice_codes.py`; a test compares the two.

Reasons, warnings and gaps are all `Notice(code, message, subject, numbers)`; in `-o json` each is an object with these
four keys. Programs read `code`, `subject` and `numbers`; `message` is for people and may change in any release.
`numbers.count` is how many nodes, domains or pods the notice concerns. A notice about a queue has for each resource
that is short the numbers `limit`, `used` and `requested`, and `reserved` where admitted jobs keep some, each followed
by the resource: `used nvidia.com/gpu`; in base units (thousandths of a CPU, bytes, counts). A reason with the number
`nodes` is the sentence of the Kubernetes scheduler about so many nodes. An empty subject means the gang of the answer,
or the input as a whole. Policies of other packages may have codes of their own. What would help a
certain job is tried and said in its headline: [why a job is pending](howto/pending.md).
"""

#: What helps in general against the reasons why a gang or a pod waits. What would help one job is found by trying it
#: (`workbench.evaluate.whatif`).
REMEDIES: Mapping[str, str] = {
    "depends-on": "Lower minAvailable to the pods that exist at first, or remove dependsOn.",
    "fractional-gpus": "Ask for whole GPUs: no policy of this package gives parts of one.",
    "gang-group-tried": "See the reason beside it; its group needs room for all of its gangs.",
    "gang-group-waits": "See why the gang that it names waits; or take the gang out of the group.",
    "gang-incomplete": "See the reason beside it for what the pods lack; or lower minAvailable.",
    "gang-unschedulable": "See the reason beside it; this sentence can be found on the PodGroup of a cluster.",
    "gpu": "Take another GPU policy, or a number of GPUs that the policy gives.",
    "group-error": "See its message: pods of one group agree in priority, and running ones lie in one domain.",
    "insufficient": "Ask for less per pod, wait for running pods to end, or add nodes.",
    "invalid-label": "Set the label tor-affinity to large-model-schema, normal-schema or null.",
    "job-left-out": "Wait for a HyperNode of that tier to be free of accelerator pods.",
    "kueue-pending": "Raise the quota, let others of the queue or cohort end, or ask for fewer or smaller pods.",
    "larger-than-switch": "Use fewer pods than a switch has nodes, or switch-affinity without single-layer.",
    "left-out": "Let the function name a node for this pod, too.",
    "no-candidate": "Gather in a wider layer, prefer instead of demand, or use fewer pods.",
    "no-domain": "Allow a higher tier, use soft instead of hard, or use fewer or smaller pods.",
    "no-hypernode-per-job": "Wait for HyperNodes to be free of accelerator pods, or allow a higher tier.",
    "no-logical-switch": "Wait for nodes of the same switches, or use fewer pods.",
    "no-position": "Wait for nodes at the same positions of several switches, or use fewer pods.",
    "no-single-switch": "Wait for nodes of one switch, or use fewer pods.",
    "level-without-nodes": "Label the nodes, or name a level that they have.",
    "no-switch-table": "Give the ConfigMap basic-tor-node-cm, or HyperNodes of tier 1, with the input.",
    "node-affinity": "Change the selector or the affinity, or label nodes.",
    "no-topology-fit": "Require a wider level, prefer instead of require, or use fewer or smaller pods.",
    "not-admitted": "Let the jobs that reserve it start or end, raise the queue's capability, or lower minResources.",
    "not-configured": "Add the action (allocate or backfill) to the configuration.",
    "not-enough-pods": "Raise the replicas, or lower minAvailable.",
    "not-enough-switches": "Wait for other cross-switch jobs to end, or raise max_shared_switches.",
    "not-offered": "Check the resource's name and the nodes' device plugin, or ask for less per pod.",
    "not-ready": "Repair the nodes or their kubelets; `kubectl describe node` says since when and why.",
    "one-switch-job": "Wait for nodes of that switch, or submit the job anew.",
    "padding-restart": "Wait for nodes of the job's switches, or submit it anew.",
    "pipelined": "Wait until the terminating pods are gone.",
    "pod-affinity": "Change the affinity, or wait for the pods that it names to start or end.",
    "pod-group-unschedulable": "See the reason beside it; this sentence is in the condition of the PodGroup.",
    "pod-priorities-differ": "Give all pods of the gang one priority.",
    "pod-spread": "Raise maxSkew, prefer (ScheduleAnyway) instead of demand, or label more nodes.",
    "pods-without-place": "Let the leader accept the workers' nodes; give a pod set whole slices.",
    "preemption-would-help": "End the pods that it names, or wait for them; nothing is evicted here.",
    "queue-guarantees": "Lower the guarantees of other queues, or wait for the queue's jobs to end.",
    "queue-limit": "Raise the queue's capability, or wait for its jobs to end.",
    "queue-overused": "Raise the queue's weight, or wait for its jobs to end.",
    "queue-share": "Raise the queue's weight, which is no capability, or wait for jobs of its or other queues to end.",
    "queue-waits": "Give the job ahead what it waits for, or move one of the two to another queue.",
    "record-too-far": "Allow a higher tier; of 1.13, remove the annotation volcano.sh/job-allocated-hypernode.",
    "refused": "The message says what the policy, or the function behind it, misses.",
    "refused-by-admission": "`workbench validate` names the fields to mend.",
    "slots-differ": "Give all pods of the gang the same size.",
    "taint": "Add a toleration to the pods, or remove the taint.",
    "tier-too-small": "Allow a tier that exists; `workbench topology show` tells them.",
    "topology-not-ready": "`workbench topology lint` says what keeps the HyperNodes from being a tree.",
    "unschedulable": "Uncordon the nodes.",
    "upstream-crash": "Use at least as many pods as one slice has, or leave balanced placement off.",
}


def page() -> str:
    """The page as it should be."""
    lines = [_HEAD]
    for title, codes in GROUPS.items():
        if codes.keys() <= REMEDIES.keys():
            lines += [f"## {title}", "", "| code | meaning | what helps |", "| --- | --- | --- |"]
            lines += [f"| `{code}` | {meaning} | {REMEDIES[code]} |" for code, meaning in codes.items()]
        else:
            lines += [f"## {title}", "", "| code | meaning |", "| --- | --- |"]
            lines += [f"| `{code}` | {meaning} |" for code, meaning in codes.items()]
        lines += [""]
    return "\n".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

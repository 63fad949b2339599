"""What the API server, its admission policies and Volcano's webhooks make of an object, in their words.

One file per kind; `review` puts them together. Where an object would be refused by several of them in turn, the first
one's text is the answer, as in a cluster.
"""

from __future__ import annotations

from workbench.objects.admission.gpu_group import refuse_gpu_group
from workbench.objects.admission.job import refuse_job
from workbench.objects.admission.pod_group import refuse_pod_group
from workbench.objects.admission.review import REVIEWED_KINDS, Verdict, notes_of, refusal_of, review

__all__ = [
    "REVIEWED_KINDS",
    "Verdict",
    "notes_of",
    "refusal_of",
    "refuse_gpu_group",
    "refuse_job",
    "refuse_pod_group",
    "review",
]

"""Admission of objects: whether the API server, its admission policies and Volcano's webhooks accept them, in their
words.

There is one module per kind; `workbench.objects.admission.review` combines them. If several checks refuse an object,
the text of the first one is returned, as in a cluster.
"""

from __future__ import annotations

from workbench.objects.admission.gpu_group import refuse_gpu_group
from workbench.objects.admission.job import refuse_job
from workbench.objects.admission.known import Known
from workbench.objects.admission.notes import notes_of
from workbench.objects.admission.pod_group import refuse_pod_group
from workbench.objects.admission.review import REVIEWED_KINDS, Verdict, is_reviewed, refusal_of, review

__all__ = [
    "REVIEWED_KINDS",
    "Known",
    "Verdict",
    "is_reviewed",
    "notes_of",
    "refusal_of",
    "refuse_gpu_group",
    "refuse_job",
    "refuse_pod_group",
    "review",
]

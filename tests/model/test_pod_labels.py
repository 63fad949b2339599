"""Labels of pods that do not exist yet are those that Volcano's controller writes."""

from __future__ import annotations

from workbench.jobs.create_pod import create_pod
from workbench.model.gang import Gang, Role
from workbench.model.pod_counts import pod_labels


def test_a_job_s_pods_have_the_labels_of_its_controller() -> None:
    role = Role("w", 2, {"cpu": 1}, labels={"app": "a"})
    gang = Gang("ns", "train", (role,), 2, queue="q")
    template = {"metadata": {"name": "w", "labels": {"app": "a"}}, "spec": {}}
    job = {"metadata": {"name": "train", "namespace": "ns"}, "spec": {"queue": "q"}}
    written = create_pod(job, template, {"name": "w", "template": template}, 1)["metadata"]["labels"]
    own = pod_labels(gang, role)
    assert own.items() <= written.items()
    # Only the index differs from pod to pod.
    assert written.keys() - own.keys() == {"volcano.sh/task-index"}


def test_other_kinds_have_labels_of_their_own_or_none() -> None:
    role = Role("w", 2, {"cpu": 1}, labels={"app": "a"})
    found = {
        kind: set(pod_labels(Gang("ns", "j", (role,), 2, kind=kind), role)) for kind in ("BatchJob", "JobSet", "Pod")
    }
    assert found == {
        "BatchJob": {"app", "batch.kubernetes.io/job-name", "job-name"},
        "JobSet": {"app", "jobset.sigs.k8s.io/jobset-name", "jobset.sigs.k8s.io/replicatedjob-name"},
        "Pod": {"app"},
    }

from __future__ import annotations

import json

from tests.notices import said
from workbench.jobs.running import Doubts, running_pods
from workbench.model.extras import GpuGroup
from workbench.objects.admission.gpu_group import GPU_GROUP_NAME_LABEL, GPU_GROUP_REPLICA_LABEL
from workbench.objects.metadata import Metadata
from workbench.objects.pod import Pod, PodSpec


def pod(
    name: str, node: str, gpus: int = 0, held: object = None, labels: dict[str, str] | None = None
) -> tuple[Pod, str]:
    annotations = {}
    if held is not None:
        text = held if isinstance(held, str) else json.dumps({"allocatedGPUs": held, "visibleGPUs": []})
        annotations["topology.scheduling.koordinator.sh/gpu"] = text
    requests = {"cpu": 1, "nvidia.com/gpu": gpus}
    metadata = Metadata(name, "ns", labels=labels or {}, annotations=annotations)
    return Pod(metadata, PodSpec(requests, node_name=node), "Running"), "ns/g"


INDEX = {"n0": 0, "n1": 1}


def test_recorded_gpus_are_held() -> None:
    running, free, gaps = running_pods([pod("a", "n0", 3, {"0": ["4", "5"], "1": ["1"]})], INDEX, [0xFF, 0xFF])
    assert running[0].gpu_mask == 0b110010
    assert (running[0].gang, running[0].node) == ("ns/g", 0)
    assert free == [0b11001101, 0xFF]
    assert gaps == []


def test_the_gpu_group_is_read_from_the_labels() -> None:
    labels = {GPU_GROUP_NAME_LABEL: "x", GPU_GROUP_REPLICA_LABEL: "2"}
    running, _, _ = running_pods([pod("a", "n0", labels=labels), pod("b", "n0")], INDEX, [0xFF, 0xFF])
    assert [p.gpu_group for p in running] == [GpuGroup("x", 2), None]


def test_pods_without_a_record_get_the_lowest_gpus_after_all_recorded_ones() -> None:
    running, free, gaps = running_pods([pod("a", "n0", 2), pod("b", "n0", 2, {"0": ["0", "2"]})], INDEX, [0b11111, 0])
    assert [p.gpu_mask for p in running] == [0b01010, 0b00101]
    assert free[0] == 0b10000
    assert said(gaps) == ("1 running pod does not say which GPUs it holds: the lowest free ones are taken",)


def test_a_record_that_cannot_be_read_counts_as_none() -> None:
    for text in (
        "{",
        "[]",
        '{"allocatedGPUs": 3}',
        '{"allocatedGPUs": {"0": ["x"]}}',
        '{"allocatedGPUs": {"0": [5000]}}',
    ):
        running, _, gaps = running_pods([pod("a", "n0", 1, text)], INDEX, [0b1, 0])
        assert running[0].gpu_mask == 1
        assert len(gaps) == 1


def test_contradictions_are_named() -> None:
    pods = [pod("a", "n0", 1, {"0": ["0"]}), pod("b", "n0", 1, {"0": ["0"]}), pod("c", "n1", 3), pod("d", "gone", 1)]
    running, free, gaps = running_pods(pods, INDEX, [0b11, 0b1])
    assert free == [0b10, 0]
    assert running[3].node == -1
    assert said(gaps) == (
        "1 running pod does not say which GPUs it holds: the lowest free ones are taken",
        "1 running pod asks for more GPUs than its node has left",
        "1 running pod holds GPUs that its node does not have or that another pod holds",
        "1 running pod is on a node that is not in the input",
    )


def test_several_pods_are_named_in_the_plural() -> None:
    assert said(Doubts(2, 3, 4, 5).gaps()) == (
        "2 running pods do not say which GPUs they hold: the lowest free ones are taken",
        "3 running pods ask for more GPUs than their node has left",
        "4 running pods hold GPUs that their node does not have or that another pod holds",
        "5 running pods are on nodes that are not in the input",
    )


def test_a_pod_is_in_the_queue_of_its_gang() -> None:
    pods = [(pod("a", "n0", 0)[0], "default/j"), (pod("b", "n0", 0)[0], "")]
    running, _, _ = running_pods(pods, INDEX, [0, 0], {"default/j": "blue"})
    assert [p.queue for p in running] == ["blue", ""]

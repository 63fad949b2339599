"""What labels and annotations of pods say about the whole gang."""

from __future__ import annotations

import pytest

from workbench.jobs.roles import gpu_group_of
from workbench.model.extras import GpuGroup
from workbench.objects.admission.gpu_group import GPU_GROUP_NAME_LABEL, GPU_GROUP_REPLICA_LABEL


def test_the_labels_name_a_gpu_group() -> None:
    assert gpu_group_of({GPU_GROUP_NAME_LABEL: "a", GPU_GROUP_REPLICA_LABEL: "3"}) == GpuGroup("a", 3)
    assert gpu_group_of({GPU_GROUP_REPLICA_LABEL: "3"}) is None


@pytest.mark.parametrize("replica", ["0", "-1", "two", "²", "9" * 5000])
def test_a_replica_that_is_no_whole_number_above_0_names_no_group(replica: str) -> None:
    assert gpu_group_of({GPU_GROUP_NAME_LABEL: "a", GPU_GROUP_REPLICA_LABEL: replica}) is None

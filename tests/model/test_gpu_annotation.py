from __future__ import annotations

import pytest

from workbench.errors import InputError
from workbench.model.gpu_annotation import container_environment

EXAMPLE = '{"allocatedGPUs":{"0":["4","6"],"2":["5"]},"visibleGPUs":["4","5","6","7"]}'


def test_a_container_counts_among_the_gpus_that_it_sees() -> None:
    assert container_environment(EXAMPLE, 0) == {"NVIDIA_VISIBLE_DEVICES": "4,5,6,7", "CUDA_VISIBLE_DEVICES": "0,2"}
    assert container_environment(EXAMPLE, 2)["CUDA_VISIBLE_DEVICES"] == "1"


def test_the_documents_reading_has_the_hosts_numbers() -> None:
    assert container_environment(EXAMPLE, 0, "host")["CUDA_VISIBLE_DEVICES"] == "4,6"


def test_a_container_without_gpus_gets_no_variables() -> None:
    assert container_environment(EXAMPLE, 1) == {}


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"allocatedGPUs":{"0":["9"]},"visibleGPUs":["4"]}', '{"allocatedGPUs":[],"visibleGPUs":[]}'],
)
def test_what_gives_no_gpus_is_bad_input(text: str) -> None:
    with pytest.raises(InputError, match="gives no GPUs"):
        container_environment(text, 0)

from __future__ import annotations

from workbench.model.gpu_annotation import chosen_environment, shell_line


def test_a_chosen_set_is_told_in_the_variables_of_its_vendor() -> None:
    assert chosen_environment([4, 6]) == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "4,6"}
    assert chosen_environment([0], ["GPU0", "GPU1"]) == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "0"}
    assert chosen_environment([1, 0], ["NPU0", "NPU1"]) == {"ASCEND_RT_VISIBLE_DEVICES": "1,0"}
    assert chosen_environment([1], ["Phy-ID0", "Phy-ID1"]) == {"ASCEND_RT_VISIBLE_DEVICES": "1"}
    assert chosen_environment([]) == {}


def test_variables_stand_in_a_line_before_a_command() -> None:
    line = shell_line(chosen_environment([4, 6]))
    assert line == "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=4,6"
    assert shell_line({}) == ""

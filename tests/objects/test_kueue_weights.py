"""Weights of fair sharing that no Quantity of Kubernetes holds."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.errors import InputError
from workbench.model.resources import MAX_AMOUNT
from workbench.objects.admission.kueue_queues import cohort_faults
from workbench.objects.kueue.queues import read_cohort


def cohort(weight: Any) -> dict[str, Any]:
    return {"metadata": {"name": "c"}, "spec": {"fairSharing": {"weight": weight}}}


def test_a_weight_beyond_all_quantities_is_the_largest_one() -> None:
    assert read_cohort(cohort("1e400")).cohort.weight == float(MAX_AMOUNT)


@pytest.mark.parametrize("weight", [True, "", {}, "2x"])
def test_what_is_no_quantity_is_told_with_its_field(weight: Any) -> None:
    with pytest.raises(InputError, match=r"spec\.fairSharing\.weight"):
        read_cohort(cohort(weight))
    with pytest.raises(InputError, match=r"spec\.fairSharing\.weight"):
        cohort_faults(cohort(weight)["spec"])

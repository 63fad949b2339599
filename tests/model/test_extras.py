from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from workbench.errors import InputError
from workbench.model.extras import AscendWish, Extra, KoordinatorWish, VolcanoMemory, extras_of
from workbench.model.gang import Gang, Role

GANG = Gang("d", "j", (Role("w", 2, {"cpu": 1000}),), 2)


@dataclass(frozen=True)
class Shards(Extra):
    """An extra of a scheduler that the package does not know."""

    count: int = 1


def test_a_gang_answers_the_extra_of_a_class_or_the_empty_one() -> None:
    gang = GANG.with_extra(Shards(3), AscendWish("common"))
    assert (gang.extra(Shards), gang.extra(AscendWish).job_class) == (Shards(3), "common")
    assert gang.extra(VolcanoMemory) == VolcanoMemory() and GANG.extra(Shards) == Shards()


def test_an_extra_takes_the_place_of_that_of_its_class_and_an_empty_one_removes_it() -> None:
    gang = GANG.with_extra(Shards(3), KoordinatorWish(gang_groups=("d/a",)))
    assert gang.with_extra(Shards(4)).extra(Shards) == Shards(4)
    assert gang.with_extra(Shards()).extras == extras_of(KoordinatorWish(gang_groups=("d/a",)))


@pytest.mark.parametrize("given", ["common", AscendWish, None])
def test_only_extras_are_extras(given: Any) -> None:
    with pytest.raises(InputError, match="not an extra"):
        GANG.with_extra(given)


@pytest.mark.parametrize("given", ["AscendWish", Gang, None])
def test_an_extra_is_asked_for_by_its_class(given: Any) -> None:
    with pytest.raises(InputError, match="not a class of extras"):
        GANG.extra(given)

from __future__ import annotations

from itertools import combinations

import pytest

from workbench.report.colours import heat, ink_on, job_colours


def channels(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def test_a_dozen_jobs_have_colours_of_their_own_far_apart() -> None:
    looks = job_colours(12)
    assert not any(look.hatched for look in looks)
    for one, other in combinations(looks, 2):
        apart = sum(abs(a - b) for a, b in zip(channels(one.colour), channels(other.colour)))
        assert apart > 60


def test_the_second_dozen_is_hatched_and_the_rest_grey() -> None:
    looks = job_colours(26)
    assert len(set(looks[:24])) == 24 and all(look.hatched for look in looks[12:24])
    assert looks[24] == looks[25]


@pytest.mark.parametrize("value", [-1.0, 0.0, 0.3, 1.0, 2.0])
def test_heat_runs_from_dark_to_light_within_its_ends(value: float) -> None:
    assert sum(channels(heat(0.0))) <= sum(channels(heat(value))) <= sum(channels(heat(1.0)))


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        linear = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in channels(colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colour", [*(look.colour for look in job_colours(12)), *(heat(i / 8) for i in range(9))])
def test_text_on_every_colour_is_readable(colour: str) -> None:
    assert contrast(colour, ink_on(colour)) >= 4.5

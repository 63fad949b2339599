from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from workbench.report.colours import heat, ink_on, job_colours, tier_colour

#: Grounds of the pages: the report's in both themes, and JupyterLab's.
GROUNDS = ("#ffffff", "#15181c", "#111111")
TIERS = [tier_colour(tier) for tier in range(1, 7)]


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


@pytest.mark.parametrize(
    "colour", [*(look.colour for look in job_colours(12)), *(heat(i / 8) for i in range(9)), *TIERS]
)
def test_text_on_every_colour_is_readable(colour: str) -> None:
    assert contrast(colour, ink_on(colour)) >= 4.5


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("colour", TIERS)
def test_a_tier_stands_out_from_the_page_in_every_theme(colour: str, ground: str) -> None:
    # 3 is what WCAG 2 asks of parts of a drawing.
    assert contrast(colour, ground) >= 3.0


def test_from_the_seventh_tier_on_the_colours_repeat() -> None:
    assert len(set(TIERS)) == 6
    assert (tier_colour(7), tier_colour(0)) == (TIERS[0], TIERS[0])


#: What people with a kind of colour blindness see: linear RGB to linear RGB (Machado, Oliveira and Fernandes, 2009).
SEEN = {
    "full": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour: str, kind: str) -> np.ndarray:
    """CIE L*a*b* of a colour as it is seen."""
    linear = np.array([c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in channels(colour)])
    xyz = _XYZ @ np.clip(SEEN[kind] @ linear, 0, 1) / (0.9505, 1.0, 1.089)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("kind", SEEN)
def test_tiers_are_told_apart_with_the_common_kinds_of_colour_blindness(kind: str) -> None:
    # Two colours side by side differ visibly from a distance of about 2.3 on.
    assert min(np.linalg.norm(lab(a, kind) - lab(b, kind)) for a, b in combinations(TIERS, 2)) > 10

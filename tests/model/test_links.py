from __future__ import annotations

import numpy as np
import pytest

from tests.machines import koordinator_matrix_a
from workbench.errors import InputError
from workbench.model.bandwidth import BandwidthMatrix, SuspiciousLinks
from workbench.model.links import class_speeds_gb_s, link_class_table, pairs_text, suspicious_links


def test_classes_have_ranges_and_the_noise_inside():
    classes = link_class_table(BandwidthMatrix(koordinator_matrix_a()))
    assert [(c.low_gb_s, c.high_gb_s, c.n_links) for c in classes] == [
        (4.64, 5.0, 2),
        (14.62, 17.59, 22),
        (48.33, 48.39, 16),
        (96.20, 96.48, 16),
    ]
    assert classes[0].noise == pytest.approx(0.18 / 4.82)
    assert [c.noise > 0.01 for c in classes] == [True, True, False, False]


def test_a_class_of_zeros_has_no_noise_and_one_gpu_no_class():
    assert [c.noise for c in link_class_table(BandwidthMatrix([[0, 0], [0, 0]]))] == [0.0]
    assert link_class_table(BandwidthMatrix([[7.0]])) == ()


def test_classes_are_named_by_their_types_the_most_frequent_first():
    gb_s = [[0, 50, 10, 10], [50, 0, 10, 10.5], [10, 10, 0, 50], [10, 10, 50, 0]]
    types = [["", "NV2", "SYS", "SYS"], ["NV2", "", "SYS", "PHB"], ["A", "B", "", "NV2"], ["SYS", "SYS", "NV2", ""]]
    assert [c.name for c in link_class_table(BandwidthMatrix(gb_s, link_types=types))] == ["SYS/A/B/…", "NV2"]
    assert [c.name for c in link_class_table(BandwidthMatrix(gb_s))] == ["", ""]


def test_noise_inside_a_class_becomes_the_median_of_the_class():
    speeds = class_speeds_gb_s(BandwidthMatrix(koordinator_matrix_a()))
    medians = [c.median_gb_s for c in link_class_table(BandwidthMatrix(koordinator_matrix_a()))]
    assert np.unique(speeds).tolist() == [0.0, *medians]
    assert np.diag(speeds).tolist() == [0.0] * 8
    assert speeds[1, 4] == speeds[4, 0] == 4.82


def test_a_class_too_wide_for_noise_keeps_its_values():
    # Neighbours differ by less than 10 %, the ends by a third; of the last three by a quarter, which may be noise.
    chain = [12.0, 12.9, 13.9, 14.9, 16.0]
    gb_s = [[0, *chain], *[[100.0] * 6] * 5]
    matrix = BandwidthMatrix(gb_s)
    assert [c.is_noise for c in link_class_table(matrix)] == [False, True]
    assert class_speeds_gb_s(matrix)[0].tolist() == [0, *chain]
    noise = class_speeds_gb_s(BandwidthMatrix([[0, 12.8, 13.9], [14.9, 0, 16.0], [100, 100, 0]]))
    assert np.unique(noise[:2]).tolist() == [0.0, pytest.approx(14.4)]


def test_links_of_different_names_keep_apart_within_a_class():
    gb_s = [[0, 20.0, 20.4], [21.0, 0, 21.6], [20.2, 21.3, 0]]
    types = [["", "PXB", "PXB"], ["PIX", "", "PIX"], ["PXB", "PIX", ""]]
    assert class_speeds_gb_s(BandwidthMatrix(gb_s, link_types=types)).tolist() == [
        [0, 20.2, 20.2],
        [21.3, 0, 21.3],
        [20.2, 21.3, 0],
    ]
    # One name does not hide a link that is slower than noise can make it.
    named = [["", "NV2", "NV2"], ["NV2", "", "NV2"], ["NV2", "NV2", ""]]
    slow = BandwidthMatrix([[0, 48, 48.2], [48, 0, 48], [5, 48, 0]], link_types=named)
    assert class_speeds_gb_s(slow).tolist() == [[0, 48, 48], [48, 0, 48], [5, 48, 0]]


def test_no_link_stays_none_and_one_gpu_has_no_speed():
    assert class_speeds_gb_s(BandwidthMatrix([[3, 0], [5, 4]])).tolist() == [[0, 0], [5, 0]]
    assert class_speeds_gb_s(BandwidthMatrix([[7.0]])).tolist() == [[0]]


def test_link_types_are_square_and_frozen():
    matrix = BandwidthMatrix(np.ones((2, 2)), link_types=[["", "a"], ["b", ""]])
    assert matrix.link_types == (("", "a"), ("b", ""))
    assert matrix == BandwidthMatrix(np.ones((2, 2)))
    with pytest.raises(InputError, match="link types of another size"):
        BandwidthMatrix(np.ones((2, 2)), link_types=[["", "a"]])


def test_a_direction_below_four_fifths_of_the_other_is_slow():
    assert suspicious_links(BandwidthMatrix([[0, 80], [100, 0]])) == ()
    (slow,) = suspicious_links(BandwidthMatrix([[0, 79], [100, 0]]))
    assert (slow.code, slow.pairs) == ("one-slow-direction", ((0, 1),))
    assert slow.message == "one slow direction: 0 → 1 has 79 GB/s, 1 → 0 100"


def test_what_the_source_doubted_comes_after():
    given = SuspiciousLinks("p2p-disabled", ((0, 1),), "P2P is disabled")
    matrix = BandwidthMatrix([[0, 1], [9, 0]], suspicious=[given])
    assert [doubt.code for doubt in suspicious_links(matrix)] == ["one-slow-direction", "p2p-disabled"]
    assert given.to_dict() == {"code": "p2p-disabled", "pairs": [[0, 1]], "message": "P2P is disabled"}


def test_many_slow_directions_are_counted():
    gb_s = np.triu(np.full((4, 4), 10.0)) + np.tril(np.full((4, 4), 1.0))
    (slow,) = suspicious_links(BandwidthMatrix(gb_s))
    assert len(slow.pairs) == 6 and slow.message.endswith("; and 2 more")


def test_pairs_in_words():
    assert pairs_text([(0, 1), (1, 0)], 2) == "between all GPUs"
    assert pairs_text([(0, 1), (2, 0)], 3) == "0 → 1, 2 → 0"
    assert pairs_text([(0, i) for i in range(1, 8)], 8) == "0 → 1, 0 → 2, 0 → 3, 0 → 4 and 3 more"

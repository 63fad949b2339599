from __future__ import annotations

import numpy as np
import pytest

from tests.machines import koordinator_matrix_a
from workbench.errors import InputError
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.links import SuspiciousLinks, link_class_table, pairs_text, suspicious_links


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

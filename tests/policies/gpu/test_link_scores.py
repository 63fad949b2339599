from __future__ import annotations

import numpy as np
import pytest

from tests.machines import koordinator_matrix_a, koordinator_matrix_b
from workbench.errors import InputError
from workbench.model.bandwidth import BandwidthMatrix
from workbench.policies.gpu.link_scores import link_score, pair_scores
from workbench.topology.machines import ONE_LINK, TWO_LINKS, dgx1_v100, hgx_h100


@pytest.mark.parametrize(
    ("name", "want"),
    [("NV1", 100), ("NV18", 1800), ("SYS", 10), ("PIX", 50), ("XGMI", 0), ("NV", 0), ("", 0), ("NV2+NODE", 220)],
)
def test_points_of_a_link_type(name, want):
    assert link_score(name) == want


def test_link_types_count_where_the_matrix_has_them_the_better_direction_of_two():
    types = (("X", "NV2", "SYS"), ("NV1", "X", "PIX"), ("SYS", "PIX", "X"))
    matrix = BandwidthMatrix(np.ones((3, 3)), link_types=types)
    assert pair_scores(matrix).tolist() == [[0, 200, 10], [200, 0, 50], [10, 50, 0]]


def test_types_that_the_allocator_does_not_know_are_guessed_from_the_classes():
    fast = np.array([[0, 48, 12], [48, 0, 12], [12, 12, 0]])
    types = (("X", "XGMI", "PCIE"), ("XGMI", "X", "PCIE"), ("PCIE", "PCIE", "X"))
    assert pair_scores(BandwidthMatrix(fast, link_types=types)).tolist() == [[0, 100, 10], [100, 0, 10], [10, 10, 0]]


@pytest.mark.parametrize("gb_s", [dgx1_v100().gb_s, koordinator_matrix_a(), koordinator_matrix_b()])
def test_a_measured_cube_mesh_gives_its_links_slow_directions_or_not(gb_s):
    want = np.full((8, 8), 10)
    for pairs, points in ((TWO_LINKS, 200), (ONE_LINK, 100)):
        for a, b in pairs:
            want[a, b] = want[b, a] = points
    np.fill_diagonal(want, 0)
    # The documents' machine numbers its GPUs otherwise: compare how many pairs have which points.
    assert sorted(pair_scores(BandwidthMatrix(gb_s)).ravel()) == sorted(want.ravel())


def test_a_model_with_types_has_their_points():
    assert set(pair_scores(hgx_h100())[~np.eye(8, dtype=bool)]) == {1800}


def test_one_class_is_one_link_and_no_link_is_nothing():
    assert set(pair_scores(BandwidthMatrix(hgx_h100().gb_s))[~np.eye(8, dtype=bool)]) == {100}
    assert pair_scores(BandwidthMatrix([[0, 9, 0], [9, 0, 0], [0, 0, 0]])).tolist() == [
        [0, 100, 0],
        [100, 0, 0],
        [0] * 3,
    ]


@pytest.mark.parametrize("gb_s", [1e25, 1e300])
def test_a_pair_that_cannot_be_so_fast_has_at_most_the_links_that_a_name_can_have(gb_s):
    matrix = koordinator_matrix_a().copy()
    matrix[1, 2] = matrix[0, 3] = gb_s
    assert pair_scores(BandwidthMatrix(matrix))[1, 2] == link_score("NV99")


def test_link_types_of_another_size_are_refused():
    with pytest.raises(InputError, match="link types of another size"):
        BandwidthMatrix(np.ones((3, 3)), link_types=(("X", "NV1"), ("NV1", "X")))

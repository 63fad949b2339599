from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.model.labels import (
    NODE_NAME_FIELD,
    FilterCache,
    NodeFilter,
    NodeLabels,
    NodeTaints,
    Requirement,
    Taint,
    Toleration,
)

LABELS = [{"zone": "a", "gpus": "8"}, {"zone": "b", "gpus": "16"}, {"gpus": "many"}]
COLUMNS = NodeLabels.from_rows(["n0", "n1", "n2"], LABELS)


@pytest.mark.parametrize(
    ("requirement", "want"),
    [
        (Requirement("zone", "In", ("a", "c")), [True, False, False]),
        (Requirement("zone", "NotIn", ("a",)), [False, True, True]),
        (Requirement("zone", "Exists"), [True, True, False]),
        (Requirement("zone", "DoesNotExist"), [False, False, True]),
        (Requirement("gpus", "Gt", ("8",)), [False, True, False]),
        (Requirement("gpus", "Lt", ("16",)), [True, False, False]),
        (Requirement("absent", "Exists"), [False, False, False]),
        (Requirement("absent", "NotIn", ("x",)), [True, True, True]),
        (Requirement(NODE_NAME_FIELD, "In", ("n2",)), [False, False, True]),
    ],
)
def test_a_condition_means_the_same_for_columns_and_for_one_object(requirement, want):
    assert COLUMNS.mask(requirement).tolist() == want
    if requirement.key != NODE_NAME_FIELD:
        assert [requirement.holds(row) for row in LABELS] == want


def test_a_row_comes_back_as_it_was_given():
    assert COLUMNS.rows() == LABELS
    assert [COLUMNS.row(i) for i in range(len(LABELS))] == LABELS


_ROW = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"))


@given(st.lists(st.tuples(_ROW, _ROW, st.booleans()), min_size=1, max_size=5))
def test_changed_rows_make_the_columns_that_all_rows_make(rows):
    names = [f"n{i}" for i in range(len(rows))]
    now = [after if changes else before for before, after, changes in rows]
    changed = [i for i, (_, _, changes) in enumerate(rows) if changes]
    patched = NodeLabels.from_rows(names, [before for before, _, _ in rows]).with_rows(changed, now.__getitem__)
    want = NodeLabels.from_rows(names, now)
    assert {key: (codes.tolist(), values) for key, (codes, values) in patched.columns.items()} == {
        key: (codes.tolist(), values) for key, (codes, values) in want.columns.items()
    }
    assert list(patched.columns) == list(want.columns)
    assert not any(codes.flags.writeable for codes, _ in patched.columns.values())


_TAINTS = st.lists(st.sampled_from([Taint("a", "", "NoSchedule"), Taint("b", "", "NoExecute")]), max_size=2)


@given(st.lists(st.tuples(_TAINTS, _TAINTS, st.booleans()), min_size=1, max_size=5))
def test_changed_taints_make_the_sets_that_all_taints_make(rows):
    changed = {i: after for i, (_, after, changes) in enumerate(rows) if changes}
    patched = NodeTaints.from_rows([before for before, _, _ in rows]).with_rows(changed)
    want = NodeTaints.from_rows([after if changes else before for before, after, changes in rows])
    assert (patched.sets, patched.codes.tolist()) == (want.sets, want.codes.tolist())


@pytest.mark.parametrize(
    ("toleration", "covers"),
    [
        (Toleration(key="gpu", value="yes", effect="NoSchedule"), True),
        (Toleration(key="gpu", value="no"), False),
        (Toleration(key="gpu", operator="Exists"), True),
        (Toleration(operator="Exists"), True),
        (Toleration(key="gpu", operator="Exists", effect="NoExecute"), False),
        (Toleration(value="yes"), False),
    ],
)
def test_which_tolerations_cover_a_taint(toleration, covers):
    assert toleration.covers(Taint("gpu", "yes", "NoSchedule")) is covers


def test_a_filter_joins_selector_affinity_taints_and_cordons():
    taints = NodeTaints.from_rows([(), (Taint("gpu", "yes", "NoSchedule"),), (Taint("x", "", "PreferNoSchedule"),)])
    cache = FilterCache(COLUMNS, taints, np.array([False, False, False]))
    assert cache.mask(NodeFilter()).tolist() == [True, False, True]
    tolerant = (Toleration(operator="Exists"),)
    assert cache.mask(NodeFilter(tolerations=tolerant)).tolist() == [True, True, True]
    either = NodeFilter(
        any_of=((Requirement("zone", "In", ("a",)),), (Requirement("gpus", "In", ("many",)),)), tolerations=tolerant
    )
    assert cache.mask(either).tolist() == [True, False, True]
    assert cache.mask(NodeFilter(any_of=((),))).tolist() == [False, False, False]
    cordoned = FilterCache(COLUMNS, taints, np.array([True, False, False]))
    assert cordoned.mask(NodeFilter()).tolist() == [False, False, True]

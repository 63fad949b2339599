"""Conformance with the real schedulers, case by case; see `cases/*/README.md` and CONTRIBUTING.

``pytest tests/conformance --cases DIR`` runs another folder of cases through the same runners.
"""

from __future__ import annotations

import pytest

from tests.conformance.runners import AREAS


def test_case(conformance_item):
    if conformance_item.problem:
        pytest.fail(conformance_item.problem)
    AREAS[conformance_item.area].run(conformance_item.file, conformance_item.case)

from __future__ import annotations

import pickle
import sys

import pytest

import workbench.jobs
from workbench.model.deferred import Deferred, deferred_names


def test_the_module_is_imported_at_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    later = Deferred("colorsys:rgb_to_hls")
    assert "colorsys" not in sys.modules
    assert later(0, 0, 0) == (0.0, 0, 0.0)
    assert pickle.loads(pickle.dumps(later)) == later
    assert later.load() is sys.modules["colorsys"].rgb_to_hls


def test_names_of_a_package_are_loaded_and_others_refused() -> None:
    get = deferred_names("workbench.jobs", {"expand_job": "expand"})
    assert get("expand_job") is workbench.jobs.expand_job
    with pytest.raises(AttributeError, match=r"module 'workbench.jobs' has no attribute 'expnd'"):
        get("expnd")

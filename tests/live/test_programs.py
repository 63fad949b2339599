from __future__ import annotations

from pathlib import Path

import pytest

from workbench.live.kubernetes import control_plane as programs


def test_a_named_folder_without_the_programs_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other release takes the place of the named one."""
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    assert programs.programs() is None
    assert programs.missing_programs() == f"KUBEBUILDER_ASSETS={tmp_path} lacks etcd or kube-apiserver"


def test_the_cache_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(programs, "_INSTALLED", tmp_path / "installed")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "make control-plane" in programs.missing_programs()
    built = tmp_path / "topology-workbench" / "control-plane" / "current"
    for folder in (built, tmp_path / "installed"):
        folder.mkdir(parents=True)
        for name in ("etcd", "kube-apiserver"):
            (folder / name).touch(mode=0o755)
        assert programs.programs() == folder

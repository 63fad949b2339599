"""Where etcd and kube-apiserver are found: named by a variable, installed, or built by ``make control-plane``."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

__all__ = ["cache_folder", "missing_programs", "programs"]

_NEEDED = ("etcd", "kube-apiserver")
_INSTALLED = Path("/usr/local/kubebuilder/bin")


def cache_folder() -> Path:
    """The folder of this package in the user's cache."""
    home = os.environ.get("XDG_CACHE_HOME")
    root = Path(home) if home else Path.home() / ".cache"
    return root / "topology-workbench"


def programs() -> Path | None:
    """The folder that holds etcd and kube-apiserver; None if there is none.

    KUBEBUILDER_ASSETS is asked first, then /usr/local/kubebuilder/bin, setup-envtest, and the cache that
    ``make control-plane`` fills.
    """
    if named := os.environ.get("KUBEBUILDER_ASSETS"):
        # Named, so no other release takes its place unnoticed.
        return Path(named) if _is_whole(Path(named)) else None
    built = cache_folder() / "control-plane" / "current"
    return next((one for one in (_INSTALLED, _envtest(), built) if one is not None and _is_whole(one)), None)


def missing_programs() -> str:
    """Why no control plane can be started; empty: one can."""
    if programs() is not None:
        return ""
    if named := os.environ.get("KUBEBUILDER_ASSETS"):
        return f"KUBEBUILDER_ASSETS={named} lacks etcd or kube-apiserver"
    return "etcd and kube-apiserver are not installed (make control-plane builds them, or set KUBEBUILDER_ASSETS)"


def _envtest() -> Path | None:
    """The newest release that setup-envtest has installed; None without that program or a release."""
    tool = shutil.which("setup-envtest")
    if tool is None:
        return None
    asked = subprocess.run([tool, "use", "-i", "-p", "path"], capture_output=True, text=True, timeout=30)
    return Path(asked.stdout.strip()) if asked.returncode == 0 and asked.stdout.strip() else None


def _is_whole(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in _NEEDED)

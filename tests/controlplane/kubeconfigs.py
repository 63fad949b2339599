"""kubeconfig files for the API server of the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.controlplane.server import ControlPlane

__all__ = ["kubeconfig"]


def kubeconfig(plane: ControlPlane, path: Path, user: str = "admin", **credentials: Any) -> Path:
    """Write a kubeconfig with the context ``test``.

    Parameters
    ----------
    plane : ControlPlane
    path : Path
        File to write.
    user : str
        One of the users of the API server.
    **credentials
        Settings of the user instead of its token.
    """
    cluster = {"server": plane.url, "certificate-authority": str(plane.ca_file)}
    settings = credentials or {"token": plane.tokens[user]}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "here", "user": user}}],
        "clusters": [{"name": "here", "cluster": cluster}],
        "users": [{"name": user, "user": settings}],
    }
    path.write_text(yaml.safe_dump(content), "utf-8")
    return path

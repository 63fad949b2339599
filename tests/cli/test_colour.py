"""NO_COLOR: no escape code, on a terminal either."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest


def on_a_terminal(*arguments: object, **environment: str) -> str:
    """What a command writes to a real terminal, stdout and stderr together."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "workbench", *map(str, arguments)],
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm-256color", **environment},
    ):
        os.close(slave)
        written = b""
        while part := _read(master):
            written += part
    os.close(master)
    return written.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux's way of saying that the other end is closed
        return b""


@pytest.mark.slow
def test_no_colour_means_no_escape_code(files: Path) -> None:
    command = ("compare", files / "cluster.yaml", files / "fits.yaml", "--policies", "gang,spread")
    assert "\x1b" in on_a_terminal(*command)
    assert "\x1b" not in on_a_terminal(*command, NO_COLOR="1")

"""Access to network endpoints, always only the one that the user named.

`take_snapshot` reads a live Kubernetes cluster once, `LiveView` follows it, and `Recording` replays what was followed.
No other package of the workbench opens sockets.

Examples
--------
>>> import workbench as wb
>>> wb.live.is_recording("cluster.yaml")
False
"""

from __future__ import annotations

from workbench.control.views import JobRow
from workbench.live.kubernetes.configuration import contexts
from workbench.live.kubernetes.doctor import examine_cluster
from workbench.live.kubernetes.snapshot import LiveSnapshot, take_snapshot
from workbench.live.kubernetes.view import LiveView
from workbench.live.recording import Recording, is_recording, record

__all__ = [
    "JobRow",
    "LiveSnapshot",
    "LiveView",
    "Recording",
    "contexts",
    "examine_cluster",
    "is_recording",
    "record",
    "take_snapshot",
]

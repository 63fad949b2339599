"""Access to network endpoints, always only the one that the user named.

`take_snapshot` reads a live Kubernetes cluster once, and `LiveView` follows it. No other package of the workbench opens
sockets.
"""

from __future__ import annotations

from workbench.control.views import JobRow
from workbench.live.kubernetes.configuration import contexts
from workbench.live.kubernetes.doctor import examine_cluster
from workbench.live.kubernetes.snapshot import LiveSnapshot, take_snapshot
from workbench.live.kubernetes.view import LiveView

__all__ = ["JobRow", "LiveSnapshot", "LiveView", "contexts", "examine_cluster", "take_snapshot"]

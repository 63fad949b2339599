"""Access to network endpoints, always only the one that the user named.

`take_snapshot` reads a live Kubernetes cluster. No other package of the workbench opens sockets.
"""

from __future__ import annotations

from workbench.live.kubernetes.doctor import examine_cluster
from workbench.live.kubernetes.snapshot import LiveSnapshot, take_snapshot

__all__ = ["LiveSnapshot", "examine_cluster", "take_snapshot"]

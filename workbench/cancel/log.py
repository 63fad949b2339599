"""`LOG`: the logger ``workbench``, to which live clusters, the operator and studies report.

It is silent until somebody configures logging, such as ``logging.basicConfig(level=logging.INFO)``. The command line
has lines of its own (`workbench.cli.output`).
"""

from __future__ import annotations

import logging

__all__ = ["LOG"]

LOG = logging.getLogger("workbench")
# Otherwise Python itself prints warnings that nobody asked for.
LOG.addHandler(logging.NullHandler())

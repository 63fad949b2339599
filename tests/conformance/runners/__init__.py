"""One module per area of conformance cases."""

from __future__ import annotations

from tests.conformance.runners import gpu, switch_affinity, volcano_topology

#: Sub-folder of the cases -> its runners.
AREAS = {runners.area: runners for runners in (gpu.RUNNERS, switch_affinity.RUNNERS, volcano_topology.RUNNERS)}

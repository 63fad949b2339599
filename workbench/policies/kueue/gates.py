"""Kueue's feature gates, with the defaults of release 0.19."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

__all__ = ["Gates"]


@dataclass(frozen=True)
class Gates:
    """Feature gates that change a placement or a scheduling cycle; the names are upstream's.

    Gates that change only the speed of Kueue are not here.
    """

    TASProfileMixed: bool = True
    TASBalancedPlacement: bool = False
    TASMultiLayerTopology: bool = True
    TASRespectNodeAffinityPreferred: bool = False
    TASHandleOverlappingFlavors: bool = True
    TASFailedNodeReplacement: bool = True
    TASFailedNodeReplacementFailFast: bool = True
    TASReplaceNodeOnPodTermination: bool = True
    TASReplaceNodeOnNodeTaints: bool = True
    TASReplaceNodeDueToNotReadyOverFixedTime: bool = False
    TASRecomputeAssignmentWithinSchedulingCycle: bool = True
    SkipReassignmentForPodOwnedWorkloads: bool = True
    ElasticJobsViaWorkloadSlices: bool = False
    ElasticJobsViaWorkloadSlicesWithTAS: bool = False

    @classmethod
    def of(cls, changed: Mapping[str, bool]) -> Gates:
        """The defaults with the named gates changed; gates that are not modelled are ignored."""
        known = {each.name for each in fields(cls)}
        return cls(**{name: on for name, on in changed.items() if name in known})

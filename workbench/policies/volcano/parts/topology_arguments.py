"""Arguments of the plugin network-topology-aware, as a release of Volcano reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.model.release import Release
from workbench.model.scheduler_config import PluginOption

__all__ = ["TopologyArguments"]


@dataclass(frozen=True)
class TopologyArguments:
    """Arguments of the plugin network-topology-aware after defaults are filled in and invalid values are replaced.

    1.13 knows only the weight, and takes a negative one as it is; the other arguments keep their defaults. Source:
    docs/reference/volcano-topology.md, section 8.

    Attributes
    ----------
    weight : int
        Weight of the plugin's scores.
    cpu, memory : int
        Weights in the packing of HyperNodes.
    resources : mapping of str to int
        Weights of further resources.
    normal_pod_enable : bool
        Whether pods without a topology constraint are scored, too.
    normal_pod_fading : float
        Factor by which each wider tier weighs less for such pods; 0: only tier 1 counts.
    max_hypernodes_for_eviction : int
        Most HyperNodes that are tried for eviction.
    """

    weight: int = 1
    cpu: int = 1
    memory: int = 1
    resources: Mapping[str, int] = field(default_factory=dict)
    normal_pod_enable: bool = True
    normal_pod_fading: float = 0.8
    max_hypernodes_for_eviction: int = 8

    @classmethod
    def of(cls, option: PluginOption, release: Release) -> TopologyArguments:
        """Read the plugin's arguments from a configuration as the given release of Volcano reads them."""
        if release is Release.V1_13:
            return cls(option.integer("weight", 1))

        prefix = "hypernode.binpack."
        fading = option.number(f"{prefix}normal-pod.fading", 0.8)
        most = option.integer("hypernode.gradient.evict.max-hypernodes", 8)
        return cls(
            weight=option.weight("weight"),
            cpu=option.weight(f"{prefix}cpu"),
            memory=option.weight(f"{prefix}memory"),
            resources={name: option.weight(f"{prefix}resources.{name}") for name in option.names(f"{prefix}resources")},
            normal_pod_enable=option.flag(f"{prefix}normal-pod.enable", True),
            normal_pod_fading=0.8 if fading < 0 else fading,
            max_hypernodes_for_eviction=8 if most <= 0 else most,
        )

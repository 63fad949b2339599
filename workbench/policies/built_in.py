"""`Entry`, a policy as the registry holds it, and `BUILT_IN`, the entries of our own policies.

An entry names classes by where they stand: a policy is imported when it is made or described, not with the registry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from workbench.model.deferred import Deferred
from workbench.policies.composed import Composed
from workbench.policies.contract import Policy
from workbench.policies.gpu.base import GpuPolicy
from workbench.policies.node_policy import NodePolicy
from workbench.policies.parameters import NoParameters

__all__ = ["ALIASES", "BUILT_IN", "Entry"]


@dataclass(frozen=True)
class Entry:
    """A policy as it stands in the registry: its name, how it is made, and its parameters.

    A `Deferred` names a class or function of a module that is imported when the policy is made or described.

    Attributes
    ----------
    name : str
        The name that users type.
    kind : {"node", "gpu", "whole"}
        Chooses nodes, GPUs on a node, or both.
    make : callable
        Function from an instance of `parameters` to a `NodePolicy`, a `GpuPolicy` or, for a whole policy, a `Policy`.
    parameters : type or Deferred
        Frozen dataclass of `workbench.policies.parameters.parameter` fields.
    meaning : str
        One line.
    source : str
        Document or program whose behaviour it is.
    compose : type of Composed, or Deferred
        Policy that is made of the node policy and a GPU policy; a scheduler with sessions of its own has its own class.
    """

    name: str
    kind: Literal["node", "gpu", "whole"]
    make: Callable[[Any], NodePolicy | GpuPolicy | Policy]
    parameters: type[Any] | Deferred
    meaning: str
    source: str
    compose: Callable[..., Policy] = Composed

    @property
    def parameter_type(self) -> type[Any]:
        """The dataclass of the parameters, imported if need be."""
        return self.parameters.load() if isinstance(self.parameters, Deferred) else self.parameters


_VOLCANO = "Volcano"
_VOLCANO_SCHEDULER = Deferred("workbench.policies.volcano.session.session:VolcanoScheduler")
_ASCEND = "Ascend MindCluster, switch affinity"
_NVIDIA = "NVIDIA go-gpuallocator"
_GPU_SHARING = Deferred("workbench.policies.gpu_sharing.policy:GpuSharingPolicy")
_FGD = "FGD study (USENIX ATC'23)"


def _make_explained(node_policy: Deferred, parameters: Any) -> NodePolicy:
    """A policy of Volcano with the explainer of Volcano's searches."""
    from workbench.policies.volcano.explain.search_explainer import VolcanoExplainer

    made: NodePolicy = node_policy(parameters, explainer=VolcanoExplainer())
    return made


def _explained(home: str) -> Callable[[Any], NodePolicy]:
    return partial(_make_explained, Deferred(home))


def _sharing(name: str, rule: str, parameters: Deferred, meaning: str, source: str = _FGD) -> Entry:
    """Entry of a policy that lets pods share GPUs by a rule of the kernel."""
    return Entry(name, "whole", partial(_GPU_SHARING, name, rule), parameters, meaning, source)


#: Policies of our own, which every installation has.
BUILT_IN = (
    Entry(
        "allocate",
        "node",
        _explained("workbench.policies.volcano.session.policy:Allocate"),
        Deferred("workbench.policies.volcano.parts.scores:NodeOrderParameters"),
        "Volcano without topology: gang, binpack and nodeorder scores",
        f"{_VOLCANO} 1.13, allocate action",
        _VOLCANO_SCHEDULER,
    ),
    Entry(
        "volcano-1.13",
        "node",
        _explained("workbench.policies.volcano.v1_13.policy:Volcano113"),
        Deferred("workbench.policies.volcano.parts.scores:TopologyParameters"),
        "hard, soft and plain jobs tier by tier, LCA score, recorded HyperNode",
        f"{_VOLCANO} 1.13, network-topology-aware",
        _VOLCANO_SCHEDULER,
    ),
    Entry(
        "volcano-documents",
        "node",
        _explained("workbench.policies.volcano.v1_13.documents:VolcanoDocuments"),
        Deferred("workbench.policies.volcano.parts.scores:TopologyParameters"),
        "the letter of the design documents: LCA rule, scores 100/50/0, tier 1 by default, record on the PodGroup",
        "Volcano design document and article on 1.13",
        _VOLCANO_SCHEDULER,
    ),
    Entry(
        "volcano-1.15",
        "node",
        _explained("workbench.policies.volcano.v1_15.policy:Volcano115"),
        Deferred("workbench.policies.volcano.v1_15.hypernode_scores:HyperNodeParameters"),
        "two-level search with sub-groups, soft as hard at the virtual top, packing of HyperNodes",
        f"{_VOLCANO}, newest after 1.15, network-topology-aware",
        Deferred("workbench.policies.volcano.v1_15.policy:Volcano115Scheduler"),
    ),
    Entry(
        "switch-affinity",
        "node",
        Deferred("workbench.policies.switch_affinity.policy:SwitchAffinity"),
        Deferred("workbench.policies.switch_affinity.policy:SwitchParameters"),
        "foundation-model, common and padding jobs on idle, shared and exclusive switches",
        f"{_ASCEND} 2.0",
    ),
    Entry(
        "switch-affinity-1.0",
        "node",
        Deferred("workbench.policies.switch_affinity.policy:SwitchAffinity10"),
        Deferred("workbench.policies.switch_affinity.policy:TableParameters"),
        "one cross-switch job per switch, in full or in logical switches",
        f"{_ASCEND} 1.0",
    ),
    Entry(
        "switch-affinity-single-layer",
        "node",
        Deferred("workbench.policies.switch_affinity.policy:SingleLayer"),
        Deferred("workbench.policies.switch_affinity.policy:TableParameters"),
        "every job under one switch",
        f"{_ASCEND}, single-layer network",
    ),
    Entry(
        "koordinator-network",
        "node",
        Deferred("workbench.policies.koordinator.network:KoordinatorNetwork"),
        NoParameters,
        "a gang under one domain of the network, MustGather or PreferGather per layer",
        "Koordinator, ClusterNetworkTopology solver",
        Deferred("workbench.policies.koordinator.network:GangGroupScheduler"),
    ),
    Entry(
        "kube-default",
        "node",
        Deferred("workbench.policies.kube.policy:KubeDefault"),
        Deferred("workbench.policies.kube.parameters:KubeParameters"),
        "pods one by one by default filters and scores, all or nothing",
        "kube-scheduler 1.37.2, default profile",
        Deferred("workbench.policies.kube.policy:KubeScheduler"),
    ),
    Entry(
        "kube-1.37-topology",
        "node",
        Deferred("workbench.policies.kube.groups.policy:KubeTopology"),
        Deferred("workbench.policies.kube.groups.policy:KubeTopologyParameters"),
        "a gang in one domain of its level, the fullest that takes most pods",
        "kube-scheduler 1.37.2, topology-aware workloads",
        Deferred("workbench.policies.kube.groups.policy:KubeTopologyScheduler"),
    ),
    Entry(
        "kueue-0.19",
        "node",
        Deferred("workbench.policies.kueue.policy:Kueue019"),
        Deferred("workbench.policies.kueue.policy:KueueParameters"),
        "a gang in one domain of a level, or in few; slices, leader groups",
        "Kueue 0.19.2, Topology Aware Scheduling",
        Deferred("workbench.policies.kueue.queued.scheduler:KueueScheduler"),
    ),
    Entry(
        "gang",
        "node",
        Deferred("workbench.policies.baselines:GangFirstFit"),
        NoParameters,
        "all or nothing, first fit by name",
        "baseline",
    ),
    Entry(
        "binpack",
        "node",
        Deferred("workbench.policies.baselines:BinPack"),
        Deferred("workbench.policies.baselines:ScoreParameters"),
        "fullest node first",
        "baseline",
    ),
    Entry(
        "spread",
        "node",
        Deferred("workbench.policies.baselines:Spread"),
        Deferred("workbench.policies.baselines:ScoreParameters"),
        "emptiest node first",
        "baseline",
    ),
    Entry(
        "random",
        "node",
        Deferred("workbench.policies.baselines:Random"),
        Deferred("workbench.policies.baselines:RandomParameters"),
        "a random free slot for each pod",
        "baseline",
    ),
    Entry(
        "gpu-bottleneck",
        "gpu",
        Deferred("workbench.policies.gpu.bottleneck:GpuBottleneck"),
        Deferred("workbench.policies.gpu.bottleneck:BottleneckParameters"),
        "GPUs whose slowest pair is fastest, exactly; link classes first",
        "Koordinator proposal 20230314, Pick GPUs of Node; docs/decisions.md, decision 1",
    ),
    Entry(
        "gpu-lowest-index",
        "gpu",
        Deferred("workbench.policies.gpu.lowest_index:GpuLowestIndex"),
        NoParameters,
        "free GPUs with the lowest numbers",
        "baseline",
    ),
    Entry(
        "gpu-best-effort",
        "gpu",
        Deferred("workbench.policies.gpu.best_effort:GpuBestEffort"),
        NoParameters,
        "link counts summed over a split of all free GPUs, up to 16",
        f"{_NVIDIA}, best-effort policy of the device plugin",
    ),
    Entry(
        "gpu-simple",
        "gpu",
        Deferred("workbench.policies.gpu.lowest_index:GpuSimple"),
        NoParameters,
        "free GPUs with the lowest numbers",
        f"{_NVIDIA}, simple policy",
    ),
    Entry(
        "gpu-static-dgx",
        "gpu",
        Deferred("workbench.policies.gpu.static_dgx:GpuStaticDgx"),
        Deferred("workbench.policies.gpu.static_dgx:StaticDgxParameters"),
        "sets from the table of a DGX: 1, 2, 4, 8 or 16 GPUs, others refused",
        f"{_NVIDIA}, static DGX policies",
    ),
    Entry(
        "gpu-ascend910",
        "gpu",
        Deferred("workbench.policies.gpu.ascend910:GpuAscend910"),
        NoParameters,
        "1, 2 or 4 NPUs inside one of two rings, or all 8",
        "Ascend mind-cluster, module910x8",
    ),
    Entry(
        "gpu-mapa",
        "gpu",
        Deferred("workbench.policies.gpu.mapa:GpuMapa"),
        Deferred("workbench.policies.gpu.mapa:MapaParameters"),
        "predicted bandwidth of a ring of GPUs, or most NVLink bandwidth left for others",
        "MAPA (SC21), preserve policy",
    ),
    Entry(
        "gpu-koordinator-partition",
        "gpu",
        Deferred("workbench.policies.koordinator.partition_policy:GpuPartition"),
        Deferred("workbench.policies.koordinator.partition_policy:PartitionParameters"),
        "partitions of neighbours from Koordinator's built-in table",
        "Koordinator, deviceshare GPU allocator",
    ),
    Entry(
        "koordinator-gpu",
        "whole",
        Deferred("workbench.policies.koordinator.gpu:KoordinatorGpu"),
        Deferred("workbench.policies.koordinator.gpu:KoordinatorGpuParameters"),
        "GPU groups planned together: fewest nodes, least left over, best bottleneck",
        "Koordinator proposal 20230314",
    ),
    _sharing(
        "fgd",
        "fgd",
        Deferred("workbench.policies.gpu_sharing.policy:FgdParameters"),
        "shares of GPUs where least becomes unusable for the usual pods",
    ),
    _sharing(
        "fgd-random",
        "random",
        Deferred("workbench.policies.gpu_sharing.policy:DrawParameters"),
        "shares of GPUs on a node and GPU drawn at random",
    ),
    _sharing(
        "fgd-dot-product",
        "dot-product",
        Deferred("workbench.policies.gpu_sharing.policy:TieParameters"),
        "shares of GPUs where idle times asked is smallest",
    ),
    _sharing(
        "fgd-clustering",
        "clustering",
        Deferred("workbench.policies.gpu_sharing.policy:TieParameters"),
        "shares of GPUs beside pods that ask for GPUs alike",
    ),
    _sharing(
        "fgd-packing",
        "packing",
        Deferred("workbench.policies.gpu_sharing.policy:TieParameters"),
        "shares of GPUs on GPUs and nodes in use before idle ones",
    ),
    _sharing(
        "fgd-best-fit",
        "best-fit",
        Deferred("workbench.policies.gpu_sharing.policy:TieParameters"),
        "shares of GPUs on the node with the least left over",
    ),
    _sharing(
        "headroom",
        "headroom",
        Deferred("workbench.policies.gpu_sharing.policy:HeadroomParameters"),
        "as fgd, and in a nearly full cluster pods wait rather than strand GPUs",
        "our own, docs/fgd.md",
    ),
)

#: Names that stand for the newest registered of a family.
ALIASES = {"volcano": "volcano-1.15"}

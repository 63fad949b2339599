"""`koordinator-network`: places all pods of a gang under one domain of the network, by Koordinator's gather rules.

Source: Koordinator, ClusterNetworkTopology and the coscheduling network topology solver;
docs/reference/gpu-topology.md, part (b). Preemption is not modelled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.model.arrays import Longs
from workbench.model.counted import counted
from workbench.model.explanation import NO_RECORDERS, Recorders
from workbench.model.extras import KoordinatorWish
from workbench.model.gang import Gang, Role
from workbench.model.notice import Notice
from workbench.model.number_text import whole_number
from workbench.model.placement import UNPLACED, Decision, NearestMiss
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import TOP, Topology
from workbench.policies.composed import Composed
from workbench.policies.contract import SchedulerTraits
from workbench.policies.demand import node_text
from workbench.policies.koordinator.gang_groups import schedule_groups
from workbench.policies.koordinator.network_tree import (
    CLUSTER_LAYER,
    NODE_LAYER,
    TreeNode,
    candidates,
    constrain,
    distribute,
    gathered,
    ordered,
)
from workbench.policies.nearest import nearest_misses
from workbench.policies.node_policy import NodePolicy
from workbench.policies.reasons import fit_reason
from workbench.policies.request import Assignment, Declined, Request
from workbench.policies.retry import KUBE_SCHEDULER

__all__ = ["KoordinatorNetwork"]


#: Pods with the same text in it belong together, be they of one gang or not.
SELECTOR_ANNOTATION = "scheduling.koordinator.sh/network-topology-selector"
#: Position of a pod in its gang, such as a rank.
INDEX_ANNOTATION = "gang.scheduling.koordinator.sh/network-topology-index"


@dataclass(frozen=True)
class _Wish:
    """A gang's gather rules: the layer in one domain of which it must stay (empty: none); pod multiples by layer."""

    must: str
    multiples: Mapping[str, int]
    warnings: tuple[Notice, ...] = ()
    impossible: str = ""


class KoordinatorNetwork(NodePolicy):
    """Places all pods of a gang under the lowest network domain with room, inside one domain of the MustGather layer.

    A node offers slots: the number of the gang's pods, in their order, that it holds. Of the layers with a domain that
    offers enough slots the lowest one is taken, and in it the domain with the most running pods of the same selector;
    ties: fewer slots (best fit), then the name. The domain is filled greedily, children with most slots first; pods go
    to the nodes in the order of their names. PreferGather has no further effect, because pods are gathered in any case.
    All pending pods count, not only `min_available`.

    Notes
    -----
    Layers are the tiers of the topology by their names (``Tier2Layer`` where they have none), below
    ClusterTopologyLayer and above NodeTopologyLayer. A gang without gather rules is held to its HyperNode constraint:
    hard means MustGather in the highest tier allowed. Known limits, as upstream: where a layer demands multiples, the
    greedy filling may fail, and domains of a higher layer are then not tried; slots are counted as if any pod could
    take any slot; the index of a pod decides only the order in which slots are counted.
    """

    name = "koordinator-network"
    traits = SchedulerTraits(reads_topology=True, gang_groups=True, retry=KUBE_SCHEDULER, words="kubernetes")

    def assign(self, request: Request) -> Assignment | Declined:
        gang, topology = request.gang, request.ledger.topology
        layers = _layers(topology)
        wish = _wish(gang, topology, layers)
        pods = [i for i, role in enumerate(gang.role_of_pod) if not gang.roles[role].best_effort]
        slots = _slots(request, sorted(pods, key=lambda i: _index_and_name(gang, i)))
        root, outside = _tree(request, layers, slots)
        warnings = (*wish.warnings, *_outside(outside, topology))
        constrain(root, wish.multiples)
        roots = [] if wish.impossible else gathered(root, wish.must)
        found = ordered(candidates(roots, len(pods)), fewer_first=True)
        for candidate in found:
            filled = distribute(candidate, len(pods), wish.multiples)
            if sum(count for _, count in filled) == len(pods):
                break
        else:
            _record(request, roots, None, len(pods))
            return self._declined(request, wish, roots, found, len(pods), warnings)
        _record(request, roots, candidate, len(pods))
        node = np.full(gang.n_pods, UNPLACED, dtype=np.int32)
        where = [at.node for at, count in filled for _ in range(count)]
        for pod, chosen in zip(sorted(pods, key=lambda i: gang.pod(i).name.encode()), where, strict=True):
            node[pod] = chosen
        crowded = _crowded(request, node)
        if crowded >= 0:
            held = Notice(
                "slots-differ",
                f"the pods differ in size: those that go to {topology.node_names[crowded]} by name do not fit, because "
                "its slots were counted for others; give all pods of the gang equal requests",
            )
            return Declined((held,), warnings=warnings)
        if not (gang.extra(KoordinatorWish).gather or gang.constraint):
            return Assignment(node, warnings=warnings)
        record = next((at.domain for at in candidate.chain() if at.node < 0), TOP)
        return Assignment(node, record=record, has_record=True, warnings=warnings)

    @staticmethod
    def _declined(
        request: Request,
        wish: _Wish,
        roots: list[TreeNode],
        found: list[TreeNode],
        wanted: int,
        warnings: tuple[Notice, ...],
    ) -> Declined:
        demand = request.demand
        if wish.impossible:
            return Declined((Notice("tier-too-small", wish.impossible),), warnings=warnings)
        most = max(roots, key=lambda at: at.offer, default=None)
        best = most.offer if most is not None else 0
        layer = roots[0].layer if roots else wish.must
        text = (
            f"no candidate of the {len(roots)} in {layer} holds the gang: {counted(best, 'slot')} at most, "
            f"{wanted} wanted"
        )
        if found:
            text = (
                f"the {counted(len(found), 'candidate offers', 'candidates offer')} {counted(wanted, 'slot')}, "
                "but not in whole multiples of pods"
            )
        if wish.multiples:
            text += "; podCountMultiple " + ", ".join(f"{k}={v}" for k, v in sorted(wish.multiples.items()))
        reason = Notice("no-candidate", text, numbers={"count": len(roots)})
        misses = _misses(request, roots)
        # Nodes are blamed only for roles of which none takes one more pod; of every role, that says most.
        nowhere = [role for role in demand.order if not demand.capacity(role, demand.idle, 1).any()]
        fit = tuple(fit_reason(request, role, demand.idle, words="kubernetes") for role in nowhere)
        return Declined((reason, *fit) if len(nowhere) < len(demand.order) else (*fit, reason), misses, warnings)


class GangGroupScheduler(Composed):
    """A policy that decides the gangs of a gang group together (`schedule_groups`), each gang as `place` would."""

    def schedule(
        self, gangs: Sequence[Gang], snapshot: ClusterSnapshot, recorders: Recorders = NO_RECORDERS
    ) -> list[Decision]:
        """Decide on all gangs of one session, each gang group as a whole."""
        ledger = snapshot.ledger()

        def place(i: int) -> Decision:
            return Decision(gangs[i], self.place(gangs[i], ledger, recorders.get(i)))

        return schedule_groups(self, gangs, snapshot, place, ledger.checkpoint, ledger.rollback)


def _misses(request: Request, roots: Sequence[TreeNode]) -> tuple[NearestMiss, ...]:
    """For each tier the HyperNode below ``roots`` with room for most of the gang, all of whose pods must be placed."""
    n_domains, n_nodes = request.snapshot.topology.n_domains, request.snapshot.n_nodes
    allowed, usable = np.zeros(n_domains + 1, dtype=np.bool_), np.zeros(n_nodes, dtype=np.bool_)
    for at in (at for root in roots for at in root.walk()):
        if at.node >= 0:
            usable[at.node] = True
        else:
            # The last entry is the cluster's, which -1 finds there.
            allowed[at.domain] = True
    every = request.progress()
    every.min_available = every.counted + sum(every.left)
    return nearest_misses(request, allowed, every, usable)


def _layers(topology: Topology) -> list[tuple[int, str]]:
    """Tier number and name of each network layer of a topology, widest first."""
    layers: list[tuple[int, str]] = []
    for tier in topology.tiers[::-1]:
        names = {topology.tier_names[j] for j in topology.domains_at(tier)}
        name = names.pop() if len(names) == 1 else ""
        taken = [other for _, other in layers]
        layers.append((tier, name if name and name not in (*taken, NODE_LAYER) else f"Tier{tier}Layer"))
    return layers


def _wish(gang: Gang, topology: Topology, layers: list[tuple[int, str]]) -> _Wish:
    known = [CLUSTER_LAYER, *(name for _, name in layers), NODE_LAYER]
    rules = gang.extra(KoordinatorWish).gather
    if rules:
        unknown = [rule.layer for rule in rules if rule.layer not in known]
        # The lowest of several: known is sorted from the widest down.
        must = max((known.index(rule.layer) for rule in rules if rule.must and rule.layer in known), default=0)
        lost = [rule.layer for rule in rules if rule.must and rule.layer not in known]
        return _Wish(
            known[must] if must else "",
            {r.layer: r.pod_count_multiple for r in rules if r.pod_count_multiple > 1},
            tuple(
                Notice("unknown-layer", f"there is no layer {layer}: its rule has no effect", f"layer {layer}")
                for layer in unknown
                if layer not in lost
            ),
            f"there is no layer {lost[0]} to gather in" if lost else "",
        )
    constraint = gang.constraint
    if constraint is None or constraint.mode != "hard":
        return _Wish("", {})
    if constraint.highest_tier is not None:
        inside = [name for tier, name in layers if tier <= constraint.highest_tier]
        if constraint.highest_tier >= topology.top_tier:
            return _Wish("", {})
        if not inside:
            return _Wish("", {}, impossible=f"no HyperNode has a tier of {constraint.highest_tier} or less")
        return _Wish(inside[0], {})
    if constraint.highest_tier_name in known:
        return _Wish(str(constraint.highest_tier_name), {})
    name = constraint.highest_tier_name
    what = f"a hard topology with the unknown tier name {name}" if name else "a hard topology without a tier"
    return _Wish("", {}, (Notice("constraint-without-effect", f"{what} restricts nothing here"),))


def _index_and_name(gang: Gang, pod: int) -> tuple[bool, int, bytes]:
    """Sort key of a pod: pods with an index first, by index, then by name."""
    ref = gang.pod(pod)
    index = whole_number(ref.role.annotations.get(INDEX_ANNOTATION, ""))
    return (index is None, index or 0, ref.name.encode())


def _slots(request: Request, pods: list[int]) -> Longs:
    """Number of the gang's pods that fit on each node, added in their order: int64 (n,)."""
    demand, gang = request.demand, request.gang
    if len({int(gang.role_of_pod[pod]) for pod in pods}) == 1:
        return demand.capacity(int(gang.role_of_pod[pods[0]]), demand.idle, len(pods))
    idle = demand.idle.copy()
    slots = np.zeros(len(idle), dtype=np.int64)
    open_ = np.ones(len(idle), dtype=np.bool_)
    for pod in pods:
        role = int(gang.role_of_pod[pod])
        open_ &= demand.capacity(role, idle, 1) > 0
        if not open_.any():
            break
        slots[open_] += 1
        idle[open_] -= demand.rows[role]
    return slots


def _tree(request: Request, layers: list[tuple[int, str]], slots: Longs) -> tuple[TreeNode, list[int]]:
    """Tree of the network layers with the pods (slots) each node holds, and the nodes missing from some layer."""
    topology = request.ledger.topology
    root = TreeNode("", CLUSTER_LAYER)
    domains: dict[int, TreeNode] = {}
    paths = [topology.domain_of_node(tier) for tier, _ in layers]
    existing = _existing(request)
    outside = []
    for node in np.argsort(topology.node_rank).tolist():
        path = [int(of_tier[node]) for of_tier in paths]
        if any(domain < 0 for domain in path):
            outside.append(node)
            continue
        above = root
        for domain, (_, layer) in zip(path, layers, strict=True):
            if domain not in domains:
                domains[domain] = above.add(TreeNode(topology.domain_names[domain], layer, domain=domain))
            above = domains[domain]
        leaf = above.add(TreeNode(topology.node_names[node], NODE_LAYER, node=node))
        leaf.count(int(slots[node]), existing.get(node, 0))
    return root, outside


def _existing(request: Request) -> dict[int, int]:
    """Number of running pods per node that the selector of the gang's first pod matches; empty without a selector."""
    roles: tuple[Role, ...] = request.gang.roles
    selector = roles[0].annotations.get(SELECTOR_ANNOTATION, "") if roles else ""
    found: dict[int, int] = {}
    for pod in request.snapshot.running if selector else ():
        if pod.annotations.get(SELECTOR_ANNOTATION) == selector and pod.node >= 0:
            found[pod.node] = found.get(pod.node, 0) + 1
    return found


def _outside(nodes: list[int], topology: Topology) -> tuple[Notice, ...]:
    if not nodes:
        return ()
    text = (
        f"{counted(len(nodes), 'node')} such as {topology.node_names[nodes[0]]} "
        f"{'is' if len(nodes) == 1 else 'are'} not in a HyperNode of every tier: not used"
    )
    return (Notice("nodes-outside-layers", text, numbers={"count": len(nodes)}),)


def _crowded(request: Request, node: npt.NDArray[np.int32]) -> int:
    """First node that would get more pods than fit, which can happen if pods differ; -1: none."""
    idle = request.demand.idle.copy()
    placed = np.flatnonzero(node >= 0)
    roles = request.gang.role_of_pod[placed]
    np.subtract.at(idle, node[placed], request.demand.rows[roles])
    accepted = np.array([request.demand.feasible(int(r))[n] for r, n in zip(roles, node[placed], strict=True)])
    asked = np.zeros_like(idle)
    np.add.at(asked, node[placed], request.demand.rows[roles])
    wrong = np.flatnonzero(((idle < 0) & (asked > 0)).any(axis=1))
    refused = node[placed][accepted == 0]
    return int(wrong[0]) if len(wrong) else int(refused[0]) if len(refused) else -1


def _record(request: Request, roots: list[TreeNode], chosen: TreeNode | None, wanted: int) -> None:
    """Tell the recorder each domain below `roots` with the pods it holds; `chosen` is taken, with `wanted` pods."""
    recorder = request.recorder
    if recorder is None:
        return
    topology, demand = request.ledger.topology, request.demand
    inside = set() if chosen is None else {at.name for at in chosen.walk() if at.node >= 0}
    for root in roots:
        for at in root.walk():
            if at.node < 0:
                name = topology.domain_name(at.domain)
                why = f"{counted(at.offer, 'slot')} of {wanted}" + (", chosen" if at is chosen else "")
                recorder.domain(name, topology.domain_tier(at.domain), at.offer >= wanted, why)
    if recorder.ties_only:
        return
    for node in np.argsort(topology.node_rank).tolist():
        name = topology.node_names[node]
        why = node_text(demand, demand.order[0], demand.idle, node)
        recorder.node(name, name in inside, why or ("inside" if name in inside else "outside the chosen domain"))

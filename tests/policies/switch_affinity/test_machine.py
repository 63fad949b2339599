"""Random jobs and faults on random fabrics: the invariants hold after every step, and nothing about states is kept."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.conformance.runners.switch_affinity_checks import After, check_invariants
from tests.profiles import max_examples
from tests.switch_fabric import Switch, fabric, job, states
from workbench.formats.fabric.tor_tables import share_of, states_of_share, switch_table_of, tor_nodes_of
from workbench.model.extras import AscendWish
from workbench.model.gang import Gang
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.tor_node import as_payload, parse_tor_node
from workbench.objects.tor_share import parse_tor_share, share_payload
from workbench.policies.registry import get_policy
from workbench.simulate.held_nodes import break_node
from workbench.simulate.timeline import Timeline

PRESETS = ("idle", "idle", "idle", "exclusive", "shared/healthy", "shared/unhealthy")


def states_by_hand(snapshot: ClusterSnapshot) -> dict[str, str]:
    """Preset states joined with the annotations, pod by pod."""
    table = snapshot.switch_table
    assert table is not None
    found = {}
    for i, name in enumerate(table.names):
        preset = table.preset.name(i)
        marks = {"0", {"idle": "0", "exclusive": "2"}.get(preset, "1")}
        sick = preset == "shared/unhealthy"
        for pod in snapshot.running:
            if pod.node >= 0 and table.node_switch[pod.node] == i:
                marks.add(pod.annotations.get("isSharedTor", "0"))
                sick = sick or pod.annotations.get("isHealthy") == "1"
        if "1" in marks:
            found[name] = "shared/unhealthy" if sick else "shared/healthy"
        else:
            found[name] = "exclusive" if "2" in marks else "idle"
    return found


class SwitchMachine(RuleBasedStateMachine):
    """Submit, end, retry, fault and recover in any order."""

    @initialize(
        sizes=st.lists(st.tuples(st.integers(1, 6), st.sampled_from(PRESETS)), min_size=1, max_size=5),
        per_switch=st.integers(2, 6),
        max_shared=st.integers(1, 2),
    )
    def start(self, sizes: list[tuple[int, str]], per_switch: int, max_shared: int) -> None:
        switches = [Switch(f"S{i}", size, size, preset) for i, (size, preset) in enumerate(sizes)]
        self.max_shared = max_shared
        policy = get_policy("switch-affinity", max_shared_switches=max_shared)
        self.timeline = Timeline(fabric(switches, max(per_switch, *(size for size, _ in sizes), 1)), policy)
        self.kinds: dict[str, str] = {}
        self.broken: list[str] = []
        self.count = 0

    @rule(kind=st.sampled_from(["foundation", "common", "padding"]), pods=st.integers(1, 14))
    def submit(self, kind: str, pods: int) -> None:
        pods = min(pods, 3) if kind == "padding" else max(pods, 4) if kind == "foundation" else pods
        self.count += 1
        gang = job(f"J{self.count}", kind, pods)
        self.kinds[gang.key] = kind
        before = self.timeline.snapshot
        self.timeline.submit(gang)
        self.judge(before, gang)

    def alive(self) -> list[str]:
        return sorted({pod.gang for pod in self.timeline.snapshot.running} | set(self.timeline.pending))

    @precondition(lambda self: bool(self.alive()))
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.alive()))
        self.timeline.end(key)
        assert all(pod.gang != key for pod in self.timeline.snapshot.running)

    @precondition(lambda self: bool(self.timeline.pending))
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.timeline.pending)))
        before, gang = self.timeline.snapshot, self.timeline.pending[key]
        self.timeline.retry(key)
        self.judge(before, gang, self.old_pods(before, gang))

    @rule(data=st.data())
    def fault(self, data: st.DataObject) -> None:
        snapshot = self.timeline.snapshot
        held = sorted({snapshot.topology.node_names[pod.node] for pod in snapshot.running})
        names = [n for n in held or sorted(snapshot.topology.node_names) if n not in self.broken]
        if not names:
            return
        node = data.draw(st.sampled_from(names))
        self.broken.append(node)
        index = snapshot.topology.node(node)
        lost = [pod for pod in snapshot.running if pod.node == index]
        before = break_node(snapshot.without_pods(lambda pod: pod.node == index), index)
        moment = self.timeline.fault(node)
        assert len(moment.decisions) == len({pod.gang for pod in lost})
        for decision in moment.decisions:
            self.judge(before, decision.gang, self.old_pods(before, decision.gang))

    @precondition(lambda self: bool(self.broken))
    @rule(data=st.data())
    def recover(self, data: st.DataObject) -> None:
        node = data.draw(st.sampled_from(sorted(self.broken)))
        self.broken.remove(node)
        self.timeline.recover(node)

    def old_pods(self, before: ClusterSnapshot, gang: Gang) -> list[dict[str, Any]]:
        names = before.topology.node_names
        kept = [
            (int(pod.annotations["hccl/rankIndex"]), names[pod.node], False)
            for pod in before.running
            if pod.gang == gang.key
        ]
        lost = [(pod.rank, pod.node, pod.faulty) for pod in gang.extra(AscendWish).former]
        return [
            {
                "rank": rank,
                "node": node,
                "switch": node.rpartition("-n")[0],
                "node_faulty": faulty and node in self.broken,
            }
            for rank, node, faulty in [*kept, *lost]
        ]

    def judge(self, before: ClusterSnapshot, gang: Gang, old: list[dict[str, Any]] | None = None) -> None:
        result = self.timeline.moments[-1].decisions[-1].result
        after = After(before, self.timeline.snapshot, gang.key, self.kinds[gang.key], result, "scheduled", old or [])
        check_invariants(after, self.max_shared)
        for pod in old or []:
            if after.outcome != "pending" and not pod["node_faulty"] and pod["node"] not in self.broken:
                stayed = pod["rank"] not in after.placed
                assert not stayed or after.nodes[pod["rank"]] == pod["node"]

    @invariant()
    def states_are_what_the_pods_say(self) -> None:
        snapshot = self.timeline.snapshot
        want = states_by_hand(snapshot)
        assert states(snapshot) == want
        kept = self.timeline.moments[-1].states
        assert kept is not None
        assert list(kept.names()) == list(want.values())

    @invariant()
    def both_config_maps_lose_nothing(self) -> None:
        snapshot = self.timeline.snapshot
        table = snapshot.switch_table
        assert table is not None
        written = json.dumps(as_payload(tor_nodes_of(snapshot, table)))
        servers = {name: name for name in snapshot.topology.node_names}
        again = switch_table_of(parse_tor_node(written, level=table.level), servers, snapshot.topology)
        assert again.preset == table.preset
        for name in ("names", "addresses", "nodes_per_switch", "level"):
            assert getattr(again, name) == getattr(table, name)
        for name in ("start", "nodes", "position"):
            assert getattr(again, name).tolist() == getattr(table, name).tolist()

        share = share_of(snapshot)
        assert parse_tor_share(json.dumps(share_payload(share))) == share
        now = self.timeline.moments[-1].states
        assert states_of_share(share, table) == now
        there = {node.name: node.jobs for switch in share.values() for node in switch.nodes if node.jobs}
        names = snapshot.topology.node_names
        assert there == {names[pod.node]: (pod.gang.partition("/")[2],) for pod in snapshot.running}

    @invariant()
    def amounts_add_up(self) -> None:
        snapshot = self.timeline.snapshot
        used = np.zeros(snapshot.n_nodes, dtype=np.int64)
        for pod in snapshot.running:
            used[pod.node] += pod.requests["huawei.com/Ascend910"]
        assert snapshot.used[:, 3].tolist() == used.tolist()
        assert (np.bitwise_count(snapshot.gpu_free).sum(axis=1) == 8 - used).all()


SwitchMachine.TestCase.settings = max_examples(30, stateful_step_count=20)
TestSwitchMachine = SwitchMachine.TestCase

"""Pods behind Kueue's topology gate, worked by hand: ranks, offsets, sub-groups, and what is filled without ranks."""

from __future__ import annotations

import pytest

from workbench.errors import InputError
from workbench.jobs.kueue_ungater import domains_of_gated_pods
from workbench.model.kueue import PodSet, TopologyAssignment, TopologyRequest
from workbench.model.kueue_names import INDEX_OFFSET, POD_SET_LABEL, TOPOLOGY_GATE
from workbench.model.kueue_queues import PodSetAdmission, QueuedWorkload, WorkloadAdmission
from workbench.objects.pod import Pod, read_pod

HOST = "kubernetes.io/hostname"
INDEX, JOB = "index", "job"


def admitted(**places: str) -> QueuedWorkload:
    """A workload of pod sets with a place on a node for each letter: ``main="aab"`` has two on a and one on b."""
    return of(
        {name: PodSet(name, len(at), {}, TopologyRequest(pod_index_label=INDEX)) for name, at in places.items()}, places
    )


def of(sets: dict[str, PodSet], places: dict[str, str], levels: tuple[str, ...] = (HOST,), **more) -> QueuedWorkload:
    plans = [
        PodSetAdmission(
            name,
            {},
            {},
            sets[name].count,
            TopologyAssignment(levels, tuple(((x,), at.count(x)) for x in dict.fromkeys(at))),
        )
        for name, at in places.items()
    ]
    more.setdefault("admitted", True)
    return QueuedWorkload("d/w", "q", tuple(sets.values()), admission=WorkloadAdmission("q", tuple(plans)), **more)


def pod(name: str, index: object = None, *, of: str = "main", on: str = "", job: object = None, **more) -> Pod:
    """A gated pod; `on`: one past the gate that selects a node."""
    labels = (
        {POD_SET_LABEL: of} | ({} if index is None else {INDEX: str(index)}) | ({} if job is None else {JOB: str(job)})
    )
    return read_pod(
        {
            "metadata": {"name": name, "labels": labels, "annotations": more.get("annotations", {})},
            "spec": {
                "schedulingGates": [] if on else [{"name": TOPOLOGY_GATE}],
                "nodeSelector": {HOST: on} if on else {},
            },
            "status": {"phase": more.get("phase", "Pending")},
        }
    )


def places(workload: QueuedWorkload, *pods: Pod) -> dict[str, str]:
    return {name: "/".join(each.values()) for name, each in domains_of_gated_pods(workload, pods).items()}


class TestRanks:
    def test_rank_r_gets_the_place_r_of_the_assignment(self) -> None:
        found = places(admitted(main="aab"), pod("x", 2), pod("y", 0), pod("z", 1))
        assert found == {"x": "b", "y": "a", "z": "a"}

    def test_a_pod_past_the_gate_on_its_own_place_keeps_the_ranks(self) -> None:
        assert places(admitted(main="aab"), pod("x", 2, on="b"), pod("y", 0), pod("z", 1)) == {"y": "a", "z": "a"}

    def test_pods_may_be_missing(self) -> None:
        assert places(admitted(main="aab"), pod("x", 2)) == {"x": "b"}

    def test_of_a_group_the_larger_pod_set_counts_on_from_the_smaller(self) -> None:
        group = TopologyRequest(group="g", pod_index_label=INDEX)
        sets = {"workers": PodSet("workers", 2, {}, group), "leader": PodSet("leader", 1, {}, group)}
        workload = of(sets, {"workers": "ab", "leader": "c"})
        pods = (pod("l", 0, of="leader"), pod("w2", 2, of="workers"), pod("w1", 1, of="workers"))
        assert places(workload, *pods) == {"l": "c", "w1": "a", "w2": "b"}

    @pytest.mark.parametrize(("first", "want"), [(10, {"x": "b", "y": "a"}), (0, {"x": "a", "y": "b"})])
    def test_an_offset_on_the_first_pod_is_added(self, first: int, want: dict[str, str]) -> None:
        # Indices 11 and 10 are ranks 1 and 0 from 10 on; without an offset they are out of bounds: in their order.
        offset = {INDEX_OFFSET: str(first)}
        assert places(admitted(main="ab"), pod("x", 11, annotations=offset), pod("y", 10)) == want

    def test_an_offset_that_is_no_number_ungates_nothing(self) -> None:
        with pytest.raises(InputError, match="not a number"):
            places(admitted(main="ab"), pod("x", 0, annotations={INDEX_OFFSET: "ten"}))

    def test_a_pod_of_a_sub_group_stands_behind_those_of_the_jobs_before(self) -> None:
        # Four pods in two jobs of two: job 1, index 0 is rank 0 + 1 x 2.
        workload = self.in_jobs(2)
        pods = [pod(f"{job}{i}", i, job=job) for job in (1, 0) for i in (0, 1)]
        assert places(workload, *pods) == {"00": "a", "01": "b", "10": "c", "11": "d"}

    @pytest.mark.parametrize(("jobs", "job", "index"), [(2, 2, 0), (2, 0, 2), (0, 0, 0), (None, 0, 0)])
    def test_sub_groups_that_do_not_add_up_have_no_ranks(self, jobs: int | None, job: int, index: int) -> None:
        # By rank the pod of job 1 would be on c; the list has it first.
        workload = self.in_jobs(jobs)
        assert places(workload, pod("x", 0, job=1), pod("y", index, job=job)) == {"x": "a", "y": "b"}

    @staticmethod
    def in_jobs(jobs: int | None) -> QueuedWorkload:
        request = TopologyRequest(pod_index_label=INDEX, sub_group_label=JOB, sub_group_count=jobs)
        return of({"main": PodSet("main", 4, {}, request)}, {"main": "abcd"})


class TestWithoutRanks:
    """The order of the list counts for the whole pod set: here y, which would be first by rank, is last."""

    @pytest.mark.parametrize("odd", [None, 0, 3, "-1", "1.0", ""])
    def test_one_index_that_is_missing_double_or_out_of_bounds(self, odd: object) -> None:
        found = places(admitted(main="abc"), pod("x", 2), pod("z", odd), pod("y", 0))
        assert found == {"x": "a", "z": "b", "y": "c"}

    def test_no_index_label_in_the_request(self) -> None:
        workload = of({"main": PodSet("main", 2, {}, TopologyRequest())}, {"main": "ab"})
        assert places(workload, pod("x", 1), pod("y", 0)) == {"x": "a", "y": "b"}

    def test_a_pod_past_the_gate_elsewhere_takes_a_place_there(self) -> None:
        # Rank 0 is a, but the pod is on b: one place is left on a, none on b, one on c.
        found = places(admitted(main="abc"), pod("x", 0, on="b"), pod("z", 2), pod("y", 1))
        assert found == {"z": "a", "y": "c"}

    def test_a_rank_beyond_the_table(self) -> None:
        # Three pods, of which the plan places two.
        workload = of({"main": PodSet("main", 3, {}, TopologyRequest(pod_index_label=INDEX))}, {"main": "ab"})
        assert places(workload, pod("x", 2), pod("y", 0)) == {"x": "a", "y": "b"}

    def test_surplus_pods_stay_gated(self) -> None:
        assert places(admitted(main="ab"), pod("x"), pod("y"), pod("z")) == {"x": "a", "y": "b"}


class TestWhichPods:
    @pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
    def test_pods_that_ended_do_not_count(self, phase: str) -> None:
        # The index 0 would be double.
        found = places(admitted(main="ab"), pod("old", 0, on="a", phase=phase), pod("x", 1), pod("y", 0))
        assert found == {"x": "b", "y": "a"}

    def test_each_pod_set_by_itself(self) -> None:
        workload = admitted(main="ab", other="cd")
        pods = (pod("x", 1), pod("y", 0), pod("u", of="other"), pod("v", of="other"))
        assert places(workload, *pods) == {"x": "b", "y": "a", "u": "c", "v": "d"}

    def test_a_workload_that_is_not_admitted(self) -> None:
        request = TopologyRequest(pod_index_label=INDEX)
        assert places(of({"main": PodSet("main", 1, {}, request)}, {"main": "a"}, admitted=False), pod("x", 0)) == {}

    def test_pods_for_a_node_that_failed_stay_gated(self) -> None:
        sets = {"main": PodSet("main", 2, {}, TopologyRequest(pod_index_label=INDEX))}
        workload = of(sets, {"main": "ab"}, unhealthy_nodes=("a",))
        assert places(workload, pod("x", 0), pod("y", 1)) == {"y": "b"}

    def test_a_domain_above_the_node_does_not_fail_with_a_node(self) -> None:
        sets = {"main": PodSet("main", 2, {}, TopologyRequest(pod_index_label=INDEX))}
        workload = of(sets, {"main": "ab"}, ("rack",), unhealthy_nodes=("a",))
        assert domains_of_gated_pods(workload, [pod("x", 0), pod("y", 1)]) == {"x": {"rack": "a"}, "y": {"rack": "b"}}


def test_pods_select_every_level_unless_the_node_is_the_lowest() -> None:
    plan = TopologyAssignment(("block", "rack"), ((("b1", "r1"), 1),))
    sets = (PodSet("main", 1, {}, TopologyRequest()),)
    admission = WorkloadAdmission("q", (PodSetAdmission("main", {}, {}, 1, plan),))
    found = domains_of_gated_pods(QueuedWorkload("d/w", "q", sets, admission=admission, admitted=True), [pod("x")])
    assert found == {"x": {"block": "b1", "rack": "r1"}}

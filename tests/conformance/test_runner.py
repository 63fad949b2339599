"""Tests of the conformance runner on odd, unknown, listed and unlisted cases."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.conformance.collect import items
from tests.conformance.expectations import Expectations
from tests.conformance.registry import NotUnderstood, Runners
from tests.conformance.runners import AREAS

HERE = Path(__file__).parent


@pytest.fixture
def doubling():
    runners = Runners("sums")

    @runners.op("double", "double", given=("x",), want=("y",))
    def double(given, want):
        assert given["x"] * 2 == want["y"]

    return runners


def write(folder: Path, name: str, content: object) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def case(case_id="a", op="double", x=2, y=4, **more):
    return {"id": case_id, "input": {"op": op, "x": x, **more}, "expected": {"y": y}}


SCENARIO = {
    "id": "one",
    "config": "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n  - name: network-topology-aware\n",
    "nodes": {"bodies": [{"status": {"allocatable": {"cpu": "4", "memory": "8Gi"}}}], "rows": [[0, "a"], [0, "b"]]},
    "hypernodes": {"bodies": [{"spec": {"members": ["node:a", "node:b"]}}], "rows": [[0, "h"]]},
    "podgroups": {"bodies": [{"spec": {"minMember": 1}, "status": {"phase": "Inqueue"}}], "rows": [[0, "j"]]},
    "pods": {"bodies": [{}], "rows": [[0, "j-r0-0"]]},
    "queues": {"bodies": [], "rows": []},
    "priorityclasses": {"bodies": [], "rows": []},
}
COMMON = {
    "nodes": {"apiVersion": "v1", "kind": "Node", "metadata": {}, "status": {}},
    "hypernodes": {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {},
        "spec": {"tier": 1},
    },
    "podgroups": {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"namespace": "ns"},
        "spec": {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}},
    },
    "pods": {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": "ns", "annotations": {"scheduling.k8s.io/group-name": "j"}},
        "spec": {"schedulerName": "volcano", "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
        "status": {"phase": "Pending"},
    },
    "queues": {},
    "priorityclasses": {},
}


def recorded(placed="a", record="h", by_name=True, scheduler="Volcano 1.15.1", **changes):
    job = {"placed": {f"j-r0@{placed}": 1} if placed else {}, **({"record": record} if record else {})}
    scenario = SCENARIO | {"outcomes": [{"by_name": by_name, "jobs": {"ns/j": job}}]} | changes
    return {"about": "", "scheduler": scheduler, "common": COMMON, "scenarios": [scenario]}


def session(pods):
    spec = {"minAvailable": 1, "tasks": [{"name": "r0", "replicas": 1, "template": {"spec": {"containers": [
        {"name": "c", "resources": {"requests": {"cpu": "48"}}}]}}}]}  # fmt: skip
    manifests = [
        {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
        for name in pods
    ]
    jobs = [
        {
            "manifest": manifest,
            "stored_spec": spec,
            "pods": {f"{manifest['metadata']['name']}-r0-0": node},
            "podgroup": None,
        }
        for manifest, node in zip(manifests, pods.values(), strict=True)
    ]
    config = SCENARIO["config"]
    return {"seed": 7, "release": "1.15.1", "config": config, "gpus": 8, "nodes": ["a"], "hypernodes": [], "jobs": jobs}


class TestRecorded:
    def items_of(self, folder, name, text, compressed):
        path = folder / "volcano-recorded" / (name + ".gz" * compressed)
        path.parent.mkdir(parents=True)
        path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
        return list(items(folder, AREAS))

    @pytest.mark.parametrize("compressed", [False, True])
    def test_a_scenario_is_an_item_compressed_or_not(self, tmp_path, compressed):
        (item,) = self.items_of(tmp_path, "volcano-1.15.1.json", json.dumps(recorded()), compressed)
        assert (item.id, item.problem, item.skip) == ("volcano-recorded/volcano-1.15.1/one", "", "")
        AREAS[item.area].run(item.file, item.case)

    @pytest.mark.parametrize("compressed", [False, True])
    def test_a_session_is_an_item_and_what_was_placed_stays_for_the_next_job(self, tmp_path, compressed):
        lines = [{"about": ""}, session({"j0": "a", "j1": None})]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (item,) = self.items_of(tmp_path, "api-server-1.15.1.jsonl", text, compressed)
        assert item.id == "volcano-recorded/api-server-1.15.1/session-7"
        AREAS[item.area].run(item.file, item.case)

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            (recorded(placed="b"), "'j-r0@a': 1"),
            (recorded(placed=""), "'j-r0@a': 1"),
            (recorded(record=""), "recorded in 'h', really in ''"),
            (recorded(by_name=False), "0 outcomes in which the smallest name wins"),
            (recorded(scheduler="Volcano 1.12.0"), "release 'Volcano 1.12.0'"),
        ],
    )
    def test_another_answer_or_release_fails(self, tmp_path, wrong, message):
        (item,) = self.items_of(tmp_path, "x.json", json.dumps(wrong), compressed=False)
        with pytest.raises(AssertionError, match=message):
            AREAS[item.area].run(item.file, item.case)

    @pytest.mark.parametrize("pods", [{"j0": None}, {"j0": "a", "j1": "a"}])
    def test_another_verdict_in_a_session_fails(self, tmp_path, pods):
        (item,) = self.items_of(tmp_path, "x.jsonl", json.dumps(session(pods)), compressed=False)
        with pytest.raises(AssertionError, match="the cluster placed"):
            AREAS[item.area].run(item.file, item.case)

    def test_a_file_that_is_cut_off_fails(self, tmp_path):
        path = tmp_path / "volcano-recorded" / "x.json.gz"
        path.parent.mkdir()
        path.write_bytes(gzip.compress(json.dumps(recorded()).encode())[:-20])
        (item,) = items(tmp_path, AREAS)
        assert "not JSON" in item.problem


class TestRun:
    def test_a_right_answer_passes(self, doubling):
        doubling.run("double", case())

    def test_a_wrong_answer_fails(self, doubling):
        with pytest.raises(AssertionError):
            doubling.run("double", case(y=5))

    @pytest.mark.parametrize(
        ("odd", "want"),
        [
            (case(op="triple"), "operation 'triple'; sums/double knows double"),
            (case(also="this"), "input has keys that nobody reads: also"),
            ({"id": "a", "input": {"op": "double", "x": 2}, "expected": {"z": 4}}, "expected has keys"),
            ({"id": "a", "input": {"op": "double", "x": 2}, "expected": {}}, "nothing to check"),
            ({"id": "a", "input": [1], "expected": {}}, "a case has an object"),
            ({"id": "a"}, "a case has an object"),
        ],
    )
    def test_what_is_not_understood_fails(self, doubling, odd, want):
        with pytest.raises(NotUnderstood, match=want):
            doubling.run("double", odd)

    @pytest.mark.parametrize(
        ("release", "want"), [("v1.13.0", ["1.13"]), ("head", ["1.15"]), ("both", ["1.13", "1.15"])]
    )
    def test_a_runner_that_asks_is_called_once_per_release(self, release, want):
        runners, seen = Runners("sums"), []
        runners.op("double", "double", ("x",), ("y",), per_release=True)(lambda g, w, release: seen.append(release))
        runners.run("double", {**case(), "release": release})
        assert seen == want

    def test_a_release_that_nobody_knows_fails(self):
        runners = Runners("sums")
        runners.op("double", "double", ("x",), ("y",), per_release=True)(lambda g, w, release: None)
        with pytest.raises(NotUnderstood, match=r"release 'v1\.9\.0'"):
            runners.run("double", {**case(), "release": "v1.9.0"})


class TestItems:
    def test_one_item_per_case_in_file_order_with_slashes_kept(self, tmp_path, doubling):
        write(tmp_path, "sums/double.json", [case("z/1"), case("a/2")])
        found = list(items(tmp_path, {"sums": doubling}))
        assert [item.id for item in found] == ["sums/double/z/1", "sums/double/a/2"]
        assert not any(item.problem or item.skip for item in found)

    @pytest.mark.parametrize("name", ["sums/later.json", "elsewhere/double.json"])
    def test_a_file_without_a_runner_is_one_skipped_item_that_says_so(self, tmp_path, doubling, name):
        write(tmp_path, name, [case("a"), case("b")])
        (found,) = items(tmp_path, {"sums": doubling})
        assert found.id == name.removesuffix(".json")
        assert found.skip == f"no runner yet for {name} (2 cases)"

    def test_a_table_that_cases_refer_to_is_no_item(self, tmp_path, doubling):
        write(tmp_path, "sums/machines.json", {"devices": {}})
        assert list(items(tmp_path, {"sums": doubling})) == []

    @pytest.mark.parametrize(
        ("content", "want"),
        [
            ("[1,", "not JSON"),
            ("[]", "a list of cases"),
            ('"text"', "a list of cases"),
            ([{"input": {}}], "no id"),
            ([3], "no id"),
            ([case("a"), case("a")], "more than once"),
        ],
    )
    def test_a_broken_file_or_case_fails(self, tmp_path, doubling, content, want):
        write(tmp_path, "sums/double.json", content)
        found = list(items(tmp_path, {"sums": doubling}))
        assert found
        assert all(want in item.problem for item in found)
        assert len({item.id for item in found}) == len(found)


class TestExpectations:
    LIST = {
        "case": [{"id": "a/f/1", "reason": "events", "issue": 3}],
        "pattern": [{"id": "a/f/*", "reason": "kept-back rows", "issue": 3}],
    }

    def test_a_listed_case_is_strict(self):
        assert Expectations(self.LIST, {"a/f/1", "a/f/2"}).of("a/f/1").strict

    def test_a_committed_case_that_is_not_listed_must_pass_whatever_the_patterns(self):
        assert Expectations(self.LIST, {"a/f/1", "a/f/2"}).of("a/f/2") is None

    def test_a_case_from_elsewhere_falls_under_a_pattern_which_is_not_strict(self):
        assert Expectations(self.LIST, {"a/f/1"}).of("a/f/9").strict is False

    def test_a_case_from_elsewhere_of_a_file_without_pattern_must_pass(self):
        assert Expectations(self.LIST, ()).of("a/g/9") is None

    @pytest.mark.parametrize(
        "text",
        [
            {"case": [{"id": "a/f/1", "reason": "", "issue": 3}]},
            {"case": [{"id": "a/f/1", "reason": "x"}]},
            {"case": [{"id": "a/f/1", "reason": "x", "issue": 3, "skip": True}]},
            {"case": [{"id": "a/f/*", "reason": "x", "issue": 3}]},
            {"pattern": [{"id": "a/f/1", "reason": "x", "issue": 3}]},
            {"case": [{"id": "a/f/1", "reason": "x", "issue": 3}] * 2},
        ],
    )
    def test_a_careless_list_is_refused(self, text):
        with pytest.raises(ValueError):
            Expectations(text, ())


class TestTheCommittedList:
    def test_it_names_committed_cases_only(self):
        from tests.conformance.runners import AREAS

        committed = {item.id for item in items(HERE / "cases", AREAS)}
        listed = Expectations.read(HERE / "expected_failures.toml", committed)
        assert listed.cases.keys() - committed == set()

    def test_every_file_with_a_runner_has_a_committed_case(self):
        from tests.conformance.runners import AREAS

        found = {f"{item.area}/{item.file}" for item in items(HERE / "cases", AREAS) if item.case}
        assert found >= {"gpu/document_bottleneck", "volcano-topology/lca", "volcano-topology/selector"}

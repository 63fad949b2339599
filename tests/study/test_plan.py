"""Plans of studies: which runs they have, in which order, and what makes two runs the same."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest

from tests.study.small import STUDY, small_study, write_small
from workbench.errors import InputError, UnknownNameError
from workbench.formats.job_logs import load_jobs
from workbench.formats.openb import read_openb
from workbench.policies import Policy, get_policy, policy, registry
from workbench.policies.composed import Composed
from workbench.policies.function import FunctionPolicy
from workbench.simulate import FaultRates
from workbench.simulate.from_log import judging_by
from workbench.study import Study, StudyWorkload
from workbench.study.digest import package_digest
from workbench.study.work import simulate_case


def digests(study: Study) -> list[str]:
    return [run.digest for run in study.runs]


def test_runs_go_by_topology_workload_discipline_policy_and_seed(study: Study) -> None:
    told = [(run.discipline, run.policy, run.seed) for run in study.runs]
    order = [("fifo", "binpack"), ("fifo", "spread"), ("best-effort", "binpack"), ("best-effort", "spread")]
    assert told == [(*names, seed) for names in order for seed in range(3)]
    assert len(set(digests(study))) == 12


def test_the_same_files_elsewhere_are_the_same_runs(study: Study, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    other = small_study(tmp_path / "elsewhere", STUDY.replace("four nodes", "by another name"))
    assert digests(other) == digests(study)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("load: 90", "load: 91"),
        ("load: 90", "load: 90\n    arrivals: bursty"),
        ("seeds: 0-2", "seeds: 3-5"),
        ("repair_s: 300", "repair_s: 301"),
        ("name: small", "restart_s: 1"),
        ("name: small", "until_s: 900"),
        ("disciplines: [fifo, best-effort]", "disciplines: [priority, shares]"),
        ("[binpack, spread]", "[volcano-1.13, volcano]"),
        ("[binpack, spread]", "[binpack+gpu-simple, spread+gpu-simple]"),
    ],
)
def test_whatever_can_change_a_run_makes_it_another(study: Study, tmp_path: Path, old: str, new: str) -> None:
    assert not set(digests(study)) & set(digests(small_study(tmp_path, STUDY.replace(old, new))))


def test_other_jobs_and_another_cluster_are_other_runs(study: Study, tmp_path: Path) -> None:
    write_small(tmp_path, jobs=11)
    assert not set(digests(study)) & set(digests(Study.read(tmp_path / "study.yaml")))
    path = write_small(tmp_path)
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(cluster.read_text().replace('"96"', '"97"', 1))
    assert not set(digests(study)) & set(digests(Study.read(path)))


def test_where_nothing_is_drawn_the_first_seed_stands_for_all(tmp_path: Path) -> None:
    text = STUDY.replace("    load: 90\n", "").replace("faults: {node_per_1000_days: 20000, repair_s: 300}\n", "")
    assert [run.seed for run in small_study(tmp_path, text).runs] == [0] * 4
    drawing = small_study(tmp_path, text.replace("[binpack, spread]", "[random, spread]"))
    assert [run.seed for run in drawing.runs] == [0, 1, 2] * 4
    assert drawing.policy_of("random", "jobs", 2).parameters["seed"] == 2


SHARED = Path(__file__).parents[2] / "datasets" / "shared-gpus"


@pytest.mark.slow
def test_pods_of_openb_on_their_nodes(tmp_path: Path) -> None:
    file = tmp_path / "openb.yaml"
    file.write_text(
        f"topologies: [{SHARED / 'nodes.csv'}]\nworkloads: [{SHARED / 'pods.csv'}]\n"
        "policies: [fgd, fgd-best-fit, {name: own, policy: fgd, set: {typical: '2000:500:1=1'}}]\n"
    )
    study = Study.read(file)
    trace = read_openb(SHARED / "nodes.csv", SHARED / "pods.csv")
    assert study.policy_of("fgd", "pods", 0).parameters["typical"] == trace.usual.table
    assert len(study.policy_of("own", "pods", 0).parameters["typical"]) == 1
    (case,) = study.cases.values()
    assert len(case.jobs) == len(trace.gangs) and len({run.digest for run in study.runs}) == 3
    told = simulate_case(case, study.policy_of("fgd", "pods", 0), "best-effort", 0, package_digest())
    assert told["completed"] == told["jobs"] == len(trace.gangs)
    file.write_text(file.read_text().replace("nodes.csv", "../job-log/cluster.yaml"))
    with pytest.raises(InputError, match=r"openb.yaml: workloads\[0\]: pods of openb need its nodes"):
        Study.read(file)


def test_a_list_of_values_is_a_policy_for_each(tmp_path: Path) -> None:
    text = STUDY.replace("[binpack, spread]", "[binpack, {policy: random, set: {seed: 3}, name: chance}]")
    assert list(small_study(tmp_path, text).policies) == ["binpack", "chance"]
    volcano = "{policy: volcano-1.13, set: {weight: [1, 5], gpu_weight: 2}}"
    swept = f"[{volcano}, {{policy: binpack, name: b, set: {{gpu_weight: [1, 2]}}}}]"
    study = small_study(tmp_path, STUDY.replace("[binpack, spread]", swept))
    one, five = "volcano-1.13 weight=1 gpu_weight=2", "volcano-1.13 weight=5 gpu_weight=2"
    assert list(study.policies) == [one, five, "b gpu_weight=1", "b gpu_weight=2"]
    assert [study.policies[name].parameters["weight"] for name in (one, five)] == [1, 5]


def test_a_study_made_in_a_notebook_is_the_one_of_the_file(study: Study, tmp_path: Path) -> None:
    import workbench

    cluster = workbench.load(tmp_path / "cluster.yaml").snapshot
    log = load_jobs(tmp_path / "jobs.csv")
    made = Study(
        "made",
        {"a": cluster},
        {"b": StudyWorkload(log, load=0.9)},
        {"c": get_policy("binpack"), "d": get_policy("spread")},
        disciplines=("fifo", "best-effort"),
        seeds=(0, 1, 2),
        faults=FaultRates(node_per_1000_days=20000.0, repair_s=300.0),
    )
    assert digests(made) == digests(study)
    assert made.compared_with == "c"


SEEDED = "@policy('mine')\ndef mine(gang, ledger, seed=0, more=1):\n    return 'not now'\n"


def cell(text: str) -> Policy:
    """The policy of a notebook's cell, which registers it anew."""
    exec(text, {"__name__": "__main__", "policy": policy})
    return get_policy("mine", more=3)


def test_two_versions_of_a_cell_stay_two_policies(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = cell(SEEDED), cell(SEEDED.replace("not now", "never"))
    both = replace(study, policies={"old": old, "new": new}, disciplines=("fifo",))
    assert len({run.digest for run in both.runs}) == len(both.runs) == 6
    monkeypatch.delitem(registry._registered, "mine")
    told = both.policy_of("old", "jobs 90 %", 2)
    assert told.parameters == {"seed": 2, "more": 3, "gpu.symmetric": "min"}
    assert isinstance(told, Composed) and isinstance(told.node, FunctionPolicy)
    assert told.node.function(None, None) == "not now"
    assert old.parameters["seed"] == 0


def test_a_version_that_judges_by_usual_pods_stays_itself(study: Study) -> None:
    text = SEEDED.replace("more=1", "more=1, typical={}")
    old, _ = cell(text), cell(text.replace("not now", "never"))
    usual = read_openb(SHARED / "nodes.csv", SHARED / "pods.csv").usual
    told = judging_by(old, usual)
    assert told.parameters == {"seed": 0, "more": 3, "typical": usual.table, "gpu.symmetric": "min"}
    assert isinstance(told, Composed) and told.node.function(None, None) == "not now"  # type: ignore[attr-defined]


class Lots(Policy):
    """A policy of the user's own, whose constructor the user calls."""

    name = "lots"

    def __init__(self, seed: int) -> None:
        self.seed = seed

    @property
    def parameters(self) -> dict[str, Any]:
        return {"seed": self.seed}

    def place(self, *_: Any) -> Any:
        raise NotImplementedError


class LotsAgain(Lots):
    """One that says how its parameters are changed."""

    def with_parameters(self, **values: Any) -> Self:
        return type(self)(**values)


def test_a_policy_of_the_users_own_gets_the_seed_or_says_why_not(study: Study) -> None:
    own = replace(study, policies={"own": LotsAgain(1)}, disciplines=("fifo",))
    assert own.policy_of("own", "jobs 90 %", 2).parameters == {"seed": 2}
    assert len({run.digest for run in own.runs}) == 3
    closed = replace(own, policies={"own": Lots(1)})
    assert closed.policy_of("own", "jobs 90 %", 1) is closed.policies["own"]
    with pytest.raises(InputError, match=r"lots: seed: its parameters .*Lots that get_policy did not.*with_parameters"):
        _ = closed.runs


def test_a_study_survives_pickle(study: Study) -> None:
    before = pickle.loads(pickle.dumps(study))
    assert digests(before) == digests(study) == digests(pickle.loads(pickle.dumps(study)))
    assert before.provenance() == study.provenance()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policies": {}}, "study: policies: nothing in it"),
        ({"seeds": (1, 1)}, "study: seeds: a value twice"),
        ({"seeds": (-1,)}, "study: seeds: not a seed"),
        ({"until_s": -1.0}, "study: until_s: not a time"),
        ({"restart_s": float("nan")}, "study: restart_s: not a time"),
    ],
)
def test_a_study_that_is_none(study: Study, change: dict[str, object], message: str) -> None:
    parts = {"name": "x", "topologies": study.topologies, "workloads": study.workloads, "policies": study.policies}
    with pytest.raises(InputError, match=message):
        Study(**{**parts, **change})  # type: ignore[arg-type]


def test_names_that_do_not_exist(study: Study) -> None:
    parts = (study.topologies, study.workloads, study.policies)
    with pytest.raises(UnknownNameError, match="did you mean fifo"):
        Study("x", *parts, disciplines=("fifa",))  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="restart"):
        Study("x", *parts, restarts="some")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="retry"):
        Study("x", *parts, retry="never")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="did you mean binpack"):
        Study("x", *parts, baseline="binpak")
    with pytest.raises(InputError, match="workload: not a load"):
        StudyWorkload(next(iter(study.workloads.values())).log, load=0)


def test_a_network_and_a_common_step(tmp_path: Path) -> None:
    network = "    network: {card_gb_s: 5, tiers: {1: 2}}\n"
    text = STUDY.replace("    path: cluster.yaml\n", f"    path: cluster.yaml\n{network}")
    study = small_study(tmp_path, text.replace("load: 90\n", "load: 90\n    step: {compute_s: 1, data_gb: 40}\n"))
    (case,) = study.cases.values()
    assert case.network is not None and case.draws
    assert all(job.step is not None and job.step.sent_gb == {"data": 40} for job in case.jobs)
    told = simulate_case(case, study.policies["spread"], "fifo", 1, package_digest())
    plain = simulate_case(replace(case, network=None), study.policies["spread"], "fifo", 1, package_digest())
    assert plain["slowed"] == 0 < told["makespan_s"]
    assert len({run.digest for run in study.runs}) == len(study.runs)
    with pytest.raises(InputError, match=r"study.yaml: topologies\[0\].network.*routes"):
        small_study(tmp_path, text.replace("{1: 2}", "{1: 2}, routes: any"))
    with pytest.raises(UnknownNameError, match="topology of the study"):
        replace(study, networks={"other": case.network})

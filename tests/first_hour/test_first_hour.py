"""What somebody who knows pandas, networkx and scikit-learn tries in the first hour, and what must come of it."""

from __future__ import annotations

import inspect
import io
import pickle
import typing
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import workbench as wb
from workbench.policies import registry

DEMO = Path(__file__).parents[2] / "datasets" / "demo"
FILES = sorted(DEMO.glob("*.yaml"))


def _named_only(function: object) -> bool:
    """Whether a function has arguments and no ``**options``, which only the policy knows."""
    kinds = [each.kind for each in inspect.signature(function).parameters.values()]
    return bool(kinds) and inspect.Parameter.VAR_KEYWORD not in kinds


FUNCTIONS = [name for name in wb.__all__ if inspect.isfunction(value := getattr(wb, name)) and _named_only(value)]


@pytest.fixture(scope="module")
def scenario() -> wb.Scenario:
    return wb.load(DEMO)


@pytest.fixture
def tightest(monkeypatch):
    """The decorated function of docs/howto/write-a-policy.md, in short."""
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))

    @wb.policy("first-hour-tightest")
    def function(gang, ledger, first=0):
        """The first nodes."""
        return list(range(first, first + gang.n_pods))

    return function


class TestLoading:
    def test_a_list_of_paths_stands_for_them(self, scenario):
        assert wb.load(FILES) == wb.load(*FILES)
        assert wb.load([str(file) for file in FILES]).gangs == scenario.gangs
        assert wb.load((FILES[0],), FILES[1:]).gangs == scenario.gangs

    @pytest.mark.parametrize("mode", ["r", "rb"])
    def test_an_open_file_stands_for_its_content(self, mode):
        with FILES[0].open(mode) as file:
            assert wb.load(file).snapshot.topology == wb.load(FILES[0]).snapshot.topology

    def test_a_text_and_two_open_files_are_refused_in_words(self):
        text = FILES[0].read_text("utf-8")
        with pytest.raises(wb.InputError, match=r'a text, no path .* load\("-", stdin=text\)'):
            wb.load(text)
        assert wb.load(io.StringIO(text)) == wb.load("-", stdin=text)
        with pytest.raises(wb.InputError, match="one open file"):
            wb.load(io.StringIO(text), io.StringIO(text))

    @pytest.mark.parametrize("read", [wb.load, wb.load_matrix, wb.load_jobs, wb.load_config, wb.load_calibration])
    @pytest.mark.parametrize(
        ("given", "message"),
        [("https://example.com/cluster.yaml", "a URL .*download it first"), (3, "no path"), (np.eye(2), "no path")],
    )
    def test_what_is_no_path_is_an_input_error_everywhere(self, read, given, message):
        with pytest.raises(wb.InputError, match=message):
            read(given)

    def test_data_come_with_the_package(self, scenario):
        demo = wb.datasets.load("demo")
        assert demo.snapshot.topology == scenario.snapshot.topology and demo.gangs == scenario.gangs != ()


class TestPlacing:
    def test_a_scenario_is_enough(self, scenario):
        placed = scenario.place("hard-tier-2", policy="volcano")
        assert isinstance(placed, wb.Placement)
        assert placed == wb.place("hard-tier-2", scenario) == wb.place(scenario, "hard-tier-2")
        assert placed == wb.place(scenario.gang("hard-tier-2"), scenario.snapshot)
        assert scenario.explain("hard-tier-2").decision.result == placed
        assert [d.gang.name for d in scenario.schedule("binpack")] == [gang.name for gang in scenario.gangs]
        assert [d.placed for d in wb.schedule(scenario)] == [d.placed for d in scenario.schedule()]

    def test_a_gang_of_ones_own_takes_a_line(self, scenario):
        mine = wb.gang("mine", pods=2, gpus=4, tier=2)
        assert (mine.key, mine.n_pods, mine.min_available) == ("default/mine", 2, 2)
        assert (mine.constraint.mode, mine.constraint.highest_tier) == ("hard", 2)
        placed = scenario.place(mine)
        assert [len(pod.gpus) for pod in placed.pods()] == [4, 4]

    def test_a_refusal_is_false_and_a_placement_true(self, scenario):
        assert not scenario.place(wb.gang("large", pods=99, gpus=8))
        assert scenario.place("hard-tier-2")

    @pytest.mark.slow
    def test_fix_of_a_scenario_and_of_a_gang(self, scenario):
        large = wb.gang("wide", pods=3, gpus=8, tier=1)
        assert scenario.fix(large).fixes
        assert scenario.with_gangs(large).fix("wide") == wb.fix("wide", scenario.with_gangs(large))

    def test_a_decorated_function_is_a_policy(self, scenario, tightest):
        placed = scenario.place(wb.gang("mine", pods=2, cpus=1), policy=tightest, first=3)
        assert (placed.policy, placed.node.tolist()) == ("first-hour-tightest", [3, 4])
        assert list(scenario.compare([tightest, "binpack"])) == ["first-hour-tightest", "binpack"]
        assert wb.Simulation(scenario, tightest, []).run().done

    def test_a_function_without_the_decorator_is_told_of_it(self, scenario):
        with pytest.raises(wb.InputError, match=r"@workbench\.policy"):
            scenario.place("hard-tier-2", policy=lambda gang, ledger: None)


class TestComparing:
    def test_a_scenario_is_enough(self, scenario):
        comparison = wb.compare(scenario, ["binpack", "spread"])
        assert comparison == scenario.compare(["binpack", "spread"])
        assert comparison == wb.compare(scenario.gangs, scenario, ["binpack", "spread"])
        assert comparison.provenance.inputs == scenario.inputs
        assert len(wb.compare(scenario)) == len(scenario.compare()) > 2

    def test_a_comparison_is_a_mapping_from_policy_to_row(self, scenario):
        comparison = wb.compare(scenario, ["binpack", "spread"])
        assert list(comparison) == ["binpack", "spread"] and len(comparison) == 2
        assert comparison["binpack"] is comparison.rows[0]
        assert dict(comparison.items())["spread"].metrics["placed"] == 4
        assert "volcano" not in comparison and comparison.get("volcano") is None
        with pytest.raises(wb.UnknownNameError, match="did you mean binpack"):
            comparison["binpck"]

    def test_policies_of_one_name_are_numbered(self, scenario):
        seeds = [wb.get_policy("random", seed=seed) for seed in (1, 2)]
        comparison = wb.compare(scenario, ["random", *seeds])
        assert list(comparison) == ["random", "random (2)", "random (3)"]
        assert comparison["random (3)"].parameters["seed"] == 2
        assert comparison.to_dataframe()["policy"].nunique() == 3

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (lambda s: (s.snapshot, s.gangs), "gangs: no list of gangs"),
            (lambda s: (s.gangs[0], s.snapshot), "gangs: no list of gangs"),
            (lambda s: ("hard-tier-2", s), "gangs: no list of gangs"),
            (lambda s: (s.gangs,), "snapshot: not a snapshot"),
            (lambda s: ([1], s.snapshot), "gang: not a gang"),
            (lambda s: (s, "volcano"), "policies: no list of policies"),
            (lambda s: (s, wb.get_policy("volcano")), "policies: no list of policies"),
            (lambda s: (s, [3]), "policy: not a policy"),
        ],
    )
    def test_arguments_are_checked_as_in_place(self, scenario, arguments, message):
        with pytest.raises(wb.InputError, match=message):
            wb.compare(*arguments(scenario))

    @pytest.mark.parametrize("name", [*FUNCTIONS, "Simulation"])
    def test_an_argument_that_a_function_lacks_is_named_with_the_nearest(self, name):
        function = getattr(wb, name)
        known = list(inspect.signature(function).parameters)
        with pytest.raises(wb.UnknownNameError, match=f"unknown argument of {name} '{known[-1]}x'; did you mean"):
            function(**{f"{known[-1]}x": 1})

    def test_an_argument_that_compare_lacks(self, scenario):
        with pytest.raises(wb.UnknownNameError, match="unknown argument of compare 'nope'"):
            wb.compare(scenario, nope=1)
        with pytest.raises(wb.UnknownNameError, match="unknown argument of Simulation 'disciplin'; did you mean disc"):
            wb.simulate(scenario, [], "volcano", disciplin="fifo")
        with pytest.raises(wb.UnknownNameError, match="did you mean progress"):
            scenario.compare(["binpack"], progres=True)

    def test_names_of_gangs_are_taken_with_a_scenario(self, scenario):
        assert wb.compare(["hard-tier-2"], scenario, ["binpack"]).gangs == (scenario.gang("hard-tier-2"),)


class TestTables:
    def test_a_placement_with_its_gpus(self, scenario):
        frame = scenario.place("hard-tier-2").to_dataframe()
        assert len(frame) == 4 and frame["gpus"].map(len).tolist() == [6] * 4
        pods = pd.DataFrame(scenario.place("hard-tier-2").pods())
        assert pods["gpus"].tolist() == frame["gpus"].tolist()

    def test_a_refusal_an_explanation_and_a_scenario(self, scenario):
        refused = scenario.place(wb.gang("large", pods=99, gpus=8)).to_dataframe()
        assert refused["outcome"].tolist() == ["pending"] and refused["reason"][0]
        explained = scenario.explain("hard-tier-2").to_dataframe()
        assert explained.columns.is_unique and set(explained["kind"]) == {"domain", "node"}
        jobs = scenario.to_dataframe().set_index("job")
        assert jobs.loc["default/hard-tier-2", ["gpus", "highest_tier"]].tolist() == [24, 2]

    def test_a_snapshot_a_topology_and_the_policies(self, scenario):
        nodes = scenario.snapshot.to_dataframe().set_index("node")
        assert nodes["gpus_free"].sum() == 60
        assert nodes.loc["node0", ["tier_1", "tier_2", "tier_3"]].tolist() == ["s0", "s4", "s6"]
        hypernodes = scenario.snapshot.topology.to_dataframe().set_index("hypernode")
        assert hypernodes.loc["s0", ["tier", "parent", "nodes"]].tolist() == [1, "s4", 2]
        assert pd.isna(hypernodes.loc["s6", "parent"])
        policies = wb.list_policies()
        assert policies.to_dataframe()["name"].tolist() == [policy.name for policy in policies]

    def test_a_regret_and_a_simulation(self, scenario):
        assert len(wb.regret(scenario.snapshot.matrices[0], ["gpu-lowest-index"], sizes=[2], samples=2).to_dataframe())
        jobs = [wb.SimulatedJob(gang, 0.0, 60.0) for gang in scenario.gangs]
        assert wb.simulate(scenario, jobs[:2]).to_dataframe()["ended_s"].tolist() == [60.0] * 2


class TestPlots:
    def test_a_comparison_a_simulation_and_a_matrix_draw_on_axes_of_matplotlib(self, scenario):
        axes = pytest.importorskip("matplotlib.figure").Figure().subplots(1, 3)
        assert scenario.compare(["binpack", "spread"]).plot(ax=axes[0]) is axes[0] and axes[0].patches
        jobs = [wb.SimulatedJob(gang, 0.0, 60.0) for gang in scenario.gangs]
        assert wb.simulate(scenario, jobs).plot(kind="gantt", ax=axes[1]) is axes[1] and axes[1].patches
        assert scenario.snapshot.matrices[0].plot(ax=axes[2]) is axes[2] and axes[2].images


class TestMatrices:
    LABELS = ["a", "b"]
    FRAME = pd.DataFrame([[0.0, 48.0], [12.0, 0.0]], index=LABELS, columns=LABELS)

    def test_numpy_and_pandas_read_the_numbers(self):
        matrix = wb.BandwidthMatrix([[0.0, 48.0], [12.0, 0.0]], labels=self.LABELS)
        assert np.asarray(matrix).tolist() == [[0.0, 48.0], [12.0, 0.0]]
        assert np.array(matrix, dtype=np.float32).dtype == np.float32
        assert not np.asarray(matrix).flags.writeable and np.array(matrix).flags.writeable
        assert matrix.to_dataframe().equals(self.FRAME)
        assert (
            pd.DataFrame(matrix).to_numpy().tolist() == [row.tolist() for row in matrix] == [[0.0, 48.0], [12.0, 0.0]]
        )
        assert float(np.max(matrix)) == 48.0

    def test_a_labelled_table_keeps_its_names(self):
        matrix = wb.BandwidthMatrix(self.FRAME)
        assert matrix.labels == ("a", "b") and wb.BandwidthMatrix(matrix.to_dataframe()) == matrix
        assert wb.BandwidthMatrix(matrix).labels == ("a", "b")
        assert wb.BandwidthMatrix(pd.DataFrame([[0, 1], [1, 0]])).labels == ("gpu_0", "gpu_1")
        assert wb.BandwidthMatrix(pd.DataFrame([[0, 1], [1, 0]], columns=self.LABELS)).labels == ("a", "b")
        assert wb.BandwidthMatrix(self.FRAME, labels=["x", "y"]).labels == ("x", "y")
        assert wb.best_gpus(self.FRAME, 2).gpus == (0, 1)

    def test_rows_and_columns_of_other_names_are_refused(self):
        with pytest.raises(wb.InputError, match="rows and columns have other names"):
            wb.BandwidthMatrix(self.FRAME.rename(columns={"a": "c"}))
        with pytest.raises(wb.InputError, match="rows and columns have other names"):
            wb.BandwidthMatrix(self.FRAME[["b", "a"]])


class TestValues:
    def test_what_is_loaded_twice_or_saved_and_read_is_equal(self, scenario, tmp_path):
        again = wb.load(DEMO)
        assert again == scenario and hash(again) == hash(scenario) and len({again, scenario}) == 1
        wb.save(scenario, tmp_path / "cluster.json")
        saved = wb.load(tmp_path / "cluster.json").snapshot
        assert saved.topology == scenario.snapshot.topology
        wb.save(saved, tmp_path / "again.json")
        assert wb.load(tmp_path / "cluster.json").snapshot == saved
        assert scenario.with_gangs(wb.gang("x", gpus=1)) != scenario

    def test_values_that_differ_are_not_equal(self, scenario):
        snapshot = scenario.snapshot
        placed = scenario.place("hard-tier-2")
        assert snapshot.with_placement(placed) != snapshot
        assert scenario.place("hard-tier-2", "binpack") != placed
        assert snapshot.topology != wb.generate_scenario("balanced").snapshot.topology
        assert snapshot != snapshot.topology

    def test_a_topology_is_a_graph(self, scenario):
        graph = scenario.snapshot.topology.to_networkx()
        assert nx.is_tree(graph.to_undirected())
        assert set(wb.to_networkx(scenario).edges) == set(graph.edges)
        assert pickle.loads(pickle.dumps(scenario.snapshot.topology)) == scenario.snapshot.topology


class TestNames:
    def test_dir_shows_the_exports_only(self):
        wb.place  # noqa: B018
        assert dir(wb) == sorted(wb.__all__)
        assert not {"Any", "Sequence", "TYPE_CHECKING", "import_module", "annotations", "set_installer"} & set(dir(wb))

    def test_simulations_and_studies_are_there(self):
        assert {"Simulation", "SimulatedJob", "simulate", "Study", "load_jobs", "discipline", "live", "jobs"} <= {
            *dir(wb)
        }
        assert wb.jobs.expand_job and wb.live.LiveView and callable(wb.simulate)
        assert not {"SshKeys", "NextStep", "next_pod_group", "expand_job"} & set(dir(wb))
        assert {"SshKeys", "NextStep", "next_pod_group", "expand_job"} <= set(dir(wb.jobs))

    def test_type_hints_can_be_read(self):
        for function in (wb.place, wb.schedule, wb.explain, wb.fix, wb.gang, wb.compare, wb.simulate.engine.simulate):
            assert typing.get_type_hints(function)["return"]

    def test_the_options_of_a_picture_are_named(self, scenario):
        topology = scenario.snapshot.topology
        assert "color_by" in inspect.signature(topology.view).parameters
        with pytest.raises(wb.UnknownNameError, match="did you mean color_by"):
            topology.view(colour_by=None)

    def test_versions_are_shown_for_the_report_of_a_fault(self):
        versions = wb.show_versions()
        assert versions["numpy"] == np.__version__ and "python" in repr(versions)

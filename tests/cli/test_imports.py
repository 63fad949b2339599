"""What a command does not import: the time of a short command is mostly that of its imports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parents[2] / "datasets" / "demo"

#: Modules, with all below them, that `workbench place` of manifests does not need.
NOT_FOR_PLACE = (
    *("pandas", "networkx", "pyvis", "matplotlib", "kubernetes", "httpx", "dask", "pyarrow", "ruamel"),
    *("pydantic", "importlib.metadata", "numpy.ma"),
    *("workbench.evaluate.cost", "workbench.evaluate.contention", "workbench.evaluate.audit", "workbench.simulate"),
    *("workbench.live", "workbench.control", "workbench.study", "workbench.widgets", "workbench.topology.lint"),
    *("workbench.policies.kube", "workbench.policies.kueue", "workbench.policies.koordinator"),
    *("workbench.policies.switch_affinity", "workbench.policies.gpu_sharing", "workbench.policies.baselines"),
    *("workbench.policies.volcano.v1_13", "workbench.policies.hyper_job", "workbench.policies.gpu.mapa"),
    *("workbench.formats.matrices", "workbench.formats.fabric.registry", "workbench.formats.nccl_topo"),
    *("workbench.objects.kueue.queues", "workbench.objects.kueue.workload", "workbench.model.kueue_queues"),
    *("workbench.model.kueue", "workbench.model.kube_group", "workbench.objects.admission.kueue_annotations"),
    *("workbench.objects.tor_node", "workbench.objects.tor_share", "workbench.formats.fabric.tor_tables"),
    *("workbench.objects.discovery", "workbench.formats.fabric.smallest_cut"),
    *("workbench.objects.kube_groups", "workbench.objects.level_topology", "workbench.objects.event"),
    *("workbench.objects.job_set", "workbench.objects.ray_cluster", "workbench.objects.leader_worker_set"),
    *("workbench.jobs.lifecycle.observed", "workbench.formats.printouts", "workbench.topology.generate"),
    *("workbench.cli.compare", "workbench.cli.simulate", "workbench.cli.live", "workbench.cli.study"),
)


def imported(*arguments: str) -> set[str]:
    """Modules that a process has imported when the command ends."""
    code = (
        "import json, sys\nfrom workbench.cli import main\n"
        "main(sys.argv[1:])\nsys.stderr.write('\\n' + json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def among(modules: set[str], unwanted: tuple[str, ...]) -> list[str]:
    return sorted(name for name in modules if any(name == one or name.startswith(f"{one}.") for one in unwanted))


@pytest.mark.parametrize("policy", ["volcano", "volcano-1.15+gpu-bottleneck"])
def test_place_imports_its_own_policy_and_kinds_alone(policy: str) -> None:
    found = imported("place", str(DEMO), "--policy", policy)
    assert "workbench.policies.volcano.v1_15.policy" in found
    assert among(found, NOT_FOR_PLACE) == []


def test_another_policy_does_not_import_volcano() -> None:
    found = imported("place", str(DEMO), "--policy", "binpack")
    assert among(found, ("workbench.policies.volcano", "workbench.policies.kueue", "pandas")) == []


def test_the_help_of_a_command_imports_no_other_command() -> None:
    found = imported("gpus", "--help")
    assert among(found, ("numpy", "workbench.cli.place", "workbench.cli.live", "workbench.policies")) == []

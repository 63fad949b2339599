"""The whole changed input as one file, whatever the input was."""

from dataclasses import replace
from pathlib import Path

from tests.formats.edit_manifests.forms import job, nodes
from tests.formats.edit_manifests.test_cluster_edits import finished, of_nodes, of_queue, queue
from tests.formats.edit_manifests.test_job_edits import edit
from tests.formats.same_scenario import assert_same
from workbench import load, save
from workbench.formats.edit_manifests.apply import changed_text
from workbench.formats.load_documents import load_documents
from workbench.formats.write_manifests import to_yaml

DATA = Path(__file__).parents[3] / "datasets"
TIER = edit("tier", **{"from": 1, "to": 2})


def test_manifests_are_changed_themselves(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(to_yaml([*nodes(), job()]))
    loaded = load_documents(tmp_path / "all.yaml")
    # The snapshot is not asked: it is in the manifests.
    after = load("-", stdin=changed_text(loaded, [TIER], loaded.scenario.snapshot.without("default/other")))
    [gang] = loaded.scenario.gangs
    assert gang.constraint is not None
    assert_same(
        after,
        replace(loaded.scenario, gangs=(replace(gang, constraint=replace(gang.constraint, highest_tier=2)),)),
    )


def test_a_snapshot_file_is_changed_as_a_value_and_its_jobs_as_manifests(tmp_path: Path) -> None:
    snapshot = load(DATA / "demo").snapshot
    running = snapshot.running[0].gang
    save(snapshot, tmp_path / "cluster.json")
    (tmp_path / "jobs.yaml").write_text(to_yaml([queue("q", capability={"cpu": "1"}), job()]))
    loaded = load_documents(tmp_path / "cluster.json", tmp_path / "jobs.yaml")
    edits = [
        TIER,
        finished(f"job {running}"),
        of_nodes("uncordon", "cordoned", "schedulable", snapshot.topology.node_names[0]),
        of_queue("queue-capability", {"cpu": "1"}, {"cpu": "2"}),
        of_queue("queue-weight", 1, 5, "default"),
    ]
    queues = {
        **loaded.scenario.snapshot.queues,
        "q": replace(loaded.scenario.snapshot.queues["q"], capability={"cpu": 2000}),
        "default": replace(loaded.scenario.snapshot.queues["default"], weight=5),
    }
    changed = replace(loaded.scenario.snapshot.without(running), queues=queues)
    after = load("-", stdin=changed_text(loaded, edits, changed))
    assert after.gangs[0].constraint is not None
    assert after.gangs[0].constraint.highest_tier == 2
    assert_same(replace(after, gangs=()), replace(loaded.scenario, snapshot=changed, gangs=()))


def test_a_fabric_file_is_changed_as_manifests() -> None:
    loaded = load_documents(DATA / "one-fabric" / "topology.conf", gpus_per_node=8)
    like = loaded.scenario.snapshot.topology.node_names[0]
    rack = next(
        name
        for j, name in enumerate(loaded.scenario.snapshot.topology.domain_names)
        if 0 in loaded.scenario.snapshot.topology.direct_nodes_of(j)
    )
    more = {"kind": "add-nodes", "subject": f"HyperNode {rack}", "from": 1, "to": 2, "like": like, "names": ["more"]}
    after = load("-", stdin=changed_text(loaded, [more], loaded.scenario.snapshot)).snapshot
    assert after.n_nodes == loaded.scenario.snapshot.n_nodes + 1
    assert after.topology.node("more") in after.topology.nodes_of(after.topology.domain(rack))
    assert after.allocatable[after.topology.node("more")].tolist() == after.allocatable[0].tolist()

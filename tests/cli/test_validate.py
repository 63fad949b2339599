from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run, job_yaml

REFUSED = """\
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {name: h}
spec:
  tier: 1
  members:
  - {type: Node, selector: {regexMatch: {pattern: 'a\\(b'}}}
"""
NAMED = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: named}
spec:
  networkTopology: {mode: hard, highestTierName: rack}
  tasks:
  - {name: t, replicas: 2, template: {spec: {containers: [{name: c, image: busybox}]}}}
"""


def write(files: Path, text: str) -> Path:
    path = files / "more.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_accepted_and_filled_in(run: Run, files: Path) -> None:
    result = run("validate", "-f", files / "cluster.yaml", "-f", files / "fits.yaml", "-o", "json")
    assert result.status == 0
    assert (result.json["release"], result.json["refused"]) == ("1.15", 0)
    by_name = {(one["kind"], one["name"]): one for one in result.json["objects"]}
    assert by_name.keys() == {("HyperNode", "s0"), ("HyperNode", "s1"), ("HyperNode", "s2"), ("Job", "fits")}
    assert by_name["Job", "fits"]["defaults"]["spec.queue"] == "default"
    assert by_name["HyperNode", "s0"]["defaults"] == {}
    assert "not reviewed: Node (4)" in result.err


@pytest.mark.parametrize(("release", "status"), [("1.13", 0), ("1.15", 1)])
def test_a_refusal_is_status_1_and_told_in_the_cluster_s_words(
    run: Run, files: Path, release: str, status: int
) -> None:
    result = run("validate", "-f", write(files, REFUSED), "--release", release, "-o", "json")
    assert result.status == status
    (one,) = result.json["objects"]
    assert one["allowed"] == (status == 0)
    assert ("unmatched parentheses" in one["message"]) == (status == 1)
    assert one["source"].endswith("more.yaml")


def test_a_constraint_that_restricts_nothing_is_a_warning(run: Run, files: Path) -> None:
    result = run("validate", "-f", files / "cluster.yaml", "-f", write(files, NAMED))
    assert result.status == 0
    assert "no HyperNode has the tier name rack" in " ".join(result.out.split())


def test_the_table_counts_what_needs_no_word(run: Run, files: Path) -> None:
    result = run("validate", "-f", files / "cluster.yaml", "-f", write(files, REFUSED))
    assert result.status == 1
    assert "HyperNode h" in result.out and "HyperNode s0" not in result.out
    assert "3 of 4 objects accepted by Volcano (1.15), 3 as they are" in result.out


def test_more_objects_than_a_table_shows_are_counted(run: Run, files: Path) -> None:
    jobs = "---\n".join(job_yaml(f"j{i}", 1) for i in range(45))
    assert "and 5 more objects" in run("validate", "-f", write(files, jobs)).out


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (REFUSED.replace("tier: 1", "tier: [1]"), "spec.tier"),
        (REFUSED.replace("metadata: {name: h}", "metadata: {}"), "metadata.name"),
        ("apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {allocatable: 3}\n", "status.allocatable"),
    ],
)
def test_a_field_of_the_wrong_type_is_bad_input(run: Run, files: Path, text: str, place: str) -> None:
    result = run("validate", "-f", write(files, text))
    assert result.status == 2
    assert "more.yaml" in result.err and place in result.err


def test_no_input_is_bad_usage(run: Run) -> None:
    assert run("validate").status == 2
    assert run("validate", "-f", "x.yaml", "--release", "1.9").status == 2


def test_place_and_compare_refuse_it_in_the_same_words_with_status_1(run: Run, files: Path) -> None:
    hypernode = REFUSED.replace("regexMatch: {pattern: 'a\\(b'}", "")
    validated = run("validate", "-f", write(files, hypernode), "-o", "json")
    message = validated.json["objects"][0]["message"]
    assert "Either ExactMatch or RegexMatch or LabelMatch must be specified" in message
    inputs = ("-f", files / "cluster.yaml", "-f", files / "fits.yaml", "-f", files / "more.yaml")
    placed = run("place", *inputs, "--policy", "allocate", "-o", "json")
    assert (placed.status, placed.json["jobs"][0]["outcome"]) == (1, "placed")
    assert [(one["subject"], one["message"]) for one in placed.json["refused"]] == [("HyperNode h", message)]
    compared = run("compare", *inputs, "--policies", "allocate,gang")
    assert compared.status == 1
    assert f"refused: HyperNode h: {message}" in compared.err


MISSPELT = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: misspelt, annotations: {volcano.sh/network-topology-mod: hard}}
spec:
  networkTopolgy: {mode: hard, highestTierAllowed: 1}
  tasks:
  - {name: t, replicas: 2, template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}
"""
FIELD = "spec.networkTopolgy"
KEY = "volcano.sh/network-topology-mod"


def test_unknown_fields_and_keys_are_refused_with_the_closest_name(run: Run, files: Path) -> None:
    result = run("validate", "-f", write(files, MISSPELT), "-o", "json")
    assert result.status == 1
    assert result.json["objects"][0]["message"] == (
        f'strict decoding error: unknown field "{FIELD}" (did you mean networkTopology?); '
        f'metadata.annotations: unknown key "{KEY}" (did you mean {KEY}e?)'
    )


def test_place_and_compare_place_such_a_job_and_warn(run: Run, files: Path) -> None:
    inputs = ("-f", files / "cluster.yaml", "-f", write(files, MISSPELT))
    placed = run("place", *inputs, "-o", "json")
    assert placed.status == 0
    warnings = [warning["message"] for warning in placed.json["jobs"][0]["warnings"]]
    assert f"{FIELD} is unknown and not read (did you mean networkTopology?)" in warnings
    assert f"metadata.annotations: the key {KEY} is unknown and not read (did you mean {KEY}e?)" in warnings
    compared = run("compare", *inputs, "--policies", "gang,volcano-1.13")
    assert compared.status == 0 and FIELD in compared.out


def test_a_file_in_which_nothing_is_reviewed_is_status_2(run: Run, files: Path) -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n"
    result = run("validate", "-f", write(files, node))
    assert (result.status, result.out) == (2, "")
    assert "more.yaml: nothing to review (found Node (1), expected Pod (v1) or Deployment (apps) or" in result.err


@pytest.mark.parametrize(("policy", "told"), [("volcano-1.13", "its default 1 applies"), ("volcano-1.15", "")])
def test_what_the_schema_fills_in_is_applied_and_told(run: Run, files: Path, policy: str, told: str) -> None:
    topology = "{}" if told else "{highestTierAllowed: 1}"
    text = job_yaml("wide", 3).replace("  tasks:", f"  networkTopology: {topology}\n  tasks:", 1)
    result = run("place", "-f", files / "cluster.yaml", "-f", write(files, text), "--policy", policy, "-o", "json")
    (job,) = result.json["jobs"]
    # No leaf holds three pods of a whole node each.
    assert (result.status, job["outcome"]) == (1, "pending")
    warnings = [warning["message"] for warning in job["warnings"]]
    assert "spec.networkTopology.mode: hard is filled in, as the API server does" in warnings
    assert any(told in warning for warning in warnings)


def test_jobs_of_another_scheduler_are_counted_and_placed_on_demand(run: Run, files: Path) -> None:
    other = job_yaml("other", 1).replace("schedulerName: volcano", "schedulerName: default-scheduler")
    inputs = ("-f", files / "cluster.yaml", "-f", write(files, other))
    note = "left out, because another scheduler places them (default-scheduler): 1 Job"
    alone = run("place", *inputs)
    assert alone.status == 2 and "no job to place" in alone.err and note in alone.err
    both = run("place", *inputs, "-f", files / "fits.yaml", "-o", "json")
    assert [job["name"] for job in both.json["jobs"]] == ["fits"]
    assert both.err.count(note) == 1
    taken = run("place", *inputs, "--any-scheduler", "-o", "json")
    assert (taken.status, len(taken.json["jobs"])) == (0, 1) and note not in taken.err
    assert run("compare", *inputs, "--policies", "gang", "--any-scheduler").status == 0


@pytest.mark.parametrize("kind", ["Job", "PodGroup"])
def test_topology_annotations_without_effect_are_told_everywhere(run: Run, files: Path, kind: str) -> None:
    annotations = "annotations: {volcano.sh/network-topology-mode: hard}"
    if kind == "Job":
        text = job_yaml("wide", 3).replace("{name: wide, ", f"{{name: wide, {annotations}, ")
    else:
        group = (
            "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\n"
            f"metadata: {{name: wide, namespace: default, {annotations}}}\nspec: {{minMember: 1}}\n"
        )
        pod = (
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  namespace: default\n"
            "  annotations: {scheduling.k8s.io/group-name: wide}\n"
            "spec:\n  schedulerName: volcano\n  containers: [{name: c, resources: {requests: {cpu: '1'}}}]\n"
        )
        text = f"{group}---\n{pod}"
    note = "metadata.annotations: volcano.sh/network-topology-mode without effect here: spec.networkTopology counts"
    inputs = ("-f", files / "cluster.yaml", "-f", write(files, text))
    assert note in run("validate", *inputs).out
    (job,) = run("place", *inputs, "-o", "json").json["jobs"]
    assert [w["code"] for w in job["warnings"] if w["message"] == note] == ["annotation-without-effect"]
    compared = run("compare", *inputs, "--policies", "gang", "-o", "html")
    assert compared.status == 0 and note in compared.out
    assert note in run("compare", *inputs, "--policies", "gang").out


def test_a_file_holds_no_older_result_where_nothing_is_accepted(run: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "job.yaml", tmp_path / "stored.yaml"
    path.write_text("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: My_Job}\nspec: {tasks: []}\n")
    out.write_text("old")
    assert run("validate", path, "-o", "yaml", "--out", out).status == 1
    assert not out.read_text().strip()

"""Commands for a live cluster: they patch what the edits change, and nothing of an input can become a command."""

import json
import shlex
from copy import deepcopy
from typing import Any

import pytest

from tests.formats.edit_manifests.forms import FORMS, UID, Manifest, job, nodes, pod, started
from tests.formats.edit_manifests.test_cluster_edits import finished, of_nodes, of_queue, queue
from tests.formats.edit_manifests.test_job_edits import TOLERATION, edit
from workbench.formats.edit_manifests.apply import apply_edits
from workbench.formats.edit_manifests.commands import kubectl_commands

STORED = FORMS["Job with PodGroup and pods"]


def commands(manifests: list[Manifest], *edits: dict[str, Any]) -> list[str]:
    return kubectl_commands([*nodes(), *manifests], edits)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (
            edit("min-available", **{"from": 4, "to": 2}),
            """kubectl -n default patch jobs.batch.volcano.sh train --type=merge -p '{"spec":{"minAvailable":2}}'""",
        ),
        (
            edit("replicas", role="worker", **{"from": 3, "to": 2}),
            "kubectl -n default patch jobs.batch.volcano.sh train --type=json -p "
            """'[{"op":"replace","path":"/spec/minAvailable","value":3},"""
            """{"op":"replace","path":"/spec/tasks/1/replicas","value":2},"""
            """{"op":"replace","path":"/spec/tasks/1/minAvailable","value":2}]'""",
        ),
        (
            edit("tier", **{"from": 1, "to": 2}),
            "# Job default/train cannot be changed: in its manifest set spec.networkTopology.highestTierAllowed to 2; "
            "then kubectl replace --force -f FILE",
        ),
        (
            edit("selector", **{"from": {"key": "disk", "operator": "In", "values": ["fast"]}}),
            "# Job default/train cannot be changed: in its manifest remove spec.tasks[0].template.spec.nodeSelector, "
            "remove spec.tasks[1].template.spec.nodeSelector; then kubectl replace --force -f FILE",
        ),
        (edit("withdraw"), "kubectl -n default delete jobs.batch.volcano.sh train"),
        (
            of_queue("queue-capability", {"cpu": "1"}, {"cpu": "2"}),
            """kubectl patch queues.scheduling.volcano.sh q --type=merge -p '{"spec":{"capability":{"cpu":"2"}}}'""",
        ),
        (of_nodes("uncordon", "cordoned", "schedulable", "n0", "n1"), "kubectl uncordon n0 n1"),
        (
            of_nodes("untaint", "team=x y:NoSchedule", None, "n0"),
            "kubectl taint nodes n0 'team=x y:NoSchedule-'",
        ),
        (
            {"kind": "wait", "subject": "terminating pods", "from": 1, "to": 0, "pods": ["default/old"]},
            "kubectl -n default wait --for=delete pod/old",
        ),
    ],
)
def test_the_command_of_an_edit(change: dict[str, Any], wanted: str) -> None:
    old = started([pod("old", deletionTimestamp="2026-01-01T00:00:00Z")])
    assert commands([*STORED(), queue("q", capability={"cpu": "1"}), *old], change) == [wanted]


def test_a_higher_priority_needs_a_class_first() -> None:
    assert commands(STORED(), edit("priority", **{"from": 0, "to": 7})) == [
        "kubectl create priorityclass priority-7 --value=7",
        "kubectl -n default patch jobs.batch.volcano.sh train --type=merge -p "
        """'{"spec":{"priorityClassName":"priority-7"}}'""",
    ]


def test_edits_of_one_object_are_one_command() -> None:
    lines = commands(STORED(), edit("tier", **{"from": 1, "to": 2}), edit("min-available", **{"from": 4, "to": 2}))
    assert len(lines) == 1
    assert "set spec.minAvailable to 2, set spec.networkTopology.highestTierAllowed to 2" in lines[0]


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        ("Job with PodGroup and pods", ["kubectl -n default delete jobs.batch.volcano.sh train"]),
        ("Deployment with pods", ["kubectl -n default delete deployments.apps train"]),
        ("Gang", ["kubectl -n default delete pods train-pod-0 train-pod-1 train-pod-2 train-pod-3"]),
        ("HyperJob with Jobs", ["kubectl -n default delete hyperjobs.training.volcano.sh train"]),
    ],
)
def test_a_running_job_ends_with_the_object_that_owns_it(form: str, wanted: list[str]) -> None:
    made = started(FORMS[form]())
    owner = [{"kind": "HyperJob", "name": "train", "controller": True}]
    for one in made:
        if one["kind"] == "Job":
            one["metadata"].setdefault("ownerReferences", owner if form.startswith("HyperJob") else [])
        if one["kind"] == "ReplicaSet":
            one["metadata"]["ownerReferences"] = [{"kind": "Deployment", "name": "train", "controller": True}]
    assert commands(made, finished("job default/train")) == wanted


def test_a_deployment_makes_its_pods_again_itself() -> None:
    lines = commands(FORMS["Deployment with pods"](), edit("toleration", to=[TOLERATION]))
    assert len(lines) == 1
    assert lines[0].startswith("kubectl -n default patch deployments.apps train --type=merge -p ")


def test_a_partly_running_job_is_held_back_by_comments() -> None:
    made = STORED()
    started(made[2:4])
    lines = commands(made[:-1], edit("withdraw"))
    assert lines == ["# hold back by a scheduling gate: pod default/train-worker-2, default/train-worker-1"]
    hyper = FORMS["HyperJob with Jobs"]()
    started(hyper[3:5])
    assert "# let no further Job of HyperJob default/train be made" in commands(hyper, edit("withdraw"))
    started(hyper[3:7])
    [line] = commands(hyper, finished("job default/train-a-0"))
    assert line.startswith("# let the Job default/train-a-0 end by itself")


def test_a_job_that_is_not_in_the_input_is_deleted_with_its_pods() -> None:
    made = started(STORED())[1:]
    key = f"job default/train-{UID}"
    assert commands(made, finished(key)) == ["kubectl -n default delete jobs.batch.volcano.sh train"]


def test_equal_changes_of_several_pods_are_one_line() -> None:
    gang = FORMS["Gang"]()
    names = [f"train-pod-{i}" for i in range(4)]
    [line] = commands(gang, edit("toleration", to=[TOLERATION]))
    assert shlex.split(line)[:9] == ["kubectl", "-n", "default", "patch", "pods", *names]
    [line] = commands(gang, edit("affinity"))
    about = ", ".join(f"default/{name}" for name in names)
    assert line.startswith(
        f"# Pod {about} cannot be changed: in its manifest remove spec.affinity; then kubectl replace"
    )


def test_braces_of_an_input_stay_as_they_are() -> None:
    one = job(uid=UID)
    one["spec"]["tasks"][0]["template"]["spec"]["nodeSelector"] = {"{}": "x"}
    old = {"key": "{}", "operator": "In", "values": ["x"]}
    [line] = commands([one], edit("selector", **{"from": old, "to": {**old, "values": ["{}"]}}))
    assert line.startswith("# Job default/train cannot be changed: in its manifest set ")


def test_a_pod_that_something_else_makes_again_is_told() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "s", "controller": True}
    lines = commands(started([pod("db-0", ownerReferences=[owner])]), finished("pod default/db-0"))
    assert lines == [
        "# StatefulSet default/db makes pods again as long as it is there: db-0",
        "kubectl -n default delete pods db-0",
    ]


def test_what_no_command_can_do_is_a_comment() -> None:
    running = started([pod("a-0")])
    move = {"kind": "move", "subject": "job default/a-0", "from": {"a-0": "n0"}, "to": {"a-0": "n3"}}
    ready = of_nodes("ready", "not ready", "ready", "n2")
    more = {"kind": "add-nodes", "subject": "cluster", "from": 4, "to": 5, "like": "n0", "names": ["new-0"]}
    lines = commands(running, move, ready, more)
    assert len(lines) == 3
    assert all(line.startswith("# ") for line in lines)
    assert ["default/a-0" in lines[0], "n2" in lines[1], "new-0" in lines[2]] == [True] * 3


def test_names_of_an_input_never_become_options_or_commands() -> None:
    evil = nodes(1)
    evil[0]["metadata"]["name"] = "--server=http://evil; rm -rf $HOME\n"
    change = of_nodes("uncordon", "cordoned", "schedulable", evil[0]["metadata"]["name"])
    [line] = kubectl_commands(evil, [change])
    assert line.startswith("# names that no object can have: ")
    assert "\n" not in line
    one = job(uid=UID)
    one["spec"]["priorityClassName"] = "$(reboot)'\n"
    change = edit("selector", **{"from": {"key": "disk", "values": ["fast"]}, "to": {"key": "d", "values": ["'\n;x"]}})
    assert all("\n" not in line for line in commands([one], change))
    text = queue("q", capability={"`reboot`'": "1"})
    [line] = commands([text], of_queue("queue-capability", {"`reboot`'": "1"}, {"`reboot`'": "2"}))
    assert json.loads(shlex.split(line)[-1]) == {"spec": {"capability": {"`reboot`'": "2"}}}


def test_edits_of_a_cluster_without_manifests_are_told_from_the_edits() -> None:
    edits = [
        of_nodes("uncordon", "cordoned", "schedulable", "n0"),
        of_queue("queue-guarantee", {"cpu": "1"}, {"cpu": "2"}),
        of_queue("queue-weight", 1, 2),
        finished("job default/other"),
        finished("pod default/p"),
        {"kind": "add-nodes", "subject": "HyperNode r", "from": 1, "to": 2, "like": "n0", "names": ["n9"]},
        edit("min-available", **{"from": 4, "to": 2}),
    ]
    lines = kubectl_commands(STORED(), edits, whole_cluster=False)
    assert [line.split(" ")[0] for line in lines].count("kubectl") == 5
    assert """{"spec":{"guarantee":{"resource":{"cpu":"2"}}}}""" in lines[2]
    assert lines[-2].startswith("kubectl -n default patch jobs.batch.volcano.sh train")
    assert lines[-1] == "kubectl -n default delete pods p"


def _patched(data: Manifest, line: str) -> Manifest:
    """A manifest after `kubectl patch`."""
    words = shlex.split(line)
    patch = json.loads(words[-1])
    result = deepcopy(data)
    if "--type=merge" in words:
        _merge(result, patch)
        return result
    for operation in patch:
        *path, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        place: Any = result
        for part in path:
            place = place[int(part)] if isinstance(place, list) else place[part]
        if isinstance(place, list):
            if last == "-":
                place.append(operation["value"])
            else:
                place[int(last)] = operation["value"]
        elif operation["op"] == "remove":
            del place[last]
        else:
            place[last] = operation["value"]
    return result


def _merge(target: Any, patch: Any) -> None:
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = value


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "change",
    [
        edit("tier", **{"from": 1, "to": 2}),
        edit("toleration", to=[TOLERATION]),
        edit("selector", **{"from": {"key": "disk", "operator": "In", "values": ["fast"]}}),
        edit("affinity"),
        edit("priority", **{"from": 0, "to": 7}),
    ],
    ids=lambda change: change["kind"],
)
def test_what_is_patched_is_what_the_edit_changes(form: str, change: dict[str, Any]) -> None:
    start = [*nodes(), *FORMS[form]()]
    if start[-1]["kind"] == "List":
        start = [*start[:-1], *start[-1]["items"]]
    after = {(one["kind"], one["metadata"]["name"]): one for one in apply_edits(start, [change])}
    before = {(one["kind"], one["metadata"]["name"]): one for one in start}
    patched = 0
    lines = kubectl_commands(start, [change])
    assert lines
    for line in lines:
        words = shlex.split(line)
        if "patch" in words:
            kind = words[words.index("patch") + 1].partition(".")[0]
            [key] = [
                key for key in before if f"{key[0].lower()}s" == kind and key[1] == words[words.index("patch") + 2]
            ]
            assert _patched(before[key], line) == after[key]
            patched += 1
        else:
            assert line.startswith(("# ", "kubectl create priorityclass"))
    assert patched or any("cannot be changed" in line for line in lines)

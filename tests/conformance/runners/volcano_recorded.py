"""Runner of recorded answers of real Volcano schedulers: `cases/volcano-recorded`, whose README describes the files."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from tests.conformance.registry import NotUnderstood
from tests.conformance.runners import recorded_sessions
from tests.conformance.runners.recorded_objects import KINDS, unpacked
from workbench import load, schedule
from workbench.formats.scheduler_conf import parse_config

Json = dict[str, Any]

POLICIES = {"1.13": "volcano-1.13", "1.15": "volcano-1.15"}


class Recorded:
    """The area as `Runners` are to others: every file in it is one of recordings, known by its content."""

    area = "volcano-recorded"

    def knows(self, file: str) -> bool:
        return True

    def cases_of(self, content: Any) -> list[Any] | None:
        """The scenarios or sessions of a file as cases."""
        if isinstance(content, dict) and isinstance(content.get("scenarios"), list):
            shared = {"scheduler": content.get("scheduler"), "common": content.get("common")}
            return [shared | {"id": each.get("id"), "scenario": each} for each in content["scenarios"]]
        if isinstance(content, list):
            sessions = [each for each in content if isinstance(each, dict) and "jobs" in each]
            return [{"id": f"session-{each.get('seed')}", "session": each} for each in sessions]
        return None

    def run(self, file: str, case: Json) -> None:
        """Compare with the outcome in which the smallest name wins; a session as `recorded_sessions` does."""
        if "session" in case:
            recorded_sessions.check(case["session"], policy_of(case["session"].get("release")))
            return
        scenario = case["scenario"]
        exact = [outcome["jobs"] for outcome in scenario.get("outcomes", ()) if outcome.get("by_name")]
        if len(exact) != 1:
            raise NotUnderstood(f"{len(exact)} outcomes in which the smallest name wins")
        objects = [item for kind in KINDS for item in unpacked(scenario[kind], case["common"][kind])]
        placed, records = answer(objects, scenario["config"], policy_of(case["scheduler"]))
        wrong = {}
        for name, pods in placed.items():
            real = exact[0].get(name, {})
            if pods != real.get("placed", {}):
                wrong[name] = f"{pods}, really {real.get('placed', {})}"
            elif pods and records[name] != real.get("record", ""):
                wrong[name] = f"recorded in {records[name]!r}, really in {real.get('record', '')!r}"
        assert not wrong, wrong


def policy_of(text: object) -> str:
    """The policy that stands for a release such as ``Volcano 1.13.3``."""
    found = re.search(r"\b(\d+\.\d+)\.\d+$", text) if isinstance(text, str) else None
    if found is None or found[1] not in POLICIES:
        raise NotUnderstood(f"release {text!r}; known are {', '.join(POLICIES)}")
    return POLICIES[found[1]]


def answer(objects: list[Json], config: str, policy: str) -> tuple[dict[str, dict[str, int]], dict[str, str]]:
    """Per job its pods by ``role@node``, the role being the pod's name without its index; per job placed the record.

    Volcano itself looks at taints alone. The schedulers were recorded without the controller that taints nodes which
    are not ready, so they used such nodes; their conditions are left out here.
    """
    objects = [_without_conditions(item) if item.get("kind") == "Node" else item for item in objects]
    given = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()
    scenario = load("-", stdin=given)
    read = parse_config(config.encode(), "config")
    placed: dict[str, dict[str, int]] = {}
    records: dict[str, str] = {}
    for decision in schedule(scenario.gangs, scenario.snapshot, policy, config=read):
        key = decision.gang.key
        pods = [pod for pod in decision.result.pods() if pod.node] if decision.placed else []
        placed[key] = dict(Counter(f"{pod.name.rsplit('/', 1)[-1].rsplit('-', 1)[0]}@{pod.node}" for pod in pods))
        if pods:
            records[key] = decision.result.hypernode
    return placed, records


def _without_conditions(node: Json) -> Json:
    return node | {"status": {key: value for key, value in node["status"].items() if key != "conditions"}}


RUNNERS = Recorded()

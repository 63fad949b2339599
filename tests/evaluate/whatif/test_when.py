"""When pending jobs could start, by hand: gangs end at known seconds on two leaves of two nodes.

s2            node0: a, node1: b   below s0
├── s0        node2: c, node3: d   below s1
└── s1        each holds all 8 GPUs of its node
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import RUNNING, cluster_yaml, job_yaml
from workbench.errors import InputError
from workbench.evaluate.whatif.when import EarliestStart, RunTimes, earliest_starts
from workbench.formats.load import load
from workbench.model.extras import REMAINING_SECONDS, RUN_SECONDS
from workbench.policies import get_policy

HELD = {"node0": "a", "node1": "b", "node2": "c", "node3": "d"}

Annotations = dict[str, dict[str, str]]
Write = Callable[..., Path]


def annotated(text: str, annotations: Annotations) -> str:
    """The cluster with annotations on the pods of gangs, by the gang's name."""
    objects = list(yaml.safe_load_all(text))
    for one in objects:
        if one["kind"] == "Pod":
            metadata = one["metadata"]
            metadata["annotations"] |= annotations.get(metadata["annotations"]["scheduling.k8s.io/group-name"], {})
    return yaml.safe_dump_all(objects)


@pytest.fixture
def written(tmp_path: Path) -> Write:
    def call(*jobs: str, left: Annotations, held: dict[str, str] = HELD) -> Path:
        path = tmp_path / "all.yaml"
        path.write_text("---\n".join((annotated(cluster_yaml(held), left), *jobs)), "utf-8")
        return path

    return call


def seconds(**by_gang: str) -> Annotations:
    return {gang: {REMAINING_SECONDS: text} for gang, text in by_gang.items()}


def starts(path: Path, default_s: float | None = None, policy: str = "volcano-1.15") -> dict[str, EarliestStart]:
    scenario = load(path)
    found = earliest_starts(get_policy(policy), scenario.gangs, scenario.snapshot, RunTimes(default_s))
    assert [one.job for one in found] == [gang.key for gang in scenario.gangs]
    return {one.job.removeprefix("default/"): one for one in found}


LEAF = job_yaml("leaf", 2, highest_tier=1)


@pytest.mark.parametrize("policy", ["volcano-1.13", "volcano-1.15"])
def test_a_leaf_is_free_when_the_later_of_its_two_gangs_ends(written: Write, policy: str) -> None:
    """a ends at 10 s and leaves one node; b ends at 20 s and leaves the leaf."""
    found = starts(written(LEAF, left=seconds(a="10", b="20")), policy=policy)
    assert found == {"leaf": EarliestStart("default/leaf", 20.0, ("default/b",), "s0")}
    assert found["leaf"].text == "default/leaf could start in 20 s, when default/b ends, in s0"


def test_gangs_that_end_together_are_named_together(written: Write) -> None:
    found = starts(written(LEAF, left=seconds(a="30", b="10", c="15", d="15")))
    assert found["leaf"] == EarliestStart("default/leaf", 15.0, ("default/c", "default/d"), "s1")
    assert "when default/c, default/d end, in s1" in found["leaf"].text


def test_a_gang_ends_with_its_last_pod(written: Write) -> None:
    """The pod of a on node0 would end after 10 s, the one on node1 after 40 s: both end after 40 s."""
    path = written(LEAF, left=seconds(a="10"), held={"node0": "a", "node2": "c", "node3": "d"})
    second = RUNNING.format(gang="a", node="node1").split("---\n")[1]
    path.write_text("---\n".join((path.read_text("utf-8"), annotated(second, seconds(a="40")))), "utf-8")
    assert starts(path)["leaf"].seconds == 40.0


def test_jobs_that_start_end_in_their_turn(written: Write) -> None:
    """Both want the only leaf that is ever free: the first runs from 20 s to 25 s, then the second starts."""
    first = job_yaml("first", 2, highest_tier=1).replace(
        "    template:\n", f'    template:\n      metadata: {{annotations: {{{RUN_SECONDS}: "5"}}}}\n'
    )
    found = starts(written(first, job_yaml("second", 2, highest_tier=1), left=seconds(a="10", b="20")))
    assert (found["first"].seconds, found["first"].after) == (20.0, ("default/b",))
    assert (found["second"].seconds, found["second"].after) == (25.0, ("default/first",))


def test_a_job_that_runs_without_end_keeps_the_next_waiting(written: Write) -> None:
    found = starts(written(job_yaml("first", 2, highest_tier=1), LEAF, left=seconds(a="10", b="20")))
    assert found["first"].seconds == 20.0
    assert found["leaf"] == EarliestStart("default/leaf", None)


def test_a_job_never_starts_where_no_gang_has_a_known_end(written: Write) -> None:
    found = starts(written(LEAF, left={}))
    assert found["leaf"] == EarliestStart("default/leaf", None, ends_known=False)
    assert "no running gang has a known end" in found["leaf"].text
    assert found["leaf"].to_dict() == {"seconds": None, "after": [], "hypernode": None}


def test_a_job_that_no_leaf_can_hold_never_starts(written: Write) -> None:
    too_wide = job_yaml("wide", 3, highest_tier=1)
    found = starts(written(too_wide, left=seconds(a="1", b="2", c="3", d="4")))
    assert found["wide"].seconds is None


def test_a_job_that_fits_now_starts_at_once(written: Write) -> None:
    found = starts(written(LEAF, left={}, held={"node2": "c"}))
    assert found["leaf"] == EarliestStart("default/leaf", 0.0, (), "s0")


def test_one_number_stands_for_gangs_without_an_annotation(written: Write) -> None:
    """b has an annotation of 20 s; the others end after 50 s, a too, so that s0 is free at 50 s."""
    found = starts(written(LEAF, left=seconds(b="20")), default_s=50.0)
    assert found["leaf"].seconds == 50.0
    assert set(found["leaf"].after) == {"default/a", "default/c", "default/d"}


def test_the_remaining_time_counts_before_the_run_time(written: Write) -> None:
    both = {"a": {REMAINING_SECONDS: "10", RUN_SECONDS: "500"}, "b": {RUN_SECONDS: "30"}}
    assert starts(written(LEAF, left=both))["leaf"].seconds == 30.0


@pytest.mark.parametrize("text", ["soon", "-1", "inf", "nan", ""])
def test_an_annotation_that_is_no_time_is_bad_input(written: Write, text: str) -> None:
    path = written(LEAF, left=seconds(a=text))
    with pytest.raises(InputError, match="remaining-seconds") as caught:
        starts(path)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("after_s", "words"), [(0.5, "0.5 s"), (119.0, "119 s"), (120.0, "2 min"), (3600.0, "60 min"), (7200.0, "2 h")]
)
def test_times_are_told_in_a_unit_that_suits_them(after_s: float, words: str) -> None:
    assert EarliestStart("a/b", after_s).text == f"a/b could start in {words}"


def test_a_job_does_not_wait_for_the_end_of_its_own_pods(written: Write) -> None:
    """A pod of a holds node0 already, and its time is up at 5 s; the others want the nodes of b, c and d."""
    found = starts(written(job_yaml("a", 4), left=seconds(a="5", b="10", c="20", d="30")))
    assert found == {"a": EarliestStart("default/a", 30.0, ("default/d",))}

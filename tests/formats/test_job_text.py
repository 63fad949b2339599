"""The text of a scenario's jobs, as the widgets show it."""

from pathlib import Path

import yaml

from workbench.formats.job_text import load_with_job_text


def test_the_job_text_of_a_live_snapshot_has_only_what_waits():
    """A Job that runs would be placed a second time, beside its own pods."""
    recorded = Path(__file__).parents[2] / "datasets" / "recorded-cluster" / "cluster.json"
    scenario, text = load_with_job_text(recorded)
    jobs = [each["metadata"]["name"] for each in yaml.safe_load_all(text) if each["kind"] == "Job"]
    assert jobs == ["pytorch-job", "wide"]
    assert {gang.key for gang in scenario.gangs} == {"default/pytorch-job", "research/wide"}
    assert len(scenario.snapshot.running) == 14

"""The files that hosts and packagers read: that they parse, and say what the rest of the repository says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = ROOT / ".github" / "workflows"
NAMES = sorted(path.name for path in WORKFLOWS.glob("*.yml"))

pytestmark = pytest.mark.skipif(not WORKFLOWS.is_dir(), reason="an unpacked sdist has no files for hosts")


def project() -> dict[str, Any]:
    whole: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return whole


def read(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text("utf-8"))


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in read(f".github/workflows/{name}")["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("name", NAMES)
def test_a_workflow_has_the_parts_that_a_host_asks_for(name: str) -> None:
    workflow = read(f".github/workflows/{name}")
    assert workflow["name"] and workflow["permissions"] == {"contents": "read"}
    assert workflow[True]  # YAML 1.1 reads the key "on" so
    for job in workflow["jobs"].values():
        assert job["runs-on"] and all(("uses" in step) != ("run" in step) for step in job["steps"])
        assert set(job.get("needs", [])) <= set(workflow["jobs"]) or job.get("needs") in workflow["jobs"]


@pytest.mark.parametrize("name", NAMES)
def test_a_workflow_runs_commands_that_are_here(name: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for step in steps(name):
        for target in re.findall(r"make ([a-z-]+)", step.get("run", "")):
            assert target in targets
        for script in re.findall(r"bash (\S+)", step.get("run", "")):
            assert (ROOT / script).is_file()


def test_every_python_that_is_declared_is_tested_and_has_wheels() -> None:
    classifiers = project()["project"]["classifiers"]
    declared = [one.rpartition(" ")[2] for one in classifiers if re.search(r":: 3\.\d+$", one)]
    assert read(".github/workflows/test.yml")["jobs"]["pythons"]["strategy"]["matrix"]["python"] == declared
    wheels = project()["tool"]["cibuildwheel"]["build"].split()
    assert wheels == [f"cp{version.replace('.', '')}-*" for version in declared]
    assert project()["project"]["requires-python"] == f">={declared[0]}"


def test_wheels_are_made_for_two_kinds_of_processor() -> None:
    machines = read(".github/workflows/wheels.yml")["jobs"]["wheels"]["strategy"]["matrix"]["machine"]
    assert machines == ["ubuntu-24.04", "ubuntu-24.04-arm"]


def test_the_citation_names_this_release() -> None:
    citation = read("CITATION.cff")
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= set(citation)
    assert citation["version"] == project()["project"]["version"]
    assert citation["license"] == project()["project"]["license"]
    assert citation["repository-code"] == project()["project"]["urls"]["Homepage"]


def test_an_issue_asks_for_a_snapshot_without_names() -> None:
    form = read(".github/ISSUE_TEMPLATE/wrong-answer.yml")
    assert {"name", "description", "body"} <= set(form)
    fields = {part["id"]: part for part in form["body"]}
    assert "workbench live snapshot --anonymize --out report.json" in fields["input"]["attributes"]["description"]
    assert all(part["validations"] == {"required": True} for part in form["body"])


def test_the_image_is_made_from_the_locks_and_runs_without_root() -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8")
    assert re.findall(r"^USER (\S+)$", text, re.MULTILINE) == ["65532:65532"]
    assert text.count("--require-hashes") == text.count("-r requirements") == 2
    last = text.rpartition("\nFROM ")[2]
    assert "pip" not in last and "apt-get" not in last


def test_the_page_of_the_project_links_to_its_parts() -> None:
    assert {"Homepage", "Documentation", "Issues", "Changelog"} <= set(project()["project"]["urls"])
    assert len(project()["project"]["keywords"]) > 5


def test_what_is_promised_about_secrets_is_what_the_operator_may() -> None:
    """SECURITY.md says that the operator has no right on Secrets but those that an option names."""
    from workbench.live.kubernetes.operator_manifests import operator_rules

    assert not any("secrets" in rule["resources"] for rule in operator_rules())
    assert "--ssh" in (ROOT / "SECURITY.md").read_text("utf-8")


def test_no_workflow_leaves_the_token_of_a_checkout_behind() -> None:
    checkouts = [step for name in NAMES for step in steps(name) if "uses" in step]
    checkouts = [step for step in checkouts if step["uses"].startswith("actions/checkout@")]
    assert len(checkouts) > 3 and all(step["with"] == {"persist-credentials": False} for step in checkouts)


def test_an_action_is_the_same_commit_wherever_it_is_used() -> None:
    """A tag can be moved to other code; the release that a commit stands for is a comment, which dependabot reads."""
    pins: dict[str, str] = {}
    for name in NAMES:
        for line in (WORKFLOWS / name).read_text("utf-8").splitlines():
            if (found := re.search(r"uses: (\S+?)@(.*)", line)) is not None:
                assert re.fullmatch(r"[0-9a-f]{40} # v\d+\.\d+\.\d+", found[2]), line
                assert pins.setdefault(found[1], found[2]) == found[2], line
    assert len(pins) > 5


def test_only_what_publishes_may_write() -> None:
    """Nothing but the page of the site and the index of packages is written to, without a password of ours."""
    rights = {
        job: what["permissions"]
        for name in NAMES
        for job, what in read(f".github/workflows/{name}")["jobs"].items()
        if "permissions" in what
    }
    assert rights == {"deploy": {"pages": "write", "id-token": "write"}, "publish": {"id-token": "write"}}
    assert not any("secrets." in (WORKFLOWS / name).read_text("utf-8") for name in NAMES)


def test_newer_releases_of_actions_are_proposed() -> None:
    updates = read(".github/dependabot.yml")["updates"]
    assert [one["package-ecosystem"] for one in updates] == ["github-actions"]

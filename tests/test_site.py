"""The documentation site is complete: every page is in a toctree, and the interface lists what `workbench` exports.

`make docs` builds the site; these tests read its sources only.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import workbench
from docs.api_pages import objects, pages
from docs.cli_pages import pages as commands_with_pages
from docs.widget_pictures import PICTURES
from tests.readme import ROOT
from workbench.cli.app import command

PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("datasets/**/*.md"),
        *ROOT.glob("notebooks/*.ipynb"),
    }
)
INDEX = ROOT / "docs" / "index.md"
INTERFACE = ROOT / "docs" / "api" / "index.md"


def entries(page: Path) -> list[tuple[str, list[Path]]]:
    """The lines of the toctrees of a page, each with the pages that it names."""
    found = []
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            if line and not line.startswith(":"):
                target = re.sub(r".*<(.+)>$", r"\1", line)
                matching = [path for end in ("md", "ipynb") for path in page.parent.glob(f"{target}.{end}")]
                found.append((line, [path.resolve() for path in matching if path != page]))
    return found


def exported_on(page: Path) -> dict[str, object]:
    """What the page documents or summarises, by the last part of its name."""
    found = {}
    for name in re.findall(r"^(?:   ~|\.\. autofunction:: )(workbench\.\S+)$", page.read_text("utf-8"), re.MULTILINE):
        module, _, attribute = name.rpartition(".")
        found[attribute] = getattr(import_module(module), attribute)
    return found


def test_every_page_is_reached_from_the_first():
    reached, left = {INDEX}, [INDEX]
    while left:
        page = left.pop()
        if page.suffix == ".md":
            new = {path for _, paths in entries(page) for path in paths} - reached
            reached |= new
            left += new
    assert [str(path.relative_to(ROOT)) for path in PAGES if path not in reached] == []


def test_every_entry_of_a_toctree_names_a_page():
    listed = [(page, line, paths) for page in PAGES if page.suffix == ".md" for line, paths in entries(page)]
    assert len(listed) > 30
    rooms = [line for _, line, _ in listed if line.startswith("rooms/")]
    generated = (*rooms, "objects/*", *(f"pages/{name}" for name in commands_with_pages()))
    assert [(page.name, line) for page, line, paths in listed if not paths and line not in generated] == []
    assert sorted(rooms) == sorted(f"rooms/{name}" for name in pages() if name.count(".") == 1)


def test_every_command_has_a_page_with_its_help():
    found = commands_with_pages()
    listed = [line.removeprefix("pages/") for line, _ in entries(ROOT / "docs" / "cli" / "index.md")]
    assert listed == list(found)
    assert "workbench topology discover ufm\n~~~" in found["topology"]
    assert "--output [table|wide|json|yaml|csv]" in found["place"]


def test_every_export_has_a_page_that_other_sites_can_link_to():
    found = objects()
    assert found["workbench.load"].endswith(".. autofunction:: workbench.load\n")
    modules = {name for name in workbench.__all__ if isinstance(getattr(workbench, name), ModuleType)}
    assert set(found) == {f"workbench.{name}" for name in set(workbench.__all__) - modules}


def test_pages_of_packages_name_the_pages_below_them():
    found = pages()
    below = {line.strip() for text in found.values() for line in text.splitlines() if line.startswith("   workbench.")}
    assert below == {name for name in found if name.count(".") > 1}


def test_the_interface_lists_what_workbench_exports():
    wanted = {name: getattr(workbench, name) for name in workbench.__all__}
    assert exported_on(INTERFACE) == wanted


@pytest.mark.parametrize("name", PICTURES)
def test_a_widget_of_a_notebook_has_its_pictures(name):
    assert hasattr(workbench, name)
    folder = ROOT / "docs" / "images" / "gallery"
    assert [
        p for p in PICTURES[name] for theme in ("light", "dark") if not (folder / f"{p}-{theme}.png").is_file()
    ] == []


def test_every_widget_that_is_exported_has_a_picture():
    widgets = {name for name, home in workbench._HOME.items() if home.startswith("workbench.widgets.")}
    assert widgets == set(PICTURES)


def test_no_page_links_to_a_folder():
    links = [
        (page.relative_to(ROOT), link)
        for page in PAGES
        for link in re.findall(r"\]\(([^)#:\s]+)\)", page.read_text(encoding="utf-8"))
    ]
    assert len(links) > 50
    assert [(str(page), link) for page, link in links if (ROOT / page).parent.joinpath(link).is_dir()] == []


def _command_of(words: list[str]) -> tuple[Any, list[str]]:
    """The command that the words call, and the words after its name."""
    found: Any = command()
    while words and words[0] in getattr(found, "commands", {}):
        found, words = found.commands[words[0]], words[1:]
    return found, words


def test_tasks_by_role_begin_with_commands_and_exports_that_exist():
    text = (ROOT / "docs" / "roles.md").read_text("utf-8")
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Researcher",
        "## Platform engineer",
        "## Job owner",
    ]
    begins = [row.split("|")[-2].strip().strip("`") for row in text.splitlines() if row.startswith("| ")]
    wrong = []
    for one in begins:
        if one.startswith("workbench "):
            found, words = _command_of(one.split()[1:])
            options = {name for option in found.params for name in option.opts}
            if hasattr(found, "commands") or {word for word in words if word.startswith("-")} - options:
                wrong.append(one)
        elif match := re.match(r"@?wb\.(\w+)", one):
            if match[1] not in workbench.__all__:
                wrong.append(one)
        elif one not in ("begins with", "---", "make lab", "comparison.plot(ax=axes)"):
            wrong.append(one)
    assert len(begins) > 25 and wrong == []

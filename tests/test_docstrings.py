"""Tests of docstrings: every parameter documented, cited documents exist, and a class name means one thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture import module_of
from tests.docstrings import (
    class_names,
    classes,
    documenting_methods,
    empty_entries,
    misplaced_citations,
    undocumented_parameters,
)

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "workbench"
SOURCES = {
    module_of(path, ROOT): path.read_text("utf-8")
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.relative_to(PACKAGE).parts[0] != "_core"
}
KERNELS = {
    path.name: path.read_text("utf-8") for path in sorted((ROOT / "_core").glob("*.p[yx]*")) if path.suffix != ".pyc"
}


#: Entries of a plain type and no word, left where the name alone would be a riddle; to be lowered.
EMPTY_ENTRIES = 1


@pytest.mark.slow
class TestTheSources:
    def test_functions_with_many_parameters_document_each_and_arrays_state_shape_and_dtype(self) -> None:
        known, inherited = classes(SOURCES.values()), documenting_methods(SOURCES.values())
        found = [
            violation
            for module, source in SOURCES.items()
            for violation in undocumented_parameters(source, module, known, inherited)
        ]
        assert found == []

    def test_few_entries_say_a_plain_type_only(self) -> None:
        found = [entry for module, source in SOURCES.items() for entry in empty_entries(source, module)]
        assert len(found) <= EMPTY_ENTRIES, "\n".join(found)

    def test_a_class_name_means_one_thing(self) -> None:
        assert class_names(SOURCES) == {}

    def test_every_cited_document_is_in_the_repository(self) -> None:
        assert KERNELS and SOURCES
        found = [
            f"{name}: {citation}"
            for name, source in {**SOURCES, **KERNELS}.items()
            for citation in misplaced_citations(source, ROOT)
        ]
        assert found == []


class TestAPlantedViolationIsCaught:
    FUNCTION = '''
def f(a: int, b: NDArray[np.int64], c: int) -> None:
    """Do it.

    Parameters
    ----------
    a, b : {b}
        What they are.{more}

    Returns
    -------
    c : int
    """
'''

    @pytest.mark.parametrize(
        ("b", "more", "want"),
        [
            ("ndarray of shape (n, r), int64", "\n    c : int", []),
            ("ndarray of shape (n, r), int64", "\n    c :\n        See there.", []),
            ("ndarray of shape (n, r), int64", "", ["m:f: undocumented c"]),
            ("ndarray of int64", "\n    c : int", ["m:f: no shape or dtype of b"]),
            ("ndarray of shape (n,)", "\n    c : int", ["m:f: no shape or dtype of b"]),
        ],
    )
    def test_in_a_function(self, b: str, more: str, want: list[str]) -> None:
        source = self.FUNCTION.replace("{b}", b).replace("{more}", more)
        assert undocumented_parameters(source, "m") == want

    @pytest.mark.parametrize(
        ("b", "missing"),
        [("Node", ""), ("Sequence[Node]", ""), ("Node | None", "b, "), ("Mapping[str, Node]", "b, "), ("int", "b, ")],
    )
    def test_a_class_of_ours_needs_no_entry(self, b: str, missing: str) -> None:
        source = f'def f(a: Node, b: {b}, c: int) -> None:\n    """Do it."""\n'
        assert undocumented_parameters(source, "m", {"Node"}) == [f"m:f: undocumented {missing}c"]

    @pytest.mark.parametrize(
        ("docstring", "missing"),
        [
            ("Add a node to others.", "tier_names"),
            ("Add a node to others, with the name of each tier.", ""),
            ("Add a node to others.\n\n    `tier_names`: as in `g`.\n    ", ""),
            ("Add a node to others.\n\n    Returns\n    -------\n    tier_names : list\n    ", "tier_names"),
        ],
    )
    def test_a_sentence_may_speak_of_a_parameter(self, docstring: str, missing: str) -> None:
        source = f'def f(node: str, others: list, tier_names: int) -> None:\n    """{docstring}"""\n'
        assert undocumented_parameters(source, "m") == ([f"m:f: undocumented {missing}"] if missing else [])

    @pytest.mark.parametrize(
        ("entry", "empty"),
        [
            ("node : str", True),
            ("node, other : mapping of str to int, optional", True),
            ("node : str\n        Its name.", False),
            ("node : ndarray of shape (n,), int32", False),
            ('node : {"first", "last"}', False),
        ],
    )
    def test_an_entry_that_says_nothing(self, entry: str, empty: bool) -> None:
        more = "\n    Returns\n    -------\n    int\n    "
        source = f'def f(node):\n    """Do it.\n\n    Parameters\n    ----------\n    {entry}\n{more}"""\n'
        assert empty_entries(source, "m") == ([f"m:f: {entry}"] if empty else [])

    def test_what_overrides_a_documented_method_inherits_its_parameters(self) -> None:
        method = '    def place(self, a: int, b: int, c: int) -> None:\n        """Place."""\n'
        derived, alone = f"class C(Base):\n{method}", f"class C:\n{method}"
        base = alone.replace(
            "Place.", "Place.\n\n        Parameters\n        ----------\n        a, b, c : int\n        "
        )
        inherited = documenting_methods([base])
        assert undocumented_parameters(derived, "m", (), inherited) == []
        assert undocumented_parameters(alone, "m", (), inherited) == ["m:C.place: undocumented a, b, c"]
        assert undocumented_parameters(derived, "m") == ["m:C.place: undocumented a, b, c"]

    def test_the_class_documents_what_its_constructor_takes(self) -> None:
        source = 'class C:\n    """C.{}"""\n\n    def __init__(self, a, b, c): ...\n'
        told = "\n\n    Parameters\n    ----------\n    a, b, c : int\n    "
        assert undocumented_parameters(source.format(""), "m") == ["m:C: undocumented a, b, c"]
        assert undocumented_parameters(source.format(told), "m") == []

    def test_few_parameters_private_functions_and_commands_are_not_accused(self) -> None:
        source = (
            "def f(a, b): ...\ndef _g(a, b, c): ...\nclass C:\n    def _h(self, a, b, c): ...\n"
            "def command(a: Annotated[str, Option()], b: Files, c: Files): ...\n"
        )
        assert undocumented_parameters(source, "m") == []

    def test_two_classes_of_one_name(self) -> None:
        sources = {"a": "class C: ...\nclass D: ...\n", "b": "def f():\n    class C: ...\n"}
        assert class_names(sources) == {"C": ["a", "b"]}

    @pytest.mark.parametrize(
        "text",
        [
            "docs/reference/nothing.md, section 2",
            "reference/volcano-topology.md section 2",
            "volcano-topology.md 5.1",
            "DESIGN decision 5",
            "DESIGN, section 2",
        ],
    )
    def test_a_document_that_is_not_there(self, text: str) -> None:
        assert len(misplaced_citations(f'"""Source: {text}."""\n', ROOT)) == 1

    @pytest.mark.parametrize(
        "text",
        [
            "docs/reference/volcano-topology.md, section 5.1",
            "docs/decisions.md, decision 5",
            "the report is written to report.md",
            "hivedscheduler, doc/user-manual.md",
        ],
    )
    def test_a_document_that_is_there_or_is_somebody_elses(self, text: str) -> None:
        assert misplaced_citations(f'"""Source: {text}."""\n', ROOT) == []

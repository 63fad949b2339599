from __future__ import annotations

import pytest

from workbench.objects.names import is_label_value, is_subdomain, qualified_name_errors


@pytest.mark.parametrize("name", ["n", "Node_1", "rack-1.example", "a" * 63, "volcano.sh/hypernode", "a.b/C"])
def test_qualified_names(name: str) -> None:
    assert qualified_name_errors(name) == []


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("", ["name part must be non-empty"]),
        ("-n", ["name part must consist of"]),
        ("n\n", ["name part must consist of"]),
        ("é", ["name part must consist of"]),
        ("a" * 64, ["name part must be no more than 63 characters"]),
        ("-" * 64, ["name part must be no more than 63 characters", "name part must consist of"]),
        ("/n", ["prefix part must be non-empty"]),
        ("A/n", ["prefix part a lowercase RFC 1123 subdomain"]),
        ("a" * 254 + "/n", ["prefix part must be no more than 253 characters"]),
        ("a/b/c", ["a qualified name must consist of"]),
    ],
)
def test_what_is_wrong_with_a_name(name: str, want: list[str]) -> None:
    found = qualified_name_errors(name)
    assert len(found) == len(want)
    assert all(text.startswith(start) for text, start in zip(found, want, strict=True))


@pytest.mark.parametrize(
    ("value", "want"), [("", True), ("A_b.1", True), ("a" * 64, False), ("a b", False), ("-", False)]
)
def test_values_of_labels(value: str, want: bool) -> None:
    assert is_label_value(value) == want


@pytest.mark.parametrize(("name", "want"), [("a.b-c", True), ("A", False), ("a.", False), ("", False), ("a\n", False)])
def test_subdomains(name: str, want: bool) -> None:
    assert is_subdomain(name) == want

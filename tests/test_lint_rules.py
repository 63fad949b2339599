from __future__ import annotations

from tests.lint_rules import PAGE, page


def test_the_page_says_what_the_registry_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()

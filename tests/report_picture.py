"""The picture of the README: three policies on the demo cluster, taken from the page that `workbench compare` writes.

``PYTHONPATH=. python -m tests.gallery comparison`` takes it and keeps, beside it, what it shows. A test compares that
with what the policies do now, so that a picture cannot show other numbers than the table below it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import workbench as wb
from tests.readme import ROOT
from workbench.report.html import report_html

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["KEPT", "PICTURE", "numbers_and_pods", "shown", "take"]

PICTURE = ROOT / "docs" / "images" / "comparison.png"
KEPT = ROOT / "docs" / "images" / "comparison.json"

_POLICIES = ("allocate", "volcano-1.13", "volcano-1.13+gpu-lowest-index")

#: Numbers of the table in the picture, but for the times.
_NUMBERS = ("placed", "pods_placed", "nodes", "lca_tier", "pod_pairs", "bottleneck_gb_s", "gpus_stranded")


def _compared() -> wb.Comparison:
    return wb.compare(wb.datasets.load("demo"), list(_POLICIES))


def shown() -> dict[str, Any]:
    """The content of the README's picture, as plain values to compare."""
    return numbers_and_pods(_compared())


def numbers_and_pods(comparison: wb.Comparison) -> dict[str, Any]:
    """What a picture of a comparison shows of each policy: its numbers, and the GPUs of each pod."""
    record: dict[str, Any] = json.loads(json.dumps(comparison.to_dict()))
    return {
        row["policy"]: {
            "numbers": {name: row["metrics"][name] for name in _NUMBERS},
            "pods": {pod["name"]: [pod["node"], *pod["gpus"]] for job in row["jobs"] for pod in job["pods"]},
        }
        for row in record["policies"]
    }


def take(browser: Browser) -> None:
    """Take the picture in a browser, and keep what it shows."""
    page = browser.new_page(viewport={"width": 1220, "height": 640})
    page.set_content(report_html(_compared()))
    page.wait_for_timeout(500)
    page.screenshot(path=PICTURE)
    page.close()
    keep()


def keep() -> None:
    """Write what the picture shows into the file beside it."""
    KEPT.write_text(json.dumps(shown(), indent=1, sort_keys=True) + "\n", encoding="utf-8")

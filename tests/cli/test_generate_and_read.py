"""What `topology generate` prints is what `-f -` reads."""

from __future__ import annotations

import io
import json
import sys

import yaml

from workbench.cli import main
from workbench.topology.presets import generate


class _Stdin:
    def __init__(self, text: str) -> None:
        self.buffer = io.BytesIO(text.encode())


def test_generated_cluster_is_read_from_standard_input(capsys, monkeypatch):
    assert main(["topology", "generate", "use-case-1", "--set", "pods=6", "--set", "sizes=2,2,2,2"]) == 0
    text = capsys.readouterr().out
    assert list(yaml.safe_load_all(text)) == generate("use-case-1", pods=6, sizes="2,2,2,2")
    monkeypatch.setattr(sys, "stdin", _Stdin(text))
    assert main(["topology", "show", "-f", "-", "-o", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["nodes"] == 16
    assert len(shown["domains"]) == 15
    assert shown["problems"] == []


def test_a_generated_machine_is_asked_for_its_best_gpus(capsys, monkeypatch):
    assert main(["topology", "generate", "machine", "--set", "model=ascend-910c", "--set", "degraded=1"]) == 0
    monkeypatch.setattr(sys, "stdin", _Stdin(capsys.readouterr().out))
    assert main(["gpus", "-", "-k", "2", "-o", "json"]) == 0
    out, err = capsys.readouterr()
    best = json.loads(out)
    assert (best["bottleneck_gb_s"], best["optimal_sets"]) == (270.0, 8)
    assert [doubt["code"] for doubt in best["suspicious_links"]] == ["one-slow-direction"]
    assert err == "note: -: left aside: 2 documents that are no Device\n"

"""Measure what each optimisation of the two-level search gains: ``python benchmarks/optimisations.py WITH WITHOUT...``.

Every argument is a folder with a checkout whose kernels are built: WITH has all optimisations, each WITHOUT lacks one,
after which its folder is named. All are run by the Python that runs this script. It counts, by callgrind, the
instructions of the same searches in every checkout, which a busy machine does not change. Valgrind with its headers and
a C compiler are needed. ``--to FILE`` stores the counts; ``--from FILE`` reads them, and only missing ones are counted.

A row of the table is one optimisation at one size: the cell in which it gains the most, how many times more
instructions that cell takes without it, and the same for the sum over all cells.
docs/adr/0018-what-optimisations-gain.md has the table that decided which optimisations stay.
"""

from __future__ import annotations

import argparse
import copyreg
import ctypes
import importlib
import itertools
import json
import os
import pickle
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from bench_volcano import PACKING, POD, SCALE, WEIGHTS, Ask, Cluster, cluster, draw
from search_cells import dry_runs

from workbench.kernels.domain_tree import DomainTree
from workbench.kernels.fading import Fading
from workbench.kernels.node_states import NodeStates
from workbench.kernels.repeated import Repeated
from workbench.kernels.tiers import Forest
from workbench.kernels.two_level import Shape, TwoLevel

HERE = Path(__file__).resolve().parent
KINDS = ((10, "identical"), (100, "identical"), (1, "roles"), (10, "roles"), (10, "distinct"))
REQUESTS = """
#include <valgrind/callgrind.h>
void start(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void stop(const char* cell) { CALLGRIND_DUMP_STATS_AT(cell); CALLGRIND_STOP_INSTRUMENTATION; }
"""


def sizes(rng: random.Random) -> Iterator[Cluster]:
    yield cluster("640", 640, [640, 80, 10, 2], rng, singles=640)
    yield cluster("6,000", 6_000, [6_000, 3_000, 750, 45, 5], rng, singles=5_800)
    yield cluster("20,000", 20_000, [20_000, 10_000, 2_000, 133], rng, singles=20_000)


@dataclass
class Cell:
    name: str  # the cluster's, a bar, what is done there
    action: str
    made: Cluster
    ask: Ask


def cells() -> Iterator[Cell]:
    rng = random.Random(5)
    for made in sizes(rng):
        for array in (made.nodes.idle, made.nodes.used, made.nodes.allocatable):
            array.flags.writeable = False
        made.nodes = replace(made.nodes, states=NodeStates(made.nodes.idle, made.nodes.used, made.nodes.allocatable))
        asks = {kind: draw(made, rng, *kind, 0, placed=True) for kind in KINDS}
        for (groups, kind), ask in asks.items():
            yield Cell(f"{made.name}|{groups} sub-jobs, {kind}", "turn", made, ask)
        some = masked(made, draw(made, rng, 5, "distinct", 0, placed=True), rng)
        yield Cell(f"{made.name}|some nodes only", "turn", made, some)
        ask = draw(made, rng, 1, "roles", 16, placed=True)
        yield Cell(f"{made.name}|whole cluster, near its record", "turn", made, unlimited(ask, True))
        yield Cell(f"{made.name}|whole cluster, to full HyperNodes", "fade", made, unlimited(ask, False))
        yield Cell(f"{made.name}|dry runs", "dry runs", made, ask)
        yield Cell(f"{made.name}|dry runs of many pods", "many dry runs", made, ask)
        many = draw(made, random.Random(made.n), 100, "distinct", 2, placed=True)
        yield Cell(f"{made.name}|100 sub-jobs, distinct", "turn", made, many)
        yield Cell(f"{made.name}|one gang again and again", "again", made, asks[10, "identical"])
        # They wait: what rules HyperNodes out is of more use there than where the first ones will do.
        own = random.Random(made.n + 1)
        for groups, kind in (*KINDS, (100, "distinct")):
            waiting = draw(made, own, groups, kind, 0, placed=False)
            yield Cell(f"{made.name}|{groups} sub-jobs, {kind}, waiting", "turn", made, waiting)


TREE = (
    "forest", "walk", "end", "member_start", "members", "node_start", "node_domains", "name_rank", "leaf", "spans",
    "nested", "leaves",
)  # fmt: skip


def domain_tree(*parts: Any) -> DomainTree:
    return DomainTree(*parts[:9], **dict(zip(TREE[9:], parts[9:], strict=True)))


def two_level(made: Cluster, ask: Ask, fading: Fading | None = None) -> TwoLevel:
    return TwoLevel(
        made.tree, made.nodes, ask.shapes, ask.job, ask.subs,
        weights=WEIGHTS, scores=made.scores, packing=PACKING, scale=SCALE, fading=fading,
    )  # fmt: skip


def masked(made: Cluster, ask: Ask, rng: random.Random) -> Ask:
    """A copy of the gang in which each pod shape may use a different random set of nodes."""
    masks = [(np.random.default_rng(rng.randrange(1 << 30)).random(made.n) < 0.8).astype(np.uint8) for _ in ask.shapes]
    ask.shapes = [Shape(shape.request, mask) for shape, mask in zip(ask.shapes, masks, strict=True)]
    return ask


def unlimited(ask: Ask, scored: bool) -> Ask:
    """A copy of the gang that may go anywhere: with `scored` its pods close together, otherwise to full HyperNodes."""
    count = len(ask.subs.rank)
    subs = replace(ask.subs, limited=np.zeros(count, dtype=np.bool_), scored=np.full(count, scored))
    return Ask(ask.shapes, replace(ask.job, limit=None), subs, ask.pods, ask.sub_limit)


def faded(made: Cluster) -> Fading:
    columns = np.arange(len(made.tree.tiers) + 1, dtype=np.int32)
    return Fading(made.tree.rings, columns, 0.5 ** columns.astype(np.float64), PACKING, SCALE)


def again(made: Cluster, ask: Ask) -> object:
    """Search for the gang repeatedly, while one pod of another job is placed and removed between the searches."""
    starts = np.concatenate([[0], np.cumsum(ask.subs.left)])
    places = [np.arange(first, end) for first, end in itertools.pairwise(starts)]
    run = Repeated(two_level(made, ask), places, int(starts[-1]))
    for node in range(0, made.n, made.n // 10):
        for row in (POD, -POD):
            run.change(np.array([node], dtype=np.int32), row[None, :])
            run.run()
    return run


ACTIONS: dict[str, Callable[[Cluster, Ask], object]] = {
    "turn": lambda made, ask: two_level(made, ask).turn(),
    "fade": lambda made, ask: two_level(made, ask, faded(made)).turn(),
    "dry runs": lambda made, ask: dry_runs(made, 4),
    "many dry runs": lambda made, ask: dry_runs(made, 16),
    "again": again,
}


def work(folder: Path) -> None:
    """Run every cell once under callgrind, which writes one file per cell into `folder`."""
    library = ctypes.CDLL(str(folder / "requests.so"))
    for cell in pickle.loads((folder / "cells").read_bytes()):
        act = ACTIONS[cell.action]
        library.start()
        act(cell.made, cell.ask)
        library.stop(cell.name.encode())


def counted(checkout: Path, some: list[Cell], folder: Path) -> dict[str, int]:
    """Number of instructions of the given cells in a checkout, by the cell's name."""
    (folder / "cells").write_bytes(pickle.dumps(some))
    with tempfile.TemporaryDirectory(dir=folder) as out:
        environment = {**os.environ, "PYTHONPATH": f"{checkout}{os.pathsep}{HERE}", "PYTHONHASHSEED": "0"}
        valgrind = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}/out"]
        code = f"import optimisations; optimisations.work(optimisations.Path({str(folder)!r}))"
        subprocess.run([*valgrind, sys.executable, "-P", "-c", code], env=environment, check=True)
        found = {}
        for path in Path(out).iterdir():
            text = path.read_text("utf-8")
            name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
            total = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
            if name and total:
                found[name[1]] = int(total[1])
        return found


def table(base: dict[str, int], others: dict[str, dict[str, int]]) -> Iterator[str]:
    yield "| without | nodes | most in | there | all cells |"
    yield "| --- | ---: | --- | ---: | ---: |"
    for without, counts in others.items():
        for size in dict.fromkeys(name.partition("|")[0] for name in base):
            names = [name for name in base if name.partition("|")[0] == size and name in counts]
            most = max(names, key=lambda name: counts[name] / base[name])
            whole = sum(counts[name] for name in names) / sum(base[name] for name in names)
            cell = most.partition("|")[2]
            yield f"| {without} | {size} | {cell} | {counts[most] / base[most]:.2f} | {whole:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkouts", nargs="+", type=Path, metavar="FOLDER", help="WITH and any number of WITHOUT")
    parser.add_argument("--from", type=Path, dest="earlier")
    parser.add_argument("--to", type=Path)
    asked = parser.parse_args()
    found = {} if asked.earlier is None else json.loads(asked.earlier.read_text("utf-8"))
    # By the name under which the workers know this file.
    me = importlib.import_module("optimisations")
    every = list(me.cells())
    # Each checkout makes what it compiled itself.
    copyreg.pickle(Forest, lambda forest: (Forest, (forest.parent, forest.tier)))
    copyreg.pickle(DomainTree, lambda tree: (me.domain_tree, tuple(getattr(tree, name) for name in TREE)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "requests.c").write_text(REQUESTS, "utf-8")
        library = ["-o", str(folder / "requests.so"), str(folder / "requests.c")]
        subprocess.run(["cc", "-shared", "-fPIC", *library], check=True)
        for checkout in asked.checkouts:
            counts = found.setdefault(checkout.name, {})
            if missing := [cell for cell in every if cell.name not in counts]:
                counts |= counted(checkout.resolve(), missing, folder)
            if asked.to is not None:
                asked.to.write_text(json.dumps(found), "utf-8")
    base = found.pop(asked.checkouts[0].name)
    print("\n".join(table(base, found)))


if __name__ == "__main__":
    main()

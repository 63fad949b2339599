"""Decisions on a large cluster reuse the memory of the decision before, instead of handing it back to the system."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAM = """
import resource
from tests.fabrics import snapshot
from workbench.model.extras import extras_of
from workbench.model.gang import Gang, Role
from workbench.model.kube_group import KubeGroup
from workbench.policies.registry import get_policy

names = [f"n{i:04}" for i in range(5000)]
used = {name: (i % 32_000, i << 20, 0, 0) for i, name in enumerate(names)}
cluster = snapshot(names, labels={name: {"rack": name[:3]} for name in names}, used=used)
wish = KubeGroup(given=True, topology_key="rack")
wanted = Gang("d", "j", (Role("w", 100, {"cpu": 4000, "memory": 1 << 30}),), 100, extras=extras_of(wish))
policy = get_policy("kube-1.37-topology")
for number in range(30):
    if number == 10:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    policy.place(wanted, cluster.ledger())
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 20)
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc hands memory back so early")
def test_a_decision_takes_few_new_pages():
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=ROOT)
    # Several hundred if the arrays of each decision are new pages.
    assert int(found.stdout) < 250

"""What node scores read of HyperNodes while pods come and go."""

from __future__ import annotations

import numpy as np

import workbench as wb
from tests.fabrics import snapshot
from workbench.model.gang import Gang, Role
from workbench.policies import get_policy
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.volcano.parts.scored_nodes import domain_used


def test_used_resources_of_hypernodes_count_pods_of_the_session_on_any_forest():
    roomy = wb.generate_scenario("fleet", sizes=(4, 2, 2), pending=0).snapshot
    for cluster in (roomy, snapshot(["n0", "n1", "n2"], cpu=8000)):
        policy, ledger = get_policy("volcano-1.15"), cluster.ledger()
        gang = Gang("d", "j", (Role("a", 2, {"cpu": 1000}),), 2)
        for nodes in ([], [1, 2], [1, 1, 2, 0]):
            rows = np.ones((len(nodes), ledger.used.shape[1]), dtype=np.int64)
            ledger.take(np.array(nodes, dtype=np.int32), rows)
            found = domain_used(policy.node.request(gang, ledger, GpuQuestions(policy.gpu, ledger), None))
            assert found[-1].tolist() == ledger.used.sum(axis=0).tolist()
            for domain in range(cluster.topology.n_domains):
                assert found[domain].tolist() == ledger.used[cluster.topology.nodes_of(domain)].sum(axis=0).tolist()

"""Enter placed pods in a ledger, so that nobody else gets their nodes and GPUs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.model.gang import Gang
from workbench.model.gpu_shares import WHOLE_GPU, shares_of_pods
from workbench.model.ledger import Ledger
from workbench.model.placement import Placement
from workbench.model.snapshot import running_pods
from workbench.model.switch_book import RunningPods

__all__ = ["take_placement", "take_pods"]


def take_pods(
    gang: Gang,
    ledger: Ledger,
    node: npt.NDArray[np.int32],
    rows: npt.NDArray[np.int64],
    words: npt.NDArray[np.uint64] | None,
) -> None:
    """Take resources and GPUs of the placed pods of a gang from a ledger, and count the pods there (`Ledger.pods`).

    Copies are stored, because a caller may change a placement's arrays.

    `node`: ndarray of shape (n_pods,), int32; node of each pod, -1 for none. `rows`: ndarray of shape (roles, r),
    int64; resources of one pod of each role, or one row for all of them; further columns as of `Ledger.take`. `words`:
    ndarray of shape (n_pods, w), uint64, or None; bits of each pod's GPUs; None: no pod has any.
    """
    if gang.shares_gpus and words is not None:
        milli = gang.gpu_milli_of_pod
        ledger.take_shares(*shares_of_pods(node, words, milli))
        words = np.where((milli == WHOLE_GPU)[:, None], words, np.uint64(0))
    if np.count_nonzero(node < 0) == 0:
        nodes, roles, words = node.copy(), gang.role_of_pod, None if words is None else words.copy()
    else:
        taken = (node >= 0).nonzero()[0]
        nodes, roles = node.take(taken), gang.role_of_pod.take(taken)
        words = None if words is None else words.take(taken, axis=0)
    if len(nodes):
        ledger.take(nodes, rows[0] if len(rows) == 1 else rows.take(roles, axis=0), words)
        ledger.add_pods(gang, node)


def take_placement(placement: Placement, ledger: Ledger) -> None:
    """Take everything that a placement holds: resources, GPUs, HyperNodes of Jobs, and votes on the state of switches.

    `placement`: its nodes and GPUs are free in the ledger. `ledger`: its `Ledger.exclusive` stays as it is.
    """
    gang, topology = placement.gang, ledger.topology
    rows = gang.rows_for(ledger.snapshot.resources)[0]
    if ledger.assumed is not None or gang.assumes:
        rows = np.concatenate([rows, gang.assumed], axis=1)
    take_pods(gang, ledger, placement.node, rows, placement.gpu_words)
    if placement.exclusive:
        domains = [topology.domain(name) for name in placement.exclusive.values()]
        ledger.close(np.concatenate([topology.nodes_of(domain) for domain in domains]))
    book = ledger.switches
    if book is not None and not gang.jobs:
        before, pods = book.job(gang.key), RunningPods.read(running_pods(placement)).job(gang.key)
        if pods is not None:
            ledger.set_job(gang.key, pods if before is None else before.with_pods(pods))

"""Gangs that come and go at random, through a stream and through `place` on one ledger side by side."""

from __future__ import annotations

import dataclasses

import numpy as np

from tests.ledger_check import check_ledger
from workbench.model.placement import Placement


def content(result):
    """Everything in an answer, comparable."""
    fields = {f.name: getattr(result, f.name) for f in dataclasses.fields(result) if f.name != "topology"}
    return {k: v.tobytes() if isinstance(v, np.ndarray) else v for k, v in fields.items()}


class SideBySide:
    """A stream, the same calls of `place`, and what both hold."""

    def __init__(self, policy, cluster):
        self.policy = policy
        self.cluster = cluster
        self.stream = policy.stream(cluster)
        self.ledger = cluster.ledger()
        self.held = []
        self.unread = []

    def place(self, gang):
        """Both answers must be the same; the placement, or None.

        A refusal is read after the next one, or by `compare`.
        """
        mark = self.ledger.checkpoint()
        want = self.policy.place(gang, self.ledger)
        got = self.stream.place(gang)
        assert type(got) is type(want)
        if not isinstance(got, Placement):
            assert got.first_code == (want.reasons[0].code if want.reasons else "")
            self.unread.append((got, content(want)))
            if len(self.unread) == 2:
                self.read_refusals()
            return None
        assert content(got) == content(want)
        self.held.append((got, self.ledger.since(mark)))
        return got

    def read_refusals(self):
        """Both must have the same reasons, whatever has changed since."""
        assert [content(got) for got, _ in self.unread] == [want for _, want in self.unread]
        self.unread.clear()

    def give_back(self, number):
        """The placement of that number among those held."""
        placement, taken = self.held.pop(number)
        self.stream.give_back(placement)
        for nodes, rows, words in taken:
            self.ledger.give_back(nodes, rows, words)

    def compare(self):
        """Both ledgers must be the same, and reasons that were not read yet."""
        self.read_refusals()
        ours = self.stream.ledger
        check_ledger(ours)
        assert np.array_equal(ours.used, self.ledger.used)
        assert np.array_equal(ours.idle, self.ledger.idle)
        assert np.array_equal(ours.gpu_free, self.ledger.gpu_free)
        assert (ours.assumed is None) == (self.ledger.assumed is None)
        assert ours.assumed is None or np.array_equal(ours.assumed, self.ledger.assumed)
        assert len(self.stream.held) == len(self.held)


def come_and_go(rng, sides, gangs, steps):
    """How many gangs were placed, and how many not."""
    placed = refused = 0
    for _ in range(steps):
        if sides.held and rng.random() < 0.35:
            sides.give_back(rng.randrange(len(sides.held)))
        elif sides.place(rng.choice(gangs)) is None:
            refused += 1
        else:
            placed += 1
        if rng.random() < 0.3:
            sides.compare()
    sides.compare()
    return placed, refused

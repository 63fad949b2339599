"""Limits of queues as notices: what a queue may hold of a resource, and why no more.

A queue is limited by its own capability, by what other queues are guaranteed, or, with the plugin proportion, by the
share of the cluster that its weight gives it. Only the first can be raised on the queue itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.model.arrays import Floats
from workbench.model.counted import name_list
from workbench.model.notice import Notice
from workbench.model.resources import amount_text
from workbench.policies.progress import Progress

__all__ = ["QueueLimit", "QueueReservation", "counts_needed", "reserved_text"]


@dataclass(frozen=True)
class QueueLimit:
    """Most that a queue may hold of one resource, and what it holds; amounts in base units.

    Attributes
    ----------
    kind : {"capability", "guarantees", "share", "cluster"}
        What sets the limit: the queue's capability, what is guaranteed to other queues, the queue's share by weight, or
        what the cluster has.
    limit, used, total : int
        Most that the queue may hold, what its pods hold now, and what the cluster has.
    guaranteed : mapping of str to int
        What is guaranteed to each other queue, by the queue's name.
    """

    queue: str
    resource: str
    kind: str
    limit: int
    used: int
    total: int
    guaranteed: Mapping[str, int]

    @property
    def text(self) -> str:
        """The limit and what is used of it, in words."""

        def amount(of: int) -> str:
            return amount_text(self.resource, of)

        used, limit, total = amount(self.used), amount(self.limit), f"{amount(self.total)} {self.resource}"
        if self.kind == "capability":
            return f"{used} of its capability of {limit} {self.resource} are taken"
        if self.kind == "share":
            return f"its share by weight is {limit} of {total}, {used} are taken"
        if self.kind == "guarantees":
            names, kept = name_list(sorted(self.guaranteed, key=str.encode)), amount(sum(self.guaranteed.values()))
            who = f"queue {names} is" if len(self.guaranteed) == 1 else f"queues {names} are"
            return f"{who} guaranteed {kept} of {total}, {used} are taken"
        return f"{used} of the cluster's {total} are taken"

    def notice(self, requested: int, rest: str, count: int) -> Notice:
        """Notice with the limit, what is used, and what is requested.

        `requested`: amount that the job asks for. `rest`: end of the sentence. `count`: pods concerned.
        """
        numbers = {"count": count} | {
            f"{what} {self.resource}": amount
            for what, amount in (("limit", self.limit), ("used", self.used), ("requested", requested))
        }
        queue = f"queue {self.queue}"
        text = f"{queue}: {self.text}{rest}"
        if self.kind == "share":
            return Notice("queue-share", text, queue, numbers)
        if self.kind == "guarantees":
            return Notice("queue-guarantees", text, queue, numbers)
        return Notice("queue-limit", text, queue, numbers)

    def asked_text(self, requested: int, whose: str = "the job asks") -> str:
        """End of a sentence with the amount that is requested."""
        return f", {whose} for {amount_text(self.resource, requested)}"


@dataclass(frozen=True, eq=False)
class QueueReservation:
    """minResources that are kept for an admitted job: its ``namespace/name``, its queue, and float64 (r,) amounts."""

    job: str
    queue: str
    amount: Floats


def reserved_text(held: Sequence[QueueReservation], column: int, resource: str) -> str:
    """Text that names the admitted jobs that reserve a resource, with what each reserves; empty if none does.

    The largest reservations come first; ties: the smaller name.

    `column`: index of the resource in the amounts.
    """
    mine = sorted((-int(one.amount[column]), one.job) for one in held if one.amount[column] > 0)
    if not mine:
        return ""
    if len(mine) == 1:
        return f"{mine[0][1]}, admitted before it, reserves {amount_text(resource, -mine[0][0])} {resource}"
    names = name_list([f"{job} ({amount_text(resource, -amount)})" for amount, job in mine])
    total = amount_text(resource, -sum(amount for amount, _ in mine))
    return f"{names}, admitted before it, reserve {total} {resource}"


def counts_needed(start: Progress, order: Sequence[int]) -> list[int]:
    """Pods of each role that a gang needs to start, if its roles are placed one after another and every pod fits.

    `start`: counts before a pod is placed. `order`: the roles in the order in which they are tried.
    """
    progress = start.copy()
    for role in order:
        if progress.ready:
            break
        progress.place(role, progress.until_ready(role))
    return [before - after for before, after in zip(start.left, progress.left, strict=True)]

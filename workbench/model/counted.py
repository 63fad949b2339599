"""Words of messages: `counted`, a number with its noun in singular or plural, and `quoted`, reasons of pending jobs."""

from __future__ import annotations

from workbench.model.notice import Notice

__all__ = ["counted", "quoted"]


def counted(count: int, one: str, many: str = "", form: str = "") -> str:
    """A number followed by its noun in singular or plural, such as ``1 node`` or ``3 nodes``.

    Parameters
    ----------
    one : str
        The word for one thing, with the verb where the sentence has one: ``node has``.
    many : str
        The word for several things or none; by default `one` with an s.
    form : str
        Format of the number: ``,`` for ``12,000``.
    """
    return f"{count:{form}} {one if count == 1 else many or f'{one}s'}"


def quoted(reason: Notice) -> str:
    """The message of a reason, marked as a quotation if Volcano or the Kubernetes scheduler writes that sentence."""
    if reason.code == "gang-unschedulable":
        return f"Volcano writes: “{reason.message}”"
    if reason.code == "pod-group-unschedulable":
        return f"kube-scheduler writes: “{reason.message}”"
    # The number of nodes that its sentence speaks of.
    return f"Kubernetes writes: “{reason.message}”" if "nodes" in reason.numbers else reason.message

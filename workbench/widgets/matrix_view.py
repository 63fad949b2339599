"""The questions that `MatrixLoader` answers, and the data that its page draws, as plain functions without a widget."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from workbench.errors import CapacityError, InputError
from workbench.evaluate.gpu_choices import PolicyChoice, gpu_choices, set_bottleneck_gb_s, slowest_of
from workbench.formats.matrices.base import MatrixReading
from workbench.formats.matrix import read_matrix_content
from workbench.model.bandwidth import BandwidthMatrix, Symmetric
from workbench.model.best_gpus import BestGpus, best_gpus
from workbench.model.counted import counted
from workbench.model.gpu_annotation import chosen_environment, shell_line
from workbench.model.links import suspicious_links
from workbench.model.machine_parts import near_lines
from workbench.model.notice import texts_of
from workbench.objects.fields import shown
from workbench.report.colours import SET_COLOURS
from workbench.report.heatmap import draw_heatmap
from workbench.report.machine_svg import draw_machine
from workbench.widgets.messages import page_words, text_in

__all__ = [
    "BEST",
    "MAX_BYTES",
    "Question",
    "answer_question",
    "error_line",
    "matrix_view",
    "pair_text",
    "read_printout",
    "reading_notes",
    "toggled",
]

#: Largest printout in bytes; 1,024 GPUs with long numbers stay far below.
MAX_BYTES = 32 * 2**20

#: The set that is shown unless a tie or a policy's choice is asked for.
BEST = "best"

_LINE = re.compile(r"\bline (\d+)\b")
_UNREAD = 5

_RULES: dict[Literal["min", "max", "mean"], str] = {
    "min": "the slower direction counts",
    "max": "the faster direction counts",
    "mean": "the mean of both directions counts",
}


@dataclass(frozen=True)
class Question:
    """The question which k of a machine's GPUs to choose, as set on the page of `MatrixLoader`.

    Attributes
    ----------
    k : int
        Number of GPUs to choose.
    states : tuple of str
        State of each GPU: ``free``, ``taken``, ``required`` or ``avoided``.
    symmetric : {"min", "max", "mean"}
        How the two directions of a pair become one weight.
    link_classes : bool
        Whether link classes are compared before bandwidths.
    asymmetry : bool
        Whether the picture marks pairs with unequal directions; the answer does not depend on it.
    shown : str
        Set to draw: ``best``, ``tie N`` (from 0) or the name of a GPU policy.
    """

    k: int
    states: tuple[str, ...]
    symmetric: Symmetric = "min"
    link_classes: bool = False
    asymmetry: bool = False
    shown: str = BEST

    def of(self, *states: str) -> list[int]:
        """Numbers of the GPUs that are in one of the given states."""
        return [i for i, state in enumerate(self.states) if state in states]

    def changed(self, body: dict[str, Any]) -> Question:
        """A copy of the question with fields changed: ``k``, ``symmetric``, ``link_classes``, ``asymmetry``, ``shown``.

        A change that affects the answer shows the best set again.

        Raises InputError: a value of the wrong type, or k outside the machine.
        """
        n, k, symmetric = len(self.states), body.get("k", self.k), body.get("symmetric", self.symmetric)
        if type(k) is not int or not 1 <= k <= n:
            raise InputError("k does not fit the machine", source="k", got=shown(k), expected=f"1 to {n}")
        rule = next((rule for rule in _RULES if rule == symmetric), None)
        if rule is None:
            raise InputError(
                "unknown direction rule", source="symmetric", got=shown(symmetric), expected=", ".join(_RULES)
            )
        flags = {name: body.get(name, getattr(self, name)) for name in ("link_classes", "asymmetry")}
        for name, value in flags.items():
            if type(value) is not bool:
                raise InputError("not a switch", source=name, got=shown(value), expected="true or false")
        asked = replace(self, k=k, symmetric=rule, **flags)
        same = replace(asked, asymmetry=self.asymmetry) == self
        return replace(asked, shown=text_in(body, "shown", self.shown if same else BEST))


def toggled(question: Question, gpus: Any, how: Any) -> Question:
    """The question after a click that changes the state of one or several GPUs.

    `gpus`: the GPUs that were clicked. `how` ({"free", "require", "avoid"}): kind of click. "free" (a plain click): the
    GPUs become taken if all of them are free, otherwise free. "require", "avoid": they become required or avoided; if
    all of them are already, they become free. If more than k GPUs are required then, k becomes their number. Raises
    InputError: a GPU that the machine does not have, or an unknown kind of click.
    """
    n = len(question.states)
    if not isinstance(gpus, list) or not gpus:
        raise InputError("no GPU", source="widget", got=shown(gpus), expected="a list of numbers")
    for gpu in gpus:
        if type(gpu) is not int or not 0 <= gpu < n:
            raise InputError("no such GPU", source="widget", got=shown(gpu), expected=f"0 to {n - 1}")
    means = {"free": "taken", "require": "required", "avoid": "avoided"}
    if not isinstance(how, str) or how not in means:
        raise InputError("no such click", source="widget", got=shown(how), expected=", ".join(means))
    states = list(question.states)
    now = {states[gpu] for gpu in gpus}
    # A plain click on a required or avoided GPU first makes it free, before a second click marks it as taken.
    back = now != {"free"} if how == "free" else now == {means[how]}
    for gpu in gpus:
        states[gpu] = "free" if back else means[how]
    return replace(question, states=tuple(states), k=max(question.k, states.count("required")), shown=BEST)


def read_printout(body: dict[str, Any]) -> MatrixReading:
    """Read the bandwidth matrix in a request of the page.

    The request has ``text``, or ``data`` in base64; ``name``, and ``block`` to choose one of several tables.

    Raises InputError, UnknownNameError: as `workbench.formats.matrix.load_matrix`; CapacityError: more than 32 MiB.
    """
    name, block = text_in(body, "name") or "pasted text", text_in(body, "block") or None
    if body.get("data") is None:
        content = text_in(body, "text").encode()
    else:
        try:
            content = base64.b64decode(text_in(body, "data"), validate=True)
        except ValueError:
            raise InputError("not base64", source=name, expected="the bytes of a file") from None
    if len(content) > MAX_BYTES:
        raise CapacityError(f"{name}: {len(content):,} bytes, at most {MAX_BYTES:,} are read")
    return read_matrix_content(content, name, block=block)


def error_line(error: Exception) -> int:
    """Line of the pasted text that an error is about, from 1; 0 if the error names none."""
    found = _LINE.search(error.where or "") if isinstance(error, InputError) else None
    return int(found[1]) if found else 0


def reading_notes(reading: MatrixReading) -> list[str]:
    """Texts about reading the matrix: what was ignored, replaced or not understood."""
    lines = [f"line {number} could not be read: {text[:60]}" for number, text in reading.unread[:_UNREAD]]
    more = len(reading.unread) - _UNREAD
    return [
        *map(page_words, texts_of(reading.notes)),
        *lines,
        *([f"{counted(more, 'more line')} could not be read"] if more > 0 else []),
    ]


def answer_question(matrix: BandwidthMatrix, question: Question) -> tuple[BestGpus, tuple[PolicyChoice, ...]]:
    """The exact answer to a question, and the GPUs that each GPU policy chooses among those neither taken nor avoided.

    Policies know no required GPUs.
    """
    best = best_gpus(
        matrix,
        question.k,
        free=question.of("free", "required", "avoided"),
        require=question.of("required"),
        avoid=question.of("avoided"),
        symmetric=question.symmetric,
        link_classes=question.link_classes,
    )
    usable = question.of("free", "required")
    return best, gpu_choices(matrix, question.k, usable, question.symmetric)


def shown_set(best: BestGpus, choices: tuple[PolicyChoice, ...], name: str) -> tuple[str, tuple[int, ...]]:
    """The GPU set to draw and its name; the best set if the named one no longer exists.

    `choices` (tuple of PolicyChoice): what other policies would choose. `name`: name of the set, as in
    `Question.shown`.
    """
    sets = {f"tie {i}": tie for i, tie in enumerate(best.ties)} | {choice.policy: choice.gpus for choice in choices}
    return (name, sets[name]) if name in sets else (BEST, best.gpus)


def matrix_view(
    matrix: BandwidthMatrix, question: Question, best: BestGpus, choices: tuple[PolicyChoice, ...]
) -> dict[str, Any]:
    """Everything that the page of `MatrixLoader` draws, as a JSON-ready dict.

    `choices` (tuple of PolicyChoice): what other policies would choose.
    """
    name, gpus = shown_set(best, choices, question.shown)
    pair = slowest_of(matrix, gpus, question.symmetric)
    if gpus == best.gpus:
        pair = best.bottleneck_pair
    value = set_bottleneck_gb_s(matrix, gpus, question.symmetric)
    others = {choice.policy: choice.gpus for choice in choices}
    taken = question.of("taken", "avoided")
    facts = best.to_dict()
    return {
        "n": len(matrix),
        "source": matrix.source,
        "labels": list(matrix.labels),
        "states": list(question.states),
        "k": question.k,
        "symmetric": question.symmetric,
        "link_classes": question.link_classes,
        "asymmetry": question.asymmetry,
        "shown": name,
        "shown_gpus": list(gpus),
        "best": facts,
        "best_note": best.shortage or "exact",
        "ties_text": _ties_text(best, gpus),
        "tie": best.ties.index(gpus) if gpus in best.ties else -1,
        "choices": [_choice(choice, best, at) for at, choice in enumerate(choices)],
        "sentence": _sentence(question, name, best, gpus, value, pair),
        "to_copy": shell_line(chosen_environment(gpus, matrix.labels)),
        "near": near_lines(matrix.near(gpus)),
        "suspicious": [doubt.message for doubt in suspicious_links(matrix)],
        "heatmap": draw_heatmap(matrix, gpus, pair, others=others, asymmetry=question.asymmetry, words=False),
        "machine": draw_machine(matrix, gpus, pair, others, question.symmetric, taken, named=False),
    }


def pair_text(matrix: BandwidthMatrix, i: Any, j: Any) -> str:
    """Text on one entry of the bandwidth matrix and on the opposite direction.

    `i`, `j`: GPUs, checked because they come from the page. Raises InputError: no such GPU.
    """
    n = len(matrix)
    for gpu in (i, j):
        if type(gpu) is not int or not 0 <= gpu < n:
            raise InputError("no such GPU", source="widget", got=shown(gpu), expected=f"0 to {n - 1}")
    if i == j:
        return f"GPU {i}, {matrix.labels[i]}"
    kind = f" ({matrix.link_types[i][j]})" if matrix.link_types else ""
    forth, back = matrix.gb_s[i, j], matrix.gb_s[j, i]
    return f"{matrix.labels[i]} → {matrix.labels[j]}: {forth:g} GB/s{kind}; back {back:g} GB/s"


def _choice(choice: PolicyChoice, best: BestGpus, at: int) -> dict[str, Any]:
    """The row of a GPU policy, JSON-ready: its choice, its share of the best bottleneck, the number of its colour."""
    known = bool(choice.gpus) and bool(best.gpus) and np.isfinite(best.bottleneck_gb_s) and best.bottleneck_gb_s > 0
    return {
        **choice.to_dict(),
        "note": "; ".join(texts_of(choice.notices)),
        "of_best": choice.bottleneck_gb_s / best.bottleneck_gb_s if known else None,
        "colour": SET_COLOURS[at] if at < len(SET_COLOURS) else "",
    }


def _count(best: BestGpus) -> str:
    """The number of optimal sets as text; very large numbers are rounded."""
    number = f"{best.optimal_sets:,}" if best.optimal_sets < 10_000_000 else f"about {best.optimal_sets:.1e}"
    return number if best.optimal_sets_complete else f"more than {number.removeprefix('about ')}"


def _ties_text(best: BestGpus, gpus: tuple[int, ...]) -> str:
    listed = len(best.ties)
    more = "" if best.optimal_sets == listed and best.optimal_sets_complete else f" listed, {_count(best)} in all"
    return f"tie {best.ties.index(gpus) + 1} of {listed}{more}" if gpus in best.ties else f"{listed} ties{more}"


def _sentence(
    question: Question, name: str, best: BestGpus, gpus: tuple[int, ...], value: float, pair: tuple[int, int] | None
) -> str:
    if name == BEST and not gpus:
        return f"{counted(question.k, 'GPU')} asked for, {best.n_free} may be used"
    who = "Best set" if name == BEST else f"Tie {best.ties.index(gpus) + 1}" if name.startswith("tie ") else name
    if not gpus:
        return f"{who}: no set"
    named = ", ".join(map(str, gpus[:24])) + (", …" if len(gpus) > 24 else "")
    best_sets = "1 set is best" if _count(best) == "1" else f"{_count(best)} sets are best"
    if pair is None:
        return f"{who}: {{{named}}}, one GPU has no pair; {best_sets}"
    return (
        f"{who}: {{{named}}}, bottleneck {value:.4g} GB/s between {pair[0]} and {pair[1]} "
        f"({_RULES[question.symmetric]}); {best_sets}"
    )

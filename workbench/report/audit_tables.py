"""Tables and a page that compare the decisions of a cluster with those that policies would have made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rich.text import Text

from workbench.evaluate.audit import NOT_TRIED, Audit, by_loss, loss_sentence
from workbench.model.counted import counted, name_list, quoted
from workbench.model.topology import place_name
from workbench.report.cluster_tables import short_name
from workbench.report.gang_view import constraint_text
from workbench.report.html import render
from workbench.report.tables import listed, more_line

__all__ = ["AGREEMENT_LEGEND", "LOSS_LEGEND", "audit_page", "audit_tables"]

#: Gangs listed; -o json has all.
_ROWS = 40

Found = Sequence[tuple[Mapping[str, str], Audit]]
Said = Mapping[str, Sequence[str]]
_NOTHING: Said = MappingProxyType({})

#: What the columns of gangs mean, a line each.
LOSS_LEGEND = (
    "is in: the closest HyperNode around all pods of the gang, and its tier; the smaller the tier, the closer the pods",
    "could be in: where the policy would place the gang now, with only the gang's own pods taken off their nodes",
    "pairs beyond: pairs of the gang's pods whose nodes meet only above the tier of “could be in”, of all its pairs",
    "a job without a topology constraint does not ask for closeness: policies place it pod by pod",
)
#: The second line where the gangs were placed in recorded sessions.
_RECORDED_LEGEND = "could be in: where the policy places the gang, asked about the same session"
#: What the columns of policies mean, a line each.
AGREEMENT_LEGEND = (
    "agree: jobs for which the cluster did what the policy would do",
    "verdict: jobs that the cluster and the policy both placed, or both left pending",
    "pods: jobs of which both placed as many pods",
    "HyperNode: “2 of 4”: the policy ranks HyperNodes for 4 of the placed jobs, and 2 are in one that it ranks first",
)
_AGREEMENT_HEADS = ("policy", "jobs", "agree", "verdict", "pods", "HyperNode")


def audit_tables(found: Found, said: Said = _NOTHING, *, wide: bool = False) -> list[Any]:
    """Which running gangs could be closer, why others wait, and how far each policy agrees with the cluster.

    Parameters
    ----------
    found : sequence of (mapping of str to str, Audit)
        Where a gang was observed, the same keys for all (``session`` or ``scheduler``), and what was found.
    said : mapping of str to sequence of str
        What the cluster says about each gang that waits, by the gang's key.
    wide : bool
        Whether tables have all columns.
    """
    parts: list[Any] = []
    for policy, rows in _running(found).items():
        parts.append(Text(f"{policy}: {_loss_sentence(rows)}"))
        right = (2 if _recorded(found) else 1,)
        parts += listed(_loss_heads(found, wide), _loss_rows(rows, wide), right=right, most=_ROWS, what="gangs")
    if parts:
        parts += [Text(line, "dim") for line in (*_loss_legend(found), "")]
    if said:
        parts += _waiting([told for _, told in found if told.gang.key in said], said)
    parts += listed(_AGREEMENT_HEADS, _agreement(found), right=range(1, 6))
    parts += [*(Text(line, "dim") for line in (*AGREEMENT_LEGEND, ""))]
    differing = [(where, told) for where, told in found if not told.agrees]
    if differing:
        title = f"{counted(len(differing), 'difference')}"
        cells = [(*where.values(), told.gang.key, told.policy, told.difference) for where, told in differing]
        parts += listed((*differing[0][0], "job", "policy", "difference"), cells, title=title)
    return parts


def audit_page(found: Found, said: Said = _NOTHING) -> str:
    """`audit_tables` as an HTML page, complete in itself, with all columns and rows."""
    return render(
        "audit_page.html.j2",
        losses=[(policy, _loss_sentence(rows), _loss_rows(rows, True)) for policy, rows in _running(found).items()],
        loss_heads=_loss_heads(found, True),
        loss_legend=_loss_legend(found),
        waiting=_waiting_rows([told for _, told in found if told.gang.key in said], said),
        agreement_heads=_AGREEMENT_HEADS,
        agreement=_agreement(found),
        agreement_legend=AGREEMENT_LEGEND,
        differences=[
            (*where.values(), told.gang.key, told.policy, told.difference) for where, told in found if not told.agrees
        ],
        where=list(found[0][0]) if found else [],
    )


def _running(found: Found) -> dict[str, list[tuple[Mapping[str, str], Audit]]]:
    """Audits of the gangs that have nodes, by policy, those with the largest loss first."""
    places = {id(told): where for where, told in found}
    return {
        policy: [(places[id(told)], told) for told in by_loss(running)]
        for policy in dict.fromkeys(told.policy for _, told in found)
        if (running := [told for _, told in found if told.policy == policy and told.is_in is not None])
    }


def _recorded(found: Found) -> bool:
    """Whether the gangs were placed in recorded sessions, of which each has a job of the same name."""
    return bool(found) and "session" in found[0][0]


def _loss_sentence(rows: Found) -> str:
    return loss_sentence([told for _, told in rows], recorded=_recorded(rows))


def _loss_legend(found: Found) -> tuple[str, ...]:
    first, second, *others = LOSS_LEGEND
    return (first, _RECORDED_LEGEND if _recorded(found) else second, *others)


def _loss_heads(found: Found, wide: bool) -> tuple[str, ...]:
    first = ("session",) if _recorded(found) else ()
    where = () if first else tuple(found[0][0]) if found else ()
    more = (*where, "topology constraint", "the policy chooses") if wide else ()
    return (*first, "job", "pods", "is in", "could be in", "pairs beyond", *more)


def _loss_rows(rows: Sequence[tuple[Mapping[str, str], Audit]], wide: bool) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for where, told in rows:
        could = told.could_be_in
        if could is None:
            there, beyond = _not_placed(told), "-"
        elif told.is_in is not None and could.tier > told.is_in.tier:
            there, beyond = "no closer place", "0"
        else:
            less = f", with fewer pods of {name_list(told.loses)}" if told.loses else ""
            there, beyond = f"{could}{less}", f"{told.pairs_beyond} of {told.pairs}" if told.pairs_beyond else "0"
        places = tuple(one or "-" for one in where.values())
        first, last = (places, ()) if "session" in where else ((), places)
        more = (*last, constraint_text(told.gang.constraint), str(could or "-")) if wide else ()
        found.append((*first, told.gang.key, f"{told.observed_pods}", str(told.is_in), there, beyond, *more))
    return found


def _not_placed(told: Audit) -> str:
    """The answer of a policy that places fewer pods of a gang than the cluster did, in words."""
    return f"only {counted(told.pods, 'pod')} placed" if told.pods else "not placed now"


def _agreement(found: Found) -> list[tuple[Any, ...]]:
    """For each policy: number of jobs, and of those that agree in all, in the verdict, the pods and the HyperNode."""
    rows = []
    for policy in dict.fromkeys(told.policy for _, told in found):
        own = [each for _, each in found if each.policy == policy and each.observed_verdict != NOT_TRIED]
        ranked = [each for each in own if each.tied_hypernodes and each.observed_domain is not None]
        rows.append(
            (
                policy,
                len(own),
                sum(each.agrees for each in own),
                sum(each.verdict == each.observed_verdict for each in own),
                sum(each.pods == each.observed_pods for each in own),
                f"{sum(each.observed_domain in each.tied_hypernodes for each in ranked)} of {len(ranked)}",
            )
        )
    return rows


def _waiting(audits: Sequence[Audit], said: Said) -> list[Any]:
    """Why each gang waits: in the cluster's words, and by each policy."""
    rows = _waiting_rows(audits, dict(list(said.items())[:_ROWS]))
    table = listed(("job", "says", "what"), rows, title=counted(len(said), "job waits", "jobs wait"))
    return [*table, *more_line(len(said) - _ROWS, "jobs")]


def _waiting_rows(audits: Sequence[Audit], said: Said) -> list[tuple[str, str, str]]:
    rows = []
    for key, words in said.items():
        rows += [(key, "the cluster", short_name(text)) for text in words or ["nothing: no condition and no event"]]
        for told in audits:
            if told.gang.key == key:
                rows += [(key, told.policy, line) for line in _outcome(told)]
    return rows


def _outcome(told: Audit) -> list[str]:
    """The answer of a policy about a gang that waits, as lines."""
    if told.pods:
        return [f"{counted(told.pods, 'pod')} placed" + (f" in {place_name(told.domain)}" if told.domain else "")]
    if told.advice is None:
        return [f"pending: {'; '.join(map(quoted, told.reasons))}"]
    cause, *remedies = told.advice.headline_parts
    return [f"pending: {cause}", *remedies]

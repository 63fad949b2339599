"""`RULES`, the list of all lint rules, and `lint`, which collects their findings on a topology in a `LintReport`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from workbench.cancel import check
from workbench.errors import InputError, UnknownNameError, named_arguments
from workbench.model.counted import counted
from workbench.model.display import Displayed
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import Topology
from workbench.objects.kinds import ClusterObjects
from workbench.topology.lint import members, names, nodes, patterns, sizes, structure
from workbench.topology.lint.base import Finding, Found, Rule, Severity
from workbench.topology.lint.subject import Subject

__all__ = ["RULES", "LintReport", "choose_rules", "lint"]

#: All rules in the order of their codes.
RULES: tuple[Rule, ...] = tuple(
    sorted(
        (*structure.RULES, *members.RULES, *patterns.RULES, *sizes.RULES, *names.RULES, *nodes.RULES),
        key=lambda rule: rule.code,
    )
)


def choose_rules(only: Iterable[str] = (), ignore: Iterable[str] = ()) -> tuple[Rule, ...]:
    """Choose lint rules by id or code; the result is in order of the codes.

    Raises UnknownNameError: no rule has that id or code.

    `only`: ids or codes; none: all. `ignore`: ids or codes to leave out, also of those in `only`.
    """
    only, ignore = set(only), set(ignore)
    known = {name for rule in RULES for name in (rule.id, rule.code)}
    for name in sorted(only | ignore):
        if name not in known:
            raise UnknownNameError("rule of the linter", name, [rule.id for rule in RULES])
    return tuple(
        rule for rule in RULES if (not only or only & {rule.id, rule.code}) and not ignore & {rule.id, rule.code}
    )


@dataclass(frozen=True, eq=False, repr=False)
class LintReport(Displayed):
    """Result of `lint`: the linter's findings for one topology.

    Attributes
    ----------
    findings : tuple of Finding
        Worst first, then by code, HyperNode (byte order), node, as found.
    rules : tuple of Rule
        Rules that were run.
    not_judged : tuple of (Rule, str)
        Rules that could not be run, with the reason: such a rule may be broken although it has no finding.
    ready : bool
        Whether Volcano would schedule with this topology (docs/decisions.md, decision 14).
    subject : Subject
        The input of the rules.
    """

    findings: tuple[Finding, ...]
    rules: tuple[Rule, ...]
    not_judged: tuple[tuple[Rule, str], ...]
    n_hypernodes: int
    n_nodes: int
    ready: bool
    subject: Subject

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {severity}s" for severity, n in self.counts.items())
        return f"LintReport({counts}; {counted(self.n_hypernodes, 'HyperNode')}, {counted(self.n_nodes, 'node')})"

    @property
    def counts(self) -> dict[str, int]:
        """Number of findings of each severity, most severe first, zeros included."""
        found = Counter(finding.severity for finding in self.findings)
        return {severity.value: found[severity] for severity in Severity}

    @property
    def errors(self) -> int:
        return self.counts[Severity.error.value]

    def of(self, rule: str) -> tuple[Finding, ...]:
        """Findings of one rule, given by its id or code."""
        return tuple(f for f in self.findings if rule in (f.rule.id, f.rule.code))

    @property
    def fixable(self) -> tuple[Finding, ...]:
        """Findings with exactly one possible correction."""
        return tuple(finding for finding in self.findings if finding.fix is not None)

    def to_dict(self) -> dict[str, Any]:
        """The report as a JSON-ready dict."""
        return {
            "ready": self.ready,
            "hypernodes": self.n_hypernodes,
            "nodes": self.n_nodes,
            "counts": self.counts,
            "findings": [finding.to_dict() for finding in self.findings],
            "not_judged": [{"rule": rule.id, "reason": reason} for rule, reason in self.not_judged],
        }


@named_arguments
def lint(
    what: Subject | ClusterObjects | ClusterSnapshot | Scenario | Topology,
    only: Iterable[str] = (),
    ignore: Iterable[str] = (),
) -> LintReport:
    """Check a topology for certain and likely mistakes.

    Raises UnknownNameError: no such rule; InputError: something that is no topology.

    `what`: objects as read allow most rules: they have members as written, with places. A snapshot or a topology has
    only the resulting tree, so rules on patterns, discovery names and admission cannot be run. `only`, `ignore`: ids or
    codes of rules; by default all of them. Returns LintReport: equal for equal input, in whatever order the objects are
    given.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.lint(wb.generate_scenario("three-level-tree"))
    LintReport(0 errors, 0 warnings, 0 notes; 7 HyperNodes, 8 nodes)
    """
    rules = choose_rules(only, ignore)
    subject = _subject(what)
    findings: list[Finding] = []
    not_judged: list[tuple[Rule, str]] = []
    for rule in rules:
        check()
        if rule.needs_nodes and not subject.nodes_known and (subject.nodes or not rule.judges_none):
            not_judged.append((rule, "the input has no Node"))
        elif rule.needs_manifests and subject.hypernodes and not subject.manifests:
            not_judged.append((rule, "the topology came without its manifests"))
        else:
            findings += (_finding(rule, found, subject) for found in rule.check(subject))
    findings.sort(key=lambda f: (f.severity.rank, f.rule.code, f.hypernode.encode(), f.node.encode()))
    broken = any(problem.code in ("cycle", "two-parents") for problem in subject.given_problems)
    return LintReport(
        findings=tuple(findings),
        rules=rules,
        not_judged=tuple(not_judged),
        n_hypernodes=len(subject.hypernodes),
        n_nodes=len(subject.nodes),
        ready=subject.tree.ready and not broken,
        subject=subject,
    )


def _finding(rule: Rule, found: Found, subject: Subject) -> Finding:
    # A fix is an edit of a manifest; input in other formats has no fixes.
    fix = found.fix if found.hypernode in subject.manifests else None
    place = subject.places.get(found.hypernode)
    return Finding(rule, found.message, found.hypernode, found.node, found.path, found.others, fix, place)


def _subject(what: object) -> Subject:
    if isinstance(what, Subject):
        return what
    if isinstance(what, ClusterObjects):
        return Subject.of_objects(what)
    if isinstance(what, Scenario):
        return Subject.of_snapshot(what.snapshot)
    if isinstance(what, ClusterSnapshot):
        return Subject.of_snapshot(what)
    if isinstance(what, Topology):
        return Subject.of_topology(what)
    raise InputError("not a topology", source="lint", got=type(what).__name__, expected="a snapshot or a Topology")

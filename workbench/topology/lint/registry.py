"""The list of all lint rules, used by the command, the documentation and the tests."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.errors import UnknownNameError
from workbench.topology.lint import members, names, nodes, patterns, sizes, structure
from workbench.topology.lint.base import Rule

__all__ = ["RULES", "choose_rules"]

#: All rules in the order of their codes.
RULES: tuple[Rule, ...] = tuple(
    sorted(
        (*structure.RULES, *members.RULES, *patterns.RULES, *sizes.RULES, *names.RULES, *nodes.RULES),
        key=lambda rule: rule.code,
    )
)


def choose_rules(only: Iterable[str] = (), ignore: Iterable[str] = ()) -> tuple[Rule, ...]:
    """Choose lint rules by id or code; the result is in order of the codes.

    Parameters
    ----------
    only : iterable of str
        Ids or codes; none: all.
    ignore : iterable of str
        Ids or codes to leave out, also of those in `only`.

    Raises
    ------
    UnknownNameError
        No rule has that id or code.
    """
    only, ignore = set(only), set(ignore)
    known = {name for rule in RULES for name in (rule.id, rule.code)}
    for name in sorted(only | ignore):
        if name not in known:
            raise UnknownNameError("rule of the linter", name, [rule.id for rule in RULES])
    return tuple(
        rule for rule in RULES if (not only or only & {rule.id, rule.code}) and not ignore & {rule.id, rule.code}
    )

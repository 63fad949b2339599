"""Parsers of command-line arguments: KEY=VALUE, PATTERN=FILE, lists of GPUs, and input files."""

from __future__ import annotations

import math
import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from workbench.cli.option_values import name_from
from workbench.cli.output import tell
from workbench.errors import InputError, UnknownNameError
from workbench.evaluate.usual_policies import FIELD, with_field
from workbench.model.notice import Notice
from workbench.model.number_text import whole_number

if TYPE_CHECKING:
    from workbench.formats.manifests import Document
    from workbench.formats.review import Reviewer
    from workbench.model.scenario import Scenario
    from workbench.policies import Policy

#: Parameters that `--set` may not name: they are arguments of `get_policy` itself.
_RESERVED = ("spec", "gpu")

#: Violations that are told before the others are only counted.
_MOST_FINDINGS = 20

__all__ = [
    "finite_number",
    "given_paths",
    "gpu_list",
    "key_values",
    "kinds_with_counts",
    "load_scenario",
    "matrix_files",
    "policies_with",
    "policy_names",
    "policy_with",
    "required_policy_names",
    "reviewed",
    "row_names",
    "standard_input",
    "tell_findings",
    "tell_gaps",
    "tell_kinds",
    "tell_notes",
    "tell_reading",
    "tier_speeds",
    "wanted_job",
]


def key_values(
    option: str, given: Sequence[str], form: str = "KEY=VALUE", reserved: Sequence[str] = (), *, once: bool = False
) -> dict[str, Any]:
    """Parse several texts KEY=VALUE into a dict.

    `option`: name of the option in errors. `form`: expected form, for errors. `reserved`: keys that are refused.
    `once`: refuse a key that is repeated; by default its last value wins.
    """
    pairs: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise InputError("no key and value", source=option, got=repr(text), expected=form)
        if key.strip() in reserved:
            raise InputError("not a parameter", source=option, got=repr(text))
        if once and key.strip() in pairs:
            raise InputError("given twice", source=option, got=repr(text), expected=f"one value for {key.strip()}")
        pairs[key.strip()] = value.strip()
    return pairs


def finite_number(text: str) -> float | None:
    """The number that a text is; None if it is none, or not finite."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def tier_speeds(given: Sequence[str]) -> dict[int, float]:
    """GB/s by tier of ``--tier-gb-s TIER=GB/S``."""
    found = {}
    for tier, text in key_values("--tier-gb-s", given, "TIER=GB/S", once=True).items():
        number, gb_s = whole_number(tier), finite_number(text)
        if number is None or gb_s is None or gb_s <= 0:
            raise InputError("no speed of a tier", source="--tier-gb-s", got=repr(f"{tier}={text}"), expected="1=50")
        found[number] = gb_s
    return found


def policy_names(texts: Sequence[str]) -> list[str]:
    """Split the values of ``--policies`` at commas; the names are returned in their order, ``field`` as its policies.

    Raises InputError: a name appears twice.
    """
    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise InputError("a policy stands twice", source="--policies", got=repr(twice), expected="each policy once")
    return with_field(names)


def required_policy_names(texts: Sequence[str]) -> list[str]:
    """Split the values of ``--policies`` as `policy_names` does, and insist on at least one name.

    Raises InputError: a name appears twice, or there is none.
    """
    names = policy_names(texts)
    if not names:
        raise InputError("no policy given", source="--policies", expected="names separated by commas")
    return names


def wanted_job(scenario: Scenario, job: str) -> str:
    """The job that ``--job`` names, as ``namespace/name``; empty if it names none."""
    return job_named(job, [gang.key for gang in scenario.gangs])


def job_named(job: str, keys: Sequence[str]) -> str:
    """The job that ``--job`` names, of jobs given as ``namespace/name``, in that form; empty if it names none.

    Raises UnknownNameError: there is none; InputError: a name alone that jobs of several namespaces have.
    """
    from workbench.model.scenario import key_of_job

    with name_from("--job"):
        return key_of_job(job, keys, source="--job") if job else ""


def policy_with(spec: str, given: Sequence[str]) -> Policy:
    """Make the policy called `spec` with the parameters KEY=VALUE of ``--set``.

    For a parameter that is a configuration the value is a file name, and the file is read. ``NAME@FILE`` names the
    configuration of this policy.
    """
    from workbench.policies import get_policy

    name, file = _with_file(spec)
    with name_from("--policy"):
        bare = get_policy(name)
    values = _read(bare, key_values("--set", given, reserved=_RESERVED), file)
    with name_from("--set"):
        return get_policy(name, **values)


def policies_with(specs: Sequence[str], given: Sequence[str]) -> list[Policy]:
    """Make several policies; each gets those of the parameters KEY=VALUE of ``--set`` that it has.

    A policy ``NAME@FILE`` has a configuration of its own; `row_names` tells several of one name apart.

    Raises UnknownNameError: a parameter that no policy has.
    """
    from workbench.policies import get_policy

    values = key_values("--set", given, reserved=_RESERVED)
    named = [_with_file(spec) for spec in specs]
    with name_from("--policies"):
        bare = [get_policy(name) for name, _ in named]
    known = {name for policy in bare for name in policy.parameters}
    for name in values:
        if name not in known:
            raise UnknownNameError("parameter of the policies compared", name, known).of("--set")
    own = [{name: value for name, value in values.items() if name in policy.parameters} for policy in bare]
    return [
        get_policy(name, **_read(policy, mine, file))
        for (name, file), policy, mine in zip(named, bare, own, strict=True)
    ]


def row_names(specs: Sequence[str], policies: Sequence[Policy]) -> list[str]:
    """Names by which the rows of a comparison are told apart: that of the policy, with ``@FILE`` as given."""
    files = [_with_file(spec)[1] for spec in specs]
    return [f"{policy.name}@{file}" if file else policy.name for policy, file in zip(policies, files, strict=True)]


def _with_file(spec: str) -> tuple[str, str]:
    """Name of a policy and the file of its own configuration, empty if there is none, of ``NAME[@FILE]``."""
    name, at, file = spec.partition("@")
    if at and not file.strip():
        raise InputError("no file after the '@'", source="policy", got=repr(spec), expected="volcano@FILE")
    if name.partition("+")[0].strip() == "field":
        # `policy_names` has put the policies in the place of the bare word wherever several may be named.
        several = "it stands for several policies, and takes neither a file nor a GPU policy"
        expected = f"one of {', '.join(FIELD)}, or 'compare --policies field'"
        raise InputError(several, source="policy", got=repr(spec), expected=expected)
    return name.strip(), file.strip()


def _read(policy: Policy, values: dict[str, Any], own_file: str) -> dict[str, Any]:
    """The parameter values of a policy, with file names of configurations replaced by the files' contents."""
    # Only a configuration has None for its default.
    configurations = [name for name, value in policy.parameters.items() if value is None]
    if own_file and not configurations:
        raise InputError("it reads no configuration", source=policy.name, got=f"@{own_file}", expected="no '@FILE'")
    values = {**values, **({configurations[0]: own_file} if own_file else {})}
    files = [name for name in values if name in configurations]
    if not files:
        return values
    from workbench.formats.scheduler_conf import load_config

    return {**values, **{name: load_config(values[name]) for name in files}}


def gpu_list(option: str, text: str | None) -> list[int] | None:
    """Parse a list of GPU numbers such as ``0,1,4-7``; None for None, an empty list for an empty text.

    `option` names the command-line option in errors.
    """
    if text is None:
        return None
    numbers: list[int] = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        first, dash, last = part.partition("-")
        low = whole_number(first)
        high = whole_number(last) if dash else low
        if low is None or high is None:
            raise InputError("not a list of GPUs", source=option, got=repr(part), expected="numbers such as 0,1,4-7")
        if high < low:
            raise InputError("a range that runs down", source=option, got=repr(part), expected=repr(f"{high}-{low}"))
        if high - low > 1024:
            raise InputError("not a list of GPUs", source=option, got=repr(part), expected="at most 1,024 GPUs")
        numbers.extend(range(low, high + 1))
    return numbers


def given_paths(paths: Sequence[str], files: Sequence[str]) -> list[str]:
    """The input paths of a command: its arguments, then the values of ``-f``.

    Raises InputError: there is no input path.
    """
    both = [*paths, *files]
    if not both:
        raise InputError("no input given", source="PATH", expected="files, folders or -")
    return both


def standard_input(files: Sequence[str]) -> bytes | None:
    """The content of standard input if one of the files is ``-``; otherwise None, and nothing is read.

    Raises InputError: standard input is closed.
    """
    if "-" not in files:
        return None
    if sys.stdin is None:  # as Python has it where the descriptor is not open
        raise InputError("standard input is closed", source="-", expected="a pipe or a file")
    return sys.stdin.buffer.read()


def load_scenario(
    files: Sequence[str],
    matrices: Sequence[str] = (),
    format: str | None = None,
    *,
    any_scheduler: bool = False,
    policies: Sequence[Policy] = (),
    gpus_per_node: int | None = None,
    strict: bool = False,
) -> Scenario:
    """Read a command's input files into a scenario, and write notices about unused objects to stderr.

    Parameters
    ----------
    matrices : sequence of str
        ``PATTERN=FILE`` each.
    format : str, optional
        Value of ``--from``.
    any_scheduler, gpus_per_node
        As for `workbench.load`.
    policies : sequence of Policy
        Those that are asked: the jobs of their schedulers are read, too.
    strict : bool
        Leave with exit status 1 if a cluster would refuse an object.
    """
    from workbench.formats.load import load
    from workbench.policies.contract import schedulers_of

    given = matrix_files(matrices)
    scenario = load(
        *files,
        matrices=given,
        stdin=standard_input(files),
        format=format,
        any_scheduler=any_scheduler or schedulers_of(policies),
        gpus_per_node=gpus_per_node,
    )
    tell_reading(scenario, strict=strict)
    return scenario


def matrix_files(matrices: Sequence[str]) -> dict[str, Any]:
    """The files of bandwidth matrices by pattern, from the values ``PATTERN=FILE`` of ``--matrix``."""
    given = key_values("--matrix", matrices, "PATTERN=FILE")
    for pattern, path in given.items():
        if not path:
            raise InputError("no file", source="--matrix", got=repr(f"{pattern}="), expected="PATTERN=FILE")
    return given


def tell_reading(scenario: Scenario, *, strict: bool = False) -> None:
    """Write to stderr how files were read: formats that were recognised, unused and refused objects.

    With `strict` what a cluster would refuse ends the command with exit status 1.
    """
    for source, name in scenario.formats.items():
        tell(f"note: {source}: read as {name}; --from FORMAT reads it as another format")
    tell_kinds(scenario.ignored)
    subjects = {finding.subject for finding in scenario.findings}
    tell_findings(scenario.findings, {refused.subject for refused in scenario.refused}, strict=strict)
    for refused in scenario.refused:
        if refused.subject not in subjects:
            tell(f"refused: {refused.subject}: {refused}")


def tell_findings(findings: Iterable[Notice], refused: Container[str] = (), *, strict: bool = False) -> None:
    """Write to stderr for what a cluster would refuse objects, one line for each violation.

    `findings`: of `workbench.formats.review.Review.findings`. `refused`: objects that are not used for it; the others
    are used, with a warning. `strict`: use none of them: leave with exit status 1 if there is a finding.
    """
    findings = list(findings)
    for finding in findings[:_MOST_FINDINGS]:
        is_refused = strict or finding.subject in refused
        tell(f"{'refused:' if is_refused else 'warning: a cluster refuses'} {finding.subject}: {finding}")
    if len(findings) > _MOST_FINDINGS:
        tell(f"and {len(findings) - _MOST_FINDINGS} more; 'workbench validate' lists all that a cluster refuses")
    if strict and findings:
        raise typer.Exit(1)


def reviewed(
    documents: Iterable[Document], stdin: bytes | str | None, *, strict: bool
) -> tuple[Reviewer, tuple[Notice, ...]]:
    """Ask a cluster's admission about each object as written; with `strict` a finding ends the command.

    `stdin`: content of the file ``stdin``. `strict`: leave with exit status 1 if there is a finding.
    """
    from workbench.formats.review import Reviewer

    reviewer = Reviewer(written_only=True)
    for document in documents:
        reviewer.take(document)
    findings = reviewer.review().findings(stdin)
    if strict:
        tell_findings(findings, strict=True)
    return reviewer, findings


def tell_kinds(ignored: Mapping[str, int]) -> None:
    """Write the kinds of objects that are not used, with their counts, to stderr."""
    if ignored:
        tell(f"ignored: {', '.join(kinds_with_counts(ignored))}")


def kinds_with_counts(kinds: Mapping[str, int]) -> list[str]:
    """Kinds of objects that are not used, each with its count and, where it seems misspelt, the kind that is meant."""
    from workbench.objects.kinds import meant_kind

    meant = {kind: f"; did you mean {close}?" if (close := meant_kind(kind)) else "" for kind in kinds}
    return [f"{kind} ({count}{meant[kind]})" for kind, count in sorted(kinds.items())]


def tell_gaps(scenario: Scenario) -> None:
    """Write to stderr what is missing or contradictory in the input, and which values are assumed instead."""
    tell_notes(scenario.snapshot.gaps)


def tell_notes(notes: Iterable[Notice | str]) -> None:
    """Write notices to stderr, one line each."""
    for note in notes:
        tell(f"note: {note}")

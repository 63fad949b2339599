"""Admission of a HyperNode: the schema of its CRD, Volcano 1.15's admission policy, and Volcano's webhook.

Creating and updating are checked alike. None of the three looks at tier order, cycles or two parents;
`workbench.topology` finds these.

Source: docs/reference/volcano-topology.md, section 1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.model.release import Release
from workbench.objects.admission import schema
from workbench.objects.admission.schema import Fault
from workbench.objects.fields import get_int, get_map, get_maps, get_text, shown
from workbench.objects.names import LONGEST, SUBDOMAIN, is_subdomain, qualified_name_errors
from workbench.objects.selectors import read_label_selector, why_no_pattern

__all__ = ["hypernode_findings", "hypernode_policy", "hypernode_schema", "hypernode_webhook", "refuse_hypernode"]

_SELECTORS = ("exactMatch", "regexMatch", "labelMatch")

_NO_MEMBER = "member must have at least one member"
_NO_SELECTOR = "member selector must have one of exactMatch, regexMatch, or labelMatch"
_SEVERAL_SELECTORS = "cannot specify more than one selector type (exactMatch, regexMatch, labelMatch)"
_NO_NAME = "member exactMatch name is required"
_NO_PATTERN = "member regexMatch pattern is required"
_BAD_PATTERN = "member regexMatch pattern is invalid"

_BRACKETS = (("(", ")", "parentheses"), ("[", "]", "square brackets"), ("{", "}", "curly braces"))


def refuse_hypernode(data: Mapping[str, Any], release: Release) -> str:
    """The text with which a cluster that runs this Volcano release refuses a HyperNode; empty if it accepts it.

    `data` is the parsed manifest.

    Raises InputError: a field of the wrong type.
    """
    layers: list[Callable[[Mapping[str, Any], Release], str]] = [hypernode_schema, hypernode_policy, hypernode_webhook]
    return next(filter(None, (layer(data, release) for layer in layers)), "")


def hypernode_findings(data: Mapping[str, Any], release: Release) -> list[Fault]:
    """Violations in a HyperNode manifest, from the first check that finds any: CRD schema, admission policy, then
    webhook.
    """
    layers: list[Callable[[Mapping[str, Any], Release], Iterator[str]]] = [
        _schema_errors,
        _policy_texts,
        _webhook_errors,
    ]
    errors = next(filter(None, (list(layer(data, release)) for layer in layers)), [])
    return [Fault(text.partition(": ")[0] if text.startswith("spec.") else "", text) for text in errors]


def _policy_texts(data: Mapping[str, Any], release: Release) -> Iterator[str]:
    return iter(()) if release is Release.V1_13 else iter(dict.fromkeys(_policy_errors(data)))


def hypernode_schema(data: Mapping[str, Any], release: Release) -> str:
    """The API server's text for violations of the CRD schema in a HyperNode manifest; empty if there are none."""
    return ", ".join(_schema_errors(data, release))


def hypernode_policy(data: Mapping[str, Any], release: Release) -> str:
    """The text with which the admission policy of Volcano 1.15 refuses a HyperNode manifest; empty if accepted.

    Release 1.13 has no such policy. The policy counts brackets instead of compiling a pattern: valid patterns such as
    ``a\\(b`` are refused, and a lone ``)`` is accepted.
    """
    errors = list(_policy_texts(data, release))
    return (
        f"ValidatingAdmissionPolicy 'hypernode-validation-policy' denied request: {', '.join(errors)}" if errors else ""
    )


def hypernode_webhook(data: Mapping[str, Any], release: Release) -> str:
    """The text with which Volcano's webhook refuses a HyperNode manifest; empty if accepted.

    In Volcano 1.15 the webhook checks patterns only.
    """
    errors = list(_webhook_errors(data, release))
    return f"[{', '.join(errors)}]" if len(errors) > 1 else "".join(errors)


def _members(data: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """The path, the member and the selector of each entry of spec.members; a null selector counts as absent."""
    for path, member in get_maps(get_map(data, "spec", ""), "members", "spec"):
        selector = get_map(member, "selector", path)
        yield path, member, {key: get_map(selector, key, path) for key in _SELECTORS if selector.get(key) is not None}


def _schema_errors(data: Mapping[str, Any], release: Release) -> Iterator[str]:
    is_1_15 = release is Release.V1_15
    spec = get_map(data, "spec", "")
    if type(spec.get("tier")) is str:
        yield 'spec.tier: Invalid value: "string": spec.tier in body must be of type integer: "string"'
    elif (tier := get_int(spec, "tier", "spec")) is None:
        yield schema.required("spec.tier")
    elif is_1_15 and tier < 0:
        yield schema.below("spec.tier", tier, 0)
    if is_1_15 and len(get_text(spec, "tierName", "spec").encode()) > LONGEST:
        yield schema.too_long("spec.tierName", LONGEST)
    if is_1_15 and spec.get("members") == []:
        yield schema.too_few("spec.members", 0, 1)
    for path, member, selector in _members(data):
        kind = member.get("type")
        if kind is None:
            yield schema.required(f"{path}.type")
        elif kind not in ("Node", "HyperNode"):
            yield schema.unsupported(f"{path}.type", kind, ("HyperNode", "Node"))
        if is_1_15:
            yield from _selector_schema_errors(selector, f"{path}.selector")
        if "labelMatch" in selector:
            read_label_selector(selector["labelMatch"], f"{path}.selector.labelMatch")
        # These rules do not apply to a member without the field selector.
        if not selector and member.get("selector") is not None:
            message = "Either ExactMatch or RegexMatch or LabelMatch must be specified"
            yield schema.broken_rule(f"{path}.selector", message)
        elif len(selector) > 1:
            message = "Only one of ExactMatch, RegexMatch, or LabelMatch can be specified"
            yield schema.broken_rule(f"{path}.selector", message)
    count = get_int(get_map(data, "status", ""), "nodeCount", "status")
    if count is not None and count < 0:
        yield schema.below("status.nodeCount", count, 0)


def _selector_schema_errors(selector: Mapping[str, Any], where: str) -> Iterator[str]:
    for key, field in (("exactMatch", "name"), ("regexMatch", "pattern")):
        if key not in selector:
            continue
        path = f"{where}.{key}.{field}"
        if selector[key].get(field) is None:
            yield schema.required(path)
            continue
        text = get_text(selector[key], field, f"{where}.{key}")
        if not text:
            yield schema.too_short(path, text, 1)
        if field == "name":
            if len(text.encode()) > LONGEST:
                yield schema.too_long(path, LONGEST)
            if not is_subdomain(text):
                yield schema.no_match(path, text, SUBDOMAIN)


def _policy_errors(data: Mapping[str, Any]) -> Iterator[str]:
    for path, _, selector in _members(data):
        if not selector:
            yield _NO_SELECTOR
        if len(selector) > 1:
            yield _SEVERAL_SELECTORS
        if "exactMatch" in selector and not get_text(selector["exactMatch"], "name", path):
            yield _NO_NAME
        if "regexMatch" in selector:
            pattern = get_text(selector["regexMatch"], "pattern", path)
            if not pattern:
                yield _NO_PATTERN
            for opening, closing, name in _BRACKETS:
                if opening in pattern and pattern.count(opening) != pattern.count(closing):
                    yield f"{_BAD_PATTERN}: unmatched {name}"


def _webhook_errors(data: Mapping[str, Any], release: Release) -> Iterator[str]:
    all_rules = release is Release.V1_13
    spec = get_map(data, "spec", "")
    if not spec.get("members"):
        yield _invalid("spec.members", spec.get("members"), _NO_MEMBER)
    for path, _, selector in _members(data):
        where = f"{path}.selector"
        if all_rules and not selector:
            yield _invalid(where, {}, _NO_SELECTOR)
            continue
        if all_rules and len(selector) > 1:
            yield _invalid(where, selector, _SEVERAL_SELECTORS)
            continue
        if all_rules and "exactMatch" in selector:
            name = get_text(selector["exactMatch"], "name", where)
            errors = qualified_name_errors(name) if name else []
            if not name:
                yield _invalid(f"{where}.exactMatch.name", name, _NO_NAME)
            elif errors:
                yield _invalid(
                    f"{where}.exactMatch.name", name, f"member exactMatch validate failed [{' '.join(errors)}]"
                )
        if "regexMatch" in selector:
            pattern = get_text(selector["regexMatch"], "pattern", where)
            reason = _why_not(pattern)
            if all_rules and not pattern:
                yield _invalid(f"{where}.regexMatch.pattern", pattern, _NO_PATTERN)
            elif reason:
                yield _invalid(f"{where}.regexMatch.pattern", pattern, f"{_BAD_PATTERN}: {reason}")


def _why_not(pattern: str) -> str:
    """Error text of a regular expression that does not compile; empty if it compiles."""
    why = why_no_pattern(pattern)
    return f"error parsing regexp: {why}: `{pattern}`" if why else ""


def _invalid(path: str, value: Any, message: str) -> str:
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, (str, dict)) or value is None else shown(value)
    return f"{path}: Invalid value: {text}: {message}"

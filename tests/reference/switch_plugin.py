"""Rules of the switch-affinity plugin around a session: its arguments, and the record of the switches of a job.

In the product the name of the policy and its parameters say what the arguments of the plugin say there, and nobody
writes the record.

Source: docs/reference/switch-affinity.md, sections 1, 1.2, 1.3 and 1.4.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from workbench.model.switches import EXCLUSIVE, IDLE, IS_SHARED, SHARED, SHARED_ADDRESS, SwitchStates
from workbench.policies.switch_affinity.job_kind import DEFAULT_MAX_SHARED, invalid_label, job_kind

Version = Literal["1.0", "2.0"]


def version_of(nslb_version: str | None) -> Version:
    """Version of switch affinity for the plugin argument ``nslb-version``: "2.0" if that is written, else "1.0"."""
    return "2.0" if nslb_version == "2.0" else "1.0"


def max_shared_of(shared_tor_num: str | None) -> int:
    """Most shared switches that a job may use, by the plugin argument ``shared-tor-num``: 1 or 2.

    Any other value means 2.
    """
    return int(shared_tor_num) if shared_tor_num in ("1", "2") else DEFAULT_MAX_SHARED


def handler_of(
    label: str, level: str, version: Version, has_table: bool
) -> Literal["none", "invalid", "single_layer", "1.0", "2.0"]:
    """Name of the rules that apply to a job.

    Parameters
    ----------
    label : str
        The job's tor-affinity label.
    level : str
        Levels of the network, from the switch table; in a ``single_layer`` network the rules of a single layer apply to
        both versions.
    version : {"1.0", "2.0"}
    has_table : bool
        Whether the cluster has a switch table.

    Returns
    -------
    {"none", "invalid", "single_layer", "1.0", "2.0"}
        "none" for a job without the label, "invalid" for a label that the rules refuse.
    """
    if job_kind(label, 1) == "none":
        return "none"
    if invalid_label(label, has_table) is not None:
        return "invalid"
    return "single_layer" if level == "single_layer" else version


def states_by_definition(before: SwitchStates, switches: Sequence[int], max_shared: int) -> dict[int, tuple[int, bool]]:
    """State and health of the given switches once a job has pods under them, whichever policy placed the job.

    Returns a mapping of the switch to (state, unhealthy). By the document's definitions: a job under one switch
    changes nothing; a switch with one cross-switch job is exclusive, with several shared; unhealthy where the job
    uses more shared switches than allowed.

    Parameters
    ----------
    before : SwitchStates
        States without the job.
    switches : sequence of int
        Switches under which the job has pods.
    max_shared : int
        Most shared switches that a job may use.
    """
    under = sorted(set(switches))
    if len(under) < 2:
        return dict.fromkeys(under, (IDLE, False))
    state = {switch: EXCLUSIVE if before.state[switch] == IDLE else SHARED for switch in under}
    over = sum(found == SHARED for found in state.values()) > max_shared
    return {s: (found, found == SHARED and (over or bool(before.unhealthy[s]))) for s, found in state.items()}


def job_summary(pods: Iterable[Mapping[str, str]]) -> str:
    """Value of the field sharedTorIp of job-summary-<job>: distinct addresses of the job's shared switches.

    Parameters
    ----------
    pods : iterable of mapping
        Annotations of the job's pods.

    Returns
    -------
    str
        A JSON list in the order of the pods; empty where no pod is under a shared switch.
    """
    addresses = dict.fromkeys(
        pod[SHARED_ADDRESS] for pod in pods if pod.get(IS_SHARED) == str(SHARED) and pod.get(SHARED_ADDRESS)
    )
    return json.dumps(list(addresses), separators=(",", ":")) if addresses else ""

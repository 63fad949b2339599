"""Ask one policy: `place`, `schedule`, `explain` and `fix`, about a scenario or about gangs and a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.errors import InputError, UnknownNameError, WorkbenchError
from workbench.evaluate.whatif.fix import FixReport, fix_report
from workbench.model.explanation import Explanation
from workbench.model.gang import Gang
from workbench.model.placement import Decision, Placement, Refusal
from workbench.model.scenario import Scenario, gang_of, session_of
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies import Policy, as_policy

__all__ = ["explain", "fix", "place", "schedule"]


def place(
    gang: Gang | str, snapshot: ClusterSnapshot | Scenario, policy: str | Policy = "volcano", **params: Any
) -> Placement | Refusal:
    """Place one gang by a policy, in a scheduling session of its own.

    In a condition a placement counts as true, a refusal as false. Raises UnknownNameError, InputError: no such gang,
    policy or parameter, or a value that it does not take.

    Parameters
    ----------
    gang : Gang or str
        The gang, or the name of one in the scenario.
    snapshot : ClusterSnapshot or Scenario
        Not changed; ``snapshot.with_placement(p)`` is the snapshot with the placed pods running.
    policy : str or Policy
        Name of a node policy, with ``+GPU`` for a GPU policy (``volcano+gpu-bottleneck``), a policy object, or a
        function decorated with `workbench.policy`.
    **params
        Parameters of the policy by name; those of the GPU part as ``gpu={"name": value}``.

    Examples
    --------
    >>> import workbench as wb
    >>> tree = wb.generate_scenario("three-level-tree")
    >>> wb.place(wb.gang("mine", pods=2, gpus=8, tier=1), tree, policy="volcano-1.15")
    Placement(default/mine by volcano-1.15: 2 pods on 2 nodes inside s0 (tier 1))
    """
    one, cluster = _asked(gang, snapshot)
    return as_policy(policy, params).schedule([one], cluster)[0].result


def schedule(
    gangs: Sequence[Gang] | Scenario,
    snapshot: ClusterSnapshot | Scenario | None = None,
    policy: str | Policy = "volcano",
    **params: Any,
) -> list[Decision]:
    """Place several gangs in one scheduling session, in the order that the policy chooses.

    The result is in the order of `gangs`; `Decision.turn` numbers the decisions in the order in which the policy took
    them.

    `snapshot`: None: the cluster of the scenario that `gangs` is. `params`: as in `place`.

    Examples
    --------
    >>> import workbench as wb
    >>> tree = wb.generate_scenario("three-level-tree")
    >>> gangs = [wb.gang("first", pods=2, gpus=8), wb.gang("second", pods=9, gpus=8)]
    >>> [decision.placed for decision in wb.schedule(gangs, tree)]
    [True, False]
    """
    some, cluster = session_of(gangs, snapshot)
    return as_policy(policy, params).schedule(some, cluster)


def explain(
    gang: Gang | str, snapshot: ClusterSnapshot | Scenario, policy: str | Policy = "volcano", **params: Any
) -> Explanation:
    """Explain a policy's decision on one gang: which HyperNodes and nodes it considers, and why it keeps or drops each.

    `params`: as in `place`.

    Examples
    --------
    >>> import workbench as wb
    >>> tree = wb.generate_scenario("three-level-tree")
    >>> explanation = wb.explain(wb.gang("mine", pods=2, gpus=8, tier=1), tree)
    >>> explanation.tied_hypernodes
    ('s0', 's1', 's2', 's3')
    """
    one, cluster = _asked(gang, snapshot)
    return as_policy(policy, params).explain(one, cluster)


def fix(
    gang: Gang | str, snapshot: ClusterSnapshot | Scenario, policy: str | Policy = "volcano", **params: Any
) -> FixReport:
    """Why a policy leaves a gang pending, and the smallest sets of edits with which it places the gang.

    `gang`: a gang by itself, or one of a scenario: then all gangs of the scenario are in the session. `params`: as in
    `place`. The report is that of `fix_report`, and so are the errors.

    Examples
    --------
    >>> import workbench as wb
    >>> tree = wb.generate_scenario("three-level-tree")
    >>> wb.fix(wb.gang("wide", pods=3, gpus=8, tier=1), tree).fixes[0].text
    'allow tier 2'
    """
    one, cluster = _asked(gang, snapshot)
    scenario = next((each for each in (gang, snapshot) if isinstance(each, Scenario)), None)
    known = () if scenario is None else scenario.gangs
    gangs = known if any(each is one for each in known) else (*known, one)
    return fix_report(as_policy(policy, params), gangs, cluster, one.key)


def _asked(gang: Gang | str, snapshot: ClusterSnapshot | Scenario) -> tuple[Gang, ClusterSnapshot]:
    """As `gang_of`, with a hint where the name of a policy stands for the job."""
    try:
        return gang_of(gang, snapshot)
    except UnknownNameError as error:
        if not _is_policy(error.name):
            raise
        job = repr(error.known[0]) if error.known else "a Gang, as the scenario has none"
        raise InputError(
            "the name of a policy where the job belongs",
            source="job",
            got=repr(error.name),
            expected=f"a job such as {job}, and policy={error.name!r} after it",
        ) from None


def _is_policy(name: str) -> bool:
    try:
        as_policy(name)
    except WorkbenchError:
        return False
    return True

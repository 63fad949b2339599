"""`SchedulerSettings`: the policy, as the ConfigMap of Volcano's scheduler in the cluster configures it."""

from __future__ import annotations

from workbench.control.kinds import Ref
from workbench.control.store import StoreChange
from workbench.errors import UnknownNameError
from workbench.formats.scheduler_conf import CONFIG_KEY, parse_config
from workbench.model.value import Working
from workbench.policies.composed import Composed
from workbench.policies.contract import Policy
from workbench.policies.registry import get_policy

__all__ = ["SchedulerSettings"]

_MAP = Ref("ConfigMap", "volcano-system", "volcano-scheduler-configmap")


class SchedulerSettings(Working):
    """Makes a policy anew whenever ``volcano-system/volcano-scheduler-configmap`` changes.

    `policy`: only a registered policy with a parameter ``config`` that was not given follows the ConfigMap; its other
    parameters stay as they are.

    Notes
    -----
    As in Volcano, a configuration that cannot be read changes nothing, and neither does the end of the ConfigMap.
    """

    def __init__(self, policy: Policy) -> None:
        given = dict(policy.parameters)
        self._follows = given.pop("config", "") is None and _is_registered(policy)
        self._name, self._given = policy.name, given
        self._text: str | None = None

    def changed_policy(self, change: StoreChange) -> Composed | None:
        """The policy as it is configured after a change of an object; None if the change does not concern it.

        Raises InputError: the new configuration cannot be read, or sets a parameter that was given as well.
        """
        if not self._follows or change.key != _MAP or change.after is None:
            return None
        text = (change.after.get("data") or {}).get(CONFIG_KEY)
        if text is None or text == self._text:
            return None
        self._text = text
        made = get_policy(self._name, **self._given, config=parse_config(str(text).encode(), str(_MAP)))
        assert isinstance(made, Composed)
        return made


def _is_registered(policy: Policy) -> bool:
    """Whether the name of a policy stands for it, rather than for nothing or for another one of a user's own."""
    try:
        found = get_policy(policy.name)
    except UnknownNameError:
        return False
    return (
        isinstance(found, Composed)
        and isinstance(policy, Composed)
        and (type(found.node), type(found.gpu)) == (type(policy.node), type(policy.gpu))
    )

"""`RoleSizes`: the fields in which the object of a gang says how many pods its roles have."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.model.extras import Extra

__all__ = ["RoleSize", "RoleSizes"]


@dataclass(frozen=True)
class RoleSize:
    """The field that says how many pods a role has.

    Attributes
    ----------
    field : str
        Name of the field: ``replicas``, ``parallelism``, ``size``.
    pods : int
        Pods of the role that the object asks for, running ones included.
    unit : int
        Pods that one step of the field adds.
    beside : int
        What the field counts besides: 1 for the leader in the ``size`` of a group.
    """

    role: str
    field: str
    pods: int
    unit: int = 1
    beside: int = 0

    def value(self, fewer: int) -> int:
        """Value of the field with `fewer` pods of the role than now."""
        return (self.pods - fewer) // self.unit + self.beside


@dataclass(frozen=True)
class RoleSizes(Extra):
    """Sizes of the roles of a gang whose object is no Volcano Job; empty where tasks have replicas."""

    roles: tuple[RoleSize, ...] = ()

    def of(self, role: str) -> RoleSize | None:
        """The field for a role; None: its number of pods is written as for a Volcano Job, or nowhere."""
        return next((each for each in self.roles if each.role == role), None)

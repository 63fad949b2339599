"""`RoleTemplate`: the pod template of one role of a gang, with what its controller tells of the pods."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.objects.pod import PodTemplate

__all__ = ["RoleTemplate"]


@dataclass(frozen=True)
class RoleTemplate:
    """The pod template of one role of a gang.

    Attributes
    ----------
    role : str
        Name of the role.
    pods : int
        Pods that the object makes of the template, running ones included.
    template : PodTemplate
        Labels, annotations, node selector and affinity.
    pod_index_label : str
        Label with which the controller numbers the pods; empty: it does not.
    sub_group_label : str
        Label with which the controller numbers equal parts of the role, such as the Jobs of an entry of a JobSet;
        empty: the role has no parts.
    sub_groups : int
        Number of these parts; 0: the role has none.
    """

    role: str
    pods: int
    template: PodTemplate
    pod_index_label: str = ""
    sub_group_label: str = ""
    sub_groups: int = 0

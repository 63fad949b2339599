"""Generate Volcano Jobs of equal pods (`JobShape`), and scenarios of such jobs on a generated cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from workbench.errors import InputError
from workbench.model.counted import counted
from workbench.model.gang import Gang, Role, SubGroup, TopologyConstraint
from workbench.model.resources import is_gpu_resource
from workbench.model.scenario import Scenario
from workbench.topology.generate import GIB, Fabric, Manifest

__all__ = ["JobShape", "scenario_of"]


@dataclass(frozen=True)
class JobShape:
    """A generated Volcano Job of equal pods with one container each.

    Parameters
    ----------
    pods : int
        Number of pods, all of which are needed (minAvailable).
    cpu : int
        CPU cores per pod.
    memory_gib : int
        Memory per pod in GiB.
    devices : mapping of str to int
        Extended resources per pod.
    mode : str
        ``hard``, ``soft`` or empty for a job without a topology.
    highest_tier : int, optional
        highestTierAllowed of the job; None: absent.
    group_size : int
        Pods per partition (partitionPolicy, Volcano 1.14 and later), each wanted inside one HyperNode of tier 1;
        0: no partitions.
    task : str
        Name of the only task.
    """

    name: str
    pods: int
    cpu: int = 8
    memory_gib: int = 64
    devices: Mapping[str, int] = field(default_factory=lambda: {"nvidia.com/gpu": 8})
    mode: Literal["hard", "soft", ""] = ""
    highest_tier: int | None = None
    group_size: int = 0
    task: str = "worker"
    queue: str = "default"

    def __post_init__(self) -> None:
        if self.pods < 1:
            raise InputError("a job needs pods", source="pods", got=str(self.pods), expected="an integer >= 1")
        if self.mode not in ("hard", "soft", ""):
            raise InputError("unknown mode", source="mode", got=repr(self.mode), expected="hard, soft or nothing")
        if self.group_size < 0 or (self.group_size and self.pods % self.group_size):
            raise InputError(
                "the pods do not divide into groups",
                source="group_size",
                got=f"{self.group_size} for {counted(self.pods, 'pod')}",
                expected="0 or a divisor of pods",
            )

    def manifest(self) -> Manifest:
        """The manifest of the Job (batch.volcano.sh/v1alpha1)."""
        amounts = {"cpu": str(self.cpu), "memory": f"{self.memory_gib}Gi"}
        amounts |= {name: str(self.devices[name]) for name in sorted(self.devices)}
        task: Manifest = {
            "name": self.task,
            "replicas": self.pods,
            "template": {
                "spec": {
                    "restartPolicy": "OnFailure",
                    "containers": [
                        {
                            "name": self.task,
                            "image": "example.invalid/train:1",
                            "resources": {"requests": dict(amounts), "limits": dict(amounts)},
                        }
                    ],
                }
            },
        }
        if self.group_size:
            task["partitionPolicy"] = {
                "totalPartitions": self.pods // self.group_size,
                "partitionSize": self.group_size,
                "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
            }
        spec: Manifest = {"schedulerName": "volcano", "minAvailable": self.pods}
        if self.queue != "default":
            spec["queue"] = self.queue
        if self.mode:
            spec["networkTopology"] = {"mode": self.mode}
            if self.highest_tier is not None:
                spec["networkTopology"]["highestTierAllowed"] = self.highest_tier
        spec["tasks"] = [task]
        return {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": self.name, "namespace": "default"},
            "spec": spec,
        }

    def gang(self) -> Gang:
        """The job as a `Gang`, made directly instead of through its manifest."""
        requests = {"cpu": self.cpu * 1000, "memory": self.memory_gib * GIB, **self.devices}
        gpus = sum(count for name, count in self.devices.items() if is_gpu_resource(name))
        role = Role(self.task, self.pods, requests, container_gpus=(gpus,) if gpus else ())
        return Gang(
            "default",
            self.name,
            (role,),
            min_available=self.pods,
            constraint=TopologyConstraint(self.mode, self.highest_tier) if self.mode else None,
            sub_groups=self._sub_groups(),
            sub_grouped=self.group_size > 0,
            queue=self.queue,
        )

    def _sub_groups(self) -> tuple[SubGroup, ...]:
        size, limit = self.group_size, TopologyConstraint("hard", 1)
        return tuple(
            SubGroup(
                f"{self.task}-{i}",
                tuple(range(i * size, (i + 1) * size)),
                limit,
                size,
                policy=self.task,
                match_index=i,
            )
            for i in range(self.pods // size if size else 0)
        )


def scenario_of(fabric: Fabric, jobs: Sequence[JobShape]) -> Scenario:
    """An idle generated cluster and its jobs as a `Scenario`, equal to what `workbench.load` makes of their
    manifests.
    """
    gangs = sorted((job.gang() for job in jobs), key=lambda gang: gang.key.encode())
    return Scenario(fabric.snapshot(), tuple(gangs))

"""Jobs of published parallel shapes: their training steps, and a workload that draws from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.errors import InputError
from workbench.evaluate.contention import TrainingStep
from workbench.evaluate.cost import ParallelShape, TrainingModel
from workbench.evaluate.cost.checks import positive, whole
from workbench.model.counted import counted
from workbench.model.gang import Gang, Role
from workbench.model.job_log import PublishedShape
from workbench.model.snapshot import ClusterSnapshot
from workbench.simulate.job import SimulatedJob

__all__ = ["draw_shaped_jobs", "step_of_shape"]

#: Forward pass of one token through one parameter; the backward pass is twice that.
_FLOPS = 2.0


def step_of_shape(shape: PublishedShape, gpu_tflops: float) -> TrainingStep:
    """Compute and traffic of a step of a published shape.

    Compute is 2 operations per active parameter and token forward, twice that backward, spread evenly over tensor-,
    pipeline- and context-parallel ranks. All parameters but the active ones count as those of experts.

    `gpu_tflops`: 10^12 operations per second that a GPU reaches in training, not its peak.
    """
    positive(gpu_tflops, "gpu_tflops")
    dp, tp, pp, cp, ep = shape.degrees
    size = shape.size
    tokens = shape.micro_batch * shape.sequence
    forward = _FLOPS * size.active * tokens / (tp * pp * cp) / (gpu_tflops * 1e12)
    model = TrainingModel(
        parameters=size.parameters,
        expert_parameters=size.parameters - size.active,
        layers=size.layers,
        hidden=size.hidden,
        sequence=shape.sequence,
        micro_batch=shape.micro_batch,
        microbatches=shape.microbatches,
        moe_layers=size.moe_layers,
        top_k=size.top_k,
        kv_hidden=size.kv_hidden,
        sharded=shape.sharded,
        forward_s=forward,
        backward_s=2 * forward,
        interleave=shape.interleave,
    )
    return TrainingStep.of(ParallelShape(dp, tp, pp, cp, ep), model)


def draw_shaped_jobs(
    shapes: Sequence[PublishedShape],
    snapshot: ClusterSnapshot,
    count: int,
    rng: np.random.Generator,
    *,
    gpu_tflops: float,
    median_s: float = 14_400.0,
    spread: float = 1.0,
) -> list[SimulatedJob]:
    """Draw jobs of published shapes, all submitted at 0; `workbench.simulate.arrivals.at_load` gives them arrivals.

    Every shape that the cluster can hold is as likely as any other; durations are log-normal. Pods take whole nodes of
    the size that most nodes have. The same generator state gives the same jobs.

    Raises InputError: the cluster has no GPUs, or holds none of the shapes.

    Parameters
    ----------
    shapes, snapshot, count, rng
    gpu_tflops : float
        As for `step_of_shape`.
    median_s : float
        Median of the durations in seconds.
    spread : float
        Standard deviation of their logarithm.
    """
    whole(count, "count")
    positive(median_s, "median_s")
    positive(spread, "spread")
    gpus = np.bitwise_count(snapshot.gpu_total).sum(axis=1)
    if not snapshot.gpu_columns or not gpus.any():
        raise InputError("a cluster without GPUs", source="snapshot", expected="nodes with GPUs")
    sizes, nodes = np.unique(gpus[gpus > 0], return_counts=True)
    of_node = int(sizes[np.argmax(nodes)])
    most = of_node * int(nodes.max())
    fitting = [shape for shape in shapes if np.prod(shape.degrees[:4]) <= most]
    fitting = [shape for shape in fitting if np.prod(shape.degrees[:4]) % of_node == 0]
    if not fitting:
        expected = f"multiples of {counted(of_node, 'GPU')}, at most {most:,}"
        raise InputError("no shape that the cluster can hold", source="shapes", got=str(len(shapes)), expected=expected)
    resource = snapshot.resources[snapshot.gpu_columns[0]]
    jobs = []
    for number in range(count):
        shape = fitting[int(rng.integers(len(fitting)))]
        pods = int(np.prod(shape.degrees[:4])) // of_node
        role = Role("worker", pods, {resource: of_node})
        gang = Gang("default", f"{shape.model}-{number:04d}".lower(), (role,), pods)
        seconds = median_s * float(np.exp(spread * rng.standard_normal()))
        jobs.append(SimulatedJob(gang, 0.0, seconds, step=step_of_shape(shape, gpu_tflops)))
    return jobs

"""How alike the times of two collectives are, and the estimate of an unmeasured time that follows from it.

The logarithm of a time is a plain formula (`expected_log_time`) plus a deviation. Deviations are one Gaussian process
over blocks and message sizes: what a machine does at one size tells what it does at the next, what it does with one
collective tells of another, and what one machine does tells of machines of its architecture. The weights were chosen by
holding out sizes and blocks of published measurements (docs/cost.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workbench.errors import InputError
from workbench.evaluate.cost.traffic import bus_factor
from workbench.model.arrays import Floats, Longs
from workbench.model.collective import CollectiveBlock, GpuSystem

__all__ = ["WEIGHTS", "KernelWeights", "Points", "covariance", "expected_log_time", "points", "system_of"]


_COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")


@dataclass(frozen=True)
class KernelWeights:
    """Variances and lengths of the process. Variances are of natural logarithms of times.

    Attributes
    ----------
    system, architecture, any_machine : float
        Smooth deviations that all blocks of a system, an architecture and of everything share.
    machine_collective, architecture_collective : float
        Smooth deviations that blocks share as far as collective, ranks and NVLink domains are alike.
    architecture_step : float
        Abrupt deviations, where the library changes its protocol, that such blocks share.
    block, block_step : float
        Smooth and abrupt deviations of one block alone.
    noise : float
        Variance of one measurement.
    per_rank : float
        Share of abrupt deviations that sit at a size per rank, where protocols change; the others sit at a size.
    smooth_octaves, block_octaves, step_octaves, fixed_step_octaves : float
        Lengths over which deviations fade, in doublings of the message size.
    reduce_like_gather, gather_like_scatter, all_to_all_like_others : float
        Likeness of collectives, 1: equal.
    rank_doublings, domain_doublings, step_rank_doublings, step_domain_doublings : float
        Doublings of ranks, and `Points.remoteness`, over which blocks become unlike.
    """

    system: float = 0.2
    architecture: float = 0.99
    any_machine: float = 1.6
    machine_collective: float = 0.28
    architecture_collective: float = 0.26
    architecture_step: float = 0.028
    block: float = 0.017
    block_step: float = 0.0059
    noise: float = 0.001
    per_rank: float = 0.35
    smooth_octaves: float = 14.0
    block_octaves: float = 0.95
    step_octaves: float = 1.1
    fixed_step_octaves: float = 1.8
    reduce_like_gather: float = 0.56
    gather_like_scatter: float = 1.0
    all_to_all_like_others: float = 0.42
    rank_doublings: float = 2.4
    domain_doublings: float = 1.3
    step_rank_doublings: float = 0.92
    step_domain_doublings: float = 0.14


WEIGHTS = KernelWeights()


@dataclass(frozen=True)
class Points:
    """Blocks and message sizes as arrays of equal length.

    Attributes
    ----------
    log2_size : ndarray of float
        Logarithm to base 2 of the bytes.
    machine, system, architecture, collective : ndarray of int
        Numbers that are equal where the names are.
    log2_ranks : ndarray of float
        Logarithm to base 2 of the ranks.
    remoteness : ndarray of float
        0 inside one NVLink domain, 1 over two, 0.1 more for each doubling: the step onto the network changes most.
    mean : ndarray of float
        `expected_log_time`.
    """

    log2_size: Floats
    machine: Longs
    system: Longs
    architecture: Longs
    collective: Longs
    log2_ranks: Floats
    remoteness: Floats
    mean: Floats


def system_of(machine: str, systems: Sequence[GpuSystem]) -> GpuSystem:
    """The first system whose patterns match a machine's name; else a system of that machine alone."""
    for system in systems:
        if system.matches(machine):
            return system
    return GpuSystem(machine, machine, (machine.lower(),))


def expected_log_time(block: CollectiveBlock, domains: int, size: float) -> float:
    """Natural logarithm of the seconds that a collective takes before anything was measured.

    `domains`: NVLink domains that the ranks span. `size`: bytes. The formula: latency 5 us times the root of the ranks,
    bus bandwidth 100 GB/s in one domain and 40 GB/s over several. Round numbers; measurements replace them.
    """
    gb_s = 100.0 if domains == 1 else 40.0
    latency = 5e-6 * float(np.sqrt(block.ranks))
    return float(np.log(latency + size * bus_factor(block.collective, block.ranks) / (gb_s * 1e9)))


def points(
    blocks: Sequence[CollectiveBlock],
    sizes: Sequence[float],
    systems: Sequence[GpuSystem],
    names: dict[str, int],
) -> Points:
    """Arrays of blocks and sizes.

    `blocks`, `sizes`: of equal length; bytes. `names`: numbers of the names met so far; grows. Points are comparable if
    they were made with one dict.
    """

    def number(name: str) -> int:
        return names.setdefault(name, len(names))

    rows = []
    for block, size in zip(blocks, sizes, strict=True):
        if block.collective not in _COLLECTIVES:
            expected = ", ".join(_COLLECTIVES)
            raise InputError("no calibrated collective", source="collective", got=block.collective, expected=expected)
        system = system_of(block.machine, systems)
        domains = system.domains(block)
        rows.append(
            (
                np.log2(size),
                number(f"machine {block.machine}"),
                number(f"system {system.name}"),
                number(f"architecture {system.architecture}"),
                _COLLECTIVES.index(block.collective),
                np.log2(block.ranks),
                0.9 + 0.1 * np.log2(domains) if domains > 1 else 0.0,
                expected_log_time(block, domains, size),
            )
        )
    columns = np.array(rows, dtype=np.float64).reshape(-1, 8).T
    whole = columns[1:5].astype(np.int64)
    return Points(columns[0], whole[0], whole[1], whole[2], whole[3], columns[5], columns[6], columns[7])


def covariance(a: Points, b: Points, weights: KernelWeights = WEIGHTS) -> Floats:
    """Covariance of the deviations at two lists of points.

    Returns: ndarray of shape (len(a), len(b)), float64: the covariance without the noise of the measurements.
    """
    w = weights
    octaves = np.abs(a.log2_size[:, None] - b.log2_size)
    ranks = np.abs(a.log2_ranks[:, None] - b.log2_ranks)
    domains = np.abs(a.remoteness[:, None] - b.remoteness)
    machine = a.machine[:, None] == b.machine
    system = a.system[:, None] == b.system
    architecture = a.architecture[:, None] == b.architecture
    gather, exchange = w.reduce_like_gather, w.all_to_all_like_others
    pair = w.gather_like_scatter
    likeness = np.array(
        [[1, gather, gather, exchange], [gather, 1, pair, exchange], [gather, pair, 1, exchange], [exchange] * 3 + [1]]
    )
    alike = likeness[a.collective[:, None], b.collective]
    smooth = _matern_5_2(octaves / w.smooth_octaves)
    shares = np.abs((a.log2_size - a.log2_ranks)[:, None] - (b.log2_size - b.log2_ranks))
    step = w.per_rank * np.exp(-shares / w.step_octaves)
    step += (1 - w.per_rank) * np.exp(-octaves / w.fixed_step_octaves)
    near = alike * np.exp(-ranks / w.rank_doublings - domains / w.domain_doublings)
    step_near = alike * np.exp(-ranks / w.step_rank_doublings - domains / w.step_domain_doublings)
    found = smooth * (w.any_machine + w.architecture * architecture + w.system * system)
    found += smooth * near * (w.architecture_collective * architecture + w.machine_collective * machine)
    found += step * step_near * w.architecture_step * architecture
    same_block = machine & (a.collective[:, None] == b.collective) & (ranks == 0) & (domains == 0)
    found += same_block * (w.block * _matern_3_2(octaves / w.block_octaves) + w.block_step * step)
    return np.asarray(found, dtype=np.float64)


def _matern_5_2(distance: Floats) -> Floats:
    d = np.sqrt(5) * distance
    return np.asarray((1 + d + d * d / 3) * np.exp(-d))


def _matern_3_2(distance: Floats) -> Floats:
    d = np.sqrt(3) * distance
    return np.asarray((1 + d) * np.exp(-d))

"""`fit_calibration`: from measured collectives to the parameters of a `Calibration`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from workbench.errors import InputError
from workbench.evaluate.cost.calibration import BlockFit, Calibration, RackFit
from workbench.evaluate.cost.kriging import WEIGHTS, covariance, points, system_of
from workbench.evaluate.cost.traffic import bus_factor
from workbench.model.collective import CollectiveBlock, GpuSystem, Measurement

__all__ = ["fit_calibration"]

#: Logarithm of a time by which a line between two knots may miss the fit at the sizes between them.
_TOLERANCE = 0.03

#: Two-rack bandwidths are read at sizes from here on, where latency no longer counts.
_LARGE = 2**32


def fit_calibration(measurements: Sequence[Measurement], systems: Sequence[GpuSystem], name: str) -> Calibration:
    """Fit the parameters of every measured block, all blocks at once, by least squares on the logarithm of time.

    Returns: blocks in sorted order. The efficiency has knots at the smallest and the largest size and at the powers of
    two where it bends: between knots it misses the fit by 3 % at most. Its values are the posterior mean of the process
    of `workbench.evaluate.cost.kriging`: smoothed, and informed by blocks that resemble the block. Nothing of a
    measurement itself is kept. Raises InputError: no measurement.

    Parameters
    ----------
    measurements : sequence of Measurement
        Any order. Times of one block and size count as their geometric mean. Blocks keep the racks that they state
        only where these are more than their ranks need (`GpuSystem.stated`).
    systems : sequence of GpuSystem
        Which machines resemble each other. A machine of none of them resembles no other machine.
    name : str
        Name of the calibration.
    """
    if not measurements:
        raise InputError("no measurement to fit", source="measurements", expected="at least one")
    times: dict[tuple[CollectiveBlock, int], list[float]] = defaultdict(list)
    published: dict[CollectiveBlock, set[str]] = defaultdict(set)
    for each in measurements:
        block = system_of(each.block.machine, systems).stated(each.block)
        times[block, each.size].append(math.log(each.time_s))
        published[block].add(each.source)
    keys = sorted(times)
    log_times = np.array([fmean(times[key]) for key in keys])
    names: dict[str, int] = {}
    known = points([block for block, _ in keys], [size for _, size in keys], systems, names)
    inverse = np.linalg.inv(covariance(known, known) + WEIGHTS.noise * np.eye(len(keys)))
    weights = inverse @ (log_times - known.mean)
    sizes: dict[CollectiveBlock, list[int]] = defaultdict(list)
    for block, size in keys:
        sizes[block].append(size)
    fits = []
    for block in sorted(sizes):
        knots = _doublings(min(sizes[block]), max(sizes[block]))
        here = points([block] * len(knots), [2.0**knot for knot in knots], systems, names)
        cross = covariance(here, known)
        expected = here.mean + cross @ weights
        explained = ((cross @ inverse) * cross).sum(axis=1)
        variance = np.diag(covariance(here, here)) - explained + WEIGHTS.noise
        deviation = np.sqrt(np.maximum(variance, WEIGHTS.noise))
        fit = _block_fit(block, knots, expected.tolist(), deviation.tolist(), sorted(published[block]))
        fits.append(_with_fewer_knots(fit))
    sources = tuple(sorted({each.source for each in measurements}))
    return Calibration(name, sources, tuple(systems), tuple(fits), _racks(measurements, systems))


def _doublings(smallest: int, largest: int) -> list[float]:
    """Logarithms to base 2 of two sizes and of the powers of two between them."""
    low, high = math.log2(smallest), math.log2(largest)
    between = [float(power) for power in range(math.floor(low) + 1, math.ceil(high))]
    return [low, *between, *([high] if high > low else [])]


def _with_fewer_knots(fit: BlockFit) -> BlockFit:
    """Leave out the knots that the lines between the others miss by `_TOLERANCE` at most.

    The knot that a line misses most cuts it in two, until no line misses one by more (Ramer, Douglas, Peucker).
    """
    sizes, efficiency = np.array(fit.log2_sizes), np.log(fit.efficiency)
    kept, lines = {0, len(sizes) - 1}, [(0, len(sizes) - 1)]
    while lines:
        first, last = lines.pop()
        inside = slice(first + 1, last)
        ends = [first, last]
        missed = np.abs(efficiency[inside] - np.interp(sizes[inside], sizes[ends], efficiency[ends]))
        if missed.size and missed.max() > _TOLERANCE:
            bend = first + 1 + int(missed.argmax())
            kept.add(bend)
            lines += [(first, bend), (bend, last)]

    def only(values: Sequence[float]) -> tuple[float, ...]:
        return tuple(values[knot] for knot in sorted(kept))

    return replace(fit, log2_sizes=only(fit.log2_sizes), efficiency=only(fit.efficiency), deviation=only(fit.deviation))


def _block_fit(
    block: CollectiveBlock,
    knots: Sequence[float],
    log_times: Sequence[float],
    deviation: Sequence[float],
    sources: Sequence[str],
) -> BlockFit:
    """Split fitted times into latency, bandwidth and what is left as efficiency."""
    factor = bus_factor(block.collective, block.ranks)
    first, last = math.exp(log_times[0]), math.exp(log_times[-1])
    bandwidth = 2 ** knots[-1] * factor / last / 1e9
    # A sweep that begins with large messages says nothing of latency: what is left after the transfer, at least 1 us.
    alpha = max(first - 2 ** knots[0] * factor / (bandwidth * 1e9), 1e-6)
    efficiency = [
        (alpha + 2**knot * factor / (bandwidth * 1e9)) / math.exp(log_time)
        for knot, log_time in zip(knots, log_times, strict=True)
    ]
    return BlockFit(block, alpha, bandwidth, tuple(knots), tuple(efficiency), tuple(deviation), tuple(sources))


def _racks(measurements: Sequence[Measurement], systems: Sequence[GpuSystem]) -> tuple[RackFit, ...]:
    """Efficiency between two NVLink domains per rack, for all such systems together.

    Each system counts once per collective, by the machine that reaches most with messages of 4 GiB or more: a link's
    capability shows in the best installation, and the spread of all of them goes into the interval.
    """
    reached: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for each in measurements:
        system = system_of(each.block.machine, systems)
        if system.inter_rack_gb_s is None or system.domains(each.block) != 2 or each.size < _LARGE:
            continue
        gb_s = each.size * bus_factor(each.block.collective, each.block.ranks) / each.time_s / 1e9
        machines = reached[each.block.collective][system.name]
        machines[each.block.machine] = max(machines.get(each.block.machine, 0.0), gb_s / system.inter_rack_gb_s)
    fits = []
    for collective, by_system in sorted(reached.items()):
        centre = fmean(math.log(max(machines.values())) for machines in by_system.values())
        all_of_them = {name: ratio for machines in by_system.values() for name, ratio in machines.items()}
        spread = math.sqrt(fmean((math.log(ratio) - centre) ** 2 for ratio in all_of_them.values()) + 0.05**2)
        fits.append(RackFit(collective, math.exp(centre), spread, tuple(sorted(all_of_them))))
    return tuple(fits)

"""`Calibration`: fitted times of collectives on measured machines, with an interval for each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError, UnknownNameError
from workbench.evaluate.cost.checks import four_digits, positive
from workbench.evaluate.cost.kriging import Points, covariance, points, system_of
from workbench.evaluate.cost.traffic import bus_factor
from workbench.model.collective import CollectiveBlock, GpuSystem
from workbench.model.value import Value

__all__ = ["BlockFit", "Calibration", "Estimate", "RackFit"]

#: Standard deviations on each side of an estimate that held 95 % of the measurements: of a measured block when every
#: third size was held out (protocols of a library change abruptly), of an estimate from other blocks when a block was.
_WITHIN, _BETWEEN = 3.5, 2.0

_ALL_TO_ALL = "all-to-all"

#: Bytes of messages whose bandwidth over two racks is known (`RackFit`).
_LARGE = 2.0**32


@dataclass(frozen=True)
class Estimate:
    """A time with the interval that should hold 95 % of measurements.

    `time_s`, `low_s`, `high_s`: seconds: estimate, lower and upper end. `basis`: one of ``measured block``, ``sizes
    outside the measured``, ``similar blocks`` and ``rack efficiency``.
    """

    time_s: float
    low_s: float
    high_s: float
    basis: str

    @classmethod
    def of_log(cls, log_time: float, wide: float, basis: str) -> Estimate:
        """An estimate from the logarithm of a time.

        `log_time`: natural logarithm of seconds. `wide`: half the width of the interval, of the logarithm. `basis`: as
        for `Estimate`.
        """
        return cls(math.exp(log_time), math.exp(log_time - wide), math.exp(log_time + wide), basis)

    def at_least(self, least_s: float) -> Estimate:
        """The estimate with times of at least so many seconds."""
        if least_s <= self.low_s:
            return self
        return Estimate(max(self.time_s, least_s), least_s, max(self.high_s, least_s), self.basis)


@dataclass(frozen=True)
class BlockFit:
    """Fitted parameters of one block: time(S) = (alpha + S * factor / bandwidth) / efficiency(S).

    The factor turns bus bandwidth into bytes over time (`bus_factor`). Between knots the logarithm of the efficiency is
    linear in the logarithm of the size.

    Attributes
    ----------
    alpha_s : float
        Seconds of the smallest messages.
    bandwidth_gb_s : float
        Bus bandwidth of the largest messages.
    log2_sizes : tuple of float
        Knots, ascending: logarithms to base 2 of bytes. From the smallest to the largest measured size.
    efficiency : tuple of float
        At the knots; about 1 at both ends, below 1 where latency and transfer add up to more than their sum.
    deviation : tuple of float
        Standard deviation of the logarithm of a measured time, at the knots.
    sources : tuple of str
        Who published the measurements.
    """

    block: CollectiveBlock
    alpha_s: float
    bandwidth_gb_s: float
    log2_sizes: tuple[float, ...]
    efficiency: tuple[float, ...]
    deviation: tuple[float, ...]
    sources: tuple[str, ...]

    def __post_init__(self) -> None:
        where = f"block {self.block.machine}, {self.block.collective}, {self.block.gpus_per_node} x {self.block.nodes}"
        if self.block.racks:
            where += f" in {self.block.racks} racks"
        lengths = {len(self.log2_sizes), len(self.efficiency), len(self.deviation)}
        ascending = all(math.isfinite(knot) for knot in self.log2_sizes) and all(
            b > a for a, b in pairwise(self.log2_sizes)
        )
        if len(lengths) != 1 or not self.log2_sizes or not ascending:
            expected = "as many of each, ascending knots"
            raise InputError("knots, efficiencies and deviations do not match", source=where, expected=expected)
        for name, number in (
            ("alpha_s", self.alpha_s),
            ("bandwidth_gb_s", self.bandwidth_gb_s),
            *[("efficiency", each) for each in self.efficiency],
            *[("deviation", each) for each in self.deviation],
        ):
            positive(number, f"{where}: {name}")

    def covers(self, size: float) -> bool:
        """Whether a message size in bytes lies between the smallest and the largest measured one."""
        return 2 ** self.log2_sizes[0] * 0.999 <= size <= 2 ** self.log2_sizes[-1] * 1.001

    def log_time(self, size: float) -> float:
        """Natural logarithm of the seconds at a size in bytes that the block covers."""
        knots = np.log(self.efficiency)
        efficiency = float(np.interp(math.log2(size), self.log2_sizes, knots))
        transfer = size * bus_factor(self.block.collective, self.block.ranks) / (self.bandwidth_gb_s * 1e9)
        return math.log(self.alpha_s + transfer) - efficiency

    def estimate(self, size: float) -> Estimate:
        """Seconds, with interval, at a size in bytes that the block covers."""
        deviation = float(np.interp(math.log2(size), self.log2_sizes, self.deviation))
        return Estimate.of_log(self.log_time(size), _WITHIN * deviation, "measured block")


@dataclass(frozen=True)
class RackFit:
    """Fitted bandwidth between two racks of systems whose NVLink domain is a rack; all such systems share one fit.

    Attributes
    ----------
    efficiency : float
        Bus bandwidth of large messages over two racks, as a multiple of the nominal GB/s per GPU between racks. Above 1
        where few of the bytes cross the border, as in an all-reduce that racks do first.
    deviation : float
        Standard deviation of its logarithm.
    machines : tuple of str
        The measured machines it was fitted to.
    """

    collective: str
    efficiency: float
    deviation: float
    machines: tuple[str, ...]

    def __post_init__(self) -> None:
        positive(self.efficiency, f"racks, {self.collective}: efficiency")
        positive(self.deviation, f"racks, {self.collective}: deviation")


@dataclass(frozen=True, eq=False)
class Calibration(Value):
    """Fitted parameters of measured collectives, and estimates for blocks and sizes that were not measured.

    `sources`: origin of the measurements.
    """

    # `estimate` takes the first of:
    #   1. the block itself was measured, at this size (`_by_block`)
    #   2. several racks of a system that was measured over two (`_over_racks`)
    #   3. similar blocks, by a Gaussian process over all knots (`_similar`, `_knots`)

    name: str
    sources: tuple[str, ...]
    systems: tuple[GpuSystem, ...]
    blocks: tuple[BlockFit, ...]
    racks: tuple[RackFit, ...] = ()

    @property
    def machines(self) -> tuple[str, ...]:
        """Names of the measured machines, sorted."""
        return tuple(sorted({fit.block.machine for fit in self.blocks}))

    def estimate(self, block: CollectiveBlock, size: float) -> Estimate:
        """Seconds of one collective, with interval.

        `block`: its machine must be measured; collective, GPUs per node, nodes and racks may be others than the
        measured ones. `size`: bytes as nccl-tests counts them. Raises UnknownNameError: no block of this machine;
        InputError.

        Returns
        -------
        Estimate
            A measured block inside its sizes: its fit. An unmeasured block over two racks or more of a system with an
            NVLink domain per rack: latency of similar blocks and the bandwidth of `RackFit`; of an all-to-all over more
            than two racks, by the share of its bytes that leaves a rack. Everything else: from similar blocks, as far
            as they are alike; the interval grows with the distance. What was not measured is never faster than the
            nominal speed of the network (`GpuSystem.least_s`).
        """
        positive(size, "bytes")
        if block.machine not in self._by_machine:
            raise UnknownNameError("machine", block.machine, list(self.machines))
        system = system_of(block.machine, self.systems)
        block = system.stated(block)
        fit = self._by_block.get(block)
        if fit is not None and fit.covers(size):
            return fit.estimate(size)
        racks = self._over_racks(block, size) if fit is None else None
        found = racks or self._similar(block, size, "similar blocks" if fit is None else "sizes outside the measured")
        return found.at_least(system.least_s(block, size))

    def two_rack_bus_bandwidth(self, machine: str, collective: str) -> float | None:
        """Bus bandwidth over two racks in GB/s of a system with one NVLink domain per rack; None for other systems."""
        system = system_of(machine, self.systems)
        fits = [fit for fit in self.racks if fit.collective == collective]
        return fits[0].efficiency * system.inter_rack_gb_s if fits and system.inter_rack_gb_s else None

    def _over_racks(self, block: CollectiveBlock, size: float) -> Estimate | None:
        system = system_of(block.machine, self.systems)
        gb_s = self.two_rack_bus_bandwidth(block.machine, block.collective)
        racks = system.domains(block)
        if gb_s is None or racks < 2:
            return None
        if block.collective == _ALL_TO_ALL:
            # Of two racks half of the bytes leave theirs, of more racks more of them.
            gb_s *= (1 / 2) / ((racks - 1) / racks)
        deviation = next(fit.deviation for fit in self.racks if fit.collective == block.collective)
        smallest = self._similar(block, 1024.0, "").time_s
        at = max(size, _LARGE)
        log_time = math.log(smallest + at * bus_factor(block.collective, block.ranks) / (gb_s * 1e9))
        if size >= _LARGE:
            return Estimate.of_log(log_time, _BETWEEN * deviation, "rack efficiency")
        # Below, the shape of similar blocks that leads to this time.
        return self._similar(block, size, "rack efficiency", (at, log_time, deviation))

    def _similar(
        self, block: CollectiveBlock, size: float, basis: str, told: tuple[float, float, float] | None = None
    ) -> Estimate:
        """Estimate from similar blocks, conditioned on `told` (bytes, log of the time, its deviation) if given."""
        sizes = [size, told[0]] if told else [size]
        here = points([block] * len(sizes), sizes, self.systems, dict(self._knots[3]))
        knots, inverse, weights, _ = self._knots
        cross = covariance(here, knots)
        joint = covariance(here, here) - cross @ inverse @ cross.T
        expected = here.mean + cross @ weights
        log_time, variance = float(expected[0]), float(joint[0, 0])
        if told is not None:
            gain = float(joint[0, 1]) / float(joint[1, 1])
            log_time += gain * (told[1] - float(expected[1]))
            variance += (gain * told[2]) ** 2 - gain * float(joint[0, 1])
        return Estimate.of_log(log_time, _BETWEEN * math.sqrt(max(variance, 1e-4)), basis)

    @cached_property
    def _by_block(self) -> dict[CollectiveBlock, BlockFit]:
        return {fit.block: fit for fit in self.blocks}

    @cached_property
    def _by_machine(self) -> frozenset[str]:
        return frozenset(self.machines)

    @cached_property
    def _knots(self) -> tuple[Points, npt.NDArray[np.float64], npt.NDArray[np.float64], dict[str, int]]:
        """Knots of all blocks as points, the inverse of their covariance, and it times their deviations."""
        names: dict[str, int] = {}
        rows = [(fit, 2.0**knot, deviation) for fit in self.blocks for knot, deviation in _knots_of(fit)]
        knots = points([fit.block for fit, _, _ in rows], [size for _, size, _ in rows], self.systems, names)
        noise = np.array([deviation**2 for _, _, deviation in rows])
        inverse = np.asarray(np.linalg.inv(covariance(knots, knots) + np.diag(noise)), dtype=np.float64)
        log_times = np.array([fit.log_time(size) for fit, size, _ in rows])
        return knots, inverse, inverse @ (log_times - knots.mean), names

    def to_record(self) -> dict[str, Any]:
        """JSON-ready form with units in the names; `from_record` reads it."""
        return {
            "name": self.name,
            "sources": list(self.sources),
            "systems": [
                {
                    "name": system.name,
                    "architecture": system.architecture,
                    "patterns": list(system.patterns),
                    "gpus_per_rack": system.gpus_per_rack,
                    "inter_rack_gb_s": system.inter_rack_gb_s,
                    "inter_node_gb_s": system.inter_node_gb_s,
                }
                for system in self.systems
            ],
            "racks": [
                {
                    "collective": fit.collective,
                    "efficiency": four_digits(fit.efficiency),
                    "deviation": four_digits(fit.deviation),
                    "machines": list(fit.machines),
                }
                for fit in self.racks
            ],
            "blocks": [
                {
                    "machine": fit.block.machine,
                    "collective": fit.block.collective,
                    "gpus_per_node": fit.block.gpus_per_node,
                    "nodes": fit.block.nodes,
                    **({"racks": fit.block.racks} if fit.block.racks else {}),
                    "alpha_us": four_digits(fit.alpha_s * 1e6),
                    "bandwidth_gb_s": four_digits(fit.bandwidth_gb_s),
                    "log2_bytes": [four_digits(knot) for knot in fit.log2_sizes],
                    "efficiency": [four_digits(each) for each in fit.efficiency],
                    "deviation": [four_digits(each) for each in fit.deviation],
                    "sources": list(fit.sources),
                }
                for fit in self.blocks
            ],
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any], source: str) -> Calibration:
        """Make a calibration from a record that `to_record` wrote.

        `source`: file name, for errors. Raises InputError: a key is missing or a value has a wrong type or range; with
        the file and the block.
        """
        try:
            systems = tuple(
                GpuSystem(
                    each["name"],
                    each["architecture"],
                    tuple(each["patterns"]),
                    each["gpus_per_rack"],
                    each["inter_rack_gb_s"],
                    each["inter_node_gb_s"],
                )
                for each in record["systems"]
            )
            racks = tuple(
                RackFit(each["collective"], each["efficiency"], each["deviation"], tuple(each["machines"]))
                for each in record["racks"]
            )
            blocks = tuple(_block_fit(each) for each in record["blocks"])
            return cls(record["name"], tuple(record["sources"]), systems, blocks, racks)
        except InputError as error:
            raise error.of(": ".join(filter(None, (source, error.source)))) from None
        except (KeyError, TypeError) as error:
            raise InputError(
                "no calibration",
                source=source,
                got=f"{type(error).__name__}: {error}",
                expected="output of 'calibrate'",
            ) from None


def _block_fit(record: Mapping[str, Any]) -> BlockFit:
    block = CollectiveBlock(
        record["machine"], record["collective"], record["gpus_per_node"], record["nodes"], record.get("racks", 0)
    )
    return BlockFit(
        block,
        record["alpha_us"] * 1e-6,
        record["bandwidth_gb_s"],
        tuple(record["log2_bytes"]),
        tuple(record["efficiency"]),
        tuple(record["deviation"]),
        tuple(record["sources"]),
    )


def _knots_of(fit: BlockFit) -> Sequence[tuple[float, float]]:
    return list(zip(fit.log2_sizes, fit.deviation, strict=True))

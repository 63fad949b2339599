"""Checks of what `workbench.kernels.two_level` is given: an `InputError` says which column is wrong, and how."""

from __future__ import annotations

from operator import is_
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from workbench._core.ranges import are_arrays, first_outside, is_offsets, is_order, is_sound
from workbench.errors import CapacityError, InputError
from workbench.kernels.checks import as_array, check_length, check_number, check_range, checked, checked_columns
from workbench.kernels.domains import MAX_PODS_PER_CALL, MAX_QUANTITY, MAX_SCORE, MAX_SUM, NO_RECORD
from workbench.kernels.fading import MAX_WEIGHT
from workbench.kernels.two_level_values import JobColumns, Nodes, Shape, SubJobColumns

__all__ = [
    "RULES",
    "checked_amounts",
    "checked_arrays",
    "checked_csr",
    "checked_job",
    "checked_nodes",
    "checked_positions",
    "checked_shape",
    "checked_subs",
    "checked_totals",
]

_INT32, _INT64 = np.iinfo(np.int32), np.iinfo(np.int64)
RULES = {"by-minimums": 0, "stop": 1, "go-on": 2}


def checked_job(job: JobColumns, n_shapes: int, d: int, r: int) -> tuple[Any, ...]:
    """Columns of a job as the kernel takes them, C-contiguous; an InputError says what is wrong with one.

    `n_shapes`, `d`, `r`: numbers of pod shapes, HyperNodes (domains) and resources.
    """
    left = as_array("left", job.left, np.int64, 1)
    m = len(left)
    left, present, minimums, names = checked_columns(
        m,
        ("left", left, np.int64, 0, MAX_QUANTITY),
        ("present", job.present, np.int64, 0, MAX_QUANTITY),
        ("minimums", job.minimums, np.int64, 0, MAX_QUANTITY),
        ("names", job.names, np.int32, _INT32.min, _INT32.max),
    )
    if m < n_shapes:
        raise InputError("fewer roles than shapes", source="left", got=str(m), expected=f">= {n_shapes}")
    if m > n_shapes and left[n_shapes:].any():
        raise InputError("a role without a shape has pods left", source="left", expected="0")
    _check_pods(left)
    if job.after_failure not in RULES:
        raise InputError("no such rule", source="after_failure", got=job.after_failure, expected=", ".join(RULES))
    return (
        None if job.minimum is None else checked_amounts("minimum", job.minimum, (r,), 0, MAX_SUM),
        left,
        present,
        minimums,
        names,
        RULES[job.after_failure],
        check_number("min_available", job.min_available, 0, MAX_QUANTITY),
        check_number("counted", job.counted, 0, MAX_QUANTITY),
        check_number("record", job.record, NO_RECORD, d - 1),
        checked("wanted", job.wanted, np.int64, None, 0, MAX_QUANTITY),
    )


def checked_subs(subs: SubJobColumns, job: JobColumns, n_shapes: int, n: int, d: int, r: int) -> tuple[Any, ...]:
    """Columns of sub-jobs as the kernel takes them, C-contiguous; an InputError says what is wrong with one.

    `n_shapes`, `n`, `d`, `r`: numbers of pod shapes, nodes, HyperNodes (domains) and resources.
    """
    s = len(subs.start) - 1
    rank = subs.rank
    if rank is not None:
        rank = as_array("rank", rank, np.int32, 1)
        check_length("rank", rank, s)
        if not is_order(rank, np.zeros(s, dtype=np.uint8)):
            raise InputError("no order", source="rank", expected=f"each of 0..{s - 1} once")
    if not job.grouped and s != 1:
        raise InputError("a job that is not grouped has one sub-job", source="start", got=str(s), expected="1")
    start, shapes = checked_csr("", subs.start, subs.shapes, s, n_shapes)
    left = checked_amounts("left", subs.left, shapes.shape, 0)
    if job.grouped:
        _check_pods(left)
    min_available, counted, total, limit, policy, grade, record = checked_columns(
        s,
        ("min_available", subs.min_available, np.int64, 0, MAX_QUANTITY),
        ("counted", subs.counted, np.int64, 0, MAX_QUANTITY),
        ("total", subs.total, np.int64, 1, MAX_QUANTITY),
        ("limit", subs.limit, np.int64, _INT64.min, _INT64.max),
        ("policy", subs.policy, np.int32, -1, len(job.wanted) - 1),
        ("grade", subs.grade, np.int32, 0, s - 1),
        ("record", subs.record, np.int32, NO_RECORD, d - 1),
    )
    return (
        start,
        shapes,
        left,
        min_available,
        counted,
        total,
        _flags("stop_after_failure", subs.stop_after_failure, s),
        limit,
        None if subs.limited is None else _flags("limited", subs.limited, s),
        _flags("scored", subs.scored, s),
        policy,
        rank,
        grade,
        record,
        checked_amounts("request", subs.request, (s, r), 0, MAX_SUM),
        checked_amounts("pending", subs.pending, (s, r), 0, MAX_SUM),
        *_running(subs, s, n),
        *_runs(subs, s, n_shapes),
    )


def _running(subs: SubJobColumns, s: int, n: int) -> tuple[NDArray[np.int64], NDArray[np.int32]] | tuple[None, None]:
    if subs.running_start is None or subs.running is None:
        return None, None
    return checked_csr("running", subs.running_start, subs.running, s, n, lowest=-1)


def _runs(
    subs: SubJobColumns, s: int, n_shapes: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]] | tuple[None, None, None]:
    if subs.runs is None:
        return None, None, None
    start, shapes = checked_csr("run", subs.runs[0], subs.runs[1], s, n_shapes)
    return start, shapes, checked_amounts("upto", subs.runs[2], shapes.shape, 0)


def _check_pods(left: NDArray[np.int64]) -> None:
    pods = sum(left.tolist())
    if pods > MAX_PODS_PER_CALL:
        raise CapacityError(f"left: {pods} pods, at most {MAX_PODS_PER_CALL}")


def _flags(name: str, value: NDArray[np.bool_], s: int) -> NDArray[np.bool_]:
    array = as_array(name, value, np.bool_, 1)
    check_length(name, array, s)
    return array


def checked_shape(
    shape: Shape, n: int, r: int
) -> tuple[NDArray[np.int64], NDArray[np.uint8] | None, NDArray[np.float64] | None]:
    """A shape's request and its arrays over the nodes, checked; None if absent.

    `n`, `r`: numbers of nodes and resources.
    """
    return checked_amounts("request", shape.request, (r,), 0), *checked_arrays(shape, n)


def checked_arrays(shape: Shape, n: int) -> tuple[NDArray[np.uint8] | None, NDArray[np.float64] | None]:
    """Check a shape's arrays over ``n`` nodes (where its pods may run, their extra scores) and return them.

    None if absent.
    """
    feasible, extra = shape.feasible, shape.extra
    if feasible is not None:
        feasible = as_array("feasible", feasible, np.uint8, 1)
        check_length("feasible", feasible, n)
    if extra is not None:
        extra = as_array("extra", extra, np.float64, 1)
        check_length("extra", extra, n)
        if first_outside(np.ascontiguousarray(extra), -MAX_SCORE, MAX_SCORE) >= 0:
            limits = f"-{MAX_SCORE:g}..{MAX_SCORE:g}"
            raise InputError("not finite or too large", source="extra", expected=limits)
    return feasible, extra


def checked_nodes(nodes: Nodes, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Idle, used and allocatable amounts, checked to have ``n`` rows and equally many columns.

    Not checked again if ``nodes`` has `NodeStates` that were made of these arrays.
    """
    idle = nodes.idle
    is_table = type(idle) is np.ndarray and idle.ndim == 2
    shape = (n, (idle if is_table else as_array("idle", idle, np.int64, 2)).shape[1])
    if nodes.states is not None:
        if not all(map(is_, nodes.states.arrays, (idle, nodes.used, nodes.allocatable))):
            raise InputError("of other arrays", source="states", expected="those of idle, used and allocatable")
        if idle.shape == shape:
            return np.ascontiguousarray(idle), np.ascontiguousarray(nodes.used), np.ascontiguousarray(nodes.allocatable)
    return (
        checked_amounts("idle", idle, shape, -MAX_QUANTITY),
        checked_amounts("used", nodes.used, shape, 0),
        checked_amounts("allocatable", nodes.allocatable, shape, 0),
    )


def checked_totals(
    nodes: Nodes, packing: NDArray[np.float64], d: int, r: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Used, allocatable and idle amounts of the HyperNodes, and the weights of their columns, checked.

    `packing`: ndarray of shape (r,), float64. `d`, `r`: numbers of HyperNodes (domains) and resources.
    """
    shape = (d + 1, r)
    used = checked_amounts("domain_used", nodes.domain_used, shape, 0, MAX_SUM)
    allocatable = checked_amounts("domain_allocatable", nodes.domain_allocatable, shape, 0, MAX_SUM)
    idle_at_open = checked_amounts("idle_at_open", nodes.idle_at_open, shape, -MAX_SUM, MAX_SUM)
    if not are_arrays(b"d1", packing):
        packing = as_array("packing", packing, np.float64, 1)
    if len(packing) != r or first_outside(packing, -1, MAX_WEIGHT) >= 0:
        check_length("packing", packing, r)
        check_range("packing", packing, -1, MAX_WEIGHT)
    return used, allocatable, idle_at_open, packing


def checked_positions(
    start: NDArray[np.int64],
    shapes: NDArray[np.int32],
    first: NDArray[np.int64],
    positions: NDArray[np.int64],
    node: NDArray[np.int32],
    n_subs: int,
    n_shapes: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """The arguments of `workbench.kernels.two_level.TwoLevel.enter_nodes`, checked.

    `start`: ndarray of shape (s + 1,), int64. `shapes`: ndarray of shape (entries,), int32. `first`: ndarray of shape
    (entries + 1,), int64. `positions`: ndarray of shape (pods,), int64. `node`: ndarray of shape (n_pods,), int32.
    `n_subs`, `n_shapes`: numbers of sub-jobs and of pod shapes.
    """
    start, shapes = checked_csr("", start, shapes, n_subs, n_shapes)
    first, positions = checked_csr("position", first, positions, len(shapes), len(node), dtype=np.int64)
    return start, shapes, first, positions, node if are_arrays(b"i1", node) else as_array("node", node, np.int32, 1)


def checked_amounts(
    name: str, value: NDArray[np.int64], shape: tuple[int, ...], low: int, high: int = MAX_QUANTITY
) -> NDArray[np.int64]:
    """An array of amounts; an `InputError` if its dtype, its shape or a value is wrong.

    `value`: ndarray of shape (*shape), int64. `low`, `high`: limits of the values, both allowed.
    """
    if is_sound(value, 8, shape, low, high):
        return value
    array: NDArray[np.int64] = as_array(name, value, np.int64, len(shape))
    if array.shape != shape:
        raise InputError("wrong shape", source=name, got=str(array.shape), expected=str(shape))
    check_range(name, array, low, high)
    return array


def checked_csr(
    name: str,
    start: NDArray[np.int64],
    entries: NDArray[Any],
    rows: int,
    size: int,
    lowest: int = 0,
    dtype: DTypeLike = np.int32,
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Offsets and entries of a table in CSR form; an `InputError` if they do not fit together.

    `start` (ndarray of shape (rows + 1,), int64): where each row begins among the entries. `entries` (ndarray of shape
    (start[rows],), int32 or int64, as `dtype` says): numbers from `lowest` to below `size`.
    """
    itemsize = 4 if dtype is np.int32 else 8
    sound = is_sound(entries, itemsize, (-1,), lowest, size - 1) and is_sound(start, 8, (rows + 1,), 0, len(entries))
    if sound and is_offsets(start, len(entries)):
        return start, entries
    source = f"{name}_start".lstrip("_")
    start = as_array(source, start, np.int64, 1)
    check_length(source, start, rows + 1)
    entries = as_array(source.replace("start", "entries"), entries, dtype, 1)
    if not is_offsets(start, entries.shape[0]):
        raise InputError("no CSR offsets", source=source, expected=f"ascending from 0 to {entries.shape[0]}")
    check_range(source.replace("start", "entries"), entries, lowest, size - 1)
    return start, entries

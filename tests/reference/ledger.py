"""Oracle of the ``ledger`` kernel: pod by pod."""

from __future__ import annotations


def add_pods(sign, nodes, rows, masks, used, idle, gpu_free):
    """Used and idle as lists of rows and free GPUs as masks, afterwards."""
    used, idle, gpu_free = [list(row) for row in used], [list(row) for row in idle], list(gpu_free)
    for i, node in enumerate(nodes):
        for k, amount in enumerate(rows[i if len(rows) > 1 else 0]):
            used[node][k] += sign * amount
            idle[node][k] -= sign * amount
        gpu_free[node] ^= masks[i]
    return used, idle, gpu_free


def whole_nodes(nodes, n_gpus, gpu_free):
    """Masks of pods that each take what is free on a node of their own, else None; `gpu_free` as masks."""
    if len(set(nodes)) < len(nodes) or any(node < 0 or gpu_free[node].bit_count() != n_gpus for node in nodes):
        return None
    return [gpu_free[node] for node in nodes]


def lowest_gpus(node, role, n_gpus, free):
    """GPUs of each pod as sets, None where a node has too few; free GPUs as sets."""
    left, given = [sorted(gpus) for gpus in free], []
    for at, number in zip(node, role, strict=True):
        count = n_gpus[number] if at >= 0 else 0
        if count > len(left[at]):
            return None
        given.append(set(left[at][:count]))
        left[at] = left[at][count:]
    return given
